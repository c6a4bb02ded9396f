import itertools
from collections import Counter
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse, stats

from amounts import examples
from problems import all_sets
from ubayfs.constraints import (
    at_least_one,
    cannot_link,
    cost_budget,
    decorrelate,
    exclude,
    implies,
    max_blocks,
    max_per_block,
    max_size,
    min_size,
    must_link,
    require,
    resolve,
)
from ubayfs.constraints.system import ConstraintSystem
from ubayfs.constraints.utility import Utility
from ubayfs.optimize import algorithm1
from ubayfs.optimize.algorithm1 import Chains, draw_offers, feasible_start, initial_sets
from ubayfs.optimize.presolve import LinkedUtility

N = 8
BLOCKS = {"low": [0, 1, 2], "mid": [2, 3, 4, 5], "high": [6]}


def problem(constraints, n=N, theta=None, blocks=BLOCKS, X=None, strength=1.0):
    theta = np.linspace(1, 2, n) / n if theta is None else np.asarray(theta, float)
    system = resolve(constraints, [f"x{i}" for i in range(n)], blocks, X)
    return Utility(theta, system, strength, np.ones(n, dtype=bool))


def guided_sets(utility, n_sets, rng):
    linked = LinkedUtility.from_utility(utility)
    return linked.expand(feasible_start(linked, n_sets, rng))


def log_kappa_of(utility):
    """Return the function from a set to its log kappa; of few features, all sets are evaluated beforehand."""
    evaluate = utility.admissibility.log_admissibility
    if utility.n_features > N:
        return lambda chosen: evaluate(chosen)[0]
    table = evaluate(all_sets(utility.n_features))
    return lambda chosen: table[chosen @ 2 ** np.arange(len(chosen))]


def literal(utility, order, log_uniform):
    """Algorithm 1 as it is printed: one chain, one feature and one comparison at a time."""
    log_kappa, sets = log_kappa_of(utility), []
    for permutation, luck in zip(order, log_uniform, strict=True):
        delta = np.zeros(utility.n_features, dtype=bool)
        for feature, log_u in zip(permutation, luck, strict=True):
            proposed = delta.copy()
            proposed[feature] = True
            old, new = log_kappa(delta), log_kappa(proposed)
            if old > -inf and log_u <= new - old:
                delta = proposed
        sets.append(delta)
    return np.array(sets)


