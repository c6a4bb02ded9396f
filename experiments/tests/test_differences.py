"""Our figures against the paper's."""

import math

import numpy as np
import pandas as pd
import pytest

import ubayfs
from fake_cells import EMPTY, cell, printed, rows
from ubayfs_experiments.analysis import differences

ROUNDING = 0.01**2 / 12
COUNTS = {"tp": 6, "fp": 3, "fn": 2, "tn": 1}


def test_z_of_a_mean_by_hand():
    # F1 is 0.7 or 0.9: mean 0.8, standard deviation 0.1 * sqrt(20 / 19).
    results = rows(20, right=lambda i: 7 if i % 2 else 9)
    (found,) = differences.compare(results, printed(cell(value=0.7))).to_dict("records")
    spread = 0.01 * 20 / 19
    assert found["ours"] == pytest.approx(0.8)
    assert found["our_se"] == pytest.approx(math.sqrt(spread / 20))
    assert found["paper_se"] == pytest.approx(math.sqrt(spread / 10 + ROUNDING))
    assert found["se"] == pytest.approx(math.sqrt(spread / 20 + spread / 10 + ROUNDING))
    assert found["z"] == pytest.approx(0.1 / found["se"])
    assert found["differs"]


def test_z_of_the_stability_by_hand():
    results = rows(40)
    (found,) = differences.compare(results, printed(cell(measure="stability", value=0.5))).to_dict("records")
    mask = np.array([[f in chosen for f in range(6)] for chosen in results["features"]])
    expected = ubayfs.metrics.stability(mask)
    assert found["ours"] == pytest.approx(expected.value)
    assert found["se"] == pytest.approx(math.sqrt(expected.variance + 4 * expected.variance + ROUNDING))


@pytest.mark.parametrize(("offset", "differs"), [(1.99, False), (2.01, True), (-1.99, False), (-2.01, True)])
def test_the_limit_is_two_standard_errors(offset, differs):
    results = rows(20, right=lambda i: 7 if i % 2 else 9)
    se = differences.compare(results, printed(cell(value=0.7)))["se"].item()
    (found,) = differences.compare(results, printed(cell(value=0.8 + offset * se))).to_dict("records")
    assert found["differs"] == differs


def test_only_random_splits_of_the_main_variant_and_of_the_same_data_are_compared():
    results = pd.concat(
        [
            rows(4),
            rows(4, right=lambda i: 1, scheme="groups"),
            rows(4, right=lambda i: 1, variant="other"),
            rows(4, "LEU_golub", right=lambda i: 1),
        ]
    )
    found = differences.compare(results, printed(cell(value=0.8), cell("LEU", value=0.8), cell("HD")))
    assert found["data"].tolist() == ["PRO"]
    assert found["ours"].tolist() == [0.8]


def test_one_split_has_no_standard_error_and_does_not_differ():
    (found,) = differences.compare(rows(1), printed(cell(value=0.1))).to_dict("records")
    assert math.isnan(found["z"])
    assert not found["differs"]


def test_two_sets_have_no_variance_to_judge_a_stability_by():
    (found,) = differences.compare(rows(2), printed(cell(measure="stability", value=0.1))).to_dict("records")
    assert math.isnan(found["se"])
    assert not found["differs"]


def test_the_paper_is_the_default():
    found = differences.compare(rows(4))
    assert dict(zip(found["measure"], found["paper"], strict=True)) == {
        "f1_logistic": 0.78, "f1_svm": 0.87, "stability": 0.56,
    }  # fmt: skip


def test_number_expected_by_chance():
    comparison = pd.DataFrame(
        {"z": [0.0] * 99 + [3.0] + [math.nan] * 50, "differs": [False] * 99 + [True] + [False] * 50}
    )
    assert differences.by_chance(comparison).startswith("1 of 100 figures differ")
    assert differences.by_chance(comparison).endswith("about 5 would by chance alone.")


def test_run_times_and_their_ratio():
    results = pd.concat([rows(4), rows(4, "BCW", "group_lasso", scenario="block")]).assign(seconds=2.0)
    found = differences.compare_seconds(results)
    assert found[["data", "ours", "paper", "ratio"]].values.tolist() == [
        ["BCW", 2.0, 10.9, 5.45],
        ["PRO", 2.0, 370.9, 185.45],
    ]


def test_nothing_run_gives_empty_tables():
    comparison = differences.compare(EMPTY)
    assert len(comparison) == 0
    assert len(differences.compare_seconds(EMPTY)) == 0
    assert differences.by_chance(comparison).startswith("0 of 0 figures")


def test_f1_of_both_leukemia_data_is_of_the_same_class():
    # y = 1 of LEU is ALL, of LEU_golub AML: there 6 + 2 rows of AML and 1 + 3 of ALL.
    counts = {f"{one}_{name}": value for one in ("logistic", "svm") for name, value in COUNTS.items()}
    results = pd.concat([rows(4, "LEU", **counts), rows(4, "LEU_golub", **counts)])
    found = differences.beside(results, printed(cell("LEU"))).set_index(["data", "measure"])["ours"]
    for measure in ("f1_logistic", "f1_svm"):
        assert found["LEU", measure] == pytest.approx(12 / 17)
        assert found["LEU_golub", measure] == pytest.approx(2 / 7)


def test_classes_are_exchanged_in_the_sound_leukemia_data_alone():
    results = pd.concat([rows(3, "LEU", svm_tp=1), rows(3, "LEU_golub", svm_tp=1)]).reset_index(drop=True)
    found = differences.with_papers_class(results)
    pd.testing.assert_frame_equal(found[:3], results[:3])
    golub, before = found[3:], results[3:]
    for one in ("logistic", "svm", "logistic_irls", "svm_radial"):
        for a, b in (("tp", "tn"), ("fp", "fn"), ("tn", "tp"), ("fn", "fp")):
            assert golub[f"{one}_{a}"].tolist() == before[f"{one}_{b}"].tolist()
    pd.testing.assert_frame_equal(differences.with_papers_class(found), results)
