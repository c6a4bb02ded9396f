import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC, SVR, LinearSVC

from ubayfs.exceptions import InputError
from ubayfs.selectors._svm import EPSILON, LinearMachines
from ubayfs.selectors.rfe import RFE


def literal_weights(X, outputs, regression, C):
    """Weights by libsvm, columns standardized already.

    A squared loss is a plain one with infinite cost on the kernel X X^T + I / (2 C).
    """
    gram = X @ X.T + np.eye(len(X)) / (2 * C)
    weights = []
    for y in outputs.T:
        if regression:
            machine = SVR(kernel="precomputed", C=1e8, epsilon=EPSILON, tol=1e-10)
        else:
            machine = SVC(kernel="precomputed", C=1e8, tol=1e-10)
        machine.fit(gram, y)
        weights.append(machine.dual_coef_[0] @ X[machine.support_])
    return np.array(weights).T


def literal_rfe(X, outputs, n_features, regression=False, C=1.0):
    remaining = list(range(X.shape[1]))
    while True:
        Z = X[:, remaining]
        squares = (literal_weights((Z - Z.mean(0)) / Z.std(0), outputs, regression, C) ** 2).sum(axis=1)
        order = sorted(range(len(remaining)), key=lambda k: (-round(squares[k] ** 0.5, 7), k))
        if len(remaining) <= n_features:
            return [remaining[k] for k in order]
        n_dropped = min(max(1, len(remaining) // 10), len(remaining) - n_features)
        remaining = sorted(remaining[k] for k in order[:-n_dropped])


def signs(*columns):
    return np.column_stack([np.where(c, 1.0, -1.0) for c in columns])


@pytest.mark.parametrize("shape", [(24, 60), (60, 15)], ids=["wide", "tall"])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_machines_agree_with_other_solvers_while_columns_are_dropped(shape, C, rng):
    X = rng.normal(size=shape)
    X = (X - X.mean(0)) / X.std(0)
    noisy = X[:, :5].sum(axis=1) + 2 * rng.normal(size=len(X))
    classes = signs(noisy > 0, X[:, 2] > 0.5)
    numbers = ((noisy - noisy.mean()) / noisy.std())[:, None]
    for outputs, regression in ((classes, False), (numbers, True)):
        machines, kept = LinearMachines(X, outputs, C, regression), np.arange(X.shape[1])
        while len(kept) > 6:
            expected = literal_weights(X[:, kept], outputs, regression, C)
            np.testing.assert_allclose(machines.weights(), expected, atol=2e-6)
            smaller = np.sort(rng.choice(len(kept), size=(3 * len(kept)) // 4, replace=False))
            machines.keep(smaller)
            kept = kept[smaller]


@given(
    n=st.integers(4, 40), p=st.integers(1, 40), seed=st.integers(0, 10**6), regression=st.booleans(),
    C=st.sampled_from([1e-3, 1.0, 1e3]),
)  # fmt: skip
def test_solution_satisfies_the_optimality_conditions(n, p, seed, regression, C):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, p)).astype(float)
    X -= X.mean(axis=0)
    y = rng.normal(size=n) if regression else np.where(np.arange(n) < n // 2, 1.0, -1.0)
    machines = LinearMachines(X, y[:, None], C, regression)
    w, b = machines.weights()[:, 0], machines._intercepts[0]
    gap = y - X @ w - b
    excess = np.sign(gap) * np.maximum(np.abs(gap) - EPSILON, 0) if regression else np.where(y * gap > 0, gap, 0)
    scale = 1 + 2 * C * np.abs(excess).sum()
    np.testing.assert_allclose(w, 2 * C * X.T @ excess, atol=1e-8 * scale)
    assert abs(2 * C * excess.sum()) <= 1e-8 * scale


@pytest.mark.parametrize(("n", "p"), [(20, 70), (50, 12)])
def test_ranking_is_that_of_a_literal_elimination(n, p, rng):
    X = rng.normal(size=(n, p)) * rng.uniform(0.1, 10, size=p)
    score = X[:, 0] / X[:, 0].std() + X[:, 3] / X[:, 3].std() + rng.normal(size=n)
    classes = np.digitize(score, np.quantile(score, [0.3, 0.6]))
    labels = np.column_stack([score > 0, X[:, 5] > 0, np.ones(n)]).astype(int)
    cases = [
        (score > 0, signs(score > 0), False),
        (classes, signs(classes == 0, classes == 1, classes == 2), False),
        (labels, signs(*labels.T[:2]), False),
        (score, ((score - score.mean()) / score.std())[:, None], True),
    ]
    for y, outputs, regression in cases:
        chosen = RFE()(X, y, 5, np.random.default_rng(0))
        assert chosen.tolist() == literal_rfe(X, outputs, 5, regression)


def test_a_tenth_is_dropped_but_never_more_than_wanted(rng, monkeypatch):
    sizes = []
    keep = LinearMachines.keep
    monkeypatch.setattr(LinearMachines, "keep", lambda self, kept: sizes.append(len(kept)) or keep(self, kept))
    X = rng.normal(size=(20, 45))
    assert len(RFE()(X, X[:, 0] > 0, 33, rng)) == 33
    assert sizes == [41, 37, 34, 33]
    sizes.clear()
    assert len(RFE(step=0.5)(X, X[:, 0] > 0, 4, rng)) == 4
    assert sizes == [23, 12, 6, 4]


def test_copies_of_a_column_are_dropped_from_the_last(rng):
    X = rng.normal(size=(30, 8))
    y = X[:, 1] + X[:, 6] > 0
    chosen = RFE()(np.column_stack([X, X, X]), y, 10, rng)
    # The three copies share the weight of their column evenly; wherever the line falls, the first copies stay.
    for column in set(chosen % 8):
        copies = sorted(chosen[chosen % 8 == column] // 8)
        assert copies == list(range(len(copies)))


def test_few_columns_and_few_rows(rng):
    X = rng.normal(size=(6, 3))
    assert sorted(RFE()(X, [0, 0, 0, 1, 1, 1], 10, rng)) == [0, 1, 2]
    X = rng.normal(size=(6, 40))
    X[:, 7] = [0, 0, 0, 1, 1, 1]
    assert 7 in RFE()(X, [0, 0, 0, 1, 1, 1], 10, rng)


def test_parameters_are_checked():
    with pytest.raises(InputError, match=r"C must be a number in \(0, inf\); got -1"):
        RFE(C=-1)
    with pytest.raises(InputError, match=r"step must be a number in \(0, 1\); got 1"):
        RFE(step=1)


def test_breast_cancer_agrees_with_liblinear(cancer):
    X, y = cancer
    Z = ((X - X.mean()) / X.std(ddof=0)).to_numpy()
    machines = LinearMachines(Z, signs(y == 1), 1.0, False)
    other = LinearSVC(C=1.0, dual=False, tol=1e-10, intercept_scaling=1e3, max_iter=10**5).fit(Z, y)
    np.testing.assert_allclose(machines.weights()[:, 0], other.coef_[0], atol=1e-4)
    assert len(RFE()(X, y, 10, np.random.default_rng(0))) == 10
