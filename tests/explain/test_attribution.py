"""What is data and what is belief: against direct decisions."""

import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from ubayfs import (
    Dirichlet,
    Evidence,
    GeneralizedDirichlet,
    Genetic,
    Hyperdirichlet,
    at_least_one,
    cannot_link,
    cost_budget,
    decide,
    exact_size,
    exclude,
    implies,
    max_per_block,
    max_size,
    maximize,
    min_size,
    must_link,
    require,
)
from ubayfs.constraints import resolve
from ubayfs.constraints.constraint import Inequalities
from ubayfs.decision.selection import Selection
from ubayfs.exceptions import OptimizationWarning, UBayFSError
from ubayfs.explain.attribution import Attribution, attribution
from ubayfs.explain.left_out import constraint_costs
from ubayfs.optimize import Exact, Solution

NAMES = list("abcdefgh")
INF = np.inf


def evidence_of(seed, n_models=60):
    rng = np.random.default_rng(seed)
    return Evidence.from_sets(rng.random((n_models, 8)) < np.maximum(rng.random(8), 0.2), NAMES)


@settings(max_examples=examples(40))
@given(
    seed=st.integers(0, 10**6),
    weights=st.dictionaries(st.sampled_from(NAMES), st.floats(0.5, 80), max_size=3),
    link=st.lists(st.sampled_from(NAMES), min_size=2, max_size=3, unique=True),
    size=st.integers(1, 6),
    hard=st.booleans(),
)
def test_every_set_is_as_good_as_a_direct_decision(seed, weights, link, size, hard):
    evidence = evidence_of(seed)
    constraints = [max_size(size, rho=5), must_link(link, rho=INF if hard else 0.3), cannot_link(NAMES[:3], rho=0.2)]
    selection = decide(evidence, weights=weights, constraints=constraints)
    found = attribution(selection)
    neutral = decide(evidence, constraints=constraints)
    assert neutral.evaluate(found.without_prior).utility == pytest.approx(neutral.value, abs=1e-9)
    same_size = [exact_size(len(selection.features))]
    for features, free in (
        (found.without_constraints, decide(selection.posterior, constraints=same_size)),
        (found.data_alone, decide(evidence, constraints=same_size)),
    ):
        assert len(features) == len(selection.features)  # every feature has votes here
        assert free.evaluate(features).importance == pytest.approx(free.metrics.importance, abs=1e-9)


def test_prior_and_constraints_are_told_apart():
    sets = np.zeros((20, 5), dtype=bool)
    sets[:, 0] = True
    sets[:12, 1] = True
    sets[:8, 2] = True
    sets[19, 3:] = True
    evidence = Evidence.from_sets(sets, ["strong", "fair", "weak", "believed", "required"])
    selection = decide(evidence, weights={"believed": 15}, constraints=[max_size(3), require("required")])
    found = attribution(selection)
    assert selection.features == ("strong", "believed", "required")
    assert found.without_prior == ("strong", "fair", "required")
    assert found.without_constraints == ("strong", "fair", "believed")
    assert found.data_alone == ("strong", "fair", "weak")
    assert found.why == {"strong": "data", "believed": "weight", "required": "rule"}


