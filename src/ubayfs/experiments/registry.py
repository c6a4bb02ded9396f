"""All experiments by name, in the order in which they are run and reported."""

from __future__ import annotations

from .._arguments import did_you_mean
from ..exceptions import InputError
from . import causes, controls, optimizers, real_world, simulation
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
            known = ", ".join([*EXPERIMENTS, ALL])
            raise InputError(
                f"there is no experiment {name!r}.{did_you_mean(name, [*EXPERIMENTS, ALL])} Known experiments: {known}."
            )
    return [experiment for key, experiment in EXPERIMENTS.items() if key in names or ALL in names]
