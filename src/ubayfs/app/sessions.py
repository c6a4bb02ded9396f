"""A study as one expert sees it, and which experts a browser may look for."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..results.comparison import Comparison
from .document import LONGEST_NAME
from .staged_answer import StagedAnswer
from .state import State, Word
from .study_facts import DataFacts, EnsembleProgress, Problem, Progress, TableFacts, Version
from .workbench import Workbench

if TYPE_CHECKING:
    from .library import Library

_SHOWN_BEFORE = ("inspect", "estimate")  # requests whose answers tell nothing of votes


class ExpertSession:
    """An open study as one expert sees it: own words only, and votes once these are confirmed.

    It is a window on a workbench; several experts may work at once, each in a window of their own. Whatever is not of
    the expert, such as rules and data, is that of the workbench.

    Parameters
    ----------
    bench : Workbench
    expert : str
        Empty for the one expert of a study.
    """

    # Of the workbench.
    directory: Path
    state: State
    revision: int
    status: str
    facts: DataFacts | None
    table: TableFacts | None
    evidence: EnsembleProgress
    progress: Progress | None
    problems: list[Problem]
    n_conditions: tuple[int, ...]
    versions: list[Version]

    def __init__(self, bench: Workbench, expert: str = "") -> None:
        self.bench, self.expert = bench, expert.strip()[:LONGEST_NAME]

    def __getattr__(self, name: str) -> Any:
        """Return what belongs to the study."""
        return getattr(self.bench, name)

    # -- what the expert may see ---------------------------------------------------------------------------------------

    @property
    def confirmed(self) -> str | None:
        """When the expert confirmed their knowledge; None: votes are hidden from them."""
        return self.bench.state.confirmed.get(self.expert)

    @property
    def votes(self) -> Any:
        """The votes, if the expert may see them."""
        return None if self.confirmed is None else self.bench.votes

    @property
    def answer(self) -> StagedAnswer:
        """The answer by stages, if the expert may see it."""
        return StagedAnswer() if self.confirmed is None else self.bench.answer

    @property
    def stated(self) -> dict[str, Word]:
        """Votes or word of each feature, and why; nothing while the data are read, or if weights do not fit them."""
        try:
            return self.bench.words(self.expert) if self.bench.facts else {}
        except InputError:  # it is among the problems of the study
            return {}

    def request(self, kind: str, **payload: Any) -> Future[Any]:
        """Ask the worker for something that the expert may see; else raise InputError."""
        is_open = kind in _SHOWN_BEFORE or (kind == "export" and self.may_export(payload["what"], payload["version"]))
        if self.confirmed is None and not is_open:
            rule = "Confirm first, on What I know or Evidence, that you have stated what you know."
            raise InputError(f"Votes are hidden from you, and this shows them. {rule}", argument="votes")
        return self.bench.request(kind, **payload)

    def may_export(self, kind: str, version: int | None = None) -> bool:
        """Return whether the expert may see a file; before votes, only a study that has no words of other experts."""
        others = set(self.bench.state.study.prior.experts or ()) - {self.expert}
        return self.confirmed is not None or (kind == "study" and version is None and not others)

    def compare(self, first: int | None, second: int | None) -> Future[Comparison]:
        """Compare two versions as `ubayfs compare` does; None is the present answer."""
        return self.request("compare", first=first, second=second)

    def export(self, kind: str, version: int | None = None) -> Future[Path]:
        """Write a file for download: study, report, excel, zip or zip-with-data."""
        return self.request("export", what=kind, version=version)

    # -- edits in the name of the expert -------------------------------------------------------------------------------

    def set_weight(self, features: list[str], weight: float | str | None, why: str | None = None) -> None:
        """State votes or a word of the scale for features; see :meth:`.Document.set_weight`."""
        self.bench.set_weight(features, weight, why, self.expert)

    def set_weights(self, words: Mapping[str, Word], source: str) -> None:
        """State all that a list, a spreadsheet or a gene set says, as one edit."""
        self.bench.set_weights(words, source, self.expert)

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


class Sessions:
    """The names under which browsers opened pages of studies: names are not passwords, but nobody looks over shoulders.

    Until one of its experts has confirmed what they know, a browser becomes only experts who have stated nothing yet.
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self._taken: dict[tuple[str, str], list[str]] = {}  # names by browser and study, the latest last

    def open(self, browser: str, study: str, expert: str, take: bool = False) -> ExpertSession:
        """Return the session of an expert, which a page may `take`; without a name, the browser stays who it is."""
        taken = self._taken.setdefault((browser, study), [])
        session = ExpertSession(self.library.open(study), expert)
        name, state = session.expert, session.bench.state
        is_new = name not in state.confirmed and name not in (state.study.prior.experts or {})
        may = is_new or not taken or any(other in state.confirmed for other in taken)
        if not name:
            return session if may else ExpertSession(session.bench, taken[-1])
        if name not in taken and not (may and take):
            way_out = f"Open the page of {name} first." if may else f"{taken[-1]} uses this browser; use another one."
            raise InputError.of("expert", f"must not be seen by others before they confirm. {way_out}", name)
        if take:
            taken[:] = [*(other for other in taken if other != name), name]
        return session
