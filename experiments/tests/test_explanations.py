"""Which changes may be called the cause of a difference."""

import numpy as np
import pandas as pd
import pytest

from fake_cells import EMPTY, cell, printed, rows
from ubayfs_experiments.analysis import differences, explanations


def rerun(data, right, n=20, **columns):
    named = {"variant": "genetic", "cause": "optimizer", "stands_for": "PRO", "of": "ubayfs_mrmr"} | columns
    return rows(n, data, f"ubayfs_mrmr+{named['variant']}", right, **named).assign(experiment="causes")


def six_or_four(i):
    return 4 + 2 * (i % 2)


def test_a_variant_that_agrees_in_one_cell_is_perhaps_the_cause():
    results, paper = rows(20), printed(cell(value=0.5))
    comparison = differences.compare(results, paper)
    found = explanations.tested(comparison, results, rerun("PRO", six_or_four))
    (words,) = explanations.verdicts(comparison, found)["verdict"]
    assert words == (
        "unknown; perhaps optimizer: genetic gives 0.50 (paper 0.50); with it 1 of 1 UBayFS cells agree instead of 0"
        ", as chance does in 50%"
    )


def test_a_variant_that_agrees_in_more_cells_than_chance_gives_is_the_cause():
    names = ("PRO", "HD", "COL", "LEU", "MPE")
    results = pd.concat([rows(20, data) for data in names])
    comparison = differences.compare(results, printed(*(cell(data, value=0.5) for data in names)))
    changed = pd.concat([rerun(data, six_or_four, stands_for=data) for data in names])
    words = explanations.verdicts(comparison, explanations.tested(comparison, results, changed))["verdict"]
    assert set(words) == {
        "tested: optimizer: genetic gives 0.50 (paper 0.50); with it 5 of 5 UBayFS cells agree instead of 0"
    }


@pytest.mark.parametrize(("n_data", "begins"), [(1, "agrees: "), (5, "tested: ")])
def test_the_authors_protocol_is_a_cause_only_beyond_chance(n_data, begins):
    names = ("PRO", "HD", "COL", "LEU", "MPE")[:n_data]
    results = pd.concat([rows(20, data) for data in names])
    comparison = differences.compare(results, printed(*(cell(data, value=0.5) for data in names)))
    changed = pd.concat([rerun(data, six_or_four, stands_for=data) for data in names])
    changed = changed.assign(cause="protocol", variant="the authors' protocol")
    words = explanations.verdicts(comparison, explanations.tested(comparison, results, changed))["verdict"]
    assert words.str.startswith(f"{begins}protocol: the authors' protocol gives 0.50 (paper 0.50)").all()
    assert ("as chance does in 50%" in words[0]) == (n_data == 1)


def test_without_a_variant_that_agrees_the_cause_is_unknown():
    results, paper = rows(20), printed(cell(value=0.5))
    comparison = differences.compare(results, paper)
    found = explanations.tested(comparison, results, rerun("PRO", lambda i: 9 + i % 2))
    (words,) = explanations.verdicts(comparison, found)["verdict"]
    assert words.startswith("unknown; tried: predictor: R's glm")
    assert "optimizer: genetic (0.95)" in words


def test_with_nothing_tried_the_cause_is_unknown():
    results = rows(20)
    comparison = differences.compare(results, printed(cell(measure="stability", value=0.1)))
    found = explanations.tested(comparison, results, EMPTY)
    assert explanations.verdicts(comparison, found)["verdict"].tolist() == ["unknown; no change was tried"]


def test_a_variant_that_hardly_moves_explains_nothing():
    # 2.01 standard errors away; the variant has the same mean, a larger spread and hence agrees.
    results = rows(20, right=lambda i: 7 if i % 2 else 9)
    se = differences.compare(results, printed(cell()))["se"].item()
    comparison = differences.compare(results, printed(cell(value=0.8 + 2.01 * se)))
    found = explanations.tested(comparison, results, rerun("PRO", lambda i: 6 if i % 2 else 10))
    (row,) = found[found["cause"] == "optimizer"].to_dict("records")
    assert row["agrees"]
    assert not row["explains"]
    assert explanations.verdicts(comparison, found)["verdict"].item().startswith("unknown")


def test_a_variant_of_another_cell_is_not_a_cause():
    results = rows(20)
    comparison = differences.compare(results, printed(cell(value=0.5)))
    for other in ({"stands_for": "HD"}, {"of": "rent"}, {"scenario": "block"}):
        found = explanations.tested(comparison, results, rerun("PRO", six_or_four, **other))
        assert "optimizer" not in found["cause"].tolist()


