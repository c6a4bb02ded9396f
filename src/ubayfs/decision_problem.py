"""DecisionProblem: everything a decision rests on, and the measures of any feature set under it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arguments import Array, FeatureIndex, Floats, Mask, mask_of
from .data.feature_data import FeatureData
from .data.target import Target
from .metrics import redundancy_rate
from .optimize.base import Optimizer
from .utility import Utility, log_row_admissibility


@dataclass(frozen=True)
class Violation:
    """An inequality of a side constraint that a set violates.

    Attributes
    ----------
    label : str
        The inequality in words.
    amount : float
        By how much a^T z exceeds b.
    rho : float
        Relaxation of the inequality; inf when it is hard.
    admissibility : float
        Factor that the inequality contributes to kappa.
    position : int or None
        Position of its constraint in the list that was decided with; None for a member that cannot be selected at all.
    """

    label: str
    amount: float
    rho: float
    admissibility: float
    position: int | None = None


@dataclass(frozen=True)
class SetMetrics:
    """Measures of a feature set, unrounded.

    Attributes
    ----------
    cardinality : int
    utility : float
        importance + lambda * admissibility; -inf when a hard inequality is violated or a member cannot be selected.
    importance : float
        Sum of the posterior expected importances of the members.
    admissibility : float
        kappa, in [0, 1]; may underflow, unlike `log_admissibility`.
    log_admissibility : float
    violations : tuple of Violation
        Inequalities that do not hold; those that cost most first.
    redundancy : float
        Average absolute Pearson correlation between members; nan without data or with fewer than two members.
    without_votes : tuple of str
        Members that no elementary model chose.
    """

    cardinality: int
    utility: float
    importance: float
    admissibility: float
    log_admissibility: float
    violations: tuple[Violation, ...]
    redundancy: float
    without_votes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class DecisionProblem:
    """Everything a decision rests on: utility, names, votes, weights and, if given, the data."""

    utility: Utility
    feature_names: Array  # (n_features,)
    counts: NDArray[np.int64] | None = None  # (n_features,); None when importances were given without an ensemble
    weights: Floats | None = None  # (n_features,)
    X: Array | None = None  # (n_samples, n_features)
    optimizer: Optimizer | None = None  # what made the decision

    @property
    def data(self) -> FeatureData | None:
        """The data, which were checked when they were read."""
        return None if self.X is None else FeatureData(self.X, Target("unsupervised"), self.feature_names)

    def mask(self, features: Any) -> Mask:
        """Return a set given by names, positions or a bool mask as a mask of shape (n_features,)."""
        return mask_of(FeatureIndex(self.feature_names).members(features, "features"), len(self.feature_names))

    def measure(self, chosen: Mask) -> SetMetrics:
        """Return the metrics of a set."""
        utility = self.utility
        log_kappa = float(utility.admissibility.log_admissibility(chosen)[0])
        if (chosen & ~utility.selectable).any():
            log_kappa = -np.inf
        importance = float(utility.theta[chosen].sum())
        redundancy = np.nan
        if self.data is not None and chosen.sum() >= 2:
            redundancy = redundancy_rate(self.data, np.flatnonzero(chosen))
        unvoted = chosen & (self.counts == 0) if self.counts is not None else np.zeros_like(chosen)
        return SetMetrics(
            cardinality=int(chosen.sum()),
            utility=float(utility.combine(importance, log_kappa)),
            importance=importance,
            admissibility=float(np.exp(log_kappa)),
            log_admissibility=log_kappa,
            violations=self._violations(chosen),
            redundancy=float(redundancy),
            without_votes=tuple(self.feature_names[unvoted].tolist()),
        )

    def _violations(self, chosen: Mask) -> tuple[Violation, ...]:
        system = self.utility.system
        amounts = self.utility.admissibility.violations(chosen)[0]
        rows = np.flatnonzero(amounts)
        cost = log_row_admissibility(amounts[rows], system.rho[rows])
        barred = tuple(
            Violation(f"{name} cannot be selected: constant, or fewer votes than min_votes", 1.0, np.inf, 0.0)
            for name in self.feature_names[chosen & ~self.utility.selectable]
        )
        return barred + tuple(
            Violation(
                system.label(row), float(amounts[row]), float(system.rho[row]), float(np.exp(log)), system.position(row)
            )
            for row, log in sorted(zip(rows.tolist(), cost.tolist(), strict=True), key=lambda pair: pair[1])
        )
