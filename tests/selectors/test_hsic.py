import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import lars_path

from amounts import examples
from ubayfs.data.feature_data import FeatureData
from ubayfs.selectors import _kernel_bounds, _kernels, hsic
from ubayfs.selectors._kernel_bounds import KernelBounds, kernel_factor
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


@settings(max_examples=examples(50))
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


def target_kernel(y, task):
    return literal_kernels(np.arange(len(y))[:, None], y, task == "regression")[1].reshape(len(y), len(y))


def raw_norms(X):
    """Norms of the centered Gaussian kernels of all columns before they are normalized."""
    H = np.eye(len(X)) - 1 / len(X)
    return np.array([np.linalg.norm(H @ np.exp(-((x[:, None] - x) ** 2) / 2) @ H) for x in standardize(X).T])


@given(
    seed=st.integers(0, 10**6), n=st.integers(4, 40), task=st.sampled_from(["binary", "multiclass", "regression"]),
    scale=st.sampled_from([1e-290, 1e-9, 1.0, 1e9]), offset=st.sampled_from([0.0, 1.0, -1e3]), single=st.booleans(),
)  # fmt: skip
def test_bounds_hold_in_every_run(seed, n, task, scale, offset, single):
    rng = np.random.default_rng(seed)
    X, y = problem(seed, n, 12, task)
    X[:, 4:6] **= 7  # outliers
    X[:, 6:8] = rng.integers(0, 2, size=(n, 2))
    X[rng.integers(n), 8] = 1e3  # hardly varies in runs without that row
    X = (X + offset) * scale
    if single and scale != 1e-290:
        X = X.astype(np.float32)
    subsamples = np.array([rng.permutation(n) < max(3, 3 * n // 4) for _ in range(5)])
    subsamples = [rows for rows in subsamples if len(np.unique(y[rows])) > 1]
    if not subsamples:
        return
    targets = [target_kernel(y[rows], task) for rows in subsamples]
    relevance, norms = KernelBounds(np.array(subsamples), [kernel_factor(L) for L in targets]).bound(X)
    for run, (rows, L) in enumerate(zip(subsamples, targets, strict=True)):
        part = X[rows].astype(float)
        varying = (part != part[0]).any(axis=0)
        part = part[:, varying] / np.abs(part[:, varying]).max(axis=0)
        exact = L.ravel() @ literal_kernels(part, y[rows], task == "regression")[0]
        assert (exact <= relevance[run, varying]).all()
        assert (raw_norms(part) <= norms[run, varying]).all()
        assert (relevance <= 1).all()
        assert (norms[run] <= rows.sum()).all()


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_neither_batches_nor_blocks_change_the_choice(task, monkeypatch):
    X, y = problem(3, 40, 60, task)
    data = FeatureData.from_table(X, y)
    rng = np.random.default_rng(0)
    subsamples = np.array([rng.permutation(40) < 30 for _ in range(2)])
    usual = HSIC().select_many(data.X, data.target, subsamples, 12, 2 * [rng])
    assert [len(chosen) for chosen in usual] == 2 * [12]
    for rows, chosen in zip(subsamples, usual, strict=True):
        np.testing.assert_array_equal(HSIC()(X[rows], y[rows], 12, rng), chosen)
    for first, batch, pairs, entries in ((1, 1, 1, 1), (3, 7, 100, 10**4), (60, 60, 10**4, 10**7)):
        monkeypatch.setattr(hsic, "_FIRST_BATCH", first)
        monkeypatch.setattr(hsic, "_BATCH", batch)
        monkeypatch.setattr(_kernels, "_BLOCK_PAIRS", pairs)
        monkeypatch.setattr(_kernel_bounds, "_BLOCK_ENTRIES", entries)
        for rows, chosen in zip(HSIC().select_many(data.X, data.target, subsamples, 12, 2 * [rng]), usual, strict=True):
            np.testing.assert_array_equal(rows, chosen)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_the_choice_is_the_same_without_bounds(task, monkeypatch):
    X, y = problem(5, 40, 80, task)
    usual = HSIC()(X, y, 10, np.random.default_rng(0))
    monkeypatch.setattr(_kernel_bounds, "_NARROWEST", np.inf)
    monkeypatch.setattr(
        FeatureKernels, "lower_products", lambda self, rows, weights, traces: -np.ones((len(rows), len(traces)))
    )
    np.testing.assert_array_equal(HSIC()(X, y, 10, np.random.default_rng(0)), usual)


def test_irrelevant_features_are_not_looked_at(rng, monkeypatch):
    roughly, exactly = [], []
    lower_products, products = FeatureKernels.lower_products, FeatureKernels.products
    monkeypatch.setattr(hsic, "_FIRST_BATCH", 4)
    monkeypatch.setattr(
        FeatureKernels,
        "lower_products",
        lambda self, rows, *rest: roughly.extend(rows) or lower_products(self, rows, *rest),
    )
    monkeypatch.setattr(
        FeatureKernels, "products", lambda self, one, *rest: exactly.append(one) or products(self, one, *rest)
    )
    X = rng.normal(size=(80, 200))
    y = np.sign(X[:, 17]) + np.sign(X[:, 120]) + 0.1 * rng.normal(size=80)
    assert set(HSIC()(X, y, 2, rng)) == {17, 120}
    assert len(exactly) <= 3
    assert 1 <= len(roughly) <= 8


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


def test_breast_cancer(cancer):
    X, y = cancer[0].to_numpy()[::3], cancer[1].to_numpy()[::3]
    _, middles = literal_path(*literal_kernels(X, y, regression=False))
    assert HSIC()(X, y, 8, np.random.default_rng(0)).tolist() == first_with(middles, 8)
