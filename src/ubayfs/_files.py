"""Files that hold data only: arrays and JSON in one .npz, written whole or not at all."""

from __future__ import annotations

import io
import json
import os
import shutil
import uuid
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .exceptions import EnsembleError, InputError, UBayFSError

_METADATA = "metadata"


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
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    # The new name must survive a power loss too. Some systems cannot open directories; there is nothing to do then.
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


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


def load_record(path: Path, kind: str, version: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what :func:`save_record` wrote; anything else is refused with an EnsembleError that says why."""
    if not path.is_file():
        raise EnsembleError(f"{path} does not exist or is not a file; expected {kind}.")
    # From memory: numpy leaves the file open when an archive turns out to be damaged.
    content = io.BytesIO(path.read_bytes())
    if not zipfile.is_zipfile(content):
        raise EnsembleError(f"{path} is not {kind}, or it was cut short: it is no .npz file.")
    content.seek(0)
    try:
        with np.load(content, allow_pickle=False) as archive:
            # Reading every member checks its CRC, so damage shows here and nowhere later.
            arrays = {name: archive[name] for name in archive.files}
        metadata = json.loads(arrays.pop(_METADATA, np.empty(0, np.uint8)).tobytes() or b"{}")
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


def exchange_files(directory: Path, staging: Path, old: Iterable[str], new: Iterable[str]) -> None:
    """Put staged files into the place of others; on any failure everything is put back.

    New files are in the folder ``new`` of `staging`, a directory on the same disk; ``old`` beside it has the same
    folders. `old` names files that give way, as far as they are there. InputError if files could not be put back: they
    are in ``old`` then.
    """
    done: list[tuple[Path, Path]] = []

    def move(source: Path, target: Path) -> None:
        os.replace(source, target)
        done.append((source, target))

    folders = [folder.relative_to(staging / "old") for folder in (staging / "old").rglob("*") if folder.is_dir()]
    for folder in folders:
        (directory / folder).mkdir(exist_ok=True)
    try:
        for name in old:
            if (directory / name).exists():
                move(directory / name, staging / "old" / name)
        for name in new:
            move(staging / "new" / name, directory / name)
    except BaseException:
        _put_back(done, staging)
        raise
    finally:
        for folder in folders:
            with suppress(OSError):  # refused, as it should be, unless it is empty
                (directory / folder).rmdir()


def _put_back(done: list[tuple[Path, Path]], staging: Path) -> None:
    """Undo moves: new files are removed, old ones return."""
    for source, target in reversed(done):
        with suppress(OSError):
            if staging in source.parents:
                target.unlink()
            else:
                os.replace(target, source)
    if any(target.exists() for _, target in done if staging in target.parents):
        raise InputError(f"files could not be replaced; those that were there before are in {staging / 'old'}.")


def discard_staged(staging: Path) -> None:
    """Remove what was staged, but never a file that could not be put back."""
    shutil.rmtree(staging / "new", ignore_errors=True)
    staging.with_suffix(".yaml").unlink(missing_ok=True)
    for folder in sorted((staging / "old").rglob("*"), reverse=True):
        with suppress(OSError):
            folder.rmdir()
    for folder in (staging / "old", staging):
        with suppress(OSError):
            folder.rmdir()
