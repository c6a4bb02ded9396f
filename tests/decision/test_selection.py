import json

import numpy as np
import pandas as pd
import pytest

from problems import all_sets
from ubayfs import Evidence, Genetic, cannot_link, cost_budget, decide, max_size, maximize, min_size, must_link, require
from ubayfs.decision.selection import Selection
from ubayfs.exceptions import InputError, OptimizationWarning, UBayFSError

INF = np.inf
NAMES = ["radius", "area", "texture", "smooth", "symmetry", "fractal"]
THETA = np.array([0.35, 0.25, 0.2, 0.1, 0.1, 0.0])


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(1)
    return pd.DataFrame(rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6)), columns=NAMES)


@pytest.fixture(scope="module")
def selection(X):
    sets = np.array([[1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0]])
    constraints = [
        max_size(3, rho=2.0),
        cannot_link(["radius", "area"], rho=0.7),
        must_link(["area", "smooth"]),
    ]
    evidence = Evidence.from_sets(sets, NAMES)
    return decide(evidence, weights=0.5, constraints=constraints, X=X, n_alternatives=4, min_votes=0)


def literal_metrics(selection, mask):
    """The utility of a set of the fixture, by its formulas."""

    def factor(violation, rho):
        xi = np.exp(-rho * violation)
        return 2 * xi / (1 + xi) if violation > 0 else 1.0

    importance = selection.importance[mask].sum()
    kappa = factor(mask.sum() - 3, 2.0) * factor(int(mask[0]) + int(mask[1]) - 1, 0.7)
    if mask[1] != mask[3]:
        return importance, 0.0, -INF
    return importance, kappa, importance + kappa


def test_metrics_of_every_set_follow_the_formulas(selection, X):
    correlations = np.abs(np.corrcoef(X.to_numpy(), rowvar=False))
    for mask in all_sets(6):
        found = selection.evaluate(mask)
        importance, kappa, utility = literal_metrics(selection, mask)
        assert found.cardinality == mask.sum()
        assert found.importance == pytest.approx(importance)
        assert found.admissibility == pytest.approx(kappa)
        assert found.utility == pytest.approx(utility)
        assert np.exp(found.log_admissibility) == pytest.approx(kappa)
        assert found.without_votes == tuple(np.array(NAMES)[mask & (selection.counts == 0)])
        within = correlations[np.ix_(mask, mask)]
        pairs = within[np.triu_indices(mask.sum(), 1)]
        assert found.redundancy == pytest.approx(pairs.mean() if len(pairs) else np.nan, nan_ok=True)


def test_the_chosen_set_is_the_best_of_all_and_its_metrics_are_its_own(selection):
    values = [literal_metrics(selection, mask)[2] for mask in all_sets(6)]
    assert selection.value == pytest.approx(max(values))
    assert selection.metrics == selection.evaluate(selection.features)
    assert selection.metrics.utility == selection.value
    assert selection.gap <= 1e-9
    assert selection.best.complete
    assert selection.features == tuple(np.array(NAMES)[selection.indices])
    np.testing.assert_array_equal(np.flatnonzero(selection.mask), selection.indices)


def test_alternatives_are_the_next_best_sets(selection):
    values = sorted((literal_metrics(selection, mask)[2] for mask in all_sets(6)), reverse=True)
    assert [found.value for found in (selection.best, *selection.alternatives)] == pytest.approx(values[:5])
    for found in selection.alternatives:
        assert found.metrics == selection.evaluate(found.features)


