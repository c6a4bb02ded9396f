"""Folders that one process has for itself while it runs; one that was killed leaves them, and the next removes them."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from .._files import try_lock

_OWNER = "owner"  # file that the process locks: locks end with the process, however it ends
_SECONDS_TO_LOCK = 60.0  # for a process between making its folder and locking it


class OwnFolder:
    """A folder that nobody else can read (mode 700), until it is removed or the process ends.

    Parameters
    ----------
    prefix : str
        How its name begins. Folders of this prefix whose process is gone are removed.
    parent : Path or None
        Where it is; None: among the temporary files.

    Examples
    --------
    >>> folder = OwnFolder("ubayfs-doctest-")
    >>> folder.remove()
    >>> folder.path.exists()
    False
    """

    def __init__(self, prefix: str, parent: Path | None = None) -> None:
        self._folder = TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)
        self.path = Path(self._folder.name)
        self._held = os.open(self.path / _OWNER, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try_lock(self._held)
        if _has_owner(self.path):  # else this disk knows no locks
            for place in self.path.parent.glob(f"{prefix}*"):
                with suppress(OSError):
                    if _is_old(place.lstat()) and not _has_owner(place):
                        shutil.rmtree(place)

    def remove(self) -> None:
        """Remove the folder with all that is in it; a second time, nothing is done."""
        if self._held >= 0:
            held, self._held = self._held, -1
            os.close(held)
            self._folder.cleanup()


def _is_old(known: os.stat_result) -> bool:
    """Tell whether a folder is this user's, and no process can be about to lock it."""
    own = not hasattr(os, "getuid") or known.st_uid == os.getuid()
    return own and time.time() - known.st_mtime > _SECONDS_TO_LOCK


def _has_owner(folder: Path) -> bool:
    """Tell whether a process that runs has a folder; raise OSError if that cannot be known."""
    owner = os.open(folder / _OWNER, os.O_RDWR)
    try:
        return not try_lock(owner)
    finally:
        os.close(owner)
