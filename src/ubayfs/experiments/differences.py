"""Our figures of experiment 2 against the paper's: which differ, and which tested change makes them agree.

Standard error of a difference. Given the data, the splits of a cell are independent draws, so that a mean F1 over n
splits has the variance s^2 / n, with s the standard deviation between splits. The paper gives no standard errors; its
means are over 10 splits of the same kind, so that we take s^2 / 10 with *our* s. For the stability, the variance of
Nogueira et al. (2018) falls like 1 / n: that of the paper is ours times n / 10. Both of the paper's variances get
0.01^2 / 12 for rounding to two decimals. A cell differs when the difference is larger than 2 standard errors; if all
procedures were the same, that would happen in 4.6 % of the cells.

Causes. A change is tested by running it (experiment "causes", and what experiment 2 has beside its main cells: other
predictors, the other class as the positive one, other data under the same name, splits by group). It explains a cell
if the changed figure agrees with the paper and at least half of the difference is gone: without the second, a change
that changes nothing would explain a cell that differs by 2.1 standard errors. Of several changes one may agree by
chance, and a change that brings one cell closer may take others away. It is called a cause only if more cells of the
data set and measure agree with the paper with the change than without it; :func:`summary` counts both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from .aggregate import aggregate, with_f1
from .paper import DATA, KEY, METHODS, N_SPLITS, paper_table

MEASURES = ("f1_logistic", "f1_svm", "stability")
LIMIT = 2.0  # standard errors of the difference
BY_CHANCE = 0.0455  # two-sided, beyond LIMIT, of a normal distribution
_ROUNDING = 0.01**2 / 12.0
# Data of experiment 2 that stand beside those that the paper's cell is compared with.
_OTHER_DATA = {"LEU_golub": "LEU"}
# Scores that every row has beside the one compared: cause, words, column.
_OTHER_SCORES = {
    "f1_logistic": (
        ("predictor", "R's glm, which ends after 25 iterations", "f1_logistic_irls"),
        ("target", "the other class as positive", "f1_other_logistic"),
    ),
    "f1_svm": (
        ("predictor", "radial kernel, the default of R's svm", "f1_svm_radial"),
        ("target", "the other class as positive", "f1_other_svm"),
    ),
    "stability": (),
}
_CELL = [*KEY, "measure"]
_CHANGE = ["data", "measure", "cause", "variant"]
_UNTRIED = "unknown; no change was tried"
_NUMBERS = ["ours", "our_se", "n", "paper", "paper_se", "difference", "se", "z", "differs"]


def compare(results: pd.DataFrame, paper: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return every figure that both we and the paper have, with the standard error of the difference.

    Parameters
    ----------
    results : DataFrame
        Rows of experiment 2; random splits of the main variant are compared.
    paper : DataFrame, optional
        Default: :func:`~ubayfs.experiments.paper.paper_table`.

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

    Rows stand in the order of the paper's tables.
    """
    printed = (paper_table() if paper is None else paper).rename(columns={"value": "paper"})
    ours = pd.DataFrame(_figures(_main(results), KEY, [(measure, measure) for measure in MEASURES]))
    columns = ["table", *_CELL, *_NUMBERS]
    if ours.empty:
        return pd.DataFrame(columns=columns)
    both = _against(ours.merge(printed, on=_CELL, how="left"))
    place = {name: i for i, name in enumerate([*DATA, "standard", "block", *METHODS, *MEASURES])}
    order = both[["measure", "data", "scenario", "method"]].apply(lambda names: names.map(place).fillna(len(place)))
    return both.loc[order.sort_values(list(order.columns), kind="stable").index, columns].reset_index(drop=True)


