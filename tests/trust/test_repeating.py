"""estimate_reproducibility: planted truth, the same as their parts, arguments, given evidence."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import ubayfs
from repeating import decided, reproduced
from ubayfs import (
    Evidence,
    Hyperdirichlet,
    collect_evidence,
    decide,
    decorrelate,
    estimate_related,
    estimate_reproducibility,
    exact_size,
    max_size,
    min_size,
    must_link,
    validate,
)
from ubayfs.data.feature_data import FeatureData
from ubayfs.decision.workflow import Decision
from ubayfs.exceptions import EnsembleError, InfeasibleError, InputError
from ubayfs.trust.halves import collect_halves
from ubayfs.trust.procedure import ensemble_of
from ubayfs.trust.reproducibility import agreement, reproducibility_of

FISHER = {"selector": "fisher", "n_models": 20, "n_features_per_model": 5}
FIVE = max_size(5)


def planted(seed, n_signals=5, n_samples=80, n_features=100, strength=1.5):
    """Return X and y with the signals in the first columns."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    X = rng.normal(size=(n_samples, n_features))
    X[:, :n_signals] += strength * y[:, None]
    return pd.DataFrame(X, columns=[f"g{i}" for i in range(n_features)]), y


@pytest.fixture(scope="module")
def signals():
    return planted(0)


# Planted truth and noise


def test_signals_are_selected_again_and_noise_is_not():
    found = reproduced(*planted(0, strength=2.5), **FISHER, constraints=FIVE, random_state=0)
    assert found.lower > 0.8
    assert found.selected_again[0] > 4
    assert found.labels[found.selected].tolist() == ["usually"] * 5
    assert set(found.labels[~found.selected]) == {"rarely"}
    nothing = reproduced(*planted(0, n_signals=0), **FISHER, constraints=FIVE, random_state=0)
    assert nothing.interval[0] <= 0 <= nothing.interval[1]
    assert nothing.upper < 0.2
    assert nothing.selected_again[1] < 1.2


# What they are made of


@pytest.mark.parametrize(
    "arguments",
    [
        {"constraints": FIVE},
        {"weights": {"g50": "very likely", "g1": "unlikely"}, "constraints": FIVE},
        {"blocks": {"a": ["g0", "g1"], "b": ["g2", "g3"]}, "weights": {"a": 5}, "constraints": FIVE},
        {"constraints": [FIVE, must_link(["g0", "g60"])], "min_votes": 1, "n_alternatives": 3},
        {"constraints": [FIVE, decorrelate(0.3)]},
        {"prior": Hyperdirichlet(n_warmup=8, n_draws=16, max_draws=16), "constraints": FIVE},
    ],
    ids=["size", "words", "blocks", "links", "correlations", "hyperdirichlet"],
)
def test_halves_are_decided_like_the_whole(signals, arguments):
    X, y = signals
    settings = {**FISHER, "n_models": 8}
    found = reproduced(X, y, **settings, **arguments, n_splits=2, random_state=4)
    halves = collect_halves(FeatureData.from_table(X, y), settings, 2, random_state=4)
    sets, parts = [], zip(halves.pairs, halves.samples, strict=True)
    for pair, first in parts:
        for half, samples in zip(pair, (first, ~first), strict=True):
            data = X[samples] if any(c.needs_data for c in Decision(**arguments).constraints) else None
            own = Decision(**{**arguments, "random_state": 4}).make(half, data).mask
            plain = Decision(**{**arguments, "weights": 0.01, "random_state": 4}).make(half, data).mask
            by_user = (*found.by_rule, *found.by_weight)
            sets.append(own & plain & (half.counts > 0) & ~np.isin(X.columns, by_user))
    sets, n_varying = np.array(sets), 100 - len(by_user)
    assert found.n_varying == n_varying
    # Of a half that selects more than the whole did, the members with the most votes count; ties are drawn.
    drawn, strongest = np.random.default_rng(0).random((len(halves.pairs), 2, 100)).reshape(-1, 100), sets.copy()
    for members, half, draw in zip(strongest, (half for pair in halves.pairs for half in pair), drawn, strict=True):
        ranked = sorted(np.flatnonzero(members), key=lambda i: (half.counts[i], draw[i]), reverse=True)
        members[ranked[found.size :]] = False
    assert found.agreements == pytest.approx(agreement(strongest[::2], strongest[1::2], n_varying), nan_ok=True)
    assert found.share_of_halves == pytest.approx(sets.mean(axis=0))
    votes = np.array([half.counts / 8 for pair in halves.pairs for half in pair])
    assert found.vote_share == pytest.approx(np.quantile(votes, [0.05, 0.95], axis=0).T)
    whole = Decision(**arguments, random_state=4).make(collect_evidence(X, y, **settings, random_state=4), X)
    assert found.selected.tolist() == whole.mask.tolist()


