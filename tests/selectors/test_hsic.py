import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import lars_path

from ubayfs.data import FeatureData
from ubayfs.exceptions import UBayFSError
from ubayfs.selectors import _kernels, hsic
from ubayfs.selectors._kernels import FeatureKernels
from ubayfs.selectors.hsic import HSIC


def standardize(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def literal_kernel(similarity):
    """Centered, normalized kernel matrix of a similarity of two rows i, k, as a vector."""
    n = len(similarity)
    H = np.eye(n) - np.ones((n, n)) / n
    K = H @ similarity @ H
    return (K / np.sqrt((K**2).sum())).ravel()


def literal_kernels(X, y, regression):
    """Vectorized kernels of all columns, of shape (n * n, p), and of the target."""
    gaussian = [np.exp(-((x[:, None] - x) ** 2) / 2) for x in standardize(X).T]
    if regression:
        z = standardize(np.asarray(y, dtype=float))
        target = np.exp(-((z[:, None] - z) ** 2) / 2)
    else:
        target = np.equal.outer(y, y).astype(float)
    return np.column_stack([literal_kernel(K) for K in gaussian]), literal_kernel(target)


def literal_path(K, L):
    """Knots of the path and the columns active just below each, by scikit-learn's non-negative LARS."""
    alphas, _, coefs = lars_path(K, L, method="lasso", positive=True)
    middles = [set(np.flatnonzero(coefs[:, k] + coefs[:, k + 1] > 1e-10)) for k in range(len(alphas) - 1)]
    return alphas * len(L), middles


def first_with(middles, n_features):
    """Columns of the first stretch with that many, in the order of entering; None if the path ends before."""
    order = []
    for active in middles:
        order = [j for j in order if j in active] + sorted(active - set(order))
        if len(order) == n_features:
            return order
    return None


def problem(seed, n, p, task):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1))
    score = np.abs(X[:, 0]) + X[:, p // 2] + 0.5 * rng.normal(size=n)
    if task == "regression":
        return X, score
    cuts = [0.5] if task == "binary" else [0.3, 0.6]
    return X, np.digitize(score, np.quantile(score, cuts))


@given(
    seed=st.integers(0, 10**6), n=st.integers(8, 30), p=st.integers(2, 25),
    task=st.sampled_from(["binary", "multiclass", "regression"]),
)  # fmt: skip
def test_order_is_that_of_lars_on_all_kernels(seed, n, p, task):
    X, y = problem(seed, n, p, task)
    _, middles = literal_path(*literal_kernels(X, y, task == "regression"))
    for n_features in range(1, p + 1):
        expected = first_with(middles, n_features)
        if expected is None:
            break
        assert HSIC()(X, y, n_features, np.random.default_rng(0)).tolist() == expected
    assert n_features > 1


@given(seed=st.integers(0, 10**6), n=st.integers(2, 20), p=st.integers(1, 10), coarse=st.booleans())
def test_products_without_dense_kernels(seed, n, p, coarse):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n, p)).astype(float) if coarse else rng.normal(size=(n, p)) ** 3
    X[0], X[1] = 0.0, 1.0  # no column is constant
    y = np.arange(n) % 2
    K, L = literal_kernels(X, y, regression=False)
    kernels = FeatureKernels(standardize(X))
    np.testing.assert_allclose(kernels.relevance(L.reshape(n, n)), L @ K, atol=1e-12)
    features = rng.permutation(p)
    upper, trace = kernels.weights(K[:, 0].reshape(n, n))
    products = kernels.products(features, upper[None], np.array([trace]))
    np.testing.assert_allclose(products[:, 0], K[:, 0] @ K[:, features], atol=1e-12)
    np.testing.assert_allclose(kernels.centered(0).ravel(), K[:, 0], atol=1e-12)
    # The bound on residual correlations rests on this.
    assert (K.T @ K).min() >= -1e-12


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_neither_chunks_nor_memory_change_the_choice(task, monkeypatch):
    X, y = problem(3, 24, 60, task)
    usual = HSIC()(X, y, 12, np.random.default_rng(0))
    assert len(usual) == 12
    kernel_bytes = 24 * 23 // 2 * 8
    for features_at_once, limit, batch in ((1, 2, 64), (7, 20, 20), (2, 60, 3), (60, 2000, 1)):
        monkeypatch.setattr(_kernels, "_CHUNK_FEATURES", features_at_once)
        monkeypatch.setattr(_kernels, "_CHUNK_BYTES", features_at_once * kernel_bytes)
        monkeypatch.setattr(_kernels, "_LIMIT_BYTES", limit * kernel_bytes)
        monkeypatch.setattr(hsic, "_BATCH", batch)
        np.testing.assert_array_equal(HSIC()(X, y, 12, np.random.default_rng(0)), usual)


