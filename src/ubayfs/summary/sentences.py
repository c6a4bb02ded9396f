"""All sentences of a report and of an answer, made of facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._plain import cost_text, counted, listing, rounded
from ..data.target import TASKS
from ..exceptions import Advice
from .knowledge_sentences import (
    constraint_label,
    constraint_notes,
    constraint_sentences,
    constraints_hold,
    experts_and_times,
    knowledge_notes,
    left_out_sentences,
    less_knowledge,
    opinion_and_data,
    prior_sentence,
    strictness_text,
)
from .trust_sentences import chosen_columns, trust_sections

Facts = Mapping[str, Any]

_LISTED = 12
_LEGEND = {
    ("data",): "it would be chosen without weights, without constraints and without both, too: the votes are enough",
    ("prior",): "it would not be chosen without the weights (the prior), or they alone speak for it",
    ("constraints",): (
        "it would not be chosen without the constraints: they ask for it, or they exclude features that have more votes"
    ),
    ("prior", "constraints"): "it needs one of the two, or both",
    ("filler",): "neither votes nor prior nor constraints ask for it; it fills a place that no constraint forbids",
    ("no vote",): "no model chose it",
    ("after votes",): "what is known of it was changed after votes were seen, so that the data may count twice",
    ("tie",): "another feature would do as well in its place, so that the choice between them is open",
}
# Marks of a member, by the fact about it.
MARKS = {"without_vote": "no vote", "tied": "tie", "changed_after_votes": "after votes"}

# What to do about advice, for a reader of a report who may know neither Python nor the command line.
_REMEDIES = {
    "time_limit": "More time may close the gap.",
    "size_not_limited": "A maximal size would make the choice meaningful.",
    "without_votes": "A minimum of 1 vote excludes such features.",
    "runs_failed": "",
    "many_features_per_model": "With at most {quarter} the votes say more.",
    "chains_disagree": "More draws, larger weights or a Dirichlet prior help.",
}
# What was done with files and names stands with the data; among the warnings it would hide them.
NOTES = frozenset(
    {
        "title_rows_skipped", "columns_ignored", "descriptions_ignored", "ids_ignored", "labels_merged",
        "file_transposed", "samples_without_target", "samples_joined", "samples_not_matched", "names_prefixed",
        "sheet_column_used", "duplicates_merged", "below_detection", "names_skipped", "names_translated",
        "highest_weight", "samples_without_covariate", "covariate_as_category", "constant_covariate",
        "adjusted_on_residuals", "adjusted_without_target",
        "text_as_categories", "levels_pooled", "level_seen_once",
    }
)  # fmt: skip


def all_sentences(facts: Facts, messages: Iterable[str] = ()) -> dict[str, Any]:
    """Return all sentences of a report; further messages come before the advice."""
    advice = facts["advice"]
    return {
        "lead": _lead(facts),
        "question": _question(facts),
        "verdict": _verdict(facts),
        "warnings": [*messages, *(given["message"] for given in advice if given["code"] not in NOTES)],
        "sentences": {
            "chosen": [] if facts["chosen"] else ["No feature was chosen."],
            "knowledge": [*opinion_and_data(facts), *less_knowledge(facts)],
            "constraints": constraint_sentences(facts),
            "ensemble": _ensemble(facts),
            "correlation": _correlation(facts["correlation"]),
            "reproduce": _reproduce(facts),
            "left_out": left_out_sentences(facts),
            **trust_sections(facts),
        },
        # These stand below the tables of a section, and explain them.
        "notes": {
            "chosen": _about_chosen(facts),
            "knowledge": knowledge_notes(facts),
            "constraints": constraint_notes(facts),
            "data": [*_missing(facts["data"]), *(given["message"] for given in advice if given["code"] in NOTES)],
            "quality": _terms(facts),
        },
        "legend": _legend(facts["chosen"]),
    }


def advice_message(advice: Advice) -> str:
    """Return advice in words that neither Python nor the command line are needed for."""
    return advice.in_words(_REMEDIES.get(advice.code))


def headline(facts: Facts) -> str:
    """Return the answer in one sentence."""
    n = len(facts["chosen"])
    return f"{n:,} of {counted(facts['n_features'], 'feature')} {'was' if n == 1 else 'were'} chosen."


def _lead(facts: Facts) -> str:
    """Return what the features are to explain, what the answer rests on, and whether the constraints hold."""
    ensemble, data, n_samples = facts["ensemble"], facts["data"], facts["data"]["n_samples"]
    classes = [f"{label['label']}: {label['count']:,}" for label in data["classes"]]
    counts = f" ({listing(classes, 5)})" if classes else ""
    target = f"Target: {target_words(data['target'])}{counts}. " if data["target"] else ""
    samples = f" on {counted(n_samples, 'sample')}" if n_samples else ""
    votes = "" if ensemble is None else f"{counted(ensemble['n_models'], 'model')} voted{samples}. "
    covariates = data.get("adjust_for")
    adjusted = f"Adjusted for {listing(covariates, len(covariates))}. " if covariates else ""
    return target + votes + adjusted + constraints_hold(facts)


def proof(facts: Facts) -> str:
    """Return in one sentence whether this is the best set: a statement on the optimization, not on the data."""
    if facts["proved"]:
        return "Proved: under these votes, weights and constraints no other set has a higher score."
    found = "the best set found" if facts["complete"] else "the best set found in the time given"
    if facts["gap"] is None:
        return f"Not proved: {found}; a better one may exist."
    return f"Not proved: {found}, at most {rounded(facts['gap'])} below the highest possible score."


def _verdict(facts: Facts) -> list[str]:
    """Return whether this is the best set."""
    strength = facts["constraint_strength"]
    scale = "" if strength is None else f" times the constraint strength {rounded(strength)}"
    lines = [
        f"{proof(facts)} This speaks of the search among all sets, not of how the set does on other samples.",
        f"The score of the set, which is maximized, is {rounded(facts['value'], 6)}: the importances of its members "
        f"add up to {rounded(facts['importance'], 6)}, and its admissibility of "
        f"{rounded(facts['admissibility'], 6)} (1 when all constraints hold){scale} is added.",
    ]
    if facts["proved"]:
        lines.append(f"The upper bound over all sets is {rounded(facts['bound'], 6)}, so that the gap is zero.")
    else:
        early = " The search was ended by its time limit." if not facts["complete"] else ""
        known = "The optimizer gives no upper bound"
        if facts["gap"] is not None:
            known = (
                f"No set has a higher score than {rounded(facts['bound'], 6)}; the gap of {rounded(facts['gap'])} is "
                "not closed"
            )
        lines.append(f"{known}, so a better set may exist.{early}")
    equal = sum(other["as_good"] for other in facts["alternatives"])
    if equal:
        least = "At least " if equal == len(facts["alternatives"]) else ""
        sets = counted(equal, "other set is", "other sets are")
        lines.append(f"{least}{sets} exactly as good: the choice among them is open.")
    return lines


def _question(facts: Facts) -> list[str]:
    """Return what was asked: the task, the ensemble, the prior, the constraints."""
    blocks = [f"{block['name']} ({block['n_features']:,})" for block in facts["blocks"]]
    constraints = [
        constraint_label(entry) + ("" if entry["rho"] is None else f" ({strictness_text(entry)})")
        for entry in facts["constraints"]
        if not entry["from_prior"]
    ]
    lines = [
        _task(facts["data"]),
        _votes_of(facts["ensemble"]),
        prior_sentence(facts["prior"]),
        *experts_and_times(facts["prior"]),
        f"{counted(len(blocks), 'block')} of features: {listing(blocks, _LISTED)}." if blocks else "",
        f"Constraints: {'; '.join(constraints)}." if constraints else "No constraints were set.",
    ]
    if facts["min_votes"]:
        lines.append(f"Only features with at least {counted(facts['min_votes'], 'vote')} could be chosen.")
    return [line for line in lines if line]


def target_words(target: Any) -> str:
    """Return the columns of a target in words.

    >>> target_words({"time": "days", "event": "status"}), target_words(["a", "b"])
    ('days, event status', 'a, b')
    """
    if isinstance(target, Mapping):
        return f"{target['time']}, event {target['event']}"
    return str(target) if isinstance(target, str) else ", ".join(map(str, target or ()))


def _task(data: Facts) -> str:
    purpose = TASKS[data["task"]].purpose if data["task"] in TASKS else ""
    target = f" ({target_words(data['target'])})" if data["target"] and purpose else ""
    samples = f" on {counted(data['n_samples'], 'sample')}" if data["n_samples"] else ""
    covariates = data.get("adjust_for")
    beyond = f", beyond {listing(covariates, len(covariates))}" if covariates else ""
    return (
        f"Which of {counted(data['n_features'], 'feature')} make the best set"
        f"{f' to {purpose}' if purpose else ''}{target}{samples}{beyond}?"
    )


def _votes_of(ensemble: Facts | None) -> str:
    if ensemble is None:
        return "Importances were given; no ensemble was run."
    by = f" ({listing(ensemble['selector_names'])})" if ensemble["selector"] else ""
    share = ""
    if ensemble["train_size"] is not None:
        unit = "groups" if ensemble["grouped"] else "samples"
        share = f", each on {100 * ensemble['train_size']:g} % of the {unit}"
    most = ensemble["most_features_per_model"]
    drawn = f"a number drawn from 1 to {most} of features" if ensemble["n_features_per_model"] == "random" else ""
    each = f", each choosing at most {drawn or counted(most, 'feature')}" if most is not None else ""
    return f"{counted(ensemble['n_models'], 'elementary model')}{by} voted{share}{each}."


def _terms(facts: Facts) -> list[str]:
    """Return the words of the score, explained."""
    ensemble = facts["ensemble"]
    votes = "share of all votes, those of the prior included" if ensemble is not None else "given importance"
    return [
        "Score: what is maximized, the importances of the chosen features plus the admissibility.",
        f"Importance: a feature's {votes}.",
        "Admissibility: 1 when all constraints hold, closer to 0 the more they are violated.",
    ]


def _legend(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the meaning of the marks of the chosen features, alone and together."""
    used = {(mark,) for record in records for mark in record["reasons"]}
    used |= {tuple(record["reasons"]) for record in records}
    used |= {(mark,) for key, mark in MARKS.items() if any(record.get(key) for record in records)}
    return [{"marks": list(marks), "meaning": meaning} for marks, meaning in _LEGEND.items() if marks in used]


