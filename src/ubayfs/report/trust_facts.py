"""What other samples would say of an answer: validation, related features, reproducibility."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from .._plain import decode, number, plain
from ..decision.selection import Selection
from ..trust.gene_sets import GeneSets
from ..trust.related import LARGEST_Q, Related
from .facts import (
    ControlScore,
    ForecastFact,
    GeneSetFact,
    GeneSetsFacts,
    MethodScore,
    RelatedFacts,
    ReproducibilityFacts,
    ShuffledVotes,
    SizeAndRange,
    SizeScore,
    TrustFacts,
    Unknown,
    ValidationFacts,
)
from .plot_facts import validation_plot

if TYPE_CHECKING:
    from pandas import DataFrame

    from ..trust.growth import Growth
    from ..trust.reproducibility import HalvesAgreement, Reproducibility
    from ..trust.trust import Trust
    from ..trust.validation import Validation

R = TypeVar("R")


def trust_facts(selection: Selection, trust: Trust | None, result: str | None) -> TrustFacts:
    """Return what is known of other samples.

    `result` is the directory that further commands name; None where the answer is from Python, "" if no command helps.
    """
    parts = ("validation", "growth", "related", "reproducibility")
    validation, growth, related, reproducibility = (getattr(trust, part, None) for part in parts)
    problems: Mapping[str, str] = {} if trust is None else trust.problems

    def unknown(part: str) -> Unknown:
        return _unknown(selection, part, problems.get(part))

    return TrustFacts(
        level=None if trust is None else trust.level,
        result=result,
        n_chosen=len(selection.features),
        validation=unknown("validation") if validation is None else validation_facts(validation, growth),
        related=unknown("related")
        if related is None or not selection.features
        else related_facts(related, selection.features, _adjusted(selection), related.n_supported_of(selection)),
        reproducibility=unknown("reproducibility")
        if reproducibility is None
        else reproducibility_facts(reproducibility),
        gene_sets=None if trust is None or trust.gene_sets is None else gene_sets_facts(trust.gene_sets, selection),
    )


def gene_sets_facts(gene_sets: GeneSets, selection: Selection) -> GeneSetsFacts:
    """Return the gene sets with their selected features."""
    sets = gene_sets.of(selection.features)
    values = (sets.n_measured, sets.strength, sets.by_chance, sets.p_values, sets.q_values)
    n_measured, *numbers = (value.tolist() for value in values)
    facts = list(map(GeneSetFact, sets.names, n_measured, sets.selected, *numbers))
    return GeneSetsFacts(sets.n_shuffles, tuple(facts[i] for i in sets.order.tolist()))


def _unknown(selection: Selection, part: str, problem: str | None) -> Unknown:
    """Return why something is not known: it was not examined, could not be done, or has no meaning here."""
    settings = selection.provenance.get("evidence", {})
    reason = None
    if selection.counts is None:
        reason = "importances"
    elif not settings.get("parts", settings):
        reason = "votes"
    elif "pooling" in settings:
        reason = "pooled"
    elif part != "reproducibility" and settings.get("task") == "unsupervised":
        reason = "unsupervised"
    elif not selection.features:
        reason = "empty"
    elif problem is not None:
        reason = "failed"
    return Unknown("missing" if reason is None else "undefined", reason, problem)


def _state(n_done: int, n_asked: int) -> Literal["known", "partial"]:
    return "known" if n_done == n_asked else "partial"


def related_facts(
    related: Related, features: Iterable[str], adjust_for: Iterable[str] = (), n_supported: int | None = None
) -> RelatedFacts:
    """Return how many of some features are related to the target.

    `n_supported` is how many the data support, if that is fewer.
    """
    related = related.of(features)
    return RelatedFacts(
        state="known",
        n_done=related.n_shuffles,
        n_asked=related.n_shuffles,
        failures=(),
        size=len(related.features),
        n_features=len(related.feature_names),
        at_least=related.at_least,
        best_guess=related.best_guess,
        without_list=related.without_list,
        best_guess_without_list=related.best_guess_without_list,
        n_related_of_all=related.n_related_of_all,
        n_shuffles=related.n_shuffles,
        confidence=related.confidence,
        n_listed=len(related.favored),
        n_supported=n_supported,
        by_votes=_by_votes(related),
        limit=LARGEST_Q,
        adjust_for=tuple(adjust_for),
    )


def _by_votes(related: Related) -> ShuffledVotes | None:
    votes = related.shuffled_votes
    if votes is None:
        return None
    counts = dict(zip(related.feature_names.tolist(), votes.counts.tolist(), strict=True))
    return ShuffledVotes(votes.n_shuffles, votes.n_models, {name: counts[name] for name in related.by_votes})


def _adjusted(selection: Selection) -> tuple[str, ...]:
    return () if selection.posterior is None else selection.posterior.evidence.adjust_for


def reproducibility_facts(reproducibility: Reproducibility) -> ReproducibilityFacts:
    """Return what another study would select again."""
    stand_ins = reproducibility.stand_ins
    selected_again = tuple(map(number, reproducibility.selected_again))
    with_weights = (
        None if reproducibility.with_weights is None else _size_and_range(reproducibility.with_weights.agreement)
    )
    if (
        with_weights is not None and reproducibility.size
    ):  # what the data select alone is selected with the weights, too
        both = zip(with_weights.selected_again, selected_again, strict=True)
        most = tuple(None if weighted is None or data is None else max(weighted, data) for weighted, data in both)
        with_weights = replace(with_weights, selected_again=most)
    return ReproducibilityFacts(
        state=_state(reproducibility.n_used, reproducibility.n_splits),
        n_done=reproducibility.n_used,
        n_asked=reproducibility.n_splits,
        failures=tuple(reproducibility.failures),
        n_undefined=reproducibility.n_undefined,
        size=reproducibility.size,
        n_usually=int(np.count_nonzero(reproducibility.by_data & (reproducibility.labels == "usually"))),
        lower=number(reproducibility.lower),
        upper=number(reproducibility.upper),
        interval=tuple(map(number, reproducibility.interval)),
        selected_again=selected_again,
        n_selected=int(reproducibility.selected.sum()),
        by_rule=tuple(reproducibility.by_rule),
        by_weight=tuple(reproducibility.by_weight),
        filling=tuple(reproducibility.filling),
        stand_ins=None if stand_ins is None else tuple(map(number, stand_ins.selected_again)),
        without_prior=_size_and_range(reproducibility.without_prior),
        with_weights=with_weights,
    )


def _size_and_range(agreement: HalvesAgreement | None) -> SizeAndRange | None:
    return None if agreement is None else SizeAndRange(agreement.size, tuple(map(number, agreement.selected_again)))


def validation_facts(validation: Validation, growth: Growth | None = None) -> ValidationFacts:
    """Return how the procedure predicts beside baselines, and would predict with more samples."""
    scores = _rows(MethodScore, validation.scores)
    ours = next((row for row in scores if row.metric == validation.main_metric), None)
    return ValidationFacts(
        state=_state(validation.n_done, validation.n_folds),
        n_done=validation.n_done,
        n_asked=validation.n_folds,
        failures=tuple(validation.failures),
        metric=validation.main_metric,
        adjust_for=tuple(validation.adjust_for),
        predictor=None if ours is None else ours.predictor,
        mean=None if ours is None else ours.mean,
        lower=None if ours is None else ours.lower,
        upper=None if ours is None else ours.upper,
        scores=scores,
        sizes=_rows(SizeScore, validation.sizes),
        best_size=validation.best_size,
        one_se_size=validation.one_se_size,
        control=_rows(ControlScore, validation.control),
        growth=() if growth is None else tuple(ForecastFact(**vars(each)) for each in growth.forecasts),
        plot=validation_plot(validation),
    )


def _rows(kind: type[R], frame: DataFrame | None) -> tuple[R, ...]:
    """Return the rows of a frame as values; what is no finite number is None."""
    if frame is None:
        return ()
    return tuple(
        decode(kind, {key: number(value) if isinstance(value, float) else plain(value) for key, value in row.items()})
        for row in frame.to_dict("records")
    )
