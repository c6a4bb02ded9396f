"""Suspected causes: what each changes, and that it changes nothing else."""

import numpy as np
import pytest

from ubayfs_experiments.data.catalogue import SOURCES, load
from ubayfs_experiments.data.splits import make_split
from ubayfs_experiments.designs import real_world
from ubayfs_experiments.designs.causes import VARIANTS, run_split, tasks
from ubayfs_experiments.runner import SEED
from ubayfs_experiments.tasks import Scale, Task, seed_of

CAUSES = {"data source", "target", "split", "tie", "optimizer", "selector definition"}


def outcomes_of(variant, method, number=0):
    """Run a variant on a split of the breast cancer data, and the unchanged method beside it."""
    dataset = load("BCW", None, SEED)
    split, seed = make_split(dataset, "random", number, SEED), seed_of(SEED, "BCW", "random", number, "method")
    settings = {"n_models": 10, "variant": variant, "of": method, "stands_for": "BCW"}
    changed = run_split(Task("causes", "BCW", f"{method}+x", 2, settings=settings), dataset, split, seed)
    main = real_world.run_split(Task("2", "BCW", method, 2, settings={"n_models": 10}), dataset, split, seed)
    return changed, main


def test_every_variant_is_run_on_data_that_stand_for_one_of_the_paper():
    found = tasks(Scale())
    assert len({task.name for task in found}) == len(found)
    assert {VARIANTS[task.settings["variant"]].cause for task in found} == CAUSES
    for task in found:
        assert task.data in SOURCES
        assert task.settings["stands_for"] in real_world.DATA
        assert task.settings["of"] in (*real_world.SELECTORS, *real_world.COMPETITORS)
        assert " " not in task.name


def test_every_method_of_the_paper_has_a_suspect():
    assert {method for one in VARIANTS.values() for method in one.methods} == {
        *real_world.SELECTORS,
        *real_world.COMPETITORS,
    }


@pytest.mark.parametrize("method", ["ubayfs_fisher", "ubayfs_mrmr"])
def test_another_order_of_the_columns_changes_nothing_but_ties(method):
    """Without block constraints the votes of the chosen and of the others do not tie here, so nothing may change."""
    changed, main = outcomes_of("columns in another order", method, number=1)
    assert changed[0].features == main[0].features
    assert changed[0].scores == main[0].scores
    # One block has not enough features with votes; which of the others fill it is a tie.
    assert changed[1].features != main[1].features


def test_splits_without_strata_have_the_same_size_and_other_class_counts():
    changed, main = outcomes_of("splits without strata", "ubayfs_fisher")
    counts = [[one.scores[f"logistic_{key}"] for key in ("tp", "fn", "fp", "tn")] for one in (changed[0], main[0])]
    assert sum(counts[0]) == sum(counts[1]) == 143
    assert counts[0][0] + counts[0][1] != counts[1][0] + counts[1][1]


def test_the_genetic_optimizer_decides_on_the_same_evidence():
    changed, main = outcomes_of("genetic optimizer", "ubayfs_fisher")
    assert [one.setting["scenario"] for one in changed] == [one.setting["scenario"] for one in main]
    # The plain problem has one best set here, and the genetic algorithm finds it.
    assert changed[0].features == main[0].features


@pytest.mark.parametrize(
    ("variant", "method"), [("loss of accuracy out of bag", "random_forest"), ("l1_share 0.5", "group_lasso")]
)
def test_a_changed_definition_gives_another_set_on_some_split(variant, method):
    assert any(
        [one.features for one in changed] != [one.features for one in main]
        for changed, main in (outcomes_of(variant, method, number) for number in range(4))
    )


def test_twice_as_many_features_are_twice_as_many():
    changed, main = outcomes_of("twice as many features", "random_forest")
    assert len(changed[0].features) == 2 * len(main[0].features) == 10


def test_what_is_reported_of_an_outcome():
    changed, _ = outcomes_of("loss of accuracy out of bag", "random_forest")
    assert dict(changed[0].setting) == {
        "scenario": "standard",
        "variant": "loss of accuracy out of bag",
        "cause": "selector definition",
        "of": "random_forest",
        "stands_for": "BCW",
    }
    assert changed[0].features == tuple(sorted(changed[0].features))


def test_other_targets_are_those_of_the_same_rows(data_dir):
    main, other = load("MPE", data_dir, SEED), load("MPE_treatment", data_dir, SEED)
    np.testing.assert_array_equal(main.X, other.X)
    assert 0.2 < np.mean(main.y == other.y) < 0.8