def test_violations_come_by_label_and_amount_with_the_costliest_first():
    constraints = [
        max_size(1, rho=0.1),
        cannot_link(["radius", "area"], rho=3.0),
        require("fractal"),
        cost_budget({"area": 2.5, "texture": 2.0}, budget=1.5, rho=1.0),
    ]
    selection = maximize(THETA, constraints, feature_names=NAMES)
    violations = selection.evaluate(["radius", "area", "texture"]).violations
    assert [(v.label, v.rho) for v in violations] == [
        ("require fractal", INF),
        ("cannot-link radius, area", 3.0),
        ("cost budget 1.5", 1.0),
        ("max-size 1", 0.1),
    ]
    assert [v.amount for v in violations] == pytest.approx([1.0, 1.0, 3.0, 2.0])
    factors = [2 * np.exp(-z) / (1 + np.exp(-z)) for z in (INF, 3.0, 3.0, 0.2)]
    assert [v.admissibility for v in violations] == pytest.approx(factors)
    assert selection.evaluate(["fractal"]).violations == ()


@pytest.mark.parametrize(
    "features",
    [
        ["area", "smooth"],
        ("smooth", "area"),
        {"area", "smooth"},
        [1, 3],
        np.array([3, 1]),
        [1, "smooth"],
        pd.Index(["area", "smooth"]),
        pd.Series(["area", "smooth"]),
        (name for name in ["area", "smooth"]),
        [False, True, False, True, False, False],
        np.isin(np.arange(6), [1, 3]),
        pd.Series(np.isin(np.arange(6), [1, 3]), index=NAMES),
    ],
    ids=lambda features: type(features).__name__,
)
def test_a_proposed_set_may_be_given_in_any_form(selection, features):
    assert selection.evaluate(features) == selection.evaluate(np.isin(np.arange(6), [1, 3]))


def test_one_feature_or_none_can_be_evaluated(selection):
    assert selection.evaluate("radius").cardinality == 1
    assert repr(selection.evaluate(0)) == repr(selection.evaluate("radius"))  # redundancy is nan, unequal to itself
    assert selection.evaluate([]).cardinality == 0
    assert selection.evaluate([0, 1, 1, 0, 0, 0]) == selection.evaluate([1, 2])  # one entry for each feature


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (["raduis"], "features names 'raduis', which is not a feature. Did you mean 'radius'?"),
        ([6], "features refers to position 6, but positions count from 0 to 5"),
        (["area", "area"], "features names feature 'area' more than once"),
        ([True, False], "features as a mask must have one entry per feature, 6; got 2"),
        ([1.5], r"features must refer to features by name \(str\) or position \(int\); got 1.5"),
        (None, r"features must refer to features by name \(str\) or position \(int\); got None"),
    ],
)
def test_a_wrong_proposal_is_explained(selection, features, message):
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        selection.evaluate(features)


def test_similarity_is_jaccard_between_the_sets(selection):
    similarity = selection.similarity()
    members = [set(found.features) for found in (selection.best, *selection.alternatives)]
    expected = [[len(a & b) / len(a | b) for b in members] for a in members]
    np.testing.assert_allclose(similarity, expected)


def test_the_table_lists_every_feature_most_important_first(selection):
    table = selection.table()
    assert list(table.columns) == ["feature", "count", "weight", "importance", "chosen"]
    assert (np.diff(table["importance"]) <= 0).all()
    by_name = table.set_index("feature")
    assert by_name.loc["radius", "count"] == 3
    assert (by_name["weight"] == 0.5).all()
    assert set(by_name.index[by_name["chosen"]]) == set(selection.features)
    np.testing.assert_allclose(by_name.loc[NAMES, "importance"], selection.importance)


def test_a_table_of_plain_importances_has_no_votes_and_weights():
    assert list(maximize(THETA, max_size(2)).table().columns) == ["feature", "importance", "chosen"]


def assert_same_set(one, other):
    np.testing.assert_array_equal(one.indices, other.indices)
    assert one.indices.dtype == other.indices.dtype
    assert (one.features, one.value, one.bound, one.complete) == (
        other.features,
        other.value,
        other.bound,
        other.complete,
    )
    np.testing.assert_equal(vars(one.metrics), vars(other.metrics))  # nan equals nan here


def round_trip(selection):
    # Strict JSON: no Infinity, no NaN.
    return Selection.from_dict(json.loads(json.dumps(selection.to_dict(), allow_nan=False)))