@st.composite
def random_problems(draw):
    """Rows of any sign on features and overlapping blocks, narrow and wide, soft and hard."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_blocks = int(rng.integers(0, 7)), int(rng.integers(0, 4))
    blocks = sparse.csr_array(rng.random((n_blocks, N)) < 0.4)
    A = rng.choice([-1.0, -0.5, 0.1, 0.2, 1.0, 2.0], (n_rows, N + n_blocks)) * (
        rng.random((n_rows, N + n_blocks)) < 0.4
    )
    b = rng.choice([-1.0, 0.0, 0.3, 1.0, 2.0], n_rows)
    rho = rng.choice([1e-3, 0.3, 1.0, 5.0, inf], n_rows)
    theta = rng.random(N) * (rng.random(N) < 0.8)
    return Utility(theta, ConstraintSystem(sparse.csr_array(A), b, rho, blocks), 1.0, rng.random(N) < 0.9)


@settings(max_examples=examples(60))
@given(random_problems(), st.sampled_from([0, 2, 32]), st.integers(0, 2**16))
def test_chains_do_what_the_printed_algorithm_does(utility, narrow, seed):
    order, log_uniform = draw_offers(utility, 5, np.random.default_rng(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(algorithm1, "_NARROW", narrow)
        found = initial_sets(utility, 5, np.random.default_rng(seed))
    assert_array_equal(found, literal(utility, order, log_uniform))


def test_sets_have_the_probabilities_of_algorithm_1():
    """All permutations and acceptances of three features enumerated, against a sample."""
    theta = np.array([0.6, 0.3, 0.1])
    utility = problem([max_size(1, rho=1.0), must_link([0, 2], rho=0.5)], 3, theta, None)
    kappa = {
        s: float(np.exp(utility.admissibility.log_admissibility(s)[0])) for s in itertools.product([0, 1], repeat=3)
    }
    expected = Counter()
    for permutation in itertools.permutations(range(3)):
        first, second, _ = permutation
        weight = theta[first] * theta[second] / (1 - theta[first])
        branches = {(0, 0, 0): weight}
        for feature in permutation:
            following = Counter()
            for delta, probability in branches.items():
                new = tuple(1 if i == feature else d for i, d in enumerate(delta))
                ratio = min(1.0, kappa[new] / kappa[delta])
                following[new] += probability * ratio
                following[delta] += probability * (1 - ratio)
            branches = following
        expected.update(branches)
    assert sum(expected.values()) == pytest.approx(1)
    n = 20_000
    found = Counter(map(tuple, initial_sets(utility, n, np.random.default_rng(0)).astype(int).tolist()))
    possible = [s for s, p in expected.items() if p > 0]
    assert set(found) <= set(possible)
    assert stats.chisquare([found[s] for s in possible], [n * expected[s] for s in possible]).pvalue > 1e-3


def test_features_that_cannot_be_selected_are_never_offered():
    utility = problem([max_size(5)])
    utility.selectable[[1, 4]] = False
    assert not initial_sets(utility, 50, np.random.default_rng(0))[:, [1, 4]].any()
    assert not guided_sets(utility, 50, np.random.default_rng(0))[:, [1, 4]].any()


@pytest.mark.parametrize("hard", [require(2), must_link([0, 7])])
def test_hard_requirements_leave_algorithm_1_with_little_or_nothing(hard):
    """Why there is a second function."""
    sets = initial_sets(problem([hard, max_size(3)]), 20, np.random.default_rng(0))
    assert not sets[:, [0, 7]].any() if hard.kind == "must_link" else not sets.any()


HARD = {
    "require": [require([2, 5]), max_size(3)],
    "must_link": [must_link([0, 4, 7]), max_size(4)],
    "require one of a linked group": [must_link([0, 4, 7]), require(4), max_size(3)],
    "require what needs another": [implies(1, 3), require(1), max_size(2)],
    "at least one of the unimportant": [at_least_one([0, 1]), max_size(1)],
    "min size": [min_size(6), max_size(2, rho=1.0)],
    "blocks": [require(["low", "high"], on="blocks"), max_blocks(2), max_per_block(1)],
    "budget": [cost_budget(np.linspace(0.1, 0.8, N), 0.9), require(7)],
    "cannot link": [cannot_link([0, 1, 2, 3]), require(0), exclude(6)],
}


@pytest.mark.parametrize("name", sorted(HARD))
def test_feasible_start_keeps_hard_rows(name):
    utility = problem(HARD[name])
    sets = guided_sets(utility, 40, np.random.default_rng(1))
    feasible = np.isfinite(utility(sets))
    # Features are only ever added: a chain that begins with the feature of two blocks cannot mend the limit of two.
    assert feasible.any() if name == "blocks" else feasible.all()
    if name == "must_link":
        assert sets[:, 0].any()
        assert not sets[:, 0].all()


@settings(max_examples=examples(50))
@given(random_problems(), st.integers(0, 2**16))
def test_feasible_start_is_the_best_set_on_the_way_of_algorithm_1_without_hard_rows(utility, seed):
    utility.system.rho[np.isinf(utility.system.rho)] = 2.0
    order, log_uniform = draw_offers(utility, 4, np.random.default_rng(seed))
    run = Chains(utility, 4)
    run.run(order, log_uniform)
    found = guided_sets(utility, 4, np.random.default_rng(seed))
    np.testing.assert_allclose(utility(found), utility(run.best), rtol=1e-12)


def test_feasible_start_stops_where_a_soft_size_limit_is_left_behind():
    rng = np.random.default_rng(0)
    utility = problem([max_size(5, rho=1.0)], 400, rng.dirichlet(np.full(400, 0.1)), None)
    assert initial_sets(utility, 20, np.random.default_rng(0)).sum(axis=1).min() > 50
    sets = guided_sets(utility, 20, np.random.default_rng(0))
    assert sets.sum(axis=1).max() <= 8
    assert utility(sets).min() > 1.0


def test_many_pairs(rng):
    X = rng.normal(size=(30, 60)) + rng.normal(size=(30, 1))
    utility = problem([max_size(6), decorrelate(0.3)], 60, rng.dirichlet(np.ones(60)), None, X)
    assert utility.system.n_inequalities > 500
    order, log_uniform = draw_offers(utility, 6, np.random.default_rng(0))
    assert_array_equal(initial_sets(utility, 6, np.random.default_rng(0)), literal(utility, order, log_uniform))


def test_nothing_selectable():
    utility = problem([max_size(2)])
    utility.selectable[:] = False
    assert not initial_sets(utility, 3, np.random.default_rng(0)).any()
    assert guided_sets(utility, 3, np.random.default_rng(0)).shape == (3, N)
