"""Categories: literal scores at equal p-value, one vote per feature, and no advantage of many levels."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ubayfs import Survival, collect_evidence
from ubayfs.data.categories import CategoryTable, Levels
from ubayfs.data.target import read_target
from ubayfs.selectors import MRMR, SELECTORS, Fisher
from ubayfs.selectors.adjusted import Residuals, categories_beyond
from ubayfs.selectors.categories import LevelCorrelations, NetScores, one_vote_per_feature, unexplained
from ubayfs.selectors.concordance import Concordance, Contrast
from ubayfs.selectors.scoring import Runs

N = 60
LEVELS = {4: 2, 5: 3, 6: 5, 7: 9, 8: 4}  # column: number of levels; the last is ordered


def table(seed, dtype=np.float64, gaps=False):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(N, 9))
    for column, n in LEVELS.items():
        values[:, column] = rng.permutation(np.arange(N) % n)
    values[:, 3] = np.round(values[:, 3])
    if gaps:
        values[rng.random((N, 9)) < 0.2] = np.nan
    levels = {j: Levels(tuple(f"level {i}" for i in range(n)), j == 8) for j, n in LEVELS.items()}
    return CategoryTable(values.astype(dtype), levels), rng


def target_of(kind, X, rng):
    signal = np.nan_to_num(X[:, 0]) + 0.8 * (np.nan_to_num(X[:, 6]) == 2) + rng.normal(size=N)
    if kind == "regression":
        return read_target(signal, N, "regression")
    ranks = np.argsort(np.argsort(signal))
    if kind == "ordered":
        return read_target(pd.Categorical.from_codes(ranks * 3 // N, ["a", "b", "c"], ordered=True), N, None)
    return read_target(ranks * {"two": 2, "three": 3}[kind] // N, N, None)


def one_degree(share, d, n):
    """DATA: the share of one degree of freedom with the same p-value, by F and t."""
    f = (share / d) / ((1 - share) / (n - 1 - d))
    t = stats.t.isf(stats.f.sf(f, d, n - 1 - d) / 2, n - 2)
    return t**2 / (t**2 + n - 2), t


def r2(codes, y):
    """Share of the scatter of y between the levels."""
    total = ((y - y.mean()) ** 2).sum()
    return sum((codes == c).sum() * (y[codes == c].mean() - y.mean()) ** 2 for c in np.unique(codes)) / total


@pytest.mark.parametrize(("d", "share"), [(1, 0.3), (4, 0.3), (4, 0.02), (9, 0.9), (2, 0.0)])
def test_equal_p_value(d, share):
    rest = unexplained(np.array(share), d, 40 - 1 - d, 1, 38)
    assert 1 - rest == pytest.approx(one_degree(share, d, 40)[0], abs=1e-10)


def test_edges_of_equal_p_value():
    assert unexplained(np.array(1.0), 3, 20, 1, 22) == 0.0
    assert unexplained(np.array(0.5), 20, 0, 1, 20) == 1.0  # as many levels as samples: nothing is left
    tiny = unexplained(np.array([1 - 1e-9]), np.array([4.0]), np.array([5000.0]), np.array([1.0]), np.array([5003.0]))
    assert 0 < tiny[0] < 1e-8  # p is 0 in floating point


def fisher_by_loops(X, y, rows, n_classes):
    """Score of each column; of more than two classes by Pillai's trace from the eigenvalues of a MANOVA."""
    scores = []
    for j in range(X.shape[1]):
        there = rows & ~np.isnan(X[:, j])
        x, c = X[there, j].astype(float), y[there]
        if len(np.unique(x)) < 2:
            scores.append(-np.inf)
            continue
        kinds, n = len(np.unique(c)), len(x)
        if j in X.levels and X.levels[j].n_columns > 1:
            dummies = np.stack([x == level for level in np.unique(x)[1:]], axis=1).astype(float)
            dummies -= dummies.mean(axis=0)
            means = np.stack([dummies[c == k].mean(axis=0) for k in c])
            trace = np.trace(np.linalg.solve(dummies.T @ dummies, means.T @ means))
            p, q = dummies.shape[1], kinds - 1
            s, m, big = min(p, q), (abs(p - q) - 1) / 2, (n - kinds - p - 1) / 2
            f = (2 * big + s + 1) / (2 * m + s + 1) * trace / (s - trace)
            chance = stats.f.sf(f, s * (2 * m + s + 1), s * (2 * big + s + 1))
            same = stats.f.isf(chance, q, n - kinds)
            share = same * q / (same * q + n - kinds)
        else:
            share = r2(c, x)
        scores.append(share * n / rows.sum())
    return np.array(scores)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", ["two", "three"])
