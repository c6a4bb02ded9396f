"""Tests of single features against a literal version: one feature, one shuffle, one formula at a time."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, sparse, stats

from amounts import seeds
from ubayfs import Survival
from ubayfs.data.feature_data import FeatureData
from ubayfs.trust.association import FeatureTests, Sampling, TargetScores

N = 30


def targets(rng):
    """One target of each kind, of 30 samples."""
    return {
        "binary": rng.permutation(np.repeat([0, 1], [12, 18])),
        "ordered": pd.Categorical(rng.choice(["low", "mid", "high"], N), ["low", "mid", "high"], ordered=True),
        "numbers": np.round(rng.normal(size=N), 1),
        "classes": rng.permutation(np.repeat(["a", "b", "c"], 10)),
        "labels": (rng.random((N, 3)) < 0.4).astype(int),
        "survival": Survival(rng.integers(1, 15, N), rng.random(N) < 0.7),
    }


def orthonormal(columns):
    U, S, _ = np.linalg.svd(columns, full_matrices=False)
    return U[:, 1e-8 * S.max(initial=1e-300) < S]


def without(basis, values):
    return values - basis @ np.linalg.lstsq(basis, values, rcond=None)[0]


def beta_p(T, d, nu):
    return stats.beta.sf(min(max(T, 0.0), 1.0), d / 2, (nu - d) / 2) if nu > d else 1.0


def inflation(g, x):
    """What T is divided by with covariates: at least 1, or n sum g_i h_i with shares of samples in scores and in x."""
    h = (orthonormal(x) ** 2).sum(axis=1)
    return max(1.0, len(g) * sum(g_i * h_i for g_i, h_i in zip(g / max(g.sum(), 1e-300), h / h.sum(), strict=True)))


def shares(residual, removed, order):
    """Shares of samples in all columns of a target together, and in each: shuffled as shares of what is left open."""
    room = 1.0 - (orthonormal(removed) ** 2).sum(axis=1)
    together = (orthonormal(residual) ** 2).sum(axis=1)
    return [g if order is None else np.divide(g, room, where=room > 1e-9, out=np.zeros_like(g))[order] * room
            for g in (together, *(residual**2).T)]  # fmt: skip


def literal_p(x, levels, U, joint, single, removed, Z, g):
    """The p-value of one feature; `removed` are columns that are removed, of which `Z` before ranking, too."""
    present = ~np.isnan(x)
    of_joint, *of_single = (each[present] for each in g)
    divisor = (lambda g, x: 1.0) if Z is None else inflation
    basis, u = removed[present], U[present]
    nu = present.sum() - np.linalg.matrix_rank(basis)
    if present.sum() < 4:
        return 1.0
    u = without(basis, u)
    if levels is not None and levels > 2:
        F = orthonormal(without(basis, (x[present][:, None] == np.arange(levels)).astype(float)))
        if joint and U.shape[1] > 1:
            T = ((F.T @ orthonormal(u)) ** 2).sum() / divisor(of_joint, F)
            return stats.chi2.sf(nu * T, F.shape[1] * (U.shape[1] - 1))
        best = max(((F.T @ c) ** 2).sum() / (c @ c) / divisor(g, F) for c, g in zip(u.T, of_single, strict=True))
        return min(1.0, (u.shape[1] if single else 1) * beta_p(best, F.shape[1], nu))
    value = x[present]
    if Z is not None:
        value = np.round(without(Z[present], value), 9)
    r = without(basis, stats.rankdata(value)[:, None])[:, 0]
    if np.linalg.norm(r) < 1e-9:
        return 1.0
    r = r / np.linalg.norm(r)
    w = without(np.column_stack([basis, r]), (r**2)[:, None])[:, 0]
    found = [1.0]
    for score, factor in ((r, 1.0), (w, 9.0)):
        if factor > 1 and (levels is not None or not present.all() or np.linalg.norm(w) < 1e-9):
            continue
        score = score / np.linalg.norm(score)
        if joint:
            Q = orthonormal(u)
            d = U.shape[1] - 1 if U.shape[1] > 1 else 1
            found.append(factor * beta_p(((Q.T @ score) ** 2).sum() / divisor(of_joint, score[:, None]), d, nu))
        if single:
            columns = [(c, g) for c, g in zip(u.T, of_single, strict=True) if c.any()]
            best = max((score @ c) ** 2 / (c @ c) / divisor(g, score[:, None]) for c, g in columns)
            found.append(factor * U.shape[1] * beta_p(best, 1, nu))
    return min(found)


def predicted(target, scores, Z):
    """What covariates predict of a target: probabilities of each class or label, or ranks of the linear fit."""
    values = np.asarray(target.values) if target.task != "survival" else None
    if target.task == "multilabel":
        return np.column_stack([probabilities(values[:, c], Z) for c in range(values.shape[1])])
    if target.task in ("binary", "multiclass") and not target.ordered:
        return probabilities(values, Z)
    return stats.rankdata(np.round(scores - without(Z, scores), 9), axis=0)


def probabilities(y, Z):
    """Of the logistic model with the penalty |b|^2 / 2, on coordinates of the covariates with mean square 1."""
    Z = orthonormal(Z - Z.mean(axis=0)) * np.sqrt(len(Z))
    Y = (y[:, None] == np.unique(y)).astype(float)
    if Y.shape[1] == 2:
        Y = Y[:, 1:]
    n, d, c = len(Z), Z.shape[1], Y.shape[1]

    def shares(b):
        eta = np.column_stack([np.zeros(n)] * (c == 1) + [np.column_stack([np.ones(n), Z]) @ b.reshape(d + 1, c)])
        return eta - np.logaddexp.reduce(eta, axis=1)[:, None]

    def loss_and_slope(b):
        logs, penalized = shares(b), np.vstack([np.zeros(c), b.reshape(d + 1, c)[1:]])
        every = np.column_stack([1 - Y, Y]) if c == 1 else Y
        slope = np.column_stack([np.ones(n), Z]).T @ (np.exp(logs) - every)[:, -c:] + penalized
        return -(every * logs).sum() + (penalized**2).sum() / 2, slope.ravel()

    b = optimize.minimize(loss_and_slope, np.zeros((d + 1) * c), jac=True, options={"gtol": 1e-10}).x
    return np.exp(shares(b))


def literal(data, orders):
    """P-values of all features, for the data first and for the shuffles of some orders: samples, no groups."""
    target = TargetScores.from_target(data.target)
    ones = np.ones((data.n_samples, 1))
    Z = None if data.covariates is None else np.hstack([ones, data.covariates.design])
    removed = ones if Z is None else np.hstack([Z, predicted(data.target, target.columns, Z)])
    residual = without(removed, target.columns)
    X = np.asarray(data.X)
    levels = {j: len(found.labels) if found.n_columns > 1 else 2 for j, found in data.levels.items()}
    return np.array([
        [literal_p(X[:, j], levels.get(j), residual if order is None else residual[order], target.joint, target.single,
                   removed, Z, shares(residual, removed, order))
         for j in range(data.n_features)]
        for order in [None, *orders]
    ])  # fmt: skip


def table(rng, kind):
    """Twelve features: numbers with ties, binary ones, a U-shape; with gaps or categories as the kind says."""
    X = rng.normal(size=(N, 12))
    X[:, 3], X[:, 4] = np.round(X[:, 3]), X[:, 4] > 0
    if kind == "gaps":
        X[rng.random(X.shape) < 0.2] = np.nan
        X[:, 5], X[:, 6] = rng.normal(size=N), np.r_[np.ones(3) * np.arange(3), np.full(N - 3, np.nan)]
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(12)])
    if kind == "categories":
        frame["site"] = rng.choice(["Oslo", "Graz", "Rome", "Bonn"], N)
        frame["sex"] = rng.choice(["m", "f"], N)
    return frame


@pytest.mark.parametrize("adjusted", [False, True])
@pytest.mark.parametrize("kind", ["plain", "gaps", "categories"])
@pytest.mark.parametrize("task", targets(np.random.default_rng(0)))
@pytest.mark.parametrize("seed", seeds(10))
def test_p_values_are_those_of_a_literal_version(seed, task, kind, adjusted):
    rng = np.random.default_rng([seed, 7])
    frame, y = table(rng, kind), targets(rng)[task]
    covariates = pd.DataFrame({"age": rng.normal(size=N), "batch": rng.choice(["A", "B"], N)}) if adjusted else None
    missing = "available" if kind == "gaps" else "error"
    data = FeatureData.from_table(frame, y, missing=missing, max_missing=1.0, adjust_for=covariates)
    tests = FeatureTests(data, 5, np.random.default_rng(seed))
    columns = np.arange(data.n_features)
    own, shuffled = tests.run(columns, data.n_features)
    orders = list(Sampling.from_data(data).shuffles(5, np.random.default_rng(seed)))
    expected = literal(data, orders)
    np.testing.assert_allclose(own, expected[0], rtol=2e-6 if adjusted else 1e-6, atol=1e-12)  # of the logistic fit
    np.testing.assert_allclose(np.sort(shuffled, axis=1), np.sort(expected[1:], axis=1), rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize("task", ["binary", "classes", "numbers"])
def test_only_the_smallest_p_values_are_kept_whatever_the_blocks(task, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 403)), targets(rng)[task]
    data = FeatureData.from_table(X, y)
    _, every = FeatureTests(data, 20, np.random.default_rng(1)).run(np.arange(403), 403)
    for block in (1 << 24, 20 * 4 * 201, 1):
        monkeypatch.setattr("ubayfs.trust.association._BLOCK", block)
        _, kept = FeatureTests(data, 20, np.random.default_rng(1)).run(np.arange(403), 10)
        np.testing.assert_allclose(np.sort(kept, axis=1), np.sort(every, axis=1)[:, :10], rtol=1e-4)


def test_the_smallest_p_values_of_columns_with_different_gaps_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 300))
    X[rng.random(X.shape) < rng.uniform(0, 0.5, 300)] = np.nan
    data = FeatureData.from_table(X, targets(rng)["binary"], missing="available", max_missing=1.0)
    _, every = FeatureTests(data, 20, np.random.default_rng(1)).run(np.arange(300), 300)
    _, kept = FeatureTests(data, 20, np.random.default_rng(1)).run(np.arange(300), 50)
    np.testing.assert_allclose(np.sort(kept, axis=1), np.sort(every, axis=1)[:, :50], rtol=1e-6)


def test_a_sparse_table_is_tested_as_the_dense_one():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.7, (N, 40)).astype(float)
    y = targets(rng)["classes"]
    found = [
        FeatureTests(FeatureData.from_table(table, y), 10, np.random.default_rng(1)).run(np.arange(40), 5)
        for table in (X, sparse.csr_array(X))
    ]
    for dense, stored in zip(*found, strict=True):
        np.testing.assert_array_equal(dense, stored)


def test_where_the_target_is_constant_in_groups_the_group_is_the_sample():
    """Two equal rows of each patient say no more than one."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 8)), np.arange(15) % 2
    twice = FeatureData.from_table(np.repeat(X, 2, axis=0), np.repeat(y, 2), groups=np.repeat(np.arange(15), 2))
    single = FeatureData.from_table(X, y)
    found = [FeatureTests(data, 10, np.random.default_rng(1)).run(np.arange(8), 8) for data in (twice, single)]
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-3)


