"""What a section of a study file consists of: keys, checks of their values, and selectors, priors, optimizers by name.

Each check returns the value in its plainest form, as it is compared and written, or raises the rule that is broken.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from .._arguments import as_text, as_time, check_choice, check_int, check_real, nearest
from .._files import FIGURE_FORMATS, WithFiles
from .._problems import CountedReport, Path, Report, below, check_keys, collect_errors, raise_problem
from ..data.reading_rules import SurvivalColumns, as_target
from ..ensemble.collect import check_ensemble
from ..exceptions import InputError, repr_of
from ..optimize import OPTIMIZERS, as_optimizer
from ..priors import PRIORS, as_prior
from ..selectors import SELECTORS, as_selector
from .diagnostics import Problems
from .yaml_io import plain

S = TypeVar("S", bound="Section")


def paths(name: str, value: Any) -> str | dict[str, str]:
    """Return the path of a file, or the paths of several by the names of their blocks; empty: not known yet."""
    if isinstance(value, str) and not value:
        return ""
    if isinstance(value, Iterable) and not isinstance(value, str):
        entries = list(value)
        if not entries:
            raise InputError.of(name, "must name at least one file.", value)
        by_block = value if isinstance(value, Mapping) else {_stem(as_text(name, entry)): entry for entry in entries}
        if len(by_block) < len(entries):
            raise InputError.of(name, f"must map block names to files of the same name; got {repr_of(value)}.", value)
        return {as_text(name, block): as_text(name, entry) for block, entry in by_block.items()}
    return as_text(name, value)


def _stem(path: str) -> str:
    """Return the name of a file without folder and suffixes, also two of them."""
    return os.path.basename(path).split(".")[0] or path


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Return a list of texts."""
    if isinstance(value, str | int):
        value = [value]
    if value is not None and (not isinstance(value, Iterable) or isinstance(value, Mapping)):
        raise InputError.of(name, f"must be a list of texts; got {repr_of(value)}.", value)
    return tuple(as_text(name, entry) for entry in value or ())


def columns(name: str, value: Any) -> str | tuple[str, ...] | SurvivalColumns:
    """Return a column, several (a multi-label target), or those of time and event."""
    if isinstance(value, Mapping):
        return as_target(name, value)
    several = texts(name, value)
    if not several:
        rule = f"must name a column; got {repr_of(value)}. Leave it out for an unsupervised selection."
        raise InputError.of(name, rule, value)
    return as_target(name, several[0] if len(several) == 1 else several)


def figures(name: str, value: Any) -> tuple[str, ...]:
    """Return formats of figures."""
    return tuple(check_choice(name, entry, FIGURE_FORMATS) for entry in texts(name, value))


def sizes(name: str, value: Any) -> tuple[int, ...]:
    """Return sizes of sets, each once, ascending."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        value = [value]
    return tuple(sorted({check_int(name, entry, low=1) for entry in value}))


def budgets(name: str, value: Any) -> tuple[float, ...]:
    """Return costs, each once, ascending."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        value = [value]
    return tuple(sorted({check_real(name, entry, low=0.0, high_open=True) for entry in value}))


def times(value: Any, report: Report) -> dict[str, str] | None:
    """Return times by the features that they are about."""
    if not isinstance(value, Mapping):
        report((), f"must map features to the times of their last change; got {repr_of(value)}.")
        return None
    checked = {}
    for name, entry in value.items():
        with collect_errors(report, (name,)):
            checked[as_text("feature", name)] = as_time(str(name), entry)
    return checked or None


def one_of(choices: Iterable[str]) -> Callable[[str, Any], str]:
    """Return the check of a choice among words; these stay readable in it, as `keywords["choices"]`."""
    return partial(check_choice, choices=tuple(choices))


def ensemble_argument(name: str, value: Any) -> Any:
    """Return an argument of :func:`ubayfs.collect_evidence`."""
    check_ensemble(**{name: value})
    return value


