"""ConstraintSystem: all side constraints as sparse rows over features and blocks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one constraint: a^T z <= b with relaxation rho, on features or on blocks.

    Attributes
    ----------
    A : csr_array of float of shape (n_rows, n_features), or (n_rows, n_blocks) when `on_blocks`
    b, rho : ndarray of float of shape (n_rows,)
    label : callable
        Row number -> words for people. Called only for rows that are shown: there may be a million.
    on_blocks : bool
    belief : bool
        Whether the rows say what an expert believes of features rather than what a set must keep.
    """

    A: sparse.csr_array
    b: NDArray[np.float64]
    rho: NDArray[np.float64]
    label: Callable[[int], str]
    on_blocks: bool = False
    belief: bool = False


@dataclass(frozen=True, eq=False)
class ConstraintSystem:
    """Resolved side constraints: A z <= b, where z holds one entry per feature, then one per block.

    Attributes
    ----------
    A : csr_array of float of shape (n_rows, n_features + n_blocks)
    b : ndarray of float of shape (n_rows,)
    rho : ndarray of float of shape (n_rows,)
        Positive; inf for hard rows.
    blocks : csr_array of bool of shape (n_blocks, n_features)
        A block counts as selected when any of its members is.
    parts : tuple of (int, callable)
        First row and labels of each constraint.
    beliefs : frozenset of int
        First rows of those constraints that say what an expert believes: they are prior knowledge.
    """

    A: sparse.csr_array
    b: NDArray[np.float64]
    rho: NDArray[np.float64]
    blocks: sparse.csr_array
    parts: tuple[tuple[int, Callable[[int], str]], ...] = ()
    beliefs: frozenset[int] = frozenset()

    @classmethod
    def stack(cls, parts: Sequence[Rows], n_features: int, blocks: sparse.csr_array | None = None) -> ConstraintSystem:
        """Stack the rows of several constraints; rows with rho = 0 are left out."""
        if blocks is None:
            blocks = sparse.csr_array((0, n_features), dtype=bool)
        n_blocks = blocks.shape[0]
        matrices, bounds, rhos, labels, beliefs, start = [], [], [], [], [], 0
        for part in parts:
            keep = np.flatnonzero(part.rho > 0)
            if len(keep) == 0:
                continue
            everything = len(keep) == len(part.rho)
            rows = part.A if everything else part.A[keep]
            values = np.ascontiguousarray(rows.data, dtype=np.float64)
            columns = rows.indices + n_features if part.on_blocks else rows.indices
            shape = (len(keep), n_features + n_blocks)
            matrices.append(sparse.csr_array((values, columns, rows.indptr), shape=shape))
            bounds.append(part.b[keep])
            rhos.append(part.rho[keep])
            labels.append((start, part.label if everything else _renumbered(part.label, keep)))
            beliefs += [start] * part.belief
            start += len(keep)
        if not matrices:
            empty = np.empty(0)
            return cls(sparse.csr_array((0, n_features + n_blocks)), empty, empty, blocks)
        A = matrices[0] if len(matrices) == 1 else sparse.csr_array(sparse.vstack(matrices, format="csr"))
        if not (A.has_canonical_format and A.data.all()):
            A = A.copy()  # the rows may belong to the caller
            A.sum_duplicates()
            A.eliminate_zeros()
        return cls(A, np.concatenate(bounds), np.concatenate(rhos), blocks, tuple(labels), frozenset(beliefs))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.A.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.blocks.shape[1])

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.blocks.shape[0])

    @property
    def believed(self) -> NDArray[np.bool_]:
        """Mask of the rows that say what an expert believes, of shape (n_rows,)."""
        starts = [start for start, _ in self.parts]
        sizes = np.diff([*starts, self.n_rows])
        return np.repeat(np.array([start in self.beliefs for start in starts], dtype=bool), sizes)

    def label(self, row: int) -> str:
        """Return the words for one row, such as ``must-link radius, area``."""
        part = bisect_right([start for start, _ in self.parts], row) - 1
        start, label = self.parts[part]
        return label(row - start)

    def with_rows(self, extra: Rows) -> ConstraintSystem:
        """Return the system with more rows at its end."""
        added = ConstraintSystem.stack([extra], self.n_features, self.blocks)
        A = sparse.csr_array(sparse.vstack([self.A, added.A], format="csr"))
        bounds, rhos = np.concatenate([self.b, added.b]), np.concatenate([self.rho, added.rho])
        parts = self.parts + tuple((self.n_rows + start, label) for start, label in added.parts)
        beliefs = self.beliefs | {self.n_rows + start for start in added.beliefs}
        return ConstraintSystem(A, bounds, rhos, self.blocks, parts, beliefs)

    def take(self, rows: Any) -> ConstraintSystem:
        """Return the system with some of its rows only, given by position."""
        rows = np.asarray(rows, dtype=np.intp)
        label = _renumbered(self.label, rows)
        return ConstraintSystem(self.A[rows], self.b[rows], self.rho[rows], self.blocks, ((0, label),))


def once_per_system(function: Callable[[ConstraintSystem], T]) -> Callable[[ConstraintSystem], T]:
    """Remember what a function returns for a system as long as the system is in use.

    Deciding again under other importances (a hundred times for selection probabilities) then looks at a million rows
    once. What is returned must not be changed and must not refer to the system, which would live on forever.
    """
    known: WeakKeyDictionary[ConstraintSystem, T] = WeakKeyDictionary()

    @wraps(function)
    def remembered(system: ConstraintSystem) -> T:
        if system not in known:
            known[system] = function(system)
        return known[system]

    return remembered


def _renumbered(label: Callable[[int], str], rows: NDArray[np.intp]) -> Callable[[int], str]:
    # Not a closure: systems can then be pickled.
    return partial(_label_of, label, rows)


def _label_of(label: Callable[[int], str], rows: NDArray[np.intp], row: int) -> str:
    return label(int(rows[row]))
