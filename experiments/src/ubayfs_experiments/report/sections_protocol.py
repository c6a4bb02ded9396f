"""The sections of the report on the authors' protocol and on what the paper says of experiment 2 in words."""

from __future__ import annotations

from typing import Any

from ubayfs.report import Cell, Section

from ..analysis.explanations import AGREES, PERHAPS, TESTED
from ..analysis.protocols import BOTH, NEITHER, NO_SCRIPT, NOT_RUN, OURS, THEIRS, agreement_counts
from ..claims.rules import shortened
from ..looks import look_of
from .content import NOTHING, Content
from .sections import figures_of, not_run, number, table_of

_MEASURES = {"f1_logistic": "F1, GLM", "f1_svm": "F1, SVM", "stability": "stability"}


def sentences_section(content: Content) -> Section:
    """Show the paper's sentences on experiment 2 with our verdicts, and stability against F1."""
    claims = content.claims[content.claims["experiment"] == "2"] if len(content.claims) else content.claims
    rows = [
        (row["claim"], Cell("", badges=(row["verdict"],)), shortened(row["figures"]))
        for row in claims.to_dict("records")
    ]
    caption = (
        "The rules were written when experiment 2 had been run, and before the runs for mixed ensembles, lambda, "
        "generations and run times; that for mixed ensembles was then changed in the paper's favor, so that the right "
        "direction in three of four cells holds in part. LEU is the paper's source, half of whose rows are copies."
    )
    return Section(
        "sentences-2", "2: What the paper says", not_run(content, "discussion"),
        tables=(table_of(caption, ("the paper", "verdict", "our figures"), rows, words=(0, 1, 2)),) if rows else (),
        figures=figures_of(content, ["2_trade_off"]),
    )  # fmt: skip


def protocol_section(content: Content) -> Section:
    """Show every figure of the paper beside both protocols, and the cause of a difference."""
    if content.frames["2-paper"].empty:
        return Section("protocols", "Two protocols", not_run(content, "2-paper"))
    table = content.protocols
    counts = table["agrees"].value_counts()
    sentences = (
        *not_run(content, "2-paper"),
        "“The authors' protocol” is what their published scripts do, as far as we could describe it, and no code of "
        "theirs: forests ranked by permutation importance divided by its standard error, sparse group lasso with one "
        "penalty for all splits, trees with surrogate splits, their start of the genetic algorithm, ties drawn. The "
        "rows are those of our first splits, since the seeds of theirs are not known; fewer splits have larger "
        "standard errors, and agree more easily. RENT is not in the scripts, and "
        "the authors' sample of p53 is not public.",
        f"Of the paper's {len(table)} figures, {counts.get(BOTH, 0)} agree with both protocols, "
        f"{counts.get(THEIRS, 0)} with theirs alone, {counts.get(OURS, 0)} with ours alone (or theirs has none), "
        f"{counts.get(NEITHER, 0)} with neither; {counts.get(NOT_RUN, 0)} were not run.",
        *_elimination(content),
    )
    by_method = [
        (look_of(row["method"]).label, *(str(row[key]) for key in ("figures", "theirs", "ours", "either")))
        for row in agreement_counts(table).to_dict("records")
    ]
    rows = [
        (
            f"{row['data']}, {look_of(row['method']).label}", row["scenario"], _MEASURES[row["measure"]],
            number(row["paper"]), _figure(row, "theirs"), _figure(row, "ours"), _short(row["cause"]),
        )
        for row in table.to_dict("records")
    ]  # fmt: skip
    tables = (
        table_of(
            "Figures that both protocols have, and how many of them agree with the paper's. How many of ours do on the "
            "splits of theirs stands in the last table of “What differs, and why”.",
            ("method", "figures", "their protocol", "ours", "either"), by_method,
        ),
        table_of(
            "Every figure of the paper's tables; z in brackets, splits after the sign. Causes in full, and for unknown "
            "ones what was tried: below, and tables/2_protocols.csv.",
            ("cell", "scenario", "measure", "paper", "their protocol", "ours", "cause of our difference"), rows,
            words=(0, 1, 2, 4, 5, 6),
        ),
    )  # fmt: skip
    return Section("protocols", "Two protocols", sentences, tables)


def _elimination(content: Content) -> tuple[str, ...]:
    """Say what recursive elimination by forests returns, where it was run."""
    frame = content.frames["discussion"]
    runs = frame[frame["kind"] == "rfe"] if len(frame) else frame
    if runs.empty:
        return ()
    means = runs.groupby(["data", "selector"], sort=False, as_index=False)[["per_model", "feature_f1"]].mean()
    parts = [
        f"{row['data']}, {row['selector']} {number(row['per_model'], 1)} features per model, "
        f"F1 {number(row['feature_f1'])}"
        for row in means.to_dict("records")
    ]
    return (
        "RFE of experiment 1 is by random forests in the scripts, and a model may keep all features, so that it cannot "
        f"be compared with ours: {'; '.join(parts)}.",
    )


def _figure(row: Any, whose: str) -> str:
    if row[whose] != row[whose]:
        return NOTHING
    text = f"{number(row[whose], 3)} ({number(row[f'{whose}_z'], 1)}) /{row[f'{whose}_n']:.0f}"
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _short(cause: str) -> str:
    """Return the first words of a verdict: the change that is the cause, or that it is unknown.

    Examples
    --------
    >>> _short("tested: protocol: the authors' protocol gives 0.70 (paper 0.72); with it ...")
    "the authors' protocol"
    >>> _short("unknown; perhaps tie: columns in another order gives 0.80 (paper 0.80); with it ...")
    'unknown; perhaps columns in another order'
    >>> _short("agrees: protocol: the authors' protocol gives 0.80 (paper 0.80); with it ...")
    "agrees by the authors' protocol"
    """
    if cause.startswith("unknown"):
        perhaps = cause.removeprefix(PERHAPS)
        absent = f"; {NO_SCRIPT}" if cause.endswith(NO_SCRIPT) else ""
        return f"unknown{absent}" if perhaps == cause else f"{PERHAPS}{_change(perhaps)}{absent}"
    if cause.startswith(AGREES):
        return f"agrees by {_change(cause.removeprefix(AGREES))}"
    if not cause.startswith(TESTED):
        return cause
    return "; or ".join(_change(part) for part in cause.removeprefix(TESTED).split("; or "))


def _change(words: str) -> str:
    return words.split(" gives ")[0].split(": ", 1)[-1]
