import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from amounts import examples
from ubayfs.constraints import max_size, resolve
from ubayfs.constraints.constraint import Inequalities
from ubayfs.constraints.system import ConstraintSystem
from ubayfs.constraints.utility import Admissibility, Utility, as_sparse_sets, log_row_admissibility, score_tolerance

N = 5
ALL_SETS = np.array(list(itertools.product([False, True], repeat=N)))


def system_of(A, b, rho, blocks=None, on_blocks=False):
    part = Inequalities(
        sparse.csr_array(np.atleast_2d(np.asarray(A, float))),
        np.asarray(b, float),
        np.asarray(rho, float),
        str,
        on_blocks=on_blocks,
    )
    n = N if blocks is None else blocks.shape[1]
    return ConstraintSystem.stack([part], n, blocks if blocks is None else sparse.csr_array(blocks))


def literal_kappa(system, chosen):
    """The formula of the paper, row by row; nothing shared with the implementation."""
    A, blocks = system.A.toarray(), system.blocks.toarray()
    z = np.concatenate([chosen.astype(float), [float(any(chosen[members])) for members in blocks]])
    kappa = 1.0
    for a, b, rho in zip(A, system.b, system.rho, strict=True):
        violation = float(a @ z) - b
        if violation > 1e-9 * max(abs(b), abs(a).max(initial=0.0)):
            xi = np.exp(-rho * violation)
            kappa *= 2 * xi / (1 + xi)
    return kappa


coefficients = st.sampled_from([-2.0, -1.0, -0.1, 0.0, 0.0, 0.0, 0.1, 0.2, 1.0, 1.0, 3.5])
bounds = st.sampled_from([-2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0])
rhos = st.sampled_from([1e-4, 0.1, 1.0, 7.0, 1e6, np.inf])


@st.composite
def systems(draw, min_rows=0, max_rows=6):
    n, w = draw(st.integers(min_rows, max_rows)), draw(st.integers(0, 3))
    blocks = np.array(draw(st.lists(st.lists(st.booleans(), min_size=N, max_size=N), min_size=w, max_size=w)), bool)
    A = np.array(draw(st.lists(st.lists(coefficients, min_size=N + w, max_size=N + w), min_size=n, max_size=n)))
    b = np.array(draw(st.lists(bounds, min_size=n, max_size=n)), float)
    rho = np.array(draw(st.lists(rhos, min_size=n, max_size=n)), float)
    A = sparse.csr_array(A.reshape(n, N + w))
    return ConstraintSystem(A, b, rho, sparse.csr_array(blocks.reshape(w, N)))


def test_soft_max_size_matches_the_r_package():
    system = resolve(max_size(10, rho=0.1), [f"x{i}" for i in range(20)])
    chosen = np.arange(20) < 12
    assert np.exp(Admissibility(system).log_admissibility(chosen)).item() == pytest.approx(0.900332, abs=5e-7)


def test_row_admissibility_is_two_xi_over_one_plus_xi():
    v, rho = np.array([0.5, 1.0, 3.0]), np.array([[0.2], [1.0], [4.0]])
    xi = np.exp(-rho * v)
    assert_allclose(np.exp(log_row_admissibility(v, rho)), 2 * xi / (1 + xi), rtol=1e-12)


@pytest.mark.parametrize("violation", [0.0, -1.0, -1e300])
@pytest.mark.parametrize("rho", [1e-4, 1.0, np.inf])
def test_a_row_that_holds_costs_nothing(violation, rho):
    assert log_row_admissibility(violation, rho) == 0.0


def test_minus_infinity_is_for_hard_rows_only():
    assert np.isfinite(log_row_admissibility(1e300, 1e300))
    assert log_row_admissibility(1e-300, np.inf) == -np.inf


def test_log_space_does_not_underflow():
    # kappa = 2 e^-1000 / (1 + e^-1000) is below the smallest double, its logarithm is not.
    assert log_row_admissibility(1000.0, 1.0) == pytest.approx(np.log(2.0) - 1000.0)


def test_rounding_is_not_a_violation():
    assert 0.1 + 0.2 > 0.3
    system = system_of([0.1, 0.2, 0.0, 0.0, 0.0], [0.3], [np.inf])
    admissibility = Admissibility(system)
    assert admissibility.log_admissibility([1, 1, 0, 0, 0]).tolist() == [0.0]
    assert admissibility.violations([1, 1, 0, 0, 0]).tolist() == [[0.0]]


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_tolerance_is_relative(scale):
    a = np.array([0.1, 0.2, 1e-6, 0.0, 0.0]) * scale
    found = Admissibility(system_of(a, [0.3 * scale], [np.inf])).log_admissibility([[1, 1, 0, 0, 0], [1, 1, 1, 0, 0]])
    assert found.tolist() == [0.0, -np.inf]


def test_a_row_of_zeros_holds_or_is_violated_by_every_set():
    found = Admissibility(system_of(np.zeros((2, N)), [0.0, -1.0], [np.inf, 1.0])).log_admissibility(ALL_SETS)
    assert_allclose(found, log_row_admissibility(1.0, 1.0))


