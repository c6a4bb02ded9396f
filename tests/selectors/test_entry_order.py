import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, lars_path
from sklearn.utils.fixes import parse_version

from ubayfs.exceptions import InputError
from ubayfs.selectors._lasso_path import LassoPath, squares
from ubayfs.selectors._lasso_path import logistic as logistic_loss
from ubayfs.selectors.entry_order import EntryOrder
from ubayfs.selectors.lasso import Lasso

# scikit-learn 1.8 has l1_ratio alone say what penalty="l1" said before, and deprecates the penalty.
L1 = {"l1_ratio": 1.0} if parse_version(sklearn.__version__) >= parse_version("1.8") else {"penalty": "l1"}


def standardize(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def literal_lasso(X, y, penalty, logistic, n_steps=60_000, tolerance=1e-13):
    """Accelerated proximal gradient steps on all columns; intercept free. Returns (intercept, weights)."""
    n, p = X.shape
    Z = np.column_stack([np.ones(n), X])
    rate = (4 if logistic else 1) * n / np.linalg.norm(Z, 2) ** 2
    theta = previous = np.zeros(p + 1)
    momentum = 1.0
    for _ in range(n_steps):
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        point = theta + (momentum - 1) / next_momentum * (theta - previous)
        response = Z @ point
        if logistic:
            response = 1 / (1 + np.exp(-response))
        new = point + rate * Z.T @ (y - response) / n
        new[1:] = np.sign(new[1:]) * np.maximum(np.abs(new[1:]) - rate * penalty, 0)
        if (new - theta) @ (point - new) > 0:  # restart when the momentum points uphill
            next_momentum = 1.0
        previous, theta, momentum = theta, new, next_momentum
        if np.abs(theta - previous).max() < tolerance:
            break
    return theta[0], theta[1:]


def full_weights(path, p):
    weights = np.zeros(p)
    weights[path.active] = path.weights
    return weights


def problem(seed, n, p, logistic, correlation=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + correlation * rng.normal(size=(n, 1))
    score = X[:, 0] - 2 * X[:, p // 2] + X[:, p - 1] + rng.normal(size=n) * 2
    y = (score > np.median(score)).astype(float) if logistic else standardize(score)
    return standardize(X), y


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize(("n", "p"), [(40, 8), (20, 50)])
def test_solution_at_every_event_is_that_of_a_literal_solver(logistic, n, p):
    X, y = problem(1, n, p, logistic)
    path = LassoPath(X, (logistic_loss if logistic else squares)(y))
    n_events = 0
    for event in path.events(0.1 * path.top):
        intercept, weights = literal_lasso(X, y, event.penalty, logistic)
        np.testing.assert_allclose(full_weights(path, p), weights, atol=1e-6)
        assert path.intercept == pytest.approx(intercept, abs=1e-6)
        n_events += 1
    assert n_events >= 5


@given(seed=st.integers(0, 10**6), n=st.integers(8, 40), p=st.integers(2, 40), logistic=st.booleans())
def test_optimality_conditions_hold_at_and_between_events(seed, n, p, logistic):
    X, y = problem(seed, n, p, logistic)
    path = LassoPath(X, (logistic_loss if logistic else squares)(y))
    last = path.top * (1 + 1e-9)
    for event in path.events(0.01 * path.top):
        assert event.penalty <= last * (1 + 1e-9)
        last = event.penalty
        weights = full_weights(path, p)
        response = path.intercept + X @ weights
        residual = y - (1 / (1 + np.exp(-response)) if logistic else response)
        correlations = X.T @ residual / n
        slack = 1e-7 * path.top
        assert abs(residual.mean()) < slack
        assert np.abs(correlations).max() <= event.penalty + slack
        active = weights != 0
        np.testing.assert_allclose(correlations[active], event.penalty * np.sign(weights[active]), atol=slack)
        assert event.enters == (event.feature in path.active)


@given(seed=st.integers(0, 10**6), n=st.integers(6, 30), p=st.integers(2, 60))
def test_linear_path_is_that_of_lars(seed, n, p):
    X, y = problem(seed, n, p, logistic=False)
    alphas, _, coefs = lars_path(X, y, method="lasso")
    path = LassoPath(X, squares(y))
    events = list(path.events(0.05 * path.top))
    knots = alphas[alphas > 0.05 * path.top * (1 + 1e-6)]
    np.testing.assert_allclose([e.penalty for e in events][: len(knots)], knots, rtol=1e-6)
    # Between two knots the same columns are active.
    active = set()
    for k, event in enumerate(events[: len(knots) - 1]):
        active = active | {event.feature} if event.enters else active - {event.feature}
        assert active == set(np.flatnonzero(np.abs(coefs[:, k] + coefs[:, k + 1]) > 1e-10))


def test_logistic_solution_is_that_of_saga(cancer):
    X, y = standardize(cancer[0].to_numpy()), cancer[1].to_numpy().astype(float)
    path = LassoPath(X, logistic_loss(y))
    events = []
    for event in path.events(1e-4 * path.top):
        events.append(event)
        if len(path.active) == 10:
            break
    penalty = events[-1].penalty
    other = LogisticRegression(
        C=1 / (penalty * len(y)), solver="saga", tol=1e-9, max_iter=100_000, random_state=0, **L1
    ).fit(X, y)
    np.testing.assert_allclose(full_weights(path, 30), other.coef_[0], atol=1e-4)
    chosen = EntryOrder()(*cancer, 10, np.random.default_rng(0))
    assert len(chosen) == 10
    assert chosen.tolist() == path.active


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_chosen_features_are_those_active_under_one_penalty(task, rng):
    X = rng.normal(size=(60, 30))
    score = X[:, 3] - X[:, 7] + 0.5 * X[:, 11] * (X[:, 3] > 0) + rng.normal(size=60)
    y = {"binary": score > 0, "multiclass": np.digitize(score, [-1, 1]), "regression": score}[task]
    chosen = EntryOrder()(X, y, 6, rng)
    assert len(chosen) == 6
    logistic = task != "regression"
    outputs = [standardize(score)] if task == "regression" else [(y == c) * 1.0 for c in np.unique(y)]
    X = standardize(X)

    def first_active(penalty):
        weights = [literal_lasso(X, output, penalty, logistic)[1] for output in outputs]
        return set(np.flatnonzero((np.abs(weights) > 1e-9).any(axis=0)))

    # Halving finds the largest penalty with 6 active features; entering one by one, 5 just above it.
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if len(first_active(middle)) >= 6 else (low, middle)
    assert set(chosen) == first_active(low)
    assert set(chosen[:5]) == first_active(high)
    for n_features in range(1, 6):
        np.testing.assert_array_equal(EntryOrder()(X, y, n_features, rng), chosen[:n_features])


def test_copies_of_a_column_never_enter_beside_it(rng):
    X = rng.normal(size=(30, 6))
    y = X[:, 1] + X[:, 4] + 0.5 * rng.normal(size=30)
    for target in (y, y > 0, np.digitize(y, [-1, 1])):
        once = EntryOrder()(X, target, 6, rng)
        np.testing.assert_array_equal(EntryOrder()(np.column_stack([X, X, -X]), target, 6, rng), once)
        np.testing.assert_array_equal(EntryOrder()(np.column_stack([X, X + 1e-14]), target, 6, rng), once)


def test_tied_features_enter_by_position():
    # Orthogonal columns with equal correlation to y.
    X = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]] * 5, dtype=float)
    y = X @ [1.1, 1.1, 0.0]
    np.testing.assert_array_equal(EntryOrder()(X[:, [2, 1, 0]], y, 3, np.random.default_rng(0)), [1, 2])
    np.testing.assert_array_equal(EntryOrder()(X, y, 1, np.random.default_rng(0)), [0])


def test_few_rows_and_few_columns(rng):
    X = rng.normal(size=(6, 40))
    for y in ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2], rng.normal(size=6)):
        chosen = EntryOrder()(X, y, 20, rng)
        assert 1 <= len(chosen) <= 20
        assert len(set(chosen)) == len(chosen)
    assert set(EntryOrder()(X[:, :2], [0, 0, 0, 1, 1, 1], 10, rng)) <= {0, 1}
    # A column that separates the classes perfectly.
    X[:, 9] = [0, 0, 0, 1, 1, 1]
    assert EntryOrder()(X, [0, 0, 0, 1, 1, 1], 3, rng)[0] == 9


def test_smallest_penalty_ends_the_walk(rng):
    X = rng.normal(size=(40, 20))
    y = X[:, 0] + 0.1 * rng.normal(size=40)
    np.testing.assert_array_equal(EntryOrder(min_penalty=0.9)(X, y, 20, rng), [0])
    assert len(EntryOrder()(X, y, 20, rng)) > 10
    with pytest.raises(InputError, match=r"min_penalty must be a number in \(0, 1\); got 0"):
        Lasso(order="entry", min_penalty=0)
