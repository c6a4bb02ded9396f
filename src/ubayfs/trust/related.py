r"""Related: how many members of a set are related to the target, with confidence, and which.

With the p-values of :mod:`ubayfs.trust.association` for P features, in the data and in B shuffles of the target, of
which the K smallest of each shuffle are kept:

.. math:: \psi_b = \min_k p_{(k)} P / k, \qquad
          V_a(S) = \min(|S|, \min_k \#\{j \in S: p_j \ge \lambda_a k / P\} + k - 1),

where :math:`\lambda_a` is the :math:`\lfloor a (B + 1) \rfloor`-th smallest :math:`\psi` of all shuffles and of the
data. At most :math:`V_a(S)` members of S are unrelated to the target, with confidence 1 - a. This holds for all sets at
once: also for one that was chosen by votes, weights and constraints, and after any number of changes of mind.

**Knowledge that was stated beforehand** buys power. Features that were favored before any vote was seen are a
hypothesis stated in advance: half of the error is spent on them, half on all others. Their p-values are divided by
P / (2 m), those of the others by P / (2 (P - m)), in the data and in every shuffle.

References
----------
Blanchard, Neuvial and Roquain, "Post hoc confidence bounds on false positives using reference families", Annals of
Statistics 48 (2020); Hemerik, Solari and Goeman, "Permutation-based simultaneous confidence bounds for the false
discovery proportion", Biometrika 106 (2019); Genovese, Roeder and Wasserman, "False discovery control with p-value
weighting", Biometrika 93 (2006).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import SeedSequence

from .._arguments import (
    MOST_REPEATS,
    Array,
    FeatureIndex,
    Floats,
    Mask,
    RandomState,
    as_seed_sequence,
    by_name,
    check_int,
)
from .._plain import ShownAsCard
from ..constraints.sizes import has_data_driven_size, with_supported
from ..data.feature_data import FeatureData
from ..data.missing import MAX_MISSING
from ..decision.selection import Selection
from ..decision.workflow import Decision
from ..ensemble.evidence import Evidence
from ..ensemble.progress import Progress
from ..exceptions import Advice, EnsembleError, InputError
from ..priors import DEFAULT_WEIGHT, Posterior, PriorKnowledge, resolve_knowledge
from ..priors.weights import raised
from .association import FeatureTests
from .procedure import Procedure, check_repeatable, data_of_evidence, ensemble_of
from .shuffled_votes import ShuffledVotes, collect_shuffled_votes

if TYPE_CHECKING:
    import pandas as pd

# Errors of the headline and of the best guess, and the largest q of a feature that is called related.
HEADLINE, BEST_GUESS, LARGEST_Q = 0.1, 0.5, 0.1
# The smallest p-values of each shuffle that are kept.
N_KEPT = 50
# With fewer shuffles the bound rests on a handful of them; fewer favored features are no list.
FEWEST_SHUFFLES, FEWEST_FAVORED = 200, 3
N_SHUFFLES = 1000
# A size by the data allows at most so many features, and such a share of unrelated ones among them by the best guess.
MAX_SUPPORTED = 20
_UNRELATED_SHARE = 0.2
_ARRAYS = ("p_values", "q_values")
_VOTES = "votes"
ARRAYS = "|".join([_VOTES, *(f"{kind}_{name}" for kind in ("plain", "listed") for name in _ARRAYS)])


@dataclass(frozen=True, eq=False)
class Bounds:
    """P-values, perhaps weighted, with the thresholds that shuffles gave them."""

    p_values: Floats  # (n_features,)
    q_values: Floats  # (n_features,)
    headline: float  # lambda of the error 0.1
    best_guess: float  # lambda of the error 0.5

    @classmethod
    def from_p_values(cls, p_values: Floats, smallest: Floats, with_gaps: bool) -> Bounds:
        """Calibrate p-values by the smallest ones of each shuffle, of shape (n_shuffles, n_kept)."""
        n, n_shuffles = len(p_values), len(smallest)
        # The data, in the first row, count as one more shuffle.
        kept = np.sort(np.vstack([np.sort(p_values)[: smallest.shape[1]], smallest]), axis=1)[:, :N_KEPT]
        psi = np.sort((kept * n / np.arange(1, kept.shape[1] + 1)).min(axis=1))
        # 1e-9: 0.1 * 1000 is no less than 100.
        thresholds = [float(psi[int(error * (n_shuffles + 1) + 1e-9) - 1]) for error in (HEADLINE, BEST_GUESS)]
        if with_gaps:  # ranks over different samples are less alike than those over the same
            thresholds = [
                min(threshold, error) for threshold, error in zip(thresholds, (HEADLINE, BEST_GUESS), strict=True)
            ]
        return cls(p_values, _q_values(p_values, kept[1:]), *thresholds)

    def n_related(self, members: Any, threshold: float) -> int:
        """Return how many of some features are related to the target, at least, with the confidence of a threshold."""
        p, n = np.sort(self.p_values[members]), len(self.p_values)
        k = np.arange(1, min(N_KEPT, n) + 1)
        # V_a(S): #{p_j >= lambda k / P} + k - 1, the smallest over k.
        unrelated = len(p) - np.searchsorted(p, threshold * k / n, side="left") + k - 1
        return len(p) - min(int(unrelated.min()), len(p))


def _q_values(p_values: Floats, kept: Floats) -> Floats:
    """Return the share of unrelated features among those with a p-value as small, at least as expected by chance.

    The smallest of max((1 + sum of N_b(t)) / B, P t) / R(t) over t >= p, where N_b(t) and R(t) are the numbers of
    p-values up to t in shuffle b and in the data; at most 1.
    """
    order = np.argsort(p_values, kind="stable")
    t = p_values[order]
    chance = (1 + np.searchsorted(np.sort(kept, axis=None), t, side="right")) / len(kept)
    ratio = np.maximum(chance, len(t) * t) / np.searchsorted(t, t, side="right")
    q_values = np.empty(len(t))
    # The smallest ratio over all t >= p: a running minimum from the largest p-value on.
    q_values[order] = np.minimum(np.minimum.accumulate(ratio[::-1])[::-1], 1.0)
    return q_values


@dataclass(frozen=True, eq=False)
class Related(ShownAsCard):
    """How many members of a set are related to the target, and which; made by :func:`~ubayfs.estimate_related`.

    Related means: differs with the target, by itself. It need not be a cause, and what acts only together with other
    features is not shown.

    Attributes
    ----------
    features : tuple of str
        The set that the numbers are about.
    feature_names : ndarray of str of shape (n_features,)
    favored : tuple of str
        Features that were favored before votes were seen, if they are enough to count as a list.
    n_shuffles : int
    data_fingerprint : str
        Of the data that the p-values are of.
    shuffled_votes : ShuffledVotes or None
        Votes beside those for shuffled targets, if these were asked for.

    Examples
    --------
    >>> from ubayfs import collect_evidence, decide, estimate_related
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 30)
    >>> X = rng.normal(size=(60, 40))
    >>> X[:, :4] += 2 * y[:, None]
    >>> evidence = collect_evidence(X, y, selector="mrmr", n_models=20, n_features_per_model=4, random_state=0)
    >>> related = estimate_related(decide(evidence, max_size=4), X, y)
    >>> related.at_least, related.of(["x0", "x10", "x20"]).at_least
    (4, 1)
    """

    features: tuple[str, ...]
    feature_names: Array
    plain: Bounds
    listed: Bounds | None  # with the favored features
    favored: tuple[str, ...]
    n_shuffles: int
    data_fingerprint: str = ""
    confidence: float = 1.0 - HEADLINE
    shuffled_votes: ShuffledVotes | None = None

    @property
    def bounds(self) -> Bounds:
        """What the numbers rest on: with the list, if there is one."""
        return self.plain if self.listed is None else self.listed

    @property
    def p_values(self) -> Floats:
        """P-value of each feature by itself, not weighted, of shape (n_features,)."""
        return self.plain.p_values

    @property
    def q_values(self) -> Floats:
        """Expected share of unrelated features among those with a p-value as small, of shape (n_features,)."""
        return self.bounds.q_values

    @property
    def _members(self) -> Mask:
        return np.isin(self.feature_names, self.features)

    @property
    def at_least(self) -> int:
        """Members that are related to the target, at least, with 90 % confidence."""
        return self.bounds.n_related(self._members, self.bounds.headline)

    @property
    def best_guess(self) -> int:
        """Members that are related to the target, with 50 % confidence at least so many."""
        return self.bounds.n_related(self._members, self.bounds.best_guess)

    @property
    def without_list(self) -> int | None:
        """The same as `at_least` without what was favored beforehand; None if nothing was."""
        return None if self.listed is None else self.plain.n_related(self._members, self.plain.headline)

    @property
    def best_guess_without_list(self) -> int | None:
        """The same as `best_guess` without what was favored beforehand; None if nothing was."""
        return None if self.listed is None else self.plain.n_related(self._members, self.plain.best_guess)

    @property
    def n_related_of_all(self) -> int:
        """All features that are related to the target, selected or not: at least so many, with 90 % confidence."""
        return self.bounds.n_related(slice(None), self.bounds.headline)

    @property
    def by_votes(self) -> tuple[str, ...]:
        """Members not shown by themselves that have more votes than any feature for shuffled targets.

        They may act together with others. Empty if no votes for shuffled targets were asked for.
        """
        if self.shuffled_votes is None:
            return ()
        shown_by_votes = self._members & (self.q_values > LARGEST_Q) & self.shuffled_votes.exceeded
        return tuple(self.feature_names[shown_by_votes].tolist())

    def supported(self, importance: Selection | Posterior | Floats, most: int = MAX_SUPPORTED) -> int:
        """Return how many features the data support, at most `most`.

        The largest k for which, by the best guess, at most a fifth of the k most important features are unrelated to
        the target, and one of them is related with 90 % confidence; 0 if there is none.

        Parameters
        ----------
        importance : Selection, Posterior, or ndarray of float of shape (n_features,)
            Of a selection or a posterior, only features with a vote or a weight above the default count.
        most : int, default 20

        Examples
        --------
        >>> bounds = Bounds(np.array([1e-9, 1e-8, 0.6, 0.7]), np.ones(4), 0.1, 0.5)
        >>> related = Related((), np.array(["a", "b", "c", "d"]), bounds, None, (), n_shuffles=1000)
        >>> related.supported(np.array([0.4, 0.3, 0.2, 0.1]))
        2
        """
        decided, counts, weights = importance, None, None
        if isinstance(decided, Selection | Posterior):
            importance = decided.importance if isinstance(decided, Selection) else decided.mean
            counts, weights = decided.counts, decided.weights
        order, bounds = np.argsort(-np.asarray(importance), kind="stable"), self.bounds
        if counts is not None and weights is not None:
            order = order[((counts > 0) | raised(weights))[order]]
        order = order[:most]
        sizes = range(len(order), 0, -1)
        return next(
            (
                k
                for k in sizes
                if k - bounds.n_related(order[:k], bounds.best_guess) <= _UNRELATED_SHARE * k + 1e-9
                and bounds.n_related(order[:k], bounds.headline)
            ),
            0,
        )

    def n_supported_of(self, selection: Selection) -> int | None:
        """Return how many features of a larger set the data support, as for `max_size: supported`.

        None where this says nothing of the set: the data support as many features or none, or others than its most
        important members, which constraints keep out; or more members are related by the best guess, so that those of
        less importance do not just fill places.
        """
        size, importance = len(selection.features), selection.importance
        n = self.supported(selection, max(MAX_SUPPORTED, size))
        if not 0 < n < size or self.bounds.n_related(selection.mask, self.bounds.best_guess) > n:
            return None
        weakest = np.sort(importance[selection.mask])[-n]
        return n if weakest >= importance[~selection.mask].max(initial=0.0) else None

    def to_record(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return everything but the set as plain types and as arrays, for a file without pickle."""
        both = {"plain": self.plain} | ({} if self.listed is None else {"listed": self.listed})
        about = {
            "feature_names": self.feature_names.tolist(),
            "favored": list(self.favored),
            "n_shuffles": self.n_shuffles,
            "data_fingerprint": self.data_fingerprint,
            "thresholds": {kind: [bounds.headline, bounds.best_guess] for kind, bounds in both.items()},
        }
        arrays = {f"{kind}_{name}": getattr(bounds, name) for kind, bounds in both.items() for name in _ARRAYS}
        if (votes := self.shuffled_votes) is not None:
            more = {"shares": votes.shares.tolist(), "n_models": votes.n_models, "settings": dict(votes.settings)}
            return about | {"shuffled_votes": more}, arrays | {_VOTES: votes.counts}
        return about, arrays

    @classmethod
    def from_record(cls, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> Related:
        """Return what :meth:`to_record` was called for; EnsembleError if its parts do not fit together."""
        try:
            names, both = np.array(about["feature_names"], dtype=object), {}
            for kind, thresholds in about["thresholds"].items():
                p, q = (np.array(arrays[f"{kind}_{name}"], dtype=np.float64) for name in _ARRAYS)
                headline, best_guess = map(float, thresholds)
                if not (p.shape == q.shape == names.shape and (p >= 0).all() and ((q >= 0) & (q <= 1)).all()):
                    raise ValueError("p-values or q-values out of range, or of other features")
                both[kind] = Bounds(p, q, headline, best_guess)
            favored, fingerprint = tuple(map(str, about["favored"])), str(about["data_fingerprint"])
            votes = None
            if (more := about.get("shuffled_votes")) is not None:
                counts, shares = np.array(arrays[_VOTES], dtype=np.int64), np.array(more["shares"], dtype=np.float64)
                if counts.shape != names.shape:
                    raise ValueError("votes of other features")
                votes = ShuffledVotes(shares, counts, int(more["n_models"]), dict(more["settings"]))
            n_shuffles = int(about["n_shuffles"])
            related = cls((), names, both["plain"], both.get("listed"), favored, n_shuffles, fingerprint)
            return replace(related, shuffled_votes=votes)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise EnsembleError(f"the stored p-values do not fit together ({error!r}).") from error

    def of(self, features: Iterable[str | int]) -> Related:
        """Return the same for another set of features, given by names or positions: no data are needed."""
        positions = FeatureIndex(self.feature_names).positions(list(features), "features")
        return replace(self, features=tuple(self.feature_names[positions].tolist()))

    def table(self) -> pd.DataFrame:
        """Return a table with one row per member: p-value, q-value, and whether it is related by itself."""
        import pandas as pd

        members = FeatureIndex(self.feature_names).positions(self.features, "features")
        q = self.q_values[members]
        columns = {"feature": self.features, "p_value": self.p_values[members], "q_value": q, "related": q <= LARGEST_Q}
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        listed = "" if self.without_list is None else f", without_list={self.without_list}"
        return f"Related(at_least={self.at_least} of {len(self.features)}, best_guess={self.best_guess}{listed})"


def favored_beforehand(weights: Floats, changed_after_votes: Iterable[str], feature_names: Array) -> Mask:
    """Return the features whose weight was raised before votes were seen, of shape (n_features,).

    Fewer than three are not a list, nor are all features: then there are none.
    """
    favored = raised(weights) & ~np.isin(feature_names, list(changed_after_votes))
    return np.asarray(favored & (FEWEST_FAVORED <= favored.sum() < len(favored)))


def associate(data: FeatureData, favored: Mask, n_shuffles: int, random_state: Any) -> tuple[Bounds, Bounds | None]:
    """Test each feature against the target; return the bounds, and those with the favored features as a list."""
    n, m = data.n_features, int(favored.sum())
    tests = FeatureTests(data, n_shuffles, np.random.default_rng(random_state))
    p_values, kept = np.ones(n), []
    for part in (~favored, favored):
        columns = np.flatnonzero(part & ~data.constant)
        p_values[columns], smallest = tests.run(columns, N_KEPT)
        kept.append(smallest)
    with_gaps = data.missing is not None
    plain = Bounds.from_p_values(p_values, np.hstack(kept), with_gaps)
    if m == 0:
        return plain, None
    # Weights of p-values: 1 on average, and half of their sum on the list.
    weight_of_others, weight_of_favored = n / (2 * (n - m)), n / (2 * m)
    smallest = np.hstack([kept[0] / weight_of_others, kept[1] / weight_of_favored])
    return plain, Bounds.from_p_values(
        p_values / np.where(favored, weight_of_favored, weight_of_others), smallest, with_gaps
    )


@by_name()
def estimate_related(
    selection: Selection,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    adjust_for: Any = None,
    target: Any = None,
    layer: str | None = None,
    max_missing: float = MAX_MISSING,
    n_shuffles: int = 1000,
    n_vote_shuffles: int = 0,
    selector: Any = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    on_progress: Progress | bool | None = None,
) -> Related:
    """Estimate how many selected features are related to the target, each by itself.

    Parameters
    ----------
    selection : Selection
        Decided on evidence of these data, by any weights and constraints.
    X, y, groups, adjust_for, target, layer, max_missing
        The data that the evidence was collected on, as in :func:`~ubayfs.collect_evidence`; a target is needed.
    n_shuffles : int, default 1000
        Shuffles of the target, at least 200.
    n_vote_shuffles : int, default 0
        Shuffles of the target for which the whole ensemble is repeated, such as 20. ``related.by_votes`` then names
        selected features that are not shown by themselves, but have more votes than any feature has there: they may
        act together with others.
    selector : optional
        The selector of the evidence; needed for a custom one, and only for `n_vote_shuffles`.
    random_state : int, Generator, SeedSequence, RandomState or None, default 0
    n_jobs, on_progress
        As in :func:`~ubayfs.collect_evidence`, for the ensembles of `n_vote_shuffles`.

    Returns
    -------
    related : Related
        Features with a weight above the default that was stated before votes were seen count as a list, if they are at
        least 3; the number without the list is ``related.without_list``.

    Raises
    ------
    InputError
        If there is no target, or the data are not those of the evidence; with `n_vote_shuffles` also if there are
        covariates, or the ensemble cannot be repeated.

    See Also
    --------
    assess : All parts at once.

    References
    ----------
    Blanchard, G., Neuvial, P., Roquain, E. (2020). Post hoc confidence bounds on false positives using reference
    families. Annals of Statistics, 48, 1281-1303.

    Hemerik, J., Solari, A., Goeman, J. J. (2019). Permutation-based simultaneous confidence bounds for the false
    discovery proportion. Biometrika, 106, 635-649.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ubayfs import collect_evidence, decide
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> evidence = collect_evidence(X, y, selector="mrmr", n_models=20, n_features_per_model=5, random_state=0)
    >>> related = estimate_related(decide(evidence, max_size=6), X, y)
    >>> related
    Related(at_least=6 of 6, best_guess=6)
    >>> related.of(["smoothness error"])
    Related(at_least=0 of 1, best_guess=0)
    """
    n_shuffles = check_int("n_shuffles", n_shuffles, low=FEWEST_SHUFFLES, high=MOST_REPEATS)
    reading = {"groups": groups, "adjust_for": adjust_for, "target": target, "layer": layer, "max_missing": max_missing}
    n_vote_shuffles = check_int("n_vote_shuffles", n_vote_shuffles, low=0, high=MOST_REPEATS)
    seed = None if random_state is None else as_seed_sequence(random_state)
    data = data_of_evidence(selection, X, y, **reading)
    if n_vote_shuffles == 0:
        return related_members(selection, data, n_shuffles, seed)
    check_repeatable(selection)
    assert selection.posterior is not None
    evidence = selection.posterior.evidence
    again = (ensemble_of(evidence, selector), evidence, n_vote_shuffles, seed, n_jobs, on_progress)
    related = related_members(selection, data, n_shuffles, seed)
    return replace(related, shuffled_votes=collect_shuffled_votes(data, *again))


def related_members(selection: Selection, data: FeatureData, n_shuffles: int, random_state: RandomState) -> Related:
    """Do what :func:`estimate_related` does with data that are read already."""
    if data.target.task == "unsupervised":
        rule = "is not used: without a target that the evidence was collected for, nothing can be related to it."
        raise InputError.of("y", rule)
    weights, knowledge = selection.weights, None if selection.posterior is None else selection.posterior.knowledge
    if knowledge is not None:  # as stated, not as learned from votes
        weights = knowledge.weights
    weights = np.full(data.n_features, DEFAULT_WEIGHT) if weights is None else weights
    late = [name for name, entry in selection.knowledge.items() if "changed_after_votes" in entry]
    favored = favored_beforehand(weights, late, data.feature_names)
    return related_of(data, favored, n_shuffles, random_state).of(selection.features)


def related_of(data: FeatureData, favored: Mask, n_shuffles: int, random_state: RandomState) -> Related:
    """Test all features against the target; `favored`, of shape (n_features,), were so before votes were seen."""
    plain, listed = associate(data, favored, n_shuffles, random_state)
    names = () if listed is None else tuple(data.feature_names[favored].tolist())
    return Related((), data.feature_names, plain, listed, names, n_shuffles, data.fingerprint)


# -- a size by the data: as many features as can be shown to be related to the target ----------------------------------


def supported_size(related: Related, importance: Posterior | Floats, most: int) -> tuple[int, tuple[Advice, ...]]:
    """Return the number of features that the data support, at least 1, and advice where it is 0."""
    size = related.supported(importance, most)
    return max(size, 1), () if size else (Advice("nothing_supported", {"n_shuffles": related.n_shuffles}),)


@dataclass(frozen=True, eq=False)
class SizedInParts:
    """Gives the decision of a part of the samples, with the size that this part supports."""

    decision: Decision
    knowledge: PriorKnowledge
    most: int
    n_shuffles: int

    def __call__(self, data: FeatureData, evidence: Evidence) -> Decision:
        """Return the decision with the size that the part supports."""
        seed = SeedSequence(**evidence.settings["seed"])
        knowledge = self.knowledge
        favored = favored_beforehand(knowledge.weights, knowledge.changed_after_votes, data.feature_names)
        related = related_of(data, favored, self.n_shuffles, seed.spawn(1)[0])
        posterior = self.decision.posterior(evidence, knowledge)
        return _with_size(self.decision, supported_size(related, posterior, self.most)[0])


def sized_in_parts(
    procedure: Procedure,
    decision: Decision,
    most: int = MAX_SUPPORTED,
    n_shuffles: int = N_SHUFFLES,
    knowledge: PriorKnowledge | None = None,
) -> tuple[Decision, SizedInParts | None]:
    """Return a decision that can be made, and what gives that of a part of the samples.

    The latter is None where no constraint asks for the number of features that the data support.
    """
    if not any(map(has_data_driven_size, decision.constraints)):
        return decision, None
    if knowledge is None:
        names, n_models = procedure.data.feature_names, procedure.settings["n_models"]
        knowledge = resolve_knowledge(decision.weights, names, decision.blocks, n_models)
    return _with_size(decision, most), SizedInParts(decision, knowledge, most, n_shuffles)


def _with_size(decision: Decision, n: int) -> Decision:
    return decision.replace(constraints=with_supported(decision.constraints, n))
