"""Workers: where units of work are done. Threads, processes or a Dask cluster, as joblib is configured.

A unit has the runs that a worker does in one task. They decide how long an ensemble takes, how soon it can be stopped
and how much a crash can cost, and nothing else. Runs are handed out one unit at a time: there is no list of them, so
that a million runs begin as fast as ten.

Workers may get lost: a process is killed, a machine leaves the cluster, and with it perhaps the only copy of the table
there. Runs are determined by their index, so what was lost is simply begun anew; only workers that are lost again and
again without finishing anything end the ensemble.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from ..data.feature_data import FeatureData
from ..exceptions import EnsembleError, MissingDependencyError, UBayFSError
from .batches import Batch, EnsembleTask, run_batch, thread_limit

# The runs of one task, in ascending order.
Unit = tuple[int, ...]

# Of a joint selector at once; a table with very many rows or columns takes fewer, so that what is held of each run (a
# number per feature or per sample) stays below the larger of these entries and a quarter of the table.
_MOST_TOGETHER, _FEWEST_TOGETHER = 100, 25
_ENTRIES_TOGETHER = 1 << 23
# Of other selectors: each of several workers gets several tasks, so that the last ones end at about the same time. A
# task has so many entries of the table times runs at most, which is some seconds of `tree`.
_MOST_IN_A_TASK = 25
_MOST_ALONE = 50  # of a single worker, where runs take less time together
_TASKS_PER_WORKER = 4
_ENTRIES_OF_A_TASK = 1 << 24

# Units of work as they are finished.
Batches = Generator[Batch, None, None]

# Entries of the table times runs that joint selectors do in a tenth of a second. Up to here the products are too small
# for the threads of BLAS, which are left alone when one thread has more to do.
_LITTLE = 1 << 26
# With less to do, threads wait for the interpreter more than they gain.
_WORTH_A_THREAD = 1 << 23

# So many losses in a row, without a finished task between them, and there is nothing to wait for.
_MAX_LOSSES = 3
# Dask's nannies tell the C library to give memory above 64 kB back at once, which made trees take five times as long.
_MALLOC_THRESHOLDS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")
_DASK_DEFAULT, _KEPT_BYTES = "65536", 2**28


@contextmanager
def on_cluster(address: str | None = None, **client_options: Any) -> Iterator[Any]:
    """Run every ensemble inside the ``with`` block on a Dask cluster.

    Parameters
    ----------
    address : str, optional
        Of the scheduler, such as ``"tcp://10.0.0.1:8786"``; None starts workers on this machine, with the memory
        settings that docs/large_data.md recommends.
    **client_options
        Handed to ``distributed.Client``, for example ``timeout`` or ``security``.

    Yields
    ------
    client : distributed.Client
        Closed at the end of the block.

    Raises
    ------
    MissingDependencyError
        If Dask is not installed.
    EnsembleError
        If no scheduler answers.
    """
    from joblib import parallel_config

    try:
        from distributed import Client
    except ImportError as error:
        raise MissingDependencyError(
            f'a Dask cluster needs the packages dask and distributed ({error}). Run: pip install "ubayfs[dask]"'
        ) from error
    try:
        with nullcontext() if address is not None else _memory_settings():
            client = Client(address, **client_options)
    except (OSError, ValueError) as error:
        raise EnsembleError(
            f"no Dask scheduler answers at {address!r} ({error}). Check the address, and that `dask scheduler` runs "
            "there and can be reached; without on_cluster() the ensemble runs on this machine."
        ) from error
    with client, parallel_config(backend="dask", client=client):
        yield client


@contextmanager
def _memory_settings() -> Iterator[None]:
    """Let workers that are started now keep the memory of large arrays, instead of fetching it anew for each.

    A nanny prefers the environment to its configuration, and leaves its own settings there for the next one.
    """
    before = {name: os.environ.get(name) for name in _MALLOC_THRESHOLDS}
    os.environ.update({name: str(_KEPT_BYTES) for name, value in before.items() if value in (None, _DASK_DEFAULT)})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


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
    together = max(selector.n_together for selector in ensemble.selectors)
    alone = n_workers == 1 and together > 1
    most = together if recorded else _MOST_ALONE if alone else _MOST_IN_A_TASK
    affordable = max(1, _ENTRIES_OF_A_TASK // (n_samples * n_features))
    return min(most, affordable, most if alone else _share(n_runs, _TASKS_PER_WORKER * n_workers))


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


def completed_batches(
    data: FeatureData, ensemble: EnsembleTask, units: Units, n_jobs: int | None, recorded: bool = False
) -> Batches:
    """Yield what units of work have found, in the order of finishing.

    `n_jobs` is as joblib understands it; a Dask cluster always uses all of its threads. `recorded` tells that finished
    runs are stored. EnsembleError if a selector cannot be sent to the workers, or these are lost too often.
    """
    in_this_process = _shares_memory(_backend())
    losses = list[Exception]()
    while not units.done:
        try:
            with closing(_attempt(data, ensemble, units, n_jobs, recorded)) as batches:
                for batch in batches:
                    units.finish(tuple(batch))
                    losses.clear()
                    yield batch
            return
        except Exception as error:
            # A batch records whatever its selectors raise. From other processes, all that is left is their loss.
            # No workers after a loss may be workers that are still being restarted.
            restarting = isinstance(error, _NoWorkersError) and bool(losses)
            if in_this_process or (isinstance(error, UBayFSError) and not restarting):
                raise
            units.take_back()
            losses.append(error)
            if len(losses) == _MAX_LOSSES:
                first = f"{type(losses[0]).__name__}: {losses[0]}".partition("\n")[0].rstrip(".")
                raise EnsembleError(
                    f"the workers were lost {_MAX_LOSSES} times without finishing a task, at first with {first}. "
                    "Check that the cluster is still there and that its workers have enough memory, then repeat the "
                    "call; with checkpoint=... finished runs are never done again."
                ) from losses[0]


def _backend() -> Any:
    from joblib.parallel import get_active_backend

    return get_active_backend(prefer="threads")[0]


def _shares_memory(backend: Any) -> bool:
    """Return whether the workers are threads of this process."""
    return bool(getattr(backend, "supports_sharedmem", False))


def threads_for(n_jobs: int | None) -> int:
    """Return how many threads of this process `n_jobs` means; 1 if joblib is configured for processes or a cluster."""
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs)) if _shares_memory(_backend()) else 1


def _attempt(data: FeatureData, ensemble: EnsembleTask, units: Units, n_jobs: int | None, recorded: bool) -> Batches:
    from joblib import effective_n_jobs

    backend = _backend()
    on_dask = hasattr(backend, "client")  # no other backend has one
    # Asked here, because joblib forgets the n_jobs of a parallel_config once threads are preferred.
    n_workers = min(_cluster_threads(backend) if on_dask else effective_n_jobs(n_jobs), units.n_left)
    in_this_process = _shares_memory(backend)
    # Joint selectors do everything together here: their threads share the columns instead.
    n_sharing = 1 if in_this_process and ensemble.joint else n_workers
    units.size = runs_per_unit(ensemble, data.X.shape, units.n_left, n_sharing, recorded)
    if not in_this_process:
        _check_portable(ensemble)
    ensemble = ensemble.prepared(data.X, n_workers if in_this_process else 1)
    if on_dask:
        return _on_dask(backend, data, ensemble, units, n_workers)
    if not in_this_process:
        return _in_processes(data, ensemble, units, n_workers)
    if ensemble.joint:
        return _joint(data, ensemble, units, n_workers)
    if n_workers == 1:
        return (run_batch(data.X, ensemble, unit) for unit in units)
    return _in_threads(data, ensemble, units, n_workers)


class _LeftError(Exception):
    """The caller needs no more units."""


class _NoWorkersError(EnsembleError):
    """A cluster without workers."""


def _cluster_threads(backend: Any) -> int:
    """Return how many threads a Dask cluster has, once it has a worker."""
    try:
        return int(backend.effective_n_jobs(-1))
    except TimeoutError as error:
        raise _NoWorkersError(
            f"the Dask cluster has no workers ({error}). Start `dask worker` with the address of the scheduler, then "
            "repeat the call; with checkpoint=... finished runs are never done again."
        ) from error


def _joint(data: FeatureData, ensemble: EnsembleTask, units: Units, n_workers: int) -> Batches:
    """Yield units that this thread has finished, with others for blocks of columns."""
    entries = data.X.size * units.n_left
    n_threads = min(n_workers, 1 + entries // _WORTH_A_THREAD)
    inner_threads = 1 if n_threads > 1 or entries <= _LITTLE else None
    with blas_limit(inner_threads):
        for unit in units:
            yield run_batch(data.X, ensemble, unit, inner_threads, n_threads)


def _in_threads(data: FeatureData, ensemble: EnsembleTask, units: Units, n_workers: int) -> Batches:
    """Yield units that threads have finished.

    joblib's own loop sleeps 10 ms at a time, as long as a small ensemble takes. As its threads do, these let the
    program end when the caller leaves early.
    """
    results = SimpleQueue[Batch | BaseException | None]()
    inner_threads = _threads_per_worker(n_workers)

    def work() -> None:
        try:
            for unit in units:
                results.put(run_batch(data.X, ensemble, unit, inner_threads))
            results.put(None)
        except BaseException as error:
            results.put(error)

    with blas_limit(inner_threads), restored_filters():
        try:
            for _ in range(n_workers):
                Thread(target=work, daemon=True).start()
            while n_workers:
                with suppress(Empty):
                    # The time limit lets an interrupt through on systems where waiting would not.
                    batch = results.get(timeout=0.1)
                    if isinstance(batch, BaseException):
                        raise batch
                    if batch is None:
                        n_workers -= 1
                    else:
                        yield batch
        finally:
            units.stopped = True


def _in_processes(data: FeatureData, ensemble: EnsembleTask, units: Units, n_workers: int) -> Batches:
    """Yield units that processes (or whatever joblib is configured for) have finished."""
    from joblib import Parallel, delayed

    inner_threads = _threads_per_worker(n_workers) if n_workers > 1 else None
    tasks = (delayed(run_batch)(data.X, ensemble, unit, inner_threads) for unit in units)
    # A small pre-dispatch keeps the wait short when the caller cancels: tasks that have begun are finished.
    one_by_one = getattr(_backend(), "supports_return_generator", False)
    parallel = Parallel(
        n_jobs=n_workers,
        prefer="threads",
        return_as="generator_unordered" if one_by_one else "list",
        batch_size=1,
        pre_dispatch="n_jobs",
    )
    with blas_limit(inner_threads):
        results = parallel(tasks)
        if not one_by_one:
            yield from results
            return
        yield from as_finished(results)


def as_finished(results: Any) -> Generator[Any, None, None]:
    """Yield what tasks of joblib return, from its generator, until the caller leaves; then they end quietly."""
    try:
        # Not "yield from": it would close `results`, and joblib would warn of dropped tasks.
        for result in results:  # noqa: UP028
            yield result
    finally:
        with suppress(_LeftError):  # any error ends the tasks without a warning; the caller knows why it left
            results.throw(_LeftError())


def _threads_per_worker(n_workers: int) -> int:
    from joblib import cpu_count

    return max(cpu_count() // n_workers, 1)


def _on_dask(backend: Any, data: FeatureData, ensemble: EnsembleTask, units: Units, n_workers: int) -> Batches:
    """Yield units that the workers of a Dask cluster have finished.

    joblib's own loop would run everything in this process whenever the cluster has a single thread, for example while
    the other worker is being restarted.
    """
    from distributed import as_completed

    client = backend.client
    # Sent once; workers fetch it from each other. A file is opened where it is needed.
    table = data.file or client.scatter(data.X, hash=False)
    shared = client.scatter(ensemble, hash=False)

    def submit_next(n_tasks: int) -> list[Any]:
        return [
            client.submit(run_batch, table, shared, unit, 1, pure=False, **backend.submit_kwargs)
            for unit in islice(units, n_tasks)
        ]

    # Workers may be threads of this process. If this is itself a task of the cluster, the context of the backend gives
    # its thread back while it waits.
    with blas_limit(1), backend.retrieval_context():
        running = as_completed(submit_next(n_workers))
        for future in running:
            yield future.result()
            running.update(submit_next(1))


def _check_portable(ensemble: EnsembleTask) -> None:
    import cloudpickle

    try:
        cloudpickle.dumps(ensemble)
    except Exception as error:
        raise EnsembleError(
            f"the selector cannot be sent to other processes ({type(error).__name__}: {error}). Write it without open "
            "files, locks and connections, or run it in threads of this one."
        ) from error


class _ProcessWide:
    """What belongs to the whole process and several ensembles may want at once: the first sets it, the last ends it.

    If each restored what it had found, one that began later and ended later would leave it behind.
    """

    def __init__(self, make: Callable[..., AbstractContextManager[Any]]) -> None:
        self._make = make
        self._lock = Lock()
        self._n_holders = 0
        self._held = ExitStack()

    @contextmanager
    def __call__(self, *arguments: Any) -> Iterator[None]:
        with self._lock:
            if self._n_holders == 0:
                self._held.enter_context(self._make(*arguments))
            self._n_holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_holders -= 1
                if self._n_holders == 0:
                    self._held.close()


_blas = _ProcessWide(lambda threads: thread_limit(threads, "blas"))


def blas_limit(threads: int | None) -> AbstractContextManager[None]:
    """Limit BLAS, so that its threads and our workers do not multiply; None leaves it as it is.

    That is global to the process and therefore set by the thread that waits for all workers. The limit of OpenMP
    belongs to each thread; workers set it themselves. Worker processes of joblib and of Dask set theirs at their start.
    """
    return nullcontext() if threads is None else _blas(threads)


# Selectors and predictors of scikit-learn set filters of warnings for a while; these are global to the process, and
# threads end that in any order. Whoever waits for threads restores what was set before all of them.
restored_filters = _ProcessWide(warnings.catch_warnings)
