"""Files that hold data only, written whole or not at all, and read up to a limit: arrays and JSON in one .npz; CSV."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import sys
import uuid
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .exceptions import EnsembleError, InputError, UBayFSError, repr_of

# How the content of a file is read; whoever needs a file at several places passes its own.
ReadBytes = Callable[[Path], bytes]

FIGURE_FORMATS = ("png", "svg", "pdf")

# The most memory for one file, and its default as a part of the free one: tables are held several times while read.
_LIMIT, _SHARE = "UBAYFS_MEMORY_LIMIT", 4
_JSON = 25  # bytes of memory for each byte of JSON, which may be an empty list

_METADATA, _TEXTS = "metadata", ("metadata", "about")  # of an archive; both are JSON
# Text that a spreadsheet takes for a formula, with as many apostrophes in front as there are; numbers are none. Some
# take full-width signs for the usual ones, and pass over a byte order mark.
_NUMBER = r"[+-]*$|[+-]?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?$"
_FORMULA = re.compile(rf"'*(?!{_NUMBER})[=+\-@\t\r\ufeff\uff1d\uff0b\uff0d\uff20]", re.ASCII)


def as_path(path: str | os.PathLike[str], argument: str = "path") -> Path:
    """Return a path that the system can look up, whether or not there is anything."""
    if not isinstance(path, str | os.PathLike):
        raise InputError.of(argument, f"must be the path of a file; got {repr_of(path)}.", path)
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:  # a closed folder, a loop of links, characters that no name can have
        reason = getattr(error, "strerror", None) or error
        shown = str(path)
        shown = shown if len(shown) <= 100 else f"{shown[:60]}...{shown[-30:]}"
        message = f"{shown!r} cannot be the path of a file ({reason}). Name another, or get the right to search there."
        raise InputError(message, argument=argument, value=path) from error
    return Path(path)


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; InputError if it cannot be read, or is too large."""
    try:
        check_unpacked(path, path.stat().st_size)
        return path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror or error}). Name a file that you may read."
        raise InputError(message, argument="path", value=path) from error


