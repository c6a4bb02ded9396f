"""Constraints of a study: read, with patterns in place of names, checked with the features, and written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._arguments import Mask, check_real, did_you_mean
from .._plain import relaxation
from ..constraints import KINDS, Constraint, ConstraintSystem, resolve
from ..constraints.arguments import FrozenMatrix, as_items
from ..constraints.utility import Utility
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..exceptions import ConstraintError, InfeasibleError, InputError, OptimizationError, repr_of
from ..knowledge.patterns import InvalidName, Names, as_found, is_pattern, is_single
from ..optimize import as_optimizer
from .diagnostics import Path, Problems, Report, below, known_only, reported, study_error
from .yaml_io import plain

_LARGEST_MATRIX = 1_000_000  # entries of a matrix that a file still holds
# Whether hard constraints contradict each other shows at once, as a rule; what takes longer shows when it is decided.
_SECONDS = 10.0
# Kinds that rest on correlations; the empty set satisfies all of their inequalities.
_OF_CORRELATIONS = ("decorrelate", "max_per_cluster")
_MOST_CORRELATED = 3000  # features; more have too many correlations to look at beforehand


def read_constraints(value: Any, report: Report) -> dict[int, Constraint]:
    """Return the constraints that could be read, by their positions in the list.

    Each is a Constraint, or as a file has it: ``{max_size: 10}``, ``{must_link: {features: [a, b], rho: hard}}`` or
    ``decorrelate``. One with a wrong required argument lacks that argument, so that its names can still be checked.
    """
    if value is None or isinstance(value, Constraint):
        value = () if value is None else (value,)
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        report((), f"must be a list with one constraint per entry, such as '- max_size: 10'; got {repr_of(value)}.")
        return {}
    read = {position: _read_entry(entry, below(report, position)) for position, entry in enumerate(value)}
    return {position: constraint for position, constraint in read.items() if constraint is not None}


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
    """Make a constraint; whatever is wrong is reported for each argument, and None returned if nothing can be made."""
    parameters, items = KINDS[kind].parameters, KINDS[kind].items
    first = next(iter(parameters))
    named = isinstance(value, Mapping)
    given = dict(value) if named else ({} if value is None else {first: value})
    given = known_only(given, parameters, f"an argument of {kind}", report)
    given = {name: readable(name, entry, below(report, name), name in items) for name, entry in given.items()}
    if kind == "cost_budget" and "budget" in given:
        given.setdefault("costs", None)  # those of the table of knowledge
    absent = [name for name in KINDS[kind].required if name not in given]
    for name in absent:
        report((), f"needs {name!r}.")
    if "rho" in given:
        given["rho"] = _relaxation(given["rho"])
    return _make(kind, given, set(absent), report if named else lambda path, message: report((), message))


def _make(kind: str, given: dict[str, Any], wrong: set[str], report: Report) -> Constraint | None:
    """Call the builder; arguments that are wrong are reported and replaced, so that the others are checked too.

    The constraint lacks required arguments that are wrong: its names can be checked, but it cannot be used.
    """
    try:
        return _built(kind, given)
    except InputError as error:
        name = error.argument or next(iter(given))
        if name in wrong:
            return None
        if getattr(error, "against", None) not in wrong:
            report((name,), error.rule)
    others = {key: value for key, value in given.items() if key != name}
    if name in ("rho", "price") and "rho" in KINDS[kind].parameters:
        others.setdefault("rho", 1.0)  # it may be soft, so that it contradicts nothing
    return _make(kind, others, {*wrong, name}, report)


def _built(kind: str, given: dict[str, Any]) -> Constraint | None:
    """Return a constraint that lacks required arguments which are not given; examples replace them meanwhile."""
    absent, examples = set(KINDS[kind].required) - given.keys(), KINDS[kind].examples
    if not absent <= examples.keys():
        return None
    # A pattern may match several features; how many there must be is checked when they are known.
    patterns = {}
    for name in KINDS[kind].items & given.keys():
        items = (given[name],) if isinstance(given[name], str) else given[name]
        if isinstance(items, list | tuple) and len(items) == 1 and is_pattern(items[0]):
            patterns[name] = tuple(items)
    stand_ins = {name: examples[name] for name in absent} | {name: items * 2 for name, items in patterns.items()}
    made = KINDS[kind].build(**given | stand_ins)
    arguments = dict(made.arguments) | patterns
    return replace(made, arguments=tuple((name, value) for name, value in arguments.items() if name not in absent))


def _relaxation(rho: Any) -> Any:
    if isinstance(rho, list):
        return [_relaxation(entry) for entry in rho]
    return math.inf if isinstance(rho, str) and rho.lower() in ("hard", "inf") else rho


def readable(name: str, value: Any, report: Report, lists_names: bool = True) -> Any:
    """Return an argument of a constraint with stand-ins for entries of lists and mappings that cannot be right."""
    if isinstance(value, list | tuple) and (lists_names or name == "blocks"):
        return [_readable_item(item, below(report, position)) for position, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    if name == "blocks":
        return {block: readable(name, items, below(report, block)) for block, items in value.items()}
    found: dict[Any, Any] = {}
    for item, number in value.items():
        found[_readable_item(item, report)] = 0.0
        with reported(report, (item,)):
            found[item] = check_real(str(item), number, low_open=True, high_open=True)
            continue
        found[InvalidName()] = 0.0
    return found


def _readable_item(item: Any, report: Report) -> Any:
    with reported(report):
        return as_items("", [item])[0]
    return InvalidName()


# -- expanding patterns ------------------------------------------------------------------------------------------------


def expand_constraint(constraint: Constraint, names: Names, block_names: Names, report: Report) -> Constraint | None:
    """Return a constraint with patterns replaced by the names that they match; its note has the patterns.

    Names that mean nothing are reported, and None is returned. Required arguments that are wrong stay absent.
    """
    given = dict(constraint.arguments)
    own: Any = given.get("blocks")
    on_blocks = given.get("on") == "blocks" or own is True
    columns = block_names if on_blocks else names
    changed: dict[str, Any] = {}
    found: list[tuple[Path, str]] = []

    def collect(path: Path, message: str) -> None:
        found.append((path, message))

    if _is_pairs(own):  # a constraint with blocks of its own
        columns = Names([name for name, _ in own], "block")
        changed["blocks"] = tuple(
            (name, tuple(names.expand(items, below(collect, "blocks", name)))) for name, items in own
        )
    for name, value in given.items():
        if name in KINDS[constraint.kind].items:
            changed[name] = tuple(columns.expand(value, below(collect, name)))
        elif name == "blocks" and isinstance(value, tuple) and not _is_pairs(value):
            changed[name] = tuple(block_names.expand(value, below(collect, name)))
        elif name != "blocks" and _is_pairs(value):
            changed[name] = tuple(_expand_pairs(value, columns, below(collect, name)).items())
    for problem in found:
        report(*problem)
    if found:
        return None
    if all(given[name] == value for name, value in changed.items()):
        return constraint
    with reported(report):
        expanded = replace(constraint, arguments=tuple((given | changed).items()))
        made = _built(constraint.kind, arguments_of(expanded))
        assert made is not None
        note = "; ".join(_written(given[name]) for name, value in changed.items() if given[name] != value)
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
    by_name: dict[Any, float] = {}
    by_pattern: dict[str, tuple[str, float]] = {}
    for item, number in pairs:
        with reported(report, (item,)):
            matches = names.find(item)
            if is_single(item, matches):
                by_name[as_found(item, matches)] = number
                continue
            for name in matches:
                first, before = by_pattern.setdefault(name, (item, number))
                if before != number:
                    report((item,), f"gives {name!r} {number:g}, but {first!r} gives it {before:g}.")
    named = {names.names[item] if isinstance(item, int) else item for item in by_name}
    return by_name | {name: number for name, (_, number) in by_pattern.items() if name not in named}


# -- checking ----------------------------------------------------------------------------------------------------------


def check_constraints(
    constraints: Sequence[Constraint | None],
    feature_names: Sequence[str],
    n_features: range,
    blocks: Blocks | None,
    data: FeatureData | None,
    problems: Problems,
) -> ConstraintSystem | None:
    """Report constraints that do not fit the features, and hard ones that contradict each other.

    The constraints are those of the study in their order; None where something is wrong already. Constraints on blocks
    are not checked if something is wrong with these, nor those with one number per feature if there may be so many:
    `n_features` are all numbers of features that are possible. Without data contradictions are looked for only if there
    are problems already, since the decision, which knows the features that cannot be selected, finds them.
    Returned is the system of all of them, for the decision; None if some are wrong, or wait for the data.
    """
    known = {position: constraint for position, constraint in enumerate(constraints) if constraint is not None}
    if len(n_features) > 1:
        known = _of_certain_width(known, n_features, problems)
    named = {position: constraint for position, constraint in known.items() if not constraint.needs_data}
    used, system = _fitting(named, feature_names, blocks, problems)
    others = {
        position: constraint
        for position, constraint in known.items()
        if constraint.needs_data and _is_complete(constraint)
    }
    # If the empty set satisfies all hard inequalities, nothing contradicts.
    correlations_only = all(constraint.kind in _OF_CORRELATIONS for constraint in others.values())
    empty_set_holds = correlations_only and (system.b[np.isinf(system.rho)] >= 0).all()
    if not empty_set_holds and (data is not None or problems.found):
        if data is not None and not (correlations_only and data.n_features > _MOST_CORRELATED):
            used = dict(sorted({**used, **others}.items()))
            system = resolve(used.values(), feature_names, blocks, data) if others else system
        constant = np.zeros(len(feature_names), dtype=bool) if data is None else data.constant
        _report_contradictions(system, list(used), constant, problems)
    return system if len(used) == len(constraints) else None


def _is_complete(constraint: Constraint) -> bool:
    """Tell whether a constraint has all required arguments; one that was wrong is not there."""
    return dict(constraint.arguments).keys() >= set(KINDS[constraint.kind].required)


def _of_certain_width(
    constraints: Mapping[int, Constraint], n_features: range, problems: Problems
) -> dict[int, Constraint]:
    """Return those without one number per feature; of the others, those with too many or too few are reported."""
    certain = {}
    for position, constraint in constraints.items():
        given = dict(constraint.arguments)
        argument = "A" if "A" in given else "costs"
        values = given.get(argument)
        if values is None or _is_pairs(values) or given.get("blocks") is not None:
            certain[position] = constraint
            continue
        width = values.shape[1] if isinstance(values, FrozenMatrix) else len(values)
        if width not in n_features:
            most = n_features[-1]
            bound = f"at most {most}" if width > most else f"at least {n_features[0]}"
            path: Path = ("constraints", position, constraint.kind, argument)
            problems(path, f"must have one number per feature, {bound}; got {width}.")
    return certain


def _report_contradictions(
    system: ConstraintSystem, positions: Sequence[int], constant: Mask, problems: Problems
) -> None:
    """Report hard constraints that contradict each other; `positions` are those of the constraints in the study.

    Without the last of those that contradict each other, the next contradiction shows.
    """
    # No feature is worth anything: the first set that keeps the hard inequalities is as good as any other.
    hard = system.take(np.flatnonzero(np.isinf(system.rho)))
    try:
        as_optimizer("exact", _SECONDS).maximize(Utility(np.zeros(len(constant)), hard, 1.0, ~constant))
    except OptimizationError:
        pass  # not in this time; the decision may have more
    except InfeasibleError as error:
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
        rest = hard.take(np.flatnonzero(hard.owner != order[-1]))
        _report_contradictions(rest, positions, constant, problems)


def _fitting(
    constraints: Mapping[int, Constraint], feature_names: Sequence[str], blocks: Blocks | None, problems: Problems
) -> tuple[dict[int, Constraint], ConstraintSystem]:
    """Return those constraints that fit, and their system; the others are reported."""
    fitting = {position: constraint for position, constraint in constraints.items() if _is_complete(constraint)}
    for position in constraints.keys() - fitting.keys():  # what it has may be wrong for the features, too
        given, kind = arguments_of(constraints[position]), KINDS[constraints[position].kind]
        absent = set(kind.required) - given.keys()
        try:
            resolve(kind.build(**given, **{name: kind.examples[name] for name in absent}), feature_names, blocks)
        except ConstraintError as error:
            if error.argument not in absent:
                _report_misfit(error, constraints[position], position, blocks, problems)
    refuse = partial(_report_misfit, blocks=blocks, problems=problems)
    return fitting, _resolved(fitting, feature_names, blocks, refuse)


def _resolved(
    constraints: dict[int, Constraint],
    feature_names: Sequence[str],
    blocks: Blocks | None,
    refuse: Callable[[ConstraintError, Constraint, int], None],
) -> ConstraintSystem:
    """Return the system of constraints; those that do not fit are taken out of them, and refused."""
    while True:
        try:
            return resolve(constraints.values(), feature_names, blocks)
        except ConstraintError as error:
            position = list(constraints)[error.position or 0]
            refuse(error, constraints.pop(position), position)


def _report_misfit(
    error: ConstraintError, constraint: Constraint, position: int, blocks: Blocks | None, problems: Problems
) -> None:
    path: Path = ("constraints", position, constraint.kind)
    if error.argument is not None and dict(constraint.arguments).get(error.argument) is not None:
        path = (*path, error.argument)
    none = error.argument == "blocks" and blocks is None
    if not none or problems.is_sound("blocks"):
        problems(path, "is about blocks, but the study has none; add the key blocks." if none else error.rule)


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
    kind, known = constraint.kind, KINDS[constraint.kind].parameters
    first = next(iter(known))
    stored = dict(constraint.arguments)
    shown = {
        name: _plain_argument(kind, name, value)
        for name, value in arguments_of(constraint).items()
        if stored[name] is not None and (name == first or stored[name] != known[name].default)
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
