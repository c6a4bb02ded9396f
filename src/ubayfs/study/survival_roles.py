"""Columns that seem to be the time and the event of a survival target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..data.reading_rules import SurvivalColumns
from ..data.survival import EVENT_WORDS, TIME_WORDS, Survival
from ..exceptions import InputError

if TYPE_CHECKING:
    from ..tables import Table

# Names of endpoints say neither time nor event: OS_MONTHS and OS_STATUS.
_ENDPOINTS = TIME_WORDS & EVENT_WORDS
# Units alone may be of an age, too.
_UNITS = frozenset({"day", "days", "month", "months", "year", "years"})
# Two values with one of these words are classes to tell apart, whatever stands beside them.
_CLASSES = frozenset({"target", "diagnosis", "class", "label", "outcome", "response", "phenotype"})


def infer_survival(table: Table, columns: Sequence[str]) -> tuple[SurvivalColumns | None, list[str]]:
    """Return time and event, None if no columns seem to be that, and further columns of that kind.

    These would be features that know the answer, if nobody left them out.
    """
    from ..tables.layout import words

    named = {name: set(words(name)) for name in columns}
    if any(not _CLASSES.isdisjoint(found) for found in named.values()):
        return None, []
    events = [name for name, found in named.items() if found & (EVENT_WORDS - _ENDPOINTS)]
    times = [name for name, found in named.items() if found & (TIME_WORDS - _UNITS) and name not in events]
    pairs = [(len(named[time] & named[event]), time, event) for event in events for time in times]
    for _, time, event in sorted(pairs, key=lambda pair: -pair[0]):
        if is_survival(table, time, event):
            others = [name for name in (*times, *events) if name not in (time, event)]
            return SurvivalColumns(time=time, event=event), others
    return None, []


def is_survival(table: Table, time: str, event: str) -> bool:
    """Tell whether two columns can be a time and an event."""
    return n_events(table, time, event) > 0


def n_events(table: Table, time: str, event: str) -> int:
    """Return the number of events of the samples that have both; 0 if the columns are something else."""
    from ..tables.columns import as_floats

    known = table.frame[[time, event]].dropna()
    times = as_floats(known[time], table.decimal)
    if len(set(times.tolist())) <= 2:
        return 0
    try:
        return int(Survival(times, known[event].to_numpy()).event.sum())
    except InputError:
        return 0
