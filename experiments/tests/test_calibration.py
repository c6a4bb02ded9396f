"""The calibration: simulations say what ubayfs says, and the tables hold it beside what is true."""

import sys
from functools import partial
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import ubayfs
from ubayfs_experiments import runner, store
from ubayfs_experiments.analysis.calibration import (
    TABLES,
    agreement,
    by_the_present_rule,
    errors_table,
    facts_table,
    fill,
    folds_table,
    halves_table,
    markdown,
    noise_table,
    verdict_table,
)
from ubayfs_experiments.cli import main
from ubayfs_experiments.data.catalogue import load
from ubayfs_experiments.data.planted import population
from ubayfs_experiments.designs import calibration
from ubayfs_experiments.tasks import Scale, seed_of

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results" / "calibration"


def task_of(name, scale=True):
    (task,) = [task for task in calibration.tasks(Scale(scale)) if task.name == f"calibration/{name}"]
    return task


def simulate(name, number=0):
    _, (outcome,) = runner._run_one(task_of(name), calibration.run_split, number, None, runner.SEED)
    return outcome


def rows(measure, *records, **common):
    known = {
        "data": "gauss",
        "kind": "planted",
        "selector": "fisher",
        "scheme": "random",
        "measure": measure,
        "version": 0,
    }
    chosen = {"features": (0, 1), "size": 2, "n_features": 10}
    return pd.DataFrame([{**known, **chosen, "split": i, **common, **record} for i, record in enumerate(records)])


# Tasks and simulations


def test_simulations_are_as_many_as_promised_and_come_in_turns():
    tasks = [task for task in calibration.tasks(Scale()) if task.settings["measure"] == "noise"]
    for selector, n in {"mrmr": 100, "fisher": 100, "tree": 30, "lasso": 30}.items():
        for data, kind in calibration.CELLS:
            cell = [t for t in tasks if (t.data, t.settings["kind"], t.settings["selector"]) == (data, kind, selector)]
            assert sum(task.n_splits for task in cell) == n
    versions = [task.settings["version"] for task in tasks if task.settings["selector"] in ("mrmr", "fisher")]
    assert versions == sorted(versions)
    assert {task.settings["selector"] for task in tasks[: len(versions)]} == {"mrmr", "fisher"}


def test_studies_are_repeated_only_where_there_are_new_samples():
    repeated = {(t.data, t.settings["kind"]) for t in calibration.tasks(Scale()) if t.settings["measure"] == "halves"}
    assert repeated == {cell for cell in calibration.CELLS if cell[0].startswith("gauss") or cell[1] == "fresh"}


def test_every_measure_sees_the_same_data_and_every_kind_others(monkeypatch):
    seen = {}

    def keep(X, y, ensemble, truth):
        seen[name, number] = X.tobytes() + y.tobytes()
        return (), {}

    for measure in ("_noise", "_halves", "_folds", "_ipss"):
        monkeypatch.setattr(calibration, measure, keep)
    names = ("planted-noise-mrmr-0", "planted-halves-fisher-0", "planted-folds-tree-0", "many-noise-mrmr-0")
    for name in names:
        for number in (0, 1):
            simulate(f"gauss/{name}", number)
    assert seen[names[0], 0] == seen[names[1], 0] == seen[names[2], 0]
    assert len({seen[names[0], 0], seen[names[0], 1], seen[names[3], 0]}) == 3


def test_noise_is_stated_and_counted():
    outcome = simulate("gauss/few-noise-fisher-0", 1)
    seed = int(seed_of(runner.SEED, "gauss", "random", 1, "method").generate_state(1)[0])
    truth = population(load("gauss", None, runner.SEED), "few", 0)
    X, y = truth.draw(100, np.random.default_rng(seed_of(seed, "few", 0)))
    ensemble = {"selector": "fisher", "n_models": 5, "n_features_per_model": 10, "random_state": seed}
    evidence = ubayfs.collect_evidence(X, y, **ensemble)
    selection = ubayfs.decide(evidence, constraints=[ubayfs.max_size(10, rho=np.inf)])
    noise = ubayfs.estimate_noise(X, y, evidence=evidence, random_state=seed)
    estimate = noise.estimate(selection)
    assert outcome.features == tuple(selection.indices.tolist())
    assert outcome.scores["expected"] == estimate.expected
    assert outcome.scores["cautious"] == estimate.cautious
    assert outcome.scores["supported"] == noise.supported
    assert outcome.scores["t1"] == len(set(outcome.features) - set(truth.signals.tolist())) == estimate.n_data - 3
    supported = np.flatnonzero(noise.q_values <= 0.2)
    assert outcome.scores["supported_t1"] == len(set(supported.tolist()) - set(truth.signals.tolist()))


