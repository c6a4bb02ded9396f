"""All sentences of a report and of an answer, made of facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._plain import cost_text, counted, listing, price_text, rounded, strictness
from ..advice import place_of
from ..data.target import TASKS
from .cohort_facts import cohort_notes, cohort_sentences
from .facts import (
    ConstraintFact,
    DataFacts,
    EnsembleFacts,
    Methods,
    ReportFacts,
    SubstituteFact,
    Summary,
)
from .feature_sentences import (
    about_chosen,
    about_details,
    common_replacement,
    left_out_sentences,
    legend,
    substitute_sentences,
    with_votes,
)
from .knowledge_sentences import (
    experts_and_times,
    knowledge_notes,
    less_knowledge,
    opinion_and_data,
    prior_sentence,
)
from .trust_sentences import trust_sections

_LISTED = 12
NONE_CHOSEN = "No feature was selected."
_REDUNDANCY = "Mean absolute Pearson correlation over all pairs (redundancy rate): {:.2f}."


def with_sentences(facts: ReportFacts, methods: Methods, messages: Iterable[str] = ()) -> Summary:
    """Return a summary with all sentences of a report; further messages come before the advice."""
    redundancy = None if facts.correlation is None else facts.correlation.redundancy
    missing, notes = facts.data.missing, [fact.message for fact in facts.advice if place_of(fact.code) == "data"]
    sentences = {
        "chosen": list(filter(None, [common_replacement(facts.chosen)])) if facts.chosen else [NONE_CHOSEN],
        "knowledge": [*opinion_and_data(facts), *less_knowledge(facts)],
        "constraints": constraint_sentences(facts),
        "ensemble": _ensemble(facts),
        "correlation": [] if redundancy is None else [_REDUNDANCY.format(redundancy)],
        "reproduce": _reproduce(facts),
        **({} if facts.cohorts is None else {"cohorts": cohort_sentences(facts.cohorts)}),
        "left_out": left_out_sentences(facts),
        "substitutes": substitute_sentences(facts),
        **trust_sections(facts),
    }
    below_tables = {  # these explain them
        "chosen": about_chosen(facts),
        "details": about_details(facts),
        "knowledge": knowledge_notes(facts),
        **({} if facts.cohorts is None else {"cohorts": cohort_notes(facts.cohorts)}),
        "constraints": constraint_notes(facts.constraints),
        "data": [*([missing.words] if missing else []), *notes],
        "quality": _terms(facts),
    }
    return Summary(
        **vars(facts),
        lead=_lead(facts),
        question=tuple(_question(facts)),
        verdict=tuple(_verdict(facts)),
        warnings=(*messages, *(fact.message for fact in facts.advice if place_of(fact.code) == "warnings")),
        sentences={key: tuple(lines) for key, lines in sentences.items()},
        notes={key: tuple(lines) for key, lines in below_tables.items()},
        legend=legend(facts.chosen),
        methods=methods,
        brief=section_briefs(facts),
    )


def headline(n_chosen: int, n_features: int, measured: Sequence[str] = ()) -> str:
    """Return the answer in one sentence.

    >>> headline(1, 6033)
    '1 of 6,033 features was selected.'
    >>> headline(2, 6033, ["TP53", "MDM2"])
    '2 of 6,033 features were selected, in addition to TP53 and MDM2, measured anyway.'
    """
    which = f", in addition to {listing(measured, 5)}, measured anyway" if measured else ""
    return f"{n_chosen:,} of {counted(n_features, 'feature')} {'was' if n_chosen == 1 else 'were'} selected{which}."


def _lead(facts: ReportFacts) -> str:
    """Return what the features are to explain, what the answer rests on, and and whether soft constraints hold."""
    ensemble, data, n_samples = facts.ensemble, facts.data, facts.data.n_samples
    classes = [f"{each.label}: {each.count:,}" for each in data.classes]
    counts = f" ({listing(classes, 5)})" if classes else ""
    target = f"Target: {target_words(data.target)}{counts}. " if data.target else ""
    groups = f" in {counted(data.groups, 'group')}" if data.groups else ""
    samples = f" on {counted(n_samples, 'sample')}{groups}" if n_samples else ""
    votes = "" if ensemble is None else f"{counted(ensemble.n_models, 'model')} voted{samples}. "
    covariates = [name for name in data.adjust_for if name not in data.measured]
    adjusted = f"Adjusted for {listing(covariates, len(covariates))}. " if covariates else ""
    if data.measured:
        adjusted += f"Features count for what they add to {listing(data.measured, len(data.measured))}. "
    # That a hard constraint holds says nothing: no set that violates one is ever selected.
    always = facts.constraints and all(entry.is_hard and entry.holds for entry in facts.constraints)
    return (target + votes + adjusted + ("" if always else constraints_hold(facts.constraints))).rstrip()


def proof(proved: bool, complete: bool, gap: float | None) -> str:
    """Return in one sentence whether this is the best set: a statement on the optimization, not on the data."""
    if proved:
        return "Proved: under these votes, weights and constraints no other set has a higher score."
    best = "the best set found" if complete else "the best set found in the time given"
    if gap is None:
        return f"Not proved: {best}; a better one may exist."
    return f"Not proved: {best}, at most {rounded(gap)} below the highest possible score."


def _verdict(facts: ReportFacts) -> list[str]:
    """Return whether this is the best set."""
    strength = facts.constraint_strength
    scale = "" if strength is None else f" times the constraint strength {rounded(strength)}"
    lines = [
        f"{facts.proof} This is about the search among all sets, not about prediction of held-out samples.",
        f"The score of the set, which is maximized, is {rounded(facts.value, 6)}: the importances of its members "
        f"add up to {rounded(facts.importance, 6)}, and its admissibility of "
        f"{rounded(facts.admissibility, 6)} (1 when all constraints hold){scale} is added.",
    ]
    if facts.proved:
        lines.append(f"The upper bound over all sets is {number_text(facts.bound, 6)}, so that the gap is zero.")
    else:
        bounded = "The optimizer gives no upper bound"
        if facts.gap is not None:
            bound, gap = number_text(facts.bound, 6), rounded(facts.gap)
            bounded = f"No set has a higher score than {bound}; the gap of {gap} is not closed"
        early = "" if facts.complete else " The search was ended by its time limit."
        lines.append(f"{bounded}, so a better set may exist.{early}")
    equal = sum(other.as_good for other in facts.alternatives)
    if equal:
        least = "At least " if equal == len(facts.alternatives) else ""
        sets = counted(equal, "other set is", "other sets are")
        lines.append(f"{least}{sets} exactly as good: the choice among them is open.")
    return lines


def number_text(value: float | None, digits: int = 3) -> str:
    """Return a number, or that it is not known."""
    return "unknown" if value is None else rounded(value, digits)


def _question(facts: ReportFacts) -> list[str]:
    """Return what was asked: the task, the ensemble, the prior, the constraints."""
    blocks = [f"{block.name} ({block.n_features:,})" for block in facts.blocks]
    constraints = [
        entry.label + ("" if entry.rho is None else f" ({strictness_text(entry)})")
        for entry in facts.constraints
        if not entry.from_prior
    ]
    lines = [
        _task(facts.data),
        _votes_of(facts.ensemble),
        prior_sentence(facts.prior),
        *experts_and_times(facts.prior),
        f"{counted(len(blocks), 'block')} of features: {listing(blocks, _LISTED)}." if blocks else "",
        f"Constraints: {'; '.join(constraints)}." if constraints else "No constraints were set.",
    ]
    if facts.min_votes:
        least = counted(facts.min_votes, "vote")
        lines.append(f"A feature needed at least {least} unless its weight or hard constraints asked for it.")
    return [line for line in lines if line]


def target_words(target: Any) -> str:
    """Return the columns of a target in words.

    >>> target_words({"time": "days", "event": "status"}), target_words(["a", "b"])
    ('days, event status', 'a, b')
    """
    if isinstance(target, Mapping):
        return f"{target['time']}, event {target['event']}"
    return str(target) if isinstance(target, str) else ", ".join(map(str, target or ()))


def _task(data: DataFacts) -> str:
    purpose = TASKS[data.task].purpose if data.task in TASKS else ""
    target = f" ({target_words(data.target)})" if data.target and purpose else ""
    samples = f" on {counted(data.n_samples, 'sample')}" if data.n_samples else ""
    covariates = data.adjust_for
    beyond = f", beyond {listing(covariates, len(covariates))}" if covariates else ""
    return (
        f"Which of {counted(data.n_features, 'feature')} make the best set"
        f"{f' to {purpose}' if purpose else ''}{target}{samples}{beyond}?"
    )


def _votes_of(ensemble: EnsembleFacts | None) -> str:
    if ensemble is None:
        return "Importances were given; no ensemble was run."
    by = f" ({listing(ensemble.selector_names)})" if ensemble.selector else ""
    share = ""
    if ensemble.train_size is not None:
        unit = "groups" if ensemble.grouped else "samples"
        share = f", each on {100 * ensemble.train_size:g} % of the {unit}"
    most = ensemble.most_features_per_model
    drawn = f"a number drawn from 1 to {most} of features" if ensemble.n_features_per_model == "random" else ""
    each = f", each selecting at most {drawn or counted(most, 'feature')}" if most is not None else ""
    return f"{counted(ensemble.n_models, 'elementary model')}{by} voted{share}{each}."


def _terms(facts: ReportFacts) -> list[str]:
    """Return the words of the score, explained."""
    votes = "share of all votes, those of the prior included" if facts.ensemble else "given importance"
    return [
        "Score: what is maximized, the importances of the selected features plus the admissibility.",
        f"Importance: a feature's {votes}.",
        "Admissibility: 1 when all constraints hold, closer to 0 the more they are violated.",
    ]


def _ensemble(facts: ReportFacts) -> list[str]:
    """Return how sure the models are on these samples, and that other samples are another matter."""
    ensemble, lines = facts.ensemble, list[str]()
    if ensemble is None:
        return []
    if (stability := ensemble.stability) is not None:
        lines.append(
            f"The models agree with a stability of {stability.value:.2f} ({100 * stability.confidence:.0f} % interval "
            f"{stability.low:.2f} to {stability.high:.2f}): 1 means that every model selected the same set, 0 that "
            "they agree no more than by chance. They all saw parts of the same samples, so models on other samples "
            "would agree less."
        )
    if any(record.low is not None for record in facts.chosen):
        measures = "Credible intervals" + (" and selection probabilities" if facts.n_draws else "")
        lines.append(
            f"{measures} measure agreement within the ensemble on these samples. They narrow as models are added, not "
            "as samples are added, and do not generalize to other samples."
        )
    if facts.chosen and facts.n_draws:
        lines.append(
            "Selection probability: how often a feature is selected when the decision is made again on "
            f"{counted(facts.n_draws, 'draw')} from the posterior."
        )
    return lines


def _reproduce(facts: ReportFacts) -> list[str]:
    lines = [f"Made with {_versions(facts.versions)}."]
    seed, collected = (None, None) if facts.ensemble is None else (facts.ensemble.seed, facts.ensemble.versions)
    if collected is not None and collected != {k: v for k, v in facts.versions.items() if k != "python"}:
        lines.append(f"The evidence was collected with {_versions(collected)}.")
    if seed is not None:
        whole = isinstance(seed, Mapping) and not seed.get("spawn_key")
        lines.append(f"Seed of the ensemble: {seed.get('entropy') if whole else seed}.")
    if facts.study is not None:
        lines.append(
            "The study below has everything except the data. To repeat this result, save it as study.yaml where its "
            "path to the data is valid, and run: ubayfs select study.yaml"
        )
    return lines


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def section_briefs(facts: ReportFacts) -> dict[str, str]:
    """Return what some sections say in a few words, by the key of the section."""
    data, ensemble, pairs = facts.data, facts.ensemble, () if facts.correlation is None else facts.correlation.strongest
    samples = counted(data.n_samples, "sample") if data.n_samples else ""
    briefs = {
        **{fact.fact: fact.value for fact in facts.facts},
        "substitutes": _cheapest_exchange(facts.substitutes),
        "constraints": constraints_hold(facts.constraints),
        "data": ", ".join(filter(None, [samples, counted(data.n_features, "feature")])),
        "quality": "Proved." if facts.proved else "Not proved.",
        "ensemble": "" if ensemble is None else f"{ensemble.n_voted:,} features have votes",
        "correlation": f"at most {abs(pairs[0].value):.2f}" if pairs else "",
    }
    return {key: text for key, text in briefs.items() if text}


def _cheapest_exchange(substitutes: Iterable[SubstituteFact]) -> str:
    losses = [(entry.loss, entry) for entry in substitutes if entry.replaceable and entry.loss is not None]
    if not losses:
        return ""
    easiest = min(losses, key=lambda pair: pair[0])[1]
    cost = cost_text(easiest.loss_votes, easiest.loss)
    instead = listing(with_votes(easiest.added, easiest.added_votes), 3) or "nothing"
    return f"the cheapest exchange: {instead} instead of {easiest.feature}, costs {cost}"


# -- constraints -------------------------------------------------------------------------------------------------------


def constraint_state(entry: ConstraintFact) -> str:
    """Return in a word or two whether a constraint holds."""
    return "left out" if entry.inactive else "holds" if entry.holds else "violated"


def constraint_label(title: str, note: str, unlikely: Sequence[Any] | None = None) -> str:
    """Return a constraint in a few words: its title and note, or the features that an expert holds unlikely."""
    if unlikely is not None:
        return f"unlikely: {listing(unlikely, 6)}"
    return f"{title} ({note})" if note else title


def strictness_text(entry: ConstraintFact) -> str:
    """Return how strictly a constraint is meant, by its rho or by its price; nothing if that is not known."""
    if entry.price is not None:
        return f"price {price_text(entry.price, entry.price_votes)}"
    return "" if entry.rho is None else strictness(entry.rho, entry.rho_highest)


def constraints_hold(constraints: Sequence[ConstraintFact]) -> str:
    """Return whether the constraints hold, in one sentence."""
    used = [entry for entry in constraints if not entry.inactive]
    if not used:
        return "All constraints are left out (rho or price 0)." if constraints else "No constraints were set."
    n_violated = sum(not entry.holds for entry in used)
    if n_violated:
        verb = "is" if n_violated == 1 else "are"
        return f"{n_violated} of {counted(len(used), 'constraint')} {verb} violated."
    return {1: "The constraint holds.", 2: "Both constraints hold."}.get(n := len(used), f"All {n} constraints hold.")


def constraint_sentences(facts: ReportFacts) -> list[str]:
    """Return whether the constraints hold, and what it means if they do not."""
    if all(entry.holds for entry in facts.constraints):
        return [constraints_hold(facts.constraints)]
    lowered = f"This lowers the admissibility of the set to {rounded(facts.admissibility)} (1 when all hold)."
    return [constraints_hold(facts.constraints), lowered]


def constraint_notes(entries: Sequence[ConstraintFact]) -> list[str]:
    """Return what the columns of the constraints mean, as far as they are needed."""
    if not entries:
        return []
    n_inactive = sum(entry.inactive for entry in entries)
    lines = ["Strictness (rho): how strictly a constraint is meant; a hard one is never violated."]
    if any(entry.cost_votes for entry in entries):
        lines.append(
            "Costs: votes that the set would gain without this constraint, with all others unchanged; weights count as "
            "votes, too."
        )
    if 0 < n_inactive < len(entries):
        lines.append(f"{counted(n_inactive, 'constraint')} left out: rho or price is 0.")
    if any(entry.price is not None for entry in entries):
        lines.append(
            "Price is what one unit of violation of one inequality costs, as a share of the models: a set that "
            "violates it must have that many votes more. Of several violations at once, each costs a little less than "
            "the one before. Rho is computed from it."
        )
    unlikely = [entry for entry in entries if entry.from_prior]
    if unlikely:
        prices = sorted({entry.price for entry in unlikely if isinstance(entry.price, float)})
        if prices:
            low, high = f"{prices[0]:.0%}", f"{prices[-1]:.0%}"
            share = high if low == high else f"{low} to {high} (by the share of the experts)"
            more = f"over {share} of all models' votes more than the feature it displaces"
            lines.append(f"An unlikely feature is taken only if it has {more}.")
        lines.append(
            "Features that the expert holds unlikely are prior knowledge, listed here because they act as a constraint."
        )
    return lines