# Votes 10, 8, 6, 4, 2, 1 of features a to f; none of h.
VOTES = Evidence.from_sets([[i < n for n in (10, 8, 6, 4, 2, 1, 1, 0)] for i in range(10)], NAMES)


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        ([max_size(2)], {"a": "data", "b": "data"}),
        ([max_size(2), require("a")], {"a": "rule", "b": "data"}),  # it is always there, whatever the votes
        ([max_size(2), require("f")], {"a": "data", "f": "rule"}),
        ([max_size(2), require("h")], {"a": "data", "h": "rule"}),
        ([max_size(3), require("a"), must_link(["a", "e"])], {"a": "rule", "b": "data", "e": "rule"}),
        ([max_size(3), require("a"), implies("a", "f")], {"a": "rule", "b": "data", "f": "rule"}),
        ([max_size(3), must_link(["a", "f"])], {"a": "data", "b": "data", "f": "rule"}),
        ([max_size(3), must_link(["a", "h"])], {"a": "data", "b": "data", "h": "rule"}),
        ([max_size(2), at_least_one(["d", "e"])], {"a": "data", "d": "rule"}),
        ([max_size(2), require("f", rho=20.0)], {"a": "data", "f": "rule"}),
        ([max_size(2), require("a", rho=20.0)], {"a": "data", "b": "data"}),  # it would be there without
        ([max_size(2), at_least_one(["a", "e"])], {"a": "data", "b": "data"}),
        ([exact_size(3)], {"a": "data", "b": "data", "c": "data"}),
        # A minimum brings in what would stay out, unless votes alone would select it.
        ([exact_size(3), exclude(NAMES[2:], rho=5.0)], {"a": "data", "b": "data", "c": "data"}),
        ([exact_size(3), exclude("c"), exclude(NAMES[3:], rho=5.0)], {"a": "data", "b": "data", "d": "rule"}),
    ],
)
def test_rules(constraints, expected):
    assert attribution(quietly_decide(VOTES, constraints=constraints)).why == expected


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        ([max_size(2), cannot_link(["a", "b"])], {"a": "data", "c": "data"}),
        ([exact_size(2), max_per_block(1)], {"a": "data", "d": "data"}),
        ([max_size(2), exclude(["a"])], {"b": "data", "c": "data"}),
        ([cost_budget({**dict.fromkeys(NAMES, 9), "b": 2, "d": 2}, 4)], {"b": "data", "d": "data"}),
        # c is there by its votes, given the rule on f.
        ([exact_size(2), require("f"), cannot_link(["f", "a"]), cannot_link(["f", "b"])],
         {"c": "data", "f": "rule"}),
        ([exact_size(2), require("f", rho=30), cannot_link(["f", "a"]),
          cannot_link(["f", "b"]), at_least_one(["c", "d"])],
         {"c": "data", "f": "rule"}),
    ],
)  # fmt: skip
def test_limits_leave_members_to_the_data(constraints, expected):
    blocks = {"one": ["a", "b", "c"], "two": ["d", "e", "f"]}
    assert attribution(decide(VOTES, constraints=constraints, blocks=blocks)).why == expected


def test_weights():
    def why(weights, *constraints):
        return attribution(quietly_decide(VOTES, weights, constraints=constraints)).why

    assert why({"f": 50}, max_size(2)) == {"a": "data", "f": "weight"}
    assert why({"h": 50}, max_size(2)) == {"a": "data", "h": "weight"}
    assert why({"a": 50}, max_size(2)) == {"a": "data", "b": "data"}  # it would be there without the weight
    assert why({"b": "unlikely"}, max_size(2)) == {"a": "data", "c": "weight"}
    assert why({"f": 50}, max_size(3), require("e")) == {"a": "data", "e": "rule", "f": "weight"}
    assert why({"h": 50}, max_size(3), must_link(["a", "h"])) == {"a": "data", "b": "data", "h": "rule"}


def best_sets(votes, holds):
    """Return the sets of most votes among those that hold, by brute force; no two sets are equal in `votes`."""
    sets = [set(s) for size in range(1, 7) for s in combinations("abcdef", size) if holds(set(s))]
    return max(sets, key=lambda members: sum(votes[name] for name in members))


@settings(max_examples=examples(60))
@given(
    order=st.permutations([1, 2, 4, 8, 16, 32]),
    raised=st.sampled_from([None, *"abcdef"]),
    most=st.integers(1, 4),
    cannot=st.lists(st.sampled_from("abcdef"), min_size=2, max_size=2, unique=True),
    demand=st.sampled_from(["none", "require", "must_link", "implies", "at_least_one"]),
    of=st.lists(st.sampled_from("abcdef"), min_size=2, max_size=2, unique=True),
)
def test_reasons_are_those_of_the_literal_definition(order, raised, most, cannot, demand, of):
    """Each member against sets that brute force finds: without weights, and without the demand."""
    votes = dict(zip("abcdef", order, strict=True))
    evidence = Evidence.from_sets([[i < votes[name] for name in "abcdef"] for i in range(32)], list("abcdef"))
    first, second = of
    made = {
        "require": require(first), "must_link": must_link(of), "implies": implies(first, second),
        "at_least_one": at_least_one(of),
    }  # fmt: skip
    kept = {
        "none": lambda s: True, "require": lambda s: first in s, "must_link": lambda s: (first in s) == (second in s),
        "implies": lambda s: first not in s or second in s, "at_least_one": lambda s: bool(set(of) & s),
    }[demand]  # fmt: skip

    def limits(members):
        return len(members) <= most and not set(cannot) <= members

    constraints = [max_size(most), cannot_link(cannot), *([made[demand]] if demand != "none" else [])]
    if demand in ("must_link",) and set(of) == set(cannot):
        return
    try:
        selection = decide(evidence, weights={} if raised is None else {raised: 100.0}, constraints=constraints)
    except UBayFSError:
        assert not any(limits({a, b}) and kept({a, b}) for a in "abcdef" for b in "abcdef")
        return
    without_weights = best_sets(votes, lambda s: limits(s) and kept(s))
    for name, word in attribution(selection).why.items():
        rest = selection.mask & (selection.feature_names != name)
        asked = not kept(set(selection.feature_names[rest]))
        # Without a demand that takes two ways, only that half of it goes which asks for this member.
        other = second if name == first else first

        def half(members, name=name, other=other):
            return demand != "must_link" or name not in members or other in members

        by_votes = best_sets(votes, lambda s, half=half: limits(s) and half(s))
        if demand == "require" and name == first:
            assert word == "rule"
        elif name not in without_weights:
            assert word == "weight"
        else:
            assert word == ("rule" if asked and name not in by_votes else "data")


