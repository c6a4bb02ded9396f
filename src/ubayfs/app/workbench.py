"""A study that is open: what its worker found out about it, requests, and versions; and as one expert sees it.

Nothing here computes; `worker` does, in a process of its own.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from .._files import read_json
from ..exceptions import InputError, NotAnsweredError, UBayFSError
from ..results.comparison import Comparison
from .document import LONGEST_NAME, Document
from .history import History
from .staged_answer import SetStage, StagedAnswer, StageError
from .state import HISTORY, VERSION, VERSIONS, State, Word, problem
from .worker import Worker

# Methods that take the name of an expert: edits, and labels of edits.
_DONE = ("say", "say_all", "confirm", "undo", "redo")
_LABELS = ("undo_label", "redo_label")
_REQUESTS = ("compare", "export")  # methods whose requests are those of the expert
_SHOWN_BEFORE = ("inspect", "estimate")  # requests whose answers tell nothing of votes
_MOST_STARTS = 3  # times that a worker that died is started again by itself


class Workbench(Document):
    """One open study and its worker; its methods may be called from any thread.

    Attributes
    ----------
    table : dict or None
        Of the table, also while something is wrong with its columns: columns, types, preview, notices.
    evidence : dict
        Of the ensemble: n_models, whether it is ``current`` (of these data and settings) and ``complete``, and
        ``n_stored`` finished runs; empty if there are no data.
    status : {"reading", "ready", "collecting", "deciding", "failed", "no data", "waiting"}
        Waiting: too many other studies are at work.
    answer : StagedAnswer
        By stage: set, reasons, alternatives, figures, trust; ``revision`` tells of which state. It is replaced, never
        changed, so that whoever holds it has stages of one answer.
    progress : dict or None
        ``part``, ``done``, ``total`` and ``seconds_left`` of what is being collected.
    votes : ndarray of int of shape (n_features,) or None
        A :class:`Seat` shows them to experts who have confirmed their knowledge.
    used : float
        When something was last asked for, by the monotonic clock.
    """

    def __init__(self, directory: str | Path, launch: Callable[..., Any] | None = Worker) -> None:
        super().__init__(directory)
        self.table: dict[str, Any] | None = None
        self.evidence: dict[str, Any] = {}
        self.status = "reading" if self.state.study.data.files[0] else "no data"
        self.answer = StagedAnswer()
        self.progress: dict[str, Any] | None = None
        self.votes: Any = None
        self.used = time.monotonic()
        self._launch = launch
        self._worker: Worker | None = None
        self._n_ended, self._closed = 0, False
        self._waiting: dict[int, Future[Any]] = {}
        self._numbers = itertools.count()
        self._labels: list[str] = []  # of edits since the last set
        self._features: tuple[str, ...] | None = None  # of the last set
        self.wake()

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
        self.problems = [known for known in self.problems if known["source"] in ("study", "disk", "log")]
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
    def resting(self) -> bool:
        """Whether no process works for the study."""
        return self._worker is None

    def wake(self) -> None:
        """Start the worker, unless it runs."""
        with self._lock:
            if self._worker is None and self._launch is not None and not self._closed:
                self._worker = self._launch(self.directory, self._receive)
                if self._worker is None:  # too many are at work
                    self.status = "waiting"
                    return
                self._worker.send("state", self.revision, self.state)

    def rest(self) -> None:
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
                self.wake()
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

    def _on_facts(self, facts: dict[str, Any] | None, known: dict[str, Any]) -> tuple[str, ...]:
        """Take over the data, if they were read anew, with what files, patterns and blocks of the study say of them."""
        if facts is not None:
            self.facts = facts if "feature_names" in facts else None
            self.table = facts
            self._known = frozenset(facts.get("feature_names", ()))
            self._save()
        if self.facts is not None:
            self._resolved, self.facts["blocks"] = known["stated"], known["blocks"]
        return ("facts",)

    def _on_evidence(self, revision: int, evidence: dict[str, Any], votes: Any) -> tuple[str, ...]:
        if not evidence.get("current") and revision == self.revision:
            self.answer = StagedAnswer(revision)  # no set of an ensemble that the study does not ask for
        self.evidence, self.votes = evidence, votes
        return "votes", "answer"

    def _on_problems(self, revision: int, problems: list[dict[str, Any]]) -> tuple[str, ...]:
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

    def _on_reply(self, number: int, found: bool | None, content: Any) -> tuple[str, ...]:
        """Take an answer over; not `found`: what is wrong, None: there is none."""
        future = self._waiting.pop(number, None)
        if future is not None and future.set_running_or_notify_cancel():
            if found:
                future.set_result(content)
            else:
                future.set_exception(NotAnsweredError(content) if found is None else UBayFSError(content))
        return ()

    def _on_failed(self, revision: int, message: str, details: str) -> tuple[str, ...]:
        self.status = "failed"
        self._set_problems("study", [problem(f"This is a mistake of ubayfs: {message}", details=details)])
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
            self.wake()
        self._set_problems("study", [problem(f"The process of this study ended {ended}", passing=True)])
        return "status", "progress", "problems"

    def _give_up(self, message: str) -> None:
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if future.set_running_or_notify_cancel():
                future.set_exception(NotAnsweredError(message))

    @property
    def versions(self) -> list[dict[str, Any]]:
        """All versions, the oldest first: number, name, created, n_features, features."""
        found = []
        for place in (self.directory / VERSIONS).glob("*/manifest.json"):
            with suppress(UBayFSError, ValueError):
                known = read_json(place.parent / VERSION)
                found.append({key: entry for key, entry in known.items() if key != "state"})
        return sorted(found, key=lambda version: version["number"])

    def save_version(self, name: str) -> Future[dict[str, Any]]:
        """Write the answer as a complete result directory ``versions/<number>``; gives its entry of `versions`."""
        saved = self.request("version", name=name.strip())
        saved.add_done_callback(lambda done: self._publish("versions"))
        return saved

    def compare(self, first: int | None, second: int | None) -> Future[Comparison]:
        """Compare two versions as `ubayfs compare` does; None is the present answer."""
        return self.request("compare", first=first, second=second)

    def export(self, kind: str, version: int | None = None) -> Future[Path]:
        """Write a file for download: study, results (zip), report (HTML), excel or script."""
        return self.request("export", what=kind, version=version)

    def close(self) -> None:
        """End the worker and release the directory; everything is on disk already."""
        with self._lock:
            self._closed = True
        self.rest()
        super().close()


class Seat:
    """An open study as one expert sees it: own words only, and votes once these are confirmed.

    It is a window on a workbench; several experts may work at once, each in a window of their own.

    Whatever is not of the expert, such as rules and data, is that of the workbench.

    Parameters
    ----------
    bench : Workbench
    expert : str
        Empty for the one expert of a study.
    """

    def __init__(self, bench: Workbench, expert: str = "") -> None:
        self.bench, self.expert = bench, expert.strip()[:LONGEST_NAME]

    def __getattr__(self, name: str) -> Any:
        """Return what belongs to the study, or does something there in the name of the expert."""
        found = getattr(self.bench, name)
        if name in _LABELS:
            return found(self.expert)
        if name in _REQUESTS:
            return partial(getattr(Workbench, name), self)
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
    def answer(self) -> StagedAnswer:
        """The answer by stages, if the expert may see it."""
        return StagedAnswer() if self.confirmed is None else self.bench.answer

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

    @property
    def stated(self) -> dict[str, Word]:
        """Votes or word of each feature, and why; nothing while the data are read, or if weights do not fit them."""
        try:
            return self.bench.words(self.expert) if self.bench.facts else {}
        except InputError:  # it is among the problems of the study
            return {}
