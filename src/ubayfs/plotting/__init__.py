"""Figures: frozen displays of plain data that can be stored as JSON and drawn with matplotlib.

>>> from ubayfs import Evidence, decide, max_size
>>> from ubayfs.plotting import EvidenceDisplay
>>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])
>>> display = EvidenceDisplay.from_selection(decide(evidence, constraints=max_size(1)))
>>> display.chosen
(True, False, False)
"""

from __future__ import annotations

from typing import Any

from .base import Display, Drawing
from .convergence import ConvergenceDisplay
from .correlation import CorrelationDisplay
from .evidence import EvidenceDisplay
from .penalty import PenaltyDisplay
from .posterior import PosteriorDisplay
from .sizes import SizeUtilityDisplay
from .style import house_style

__all__ = [
    "DISPLAYS",
    "ConvergenceDisplay",
    "CorrelationDisplay",
    "Display",
    "Drawing",
    "EvidenceDisplay",
    "PenaltyDisplay",
    "PosteriorDisplay",
    "SizeUtilityDisplay",
    "house_style",
]

# Any: from_selection of each takes arguments of its own.
DISPLAYS: dict[str, type[Any]] = {
    display.name: display
    for display in (
        EvidenceDisplay, PosteriorDisplay, PenaltyDisplay, CorrelationDisplay, SizeUtilityDisplay, ConvergenceDisplay,
    )
}  # fmt: skip
