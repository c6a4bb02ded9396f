"""Side constraints: builders for what an expert wants to say, and their resolution into one system of rows.

A builder such as :func:`max_size` returns a :class:`Constraint`, a plain value that knows features and blocks by name
or position (counted from 0) and nothing of any data set. :func:`resolve` ties constraints to the features at hand.

Every constraint is one or several rows a^T z <= b with a relaxation rho. A violated row multiplies the admissibility
of a set by 2 xi / (1 + xi), xi = exp(-rho * violation); ``rho=inf`` makes it hard (it always holds in an answer),
``rho=0`` leaves it out.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from . import correlation, rows
from ._arguments import FeatureIndex, check_choice, check_int, check_real
from ._constraint_arguments import (
    FrozenMatrix,
    as_items,
    as_numbers,
    as_pairs,
    as_relaxation,
    as_relaxations,
    as_vector,
    per_row,
    shown,
)
from .blocks import Blocks
from .exceptions import ConstraintError
from .system import ConstraintSystem, Rows


@dataclass(frozen=True, repr=False)
class Constraint:
    """A side constraint by name, not yet tied to a data set; made by the builders of this module.

    Attributes
    ----------
    kind : str
        Name of the builder.
    arguments : tuple of (str, value)
        Its arguments, checked and immutable: constraints can be compared, hashed, copied and pickled.
    belief : bool
        Whether it stands for what an expert believes ("unlikely"): prior knowledge, told as such. The answer is the
        same.
    """

    kind: str
    arguments: tuple[tuple[str, Any], ...]
    belief: bool = field(default=False, compare=False)

    def rows(self, context: rows.Context) -> list[Rows]:
        """Return the rows for the features and blocks of a context."""
        found = rows.ROWS[self.kind](context, **dict(self.arguments))
        return [replace(part, belief=True) for part in found] if self.belief else found

    def __repr__(self) -> str:
        parameters = inspect.signature(globals()[self.kind]).parameters
        listed = [
            f"{name}={shown(value)}" if parameters[name].default is not inspect.Parameter.empty else shown(value)
            for name, value in self.arguments
            if value != parameters[name].default
        ]
        return f"{self.kind}({', '.join(listed)})"


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
        It holds only those blocks that rows refer to.

    Examples
    --------
    >>> system = resolve([max_size(1), must_link(["a", "b"])], ["a", "b", "c"])
    >>> system.A.toarray()
    array([[ 1.,  1.,  1.],
           [ 1., -1.,  0.],
           [-1.,  1.,  0.]])
    >>> [system.label(row) for row in range(3)]
    ['max-size 1', 'must-link a, b', 'must-link b, a']
    """
    shared = rows.Context(FeatureIndex(feature_names), Blocks.of(blocks), X)
    parts: list[Rows] = []
    memberships, n_known = [shared.membership], len(shared.blocks)
    for constraint in as_constraints(constraints):
        context, offset = shared, 0
        own_blocks = dict(constraint.arguments).get("blocks") if constraint.kind == "linear" else None
        if isinstance(own_blocks, tuple):
            context, offset = replace(shared, blocks=Blocks(dict(own_blocks))), n_known
            memberships.append(context.membership)
            n_known += len(context.blocks)
        parts.extend(
            _on_columns(part, part.A.indices + offset, n_known) if part.on_blocks else part
            for part in constraint.rows(context)
            if (part.rho > 0).any()
        )
    return _stack_used(parts, sparse.csr_array(sparse.vstack(memberships, format="csr")))


def as_constraints(constraints: Any) -> list[Constraint]:
    """Return one or several constraints as a list; anything else is an error."""
    if isinstance(constraints, Constraint):
        return [constraints]
    several = isinstance(constraints, Iterable) and not isinstance(constraints, str)
    items = list(constraints) if several else [constraints]
    for item in items:
        if not isinstance(item, Constraint):
            raise ConstraintError(
                f"constraints must be made by builders such as max_size(10) or must_link(['a', 'b']); got {item!r}."
            )
    return items


