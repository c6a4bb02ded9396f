"""Checkpoints: a directory that holds the finished batches of one ensemble.

``manifest.json`` says which ensemble it is; it is written before any work. Each finished batch is a data-only file
``batch-00003.npz``, written whole or not at all. Opening the directory with the same data and settings finds them
again; anything else is refused. A batch file that is damaged is warned about, and its runs are done again. One that is
shorter than the batch now wanted (`n_models` has grown) counts as missing. So does a batch in which every run failed:
there is nothing in it to lose, and its cause may be gone.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._files import encode_record, load_record, write_atomically
from ..exceptions import EnsembleError, EnsembleWarning, InputError
from .batches import BATCH_SIZE, Batch, Outcome
from .evidence import RunFailure

_VERSION = 1
_BATCH_KIND, _MANIFEST_KIND = "an ubayfs checkpoint batch", "ubayfs checkpoint"

# Runs are seeded by index, so more or fewer of them are still the same ensemble; versions inform.
_NOT_IDENTIFYING = frozenset({"n_models", "versions"})


def identifying(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that decide what run number m finds."""
    return {name: value for name, value in settings.items() if name not in _NOT_IDENTIFYING}


def identity(settings: Mapping[str, Any]) -> str:
    """Return a short digest of the identifying settings: the same exactly for runs of the same ensemble."""
    return hashlib.sha256(json.dumps(identifying(settings), sort_keys=True).encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Checkpoint:
    """The finished batches of one ensemble in one directory."""

    directory: Path
    ensemble: str  # identity of the ensemble; batches of any other are not read

    @classmethod
    def open(cls, directory: Path, settings: Mapping[str, Any]) -> Checkpoint:
        """Open a checkpoint, or begin one.

        InputError: the directory cannot be made or written. EnsembleError: it belongs to other data or settings; the
        message names what differs.
        """
        stored = read_manifest(directory)
        manifest = {"kind": _MANIFEST_KIND, "version": _VERSION, "settings": dict(settings)}
        content = json.dumps(manifest, indent=2).encode()
        if stored is not None:
            _check_same(directory, stored["settings"], settings)
            content = _manifest(directory).read_bytes()  # written again: can batches still be stored here?
        try:
            directory.mkdir(parents=True, exist_ok=True)
            write_atomically(_manifest(directory), content)
        except OSError as error:
            raise InputError.of(
                "checkpoint",
                f"must be a directory that can be written; {str(directory)!r} is not ({error}). Name another one.",
            ) from error
        return cls(directory, identity(settings))

    def load_all(self, bounds: Iterable[tuple[int, int]]) -> list[Batch]:
        """Return those of some batches, given by (start, stop), that need not be run; warn of damaged files."""
        finished = []
        for start, stop in bounds:
            try:
                batch = self._read(start)
            except EnsembleError as error:
                warnings.warn(
                    f"a batch of the checkpoint cannot be used, and runs {start} to {stop - 1} are done again: {error}",
                    EnsembleWarning,
                    stacklevel=4,
                )
                continue
            if batch is not None and batch.stop >= stop:
                finished.append(batch.head(stop))
        return finished

    def _read(self, start: int) -> Batch | None:
        """Return the stored batch, or None when there is none; a file that holds something else is an error."""
        path = self._file(start)
        if not path.exists():
            return None
        try:
            metadata, arrays = load_record(path, _BATCH_KIND, _VERSION)
            if metadata["ensemble"] != self.ensemble or metadata["start"] != start:
                raise EnsembleError(f"{path} holds other runs; it was copied from elsewhere.")
            failures = {failure["run"]: RunFailure(**failure) for failure in metadata["failures"]}
            found = np.split(arrays["columns"], np.cumsum(arrays["lengths"])[:-1])
        except (OSError, KeyError, TypeError, ValueError, IndexError) as error:
            raise EnsembleError(f"{path} is damaged and cannot be read ({type(error).__name__}: {error}).") from error
        outcomes: list[Outcome] = [failures.get(start + i, columns) for i, columns in enumerate(found)]
        return Batch(start, tuple(outcomes))

    def save(self, batch: Batch) -> None:
        """Store a finished batch at once."""
        if len(batch.failures) == len(batch.outcomes):
            return
        none = np.empty(0, dtype=np.intp)
        found = [none if isinstance(outcome, RunFailure) else outcome for outcome in batch.outcomes]
        metadata = {
            "ensemble": self.ensemble,
            "start": batch.start,
            "failures": [asdict(failure) for failure in batch.failures],
        }
        lengths = np.array([len(columns) for columns in found], dtype=np.int64)
        columns = np.concatenate(found).astype(np.int64)
        content = encode_record(_BATCH_KIND, _VERSION, metadata, columns=columns, lengths=lengths)
        try:
            write_atomically(self._file(batch.start), content)
        except OSError as error:
            raise EnsembleError(
                f"a finished batch could not be written to the checkpoint {str(self.directory)!r} ({error}). The "
                "batches stored so far are safe; free space, or get the right to write there, and repeat the call."
            ) from error

    def _file(self, start: int) -> Path:
        return self.directory / f"batch-{start // BATCH_SIZE:05d}.npz"


def as_directory(checkpoint: Any) -> Path:
    """Return the argument `checkpoint` as a path that is not a file."""
    if not isinstance(checkpoint, str | os.PathLike) or not os.fspath(checkpoint):
        raise InputError.of("checkpoint", f"must be the path of a directory; got {checkpoint!r}.")
    directory = Path(os.fsdecode(checkpoint)).expanduser()
    if directory.exists() and not directory.is_dir():
        raise InputError.of("checkpoint", f"must be a directory; {str(directory)!r} is a file. Name another path.")
    return directory


def _manifest(directory: Path) -> Path:
    return directory / "manifest.json"


def read_manifest(directory: Path) -> dict[str, Any] | None:
    """Return the manifest of a checkpoint, or None when there is none yet."""
    path = _manifest(directory)
    try:
        manifest = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise EnsembleError(f"{path} cannot be read ({error}); name another checkpoint directory.") from error
    if not isinstance(manifest, dict) or manifest.get("kind") != _MANIFEST_KIND or "settings" not in manifest:
        raise EnsembleError(f"{path} does not belong to {_MANIFEST_KIND}; name another checkpoint directory.")
    if manifest.get("version", 0) > _VERSION:
        raise EnsembleError(f"{path} has format version {manifest['version']}, newer than {_VERSION}; update ubayfs.")
    return manifest


def _check_same(directory: Path, stored: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    before, now = identifying(stored), identifying(settings)
    different = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    if not different:
        _warn_of_versions(directory, stored.get("versions", {}), settings.get("versions", {}))
        return
    details = []
    for name in different:
        if name == "data_fingerprint":
            details.append("the data (values, feature names, target or groups)")
        elif name == "seed":
            details.append("random_state")
        else:
            details.append(f"{name} (stored {before.get(name)!r}, now {now.get(name)!r})")
    raise EnsembleError(
        f"checkpoint {str(directory)!r} belongs to another ensemble; these differ: {', '.join(details)}. Name another "
        "directory, or repeat the call that it was made with."
    )


def _warn_of_versions(directory: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    changed = [
        f"{name} {before[name]} -> {now[name]}" for name in sorted(now) if before.get(name, now[name]) != now[name]
    ]
    if changed:
        warnings.warn(
            f"checkpoint {str(directory)!r} was begun with other versions ({', '.join(changed)}); its batches are used "
            "all the same. Name another directory if all runs must come from one installation.",
            EnsembleWarning,
            stacklevel=5,
        )
