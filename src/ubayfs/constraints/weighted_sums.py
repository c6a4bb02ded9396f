"""Weighted sums: a budget of costs, and inequalities of the user's own."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from .._arguments import Array, check_real
from .._plain import counted
from ..data.blocks import Blocks
from ..exceptions import ConstraintError
from ..knowledge.patterns import EVERY
from .arguments import (
    Bounds,
    Costs,
    FrozenMatrix,
    as_numbers,
    as_pairs,
    as_prices,
    as_relaxations,
    as_vector,
    per_inequality,
    rho_or_price,
)
from .constraint import Constraint, Context, Inequalities, builder, inequalities, one_row
from .words import names_in_words

_LISTED = 12  # terms that a title spells out
_FEW_COSTS = 3  # that a title lists


def _coefficients(context: Context, values: Any, on: str, kind: str, argument: str) -> sparse.csr_array:
    """Return one row of coefficients: pairs (item, coefficient), the others 0, or one coefficient per item."""
    n_columns = len(context.names(on))
    if values and isinstance(values[0], tuple):
        positions = context.positions([item for item, _ in values], on, kind, argument)
        return one_row(positions, [coefficient for _, coefficient in values], n_columns)
    if len(values) != n_columns:
        rule = f"must have one number per {on[:-1]}, {n_columns}; got {len(values)}."
        raise ConstraintError(f"{kind}: {argument} {rule}", argument=argument, rule=rule)
    return one_row(np.arange(n_columns), values, n_columns)


def _within_budget(context: Context, costs: Any, budget: float, rho: float) -> Inequalities:
    if costs is None:
        rule = "must be given, or be a column of the table of weights: features and what each costs."
        raise ConstraintError(f"cost_budget: costs {rule}", argument="costs", rule=rule)
    A, names = _coefficients(context, costs, "features", "cost_budget", "costs"), context.index.names
    label = f"cost budget {budget:g}"
    return inequalities(A, budget, rho, label, f"{label} ({_costs_in_words(A, names)})")


def _costs_in_words(A: sparse.csr_array, names: Sequence[str] | Array) -> str:
    """Return the costs of few features, or of how many features they are, and their range."""
    if A.nnz <= _FEW_COSTS:
        return f"costs: {', '.join(f'{names[i]} {cost:g}' for i, cost in zip(A.indices, A.data, strict=True))}"
    low, high = A.data.min(), A.data.max()
    return f"costs of {A.nnz:,} features, {f'{low:g}' if low == high else f'{low:g} to {high:g}'} each"


def _budget_in_words(arguments: Mapping[str, Any]) -> str:
    costs, named = arguments["costs"], "of the table of knowledge"
    if costs and isinstance(costs[0], tuple):
        listed = dict(costs)
        rest = f"each other feature {listed.pop(EVERY, 0.0):g}"
        named = names_in_words([*(f"{name} {cost:g}" for name, cost in listed.items()), rest])
    elif costs is not None:
        named = f"{len(costs):,} numbers"
    return f"Total cost at most {arguments['budget']:g} (costs: {named})"


@builder(_within_budget, _budget_in_words)
def cost_budget(costs: Costs, budget: float, *, rho: float = math.inf, price: float | None = None) -> dict[str, Any]:
    """Keep the total cost of the selected features within a budget: one inequality.

    Parameters
    ----------
    costs : mapping of str or int to float, Series, array-like of shape (n_features,), or None
        Features that a mapping does not name cost nothing. None: the column cost of the table that the weights are in.
    budget : float
    rho, price : float, optional
        Softens the constraint, per unit of cost beyond the budget: `price` is a share of the models.

    See Also
    --------
    max_size : A limit on their number.
    linear : Any other sum.

    Examples
    --------
    >>> cost_budget({"mri": 400.0, "blood": 25.0}, budget=410)
    cost_budget({'mri': 400.0, 'blood': 25.0}, 410.0)
    """
    return {
        "costs": None if costs is None else as_pairs("costs", costs) or as_vector("costs", costs),
        "budget": check_real("budget", budget, low_open=True, high_open=True),
        **rho_or_price(rho, price),
    }


def with_costs(constraint: Constraint, costs: Mapping[str, float] | None) -> Constraint:
    """Return a constraint with the costs of a table, if it is a budget without costs of its own."""
    arguments = dict(constraint.arguments)
    if constraint.kind != "cost_budget" or arguments.get("costs") is not None or not costs:
        return constraint
    return replace(constraint, arguments=tuple((arguments | {"costs": tuple(costs.items())}).items()))


def without_costs_of(constraint: Constraint, measured: Collection[str]) -> Constraint:
    """Return a constraint with a budget in which features that are measured anyway have no cost."""
    arguments = dict(constraint.arguments)
    costs = arguments.get("costs") if constraint.kind == "cost_budget" and measured else None
    if not costs or not isinstance(costs[0], tuple):
        return constraint
    kept = tuple(pair for pair in costs if pair[0] not in measured)
    return replace(constraint, arguments=tuple((arguments | {"costs": kept}).items()))


def _rows_of_user(context: Context, A: Any, b: Any, rho: Any, blocks: Any) -> Inequalities:
    on = "features" if blocks is None else "blocks"
    if on == "blocks":
        context.require_blocks("linear")
    names = context.names(on)
    if isinstance(A, tuple):
        label = f"linear {sum_in_words(A)} <= {_first(b):g}"
        return inequalities(_coefficients(context, A, on, "linear", "A"), b, rho, label, on=on)
    matrix = A.thaw()
    if matrix.shape[1] != len(names):
        rule = f"must have one column per {on[:-1]}, {len(names)}; got {matrix.shape[1]}."
        raise ConstraintError(f"linear: A {rule}", argument="A", rule=rule)
    bounds = np.broadcast_to(np.asarray(b, dtype=np.float64), matrix.shape[0])
    n = matrix.shape[0]
    title = f"linear: {n:,} inequalities" if n > 1 else _numbered(matrix, bounds, names, 0)
    return inequalities(matrix, b, rho, partial(_numbered, matrix, bounds, names), title, on)


def sum_in_words(terms: Any) -> str:
    """Return a weighted sum in words.

    >>> sum_in_words([("radius", 1.0), ("area", 2.0), ("texture", -1.0)])
    'radius + 2 area - texture'
    """
    text = ""
    for name, value in terms[:_LISTED]:
        sign = (" - " if value < 0 else " + ") if text else ("-" if value < 0 else "")
        text += f"{sign}{'' if abs(value) == 1 else f'{abs(value):g} '}{name}"
    return (text or "0") + (f" + {len(terms) - _LISTED:,} more terms" if len(terms) > _LISTED else "")


def _numbered(matrix: sparse.csr_array, bounds: Any, names: Any, number: int) -> str:
    entries = slice(matrix.indptr[number], matrix.indptr[number + 1])
    terms = [(names[i], value) for i, value in zip(matrix.indices[entries], matrix.data[entries], strict=True)]
    which = f" ({number + 1} of {matrix.shape[0]:,})" if matrix.shape[0] > 1 else ""
    return f"linear {sum_in_words(terms)} <= {bounds[number]:g}{which}"


def _sum_at_most(arguments: Mapping[str, Any]) -> str:
    A, b = arguments["A"], arguments["b"]
    if not isinstance(A, tuple):
        return f"{counted(A.shape[0], 'condition')} on sums of {counted(A.shape[1], 'column')}"
    blocks = "" if arguments["blocks"] is None else " (blocks)"
    return f"{sum_in_words(A)} at most {_first(b):g}{blocks}"


def _first(b: float | tuple[float, ...]) -> float:
    return b if isinstance(b, float) else b[0]


@builder(_rows_of_user, _sum_at_most)
def linear(A: Costs, b: Bounds, *, rho: Any = math.inf, blocks: Any = None, price: Any = None) -> dict[str, Any]:
    """Inequalities A z <= b over features or blocks, as they are.

    Parameters
    ----------
    A : array-like or sparse array of shape (n_columns,) or (n_inequalities, n_columns), or mapping of features to float
        One column per feature, or per block if `blocks` is given; what a mapping does not name has coefficient 0.
    b : float or array-like of shape (n_inequalities,)
    rho, price : float or array-like of shape (n_inequalities,), optional
        Softens the inequalities: `price` is what one unit of violation costs, as a share of the models.
    blocks : bool, mapping, DataFrame or Blocks, optional
        True: the inequalities are on the blocks that are in use anyway. A mapping and the like: on blocks of their own.

    See Also
    --------
    cost_budget : A sum of costs.

    Examples
    --------
    >>> linear({"radius": 1, "area": 2, "texture": -1}, b=1.5)
    linear({'radius': 1.0, 'area': 2.0, 'texture': -1.0}, 1.5)
    """
    matrix = as_pairs("A", A) or FrozenMatrix.from_values("A", A)
    n = matrix.shape[0] if isinstance(matrix, FrozenMatrix) else 1
    if blocks is not None and not isinstance(blocks, bool):
        blocks = tuple(Blocks.of(blocks).members.items())
        if not blocks:
            raise ConstraintError.of("blocks", "must not be empty; leave it out for inequalities on features.")
    strictness = ("rho", as_relaxations(rho)) if price is None else ("price", as_prices(price))
    return {
        "A": matrix,
        "b": per_inequality("b", as_numbers("b", b), n),
        strictness[0]: per_inequality(*strictness, n),
        "blocks": blocks or None,
    }
