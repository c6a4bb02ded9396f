"""What is true beside what was said: the tables of the calibration, and their places in a page of the documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ubayfs import InputError

from .questions import questions_table

CELL = ["data", "kind", "selector"]
VERSION = [*CELL, "version"]
_DATA = ("gauss", "gauss_blocks", "PRO", "LEU_golub")
_KINDS = ("noise", "planted", "few", "many", "fresh")
_SELECTORS = ("mrmr", "fisher", "tree", "lasso", "ipss_gb", "ipss_l1")
_FIGURES = (
    "expected", "cautious", "t1", "t2", "passes", "supported", "supported_t1", "supported_t2", "expected_supported",
    "lower", "upper", "interval_low", "interval_high", "again_low", "again_high", "auc", "auc_low", "auc_high",
    "true_auc",
)  # fmt: skip
_PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def noise_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how many members are noise, in truth and as estimated, per cell.

    Parameters
    ----------
    frame : DataFrame
        All outcomes, of ``store.read_frames``.

    Returns
    -------
    table : DataFrame
        Columns n, t1, t2 (true numbers), expected, cautious, over_t1 and over_t2 (share of simulations in which the
        truth is more than one above cautious), passes, supported, false_t1, false_t2 (mean share of q <= 0.2).
    """
    names = ["t1", "t2", "expected", "cautious", "over_t1", "over_t2", "passes", "supported", "false_t1", "false_t2"]
    return _by_cell(_noise_rows(frame), names)


def _noise_rows(frame: pd.DataFrame) -> pd.DataFrame:
    rows = _of(frame, "noise")
    for truth in ("t1", "t2"):
        rows[f"over_{truth}"] = rows[truth] > rows["cautious"] + 1
        rows[f"false_{truth}"] = rows[f"supported_{truth}"] / rows["supported"].clip(lower=1)
    return rows


def agreement(first: Iterable[int], second: Iterable[int], n_features: int) -> float:
    """Return the agreement of two sets beyond chance.

    >>> agreement([0, 1], [1, 2], 4), agreement([0, 1], [0, 1], 4)
    (0.0, 1.0)
    """
    one, other = set(first), set(second)
    chance = len(one) * len(other) / n_features
    return (len(one & other) - chance) / ((len(one) + len(other)) / 2 - chance)


def halves_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return agreement in truth, of the sets that other data sets of the same population gave, and as it was estimated.

    Columns n, truth, lower, upper, covers (the interval holds the mean agreement of all pairs of studies), covers_own
    (and the mean agreement of this set with those of other studies), again (true number), again_low, again_high, holds
    (the true number is between them, in whole numbers).
    """
    names = ["truth", "lower", "upper", "covers", "covers_own", "again", "again_low", "again_high", "holds"]
    return _by_cell(_halves_rows(frame), names)


def _halves_rows(frame: pd.DataFrame) -> pd.DataFrame:
    rows = by_the_present_rule(_of(frame, "halves"))
    sets = _of(frame, "noise", "halves").drop_duplicates([*VERSION, "split"])
    truths: dict[Any, float] = {}
    own: dict[Any, float] = {}
    for version, group in sets.groupby(VERSION):
        chosen = list(group[["split", "features", "n_features"]].itertuples(index=False, name=None))
        if len(chosen) < 2:
            continue
        pairs = {(a[0], b[0]): agreement(a[1], b[1], a[2]) for a, b in combinations(chosen, 2)}
        truths[version] = float(np.mean(list(pairs.values())))
        own |= {(*version, a[0]): float(np.mean([pairs[pair] for pair in pairs if a[0] in pair])) for a in chosen}
    keys = list(rows[VERSION].itertuples(index=False, name=None))
    rows["truth"] = [truths.get(key, np.nan) for key in keys]
    rows["own"] = [own.get((*key, split), np.nan) for key, split in zip(keys, rows["split"], strict=True)]
    rows = rows.dropna(subset=["truth"])
    for name, truth in (("covers", "truth"), ("covers_own", "own")):
        rows[name] = (rows["interval_low"] <= rows[truth]) & (rows[truth] <= rows["interval_high"])
    by_chance = rows["size"] / rows["n_features"]
    rows["again"] = rows["size"] * (rows["truth"] + (1 - rows["truth"]) * by_chance)
    said, true = rows[["again_low", "again_high"]].round(), rows["again"].round()
    rows["holds"] = (said["again_low"] <= true) & (true <= said["again_high"])  # as it is printed
    return rows


def by_the_present_rule(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what was said with the upper ends of the present rule; outcomes of earlier ones are stored, too.

    `lower` and `interval_low` were always the same, and hold the standard error: interval_low = lower - 1.96 s. The
    rule is 4 x / (1 + 3 x), with x = lower + s, and x = lower + 1.96 s at least for the interval.
    """
    ends = [rows["lower"] + z * (rows["lower"] - rows["interval_low"]) / 1.96 for z in (1.0, 1.96)]
    upper, highest = (x.where(x <= 0, 4 * x / (1 + 3 * x)) for x in (end.clip(upper=1.0) for end in ends))
    again = rows["size"] * (upper + (1 - upper) * rows["size"] / rows["n_features"])
    return rows.assign(
        upper=upper,
        interval_high=rows["interval_high"].where(rows["interval_high"] > highest, highest),
        again_high=again.where(again < rows["size"], rows["size"]),
    )


