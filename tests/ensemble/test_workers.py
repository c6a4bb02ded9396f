"""Workers on this machine: runs done together, threads, limits of numerical libraries."""

import os
import threading
import time
import tracemalloc
import warnings
from contextlib import ExitStack
from pkgutil import resolve_name

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_info, threadpool_limits

from ubayfs.data import TASKS, FeatureData
from ubayfs.ensemble import workers
from ubayfs.ensemble.batches import EnsembleTask, thread_limit
from ubayfs.ensemble.collect import collect_evidence
from ubayfs.ensemble.subsampling import plan_subsamples
from ubayfs.exceptions import EnsembleError, EnsembleWarning
from ubayfs.selectors import SELECTORS, tree
from ubayfs.selectors.base import ElementarySelector
from ubayfs.selectors.threads import each_block


class Joint(ElementarySelector):
    """Highest mean in the subsample plus noise of the run; runs are done together, in threads over columns."""

    name = "joint"
    tasks = frozenset(TASKS)
    joint = True

    def __init__(self):
        self.calls = []
        self.threads = set()

    def select_many(self, X, target, subsamples, n_features, rngs):
        self.calls.append(len(rngs))
        scores = np.empty((len(rngs), X.shape[1]))

        def score(block):
            self.threads.add(threading.get_ident())
            self.meet()
            scores[:, block] = [X[rows, block].mean(axis=0) for rows in subsamples]

        each_block(score, [slice(column, column + 1) for column in range(X.shape[1])])
        return [
            np.argsort(-row - rng.normal(size=X.shape[1]))[:n_features] for row, rng in zip(scores, rngs, strict=True)
        ]

    def meet(self):
        """Wait for the other threads, in tests that count them."""


class Separate(Joint):
    joint = False


@pytest.fixture(scope="module")
def table():
    return make_classification(60, 12, n_informative=4, flip_y=0, random_state=0)


@pytest.fixture
def always_worth_a_thread(monkeypatch):
    monkeypatch.setattr(workers, "_WORTH_A_THREAD", 1)


def collect(table, selector, **arguments):
    arguments = {"n_models": 110, "n_features_per_model": 4, "random_state": 3, **arguments}
    return collect_evidence(*table, selector=selector, **arguments)


def rows_of(evidence):
    return [tuple(row) for row in np.split(evidence.sets.indices, evidence.sets.indptr[1:-1])]


# Runs that are done together


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_little_work_is_done_at_once_by_the_calling_thread(table, n_jobs):
    selector = Joint()
    collect(table, selector, n_models=100, n_jobs=n_jobs)
    assert selector.calls == [100]
    assert selector.threads == {threading.get_ident()}


def test_more_work_of_joint_selectors_is_shared_among_threads_by_columns(table, always_worth_a_thread):
    """All runs are in one call, and three threads meet in its columns."""
    barrier = threading.Barrier(3)

    class Meeting(Joint):
        def meet(self):
            barrier.wait(600)

    selector = Meeting()
    evidence = collect(table, selector, n_models=100, n_jobs=3)  # 12 columns
    assert selector.calls == [100]
    assert len(selector.threads) == 3
    assert threading.get_ident() not in selector.threads
    assert rows_of(evidence) == rows_of(collect(table, Joint(), n_models=100))


@pytest.mark.parametrize(
    ("selector", "work"), [("fisher", "scoring.run_scores"), ("mrmr", "concordance.Concordance.__call__")]
)
def test_fisher_and_mrmr_share_columns_among_threads(table, selector, work, monkeypatch, always_worth_a_thread):
    """All runs are in one call, and three threads meet in its blocks of columns."""
    expected = collect(table, selector, n_models=100)
    do_work, barrier, threads = resolve_name(f"ubayfs.selectors.{work}"), threading.Barrier(3), set()

    def meet_first(*arguments):
        if threading.get_ident() not in threads:
            threads.add(threading.get_ident())
            barrier.wait(600)
        return do_work(*arguments)

    monkeypatch.setattr(f"ubayfs.selectors.{work}", meet_first)
    monkeypatch.setattr("ubayfs.selectors.scoring.blocks_of", one_column_each)
    monkeypatch.setattr("ubayfs.selectors._greedy.blocks_of", one_column_each)
    found = collect(table, selector, n_models=100, n_jobs=3)
    assert len(threads) == 3
    assert rows_of(found) == rows_of(expected)


