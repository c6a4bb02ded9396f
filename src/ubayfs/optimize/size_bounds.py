"""What the size of a set alone says about its score.

Inequalities with one coefficient for all features (max-size, min-size) depend only on the size of a set. A set of s
features scores at most ``(sum of the s highest importances) + lambda * (admissibility of these inequalities at s)``.
Sizes that cannot beat a known set are ruled out, and so is every feature that cannot be part of a better set. When all
inequalities are of this kind, the bounds are attained and no solver is needed; a few of the most important features
then decide, and the others need not even be sorted (:func:`shortlist`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from .._arguments import Floats, Ints
from ..constraints.system import ConstraintSystem
from ..selectors.scoring import nth_highest
from ..utility import ROUNDING, Utility, log_row_admissibility

# Features on the first shortlist.
_FIRST_LENGTH = 128


@dataclass(frozen=True, eq=False)
class SizeBounds:
    """Upper bounds of the score by the size of a set: s = 0, 1, ..., n_selectable."""

    order: Ints  # selectable features, most important first; ties by position
    importance: Floats  # sum of the s highest importances
    log_kappa: Floats  # of the inequalities that depend only on the size
    value: Floats  # upper bound of the score
    only_size: bool  # whether all inequalities depend only on the size: then the bounds are attained

    @classmethod
    def of(cls, utility: Utility) -> SizeBounds:
        """Bound the score by size."""
        system = utility.system
        selectable = np.flatnonzero(utility.selectable)
        order = selectable[np.argsort(-utility.theta[selectable], kind="stable")]
        importance = np.concatenate([[0.0], np.cumsum(utility.theta[order])])
        sizes = np.arange(len(order) + 1)
        log_kappa = np.zeros(len(sizes))
        rows, coefficients = _uniform_rows(utility)
        for row, coefficient in zip(rows.tolist(), coefficients.tolist(), strict=True):
            excess = coefficient * sizes - system.b[row]
            excess[excess <= utility.admissibility.tolerance[row]] = 0.0
            log_kappa += log_row_admissibility(excess, system.rho[row])
        value = utility.combine(importance, log_kappa)
        return cls(order, importance, log_kappa, value, len(rows) == system.n_inequalities)

    def best_size(self) -> int:
        """Return the size with the highest bound; the smallest one among equals."""
        return int(np.argmax(self.value))

    def plausible(self, cutoff: float) -> Ints:
        """Return the sizes whose bound exceeds a score already reached."""
        return np.flatnonzero(self.value > cutoff)

    def contenders(self, cutoff: float, strength: float) -> Ints:
        """Return the features that may be part of a set with a score above `cutoff`."""
        sizes = self.plausible(cutoff)
        if len(sizes) == 0:
            return np.empty(0, dtype=np.intp)
        largest = int(sizes[-1])
        # A feature outside the `largest` best replaces the last of the s best.
        grown = sizes[sizes > 0]
        rest = self.importance[grown - 1] + strength * np.exp(self.log_kappa[grown])
        reach = np.diff(self.importance) + (rest.max() if len(rest) else -np.inf)
        possible = reach > cutoff
        possible[:largest] = True
        return self.order[possible]


def _uniform_rows(utility: Utility) -> tuple[Ints, Floats]:
    """Return the inequalities with one coefficient for all selectable features and none on blocks; and these."""
    A, n = utility.system.A, utility.n_features
    long_enough = np.flatnonzero(np.diff(A.indptr) >= utility.selectable.sum())
    rows, coefficients = [], []
    for row in long_enough.tolist():
        part = slice(A.indptr[row], A.indptr[row + 1])
        columns, data = A.indices[part], A.data[part]
        if (columns >= n).any():
            continue
        data = data[utility.selectable[columns]]
        if len(data) == utility.selectable.sum() and (data == data[:1]).all():
            rows.append(row)
            coefficients.append(data[0] if len(data) else 0.0)
    return np.array(rows, dtype=np.intp), np.array(coefficients)


def shortlist(utility: Utility) -> SizeBounds | None:
    """Bound the score by size over so few of the most important features that no larger set is better.

    The result is the beginning of ``SizeBounds.of(utility)``, with the same best size. It is None when inequalities
    depend on more than the size, when no set satisfies all hard ones, and when the best set may have more than an
    eighth of the features.

    Notes
    -----
    The logarithm of the admissibility is a concave function of the size. Where it has stopped growing it therefore
    never grows again, and larger sets gain at most the importance that is left.
    """
    coefficients = _coefficients(utility)
    if coefficients is None:
        return None
    system, n_selectable = utility.system, int(np.count_nonzero(utility.selectable))
    total, length = float(utility.theta.sum()), _FIRST_LENGTH
    while 8 * length < n_selectable:
        features = _most_important(utility, length)
        A = sparse.csr_array(np.repeat(coefficients[:, None], length, axis=1))
        part = ConstraintSystem(A, system.b, system.rho, sparse.csr_array((0, length), dtype=bool))
        everything = np.ones(length, dtype=bool)
        sizes = SizeBounds.of(Utility(utility.theta[features], part, utility.constraint_strength, everything))
        last, before, best = sizes.log_kappa[-1], sizes.log_kappa[-2], sizes.value[:-1].max()
        falling = last <= before and np.isfinite(best)
        if falling and total * (1.0 + ROUNDING) + utility.constraint_strength * np.exp(last) < best:
            return replace(sizes, order=features[sizes.order])
        length *= 8
    return None


def _coefficients(utility: Utility) -> Floats | None:
    """Return the one coefficient of each inequality if all of them weight all features alike, else None."""
    system, n = utility.system, utility.n_features
    if system.n_inequalities == 0 or system.n_blocks or system.A.nnz != system.n_inequalities * n:
        return None
    values = system.A.data.reshape(-1, n)
    return values[:, 0] if (values == values[:, :1]).all() else None


def _most_important(utility: Utility, length: int) -> Ints:
    """Return the selectable features of highest importance in ascending order; the first ones among equals."""
    importances = utility.theta if utility.selectable.all() else np.where(utility.selectable, utility.theta, -1.0)
    lowest = nth_highest(importances, length)
    above, equal = np.flatnonzero(importances > lowest), np.flatnonzero(importances == lowest)
    return np.sort(np.concatenate([above, equal[: length - len(above)]]))
