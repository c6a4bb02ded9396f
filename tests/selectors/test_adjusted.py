"""Scores beyond covariates: exactly the partial R2 of least squares, in whatever form the data come."""

import numpy as np
import pytest
from scipy import sparse

from ubayfs.data.covariates import basis_of
from ubayfs.data.sparse_columns import SparseColumns
from ubayfs.data.survival import Survival
from ubayfs.data.target import Target, read_target
from ubayfs.exceptions import UBayFSError
from ubayfs.selectors.adjusted import Residuals, associations_beyond, share_beyond, without_covariates
from ubayfs.selectors.cox import Cox
from ubayfs.selectors.fisher import Fisher, _share_between_classes
from ubayfs.selectors.mrmr import MRMR, mutual_information
from ubayfs.selectors.scoring import run_scores
from ubayfs.selectors.threads import column_threads

N, P, M = 60, 24, 5


def squares_left(A, x):
    """Return the sum of squares that least squares leave."""
    return ((x - A @ np.linalg.lstsq(A, x, rcond=None)[0]) ** 2).sum()


def residual(A, x):
    return x - A @ np.linalg.lstsq(A, x, rcond=None)[0]


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(N, 4)) * [1, 1, 1e6, 1] + [0, 0, 1e9, 0]
    Z[:, 3] = 2 * Z[:, 0] + 1  # says nothing new
    Z[:, 1] = Z[:, 1] > 0.3
    X = rng.normal(size=(N, P)) + 3 * np.outer(Z[:, 0], rng.normal(size=P)) + np.outer(Z[:, 1], rng.normal(size=P))
    score = X[:, 3] + 2 * Z[:, 0] + rng.normal(size=N)
    subsamples = np.array([rng.permutation(N) < 40 for _ in range(M)])
    return X, Z, score, subsamples


def targets(score):
    classes = np.digitize(score, np.quantile(score, [0.3, 0.6]))
    import pandas as pd

    ordered = pd.Series(pd.Categorical.from_codes(classes, ["low", "mid", "high"], ordered=True))
    return {
        "binary": read_target((score > 0).astype(int), N, None),
        "multiclass": read_target(classes, N, None),
        "ordered": read_target(ordered, N, None),
        "regression": read_target(score * 1e-3 + 1e6, N, "regression"),
    }


def columns_of(target):
    """Return the target as the columns of a model."""
    if target.task == "multiclass" and not target.ordered:
        return (target.values[:, None] == np.arange(target.n_classes)).astype(float)
    return target.values[:, None].astype(float)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "ordered", "regression"])
def test_the_share_is_the_partial_r2_of_least_squares(data, kind):
    X, Z, score, subsamples = data
    target = targets(score)[kind]
    found = run_scores(share_beyond(Residuals(Z, subsamples), target), subsamples, X)
    for run, rows in enumerate(subsamples):
        A = np.c_[np.ones(rows.sum()), basis_of(Z[rows])[:, 1:]]
        B = np.c_[A, columns_of(target)[rows] - columns_of(target)[rows].mean(axis=0)]
        for j in range(P):
            whole = squares_left(A, X[rows, j])
            assert found[run, j] == pytest.approx(1 - squares_left(B, X[rows, j]) / whole, abs=1e-11)


def test_no_covariates_are_the_plain_score(data):
    X, _, score, subsamples = data
    target = targets(score)["multiclass"]
    found = run_scores(share_beyond(Residuals(np.zeros((N, 0)), subsamples), target), subsamples, X)
    np.testing.assert_allclose(found, run_scores(_share_between_classes(target, subsamples), subsamples, X), atol=1e-14)


def literal_mrmr(X, y, Z, n_features):
    """Choose step by step, from residuals of least squares; relevance of one column."""
    A = np.c_[np.ones(len(X)), (Z - Z.mean(axis=0)) / Z.std(axis=0)]
    x, y = (residual(A, np.asarray(v, dtype=float)) for v in (X, y))
    x, y = x / np.linalg.norm(x, axis=0), y / np.linalg.norm(y)
    relevance, redundancy, chosen = mutual_information(y @ x), np.zeros(x.shape[1]), []
    while len(chosen) < n_features:
        scores = relevance - redundancy / max(len(chosen), 1)
        scores[chosen] = -np.inf
        chosen.append(int(np.argmax(scores)))
        redundancy += mutual_information(x[:, chosen[-1]] @ x)
    return chosen


