"""Target: what is to be predicted, read and checked once."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arguments import Array, Ints, check_choice, check_not_complex
from ..exceptions import InputError

# What a set of features is for, by task; in the words of a report.
TASKS = {
    "binary": "tell two classes apart",
    "multiclass": "tell the classes apart",
    "multilabel": "predict the labels",
    "regression": "predict the target",
    "unsupervised": "represent the data, without a target",
}
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
        One of ``binary``, ``multiclass``, ``multilabel``, ``regression``, ``unsupervised``.
    values : ndarray or None
        Class codes 0..n_classes-1 of shape (n_samples,) for classification, an int indicator matrix of shape
        (n_samples, n_labels) for multi-label, floats of shape (n_samples,) for regression, None without target.
    labels : ndarray or None
        The target as it was given; foreign selectors receive it.
    classes : ndarray or None
        Label of each code; in category order when `ordered`.
    ordered : bool
        True when the classes have an order (an ordered pandas categorical was given).
    """

    task: str
    values: Array | None = None
    labels: Array | None = None
    classes: Array | None = None
    ordered: bool = False

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 when the task is not a classification into one of several classes."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def class_counts(self) -> list[tuple[str, int]]:
        """Name and number of samples of each class, or of each label of a multi-label target; empty for others."""
        if self.values is None or self.task not in (*CLASSIFICATION, "multilabel"):
            return []
        if self.classes is None:  # a sample may have several labels
            return [(f"label {position}", int(n)) for position, n in enumerate(self.values.sum(axis=0))]
        counts = np.bincount(self.values, minlength=self.n_classes).tolist()
        return [(str(label), n) for label, n in zip(self.classes, counts, strict=True)]

    @property
    def strata(self) -> Ints | None:
        """Codes of the samples that every subsample shall represent in proportion, or None: the classes, if any."""
        return np.asarray(self.values, dtype=np.intp) if self.task in CLASSIFICATION else None

    def take(self, samples: Array) -> Target:
        """Return the target of some samples (positions or a mask); classes and their codes stay."""
        if self.values is None or self.labels is None:
            return self
        return Target(self.task, self.values[samples], self.labels[samples], self.classes, self.ordered)


def any_missing(values: Array) -> bool:
    """Tell whether a value is missing; the signalling NaN of a Decimal, which cannot even be compared, is."""
    from pandas import isna

    try:
        return bool(isna(values).any())
    except ArithmeticError:
        return True


def check_length(name: str, length: int, n_samples: int) -> None:
    """Raise unless there is one entry per sample."""
    if length != n_samples:
        raise InputError.of(
            name, f"must have one entry per sample of X, {n_samples}; got {length}. Pass both of the same samples."
        )


def check_aligned(name: str, values: Any, X: Any) -> None:
    """Raise if both are from pandas and their indexes tell that the samples do not stand in the same order.

    An index 0, 1, 2, ... is the one that pandas makes up, so other labels do not contradict it; but they do when they
    are the same numbers in another order.
    """
    if not (hasattr(X, "iloc") and hasattr(values, "iloc")) or len(values) != len(X):
        return
    from pandas import RangeIndex

    ours, theirs = X.index, values.index
    if theirs.equals(ours):
        return
    same = len(ours.difference(theirs, sort=False)) == len(theirs.difference(ours, sort=False)) == 0
    if not same and any(index.equals(RangeIndex(len(index))) for index in (ours, theirs)):
        return
    how = "the labels of X in another order" if same else "labels that X does not have"
    way = (
        f"{name} = {name}.loc[X.index] puts it into the order of X"
        if same and theirs.is_unique
        else (f"select the same samples of both, for example by X.join({name})")
    )
    raise InputError.of(
        name,
        f"has an index with {how}: X begins with {_some(ours)}, {name} with {_some(theirs)}. If they are meant to "
        f"be matched by label, {way}; if both are in the same order anyway, pass {name}.to_numpy().",
    )


