"""The directory of a run: its settings, and one file per cell that grows by a line with every finished split.

A run that was stopped goes on where it was. Nothing is overwritten: a run with other settings, or a cell of another
task in the same place, is refused.

    run.json                    seed, size and settings of all experiments
    cells/2/PRO/rent.jsonl      first line: the task, date and versions; then one line per split
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from .._files import write_atomically
from ..exceptions import InputError
from .tasks import Outcome, Task

FORMAT = 1
_RUN, _CELLS = "run.json", "cells"


def open_run(directory: Path, seed: int, quick: bool, settings: Mapping[str, Any], origin: Mapping[str, Any]) -> None:
    """Begin a run in a directory, or make sure that the run in it is this one.

    Parameters
    ----------
    directory : Path
        Made if absent; refused if it holds other things.
    seed : int
    quick : bool
    settings : mapping
        Settings by experiment; experiments may be added to a run later, but not changed.
    origin : mapping
        Date and versions; kept from the first time.

    Raises
    ------
    InputError
        If the directory holds a run with other settings, or files that are no run.
    """
    check_run(directory, seed, quick, settings)
    path = directory / _RUN
    if not path.exists():
        directory.mkdir(parents=True, exist_ok=True)
        _write_json(path, {**_identity(seed, quick), **_plain(origin), "settings": _plain(settings)})
        return
    run = read_run(directory)
    wanted = {**run, "settings": {**run["settings"], **_plain(settings)}}
    if wanted != run:
        _write_json(path, wanted)


def check_run(directory: Path, seed: int, quick: bool, settings: Mapping[str, Any]) -> None:
    """Make sure that a run can begin or go on in a directory, and leave the directory as it is.

    Raises
    ------
    InputError
        As of :func:`open_run`.
    """
    if directory.exists() and not directory.is_dir():
        raise InputError(f"the output {str(directory)!r} is a file; name a directory with --output.")
    if not (directory / _RUN).exists():
        if directory.is_dir() and any(directory.iterdir()):
            raise InputError(
                f"the output directory {str(directory)!r} holds files, but no run of the experiments (no {_RUN}). Name "
                "another directory with --output; nothing was changed."
            )
        return
    run = read_run(directory)
    for key, value in _identity(seed, quick).items():
        if run.get(key) != value:
            raise _other(directory, key, run.get(key), value)
    for name, value in _plain(settings).items():
        stored = run["settings"].get(name, value)
        for key in sorted({*stored, *value}):
            if stored.get(key) != value.get(key):
                raise _other(directory, f"{key} of experiment {name}", stored.get(key), value.get(key))


def _identity(seed: int, quick: bool) -> dict[str, Any]:
    return {"format": FORMAT, "seed": seed, "quick": quick}


def read_run(directory: Path) -> dict[str, Any]:
    """Return seed, size, versions, date and settings of the run in a directory.

    Raises
    ------
    InputError
        If there is none.
    """
    path = directory / _RUN
    if not path.is_file():
        raise InputError(
            f"{str(directory)!r} holds no run of the experiments (no {_RUN}). Name its directory with --output, or "
            "make one with `ubayfs experiments run`."
        )
    try:
        run: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if not all(isinstance(one, dict) for one in run["settings"].values()):
            raise ValueError("settings of an experiment are no mapping")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is damaged ({error}). Name another directory with --output.") from error
    return run


def done_splits(directory: Path, task: Task) -> set[int]:
    """Return the splits of a task that are done.

    Raises
    ------
    InputError
        If the cell was made by a task with other settings.
    """
    path = cell_path(directory, task.name)
    if not path.exists():
        return set()
    header, lines = _read_cell(path)
    stored, wanted = header["task"], _plain(asdict(task))
    for key, value in wanted.items():
        if stored.get(key) != value:
            raise _other(directory, f"{key} of the cell {task.name}", stored.get(key), value)
    return {line["split"] for line in lines}


def begin_cell(
    directory: Path, task: Task, n_features: int, origin: Mapping[str, Any], digest: str | None = None
) -> None:
    """Write the first line of a cell if it is new, with the digest of its data; drop a line that was cut off."""
    path = cell_path(directory, task.name)
    if path.exists():
        content = path.read_bytes()
        if not content.endswith(b"\n"):
            write_atomically(path, content[: content.rfind(b"\n") + 1])
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"task": asdict(task), "n_features": n_features, "data_digest": digest, **origin}
    write_atomically(path, _line(header))


def check_data(directory: Path, task: Task, digest: str) -> None:
    """Make sure that a cell, if it was begun, was begun with the same data.

    Raises
    ------
    InputError
        If it was not.
    """
    path = cell_path(directory, task.name)
    if path.exists():
        stored = _read_cell(path)[0].get("data_digest")
        if stored is not None and stored != digest:
            raise _other(directory, f"table {task.data} (digest) in the cell {task.name}", stored, digest)


def append_split(directory: Path, task: Task, number: int, outcomes: Iterable[Outcome]) -> None:
    """Add the outcomes of one split to its cell."""
    line = _line({"split": number, "outcomes": [asdict(one) for one in outcomes]})
    # One write of one line: a stop in its middle leaves a line without end, which is dropped when the run goes on.
    with open(cell_path(directory, task.name), "ab") as file:
        file.write(line)


def cells(directory: Path) -> list[dict[str, Any]]:
    """Return the header of every cell, with ``name`` and ``done``, the number of its finished splits."""
    found = []
    for path in sorted((directory / _CELLS).rglob("*.jsonl")):
        header, lines = _read_cell(path)
        name = path.relative_to(directory / _CELLS).with_suffix("").as_posix()
        found.append({**header, "name": name, "done": len(lines), "n_splits": header["task"]["n_splits"]})
    return found


def read_frame(directory: Path, experiment: str) -> pd.DataFrame:
    """Return all outcomes of an experiment as a table, one row per task, split and setting; empty if there are none."""
    rows = []
    for path in sorted((directory / _CELLS / experiment).rglob("*.jsonl")):
        header, lines = _read_cell(path)
        task = header["task"]
        common = {key: task[key] for key in ("experiment", "data", "scheme", "method")}
        rows += [
            {
                **common,
                "split": line["split"],
                "n_features": header["n_features"],
                "features": tuple(outcome["features"]),
                "size": len(outcome["features"]),
                "seconds": outcome["seconds"],
                **outcome["setting"],
                **{name: _number(value) for name, value in outcome["scores"].items()},
            }
            for line in sorted(lines, key=lambda line: line["split"])
            for outcome in line["outcomes"]
        ]
    return pd.DataFrame(rows)


def cell_path(directory: Path, name: str) -> Path:
    """Return the file of a cell."""
    return directory / _CELLS / f"{name}.jsonl"


def _read_cell(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    first, *rest = path.read_bytes().split(b"\n")[:-1] or [b""]  # what follows the last end of line was cut off
    by_split: dict[int, dict[str, Any]] = {}
    try:
        header = _record(json.loads(first), {"task", "n_features"})
        _record(header["task"], {"experiment", "data", "scheme", "method", "n_splits"})
        for line in rest:
            record = _record(json.loads(line), {"split", "outcomes"})
            if not isinstance(record["split"], int) or not isinstance(record["outcomes"], list):
                raise ValueError("a line has no number of its split or no list of outcomes")
            for outcome in record["outcomes"]:
                _record(outcome, {"features", "seconds", "setting", "scores"})
            # Two processes in one directory may both have run a split; their outcomes are the same.
            by_split.setdefault(record["split"], record)
    except ValueError as error:
        raise InputError(
            f"{path} is damaged ({error}). Move it away, and the run makes this cell anew; nothing was changed."
        ) from error
    return header, list(by_split.values())


def _record(value: Any, keys: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict) or not keys <= value.keys():
        raise ValueError(f"a line lacks {' or '.join(sorted(keys))}")
    return value


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(_plain(record), separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _write_json(path: Path, record: Mapping[str, Any]) -> None:
    write_atomically(path, json.dumps(record, indent=2, allow_nan=False).encode() + b"\n")


def _plain(value: Any) -> Any:
    """Return a value as JSON gives it back."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _number(value: Any) -> Any:
    """Return a score as it was before JSON, which knows neither nan nor infinity."""
    return float("nan") if value is None else float(value) if isinstance(value, str) else value


def _other(directory: Path, what: str, stored: Any, wanted: Any) -> InputError:
    return InputError(
        f"{str(directory)!r} holds a run with another {what}: {stored!r} there, {wanted!r} now. Name another directory "
        "with --output, or run with the same settings; nothing was changed."
    )
