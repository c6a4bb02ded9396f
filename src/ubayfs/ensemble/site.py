"""Site: what evidence says of the samples it is of, so that it can be pooled with that of other sites.

That are numbers of samples, the coding of the target and the direction of each feature: whether it is higher, or lower,
where the target is. No value of a sample is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._arguments import Array, Floats, Ints, freeze
from ..data.covariates import outside
from ..data.feature_data import FeatureData
from ..data.ranks import centered_ranks, target_columns
from ..data.target import Target

Directions = NDArray[np.int8]

# An association below this share of its largest possible value is rounding.
_NOTHING = 1e-9
_COLUMNS = 256  # that are ranked at once


@dataclass(frozen=True, eq=False)
class RepeatedVotes:
    """Votes of the same ensemble on shuffles of the target, then on both halves of each split of the samples.

    Attributes
    ----------
    votes : csr_array of int of shape (n_shuffles + 2 n_splits, n_features)
    directions : ndarray of int8 of shape (n_votes,)
        Of the features in each of these, in the order of ``votes.indices``.
    n_models : ndarray of int of shape (n_shuffles + 2 n_splits,)
    n_shuffles : int
    """

    votes: sparse.csr_array
    directions: Directions
    n_models: Ints
    n_shuffles: int

    def __post_init__(self) -> None:
        n = self.votes.shape[0]
        if self.directions.shape != self.votes.data.shape or self.n_models.shape != (n,):
            raise ValueError("votes of repeats and their directions differ in number")
        if not 0 <= self.n_shuffles <= n or (n - self.n_shuffles) % 2:
            raise ValueError(f"{n} repeats cannot be {self.n_shuffles} shuffles and pairs of halves")

    @property
    def n_splits(self) -> int:
        """Number of pairs of halves."""
        return (self.votes.shape[0] - self.n_shuffles) // 2

    def row(self, number: int) -> tuple[Ints, Directions, int]:
        """Return votes and directions of all features, both of shape (n_features,), and the number of models."""
        part = slice(*self.votes.indptr[number : number + 2])
        votes = np.zeros(self.votes.shape[1], dtype=np.int64)
        directions = np.zeros(self.votes.shape[1], dtype=np.int8)
        votes[self.votes.indices[part]] = self.votes.data[part]
        directions[self.votes.indices[part]] = self.directions[part]
        return votes, directions, int(self.n_models[number])

    @classmethod
    def of(cls, rows: list[tuple[Ints, Directions, int]], n_features: int, n_shuffles: int) -> RepeatedVotes:
        """Make them of what :meth:`row` returns."""
        chosen = [np.flatnonzero(votes) for votes, _, _ in rows]
        indptr = np.cumsum([0, *map(len, chosen)])
        none = [np.zeros(0, dtype=np.int64)]
        pairs = [(votes[columns], signs[columns]) for (votes, signs, _), columns in zip(rows, chosen, strict=True)]
        votes, signs = (np.concatenate([*none, *(pair[part] for pair in pairs)]) for part in (0, 1))
        shape = (len(rows), n_features)
        matrix = sparse.csr_array((votes, np.concatenate([*none, *chosen]), indptr), shape=shape)
        n_models = np.array([n for *_, n in rows], dtype=np.intp)
        return cls(matrix, signs.astype(np.int8), n_models, n_shuffles)


@dataclass(frozen=True, eq=False)
class Site:
    """The samples that evidence is of, in numbers.

    Attributes
    ----------
    coding : mapping
        The task and, in their order, the classes or labels: the same at all sites that are pooled.
    n_samples : int
    counts : tuple of (str, int)
        Samples of each class or label, of events and censored ones.
    n_effective : float
        Samples of a balanced target that say as much; events of survival.
    directions : ndarray of int8 of shape (n_features,)
        1 or -1 where a feature that has votes rises or falls with the target: with numbers, with the second of two
        classes, with the hazard. 0: no votes, no direction (more classes, categories), or not sent.
    repeats : RepeatedVotes or None
    min_votes_sent : int
        Features with fewer votes are left out of all votes here.
    """

    coding: Mapping[str, Any]
    n_samples: int
    counts: tuple[tuple[str, int], ...]
    n_effective: float
    directions: Directions
    repeats: RepeatedVotes | None = None
    min_votes_sent: int = 0

    def __post_init__(self) -> None:
        freeze(self.directions)

    @classmethod
    def of(cls, data: FeatureData, columns: Ints) -> Site:
        """Return what is to be known of data; directions of some columns."""
        target = data.target
        counts = tuple((str(name), int(n)) for name, n in target.class_counts)
        signs = np.zeros(data.n_features, dtype=np.int8)
        signs[columns] = directions(data, columns)
        return cls(_coding(target), data.n_samples, counts, _n_effective(target, data.n_samples), signs)

    def beside(self, other: Site | None) -> Site:
        """Return the same with the directions of other evidence on the same samples."""
        if other is None:
            return self
        return replace(self, directions=np.where(self.directions == 0, other.directions, self.directions))

    def record(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return everything as plain types and as arrays."""
        names = ("coding", "n_samples", "counts", "n_effective", "min_votes_sent")
        metadata: dict[str, Any] = {name: getattr(self, name) for name in names}
        arrays: dict[str, Array] = {"directions": self.directions}
        if (repeats := self.repeats) is not None:
            metadata["n_shuffles"] = repeats.n_shuffles
            votes = repeats.votes
            parts = (votes.indptr, votes.indices, votes.data, repeats.directions, repeats.n_models)
            arrays |= {f"repeats_{name}": part for name, part in zip(_REPEATS, parts, strict=True)}
        return metadata, arrays

    @classmethod
    def from_record(cls, metadata: Mapping[str, Any], arrays: Mapping[str, Array]) -> Site:
        """Make it of what :meth:`record` returned."""
        signs, repeats = arrays["directions"].astype(np.int8), None
        if "n_shuffles" in metadata:
            indptr, indices, data, vote_signs, n_models = (arrays[f"repeats_{name}"] for name in _REPEATS)
            votes = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, len(signs)))
            votes.check_format(full_check=True)
            repeats = RepeatedVotes(votes, vote_signs.astype(np.int8), n_models, int(metadata["n_shuffles"]))
        counts = tuple((str(name), int(n)) for name, n in metadata["counts"])
        numbers = (int(metadata["n_samples"]), counts, float(metadata["n_effective"]))
        return cls(dict(metadata["coding"]), *numbers, signs, repeats, int(metadata["min_votes_sent"]))


