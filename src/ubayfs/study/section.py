"""What a section of a study file is: keys with their meaning, check, default and option on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

from .._arguments import nearest
from .diagnostics import Path, Problems, Report, below, known_only, refuse, reported
from .yaml_io import plain

S = TypeVar("S", bound="Section")


@dataclass(frozen=True)
class Option:
    """The option of the command line that sets a key."""

    flag: str
    metavar: str = "NAME"  # what the value is, in the help
    parse: Callable[[str], Any] = str  # the key's own check comes after it
    action: str = ""  # "append" or "extend" if it may be repeated, with a single value or with several
    shared: bool = False  # with an earlier section: it sets both keys


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


def setting(default: Any, check: Callable[..., Any], help: str, **more: Any) -> Any:
    """Return the field of a key."""
    return field(default=default, metadata={"key": Key(check, help, **more)})


class Section:
    """A section of a study; every field is checked when the section is made."""

    key: ClassVar[str]
    title: ClassVar[str]  # of its options on the command line
    required: ClassVar[str] = ""  # the key that must be there

    def __post_init__(self) -> None:
        for name in self.keys():
            checked = self._checked(name, getattr(self, name), below(refuse, self.key, name))
            object.__setattr__(self, name, checked)
        self.check_together(vars(self), below(refuse, self.key))

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
        if not wrong:
            with reported(report):
                return key.check(name, value)
        return None

    @classmethod
    def check_together(cls, values: Mapping[str, Any], report: Report) -> None:
        """Report values that do not fit together."""

    @classmethod
    def read(cls: type[S], value: Any, problems: Problems) -> S:
        """Make a section from what a file holds; wrong keys are reported and have their defaults."""
        known = cls.keys()
        if not isinstance(value, Mapping):
            if value is not None:
                problems((cls.key,), f"must hold keys such as {', '.join(list(known)[:3])}; got {value!r}.")
            value = {}
        given = known_only(value, known, f"a key of {cls.key}", below(problems, cls.key))
        meant = {nearest(name, known) for name in value.keys() - given.keys()}
        for name in filter(None, meant):
            problems.wrong.add((cls.key, name))  # its value is not known
        given = {name: entry for name, entry in given.items() if entry is not None or known[name].nullable}
        if cls.required and value.get(cls.required) is None and problems.is_sound(cls.key, cls.required):
            problems((cls.key, cls.required), f"must be given; it is {known[cls.required].text}.")
        stand_in = {cls.required: "?"} if cls.required else {}
        return cls(**stand_in).changed(given, problems)

    def changed(self: S, values: Mapping[str, Any], problems: Problems) -> S:
        """Return the section with other values of some keys; wrong ones are reported, and stay as they are."""
        checked: dict[Any, Any] = {}
        for name, value in values.items():
            n_before = problems.n_reports
            entry = self._checked(name, value, below(problems, self.key, name))
            if entry is not None or problems.n_reports == n_before:
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
        if isinstance(value, str):
            return value
        return f"[{', '.join(value)}]" if isinstance(value, tuple) else json.dumps(plain(value))


def _wrong_entries(check: Callable[[Any], Any], value: Any) -> list[tuple[Path, str]]:
    """Return the position of each wrong entry of a list, if there are several entries, and what is wrong with it."""
    found: list[tuple[Path, str]] = []
    for position, entry in enumerate(value if isinstance(value, list | tuple) and len(value) > 1 else ()):
        with reported(lambda path, rule: found.append((path, rule)), (position,)):
            check([entry])
    return found