def test_halves_and_folds_are_stated():
    halves = simulate("gauss/few-halves-fisher-0")
    assert halves.features == simulate("gauss/few-noise-fisher-0").features
    assert halves.scores["interval_low"] < halves.scores["lower"] <= halves.scores["upper"]
    folds = simulate("gauss/few-folds-fisher-0")
    assert folds.scores["auc_low"] < folds.scores["auc"] < folds.scores["auc_high"]
    assert 0.6 < folds.scores["true_auc"] < 1


@pytest.mark.filterwarnings("ignore:There is no vote")  # of five models
def test_facts_of_the_papers_data(monkeypatch):
    monkeypatch.setattr("ubayfs.trust.predictors.N_TREES", 10)
    monkeypatch.setattr(calibration, "_validated", partial(calibration._validated, n_repeats=1))
    facts = simulate("BCW/facts-fisher").scores
    assert facts["auc"] > 0.97
    assert 0.3 < facts["auc shuffled"] < 0.7
    assert facts["auc random"] > 0.9
    assert facts["p_value"] == pytest.approx(1 / 21)


def test_ipss_is_asked_about_the_same_truth(monkeypatch):
    truth = population(load("gauss", None, runner.SEED), "few", 0)
    best, q, errors = int(truth.signals[0]), dict.fromkeys(range(500), 1.0), dict.fromkeys(range(500), 500.0)
    noise = next(j for j in range(500) if truth.unrelated[j])
    q |= {best: 0.05, noise: 0.15}
    errors |= {best: 0.1, noise: 0.4, noise + 1: 3.0}
    calls = []
    fake = SimpleNamespace(ipss=lambda X, y, selector: calls.append(selector) or {"q_values": q, "efp_scores": errors})
    monkeypatch.setitem(sys.modules, "ipss", fake)
    chosen, scores = calibration._ipss(np.zeros((4, 500)), None, {"selector": "ipss_l1", "random_state": 1}, truth)
    assert calls == ["l1"]
    assert chosen == tuple(sorted((best, noise)))
    assert (scores["supported"], scores["supported_t1"], scores["expected_supported"]) == (2, 1.0, 0.4)
    assert (scores["n_data"], scores["expected"]) == (3, 3.0)


# Tables


def test_noise_table_counts_how_often_the_cautious_number_is_exceeded():
    said = {"expected": 3.0, "cautious": 4.0, "passes": 1.0, "supported": 2, "supported_t1": 1, "supported_t2": 0}
    frame = rows(
        "noise", {"t1": 5.0, "t2": 4.0}, {"t1": 5.1, "t2": 5.0}, {"t1": 0.0, "t2": 0.0, "supported": 0}, **said
    )
    (row,) = noise_table(frame).to_dict("records")
    assert row["n"] == 3
    assert row["over_t1"] == pytest.approx(1 / 3)  # 5 is one above, not more than one
    assert row["over_t2"] == 0
    assert row["false_t1"] == pytest.approx((0.5 + 0.5 + 1) / 3)
    assert row["t1"] == pytest.approx(10.1 / 3)


