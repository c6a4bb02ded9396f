"""Rules that turn a table of experiment 1 into a verdict on a sentence: changes between settings, and counts of them.

A change is judged by its standard error. Scores are compared split by split, on the same rows and, but for the number
of models, on the same evidence. The stability of a cell is one figure; its variance is that of Nogueira et al., and the
two cells are treated as independent although they share their splits, which makes the rule cautious. Splits of the
same data overlap, so that two standard errors are a yardstick and no exact test.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..analysis.aggregate import stability_of

N_ERRORS = 2.0
"""A difference of more than this many standard errors is a difference."""
SLIGHT = 0.1
"""A change of a score or a stability of at most this much is slight."""
MOSTLY = 0.75
"""What is said of "mostly" or "slightly" must be so in this share of the cells."""
F1, STABILITY = "feature_f1", "stability"
ATTAINED = "attained"
WORDS = {
    F1: "F1",
    "redundancy": "redundancy rate",
    STABILITY: "stability",
    ATTAINED: "the share of the attainable F1",
}
_AGAINST = "Not so: "


@dataclass(frozen=True)
class Verdict:
    """What our table says of a sentence.

    Attributes
    ----------
    holds : bool or None
        None: in part, or not tested.
    words : str
        The figures.
    tested : bool
        False if the table lacks the cells that the rule needs.
    brief : str
        The count alone, as a part of a sentence.
    """

    holds: bool | None
    words: str
    tested: bool = True
    brief: str = ""

    @property
    def verdict(self) -> str:
        """The verdict in words.

        Examples
        --------
        >>> Verdict(None, "in 5 of 7 cells").verdict
        'holds in part'
        """
        if not self.tested:
            return "not tested"
        return {True: "holds", None: "holds in part", False: "does not hold"}[self.holds]


UNTESTED = Verdict(None, "The table lacks the cells that this needs.", tested=False)


def by_share(n_for: int, n: int, words: str, enough: float = 1.0, brief: str = "") -> Verdict:
    """Judge a sentence by the cells that agree: it holds if the share `enough` does, in part if half of them do.

    Examples
    --------
    >>> [by_share(n, 4, "").verdict for n in (4, 2, 1)]
    ['holds', 'holds in part', 'does not hold']
    """
    return Verdict(True if n_for >= enough * n else None if 2 * n_for >= n else False, words, brief=brief)


def together(parts: Sequence[Verdict]) -> Verdict:
    """Join verdicts: all of them hold, or none, or a part.

    Examples
    --------
    >>> together([Verdict(True, "F1 stays."), Verdict(False, "Stability falls.")])
    Verdict(holds=None, words='F1 stays. Stability falls.', tested=True, brief='')
    """
    if not parts or not all(part.tested for part in parts):
        return UNTESTED
    holds = {part.holds for part in parts}
    words, brief = " ".join(part.words for part in parts), ", ".join(part.brief for part in parts if part.brief)
    return Verdict(holds.pop() if len(holds) == 1 else None, words, brief=brief)


def shortened(words: str, most: int = 3) -> str:
    """Cut the lists of cells against a sentence, which begin with the largest difference.

    Examples
    --------
    >>> shortened("Rises in 1 of 5. Not so: a 0.1; b 0.2; c 0.3; d 0.4. More.", most=2)
    'Rises in 1 of 5. Not so: a 0.1; b 0.2; and 2 more (tables/claims.csv). More.'
    """

    def cut(found: re.Match[str]) -> str:
        cells = found[1].split("; ")
        rest = len(cells) - most
        return found[0] if rest <= 0 else f"{_AGAINST}{'; '.join(cells[:most])}; and {rest} more (tables/claims.csv)"

    # A list ends with its sentence; the points within it are those of numbers.
    return re.sub(rf"{_AGAINST}(.*?)(?=\.(?: |$))", cut, words)


@dataclass(frozen=True)
class Change:
    """A score of one cell under two settings.

    Attributes
    ----------
    cell : str
        In words: ``"hsic (M = 5) on blocks"``.
    before, after : float
    error : float
        Standard error of the difference; nan when there are too few splits to tell.
    """

    cell: str
    before: float
    after: float
    error: float

    @property
    def difference(self) -> float:
        """What the second setting adds."""
        return self.after - self.before

    @property
    def rises(self) -> bool:
        """Whether the score is higher after, by more than two standard errors."""
        return self.difference > N_ERRORS * self.error

    @property
    def falls(self) -> bool:
        """Whether the score is lower after, by more than two standard errors."""
        return -self.difference > N_ERRORS * self.error

    @property
    def stays(self) -> bool:
        """Whether there are a difference and an error to judge, and it neither rises nor falls."""
        return abs(self.difference) <= N_ERRORS * self.error

    def __str__(self) -> str:
        return f"{self.cell} {self.before:.2f} to {self.after:.2f} ({self.difference:+.3f}, error {self.error:.3f})"


def changes(
    frame: pd.DataFrame,
    score: str,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    by: Sequence[str] = ("data", "selector", "n_models"),
) -> list[Change]:
    """Compare two settings in every cell that has both.

    Parameters
    ----------
    frame : DataFrame
        One row per task, split and setting.
    score : str
        A column, or ``"stability"``.
    before, after : mapping of column to value
        The settings.
    by : sequence of str
        Columns that together with a setting tell cells apart.
    """
    needed = ["features", "n_features"] if score == STABILITY else ["split", score]
    firsts, seconds = (
        dict(iter(_where(frame, one)[[*by, *needed]].groupby(list(by), sort=False))) for one in (before, after)
    )
    compare = _of_stability if score == STABILITY else partial(_paired, score)
    return [
        Change(_in_words(dict(zip(by, key, strict=True))), *compare(firsts[key], seconds[key]))
        for key in dict.fromkeys(zip(*(frame[column] for column in by), strict=True))
        if key in firsts and key in seconds
    ]


def _where(rows: pd.DataFrame, setting: Mapping[str, Any]) -> pd.DataFrame:
    for column, value in setting.items():
        rows = rows[rows[column] == value]
    return rows


def _paired(score: str, first: pd.DataFrame, second: pd.DataFrame) -> tuple[float, float, float]:
    assert first["split"].is_unique, "a split occurs twice in one cell"
    assert second["split"].is_unique, "a split occurs twice in one cell"
    _, *shared = np.intersect1d(first["split"], second["split"], assume_unique=True, return_indices=True)
    pairs = [rows[score].to_numpy(dtype=float)[at] for rows, at in zip((first, second), shared, strict=True)]
    before, after = np.array(pairs)[:, ~np.isnan(pairs).any(axis=0)]
    n = len(before)
    error = float(np.std(after - before, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return float(before.mean()) if n else math.nan, float(after.mean()) if n else math.nan, error


def _of_stability(first: pd.DataFrame, second: pd.DataFrame) -> tuple[float, float, float]:
    before, after = stability_of(first), stability_of(second)
    return before.value, after.value, math.sqrt(before.variance + after.variance)


def _in_words(cell: Mapping[str, Any]) -> str:
    models = f" (M = {cell['n_models']})" if "n_models" in cell else ""
    rest = [str(value) for column, value in cell.items() if column in ("prior", "constraint")]
    if "decorrelate" in cell:
        rest.append("decorrelated" if cell["decorrelate"] else "plain")
    return ", ".join([f"{cell['selector']}{models} on {cell['data']}", *rest])


def count(
    found: Sequence[Change],
    rule: Callable[[Change], bool],
    score: str,
    says: str,
    *,
    enough: float = 1.0,
    way: int = 0,
) -> Verdict:
    """Judge a sentence by the share of cells in which a rule holds.

    Parameters
    ----------
    found : sequence of Change
    rule : callable
        Change -> whether the sentence holds there.
    score : str
    says : str
        The rule in words.
    enough : float
        Less than all cells where the sentence says "mostly" or "slightly"; see :func:`by_share`.
    way : {-1, 0, 1}
        Down or up. If the way is right in enough cells, but the change is larger than the "slightly" of the sentence or
        not beyond two standard errors, the sentence holds in part.
    """
    if not found:
        return UNTESTED
    against = [one for one in found if not rule(one)]
    n, n_for = len(found), len(found) - len(against)
    differences = [one.difference for one in found]
    sides = "; ".join(
        f"{side} in {sum(sign * one > 0 for one in differences)}, beyond two standard errors in {beyond}"
        for side, sign, beyond in (
            ("higher", 1, sum(one.rises for one in found)), ("lower", -1, sum(one.falls for one in found)),
        )
    )  # fmt: skip
    brief = f"{WORDS[score]} {says} in {n_for} of {n} cells"
    words = (
        f"{brief}; the mean over cells goes from {_mean(found, 'before'):.2f} to {_mean(found, 'after'):.2f}; {sides}."
    )
    if against:
        against.sort(key=lambda one: -math.inf if math.isnan(one.difference) else abs(one.difference), reverse=True)
        words += f" {_AGAINST}{'; '.join(map(str, against))}."
    verdict = by_share(n_for, n, sentence(words), enough, brief)
    if way and verdict.holds is False and sum(way * one > 0 for one in differences) >= enough * n:
        return replace(verdict, holds=None)
    return verdict


def sentence(words: str) -> str:
    """Begin words as a sentence; ``str.capitalize`` would make the rest small."""
    return words[:1].upper() + words[1:]


def slight_fall(one: Change) -> bool:
    """Whether a score falls, and by little."""
    # By the figure alone: with ten splits a slight change is seldom beyond two standard errors. Those are told apart.
    return -SLIGHT <= one.difference < 0


def slight_rise(one: Change) -> bool:
    """Whether a score rises, and by little."""
    return 0 < one.difference <= SLIGHT


def _mean(found: Sequence[Change], side: str) -> float:
    values = [getattr(one, side) for one in found if not math.isnan(one.difference)]
    return sum(values) / len(values) if values else math.nan
