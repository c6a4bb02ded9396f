"""The relevance scale: words for what an expert believes of a feature, beside numbers.

==============  ====================================================================================
neutral         the default weight: the models decide
likely          as if a quarter of the models had chosen the feature
very likely     as if all models had chosen it
unlikely        a soft ``exclude`` (rho 1), since a weight below the default changes next to nothing
==============  ====================================================================================
"""

from __future__ import annotations

from numbers import Real
from typing import Any

from .._arguments import check_choice
from ..exceptions import InputError
from ..priors.weights import resolve_weights

# Share of the models whose votes a word is worth; None: the default weight.
VOTES: dict[str, float | None] = {"very likely": 1.0, "likely": 0.25, "neutral": None, "unlikely": None}
UNLIKELY = "unlikely"
UNLIKELY_RHO = 1.0

# A weight as said: votes, or a word of the scale.
Belief = float | str


def as_belief(name: object, value: Any) -> Belief:
    """Return a weight as votes or as a word of the scale, or raise naming the rule.

    Examples
    --------
    >>> as_belief("radius", 5), as_belief("radius", "Very_likely")
    (5.0, 'very likely')
    """
    if isinstance(value, str):
        word = " ".join(value.lower().replace("_", " ").replace("-", " ").split())
        try:
            return check_choice("weight", word, VOTES)
        except InputError as error:
            raise InputError(f"{error} Or give a number of votes.") from None
    if not isinstance(value, Real) or isinstance(value, bool):
        words = ", ".join(map(repr, VOTES))
        raise InputError(f"weight must be a number of votes or one of {words}; got {value!r}.")
    return float(resolve_weights([value], [str(name)])[0])


def votes(belief: Belief, default: float, n_models: int) -> float:
    """Return what a belief is worth in votes.

    Examples
    --------
    >>> votes("likely", 0.01, 200), votes("unlikely", 0.01, 200), votes(3.0, 0.01, 200)
    (50.0, 0.01, 3.0)
    """
    if not isinstance(belief, str):
        return belief
    share = VOTES[belief]
    return default if share is None else share * n_models
