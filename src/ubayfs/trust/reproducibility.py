"""Reproducibility: whether another study would choose these features again.

The whole procedure is repeated on complementary halves of the samples. With S and S' the sets of two such halves, k and
k' their sizes and P the number of features that vary in the data:

- agreement a = (|S & S'| - k k'/P) / ((k + k')/2 - k k'/P): 0 by chance, 1 for equal sets, also where both hold all P
  features; undefined for empty sets;
- lower = mean of a, for studies of half the size; s = sd sqrt(1/n + 1/2) its standard error, of n pairs of halves.
  sd is that of a, and not less than that of a binomial number of common members, sqrt(k lower (1 - lower) + 1/3) / k:
  halves that happen to share nothing say little;
- upper = 4 x / (1 + 3 x) with x = lower + s, projected to the whole size. Agreement is a product of two hit rates, and
  that of a weak signal grows in proportion to the samples, so that twice the samples bring four times the agreement:
  the formula of Spearman and Brown with 4 in place of 2, which is right for a few strong signals, too low for others;
- interval = [lower - 1.96 s, the larger projection of x = lower + 1.96 s]. One projection is the same; the other is
  that of signals of one strength, which pass the threshold of the k best of P together: with f^2 = x, z the normal
  quantile and t = z(k/P) it is Phi(sqrt(2) (z(f) - t) + t)^2, since twice the samples bring sqrt(2) times the effect;
- of the k members, k (phi + (1 - phi) k/P) are chosen again at an agreement phi.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from .._arguments import Array, Floats, Mask, RandomState, as_seed_sequence
from .._plain import ShownAsCard
from ..data.feature_data import FeatureData
from ..ensemble.evidence import Evidence
from ..ensemble.progress import Progress
from ..exceptions import Advice, InputError, OptimizationError
from ..priors import PriorKnowledge
from ..selection import Selection, check_selection
from ..workflow import Decision
from .ensembles import HalfEnsembles, check_same_ensemble, half_ensembles
from .procedure import plan_halves, read_data, split_arguments, take_samples
from .repeats import check_usable, evidence_and_repeats, repeats_advice

RARELY, USUALLY = 1 / 3, 2 / 3
LABELS = ("rarely", "sometimes", "usually")
# By how much the agreement of weak signals grows with twice the samples.
_WEAK = 4.0
# Shares of the halves between which the range of a vote share lies.
_RANGE = (0.05, 0.95)


@dataclass(frozen=True, eq=False)
class Reproducibility(ShownAsCard):
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

    Examples
    --------
    >>> import numpy as np
    >>> from ubayfs import max_size, reproduce
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 30)
    >>> X = rng.normal(size=(60, 40))
    >>> X[:, :2] += 2 * y[:, None]
    >>> found = reproduce(X, y, n_models=10, n_splits=4, constraints=max_size(2, rho=np.inf), random_state=0)
    >>> found.size, found.labels[:3].tolist()
    (2, ['usually', 'usually', 'rarely'])
    """

    feature_names: Array
    chosen: Mask
    n_varying: int
    agreements: Floats
    share_of_halves: Floats
    vote_share: Floats
    n_splits: int
    failures: tuple[str, ...] = ()

    def __repr__(self) -> str:
        agreement = f"lower={self.lower:.2f}, upper={self.upper:.2f}"
        return f"Reproducibility(size={self.size}, {agreement}, n_splits={self.n_used})"

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
        """Agreement that studies of the whole size may reach, by one standard error; NaN if no split can be used."""
        return projected(float(np.minimum(self.lower + self._standard_error, 1.0)), _WEAK)

    @property
    def interval(self) -> tuple[float, float]:
        """Where the agreement of studies lies in about 95 % of cases; NaN with fewer than two splits."""
        if self.n_used < 2:
            return float("nan"), float("nan")
        h, share = 1.96 * self._standard_error, self.size / max(self.n_varying, 1)
        highest = min(1.0, self.lower + h)
        return max(-1.0, self.lower - h), max(projected(highest, _WEAK), _projected_alike(highest, share))

    @cached_property
    def _standard_error(self) -> float:
        """That of `lower` over data sets; NaN if no split can be used."""
        if not self.n_used:
            return float("nan")
        k, spread = max(self.size, 1), float(self._defined.std(ddof=1)) if self.n_used > 1 else 0.0
        by_counting = (k * max(self.lower, 0.0) * (1 - self.lower) + 1 / 3) ** 0.5 / k
        return float(max(spread, by_counting) * (1 / self.n_used + 1 / 2) ** 0.5)

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
        """How often each feature would be chosen, of shape (n_features,); NaN if no split was made.

        The share of the halves that chose it, scaled such that no more members are chosen again than at the agreement
        that Spearman and Brown project, amid the range of `chosen_again`.
        """
        if not len(self.agreements):
            return np.full(len(self.share_of_halves), np.nan)
        total, again = float(self.share_of_halves[self.chosen].sum()), self._again(projected(self.lower))
        return self.share_of_halves * (min(1.0, again / total) if total > 0 and self.n_used else 1.0)

    @property
    def labels(self) -> Array:
        """The frequency as one of "rarely", "sometimes", "usually", of shape (n_features,), or "unknown"."""
        step = (self.frequency >= RARELY).astype(int) + (self.frequency > USUALLY)
        return np.where(np.isnan(self.frequency), "unknown", np.array(LABELS, dtype=object)[step])

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What must be known: splits that were cancelled or could not be used."""
        n_tried = len(self.agreements) + len(self.failures)
        return repeats_advice("splits", self.n_splits, n_tried, self.failures, not self.complete)


def projected(agreement: float, factor: float = 2.0) -> float:
    """Return the agreement of studies of twice the size, by Spearman and Brown; what is at most chance stays.

    `factor` is by how much a small agreement grows.

    >>> projected(0.5), projected(-0.1), projected(0.5, 4)
    (0.666..., -0.1, 0.8)
    """
    return factor * agreement / (1 + (factor - 1) * agreement) if agreement > 0 else agreement


def _projected_alike(agreement: float, share: float) -> float:
    """Return the agreement of studies of twice the size where all signals are of one strength; `share` is k/P.

    >>> _projected_alike(0.25, 0.01)
    0.69...
    """
    if not (0 < agreement < 1 and 0 < share < 1):
        return agreement
    threshold = ndtri(share)
    return float(ndtr(2**0.5 * (ndtri(agreement**0.5) - threshold) + threshold) ** 2)


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
    >>> agreement(np.ones((1, 4), dtype=bool), np.ones((1, 4), dtype=bool), 4)  # nothing else could be chosen
    array([1.])
    """
    k, other, common = first.sum(axis=1), second.sum(axis=1), (first & second).sum(axis=1)
    expected = k * other / max(n_varying, 1)
    most = (k + other) / 2 - expected
    found = np.where(most > 0, (common - expected) / np.where(most > 0, most, 1.0), 1.0)
    return np.where((k > 0) & (other > 0), found, np.nan)


