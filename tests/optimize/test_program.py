import numpy as np
import pytest

from amounts import seeds
from problems import all_selectable, one_row, selectable_sets, utility_of
from ubayfs.optimize.exact import Exact
from ubayfs.optimize.program import Programs


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
