"""Numbers in place of categories: their p-values, their distribution by chance, and what selectors make of them."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ubayfs import Survival, collect_evidence
from ubayfs.data.categories import CategoryTable, Levels
from ubayfs.data.covariates import basis_of
from ubayfs.data.target import read_target
from ubayfs.selectors.category_numbers import numbers_for

N = 80


def table(rng, n_levels=6, n_columns=3):
    values = np.column_stack([rng.normal(size=N), rng.integers(0, 2, N), rng.integers(0, n_levels, (N, n_columns))])
    known = {1: Levels(("no", "yes")), **{2 + j: Levels(tuple("abcdefghijkl"[:n_levels])) for j in range(n_columns)}}
    return CategoryTable(values.astype(float), known)


def p_by_least_squares(y, X, Z):
    """p-value of adding columns X to Z in a linear model of y."""
    small, large = (np.column_stack([np.ones(N), *A]) for A in ([Z], [Z, X]))
    rest = [((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2).sum() for A in (small, large)]
    d = np.linalg.matrix_rank(large) - np.linalg.matrix_rank(small)
    left = N - np.linalg.matrix_rank(large)
    return stats.f.sf((rest[0] - rest[1]) / d / (rest[1] / left), d, left)


@pytest.mark.parametrize("adjusted", [False, True])
@pytest.mark.parametrize("task", ["two", "regression"])
def test_a_number_has_the_p_value_of_its_category(task, adjusted):
    rng = np.random.default_rng(3)
    X = table(rng)
    y = rng.normal(size=N) + (X[:, 2] == 3)
    target = read_target((y > 0) * 1 if task == "two" else y, N, None if task == "two" else "regression")
    Z = rng.normal(size=(N, 2)) if adjusted else np.empty((N, 0))
    numbers = numbers_for(X, X.coded, basis_of(Z), target, rng)
    y = (y > 0) * 1.0 if task == "two" else y
    for feature in X.several:
        expected = p_by_least_squares(y, X.columns(int(feature))[:, 1:], Z)
        assert p_by_least_squares(y, numbers[:, [feature]], Z) == pytest.approx(expected, rel=1e-6)
    assert (numbers[:, 0] == X[:, 0]).all()
    assert np.corrcoef(numbers[:, 1], X[:, 1])[0, 1] == pytest.approx(1, abs=1e-6)
    assert len(np.unique(numbers[:, 1])) == N  # no ties
    assert ((numbers[:, 1] > 0.5) == (X[:, 1] == 1)).all()  # but the order of its levels


def test_of_three_classes_the_share_between_them_has_the_p_value_of_pillais_trace():
    rng = np.random.default_rng(4)
    X, y = table(rng), rng.permutation(np.arange(N) % 3)
    numbers = numbers_for(X, X.coded, basis_of(np.empty((N, 0))), read_target(y, N, None), rng)
    for feature in X.several:
        counts = pd.crosstab(X[:, feature], y).to_numpy()
        trace, p = stats.chi2_contingency(counts, correction=False).statistic / N, len(counts) - 1
        F = (trace / 2) / (1 - trace / 2) * (2 * (N - 3 - p + 2)) / (2 * p)
        expected = stats.f.sf(F, 2 * p, 2 * (N - 3 - p + 2))
        assert stats.f_oneway(*(numbers[y == c, feature] for c in range(3))).pvalue == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("task", ["two", "survival"])
def test_noise_becomes_noise_that_is_like_that_of_a_number(task):
    """Correlation with the target, and with any other column, is uniform in its p-value."""
    rng = np.random.default_rng(5)
    y = Survival(rng.exponential(size=N), rng.random(N) < 0.7) if task == "survival" else np.arange(N) % 2
    target, other, basis = read_target(y, N, None), rng.normal(size=N), basis_of(np.empty((N, 0)))
    found = []
    for _ in range(60):
        X = table(rng, n_levels=12, n_columns=6)
        found.append(numbers_for(X, X.coded, basis, target, rng)[:, X.several])
    x = np.hstack(found)
    y = target.event if task == "survival" else y
    for column in (np.asarray(y, dtype=float), other):
        r = stats.zscore(column) @ stats.zscore(x) / N
        p = 2 * stats.t.sf(np.abs(r) * np.sqrt((N - 2) / (1 - r**2)), N - 2)
        assert stats.kstest(p, "uniform").pvalue > 0.01


def test_a_strong_category_stays_what_it_is():
    rng = np.random.default_rng(6)
    X = table(rng)
    y = np.isin(X[:, 2], [0, 4, 5]) * 1
    number = numbers_for(X, X.coded, basis_of(np.empty((N, 0))), read_target(y, N, None), rng)[:, 2]
    assert number[y == 1].max() < number[y == 0].min() or number[y == 0].max() < number[y == 1].min()


def test_what_does_not_vary_stays_constant():
    rng = np.random.default_rng(7)
    X = table(rng)
    X.values[:, 1:3] = 1.0
    numbers = numbers_for(X, X.coded, basis_of(np.empty((N, 0))), read_target(np.arange(N) % 2, N, None), rng)
    assert np.ptp(numbers[:, 1:3], axis=0).tolist() == [0, 0]


def planted(task, rng, n=120):
    """A category and a number of the same effect among noise."""
    X = pd.DataFrame(rng.normal(size=(n, 10)), columns=[f"x{j}" for j in range(10)])
    X["tissue"] = rng.choice(list("abcd"), n)
    for j in range(9):
        X[f"noise{j}"] = rng.choice(list("abcdefghij"), n)
    signal = 1.5 * X["x0"] + 3.0 * X["tissue"].isin(["a", "d"])
    if task == "survival":
        return X, Survival(rng.exponential(np.exp(-signal)), np.ones(n, dtype=bool))
    y = signal + rng.normal(size=n)
    classes = np.argsort(np.argsort(y)) * (3 if task == "multiclass" else 2) // n
    return X, y if task == "regression" else classes


@pytest.mark.parametrize("adjusted", [False, True])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression", "survival"])
@pytest.mark.parametrize("name", ["lasso", "tree", "hsic", "rfe"])
def test_planted_category_has_the_votes_of_an_equal_number_and_noise_of_many_levels_has_few(name, task, adjusted):
    if task == "survival" and name in ("hsic", "rfe"):
        pytest.skip("cannot do survival")
    rng = np.random.default_rng(8)
    X, y = planted(task, rng)
    covariates = {"adjust_for": rng.normal(size=(len(X), 1))} if adjusted else {}
    found = collect_evidence(X, y, selector=name, n_models=10, n_features_per_model=2, random_state=0, **covariates)
    votes = dict(zip(X.columns, found.counts.tolist(), strict=True))
    assert votes["tissue"] >= 8
    assert votes["x0"] >= 8
    assert sum(votes[f"noise{j}"] for j in range(9)) <= 3


@pytest.mark.parametrize("name", ["lasso", "tree"])
def test_noise_of_many_levels_has_its_share_with_gaps_too(name):
    rng, votes = np.random.default_rng(9), np.zeros(3)
    for seed in range(5):
        letters = np.array(list("abcdefghijkl"))
        blocks = [rng.normal(size=(90, 10)).astype(object), *(letters[rng.integers(0, k, (90, 10))] for k in (2, 12))]
        X = pd.DataFrame(np.hstack(blocks)).infer_objects().mask(rng.random((90, 30)) < 0.1)
        X.columns = [f"x{j}" for j in range(30)]
        found = collect_evidence(
            X,
            np.arange(90) % 2,
            selector=name,
            n_models=4,
            n_features_per_model=4,
            missing="available",
            random_state=seed,
        )
        votes += found.counts.reshape(3, -1).sum(axis=1)
    share = votes / votes.sum()
    assert (share > 0.18).all()
    assert (share < 0.52).all()


def test_the_same_for_one_run_and_many():
    rng = np.random.default_rng(10)
    X, y = planted("binary", rng)
    together, alone = (
        collect_evidence(X, y, selector="tree", n_models=6, random_state=1, n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    assert (together.counts == alone.counts).all()