# -- selectors, priors and optimizers ----------------------------------------------------------------------------------


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
        """Return a choice, or several, in the plainest form: the name if all settings are defaults, else Named.

        It is given as text, mapping with the key name, Named or object; one that is not built-in stays as it is. None
        if it is wrong.
        """
        if not self.several or not isinstance(value, list | tuple):
            return self._read_single(value, report)
        if not value:
            with collect_errors(report):
                self.accept(value)
        choices = tuple(self._read_single(entry, below(report, position)) for position, entry in enumerate(value))
        if any(choice is None for choice in choices):
            return None
        return choices[0] if len(choices) == 1 else choices or None

    def _read_single(self, value: Any, report: Report) -> Any:
        if isinstance(value, Named):
            value = {"name": value.name, **{key: thawed(entry) for key, entry in value.settings}}
        built_in = next((name for name, kind in self.types.items() if type(value) is kind), None)
        if built_in is not None:
            return _plainest(built_in, value)
        if isinstance(value, Mapping):
            return self._configured(value, report)
        with collect_errors(report):
            if isinstance(value, str | int | float | list):  # what a file can hold
                check_choice(self.argument, value, self.types)
            else:
                self.accept(value)
            return value
        return None

    def _configured(self, value: Mapping[Any, Any], report: Report) -> Any:
        """Build what {name: ..., settings} describes; each wrong setting is reported."""
        if "name" not in value:
            names = ", ".join(map(repr, sorted(self.types)))
            report((), f"needs the key 'name', one of {names}; got {repr_of(dict(value))}.")
            return None
        name = value["name"]
        try:
            kind = self.types[check_choice(self.argument, name, self.types)]
        except InputError as error:
            report(("name",), error.rule)
            return None
        setting_names = [field.name for field in fields(kind) if field.init]
        entries = {key: entry for key, entry in value.items() if key != "name"}
        settings = check_keys(entries, setting_names, f"a setting of {name}", report)
        if "set_weights" in settings:
            settings["set_weights"] = _read_set_weights(settings["set_weights"], below(report, "set_weights"))
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
        return self.types[choice.name](**{key: thawed(value) for key, value in choice.settings})


def _read_set_weights(value: Any, report: Report) -> Any:
    """Return weights of sets, which a file lists as {set: [a, b], weight: 3}, as a mapping."""
    if not isinstance(value, list) or not all(isinstance(entry, Mapping) for entry in value):
        return value
    weights: dict[str | tuple[str | int, ...], Any] = {}
    for position, entry in enumerate(value):
        if set(entry) != {"set", "weight"}:
            report((position,), f"must hold the keys 'set' and 'weight'; got {repr_of(dict(entry))}.")
            continue
        members = entry["set"]
        members = tuple(members) if isinstance(members, list) else members
        if not isinstance(members, str | tuple) or not all(isinstance(member, str | int) for member in members):
            report((position, "set"), f"must list features, or name a block; got {repr_of(entry['set'])}.")
        elif members in weights:
            report((position, "set"), f"names {entry['set']!r} a second time; remove one of them.")
        else:
            with collect_errors(report, (position, "weight")):
                weights[members] = check_int("weight", entry["weight"], low=0)
    return weights


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


def thawed(value: Any) -> Any:
    """Return a setting as its component takes it; a tuple of pairs was a mapping."""
    if not isinstance(value, tuple):
        return value
    is_pairs = bool(value) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value)
    return dict(value) if is_pairs else list(value)


def _plain_setting(value: Any) -> Any:
    value = thawed(value)
    if not isinstance(value, dict):
        return value
    return [{"set": list(key) if isinstance(key, tuple) else key, "weight": weight} for key, weight in value.items()]


# -- keys and sections ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """The option of the command line that sets a key."""

    flag: str
    metavar: str = "NAME"  # what the value is, in the help
    parse: Callable[[str], Any] = str  # the key's own check comes after it
    action: str = ""  # "append" or "extend" if it may be repeated, with a single value or with several
    shared: bool = False  # with an earlier section: it sets both keys
    form: str = ""  # of its value, where it is not that of the file
    constant: Any = True  # what an option without a value, whose `parse` is bool, sets


@dataclass(frozen=True)
class Key:
    """A key of a section."""

    check: Callable[..., Any]  # see `in_parts`
    help: str  # what it means, in a few words without a full stop; values in backticks
    details: str = ""  # what else the documentation says of it
    default_text: str = ""  # what the default means, where the value does not say it
    option: Option | None = None
    in_parts: bool = False  # the check takes (value, report), and returns what is right of it; else (name, value)
    nullable: bool = False  # null is a value; else a key without a value takes the default
    always: bool = False  # written even when it is the default: what a reader asks first
    argument: str = ""  # of collect_evidence() or decide(), if it is not called like the key

    @property
    def text(self) -> str:
        """The help without marks for a terminal or a comment."""
        return self.help.replace("`", "")


def setting(default: Any, check: Callable[..., Any], help: str, kw_only: bool = False, **more: Any) -> Any:
    """Return the field of a key; one that joins others later is `kw_only`, so that their positions stay."""
    return field(default=default, metadata={"key": Key(check, help, **more)}, kw_only=kw_only)