def test_the_truth_of_agreement_is_that_of_other_studies():
    sets = [(0, 1, 2), (0, 1, 3), (4, 5, 6), (0, 4, 7)]
    said = {"lower": 0.1, "upper": 0.2, "interval_low": 0.0, "interval_high": 0.3, "again_low": 1.0, "again_high": 2.0}
    records = [{"split": i, "features": one, "size": 3, "n_features": 20} for i, one in enumerate(sets)]
    frame = pd.concat([rows("noise", *records), rows("halves", *records[:2], **said)], ignore_index=True)
    (row,) = halves_table(frame).to_dict("records")
    expected = np.mean([(len({*a} & {*b}) - 9 / 20) / (3 - 9 / 20) for a, b in combinations(sets, 2)])
    assert row["truth"] == pytest.approx(expected)
    assert row["covers"] == (0.0 <= expected <= 0.3)
    own = [np.mean([agreement(sets[i], sets[j], 20) for j in range(4) if j != i]) for i in (0, 1)]
    high = 4 * 0.2 / (1 + 3 * 0.2)  # by the present rule, of 0.1 + 0.1
    assert row["covers_own"] == np.mean([0.0 <= value <= high for value in own])
    assert row["holds"] == 1.0  # 1 to 1 of 3, and 1 is true
    assert row["again"] == pytest.approx(3 * (expected + (1 - expected) * 3 / 20))


def test_upper_ends_of_earlier_rules_are_brought_up_to_date():
    """From lower and the lower end of the interval, which hold the standard error; what is up to date stays."""
    sets = {"features": (0, 1, 2), "size": 3, "n_features": 20}
    said = {"lower": 0.1, "interval_low": 0.1 - 1.96 * 0.05, "interval_high": 0.3, "upper": 0.2, "again_high": 2.0}
    now = by_the_present_rule(rows("halves", sets, {**sets, "lower": -0.2, "interval_low": -0.298}, **said))
    upper = 4 * 0.15 / (1 + 3 * 0.15)
    assert now["upper"].tolist() == pytest.approx([upper, -0.15])
    x = 0.1 + 1.96 * 0.05
    assert now["interval_high"].tolist() == pytest.approx([4 * x / (1 + 3 * x), 0.3])
    assert now["again_high"][0] == pytest.approx(3 * (upper + (1 - upper) * 3 / 20))
    pd.testing.assert_frame_equal(by_the_present_rule(now), now)


def test_versions_are_studies_of_their_own():
    record = {"features": (0, 1), "size": 2, "n_features": 10}
    other = {**record, "features": (5, 6)}
    said = {"lower": 1.0, "upper": 1.0, "interval_low": 0.9, "interval_high": 1.0, "again_low": 2.0, "again_high": 2.0}
    frame = rows(
        "halves", *({**one, "version": v, "split": s} for v, one in enumerate((record, other)) for s in (0, 1)), **said
    )
    (row,) = halves_table(frame).to_dict("records")
    assert (row["n"], row["truth"], row["covers"]) == (4, 1.0, 1.0)


def test_folds_are_held_against_the_mean_of_the_procedure():
    frame = rows("folds", {"true_auc": 0.6, "auc_low": 0.65}, {"true_auc": 0.8, "auc_low": 0.75}, auc=0.8, auc_high=0.9)
    (row,) = folds_table(frame).to_dict("records")
    assert (row["n"], row["covers"]) == (2, 0.5)
    assert row["true_auc"] == pytest.approx(0.7)


def test_ipss_stands_beside_ubayfs_on_the_same_data_sets():
    record = {"supported": 4, "supported_t1": 1, "supported_t2": 1, "seconds": 2.0}
    ours = rows("noise", *({**record, "split": i, "supported_t1": i} for i in range(3)))
    frame = pd.concat([ours, rows("errors", {**record, "split": 1, "expected_supported": 0.3}, selector="ipss_gb")])
    table = errors_table(frame).set_index("selector")
    assert table["n"].to_dict() == {"fisher": 1, "ipss_gb": 1}
    assert table["said"].to_dict() == pytest.approx({"fisher": 0.8, "ipss_gb": 0.3})
    assert table.loc["fisher", "supported_t1"] == 1


