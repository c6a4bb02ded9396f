"""Values that show themselves: a table as text where they are printed, and the same as HTML in a notebook."""

from __future__ import annotations

from typing import Any


class Shown:
    """Shows a value by its card, which :mod:`ubayfs.report.cards` makes when it is asked for."""

    def _card(self) -> Any:
        from .report.cards import card_of

        return card_of(self)

    def __str__(self) -> str:
        return str(self._card())

    def _repr_html_(self) -> str:
        return str(self._card().html())
