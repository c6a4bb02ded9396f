"""More than two classes without an order: all in one score, or one after another.

In one score, weighted by their frequency, frequent classes decide, and those that many features tell apart. Where
classes take turns, every class gets features that mark it: step s of a run looks for what tells class pi(s mod C) from
all others, and pi is a permutation that the run's own generator draws.
"""

from __future__ import annotations

import numpy as np

from .._arguments import Generators, Ints, Mask
from ..data.target import Target

CLASS_RULES = ("turns", "weighted")


def is_nominal(target: Target) -> bool:
    """Return whether there are more than two classes without an order."""
    return target.n_classes > 2 and not target.ordered


def class_against_rest(target: Target, code: int) -> Target:
    """Return the target that tells one class from all others."""
    return Target("binary", np.asarray(target.values == code, dtype=np.intp), classes=np.array(["others", "class"]))


def class_turns(target: Target, subsamples: Mask, rngs: Generators, n_steps: int) -> Ints:
    """Return whose turn it is at each step of each run, of shape (n_steps, n_models).

    Classes that a subsample lacks have no turn in it, unless it has a single class, and nothing to tell apart.

    >>> target = Target("multiclass", np.array([0, 1, 2, 0]), classes=np.array(["a", "b", "c"]))
    >>> class_turns(target, np.array([[True, True, False, True]]), [np.random.default_rng(0)], 4).ravel()
    array([0, 1, 0, 1])
    """
    turns = np.empty((n_steps, len(subsamples)), dtype=np.intp)
    for run, (rows, rng) in enumerate(zip(subsamples, rngs, strict=True)):
        order = rng.permutation(target.n_classes)
        there = np.isin(order, np.asarray(target.values)[rows])
        turns[:, run] = np.resize(order[there] if there.sum() > 1 else order, n_steps)
    return turns