_REPEATS = ("indptr", "indices", "votes", "directions", "models")


def _coding(target: Target) -> dict[str, Any]:
    """Return what must be the same at all sites, in plain types."""
    names = list(target.label_names) if target.classes is None or not target.n_classes else target.classes.tolist()
    numbers = [isinstance(name, int | float) and not isinstance(name, bool) for name in names]
    labels = [f"{float(name):g}" if number else str(name) for name, number in zip(names, numbers, strict=True)]
    return {"task": target.task, "classes": labels, "ordered": bool(target.ordered)}


def _n_effective(target: Target, n: int) -> float:
    """Return 4 n1 n0 / n of two classes, n (1 - sum p^2) C / (C - 1) of C, the events of survival, else n."""
    if target.task == "survival":
        return float(target.event.sum())
    if not target.n_classes:
        return float(n)
    shares, C = np.array([count for _, count in target.class_counts]) / n, target.n_classes
    return float(n * (1 - (shares**2).sum()) * C / (C - 1))


def directions(data: FeatureData, columns: Ints) -> Directions:
    """Return the signs of AUC - 1/2, or of the correlation in ranks, of some columns; beyond covariates, if any.

    Survival: of the correlation with event less cumulative hazard (Nelson-Aalen). 0 for several classes or labels, and
    for categories without order.

    >>> data = FeatureData.from_table([[1, 4, 1], [2, 3, 0], [3, 1, 0], [4, 2, 1]], [0, 0, 1, 1])
    >>> directions(data, np.arange(3)).tolist()
    [1, -1, 0]
    """
    signs = np.zeros(len(columns), dtype=np.int8)
    scores = np.zeros((data.n_samples, 0)) if data.target.values is None else target_columns(data.target)
    if scores.shape[1] != 1:
        return signs
    if data.covariates is not None:
        scores = outside(data.covariates.basis, scores)
    named = np.array([j in data.levels and not data.levels[j].ordered for j in columns.tolist()], dtype=bool)
    places = np.flatnonzero(~named)
    for part in np.split(places, range(_COLUMNS, len(places), _COLUMNS)):
        ranks: Floats = centered_ranks(np.asarray(data.X[:, columns[part]], dtype=np.float64))
        sums = scores[:, 0] @ ranks
        largest = np.sqrt((scores**2).sum() * (ranks**2).sum(axis=0))
        signs[part] = np.sign(np.where(np.abs(sums) > _NOTHING * largest, sums, 0.0))
    return signs
