"""A decision becomes a result: what is still missing of its summary, its figures, and where its runs were stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..data.feature_data import FeatureData
from ..decision.selection import Selection
from ..ensemble.evidence import Evidence
from ..exceptions import Advice, InputError, UBayFSError
from ..plotting import Figures, read_displays, render_figures
from ..report.facts import Answer, Summary
from ..report.summary import earlier_correlations, summarize, with_advice
from ..study.resolve import ResolvedStudy
from ..study.study import Study
from ..study.trust_work import TrustWork
from .result import Result, StoredResult


def ensemble_digest(study: Study, data: FeatureData, features_per_model: int | str) -> str:
    """Return a digest of an ensemble whatever its number of models, so that another study never meets its runs."""
    section = study.to_dict().get("evidence", {})
    ensemble = {key: value for key, value in section.items() if key not in ("n_models", "n_jobs")}
    ensemble["n_features_per_model"] = features_per_model  # the default may be another one in another version
    identity = json.dumps([ensemble, data.fingerprint], sort_keys=True, default=str)
    return hashlib.sha256(identity.encode()).hexdigest()[:12]


def runs_directory(directory: Path, study: ResolvedStudy) -> Path:
    """Return where finished runs of exactly this ensemble are stored."""
    assert study.data is not None
    return directory / f"unfinished-runs-{ensemble_digest(study.study, study.data, study.features_per_model)}"


def check_fingerprint(study: Study, data: FeatureData | None, evidence: Evidence) -> None:
    """Refuse data that the ensemble did not see."""
    if data is not None and data.fingerprint != evidence.settings.get("data_fingerprint", data.fingerprint):
        raise InputError(
            f"{study.data.source} is not the table that the ensemble saw: it was changed since. Run `ubayfs select` "
            "again to have evidence of the new one.",
            argument="data",
        )


def finished(
    work: TrustWork,
    selection: Selection,
    answer: Answer,
    *,
    earlier: StoredResult | None = None,
    drawn: Callable[[Mapping[str, Any]], Figures] | None = None,
    advice: Iterable[Advice] = (),
    note: Callable[[str], None] = lambda text: None,
) -> tuple[Result, Figures]:
    """Summarize a decision and draw what is not drawn yet.

    `answer` is what :func:`~ubayfs.report.answer_of` returned for it, `earlier` a result whose figures and correlations
    are used again, `drawn` gives figures that are drawn already for displays, `note` is called with what must be known
    of data that could not be read.
    """
    before = None if earlier is None else earlier.summary
    study, selection = _with_data(work.study, work.evidence, selection, before, note)
    outputs = study.study.outputs
    with work.watch("selection probabilities", "draws") as on_progress:
        summary = summarize(
            selection,
            study=study,
            answer=answer,
            n_draws=outputs.n_draws,
            on_progress=on_progress,
            earlier=before,
            warnings=advice,
            trust=work.trust,
            front=work.front(selection),
        )
    drawn = drawn if earlier is None else earlier.figures
    figures = render_figures(read_displays(summary.displays), outputs.figures, drawn and drawn(summary.displays))
    summary = with_advice(summary, figures.advice)
    return Result(study.standalone, work.evidence, selection, summary, work.trust), figures


def _with_data(
    study: ResolvedStudy,
    evidence: Evidence,
    selection: Selection,
    before: Summary | None,
    note: Callable[[str], None],
) -> tuple[ResolvedStudy, Selection]:
    """Return study and selection with what a report shows of the data: correlations among the chosen features.

    The table is read unless that was done already, or the earlier result knows these correlations.
    """
    if study.data is not None or len(selection.features) < 2 or study.study.cohorts is not None:
        return study, selection
    correlations = None if before is None else earlier_correlations(selection, before)
    if correlations is not None:
        metrics = replace(selection.metrics, redundancy=correlations.among(selection.features).redundancy)
        return study, replace(selection, best=replace(selection.best, metrics=metrics))
    try:
        data = study.study.read_data()
        check_fingerprint(study.study, data, evidence)
    except UBayFSError as error:
        note(f"decided without the data, so no correlations are shown ({error})")
        return study, selection
    return replace(study, data=data), _measured(selection, data)


def _measured(selection: Selection, data: FeatureData) -> Selection:
    """Return the selection as if it had been decided with the data: sets have a redundancy then."""
    assert selection.problem is not None
    problem = replace(selection.problem, X=data.X)
    best, *others = (
        replace(each, metrics=problem.measure(problem.mask(each.indices)))
        for each in (selection.best, *selection.alternatives)
    )
    return replace(selection, best=best, alternatives=tuple(others), problem=problem)
