"""Advice on constraints and knowledge, before there is any evidence and after the decision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ubayfs import (
    Evidence,
    cannot_link,
    cost_budget,
    decide,
    exact_size,
    exclude,
    linear,
    max_per_block,
    max_size,
    min_size,
    must_link,
)
from ubayfs.advice import size_advice, very_likely_advice
from ubayfs.constraints import resolve
from ubayfs.workflow import Decision

NAMES = np.array(list("abcdefgh"), dtype=object)
BLOCKS = {"first": list("abcd"), "second": list("efgh")}
INF = float("inf")

UNLIMITED = {
    "none": ([], 8),
    "links": ([must_link(["a", "b"]), min_size(3)], 8),
    "few limited": ([exclude(["a", "b"]), cannot_link(["c", "d"])], 4),
    "no limit for so few": ([max_size(8)], 8),
    "left out": ([max_size(2, rho=0.0)], 8),
    "one block": ([max_per_block(1, blocks="first")], 4),
}
LIMITED = {
    "soft": [max_size(3)],
    "hard": [max_size(3, rho=INF)],
    "exact": [exact_size(2)],
    "blocks": [max_per_block(1)],
    "budget": [cost_budget(dict.fromkeys("abcdefgh", 2.0), 5.0)],
    "raw": [linear(np.ones((1, 8)), [4.0], 1.0)],
}


@pytest.mark.parametrize(("constraints", "n_free"), UNLIMITED.values(), ids=UNLIMITED)
def test_no_limit_on_the_size_is_known_before_the_evidence(constraints, n_free):
    (advice,) = size_advice(resolve(constraints, NAMES, BLOCKS), np.ones(8, dtype=bool))
    assert (advice.code, advice.facts) == ("size_not_limited", {"n_free": n_free, "n_selectable": 8})
    after = Decision(constraints=constraints, blocks=BLOCKS).make(Evidence.from_sets(np.eye(8, dtype=bool), NAMES))
    assert advice in after.advice


@pytest.mark.parametrize("constraints", LIMITED.values(), ids=LIMITED)
def test_limits_on_the_size_are_known_before_the_evidence(constraints):
    assert size_advice(resolve(constraints, NAMES, BLOCKS), np.ones(8, dtype=bool)) == ()
    after = Decision(constraints=constraints, blocks=BLOCKS).make(Evidence.from_sets(np.eye(8, dtype=bool), NAMES))
    assert "size_not_limited" not in [advice.code for advice in after.advice]


def test_features_that_cannot_be_selected_do_not_count():
    system = resolve([exclude(["a", "b", "c"])], NAMES)
    (advice,) = size_advice(system, np.arange(8) < 6)
    assert advice.facts == {"n_free": 3, "n_selectable": 6}
    assert size_advice(system, np.arange(8) < 5) == ()


def very_likely(constraints, features):
    likely = [name for name in NAMES if name in features]
    return [
        (advice.code, dict(advice.facts)) for advice in very_likely_advice(resolve(constraints, NAMES), likely, NAMES)
    ]


@pytest.mark.parametrize(
    ("constraints", "limit", "label"),
    [
        ([max_size(2)], 2, "max-size 2"),
        ([max_size(2, rho=INF)], 2, "max-size 2"),
        ([max_size(3), max_size(1, rho=INF), must_link(["a", "b"])], 1, "max-size 1"),
        ([exact_size(3)], 3, "exact-size 3 (at most)"),
        ([max_size(0)], 0, "max-size 0"),
    ],
)
def test_more_very_likely_features_than_the_size_allows(constraints, limit, label):
    (found,) = very_likely(constraints, "dafg")
    facts = {"n_features": 4, "limit": limit, "label": label, "features": list("adfg")}
    assert found == ("many_very_likely", facts)


@pytest.mark.parametrize(
    ("constraints", "features"),
    [
        ([], "abcdefgh"),
        ([max_size(4)], "abcd"),
        ([max_size(4)], ""),
        ([max_size(1, rho=0.0)], "abcd"),
        ([min_size(2), must_link(list("abcd"))], "abcd"),
        ([cannot_link(["a", "b"])], "abcd"),  # no limit on the size
    ],
)
def test_very_likely_features_for_which_there_is_room(constraints, features):
    assert very_likely(constraints, features) == []


def test_a_decision_in_python_has_it_without_a_warning():
    evidence = Evidence.from_sets(np.eye(8, dtype=bool), NAMES)
    weights = {"a": "very likely", "b": "very likely", "c": "likely", "d": 8.0}
    codes = {
        n: [advice.code for advice in decide(evidence, weights=weights, constraints=max_size(n, rho=INF)).advice]
        for n in (1, 2)
    }
    assert codes == {1: ["many_very_likely"], 2: []}


@given(st.lists(st.integers(1, 5), min_size=8, max_size=8), st.integers(0, 20), st.sets(st.sampled_from("abcdefgh")))
def test_room_within_a_budget_is_that_of_the_cheapest_features(costs, budget, features):
    """By brute force over all subsets of the features."""
    own = [cost for name, cost in zip(NAMES, costs, strict=True) if name in features]
    subsets = ([cost for k, cost in enumerate(own) if bits >> k & 1] for bits in range(2 ** len(own)))
    limit = max(len(subset) for subset in subsets if sum(subset) <= budget)
    constraint = cost_budget(dict(zip(NAMES.tolist(), map(float, costs), strict=True)), float(budget))
    found = very_likely([constraint], features)
    assert [facts["limit"] for _, facts in found] == ([limit] if limit < len(own) else [])
