"""The penalty curve of a rule: what is left of the admissibility of a set that violates it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from ..utility import log_row_admissibility, relaxation_of_cost

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 320, 170, 40, 36, 10, 10
_N_POINTS = 60


@dataclass(frozen=True)
class Scale:
    """What a price is measured by.

    Attributes
    ----------
    n_models : int
    total : float
        Sum of all weights and votes: one vote is an importance of 1 / total.
    strength : float
        Of the constraints, the lambda of the paper.
    """

    n_models: int
    total: float
    strength: float = 1.0

    def rho(self, price: float) -> float:
        """Return the relaxation that a price means."""
        return float(relaxation_of_cost(price * self.n_models / self.total, self.strength))

    def votes(self, violation: float, rho: float) -> float:
        """Return what a violation costs, in votes."""
        return float(self.strength * self.total * (1.0 - admissibility(violation, rho)))


def admissibility(violation: Any, rho: float) -> Any:
    """Return the admissibility of an inequality that is violated by so much.

    >>> float(admissibility(1.0, 1.0).round(3))
    0.538
    """
    return np.exp(log_row_admissibility(violation, rho))


def in_words(rho: float, scale: Scale) -> str:
    """Return what a first and a second violation cost.

    >>> in_words(Scale(100, 1000.0).rho(0.2), Scale(100, 1000.0))
    'Violated by 1 it costs 20 votes, by 2 40, of 100 models.'
    """
    if rho == math.inf:
        return "It is never violated, whatever the votes are."
    if rho == 0:
        return "It has no effect: a violation costs nothing."
    first, second = (f"{scale.votes(violation, rho):.3g}" for violation in (1.0, 2.0))
    return f"Violated by 1 it costs {first} votes, by 2 {second}, of {scale.n_models:,} models."


def penalty_svg(rho: float, farthest: int = 5) -> Markup:
    """Return a drawing of the admissibility against the amount of violation, with points at whole amounts.

    >>> penalty_svg(1.0).count("<circle")
    6
    """
    whole = np.arange(farthest + 1.0)
    if rho == math.inf:  # a step: any violation at all leaves nothing
        line = [(0.0, 1.0), (0.0, 0.0), (float(farthest), 0.0)]
    else:
        x = np.linspace(0.0, farthest, _N_POINTS)
        line = list(zip(x.tolist(), admissibility(x, max(rho, 1e-300)).tolist(), strict=True))
    points = [(at, 1.0 if at == 0 else float(admissibility(at, max(rho, 1e-300)))) for at in whole.tolist()]
    path = " ".join(f"{_x(at, farthest):.1f},{_y(value):.1f}" for at, value in line)
    dots = Markup().join(
        Markup('<circle cx="{:.1f}" cy="{:.1f}" r="3"/>').format(_x(at, farthest), _y(value)) for at, value in points
    )
    label = "; ".join(f"violated by {at:g}: {value:.2f}" for at, value in points)
    return Markup(
        '<svg class="penalty" viewBox="0 0 {w} {h}" role="img" aria-label="Admissibility. {label}">{axes}'
        '<polyline points="{path}"/>{dots}</svg>'
    ).format(w=_WIDTH, h=_HEIGHT, label=label, axes=_axes(farthest), path=path, dots=dots)


def _x(amount: float, farthest: int) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * amount / farthest


def _y(value: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1.0 - value)


def _axes(farthest: int) -> Markup:
    levels = Markup().join(
        Markup('<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/><text x="{}" y="{:.1f}" class="y">{}</text>')
        .format(_LEFT, _WIDTH - _RIGHT, _y(level), _y(level), _LEFT - 6, _y(level) + 4, f"{level:g}")
        for level in (0.0, 0.5, 1.0)
    )  # fmt: skip
    amounts = Markup().join(
        Markup('<text x="{:.1f}" y="{}" class="x">{}</text>').format(_x(at, farthest), _HEIGHT - _BOTTOM + 15, at)
        for at in range(farthest + 1)
    )
    title = Markup('<text x="{:.1f}" y="{}" class="x">violated by</text>').format(_x(farthest / 2, farthest), _HEIGHT - 4)
    return levels + amounts + title
