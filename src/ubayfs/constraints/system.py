"""ConstraintSystem: all side constraints as one sparse system of inequalities over features and blocks.

The system knows which constraint each inequality came from, also of constraints that have none: `parts` has one entry
for each. :func:`resolve` makes it for the features at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from .._arguments import Array, FeatureIndex, Floats, Ints, Mask
from ..data.blocks import Blocks
from ..exceptions import ConstraintError
from .constraint import KINDS, Constraint, Context, Inequalities, as_constraints

T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """One constraint of a system."""

    position: int  # in the list that was resolved
    label: Callable[[int], str]  # number of one of its inequalities -> words
    title: str = ""  # the constraint in words
    constraint: Constraint | None = None  # None for inequalities that an algorithm added

    @property
    def kind(self) -> str:
        """Kind of the constraint; empty for what an algorithm added."""
        return "" if self.constraint is None else self.constraint.kind

    @property
    def from_prior(self) -> bool:
        """Whether the constraint stands for prior knowledge about features."""
        return self.constraint is not None and self.constraint.from_prior


@dataclass(frozen=True, eq=False)
class ConstraintSystem:
    """Resolved side constraints: A z <= b, where z holds one entry per feature, then one per block.

    Attributes
    ----------
    A : csr_array of float of shape (n_inequalities, n_features + n_blocks)
    b : ndarray of float of shape (n_inequalities,)
    rho : ndarray of float of shape (n_inequalities,)
        Positive; inf for hard inequalities, NaN for those with a price until
        :func:`~ubayfs.constraints.utility.priced` knows it.
    blocks : csr_array of bool of shape (n_blocks, n_features)
        A block counts as selected when any of its members is.
    parts : tuple of Part
        One per constraint, in the order given.
    owner, number : ndarray of int of shape (n_inequalities,)
        The position of the constraint that each inequality came from, and its number there; empty without `parts`.
    derived : dict
        What functions found out about the system (see :func:`once_per_system`); it lives as long as the system.
    """

    A: sparse.csr_array
    b: Floats
    rho: Floats
    blocks: sparse.csr_array
    parts: tuple[Part, ...] = ()
    owner: Array = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    number: Array = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    derived: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def stack(
        cls,
        meanings: Sequence[Inequalities],
        n_features: int,
        blocks: sparse.csr_array | None = None,
        constraints: Sequence[Constraint | None] | None = None,
    ) -> ConstraintSystem:
        """Stack the inequalities of several constraints; those with rho = 0 are left out."""
        if blocks is None:
            blocks = sparse.csr_array((0, n_features), dtype=bool)
        n_columns = n_features + blocks.shape[0]
        matrices, bounds, rhos, parts = [], [np.empty(0)], [np.empty(0)], []
        owners, numbers = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
        constraints = constraints or [None] * len(meanings)
        for position, (meaning, constraint) in enumerate(zip(meanings, constraints, strict=True)):
            parts.append(Part(position, meaning.label, meaning.title, constraint))
            used = np.flatnonzero(meaning.rho != 0)
            if len(used) == 0:
                continue
            owners.append(np.full(len(used), position, dtype=np.int32))
            numbers.append(used.astype(np.int32))
            rows = meaning.A if len(used) == len(meaning.rho) else meaning.A[used]
            values = np.ascontiguousarray(rows.data, dtype=np.float64)
            columns = rows.indices + n_features if meaning.on_blocks else rows.indices
            matrices.append(sparse.csr_array((values, columns, rows.indptr), shape=(len(used), n_columns)))
            bounds.append(meaning.b[used])
            rhos.append(meaning.rho[used])
        if not matrices:
            A = sparse.csr_array((0, n_columns))
        else:
            A = matrices[0] if len(matrices) == 1 else sparse.csr_array(sparse.vstack(matrices, format="csr"))
        if not (A.has_canonical_format and A.data.all()):
            A = A.copy()  # the rows may belong to the caller
            A.sum_duplicates()
            A.eliminate_zeros()
        b, rho = np.concatenate(bounds), np.concatenate(rhos)
        return cls(A, b, rho, blocks, tuple(parts), np.concatenate(owners), np.concatenate(numbers))

    @property
    def n_inequalities(self) -> int:
        """Number of inequalities."""
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
    def from_prior(self) -> Mask:
        """Mask of the inequalities that stand for prior knowledge, of shape (n_inequalities,)."""
        return np.array([part.from_prior for part in self.parts], dtype=bool)[self.owner]

    def rows_of(self, part: Part) -> Ints:
        """Return the positions of the inequalities of one constraint."""
        return np.flatnonzero(self.owner == part.position)

    def position(self, row: int) -> int:
        """Return the position, in the list that was resolved, of the constraint that an inequality came from."""
        return int(self.owner[row])

    def label(self, row: int) -> str:
        """Return the words for one inequality, such as ``must-link radius, area``."""
        return self.parts[self.position(row)].label(int(self.number[row]))

    def with_inequalities(self, extra: Inequalities) -> ConstraintSystem:
        """Return the system with more inequalities at its end."""
        other = ConstraintSystem.stack([extra], self.n_features, self.blocks)
        A = sparse.csr_array(sparse.vstack([self.A, other.A], format="csr"))
        b, rho, number = (np.append(getattr(self, key), getattr(other, key)) for key in ("b", "rho", "number"))
        n = len(self.parts)
        parts = (*self.parts, *(replace(part, position=n + part.position) for part in other.parts))
        return ConstraintSystem(A, b, rho, self.blocks, parts, np.append(self.owner, other.owner + n), number)

    def take(self, rows: Any) -> ConstraintSystem:
        """Return the system with some of its inequalities only, given by position."""
        rows = np.asarray(rows, dtype=np.intp)
        origin = ("owner", "number") if self.parts else ()
        return replace(self, **{key: getattr(self, key)[rows] for key in ("A", "b", "rho", *origin)})

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "derived": {}}


def once_per_system(function: Callable[[ConstraintSystem], T]) -> Callable[[ConstraintSystem], T]:
    """Store what a function returns for a system in ``system.derived``.

    Deciding again under other importances (a hundred times for selection probabilities) then looks at a million
    inequalities once. What is returned must not be changed.
    """

    @wraps(function)
    def stored(system: ConstraintSystem) -> T:
        if stored not in system.derived:
            system.derived[stored] = function(system)
        value: T = system.derived[stored]
        return value

    return stored


def resolve(constraints: Any, feature_names: Any, blocks: Any = None, X: Any = None) -> ConstraintSystem:
    """Tie constraints to features and blocks.

    Parameters
    ----------
    constraints : Constraint or iterable of Constraint
    feature_names : array-like of str of shape (n_features,)
    blocks : mapping of block name to features, DataFrame (feature, block), Blocks, optional
    X : array-like or DataFrame of shape (n_samples, n_features), optional
        The data of the fit; only :func:`decorrelate` needs it.

    Returns
    -------
    system : ConstraintSystem
        With one part per constraint, in their order. It holds only those blocks that inequalities refer to.

    Raises
    ------
    ConstraintError
        If a constraint does not fit the features or blocks; its `position` tells which.

    Examples
    --------
    >>> from ubayfs import max_size, must_link
    >>> system = resolve([max_size(1), must_link(["a", "b"])], ["a", "b", "c"])
    >>> system.A.toarray()
    array([[ 1.,  1.,  1.],
           [ 1., -1.,  0.],
           [-1.,  1.,  0.]])
    >>> [system.label(row) for row in range(3)]
    ['max-size 1', 'must-link a, b', 'must-link b, a']
    >>> [part.title for part in system.parts]
    ['max-size 1', 'must-link a, b']
    """
    shared = Context(FeatureIndex(feature_names), Blocks.of(blocks), X)
    listed = as_constraints(constraints)
    meanings: list[Inequalities] = []
    memberships, n_blocks = [shared.membership], len(shared.blocks)
    for position, constraint in enumerate(listed):
        context, offset, blocks_alone = shared, 0, _blocks_of(constraint)
        try:
            if blocks_alone is not None:
                context, offset = replace(shared, blocks=blocks_alone), n_blocks
                memberships.append(context.membership)
                n_blocks += len(blocks_alone)
            meaning = _meaning(context, constraint)
        except ConstraintError as error:
            error.position = position
            raise
        meanings.append(_on_columns(meaning, meaning.A.indices + offset, n_blocks) if meaning.on_blocks else meaning)
    membership = sparse.csr_array(sparse.vstack(memberships, format="csr"))
    # Blocks that nothing refers to would only burden the optimizer.
    columns = [meaning.A.indices for meaning in meanings if meaning.on_blocks and (meaning.rho != 0).any()]
    used = np.unique(np.concatenate(columns)) if columns else np.empty(0, dtype=np.intp)
    meanings = [
        _on_columns(meaning, np.searchsorted(used, meaning.A.indices), len(used)) if meaning.on_blocks else meaning
        for meaning in meanings
    ]
    return ConstraintSystem.stack(meanings, membership.shape[1], membership[used], listed)


def _meaning(context: Context, constraint: Constraint) -> Inequalities:
    """Return the inequalities of a constraint; what its price means as rho only votes can tell."""
    arguments = dict(constraint.arguments)
    price = arguments.pop("price", None)
    if price is not None:
        arguments["rho"] = np.where(np.asarray(price) > 0, np.nan, 0.0)
    return KINDS[constraint.kind].inequalities(context, **arguments)


def _blocks_of(constraint: Constraint) -> Blocks | None:
    """Return the blocks of a constraint that has its own."""
    blocks = dict(constraint.arguments).get("blocks")
    if isinstance(blocks, tuple) and blocks and isinstance(blocks[0], tuple):
        return Blocks(dict(blocks))
    return None


def _on_columns(meaning: Inequalities, columns: Any, n_columns: int) -> Inequalities:
    """Return inequalities whose entries stand in other columns."""
    A = sparse.csr_array((meaning.A.data, columns, meaning.A.indptr), shape=(len(meaning.b), n_columns))
    return replace(meaning, A=A)
