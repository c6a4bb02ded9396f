"""Experiment 2 by the authors' protocol: what is run, on which rows, and what the table makes of it."""

import numpy as np
import pandas as pd
import pytest

from fake_cells import cell, printed, rows
from ubayfs_experiments import store
from ubayfs_experiments.analysis import differences, explanations, protocols
from ubayfs_experiments.cli import OK, main
from ubayfs_experiments.data.catalogue import load
from ubayfs_experiments.data.splits import make_split
from ubayfs_experiments.designs import protocol, real_world
from ubayfs_experiments.methods.competitors import group_lasso_at
from ubayfs_experiments.runner import SEED
from ubayfs_experiments.tasks import Scale, Task, seed_of


@pytest.fixture(scope="module")
def breast():
    return load("BCW", None, SEED)


def run(dataset, method, number=0):
    split = make_split(dataset, "random", number, SEED)
    task = Task(protocol.NAME, "BCW", method, 2, settings={"n_models": 10})
    return protocol.run_split(task, dataset, split, seed_of(SEED, "BCW", "random", number, "method")), split


def test_every_method_of_the_scripts_is_run_and_no_other():
    found = protocol.tasks(Scale())
    assert {task.method for task in found} == {
        *real_world.SELECTORS, "random_forest", "group_lasso", "ubayfs_mrmr+pearson",
    }  # fmt: skip
    assert {task.data for task in found} == {"BCW", "HD", "MPE", "COL", "LSVT", "p53", "PRO", "LEU"}
    assert {task.n_splits for task in found if task.data in ("PRO", "LEU", "p53")} == {20}
    assert {task.n_splits for task in found if task.data in ("BCW", "LSVT")} == {50}


@pytest.mark.parametrize("method", ["ubayfs_tree", "ubayfs_mrmr+pearson", "random_forest", "group_lasso"])
def test_outcomes_stand_for_a_cell_of_experiment_2(breast, method):
    outcomes, _ = run(breast, method)
    of = method.split("+")[0]
    blocks = {"random_forest": {"standard"}, "group_lasso": {"block"}}.get(method, {"standard", "block"})
    assert {one.setting["scenario"] for one in outcomes} == blocks
    assert {(one.setting["of"], one.setting["stands_for"]) for one in outcomes} == {(of, "BCW")}
    for one in outcomes:
        assert one.features == tuple(sorted(one.features))
        assert len(one.features) == 5 or method == "group_lasso"
        assert sum(one.scores[f"svm_{name}"] for name in ("tp", "fp", "fn", "tn")) == 143


def test_block_selection_keeps_to_one_block(breast):
    outcomes, _ = run(breast, "ubayfs_fisher")
    assert [one.scores["n_blocks"] for one in outcomes if one.setting["scenario"] == "block"] == [1]


def test_the_penalty_of_the_group_lasso_is_one_for_all_splits(breast):
    penalty, blocks = protocol.penalty_of(breast), real_world.positions_of_blocks(breast)
    for number in range(3):
        (outcome,), split = run(breast, "group_lasso", number)
        at = group_lasso_at(breast.X[split.train], breast.y[split.train], blocks, penalty, l1_share=0.95)
        assert outcome.features == tuple(sorted(at.tolist()))


def test_the_command_runs_it_in_place_of_experiment_2(tmp_path):
    options = ["--quick", "--only", "BCW/random_forest", "-o", str(tmp_path / "run")]
    assert main(["run", "2", "--protocol", "paper", *options]) == OK
    assert [one["name"] for one in store.cells(tmp_path / "run")] == ["2-paper/BCW/random_forest"]


# The table ------------------------------------------------------------------------------------------------------------


def authors(data, right, method="ubayfs_tree"):
    labels = {"variant": protocol.PROTOCOL, "cause": "protocol", "of": method, "stands_for": data}
    return rows(20, data, method, right, **labels).assign(experiment="2-paper")


@pytest.fixture
def table():
    """Of trees with the GLM: the authors' protocol gives 0.5 everywhere, ours 0.8; the paper has what is set here."""
    data = ("BCW", "HD", "MPE", "COL", "LSVT", "PRO")
    values = dict.fromkeys(data, 0.5) | {"PRO": 0.8}
    results = pd.concat([rows(20, name, "ubayfs_tree", lambda i: 7 + 2 * (i % 2)) for name in data])
    paper = printed(*(cell(name, value=values[name], method="ubayfs_tree") for name in data))
    changed = pd.concat([authors(name, lambda i: 4 + 2 * (i % 2)) for name in data])
    comparison = differences.compare(results, paper)
    verdicts = explanations.verdicts(comparison, explanations.tested(comparison, results, changed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocols, "paper_table", lambda: paper.rename(columns={"paper": "value"}))
        yield protocols.protocol_table(changed, comparison, verdicts)


def test_a_figure_that_their_protocol_gives_is_said_to_agree_by_it(table):
    by_data = table.set_index("data")
    assert by_data["agrees"].to_dict() == {
        **dict.fromkeys(("BCW", "HD", "MPE", "COL", "LSVT"), "theirs agrees"), "PRO": "ours agrees",
    }  # fmt: skip
    assert by_data.loc["HD", "cause"].startswith("agrees: protocol: the authors' protocol gives 0.50 (paper 0.50)")
    assert by_data.loc["PRO", "cause"] == ""
    assert by_data.loc["HD", ["theirs", "theirs_n", "ours", "ours_n"]].tolist() == pytest.approx([0.5, 20, 0.8, 20])


def test_agreement_is_counted_by_method(table):
    (count,) = protocols.agreement_counts(table).to_dict("records")
    assert count == {"method": "ubayfs_tree", "figures": 6, "theirs": 5, "ours": 1, "either": 6}


def test_every_figure_of_the_paper_has_a_row_whatever_was_run():
    results = rows(20, "BCW", "ubayfs_tree")
    comparison = differences.compare(results)
    verdicts = explanations.verdicts(comparison, explanations.tested(comparison, results, pd.DataFrame()))
    table = protocols.protocol_table(pd.DataFrame(), comparison, verdicts)
    assert len(table) == 168
    assert table["theirs"].isna().all()
    assert set(table.loc[table["data"] == "p53", "cause"]) == {"the authors' sample of p53 is not public"}
    assert set(table.loc[table["data"] == "HD", "agrees"]) == {"not run"}
    assert np.isfinite(table["paper"]).all()
