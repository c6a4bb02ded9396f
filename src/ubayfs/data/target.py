"""Target: what is to be predicted, read and checked once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._arguments import Array, Floats, Ints, as_array, as_column, check_choice, check_not_complex, missing_mask
from ..exceptions import InputError, repr_of
from .ordered_pairs import OrderedPairs
from .survival import FEWEST_EVENTS, Survival

CLASSIFICATION = frozenset({"binary", "multiclass"})

_TASK_OF_TARGET = {
    "binary": "binary",
    "multiclass": "multiclass",
    "multilabel-indicator": "multilabel",
    "continuous": "regression",
}

_RAGGED = (
    "Pass one label per sample, or a 0/1 matrix when samples may have several labels, for example by "
    "sklearn.preprocessing.MultiLabelBinarizer."
)
_WITHOUT_TARGET = "or leave y out and use selector='laplacian', which needs no target"


@dataclass(frozen=True)
class Target:
    """What is to be predicted, in the form that selectors compute with.

    Attributes
    ----------
    task : str
        A key of `TASKS`.
    values : ndarray or None
        Class codes 0..n_classes-1 of shape (n_samples,) for classification, an int indicator matrix of shape
        (n_samples, n_labels) for multi-label, floats of shape (n_samples,) for numbers, floats of shape (n_samples, 2)
        for survival, time and event (1; 0: censored), None without target.
    labels : ndarray or None
        The target as it was given; foreign selectors receive it. For survival the structured array of scikit-survival.
    classes : ndarray or None
        Label of each code; in category order when `ordered`. For survival what censored samples and events are called.
    ordered : bool
        True when the classes have an order (an ordered pandas categorical was given).
    """

    task: str
    values: Array | None = None
    labels: Array | None = None
    classes: Array | None = None
    ordered: bool = False
    label_names: tuple[str, ...] = ()  # of a multi-label target, where its columns have names

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 when the task is not a classification into one of several classes."""
        return 0 if self.classes is None or self.task not in CLASSIFICATION else len(self.classes)

    @property
    def class_counts(self) -> list[tuple[str, int]]:
        """Name and number of samples of each class or label, of events and censored samples; empty for others."""
        count = TASKS[self.task].counts
        return [] if self.values is None or count is None else count(self)

    @property
    def is_numeric(self) -> bool:
        """Whether `values` are one number per sample, to be used as such."""
        return TASKS[self.task].numeric

    @property
    def numbers(self) -> Floats | None:
        """The measured numbers of the target, of shape (n_samples,); None if it has none."""
        read = TASKS[self.task].numbers
        return None if self.values is None or read is None else read(self)

    @property
    def strata(self) -> Ints | None:
        """Codes of the samples that every subsample shall represent in proportion, or None: the classes, the event."""
        find = TASKS[self.task].strata
        return None if find is None else find(self)[0]

    @property
    def stratum_names(self) -> Array:
        """Name of each code of `strata`; empty without strata."""
        find = TASKS[self.task].strata
        return np.array([]) if find is None else find(self)[1]

    @property
    def time(self) -> Floats:
        """Times of a survival target, of shape (n_samples,)."""
        return _values(self)[:, 0]

    @property
    def event(self) -> Floats:
        """Events (1) and censored samples (0) of a survival target, of shape (n_samples,)."""
        return _values(self)[:, 1]

    def take(self, samples: Array) -> Target:
        """Return the target of some samples (positions or a mask); classes and their codes stay."""
        if self.values is None or self.labels is None:
            return self
        return replace(self, values=self.values[samples], labels=self.labels[samples])


def check_length(name: str, length: int, n_samples: int) -> None:
    """Raise unless there is one entry per sample."""
    if length != n_samples:
        raise InputError.of(
            name,
            f"must have one entry per sample of X, {n_samples}; got {length}. X and y must describe the same samples.",
        )


def plain(value: Any) -> Any:
    """Return a numpy scalar as a Python one: messages then show 'a' and 1, not np.str_('a') and np.int64(1)."""
    return value.item() if isinstance(value, np.generic) else value


