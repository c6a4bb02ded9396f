"""The penalty curve of a rule: what it costs to violate it, in votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from .._plain import rounded
from ..constraints.utility import log_row_admissibility, relaxation_of_cost

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 340, 180, 48, 12, 10, 36
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
    """Return a drawing of the cost in votes against the amount of violation.

    >>> penalty_svg(1.0, Scale(100, 1000.0)).count("<circle")
    6
    """
    amounts = np.linspace(0.0, farthest, _N_POINTS).tolist()
    top = scale.votes(farthest, rho) or 1.0

    def place(at: float) -> tuple[float, float]:
        height = (_HEIGHT - _TOP - _BOTTOM) * (1.0 - scale.votes(at, rho) / top)
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * at / farthest, 1), round(_TOP + height, 2)

    parts = []
    for share in (0.0, 0.5, 1.0):
        y = _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1.0 - share)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" class="y">{rounded(share * top)}</text>')
    whole = range(farthest + 1)
    parts += [f'<text x="{place(at)[0]}" y="{_HEIGHT - 20}" class="x">{at}</text>' for at in whole]
    parts.append(
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 4}" class="x">votes that it costs to violate it by so much</text>'
    )
    parts.append(f'<polyline points="{" ".join("{},{}".format(*place(at)) for at in amounts)}"/>')
    parts += ['<circle cx="{}" cy="{}" r="3"/>'.format(*place(at)) for at in whole]
    label = "; ".join(f"violated by {at}: {scale.votes(at, rho):.4g}" for at in whole)
    return Markup('<svg class="penalty" viewBox="0 0 {} {}" role="img" aria-label="Cost in votes. {}">{}</svg>').format(
        _WIDTH,
        _HEIGHT,
        label,
        Markup("".join(parts)),  # noqa: S704  # numbers only
    )
