"""Stand-ins: agreement of sets in which a close substitute counts as the same feature."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .._arguments import Array, Floats, Ints, Mask
from ..data.correlation import correlated

# Absolute Spearman correlation above which one feature stands for another.
CLOSE = 0.8
# Random sets for each set that is compared, and the most features that they are drawn from.
_N_RANDOM, _MOST_DRAWN = 10, 2000


def n_matched(close: Mask) -> int:
    """Return the largest number of pairs of a row and a column that are close, each row and column in one pair.

    >>> n_matched(np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=bool))
    2
    """
    from scipy.sparse.csgraph import maximum_bipartite_matching

    n_links = int(np.count_nonzero(close))
    if n_links < 2:
        return n_links
    return int(np.count_nonzero(maximum_bipartite_matching(sparse.csr_array(close), perm_type="column") >= 0))


def stand_in_agreement(X: Array, members: Mask, sets: Mask, candidates: Mask) -> tuple[float, Floats]:
    """Return which share of a set random ones match, and the agreement of pairs of sets beyond that.

    With m the number of pairs of S and S' and e its mean over random sets in place of either, the agreement is
    (m - e) / ((k + k')/2 - e), NaN where a set is empty. `members` is the set that was selected on all samples; `sets`
    are those of halves, of shape (n_pairs, 2, n_features); random ones have `candidates` only.
    """
    # A fixed seed: the same sets have the same agreement.
    rng = np.random.default_rng(0)
    used = np.flatnonzero(members | sets.any(axis=(0, 1)))
    pool = np.flatnonzero(candidates)
    if len(pool) > _MOST_DRAWN:
        pool = np.sort(rng.choice(pool, _MOST_DRAWN, replace=False))
    columns = np.union1d(used, pool)
    close = correlated(X, used, columns, CLOSE)
    row_of, column_of = (np.zeros(len(candidates), dtype=np.intp) for _ in range(2))
    row_of[used], column_of[columns] = np.arange(len(used)), np.arange(len(columns))

    def matched(first: Ints, second: Ints) -> int:
        return n_matched(close[np.ix_(row_of[first], column_of[second])])

    def by_chance(fixed: Ints, size: int) -> float:
        # What is the same has an exact mean; random sets say how many stand-ins come to it.
        drawn = [rng.choice(pool, min(size, len(pool)), replace=False) for _ in range(_N_RANDOM)]
        more = [matched(fixed, other) - len(np.intersect1d(fixed, other, assume_unique=True)) for other in drawn]
        return len(fixed) * size / max(int(candidates.sum()), 1) + float(np.mean(more))

    agreements = np.full(len(sets), np.nan)
    for number, pair in enumerate(sets):
        first, second = map(np.flatnonzero, pair)
        if len(first) and len(second):
            expected = (by_chance(first, len(second)) + by_chance(second, len(first))) / 2
            most = (len(first) + len(second)) / 2 - expected
            agreements[number] = (matched(first, second) - expected) / most if most > 0 else 1.0
    selected = np.flatnonzero(members)
    return by_chance(selected, len(selected)) / max(len(selected), 1), agreements
