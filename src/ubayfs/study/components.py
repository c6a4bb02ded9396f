"""Values of keys as they can be compared and written to a file: texts, and selectors, priors and optimizers by name.

Each check returns the value in its plainest form, or raises the rule that is broken.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .._arguments import check_choice, check_int
from ..ensemble.collect import check_ensemble
from ..exceptions import InputError
from ..optimize import OPTIMIZERS, as_optimizer
from ..priors import PRIORS, as_prior
from ..selectors import SELECTORS, as_selector
from .diagnostics import Report, below, known_only, reported

FIGURE_FORMATS = ("png", "svg", "pdf")


def text(name: str, value: Any) -> str:
    """Return a text; a column called 2 is read from the file as a number."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value:
        raise InputError.of(name, f"must be a text; got {value!r}.", value)
    return value


def paths(name: str, value: Any) -> str | dict[str, str]:
    """Return the path of a file, or the paths of several by the names of their blocks."""
    if isinstance(value, Mapping) or (isinstance(value, Iterable) and not isinstance(value, str)):
        if not value:
            raise InputError.of(name, "must name at least one file.", value)
        given = value if isinstance(value, Mapping) else {stem(text(name, entry)): entry for entry in value}
        if len(given) < len(list(value)):
            raise InputError.of(name, f"must map names to files where these are called alike; got {value!r}.", value)
        return {text(name, block): text(name, entry) for block, entry in given.items()}
    return text(name, value)


def stem(path: str) -> str:
    """Return the name of a file without folder and suffixes.

    >>> stem("../data/mirna.txt.gz")
    'mirna'
    """
    return os.path.basename(path).split(".")[0] or path


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Return a list of texts."""
    if isinstance(value, str | int):
        value = [value]
    if value is not None and (not isinstance(value, Iterable) or isinstance(value, Mapping)):
        raise InputError.of(name, f"must be a list of texts; got {value!r}.", value)
    return tuple(text(name, entry) for entry in value or ())


def columns(name: str, value: Any) -> str | tuple[str, ...]:
    """Return a column, or several (a multi-label target)."""
    several = texts(name, value)
    if not several:
        rule = f"must name a column; got {value!r}. Leave it out for an unsupervised selection."
        raise InputError.of(name, rule, value)
    return several[0] if len(several) == 1 else several


def figures(name: str, value: Any) -> tuple[str, ...]:
    """Return formats of figures."""
    return tuple(check_choice(name, entry, FIGURE_FORMATS) for entry in texts(name, value))


def sizes(name: str, value: Any) -> tuple[int, ...]:
    """Return sizes of sets, each once, ascending."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        value = [value]
    return tuple(sorted({check_int(name, entry, low=1) for entry in value}))


def yes_or_no(name: str, value: Any) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise InputError.of(name, f"must be true or false; got {value!r}.", value)
    return value


def ensemble_argument(name: str, value: Any) -> Any:
    """Return an argument of :func:`ubayfs.collect_evidence`."""
    check_ensemble(**{name: value})
    return value


# -- selectors, priors and optimizers ----------------------------------------------------------------------------------


def unknown(*arguments: Any) -> Any:
    """Stand for a selector that is wrong, and reported: one that can do any task."""
    raise NotImplementedError


@dataclass(frozen=True)
class Named:
    """A built-in component by its name and those settings that differ from the defaults.

    Attributes
    ----------
    name : str
    settings : tuple of (str, value)
        Sequences are tuples, mappings tuples of pairs.
    """

    name: str
    settings: tuple[tuple[str, Any], ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return the component as it is written to a file."""
        return {"name": self.name, **{key: _plain_setting(value) for key, value in self.settings}}


@dataclass(frozen=True)
class Family:
    """All selectors, all priors or all optimizers."""

    argument: str  # what messages call them
    types: Mapping[str, type[Any]]
    accept: Callable[..., Any]  # raises for what does not belong to the family
    several: bool = False  # whether a list of them takes turns

    def read(self, value: Any, report: Report) -> Any:
        """Return a choice in its plainest form.

        Parameters
        ----------
        value : str, mapping with the key name, Named, object, or a list of these if there may be several
        report : Report

        Returns
        -------
        choice : str, Named, object or tuple of these
            The name if all settings are defaults; an object that is not built-in stays as it is. None if it is wrong;
            in a list `unknown` stands for it, so that the others are checked at their places.
        """
        if not self.several or not isinstance(value, list | tuple):
            return self._read_single(value, report)
        if not value:
            with reported(report):
                self.accept(value)
        choices = tuple(self._read_single(entry, below(report, position)) for position, entry in enumerate(value))
        if len(choices) == 1:
            return choices[0]
        return tuple(unknown if choice is None else choice for choice in choices) or None

    def _read_single(self, value: Any, report: Report) -> Any:
        if isinstance(value, Named):
            value = {"name": value.name, **{key: _thawed(entry) for key, entry in value.settings}}
        known = next((name for name, kind in self.types.items() if type(value) is kind), None)
        if known is not None:
            return _plainest(known, value)
        if isinstance(value, Mapping):
            return self._configured(value, report)
        with reported(report):
            if isinstance(value, str):
                check_choice(self.argument, value, self.types)
            else:
                self.accept(value)
            return value
        return None

    def _configured(self, value: Mapping[Any, Any], report: Report) -> Any:
        """Build what {name: ..., settings} describes; each wrong setting is reported."""
        if "name" not in value:
            report((), f"needs the key 'name', one of {', '.join(map(repr, sorted(self.types)))}; got {dict(value)!r}.")
            return None
        name = value["name"]
        try:
            kind = self.types[check_choice(self.argument, name, self.types)]
        except InputError as error:
            report(("name",), error.rule)
            return None
        known = [field.name for field in fields(kind) if field.init]
        given = {key: entry for key, entry in value.items() if key != "name"}
        settings = known_only(given, known, f"a setting of {name}", report)
        if "set_weights" in settings:
            settings["set_weights"] = _read_sets(settings["set_weights"], below(report, "set_weights"))
        return self._made(name, settings, report)

    def _made(self, name: str, settings: Mapping[str, Any], report: Report) -> Any:
        """Return a choice; without a wrong setting, which is reported, the next one shows."""
        try:
            return _plainest(name, self.types[name](**settings))
        except InputError as error:
            wrong = error.argument
            report(() if wrong is None else (wrong,), error.rule)
        others = {key: value for key, value in settings.items() if key != wrong}
        return self._made(name, others, report) if wrong in settings else None

    def build(self, choice: Any) -> Any:
        """Return what a choice means, as the workflow takes it."""
        if isinstance(choice, tuple):
            return [self.build(entry) for entry in choice]
        if not isinstance(choice, Named):
            return choice
        return self.types[choice.name](**{key: _thawed(value) for key, value in choice.settings})


FAMILIES = {
    "selector": Family(
        "selector", {name: type(selector) for name, selector in SELECTORS.items()}, as_selector, several=True
    ),
    "prior": Family("prior", PRIORS, as_prior),
    "optimizer": Family("optimizer", OPTIMIZERS, as_optimizer),
}


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
    return (
        isinstance(value, tuple) and bool(value) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value)
    )


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
        if not isinstance(members, str | tuple) or not all(isinstance(member, str | int) for member in members):
            report((position, "set"), f"must list features, or name a block; got {entry['set']!r}.")
        elif members in found:
            report((position, "set"), f"names {entry['set']!r} a second time; remove one of them.")
        else:
            found[members] = entry["weight"]
    return found