def test_a_selection_survives_json(selection):
    copy = round_trip(selection)
    assert_same_set(copy.best, selection.best)
    assert len(copy.alternatives) == len(selection.alternatives) == 4
    for found, other in zip(copy.alternatives, selection.alternatives, strict=True):
        assert_same_set(found, other)
    for name in ("feature_names", "importance", "counts", "weights"):
        np.testing.assert_array_equal(getattr(copy, name), getattr(selection, name))
    assert copy.provenance == json.loads(json.dumps(selection.provenance))
    pd.testing.assert_frame_equal(copy.table(), selection.table())
    assert repr(copy) == repr(selection)
    assert copy.to_dict() == selection.to_dict()


def test_infinite_and_missing_numbers_survive_json():
    with pytest.warns(OptimizationWarning, match="No set satisfies all of"):
        selection = maximize([0.6, 0.4], [cannot_link([0, 1], rho=1e300), min_size(2, rho=5.0)], n_alternatives=1)
    worst = selection.evaluate([True, True])
    assert np.isnan(worst.redundancy)
    assert worst.log_admissibility < -1e299
    hard = maximize([0.6, 0.4], [require(0), max_size(1)])
    broken = type(hard.best)(*(np.array([1]), ("x1",), -INF, INF, False, hard.evaluate([1])))
    copy = round_trip(Selection(broken, (selection.best,), hard.feature_names, hard.importance))
    assert_same_set(copy.best, broken)
    assert copy.best.metrics.violations[0].rho == INF
    assert copy.best.metrics.utility == -INF
    assert copy.counts is None
    assert copy.weights is None


def test_a_genetic_search_that_begins_outside_the_hard_rows_survives_json():
    # Each generation's best is recorded; -inf as long as no set keeps the hard rows.
    selection = maximize([0.6, 0.4, 0.1], max_size(1), optimizer=Genetic(n_sets=4, n_generations=3), random_state=0)
    object.__setattr__(selection, "provenance", {**selection.provenance, "solver": {"best_by_generation": (-INF, 1.6)}})
    assert round_trip(selection).provenance["solver"]["best_by_generation"] == ["-inf", 1.6]


def test_a_selection_read_back_cannot_evaluate_other_sets(selection):
    with pytest.raises(UBayFSError, match=r"evaluation of other sets needs the constraints.*call decide\(\) again"):
        round_trip(selection).evaluate(["area"])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("knowledge", True),
        ("knowledge", {"area": 3}),
        ("evidence", []),
        ("constraints", {"kind": "max_size"}),
        ("constraints", [7]),
        ("constraints", [{"kind": "max_size", "arguments": None}]),
        ("experts", "Ann"),
        ("solver", 1.5),
    ],
)
def test_a_selection_whose_provenance_is_of_another_kind(selection, key, value):
    content = json.loads(json.dumps(selection.to_dict()))
    content["provenance"][key] = value
    with pytest.raises(InputError, match="content is a damaged selection"):
        Selection.from_dict(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "content must be what Selection.to_dict of this version gave, format 2; got format None"),
        ({"format": 1}, "got format 1. Decide again"),
        ("text", "got str"),
        ({"format": 2}, r"content is a damaged selection \(KeyError: 'feature_names'\)"),
        ({"format": 2, "feature_names": ["a"], "best": 3}, r"content is a damaged selection"),
    ],
)
def test_other_content_is_refused(content, message):
    with pytest.raises(InputError, match=message):
        Selection.from_dict(content)


def test_values_are_not_rounded(selection):
    assert selection.to_dict()["importance"] == selection.importance.tolist()
    assert selection.to_dict()["best"]["value"] == selection.value


def test_repr_says_what_was_chosen(selection):
    text = repr(selection)
    assert text.startswith(
        f"Selection({len(selection.features)} of 6 features: {', '.join(selection.features)}; value="
    )
    assert "gap=0" in text
    assert text.endswith("alternatives=4)")
