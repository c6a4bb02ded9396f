"""The process of an open study: it reads, collects and decides, so that the server never waits.

Messages go both ways through a pipe, as tuples whose first entry is their kind. One thread reads them, the main one
decides and answers requests, a third one runs ensembles, a fourth one writes files and draws figures, so that decisions
do not wait for these. A newer state takes the place of one that waits, and ends every stage but the set, which is
short. When the server ends, however it ends, the pipe does, and so does the process; finished runs are stored by then.
"""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from copy import copy
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ..exceptions import UBayFSError, UBayFSWarning
from .facts import problems_of
from .requests import BACKGROUND_REQUESTS, REQUESTS
from .staged_answer import StageError
from .stages import STAGES, Stages
from .study_facts import ListedKnowledge, Problem, Progress
from .worker_slots import WorkerSlots, lower_priority

_PAUSE = 3.0  # seconds without an edit after which trust is looked for
_SECONDS_PER_REPORT = 0.25  # between two counts of the votes while models run
_SECONDS_PER_LOOK = 0.05  # for a slot, while other studies have all of them
_AT_ONCE = ("set", "reasons")  # stages that wait for no other study


class Superseded(BaseException):
    """A newer state has come: what is being computed is no longer wanted. No handler of errors shall catch it."""


def run(pipe: Connection, directory: Path, slots: Path | None = None) -> None:
    """Work until the pipe ends: the main function of the process; `slots` is the folder of those of the server."""
    warnings.simplefilter("ignore", UBayFSWarning)  # answers carry advice as values
    loop = _Loop(pipe, directory, slots)
    signal.signal(signal.SIGINT, loop.on_interrupt)
    threading.Thread(target=loop.read, daemon=True).start()
    threading.Thread(target=loop.run_ensembles, daemon=True).start()
    loop.decide_forever()


