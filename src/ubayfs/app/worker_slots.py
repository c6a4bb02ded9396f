"""Which processes of a server may compute what can wait: as many at once as there are processors for it.

Else twenty studies that look for alternatives would slow down the server, and the set of the twenty-first.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from .._files import try_lock

_OWNER = "owner"  # file in the folder of a process, which it locks: locks end with the process, however it ends
_SECONDS_TO_LOCK = 60.0  # for a process between making its folder and locking it


class WorkerSlots:
    """A number of files in a folder; whoever locks one has a slot, which ends with the process, however it ends.

    Parameters
    ----------
    folder : Path or None
        None: there is nobody to wait for.
    kind : str
    n : int
        WorkerSlots that there are at once.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     first, second = WorkerSlots(Path(folder), "stages", 1), WorkerSlots(Path(folder), "stages", 1)
    ...     taken = first.acquire(), second.acquire()
    ...     first.release()
    ...     again = second.acquire()
    ...     second.release()
    >>> taken, again
    ((True, False), True)
    """

    def __init__(self, folder: Path | None, kind: str, n: int) -> None:
        paths = [] if folder is None else [folder / f"{kind}-{i}" for i in range(n)]
        self._paths, self._held = paths, -1

    def acquire(self) -> bool:
        """Take a slot; False if all are taken."""
        for path in self._paths if self._held < 0 else ():
            held = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            if try_lock(held):
                self._held = held
                break
            os.close(held)
        return self._held >= 0 or not self._paths

    def release(self) -> None:
        """Let somebody else have the slot."""
        if self._held >= 0:
            held, self._held = self._held, -1
            os.close(held)


def lower_priority() -> None:
    """Let decisions, and whatever else this machine does, go before this thread and those that it starts."""
    with suppress(AttributeError, OSError):  # where threads have no priority of their own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


class PrivateFolder:
    """A folder that nobody else can read (mode 700); if the process is killed, the next one removes it."""

    def __init__(self, prefix: str, parent: Path | None = None) -> None:
        self._folder = TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)
        self.path = Path(self._folder.name)
        self._owner = open(self.path / _OWNER, "xb")  # noqa: SIM115  # as long as the folder
        try_lock(self._owner.fileno())
        for place in self.path.parent.glob(f"{prefix}*") if _has_owner(self.path) else ():  # else there are no locks
            with suppress(OSError):
                status = place.lstat()
                is_own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
                if is_own and time.time() - status.st_mtime > _SECONDS_TO_LOCK and not _has_owner(place):
                    shutil.rmtree(place)

    def remove(self) -> None:
        """Remove the folder with all that is in it; a second time, nothing is done."""
        self._owner.close()
        self._folder.cleanup()


def _has_owner(folder: Path) -> bool:
    """Return whether a process that runs has a folder; raise OSError if nobody knows."""
    with open(folder / _OWNER, "r+b") as owner:
        return not try_lock(owner.fileno())
