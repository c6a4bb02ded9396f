import numpy as np
import pytest

from survivals import planted, usable_pairs
from ubayfs.data.hazards import CoxPoint, RiskSets, fit_cox
from ubayfs.data.ordered_pairs import OrderedPairs
from ubayfs.data.survival_curves import kaplan_meier
from ubayfs.exceptions import UBayFSError


def minus_log_likelihood(linear, time, event):
    """Breslow's partial likelihood, term by term."""
    total = 0.0
    for i in np.flatnonzero(event):
        total -= linear[i] - np.log(sum(np.exp(linear[j]) for j in range(len(time)) if time[j] >= time[i]))
    return total


def nelson_aalen(t, time, event):
    return sum(np.sum(event & (time == s)) / np.sum(time >= s) for s in np.unique(time[event]) if s <= t)


@pytest.mark.parametrize("ties", [False, True])
def test_null_residuals_are_those_of_the_samples_of_each_run(ties):
    _, y = planted(ties=ties)
    runs = np.random.default_rng(1).random((4, 60)) < 0.7
    found = RiskSets.from_times(y.time, y.event).null_residuals(runs)
    for row, run in zip(found, runs, strict=True):
        expected = [y.event[i] - nelson_aalen(y.time[i], y.time[run], y.event[run]) for i in np.flatnonzero(run)]
        np.testing.assert_allclose(row[run], expected, atol=1e-13)
        assert (row[~run] == 0).all()
        assert abs(row.sum()) < 1e-12


@pytest.mark.parametrize("ties", [False, True])
def test_likelihood_and_its_derivatives(ties):
    _, y = planted(20, ties=ties)
    rng = np.random.default_rng(2)
    linear, z, h = rng.normal(size=20), rng.normal(size=(20, 2)), 1e-5
    risk_sets = RiskSets.from_times(y.time, y.event)
    point = CoxPoint.at(risk_sets, linear)
    assert point.loss == pytest.approx(minus_log_likelihood(linear, y.time, y.event), rel=1e-12)

    def slope(function, direction):
        return (function(linear + h * direction) - function(linear - h * direction)) / (2 * h)

    for column, curved in zip(z.T, point.curved(z).T, strict=True):
        loss = slope(lambda at: minus_log_likelihood(at, y.time, y.event), column)
        assert -loss == pytest.approx(point.residual @ column, abs=1e-7)
        np.testing.assert_allclose(-slope(lambda at: CoxPoint.at(risk_sets, at).residual, column), curved, atol=1e-8)
        np.testing.assert_allclose(point.curved(column), curved, atol=1e-14)


@pytest.mark.parametrize("penalty", [0.0, 3.0])
def test_fit_is_the_minimum_that_a_general_optimizer_finds(penalty):
    from scipy.optimize import minimize

    X, y = planted(40, 3, ties=True)

    def objective(w):
        return minus_log_likelihood(X @ w, y.time, y.event) + penalty / 2 * w @ w

    best = minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-8})
    fit = fit_cox(X, y.time, y.event, penalty)
    np.testing.assert_allclose(fit.coefficients, best.x, atol=1e-5)
    np.testing.assert_allclose(X.T @ fit.residual, penalty * fit.coefficients, atol=1e-9)


def test_fit_and_residuals_without_columns_are_the_null_model():
    _, y = planted()
    expected = RiskSets.from_times(y.time, y.event).null_residuals(np.ones((1, 60)))[0]
    np.testing.assert_allclose(fit_cox(np.empty((60, 0)), y.time, y.event).residual, expected)


def test_perfect_prediction_needs_a_penalty():
    time = np.arange(1.0, 21.0)
    Z = -time[:, None] / 10
    assert fit_cox(Z, time, np.ones(20), 1.0).coefficients[0] > 0
    with pytest.raises(UBayFSError):
        fit_cox(np.column_stack([Z, Z]), time, np.ones(20))


@pytest.mark.parametrize("ties", ["breslow", None])
def test_fit_agrees_with_scikit_survival(ties):
    linear_model = pytest.importorskip("sksurv.linear_model")
    X, y = planted(80, 4, ties=ties is not None)
    for penalty in (0.0, 5.0):
        other = linear_model.CoxPHSurvivalAnalysis(alpha=penalty, ties="breslow", tol=1e-13).fit(X, np.asarray(y))
        np.testing.assert_allclose(fit_cox(X, y.time, y.event, penalty).coefficients, other.coef_, atol=1e-7)


def test_fit_agrees_with_lifelines():
    lifelines = pytest.importorskip("lifelines")
    import pandas as pd

    X, y = planted(80, 3)
    frame = pd.DataFrame(X).assign(time=y.time, event=y.event)
    fit = lifelines.CoxPHFitter().fit(frame, "time", "event")
    np.testing.assert_allclose(fit_cox(X, y.time, y.event).coefficients, fit.params_, atol=1e-6)
    residuals = fit.compute_residuals(frame, "martingale").sort_index()["martingale"]
    np.testing.assert_allclose(fit_cox(X, y.time, y.event).residual, residuals, atol=1e-5)


@pytest.mark.parametrize("of_censoring", [False, True])
def test_kaplan_meier_step_by_step(of_censoring):
    _, y = planted(30, ties=True)
    curve = kaplan_meier(y.time, y.event, of_censoring)
    share = 1.0
    for t in np.unique(y.time):
        n, d = (y.time >= t).sum(), (y.event & (y.time == t)).sum()
        c = (y.time == t).sum() - d
        share *= 1 - (c / max(n - d, 1) if of_censoring else d / n)
        assert curve.at([t])[0] == pytest.approx(share, abs=1e-14)
    assert curve.at([0.0]).tolist() == [1.0]


@pytest.mark.parametrize("ties", [False, True])
def test_agreement_counts_pairs(ties):
    X, y = planted(25, 4, ties=ties)
    X = np.round(X)
    X[3, 1] = X[7, 2] = np.nan
    runs = np.random.default_rng(3).random((3, 25)) < 0.7
    pairs = OrderedPairs.from_times(y.time, y.event)
    all_pairs = usable_pairs(y.time, y.event)
    assert pairs.n_all == len(all_pairs)
    found, present = pairs.agreement(X, runs), pairs.n_present(~np.isnan(X), runs)
    for m, run in enumerate(runs):
        own = [(i, j) for i, j in all_pairs if run[i] and run[j]]
        assert pairs.n_pairs(runs)[m] == len(own)
        for k, x in enumerate(X.T):
            assert found[m, k] == sum(int(x[i] > x[j]) - int(x[i] < x[j]) for i, j in own)
            assert present[m, k] == sum(not np.isnan(x[i] + x[j]) for i, j in own)
