import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from amounts import seeds
from problems import one_row, random_utility, selectable_sets, utility_of
from ubayfs.constraints.constraint import Inequalities
from ubayfs.constraints.utility import score_tolerance
from ubayfs.exceptions import InputError, OptimizationError
from ubayfs.optimize import Genetic
from ubayfs.optimize.base import Limit
from ubayfs.optimize.exact import Exact, WarmStarted, warm_started
from ubayfs.optimize.local_search import LocalSearch
from ubayfs.optimize.tabu_search import TabuSearch

pytestmark = pytest.mark.usefixtures("always_programs")

INF = np.inf


def assert_optimal(utility):
    """Exact agrees with brute force, its bound holds and its gap is closed; or both say infeasible."""
    values = utility(selectable_sets(utility))
    optimum = values.max()
    solution = Exact().search(utility)
    if np.isneginf(optimum):
        assert solution is None
        return
    tolerance = 1e-9 * max(1.0, abs(optimum))
    assert not (solution.chosen & ~utility.selectable).any()
    assert solution.value == utility(solution.chosen)[0]
    assert solution.value >= optimum - tolerance
    assert solution.bound >= optimum - 1e-12 * max(1.0, abs(optimum))
    assert solution.gap <= tolerance
    assert solution.complete


@pytest.mark.parametrize("block", seeds(12))
def test_exact_agrees_with_brute_force_on_random_problems(block):
    for seed in range(25 * block, 25 * (block + 1)):
        assert_optimal(random_utility(np.random.default_rng(seed)))


@pytest.mark.usefixtures("tiny_presolve")
@pytest.mark.parametrize("block", seeds(8))
def test_what_presolve_leaves_out_does_not_change_the_answer(block):
    for seed in range(25 * block, 25 * (block + 1)):
        rng = np.random.default_rng(seed)
        assert_optimal(random_pairs(rng) if seed % 3 else random_utility(rng))


def random_pairs(rng):
    """Importances without ties, at most one of two and of three, and a limit of the size."""
    n = int(rng.integers(6, 13))
    groups = [rng.choice(n, rng.integers(2, 4), replace=False) for _ in range(rng.integers(4, 25))]
    rows = [one_row(np.isin(np.arange(n), group), 1, rng.choice([0.3, 3.0, INF])) for group in groups]
    size = int(rng.integers(1, n))
    sizes = [one_row(np.ones(n), size, rng.choice([1.0, INF]))]
    if rng.random() < 0.5:
        sizes.append(one_row(-np.ones(n), -rng.choice([size, rng.integers(1, n)]), rng.choice([1.0, INF])))
    return utility_of(rng.dirichlet(np.ones(n)), sizes + rows, rng.choice([0.2, 1.0]))


@pytest.mark.parametrize("strength", [0.05, 0.3, 1.0, 50.0])
@pytest.mark.parametrize("rho", [1e-4, 0.1, 10.0, 1e6, INF])
def test_exact_agrees_with_brute_force_over_strength_and_rho(strength, rho):
    rng = np.random.default_rng(int(strength * 100))
    theta = rng.dirichlet(np.ones(9))
    pairs = [one_row(np.isin(np.arange(9), pair), 1, rho) for pair in itertools.combinations(range(5), 2)]
    costs = one_row(rng.random(9), 1.3, rho)
    assert_optimal(utility_of(theta, [one_row(np.ones(9), 3, rho), costs, *pairs], strength))


def test_a_known_set_is_the_best_when_nothing_better_can_keep_its_size():
    # All six, as asked for; that two of them exclude each other leaves no other set of six, and not none at all.
    rows = [one_row(np.ones(6), 6, INF), one_row(-np.ones(6), -6, INF), one_row([1, 1, 0, 0, 0, 0], 1, 4.0)]
    utility = utility_of(np.full(6, 1 / 6), rows, 10.0)
    assert Exact(begin_with=range(6)).maximize(utility).chosen.all()
    assert_optimal(utility)