def one_column_each(n_rows, n_columns):
    return [slice(column, column + 1) for column in range(n_columns)]


def test_errors_in_threads_over_columns_are_those_of_the_runs(table, always_worth_a_thread):
    class Broken(Joint):
        name = "broken"

        def meet(self):
            raise ValueError("no luck")

    with pytest.raises(EnsembleError, match=r"10 of 10 elementary runs failed.*ValueError: no luck"):
        collect(table, Broken(), n_models=10, n_jobs=2)


def runs_per_unit(shape, selector, n_runs, n_workers, recorded=False):
    names = [selector] if isinstance(selector, str) else selector
    task = EnsembleTask(None, None, tuple(SELECTORS[name] for name in names), 10, 3)
    return workers.runs_per_unit(task, shape, n_runs, n_workers, recorded)


def test_large_tables_are_done_in_small_units():
    """Some seconds of a tree, whatever the table; what joint selectors hold of all runs stays a part of the table."""
    assert [runs_per_unit((n, 1000), "tree", 10**6, 1) for n in (100, 1000, 10**4, 10**6)] == [50, 16, 1, 1]
    for shape in [(200, 10**6), (10**5, 500), (2000, 20_000)]:
        size = runs_per_unit(shape, "mrmr", 10**6, 1)
        assert 25 <= size <= 100
        assert size * max(shape) <= max(2**23, shape[0] * shape[1] // 4)
    assert [runs_per_unit((n, 10**6), "mrmr", 10**6, 1) for n in (40, 200, 400)] == [25, 50, 100]


@pytest.mark.parametrize("selector", ["fisher", "tree"])
def test_a_million_runs_begin_at_once(table, selector):
    """Nothing is held for runs that have not begun."""

    def peak(n_models):
        tracemalloc.start()
        try:
            evidence = collect(table, selector, n_models=n_models, on_progress=lambda done, total: False)
            return evidence, tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    with pytest.warns(EnsembleWarning, match=r"cancelled after \d+ of \d+ runs"):
        few, many = peak(200), peak(10**6)
    assert few[0].n_models < 200
    assert rows_of(few[0]) == rows_of(many[0])[: few[0].n_models]
    assert many[1] < few[1] + 2**20


@pytest.mark.parametrize(
    "selector",
    ["fisher", "mrmr", "tree", "laplacian", "hsic", ["mrmr", "tree", "fisher"], Joint(), Separate()],
    ids=["fisher", "mrmr", "tree", "laplacian", "hsic", "mixed", "joint", "separate"],
)
def test_runs_find_the_same_in_every_unit(table, selector, monkeypatch, always_worth_a_thread):
    expected = collect(table, selector, n_models=15)
    for size, n_jobs in [(1, 1), (1, 3), (4, 2), (15, 2)]:
        monkeypatch.setattr(workers, "runs_per_unit", lambda *_, size=size: size)
        found = collect(table, selector, n_models=15, n_jobs=n_jobs)
        assert rows_of(found) == rows_of(expected)
        assert found.runs == expected.runs


def test_progress_is_reported_for_every_unit(table):
    told = []
    collect(table, Joint(), on_progress=lambda done, total: told.append(done))
    assert told == [55, 110]
    told.clear()
    collect(table, Separate(), on_progress=lambda done, total: told.append(done))
    assert told == [25, 50, 75, 100, 110]


# Every worker busy


@pytest.mark.parametrize(("n_models", "n_tasks"), [(20, 20), (100, 50)])
def test_sixteen_threads_are_busy(table, n_models, n_tasks):
    """Sixteen threads meet in their first run: with fewer of them at work the barrier would not open."""
    barrier = threading.Barrier(16)
    tasks = {}

    class Busy(Separate):
        def select_many(self, X, target, subsamples, n_features, rngs):
            first = threading.get_ident() not in tasks
            tasks[threading.get_ident()] = tasks.get(threading.get_ident(), 0) + 1
            if first:
                barrier.wait(600)
            return super().select_many(X, target, subsamples, n_features, rngs)

    evidence = collect(table, Busy(), n_models=n_models, n_jobs=16)
    assert len(tasks) == 16
    assert sum(tasks.values()) == n_tasks
    assert rows_of(evidence) == rows_of(collect(table, Separate(), n_models=n_models))


def waiting_for_others(directory, n_workers):
    """Choose the first feature once so many worker processes, each of which leaves a file, are at work."""
    deadline = 600.0

    def choose(X, y, n_features, rng):
        (directory / f"worker-{os.getpid()}").touch()
        for _ in range(int(deadline / 0.01)):
            if len(list(directory.iterdir())) >= n_workers:
                return [0]
            time.sleep(0.01)
        raise RuntimeError("the other workers have nothing to do")

    return choose


def test_all_processes_are_busy_with_few_runs(table, tmp_path):
    with joblib.parallel_config(backend="loky", n_jobs=4):
        evidence = collect(table, waiting_for_others(tmp_path, 4), n_models=20)
    assert not evidence.failures
    assert len(list(tmp_path.iterdir())) == 4


# Threads


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_a_thread_reaches_the_caller(table, error):
    class Interrupted(Separate):
        def select_many(self, *arguments):
            raise error

    with pytest.raises(error):
        collect(table, Interrupted(), n_jobs=2)


def test_threads_begin_nothing_once_the_caller_has_left(table):
    seen, go_on, working = threading.Semaphore(0), threading.Event(), set()

    class Waiting(Separate):
        def select_many(self, *arguments):
            working.add(threading.current_thread())
            if len(self.calls) >= 2:
                seen.release()
                assert go_on.wait(600)
            return super().select_many(*arguments)

    def leave(done, total):
        for _ in range(2):
            assert seen.acquire(timeout=600)
        raise RuntimeError("the window was closed")

    selector = Waiting()
    with pytest.raises(RuntimeError, match="the window was closed"):
        collect(table, selector, n_models=500, n_jobs=2, on_progress=leave)
    go_on.set()
    for thread in working:
        thread.join(600)
    assert len(selector.calls) <= 6  # of 20


def test_parallel_config_is_heard(table):
    selector = Separate()
    with joblib.parallel_config(backend="sequential"):
        collect(table, selector, n_jobs=2)
    assert selector.threads == {threading.get_ident()}
    with joblib.parallel_config(backend="threading", n_jobs=2):
        collect(table, selector)
    assert len(selector.threads) > 1


# Seeds


# Limits


def n_threads(kind):
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == kind]


