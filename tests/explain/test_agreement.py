"""Agreement of prior and data: against all permutations, on planted truth, and against direct decisions."""

from itertools import permutations

import numpy as np
import pytest

from ubayfs import Evidence, GeneralizedDirichlet, Hyperdirichlet, decide, exclude, max_size, maximize
from ubayfs.decision.selection import Selection
from ubayfs.exceptions import InputError, UBayFSError
from ubayfs.explain import agreement
from ubayfs.explain.redecide import _half_unlikely

INF = np.inf


def decided(counts, weights, n_models=40, size=2, **arguments):
    sets = np.arange(n_models)[:, None] < np.asarray(counts)
    return decide(Evidence.from_sets(sets), weights=weights, constraints=max_size(size), **arguments)


@pytest.mark.parametrize("weights", [[5, 1, 1, 1, 1, 1], [3, 1, 1, 1, 2, 7], [0.5, 0.5, 2, 0.5, 2, 0.5]])
def test_p_values_are_those_of_all_permutations(weights):
    counts = np.array([30, 22, 17, 9, 4, 4])
    found = agreement(decided(counts, weights), n_permutations=4000)
    excess = np.array(weights) - min(weights)
    assert found.statistic == pytest.approx(excess @ counts)
    dealt = np.array([excess[list(order)] @ counts for order in permutations(range(6))])
    expected = (dealt >= found.statistic - 1e-9).mean()
    assert found.p_value == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 4000) + 1e-4)
    assert not found.by_blocks


def test_the_given_dealing_counts():
    """No p-value is 0, whatever was found."""
    found = agreement(decided([40] + [0] * 1000, {"x0": 9}, size=1), n_permutations=100)
    assert found.p_value == pytest.approx(1 / 101)


def test_weights_that_are_not_related_to_votes_are_not_found_to_agree():
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(100):
        weights = np.ones(60)
        weights[rng.choice(60, 5, replace=False)] = 5
        p_values.append(agreement(decided(rng.integers(0, 40, 60), weights), 99, random_state=rng).p_value)
    assert np.mean(np.array(p_values) <= 0.1) == pytest.approx(0.1, abs=0.07)
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.08)


def test_power_with_planted_truth():
    """Four of five favored features matter: found nearly always; two of five: often; none: hardly ever."""
    rng = np.random.default_rng(6)
    power = {}
    for right in (4, 2, 0):
        found = []
        for _ in range(20):
            counts = np.where(np.arange(200) < 5, rng.integers(15, 40, 200), rng.poisson(2.0, 200))
            favored = [*range(right), *rng.choice(np.arange(5, 200), 5 - right, replace=False)]
            found.append(agreement(decided(counts, {int(j): 10.0 for j in favored}), 199, random_state=rng).p_value)
        power[right] = np.mean(np.array(found) <= 0.05)
    assert power[4] >= 0.95
    assert power[2] >= 0.6
    assert power[0] <= 0.15


def test_blocks_are_dealt_whole():
    """Three blocks, one favored: six permutations, of which two give the favored weight to the best block."""
    counts, blocks = [9, 8, 7, 2, 1, 0, 3, 3, 3], {"a": [0, 1, 2], "b": [3, 4, 5], "c": [6, 7, 8]}
    selection = decided(counts, {"a": 4.01}, blocks=blocks)
    found = agreement(selection, n_permutations=4000, blocks=blocks)
    assert found.by_blocks
    assert found.p_value == pytest.approx(1 / 3, abs=0.03)
    assert found.statistic == pytest.approx(4.0 * 24)
    assert agreement(selection, n_permutations=2000).p_value < 0.1  # single features: three best of nine


@pytest.mark.parametrize(
    "blocks",
    [{"a": [0, 1], "b": [2, 3, 4, 5]}, {"a": [0, 1, 2], "b": [2, 3, 4, 5]}, {"all": [0, 1, 2, 3, 4, 5]}, {}],
)
def test_weights_that_are_not_by_block_are_dealt_to_features(blocks):
    assert not agreement(decided([9, 8, 7, 2, 1, 3], [1, 1, 1, 5, 2, 2]), 50, blocks=blocks).by_blocks


def test_constant_columns_get_no_weight():
    """Four of a hundred columns vary: a favored one among them is not remarkable."""
    X = np.ones((10, 100))
    X[:, :4] = np.random.default_rng(0).normal(size=(10, 4))
    sets = np.zeros((20, 100), dtype=bool)
    sets[:, :4] = True
    evidence = Evidence.from_sets(sets)
    constant = np.arange(100) >= 4
    evidence = Evidence(evidence.sets, evidence.feature_names, constant, evidence.runs, evidence.failures)
    found = agreement(decide(evidence, weights={"x0": 3}, constraints=max_size(2)))
    assert found.p_value == 1.0


@pytest.mark.parametrize("prior", ["dirichlet", GeneralizedDirichlet(), Hyperdirichlet()])
def test_decisions_with_none_half_and_all_of_the_weights(prior):
    evidence = Evidence.from_sets(np.eye(4, dtype=bool).repeat([20, 15, 10, 5], axis=0), list("abcd"))
    constraints = max_size(2)
    selection = decide(evidence, weights={"c": 8, "d": 30}, prior=prior, constraints=constraints)
    half = decide(evidence, weights={"c": 4.005, "d": 15.005}, prior=prior, constraints=constraints)
    found = agreement(selection, 20).at
    assert found == {"none": ("a", "b"), "half": half.features, "all": selection.features}
    assert (half.features, selection.features) == (("a", "d"), ("a", "d")) or prior != "dirichlet"


def test_half_of_the_weights_is_another_decision():
    found = agreement(decided([20, 15, 5, 3], {"x2": 12, "x3": 28}), 20)
    assert found.at == {"none": ("x0", "x1"), "half": ("x0", "x3"), "all": ("x0", "x3")}
    found = agreement(decided([20, 15, 5, 3], {"x2": 16, "x3": 28}), 20)
    assert found.at == {"none": ("x0", "x1"), "half": ("x0", "x3"), "all": ("x2", "x3")}


def test_unlikely_features_have_half_the_penalty():
    selection = decide(
        Evidence.from_sets(np.arange(40)[:, None] < [40, 30, 20]),
        weights={"x0": "unlikely"},
        constraints=[max_size(2), exclude("x2", rho=3)],
    )
    found = agreement(selection, 20)
    assert (found.p_value, found.statistic) == (None, 0.0)
    assert found.at["all"] == selection.features
    assert "x0" in found.at["none"]
    system = selection.problem.utility.system
    before, after = (np.tanh(s.rho[1:] / 2) for s in (system, _half_unlikely(system)))
    assert after == pytest.approx(before * [1, 0.5])


def test_nothing_stated():
    assert agreement(decided([9, 5, 3], 0.01)) is None
    assert agreement(decided([9, 5, 3], 7.0)) is None
    assert agreement(maximize([0.3, 0.2], max_size(1))) is None


def test_equal_weights_in_equal_seeds_give_equal_numbers():
    selection = decided([9, 5, 3], {"x1": 3.0})
    assert agreement(selection) == agreement(selection)
    assert agreement(selection, random_state=1).statistic == agreement(selection).statistic


def test_arguments_are_checked():
    selection = decided([9, 5, 3], {"x1": 3.0})
    with pytest.raises(InputError, match="n_permutations must be"):
        agreement(selection, n_permutations=0)
    with pytest.raises(UBayFSError, match="agreement of prior and data needs"):
        agreement(Selection.from_dict(selection.to_dict()))
