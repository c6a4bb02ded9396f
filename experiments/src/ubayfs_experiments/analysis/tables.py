"""The tables of the report: every experiment aggregated, and the comparisons made from them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..claims.real import REAL_CLAIMS
from ..claims.sentences import CLAIMS
from ..data.catalogue import SOURCES
from ..designs.real_world import BLOCK
from .aggregate import PREDICTORS, aggregate, with_f1
from .differences import with_papers_class

NAMES = ("1a", "1a-draws", "1b", "1c", "1c-low", "1d", "2", "2-paper", "discussion", "causes", "optimizers", "controls")
_FEATURES = ("feature_f1", "redundancy")
_PREDICTIONS = tuple(f"{kind}_{name}" for name in PREDICTORS for kind in ("f1", "f1_other", "balanced"))
# Columns that tell the cells of an experiment apart, and its scores.
_CELLS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "1a": (("data", "method", "n_models"), _FEATURES),
    "1a-draws": (("data", "method", "n_models"), _FEATURES),
    "1b": (("data", "method", "n_models", "weighted", "weight"), _FEATURES),
    "1c": (("data", "method", "n_models", "constraint", "rho"), (*_FEATURES, "n_blocks", "most_per_block")),
    "1c-low": (("data", "method", "n_models", "constraint", "rho"), (*_FEATURES, "n_blocks", "most_per_block")),
    "1d": (("data", "method", "n_models", "prior", "decorrelate"), _FEATURES),
    "2": (("data", "scheme", "scenario", "variant", "method"), (*_PREDICTIONS, "n_blocks")),
    "2-paper": (("data", "scheme", "scenario", "variant", "method"), (*_PREDICTIONS, "n_blocks")),
    # Its kinds of runs have different settings; those of a run that has not all of them are fewer.
    "discussion": (
        ("data", "method", "scenario", "n_models", "strength", "optimizer", "rows", "columns", "selector"),
        (*_PREDICTIONS, "n_blocks", "generation", "loss", "feature_f1", "per_model"),
    ),
    "causes": (
        ("stands_for", "of", "scenario", "cause", "variant", "data", "scheme", "method"),
        (*_PREDICTIONS, "n_blocks"),
    ),
    "optimizers": (("data", "method", "problem", "optimizer"), ("value", "bound", "gap", "loss", "missed")),
    "controls": (("data", "scheme", "scenario", "method", "target"), _PREDICTIONS),
}
EXACT = "exact"
GUIDED = "genetic"
TO_THE_LETTER = "genetic, start to the letter"


def tidy(experiment: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell of an experiment, with means, standard errors, stability and seconds."""
    by, scores = _CELLS[experiment]
    scored = with_f1(frame)
    return aggregate(
        scored, [name for name in by if name in scored.columns], [score for score in scores if score in scored.columns]
    )


