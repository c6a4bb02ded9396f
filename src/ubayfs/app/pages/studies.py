"""The list of studies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..view.fields import heading
from ..view.frame import outer_frame

if TYPE_CHECKING:
    from ..library import Library


def draw_studies(library: Library) -> None:
    """Draw the list of studies."""
    with outer_frame("Studies"):
        heading("Your studies")
