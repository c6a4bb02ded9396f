"""The figures of experiment 2 as the paper prints them.

``paper.csv`` holds every number of the tables ``tab:exp2_results`` (a: logistic regression, b: support vector machine),
``tab:exp2_results_stab`` and ``tab:runtimes`` of Jenul et al. (2022), under the names that our tables use. Scores have
two decimals and are means over 10 splits; the paper gives no standard errors. The run times of UBayFS are those of
standard selection.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import pandas as pd

N_SPLITS = 10
DATA = ("BCW", "HD", "MPE", "COL", "LSVT", "p53", "PRO", "LEU")
METHODS = {
    "random_forest": "RF",
    "rent": "RENT",
    "group_lasso": "GL",
    "ubayfs_mrmr": "UBayFS M",
    "ubayfs_fisher": "UBayFS F",
    "ubayfs_tree": "UBayFS T",
}
KEY = ["data", "scenario", "method"]


@lru_cache(maxsize=1)
def _table() -> pd.DataFrame:
    # A data set or method called "NA" would be text: only empty fields are missing, and there are none.
    with (files(__package__) / "paper.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, keep_default_na=False)


def paper_table() -> pd.DataFrame:
    """Return the paper's figures.

    Returns
    -------
    table : DataFrame
        One row per number: ``table`` (its label in the paper), ``data``, ``scenario`` ("standard" or "block"),
        ``method``, ``measure`` ("f1_logistic", "f1_svm", "stability", "seconds") and ``value``.

    Examples
    --------
    >>> table = paper_table()
    >>> wanted = (table.data == "PRO") & (table.method == "ubayfs_tree") & (table.measure == "seconds")
    >>> table[wanted].value.item()
    708.0
    """
    return _table().copy()


def paper_value(data: str, scenario: str, method: str, measure: str) -> float:
    """Return one figure of the paper, nan where it has none.

    Examples
    --------
    >>> paper_value("LEU", "standard", "random_forest", "stability")
    0.07
    """
    table = _table()
    wanted = (
        (table["data"] == data)
        & (table["scenario"] == scenario)
        & (table["method"] == method)
        & (table["measure"] == measure)
    )
    return float(table.loc[wanted, "value"].iloc[0]) if wanted.any() else float("nan")