def test_fisher_agrees_with_loops(kind, gaps, dtype):
    X, rng = table(1, dtype, gaps)
    target, subsamples = target_of(kind, X, rng), rng.random((5, N)) < 0.75
    for rows, picks in zip(subsamples, Fisher().select_many(X, target, subsamples, 9, []), strict=True):
        expected = fisher_by_loops(X, target.values, rows, target.n_classes)
        np.testing.assert_allclose(expected[picks], np.sort(expected)[::-1], atol=1e-6 if dtype == np.float32 else 1e-9)
    if kind == "three":
        turns = Fisher(classes="turns").select_many(
            X, target, subsamples, 3, [np.random.default_rng(i) for i in range(5)]
        )
        for run, (rows, picks) in enumerate(zip(subsamples, turns, strict=True)):
            first = np.random.default_rng(run).permutation(3)[0]
            assert picks[0] == np.argmax(fisher_by_loops(X, (target.values == first) * 1, rows, 2))


def information(rho):
    rho = min(abs(rho), 1 - 1e-7)
    return -0.5 * np.log((1 - rho) * (1 + rho))


def relevance_by_loops(X, j, target, rows, turn):
    there = rows & ~np.isnan(X[:, j])
    x, n = X[there, j].astype(float), there.sum()
    y = np.asarray(target.values)[there].astype(float)
    if target.task == "regression":
        if j not in X.levels:
            return information(np.corrcoef(x, y)[0, 1] * np.sqrt(n / rows.sum()))
        d = 1 if X.levels[j].ordered else len(np.unique(x)) - 1
        share = np.corrcoef(x, y)[0, 1] ** 2 if X.levels[j].ordered else r2(x, y)
        return information(np.sqrt(one_degree(share, d, n)[0] * n / rows.sum()))
    y = (y == turn) * 1.0 if turn is not None else y
    sign, higher = np.sign(x[:, None] - x), y[:, None] > y
    if j not in X.levels:
        return information(sign[higher].sum() / higher.sum() * np.sqrt(n / rows.sum()))
    whole = np.asarray(target.values)[rows]
    ranks = stats.rankdata((whole == turn) if turn is not None else whole)[there[rows]]
    d = 1 if X.levels[j].ordered else len(np.unique(x)) - 1
    share = np.corrcoef(x, ranks)[0, 1] ** 2 if X.levels[j].ordered else r2(x, ranks)
    sizes = np.unique((whole == turn) if turn is not None else whole, return_counts=True)[1]
    N_run = sizes.sum()
    variance = (N_run * (N_run - 1) * (2 * N_run + 5) - (sizes * (sizes - 1) * (2 * sizes + 5)).sum()) / 18
    pairs = (N_run**2 - (sizes**2).sum()) / 2
    return information(min(abs(one_degree(share, d, n)[1]) * np.sqrt(variance) / pairs, 1.0))