@pytest.mark.parametrize("kind", ["binary", "ordered", "regression"])
def test_mrmr_does_what_residuals_say(data, kind):
    X, Z, score, subsamples = data
    target = targets(score)[kind]
    found = MRMR().select_adjusted(X, target, Z, subsamples, 8, [np.random.default_rng(0)] * M)
    for rows, chosen in zip(subsamples, found, strict=True):
        assert chosen.tolist() == literal_mrmr(X[rows], target.values[rows], Z[rows, :3], 8)


def test_mrmr_of_several_classes_beyond_covariates(data):
    X, Z, score, subsamples = data
    target = targets(score)["multiclass"]
    residuals = Residuals(Z, subsamples)
    of_each = associations_beyond(residuals, target, in_turns=True)[0](X)
    assert of_each.shape == (3, M, P)
    for code in range(3):
        one = Target("binary", (target.values == code).astype(int), classes=np.array([0, 1]))
        shares = run_scores(share_beyond(residuals, one), subsamples, X)
        np.testing.assert_allclose(of_each[code] ** 2, shares, atol=1e-12)
    counts = np.array([(subsamples & (target.values == code)).sum(axis=1) for code in range(3)])
    weighted = (of_each * (counts / 40)[:, :, None]).sum(axis=0)
    np.testing.assert_allclose(associations_beyond(residuals, target, in_turns=False)[0](X), weighted, atol=1e-12)


@pytest.mark.parametrize("selector", [Fisher(), MRMR()], ids=lambda selector: selector.name)
def test_form_of_the_data_does_not_matter(data, selector):
    X, Z, score, subsamples = data
    target = targets(score)["binary"]
    X = np.round(X, 2).astype(np.float32)
    X[:, 5] = 0.0
    rngs = [np.random.default_rng(0)] * M
    want = selector.select_adjusted(X.astype(np.float64), target, Z, subsamples, 6, rngs)
    forms = {"single": X, "sparse": SparseColumns.from_matrix(sparse.csr_array(X)), "columns": np.asfortranarray(X)}
    for values in forms.values():
        found = selector.select_adjusted(values, target, Z, subsamples, 6, rngs)
        assert [picks.tolist() for picks in found] == [picks.tolist() for picks in want]
    with column_threads(2):
        found = selector.select_adjusted(X, target, Z, subsamples, 6, rngs)
    assert [picks.tolist() for picks in found] == [picks.tolist() for picks in want]
    for run in range(M):  # alone as together
        alone = selector.select_adjusted(X, target, Z, subsamples[[run]], 6, rngs[:1])[0]
        assert alone.tolist() == want[run].tolist()
    other_units = selector.select_adjusted(X.astype(np.float64) * 1e-200, target, Z * 1e5 - 7, subsamples, 6, rngs)
    assert [picks.tolist() for picks in other_units] == [picks.tolist() for picks in want]


@pytest.mark.parametrize("selector", [Fisher(), MRMR()], ids=lambda selector: selector.name)
def test_what_covariates_determine_is_never_chosen(data, selector):
    X, Z, score, subsamples = data
    X = np.array(X)
    X[:, 0] = 3 * Z[:, 0] - 5
    X[:, 1] = Z[:, 0] + 2 * Z[:, 1] + 1e-9 * score
    X[:, 2] = 7.0
    found = selector.select_adjusted(X, targets(score)["binary"], Z, subsamples, P, [np.random.default_rng(0)] * M)
    for picks in found:
        assert sorted(picks.tolist()) == list(range(3, P))


@pytest.mark.parametrize("selector", [Fisher(), MRMR()], ids=lambda selector: selector.name)
def test_absurd_values_outside_of_a_run_do_not_matter(data, selector):
    X, Z, score, subsamples = data
    wild = np.array(X)
    outside = ~subsamples[0]
    wild[outside] = np.random.default_rng(0).choice([1e15, -1e12, 1e18], size=(outside.sum(), P))
    rngs = [np.random.default_rng(0)] * M
    want = selector.select_adjusted(X, targets(score)["binary"], Z, subsamples, 6, rngs)[0]
    found = selector.select_adjusted(wild, targets(score)["binary"], Z, subsamples, 6, rngs)[0]
    assert found.tolist() == want.tolist()


