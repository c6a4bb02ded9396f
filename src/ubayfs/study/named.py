"""Selectors, priors and optimizers by name, with settings, as values that can be compared and written to a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .._arguments import check_choice, did_you_mean
from ..exceptions import InputError, Problem, StudyError
from ..optimize import OPTIMIZERS, as_optimizer
from ..priors import PRIORS, as_prior
from ..selectors import SELECTORS, as_selector
from .problems import Report, below, reported, without_name


@dataclass(frozen=True)
class Named:
    """Something built-in by its name and those settings that differ from the defaults.

    Attributes
    ----------
    name : str
    settings : tuple of (str, value)
        Sequences are tuples, mappings tuples of pairs.
    """

    name: str
    settings: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Family:
    """What can be named: all selectors, all priors or all optimizers.

    Attributes
    ----------
    argument : str
        What messages call it.
    types : mapping of str to class
    accept : callable
        Raises for what is none of the family.
    """

    argument: str
    types: Mapping[str, type[Any]]
    accept: Callable[[Any], Any]

    def name_of(self, value: Any) -> str | None:
        """Return the name of the type of a configured object; None when it is not built-in."""
        return next((name for name, kind in self.types.items() if type(value) is kind), None)


SELECTOR = Family("selector", {name: type(selector) for name, selector in SELECTORS.items()}, as_selector)
PRIOR = Family("prior", PRIORS, as_prior)
OPTIMIZER = Family("optimizer", OPTIMIZERS, as_optimizer)


def as_named(family: Family, value: Any, report: Report) -> Any:
    """Return a choice in its plainest form.

    Parameters
    ----------
    family : Family
    value : str, mapping with the key name, Named, or object
    report : Report

    Returns
    -------
    choice : str, Named or object
        The name if all settings are defaults; an object that is not built-in stays what it is.
    """
    if isinstance(value, Named):
        value = {"name": value.name, **{key: _thawed(entry) for key, entry in value.settings}}
    known = family.name_of(value)
    if known is not None:
        return _plainest(known, value)
    if isinstance(value, Mapping):
        return _configured(family, value, report)
    with reported(report, (), family.argument):
        if isinstance(value, str):
            check_choice(family.argument, value, family.types)
        else:
            family.accept(value)
    return value


def as_selectors(value: Any, report: Report) -> Any:
    """Return one selector or a tuple of them, each in its plainest form."""
    if not isinstance(value, list | tuple):
        return as_named(SELECTOR, value, report)
    if not value:
        with reported(report, (), "selector"):
            as_selector(value)
    chosen = tuple(as_named(SELECTOR, one, below(report, position)) for position, one in enumerate(value))
    return chosen[0] if len(chosen) == 1 else chosen


def build(family: Family, choice: Any) -> Any:
    """Return what a choice stands for, as the workflow takes it."""
    if isinstance(choice, tuple):
        return [build(family, one) for one in choice]
    if not isinstance(choice, Named):
        return choice
    return family.types[choice.name](**{key: _thawed(value) for key, value in choice.settings})


def plain_named(family: Family, choice: Any) -> Any:
    """Return a choice as it is written to a file.

    Raises
    ------
    StudyError
        If it is an object that a file cannot hold.
    """
    if isinstance(choice, tuple):
        return [plain_named(family, one) for one in choice]
    if isinstance(choice, str):
        return choice
    if isinstance(choice, Named):
        return {"name": choice.name, **{key: _plain_setting(value) for key, value in choice.settings}}
    known = ", ".join(map(repr, sorted(family.types)))
    problem = (
        f"{family.argument} is {choice!r}, which cannot be written to a study file. Use one of {known} with settings, "
        "or keep this study in Python."
    )
    raise StudyError(problem, (Problem(problem),))


def _configured(family: Family, value: Mapping[Any, Any], report: Report) -> Any:
    """Build what {name: ..., settings} asks for; each wrong setting is reported."""
    if "name" not in value:
        report((), f"needs the key 'name', one of {', '.join(map(repr, sorted(family.types)))}; got {dict(value)!r}.")
        return None
    name = None
    with reported(report, ("name",), family.argument):
        name = check_choice(family.argument, value["name"], family.types)
    if name is None:
        return None
    known = [field.name for field in fields(family.types[name]) if field.init]
    settings: dict[str, Any] = {}
    for key, entry in value.items():
        if key == "name":
            continue
        if key not in known:
            listed = f" Its settings: {', '.join(known)}." if known else " It has no settings."
            report((key,), f"is not a setting of {name}.{did_you_mean(key, known) or listed}")
        else:
            settings[key] = _read_sets(entry, below(report, key)) if key == "set_weights" else entry
    return _built(family, name, settings, report)


def _built(family: Family, name: str, settings: dict[str, Any], report: Report) -> Any:
    # Without a wrong setting the next one shows, until all are told.
    while True:
        try:
            return _plainest(name, family.types[name](**settings))
        except InputError as error:
            message = str(error)
        wrong = next((key for key in settings if message.startswith(f"{key} ")), None)
        report(() if wrong is None else (wrong,), message if wrong is None else without_name(message, wrong))
        if wrong is None:
            return None
        del settings[wrong]


def _plainest(name: str, configured: Any) -> str | Named:
    pairs = [(field.name, _frozen(getattr(configured, field.name)), field.default) for field in fields(configured)]
    settings = tuple((key, value) for key, value, default in pairs if value != default and value != ())
    return Named(name, settings) if settings else name


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple((_frozen(key), _frozen(entry)) for key, entry in value.items())
    if isinstance(value, frozenset):
        return tuple(sorted(value, key=lambda entry: (isinstance(entry, str), entry)))
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(_frozen(entry) for entry in value)
    return value.item() if isinstance(value, np.generic) else value


def _is_pairs(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(one, tuple) and len(one) == 2 for one in value)


def _thawed(value: Any) -> Any:
    if _is_pairs(value):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def _plain_setting(value: Any) -> Any:
    if _is_pairs(value):
        return [{"set": list(key) if isinstance(key, tuple) else key, "weight": weight} for key, weight in value]
    return _thawed(value)


def _read_sets(value: Any, report: Report) -> Any:
    """Return weights of sets, which a file lists as {set: [a, b], weight: 3}, as a mapping."""
    if not isinstance(value, list) or not all(isinstance(entry, Mapping) for entry in value):
        return value
    found: dict[str | tuple[str | int, ...], Any] = {}
    for position, entry in enumerate(value):
        if set(entry) != {"set", "weight"}:
            report((position,), f"must hold the keys 'set' and 'weight'; got {dict(entry)!r}.")
            continue
        members = entry["set"]
        members = tuple(members) if isinstance(members, list) else members
        if not isinstance(members, str | tuple) or not all(isinstance(one, str | int) for one in members):
            report((position, "set"), f"must list features, or name a block; got {entry['set']!r}.")
        elif members in found:
            report((position, "set"), f"names {entry['set']!r} a second time; keep one of them.")
        else:
            found[members] = entry["weight"]
    return found
