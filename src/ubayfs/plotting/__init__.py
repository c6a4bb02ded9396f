"""Figures: frozen displays of plain data that can be stored as JSON and drawn with matplotlib.

A display knows its section of a report and when it applies; to add one, write its module and list it here.

>>> from ubayfs import Evidence, decide
>>> from ubayfs.plotting import EvidenceDisplay
>>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])
>>> display = EvidenceDisplay.from_selection(decide(evidence, max_size=1))
>>> display.chosen
(True, False)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._arguments import check_choice
from ..decision.selection import Selection
from .base import Correlations, Display, ReportData
from .correlation import CorrelationDisplay
from .ensemble import BlocksDisplay, ConvergenceDisplay, PosteriorDisplay
from .evidence import EvidenceDisplay
from .figures import Drawing, Figures, render_figures
from .front import FrontDisplay
from .gene_sets import GeneSetsDisplay
from .halves import HalvesDisplay
from .penalty import PenaltyDisplay
from .profile import ProfileDisplay
from .related import RelatedDisplay
from .sizes import SizeUtilityDisplay
from .style import house_style
from .validation import ComparisonDisplay, PerformanceDisplay, SurvivalDisplay

__all__ = [
    "DISPLAYS",
    "BlocksDisplay",
    "ComparisonDisplay",
    "ConvergenceDisplay",
    "CorrelationDisplay",
    "Correlations",
    "Display",
    "Drawing",
    "EvidenceDisplay",
    "Figures",
    "FrontDisplay",
    "GeneSetsDisplay",
    "HalvesDisplay",
    "PenaltyDisplay",
    "PerformanceDisplay",
    "PosteriorDisplay",
    "ProfileDisplay",
    "RelatedDisplay",
    "ReportData",
    "SizeUtilityDisplay",
    "SurvivalDisplay",
    "display_of",
    "house_style",
    "read_displays",
    "render_figures",
    "report_displays",
]

# In the order of a report. Any: from_selection of each takes arguments of its own.
DISPLAYS: dict[str, type[Any]] = {
    display.name: display
    for display in (
        EvidenceDisplay, ProfileDisplay, ComparisonDisplay, PerformanceDisplay, SurvivalDisplay,
        RelatedDisplay, HalvesDisplay, GeneSetsDisplay, BlocksDisplay,
        PosteriorDisplay, PenaltyDisplay, SizeUtilityDisplay, FrontDisplay, ConvergenceDisplay, CorrelationDisplay,
    )
}  # fmt: skip


def display_of(selection: Selection, name: str, arguments: Mapping[str, Any]) -> Display:
    """Return a display of a selection by its name; `arguments` are those of its `from_selection`."""
    display: Display = DISPLAYS[check_choice("display", name, DISPLAYS)].from_selection(selection, **arguments)
    return display


def report_displays(selection: Selection, data: ReportData) -> dict[str, dict[str, Any]]:
    """Return the displays that apply to a selection, each in plain types, by name."""
    return {
        name: display.for_report(selection, data).to_dict()
        for name, display in DISPLAYS.items()
        if display.applies(selection, data)
    }


def read_displays(content: Mapping[str, Mapping[str, Any]]) -> dict[str, Display]:
    """Return the displays of a summary, as :func:`report_displays` gave them, also after a way through JSON."""
    return {name: DISPLAYS[name].from_dict(data) for name, data in content.items()}
