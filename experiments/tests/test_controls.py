"""The control with a shuffled target: classes are kept, and nothing can be learned."""

import numpy as np
import pytest

from ubayfs_experiments.data.catalogue import load
from ubayfs_experiments.data.splits import make_split
from ubayfs_experiments.designs import controls, real_world
from ubayfs_experiments.designs.controls import SETTINGS, run_split, tasks
from ubayfs_experiments.methods.predictors import PREDICTORS
from ubayfs_experiments.runner import SEED
from ubayfs_experiments.tasks import Scale, Task, seed_of

N_SPLITS = 4


@pytest.fixture(scope="module")
def dataset():
    return load("BCW", None, SEED)


def parts(dataset, number):
    task = Task("controls", "BCW", "ubayfs_fisher", 2, settings={"n_models": 5})
    return task, dataset, make_split(dataset, "random", number, SEED), seed_of(SEED, "BCW", "random", number, "method")


@pytest.fixture(scope="module")
def outcomes(dataset):
    return [run_split(*parts(dataset, number)) for number in range(N_SPLITS)]


def test_a_cell_for_every_data_set_and_selector():
    found = tasks(Scale())
    assert {task.data for task in found} == set(real_world.DATA)
    assert {task.method for task in found} == set(real_world.SELECTORS)
    assert {task.n_splits for task in found} == {SETTINGS["n_splits"]}
    assert {task.n_splits for task in tasks(Scale(True))} == {2}


def test_true_and_shuffled_in_every_scenario(outcomes):
    for found in outcomes:
        assert [(one.setting["target"], one.setting["scenario"]) for one in found] == [
            (target, scenario) for target in ("true", "shuffled") for scenario in ("standard", "block")
        ]


def test_with_the_true_target_it_is_experiment_2(dataset, outcomes):
    for number, found in enumerate(outcomes[:2]):
        real = real_world.run_split(*parts(dataset, number))
        assert [(one.features, one.scores) for one in found[:2]] == [(one.features, one.scores) for one in real]


def test_a_shuffled_target_keeps_the_class_counts_and_is_new_in_every_split(dataset, monkeypatch):
    seen = []

    def look(method, data, X, y, n_models, seed):
        seen.append((data.y, y))
        return iter(())

    monkeypatch.setattr(controls, "found_by_ubayfs", look)
    for number in range(3):
        _, _, split, _ = parts(dataset, number)
        run_split(*parts(dataset, number))
        (true, true_train), (shuffled, shuffled_train) = seen[-2:]
        assert np.array_equal(true, dataset.y)
        assert np.array_equal(np.bincount(shuffled), np.bincount(dataset.y))
        assert not np.array_equal(shuffled, dataset.y)
        # The methods see the training rows of the target at hand.
        assert np.array_equal(true_train, true[split.train])
        assert np.array_equal(shuffled_train, shuffled[split.train])
    assert len({tuple(shuffled) for shuffled, _ in seen[1::2]}) == 3


def test_scores_are_those_of_the_target_at_hand(dataset, outcomes):
    for number, found in enumerate(outcomes):
        _, _, split, seed = parts(dataset, number)
        shuffled = np.random.default_rng(seed).permutation(dataset.y)
        for one in found:
            y = dataset.y if one.setting["target"] == "true" else shuffled
            assert one.scores["svm_tp"] + one.scores["svm_fn"] == y[split.test].sum()


def balanced_accuracy(found, predictor):
    tp, fp, fn, tn = (found.scores[f"{predictor}_{count}"] for count in ("tp", "fp", "fn", "tn"))
    return (tp / (tp + fn) + tn / (tn + fp)) / 2


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_nothing_can_be_learned_from_a_shuffled_target(outcomes, predictor):
    """Four times 143 held-out rows: the standard error of a guess is about 0.02."""
    by_target = {
        target: [
            balanced_accuracy(one, predictor) for found in outcomes for one in found if one.setting["target"] == target
        ]
        for target in ("true", "shuffled")
    }
    assert np.mean(by_target["true"]) > 0.85
    assert abs(np.mean(by_target["shuffled"]) - 0.5) < 0.06
