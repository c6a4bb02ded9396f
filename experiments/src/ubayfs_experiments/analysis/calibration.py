"""What is true beside what was said: the tables of the calibration, and their places in a page of the documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from ubayfs.exceptions import InputError

from ..data.simulated import KINDS, TARGETS
from ..designs.calibration import FEATURES, SIZES
from .questions import questions_table
from .trial import TABLES as TRIAL

DESIGN = ["size", "target", "kind"]
NOMINAL, SURE = 0.10, 0.01  # share of sets about which too much may be said; p-value of a design that exceeds it
_ORDER = [*SIZES, *TARGETS, "three classes", *dict.fromkeys([*KINDS, *FEATURES])]
_FIGURES = ("plain", "listed", "true", "at_least", "best_guess", "named", "signals", "unrelated", "no_signal")
_PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def noise_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the data sets without signal, and whether something was said to be related, with and without a list."""
    rows = _of(frame, "noise")
    return rows.assign(plain=rows["plain"] > 0, listed=rows["listed"] > 0)


def planted_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the sets of planted data, and whether more was said to be related than is."""
    rows = _of(frame, "planted")
    return rows.assign(over=rows["at_least"] > rows["true"])


def _of_noise(by: Sequence[str]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def table(frame: pd.DataFrame) -> pd.DataFrame:
        rows = noise_rows(frame)
        means = _means(rows, by, ["plain", "listed"])
        designs = _means(rows, DESIGN, ["plain", "listed"])
        highest = designs.groupby([*by], sort=False)[["plain", "listed"]].max().max(axis=1).rename("highest")
        return means.merge(highest, left_on=[*by], right_index=True)

    return table


def planted_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return true numbers and said ones, by how the set was decided: columns n_sets, over, true, at_least ..."""
    return _means(planted_rows(frame), ["how", "kind"], ["over", "true", "at_least", "best_guess"])


def designs_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same by design, over all ways to decide."""
    return _means(planted_rows(frame), ["size", "target"], ["over", "true", "at_least", "best_guess"])


def peers_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what each method names at a false discovery rate of 0.1."""
    names = ["named", "signals", "unrelated", "no_signal", "at_least", "seconds"]
    return _means(_of(frame, "peers"), ["size", "kind", "how"], names)


def bounds_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how often too much was said: columns rule, asked, n_sets, found, designs, exceed (significantly), worst.

    A design exceeds the nominal share if its own has a p-value of at most 1 % (binomial, one-sided).
    """
    from scipy.stats import binom

    noise, planted = noise_rows(frame), planted_rows(frame)
    rules = [
        ("pure noise, without a list", 0.11, noise, "plain", DESIGN),
        ("pure noise, with a list", 0.11, noise, "listed", DESIGN),
        ("planted signals", 0.10, planted, "over", [*DESIGN, "how"]),
    ]
    found = []
    for rule, asked, rows, name, by in rules:
        if len(rows):
            designs = _means(rows, by, [name]).sort_values(name, ascending=False, kind="stable")
            p = binom.sf((designs[name] * designs["n_sets"]).round() - 1, designs["n_sets"], NOMINAL)
            worst = designs.iloc[0]
            which = ", ".join(str(worst[key]) for key in by)
            exceed = int((p <= SURE).sum())
            found.append((rule, asked, len(rows), rows[name].mean(), len(designs), exceed, worst[name], which))
    return pd.DataFrame(
        found, columns=["rule", "asked", "n_sets", "found", "designs", "exceed", "worst", "worst_design"]
    )


def _of(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the rows of a measure; columns that no row has yet are there, and empty."""
    rows = frame[frame["measure"] == measure]
    return rows.reindex(columns=list(dict.fromkeys([*rows.columns, *_FIGURES])))


def _means(rows: pd.DataFrame, by: Sequence[str], names: Sequence[str]) -> pd.DataFrame:
    """Return means by group and the number of sets: designs in their order, then ways to decide as they were stored."""
    groups = rows.groupby([*by], sort=False)
    table = groups[list(names)].mean().assign(n_sets=groups.size()).reset_index()
    seen = [*_ORDER, *rows["how"].unique()]
    return table.sort_values([*by], key=lambda column: column.map(seen.index)).reset_index(drop=True)


def _size(name: str) -> str:
    """Return a size as samples x features.

    >>> _size("wide")
    '60 x 2000'
    """
    return " x ".join(map(str, SIZES[name][:2]))


def _number(digits: int) -> Callable[[Any], str]:
    return lambda value: "-" if pd.isna(value) else f"{round(float(value), digits) + 0.0:.{digits}f}"


def _share(value: Any) -> str:
    """Return a share without the zero: .07."""
    return "-" if pd.isna(value) else f"{float(value):.2f}".replace("0.", ".", 1)


_NOISE = [
    ("sets", str, ("n_sets",)), ("without a list", _share, ("plain",)), ("with a list", _share, ("listed",)),
    ("highest design", _share, ("highest",)),
]  # fmt: skip
_PLANTED = [
    ("sets", str, ("n_sets",)), ("above the truth", _share, ("over",)), ("at least", _number(1), ("at_least",)),
    ("best guess", _number(1), ("best_guess",)), ("true", _number(1), ("true",)),
]  # fmt: skip

# Per table: its maker, and per column its heading and its text, of one or more columns of figures.
Tables = dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], list[tuple[str, Any, tuple[str, ...]]]]]
TABLES: Tables = {
    "bounds": (bounds_table, [
        ("sets", str, ("rule",)), ("number", str, ("n_sets",)), ("allowed", _share, ("asked",)),
        ("found", _share, ("found",)), ("designs", str, ("designs",)), ("significantly above .10", str, ("exceed",)),
        ("highest", _share, ("worst",)), ("which", str, ("worst_design",)),
    ]),
    "noise": (_of_noise(["kind"]), [("features and samples", str, ("kind",)), *_NOISE]),
    "targets": (_of_noise(["size", "target"]), [("size", _size, ("size",)), ("target", str, ("target",)), *_NOISE]),
    "planted": (planted_table, [("set", str, ("how",)), ("features", str, ("kind",)), *_PLANTED]),
    "designs": (designs_table, [("size", _size, ("size",)), ("target", str, ("target",)), *_PLANTED]),
    "peers": (peers_table, [
        ("size", _size, ("size",)), ("features", str, ("kind",)), ("method", str, ("how",)), ("sets", str, ("n_sets",)),
        ("named", _number(1), ("named",)), ("signals", _number(1), ("signals",)),
        ("share unrelated", _share, ("unrelated",)), ("share no signal", _share, ("no_signal",)),
        ("at least", _number(1), ("at_least",)), ("seconds", _number(2), ("seconds",)),
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
BY_EXPERIMENT = {"calibration": TABLES, "questions": QUESTIONS, "trial": TRIAL}
_ALL: Tables = TABLES | QUESTIONS | TRIAL


def markdown(name: str, frame: pd.DataFrame) -> str:
    """Return one of the tables of all outcomes, as Markdown."""
    make, columns = _ALL[name]
    lines = [
        [heading for heading, _, _ in columns],
        ["---" if text in (str, _size) else "---:" for _, text, _ in columns],
    ]
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
    if not names or not {*names} <= {*_ALL}:
        raise InputError(
            f"the page must have places such as '<!-- table: noise -->' with '<!-- end -->' after them, named "
            f"{', '.join(_ALL)}; it has {', '.join(names) or 'none'}."
        )
    return _PLACE.sub(lambda found: f"{found[1]}{markdown(found[2], frame)}{found[3]}", page)