def test_overlapping_blocks_are_selected_by_any_member():
    blocks = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0]], dtype=bool)
    admissibility = Admissibility(system_of([1, 1], [1.0], [1.0], blocks, on_blocks=True))
    sets = np.eye(5, dtype=bool)
    assert_array_equal(admissibility.indicators(sets).toarray()[:, 5:], [[1, 0], [1, 1], [0, 1], [0, 0], [0, 0]])
    assert_array_equal(admissibility.violations(sets).ravel(), [0, 1, 0, 0, 0])


def test_explicit_zeros_of_a_sparse_set_select_nothing():
    blocks = np.array([[1, 0, 0, 0, 0]], dtype=bool)
    chosen = sparse.csr_array(([0.0, 1.0], ([0, 0], [0, 1])), shape=(1, 5))
    admissibility = Admissibility(system_of([1], [0.0], [np.inf], blocks, on_blocks=True))
    assert admissibility.log_admissibility(chosen).tolist() == [0.0]


@given(systems())
def test_agrees_with_the_literal_formula_on_every_set(system):
    found = np.exp(Admissibility(system).log_admissibility(ALL_SETS))
    assert_allclose(found, [literal_kappa(system, s) for s in ALL_SETS], rtol=1e-9, atol=1e-300)


@given(systems())
def test_admissibility_is_one_exactly_when_nothing_is_violated(system):
    admissibility = Admissibility(system)
    log_kappa = admissibility.log_admissibility(ALL_SETS)
    violated = admissibility.violations(ALL_SETS) > 0
    kappa = np.exp(log_kappa)
    assert ((kappa >= 0) & (kappa <= 1)).all()
    assert_array_equal(kappa == 1, ~violated.any(axis=1))
    assert_array_equal(np.isneginf(log_kappa), (violated & np.isinf(system.rho)).any(axis=1))


@given(systems(), systems(1, 1))
def test_one_more_row_never_raises_admissibility(system, other):
    extra = Inequalities(other.A[:, :N], other.b, other.rho, str)
    before = Admissibility(system).log_admissibility(ALL_SETS)
    assert (Admissibility(system.with_inequalities(extra)).log_admissibility(ALL_SETS) <= before).all()


@settings(max_examples=examples(40))
@given(systems())
def test_a_batch_is_its_sets_one_by_one_dense_or_sparse(system):
    admissibility = Admissibility(system)
    batch = admissibility.log_admissibility(ALL_SETS)
    assert_allclose(batch, [admissibility.log_admissibility(s).item() for s in ALL_SETS], rtol=1e-12)
    assert_array_equal(batch, admissibility.log_admissibility(sparse.csr_array(ALL_SETS)))
    assert_array_equal(batch, admissibility.log_admissibility(ALL_SETS.astype(int)))


@given(systems(), st.sampled_from([0.05, 1.0, 50.0]))
def test_utility_is_importance_plus_weighted_admissibility_and_hard_means_hard(system, strength):
    theta = np.array([0.4, 0.3, 0.2, 0.1, 0.0])
    found = Utility(theta, system, strength, np.ones(N, dtype=bool))(ALL_SETS)
    log_kappa = Admissibility(system).log_admissibility(ALL_SETS)
    expected = ALL_SETS @ theta + strength * np.exp(log_kappa)
    expected[np.isneginf(log_kappa)] = -np.inf
    assert_allclose(found, expected)


def test_an_underflowing_soft_row_keeps_the_importance():
    utility = Utility(np.full(N, 0.2), system_of(np.ones(N), [0.0], [1e6]), 0.3, np.ones(N, dtype=bool))
    assert utility([1, 1, 0, 0, 0]).item() == pytest.approx(0.4)


@pytest.mark.parametrize("dtype", [bool, int, float])
@pytest.mark.parametrize("shape", [(0, 3), (1, 4), (5, 7), (3, 0), (4,)])
def test_sets_of_any_kind_are_read_alike(dtype, shape):
    sets = (np.random.default_rng(0).random(shape) < 0.4).astype(dtype)
    found = as_sparse_sets(sets)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found.toarray(), np.atleast_2d(sets).astype(float))


def test_the_tolerance_of_a_row_is_relative_to_its_bound_whatever_coefficients_it_has():
    A = sparse.csr_array(np.array([[0.0, 0.0], [3.0, -4e9], [0.0, 0.0], [0.0, 2e9]]))
    system = ConstraintSystem(A, np.array([0.0, 1.0, -5.0, 7.0]), np.ones(4), sparse.csr_array((0, 2), dtype=bool))
    np.testing.assert_allclose(Admissibility(system).tolerance, 1e-9 * np.array([0.0, 1.0, 5.0, 7.0]))


def test_sums_that_cancel_are_compared_up_to_the_rounding_of_their_own_terms():
    system = system_of([0.1, 0.2, -0.3, -1e15, 1e-9], [0.0], [np.inf])
    sets = [[1, 1, 1, 0, 0], [1, 1, 1, 0, 1], [0, 0, 0, 0, 1]]
    assert Admissibility(system).log_admissibility(sets).tolist() == [0.0, -np.inf, -np.inf]
    assert Admissibility(system).violations(sets).ravel().tolist() == pytest.approx([0.0, 1e-9, 1e-9])


@pytest.mark.parametrize(("value", "tolerance"), [(0.2, 1e-9), (-np.inf, 1e-9), (50.0, 5e-8)])
def test_scores_are_equal_up_to_rounding(value, tolerance):
    assert score_tolerance(value) == pytest.approx(tolerance, rel=1e-12)
