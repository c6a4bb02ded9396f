"""Rules for what the paper says of block constraints (experiment 1c)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from ..data.synthetic import generate
from ..designs.simulation import CONSTRAINTS_GRID
from .rules import ATTAINED, F1, MOSTLY, SLIGHT, UNTESTED, Verdict, changes, count, slight_fall

NEAR = 0.9
"""A share of the attainable F1 of at least this much of that without the constraint is near the best."""


def slightly_lower(constraint: str, score: str, frame: pd.DataFrame) -> Verdict:
    """Require a slight fall under the hard constraint, in most cells."""
    setting = {"constraint": constraint}
    found = changes(frame, score, {**setting, "rho": "0"}, {**setting, "rho": "inf"})
    says = f"falls by at most {SLIGHT} with the hard constraint"
    verdict = count(found, slight_fall, score, says, enough=MOSTLY, way=-1)
    if verdict.tested and best_f1(constraint) == 1.0:
        note = " The truth itself, 16 features of four blocks, keeps this constraint, against what the paper says."
        return replace(verdict, words=verdict.words + note)
    return verdict


def near_best(frame: pd.DataFrame) -> Verdict:
    """Compare F1 as a share of what a set can reach, without and with a hard constraint that the truth breaks."""
    best = {one: best_f1(one) for one in CONSTRAINTS_GRID}
    best = {one: value for one, value in best.items() if value < 1.0}
    rows = frame[frame["constraint"].isin(list(best))]
    if rows.empty:
        return UNTESTED
    reach = rows["constraint"].map(best).where(rows["rho"] == "inf", 1.0).astype(float)
    by = ("data", "selector", "n_models", "constraint")
    found = changes(rows.assign(**{ATTAINED: rows[F1] / reach}), ATTAINED, {"rho": "0"}, {"rho": "inf"}, by)
    says = f"stays at {NEAR:.0%} or more of what it is without the constraint"
    verdict = count(found, lambda one: one.after >= NEAR * one.before, ATTAINED, says)
    if not verdict.tested:
        return verdict
    limits = ", ".join(f"{value:.2f} under {one}" for one, value in best.items())
    return replace(verdict, words=f"The best F1 that a set of 16 can reach is 1 without and {limits}. {verdict.words}")


def best_f1(constraint: str) -> float:
    """Return the best F1 that a set of the block data can reach under a constraint of experiment 1c.

    Examples
    --------
    >>> best_f1("max_per_block 2"), best_f1("max_blocks 4")
    (0.5, 1.0)
    """
    return attainable_f1(constraint, *_truth())


def attainable_f1(constraint: str, relevant: Sequence[int], n_select: int) -> float:
    """Return the best F1 of sets of a given size under a constraint.

    Parameters
    ----------
    constraint : str
        "max_per_block 2": at most 2 features of each block; "max_blocks 2": features of at most 2 blocks.
    relevant : sequence of int
        Number of relevant features in each block. Blocks do not overlap, and are so large that a set of this size
        under the constraint exists.
    n_select : int
        Size of the sets.

    Examples
    --------
    >>> attainable_f1("max_blocks 1", relevant=[3, 1, 0], n_select=4)
    0.75
    """
    kind, bound = constraint.split()
    limit = int(bound)
    most = [min(n, limit) for n in relevant] if kind == "max_per_block" else sorted(relevant, reverse=True)[:limit]
    return 2.0 * min(sum(most), n_select) / (n_select + sum(relevant))


@cache
def _truth() -> tuple[tuple[int, ...], int]:
    """Return the relevant features of each block, which differ between seeds by their order alone, and the size."""
    dataset = generate("blocks", seed=0)
    assert dataset.blocks is not None
    assert dataset.relevant is not None
    truth = np.isin(np.arange(dataset.X.shape[1]), dataset.relevant).astype(np.int64)
    per_block = dataset.blocks.matrix(dataset.feature_names).astype(np.int64) @ truth
    return tuple(int(n) for n in per_block), dataset.source.n_select
