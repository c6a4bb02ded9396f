"""What an elementary selector is, and the two ways to write one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array, Floats, Generators, Ints, Mask
from ..data.feature_data import FeatureData, Target
from ..exceptions import Advice, InputError, repr_of

# Scores within this distance (relative to scores of order one) are ties, so that the order of floating-point
# sums (chunks, threads) cannot decide between features.
TIE = 1e-9

# What carried a vote, where a selector says so: the feature as it is, a curve of it, or (its position) the feature that
# it acts together with; UNSAID where another selector of the ensemble says nothing.
STRAIGHT, CURVE, UNSAID = -1, -2, -3


class Choice(NamedTuple):
    """What a run chose."""

    columns: Ints
    carriers: Ints | None = None  # of the same shape: what carried each vote; None if the selector does not say


class ElementarySelector(ABC):
    """Chooses features on one subsample; may work on many subsamples at once.

    Attributes
    ----------
    name : str
        Its name in the registry, in messages and in results.
    tasks : frozenset of str
        The tasks it can do; any other is refused before work begins.
    usual_name : str
        What people call it, for reports; empty: its class with its settings.
    finds : str
        Which features it finds, in a sentence for those who choose; empty: the first line of its docstring.
    reference : (str, str)
        How a text cites it, such as "Ding and Peng, 2005", and the entry of a list of references; empty without one.
    joint : bool
        True when many runs together take far less time than each alone, and the work on them is shared among threads by
        :func:`~ubayfs.selectors.threads.each_block`. Up to 100 runs are then done at once.
    n_together : int
        Of a selector that is not joint: how many runs in one call take notably less time than each alone, on small
        data. Runs that are stored one by one are done in calls of so many.
    nested : bool
        True when the first k of more features that a run chooses are always those that it chooses with
        ``n_features=k``: runs that may choose different numbers can be done together then.
    takes_gaps : bool
        True when :meth:`select_many` knows what to do about missing values (NaN). To others the ensemble gives the
        samples of each run with gaps filled from these samples.
    adjusts : bool
        True when :meth:`select_adjusted` scores features beyond covariates. To others the ensemble gives the samples of
        each run without what covariates explain there.
    adjusts_gaps : bool
        True when it also knows what to do about missing values.
    takes_categories : bool
        True when :meth:`select_many` knows what to do about a CategoryTable.
    categories_as_numbers : bool
        Of others: True when they get a number in place of each category, made for each run
        (:mod:`~ubayfs.selectors.category_numbers`), False when they get coded columns, one for each level.
    """

    name: ClassVar[str]
    tasks: ClassVar[frozenset[str]]
    usual_name: ClassVar[str] = ""
    finds: ClassVar[str] = ""
    reference: ClassVar[tuple[str, str]] = ("", "")
    joint: ClassVar[bool] = False
    n_together: ClassVar[int] = 1
    nested: ClassVar[bool] = False
    takes_gaps: ClassVar[bool] = False
    adjusts: ClassVar[bool] = False
    adjusts_gaps: ClassVar[bool] = False
    takes_categories: ClassVar[bool] = False
    categories_as_numbers: ClassVar[bool] = True

    @abstractmethod
    def select_many(self, X: Array, target: Target, subsamples: Mask, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose features on each of several subsamples.

        Parameters
        ----------
        X : ndarray or SparseColumns of shape (n_samples, n_features_total)
            All samples; never written to. ``X[:, columns]`` and ``X[samples]`` are dense arrays in both cases, with
            NaN where a value is missing, if the selector `takes_gaps`.
        target : Target
            Of all samples.
        subsamples : ndarray of bool of shape (n_models, n_samples)
            Row m marks the samples of run m.
        n_features : int
            The most that a run may choose.
        rngs : sequence of Generator, one per run
            The only source of randomness; run m uses its own.

        Returns
        -------
        chosen : list of ndarray of int, one per run
            At most `n_features` distinct columns each, best first. Columns constant in a subsample are never chosen.
        """

    def advice(self, target: Target) -> tuple[Advice, ...]:
        """Return what must be known of how it treats a target, beside its documentation."""
        return ()

    def select_adjusted(
        self, X: Array, target: Target, design: Floats, subsamples: Mask, n_features: int, rngs: Generators
    ) -> list[Ints]:
        """Choose features for what they tell beyond covariates; as :meth:`select_many`.

        There are missing values only if it `adjusts_gaps`.

        `design` has the coded covariates, of shape (n_samples, n_columns).
        """
        raise NotImplementedError(f"{self.name} does not adjust for covariates by itself")

    def choices(
        self,
        X: Array,
        target: Target,
        design: Floats | None,
        subsamples: Mask,
        n_features: int,
        rngs: Generators,
    ) -> Sequence[Array | Choice]:
        """Return what :meth:`select_many`, or :meth:`select_adjusted` if there is a design, chooses.

        A selector that knows what carries a vote tells it here.
        """
        if design is None:
            return self.select_many(X, target, subsamples, n_features, rngs)
        return self.select_adjusted(X, target, design, subsamples, n_features, rngs)

    def prepared(self, X: Array) -> ElementarySelector:
        """Return a selector for runs on this table alone, with what all of them need of it computed once.

        Blocks of columns may be shared among threads by :func:`~ubayfs.selectors.threads.each_block`.
        """
        return self

    def __call__(self, X: Any, y: Any, n_features: int, rng: np.random.Generator) -> Ints:
        """Choose at most `n_features` columns of a table, best first."""
        data = FeatureData.from_table(X, y)
        everything = np.ones((1, data.n_samples), dtype=bool)
        if data.levels and not self.takes_categories:
            raise InputError.of("X", "has categories, which only an ensemble codes; pass numbers.")
        return self.select_many(data.X, data.target, everything, n_features, [rng])[0]


