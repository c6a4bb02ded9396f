"""The tables of the report: every experiment aggregated, and the comparisons made from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .aggregate import PREDICTORS, aggregate, with_f1
from .claims import CLAIMS

NAMES = ("1a", "1b", "1c", "1d", "2", "causes", "optimizers", "controls")
_FEATURES = ("feature_f1", "redundancy")
_PREDICTIONS = tuple(f"{kind}_{name}" for name in PREDICTORS for kind in ("f1", "f1_other", "balanced"))
# Columns that tell the cells of an experiment apart, and its scores.
_CELLS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "1a": (("data", "method", "n_models"), _FEATURES),
    "1b": (("data", "method", "n_models", "weighted", "weight"), _FEATURES),
    "1c": (("data", "method", "n_models", "constraint", "rho"), (*_FEATURES, "n_blocks", "most_per_block")),
    "1d": (("data", "method", "n_models", "prior", "decorrelate"), _FEATURES),
    "2": (("data", "scheme", "scenario", "variant", "method"), (*_PREDICTIONS, "n_blocks")),
    "causes": (
        ("stands_for", "of", "scenario", "cause", "variant", "data", "scheme", "method"),
        (*_PREDICTIONS, "n_blocks"),
    ),
    "optimizers": (("data", "method", "problem", "optimizer"), ("value", "bound", "gap", "loss", "missed")),
    "controls": (("data", "scheme", "scenario", "method", "target"), _PREDICTIONS),
}
EXACT = "exact"


def tidy(experiment: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell of an experiment, with means, standard errors, stability and seconds."""
    by, scores = _CELLS[experiment]
    scored = with_f1(frame)
    return aggregate(scored, by, [score for score in scores if score in scored.columns])


def claims_table(frames: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the paper's sentences on experiment 1, and whether they hold in our tables.

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
        part["n"] = wide["n"].max(axis=1).astype(int)
        parts.append(part.reset_index())
    both = pd.concat(parts, ignore_index=True)
    both = both.assign(z=(both["shuffled"] - 0.5) / both["shuffled_se"])
    return both[[*cell, "predictor", "n", "true", "true_se", "shuffled", "shuffled_se", "z"]]


def scheme_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return F1 and stability under random splits and under splits by group, of data that have both.

    Returns
    -------
    table : DataFrame
        ``data``, ``scenario``, ``method``, and for each of ``f1_logistic``, ``f1_svm`` and ``stability`` the columns
        ``<measure>_random`` and ``<measure>_groups``.
    """
    grouped = set(frame.loc[frame["scheme"] == "groups", "data"])
    return _side_by_side(
        frame[frame["data"].isin(grouped)], ["data", "scenario", "method"], "scheme", ("random", "groups")
    )


def leukemia_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same measures for the two leukemia data sets: the paper's source, half copies, and the sound data."""
    rows = frame[frame["data"].isin(["LEU", "LEU_golub"]) & (frame["scheme"] == "random")]
    return _side_by_side(rows, ["scenario", "method"], "data", ("LEU", "LEU_golub"))


def _side_by_side(rows: pd.DataFrame, cell: list[str], by: str, kinds: Sequence[str]) -> pd.DataFrame:
    measures = {"f1_logistic": "f1_logistic_mean", "f1_svm": "f1_svm_mean", "stability": "stability"}
    columns = [*cell, *(f"{measure}_{kind}" for measure in measures for kind in kinds)]
    if set(rows[by]) < set(kinds):
        return pd.DataFrame(columns=columns)
    main = with_f1(rows[rows["variant"] == "main"])
    table = aggregate(main, [*cell, by], ["f1_logistic", "f1_svm"])
    wide = table.pivot(index=cell, columns=by, values=list(measures.values()))
    found = {f"{measure}_{kind}": wide[column, kind] for measure, column in measures.items() for kind in kinds}
    return pd.DataFrame(found).reset_index()[columns]