def test_small_groups_that_scatter_more_are_no_u_shape():
    rng = np.random.default_rng(0)
    y, sizes = np.repeat([0, 1], 20), np.repeat([1, 6], 20)
    groups = np.repeat(np.arange(40), sizes)
    X = rng.normal(size=(len(groups), 200)) + 0.5 * rng.normal(size=(40, 200))[groups]
    uneven = FeatureTests(FeatureData.from_table(X, y[groups], groups=groups), 5, rng)
    p, _ = uneven.run(np.arange(200), 5)
    # With U-shapes, p-values below 1e-4 abound.
    assert p.min() > 1e-4
    assert (p < 0.05).mean() < 0.15
    first = np.unique(groups, return_index=True)[1]
    even = FeatureTests(FeatureData.from_table(X[first], y, groups=np.arange(40)), 5, rng)
    assert even.sampling.scatter_alike
    assert not uneven.sampling.scatter_alike


def test_otherwise_samples_are_shuffled_within_their_groups():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(10), 3)
    X, y = rng.normal(size=(N, 5)) + rng.normal(size=10)[groups, None], rng.permutation(np.tile([0, 0, 1], 10))
    data = FeatureData.from_table(X, y, groups=groups)
    sampling = Sampling.from_data(data)
    for order in sampling.shuffles(20, rng):
        np.testing.assert_array_equal(groups[order], groups)
        np.testing.assert_array_equal(np.sort(order), np.arange(N))
    p, _ = FeatureTests(data, 10, rng).run(np.arange(5), 5)
    dummies = (groups[:, None] == np.arange(10)).astype(float)
    residual = without(dummies, y[:, None].astype(float))
    expected = [literal_p(x, None, residual, True, False, dummies, None, shares(residual, dummies, None)) for x in X.T]
    np.testing.assert_allclose(p, expected, rtol=1e-6)


def test_covariates_that_say_where_both_scatter_relate_nothing():
    """Feature and target are independent given the covariate, on which the scatter of both depends."""
    rng = np.random.default_rng(0)
    p = []
    for _ in range(20):
        Z = np.repeat([0.3, 0.3, 3.0], 20)
        X, y = Z[:, None] * rng.normal(size=(60, 100)), Z * rng.normal(size=60)
        data = FeatureData.from_table(X, y, adjust_for=Z)
        p.append(FeatureTests(data, 5, rng).run(np.arange(100), 5)[0])
    # .13 if T is not divided by what it varies more than in shuffles.
    assert (np.array(p) <= 0.05).mean() < 0.08
