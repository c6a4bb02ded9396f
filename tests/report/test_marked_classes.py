"""Which class a feature marks, against loops; levels of categories."""

import numpy as np
import pandas as pd
import pytest

from ubayfs import UBayFSSelector, collect_evidence, decide, max_size
from ubayfs.data.feature_data import FeatureData
from ubayfs.report import summarize
from ubayfs.report.facts import Category
from ubayfs.report.feature_sentences import about_details, mark_text
from ubayfs.report.relations import category_of, marked_class
from ubayfs.report.tables import details


def by_loops(x, member):
    signs = [np.sign(a - b) for a in x[member] for b in x[~member] if not np.isnan(a - b)]
    return np.mean(signs)


@pytest.mark.parametrize("gaps", [False, True])
def test_numbers_mark_the_class_of_the_largest_d(gaps):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.resize(list("abcd"), 50))
    X = rng.normal(size=(50, 6))
    X[:, ::2] -= 3 * (y == "c")[:, None] * [0.9, 1, 1.1]
    X[rng.random(X.shape) < 0.2 * gaps] = np.nan
    data = FeatureData.from_table(X, y, missing="available")
    for j in range(0, 6, 2):
        d = {label: by_loops(X[:, j], y == label) for label in "abcd"}
        found = marked_class(data, j)
        assert found.label == max(d, key=lambda label: abs(d[label]))
        assert found.d == pytest.approx(d[found.label])
        assert found.level is None
    assert marked_class(data, 2).label == "c"
    assert [marked_class(data, j) for j in (1, 3, 5)] == [None] * 3  # no class is marked by chance
    assert mark_text(marked_class(data, 2)).startswith("low in c (D -0.")


def test_noise_marks_no_class():
    rng = np.random.default_rng(2)
    y = rng.permutation(np.resize(list("abcd"), 60))
    data = FeatureData.from_table(rng.normal(size=(60, 400)), y)
    assert sum(marked_class(data, j) is not None for j in range(400)) <= 0.08 * 400


def test_levels_mark_classes():
    y = np.repeat(["a", "b", "c"], 10)
    kind = np.array(["x", "y"] * 5 + ["x", "z"] * 5 + ["z", "y"] * 5)
    kind[y == "b"] = "z"
    kind[0] = "z"
    data = FeatureData.from_table(pd.DataFrame({"kind": kind, "n": np.arange(30.0) % 7}), y)
    found = marked_class(data, 0)
    assert (found.label, found.level) == ("b", "z")
    assert found.d == pytest.approx(1 - (kind[y != "b"] == "z").mean())
    assert category_of(data, 0) == Category(("x", "y", "z"), False, (4, 10, 16))
    assert category_of(data, 1) is None


def test_labels_are_marked_and_two_classes_have_nothing_to_tell():
    rng = np.random.default_rng(1)
    Y = rng.integers(0, 2, (40, 3))
    X = rng.normal(size=(40, 4))
    X[:, 1] += 4 * Y[:, 2]
    assert marked_class(FeatureData.from_table(X, Y), 1).label == "label 2"
    named = pd.DataFrame(Y, columns=["fever", "cough", "rash"])
    assert marked_class(FeatureData.from_table(X, named), 1).label == "rash"
    assert marked_class(FeatureData.from_table(X, Y[:, 0]), 1) is None
    assert marked_class(FeatureData.from_table(X), 1) is None
    ordered = pd.Categorical(rng.permutation(np.resize(["I", "II", "III"], 40)), ["I", "II", "III"], ordered=True)
    assert marked_class(FeatureData.from_table(X, ordered), 1) is None


def test_a_report_shows_marks_and_levels():
    rng = np.random.default_rng(2)
    y = np.repeat(["a", "b", "c"], 20)
    frame = pd.DataFrame(rng.normal(size=(60, 5)), columns=list("pqrst"))
    frame["p"] += 4 * (y == "a")
    frame["kind"] = np.where(y == "b", "x", rng.permutation(np.resize(["y", "z"], 60)))
    evidence = collect_evidence(frame, y, selector="mrmr", n_models=10, n_features_per_model=2, random_state=0)
    data = FeatureData.from_table(frame, y)
    selection = decide(evidence, constraints=[max_size(2)], X=data)
    summary = summarize(selection, n_draws=0, data=data)
    records = {record.feature: record for record in summary.chosen}
    assert set(records) == {"p", "kind"}
    assert records["p"].marks.label == "a"
    assert records["kind"].marks.level == "x"
    (table,) = details(summary)
    assert {"Marks a class", "Levels (samples)"} <= {column.heading for column in table.columns}
    assert any("Somers' D" in line for line in about_details(summary))
    assert UBayFSSelector("mrmr", max_features=2, n_models=5, random_state=0).fit(frame, y).transform(frame).shape == (
        60,
        2,
    )
