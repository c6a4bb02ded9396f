"""The few columns that can correlate with a residual as much as asked, with a proof that the others do not.

All columns have length sqrt(n). Once the products of all of them with a vector v are known, and those outside the
working set are below m in size, every other vector w has, for any number a,

    |x^T w| = |a x^T v + x^T (w - a v)| <= |a| m + sqrt(n) |w - a v|        for all columns x outside

by the inequality of Cauchy and Schwarz. With a the coefficient of the projection of w on v the last term is smallest,
and small as long as w has hardly turned away from v. Only when this bound does not do are all columns looked at again.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from .._arguments import Floats

# Columns within this share of the level that is asked for belong to the set: fewer make the products cheaper, more
# make the proof last longer.
_SHARE = 0.85
# So few columns are all in the set: then there is nothing to prove.
_FEW_COLUMNS = 256


class WorkingSet:
    """The columns of `X`, each of length sqrt(n_samples), that matter at present.

    The attribute `columns` holds the positions of these members in ascending order; at first they are all columns.
    """

    def __init__(self, X: Floats) -> None:
        self._rows = np.ascontiguousarray(X.T)  # one row per column of X
        self._length = sqrt(len(X))
        self._members = self._rows
        self.columns = np.arange(X.shape[1])
        # Vectors v with |v|^2 and the size m below which the products of the columns outside are.
        self._references: list[tuple[Floats, float, float]] = []

    def products(self, vectors: Floats) -> Floats:
        """Return the products of vectors, of shape (n_vectors, n_samples), with the members."""
        products: Floats = self._members @ np.ascontiguousarray(vectors.T)
        return products.T

    def others_are_below(self, vectors: Floats, levels: Floats) -> bool:
        """Return whether the products of each vector with all columns outside are certainly smaller than its level."""
        if len(self.columns) == len(self._rows):
            return True
        return all(self._bound(vector) < level for vector, level in zip(vectors, levels, strict=True))

    def _bound(self, vector: Floats) -> float:
        """Return what no product of `vector` with a column outside exceeds in size."""
        bounds = []
        for reference, square, largest in self._references:
            share = float(vector @ reference) / square
            turned = vector - share * reference
            bounds.append(abs(share) * largest + self._length * sqrt(float(turned @ turned)))
        return min(bounds)

    def renew(self, vectors: Floats, levels: Floats) -> None:
        """Look at all columns; members become those whose product with a vector reaches a large share of its level.

        `vectors` has shape (n_vectors, n_samples), `levels` shape (n_vectors,). A zero vector must have the level zero.
        """
        if len(self._rows) <= _FEW_COLUMNS:
            return
        thresholds = _SHARE * levels
        sizes = np.abs(self._rows @ np.ascontiguousarray(vectors.T))
        self.columns = np.flatnonzero(np.any([size >= m for size, m in zip(sizes.T, thresholds, strict=True)], axis=0))
        self._members = self._rows[self.columns]
        self._references = [(v, float(v @ v), float(m)) for v, m in zip(vectors, thresholds, strict=True)]
