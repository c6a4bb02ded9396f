import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ubayfs.selectors._subsample import solve_positive


@given(seed=st.integers(0, 10**6), n=st.integers(1, 30))
def test_solution_of_a_positive_definite_system(seed, n):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    matrix, right = root @ root.T + np.eye(n), rng.normal(size=n)
    original = matrix.copy(), right.copy()
    np.testing.assert_allclose(matrix @ solve_positive(matrix, right), right, atol=1e-9)
    np.testing.assert_array_equal(matrix, original[0])
    np.testing.assert_array_equal(right, original[1])


def test_system_that_is_not_positive_is_solved_too():
    matrix, right = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([4.0, 5.0])
    np.testing.assert_allclose(solve_positive(matrix, right), [2.0, 1.0])
