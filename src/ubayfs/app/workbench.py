"""A study that is open: what its worker found out about it, requests, and versions.

Nothing here computes; `worker` does, in a process of its own.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..exceptions import InputError, NotAnsweredError, UBayFSError
from ..results.comparison import Comparison
from .document import Document, read_version
from .history import History
from .staged_answer import SetStage, StagedAnswer, StageError
from .state import HISTORY, VERSIONS, State
from .study_facts import EnsembleProgress, ListedKnowledge, Problem, Progress, ReadFacts, TableFacts, Version
from .worker import Worker

_MOST_STARTS = 3  # times that a worker that died is started again by itself


class Workbench(Document):
    """One open study and its worker; its methods may be called from any thread.

    Attributes
    ----------
    table : TableFacts or None
        Of the table, also while something is wrong with its columns.
    evidence : EnsembleProgress
    status : {"reading", "ready", "collecting", "deciding", "failed", "no data", "waiting"}
        Waiting: too many other studies are at work.
    answer : StagedAnswer
        By stage: set, reasons, alternatives, figures, trust; ``revision`` tells of which state. It is replaced, never
        changed, so that whoever holds it has stages of one answer.
    progress : Progress or None
        Of what is being collected.
    n_conditions : tuple of int
        Inequalities of each rule that is on, once the study is tied to its data.
    votes : ndarray of int of shape (n_features,) or None
        A session shows them to experts who have confirmed their knowledge.
    used : float
        When something was last asked for, by the monotonic clock.
    """

    def __init__(self, directory: str | Path, launch: Callable[..., Any] | None = Worker) -> None:
        super().__init__(directory)
        self.table: TableFacts | None = None
        self.evidence = EnsembleProgress()
        self.status = "reading" if self.state.study.data.files[0] else "no data"
        self.answer = StagedAnswer()
        self.progress: Progress | None = None
        self.votes: Any = None
        self.n_conditions: tuple[int, ...] = ()
        self.used = time.monotonic()
        self._launch = launch
        self._worker: Worker | None = None
        self._n_ended, self._closed = 0, False
        self._waiting: dict[int, Future[Any]] = {}
        self._numbers = itertools.count()
        self._labels: list[str] = []  # of edits since the last set
        self._features: tuple[str, ...] | None = None  # of the last set
        self.start_worker()

    @classmethod
    def create(cls, directory: str | Path, state: State, launch: Callable[..., Any] | None = Worker) -> Workbench:
        """Make the directory of a study and open it."""
        place = Path(directory).absolute()
        place.mkdir(parents=True, exist_ok=True)
        if (place / HISTORY).exists():
            raise InputError(f"{place} has a study already; open it, or name another directory.")
        moved = state.study.moved_to(place)
        study = replace(moved, folder=place, outputs=replace(moved.outputs, directory="results"))
        History(place / HISTORY, replace(state, study=study).to_plain())
        return cls(place, launch)

    def _entered(self, label: str) -> None:
        self._labels += [label] if label else []
        self.n_conditions = ()
        self.problems = [problem for problem in self.problems if problem.source != "ensemble"]
        self._tell("state", self.revision, self.state)

    # -- work and versions ---------------------------------------------------------------------------------------------

    def collect(self) -> None:
        """Run the ensemble, or the rest of it; finished runs are stored."""
        self._tell("collect")

    def stop(self) -> None:
        """Stop what is being collected; finished runs are used when it resumes."""
        self._tell("stop")

    def request(self, kind: str, **payload: Any) -> Future[Any]:
        """Ask the worker for something of `requests.REQUESTS`: sizes, questions, estimate, ...

        ``await asyncio.wrap_future(...)`` gives the answer; what is wrong is raised there as UBayFSError, and as
        NotAnsweredError if the worker did not come to an answer.
        """
        future: Future[Any] = Future()
        number = next(self._numbers)
        self._waiting[number] = future
        self._tell("request", number, kind, payload)
        return future

    @property
    def idle(self) -> bool:
        """Whether nothing is being done for the study."""
        return self.progress is None and not self._waiting and self.status in ("ready", "no data", "failed")

    @property
    def is_stopped(self) -> bool:
        """Whether no process works for the study."""
        return self._worker is None

    def start_worker(self) -> None:
        """Start the worker, unless it runs."""
        with self._lock:
            if self._worker is None and self._launch is not None and not self._closed:
                self._worker = self._launch(self.directory, self._receive)
                if self._worker is None:  # too many are at work
                    self.status = "waiting"
                    return
                self._worker.send("state", self.revision, self.state)

    def stop_worker(self) -> None:
        """End the worker; what is known stays, and the next edit or request starts it again."""
        with self._lock:
            worker, self._worker = self._worker, None
            if worker is not None:  # what is asked from now on is for the next one
                self._give_up("The study was closed meanwhile.")
        if worker is not None:
            worker.close()

    def _tell(self, kind: str, *content: Any) -> None:
        """Send the worker a message; it is started if it rests."""
        self.used = time.monotonic()
        with self._lock:
            if self._worker is None and kind != "stop":
                self.start_worker()
                if kind == "state":  # a worker begins with the state
                    return
            if self._worker is not None:
                self._worker.send(kind, *content)
            elif kind == "request":
                self._give_up("Too many studies are at work; please try again in a moment.")

    # -- what the worker says ------------------------------------------------------------------------------------------

    def _receive(self, kind: str, content: tuple[Any, ...]) -> None:
        """Take a message of the worker over; called in the thread that listens."""
        with self._lock:
            if self._closed:
                return
            if kind in ("status", "votes", "progress"):
                setattr(self, kind, *content)
                changed: tuple[str, ...] = (kind,)
            else:
                changed = getattr(self, f"_on_{kind}")(*content)
        self._publish(*changed)

    def _on_facts(self, read: ReadFacts | None, knowledge: ListedKnowledge) -> tuple[str, ...]:
        """Take over the data, if they were read anew, with what files, patterns and blocks of the study say of them."""
        if read is not None:
            self.facts, self.table = read.data, read.table
            self._save()
        if self.facts is not None:
            self._listed, self.facts = knowledge, replace(self.facts, blocks=knowledge.blocks)
        return ("facts",)

    def _on_evidence(self, revision: int, evidence: EnsembleProgress, votes: Any) -> tuple[str, ...]:
        if not evidence.is_current and revision == self.revision:
            self.answer = StagedAnswer(revision)  # no set of an ensemble that the study does not ask for
        self.evidence, self.votes = evidence, votes
        return "votes", "answer"

    def _on_conditions(self, revision: int, n_conditions: tuple[int, ...]) -> tuple[str, ...]:
        self.n_conditions = n_conditions if revision == self.revision else ()
        return ("conditions",)

    def _on_problems(self, revision: int, problems: list[Problem]) -> tuple[str, ...]:
        if revision not in (self.revision, -1):
            return ()
        if problems and revision >= 0:
            self.answer = StagedAnswer(revision)
        self._set_problems("study" if revision >= 0 else "ensemble", problems)
        return "problems", "answer"

    def _on_answer(self, revision: int, stage: str, content: Any) -> tuple[str, ...]:
        if revision != self.revision:
            return ()
        if isinstance(content, StageError):
            self.answer = replace(self.answer, errors={**self.answer.errors, stage: content.message})
        elif isinstance(content, SetStage):
            self.answer = StagedAnswer(revision, self._since_last_change(content))
        else:
            self.answer = replace(self.answer, **{stage: content})
        return ("answer",)

    def _since_last_change(self, stage: SetStage) -> SetStage:
        """Return a new set with how it differs from the one before, and the changes that were made."""
        first, features = self._features is None, stage.features
        before = features if self._features is None else self._features
        labels, self._labels, self._features = self._labels, [], features
        return replace(
            stage,
            added=tuple(name for name in features if name not in before),
            removed=tuple(name for name in before if name not in features),
            because=() if first else tuple(labels),
        )

    def _on_reply(self, number: int, answered: bool | None, content: Any) -> tuple[str, ...]:
        """Take an answer over; not `found`: what is wrong, None: there is none."""
        future = self._waiting.pop(number, None)
        if future is not None and future.set_running_or_notify_cancel():
            if answered:
                future.set_result(content)
            else:
                future.set_exception(NotAnsweredError(content) if answered is None else UBayFSError(content))
        return ()

    def _on_failed(self, revision: int, message: str) -> tuple[str, ...]:
        self.status = "failed"
        self._set_problems("study", [Problem(f"This is a mistake of ubayfs: {message}")])
        return "status", "problems"

    def _on_ended(self, code: int | None) -> tuple[str, ...]:
        """Start a worker that died again: state, evidence and finished runs are on disk."""
        self._worker, self.progress = None, None
        self._give_up("The process of the study ended; it was started again. Please repeat this.")
        self._n_ended += 1
        ended = f"unexpectedly (code {code}) and was started again; nothing was lost."
        if self._n_ended > _MOST_STARTS:
            ended = f"{self._n_ended} times (code {code}); the next edit starts it again."
            self.status, self._n_ended = "failed", 0
        else:
            self.start_worker()
        self._set_problems("study", [Problem(f"The process of this study ended {ended}", passing=True)])
        return "status", "progress", "problems"

    def _give_up(self, message: str) -> None:
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if future.set_running_or_notify_cancel():
                future.set_exception(NotAnsweredError(message))

    @property
    def versions(self) -> list[Version]:
        """All versions, the oldest first."""
        versions = []
        for manifest in (self.directory / VERSIONS).glob("*/manifest.json"):
            with suppress(UBayFSError):
                versions.append(read_version(manifest.parent))
        return sorted(versions, key=lambda version: version.number)

    def save_version(self, name: str) -> Future[Version]:
        """Write the answer as a complete result directory ``versions/<number>``; gives its entry of `versions`."""
        saved = self.request("version", name=name.strip())
        saved.add_done_callback(lambda done: self._publish("versions"))
        return saved

    def compare(self, first: int | None, second: int | None) -> Future[Comparison]:
        """Compare two versions as `ubayfs compare` does; None is the present answer."""
        return self.request("compare", first=first, second=second)

    def export(self, kind: str, version: int | None = None) -> Future[Path]:
        """Write a file for download: study, report, excel, zip or zip-with-data."""
        return self.request("export", what=kind, version=version)

    def close(self) -> None:
        """End the worker and release the directory; everything is on disk already."""
        with self._lock:
            self._closed = True
        self.stop_worker()
        super().close()
