"""Files that hold data only, written whole or not at all: arrays and JSON in one .npz; cells of CSV.

What a file may unpack to is limited, so that no small file takes all memory.
"""

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
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .exceptions import EnsembleError, InputError, UBayFSError, repr_of

# How the content of a file is read; whoever needs a file at several places passes its own.
ReadBytes = Callable[[Path], bytes]

FIGURE_FORMATS = ("png", "svg", "pdf")

# The setting of the most memory that one file may unpack to, and which part of the free memory that is by default: a
# table is held several times while it is read.
_LIMIT, _SHARE = "UBAYFS_MEMORY_LIMIT", 4
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
# Where Linux tells the free memory of the machine and the limit of a container.
_SYSTEM = {"/proc/meminfo": r"MemAvailable: +([0-9]+) (kB)", "/sys/fs/cgroup/memory.max": r"([0-9]+)()"}
_UNKNOWN_MEMORY = 8 * 10**9
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
        message = f"{shown!r} cannot be the path of a file ({reason}). Name another path."
        if isinstance(error, PermissionError):
            message = f"{shown!r} cannot be looked up ({reason}). Ask for the right to search the folders above it."
        raise InputError(message, argument=argument, value=path) from error
    return Path(path)


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder; none if it is not there or cannot be listed."""
    with suppress(OSError):
        return os.listdir(folder)
    return []


def read_bytes(path: Path) -> bytes:
    """Return the content of a file."""
    check_unpacked(path, path.stat().st_size)
    return path.read_bytes()


def memory_limit() -> int:
    """Return the most bytes that one file may unpack to: what UBAYFS_MEMORY_LIMIT says, or a share of free memory."""
    given = os.environ.get(_LIMIT, "")
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?) *([KMGT]?)I?B?", given.strip().upper())
    if found:
        return int(float(found[1]) * _UNITS[found[2]])
    if given:
        raise InputError.of(_LIMIT, f"must be a number of bytes, such as 8GB or 500MB; got {repr_of(given)}.", given)
    memory = [_UNKNOWN_MEMORY]
    for place, pattern in _SYSTEM.items():
        with suppress(OSError):
            told = re.search(pattern, Path(place).read_text(encoding="ascii"))
            memory += [int(told[1]) * (1024 if told[2] else 1)] if told else []
    return min(memory[1:] or memory) // _SHARE


def check_unpacked(path: Path, size: int, more: bool = False) -> None:
    """Refuse a file that takes more memory than one file may take; `more`: at least so much, it was not unpacked."""
    limit = memory_limit()
    if size > limit:
        needed, allowed = (f"{n / 10**9:,.2f} GB" if n >= 10**7 else f"{n:,} bytes" for n in (size, limit))
        raise InputError(
            f"{path} unpacks to {'more than ' if more else ''}{needed}, and one file may take {allowed} of memory. "
            f"Read a smaller file, or raise the limit by the environment variable {_LIMIT}, such as {_LIMIT}=16GB.",
            argument="path",
            value=path,
        )


class WatchedContent(io.BytesIO):
    """The content of a file that is unpacked while it is read: refused when the program has grown by too much.

    Elements of XML, for instance, take twenty times the bytes that the archive declares.
    """

    def __init__(self, content: bytes, path: Path) -> None:
        super().__init__(content)
        self._path, self._limit, self._before = path, memory_limit(), _most_memory()

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes."""
        if _most_memory() - self._before > self._limit:
            check_unpacked(self._path, self._limit + 1, more=True)
        return super().read(size)


def _most_memory() -> int:
    """Return the most bytes that this process has had so far; 0 where the system does not tell."""
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a crash or a power loss leaves either the old file or the new one, never a part."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):  # a full disk names no file, and the temporary one is gone
            raise OSError(error.errno, error.strerror or str(error), str(path)) from error
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
    """Read what :func:`save_record` wrote; anything else is refused with an EnsembleError that says why.

    `members` is a pattern of the names of arrays. A file with others was not written by this package.
    """
    if not as_path(path).is_file():
        raise EnsembleError(f"{path} does not exist or is not a file; expected {kind}.")
    try:
        # From memory: numpy leaves the file open when an archive turns out to be damaged.
        content = io.BytesIO(read(path))
        if not zipfile.is_zipfile(content):
            raise EnsembleError(f"{path} is not {kind}, or it was cut short: it is no .npz file.")
        _check_members(path, content, kind, members)
        with np.load(content, allow_pickle=False) as archive:
            # Reading every member checks its CRC, so damage shows here and nowhere later.
            arrays = {name: archive[name] for name in archive.files}
        if any(array.dtype.kind not in "biuf" for array in arrays.values()):  # no array where the head is damaged
            raise ValueError("a member is not an array of numbers")
        metadata = json.loads(arrays.pop(_METADATA, np.empty(0, np.uint8)).tobytes() or b"{}")
    except UBayFSError as error:
        raise EnsembleError(str(error)) from error
    except PermissionError as error:
        raise EnsembleError(f"{path} cannot be read ({error.strerror}). Name a file that you may read.") from error
    except Exception as error:  # a damaged zip archive may raise nearly anything
        raise EnsembleError(f"{path} is damaged and cannot be read ({type(error).__name__}: {error}).") from error
    if not isinstance(metadata, dict) or metadata.get("kind") != kind:
        raise EnsembleError(f"{path} is not {kind}: it was not written by ubayfs for this purpose.")
    found = metadata.get("version")
    if not isinstance(found, int) or found > version:
        raise EnsembleError(
            f"{path} has format version {found!r}, but this ubayfs reads up to {version}; update ubayfs."
        )
    return metadata, arrays


def _check_members(path: Path, content: io.BytesIO, kind: str, members: str) -> None:
    """Refuse arrays that are not asked for, and more than memory holds, by what the archive declares of them.

    Nothing is unpacked beyond the declared size.
    """
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
    try:
        content = json.loads(read(path))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}).") from error
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
