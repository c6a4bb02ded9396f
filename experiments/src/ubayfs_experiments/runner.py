"""Running tasks: the splits that are not done yet, in several processes, each stored as soon as it is done."""

from __future__ import annotations

import datetime
import platform
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Any

from ubayfs.exceptions import InputError

from . import store
from .data.catalogue import load
from .data.datasets import DataAbsent
from .data.splits import make_split
from .tasks import Experiment, Outcome, RunSplit, Scale, Task, seed_of

SEED = 20221  # of splits, ensembles and synthetic data, unless another is given
_VERSIONS = ("ubayfs", "numpy", "scipy", "scikit-learn", "pandas", "joblib")

# progress(cell and its place, done splits, all splits), note(text)
Progress = Callable[[str, int, int], None]
Note = Callable[[str], None]


def run(
    experiments: Sequence[Experiment],
    output: Path,
    data_dir: Path | None,
    *,
    seed: int = SEED,
    quick: bool = False,
    selector: str | None = None,
    n_jobs: int = 1,
    only: str | None = None,
    progress: Progress | None = None,
    note: Note | None = None,
) -> int:
    """Run experiments; splits that are in the directory already are not run again.

    Parameters
    ----------
    experiments : sequence of Experiment
    output : Path
        Directory of the run.
    data_dir : Path or None
        Data sets that are not in it are left out, which `note` is called with.
    seed : int
    quick : bool
        Everything in small.
    selector : str, optional
        Of the calibration, in place of its default.
    n_jobs : int
        Processes; each uses one thread.
    only : str, optional
        Run the cells whose names contain this text.
    progress : callable, optional
        Called as ``progress("2/PRO/rent (34 of 60)", done, total)`` with the splits of a cell, when it begins and
        after every split.
    note : callable, optional
        Called with sentences for people.

    Returns
    -------
    n_cells : int
        Cells that are complete now.
    """
    scale = Scale(quick, selector)
    origin = _origin()
    work = [
        (task, one.run_split) for one in experiments for task in one.tasks(scale) if only is None or only in task.name
    ]
    if not work:
        raise InputError(f"--only must be a part of the name of a cell, such as '2/PRO'; no cell contains {only!r}.")
    settings = {one.name: one.settings for one in experiments}
    store.check_run(output, seed, quick, settings)
    # All cells are looked at before any is run: another run in their place is noticed now, not in an hour.
    done = store.done_splits(output, [task for task, _ in work])
    waiting = {task.name: sorted(set(range(task.n_splits)) - done[task.name]) for task, _ in work}
    if note is not None:
        _report_progress([task for task, _ in work], waiting, note)
    absent = _look_at_data([task for task, _ in work if waiting[task.name]], output, data_dir, seed, note)
    store.open_run(output, seed, quick, settings, origin)
    try:
        for place, (task, run_split) in enumerate(work, start=1):
            if waiting[task.name] and task.data not in absent:
                label = f"{task.name} ({place} of {len(work)})"
                _run_cell(task, run_split, waiting[task.name], output, data_dir, seed, n_jobs, origin, label, progress)
                waiting[task.name] = []
    finally:
        store.pack(output)
    return sum(not waiting[task.name] for task, _ in work)


def _run_cell(
    task: Task, run_split: RunSplit, numbers: list[int], output: Path, data_dir: Path | None, seed: int, n_jobs: int,
    origin: Mapping[str, Any], label: str, progress: Progress | None,
) -> None:  # fmt: skip
    """Run the given splits of a cell and store each as soon as it is done."""
    dataset = load(task.data, data_dir, seed)
    store.begin_cell(output, task, dataset.X.shape[1], origin, dataset.digest)
    before = task.n_splits - len(numbers)
    if progress is not None:
        progress(label, before, task.n_splits)
    with closing(_outcomes(task, run_split, numbers, data_dir, seed, n_jobs)) as found:
        for done, (number, outcomes) in enumerate(found, start=before + 1):
            store.append_split(output, task, number, outcomes)
            if progress is not None:
                progress(label, done, task.n_splits)


def _look_at_data(tasks: Sequence[Task], output: Path, data_dir: Path | None, seed: int, note: Note | None) -> set[str]:
    """Read every table that is needed: a wrong one is noticed now, not in an hour. Return those that are absent."""
    absent: set[str] = set()
    for name in dict.fromkeys(task.data for task in tasks):
        try:
            dataset = load(name, data_dir, seed)
        except DataAbsent as reason:
            absent.add(name)
            if note is not None:
                note(f"{name} is left out: {reason}")
            continue
        for task in tasks:
            if task.data == name:
                store.check_data(output, task, dataset.digest)
    return absent


def _report_progress(tasks: Sequence[Task], waiting: Mapping[str, list[int]], note: Note) -> None:
    """Report how far a resumed run is; nothing of a new one."""
    complete = sum(not waiting[task.name] for task in tasks)
    begun = sum(0 < len(waiting[task.name]) < task.n_splits for task in tasks)
    if complete + begun:
        note(f"Resuming: {complete} of {len(tasks)} cells are complete already, {begun} in part.")


def _outcomes(
    task: Task, run_split: RunSplit, numbers: list[int], data_dir: Path | None, seed: int, n_jobs: int
) -> Generator[tuple[int, list[Outcome]], None, None]:
    if n_jobs == 1:
        yield from (_run_one(task, run_split, number, data_dir, seed) for number in numbers)
        return
    from joblib import Parallel, delayed

    found = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_run_one)(task, run_split, number, data_dir, seed) for number in numbers
    )
    try:
        for one in found:  # noqa: UP028  (`yield from` would close it first, with a warning)
            yield one
    finally:
        with warnings.catch_warnings():
            # When the run is stopped: splits that are still worked on are given up, which is what was asked for.
            warnings.simplefilter("ignore", UserWarning)
            found.close()


def _run_one(
    task: Task, run_split: RunSplit, number: int, data_dir: Path | None, seed: int
) -> tuple[int, list[Outcome]]:
    """Run one split of a task, with one thread: times are then those of one processor."""
    from threadpoolctl import threadpool_limits

    dataset = load(task.data, data_dir, seed)
    split = make_split(dataset, task.scheme, number, seed)
    with threadpool_limits(1):
        return number, run_split(task, dataset, split, seed_of(seed, task.data, task.scheme, number, "method"))


def _origin() -> dict[str, Any]:
    versions = {"python": platform.python_version(), **{name: metadata.version(name) for name in _VERSIONS}}
    return {"started": datetime.date.today().isoformat(), "versions": versions, "machine": _machine()}


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {_processor()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "processor unknown"
