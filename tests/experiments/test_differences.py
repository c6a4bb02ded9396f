"""Our figures against the paper's."""

import math

import numpy as np
import pandas as pd
import pytest

import ubayfs
from ubayfs.experiments import differences

ROUNDING = 0.01**2 / 12


def rows(n, data="PRO", method="ubayfs_mrmr", right=lambda i: 8, scheme="random", scenario="standard", **columns):
    """Return a cell of experiment 2 whose F1 in split i is that of `right(i)` hits of 10 in both classes."""
    frame = pd.DataFrame(
        {
            "experiment": "2", "data": data, "scheme": scheme, "method": method, "split": range(n), "n_features": 6,
            "features": [(0, 1) if i % 3 else (0, 2) for i in range(n)], "size": 2, "seconds": 0.5,
            "scenario": scenario, "variant": "main",
        }
    )  # fmt: skip
    hits = np.array([right(i) for i in range(n)])
    for predictor in ("logistic", "svm", "logistic_irls", "svm_radial"):
        counts = {"tp": hits, "fn": 10 - hits, "fp": 10 - hits, "tn": hits}
        frame = frame.assign(**{f"{predictor}_{name}": values for name, values in counts.items()})
    return frame.assign(**columns)


def printed(*cells):
    return pd.DataFrame([{"table": "t", "scenario": "standard", "method": "ubayfs_mrmr", **cell} for cell in cells])


def cell(data="PRO", measure="f1_logistic", value=0.5, **more):
    return {"data": data, "measure": measure, "value": value, **more}


EMPTY = pd.DataFrame()
ALONE = "; it agrees in 1 of 1 cells with this change, in 0 without)"


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
    expected = ubayfs.stability(mask)
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


def rerun(data, right, **columns):
    named = {"variant": "genetic", "cause": "optimizer", "stands_for": "PRO", "of": "ubayfs_mrmr"} | columns
    return rows(20, data, f"ubayfs_mrmr+{named['variant']}", right, **named).assign(experiment="causes")


def six_or_four(i):
    return 4 + 2 * (i % 2)


def test_a_variant_that_agrees_is_the_cause():
    results, paper = rows(20), printed(cell(value=0.5))
    comparison = differences.compare(results, paper)
    found = differences.tested(comparison, results, rerun("PRO", six_or_four))
    (words,) = differences.verdicts(comparison, found)["verdict"]
    assert words == "tested: optimizer: genetic gives 0.50 (paper 0.50" + ALONE


def test_without_a_variant_that_agrees_the_cause_is_unknown():
    results, paper = rows(20), printed(cell(value=0.5))
    comparison = differences.compare(results, paper)
    found = differences.tested(comparison, results, rerun("PRO", lambda i: 9 + i % 2))
    (words,) = differences.verdicts(comparison, found)["verdict"]
    assert words.startswith("unknown; tried: predictor: R's glm")
    assert "optimizer: genetic (0.95)" in words


def test_with_nothing_tried_the_cause_is_unknown():
    results = rows(20)
    comparison = differences.compare(results, printed(cell(measure="stability", value=0.1)))
    found = differences.tested(comparison, results, EMPTY)
    assert differences.verdicts(comparison, found)["verdict"].tolist() == ["unknown; no change was tried"]


def test_a_variant_that_hardly_moves_explains_nothing():
    # 2.01 standard errors away; the variant has the same mean, a larger spread and hence agrees.
    results = rows(20, right=lambda i: 7 if i % 2 else 9)
    se = differences.compare(results, printed(cell()))["se"].item()
    comparison = differences.compare(results, printed(cell(value=0.8 + 2.01 * se)))
    found = differences.tested(comparison, results, rerun("PRO", lambda i: 6 if i % 2 else 10))
    (row,) = found[found["cause"] == "optimizer"].to_dict("records")
    assert row["agrees"]
    assert not row["explains"]
    assert differences.verdicts(comparison, found)["verdict"].item().startswith("unknown")


def test_a_variant_of_another_cell_is_not_a_cause():
    results = rows(20)
    comparison = differences.compare(results, printed(cell(value=0.5)))
    for other in ({"stands_for": "HD"}, {"of": "rent"}, {"scenario": "block"}):
        found = differences.tested(comparison, results, rerun("PRO", six_or_four, **other))
        assert "optimizer" not in found["cause"].tolist()


