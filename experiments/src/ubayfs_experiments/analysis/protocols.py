"""Every figure of the paper's experiment 2 beside the authors' protocol and ours, and why they differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..designs.protocol import PROTOCOL
from .differences import CELL, LIMIT, MEASURES, against, figures_of
from .paper import KEY, paper_table

BOTH, OURS, THEIRS, NEITHER = "both agree", "ours agrees", "theirs agrees", "neither agrees"
NOT_RUN = "not run"
_NOT_PUBLIC = "the authors' sample of p53 is not public"
NO_SCRIPT = "not in the authors' scripts"
_PAPERS = ["paper", "theirs", "theirs_n", "theirs_z", "ours", "ours_n", "ours_z"]


def protocol_table(authors: pd.DataFrame, comparison: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return one row per figure of the paper, run times excepted.

    Parameters
    ----------
    authors : DataFrame
        Rows of the experiment "2-paper".
    comparison : DataFrame
        From :func:`~ubayfs_experiments.analysis.differences.compare`.
    verdicts : DataFrame
        From :func:`~ubayfs_experiments.analysis.explanations.verdicts`.

    Returns
    -------
    table : DataFrame
        ``table``, ``data``, ``scenario``, ``method``, ``measure``; ``paper``; for the authors' protocol and ours the
        figure, its splits and its distance from the paper's in standard errors (``theirs``, ``theirs_n``,
        ``theirs_z``, ``ours``, ``ours_n``, ``ours_z``; nan where it was not run); ``agrees`` (which of them does) and
        ``cause`` of a difference of ours.
    """
    table = paper_table().rename(columns={"value": "paper"})
    table = table[table["measure"].isin(MEASURES)]
    table = table.merge(_theirs(authors, table), on=CELL, how="left")
    ours = comparison.rename(columns={"n": "ours_n", "z": "ours_z"})[[*CELL, "ours", "ours_n", "ours_z", "differs"]]
    table = table.merge(ours, on=CELL, how="left").merge(verdicts[[*CELL, "verdict"]], on=CELL, how="left")
    table["agrees"] = [_agreement(*row) for row in zip(table["theirs_z"], table["ours_z"], strict=True)]
    table["cause"] = [_cause(row) for row in table.to_dict("records")]
    return table[["table", *CELL, *_PAPERS, "agrees", "cause"]]


def _theirs(authors: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    columns = [*CELL, "theirs", "theirs_n", "theirs_z"]
    rows = authors[authors["variant"] == PROTOCOL] if len(authors) else authors
    found = pd.DataFrame(figures_of(rows, KEY, [(measure, measure) for measure in MEASURES]))
    if found.empty:
        return pd.DataFrame(columns=columns)
    both = against(found.merge(printed[[*CELL, "paper"]], on=CELL))
    return both.rename(columns={"ours": "theirs", "n": "theirs_n", "z": "theirs_z"})[columns]


def _agreement(theirs: float, ours: float) -> str:
    """Say which figures lie within two standard errors of the paper's.

    Examples
    --------
    >>> _agreement(0.1, 3.0), _agreement(float("nan"), 1.0)
    ('theirs agrees', 'ours agrees')
    """
    if pd.isna(ours):
        return NOT_RUN
    near = abs(ours) <= LIMIT, not pd.isna(theirs) and abs(theirs) <= LIMIT
    return {(True, True): BOTH, (True, False): OURS, (False, True): THEIRS, (False, False): NEITHER}[near]


def _cause(row: Mapping[Any, Any]) -> str:
    if row["agrees"] == NOT_RUN:
        return _NOT_PUBLIC if row["data"] == "p53" else NOT_RUN
    cause = "" if pd.isna(row["verdict"]) else str(row["verdict"])
    if cause and row["method"] == "rent":
        return f"{cause}; {NO_SCRIPT}"
    return cause


def agreement_counts(table: pd.DataFrame) -> pd.DataFrame:
    """Return by method how many figures were run by both protocols, and how many of them agree with the paper's.

    Parameters
    ----------
    table : DataFrame
        From :func:`protocol_table`.

    Returns
    -------
    counts : DataFrame
        ``method``; ``figures`` that both have, with a standard error; ``theirs``, ``ours``, ``either``: that agree.
    """
    both = table.dropna(subset=["theirs_z", "ours_z"])
    near = both.assign(theirs=both["theirs_z"].abs() <= LIMIT, ours=both["ours_z"].abs() <= LIMIT)
    near = near.assign(either=near["theirs"] | near["ours"], figures=1)
    return near.groupby("method", sort=False, as_index=False)[["figures", "theirs", "ours", "either"]].sum()
