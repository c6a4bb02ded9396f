"""The studies of a server: their list, new ones, and how many of them have a process of their own."""

from __future__ import annotations

import atexit
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from .._files import as_path, read_json
from .._plain import decode
from ..demo import write_demo
from ..exceptions import InputError, UBayFSError
from ..study.schema import DataSection
from ..study.study import Study, load_study, study_of
from .history import now
from .state import APP, HISTORY, State, slug
from .study_facts import StudyEntry
from .workbench import Workbench
from .worker import Worker
from .worker_slots import PrivateFolder

_TRASH = ".trash"
_SUFFIX = ".app"
_IDLE_SECONDS = 600.0
_MOST_WORKERS = 20
_SECONDS_PER_LOOK = 1.0


class Library:
    """The studies below a directory, one directory each; of those that are open, the busiest have a worker.

    Attributes
    ----------
    root : Path
    idle_seconds : float
        After which a worker without anything to do is ended; the study stays open, and an edit starts it again.
    most_workers : int
        At most so many work at once; for a further one, that which was idle longest is ended, and if all are at work,
        it waits.
    """

    def __init__(
        self, root: str | Path, *, idle_seconds: float = _IDLE_SECONDS, most_workers: int = _MOST_WORKERS
    ) -> None:
        self.root = as_path(root, "directory").absolute()
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.root} cannot be made ({error.strerror}); name another directory.") from error
        self.idle_seconds, self.most_workers = idle_seconds, most_workers
        self._open: dict[str, Workbench] = {}
        self._extra: dict[str, Path] = {}  # studies outside the root, opened by name on the command line
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._slots = PrivateFolder("ubayfs-slots-")
        threading.Thread(target=self._tidy, name="ubayfs-idle-workers", daemon=True).start()
        atexit.register(self.close)

    # -- the list ------------------------------------------------------------------------------------------------------

    def studies(self) -> list[StudyEntry]:
        """Return all studies, the one that was changed last first."""
        places = [place for place in self.root.iterdir() if (place / HISTORY).is_file()] + list(self._extra.values())
        entries = []
        for place in places:
            entry = StudyEntry(place.name, place.name)
            with suppress(UBayFSError):
                entry = decode(
                    StudyEntry, {"name": place.name, **read_json(place / APP), "id": place.name}, lenient=True
                )
            entries.append(entry)
        return sorted(entries, key=lambda entry: entry.changed or "", reverse=True)

    def _place(self, id: str) -> Path:
        """Return the directory of a study; an id never leads out of the root."""
        place = self._extra.get(id, self.root / Path(id).name)
        if Path(id).name != id or not os.path.isfile(place / HISTORY):  # False for names that no disk can have
            raise InputError.of("study", f"{id!r} does not exist here.", id)
        return place

    def open(self, id: str) -> Workbench:
        """Return the workbench of a study; the same one for everybody."""
        place = self._place(id)
        with self._lock:
            if id not in self._open:
                self._open[id] = Workbench(place, self._launch)
            bench = self._open[id]
        bench.used = time.monotonic()
        bench.start_worker()
        return bench

    def create(self, name: str, source: Any = None) -> str:
        """Make a study and return its id.

        Parameters
        ----------
        name : str
        source : path or None
            A study file, or a table, for which the study is made that `ubayfs init` would write; None: without data.
        """
        name = name.strip() or "Study"
        return self._create(self.root / f"{slug(name)}-{uuid.uuid4().hex[:6]}", name, first_study(source))

    def _create(self, place: Path, name: str, study: Study) -> str:
        set_in_file = [*study.data.defaults(), "selector", "constraints"] if study.origin is not None else []
        try:
            Workbench.create(place, State.of(name, study, set_in_file), None).close()
        except OSError as error:
            raise InputError(f"{place} cannot be written ({error.strerror or error}).") from error
        return place.name

    def demo(self) -> str:
        """Make the study of the demo, with its data, and return its id."""
        place = self.root / f"demo-{uuid.uuid4().hex[:6]}"
        return self._create(place, "Demo: p53 in cell lines", load_study(write_demo(place / "uploads")))

    def add(self, path: str | Path) -> str:
        """Make, or reopen, the study ``<stem>.app`` beside a study file or a table, and return its id."""
        file = as_path(path).absolute()
        stem = file.name.split(".")[0]
        place = file.with_name(f"{stem}{_SUFFIX}")
        if not (place / HISTORY).is_file():
            self._create(place, stem, first_study(file))
        with self._lock:
            self._extra[place.name] = place
        return place.name

    def remove(self, id: str) -> None:
        """Move a study to the trash inside the root."""
        place = self._place(id)
        with self._lock:
            bench = self._open.pop(id, None)
            self._extra.pop(id, None)
        if bench is not None:
            bench.close()
        (place.parent / _TRASH).mkdir(exist_ok=True)
        shutil.move(place, place.parent / _TRASH / f"{now().replace(':', '')}-{id}")

    # -- processes -----------------------------------------------------------------------------------------------------

    def _launch(self, directory: Path, receive: Callable[..., None]) -> Worker | None:
        """Start a worker; if there are too many, one that is idle gives way, or this one waits."""
        working = [bench for bench in list(self._open.values()) if not bench.is_stopped]
        if len(working) >= self.most_workers:
            idle = [bench for bench in working if bench.idle]
            if not idle:
                return None
            min(idle, key=lambda bench: bench.used).stop_worker()
        return Worker(directory, receive, self._slots.path)

    def _tidy(self) -> None:
        """End workers that are idle for long, and start those that wait, until the library is closed."""
        while not self._ended.wait(min(_SECONDS_PER_LOOK, self.idle_seconds / 4)):
            for bench in list(self._open.values()):
                if bench.status == "waiting":
                    bench.start_worker()
                elif not bench.is_stopped and bench.idle and time.monotonic() - bench.used > self.idle_seconds:
                    bench.stop_worker()

    def close(self) -> None:
        """End all workers."""
        self._ended.set()
        atexit.unregister(self.close)
        with self._lock:
            benches, self._open = list(self._open.values()), {}
        for bench in benches:
            bench.close()
        self._slots.remove()


def first_study(source: str | Path | None) -> Study:
    """Return the study of a study file, or that to begin with for a table; one without data for None."""
    if source is None:
        return Study(DataSection(""))
    file = as_path(source).absolute()
    if file.suffix.lower() in (".yaml", ".yml"):
        return load_study(file)
    from .intake import inspect

    return study_of(inspect([file.name], None, str(file.parent), None).study, file.parent)
