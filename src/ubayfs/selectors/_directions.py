"""Association of every feature with a numeric target or with survival, on many subsamples at once.

Correlations are with one vector per run, such as the martingale residuals of the samples of the run.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._arguments import Array, Floats, Mask
from ..data.correlation import PairSums, pairwise_correlations
from ..data.hazards import RiskSets
from ..data.ordered_pairs import OrderedPairs
from ..data.survival import FEWEST_EVENTS
from ..data.target import Target
from ..exceptions import Advice, UBayFSError
from .scoring import Statistic, present_in, scatter, where_two

# Beyond so many pairs of samples, counting them takes longer than anything else.
MOST_PAIRS = 2_000_000


def check_events(target: Target, subsamples: Mask) -> None:
    """Raise if a run has too few events."""
    fewest = int((subsamples & (target.event > 0)).sum(axis=1).min())
    if fewest < FEWEST_EVENTS:
        rule = f"the subsample holds {fewest} events, fewer than {FEWEST_EVENTS}; a larger train_size has more."
        raise UBayFSError(rule)


def martingale_residuals(target: Target, subsamples: Mask) -> Floats:
    """Return null martingale residuals of a survival target within each run, 0 outside; (n_models, n_samples)."""
    check_events(target, subsamples)
    return RiskSets.from_times(target.time, target.event).null_residuals(subsamples)


def residual_directions(target: Target, subsamples: Mask) -> Floats:
    """Return the residuals with length 1 in each run; their sum is 0 already. All 0 where they do not vary."""
    residuals = martingale_residuals(target, subsamples)
    lengths = np.sqrt((residuals**2).sum(axis=1, keepdims=True))
    return residuals / np.where(lengths > 0, lengths, np.inf)


def correlation_with(directions: Floats, subsamples: Mask) -> Statistic:
    """Return the statistic abs(rho) of a feature with a vector per run.

    `directions`, of shape (n_models, n_samples), have mean 0 and length 1 in each run, or are all 0, and are 0 outside.
    Where values are missing, rho over the samples that have the feature is multiplied by the root of their share.
    """

    def statistic(runs: slice, x: Array, present: Mask | None = None) -> tuple[Array, Array]:
        if present is None:
            around_mean, condition = scatter(subsamples[runs], x)
            return np.abs(directions[runs].astype(x.dtype, copy=False) @ x / np.sqrt(around_mean)), condition
        sums = PairSums.from_columns(subsamples[runs].astype(np.float64), directions[runs], x, present)
        rho = sums.rho
        if len(rho) == 1:  # the last resort of run_scores: sums of one run alone
            rows = subsamples[runs][0]
            rho = pairwise_correlations(directions[runs][0, rows], np.where(present, x, np.nan)[rows])[None]
        # By chance rho^2 is inversely proportional to n: times the share, chance is equal with and without gaps.
        share = sums.n / subsamples[runs].sum(axis=1, keepdims=True)
        return where_two(np.abs(rho * np.sqrt(share)), sums.condition, sums.n)

    return statistic


def pair_advice(target: Target) -> tuple[Advice, ...]:
    """Return advice if a survival target has too many pairs to be counted."""
    n_pairs = OrderedPairs.from_times(target.time, target.event).n_all
    return (Advice("pairs_approximated", {"n_pairs": n_pairs, "most": MOST_PAIRS}),) if n_pairs > MOST_PAIRS else ()


def survival_agreement(target: Target, subsamples: Mask) -> Callable[[Array], Floats] | None:
    """Return what computes the censored Somers' D of k columns in each run, of shape (n_models, k).

    None: there are too many pairs.
    Where values are missing, D over the pairs that have the feature is multiplied by the root of the share of the
    samples that have it.
    """
    check_events(target, subsamples)
    pairs = OrderedPairs.from_times(target.time, target.event)
    if pairs.n_all > MOST_PAIRS:
        return None
    n_pairs, sizes = pairs.n_pairs(subsamples)[:, None], subsamples.sum(axis=1)[:, None]

    def agreement(block: Array) -> Floats:
        present = present_in(block)
        surplus = pairs.agreement(block, subsamples)
        if present is None:
            return surplus / np.maximum(n_pairs, 1)
        share = (subsamples.astype(np.float32) @ present.astype(np.float32)).astype(np.float64) / sizes
        return surplus / np.maximum(pairs.n_present(present, subsamples), 1) * np.sqrt(share)

    return agreement