@pytest.mark.parametrize(("kind", "other"), [("blas", "openmp"), ("openmp", "blas")])
def test_a_limit_is_for_one_kind_of_libraries(kind, other):
    with threadpool_limits(3):
        with thread_limit(1, kind):
            assert set(n_threads(kind)) == {1}
            assert set(n_threads(other)) == {3}
            with threadpool_limits(2, user_api=other):
                with thread_limit(1, kind):
                    pass
                assert set(n_threads(other)) == {2}
        assert set(n_threads(kind)) == {3}


def test_overlapping_ensembles_leave_no_limit_behind(table):
    """One that begins later and ends later finds the limit of the other; the last takes it back for both."""
    before = blas_threads()
    with threadpool_limits(2, user_api="blas"):
        usual = blas_threads()
        with ExitStack() as first, ExitStack() as second:
            first.enter_context(workers.blas_limit(1))
            second.enter_context(workers.blas_limit(1))
            first.close()
            assert set(blas_threads()) == {1}
        assert blas_threads() == usual
    assert blas_threads() == before


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_threads_stop_when_the_others_cannot_be_started(table, always_worth_a_thread, monkeypatch):
    selector, started, failed = Separate(), [], threading.Event()

    class Refused(threading.Thread):
        def start(self):
            if started:
                raise RuntimeError("can't start new thread")
            started.append(self)
            super().start()

        def run(self):
            failed.wait(600)
            super().run()

    monkeypatch.setattr(workers, "Thread", Refused)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        collect(table, selector, n_jobs=2)
    failed.set()
    started[0].join(timeout=600)
    assert not started[0].is_alive()
    assert sum(selector.calls) == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("selector", ["tree", ["fisher", "tree"]])
