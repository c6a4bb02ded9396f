"""Missing values: literal loops over runs and columns, on the values that are present, against the matrix forms."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from ubayfs import Survival
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.missing import filled
from ubayfs.data.target import read_target
from ubayfs.ensemble import batches
from ubayfs.ensemble.collect import collect_evidence
from ubayfs.selectors import SELECTORS, _greedy, concordance, mrmr, scoring
from ubayfs.selectors._greedy import GreedySearch
from ubayfs.selectors.fisher import _share_between_classes
from ubayfs.selectors.mrmr import MRMR

N, P, M = 48, 40, 5
TARGETS = {
    "two": lambda rng: rng.permutation(np.arange(N) % 2),
    "three": lambda rng: rng.permutation(np.arange(N) % 3),
    "ordered": lambda rng: pd.Categorical.from_codes(rng.permutation(np.arange(N) % 3), list("abc"), ordered=True),
    "regression": lambda rng: rng.normal(size=N),
}


def gaps(pattern, y, rng):
    absent = np.zeros((N, P), dtype=bool)
    if pattern == "random":
        absent[:] = rng.random((N, P)) < rng.choice([0.0, 0.1, 0.6, 0.95], P)
    elif pattern == "block":
        absent[:20, :15] = absent[10:35, 25:] = True
    else:  # one class lacks most of the values of half of the columns
        absent[:, ::2] = (np.asarray(y) == np.asarray(y)[0])[:, None] & (rng.random((N, P // 2)) < 0.9)
    return absent


def example(kind, pattern, dtype, seed=0):
    """Return a table with gaps, ties, constants and absurd values, its target and subsamples."""
    rng = np.random.default_rng(seed)
    y = TARGETS[kind](rng)
    target = read_target(y, N, None if kind != "regression" else "regression")
    X = rng.normal(size=(N, P)) + 0.8 * np.asarray(target.values)[:, None] * (np.arange(P) % 4 == 1)
    X[:, 3::5] = np.round(X[:, 3::5])
    X[:, 7] = X[:, 6] + 0.01 * X[:, 7]
    X[:, 11], X[5, 12] = 2.0, 1e18
    X[:, 13] += 1e4
    subsamples = np.zeros((M, N), dtype=bool)
    for rows in subsamples:
        rows[rng.permutation(N)[:34]] = True
    subsamples[:-2, 5] = False  # the absurd value is outside of most runs
    X[gaps(pattern, y, rng)] = np.nan
    X[:, 14] = np.nan
    return X.astype(dtype), target, subsamples


def fisher_by_loops(X, target, rows):
    scores = []
    for column in X[rows].astype(np.float64).T:
        there = ~np.isnan(column)
        x, c = column[there], np.asarray(target.values)[rows][there]
        if len(x) < 2 or x.min() == x.max():
            scores.append(-np.inf)
            continue
        between = sum((c == k).sum() * (x[c == k].mean() - x.mean()) ** 2 for k in np.unique(c))
        scores.append(between / ((x - x.mean()) ** 2).sum() * there.mean())
    return np.array(scores)


def information(rho):
    rho = min(abs(rho), 1 - 1e-7)
    return -0.5 * np.log((1 - rho) * (1 + rho))


def pearson(a, b):
    if a.min() == a.max() or b.min() == b.max():
        return 0.0
    a, b = ((v - v.mean()) / np.abs(v - v.mean()).max() for v in (a, b))
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def generators(m=M):
    return [np.random.default_rng(run) for run in range(m)]


def relevance_by_loops(X, target, rows, turn=None):
    values, scores = np.asarray(target.values)[rows], []
    for column in X[rows].astype(np.float64).T:
        there = ~np.isnan(column)
        x, c = column[there], values[there]
        if len(x) < 2 or x.min() == x.max():
            scores.append(-np.inf)
            continue
        if target.task == "regression":
            rho = pearson(x, c)
        else:
            sign = np.sign(x[:, None] - x)

            def somers(upper, lower, sign=sign):
                pairs = upper[:, None] & lower
                return sign[pairs].sum(), pairs.sum()

            if target.ordered or target.n_classes == 2:
                counts = [somers(c == k, c < k) for k in range(1, target.n_classes)]
                rho = sum(s for s, _ in counts) / max(sum(n for _, n in counts), 1)
            elif turn is not None:
                s, n = somers(c == turn, c != turn)
                rho = s / max(n, 1)
            else:
                counts = [(somers(c == k, c != k), (c == k).mean()) for k in range(target.n_classes)]
                rho = sum(share * abs(s) / max(n, 1) for (s, n), share in counts)
        scores.append(information(rho * np.sqrt(there.mean())))
    return np.array(scores)


def mrmr_by_loops(X, target, rows, n_features, order=(None,)):
    relevances, X = [relevance_by_loops(X, target, rows, turn) for turn in order], X[rows].astype(np.float64)
    redundancy, chosen = np.zeros(X.shape[1]), []
    for step in range(n_features):
        scores = relevances[step % len(order)] - redundancy / max(len(chosen), 1)
        scores[chosen] = -np.inf
        if np.isneginf(scores.max()):
            break
        best = int(np.argmax(scores >= scores.max() - 1e-9))
        chosen.append(best)
        for j in range(X.shape[1]) if len(chosen) < n_features else ():
            both = ~np.isnan(X[:, best]) & ~np.isnan(X[:, j])
            if both.sum() >= 3:
                redundancy[j] += information(pearson(X[both, best], X[both, j]) * np.sqrt(both.mean()))
    return chosen


@cache
def picks_by_loops(kind, pattern, dtype, by_turns):
    """Return what mrmr_by_loops chooses in each run, with the classes in turn or together."""
    X, target, subsamples = example(kind, pattern, dtype)
    orders = [rng.permutation(3) for rng in generators()] if by_turns else [(None,)] * M
    return [mrmr_by_loops(X, target, rows, 6, order) for rows, order in zip(subsamples, orders, strict=True)]


@pytest.fixture(params=[None, 16], ids=["one block", "small blocks"])
def blocks(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(scoring, "BLOCK_ENTRIES", request.param)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("pattern", ["random", "block", "class"])
@pytest.mark.parametrize("kind", ["two", "three"])
def test_fisher_agrees_with_loops(kind, pattern, dtype, blocks):
    X, target, subsamples = example(kind, pattern, dtype)
    exact = X.astype(np.float64)
    found = scoring.run_scores(_share_between_classes(target, subsamples), subsamples, exact)
    expected = np.array([fisher_by_loops(X, target, rows) for rows in subsamples])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    chosen = SELECTORS["fisher"].select_many(X, target, subsamples, 5, [None] * M)
    for picks, scores in zip(chosen, expected, strict=True):
        np.testing.assert_allclose(scores[picks], np.sort(scores)[::-1][:5], atol=1e-9)


@pytest.mark.parametrize("pattern", ["random", "block", "class"])
@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("by_sorting", [False, True])
def test_relevance_agrees_with_loops(kind, pattern, by_sorting, monkeypatch):
    if by_sorting:
        monkeypatch.setattr(concordance, "MAX_PAIRS", 0)
    X, target, subsamples = example(kind, pattern, np.float64)
    found = mrmr._relevance_to(target, subsamples)[0](X)
    expected = np.array([relevance_by_loops(X, target, rows) for rows in subsamples])
    possible = np.isfinite(expected)
    np.testing.assert_allclose(found[possible], expected[possible], rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("pattern", ["random", "block", "class"])
@pytest.mark.parametrize("kind", TARGETS)
def test_mrmr_agrees_with_loops(kind, pattern, dtype, blocks):
    X, target, subsamples = example(kind, pattern, dtype)
    chosen = MRMR(classes="weighted").select_many(X, target, subsamples, 6, [None] * M)
    assert [picks.tolist() for picks in chosen] == picks_by_loops(kind, pattern, dtype, by_turns=False)
    chosen = SELECTORS["mrmr"].select_many(X, target, subsamples, 6, generators())
    assert [picks.tolist() for picks in chosen] == picks_by_loops(kind, pattern, dtype, by_turns=kind == "three")


def test_redundancy_agrees_with_loops():
    X, target, subsamples = example("two", "random", np.float64)
    search = GreedySearch(X, scoring.Runs(subsamples), mrmr._relevance_to(target, subsamples)[0])
    picks = search.next_picks(np.zeros(M, dtype=int))
    for run, (rows, pick) in enumerate(zip(subsamples, picks, strict=True)):
        for place, column in enumerate(search.active.positions):
            both = rows & ~np.isnan(X[:, pick]) & ~np.isnan(X[:, column])
            expected = 0.0
            if both.sum() >= 3:
                expected = information(pearson(X[both, pick], X[both, column]) * np.sqrt(both.sum() / rows.sum()))
            if np.isfinite(search.relevance[0, run, place]):
                assert search.redundancy[run, place] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("name", ["fisher", "mrmr"])
@pytest.mark.parametrize("kind", TARGETS)
def test_what_is_outside_of_a_run_does_not_matter(name, kind):
    if name == "fisher" and kind == "regression":
        pytest.skip("fisher needs classes")
    X, target, subsamples = example(kind, "random", np.float64)
    here = SELECTORS[name].select_many(X, target, subsamples, 6, generators())
    for value in (1e18, -1e300, np.nan):
        for rows, picks, rng in zip(subsamples, here, generators(), strict=True):
            other = np.where(rows[:, None], X, value)
            assert SELECTORS[name].select_many(other, target, rows[None], 6, [rng])[0].tolist() == picks.tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["fisher", "mrmr"])
@pytest.mark.parametrize("kind", TARGETS)
def test_a_mask_without_holes_gives_the_same_votes(name, kind, dtype, monkeypatch):
    if name == "fisher" and kind == "regression":
        pytest.skip("fisher needs classes")
    _, target, subsamples = example(kind, "block", dtype)
    X = np.random.default_rng(3).normal(size=(N, 300)).astype(dtype)
    X[:, 7], X[:, 8], X[5, 12] = X[:, 6], 1.0, 1e18
    plain = SELECTORS[name].select_many(X, target, subsamples, 8, generators())
    masked = []
    monkeypatch.setattr(scoring, "with_gaps", lambda block: masked.append(1) or np.ones(block.shape[1], dtype=bool))
    monkeypatch.setattr(_greedy, "with_gaps", scoring.with_gaps)
    forced = SELECTORS[name].select_many(X, target, subsamples, 8, generators())
    assert masked
    assert [picks.tolist() for picks in forced] == [picks.tolist() for picks in plain]


@pytest.mark.parametrize("name", ["lasso", "rfe", "tree", "hsic", "laplacian"])
def test_selectors_that_need_complete_data_do_the_same_run_by_run(name):
    _, target, subsamples = example("two", "block", np.float64)
    X = np.random.default_rng(3).normal(size=(N, 60))
    task = batches.EnsembleTask(target, None, (SELECTORS[name],), 5, 0, fill="mean")
    rngs = [[np.random.default_rng(m) for m in range(M)] for _ in range(2)]
    together = SELECTORS[name].select_many(X, target, subsamples, 5, rngs[0])
    one_by_one = batches._select(X, task, SELECTORS[name], subsamples, 5, rngs[1])
    assert [picks.tolist() for picks in one_by_one] == [picks.tolist() for picks in together]


@pytest.mark.parametrize(("rule", "center"), [("available", np.nanmean), ("median", np.nanmedian)])
def test_other_selectors_see_their_own_samples_with_gaps_filled(rule, center):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 6))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[0] = np.arange(6)
    y = np.arange(30) % 2
    seen = []

    def look(X, y, n_features, rng):
        seen.append(X.copy())
        return [0, 1]

    evidence = collect_evidence(X, y, selector=look, n_models=4, random_state=0, missing=rule, n_features_per_model=2)
    assert evidence.settings["missing"] == rule
    assert len(seen) == 4
    for part in seen:
        # The samples are recognized by the values that they have.
        rows = [next(i for i in range(30) if (np.isnan(X[i]) | (X[i] == own)).all()) for own in part]
        own = X[rows]
        np.testing.assert_allclose(part, np.where(np.isnan(own), center(own, axis=0), own), rtol=1e-12)


def test_filled_columns_without_values_or_with_one_value_stay_constant():
    values = np.full((10, 3), np.nan)
    values[:7, 1] = 0.1  # the sum of seven is not seven times as much
    values[:7, 2] = 1e308
    for how in ("mean", "median"):
        complete = filled(values, how)
        np.testing.assert_array_equal(complete, np.repeat([[0.0, 0.1, 1e308]], 10, axis=0))
    assert filled(values[:, :2].astype(np.float32), "mean").dtype == np.float32


@pytest.mark.parametrize("name", list(SELECTORS))
def test_columns_without_a_value_in_a_run_are_not_chosen_there(name):
    rng = np.random.default_rng(1)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 8)) + y[:, None]
    X[1:, 0] = np.nan  # one value
    X[:, 1] = np.where(np.arange(40) < 30, np.nan, 3.0)  # constant where there is any
    X[np.arange(40) % 3 > 0, 2] = np.nan
    if name == "cox":
        y = Survival(40 - np.arange(40), y)
    evidence = collect_evidence(
        X, y, selector=name, n_models=6, n_features_per_model=8, random_state=0, missing="available", max_missing=1.0
    )
    assert evidence.counts[:2].tolist() == [0, 0]
    assert evidence.counts[3:].sum() > 0


@pytest.mark.parametrize("name", ["fisher", "mrmr"])
def test_noise_with_gaps_gets_no_more_votes_than_its_share(name):
    share = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 400))
        X[:, ::2][rng.random((100, 200)) < 0.6] = np.nan
        counts = collect_evidence(
            X, np.arange(100) % 2, selector=name, n_models=40, random_state=seed, missing="available", max_missing=1.0
        ).counts
        share.append(counts[::2].sum() / counts.sum())
    assert 0.4 < np.mean(share) < 0.6


def test_data_keep_their_gaps_and_nothing_else_changes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    X[:3, 1] = np.nan
    data = FeatureData.from_table(X, missing="available")
    assert data.X is X
    assert (data.missing, data.fill) == ("available", "mean")
    assert FeatureData.from_table(X[:, [0, 2]], missing="available").missing is None
