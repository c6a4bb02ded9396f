"""Section: a part of a study whose fields are its keys, each with its check, meaning, default and option."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any, ClassVar, TypeVar

from .checks import Check
from .diagnostics import Problems, Report, below, refuse
from .yaml_io import plain

S = TypeVar("S", bound="Section")


@dataclass(frozen=True)
class Option:
    """The option of the command line that sets a key.

    Attributes
    ----------
    flag : str
    metavar : str
        What the value is, in the help.
    parse : callable
        Text -> value; the key's own check comes after it.
    action : {"", "append", "extend"}
        Whether the option may be repeated, with a single value or with several.
    shared : bool
        Whether an earlier section has the same option: it sets both keys.
    """

    flag: str
    metavar: str = "NAME"
    parse: Callable[[str], Any] = str
    action: str = ""
    shared: bool = False


@dataclass(frozen=True)
class Key:
    """A key of a section.

    Attributes
    ----------
    check : Check
    help : str
        What it means, in a few words without a full stop; values in backticks.
    details : str
        What else the documentation says of it.
    default_text : str
        What the default means, where the value does not say it.
    option : Option or None
    read : Check or None
        The check of values from a file, if it is stricter.
    partial : bool
        Whether the check returns what is right of a value that is wrong in part, so that the rest is checked too.
    nullable : bool
        Whether null is a value; else a key without a value takes the default.
    always : bool
        Whether it is written even when it is the default: what a reader asks first.
    argument : str
        The argument of :func:`ubayfs.collect_evidence` or :func:`ubayfs.decide`; default: called like the key.
    """

    check: Check
    help: str
    details: str = ""
    default_text: str = ""
    option: Option | None = None
    read: Check | None = None
    partial: bool = False
    nullable: bool = False
    always: bool = False
    argument: str = ""

    @property
    def text(self) -> str:
        """The help without marks for a terminal or a comment."""
        return self.help.replace("`", "")


def setting(default: Any, check: Check, help: str, **more: Any) -> Any:
    """Return the field of a key; the default may be a function that makes it."""
    described = {"key": Key(check, help, **more)}
    if callable(default):
        return field(default_factory=default, metadata=described)
    return field(default=default, metadata=described)


def _default(entry: Field[Any]) -> Any:
    return entry.default if entry.default_factory is MISSING else entry.default_factory()


class Section:
    """A section of a study; every field is checked when the section is made."""

    key: ClassVar[str]
    title: ClassVar[str]  # of its options on the command line
    required: ClassVar[str] = ""  # the key that must be there

    def __post_init__(self) -> None:
        for name, key in self.keys().items():
            value = getattr(self, name)
            if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a number of numpy
                value = value.item()
            object.__setattr__(self, name, key.check(name, value, below(refuse, self.key, name)))
        self.check_together(vars(self), below(refuse, self.key))

    @classmethod
    def check_together(cls, values: Mapping[str, Any], report: Report) -> None:
        """Report values that do not fit together."""

    @classmethod
    def keys(cls) -> dict[str, Key]:
        """Return the keys by name, in their order."""
        return {entry.name: entry.metadata["key"] for entry in fields(cls)}  # type: ignore[arg-type]

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the default of each key."""
        return {entry.name: _default(entry) for entry in fields(cls)}  # type: ignore[arg-type]

    @classmethod
    def read(cls: type[S], value: Any, problems: Problems) -> S:
        """Make a section from what a file holds; wrong keys are reported and have their defaults."""
        from .._arguments import did_you_mean

        known = cls.keys()
        if not isinstance(value, Mapping):
            if value is not None:
                problems((cls.key,), f"must hold keys such as {', '.join(list(known)[:3])}; got {value!r}.")
            value = {}
        given = {}
        for name, entry in value.items():
            if name not in known:
                hint = did_you_mean(name, known) or f" Keys of {cls.key}: {', '.join(known)}."
                problems((cls.key, name), f"is not a key of {cls.key}; got {name!r}.{hint}")
                problems.wrong.add((cls.key,))  # whatever key was meant, its value is not known
            elif entry is not None or known[name].nullable:
                given[name] = entry
        if cls.required and value.get(cls.required) is None:
            problems((cls.key, cls.required), f"must be given; it is {known[cls.required].text}.")
        stand_in = {cls.required: "?"} if cls.required else {}
        return cls(**stand_in).changed(given, problems, from_file=True)

    def changed(self: S, values: Mapping[str, Any], problems: Problems, from_file: bool = False) -> S:
        """Return the section with other values of some keys; wrong ones are reported, and stay as they are."""
        known = self.keys()
        checked = {}
        for name, value in values.items():
            key, n_before = known[name], problems.n_reports
            check = key.read if from_file and key.read is not None else key.check
            entry = check(name, value, below(problems, self.key, name))
            if key.partial or problems.n_reports == n_before:
                checked[name] = entry
        n_before = problems.n_reports
        self.check_together({**vars(self), **checked}, below(problems, self.key))
        return self if problems.n_reports > n_before else replace(self, **checked)  # type: ignore[type-var]

    def plain(self) -> dict[str, Any]:
        """Return the section as it is written to a file: what differs from the defaults, and what readers ask first.

        Raises
        ------
        StudyError
            If a value is an object that a file cannot hold.
        """
        shown, defaults = {}, self.defaults()
        for name, key in self.keys().items():
            value = getattr(self, name)
            if key.always or value != defaults[name]:
                shown[name] = plain(value, f"{self.key}.{name}")
        return shown

    def arguments(self) -> dict[str, Any]:
        """Return the values by the names of the arguments of the workflow."""
        return {key.argument or name: getattr(self, name) for name, key in self.keys().items()}

    @classmethod
    def key_table(cls) -> str:
        """Return the keys as a table of Markdown, as `docs/study.md` has it."""
        defaults = cls.defaults()
        rows = ["| key | meaning | default |", "| --- | --- | --- |"]
        for name, key in cls.keys().items():
            quote = "`" if not key.default_text and isinstance(defaults[name], str | tuple) else ""
            meaning = "; ".join(filter(None, (key.help, key.details)))
            rows.append(f"| `{name}` | {meaning} | {quote}{cls.default_text(name)}{quote} |")
        return "\n".join(rows)

    @classmethod
    def default_text(cls, name: str) -> str:
        """Return the default of a key as a file would have it, or what it means."""
        text = cls.keys()[name].default_text
        if text:
            return text
        value = cls.defaults()[name]
        if isinstance(value, str):
            return value
        return f"[{', '.join(value)}]" if isinstance(value, tuple) else json.dumps(plain(value))
