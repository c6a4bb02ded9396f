"""Repeats: numbered pieces of work in threads or processes, with progress, a cancel, and files of what is finished.

Threads share the data, but wait for the interpreter: where ensembles are many small steps, two take as long as one. So
what takes long is done in processes, which map one copy of the table and begin in about half a second.
"""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from pickle import PicklingError
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

import numpy as np

from .._arguments import MOST_REPEATS, Array, RandomState, check_int
from .._files import load_record, save_record
from ..data.feature_data import FeatureData
from ..ensemble.checkpoint import Checkpoint, as_directory, identity
from ..ensemble.collect import check_ensemble, gather, run_ensemble, seed_of
from ..ensemble.evidence import Evidence, check_failures
from ..ensemble.pooling import averaged_with_sites
from ..ensemble.progress import Progress, as_progress
from ..ensemble.site import Site
from ..ensemble.workers import as_finished, blas_limit, restored_filters, threads_for
from ..exceptions import Advice, EnsembleError, InputError, UBayFSWarning
from .procedure import Procedure, check_varies, is_built_in, n_features_at_a_site, parts_of_sites

_KIND, _VERSION = "ubayfs repeated ensembles", 1
ARRAYS = r"about|counts|directions|n_models|shares|squares|samples|[0-9]+_(indptr|indices|constant|carriers|votes)"
# Children of the seed; those of the runs of the evidence itself are below MOST_MODELS.
_KEYS = {"vote_shuffles": 2**31, "splits": 2**31 + 1}

# Counted work of all repeats that processes are begun for: some seconds.
WORTH_PROCESSES = 4e9

T = TypeVar("T")


def processes_for(n_jobs: int | None, procedure: Procedure, n: int) -> int:
    """Return how many processes share n repeats, each of about one ensemble; 1 where they are not worth it.

    Selectors of others stay in this process, which alone may know them.
    """
    little = n * procedure.work < WORTH_PROCESSES
    if little or not all(map(is_built_in, procedure.selectors)) or multiprocessing.current_process().daemon:
        return 1
    return min(n, threads_for(n_jobs))


def repeats_advice(what: str, n: int, n_done: int, failures: tuple[str, ...], cancelled: bool) -> tuple[Advice, ...]:
    """Return what must be known of repeats: some failed, or were cancelled."""
    advice = list[Advice]()
    if failures:
        advice.append(Advice("repeats_failed", {"what": what, "n": n, "n_failed": len(failures), "error": failures[0]}))
    if cancelled:
        advice.append(Advice("repeats_cancelled", {"what": what, "n": n, "n_done": n_done}))
    return tuple(advice)


def check_usable(what: str, failures: Sequence[str], n: int) -> None:
    """Raise EnsembleError if more than half of n repeats failed: what the others say would be of chosen samples."""
    if 2 * len(failures) > n:
        reason, times = Counter(failures).most_common(1)[0]
        which = f"most frequent reason ({times}x)" if times > 1 else "first reason"
        raise EnsembleError(
            f"{len(failures)} of {n} {what} could not be used, and at least half must; the {which} is: {reason}"
        )


class Cancelled(Exception):  # noqa: N818 - not an error
    """The caller stopped the repeats."""


