"""The penalty curve of a rule: what is left of the admissibility of a set that violates it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from .._plain import rounded
from ..constraints.utility import log_row_admissibility, relaxation_of_cost

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 340, 180, 48, 42, 10, 36
_N_POINTS = 60
_LEVELS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999)  # where the axis may end


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
    return np.exp(log_row_admissibility(violation, rho)) if rho else np.ones_like(violation, dtype=float)


def in_words(rho: float, scale: Scale) -> str:
    """Return what a first and a second violation cost.

    >>> in_words(Scale(100, 1000.0).rho(0.2), Scale(100, 1000.0))
    'A violation by 1 costs 20 votes of 100 models, one by 2 costs 40.'
    """
    if rho == 0:
        return "It has no effect: a violation costs nothing."
    first, second = (rounded(scale.votes(violation, rho)) for violation in (1.0, 2.0))
    return f"A violation by 1 costs {first} votes of {scale.n_models:,} models, one by 2 costs {second}."


def penalty_svg(rho: float, scale: Scale, farthest: int = 5) -> Markup:
    """Return a drawing of admissibility (left) and cost in votes (right) against the amount of violation.

    The axis ends below the curve, since a price that matters takes a few votes of thousands.

    >>> penalty_svg(1.0, Scale(100, 1000.0)).count("<circle")
    6
    """
    amounts = np.linspace(0.0, farthest, _N_POINTS)
    line = zip(amounts.tolist(), admissibility(amounts, rho).tolist(), strict=True)
    points = [(float(at), float(admissibility(at, rho))) for at in range(farthest + 1)]
    lowest = max(level for level in _LEVELS if level <= points[-1][1])

    def place(at: float, value: float) -> tuple[float, float]:
        height = (_HEIGHT - _TOP - _BOTTOM) * (1.0 - value) / (1.0 - lowest)
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * at / farthest, 1), round(_TOP + height, 1)

    parts = []
    for level in (lowest, (1.0 + lowest) / 2, 1.0):
        _, y = place(0.0, level)
        cost = rounded(scale.strength * scale.total * (1.0 - level))
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" class="y">{level:.6g}</text>')
        parts.append(f'<text x="{_WIDTH - _RIGHT + 6}" y="{y + 4}">{cost}</text>')
    parts += [f'<text x="{place(at, 1)[0]}" y="{_HEIGHT - 20}" class="x">{at:g}</text>' for at, _ in points]
    parts.append(
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 4}" class="x">violated by (left: admissibility, right: votes)</text>'
    )
    parts.append(f'<polyline points="{" ".join("{},{}".format(*place(*point)) for point in line)}"/>')
    parts += ['<circle cx="{}" cy="{}" r="3"/>'.format(*place(*point)) for point in points]
    label = "; ".join(f"violated by {at:g}: {value:.4g}" for at, value in points)
    return Markup('<svg class="penalty" viewBox="0 0 {} {}" role="img" aria-label="Admissibility. {}">{}</svg>').format(
        _WIDTH,
        _HEIGHT,
        label,
        Markup("".join(parts)),  # noqa: S704  # numbers only
    )
