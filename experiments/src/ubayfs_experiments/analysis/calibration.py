"""What is true beside what was said: the tables of the calibration, and their places in a page of the documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from ubayfs.exceptions import InputError

from ..data.simulated import KINDS, TARGETS
from ..designs import calibration, fresh
from ..designs.calibration import FEATURES, SIZES
from .growth import growth_table
from .questions import questions_table
from .trial import TABLES as TRIAL

EXPERIMENTS = {"calibration": (calibration.NAME, fresh.NAME)} | {
    name: (name,) for name in ("growth", "questions", "trial")
}
DESIGN = ["size", "target", "kind"]
METRICS = {"two classes": "the AUC", "numbers": "R2", "survival": "the C-index"}
SURE = 0.01  # p-value of a design in which more is wrong than may be
_ORDER = list(dict.fromkeys([
    *SIZES, *fresh.SIZES, *TARGETS, "three classes", *KINDS, *FEATURES, *fresh.FEATURES, *fresh.PLANTED,
]))  # fmt: skip
_FIGURES = (
    "plain", "listed", "true", "at_least", "best_guess", "named", "signals", "unrelated", "no_signal", "n", "exact",
    "exact_low", "exact_high", "near", "near_low", "near_high", "mean", "lower", "upper", "expected", "alone", "stated",
    "learned",
)  # fmt: skip
_PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def noise_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the data sets without signal, and whether something was said to be related, with and without a list."""
    rows = _of(frame, "noise")
    return rows.assign(plain=rows["plain"] > 0, listed=rows["listed"] > 0)


def planted_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the sets of planted data, and whether more was said to be related than is."""
    rows = _of(frame, "planted")
    return rows.assign(over=rows["at_least"] > rows["true"])


def again_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the sets to which the data brought a feature, and whether the true number, rounded, is out of a range."""
    rows = _of(frame, "again")
    rows = rows[rows["n"] > 0]
    for name in ("exact", "near"):
        low, true, high = (rows[name + end].astype(float).round() for end in ("_low", "", "_high"))
        rows = rows.assign(**{f"{name}_wrong": (true < low) | (true > high)})
    return rows


def prediction_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the data sets of predictions, and whether what is true, or expected, is out of the interval."""
    rows = _of(frame, "prediction")
    names = {"wrong": "true", "expected_wrong": "expected"}
    missed = {name: (rows[what] < rows["lower"]) | (rows[what] > rows["upper"]) for name, what in names.items()}
    return rows.assign(width=rows["upper"] - rows["lower"], **missed)


def again_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return true numbers and ranges of what is selected again, exactly and with stand-ins.

    By kind of features where votes alone decide, else by how the set is decided.
    """
    names = [name + end for name in ("exact", "near") for end in ("", "_low", "_high", "_wrong")]
    rows = again_rows(frame)
    rows = rows.assign(kind=rows["kind"].where(rows["how"] == fresh.ALONE, rows["how"]))
    return _means(rows, ["planted", "kind"], names)


def prediction_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return true and estimated scores, and how often the interval misses what is true."""
    names = ["wrong", "expected_wrong", "true", "expected", "mean", "width"]
    return _means(prediction_rows(frame), ["target", "planted"], names)


def noise_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how often something is said to be related by kind of data; `highest`: of their designs."""
    rows = noise_rows(frame)
    designs = _means(rows, DESIGN, ["plain", "listed"])
    highest = designs.groupby("kind", sort=False)[["plain", "listed"]].max().max(axis=1).rename("highest")
    return _means(rows, ["kind"], ["plain", "listed"]).merge(highest, left_on="kind", right_index=True)


def planted_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return true numbers and said ones, by how the set was decided: columns n_sets, over, true, at_least ..."""
    return _means(planted_rows(frame), ["how"], ["over", "true", "at_least", "best_guess"])


def peers_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what each method names at a false discovery rate of 0.1."""
    names = ["named", "signals", "unrelated", "no_signal", "at_least"]
    return _means(_of(frame, "peers"), ["size", "kind", "how"], names)


def lists_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the share of signals that are selected, without a list, and with one as stated or as far as votes agree.

    `lowest` is the least change by a list with learned trust over targets and kinds of features.
    """
    rows = _of(frame, "lists")
    designs = _means(rows, [*DESIGN, "how"], ["alone", "learned"])
    lowest = (designs["learned"] - designs["alone"]).groupby(designs["how"]).min().rename("lowest")
    return _means(rows, ["how"], ["alone", "stated", "learned"]).merge(lowest, left_on="how", right_index=True)


def bounds_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how often what is said is wrong: columns rule, asked, n_sets, found, designs, nominal, exceed, worst.

    A design exceeds the nominal share if its own has a p-value of at most 1 % (binomial, one-sided).
    """
    from scipy.stats import binom

    noise, planted, again, predicted = (
        rows(frame) for rows in (noise_rows, planted_rows, again_rows, prediction_rows)
    )  # fmt: skip
    how, drawn = [*DESIGN, "how"], [*DESIGN, "planted", "how"]
    rules = [
        ("related, pure noise, without a list", 0.11, 0.10, noise, "plain", DESIGN),
        ("related, pure noise, with a list", 0.11, 0.10, noise, "listed", DESIGN),
        ("related, planted signals", 0.10, 0.10, planted, "over", how),
        ("selected again, exact range", 0.20, 0.20, again, "exact_wrong", drawn),
        ("selected again, range with stand-ins", 0.20, 0.20, again, "near_wrong", drawn),
        *((f"interval of {metric}", 0.08, 0.10, predicted[predicted["target"] == target], "wrong", drawn)
          for target, metric in METRICS.items()),
    ]  # fmt: skip
    found = []
    for rule, asked, nominal, rows, name, by in rules:
        if len(rows):
            designs = _means(rows, by, [name]).sort_values(name, ascending=False, kind="stable")
            p = binom.sf((designs[name] * designs["n_sets"]).round() - 1, designs["n_sets"], nominal)
            worst = designs.iloc[0]
            which = ", ".join(str(worst[key]) for key in by)
            exceed = int((p <= SURE).sum())
            found.append((rule, asked, len(rows), rows[name].mean(), len(designs), nominal, exceed, worst[name], which))
    return pd.DataFrame(
        found, columns=["rule", "asked", "n_sets", "found", "designs", "nominal", "exceed", "worst", "worst_design"]
    )


