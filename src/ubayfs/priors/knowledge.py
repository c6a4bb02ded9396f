"""What is known of the features, by one expert or by several whose votes are pooled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._arguments import Floats, Ints, freeze
from ..exceptions import Advice, InputError
from ..knowledge.scale import DEFAULT_WEIGHT, UNLIKELY, UNLIKELY_PRICE, VERY_LIKELY, Stated

# How the votes of several experts, of shape (n_experts, n_features), become one weight per feature.
POOLS: dict[str, Callable[..., Any]] = {"mean": np.mean, "lowest": np.min}
# How far lists of features are trusted: see :mod:`ubayfs.priors.list_trust`.
AS_STATED, LEARNED = TRUST_IN_LISTS = ("as_stated", "learned")


@dataclass(frozen=True, eq=False)
class FeatureList:
    """Features that share one favorable statement: one word or number, one pattern, one block or one gene set.

    Attributes
    ----------
    name : str
        Of the word, pattern or block.
    kind : {"weight", "pattern", "block"}
    members : ndarray of int of shape (n_members,)
        Positions of the features of which nothing more specific is stated.
    stated : float or str
        Votes or word of the scale.
    votes : float
        What that is worth, more than the default weight.
    """

    name: str
    kind: str
    members: Ints
    stated: Stated
    votes: float


@dataclass(frozen=True)
class ListTrust:
    """How far votes and a list of three or more features agree, and the weight that follows.

    Attributes
    ----------
    name : str
        Of the list, after the name of the expert if there are several.
    n_features : int
        Features of the list that are not constant.
    p_value : float
        Share of random sets of so many features, the list itself included, whose mean votes are as high.
    agrees : bool
        Whether the list has more votes than random features: p at most 0.2, among several lists by Benjamini-Hochberg.
    n_top : int
        Features of the list among the 5 % with the most votes; features without votes are never there.
    n_top_expected : float
        How many of so many random features are there.
    stated : float
        The stated weight, in votes.
    weight : float
        The weight that learned trust gives, in votes.
    """

    name: str
    n_features: int
    p_value: float
    agrees: bool
    n_top: int
    n_top_expected: float
    stated: float
    weight: float


@dataclass(frozen=True, eq=False)
class PriorKnowledge:
    """What is known of the features at hand.

    Attributes
    ----------
    weights : ndarray of float of shape (n_features,)
    stated : mapping of str to float or str
        Votes or word of the scale, of those features of which something was stated.
    reasons : mapping of str to mapping
        "why" and "source" of features, as far as they were given.
    costs : mapping of str to float, or None
        None without a table of costs.
    advice : tuple of Advice
        Names that were left out or found by an alias, and what else a reader must know.
    experts : mapping of str to PriorKnowledge
        What each of several experts stated, by their names; empty if there is one.
    pool : str
        How their votes became one weight, of `POOLS`; empty if there is one expert.
    shares : mapping of str to float
        Share of the experts who hold a feature unlikely, of those features that some of them do.
    disagreement : mapping of str to float
        Of each feature of which an expert stated something: the highest minus the lowest of what it is worth to them in
        votes, where "unlikely" is worth minus its price.
    agreed : PriorKnowledge or None
        What holds for all experts and takes the place of what they state.
    confirmed : str or None
        When the knowledge was confirmed, before votes were seen.
    changed_after_votes : mapping of str to str
        Features whose knowledge was changed after votes were seen, and when.
    default : float
        Weight of features of which nothing is stated.
    lists : tuple of FeatureList
        What was stated of several features at once; of several experts, each has their own.
    list_trust : tuple of ListTrust or None
        Where the trust in lists is learned: what it is. The weights here are the stated ones; those of the posterior
        are the learned ones.
    """

    weights: Floats
    stated: Mapping[str, Stated] = field(default_factory=dict)
    reasons: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    costs: Mapping[str, float] | None = None
    advice: tuple[Advice, ...] = ()
    experts: Mapping[str, PriorKnowledge] = field(default_factory=dict)
    pool: str = ""
    shares: Mapping[str, float] = field(default_factory=dict)
    disagreement: Mapping[str, float] = field(default_factory=dict)
    agreed: PriorKnowledge | None = None
    confirmed: str | None = None
    changed_after_votes: Mapping[str, str] = field(default_factory=dict)
    default: float = DEFAULT_WEIGHT
    lists: tuple[FeatureList, ...] = ()
    list_trust: tuple[ListTrust, ...] | None = None

    @property
    def unlikely(self) -> dict[str, float]:
        """Price of each feature that was stated to be unlikely: half of the models, times the share of the experts."""
        shares = {name: 1.0 for name, stated in self.stated.items() if stated == UNLIKELY} | dict(self.shares)
        return {name: UNLIKELY_PRICE * share for name, share in shares.items()}

    @property
    def very_likely(self) -> tuple[str, ...]:
        """Features that were stated to be very likely."""
        return tuple(name for name, stated in self.stated.items() if stated == VERY_LIKELY)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return weight, why and source by feature, in plain types; and of several experts, what each stated."""
        entries: dict[str, dict[str, Any]] = {}
        prices = {name: price for name, price in self.unlikely.items() if name in self.shares}
        more = {"weight": self.stated, "price": prices, "changed_after_votes": self.changed_after_votes}
        for name in dict.fromkeys((*self.stated, *self.reasons, *self.changed_after_votes)):
            entries[name] = {key: values[name] for key, values in more.items() if name in values}
            entries[name] |= self.reasons.get(name, {})
        for expert, knowledge in self.experts.items():
            for name, entry in knowledge.to_dict().items():
                entries.setdefault(name, {}).setdefault("experts", {})[expert] = entry
        for name, votes in self.disagreement.items():
            entries.setdefault(name, {})["disagreement"] = votes
        return entries

    def provenance(self) -> dict[str, Any]:
        """Return what a selection records of the knowledge: that of features, who stated it, and when."""
        by_whom = {name: knowledge.confirmed for name, knowledge in self.experts.items() if knowledge.confirmed}
        sources = {
            "experts": list(self.experts),
            "pool": self.pool,
            "confirmed": self.confirmed,
            "confirmed_by": by_whom,
        }
        learned = {} if self.list_trust is None else {"trust_in_lists": LEARNED}
        return {"knowledge": self.to_dict(), **{key: value for key, value in sources.items() if value}, **learned}


