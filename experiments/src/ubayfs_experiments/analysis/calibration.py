"""What is true beside what was said: the tables of the calibration, and their places in a page of the documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ubayfs import InputError

CELL = ["data", "kind", "selector"]
VERSION = [*CELL, "version"]
_DATA = ("gauss", "gauss_blocks", "PRO", "LEU_golub")
_KINDS = ("noise", "planted", "few", "many", "fresh")
_SELECTORS = ("mrmr", "fisher", "tree", "lasso", "ipss_gb", "ipss_l1")
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
    rows = _of(frame, "noise")
    for truth in ("t1", "t2"):
        rows[f"over_{truth}"] = rows[truth] > rows["cautious"] + 1
        rows[f"false_{truth}"] = rows[f"supported_{truth}"] / rows["supported"].clip(lower=1)
    names = ["t1", "t2", "expected", "cautious", "over_t1", "over_t2", "passes", "supported", "false_t1", "false_t2"]
    return _by_cell(rows, names)


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
    (and the mean agreement of this set with those of other studies), again (true number), again_low, again_high.
    """
    rows = _of(frame, "halves")
    sets = _of(frame, "noise", "halves").drop_duplicates([*VERSION, "split"])
    truths, own = {}, {}
    for version, group in sets.groupby(VERSION):
        chosen = list(group[["split", "features", "n_features"]].itertuples(index=False, name=None))
        if len(chosen) < 2:
            continue
        pairs = {(a[0], b[0]): agreement(a[1], b[1], a[2]) for a, b in combinations(chosen, 2)}
        truths[version] = np.mean(list(pairs.values()))
        own |= {(*version, a[0]): np.mean([pairs[pair] for pair in pairs if a[0] in pair]) for a in chosen}
    keys = list(rows[VERSION].itertuples(index=False, name=None))
    rows["truth"] = [truths.get(key, np.nan) for key in keys]
    rows["own"] = [own.get((*key, split), np.nan) for key, split in zip(keys, rows["split"], strict=True)]
    rows = rows.dropna(subset=["truth"])
    for name, truth in (("covers", "truth"), ("covers_own", "own")):
        rows[name] = (rows["interval_low"] <= rows[truth]) & (rows[truth] <= rows["interval_high"])
    by_chance = rows["size"] / rows["n_features"]
    rows["again"] = rows["size"] * (rows["truth"] + (1 - rows["truth"]) * by_chance)
    return _by_cell(
        rows, ["truth", "lower", "upper", "covers", "covers_own", "again", "again_low", "again_high"]
    )  # fmt: skip


def folds_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the AUC of validation and on new samples: columns n, auc, true_auc, covers."""
    rows = _of(frame, "folds")
    rows["truth"] = rows.groupby(VERSION)["true_auc"].transform("mean")
    rows["covers"] = (rows["auc_low"] <= rows["truth"]) & (rows["truth"] <= rows["auc_high"])
    return _by_cell(rows, ["auc", "true_auc", "covers"])


def errors_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what IPSS and ubayfs choose at q <= 0.2 of the same data sets: size, false features, seconds."""
    rows = _of(frame, "errors", "noise").copy()
    seen = rows[rows["measure"] == "errors"][["data", "kind", "version", "split"]].drop_duplicates()
    rows = rows.merge(seen, on=["data", "kind", "version", "split"])
    rows["false_t1"] = rows["supported_t1"] / rows["supported"].clip(lower=1)
    rows["said"] = rows["expected_supported"].where(rows["measure"] == "errors", 0.2 * rows["supported"])
    return _by_cell(rows, ["supported", "said", "supported_t1", "supported_t2", "false_t1", "seconds"])


def facts_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the statements on the paper's data, one row per data set and selector."""
    return frame[frame["measure"] == "facts"].reset_index(drop=True)


def _of(frame: pd.DataFrame, *measures: str) -> pd.DataFrame:
    rows = frame[frame["measure"].isin(measures)].copy()
    return rows.assign(version=rows["version"].astype(int))


