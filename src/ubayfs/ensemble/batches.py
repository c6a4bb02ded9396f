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

from .._arguments import Array, Floats, Generators, Mask
from ..data.categories import CategoryTable
from ..data.covariates import basis_of
from ..data.feature_data import Target
from ..data.mapped_array import TableFile
from ..data.missing import filled, varying_columns
from ..exceptions import InputError
from ..selectors.adjusted import target_without_covariates, without_covariates
from ..selectors.base import Choice, ElementarySelector, checked_columns
from ..selectors.categories import one_vote_per_feature
from ..selectors.category_numbers import numbers_for
from ..selectors.threads import column_threads
from .evidence import RunFailure
from .subsampling import SubsamplePlan

# What a run found: chosen columns in ascending order, or a failure; and that of some runs by their numbers.
Outcome = Choice | RunFailure
Batch = dict[int, Outcome]


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

    def knows_categories(self, selector: ElementarySelector) -> bool:
        """Return whether a selector can do with categories here."""
        return selector.takes_categories and (self.design is None or selector.adjusts)

    def shows_codes(self, selector: ElementarySelector) -> bool:
        """Return whether a selector gets the coded columns of categories as if they were features."""
        as_numbers = selector.categories_as_numbers and self.target.values is not None
        return not self.knows_categories(selector) and not as_numbers

    def copies(self, X: Array, selector: ElementarySelector) -> bool:
        """Return whether a selector gets a copy of the samples of each run, made for it."""
        if isinstance(X, CategoryTable) and not self.knows_categories(selector):
            return True
        if self.design is not None:
            return not selector.adjusts or (self.fill is not None and not selector.adjusts_gaps)
        return self.fill is not None and not selector.takes_gaps

    def prepared(self, X: Array, n_threads: int) -> EnsembleTask:
        """Return the task with what all runs need of the table computed once; unless each sees a table of its own."""
        with column_threads(n_threads):
            prepared = [self._prepared(X, selector) for selector in self.selectors]
        return replace(self, selectors=tuple(prepared))

    def _prepared(self, X: Array, selector: ElementarySelector) -> ElementarySelector:
        if isinstance(X, CategoryTable) and self.shows_codes(selector):
            return self._prepared(X.coded, selector)
        return selector if self.copies(X, selector) else selector.prepared(X)

    def generators(self, run: int) -> tuple[np.random.Generator, np.random.Generator]:
        """Return fresh generators of one run: for its subsample, and for its selector."""
        return self._generator(run, 0), self._generator(run, 1)

    def size(self, run: int) -> int:
        """Return the most that one run may choose."""
        return int(self._generator(run, 2).integers(1, self.n_features + 1)) if self.random_sizes else self.n_features

    def _generator(self, run: int, child: int) -> np.random.Generator:
        # What SeedSequence.spawn makes of the seed of the run, without making that one first.
        return np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(*self.spawn_key, run, child)))


def run_batch(
    table: Array | TableFile,
    task: EnsembleTask,
    runs: Iterable[int],
    inner_threads: int | None = None,
    n_column_threads: int = 1,
) -> Batch:
    """Do some runs, and return what they found in the same order.

    The table is an argument of its own, so that joblib can map or scatter it once for all batches. `inner_threads` is
    the most that OpenMP may use in this worker, one of several; selectors start no workers of their own then. None
    leaves both alone. `n_column_threads` is for joint selectors, which share blocks of columns among threads.
    """
    X = table.open() if isinstance(table, TableFile) else table
    if isinstance(X, np.ndarray) and not X.flags.aligned:
        # As Dask hands over what came through the network; numpy would be several times slower on it.
        X = X.copy(order="K")
    runs = tuple(runs)
    outcomes: Batch = {}
    with _inner_limits(inner_threads), column_threads(n_column_threads):
        for number, selector in enumerate(task.selectors):
            runs_of_selector = [run for run in runs if run % len(task.selectors) == number]
            if runs_of_selector:
                outcomes.update(zip(runs_of_selector, _run_selector(X, task, selector, runs_of_selector), strict=True))
    return {run: outcomes[run] for run in runs}


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
        choices = _select(X, task, selector, np.array(subsamples), max(sizes), rngs)
        if len(choices) != len(runs):
            raise InputError.of(
                "selector", f"{selector.name!r} returned {len(choices)} sets for {len(runs)} subsamples."
            )
    except Exception as error:
        if len(runs) > 1:
            return [outcome for run in runs for outcome in _run_selector(X, task, selector, [run])]
        return [_failure(runs[0], selector, error)]
    outcomes: list[Outcome] = []
    for run, rows, picks, size in zip(runs, subsamples, choices, sizes, strict=True):
        columns, carriers = picks if isinstance(picks, Choice) else Choice(picks)
        try:
            columns = checked_columns(columns, X.shape[1], max(sizes), selector.name)[:size]
        except InputError as error:
            outcomes.append(_failure(run, selector, error))
            continue
        # What does not vary in the subsample cannot tell its samples apart, whatever a foreign selector thinks.
        values = np.asfortranarray(X[np.ix_(rows, columns)])  # few columns, each in one piece
        kept = np.flatnonzero(varying_columns(values))
        kept = kept[np.argsort(columns[kept])]
        outcomes.append(Choice(columns[kept], None if carriers is None else carriers[kept]))
    return outcomes


def _select(
    X: Array, task: EnsembleTask, selector: ElementarySelector, subsamples: Mask, most: int, rngs: Generators
) -> Sequence[Any]:
    """Return what a selector chooses: of all runs at once if it can do with the table, else of each run by itself."""
    if isinstance(X, CategoryTable) and task.shows_codes(selector):

        def select(coded: Array, *rest: Any) -> Sequence[Any]:
            return _select(coded, task, selector, *rest)

        return one_vote_per_feature(X, select, subsamples, most, rngs)
    if not task.copies(X, selector):
        return selector.choices(X, task.target, task.design, subsamples, most, rngs)
    alone = (_select_alone(X, task, selector, rows, most, rng) for rows, rng in zip(subsamples, rngs, strict=True))
    return [picks for choices in alone for picks in choices]


def _select_alone(
    X: Array, task: EnsembleTask, selector: ElementarySelector, rows: Mask, most: int, rng: np.random.Generator
) -> Sequence[Any]:
    """Return what a selector chooses from a copy of the samples of one run, in which it finds only what it knows.

    Gaps are filled, of covariates nothing is left (nor in gaps), and categories are numbers.
    """
    target, everything = task.target.take(rows), np.ones((1, np.count_nonzero(rows)), dtype=bool)
    samples = (X.coded if isinstance(X, CategoryTable) else X)[rows]
    basis = basis_of(task.design[rows] if task.design is not None else np.empty((len(samples), 0)))
    if task.design is not None:
        samples = without_covariates(samples, basis)
    elif task.fill is not None:
        samples = filled(samples, task.fill)
    if isinstance(X, CategoryTable):
        samples = X.recoded(samples) if task.knows_categories(selector) else numbers_for(X, samples, basis, target, rng)
    if task.design is None:
        return selector.select_many(samples, target, everything, most, [rng])
    if selector.adjusts:
        return selector.select_adjusted(samples, target, task.design[rows], everything, most, [rng])
    return selector.select_many(samples, target_without_covariates(basis, target), everything, most, [rng])


def _failure(run: int, selector: ElementarySelector, error: Exception) -> RunFailure:
    by_caller = isinstance(error, InputError)
    text = str(error) if by_caller else f"{type(error).__name__}: {error}"
    return RunFailure(run, selector.name, text, by_caller)
