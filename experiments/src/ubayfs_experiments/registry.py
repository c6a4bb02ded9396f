"""All experiments by name, in the order in which they are run and reported."""

from __future__ import annotations

from difflib import get_close_matches

from ubayfs.exceptions import InputError

from .designs import (
    calibration,
    causes,
    controls,
    discussion,
    finer,
    fresh,
    growth,
    optimizers,
    questions,
    real_world,
    simulation,
    trial,
)
from .designs import protocol as authors
from .tasks import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        *simulation.EXPERIMENTS,
        *finer.EXPERIMENTS,
        real_world.EXPERIMENT,
        authors.EXPERIMENT,
        discussion.EXPERIMENT,
        causes.EXPERIMENT,
        optimizers.EXPERIMENT,
        controls.EXPERIMENT,
    )
}
ALL = "all"  # of the paper's; the others are run by name
OTHERS: dict[str, Experiment] = {
    each.name: each
    for each in (calibration.EXPERIMENT, fresh.EXPERIMENT, growth.EXPERIMENT, questions.EXPERIMENT, trial.EXPERIMENT)
}


def named(names: list[str], protocol: str = "ours") -> list[Experiment]:
    """Return experiments by name; "all" means all of the paper's.

    Parameters
    ----------
    names : list of str
    protocol : {"ours", "paper"}
        Protocol of experiment 2; "paper": the authors', as far as it is known.

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
    if protocol == "paper":
        names = [authors.NAME if name == real_world.EXPERIMENT.name else name for name in names]
    paper = [experiment for key, experiment in EXPERIMENTS.items() if key in names or ALL in names]
    return paper + [experiment for key, experiment in OTHERS.items() if key in names]
