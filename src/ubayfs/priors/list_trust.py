"""Learned trust in lists: a list keeps its weight as far as its features have more votes than random ones.

For each list, gene set or group of features with one word, of m features that are not constant:

- m <= 2: as stated (too few to check);
- p = share of random sets of m features whose mean votes are as high. Lists with p above 0.2 get the default weight;
- lists with p up to 0.05 and at most as many features as the size limit keep the stated weight;
- all others keep at most half of the models' votes.

Several lists are judged by the levels of Benjamini and Hochberg in place of 0.2 and 0.05.

Only favorable statements are checked. A feature of several lists takes the largest weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._arguments import Array, Floats, Ints, Mask
from ..ensemble.evidence import Evidence
from .knowledge import FeatureList, ListTrust, PriorKnowledge, pooled

# Lists of fewer features are not checked, those with a p-value above the level get the default weight, and those up to
# the second level, if they are short, all of the stated one.
FEWEST, LEVEL, CLEAR = 3, 0.2, 0.05
N_DEALINGS = 2000
_SEED = 0
_TOP = 0.05


def learn_trust(
    knowledge: PriorKnowledge, evidence: Evidence, size_limit: int | None = None
) -> tuple[Floats, tuple[ListTrust, ...]]:
    """Return the learned weights of all features, and what the votes say of each list.

    Parameters
    ----------
    knowledge : PriorKnowledge
        What was stated. The lists of several experts are checked each by itself; then their votes are pooled as usual.
    evidence : Evidence
        The votes at hand.
    size_limit : int, optional
        The most features of a set. Default: the most that a model may choose, if known, else 10.

    Returns
    -------
    weights : ndarray of float of shape (n_features,)
    list_trust : tuple of ListTrust
        One for each list of three or more features that are not constant.
    """
    sources = {"": knowledge} if knowledge.agreed is None else {"": knowledge.agreed, **knowledge.experts}
    varying = ~evidence.constant
    lists = [(expert, part) for expert, source in sources.items() for part in source.lists]
    sizes = np.array([varying[part.members].sum() for _, part in lists], dtype=int)
    checked = np.flatnonzero(sizes >= FEWEST)
    if not len(checked):
        return knowledge.weights, ()
    members = [part.members[varying[part.members]] for _, part in lists]
    p_values = list_p_values([members[i] for i in checked], evidence.counts, varying)
    agree, clear = (benjamini_hochberg(p_values, level) for level in (LEVEL, CLEAR))
    whole = clear & (sizes[checked] <= (size_limit or _usual_size(evidence)))
    weights = [part.votes for _, part in lists]
    for i, agrees, as_stated in zip(checked, agree, whole, strict=True):
        most, default = weights[i] if as_stated else evidence.n_models / 2, sources[lists[i][0]].default
        weights[i] = max(default, min(weights[i], most)) if agrees else default
    top = _top(evidence.counts, varying)
    list_trust = tuple(
        ListTrust(
            name=f"{expert}: {part.name}" if expert else part.name,
            n_features=int(sizes[i]),
            p_value=float(p),
            agrees=bool(agrees),
            n_top=int(top[members[i]].sum()),
            n_top_expected=float(sizes[i] * top.sum() / varying.sum()),
            stated=part.votes,
            weight=float(weights[i]),
        )
        for i, p, agrees, (expert, part) in zip(checked, p_values, agree, (lists[i] for i in checked), strict=True)
    )
    part_weights = list(zip(lists, weights, strict=True))
    learned = {
        name: replace(source, weights=_with_lists(source, [(part, w) for (of, part), w in part_weights if of == name]))
        for name, source in sources.items()
    }
    agreed = learned.pop("")
    if not learned:
        return agreed.weights, list_trust
    names = [str(name) for name in evidence.feature_names]
    return pooled(learned, names, knowledge.pool, evidence.n_models, knowledge.default, agreed).weights, list_trust


def list_p_values(lists: Sequence[Ints], votes: Array, varying: Mask) -> Floats:
    """Return for each list how often as many random features that are not constant have as many votes, one-sided.

    How many features of each number of votes are among m random ones is hypergeometric, whatever their names: so the
    time depends neither on the number of features nor, by much, on m.

    Parameters
    ----------
    lists : sequence of ndarray of int
        Positions of the members, none of them constant.
    votes : ndarray of int of shape (n_features,)
    varying : ndarray of bool of shape (n_features,)

    Returns
    -------
    p_values : ndarray of float of shape (n_lists,)
        The list itself counts as one of the 2,001 sets.
    """
    values, times = np.unique(votes[varying], return_counts=True)
    dealt: dict[int, Array] = {}
    p_values = []
    for members in lists:
        m = len(members)
        if m not in dealt:
            rng = np.random.default_rng(_SEED)
            dealt[m] = rng.multivariate_hypergeometric(times, m, N_DEALINGS, method="marginals") @ values
        p_values.append((1 + np.count_nonzero(dealt[m] >= votes[members].sum())) / (N_DEALINGS + 1))
    return np.array(p_values)


def benjamini_hochberg(p_values: Floats, level: float) -> Mask:
    """Return which hypotheses are rejected at a false discovery rate, of the shape of the p-values.

    >>> benjamini_hochberg(np.array([0.5, 0.01, 0.13, 0.12]), 0.2).tolist()
    [False, True, True, True]
    """
    ordered = np.sort(p_values)
    passed = np.flatnonzero(ordered <= level * np.arange(1, len(ordered) + 1) / len(ordered))
    return p_values <= (ordered[passed[-1]] if len(passed) else -np.inf)


def _with_lists(knowledge: PriorKnowledge, lists: Sequence[tuple[FeatureList, float]]) -> Floats:
    """Return the weights of all features with other ones of lists; a feature of several takes the largest."""
    weights = knowledge.weights.copy()
    for part, _ in lists:
        weights[part.members] = knowledge.default
    for part, weight in lists:
        weights[part.members] = np.maximum(weights[part.members], weight)
    return weights


def _usual_size(evidence: Evidence) -> int:
    parts = evidence.settings.get("parts", [evidence.settings])
    return max((n for part in parts if isinstance(n := part.get("n_features_per_model"), int)), default=10)


def _top(votes: Array, varying: Mask) -> Mask:
    """Return which features are among the 5 % with the most votes; those with as many votes as the last are, too."""
    n = int(np.ceil(_TOP * varying.sum()))
    return varying & (votes >= max(np.sort(votes[varying])[-n], 1))
