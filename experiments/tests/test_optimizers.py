"""The exact optimizer beside the genetic one: the problems, and figures that agree with each other."""

import numpy as np
import pytest

import ubayfs
from amounts import seeds
from ubayfs_experiments.data.catalogue import SOURCES, load
from ubayfs_experiments.data.splits import make_split
from ubayfs_experiments.designs import optimizers
from ubayfs_experiments.designs.optimizers import DATA, SETTINGS, run_split, tasks
from ubayfs_experiments.designs.real_world import SELECTORS
from ubayfs_experiments.runner import SEED
from ubayfs_experiments.tasks import Scale, Task, seed_of

GENETIC, LETTER = "genetic", "genetic, start to the letter"


@pytest.fixture(scope="module")
def outcomes():
    """Outcomes of a split of the breast cancer data for each selector."""
    dataset, found = load("BCW", None, SEED), []
    for number, method in enumerate(SELECTORS):
        task = Task("optimizers", "BCW", method, 2, settings={"n_models": 8, "n_generations": 20})
        seed = seed_of(SEED, "BCW", "random", number, "method")
        found.append(run_split(task, dataset, make_split(dataset, "random", number, SEED), seed))
    return found


def test_a_cell_for_every_sound_data_set_and_selector():
    found = tasks(Scale())
    assert {(task.data, task.method) for task in found} == {(name, method) for name in DATA for method in SELECTORS}
    assert "LEU" not in DATA
    assert "LEU_golub" in DATA
    for task in found:
        size = "up to 1000 features" if SOURCES[task.data].n_features <= 1000 else "more"
        assert task.n_splits == SETTINGS["n_splits"][size]
    assert {task.n_splits for task in tasks(Scale(True))} == {2}


def test_every_problem_is_decided_by_both(outcomes):
    for found in outcomes:
        pairs = [(one.setting["problem"], one.setting["optimizer"]) for one in found]
        assert sorted(pairs) == sorted(
            [
                (problem, name)
                for problem in ("plain", "blocks", "decorrelated", "linked")
                for name in ("exact", GENETIC)
            ]
            + [("plain", LETTER)]
        )


def test_data_without_blocks_have_no_block_problem(data_dir):
    problems = problems_of(load("HD", data_dir, SEED), np.arange(46), 0)
    assert set(problems) == {"plain", "decorrelated", "linked"}


def test_nothing_is_better_than_the_exact_optimum(outcomes):
    for found in outcomes:
        exact = {one.setting["problem"]: one.scores for one in found if one.setting["optimizer"] == "exact"}
        for one in found:
            best = exact[one.setting["problem"]]
            assert one.scores["value"] <= best["value"] + 1e-9
            assert one.scores["loss"] == pytest.approx(best["value"] - one.scores["value"], abs=1e-12)
            assert one.scores["missed"] == float(one.scores["loss"] > 1e-9)


def test_the_exact_optimum_is_proven_and_loses_nothing(outcomes):
    for found in outcomes:
        for one in found:
            if one.setting["optimizer"] == "exact":
                assert one.scores["loss"] == one.scores["missed"] == 0.0
                assert one.scores["gap"] == pytest.approx(0.0, abs=1e-9)
                assert one.scores["bound"] == pytest.approx(one.scores["value"], abs=1e-9)


def test_a_search_that_is_too_short_misses_the_optimum(monkeypatch):
    """Such a figure must be able to come out: the mark of a miss is not always 0."""
    for name in (GENETIC, LETTER):
        monkeypatch.setitem(SETTINGS, name, {"n_sets": 2, "start": "paper"})
    dataset = load("BCW", None, SEED)
    task = Task("optimizers", "BCW", "ubayfs_tree", 1, settings={"n_models": 8, "n_generations": 0})
    found = run_split(task, dataset, make_split(dataset, "random", 0, SEED), seed_of(SEED, "BCW"))
    short = [one for one in found if one.setting["optimizer"] != "exact"]
    assert len(short) == 5
    assert all(one.scores["missed"] == 1.0 and one.scores["loss"] > 0.01 for one in short)


def problems_of(dataset, counts, seed):
    return optimizers._problems(dataset, np.asarray(counts), np.random.default_rng(seed))


@pytest.mark.parametrize("seed", seeds(20))
def test_linked_pairs_are_disjoint_and_among_the_most_voted(seed):
    dataset = load("BCW", None, SEED)
    counts = np.random.default_rng(seed).permutation(30)
    size, *linked = problems_of(dataset, counts, seed)["linked"]
    assert size == ubayfs.max_size(5, rho=1.0)
    members = [set(dict(one.arguments)["features"]) for one in linked]
    together = set().union(*members)
    assert all(len(pair) == 2 for pair in members)
    assert len(together) == 2 * len(members)
    assert together <= set(np.argsort(-counts)[:10].tolist())
    assert [one.kind for one in linked] == ["must_link"] * 2 + ["cannot_link"] * 2
    assert {dict(one.arguments)["rho"] for one in linked} == {1.0}


@pytest.mark.parametrize(("name", "n_pairs"), [("BCW", 4), ("LSVT", 6), ("PRO", 6)])
def test_ten_features_leave_room_for_two_pairs_of_each_kind_twenty_for_three(name, n_pairs, data_dir):
    dataset = load(name, data_dir, SEED)
    assert len(problems_of(dataset, np.arange(dataset.X.shape[1]), 0)["linked"]) == 1 + n_pairs


def test_problems_depend_on_the_seed_alone():
    dataset = load("BCW", None, SEED)
    counts = np.arange(30)
    assert problems_of(dataset, counts, 1) == problems_of(dataset, counts, 1)
    assert problems_of(dataset, counts, 1)["linked"] != problems_of(dataset, counts, 2)["linked"]


def test_thresholds_of_correlation_depend_on_the_number_of_features(data_dir):
    for name, threshold in (("BCW", 0.5), ("PRO", 0.8)):
        dataset = load(name, data_dir, SEED)
        problems = problems_of(dataset, np.arange(dataset.X.shape[1]), 0)
        assert problems["decorrelated"][-1] == ubayfs.decorrelate(threshold)