def read_target(y: Any, n_samples: int, task: str | None) -> Target:
    """Read and check a target; `task` is given, or inferred when None."""
    if task is not None:
        check_choice("task", task, TASKS)
    if task == "unsupervised" or y is None:
        if task not in (None, "unsupervised"):
            raise InputError(f"task={task!r} requires y to be passed, but the target y is None.", argument="y")
        return Target("unsupervised")
    survival = Survival.of(y, task)
    if survival is not None:
        check_length("y", len(survival), n_samples)
        return _survival_target(survival, task)
    import pandas as pd

    if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
        y = y.iloc[:, 0]
    dtype = getattr(y, "dtype", None)
    ordered_categories = dtype.categories if isinstance(dtype, pd.CategoricalDtype) and dtype.ordered else None
    labels = _read_labels(y)
    if labels.ndim == 0:
        way_out = " Pass that column of the table, and leave it out of X." if isinstance(y, str) else ""
        raise InputError.of("y", f"must have one entry per sample of X; got the single value {repr_of(y)}.{way_out}")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    check_length("y", len(labels), n_samples)
    check_not_complex("y", labels)
    _check_target_complete(labels)
    if labels.dtype == object and labels.ndim == 1:
        # Nullable columns of a frame arrive as objects; numbers among them are numbers again.
        with contextlib.suppress(OverflowError):  # numbers that no float can hold, which older pandas cannot look at
            labels = pd.Series(labels, dtype=object).infer_objects().to_numpy()
    read = TASKS[task or _infer_task(labels)].read
    assert read is not None  # only a task without a target has none
    target = read(labels, ordered_categories)
    names = tuple(map(str, y.columns)) if isinstance(y, pd.DataFrame) else ()
    return replace(target, label_names=names) if target.task == "multilabel" else target


def read_groups(groups: Any, n_samples: int) -> Ints | None:
    """Return the group of each sample as a number, of shape (n_samples,)."""
    if groups is None:
        return None
    from pandas import factorize

    values = as_column("groups", groups, "must be one column, one group per sample of X")
    check_length("groups", len(values), n_samples)
    check_not_complex("groups", values)
    if missing_mask(values).any():
        raise InputError.of("groups", "contains missing values; give each sample its group.")
    codes = np.asarray(factorize(values)[0], dtype=np.intp)
    if codes.max() == 0:
        raise InputError.of(
            "groups", f"has a single group ({plain(values[0])!r}); at least 2 are needed to subsample by group."
        )
    return codes


def _read_labels(y: Any) -> Array:
    labels = as_array("y", y, "must have one entry per sample of X, all of the same shape", way_out=_RAGGED)
    if labels.dtype == object and labels.ndim == 1:
        kinds = {type(entry).__name__ for entry in labels if isinstance(entry, list | tuple | set | dict | np.ndarray)}
        if kinds:
            raise InputError.of(
                "y", f"must have one label per sample of X; got {', '.join(sorted(kinds))} as labels. {_RAGGED}"
            )
    return labels


def _check_target_complete(labels: Array) -> None:
    if missing_mask(labels).any():
        raise InputError.of("y", "contains missing values (NaN); drop those samples before the selection.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError.of("y", "contains infinite values (inf); drop or correct those samples.")


def _infer_task(labels: Array) -> str:
    # What scikit-learn would find, too, without the second that its import takes.
    if labels.ndim == 1:
        words = labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels)
        if words or labels.dtype.kind in "biuU":
            return "binary" if len(np.unique(labels)) <= 2 else "multiclass"
        if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
            return "regression"
    if labels.ndim == 2 and labels.dtype.kind in "OUS":
        return "multilabel"
    from sklearn.utils.multiclass import type_of_target

    try:
        with np.errstate(invalid="ignore"):  # it compares with whole numbers, which 1e200 does not fit into
            kind = type_of_target(labels, input_name="y")
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError.of("y", f"is not a target that can be used: {error}") from error
    if kind not in _TASK_OF_TARGET:
        raise InputError(
            f"Unknown label type: y is of kind {kind!r}. Usable are class labels, a 0/1 matrix of labels, or one "
            "column of numbers; pass task='regression' or convert the labels to strings.",
            argument="y",
        )
    return _TASK_OF_TARGET[kind]


