"""An open study as one expert sees it: own words only, and votes once these are confirmed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError

if TYPE_CHECKING:
    from .state import Word
    from .workbench import Workbench


_DONE = ("say", "say_all", "confirm", "undo", "redo")  # in the name of the expert
_LABELS = ("undo_label", "redo_label")


class Seat:
    """A window on a workbench; several experts may work at once, each in a window of their own.

    Whatever is not of the expert, such as rules and data, is that of the workbench.

    Parameters
    ----------
    bench : Workbench
    expert : str
        Empty for the one expert of a study.
    """

    def __init__(self, bench: Workbench, expert: str = "") -> None:
        self.bench, self.expert = bench, expert.strip()

    def __getattr__(self, name: str) -> Any:
        """Return what belongs to the study, or does something there in the name of the expert."""
        found = getattr(self.bench, name)
        if name in _LABELS:
            return found(self.expert)
        return partial(found, expert=self.expert) if name in _DONE else found

    @property
    def confirmed(self) -> str | None:
        """When the expert confirmed their knowledge; None: votes are hidden from them."""
        return self.bench.state.confirmed.get(self.expert)

    @property
    def votes(self) -> Any:
        """The votes, if the expert may see them."""
        return None if self.confirmed is None else self.bench.votes

    @property
    def answer(self) -> dict[str, Any]:
        """The answer by stages, if the expert may see it."""
        return {"revision": -1} if self.confirmed is None else self.bench.answer

    @property
    def stated(self) -> dict[str, Word]:
        """Votes or word of each feature, and why; nothing while the data are read, or if weights do not fit them."""
        try:
            return self.bench.words(self.expert) if self.bench.facts else {}
        except InputError:  # it is among the problems of the study
            return {}
