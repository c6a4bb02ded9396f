"""Experiments by name."""

import pytest

from ubayfs.exceptions import InputError
from ubayfs_experiments.registry import EXPERIMENTS, named


def test_all_experiments_are_known_by_their_own_names():
    assert {"1a", "1b", "1c", "1d", "2", "optimizers", "controls"} <= set(EXPERIMENTS)
    assert all(name == experiment.name and experiment.title for name, experiment in EXPERIMENTS.items())


def test_all_means_all_whatever_else_is_named():
    assert named(["all"]) == named(["2", "all"]) == list(EXPERIMENTS.values())


def test_an_unknown_name_beside_all_is_reported():
    with pytest.raises(InputError, match="no experiment '1z'"):
        named(["all", "1z"])


def test_order_and_repetition_do_not_matter():
    assert named(["2", "1a", "2"]) == [EXPERIMENTS["1a"], EXPERIMENTS["2"]]


@pytest.mark.parametrize(
    ("name", "hint"), [("control", "'controls'"), ("1A", "'1a'"), ("optimisers", "'optimizers'"), ("ALL", "'all'")]
)
def test_an_unknown_name_is_answered_with_the_nearest(name, hint):
    with pytest.raises(InputError, match=rf"no experiment '{name}'. Did you mean {hint}\? Known experiments: 1a, "):
        named(["2", name])


def test_a_name_far_from_all_lists_them():
    with pytest.raises(InputError, match=r"no experiment 'zzz'\. Known experiments: .*controls.*, all\.$"):
        named(["zzz"])


def test_the_authors_protocol_stands_in_for_experiment_2():
    assert named(["2", "1a"], "paper") == [EXPERIMENTS["1a"], EXPERIMENTS["2-paper"]]
    assert named(["2", "1a"], "ours") == named(["2", "1a"])
    assert named(["all"], "paper") == named(["all"])