@dataclass(eq=False)
class Repeats:
    """Does pieces of work; whatever number b needs is determined by b, so that no order matters."""

    what: str
    n: int
    n_jobs: int | None
    on_progress: Progress | None
    n_workers: int  # threads, each for one repeat at a time; 1: threads or processes are for the runs of an ensemble
    n_processes: int = 1  # instead of threads, each for one repeat at a time
    n_done: int = 0
    stopped: bool = False
    # From threads: what a repeat has found, how many runs of an ensemble are done, None for the end of a thread.
    _results: SimpleQueue[Any] = field(default_factory=SimpleQueue)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a process gets, which does one repeat."""
        alone = {"on_progress": None, "n_jobs": 1, "n_workers": 1, "n_processes": 1, "_results": None}
        return vars(self) | alone

    def ensemble(self, procedure: Procedure, data: FeatureData, seed: Mapping[str, Any], **about: Any) -> Evidence:
        """Run an ensemble on other data of the same features; `about` is added to its settings."""
        settings = {**procedure.settings, "seed": seed, "n_samples": data.n_samples, **about}
        evidence = self._runs(procedure, data, settings)
        if data.covariates is None or data.covariates.site is None:
            return evidence
        at_a_site = {**settings, "n_features_per_model": n_features_at_a_site(data)}
        sites = {}
        for label, part in parts_of_sites(data).items():
            with suppress(InputError):  # too few of a class in this part of the samples
                check_varies(part.target, label)
                at_site = self._runs(procedure, part, {**at_a_site, "n_samples": part.n_samples})
                sites[label] = replace(at_site, site=Site.of(part, np.flatnonzero(at_site.counts)))
        return replace(averaged_with_sites(evidence, sites), cohorts={}, notes=()) if len(sites) > 1 else evidence

    def _runs(self, procedure: Procedure, data: FeatureData, settings: Mapping[str, Any]) -> Evidence:
        n_jobs = self.n_jobs if self.n_workers == 1 else 1
        outcomes = run_ensemble(data, procedure.selectors, settings, n_jobs, self._watch)
        if self.stopped:
            raise Cancelled
        evidence = gather(outcomes, data.feature_names, data.constant, settings)
        check_failures(evidence.failures, len(outcomes))
        return evidence

    def _watch(self, done: int, total: int) -> bool:
        """Return whether an ensemble shall go on; the caller is asked in its own thread."""
        if done < total and self.n_workers == 1:
            self.report(self.n_done)
        elif done < total:
            self._results.put(done)
        return not self.stopped

    def report(self, n_done: int) -> bool:
        """Report to the caller how many repeats are done; return False if there shall be no more."""
        self.n_done = n_done
        if self.on_progress is not None and not self.stopped and self.on_progress(n_done, self.n) is False:
            self.stopped = True
        return not self.stopped

    def run(
        self,
        repeat: Callable[[int], T],
        load: Callable[[int], T | None],
        save: Callable[[int, T], None],
        n_needed: int | None = None,
    ) -> tuple[dict[int, T], dict[int, str]]:
        """Return what repeats have found and why others failed, by number and in this order.

        What `load` knows is not repeated. EnsembleError if more than half of the first `n_needed` ones failed.
        """
        done = {number: stored for number in range(self.n) if (stored := load(number)) is not None}
        failures: dict[int, str] = {}
        self.report(len(done))
        numbers = iter([number for number in range(self.n) if number not in done])
        with closing(self._outcomes(repeat, numbers)) as outcomes:
            for number, outcome, failure in outcomes:
                if failure is not None:
                    failures[number] = failure
                    n_first = n_needed or self.n
                    check_usable(self.what, [reason for i, reason in failures.items() if i < n_first], n_first)
                else:
                    done[number] = outcome
                    save(number, outcome)
                if not self.report(len(done) + len(failures)):
                    break  # what threads finish after that does not count: the caller knows how much is done
        return dict(sorted(done.items())), dict(sorted(failures.items()))

    def _outcomes(
        self, repeat: Callable[[int], T], numbers: Iterator[int]
    ) -> Generator[tuple[int, T, str | None], None, None]:
        """Yield what repeats find, or why they fail, as they are finished and until the caller stops them."""

        def attempt() -> tuple[int, Any, str | None] | None:
            number = None if self.stopped else next(numbers, None)
            try:
                return None if number is None else _tried(repeat, number)
            except Cancelled:
                return None

        if self.n_processes > 1:
            yield from self._of_processes(repeat, numbers)
            return
        if self.n_workers == 1:
            yield from iter(attempt, None)
            return

        def work() -> None:
            try:
                while (outcome := attempt()) is not None:
                    self._results.put(outcome)
            finally:
                self._results.put(None)

        pool_of_threads = ThreadPoolExecutor(self.n_workers, thread_name_prefix="ubayfs-repeats")
        with blas_limit(1), restored_filters(), pool_of_threads as pool:
            try:
                workers = [pool.submit(work) for _ in range(self.n_workers)]
                n_left = len(workers)
                while n_left:
                    outcome = self._results.get()
                    if outcome is None:
                        n_left -= 1
                    elif isinstance(outcome, int):
                        self.report(self.n_done)
                    else:
                        yield outcome
                for worker in workers:
                    worker.result()  # raises what nobody expects
            finally:
                self.stopped = True  # whatever is under way ends early

    def _of_processes(self, repeat: Callable[[int], T], numbers: Iterator[int]) -> Generator[Any, None, None]:
        from joblib import Parallel, delayed

        options: dict[str, Any] = {"return_as": "generator_unordered", "batch_size": 1, "pre_dispatch": "n_jobs"}
        tasks = (delayed(_tried_quietly)(repeat, number) for number in numbers if not self.stopped)
        try:
            yield from as_finished(Parallel(self.n_processes, backend="loky", **options)(tasks))
        except (BrokenExecutor, PicklingError) as error:
            raise EnsembleError(
                f"processes cannot do it ({type(error).__name__}: {error}). Repeat the call with n_jobs=1."
            ) from error


def _tried(repeat: Callable[[int], T], number: int) -> tuple[int, T | None, str | None]:
    """Return what a repeat finds, or why it fails."""
    try:
        return number, repeat(number), None
    except (EnsembleError, InputError) as error:
        return number, None, str(error)


def _tried_quietly(repeat: Callable[[int], T], number: int) -> tuple[int, T | None, str | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UBayFSWarning)  # nobody reads what a process says
        return _tried(repeat, number)


class _Stored(Protocol):
    def to_arrays(self) -> dict[str, Array]: ...


_Result = TypeVar("_Result", bound=_Stored)


@dataclass(eq=False)
class EnsembleRepeats(Repeats):
    """Repeats of one ensemble with shuffled targets or on halves, of which finished ones are stored."""

    procedure: Procedure = field(kw_only=True)
    settings: dict[str, Any] = field(kw_only=True)  # with the seed
    directory: Path | None = field(kw_only=True)

    @classmethod
    def from_arguments(
        cls,
        what: str,
        data: FeatureData,
        ensemble: Mapping[str, Any],
        n: Any,
        random_state: RandomState,
        n_jobs: int | None,
        on_progress: Progress | bool | None,
        checkpoint: str | os.PathLike[str] | None,
    ) -> EnsembleRepeats:
        """Check all arguments, and open the checkpoint."""
        n = check_int(f"n_{what}", n, low=1, high=MOST_REPEATS)
        check_ensemble(n_jobs=n_jobs)
        watch = as_progress(on_progress, what)
        procedure = Procedure.from_arguments(data, ensemble)
        directory = None if checkpoint is None else as_directory(checkpoint)
        settings = {**procedure.settings, "seed": seed_of(random_state, directory)}
        if directory is not None:
            # With another number of models a repeat is another one, other than a run of an ensemble.
            Checkpoint.open(directory, {**settings, "repeats": what, "models of each": settings["n_models"]})
        workers = (min(n, threads_for(n_jobs)), processes_for(n_jobs, procedure, n))
        return cls(what, n, n_jobs, watch, *workers, procedure=procedure, settings=settings, directory=directory)

    def _seed(self, *key: int) -> dict[str, Any]:
        seed = self.settings["seed"]
        return {**seed, "spawn_key": [*seed["spawn_key"], _KEYS[self.what], *key]}

    def generator(self, number: int) -> np.random.Generator:
        """Return the generator of the shuffle or the split with this number."""
        return np.random.default_rng(np.random.SeedSequence(**self._seed(number, 0)))

    def again(self, data: FeatureData, number: int, half: int = 0) -> Evidence:
        """Run the ensemble on other data of the same features."""
        return self.ensemble(self.procedure, data, self._seed(number, 1 + half), **{self.what: number})

    def collect(
        self, repeat: Callable[[int], _Result], read: Callable[[Mapping[str, Array]], _Result], earlier: list[_Result]
    ) -> tuple[list[_Result], tuple[str, ...]]:
        """Return what repeats have found, and why others failed; the first ones are known from `earlier`."""

        def load(number: int) -> _Result | None:
            return earlier[number] if number < len(earlier) else self._load(number, read)

        def save(number: int, result: _Result) -> None:
            if self.directory is not None:
                about = {"ensemble": identity(self.settings)}
                save_record(self._path(self.directory, number), _KIND, _VERSION, about, **result.to_arrays())

        results, failures = self.run(repeat, load, save)
        return list(results.values()), tuple(failures.values())

    def continues(self, earlier: Any) -> bool:
        """Return whether earlier ensembles are the first ones of these, and all of them could be run."""
        if earlier.failures or not earlier.complete:
            return False
        same = identity(earlier.settings) == identity(self.settings)
        return bool(same and earlier.settings["n_models"] == self.settings["n_models"])

    def _path(self, directory: Path, number: int) -> Path:
        return directory / f"{self.what}-{number:05d}.npz"

    def _load(self, number: int, read: Callable[[Mapping[str, Array]], _Result]) -> _Result | None:
        if self.directory is None or not (path := self._path(self.directory, number)).exists():
            return None
        try:
            metadata, arrays = load_record(path, _KIND, _VERSION, ARRAYS)
            if metadata.get("ensemble") != identity(self.settings):
                raise EnsembleError(f"{path} holds something else, copied from elsewhere.")
            return read(arrays)
        except EnsembleError as error:
            Advice("checkpoint_damaged", {"reason": str(error).rstrip(".")}).warn()
            return None
