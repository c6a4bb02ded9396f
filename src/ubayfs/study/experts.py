"""Several experts of one study: what each states of the features, under a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from ..exceptions import InputError, repr_of
from ..knowledge.rows import Knowledge, is_path
from ..knowledge.scale import DEFAULT_WEIGHT, VOTES
from ..priors.knowledge import PriorKnowledge, pooled
from .components import text
from .diagnostics import Report, below, known_only, reported
from .weights import LEVELS, WeightResolver, Weights, file_form, read_weights

_FILES = ("table", "sheet")


@dataclass(frozen=True)
class Expert:
    """What one expert states.

    Attributes
    ----------
    weights : Weights
        Its default is not used: that of the study counts for everybody.
    table : str or None
        Path of a table with the columns feature, weight, why and source.
    sheet : str or None
        Of an Excel file.
    confirmed : str or None
        When the expert confirmed this, before seeing votes.
    """

    weights: Weights = field(default_factory=Weights)
    table: str | None = None
    sheet: str | None = None
    confirmed: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of all its files."""
        return (*((self.table,) if self.table is not None else ()), *self.weights.files)

    def with_paths(self, changed: Callable[[str], str]) -> Expert:
        """Return the expert with other paths of the same files."""
        table = None if self.table is None else changed(self.table)
        return replace(self, table=table, weights=self.weights.with_paths(changed))

    def plain(self) -> dict[str, Any]:
        """Return what is stated as it is written to a file."""
        stated = self.weights.plain()
        more = {key: value for key in (*_FILES, "confirmed") if (value := getattr(self, key)) is not None}
        return {**more, **(stated if isinstance(stated, dict) else {})}


def expert_form(value: Any) -> Any:
    """Return what an expert states, given in Python in any form of weights, as a study file has it."""
    if isinstance(value, Expert | Weights) or is_path(value):
        return value
    given = (
        {key: entry for key, entry in value.items() if key in (*_FILES, "confirmed")}
        if isinstance(value, Mapping)
        else {}
    )
    rest = {key: entry for key, entry in value.items() if key not in given} if given else value
    stated = file_form(rest)
    return stated if not isinstance(stated, Mapping) else {**given, **stated}


def read_experts(value: Any, report: Report) -> dict[str, Expert] | None:
    """Return what experts state, by their names; all that is wrong is reported."""
    if not isinstance(value, Mapping):
        report((), f"must map the names of experts to what each states; got {repr_of(value)}.")
        return None
    found = {}
    for name, stated in value.items():
        if not isinstance(name, str) or not name.strip():
            report((), f"must be given by their names; got {repr_of(name)}.")
        elif (expert := _expert(stated, below(report, name))) is not None:
            found[name] = expert
    return found or None


def _expert(value: Any, report: Report) -> Expert | None:
    if isinstance(value, Expert):
        return value
    if isinstance(value, Weights) or value is None:
        return Expert(value or Weights())
    if is_path(value):
        return Expert(table=str(value))
    if not isinstance(value, Mapping):
        report((), f"must be a table of what the expert states, or hold keys such as 'features'; got {repr_of(value)}.")
        return None
    checks = {**dict.fromkeys(_FILES, text), "confirmed": time}
    known = (*checks, *LEVELS, *VOTES)
    value = known_only(value, known, "a key of an expert (names belong below 'features')", report)
    given: dict[str, str] = {}
    for key, check in checks.items():
        if value.get(key) is not None:
            with reported(report, (key,)):
                given[key] = check(key, value[key])
    if "sheet" in given and value.get("table") is None:
        report(("sheet",), "names a sheet of the table of this expert, which is not given.")
    weights = read_weights({key: entry for key, entry in value.items() if key not in checks}, report)
    return Expert(weights, **given) if isinstance(weights, Weights) else None


def with_experts(
    known: PriorKnowledge, prior: Any, resolver: WeightResolver, tables: Mapping[str, Knowledge | None]
) -> PriorKnowledge:
    """Return what is known of the features with what the experts of the prior section state, and when it was stated."""
    report, names = resolver.report, resolver.names
    if prior.experts:
        default, stated = getattr(prior.weights, "default", DEFAULT_WEIGHT), {}
        for name, expert in prior.experts.items():
            at = ("prior", "experts", name)
            weights = replace(expert.weights, default=default)
            own = replace(resolver, at=at, table_at=(*at, "table")).resolve(weights, tables[name])
            stated[name] = replace(own, confirmed=expert.confirmed)
        with reported(report, ("prior", "experts")):
            known = pooled(stated, names.names, prior.pool, resolver.n_models, default, known)
    for name in prior.changed_after_votes or {}:
        with reported(report, ("prior", "changed_after_votes", name)):
            names.find(name, False)
    return replace(known, confirmed=prior.confirmed, changed_after_votes=prior.changed_after_votes or {})


def time(name: str, value: Any) -> str:
    """Return a time as ISO 8601 writes it."""
    if isinstance(value, date):  # and datetime
        value = value.isoformat()
    try:
        datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        rule = f"must be a time such as 2026-11-17T09:30:00+00:00; got {repr_of(value)}."
        raise InputError.of(name, rule, value) from None
    return str(value)


def read_times(value: Any, report: Report) -> dict[str, str] | None:
    """Return times by the features that they are about."""
    if not isinstance(value, Mapping):
        report((), f"must map features to the times of their last change; got {repr_of(value)}.")
        return None
    found = {}
    for name, entry in value.items():
        with reported(report, (name,)):
            found[text("feature", name)] = time(str(name), entry)
    return found or None
