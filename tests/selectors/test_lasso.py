"""The lasso and `wide` against a literal version: one run at a time, all columns, scikit-learn's solver."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.linear_model import Lasso as ReferenceLasso

from ubayfs import Evidence, Survival, collect_evidence, decide, max_size
from ubayfs.data.categories import CategoryTable
from ubayfs.data.covariates import basis_of
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.hazards import RiskSets
from ubayfs.data.missing import filled
from ubayfs.exceptions import InputError, UBayFSWarning
from ubayfs.report import render_markdown, summarize
from ubayfs.selectors import SELECTORS, Lasso, Wide, _lasso_fits, _score_columns
from ubayfs.selectors._active_sets import minimize
from ubayfs.selectors._score_columns import ScoreColumns
from ubayfs.selectors.adjusted import without_covariates
from ubayfs.selectors.base import CURVE, STRAIGHT, UNSAID
from ubayfs.selectors.category_numbers import numbers_of_several
from ubayfs.selectors.threads import column_threads
from ubayfs.trust.halves import HalfEnsembles
from ubayfs.trust.repeats import ARRAYS

TASKS = ("binary", "multiclass", "multilabel", "regression", "survival")
SWITCHES = [(False, False), (True, False), (False, True), (True, True)]
N_FEATURES = 8


# -- the literal version -----------------------------------------------------------------------------------------------


def standardized(x):
    x = x - x.mean()
    return x / x.std() if x.std() > 0 else x


def literal_straight(x):
    """a of one feature, NaN where a value is missing."""
    found, present = np.full(len(x), np.nan), ~np.isnan(x)
    own = x[present]
    if np.ptp(own) == 0:
        found[present] = 0.0
    else:
        scores = ndtri((rankdata(own) - 0.5) / len(own))
        found[present] = standardized(standardized(own) + scores)
    return found


def literal_bent(a):
    found, present = np.full(len(a), np.nan), ~np.isnan(a)
    own = a[present]
    squares = np.clip(own, -2.5, 2.5) ** 2
    left = squares - squares.mean()
    if (own**2).sum() > 0:
        left = left - own * (own @ left) / (own @ own)
    found[present] = standardized(left) if (left**2).sum() > 1e-10 * (squares**2).sum() else 0.0
    return found


def solve(Z, y, penalty):
    model = ReferenceLasso(alpha=penalty, tol=1e-14, max_iter=10**6, fit_intercept=False)
    return model.fit(np.asfortranarray(Z), y).coef_


class Literal:
    """One run, by the words of the definition; `own` are the columns of categories, NaN for other features."""

    def __init__(self, X, rows, design=None, own=None, curves=False, pairs=False, factor=1.5):
        self.p, self.rows, self.factor, self.pairs, self.heads = X.shape[1], rows, factor, pairs, []
        self.basis = basis_of(np.empty((rows.sum(), 0)) if design is None else design[rows])
        self.straight = np.column_stack([literal_straight(x) for x in X.T])
        self.values = np.clip(np.nan_to_num(self.straight), -3, 3)[rows]
        columns = [self.column(x[rows], X[rows, j]) for j, x in enumerate(self.straight.T)]
        for j, x in enumerate(() if own is None else own.T):
            if not np.isnan(x).any():
                columns[j], self.values[:, j] = self.column(x), np.clip(standardized(x), -3, 3)
        self.owners = [(j,) for j in range(self.p)]
        if curves:
            several = set() if own is None else set(np.flatnonzero(~np.isnan(own).any(axis=0)))
            bent = [self.column(literal_bent(a)[rows], X[rows, j]) for j, a in enumerate(self.straight.T)]
            columns += [0 * b if j in several else b / factor for j, b in enumerate(bent)]
            self.owners = self.owners * 2
        self.Z = np.column_stack(columns)

    def column(self, x, raw=None):
        if raw is not None and not np.nanmin(raw) < np.nanmax(raw):
            return np.zeros(len(x))
        x = np.nan_to_num(x)
        left = x - self.basis @ (self.basis.T @ x)
        left = left - self.basis @ (self.basis.T @ left)
        if (left**2).sum() <= 1e-10 * (x**2).sum():
            return np.zeros(len(x))
        return left / np.sqrt((left**2).mean())

    def outside(self, values, basis=None):
        basis = self.basis if basis is None else basis
        return values - basis @ (basis.T @ values)

    def squares(self, outputs):
        outputs = self.outside(outputs)
        outputs = outputs / outputs.std(axis=0).max()
        penalty = 0.2 * np.abs(self.Z.T @ outputs / len(outputs)).max()
        weights = [solve(self.Z, y, penalty) for y in outputs.T]
        columns = [self.Z] * len(weights)
        owners = [self.owners] * len(weights)
        if self.pairs:
            heads = self.best(weights, owners, 5)
            found = [
                self.with_products(y - self.Z @ w, heads, penalty) for y, w in zip(outputs.T, weights, strict=True)
            ]
            columns, owners = zip(*found, strict=True)
            weights = [solve(Z, y, penalty) for Z, y in zip(columns, outputs.T, strict=True)]
        self.check_optimal(columns, outputs, weights, penalty)
        return weights, owners

    def check_optimal(self, columns, outputs, weights, penalty):
        for Z, y, w in zip(columns, outputs.T, weights, strict=True):
            assert np.abs(Z.T @ (y - Z @ w)).max() / len(y) <= penalty * (1 + 1e-5)

    def with_products(self, gradient, heads, penalty):
        self.heads, products = heads, {}
        for i in heads:
            for j in range(self.p):
                if i != j:
                    products[min(i, j), max(i, j)] = self.column(self.values[:, i] * self.values[:, j]) / self.factor
        sizes = {pair: abs(gradient @ x) / len(gradient) for pair, x in products.items()}
        kept = sorted((pair for pair in sizes if sizes[pair] > penalty), key=lambda pair: (-sizes[pair], pair))[:30]
        return np.column_stack([self.Z, *(products[pair] for pair in kept)]), [*self.owners, *kept]

    def cox(self, time, event):
        risk_sets, n = RiskSets.from_times(time, event), len(time)
        Z, owners, weights, eta = self.Z, self.owners, np.zeros(self.Z.shape[1]), np.zeros(n)
        penalty = None
        for step in range(5 if self.pairs else 4):
            eta = np.clip(eta - eta.mean(), -5, 5)
            expected = np.exp(eta) * risk_sets.cumulative_hazard(np.exp(eta))
            w = np.maximum(expected, 1e-3)
            response, root = eta + (event - expected) / w, np.sqrt(w)
            basis = np.linalg.qr(self.basis * root[:, None])[0]
            target = self.outside(root * response, basis)
            if penalty is None:
                penalty = 0.2 * np.abs(Z.T @ (root * target)).max() / n
            if step == 4:
                gradient = root * (target - self.outside(root[:, None] * Z, basis) @ weights)
                Z, owners = self.with_products(gradient, self.best([weights], [owners], 5), penalty)
            weighted = self.outside(root[:, None] * Z, basis)
            weights = solve(weighted, target, penalty)
            eta = response - (target - weighted @ weights) / root
        return [weights], [owners]

    def best(self, weights, owners, n_features):
        scores = np.zeros(self.p)
        for own, features in zip(weights, owners, strict=True):
            for weight, some in zip(np.abs(own), features, strict=True):
                for feature in some:
                    scores[feature] = max(scores[feature], weight)
        scores /= scores.max() or 1.0
        first = {feature: rank for rank, feature in enumerate(self.heads)}
        order = sorted(range(self.p), key=lambda j: (-scores[j], first.get(j, self.p), j))
        return [j for j in order if scores[j] > 1e-8][:n_features]

    def choose(self, target, n_features=N_FEATURES):
        values = np.asarray(target.values)[self.rows]
        if target.task == "survival":
            found = self.cox(values[:, 0], values[:, 1])
        elif target.task in ("regression", "multilabel"):
            columns = values.reshape(len(values), -1).astype(float)
            found = self.squares(columns)
        else:
            first = 1 if target.n_classes == 2 else 0
            found = self.squares((values[:, None] == np.arange(first, target.n_classes)).astype(float))
        return self.best(*found, n_features)


def make_table(seed, task, n=50, p=30, gaps=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.exp(rng.normal(size=p))
    X[:, 0] = np.exp(X[:, 0] / X[:, 0].std())
    X[:, 3], X[:, 4] = np.round(2 * X[:, 3] / X[:, 3].std()), X[:, 4] > 0
    X[:, 5] = 3.3
    Z = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    signal = Z[:, 0] + Z[:, 1] ** 2 + Z[:, 2] * Z[:, 6] - Z[:, 7] + 0.7 * rng.normal(size=n)
    if gaps:
        X[rng.random(X.shape) < 0.15] = np.nan
        X[: n // 2, 8] = np.nan
    y = {
        "binary": signal > np.median(signal),
        "multiclass": np.digitize(signal, np.quantile(signal, [0.3, 0.7])),
        "multilabel": np.column_stack([signal > 0, Z[:, 7] > 0, Z[:, 9] + rng.normal(size=n) > 0]).astype(int),
        "regression": signal,
        "survival": Survival(np.exp(-signal / 2), rng.random(n) < 0.8) if task == "survival" else None,
    }[task]
    subsamples = np.array([rng.permutation(n) < 0.75 * n for _ in range(3)])
    return X, y, subsamples


def choices(selector, data, subsamples, design=None, n_features=N_FEATURES, seed=0):
    rngs = [np.random.default_rng([seed, run]) for run in range(len(subsamples))]
    if design is None:
        found = selector.select_many(data.X, data.target, subsamples, n_features, rngs)
    else:
        found = selector.select_adjusted(data.X, data.target, design, subsamples, n_features, rngs)
    return [picks.tolist() for picks in found]


@pytest.mark.parametrize(("curves", "pairs"), SWITCHES)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kind", ["complete", "gaps", "covariates", "gaps and covariates"])
def test_choices_are_those_of_the_literal_version(curves, pairs, task, kind):
    for seed in range(2):
        X, y, subsamples = make_table([seed, 1], task, gaps="gaps" in kind)
        data = FeatureData.from_table(X, y, missing="available", max_missing=1.0)
        design = None
        if "covariates" in kind:
            rng = np.random.default_rng(seed)
            design = np.column_stack([rng.normal(size=len(X)), np.arange(len(X)) % 3 == 0])
            X[:, 9] = 2 - 5 * design[:, 0]  # nothing is left of it on either scale but what its ranks add
        factor = (1.5, 2.5)[seed]
        found = choices(Lasso(curves=curves, pairs=pairs, penalty_factor=factor), data, subsamples, design)
        for rows, picks in zip(subsamples, found, strict=True):
            literal = Literal(X, rows, design, None, curves, pairs, factor)
            assert picks == literal.choose(data.target), seed


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("adjusted", [False, True])
def test_categories_are_one_number_of_the_run(task, adjusted):
    X, y, subsamples = make_table([5, 1], task, gaps=True)
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(X).rename(columns=str)
    strong = np.digitize(np.nan_to_num(X[:, 7]), [-1, 0, 1])
    for name, codes in (("11", rng.integers(0, 4, len(X))), ("12", strong), ("13", rng.integers(0, 2, len(X)))):
        frame[name] = pd.Categorical(np.array(list("abcd"))[codes])
    frame.loc[3, "12"] = None
    data = FeatureData.from_table(frame, y, missing="available", max_missing=1.0)
    assert isinstance(data.X, CategoryTable)
    several = data.X.several
    assert several.tolist() == [11, 12]
    design = rng.normal(size=(len(X), 2)) if adjusted else None
    found = choices(Wide(), data, subsamples, design, seed=9)
    for run, (rows, picks) in enumerate(zip(subsamples, found, strict=True)):
        basis = basis_of(np.empty((rows.sum(), 0)) if design is None else design[rows])
        part = data.X.take(several)
        coded = without_covariates(part.coded[rows], basis) if adjusted else filled(part.coded[rows], "mean")
        own = np.full((rows.sum(), X.shape[1]), np.nan)
        own_rng = np.random.default_rng([9, run])
        own[:, several] = numbers_of_several(part, coded, basis, data.target.take(rows), own_rng)
        plain = data.X.values.copy()
        plain[:, several] = 0.0
        assert picks == Literal(plain, rows, design, own, True, True).choose(data.target)


def test_straight_and_bent_columns_are_those_of_the_definition():
    X, _, _ = make_table(3, "regression", gaps=True)
    X[:, 10], X[:, 11], X[2, 12] = 1e-300 * X[:, 10], 1e300 * X[:, 11], -1.7e308
    columns = ScoreColumns.from_table(X, np.empty(0, dtype=np.intp))
    rows = columns.rows(slice(0, 30))
    safe = X.copy()
    safe[:, 10], safe[:, 11], safe[:, 12] = X[:, 10] * 1e300, X[:, 11] * 1e-300, X[:, 12] * 1e-300
    expected = np.array([literal_straight(x) for x in safe.T])
    np.testing.assert_allclose(rows, expected, atol=1e-12)
    np.testing.assert_allclose(
        columns.bent(rows, slice(0, 30)), np.array([literal_bent(a) for a in expected]), atol=1e-9
    )
    assert not columns.bend[2, [4, 5]].any()  # two values, and one


# -- what must not matter ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lasso", "wide"])
@pytest.mark.parametrize("task", TASKS)
def test_order_of_columns_only_permutes_votes(name, task):
    X, y, subsamples = make_table(11, task, n=60, p=80)
    order = np.random.default_rng(0).permutation(80)
    data, permuted = (FeatureData.from_table(table, y) for table in (X, X[:, order]))
    # All that have a weight: the features of a pair may be equally good, and the first comes first then.
    found, expected = (choices(SELECTORS[name], own, subsamples, n_features=80) for own in (permuted, data))
    assert [set(order[picks].tolist()) for picks in found] == [set(picks) for picks in expected]
    if name == "lasso":
        assert [order[picks].tolist() for picks in found] == expected


@pytest.mark.parametrize("name", ["lasso", "wide"])
@pytest.mark.parametrize("task", ["binary", "multiclass", "survival"])
def test_neither_blocks_nor_working_sets_nor_threads_change_votes(name, task, monkeypatch):
    X, y, subsamples = make_table(12, task, n=60, p=90)
    X[:, 20:30] = np.round(X[:, 20:30])
    X[:, 40:50] = X[:, [0, 1, 2, 6, 7] * 2]
    data = FeatureData.from_table(X, y)
    expected = choices(SELECTORS[name], data, subsamples)
    for entries, joining, cache, kept in ((1, 50, 1, 0), (100, 3, 1 << 19, 1), (700, 1000, 1 << 12, 20_000)):
        monkeypatch.setattr(_score_columns, "BLOCK_ENTRIES", entries)
        monkeypatch.setattr(_lasso_fits, "JOINING", joining)
        monkeypatch.setattr(_lasso_fits, "CACHE_ENTRIES", cache)
        monkeypatch.setattr(_lasso_fits, "COLUMN_ENTRIES", kept)
        with column_threads(2):
            assert choices(SELECTORS[name], data, subsamples) == expected
        prepared = SELECTORS[name].prepared(data.X)
        assert choices(prepared, data, subsamples) == expected


@pytest.mark.parametrize("curves", [False, True])
def test_of_copies_the_first_is_selected(curves):
    """The product of a feature and its copy is a curve; so this is without pairs."""
    selector = Lasso(curves=curves)
    X, y, subsamples = make_table(13, "regression", n=50, p=40)
    data = FeatureData.from_table(X, y)
    expected = choices(selector, data, subsamples)
    doubled = FeatureData.from_table(np.column_stack([X, -2 * X, X]), y)
    assert choices(selector, doubled, subsamples) == expected
    ahead = choices(selector, FeatureData.from_table(np.column_stack([X[:, ::-1], X]), y), subsamples)
    assert [[39 - j for j in picks] for picks in ahead] == expected


def test_sparse_tables_are_seen_as_dense_ones():
    rng = np.random.default_rng(2)
    X = np.where(rng.random((60, 50)) < 0.2, rng.gamma(2.0, size=(60, 50)), 0.0)
    X[:, 7], X[:, 8] = 0.0, rng.normal(size=60)
    y = (X[:, 0] + X[:, 8] + rng.normal(size=60) > 0.5).astype(int)
    for dtype in (np.float64, np.float32):
        settings = {"selector": "wide", "n_models": 12, "random_state": 0}
        dense = collect_evidence(X.astype(dtype), y, **settings)
        found = collect_evidence(sparse.csr_array(X.astype(dtype)), y, **settings)
        assert (dense.sets != found.sets).nnz == 0
        np.testing.assert_array_equal(dense.carriers, found.carriers)


# -- the solver --------------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), n=st.integers(3, 40), k=st.integers(1, 60), share=st.floats(0.01, 0.9))
def test_optimality_conditions_hold(seed, n, k, share):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(4, k, n)) + rng.normal(size=(4, 1, n))
    Z[1] = np.sign(Z[1])  # columns that determine others
    Z[2, k // 2 :] = Z[2, : k - k // 2]
    y = rng.normal(size=(4, n))
    gram, c = Z @ Z.transpose(0, 2, 1) / n, (Z @ y[:, :, None])[:, :, 0] / n
    penalty = share * np.abs(c).max(axis=1)
    weights = minimize(gram, c, np.zeros_like(c), penalty)
    left = c - (gram @ weights[:, :, None])[:, :, 0]
    scale = np.abs(c).max(axis=1, keepdims=True)
    assert (np.abs(left) <= penalty[:, None] * (1 + 1e-8) + 1e-9 * scale).all()
    active = weights != 0
    gap = (left - penalty[:, None] * np.sign(weights)) / scale
    assert np.abs(gap[active]).max(initial=0.0) < 1e-8


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lasso", "wide"])
def test_bad_tables_have_a_right_answer(name):
    def counts(X, y, **settings):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", category=UBayFSWarning)
            settings = {"n_models": 5, "random_state": 0, "n_features_per_model": 3, **settings}
            data = FeatureData.from_table(X, y, missing="available")
            return collect_evidence(data, selector=name, **settings).counts.tolist()

    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    noise = rng.normal(size=20)
    assert counts(noise[:, None], y, n_features_per_model=1) == [5]  # p = 1
    assert counts((y * 1.0)[:, None], y, n_features_per_model=1) == [5]
    lone = np.zeros((20, 3))
    lone[0] = 1.0  # constant in runs without the first sample
    with pytest.warns(match="voted|selected"):
        found = collect_evidence(lone, y, selector=name, n_models=8, n_features_per_model=2, random_state=1)
    assert found.failures == ()
    assert found.n_empty > 0
    copies = counts(np.column_stack([noise, noise, noise]), y)
    assert copies[0] == 5
    assert copies[2] == 0
    assert name == "wide" or copies[1] == 0
    other = rng.normal(size=20)
    huge = np.column_stack([y * 1e300 + 1e300 * noise, 1e-300 * y + 1e-300 * other, 1e308 * np.sign(noise), noise])
    assert counts(huge, y)[:2] == [5, 5]
    assert counts(huge, 1e300 * (noise + 3 * y), task="regression")[0] == 5
    few = np.array([0] * 3 + [1] * 3 + [2] * 14)
    assert counts(np.column_stack([few == 0, few == 1, noise]).astype(float), few)[:2] == [5, 5]


def test_settings_that_do_not_belong_together_are_refused():
    with pytest.raises(InputError, match='min_penalty belongs to order="entry"'):
        Lasso(min_penalty=0.1)
    with pytest.raises(InputError, match='order "entry" has neither curves nor pairs'):
        Wide(order="entry")
    with pytest.raises(InputError, match="curves must be"):
        Lasso(curves="yes")
    with pytest.raises(InputError, match="penalty_factor must be"):
        Lasso(penalty_factor=0)
    with pytest.raises(InputError, match="cannot do task 'multilabel'"):
        collect_evidence(np.eye(4), np.eye(4, dtype=int)[:, :2], selector=Lasso(order="entry"))
    assert SELECTORS["wide"] == Wide()
    assert not Lasso(order="entry").joint


def test_the_path_is_still_there():
    X, y, _ = make_table(5, "binary")
    found = collect_evidence(X, y, selector=Lasso(order="entry"), n_models=4, random_state=0)
    assert found.settings["selector_kinds"] == ["lasso"]
    assert found.counts.sum() == 4 * 7


# -- what carried a vote -----------------------------------------------------------------------------------------------


def planted():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 40))
    y = X[:, 0] + 1.5 * (X[:, 1] ** 2 - 1) + 1.5 * X[:, 0] * X[:, 2] + 0.5 * rng.normal(size=200)
    return X, y


def test_evidence_knows_what_carried_votes(tmp_path):
    X, y = planted()
    settings = {"n_models": 20, "random_state": 0, "n_features_per_model": 4}
    found = collect_evidence(X, y, selector="wide", **settings)
    assert found.counts[:3].tolist() == [20, 20, 20]
    assert found.reasons(1).curve == 20
    assert found.reasons(2).pairs == {0: 20}
    assert found.reasons(0).straight + sum(found.reasons(0).pairs.values()) == 20
    assert collect_evidence(X, y, selector="lasso", **settings).carriers is None

    found.save(tmp_path / "evidence.npz")
    np.testing.assert_array_equal(Evidence.load(tmp_path / "evidence.npz").carriers, found.carriers)
    other = collect_evidence(X, y, selector="mrmr", **settings)
    merged = other.merge(found)
    assert merged.carriers.tolist() == [UNSAID] * other.sets.nnz + found.carriers.tolist()
    parts = {str(k): collect_evidence(X, y, selector="wide", part=(k, 3), **settings) for k in (1, 2, 3)}
    np.testing.assert_array_equal(Evidence.join(parts).carriers, found.carriers)
    mixed = collect_evidence(X, y, selector=["wide", "mrmr"], **settings)
    ends = mixed.sets.indptr
    assert (mixed.carriers[ends[1] : ends[2]] == UNSAID).all()
    assert (mixed.carriers[: ends[1]] > UNSAID).all()
    for stop in (True, False):
        checked = collect_evidence(
            X,
            y,
            selector="wide",
            checkpoint=tmp_path / "runs",
            on_progress=None,
            **{**settings, "n_models": 7 if stop else 20},
        )
    np.testing.assert_array_equal(checked.carriers, found.carriers)
    with pytest.raises(InputError, match="votes needs as many carriers"):
        replace(found, carriers=found.carriers[1:])


@pytest.mark.parametrize("task", TASKS)
def test_votes_do_not_depend_on_the_order_of_the_columns(task):
    """Both features of a product have its score; the last place of a run is not given to the column further left."""
    n, p = 80, 20
    settings = {"selector": "wide", "n_models": 30, "n_features_per_model": 4}
    n_last = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        Z = rng.normal(size=(n, p))
        signal = Z[:, 0] ** 2 - 1 + Z[:, 1] * Z[:, 2] + Z[:, 3] * Z[:, 4] + rng.normal(size=n)
        y = {
            "binary": signal > 0,
            "multiclass": np.digitize(signal, [-0.7, 0.7]),
            "multilabel": np.column_stack([signal > 0, Z[:, 5] > 0]).astype(int),
            "regression": signal,
            "survival": Survival(np.exp(-signal), rng.random(n) < 0.8),
        }[task]
        order = rng.permutation(p)
        evidence = collect_evidence(Z, y, random_state=seed, **settings)
        permuted = collect_evidence(Z[:, order], y, random_state=seed, **settings)
        np.testing.assert_array_equal(permuted.counts, evidence.counts[order])
        n_last += sum(sum(evidence.reasons(j).pairs.values()) for j in range(p)) % 2  # a partner was left out
    if task == "binary":
        assert n_last > 0


def test_curves_and_pairs_are_carried_only_where_they_are_asked_for():
    X, y = planted()
    settings = {"n_models": 6, "random_state": 0, "n_features_per_model": 4}
    curves = collect_evidence(X, y, selector=Lasso(curves=True), **settings)
    assert set(curves.carriers.tolist()) == {STRAIGHT, CURVE}
    pairs = collect_evidence(X, y, selector=Lasso(pairs=True), **settings)
    assert CURVE not in pairs.carriers
    assert pairs.reasons(2).pairs[0] == 6


def test_report_says_what_votes_were_for():
    X, y = planted()
    names = [f"gene {j}" for j in range(40)]
    evidence = collect_evidence(
        pd.DataFrame(X, columns=names), y, selector="wide", n_models=20, random_state=0, n_features_per_model=4
    )
    summary = summarize(decide(evidence, constraints=[max_size(3)]), n_draws=0)
    text = " ".join(render_markdown(summary).split())
    assert "20 for a U-shaped relation" in text
    assert "20 together with gene 0" in text
    assert re.search(r"For example, 20 of 20 models selected gene [012], 20 of them (for a|together)", text)


def test_stored_halves_know_what_carried_votes():
    X, y = planted()
    half = collect_evidence(X, y, selector="wide", n_models=4, random_state=0, n_features_per_model=4)
    half = replace(half, site=None)  # halves are no sites
    halves = HalfEnsembles(((half, half),), np.ones((1, 200), dtype=bool), 1, {}, ())
    arrays = halves.to_arrays()
    assert all(re.fullmatch(ARRAYS, name) for name in arrays)
    np.testing.assert_array_equal(HalfEnsembles.from_arrays(arrays).pairs[0][1].carriers, half.carriers)
