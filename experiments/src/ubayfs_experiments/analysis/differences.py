"""Our figures of experiment 2 against the paper's: which differ, and by how much.

Standard error of a difference. Given the data, the splits of a cell are independent draws, so that a mean F1 over n
splits has the variance s^2 / n, with s the standard deviation between splits. The paper gives no standard errors; its
means are over 10 splits of the same kind, so that we take s^2 / 10 with *our* s. For the stability, the variance of
Nogueira et al. (2018) falls like 1 / n: that of the paper is ours times n / 10. Both of the paper's variances get
0.01^2 / 12 for rounding to two decimals. A cell differs when the difference is larger than 2 standard errors; if all
procedures were the same, that would happen in 4.6 % of the cells.

Why they differ: :mod:`ubayfs_experiments.analysis.explanations`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from .aggregate import PREDICTORS, aggregate, with_f1
from .paper import DATA, KEY, METHODS, N_SPLITS, paper_table

MEASURES = ("f1_logistic", "f1_svm", "stability")
LIMIT = 2.0  # standard errors of the difference
BY_CHANCE = 0.0455  # two-sided, beyond LIMIT, of a normal distribution
_ROUNDING = 0.01**2 / 12.0
# Sound data that stand beside the paper's source. Their y = 1 is the other class, so that F1 is that of their y = 0.
OTHER_DATA = {"LEU_golub": "LEU"}
CLASS_WORDS = "F1 for ALL"  # acute lymphoblastic leukemia: y = 1 of LEU, y = 0 of LEU_golub
CELL = [*KEY, "measure"]
NOISE = "noise"  # variant of runs on data of which only the size is the paper's
_NUMBERS = ["ours", "our_se", "n", "paper", "paper_se", "difference", "se", "z", "differs"]


def compare(results: pd.DataFrame, paper: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return every figure that both we and the paper have, with the standard error of the difference.

    Parameters
    ----------
    results : DataFrame
        Rows of experiment 2; random splits of the main variant are compared.
    paper : DataFrame, optional
        Default: :func:`~ubayfs_experiments.analysis.paper.paper_table`.

    Returns
    -------
    table : DataFrame
        ``table`` (of the paper), ``data``, ``scenario``, ``method``, ``measure``, ``ours``, ``our_se``, ``n`` (our
        splits), ``paper``, ``paper_se``, ``difference`` (ours - paper), ``se`` and ``z`` of it, ``differs``. With
        fewer than two splits (three, for the stability) there is no standard error, and nothing is said to differ.
    """
    return beside(results, paper).dropna(subset="paper").reset_index(drop=True)


