"""What the paper says in words about experiment 2 and in its discussion, and whether our tables agree.

Each sentence is in our words, with a rule. The rules were written after experiment 2 had been run, and before the runs
for mixed ensembles, lambda, generations and run times (experiment "discussion"). One was changed when these were known,
in the paper's favor: mixed ensembles that are mostly less stable, but not beyond the errors, hold the sentence in part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from ..analysis.aggregate import stability_of, with_f1
from ..analysis.differences import main_rows
from ..analysis.paper import DATA, paper_table
from ..data.catalogue import SOURCES
from ..designs.protocol import PROTOCOL
from ..looks import look_of
from .rules import F1, MOSTLY, STABILITY, UNTESTED, Change, Verdict, by_share, changes, count, sentence, together

Frames = Mapping[str, pd.DataFrame]

UBAYFS = ("ubayfs_mrmr", "ubayfs_fisher", "ubayfs_tree")
RIVALS = ("random_forest", "rent", "group_lasso")
_BY = "by more than two standard errors"
SOON = 10  # "around ten" generations
_PREDICTORS = {"f1_logistic": "GLM", "f1_svm": "SVM"}
_SIDES = ("selector", "data")


def _main(frames: Frames) -> pd.DataFrame:
    """Return the rows of experiment 2 on the paper's data, with F1; ``data`` says whether blocks are limited."""
    rows = main_rows(frames.get("2", pd.DataFrame()))
    return rows if rows.empty else _named(rows[rows["data"].isin(DATA)])


def _by_authors(frames: Frames) -> pd.DataFrame:
    rows = frames.get("2-paper", pd.DataFrame())
    return rows if rows.empty else _named(rows[rows["variant"] == PROTOCOL])


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    return with_f1(rows.assign(data=rows["data"].where(rows["scenario"] != "block", rows["data"] + " (blocks)")))


def _runs(frames: Frames, kind: str) -> pd.DataFrame:
    rows = frames.get("discussion", pd.DataFrame())
    return rows if rows.empty else rows[rows["kind"] == kind]


