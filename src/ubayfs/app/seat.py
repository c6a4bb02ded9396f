"""An open study as one expert sees it: own words only, and votes once these are confirmed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError

if TYPE_CHECKING:
    from .state import Word
    from .workbench import Workbench


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
        """Return what belongs to the study."""
        return getattr(self.bench, name)

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

    def say(self, features: Iterable[str], stated: float | str | None, why: str | None = None) -> None:
        """State votes or a word of the scale for features."""
        self.bench.say(features, stated, why, self.expert)

    def say_all(self, words: Mapping[str, Word], source: str) -> None:
        """State all that a source says, as one edit."""
        self.bench.say_all(words, source, self.expert)

    def confirm(self) -> None:
        """Record that the expert has stated everything."""
        self.bench.confirm(self.expert)

    def undo(self) -> None:
        """Take the last edit back that is not another expert's."""
        self.bench.undo(self.expert)

    def redo(self) -> None:
        """Do the last edit that was undone again."""
        self.bench.redo(self.expert)

    @property
    def undo_label(self) -> str:
        """What would be undone; empty if there is nothing."""
        return self.bench.undo_label(self.expert)

    @property
    def redo_label(self) -> str:
        """What would be done again; empty if there is nothing."""
        return self.bench.redo_label(self.expert)