@dataclass(frozen=True, eq=False)
class Experts:
    """What several experts state of the same features, not tied to data yet; see :func:`ubayfs.pool_experts`.

    Attributes
    ----------
    stated : mapping of str to weights
        By the names of the experts, in any form that weights may have.
    pool : str
        Of `POOLS`.
    """

    stated: Mapping[str, Any]
    pool: str = "mean"


def pooled(
    experts: Mapping[str, PriorKnowledge],
    feature_names: Sequence[str],
    pool: str,
    n_models: int,
    default: float = DEFAULT_WEIGHT,
    agreed: PriorKnowledge | None = None,
) -> PriorKnowledge:
    """Return what several experts know of the same features as one.

    An expert who stated nothing at all does not count. One who says nothing of a feature gives it the default weight;
    "unlikely" counts 0 votes, and the share of the experts who say it makes its price. Where that leaves less than the
    default weight, the default counts: a lower one would change nothing.

    Parameters
    ----------
    experts : mapping of str to PriorKnowledge
    feature_names : sequence of str of length n_features
    pool : str
        Of `POOLS`.
    n_models : int
        The number of models that words are measured by.
    default : float
        Weight of features of which nothing is stated.
    agreed : PriorKnowledge, optional
        What holds for all of them: of a feature that is stated there, nothing is pooled.
    """
    counting = {
        name: knowledge
        for name, knowledge in experts.items()
        if knowledge.stated or (knowledge.weights != default).any()
    }
    common = agreed or PriorKnowledge(np.full(len(feature_names), default), default=default)
    notes = [note for knowledge in (common, *experts.values()) for note in knowledge.advice]
    advice = tuple(note for i, note in enumerate(notes) if note not in notes[:i])
    common = replace(common, advice=advice, costs=_all_costs([common, *experts.values()]))
    if not counting:
        return common
    held = np.array(
        [[knowledge.stated.get(name) == UNLIKELY for name in feature_names] for knowledge in counting.values()]
    )
    votes = np.where(held, 0.0, [knowledge.weights for knowledge in counting.values()])
    weights = POOLS[pool](votes, axis=0)
    weights = np.where(held.any(axis=0), np.maximum(weights, default), weights)
    apart = np.ptp(votes - held * UNLIKELY_PRICE * n_models, axis=0)
    shares, stated_names = held.mean(axis=0), {name for knowledge in counting.values() for name in knowledge.stated}
    named = [i for i, name in enumerate(feature_names) if name in stated_names or (votes[:, i] != default).any()]
    open_ones = [i for i in named if feature_names[i] not in common.stated]
    fixed = [i for i, name in enumerate(feature_names) if name in common.stated]
    weights[fixed] = common.weights[fixed]
    stated = {feature_names[i]: _common(counting.values(), feature_names[i], float(weights[i])) for i in open_ones}
    return replace(
        common,
        weights=freeze(weights),
        stated={**stated, **common.stated},
        reasons={**_reasons(counting), **common.reasons},
        experts=counting,
        pool=pool,
        shares={feature_names[i]: float(shares[i]) for i in open_ones if shares[i]},
        disagreement={feature_names[i]: float(apart[i]) for i in named},
        agreed=common,
    )


def _common(experts: Iterable[PriorKnowledge], name: str, votes: float) -> Stated:
    """Return what all experts state of a feature; where they differ, the pooled votes."""
    first, *others = {knowledge.stated.get(name) for knowledge in experts}
    return votes if others or first is None else first


def _reasons(experts: Mapping[str, PriorKnowledge]) -> dict[str, dict[str, str]]:
    """Return why and source of each feature, with the names of the experts who gave them."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for expert, knowledge in experts.items():
        for name, texts in knowledge.reasons.items():
            for key, text in texts.items():
                reasons.setdefault(name, {}).setdefault(key, []).append(f"{expert}: {text}")
    return {name: {key: "; ".join(texts) for key, texts in entry.items()} for name, entry in reasons.items()}


def _all_costs(sources: Iterable[PriorKnowledge]) -> dict[str, float] | None:
    """Return the costs of all tables; a feature that costs differently in two of them is an error."""
    all_costs: dict[str, float] = {}
    tables = [knowledge.costs for knowledge in sources if knowledge.costs is not None]
    for costs in tables:
        for name, cost in costs.items():
            if all_costs.setdefault(name, cost) != cost:
                rule = f"of feature {name!r} are {all_costs[name]:g} and {cost:g} in the tables of experts; keep one."
                raise InputError.of("costs", rule)
    return all_costs if tables else None