def _regression_target(labels: Array, _: Any) -> Target:
    try:
        values = labels.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"task='regression' needs a numeric y; got {labels.dtype} ({error}).", argument="y") from error
    if values.ndim != 1:
        raise InputError(f"task='regression' needs one target column; got y of shape {values.shape}.", argument="y")
    if not np.isfinite(values).all():
        raise InputError.of("y", "contains missing or infinite values; drop those samples.")
    if values.min() == values.max():
        raise InputError.of(
            "y",
            f"is constant ({values[0]:g} in all samples); there is nothing to explain. Pass a y that varies, "
            f"{_WITHOUT_TARGET}.",
        )
    return Target("regression", values, labels)


def _survival_target(y: Any, task: Any) -> Target:
    if task not in (None, "survival"):
        raise InputError(f"task={task!r} does not fit times and events; leave it out.", argument="task", value=task)
    n_events = int(y.event.sum())
    if n_events < FEWEST_EVENTS:
        rule = f"has {n_events} event(s) in {len(y)} samples; at least {FEWEST_EVENTS} are needed, in practice many"
        raise InputError.of("y", f"{rule} more. Wait for more events, or count other events as well.")
    if OrderedPairs.from_times(y.time, y.event).n_all == 0:
        rule = "has no two samples of which it is known who had the event first; there is nothing to explain. Check the"
        raise InputError.of("y", f"{rule} times.")
    values = np.column_stack([y.time, y.event.astype(np.float64)])
    return Target("survival", values, np.asarray(y), np.array(y.labels))


def _multilabel_target(labels: Array, _: Any) -> Target:
    rule = "task='multilabel' needs a 0/1 matrix y of shape (n_samples, n_labels), 1 for samples that have the label"
    try:
        values = labels.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        text = next((entry for entry in labels.ravel().tolist() if isinstance(entry, str)), error)
        raise InputError(f"{rule}; got {repr_of(text)}.", argument="y") from error
    if values.ndim != 2 or not np.isin(values, (0, 1)).all():
        raise InputError(f"{rule}; got shape {values.shape}.", argument="y")
    if (values.min(axis=0) == values.max(axis=0)).all():
        raise InputError(
            "every label column of y is constant (one class each); there is nothing to explain.", argument="y"
        )
    return Target("multilabel", values.astype(np.int64), labels)


def _class_target(kind: str, labels: Array, ordered: Any) -> Target:
    if labels.ndim != 1:
        raise InputError(
            f"task={kind!r} needs one column of class labels; got y of shape {labels.shape}.", argument="y"
        )
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise InputError.of("y", f"mixes labels that cannot be compared ({error}); convert them to strings.") from error
    if ordered is not None:
        occurring = set(classes.tolist())
        present = [category for category in ordered if category in occurring]
        code_of = {category: code for code, category in enumerate(present)}
        classes, codes = np.array(present), np.array([code_of[label] for label in labels.tolist()])
    if len(classes) < 2:
        raise InputError.of(
            "y",
            f"has only one class ({plain(classes[0])!r}); a classification needs at least 2 classes. Add samples of "
            f"another class, {_WITHOUT_TARGET}.",
        )
    if kind == "binary" and len(classes) > 2:
        raise InputError(
            f"task='binary' needs 2 classes; y has {len(classes)}. {_task_for(labels)}", argument="task", value=kind
        )
    kind = "binary" if len(classes) == 2 else "multiclass"
    return Target(kind, np.asarray(codes, dtype=np.intp), labels, classes, ordered is not None)


