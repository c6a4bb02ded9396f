import numpy as np
import pytest
from scipy import sparse

from amounts import seeds
from problems import one_row, random_row, selectable_sets, utility_of
from ubayfs.constraints.utility import score_tolerance
from ubayfs.optimize import Exact, block_decomposition
from ubayfs.optimize.base import Limit
from ubayfs.optimize.block_decomposition import block_groups, group_bounds, search
from ubayfs.optimize.cells import CellSearch, lowest_log_kappa

pytestmark = pytest.mark.usefixtures("always_programs")

INF = np.inf


def block_problem(seed):
    """Rows of all kinds, and one or two that count blocks; blocks may overlap, be empty and leave features out."""
    rng = np.random.default_rng(seed)
    n, n_blocks = int(rng.integers(2, 10)), int(rng.integers(2, 7))
    theta = rng.dirichlet(np.full(n, rng.choice([0.3, 1.0, 10.0])))
    if rng.random() < 0.4:
        theta = np.round(theta, 1)
    blocks = sparse.csr_array(rng.random((n_blocks, n)) < rng.choice([0.15, 0.3, 0.5]))
    rows = [random_row(rng, n, n_blocks) for _ in range(rng.integers(0, 4))]
    for _ in range(rng.integers(1, 3)):
        counted = rng.choice([1.0, 2.5]) * (rng.random(n_blocks) < rng.choice([0.6, 2.0]))
        bound = rng.integers(-1, 4) + rng.choice([0, 0, 0.5])
        rho = INF if rng.random() < 0.3 else 10 ** rng.uniform(-1.5, 1.5)
        rows.append(one_row(counted, bound, rho, on_blocks=True))
    return utility_of(theta, rows, 10 ** rng.uniform(-1, 1.5), blocks)


def some_value(values, seed):
    """The value of any set that keeps the hard rows; None if there is no such set."""
    finite = values[np.isfinite(values)]
    return float(np.random.default_rng(seed).choice(finite)) if len(finite) else None


@pytest.mark.parametrize("most_programs", [0, 1, 32])
@pytest.mark.parametrize("seed", seeds(60))
def test_groups_find_the_best_set_whatever_is_known(seed, most_programs, monkeypatch):
    """Zero programs by group: all that is left is solved together at once."""
    monkeypatch.setattr(block_decomposition, "_MOST_PROGRAMS", most_programs)
    utility = block_problem(seed)
    values = utility(selectable_sets(utility))
    known, optimum = some_value(values, seed), values.max()
    if known is None:
        return
    result = search(utility, known, float(utility.theta.sum()), None)
    if result.chosen is None:
        assert optimum <= known + score_tolerance(known)
    else:
        assert result.value == pytest.approx(utility(result.chosen)[0], abs=1e-12)
        assert optimum - score_tolerance(optimum) <= result.value
    assert abs(result.bound - optimum) <= score_tolerance(optimum)


@pytest.mark.parametrize("seed", seeds(60))
def test_exact_agrees_with_brute_force_on_rows_over_blocks(seed):
    utility = block_problem(1000 + seed)
    optimum = utility(selectable_sets(utility)).max()
    if np.isneginf(optimum):
        return
    solution = Exact().maximize(utility)
    assert abs(solution.value - optimum) <= score_tolerance(optimum)
    assert solution.gap <= score_tolerance(optimum)


@pytest.mark.parametrize("seed", seeds(60))
def test_every_better_set_is_in_a_group_that_bounds_it(seed):
    utility = block_problem(seed)
    sets = selectable_sets(utility)
    values = utility(sets)
    known = some_value(values, seed)
    if known is None:
        return
    groups = block_groups(utility, min(lowest_log_kappa(utility, known, float(utility.theta.sum())), 0.0))
    if groups is None:
        return
    better = values > known + 1e-9
    inside = ~(sets[better][:, None, :] & ~groups.members).any(axis=2)
    bounds = np.where(inside, group_bounds(utility, groups), -INF).max(axis=1)
    assert (bounds >= values[better] - 1e-12 * max(1.0, abs(values.max()))).all()


def two_of_four(rho=INF, **changes):
    """Four blocks of two features, two of which may be touched."""
    blocks = sparse.csr_array(np.kron(np.eye(4), np.ones(2)) > 0)
    theta = np.array([0.2, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1])
    return utility_of(theta, [one_row(np.ones(4), 2, rho, on_blocks=True)], blocks=blocks, **changes)


def test_the_bounds_of_groups_alone_may_prove_the_best_set():
    utility = two_of_four()
    result = search(utility, 1.6, float(utility.theta.sum()), None)
    assert (result.chosen, result.value, result.bound, result.n_programs) == (None, 1.6, pytest.approx(1.6), 0)


def test_only_groups_that_may_hold_a_better_set_are_solved():
    utility = two_of_four()
    result = search(utility, 1.55, float(utility.theta.sum()), None)
    assert np.flatnonzero(result.chosen).tolist() == [0, 1, 2, 3]
    assert result.n_programs == 1


def test_without_time_the_bound_of_the_groups_holds():
    utility = two_of_four()
    result = search(utility, 1.0, float(utility.theta.sum()), Limit(deadline=0.0))
    assert (result.chosen, result.n_programs) == (None, 0)
    assert result.bound == pytest.approx(1.6)


def test_without_a_known_set_one_program_decides_whether_there_is_any(monkeypatch):
    utility = two_of_four()
    seen = []
    monkeypatch.setattr(CellSearch, "run", lambda self: seen.append(self.utility.n_features))
    search(utility, -INF, float(utility.theta.sum()), None)
    assert seen == [8]