def _by_predictor(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows once for each predictor, with its F1 in one column."""
    return pd.concat(
        [rows.assign(**{F1: rows[score]}, data=rows["data"] + f", {words}") for score, words in _PREDICTORS.items()],
        ignore_index=True,
    )


def _best(rows: pd.DataFrame, methods: tuple[str, ...], score: str) -> pd.DataFrame:
    """Return in each cell the rows of the one of some methods with the highest mean score or stability."""
    rows = rows[rows["method"].isin(methods)]
    groups = [
        (stability_of(part).value if score == STABILITY else float(part[score].mean()), str(data), part)
        for (data, _), part in rows.groupby(["data", "method"], sort=False)
    ]
    best: dict[str, tuple[float, pd.DataFrame]] = {}
    for value, data, part in groups:
        if data not in best or value > best[data][0]:
            best[data] = value, part
    return pd.concat([part for _, part in best.values()]) if best else rows


def keeps_up(frames: Frames) -> Verdict:
    """Compare the best of UBayFS's three with the best competitor, by data, scenario and predictor."""
    rows = _main(frames)
    if rows.empty:
        return UNTESTED
    rows = _by_predictor(rows)
    sides = [_best(rows, methods, F1).assign(side=side) for side, methods in (("rival", RIVALS), ("own", UBAYFS))]
    found = changes(pd.concat(sides).assign(selector="UBayFS"), F1, {"side": "rival"}, {"side": "own"}, _SIDES)
    says = f"of the best of UBayFS's three is not below that of the best competitor {_BY}"
    verdict = count(found, lambda one: not one.falls, F1, says, enough=MOSTLY)
    return replace(
        verdict, words=f"{verdict.words} The best of three is chosen among more than that of two competitors."
    )


def forest_unstable(frames: Frames) -> Verdict:
    """Compare the stability of the random forest with that of each of UBayFS's three; by the authors' protocol too."""
    rows = _main(frames)
    if rows.empty:
        return UNTESTED
    verdict = _beside_forest(rows)
    authors = _by_authors(frames)
    if authors.empty:
        return verdict
    other = _beside_forest(authors)
    return replace(verdict, words=f"{verdict.words} By the authors' protocol: {other.verdict}; {other.brief}.")


def _beside_forest(rows: pd.DataFrame) -> Verdict:
    found = [
        one
        for method in UBAYFS
        for one in changes(
            rows.assign(selector=look_of(method).label),
            STABILITY,
            {"method": "random_forest"},
            {"method": method},
            _SIDES,
        )
    ]
    return count(found, lambda one: one.rises, STABILITY, f"is higher than that of the random forest {_BY}")


def trade_off(frames: Frames) -> Verdict:
    """Count the cells in which no competitor is as good as some of UBayFS's three in both F1 and stability."""
    points = trade_offs(frames)
    if points.empty:
        return UNTESTED
    n_for, n_rivals, cells, words = 0, 0, 0, []
    for data, part in points.groupby("data", sort=False):
        own, rivals = part[part["method"].isin(UBAYFS)], part[part["method"].isin(RIVALS)]
        if own.empty or rivals.empty:
            continue
        cells += 1
        front = _unmatched(own, rivals)
        n_for += bool(front)
        n_rivals += bool(_unmatched(rivals, own))
        words.append(f"{data}: {', '.join(front) or 'none'}")
    brief = f"one of UBayFS's three has no competitor that is as good in both in {n_for} of {cells} cells"
    text = (
        f"{sentence(brief)} (mean F1 of both predictors, and stability): {'; '.join(words)}. In {n_rivals} "
        "a competitor has none of the three as good in both."
    )
    return by_share(n_for, cells, text, enough=MOSTLY, brief=brief) if cells else UNTESTED


def _unmatched(some: pd.DataFrame, others: pd.DataFrame) -> list[str]:
    """Return the methods that no other one is as good as in both F1 and stability."""
    return [
        look_of(str(one["method"])).label
        for one in some.to_dict("records")
        if not ((others["f1"] >= one["f1"]) & (others["stability"] >= one["stability"])).any()
    ]


def trade_offs(frames: Frames) -> pd.DataFrame:
    """Return mean F1 of both predictors (``f1``) and ``stability`` by ``data`` and ``method``."""
    rows = _main(frames)
    return pd.DataFrame(
        [
            {
                "data": data, "method": method, "stability": stability_of(part).value,
                "f1": float(part[list(_PREDICTORS)].mean(axis=1).mean()),
            }
            for (data, method), part in (rows.groupby(["data", "method"], sort=False) if len(rows) else ())
        ],
        columns=["data", "method", "stability", "f1"],
    )  # fmt: skip


def blocks_help(frames: Frames) -> Verdict:
    """Compare F1 of block with that of standard selection, of UBayFS alone."""
    rows = _main(frames)
    if rows.empty:
        return UNTESTED
    rows = rows[rows["method"].isin(UBAYFS)]
    rows = _by_predictor(rows.assign(data=rows["data"].str.removesuffix(" (blocks)")))
    rows = rows.assign(selector=rows["method"].map(lambda method: look_of(method).label))
    found = changes(rows, F1, {"scenario": "standard"}, {"scenario": "block"}, _SIDES)
    return count(found, lambda one: one.rises, F1, f"rises with the limit on blocks {_BY}")


def trees_on_top(frames: Frames) -> Verdict:
    """Count the cells in which trees have the highest mean F1 of UBayFS's three."""
    rows, authors = _main(frames), _by_authors(frames)
    if rows.empty:
        return UNTESTED
    (n_for, n), beside = _trees_best(rows), ""
    if len(authors):
        beside = "; by the authors' protocol in {} of {}".format(*_trees_best(authors))
    paper = paper_table().query("measure in @_PREDICTORS and method in @UBAYFS")
    printed = paper.pivot_table("value", ["data", "scenario", "measure"], "method")
    n_printed = int((printed["ubayfs_tree"] == printed.max(axis=1)).sum())
    brief = f"trees have the highest F1 of UBayFS's three in {n_for} of {n} cells"
    words = (
        f"{sentence(brief)}{beside}; in the paper's tables in {n_printed} of {len(printed)}, ties included. HSIC is "
        "not in the paper's experiment 2."
    )
    return by_share(n_for, n, words, MOSTLY, brief)


def _trees_best(rows: pd.DataFrame) -> tuple[int, int]:
    best = _best(_by_predictor(rows), UBAYFS, F1).groupby("data", sort=False)["method"].first()
    return int((best == "ubayfs_tree").sum()), len(best)


def mixed_less_stable(frames: Frames) -> Verdict:
    """Compare mixed ensembles with the most stable of the three on the same splits."""
    mixed, single = _runs(frames, "mixed"), _main(frames)
    if mixed.empty or single.empty:
        return UNTESTED
    mixed, found = _named(mixed), list[Change]()
    shared = single.merge(mixed[["data", "split"]].drop_duplicates())
    means = [
        np.mean([stability_of(one).value for _, one in part.groupby("method")])
        for _, part in shared[shared["method"].isin(UBAYFS)].groupby("data")
    ]
    best = _best(shared, UBAYFS, STABILITY).assign(side="single")
    for n_models, part in mixed.groupby("n_models"):
        both = pd.concat([best, part.assign(side="mixed")]).assign(selector=f"mixed, {n_models:.0f} models")
        found += changes(both, STABILITY, {"side": "single"}, {"side": "mixed"}, _SIDES)
    says = f"of a mixed ensemble is below that of the most stable of the three {_BY}"
    verdict = count(found, lambda one: one.falls, STABILITY, says, enough=MOSTLY, way=-1)
    return replace(verdict, words=f"{verdict.words} The mean of the three is {np.mean(means):.2f}.")


def lambda_indifferent(frames: Frames) -> Verdict:
    """Compare F1 and stability with lambda above 1 and with 1, on the same evidence."""
    rows = _runs(frames, "strength")
    if rows.empty:
        return UNTESTED
    rows = _named(rows).assign(selector=rows["of"].map(lambda method: look_of(method).label))
    above = sorted(strength for strength in set(rows["strength"]) if strength > 1)
    f1 = _by_predictor(rows)
    parts = []
    for score, table in ((F1, f1), (STABILITY, rows)):
        found = [
            one
            for strength in above
            for one in changes(table, score, {"strength": 1.0}, {"strength": strength}, _SIDES)
        ]
        parts.append(count(found, lambda one: one.stays, score, "with lambda above 1 is that with 1", enough=MOSTLY))
    wide = rows.pivot_table("features", ["data", "selector", "split"], "strength", aggfunc="first")
    same = [f"{(wide[strength] == wide[1.0]).mean():.0%} with {strength:g}" for strength in above]
    low = rows[rows["strength"] < 1]
    every = (
        f" With 0.5, {(low['size'] == low['n_features']).mean():.0%} of the sets are all features." if len(low) else ""
    )
    verdict = together(parts)
    return replace(verdict, words=f"{verdict.words} The same set as with 1: {', '.join(same)}.{every}")


def soon_optimal(frames: Frames) -> Verdict:
    """Count the runs of the genetic algorithm that have the exact optimum after ten generations."""
    rows = _runs(frames, "generations")
    if rows.empty:
        return UNTESTED
    words, own = [], rows[rows["optimizer"] == "as in the scripts"]
    for (optimizer, scenario), part in rows.groupby(["optimizer", "scenario"], sort=False):
        at = part["generation"].astype(float)
        words.append(
            f"{optimizer}, {scenario}: {(at <= SOON).mean():.0%} by generation {SOON} ({(at == 0).mean():.0%} at the "
            f"start), {at.notna().mean():.0%} by the last"
        )
    n_for, n = int((own["generation"].astype(float) <= SOON).sum()), len(own)
    brief = f"started as in the scripts, {n_for} of {n} runs have the optimum by generation {SOON}"
    return by_share(n_for, n, f"{sentence(brief)}. {'; '.join(words)}.", 0.5, brief)


def columns_cost(frames: Frames) -> Verdict:
    """Fit seconds as powers of rows and columns, in our runs and in the paper's table."""
    runs = _runs(frames, "seconds")
    if runs.empty:
        return UNTESTED
    sizes = {name: (SOURCES[name].n_samples or 351, SOURCES[name].n_features) for name in DATA}
    paper = paper_table().query("measure == 'seconds'")
    paper = paper.assign(**{key: paper["data"].map(lambda one, i=i: sizes[one][i]) for i, key in enumerate(_SIZES)})
    powers, words = [], []
    for whose, table, column in (("ours", runs, "of"), ("the paper's table", paper, "method")):
        for method in UBAYFS:
            part = table[table[column] == method]
            rows, columns = powers_of(part.rename(columns={"value": "seconds"}) if column == "method" else part)
            powers.append(columns > rows)
            words.append(f"{look_of(method).label} ({whose}) rows^{rows:.2f} columns^{columns:.2f}")
    brief = f"the power of the columns is the larger one in {sum(powers)} of {len(powers)} fits"
    return by_share(sum(powers), len(powers), f"{sentence(brief)}: {'; '.join(words)}.", brief=brief)


_SIZES = ("rows", "columns")


def powers_of(table: pd.DataFrame) -> tuple[float, float]:
    """Return the powers of rows and columns that fit the seconds best (least squares of logarithms).

    Examples
    --------
    >>> sizes = pd.DataFrame({"rows": [1, 2, 1, 2], "columns": [1, 1, 3, 3]})
    >>> rows, columns = powers_of(sizes.assign(seconds=5 * sizes["rows"] * sizes["columns"] ** 2))
    >>> round(rows, 6), round(columns, 6)
    (1.0, 2.0)
    """
    logs = np.log(table[[*_SIZES, "seconds"]].astype(float).to_numpy())
    design = np.column_stack([np.ones(len(logs)), logs[:, :2]])
    _, rows, columns = np.linalg.lstsq(design, logs[:, 2], rcond=None)[0]
    return float(rows), float(columns)


def slower(frames: Frames) -> Verdict:
    """Compare the mean seconds of each of UBayFS's three with those of each competitor on the same data."""
    rows = _main(frames)
    if rows.empty:
        return UNTESTED
    n_for, n = _slower_pairs(rows.groupby(["data", "method"])["seconds"].mean().unstack())
    printed = paper_table().query("measure == 'seconds'").pivot_table("value", "data", "method")
    brief = f"UBayFS is the slower one in {n_for} of {n} pairs with a competitor"
    words = (
        f"{sentence(brief)}, with our own implementations of both; in the paper's table in {{}} of {{}}, and beside "
        "random forests alone in {} of {}."
    ).format(*_slower_pairs(printed), *_slower_pairs(printed, RIVALS[:1]))
    return by_share(n_for, n, words, MOSTLY, brief)


def _slower_pairs(seconds: pd.DataFrame, rivals: tuple[str, ...] = RIVALS) -> tuple[int, int]:
    """Return in how many pairs of the same data UBayFS takes longer, and of how many; one column per method."""
    pairs = [seconds[[own, one]].dropna() for own in UBAYFS for one in rivals if {own, one} <= set(seconds)]
    return sum(int((pair.iloc[:, 0] > pair.iloc[:, 1]).sum()) for pair in pairs), sum(map(len, pairs))


REAL_CLAIMS: tuple[tuple[str, Callable[[Frames], Verdict]], ...] = (
    ("UBayFS keeps up with its competitors in F1, or outperforms them.", keeps_up),
    ("UBayFS has a good trade-off between stability and predictive performance.", trade_off),
    ("Random forests are much less stable than UBayFS.", forest_unstable),
    ("UBayFS benefits from block constraints.", blocks_help),
    ("Of the elementary selectors, trees (and HSIC) have the top results.", trees_on_top),
    ("Ensembles that mix elementary selectors are less stable.", mixed_less_stable),
    ("Lambda has no great influence.", lambda_indifferent),
    ("In most cases the genetic algorithm reaches the optimum after about ten iterations.", soon_optimal),
    ("Columns, not rows, drive the run time of UBayFS.", columns_cost),
    ("UBayFS is slower than other feature selectors.", slower),
)