def _main(results: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that the paper's figures are compared with."""
    return results if results.empty else results[(results["scheme"] == "random") & (results["variant"] == "main")]


def _figures(rows: pd.DataFrame, by: list[str], columns: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
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


def _against(table: pd.DataFrame) -> pd.DataFrame:
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
        ``data``, ``scenario``, ``method``, ``ours``, ``paper``, ``ratio`` (paper by ours). The machines differ: a
        ratio is no statement on the method.
    """
    columns = [*KEY, "ours", "paper", "ratio"]
    if results.empty:
        return pd.DataFrame(columns=columns)
    ours = _main(results).groupby(KEY, sort=False)["seconds"].mean().rename("ours").reset_index()
    printed = paper_table().query("measure == 'seconds'").rename(columns={"value": "paper"})
    both = printed.merge(ours, on=KEY)
    return both.assign(ratio=both["paper"] / both["ours"])[columns]


def tested(comparison: pd.DataFrame, results: pd.DataFrame, variants: pd.DataFrame) -> pd.DataFrame:
    """Return every change that was run for a compared cell, with its figure against the paper's.

    Parameters
    ----------
    comparison : DataFrame
        From :func:`compare`.
    results, variants : DataFrame
        Rows of the experiments "2" and "causes".

    Returns
    -------
    table : DataFrame
        The cell (``data``, ``scenario``, ``method``, ``measure``); ``main`` (the figure compared), ``differs``;
        ``paper``; ``cause``, ``variant``; ``ours`` (the figure of the variant), ``our_se``, ``z``; ``agrees`` (within
        2 standard errors of the paper's), ``explains`` (agrees, and half of the main difference is gone or more).
    """
    found = [*_other_scores(results), *_other_cells(results), *_reruns(variants)]
    columns = [*_CELL, "main", "differs", "paper", "cause", "variant", "ours", "our_se", "z", "agrees", "explains"]
    if not found or comparison.empty:
        return pd.DataFrame(columns=columns)
    cells = comparison.rename(columns={"ours": "main"})[[*_CELL, "main", "differs", "paper"]]
    both = cells.merge(pd.DataFrame(found), on=_CELL)
    judged = _against(both.drop(columns="differs"))
    agrees = judged["z"].abs() <= LIMIT
    closer = judged["difference"].abs() <= (both["main"] - both["paper"]).abs() / 2.0
    return both.assign(z=judged["z"], agrees=agrees, explains=both["differs"] & agrees & closer)[columns]


def _other_scores(results: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Give scores that the compared rows have beside the compared one."""
    words = {
        (measure, column): (cause, text) for measure, all_of in _OTHER_SCORES.items() for cause, text, column in all_of
    }
    for figure in _figures(_main(results), KEY, list(words)):
        cause, variant = words[figure["measure"], figure["score"]]
        yield figure | {"cause": cause, "variant": variant}


def _other_cells(results: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Give cells of experiment 2 that stand beside those compared: other data or targets, splits by group."""
    if results.empty:
        return
    main = results[results["variant"] == "main"]
    other = main[(main["scheme"] != "random") | main["data"].isin(_OTHER_DATA)]
    for figure in _figures(other, [*KEY, "scheme"], [(measure, measure) for measure in MEASURES]):
        data, scheme = figure["data"], figure["scheme"]
        parts = [("data source", data)] if data in _OTHER_DATA else []
        parts += [("split", "splits by group")] if scheme != "random" else []
        yield figure | {
            "data": _OTHER_DATA.get(data, data),
            "cause": " and ".join(cause for cause, _ in parts),
            "variant": ", ".join(words for _, words in parts),
        }


def _reruns(variants: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Give the cells that were run to test a cause."""
    if variants.empty:
        return
    by = ["stands_for", "of", "data", "scheme", "scenario", "variant", "cause"]
    for figure in _figures(variants, by, [(measure, measure) for measure in MEASURES]):
        parts = [figure["variant"]]
        parts += [figure["data"]] if figure["data"] != figure["stands_for"] and figure["data"] not in parts[0] else []
        parts += ["splits by group"] if figure["scheme"] != "random" and "group" not in parts[0] else []
        yield figure | {"data": figure["stands_for"], "method": figure["of"], "variant": ", ".join(parts)}


def causes(comparison: pd.DataFrame, results: pd.DataFrame, variants: pd.DataFrame) -> pd.DataFrame:
    """Return what was tested for the cells that differ: the rows of :func:`tested` that concern them."""
    table = tested(comparison, results, variants)
    return table[table["differs"].astype(bool)].reset_index(drop=True)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return for each change in how many of its cells we agree with the paper, without and with it.

    Parameters
    ----------
    table : DataFrame
        From :func:`tested`: of all cells, those that agree included.

    Returns
    -------
    summary : DataFrame
        ``data``, ``measure``, ``cause``, ``variant``, ``cells``, ``agree_without``, ``agree_with``.
    """
    marked = table.assign(agree_without=~table["differs"].astype(bool), agree_with=table["agrees"].astype(bool))
    return marked.groupby(_CHANGE, sort=False, as_index=False).agg(
        cells=("agrees", "size"), agree_without=("agree_without", "sum"), agree_with=("agree_with", "sum")
    )


def verdicts(comparison: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return for each cell that differs the tested causes that explain it, or the word "unknown".

    Parameters
    ----------
    comparison : DataFrame
        From :func:`compare`.
    table : DataFrame
        From :func:`tested`: of all cells, so that a verdict also says what a change does to the others.

    Returns
    -------
    table : DataFrame
        The differing rows of `comparison`, and ``verdict`` in words.
    """
    differing = comparison[comparison["differs"].astype(bool)].reset_index(drop=True)
    tried = table.merge(summary(table), on=_CHANGE) if len(table) else table
    return differing.assign(verdict=[_verdict(cell, tried) for cell in differing.to_dict("records")])


def _verdict(cell: dict[str, Any], table: pd.DataFrame) -> str:
    if table.empty:
        return _UNTRIED
    tried = table[(table[_CELL] == [cell[name] for name in _CELL]).all(axis=1)]
    explaining = tried[tried["explains"].astype(bool) & (tried["agree_with"] > tried["agree_without"])]
    if len(explaining):
        return "tested: " + "; ".join(
            f"{row['cause']}: {row['variant']} gives {row['ours']:.2f} (paper {row['paper']:.2f}; it agrees in "
            f"{row['agree_with']} of {row['cells']} cells with this change, in {row['agree_without']} without)"
            for row in explaining.to_dict("records")
        )
    if len(tried):
        return "unknown; tried: " + "; ".join(
            f"{row['cause']}: {row['variant']} ({row['ours']:.2f}{_but(row)})" for row in tried.to_dict("records")
        )
    return _UNTRIED


def _but(row: dict[str, Any]) -> str:
    """Say why a change that explains this cell is not called its cause."""
    if not row["explains"]:
        return ""
    return f", but {row['agree_with']} of {row['cells']} cells agree with this change, {row['agree_without']} without"