def _some(index: Any) -> str:
    return ", ".join(repr(plain(label)) for label in index[:3])


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
    import pandas as pd

    ordered_categories = None
    if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
        y = y.iloc[:, 0]
    if isinstance(y, pd.Series) and isinstance(y.dtype, pd.CategoricalDtype) and y.dtype.ordered:
        ordered_categories = y.dtype.categories
    elif isinstance(y, pd.Categorical) and y.ordered:
        ordered_categories = y.categories
    labels = _read_labels(y)
    if labels.ndim == 0:
        raise InputError.of("y", f"must have one entry per sample of X; got the single value {y!r}.")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    check_length("y", len(labels), n_samples)
    check_not_complex("y", labels)
    _check_target_complete(labels)
    if labels.dtype == object and labels.ndim == 1:
        # Nullable columns of a frame arrive as objects; numbers among them are numbers again.
        with contextlib.suppress(OverflowError):  # numbers that no float can hold, which older pandas cannot look at
            labels = pd.Series(labels, dtype=object).infer_objects().to_numpy()
    kind = task or _infer_task(labels)
    if kind == "regression":
        return _regression_target(labels)
    if kind == "multilabel":
        return _multilabel_target(labels)
    return _class_target(labels, kind, task is not None, ordered_categories)


def _read_labels(y: Any) -> Array:
    try:
        labels = np.asarray(y)
    except ValueError as error:
        raise InputError.of(
            "y", f"must have one entry per sample of X, all of the same shape; {error}. {_RAGGED}"
        ) from error
    if labels.dtype == object and labels.ndim == 1:
        kinds = {type(entry).__name__ for entry in labels if isinstance(entry, list | tuple | set | dict | np.ndarray)}
        if kinds:
            raise InputError.of(
                "y", f"must have one label per sample of X; got {', '.join(sorted(kinds))} as labels. {_RAGGED}"
            )
    return labels


def _check_target_complete(labels: Array) -> None:
    if any_missing(labels):
        raise InputError.of("y", "contains missing values (NaN); drop those samples before the selection.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError.of("y", "contains infinite values (inf); drop or correct those samples.")


def _infer_task(labels: Array) -> str:
    # What scikit-learn would find, too, without the second that its import takes.
    if labels.ndim == 1 and labels.dtype.kind in "biuU" and len(np.unique(labels)) == 2:
        return "binary"
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


def _regression_target(labels: Array) -> Target:
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


def _multilabel_target(labels: Array) -> Target:
    rule = "task='multilabel' needs a 0/1 matrix y of shape (n_samples, n_labels)"
    try:
        values = labels.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{rule}; {error}.", argument="y") from error
    if values.ndim != 2 or not np.isin(values, (0, 1)).all():
        raise InputError(f"{rule}; got shape {values.shape}.", argument="y")
    if (values.min(axis=0) == values.max(axis=0)).all():
        raise InputError(
            "every label column of y is constant (one class each); there is nothing to explain.", argument="y"
        )
    return Target("multilabel", values.astype(np.int64), labels)


def _class_target(labels: Array, kind: str, given: bool, ordered: Any) -> Target:
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
    if kind == "multiclass" and len(classes) == 2 and given:
        kind = "binary"
    return Target(kind, np.asarray(codes, dtype=np.intp), labels, classes, ordered is not None)


def _task_for(labels: Array) -> str:
    """Say which task suits more than two different labels."""
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        return "It holds fractions: use task='regression'."
    quantity = ", or task='regression' if y is a quantity" if labels.dtype.kind in "iuf" else ""
    return f"Use task='multiclass'{quantity}."


def read_groups(groups: Any, n_samples: int) -> Ints | None:
    """Return the group of each sample as a number, of shape (n_samples,)."""
    if groups is None:
        return None
    from pandas import factorize

    try:
        values = np.asarray(groups)
    except ValueError as error:
        raise InputError.of("groups", f"must be one column, one group per sample of X; {error}.") from error
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError.of("groups", f"must be one column; got shape {values.shape}.")
    check_length("groups", len(values), n_samples)
    check_not_complex("groups", values)
    if any_missing(values):
        raise InputError.of("groups", "contains missing values; give each sample its group.")
    codes = np.asarray(factorize(values)[0], dtype=np.intp)
    if codes.max() == 0:
        raise InputError.of(
            "groups", f"has a single group ({plain(values[0])!r}); at least 2 are needed to subsample by group."
        )
    return codes
