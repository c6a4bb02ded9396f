"""The tables of the report, from hand-made runs."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ubayfs
from ubayfs_experiments.analysis import tables as report_tables

COUNTS = {"tp": 6, "fp": 3, "fn": 2, "tn": 1}


def decisions(**columns):
    base = {
        "experiment": "optimizers", "data": "D", "scheme": "random", "method": "m", "n_features": 4, "size": 2,
        "problem": "plain", "value": 1.0, "bound": 1.0, "gap": 0.0,
    }  # fmt: skip
    return pd.DataFrame(base | columns)


def test_optimizers_by_hand():
    exact = decisions(
        optimizer="exact", split=[0, 1], features=[(0, 1), (0, 1)], seconds=[1.0, 3.0], loss=0.0, missed=0.0
    )
    genetic = decisions(
        optimizer="genetic",
        split=[0, 1],
        features=[(0, 1), (0, 2)],
        seconds=[10.0, 30.0],
        loss=[0.0, 0.5],
        missed=[0.0, 1.0],
    )
    (row,) = report_tables.optimizer_table(pd.concat([exact, genetic])).to_dict("records")
    assert row == {
        "data": "D", "problem": "plain", "optimizer": "genetic", "runs": 2, "missed": 0.5, "loss_mean": 0.25,
        "loss_max": 0.5, "stability_exact": 1.0, "stability": pytest.approx(0.0), "seconds_exact": 2.0, "seconds": 20.0,
    }  # fmt: skip


def predictions(tp, **columns):
    n = len(tp)
    base = {
        "data": "D", "scheme": "random", "scenario": "standard", "method": "m", "variant": "main", "split": range(n),
        "features": [(0, 1)] * n, "n_features": 4, "size": 2, "seconds": 1.0,
    }  # fmt: skip
    hits = np.array(tp)
    counts = {"tp": hits, "fn": 10 - hits, "tn": hits, "fp": 10 - hits}
    scores = {f"{predictor}_{name}": values for predictor in ("logistic", "svm") for name, values in counts.items()}
    return pd.DataFrame(base | scores | columns)


def test_controls_by_hand():
    frame = pd.concat([predictions([9, 9, 9], target="true"), predictions([4, 5, 8], target="shuffled")])
    (row, _) = report_tables.control_table(frame).to_dict("records")
    assert (row["predictor"], row["n"], row["true"], row["true_se"]) == (
        "logistic",
        3,
        pytest.approx(0.9),
        pytest.approx(0),
    )
    error = np.std([0.4, 0.5, 0.8], ddof=1) / np.sqrt(3)
    assert row["shuffled_se"] == pytest.approx(error)
    assert row["z"] == pytest.approx((17 / 30 - 0.5) / error)


def test_one_target_alone_is_shown():
    (row, _) = report_tables.control_table(predictions([9, 8], target="true")).to_dict("records")
    assert row["true"] == pytest.approx(0.85)
    assert np.isnan(row["shuffled"])


def test_schemes_by_hand():
    frame = pd.concat([predictions([9, 8, 9]), predictions([6, 6, 6], scheme="groups")])
    (row,) = report_tables.scheme_table(frame).to_dict("records")
    assert (row["data"], row["f1_svm_random"], row["f1_svm_groups"]) == (
        "D",
        pytest.approx(2.6 / 3),
        pytest.approx(0.6),
    )
    assert row["f1_svm_se_random"] == pytest.approx(np.std([0.9, 0.8, 0.9], ddof=1) / math.sqrt(3))
    assert row["f1_svm_se_groups"] == pytest.approx(0.0)
    assert report_tables.scheme_table(predictions([9, 9])).empty


def test_stability_stands_with_its_interval():
    sets = [(0, 1), (0, 2), (0, 1), (1, 3)]
    frame = pd.concat([predictions([9] * 4, features=sets), predictions([6] * 4, scheme="groups")])
    (row,) = report_tables.scheme_table(frame).to_dict("records")
    expected = ubayfs.metrics.stability(np.array([[f in one for f in range(4)] for one in sets]))
    found = tuple(row[f"stability{part}_random"] for part in ("", "_low", "_high"))
    assert found == pytest.approx((expected.value, expected.lower, expected.upper))
    assert row["stability_groups"] == pytest.approx(1.0)


def test_both_leukemia_data_have_f1_of_the_same_class():
    # F1 is 12/17 for y = 1 and 2/7 for y = 0 in both; ALL is y = 1 of LEU and y = 0 of LEU_golub.
    counts = {f"{one}_{name}": value for one in ("logistic", "svm") for name, value in COUNTS.items()}
    frame = pd.concat([predictions([9, 9], data=data, **counts) for data in ("LEU", "LEU_golub")])
    (row,) = report_tables.leukemia_table(frame).to_dict("records")
    for one in ("logistic", "svm"):
        assert row[f"f1_{one}_LEU"] == row[f"f1_other_{one}_LEU_golub"] == pytest.approx(12 / 17)
        assert row[f"f1_{one}_LEU_golub"] == row[f"f1_other_{one}_LEU"] == pytest.approx(2 / 7)
    assert report_tables.leukemia_table(predictions([9, 9], data="LEU")).empty


def test_what_was_chosen_by_hand():
    sets = [(0, 1), (0, 1), (0, 1, 2)]
    frame = pd.concat(
        [
            predictions([9] * 3, data="BCW", scenario="block", features=sets, size=[2, 2, 3], n_blocks=[1.0, 2.0, 3.0]),
            predictions([9] * 3, data="PRO", n_blocks=np.nan),
            predictions([9] * 3, data="PRO", variant="another", n_blocks=np.nan),
        ]
    )
    blocks, plain = report_tables.chosen_table(frame).to_dict("records")
    assert {name: blocks[name] for name in ("data", "n", "wanted", "size_mean", "size_min", "size_max")} == {
        "data": "BCW", "n": 3, "wanted": 5, "size_mean": pytest.approx(7 / 3), "size_min": 2, "size_max": 3,
    }  # fmt: skip
    assert (blocks["wanted_blocks"], blocks["n_blocks_mean"], blocks["different_sets"]) == (1, 2.0, 2)
    assert (plain["data"], plain["wanted"], plain["different_sets"]) == ("PRO", 20, 1)
    assert np.isnan(plain["wanted_blocks"])
    assert np.isnan(plain["n_blocks_mean"])


def test_blocks_that_are_wanted_in_block_selection_alone():
    frame = predictions([9, 9], data="BCW", n_blocks=2.0)
    (row,) = report_tables.chosen_table(frame).to_dict("records")
    assert np.isnan(row["wanted_blocks"])
    assert row["n_blocks_mean"] == 2.0


def test_figures_beyond_two_and_three_standard_errors():
    z = [0.0] * 60 + [2.1, 2.9, 3.2, -2.5, np.nan]
    two, three = report_tables.control_counts(pd.DataFrame({"z": z})).to_dict("records")
    assert (two["beyond"], two["figures"], two["above"], two["below"]) == (2, 64, 3, 1)
    assert (three["beyond"], three["figures"], three["above"], three["below"]) == (3, 64, 1, 0)
    for row in (two, three):
        assert row["expected"] == pytest.approx(64 * stats.norm.sf(row["beyond"]))