class _Loop:
    def __init__(self, pipe: Connection, directory: Path, slots: Path | None = None) -> None:
        self._pipe, self._sending = pipe, threading.Lock()
        self._stages = Stages(directory)
        n_processors = os.cpu_count() or 1
        self._slots = WorkerSlots(slots, "stages", n_processors)
        self._background = WorkerSlots(slots, "background", max(n_processors // 2, 1))
        self._ready = threading.Condition()
        self._state: tuple[int, Any] | None = None  # revision and state that wait
        self._revision = -1
        self._requests: deque[tuple[int, str, dict[str, Any]]] = deque()
        self._rest: deque[str] = deque()  # stages still to do
        self._knowledge = ListedKnowledge()  # what the server has of it
        self._file_executor = ThreadPoolExecutor(1)  # the thread of files and figures
        self._job: tuple[Any, ...] | None = None  # for the thread of ensembles: collect, or trust with work and level
        self._working = ""  # what that thread does
        self._wants_full = False  # whether the level full was asked for while less was collected
        self._stop = self._interrupting = self._interruptible = False
        self._entering = False  # whether a state is on its way to the stages
        self._edited = time.monotonic()
        self._busy = False  # whether decisions go first

    def send(self, kind: str, *content: Any) -> None:
        with self._sending:
            try:
                self._pipe.send((kind, *content))
            except OSError:  # the server has ended
                os._exit(0)

    def _failed(self, error: Exception) -> None:
        """Report a mistake of the package; the study is as it was."""
        traceback.print_exc()
        self.send("failed", self._revision, f"{type(error).__name__}: {error}")

    # -- the thread that reads -----------------------------------------------------------------------------------------

    def read(self) -> None:
        while True:
            try:
                kind, *content = self._pipe.recv()
            except (EOFError, OSError):
                os._exit(0)
            with self._ready:
                if kind == "state":
                    self._edited, self._busy = time.monotonic(), True
                    self._supersede(content[0], content[1])
                elif kind == "request":
                    self._requests.append((content[0], content[1], content[2]))
                elif kind == "stop":
                    self._stop, self._wants_full = True, False
                elif kind == "close":
                    os._exit(0)
                elif kind == "collect":
                    self._stop, self._job = False, ("collect",)
                self._ready.notify_all()

    def _supersede(self, revision: int, state: Any) -> None:
        """Have the main thread enter a state, at once unless it decides or reads; the caller has the lock."""
        self._state = (revision, state)
        if self._interruptible:
            self._interrupting = True
            _thread.interrupt_main()

    def on_interrupt(self, number: int, frame: Any) -> None:
        """Raise in the main thread if it is wanted; Ctrl-C in the server's terminal is not."""
        if self._interrupting and self._interruptible:
            self._interrupting = self._interruptible = False
            raise Superseded

    # -- the main thread: decisions and requests -----------------------------------------------------------------------

    def decide_forever(self) -> None:
        while True:
            with suppress(Superseded):
                self._next()()

    def _next(self) -> Callable[[], None]:
        """Wait for something to do: a new state, a request, the next stage."""
        with self._ready:
            self._interrupting = self._entering = False
            self._ready.notify_all()
            while True:
                self._busy = bool(self._state or self._requests or self._rest)
                if self._state is not None:
                    (revision, state), self._state, self._entering = self._state, None, True
                    return lambda: self._enter(revision, state)
                if self._requests:
                    number, kind, payload = self._requests.popleft()
                    return lambda: self._answer(number, kind, payload)
                if self._rest:
                    stage = self._rest.popleft()
                    return lambda: self._stage(stage)
                self._ready.wait()

    @contextmanager
    def _giving_way(self, stage: str = "") -> Iterator[None]:
        """Wait for a slot, and let a newer state end the waiting and what is done in here."""
        try:
            with self._ready:
                while self._state is None and stage not in _AT_ONCE and not self._slots.acquire():
                    self._ready.wait(_SECONDS_PER_LOOK)
                if self._state is not None:
                    raise Superseded
                self._interruptible = True
            try:
                yield
            finally:
                self._interruptible = False
        finally:
            self._slots.release()

    def _enter(self, revision: int, state: Any) -> None:
        self._revision, self._rest = revision, deque()
        stages = self._stages
        if state.study.data.files[0]:
            self.send("status", "deciding" if stages.has_read(state) else "reading")
        try:
            read, problems = stages.set_state(state)
            knowledge = stages.knowledge()
            if read is not None or knowledge != self._knowledge:
                self._knowledge = knowledge
                self.send("facts", read, knowledge)
            problems.raise_any()
            votes = None if (evidence := stages.current()) is None else evidence.counts
            self.send("evidence", revision, stages.ensemble_progress(), votes)
            if stages.data is not None:
                self.send("conditions", revision, stages.n_conditions)
                self._set()
        except UBayFSError as error:
            self.send("problems", revision, problems_of(error, state))
        except Exception as error:
            self._failed(error)
        else:
            self.send("problems", revision, [])
        with self._ready:
            self._entering = False
            if self._stages.data is None:
                self._job = None  # there is nothing to run ensembles on
            self._ready.notify_all()
        self._tell_status()

    def _tell_status(self) -> None:
        """Send what is going on; once more if another thread began or ended something before it was sent."""
        while (status := self._status()) is not None:
            self.send("status", status)
            if self._status() == status:
                break

    def _status(self) -> str | None:
        """Return what is going on; None if a state is on its way, which tells it in the end."""
        with self._ready:
            if self._entering or self._state is not None:
                return None
            state = self._stages.state
            if state is None or not state.study.data.files[0]:
                return "no data"
            return "collecting" if "collect" in (self._working, *(self._job or ())) else "ready"

    def _set(self) -> None:
        if self._stages.current() is None:
            return
        if self._stages.waits_for_related:  # the size of the set depends on it
            self.find_trust("quick", pause=0.0)
            raise UBayFSError("The number of features that the data support is being computed.")
        self.send("answer", self._revision, "set", self._stages.set())
        self._rest.extend(STAGES[1:])

    def find_trust(self, level: str, pause: float = _PAUSE) -> None:
        """Have the ensembles of a level of trust collected, unless they are known or being collected.

        What is asked for takes the place of what waits for a pause, and follows what is being collected.
        """
        work = self._stages.work(self._watch)
        with self._ready:
            waits_for_less = self._job is not None and self._job[0] == "trust" and level == "full"
            if self._working == "trust":
                self._wants_full = self._wants_full or level == "full"
            elif (self._job is None or waits_for_less) and not self._stop:
                self._job = ("trust", work, level, pause)
                self._ready.notify_all()

    def _stage(self, stage: str) -> None:
        try:
            with self._giving_way(stage):
                content = getattr(self._stages, "trust_stage" if stage == "trust" else stage)()
            self.send("answer", self._revision, stage, content)
        except UBayFSError as error:
            self.send("answer", self._revision, stage, StageError(str(error)))
        except Exception as error:
            self._failed(error)
        if stage == "trust" and self._wants_full:
            self._wants_full = False
            self.find_trust("full", pause=0.0)
        elif stage == "trust" and self._stages.lacks_trust:
            self.find_trust("quick")

    def _answer(self, number: int, kind: str, payload: dict[str, Any]) -> None:
        if kind in BACKGROUND_REQUESTS:  # on the answer as it is now, whatever is edited meanwhile
            self._file_executor.submit(self._reply, number, kind, payload, copy(self._stages))
        else:
            self._reply(number, kind, payload)

    def _reply(self, number: int, kind: str, payload: dict[str, Any], snapshot: Any = None) -> None:
        try:
            if kind == "trust":
                self._stop = False
                answer = None
                self.find_trust(**payload, pause=0.0)
            elif snapshot is not None:
                answer = REQUESTS[kind](snapshot, **payload)
            else:
                with self._giving_way():
                    answer = REQUESTS[kind](self._stages, **payload)
            self.send("reply", number, True, answer)
        except Superseded:
            self.send("reply", number, None, "The study was changed meanwhile.")
            raise
        except UBayFSError as error:
            self.send("reply", number, False, str(error))
        except OSError as error:
            self.send("reply", number, False, f"A file could not be read or written ({error.strerror or error}).")
        except Exception as error:
            self._failed(error)
            self.send("reply", number, None, f"This could not be done ({type(error).__name__}: {error}).")

    # -- the thread of ensembles ---------------------------------------------------------------------------------------

    def run_ensembles(self) -> None:
        while True:
            job = self._next_job()
            try:
                changed = self._collect() if job[0] == "collect" else self._find_trust(job[1], job[2])
            except UBayFSError as error:
                changed = False
                self.send("problems", -1, [Problem(str(error), ("evidence",))])
            except Exception as error:
                changed = False
                self._failed(error)
            self._background.release()
            self.send("progress", None)
            with self._ready:
                self._working = ""
                again = changed and (job[0] == "collect" or self._stages.selection is None)
                if again and self._state is None and self._stages.state is not None:
                    self._supersede(self._revision, self._stages.state)  # decide on what there is now
                elif changed and not again:
                    self._rest.append("trust")
                self._ready.notify_all()
            self._tell_status()

    def _find_trust(self, work: Any, level: str) -> bool:
        """Collect what a level of trust asks for, at a low priority, which a thread cannot leave again."""
        with ThreadPoolExecutor(1, initializer=lower_priority) as executor:
            return executor.submit(self._stages.find_trust, work, level).result()

    def _next_job(self) -> tuple[Any, ...]:
        """Wait for work; trust waits until nothing was edited for a while."""
        with self._ready:
            while (wait := self._time_to_wait()) > 0:
                self._ready.wait(wait)
            job = self._job
            assert job is not None
            self._job, self._working = None, job[0]
            return job

    def _time_to_wait(self) -> float:
        if self._job is None or self._stages.data is None or self._state is not None or self._entering:
            return threading.TIMEOUT_MAX  # until there is something to do, data are read, and what was edited counts
        if self._job[0] == "collect":
            return 0.0
        wait = self._edited + float(self._job[-1]) - time.monotonic()
        return 10 * _SECONDS_PER_LOOK if wait <= 0 and not self._background.acquire() else wait

    def _collect(self) -> bool:
        """Run the ensemble; what is finished is used."""
        self.send("status", "collecting")
        with self._watch("runs", "runs", self._stages.counter()) as update:
            self._stages.keep(self._stages.collect(update))
        return True

    @contextmanager
    def _watch(
        self, part: str, unit: str, counted: Callable[[], Any] | None = None
    ) -> Iterator[Callable[[int, int], bool]]:
        """Give a callback that tells the server how far a part is, and whether to go on."""
        begun, first, next_report = time.monotonic(), None, 0.0

        def update(done: int, total: int) -> bool:
            nonlocal first, next_report
            now = time.monotonic()
            first = done if first is None else first
            rate = (done - first) / (now - begun) if done > first else None
            left = None if rate is None else (total - done) / rate
            if now > next_report or done == total:
                self.send("progress", Progress(part, done, total, left))
                if counted is not None:
                    self.send("votes", counted())
                taken = time.monotonic() - now  # counting many runs takes a while: at most a tenth of the time
                next_report = now + max(_SECONDS_PER_REPORT, 10 * taken)
            while self._busy and counted is None and not self._stop:
                time.sleep(0.05)  # decisions first
            return not self._stop and (counted is not None or self._job != ("collect",))  # votes before trust

        yield update