def test_among_equals_the_chosen_ones_are_meant():
    evidence = Evidence.from_sets(np.ones((10, 6), dtype=bool), list("abcdef"))
    selection = decide(evidence, constraints=[max_size(2), require(["e", "f"])])
    found = attribution(selection)
    assert found.without_prior == found.without_constraints == found.data_alone == ("e", "f")


def test_constant_and_unpopular_features_stay_out():
    evidence = evidence_of(4)
    least = int(np.sort(evidence.counts)[4])
    selection = decide(evidence, weights=dict.fromkeys(NAMES, 90), constraints=max_size(3), min_votes=least)
    found = attribution(selection)
    allowed = set(evidence.feature_names[evidence.counts >= least])
    assert set(found.without_constraints) <= allowed
    assert set(found.without_prior) <= allowed
    assert set(found.data_alone) <= allowed


def test_importances_that_were_given_have_no_prior():
    selection = maximize([0.5, 0.4, 0.3, 0.2], [max_size(2, rho=5), cannot_link([0, 1], rho=5)])
    found = attribution(selection)
    assert found == Attribution(("x0", "x2"), None, ("x0", "x1"), None, {"x0": "data", "x2": "data"})
    required = maximize([0.5, 0.4, 0.3, 0.2], [max_size(2, rho=5), require([3])])
    assert attribution(required).why == {"x0": "data", "x3": "rule"}


def test_an_empty_set_has_no_members_to_explain():
    selection = decide(evidence_of(1), constraints=max_size(0))
    assert attribution(selection) == Attribution((), (), (), ())


@pytest.mark.parametrize("prior", [Dirichlet(), GeneralizedDirichlet(), Hyperdirichlet()])
def test_an_expert_who_says_nothing_changes_nothing(prior):
    """Also where posterior means are simulated, twice, with other random numbers."""
    selection = decide(evidence_of(2, n_models=12), prior=prior, constraints=max_size(4), random_state=7)
    assert attribution(selection).without_prior == selection.features


def test_a_prior_is_taken_away_whole():
    evidence = evidence_of(5)
    prior = GeneralizedDirichlet(beta=[1000.0, *np.ones(6)])  # the first feature is held to be worthless
    selection = decide(evidence, prior=prior, constraints=max_size(3))
    assert attribution(selection).without_prior == decide(evidence, constraints=max_size(3)).features


def test_a_prior_of_the_users_own_is_compared_with_the_dirichlet():
    class Own(Dirichlet):
        name = "own"

    selection = decide(evidence_of(3), weights={"h": 200}, prior=Own(), constraints=max_size(2))
    assert "h" in selection.features
    assert attribution(selection).without_prior == decide(evidence_of(3), constraints=max_size(2)).features


def test_the_optimizer_of_the_selection_is_used_and_never_does_worse_than_what_is_known():
    calls = []

    class Recorded:
        def maximize(self, utility, random_state=None):
            calls.append(random_state)
            if len(calls) == 1:
                return Exact().maximize(utility)
            nothing = np.zeros(utility.n_features, dtype=bool)
            return Solution(nothing, -np.inf, np.inf)

    selection = decide(evidence_of(6), weights={"c": 5}, constraints=max_size(3), optimizer=Recorded())
    assert attribution(selection, random_state=3).without_prior == selection.features
    assert calls == [None, 3]


def test_a_genetic_search_is_repeatable():
    evidence = evidence_of(8)
    selection = decide(
        evidence, weights={"c": 50}, constraints=max_size(3), optimizer=Genetic(n_generations=5), random_state=0
    )
    assert attribution(selection) == attribution(selection)


@pytest.mark.parametrize("explain", [attribution, constraint_costs, Selection.substitutes])
def test_a_selection_from_a_file_cannot_be_explained(explain):
    selection = decide(evidence_of(1), constraints=max_size(3))
    with pytest.raises(UBayFSError, match="needs the constraints, which a selection read from"):
        explain(Selection.from_dict(selection.to_dict()))


