"""The best set for each size and budget."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from decisions import NAMES, best_sets, random_decision
from ubayfs import (
    Evidence,
    collect_evidence,
    cost_budget,
    decide,
    estimate_related,
    estimate_reproducibility,
    exact_size,
    front,
    max_size,
    maximize,
    must_link,
    validate,
)
from ubayfs.constraints.sizes import SIZES
from ubayfs.exceptions import InfeasibleError, InputError
from ubayfs.trust.front import Front

COSTS = dict(zip(NAMES, [4.0, 1.0, 2.5, 3.0, 1.0, 5.0, 2.0, 1.0], strict=True))


def decided(evidence, arguments, size, budget, costs):
    """A separate decision, or None."""
    kept = [
        c
        for c in arguments["constraints"]
        if not (size and c.kind in SIZES) and not (budget and c.kind == "cost_budget")
    ]
    kept += [] if size is None else [exact_size(size)]
    kept += [] if budget is None else [cost_budget(costs, budget)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return decide(evidence, **{**arguments, "constraints": kept})
        except InfeasibleError:
            return None


@pytest.fixture(scope="module")
def signals():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 20))
    X[:, :3] += 1.5 * y[:, None]
    return X, y


@pytest.mark.parametrize("seed", range(40, 48))
def test_every_point_is_the_separate_decision_and_the_best_of_all_sets(seed):
    selection, evidence, arguments = random_decision(seed)
    every = dict.fromkeys(NAMES, 0.0) | COSTS
    found = front(selection, sizes=range(1, 9), budgets=[3, 6, 40], costs=every)
    again = front(selection, sizes=[2], budgets=None, costs=every), front(selection, budgets=[6], costs=every)
    assert len(found.points) == 24
    n_sets = 0
    for point in itertools.chain(found.points, *(other.points for other in again)):
        apart = decided(evidence, arguments, point.size, point.budget, every)
        assert point.is_set == (apart is not None)
        assert point.proved
        if apart is None:
            assert point.features == ()
            continue
        n_sets += 1
        assert point.features == apart.features
        assert point.value == pytest.approx(apart.value, abs=1e-9)
        highest, _ = best_sets(apart.problem.utility, apart.mask)
        assert point.value == pytest.approx(highest, abs=1e-8)
        assert point.cost == sum(every[name] for name in point.features)
        assert point.size in (None, len(point.features))
        assert point.budget is None or point.cost <= point.budget
    assert n_sets


def test_costs_come_from_the_budget_or_the_table():
    evidence = Evidence.from_sets(np.eye(8, dtype=int), NAMES)
    with_budget = decide(evidence, max_size=3, constraints=cost_budget(COSTS, 4))
    points = front(with_budget, budgets=[2, 9]).points
    assert [point.cost for point in points] == [sum(COSTS[name] for name in point.features) for point in points]
    as_list = decide(evidence, max_size=3, constraints=cost_budget(list(COSTS.values()), 4))
    assert front(as_list, budgets=[2, 9]) == front(with_budget, budgets=[2, 9])
    (only,) = front(decide(evidence, max_size=3), sizes=[2]).points
    assert only.cost is None


def test_a_posterior_needs_its_constraints():
    evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 1], [0, 1, 0]], ["a", "b", "c"])
    posterior = decide(evidence, max_size=1).posterior
    linked = must_link(["a", "c"])
    points = front(posterior, sizes=[1, 2], constraints=linked).points
    assert [point.features for point in points] == [("b",), ("a", "c")]
    assert points == front(decide(evidence, constraints=[linked, max_size(2)]), sizes=[1, 2]).points


def test_importances_without_votes_have_a_front_too():
    points = front(maximize([0.5, 0.3, 0.2], max_size(1)), sizes=[1, 2, 9]).points
    assert [point.features for point in points] == [("x0",), ("x0", "x1"), ()]
    assert [point.is_set for point in points] == [True, True, False]


def test_each_set_is_judged_as_its_own_selection_is(signals):
    X, y = signals
    evidence = collect_evidence(X, y, selector="mrmr", n_models=10, random_state=0)
    selection = decide(evidence, max_size=4)
    settings = {"random_state": 0}
    known = {
        "related": estimate_related(selection, X, y, n_shuffles=200, **settings),
        "reproducibility": estimate_reproducibility(selection, X, y, n_splits=3, **settings),
        "validation": validate(selection, X, y, cv=2, n_repeats=1, sizes=[2], baselines=[], **settings),
    }
    found = front(selection, sizes=[2, 3], **known)
    for point in found.points:
        own = decide(evidence, constraints=exact_size(point.size))
        assert point.features == own.features
        assert point.related == estimate_related(own, X, y, n_shuffles=200, **settings).at_least
        again = estimate_reproducibility(own, X, y, n_splits=3, **settings).selected_again
        assert_allclose(point.selected_again, again)
    curve = known["validation"].sizes.set_index(["size", "metric"]).loc[(2, "auc")]
    assert_allclose(found.points[0].performance, curve[["mean", "lower", "upper"]])
    assert (found.points[1].performance, found.metric) == ((), "auc")
    assert Front.from_dict(found.to_dict()) == found
    assert found.table()["n_features"].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({}, "sizes"),
        ({"sizes": []}, "sizes"),
        ({"sizes": 3}, "sizes"),
        ({"sizes": [0]}, "sizes"),
        ({"sizes": [1.5]}, "sizes"),
        ({"budgets": [-1], "costs": COSTS}, "budgets"),
        ({"budgets": ["all"], "costs": COSTS}, "budgets"),
        ({"budgets": [5]}, "costs"),
        ({"budgets": [5], "costs": {"z": 1.0}}, "costs"),
        ({"sizes": [2], "constraints": max_size(2)}, "constraints"),
        ({"sizes": [2], "node_limit": 0}, "node_limit"),
    ],
)
def test_what_is_wrong_is_named(arguments, wrong):
    selection = decide(Evidence.from_sets(np.eye(8, dtype=int), NAMES), max_size=2)
    with pytest.raises(InputError) as raised:
        front(selection, **arguments)
    assert raised.value.argument == wrong


def test_a_limit_of_nodes_leaves_sets_that_are_not_proved():
    selection, _, _ = random_decision(40)
    assert all(point.proved for point in front(selection, sizes=[2], node_limit=10_000).points)
    with pytest.raises(InputError, match="posterior"):
        front("selection", sizes=[1])