def test_the_verdict_counts_over_all_cells_and_names_the_worst():
    said = {"cautious": 4.0, "t2": 0.0, "passes": 0.0, "supported": 0, "supported_t1": 0, "supported_t2": 0}
    good = rows("noise", *[{"t1": 1.0}] * 6, **said)
    bad = rows("noise", {"t1": 9.0}, {"t1": 1.0}, kind="noise", **{**said, "passes": 1.0})
    table = verdict_table(pd.concat([good, bad])).set_index("rule")
    over, gate = table.loc["noise (T1) exceeds cautious + 1"], table.loc["pure noise passes the gate"]
    assert (over["n"], over["found"], over["worst"]) == (8, 1 / 8, 0.5)
    assert over["worst_cell"] == "gauss, noise, fisher"
    assert (gate["n"], gate["found"]) == (2, 1.0)
    assert over["low"] < 1 / 8 < over["high"]
    assert len(table) == 3  # nothing is claimed of what was not run


def test_cells_are_in_the_order_of_the_page():
    said = {"t1": 1.0, "t2": 1.0, "expected": 1.0, "cautious": 1.0, "passes": 1.0, "supported": 1, "supported_t1": 0,
            "supported_t2": 0}  # fmt: skip
    cells = [("PRO", "fresh", "mrmr"), ("gauss", "few", "tree"), ("gauss", "noise", "tree"), ("gauss", "noise", "mrmr")]
    frame = pd.concat([rows("noise", {}, data=d, kind=k, selector=s, **said) for d, k, s in cells])
    found = noise_table(frame)
    assert list(found[["data", "kind", "selector"]].itertuples(index=False, name=None)) == cells[::-1]
    assert markdown("noise", frame).splitlines()[2].startswith("| gauss, noise | mrmr | 1 | 1.0 / 1.0 | 1.0 |")


# The page and the stored results


@pytest.mark.parametrize("page", ["no table", "<!-- table: other -->\n<!-- end -->", "<!-- table: noise -->\n"])
def test_a_page_without_places_is_refused(page):
    with pytest.raises(ubayfs.InputError, match="the page must have places"):
        fill(page, pd.DataFrame())


@pytest.fixture(scope="module")
def stored():
    return store.read_frames(RESULTS, [calibration.NAME])[calibration.NAME]


def test_the_page_holds_the_tables_of_the_stored_results(stored):
    page = (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")
    assert fill(page, stored) == page
    assert all(f"<!-- table: {name} -->" in page for name in TABLES)
    assert len(facts_table(stored))


def test_the_stored_results_can_be_resumed():
    settings = {calibration.NAME: calibration.EXPERIMENT.settings}
    store.check_run(RESULTS, runner.SEED, False, settings)
    tasks = {task.name: task for task in calibration.tasks(Scale())}
    cells = store.cells(RESULTS)
    assert cells
    assert all(cell["done"] == cell["n_splits"] for cell in cells)
    assert all("ipss" in cell["name"] or cell["name"] in tasks for cell in cells)
    store.done_splits(RESULTS, tasks.values())


@pytest.mark.parametrize("name", ["gauss/few-noise-fisher-0", "gauss/few-halves-fisher-0"])
def test_a_simulation_that_is_run_again_gives_the_published_figures(stored, name):
    task = task_of(name, scale=False)
    _, (outcome,) = runner._run_one(task, calibration.run_split, 3, None, runner.SEED)
    frame = stored[(stored["data"] == "gauss") & (stored["method"] == task.method) & (stored["split"] == 3)]
    (row,) = by_the_present_rule(frame).to_dict("records")
    assert outcome.features == row["features"]
    assert {key: row[key] for key in outcome.scores} == pytest.approx(outcome.scores)


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "calibration", "--quick", "--only", "gauss/few-noise-fisher", "-o", "out"]) == 0
    page = tmp_path / "page.md"
    page.write_text("Before.\n\n<!-- table: noise -->\n<!-- end -->\nAfter.\n", encoding="utf-8")
    assert main(["calibration", "-o", "out", "--page", "page.md"]) == 0
    text = page.read_text(encoding="utf-8")
    assert "| gauss, few | fisher | 2 |" in text
    assert text.startswith("Before.")
    assert text.endswith("<!-- end -->\nAfter.\n")
    capsys.readouterr()
    assert main(["calibration", "-o", "nowhere"]) == 2
    assert "holds no run of the experiments" in capsys.readouterr().err
