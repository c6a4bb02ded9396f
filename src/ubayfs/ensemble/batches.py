"""Batches of elementary runs, and what they found.

A run is determined by its index alone: its seed is the child of the ensemble's seed with that index, its selector the
index modulo the number of selectors. So neither workers nor batches nor their order can change what it finds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from .._arguments import Array, Floats, Generators, Ints, Mask
from ..data.categories import CategoryTable
from ..data.covariates import basis_of
from ..data.feature_data import Target
from ..data.mapped_array import TableFile
from ..data.missing import filled, varying_columns
from ..exceptions import InputError
from ..selectors.adjusted import target_without_covariates, without_covariates
from ..selectors.base import ElementarySelector, checked_columns
from ..selectors.categories import one_vote_per_feature
from ..selectors.threads import column_threads
from .evidence import RunFailure
from .subsampling import SubsamplePlan

Outcome = Ints | RunFailure


@dataclass(frozen=True, eq=False)
class EnsembleTask:
    """What every run needs besides the table: picklable, so that it can travel to other processes."""

    target: Target  # of all samples
    plan: SubsamplePlan
    selectors: tuple[ElementarySelector, ...]  # run m uses number m modulo their count
    n_features: int  # the most that any run may choose
    entropy: int | Sequence[int]  # with `spawn_key`, the seed of the ensemble
    spawn_key: tuple[int, ...] = ()
    random_sizes: bool = False  # whether the most that a run may choose is drawn for it, from 1 to `n_features`
    fill: str | None = None  # what is put into gaps for selectors that need complete data; None: there are no gaps
    design: Floats | None = None  # coded covariates of all samples, (n_samples, n_columns); None: there are none

    @property
    def joint(self) -> bool:
        """Whether many runs together take far less time than each alone, whichever selectors they have."""
        return all(selector.joint for selector in self.selectors)

    def prepared(self, X: Array, n_threads: int) -> EnsembleTask:
        """Return the task with what all runs need of the table computed once; unless each sees a table of its own."""
        if self.fill is not None or self.design is not None:
            return self
        with column_threads(n_threads):
            prepared = [
                selector.prepared(X.coded if isinstance(X, CategoryTable) and not selector.takes_categories else X)
                for selector in self.selectors
            ]
        return replace(self, selectors=tuple(prepared))

    def generators(self, run: int) -> tuple[np.random.Generator, np.random.Generator]:
        """Return fresh generators of one run: for its subsample, and for its selector."""
        return self._generator(run, 0), self._generator(run, 1)

    def size(self, run: int) -> int:
        """Return the most that one run may choose."""
        return int(self._generator(run, 2).integers(1, self.n_features + 1)) if self.random_sizes else self.n_features

    def _generator(self, run: int, child: int) -> np.random.Generator:
        # What SeedSequence.spawn makes of the seed of the run, without making that one first.
        return np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(*self.spawn_key, run, child)))


@dataclass(frozen=True, eq=False)
class Batch:
    """What some runs found: chosen columns in ascending order, or a failure."""

    runs: tuple[int, ...]
    outcomes: tuple[Outcome, ...]  # one per run

    @property
    def n_failed(self) -> int:
        """How many of the runs failed."""
        return sum(isinstance(outcome, RunFailure) for outcome in self.outcomes)


def run_batch(
    table: Array | TableFile,
    task: EnsembleTask,
    runs: Iterable[int],
    inner_threads: int | None = None,
    n_column_threads: int = 1,
) -> Batch:
    """Do some runs, in ascending order.

    The table is an argument of its own, so that joblib can map or scatter it once for all batches. `inner_threads` is
    the most that OpenMP may use in this worker, one of several; selectors start no workers of their own then. None
    leaves both alone. `n_column_threads` is for joint selectors, which share blocks of columns among threads.
    """
    X = table.open() if isinstance(table, TableFile) else table
    if isinstance(X, np.ndarray) and not X.flags.aligned:
        # As Dask hands over what came through the network; numpy would be several times slower on it.
        X = X.copy(order="K")
    runs = tuple(runs)
    outcomes: dict[int, Outcome] = {}
    with _inner_limits(inner_threads), column_threads(n_column_threads):
        for number, selector in enumerate(task.selectors):
            own = [run for run in runs if run % len(task.selectors) == number]
            if own:
                outcomes.update(zip(own, _run_selector(X, task, selector, own), strict=True))
    return Batch(runs, tuple(outcomes[run] for run in runs))


@contextmanager
def _inner_limits(threads: int | None) -> Iterator[None]:
    if threads is None:
        yield
        return
    from joblib import parallel_config

    with thread_limit(threads, "openmp"), parallel_config(backend="sequential"):
        yield


def thread_limit(threads: int, kind: str) -> AbstractContextManager[Any]:
    """Limit the threads of numerical libraries, of kind "blas" (for the process) or "openmp" (for this thread)."""
    # Selected first: a limit is taken back for all libraries of its controller, whichever it was set for.
    limit: AbstractContextManager[Any] = _libraries(len(sys.modules)).select(user_api=kind).limit(limits=threads)
    return limit


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> Any:
    """Return what controls the libraries loaded now; looking for them again takes milliseconds.

    Libraries come with modules, so their number tells when to look again.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _run_selector(X: Array, task: EnsembleTask, selector: ElementarySelector, runs: Sequence[int]) -> list[Outcome]:
    """Run one selector; when it raises on many runs, find out which by running them one at a time."""
    sizes = [task.size(run) for run in runs]
    if len(set(sizes)) > 1 and not selector.nested:
        return [outcome for run in runs for outcome in _run_selector(X, task, selector, [run])]
    subsamples, rngs = [], []
    for run in runs:
        rows_rng, selector_rng = task.generators(run)
        subsamples.append(task.plan.draw(rows_rng))
        rngs.append(selector_rng)
    try:
        found = _select(X, task, selector, np.array(subsamples), max(sizes), rngs)
        if len(found) != len(runs):
            raise InputError.of("selector", f"{selector.name!r} returned {len(found)} sets for {len(runs)} subsamples.")
    except Exception as error:
        if len(runs) > 1:
            return [outcome for run in runs for outcome in _run_selector(X, task, selector, [run])]
        return [_failure(runs[0], selector, error)]
    outcomes: list[Outcome] = []
    for run, rows, picks, size in zip(runs, subsamples, found, sizes, strict=True):
        try:
            columns = checked_columns(picks, X.shape[1], max(sizes), selector.name)[:size]
        except InputError as error:
            outcomes.append(_failure(run, selector, error))
            continue
        # What does not vary in the subsample cannot tell its samples apart, whatever a foreign selector thinks.
        outcomes.append(np.sort(columns[varying_columns(X[np.ix_(rows, columns)])]))
    return outcomes


