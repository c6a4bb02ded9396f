"""Which tested change makes a figure of experiment 2 agree with the paper's, and may hence be called the cause.

A change is tested by running it (experiment "causes", and what experiment 2 has beside its main cells: other
predictors, the other class as the positive one, other data under the same name, splits by group). It is called the
cause of a cell that differs if three things hold.

1. The changed figure agrees with the paper.
2. At least half of the difference is gone, both from the figure of all splits and from the figure of those splits that
   the changed method was run on: otherwise a change that changes nothing would explain a cell that differs by 2.1
   standard errors.
3. In the *pool* of the change, more cells agree with the paper with it than without it. Of several changes one may
   agree by chance, and a change that brings one cell closer may take others away. The authors made each choice once.
   The definition of a selector is one choice for all cells of its method, an optimizer and its rule for ties for all
   of UBayFS, a predictor for all cells of its measure, a source or target of data for all cells of the data set; to
   draw splits without strata is one choice for everything, to draw them by group one for the data set.

The third is no proof: a change that does nothing gains and loses cells by chance alone. :func:`summary` gives, for each
change, the chance that one without effect gains so much. A change with a chance of one in twenty or more is shown, but
the cause stays "unknown". The authors' protocol was not chosen to fit: where its chance is as large, the cell is said
to agree by it, and it is not called the cause.

Fewer splits have larger standard errors and agree more easily. Cells are counted "without" a change on the same split
numbers as "with" it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from ..looks import look_of
from .differences import CELL, CLASS_WORDS, LIMIT, MEASURES, OTHER_DATA, against, figures_of, main_rows
from .differences import with_papers_class as in_papers_class
from .paper import KEY

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
}
PROTOCOL = "protocol"  # the cause of what the authors' protocol changes
RARE = 0.05  # a change that gains so much with less than this chance is called the cause
_BY_GROUP = "splits by group"
_CHANGE = ["cause", "variant"]
_POOL = [*_CHANGE, "pool"]
_COUNTS = ["cells", "agree_without", "agree_with"]
TESTED, AGREES, PERHAPS = "tested: ", "agrees: ", "unknown; perhaps "  # how a verdict begins
_UNTRIED = "unknown; no change was tried"
_MEASURE_WORDS = {"f1_logistic": "logistic regression", "f1_svm": "support vector machine", "stability": "stability"}
_FOUND = ["n", "ours", "our_se", "variance"]


def tested(comparison: pd.DataFrame, results: pd.DataFrame, variants: pd.DataFrame) -> pd.DataFrame:
    """Return every change that was run for a compared cell, with its figure against the paper's.

    Parameters
    ----------
    comparison : DataFrame
        From :func:`~ubayfs_experiments.analysis.differences.compare`.
    results, variants : DataFrame
        Rows of experiment "2", and of "causes" and "2-paper".

    Returns
    -------
    table : DataFrame
        The cell (``data``, ``scenario``, ``method``, ``measure``); ``main`` (the figure compared), ``differs``;
        ``paper``; ``cause``, ``variant``, ``pool`` (in words, the cells that it is counted in); ``n`` (splits),
        ``ours`` (the figure of the variant), ``our_se``, ``z``, ``agrees`` (within 2 standard errors of the paper's);
        the same on the same splits without the change: ``same_splits``, ``same_splits_z``, ``agrees_without``;
        ``explains`` (agrees, and half of the difference is gone or more).
    """
    columns = [*CELL, "main", "differs", "paper", *_POOL, "n", "ours", "our_se", "z", "agrees"]
    columns += ["same_splits", "same_splits_z", "agrees_without", "explains"]
    main = main_rows(results)
    found = [*_other_scores(main), *_changed_rows(main, _other_cells(results)), *_changed_rows(main, _reruns(variants))]
    if not found or comparison.empty:
        return pd.DataFrame(columns=columns)
    cells = comparison.rename(columns={"ours": "main"})[[*CELL, "main", "differs", "paper"]]
    both = cells.merge(pd.DataFrame(found), on=CELL)
    with_it = against(both.drop(columns="differs"))
    without = against(both[["paper"]].assign(**{name: both[f"{name}_without"] for name in _FOUND}))
    agrees = with_it["z"].abs() <= LIMIT
    gone = pd.concat([(both["main"] - both["paper"]).abs(), without["difference"].abs()], axis=1).min(axis=1) / 2.0
    return both.assign(
        pool=[_pool(row) for row in both.to_dict("records")],
        z=with_it["z"],
        agrees=agrees,
        same_splits=without["ours"],
        same_splits_z=without["z"],
        agrees_without=without["z"].abs() <= LIMIT,
        explains=both["differs"].astype(bool) & agrees & (with_it["difference"].abs() <= gone),
    )[columns]


def _pool(row: Mapping[Any, Any]) -> str:
    """Return in words the cells for which the authors made this choice at once."""
    cause, variant = row["cause"], row["variant"]
    if cause == "optimizer" or (cause == "tie" and row["method"].startswith("ubayfs")):
        return "UBayFS"
    if cause in ("selector definition", "tie", PROTOCOL):
        return look_of(row["method"]).label
    if cause == "predictor":
        return _MEASURE_WORDS[row["measure"]]
    if cause == "split" and _BY_GROUP not in variant:
        return ""
    return str(row["data"])


def _other_scores(main: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Give scores that the compared rows have beside the compared one: with and without are of the same splits."""
    words = {
        (measure, column): (cause, text) for measure, all_of in _OTHER_SCORES.items() for cause, text, column in all_of
    }
    columns = [*((measure, measure) for measure in _OTHER_SCORES), *words]
    found = {
        tuple(one[name] for name in (*KEY, "measure", "score")): one for one in figures_of(main, KEY, columns)
    }  # fmt: skip
    for (*cell, measure, score), figure in found.items():
        if score != measure:
            cause, variant = words[measure, score]
            compared = (*cell, measure, measure)
            yield figure | {"cause": cause, "variant": variant} | _without(found[compared])


def _without(figure: Mapping[Any, Any]) -> dict[str, Any]:
    return {f"{name}_without": figure[name] for name in _FOUND}


def _changed_rows(main: pd.DataFrame, changed: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Give the figures of changed rows, and those of the main rows on the same splits."""
    if main.empty or changed.empty:
        return
    by, measures = [*KEY, *_CHANGE], [(measure, measure) for measure in MEASURES]
    shared = changed[[*by, "split"]].merge(main[[*KEY, "split"]])
    plain = {
        tuple(one[name] for name in (*by, "measure")): one
        for one in figures_of(main.drop(columns=_CHANGE, errors="ignore").merge(shared), by, measures)
    }
    for figure in figures_of(changed.merge(shared), by, measures):
        yield figure | _without(plain[tuple(figure[name] for name in (*by, "measure"))])


def _other_cells(results: pd.DataFrame) -> pd.DataFrame:
    """Return rows of experiment 2 that stand beside those compared: other data, splits by group."""
    if results.empty:
        return results
    main = results[results["variant"] == "main"]
    grouped, other = main["scheme"] != "random", main["data"].isin(OTHER_DATA)
    beside = grouped | other
    rows, grouped, other = in_papers_class(main)[beside], grouped[beside], other[beside]
    cause = {(True, False): "split", (False, True): "data source", (True, True): "data source and split"}
    kinds = list(zip(grouped, other, rows["data"], strict=True))
    return rows.assign(
        data=rows["data"].replace(OTHER_DATA),
        cause=[cause[by_group, elsewhere] for by_group, elsewhere, _ in kinds],
        variant=[
            ", ".join(
                ([f"{data} (sound data, {CLASS_WORDS})"] if elsewhere else []) + ([_BY_GROUP] if by_group else [])
            )
            for by_group, elsewhere, data in kinds
        ],
    )


def _reruns(variants: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that were run to test a cause, under the names of the cells that they stand for."""
    if variants.empty:
        return variants
    kinds = zip(variants["variant"], variants["data"], variants["stands_for"], variants["scheme"], strict=True)
    words = []
    for variant, data, stands_for, scheme in kinds:
        parts = [variant]
        parts += [data] if data != stands_for and data not in variant else []
        parts += [_BY_GROUP] if scheme != "random" and "group" not in variant else []
        words.append(", ".join(parts))
    return variants.assign(data=variants["stands_for"], method=variants["of"], variant=words)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return for each change in how many cells of its pool we agree with the paper, without and with it.

    Parameters
    ----------
    table : DataFrame
        From :func:`tested`: of all cells, those that agree included.

    Returns
    -------
    summary : DataFrame
        ``cause``, ``variant``, ``pool``, ``cells`` (that have both figures with a standard error), ``agree_without``
        and ``agree_with``, both on the same splits; ``gained`` (cells that agree only with it), ``lost`` (only without
        it), and ``chance`` that a change which does nothing, and so gains or loses a cell with equal chance, gains so
        many of them or more (one-sided sign test; cells of one data set are related, so that it is too small).
    """
    judged = table.dropna(subset=["z", "same_splits_z"]).astype({"agrees": bool, "agrees_without": bool})
    marked = judged.assign(
        gained=judged["agrees"] & ~judged["agrees_without"], lost=judged["agrees_without"] & ~judged["agrees"]
    )
    counts = marked.groupby(_POOL, sort=False, as_index=False).agg(
        cells=("agrees", "size"), agree_without=("agrees_without", "sum"), agree_with=("agrees", "sum"),
        gained=("gained", "sum"), lost=("lost", "sum"),
    )  # fmt: skip
    return counts.assign(
        chance=[_chance(gained, lost) for gained, lost in zip(counts["gained"], counts["lost"], strict=True)]
    )


def _chance(gained: int, lost: int) -> float:
    """Return the chance of `gained` heads or more in `gained` + `lost` throws of a coin."""
    n = int(gained + lost)
    return sum(math.comb(n, k) for k in range(int(gained), n + 1)) / 2.0**n


def verdicts(comparison: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return for each cell that differs the tested causes, that it agrees by the authors' protocol, or "unknown".

    Parameters
    ----------
    comparison : DataFrame
        From :func:`~ubayfs_experiments.analysis.differences.compare`.
    table : DataFrame
        From :func:`tested`: of all cells, so that a verdict also says what a change does to the others.

    Returns
    -------
    table : DataFrame
        The differing rows of `comparison`, and ``verdict`` in words.
    """
    differing = comparison[comparison["differs"].astype(bool)].reset_index(drop=True)
    # A change whose pool has no standard error was tried all the same.
    counts = table[_POOL].drop_duplicates().merge(summary(table), how="left").fillna(dict.fromkeys(_COUNTS, 0))
    tried = table.merge(counts.astype(dict.fromkeys(_COUNTS, int)), on=_POOL) if len(table) else table
    return differing.assign(verdict=[_verdict(cell, tried) for cell in differing.to_dict("records")])


def _verdict(cell: Mapping[Any, Any], table: pd.DataFrame) -> str:
    if table.empty:
        return _UNTRIED
    tried = table[(table[CELL] == [cell[name] for name in CELL]).all(axis=1)]
    explaining = tried[tried["explains"].astype(bool) & (tried["agree_with"] > tried["agree_without"])]
    sure = explaining[explaining["chance"] < RARE]
    if len(sure):
        return TESTED + "; or ".join(_gives(row) for row in sure.to_dict("records"))
    theirs = explaining[explaining["cause"] == PROTOCOL]
    if len(explaining):
        return (AGREES if len(theirs) else PERHAPS) + "; or ".join(
            f"{_gives(row)}, as chance does in {row['chance']:.0%}"
            for row in (theirs if len(theirs) else explaining).to_dict("records")
        )
    if len(tried):
        return "unknown; tried: " + "; ".join(
            f"{row['cause']}: {row['variant']} ({row['ours']:.2f}{_but(row)})" for row in tried.to_dict("records")
        )
    return _UNTRIED


def _gives(row: Mapping[Any, Any]) -> str:
    return f"{row['cause']}: {row['variant']} gives {row['ours']:.2f} (paper {row['paper']:.2f}); {_count(row)}"


def _count(row: Mapping[Any, Any]) -> str:
    """Return in words what a change does to its pool."""
    cells = f"{row['pool']} cells".strip()
    return f"with it {row['agree_with']} of {row['cells']} {cells} agree instead of {row['agree_without']}"


def _but(row: Mapping[Any, Any]) -> str:
    """Say why a change that explains this cell is not called its cause."""
    return f", but {_count(row)}" if row["explains"] else ""
