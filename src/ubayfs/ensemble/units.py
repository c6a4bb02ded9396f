"""Units of work: how many runs a worker does in one task, and which.

A run is determined by its index alone, so units decide how long an ensemble takes, how soon it can be stopped and how
much a crash can cost, and nothing else. Runs are handed out one unit at a time: there is no list of them, so that a
million runs begin as fast as ten.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from threading import Lock

from .batches import EnsembleTask

# The runs of one task, in ascending order.
Unit = tuple[int, ...]

# Of a joint selector at once; a table with very many rows or columns takes fewer, so that what is held of each run (a
# number per feature or per sample) stays below the larger of these entries and a quarter of the table.
_MOST_TOGETHER, _FEWEST_TOGETHER = 100, 25
_ENTRIES_TOGETHER = 1 << 23
# Of other selectors: every worker gets several tasks, so that the last ones end at about the same time. A task has so
# many entries of the table times runs at most, which is some seconds of `tree`.
_MOST_IN_A_TASK = 25
_TASKS_PER_WORKER = 4
_ENTRIES_OF_A_TASK = 1 << 24


def runs_per_unit(
    ensemble: EnsembleTask, shape: tuple[int, int], n_runs: int, n_workers: int, recorded: bool = False
) -> int:
    """Return how many runs a task holds, of those still to be done, which workers share.

    `shape` is that of the table. Where finished runs are recorded, a task is as small as its selectors allow without
    being slower, because what is under way when the process is killed is lost.
    """
    n_samples, n_features = shape
    if ensemble.joint:
        room = max(_ENTRIES_TOGETHER, n_samples * n_features // 4) // max(n_samples, n_features)
        most = min(_MOST_TOGETHER, max(_FEWEST_TOGETHER, room))
        return _share(n_runs, max(_share(n_runs, most), n_workers))
    most = max(selector.n_together for selector in ensemble.selectors) if recorded else _MOST_IN_A_TASK
    affordable = max(1, _ENTRIES_OF_A_TASK // (n_samples * n_features))
    return min(most, affordable, _share(n_runs, _TASKS_PER_WORKER * n_workers))


def _share(n_runs: int, n_shares: int) -> int:
    """Return the largest of `n_shares` nearly equal shares of some runs."""
    return -(-n_runs // n_shares)


class Units:
    """The runs that are to be done: an iterator over units, to which the units of lost workers can return.

    `runs`, of which there are `n_runs`, are in ascending order; they are read only as far as they are handed out.
    """

    def __init__(self, runs: Iterable[int], n_runs: int) -> None:
        self.size = 1  # runs in the units that are made from now on
        self.n_left = n_runs  # not finished
        self.stopped = False  # whether nothing is handed out any more
        self._runs = iter(runs)
        self._under_way: set[Unit] = set()
        self._returned: list[Unit] = []
        self._lock = Lock()  # workers fetch units from several threads

    def __iter__(self) -> Units:
        return self

    def __next__(self) -> Unit:
        with self._lock:
            if self.stopped:
                raise StopIteration
            unit = self._returned.pop() if self._returned else tuple(islice(self._runs, self.size))
            if not unit:
                raise StopIteration
            self._under_way.add(unit)
            return unit

    def finish(self, unit: Unit) -> None:
        """Note that the runs of a unit are done."""
        with self._lock:
            self._under_way.remove(unit)
            self.n_left -= len(unit)

    def take_back(self) -> None:
        """Hand out again what was under way: the workers that had it are lost."""
        with self._lock:
            self._returned += sorted(self._under_way, reverse=True)
            self._under_way.clear()

    @property
    def done(self) -> bool:
        """Whether nothing is left to do, or nothing is wanted any more."""
        return self.n_left == 0 or self.stopped