def _about_chosen(facts: Facts) -> list[str]:
    lines = chosen_columns(facts)
    if any(record["identical_to"] for record in facts["chosen"]):
        lines.append(
            "Identical to: features with the same values in all samples. Unless weights or constraints differ, the "
            "choice between them is by their position in the table."
        )
    return lines + _adjusted(facts)


def _missing(data: Facts) -> list[str]:
    return [] if data["missing"] is None else [data["missing"]["words"]]


def _ensemble(facts: Facts) -> list[str]:
    """Return how sure the models are on these samples, and that other samples are another matter."""
    ensemble, lines = facts["ensemble"], []
    if ensemble is None:
        return []
    if (found := ensemble["stability"]) is not None:
        lines.append(
            f"The models agree with a stability of {found['value']:.2f} ({100 * found['confidence']:.0f} % interval "
            f"{found['low']:.2f} to {found['high']:.2f}): 1 means that every model chose the same set, 0 that they "
            "agree no more than by chance. They all saw parts of the same samples, so models on other samples would "
            "agree less."
        )
    if any(record["low"] is not None for record in facts["chosen"]):
        measures = "Credible intervals" + (" and selection probabilities" if facts["n_draws"] else "")
        lines.append(
            f"{measures} show how sure the models are on these samples: they sharpen with the number of models, not "
            "with the number of samples, and say nothing of other samples."
        )
    if facts["chosen"] and facts["n_draws"]:
        lines.append(
            "Selection probability: how often a feature is chosen when the decision is made again on "
            f"{counted(facts['n_draws'], 'draw')} from the posterior."
        )
    return lines


