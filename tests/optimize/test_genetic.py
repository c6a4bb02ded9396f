import itertools
from math import inf

import numpy as np
import pytest

from ubayfs.constraints import (
    at_least_one,
    cannot_link,
    cost_budget,
    max_blocks,
    max_per_block,
    max_size,
    min_size,
    must_link,
    require,
    resolve,
)
from ubayfs.constraints.utility import Utility
from ubayfs.exceptions import InputError
from ubayfs.optimize.algorithm1 import initial_sets
from ubayfs.optimize.genetic import WAYS, Genetic, _Population

N = 10
ALL_SETS = np.array(list(itertools.product([False, True], repeat=N)))
BLOCKS = {"low": [0, 1, 2, 3], "mid": [3, 4, 5], "high": [7, 8, 9]}
PROBLEMS = {
    "size": [max_size(3)],
    "hard size": [max_size(4)],
    "links": [max_size(3, rho=0.5), must_link([0, 9]), cannot_link([7, 8, 9], rho=2.0)],
    "hard links": [max_size(4), must_link([0, 5, 9]), cannot_link([8, 9])],
    "required": [max_size(2), require(1)],
    "blocks": [max_size(5), max_blocks(1, rho=3.0), max_per_block(2, rho=0.2)],
    "budget": [cost_budget(np.linspace(0.3, 2.0, N), 3.1), at_least_one([0, 1])],
    "contrary": [max_size(2, rho=0.3), min_size(6, rho=0.3)],
}


def problem(constraints, n=N, seed=0, strength=1.0):
    theta = np.random.default_rng(seed).dirichlet(np.ones(n))
    system = resolve(constraints, [f"x{i}" for i in range(n)], BLOCKS)
    return Utility(theta, system, strength, np.ones(n, dtype=bool))


