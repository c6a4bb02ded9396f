"""The paper's tables."""

import math

import pytest

from ubayfs_experiments.analysis.paper import DATA, METHODS, paper_table, paper_value

BLOCK_DATA = {"BCW", "COL", "LSVT", "p53"}
# Typed from the printed tables, once more: the first, a middle and the last row of each.
ROWS = {
    ("f1_logistic", "BCW"): [0.95, 0.97, 0.96, 0.97, 0.95, 0.96, 0.96, 0.96, 0.96],
    ("f1_logistic", "LSVT"): [0.70, 0.75, 0.80, 0.84, 0.68, 0.77, 0.67, 0.79, 0.59],
    ("f1_logistic", "LEU"): [0.88, 0.93, 0.88, 0.91, 0.95],
    ("f1_svm", "BCW"): [0.95, 0.97, 0.96, 0.96, 0.94, 0.97, 0.96, 0.96, 0.95],
    ("f1_svm", "p53"): [0.81, 0.82, 0.81, 0.80, 0.82, 0.84, 0.77, 0.82, 0.80],
    ("f1_svm", "LEU"): [0.96, 0.94, 0.88, 0.95, 0.96],
    ("stability", "BCW"): [0.73, 0.87, 0.87, 1.00, 0.61, 0.90, 0.80, 0.80, 0.80],
    ("stability", "COL"): [0.39, 0.67, 0.80, 0.72, 0.81, 0.56, 0.84, 0.72, 0.82],
    ("stability", "LEU"): [0.07, 0.64, 0.46, 0.76, 0.53],
}
STANDARD = ["random_forest", "rent", "ubayfs_mrmr", "ubayfs_fisher", "ubayfs_tree"]
BLOCK = ["group_lasso", "ubayfs_mrmr", "ubayfs_fisher", "ubayfs_tree"]


def test_every_cell_of_every_table_occurs_once():
    table = paper_table()
    assert not table.duplicated(["data", "scenario", "method", "measure"]).any()
    # 8 data sets with 5 methods, 4 of them with 4 methods for blocks; run times of 5 methods and of group lasso.
    assert table.groupby("table").size().to_dict() == {
        "tab:exp2_results (a)": 56,
        "tab:exp2_results (b)": 56,
        "tab:exp2_results_stab": 56,
        "tab:runtimes": 44,
    }
    assert set(table["data"]) == set(DATA)
    assert set(table["method"]) == set(METHODS)
    assert set(table.loc[table["scenario"] == "block", "data"]) == BLOCK_DATA
    assert table.isna().sum().sum() == 0


def test_scores_are_shares_of_two_decimals():
    table = paper_table()
    scores = table.loc[table["measure"] != "seconds", "value"]
    assert scores.between(0, 1).all()
    assert (scores.round(2) == scores).all()
    assert table.loc[table["measure"] == "seconds", "value"].min() == 1.6


@pytest.mark.parametrize(("measure", "data"), ROWS)
def test_rows_of_the_printed_tables(measure, data):
    cells = [("standard", method) for method in STANDARD]
    cells += [("block", method) for method in BLOCK] if data in BLOCK_DATA else []
    assert [paper_value(data, scenario, method, measure) for scenario, method in cells] == ROWS[measure, data]


def test_run_times():
    printed = {
        "random_forest": 80.2,
        "rent": 2712.3,
        "ubayfs_mrmr": 366.8,
        "ubayfs_fisher": 125.6,
        "ubayfs_tree": 440.3,
    }
    assert {method: paper_value("p53", "standard", method, "seconds") for method in STANDARD} == printed
    assert paper_value("p53", "block", "group_lasso", "seconds") == 112.7
    assert math.isnan(paper_value("HD", "block", "group_lasso", "seconds"))


def test_the_table_is_a_copy():
    changed = paper_table()
    changed["value"] = 0.0
    assert paper_table()["value"].max() > 2000