def test_columns_are_sorted_once_for_all_trees(table, selector, n_jobs, monkeypatch, tmp_path):
    calls = []
    column_ranks = tree.column_ranks
    monkeypatch.setattr(tree, "column_ranks", lambda X: calls.append(X.shape) or column_ranks(X))
    found = rows_of(collect(table, selector, n_models=9, n_jobs=n_jobs))
    assert calls == [table[0].shape]
    for _ in range(2):  # the second time nothing is left to do
        assert rows_of(collect(table, selector, n_models=9, checkpoint=tmp_path)) == found
    assert len(calls) == 2
    monkeypatch.setattr(tree.Tree, "prepared", lambda self, X: self)
    assert rows_of(collect(table, selector, n_models=9, n_jobs=2)) == found
    assert len(calls) > 3


def test_trees_that_see_samples_of_their_own_sort_them(table):
    X, y = table[0].copy(), table[1]
    X[::7, 0] = np.nan
    found = rows_of(collect((X, y), "tree", n_models=4, missing="median"))
    plan = plan_subsamples(FeatureData.from_table(X, y, missing="median"), 0.75)
    for run, features in enumerate(found):
        rng, tree_rng = (np.random.default_rng(np.random.SeedSequence(3, spawn_key=(run, child))) for child in (0, 1))
        rows = plan.draw(rng)
        own = X[rows]
        own[np.isnan(own[:, 0]), 0] = np.nanmedian(own[:, 0])
        assert features == tuple(np.sort(tree.Tree()(own, y[rows], 4, tree_rng)))


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_process_backends_find_the_same(table, backend):
    with joblib.parallel_config(backend=backend):
        found = collect(table, "fisher", n_jobs=2)
    assert rows_of(found) == rows_of(collect(table, "fisher"))


def test_a_selector_that_cannot_travel_is_reported_at_once(table):
    lock = threading.Lock()

    def locked(X, y, n_features, rng):
        with lock:
            return np.arange(n_features)

    message = "cannot be sent to other processes"
    with joblib.parallel_config(backend="loky"), pytest.raises(EnsembleError, match=message):
        collect(table, locked, n_jobs=2)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_that_set_filters_of_warnings_in_turns_leave_none_behind(n_threads):
    """Each sets one before any other has taken its own back, which they do in the order in which they came."""
    came, left = ([threading.Event() for _ in range(n_threads + 1)] for _ in range(2))
    came[0].set()
    left[0].set()
    numbers = iter(range(n_threads))

    def selector(X, y, n_features, rng):
        number = next(numbers, None)
        if number is not None:  # not the later run of a thread
            came[number].wait(20)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", category=ResourceWarning)
                came[number + 1].set()
                came[-1].wait(20)
                left[number].wait(20)
            left[number + 1].set()
        return [0]

    X, before = np.random.default_rng(0).normal(size=(20, 3)), list(warnings.filters)
    collect_evidence(X, np.arange(20) % 2, selector=selector, n_models=2 * n_threads, random_state=0, n_jobs=n_threads)
    assert left[-1].is_set()
    assert warnings.filters == before


def test_leaving_processes_early_is_not_a_warning():
    rng = np.random.default_rng(0)
    with (
        joblib.parallel_config(backend="threading", n_jobs=2),
        pytest.warns(EnsembleWarning, match="cancelled") as caught,
    ):
        collect_evidence(
            rng.normal(size=(20, 3)), np.arange(20) % 2, selector=_slow, n_models=60, random_state=0,
            on_progress=lambda done, total: done < 1,
        )  # fmt: skip
    assert len(caught) == 1


def _slow(X, y, n_features, rng):
    time.sleep(0.002)
    return [0]
