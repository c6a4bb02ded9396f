"""From one row per split to one row per cell: means, standard errors, stability with interval, run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from ubayfs.exceptions import InputError
from ubayfs.metrics import Stability, stability

PREDICTORS = ("logistic", "svm", "logistic_irls", "svm_radial")
_COUNTS = ("tp", "fp", "fn", "tn")
_UNDEFINED = Stability(np.nan, np.nan, np.nan, np.nan)


def aggregate(frame: pd.DataFrame, by: Sequence[str], scores: Sequence[str]) -> pd.DataFrame:
    """Return one row per cell of a table with one row per split.

    Parameters
    ----------
    frame : DataFrame
        With the columns of `by` and `scores`, and ``split``, ``features``, ``n_features``, ``size``, ``seconds``.
    by : sequence of str
        Columns that together tell cells apart: every split may occur once per cell.
    scores : sequence of str

    Returns
    -------
    table : DataFrame
        In the order in which cells occur: the columns of `by`; ``n``, splits; for each score ``<score>_mean``,
        ``<score>_sd`` and ``<score>_se`` of the splits that have a value; ``stability`` with its 95 % interval
        ``stability_low``, ``stability_high`` and its variance, nan for fewer than two splits; ``size_mean``,
        ``seconds_mean``, ``seconds_sd``, ``seconds_median`` and the quartiles ``seconds_q1`` and ``seconds_q3``.

    Examples
    --------
    >>> rows = {"method": ["a", "a"], "split": [0, 1], "features": [(0, 1), (0, 2)], "n_features": [4, 4],
    ...         "size": [2, 2], "seconds": [1.0, 3.0], "f1": [0.5, 0.7]}
    >>> table = aggregate(pd.DataFrame(rows), by=["method"], scores=["f1"])
    >>> table[["method", "n", "f1_mean", "f1_se", "stability", "seconds_mean"]].round(3)
      method  n  f1_mean  f1_se  stability  seconds_mean
    0      a  2      0.6    0.1        0.0           2.0
    """
    by, scores = list(by), list(scores)
    repeated = frame.duplicated([*by, "split"])
    if repeated.any():
        split = frame.loc[repeated, "split"].iloc[0]
        raise InputError(
            f"by must name every column that tells cells apart; with {by}, split {split} occurs twice in one cell."
        )
    # As arrays: parts of a table are slow to cut out.
    columns = {name: frame[name].to_numpy() for name in (*scores, "features", "n_features", "size", "seconds")}
    places = _places(frame, by)
    keys = frame[by].iloc[[at[0] for at in places]].to_dict("records")
    cells = [
        key | _cell({name: column[at] for name, column in columns.items()}, scores)
        for key, at in zip(keys, places, strict=True)
    ]
    return pd.DataFrame(cells, columns=[*by, *_columns(scores)])


def _places(frame: pd.DataFrame, by: list[str]) -> list[NDArray[np.intp]]:
    """Return the positions of the rows of each cell, in the order in which cells occur."""
    cell = frame.groupby(by, sort=False, dropna=False, observed=True).ngroup().to_numpy()
    order = np.argsort(cell, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(cell[order])) + 1) if len(frame) else []


def _columns(scores: Sequence[str]) -> list[str]:
    return [
        "n",
        *(f"{score}_{part}" for score in scores for part in ("mean", "sd", "se")),
        *("stability", "stability_low", "stability_high", "stability_variance"),
        *("size_mean", "seconds_mean", "seconds_sd", "seconds_median", "seconds_q1", "seconds_q3"),
    ]


def _cell(rows: Mapping[str, NDArray[Any]], scores: Sequence[str]) -> dict[str, Any]:
    cell: dict[str, Any] = {"n": len(rows["seconds"])}
    for score in scores:
        mean, spread, count = _moments(rows[score])
        cell |= {f"{score}_mean": mean, f"{score}_sd": spread, f"{score}_se": spread / np.sqrt(count)}
    found = stability_of(rows)
    seconds = np.asarray(rows["seconds"], dtype=float)
    q1, q3 = np.quantile(seconds, (0.25, 0.75))
    cell |= {
        "stability": found.value,
        "stability_low": found.lower,
        "stability_high": found.upper,
        "stability_variance": found.variance,
        "size_mean": rows["size"].mean(),
        "seconds_mean": _moments(seconds)[0],
        "seconds_sd": _moments(seconds)[1],
        "seconds_median": np.median(seconds),
        "seconds_q1": q1,
        "seconds_q3": q3,
    }
    return cell


def _moments(column: Any) -> tuple[float, float, int]:
    """Return mean, standard deviation and number of the values that are there; nan where there are too few of them."""
    values = np.asarray(column, dtype=float)
    values = values[~np.isnan(values)]
    n = len(values)
    return values.mean() if n else np.nan, values.std(ddof=1) if n > 1 else np.nan, max(n, 1)


def stability_of(rows: pd.DataFrame | Mapping[str, Any]) -> Stability:
    """Return the stability of the sets in the column ``features``; all nan for fewer than two of them."""
    sets = list(rows["features"])
    if len(sets) < 2:
        return _UNDEFINED
    widths = set(rows["n_features"])
    if len(widths) > 1:
        raise InputError(f"the sets of one cell must be of the same data; got data of {sorted(widths)} features.")
    lengths = [len(one) for one in sets]
    columns = np.fromiter((feature for one in sets for feature in one), dtype=np.intp, count=sum(lengths))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    chosen = sparse.csr_array((np.ones(len(columns)), columns, starts), shape=(len(sets), int(widths.pop())))
    return stability(chosen)


def with_f1(frame: pd.DataFrame) -> pd.DataFrame:
    """Add scores of the predictors whose counts ``<P>_tp``, ``<P>_fp``, ``<P>_fn``, ``<P>_tn`` are in a table.

    Parameters
    ----------
    frame : DataFrame

    Returns
    -------
    frame : DataFrame
        With ``f1_<P>``, ``f1_other_<P>`` (class 0 as the positive one) and ``balanced_<P>`` (balanced accuracy). F1 is
        0 without true positives; balanced accuracy is nan where a class has no row.

    Examples
    --------
    >>> counts = pd.DataFrame({"svm_tp": [6], "svm_fp": [2], "svm_fn": [2], "svm_tn": [2]})
    >>> with_f1(counts)[["f1_svm", "f1_other_svm", "balanced_svm"]]
       f1_svm  f1_other_svm  balanced_svm
    0    0.75           0.5         0.625
    """
    added: dict[str, Any] = {}
    for predictor in PREDICTORS:
        names = [f"{predictor}_{count}" for count in _COUNTS]
        if not set(names) <= set(frame.columns):
            continue
        tp, fp, fn, tn = (frame[name].astype(float) for name in names)
        added[f"f1_{predictor}"] = _f1(tp, fp + fn)
        added[f"f1_other_{predictor}"] = _f1(tn, fp + fn)
        with np.errstate(invalid="ignore"):
            added[f"balanced_{predictor}"] = (tp / (tp + fn) + tn / (tn + fp)) / 2.0
    return frame.assign(**added)


def _f1(hits: pd.Series, errors: pd.Series) -> pd.Series:
    # Without hits and errors, 0 / 0, there was no row of the class; nan counts stay nan.
    return (2.0 * hits / (2.0 * hits + errors)).mask((hits == 0.0) & errors.notna(), 0.0)