def reproducibility_of(
    selection: Selection,
    halves: HalfEnsembles,
    decision: Decision,
    data: FeatureData | None = None,
    knowledge: PriorKnowledge | None = None,
) -> Reproducibility:
    """Decide on every half as on all samples, and compare the sets.

    Parameters
    ----------
    selection : Selection
        What was decided on all samples.
    halves : HalfEnsembles
        Ensembles on halves of the same samples, with the same settings.
    decision, knowledge
        What it was decided with; see :meth:`~ubayfs.workflow.Decision.make`.
    data : FeatureData, optional
        All samples; needed by constraints on correlations.

    Raises
    ------
    InputError
        If the halves are of other data or settings, or data are needed.
    EnsembleError
        If more than half of the splits cannot be used, such as where no set keeps all hard constraints.
    """
    check_selection(selection)
    if selection.posterior is None:
        raise InputError.of("selection", "has no votes; pass one that decide() returned.")
    evidence, needs_data = selection.posterior.evidence, any(c.needs_data for c in decision.constraints)
    check_same_ensemble("halves", halves.settings, evidence)
    if needs_data and data is None:
        raise InputError.of("data", "is missing; a constraint on correlations needs the data of the halves.")
    decision = decision.but(n_alternatives=0)
    sets: list[tuple[Mask, Mask]] = []
    failures = list(halves.failures)
    for pair, first in zip(halves.pairs, halves.samples, strict=True):
        parts = (take_samples(data, s) if needs_data and data is not None else None for s in (first, ~first))
        try:
            one, other = (
                decision.make(half, part, knowledge=knowledge).mask for half, part in zip(pair, parts, strict=True)
            )
            sets.append((one, other))
        except (InputError, OptimizationError) as error:
            failures.append(str(error))
    check_usable("splits", failures, halves.n_splits)
    n_varying = int(np.count_nonzero(~evidence.constant))
    both = np.array(sets, dtype=bool).reshape(len(sets), 2, evidence.n_features)
    return Reproducibility(
        feature_names=evidence.feature_names,
        chosen=selection.mask,
        n_varying=n_varying,
        agreements=agreement(both[:, 0], both[:, 1], n_varying),
        share_of_halves=both.mean(axis=(0, 1)) if sets else np.zeros(evidence.n_features),
        vote_share=_vote_share(halves, evidence.n_features),
        n_splits=halves.n_splits,
        failures=tuple(failures),
    )