class PerRunSelector(ElementarySelector):
    """A selector that looks at one subsample at a time."""

    @abstractmethod
    def select(self, X: Array, target: Target, n_features: int, rng: np.random.Generator) -> Ints:
        """Choose at most `n_features` columns of `X` (the samples of one subsample, no constant columns)."""

    def select_many(self, X: Array, target: Target, subsamples: Mask, n_features: int, rngs: Generators) -> list[Ints]:
        """Run :meth:`select` on each subsample, without its constant columns."""
        chosen = []
        for rows, rng in zip(subsamples, rngs, strict=True):
            part = X[rows]
            varying = np.flatnonzero((part != part[0]).any(axis=0))
            if len(varying) == 0:
                chosen.append(np.empty(0, dtype=np.intp))
                continue
            if len(varying) < part.shape[1]:
                part = part[:, varying]
            picks = self.select(part, target.take(rows), min(n_features, len(varying)), rng)
            chosen.append(varying[picks])
        return chosen


def best_first(scores: NDArray[np.floating], n_features: int) -> Ints:
    """Return the columns with the `n_features` highest finite scores, best first; ties go to the lower index.

    Scores are of order one; those within ``TIE`` of each other count as equal.

    Examples
    --------
    >>> best_first(np.array([0.5, 0.9, 0.9 + 1e-12, -np.inf]), 3)
    array([1, 2, 0])
    """
    remaining = np.array(scores, dtype=np.float64)
    order = np.argsort(-remaining, kind="stable")[: int(np.isfinite(remaining).sum())]
    gaps = remaining[order[:-1]] - remaining[order[1:]]
    if not ((gaps > 0) & (gaps <= 2 * TIE)).any():  # equal or far apart: the order says it all
        return order[:n_features]
    picks = []
    for _ in range(min(n_features, int(np.isfinite(remaining).sum()))):
        pick = int(np.argmax(remaining >= remaining.max() - TIE))  # the first of the ties
        picks.append(pick)
        remaining[pick] = -np.inf
    return np.array(picks, dtype=np.intp)


def checked_columns(returned: Any, n_columns: int, n_features: int, name: str, mask_too: bool = False) -> Ints:
    """Return what a selector chose as column positions, or raise saying what is wrong with it."""
    mask = f" (or a mask of shape ({n_columns},))" if mask_too else ""
    rule = f"selector {name!r} must return distinct column indices{mask}"
    try:
        picks = np.asarray(returned)
    except ValueError as error:
        raise InputError(f"{rule}; got {repr_of(returned)}.") from error
    if mask_too and picks.dtype == bool and picks.shape == (n_columns,):
        picks = np.flatnonzero(picks)
    elif picks.size == 0 and picks.ndim == 1:
        picks = picks.astype(np.intp)
    if picks.ndim != 1 or picks.dtype.kind not in "iu":
        raise InputError(f"{rule}; got {type(returned).__name__} of {picks.dtype} and shape {picks.shape}.")
    outside = picks[(picks < 0) | (picks >= n_columns)]
    if len(outside):
        raise InputError(f"{rule} from 0 to {n_columns - 1}; got {outside[0]}.")
    ascending = np.sort(picks)
    repeated = ascending[1:][ascending[1:] == ascending[:-1]]
    if len(repeated):
        raise InputError(f"{rule}; index {repeated[0]} came more than once.")
    if len(picks) > n_features:
        raise InputError(f"{rule}, at most n_features={n_features} of them; got {len(picks)}.")
    return picks.astype(np.intp)
