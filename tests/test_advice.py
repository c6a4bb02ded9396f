"""Advice on constraints and knowledge, before there is any evidence and after the decision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ubayfs import (
    Evidence,
    GeneralizedDirichlet,
    Hyperdirichlet,
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
from ubayfs.advice import CODES
from ubayfs.constraints import resolve
from ubayfs.decision.problem import size_advice, very_likely_advice
from ubayfs.decision.workflow import Decision
from ubayfs.exceptions import Advice
from ubayfs.report import summarize

NAMES = np.array(list("abcdefgh"), dtype=object)
BLOCKS = {"first": list("abcd"), "second": list("efgh")}
INF = float("inf")

UNLIMITED = {
    "none": ([], 8),
    "links": ([must_link(["a", "b"], rho=1.0), min_size(3, rho=1.0)], 8),
    "few limited": ([exclude(["a", "b"]), cannot_link(["c", "d"], rho=1.0)], 4),
    "left out": ([max_size(2, rho=0.0)], 8),
    "one block": ([max_per_block(1, blocks="first", rho=1.0)], 4),
}
LIMITED = {
    "soft": [max_size(3, rho=1.0)],
    "hard": [max_size(3)],
    "as many as there are": [max_size(8)],
    "exact": [exact_size(2, rho=1.0)],
    "blocks": [max_per_block(1, rho=1.0)],
    "budget": [cost_budget(dict.fromkeys("abcdefgh", 2.0), 5.0, rho=1.0)],
    "raw": [linear(np.ones((1, 8)), [4.0], rho=1.0)],
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


@pytest.mark.parametrize(("limit", "n_features", "said"), [(8, 8, True), (10, 8, True), (7, 8, False), (2, 1, False)])
def test_a_limit_that_excludes_no_feature_is_said_to_be_one(limit, n_features, said):
    """One feature leaves no choice."""
    selection = Decision(constraints=max_size(limit)).make(Evidence.from_sets(np.eye(n_features, dtype=bool)))
    stated = Advice("all_selected", {"n_features": n_features, "limit": limit})
    assert selection.advice == ((stated,) if said else ())


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
        ([max_size(2, rho=1.0)], 2, "max-size 2"),
        ([max_size(2)], 2, "max-size 2"),
        ([max_size(3, rho=1.0), max_size(1), must_link(["a", "b"], rho=1.0)], 1, "max-size 1"),
        ([exact_size(3, rho=1.0)], 3, "exact-size 3 (at most)"),
        ([max_size(0, rho=1.0)], 0, "max-size 0"),
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
        ([max_size(4, rho=1.0)], "abcd"),
        ([max_size(4, rho=1.0)], ""),
        ([max_size(1, rho=0.0)], "abcd"),
        ([min_size(2, rho=1.0), must_link(list("abcd"), rho=1.0)], "abcd"),
        ([cannot_link(["a", "b"], rho=1.0)], "abcd"),  # no limit on the size
    ],
)
def test_very_likely_features_for_which_there_is_room(constraints, features):
    assert very_likely(constraints, features) == []


def test_a_decision_in_python_has_it_without_a_warning():
    evidence = Evidence.from_sets(np.eye(8, dtype=bool), NAMES)
    weights = {"a": "very likely", "b": "very likely", "c": "likely", "d": 8.0}
    codes = {
        n: [advice.code for advice in decide(evidence, weights=weights, constraints=max_size(n)).advice] for n in (1, 2)
    }
    assert codes == {1: ["many_very_likely"], 2: []}


@given(st.lists(st.integers(1, 5), min_size=8, max_size=8), st.integers(0, 20), st.sets(st.sampled_from("abcdefgh")))
def test_room_within_a_budget_is_that_of_the_cheapest_features(costs, budget, features):
    """By brute force over all subsets of the features."""
    own = [cost for name, cost in zip(NAMES, costs, strict=True) if name in features]
    subsets = ([cost for k, cost in enumerate(own) if bits >> k & 1] for bits in range(2 ** len(own)))
    limit = max(len(subset) for subset in subsets if sum(subset) <= budget)
    constraint = cost_budget(dict(zip(NAMES.tolist(), map(float, costs), strict=True)), float(budget), rho=1.0)
    found = very_likely([constraint], features)
    assert [facts["limit"] for _, facts in found] == ([limit] if limit < len(own) else [])


def codes_of(selection):
    return [advice.code for advice in selection.advice]


@pytest.mark.parametrize(
    ("constraints", "strength", "expected"),
    [
        ([max_size(2, rho=1.0)], 0.5, ["weak_constraints"]),
        ([max_size(2)], 0.5, []),  # a hard one holds whatever lambda is
        ([max_size(2, rho=1.0)], 1.0, []),
    ],
)
def test_a_strength_below_one_is_cautioned_against(constraints, strength, expected):
    evidence = Evidence.from_sets(np.eye(8, dtype=bool)[[0, 0, 0, 1, 1, 1, 2]], NAMES)
    made = Decision(constraints=constraints, constraint_strength=strength).make(evidence)
    assert codes_of(made) == expected


def test_many_violated_constraints_that_count_for_nothing_are_named():
    """At a low strength everything is selected, although sets that satisfy all constraints exist."""
    evidence = Evidence.from_sets(np.ones((10, 8), dtype=bool), NAMES)
    given = [max_size(3, rho=1.0), *(cannot_link([a, b], rho=1.0) for a, b in zip("aceg", "bdfh", strict=True))]
    selection = decide(evidence, constraints=given, constraint_strength=0.3)
    assert len(selection.features) == 8
    (advice,) = [advice for advice in selection.advice if advice.code == "soft_constraints_outweighed"]
    assert advice.facts["admissibility"] == selection.metrics.admissibility < 0.01
    assert (advice.facts["n_violated"], advice.facts["constraint_strength"]) == (5, 0.3)
    # At strength 1 they count, and one violation alone affects no other.
    assert codes_of(decide(evidence, constraints=given)) == []
    alone = decide(evidence, constraints=[max_size(3, rho=9), min_size(1, rho=1.0)], constraint_strength=0.1)
    assert codes_of(alone) == ["weak_constraints"]


def test_prices_that_add_up_to_nothing_are_named():
    """Prices multiply: each further violation costs less, until none counts."""
    evidence = Evidence.from_sets(np.ones((10, 8), dtype=bool), NAMES)
    selection = decide(evidence, constraints=[exclude(list(NAMES), price=4.0), max_size(7, rho=1.0)])
    assert codes_of(selection) == ["soft_constraints_outweighed"]
    assert len(selection.features) == 8
    assert selection.metrics.admissibility < 0.01


def test_the_default_generalized_prior_is_the_dirichlet():
    evidence = Evidence.from_sets(np.eye(8, dtype=bool)[[0, 0, 1]], NAMES)
    plain, default, other = (
        decide(evidence, prior=prior, constraints=max_size(1))
        for prior in ("dirichlet", "generalized", GeneralizedDirichlet(beta=1.0))
    )
    np.testing.assert_allclose(default.posterior.mean, plain.posterior.mean)
    assert [advice.code for advice in default.posterior.advice] == ["generalized_is_dirichlet"]
    assert plain.posterior.advice == other.posterior.advice == ()
    assert "generalized_is_dirichlet" in [fact.code for fact in summarize(default, n_draws=0).advice]


def test_weights_of_the_hyperdirichlet_count_like_runs_of_one_feature():
    sets = np.eye(8, dtype=bool)[[0, 1, 1]] | np.eye(8, dtype=bool)[[2, 3, 4]]
    evidence = Evidence.from_sets(sets, NAMES)
    weights = np.full(8, 0.01)
    assert Hyperdirichlet().update(evidence, weights, random_state=0).advice == ()
    weights[0] = 5.01
    posterior = Hyperdirichlet().update(evidence, weights, random_state=0)
    (advice,) = posterior.advice
    assert (advice.code, advice.facts) == ("weights_of_hyperdirichlet", {"n_models": 3, "n_votes": 6})
    alone = Evidence.from_sets(np.vstack([sets, np.repeat(np.eye(8, dtype=bool)[:1], 5, axis=0)]), NAMES)
    np.testing.assert_allclose(posterior.mean, Hyperdirichlet().update(alone, random_state=0).mean)


class AnyFact(dict):
    """Facts that have everything, as numbers."""

    def __missing__(self, key):
        return 1


@pytest.mark.parametrize("code", CODES)
def test_each_face_says_its_remedy_after_the_sentence(code):
    row = CODES[code]
    for face in ("python", "command_line", "report"):
        remedy = row.remedy.on(face)
        assert f"{row.sentence} {remedy}".format_map(AnyFact()).startswith(row.sentence.format_map(AnyFact()))
    assert not remedy or row.remedy.python  # whoever reads a report is told nothing that Python does not say


def test_remedies_are_those_of_the_face():
    advice = Advice("size_not_limited", {"n_free": 2, "n_selectable": 3})
    assert advice.in_words().endswith("Add max_size=10, or another number (in UBayFSSelector: a lower max_features).")
    assert advice.in_words("command_line").endswith("Add --max-size N.")
    assert advice.in_words("report").endswith("A maximal size would make the choice meaningful.")
    chains = Advice("chains_disagree", {"r_hat": 1.2, "limit": 1.05, "n_draws": 9})
    assert chains.in_words("command_line") == chains.in_words("report") != chains.in_words()
