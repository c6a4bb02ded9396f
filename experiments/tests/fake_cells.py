"""Hand-made cells of experiment 2, and of the paper."""

import numpy as np
import pandas as pd


def rows(n, data="PRO", method="ubayfs_mrmr", right=lambda i: 8, scheme="random", scenario="standard", **columns):
    """Return a cell of experiment 2 whose F1 in split i is that of `right(i)` hits of 10 in both classes."""
    frame = pd.DataFrame(
        {
            "experiment": "2", "data": data, "scheme": scheme, "method": method, "split": range(n), "n_features": 6,
            "features": [(0, 1) if i % 3 else (0, 2) for i in range(n)], "size": 2, "seconds": 0.5,
            "scenario": scenario, "variant": "main",
        }
    )  # fmt: skip
    hits = np.array([right(i) for i in range(n)])
    for predictor in ("logistic", "svm", "logistic_irls", "svm_radial"):
        counts = {"tp": hits, "fn": 10 - hits, "fp": 10 - hits, "tn": hits}
        frame = frame.assign(**{f"{predictor}_{name}": values for name, values in counts.items()})
    return frame.assign(**columns)


def printed(*cells):
    return pd.DataFrame([{"table": "t", "scenario": "standard", "method": "ubayfs_mrmr", **cell} for cell in cells])


def cell(data="PRO", measure="f1_logistic", value=0.5, **more):
    return {"data": data, "measure": measure, "value": value, **more}


EMPTY = pd.DataFrame()
