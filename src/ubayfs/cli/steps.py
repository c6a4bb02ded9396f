"""What commands have in common: showing the answer and advice, writing the result, what two studies ask for."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .console import advice_as_values, echo, echo_error, shell_command, watched

if TYPE_CHECKING:
    from ..decision.selection import Selection
    from ..ensemble.evidence import Evidence
    from ..exceptions import Advice
    from ..report import AdviceFact, Answer
    from ..report.facts import Fact, Summary
    from ..results import StoredResult
    from ..study import ResolvedStudy, Study
    from ..study.trust_work import TrustWork
    from ..trust.front import Front

_SHOWN = 50  # chosen features that are printed; the files have all


def written_to(study: Study, directory: Path) -> Study:
    """Return the study with the directory that its result is written to, whether by option or in the file."""
    relative = os.path.relpath(directory, study.folder)
    return replace(study, outputs=replace(study.outputs, directory=Path(relative).as_posix()))


def comparable(stored: StoredResult) -> StoredResult | None:
    """Return the result if all that it knows can be used; None if it is of another version, with a note."""
    if not stored.of_another_version:
        return stored
    echo_error(f"Note: {stored.directory} is of another version of ubayfs; only its ensemble and study are used.")
    return None


def votes_seen(resolved: ResolvedStudy, earlier: StoredResult | None) -> ResolvedStudy:
    """Return the study with marks on what differs from an earlier result of the same data: its votes were seen."""
    if earlier is None:
        return resolved
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return resolved.with_change_marks(earlier.selection.knowledge, now)


def replaced_result(directory: Path, resolved: ResolvedStudy) -> StoredResult | None:
    """Return the result of the same data that a new one takes the place of; None if there is none that can be read."""
    from ..exceptions import UBayFSError
    from ..results import StoredResult

    try:
        stored = StoredResult(directory)
        seen = stored.evidence.settings.get("data_fingerprint")
        same = resolved.data is not None and seen == resolved.data.fingerprint
        return stored if same and not stored.of_another_version and stored.selection is not None else None
    except UBayFSError:
        return None


def asked_for(study: Study) -> dict[str, Any]:
    """Return a study without what changes neither evidence nor a decision on it: paths, workers, versions, outputs."""
    plain = study.to_dict()
    evidence = {key: value for key, value in plain.get("evidence", {}).items() if key != "n_jobs"}
    return {"evidence": evidence, **{key: plain.get(key) for key in ("prior", "blocks", "constraints", "decision")}}


def echo_notes(evidence: Evidence, used: Path, different: Sequence[str]) -> None:
    """Show the advice on evidence put together, and whose studies ask for another decision than the one used."""
    if different:
        echo_error(
            f"Note: the study of {', '.join(different)} has other prior knowledge, constraints or settings of the "
            f"decision; those of {used} are used. `ubayfs decide --study` takes another study."
        )
    for advice in evidence.advice:
        echo_error(f"Note: {advice}")


def check_whole(evidence: Evidence, directory: Path) -> None:
    """Refuse to decide on a part of an ensemble."""
    from ..exceptions import InputError

    if "part" in evidence.settings:
        part = evidence.settings["part"]
        raise InputError(
            f"{directory} is part {part['number']} of {part['of']} of an ensemble. Put all parts together with "
            "`ubayfs merge`, and decide on that.",
            argument="evidence",
        )


def check_has_samples(study: Study, what: str) -> None:
    """Refuse what needs samples, where these stayed at their sites."""
    from ..exceptions import InputError

    if study.cohorts is not None:
        raise InputError(
            f"{what} needs the samples, which stayed at their sites. `ubayfs select` and `ubayfs decide` already use "
            "the halves that the sites sent.",
            argument="cohorts",
        )


def with_level(study: ResolvedStudy, level: str) -> ResolvedStudy:
    """Return the study with the level of trust that was chosen, so that its result records it."""
    return replace(study, study=replace(study.study, trust=replace(study.study.trust, level=level)))


@contextmanager
def resumable(runs: Path, what: str = "Finished runs are") -> Iterator[None]:
    """Say after Ctrl-C or SIGTERM where the work that is done is stored."""
    try:
        yield
    except KeyboardInterrupt:
        echo_error(f"\n{what} stored in {runs}; rerun the same command to resume.")
        raise


def finish(
    study: ResolvedStudy,
    evidence: Evidence,
    directory: Path | None,
    write: Callable[..., list[Path]] | None,
    earlier: StoredResult | None = None,
    shown: Iterable[Advice] = (),
    level: str | None = None,
    runs: Path | None = None,
) -> None:
    """Decide, show the answer and advice not shown yet, find out what it may claim, and write the result.

    `write` is from `results.reserve`. `level` is the trust that is asked for: what is missing of it is collected, with
    finished repeats in `runs`. By default what the earlier result knows is used.
    """
    from ..report import advice_facts, answer_of, with_trust
    from ..report.trust_sentences import three_facts
    from ..results.finishing import finished
    from ..study.trust_work import TrustWork
    from ..trust.trust import Trust

    stored = None if earlier is None else earlier.trust
    work = TrustWork(study, evidence, stored or Trust(), watched, runs, all_processors=True)
    with advice_as_values():
        size_advice = work.size()
        selection = work.study.decide(evidence)
    codes_shown, trust = {advice.code for advice in shown}, work.trust
    answer = answer_of(selection, study=work.study, trust=trust)
    echo_advice([*advice_facts(size_advice), *(fact for fact in answer.advice if fact.code not in codes_shown)])
    unread = _unread(print_answer, answer)
    if level is not None or write is not None:
        _examine(work, selection, level)
    if work.trust is not trust:
        answer = with_trust(answer, selection, work.trust)
    echo_advice(advice_facts(work.trust.advice))
    # What is not known of a decision that is not written, no command finds out.
    facts = three_facts(replace(answer.trust, result="" if directory is None else str(directory)))
    facts = tuple(fact for fact in facts if write is not None or fact.state != "missing")
    unread = unread or _unread(print_facts, facts)
    if write is None:
        unread = unread or _unread(print_front, work.front(selection))
        echo_error("Nothing was written; add -o DIRECTORY to write this result.")
    else:
        result, figures = finished(
            work, selection, answer, earlier=earlier, advice=(*size_advice, *work.trust.advice),
            note=lambda text: echo_error(f"Note: {text}"),
        )  # fmt: skip
        echo_advice(advice_facts(figures.advice))
        unread = unread or _unread(print_lists, result.summary)
        unread = unread or _unread(print_dropout, result.summary)
        unread = unread or _unread(print_front, result.summary.front)
        n_written = len(write(result, data=work.study.table, figures=figures))
        if unread is None and directory is not None:
            echo(f"\nWrote {n_written} files to {directory}; open {directory / 'report.html'}")
    validation = work.trust.validation
    in_folds = validation is not None and not validation.complete
    if runs is not None and not (work.stopped or in_folds):
        shutil.rmtree(runs, ignore_errors=True)  # the result holds all of them now
    elif runs is not None and directory is not None:
        quick = [] if level == "full" or in_folds else ["--level", "quick"]
        rest = shell_command("ubayfs", "trust", directory, *quick)
        echo_error(f"Not everything was done; complete it with: {rest}")
    if unread is not None:
        raise unread


def _unread(show: Callable[[Any], None], content: Any) -> OSError | None:
    """Print, and return the error if the output is closed, which must not lose the result."""
    try:
        show(content)
    except OSError as error:
        return error
    return None


def _examine(work: TrustWork, selection: Selection, level: str | None) -> None:
    """Find out what a level asks for, or judge by the ensembles that are known."""
    with advice_as_values():
        if level is None:
            work.assess_reproducibility(selection)
        else:
            work.run_level(level, selection)
    for part, problem in work.trust.problems.items():
        echo_error(f"Note: {part} is not known: {problem}")


def echo_advice(facts: Iterable[AdviceFact]) -> None:
    """Print advice, with the option that follows it."""
    for fact in facts:
        echo_error(f"Note: {fact.advice.in_words('command_line')}")


def print_answer(answer: Answer) -> None:
    """Print the chosen features, the constraints that are violated, and how good the answer is."""
    from ..report.content import answer_document
    from ..report.terminal import document_text

    echo(document_text(answer_document(answer, _SHOWN)))
    if sys.stdout is not None:
        sys.stdout.flush()  # before the work that follows


def print_lists(summary: Summary) -> None:
    """Print how far each stated list and the votes agree, and what the other trust in lists would select."""
    from ..report.knowledge_sentences import list_sentences

    sentences = [] if summary.agreement is None else list_sentences(summary, summary.agreement)
    if sentences:
        echo("\nDo your lists and the votes agree?")
    for sentence in sentences:
        echo(f"  {sentence}")


def print_dropout(summary: Summary) -> None:
    """Print which selected feature's failure costs most."""
    from ..report.feature_sentences import dropout_sentences

    for sentence in dropout_sentences(summary.substitutes):
        echo(f"\nWhat if a feature cannot be measured?\n  {sentence}")


def print_front(front: Front | None) -> None:
    """Print the best set for each size and budget, if a front was asked for."""
    if front is not None:
        echo(f"\n{front}")


def print_facts(facts: Iterable[Fact]) -> None:
    """Print what is known of other samples, and the command that finds out what is not."""
    from ..report.content import fact_cards
    from ..report.terminal import card_text

    for card in fact_cards(facts):
        echo(f"\n{card_text(card)}")
    if sys.stdout is not None:
        sys.stdout.flush()