def redundancy_by_loops(X, j, k, rows):
    """Pillai's trace from correlations of columns, each over the samples that have both, as that of a number."""
    rho = np.zeros((X.columns(j).shape[1], X.columns(k).shape[1]))
    for place, a in enumerate(X.columns(j).T.astype(float)):
        for other, b in enumerate(X.columns(k).T.astype(float)):
            both = rows & ~np.isnan(a) & ~np.isnan(b)
            if both.sum() >= 3 and np.ptp(a[both]) > 0 and np.ptp(b[both]) > 0:
                rho[place, other] = np.corrcoef(a[both], b[both])[0, 1] * np.sqrt(both.sum() / rows.sum())
    inverses, degrees = [], []
    for feature in (j, k):
        columns = X.columns(feature)[rows].astype(float)
        columns = columns[~np.isnan(columns[:, 0])]
        vary = np.ptp(columns, axis=0) > 0
        inverse = np.zeros((len(vary), len(vary)))
        inverse[np.ix_(vary, vary)] = np.linalg.pinv(np.atleast_2d(np.corrcoef(columns[:, vary].T)), rcond=1e-8)
        inverses.append(inverse)
        degrees.append(max(vary.sum() - (len(vary) > 1), 1))
    trace, (p, q), n = np.trace(inverses[0] @ rho @ inverses[1] @ rho.T), degrees, rows.sum()
    if p == q == 1:
        return information(rho[0, 0])
    s, left = min(p, q), n - 1 - q - p + min(p, q)
    chance = stats.f.sf((trace / s) / (1 - trace / s) * left / max(p, q), s * max(p, q), s * left)
    t = stats.t.isf(chance / 2, n - 2)
    return information(np.sqrt(t**2 / (t**2 + n - 2)))


def test_redundancy_of_categories_is_chi_squared_and_the_share_that_levels_explain():
    X, rng = table(6)
    rows = rng.random((3, N)) < 0.75
    several = X.several[:2]
    levels = LevelCorrelations(X, Runs(rows))
    widths = np.array([X.columns(feature).shape[1] for feature in several])
    for run, own in enumerate(rows):
        a, b = (X[own, feature] for feature in several)
        inverse, ranks = levels.per_run(np.full(3, several[0]))
        coded = np.hstack([X.columns(feature)[own] for feature in several]).astype(float)
        rho = np.nan_to_num(np.corrcoef(np.column_stack([X[own, 0], coded]).T))
        of_number = rho[:1, 1:][None].repeat(3, axis=0)
        explained = (of_number * levels.solved(of_number, several, widths)[0])[run, 0]
        assert explained[: widths[0]].sum() == pytest.approx(r2(a, X[own, 0]))
        assert explained[widths[0] :].sum() == pytest.approx(r2(b, X[own, 0]))
        of_levels = rho[1 : 1 + widths[0], 1:][None].repeat(3, axis=0)
        trace = (inverse @ of_levels * levels.solved(of_levels, several, widths)[0])[run, :, widths[0] :].sum()
        counts = pd.crosstab(a, b).to_numpy()
        assert trace == pytest.approx(stats.chi2_contingency(counts, correction=False).statistic / own.sum())
        assert ranks[run] == len(counts) - 1


