"""Facts about what was asked: the data, the ensemble, the prior, constraints, correlations, and advice on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import PurePath
from typing import Any

import numpy as np

from .._arguments import Array, RandomState
from .._plain import decode, number, plain, relaxation
from ..constraints.utility import log_row_admissibility, score_tolerance
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..data.survival_curves import median_follow_up
from ..decision.problem import FeatureSet, Violation
from ..decision.selection import Selection
from ..ensemble.evidence import Evidence
from ..ensemble.features_per_model import most_features
from ..exceptions import Advice
from ..metrics import stability
from ..plotting.base import Correlations, top_features
from ..plotting.profile import ProfileDisplay, can_be_grouped, profile_of
from ..priors import DEFAULT_WEIGHT
from ..priors.knowledge import AS_STATED
from ..selectors import SELECTORS, describe
from .facts import (
    AdviceFact,
    BlockFact,
    ClassCount,
    ConstraintFact,
    CorrelatedPair,
    CorrelationFacts,
    DataFacts,
    EnsembleFacts,
    FailureCount,
    MissingFact,
    Opinion,
    Price,
    PriorFacts,
    Reason,
    ScoreFacts,
    SetSizes,
    Spread,
    StabilityFact,
    ViolatedInequality,
)
from .sentences import constraint_label

_LISTED = 20  # constant columns that are named
_MATRIX = 60  # chosen features up to which all correlations are listed; beyond, the strongest pairs
_PAIRS = 10
_CANDIDATES = 40  # features whose correlations are stored for the next decision
_AFTER = "changed_after_votes"
_CONFIDENCE = 0.95
_WORST = 5  # violated inequalities that are shown of one constraint


def all_advice(selection: Selection) -> tuple[Advice, ...]:
    """Return the advice of evidence, posterior and selection."""
    posterior = selection.posterior
    before = () if posterior is None else (*posterior.evidence.advice, *posterior.advice)
    return (*before, *selection.advice)


def advice_facts(advice: Iterable[Advice]) -> tuple[AdviceFact, ...]:
    """Return code, facts and the message of a report for each."""
    return tuple(AdviceFact(each.code, plain(each.facts), each.in_words("report")) for each in advice)


def block_facts(selection: Selection, blocks: Blocks, level: float, random_state: RandomState) -> tuple[BlockFact, ...]:
    """Return the blocks with their importances, if there is a posterior."""
    if not len(blocks):
        return ()
    sizes = map(len, blocks.members.values())
    n_selected = (blocks.matrix(selection.feature_names) @ selection.mask.astype(int)).tolist()
    if selection.posterior is None:
        return tuple(map(BlockFact, blocks.names, sizes, n_selected))
    importance = selection.posterior.blocks(blocks, level, random_state=random_state)
    values = (importance.mean.tolist(), importance.lower.tolist(), importance.upper.tolist())
    return tuple(map(BlockFact, blocks.names, sizes, n_selected, *values))


def score_facts(selection: Selection) -> ScoreFacts:
    """Return the score of the chosen set, its parts, and whether it is proved to be the best."""
    best = selection.best
    return ScoreFacts(
        value=float(best.value),
        bound=number(best.bound),
        gap=number(best.gap),
        complete=best.complete,
        proved=is_proved(best),
        importance=float(best.metrics.importance),
        admissibility=float(best.metrics.admissibility),
        log_admissibility=number(best.metrics.log_admissibility),
        constraint_strength=number(selection.provenance.get("constraint_strength")),
        min_votes=selection.provenance.get("min_votes", 0),
    )


def is_proved(best: FeatureSet) -> bool:
    """Return whether a set is known to be the best: its gap is closed."""
    return bool(best.gap <= score_tolerance(best.value))


def data_facts(selection: Selection, data: FeatureData | None, study: Mapping[str, Any]) -> DataFacts:
    """Return the data at a glance; `study` has the settings of the study, in plain types."""
    ensemble, section = selection.provenance.get("evidence", {}), study.get("data")
    section = section if isinstance(section, Mapping) else {}
    path = section.get("path") or (data.path if data is not None else None)
    files = [*path.values()] if isinstance(path, Mapping) else [] if path is None else [path]
    files += [section["samples"]] if section.get("samples") else []
    evidence = None if selection.posterior is None else selection.posterior.evidence
    source = evidence if data is None else data
    constant = selection.feature_names[:0] if source is None else selection.feature_names[source.constant]
    target = None if data is None or data.target.values is None else data.target
    spread = None
    if target is not None and target.numbers is not None:
        spread = Spread(*map(number, np.quantile(target.numbers, [0, 0.5, 1])))
    survival = target is not None and target.task == "survival"
    return DataFacts(
        file=", ".join(PurePath(str(file)).name for file in files) or None,
        target=section.get("target"),
        n_samples=ensemble.get("n_samples") if data is None else data.n_samples,
        n_features=len(selection.feature_names),
        task=ensemble.get("task") if target is None else target.task,
        classes=() if target is None else tuple(ClassCount(label, count) for label, count in target.class_counts),
        range=spread,
        follow_up=median_follow_up(target.time, target.event) if target is not None and survival else None,
        groups=None if data is None or data.groups is None else len(np.unique(data.groups)),
        adjust_for=() if evidence is None else tuple(evidence.adjust_for),
        measured=() if evidence is None else evidence.measured,
        n_constant=None if source is None else len(constant),
        constant=tuple(constant[:_LISTED].tolist()),
        missing=_missing_fact(data),
    )


def _missing_fact(data: FeatureData | None) -> MissingFact | None:
    if data is None or data.about_missing is None:
        return None
    words = str(data.about_missing)
    facts = {"rule": data.missing, **data.about_missing.facts, "words": words[0].upper() + words[1:]}
    return decode(MissingFact, plain(facts))


def _selector_name(kind: str, described: str) -> str:
    """Return the usual name of a built-in selector with its default settings; others are described."""
    built_in = SELECTORS.get(kind)
    return built_in.usual_name or described if built_in and described == describe(built_in) else described


def ensemble_facts(evidence: Evidence) -> EnsembleFacts:
    """Return how the evidence was made, and how much its models agree."""
    settings = evidence.settings
    parts = settings.get("parts", [settings])
    sizes = np.diff(evidence.sets.indptr) if evidence.votes is None else np.zeros(0)
    selectors = {
        described: kind
        for part in parts
        for described, kind in zip_longest(part.get("selector", []), part.get("selector_kinds", []), fillvalue="")
    }
    errors = Counter(failure.error for failure in evidence.failures)
    per_model, on_residuals = _common(parts, "n_features_per_model"), _common(parts, "on_residuals")
    return EnsembleFacts(
        n_models=evidence.n_models,
        selector=tuple(selectors),
        selector_kinds=tuple(selectors.values()),
        selector_names=tuple(_selector_name(kind, described) for described, kind in selectors.items()),
        train_size=_common(parts, "train_size"),
        n_features_per_model=per_model,
        most_features_per_model=None if per_model is None else most_features(per_model, evidence.n_features),
        seed=plain(_common(parts, "seed")),
        grouped=_common(parts, "grouped"),
        on_residuals=None if on_residuals is None else tuple(on_residuals),
        set_sizes=SetSizes(int(sizes.min()), float(np.median(sizes)), int(sizes.max())) if len(sizes) else None,
        n_voted=int((evidence.counts > 0).sum()),
        stability=_stability(evidence),
        n_failures=len(evidence.failures),
        failures=tuple(FailureCount(error, times) for error, times in errors.most_common(5)),
        versions=_common(parts, "versions"),
    )


def _common(parts: list[Mapping[str, Any]], key: str) -> Any:
    """Return a setting that all parts of merged evidence share, or None."""
    values = [part.get(key) for part in parts]
    return values[0] if all(value == values[0] for value in values) else None


def _stability(evidence: Evidence) -> StabilityFact | None:
    if evidence.n_models < 2 or evidence.votes is not None:
        return None
    estimate = stability(evidence.sets, confidence=_CONFIDENCE)
    if np.isnan(estimate.value):
        return None
    return StabilityFact(estimate.value, number(estimate.lower), number(estimate.upper), _CONFIDENCE)


def prior_facts(selection: Selection) -> PriorFacts | None:
    """Return what the experts stated; None when importances were given."""
    weights, names, provenance = selection.weights, selection.feature_names, selection.provenance
    if weights is None:
        return None
    values, times = np.unique(weights, return_counts=True)
    default = DEFAULT_WEIGHT if DEFAULT_WEIGHT in values else float(values[times.argmax()])
    raised = np.flatnonzero(weights != default)
    counts = np.zeros(len(names), dtype=int) if selection.counts is None else selection.counts
    # The heaviest first; of equal weight, those with most votes of the models.
    order = raised[np.lexsort((-counts[raised], -weights[raised]))].tolist()
    in_votes = {str(names[i]): float(weights[i]) for i in order}
    unlikely: list[str] = []
    if selection.problem is not None:
        system = selection.problem.utility.system
        unlikely = names[np.unique(system.A[np.flatnonzero(system.from_prior)].indices)].tolist()
    stated = plain(selection.knowledge)
    experts = provenance.get("experts")
    words = {name: entry.get("weight") for name, entry in stated.items() if name in in_votes}
    return PriorFacts(
        kind=str(provenance.get("prior", "")),
        default=default,
        is_default_weight=default == DEFAULT_WEIGHT,
        weights=in_votes,
        words={name: words[name] for name in in_votes if isinstance(words.get(name), str)},
        unlikely=tuple(unlikely),
        experts=None if experts is None else tuple(experts),
        pool=provenance.get("pool"),
        confirmed=provenance.get("confirmed"),
        confirmed_by=provenance.get("confirmed_by"),
        trust_in_lists=provenance.get("trust_in_lists", AS_STATED),
        votes={str(names[i]): round(float(counts[i])) for i in order},
        changed_after_votes={name: entry[_AFTER] for name, entry in stated.items() if _AFTER in entry},
        opinions=_opinions(selection, stated),
        reasons=tuple(
            decode(Reason, {"feature": name, "chosen": name in selection.features, **entry})
            for name, entry in stated.items()
            if "why" in entry or "source" in entry
        ),
    )


def _opinions(selection: Selection, stated: Mapping[str, Any]) -> tuple[Opinion, ...]:
    """Return what each of several experts stated of each feature, those on which they disagree most first."""
    opinions = [
        decode(Opinion, {"feature": name, "chosen": name in selection.features, **entry})
        for name, entry in stated.items()
        if "experts" in entry
    ]
    return tuple(sorted(opinions, key=lambda opinion: -(opinion.disagreement or 0.0)))


def profile_of_data(selection: Selection, data: FeatureData) -> ProfileDisplay | None:
    """Return the features of :func:`correlations_of` in the data, if their samples have classes or numbers."""
    if not can_be_grouped(data.target):
        return None
    positions = top_features(selection.importance, selection.mask, _CANDIDATES)
    unordered = [position for position, levels in data.levels.items() if levels.n_columns > 1]  # have no mean
    return profile_of(data, selection.feature_names, positions[~np.isin(positions, unordered)])


def correlations_of(selection: Selection, X: Array) -> Correlations:
    """Return the correlations among the chosen features, and with those that another decision may choose."""
    return Correlations.from_data(
        X, selection.feature_names, top_features(selection.importance, selection.mask, _CANDIDATES)
    )


def correlation_facts(selection: Selection, correlations: Correlations | None) -> CorrelationFacts | None:
    """Return the rank correlations among the chosen features; None without data or with fewer than two of them."""
    names = selection.features
    if correlations is None or len(names) < 2 or not correlations.cover(names):
        return None
    chosen = correlations.among(names)
    first, second = np.triu_indices(len(names), 1)
    values = chosen.spearman[first, second]
    strongest = np.argsort(-np.abs(values), kind="stable")[:_PAIRS]
    return CorrelationFacts(
        method="spearman",
        redundancy=number(chosen.redundancy),
        features=names,
        matrix=tuple(map(tuple, chosen.spearman.tolist())) if len(names) <= _MATRIX else None,
        strongest=tuple(CorrelatedPair(names[first[i]], names[second[i]], float(values[i])) for i in strongest),
        correlations=correlations if len(correlations.features) <= _MATRIX else None,
    )


# -- constraints -------------------------------------------------------------------------------------------------------


def constraint_facts(selection: Selection) -> tuple[ConstraintFact, ...]:
    """Return one fact per constraint, in their order; costs are added by :func:`.answer_facts.with_costs`.

    What an expert holds unlikely has one, too, since it counts in the admissibility. Of a selection read from a file,
    the number of inequalities is not known, nor what those are that hold.
    """
    violations: dict[int | None, list[Violation]] = {}
    for violation in selection.metrics.violations:  # those that cost most come first
        violations.setdefault(violation.position, []).append(violation)
    return tuple(
        _constraint_fact(selection, *constraint, violations.get(position, []))
        for position, constraint in enumerate(_constraints(selection))
    )


def _constraints(selection: Selection) -> Iterator[tuple[Mapping[str, Any], str, list[float] | None]]:
    """Yield each constraint in plain types, its title, and rho of its inequalities if they are known."""
    if selection.problem is None:
        for written in selection.provenance.get("constraints", []):
            # As it is written in Python: its features are not at hand.
            shown = ", ".join(f"{name}={value}" for name, value in written["arguments"].items() if value is not None)
            yield written, f"{written['kind']}({shown})", None
        return
    system = selection.problem.utility.system
    for part in system.parts:
        written = {} if part.constraint is None else part.constraint.to_dict()
        yield {"kind": part.kind, **written}, part.title, system.rho[system.rows_of(part)].tolist()


def _constraint_fact(
    selection: Selection, written: Mapping[str, Any], title: str, rhos: list[float] | None, violations: list[Violation]
) -> ConstraintFact:
    arguments = plain(written.get("arguments", {}))
    price, note, from_prior = arguments.get("price"), written.get("note", ""), bool(written.get("from_prior", False))
    price = tuple(price) if isinstance(price, list) else price
    rho_range = [each.rho for each in violations] if rhos is None else rhos
    amounts, relaxations = np.array([(each.amount, each.rho) for each in violations]).reshape(-1, 2).T
    return ConstraintFact(
        label=constraint_label(title, note, arguments.get("features", []) if from_prior else None),
        kind=written["kind"],
        arguments=arguments,
        note=note,
        title=title,
        from_prior=from_prior,
        inactive=_is_zero(arguments.get("rho", 1 if price is None else price)),
        n_inequalities=None if rhos is None else len(rhos),
        n_violated=len(violations),
        holds=not violations,
        violation=max((each.amount for each in violations), default=0.0),
        admissibility=float(np.exp(log_row_admissibility(amounts, relaxations).sum())),
        worst=tuple(
            ViolatedInequality(each.label, each.amount, relaxation(each.rho), each.admissibility)
            for each in violations[:_WORST]
        ),
        rho=relaxation(min(rho_range)) if rho_range else None,
        rho_highest=relaxation(max(rho_range)) if rho_range else None,
        price=price,
        price_votes=_in_votes(price, selection),
    )


def _is_zero(rho: Any) -> bool:
    """Return whether a relaxation, as it was stated (a number, some numbers or "hard"), is nothing but 0."""
    return all(entry == 0 for entry in (rho if isinstance(rho, list | tuple) else [rho]))


def _in_votes(price: Price | None, selection: Selection) -> Price | None:
    """Return what one unit of violation costs in votes; None without a price, or where the ensemble is not at hand."""
    if price is None or selection.posterior is None:
        return None
    n_models = selection.posterior.evidence.n_models
    return tuple(entry * n_models for entry in price) if isinstance(price, tuple) else price * n_models
