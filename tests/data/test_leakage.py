"""Leakage: a feature that almost determines the target, against a literal version and planted truth."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import rankdata, spearmanr
from sklearn.metrics import roc_auc_score

from ubayfs import Survival, collect_evidence
from ubayfs.data import leakage as module
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.leakage import closeness, find_leak
from ubayfs.data.ranks import centered_ranks, target_scores
from ubayfs.data.target import read_target
from ubayfs.exceptions import UBayFSWarning

N = 60


def targets(rng):
    classes = np.arange(N) % 3
    return {
        "binary": np.arange(N) % 2,
        "multiclass": classes,
        "ordered": pd.Categorical.from_codes(classes, ["I", "II", "III"], ordered=True),
        "multilabel": rng.integers(0, 2, size=(N, 2)),
        "regression": rng.normal(size=N),
        "survival": Survival(rng.integers(1, 30, size=N), rng.random(N) < 0.7),
    }


TASKS = list(targets(np.random.default_rng(0)))


def found_in(X, y, **reading):
    data = FeatureData.from_table(X, y, **reading)
    return find_leak(data.X, data.target)


def literal_scores(name, y, target):
    if name == "survival":
        hazard = []
        for time in target.time:
            earlier = [(t, e) for t, e in zip(target.time, target.event, strict=True) if t <= time and e]
            hazard.append(sum(1 / (target.time >= t).sum() for t, _ in earlier))
        return (target.event - np.array(hazard))[:, None]
    if name == "multilabel":
        return y.astype(float)
    if name == "multiclass":
        return np.eye(3)[y]
    return rankdata(np.asarray(target.values))[:, None]


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", TASKS)
def test_closeness_is_that_of_a_literal_version(rng, name, gaps, monkeypatch):
    monkeypatch.setattr(module, "_ENTRIES", 150)
    y = targets(rng)[name]
    X = rng.normal(size=(N, 7)).round(1)
    X[:, 3] = 2.0
    if gaps:
        X[rng.random(X.shape) < 0.3] = np.nan
    target = read_target(y, N, None)
    scores, expected = literal_scores(name, y, target), []
    best = np.argsort(np.argsort(scores @ np.arange(scores.shape[1], 0, -1)))  # a leak without ties
    design = np.column_stack([np.ones(N), scores])
    left = best - design @ np.linalg.lstsq(design, best, rcond=None)[0]
    most = 1.0 if name == "multilabel" else 1 - (left**2).sum() / ((best - best.mean()) ** 2).sum()
    for x in X.T:
        there = ~np.isnan(x)
        ranks = rankdata(x[there])
        if name == "binary":
            area = roc_auc_score(y[there], x[there])
            expected.append(max(area, 1 - area))
            continue
        design = np.column_stack([np.ones(there.sum()), scores[there]])
        left = ranks - design @ np.linalg.lstsq(design, ranks, rcond=None)[0]
        scatter = ((ranks - ranks.mean()) ** 2).sum()
        expected.append(min((1 - (left**2).sum() / scatter) / most, 1.0) if scatter else 0.0)
        if name == "survival":  # also the time itself; the largest share of its ranks, which have ties
            time = rankdata(target.time)
            most_of_time = np.corrcoef(np.arange(N), np.sort(time))[0, 1] ** 2
            of_time = np.corrcoef(ranks, time[there])[0, 1] ** 2 / most_of_time if scatter else 0.0
            expected[-1] = max(expected[-1], min(of_time, 1.0))
    np.testing.assert_allclose(closeness(X, target, np.arange(N)), expected, atol=1e-9)


def test_scores_are_orthonormal_and_centered(rng):
    for name, y in targets(rng).items():
        scores = target_scores(read_target(y, N, None))
        np.testing.assert_allclose(scores.T @ scores, np.eye(scores.shape[1]), atol=1e-9)
        np.testing.assert_allclose(scores.sum(axis=0), 0, atol=1e-9)
        assert scores.shape[1] == (2 if name in ("multiclass", "multilabel") else 1)


def test_centered_ranks_are_average_ranks(rng):
    for _ in range(50):
        x = rng.integers(0, 6, size=(rng.integers(1, 12), 3)).astype(rng.choice([np.float32, np.float64]))
        x[rng.random(x.shape) < rng.choice([0.0, 0.3, 0.9])] = np.nan
        expected = np.zeros(x.shape)
        for j in range(3):
            there = ~np.isnan(x[:, j])
            expected[there, j] = rankdata(x[there, j]) - (there.sum() + 1) / 2
        np.testing.assert_array_equal(centered_ranks(x), expected)


def leaking(name, y, target, rng):
    """A feature that is made of the target."""
    values = {
        "survival": lambda: literal_scores(name, y, target)[:, 0],
        "multilabel": lambda: y @ [1, 2],
    }.get(name, lambda: np.asarray(target.values))()
    return values + 0.001 * rng.normal(size=N)


@pytest.mark.parametrize("name", TASKS)
def test_planted_leaks_are_found(rng, name):
    y = targets(rng)[name]
    X, target = rng.normal(size=(N, 30)), read_target(y, N, None)
    assert found_in(X, y) is None
    leak = leaking(name, y, target, rng)
    X[:, 4] = leak
    X[:, 5] = leak**3  # another form of it is not the next best
    found = found_in(X, y)
    assert found.feature in (4, 5)
    others = np.delete(closeness(X, target, np.arange(N)), [4, 5])
    assert found.second == others.max()


def test_the_time_of_survival_is_a_leak(rng):
    y = Survival(rng.exponential(size=N), rng.random(N) < 0.5)
    X = np.column_stack([rng.normal(size=(N, 8)), y.time + 0.001 * rng.normal(size=N)])
    assert found_in(X, y).feature == 8


def test_the_next_best_is_the_best_unlike_it(rng):
    y = np.arange(N) % 2
    X = rng.normal(size=(N, 30))
    X[:, 0] = y + 0.1 * rng.normal(size=N)
    X[:, 1:8] += np.linspace(0.5, 4, 7) * y[:, None]
    areas = [max(a, 1 - a) for a in (roc_auc_score(y, x) for x in X.T)]
    unlike = [a for a, x in zip(areas, X.T, strict=True) if abs(spearmanr(x, X[:, 0])[0]) < 0.8]
    stands_out = 1 - max(unlike) >= 10 * max(1 - areas[0], 1 / 900)
    found = found_in(X, y)
    assert (found is not None) == stands_out
    X[:, 3:8] = rng.normal(size=(N, 5))
    assert found_in(X, y).feature == 0


def test_the_advice_names_the_feature(rng):
    frame = pd.DataFrame(rng.normal(size=(N, 25)), columns=[f"gene{j}" for j in range(25)])
    y = np.resize(["N0", "N1"], N)
    frame["positive_nodes"] = np.where(y == "N1", rng.integers(1, 9, size=N), 0)
    with pytest.warns(
        UBayFSWarning, match=r"^positive_nodes alone almost determines the target \(AUC 1\.00; next best"
    ):
        evidence = collect_evidence(frame, y, selector="mrmr", n_models=3, random_state=0)
    assert [advice.code for advice in evidence.advice] == ["determines_target"]
    frame.loc[:9, "positive_nodes"] = np.nan
    (advice,) = [a for a in FeatureData.from_table(frame, y, missing="available").advice if "missing" not in a.code]
    assert "in the 50 samples that have it (AUC 1.00" in str(advice)
    assert [a.code for a in FeatureData.from_table(frame.iloc[:, :25], y).advice] == []


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_category_may_leak(rng, n_classes):
    frame = pd.DataFrame(rng.normal(size=(N, 20)), columns=[f"g{j}" for j in range(20)])
    y = np.arange(N) % n_classes
    frame["kind"] = pd.Categorical([f"level {(code * 2) % 3}{'x' * (i % 4 == 0)}" for i, code in enumerate(y)])
    found = found_in(frame, y)
    assert (found.feature, found.first) == (20, pytest.approx(1.0))
    frame["kind"] = pd.Categorical(np.where(y == 1, "b", np.resize(["a", "c"], N)))
    assert (found_in(frame, y) is not None) == (n_classes == 2)  # of three classes it knows one only


def test_sparse_and_screened_tables_give_the_same(rng, monkeypatch):
    y = (np.arange(300) % 10 == 0).astype(int)
    X = rng.poisson(0.3, size=(300, 40)).astype(float)
    X[:, 9] += 3 * y
    expected = found_in(X, y)
    assert expected.feature == 9
    assert found_in(sparse.csr_array(X), y) == expected
    monkeypatch.setattr(module, "_SCREENED", 60)
    assert found_in(X, y) == found_in(sparse.csr_array(X), y) == expected
    X[:, 9] = 0
    assert found_in(X, y) is None


def test_few_samples_features_or_no_target_are_not_judged(rng):
    y = np.arange(N) % 2
    X = np.column_stack([y, rng.normal(size=(N, 10))])
    assert found_in(X, y) is not None
    assert found_in(X[:19], y[:19]) is None
    assert found_in(X[:, :4], y) is None
    assert found_in(X, None) is None
    assert found_in(X[y + np.arange(N) % 12 != 1][:40], np.r_[np.ones(7), np.zeros(33)].astype(int)) is None
