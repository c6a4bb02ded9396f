"""Subsamples: exact class shares, whole groups, clear refusals."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ubayfs.data.feature_data import FeatureData
from ubayfs.ensemble.subsampling import allocate, plan_subsamples
from ubayfs.exceptions import InputError


def table(y=None, groups=None, n_samples=None, task=None):
    n = n_samples if y is None else len(y)
    return FeatureData.from_table(np.arange(2.0 * n).reshape(n, 2), y, groups=groups, task=task)


def literal_largest_remainders(sizes, total):
    """Exact fractions, one place at a time to the largest claim left; the earlier stratum wins ties."""
    claims = [Fraction(size * total, sum(sizes)) for size in sizes]
    places = [int(claim) for claim in claims]
    left = [claim - place for claim, place in zip(claims, places, strict=True)]
    while sum(places) < total:
        best = max(range(len(sizes)), key=lambda i: (left[i], -i))
        places[best] += 1
        left[best] = Fraction(-1)
    return places


sizes_of_strata = st.lists(st.integers(1, 40), min_size=1, max_size=7)


@given(sizes_of_strata, st.data())
def test_allocation_is_by_largest_remainders_unless_a_stratum_would_be_empty(sizes, data):
    assume(sum(sizes) > len(sizes))
    total = data.draw(st.integers(len(sizes), sum(sizes) - 1))
    places = allocate(np.array(sizes), total)
    expected = literal_largest_remainders(sizes, total)
    assert places.sum() == total
    assert (places >= 1).all()
    assert (places <= sizes).all()
    if min(expected) > 0:
        assert places.tolist() == expected


@given(
    st.lists(st.integers(2, 30), min_size=2, max_size=6),
    st.floats(0.2, 0.9),
    st.integers(0, 2**32 - 1),
)
def test_stratified_subsamples_hold_exactly_the_share_of_every_class(sizes, train_size, seed):
    n = sum(sizes)
    n_inside = round(train_size * n)
    assume(len(sizes) <= n_inside < n)
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([f"class {i}" for i in range(len(sizes))], sizes))
    data = table(y)
    plan = plan_subsamples(data, train_size)
    expected = literal_largest_remainders(sizes, n_inside)
    for _ in range(3):
        rows = plan.draw(rng)
        assert rows.dtype == bool
        assert rows.sum() == n_inside
        inside = Counter(y[rows])
        assert all(inside[f"class {i}"] >= 1 for i in range(len(sizes)))
        if min(expected) > 0:
            assert [inside[f"class {i}"] for i in range(len(sizes))] == expected


@pytest.mark.parametrize("task", ["regression", "unsupervised", "multilabel"])
def test_plain_subsamples_hold_the_rounded_share(task, rng):
    y = {"regression": rng.normal(size=31), "unsupervised": None, "multilabel": rng.integers(0, 2, (31, 3))}[task]
    plan = plan_subsamples(table(y, n_samples=31), 0.75)
    assert {int(plan.draw(rng).sum()) for _ in range(20)} == {23}


def test_every_row_is_drawn_with_the_same_chance():
    # Binomial(2000, 0.5): 5 standard deviations are 112; fixed seed.
    rng = np.random.default_rng(3)
    plan = plan_subsamples(table(n_samples=10), 0.5)
    counts = sum(plan.draw(rng).astype(int) for _ in range(2000))
    assert np.abs(counts - 1000).max() < 112
    plan = plan_subsamples(table(["a"] * 4 + ["b"] * 12), 0.5)
    counts = sum(plan.draw(rng).astype(int) for _ in range(2000))
    assert np.abs(counts - 1000).max() < 112


@given(st.data(), st.integers(0, 2**32 - 1))
def test_groups_are_never_split_and_two_classes_are_always_inside(data, seed):
    n_groups = data.draw(st.integers(3, 9))
    n_classes = data.draw(st.integers(2, 4))
    rows = st.tuples(st.integers(0, n_groups - 1), st.integers(0, n_classes - 1))
    pairs = data.draw(st.lists(rows, min_size=n_groups, max_size=40))
    pairs += [(group, group % n_classes) for group in range(n_groups)]
    groups, y = (np.array(column) for column in zip(*pairs, strict=True))
    train_size = data.draw(st.floats(0.3, 0.8))
    table_of_mice = table(y, groups=[f"mouse {g}" for g in groups], task="multiclass")
    holders = {c: set(groups[y == c]) for c in set(y)}
    rarest = {min(set(y[groups == g]), key=lambda c: (len(holders[c]), c)) for g in set(groups)}
    if round(train_size * n_groups) < len(rarest):
        with pytest.raises(InputError, match=r"no place in a subsample|in a subsample; at least"):
            plan_subsamples(table_of_mice, train_size)
        return
    plan = plan_subsamples(table_of_mice, train_size)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        inside = plan.draw(rng)
        assert not set(groups[inside]) & set(groups[~inside])
        assert len(set(groups[inside])) == round(train_size * n_groups)
        assert len(set(y[inside])) >= 2


def test_groups_of_one_class_each_are_stratified(rng):
    # 12 patients, 4 ill: three quarters are 9 patients, 3 of them ill.
    groups = np.repeat(np.arange(12), 3)
    y = np.where(groups < 4, "ill", "well")
    plan = plan_subsamples(table(y, groups=groups), 0.75)
    for _ in range(20):
        inside = plan.draw(rng)
        assert len(set(groups[inside & (y == "ill")])) == 3
        assert len(set(groups[inside])) == 9


def test_a_class_that_hides_in_one_mixed_group_stays_inside(rng):
    # Every group has b, one of them a as well: without that group a subsample would have a single class.
    groups = np.repeat(np.arange(10), 4)
    y = np.array(["b"] * 40)
    y[1:4] = "a"
    plan = plan_subsamples(table(y, groups=groups), 0.3)
    assert all(len(set(y[plan.draw(rng)])) == 2 for _ in range(50))


def test_regression_takes_a_share_of_the_groups(rng):
    groups = np.array([0] * 10 + [1] * 2 + [2] * 3 + [3] * 5)
    plan = plan_subsamples(table(rng.normal(size=20), groups=groups), 0.5)
    drawn = [frozenset(groups[plan.draw(rng)]) for _ in range(100)]
    assert {len(d) for d in drawn} == {2}
    assert len(set(drawn)) == 6


def test_a_class_of_one_row_is_refused_by_name():
    with pytest.raises(InputError, match=r"class 'rare' of y has 1 sample\(s\), but .* at least 2.*Merge it"):
        plan_subsamples(table(["a"] * 10 + ["rare"]), 0.75)


def test_a_class_of_one_number_hints_at_regression():
    with pytest.raises(InputError, match=r"class 7 of y has 1 sample\(s\).*use the task 'regression'"):
        plan_subsamples(table([1] * 10 + [2] * 10 + [7]), 0.75)


def test_more_classes_than_places_are_refused():
    message = r"class 'c' of y has 2 sample\(s\) and no place.*train_size=0.2 of 10 samples is 2, and 3 are.*Raise"
    with pytest.raises(InputError, match=message):
        plan_subsamples(table(list("aaaabbbbcc")), 0.2)


def test_more_classes_than_groups_inside_are_refused():
    message = r"class 'a' of y has 1 group\(s\) of its own and no place.*train_size=0.4 of 3 groups is 1, and 3 are"
    with pytest.raises(InputError, match=message):
        plan_subsamples(table(list("aabbcc"), groups=[0, 0, 1, 1, 2, 2]), 0.4)


@pytest.mark.parametrize(
    ("n_samples", "train_size", "message"),
    [
        (10, 0.1, r"train_size=0.1 of 10 samples leaves 1 of them in a subsample; at least 2 are needed. Raise"),
        (10, 0.99, r"train_size=0.99 of 10 samples takes all of them.*Lower train_size to at most 0.9"),
    ],
)
def test_subsamples_that_are_nothing_or_everything_are_refused(n_samples, train_size, message):
    with pytest.raises(InputError, match=message):
        plan_subsamples(table(n_samples=n_samples), train_size)


def test_groups_that_are_nothing_or_everything_are_refused():
    with pytest.raises(InputError, match=r"train_size=0.1 of 3 groups leaves 0 of them"):
        plan_subsamples(table(n_samples=6, groups=[0, 0, 1, 1, 2, 2]), 0.1)
    with pytest.raises(InputError, match=r"train_size=0.9 of 3 groups takes all of them"):
        plan_subsamples(table(n_samples=6, groups=[0, 0, 1, 1, 2, 2]), 0.9)
