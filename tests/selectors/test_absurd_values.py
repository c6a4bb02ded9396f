"""Codes for missing values and other absurd numbers: what a run chooses is right and depends on its samples alone."""

import warnings

import numpy as np
import pytest

from amounts import seeds
from ubayfs import Survival, collect_evidence
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.hazards import CoxPoint
from ubayfs.data.target import TASKS
from ubayfs.selectors import SELECTORS, scoring
from ubayfs.selectors.base import TIE
from ubayfs.selectors.entry_order import EntryOrder
from ubayfs.selectors.fisher import _share_between_classes
from ubayfs.selectors.scoring import best_of_each_run, run_scores

N_SAMPLES, N_COLUMNS, N_MODELS, N_FEATURES = 40, 10, 4, 4
SENTINELS = (9999999999.0, -999.0, 1e16, 1e18, 1e30)
HUGE = (1e155, -1e300, 1.7e308)

CASES = [(name, task) for name in sorted(SELECTORS) for task in TASKS if task in SELECTORS[name].tasks]
cases = pytest.mark.parametrize(("name", "task"), CASES)


def make_table(rng, task, dtype=np.float64):
    X = rng.normal(size=(N_SAMPLES, N_COLUMNS)) * 10.0 ** rng.integers(-3, 4, N_COLUMNS) + rng.integers(-5, 20)
    signal = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.normal(size=N_COLUMNS) + rng.normal(size=N_SAMPLES)
    y = {
        "binary": signal > np.median(signal),
        "multiclass": np.digitize(signal, np.quantile(signal, [1 / 3, 2 / 3])),
        "multilabel": np.column_stack([signal > 0, signal < 1]).astype(int),
        "regression": signal,
        "survival": Survival(np.exp(-signal / 9), signal > np.quantile(signal, 0.2)) if task == "survival" else None,
        "unsupervised": None,
    }[task]
    subsamples = rng.random((N_MODELS, N_SAMPLES)) < 0.7
    return X.astype(dtype), y, subsamples


