"""Summary: all that is to be said of a selection, in plain types; reports are made of it alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from .._arguments import RandomState, check_int
from ..attribution import attribution
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..data.target import Target
from ..ensemble.collect import Progress
from ..exceptions import InputError
from ..selection import Selection
from .account import (
    LEVEL,
    alternatives,
    chosen_features,
    headline,
    is_proved,
    other_sets,
    probabilities,
    verdict,
)
from .belief import prior_facts
from .displays import display_data
from .facts import CITATION, correlation_facts, data_facts, ensemble_facts, version_facts
from .kept import constraint_lines
from .plain import number, plain
from .question import question
from .words import caution, legend, sentences, terms

__all__ = ["summarize"]

_FORMAT = 2


def summarize(
    selection: Selection,
    data: Any = None,
    *,
    asked: Mapping[str, Any] | None = None,
    blocks: Any = None,
    n_draws: int = 100,
    on_progress: Progress | None = None,
    random_state: RandomState = 0,
    warnings: Iterable[Any] = (),
    created: str | None = None,
) -> dict[str, Any]:
    """Return everything that a report says of a selection, in plain types, ready for JSON.

    Parameters
    ----------
    selection : Selection
        From :func:`~ubayfs.workflow.decide` or :func:`~ubayfs.workflow.maximize`. For one read from a file, what
        needs its constraints or its posterior is left out (None, or an empty list).
    data : FeatureData, DataFrame or array-like of shape (n_samples, n_features), optional
        The data of the fit. Default: the `X` that the selection was decided with, if any.
    asked : mapping, optional
        The study as used, in plain types; it goes into the summary as it is.
    blocks : mapping of name to features, DataFrame (feature, block) or Blocks, optional
    n_draws : int, default 100
        Decisions on draws from the posterior that the selection probabilities rest on; 0 leaves them out.
    on_progress : callable, optional
        Called as ``on_progress(done, total)`` after each of these decisions; False keeps it at those done so far.
    random_state : int, Generator, SeedSequence, RandomState or None, default 0
    warnings : iterable of str or Warning
        What was warned of on the way; what the selection itself gives reason to warn of is added.
    created : str, optional
        Date of the summary. Default: now.

    Returns
    -------
    summary : dict
        Numbers are not rounded. What is not known, or no finite number, is None.

    Examples
    --------
    >>> from ubayfs import Evidence, decide, max_size
    >>> evidence = Evidence.from_sets([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 0]], ["a", "b", "c", "d"])
    >>> summary = summarize(decide(evidence, constraints=[max_size(2, rho=10)]), n_draws=0)
    >>> summary["headline"]
    '2 of 4 features were chosen; proved to be the best set.'
    """
    if not isinstance(selection, Selection):
        raise InputError(f"selection must be a Selection, as decide() returns it; got {type(selection).__name__}.")
    n_draws = check_int("n_draws", n_draws, low=0)
    study, known = plain(asked or {}), Blocks.of(blocks)
    table = _table(selection, data)
    X = None if table is None else table.X
    found = None if selection.problem is None else attribution(selection, random_state)
    chance, n_decided = probabilities(selection, n_draws, random_state, on_progress)
    facts = data_facts(selection, table, study)
    ensemble = None if selection.posterior is None else ensemble_facts(selection.posterior.evidence)
    constraints, others, prior = constraint_lines(selection), alternatives(selection), prior_facts(selection, study)
    summary = {
        "format": _FORMAT,
        "title": _title(study, facts),
        "created": created or datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "headline": headline(selection),
        "caution": caution(),
        "question": question(selection, facts, ensemble, prior, constraints, known),
        "data": facts,
        "ensemble": plain(ensemble),
        "prior": prior,
        "level": LEVEL,
        "n_draws": n_decided,
        "chosen": chosen_features(selection, found, known, chance, random_state),
        "sets": other_sets(selection, found),
        "constraints": constraints,
        **_answer(selection),
        "verdict": verdict(selection, others),
        "alternatives": others,
        "correlation": correlation_facts(selection, X),
        "warnings": _warnings(selection, warnings),
        "decision": plain(selection.provenance),
        "study": study or None,
        "versions": version_facts(),
        "citation": CITATION,
        "displays": display_data(selection, X, known, LEVEL),
    }
    legends = {"terms": terms(summary), "sentences": sentences(summary), "legend": legend(summary["chosen"])}
    return summary | legends


def _table(selection: Selection, data: Any) -> FeatureData | None:
    """Return the data of the fit: those given, or those that the selection was decided with."""
    if data is not None:
        return FeatureData.of_fit(data, selection.feature_names)
    if selection.problem is None or selection.problem.X is None:
        return None
    return FeatureData(selection.problem.X, Target("unsupervised"), selection.feature_names)


def _title(study: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    source = f" from {data['file']}" if data["file"] is not None else ""
    return str(study.get("title") or f"Feature selection{source}")


def _answer(selection: Selection) -> dict[str, Any]:
    return {
        "value": number(selection.value),
        "bound": number(selection.bound),
        "gap": number(selection.gap),
        "complete": selection.best.complete,
        "proved": is_proved(selection.best),
        "importance": number(selection.metrics.importance),
        "admissibility": number(selection.metrics.admissibility),
        "log_admissibility": number(selection.metrics.log_admissibility),
        "constraint_strength": number(selection.provenance.get("constraint_strength")),
    }


def _warnings(selection: Selection, given: Iterable[Any]) -> list[str]:
    """Return what was warned of and what there is to warn of, each once."""
    return list(dict.fromkeys([*map(str, given), *map(str, selection.advice)]))