def _by_cell(rows: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return means per cell and the number of simulations, in the order of the report."""
    groups = rows.groupby(CELL, sort=False)
    table = groups[list(names)].mean().assign(n=groups.size()).reset_index()
    order = [_DATA, _KINDS, _SELECTORS]
    table = table.sort_values(CELL, key=lambda column: column.map(order[CELL.index(str(column.name))].index))
    return table[[*CELL, "n", *names]].reset_index(drop=True)


def _number(digits: int) -> Callable[[Any], str]:
    return lambda value: "-" if pd.isna(value) else f"{round(float(value), digits) + 0.0:.{digits}f}"


def _share(value: Any) -> str:
    """Return a share without the zero: .07."""
    return "-" if pd.isna(value) else f"{float(value):.2f}".replace("0.", ".", 1)


# Per table: its maker, and per column its heading and its text, of one or two columns of figures.
TABLES: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], list[tuple[str, Any, tuple[str, ...]]]]] = {
    "noise": (noise_table, [
        ("true T1 / T2", _number(1), ("t1", "t2")), ("expected", _number(1), ("expected",)),
        ("cautious", _number(1), ("cautious",)), ("above cautious + 1, T1 / T2", _share, ("over_t1", "over_t2")),
        ("gate passed", _share, ("passes",)), ("q <= 0.2", _number(1), ("supported",)),
        ("false of these, T1 / T2", _share, ("false_t1", "false_t2")),
    ]),
    "halves": (halves_table, [
        ("true agreement", _number(2), ("truth",)), ("lower / upper", _number(2), ("lower", "upper")),
        ("interval covers", _share, ("covers",)), ("covers that of the set", _share, ("covers_own",)),
        ("chosen again", _number(1), ("again",)), ("said", _number(1), ("again_low", "again_high")),
    ]),
    "folds": (folds_table, [
        ("AUC said", _number(2), ("auc",)), ("AUC on new samples", _number(2), ("true_auc",)),
        ("interval covers", _share, ("covers",)),
    ]),
    "errors": (errors_table, [
        ("q <= 0.2", _number(1), ("supported",)), ("false, as said", _number(1), ("said",)),
        ("false, T1 / T2", _number(1), ("supported_t1", "supported_t2")), ("false share", _share, ("false_t1",)),
        ("seconds", _number(1), ("seconds",)),
    ]),
    "facts": (facts_table, [
        ("expected noise", _number(1), ("expected",)), ("cautious", _number(1), ("cautious",)),
        ("p", _number(2), ("p_value",)), ("q <= 0.2", _number(0), ("supported",)),
        ("agreement", _number(2), ("lower", "upper")), ("chosen again", _number(1), ("again_low", "again_high")),
        ("AUC", _number(3), ("auc",)), ("interval", _number(2), ("auc_low", "auc_high")),
        ("random", _number(2), ("auc random",)), ("forest", _number(2), ("auc forest",)),
        ("shuffled", _number(2), ("auc shuffled",)),
    ]),
}  # fmt: skip


def markdown(name: str, frame: pd.DataFrame) -> str:
    """Return one of the tables ("noise", "halves", "folds", "errors", "facts") of all outcomes, as Markdown."""
    make, columns = TABLES[name]
    table = make(frame)
    counted = "n" in table.columns
    headings = ["data", "selector", *(["simulations"] if counted else []), *(heading for heading, _, _ in columns)]
    lines = [headings, ["---"] * 2 + ["---:"] * (len(headings) - 2)]
    for _, row in table.iterrows():
        cell = f"{row['data']}, {row['kind']}" if counted else f"{row['data']}{', groups' * (row['scheme'] == 'groups')}"
        figures = [" / ".join(text(row[key]) for key in keys) for _, text, keys in columns]
        lines.append([cell, row["selector"], *([str(row["n"])] if counted else []), *figures])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def fill(page: str, frame: pd.DataFrame) -> str:
    """Return a page with the tables of these outcomes in their places: ``<!-- table: noise -->`` to ``<!-- end -->``.

    Raises
    ------
    InputError
        If the page has no such place, or names a table that there is not.
    """
    names = [name for _, name, _ in _PLACE.findall(page)]
    if not names or not {*names} <= {*TABLES}:
        raise InputError(
            f"the page must have places such as '<!-- table: noise -->' with '<!-- end -->' after them, named "
            f"{', '.join(TABLES)}; it has {', '.join(names) or 'none'}."
        )
    return _PLACE.sub(lambda found: f"{found[1]}{markdown(found[2], frame)}{found[3]}", page)