def _stack_used(parts: list[Rows], membership: sparse.csr_array) -> ConstraintSystem:
    """Stack the rows over the blocks that they use; others would only burden the optimizer."""
    columns = [part.A.indices for part in parts if part.on_blocks]
    used = np.unique(np.concatenate(columns)) if columns else np.empty(0, dtype=np.intp)
    parts = [
        _on_columns(part, np.searchsorted(used, part.A.indices), len(used)) if part.on_blocks else part
        for part in parts
    ]
    return ConstraintSystem.stack(parts, membership.shape[1], membership[used])


def _on_columns(part: Rows, columns: Any, n_columns: int) -> Rows:
    """Return rows whose entries stand in other columns."""
    A = sparse.csr_array((part.A.data, columns, part.A.indptr), shape=(len(part.b), n_columns))
    return replace(part, A=A)


def max_size(n: int, rho: float = 1.0) -> Constraint:
    """Select at most `n` features.

    Examples
    --------
    >>> max_size(10)
    max_size(10)
    >>> max_size(10, rho=math.inf)  # hard
    max_size(10, rho=inf)
    """
    return _sized("max_size", n, rho)


def min_size(n: int, rho: float = 1.0) -> Constraint:
    """Select at least `n` features."""
    return _sized("min_size", n, rho)


def exact_size(n: int, rho: float = 1.0) -> Constraint:
    """Select exactly `n` features: one row for at most, one for at least."""
    return _sized("exact_size", n, rho)


def must_link(features: Any, rho: float = 1.0, on: str = "features") -> Constraint:
    """Select these features all together or not at all: one row per ordered pair.

    Parameters
    ----------
    features : iterable of str or int
        At least two, by name or position; with ``on="blocks"`` names or positions of blocks, and likewise below.
    rho : float
    on : {"features", "blocks"}

    Examples
    --------
    >>> must_link(["radius", "area"], rho=0.5)
    must_link(['radius', 'area'], rho=0.5)
    """
    return _linked("must_link", features, rho, on, at_least=2)


def cannot_link(features: Any, rho: float = 1.0, on: str = "features") -> Constraint:
    """Select at most one of these features: one row, so that each further one counts.

    Examples
    --------
    >>> cannot_link(["mean", "worst"], on="blocks")
    cannot_link(['mean', 'worst'], on='blocks')
    """
    return _linked("cannot_link", features, rho, on, at_least=2)


def implies(if_features: Any, then_features: Any, rho: float = 1.0, on: str = "features") -> Constraint:
    """Whoever is selected on the left needs everyone on the right: one row per pair.

    Examples
    --------
    >>> implies("interaction", ["radius", "area"])
    implies(['interaction'], ['radius', 'area'])
    """
    return _constraint(
        "implies",
        if_features=as_items("implies", "if_features", if_features),
        then_features=as_items("implies", "then_features", then_features),
        rho=as_relaxation("implies", rho),
        on=check_choice("implies: on", on, ("features", "blocks")),
    )


def at_least_one(features: Any, rho: float = 1.0, on: str = "features") -> Constraint:
    """Select at least one of these features."""
    return _linked("at_least_one", features, rho, on)


def require(features: Any, rho: float = math.inf, on: str = "features") -> Constraint:
    """Select these features; hard unless `rho` is finite.

    Examples
    --------
    >>> require("age")
    require(['age'])
    """
    return _linked("require", features, rho, on)


def exclude(features: Any, rho: float = math.inf, on: str = "features") -> Constraint:
    """Do not select these features; hard unless `rho` is finite."""
    return _linked("exclude", features, rho, on)


def max_per_block(n: int, rho: float = 1.0, blocks: Any = None) -> Constraint:
    """Select at most `n` features of each block: one row per block.

    Parameters
    ----------
    n : int
    rho : float
    blocks : str or iterable of str, optional
        The blocks that are limited; default all.

    Examples
    --------
    >>> max_per_block(2, blocks=["mean", "worst"])
    max_per_block(2, blocks=['mean', 'worst'])
    """
    names = None if blocks is None else as_items("max_per_block", "blocks", blocks)
    return _constraint("max_per_block", **_size("max_per_block", n, rho), blocks=names)


def max_blocks(n: int, rho: float = 1.0) -> Constraint:
    """Select features of at most `n` blocks."""
    return _sized("max_blocks", n, rho)