def test_other_class_and_other_predictor_are_tried_without_a_rerun():
    results = rows(20, right=lambda i: 7 + i % 3)
    fewer = six_or_four(np.arange(20))
    results = results.assign(
        svm_radial_tp=fewer, svm_radial_fn=10 - fewer, svm_radial_fp=10 - fewer, svm_radial_tn=fewer
    ).assign(logistic_tn=0, logistic_fp=0)  # as if there were no row of the other class: its F1 is 0
    comparison = differences.compare(results, printed(cell(measure="f1_svm"), cell(value=0.0)))
    assert comparison["differs"].all()
    found = explanations.tested(comparison, results, EMPTY)
    words = dict(zip(comparison["measure"], explanations.verdicts(comparison, found)["verdict"], strict=True))
    assert words["f1_svm"] == (
        "unknown; perhaps predictor: radial kernel, the default of R's svm gives 0.50 (paper 0.50); "
        "with it 1 of 1 support vector machine cells agree instead of 0, as chance does in 50%"
    )
    assert words["f1_logistic"] == (
        "unknown; perhaps target: the other class as positive gives 0.00 (paper 0.00); "
        "with it 1 of 2 PRO cells agree instead of 0, as chance does in 50%"
    )


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
    words = explanations.verdicts(comparison, explanations.tested(comparison, results, EMPTY))["verdict"].tolist()
    # In the order of the paper's tables.
    assert words == [
        "unknown; perhaps split: splits by group gives 0.50 (paper 0.50); with it 1 of 1 MPE cells agree instead of 0, "
        "as chance does in 50%",
        "unknown; perhaps data source: LEU_golub (sound data, F1 for ALL) gives 0.50 (paper 0.50); "
        "with it 1 of 1 LEU cells agree instead of 0, as chance does in 50%",
    ]


def test_the_data_of_a_variant_are_named():
    results = rows(20)
    comparison = differences.compare(results, printed(cell(value=0.5)))
    variants = rerun("PRO_2", six_or_four, variant="new source", cause="data source", scheme="groups")
    found = explanations.tested(comparison, results, variants)
    assert "new source, PRO_2, splits by group" in found["variant"].tolist()


def split_of(table, cause, **cell):
    """Return the rows of one cause and cell."""
    return table[(table["cause"] == cause) & (table[list(cell)] == list(cell.values())).all(axis=1)]


TREE = {"method": "ubayfs_tree"}


def tree_change(data, right, n=20, **columns):
    named = {"variant": "small", "cause": "selector definition", "stands_for": data, "of": "ubayfs_tree"} | columns
    return rows(n, data, "ubayfs_tree+small", right, **named)


def test_a_definition_is_pooled_over_all_data_of_its_method():
    # PRO is explained by itself, but HD and COL agreed before and do not with the change.
    results = pd.concat([rows(20, data, **TREE) for data in ("PRO", "HD", "COL")])
    paper = printed(cell(**TREE), cell("HD", value=0.8, **TREE), cell("COL", value=0.8, **TREE))
    comparison = differences.compare(results, paper)
    changed = [tree_change(data, six_or_four) for data in ("PRO", "HD", "COL")]
    alone = explanations.tested(comparison, results, changed[0])
    (words,) = explanations.verdicts(comparison, alone)["verdict"]
    assert "small gives 0.50 (paper 0.50); with it 1 of 1 UBayFS tree cells agree instead of 0" in words
    table = explanations.tested(comparison, results, pd.concat(changed))
    (row,) = explanations.summary(table).query("variant == 'small'").to_dict("records")
    assert row == {
        "cause": "selector definition", "variant": "small", "pool": "UBayFS tree", "cells": 3, "agree_without": 2,
        "agree_with": 1, "gained": 1, "lost": 2, "chance": 7 / 8,
    }  # fmt: skip
    (words,) = explanations.verdicts(comparison, table)["verdict"]
    assert words.startswith("unknown; tried: ")
    assert "selector definition: small (0.50, but with it 1 of 3 UBayFS tree cells agree instead of 2)" in words


def test_a_definition_that_breaks_a_cell_may_be_the_cause_of_others():
    # Counted by data set, LEU would say nothing and HD be lost; over all data three are gained and one is lost.
    names = ("PRO", "HD", "COL", "LEU")
    results = pd.concat([rows(20, data, **TREE) for data in names])
    paper = printed(*(cell(data, value=0.8 if data == "HD" else 0.5, **TREE) for data in names))
    comparison = differences.compare(results, paper)
    table = explanations.tested(comparison, results, pd.concat([tree_change(data, six_or_four) for data in names]))
    found = explanations.verdicts(comparison, table)
    assert found["data"].tolist() == ["COL", "PRO", "LEU"]
    assert found["verdict"].str.contains("with it 3 of 4 UBayFS tree cells agree instead of 1").all()
    (row,) = explanations.summary(table).query("variant == 'small'").to_dict("records")
    assert (row["gained"], row["lost"], row["chance"]) == (3, 1, 5 / 16)


