"""Checkpoints: a directory that holds the finished runs of one ensemble.

``manifest.json`` says which ensemble it is; it is written before any work. Every call that finishes runs appends them
to a log of its own, ``runs-5f0c3a91.log``: text, one line for each run with its digest, at once when the run is
finished. Opening the directory with the same data and settings finds them again; anything else is refused. Whatever cut
a call off, its log is good up to the last whole line; a line that was damaged later is warned about, and its run is
done again. Which worker did a run, in which unit of work, is not recorded and does not matter.

When more than half of the stored runs have failed, as in an ensemble that gave up, the failures do not count: their
cause may be gone.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .._files import as_path, read_bytes, read_json, write_atomically
from ..exceptions import Advice, EnsembleError, InputError, repr_of
from ..selectors.base import Choice
from .batches import Batch, Outcome
from .evidence import RunFailure

_VERSION = 2
_KIND, _LOG_KIND = "ubayfs checkpoint", "ubayfs runs"
_MANIFEST = "manifest.json"

# Seconds after which what was written is also forced onto the disk: a crash of the process loses nothing that was
# written, a power failure at most so much of it.
_SYNC_AFTER = 1.0

# Runs are seeded by index, so more or fewer of them are still the same ensemble; versions inform.
_NOT_IDENTIFYING = frozenset({"n_models", "part", "versions"})


def identifying(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that decide what run number m finds."""
    return {name: value for name, value in settings.items() if name not in _NOT_IDENTIFYING}


def identity(settings: Mapping[str, Any]) -> str:
    """Return a short digest of the identifying settings: the same exactly for runs of the same ensemble."""
    return hashlib.sha256(json.dumps(identifying(settings), sort_keys=True).encode()).hexdigest()[:24]