def _correlation(found: Facts | None) -> list[str]:
    if found is None or found["redundancy"] is None:
        return []
    return [f"Mean absolute Pearson correlation over all pairs (redundancy rate): {found['redundancy']:.2f}."]


def _reproduce(facts: Facts) -> list[str]:
    ensemble = facts["ensemble"] or {}
    lines = [f"Made with {_versions(facts['versions'])}."]
    if ensemble.get("versions") not in (None, {k: v for k, v in facts["versions"].items() if k != "python"}):
        lines.append(f"The evidence was collected with {_versions(ensemble['versions'])}.")
    if ensemble.get("seed") is not None:
        lines.append(f"Seed of the ensemble: {_seed(ensemble['seed'])}.")
    if facts["study"] is not None:
        lines.append(
            "The study below has everything but the data; saved as study.yaml where its path to the data is right, it "
            "repeats this result: ubayfs select study.yaml"
        )
    return lines


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _seed(seed: Any) -> str:
    if isinstance(seed, Mapping) and not seed.get("spawn_key"):
        return str(seed.get("entropy"))
    return str(seed)


def section_briefs(facts: Facts) -> dict[str, str]:
    """Return what some sections say in a few words, by the key of the section."""
    data, ensemble, correlation = facts["data"], facts["ensemble"], facts["correlation"]
    samples = counted(data["n_samples"], "sample") if data["n_samples"] else ""
    found = {
        **{fact["fact"]: fact["value"] for fact in facts["facts"]},
        "substitutes": _cheapest_exchange(facts["substitutes"]),
        "constraints": constraints_hold(facts),
        "data": ", ".join(filter(None, [samples, counted(data["n_features"], "feature")])),
        "quality": "Proved." if facts["proved"] else "Not proved.",
        "ensemble": "" if ensemble is None else f"{ensemble['n_voted']:,} features have votes",
        "correlation": "" if correlation is None else _strongest(correlation["strongest"]),
    }
    return {key: text for key, text in found.items() if text}