def test_pools_of_the_kinds_of_causes():
    measures = ("f1_logistic", "f1_svm", "stability")
    cells = [(data, method) for data in ("PRO", "HD") for method in ("ubayfs_mrmr", "ubayfs_tree", "random_forest")]
    results = pd.concat([rows(5, data, method) for data, method in cells])
    results = pd.concat([results, rows(5, "PRO", scheme="groups")])
    paper = printed(*(cell(data, one, method=method) for data, method in cells for one in measures))
    kinds = ("selector definition", "tie", "optimizer", "split", "target", "data source")
    variants = pd.concat(
        [
            rows(5, data, f"{method}+{cause}", variant=f"other {cause}", cause=cause, of=method, stands_for=data)
            for data, method in cells
            for cause in kinds
        ]
    )
    found = explanations.summary(explanations.tested(differences.compare(results, paper), results, variants))
    count = {(row["variant"], row["pool"]): row["cells"] for row in found.to_dict("records")}
    methods = ("UBayFS mRMR", "UBayFS tree", "random forest")
    assert count == {
        **{("other selector definition", method): 6 for method in methods},
        ("other tie", "UBayFS"): 12,
        ("other tie", "random forest"): 6,
        ("other optimizer", "UBayFS"): 18,  # hand-made: in truth only methods of UBayFS have it
        ("other split", ""): 18,
        ("splits by group", "PRO"): 3,
        **{(f"other {cause}", data): 9 for cause in ("target", "data source") for data in ("PRO", "HD")},
        ("the other class as positive", "PRO"): 6,
        ("the other class as positive", "HD"): 6,
        ("R's glm, which ends after 25 iterations", "logistic regression"): 6,
        ("radial kernel, the default of R's svm", "support vector machine"): 6,
    }


def test_without_a_change_the_same_splits_are_counted():
    # On all 40 splits the main cell differs; on the 8 of the variant, which are its worst, it agrees.
    results = rows(40, right=lambda i: 4 + 3 * (i % 2) if i < 8 else 8)
    comparison = differences.compare(results, printed(cell(value=0.6)))
    assert comparison["differs"].item()
    table = explanations.tested(comparison, results, rerun("PRO", six_or_four, n=8))
    (row,) = split_of(table, "optimizer").to_dict("records")
    own = differences.compare(results[results["split"] < 8], printed(cell(value=0.6)))
    assert (row["n"], row["same_splits"], row["same_splits_z"]) == (8, own["ours"].item(), own["z"].item())
    assert row["agrees_without"]
    assert row["agrees"]
    # The figure with the change is nearer than that of all splits, but not nearer than that of the same splits.
    assert abs(row["ours"] - 0.6) < abs(row["main"] - 0.6)
    assert not row["explains"]
    (count,) = explanations.summary(table).query("cause == 'optimizer'").to_dict("records")
    assert (count["agree_without"], count["agree_with"], count["gained"]) == (1, 1, 0)


def test_only_splits_that_both_have_are_counted():
    results = rows(12)
    comparison = differences.compare(results, printed(cell(value=0.5)))
    table = explanations.tested(comparison, results, rerun("PRO", lambda i: 4 + 2 * (i % 2) if i < 12 else 9))
    (row,) = split_of(table, "optimizer").to_dict("records")
    assert (row["n"], row["ours"]) == (12, pytest.approx(0.5))


def test_cells_without_a_standard_error_are_not_counted():
    results = rows(20)
    comparison = differences.compare(results, printed(cell(value=0.5)))
    table = explanations.tested(comparison, results, rerun("PRO", six_or_four, n=1))
    assert "optimizer" not in explanations.summary(table)["cause"].tolist()
    words = explanations.verdicts(comparison, table)["verdict"].item()
    assert words.startswith("unknown")
    assert "optimizer: genetic (0.40)" in words


def test_the_sound_leukemia_data_are_compared_by_the_papers_class():
    # F1 is 12/17 for y = 1 and 2/7 for y = 0 in both; y = 1 of LEU is y = 0 of LEU_golub.
    counts = {f"svm_{name}": value for name, value in {"tp": 6, "fp": 3, "fn": 2, "tn": 1}.items()}
    results = pd.concat([rows(20, "LEU", **counts), rows(20, "LEU_golub", **counts)])
    comparison = differences.compare(results, printed(cell("LEU", "f1_svm", 0.29)))
    table = explanations.tested(comparison, results, EMPTY)
    (row,) = split_of(table, "data source").to_dict("records")
    assert row["main"] == pytest.approx(12 / 17)
    assert row["ours"] == pytest.approx(2 / 7)
    assert "LEU_golub (sound data, F1 for ALL)" in explanations.verdicts(comparison, table)["verdict"].item()


def test_nothing_run_gives_empty_tables():
    comparison = differences.compare(EMPTY)
    table = explanations.tested(comparison, EMPTY, EMPTY)
    assert len(table) == len(explanations.summary(table)) == len(explanations.verdicts(comparison, table)) == 0