@pytest.mark.parametrize("strength", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_reaches_the_best_of_all_sets(name, strength):
    utility = problem(PROBLEMS[name], strength=strength)
    best = utility(ALL_SETS).max()
    found = Genetic(n_sets=40, n_generations=40).maximize(utility, 0)
    assert found.value == pytest.approx(best, abs=1e-9)
    assert utility(found.chosen).item() == found.value
    assert found.bound >= best


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_the_best_set_never_gets_lost(name):
    found = Genetic(n_sets=6, n_generations=25).maximize(problem(PROBLEMS[name]), 1)
    best = found.info["best_by_generation"]
    assert len(best) == 26
    assert list(best) == sorted(best)
    assert found.value == pytest.approx(best[-1], abs=1e-12)
    assert found.info["n_generations"] == 25
    assert found.info["n_evaluations"] == 6 * 26


def test_generations_improve_on_the_start():
    utility = problem(
        [max_size(6), *(cannot_link([i, i + 1, i + 7], rho=1.5) for i in range(0, 80, 2)), max_per_block(1)], n=100
    )
    found = Genetic().maximize(utility, 0)
    assert found.value > found.info["best_by_generation"][0] + 1e-4


def test_hard_rows_are_reached_from_a_start_that_violates_them():
    """Feature 3 is in two blocks of which only one may be selected beside the required third; the start only adds."""
    utility = problem([require("mid", on="blocks"), require("high", on="blocks"), max_blocks(2)])
    utility.theta[:] = np.where(np.arange(N) == 3, 1 - 1e-12, 1e-13)
    found = Genetic(n_sets=20, n_generations=60).maximize(utility, 0)
    assert found.info["best_by_generation"][0] == -inf
    assert found.value == pytest.approx(utility(ALL_SETS).max())


def test_contradictions_give_the_least_violation_and_no_value():
    utility = problem([require([0, 1]), max_size(1)])
    found = Genetic(n_sets=10, n_generations=10).maximize(utility, 0)
    assert found.value == -inf
    # Each set breaks a rule; one that breaks it by 1 is the best there is.
    assert utility.admissibility.violations(found.chosen).sum() == 1


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_the_paper_start_is_algorithm_1_to_the_letter(name):
    utility = problem(PROBLEMS[name])
    first = initial_sets(utility, 12, np.random.default_rng(3))
    found = Genetic(n_sets=12, n_generations=0, start="paper").maximize(utility, np.random.default_rng(3))
    values = utility(first)
    assert found.value == values.max()
    if np.isfinite(found.value):
        assert (found.chosen == first[values.argmax()]).all()


def test_the_paper_start_searches_single_features():
    # Linked whole, 0 and 9 enter together at once; the paper's chain is refused each of them alone.
    utility = problem([max_size(2), must_link([0, 9])])
    utility.theta[:] = np.where(np.isin(np.arange(N), [0, 9]), 0.46, 0.01)
    begun = {start: Genetic(n_sets=20, n_generations=0, start=start).maximize(utility, 0) for start in WAYS}
    assert np.flatnonzero(begun["guided"].chosen).tolist() == [0, 9]
    assert not begun["paper"].chosen[[0, 9]].any()
    assert np.flatnonzero(Genetic(start="paper", search="guided").maximize(utility, 0).chosen).tolist() == [0, 9]


def test_the_paper_search_adds_every_feature_with_the_same_chance():
    # All chains stay empty, since the empty set violates a hard row; one generation then adds features at random.
    utility = problem([max_size(1), min_size(1)], n=400)
    utility.theta[:] = np.where(np.arange(400) == 7, 1.0, 0.0)
    one_step = {"n_sets": 20, "n_generations": 1, "mutation_rate": 1.0, "start": "paper"}
    hits = {
        way: sum(Genetic(**one_step, search=way).maximize(utility, seed).chosen[7] for seed in range(40))
        for way in WAYS
    }
    assert hits["guided"] == 40  # each of 13 children or so has a chance of one half
    assert hits["paper"] <= 8  # ... of 1 in 400; 1.3 are expected
    literal = Genetic(**one_step).maximize(utility, 3).chosen  # the search is as the start unless it is given
    assert (literal == Genetic(**one_step, search="paper").maximize(utility, 3).chosen).all()


def test_equal_sets_survive_in_the_paper_search_alone():
    sets = np.array([[1, 0], [1, 0], [0, 1]], dtype=bool)
    population = _Population(sets, np.array([0.7, 0.7, 0.3]), np.zeros(3))
    assert population.best(2, distinct=False).sets.tolist() == [[True, False], [True, False]]
    assert population.best(2, distinct=True).sets.tolist() == [[True, False], [False, True]]


def test_the_bound_knows_sizes():
    utility = problem([max_size(3), cannot_link([0, 1], rho=0.5)])
    found = Genetic(n_sets=40, n_generations=40).maximize(utility, 0)
    assert found.bound == pytest.approx(np.sort(utility.theta)[-3:].sum() + 1.0)
    alone = problem([max_size(3)])
    assert Genetic(n_sets=40, n_generations=40).maximize(alone, 0).gap == pytest.approx(0.0, abs=1e-12)


def test_progress_is_reported():
    calls = []
    Genetic(n_sets=4, n_generations=3).maximize(problem([]), 0, on_progress=lambda *c: calls.append(c))
    assert calls == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_sets": 1}, r"n_sets must be a whole number >= 2; got 1"),
        ({"n_generations": -1}, r"n_generations must be a whole number >= 0; got -1"),
        ({"mutation_rate": 1.5}, r"mutation_rate must be a number in \[0, 1\]; got 1.5"),
        ({"crossover_rate": "high"}, r"crossover_rate must be a number in \[0, 1\]; got 'high'"),
        ({"start": "papr"}, r"start must be one of 'guided', 'paper'; got 'papr'. Did you mean 'paper'"),
        ({"search": "papr"}, r"search must be one of 'guided', 'paper'; got 'papr'. Did you mean 'paper'"),
        ({"start": None}, r"start must be one of 'guided', 'paper'; got None"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        Genetic(**settings)
