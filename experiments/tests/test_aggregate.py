"""From rows of splits to rows of cells."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ubayfs
from ubayfs.exceptions import InputError
from ubayfs_experiments.analysis.aggregate import aggregate, stability_of, with_f1


def rows(features, n_features=6, **columns):
    n = len(features)
    base = {
        "method": ["m"] * n,
        "split": range(n),
        "features": features,
        "n_features": [n_features] * n,
        "size": [len(one) for one in features],
        "seconds": [float(i) for i in range(n)],
    }
    return pd.DataFrame(base | columns)


def test_means_and_standard_errors_by_hand():
    frame = rows([(0, 1), (0, 2), (0, 1), (1, 2)], f1=[0.2, 0.4, 0.6, 0.8], red=[1.0, math.nan, 3.0, math.nan])
    (cell,) = aggregate(frame, ["method"], ["f1", "red"]).to_dict("records")
    assert cell["method"] == "m"
    assert cell["n"] == 4
    assert cell["f1_mean"] == pytest.approx(0.5)
    assert cell["f1_sd"] == pytest.approx(math.sqrt((0.09 + 0.01 + 0.01 + 0.09) / 3))
    assert cell["f1_se"] == pytest.approx(cell["f1_sd"] / 2)
    # Two values are missing: the standard error is that of the two others.
    assert cell["red_mean"] == pytest.approx(2.0)
    assert cell["red_se"] == pytest.approx(math.sqrt(2) / math.sqrt(2))
    assert (cell["seconds_mean"], cell["seconds_median"], cell["size_mean"]) == (1.5, 1.5, 2.0)
    # Of 0, 1, 2 and 3 seconds.
    assert cell["seconds_sd"] == pytest.approx(math.sqrt(5 / 3))
    assert (cell["seconds_q1"], cell["seconds_q3"]) == (0.75, 2.25)


def test_a_score_without_any_value_stays_without():
    (cell,) = aggregate(rows([(0,), (1,)], red=[math.nan, math.nan]), ["method"], ["red"]).to_dict("records")
    assert math.isnan(cell["red_mean"])
    assert math.isnan(cell["red_se"])


@given(st.lists(st.sets(st.integers(0, 5)), min_size=2, max_size=8))
def test_stability_is_that_of_the_package(sets):
    mask = np.zeros((len(sets), 6), dtype=bool)
    for row, members in zip(mask, sets, strict=True):
        row[list(members)] = True
    (cell,) = aggregate(rows([tuple(sorted(one)) for one in sets]), ["method"], []).to_dict("records")
    expected = ubayfs.metrics.stability(mask)
    found = [cell[f"stability{part}"] for part in ("", "_low", "_high", "_variance")]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_one_split_has_no_stability_and_no_spread():
    (cell,) = aggregate(rows([(0, 1)], f1=[0.5]), ["method"], ["f1"]).to_dict("records")
    assert cell["f1_mean"] == 0.5
    assert math.isnan(cell["f1_se"])
    assert math.isnan(cell["seconds_sd"])
    assert math.isnan(cell["stability"])


def test_cells_keep_their_order_and_missing_settings_are_a_cell():
    frame = pd.concat([rows([(0,), (1,)]).assign(rho=rho) for rho in ("inf", "0", None)])
    assert aggregate(frame, ["method", "rho"], [])["rho"].tolist()[:2] == ["inf", "0"]
    assert len(aggregate(frame, ["method", "rho"], [])) == 3


def test_an_empty_table_gives_an_empty_table_with_all_columns():
    empty = aggregate(rows([], f1=[]), ["method"], ["f1"])
    assert len(empty) == 0
    assert {"method", "n", "f1_mean", "stability_low", "seconds_median", "seconds_sd"} <= set(empty.columns)


def test_cells_that_are_mixed_are_refused():
    frame = pd.concat([rows([(0,), (1,)]).assign(rho=rho) for rho in ("0", "1")])
    with pytest.raises(InputError, match=r"by must name every column .* \['method'\], split 0 occurs twice"):
        aggregate(frame, ["method"], [])
    with pytest.raises(InputError, match=r"same data; got data of \[6, 7\] features"):
        stability_of(rows([(0,), (1,)]).assign(n_features=[6, 7]))


def test_f1_of_both_classes_by_hand():
    counts = {
        "tp": [3, 0, 0, math.nan],
        "fp": [1, 2, 0, math.nan],
        "fn": [2, 3, 0, math.nan],
        "tn": [4, 5, 4, math.nan],
    }
    frame = with_f1(pd.DataFrame({f"svm_{name}": values for name, values in counts.items()}))
    np.testing.assert_allclose(frame["f1_svm"], [6 / 9, 0.0, 0.0, math.nan])
    np.testing.assert_allclose(frame["f1_other_svm"], [8 / 11, 10 / 15, 1.0, math.nan])
    np.testing.assert_allclose(frame["balanced_svm"], [(3 / 5 + 4 / 5) / 2, (0 + 5 / 7) / 2, math.nan, math.nan])
    assert "f1_logistic" not in frame.columns


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=20))
def test_f1_is_that_of_scikit_learn(pairs):
    from sklearn.metrics import f1_score

    truth, said = np.array(pairs).T
    counts = {"tp": truth & said, "fp": ~truth & said, "fn": truth & ~said, "tn": ~truth & ~said}
    frame = with_f1(pd.DataFrame({f"logistic_{name}": [mask.sum()] for name, mask in counts.items()}))
    assert frame["f1_logistic"].item() == pytest.approx(f1_score(truth, said, zero_division=0.0))
    assert frame["f1_other_logistic"].item() == pytest.approx(f1_score(~truth, ~said, zero_division=0.0))
