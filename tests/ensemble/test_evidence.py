"""Evidence: from sets, to and from files, merged."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy import sparse

from ubayfs._files import save_record
from ubayfs.ensemble.evidence import Evidence, RunFailure
from ubayfs.exceptions import EnsembleError, InputError

SETS = np.array([[1, 0, 1], [0, 0, 1]], dtype=bool)
sets_of_any_shape = arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 7)))


def evidence(sets=SETS, names=("a", "b", "c"), runs=("e:0", "e:2"), **settings):
    """Evidence as an ensemble would make it."""
    matrix = sparse.csr_array(np.asarray(sets, dtype=bool))
    failures = (RunFailure(1, "mrmr", "ValueError: no luck", False),)
    constant = np.array([False, True, False])
    return Evidence(matrix, np.array(names, dtype=object), constant, tuple(runs), failures, settings)


def assert_same(first, second):
    assert_array_equal(first.sets.toarray(), second.sets.toarray())
    assert first.sets.dtype == second.sets.dtype == bool
    assert_array_equal(first.feature_names, second.feature_names)
    assert_array_equal(first.constant, second.constant)
    assert first.constant.dtype == second.constant.dtype
    assert (first.runs, first.failures, dict(first.settings)) == (second.runs, second.failures, dict(second.settings))


# From sets


@pytest.mark.parametrize(
    "sets",
    [
        SETS,
        SETS.tolist(),
        SETS.astype(float),
        SETS.astype(object),
        sparse.csr_array(SETS),
        sparse.csc_matrix(SETS),
        sparse.lil_array(SETS),
        sparse.coo_array(([1, 1, 1, 0], ([0, 0, 1, 1], [0, 2, 2, 0])), shape=(2, 3)),
        pd.DataFrame(SETS, columns=["x0", "x1", "x2"]),
        pd.DataFrame(SETS, columns=["x0", "x1", "x2"]).astype("boolean"),
        pl.DataFrame(SETS, schema=["x0", "x1", "x2"]),
    ],
    ids=["bool", "list", "float", "object", "csr", "csc", "lil", "coo with zeros", "frame", "nullable", "polars"],
)
def test_sets_of_any_kind(sets):
    made = Evidence.from_sets(sets)
    assert_array_equal(made.sets.toarray(), SETS)
    assert made.sets.dtype == bool
    assert list(made.feature_names) == ["x0", "x1", "x2"]
    assert made.counts.tolist() == [1, 0, 2]
    assert (made.n_models, made.n_features, made.runs) == (2, 3, ())
    assert not made.constant.any()


@given(sets_of_any_shape)
def test_counts_are_column_sums(sets):
    for form in (sets, sparse.csc_array(sets)):
        made = Evidence.from_sets(form)
        assert_array_equal(made.counts, sets.sum(axis=0))
        assert made.sets.has_canonical_format


def test_names_come_from_the_frame_unless_they_are_given():
    frame = pd.DataFrame(SETS, columns=["u", "v", 3])
    assert list(Evidence.from_sets(frame).feature_names) == ["u", "v", "3"]
    assert list(Evidence.from_sets(frame, ["a", "b", "c"]).feature_names) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("sets", "names", "message"),
    [
        ([1, 0], None, r"sets must be a matrix of shape \(n_models, n_features\); got shape \(2,\)"),
        (np.empty((0, 3)), None, r"got shape \(0, 3\)"),
        ([[0, 2]], None, "sets must hold only True/False or 0/1"),
        ([[0.5, 1]], None, "sets must hold only True/False or 0/1"),
        ([[np.nan, 1]], None, "sets must hold only True/False or 0/1"),
        (np.array([[None, 1]], dtype=object), None, "sets must hold only True/False or 0/1"),
        ([["a", "b"]], None, "sets must hold only True/False or 0/1"),
        (sparse.coo_array(([1, 1], ([0, 0], [0, 0])), shape=(1, 2)), None, "sets must hold only True/False or 0/1"),
        (SETS, ["a"], "feature_names must have one name per feature: 3; got 1"),
        (SETS, ["a", "b", "a"], "feature_names has duplicate names"),
    ],
)
def test_sets_that_are_none(sets, names, message):
    with pytest.raises(InputError, match=message):
        Evidence.from_sets(sets, names)


def test_parts_must_fit_together():
    with pytest.raises(InputError, match="evidence over 3 features needs as many names"):
        evidence(names=("a", "b"))
    with pytest.raises(InputError, match="evidence of 2 runs needs as many identities, or none; got 1"):
        evidence(runs=("e:0",))


def test_the_short_form_tells_the_sizes():
    assert repr(evidence()) == "Evidence(n_models=2, n_features=3, failures=1)"


def test_evidence_can_travel_between_processes():
    assert_same(pickle.loads(pickle.dumps(evidence())), evidence())


# Files


def test_files_hold_everything(tmp_path):
    original = evidence(
        names=("größe", "a\0b", "汉"),
        seed={"entropy": 2**127 + 1, "spawn_key": [1, 2]},
        train_size=0.1 + 0.2,
        selector=["mrmr"],
        grouped=False,
    )
    original.save(tmp_path / "evidence.npz")
    loaded = Evidence.load(str(tmp_path / "evidence.npz"))
    assert_same(loaded, original)
    assert_array_equal(loaded.counts, original.counts)
    assert [path.name for path in tmp_path.iterdir()] == ["evidence.npz"]


@given(sets=sets_of_any_shape)
def test_any_sets_survive_a_file(sets, tmp_path_factory):
    path = tmp_path_factory.mktemp("sets") / "evidence"
    Evidence.from_sets(sets).save(path)
    assert_same(Evidence.load(path), Evidence.from_sets(sets))


def test_files_hold_no_pickle(tmp_path):
    evidence().save(tmp_path / "e.npz")
    with np.load(tmp_path / "e.npz", allow_pickle=False) as archive:
        assert all(archive[name].dtype != object for name in archive.files)


def test_saving_again_replaces_the_file_and_a_failed_write_leaves_it(tmp_path, monkeypatch):
    path = tmp_path / "e.npz"
    evidence(note="old").save(path)
    evidence(note="new").save(path)
    assert Evidence.load(path).settings["note"] == "new"

    def power_loss(*_):
        raise OSError("disk is gone")

    monkeypatch.setattr("os.fsync", power_loss)
    with pytest.raises(EnsembleError, match="disk is gone"):
        evidence(note="newest").save(path)
    assert Evidence.load(path).settings["note"] == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["e.npz"]


def test_every_truncation_and_every_flipped_byte_is_noticed_or_harmless(tmp_path):
    path = tmp_path / "e.npz"
    evidence(seed=1).save(path)
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(EnsembleError, match=r"damaged|cut short"):
            Evidence.load(path)
    n_noticed = 0
    for position in range(0, len(content), 3):
        path.write_bytes(content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :])
        try:
            assert_same(Evidence.load(path), evidence(seed=1))
        except EnsembleError:
            n_noticed += 1
    assert n_noticed > 0


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: None, "does not exist or is not a file"),
        (lambda path: path.mkdir(), "does not exist or is not a file"),
        (lambda path: path.write_text("feature,weight"), "is not ubayfs evidence, or it was cut short"),
        (lambda path: path.write_bytes(pickle.dumps({})), "is not ubayfs evidence, or it was cut short"),
        (lambda path: np.savez(path, X=np.eye(2)), "is not ubayfs evidence: it was not written by ubayfs"),
        (lambda path: np.savez(path, indices=np.array([{}])), "is damaged and cannot be read"),
        (lambda path: save_record(path, "something else", 1, {}), "is not ubayfs evidence"),
        (lambda path: save_record(path, "ubayfs evidence", 2, {}), "has format version 2, but.*up to 1; update ubayfs"),
        (lambda path: save_record(path, "ubayfs evidence", 1, {}), "its parts do not fit together"),
    ],
    ids=["missing", "directory", "text", "pickle", "npz", "npz of objects", "other kind", "newer", "empty"],
)
def test_files_that_are_not_evidence_are_refused(write, message, tmp_path):
    path = tmp_path / "e.npz"
    write(path)
    with pytest.raises(EnsembleError, match=message):
        Evidence.load(path)


def test_a_file_with_columns_out_of_range_is_refused(tmp_path):
    metadata = {"feature_names": ["a", "b"], "runs": [], "failures": [], "settings": {}}
    arrays = {"indptr": np.array([0, 1]), "indices": np.array([5]), "constant": np.zeros(2, bool)}
    save_record(tmp_path / "e.npz", "ubayfs evidence", 1, metadata, **arrays)
    with pytest.raises(EnsembleError, match="its parts do not fit together"):
        Evidence.load(tmp_path / "e.npz")


# Merging


def test_counts_add_up_and_everything_is_kept():
    first = evidence(data_fingerprint="d", seed=1)
    second = evidence(~SETS, runs=("f:0", "f:1"), data_fingerprint="d", seed=2)
    merged = first.merge(second)
    assert_array_equal(merged.sets.toarray(), np.vstack([SETS, ~SETS]))
    assert merged.counts.tolist() == (first.counts + second.counts).tolist()
    assert merged.runs == ("e:0", "e:2", "f:0", "f:1")
    assert merged.failures == first.failures + second.failures
    assert merged.settings["parts"] == [first.settings, second.settings]
    assert merged.settings["data_fingerprint"] == "d"
    assert_array_equal(merged.constant, first.constant)
    assert first.n_models == second.n_models == 2


def test_merging_in_steps_is_merging_at_once():
    parts = [evidence(runs=(f"{i}:0", f"{i}:1"), data_fingerprint="d", seed=i) for i in range(3)]
    assert_same(parts[0].merge(parts[1]).merge(parts[2]), parts[0].merge(*parts[1:]))
    assert_same(parts[0].merge(parts[1].merge(parts[2])), Evidence.merge(*parts))


def test_merged_evidence_survives_a_file(tmp_path):
    merged = evidence(data_fingerprint="d").merge(evidence(runs=("f:0", "f:1"), data_fingerprint="d"))
    merged.save(tmp_path / "merged.npz")
    assert_same(Evidence.load(tmp_path / "merged.npz"), merged)


def test_sets_without_identity_merge_with_anything_over_the_same_features():
    foreign = Evidence.from_sets(SETS, ["a", "b", "c"])
    assert foreign.merge(foreign).runs == ()
    merged = foreign.merge(evidence(data_fingerprint="d"))
    assert merged.runs == ("", "", "e:0", "e:2")
    assert merged.settings["data_fingerprint"] == "d"
    assert_array_equal(merged.constant, [False, True, False])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            evidence(runs=("f:0", "e:2"), data_fingerprint="d"),
            r"1 run\(s\) occur in more than one part.*another random_state",
        ),
        (evidence(data_fingerprint="d"), r"2 run\(s\) occur in more than one part and would count twice"),
        (evidence(runs=("f:0", "f:1"), data_fingerprint="other"), "the parts come from different data"),
        (evidence(names=("a", "c", "b")), "feature 1 is 'b' in part 1 and 'c' in part 2; the same features"),
        (Evidence.from_sets([[1, 0]]), "part 1 has 3 features, part 2 has 2"),
    ],
    ids=["one run twice", "all twice", "other data", "other order", "other number"],
)
def test_what_cannot_be_merged(other, message):
    with pytest.raises(EnsembleError, match=message):
        evidence(data_fingerprint="d").merge(other)


def test_overlap_is_found_behind_a_merge():
    merged = evidence(data_fingerprint="d").merge(evidence(runs=("f:0", "f:1"), data_fingerprint="d"))
    with pytest.raises(EnsembleError, match="would count twice"):
        merged.merge(evidence(runs=("g:0", "f:1"), data_fingerprint="d"))


def test_only_evidence_can_be_merged():
    with pytest.raises(InputError, match="merge takes Evidence; part 2 is ndarray"):
        evidence().merge(SETS)


def test_evidence_cannot_be_changed_after_the_fact():
    given = sparse.csr_array(np.array([[1, 0, 1], [1, 1, 0]], dtype=bool))
    evidence = Evidence.from_sets(given)
    for array in (
        evidence.counts,
        evidence.sets.data,
        evidence.sets.indices,
        evidence.feature_names,
        evidence.constant,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]
    given.data[:] = False  # the caller's own array stays the caller's
    assert evidence.counts.tolist() == [2, 1, 1]


def test_sets_of_unequal_length_are_refused():
    with pytest.raises(InputError, match="sets must be a matrix") as caught:
        Evidence.from_sets([[1, 0], [1]])
    assert caught.value.argument == "sets"


def test_advice_follows_from_what_the_evidence_holds():
    settings = {"n_models": 5}
    evidence = replace(Evidence.from_sets([[1, 0], [0, 1]]), failures=(RunFailure(2, "own", "ValueError: no"),))
    assert [advice.code for advice in evidence.advice] == ["runs_failed"]
    assert evidence.advice[0].facts == {"n_failed": 1, "n_runs": 3, "error": "ValueError: no", "times": 1}
    assert [advice.code for advice in replace(evidence, settings=settings).advice] == ["runs_failed", "runs_cancelled"]
    assert [advice.code for advice in Evidence.from_sets([[0, 0]]).advice] == ["no_votes"]
