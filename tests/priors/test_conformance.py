"""What every prior of the registry must do."""

import dataclasses
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ubayfs.ensemble.evidence import Evidence
from ubayfs.exceptions import InputError
from ubayfs.priors import PRIORS, Dirichlet, GeneralizedDirichlet, Hyperdirichlet, Posterior, Prior, as_prior

FAST = {
    "dirichlet": Dirichlet(),
    "generalized": GeneralizedDirichlet(),
    "hyperdirichlet": Hyperdirichlet(n_warmup=20, n_draws=32, max_draws=32, n_chains=8),
}
NAMES = ["radius", "area", "texture", "concavity", "symmetry", "fractal"]
SETS = np.array(
    [[1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0], [0, 0, 1, 1, 0, 0], [1, 0, 0, 1, 0, 0]], dtype=bool
)
EVIDENCE = Evidence.from_sets(SETS, NAMES)

each_prior = pytest.mark.parametrize("name", sorted(PRIORS))


def test_every_prior_is_tested():
    assert set(FAST) == set(PRIORS)
    assert all(PRIORS[name].name == name for name in PRIORS)


@each_prior
def test_by_name_and_as_object(name):
    prior = as_prior(name)
    assert type(prior) is PRIORS[name]
    assert as_prior(prior) is prior
    with pytest.raises(dataclasses.FrozenInstanceError):
        prior.anything = 1


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ("dirichlett", r"prior must be one of 'dirichlet', .*; got 'dirichlett'\. Did you mean 'dirichlet'\?"),
        (
            Dirichlet,
            r"prior must be one of .* or a configured prior such as GeneralizedDirichlet\(beta=2\); got <class",
        ),
        (None, r"got None"),
    ],
)
def test_unknown_prior(prior, message):
    with pytest.raises(InputError, match=message):
        as_prior(prior)


@each_prior
def test_posterior(name):
    posterior = FAST[name].update(EVIDENCE, {"size": 2, "fractal": 0.5}, {"size": ["radius", "area"]}, random_state=0)
    assert isinstance(posterior, Posterior)
    assert isinstance(FAST[name], Prior)
    assert posterior.prior == name
    assert posterior.evidence is EVIDENCE
    assert posterior.n_features == 6
    assert posterior.feature_names.tolist() == NAMES
    np.testing.assert_array_equal(posterior.weights, [2, 2, 0.01, 0.01, 0.01, 0.5])
    np.testing.assert_array_equal(posterior.counts, SETS.sum(axis=0))


@each_prior
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32 - 1))
def test_mean_is_a_distribution(name, seed):
    rng = np.random.default_rng(seed)
    n_models, n_features = rng.integers(1, 7, 2)
    evidence = Evidence.from_sets(rng.random((n_models, n_features)) < rng.random())
    weights = 10.0 ** rng.uniform(-3, 1, n_features)
    prior = Hyperdirichlet(n_warmup=5, n_draws=16, max_draws=16) if name == "hyperdirichlet" else FAST[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sixteen sweeps need not converge
        posterior = prior.update(evidence, weights, random_state=0)
    assert posterior.mean.sum() == pytest.approx(1.0, abs=1e-12)
    assert (posterior.mean > 0).all()
    lower, upper = posterior.credible_interval(0.8, n_draws=50)
    assert ((lower >= 0) & (lower <= upper) & (upper <= 1)).all()


@each_prior
@pytest.mark.parametrize("weight", [0.001, 0.01, 1.0, 100.0])
def test_draws_are_distributions(name, weight):
    theta = FAST[name].update(EVIDENCE, weight, random_state=0).draws(500, random_state=0)
    assert theta.shape == (500, 6)
    assert np.isfinite(theta).all()
    assert (theta >= 0).all()
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-12)


