"""Recursive feature elimination with a linear support vector machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arguments import Array, Floats, Ints, check_real
from ..data.target import CLASSIFICATION, Target
from ._subsample import output_columns, ranking, standardized
from ._svm import LinearMachines
from .base import TIE, PerRunSelector


@dataclass(frozen=True)
class RFE(PerRunSelector):
    """Features that survive when those of smallest weight are dropped again and again (Guyon et al. 2002).

    A linear support vector machine is fitted to the standardized columns that remain, the tenth of them with the
    smallest weight is dropped (at least one, never below the wanted number), and so on. The survivors come in the order
    of their weights in a last fit. Several outputs (one-vs-rest classes, labels) have a machine each, and the weight
    of a column is the sum of its squared weights.

    Parameters
    ----------
    C : float
        Cost of a margin error against the size of the weights.
    step : float
        Share of the remaining columns that is dropped at once.

    Notes
    -----
    The machine has the squared hinge loss (squared epsilon-insensitive loss, epsilon 0.1 standard deviations, for
    regression) and a free intercept. Its solution is unique and Newton's method finds it exactly in a few steps, which
    tolerance-bound solvers of the plain hinge loss do not; see ``_svm.py``.
    """

    name: ClassVar[str] = "rfe"
    tasks: ClassVar[frozenset[str]] = CLASSIFICATION | {"multilabel", "regression"}
    usual_name: ClassVar[str] = "RFE"
    finds: ClassVar[str] = "Features that a linear support vector machine needs most."
    reference: ClassVar[tuple[str, str]] = (
        "Guyon et al., 2002",
        "Guyon, I., Weston, J., Barnhill, S., Vapnik, V. (2002). Gene selection for cancer classification using "
        "support vector machines. Machine Learning, 46, 389-422. https://doi.org/10.1023/A:1012487302797",
    )

    C: float = 1.0
    step: float = 0.1

    def __post_init__(self) -> None:
        check_real("C", self.C, low=0, low_open=True, high=np.inf, high_open=True)
        check_real("step", self.step, low=0, low_open=True, high=1, high_open=True)

    def select(self, X: Array, target: Target, n_features: int, rng: np.random.Generator) -> Ints:
        """Choose `n_features` columns (all, if there are no more), that of largest weight first."""
        machines = LinearMachines(standardized(X), output_columns(target), self.C, target.is_numeric)
        remaining = np.arange(X.shape[1])
        while True:
            # The root of the sum of squares, relative to the largest: of order one, as the rule for ties expects.
            size = np.linalg.norm(machines.weights(), axis=1)
            size /= max(size.max(), np.finfo(float).tiny)
            n_remaining = len(remaining)
            if n_remaining <= n_features:
                return remaining[ranking(size)]
            n_kept = max(n_features, n_remaining - max(1, int(self.step * n_remaining)))
            kept = _largest(size, n_kept)
            machines.keep(kept)
            remaining = remaining[kept]


def _largest(scores: Floats, n_kept: int) -> Ints:
    """Return, in ascending order, the first `n_kept` positions of the ranking of the scores, fewer than all.

    Only where scores tie across the border must the ranking be made.
    """
    border = len(scores) - n_kept
    part = np.argpartition(scores, [border - 1, border])
    if scores[part[border]] - scores[part[border - 1]] > TIE:
        return np.sort(part[border:])
    return np.sort(ranking(scores)[:n_kept])
