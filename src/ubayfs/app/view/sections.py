"""Keys of a section of the study file as fields: labels, help, choices and defaults are those of the schema."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from ...exceptions import InputError
from ...knowledge.patterns import Names
from ...study.diagnostics import Problems
from ...study.schema import SECTIONS
from ...study.yaml_io import parse_document
from ..sessions import ExpertSession
from .fields import Field, choice, entry
from .live import on
from .names import suggest, unknown_names
from .parts import help_text

# What people call a key; else its name with blanks.
_LABELS = {
    "id": "Column of the ids", "features_in": "Features are in", "n_models": "Models", "n_jobs": "Processes",
    "train_size": "Part of the samples", "n_features_per_model": "Features per model",
    "min_votes": "Votes that a selected feature needs",
    "differ_by": "Features that other sets lack, at least",
    "max_missing": "Largest share of missing values", "keep": "Samples of several files", "sheet": "Excel sheet",
    "samples_sheet": "Excel sheet that describes the samples",
    "ignore": "Columns that are not features", "features": "Feature names that are dates", "missing": "Missing values",
    "duplicates": "Names that occur several times", "below_detection": "Values below detection",
    "groups": "Groups of samples", "adjust_for": "Covariates to adjust for",
    "measured": "Features measured anyway", "ordered": "Ordered scales",
}  # fmt: skip

_SURVIVAL = re.compile(r"time:\s*([^,]*[^,\s])\s*,\s*event:\s*([^,]*[^,\s])")

# What a choice means, where its name alone does not tell it.
_MEANINGS = {
    "error": "refuse them", "available": "use the values that are there", "drop_rows": "leave out samples with gaps",
    "drop_columns": "leave out features with gaps", "median": "fill gaps with the median", "first": "take the first",
    "mean": "take the mean", "max_variance": "take the one that varies most", "suffix": "keep all, numbered",
    "half": "half of the limit", "limit": "the limit", "missing": "count as missing",
    "as_is": "use the names as they are",
    "all": "those in all files", "any": "those in any file", "latin-1": "read them as text of Western Europe",
}  # fmt: skip


def label(key: str) -> str:
    """Return what a key is called on a page."""
    return _LABELS.get(key) or key.replace("_", " ").capitalize()


def meaning(value: str) -> str:
    """Return what a choice means, in words."""
    return _MEANINGS.get(value, value)


def choices(section: str, key: str) -> tuple[str, ...]:
    """Return the values that a key may have, if these are few; their list is an argument of its check.

    >>> choices("data", "features_in"), choices("data", "target")
    (('columns', 'rows'), ())
    """
    return tuple(getattr(SECTIONS[section].keys()[key].check, "keywords", {}).get("choices", ()))


def shown(value: Any) -> str:
    """Return a value as it is typed: lists with commas, and by name; as in a study file if names have such signs.

    >>> shown({"stage": ("I", "II"), "pain": ("no", "yes")}), shown(("a", "b")), shown(None)
    ('stage: I, II; pain: no, yes', 'a, b', '')
    >>> shown({"time": "days", "event": "died"}), shown({"time": "days: all", "event": "died"})
    ('time: days, event: died', '{"time": "days: all", "event": "died"}')
    """
    if value is None:
        return ""
    if isinstance(value, Mapping):
        parts = {name: entry if isinstance(entry, tuple | list) else (entry,) for name, entry in value.items()}
        if any(sign in str(part) for name, entries in parts.items() for part in (name, *entries) for sign in ",;:{["):
            return json.dumps(value, ensure_ascii=False)
        between = "; " if any(isinstance(entry, tuple | list) for entry in value.values()) else ", "
        return between.join(f"{name}: {shown(entries)}" for name, entries in parts.items())
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def read(section: str, key: str, typed: str) -> Any:
    """Return what was typed as a value of a key; nothing is the default. What is no number is refused by the check.

    >>> read("evidence", "n_models", "50"), read("data", "ignore", "a, b"), read("data", "groups", " ")
    (50, ['a', 'b'], None)
    >>> read("data", "target", "died"), read("data", "target", "a, b"), read("data", "target", "{time: t, event: e}")
    ('died', ['a', 'b'], {'time': 't', 'event': 'e'})
    >>> read("data", "target", "time: days, event: died")
    {'time': 'days', 'event': 'died'}
    >>> read("data", "ordered", "stage: I, II; pain: no, yes")
    {'stage': ['I', 'II'], 'pain': ['no', 'yes']}
    """
    typed = typed.strip()
    if not typed:
        return None
    if typed[0] in "{[":  # as a study file has it
        return parse_document(typed, Problems())
    if key == "target" and (survival := _SURVIVAL.fullmatch(typed)):
        return {"time": survival[1], "event": survival[2]}
    if key == "ordered":
        return {
            name.strip(): [label.strip() for label in labels.split(",") if label.strip()]
            for name, _, labels in (part.partition(":") for part in typed.split(";") if part.strip())
        }
    entry = SECTIONS[section].keys()[key]
    hint = get_type_hints(SECTIONS[section])[key]
    types = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    if any(get_origin(kind) is tuple for kind in types) and (str not in types or "," in typed):  # one name or several
        return [part.strip() for part in typed.split(",") if part.strip()]
    parse: Callable[[str], Any] = entry.option.parse if entry.option is not None else str
    try:
        return parse(typed)
    except ValueError:
        return typed


def hint(section: str, key: str) -> str:
    """Return what help says beside the label and the choices of a field.

    >>> hint("data", "below_detection"), hint("data", "missing"), hint("data", "groups")[:18]
    ('<0.5, n.d., BDL and the like.', '', 'Column of patients')
    """
    words, allowed = help_text(section, key), choices(section, key)
    about, _, rest = words.rpartition(": ")
    if not allowed or not all(name in rest for name in allowed):
        return words
    return f"{about}." if about and about != label(key) else ""


def check_names(key: str, names: Names, typed: Any) -> None:
    """Raise InputError with the nearest names if a value names what is not there.

    >>> check_names("target", Names(["age", "died"], "column"), {"time": "age", "event": "dead"})
    Traceback (most recent call last):
    ubayfs.exceptions.InputError: target 'dead' is not a column. The nearest names are died.
    """
    listed = typed.values() if isinstance(typed, Mapping) else typed if isinstance(typed, list | tuple) else [typed]
    if problems := unknown_names(names, [str(name) for name in listed if name is not None]):
        raise InputError.of(key, " ".join(problems.values()), typed)


def key_field(
    bench: ExpertSession, section: str, key: str, listed: str = "", names: Callable[[], Names] | None = None
) -> Field:
    """Draw the field of a key: a list of its choices, or a box to type into; `names` are those that it may have."""

    def change(typed: str) -> None:
        parsed = read(section, key, typed)
        if names is not None:
            check_names(key, names(), parsed)
        bench.set(section, **{key: parsed})

    def value() -> Any:
        return getattr(getattr(bench.state.study, section), key)

    default, about, allowed = SECTIONS[section].default_text(key), hint(section, key), choices(section, key)
    if allowed:
        unset = SECTIONS[section].defaults()[key] is None
        named = {name: f"{name}: {_MEANINGS[name]}" if name in _MEANINGS else name for name in allowed}
        options: Mapping[Any, str] = ({None: default} if unset else {}) | named
        field: Field = choice(label(key), options, value(), lambda chosen: bench.set(section, **{key: chosen}), about)
    else:
        field = entry(
            label(key), shown(value()), change, about, listed=listed, placeholder=default, draft=f"{section}.{key}"
        )
        if names is not None:
            with field.control:
                suggest(field.box, lambda: names().names)
    on(bench, "state", lambda: field.show(value() if allowed else shown(value())))
    return field
