import numpy as np
import pytest
from scipy import sparse

from amounts import seeds
from problems import one_row, random_utility, selectable_sets, utility_of
from ubayfs.constraints.utility import Utility
from ubayfs.optimize.exact import Exact
from ubayfs.optimize.program import Programs

INF = np.inf


def all_selectable(seed, n=8):
    utility = random_utility(np.random.default_rng(seed), n)
    return Utility(utility.theta, utility.system, utility.constraint_strength, np.ones(n, dtype=bool))


def values_and_logs(utility):
    sets = selectable_sets(utility)
    return sets, utility(sets), utility.admissibility.log_admissibility(sets)


@pytest.mark.parametrize("seed", seeds(60))
def test_the_bound_dominates_every_set_in_the_cell(seed):
    utility = all_selectable(seed)
    _, values, logs = values_and_logs(utility)
    rng = np.random.default_rng(seed)
    programs = Programs(utility)
    for _ in range(3):
        low = -rng.choice([0.01, 0.3, 2.0, 30.0]) * rng.random() - 1e-6
        high = low * rng.choice([0.0, rng.random()])
        inside = (logs >= low) & (logs <= high)
        answer = programs.solve(low, high, None)
        if answer.chosen is not None:
            programs.refine(answer.chosen)  # tangents must not cut anything off either
            answer = programs.solve(low, high, None)
        if inside.any():
            assert not answer.infeasible
            assert answer.bound >= values[inside].max() - 1e-9 * max(1.0, utility.constraint_strength)


@pytest.mark.parametrize("seed", seeds(60))
def test_the_relaxed_cell_bounds_importance_under_the_hard_rows(seed):
    utility = all_selectable(seed)
    sets, values, _ = values_and_logs(utility)
    feasible = np.isfinite(values)
    answer = Programs(utility).solve(-INF, -2.0, None)
    assert answer.infeasible == (not feasible.any())
    if feasible.any():
        best = (sets @ utility.theta)[feasible].max()
        assert answer.bound == pytest.approx(best + utility.constraint_strength * np.exp(-2.0), abs=1e-9)
        assert np.isfinite(utility(answer.chosen)[0])


def test_chords_are_exact_at_the_ends_of_a_cell():
    # kappa is 1 or that of a violation by one; a cell between the two is solved exactly.
    utility = utility_of([0.5, 0.3, 0.2], [one_row([1, 1, 1], 2, 0.4)])
    _, values, logs = values_and_logs(utility)
    answer = Programs(utility).solve(float(logs.min()), 0.0, None)
    assert answer.bound == pytest.approx(values.max(), abs=1e-9)
    assert utility(answer.chosen)[0] == values.max()


def test_tangents_close_the_gap_of_a_row_off_the_grid():
    utility = utility_of([0.5, 0.4, 0.35], [one_row([1.0, 0.9, 0.77], 1.2, 3.0)], 1.0)
    programs = Programs(utility)
    first = programs.solve(-3.0, 0.0, None)
    chosen = np.array([True, True, False])
    assert programs.refine(chosen)
    assert not programs.refine(chosen)
    assert programs.tangents == {0: [pytest.approx(1.9 - 1.2, abs=1e-8)]}
    assert programs.solve(-3.0, 0.0, None).bound <= first.bound + 1e-12


def test_rows_on_a_short_grid_need_no_tangents():
    programs = Programs(utility_of([0.5, 0.5], [one_row([1, 1], 1, 1.0), one_row([1, 0.3], 1, INF)]))
    assert not programs.refine(np.array([True, True]))


@pytest.mark.parametrize("rho", [1e-9, 1e-4, 0.01])
@pytest.mark.parametrize("bound", [2.0, 999.5, -5e8])
def test_rows_with_very_many_levels_get_few_lines(rho, bound):
    """Costs in cents: a line per attainable level would fill the memory."""
    costs = np.array([1, 1999, 250, 70_000, 12_345, 9_900], dtype=float)
    utility = utility_of(np.full(6, 1 / 6), [one_row(costs, bound, rho)])
    programs = Programs(utility)
    _, values, logs = values_and_logs(utility)
    low = float(logs.max()) - 3.0
    highest = programs.grid.highest_level(low)
    assert len(programs._pieces(0, highest[0])[0]) < 50
    inside = logs >= low
    answer = programs.solve(low, 0.0, None)
    assert answer.bound >= values[inside].max() - 1e-9
    # A tangent where the best set stands makes its penalty exact.
    best = selectable_sets(utility)[np.argmax(values)]
    programs.refine(best)
    slopes, intercepts = programs._pieces(0, highest[0])
    level = max(best @ costs - programs.grid.ceiling[0], 0.0)
    if 0 < level <= highest[0]:
        assert (slopes * level + intercepts).max() == pytest.approx(-logs[np.argmax(values)], rel=1e-9)


def test_forbidden_sets_are_not_returned_again():
    utility = utility_of([0.5, 0.3, 0.2], [one_row([1, 1, 1], 2, INF)])
    programs = Programs(utility)
    _, values, _ = values_and_logs(utility)
    expected = np.sort(values[np.isfinite(values)])[::-1]
    found = []
    for _ in expected:
        answer = programs.solve(-1e-3, 0.0, None)
        found.append(utility(answer.chosen)[0])
        programs.forbidden.append(answer.chosen)
    np.testing.assert_allclose(found, expected)
    assert programs.solve(-1e-3, 0.0, None).infeasible


def test_block_indicators_are_neither_too_high_nor_too_low():
    blocks = sparse.csr_array(np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]], dtype=bool))
    # The first two blocks are wanted, the second one is not: an indicator above its members would cheat.
    rows = [one_row([-1, 1, -1], -1, INF, on_blocks=True)]
    utility = utility_of([0.1, 0.6, 0.2, 0.1], rows, blocks=blocks)
    answer = Programs(utility).solve(-1e-3, 0.0, None)
    np.testing.assert_array_equal(answer.chosen, [True, False, False, True])


def test_without_features_the_bound_is_the_value_of_the_empty_set():
    utility = utility_of(np.empty(0), [one_row(np.empty((1, 0)), -1, 0.5)])
    log_kappa = float(utility.admissibility.log_admissibility(np.zeros((1, 0)))[0])
    answer = Programs(utility).solve(log_kappa, 0.0, None)
    assert answer.bound == pytest.approx(np.exp(log_kappa), abs=1e-9)


def test_numbers_of_very_different_size_do_not_make_a_program_unbounded():
    """HiGHS without its presolve takes this one for unbounded."""
    rows = [
        one_row([2.73568162e7, 4.10352242e7, 2.73568162e7, 2.73568162e7], 6.83920405e7, 0.10764085),
        one_row([3, 3, -1, 3], 2, 17.22960415),
    ]
    utility = utility_of([0.3, 5e-324, 5e-324, 0.3], rows)
    answer = Programs(utility).solve(-1.2, 0.0)
    assert not answer.infeasible
    assert answer.bound >= 1.3
    assert utility(Exact().maximize(utility).chosen)[0] == pytest.approx(1.3)
