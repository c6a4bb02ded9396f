"""Tables and targets: what is read, what is refused and with which words."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.utils.multiclass import type_of_target

from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import InputError, UBayFSError

read = FeatureData.from_table

NUMBERS = [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]


# Tables that are read


def test_arrays_are_not_copied_and_named_by_position(rng):
    X = rng.normal(size=(5, 3))
    data = read(X)
    assert np.shares_memory(data.X, X)
    assert list(data.feature_names) == ["x0", "x1", "x2"]
    assert (data.n_samples, data.n_features) == (5, 3)
    assert data.target.task == "unsupervised"


def test_memory_maps_stay_on_disk(tmp_path, rng):
    mapped = np.memmap(tmp_path / "X.dat", dtype=np.float32, mode="w+", shape=(6, 4))
    mapped[:] = rng.normal(size=(6, 4))
    data = read(mapped)
    assert np.shares_memory(data.X, mapped)
    assert data.X.dtype == np.float32


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.float16, np.float64),
        (np.int8, np.float64),
        (np.uint64, np.float64),
        (bool, np.float64),
        (object, np.float64),
        (">f8", np.float64),
    ],
)
def test_number_types_of_arrays(given, kept):
    data = read(np.array([[0, 1], [1, 1], [1, 0]]).astype(given))
    assert data.X.dtype == kept
    assert data.X.dtype.isnative
    assert_array_equal(data.X, [[0, 1], [1, 1], [1, 0]])


def test_lists_are_tables():
    assert_array_equal(read(NUMBERS).X, NUMBERS)


def test_frames_with_every_kind_of_number():
    frame = pd.DataFrame(
        {
            "float": [1.5, 2.5],
            "int": [1, 2],
            "bool": [True, False],
            "nullable int": pd.array([3, 4], dtype="Int64"),
            "nullable bool": pd.array([True, False], dtype="boolean"),
            "nullable float": pd.array([0.5, 0.25], dtype="Float32"),
            "object": pd.Series([1, 2.5], dtype=object),
        }
    )
    data = read(frame)
    assert data.X.dtype == np.float64
    assert_array_equal(data.X, [[1.5, 1, 1, 3, 1, 0.5, 1], [2.5, 2, 0, 4, 0, 0.25, 2.5]])
    assert list(data.feature_names) == list(frame.columns)


def test_polars_frames_with_every_kind_of_number():
    frame = pl.DataFrame(
        {
            "float": [1.5, 2.5],
            "int": pl.Series([1, 2], dtype=pl.Int16),
            "bool": [True, False],
            "decimal": pl.Series(["1.25", "2.5"]).cast(pl.Decimal(10, 2)),
        }
    )
    data = read(frame, pl.Series(["a", "b"]))
    assert data.X.dtype == np.float64
    assert_array_equal(data.X, [[1.5, 1, 1, 1.25], [2.5, 2, 0, 2.5]])
    assert list(data.feature_names) == ["float", "int", "bool", "decimal"]
    assert list(data.target.classes) == ["a", "b"]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(NUMBERS, dtype="float32"),
        pd.DataFrame(NUMBERS, dtype="Float32"),
        pl.DataFrame(np.array(NUMBERS, dtype=np.float32)),
    ],
    ids=["pandas", "nullable", "polars"],
)
def test_single_precision_frames_stay_single(frame):
    assert read(frame).X.dtype == np.float32
    assert_array_equal(read(frame).X, NUMBERS)


def test_number_labels_become_names():
    assert list(read(pd.DataFrame(NUMBERS, columns=[7, 3])).feature_names) == ["7", "3"]


def test_constant_columns_are_marked_exactly(rng):
    X = rng.normal(size=(50, 4))
    X[:, 1] = 0.1
    X[:, 3] = 1e-300
    X[7, 3] = 2e-300
    assert_array_equal(read(X).constant, [False, True, False, False])


# Tables that are refused


@pytest.mark.parametrize("wide", [False, True], ids=["narrow", "beyond one chunk"])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({1: np.nan}, r"X contains missing values \(NaN\) in column\(s\) 'x1'\..*SimpleImputer in a pipeline"),
        ({2: np.inf}, r"X contains infinite values \(inf\) in column\(s\) 'x2'\."),
        ({0: -np.inf, 2: np.inf}, r"X contains infinite values \(inf\) in column\(s\) 'x0', 'x2'\."),
        ({0: np.nan, 2: np.inf}, r"X contains missing values \(NaN\) and infinite values \(inf\) in .*'x0', 'x2'\."),
    ],
)
def test_missing_and_infinite_values_name_their_columns(values, message, wide, rng):
    X = rng.normal(size=(4, 5000 if wide else 3))
    for column, value in values.items():
        X[2, column] = value
    with pytest.raises(InputError, match=message):
        read(X)


def test_long_lists_of_columns_are_cut():
    with pytest.raises(InputError, match=r"'x0', 'x1', 'x2', 'x3', 'x4' and 3 more"):
        read(np.full((3, 8), np.nan))


def test_huge_finite_values_are_not_mistaken_for_infinite():
    X = np.full((4, 3), 1e308)
    X[0] = 1.0
    assert read(X).n_features == 3


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([1, None], dtype="Int64")}),
        pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([True, None], dtype="boolean")}),
        pd.DataFrame({"a": [1.0, 2.0], "b": pd.Series([1, None], dtype=object)}),
        pd.DataFrame({"a": [1.0, 2.0], "b": [np.nan, 1]}),
        pl.DataFrame({"a": [1.0, 2.0], "b": [1, None]}),
        pl.DataFrame({"a": [1.0, 2.0], "b": [True, None]}),
        pl.DataFrame({"a": [True, False], "b": [True, None]}),
    ],
    ids=["Int64", "boolean", "object", "float", "polars int", "polars bool", "polars all bool"],
)
def test_missing_values_of_frames_name_their_columns(frame):
    with pytest.raises(InputError, match=r"X contains missing values \(NaN\) in column\(s\) 'b'\."):
        read(frame)


def test_missing_values_of_object_and_masked_arrays_are_found():
    with pytest.raises(InputError, match=r"missing values \(NaN\) in column\(s\) 'x1'"):
        read(np.array([[1, None], [2, 3]], dtype=object))
    with pytest.raises(InputError, match=r"missing values \(NaN\) in column\(s\) 'x0'"):
        read(np.ma.masked_equal([[1, 2], [3, 4]], 3))


@pytest.mark.parametrize(
    ("frame", "types"),
    [
        (pd.DataFrame({"gene": [1.0, 2.0], "sex": ["f", 2.0]}), "object"),
        (pd.DataFrame({"gene": [1.0, 2.0], "sex": pd.to_datetime(["2020-01-01", "2020-01-02"])}), "datetime64"),
        (pd.DataFrame({"gene": [1.0, 2.0], "sex": pd.Series(["1", "2"], dtype=object)}), "object"),
        (pd.DataFrame({"gene": [1.0, 2.0], "sex": [1j, 2j]}), "complex128"),
        (pl.DataFrame({"gene": [1.0, 2.0], "sex": pl.Series([[1], {}], dtype=pl.Object)}), "Object"),
    ],
    ids=["mixed", "date", "digits as text", "complex", "polars object"],
)
def test_columns_that_are_not_numbers_are_named(frame, types):
    with pytest.raises(InputError, match=rf"X has non-numeric columns: 'sex' \(type {types}.*categories"):
        read(frame)


@pytest.mark.parametrize(
    "X",
    [
        np.array([["1", "a"], ["2", "b"]], dtype=object),
        np.array([["1", "2"], ["2", "3"]]),
        np.array([[{"foo": "bar"}, 1.0], [2.0, 3.0]], dtype=object),
        np.array([["2020-01-01"], ["2020-01-02"]], dtype="datetime64[D]"),
    ],
    ids=["object", "text", "dict", "dates"],
)
def test_arrays_that_are_not_numbers_name_their_columns(X):
    with pytest.raises(InputError, match=r"X has non-numeric columns: 'x0'"):
        read(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (None, "X is missing; pass a table"),
        (np.empty((0, 3)), r"X has 0 samples.*at least 2 are needed"),
        (np.empty((3, 0)), r"X has no columns \(0 feature"),
        (pd.DataFrame(index=range(3)), r"X has no columns \(0 feature"),
        (np.ones((1, 3)), r"X has only 1 sample; subsamples need at least 2"),
        (np.ones(3), r"X must be a table with rows and columns; got an array of shape \(3,\).*Reshape your data"),
        (pd.Series([1.0, 2.0]), r"got an array of shape \(2,\)"),
        (np.ones((2, 2, 2)), r"got an array of shape \(2, 2, 2\)"),
        ([[1.0, 2.0], [3.0]], "X must be a table whose rows have the same length"),
        ("text", "X must be a table of numbers"),
        (sparse.csr_array(np.ones((1, 3))), r"X has only 1 sample; subsamples need at least 2"),
        (sparse.coo_array(np.ones(3)), r"X must be a table with rows and columns; got an array of shape \(3,\)"),
        (sparse.csc_array((3, 0)), r"X has no columns \(0 feature"),
        (sparse.csr_array(np.eye(3) * 1j), "Complex data not supported: X must hold real numbers"),
        (np.ones((2, 2)) * 1j, "Complex data not supported: X must hold real numbers"),
    ],
)
def test_tables_that_cannot_be_used(X, message):
    with pytest.raises(InputError, match=message):
        read(X)


@pytest.mark.parametrize("labels", [["a", "b", "a"], [1, "1", 2]])
def test_duplicate_names_are_shown(labels):
    shown = "a" if "a" in labels else "1"
    with pytest.raises(InputError, match=rf"X has duplicate feature names: '{shown}'\. Rename them"):
        read(pd.DataFrame(np.ones((2, 3)), columns=labels))


def test_input_errors_are_value_errors_and_ours():
    assert issubclass(InputError, ValueError)
    assert issubclass(InputError, UBayFSError)


# Targets

X4 = np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        ([0, 1, 1, 0], "binary"),
        ([True, False, True, True], "binary"),
        (["a", "b", "b", "a"], "binary"),
        (np.array([0, 1, 1, 0], dtype=object), "binary"),
        (np.array([0.5, 1.5, 2, 2], dtype=object), "regression"),
        (pd.Series([0, 1, 1, 0], dtype="Int64"), "binary"),
        (pd.Series([True, False, True, True], dtype="boolean"), "binary"),
        (pd.Series(["a", "b", "b", "c"], dtype="string"), "multiclass"),
        (pd.Series(["a", "b", "b", "c"], dtype="category"), "multiclass"),
        (pl.Series([0, 1, 2, 2]), "multiclass"),
        (np.array([[0], [1], [2], [2]]), "multiclass"),
        (pd.DataFrame({"y": [0.0, 1.0, 2.0, 2.0]}), "multiclass"),
        ([0.5, 1.5, 2.0, 2.0], "regression"),
        (pd.Series([0.5, 1.5, 2.0, 2.0], dtype="Float64"), "regression"),
        ([[0, 1], [1, 1], [1, 0], [0, 0]], "multilabel"),
        (pd.DataFrame({"u": [0, 1, 1, 0], "v": [1, 1, 0, 0]}), "multilabel"),
        (None, "unsupervised"),
    ],
)
def test_the_task_is_inferred(y, task):
    assert read(X4, y).target.task == task


@pytest.mark.parametrize("labels", ["ab", "abc", [0, 1], [3, 1, 2], [0.5, 1], [0.5, 1, 2], [1.0, 2.0], [1e9, 0.5]])
@pytest.mark.parametrize("kind", [None, str, object])
def test_the_task_is_what_scikit_learn_finds(labels, kind):
    """Most are found without its import, which takes a second."""
    y = np.array(3 * list(labels), dtype=kind)
    expected = type_of_target(y if isinstance(y[0], str) else y.astype(float))
    assert read(np.arange(len(y))[:, None], y).target.task == {"continuous": "regression"}.get(expected, expected)


def test_classes_are_coded_in_sorted_order():
    target = read(X4, ["well", "ill", "ill", "well"]).target
    assert list(target.classes) == ["ill", "well"]
    assert_array_equal(target.values, [1, 0, 0, 1])
    assert list(target.labels) == ["well", "ill", "ill", "well"]
    assert (target.n_classes, target.ordered) == (2, False)


@pytest.mark.parametrize("wrap", [pd.Series, lambda c: c], ids=["Series", "Categorical"])
def test_ordered_categories_keep_their_order(wrap):
    grades = pd.Categorical(["mild", "severe", "none", "mild"], ["none", "mild", "severe", "unused"], ordered=True)
    target = read(X4, wrap(grades)).target
    assert list(target.classes) == ["none", "mild", "severe"]
    assert_array_equal(target.values, [1, 2, 0, 1])
    assert target.ordered


def test_regression_may_be_given_for_whole_numbers():
    target = read(X4, [1, 2, 3, 9], task="regression").target
    assert target.task == "regression"
    assert target.values.dtype == np.float64
    assert target.n_classes == 0


def test_two_classes_are_binary_even_when_multiclass_is_given():
    assert read(X4, [0, 1, 1, 0], task="multiclass").target.task == "binary"


def test_unsupervised_ignores_the_target():
    assert read(X4, [0, 0, 0, 0], task="unsupervised").target.values is None


def test_part_of_a_target_keeps_classes():
    target = read(X4, ["a", "b", "c", "a"]).target
    part = target.take(np.array([True, False, True, True]))
    assert_array_equal(part.values, [0, 2, 0])
    assert list(part.classes) == ["a", "b", "c"]
    assert read(X4).target.take(np.array([0])).values is None


@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        ([0, 1, 0], None, "y must have one entry per sample of X, 4; got 3"),
        ([1, 1, 1, 1], None, r"y has only one class \(1\); a classification needs at least 2 classes"),
        (["a"] * 4, None, r"y has only one class \('a'\)"),
        (1, None, "y must have one entry per sample of X; got the single value 1"),
        ([0, 1, np.nan, 1], None, r"y contains missing values \(NaN\); drop those samples"),
        ([0, 1, None, 1], None, r"y contains missing values \(NaN\)"),
        (pd.Series([0, 1, None, 1], dtype="Int64"), None, r"y contains missing values \(NaN\)"),
        ([0.5, np.inf, 1.5, 2.5], None, r"y contains infinite values \(inf\)"),
        ([1j, 2j, 3j, 4j], None, "Complex data not supported: y must hold real numbers"),
        ([1.5, 1.5, 1.5, 1.5], None, r"y is constant \(1.5 in all samples\)"),
        ([0, 1, 2, 2], "binary", r"task='binary' needs 2 classes; y has 3. Use task='multiclass'"),
        ([0, 1, 2, 2], "regresion", r"task must be one of .*got 'regresion'. Did you mean 'regression'\?"),
        (["a", "b", "c", "d"], "regression", "task='regression' needs a numeric y"),
        (np.ones((4, 2)), "regression", r"task='regression' needs one target column; got y of shape \(4, 2\)"),
        (np.ones((4, 2)), "binary", r"task='binary' needs one column of class labels; got y of shape \(4, 2\)"),
        ([0, 1, 2, 2], "multilabel", r"task='multilabel' needs a 0/1 matrix y.*got shape \(4,\)"),
        ([["a", "b"]] * 4, "multilabel", "task='multilabel' needs a 0/1 matrix y.*1 for samples that have .*got 'a'"),
        (pd.DataFrame({"u": [0, 1, 1, 0], "v": ["yes", "no", "no", "yes"]}), None, "0/1 matrix y.*got 'yes'"),
        (np.array([["yes", "no"], ["no", "no"]] * 2), None, "0/1 matrix y.*got 'yes'"),
        ([[2, 0], [1, 1], [0, 1], [1, 0]], "multilabel", "task='multilabel' needs a 0/1 matrix y"),
        ([[1, 0]] * 4, "multilabel", "every label column of y is constant"),
        (None, "binary", "task='binary' requires y to be passed, but the target y is None"),
        (np.linspace(0, 1, 8).reshape(4, 2), None, "Unknown label type: y is of kind 'continuous-multioutput'"),
        (pd.Series([1, "a", 2, "b"], dtype=object), "multiclass", "y mixes labels that cannot be compared"),
    ],
)
def test_targets_that_cannot_be_used(y, task, message):
    with pytest.raises(InputError, match=message):
        read(X4, y, task=task)


# Groups


@pytest.mark.parametrize(
    "groups",
    [
        ["m1", "m2", "m1", "m3"],
        pd.Series([4, 9, 4, 1]),
        np.array([[4], [9], [4], [1]]),
        pl.Series(["a", "b", "a", "c"]),
    ],
)
def test_groups_are_numbered_by_first_appearance(groups):
    assert_array_equal(read(X4, groups=groups).groups, [0, 1, 0, 2])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2, 3], "groups must have one entry per sample of X, 4; got 3"),
        ([1, 1, 1, 1], r"groups has a single group \(1\); at least 2 are needed"),
        ([1, 2, None, 2], "groups contains missing values; give each sample its group"),
        (np.ones((4, 2)), r"groups must be one column; got shape \(4, 2\)"),
    ],
)
def test_groups_that_cannot_be_used(groups, message):
    with pytest.raises(InputError, match=message):
        read(X4, groups=groups)


# Fingerprints


def test_the_fingerprint_does_not_depend_on_memory_layout(rng):
    X = rng.normal(size=(70, 3))
    names = ["a", "b", "c"]
    frame = pd.DataFrame(X, columns=names)
    prints = {read(table, [0, 1] * 35).fingerprint for table in (frame, pl.DataFrame(X, schema=names))}
    assert len(prints) == 1
    assert read(X).fingerprint == read(np.asfortranarray(X)).fingerprint


def test_every_part_of_the_data_changes_the_fingerprint(rng):
    X = rng.normal(size=(6, 3))
    y = [0, 1, 2, 0, 1, 2]
    grades = pd.Categorical(y, ordered=True)
    moved = X.copy()
    moved[5, 2] = np.nextafter(moved[5, 2], 9)
    variants = [
        read(X, y),
        read(moved, y),
        read(pd.DataFrame(X, columns=["x0", "x1", "other"]), y),
        read(X, [0, 1, 2, 0, 2, 1]),
        read(X, list("abcabc")),
        read(X, grades),
        read(X, y, task="regression"),
        read(X),
        read(X, y, groups=[0, 0, 1, 1, 2, 2]),
        read(X, y, groups=[0, 0, 1, 1, 1, 1]),
        read(X.astype(np.float32), y),
    ]
    assert len({data.fingerprint for data in variants}) == len(variants)


COMPLEX = [1.5 + 0j, 2.5 + 1j, 3.5, 4.5]


@pytest.mark.parametrize("values", [np.array(COMPLEX), np.array(COMPLEX, dtype=object), COMPLEX, pd.Series(COMPLEX)])
@pytest.mark.parametrize("task", [None, "regression", "multiclass", "multilabel"])
def test_complex_targets_and_groups_are_refused(values, task):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match="Complex data not supported: y must hold real numbers") as caught:
            read(X4, values, task=task)
        assert caught.value.argument == "y"
        with pytest.raises(InputError, match="Complex data not supported: groups") as caught:
            read(X4, [0, 1, 0, 1], groups=values)
        assert caught.value.argument == "groups"


@pytest.mark.parametrize("name", ["y", "groups"])
@pytest.mark.parametrize(
    ("ours", "theirs", "fits"),
    [
        (list("abcd"), list("abcd"), True),
        ([3, 1, 2, 0], [3, 1, 2, 0], True),
        (None, None, True),
        (None, list("abcd"), True),  # labels on one side only
        (list("abcd"), None, True),
        ([10, 11, 12, 13], None, True),  # half of a table, and a target made anew
        (list("aabb"), list("aabb"), True),
        (list("abcd"), list("dcba"), False),
        (None, [3, 1, 2, 0], False),  # y.sample(frac=1)
        ([3, 1, 2, 0], None, False),
        (list("abcd"), list("abce"), False),
        (list("abcd"), ["a", "b", "c", 4], False),
        (list("aabb"), list("abab"), False),
        ([10, 11, 12, 13], [20, 21, 22, 23], False),
    ],
)
def test_indexes_of_samples_agree_or_are_refused(name, ours, theirs, fits):
    X = pd.DataFrame(X4, index=ours)
    for labels in (pd.Series([0, 1, 0, 1], index=theirs), pd.DataFrame({"a": [0, 1, 0, 1]}, index=theirs)):
        arguments = {"y": pd.Series([0, 1, 0, 1], index=ours), name: labels}
        if fits:
            assert read(X, **arguments).target.values.tolist() == [0, 1, 0, 1]
            continue
        with pytest.raises(InputError, match=rf"{name} has an index with .*pass {name}.to_numpy\(\)") as caught:
            read(X, **arguments)
        assert caught.value.argument == name
        by_position = {**arguments, name: labels.to_numpy()}
        assert read(X, **by_position).target.values.tolist() == [0, 1, 0, 1]
        assert read(X.to_numpy(), **arguments).target.values.tolist() == [0, 1, 0, 1]


def test_a_shuffled_target_can_be_put_in_order():
    X = pd.DataFrame(X4, index=list("abcd"))
    y = pd.Series([0, 1, 0, 1], index=list("abcd")).loc[list("dbca")]
    with pytest.raises(InputError, match=r"y = y.loc\[X.index\] puts it into the order of X"):
        read(X, y)
    assert read(X, y.loc[X.index]).target.values.tolist() == [0, 1, 0, 1]