def _select(
    X: Array, task: EnsembleTask, selector: ElementarySelector, subsamples: Mask, most: int, rngs: Generators
) -> Sequence[Any]:
    """Return what a selector chooses; one that needs complete data sees only the samples of a run, gaps filled."""
    knows = selector.takes_categories and (task.design is None or selector.adjusts)
    if isinstance(X, CategoryTable) and not knows:

        def select(coded: Array, *rest: Any) -> Sequence[Any]:
            return _select(coded, task, selector, *rest)

        return one_vote_per_feature(X, select, subsamples, most, rngs)
    if task.design is not None:
        return _select_adjusted(X, task, task.design, selector, subsamples, most, rngs)
    if task.fill is None or selector.takes_gaps:
        return selector.select_many(X, task.target, subsamples, most, rngs)
    found: list[Any] = []
    for rows, rng in zip(subsamples, rngs, strict=True):
        own, everything = filled(X[rows], task.fill), np.ones((1, np.count_nonzero(rows)), dtype=bool)
        found += selector.select_many(own, task.target.take(rows), everything, most, [rng])
    return found


def _select_adjusted(
    X: Array,
    task: EnsembleTask,
    design: Floats,
    selector: ElementarySelector,
    subsamples: Mask,
    most: int,
    rngs: Generators,
) -> Sequence[Any]:
    """Return what a selector chooses beyond covariates: by itself, or from samples of a run that have nothing of them.

    Where values are missing, both: gaps have nothing of the covariates then, and of nothing else.
    """
    if selector.adjusts and task.fill is None:
        return selector.select_adjusted(X, task.target, design, subsamples, most, rngs)
    found: list[Any] = []
    for rows, rng in zip(subsamples, rngs, strict=True):
        basis, target = basis_of(design[rows]), task.target.take(rows)
        own, everything = _table_without(X, rows, basis), np.ones((1, np.count_nonzero(rows)), dtype=bool)
        if selector.adjusts:
            found += selector.select_adjusted(own, target, design[rows], everything, most, [rng])
        else:
            found += selector.select_many(own, target_without_covariates(basis, target), everything, most, [rng])
    return found


def _table_without(X: Array, rows: Mask, basis: Floats) -> Array:
    """Return the samples of a run without what covariates explain; of categories, of the columns that code them."""
    if isinstance(X, CategoryTable):
        return X.recoded(without_covariates(X.coded[rows], basis))
    return without_covariates(X[rows], basis)


def _failure(run: int, selector: ElementarySelector, error: Exception) -> RunFailure:
    by_caller = isinstance(error, InputError)
    text = str(error) if by_caller else f"{type(error).__name__}: {error}"
    return RunFailure(run, selector.name, text, by_caller)
