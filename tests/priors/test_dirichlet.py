import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ubayfs.ensemble.evidence import Evidence
from ubayfs.exceptions import InputError
from ubayfs.priors import Dirichlet


def evidence_with_counts(counts, n_models=None):
    """Evidence in which feature i is chosen by the first counts[i] runs."""
    n_models = n_models or max(1, *counts)
    return Evidence.from_sets(np.arange(n_models)[:, None] < np.asarray(counts))


counts_and_weights = st.integers(2, 8).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 20), min_size=n, max_size=n), st.lists(st.floats(1e-3, 50), min_size=n, max_size=n)
    )
)


@given(counts_and_weights)
def test_mean_is_weights_plus_counts(problem):
    counts, weights = problem
    posterior = Dirichlet().update(evidence_with_counts(counts), weights)
    total = sum(weights) + sum(counts)
    np.testing.assert_allclose(posterior.mean, [(w + c) / total for w, c in zip(weights, counts, strict=True)])
    np.testing.assert_array_equal(posterior.counts, counts)


@given(counts_and_weights, st.integers(0, 7))
def test_mean_rises_with_own_count(problem, which):
    counts, weights = problem
    which %= len(counts)
    more = [c + (i == which) for i, c in enumerate(counts)]
    before = Dirichlet().update(evidence_with_counts(counts, 25), weights).mean
    after = Dirichlet().update(evidence_with_counts(more, 25), weights).mean
    others = np.arange(len(counts)) != which
    assert after[which] > before[which]
    assert (after[others] < before[others]).all()


def test_moments_of_draws():
    weights, counts = np.array([0.5, 2.0, 0.01, 1.0]), [3, 0, 1, 8]
    posterior = Dirichlet().update(evidence_with_counts(counts), weights)
    n = 40_000
    theta = posterior.draws(n, random_state=1)
    law = stats.dirichlet(weights + counts)
    standard_error = np.sqrt(law.var() / n)
    assert (np.abs(theta.mean(axis=0) - law.mean()) < 4.5 * standard_error).all()
    np.testing.assert_allclose(np.cov(theta.T), law.cov(), atol=6 * law.var().max() / np.sqrt(n))


def test_marginals_of_tiny_weights_are_beta():
    """The log-space draws follow the Beta law even where plain gamma draws would be 0 / 0."""
    weights = np.array([0.01, 0.02, 0.005])
    theta = Dirichlet().update(evidence_with_counts([0, 0, 0]), weights).draws(4000, random_state=2)
    for i in range(3):
        marginal = stats.beta(weights[i], weights.sum() - weights[i])
        for threshold in (1e-200, 1e-50, 1e-3, 0.5):
            expected = marginal.cdf(threshold)
            error = 5 * np.sqrt(expected * (1 - expected) / 4000)
            assert abs((theta[:, i] < threshold).mean() - expected) < error


def test_interval_is_the_beta_quantile():
    weights, counts = [0.5, 2.0, 0.01], [3, 0, 30]
    posterior = Dirichlet().update(evidence_with_counts(counts), weights)
    lower, upper = posterior.credible_interval(0.9)
    a = np.add(weights, counts)
    np.testing.assert_allclose(lower, stats.beta.ppf(0.05, a, a.sum() - a), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(upper, stats.beta.ppf(0.95, a, a.sum() - a), rtol=1e-9)
    theta = posterior.draws(20_000, random_state=0)
    assert (np.abs(((theta >= lower) & (theta <= upper)).mean(axis=0) - 0.9) < 0.011).all()


def test_interval_shrinks_with_models():
    few = Dirichlet().update(evidence_with_counts([8, 4, 2], 10), 0.01).credible_interval()
    many = Dirichlet().update(evidence_with_counts([800, 400, 200], 1000), 0.01).credible_interval()
    assert (many[1] - many[0] < (few[1] - few[0]) / 5).all()


def test_single_feature():
    posterior = Dirichlet().update(evidence_with_counts([3]), 0.01)
    assert posterior.mean.tolist() == [1.0]
    assert [bound.tolist() for bound in posterior.credible_interval()] == [[1.0], [1.0]]
    assert posterior.draws(2, random_state=0).tolist() == [[1.0], [1.0]]


def test_posterior_cannot_be_changed():
    posterior = Dirichlet().update(evidence_with_counts([3, 1]), 0.01)
    with pytest.raises(ValueError, match="read-only"):
        posterior.mean[0] = 1
    with pytest.raises(AttributeError):
        posterior.mean = None


def test_errors():
    posterior = Dirichlet().update(evidence_with_counts([3, 1]), 0.01)
    with pytest.raises(InputError, match=r"level must be a number in \(0, 1\); got 95"):
        posterior.credible_interval(95)
    with pytest.raises(InputError, match=r"n must be a whole number >= 1; got 0"):
        posterior.draws(0)
    with pytest.raises(InputError, match=r"evidence must be Evidence; got ndarray\. Use collect_evidence"):
        Dirichlet().update(np.ones((2, 2)))
