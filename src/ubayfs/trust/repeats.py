"""Repeats of an ensemble: seeds, threads, progress, a cancel, and a checkpoint of what is finished."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

import numpy as np

from .._arguments import Array, RandomState, as_seed_sequence, check_int
from .._files import load_record, save_record
from ..data.feature_data import FeatureData
from ..ensemble.checkpoint import Checkpoint, as_directory, identity
from ..ensemble.collect import (
    Progress,
    check_ensemble,
    check_progress,
    collect_evidence,
    gather,
    run_ensemble,
    seed_of,
)
from ..ensemble.evidence import Evidence, check_failures
from ..ensemble.workers import blas_limit, threads_for
from ..exceptions import EnsembleError, EnsembleWarning, InputError
from .procedure import ENSEMBLE, Procedure, same_ensemble

_KIND, _VERSION = "ubayfs repeated ensembles", 1
# Children of the seed; those of the runs of the evidence itself are below MOST_MODELS.
_KEYS = {"shuffles": 2**31, "splits": 2**31 + 1}


class _Stored(Protocol):
    def to_arrays(self) -> dict[str, Array]: ...


_Found = TypeVar("_Found", bound=_Stored)
_Read = Callable[[Mapping[str, Array]], _Found]


@dataclass(eq=False)
class Run:
    """How repeats are run: seed, workers, progress and where finished ones are stored."""

    n: int
    random_state: np.random.SeedSequence | None
    n_jobs: int | None
    on_progress: Progress | None
    directory: Path | None
    stopped: bool = False

    @classmethod
    def of(cls, n: int, random_state: RandomState, n_jobs: Any, on_progress: Any, checkpoint: Any) -> Run:
        """Check the arguments; a generator gives one seed, whatever it is used for."""
        check_progress(on_progress)
        check_ensemble(n_jobs=n_jobs)
        seed = None if random_state is None else as_seed_sequence(random_state)
        return cls(n, seed, n_jobs, on_progress, None if checkpoint is None else as_directory(checkpoint))

    def options(self, name: str) -> dict[str, Any]:
        """Return the arguments of one part of the work, whose files are in a directory of this name."""
        return {
            "random_state": self.random_state,
            "n_jobs": self.n_jobs,
            "on_progress": None if self.on_progress is None else self._watch,
            "checkpoint": None if self.directory is None else self.directory / name,
        }

    def _watch(self, done: int, total: int) -> bool:
        self.stopped = self.stopped or (self.on_progress is not None and self.on_progress(done, total) is False)
        return not self.stopped

    def evidence(
        self, data: FeatureData, evidence: Evidence | None, ensemble: Mapping[str, Any]
    ) -> tuple[Evidence, dict[str, Any]]:
        """Return evidence, collected now if there is none, and the arguments that repeat its ensemble."""
        if evidence is not None:
            return evidence, same_ensemble(evidence, data, ensemble)
        given = {name: ensemble[name] for name in ENSEMBLE if name in ensemble}
        options = self.options("evidence")
        if self.on_progress is not None:  # in repeats, of which none is done
            options["on_progress"] = lambda *_: self._watch(0, self.n)
        return collect_evidence(data, **given, **options), given


class _Cancelled(Exception):  # noqa: N818 - not an error
    """The caller stopped the repeats."""


@dataclass(eq=False)
class Repeats:
    """Runs an ensemble again and again; whatever number b needs is determined by b, so that no order matters."""

    procedure: Procedure
    what: str
    n: int
    settings: dict[str, Any]  # with the seed
    n_jobs: int | None
    on_progress: Progress | None
    directory: Path | None
    n_workers: int  # threads, each for one repeat at a time; 1: threads or processes are for the runs of an ensemble
    n_done: int = 0
    stopped: bool = False
    # From threads: what a repeat has found, how many runs of an ensemble are done, None for the end of a thread.
    _results: SimpleQueue[Any] = field(default_factory=SimpleQueue)

    @classmethod
    def of(
        cls,
        what: str,
        data: FeatureData,
        ensemble: Mapping[str, Any],
        n: Any,
        random_state: RandomState,
        n_jobs: int | None,
        on_progress: Progress | None,
        checkpoint: str | os.PathLike[str] | None,
    ) -> Repeats:
        """Check all arguments, and open the checkpoint."""
        n = check_int(f"n_{what}", n, low=1)
        check_ensemble(n_jobs=n_jobs)
        check_progress(on_progress)
        procedure = Procedure.of(data, ensemble)
        directory = None if checkpoint is None else as_directory(checkpoint)
        settings = {**procedure.settings, "seed": seed_of(random_state, directory)}
        if directory is not None:
            # With another number of models a repeat is another one, other than a run of an ensemble.
            Checkpoint.open(directory, {**settings, "repeat": {"what": what, "n_models": settings["n_models"]}})
        return cls(procedure, what, n, settings, n_jobs, on_progress, directory, min(n, threads_for(n_jobs)))

    def _seed(self, *key: int) -> dict[str, Any]:
        seed = self.settings["seed"]
        return {**seed, "spawn_key": [*seed["spawn_key"], _KEYS[self.what], *key]}

    def generator(self, number: int) -> np.random.Generator:
        """Return the generator of the shuffle or the split with this number."""
        return np.random.default_rng(np.random.SeedSequence(**self._seed(number, 0)))

    def ensemble(self, data: FeatureData, number: int, half: int = 0) -> Evidence:
        """Run the ensemble on other data of the same features."""
        own = {"seed": self._seed(number, 1 + half), "n_samples": data.n_samples, self.what: number}
        settings = {**self.settings, **own}
        n_jobs = self.n_jobs if self.n_workers == 1 else 1
        outcomes = run_ensemble(data, self.procedure.selectors, settings, n_jobs, self._watch)
        if self.stopped:
            raise _Cancelled
        evidence = gather(outcomes, data.feature_names, data.constant, settings)
        check_failures(evidence.failures, len(outcomes))
        return evidence

    def _watch(self, done: int, total: int) -> bool:
        """Tell an ensemble whether to go on; the caller is asked in its own thread."""
        if done < total and self.n_workers == 1:
            self._report(self.n_done)
        elif done < total:
            self._results.put(done)
        return not self.stopped

    def _report(self, n_done: int) -> None:
        self.n_done = n_done
        if self.on_progress is not None and not self.stopped and self.on_progress(n_done, self.n) is False:
            self.stopped = True

    def run(
        self, repeat: Callable[[int], _Found], read: _Read[_Found], earlier: Sequence[_Found] = ()
    ) -> tuple[list[_Found], tuple[str, ...]]:
        """Return what repeats have found, in their order, and why others failed; those that are stored are read.

        `earlier` is what the first ones are known to have found.
        """
        found = dict(enumerate(earlier[: self.n]))
        others = range(len(found), self.n)
        found |= {number: stored for number in others if (stored := self._load(number, read)) is not None}
        failures: dict[int, str] = {}
        self._report(len(found))
        left = iter([number for number in range(self.n) if number not in found])
        with closing(self._outcomes(repeat, left)) as outcomes:
            for number, outcome in outcomes:
                if isinstance(outcome, str):
                    failures[number] = outcome
                    self._check(list(failures.values()))
                else:
                    found[number] = outcome
                    self._save(number, outcome)
                self._report(len(found) + len(failures))
                if self.stopped:  # what threads finish after that does not count: the caller knows how much is done
                    break
        return [found[number] for number in sorted(found)], tuple(failures[number] for number in sorted(failures))

    def _outcomes(
        self, repeat: Callable[[int], _Found], numbers: Iterator[int]
    ) -> Generator[tuple[int, _Found | str], None, None]:
        """Yield what repeats find, or why they fail, as they are finished and until the caller stops them."""

        def attempt() -> tuple[int, _Found | str] | None:
            number = None if self.stopped else next(numbers, None)
            if number is None:
                return None
            try:
                return number, repeat(number)
            except _Cancelled:
                return None
            except (EnsembleError, InputError) as error:
                return number, str(error)

        if self.n_workers == 1:
            yield from iter(attempt, None)
            return

        def work() -> None:
            try:
                while (outcome := attempt()) is not None:
                    self._results.put(outcome)
            finally:
                self._results.put(None)

        with blas_limit(1), ThreadPoolExecutor(self.n_workers, thread_name_prefix="ubayfs-repeats") as pool:
            try:
                workers = [pool.submit(work) for _ in range(self.n_workers)]
                n_left = len(workers)
                while n_left:
                    outcome = self._results.get()
                    if outcome is None:
                        n_left -= 1
                    elif isinstance(outcome, int):
                        self._report(self.n_done)
                    else:
                        yield outcome
                for worker in workers:
                    worker.result()  # raises what nobody expects
            finally:
                self.stopped = True  # whatever is under way ends early

    def _check(self, failures: list[str]) -> None:
        if 2 * len(failures) > self.n:
            reason, times = Counter(failures).most_common(1)[0]
            raise EnsembleError(
                f"{len(failures)} of {self.n} {self.what} could not be used, and at least half must; the most frequent "
                f"reason ({times}x) is: {reason}"
            )

    def continues(self, known: Any) -> bool:
        """Tell whether ensembles that are known are the first ones of these, and all of them could be run."""
        if known is None or known.failures or not known.complete:
            return False
        same = identity(known.settings) == identity(self.settings)
        return bool(same and known.settings["n_models"] == self.settings["n_models"])

    def _path(self, number: int) -> Path | None:
        return None if self.directory is None else self.directory / f"{self.what}-{number:05d}.npz"

    def _save(self, number: int, found: _Found) -> None:
        path = self._path(number)
        if path is not None:
            save_record(path, _KIND, _VERSION, {"ensemble": identity(self.settings)}, **found.to_arrays())

    def _load(self, number: int, read: _Read[_Found]) -> _Found | None:
        path = self._path(number)
        if path is None or not path.exists():
            return None
        try:
            metadata, arrays = load_record(path, _KIND, _VERSION)
            if metadata.get("ensemble") != identity(self.settings):
                raise EnsembleError(f"{path} holds something else, copied from elsewhere.")
            return read(arrays)
        except EnsembleError as error:
            message = f"the checkpoint is damaged, and what it lacks is done again: {error}"
            warnings.warn(message, EnsembleWarning, stacklevel=5)
            return None
