"""Costs of constraints against decisions without them, by brute force over all sets."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from amounts import seeds
from decisions import best_sets, decided_without, random_decision
from ubayfs import Evidence, cannot_link, cost_budget, decide, decorrelate, exact_size, max_size, maximize, must_link
from ubayfs.exceptions import OptimizationError
from ubayfs.explain import ConstraintCost, constraint_costs, left_out
from ubayfs.optimize import Solution

INF = np.inf


@pytest.mark.parametrize("seed", seeds(24))
def test_against_all_sets(seed):
    selection, evidence, arguments = random_decision(seed)
    costs = constraint_costs(selection)
    check_one_more(selection, evidence, arguments, costs)
    assert [cost.position for cost in costs] == list(range(len(arguments["constraints"])))
    for cost in costs:
        without = decided_without(evidence, arguments, cost.position)
        # A feature that a hard constraint exempts from `min_votes` stays a candidate.
        candidates = selection.problem.utility.selectable
        value, sets = best_sets(replace(without.problem.utility, selectable=candidates), selection.mask)
        assert cost.gain == pytest.approx(value - selection.value, abs=1e-8)
        assert cost.gain >= 0
        assert cost.gain_votes == pytest.approx(cost.gain * selection.posterior.total)
        assert changed(selection, cost) in sets
        assert cost.proved
        assert cost.title == selection.problem.utility.system.parts[cost.position].title


def changed(selection, change):
    """The set after a change, in the order of the features."""
    members = set(selection.features) - set(change.removed) | set(change.added)
    return tuple(name for name in selection.feature_names if name in members)


def check_one_more(selection, evidence, arguments, costs):
    """One more place is the decision with the next larger size."""
    for cost, constraint in zip(costs, arguments["constraints"], strict=True):
        assert (cost.one_more is not None) == (constraint.kind in ("max_size", "exact_size"))
        assert cost.limits_size == (constraint.kind in ("max_size", "exact_size", "cost_budget"))
        if constraint.kind != "max_size":
            continue
        wider = replace(constraint, arguments=(("n", dict(constraint.arguments)["n"] + 1), ("rho", constraint.rho)))
        listed = [wider if c is constraint else c for c in arguments["constraints"]]
        value, sets = best_sets(problem(evidence, {**arguments, "constraints": listed}).utility, selection.mask)
        assert cost.one_more.gain == pytest.approx(value - selection.value, abs=1e-8)
        assert changed(selection, cost.one_more) in sets


@pytest.mark.filterwarnings("ignore::UserWarning")
def problem(evidence, arguments):
    return decide(evidence, **arguments).problem


def test_a_constraint_that_changes_nothing_costs_nothing():
    selection = maximize([0.5, 0.4, 0.3, 0.2], [max_size(2), cannot_link([0, 3], rho=5), must_link([1, 2], rho=0)])
    size, link, omitted = constraint_costs(selection)
    for cost in (link, omitted):
        assert (cost.gain, cost.gain_votes, cost.added, cost.removed, cost.proved) == (0.0, None, (), (), True)
    assert (size.added, size.one_more.added) == (("x2",), ("x2",))  # x3 stays out: it is not linked to x0


def test_a_violated_constraint_costs_its_penalty():
    """Nothing else changes without it, but its penalty is gone."""
    selection = maximize([0.5, 0.4], cannot_link([0, 1], rho=0.1))
    (cost,) = constraint_costs(selection)
    assert selection.features == ("x0", "x1")
    assert (cost.added, cost.removed) == ((), ())
    assert cost.gain == pytest.approx(np.tanh(0.05))


def test_a_limit_of_the_size_beside_constraints_on_many_features():
    """Features are alike in pairs: without a limit on the size the better one of each pair is chosen."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(40, 150)), 2, axis=1) + 0.1 * rng.normal(size=(40, 300))
    evidence = Evidence.from_sets(rng.random((30, 300)) < 0.1)
    constraints = [max_size(5), decorrelate(0.8), cost_budget(np.ones(300), 4)]
    selection = decide(evidence, constraints=constraints, X=X)
    size, pairs, budget = constraint_costs(selection)
    assert (size.proved, budget.proved) == (True, True)  # one limit is left
    selection = decide(evidence, constraints=constraints[:2], X=X)
    size, pairs = constraint_costs(selection)
    best = selection.importance.reshape(150, 2).max(axis=1).sum() + 1.0  # no pair is violated
    assert (size.gain, size.proved) == (pytest.approx(best - selection.value, abs=1e-8), True)
    assert size.gain_bound == size.gain
    assert size.one_more.proved
    assert len(size.one_more.added) - len(size.one_more.removed) == 1
    assert pairs.proved


def test_limits_of_the_gain_where_a_proof_would_take_long():
    """A program with all pairs takes long; the votes that lie between the limits are few."""
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(60, 40))
    X = factors @ rng.normal(size=(40, 600)) / 6 + rng.normal(size=(60, 600)) * 0.7
    sets = np.zeros((50, 600), dtype=bool)
    sets[np.arange(50)[:, None], (rng.exponential(30, (50, 10)).astype(int)) % 600] = True
    evidence = Evidence.from_sets(sets)
    selection = decide(evidence, constraints=[max_size(10), decorrelate(0.3)], X=X, min_votes=0)
    size, _ = constraint_costs(selection)
    utility = selection.problem.utility
    assert utility.system.n_inequalities > 10_000
    free = replace(utility, system=utility.system.take(np.arange(1, utility.system.n_inequalities)))
    chosen = np.isin(selection.feature_names, changed(selection, size))
    assert not size.proved
    assert size.gain == pytest.approx(float(free(chosen)[0]) - selection.value)
    assert 0 < size.gain_votes < size.gain_bound_votes < size.gain_votes + 15
    assert size.one_more.proved


def test_when_time_runs_out_the_chosen_set_is_known():
    class Impatient:
        """Finds the first set only."""

        def __init__(self):
            self.n_calls = 0

        def maximize(self, utility, random_state=None):
            self.n_calls += 1
            if self.n_calls > 1:
                raise OptimizationError("out of time")
            return Solution(np.array([True, True, False]), float(utility([True, True, False])[0]), 9.0)

    selection = maximize([0.5, 0.4, 0.3], [cannot_link([0, 1], rho=0.1), max_size(2)], optimizer=Impatient())
    link, size = constraint_costs(selection)
    assert (link.added, link.removed, link.proved) == ((), (), False)
    assert link.gain == pytest.approx(np.tanh(0.05))  # at least its penalty
    assert (size.gain, size.gain_bound, size.proved) == (0.0, None, False)
    first, _ = selection.substitutes()
    assert (first.replaceable, first.proved) == (False, False)
    assert left_out(selection)[0].because == "search"


def test_only_unlikely_features_are_from_the_prior():
    evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 1], [1, 1, 0]], list("abc"))
    selection = decide(evidence, weights={"b": "unlikely"}, constraints=exact_size(2))
    assert [cost.from_prior for cost in constraint_costs(selection)] == [False, True]


def test_plain_fields():
    """What faces show is made of numbers, texts and tuples."""
    (cost,) = constraint_costs(maximize([0.5, 0.4], max_size(1)))
    assert isinstance(cost, ConstraintCost)
    assert asdict(cost)["one_more"] == {
        "gain": pytest.approx(0.4), "gain_votes": None, "gain_bound": pytest.approx(0.4), "gain_bound_votes": None,
        "added": ("x1",), "removed": (), "proved": True,
    }  # fmt: skip
