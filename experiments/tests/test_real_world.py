"""Experiment 2: its cells and constraints, that nothing leaks from test rows, and the same evidence everywhere."""

import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import ubayfs
from ubayfs_experiments.data.catalogue import SOURCES, load
from ubayfs_experiments.data.splits import make_split
from ubayfs_experiments.designs import controls, optimizers, real_world
from ubayfs_experiments.designs.real_world import (
    BY_GROUPS,
    COMPETITORS,
    DATA,
    SELECTORS,
    constraints_of,
    run_split,
    tasks,
)
from ubayfs_experiments.methods.predictors import confusion
from ubayfs_experiments.runner import SEED
from ubayfs_experiments.tasks import Scale, Task, seed_of

METHODS = (*SELECTORS, *COMPETITORS)
N_MODELS = 12


def seed_for(data, number, scheme="random"):
    """The seed that the runner gives to a split."""
    return seed_of(SEED, data, scheme, number, "method")


def run_on(dataset, method, split, run=run_split, experiment="2"):
    task = Task(experiment, dataset.source.name, method, 2, settings={"n_models": N_MODELS, "n_generations": 2})
    return run(task, dataset, split, seed_for(dataset.source.name, split.number))


@pytest.fixture(scope="module")
def cells():
    """Breast cancer data, a split of them and the outcomes of every method."""
    dataset = load("BCW", None, SEED)
    split = make_split(dataset, "random", 0, SEED)
    return dataset, split, {method: run_on(dataset, method, split) for method in METHODS}


def test_every_method_on_every_data_set_and_group_lasso_where_blocks_are():
    for scale, n_splits, n_models in ((Scale(), 100, 100), (Scale(True), 2, 5)):
        found = {(task.data, task.scheme, task.method) for task in tasks(scale)}
        assert found == {
            (data, scheme, method)
            for scheme, names in (("random", DATA), ("groups", ("MPE", "LSVT")))
            for data in names
            for method in METHODS
            if method != "group_lasso" or data in ("BCW", "COL", "LSVT", "p53")
        }
        assert {task.n_splits for task in tasks(scale)} == {n_splits}
        assert {task.settings["n_models"] for task in tasks(scale)} == {n_models}


def test_data_that_are_split_by_groups_have_groups():
    assert set(BY_GROUPS) == {name for name in DATA if SOURCES[name].groups is not None}


@pytest.mark.parametrize("name", ["BCW", "HD", "MPE", "COL", "LSVT"])
def test_constraints_are_those_of_the_papers_table(name, data_dir):
    """The numbers themselves are compared with the paper's table in the tests of the catalogue."""
    dataset, source = load(name, data_dir, SEED), SOURCES[name]
    expected = {"standard": [ubayfs.max_size(source.n_select, rho=1.0)]}
    if source.has_blocks:
        expected["block"] = [*expected["standard"], ubayfs.max_blocks(source.max_blocks, rho=1.0)]
    assert constraints_of(dataset) == expected


def test_scenarios_of_the_methods(cells):
    dataset, _, outcomes = cells
    for method in SELECTORS:
        assert [one.setting["scenario"] for one in outcomes[method]] == ["standard", "block"]
    assert [outcomes[method][0].setting["scenario"] for method in COMPETITORS] == ["standard", "standard", "block"]
    assert all(one.setting["variant"] == "main" for found in outcomes.values() for one in found)
    without = replace(dataset, blocks=None)
    assert list(constraints_of(without)) == ["standard"]


def evidence_of(dataset, split, method):
    """Evidence as the settings say, by the public function alone."""
    return ubayfs.collect_evidence(
        dataset.X[split.train],
        dataset.y[split.train],
        selector=SELECTORS[method],
        n_models=N_MODELS,
        train_size=0.75,
        n_features_per_model=5,
        random_state=int(seed_for("BCW", 0).generate_state(1)[0]),
    )


@pytest.mark.filterwarnings("ignore::ubayfs.exceptions.UBayFSWarning")
@pytest.mark.parametrize("method", SELECTORS)
def test_the_plain_scenario_takes_the_features_with_most_votes(cells, method):
    """Where the max-size is kept, the utility of a set grows by the votes alone; ties go to any of the tied."""
    dataset, split, outcomes = cells
    counts = evidence_of(dataset, split, method).counts
    features = outcomes[method][0].features
    assert len(features) == 5
    assert sorted(counts[list(features)]) == sorted(counts)[-5:]


