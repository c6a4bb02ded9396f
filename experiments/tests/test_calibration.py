"""The calibration: simulations say what ubayfs says, and the tables hold it beside what is true."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ubayfs
import ubayfs.ensemble.collect
import ubayfs.trust.predictors
from ubayfs_experiments import runner, store
from ubayfs_experiments.analysis.calibration import (
    EXPERIMENTS,
    TABLES,
    again_table,
    bounds_table,
    fill,
    lists_table,
    markdown,
    planted_table,
    prediction_table,
)
from ubayfs_experiments.cli import main
from ubayfs_experiments.data.simulated import KINDS, PLANTED_TARGETS, SAME, TARGETS, PlantedPopulation, noise, planted
from ubayfs_experiments.designs import calibration, fresh
from ubayfs_experiments.methods import peers
from ubayfs_experiments.methods.peers import integrated_path, knockoffs
from ubayfs_experiments.methods.ridge import SCORES
from ubayfs_experiments.tasks import Scale

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results" / "calibration"


def task_of(name, scale=Scale(True)):  # noqa: B008 - it is frozen
    (task,) = [task for one in (calibration, fresh) for task in one.tasks(scale) if task.method == name]
    return task


def simulate(task, number=0):
    design = fresh if task.experiment == fresh.NAME else calibration
    return runner._run_one(task, design.run_split, number, None, runner.SEED)[1]


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


def test_repeated_samples_have_the_target_and_share_the_values_of_their_patient(rng):
    for target in ("numbers", "survival"):
        study = PlantedPopulation.random(target, 0.0, 10, 3, rng, grouped=True).draw(3000, rng)
        groups, times = study.options["groups"], study.y if target == "numbers" else study.y.time
        assert len(study.X) == len(groups)
        assert len(np.unique(groups)) == 1500
        assert (pd.Series(times).groupby(groups).nunique() == 1).all()
        first, again = np.flatnonzero(np.diff(groups) == 0), np.flatnonzero(np.diff(groups) == 0) + 1
        assert np.corrcoef(study.X[first, 0], study.X[again, 0])[0, 1] == pytest.approx(SAME, abs=0.08)
        assert study.X.var() == pytest.approx(1, abs=0.05)


def test_without_signals_nothing_makes_the_target(rng):
    study = PlantedPopulation.random("numbers", 0.9, 10, 0, rng).draw(2000, rng)
    assert not study.related.any()
    assert np.var(study.y) == pytest.approx(1, abs=0.15)


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


def test_lists_are_judged_on_the_same_votes():
    found = {one.setting["how"]: one.scores for one in simulate(task_of("lists-lists-numbers-independent"))}
    assert list(found) == list(calibration.LISTS)
    assert len({scores["alone"] for scores in found.values()}) == 1
    right, wrong = found["ten signals"], found["ten wrong ones"]
    assert right["stated"] > right["alone"] > wrong["stated"]
    assert right["learned"] == right["stated"]
    assert wrong["learned"] > wrong["stated"]


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


# Fresh studies


def test_designs_of_fresh_studies_have_every_pair_of_their_parts():
    designs = [each for each in fresh.designs() if each.how == fresh.ALONE]
    assert len(set(fresh.designs())) == len(fresh.designs())
    kinds = list(fresh.FEATURES)
    for part, values in ((0, fresh.SIZES), (1, ("two classes", "numbers", "survival")), (3, fresh.PLANTED)):
        assert {(each[part], each.kind) for each in designs} >= {
            (value, kind) for value in values for kind in kinds[:3]
        }
    assert {task.n_splits for task in fresh.tasks(Scale())} == {8, 40, 100}
    assert {task.settings["selector"] for task in fresh.tasks(Scale(selector="fisher"))} == {"fisher"}


def procedure_of(planted="3 signals", kind="blocks of .9", how=fresh.ALONE, target="numbers"):
    return fresh.Procedure(fresh.Design("200 x 100", target, kind, planted, how), 0, "mrmr", 5)


@pytest.mark.filterwarnings("ignore::ubayfs.exceptions.UBayFSWarning")  # required features without votes
def test_fresh_sets_are_of_the_same_population_and_only_what_the_data_brought(monkeypatch):
    monkeypatch.setitem(fresh.N_FRESH, "again", 3)
    free, ruled = (procedure_of(how=how) for how in (fresh.ALONE, fresh.RULED))
    population = free.population()
    assert np.array_equal(population.weights, procedure_of().population().weights)
    assert not np.array_equal(population.weights, free._replace(number=1).population().weights)
    assert fresh._fresh_sets(free).sum(axis=1).tolist() == [10, 10, 10]
    assert fresh._fresh_sets(ruled).sum(axis=1).tolist() == [6, 6, 6]
    assert fresh._fresh_sets(free)[:, population.related].sum(axis=1).mean() > 4  # 1.5 of ten by chance


def test_what_is_selected_again_is_counted_in_fresh_sets(monkeypatch, rng):
    """The oracle: pairs of a fresh set in blocks, of which every feature of a block stands for every other."""
    monkeypatch.setitem(fresh.N_FRESH, "again", 3)
    fresh._fresh_sets.cache_clear()
    kept = {}
    monkeypatch.setattr(fresh.ubayfs, "estimate_reproducibility", lambda *args, **options: kept.setdefault(
        "said", ubayfs.trust.reproducibility.estimate_reproducibility(*args, n_splits=2, **options)
    ))  # fmt: skip
    scores = fresh._again(procedure_of(), rng)
    said, others = kept["said"], fresh._fresh_sets(procedure_of())
    assert scores["exact"] == pytest.approx(np.mean([(said.by_data & other).sum() for other in others]))
    blocks = [[members.reshape(20, 5).sum(axis=1) for members in (said.by_data, other)] for other in others]
    assert scores["near"] == pytest.approx(np.mean([np.minimum(*pair).sum() for pair in blocks]))
    assert (scores["exact_low"], scores["exact_high"]) == said.selected_again
    assert (scores["near_low"], scores["near_high"]) == said.stand_ins.selected_again


@pytest.mark.parametrize("target", ["two classes", "numbers", "survival"])
def test_predictions_are_judged_by_fresh_samples(target, monkeypatch, rng):
    """The oracle: without signals, nothing can be predicted; with three in 200 samples, most of what can be."""
    monkeypatch.setitem(fresh.N_FRESH, "prediction", 2000)
    monkeypatch.setitem(fresh.N_FRESH, "expected", 2)
    few = lambda *args, **options: ubayfs.trust.cross_validation.validate(*args, **{**options, "n_repeats": 1})  # noqa: E731
    monkeypatch.setattr(fresh.ubayfs, "validate", few)
    chance = 0.0 if target == "numbers" else 0.5
    nothing = fresh._predicted(procedure_of("no signals", target=target), rng)
    found = fresh._predicted(procedure_of(target=target), rng)
    assert nothing["true"] == pytest.approx(chance, abs=0.12)
    assert chance + 0.2 < found["true"] < 1
    assert found["lower"] < found["mean"] < found["upper"]
    assert found["expected"] == pytest.approx(found["true"], abs=0.15)


@pytest.mark.parametrize("target", ["two classes", "numbers", "survival"])
def test_the_predictor_of_the_truth_is_that_of_validate(target, rng):
    """The oracle: the predictors and metrics of ubayfs itself."""
    population = PlantedPopulation.random(target, 0.0, 10, 3, rng)
    studies = [population.draw(n, rng) for n in (60, 500)]
    train, test = (ubayfs.ensemble.collect.as_data(study.X, study.y).target for study in studies)
    (predictor,) = ubayfs.trust.predictors.as_predictors("ridge", train.task)
    (A, B), (y, truth) = ([getattr(study, name) for study in studies] for name in ("X", "y"))
    judged = predictor.scores(A, train, B, test, 0, np.arange(500))
    assert SCORES[target](A, y, B, truth) == pytest.approx(judged[predictor.metrics[0]].value, abs=1e-4)


# Tables and the page


def rows(measure, *records, **common):
    design = {"size": "small", "target": "numbers", "kind": "independent", "how": "all features", "measure": measure}
    return pd.DataFrame([{**design, **common, **record} for record in records])


def test_bounds_count_sets_and_name_designs_that_exceed_them():
    few = rows("noise", *({"plain": float(i < 15), "listed": 0.0} for i in range(100)))
    many = rows("noise", *({"plain": 2.0 * (i < 19), "listed": 0.0} for i in range(100)), kind="gaps")
    table = bounds_table(pd.concat([few, many])).set_index("rule")
    plain = table.loc["related, pure noise, without a list"]
    assert (plain["n_sets"], plain["found"], plain["designs"], plain["exceed"]) == (200, 0.17, 2, 1)
    assert (plain["worst"], plain["worst_design"]) == (0.19, "small, numbers, gaps")
    assert table.loc["related, pure noise, with a list", "found"] == 0
    assert len(table) == 2  # nothing is claimed of what was not run


def test_more_than_the_truth_is_above_it():
    said = [{"true": 3.0, "at_least": 3.0}, {"true": 3.0, "at_least": 4.0}]
    frame = rows("planted", *said, size="small, planted", how="votes alone", best_guess=5.0)
    (row,) = planted_table(frame).to_dict("records")
    assert (row["n_sets"], row["over"], row["at_least"], row["true"]) == (2, 0.5, 3.5, 3.0)
    assert "| votes alone | 2 | .50 | 3.5 | 5.0 | 3.0 |" in markdown("planted", frame)


def test_lowest_change_by_a_list_is_that_of_a_design():
    shares = [{"alone": 0.5, "stated": 0.1, "learned": learned} for learned in (0.4, 0.6, 0.5)]
    where = {"size": "lists, planted", "how": "ten wrong ones"}
    frame = pd.concat(
        [
            rows("lists", *shares[:2], **where),
            rows("lists", shares[2], **{**where, "kind": "correlated"}, target="survival"),
        ]
    )
    (row,) = lists_table(frame).to_dict("records")
    assert (row["n_sets"], row["learned"], row["lowest"]) == pytest.approx((3, 0.5, 0.0))
    (row,) = lists_table(
        pd.concat(
            [frame, rows("lists", {"alone": 0.5, "stated": 0.5, "learned": 0.3}, **{**where, "target": "survival"})]
        )
    ).to_dict("records")
    assert row["lowest"] == pytest.approx(-0.2)


def test_a_range_holds_the_rounded_number():
    ends = {"exact_low": 1.4, "exact_high": 2.6, "near_low": 3.0, "near_high": 3.4}
    said = [{"n": 5.0, "exact": 0.6, "near": 3.6}, {"n": 5.0, "exact": 3.6, "near": 2.6}, {"n": 0.0, "exact": 0.0}]
    common = {"size": "40 x 500", "planted": "3 signals", "how": fresh.ALONE}
    (row,) = again_table(rows("again", *said, **ends, **common)).to_dict("records")
    assert (row["n_sets"], row["exact_wrong"], row["near_wrong"]) == (2, 0.5, 0.5)
    assert (row["exact"], row["near"]) == pytest.approx((2.1, 3.1))


def test_an_interval_misses_what_is_true_or_expected():
    said = [{"true": 0.2, "expected": 0.4}, {"true": 0.6, "expected": 0.4}, {"true": 0.45, "expected": 0.7}]
    common = {"size": "40 x 500", "planted": "3 signals", "how": fresh.ALONE}
    frame = rows("prediction", *said, mean=0.4, lower=0.3, upper=0.5, **common)
    (row,) = prediction_table(frame).to_dict("records")
    assert (row["n_sets"], row["width"]) == (3, pytest.approx(0.2))
    assert (row["wrong"], row["expected_wrong"]) == pytest.approx((2 / 3, 1 / 3))
    assert bounds_table(frame)["rule"].tolist() == ["interval of R2"]


@pytest.mark.parametrize("page", ["no table", "<!-- table: other -->\n<!-- end -->", "<!-- table: noise -->\n"])
def test_a_page_without_places_is_refused(page):
    with pytest.raises(ubayfs.exceptions.InputError, match="the page must have places"):
        fill(page, pd.DataFrame())


@pytest.fixture(scope="module")
def stored():
    return pd.concat(store.read_frames(RESULTS, EXPERIMENTS["calibration"]).values())


def test_the_page_holds_the_tables_of_the_stored_results(stored):
    page = (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")
    assert fill(page, stored) == page
    assert all(f"<!-- table: {name} -->" in page for name in TABLES)


def test_the_stored_results_are_complete_and_keep_the_bounds(stored):
    settings = {one.NAME: one.EXPERIMENT.settings for one in (calibration, fresh)}
    store.check_run(RESULTS, runner.SEED, False, settings)
    tasks = [task for one in (calibration, fresh) for task in one.tasks(Scale())]
    assert {cell["name"] for cell in store.cells(RESULTS)} == {task.name for task in tasks}
    done = store.done_splits(RESULTS, tasks)
    assert all(len(done[task.name]) == task.n_splits for task in tasks)
    table = bounds_table(stored)
    assert (table["found"] <= table["asked"]).all()


@pytest.mark.parametrize(
    "name",
    [
        "noise-small-survival-gaps",
        "planted-small-numbers-correlated",
        "again-200 x 100-numbers-blocks of .9-20 signals-votes alone",
        "prediction-40 x 500-two classes-blocks of .7-3 signals-votes alone",
    ],
)
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
    page.write_text("Before.\n\n<!-- table: planted -->\n<!-- end -->\nAfter.\n", encoding="utf-8")
    assert main(["calibration", "-o", "out", "--page", "page.md"]) == 0
    text = page.read_text(encoding="utf-8")
    assert "| votes alone | 4 |" in text
    assert text.startswith("Before.")
    assert text.endswith("<!-- end -->\nAfter.\n")
    assert main([*command, "mrmr"]) == 2  # votes of another selector are another run
    capsys.readouterr()
    assert main(["calibration", "-o", "nowhere"]) == 2
    assert "holds no run of the experiments" in capsys.readouterr().err
