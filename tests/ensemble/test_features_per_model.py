"""Numbers of features that are drawn for each run, and advice on large ones."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.feature_selection import SelectKBest

from ubayfs import Evidence, collect_evidence
from ubayfs.exceptions import Advice, EnsembleError
from ubayfs.selectors import SELECTORS

MOST = 6  # half of the features
SEED = 23  # eight runs have all numbers up to MOST


def first_ones(X, y, n_features, rng):
    return np.arange(n_features)


def backwards(X, y, n_features, rng):
    """What it chooses of few features is not the beginning of what it chooses of many."""
    return np.arange(X.shape[1])[-n_features:]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 2 * MOST))
    return X, (X[:, 0] + X[:, 3] + 0.5 * rng.normal(size=60) > 0).astype(int)


def collect(table, selector, **arguments):
    arguments = {"n_models": 8, "n_features_per_model": "random", "random_state": SEED, **arguments}
    return collect_evidence(*table, selector=selector, **arguments)


def drawn(run):
    """The number of a run, as the documentation has it: the third child of its seed."""
    return int(np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(run, 2))).integers(1, MOST + 1))


@pytest.mark.parametrize(
    "selector",
    [
        *sorted(name for name in SELECTORS if "binary" in SELECTORS[name].tasks),
        first_ones,
        backwards,
        SelectKBest(k=2),
        ["mrmr", "lasso", backwards],
    ],
    ids=lambda selector: selector if isinstance(selector, str) else type(selector).__name__,
)
def test_each_run_chooses_as_if_its_number_had_been_given(table, selector):
    found = collect(table, selector).sets.toarray()
    numbers = [drawn(run) for run in range(8)]
    assert len(set(numbers)) == MOST
    given = {number: collect(table, selector, n_features_per_model=number).sets.toarray() for number in set(numbers)}
    assert_array_equal(found, [given[number][run] for run, number in enumerate(numbers)])


def test_numbers_are_drawn_evenly_from_one_to_half_of_the_features(table):
    sizes = np.diff(collect(table, "fisher", n_models=600).sets.indptr)
    assert set(sizes) == set(range(1, MOST + 1))
    assert np.bincount(sizes)[1:].min() > 70  # of 100 expected, with a standard deviation of 9
    wide = np.random.default_rng(0).normal(size=(40, 200))
    assert np.diff(collect((wide, np.arange(40) % 2), "fisher", n_models=300).sets.indptr).max() == 20
    one = collect((wide[:, :1], np.arange(40) % 2), "fisher", n_models=5)
    assert set(np.diff(one.sets.indptr)) == {1}


@pytest.mark.parametrize("selector", ["fisher", "tree", backwards])
def test_workers_parts_and_checkpoints_change_nothing(table, selector, tmp_path):
    expected = collect(table, selector)
    assert expected.settings["n_features_per_model"] == "random"
    assert expected.advice == ()
    parts = {str(k): collect(table, selector, part=(k, 3)) for k in (1, 2, 3)}
    collect(table, selector, n_models=3, checkpoint=tmp_path)
    variants = [
        collect(table, selector, n_jobs=2),
        collect(table, selector, checkpoint=tmp_path),
        Evidence.join(parts),
    ]
    for evidence in variants:
        assert_array_equal(evidence.sets.toarray(), expected.sets.toarray())
        assert evidence.runs == expected.runs
    with pytest.raises(EnsembleError, match=r"n_features_per_model \(stored 'random', now 6\)"):
        collect(table, selector, n_features_per_model=6, checkpoint=tmp_path)


def test_advice_on_more_than_a_quarter(table, tmp_path):
    assert collect(table, "fisher", n_features_per_model=3).advice == ()
    many = collect(table, "fisher", n_features_per_model=4)  # no Python warning: it was asked for
    expected = Advice("many_features_per_model", {"n_features_per_model": 4, "n_features": 12, "quarter": 3})
    assert many.advice == (expected,)
    assert "4 of 12 features" in str(expected)
    assert many.merge(collect(table, "fisher", random_state=4)).advice == (expected,)
    many.save(tmp_path / "evidence.npz")
    assert Evidence.load(tmp_path / "evidence.npz").advice == (expected,)
    three = table[0][:, :3], table[1]
    assert collect(three, "fisher", n_features_per_model=1).advice == ()
