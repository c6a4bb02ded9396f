"""Rows of each kind of constraint, once it is known what its names refer to.

Each function takes a :class:`Context` and the arguments of the builder of the same name in
:mod:`ubayfs.constraints`, already checked, and returns the rows. Labels are partials of plain functions rather than
closures, so that systems and everything that holds one can be pickled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._arguments import FeatureIndex
from .blocks import Blocks
from .correlation import kept_pairs
from .data import FeatureData
from .exceptions import ConstraintError
from .system import Rows

_LISTED = 6  # names shown in one label


@dataclass(frozen=True, eq=False)
class Context:
    """What names in constraints refer to.

    Attributes
    ----------
    index : FeatureIndex
    blocks : Blocks
    X : array-like, DataFrame, FeatureData or None
        The data of the fit; only correlations need it.
    """

    index: FeatureIndex
    blocks: Blocks
    X: Any = None

    @cached_property
    def membership(self) -> sparse.csr_array:
        """Members of each block, a csr_array of bool of shape (n_blocks, n_features)."""
        return self.blocks.matrix(self.index)

    def names(self, on: str) -> Any:
        """Return the names of all features or all blocks."""
        return self.blocks.names if on == "blocks" else self.index.names

    def require_blocks(self, kind: str) -> None:
        """Raise unless there are blocks."""
        if not len(self.blocks):
            raise ConstraintError(
                f"{kind} is about blocks, but none were given; pass blocks=, a mapping of names to features."
            )

    def positions(self, items: Any, on: str, kind: str) -> NDArray[np.intp]:
        """Return the positions of features or blocks, given by name or position."""
        if on == "features":
            return self.index.positions(items, kind, ConstraintError)
        self.require_blocks(kind)
        found = np.array([self.blocks.position(item, kind) for item in items], dtype=np.intp)
        if len(np.unique(found)) < len(found):
            raise ConstraintError(f"{kind} names a block more than once: {_listing(self.blocks.names, found)}.")
        return found

    @cached_property
    def values(self) -> NDArray[Any]:
        """The data of the fit as a matrix whose columns are the features."""
        if self.X is None:
            raise ConstraintError("decorrelate needs correlations between features; pass X=, the data of the fit.")
        return FeatureData.of_fit(self.X, self.index.names).X


def _one_text(text: str, row: int) -> str:
    return text


def _one_name(text: str, names: Any, positions: NDArray[np.intp], row: int) -> str:
    return f"{text} {names[int(positions[row])]}"


def _two_names(text: str, names: Any, first: NDArray[np.intp], second: NDArray[np.intp], row: int) -> str:
    return text.format(names[int(first[row])], names[int(second[row])])


def _correlated_names(
    method: str, names: Any, first: NDArray[np.intp], second: NDArray[np.intp], strength: Any, row: int
) -> str:
    return _two_names("decorrelate {}, {}", names, first, second, row) + f" (|{method}| {strength[row]:.2f})"


def _listing(names: Any, positions: NDArray[np.intp]) -> str:
    shown = ", ".join(str(names[int(i)]) for i in positions[:_LISTED])
    return shown + (f" and {len(positions) - _LISTED} more" if len(positions) > _LISTED else "")


def _rows(A: sparse.csr_array, b: Any, rho: Any, label: Callable[[int], str], on: str = "features") -> Rows:
    bound, relaxation = (np.array(np.broadcast_to(np.asarray(v, dtype=np.float64), A.shape[0])) for v in (b, rho))
    return Rows(A, bound, relaxation, label, on_blocks=on == "blocks")


def _one_row(positions: Any, coefficient: Any, n_columns: int) -> sparse.csr_array:
    data = np.broadcast_to(np.asarray(coefficient, dtype=np.float64), len(positions))
    return sparse.csr_array((data, positions, [0, len(positions)]), shape=(1, n_columns))


def _single_rows(positions: NDArray[np.intp], coefficient: float, n_columns: int) -> sparse.csr_array:
    data = np.full(len(positions), coefficient)
    return sparse.csr_array((data, positions, np.arange(len(positions) + 1)), shape=(len(positions), n_columns))


def _pair_rows(first: Any, second: Any, coefficient: float, n_columns: int) -> sparse.csr_array:
    """Return one row z_first + coefficient * z_second per pair."""
    columns = np.column_stack([first, second]).ravel()
    data = np.tile([1.0, coefficient], len(first))
    return sparse.csr_array((data, columns, np.arange(0, len(columns) + 1, 2)), shape=(len(first), n_columns))


def max_size(context: Context, n: int, rho: float) -> list[Rows]:
    """One row of ones."""
    n_features = len(context.index.names)
    A = _one_row(np.arange(n_features), 1.0, n_features)
    return [_rows(A, n, rho, partial(_one_text, f"max-size {n}"))]


def min_size(context: Context, n: int, rho: float) -> list[Rows]:
    """One row of minus ones."""
    n_features = len(context.index.names)
    A = _one_row(np.arange(n_features), -1.0, n_features)
    return [_rows(A, -n, rho, partial(_one_text, f"min-size {n}"))]


def exact_size(context: Context, n: int, rho: float) -> list[Rows]:
    """One max-size row and one min-size row."""
    return [*max_size(context, n, rho), *min_size(context, n, rho)]


def must_link(context: Context, features: Any, rho: float, on: str) -> list[Rows]:
    """One row z_i - z_j <= 0 per ordered pair."""
    positions = context.positions(features, on, "must_link")
    i, j = np.nonzero(~np.eye(len(positions), dtype=bool))
    return _implications(context, positions[i], positions[j], rho, on, "must-link {}, {}")


def implies(context: Context, if_features: Any, then_features: Any, rho: float, on: str) -> list[Rows]:
    """One row z_i - z_j <= 0 for each i on the left and each j on the right."""
    left = context.positions(if_features, on, "implies")
    right = context.positions(then_features, on, "implies")
    both = np.intersect1d(left, right)
    if len(both):
        raise ConstraintError(f"implies has {context.names(on)[int(both[0])]!r} on both sides; drop it from one.")
    first, second = np.repeat(left, len(right)), np.tile(right, len(left))
    return _implications(context, first, second, rho, on, "implies {} -> {}")


def _implications(context: Context, first: Any, second: Any, rho: float, on: str, text: str) -> list[Rows]:
    names = context.names(on)
    A = _pair_rows(first, second, -1.0, len(names))
    return [_rows(A, 0.0, rho, partial(_two_names, text, names, first, second), on)]


def cannot_link(context: Context, features: Any, rho: float, on: str) -> list[Rows]:
    """One row: the sum is at most 1."""
    return _sum_row(context, features, 1.0, rho, on, "cannot-link")


def at_least_one(context: Context, features: Any, rho: float, on: str) -> list[Rows]:
    """One row: minus the sum is at most -1."""
    return _sum_row(context, features, -1.0, rho, on, "at-least-one")


def _sum_row(context: Context, features: Any, sign: float, rho: float, on: str, text: str) -> list[Rows]:
    positions = context.positions(features, on, text.replace("-", "_"))
    names = context.names(on)
    A = _one_row(positions, sign, len(names))
    return [_rows(A, sign, rho, partial(_one_text, f"{text} {_listing(names, positions)}"), on)]


def require(context: Context, features: Any, rho: float, on: str) -> list[Rows]:
    """One row -z_i <= -1 per member."""
    return _sign_rows(context, features, -1.0, -1.0, rho, on, "require")


def exclude(context: Context, features: Any, rho: float, on: str) -> list[Rows]:
    """One row z_i <= 0 per member."""
    return _sign_rows(context, features, 1.0, 0.0, rho, on, "exclude")


def _sign_rows(context: Context, features: Any, sign: float, b: float, rho: float, on: str, text: str) -> list[Rows]:
    positions = context.positions(features, on, text)
    names = context.names(on)
    return [_rows(_single_rows(positions, sign, len(names)), b, rho, partial(_one_name, text, names, positions), on)]


def max_per_block(context: Context, n: int, rho: float, blocks: Any) -> list[Rows]:
    """One row of the members of each block."""
    context.require_blocks("max_per_block")
    chosen = np.arange(len(context.blocks)) if blocks is None else context.positions(blocks, "blocks", "max_per_block")
    A = sparse.csr_array(context.membership[chosen], dtype=np.float64)
    return [_rows(A, n, rho, partial(_one_name, f"max-per-block {n}:", context.blocks.names, chosen))]


def max_blocks(context: Context, n: int, rho: float) -> list[Rows]:
    """One row of ones over all blocks."""
    context.require_blocks("max_blocks")
    n_blocks = len(context.blocks)
    A = _one_row(np.arange(n_blocks), 1.0, n_blocks)
    return [_rows(A, n, rho, partial(_one_text, f"max-blocks {n}"), "blocks")]


def cost_budget(context: Context, costs: Any, budget: float, rho: float) -> list[Rows]:
    """One row of costs."""
    A = _coefficients(context, costs, "features", "cost_budget", "costs")
    return [_rows(A, budget, rho, partial(_one_text, f"cost budget {budget:g}"))]


def _coefficients(context: Context, values: Any, on: str, kind: str, argument: str) -> sparse.csr_array:
    """Return one row of coefficients: pairs (item, coefficient), the others 0, or one coefficient per item."""
    n_columns = len(context.names(on))
    if values and isinstance(values[0], tuple):
        positions = context.positions([item for item, _ in values], on, kind)
        return _one_row(positions, [coefficient for _, coefficient in values], n_columns)
    if len(values) != n_columns:
        raise ConstraintError(f"{kind}: {argument} must have one number per {on[:-1]}, {n_columns}; got {len(values)}.")
    return _one_row(np.arange(n_columns), values, n_columns)


def decorrelate(context: Context, threshold: float, method: str) -> list[Rows]:
    """One row z_i + z_j <= 1 per pair of correlated features; the odds of the correlation are rho."""
    first, second, strength = kept_pairs(context.values, threshold, method)
    with np.errstate(divide="ignore"):
        odds = strength / (1.0 - strength)
    names = context.index.names
    A = _pair_rows(first, second, 1.0, len(names))
    return [_rows(A, 1.0, odds, partial(_correlated_names, method, names, first, second, strength))]


def linear(context: Context, A: Any, b: Any, rho: Any, blocks: Any) -> list[Rows]:
    """Raw rows, on the features or on the blocks of the context."""
    on = "features" if blocks is None else "blocks"
    if on == "blocks":
        context.require_blocks("linear")
    n_columns = len(context.names(on))
    if isinstance(A, tuple):
        matrix = _coefficients(context, A, on, "linear", "A")
    else:
        matrix = A.thaw()
        if matrix.shape[1] != n_columns:
            raise ConstraintError(f"linear: A must have one column per {on[:-1]}, {n_columns}; got {matrix.shape[1]}.")
    return [_rows(matrix, b, rho, partial(_numbered, "linear row"), on)]


def _numbered(text: str, row: int) -> str:
    return f"{text} {row}"


ROWS: dict[str, Callable[..., list[Rows]]] = {
    function.__name__: function
    for function in (
        max_size, min_size, exact_size, must_link, cannot_link, implies, at_least_one, require, exclude,
        max_per_block, max_blocks, cost_budget, decorrelate, linear,
    )
}  # fmt: skip