def test_hard_exclude_with_soft_size_where_kappa_underflows():
    # Selecting all that is allowed violates the size by 796, exp(-7960) underflows, and still is the best: by the
    # formula kappa counts for at most 0.3.
    theta = np.full(800, 1 / 800)
    rows = [one_row(np.ones(800), 3, 10.0), one_row(np.arange(800) == 0, 0, INF)]
    solution = Exact().maximize(utility_of(theta, rows, 0.3))
    assert not solution.chosen[0]
    assert solution.chosen.sum() == 799
    assert solution.value == pytest.approx(799 / 800, abs=1e-12)
    assert solution.gap <= 1e-9


@pytest.mark.parametrize("strength", [0.05, 0.3, 0.9, 5.0])
def test_hard_rows_are_never_violated_even_when_the_formula_would_pay(strength):
    theta = np.full(8, 1 / 8)
    solution = Exact().maximize(utility_of(theta, [one_row(np.ones(8), 2, INF)], strength))
    assert solution.chosen.sum() == 2
    assert solution.value == pytest.approx(0.25 + strength)


def test_rounding_does_not_decide_whether_a_row_holds():
    # 0.1 + 0.2 > 0.3 in floating point; the budget is nevertheless kept.
    utility = utility_of([0.5, 0.5, 0.4], [one_row([0.1, 0.2, 0.3], 0.3, INF)])
    np.testing.assert_array_equal(Exact().maximize(utility).chosen, [True, True, False])


def test_max_size_alone_takes_the_best_features_without_a_solver():
    theta = np.random.default_rng(0).dirichlet(np.ones(10_000))
    solution = Exact().maximize(utility_of(theta, [one_row(np.ones(10_000), 20, 1.0)]))
    assert set(np.flatnonzero(solution.chosen)) == set(np.argsort(-theta)[:20])
    assert solution.info["n_programs"] == 0
    assert solution.gap == 0


def test_soft_max_size_is_exceeded_when_it_pays():
    # One more feature brings 0.45 and costs 1 - 2 e^-0.1 / (1 + e^-0.1) = 0.05.
    utility = utility_of([0.52, 0.45, 0.03], [one_row(np.ones(3), 1, 0.1)])
    np.testing.assert_array_equal(Exact().maximize(utility).chosen, [True, True, False])


def test_without_rows_everything_of_importance_is_selected():
    solution = Exact().maximize(utility_of([0.5, 0.0, 0.5], []))
    np.testing.assert_array_equal(solution.chosen, [True, False, True])


def test_features_of_no_importance_come_in_only_when_a_row_needs_them():
    rows = [one_row([-1, -1, -1, 0], -2, INF), one_row([1, 1, 0, 0], 1, INF)]
    solution = Exact().maximize(utility_of([0.6, 0.4, 0.0, 0.0], rows))
    np.testing.assert_array_equal(solution.chosen, [True, False, True, False])


def test_overlapping_blocks_count_as_selected_when_any_member_is():
    blocks = sparse.csr_array(np.array([[1, 1, 0, 0], [0, 1, 1, 0]], dtype=bool))
    # At most one block: x1 belongs to both; x3 to none.
    utility = utility_of([0.3, 0.4, 0.1, 0.2], [one_row([1, 1], 1, INF, on_blocks=True)], blocks=blocks)
    np.testing.assert_array_equal(Exact().maximize(utility).chosen, [True, False, False, True])
    assert_optimal(utility)


def pair_problem(seed, n=60, n_pairs=500, tied=0, size=6):
    """Soft pairs among many features; the last `tied` features are equally unimportant."""
    rng = np.random.default_rng(seed)
    theta = np.concatenate([rng.dirichlet(np.ones(n - tied)), np.full(tied, 1e-6)])
    ends = np.array(list(itertools.combinations(range(n), 2)))
    ends = ends[rng.choice(len(ends), n_pairs, replace=False)]
    A = sparse.csr_array((np.ones(2 * n_pairs), ends.ravel(), np.arange(0, 2 * n_pairs + 1, 2)), shape=(n_pairs, n))
    pairs = Inequalities(A, np.ones(n_pairs), rng.uniform(0.5, 20, n_pairs), lambda row: f"pair {row}")
    return utility_of(theta, [one_row(np.ones(n), size, 1.0), pairs])


