"""The assessment of a selection: both levels, what has no meaning, cancels."""

import numpy as np
import pytest

import ubayfs
from ubayfs import assess, collect_evidence, decide, estimate_related, estimate_reproducibility, max_size
from ubayfs.exceptions import InputError
from ubayfs.trust import cross_validation

TWO = max_size(2)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 12))
    X[:, :2] += 2 * y[:, None]
    return X, y


@pytest.fixture(scope="module")
def selection(table):
    return decide(
        collect_evidence(*table, selector="mrmr", n_models=6, n_features_per_model=2, random_state=0), constraints=TWO
    )


def test_quick_is_made_of_its_parts(table, selection):
    found = assess(selection, *table, n_splits=3, n_shuffles=200, random_state=4)
    assert found.related.at_least == estimate_related(selection, *table, n_shuffles=200, random_state=4).at_least == 2
    again = estimate_reproducibility(selection, *table, n_splits=3, random_state=4)
    assert found.reproducibility.agreements.tolist() == again.agreements.tolist()
    assert found.validation is None
    assert repr(found) == "Assessment(2 features: related, reproducibility)"
    for shown in (str(found), found._repr_html_()):
        assert "All 2 are related to the target (90 % confidence)" in shown
        assert "of these 2 would be selected again" in shown
    assert 'Does it predict?\n  Not tested. Call assess with level="full".' in str(found)


def test_full_validates_too(table, selection, monkeypatch):
    options = cross_validation.Options
    monkeypatch.setattr(cross_validation, "Options", lambda **given: options(**given, cv=2, n_repeats=1))
    found = assess(selection, *table, level="full", n_splits=2, n_shuffles=200)
    assert found.validation.scores["mean"][0] > 0.8
    assert found.not_done == {}
    assert "AUC" in str(found)


def test_without_a_target_there_is_reproducibility_alone(table):
    evidence = collect_evidence(table[0], selector="laplacian", n_models=4, random_state=0)
    found = assess(decide(evidence, constraints=TWO), table[0], level="full", n_splits=2)
    assert (found.related, found.validation) == (None, None)
    assert found.reproducibility.n_splits == 2
    assert "There is no target" in str(found)


def test_sets_of_other_ensembles_have_relations_alone(table, selection):
    foreign = decide(ubayfs.Evidence.from_sets(np.arange(12) < np.full((3, 1), 2)), constraints=TWO)
    loaded = ubayfs.decision.selection.Selection.from_dict(selection.to_dict())
    for given in (foreign, loaded):
        found = assess(given, *table, level="full", n_shuffles=200)
        assert found.related.at_least == 2
        assert (found.reproducibility, found.validation) == (None, None)
        assert "cannot be repeated on other samples" in str(found)
    with pytest.raises(InputError, match="cannot be repeated"):
        assess(foreign, table[0])


def test_parts_that_cannot_be_done_say_why(rng):
    X = rng.normal(size=(7, 12))
    y = np.r_[X[:6, 0], 1.0]
    evidence = collect_evidence(
        X, y, selector="mrmr", n_models=3, n_features_per_model=2, task="regression", random_state=0
    )
    found = assess(decide(evidence, constraints=TWO), X, y, n_shuffles=200)
    assert found.reproducibility is None
    assert found.not_done["reproducibility"].startswith("Could not be tested: y cannot be used on halves")


def test_a_cancel_ends_it(table, selection):
    with pytest.warns(ubayfs.exceptions.EnsembleWarning, match="after 1 of 5 splits"):
        found = assess(selection, *table, level="full", n_splits=5, n_jobs=1, on_progress=lambda done, total: done < 1)
    assert found.reproducibility.n_used == 1
    assert "stopped" in found.not_done["validation"]


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"level": "none"}, "level"),
        ({"n_splits": 0}, "n_splits"),
        ({"n_shuffles": 10}, "n_shuffles"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"selector": "fisher"}, "selector"),
        ({"groups": np.arange(60) // 2}, "X"),
    ],
)
def test_wrong_arguments_are_refused(table, selection, arguments, argument):
    with pytest.raises(InputError) as caught:
        assess(selection, *table, **{"n_shuffles": 200, **arguments})
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    ("features", "sentence"),
    [
        (["x0", "x1"], "All 2 are related to the target (90 % confidence)."),
        (["x0"], "This feature is related to the target (90 % confidence)."),
        (["x5"], "This feature could not be shown to be related to the target. It may be a chance finding."),
        (["x5", "x6"], "None of these 2 could be shown to be related to the target. They may be chance findings."),
        ([], "No feature was selected."),
    ],
)
def test_relations_in_words(table, selection, features, sentence):
    from ubayfs.report.trust_facts import related_facts
    from ubayfs.report.trust_sentences import related

    found = estimate_related(selection, *table, n_shuffles=200)
    assert related(related_facts(found, features))[1][0] == sentence
    mixed = related(related_facts(found, ["x0", "x1", "x5"]))[1][0]
    assert mixed.startswith("At least 2 of these 3 are related to the target (90 % confidence).")