def folds_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the AUC of validation and on new samples: columns n, auc, true_auc, covers."""
    return _by_cell(_folds_rows(frame), ["auc", "true_auc", "covers"])


def _folds_rows(frame: pd.DataFrame) -> pd.DataFrame:
    rows = _of(frame, "folds")
    rows["truth"] = rows.groupby(VERSION)["true_auc"].transform("mean")
    rows["covers"] = (rows["auc_low"] <= rows["truth"]) & (rows["truth"] <= rows["auc_high"])
    return rows


def errors_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what IPSS and ubayfs choose at q <= 0.2 of the same data sets: size, false features, seconds."""
    rows = _of(frame, "errors", "noise")
    seen = rows[rows["measure"] == "errors"][["data", "kind", "version", "split"]].drop_duplicates()
    rows = rows.merge(seen, on=["data", "kind", "version", "split"])
    rows["false_t1"] = rows["supported_t1"] / rows["supported"].clip(lower=1)
    rows["said"] = rows["expected_supported"].where(rows["measure"] == "errors", 0.2 * rows["supported"])
    return _by_cell(rows, ["supported", "said", "supported_t1", "supported_t2", "false_t1", "seconds"])


def facts_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the statements on the paper's data, one row per data set and selector."""
    rows = by_the_present_rule(frame[frame["measure"] == "facts"].reset_index(drop=True))
    return rows.assign(cell=rows["data"] + rows["scheme"].map({"groups": ", groups", "random": ""}))


def verdict_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how often each promise is kept over all cells.

    Columns rule, asked, n, found, low and high (the 95 % interval, by Wilson, of the share that was found), worst (the
    share of the cell that is furthest off) and worst_cell.
    """
    from scipy.stats import binomtest

    noise, halves, folds = _noise_rows(frame), _halves_rows(frame), _folds_rows(frame)
    promises = [
        ("noise (T1) exceeds cautious + 1", "at most .10", noise, "over_t1", False),
        ("noise (T2) exceeds cautious + 1", "at most .10", noise, "over_t2", False),
        ("pure noise passes the gate", "at most .08", noise[noise["kind"] == "noise"], "passes", False),
        ("interval of agreement covers", "at least .85", halves, "covers", True),
        ("chosen again is as said", "", halves, "holds", True),
        ("interval of the AUC covers", "about .95", folds, "covers", True),
        ("interval of the AUC on pure noise holds .5", "about .95", _at_chance(folds), "covers", True),
    ]
    found = []
    for rule, asked, rows, name, more_is_better in promises:
        if len(rows):
            cells, n, yes = _by_cell(rows, [name]), len(rows), int(rows[name].sum())
            worst = cells.sort_values(name, ascending=more_is_better, kind="stable").to_dict("records")[0]
            low, high = binomtest(yes, n).proportion_ci(method="wilson")
            which = f"{worst['cell']}, {worst['selector']}"
            found.append((rule, asked, n, yes / n, low, high, worst[name], which))
    return pd.DataFrame(found, columns=["rule", "asked", "n", "found", "low", "high", "worst", "worst_cell"])


def _at_chance(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows[rows["kind"] == "noise"]
    return rows.assign(covers=(rows["auc_low"] <= 0.5) & (rows["auc_high"] >= 0.5))


def _of(frame: pd.DataFrame, *measures: str) -> pd.DataFrame:
    """Return the rows of some measures; columns that no row has yet are there, and empty."""
    rows = frame[frame["measure"].isin(measures)]
    rows = rows.reindex(columns=list(dict.fromkeys([*rows.columns, *_FIGURES])))
    return rows.assign(version=rows["version"].astype(int))


def _by_cell(rows: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return means per cell and the number of simulations, in the order of the report."""
    groups = rows.groupby(CELL, sort=False)
    table = groups[list(names)].mean().assign(n=groups.size()).reset_index()
    order = [_DATA, _KINDS, _SELECTORS]
    table = table.sort_values(CELL, key=lambda column: column.map(order[CELL.index(str(column.name))].index))
    return table.assign(cell=table["data"] + ", " + table["kind"]).reset_index(drop=True)