@pytest.mark.parametrize("method", SELECTORS)
def test_the_block_scenario_is_the_best_of_all_sets(cells, method):
    """A search over all numbers of features per block, most votes first, by the paper's utility written out."""
    dataset, split, outcomes = cells
    counts = evidence_of(dataset, split, method).counts
    theta = (0.01 + counts) / (0.01 + counts).sum()
    ranked = [10 * block + np.argsort(-counts[10 * block : 10 * block + 10], kind="stable") for block in range(3)]

    def admissibility(excess):
        xi = np.exp(-max(excess, 0))
        return 2 * xi / (1 + xi)

    def utility(features):
        n_blocks = len({feature // 10 for feature in features})
        return theta[list(features)].sum() + admissibility(len(features) - 5) * admissibility(n_blocks - 1)

    sets = [
        [int(feature) for block, n in zip(ranked, sizes, strict=True) for feature in block[:n]]
        for sizes in product(range(11), repeat=3)
    ]
    assert utility(outcomes[method][1].features) == pytest.approx(max(map(utility, sets)), abs=1e-12)


def test_sets_have_the_size_that_is_asked_for(cells):
    for found in cells[2].values():
        for one in found:
            assert 1 <= one.scores["n_blocks"] <= 3
            assert list(one.features) == sorted(set(one.features))
            assert one.seconds >= 0
            assert 1 <= len(one.features) <= 5


def test_scores_are_the_confusion_and_the_blocks_touched(cells):
    dataset, split, outcomes = cells
    for found in outcomes.values():
        for one in found:
            expected = confusion(dataset.X, dataset.y, split.train, split.test, one.features)
            assert one.scores == {**expected, "n_blocks": len({feature // 10 for feature in one.features})}
    assert real_world.scores(replace(dataset, blocks=None), dataset.y, split, (0,))["n_blocks"] is None


@pytest.mark.parametrize("method", METHODS)
def test_test_rows_have_no_say_in_what_is_selected(cells, method):
    """The proof that nothing leaks: noise in place of all test rows, values and classes, changes no feature."""
    dataset, split, outcomes = cells
    rng = np.random.default_rng(5)
    X, y = dataset.X.copy(), dataset.y.copy()
    X[split.test] = rng.normal(1e3, 1e3, size=X[split.test].shape)
    y[split.test] = rng.integers(0, 2, len(split.test))
    garbled = run_on(replace(dataset, X=X, y=y), method, split)
    assert [(one.setting, one.features) for one in garbled] == [(one.setting, one.features) for one in outcomes[method]]
    # What is predicted for noise is worth no more than a guess; so the replacement did take place.
    counts = garbled[0].scores
    assert 0.3 < (counts["svm_tp"] + counts["svm_tn"]) / len(split.test) < 0.7


@pytest.mark.parametrize("method", METHODS)
def test_training_rows_have(cells, method):
    """The same noise in the training rows changes what is selected: the test above can fail."""
    dataset, split, outcomes = cells
    X = dataset.X.copy()
    X[split.train] = np.random.default_rng(5).normal(size=X[split.train].shape)
    other = run_on(replace(dataset, X=X), method, split)
    assert [one.features for one in other] != [one.features for one in outcomes[method]]


@pytest.mark.parametrize("method", METHODS)
def test_a_split_comes_out_alike_each_time(cells, method):
    dataset, split, outcomes = cells
    again = run_on(dataset, method, split)
    assert [(one.setting, one.features, one.scores) for one in again] == [
        (one.setting, one.features, one.scores) for one in outcomes[method]
    ]


def test_data_are_left_as_they_are(cells):
    """A data set is read once per process and shared by all splits."""
    dataset = cells[0]
    fresh = load.__wrapped__("BCW", None, SEED)
    assert np.array_equal(dataset.X, fresh.X)
    assert np.array_equal(dataset.y, fresh.y)


@pytest.mark.parametrize("method", SELECTORS)
def test_all_experiments_on_real_data_use_the_same_evidence(cells, method, monkeypatch):
    dataset, split, outcomes = cells
    monkeypatch.setitem(optimizers.SETTINGS, "genetic", {"n_sets": 10, "start": "guided"})
    monkeypatch.setitem(optimizers.SETTINGS, "genetic, start to the letter", {"n_sets": 10})
    by_problem = {
        one.setting["problem"]: one.features
        for one in run_on(dataset, method, split, optimizers.run_split, "optimizers")
        if one.setting["optimizer"] == "exact"
    }
    true = {
        one.setting["scenario"]: one.features
        for one in run_on(dataset, method, split, controls.run_split, "controls")
        if one.setting["target"] == "true"
    }
    here = {one.setting["scenario"]: one.features for one in outcomes[method]}
    assert here == true == {"standard": by_problem["plain"], "block": by_problem["blocks"]}


def test_advice_is_silenced_but_other_warnings_are_not():
    def advise(category):
        warnings.warn("look", category, stacklevel=1)
        return 3

    assert real_world.quiet(advise)(ubayfs.exceptions.UBayFSWarning) == 3
    with pytest.warns(RuntimeWarning, match="look"):
        real_world.quiet(advise)(RuntimeWarning)


def test_another_selector_and_optimizer_can_be_tried(cells):
    """For tests of what a difference from the paper comes from."""
    dataset, split, outcomes = cells
    arguments = (dataset, dataset.X[split.train], dataset.y[split.train], N_MODELS, seed_for("BCW", 0))
    plain = list(real_world.found_by_ubayfs("ubayfs_mrmr", *arguments, selector="fisher"))
    assert [features for _, features, _ in plain] == [one.features for one in outcomes["ubayfs_fisher"]]
    genetic = ubayfs.Genetic(n_sets=20, n_generations=3, start="guided")
    found = list(real_world.found_by_ubayfs("ubayfs_mrmr", *arguments, optimizer=genetic))
    assert [setting["scenario"] for setting, _, _ in found] == ["standard", "block"]
