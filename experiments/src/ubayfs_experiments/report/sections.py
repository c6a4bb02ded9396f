"""The sections of the report on the run, on experiment 1, on the optimizers and on the controls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd

from ubayfs.report import Cell, Column, Figure, Listing, Section, Table

from ..analysis.paper import DATA
from ..analysis.tables import GUIDED, NAMES, TO_THE_LETTER, control_counts, control_table, optimizer_table
from ..claims.rules import shortened
from ..claims.sentences import CHANGED
from ..looks import look_of
from ..registry import EXPERIMENTS
from .content import NOTHING, Content, listed
from .figure_parts import span

_TITLES = {"causes": "Changes that were run to find the cause of a difference"}
_CAPTIONS = {
    "1a": "F1 against the truth, stability, redundancy rate and run time for a growing number of models.",
    "1a-draws": "F1 against the truth in many draws of the data, HSIC with 5 models and others with 100.",
    "1b": "F1, stability, redundancy rate and run time with prior weight on the relevant or on the other blocks.",
    "1c": "F1, stability, redundancy rate, run time and what is constrained, from no constraint (rho 0) to a hard one. "
    "Relaxations of 0.01 to 0.5 were run on another day; HSIC and RFE there with M = 5 alone.",
    "1d": "Priors with and without decorrelation. The default generalized Dirichlet prior is the Dirichlet itself, "
    "and another one with another beta.",
    "2": "Standard selection. Marks of the paper outside the bar differ. Both leukemia data: F1 for ALL.",
    "2_blocks": "Block selection. Marks of the paper outside the bar differ.",
    "2_trade_off": "Stability against F1, of all methods on each data set: the trade-off that the paper stresses.",
    "2_schemes": "Random splits put rows of one animal or subject on both sides.",
    "2_seconds": "Run time of one selection beside the paper's; the machines differ.",
    "optimizers": "How often and by how much the genetic optimizer misses the best set, and the stability of both.",
}  # fmt: skip


def number(value: Any, digits: int = 2) -> str:
    """Return a number with a fixed number of decimals; a dash if there is none.

    Examples
    --------
    >>> number(0.876), number(float("nan"))
    ('0.88', '–')
    """
    # Adding zero turns -0.00 into 0.00.
    return NOTHING if pd.isna(value) else f"{round(float(value), digits) + 0.0:.{digits}f}"


def significant(value: Any) -> str:
    """Return a number with two significant digits, whole ones in full; a dash if there is none.

    Examples
    --------
    >>> significant(0.01234), significant(1234.6), significant(0.0), significant(0.00001234)
    ('0.012', '1235', '0', '1.2e-05')
    """
    if pd.isna(value):
        return NOTHING
    return f"{value:.0f}" if abs(value) >= 10 else f"{value:.2g}"


def table_of(
    caption: str, headings: Sequence[str], rows: Sequence[Sequence[Any]], words: Sequence[int] = (0,)
) -> Table:
    """Make a table; cells are text or :class:`Cell`, and the columns `words` are not numbers."""
    columns = tuple(Column(heading, numeric=i not in words) for i, heading in enumerate(headings))
    return Table(
        caption, columns, tuple(tuple(c if isinstance(c, Cell) else Cell(str(c)) for c in row) for row in rows)
    )


def figures_of(content: Content, names: Sequence[str]) -> tuple[Figure, ...]:
    """Return the figures that are there; a name stands for itself and for one figure per data set."""
    return tuple(
        Figure(
            drawn, caption := _CAPTIONS[name] + (f" Data: {drawn[len(name) + 1 :]}." if drawn != name else ""), caption
        )
        for name in names
        for drawn in content.drawings
        if drawn == name or (name.startswith("1") and drawn.startswith(f"{name}_"))
    )


def not_run(content: Content, experiment: str) -> tuple[str, ...]:
    """Return a sentence on what is missing of an experiment, or nothing."""
    if content.frames[experiment].empty:
        return (f"Experiment {experiment} has not been run.",)
    missing = content.missing_of(experiment)
    return (
        (f"{missing} cells of experiment {experiment} are not finished; the figures below are of what is there.",)
        if missing
        else ()
    )


def run_section(content: Content) -> Section:
    """Say what was run, when, with which versions and seed, and what is missing."""
    run = content.run
    versions = ", ".join(f"{name} {version}" for name, version in run.get("versions", {}).items())
    facts = [
        ("started", run.get("started", NOTHING)),
        ("seed", run.get("seed", NOTHING)),
        ("size", "quick: everything in small, to be looked at and not concluded from" if run.get("quick") else "full"),
        ("versions", versions or NOTHING),
        ("machine", run.get("machine", NOTHING)),
    ]
    done = {name: [one for one in content.cells if one["name"].startswith(f"{name}/")] for name in NAMES}
    rows = [
        (
            name,
            _title(name),
            sum(one["done"] == one["n_splits"] for one in cells),
            content.missing_of(name),
            span(one["n_splits"] for one in cells) if cells else NOTHING,
            listed(sorted({one.get("started", NOTHING) for one in cells})),
        )
        for name, cells in done.items()
    ]
    sentences = tuple(
        f"{data} has not been run; it is when its file is in the data directory."
        for data in DATA
        if content.frames["2"].empty is False and data not in set(content.frames["2"]["data"])
    )
    listings = [("Unfinished cells", content.unfinished), ("Cells that were not begun", content.absent)]
    return Section(
        "run", "What was run", sentences,
        tables=(
            table_of("The run", ("", ""), facts, words=(0, 1)),
            table_of("Experiments", ("name", "experiment", "cells done", "missing", "splits", "date"), rows, (0, 1, 5)),
        ),
        listings=tuple(Listing(caption, "\n".join(names)) for caption, names in listings if names),
    )  # fmt: skip


def _title(name: str) -> str:
    return EXPERIMENTS[name].title if name in EXPERIMENTS else _TITLES.get(name, name)


def simulation_section(content: Content, name: str) -> Section:
    """Show the figures of a part of experiment 1, and the paper's sentences with our verdicts."""
    claims = content.claims[content.claims["experiment"] == name] if len(content.claims) else content.claims
    rows = [
        (row["claim"], Cell("", badges=(row["verdict"],)), shortened(row["figures"]))
        for row in claims.to_dict("records")
    ]
    caption = (
        "What the paper says in words (its figures are not in its source text), and what our tables say, first in the "
        "paper's configuration, which the verdict counts, and then in all our cells."
    )
    first = bool(rows) and name == content.claims["experiment"].iloc[0]  # what is so of all claims is said once
    return Section(
        f"experiment-{name}", f"{name}: {_title(name)}", (*not_run(content, name), *((CHANGED,) if first else ())),
        tables=(table_of(caption, ("the paper", "verdict", "our figures"), rows, words=(0, 1, 2)),) if rows else (),
        figures=figures_of(content, [name]),
    )  # fmt: skip


