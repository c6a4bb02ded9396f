"""Planted truth: the populations are what they are said to be, and so is what is true of them."""

import numpy as np
import pytest

from ubayfs_experiments.data.catalogue import load
from ubayfs_experiments.data.datasets import Dataset, Source
from ubayfs_experiments.data.planted import KINDS, SHRINKAGE, SOURCES, population


@pytest.fixture(scope="module")
def genes():
    """A small matrix of skewed, correlated genes, one of them constant."""
    rng = np.random.default_rng(3)
    X = np.exp(rng.standard_normal((40, 60)) + 1.5 * rng.standard_normal((40, 1)) * (np.arange(60) < 20))
    X[:, 7] = 2.0
    return Dataset(Source("genes", "", 40, 60, 5), X, np.arange(40) % 2, tuple(f"g{j}" for j in range(60)))


def gauss(name, kind, version=0):
    return population(load(name, None, 0), kind, version)


def correlations(X):
    return np.corrcoef(X, rowvar=False)


def test_gaussian_features_are_correlated_within_blocks_alone(rng):
    R = correlations(gauss("gauss_blocks", "noise").draw(4000, rng)[0])
    same = np.arange(500)[:, None] // 10 == np.arange(500) // 10
    assert R[same & ~np.eye(500, dtype=bool)].mean() == pytest.approx(0.7, abs=0.01)
    assert np.abs(R[~same]).max() < 0.1
    assert np.abs(correlations(gauss("gauss", "noise").draw(4000, rng)[0]) - np.eye(500)).max() < 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_signals_are_as_many_and_as_strong_as_stated(kind, rng):
    truth = gauss("gauss", kind)
    n_signals, strength = KINDS[kind]
    X, y = truth.draw(5000, rng)
    assert len(truth.signals) == n_signals
    assert (X[:, truth.signals] @ truth.weights).std() == pytest.approx(strength, rel=0.1, abs=0.01)
    assert y.mean() == pytest.approx(0.5, abs=0.05)
    # With a logistic target, the probability at a predictor of +1 is that of the logistic function.
    near = np.abs(X[:, truth.signals] @ truth.weights - truth.center - 1) < 0.5
    if n_signals:
        assert y[near].mean() == pytest.approx(1 / (1 + np.exp(-1)), abs=0.06)


def test_what_is_unrelated(rng):
    truth = gauss("gauss", "planted")
    assert sorted(np.flatnonzero(~truth.unrelated)) == list(truth.signals)
    blocks = gauss("gauss_blocks", "planted")
    expected = np.isin(np.arange(500) // 10, blocks.signals // 10)
    assert np.array_equal(~blocks.unrelated, expected)
    assert not (blocks.no_shadow & ~blocks.unrelated).any()
    assert gauss("gauss", "noise").no_shadow.all()


def test_a_shadow_of_the_predictor_is_not_noise(genes, rng):
    truth = population(genes, "planted", 0)
    X, _ = truth.draw(40, rng)
    predictor = X[:, truth.signals] @ truth.weights
    shadow = [j for j in range(60) if j != 7 and abs(np.corrcoef(X[:, j], predictor)[0, 1]) > 0.3]
    assert shadow
    assert np.array_equal(truth.no_shadow, truth.unrelated & ~np.isin(np.arange(60), shadow))


def test_real_samples_stay_and_their_target_is_new(genes, rng):
    truth = population(genes, "planted", 0)
    (X, y), (again, other) = truth.draw(40, rng), truth.draw(40, rng)
    assert truth.real_samples
    assert np.array_equal(X, genes.X)
    assert np.array_equal(again, genes.X)
    assert not np.array_equal(y, other)
    assert 7 not in truth.signals


def test_new_samples_have_the_values_and_shrunken_correlations_of_the_genes(genes, rng):
    from scipy.stats import norm, rankdata

    truth = population(genes, "fresh", 0)
    X, _ = truth.draw(20000, rng)
    assert not truth.real_samples
    assert (X.min(axis=0) >= genes.X.min(axis=0) * (1 - 1e-9)).all()
    assert (X.max(axis=0) <= genes.X.max(axis=0) * (1 + 1e-9)).all()
    varying = np.arange(60) != 7
    assert np.median(X[:, varying], axis=0) == pytest.approx(np.median(genes.X[:, varying], axis=0), rel=0.25)
    R, real = (correlations(norm.ppf((rankdata(x[:, varying], axis=0) - 0.5) / len(x))) for x in (X, genes.X))
    off = ~np.eye(59, dtype=bool)
    slope = (R[off] * real[off]).sum() / (real[off] ** 2).sum()
    assert slope == pytest.approx(1 - SHRINKAGE, abs=0.03)
    assert np.corrcoef(R[off], real[off])[0, 1] > 0.97


def test_a_version_is_a_population_of_its_own():
    assert np.array_equal(gauss("gauss", "few").signals, gauss("gauss", "few").signals)
    assert not np.array_equal(gauss("gauss", "few").signals, gauss("gauss", "few", 1).signals)


@pytest.mark.parametrize("name", SOURCES)
def test_gaussian_data_are_among_the_data_sets(name):
    assert load(name, None, 0).source is SOURCES[name]
