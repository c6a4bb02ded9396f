"""The calibration: simulations say what ubayfs says, and the tables hold it beside what is true."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ubayfs
from ubayfs_experiments import runner, store
from ubayfs_experiments.analysis.calibration import TABLES, bounds_table, fill, markdown, planted_table
from ubayfs_experiments.cli import main
from ubayfs_experiments.data.simulated import KINDS, PLANTED_TARGETS, TARGETS, noise, planted
from ubayfs_experiments.designs import calibration
from ubayfs_experiments.methods import peers
from ubayfs_experiments.methods.peers import integrated_path, knockoffs
from ubayfs_experiments.tasks import Scale

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results" / "calibration"


def task_of(name, scale=Scale(True)):  # noqa: B008 - it is frozen
    (task,) = [task for task in calibration.tasks(scale) if task.method == name]
    return task


def simulate(task, number=0):
    return runner._run_one(task, calibration.run_split, number, None, runner.SEED)[1]


# Data


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_noise_can_be_drawn(kind, target, rng):
    study = noise(kind, target, 30, 20, rng)
    assert study.X.shape[1] == 20
    assert not study.related.any()
    assert ("groups" in study.options, "adjust_for" in study.options) == ("groups" in kind, "covariates" in kind)
    assert study.X.isna().any(axis=None) == ("gaps" in kind)
    if "constant" in kind and target == "numbers":
        assert (pd.Series(study.y).groupby(study.options["groups"]).nunique() == 1).all()


@pytest.mark.parametrize("target", PLANTED_TARGETS)
@pytest.mark.parametrize("correlated", [False, True])
def test_related_are_those_that_correlate_with_the_target(target, correlated, rng):
    study = planted(target, correlated, 20000, 30, 4, rng)
    if target == "survival":
        columns = study.y.time[:, None]
    elif target == "three classes":
        columns = study.y[:, None] == np.arange(3)
    else:
        columns = study.y[:, None]
    ranks = pd.DataFrame(columns).rank().to_numpy()
    found = np.abs(np.corrcoef(study.X.T, ranks.T)[:30, 30:]).max(axis=1)
    assert found[~study.related].max(initial=0.0) < 0.04 < 0.06 < found[study.signals].max()
    assert study.signals.sum() == 4
    assert (study.signals <= study.related).all()
    assert study.related.sum() == 4 if not correlated else study.related.sum() >= 10
    assert np.corrcoef(study.X.T) == pytest.approx(study.correlation, abs=0.05)


def test_signals_of_one_block_may_cancel():
    """Two of opposite signs: their neighbors are unrelated, they are not."""
    for seed in range(100):
        study = planted("numbers", True, 5, 5, 2, np.random.default_rng(seed))
        if study.related.sum() == 2:
            assert np.array_equal(study.related, study.signals)
            break
    else:
        pytest.fail("signs are drawn at random")


# Simulations


def test_a_hundred_sets_of_each_design():
    tasks = calibration.tasks(Scale())
    assert {task.n_splits for task in tasks} == {100}
    assert len({task.name for task in tasks}) == len(tasks)
    designs = {(t.settings["target"], t.settings["kind"]) for t in tasks if t.settings["measure"] == "noise"}
    assert designs == {(target, kind) for target in TARGETS for kind in KINDS}
    assert {t.settings["selector"] for t in calibration.tasks(Scale(selector="fisher"))[-20:]} == {"fisher"}


def test_on_noise_all_features_are_the_set():
    (outcome,) = simulate(task_of("noise-small-two classes-independent"))
    assert set(outcome.scores) == {"plain", "listed"}
    assert all(0 <= said <= 50 for said in outcome.scores.values())


def test_planted_sets_are_counted():
    found = {one.setting["how"]: one.scores for one in simulate(task_of("planted-small-numbers-correlated"))}
    assert len(found) == 6
    for how, scores in found.items():
        assert scores["n"] == 10
        assert 0 <= scores["at_least"] <= scores["best_guess"] <= 10
        assert scores["true"] <= 10 - (4 if "four" in how else 2 if "three" in how else 0)


def test_peers_are_asked_about_the_same_truth(monkeypatch):
    monkeypatch.setattr(peers, "N_PAIRS", 5)
    found = {one.setting["how"]: one.scores for one in simulate(task_of("peers-small-numbers-independent"))}
    assert list(found) == ["ubayfs", "integrated path stability selection", "knockoffs"]
    for scores in found.values():
        assert scores["signals"] == scores["true"] <= scores["named"]  # nothing but signals is related here
        assert scores["unrelated"] == pytest.approx((scores["named"] - scores["true"]) / max(1, scores["named"]))


def test_peers_name_strong_signals_and_nothing_in_noise(rng):
    X = rng.standard_normal((150, 60))
    y = X[:, :12].sum(axis=1) + rng.standard_normal(150)
    named = knockoffs(X, y, np.eye(60), 0.1, rng)
    assert named[:12].sum() >= 10
    assert named[12:].sum() <= 3
    q = integrated_path(X, y, rng)
    assert (q[:12] <= 0.1).all()
    assert (q[12:] <= 0.1).sum() <= 2
    nothing = rng.standard_normal(150)
    assert knockoffs(X, nothing, np.eye(60), 0.1, rng).sum() == 0
    assert (integrated_path(X, nothing, rng) <= 0.1).sum() <= 1


# Tables and the page


def rows(measure, *records, **common):
    design = {"size": "small", "target": "numbers", "kind": "independent", "how": "all features", "measure": measure}
    return pd.DataFrame([{**design, **common, **record} for record in records])


def test_bounds_count_sets_and_name_designs_that_exceed_them():
    few = rows("noise", *({"plain": float(i < 15), "listed": 0.0} for i in range(100)))
    many = rows("noise", *({"plain": 2.0 * (i < 19), "listed": 0.0} for i in range(100)), kind="gaps")
    table = bounds_table(pd.concat([few, many])).set_index("rule")
    plain = table.loc["pure noise, without a list"]
    assert (plain["n_sets"], plain["found"], plain["designs"], plain["exceed"]) == (200, 0.17, 2, 1)
    assert (plain["worst"], plain["worst_design"]) == (0.19, "small, numbers, gaps")
    assert table.loc["pure noise, with a list", "found"] == 0
    assert len(table) == 2  # nothing is claimed of what was not run


def test_more_than_the_truth_is_above_it():
    said = [{"true": 3.0, "at_least": 3.0}, {"true": 3.0, "at_least": 4.0}]
    frame = rows("planted", *said, size="small, planted", how="votes alone", best_guess=5.0)
    (row,) = planted_table(frame).to_dict("records")
    assert (row["n_sets"], row["over"], row["at_least"], row["true"]) == (2, 0.5, 3.5, 3.0)
    assert "| votes alone | independent | 2 | .50 | 3.5 | 5.0 | 3.0 |" in markdown("planted", frame)


@pytest.mark.parametrize("page", ["no table", "<!-- table: other -->\n<!-- end -->", "<!-- table: noise -->\n"])
def test_a_page_without_places_is_refused(page):
    with pytest.raises(ubayfs.exceptions.InputError, match="the page must have places"):
        fill(page, pd.DataFrame())


@pytest.fixture(scope="module")
def stored():
    return store.read_frames(RESULTS, [calibration.NAME])[calibration.NAME]


def test_the_page_holds_the_tables_of_the_stored_results(stored):
    page = (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")
    assert fill(page, stored) == page
    assert all(f"<!-- table: {name} -->" in page for name in TABLES)


def test_the_stored_results_are_complete_and_keep_the_bounds(stored):
    store.check_run(RESULTS, runner.SEED, False, {calibration.NAME: calibration.EXPERIMENT.settings})
    tasks = calibration.tasks(Scale())
    assert {cell["name"] for cell in store.cells(RESULTS)} == {task.name for task in tasks}
    assert all(len(done) == 100 for done in store.done_splits(RESULTS, tasks).values())
    table = bounds_table(stored)
    assert (table["found"] <= table["asked"]).all()


@pytest.mark.parametrize("name", ["noise-small-survival-gaps", "planted-small-numbers-correlated"])
def test_a_simulation_that_is_run_again_gives_the_published_figures(stored, name):
    outcomes = simulate(task_of(name, Scale()), 3)
    frame = stored[(stored["method"] == name) & (stored["split"] == 3)].to_dict("records")
    for outcome, row in zip(outcomes, frame, strict=True):
        assert {key: row[key] for key in outcome.scores} == pytest.approx(outcome.scores)


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = ["run", "calibration", "--quick", "--only", "planted-small-two", "-o", "out", "--selector"]
    assert main([*command, "fisher"]) == 0
    page = tmp_path / "page.md"
    page.write_text("Before.\n\n<!-- table: designs -->\n<!-- end -->\nAfter.\n", encoding="utf-8")
    assert main(["calibration", "-o", "out", "--page", "page.md"]) == 0
    text = page.read_text(encoding="utf-8")
    assert "| 60 x 100 | two classes | 24 |" in text
    assert text.startswith("Before.")
    assert text.endswith("<!-- end -->\nAfter.\n")
    assert main([*command, "mrmr"]) == 2  # votes of another selector are another run
    capsys.readouterr()
    assert main(["calibration", "-o", "nowhere"]) == 2
    assert "holds no run of the experiments" in capsys.readouterr().err
