"""Files of a directory that belong together: replaced all at once, whatever stops the program, and checked by digests.

New files are made in the hidden folder ``.ubayfs-staging``, with a manifest of their digests. When all of them are on
disk, one rename to ``.ubayfs-switch`` decides that they are the valid ones. Then files move one by one: an earlier file
from its place to ``old``, the new one from ``new`` to that place, the manifest last. Each move depends only on what is
where, so that a later program can finish the work from any point, or undo it. Before that rename the earlier files are
untouched; an abandoned staging folder is removed by the next writer.

A writer locks the directory. The system releases the lock when the process ends, however it ends.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .._files import read_json, sync_directory, try_lock, write_atomically
from ..exceptions import Advice, InputError

MANIFEST = "manifest.json"
_LOCK, _STAGING, _SWITCH = ".ubayfs-lock", ".ubayfs-staging", ".ubayfs-switch"
_FORMAT = 1
_PATIENCE = 100, 0.1  # times and seconds that a reader waits for files that another program is moving


@dataclass(frozen=True)
class FileSet:
    """Files of a directory that are replaced together; any other file there is left alone.

    Attributes
    ----------
    directory : Path
    names : tuple of str
        Every file that may be part of the set, relative to `directory`; files in use are those of the manifest.
    """

    directory: Path
    names: tuple[str, ...]

    # -- reading -------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Finish a switch that was interrupted; one that another program is making is waited for."""
        times, seconds = _PATIENCE
        for _ in range(times):
            if not self.in_switch:
                return
            try:
                with self._locked():
                    self._finish_interrupted()
            except _InUseError:
                time.sleep(seconds)
            except OSError as error:
                raise InputError(
                    f"the files in {self.directory} were being replaced when the program was stopped, and this could "
                    f"not be finished ({error.strerror or error}). Use it once with the right to write there."
                ) from error
        if self.in_switch:
            raise InputError(f"the files in {self.directory} are being replaced by another program; try again later.")

    @property
    def in_switch(self) -> bool:
        """Whether some files may be new ones, and some not yet."""
        return os.path.lexists(self.directory / _SWITCH)

    def manifest(self) -> dict[str, str] | None:
        """Return the digest of each file; None if there is no manifest."""
        return _read_manifest(self.directory / MANIFEST)

    # -- writing -------------------------------------------------------------------------------------------------------

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Keep other writers out, make the directory if need be, and tidy up after programs that were stopped.

        InputError if another program is writing there.
        """
        made = [path for path in (self.directory, *self.directory.parents) if not path.exists()]
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            with self._locked():
                self._finish_interrupted()
                if os.path.lexists(self.directory / _STAGING):
                    _remove(self.directory / _STAGING)
                    Advice("staging_removed", {"directory": str(self.directory)}).warn()
                yield
        finally:
            for path in made:
                with suppress(OSError):  # refused, as it should be, unless it is empty
                    path.rmdir()

    @contextmanager
    def staged(self) -> Iterator[Path]:
        """Give a folder for new files; at the end they take the place of all earlier ones.

        Only inside :meth:`reserved`. On any failure the directory is as it was.
        """
        staging = self.directory / _STAGING
        try:
            (staging / "old").mkdir(parents=True)
            (staging / "new").mkdir()
            yield staging / "new"
            self._commit(staging)
        except BaseException as error:
            if self.in_switch:
                self._undo(error)
            _remove(staging)
            raise

    def _commit(self, staging: Path) -> None:
        new = staging / "new"
        digests = {name: _digest((new / name).read_bytes()) for name in self.names if (new / name).exists()}
        content = json.dumps({"format": _FORMAT, "files": digests}, indent=2) + "\n"
        write_atomically(new / MANIFEST, content.encode())
        for folder in {(new / name).parent for name in digests}:
            sync_directory(folder)
        os.replace(staging, self.directory / _SWITCH)  # from here on the new files are the valid ones
        sync_directory(self.directory)
        self._move_in()

    def _finish_interrupted(self) -> None:
        if self.in_switch:
            self._move_in()
            Advice("switch_finished", {"directory": str(self.directory)}).warn()

    def _move_in(self) -> None:
        """Move new files to their places and earlier ones out of the way, from wherever a switch has got to."""
        switch = self.directory / _SWITCH
        wanted = _read_manifest(switch / "new" / MANIFEST)
        if wanted is not None:  # it is the last to be moved
            for name in (*self.names, MANIFEST):
                place, new, old = self.directory / name, switch / "new" / name, switch / "old" / name
                waiting, there = os.path.lexists(new), os.path.lexists(place)
                if waiting or there:
                    self._make_folder(name)
                if there and (waiting or name not in {*wanted, MANIFEST}):
                    old.parent.mkdir(exist_ok=True)
                    os.replace(place, old)
                if waiting:
                    os.replace(new, place)
            self._drop_folders()
            sync_directory(self.directory)
        _remove(switch)

    def _undo(self, error: BaseException) -> None:
        """Undo a switch; if not even that is possible, say that any later command finishes it."""
        switch = self.directory / _SWITCH
        wanted = _read_manifest(switch / "new" / MANIFEST)
        if wanted is None:  # everything is in its place already
            _remove(switch)
            return
        try:
            for name in wanted:
                if not os.path.lexists(switch / "new" / name):
                    os.replace(self.directory / name, switch / "new" / name)
            for name in (*self.names, MANIFEST):
                if os.path.lexists(switch / "old" / name):
                    self._make_folder(name)
                    os.replace(switch / "old" / name, self.directory / name)
            os.replace(switch, self.directory / _STAGING)
        except OSError:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise InputError(
                f"the new files in {self.directory} are complete, but not all of them could be moved to their places "
                f"({reason}). Close programs that have files open there; the next command that uses this directory "
                "finishes the work."
            ) from None
        finally:
            self._drop_folders()

    def _make_folder(self, name: str) -> None:
        folder = (self.directory / name).parent
        if folder.is_symlink() and folder != self.directory:  # never followed
            raise NotADirectoryError(errno.ENOTDIR, f"{folder} is a link", str(folder))
        folder.mkdir(exist_ok=True)

    def _drop_folders(self) -> None:
        for folder in {(self.directory / name).parent for name in self.names} - {self.directory}:
            sync_directory(folder)
            with suppress(OSError):  # refused, as it should be, unless it is empty
                folder.rmdir()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        path = self.directory / _LOCK
        descriptor = _open_locked(path)
        try:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())
            yield
        finally:
            try:
                with suppress(OSError):
                    path.unlink()
            finally:
                os.close(descriptor)


class _InUseError(InputError):
    """Another program has locked the directory."""

    def __init__(self, directory: Path, owner: str) -> None:
        super().__init__(
            f"{directory} is in use: another program{f' ({owner})' if owner else ''} is working on a result there. "
            "Wait until it has finished, or name another directory.",
            argument="directory",
        )


def _open_locked(path: Path) -> int:
    """Return the descriptor of a lock file that is locked now."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        if not try_lock(descriptor):
            owner = b""
            with suppress(OSError):
                owner = os.read(descriptor, 200)
            os.close(descriptor)
            raise _InUseError(path.parent, owner.decode(errors="replace"))
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.lstat()):
                return descriptor
        os.close(descriptor)  # whoever held the lock until now has removed this file; lock the next one


def _read_manifest(path: Path) -> dict[str, str] | None:
    """Return the digest of each file by its name; None if there is no manifest."""
    if not os.path.lexists(path):
        return None
    content = read_json(path)
    if content.get("format") != _FORMAT:
        raise InputError(f"{path} has the format {content.get('format')!r}; this ubayfs reads format {_FORMAT} only.")
    files = content.get("files")
    if not isinstance(files, dict) or not all(isinstance(digest, str) for digest in files.values()):
        raise InputError(f"{path} is damaged: 'files' must map names to digests.")
    return files


def changed_files(digests: Mapping[str, str], contents: Mapping[str, bytes]) -> list[str]:
    """Return the names of those files that are not as they were written."""
    return [name for name, content in contents.items() if digests.get(name) != _digest(content)]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _remove(path: Path) -> None:
    """Remove a folder with all that is in it, or a link that has its name."""
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)