def _number(digits: int) -> Callable[[Any], str]:
    return lambda value: "-" if pd.isna(value) else f"{round(float(value), digits) + 0.0:.{digits}f}"


def _share(value: Any) -> str:
    """Return a share without the zero: .07."""
    return "-" if pd.isna(value) else f"{float(value):.2f}".replace("0.", ".", 1)


_LABELS = [("data", str, ("cell",)), ("selector", str, ("selector",))]
_CELLS = [*_LABELS, ("simulations", str, ("n",))]

# Per table: its maker, and per column its heading and its text, of one or more columns of figures.
Tables = dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], list[tuple[str, Any, tuple[str, ...]]]]]
TABLES: Tables = {
    "verdict": (verdict_table, [
        ("promise", str, ("rule",)), ("asked", str, ("asked",)), ("found", _share, ("found",)),
        ("95 % interval", _share, ("low", "high")), ("simulations", str, ("n",)), ("worst cell", _share, ("worst",)),
        ("which", str, ("worst_cell",)),
    ]),
    "noise": (noise_table, [
        *_CELLS, ("true T1 / T2", _number(1), ("t1", "t2")), ("expected", _number(1), ("expected",)),
        ("cautious", _number(1), ("cautious",)), ("above cautious + 1, T1 / T2", _share, ("over_t1", "over_t2")),
        ("gate passed", _share, ("passes",)), ("q <= 0.2", _number(1), ("supported",)),
        ("false of these, T1 / T2", _share, ("false_t1", "false_t2")),
    ]),
    "halves": (halves_table, [
        *_CELLS, ("true agreement", _number(2), ("truth",)), ("lower / upper", _number(2), ("lower", "upper")),
        ("interval covers", _share, ("covers",)), ("covers that of the set", _share, ("covers_own",)),
        ("chosen again", _number(1), ("again",)), ("as said", _number(1), ("again_low", "again_high")),
        ("which holds", _share, ("holds",)),
    ]),
    "folds": (folds_table, [
        *_CELLS, ("AUC as said", _number(2), ("auc",)), ("AUC on new samples", _number(2), ("true_auc",)),
        ("interval covers", _share, ("covers",)),
    ]),
    "errors": (errors_table, [
        *_CELLS, ("q <= 0.2", _number(1), ("supported",)), ("false, as said", _number(1), ("said",)),
        ("false, T1 / T2", _number(1), ("supported_t1", "supported_t2")), ("false share", _share, ("false_t1",)),
        ("seconds", _number(1), ("seconds",)),
    ]),
    "facts": (facts_table, [
        *_LABELS, ("expected noise", _number(1), ("expected",)), ("cautious", _number(1), ("cautious",)),
        ("p", _number(2), ("p_value",)), ("q <= 0.2", _number(0), ("supported",)),
        ("agreement", _number(2), ("lower", "upper")), ("chosen again", _number(1), ("again_low", "again_high")),
        ("AUC", _number(3), ("auc",)), ("interval", _number(2), ("auc_low", "auc_high")),
        ("random", _number(2), ("auc random",)), ("forest", _number(2), ("auc forest",)),
        ("shuffled", _number(2), ("auc shuffled",)),
    ]),
}  # fmt: skip
QUESTIONS: Tables = {
    "questions": (questions_table, [
        ("data", str, ("cell",)), ("features to ask about", str, ("asked",)), ("simulations", str, ("n",)),
        ("hits before", _number(1), ("before",)), ("gained after 1 / 5 / 10", _number(2), (
            "after_1", "after_5", "after_10")), ("standard error", _number(2), ("error",)),
        ("per question", _number(3), ("per_question",)),
    ]),
}  # fmt: skip


def markdown(name: str, frame: pd.DataFrame) -> str:
    """Return one of the tables of all outcomes, as Markdown."""
    make, columns = (TABLES | QUESTIONS)[name]
    lines = [[heading for heading, _, _ in columns], ["---" if text is str else "---:" for _, text, _ in columns]]
    lines += [
        [" / ".join(text(row[key]) for key in keys) for _, text, keys in columns]
        for row in make(frame).to_dict("records")
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def fill(page: str, frame: pd.DataFrame) -> str:
    """Return a page with the tables of these outcomes in their places: ``<!-- table: noise -->`` to ``<!-- end -->``.

    Raises
    ------
    InputError
        If the page has no such place, or names a table that there is not.
    """
    names = [name for _, name, _ in _PLACE.findall(page)]
    if not names or not {*names} <= {*TABLES, *QUESTIONS}:
        raise InputError(
            f"the page must have places such as '<!-- table: noise -->' with '<!-- end -->' after them, named "
            f"{', '.join(TABLES)}; it has {', '.join(names) or 'none'}."
        )
    return _PLACE.sub(lambda found: f"{found[1]}{markdown(found[2], frame)}{found[3]}", page)