class Section(WithFiles):
    """A section of a study; every field is checked when the section is made."""

    key: ClassVar[str]
    title: ClassVar[str]  # of its options on the command line
    required: ClassVar[str] = ""  # the key that must be there

    def __post_init__(self) -> None:
        for name in self.keys():
            checked = self._checked(name, getattr(self, name), below(raise_problem, self.key, name))
            object.__setattr__(self, name, checked)
        self.check_together(vars(self), below(raise_problem, self.key))

    @classmethod
    def keys(cls) -> dict[str, Key]:
        """Return the keys by name, in their order."""
        return {entry.name: entry.metadata["key"] for entry in fields(cls)}  # type: ignore[arg-type]

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the default of each key."""
        return {entry.name: entry.default for entry in fields(cls)}  # type: ignore[arg-type]

    @classmethod
    def _checked(cls, name: str, value: Any, report: Report) -> Any:
        """Return a value in its plainest form; None after a problem was reported."""
        key = cls.keys()[name]
        if value is None and (key.nullable or cls.defaults()[name] is None):
            return None
        if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a number of numpy
            value = value.item()
        if key.in_parts:
            return key.check(value, report)
        wrong = _wrong_entries(partial(key.check, name), value) if isinstance(cls.defaults()[name], tuple) else []
        for path, rule in wrong:
            report(path, rule)
        with collect_errors(report):
            return None if wrong else key.check(name, value)
        return None

    @classmethod
    def check_together(cls, values: Mapping[str, Any], report: Report) -> None:
        """Report values that do not fit together."""

    @classmethod
    def read(cls: type[S], value: Any, problems: Problems) -> S:
        """Make a section from what a file holds; wrong keys are reported and have their defaults."""
        keys = cls.keys()
        if not isinstance(value, Mapping):
            if value is not None:
                problems((cls.key,), f"must hold keys such as {', '.join(list(keys)[:3])}; got {repr_of(value)}.")
            value = {}
        entries = check_keys(value, keys, f"a key of {cls.key}", below(problems, cls.key))
        misspelled = {nearest(name, keys) for name in value.keys() - entries.keys()}
        entries = {name: entry for name, entry in entries.items() if entry is not None or keys[name].nullable}
        if cls.required and value.get(cls.required) is None and cls.required not in misspelled:
            problems((cls.key, cls.required), f"must be given; it is {keys[cls.required].text}.")
        stand_in = {cls.required: "?"} if cls.required else {}
        return cls(**stand_in).changed(entries, problems)

    def changed(self: S, values: Mapping[str, Any], problems: Problems) -> S:
        """Return the section with other values of some keys; wrong ones are reported, and stay as they are."""
        checked: dict[Any, Any] = {}
        for name, value in values.items():
            counted = CountedReport(below(problems, self.key, name))
            entry = self._checked(name, value, counted)
            if entry is not None or not counted.n_problems:
                checked[name] = entry

        def report(path: Path, message: str) -> None:
            problems((self.key, *path), message)
            checked[path[0]] = self.defaults()[str(path[0])]

        self.check_together({**vars(self), **checked}, report)
        return replace(self, **checked)  # type: ignore[type-var]

    def plain(self) -> dict[str, Any]:
        """Return the section as it is written to a file: what differs from the defaults, and what readers ask first."""
        defaults = self.defaults()
        return {
            name: plain(value, f"{self.key}.{name}")
            for name, key in self.keys().items()
            if (value := getattr(self, name)) != defaults[name] or key.always
        }

    def arguments(self) -> dict[str, Any]:
        """Return the values by the names of the arguments of the workflow."""
        return {key.argument or name: getattr(self, name) for name, key in self.keys().items()}

    @classmethod
    def default_text(cls, name: str) -> str:
        """Return the default of a key as a file would have it, or what it means."""
        value = cls.keys()[name].default_text or cls.defaults()[name]
        if isinstance(value, tuple):
            return f"[{', '.join(value)}]"
        return value if isinstance(value, str) else json.dumps(plain(value))


def _wrong_entries(check: Callable[[Any], Any], value: Any) -> list[tuple[Path, str]]:
    """Return the position of each wrong entry of a list, if there are several entries, and what is wrong with it."""
    wrong: list[tuple[Path, str]] = []
    for position, entry in enumerate(value if isinstance(value, list | tuple) and len(value) > 1 else ()):
        with collect_errors(lambda path, rule: wrong.append((path, rule)), (position,)):
            check([entry])
    return wrong
