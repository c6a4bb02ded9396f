"""Shuffled targets and halved ensembles: what is split, repeated, stored, cancelled and refused."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

from ubayfs import collect_evidence
from ubayfs._files import load_record, save_record
from ubayfs.data import feature_data
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.target import Target
from ubayfs.exceptions import EnsembleError, EnsembleWarning, InputError
from ubayfs.trust import repeats
from ubayfs.trust.halves import HalfEnsembles, collect_halves, draw_half, plan_halves
from ubayfs.trust.procedure import Procedure, shuffled, take_samples
from ubayfs.trust.repeats import processes_for

SMALL = {"selector": "fisher", "n_models": 8, "n_features_per_model": 2}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 12))
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=40) > 0).astype(int)
    return FeatureData.from_table(X, y)


# Shuffles


def groups_of(*sizes):
    return np.repeat(np.arange(len(sizes)), sizes)


def test_without_groups_any_order_comes_about(rng):
    target = Target("binary", np.array([0, 0, 1]), np.array(list("aab")), np.array(list("ab")))
    found = {"".join(shuffled(target, None, rng).labels) for _ in range(100)}
    assert found == {"aab", "aba", "baa"}


def test_groups_of_one_target_exchange_it_as_a_whole(rng):
    groups, values = groups_of(1, 2, 3, 4), np.repeat([0.0, 1.0, 2.0, 3.0], [1, 2, 3, 4])
    target = Target("regression", values, values)
    seen = set()
    for _ in range(200):
        found = shuffled(target, groups, rng).values
        of_group = [set(found[groups == group]) for group in range(4)]
        assert all(len(own) == 1 for own in of_group)
        assert set.union(*of_group) == {0.0, 1.0, 2.0, 3.0}
        seen.add(tuple(own.pop() for own in of_group))
    assert len(seen) == 24


def test_other_groups_shuffle_within(rng):
    groups, values = np.array([0, 1, 0, 1, 2, 2, 3]), np.array([0, 1, 1, 0, 1, 1, 0])
    target = Target("binary", values, values, np.array([0, 1]))
    seen = set()
    for _ in range(100):
        found = shuffled(target, groups, rng).values
        assert sorted(found[groups == 0]) == sorted(found[groups == 1]) == [0, 1]
        assert sorted([found[4], found[6]]) == [0, 1]
        assert found[4] == found[5]
        seen.add(tuple(found))
    assert len(seen) == 8


def test_all_of_a_sample_of_the_target_stays_together(rng):
    values = np.array([[0, 0], [1, 0], [1, 1]])
    found = shuffled(Target("multilabel", values, values.astype(str)), None, rng)
    assert sorted(map(tuple, found.values)) == [(0, 0), (1, 0), (1, 1)]
    assert (found.labels == found.values.astype(str)).all()


def test_what_is_known_of_the_values_is_computed_once(table, monkeypatch):
    counted = []
    hash_values = feature_data.hash_values
    monkeypatch.setattr(feature_data, "hash_values", lambda X: counted.append(1) or hash_values(X))
    monkeypatch.setattr(feature_data, "outlier_advice", lambda *columns: pytest.fail("nobody asked for it"))
    data = FeatureData.from_table(table.X, table.target.labels)
    collect_halves(data, SMALL, 2, random_state=0)
    assert len(counted) == 1


# Halves


@pytest.mark.parametrize("sizes", [(20, 20), (7, 9), (5, 4, 4, 5), (30, 5)])
def test_halves_are_complementary_and_stratified(rng, sizes):
    y = np.repeat(np.arange(len(sizes)), sizes)
    data = FeatureData.from_table(rng.normal(size=(len(y), 3)), y)
    plan = plan_halves(data, 0.75)
    for _ in range(20):
        first = draw_half(plan, rng)
        assert abs(int(first.sum()) - int((~first).sum())) <= 1
        for label, size in enumerate(sizes):
            assert first[y == label].sum() in {size // 2, size - size // 2}
    draws = np.array([draw_half(plan, rng) for _ in range(400)])
    assert np.abs(draws.mean(axis=0) - 0.5).max() < 0.15


def test_halves_hold_whole_groups(rng):
    groups = groups_of(*rng.integers(1, 5, size=12))
    y = np.arange(12)[groups] % 2
    data = FeatureData.from_table(rng.normal(size=(len(y), 3)), y, groups=groups)
    plan = plan_halves(data, 0.75)
    for _ in range(20):
        first = draw_half(plan, rng)
        assert all(len(set(first[groups == group])) == 1 for group in range(12))
        assert len(set(groups[first])) == 6
        assert len(set(groups[first & (y == 0)])) == 3


def test_samples_are_taken_with_all_that_belongs_to_them(rng):
    X, y, groups = rng.normal(size=(8, 3)), np.array(list("aabbccaa")), np.array([5, 5, 2, 2, 7, 7, 9, 9])
    samples = np.array([0, 0, 1, 1, 1, 1, 0, 0], dtype=bool)
    for values in (X, sparse.csr_array(X)):
        part = take_samples(FeatureData.from_table(values, y, groups=groups), samples)
        assert np.asarray(part.X).tolist() == X[samples].tolist()
        assert part.target.labels.tolist() == list("bbcc")
        assert part.target.classes.tolist() == list("abc")
        assert part.groups.tolist() == [0, 0, 1, 1]


def test_evidence_of_a_half_is_that_of_collect_evidence_on_it(table):
    halves = collect_halves(table, SMALL, n_splits=2, random_state=3)
    for half, samples in ((0, halves.samples[1]), (1, ~halves.samples[1])):
        seed = np.random.SeedSequence(3, spawn_key=(2**31 + 1, 1, 1 + half))
        again = collect_evidence(table.X[samples], table.target.labels[samples], **SMALL, random_state=seed)
        assert (halves.pairs[1][half].sets != again.sets).nnz == 0


def test_sizes_of_sets_are_those_of_all_data(table):
    halves = collect_halves(table, {"selector": "mrmr", "n_models": 3}, n_splits=1, random_state=3)
    assert halves.settings["n_features_per_model"] == 3
    assert set(np.diff(halves.pairs[0][0].sets.indptr)) == {3}


def test_columns_that_are_constant_in_a_half_are_known(rng):
    X = np.column_stack([rng.normal(size=(20, 4)), np.r_[1.0, np.zeros(19)]])
    data = FeatureData.from_table(X, np.arange(20) % 2)
    halves = collect_halves(data, SMALL, n_splits=3, random_state=0)
    for pair, first in zip(halves.pairs, halves.samples, strict=True):
        assert [bool(half.constant[4]) for half in pair] == [not first[0], bool(first[0])]


# Order, progress, cancel, checkpoint


def same(one, other):
    a, b = one.to_arrays(), other.to_arrays()
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)


@pytest.mark.parametrize("selector", ["mrmr", "tree"])
def test_workers_change_nothing(table, selector):
    settings = {**SMALL, "selector": selector}
    expected = collect_halves(table, settings, 5, random_state=1, n_jobs=1)
    assert same(collect_halves(table, settings, 5, random_state=1, n_jobs=3), expected)
    assert not same(collect_halves(table, settings, 5, random_state=2, n_jobs=1), expected)


@pytest.mark.parametrize("selector", ["wide", "tree"])
def test_processes_change_nothing(table, selector, monkeypatch):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(table.X).rename(columns=str)
    frame["kind"] = pd.Categorical(rng.choice(list("abc"), len(frame)))
    frame.iloc[3, 0] = np.nan
    data = FeatureData.from_table(
        frame, table.target.labels, missing="available", adjust_for=rng.normal(size=len(frame))
    )
    settings = {**SMALL, "selector": selector}
    expected = collect_halves(data, settings, 3, random_state=1, n_jobs=1)
    assert processes_for(2, Procedure.from_arguments(data, settings), 3) == 1  # too little to do
    monkeypatch.setattr(repeats, "WORTH_PROCESSES", 0)
    assert processes_for(2, Procedure.from_arguments(data, settings), 3) == 2
    monkeypatch.setattr(repeats.Repeats, "ensemble", None)  # of this process: the others have their own
    assert same(collect_halves(data, settings, 3, random_state=1, n_jobs=2), expected)


def test_selectors_of_others_stay_in_this_process(table, monkeypatch):
    def first_two(X, y, n_features, rng):
        return np.array([0, 1])

    monkeypatch.setattr(repeats, "WORTH_PROCESSES", 0)
    assert processes_for(2, Procedure.from_arguments(table, {**SMALL, "selector": first_two}), 3) == 1
    assert processes_for(1, Procedure.from_arguments(table, SMALL), 3) == 1


def test_processes_end_early_or_fail_as_threads_do(table, monkeypatch):
    monkeypatch.setattr(repeats, "WORTH_PROCESSES", 0)
    seen = []

    def stop_after_three(done, total):
        seen.append((done, total))
        return done < 3

    found = collect_halves(table, SMALL, 8, random_state=1, n_jobs=2, on_progress=stop_after_three)
    assert (found.n_done, found.complete, seen) == (3, False, [(0, 8), (1, 8), (2, 8), (3, 8)])
    one_half = FeatureData.from_table(table.X, np.arange(40) == 7.0, task="regression")  # the other one is constant
    with pytest.raises(EnsembleError, match="is constant in a half"):
        collect_halves(one_half, SMALL | {"selector": "mrmr"}, 20, random_state=1, n_jobs=2)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_cancel_returns_what_is_done(table, n_jobs):
    seen = []

    def stop_after_three(done, total):
        seen.append((done, total))
        return done < 3

    found = collect_halves(table, SMALL, 8, random_state=1, n_jobs=n_jobs, on_progress=stop_after_three)
    assert not found.complete
    assert found.n_done == 3
    assert seen == [(0, 8), (1, 8), (2, 8), (3, 8)]
    everything = collect_halves(table, SMALL, 8, random_state=1)
    assert set(map(tuple, found.samples)) <= set(map(tuple, everything.samples))


def test_a_cancel_within_an_ensemble_leaves_it_out(table):
    calls = []

    def stop(done, total):
        calls.append(done)
        return calls.count(1) < 2

    found = collect_halves(table, {**SMALL, "selector": "tree", "n_models": 60}, 4, random_state=1, on_progress=stop)
    assert found.n_done == 1
    assert [half.n_models for half in found.pairs[0]] == [60, 60]


def test_finished_repeats_are_not_repeated(table, tmp_path):
    runs = []

    def first_two(X, y, n_features, rng):
        runs.append(len(y))
        return np.array([0, 1])

    settings = {**SMALL, "selector": first_two}
    collect_halves(table, settings, 6, random_state=1, checkpoint=tmp_path, on_progress=lambda done, total: done < 2)
    before = len(runs)
    found = collect_halves(table, settings, 6, random_state=1, checkpoint=tmp_path)
    assert before == 2 * (len(runs) - before) / 4
    assert found.complete
    assert same(found, collect_halves(table, settings, 6, random_state=1))
    # Without a random_state the stored one is used again, and nothing is left to do.
    after = len(runs)
    assert same(collect_halves(table, settings, 6, checkpoint=tmp_path), found) == (after == len(runs))


def test_another_ensemble_in_the_checkpoint_is_refused(table, tmp_path):
    collect_halves(table, SMALL, 2, random_state=1, checkpoint=tmp_path)
    for other, words in (({"n_models": 9}, r"models of each \(stored"), ({"selector": "mrmr"}, r"selector \(stored")):
        with pytest.raises(EnsembleError, match=f"belongs to another ensemble; these differ: {words}"):
            collect_halves(table, {**SMALL, **other}, 2, random_state=1, checkpoint=tmp_path)


@pytest.mark.parametrize("damage", ["cut", "foreign"])
def test_a_damaged_file_is_done_again(table, tmp_path, damage):
    expected = collect_halves(table, SMALL, 3, random_state=1, checkpoint=tmp_path)
    path = tmp_path / "splits-00001.npz"
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-9])
    else:
        save_record(path, "ubayfs repeated ensembles", 1, {"ensemble": "other"}, counts=np.zeros(1))
    with pytest.warns(EnsembleWarning, match="done again"):
        assert same(collect_halves(table, SMALL, 3, random_state=1, checkpoint=tmp_path), expected)


# Storage


@pytest.mark.parametrize("n_done", [0, 2])
def test_a_round_trip_through_a_file(table, n_done, tmp_path):
    settings = {**SMALL, "selector": lambda X, y, n_features, rng: [1 // int(rng.random() > 0.2)]}
    found = collect_halves(table, settings, 4, random_state=1, on_progress=lambda done, total: done < n_done)
    path = tmp_path / "some.npz"
    save_record(path, "test", 1, {}, **found.to_arrays())
    again = type(found).from_arrays(load_record(path, "test", 1, ".*")[1])
    assert same(found, again)
    assert (again.n_done, again.settings, again.failures) == (n_done, found.settings, found.failures)
    for pair, other in zip(getattr(found, "pairs", ()), getattr(again, "pairs", ()), strict=True):
        for a, b in zip(pair, other, strict=True):
            assert (a.runs, a.failures, a.settings) == (b.runs, b.failures, b.settings)
            assert a.counts.tolist() == b.counts.tolist()


def test_arrays_that_do_not_fit_are_refused(table):
    arrays, rows = collect_halves(table, SMALL, 2, random_state=1).to_arrays(), "samples"
    about = np.frombuffer(json.dumps([1]).encode(), dtype=np.uint8)
    for wrong in ({}, {**arrays, rows: arrays[rows][:1]}, {**arrays, "about": about}, {**arrays, rows: np.zeros(3)}):
        with pytest.raises(EnsembleError):
            HalfEnsembles.from_arrays(wrong)


# Bad input


def test_ensembles_that_fail_are_left_out_and_named(table):
    def picky(X, y, n_features, rng):
        if shuffles.pop():
            raise ValueError("cannot do that")
        return [0]

    shuffles = [False] * 56 + [True] * 8
    found = collect_halves(table, {**SMALL, "selector": picky}, 4, random_state=0)
    assert found.n_done == 3
    assert found.complete
    assert "cannot do that" in found.failures[0]


def test_threads_leave_the_warning_filters_alone(table):
    """Many estimators of scikit-learn set them for a while, and two threads at a time cannot restore them."""

    def careless(X, y, n_features, rng):
        warnings.simplefilter("ignore", ImportWarning)
        return [0]

    before = list(warnings.filters)
    collect_halves(table, {**SMALL, "selector": careless}, 4, random_state=0, n_jobs=2)
    assert list(warnings.filters) == before


def test_unexpected_errors_are_not_hidden(table):
    def stopped(done, total):
        raise KeyError("from the caller")

    for n_jobs in (1, 2):
        with pytest.raises(KeyError, match="from the caller"):
            collect_halves(table, SMALL, 4, random_state=0, n_jobs=n_jobs, on_progress=stopped)


@pytest.mark.parametrize(
    ("y", "groups", "argument", "match"),
    [
        (list("aaaaaaaabbb"), None, "y", r"3 samples of class 'b'.*at least 4"),
        (list("aaaaaaaabbbb"), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 5], "groups", r"1 group of class 'b'"),
        ([1.5, 2.0, 3.0], None, "train_size", "halves of the samples"),
        (np.arange(8) + 0.5, [1, 1, 1, 1, 1, 2, 2, 2], "groups", r"has 2 groups, .* at least 4, two in each"),
    ],
)
def test_too_few_samples_for_halves(rng, y, groups, argument, match):
    data = FeatureData.from_table(rng.normal(size=(len(y), 5)), y, groups=groups)
    with pytest.raises(InputError, match=match) as error:
        collect_halves(data, {"selector": "mrmr", "n_models": 3}, 2)
    assert error.value.argument == argument


def test_a_target_that_is_constant_in_a_half_leaves_the_split_out(rng):
    y = np.zeros(12)
    y[:2] = 1.0, 2.0
    data = FeatureData.from_table(rng.normal(size=(12, 5)), y, task="regression")
    found = collect_halves(data, {"selector": "mrmr", "n_models": 3}, 12, random_state=0)
    assert 0 < len(found.failures) <= 6
    assert all("constant in a half" in reason for reason in found.failures)
    together = found.samples[:, 0] == found.samples[:, 1]
    assert not together.any()


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"n_splits": 0}, "n_splits"),
        ({"n_splits": 2.5}, "n_splits"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"random_state": -1}, "random_state"),
        ({"on_progress": 3}, "on_progress"),
        ({"ensemble": {"selector": "mrmrr"}}, "selector"),
        ({"ensemble": {"train_size": 2}}, "train_size"),
        ({"ensemble": {"n_models": 0}}, "n_models"),
        ({"ensemble": {"n_features_per_model": 13}}, "n_features_per_model"),
    ],
)
def test_bad_arguments_are_named(table, arguments, argument):
    with pytest.raises(InputError) as error:
        collect_halves(table, **{"ensemble": SMALL, "n_splits": 2, **arguments})
    assert error.value.argument == argument


# Every kind of target


@pytest.mark.parametrize("kind", ["multiclass", "ordered", "multilabel", "regression", "sparse", "gaps", "blocks"])
def test_every_kind_of_target_and_table(rng, kind):
    X, y, selector = rng.normal(size=(36, 6)), rng.integers(0, 3, size=36), "fisher"
    if kind == "ordered":
        y, selector = pd.Series(pd.Categorical(y, ordered=True)), "mrmr"
    if kind == "multilabel":
        y, selector = rng.integers(0, 2, size=(36, 2)), DecisionTreeClassifier(max_depth=2)
    if kind == "regression":
        y, selector = rng.normal(size=36), "mrmr"
    if kind == "sparse":
        X = sparse.csr_array(np.where(X > 0, X, 0))
    if kind in ("gaps", "blocks"):
        X[rng.random(size=X.shape) < 0.1] = np.nan
    data = FeatureData.from_table(X, y, missing="available")
    settings = {**SMALL, "selector": selector}
    found = collect_halves(data, settings, 2, random_state=0)
    assert found.n_done == 2
    assert same(found, collect_halves(data, settings, 2, random_state=0))