def test_nearly_collinear_columns_keep_their_digits(data):
    X, Z, score, subsamples = data
    X = np.array(X)
    X[:, :6] = 1e4 * Z[:, :1] + X[:, :6]  # the share beyond covariates is below 1e-6
    target = targets(score)["binary"]
    found = run_scores(share_beyond(Residuals(Z, subsamples), target), subsamples, X)
    rows = subsamples[0]
    A = basis_of(Z[rows])
    for j in range(6):
        left = residual(A, residual(A, X[rows, j]))
        y = residual(A, target.values[rows].astype(float))
        assert found[0, j] == pytest.approx((y @ left) ** 2 / (y @ y) / (left @ left), abs=1e-7)
    picks = MRMR().select_adjusted(X, target, Z, subsamples, 5, [np.random.default_rng(0)] * M)
    for rows, chosen in zip(subsamples, picks, strict=True):
        assert chosen.tolist() == literal_mrmr(X[rows], target.values[rows], Z[rows, :3], 5)


def test_covariates_that_determine_the_target_of_a_run_are_refused(data):
    X, Z, _, subsamples = data
    target = read_target((Z[:, 1] > 0).astype(int), N, None)
    with pytest.raises(UBayFSError, match="determine the target"):
        Fisher().select_adjusted(X, target, Z, subsamples, 3, [np.random.default_rng(0)] * M)


def test_residuals_are_those_of_least_squares_and_gaps_have_nothing(data):
    X, Z, _, subsamples = data
    rows = subsamples[0]
    values, basis = np.array(X[rows]), basis_of(Z[rows])
    values[:, 2] = 1e7 + 2 * Z[rows, 0]
    values[::3, 4] = np.nan
    values[:, 5] = np.nan
    found = without_covariates(values, basis)
    assert (found[:, [2, 5]] == 0).all()
    np.testing.assert_allclose(found[:, 0], residual(basis, values[:, 0]), atol=1e-12)
    there = ~np.isnan(values[:, 4])
    np.testing.assert_allclose(found[there, 4], residual(basis[there], values[there, 4]), atol=1e-10)
    assert (found[~there, 4] == 0).all()
    single = without_covariates(values.astype(np.float32), basis)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single[:, 0], found[:, 0], atol=1e-5)


@pytest.fixture
def survival(data):
    X, Z, score, subsamples = data
    rng = np.random.default_rng(8)
    time = rng.exponential(np.exp(-0.5 * score))
    censored = rng.exponential(2 * np.median(time), N)
    return X, Z, read_target(Survival(np.minimum(time, censored), time <= censored), N, None), subsamples


def test_survival_beyond_covariates_is_what_scikit_survival_leaves(survival):
    linear_model = pytest.importorskip("sksurv.linear_model")
    X, Z, target, subsamples = survival
    found = run_scores(share_beyond(Residuals(Z, subsamples), target), subsamples, X)
    rows = subsamples[0]
    A = basis_of(Z[rows])
    model = linear_model.CoxPHSurvivalAnalysis(ties="breslow", tol=1e-13, n_iter=200)
    model.fit(A[:, 1:], target.labels[rows])
    hazards = model.cum_baseline_hazard_(target.time[rows]) * np.exp(model.predict(A[:, 1:]))
    left, x = residual(A, target.event[rows] - hazards), residual(A, X[rows])
    want = (left @ x) ** 2 / (left @ left) / (x**2).sum(axis=0)
    np.testing.assert_allclose(found[0], want, atol=1e-6)


@pytest.mark.parametrize("selector", [Cox(), MRMR()], ids=lambda selector: selector.name)
def test_survival_selectors_adjust(survival, selector):
    X, Z, target, subsamples = survival
    X = np.array(X)
    X[:, 0] = Z[:, 0]
    found = selector.select_adjusted(X, target, Z, subsamples, 4, [np.random.default_rng(0)] * M)
    shares = run_scores(share_beyond(Residuals(Z, subsamples), target), subsamples, X)
    for picks, own in zip(found, shares, strict=True):
        assert picks[0] == np.argmax(own)
        assert 0 not in picks
