"""The directory of a run: results of complete cells in one table, and of unfinished ones in files that grow.

A run that was stopped can be resumed. Nothing is overwritten: a run with other settings, or a cell of another task in
the same place, is refused.

    run.json                    seed, size and settings of all experiments
    splits.csv.gz               one row per cell, split and setting: the selected features, seconds and scores
    cells.csv                   one row per cell of that table: its task, the data, date and versions
    cells/2/PRO/rent.jsonl      a cell that is not complete; first line: as in cells.csv; then one line per split
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from ubayfs.exceptions import InputError

from .files import Row, read_csv, to_csv, write_file
from .tasks import Outcome, Task

FORMAT = 1
_RUN, _SPLITS, _INDEX, _CELLS = "run.json", "splits.csv.gz", "cells.csv", "cells"
_CELL = ("experiment", "data", "scheme", "method")
_TASK = (*_CELL, "n_splits", "settings")
_COLUMNS = (*_CELL, "split", "features", "seconds")

Header = dict[str, Any]  # of a cell: task, n_features, data_digest, started, versions, machine


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
            "make one with `ubayfs-experiments run`."
        )
    try:
        run: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if not all(isinstance(one, dict) for one in run["settings"].values()):
            raise ValueError("settings of an experiment are no mapping")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is damaged ({error}). Name another directory with --output.") from error
    return run


def done_splits(directory: Path, tasks: Iterable[Task]) -> dict[str, set[int]]:
    """Return the splits that are done, by the name of the task.

    Raises
    ------
    InputError
        If a cell was made by a task with other settings.
    """
    complete = _read_index(directory)
    done: dict[str, set[int]] = {}
    for task in tasks:
        path = cell_path(directory, task.name)
        if task.name in complete:
            header, done[task.name] = complete[task.name], set(range(task.n_splits))
        elif path.exists():
            header, lines = _read_cell(path)
            done[task.name] = {line["split"] for line in lines}
        else:
            done[task.name] = set()
            continue
        for key, value in _plain(asdict(task)).items():
            if header["task"].get(key) != value:
                raise _other(directory, f"{key} of the cell {task.name}", header["task"].get(key), value)
    return done


def begin_cell(
    directory: Path, task: Task, n_features: int, origin: Mapping[str, Any], digest: str | None = None
) -> None:
    """Write the first line of a cell if it is new, with the digest of its data; drop a line that was cut off."""
    path = cell_path(directory, task.name)
    if path.exists():
        content = path.read_bytes()
        if not content.endswith(b"\n"):
            write_file(path, content[: content.rfind(b"\n") + 1])
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"task": asdict(task), "n_features": n_features, "data_digest": digest, **origin}
    write_file(path, _line(header))


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
    records = [asdict(one) for one in outcomes]
    if taken := {name for one in records for name in (*one["setting"], *one["scores"])} & {*_COLUMNS}:
        raise ValueError(f"no setting or score may be called {min(taken)!r}, a column of the table")
    line = _line({"split": number, "outcomes": records})
    # One write of one line: a stop in its middle leaves a line without end, which is dropped when the run is resumed.
    # The file is not made here: if it is gone, another process has completed and packed the cell.
    with suppress(FileNotFoundError), open(cell_path(directory, task.name), "ab", opener=_open_existing) as file:
        file.write(line)


def _open_existing(path: str, flags: int) -> int:
    return os.open(path, flags & ~os.O_CREAT)


def pack(directory: Path) -> None:
    """Move complete cells from files of their own into the table of all splits."""
    complete = {
        name: (header, lines)
        for name, (header, lines) in _growing_cells(directory).items()
        if len(lines) >= header["task"]["n_splits"]
    }
    if not complete:
        return
    index = _read_index(directory)
    rows = _read_splits(directory, index)
    for name, (header, lines) in complete.items():
        rows[name] = _rows(lines)
        index[name] = {**header, "n_rows": len(rows[name])}
    names = sorted(index, key=_place)
    table = [{**_cell_of(index[name]), **row} for name in names for row in rows[name]]
    write_file(directory / _SPLITS, gzip.compress(to_csv(table), mtime=0))
    # The index says which rows of the table count; as long as a cell is not in it, its own file is the one that does.
    headers = [{**index[name]["task"], **index[name]} for name in names]
    write_file(directory / _INDEX, to_csv([{key: row[key] for key in row if key != "task"} for row in headers]))
    for name in complete:
        path = cell_path(directory, name)
        path.unlink(missing_ok=True)
        for folder in list(path.relative_to(directory).parents)[:-1]:
            with suppress(OSError):  # it holds other cells
                (directory / folder).rmdir()


def cells(directory: Path) -> list[dict[str, Any]]:
    """Return the header of every cell, with ``name`` and ``done``, the number of its finished splits."""
    done = {name: (header, header["task"]["n_splits"]) for name, header in _read_index(directory).items()}
    growing = {name: (header, len(lines)) for name, (header, lines) in _growing_cells(directory).items()}
    return [
        {**header, "name": name, "done": n_done, "n_splits": header["task"]["n_splits"]}
        for name, (header, n_done) in sorted({**growing, **done}.items(), key=lambda item: _place(item[0]))
    ]


def read_frames(directory: Path, experiments: Iterable[str]) -> dict[str, pd.DataFrame]:
    """Return all outcomes by experiment, each a table with one row per task, split and setting; empty if none."""
    index = _read_index(directory)
    rows = _read_splits(directory, index)
    for name, (header, lines) in _growing_cells(directory).items():
        if name not in index:
            index[name], rows[name] = header, _rows(lines)
    frames: dict[str, list[Row]] = {experiment: [] for experiment in experiments}
    for name in sorted(index, key=_place):
        header = index[name]
        if (experiment := header["task"]["experiment"]) in frames:
            for row in rows[name]:
                known = {"split": row["split"], "n_features": header["n_features"], "features": row["features"]}
                frames[experiment].append({**_cell_of(header), **known, "size": len(row["features"]), **row})
    return {experiment: pd.DataFrame(found) for experiment, found in frames.items()}


def cell_path(directory: Path, name: str) -> Path:
    """Return the file of a cell that is not complete."""
    return directory / _CELLS / f"{name}.jsonl"


def _growing_cells(directory: Path) -> dict[str, tuple[Header, list[dict[str, Any]]]]:
    """Return header and lines of the cells that have files of their own, by name."""
    folder = directory / _CELLS
    return {
        path.relative_to(folder).with_suffix("").as_posix(): _read_cell(path)
        for path in sorted(folder.rglob("*.jsonl"))
    }


def _place(name: str) -> list[str]:
    return f"{name}.jsonl".split("/")  # in the order of the files of cells


def _name_of(cell: Mapping[str, Any]) -> str:
    return Task(cell["experiment"], cell["data"], cell["method"], 0, cell["scheme"]).name


def _cell_of(header: Header) -> Row:
    return {key: header["task"][key] for key in _CELL}


def _rows(lines: Iterable[dict[str, Any]]) -> list[Row]:
    """Return the outcomes of a cell, in the order of its splits."""
    return [
        {
            "split": line["split"],
            "features": tuple(outcome["features"]),
            "seconds": outcome["seconds"],
            **outcome["setting"],
            **{name: _number(value) for name, value in outcome["scores"].items()},
        }
        for line in sorted(lines, key=lambda line: line["split"])
        for outcome in line["outcomes"]
    ]


def _read_index(directory: Path) -> dict[str, Header]:
    """Return the headers of the cells in the table of all splits, by name."""
    path, index = directory / _INDEX, {}
    if path.exists():
        with _damage_of(path):
            for row in read_csv(path.read_bytes(), (*_TASK, "n_features", "n_rows")):
                task = {key: row.pop(key) for key in _TASK}
                index[_name_of(task)] = {"task": task, **row}
    return index


def _read_splits(directory: Path, index: Mapping[str, Header]) -> dict[str, list[Row]]:
    """Return the rows of the table of all splits, by the name of their cell."""
    path, rows = directory / _SPLITS, {name: list[Row]() for name in index}
    if rows:
        with _damage_of(path):
            for row in read_csv(gzip.decompress(path.read_bytes()), _COLUMNS):
                if (name := _name_of(row)) in rows:
                    rows[name].append({key: row[key] for key in row if key not in _CELL})
            if short := [name for name in rows if len(rows[name]) != index[name]["n_rows"]]:
                raise ValueError(f"it lacks rows of the cell {short[0]}, or has too many")
    return rows


@contextmanager
def _damage_of(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, ValueError, KeyError, csv.Error, zlib.error) as error:
        raise InputError(
            f"{path} is damaged ({error}). Restore it; or move {_SPLITS} and {_INDEX} away, and the run makes their "
            "cells anew; nothing was changed."
        ) from error


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
    write_file(path, json.dumps(record, indent=2, allow_nan=False).encode() + b"\n")


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