def beside(results: pd.DataFrame, paper: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the table of :func:`compare` with every cell that we have; ``paper`` is nan where the paper has none.

    Rows stand in the order of the paper's tables. Both leukemia data have F1 for the same class, ALL.
    """
    printed = (paper_table() if paper is None else paper).rename(columns={"value": "paper"})
    ours = pd.DataFrame(
        figures_of(with_papers_class(main_rows(results)), KEY, [(measure, measure) for measure in MEASURES])
    )
    columns = ["table", *CELL, *_NUMBERS]
    if ours.empty:
        return pd.DataFrame(columns=columns)
    both = against(ours.merge(printed, on=CELL, how="left"))
    place = {name: i for i, name in enumerate([*DATA, "standard", "block", *METHODS, *MEASURES])}
    order = both[["measure", "data", "scenario", "method"]].apply(lambda names: names.map(place).fillna(len(place)))
    return both.loc[order.sort_values(list(order.columns), kind="stable").index, columns].reset_index(drop=True)


def main_rows(results: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that the paper's figures are compared with."""
    return results if results.empty else results[(results["scheme"] == "random") & (results["variant"] == "main")]


def with_papers_class(rows: pd.DataFrame) -> pd.DataFrame:
    """Exchange the classes in the counts of data whose y = 1 is the paper's other class, so that F1 is of one class.

    Parameters
    ----------
    rows : DataFrame
        With ``data`` and the counts ``<P>_tp``, ``<P>_fp``, ``<P>_fn``, ``<P>_tn`` of predictors.

    Returns
    -------
    rows : DataFrame

    Examples
    --------
    >>> counts = {"svm_tp": [6, 6], "svm_fp": [3, 3], "svm_fn": [2, 2], "svm_tn": [1, 1]}
    >>> with_papers_class(pd.DataFrame({"data": ["LEU", "LEU_golub"], **counts})).iloc[1, 1:].tolist()
    [1, 2, 3, 6]
    """
    if rows.empty:
        return rows
    names = [(f"{one}_{a}", f"{one}_{b}") for one in PREDICTORS for a, b in (("tp", "tn"), ("fp", "fn"))]
    pairs = [pair for pair in names if set(pair) <= set(rows.columns)]
    other = rows["data"].isin(OTHER_DATA)
    exchanged = {name: rows[name].mask(other, rows[partner]) for a, b in pairs for name, partner in ((a, b), (b, a))}
    return rows.assign(**exchanged)


def figures_of(rows: pd.DataFrame, by: list[str], columns: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """Give the value of each cell and column, its standard error and the variance of one split.

    `columns` are pairs of the measure and the score that stands for it.
    """
    if rows.empty:
        return
    scored = with_f1(rows)
    scores = [score for _, score in columns if score in scored.columns]
    for cell in aggregate(scored, by, scores).to_dict("records"):
        for measure, score in columns:
            if score == "stability":
                # Of two sets of one size the estimated variance is always 0: there is nothing to estimate it from.
                estimate = cell["stability_variance"] if cell["n"] > 2 else np.nan
                value, se, variance = cell["stability"], np.sqrt(estimate), estimate * cell["n"]
            elif score in scores:
                value, se, variance = cell[f"{score}_mean"], cell[f"{score}_se"], cell[f"{score}_sd"] ** 2
            else:
                continue
            yield {name: cell[name] for name in by} | {
                "measure": measure, "score": score, "ours": value, "our_se": se, "n": cell["n"], "variance": variance,
            }  # fmt: skip


def against(table: pd.DataFrame) -> pd.DataFrame:
    """Add what follows from ``ours``, ``our_se``, ``variance`` and ``paper``."""
    paper_se = np.sqrt(table["variance"] / N_SPLITS + _ROUNDING)
    se = np.hypot(table["our_se"], paper_se)
    difference = table["ours"] - table["paper"]
    z = difference / se
    return table.assign(paper_se=paper_se, difference=difference, se=se, z=z, differs=z.abs() > LIMIT)


def by_chance(comparison: pd.DataFrame) -> str:
    """Return in words how many cells differ, and how many would by chance."""
    n = int(comparison["z"].notna().sum())
    differing = int(comparison["differs"].sum())
    return (
        f"{differing} of {n} figures differ from the paper by more than {LIMIT:g} standard errors of the difference; "
        f"about {BY_CHANCE * n:.0f} would by chance alone."
    )


def compare_seconds(results: pd.DataFrame) -> pd.DataFrame:
    """Return mean run times beside the paper's.

    Returns
    -------
    table : DataFrame
        ``data``, ``scenario``, ``method``, ``ours``, ``paper``, ``ratio`` (paper by ours), ``noise`` (ours is that of
        noise of the same size). The machines differ: a ratio is no statement on the method.
    """
    columns = [*KEY, "ours", "paper", "ratio", "noise"]
    if results.empty:
        return pd.DataFrame(columns=columns)
    rows = pd.concat([main_rows(results), results[results["variant"] == NOISE]])
    keys = [*KEY, "variant"]
    ours = rows.groupby(keys, sort=False)["seconds"].mean().rename("ours").reset_index().drop_duplicates(KEY)
    printed = paper_table().query("measure == 'seconds'").rename(columns={"value": "paper"})
    both = printed.merge(ours, on=KEY)
    return both.assign(ratio=both["paper"] / both["ours"], noise=both["variant"] == NOISE)[columns]


def with_noise(results: pd.DataFrame, discussion: pd.DataFrame) -> pd.DataFrame:
    """Add the runs on noise of p53's size to the rows of experiment 2, under the name of p53, for their seconds."""
    if results.empty or discussion.empty:
        return results
    noise = discussion[discussion["kind"] == NOISE]
    return pd.concat([results, noise.assign(data="p53", method=noise["of"], variant=NOISE)], ignore_index=True)
