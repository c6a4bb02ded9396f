"""Planted truth: the populations are what they are said to be, and so is what is true of them."""

import numpy as np
import pytest

from ubayfs_experiments.data.catalogue import load
from ubayfs_experiments.data.planted import KINDS, SOURCES, population


def gauss(name, kind, version=0):
    return population(load(name, None, 0), kind, version)


def correlations(X):
    return np.corrcoef(X, rowvar=False)


def test_gaussian_features_are_correlated_within_blocks_alone(rng):
    R = correlations(gauss("gauss_blocks", "few").draw(4000, rng)[0])
    same = np.arange(500)[:, None] // 10 == np.arange(500) // 10
    assert R[same & ~np.eye(500, dtype=bool)].mean() == pytest.approx(0.7, abs=0.01)
    assert np.abs(R[~same]).max() < 0.1
    assert np.abs(correlations(gauss("gauss", "few").draw(4000, rng)[0]) - np.eye(500)).max() < 0.1


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
    assert y[near].mean() == pytest.approx(1 / (1 + np.exp(-1)), abs=0.06)


def test_what_is_unrelated(rng):
    truth = gauss("gauss", "planted")
    assert sorted(np.flatnonzero(~truth.unrelated)) == list(truth.signals)
    blocks = gauss("gauss_blocks", "planted")
    expected = np.isin(np.arange(500) // 10, blocks.signals // 10)
    assert np.array_equal(~blocks.unrelated, expected)


def test_a_version_is_a_population_of_its_own():
    assert np.array_equal(gauss("gauss", "few").signals, gauss("gauss", "few").signals)
    assert not np.array_equal(gauss("gauss", "few").signals, gauss("gauss", "few", 1).signals)


@pytest.mark.parametrize("name", SOURCES)
def test_gaussian_data_are_among_the_data_sets(name):
    assert load(name, None, 0).source is SOURCES[name]
