"""Survival: times until an event, or until somebody was last seen without it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from .._arguments import Array, Floats, Mask, as_array, as_column, check_not_complex, missing_mask
from ..exceptions import InputError, repr_of

# Fewer events in a run, or in the data at all, tell nothing; with fewer than the second number there is advice.
FEWEST_EVENTS, FEW_EVENTS = 5, 20

# What labels of events say, in lower case, with single blanks, without a leading code such as "1:" of cBioPortal.
_EVENT = re.compile(r"dead|died|deceased|death|events?|yes|true|y|t|relapsed?|recurrence|recurred|progressed"
                    r"|progression|recurred/progressed|failure|failed|metastasis|(dead )?with tumor")  # fmt: skip
_CENSORED = re.compile(r"alive|living|censored|censor|no|false|n|f|none|(event|disease|relapse|progression)[ -]?free"
                       r"|no(t|n)?[ -](event|recurred|progressed|relapsed?)|alive or dead tumor free")  # fmt: skip
_CODE = re.compile(r"([01])\s*[:=]\s*")

# Words in names of columns: times, events, and what belongs to other kinds of censoring.
TIME_WORDS = frozenset({"time", "day", "days", "month", "months", "year", "years", "survival", "surv", "os", "pfs",
                        "dfs", "rfs", "dss", "ttp", "duration", "futime", "followup", "follow"})  # fmt: skip
EVENT_WORDS = frozenset({"event", "events", "status", "dead", "death", "deceased", "died", "vital", "fustat", "os",
                         "pfs", "dfs", "rfs", "dss"})  # fmt: skip
_ENTRY = frozenset({"entry", "enter", "start", "tstart", "stop", "tstop", "truncation", "truncated"})
_INTERVAL = frozenset({"lower", "upper", "left", "right", "interval", "time1", "time2"})

_ONE_TIME = "Give one time of follow-up per sample, from its start, and whether the event happened then."
DTYPE = np.dtype([("event", np.bool_), ("time", np.float64)])


@dataclass(frozen=True, eq=False)
class Survival:
    """A target of survival analysis: when the event happened, or how long there was none.

    Parameters
    ----------
    time : array-like of shape (n_samples,)
        Time from the start of the follow-up to the event, or to the last observation; 0 or more.
    event : array-like of shape (n_samples,)
        Whether the event happened (True, 1) or the sample was censored (False, 0). Two numbers 1 and 2, as in R, mean
        censored and event; of words, those for death, relapse and the like are events: ``"dead"``, ``"1:DECEASED"``.

    Attributes
    ----------
    labels : tuple of str
        How a censored sample and an event were called.

    Notes
    -----
    Right censoring only. Competing risks (several kinds of events), delayed entry (start and stop) and interval
    censoring (a lower and an upper time) are refused.

    It can be used wherever scikit-learn takes a target: ``numpy.asarray`` makes the structured array of scikit-survival
    of it, and that array (or a frame with one column of times and one of events) is accepted instead of it.

    See Also
    --------
    read_data : Reads it from two columns of a file.

    Examples
    --------
    >>> y = Survival(time=[5, 8, 2.5], event=["alive", "dead", "dead"])
    >>> len(y), y.event.tolist(), y.labels
    (3, [False, True, True], ('alive', 'dead'))
    >>> y
    Survival(3 samples, 2 events)
    >>> np.asarray(y)[1]
    np.void((True, 8.0), dtype=[('event', '?'), ('time', '<f8')])
    """

    time: Any
    event: Any
    labels: tuple[str, str] = field(init=False, default=("False", "True"))
    index: Any = field(init=False, default=None, repr=False)  # of the samples, where pandas gave one

    def __post_init__(self) -> None:
        index = next((values.index for values in (self.time, self.event) if hasattr(values, "iloc")), None)
        if hasattr(self.time, "iloc") and hasattr(self.event, "iloc") and not self.time.index.equals(self.event.index):
            rule = "has another index than time; give both of the same samples, in the same order."
            raise InputError.of("event", rule)
        time = _read_times(self.time)
        event, labels = _read_events(self.event)
        if len(time) != len(event):
            raise InputError.of("event", f"must have one entry per time, {len(time)}; got {len(event)}.")
        for name, value in (("time", time), ("event", event), ("labels", labels), ("index", index)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Survival({len(self)} samples, {int(self.event.sum())} events)"

    def __len__(self) -> int:
        return len(self.time)

    @property
    def shape(self) -> tuple[int]:
        """That of the structured array, (n_samples,)."""
        return (len(self.time),)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = np.empty(len(self), dtype=DTYPE)
        array["time"], array["event"] = self.time, self.event
        return array if dtype is None else array.astype(dtype)

    def __getitem__(self, samples: Any) -> Array:
        return np.asarray(self)[samples]

    @classmethod
    def of(cls, y: Any, task: str | None) -> Survival | None:
        """Read a target if it is one of survival analysis: by its type, its names, or because the task says so."""
        if isinstance(y, Survival):
            return y
        columns = _columns(y)
        if columns is None:
            if task == "survival":
                rule = f"needs ubayfs.Survival(time, event) for task='survival'; got {type(y).__name__}. {_ONE_TIME}"
                raise InputError.of("y", rule)
            return None
        names, structured = list(columns), getattr(getattr(y, "dtype", None), "names", None) is not None
        named_as_survival = _names_tell(names) or bool(_words(names) & (_ENTRY | _INTERVAL))
        plain = not named_as_survival or max(map(_n_values, columns.values())) <= 2
        if task != "survival" and not structured and plain:
            return None
        _refuse_others(names)
        first, second = columns.values()
        if _n_values(first) <= 2 < _n_values(second) or _kind(first) == "b" != _kind(second):
            first, second = second, first
        elif _n_values(second) > 2:
            raise InputError.of("y", f"has a column of events that {_too_many(second)}")
        elif _n_values(first) <= 2 and not (_parts(names[0]) & TIME_WORDS):
            raise InputError.of("y", f"does not tell which of {names} is the time. Pass ubayfs.Survival(time, event).")
        return cls(first, second)


def _columns(y: Any) -> dict[str, Any] | None:
    """Return the columns of a frame, a structured array or a matrix; None if there are fewer than two."""
    if hasattr(y, "columns") and hasattr(y, "to_numpy"):
        return {str(name): y[name] for name in y.columns} if y.shape[1] > 1 else None
    values = y if isinstance(y, np.ndarray) else None
    if values is not None and values.dtype.names is not None:
        return {name: values[name] for name in values.dtype.names} if len(values.dtype.names) > 1 else None
    if values is not None and values.ndim == 2 and values.shape[1] > 1:
        return {f"column {position}": values[:, position] for position in range(values.shape[1])}
    return None


def _parts(name: str) -> set[str]:
    return set(re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))


def _words(names: list[str]) -> set[str]:
    return set().union(*map(_parts, names))


def _names_tell(names: list[str]) -> bool:
    """Return whether one column is named as a time and another one as an event."""
    words = [_parts(name) for name in names]
    return any(a & TIME_WORDS and b & EVENT_WORDS for a in words for b in words if a is not b)


def _refuse_others(names: list[str]) -> None:
    """Raise if there are more columns than time and event."""
    words = _words(names)
    listed = ", ".join(map(repr, names))
    if words & _INTERVAL:
        rule = f"has the columns {listed}: interval censoring is not supported. {_ONE_TIME}"
    elif words & _ENTRY:
        rule = f"has the columns {listed}: delayed entry (left truncation) is not supported. {_ONE_TIME}"
    elif len(names) != 2:
        rule = f"needs two columns for survival, time and event; got {listed}. {_ONE_TIME}"
    else:
        return
    raise InputError.of("y", rule)


def _kind(values: Any) -> str:
    return np.asarray(values).dtype.kind


def _n_values(values: Any) -> int:
    from pandas import Series

    return int(Series(np.asarray(values)).nunique())


def _read_times(times: Any) -> Floats:
    values = as_array("time", times)
    if values.dtype.kind in "mM":
        rule = "must be a number for each sample, such as days since the diagnosis; got dates or durations. Convert "
        raise InputError.of("time", f"{rule}them: (end - start).dt.days.")
    several = "Two times per sample mean delayed entry or interval censoring, which are not supported."
    values = as_column("time", values, way_out=f" {several} {_ONE_TIME}")
    check_not_complex("time", values)
    _refuse_missing("time", values)
    try:
        time = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError.of("time", f"must be numbers; {error}.") from error
    _refuse("time", time, ~np.isfinite(time), "has infinite values", "Drop or correct those samples.")
    _refuse("time", time, time < 0, "has negative values", "Times count from the start of the follow-up: correct them.")
    return time


def _refuse_missing(argument: str, values: Array) -> None:
    absent = missing_mask(values)
    if absent.any():
        rule = f"contains missing values (NaN) in {absent.sum()} sample(s), first at position {absent.argmax()}"
        raise InputError.of(argument, f"{rule}; drop those samples.")


def _refuse(argument: str, values: Array, wrong: Mask, what: str, way_out: str) -> None:
    if wrong.any():
        first = int(np.argmax(wrong))
        rule = f"{what} in {int(wrong.sum())} sample(s), first {values[first]:g} at position {first}. {way_out}"
        raise InputError.of(argument, rule, float(values[first]))


def _read_events(events: Any) -> tuple[Mask, tuple[str, str]]:
    """Return who has the event, and the labels of those who have not and who have."""
    values = as_column("event", events, "must be one column")
    _refuse_missing("event", values)
    others = [value for value in values.tolist() if not isinstance(value, str | Real)]
    if others:
        rule = f"must have one truth value, number or word per sample; got {repr_of(others[0])}."
        raise InputError.of("event", rule, others[0])
    labels = list(dict.fromkeys(values.tolist()))
    if len(labels) > 2:
        raise InputError.of("event", _too_many(values))
    kinds = {label: _meaning(label) for label in labels}
    if {1, 2} == set(labels):  # R's Surv
        kinds = {1: False, 2: True}
    meanings = [kind for kind in kinds.values() if kind is not None]
    if len(meanings) < len(kinds) or len(set(meanings)) < len(meanings):
        shown = " and ".join(map(repr, labels))
        rule = f"must be True and False, 1 and 0, or words such as 'dead' and 'alive'; got {shown}. Say which is the "
        raise InputError.of("event", f"{rule}event: event == {labels[-1]!r}, for example.")
    names = {bool(kind): str(label) for label, kind in kinds.items()}
    event = np.array([kinds[label] for label in values.tolist()], dtype=np.bool_)
    return event, (names.get(False, "censored"), names.get(True, "event"))


def _meaning(label: Any) -> bool | None:
    """Return whether a label means an event, or a censored sample; None if that is not clear.

    Examples
    --------
    >>> [_meaning(label) for label in (1, "0:LIVING", " Dead ", "1", "treated")]
    [True, False, True, True, None]
    """
    if isinstance(label, str):
        text = " ".join(label.replace("_", " ").casefold().split())
        code, word = _CODE.match(text), _CODE.sub("", text, count=1)
        by_code = {"1": True, "0": False, "1.0": True, "0.0": False}.get(text if code is None else code[1])
        meaning = True if _EVENT.fullmatch(word) else False if _CENSORED.fullmatch(word) else by_code
        return meaning if by_code in (None, meaning) else None
    return bool(label) if label in (0, 1) else None


def _too_many(values: Any) -> str:
    """Say that there are more than two kinds of events."""
    labels = list(dict.fromkeys(np.asarray(values).tolist()))
    shown = ", ".join(map(repr, labels[:4])) + (", ..." if len(labels) > 4 else "")
    rule = f"must have two values, event and censored; got {len(labels)}: {shown}."
    if len(labels) > 6:
        return f"{rule} Are time and event exchanged?"
    event = next((label for label in labels if _meaning(label) is not False), labels[-1])
    way_out = f"Write 1 for the event of interest ({event!r}, for example) and 0 for all others (censored)."
    return f"{rule} Competing risks (several kinds of events) are not supported. {way_out}"
