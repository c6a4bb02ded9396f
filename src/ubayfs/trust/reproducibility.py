"""Reproducibility: would another study choose these features again?

The whole procedure is repeated on complementary halves of the samples. With S and S' the sets of two such halves, k and
k' their sizes and P the number of features that vary in the data:

- agreement a = (|S & S'| - k k'/P) / ((k + k')/2 - k k'/P): 0 by chance, 1 for equal sets; undefined for empty sets;
- lower = mean of a, for studies of half the size; upper = 2 lower / (1 + lower), projected to the whole size;
- interval = [lower - h, 2 x / (1 + x) at x = lower + h] with h = 1.96 sd(a) sqrt(1/n + 1/2), n pairs of halves;
- of the k members, k (phi + (1 - phi) k/P) are chosen again at an agreement phi.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._arguments import Array, Floats, Mask
from ..exceptions import Advice

RARELY, USUALLY = 1 / 3, 2 / 3
LABELS = ("rarely", "sometimes", "usually")
# Shares of the halves between which the range of a vote share lies.
_RANGE = (0.05, 0.95)


@dataclass(frozen=True, eq=False)
class Reproducibility:
    """Agreement of the sets that are chosen on disjoint halves of the samples.

    Attributes
    ----------
    feature_names : ndarray of str (object) of shape (n_features,)
    chosen : ndarray of bool of shape (n_features,)
        The set that was chosen on all samples.
    n_varying : int
        P, the number of features that vary in the data.
    agreements : ndarray of float of shape (n_pairs,)
        Of each pair of halves; NaN where a set is empty.
    share_of_halves : ndarray of float of shape (n_features,)
        In which share of the halves each feature was chosen, as counted.
    vote_share : ndarray of float of shape (n_features, 2)
        5 % and 95 % of the share of the models that chose a feature, over the halves.
    n_splits : int
        Splits that were asked for.
    failures : tuple of str
        Why further splits are left out: no ensemble, or no set under the constraints.
    """

    feature_names: Array
    chosen: Mask
    n_varying: int
    agreements: Floats
    share_of_halves: Floats
    vote_share: Floats
    n_splits: int
    failures: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of chosen features, k."""
        return int(self.chosen.sum())

    @cached_property
    def _defined(self) -> Floats:
        return self.agreements[~np.isnan(self.agreements)]

    @property
    def n_used(self) -> int:
        """Number of splits that the agreement rests on."""
        return len(self._defined)

    @property
    def n_undefined(self) -> int:
        """Number of splits in which nothing was chosen on a half."""
        return len(self.agreements) - self.n_used

    @property
    def complete(self) -> bool:
        """Whether all splits that were asked for are in it, or could not be used."""
        return len(self.agreements) + len(self.failures) == self.n_splits

    @property
    def lower(self) -> float:
        """Agreement of studies of half the size; NaN if no split can be used."""
        return float(self._defined.mean()) if self.n_used else float("nan")

    @property
    def upper(self) -> float:
        """Agreement projected to studies of the whole size; NaN if no split can be used."""
        return projected(self.lower)

    @property
    def interval(self) -> tuple[float, float]:
        """Where the agreement of studies lies in about 95 % of cases; NaN with fewer than two splits."""
        if self.n_used < 2:
            return float("nan"), float("nan")
        h = 1.96 * float(self._defined.std(ddof=1)) * (1 / self.n_used + 1 / 2) ** 0.5
        return max(-1.0, self.lower - h), projected(min(1.0, self.lower + h))

    @property
    def chosen_again(self) -> tuple[float, float]:
        """How many of the chosen features another study would choose, at `lower` and at `upper`."""
        return self._again(self.lower), self._again(self.upper)

    def _again(self, phi: float) -> float:
        k = self.size
        by_chance = k / self.n_varying if self.n_varying else 0.0
        return float(np.clip(k * (phi + (1 - phi) * by_chance), 0.0, k))

    @cached_property
    def frequency(self) -> Floats:
        """How often each feature would be chosen, of shape (n_features,).

        The share of the halves that chose it, scaled such that no more members are chosen again than `chosen_again`.
        """
        total, again = float(self.share_of_halves[self.chosen].sum()), self.chosen_again[1]
        return self.share_of_halves * (min(1.0, again / total) if total > 0 and self.n_used else 1.0)

    @property
    def labels(self) -> Array:
        """The frequency as one of "rarely", "sometimes", "usually", of shape (n_features,)."""
        step = (self.frequency >= RARELY).astype(int) + (self.frequency > USUALLY)
        return np.array(LABELS, dtype=object)[step]

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What must be known: splits that were cancelled or could not be used."""
        found = list[Advice]()
        if self.failures:
            facts = {"n_failed": len(self.failures), "n": self.n_splits, "what": "splits", "error": self.failures[0]}
            found.append(Advice("repeats_failed", facts))
        if not self.complete:
            done = len(self.agreements) + len(self.failures)
            found.append(Advice("repeats_cancelled", {"n_done": done, "n": self.n_splits, "what": "splits"}))
        return tuple(found)


def projected(agreement: float) -> float:
    """Return the agreement of studies of twice the size, by Spearman and Brown; what is at most chance stays.

    >>> projected(0.5), projected(-0.1)
    (0.666..., -0.1)
    """
    return 2 * agreement / (1 + agreement) if agreement > 0 else agreement


def agreement(first: Mask, second: Mask, n_varying: int) -> Floats:
    """Return the agreement of pairs of sets beyond chance, of shape (n_pairs,); NaN where it is undefined.

    Parameters
    ----------
    first, second : ndarray of bool of shape (n_pairs, n_features)
    n_varying : int
        How many features could be chosen.

    Examples
    --------
    >>> agreement(np.array([[1, 1, 0, 0]] * 3, dtype=bool), np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]) > 0, 4)
    array([ 1.,  0., nan])
    """
    k, other, common = first.sum(axis=1), second.sum(axis=1), (first & second).sum(axis=1)
    expected = k * other / max(n_varying, 1)
    most = (k + other) / 2 - expected
    defined = (k > 0) & (other > 0) & (most > 0)
    return np.where(defined, (common - expected) / np.where(defined, most, 1.0), np.nan)