@cache
def redundancies(dtype, gaps, run, k):
    """Redundancy of every column with column k in a run; subsamples do not depend on the kind of target."""
    X, rng = table(2, dtype, gaps)
    target_of("two", X, rng)
    rows = (rng.random((4, N)) < 0.75)[run]
    return np.array([redundancy_by_loops(X, j, k, rows) if j != k else 0.0 for j in range(9)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", ["two", "three", "ordered", "regression"])
def test_mrmr_agrees_with_loops(kind, gaps, dtype):
    X, rng = table(2, dtype, gaps)
    target, subsamples = target_of(kind, X, rng), rng.random((4, N)) < 0.75
    found = MRMR().select_many(X, target, subsamples, 6, [np.random.default_rng(i) for i in range(4)])
    for run, (rows, picks) in enumerate(zip(subsamples, found, strict=True)):
        order = np.random.default_rng(run).permutation(3) if kind == "three" else [None]
        relevance = {turn: [relevance_by_loops(X, j, target, rows, turn) for j in range(9)] for turn in order}
        redundancy, chosen = np.zeros(9), []
        for step in range(6):
            scores = relevance[order[step % len(order)]] - redundancy / max(len(chosen), 1)
            scores[chosen] = -np.inf
            chosen.append(int(np.argmax(scores)))
            redundancy += redundancies(dtype, gaps, run, chosen[-1])
        assert picks.tolist() == chosen


def test_scale_of_two_classes_and_chance_of_three():
    rng = np.random.default_rng(0)
    upper, rows = np.arange(20) < 7, np.ones((1, 20), dtype=bool)
    net = NetScores.from_contrasts([Contrast(upper, ~upper)], rows)
    assert net.scale[0] == pytest.approx(np.sqrt(21 / (3 * 7 * 13)))
    assert set(net.scores[0]) == {13.0, -7.0}
    y = np.arange(20) % 3
    contrasts = [Contrast(y == c, y < c) for c in (1, 2)]
    net = NetScores.from_contrasts(contrasts, rows)
    x = rng.permuted(np.tile(np.arange(20.0), (20_000, 1)), axis=1).T
    pairs = sum(int(c.upper.sum() * c.lower.sum()) for c in contrasts)
    assert np.std(Concordance(rows, contrasts)(x).sum(axis=0) / pairs) == pytest.approx(net.scale[0], rel=0.02)


@pytest.mark.parametrize("name", ["fisher", "mrmr"])
@pytest.mark.parametrize("kind", ["two", "three"])
def test_many_levels_bring_no_votes(name, kind):
    """Noise only: numbers and categories of 2 to 12 levels share the votes evenly; naive scores give 3.7 to 44."""
    rng = np.random.default_rng(7)
    n, per_kind, votes = 120, 12, np.zeros(5)
    kinds = [0, 2, 4, 8, 12]
    for _ in range(8):
        blocks = [rng.normal(size=(n, per_kind)) if k == 0 else rng.integers(0, k, (n, per_kind)) for k in kinds]
        values = np.hstack(blocks).astype(float)
        levels = {
            per_kind * i + j: Levels(tuple(map(str, range(k))))
            for i, k in enumerate(kinds)
            if k
            for j in range(per_kind)
        }
        y = rng.permutation(np.arange(n) % (2 if kind == "two" else 3))
        subsamples = rng.random((10, n)) < 0.75
        found = SELECTORS[name].select_many(
            CategoryTable(values, levels), read_target(y, n, None), subsamples, 6, [rng] * 10
        )
        votes += np.bincount(np.concatenate(found) // per_kind, minlength=5)
    share = votes / votes.sum()
    assert (share > 0.1).all()
    assert (share < 0.32).all()


def test_a_feature_has_the_best_rank_of_its_columns():
    X, _ = table(3)
    order = [7, 6, 5, 0, 16]  # columns 5, 6 and 7 are of the features 5 and 6
    assert X.owners[order].tolist() == [5, 5, 5, 0, 7]
    asked = []

    def select(coded, subsamples, n, rngs):
        asked.append(n)
        return [np.array(order[:n]) for _ in subsamples]

    rngs = [np.random.default_rng(0)] * 2
    (a, b) = one_vote_per_feature(X, select, np.ones((2, N), dtype=bool), 3, rngs)
    assert a.tolist() == b.tolist() == [5, 0, 7]
    assert asked[0] == 3
    (c,) = one_vote_per_feature(X, select, np.ones((1, N), dtype=bool), 5, rngs[:1])
    assert c.tolist() == [5, 0, 7]  # the selector has no more


def test_planted_category_is_found_and_numbers_alone_stay_what_they_are():
    X, rng = table(4)
    codes = X[:, 6]
    y = np.isin(codes, [1, 3]) ^ (rng.random(N) < 0.1)
    target, subsamples = read_target(y * 1, N, None), rng.random((5, N)) < 0.75
    for name in ("fisher", "mrmr"):
        assert all(picks[0] == 6 for picks in SELECTORS[name].select_many(X, target, subsamples, 3, []))
        numbers = np.ascontiguousarray(X[:, :4])
        plain = SELECTORS[name].select_many(numbers, target, subsamples, 4, [])
        beside = SELECTORS[name].select_many(X, target, subsamples, 9, [])
        if name == "fisher":  # their order among themselves
            assert [[j for j in picks if j < 4] for picks in beside] == [picks.tolist() for picks in plain]


def shares_by_least_squares(x, Y, Z):
    """Return the p-value of Pillai's trace of two sets of columns, when least squares on others took what they can."""
    Z = np.column_stack([np.ones(len(Z)), Z])
    x, Y = (np.linalg.svd(v - Z @ np.linalg.lstsq(Z, v, rcond=None)[0], full_matrices=False) for v in (x, Y))
    x, Y = (U[:, sizes > 1e-8 * sizes[0]] for U, sizes, _ in (x, Y))
    p, q, s = x.shape[1], Y.shape[1], min(x.shape[1], Y.shape[1])
    V, left = ((x.T @ Y) ** 2).sum(), len(Z) - np.linalg.matrix_rank(Z) - q - p + s
    return stats.f.sf((V / s) / (1 - V / s) * left / max(p, q), s * max(p, q), s * left), q


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_beyond_covariates_a_category_has_the_score_of_its_p_value(n_classes, dtype):
    X, rng = table(5, dtype=dtype)
    Z = np.column_stack([rng.normal(size=N), np.arange(N) % 2, np.arange(N) % 2])
    y = rng.permutation(np.arange(N) % n_classes)
    subsamples = np.array([rng.permutation(N) < 0.75 * N for _ in range(4)])
    found = categories_beyond(Residuals(Z, subsamples), read_target(y, N, None), X)
    assert len(X.several) >= 2
    for run, rows in enumerate(subsamples):
        for place, j in enumerate(X.several):
            coded = X.coded[:, X.owners == j].astype(float)[rows]
            p, q = shares_by_least_squares(coded, np.eye(n_classes)[y[rows]], Z[rows])
            n = rows.sum() - 3 - q  # what a number leaves beyond the constant and two different covariates
            F = found[run, place] / (1 - found[run, place]) * n / q
            assert stats.f.sf(F, q, n) == pytest.approx(p, rel=1e-6)


def test_nothing_is_left_of_a_category_that_covariates_determine():
    X, rng = table(5)
    j = X.several[0]
    y, subsamples = rng.permutation(np.arange(N) % 2), np.ones((1, N), dtype=bool)
    found = categories_beyond(Residuals(X.coded[:, X.owners == j], subsamples), read_target(y, N, None), X)
    assert found[0, 0] == -np.inf
    assert np.isfinite(found[0, 1:]).all()


@pytest.mark.parametrize("missing", ["error", "available"])
@pytest.mark.parametrize(("name", "kind", "adjust"), [("cox", "survival", False), ("cox", "survival", True),
                         ("mrmr", "survival", True), ("mrmr", "two", True), ("mrmr", "three", True),
                         ("fisher", "three", True)])  # fmt: skip
def test_many_levels_bring_no_votes_to_cox_or_beyond_covariates(name, kind, adjust, missing):
    """With the best coded column of each, those of 10 levels would have 0.54 to 0.62 of the votes."""
    rng, n, per_kind, votes = np.random.default_rng(7), 90, 10, np.zeros(3)
    for seed in range(8):
        labels = np.array(list("abcdefghij"))
        blocks = [
            rng.normal(size=(n, per_kind)).astype(object),
            *(labels[rng.integers(0, k, (n, per_kind))] for k in (4, 10)),
        ]
        X = pd.DataFrame(np.hstack(blocks)).infer_objects()
        X.columns = [f"x{j}" for j in range(3 * per_kind)]
        if missing == "available":
            X = X.mask(rng.random(X.shape) < 0.1)
        y = (
            Survival(rng.exponential(size=n), rng.random(n) < 0.7)
            if kind == "survival"
            else rng.permutation(np.arange(n) % (2 if kind == "two" else 3))
        )
        covariates = {"adjust_for": rng.normal(size=(n, 1))} if adjust else {}
        found = collect_evidence(
            X, y, selector=name, n_models=4, n_features_per_model=4, random_state=seed, missing=missing, **covariates
        )
        votes += found.counts.reshape(3, -1).sum(axis=1)
    share = votes / votes.sum()
    assert (share > 0.18).all()
    assert (share < 0.5).all()


def test_weighted_classes_beyond_covariates_with_categories_of_two_levels_only():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 6)), columns=list("abcdef")).assign(sex=np.arange(60) % 2 == 0)
    found = collect_evidence(
        X, np.arange(60) % 3, selector=MRMR(classes="weighted"), n_models=3, adjust_for=["a"], random_state=0
    )
    assert found.counts.sum() == 3  # one of six for each run
