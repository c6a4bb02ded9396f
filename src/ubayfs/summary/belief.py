"""The prior: what an expert said of features, in votes and in the expert's own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..priors import DEFAULT_WEIGHT
from ..selection import Selection
from ..study.weights import VOTES, votes
from .plain import listing, number, rounded

_KINDS = {
    "dirichlet": "Dirichlet prior",
    "generalized": "generalized Dirichlet prior",
    "hyperdirichlet": "hyperdirichlet prior",
}
_LISTED = 12


def prior_facts(selection: Selection, asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the expert said: every weight that is not the most common one, and what is held unlikely.

    Words of the scale are those of the study, where one is given. None when importances were given.
    """
    weights, names = selection.weights, selection.feature_names
    if weights is None:
        return None
    values, times = np.unique(weights, return_counts=True)
    default = DEFAULT_WEIGHT if DEFAULT_WEIGHT in values else float(values[times.argmax()])
    raised = np.flatnonzero(weights != default)
    order = raised[np.argsort(-weights[raised], kind="stable")]
    said = _words(selection, asked)
    return {
        "kind": _KINDS.get(str(selection.provenance.get("prior", "")), str(selection.provenance.get("prior", ""))),
        "default": default,
        "weights": {str(names[i]): number(weights[i]) for i in order},
        "words": {str(names[i]): word for i in order if (word := said(str(names[i]), float(weights[i]))) is not None},
        "unlikely": _unlikely(selection),
    }


def _unlikely(selection: Selection) -> list[str]:
    if selection.problem is None:
        return []
    system = selection.problem.utility.system
    columns = np.unique(system.A[np.flatnonzero(system.from_prior)].indices)
    return [str(name) for name in selection.feature_names[columns]]


def _words(selection: Selection, asked: Mapping[str, Any]) -> Any:
    """Return a function that finds the word of the scale that a study gave a feature its weight by, or None."""
    section = asked.get("prior")
    given = section.get("weights") if isinstance(section, Mapping) else None
    given = given if isinstance(given, Mapping) else {}
    levels = {key: level for key, level in given.items() if isinstance(level, Mapping)}
    by_name = levels.get("features", {})
    used = {belief for level in levels.values() for belief in level.values() if belief in VOTES}
    n_models = 0 if selection.posterior is None else selection.posterior.evidence.n_models
    worth = {votes(word, -1.0, n_models): word for word in used}

    def said(name: str, weight: float) -> str | None:
        if isinstance(by_name.get(name), int | float):
            return None
        return worth.get(weight)

    return said


def prior_sentences(prior: Mapping[str, Any] | None) -> list[str]:
    """Return the prior in sentences."""
    if prior is None:
        return []
    default, weights = prior["default"], prior["weights"]
    kind = prior["kind"][:1].upper() + prior["kind"][1:]
    unlikely = f" Unlikely: {listing(prior['unlikely'], _LISTED)}." if prior["unlikely"] else ""
    if weights:
        told = listing([_told(prior, name, weight) for name, weight in weights.items()], _LISTED)
        more = " (all of them are listed under How to reproduce)" if len(weights) > _LISTED else ""
        return [f"{kind}. What the expert said, in votes: {told}{more}; all others have {rounded(default)}.{unlikely}"]
    opinion = "." if unlikely else ": no opinion." if default == DEFAULT_WEIGHT else ": no preference."
    usual = "the default weight of" if default == DEFAULT_WEIGHT else "a weight of"
    return [f"{kind}, with {usual} {_votes(default)} for every feature{opinion}{unlikely}"]


def _told(prior: Mapping[str, Any], name: str, weight: float) -> str:
    word = prior["words"].get(name)
    return f"{name} ({rounded(weight)})" if word is None else f"{name}: {word} ({_votes(weight)})"


def _votes(weight: float) -> str:
    return f"{rounded(weight)} vote{'' if weight == 1 else 's'}"