def _vote_share(halves: HalfEnsembles, n_features: int) -> Floats:
    """Return 5 % and 95 % of the vote share of each feature over all halves, of shape (n_features, 2)."""
    found = np.zeros((n_features, 2))
    found_by = [half for pair in halves.pairs for half in pair]
    if found_by:  # most features have no vote at all
        voted = np.unique(np.concatenate([half.sets.indices for half in found_by]))
        counts = (np.bincount(half.sets.indices, minlength=n_features)[voted] for half in found_by)
        shares = [votes / max(half.n_models, 1) for votes, half in zip(counts, found_by, strict=True)]
        found[voted] = np.quantile(np.array(shares), _RANGE, axis=0).T
    return found


def reproduce(
    X: Any,
    y: Any = None,
    *,
    evidence: Evidence | None = None,
    n_splits: int = 20,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    on_progress: Progress | bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **arguments: Any,
) -> Reproducibility:
    """Tell how many of the chosen features another study would choose: repeat everything on halves of the samples.

    Parameters
    ----------
    X, y
        The data, as in :func:`~ubayfs.collect_evidence`.
    evidence : Evidence, optional
        Collected on the same data; its settings are those of the halves. A `selector` other than one by name must be
        given again. Default: it is collected first, as ``collect_evidence`` with the same arguments.
    n_splits : int, default 20
        Each takes two ensembles and two decisions on half of the samples.
    random_state, n_jobs
        As in :func:`~ubayfs.collect_evidence`; decisions have the same `random_state`.
    on_progress : callable or bool, optional
        True shows a progress bar (needs tqdm). A function is called as ``on_progress(done, n_splits)``. When it returns
        False, the result rests on the splits so far.
    checkpoint : path of a directory, optional
        Every finished split is stored there, and the same call continues from there.
    **arguments
        Further arguments of :func:`~ubayfs.collect_evidence` and of :func:`~ubayfs.decide`, such as selector, n_models,
        groups, weights, prior, constraints and blocks.

    Returns
    -------
    reproducibility : Reproducibility

    Raises
    ------
    InputError
        If a class has too few samples for halves, groups cannot be split, or an argument breaks a rule.
    EnsembleError
        If more than half of the splits cannot be used: no ensemble could be run, or no set keeps all hard constraints.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ubayfs import max_size
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = reproduce(X, y, n_models=20, n_splits=5, constraints=max_size(5, rho=10), random_state=0)
    >>> low, high = found.chosen_again
    >>> f"about {low:.1f} to {high:.1f} of these {found.size} would be chosen again"
    'about 3.8 to 4.9 of these 5 would be chosen again'
    """
    seed = None if random_state is None else as_seed_sequence(random_state)
    ensemble, decision = split_arguments(reproduce, arguments, seed)
    data = read_data(X, y, ensemble)
    decision.check(data.feature_names)
    if evidence is None:  # before it is collected; the train_size of evidence that is given is known to its repeats
        plan_halves(data, ensemble.get("train_size", 0.75))
    options = (n_splits, seed, n_jobs, on_progress, checkpoint)
    evidence, repeats = evidence_and_repeats("splits", data, evidence, ensemble, *options)
    selection = decision.make(evidence, data if any(c.needs_data for c in decision.constraints) else None)
    found = reproducibility_of(selection, half_ensembles(repeats), decision, data)
    for advice in found.advice:
        advice.warn()
    return found