def cost_budget(costs: Any, budget: float, rho: float = 1.0) -> Constraint:
    """Keep the total cost of the selected features within a budget.

    Parameters
    ----------
    costs : mapping of str or int to float, Series, or array-like of shape (n_features,)
        Features that a mapping does not name cost nothing.
    budget : float
    rho : float
        Per unit of cost.

    Examples
    --------
    >>> cost_budget({"mri": 400.0, "blood": 25.0}, budget=410)
    cost_budget({'mri': 400.0, 'blood': 25.0}, 410.0)
    """
    return _constraint(
        "cost_budget",
        costs=as_pairs("cost_budget", "costs", costs) or as_vector("cost_budget: costs", costs),
        budget=check_real("cost_budget: budget", budget, low_open=True, high_open=True, error=ConstraintError),
        rho=as_relaxation("cost_budget", rho),
    )


def decorrelate(threshold: float = 0.5, method: str = "spearman") -> Constraint:
    """Avoid correlated features: one soft row per pair whose absolute correlation exceeds a threshold.

    The relaxation of a pair is the odds of its correlation, ``|tau| / (1 - |tau|)``; a pair that is perfectly
    correlated is a hard row. Correlations are those of the data passed as ``X=`` when the constraint is resolved.

    Parameters
    ----------
    threshold : float in [0, 1)
    method : {"spearman", "pearson", "kendall"}

    Examples
    --------
    >>> decorrelate(0.8)
    decorrelate(threshold=0.8)
    """
    return _constraint(
        "decorrelate",
        threshold=check_real(
            "decorrelate: threshold", threshold, low=0.0, high=1.0, high_open=True, error=ConstraintError
        ),
        method=check_choice("decorrelate: method", method, correlation.METHODS),
    )


def linear(A: Any, b: Any, rho: Any = 1.0, blocks: Any = None) -> Constraint:
    """Raw rows A z <= b over features or blocks.

    Parameters
    ----------
    A : array-like or sparse array of shape (n_columns,) or (n_rows, n_columns), or mapping of features to float
        One column per feature, or per block if `blocks` is given; what a mapping does not name has coefficient 0.
    b, rho : float or array-like of shape (n_rows,)
    blocks : bool, mapping, DataFrame or Blocks, optional
        True: the rows are on the blocks that are in use anyway. A mapping and the like: on blocks of their own.

    Examples
    --------
    >>> linear({"radius": 1, "area": 2, "texture": -1}, b=1.5)
    linear({'radius': 1.0, 'area': 2.0, 'texture': -1.0}, 1.5)
    """
    matrix = as_pairs("linear", "A", A) or FrozenMatrix.of("linear: A", A)
    n_rows = matrix.shape[0] if isinstance(matrix, FrozenMatrix) else 1
    if blocks is not None and not isinstance(blocks, bool):
        blocks = tuple(Blocks.of(blocks).members.items())
        if not blocks:
            raise ConstraintError("linear: blocks must not be empty; leave it out for rows on features.")
    return _constraint(
        "linear",
        A=matrix,
        b=per_row("linear: b", as_numbers("linear: b", b), n_rows),
        rho=per_row("linear: rho", as_relaxations("linear: rho", rho), n_rows),
        blocks=blocks or None,
    )


def _constraint(kind: str, **arguments: Any) -> Constraint:
    return Constraint(kind, tuple(arguments.items()))


def _size(kind: str, n: Any, rho: Any) -> dict[str, Any]:
    return {"n": check_int(f"{kind}: n", n, low=0, error=ConstraintError), "rho": as_relaxation(kind, rho)}


def _sized(kind: str, n: Any, rho: Any) -> Constraint:
    return _constraint(kind, **_size(kind, n, rho))


def _linked(kind: str, features: Any, rho: Any, on: Any, at_least: int = 1) -> Constraint:
    on = check_choice(f"{kind}: on", on, ("features", "blocks"))
    items = as_items(kind, on, features)
    if len(items) < at_least:
        raise ConstraintError(f"{kind} needs at least {at_least} {on}; got {list(items)!r}.")
    return _constraint(kind, features=items, rho=as_relaxation(kind, rho), on=on)
