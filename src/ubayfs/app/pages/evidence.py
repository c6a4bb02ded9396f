"""The screen evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..view.fields import heading
from ..view.frame import page

if TYPE_CHECKING:
    from ..workbench import Workbench


@page("evidence")
def draw_evidence(bench: Workbench) -> None:
    """Draw the screen."""
    heading("Evidence")
