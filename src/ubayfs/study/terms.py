"""Constraints of a study: every builder of :mod:`ubayfs.constraints`, by its name."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .._arguments import did_you_mean
from ..constraints import KINDS, Constraint
from ..constraints.arguments import FrozenMatrix
from ..exceptions import InputError, Problem, StudyError
from .patterns import is_pattern
from .problems import Path, Report, below

# Taken for a required argument that is wrong, so that the others are checked all the same.
_STAND_INS: dict[str, Any] = {
    "n": 0,
    "features": ["a", "b"],
    "if_features": ["a"],
    "then_features": ["b"],
    "costs": {"a": 1.0},
    "budget": 1.0,
    "b": 0.0,
}

_LARGEST_MATRIX = 1_000_000  # entries of a matrix that a file still holds


def builder(kind: str) -> Callable[..., Constraint]:
    """Return the function that makes constraints of one kind."""
    return KINDS[kind].build


def parameters(kind: str) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a builder."""
    return KINDS[kind].parameters


def as_constraints(value: Any, report: Report) -> tuple[Constraint, ...]:
    """Return constraints given by builders, or as a study file lists them.

    Parameters
    ----------
    value : None, Constraint, or iterable of Constraint, str or mapping
        ``{max_size: 10}``, ``{must_link: {features: [a, b], rho: hard}}``, ``decorrelate``.
    report : Report
    """
    return tuple(one for _, one in read_constraints(value, report))


def read_constraints(value: Any, report: Report) -> list[tuple[int, Constraint]]:
    """Return the constraints that could be read, each with its position in the list; see :func:`as_constraints`."""
    if value is None:
        return []
    if isinstance(value, Constraint):
        return [(0, value)]
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        report((), f"must be a list with one constraint per entry, such as '- max_size: 10'; got {value!r}.")
        return []
    read = ((position, _as_constraint(one, below(report, position))) for position, one in enumerate(value))
    return [(position, one) for position, one in read if one is not None]


def _as_constraint(value: Any, report: Report) -> Constraint | None:
    if isinstance(value, Constraint):
        return value
    if isinstance(value, str):
        value = {value: None}
    if not isinstance(value, Mapping) or len(value) != 1:
        way = "begin each with '- ', and write settings inside it, as in 'max_size: {n: 10, rho: hard}'"
        report((), f"must hold one constraint by the name of its builder; {way}; got {value!r}.")
        return None
    ((kind, arguments),) = value.items()
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or f" Known: {', '.join(KINDS)}."
        report((kind,), f"must be the name of a constraint; got {kind!r}.{hint}")
        return None
    return _from_arguments(kind, arguments, below(report, kind))


def _from_arguments(kind: str, value: Any, report: Report) -> Constraint | None:
    first = next(iter(parameters(kind)))
    named = isinstance(value, Mapping)
    given = dict(value) if named else ({} if value is None else {first: value})
    complete = True
    for name in list(given):
        if name not in parameters(kind):
            hint = did_you_mean(name, parameters(kind)) or f" Its arguments: {', '.join(parameters(kind))}."
            report((name,), f"must be an argument of {kind}; got {name!r}.{hint}")
            del given[name]
    for name, parameter in parameters(kind).items():
        if name not in given and parameter.default is inspect.Parameter.empty:
            report((), f"needs {name!r}.")
            complete = False
            if name not in _STAND_INS:
                return None
            given[name] = _STAND_INS[name]
    if "rho" in given:
        given["rho"] = _relaxation(given["rho"])
    made = _make(kind, given, named, report)
    return made if complete else None


def _make(kind: str, given: dict[str, Any], named: bool, report: Report) -> Constraint | None:
    """Call the builder; after a problem once more without the argument in question, until all are told."""
    first = next(iter(parameters(kind)))
    complete = True
    while True:
        try:
            made = _call(kind, given)
            return made if complete else None
        except InputError as error:
            wrong, rule = error.argument, error.rule
        complete = False
        path: Path = (wrong,) if wrong is not None and named else ()
        report(path, rule)
        wrong = wrong or first  # "must_link needs at least 2 features" is about what it is given first
        if given.pop(wrong, None) is _STAND_INS.get(wrong):
            return None
        if parameters(kind)[wrong].default is inspect.Parameter.empty:
            if wrong not in _STAND_INS:
                return None
            given[wrong] = _STAND_INS[wrong]


def _call(kind: str, given: dict[str, Any]) -> Constraint:
    items = given.get("features")
    single = [items] if isinstance(items, str) else items
    if isinstance(single, list | tuple) and len(single) == 1 and is_pattern(single[0]):
        # A pattern may stand for several features; how many there must be is checked when they are known.
        twice = builder(kind)(**{**given, "features": [*single, *single]})
        known = dict(twice.arguments) | {"features": (single[0],)}
        return Constraint(kind, tuple(known.items()))
    return builder(kind)(**given)


def _relaxation(rho: Any) -> Any:
    if isinstance(rho, list):
        return [_relaxation(one) for one in rho]
    return math.inf if isinstance(rho, str) and rho.lower() == "hard" else rho


def arguments_of(constraint: Constraint) -> dict[str, Any]:
    """Return the arguments of a constraint as its builder takes them.

    Examples
    --------
    >>> from ubayfs import cost_budget
    >>> arguments_of(cost_budget({"mri": 400.0}, budget=410))
    {'costs': {'mri': 400.0}, 'budget': 410.0, 'rho': 1.0}
    """
    given = dict(constraint.arguments)
    for name in ("costs", "A", "blocks"):
        value = given.get(name)
        if isinstance(value, tuple) and value and isinstance(value[0], tuple):
            given[name] = dict(value)
        elif isinstance(value, FrozenMatrix):
            given[name] = value.thaw()
    return given


def plain_constraint(constraint: Constraint) -> dict[str, Any]:
    """Return a constraint as it is written to a file.

    Examples
    --------
    >>> from ubayfs import max_size, must_link
    >>> plain_constraint(max_size(10)), plain_constraint(must_link(["a", "b"], rho=math.inf))
    ({'max_size': 10}, {'must_link': {'features': ['a', 'b'], 'rho': 'hard'}})
    """
    kind, known = constraint.kind, parameters(constraint.kind)
    first = next(iter(known))
    shown = {
        name: _plain_argument(kind, name, value)
        for name, value in arguments_of(constraint).items()
        if name == first or name in ("A", "blocks") or value != known[name].default
    }
    if shown.get("blocks", 0) is None:
        del shown["blocks"]
    short = len(shown) == 1 and not isinstance(shown[first], dict)
    return {kind: shown[first] if short else shown}


def _plain_argument(kind: str, name: str, value: Any) -> Any:
    if name == "rho":
        numbers = [plain_number(one) for one in np.atleast_1d(value).tolist()]
        hard = ["hard" if one == math.inf else one for one in numbers]
        return hard if isinstance(value, tuple) else hard[0]
    if hasattr(value, "toarray"):
        if math.prod(value.shape) > _LARGEST_MATRIX:
            problem = (
                f"{kind}: {name} has {value.shape[0]} x {value.shape[1]} entries, too many for a study file. Give rows "
                "as mappings of feature names to coefficients, one linear() for each."
            )
            raise StudyError(problem, (Problem(problem),))
        value = value.toarray().tolist()
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return plain_number(value)


def plain_number(value: Any) -> Any:
    """Return whole numbers without a decimal point, as people write them."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return int(value) if whole else value
