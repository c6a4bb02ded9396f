"""Categories: columns of labels instead of numbers. A table holds their codes, and knows the labels of the codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._arguments import Array, Ints
from ..exceptions import Advice, ColumnTypeError
from .reading_rules import GROUP_WORDS, names_groups, repeats_values, words
from .sparse_columns import TableLike

MOST_LEVELS = 12  # of a column that is a category: more are names, comments, numbers as text
FEWEST_SAMPLES = 5  # of a level that stands for itself
POOLED = "other"


@dataclass(frozen=True)
class Levels:
    """Labels of a category, in the order of their codes 0, 1, ...; `ordered`: this order has a meaning."""

    labels: tuple[str, ...]
    ordered: bool = False

    @property
    def n_columns(self) -> int:
        """Number of columns that code it: one for two levels and for an order, else one per level."""
        return 1 if self.ordered or len(self.labels) <= 2 else len(self.labels)


@dataclass(frozen=True, eq=False)
class CategoryTable(TableLike):
    """A table some of whose columns are codes of categories; whatever is taken from it is a plain array.

    Attributes
    ----------
    values : ndarray of float of shape (n_samples, n_features)
        Numbers, and codes of levels; NaN where a value is missing.
    levels : mapping of int to Levels
        By the position of the column.

    Examples
    --------
    >>> table = CategoryTable(np.array([[1.5, 2.0], [0.5, 0.0]]), {1: Levels(("A", "B", "0"))})
    >>> table[:, 1], table.coded.tolist(), table.owners
    (array([2., 0.]), [[1.5, 0.0, 0.0, 1.0], [0.5, 1.0, 0.0, 0.0]], array([0, 1, 1, 1]))
    """

    values: Array
    levels: Mapping[int, Levels]

    def __getitem__(self, key: Any) -> Array:
        return np.asarray(self.values[key])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.values.astype(self.dtype if dtype is None else dtype, copy=bool(copy))

    def take(self, columns: Ints) -> CategoryTable:
        """Return some columns, in this order."""
        places = enumerate(np.asarray(columns).tolist())
        return CategoryTable(self.values[:, columns], {i: self.levels[j] for i, j in places if j in self.levels})

    def recoded(self, coded: Array) -> CategoryTable:
        """Return a table of the same features with other coded columns, of shape (n_samples, n_coded)."""
        table = CategoryTable(coded[:, self.starts[:-1]], self.levels)
        vars(table)["coded"] = coded  # what the property would make of codes
        return table

    def columns(self, feature: int) -> Array:
        """Return the coded columns of one feature, of shape (n_samples, n_columns)."""
        return self.coded[:, self.starts[feature] : self.starts[feature + 1]]

    @cached_property
    def several(self) -> Ints:
        """The features that are coded by more than one column: categories of three or more levels without order."""
        return np.flatnonzero(np.diff(self.starts) > 1)

    @cached_property
    def owners(self) -> Ints:
        """The feature of each coded column, ascending; of shape (n_coded,)."""
        widths = np.ones(self.shape[1], dtype=np.intp)
        widths[list(self.levels)] = [levels.n_columns for levels in self.levels.values()]
        return np.repeat(np.arange(self.shape[1]), widths)

    @cached_property
    def starts(self) -> Ints:
        """The first coded column of each feature, and their number; of shape (n_features + 1,)."""
        return np.searchsorted(self.owners, np.arange(self.shape[1] + 1))

    @cached_property
    def coded(self) -> Array:
        """Numbers and codes, but one 0/1 column per level of a category without order; (n_samples, n_coded)."""
        coded = np.asfortranarray(self.values[:, self.owners])
        for feature, levels in self.levels.items():
            if levels.n_columns > 1:
                part = slice(self.starts[feature], self.starts[feature + 1])
                coded[:, part] = indicators(self.values[:, feature], levels)
        return coded


def indicators(codes: Array, levels: Levels) -> Array:
    """Return one 0/1 column per level, of shape (n_samples, n_levels); NaN where the code is."""
    columns = (codes[:, None] == np.arange(len(levels.labels))).astype(codes.dtype)
    columns[np.isnan(codes)] = np.nan
    return columns


def levels_of(X: Any) -> Mapping[int, Levels]:
    """Return the levels of the categories of a table; none if it has but numbers."""
    return X.levels if isinstance(X, CategoryTable) else {}


def with_levels(values: Any, levels: Mapping[int, Levels]) -> Any:
    """Return a table of numbers and codes as one that knows the levels, if there are any."""
    return CategoryTable(values, levels) if levels else values


def columns_of(X: Any, columns: Ints) -> Any:
    """Return some columns of a table of any kind; of one with categories, with their levels."""
    return X.take(columns) if isinstance(X, CategoryTable) else X[:, columns]


# -- reading -----------------------------------------------------------------------------------------------------------


def is_category(column: Any) -> bool:
    """Return whether a pandas column holds labels: a categorical, true and false, or text that is not all numbers."""
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
        return True
    if not (pd.api.types.is_string_dtype(dtype) or dtype.kind == "O"):
        return False
    try:
        entries = column.dropna().tolist()
    except ArithmeticError:  # the signalling NaN of a Decimal, which cannot even be compared
        return False
    if not all(isinstance(entry, str) for entry in entries):
        return bool(entries) and all(isinstance(entry, bool | np.bool_) for entry in entries)
    return not all(map(_is_number, set(entries)))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class ReadCategory:
    """A column of labels: codes of shape (n_samples,), NaN where there is none, and what was done for them."""

    codes: Array
    levels: Levels
    pooled: tuple[str, ...] = ()  # labels of few samples that became one level
    once: tuple[str, ...] = ()  # levels of a single sample
    n_labels: int = 0  # before any became one level
    by_text: bool = False  # its type does not say that it is a category

    @classmethod
    def from_column(cls, name: str, column: Any, order: Sequence[str] | None = None) -> ReadCategory:
        """Read a pandas column; `order`: all labels of an ordered scale, lowest first.

        Raises
        ------
        ColumnTypeError
            If it has more levels than a category may have, or labels that are not in the order.
        """
        import pandas as pd

        categorical = isinstance(column.dtype, pd.CategoricalDtype)
        ordered = order is not None or (categorical and bool(column.dtype.ordered))
        dtype_labels = [str(label).strip() for label in column.dtype.categories] if categorical else None
        values = column.astype(object).to_numpy()
        present = ~np.asarray(pd.isna(values))
        labels = [str(label).strip() for label in values[present]]
        counts = dict(Counter(labels).most_common())
        if order is not None:
            _check_order(name, counts, order)
        names = list(order) if order is not None else dtype_labels or sorted(counts)
        names = [label for label in dict.fromkeys(names) if label in counts]
        truth = not categorical and order is None and counts.keys() <= {"True", "False"}
        if truth:
            names, counts = ["False", "True"], {"False": 0, "True": 0} | counts
        if not ordered and len(names) > MOST_LEVELS:
            raise ColumnTypeError.of(name, _too_many(names) + _as_groups(name))
        rare = [label for label in names if counts[label] < FEWEST_SAMPLES]
        if ordered or len(rare) < 2 or len(names) < 3:
            rare = []
        levels_left = [label for label in names if label not in rare]
        pool = POOLED if POOLED not in levels_left else f"{POOLED} (pooled)"
        code = {label: position for position, label in enumerate(levels_left)} | dict.fromkeys(rare, len(levels_left))
        codes = np.full(len(values), np.nan)
        codes[present] = [code[label] for label in labels]
        levels = Levels((*levels_left, *[pool] * bool(rare)), ordered)
        once = tuple(label for label in levels_left if counts[label] == 1)
        by_text = order is None and not categorical and not truth
        return cls(codes, levels, tuple(rare), once, len(names), by_text)


def _check_order(name: str, counts: Mapping[str, int], order: Sequence[str]) -> None:
    unknown = [label for label in counts if label not in order]
    if unknown:
        shown = ", ".join(map(repr, unknown[:5]))
        raise ColumnTypeError.of(name, f"has values that its order does not name: {shown}. Name all of them.")


def _too_many(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:3]))
    return (
        f"has {len(names)} different labels ({shown}, ...), and a category has at most {MOST_LEVELS}. Leave the column "
        "out (ignore, in a study), give its labels an order, or merge labels."
    )


def _as_groups(name: str) -> str:
    """Return what to do with a column whose name says whose samples they are."""
    whose = not set(words(name)).isdisjoint(GROUP_WORDS)
    return " If it says which samples are of one patient or animal, pass it as `groups`." if whose else ""


def has_text(X: Any) -> bool:
    """Return whether a frame of pandas has columns that are not numbers or booleans."""
    from pandas.api.types import is_numeric_dtype

    return hasattr(X, "iloc") and not all(map(is_numeric_dtype, X.dtypes))


def category_notes(categories: Mapping[str, ReadCategory], has_groups: bool) -> tuple[Advice, ...]:
    """Return what must be known of columns that were read as categories; one may say whose the samples are."""
    labels_by_code = {
        "text_as_categories": {name: read.levels.labels for name, read in categories.items() if read.by_text},
        "levels_pooled": {name: read.pooled for name, read in categories.items() if read.pooled},
        "level_seen_once": {name: read.once for name, read in categories.items() if read.once},
    }
    notes = []
    for code, labels in labels_by_code.items():
        shown = [f"{name} ({', '.join(texts)})" for name, texts in labels.items()]
        facts: dict[str, Any] = {"n_columns": len(labels), "columns": list(labels), "shown": shown}
        if code == "levels_pooled":
            facts |= {"least": FEWEST_SAMPLES, "labels": [list(texts) for texts in labels.values()]}
        if labels:
            notes.append(Advice(code, facts))
    names = [] if has_groups else [list(categories)[place] for place in names_groups(categories)]
    for name in names:
        n_values, n_samples = categories[name].n_labels, len(categories[name].codes)
        if repeats_values(n_values, n_samples):
            notes.append(Advice("named_like_groups", {"column": name, "n_values": n_values, "n_samples": n_samples}))
    return tuple(notes)