@pytest.mark.parametrize("seed", range(5))
def test_left_out_pair_rows_do_not_change_the_answer(seed, monkeypatch):
    monkeypatch.setattr("ubayfs.optimize.size_bounds._MOST_GROUPED", 0)  # which would leave out as much, for good
    utility = pair_problem(seed, n=120, n_pairs=2500, tied=90)
    lazy = Exact().maximize(utility)
    monkeypatch.setattr("ubayfs.optimize.presolve._FILLER_RATIO", 10**9)
    monkeypatch.setattr("ubayfs.optimize.presolve._SMALLEST_CORE", 10**9)
    eager = Exact().maximize(utility)
    assert lazy.info["n_features"] < eager.info["n_features"]
    assert lazy.value == pytest.approx(eager.value, abs=1e-9)
    assert lazy.gap <= 1e-9
    assert eager.gap <= 1e-9


def test_pair_rows_are_put_back_when_fillers_cannot_be_exchanged(monkeypatch):
    # A minimum size forces fillers in, and every two of them exclude each other softly.
    monkeypatch.setattr("ubayfs.optimize.presolve._SMALLEST_CORE", 12)
    n, tied = 34, 31
    theta = np.concatenate([np.full(3, 0.2), np.full(tied, 1e-6)])
    ends = np.array(list(itertools.combinations(range(n), 2)))
    A = sparse.csr_array((np.ones(2 * len(ends)), ends.ravel(), np.arange(0, 2 * len(ends) + 1, 2)))
    rho = np.random.default_rng(1).uniform(0.01, 0.02, len(ends))
    pairs = Inequalities(A, np.ones(len(ends)), rho, lambda row: f"pair {row}")
    utility = utility_of(theta, [one_row(np.ones(n), 5, INF), one_row(-np.ones(n), -5, INF), pairs], 0.1)
    solution = Exact().maximize(utility)
    assert solution.info["n_rounds"] > 1
    assert solution.gap <= 1e-9
    monkeypatch.setattr("ubayfs.optimize.presolve._FILLER_RATIO", 10**9)
    monkeypatch.setattr("ubayfs.optimize.presolve._SMALLEST_CORE", 10**9)
    eager = Exact().maximize(utility)
    assert eager.info["n_rounds"] == 1
    assert solution.value == pytest.approx(eager.value, abs=1e-9)


def test_a_time_limit_gives_the_best_set_so_far_and_an_honest_bound():
    utility = pair_problem(3, n=60, n_pairs=500, size=12)
    hurried = Exact(time_limit=1e-6).maximize(utility)
    full = Exact().maximize(utility)
    assert not hurried.complete
    assert hurried.value <= full.value + 1e-9
    assert hurried.bound >= full.value - 1e-9
    assert hurried.gap > 1e-9


def test_a_time_limit_without_any_admissible_set_says_so(monkeypatch):
    utility = utility_of([0.5, 0.5], [one_row([-1, -1], -1, INF), one_row([1, -1], 0, INF)])
    monkeypatch.setattr("ubayfs.optimize.exact.good_set", lambda *_: None)
    with pytest.raises(OptimizationError, match="time_limit was reached before any set"):
        Exact(time_limit=1e-9).maximize(utility)


def test_contradicting_rows_have_no_best_set():
    rows = [one_row([-1, -1, 0], -2, np.inf), one_row([1, 1, 0], 1, np.inf)]
    assert Exact().search(utility_of([0.5, 0.3, 0.2], rows)) is None


@pytest.mark.parametrize("seed", seeds(60))
def test_the_best_set_is_found_whatever_the_search_begins_with(seed):
    """Sets that break hard rows or hold features that cannot be selected are allowed too."""
    rng = np.random.default_rng(seed)
    utility = random_utility(rng)
    optimum = utility(selectable_sets(utility)).max()
    if np.isneginf(optimum):
        return
    begin_with = np.flatnonzero(rng.random(utility.n_features) < rng.random())
    solution = Exact(begin_with=begin_with).maximize(utility)
    assert abs(solution.value - optimum) <= score_tolerance(optimum)
    assert solution.gap <= score_tolerance(optimum)
    assert not (solution.chosen & ~utility.selectable).any()


