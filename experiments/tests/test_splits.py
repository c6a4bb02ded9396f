"""Splits of rows: shares, classes, groups, and that they depend on data set, scheme, number and seed alone."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from ubayfs.exceptions import InputError
from ubayfs_experiments.data.catalogue import load
from ubayfs_experiments.data.datasets import Dataset, Source
from ubayfs_experiments.data.splits import make_split
from ubayfs_experiments.runner import SEED


def small(n=83, groups=None, name="small"):
    """A data set of which a third is of class 1."""
    y = (np.arange(n) % 3 == 0).astype(np.int64)
    source = Source(name, name, n, 2, 1)
    return Dataset(source, np.zeros((n, 2)), y, ("a", "b"), groups=groups)


@pytest.mark.parametrize("n", [62, 83, 101, 569])
def test_a_quarter_of_the_rows_and_of_each_class_is_held_out(n):
    dataset = small(n)
    for number in range(5):
        split = make_split(dataset, "random", number, 0)
        assert split.number == number
        assert sorted([*split.train, *split.test]) == list(range(n))
        assert len(split.test) == np.ceil(n / 4)
        for label in (0, 1):
            assert abs((dataset.y[split.test] == label).sum() - (dataset.y == label).sum() / 4) < 1


def test_splits_differ_by_number_seed_data_and_scheme():
    dataset = small(groups=np.array([str(i) for i in range(83)]))
    ways = product(("random", "groups"), range(4), (0, 1))
    splits = [make_split(dataset, scheme, number, seed) for scheme, number, seed in ways]
    splits.append(make_split(small(name="other"), "random", 0, 0))
    assert len({tuple(split.test) for split in splits}) == len(splits)


def test_a_split_does_not_depend_on_what_was_split_before():
    dataset = load("BCW", None, SEED)
    first = [make_split(dataset, "random", number, SEED) for number in range(4)]
    for number in reversed(range(4)):
        again = make_split(dataset, "random", number, SEED)
        assert np.array_equal(first[number].train, again.train)
        assert np.array_equal(first[number].test, again.test)


def test_a_split_does_not_depend_on_values():
    dataset = load("BCW", None, SEED)
    other = replace(dataset, X=np.random.default_rng(0).normal(size=dataset.X.shape))
    assert np.array_equal(make_split(dataset, "random", 3, 0).test, make_split(other, "random", 3, 0).test)


@pytest.mark.parametrize("name", ["MPE", "LSVT"])
def test_no_animal_or_subject_is_on_both_sides_and_both_classes_are(name, data_dir):
    dataset = load(name, data_dir, SEED)
    tests = set()
    for number in range(100):
        split = make_split(dataset, "groups", number, SEED)
        assert sorted([*split.train, *split.test]) == list(range(len(dataset.y)))
        assert set(dataset.groups[split.train]).isdisjoint(dataset.groups[split.test])
        assert set(dataset.y[split.train]) == set(dataset.y[split.test]) == {0, 1}
        assert 0.1 < len(split.test) / len(dataset.y) < 0.4
        tests.add(tuple(split.test))
    assert len(tests) > 90  # LSVT has 14 subjects, which leave few even quarters: some come twice


@pytest.mark.parametrize("name", ["MPE", "LSVT"])
def test_random_splits_share_animals_and_subjects(name, data_dir):
    """Why splits by group are run at all."""
    dataset = load(name, data_dir, SEED)
    split = make_split(dataset, "random", 0, SEED)
    assert not set(dataset.groups[split.train]).isdisjoint(dataset.groups[split.test])


def test_data_without_groups_cannot_be_split_by_them():
    with pytest.raises(InputError, match="small has no groups of rows to split by; use the scheme 'random'"):
        make_split(small(), "groups", 0, 0)


def test_an_unknown_scheme_is_refused():
    with pytest.raises(InputError, match="scheme must be 'random' or 'groups'; got 'group'"):
        make_split(small(groups=np.array(["a"] * 83)), "group", 0, 0)
