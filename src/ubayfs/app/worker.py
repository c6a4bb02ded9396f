"""The server's side of the process of an open study, which is in :mod:`.study_process`."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# Messages of the process that carry the revision of the state that they are about.
Receive = Callable[[str, tuple[Any, ...]], None]

# On Linux, processes are forked from one that has loaded these modules; elsewhere forks are not safe or not possible.
_CONTEXT: Any = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
if sys.platform == "linux":
    _CONTEXT.set_forkserver_preload(["ubayfs.app.study_process", "ubayfs.tables.reading"])

_SECONDS_TO_END = 2.0


def _run(*arguments: Any) -> None:
    from .study_process import run  # the server itself does without

    run(*arguments)


class Worker:
    """The server's side: starts the process, sends, and hands over what comes back, in a thread of its own."""

    def __init__(self, directory: Path, receive: Receive, slots: Path | None = None) -> None:
        self._pipe, there = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_run, args=(there, directory, slots), name=f"ubayfs {directory.name}")
        self._lock, self._started = threading.Lock(), threading.Event()
        self._receive, self._closed = receive, False
        threading.Thread(target=self._listen, args=(there,), name="ubayfs-worker-events", daemon=True).start()

    @property
    def pid(self) -> int | None:
        """Id of the process."""
        pid: int | None = self._process.pid
        return pid

    def send(self, kind: str, *content: Any) -> None:
        """Send a message; `receive` reports when the process has ended."""
        with self._lock, suppress(OSError, ValueError):
            self._pipe.send((kind, *content))

    def _listen(self, there: Connection) -> None:
        with suppress(OSError, EOFError):  # one that cannot be started has ended at once
            self._process.start()  # the first one waits for the modules
        there.close()
        self._started.set()
        while True:
            try:
                kind, *content = self._pipe.recv()
            except (EOFError, OSError, TypeError):  # also when this side was closed while it waited
                break
            self._receive(kind, tuple(content))
        if not self._closed:
            self._wait()
            self._receive("ended", (self._process.exitcode,))

    def _wait(self) -> None:
        self._started.wait()
        if self.pid is not None:
            self._process.join(_SECONDS_TO_END)

    def close(self) -> None:
        """End the process, whatever it does."""
        self._closed = True
        self.send("close")
        self._wait()
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._pipe.close()