def optimizers_section(content: Content) -> Section:
    """Show the genetic optimizer against the exact one."""
    frame, sentences = content.frames["optimizers"], not_run(content, "optimizers")
    tables: tuple[Table, ...] = ()
    if len(frame):
        sentences = (
            f"“{GUIDED}” starts from guided sets, which is our improvement: the best set that each chain of the "
            f"paper's Algorithm 1 passes through, in place of the one that it ends with. “{TO_THE_LETTER}” is the "
            "paper's Algorithm 1 taken literally; it was run on the plain problem alone.",
            *sentences,
        )
        table = optimizer_table(frame)
        for name, part in table.groupby("optimizer", sort=False):
            runs = part["runs"].sum()
            share = (part["missed"] * part["runs"]).sum() / runs
            sentences += (f"On the same evidence, {name} missed the best set in {share:.0%} of {runs:,} runs.",)
        rows = [
            (
                row["data"], row["problem"], row["optimizer"], f"{row['missed']:.0%}", significant(row["loss_mean"]),
                significant(row["loss_max"]), number(row["stability_exact"]), number(row["stability"]),
                significant(row["seconds_exact"]), significant(row["seconds"]),
            )
            for row in table.to_dict("records")
        ]  # fmt: skip
        headings = ("data", "problem", "optimizer", "missed", "mean loss", "largest loss", "stability, exact",
                    "stability, genetic", "seconds, exact", "seconds, genetic")  # fmt: skip
        caption = (
            "Share of runs that missed the best set, loss of utility, mean stability over elementary selectors, and "
            "median seconds of the decision alone."
        )
        tables = (table_of(caption, headings, rows, words=(0, 1, 2)),)
    heading = "Exact against genetic"
    return Section("optimizers", heading, sentences, tables, figures_of(content, ["optimizers"]))


def controls_section(content: Content) -> Section:
    """Show the balanced accuracy with a shuffled target: about one half, if nothing leaks."""
    frame, sentences = content.frames["controls"], not_run(content, "controls")
    tables: tuple[Table, ...] = ()
    if len(frame):
        table = control_table(frame)
        mean, beyond = table["shuffled"].mean(), int((table["z"] > 2).sum())
        sentences += (
            f"With a shuffled target, the balanced accuracy on held-out rows is {number(mean, 3)} on average over "
            f"{len(table)} figures; guessing gives 0.5. It is more than two standard errors above 0.5 in {beyond} of "
            f"them; about {0.0228 * len(table):.0f} would be by chance.",
        )
        rows = [
            (
                row["data"], look_of(row["method"]).label, row["scenario"], row["predictor"],
                f"{number(row['true'], 3)} ± {number(row['true_se'], 3)}",
                f"{number(row['shuffled'], 3)} ± {number(row['shuffled_se'], 3)}", number(row["z"], 1),
            )
            for row in table.to_dict("records")
        ]  # fmt: skip
        headings = ("data", "method", "scenario", "predictor", "true target", "shuffled target", "z against 0.5")
        caption = "Balanced accuracy on held-out rows, mean ± standard error."
        tables = (_far_figures(table), table_of(caption, headings, rows, words=(0, 1, 2, 3)))
    return Section("controls", "No leak: the target shuffled", sentences, tables)


def _far_figures(table: pd.DataFrame) -> Table:
    """Count the far figures of the control beside the number that chance gives."""
    rows = [
        (f"{row['beyond']} standard errors", row["figures"], row["above"], row["below"], number(row["expected"], 1))
        for row in control_counts(table).to_dict("records")
    ]
    headings = ("further from 0.5 than", "figures", "above", "below", "expected by chance on each side")
    caption = (
        "Figures of the shuffled target that lie far from 0.5. A leak would put many above. The two predictors of a "
        "cell judge the same sets on the same rows, so that their figures go far together."
    )
    return table_of(caption, headings, rows)


def settings_section(content: Content) -> Section:
    """List the settings, and say when they were fixed."""
    settings = content.run.get("settings", {})
    listings = tuple(Listing(f"Experiment {name}", json.dumps(one, indent=2)) for name, one in settings.items())
    sentence = (
        "Fixed before the first full run, but for the changes of the experiment causes, which were chosen when the "
        "main cells had been compared with the paper, and the prior with beta = 100 of 1d, which was added when "
        "beta = 1 had turned out to be nearly the Dirichlet."
    )
    return Section("settings", "Settings", (sentence,), listings=listings)
