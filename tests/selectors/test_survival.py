"""Selectors on survival: the scores one by one, planted truth, gaps, sparse data, checkpoints, too few events."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import ubayfs
from survivals import harrell, planted
from ubayfs import Survival, collect_evidence
from ubayfs.data.hazards import CoxPoint, RiskSets
from ubayfs.data.target import read_target
from ubayfs.exceptions import InputError
from ubayfs.selectors import SELECTORS, Tree, _directions
from ubayfs.selectors._directions import correlation_with, residual_directions, survival_agreement
from ubayfs.selectors._lasso_path import LassoPath, partial_likelihood
from ubayfs.selectors._subsample import standardized
from ubayfs.selectors.scoring import run_scores

FILTERS = pytest.mark.parametrize("name", ["cox", "mrmr"])
ALL = [name for name, selector in SELECTORS.items() if "survival" in selector.tasks]


def runs_of(n_samples, n_models=6, seed=5):
    return np.random.default_rng(seed).random((n_models, n_samples)) < 0.75


@pytest.mark.parametrize("gaps", [False, True])
def test_cox_scores_are_correlations_with_the_residuals_of_the_run(gaps):
    X, y = planted(ties=True)
    X[:, 5] = 1e9 + X[:, 5]
    if gaps:
        X[:20, 3] = np.nan
        X[40:, 4] = np.nan
    target, runs = read_target(y, 60, None), runs_of(60)
    scores = run_scores(correlation_with(residual_directions(target, runs), runs), runs, X)
    for row, run in zip(scores, runs, strict=True):
        own = RiskSets.from_times(y.time[run], y.event[run]).null_residuals(np.ones((1, run.sum())))[0]
        for score, x in zip(row, X[run].T, strict=True):
            there = ~np.isnan(x)
            rho = abs(np.corrcoef(x[there], own[there])[0, 1]) * np.sqrt(there.mean())
            assert score == pytest.approx(rho, abs=1e-7)


@pytest.mark.parametrize("gaps", [False, True])
def test_mrmr_relevance_is_the_index_of_harrell_of_the_run(gaps):
    X, y = planted(40, 4, ties=True)
    X = np.round(X, 1)
    if gaps:
        X[:15, 2] = np.nan
    target, runs = read_target(y, 40, None), runs_of(40, 3)
    found = survival_agreement(target, runs)(X)
    for row, run in zip(found, runs, strict=True):
        for d, x in zip(row, X[run].T, strict=True):
            there = ~np.isnan(x)
            c = harrell(y.time[run][there], y.event[run][there], x[there])
            assert d == pytest.approx((2 * c - 1) * np.sqrt(there.mean()), abs=1e-14)


def test_complete_columns_beside_gaps_score_as_alone():
    X, y = planted(40, 4)
    X[:15, 2] = np.nan
    target, runs = read_target(y, 40, None), runs_of(40, 3)
    agreement = survival_agreement(target, runs)
    np.testing.assert_allclose(agreement(X)[:, :2], agreement(X[:, :2]), atol=1e-15)


@pytest.mark.parametrize("name", [name for name in ALL if name != "laplacian"])
def test_planted_features_are_found(name):
    X, y = planted(120, 15, strength=1.2)
    counts = collect_evidence(X, y, selector=name, n_models=10, n_features_per_model=3, random_state=0).counts
    assert set(np.argsort(-counts)[:2].tolist()) == {0, 1}


@pytest.mark.parametrize("name", ALL)
def test_nobody_censored_one_censored_and_ties(name):
    X, y = planted(ties=True)
    for event in (np.ones(60), np.arange(60) > 0):
        evidence = collect_evidence(X, Survival(y.time, event), selector=name, n_models=3, random_state=0)
        assert evidence.n_models == 3
        assert not evidence.failures


@FILTERS
def test_gaps_groups_sparse_and_precision(name, tmp_path):
    X, y = planted(80, 10, strength=1.5)
    options = {"selector": name, "n_models": 12, "n_features_per_model": 3, "random_state": 0}
    full = collect_evidence(X, y, **options)
    gaps = X.copy()
    gaps[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    counts = collect_evidence(gaps, y, missing="available", **options).counts
    assert set(np.argsort(-counts)[:2].tolist()) == {0, 1}
    grouped = collect_evidence(X, y, groups=np.arange(80) // 2, **options)
    assert grouped.counts[:2].min() == grouped.n_models
    rare = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, thin = (collect_evidence(form(rare), y, **options) for form in (np.asarray, sparse.csr_array))
    np.testing.assert_array_equal(dense.counts, thin.counts)
    single = collect_evidence(X.astype(np.float32), y, **options)
    np.testing.assert_array_equal(single.counts[:2], full.counts[:2])
    collect_evidence(X, y, checkpoint=tmp_path, **{**options, "n_models": 5})
    again = collect_evidence(X, y, checkpoint=tmp_path, **options)
    np.testing.assert_array_equal(again.counts, full.counts)
    with pytest.raises(ubayfs.exceptions.EnsembleError):
        collect_evidence(X, Survival(y.time + 1, y.event), checkpoint=tmp_path, **options)


@FILTERS
def test_a_run_depends_on_its_own_samples_alone(name):
    X, y = planted(50)
    run = runs_of(50, 1)
    selector = SELECTORS[name]
    inside = selector.select_many(X, read_target(y, 50, None), run, 4, [np.random.default_rng(0)])
    alone = selector.select_many(
        X[run[0]], read_target(y[run[0]], run.sum(), None), np.ones((1, run.sum()), bool), 4, [np.random.default_rng(0)]
    )
    np.testing.assert_array_equal(inside, alone)


@pytest.mark.parametrize("ties", [False, True])
def test_lasso_path_satisfies_the_conditions_of_its_minimum(ties):
    X, y = planted(60, 10, ties=ties)
    X = standardized(X)
    path = LassoPath(X, partial_likelihood(RiskSets.from_times(y.time, y.event)))
    n_events = 0
    for event in path.events(0.02 * path.top):
        point = CoxPoint.at(RiskSets.from_times(y.time, y.event), X[:, path.active] @ path.weights)
        correlations = X.T @ point.residual / 60
        others = np.setdiff1d(np.arange(10), path.active)
        assert np.abs(correlations[others]).max(initial=0) <= event.penalty * (1 + 1e-6)
        np.testing.assert_allclose(np.abs(correlations[path.active]), event.penalty, rtol=1e-6)
        assert (np.sign(correlations[path.active]) * path.weights >= -1e-9).all()
        n_events += 1
    assert n_events >= 8


def test_lasso_agrees_with_coxnet():
    linear_model = pytest.importorskip("sksurv.linear_model")
    X, y = planted(80, 8)
    X = standardized(X)
    path = LassoPath(X, partial_likelihood(RiskSets.from_times(y.time, y.event)))
    for event in path.events(0.05 * path.top):
        net = linear_model.CoxnetSurvivalAnalysis(l1_ratio=1.0, alphas=[event.penalty], tol=1e-12, max_iter=1_000_000)
        expected = np.zeros(8)
        expected[path.active] = path.weights
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that all coefficients are 0, where the first column enters
            found = net.fit(X, np.asarray(y)).coef_[:, 0]
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_tree_is_that_of_scikit_learn_on_the_residuals_of_the_run():
    from sklearn.tree import DecisionTreeRegressor

    X, y = planted(70, 6)
    runs = runs_of(70, 4)
    chosen = Tree(max_depth=3).select_many(
        X, read_target(y, 70, None), runs, 3, [np.random.default_rng(run) for run in range(4)]
    )
    for picks, run in zip(chosen, runs, strict=True):
        own = RiskSets.from_times(y.time[run], y.event[run]).null_residuals(np.ones((1, run.sum())))[0]
        shares = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X[run], own).feature_importances_
        assert picks.tolist() == np.argsort(-shares)[:3].tolist()


def test_strata_keep_the_share_of_events():
    X, y = planted(61)
    seen = []

    def look(X, y, n_features, rng):
        assert y.dtype.names == ("event", "time")
        seen.append(int(y["event"].sum()))
        return [0]

    collect_evidence(X, y, selector=look, n_models=8, n_features_per_model=2, random_state=0)
    assert set(seen) == {round(0.75 * y.event.sum())}


def test_too_few_events_in_a_subsample_are_refused():
    X, _ = planted(40)
    y = Survival(np.arange(1, 41), np.arange(40) < 8)
    with pytest.raises(InputError, match="leaves 4 in a subsample") as raised:
        collect_evidence(X, y, selector="cox", n_models=3, train_size=0.5)
    assert raised.value.argument == "train_size"
    with pytest.warns(ubayfs.exceptions.UBayFSWarning, match="8 events"):
        collect_evidence(X, y, selector="cox", n_models=3, random_state=0)


def test_groups_that_leave_a_run_without_events_are_failures_of_that_run():
    X, _ = planted(40)
    event = np.arange(40) < 8  # all in two groups of ten
    with pytest.warns(ubayfs.exceptions.UBayFSWarning):
        evidence = collect_evidence(
            X,
            Survival(np.arange(1, 41), event),
            selector="cox",
            n_models=5,
            groups=(np.arange(40) - 3) // 7,
            random_state=0,
        )
    assert evidence.n_models + len(evidence.failures) == 5


def test_beyond_two_million_pairs_residuals_take_over_with_notice(monkeypatch):
    monkeypatch.setattr(_directions, "MOST_PAIRS", 100)
    X, y = planted(strength=1.5)
    with pytest.warns(ubayfs.exceptions.UBayFSWarning, match="martingale residuals"):
        evidence = collect_evidence(X, y, selector="mrmr", n_models=5, n_features_per_model=2, random_state=0)
    assert [advice.code for advice in evidence.advice] == ["pairs_approximated"]
    assert set(np.argsort(-evidence.counts)[:2].tolist()) == {0, 1}


def test_other_selectors_refuse_survival_and_name_those_that_can():
    X, y = planted()
    with pytest.raises(InputError, match=r"'cox'.*'mrmr'"):
        collect_evidence(X, y, selector="fisher")