def claims_table(frames: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the paper's sentences on its experiments, and whether they hold in our tables.

    Returns
    -------
    table : DataFrame
        ``experiment``, ``claim``, ``verdict``, ``figures``; of the experiments that were run.
    """
    rows = []
    for claim in CLAIMS:
        frame = frames.get(claim.experiment, pd.DataFrame())
        if len(frame):
            found = claim.check(frame)
            rows.append((claim.experiment, claim.text, found.verdict, found.words))
    for text, rule in REAL_CLAIMS:
        found = rule(frames)
        if found.tested:
            rows.append(("2", text, found.verdict, found.words))
    return pd.DataFrame(rows, columns=["experiment", "claim", "verdict", "figures"])


def optimizer_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the genetic optimizers against the exact one, by data set and problem, all selectors together.

    Returns
    -------
    table : DataFrame
        ``data``, ``problem``, ``optimizer``, ``runs``, ``missed`` (share), ``loss_mean``, ``loss_max``,
        ``stability_exact``, ``stability`` (both means over selectors), ``seconds_exact``, ``seconds`` (medians).
    """
    cell = ["data", "problem", "optimizer"]
    runs = frame.groupby(cell, sort=False, as_index=False).agg(
        runs=("missed", "size"),
        missed=("missed", "mean"),
        loss_mean=("loss", "mean"),
        loss_max=("loss", "max"),
        seconds=("seconds", "median"),
    )
    sets = aggregate(frame, ["data", "method", "problem", "optimizer"], [])
    runs = runs.merge(sets.groupby(cell, as_index=False)["stability"].mean(), on=cell)
    exact = runs[runs["optimizer"] == EXACT].set_index(["data", "problem"])[["stability", "seconds"]]
    others = runs[runs["optimizer"] != EXACT].join(exact.add_suffix("_exact"), on=["data", "problem"])
    columns = [
        *cell,
        "runs",
        "missed",
        "loss_mean",
        "loss_max",
        "stability_exact",
        "stability",
        "seconds_exact",
        "seconds",
    ]
    return others[columns].reset_index(drop=True)


def control_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the balanced accuracy with the true and with a shuffled target.

    Returns
    -------
    table : DataFrame
        ``data``, ``scheme``, ``scenario``, ``method``, ``predictor``, ``n`` (splits), ``true``, ``true_se``,
        ``shuffled``, ``shuffled_se``, and ``z``, the distance of the shuffled one from 1/2 in standard errors.
    """
    cell = ["data", "scheme", "scenario", "method"]
    parts = []
    for predictor in ("logistic", "svm"):
        score = f"balanced_{predictor}"
        table = aggregate(with_f1(frame), [*cell, "target"], [score])
        wide = table.pivot(index=cell, columns="target", values=["n", f"{score}_mean", f"{score}_se"])
        part = pd.DataFrame(index=wide.index).assign(predictor=predictor)
        for target in ("true", "shuffled"):
            known = target in set(table["target"])
            part[target] = wide[f"{score}_mean", target] if known else np.nan
            part[f"{target}_se"] = wide[f"{score}_se", target] if known else np.nan
        part["n"] = wide[["n"]].max(axis=1).astype(int)
        parts.append(part.reset_index())
    both = pd.concat(parts, ignore_index=True)
    both = both.assign(z=(both["shuffled"] - 0.5) / both["shuffled_se"])
    return both[[*cell, "predictor", "n", "true", "true_se", "shuffled", "shuffled_se", "z"]]


def control_counts(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many figures of a shuffled target lie far from 1/2, and how many would by chance.

    Parameters
    ----------
    table : DataFrame
        From :func:`control_table`.

    Returns
    -------
    counts : DataFrame
        For ``beyond`` 2 and 3 standard errors: ``figures`` (that have a standard error), ``above`` and ``below`` 1/2,
        ``expected`` on each side, of a normal distribution.

    Examples
    --------
    >>> control_counts(pd.DataFrame({"z": [0.1] * 97 + [2.5, 3.1, -2.2]})).round(2)
       beyond  figures  above  below  expected
    0       2      100      2      1      2.28
    1       3      100      1      0      0.13
    """
    z = table["z"].dropna()
    rows = [
        (limit, len(z), int((z > limit).sum()), int((z < -limit).sum()), len(z) * math.erfc(limit / math.sqrt(2)) / 2)
        for limit in (2, 3)
    ]
    return pd.DataFrame(rows, columns=["beyond", "figures", "above", "below", "expected"])


def chosen_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how many features, and of how many blocks, every method of experiment 2 chose.

    Returns
    -------
    table : DataFrame
        ``data``, ``scheme``, ``scenario``, ``method``, ``n`` (splits), ``wanted`` (the paper's b_MS), ``size_mean``,
        ``size_min``, ``size_max``, ``wanted_blocks`` (b_BMS, of block selection), ``n_blocks_mean`` (nan without
        blocks), ``different_sets``.
    """
    cell = ["data", "scheme", "scenario", "method"]
    main = frame[frame["variant"] == "main"]
    table = main.assign(n_blocks=main["n_blocks"].astype(float) if "n_blocks" in main.columns else np.nan)
    table = table.groupby(cell, sort=False, as_index=False).agg(
        n=("size", "size"), size_mean=("size", "mean"), size_min=("size", "min"), size_max=("size", "max"),
        n_blocks_mean=("n_blocks", "mean"), different_sets=("features", "nunique"),
    )  # fmt: skip
    sources = [SOURCES.get(name) for name in table["data"]]
    blocks = [
        source.max_blocks if source is not None and scenario == BLOCK else None
        for source, scenario in zip(sources, table["scenario"], strict=True)
    ]
    table = table.assign(
        wanted=[np.nan if source is None else source.n_select for source in sources],
        wanted_blocks=[np.nan if one is None else one for one in blocks],
    )
    columns = ["n", "wanted", "size_mean", "size_min", "size_max", "wanted_blocks", "n_blocks_mean", "different_sets"]
    return table[[*cell, *columns]]


def scheme_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return F1 and stability under random splits and under splits by group, of data that have both.

    Returns
    -------
    table : DataFrame
        ``data``, ``scenario``, ``method``, and for each of ``f1_logistic``, ``f1_svm`` and ``stability`` the columns
        ``<measure>_random`` and ``<measure>_groups``, with the standard error ``<measure>_se_random`` ... of an F1 and
        the 95 % interval ``stability_low_random``, ``stability_high_random`` ... of a stability.
    """
    grouped = set(frame.loc[frame["scheme"] == "groups", "data"])
    rows = frame[frame["data"].isin(grouped)]
    return _side_by_side(rows, ["data", "scenario", "method"], "scheme", ("random", "groups"))


def leukemia_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same measures for the two leukemia data sets: the paper's source, half copies, and the sound data.

    F1 is that of one class, ALL, in both: y = 1 of LEU, y = 0 of LEU_golub. ``f1_other_logistic_<data>`` and
    ``f1_other_svm_<data>`` are F1 for AML.
    """
    rows = frame[frame["data"].isin(["LEU", "LEU_golub"]) & (frame["scheme"] == "random")]
    scores = ("f1_logistic", "f1_svm", "f1_other_logistic", "f1_other_svm")
    return _side_by_side(with_papers_class(rows), ["scenario", "method"], "data", ("LEU", "LEU_golub"), scores)


def _side_by_side(
    rows: pd.DataFrame,
    cell: list[str],
    by: str,
    kinds: Sequence[str],
    scores: Sequence[str] = ("f1_logistic", "f1_svm"),
) -> pd.DataFrame:
    measures = {score: f"{score}_mean" for score in scores} | {f"{score}_se": f"{score}_se" for score in scores}
    measures |= {name: name for name in ("stability", "stability_low", "stability_high")}
    columns = [*cell, *(f"{measure}_{kind}" for measure in measures for kind in kinds)]
    if set(rows[by]) < set(kinds):
        return pd.DataFrame(columns=columns)
    table = aggregate(with_f1(rows[rows["variant"] == "main"]), [*cell, by], scores)
    wide = table.pivot(index=cell, columns=by, values=list(measures.values()))
    found = {f"{measure}_{kind}": wide[column, kind] for measure, column in measures.items() for kind in kinds}
    return pd.DataFrame(found).reset_index()[columns]
