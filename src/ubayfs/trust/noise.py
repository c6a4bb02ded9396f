"""Noise: how many of the chosen features are expected to be unrelated to the target.

With c_j the votes of feature j, c_bj those in shuffle b of B, and S the members that the data speak for:

- N_b(t) features have at least t votes in shuffle b; V(t) is the mean of these numbers, R(t) that of the evidence;
- q_j is the smallest of (1 + sum of N_b(t)) / (B R(t)) over t <= c_j, at most 1; q0_j the same with V(t) / R(t);
- share = 1 - sum_j (1 - q0_j) c_j / sum_j c_j is the share of all votes that shuffles explain, found in one step;
- p = (1 + number of shuffles with sum_j c_bj^2 >= sum_j c_j^2) / (B + 1) is the gate; for more than two classes each
  square counts by r_j (r_bj), the share of the scatter of the feature that lies between the classes (shuffled ones);
- with t the fewest votes in S, cautious = min(|S|, V(t) |S| / R(t)), and the number that is expected is
  min(cautious, max(share * cautious, sum of q0_j over S)).

Where p > 0.05, nothing tells the votes from those of shuffled targets: what was cautious is expected, all of S is
cautious, and all q are 1.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from .._arguments import Array, Floats, RandomState
from .._plain import ShownAsCard
from ..attribution import Attribution, attribution
from ..constraints.sizes import asks_for_supported, with_supported
from ..data.feature_data import FeatureData
from ..ensemble.evidence import Evidence
from ..ensemble.progress import Progress
from ..exceptions import Advice, InputError
from ..selection import Selection, check_selection
from ..workflow import Decision
from .ensembles import NullEnsembles, check_same_ensemble, check_target, collect_null, null_ensembles
from .procedure import ENSEMBLE_ARGUMENTS, Procedure, check_arguments, read_data
from .repeats import evidence_and_repeats, repeats_advice

# The largest p-value that passes the gate; (1 + 0) / (B + 1) needs at least 19 shuffles for that.
GATE = 0.05
FEWEST_SHUFFLES = 19
# The largest q of a feature that the data support.
SUPPORTED = 0.2
# The most features that a size by the data allows, and shuffles for it, unless other numbers are given.
MAX_SUPPORTED = 20
N_SHUFFLES = 20


@dataclass(frozen=True)
class NoiseEstimate:
    """How many members of a set are expected to be unrelated to the target; a proxy of a signal is related to it.

    Attributes
    ----------
    expected : float
        The estimate; of the members in `by_data` alone.
    cautious : float
        A number that is rarely exceeded.
    share : float
        Share of all votes of the evidence that shuffled targets explain.
    by_data : tuple of str
        Members whose reason is the data, and that have a vote.
    filled : tuple of str
        All others: members by the prior or constraints, and fillers.
    """

    expected: float
    cautious: float
    share: float
    by_data: tuple[str, ...]
    filled: tuple[str, ...]

    @property
    def n_data(self) -> int:
        """Number of members that the estimate is about."""
        return len(self.by_data)


@dataclass(frozen=True, eq=False)
class Noise(ShownAsCard):
    """Votes compared with those that shuffled targets give.

    Attributes
    ----------
    feature_names : ndarray of str (object) of shape (n_features,)
    counts : ndarray of int of shape (n_features,)
        Votes of the evidence.
    n_models : int
        Models of the evidence.
    null : NullEnsembles

    Examples
    --------
    >>> import numpy as np
    >>> from ubayfs import collect_evidence, decide, estimate_noise, max_size
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 30)
    >>> X = rng.normal(size=(60, 40))
    >>> X[:, :4] += 2 * y[:, None]
    >>> evidence = collect_evidence(X, y, n_models=20, n_features_per_model=4, random_state=0)
    >>> noise = estimate_noise(X, y, evidence=evidence, random_state=0)
    >>> noise.passes, noise.supported
    (True, 4)
    >>> noise.estimate(decide(evidence, constraints=max_size(2, rho=10))).n_data
    2
    """

    feature_names: Array
    counts: NDArray[np.int64]
    n_models: int
    null: NullEnsembles

    def __repr__(self) -> str:
        return f"Noise(supported={self.supported}, p_value={self.p_value:.2g}, n_shuffles={self.null.n_done})"

    @cached_property
    def null_counts(self) -> NDArray[np.int64]:
        """Votes in each shuffle, of shape (n_done, n_features), as if all had as many models as the evidence."""
        counts, n_models = self.null.counts.astype(np.int64), self.null.n_models[:, None]
        return counts if (n_models == self.n_models).all() else -(-counts * self.n_models // np.maximum(n_models, 1))

    @property
    def complete(self) -> bool:
        """Whether all shuffles that were asked for are in it, or could not be run."""
        return self.null.complete

    @property
    def p_value(self) -> float:
        """How often shuffled targets give votes that are concentrated at least as much, in (0, 1]."""
        null = self.null
        if null.shares is None or null.squares is None:
            squares, own = np.einsum("bj,bj->b", self.null_counts, self.null_counts), (self.counts**2).sum()
        else:
            squares = null.squares * (self.n_models / np.maximum(null.n_models, 1)) ** 2
            own = self.counts**2 @ null.shares
        concentrated = squares >= own
        return float((1 + np.count_nonzero(concentrated)) / (len(concentrated) + 1))

    @property
    def enough(self) -> bool:
        """Whether there are enough shuffles to pass at all."""
        return self.null.n_done >= FEWEST_SHUFFLES

    @cached_property
    def passes(self) -> bool:
        """Whether the votes differ from those of shuffled targets: p is at most 0.05."""
        return self.p_value <= GATE

    @cached_property
    def q_values(self) -> Floats:
        """Expected share of noise among features with at least so many votes, of shape (n_features,)."""
        return self._ratios(1)[self.counts] if self.passes else np.ones(len(self.counts))

    @property
    def supported(self) -> int:
        """Number of features that the data support: q is at most 0.2."""
        return int(np.count_nonzero(self.q_values <= SUPPORTED))

    @property
    def share(self) -> float:
        """Share of all votes of the evidence that shuffled targets explain."""
        total = self.counts.sum()
        return float(1 - ((1 - self._ratios(0)[self.counts]) * self.counts).sum() / total) if total else 1.0

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What must be known: shuffles that are too few, were cancelled or failed."""
        null = self.null
        n_tried = null.n_done + len(null.failures)
        found = repeats_advice("shuffles", null.n_shuffles, n_tried, null.failures, not null.complete)
        if self.enough or not null.complete:
            return found
        fewest = FEWEST_SHUFFLES + len(null.failures)
        facts = {"n_done": null.n_done, "smallest": 1 / (null.n_done + 1), "limit": GATE, "fewest": fewest}
        return (*found, Advice("few_shuffles", facts))

    def estimate(self, selection: Selection, reasons: Attribution | None = None) -> NoiseEstimate:
        """Estimate how many chosen features are unrelated to the target.

        Parameters
        ----------
        selection : Selection
            Decided on the evidence that this noise is of, with any weights and constraints.
        reasons : Attribution, optional
            Of the selection, if it is known already.
        """
        check_selection(selection)
        if selection.counts is None or not np.array_equal(selection.counts, self.counts):
            rule = "was decided on other votes than this noise is of; estimate the noise of its own evidence."
            raise InputError.of("selection", rule)
        why = attribution(selection) if reasons is None else reasons
        by_data = np.array([why.reasons(str(name)) == ("data",) for name in selection.feature_names[selection.mask]])
        votes = self.counts[selection.mask]
        inside = by_data.astype(bool) & (votes > 0)
        members = selection.feature_names[selection.mask]
        expected, cautious = self.expected(votes[inside])
        return NoiseEstimate(expected, cautious, self.share, tuple(members[inside]), tuple(members[~inside]))

    def expected(self, votes: NDArray[np.int64]) -> tuple[float, float]:
        """Return how many features with so many votes (at least 1) are expected to be noise, and cautiously."""
        n = len(votes)
        if n == 0:
            return 0.0, 0.0
        above, own = self._above
        fewest = int(votes.min())
        cautious = float(min(n, above[fewest] / max(self.null.n_done, 1) * n / own[fewest]))
        if not self.passes:
            return cautious, float(n)
        return min(cautious, max(self.share * cautious, float(self._ratios(0)[votes].sum()))), cautious

    @cached_property
    def _above(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many features have at least t votes, t = 0 ... the most votes: in all shuffles together, and here."""
        most = int(self.counts.max(initial=0))
        counted = (
            np.bincount(np.minimum(c, most).ravel(), minlength=most + 1) for c in (self.null_counts, self.counts)
        )
        of_null, own = (np.cumsum(numbers[::-1])[::-1] for numbers in counted)
        return of_null, own

    def _ratios(self, more: int) -> Floats:
        """Return the smallest of min(1, (more + sum of N_b(t)) / (B R(t))) over t up to so many votes."""
        above, own = self._above
        return np.minimum.accumulate(np.minimum(1.0, (more + above) / (max(self.null.n_done, 1) * own)))


def noise_of(evidence: Evidence, null: NullEnsembles) -> Noise:
    """Compare evidence with ensembles of the same settings on shuffled targets of the same data.

    Raises
    ------
    InputError
        If these ensembles are of other data or settings.

    Examples
    --------
    >>> null = NullEnsembles(np.ones((20, 4), dtype=np.int32), np.full(20, 2, dtype=np.int32), 20, {})
    >>> noise = noise_of(Evidence.from_sets([[1, 1, 0, 0], [1, 1, 0, 0]]), null)
    >>> noise.p_value, noise.supported, noise.q_values
    (0.047..., 2, array([0.025, 0.025, 1.   , 1.   ]))
    """
    if null.counts.shape[1] != evidence.n_features:
        raise InputError.of("null", f"is of {null.counts.shape[1]} features, the evidence of {evidence.n_features}.")
    check_same_ensemble("null", null.settings, evidence)
    return Noise(evidence.feature_names, evidence.counts, evidence.n_models, null)


def estimate_noise(
    X: Any,
    y: Any = None,
    *,
    evidence: Evidence | None = None,
    n_shuffles: int = 20,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    on_progress: Progress | bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **ensemble: Any,
) -> Noise:
    """Estimate how much of what an ensemble finds is noise: how many votes features get when the target is shuffled.

    Parameters
    ----------
    X, y
        The data, as in :func:`~ubayfs.collect_evidence`; a target is needed.
    evidence : Evidence, optional
        Collected on the same data; its settings are those of the shuffled ensembles. A `selector` other than one by
        name must be given again. Default: it is collected first, as ``collect_evidence`` with the same arguments.
    n_shuffles : int, default 20
        Each takes as long as the evidence. With fewer than 19 no votes can be distinguished from chance.
    random_state, n_jobs
        As in :func:`~ubayfs.collect_evidence`.
    on_progress : callable or bool, optional
        True shows a progress bar (needs tqdm). A function is called as ``on_progress(done, n_shuffles)``. When it
        returns False, the result rests on the shuffles so far.
    checkpoint : path of a directory, optional
        Every finished shuffle is stored there, and the same call continues from there.
    **ensemble
        Further arguments of :func:`~ubayfs.collect_evidence`: selector, n_models, train_size, n_features_per_model,
        task, groups, target, layer, missing and max_missing.

    Returns
    -------
    noise : Noise

    Raises
    ------
    InputError
        If there is no target, the evidence is of other data, or an argument breaks a rule.
    EnsembleError
        If fewer than half of the shuffles could be run.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ubayfs import collect_evidence, decide, max_size
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> evidence = collect_evidence(X, y, n_models=20, n_features_per_model=5, random_state=0)
    >>> noise = estimate_noise(X, y, evidence=evidence, random_state=0)
    >>> noise.p_value, noise.supported
    (0.047..., 4)
    >>> estimate = noise.estimate(decide(evidence, constraints=max_size(6, rho=10)))
    >>> round(estimate.expected, 1), round(estimate.cautious, 1)
    (1.4, 6.0)
    """
    check_arguments(estimate_noise, ensemble, ENSEMBLE_ARGUMENTS)
    data = read_data(X, y, ensemble)
    check_target(data)
    options = (n_shuffles, random_state, n_jobs, on_progress, checkpoint)
    evidence, repeats = evidence_and_repeats("shuffles", data, evidence, ensemble, *options)
    noise = noise_of(evidence, null_ensembles(repeats))
    for advice in noise.advice:
        advice.warn()
    return noise


# -- a size by the data: as many features as have more votes than shuffled targets explain -----------------------------


def supported_size(noise: Noise, most: int = MAX_SUPPORTED) -> tuple[int, tuple[Advice, ...]]:
    """Return the number of features that the data support, at least 1 and at most `most`, and advice where it is 0."""
    if noise.supported:
        return min(noise.supported, most), ()
    facts = {"p_value": noise.p_value, "n_shuffles": noise.null.n_done}
    if not noise.passes:
        return 1, (Advice("nothing_supported", facts),)
    facts |= {"smallest": float(noise.q_values.min()), "limit": SUPPORTED}
    return 1, (Advice("no_feature_stands_out", facts),)


@dataclass(frozen=True, eq=False)
class SizedInParts:
    """Gives the decision of a part of the samples, whose size is found by shuffling the target of that part."""

    decision: Decision
    ensemble: Mapping[str, Any]
    most: int
    n_shuffles: int

    def __call__(self, data: FeatureData, evidence: Evidence) -> Decision:
        """Return the decision with the size that the part supports."""
        seed = SeedSequence(**evidence.settings["seed"])  # shuffles have children of their own
        null = collect_null(data, self.ensemble, self.n_shuffles, seed, n_jobs=1)
        noise = Noise(evidence.feature_names, evidence.counts, evidence.n_models, null)
        return _sized(self.decision, supported_size(noise, self.most)[0])


def sized_in_parts(
    procedure: Procedure, decision: Decision, most: int = MAX_SUPPORTED, n_shuffles: int = N_SHUFFLES
) -> tuple[Decision, SizedInParts | None]:
    """Return a decision that can be made, and what gives that of a part of the samples.

    The latter is None where no constraint asks for the number of features that the data support.
    """
    if not any(map(asks_for_supported, decision.constraints)):
        return decision, None
    names = ("n_models", "train_size", "n_features_per_model")
    ensemble = {"selector": procedure.selectors, **{name: procedure.settings[name] for name in names}}
    return _sized(decision, most), SizedInParts(decision, ensemble, most, n_shuffles)


def _sized(decision: Decision, n: int) -> Decision:
    return decision.but(constraints=with_supported(decision.constraints, n))
