"""Runs for the paper's sentences on experiment 2, and the finer grids of experiment 1."""

import numpy as np
import pandas as pd
import pytest

import fake_run as fake
from ubayfs_experiments.claims import real
from ubayfs_experiments.claims.real import REAL_CLAIMS, powers_of
from ubayfs_experiments.data.catalogue import load
from ubayfs_experiments.data.splits import make_split
from ubayfs_experiments.data.synthetic import generate
from ubayfs_experiments.designs import discussion, finer, simulation
from ubayfs_experiments.runner import SEED
from ubayfs_experiments.tasks import Scale, Task, seed_of


def run(method, data="BCW", number=0, n_models=10):
    dataset = load(data, None, SEED)
    task = Task(discussion.NAME, data, method, 2, settings={"n_models": n_models})
    split = make_split(dataset, "random", number, SEED)
    return discussion.run_split(task, dataset, split, seed_of(SEED, data, "random", number, "method"))


def test_a_mixed_ensemble_has_each_scenario_and_two_sizes():
    found = run("mixed")
    assert [(one.setting["n_models"], one.setting["scenario"]) for one in found] == [
        (10, "standard"), (10, "block"), (30, "standard"), (30, "block"),
    ]  # fmt: skip


def test_a_small_lambda_takes_all_features_and_large_ones_keep_the_size(monkeypatch):
    monkeypatch.setattr(discussion, "STRENGTHS", (0.001, 1.0, 100.0))
    sizes = {one.setting["strength"]: len(one.features) for one in run("strength+ubayfs_tree")}
    assert sizes == {0.001: 30, 1.0: 5, 100.0: 5}


def test_generations_count_from_the_start(monkeypatch):
    monkeypatch.setitem(discussion.SETTINGS, "generations", {"n_sets": 20, "n_generations": 5})
    found = {
        one.setting["optimizer"]: one.scores
        for one in run("generations+ubayfs_fisher")
        if one.setting["scenario"] == "standard"
    }
    assert list(found) == ["as in the scripts", "Algorithm 1 to the letter", "guided"]
    # The set of the highest importances is in the start of the scripts, and is the optimum of the plain problem.
    assert found["as in the scripts"] == {"generation": 0.0, "loss": 0.0}


def test_seconds_are_taken_on_every_size(monkeypatch):
    monkeypatch.setitem(discussion.SETTINGS, "seconds", {"rows": [40, 80], "columns": [20, 50]})
    found = run("seconds+ubayfs_fisher", "additive")
    sizes = [(one.setting["rows"], one.setting["columns"]) for one in found]
    assert sizes == [(40, 20), (40, 50), (80, 20), (80, 50)]


def test_elimination_by_forests_may_take_all_features():
    sizes = {}
    for number in range(3):
        for one in run("rfe", "redundant", number):
            sizes.setdefault(one.setting["selector"], []).append(one.scores["per_model"])
    assert set(sizes["linear support vector machine"]) == {16.0}
    assert max(sizes["random forests"]) > 16


def test_every_kind_of_task_is_run():
    kinds = {task.method.partition("+")[0] for task in discussion.tasks(Scale())}
    assert kinds == {"mixed", "strength", "generations", "seconds", "noise", "rfe"}


def test_small_relaxations_are_decided_on_the_evidence_of_1c(monkeypatch):
    few = {"mrmr", "fisher", "tree", "lasso", "laplacian", "hsic-5", "rfe-5"}
    wanted = {"blocks": few, "blocks-authors": few}
    found = finer.tasks_of_low_rho(Scale())
    assert {data: {task.method for task in found if task.data == data} for data in wanted} == wanted
    dataset, seed = load("blocks", None, SEED), seed_of(SEED, "blocks", "random", 0, "method")
    split = make_split(dataset, "random", 0, SEED)
    both = []
    for rho in ("0.5", "1"):
        settings = {"selector": "fisher", "n_models": 10, "constraint": ["max_blocks 2"], "rho": [rho]}
        both += simulation.run_constraints(Task("x", "blocks", "fisher", 1, settings=settings), dataset, split, seed)
    assert [one.setting["rho"] for one in both] == ["0.5", "1"]


def test_every_split_of_the_draws_has_data_of_its_own(monkeypatch):
    seen = []
    monkeypatch.setattr(finer, "run_models", lambda task, dataset, split, seed: seen.append(dataset.X[0, 0]))
    dataset = generate("additive", 0)
    for number in (0, 1, 0):
        split = make_split(dataset, "random", number, SEED)
        finer.run_draw(Task("1a-draws", "additive", "fisher", 2), dataset, split, np.random.SeedSequence(0))
    assert seen[0] == seen[2] != seen[1]
    assert dataset.X[0, 0] not in seen


