"""Advice: what a careful reader of a result must know.

Advice is a value with a code and numbers. :data:`CODES` has one row for each code: its sentence, what to do about it in
Python, on the command line and in reports, whether it warns, and where a report has it. Faces look it up there.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from ._listing import listed

_PACKAGE = os.path.join(os.path.dirname(__file__), "")


class UBayFSWarning(UserWarning):
    """Base of every warning that the package issues; `advice` has what it is about as a value.

    Examples
    --------
    >>> import warnings
    >>> import ubayfs
    >>> evidence = ubayfs.Evidence.from_sets([[1, 1]], ["radius", "area"])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     selection = ubayfs.decide(evidence)
    >>> [warning.message.advice.code for warning in caught]
    ['size_not_limited']
    """

    advice: Advice | None = None


class EnsembleWarning(UBayFSWarning):
    """Elementary runs failed or were cancelled.

    Examples
    --------
    >>> import ubayfs
    >>> issubclass(ubayfs.exceptions.EnsembleWarning, ubayfs.exceptions.UBayFSWarning)
    True
    """


class OptimizationWarning(UBayFSWarning):
    """The answer needs a second look: time limit, unlimited size, members without a vote.

    Examples
    --------
    >>> import warnings
    >>> import ubayfs
    >>> evidence = ubayfs.Evidence.from_sets([[1, 0, 0]], ["radius", "area", "texture"])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     selection = ubayfs.decide(evidence, constraints=ubayfs.exact_size(2), min_votes=0)
    >>> [(warning.category.__name__, warning.message.advice.code) for warning in caught]
    [('OptimizationWarning', 'without_votes')]
    """


class ConvergenceWarning(UBayFSWarning):
    """Markov chains do not agree; their means cannot be trusted yet.

    Examples
    --------
    >>> import ubayfs
    >>> issubclass(ubayfs.exceptions.ConvergenceWarning, ubayfs.exceptions.UBayFSWarning)
    True
    """


# The faces, each of which says what to do in its own way; the app says it as a report does.
Face = Literal["python", "command_line", "report"]


@dataclass(frozen=True)
class Remedy:
    """What to do about advice, after its sentence."""

    python: str = ""
    command_line: str | None = None  # None: as in a report
    report: str | None = None  # for readers who may know neither Python nor the command line; None: as in Python

    def on(self, face: Face) -> str:
        """Return what a face says."""
        choices = {"python": (), "report": (self.report,), "command_line": (self.command_line, self.report)}[face]
        return next((text for text in choices if text is not None), self.python)


@dataclass(frozen=True)
class Row:
    """A kind of advice.

    Attributes
    ----------
    category : subclass of UBayFSWarning or None
        Of the Python warning; None: nothing is wrong, so that it does not warn.
    sentence : str
        With the names of facts in braces.
    remedy : Remedy
    place : {"warnings", "data"}
        Where a report has it. What was done with files and names stands with the data: it would hide warnings.
    """

    category: type[UBayFSWarning] | None
    sentence: str
    remedy: Remedy = Remedy()
    place: Literal["warnings", "data"] = "warnings"


_decision, _ensemble, _chains, _warned, _note = (
    partial(Row, category)
    for category in (OptimizationWarning, EnsembleWarning, ConvergenceWarning, UBayFSWarning, None)
)
_data_note = partial(Row, None, place="data")
CODES: dict[str, Row] = {
    # On decisions.
    "time_limit": _decision(
        "The time limit was reached: the set has the score {value:.6g}, and no set has a higher one than "
        "{bound:.6g} (gap {gap:.3g}).",
        Remedy(
            "Give more time to close the gap.",
            command_line="Give more time with --time-limit to close the gap.",
            report="More time may close the gap.",
        ),
    ),
    "alternatives_incomplete": _decision(
        "time_limit was reached after {n_found} of {n_alternatives} alternatives: there may be more. Give more time to "
        "list them."
    ),
    "soft_constraints_ineffective": _decision(
        "Violations that no set can avoid make all soft constraints together count for almost nothing in this set "
        "(admissibility {admissibility:.2g}). No set satisfies all of: {labels}. Change one of these or lower its rho, "
        "and make constraints that must hold hard."
    ),
    "size_not_limited": _decision(
        "No constraint limits the size of the set: {n_free:,} of the {n_selectable:,} features that can be selected "
        "are selected because no constraint excludes them.",
        Remedy(
            "Add max_size=10, or another number (in UBayFSSelector: a lower max_features).",
            command_line="Add --max-size N.",
            report="A maximal size would make the choice meaningful.",
        ),
    ),
    "all_selected": _decision(
        "All {n_features:,} features that can be selected are selected: up to {limit} are allowed.",
        Remedy(
            "Use a lower max_size (in UBayFSSelector: a lower max_features).",
            command_line="Use a lower --max-size.",
            report="A smaller maximal size would make the choice meaningful.",
        ),
    ),
    "nothing_supported": _decision(
        "No feature could be shown to be related to the target ({n_shuffles:,} shuffles of it). At most one feature is "
        "selected, which may be a chance finding."
    ),
    "without_votes": _decision(
        "No model voted for {n_unvoted} of {n_chosen} selected features ({features}).",
        Remedy(
            "Use min_votes=1, so that they need a vote, a weight or a hard constraint.",
            command_line="Use --min-votes 1, so that they need a vote, a weight or a hard constraint.",
            report="With a minimum of 1 vote they would need a vote, a weight or a hard constraint.",
        ),
    ),
    "asked_for_without_votes": _decision(
        "No model voted for {n_unvoted} of {n_chosen} selected features ({features}): weights or hard constraints "
        "selected them."
    ),
    # On ensembles, and on repeats of them.
    "samples_without_covariate": _ensemble(
        "samples without a value of {names} are left out: {n_samples} ({samples}); {n_left} are used.",
        place="data",
    ),
    "runs_failed": _ensemble(
        "{n_failed} of {n_runs} elementary runs failed; the most frequent error ({times}x) was {error}",
        Remedy("(see Evidence.failures).", report=""),
    ),
    "runs_cancelled": _ensemble(
        "The ensemble was cancelled after {n_runs} of {n_models} runs; the evidence contains only these runs."
    ),
    "no_votes": _ensemble(
        "No run selected a single feature: the selector found nothing, or every column is constant; the evidence is "
        "empty."
    ),
    "runs_without_choice": _ensemble(
        "{n_empty} of {n_runs} runs selected no feature: their selector found nothing in the subsample. They count as "
        "runs without a vote."
    ),
    "checkpoint_damaged": _ensemble("the checkpoint is damaged, and what it lacks is done again: {reason}."),
    "checkpoint_of_versions": _ensemble(
        "checkpoint {directory!r} was begun with other versions ({changed}); its runs are used all the same. Name "
        "another directory if all runs must come from one installation."
    ),
    "parts_of_versions": _ensemble(
        "parts come from different versions of packages: {others} from {theirs}, {first} from {versions}. Collect them "
        "with one installation if all runs must come from one."
    ),
    "repeats_failed": _ensemble(
        "{n_failed} of {n} {what} could not be used and are left out, the first because: {error}"
    ),
    "repeats_cancelled": _ensemble("cancelled after {n_done} of {n} {what}; the result rests on those."),
    # On evidence of several sites.
    "site_opposed": _ensemble(
        "Features at {site} have the opposite directions to those at the other sites. Its classes may be swapped; "
        "nothing was changed. If they are swapped, correct the coding at {site} and collect there again."
    ),
    "directions_conflict": _data_note(
        "{n} features with votes point in different directions at different sites, and their votes were reduced: "
        "{features}."
    ),
    # On Markov chains.
    "chains_disagree": _chains(
        "The chains of the hyperdirichlet posterior disagree (R-hat {r_hat:.2f}, above {limit}) after {n_draws} "
        "draws each; its means cannot be trusted yet.",
        Remedy(
            "Raise max_draws (and n_warmup) of Hyperdirichlet, use larger weights, or take prior='dirichlet'.",
            report="More draws, larger weights or a Dirichlet prior help.",
        ),
    ),
    # On data, names, files and results.
    "look_alikes": _warned(
        "{n_groups} groups of samples look like repeats of the same patient ({n_alike:,} of {compared}). If so, name "
        "the patient column as `groups`; without it, all estimates here are too optimistic."
    ),
    "identical_samples": _warned(
        "{n_samples} samples have the same values in all features as another sample: {shown}. If they are copies, keep "
        "one of each, or give copies one value of `groups`; otherwise all estimates here are too optimistic."
    ),
    "named_like_groups": _warned(
        "Column {column!r} is named like patients or animals, and has {n_values:,} values in {n_samples:,} samples. If "
        "samples of the same value belong together, name the column as `groups`; without it, all estimates here are "
        "too optimistic."
    ),
    "determines_target": _warned(
        "{feature} alone almost determines the target{having} (AUC {first:.2f}; next best {second:.2f}). If it defines "
        "or follows the outcome, leave it out."
    ),
    "follows_target": _warned(
        "{feature} alone almost follows the target{having}: its association in ranks is {first:.0%} of the largest "
        "possible one (next best {second:.0%}). If it defines or follows the outcome, leave it out."
    ),
    "outlying_values": _warned(
        "Features with one value far from all others, which dominates their scores in every subsample that has it: "
        "{n_features} ({shown}). If it stands for a missing value, mark it as missing or correct it."
    ),
    "names_skipped": _warned(
        "{n} of {n_names} names of {source} are not in the data and were left out: {names}.", place="data"
    ),
    "gene_sets_empty": _warned(
        "{n} of {n_sets} gene sets or blocks of {source} have no feature of the data and were left out: {names}."
    ),
    "names_translated": _warned(
        "Names of {source} that were found by an alias, or by an Ensembl id of another version: {names}.",
        place="data",
    ),
    "names_ambiguous": _warned(
        "Names of {source} that mean several features and were left out: {names}. Name the one that is meant."
    ),
    "names_damaged": _warned(
        "Names of {source} that a spreadsheet turned into dates; what they were cannot be known: {names}. Correct them "
        "in the file."
    ),
    "names_in_other_case": _warned(
        "Names of {source} that differ from features only in upper and lower case and were left out: {names}."
    ),
    "highest_weight": _warned(
        "Features in several lists or gene sets of different weight have the highest of them: {n} ({names}).",
        place="data",
    ),
    "without_cost": _warned("{n} of {n_features} features have no cost in the table and count as free: {names}."),
    "missing_available": _warned(
        "missing values: {n_values:,} in {n_features:,} feature(s) ({features}) and {n_samples:,} sample(s). A feature "
        "counts with the samples that have it; selectors that need complete data get means of their own samples."
    ),
    "missing_median": _warned(
        "missing values: {n_values:,} in {n_features:,} feature(s) ({features}) and {n_samples:,} sample(s). Filters "
        "use the samples that have a feature; all other selectors get medians of their own samples."
    ),
    "missing_drop_rows": _warned(
        "missing values: {n_values:,} in {n_features:,} feature(s) ({features}); the {n_samples:,} sample(s) that lack "
        "any are left out."
    ),
    "missing_drop_columns": _warned(
        "missing values: {n_values:,} in {n_samples:,} sample(s); the {n_features:,} feature(s) that lack any are left "
        "out ({features})."
    ),
    "mostly_missing": _warned(
        "{n_features:,} feature(s) cannot be selected, since more than {max_missing:.0%} of their values, or all, are "
        "missing ({features}). Raise max_missing to let those with any value take part."
    ),
    "many_classes": _warned(
        "The target has {n_classes} different values in {n_samples} samples, which are read as classes. If it is a "
        "measured number, use the task 'regression'; if it names samples or patients, take another target."
    ),
    "labels_alike": _warned(
        "Classes whose labels differ only in case or blanks: {labels}. Give equal ones one spelling."
    ),
    "few_samples_per_class": _warned(
        "Classes with fewer than {least} samples: {shown}. What sets them apart from others may be chance. Merge them "
        "with other classes, leave them out, or use the task 'regression' if the target is a measured number."
    ),
    "few_events": _warned(
        "The target has {n_events} events. With fewer than {least}, features related to survival can hardly be "
        "distinguished from chance: collect more, or follow the samples longer."
    ),
    "event_coded": _warned("{event!r} is taken as the event ({n_events} samples), {censored!r} as censored."),
    "pairs_approximated": _warned(
        "The samples have {n_pairs:,} pairs whose order of events is known; 'mrmr' compares features with martingale "
        "residuals instead of counting more than {most:,} pairs."
    ),
    "covariates_explain_target": _warned(
        "{names} explain {share:.0%} of the target. Little is left for features to explain, and what is found may be "
        "chance. Check whether samples of each class, or the whole range of the target, occur at all levels."
    ),
    "scale_differs": _warned(
        "{names}: the second table has another scale or unit than the first. Normalize both in the same way; "
        "otherwise the predictor of the first table does not fit the second."
    ),
    "missing_letters": _warned(
        "some letters are drawn as boxes, since no font of this machine has them ({letters}); install one that does, "
        "such as Noto Sans CJK."
    ),
    "switch_finished": _warned(
        "a program was stopped while it replaced the files in {directory}; the new ones are in their places now."
    ),
    "staging_removed": _warned(
        "a program was stopped before its files in {directory} were complete; what it left there is removed."
    ),
    "no_manifest": _warned(
        "{directory} has no manifest.json, like results of earlier versions. Whether its files were changed since "
        "cannot be checked."
    ),
    "trust_lost": _warned(
        "{path} is {what}: its tests cannot be used for another decision. 'ubayfs trust' with this directory "
        "repeats them."
    ),
    "validation_outdated": _warned(
        "the validation in {path} was made by an earlier version of ubayfs and is left out: R2 and intervals are "
        "computed differently now. To validate again, run 'ubayfs trust' with this directory."
    ),
    # Notes, such as those on how data were read: advice that never warns, since nothing is wrong.
    "title_rows_skipped": _data_note("{file}: rows above the header were skipped: {rows}."),
    "columns_ignored": _data_note(
        "columns that hold {kind}, not numbers, are not used as features: {n_columns} ({columns}). Encode them as "
        "numbers to use them, or name them in ignore."
    ),
    "text_as_categories": _data_note(
        "columns of text are used as categories: {n_columns} ({shown}). Name those that are not features in ignore."
    ),
    "levels_pooled": _data_note(
        "labels of fewer than {least} samples count as one level of their category: {n_columns} columns ({shown})."
    ),
    "level_seen_once": _data_note(
        "categories with a level that only one sample has; models cannot learn anything about this level: {n_columns} "
        "({shown})."
    ),
    "descriptions_ignored": _data_note(
        "{file}: columns that describe the features are not read as samples: {n_columns} ({columns})."
    ),
    "ids_ignored": _data_note(
        "columns of unique whole numbers that are named like an id are not used as features: {n_columns} ({columns}). "
        "Rename a column that is a measurement."
    ),
    "labels_merged": _data_note("labels of {column} that differ only in case or blanks count as one: {labels}."),
    "samples_without_target": _data_note(
        "samples without a value of {column} are left out: {n_samples} ({samples}); {n_left} are used."
    ),
    "file_transposed": _data_note(
        "{file} has samples in its columns ({n_samples}), and features or attributes in its {n_features} rows."
    ),
    "looks_transposed": _note(
        "{file} seems to have features in rows ({rows}), and was read as {n_rows} samples, {n_columns} columns. If so, "
        "choose features_in: rows."
    ),
    "samples_joined": _data_note("{n_samples} samples are in {keep} of the files ({files})."),
    "samples_not_matched": _data_note(
        "{file}: {n_left} of {n_samples} samples are not used, since other files do not have them: {samples}."
    ),
    "names_prefixed": _data_note(
        "features of the same name in several files are prefixed by their file: {n_names} ({names})."
    ),
    "sheet_column_used": _data_note(
        "{columns}: taken from the sample sheet; columns of the same name in data files are not used."
    ),
    "duplicates_merged": _data_note(
        "{file}: feature names that occur several times: {n_names} ({names}); duplicates: {rule}."
    ),
    "identical_features": _note(
        "{n_features} features have the same values as another feature in all samples: {shown}. No model can "
        "tell them apart, and which of them is selected depends on their order; drop all but one of each."
    ),
    "many_very_likely": _note(
        "{n_features} features are 'very likely', but {label} leaves room for {limit} of them ({features}). Allow more "
        "features, or state 'likely' for those that matter less."
    ),
    "knowledge_unused": _note(
        "{source}: columns that are not used: {columns}. The known ones are {known}, and synonyms of these."
    ),
    "generalized_is_dirichlet": _note(
        "The generalized Dirichlet prior without beta is exactly the Dirichlet prior: the answer is the same. Give "
        "beta for another one."
    ),
    "weights_of_hyperdirichlet": _note(
        "Under the hyperdirichlet prior a run is one vote, shared by the features that it selected: a weight of 5 "
        "counts like five runs that selected the feature alone. All runs together are {n_models} votes, where under "
        "the Dirichlet prior they are {n_votes}, so weights count for more."
    ),
    "weak_constraints": _note(
        "The constraint strength of {constraint_strength:g} is below 1, which the paper does not recommend: soft "
        "constraints, the size among them, may then weigh less than the importances, and all features are selected. "
        "Use 1 or more, or make constraints that must hold hard."
    ),
    "covariate_as_category": _data_note(
        "covariate {name} has few different whole numbers ({levels}) and is adjusted for as a category."
    ),
    "constant_covariate": _data_note("covariates with the same value in all samples, which change nothing: {names}."),
    "adjusted_without_target": _data_note("there is no target: features are scored after adjusting for {names}."),
    "adjusted_on_residuals": _data_note(
        "{selectors} used residuals of the features, after a regression on {names} in the samples of each model. This "
        "adjusts only approximately, for linear effects and levels; mrmr, fisher, cox, lasso and wide adjust exactly."
    ),
    "below_detection": _data_note(
        "{file}: {n_values} value(s) below detection in {n_columns} column(s) ({columns}): {rule}."
    ),
    "soft_constraints_outweighed": _note(
        "{n_violated} violated inequalities together make all soft constraints count for almost nothing in this set "
        "(admissibility {admissibility:.2g}): importance alone decides. Sets that satisfy all constraints have too "
        "little importance at a constraint strength of {constraint_strength:g}. Raise it, leave constraints out, or "
        "make those that must hold hard."
    ),
    "many_features_per_model": _note(
        "A run may select {n_features_per_model} of {n_features} features, more than a quarter: then uninformative "
        "features get many votes, too.",
        Remedy(
            "Use n_features_per_model={quarter}, or fewer.",
            command_line="Use --features-per-model {quarter}, or fewer.",
            report="With at most {quarter} the votes say more.",
        ),
    ),
    "changed_default": _note(
        "the study rests on {key}, which now means: {default}. In ubayfs {written}, which wrote the study, it was: "
        "{former}. State it in the study to choose."
    ),
    "former_default": _note(
        "{key} is {former}, the default of ubayfs {written}, which wrote the study. The default is now {present}; "
        "state it in the study to choose."
    ),
    "present_default": _note(
        "the study does not state {key}, whose default has changed: it is now {present}; before {since} it was "
        "{former}. State it, or add the version of ubayfs: 'versions: {{ubayfs: {version}}}'."
    ),
    "other_version": _note("the study was written by ubayfs {written}, this is {present}; results may differ."),
}


@dataclass(frozen=True)
class Advice:
    """What a careful reader of a result must know.

    Attributes
    ----------
    code : str
        What it is about; one of `CODES`.
    facts : mapping of str to value
        The numbers and names that the sentence needs, in plain types.
    """

    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def row(self) -> Row:
        """What this kind of advice is."""
        return CODES[self.code]

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, face: Face = "python") -> str:
        """Return the sentence and what to do about it, as a face says it; of lists the first five entries.

        >>> facts = {"n_unvoted": 7, "n_chosen": 9, "features": list("abcdefg")}
        >>> Advice("without_votes", facts).in_words("report")
        'No model voted for 7 of 9 selected features (a, b, c, d, e and 2 more). With a minimum of 1 vote they would
        need a vote, a weight or a hard constraint.'
        """
        shown = {key: _first(fact) if isinstance(fact, list) else fact for key, fact in self.facts.items()}
        return f"{self.row.sentence} {self.row.remedy.on(face)}".strip().format(**shown)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Advice:
        """Make advice of its code and facts; numbers that JSON has no sign for come back from strings."""
        infinite = ("inf", "-inf", "nan")
        facts = {key: float(fact) if fact in infinite else fact for key, fact in content["facts"].items()}
        return cls(str(content["code"]), facts)

    @property
    def category(self) -> type[UBayFSWarning] | None:
        """The kind of Python warning; None if it is shown by reports and commands only."""
        return self.row.category

    def warn(self) -> None:
        """Issue the advice as a Python warning that points to the line that called the package."""
        if self.category is None:
            return
        warning = self.category(str(self))
        warning.advice = self
        caller, stacklevel = inspect.currentframe(), 1
        while caller is not None and caller.f_code.co_filename.startswith(_PACKAGE):
            caller, stacklevel = caller.f_back, stacklevel + 1
        warnings.warn(warning, stacklevel=stacklevel)


def place_of(code: str) -> str:
    """Return where a report has a kind of advice; what only an earlier version knew is a warning.

    >>> place_of("size_not_limited"), place_of("labels_merged")
    ('warnings', 'data')
    """
    return CODES[code].place if code in CODES else "warnings"


def _first(entries: Sequence[Any], limit: int = 5) -> str:
    first = [str(entry) for entry in entries[:limit]]
    return listed(first, limit, len(entries), "; " if any("," in entry for entry in first) else ", ")