@each_prior
def test_draws_without_any_vote_are_finite(name):
    nothing = Evidence.from_sets(np.zeros((2, 6), dtype=bool))
    theta = FAST[name].update(nothing, 0.001).draws(300, random_state=0)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-12)
    assert (theta.max(axis=1) > 0.9).mean() > 0.9  # tiny weights: nearly always one feature takes all


@each_prior
def test_mean_of_draws_is_the_mean(name):
    prior = Hyperdirichlet(n_draws=400, max_draws=400) if name == "hyperdirichlet" else FAST[name]
    posterior = prior.update(EVIDENCE, 0.5, random_state=0)
    n = 20_000
    theta = posterior.draws(n, random_state=1)
    error = theta.std(axis=0) / np.sqrt(n)
    if posterior.diagnostics is not None:
        # Draws reuse the states of the chains, so they inherit the error of the chains.
        error = error + 2 * posterior.diagnostics.monte_carlo_error
    assert (np.abs(theta.mean(axis=0) - posterior.mean) < 4.5 * error).all()


@each_prior
def test_draws_in_pieces_and_reproducible(name, monkeypatch):
    posterior = FAST[name].update(EVIDENCE, 0.5, random_state=0)
    np.testing.assert_array_equal(posterior.draws(7, 3), posterior.draws(7, np.random.default_rng(3)))
    assert (posterior.draws(7, 3) != posterior.draws(7, 4)).any()
    monkeypatch.setattr("ubayfs.priors.base._CHUNK", 20)
    theta = posterior.draws(50, 3)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-12)
    assert len(np.unique(theta[:, 0])) == 50


@each_prior
def test_credible_interval_covers(name, monkeypatch):
    monkeypatch.setattr("ubayfs.priors.base._CHUNK", 2500)  # the features come in pieces of two
    posterior = FAST[name].update(EVIDENCE, 0.5, random_state=0)
    lower, upper = posterior.credible_interval(0.8, n_draws=1000, random_state=5)
    theta = posterior.draws(4000, random_state=6)
    np.testing.assert_allclose(((theta >= lower) & (theta <= upper)).mean(axis=0), 0.8, atol=0.06)
    np.testing.assert_allclose((theta < lower).mean(axis=0), 0.1, atol=0.045)
    wider = posterior.credible_interval(0.99)
    assert (wider[0] < lower).all()
    assert (wider[1] > upper).all()


@pytest.mark.parametrize("name", ["dirichlet", "generalized"])
def test_relabelling_permutes(name, rng):
    """With its default beta the generalized Dirichlet does not depend on the order either."""
    order = rng.permutation(6)
    weights = rng.random(6) + 0.01
    one = FAST[name].update(EVIDENCE, weights).mean
    other = FAST[name].update(Evidence.from_sets(SETS[:, order]), weights[order]).mean
    np.testing.assert_allclose(one[order], other, rtol=1e-12)


@each_prior
def test_bad_weights_are_refused(name):
    with pytest.raises(InputError, match="feature 'radius' has -1"):
        FAST[name].update(EVIDENCE, -1)


@pytest.mark.parametrize("name", ["dirichlet", "generalized"])
def test_total_is_weights_and_all_votes(name):
    weights = np.array([0.5, 1.0, 2.0, 0.01, 3.0, 0.25])
    posterior = FAST[name].update(EVIDENCE, weights)
    assert posterior.total == pytest.approx(weights.sum() + SETS.sum())
    np.testing.assert_allclose(posterior.total * posterior.mean, weights + SETS.sum(axis=0))


def test_total_of_the_hyperdirichlet_counts_runs():
    """A run is one vote, however many features it chose; so is a unit of the weight of a set."""
    weights = np.full(6, 0.5)
    assert FAST["hyperdirichlet"].update(EVIDENCE, weights, random_state=0).total == 3.0 + 5
    prior = dataclasses.replace(FAST["hyperdirichlet"], set_weights={("radius", "area"): 4})
    posterior = prior.update(EVIDENCE, weights, random_state=0)
    assert posterior.total == 3.0 + 5 + 4 == posterior.grouped.total
