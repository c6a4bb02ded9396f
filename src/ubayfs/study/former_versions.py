"""What earlier versions took for granted: a study file that carries such a version is read with its defaults.

A default that changes gets one row in `FORMER_DEFAULTS`; the present one stands in the schema or in a builder. A value
whose meaning changes gets one in `CHANGES`: readers are told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import __version__
from .._plain import relaxation
from ..constraints import KINDS
from ..exceptions import Advice
from ..selectors import Lasso
from .components import Named
from .schema import SECTIONS

if TYPE_CHECKING:
    from .study import Study

Release = tuple[int, int]
# The relaxation of constraints, where it is neither stated nor derived from data; these kinds were hard before, too.
RHO = "constraints.rho"
_ALWAYS_HARD = ("require", "exclude")
PER_MODEL = "evidence.n_features_per_model"
# Which lasso the selector of that name is, alone or in a list.
ORDER = "evidence.selector.order"


@dataclass(frozen=True)
class FormerDefault:
    """A default that is another one since a release."""

    since: Release
    former: Any
    in_words: str = ""  # where the value does not say all

    def facts(self, key: str) -> dict[str, Any]:
        """Return what advice says of it."""
        present, since = present_default(key), ".".join(map(str, self.since))
        if present is None:
            section, _, name = key.partition(".")
            present = SECTIONS[section].default_text(name)
        return {"key": key, "former": self.in_words or self.former, "present": present, "since": since}


FORMER_DEFAULTS: dict[str, FormerDefault] = {
    RHO: FormerDefault((0, 3), 1),
    "decision.min_votes": FormerDefault((0, 3), 0),
    "evidence.selector": FormerDefault((0, 3), "mrmr"),
    ORDER: FormerDefault((0, 3), "entry"),
    PER_MODEL: FormerDefault((0, 2), 10, "10, or all features if there are fewer"),
}


def present_default(key: str) -> Any:
    """Return the default of a key that this version has, as a file states it.

    >>> {key: (row.former, present_default(key)) for key, row in FORMER_DEFAULTS.items()}
    {'constraints.rho': (1, 'hard'), 'decision.min_votes': (0, 1), 'evidence.selector': ('mrmr', 'wide'),
     'evidence.selector.order': ('entry', 'weight'), 'evidence.n_features_per_model': (10, None)}
    """
    if key == RHO:
        return relaxation(KINDS["max_size"].parameters["rho"].default)
    if key == ORDER:
        return Lasso.order
    section, _, name = key.partition(".")
    return SECTIONS[section].defaults()[name]


def release_of(version: str) -> Release | None:
    """Return the first two numbers of a version, within which results stay the same.

    >>> release_of("0.2.1"), release_of("unknown")
    ((0, 2), None)
    """
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return None if numbers is None else (int(numbers[1]), int(numbers[2]))


PRESENT = release_of(__version__) or (0, 0)


def unstated(study: Mapping[Any, Any]) -> tuple[str, ...]:
    """Return the keys with a changed default that the content of a study file does not state."""
    return tuple(key for key in FORMER_DEFAULTS if any(True for _ in _places(study, key)))


def with_former_defaults(study: Mapping[Any, Any], release: Release) -> dict[Any, Any]:
    """Return the content of a study file with the defaults of a release stated where they were other ones."""
    return _stated(study, {key: FORMER_DEFAULTS[key].former for key in changed_since(release)})


def changed_since(release: Release) -> list[str]:
    """Return the keys whose default was another one in a release."""
    return [key for key, row in FORMER_DEFAULTS.items() if release < row.since]


def with_present_defaults(study: Mapping[Any, Any], release: Release) -> dict[Any, Any]:
    """Return the content of a study file that means the same to whoever reads it with the defaults of a release.

    >>> with_present_defaults({"constraints": [{"max_size": 5}]}, (0, 2))
    {'constraints': [{'max_size': {'n': 5, 'rho': 'hard'}}],
     'decision': {'min_votes': 1}, 'evidence': {'selector': 'wide'}}
    """
    return _stated(study, {key: present_default(key) for key in changed_since(release)})


def _stated(study: Mapping[Any, Any], defaults: Mapping[str, Any]) -> dict[Any, Any]:
    """Return a study with values of keys that it does not state; what cannot be read stays as it is."""
    completed = dict(study)
    for key, default in defaults.items():
        section, _, name = key.partition(".")
        for place in list(_places(completed, key)):
            if key == RHO:
                entries = list(completed[section])
                entries[place] = constraint_with_rho(entries[place], default)
                completed[section] = entries
            elif key == ORDER:
                evidence = completed[section]
                completed[section] = {**evidence, "selector": _lasso_with_order(evidence["selector"], default)}
            else:
                completed[section] = {**(completed.get(section) or {}), name: default}
    return completed


def _places(study: Mapping[Any, Any], key: str) -> Iterator[Any]:
    """Yield where a key is not stated: positions of constraints, or once for a section."""
    section, _, name = key.partition(".")
    content = study.get(section)
    if key == RHO:
        entries = content if isinstance(content, list | tuple) else ()
        yield from (position for position, entry in enumerate(entries) if constraint_with_rho(entry, 1) is not entry)
    elif key == ORDER:
        if isinstance(content, Mapping) and any("order" not in lasso for lasso in _lassos(content.get("selector"))):
            yield section
    elif content is None or (isinstance(content, Mapping) and name not in content):
        yield section


def _lassos(selector: Any) -> list[Mapping[Any, Any]]:
    """Return the lassos among the selectors of a study, with the settings that are stated."""
    entries = selector if isinstance(selector, list | tuple) else [selector]
    stated = [
        {"name": one} if isinstance(one, str) else one.plain() if isinstance(one, Named) else one for one in entries
    ]
    return [one for one in stated if isinstance(one, Mapping) and one.get("name") == Lasso.name]


def _lasso_with_order(selector: Any, order: str) -> Any:
    """Return a selector, or several, as a file has them, with the order of each lasso that states none."""
    if isinstance(selector, list | tuple):
        return [_lasso_with_order(entry, order) for entry in selector]
    return {"order": order, **_lassos(selector)[0]} if _lassos(selector) else selector


def constraint_with_rho(entry: Any, rho: Any) -> Any:
    """Return a constraint, as a file has it, with a relaxation if it states none and has one.

    >>> constraint_with_rho({"max_size": 5}, 1), constraint_with_rho({"must_link": {"features": ["a", "b"]}}, "hard")
    ({'max_size': {'n': 5, 'rho': 1}}, {'must_link': {'features': ['a', 'b'], 'rho': 'hard'}})
    >>> constraint_with_rho({"require": ["a"]}, 1), constraint_with_rho("decorrelate", 1)
    ({'require': ['a']}, 'decorrelate')
    """
    if isinstance(entry, str):
        kind, value = entry, None
    elif isinstance(entry, Mapping) and len(entry) == 1:
        ((kind, value),) = entry.items()
    else:
        return entry
    parameters = KINDS[kind].parameters if kind in KINDS else {}
    if "rho" not in parameters or kind in _ALWAYS_HARD:
        return entry
    arguments = dict(value) if isinstance(value, Mapping) else {} if value is None else {next(iter(parameters)): value}
    return entry if {"rho", "price"} & arguments.keys() else {kind: {**arguments, "rho": rho}}


# -- what readers of another version's study must know -----------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """The meaning of a value that is another one since a version."""

    since: tuple[int, int]
    key: str  # as a person looks for it in the file
    concerns: Callable[[Study, Collection[str]], bool]  # whether a study, and what it holds unlikely, depend on it
    former: str
    default: str


CHANGES = (
    Change(
        (0, 2),
        "data.missing: median",
        lambda study, unlikely: study.data.missing == "median",
        "the median of all samples, for every selector",
        "the median of the samples of each run; fisher and mrmr use the values that are present",
    ),
    Change(
        (0, 2),
        "the weight 'unlikely'",
        lambda study, unlikely: bool(unlikely),
        "a constraint exclude of rho 1",
        "taken only if it has over half of all models' votes more than the feature it displaces (exclude, price 0.5)",
    ),
)


def version_advice(study: Study, unlikely: Collection[str] = (), n_features: int | None = None) -> tuple[Advice, ...]:
    """Return what is different from the version of ubayfs that wrote a study; nothing if it is this or unknown.

    `unlikely` are the features that it holds unlikely, and `n_features` their number, once its tables are read.
    """
    written = str(study.versions.get("ubayfs", __version__))
    before = release_of(written)
    if before == PRESENT:
        return ()
    changed = [
        Advice("changed_default", {"key": c.key, "former": c.former, "default": c.default, "written": written})
        for c in CHANGES
        if before is not None and before < c.since and c.concerns(study, unlikely)
    ]
    changed += [
        Advice("former_default", {**row.facts(key), "written": written})
        for key, row in FORMER_DEFAULTS.items()
        if before is not None
        and before < row.since
        and key in study.unstated
        and _takes(study, key, row.former, n_features)
    ]
    return tuple(changed) or (Advice("other_version", {"written": written, "present": __version__}),)


def default_advice(study: Study) -> tuple[Advice, ...]:
    """Return the changed defaults that a study file without a version relies on."""
    if "ubayfs" in study.versions:
        return ()
    return tuple(
        Advice("present_default", {**row.facts(key), "version": __version__})
        for key, row in FORMER_DEFAULTS.items()
        if key in study.unstated and _takes(study, key, present_default(key))
    )


def _takes(study: Study, key: str, value: Any, n_features: int | None = None) -> bool:
    """Return whether a study still has a value of a key: an option of the command line may have changed it."""
    if key == RHO:
        stated = [constraint.rho for constraint in study.constraints if isinstance(constraint.rho, float)]
        return value in map(relaxation, stated)
    if key == ORDER:
        return any(lasso.get("order", Lasso.order) == value for lasso in _lassos(study.evidence.selector))
    section, _, name = key.partition(".")
    taken = getattr(getattr(study, section), name)
    all_of_fewer = key == PER_MODEL and n_features is not None and taken == n_features < value
    return bool(taken == value or all_of_fewer)
