"""The sections of the report on experiment 2: our figures beside the paper's, and what differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ubayfs.report import Cell, Section, Table

from ..analysis import differences, explanations
from ..analysis.paper import KEY, paper_table
from ..analysis.tables import chosen_table, leukemia_table, scheme_table
from ..looks import in_order, look_of
from .content import NOTHING, Content
from .figures_real import data_in_order
from .sections import figures_of, not_run, number, significant, table_of
from .sections_protocol import protocol_section, sentences_section

_MEASURES = {
    "f1_logistic": "F1, logistic regression (the paper's GLM)",
    "f1_svm": "F1, linear support vector machine",
    "stability": "Stability",
}

_NONE = 1e-9  # a spread of less is that of rounding
_SCENARIOS = {"standard": "standard feature selection", "block": "block feature selection"}


def real_sections(content: Content) -> tuple[Section, ...]:
    """Return all sections of experiment 2."""
    if content.frames["2"].empty:
        return (Section("experiment-2", "2: Real data sets", not_run(content, "2")),)
    return (
        _overview(content),
        sentences_section(content),
        protocol_section(content),
        *(_measure(content, measure) for measure in _MEASURES),
        _chosen(content),
        _seconds(content),
        _differing(content),
        _leukemia(content),
        _schemes(content),
    )


def _overview(content: Content) -> Section:
    sentences = (
        differences.by_chance(content.comparison),
        "LEU is the paper's source, half of whose rows are copies, and is run to compare with the paper; LEU_golub is "
        f"the sound data, and counts. Both have {differences.CLASS_WORDS}, which is y = 1 of LEU, as in the paper, and "
        "y = 0 of LEU_golub.",
    )
    figures = figures_of(content, ["2", "2_blocks"])
    return Section("experiment-2", "2: Real data sets", (*not_run(content, "2"), *sentences), figures=figures)


def _measure(content: Content, measure: str) -> Section:
    ours, paper = (
        dict[Any, Any](table[table["measure"] == measure].set_index(KEY).to_dict("index"))
        for table in (differences.beside(content.frames["2"]), paper_table())
    )
    spread = "[95 % interval]" if measure == "stability" else "± standard error"
    label = next(iter(paper.values()))["table"]
    tables = []
    for scenario, words in _SCENARIOS.items():
        cells = [key for key in {**ours, **paper} if key[1] == scenario]
        methods, data = in_order(key[2] for key in cells), data_in_order(key[0] for key in cells)
        rows = [[name, *(_entry(ours, paper, (name, scenario, one), measure) for one in methods)] for name in data]
        caption = f"{_MEASURES[measure]}, {words}: ours {spread} | the paper ({label})."
        if measure != "stability" and set(data) & set(differences.OTHER_DATA):
            caption += f" Both leukemia data: {differences.CLASS_WORDS}."
        headings = ["data", *(look_of(method).label for method in methods)]
        tables.append(table_of(caption, headings, rows, words=range(len(headings))))
    legend = ((("differs",), "By more than two standard errors of the difference."),)
    return Section(measure.replace("_", "-"), _MEASURES[measure], tables=tuple(tables), legend=legend)


def _entry(ours: Mapping[Any, Any], paper: Mapping[Any, Any], key: tuple[str, str, str], measure: str) -> Cell:
    printed = number(paper[key]["value"]) if key in paper else NOTHING
    if key not in ours:
        return Cell(f"{NOTHING} | {printed}" if key in paper else NOTHING)
    row = ours[key]
    if measure == "stability":
        margin = 1.96 * row["our_se"]
        mine = f"{number(row['ours'])} [{number(row['ours'] - margin)}, {number(row['ours'] + margin)}]"
    else:
        mine = f"{number(row['ours'], 3)} ± {number(row['our_se'], 3)}"
    # A narrow column may put the badge on a line of its own, but does not part the figures.
    text = f"{mine} | {printed}".replace(" ", "\N{NO-BREAK SPACE}")
    return Cell(text, badges=("differs",) if row["differs"] else ())


def _chosen(content: Content) -> Section:
    table = chosen_table(content.frames["2"])
    names = [*data_in_order(table["data"]), *_SCENARIOS, "random", "groups", *in_order(table["method"])]
    place = {name: i for i, name in enumerate(names)}
    order = table[["data", "scenario", "scheme", "method"]].apply(lambda column: column.map(place))
    table = table.loc[order.sort_values(list(order.columns), kind="stable").index]
    rows = [
        (
            f"{row['data']}, {look_of(row['method']).label}", row["scenario"],
            "by group" if row["scheme"] == "groups" else row["scheme"], number(row["wanted"], 0),
            _range(number(row["size_mean"], 1), row["size_min"], row["size_max"]), number(row["wanted_blocks"], 0),
            number(row["n_blocks_mean"], 1), f"{row['different_sets']} of {row['n']}",
        )
        for row in table.to_dict("records")
    ]  # fmt: skip
    headings = ("cell", "scenario", "splits", "features wanted", "chosen", "blocks at most", "used", "different sets")
    caption = "Mean size of the chosen sets [smallest, largest], mean number of blocks used, and sets that differ."
    sentences = [
        "RENT and sparse group lasso reach the wanted size by bisection of their regularization, and so only "
        "approximately; sparse group lasso has no limit of blocks."
    ]
    over = table[table["n_blocks_mean"] > table["wanted_blocks"]]
    if len(over):
        cells = [
            f"{row['data']}, {look_of(row['method']).label} ({number(row['n_blocks_mean'], 1)} for "
            f"{row['wanted_blocks']:.0f}{', by group' if row['scheme'] == 'groups' else ''})"
            for row in over.to_dict("records")
        ]
        sentences.append(f"More blocks than the paper's b_BMS on average: {'; '.join(cells)}.")
    tables = (table_of(caption, headings, rows, words=(0, 1, 2)),)
    return Section("chosen", "What was chosen", tuple(sentences), tables)


def _range(middle: str, low: Any, high: Any) -> str:
    return middle if low == high else f"{middle} [{low}, {high}]".replace(" ", "\N{NO-BREAK SPACE}")


def _seconds(content: Content) -> Section:
    table = differences.compare_seconds(content.with_noise)
    if table.empty:
        return Section("seconds", "Run time", ("Nothing to compare.",))
    cells = table.set_index(["data", "method"]).to_dict("index")
    methods, data = in_order(table["method"]), data_in_order(table["data"])
    rows = [[name, *(_times(cells.get((name, method))) for method in methods)] for name in data]
    sentences = [
        "Mean seconds of one selection, the ensemble included; ours are CPU seconds of one process. The machines "
        "differ, so that a ratio says as much of them as of the methods."
    ]
    if table["noise"].any():
        sentences.append(
            "p53: ours are those of noise of the same size with labels at random, since its rows are not public."
        )
    asked = table["data"].isin(["PRO", "LEU"]) & table["method"].isin(["ubayfs_mrmr", "ubayfs_fisher"])
    if asked.any():
        low, high = table.loc[asked, "ratio"].min(), table.loc[asked, "ratio"].max()
        sentences.append(
            f"UBayFS with mRMR and Fisher on PRO and LEU: the paper's run time is {low:.0f} to {high:.0f} times ours."
        )
    caption = "Ours | the paper (tab:runtimes), and the paper's by ours."
    headings = ["data", *(look_of(method).label for method in methods)]
    tables = (table_of(caption, headings, rows, words=range(len(headings))),)
    return Section("seconds", "Run time", tuple(sentences), tables, figures_of(content, ["2_seconds"]))


def _times(row: Any) -> str:
    if row is None:
        return NOTHING
    return f"{significant(row['ours'])} | {row['paper']:g} ({significant(row['ratio'])}\N{MULTIPLICATION SIGN})"


def _differing(content: Content) -> Section:
    table = content.verdicts
    rows = [
        (
            f"{row['data']}, {look_of(row['method']).label}", row["scenario"], _MEASURES[row["measure"]].split(" (")[0],
            number(row["ours"], 3), number(row["paper"]), number(row["z"], 1), row["verdict"],
        )
        for row in table.to_dict("records")
    ]  # fmt: skip
    explained, agree = (
        int(table["verdict"].str.startswith(kind).sum()) if len(table) else 0
        for kind in (explanations.TESTED, explanations.AGREES)
    )
    sentences = [
        differences.by_chance(content.comparison),
        f"For {explained} of the {len(table)} a change that was run is called the cause: with it the cell agrees, half "
        "of the difference or more is gone, and in its pool more cells agree than without it, counted on the same "
        "splits. A pool is all cells for which the authors made this choice at once: those of the method, of UBayFS, "
        "of the predictor or of the data set. A pool may gain a cell or two by chance: the second table says how "
        "likely that is, and a cause must do better.",
        f"{agree} more agree by the authors' protocol, which was not chosen to fit, but in their pools it gains no "
        "more than chance may. The cause of the others is unknown.",
    ]
    sentences += [*_beyond_chance(content), *_no_spread(table)]
    if content.frames["causes"].empty:
        sentences.append("No run was made to find causes; only what experiment 2 has beside its main cells was tried.")
    tables = []
    if rows:
        headings = ("cell", "scenario", "measure", "ours", "paper", "z", "cause")
        tables.append(table_of("Cells that differ, and their causes if found.", headings, rows, words=(0, 1, 2, 6)))
    tables += _changes(content)
    return Section("differences", "What differs, and why", tuple(sentences), tuple(tables))


def _beyond_chance(content: Content) -> list[str]:
    """Say which changes gain more cells than a change without effect would."""
    changes = explanations.summary(content.tested)
    if changes.empty:
        return []
    strong = [
        f"{row['variant']} ({row['pool'] or 'all'}: {row['gained']} gained, {row['lost']} lost)"
        for row in changes[changes["chance"] < explanations.RARE].to_dict("records")
    ]
    return [
        f"Of the {len(changes)} changes, those that gain more cells than a change without effect would in one of "
        f"{1 / explanations.RARE:.0f}: {'; '.join(strong) or 'none'}. About {explanations.RARE * len(changes):.1f} "
        "would by chance, and the changes were chosen when the main cells were known. A cell that only another change "
        "would bring into agreement is called unknown, with that change behind the word perhaps."
    ]


def _no_spread(table: pd.DataFrame) -> list[str]:
    """Say what a z means where all our sets are the same."""
    return [
        f"All {row['n']} sets of {row['data']}, {look_of(row['method']).label} ({row['scenario']}) are the same. Our "
        f"stability has no spread then, and its z of {number(row['z'], 0)} has only the paper's rounding to divide by: "
        "it says that the sets are the same, and not how far the paper's figure is off."
        for row in table[(table["measure"] == "stability") & (table["our_se"] < _NONE)].to_dict("records")
    ]


def _changes(content: Content) -> list[Table]:
    changes = explanations.summary(content.tested).sort_values("chance", kind="stable")
    rows = [
        (
            row["cause"], row["variant"], row["pool"] or "all", row["cells"], row["agree_without"], row["agree_with"],
            row["gained"], row["lost"], significant(row["chance"]),
        )
        for row in changes.to_dict("records")
    ]  # fmt: skip
    headings = ("cause", "change", "pool", "cells", "agree without", "agree with", "gained", "lost", "chance")
    caption = (
        "Every change that was run: cells of its pool that agree with the paper without and with it, on the same "
        "splits; those gained and lost, and the chance that a change without effect gains so many (sign test; cells "
        "of one data set are related, so that the true chance is larger)."
    )
    return [table_of(caption, headings, rows, words=(0, 1, 2))] if rows else []


def _leukemia(content: Content) -> Section:
    return _pairs(
        "leukemia", "Leukemia twice", leukemia_table(content.frames["2"]), {"LEU": "LEU", "LEU_golub": "golub"},
        "36 of the 72 rows of the paper's source are copies of others: test rows that stand in the training rows too. "
        f"LEU_golub is the sound data, with the classes the other way round: {differences.CLASS_WORDS} is of y = 1 in "
        "LEU and of y = 0 in LEU_golub. F1 for AML stands in brackets.",
        "One of the two data sets has not been run.",
    )  # fmt: skip


def _schemes(content: Content) -> Section:
    section = _pairs(
        "schemes", "Splits by animal or subject", scheme_table(content.frames["2"]),
        {"random": "random", "groups": "by group"},
        "MPE has many rows of each mouse, LSVT of each subject. Splits by group keep them on one side.",
        "Splits by group have not been run.",
    )  # fmt: skip
    return Section(section.key, section.heading, section.sentences, section.tables, figures_of(content, ["2_schemes"]))


def _pairs(key: str, heading: str, table: pd.DataFrame, kinds: dict[str, str], sentence: str, absent: str) -> Section:
    if table.empty:
        return Section(key, heading, (sentence, absent))
    both_classes = "data" not in table.columns
    table = table.assign(data=table["data"] if "data" in table.columns else "LEU")
    measures = {
        name: words.split(" (")[0].replace("F1", differences.CLASS_WORDS if both_classes else "F1")
        for name, words in _MEASURES.items()
    }
    rows = [
        (
            f"{row['data']}, {look_of(row['method']).label}", row["scenario"],
            *(_with_spread(row, measure, kind) for measure in measures for kind in kinds),
        )
        for row in table.to_dict("records")
    ]  # fmt: skip
    headings = ["method", "scenario", *(f"{words}, {kind}" for words in measures.values() for kind in kinds.values())]
    caption = "Mean F1 ± standard error, and stability [95 % interval]."
    if both_classes:
        caption = f"Mean {differences.CLASS_WORDS} (for AML) ± standard error, and stability [95 % interval]."
    return Section(key, heading, (sentence,), (table_of(caption, headings, rows, words=range(len(headings))),))


def _with_spread(row: Mapping[Any, Any], measure: str, kind: str) -> str:
    value = number(row[f"{measure}_{kind}"])
    if measure == "stability":
        text = f"{value} [{number(row[f'stability_low_{kind}'])}, {number(row[f'stability_high_{kind}'])}]"
    else:
        other = row.get(f"{measure.replace('f1_', 'f1_other_')}_{kind}")
        beside = "" if other is None else f" ({number(other)})"
        text = f"{value}{beside} ± {number(row[f'{measure}_se_{kind}'], 3)}"
    return text.replace(" ", "\N{NO-BREAK SPACE}")