def test_halves_without_a_set_are_counted(signals):
    data = FeatureData.from_table(*signals)
    evidence, halves = collect_evidence(data, **FISHER, random_state=0), collect_halves(data, FISHER, 4, random_state=0)
    selection = decide(evidence, constraints=FIVE)
    contradiction = Decision(constraints=[exact_size(3), min_size(4)], min_votes=0)
    with pytest.raises(EnsembleError, match=r"4 of 4 splits could not be used.*\(4x\) is: No feature set"):
        reproducibility_of(replace(selection, decision=contradiction), halves)
    empty = Decision(constraints=max_size(0))
    found = reproducibility_of(replace(selection, decision=empty), halves)
    assert (found.n_used, found.n_undefined, found.complete) == (0, 4, True)


# Progress, cancel, checkpoint


def test_a_cancel_says_what_it_rests_on(signals):
    with pytest.warns(ubayfs.exceptions.EnsembleWarning, match="after 3 of 20 splits"):
        found = reproduced(
            *signals, **FISHER, constraints=FIVE, random_state=0, on_progress=lambda done, total: done < 3
        )
    assert (found.n_used, found.n_splits, found.complete) == (3, 20, False)


# Arguments


def test_feature_data_bring_everything(signals):
    X, y = signals
    groups = np.arange(len(y)) // 4
    data = FeatureData.from_table(X, y, groups=groups)
    one = reproduced(data, **FISHER, n_splits=2, constraints=FIVE, random_state=0)
    other = reproduced(X, y, groups=groups, **FISHER, n_splits=2, constraints=FIVE, random_state=0)
    assert one.agreements.tolist() == other.agreements.tolist()


def test_mistakes_are_found_before_any_work(signals):
    begun = []

    def watched(X, y, n_features, rng):
        begun.append(len(y))
        return [0]

    X, y = signals
    rare = np.r_[2, 2, 2, y[3:]]
    selection, others = decided(X, y, selector=watched, n_models=2, constraints=FIVE)
    few, _ = decided(X, rare, selector=watched, n_models=2, constraints=FIVE)
    begun.clear()
    with pytest.raises(InputError, match="n_splits"):
        estimate_reproducibility(selection, X, y, n_splits=0, **others)
    with pytest.raises(InputError, match="class"):
        estimate_reproducibility(few, X, rare, **others)
    assert not begun


def test_the_data_must_be_those_of_the_evidence(signals):
    X, y = signals
    selection, _ = decided(X, y, **FISHER, constraints=FIVE)
    for function in (estimate_reproducibility, validate, estimate_related):
        for data, match in (
            ((X, 1 - y), "values, target"),
            ((X + 1, y), "values, target"),
            ((X.iloc[:, ::-1], y), "features"),
        ):
            with pytest.raises(InputError, match=match) as error:
                function(selection, *data)
            assert error.value.argument == "X"
        with pytest.raises(InputError, match="must be a Selection") as error:
            function(X, y)
        assert error.value.argument == "selection"


@pytest.mark.parametrize("function", [estimate_reproducibility, validate])
def test_what_cannot_be_repeated_is_refused(signals, function):
    X, y = signals
    selection, _ = decided(X, y, **FISHER, constraints=FIVE)
    foreign = decide(Evidence.from_sets(np.arange(100) < np.full((3, 1), 5), X.columns), constraints=FIVE)
    loaded = ubayfs.decision.selection.Selection.from_dict(selection.to_dict())
    maximized = ubayfs.maximize(np.arange(100.0), FIVE, feature_names=X.columns)
    for given, match in ((foreign, "another ensemble"), (loaded, "from a file"), (maximized, "from a file")):
        with pytest.raises(InputError, match=match) as error:
            function(given, X, y)
        assert error.value.argument == "selection"


def test_a_decision_on_a_posterior_is_repeated_with_its_prior_and_weights(signals):
    X, y = signals
    prior = ubayfs.GeneralizedDirichlet(beta=2.0)
    evidence = collect_evidence(X, y, **FISHER, random_state=0)
    whole = decide(evidence, weights={"g50": 100}, prior=prior, constraints=FIVE)
    again = decide(whole.posterior, constraints=FIVE)
    assert (whole.decision.prior, again.decision.prior) == (prior, prior)
    one, other = (estimate_reproducibility(selection, X, y, n_splits=2) for selection in (whole, again))
    assert one.not_by_data == other.not_by_data
    assert one.agreements.tolist() == other.agreements.tolist()


