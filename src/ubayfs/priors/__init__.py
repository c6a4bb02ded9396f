"""Priors: weights and evidence become a posterior over feature importances.

>>> from ubayfs import Evidence
>>> from ubayfs.priors import PRIORS
>>> sorted(PRIORS)
['dirichlet', 'generalized', 'hyperdirichlet']
>>> PRIORS["dirichlet"]().update(Evidence.from_sets([[1, 1, 0], [1, 0, 0]]), weights=1.0).mean
array([0.5       , 0.33333333, 0.16666667])
"""

from __future__ import annotations

from typing import Any

from .._arguments import check_choice
from ..exceptions import InputError, repr_of
from .base import Diagnostics, Posterior, Prior
from .block_importance import BlockImportance
from .dirichlet import Dirichlet
from .generalized import GeneralizedDirichlet
from .hyper import Hyperdirichlet
from .knowledge import PriorKnowledge
from .weight_resolver import DEFAULT_WEIGHT, as_weights, pool_experts, resolve_knowledge, resolve_weights

__all__ = [
    "DEFAULT_WEIGHT",
    "PRIORS",
    "BlockImportance",
    "Diagnostics",
    "Dirichlet",
    "GeneralizedDirichlet",
    "Hyperdirichlet",
    "Posterior",
    "Prior",
    "PriorKnowledge",
    "as_prior",
    "as_weights",
    "pool_experts",
    "resolve_knowledge",
    "resolve_weights",
]

PRIORS: dict[str, type[Prior]] = {prior.name: prior for prior in (Dirichlet, GeneralizedDirichlet, Hyperdirichlet)}


def as_prior(prior: Any) -> Prior:
    """Return a prior given by name ("dirichlet", "generalized", "hyperdirichlet") or as a configured object.

    Examples
    --------
    >>> as_prior("dirichlet")
    Dirichlet()
    """
    if isinstance(prior, Prior):
        return prior
    if isinstance(prior, str):
        return PRIORS[check_choice("prior", prior, PRIORS)]()
    raise InputError.of(
        "prior",
        f"must be one of {', '.join(map(repr, sorted(PRIORS)))}, or a configured prior such as "
        f"GeneralizedDirichlet(beta=2); got {repr_of(prior)}.",
    )
