"""Reproducibility: whether another study would select these features again.

The whole procedure is repeated on complementary halves of the samples. Only what the data bring counts: members that a
rule of the user brought in, that are there by a weight, or that no model selected and that only fill a place are left
out, in the set and in those of halves (where a feature counts if it has votes, and the same decision without weights
selects it, too). With S and S' the sets of two halves, k and k'
their sizes and P the number of features that vary in the data and are not left out (where a half selects more than the
whole data did, the members with the most votes count, as many as the whole data selected):

- agreement a = (|S & S'| - k k'/P) / ((k + k')/2 - k k'/P): 0 by chance, 1 for equal sets, also where both hold all P
  features; undefined where a half selects nothing; 0 where it selects nothing that counts;
- lower = mean of a, for studies of half the size; s = sd sqrt(1/n + 1/2) its standard error, of n pairs of halves.
  sd is that of a, and not less than that of a binomial number of common members, sqrt(k lower (1 - lower) + 1/3) / k:
  halves that happen to share nothing say little;
- upper = 4 x / (1 + 3 x) with x = lower + s, projected to the whole size. Agreement is a product of two hit rates, and
  that of a weak signal grows in proportion to the samples, so that twice the samples bring four times the agreement:
  the formula of Spearman and Brown with 4 in place of 2, which is right for a few strong signals, too low for others;
- interval = [lower - 1.96 s, the larger projection of x = lower + 1.96 s]. One projection is the same; the other is
  that of signals of one strength, which pass the threshold of the k best of P together: with f^2 = x, z the normal
  quantile and t = z(k/P) it is Phi(sqrt(2) (z(f) - t) + t)^2, since twice the samples bring sqrt(2) times the effect;
- of the k members, k (phi + (1 - phi) k/P) are selected again at an agreement phi.

Where weights were stated, this is what the data select without the help of the weights. The same numbers **with the
weights**, for all members with votes that no rule brought in, stand beside it: weights favor the same features in every
study, right or wrong, so that these numbers say nothing of the data alone.

With **stand-ins**, |S & S'| is the largest number of pairs of S and S' in which both features are the same, or
correlate by more than 0.8 (Spearman, absolute), each feature in one pair; chance is the mean over random sets.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from .._arguments import Array, Floats, Ints, Mask, RandomState, as_seed_sequence, by_name
from .._plain import ShownAsCard
from ..data.feature_data import FeatureData
from ..data.missing import MAX_MISSING
from ..decision.selection import Selection, check_selection
from ..decision.workflow import Decision
from ..ensemble.progress import Progress
from ..exceptions import Advice, InputError, OptimizationError
from ..explain.attribution import Reason, attribution
from ..priors import DEFAULT_WEIGHT, Posterior, PriorKnowledge
from .halves import HalfEnsembles, check_same_ensemble, collect_halves
from .procedure import check_repeatable, data_of_evidence, ensemble_of, take_samples
from .repeats import check_usable, repeats_advice
from .stand_ins import stand_in_agreement

RARELY, USUALLY = 1 / 3, 2 / 3
LABELS = ("rarely", "sometimes", "usually")
NOT_BY_DATA = {"rule": "by your rule", "weight": "by your weight", "fill": "fills a place"}
# By how much the agreement of weak signals grows with twice the samples.
_WEAK = 4.0
# Shares of the halves between which the range of a vote share lies.
_RANGE = (0.05, 0.95)


@dataclass(frozen=True, eq=False)
class HalvesAgreement:
    """How far sets of disjoint halves agree, and how many of a set are selected again by that.

    Attributes
    ----------
    size : int
        Members of the set, k.
    chance : float
        Share of the members that a random set of the same size has, k/P.
    agreements : ndarray of float of shape (n_pairs,)
        Of each pair of halves; NaN where a set is empty.

    Examples
    --------
    >>> halves = HalvesAgreement(10, 0.1, np.full(20, 0.5))
    >>> halves.lower, round(halves.upper, 2)
    (0.5, 0.87)
    >>> [round(n, 1) for n in halves.selected_again]
    [5.5, 8.8]
    """

    size: int
    chance: float
    agreements: Floats

    @cached_property
    def _defined(self) -> Floats:
        return self.agreements[~np.isnan(self.agreements)]

    @property
    def n_used(self) -> int:
        """Number of splits that the agreement rests on."""
        return len(self._defined)

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
        # The lower end is for half the samples, the upper end the larger projection to all of them.
        h = 1.96 * self._standard_error
        highest = min(1.0, self.lower + h)
        return max(-1.0, self.lower - h), max(projected(highest, _WEAK), _projected_alike(highest, self.chance))

    @cached_property
    def _standard_error(self) -> float:
        """That of `lower` over data sets; NaN if no split can be used."""
        if not self.n_used:
            return float("nan")
        # The larger of the sd of agreements and that of a binomial number of common members; 1/3 keeps the latter above
        # 0.
        k, spread = max(self.size, 1), float(self._defined.std(ddof=1)) if self.n_used > 1 else 0.0
        by_counting = (k * max(self.lower, 0.0) * (1 - self.lower) + 1 / 3) ** 0.5 / k
        return float(max(spread, by_counting) * (1 / self.n_used + 1 / 2) ** 0.5)

    @property
    def selected_again(self) -> tuple[float, float]:
        """How many members another study would select, at `lower` and at `upper`."""
        return self.again(self.lower), self.again(self.upper)

    def again(self, phi: float) -> float:
        """Return how many members another study would select at an agreement."""
        return float(np.clip(self.size * (phi + (1 - phi) * self.chance), 0.0, self.size))


@dataclass(frozen=True, eq=False)
class WithWeights:
    """The sets of halves as decided with weights, also where only the weights select a feature.

    Attributes
    ----------
    members : ndarray of bool of shape (n_features,)
        Members with votes that no rule brought in.
    share_of_halves : ndarray of float of shape (n_features,)
        In which share of the halves each feature had votes and was selected.
    agreement : HalvesAgreement
        Of `members`.
    """

    members: Mask
    share_of_halves: Floats
    agreement: HalvesAgreement


@dataclass(frozen=True, eq=False)
class Reproducibility(ShownAsCard):
    """Agreement of the sets that are selected on disjoint halves of the samples.

    Attributes
    ----------
    feature_names : ndarray of str (object) of shape (n_features,)
    selected : ndarray of bool of shape (n_features,)
        The set that was selected on all samples.
    n_varying : int
        P, the number of features that vary in the data and that no rule or weight brought in.
    agreements : ndarray of float of shape (n_pairs,)
        Of each pair of halves; NaN where a set is empty.
    share_of_halves : ndarray of float of shape (n_features,)
        In which share of the halves the data selected each feature, as counted.
    vote_share : ndarray of float of shape (n_features, 2)
        5 % and 95 % of the share of the models that selected a feature, over the halves.
    n_splits : int
        Splits that were asked for.
    failures : tuple of str
        Why further splits are left out: no ensemble, or no set under the constraints.
    not_by_data : dict of str to {"rule", "weight", "fill"}
        Members that the data did not bring, and what did (see
        :class:`~ubayfs.explain.attribution.Attribution`). They do not count.
    stand_ins : HalvesAgreement or None
        The same where a feature with a correlation above 0.8 counts as the same; None without data.
    without_prior : HalvesAgreement or None
        The same for the decision without weights; None where no weights were stated.
    with_weights : WithWeights or None
        What another study with the same weights selects, by its data or by the weights; None where no weights were
        stated.
    halves : HalfEnsembles or None
        The ensembles that it rests on, by which other sets can be judged.

    Examples
    --------
    >>> import numpy as np
    >>> from ubayfs import collect_evidence, decide, estimate_reproducibility
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 30)
    >>> X = rng.normal(size=(60, 40))
    >>> X[:, :2] += 2 * y[:, None]
    >>> selection = decide(collect_evidence(X, y, selector="mrmr", n_models=10, random_state=0), max_size=2)
    >>> reproducibility = estimate_reproducibility(selection, X, y, n_splits=4)
    >>> reproducibility.size, reproducibility.labels[:3].tolist()
    (2, ['usually', 'usually', 'rarely'])
    """

    feature_names: Array
    selected: Mask
    n_varying: int
    agreements: Floats
    share_of_halves: Floats
    vote_share: Floats
    n_splits: int
    failures: tuple[str, ...] = ()
    not_by_data: Mapping[str, Reason] = field(default_factory=dict)
    stand_ins: HalvesAgreement | None = None
    without_prior: HalvesAgreement | None = None
    with_weights: WithWeights | None = None
    halves: HalfEnsembles | None = None

    def __repr__(self) -> str:
        agreement = f"lower={self.lower:.2f}, upper={self.upper:.2f}"
        return f"Reproducibility(size={self.size}, {agreement}, n_splits={self.n_used})"

    @cached_property
    def by_data(self) -> Mask:
        """Members that the data brought, of shape (n_features,)."""
        return np.asarray(self.selected & ~np.isin(self.feature_names, list(self.not_by_data)))

    @property
    def by_rule(self) -> tuple[str, ...]:
        """Members that a rule of the user brought in."""
        return self._by("rule")

    @property
    def by_weight(self) -> tuple[str, ...]:
        """Members that a weight brought in."""
        return self._by("weight")

    @property
    def filling(self) -> tuple[str, ...]:
        """Members that no model selected and that only fill a place."""
        return self._by("fill")

    def _by(self, reason: Reason) -> tuple[str, ...]:
        return tuple(name for name, why in self.not_by_data.items() if why == reason)

    @property
    def size(self) -> int:
        """Number of members that the data brought, k."""
        return int(self.by_data.sum())

    @cached_property
    def exact(self) -> HalvesAgreement:
        """The agreement where only the same feature counts."""
        return HalvesAgreement(self.size, self.size / max(self.n_varying, 1), self.agreements)

    @property
    def n_used(self) -> int:
        """Number of splits that the agreement rests on."""
        return self.exact.n_used

    @property
    def n_undefined(self) -> int:
        """Number of splits in which nothing was selected on a half."""
        return len(self.agreements) - self.n_used

    @property
    def complete(self) -> bool:
        """Whether all splits that were asked for are in it, or could not be used."""
        return len(self.agreements) + len(self.failures) == self.n_splits

    @property
    def lower(self) -> float:
        """Agreement of studies of half the size; NaN if no split can be used."""
        return self.exact.lower

    @property
    def upper(self) -> float:
        """Agreement that studies of the whole size may reach, by one standard error; NaN if no split can be used."""
        return self.exact.upper

    @property
    def interval(self) -> tuple[float, float]:
        """Where the agreement of studies lies in about 95 % of cases; NaN with fewer than two splits."""
        return self.exact.interval

    @property
    def selected_again(self) -> tuple[float, float]:
        """How many of the members that the data brought another study would select, at `lower` and at `upper`."""
        return self.exact.selected_again

    @cached_property
    def frequency(self) -> Floats:
        """How often the data would select each feature, of shape (n_features,); NaN where nothing is known.

        The share of the halves that selected it, without the help of weights, scaled such that no more members are
        selected again than at the agreement that Spearman and Brown project, amid the range of `selected_again`. NaN
        for members that the data did not bring, and for all if no split was made.
        """
        return self._scaled(self.share_of_halves, self.by_data, self.exact)

    @cached_property
    def frequency_with_weights(self) -> Floats | None:
        """The same with the weights: how often they and the data would select each feature; None without weights.

        NaN for members that a rule brought in, and for those without votes.
        """
        weighted = self.with_weights
        return (
            None if weighted is None else self._scaled(weighted.share_of_halves, weighted.members, weighted.agreement)
        )

    def _scaled(self, share: Floats, counted: Mask, agreement: HalvesAgreement) -> Floats:
        """Return shares of the halves, scaled to how many of the members that are counted are selected again."""
        if not len(agreement.agreements):
            return np.full(len(share), np.nan)
        total, again = float(share[counted].sum()), agreement.again(projected(agreement.lower))
        # Down to as many members as the projected agreement selects again, never up.
        scaled = share * (min(1.0, again / total) if total > 0 and agreement.n_used else 1.0)
        return np.where(self.selected & ~counted, np.nan, scaled)

    @property
    def labels(self) -> Array:
        """The frequency as one of "rarely", "sometimes", "usually", of shape (n_features,), or "unknown".

        Members that the data did not bring are "by your rule", "by your weight", or "fills a place".
        """
        return self._in_words(self.frequency)

    @property
    def labels_with_weights(self) -> Array | None:
        """The same with the weights; None where no weights were stated."""
        frequency = self.frequency_with_weights
        return None if frequency is None else self._in_words(frequency)

    def _in_words(self, frequency: Floats) -> Array:
        step, unknown = (frequency >= RARELY).astype(int) + (frequency > USUALLY), np.isnan(frequency)
        labels = np.where(unknown, "unknown", np.array(LABELS, dtype=object)[step])
        for position in np.flatnonzero(self.selected & ~self.by_data & unknown):
            labels[position] = NOT_BY_DATA[self.not_by_data[self.feature_names[position]]]
        return labels

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
    # Hit rate f = sqrt(agreement). Twice the samples move its quantile sqrt(2) times as far from the threshold.
    threshold = ndtri(share)
    return float(ndtr(2**0.5 * (ndtri(agreement**0.5) - threshold) + threshold) ** 2)


def agreement(first: Mask, second: Mask, n_varying: int) -> Floats:
    """Return the agreement of pairs of sets beyond chance, of shape (n_pairs,); NaN where it is undefined.

    The sets have shape (n_pairs, n_features); `n_varying` features could be selected.

    >>> agreement(np.array([[1, 1, 0, 0]] * 3, dtype=bool), np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]) > 0, 4)
    array([ 1.,  0., nan])
    >>> agreement(np.ones((1, 4), dtype=bool), np.ones((1, 4), dtype=bool), 4)  # nothing else could be selected
    array([1.])
    """
    k, other, common = first.sum(axis=1), second.sum(axis=1), (first & second).sum(axis=1)
    # Common members by chance, k k'/P, and (k + k')/2 of them if both sets are equal.
    expected = k * other / max(n_varying, 1)
    most = (k + other) / 2 - expected
    agreements = np.where(most > 0, (common - expected) / np.where(most > 0, most, 1.0), 1.0)
    return np.where((k > 0) & (other > 0), agreements, np.nan)


def reproducibility_of(
    selection: Selection, halves: HalfEnsembles, data: FeatureData | None = None, random_state: RandomState = None
) -> Reproducibility:
    """Decide on every half, with ensembles of the same settings, as on all samples, and compare the sets.

    `data` of all samples are needed by constraints on correlations, and for stand-ins; `random_state` is that of the
    decisions, by default that of the selection.
    """
    check_selection(selection)
    if selection.posterior is None or selection.decision is None:
        raise InputError.of("selection", "has no votes; pass one that decide() returned.")
    posterior, decision = selection.posterior, selection.decision.replace(n_alternatives=0)
    if random_state is not None:
        decision = decision.replace(random_state=random_state)
    evidence = posterior.evidence
    check_same_ensemble("halves", halves.settings, evidence)
    if any(c.needs_data for c in decision.constraints) and data is None:
        raise InputError.of("data", "is missing; a constraint on correlations needs the data of the halves.")
    decided = _Decided.on(halves, decision, posterior, data)
    check_usable("splits", decided.failures, halves.n_splits)
    reasons = attribution(selection)
    not_by_data = {name: why for name, why in reasons.why.items() if why != "data"}
    names, varying, voted = evidence.feature_names, ~evidence.constant, evidence.counts > 0
    open_ones = varying & ~np.isin(names, [name for name, why in not_by_data.items() if why == "rule"])
    # What fills a place here may be selected by the data of a half.
    candidates = open_ones & ~np.isin(names, [name for name, why in not_by_data.items() if why == "weight"])
    both = decided.sets & candidates
    if decided.plain is not None:
        # What only the weights select does not count.
        both &= decided.plain
    members, n_varying = selection.mask & candidates & voted, int(np.count_nonzero(candidates))
    as_many = decided.strongest(both, int(np.count_nonzero(members)))

    def or_none(agreements: Floats, members: Mask = members) -> Floats:
        # A half that selected something, but nothing that counts, has selected none of the members again.
        return np.where(np.isnan(agreements) & ~decided.empty & members.any(), 0.0, agreements)

    without_prior = with_weights = None
    if decided.plain is not None and reasons.without_prior is not None:
        n_open = int(np.count_nonzero(open_ones))
        size = int(np.count_nonzero(open_ones & voted & np.isin(names, reasons.without_prior)))
        without_prior = _agreement_of(decided.strongest(decided.plain & open_ones, size), size, n_open)
        weighted, counted = decided.sets & open_ones, selection.mask & open_ones & voted
        n_counted = int(np.count_nonzero(counted))
        agreed = _agreement_of(decided.strongest(weighted, n_counted), n_counted, n_open)
        agreed = replace(agreed, agreements=or_none(agreed.agreements, counted))
        with_weights = WithWeights(counted, _share_of_halves(weighted), agreed)
    stand_ins = None
    if data is not None and members.any():
        chance, agreements = stand_in_agreement(data.X, members, as_many, candidates)
        stand_ins = HalvesAgreement(int(members.sum()), chance, or_none(agreements))
    return Reproducibility(
        feature_names=names,
        selected=selection.mask,
        n_varying=n_varying,
        agreements=or_none(agreement(as_many[:, 0], as_many[:, 1], n_varying)),
        share_of_halves=_share_of_halves(both),
        vote_share=_vote_share(halves, evidence.n_features),
        n_splits=halves.n_splits,
        failures=decided.failures,
        not_by_data=not_by_data,
        stand_ins=stand_ins,
        without_prior=without_prior,
        with_weights=with_weights,
        halves=halves,
    )


@dataclass(frozen=True, eq=False)
class _Decided:
    """The sets of halves: members with votes."""

    sets: Mask  # (n_pairs, 2, n_features)
    columns: Ints  # features that are in any of them
    votes: Floats  # for these, (n_pairs, 2, n_columns)
    plain: Mask | None  # the same without weights; None where none were stated
    empty: Mask  # pairs of which a half selected nothing at all, (n_pairs,)
    failures: tuple[str, ...]

    @classmethod
    def on(cls, halves: HalfEnsembles, decision: Decision, posterior: Posterior, data: FeatureData | None) -> _Decided:
        """Decide on all halves, and again without weights where some were stated."""
        ways = [(decision, posterior.knowledge), *_without_weights(decision, posterior)]
        needs_data = any(c.needs_data for c in decision.constraints)
        sets, used, empty, failures = [], [], [], list(halves.failures)
        for pair, first in zip(halves.pairs, halves.samples, strict=True):
            parts = [take_samples(data, s) if needs_data and data is not None else None for s in (first, ~first)]
            try:
                masks = [
                    [way.make(half, part, knowledge=knowledge).mask for half, part in zip(pair, parts, strict=True)]
                    for way, knowledge in ways
                ]
            except (InputError, OptimizationError) as error:
                failures.append(str(error))
                continue
            empty.append(any(not mask.any() for mask in masks[0]))
            used.append(pair)
            sets.append(np.array(masks) & [half.counts > 0 for half in pair])
        all_sets = np.array(sets, dtype=bool).reshape(len(sets), len(ways), 2, posterior.n_features)
        plain = all_sets[:, 1] if len(ways) > 1 else None
        columns = np.flatnonzero(all_sets.any(axis=(0, 1, 2)))  # few of very many
        votes = np.array([[half.counts[columns] for half in pair] for pair in used], dtype=np.float64)
        return cls(all_sets[:, 0], columns, votes, plain, np.array(empty, dtype=bool), tuple(failures))

    def strongest(self, sets: Mask, size: int) -> Mask:
        """Return of each set the members with the most votes, at most so many; of equal ones, any.

        Small studies may select more features than a large one: without this, the one feature that every half selects
        among four others would count for a fifth.
        """
        if size == 0 or not len(sets):
            return sets
        # Ties are drawn for each half: broken by position, halves would agree on features without any signal.
        rng, n_features = np.random.default_rng(0), sets.shape[2]
        draws = np.array([[rng.random((n_features,))[self.columns] for _ in pair] for pair in sets])
        ranks = np.where(sets[:, :, self.columns], self.votes + draws, 0.0)
        places = np.argsort(-ranks, axis=2)[:, :, size:]
        strongest = sets.copy()
        pairs, halves = np.ogrid[: len(sets), :2]
        strongest[pairs[..., None], halves[..., None], self.columns[places]] = False
        return strongest


def _without_weights(decision: Decision, posterior: Posterior) -> list[tuple[Decision, PriorKnowledge]]:
    """Return the decision with default weights and nothing held unlikely; nothing where that is the decision itself."""
    knowledge = posterior.knowledge
    demands = [constraint for constraint in decision.constraints if not constraint.from_prior]
    unlikely = len(demands) < len(decision.constraints) or (knowledge is not None and bool(knowledge.unlikely))
    if not unlikely and (posterior.weights == DEFAULT_WEIGHT).all():
        return []
    plain = PriorKnowledge(
        np.full(posterior.n_features, DEFAULT_WEIGHT), costs=None if knowledge is None else knowledge.costs
    )
    return [(decision.replace(constraints=demands, weights=DEFAULT_WEIGHT), plain)]


def _share_of_halves(sets: Mask) -> Floats:
    """Return in which share of sets of shape (n_pairs, 2, n_features) each feature is."""
    return np.asarray(sets.mean(axis=(0, 1)) if len(sets) else np.zeros(sets.shape[2]))


def _agreement_of(sets: Mask, size: int, n_varying: int) -> HalvesAgreement:
    """Return the agreement of pairs of sets, of shape (n_pairs, 2, n_features)."""
    return HalvesAgreement(size, size / max(n_varying, 1), agreement(sets[:, 0], sets[:, 1], n_varying))


def _vote_share(halves: HalfEnsembles, n_features: int) -> Floats:
    """Return 5 % and 95 % of the vote share of each feature over all halves, of shape (n_features, 2)."""
    ranges = np.zeros((n_features, 2))
    ensembles = [half for pair in halves.pairs for half in pair]
    if ensembles:  # most features have no vote at all
        voted = np.flatnonzero(np.any([half.counts > 0 for half in ensembles], axis=0))
        counts = (half.counts[voted] for half in ensembles)
        shares = [votes / max(half.n_models, 1) for votes, half in zip(counts, ensembles, strict=True)]
        ranges[voted] = np.quantile(np.array(shares), _RANGE, axis=0).T
    return ranges


@by_name()
def estimate_reproducibility(
    selection: Selection,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    adjust_for: Any = None,
    target: Any = None,
    layer: str | None = None,
    max_missing: float = MAX_MISSING,
    selector: Any = None,
    n_splits: int = 20,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    on_progress: Progress | bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Reproducibility:
    """Estimate how many selected features another study would select: repeat everything on halves of the samples.

    Parameters
    ----------
    selection : Selection
        From :func:`~ubayfs.decide`, on evidence of :func:`~ubayfs.collect_evidence`.
    X, y, groups, adjust_for, target, layer, max_missing
        The data that the evidence was collected on, as in :func:`~ubayfs.collect_evidence`.
    selector : optional
        The selector of the evidence; needed for a custom one.
    n_splits : int, default 20
        Each takes two ensembles and two decisions on half of the samples.
    random_state : int, Generator, SeedSequence, RandomState or None, default 0
    n_jobs : int, optional
        As in :func:`~ubayfs.collect_evidence`; over splits, processes where they take long and selectors are ours.
    on_progress : callable or bool, optional
        True shows a progress bar (needs tqdm). A function is called as ``on_progress(done, n_splits)``. When it returns
        False, the result rests on the splits so far.
    checkpoint : path of a directory, optional
        Every finished split is stored there, and the same call continues from there.

    Returns
    -------
    reproducibility : Reproducibility

    Raises
    ------
    InputError
        If the data are not those of the evidence, the selection cannot be repeated, a class has too few samples for
        halves, groups cannot be split, or an argument breaks a rule.
    EnsembleError
        If more than half of the splits cannot be used: no ensemble could be run, or no set keeps all hard constraints.

    See Also
    --------
    assess : All parts at once.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ubayfs import collect_evidence, decide
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selection = decide(collect_evidence(X, y, selector="mrmr", n_models=20, random_state=0), max_size=5)
    >>> reproducibility = estimate_reproducibility(selection, X, y, n_splits=5)
    >>> low, high = reproducibility.selected_again
    >>> f"about {low:.1f} to {high:.1f} of these {reproducibility.size} would be selected again"
    'about 3.8 to 4.9 of these 5 would be selected again'
    """
    check_repeatable(selection)
    reading = {"groups": groups, "adjust_for": adjust_for, "target": target, "layer": layer, "max_missing": max_missing}
    data = data_of_evidence(selection, X, y, **reading)
    return reproducibility_on(selection, data, selector, n_splits, random_state, n_jobs, on_progress, checkpoint)


def reproducibility_on(
    selection: Selection,
    data: FeatureData,
    selector: Any = None,
    n_splits: int = 20,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    on_progress: Progress | bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Reproducibility:
    """Do what :func:`estimate_reproducibility` does with data that are read already."""
    check_repeatable(selection)
    assert selection.posterior is not None
    seed = None if random_state is None else as_seed_sequence(random_state)
    ensemble = ensemble_of(selection.posterior.evidence, selector)
    halves = collect_halves(data, ensemble, n_splits, seed, n_jobs, on_progress, checkpoint)
    # Halves decide by the seed of the decision, as on the command line, if it has one.
    has_seed = selection.decision is not None and selection.decision.random_state is not None
    reproducibility = reproducibility_of(selection, halves, data, None if has_seed else seed)
    for advice in reproducibility.advice:
        advice.warn()
    return reproducibility