def test_contradicting_constraints_are_an_error(signals):
    with pytest.raises(InfeasibleError):
        reproduced(*signals, **FISHER, constraints=[exact_size(3), min_size(4)], n_splits=2)


# Evidence that is given


def test_selectors_are_found_by_their_description_or_must_be_given(signals):
    tree = DecisionTreeClassifier(max_depth=2)
    evidence = collect_evidence(*signals, selector=["fisher", "mrmr"], n_models=4, random_state=0)
    found = reproduced(*signals, evidence=evidence, constraints=FIVE, n_splits=1, random_state=0)
    assert found.n_used == 1
    evidence = collect_evidence(*signals, selector=tree, n_models=4, random_state=0)
    with pytest.raises(InputError, match="must be given") as error:
        reproduced(*signals, evidence=evidence, constraints=FIVE, n_splits=1)
    assert error.value.argument == "selector"
    assert reproduced(*signals, evidence=evidence, selector=tree, constraints=FIVE, n_splits=1).n_splits == 1
    with pytest.raises(InputError, match="max_depth=2") as error:
        reproduced(*signals, evidence=evidence, selector="tree", constraints=FIVE, n_splits=1)
    assert error.value.argument == "selector"


def test_halves_have_the_train_size_of_the_evidence(signals):
    groups = np.arange(80) // 20  # two in a half: of these, half are a subsample, and three quarters are all
    evidence = collect_evidence(*signals, **FISHER, groups=groups, train_size=0.5, random_state=0)
    found = reproduced(*signals, groups=groups, evidence=evidence, constraints=FIVE, n_splits=2, random_state=0)
    assert found.n_used == 2
    with pytest.raises(InputError, match="takes all of them"):
        reproduced(*signals, groups=groups, **FISHER, constraints=FIVE, n_splits=2)


def test_sets_of_all_features_agree(signals):
    X, y = signals
    found = reproduced(X[["g0", "g1"]], y, **{**FISHER, "n_features_per_model": 1}, n_splits=3, random_state=0)
    assert (found.size, found.n_used, found.lower, found.selected_again) == (2, 3, 1.0, (2.0, 2.0))


def test_merged_evidence_counts_as_one_ensemble(signals):
    one, other = (collect_evidence(*signals, **FISHER, random_state=seed) for seed in (1, 2))
    both = decide(one.merge(other), constraints=FIVE)
    assert ensemble_of(both.posterior.evidence)["n_models"] == 40
    assert estimate_reproducibility(both, *signals, n_splits=2).n_used == 2
    mixed = one.merge(collect_evidence(*signals, **{**FISHER, "selector": "mrmr"}, random_state=0))
    with pytest.raises(InputError, match="differ in selector"):
        estimate_reproducibility(decide(mixed, constraints=FIVE), *signals)


def test_halves_of_other_ensembles_are_refused(signals):
    data = FeatureData.from_table(*signals)
    evidence = collect_evidence(data, **FISHER, random_state=0)
    other = {**FISHER, "n_features_per_model": 4}
    with pytest.raises(InputError, match="n_features_per_model") as error:
        reproducibility_of(decide(evidence, constraints=FIVE), collect_halves(data, other, 2))
    assert error.value.argument == "halves"


def test_constraints_on_correlations_need_the_data(signals):
    data = FeatureData.from_table(*signals)
    evidence, halves = collect_evidence(data, **FISHER, random_state=0), collect_halves(data, FISHER, 1, random_state=0)
    decision = Decision(constraints=[FIVE, decorrelate(0.3)])
    with pytest.raises(InputError) as error:
        reproducibility_of(decision.make(evidence, data), halves)
    assert error.value.argument == "data"
    loaded = ubayfs.decision.selection.Selection.from_dict(decision.make(evidence, data).to_dict())
    with pytest.raises(InputError) as error:
        reproducibility_of(loaded, halves, data)
    assert error.value.argument == "selection"


def test_few_numbers_are_refused_before_any_work(rng):
    """With two samples in a subsample, all features correlate perfectly, and the halves would agree by their order."""
    X = rng.normal(size=(7, 30))
    with pytest.raises(InputError, match=r"has 7 samples, and subsamples of their halves 2") as caught:
        reproduced(X, X[:, 0], n_models=5, constraints=FIVE, random_state=0)
    assert caught.value.argument == "y"
    X = rng.normal(size=(8, 30))
    assert reproduced(X, X[:, 0], n_models=5, n_splits=2, constraints=FIVE, random_state=0).n_used == 2
