"""Rules for what the paper says of the number of elementary models (experiment 1a, and M = 5 of HSIC and RFE)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..analysis.aggregate import aggregate
from ..designs.simulation import N_MODELS, N_MODELS_SLOW
from .rules import F1, STABILITY, UNTESTED, WORDS, Change, Verdict, by_share, changes, count, sentence, together

ALMOST_ALL = 0.9
"""A mean F1 of at least this much finds almost all features."""
LINEAR = (0.75, 1.25)
"""Seconds grow as a power of the number of models; this is linear."""
# "Simpler" than HSIC; the paper runs RFE, like HSIC, with few models only.
SIMPLE = ("mrmr", "fisher", "tree", "lasso")


def linear_time(frame: pd.DataFrame) -> Verdict:
    """Fit seconds as a power of M from 50 models on, where the fixed cost of a run no longer matters."""
    table = aggregate(frame[frame["n_models"] >= 50], ["data", "selector", "n_models"], [])
    powers, words = [], []
    for (data, selector), rows in table.groupby(["data", "selector"], sort=False):
        if len(rows) < 3:
            continue
        power = float(np.polyfit(np.log(rows["n_models"]), np.log(rows["seconds_median"]), 1)[0])
        powers.append(power)
        last = rows.iloc[-1]
        words.append(f"{selector} on {data} M^{power:.2f}, {last['seconds_median']:.2g} s at M = {last['n_models']}")
    if not powers:
        return UNTESTED
    n = sum(LINEAR[0] <= power <= LINEAR[1] for power in powers)
    brief = f"median seconds grow as a power between {LINEAR[0]} and {LINEAR[1]} in {n} of {len(powers)} cells"
    return by_share(n, len(powers), f"{sentence(brief)}: {'; '.join(words)}.", brief=brief)


def saturates(score: str, frame: pd.DataFrame) -> Verdict:
    """Require a rise from one model to 50, and none from 100 to 200."""
    cells = ("data", "selector")
    early = changes(frame, score, {"n_models": 1}, {"n_models": 50}, cells)
    late = {one.cell: one for one in changes(frame, score, {"n_models": 100}, {"n_models": 200}, cells)}
    both = [one for one in early if one.cell in late]
    if not both:
        return UNTESTED
    level = [one for one in both if not late[one.cell].rises]
    gained = [one for one in level if one.rises]
    brief = (
        f"{WORDS[score]} no longer rises from M = 100 to 200 in {len(level)} of {len(both)} cells, and rose from M = 1 "
        f"to 50 in {len(gained)} of these"
    )
    words = f"{sentence(brief)}, in the others not beyond two standard errors. "
    words += "; ".join(
        f"{one.cell} {one.before:.2f} (M = 1), {one.after:.2f} (50), {late[one.cell].before:.2f} (100), "
        f"{late[one.cell].after:.2f} (200)"
        for one in both
    )
    holds = len(gained) == len(both)
    return Verdict(True if holds else None if 2 * len(level) >= len(both) else False, f"{words}.", brief=brief)


def hsic_finds(data: str, frame: pd.DataFrame) -> Verdict:
    """Require F1 >= 0.9 of HSIC with 5 models, and every simple selector below it at its best number of models."""
    against = _against_hsic(frame[frame["data"] == data], F1)
    if not against:
        return UNTESTED
    level = _level(frame[frame["data"] == data], F1)
    lower, words = _told(against, F1, level)
    if level < ALMOST_ALL:
        return Verdict(False, words, brief=words[:-1])
    return Verdict(True if lower == len(against) else None, words, brief=words[:-1])


def hsic_over_draws(data: str, frame: pd.DataFrame) -> Verdict:
    """Require the same over many draws of the data, with 100 models of the simple selectors, draw by draw."""
    rows = frame[frame["data"] == data]
    hsic = rows[rows["selector"] == "hsic"]
    if hsic.empty:
        return UNTESTED
    found = []
    for selector in (name for name in SIMPLE if name in set(rows["selector"])):
        pair = rows.assign(side=rows["selector"])[rows["selector"].isin(["hsic", selector])].assign(selector=selector)
        found += changes(pair, F1, {"side": "hsic"}, {"side": selector}, ("data", "selector"))
    level, spread = hsic[F1].mean(), hsic[F1].std()
    verdict = count(found, lambda one: one.falls, F1, "is below that of hsic")
    words = f"Over {len(hsic)} draws F1 of hsic is {level:.2f} (standard deviation {spread:.2f}). {verdict.words}"
    holds = verdict.holds if level >= ALMOST_ALL else False
    return Verdict(holds, words, brief=verdict.brief)


def hsic_stabler(data: str, frame: pd.DataFrame) -> Verdict:
    """Require every simple selector, at its most stable number of models, to be less stable than HSIC with 5."""
    rows = frame[frame["data"] == data]
    against = _against_hsic(rows, STABILITY)
    if not against:
        return UNTESTED
    lower, words = _told(against, STABILITY, _level(rows, STABILITY))
    return by_share(lower, len(against), words, brief=words[:-1])


def _figure(score: str) -> str:
    return score if score == STABILITY else f"{score}_mean"


def _few_hsic(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[(rows["selector"] == "hsic") & (rows["n_models"] == N_MODELS_SLOW)]


def _level(rows: pd.DataFrame, score: str) -> float:
    scores = [] if score == STABILITY else [score]
    return float(aggregate(_few_hsic(rows), ["selector"], scores)[_figure(score)].iloc[0])


def _against_hsic(rows: pd.DataFrame, score: str) -> list[Change]:
    """Compare HSIC with 5 models (before) with each simple selector at its best number of models (after)."""
    reference = _few_hsic(rows).assign(side="hsic")
    table = aggregate(rows[rows["selector"].isin(SIMPLE)], ["selector", "n_models"], [score] if score == F1 else [])
    table = table.dropna(subset=[_figure(score)])
    if reference.empty or table.empty:
        return []
    best = table.loc[table.groupby("selector", sort=False)[_figure(score)].idxmax()]
    found = []
    for selector, n_models in zip(best["selector"], best["n_models"], strict=True):
        own = rows[(rows["selector"] == selector) & (rows["n_models"] == n_models)].assign(side="simple")
        pair = pd.concat([reference, own]).assign(selector=selector, n_models=n_models)
        found += changes(pair, score, {"side": "hsic"}, {"side": "simple"})
    return found


def _told(against: list[Change], score: str, level: float) -> tuple[int, str]:
    lower = sum(one.falls for one in against)
    words = (
        f"{sentence(WORDS[score])} of hsic with {N_MODELS_SLOW} models is {level:.2f}; at their best number of models: "
    )
    words += ", ".join(f"{one.cell} {one.after:.2f}" for one in against)
    words += f"; {lower} of {len(against)} simpler selectors are below hsic by more than two standard errors."
    return lower, words


def five_enough(frame: pd.DataFrame, **fixed: Any) -> Verdict:
    """Require that neither F1 nor stability is higher with 100 models than with 5."""
    rows = frame
    for column, value in fixed.items():
        rows = rows[rows[column] == value]
    few, many = {"n_models": N_MODELS_SLOW}, {"n_models": N_MODELS}
    return together(
        [
            count(
                changes(rows, score, few, many, ("data", "selector")),
                lambda one: not one.rises,
                score,
                "gains nothing from 100 models",
            )
            for score in (F1, STABILITY)
        ]
    )