def test_other_class_and_other_predictor_are_tried_without_a_rerun():
    results = rows(20, right=lambda i: 7 + i % 3)
    fewer = six_or_four(np.arange(20))
    results = results.assign(
        svm_radial_tp=fewer, svm_radial_fn=10 - fewer, svm_radial_fp=10 - fewer, svm_radial_tn=fewer
    ).assign(logistic_tn=0, logistic_fp=0)  # as if there were no row of the other class: its F1 is 0
    comparison = differences.compare(results, printed(cell(measure="f1_svm"), cell(value=0.0)))
    assert comparison["differs"].all()
    found = differences.tested(comparison, results, EMPTY)
    words = dict(zip(comparison["measure"], differences.verdicts(comparison, found)["verdict"], strict=True))
    assert words["f1_svm"] == "tested: predictor: radial kernel, the default of R's svm gives 0.50 (paper 0.50" + ALONE
    assert words["f1_logistic"] == "tested: target: the other class as positive gives 0.00 (paper 0.00" + ALONE


def test_other_data_of_the_same_name_and_splits_by_group_are_tried():
    results = pd.concat(
        [
            rows(20, "LEU"),
            rows(20, "LEU_golub", right=six_or_four),
            rows(20, "MPE"),
            rows(20, "MPE", right=six_or_four, scheme="groups"),
        ]
    )
    comparison = differences.compare(results, printed(cell("LEU"), cell("MPE")))
    words = differences.verdicts(comparison, differences.tested(comparison, results, EMPTY))["verdict"].tolist()
    # In the order of the paper's tables.
    assert words == [
        "tested: split: splits by group gives 0.50 (paper 0.50" + ALONE,
        "tested: data source: LEU_golub gives 0.50 (paper 0.50" + ALONE,
    ]


def test_the_data_of_a_variant_are_named():
    results = rows(20)
    comparison = differences.compare(results, printed(cell(value=0.5)))
    variants = rerun("PRO_2", six_or_four, variant="new source", cause="data source", scheme="groups")
    found = differences.tested(comparison, results, variants)
    assert "new source, PRO_2, splits by group" in found["variant"].tolist()


def test_a_change_is_counted_over_all_its_cells():
    # It explains the first cell and breaks the second, which agreed.
    results = pd.concat([rows(20), rows(20, method="rent")])
    paper = printed(cell(value=0.5), cell(value=0.8, method="rent"))
    comparison = differences.compare(results, paper)
    variants = pd.concat(
        [rerun("PRO", six_or_four), rerun("PRO", six_or_four, of="rent").assign(method="rent+genetic")]
    )
    table = differences.tested(comparison, results, variants)
    (row,) = differences.summary(table).query("cause == 'optimizer'").to_dict("records")
    assert (row["cells"], row["agree_without"], row["agree_with"]) == (2, 1, 1)
    (words,) = differences.verdicts(comparison, table)["verdict"]
    assert "optimizer: genetic (0.50, but 1 of 2 cells agree with this change, 1 without)" in words
    assert words.startswith("unknown")
    of_differing = differences.causes(comparison, results, variants)
    assert set(of_differing["method"]) == {"ubayfs_mrmr"}
    assert len(of_differing) == (table["method"] == "ubayfs_mrmr").sum()


def test_run_times_and_their_ratio():
    results = pd.concat([rows(4), rows(4, "BCW", "group_lasso", scenario="block")]).assign(seconds=2.0)
    found = differences.compare_seconds(results)
    assert found[["data", "ours", "paper", "ratio"]].values.tolist() == [
        ["BCW", 2.0, 10.9, 5.45],
        ["PRO", 2.0, 370.9, 185.45],
    ]


def test_nothing_run_gives_empty_tables():
    comparison = differences.compare(EMPTY)
    assert len(comparison) == len(differences.tested(comparison, EMPTY, EMPTY)) == 0
    assert len(differences.verdicts(comparison, differences.causes(comparison, EMPTY, EMPTY))) == 0
    assert len(differences.compare_seconds(EMPTY)) == 0
    assert differences.by_chance(comparison).startswith("0 of 0 figures")
