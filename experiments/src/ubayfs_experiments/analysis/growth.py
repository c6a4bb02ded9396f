"""Forecasts of prediction with more samples beside larger studies: the table of ``run growth``."""

from __future__ import annotations

import pandas as pd

from ..designs.growth import FACTORS


def growth_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return forecasts and the truth by how many times the samples there are.

    Parameters
    ----------
    frame : DataFrame
        All outcomes, of ``store.read_frames``.

    Returns
    -------
    table : DataFrame
        Columns factor, n_sets, gain and true_gain (over all samples), width and missed: the share of the data sets
        whose range misses the truth. Data sets of which no forecast can be made are left out.
    """
    frame = frame[frame["value 1"].notna()]
    rows = []
    for factor in FACTORS:
        value, low, high, true = (frame[f"{name} {factor:g}"] for name in ("value", "lower", "upper", "true"))
        rows.append(
            {
                "factor": factor,
                "n_sets": len(frame),
                "gain": (value - frame["value 1"]).mean(),
                "true_gain": (true - frame["true 1"]).mean(),
                "width": (high - low).mean(),
                "missed": ((true < low) | (true > high)).mean(),
            }
        )
    return pd.DataFrame(rows)