@dataclass(eq=False)
class Checkpoint:
    """The finished runs of one ensemble in one directory."""

    directory: Path
    ensemble: str  # identity of the ensemble; runs of any other are not read
    _log: BinaryIO | None = field(default=None, init=False)
    _synced: float = field(default=0.0, init=False)

    @classmethod
    def open(cls, directory: Path, settings: Mapping[str, Any]) -> Checkpoint:
        """Open a checkpoint, or begin one.

        InputError: the directory cannot be made or written. EnsembleError: it belongs to other data or settings; the
        message names what differs.
        """
        manifest = read_manifest(directory)
        if manifest is None:
            manifest = {"kind": _KIND, "settings": dict(settings)}
        else:
            _check_same(directory, manifest["settings"], settings)
        # Written again even if it is there: can runs still be stored here?
        content = json.dumps({**manifest, "version": _VERSION}, indent=2).encode()
        try:
            directory.mkdir(parents=True, exist_ok=True)
            write_atomically(directory / _MANIFEST, content)
        except OSError as error:
            raise InputError.of(
                "checkpoint",
                f"must be a directory that can be written; {str(directory)!r} is not ({error}). Name another one.",
            ) from error
        return cls(directory, identity(settings))

    def load(self) -> tuple[Batch, list[str]]:
        """Return what every stored run has found, and what is wrong with files that do not hold all they should."""
        outcomes: Batch = {}
        damage: list[str] = []
        for path in sorted(self.directory.glob("runs-*.log")):
            for run, outcome in self._read_log(path, damage):
                # A failure does not replace what another attempt at the run has found.
                if not isinstance(outcome, RunFailure) or run not in outcomes:
                    outcomes[run] = outcome
        n_failed = sum(isinstance(outcome, RunFailure) for outcome in outcomes.values())
        if 2 * n_failed > len(outcomes):
            outcomes = {run: outcome for run, outcome in outcomes.items() if not isinstance(outcome, RunFailure)}
        return outcomes, damage

    def _read_log(self, path: Path, damage: list[str]) -> Iterator[tuple[int, Outcome]]:
        """Yield the runs of a log up to its last whole line."""
        try:
            lines = read_bytes(path).split(b"\n")[:-1]
        except InputError as error:
            damage.append(str(error).rstrip("."))
            return
        if lines and lines[0] != self._header():
            damage.append(f"{path} holds other runs, copied from elsewhere, or its first line is damaged")
            return
        for number, line in enumerate(lines[1:], start=2):
            digest, _, content = line.partition(b" ")
            if digest == self._digest(content):
                yield _outcome(json.loads(content))
            else:
                damage.append(f"line {number} of {path} is damaged")

    def save(self, batch: Batch) -> None:
        """Store finished runs at once."""
        lines = [json.dumps(_content(run, outcome)).encode() for run, outcome in batch.items()]
        try:
            if self._log is None:
                self._log = open(self.directory / f"runs-{uuid.uuid4().hex[:12]}.log", "xb")  # noqa: SIM115
                self._log.write(self._header() + b"\n")
            self._log.write(b"".join(self._digest(line) + b" " + line + b"\n" for line in lines))
            self._log.flush()
            if time.monotonic() - self._synced > _SYNC_AFTER:
                os.fsync(self._log.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            raise EnsembleError(
                f"finished runs could not be written to the checkpoint {str(self.directory)!r} ({error}). Those stored "
                "before are safe; free space, or get the right to write there, and repeat the call."
            ) from error

    def close(self) -> None:
        """End the log of this call."""
        if self._log is not None:
            with suppress(OSError):  # what could not be written was reported when it was
                self._log.close()

    def _header(self) -> bytes:
        return json.dumps({"kind": _LOG_KIND, "version": _VERSION, "ensemble": self.ensemble}).encode()

    def _digest(self, content: bytes) -> bytes:
        # With the ensemble, so that a line of another one is none of this.
        return hashlib.sha256(self.ensemble.encode() + content).hexdigest()[:16].encode()


def _content(run: int, outcome: Outcome) -> dict[str, Any]:
    """Return the content of the line of a run."""
    if isinstance(outcome, RunFailure):
        return asdict(outcome)
    said = {} if outcome.carriers is None else {"carriers": outcome.carriers.tolist()}
    return {"run": run, "columns": outcome.columns.tolist(), **said}


def _outcome(content: dict[str, Any]) -> tuple[int, Outcome]:
    """Return a run and what it found, from the content of a line."""
    if "columns" not in content:
        return content["run"], RunFailure(**content)
    columns, carriers = (
        None if name not in content else np.array(content[name], dtype=np.intp) for name in ("columns", "carriers")
    )
    assert columns is not None
    return content["run"], Choice(columns, carriers)


def as_directory(checkpoint: Any) -> Path:
    """Return the argument `checkpoint` as a path that is not a file."""
    if not isinstance(checkpoint, str | os.PathLike) or not os.fspath(checkpoint):
        raise InputError.of("checkpoint", f"must be the path of a directory; got {repr_of(checkpoint)}.")
    directory = as_path(Path(os.fsdecode(checkpoint)).expanduser(), "checkpoint")
    if directory.exists() and not directory.is_dir():
        raise InputError.of("checkpoint", f"must be a directory; {str(directory)!r} is a file. Name another path.")
    return directory


def read_manifest(directory: Path) -> dict[str, Any] | None:
    """Return the manifest of a checkpoint, or None when there is none yet."""
    path = directory / _MANIFEST
    if not os.path.exists(path):
        return None
    try:
        manifest = read_json(path)
    except InputError as error:
        raise EnsembleError(f"{error} Name another checkpoint directory.") from error
    if (
        manifest.get("kind") != _KIND
        or not isinstance(manifest.get("settings"), dict)
        or not isinstance(manifest["settings"].get("versions", {}), dict)
    ):
        raise EnsembleError(f"{path} does not belong to {_KIND}; name another checkpoint directory.")
    if (version := manifest.get("version")) != _VERSION:
        raise EnsembleError(
            f"{path} has format version {version!r}; this ubayfs reads {_VERSION} only. Name another checkpoint "
            "directory."
        )
    return manifest


def _check_same(directory: Path, stored: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    different = differences(identifying(stored), identifying(settings), ("stored", "now"))
    if not different:
        _warn_of_versions(directory, stored.get("versions", {}), settings.get("versions", {}))
        return
    raise EnsembleError(
        f"checkpoint {str(directory)!r} belongs to another ensemble; these differ: {', '.join(different)}. Name "
        "another directory, or repeat the call that it was made with."
    )


def differences(
    before: Mapping[str, Any], now: Mapping[str, Any], labels: tuple[str, str] = ("there", "here")
) -> list[str]:
    """Return what differs between the settings of two ensembles, by name and with both values."""
    texts = []
    for name in sorted({*before, *now} - {"selector_kinds"}):  # which the selectors tell, too
        if before.get(name) == now.get(name):
            continue
        if name == "data_fingerprint":
            texts.append("the data (values, feature names, target or groups)")
        elif name == "seed":
            texts.append("random_state")
        else:
            texts.append(f"{name} ({labels[0]} {before.get(name)!r}, {labels[1]} {now.get(name)!r})")
    return texts


def _warn_of_versions(directory: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    changed = [
        f"{name} {before[name]} -> {now[name]}" for name in sorted(now) if before.get(name, now[name]) != now[name]
    ]
    if changed:
        facts = {"directory": str(directory), "changed": changed}
        Advice("checkpoint_of_versions", facts).warn()