def test_the_search_improves_the_set_that_it_begins_with_and_no_other(monkeypatch):
    starts = []
    improve = LocalSearch.improve

    def recording(self, chosen, *rest):
        starts.append(np.flatnonzero(chosen).tolist())
        return improve(self, chosen, *rest)

    monkeypatch.setattr(LocalSearch, "improve", recording)
    utility = utility_of([0.4, 0.3, 0.2, 0.1], [one_row([1, 1, 1, 1], 2, 5.0), one_row([1, 1, 0, 0], 1, 5.0)])
    assert np.flatnonzero(Exact(begin_with=[1, 2]).maximize(utility).chosen).tolist() == [0, 2]
    assert starts == [[1, 2]]
    Exact().maximize(utility)
    assert starts[1:] == [[], [0, 1, 2, 3]]
    monkeypatch.setattr("ubayfs.optimize.local_search._LARGEST_START", 1)
    Exact(begin_with=[1, 2]).maximize(utility)
    assert starts[3:] == [[]]


def test_a_feature_outside_the_pool_of_the_search_may_be_among_the_first(monkeypatch):
    monkeypatch.setattr("ubayfs.optimize.local_search._POOL", 2)
    utility = utility_of([0.4, 0.3, 0.2, 0.1], [one_row([1, 1, 1, 1], 2, 5.0), one_row([1, 1, 0, 0], 1, 5.0)])
    assert np.flatnonzero(Exact(begin_with=[0, 2]).maximize(utility).chosen).tolist() == [0, 2]


@pytest.mark.parametrize("begin_with", [["a"], [0.5], [-1], [True], "ab", {0, 1}, 1.5])
def test_only_positions_can_be_begun_with(begin_with):
    with pytest.raises(InputError, match="begin_with: position must be a whole number >= 0; got"):
        Exact(begin_with=begin_with)


def test_positions_to_begin_with_must_exist():
    utility = utility_of([0.6, 0.4], [one_row([1, 1], 1, 5.0), one_row([1, 0], 0, 5.0)])
    with pytest.raises(InputError, match="begin_with must contain positions of features, from 0 to 1; got 2"):
        Exact(begin_with=[0, 2]).maximize(utility)


@pytest.mark.usefixtures("enumeration")
@pytest.mark.parametrize("seed", seeds(15))
def test_every_decision_is_as_exact_as_the_first(seed):
    rng = np.random.default_rng(seed)
    utility = random_utility(rng, n=9)
    sets = selectable_sets(utility)
    if np.isneginf(utility(sets)).all():
        return
    warm = WarmStarted(Exact())
    for _ in range(12):
        drawn = replace(utility, theta=rng.dirichlet(np.ones(9)))
        solution = warm.maximize(drawn)
        assert solution.value == pytest.approx(drawn(sets).max(), abs=1e-9)
        assert solution.gap <= 1e-9 * max(1.0, abs(solution.value))


def test_a_decision_begins_with_the_best_set_so_far(monkeypatch):
    begun = []
    maximize = Exact.maximize

    def recorded(self, utility, random_state=None):
        begun.append(self.begin_with)
        return maximize(self, utility, random_state)

    monkeypatch.setattr(Exact, "maximize", recorded)
    rows = [one_row([1, 1, 0, 0], 1, 9.0), one_row([0, 0, 1, 1], 1, 9.0)]
    warm = WarmStarted(Exact(time_limit=60.0))
    for theta in ([0.4, 0.1, 0.4, 0.1], [0.1, 0.4, 0.1, 0.4], [0.4, 0.2, 0.4, 0.2], [0.2, 0.3, 0.1, 0.4]):
        warm.maximize(utility_of(theta, rows))
    assert begun == [None, (0, 2), (0, 2), (1, 3)]


def test_other_optimizers_stay_as_they_are():
    genetic = Genetic()
    assert warm_started(genetic) is genetic
    assert isinstance(warm_started(Exact()), WarmStarted)


def test_a_longer_search_comes_only_where_the_first_attempt_proves_nothing(monkeypatch):
    """What it finds is used, and the answer is as exact as before."""
    runs = []
    run = TabuSearch.run

    def recording(self, n_steps, deadline=None):
        runs.append(n_steps)
        return run(self, n_steps, deadline)

    monkeypatch.setattr(TabuSearch, "run", recording)
    utility = pair_problem(3)
    ordinary = Exact().maximize(utility)
    assert not runs
    monkeypatch.setattr("ubayfs.optimize.exact._ATTEMPT_NODES", 0)
    monkeypatch.setattr("ubayfs.optimize.exact._TABU_STEPS", 500)
    monkeypatch.setattr("ubayfs.optimize.exact.good_set", lambda utility, *_: np.zeros(utility.n_features, dtype=bool))
    searched = Exact().maximize(utility)
    assert len(runs) == 1
    assert searched.gap <= 1e-9
    assert searched.value == pytest.approx(ordinary.value, abs=1e-9)