def check_unpacked(path: Path, size: int, more: bool = False) -> int:
    """Refuse a file that takes so much memory, or `more`; return the limit, as it is set or by the free memory."""
    setting, limit = os.environ.get(_LIMIT), 8 * 10**9 // _SHARE  # where the system does not tell
    with suppress(OSError, IndexError):
        limit = 1024 * int(Path("/proc/meminfo").read_text().partition("MemAvailable:")[2].split()[0]) // _SHARE
    with suppress(OSError, ValueError):  # of a container, if it has a limit
        limit = min(limit, int(Path("/sys/fs/cgroup/memory.max").read_text()) // _SHARE)
    try:
        limit = int(float(setting) * 10**9) if setting else limit
        if limit <= 0:
            raise ValueError("not positive")
    except (ValueError, OverflowError) as error:
        rule = f"must be a number of gigabytes above 0, such as 16; got {repr_of(setting)}."
        raise InputError.of(_LIMIT, rule, setting) from error
    if size > limit:
        message = (
            f"{path} takes {'more than ' * more}{size / 1e9:,.2f} GB of memory when it is unpacked; the limit for one "
            f"file is {limit / 1e9:,.2f} GB. Read a smaller file, or raise the limit by the environment variable "
            f"{_LIMIT}, in GB: {_LIMIT}=16."
        )
        raise InputError(message, argument="path", value=path)
    return limit


class WatchedContent(io.BytesIO):
    """Compressed XML; reading it ends when the program has grown too much: elements take many times their bytes."""

    def __init__(self, content: bytes, path: Path) -> None:
        super().__init__(content)
        self._path, self._before = path, _most_memory()

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes."""
        check_unpacked(self._path, _most_memory() - self._before, more=True)
        return super().read(size)


def _most_memory() -> int:
    """Return the most bytes that this process has had so far; 0 where the system does not tell."""
    with suppress(ImportError):
        from resource import RUSAGE_SELF, getrusage

        return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return 0


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a crash or a power loss leaves either the old file or the new one, never a part."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make new names in a directory survive a power loss, if the system can do that."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock an open file until its process ends; False if another one has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES)  # else a disk that knows no locks
    return True


def encode_record(kind: str, version: int, metadata: Mapping[str, Any], **arrays: NDArray[Any]) -> bytes:
    """Return arrays and JSON metadata (plain types) as the content of one .npz file, without pickle.

    A reader refuses another `kind` of file and a newer `version` of the format.
    """
    text = json.dumps({"kind": kind, "version": version, **metadata})
    buffer = io.BytesIO()
    encoded = np.frombuffer(text.encode(), dtype=np.uint8)
    np.savez_compressed(buffer, allow_pickle=False, **{_METADATA: encoded}, **arrays)
    return buffer.getvalue()


def save_content(path: Path, content: bytes, error: type[UBayFSError]) -> None:
    """Write a file, whole or not at all, with messages for the caller.

    InputError if `path` names no file in a directory that exists; `error` if the file cannot be written: no permission,
    no space left, ...
    """
    as_path(path)
    if not path.name:
        raise InputError(f"path must name a file to write; got {str(path)!r}. Add a file name such as 'evidence.npz'.")
    if not path.parent.is_dir():
        raise InputError(
            f"path must lie in a directory that exists; {str(path.parent)!r} does not, so {str(path)!r} cannot be "
            "written. Make that directory first, or name another path.",
            argument="path",
        )
    try:
        write_atomically(path, content)
    except OSError as reason:
        # The message of the system would name the temporary file, which is gone by now.
        raise error(
            f"{path} could not be written ({reason.strerror or reason}); a file that was there before is unchanged. "
            "Name a path that you may write, or free space, and save again."
        ) from reason


def save_record(path: Path, kind: str, version: int, metadata: Mapping[str, Any], **arrays: NDArray[Any]) -> None:
    """Write what :func:`encode_record` returns as :func:`save_content` does."""
    save_content(path, encode_record(kind, version, metadata, **arrays), EnsembleError)


def load_record(
    path: Path, kind: str, version: int, members: str, read: ReadBytes = read_bytes
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what :func:`save_record` wrote, arrays by a pattern of names; EnsembleError says why it is anything else."""
    if not as_path(path).is_file():
        raise EnsembleError(f"{path} does not exist or is not a file; expected {kind}.")
    try:
        # From memory: numpy leaves the file open when an archive turns out to be damaged.
        content = io.BytesIO(read(path))
        if not zipfile.is_zipfile(content):
            raise EnsembleError(f"{path} is not {kind}, or it was cut short: it is not an .npz file.")
        _check_members(path, content, kind, members)
        with np.load(content, allow_pickle=False) as archive:
            # Reading every member checks its CRC, so damage shows here and nowhere later.
            arrays = {name: archive[name] for name in archive.files}
        if any(array.dtype.kind not in "biuf" for array in arrays.values()):  # no array where the head is damaged
            raise ValueError("a member is not an array of numbers")
        metadata = json.loads(arrays.pop(_METADATA, np.empty(0, np.uint8)).tobytes() or b"{}")
    except UBayFSError as error:
        raise EnsembleError(str(error)) from error
    except Exception as error:  # a damaged zip archive may raise nearly anything
        raise EnsembleError(f"{path} is damaged and cannot be read ({type(error).__name__}: {error}).") from error
    if not isinstance(metadata, dict) or metadata.get("kind") != kind:
        raise EnsembleError(f"{path} is not {kind}: it was not written by ubayfs for this purpose.")
    written = metadata.get("version")
    if not isinstance(written, int) or written > version:
        raise EnsembleError(
            f"{path} has format version {written!r}, but this ubayfs reads up to {version}; update ubayfs."
        )
    return metadata, arrays


def _check_members(path: Path, content: io.BytesIO, kind: str, members: str) -> None:
    """Refuse arrays that are not asked for, and too large ones; no more is unpacked than an archive declares."""
    with zipfile.ZipFile(content) as archive:
        sizes = {entry.filename.removesuffix(".npy"): entry.file_size for entry in archive.infolist()}
    others = [name for name in sizes if name != _METADATA and not re.fullmatch(members, name)]
    if others:
        raise EnsembleError(f"{path} is not {kind}: it was not written by ubayfs, since it has a part {others[0]!r}.")
    texts = sum(size for name, size in sizes.items() if name.endswith(_TEXTS))
    check_unpacked(path, sum(sizes.values()) + _JSON * texts)
    content.seek(0)


def read_json(path: Path, read: ReadBytes = read_bytes) -> dict[str, Any]:
    """Return the object in a JSON file; anything else is refused with an InputError that says why."""
    text = read(path)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged and cannot be read as JSON ({error}).") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} is damaged: it must hold an object; got {type(content).__name__}.")
    return content


def protected(text: str) -> str:
    """Return a text for a cell of CSV such that no spreadsheet takes it for a formula: with an apostrophe in front.

    >>> protected("=A1"), protected("-2+3"), protected("-2.5"), protected("'=A1"), protected("gene")
    ("'=A1", "'-2+3", '-2.5', "''=A1", 'gene')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unprotected(text: str) -> str:
    """Return what :func:`protected` was given.

    >>> unprotected("'=A1"), unprotected("''=A1"), unprotected("-2.5"), unprotected("'quoted'")
    ('=A1', "'=A1", '-2.5', "'quoted'")
    """
    return text[1:] if text[:1] == "'" and _FORMULA.match(text) else text


# -- paths of files in a value -----------------------------------------------------------------------------------------


class WithFiles:
    """A part of a study with keys that name files, by themselves or in parts of their own."""

    path_keys: ClassVar[tuple[str, ...]] = ()

    def with_paths(self, changed: Callable[[str], str]) -> Self:
        """Return the part with other paths of the same files."""
        moved = copy(self)  # checked before: what it holds may be long
        for key in self.path_keys:
            object.__setattr__(moved, key, _with_paths(getattr(self, key), changed))
        return moved

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files."""
        paths: list[str] = []

        def note(path: str) -> str:
            paths.append(path)
            return path

        self.with_paths(note)  # the one place that knows where a part has its paths
        return tuple(paths)


def _with_paths(value: Any, changed: Callable[[str], str]) -> Any:
    if isinstance(value, str | os.PathLike):
        return changed(os.fspath(value))
    if isinstance(value, Mapping):
        return {name: _with_paths(entry, changed) for name, entry in value.items()}
    return value.with_paths(changed) if isinstance(value, WithFiles) else value
