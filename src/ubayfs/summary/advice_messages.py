"""Advice in the words of a report."""

from __future__ import annotations

from ..exceptions import Advice

# Advice for a reader of a report, who may know neither Python nor the command line.
_ADVICE = {
    "time_limit": (
        "The search was ended by its time limit: the set has the score {value:.6g}, and no set has a higher one than "
        "{bound:.6g} (gap {gap:.3g}). More time may close the gap."
    ),
    "size_not_limited": (
        "No constraint limits the size of the set: {n_free} of {n_selectable} features are chosen simply because "
        "nothing speaks against them. A maximal size would make the choice meaningful."
    ),
    "without_votes": (
        "{n_unvoted} of {n_chosen} chosen features have no vote of any model ({features}): weights or constraints "
        "alone are the reason. A minimal number of votes of 1 excludes such features."
    ),
    "runs_failed": "{n_failed} of {n_runs} runs of the ensemble failed; the most frequent error ({times}x) was {error}",
    "runs_cancelled": "The ensemble was cancelled after {n_runs} of {n_models} runs; the evidence holds those.",
    "no_votes": (
        "No run chose a single feature: the selector found nothing, or every feature is constant; there is no evidence."
    ),
    "runs_without_choice": (
        "{n_empty} of {n_runs} runs chose no feature: their selector found nothing in the subsample. They count as "
        "runs without a vote."
    ),
    "many_features_per_model": (
        "A run may choose {n_features_per_model} of {n_features} features, more than a quarter: then features that "
        "tell nothing get many votes too. At most {quarter} would make the votes more telling."
    ),
    "lone_values": (
        "Features with one value far from all others, which decides every score of theirs where it is in a subsample: "
        "{n_features} ({shown}). A code for missing values? Then mark it as missing in the table."
    ),
    "chains_disagree": (
        "The chains of the hyperdirichlet posterior disagree (R-hat {r_hat:.2f}, above {limit}) after {n_draws} draws "
        "each: the importances cannot be trusted yet. More draws, larger weights or a Dirichlet prior help."
    ),
}


# What was done with files and names stands with the data; among the warnings it would hide them.
NOTES = frozenset(
    {
        "title_rows_skipped", "columns_ignored", "descriptions_ignored", "ids_ignored", "labels_merged",
        "file_transposed", "samples_without_target", "samples_joined", "samples_not_matched", "names_prefixed",
        "sheet_column_used", "duplicates_merged", "below_detection", "names_skipped", "names_translated",
        "highest_weight",
    }
)  # fmt: skip


def advice_message(advice: Advice) -> str:
    """Return advice in words that neither Python nor the command line are needed for."""
    return advice.in_words(_ADVICE[advice.code]) if advice.code in _ADVICE else str(advice)
