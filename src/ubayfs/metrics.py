"""Measures of feature sets (stability, similarity, redundancy, agreement with a ground truth) and of risks of events.

Nothing is rounded.

>>> from ubayfs.metrics import jaccard
>>> jaccard([[1, 1, 0], [1, 0, 1]])
array([[1.        , 0.33333333],
       [0.33333333, 1.        ]])
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ._arguments import FeatureIndex, Floats, as_array, by_name, check_choice, check_not_complex, check_real
from .constraints.utility import as_marks
from .data.categories import columns_of
from .data.correlation import absolute_correlations
from .data.feature_data import FeatureData
from .data.ordered_pairs import OrderedPairs
from .data.survival import Survival
from .data.survival_curves import kaplan_meier
from .exceptions import InputError, repr_of

__all__ = ["Stability", "concordance_index", "feature_f1", "jaccard", "redundancy_rate", "stability"]


class Stability(NamedTuple):
    """Stability of a selection procedure.

    Attributes
    ----------
    value : float
        1 when every run gives the same set, about 0 when the sets are random; nan when it is undefined.
    lower, upper : float
        Approximate confidence interval of the stability of the procedure.
    variance : float
        Estimated variance of `value`.
    """

    value: float
    lower: float
    upper: float
    variance: float


@by_name()
def stability(sets: Any, *, confidence: float = 0.95) -> Stability:
    r"""Return the stability of repeated selections (Nogueira, Sechidis and Brown, 2018).

    Parameters
    ----------
    sets : array-like or sparse array of bool of shape (n_sets, n_features)
        One row per run, at least 2.
    confidence : float in (0, 1)

    Returns
    -------
    stability : Stability
        All nan when every set is empty or every set is full: the measure has no value there.

    Notes
    -----
    With the frequency :math:`p_f` of feature f among M sets, the mean size :math:`\bar k` and d features,

    .. math:: \Phi = 1 - \frac{\frac1d \sum_f \frac{M}{M-1} p_f (1 - p_f)}{\frac{\bar k}{d}(1 - \frac{\bar k}{d})}.

    Its variance is :math:`\frac{4}{M^2} \sum_i (\phi_i - \bar\phi)^2`, where :math:`\phi_i` is the influence of the
    i-th set, and :math:`\Phi` is asymptotically normal. The interval is not cut at 1.

    References
    ----------
    S. Nogueira, K. Sechidis, G. Brown. On the stability of feature selection algorithms. JMLR 18(174), 1-54, 2018.

    Examples
    --------
    >>> found = stability([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]])
    >>> print(f"{found.value:.3f} [{found.lower:.3f}, {found.upper:.3f}]")
    0.333 [-0.022, 0.689]
    """
    from scipy.special import ndtri

    chosen = _as_sets("sets", sets)
    n_sets, n_features = chosen.shape
    if n_sets < 2:
        raise InputError.of("sets", f"must have at least 2 rows to show stability; got {n_sets}.")
    level = check_real("confidence", confidence, low=0.0, high=1.0, low_open=True, high_open=True)
    share = chosen.sum(axis=1) / n_features
    mean_share = share.mean()
    scale = mean_share * (1.0 - mean_share)
    if scale == 0.0:
        return Stability(np.nan, np.nan, np.nan, np.nan)
    frequency = chosen.mean(axis=0)
    spread = n_sets / (n_sets - 1) * (frequency * (1.0 - frequency)).mean()
    value = float(1.0 - spread / scale)
    agreement = chosen @ frequency / n_features - share * mean_share
    influence = (agreement + value / 2.0 * (2.0 * mean_share * share - share - mean_share + 1.0)) / scale
    variance = float(4.0 / n_sets**2 * ((influence - influence.mean()) ** 2).sum())
    margin = float(ndtri(0.5 + level / 2.0)) * np.sqrt(variance)
    return Stability(value, float(value - margin), float(value + margin), variance)


def jaccard(sets: Any, others: Any = None) -> Floats:
    """Return the Jaccard similarity, size of the intersection by size of the union, of all pairs of sets.

    Parameters
    ----------
    sets : array-like or sparse array of bool of shape (n_sets, n_features)
    others : same, of shape (n_others, n_features), optional
        Default: `sets` against themselves.

    Returns
    -------
    similarity : ndarray of float of shape (n_sets, n_others)
        1 for two empty sets, which are the same set.

    Examples
    --------
    >>> jaccard([[1, 1, 0], [0, 1, 1]])
    array([[1.        , 0.33333333],
           [0.33333333, 1.        ]])
    """
    left = _as_sets("sets", sets)
    right = left if others is None else _as_sets("others", others)
    if left.shape[1] != right.shape[1]:
        raise InputError.of("others", f"must have as many columns as sets, {left.shape[1]}; got {right.shape[1]}.")
    shared = (left @ right.T).toarray()
    union = left.sum(axis=1)[:, None] + right.sum(axis=1)[None, :] - shared
    return np.where(union > 0, shared / np.maximum(union, 1.0), 1.0)


def redundancy_rate(X: Any, features: Any) -> float:
    """Return the mean absolute Pearson correlation over all pairs of distinct features of a set.

    Parameters
    ----------
    X : array-like, DataFrame or FeatureData of shape (n_samples, n_features)
    features : array-like of str, of int, or of bool of shape (n_features,)
        The set, by names, positions or as a mask.

    Returns
    -------
    rate : float
        nan for fewer than 2 features: there is no pair. A constant feature has correlation 0 with everything. Missing
        values of FeatureData count for nothing: a correlation is that of the samples that have both features.

    Examples
    --------
    >>> X = [[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, 0.0]]
    >>> redundancy_rate(X, [0, 1])
    1.0
    """
    data = X if isinstance(X, FeatureData) else FeatureData.from_table(X)
    positions = FeatureIndex(data.feature_names).members(features, "features")
    n = len(positions)
    if n < 2:
        return float("nan")
    total = sum(
        np.triu(values, 1).sum() for _, values in absolute_correlations(columns_of(data.X, positions), "pearson")
    )
    return float(total / (n * (n - 1) / 2))


def feature_f1(selected: Any, truth: Any) -> float:
    """Return the F1 score of selected features against the truly relevant ones.

    Parameters
    ----------
    selected, truth : array-like of str, of int, or of bool of shape (n_features,)
        Both by names, or both by positions or masks.

    Returns
    -------
    score : float
        Harmonic mean of precision and recall, twice the hits by the sum of both sizes; 1 if both sets are empty.

    Examples
    --------
    >>> feature_f1([0, 1, 2], [1, 2, 3])
    0.6666666666666666
    >>> feature_f1([True, True, True, False], [1, 2, 3])
    0.6666666666666666
    """
    chosen, relevant = _as_members("selected", selected), _as_members("truth", truth)
    if chosen and relevant and {type(m) for m in chosen} != {type(m) for m in relevant}:
        raise InputError("selected and truth must both be names, or both be positions or masks; got one of each.")
    size = len(chosen) + len(relevant)
    return 2.0 * len(chosen & relevant) / size if size else 1.0


def _as_sets(name: str, sets: Any) -> sparse.csr_array:
    chosen = as_marks(name, sets)
    if 0 in chosen.shape:
        raise InputError.of(name, f"must have shape (n_sets, n_features); got {chosen.shape}.")
    return chosen


def _as_members(name: str, features: Any) -> frozenset[str | int]:
    rule = "must be names (str), positions (int) or a mask (bool)"
    values = as_array(name, list(features) if isinstance(features, set | frozenset) else features, rule)
    if values.ndim != 1:
        raise InputError.of(name, f"must be one list of names or positions, or one mask; got shape {values.shape}.")
    if values.dtype.kind == "b":
        return frozenset(np.flatnonzero(values).tolist())
    members = values.tolist()
    if not (all(isinstance(m, str) for m in members) or all(isinstance(m, int) for m in members)):
        raise InputError.of(name, f"{rule}; got {repr_of(members[:5])}.")
    return frozenset(members)


@by_name()
def concordance_index(
    time: Any, event: Any, risk: Any, *, weights: str | None = None, tau: float | None = None
) -> float:
    """Return how often, of two samples, the one with the higher risk had the event first.

    Parameters
    ----------
    time, event : array-like of shape (n_samples,)
        As for :class:`ubayfs.Survival`.
    risk : array-like of shape (n_samples,)
        Higher for an earlier event.
    weights : {None, "uno"}
        None is Harrell's index. "uno" weights each pair by the inverse squared probability not to be censored at the
        time of its event, so that the value does not depend on how long samples were followed (Uno et al. 2011).
    tau : float, optional
        Only events before this time count.

    Returns
    -------
    c : float
        From 0 to 1, 0.5 if the risk tells nothing; equal risks count half. nan if no pair can be compared.

    Notes
    -----
    A pair counts if the earlier time is an event; of equal times if one is an event and the other is censored.

    References
    ----------
    F. E. Harrell et al. Evaluating the yield of medical tests. JAMA 247, 2543-2546, 1982.
    H. Uno et al. On the C-statistics for evaluating overall adequacy of risk prediction procedures with censored
    survival data. Statistics in Medicine 30, 1105-1117, 2011.

    Examples
    --------
    >>> concordance_index(time=[1, 2, 3, 4], event=[1, 1, 0, 1], risk=[3.0, 1.0, 2.0, 0.5])
    0.8
    """
    target = Survival(time, event)
    check_not_complex("risk", risk)
    values = as_array("risk", risk, "must be one number per sample", np.float64)
    if values.shape != target.shape or np.isnan(values).any():
        rule = f"must be one number per sample, of shape {target.shape}, without NaN; got shape {values.shape}."
        raise InputError.of("risk", rule)
    if weights is not None:
        check_choice("weights", weights, ("uno",))
    counted = np.ones(len(target)) if tau is None else (target.time < check_real("tau", tau, low=0.0)).astype(float)
    if weights == "uno":
        counted = _inverse_censoring(target, counted)
    pairs, everything = OrderedPairs.from_times(target.time, target.event), np.ones((1, len(target)))
    by_event = counted[pairs.order[pairs.events]]
    total = float(by_event @ (len(target) - pairs.partners))
    if total == 0:
        return float("nan")
    return 0.5 + 0.5 * float(pairs.agreement(values[:, None], everything, counted)[0, 0]) / total


def _inverse_censoring(target: Survival, counted: Floats) -> Floats:
    """Return what an event that counts counts by Uno's rule, of shape (n_samples,)."""
    uncensored = kaplan_meier(target.time, target.event, censoring=True).at(target.time)
    if (uncensored[target.event & (counted > 0)] == 0).any():
        last = target.time[uncensored == 0].min()
        rule = f"must be given, at most {last:g}: all samples are censored there, which leaves events no weight."
        raise InputError.of("tau", rule)
    return np.where(uncensored > 0, counted / np.where(uncensored > 0, uncensored, 1.0) ** 2, 0.0)