def _cheapest_exchange(found: list[Facts]) -> str:
    replaced = [entry for entry in found if entry["replaceable"] and entry["loss"] is not None]
    if not replaced:
        return ""
    easiest = min(replaced, key=lambda entry: entry["loss"])
    cost = cost_text(easiest["loss_votes"], easiest["loss"])
    instead = listing(easiest["added"], 3) or "nothing"
    return f"the cheapest exchange: {instead} instead of {easiest['feature']}, costs {cost}"


def _strongest(pairs: list[Facts]) -> str:
    return f"at most {abs(pairs[0]['value']):.2f}" if pairs else ""


def mark_text(mark: Mapping[str, Any] | None) -> str:
    """Return which class a feature marks, in words.

    >>> mark_text({"label": "BL", "level": None, "d": -0.9}), mark_text({"label": "lung", "level": "yes", "d": 0.5})
    ('low in BL (D -0.90)', "'yes' more often in lung (D +0.50)")
    """
    if mark is None:
        return ""
    d = f"(D {mark['d']:+.2f})"
    if mark["level"] is None:
        return f"{'high' if mark['d'] > 0 else 'low'} in {mark['label']} {d}"
    return f"'{mark['level']}' {'more' if mark['d'] > 0 else 'less'} often in {mark['label']} {d}"


def levels_text(category: Mapping[str, Any] | None) -> str:
    """Return the levels of a category.

    >>> levels_text({"labels": ["I", "II"], "ordered": True, "counts": [5, 7]})
    'I (5) < II (7)'
    """
    if category is None:
        return ""
    parts = [f"{label} ({n:,})" for label, n in zip(category["labels"], category["counts"], strict=True)]
    return (" < " if category["ordered"] else ", ").join(parts)


def _adjusted(facts: Facts) -> list[str]:
    """Return what the table of associations with covariates means."""
    names = facts["data"].get("adjust_for") or []
    if not names or not any(record.get("beyond") for record in facts["chosen"]):
        return []
    explained = "has explained what it" if len(names) == 1 else "have explained what they"
    return [
        "Association: correlation with numbers, or eta, the root of the share that classes or levels explain; 0 is "
        "none, 1 or -1 complete. Before: of the feature with the target. After: of what is left of both when "
        f"{listing(names, len(names))} {explained} can; this is what counted."
    ]
