"""Reasons why features are out, against brute force over all sets."""

import sys

import numpy as np
import pytest

from decisions import NAMES, best_sets, decided_without, random_decision
from ubayfs import (
    Evidence,
    at_least_one,
    cannot_link,
    decide,
    exclude,
    max_size,
    maximize,
    min_size,
    must_link,
    require,
)
from ubayfs.decision.selection import Selection
from ubayfs.exceptions import InputError, UBayFSError
from ubayfs.explain import constraint_costs, left_out

INF = np.inf


SEEDS = range(8, 28)


@pytest.fixture(scope="module")
def explained():
    """Random decisions with all that is left out, by seed."""
    decisions = {seed: random_decision(seed) for seed in SEEDS}
    return {seed: (*found, left_out(found[0], n=8)) for seed, found in decisions.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_against_all_sets(explained, seed):
    selection, evidence, arguments, found = explained[seed]
    utility = selection.problem.utility
    order = [(out.count, selection.importance[NAMES.index(out.feature)]) for out in found]
    assert order == sorted(order, reverse=True)
    for out in found:
        position = NAMES.index(out.feature)
        assert not selection.mask[position]
        if not utility.selectable[position]:
            assert out.because == "min_votes"
            continue
        value, sets = best_sets(utility, selection.mask, lambda s, j=position: s[:, j])
        assert (out.because == "contradiction") == (not sets)
        if not sets:
            assert out.constraints
            continue
        assert out.loss == pytest.approx(selection.value - value, abs=1e-8)
        assert out.loss_votes == pytest.approx(out.loss * selection.posterior.total)
        assert out.rivals in {tuple(name for name in selection.features if name not in best) for best in sets}
        assert (out.because == "tie") == (abs(selection.value - value) <= 1e-9)
        check_cause(out, selection, evidence, arguments)


def check_cause(out, selection, evidence, arguments):
    if out.because == "tie":
        return
    limits = ("max_size", "exact_size", "cost_budget")
    without = [decided_without(evidence, arguments, k).problem.utility for k in range(len(arguments["constraints"]))]
    nearest = [best_sets(utility, selection.mask)[1] for utility in without]
    every = [best_sets(utility, np.zeros(8, dtype=bool))[1] for utility in without]
    demands = {
        k
        for k, constraint in enumerate(arguments["constraints"])
        if constraint.kind not in limits and all(out.feature in best for best in nearest[k])
    }
    if out.because == "constraint" and (out.rivals or not out.violated):
        assert demands <= set(out.constraints)
        alone = [any(out.feature in best for best in every[k]) for k in out.constraints]
        assert all(alone) or not any(alone)
    assert not demands or out.because == "constraint"
    if out.because == "constraint" and not out.rivals:
        assert out.violated
    if out.because == "rival":
        assert out.rivals
    assert out.because in ("constraint", "prior", "rival")


def test_every_reason_is_met(explained):
    reasons = {out.because for *_, found in explained.values() for out in found}
    assert reasons == {"min_votes", "contradiction", "tie", "constraint", "prior", "rival"}


def evidence_of(*votes, n_models=20):
    sets = np.arange(n_models)[:, None] < np.array(votes)
    return Evidence.from_sets(sets, list("abcdefgh")[: len(votes)])


def test_a_rival_has_as_many_votes_or_more():
    selection = decide(evidence_of(20, 15, 12, 3), constraints=max_size(2))
    third, fourth = left_out(selection)
    assert (third.feature, third.count, third.because, third.rivals) == ("c", 12, "rival", ("b",))
    assert (third.titles, third.loss_votes) == (("max-size 2",), pytest.approx(3.0))
    assert (fourth.feature, fourth.rivals, fourth.loss_votes) == ("d", ("b",), pytest.approx(12.0))
    assert [out.feature for out in left_out(selection, n=1)] == ["c"]
    assert left_out(selection, n=0) == ()


def test_the_constraint_that_keeps_it_out_is_named():
    constraints = [max_size(2), cannot_link(["a", "b"], rho=8), min_size(1)]
    out, *_ = left_out(decide(evidence_of(20, 15, 12, 3), constraints=constraints))
    assert (out.feature, out.because, out.constraints, out.rivals) == ("b", "constraint", (1,), ("a",))
    soft = [max_size(3), cannot_link(["a", "b"], rho=0.9)]
    evidence = Evidence.from_sets(np.arange(20)[:, None] < np.array([20, 5, 4, 3]), list("abcd"))
    out, *_ = left_out(decide(evidence, constraints=soft))
    assert (out.feature, out.because, out.violated) == ("b", "constraint", ("cannot-link a, b",))


def test_constraints_that_only_together_keep_it_out():
    """Without either of two equal exclusions the other one holds; nobody leaves for the feature."""
    selection = maximize([0.3, 0.2, 0.0], [max_size(2), exclude(1, rho=3), exclude(1, rho=2)])
    (out,) = left_out(selection)
    assert (out.because, out.constraints, out.rivals) == ("constraint", (1, 2), ())
    assert out.violated == ("exclude x1", "exclude x1")


def test_constraints_that_only_together_hold_a_rival_in_its_place():
    """A stronger feature than a member is out for a rival alone; that is because of both links, not of few places."""
    links = [cannot_link(["a", "b"], rho=8), cannot_link(["b", "a", "d"], rho=8)]
    selection = decide(evidence_of(20, 15, 12, 3), constraints=[max_size(2), *links])
    assert selection.features == ("a", "c")
    strong, weak = left_out(selection)
    assert (strong.feature, strong.because, strong.constraints, strong.rivals) == ("b", "constraint", (1, 2), ("a",))
    assert (weak.feature, weak.because) == ("d", "rival")


def test_hard_constraints_that_exclude_it_together():
    selection = maximize([0.3, 0.2, 0.1], [max_size(3), must_link([1, 2]), exclude(2), at_least_one([0])])
    found = {out.feature: out for out in left_out(selection)}
    assert {name: (out.because, out.constraints) for name, out in found.items()} == {
        "x1": ("contradiction", (1, 2)),
        "x2": ("contradiction", (2,)),
    }
    assert found["x1"].titles == ("must-link x1, x2", "exclude x2")
    assert found["x1"].loss is found["x1"].loss_votes is None


def test_the_prior_that_keeps_it_out():
    selection = decide(evidence_of(20, 15, 2, 0), weights={"c": 16}, constraints=max_size(2))
    assert selection.features == ("a", "c")
    (out,) = left_out(selection)
    assert (out.feature, out.because, out.rivals) == ("b", "prior", ("c",))
    unlikely = decide(evidence_of(20, 10, 9, 0), weights={"b": "unlikely"}, constraints=max_size(2))
    (out,) = left_out(unlikely)
    assert (out.feature, out.because, out.constraints) == ("b", "prior", (1,))


def test_constant_columns_and_few_votes():
    X = np.random.default_rng(0).normal(size=(10, 3))
    X[:, 1] = 1.0
    selection = decide(evidence_of(20, 15, 3), constraints=max_size(2), X=X, min_votes=4)
    assert [(out.feature, out.because) for out in left_out(selection)] == [("b", "constant"), ("c", "min_votes")]


def test_features_that_nothing_speaks_for_are_not_missed():
    assert [out.feature for out in left_out(decide(evidence_of(9, 5, 0, 0), constraints=max_size(1)))] == ["b"]


def test_a_set_without_proof_may_miss_a_better_one():
    class First:
        """Chooses the first feature it may, whatever it is worth."""

        def maximize(self, utility, random_state=None):
            from ubayfs.optimize import Solution

            chosen = np.zeros(utility.n_features, dtype=bool)
            chosen[int(utility.theta[1] > 1)] = True  # x1 only where it is required
            value = float(utility(chosen)[0])
            return Solution(chosen, value, 10.0)

    (out,) = left_out(maximize([0.1, 0.4], max_size(1), optimizer=First()))
    assert (out.feature, out.because) == ("x1", "search")
    assert out.loss < 0


def test_known_costs_are_used(monkeypatch):
    selection = decide(evidence_of(20, 15, 12), constraints=[max_size(2), require("c")])
    costs = constraint_costs(selection)
    monkeypatch.setattr(sys.modules["ubayfs.explain.left_out"], "constraint_costs", None)
    assert left_out(selection, costs=costs)[0].constraints == (1,)


def test_arguments_are_checked():
    with pytest.raises(InputError, match="n must be"):
        left_out(maximize([0.3, 0.2], max_size(1)), n=-1)
    with pytest.raises(UBayFSError, match="left out needs the constraints"):
        left_out(Selection.from_dict(random_decision(0)[0].to_dict()))
