"""Constraints of a study: read, with patterns in place of names, checked with the features, and written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._arguments import Mask, check_real, did_you_mean
from .._plain import HARD, relaxation
from .._problems import CountedReport, Path, Report, below, check_keys, collect_errors
from ..constraints import KINDS, Constraint, ConstraintSystem, resolve
from ..constraints.arguments import FrozenMatrix, as_items
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..exceptions import ConstraintError, InputError, repr_of
from ..knowledge.patterns import EVERY, Names, as_named, is_pattern, is_single
from ..optimize.exact import contradiction
from .diagnostics import Problems, study_error
from .yaml_io import plain

_LARGEST_MATRIX = 1_000_000  # entries of a matrix that a file still holds
# Kinds that rest on correlations; the empty set satisfies all of their inequalities.
_OF_CORRELATIONS = ("decorrelate", "max_per_cluster")
_MOST_CORRELATED = 3000  # features; more have too many correlations to look at beforehand


def read_constraints(value: Any, report: Report) -> list[Constraint]:
    """Return the constraints of a list; whatever is wrong is reported, and left out.

    Each is a Constraint, or as a file has it: ``{max_size: 10}``, ``{must_link: {features: [a, b], rho: hard}}`` or
    ``decorrelate``.
    """
    if value is None or isinstance(value, Constraint):
        value = () if value is None else (value,)
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        report((), f"must be a list with one constraint per entry, such as '- max_size: 10'; got {repr_of(value)}.")
        return []
    constraints = [_read_entry(entry, below(report, position)) for position, entry in enumerate(value)]
    return [constraint for constraint in constraints if constraint is not None]


def _read_entry(value: Any, report: Report) -> Constraint | None:
    if isinstance(value, Constraint):
        return value
    if isinstance(value, str):
        value = {value: None}
    if not isinstance(value, Mapping) or len(value) != 1:
        way = "begin each with '- ', and write settings inside it, as in 'max_size: {n: 10, rho: hard}'"
        report((), f"must hold one constraint by the name of its builder; {way}; got {repr_of(value)}.")
        return None
    ((kind, arguments),) = value.items()
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or f" Known: {', '.join(KINDS)}."
        report((kind,), f"must be the name of a constraint; got {repr_of(kind)}.{hint}")
        return None
    return _from_arguments(kind, arguments, below(report, kind))


def _from_arguments(kind: str, value: Any, report: Report) -> Constraint | None:
    """Make a constraint; None after whatever is wrong was reported for each argument."""
    parameters = KINDS[kind].parameters
    is_named = isinstance(value, Mapping)
    entries = dict(value) if is_named else ({} if value is None else {next(iter(parameters)): value})
    arguments = check_keys(entries, parameters, f"an argument of {kind}", report)
    wrong = entries.keys() - arguments.keys()
    for name, entry in arguments.items():
        if not check_items(name, entry, below(report, name), name in KINDS[kind].items):
            wrong.add(name)
    if kind == "cost_budget" and "budget" in arguments:
        arguments.setdefault("costs", None)  # those of the table of knowledge
    for name in KINDS[kind].required:
        if name not in arguments:
            report((), f"needs {name!r}.")
            wrong.add(name)
    if "rho" in arguments:
        arguments["rho"] = _relaxation(arguments["rho"])
    return _make(kind, arguments, wrong, report if is_named else lambda path, message: report((), message))


def _make(kind: str, arguments: Mapping[str, Any], wrong: set[str], report: Report) -> Constraint | None:
    """Call the builder; each argument that is wrong is reported, and an example replaces it to check the others."""
    examples = {name: KINDS[kind].examples.get(name) for name in KINDS[kind].required if name in wrong}
    sound = {name: value for name, value in arguments.items() if name not in wrong}
    try:
        made = _built(kind, sound | examples)
    except InputError as error:
        name = error.argument or next(iter(arguments))
        if name not in wrong:
            if getattr(error, "against", None) not in wrong:
                report((name,), error.rule)
            _make(kind, arguments, {*wrong, name}, report)
        return None
    return None if wrong else made


def _built(kind: str, arguments: Mapping[str, Any]) -> Constraint:
    """Return a constraint; how many features a pattern matches is checked when they are known."""
    patterns = {}
    for name in KINDS[kind].items & arguments.keys():
        items = (arguments[name],) if isinstance(arguments[name], str) else arguments[name]
        if isinstance(items, list | tuple) and len(items) == 1 and is_pattern(items[0]):
            patterns[name] = tuple(items)
    made = KINDS[kind].build(**{**arguments, **{name: items * 2 for name, items in patterns.items()}})
    return replace(made, arguments=tuple((dict(made.arguments) | patterns).items()))


def _relaxation(rho: Any) -> Any:
    if isinstance(rho, list):
        return [_relaxation(entry) for entry in rho]
    return math.inf if isinstance(rho, str) and rho.lower() in (HARD, "inf") else rho


def check_items(name: str, value: Any, report: Report, lists_names: bool = True) -> bool:
    """Return whether an argument lists or maps nothing but names; each entry that is none is reported at its place."""
    counted = CountedReport(report)
    if isinstance(value, list | tuple) and (lists_names or name == "blocks"):
        for position, item in enumerate(value):
            with collect_errors(counted, (position,)):
                as_items("", [item])
    elif isinstance(value, Mapping):
        for item, entry in value.items():
            if name == "blocks":
                check_items(name, entry, below(counted, item))
                continue
            with collect_errors(counted):
                as_items("", [item])
            with collect_errors(counted, (item,)):
                check_real(str(item), entry, low_open=True, high_open=True)
    return not counted.n_problems


# -- expanding patterns ------------------------------------------------------------------------------------------------


def expand_constraint(constraint: Constraint, names: Names, block_names: Names, report: Report) -> Constraint | None:
    """Return a constraint with patterns replaced by the names that they match; its note has the patterns.

    Names that mean nothing are reported, and None is returned.
    """
    arguments = dict(constraint.arguments)
    blocks: Any = arguments.get("blocks")
    on_blocks = arguments.get("on") == "blocks" or blocks is True
    columns = block_names if on_blocks else names
    expanded: dict[str, Any] = {}
    counted = CountedReport(report)
    if _is_pairs(blocks):  # a constraint that brings its blocks along
        columns = Names([name for name, _ in blocks], "block")
        expanded["blocks"] = tuple(
            (name, tuple(names.expand(items, below(counted, "blocks", name)))) for name, items in blocks
        )
    for name, value in arguments.items():
        if name in KINDS[constraint.kind].items:
            expanded[name] = tuple(columns.expand(value, below(counted, name)))
        elif name == "blocks" and isinstance(value, tuple) and not _is_pairs(value):
            expanded[name] = tuple(block_names.expand(value, below(counted, name)))
        elif name != "blocks" and _is_pairs(value):
            expanded[name] = tuple(_expand_pairs(value, columns, below(counted, name)).items())
    if counted.n_problems:
        return None
    if all(arguments[name] == value for name, value in expanded.items()):
        return constraint
    with collect_errors(report):
        changed = replace(constraint, arguments=tuple((arguments | expanded).items()))
        made = _built(constraint.kind, arguments_of(changed))
        written = [name for name, value in expanded.items() if name != "costs" and arguments[name] != value]
        note = "; ".join(_written(arguments[name]) for name in written)  # costs may be of a thousand features
        return replace(made, from_prior=constraint.from_prior, note=constraint.note or note)
    return None


def _is_pairs(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], tuple)


def _written(items: Any) -> str:
    """Return what the user wrote, such as ``radius*, area``."""
    if not _is_pairs(items):
        return ", ".join(map(str, items))
    if isinstance(items[0][1], tuple):  # blocks
        return "; ".join(f"{name}: {_written(members)}" for name, members in items)
    return _written([name for name, _ in items])


def _expand_pairs(pairs: Iterable[tuple[Any, float]], names: Names, report: Report) -> dict[Any, float]:
    """Return the number of each name: one of its own, else that of a pattern, else that of ``*``."""
    by_name: dict[Any, float] = {}
    by_pattern: dict[str, tuple[str, float]] = {}
    numbers = dict(pairs)
    rest = None if EVERY in names else numbers.pop(EVERY, None)
    for item, number in numbers.items():
        with collect_errors(report, (item,)):
            matches = names.find(item)
            if is_single(item, matches):
                by_name[as_named(item, matches)] = number
                continue
            for name in matches:
                first, before = by_pattern.setdefault(name, (item, number))
                if before != number:
                    report((item,), f"gives {name!r} {number:g}, but {first!r} gives it {before:g}.")
    named = {names.names[item] if isinstance(item, int) else item for item in by_name}
    if rest is not None:
        by_pattern = dict.fromkeys(names.names, (EVERY, rest)) | by_pattern
    return by_name | {name: number for name, (_, number) in by_pattern.items() if name not in named}


# -- checking ----------------------------------------------------------------------------------------------------------


def check_constraints(
    constraints: Sequence[Constraint | None],
    feature_names: Sequence[str],
    blocks: Blocks | None,
    has_valid_blocks: bool,
    data: FeatureData | None,
    problems: Problems,
) -> ConstraintSystem | None:
    """Report constraints that do not fit the features, and hard ones that contradict each other.

    The constraints are those of the study in their order; None where something is wrong already. Constraints on blocks
    are not checked if something is wrong with these. Contradictions are looked for with data only: else the decision,
    which knows the features that cannot be selected, finds them.
    Returned is the system of all of them, for the decision; None if some are wrong, or wait for the data.
    """
    valid = {position: constraint for position, constraint in enumerate(constraints) if constraint is not None}
    used = {position: constraint for position, constraint in valid.items() if not constraint.needs_data}
    blocks = blocks if has_valid_blocks else None
    while True:
        try:
            system = resolve(used.values(), feature_names, blocks)
            break
        except ConstraintError as error:
            position = list(used)[error.position or 0]
            _report_misfit(error, used.pop(position), position, blocks, has_valid_blocks, problems)
    others = {position: constraint for position, constraint in valid.items() if constraint.needs_data}
    # If the empty set satisfies all hard inequalities, nothing contradicts.
    correlations_only = all(constraint.kind in _OF_CORRELATIONS for constraint in others.values())
    empty_set_holds = correlations_only and (system.b[np.isinf(system.rho)] >= 0).all()
    if data is not None and not empty_set_holds:
        if others and not (correlations_only and data.n_features > _MOST_CORRELATED):
            used = dict(sorted({**used, **others}.items()))
            system = resolve(used.values(), feature_names, blocks, data)
        _report_contradictions(system, list(used), data.constant, problems)
    return system if len(used) == len(constraints) else None


def _report_contradictions(
    system: ConstraintSystem, positions: Sequence[int], constant: Mask, problems: Problems
) -> None:
    """Report hard constraints that contradict each other; `positions` are those of the constraints in the study.

    Without the last of those that contradict each other, the next contradiction shows.
    """
    if (error := contradiction(system, ~constant)) is not None:
        order = sorted(error.positions, key=lambda i: positions[i])  # as they are written
        involved: list[Path] = [("constraints", positions[i], system.parts[i].kind) for i in order]
        written = problems.origin.file or problems.origin.aliases  # somewhere to look; else they are named above
        places = [problems.place(path) for path in involved[:-1]] if written else []
        also = f" See also {'; '.join(places)}." if places else ""
        n_constant = int(constant.sum())
        excluded = f" ({n_constant} features are constant and cannot be selected.)" if n_constant else ""
        problems(
            involved[-1],
            f"no feature set satisfies all hard constraints. These contradict each other: {error.shown}."
            f"{excluded} Remove one of them, or make it soft: a wish with a price.{also}",
            related=tuple(involved),
        )
        rest = system.take(np.flatnonzero(system.owner != order[-1]))
        _report_contradictions(rest, positions, constant, problems)


def _report_misfit(
    error: ConstraintError,
    constraint: Constraint,
    position: int,
    blocks: Blocks | None,
    has_valid_blocks: bool,
    problems: Problems,
) -> None:
    path: Path = ("constraints", position, constraint.kind)
    if error.argument is not None and dict(constraint.arguments).get(error.argument) is not None:
        path = (*path, error.argument)
    if error.argument != "blocks" or blocks is not None:
        problems(path, error.rule)
    elif has_valid_blocks:  # else that is the problem
        problems(path, "is about blocks, but the study has none; add the key blocks, such as blocks: blocks.csv.")


# -- writing -----------------------------------------------------------------------------------------------------------


def arguments_of(constraint: Constraint) -> dict[str, Any]:
    """Return the arguments of a constraint as its builder takes them.

    Examples
    --------
    >>> from ubayfs import cost_budget
    >>> arguments_of(cost_budget({"mri": 400.0}, budget=410))
    {'costs': {'mri': 400.0}, 'budget': 410.0, 'rho': inf}
    """
    return {
        name: value.thaw() if isinstance(value, FrozenMatrix) else dict(value) if _is_pairs(value) else value
        for name, value in constraint.arguments
    }


def plain_constraint(constraint: Constraint) -> dict[str, Any]:
    """Return a constraint as it is written to a file.

    Examples
    --------
    >>> from ubayfs import max_size, must_link
    >>> plain_constraint(max_size(10)), plain_constraint(must_link(["a", "b"], rho=1))
    ({'max_size': 10}, {'must_link': {'features': ['a', 'b'], 'rho': 1}})
    """
    kind, parameters = constraint.kind, KINDS[constraint.kind].parameters
    first = next(iter(parameters))
    stored = dict(constraint.arguments)
    shown = {
        name: _plain_argument(kind, name, value)
        for name, value in arguments_of(constraint).items()
        if stored[name] is not None and (name == first or stored[name] != parameters[name].default)
    }
    short = len(shown) == 1 and first in shown and not isinstance(shown[first], dict)
    return {kind: shown[first] if short else shown}


def _plain_argument(kind: str, name: str, value: Any) -> Any:
    if name == "rho":
        value = [relaxation(rho) for rho in value] if isinstance(value, tuple) else relaxation(value)
    if hasattr(value, "toarray"):
        if math.prod(value.shape) > _LARGEST_MATRIX:
            raise study_error(
                f"{kind}: {name} has {value.shape[0]} x {value.shape[1]} entries, too many for a study file. Give rows "
                "as mappings of feature names to coefficients, one linear() for each."
            )
        value = value.toarray().tolist()
    return plain(value)