def with_votes(*counts, n_models=6):
    """Return evidence on features a, b, c... with so many votes each."""
    sets = np.zeros((n_models, len(counts)), dtype=bool)
    for feature, count in enumerate(counts):
        sets[(np.arange(count) + feature) % n_models, feature] = True
    return Evidence.from_sets(sets, NAMES[: len(counts)])


def quietly_decide(evidence, weights=0.01, **settings):
    """Decide without being told of members without votes and unlimited sizes: they are wanted here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizationWarning)
        return decide(evidence, weights=weights, min_votes=0, **settings)


def told(*reasons):
    return dict(zip("abcde", reasons, strict=True))


def feasible_sets(most, cannot, must):
    for size in range(most + 1):
        for members in combinations(NAMES, size):
            if len(set(members) & set(cannot)) <= 1 and len(set(members) & set(must)) in (0, len(must)):
                yield members


@settings(max_examples=examples(80))
@given(
    counts=st.lists(st.sampled_from([1, 2, 4, 6]), min_size=8, max_size=8),
    weights=st.dictionaries(st.sampled_from(NAMES), st.sampled_from([3.0, 6.0]), min_size=1, max_size=2),
    cannot=st.lists(st.sampled_from(NAMES), min_size=3, max_size=3, unique=True),
    must=st.lists(st.sampled_from(NAMES), min_size=2, max_size=2, unique=True),
    most=st.integers(2, 4),
)
def test_among_equally_good_sets_the_nearest_is_meant(counts, weights, cannot, must, most):
    """Brute force over all sets, where ties abound."""
    evidence = with_votes(*counts)
    constraints = [max_size(most), cannot_link(cannot), must_link(must)]
    selection = decide(evidence, weights=weights, constraints=constraints)
    theta = dict(zip(NAMES, (evidence.counts + 0.01) / (evidence.counts.sum() + 0.08), strict=True))
    values = {members: sum(theta[name] for name in members) for members in feasible_sets(most, cannot, must)}
    best = [members for members, value in values.items() if value > max(values.values()) - 1e-9]
    shared = max(len(set(members) & set(selection.features)) for members in best)
    found = attribution(selection).without_prior
    assert found in best
    assert len(set(found) & set(selection.features)) == shared


@pytest.mark.parametrize("strength", [1e-3, 1.0, 1e6])
def test_the_nearest_set_is_never_a_worse_one(strength):
    """Also where the strength of constraints dwarfs the importances, and with them what counts as rounding."""
    evidence = with_votes(6, 5, 4, 4, 2, 1)
    constraints = [max_size(3), cannot_link(["a", "f"])]
    selection = decide(evidence, weights={"f": 30.0}, constraints=constraints, constraint_strength=strength)
    assert selection.features == ("b", "c", "f")
    assert attribution(selection).without_prior == ("a", "b", "c")


@pytest.mark.parametrize("seed", range(4))
def test_differences_within_the_error_of_a_simulation_flip_no_member(seed):
    """One member is there by the prior; others, equal to those left out but for chance, must not go with it."""
    sets = np.zeros((40, 8), dtype=bool)
    sets[:, 0] = True
    sets[np.arange(40), 1 + np.arange(40) % 4] = True
    sets[:10, 7] = True
    constraints = [max_size(3), cannot_link(["a", "h"])]
    prior = Hyperdirichlet(n_warmup=20, n_draws=160, max_draws=160)
    selection = decide(
        Evidence.from_sets(sets, NAMES), weights={"h": 200.0}, prior=prior, constraints=constraints, random_state=seed
    )
    others = set(selection.features) - {"h"}
    assert others < set("bcde")
    assert len(others) == 2
    found = attribution(selection, random_state=seed + 50)
    assert set(found.without_prior) == {"a"} | others


@pytest.mark.parametrize(
    ("weights", "constraints", "reasons"),
    [
        (0.01, exact_size(4), {"a": "data", "b": "data", "c": "fill", "d": "fill"}),
        (0.01, exact_size(3, rho=2), {"a": "data", "b": "data", "c": "fill"}),
        (2.0, exact_size(3), {"a": "data", "b": "data", "c": "fill"}),
        ({"d": 3}, exact_size(3), {"a": "data", "b": "data", "d": "weight"}),
        ({"d": 3}, max_size(3), {"a": "data", "b": "data", "d": "weight"}),
        (0.01, must_link(["a", "e"]), told("data", "data", "fill", "fill", "rule")),
        (0.01, max_size(3), {"a": "data", "b": "data", "c": "fill"}),
        (0.01, [], told("data", "data", "fill", "fill", "fill")),
        ({"e": 2}, [], told("data", "data", "fill", "fill", "weight")),
    ],
)
def test_the_data_never_choose_a_feature_without_a_vote(weights, constraints, reasons):
    evidence = Evidence.from_sets([[1, 1, 0, 0, 0]] * 5, list("abcde"))
    found = attribution(quietly_decide(evidence, weights, constraints=constraints))
    assert found.why == reasons
    assert found.data_alone == ("a", "b")
    for name, reason in reasons.items():
        assert reason != "rule" or name not in found.without_constraints
        assert reason != "fill" or name in found.without_constraints


@settings(max_examples=examples(40))
@given(
    counts=st.lists(st.sampled_from([0, 0, 2, 5]), min_size=6, max_size=6).filter(any),
    weights=st.dictionaries(st.sampled_from(NAMES[:6]), st.sampled_from([0.01, 3.0]), max_size=2),
    constraints=st.lists(
        st.sampled_from([exact_size(4), max_size(3, rho=1.0), require("f"), must_link(["a", "e"], rho=0.5)]),
        max_size=3,
        unique_by=repr,
    ),
)
def test_members_without_a_vote_are_never_data(counts, weights, constraints):
    selection = quietly_decide(with_votes(*counts), weights, constraints=constraints)
    found = attribution(selection)
    for name, count in zip(NAMES, counts, strict=False):
        if name in selection.features and count == 0:
            assert found.why[name] in ("rule", "weight", "fill")
            assert name not in found.data_alone


def test_what_only_the_prior_speaks_for_may_stay_to_fill_up():
    """Where a place is left without it, anything would do as well."""
    evidence = Evidence.from_sets([[1, 1, 0, 0, 0]] * 5, list("abcde"))
    filled = attribution(quietly_decide(evidence, {"d": 3}, constraints=exact_size(3)))
    assert filled.without_prior == ("a", "b", "d")
    assert filled.filling == ("d",)
    assert filled.why["d"] == "weight"
    displaced = attribution(quietly_decide(evidence, {"d": 9}, constraints=max_size(2)))
    assert displaced.without_prior == ("a", "b")
    assert displaced.filling == ()


def unlikely(*features, rho=1.0):
    return replace(exclude(list(features), rho=rho), from_prior=True)


def test_what_is_held_unlikely_is_prior():
    evidence = with_votes(6, 5, 4, 3)
    selection = decide(evidence, constraints=[max_size(2), unlikely("a")])
    found = attribution(selection)
    assert selection.features == ("b", "c")
    assert found.without_prior == found.data_alone == ("a", "b")
    assert found.without_constraints == ("b", "c")
    assert found.why["c"] == "weight"
    said = decide(evidence, constraints=[max_size(2), exclude(["a"], rho=1.0)])
    assert said.features == selection.features
    assert attribution(said).without_prior == ("b", "c")
    assert attribution(said).why["c"] == "data"


def test_belief_alone_is_not_a_constraint():
    selection = quietly_decide(with_votes(6, 5, 4, 3), constraints=[unlikely("a", rho=5)])
    found = attribution(selection)
    assert found.without_constraints == selection.features == ("b", "c", "d")
    assert found.without_prior == ("a", "b", "c", "d")
    assert set(found.why.values()) == {"data"}


def test_rows_of_belief_keep_their_mark():
    system = resolve([max_size(2), unlikely("a", "c")], list("abc"))
    assert system.from_prior.tolist() == [False, True, True]
    assert system.take([0, 2]).from_prior.tolist() == [False, True]
    extra = resolve(require("b"), list("abc"))
    more = system.take([1, 2]).with_inequalities(Inequalities(extra.A, extra.b, extra.rho, extra.label))
    assert more.from_prior.tolist() == [True, True, False]
    assert unlikely("a") == exclude(["a"], rho=1.0)
    assert repr(unlikely("a")) == "exclude(['a'], rho=1.0)"


def test_what_votes_alone_select_is_by_the_data_also_where_a_size_asks_for_it():
    counts = [100, 90, 80, 50, 6, 1]
    evidence = Evidence.from_sets(np.array([[i < count for count in counts] for i in range(100)]), list("abcdef"))
    costs = {"a": 5, "b": 5, "c": 5, "d": 2, "e": 2, "f": 1}
    selection = decide(evidence, max_size=4, constraints=[cost_budget(costs, 11), min_size(4)])
    found = attribution(selection)
    assert found.data_alone == ("a", "b", "c", "d")
    # Without the demand for four, a, b and f fit the budget.
    assert found.why == {"a": "data", "d": "data", "e": "rule", "f": "data"}
