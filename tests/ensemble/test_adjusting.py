"""Ensembles that adjust for covariates, with all selectors, targets and ways to run."""

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from ubayfs import Evidence, collect_evidence, decide, max_size
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.survival import Survival
from ubayfs.data.target import TASKS
from ubayfs.ensemble.subsampling import plan_subsamples
from ubayfs.exceptions import EnsembleError, InputError
from ubayfs.selectors.registry import SELECTORS

EXACT = ("fisher", "mrmr", "cox", "lasso", "wide")


def planted(seed=0, n=120, p=60):
    """Two classes, unequal in batch and age: columns 0-1 follow the class, 2-3 also the batch, 4-15 batch or age."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    batch = np.where(rng.random(n) < np.where(y, 0.85, 0.15), "B", "A")
    age = 60 + 10 * y + rng.normal(0, 6, n)
    X = rng.normal(size=(n, p))
    X[:, :4] += 1.4 * y[:, None]
    X[:, 2:10] += 2.5 * (batch == "B")[:, None]
    X[:, 10:16] += (age[:, None] - 60) / 3
    return X, y, pd.DataFrame({"age": age, "batch": batch})


def votes(evidence):
    """Return votes on features of the class, on driven ones, and on noise."""
    counts = evidence.counts
    return int(counts[:4].sum()), int(counts[4:16].sum()), int(counts[16:].sum())


@pytest.mark.parametrize("selector", ["fisher", "mrmr", "tree", "rfe", "lasso", "hsic", LogisticRegression()])
def test_features_driven_by_batch_or_age_lose_their_votes(selector):
    X, y, Z = planted()
    settings = {"selector": selector, "n_models": 20, "n_features_per_model": 6, "random_state": 0}
    plain, adjusted = (collect_evidence(X, y, adjust_for=given, **settings) for given in (None, Z))
    (_, driven_before, _), (_, driven, noise) = votes(plain), votes(adjusted)
    assert driven < 0.75 * driven_before
    assert driven / (driven + noise) < 0.4  # 12 of 56 features are driven: they are noise among noise now


def target_of(task, X, y, Z):
    return {
        "binary": y,
        "multiclass": y + (X[:, 0] > 1),
        "multilabel": np.c_[y, X[:, 3] > 1].astype(int),
        "regression": 20 * X[:, 0] + Z["age"].to_numpy(),
        "survival": Survival(np.exp(-X[:, 0] - Z["age"].to_numpy() / 30 + X[:, 1]), np.arange(len(y)) % 3 > 0),
        "unsupervised": None,
    }[task]


@pytest.mark.parametrize(
    ("name", "task"),
    [(name, task) for name in sorted(SELECTORS) for task in TASKS if task in SELECTORS[name].tasks],
)
def test_every_selector_adjusts_for_every_task(name, task):
    X, y, Z = planted(n=60, p=20)
    X[:, 7] = Z["age"]  # nothing is left of it
    settings = {"selector": name, "n_models": 3, "n_features_per_model": 4, "random_state": 0, "task": task}
    found = collect_evidence(X, target_of(task, X, y, Z), adjust_for=Z, **settings)
    assert found.failures == ()
    assert found.counts[7] == 0
    assert found.counts.sum() > 0
    assert found.adjust_for == ("age", "batch")
    assert found.settings["on_residuals"] == ([] if name in EXACT else [name])
    codes = [advice.code for advice in found.advice]
    assert ("adjusted_on_residuals" in codes) is (name not in EXACT)
    assert ("adjusted_without_target" in codes) is (task == "unsupervised")


def test_per_run_selectors_see_residuals_of_their_own_samples():
    X, _, Z = planted(n=40, p=20)
    seen = []

    def watch(values, labels, n_features, rng):
        seen.append((np.array(values), np.array(labels)))
        return [0]

    numbers = 20 * X[:, 0] + Z["age"].to_numpy()
    collect_evidence(X, numbers, selector=watch, n_models=2, random_state=0, adjust_for=Z)
    plan = plan_subsamples(FeatureData.from_table(X, numbers, adjust_for=Z), 0.75)
    A = np.c_[np.ones(40), Z["age"], Z["batch"] == "B"]
    for run, (values, target) in enumerate(seen):
        rows = plan.draw(np.random.default_rng(np.random.SeedSequence(0, spawn_key=(run, 0))))
        fitted = A[rows] @ np.linalg.lstsq(A[rows], X[rows], rcond=None)[0]
        np.testing.assert_allclose(values, X[rows] - fitted, atol=1e-8)
        left = numbers[rows] - A[rows] @ np.linalg.lstsq(A[rows], numbers[rows], rcond=None)[0]
        assert np.corrcoef(target, left)[0, 1] == pytest.approx(1.0)


@pytest.mark.parametrize("selector", ["fisher", "mrmr", "tree"])
def test_gaps_and_covariates_together(selector):
    X, y, Z = planted()
    X[np.random.default_rng(5).random(X.shape) < 0.15] = np.nan
    settings = {"selector": selector, "n_models": 20, "n_features_per_model": 6, "random_state": 0}
    plain, adjusted = (collect_evidence(X, y, missing="available", adjust_for=given, **settings) for given in (None, Z))
    assert adjusted.failures == ()
    _, driven, noise = votes(adjusted)
    assert driven < votes(plain)[1]
    assert driven / (driven + noise) < 0.4


def test_columns_with_gaps_get_their_fair_share_of_votes_of_noise():
    rng = np.random.default_rng(0)
    X, y, Z = rng.normal(size=(60, 200)), np.arange(60) % 2, rng.normal(size=(60, 2))
    X[:, :100][rng.random((60, 100)) < 0.5] = np.nan
    data = FeatureData.from_table(X, y, missing="available", max_missing=0.8, adjust_for=Z)
    for selector in ("fisher", "mrmr"):
        counts = collect_evidence(data, selector=selector, n_models=60, train_size=0.5, random_state=0).counts
        assert 0.3 < counts[:100].sum() / counts.sum() < 0.7


def test_subsamples_have_batches_in_proportion():
    y = np.repeat([0, 1], 40)
    batch = np.r_[np.repeat(["A", "B", "C"], [20, 19, 1]), np.repeat(["A", "B"], [36, 4])]
    data = FeatureData.from_table(np.random.default_rng(0).normal(size=(80, 3)), y, adjust_for=batch.astype(object))
    plan = plan_subsamples(data, 0.5)
    for seed in range(5):
        rows = plan.draw(np.random.default_rng(seed))
        assert [(rows & (y == 1) & (batch == level)).sum() for level in "AB"] == [18, 2]
        assert (rows & (y == 0) & (batch != "B")).sum() in (10, 11)
        assert rows.sum() == 40


def test_too_many_levels_for_a_subsample():
    X, y, _ = planted(n=40)
    levels = np.array([f"site {i % 15}" for i in range(40)], dtype=object)
    with pytest.raises(InputError, match="14 columns once levels are coded") as caught:
        collect_evidence(X, y, n_models=2, train_size=0.4, adjust_for=levels)
    assert caught.value.argument == "adjust_for"


@pytest.mark.parametrize("selector", ["mrmr", "tree"])
def test_ways_to_run_do_not_matter(selector, tmp_path):
    X, y, Z = planted(n=50, p=30)
    settings = {"selector": selector, "n_models": 8, "random_state": 0, "adjust_for": Z}
    want = collect_evidence(X, y, **settings)
    stored = collect_evidence(X, y, **{**settings, "n_models": 3}, checkpoint=tmp_path / "runs")
    resumed = collect_evidence(X, y, **settings, checkpoint=tmp_path / "runs")
    joined = Evidence.join({str(k): collect_evidence(X, y, **settings, part=(k, 3)) for k in (3, 1, 2)})
    with joblib.parallel_config(backend="loky", n_jobs=2):
        in_processes = collect_evidence(X, y, **settings, n_jobs=2)
    threads = collect_evidence(X.astype(np.float32).astype(float), y, **settings, n_jobs=2)
    for found in (resumed, joined, in_processes):
        np.testing.assert_array_equal(found.sets.toarray(), want.sets.toarray())
        assert found.runs == want.runs
    np.testing.assert_array_equal(stored.sets.toarray(), want.sets.toarray()[:3])
    assert threads.n_models == 8
    assert joined.adjust_for == ("age", "batch")
    for other in (None, Z[["age"]]):
        with pytest.raises(EnsembleError, match="another ensemble"):
            collect_evidence(X, y, **{**settings, "adjust_for": other}, checkpoint=tmp_path / "runs")
    want.save(tmp_path / "evidence.npz")
    assert Evidence.load(tmp_path / "evidence.npz").adjust_for == ("age", "batch")


def test_no_covariates_are_the_former_result():
    X, y, _ = planted(n=40, p=20)
    former = collect_evidence(X, y, selector="mrmr", n_models=5, random_state=0)
    assert "adjust_for" not in former.settings
    np.testing.assert_array_equal(
        collect_evidence(X, y, selector="mrmr", n_models=5, random_state=0, adjust_for=None).sets.toarray(),
        former.sets.toarray(),
    )


def test_decisions_find_the_features_beside_covariates():
    X, y, Z = planted(n=50, p=20)
    frame = pd.concat([pd.DataFrame(X, columns=[f"f{j}" for j in range(20)]), Z], axis=1)
    evidence = collect_evidence(
        frame, y, selector="mrmr", n_models=5, n_features_per_model=3, random_state=0, adjust_for=["age", "batch"]
    )
    selection = decide(evidence, constraints=[max_size(3)], X=frame)
    assert selection.data_of_fit(frame).feature_names.tolist() == [f"f{j}" for j in range(20)]
    assert selection.metrics.redundancy is not None
