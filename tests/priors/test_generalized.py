import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ubayfs.ensemble.evidence import Evidence
from ubayfs.exceptions import InputError
from ubayfs.priors import Dirichlet, GeneralizedDirichlet

SETS = np.array([[1, 1, 0, 0, 1], [1, 0, 0, 1, 0], [1, 1, 0, 0, 0], [0, 0, 0, 1, 1], [1, 0, 0, 1, 0]], dtype=bool)
WEIGHTS = np.array([0.5, 0.01, 2.0, 1.0, 0.3])


def stick_mean(first, second):
    """The mean by the definition, one share after the other."""
    mean, left = [], 1.0
    for a, b in zip(first, second, strict=True):
        mean.append(left * a / (a + b))
        left *= b / (a + b)
    return np.array([*mean, left])


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_default_is_the_dirichlet(n_features, seed):
    rng = np.random.default_rng(seed)
    evidence = Evidence.from_sets(rng.random((15, n_features)) < 0.3)
    weights = 10.0 ** rng.uniform(-3, 1, n_features)
    generalized = GeneralizedDirichlet().update(evidence, weights)
    np.testing.assert_allclose(generalized.mean, Dirichlet().update(evidence, weights).mean, rtol=1e-12)


def test_default_is_the_dirichlet_with_many_features():
    rng = np.random.default_rng(0)
    evidence = Evidence.from_sets(rng.random((10, 100_000)) < 0.001)
    generalized = GeneralizedDirichlet().update(evidence).mean
    np.testing.assert_allclose(generalized, Dirichlet().update(evidence).mean, rtol=1e-9)
    assert generalized.sum() == pytest.approx(1.0, abs=1e-12)


def test_default_draws_follow_the_dirichlet():
    evidence = Evidence.from_sets(SETS)
    n = 20_000
    theta = GeneralizedDirichlet().update(evidence, WEIGHTS).draws(n, random_state=0)
    a = WEIGHTS + evidence.counts
    variance = a * (a.sum() - a) / (a.sum() ** 2 * (a.sum() + 1))
    assert (np.abs(theta.mean(axis=0) - a / a.sum()) < 4.5 * np.sqrt(variance / n)).all()
    np.testing.assert_allclose(theta.var(axis=0), variance, rtol=0.1)


def test_custom_beta_against_simulated_sticks():
    """Posterior by weighting prior sticks with the multinomial likelihood: no conjugacy used."""
    beta = np.array([0.7, 9.0, 1.0, 0.4])
    weights = np.array([1.5, 0.8, 2.0, 1.0, 0.3])
    evidence = Evidence.from_sets(SETS)
    rng = np.random.default_rng(5)
    share = rng.beta(weights[:-1], beta, size=(400_000, 4))
    left = np.cumprod(np.column_stack([np.ones(len(share)), 1 - share]), axis=1)
    theta = np.column_stack([share, np.ones(len(share))]) * left
    weight = np.prod(theta**evidence.counts, axis=1)
    weight /= weight.sum()
    expected = weight @ theta
    error = np.sqrt((weight**2) @ (theta - expected) ** 2)

    posterior = GeneralizedDirichlet(beta=beta).update(evidence, weights)
    assert (np.abs(posterior.mean - expected) < 5 * error).all()
    assert error.max() < 0.01  # the comparison means something
    assert (np.abs(Dirichlet().update(evidence, weights).mean - expected) > 10 * error).any()


def test_custom_beta_against_the_definition():
    beta = np.array([0.7, 3.0, 1.0, 0.4])
    later = [SETS[:, i + 1 :].sum() for i in range(4)]
    posterior = GeneralizedDirichlet(beta=beta).update(Evidence.from_sets(SETS), WEIGHTS)
    expected = stick_mean(WEIGHTS[:-1] + SETS.sum(axis=0)[:-1], beta + later)
    np.testing.assert_allclose(posterior.mean, expected, rtol=1e-13)
    n = 20_000
    theta = posterior.draws(n, random_state=3)
    assert (np.abs(theta.mean(axis=0) - expected) < 4.5 * theta.std(axis=0) / np.sqrt(n)).all()


def test_number_stands_for_all_sticks():
    evidence = Evidence.from_sets(SETS)
    one = GeneralizedDirichlet(beta=2).update(evidence, WEIGHTS).mean
    np.testing.assert_array_equal(one, GeneralizedDirichlet(beta=[2, 2, 2, 2]).update(evidence, WEIGHTS).mean)


@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_sums_to_one(n_features, seed):
    rng = np.random.default_rng(seed)
    evidence = Evidence.from_sets(rng.random((15, n_features)) < 0.3)
    beta = 10.0 ** rng.uniform(-3, 3, n_features - 1)
    mean = GeneralizedDirichlet(beta=beta).update(evidence, 10.0 ** rng.uniform(-3, 1, n_features)).mean
    assert mean.sum() == pytest.approx(1.0, abs=1e-12)
    assert (mean > 0).all()


def test_depends_on_feature_order_with_custom_beta():
    forward = GeneralizedDirichlet(beta=1).update(Evidence.from_sets(SETS), WEIGHTS).mean
    backward = GeneralizedDirichlet(beta=1).update(Evidence.from_sets(SETS[:, ::-1]), WEIGHTS[::-1]).mean[::-1]
    assert np.abs(forward - backward).max() > 0.01


def test_single_feature():
    posterior = GeneralizedDirichlet().update(Evidence.from_sets([[True]]))
    assert posterior.mean.tolist() == [1.0]
    assert posterior.draws(2, random_state=0).tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize(
    ("beta", "message"),
    [
        ([1, 2], r"n_features - 1 = 4 positive numbers, one for each feature but the last; got 2 of shape \(2,\)"),
        ([1, 2, -3, 4], r"entry 2 is -3\.0"),
        ([1, 2, np.inf, 4], r"entry 2 is inf"),
        (0, r"entry 0 is 0\.0"),
        ("large", r"beta must be a positive number or .*; got 'large'"),
        (True, r"got True"),
        ({"a": 1}, r"got {'a': 1}"),
    ],
)
def test_errors(beta, message):
    with pytest.raises(InputError, match=message):
        GeneralizedDirichlet(beta=beta).update(Evidence.from_sets(SETS), WEIGHTS)