# What the paper says --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "rule"), REAL_CLAIMS, ids=[text[:30] for text, _ in REAL_CLAIMS])
def test_without_runs_nothing_is_judged(text, rule):
    assert not rule({}).tested
    assert rule({"2": fake.experiment_2(n_splits=3), "discussion": fake.discussion(n_splits=3)}).tested


def real_cell(method, right, features, data="PRO", n=10, **columns):
    from fake_cells import rows

    frame = rows(n, data, method, lambda i: right + i % 2, **columns)
    return frame.assign(features=[features(i) for i in range(n)])


SAME, OTHER = (lambda i: (0, 1)), (lambda i: (i % 5, 5))


def test_f1_of_the_best_counts():
    def judge(own):
        frame = pd.concat([real_cell("rent", 6, SAME), real_cell("random_forest", 4, SAME),
                           real_cell("ubayfs_mrmr", own, SAME), real_cell("ubayfs_tree", 3, SAME)])  # fmt: skip
        return real.keeps_up({"2": frame}).verdict

    assert [judge(own) for own in (7, 6, 5)] == ["holds", "holds", "does not hold"]


def test_a_competitor_that_is_as_good_in_both_spoils_the_trade_off():
    own, rival = real_cell("ubayfs_mrmr", 6, SAME), real_cell("rent", 7, OTHER)
    judged = real.trade_off({"2": pd.concat([own, rival])})
    assert judged.verdict == "holds"
    assert judged.words.endswith("In 1 a competitor has none of the three as good in both.")
    assert real.trade_off({"2": pd.concat([own, real_cell("rent", 7, SAME)])}).verdict == "does not hold"


def test_the_papers_own_tables_stand_beside_trees_and_run_times():
    # Counted in its tables by hand: trees are best, or tie, in 12 of 24 rows; of 60 pairs of seconds 17 are slower.
    frames = {"2": pd.concat([real_cell("ubayfs_tree", 6, SAME), real_cell("rent", 6, SAME)])}
    assert "in the paper's tables in 12 of 24, ties included" in real.trees_on_top(frames).words
    assert "in the paper's table in 17 of 60, and beside random forests alone in 11 of 24." in real.slower(frames).words


def test_forests_are_compared_in_stability_alone():
    own, forest = real_cell("ubayfs_mrmr", 6, SAME), real_cell("random_forest", 9, OTHER)
    assert real.forest_unstable({"2": pd.concat([own, forest])}).verdict == "holds"
    swapped = pd.concat([own.assign(features=forest["features"]), forest.assign(features=own["features"])])
    assert real.forest_unstable({"2": swapped}).verdict == "does not hold"


def test_a_mixed_ensemble_is_compared_with_the_most_stable_of_the_three():
    singles = pd.concat([real_cell("ubayfs_mrmr", 6, SAME), real_cell("ubayfs_tree", 6, OTHER)])
    mixed = real_cell("mixed", 6, OTHER, n_models=100.0, kind="mixed")
    frames = {"2": singles, "discussion": mixed}
    assert real.mixed_less_stable(frames).verdict == "holds"
    # Less stable, but within the errors: in part.
    frames["discussion"] = mixed.assign(features=[(0, 1)] * (len(mixed) - 1) + [(0, 5)])
    assert real.mixed_less_stable(frames).verdict == "holds in part"
    frames["discussion"] = mixed.assign(features=[(0, 1)] * len(mixed))
    assert real.mixed_less_stable(frames).verdict == "does not hold"


def test_lambda_matters_where_the_sets_differ():
    one = real_cell("strength+ubayfs_mrmr", 6, SAME, kind="strength", of="ubayfs_mrmr", strength=1.0)
    same = real_cell("strength+ubayfs_mrmr", 6, SAME, kind="strength", of="ubayfs_mrmr", strength=10.0)
    other = real_cell("strength+ubayfs_mrmr", 3, OTHER, kind="strength", of="ubayfs_mrmr", strength=10.0)
    assert real.lambda_indifferent({"discussion": pd.concat([one, same])}).verdict == "holds"
    verdict = real.lambda_indifferent({"discussion": pd.concat([one, other])})
    assert verdict.verdict == "does not hold"
    assert "0% with 10" in verdict.words


@pytest.mark.parametrize(("generations", "verdict"), [([0, 3, 10, 50], "holds"), ([11, 30, None, 2], "does not hold")])
def test_generations_up_to_ten_count(generations, verdict):
    frame = pd.DataFrame({"kind": "generations", "optimizer": "as in the scripts", "scenario": "standard",
                          "generation": generations})  # fmt: skip
    assert real.soon_optimal({"discussion": frame}).verdict == verdict


def test_powers_are_those_of_the_formula():
    sizes = pd.DataFrame({"rows": [50, 100, 200, 100], "columns": [10, 100, 30, 1000]})
    rows, columns = powers_of(sizes.assign(seconds=0.1 * sizes["rows"] ** 0.5 * sizes["columns"] ** 1.5))
    assert (rows, columns) == (pytest.approx(0.5), pytest.approx(1.5))
