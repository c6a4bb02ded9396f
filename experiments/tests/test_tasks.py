"""Names of cells, sizes of runs, and seeds that depend on nothing but their parts."""

import os
import subprocess
import sys
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from ubayfs_experiments.registry import EXPERIMENTS
from ubayfs_experiments.tasks import Scale, Task, seed_of

PARTS = st.lists(st.one_of(st.integers(0, 2**32 - 1), st.text(max_size=8)), max_size=4)


def state(*parts):
    return tuple(seed_of(*parts).generate_state(4).tolist())


def test_the_scheme_is_named_unless_it_is_the_usual_one():
    assert Task("2", "PRO", "rent", 100).name == "2/PRO/rent"
    assert Task("2", "MPE", "rent", 100, "groups").name == "2/MPE-groups/rent"


@given(st.integers(0, 2**40), PARTS)
def test_a_seed_is_that_of_its_parts(seed, parts):
    assert state(seed, *parts) == state(seed, *parts)


def test_seeds_of_different_parts_differ():
    parts = list(product((0, 1, 20221), ("PRO", "LEU", "MPE"), ("random", "groups"), range(100)))
    assert len({state(*one) for one in parts}) == len(parts)
    assert len({state(*one, "method") for one in parts} | {state(*one) for one in parts}) == 2 * len(parts)


def test_a_seed_is_the_same_in_every_process():
    """Text is not hashed by ``hash``, which differs from process to process."""
    code = "from ubayfs_experiments.tasks import seed_of; print(*seed_of(1, 'PRO', 'groups', 7).generate_state(4))"
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert said == {" ".join(map(str, state(1, "PRO", "groups", 7))) + "\n"}


def test_a_quick_run_is_small_and_never_larger():
    assert [Scale(True).splits(n) for n in (1, 2, 100)] == [1, 2, 2]
    assert [Scale(True).models(n) for n in (1, 5, 100)] == [1, 5, 5]
    assert (Scale().splits(100), Scale().models(200)) == (100, 200)
    assert Scale(True).data(["BCW", "PRO"]) == ["BCW"]
    assert Scale().data(["BCW", "PRO"]) == ["BCW", "PRO"]


def test_names_of_cells_differ_in_all_experiments():
    for quick in (False, True):
        names = [task.name for one in EXPERIMENTS.values() for task in one.tasks(Scale(quick))]
        assert len(set(names)) == len(names)
        # No cell's file is another cell's directory, and no name leaves the directory of the run.
        assert all(name.count("/") == 2 and not name.startswith((".", "/")) for name in names)


def test_tasks_belong_to_their_experiment():
    for name, experiment in EXPERIMENTS.items():
        assert {task.experiment for task in experiment.tasks(Scale())} == {name}
