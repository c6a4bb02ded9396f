"""Constraints of a study that do not fit the features, or contradict each other: found before the ensemble runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..constraints import Constraint, ConstraintSystem, resolve
from ..constraints.links import decorrelate
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..exceptions import ConstraintError, InfeasibleError, OptimizationError
from ..optimize import as_optimizer
from ..utility import Utility
from .diagnostics import Path, Problems

# Whether hard constraints contradict each other shows at once, as a rule; what takes longer shows when it is decided.
_SECONDS = 10.0
# More features than this have too many correlations to look at beforehand.
_MOST_CORRELATED = 3000
# Of the inequalities of decorrelate only those of perfectly correlated pairs are hard.
_NEARLY_PERFECT = 1 - 1e-9


def check_constraints(
    constraints: Sequence[Constraint | None],
    feature_names: Sequence[str],
    blocks: Blocks | None,
    data: FeatureData | None,
    problems: Problems,
) -> None:
    """Report constraints that do not fit the features, and hard ones that contradict each other.

    Parameters
    ----------
    constraints : sequence of Constraint or None
        Those of the study in their order; None where something is wrong already.
    feature_names : sequence of str
    blocks : Blocks or None
    data : FeatureData or None
        Without data contradictions are not looked for: which features are constant is not known.
    problems : Problems
    """
    known = {position: constraint for position, constraint in enumerate(constraints) if constraint is not None}
    # decorrelate names no feature, and its arguments were checked when it was made.
    others = {position: constraint for position, constraint in known.items() if constraint.kind != "decorrelate"}
    system = _fitting(others, feature_names, blocks, problems)
    # If the empty set satisfies all hard inequalities (those of decorrelate it always does), nothing contradicts.
    if data is None or not problems.is_sound("constraints") or (system.b[np.isinf(system.rho)] >= 0).all():
        return
    if len(others) < len(known) and data.n_features <= _MOST_CORRELATED:
        others = {position: _perfect_only(constraint) for position, constraint in known.items()}
        system = resolve(others.values(), feature_names, blocks, data)
    error = _contradiction(system, data)
    if error is not None:
        positions = list(others)
        involved: list[Path] = [("constraints", positions[i], others[positions[i]].kind) for i in error.positions]
        places = [problems.place(path) for path in involved[:-1]]
        problems(involved[-1], _sentence(error, int(data.constant.sum()), places))


def _fitting(
    constraints: Mapping[int, Constraint], feature_names: Sequence[str], blocks: Blocks | None, problems: Problems
) -> ConstraintSystem:
    """Return the system of those constraints that fit; the others are reported."""
    try:
        return resolve(constraints.values(), feature_names, blocks)
    except ConstraintError as error:
        position = list(constraints)[error.position or 0]
        wrong = constraints[position]
        path: Path = ("constraints", position, wrong.kind)
        if error.argument is not None and dict(wrong.arguments).get(error.argument) is not None:
            path = (*path, error.argument)
        none = error.argument == "blocks" and blocks is None
        problems(path, "is about blocks, but the study has none; add the key blocks." if none else error.rule)
    others = {key: constraint for key, constraint in constraints.items() if key != position}
    return _fitting(others, feature_names, blocks, problems)


def _contradiction(system: ConstraintSystem, data: FeatureData) -> InfeasibleError | None:
    # No feature is worth anything: the first set that keeps the hard inequalities is as good as any other.
    hard = system.take(np.flatnonzero(np.isinf(system.rho)))
    try:
        as_optimizer("exact", _SECONDS).maximize(Utility(np.zeros(data.n_features), hard, 1.0, ~data.constant))
    except InfeasibleError as error:
        return error
    except OptimizationError:
        pass  # not in this time; the decision may have more
    return None


def _perfect_only(constraint: Constraint) -> Constraint:
    """Return a constraint that has the same hard inequalities, and few others."""
    if constraint.kind != "decorrelate":
        return constraint
    given: dict[str, Any] = dict(constraint.arguments)
    return decorrelate(max(given["threshold"], _NEARLY_PERFECT), given["method"])


def _sentence(error: InfeasibleError, n_constant: int, others: list[str]) -> str:
    constant = f" ({n_constant} features are constant and cannot be selected.)" if n_constant else ""
    also = f" See also {'; '.join(others)}." if others else ""
    return (
        f"no feature set satisfies all hard constraints. These contradict each other: {'; '.join(error.labels)}."
        f"{constant} Remove one of them, or make it soft with a number for rho.{also}"
    )