def _of(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the rows of a measure; columns that no row has yet are there, and empty."""
    rows = frame[frame["measure"] == measure]
    return rows.reindex(columns=list(dict.fromkeys([*rows.columns, *_FIGURES, "planted"])))


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


def _score(target: str) -> str:
    return METRICS[target].removeprefix("the ")


def _method(how: str) -> str:
    return {"integrated path stability selection": "IPSS"}.get(how, how)


def _number(digits: int) -> Callable[[Any], str]:
    return lambda value: "-" if pd.isna(value) else f"{round(float(value), digits) + 0.0:.{digits}f}"


def _share(value: Any) -> str:
    """Return a share without the zero: .07."""
    return "-" if pd.isna(value) else f"{float(value):.2f}".replace("0.", ".", 1)


_SETS = ("sets", str, ("n_sets",))
# Per table: its maker, and per column its heading and its text, of one or more columns of figures.
Tables = dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], list[tuple[str, Any, tuple[str, ...]]]]]
TABLES: Tables = {
    "bounds": (bounds_table, [
        ("statement", str, ("rule",)), _SETS, ("allowed", _share, ("asked",)),
        ("wrong", _share, ("found",)), ("designs above / all", str, ("exceed", "designs")),
        ("highest", _share, ("worst",)), ("which", str, ("worst_design",)),
    ]),
    "noise": (noise_table, [
        ("features and samples", str, ("kind",)), ("without a list", _share, ("plain",)),
        ("with a list", _share, ("listed",)), ("highest design", _share, ("highest",)),
    ]),
    "planted": (planted_table, [
        ("set", str, ("how",)), _SETS, ("above the truth", _share, ("over",)), ("at least", _number(1), ("at_least",)),
        ("best guess", _number(1), ("best_guess",)), ("true", _number(1), ("true",)),
    ]),
    "peers": (peers_table, [
        ("size", _size, ("size",)), ("features", str, ("kind",)), ("method", _method, ("how",)),
        ("named", _number(1), ("named",)), ("signals", _number(1), ("signals",)),
        ("share unrelated", _share, ("unrelated",)), ("share no signal", _share, ("no_signal",)),
        ("at least", _number(1), ("at_least",)),
    ]),
    "lists": (lists_table, [
        ("list", str, ("how",)), _SETS, ("without the list", _share, ("alone",)), ("as stated", _share, ("stated",)),
        ("learned", _share, ("learned",)), ("lowest change by the learned one", _number(3), ("lowest",)),
    ]),
    "again": (again_table, [
        ("signals", str, ("planted",)), ("features, or set", str, ("kind",)), _SETS,
        ("true", _number(1), ("exact",)), ("range", _number(1), ("exact_low", "exact_high")),
        ("misses", _share, ("exact_wrong",)), ("true, stand-ins", _number(1), ("near",)),
        ("range, stand-ins", _number(1), ("near_low", "near_high")), ("misses, stand-ins", _share, ("near_wrong",)),
    ]),
    "prediction": (prediction_table, [
        ("score", _score, ("target",)), ("signals", str, ("planted",)), _SETS,
        ("true", _number(2), ("true",)), ("estimate", _number(2), ("mean",)), ("width", _number(2), ("width",)),
        ("misses", _share, ("wrong",)), ("true at 4/5", _number(2), ("expected",)),
        ("misses it", _share, ("expected_wrong",)),
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
GROWTH: Tables = {
    "growth": (growth_table, [
        ("times the samples", "{:g}".format, ("factor",)), _SETS, ("gain expected", _number(3), ("gain",)),
        ("true gain", _number(3), ("true_gain",)), ("width of the range", _number(2), ("width",)),
        ("missed", _share, ("missed",)),
    ]),
}  # fmt: skip
BY_EXPERIMENT = {"calibration": TABLES, "growth": GROWTH, "questions": QUESTIONS, "trial": TRIAL}
_ALL: Tables = TABLES | GROWTH | QUESTIONS | TRIAL


def markdown(name: str, frame: pd.DataFrame) -> str:
    """Return one of the tables of all outcomes, as Markdown."""
    make, columns = _ALL[name]
    lines = [
        [heading for heading, _, _ in columns],
        ["---" if text in (str, _size, _score, _method) else "---:" for _, text, _ in columns],
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
