"""All experiments by name, in the order in which they are run and reported."""

from __future__ import annotations

from difflib import get_close_matches

from ubayfs import InputError

from .designs import causes, controls, optimizers, real_world, simulation
from .tasks import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        *simulation.EXPERIMENTS,
        real_world.EXPERIMENT,
        causes.EXPERIMENT,
        optimizers.EXPERIMENT,
        controls.EXPERIMENT,
    )
}
ALL = "all"


def named(names: list[str]) -> list[Experiment]:
    """Return experiments by name; "all" means all of them.

    Raises
    ------
    InputError
        If there is no experiment of a name.
    """
    for name in names:
        if name not in EXPERIMENTS and name != ALL:
            known = [*EXPERIMENTS, ALL]
            near = "".join(f" Did you mean {match!r}?" for match in get_close_matches(name.lower(), known, n=1))
            raise InputError(f"there is no experiment {name!r}.{near} Known experiments: {', '.join(known)}.")
    return [experiment for key, experiment in EXPERIMENTS.items() if key in names or ALL in names]
