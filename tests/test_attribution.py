"""What is data and what is belief: against direct decisions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ubayfs import (
    Dirichlet,
    Evidence,
    GeneralizedDirichlet,
    Genetic,
    Hyperdirichlet,
    Selection,
    UBayFSError,
    cannot_link,
    decide,
    exact_size,
    max_size,
    maximize,
    must_link,
    require,
)
from ubayfs.attribution import Attribution, attribution
from ubayfs.optimize import Exact, Solution

NAMES = list("abcdefgh")
INF = np.inf


def evidence_of(seed, n_models=60):
    rng = np.random.default_rng(seed)
    return Evidence.from_sets(rng.random((n_models, 8)) < rng.random(8), NAMES)


@settings(max_examples=40)
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
    same_size = [exact_size(len(selection.features), rho=INF)]
    for features, free in (
        (found.without_constraints, decide(selection.posterior, constraints=same_size)),
        (found.data_alone, decide(evidence, constraints=same_size)),
    ):
        assert len(features) == len(selection.features)
        assert free.evaluate(features).importance == pytest.approx(free.metrics.importance, abs=1e-9)


def test_prior_and_constraints_are_told_apart():
    sets = np.zeros((20, 5), dtype=bool)
    sets[:, 0] = True
    sets[:12, 1] = True
    sets[:8, 2] = True
    sets[19, 3:] = True
    evidence = Evidence.from_sets(sets, ["strong", "fair", "weak", "believed", "required"])
    selection = decide(evidence, {"believed": 15}, constraints=[max_size(3, rho=INF), require("required")])
    found = attribution(selection)
    assert selection.features == ("strong", "believed", "required")
    assert found.without_prior == ("strong", "fair", "required")
    assert found.without_constraints == ("strong", "fair", "believed")
    assert found.data_alone == ("strong", "fair", "weak")
    assert {name: found.reasons(name) for name in selection.features} == {
        "strong": ("data",),
        "believed": ("prior",),
        "required": ("constraints",),
    }


@pytest.mark.parametrize(
    ("without_prior", "without_constraints", "alone", "reasons"),
    [
        (("a",), ("a",), ("a",), ("data",)),
        (("a",), ("a",), ("b",), ("prior", "constraints")),
        (("b",), ("a",), ("a",), ("prior",)),
        (("a",), ("b",), ("b",), ("constraints",)),
        (("b",), ("b",), ("a",), ("prior", "constraints")),
        (None, ("a",), None, ("data",)),
        (None, ("b",), None, ("constraints",)),
    ],
)
def test_reasons(without_prior, without_constraints, alone, reasons):
    assert Attribution(("a",), without_prior, without_constraints, alone).reasons("a") == reasons


def test_among_equals_the_chosen_ones_are_meant():
    evidence = Evidence.from_sets(np.ones((10, 6), dtype=bool), list("abcdef"))
    selection = decide(evidence, constraints=[max_size(2, rho=INF), require(["e", "f"])])
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
    assert found == Attribution(("x0", "x2"), None, ("x0", "x1"), None)
    assert [found.reasons(name) for name in found.chosen] == [("data",), ("constraints",)]


def test_an_empty_set_has_no_members_to_explain():
    selection = decide(evidence_of(1), constraints=max_size(0, rho=INF))
    assert attribution(selection) == Attribution((), (), (), ())


@pytest.mark.parametrize("prior", [Dirichlet(), GeneralizedDirichlet(), Hyperdirichlet()])
def test_an_expert_who_says_nothing_changes_nothing(prior):
    """Also where posterior means are simulated, twice, with other random numbers."""
    selection = decide(evidence_of(2, n_models=30), prior=prior, constraints=max_size(4), random_state=7)
    assert attribution(selection).without_prior == selection.features


def test_a_prior_is_taken_away_whole():
    evidence = evidence_of(5)
    prior = GeneralizedDirichlet(beta=[1000.0, *np.ones(6)])  # the first feature is held to be worthless
    selection = decide(evidence, prior=prior, constraints=max_size(3, rho=INF))
    assert attribution(selection).without_prior == decide(evidence, constraints=max_size(3, rho=INF)).features


def test_a_prior_of_the_users_own_is_compared_with_the_dirichlet():
    class Own(Dirichlet):
        name = "own"

    selection = decide(evidence_of(3), {"h": 200}, prior=Own(), constraints=max_size(2, rho=INF))
    assert "h" in selection.features
    assert attribution(selection).without_prior == decide(evidence_of(3), constraints=max_size(2, rho=INF)).features


def test_the_optimizer_of_the_selection_is_used_and_never_does_worse_than_what_is_known():
    calls = []

    class Recorded:
        def maximize(self, utility, random_state=None):
            calls.append(random_state)
            if len(calls) == 1:
                return Exact().maximize(utility)
            nothing = np.zeros(utility.n_features, dtype=bool)
            return Solution(nothing, -np.inf, np.inf)

    selection = decide(evidence_of(6), {"c": 5}, constraints=max_size(3), optimizer=Recorded())
    assert attribution(selection, random_state=3).without_prior == selection.features
    assert calls == [None, 3]


def test_a_genetic_search_is_repeatable():
    evidence = evidence_of(8)
    selection = decide(evidence, {"c": 50}, constraints=max_size(3), optimizer=Genetic(n_generations=5), random_state=0)
    assert attribution(selection) == attribution(selection)


def test_a_selection_from_a_file_cannot_be_attributed():
    selection = decide(evidence_of(1), constraints=max_size(3))
    with pytest.raises(UBayFSError, match="keeps no constraints; call decide"):
        attribution(Selection.from_dict(selection.to_dict()))
