"""The trial of selectors: its data have the truth that is stated, peers rank it, and the rule is applied as written."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

import ubayfs
from ubayfs_experiments import runner, store
from ubayfs_experiments.analysis.calibration import fill, markdown
from ubayfs_experiments.analysis.trial import TABLES, by_design, conditions, difference, overall_table, verdict
from ubayfs_experiments.cli import main
from ubayfs_experiments.data import matrices
from ubayfs_experiments.data.trial import EFFECTS, FEATURES, FRESH, Design, Part, draw, martingale_residuals
from ubayfs_experiments.designs import trial
from ubayfs_experiments.designs.trial import CANNOT, DESIGNS, OURS, PEERS, concordance, predict
from ubayfs_experiments.methods import rankings
from ubayfs_experiments.tasks import Scale

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results" / "trial"
TARGETS = ("numbers", "two classes", "three classes", "labels", "survival")
EASY = Design("easy", "L", "independent", "linear", "numbers", 150, 40, 3, 4.0)


# What was registered


def test_there_are_enough_designs_of_each_kind():
    designs = DESIGNS.values()
    assert len(designs) >= 24
    assert sum(one.kind in "LM" for one in designs) >= 18
    assert {one.target for one in designs} == set(TARGETS)
    assert {one.effect for one in designs} == set(EFFECTS)
    assert {one.features for one in designs if not one.is_real} == set(FEATURES)
    assert sum(one.is_real for one in designs) >= 6
    assert min(one.n for one in designs) == 40
    assert max(one.n for one in designs) == 500
    assert all(5 <= one.k <= 15 for one in designs)
    assert {one.effect for one in designs if one.kind == "N"} == {"u", "products", "steps"}
    assert {one.effect for one in designs if one.kind == "L"} == {"linear"}


def test_every_design_has_a_cell_for_every_method_that_can_do_it():
    tasks = trial.tasks(Scale())
    assert len({task.name for task in tasks}) == len(tasks)
    wanted = {(d, how) for d in DESIGNS for how in (*OURS, *PEERS) if DESIGNS[d].target not in CANNOT.get(how, ())}
    assert {(task.settings["design"], task.settings["how"]) for task in tasks} == wanted
    assert {task.settings.get("n_models") for task in tasks} == {50, None}


# Data


@pytest.mark.parametrize("target", TARGETS)
def test_signals_and_only_they_make_the_target(target, rng):
    everything, signals = draw(replace(EASY, target=target, n=3000, p=12, k=6), None, rng)
    assert len(everything.X) == 6000 + FRESH
    found = np.abs(np.corrcoef(everything.X.T, everything.outputs.T)[:12, 12:]).max(axis=1)
    others = np.setdiff1d(np.arange(12), signals)
    assert found[others].max() < 0.05 < 0.1 < found[signals].min()


@pytest.mark.parametrize("features", FEATURES)
def test_every_kind_of_features_can_be_drawn(features, rng):
    X = FEATURES[features](200, 33, rng)
    assert X.shape == (200, 33)
    assert np.isfinite(X).all()
    assert (X.std(axis=0) > 0).all()


def test_effects_are_what_their_names_say(rng):
    X = np.exp(rng.standard_normal((2000, 4)))
    assert EFFECTS["log"](X) == pytest.approx(np.log(X))
    assert EFFECTS["log"](np.array([[0.0], [1.0]])) == pytest.approx(np.log([[0.5], [1.5]]))
    for name in ("ranks", "saturated"):
        assert (np.diff(EFFECTS[name](X)[np.argsort(X[:, 0]), 0]) >= 0).all()  # monotone
    Z = rng.standard_normal((5000, 4))
    u = EFFECTS["u"](Z)
    assert np.abs(np.corrcoef(u[:, 0], Z[:, 0])[0, 1]) < 0.1
    assert np.corrcoef(u[:, 1], Z[:, 1])[0, 1] == pytest.approx(1.0)
    products = EFFECTS["products"](Z)
    assert np.corrcoef(products[:, 1], Z[:, 0] * Z[:, 1])[0, 1] > 0.95
    assert np.corrcoef(products[:, 2], Z[:, 2])[0, 1] > 0.95
    assert set(np.unique(EFFECTS["steps"](Z))) == {0.0, 1.0}


def test_a_real_table_keeps_its_rows_and_loses_columns_of_one_value(rng):
    table = rng.standard_normal((30, 20))
    table[:, :5], table[1:, 5] = 1.0, 2.0  # constant, and all but one row the same
    everything, signals = draw(replace(EASY, features="a table", n=10, p=12), table, rng)
    assert everything.X.shape == (30, 12)
    assert np.isin(everything.X, table[:, 6:]).all()
    assert len(signals) == 3


def test_parts_are_the_samples_of_the_whole(rng):
    everything, _ = draw(replace(EASY, target="survival"), None, rng)
    part = everything.of(slice(-5, None))
    assert np.array_equal(part.y.time, everything.y.time[-5:])
    assert np.array_equal(part.y.event, everything.y.event[-5:])
    assert everything.y.event.mean() == pytest.approx(0.6, abs=0.01)
    assert np.array_equal(part.X, everything.X[-5:])


def test_martingale_residuals_are_events_minus_hazards(rng):
    time, event = rng.exponential(size=30), rng.random(30) < 0.6
    hazard = [sum(1 / np.sum(time >= time[j]) for j in range(30) if event[j] and time[j] <= t) for t in time]
    assert martingale_residuals(time, event) == pytest.approx(event - np.array(hazard))
    assert martingale_residuals(time, event).sum() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("content", ["a,b,y\n1,2,0\n", "a,b,y\n1,x,0\n"])
def test_a_table_of_another_form_is_refused(content, tmp_path):
    path = tmp_path / "KHAN.csv.gz"
    pd.Series(dtype=object).to_csv(path)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ubayfs.exceptions.InputError, match=r"KHAN.csv.gz (must hold 63 samples|could not be read)"):
        matrices.read_matrix("KHAN", path)


# Peers


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("how", PEERS)
def test_peers_rank_strong_signals_first(how, target, rng):
    if target in CANNOT.get(how, ()):
        pytest.skip("it cannot do this task")
    everything, signals = draw(replace(EASY, target=target, n=300), None, rng)
    top = trial.top_features(how, everything.of(slice(0, 300)), 3, rng, 5)
    assert set(top.tolist()) == set(signals.tolist())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("how", PEERS)
def test_constant_columns_are_never_ranked(how, rng):
    everything, _ = draw(replace(EASY, target="two classes"), None, rng)
    part = everything.of(slice(0, 60))
    part.X[:, 7] = 3.0
    assert 7 not in trial.top_features(how, part, 10, rng, 5)


def test_half_ranks_are_the_mean_of_values_and_normal_scores():
    x = np.array([1.0, 5.0, 5.0, 100.0])
    z, s = (x - x.mean()) / x.std(), norm.ppf((np.array([1.0, 2.5, 2.5, 4.0]) - 0.5) / 4)
    a = (z + s) / 2
    assert rankings.half_ranks(x[:, None])[:, 0] == pytest.approx((a - a.mean()) / a.std())


def test_a_path_is_followed_until_k_features_are_there():
    path = np.array([[0.0, 2.0, -3.0, 0.0, 0.0], [1.0, 2.0, -3.0, 0.0, 0.0], [9.0, 9.0, 9.0, 9.0, 0.0]])
    assert np.argsort(-rankings.along_path(path, 4), kind="stable").tolist() == [2, 1, 0, 3, 4]
    assert (rankings.along_path(path, 4) > 0).sum() == 4
    assert (rankings.along_path(path, 2) > 0).sum() == 2


def test_cox_scores_are_those_of_the_partial_likelihood(rng):
    X, time, event = rng.standard_normal((25, 3)), rng.exponential(size=25), rng.random(25) < 0.7
    for j in range(3):
        score = information = 0.0
        for i in np.flatnonzero(event):
            at_risk = X[time >= time[i], j]
            score += X[i, j] - at_risk.mean()
            information += at_risk.var()
        assert rankings.cox_scores(X, time, event)[j] == pytest.approx(score**2 / information)


def test_logistic_regression_is_solved_at_the_penalty_of_cross_validation(rng):
    """Pure noise has the empty model, from which the path is followed; a strong signal comes first."""
    X, y = rng.standard_normal((80, 10)), np.arange(80.0) % 2
    assert (rankings._logistic_cv(X, y, 0, rng) > 1).sum() <= 3
    X[:, 4] += 4 * y
    assert rankings._logistic_cv(X, y, 1, rng).argmax() == 4


# Measures


def test_concordance_is_the_area_under_the_curve_and_harrells_index(rng):
    guess, y, seen = rng.standard_normal(50).round(1), rng.integers(0, 2, 50).astype(float), np.ones(50, dtype=bool)
    assert concordance(guess, y, seen) == pytest.approx(2 * roc_auc_score(y, guess) - 1)
    time, event = rng.exponential(size=50), rng.random(50) < 0.6
    expected = 2 * ubayfs.metrics.concordance_index(time, event, guess) - 1
    assert concordance(guess, -time, event) == pytest.approx(expected)
    assert concordance(guess, np.zeros(50), seen) == 0.0


@pytest.mark.parametrize("target", TARGETS)
def test_signals_predict_and_others_do_not(target, rng):
    everything, signals = draw(replace(EASY, target=target, n=500), None, rng)
    train, test = everything.of(slice(0, 500)), everything.of(slice(500, None))
    others = np.setdiff1d(np.arange(40), signals)[:3]
    assert predict(train, test, signals) > 0.6
    assert abs(predict(train, test, others)) < 0.15
    assert predict(train, test, signals[:0]) == 0.0


# One split


def task_of(design, how):
    (task,) = [one for one in trial.tasks(Scale(True)) if one.method == f"{design}-{how}"]
    return task


@pytest.mark.parametrize("how", ["mrmr", "lasso", "wide 1.5", "wide 2.5", "mixed", "univariate"])
def test_a_split_is_scored_and_is_the_same_again(how):
    first, again = (runner._run_one(task_of("L03", how), trial.run_split, 1, None, 5)[1] for _ in range(2))
    assert [(one.features, one.scores) for one in first] == [(one.features, one.scores) for one in again]
    (outcome,) = first
    assert set(outcome.scores) == {"found", "prediction", "stability"}
    assert all(-1 <= value <= 1 for value in outcome.scores.values())
    assert len(outcome.features) <= 5


def test_all_methods_see_the_same_data(monkeypatch):
    seen = []

    def first(how, part, k, rng, n_models):
        seen.append((how, part.X.sum(), part.y.sum()))
        return np.arange(k)

    monkeypatch.setattr(trial, "top_features", first)
    for how in ("mrmr", "forest"):
        for number in (0, 1):
            runner._run_one(task_of("L03", how), trial.run_split, number, None, 5)
    mrmr, forest = ([values for name, *values in seen if name == how] for how in ("mrmr", "forest"))
    assert mrmr == forest
    assert len({x for x, _ in mrmr}) == 4  # two sets of two parts


def test_scores_count_signals_in_both_parts(monkeypatch):
    X = np.random.default_rng(0).standard_normal((100, 300))
    whole = Part(X, X[:, 0], "numbers")
    monkeypatch.setattr(trial, "draw", lambda design, table, rng: (whole, np.array([0, 1, 2, 3, 4])))
    tops = [np.array([0, 1, 9]), np.array([0, 8])]
    monkeypatch.setattr(trial, "top_features", lambda *arguments: tops.pop(0))
    (outcome,) = runner._run_one(task_of("L03", "mrmr"), trial.run_split, 0, None, 0)[1]
    assert outcome.scores["found"] == pytest.approx((2 / 5 + 1 / 5) / 2)
    assert outcome.scores["stability"] == pytest.approx(1 / 4)
    assert outcome.scores["prediction"] > 0.9
    assert outcome.features == (0, 1, 9)


# The rule


def frame_of(shares, sets=2):
    """Return outcomes in which a method finds a share, or one that a function of the design gives."""
    return pd.DataFrame([
        {"method": task.method, "how": how, "split": number, "prediction": 0.5, "stability": 0.5, "seconds": 1.0,
         "found": share(DESIGNS[task.settings["design"]]) if callable(share := shares.get(how, 0.3)) else share}
        for task in trial.tasks(Scale())
        for number in range(sets)
        for how in [task.settings["how"]]
    ])  # fmt: skip


def test_the_one_that_meets_the_conditions_and_is_highest_becomes_the_default():
    frame = frame_of({"lasso": 0.5, "wide 2.5": 0.6, "LassoCV": 0.5})
    assert verdict(frame).default == "wide 2.5"
    assert verdict(frame).meets_rule


def test_one_that_is_behind_lasso_cv_where_nothing_is_bent_does_not():
    def wide(design):
        return 1.0 if design.kind == "N" else 0.48

    frame = frame_of({"lasso": 0.495, "wide 1.5": wide, "LassoCV": 0.5})
    table = conditions(frame).set_index("how")
    assert table.index[0] == "wide 1.5"
    assert table["not_behind"].to_dict() == {
        "lasso": True, "wide 1.5": False, "wide 2.5": False, "mixed": False, "mrmr": False,
    }  # fmt: skip
    assert verdict(frame).default == "lasso"


def test_survival_does_not_count_in_the_comparison_with_lasso_cv():
    frame = frame_of({"lasso": lambda one: 1.0 if one.target == "survival" else 0.4, "LassoCV": 0.5})
    assert not conditions(frame).set_index("how").loc["lasso", "not_behind"]


def test_if_none_meets_them_the_best_is_taken_and_it_is_said():
    few = {"L01", "L02"}
    frame = frame_of({"lasso": lambda one: 0.9 if one.name in few else 0.3, "LassoCV": 0.3})
    found = verdict(frame)
    assert found.default == "lasso"
    assert not found.meets_rule  # ahead of mrmr, but by less than two standard errors
    assert not verdict(frame_of({"mixed": 0.4, "LassoCV": 0.5})).meets_rule


def test_differences_are_those_of_designs_that_both_have():
    table = by_design(frame_of({"lasso": lambda one: 0.4 if one.kind == "L" else 0.6}))
    found = difference(table, "lasso", "mrmr", ["L01", "L02", "L09", "M01"])  # mrmr cannot do L09
    assert found.n_designs == 3
    assert found.mean == pytest.approx((0.1 + 0.1 + 0.3) / 3)
    assert found.error == pytest.approx(np.std([0.1, 0.1, 0.3], ddof=1) / np.sqrt(3))
    assert str(found) == "+.167 ± .067"


def test_tables_have_a_row_per_method_and_per_design():
    frame = frame_of({"lasso": 0.5})
    assert markdown("trial_designs", frame).count("\n") == len(DESIGNS) + 2
    assert markdown("trial", frame).count("\n") == len(OURS) + len(PEERS) + 2
    overall = overall_table(frame).set_index("how")
    assert overall.index[0] == "lasso"
    assert overall.loc["lasso", "n_designs"] == len(DESIGNS) - 2  # the labels
    assert overall.loc["IPSS", "n_designs"] < overall.loc["mrmr", "n_designs"]


def test_tables_can_be_made_of_a_part_of_the_run():
    frame = frame_of({})
    part = frame[frame["how"].isin(["mrmr", "forest"])]
    assert all(markdown(name, part) for name in TABLES)


# The stored results


@pytest.fixture(scope="module")
def stored():
    return store.read_frames(RESULTS, [trial.NAME])[trial.NAME]


def test_the_stored_results_are_complete():
    store.check_run(RESULTS, runner.SEED, False, {trial.NAME: trial.EXPERIMENT.settings})
    tasks = trial.tasks(Scale())
    assert {cell["name"] for cell in store.cells(RESULTS)} == {task.name for task in tasks}
    assert all(len(done) == trial.N_SETS for done in store.done_splits(RESULTS, tasks).values())


PAGES = ("README.md", "docs/appendix.md", "experiments/results/trial/by_design.md")


def test_the_pages_hold_the_tables_of_the_stored_results(stored):
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in PAGES]
    assert [fill(page, stored) for page in pages] == pages
    assert all(f"<!-- table: {name} -->" in "".join(pages) for name in TABLES)


def test_the_page_states_the_verdict(stored):
    found = verdict(stored)
    page = " ".join((ROOT / "docs" / "appendix.md").read_text(encoding="utf-8").split())
    assert f"The default is `{found.default}`" in page
    assert ("no selector meets" in page) is not found.meets_rule


@pytest.mark.parametrize("name", ["L03-mrmr", "L03-LassoCV", "M06-lasso", "N03-wide 1.5"])
def test_a_set_that_is_run_again_gives_the_published_features(stored, name):
    (task,) = [one for one in trial.tasks(Scale()) if one.method == name]
    (outcome,) = runner._run_one(task, trial.run_split, 3, None, runner.SEED)[1]
    (row,) = stored[(stored["method"] == name) & (stored["split"] == 3)].to_dict("records")
    assert outcome.features == row["features"]
    assert outcome.scores == pytest.approx({key: row[key] for key in outcome.scores})


# Command line


def test_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "trial", "--quick", "--only=L03-mrmr", "-o", "out"]) == 0
    page = tmp_path / "page.md"
    page.write_text("<!-- table: trial -->\n<!-- end -->\n", encoding="utf-8")
    assert main(["trial", "-o", "out", "--page", "page.md"]) == 0
    assert "| mrmr | 1 |" in page.read_text(encoding="utf-8")