def choose(name, X, y, subsamples, n_features=N_FEATURES):
    data = FeatureData.from_table(X, y)
    rngs = [np.random.default_rng([1, run]) for run in range(len(subsamples))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return SELECTORS[name].select_many(data.X, data.target, subsamples, n_features, rngs)


@pytest.mark.parametrize(
    ("name", "task"),
    # The lasso has scales of its own, made of all samples of the ensemble.
    [case for case in CASES if case[0] not in ("lasso", "wide")],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_samples_outside_a_run_do_not_matter_to_it(name, task, dtype, monkeypatch):
    values = SENTINELS + (HUGE if dtype == np.float64 else ())
    for seed in seeds(12):
        rng = np.random.default_rng([7, seed])
        X, y, (*subsamples, _) = make_table(rng, task, dtype)
        subsamples = np.array(subsamples)  # three of them: each is compared while the others hold absurd values
        expected = choose(name, X, y, subsamples)
        monkeypatch.setattr(scoring, "BLOCK_ENTRIES", int(rng.choice([1, 200, 1 << 16])))
        for run, rows in enumerate(subsamples):
            changed = X.copy()
            share = rng.choice([0.02, 0.2, 1.0])
            hit = (rng.random(X.shape) < share) & ~rows[:, None]
            changed[hit] = rng.choice(values, size=np.count_nonzero(hit))
            together = choose(name, changed, y, subsamples)
            assert together[run].tolist() == expected[run].tolist(), (seed, run)


def exact_shares(X, y, rows):
    """Fisher's share between classes in one run, by two passes over its own samples in extended precision."""
    x = X[rows].astype(np.longdouble)
    x = x / np.maximum(np.abs(x).max(axis=0), np.finfo(np.longdouble).tiny)
    x = x - np.sort(x, axis=0)[len(x) // 2]
    total = ((x - x.mean(axis=0)) ** 2).sum(axis=0)
    between = sum(
        (y[rows] == c).sum() * (x[y[rows] == c].mean(axis=0) - x.mean(axis=0)) ** 2 for c in np.unique(y[rows])
    )
    with np.errstate(invalid="ignore"):
        shares = np.where(np.ptp(X[rows], axis=0) > 0, between / total, -np.inf)
    return shares.astype(np.float64)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_fisher_scores_are_those_of_two_passes_over_the_run(task):
    for seed in range(20):
        rng = np.random.default_rng([8, seed])
        X, y, subsamples = make_table(rng, task)
        hit = rng.random(X.shape) < rng.choice([0.005, 0.05])
        X[hit] = rng.choice([*SENTINELS, 1e155, -1e200], size=np.count_nonzero(hit))
        target = FeatureData.from_table(X, y).target
        scores = run_scores(_share_between_classes(target, subsamples), subsamples, X)
        assert not np.isnan(scores).any()
        for row, rows in zip(scores, subsamples, strict=True):
            np.testing.assert_allclose(row, exact_shares(X, np.asarray(target.values), rows), rtol=0, atol=TIE / 4)


@pytest.mark.parametrize("value", [1e16, 1e18, 1e25, 1e300])
def test_one_absurd_entry_empties_no_run_of_fisher(value):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 12)), np.arange(60) % 2
    X[:, 3] += 4 * y
    X[17, 3] = value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evidence = collect_evidence(X, y, "fisher", n_models=200, n_features_per_model=3, random_state=0)
    assert (np.diff(evidence.sets.indptr) == 3).all()
    # Column 3 is the best one wherever its absurd entry is not in the subsample.
    subsamples = rng.random((10, 60)) < 0.75
    subsamples[:, 17] = False
    assert all(picks[0] == 3 for picks in choose("fisher", X, y, subsamples, 3))


def literal_mrmr(X, y, rows, n_features):
    """mRMR for a continuous target, column by column from the samples of the run, in extended precision."""

    def unit(values):
        values = values.astype(np.longdouble)
        values = values / np.abs(values).max()
        values = values - np.sort(values)[len(values) // 2]
        values = values - values.mean()
        return values / np.sqrt((values**2).sum())

    def information(a, b):
        rho = min(abs(float(a @ b)), 1 - 1e-7)
        return -0.5 * np.log1p(-rho) - 0.5 * np.log1p(rho)

    varying = [j for j in range(X.shape[1]) if np.ptp(X[rows, j] / 2) > 0]
    units = {j: unit(X[rows, j]) for j in varying}
    target = unit(y[rows])
    chosen = []
    while len(chosen) < min(n_features, len(varying)):
        scores = {
            j: information(units[j], target) - np.mean([information(units[j], units[k]) for k in chosen] or [0.0])
            for j in varying
            if j not in chosen
        }
        best = max(scores.values())
        chosen.append(min(j for j, score in scores.items() if score >= best - TIE))
    return chosen


def test_mrmr_is_that_of_each_run_alone():
    for seed in range(12):
        rng = np.random.default_rng([9, seed])
        X, y, subsamples = make_table(rng, "regression")
        hit = rng.random(X.shape) < rng.choice([0.005, 0.05])
        X[hit] = rng.choice([*SENTINELS, 1e155, -1e200], size=np.count_nonzero(hit))
        if seed % 3 == 0:
            y[rng.integers(N_SAMPLES)] = rng.choice([1e18, 1e200])
        for rows, picks in zip(subsamples, choose("mrmr", X, y, subsamples), strict=True):
            assert picks.tolist() == literal_mrmr(X, y, rows, N_FEATURES), seed


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tiny_and_huge_units_change_nothing(dtype):
    rng = np.random.default_rng(3)
    X, two_classes, subsamples = make_table(rng, "binary")
    X = X / np.abs(X).max(axis=0)
    largest = 120 if dtype == np.float32 else 1000
    for name, selector in SELECTORS.items():
        y = two_classes if "binary" in selector.tasks else Survival(1 + np.arange(N_SAMPLES), two_classes)
        expected = choose(name, X.astype(dtype), y, subsamples)
        for exponent in (-largest, largest):
            scaled = np.ldexp(X.astype(dtype), exponent)
            for a, b in zip(expected, choose(name, scaled, y, subsamples), strict=True):
                assert a.tolist() == b.tolist(), (name, exponent)


def test_a_score_that_is_not_a_number_chooses_nothing():
    """Whatever a statistic does, NaN is no high score."""

    def statistic(runs, x):
        scores = np.tile([0.5, np.nan, 0.25], (3, 1))[runs]
        return scores, np.ones_like(scores)

    X = np.random.default_rng(0).normal(size=(8, 3))
    found = best_of_each_run(statistic, X, np.ones((3, 8), dtype=bool), 2)
    assert [picks.tolist() for picks in found] == [[0, 2]] * 3


def test_rounding_errors_do_not_keep_a_path_busy(monkeypatch):
    """Where values of 1e30 leave nothing but rounding errors to gain, the path goes on to its next event."""
    n_evaluations, at = 0, CoxPoint.at

    def counted(*arguments):
        nonlocal n_evaluations
        n_evaluations += 1
        return at(*arguments)

    monkeypatch.setattr(CoxPoint, "at", counted)
    rng = np.random.default_rng([7, 2])
    X, y, subsamples = make_table(rng, "survival", np.float32)
    rng.choice([1, 200, 1 << 16])
    for rows in subsamples:
        share = rng.choice([0.02, 0.2, 1.0])
        hit = (rng.random(X.shape) < share) & ~rows[:, None]
        changed = X.copy()
        changed[hit] = rng.choice(SENTINELS, size=np.count_nonzero(hit))
        data = FeatureData.from_table(changed, y)
        EntryOrder().select_many(data.X, data.target, subsamples, N_FEATURES, [rng] * N_MODELS)
    assert n_evaluations < 20_000