@pytest.mark.parametrize("block", seeds(4))
def test_exact_agrees_with_brute_force_after_a_longer_search(block, monkeypatch):
    monkeypatch.setattr("ubayfs.optimize.exact._ATTEMPT_NODES", 0)
    monkeypatch.setattr("ubayfs.optimize.exact._TABU_STEPS", 30)
    for seed in range(500 + 25 * block, 500 + 25 * (block + 1)):
        assert_optimal(random_utility(np.random.default_rng(seed)))


def test_nodes_of_the_first_attempt_count():
    limit = Limit(nodes=1000)
    solution = Exact().search(pair_problem(3), limit)
    assert solution.complete
    assert limit.nodes <= 1000 - solution.info["n_programs"] < 1000


NEARLY_EQUAL = {
    "thirds": lambda noise: (np.where(np.arange(len(noise)) % 2, 100 / 3, 200 / 3) + 1e-7 * noise, 100.0),
    "ones": lambda noise: (1 + 1e-7 * noise, 5.0),
}


@pytest.mark.parametrize("enumerate_all", [True, False])
@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("kind", NEARLY_EQUAL)
@pytest.mark.parametrize("seed", range(3))
def test_costs_that_differ_by_less_than_the_solver_can_tell(seed, kind, equal, enumerate_all, monkeypatch):
    if not enumerate_all:
        monkeypatch.setattr("ubayfs.optimize.cells._MOST_FEATURES_OTHERWISE", -1)
    rng = np.random.default_rng(seed)
    costs, budget = NEARLY_EQUAL[kind](1 + rng.random(15))
    theta = np.full(15, 1 / 15) if equal else rng.dirichlet(np.ones(15))
    utility = utility_of(theta, [one_row(costs, budget, INF)])
    assert_optimal(utility)
    assert Exact().search(utility).info["n_programs"] <= 8


@pytest.mark.parametrize("kind", NEARLY_EQUAL)
def test_many_costs_that_differ_by_less_than_the_solver_can_tell(kind):
    """The noise is positive: no set reaches the budget, and the best ones of those below it are known."""
    costs, budget = NEARLY_EQUAL[kind](1 + np.random.default_rng(0).random(100))
    solution = Exact().search(utility_of(np.full(100, 0.01), [one_row(costs, budget, INF)]))
    assert solution.value == pytest.approx(1.02 if kind == "thirds" else 1.04)
    assert solution.gap <= 1e-9


def test_enumeration_is_the_last_resort_where_tolerances_decide(monkeypatch):
    """Sets that the solver returns although they violate a row are excluded one by one, at first."""
    monkeypatch.setattr("ubayfs.optimize.program._MOST_SPLIT", 0)
    utility = utility_of(np.full(15, 1 / 15), [one_row(1 + 1e-7 * (1 + np.random.default_rng(0).random(15)), 5, INF)])
    assert_optimal(utility)
    assert Exact().search(utility).info["n_programs"] == 3


def test_a_set_that_keeps_the_hard_rows_is_offered_however_little_time_there_is():
    """The empty set keeps a budget, and the required features do what rows on single features ask for."""
    costs = 1 + 1e-7 * (1 + np.random.default_rng(0).random(30))
    budget = one_row(costs, 6, INF)
    solution = Exact(time_limit=1e-9).search(utility_of(np.full(30, 1 / 30), [budget, one_row(np.ones(30), 3, 1.0)]))
    assert np.isfinite(solution.value)
    required = [one_row(-np.eye(30)[j], -1, INF) for j in range(4)]
    linked = [one_row(np.eye(30)[3] - np.eye(30)[4], 0, INF)]
    solution = Exact(time_limit=1e-9).search(utility_of(np.full(30, 1 / 30), [budget, *required, *linked]))
    assert np.isneginf(utility_of(np.full(30, 1 / 30), [budget, *required, *linked])(np.zeros(30))[0])
    assert set(range(5)) <= set(np.flatnonzero(solution.chosen))
