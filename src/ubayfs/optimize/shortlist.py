"""When rows see only the size of a set, a few of the most important features decide; the others need no sorting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..constraints.system import ConstraintSystem
from ..selectors.scoring import nth_highest
from ..utility import Utility
from .presolve import SizeBounds

_FIRST_LENGTH = 128


def shortlist(utility: Utility) -> SizeBounds | None:
    """Bound the utility by size over so few of the most important features that no larger set is better.

    Returns
    -------
    sizes : SizeBounds or None
        Equal to the beginning of ``SizeBounds.of(utility)``, and with the same best size. None when rows see more than
        the size, when no set keeps all hard rows, and when the best set may hold more than an eighth of the features.

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
        if falling and total * (1.0 + 1e-12) + utility.constraint_strength * np.exp(last) < best:
            return replace(sizes, order=features[sizes.order])
        length *= 8
    return None


def _coefficients(utility: Utility) -> NDArray[np.float64] | None:
    """Return the one coefficient of each row if all rows weigh all features alike, else None."""
    system, n = utility.system, utility.n_features
    if system.n_inequalities == 0 or system.n_blocks or system.A.nnz != system.n_inequalities * n:
        return None
    values = system.A.data.reshape(-1, n)
    return values[:, 0] if (values == values[:, :1]).all() else None


def _most_important(utility: Utility, length: int) -> NDArray[np.intp]:
    """Return the selectable features of highest importance in ascending order; the first ones among equals."""
    scores = utility.theta if utility.selectable.all() else np.where(utility.selectable, utility.theta, -1.0)
    lowest = nth_highest(scores, length)
    above, equal = np.flatnonzero(scores > lowest), np.flatnonzero(scores == lowest)
    return np.sort(np.concatenate([above, equal[: length - len(above)]]))
