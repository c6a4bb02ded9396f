"""Arguments of constraint builders, checked and turned into immutable values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from .._arguments import Floats, as_array, check_real, entries_of
from .._plain import HARD
from ..exceptions import ConstraintError, InputError, repr_of

_SHOWN = 60  # entries of an argument that repr still lists

# What builders take, each with a valid value, which replaces a wrong one while the other arguments are checked.
Items = Annotated[Any, ("a", "b")]  # names or positions of features or blocks
Costs = Annotated[Any, {"a": 1.0}]  # a number for each feature
Bounds = Annotated[Any, 0.0]  # one number, or one for each inequality


@dataclass(frozen=True, repr=False)
class FrozenMatrix:
    """A sparse matrix of float as an immutable value that can be compared and hashed."""

    shape: tuple[int, int]
    indptr: bytes
    indices: bytes
    data: bytes

    @classmethod
    def from_values(cls, name: str, values: Any) -> FrozenMatrix:
        """Make it of an array-like or a sparse array; one row may be a vector."""
        if sparse.issparse(values):
            as_numbers(name, values.tocoo().data)
        else:
            values = np.atleast_2d(as_numbers(name, values))
        if values.ndim != 2 or 0 in values.shape:
            raise ConstraintError.of(name, f"must be one row or a matrix of rows; got shape {values.shape}.", values)
        matrix = sparse.csr_array(values, dtype=np.float64, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        parts = (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)
        return cls(matrix.shape, *(part.tobytes() for part in parts))

    def thaw(self) -> sparse.csr_array:
        """Return it as a csr_array."""
        indptr, indices = (np.frombuffer(part, dtype=np.int64) for part in (self.indptr, self.indices))
        data = np.frombuffer(self.data, dtype=np.float64)
        return sparse.csr_array((data, indices, indptr), shape=self.shape, copy=True)

    def __repr__(self) -> str:
        if math.prod(self.shape) <= _SHOWN:
            return repr(self.thaw().toarray().tolist())
        return f"<{self.shape[0]} x {self.shape[1]} matrix>"


def shown(value: Any) -> str:
    """Return a stored argument as it may be passed to its builder, shortened when it is long.

    Examples
    --------
    >>> shown(("radius", "area")), shown((("radius", 1.0), ("area", 2.0)))
    ("['radius', 'area']", "{'radius': 1.0, 'area': 2.0}")
    """
    if not isinstance(value, tuple):
        return repr(value)
    pairs = bool(value) and all(isinstance(item, tuple) for item in value)
    entries = [f"{item[0]!r}: {shown(item[1])}" if pairs else repr(item) for item in value[:_SHOWN]]
    if len(value) > _SHOWN:
        entries.append(f"... {len(value) - _SHOWN} more")
    return ("{%s}" if pairs else "[%s]") % ", ".join(entries)


def plain_argument(value: Any) -> Any:
    """Return a stored argument in plain types, ready for JSON; an infinite rho is "hard", as in a study file.

    Examples
    --------
    >>> plain_argument(("radius", "area")), plain_argument((("radius", 1.0), ("area", 2.0)))
    (['radius', 'area'], {'radius': 1.0, 'area': 2.0})
    """
    if isinstance(value, FrozenMatrix):
        return value.thaw().toarray().tolist() if math.prod(value.shape) <= _SHOWN else repr(value)
    if not isinstance(value, tuple):
        return HARD if value == math.inf else value
    if value and all(isinstance(item, tuple) for item in value):
        return {str(item[0]): plain_argument(item[1]) for item in value}
    return [plain_argument(item) for item in value]


def as_items(argument: str, items: Any) -> tuple[str | int, ...]:
    """Return names or positions as a tuple that is not empty."""
    entries = entries_of(argument, [items] if isinstance(items, str | Integral) else items, ConstraintError)
    if entries is None:
        rule = f"must be given by names or positions; got {repr_of(items)}."
        raise ConstraintError.of(argument, rule, items)
    plain = tuple(item.item() if isinstance(item, np.generic) else item for item in entries)
    if not plain:
        raise ConstraintError.of(argument, "must not be empty.", items)
    for item in plain:
        if isinstance(item, bool) or not isinstance(item, str | int):
            raise ConstraintError.of(argument, f"must be names or positions; got {repr_of(item)}.", items)
    return plain


def as_pairs(argument: str, values: Any) -> tuple[tuple[str | int, float], ...] | None:
    """Return the entries of a mapping or a Series as (item, number); None if it is something else."""
    if hasattr(values, "columns"):
        raise ConstraintError.of(
            argument,
            "must not be a DataFrame, whose columns may be in any order; order them like the features and pass "
            ".to_numpy().",
        )
    if hasattr(values, "to_dict"):
        values = values.to_dict()
    if not isinstance(values, Mapping):
        return None
    return tuple(zip(as_items(argument, values), as_vector(argument, list(values.values())), strict=True))


def as_vector(argument: str, values: Any) -> tuple[float, ...]:
    """Return finite numbers in one row."""
    numbers = as_numbers(argument, values)
    if numbers.ndim != 1 or not len(numbers):
        raise ConstraintError.of(argument, f"must be a mapping or one row of numbers; got {repr_of(values)}.", values)
    return tuple(numbers.tolist())


def as_relaxation(rho: Any) -> float:
    """Return one rho."""
    try:
        return check_real("rho", rho, low=0.0)
    except InputError as error:
        raise ConstraintError.of("rho", f"{error.rule} 0 leaves the constraint out, inf makes it hard.", rho) from None


def as_price(price: Any) -> float:
    """Return one price, as a share of the models."""
    try:
        return check_real("price", price, low=0.0, high_open=True)
    except InputError as error:
        meaning = "It is what one unit of violation costs, as a share of the models: 0.5 is half of their votes."
        rule = f"{error.rule} {meaning} 0 leaves the constraint out; without a price it is hard."
        raise ConstraintError.of("price", rule, price) from None


def rho_or_price(rho: Any, price: Any) -> dict[str, float]:
    """Return how strictly a constraint is meant: its price if it has one, else rho."""
    return {"rho": as_relaxation(rho)} if price is None else {"price": as_price(price)}


def as_prices(price: Any) -> Floats:
    """Return the price of one or several inequalities."""
    entries = entries_of("price", price)
    return np.array(as_price(price) if entries is None else [as_price(entry) for entry in entries])


def as_relaxations(rho: Any) -> Floats:
    """Return rho of one or several inequalities."""
    values = as_numbers("rho", rho, finite=False)
    if not (values >= 0).all():
        raise ConstraintError.of(
            "rho", f"must be >= 0 and not NaN; got {repr_of(rho)}. 0 leaves an inequality out, inf makes it hard.", rho
        )
    return values


def per_inequality(argument: str, values: Floats, n: int) -> float | tuple[float, ...]:
    """Return one number for all inequalities, or one for each."""
    if values.ndim == 0:
        return float(values)
    if values.shape != (n,):
        rule = f"must be one number or one per row of A, which has {n}; got shape {values.shape}."
        error = ConstraintError(f"{argument} {rule}", argument=argument, value=values, rule=rule)
        error.against = "A"
        raise error
    return tuple(values.tolist())


def as_numbers(argument: str, values: Any, finite: bool = True) -> Floats:
    """Return an array of float, or raise if something else or (unless allowed) not finite is in it."""
    try:
        array = as_array(argument, values)
        numbers = array.astype(np.float64) if array.dtype.kind in "biufO" else None
    except (TypeError, ValueError, ArithmeticError, MemoryError):
        numbers = None
    if numbers is None or (finite and not np.isfinite(numbers).all()):
        rule = f"must hold {'finite ' if finite else ''}numbers; got {repr_of(values)}."
        raise ConstraintError.of(argument, rule, values)
    return numbers
