"""All experiments by name, in the order in which they are run and reported."""

from __future__ import annotations

from difflib import get_close_matches

from ubayfs.exceptions import InputError

from .designs import calibration, causes, controls, fresh, optimizers, questions, real_world, simulation, trial
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
ALL = "all"  # of the paper's; the others are run by name
OTHERS: dict[str, Experiment] = {
    each.name: each for each in (calibration.EXPERIMENT, fresh.EXPERIMENT, questions.EXPERIMENT, trial.EXPERIMENT)
}


def named(names: list[str]) -> list[Experiment]:
    """Return experiments by name; "all" means all of the paper's.

    Raises
    ------
    InputError
        If there is no experiment of a name.
    """
    for name in names:
        if name not in EXPERIMENTS | OTHERS and name != ALL:
            known = [*EXPERIMENTS, *OTHERS, ALL]
            near = "".join(f" Did you mean {match!r}?" for match in get_close_matches(name.lower(), known, n=1))
            raise InputError(f"there is no experiment {name!r}.{near} Known experiments: {', '.join(known)}.")
    paper = [experiment for key, experiment in EXPERIMENTS.items() if key in names or ALL in names]
    return paper + [experiment for key, experiment in OTHERS.items() if key in names]