def _task_for(labels: Array) -> str:
    """Say which task suits more than two different labels."""
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        return "It holds fractions: use task='regression'."
    quantity = ", or task='regression' if y is a quantity" if labels.dtype.kind in "iuf" else ""
    return f"Use task='multiclass'{quantity}."


def _class_strata(target: Target) -> tuple[Ints, Array]:
    return np.asarray(target.values, dtype=np.intp), np.asarray(target.classes)


def _event_strata(target: Target) -> tuple[Ints, Array]:
    if target.event.all():
        return np.zeros(len(target.event), dtype=np.intp), np.array(["event"])
    return target.event.astype(np.intp), np.array(["censored", "event"])


def _stratum_counts(target: Target) -> list[tuple[str, int]]:
    counts = np.bincount(np.asarray(target.strata), minlength=len(target.stratum_names)).tolist()
    return [(str(name), n) for name, n in zip(target.stratum_names, counts, strict=True)]


def _label_counts(target: Target) -> list[tuple[str, int]]:
    counts = np.asarray(target.values).sum(axis=0).tolist()
    return list(
        zip(target.label_names or (f"label {position}" for position in range(len(counts))), counts, strict=True)
    )


def _values(target: Target) -> Floats:
    return np.asarray(target.values, dtype=np.float64)


@dataclass(frozen=True)
class Task:
    """The facts of a kind of target; how it is predicted and judged has its row in ``trust.predictors.PREDICTION``."""

    # What a set of features is for, in the words of a report.
    purpose: str
    # Checks labels, none of them missing, with the order of ordered categories; None: there is no target.
    read: Callable[[Array, Any], Target] | None = None
    # Codes of the samples, and the name of each code: what subsamples, halves and folds represent in proportion.
    strata: Callable[[Target], tuple[Ints, Array]] | None = None
    # Names and numbers of samples.
    counts: Callable[[Target], list[tuple[str, int]]] | None = None
    counts_title: str = ""
    # The measured numbers, whose range a report shows; a column of a table must hold numbers, then.
    numbers: Callable[[Target], Floats] | None = None
    numbers_title: str = ""
    # Samples that the test part of a fold, and a subsample of half of the samples, must have.
    fewest_in_test: int = 1
    fewest_in_subsample: int = 1
    # Events that a subsample must have; of targets with events, other strata may be as rare as they like.
    fewest_events: int = 0

    @property
    def labeled(self) -> bool:
        """Whether samples have labels, whose spelling is unified when they are read from a file."""
        return self.read is not None and self.numbers is None

    @property
    def numeric(self) -> bool:
        """Whether a target is one number per sample and nothing else, such as an event."""
        return self.numbers is not None and not self.fewest_events


# In the order of messages and tables.
TASKS = {
    "binary": Task(
        "tell two classes apart", partial(_class_target, "binary"), _class_strata, _stratum_counts, "Classes"
    ),
    "multiclass": Task(
        "tell the classes apart", partial(_class_target, "multiclass"), _class_strata, _stratum_counts, "Classes"
    ),
    "multilabel": Task(
        "predict the labels", _multilabel_target, counts=_label_counts, counts_title="Labels", fewest_in_test=2
    ),
    "regression": Task(
        "predict the target",
        _regression_target,
        numbers=_values,
        numbers_title="Range of the target",
        # With fewer, R2 of a single fold has no mean (it has the scatter of the test samples in the denominator, and
        # E[1/chi2] exists from 3 degrees of freedom on). That of all folds is pooled.
        fewest_in_test=4,
        # Any feature correlates perfectly with a target of two samples.
        fewest_in_subsample=3,
    ),
    "survival": Task(
        "predict the time to the event",
        _survival_target,
        _event_strata,
        _stratum_counts,
        "Events",
        numbers=lambda target: target.time,
        numbers_title="Observed time",
        fewest_in_test=4,
        fewest_events=FEWEST_EVENTS,
    ),
    "unsupervised": Task("represent the data, without a target"),
}
