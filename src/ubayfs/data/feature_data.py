"""FeatureData: a checked table of numbers with its target, and all that belongs to its samples and features."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._arguments import Array, FeatureIndex, Ints, Mask, made_names
from ..exceptions import Advice, InputError
from .advice import class_advice, identical_advice, outlier_advice
from .blocks import Blocks
from .categories import Levels, category_notes, columns_of, levels_of, with_levels
from .covariate_reading import check_not_features, named_in, take_covariates
from .covariates import Covariates, covariate_advice
from .leakage import leakage_advice
from .look_alikes import group_advice, identical_row_advice, look_alike_advice
from .mapped_array import TableFile, hash_values, map_table
from .matrix import feature_chunks, read_matrix
from .missing import FILLS, MAX_MISSING, Gaps, check_missing, samples_of
from .parts import check_aligned, is_anndata, parts_of
from .reading_rules import names_groups, target_columns
from .sparse_columns import SparseColumns
from .target import Target, read_groups, read_target


@dataclass(frozen=True, eq=False)
class FeatureData:
    """A checked table: numbers (finite, or NaN where a value is missing), distinct names, a target that fits.

    Attributes
    ----------
    X : ndarray of float32 or float64 of shape (n_samples, n_features), SparseColumns or CategoryTable
        Shares memory with the caller's array where it could; never written to. A sparse table stays sparse. One with
        categories has codes in their columns, and knows the levels.
    target : Target
    feature_names : ndarray of str (object) of shape (n_features,)
    groups : ndarray of int of shape (n_samples,) or None
        Rows with the same number stay together in every subsample.
    path : str or None
        The file that X is mapped from, when the caller named one.
    missing : {"available", "drop_rows", "drop_columns", "median"} or None
        The rule that was applied to missing values; None if there were none.
    notes : tuple of Advice
        What became of missing values, and whatever else the reader of the table did.
    blocks : Blocks or None
        Groups of features that were measured together, such as those of one file.
    sample_names : ndarray of str (object) of shape (n_samples,) or None
        Ids of the samples, where the files have them.
    covariates : Covariates or None
        That features are adjusted for; never features.
    """

    X: Array
    target: Target
    feature_names: Array
    groups: Ints | None = None
    path: str | None = None
    missing: str | None = None
    notes: tuple[Advice, ...] = ()
    blocks: Blocks | None = None
    sample_names: Array | None = None
    covariates: Covariates | None = None

    @classmethod
    def from_table(
        cls,
        X: Any,
        y: Any = None,
        *,
        task: str | None = None,
        groups: Any = None,
        target: Any = None,
        layer: str | None = None,
        missing: str = "error",
        max_missing: float = MAX_MISSING,
        adjust_for: Any = None,
        measured: Any = (),
    ) -> FeatureData:
        """Read and check a table.

        Parameters
        ----------
        X : array-like, DataFrame, sparse matrix, AnnData or path of a .npy file, of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_labels), optional
        task, groups, target, layer, missing, max_missing, adjust_for, measured
            As in :func:`~ubayfs.collect_evidence`.

        Notes
        -----
        Samples count by position. When X and `y` (or `groups`) both come from pandas, their indexes must agree: the
        same labels in another order and other labels are refused, nothing is put in order silently. An index that was
        made up (0, 1, 2, ...) agrees with every other one that is not a permutation of it.

        A feature that is left out keeps its position: it is 0 in all samples, and so it cannot be chosen. `notes` lists
        all of them.
        """
        missing, max_missing = check_missing(missing, max_missing)
        path = None
        if isinstance(X, str | os.PathLike):
            path = os.path.abspath(os.fsdecode(X))
            X = map_table(path)
        parts, covariates = take_covariates(parts_of(X, y, groups, target, layer), adjust_for, measured)
        path = path if parts.values is X else None
        y, groups = parts.y, parts.groups
        for name, labeled in (("y", y), ("groups", groups)):
            check_aligned(name, labeled, parts.index)
        matrix, names, categories = read_matrix(parts.values, missing, parts.feature_names)
        levels = {position: read.levels for position, read in categories.items()}
        labeled = {str(names[j]): read for j, read in categories.items()}
        notes = (*parts.notes, *category_notes(labeled, groups is not None))
        read, group_codes = read_target(y, len(matrix), task), read_groups(groups, len(matrix))
        no_gaps = missing == "error" or isinstance(matrix, SparseColumns)
        gaps = None if no_gaps else Gaps.from_table(matrix, names, missing, max_missing)
        kept = matrix if gaps is None else gaps.left_of(matrix, missing)
        if gaps is not None and len(kept) < len(matrix):
            y, groups = (samples_of(values, gaps.rows) for values in (y, groups))
            read, group_codes = read_target(y, len(kept), task), read_groups(groups, len(kept))
            covariates = None if covariates is None else covariates.take(gaps.rows)
        rule, notes = (None, notes) if gaps is None else (missing, (*notes, *gaps.notes))
        if covariates is not None:
            check_not_features(covariates, names)
            notes = (*notes, *covariate_advice(covariates, read))
        if groups is None and parts.obs is not None:
            notes = (*notes, *_unused_groups(parts.obs, target, covariates, None if gaps is None else gaps.rows))
        path = path if kept is matrix else None
        X = with_levels(kept, levels)
        return cls(X, read, names, group_codes, path, rule, notes, covariates=covariates)

    @classmethod
    def from_fit(
        cls, X: Any, feature_names: Any, missing: str | None = None, adjust_for: Sequence[str] = ()
    ) -> FeatureData:
        """Read the data that features were chosen on: one column per feature, in their order.

        Columns of a frame are put into this order by name. When they share no name with the features (those of an array
        are made up), columns count by position. `missing` and `adjust_for` are the rule for missing values and the
        covariates of the fit; all features with any value stay, and columns with the names of covariates are none.
        """
        data = X
        if not isinstance(X, FeatureData):
            covariates = named_in(X, adjust_for, len(feature_names)) or None
            data = cls.from_table(X, missing=missing or "error", max_missing=1.0, adjust_for=covariates)
        names = np.asarray(feature_names, dtype=object)
        if data.n_features != len(names):
            raise InputError.of(
                "X", f"must have one column per feature, {len(names)}; got {data.n_features}. Pass the data of the fit."
            )
        shared = set(data.feature_names) & set(names)
        if not shared or np.array_equal(data.feature_names, names):
            return data
        unknown = [name for name in data.feature_names if name not in shared]
        if unknown:
            raise InputError.of("X", f"has a column {unknown[0]!r}, which is not a feature. Pass the data of the fit.")
        order = FeatureIndex(data.feature_names).positions(names, "X")
        ordered = data.X.take(order) if isinstance(data.X, SparseColumns) else columns_of(data.X, order)
        return replace(data, X=ordered, feature_names=names, path=None)

    def positions_in(self, X: Any) -> Ints:
        """Return the positions of the features in the table that they were read from: all columns but covariates."""
        if self.covariates is None or is_anndata(X):
            return np.arange(self.n_features)
        columns = X.columns if hasattr(X, "columns") else made_names(np.shape(X)[1])
        features = set(self.feature_names)
        return np.flatnonzero([str(label) in features for label in columns])

    @property
    def levels(self) -> Mapping[int, Levels]:
        """The levels of categories, by the positions of their columns."""
        return levels_of(self.X)

    def __repr__(self) -> str:
        return f"FeatureData({self.n_samples:,} samples, {self.n_features:,} features, {self.target.task})"

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @cached_property
    def extremes(self) -> tuple[Array, Array]:
        """Smallest and largest present value of each column, both of shape (n_features,); NaN if there is none."""
        if isinstance(self.X, SparseColumns):
            return self.X.extremes()
        low, high = np.empty((2, self.n_features), dtype=self.X.dtype)
        for part in feature_chunks(self.n_features):
            low[part], high[part] = (extreme.reduce(self.X[:, part], axis=0) for extreme in (np.fmin, np.fmax))
        return low, high

    @cached_property
    def constant(self) -> Mask:
        """Mask of columns that have one value in all samples (that have any), of shape (n_features,)."""
        low, high = self.extremes
        return np.asarray(~(low < high))

    @property
    def fill(self) -> str | None:
        """What selectors that need complete data see in gaps, "mean" or "median"; None: there are no gaps."""
        return FILLS.get(self.missing or "")

    @property
    def about_missing(self) -> Advice | None:
        """The note on missing values, None if there were none."""
        return next((note for note in self.notes if note.code == f"missing_{self.missing}"), None)

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What must be known: how files were read, suspicions, small classes, outlying values, equal features."""
        # What a rule did about missing values is what was asked for; nobody has to be warned of it.
        notes = tuple(note for note in self.notes if note is not self.about_missing)
        columns = (self.X, *self.extremes, self.feature_names)
        low, high = self.extremes
        if self.levels:  # a code is not far from others
            low = np.where(np.isin(np.arange(self.n_features), list(self.levels)), high, low)
        outliers = outlier_advice(self.X, low, high, self.feature_names)
        return (
            *notes, *self._suspicions(), *class_advice(self.target), *outliers, *identical_advice(*columns),
        )  # fmt: skip

    def _suspicions(self) -> Iterator[Advice]:
        """Yield what would make all results too good: repeats of the same patient, a feature that is the target."""
        if self.groups is None:
            # Of categories only what was read says it: rare labels have become one level.
            telling = [j for j in names_groups(self.feature_names) if j not in self.levels]
            yield from group_advice({str(self.feature_names[j]): self.X[:, j] for j in telling})
            yield from look_alike_advice(self.X, self.target, self.constant, self.sample_names)
        yield from identical_row_advice(self.X, self.groups, self.sample_names)
        yield from leakage_advice(self.X, self.target, self.feature_names)

    @cached_property
    def values_hash(self) -> str:
        """Hash of the shape, the precision and the values of X."""
        return hash_values(self.X)

    @property
    def file(self) -> TableFile | None:
        """The file of X in a form that can be sent to other machines; None when X is not a file."""
        return None if self.path is None else TableFile(self.path, self.values_hash)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of values, names, target, groups and covariates: tells data sets apart in checkpoints and merges."""
        digest = hashlib.sha256(f"{self.values_hash} {self.target.task}".encode())
        # Classes and their order count too: foreign selectors see the labels, concordance the order.
        classes = None if self.target.classes is None else [str(c) for c in self.target.classes]
        levels = [[position, *category.labels, category.ordered] for position, category in self.levels.items()]
        described = [list(self.feature_names), classes, self.target.ordered, *[levels] * bool(levels)]
        digest.update(json.dumps(described).encode())
        extras = [self.target.values, self.groups]
        if self.covariates is not None:
            digest.update(json.dumps(self.covariates.names).encode())
            extras.append(self.covariates.design)
        for extra in extras:
            digest.update(b"-" if extra is None else f"{extra.dtype} {extra.shape}".encode())
            if extra is not None:
                digest.update(np.ascontiguousarray(extra).data)
        return digest.hexdigest()


def _unused_groups(obs: Any, target: Any, covariates: Covariates | None, rows: Mask | None) -> tuple[Advice, ...]:
    """Return advice on columns of AnnData that nobody named and that may say whose the samples are."""
    named = {*target_columns(target), *(() if covariates is None else covariates.names)}
    columns = {str(obs.columns[j]): obs.iloc[:, j] for j in names_groups(obs.columns)}
    return group_advice({
        name: column if rows is None else column[rows] for name, column in columns.items() if name not in named
    })  # fmt: skip