def test_irrelevant_features_are_not_looked_at(rng, monkeypatch):
    looked_at = []
    products = FeatureKernels.products
    monkeypatch.setattr(hsic, "_BATCH", 4)
    monkeypatch.setattr(
        FeatureKernels, "products", lambda self, rows, *rest: looked_at.extend(rows) or products(self, rows, *rest)
    )
    X = rng.normal(size=(80, 200))
    y = np.sign(X[:, 17]) + np.sign(X[:, 120]) + 0.1 * rng.normal(size=80)
    assert set(HSIC()(X, y, 2, rng)) == {17, 120}
    assert 1 <= len(looked_at) <= 8


def test_relations_of_any_shape_count(rng):
    X = rng.normal(size=(100, 20))
    assert HSIC()(X, np.abs(X[:, 13]) > 0.7, 1, rng).tolist() == [13]
    assert HSIC()(X, X[:, 4] ** 2 + 0.1 * rng.normal(size=100), 1, rng).tolist() == [4]


def test_copies_of_a_column_never_enter_beside_it(rng):
    X = rng.normal(size=(40, 6))
    y = X[:, 1] + X[:, 4] + 0.5 * rng.normal(size=40)
    for target in (y, y > 0, np.digitize(y, [-1, 1])):
        once = HSIC()(X, target, 6, rng)
        assert len(once) >= 3
        # A kernel does not change with sign, scale or offset either.
        copies = np.column_stack([X, X, -X, 2 * X + 1])
        np.testing.assert_array_equal(HSIC()(copies, target, 6, rng), once)
        np.testing.assert_array_equal(HSIC()(copies[:, ::-1], target, 6, rng), 5 - once)


def test_tied_features_enter_by_position(rng):
    # Two columns that swap when rows swap, in a problem that does not change under that.
    half = rng.normal(size=(20, 2))
    X = np.vstack([half, half[:, ::-1]])
    y = np.concatenate([half.sum(axis=1), half.sum(axis=1)])
    np.testing.assert_array_equal(HSIC()(X, y, 2, rng), [0, 1])
    np.testing.assert_array_equal(HSIC()(X[:, ::-1], y, 1, rng), [0])


def test_few_rows_and_few_columns(rng):
    X = rng.normal(size=(6, 40))
    X[:, 9] = [0, 0, 0, 1, 1, 1]
    chosen = HSIC()(X, [0, 0, 0, 1, 1, 1], 20, rng)
    # Its kernel is that of the classes: nothing is left to explain.
    assert chosen.tolist() == [9]
    assert 1 <= len(HSIC()(X, rng.normal(size=6), 20, rng)) <= 20
    assert set(HSIC()(X[:, :2], [0, 0, 0, 1, 1, 1], 10, rng)) <= {0, 1}
    assert HSIC()(np.array([[0.0, 3.0], [1.0, 5.0]]), [0, 1], 2, rng).tolist() == [0]


@given(
    seed=st.integers(0, 10**6), n=st.integers(3, 10), p=st.integers(1, 8), task=st.sampled_from(["two", "three", "y"])
)
def test_coarse_data_with_many_ties_never_fail(seed, n, p, task):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n, p)).astype(float)
    y = {"two": np.arange(n) % 2, "three": np.arange(n) % 3, "y": np.arange(n) + 0.5}[task]
    chosen = HSIC()(X, y, p, rng)
    assert len(set(chosen)) == len(chosen) <= p
    assert (X[:, chosen] != X[0, chosen]).any(axis=0).all()


def test_absent_class_is_ignored_and_a_single_one_refused(rng):
    X = rng.normal(size=(30, 12))
    y = np.repeat([0, 1, 2], 10)
    data = FeatureData.from_table(X, y)
    two = HSIC().select_many(data.X, data.target, (y < 2)[None], 4, [rng])[0]
    np.testing.assert_array_equal(two, HSIC()(X[y < 2], y[y < 2], 4, rng))
    with pytest.raises(UBayFSError, match="one class only"):
        HSIC().select_many(data.X, data.target, (y == 1)[None], 4, [rng])
    numbers = FeatureData.from_table(X, np.where(y == 2, 0.5, X[:, 0]))
    with pytest.raises(UBayFSError, match="target is constant"):
        HSIC().select_many(numbers.X, numbers.target, (y == 2)[None], 4, [rng])


def test_breast_cancer(cancer):
    X, y = cancer[0].to_numpy()[::3], cancer[1].to_numpy()[::3]
    _, middles = literal_path(*literal_kernels(X, y, regression=False))
    assert HSIC()(X, y, 8, np.random.default_rng(0)).tolist() == first_with(middles, 8)
