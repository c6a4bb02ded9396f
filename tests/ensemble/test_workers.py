"""Workers on this machine: runs done together, threads, limits of numerical libraries."""

import sys
import threading
import types
from contextlib import ExitStack

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_info, threadpool_limits

from ubayfs.data import TASKS, FeatureData
from ubayfs.ensemble import batches, workers
from ubayfs.ensemble.batches import Batch, EnsembleTask, thread_limit
from ubayfs.ensemble.collect import collect_evidence
from ubayfs.ensemble.subsampling import plan_subsamples
from ubayfs.exceptions import EnsembleError
from ubayfs.selectors.base import ElementarySelector


class Joint(ElementarySelector):
    """Highest mean in the subsample plus noise of the run; runs are done together."""

    name = "joint"
    tasks = frozenset(TASKS)
    joint = True

    def __init__(self):
        self.calls = []
        self.threads = set()

    def select_many(self, X, target, subsamples, n_features, rngs):
        self.calls.append(len(rngs))
        self.threads.add(threading.get_ident())
        means = [X[rows].mean(axis=0) for rows in subsamples]
        return [
            np.argsort(-mean - rng.normal(size=X.shape[1]))[:n_features] for mean, rng in zip(means, rngs, strict=True)
        ]


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
    return collect_evidence(*table, selector, **arguments)


def rows_of(evidence):
    return [tuple(row) for row in np.split(evidence.sets.indices, evidence.sets.indptr[1:-1])]


# Runs that are done together


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_little_work_is_done_at_once_by_the_calling_thread(table, n_jobs):
    selector = Joint()
    collect(table, selector, n_jobs=n_jobs)
    assert selector.calls == [110]
    assert selector.threads == {threading.get_ident()}


def test_more_work_is_shared_among_threads(table, always_worth_a_thread):
    selector = Joint()
    collect(table, selector, n_jobs=2)
    assert sorted(selector.calls) == [35, 75]
    assert threading.get_ident() not in selector.threads


@pytest.mark.parametrize("selectors", [[Separate()], [Joint(), Separate()]], ids=["separate", "mixed"])
def test_runs_are_done_together_only_if_that_pays_for_all_selectors(table, selectors):
    for selector in selectors:
        selector.calls.clear()
    collect(table, selectors)
    assert [sum(calls) for calls in zip(*(selector.calls for selector in selectors), strict=True)] == [25] * 4 + [10]


def test_large_work_is_done_in_batches(table, monkeypatch):
    monkeypatch.setattr(workers, "_MOST_AT_ONCE", table[0].size * 110 - 1)
    selector = Joint()
    collect(table, selector)
    assert selector.calls == [25, 25, 25, 25, 10]


@pytest.mark.parametrize(
    "selector", ["fisher", "mrmr", ["mrmr", "fisher"], Joint()], ids=["fisher", "mrmr", "mixed", "joint"]
)
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_runs_find_the_same_together_and_apart(table, selector, n_jobs, monkeypatch, always_worth_a_thread):
    together = collect(table, selector, n_jobs=n_jobs)
    monkeypatch.setattr(workers, "_MOST_AT_ONCE", 0)
    apart = collect(table, selector, n_jobs=n_jobs)
    assert rows_of(together) == rows_of(apart)
    assert together.runs == apart.runs


def test_progress_is_told_of_the_usual_batches(table):
    told = []
    collect(table, Joint(), on_progress=lambda done, total: told.append(done))
    assert told == [25, 50, 75, 100, 110]


def test_cancelling_keeps_the_runs_that_were_done_together(table, always_worth_a_thread):
    """Without threads all is done by then, so that nothing is cancelled."""
    evidence = collect(table, Joint(), on_progress=lambda done, total: False)
    assert evidence.n_models == 110


def test_a_checkpoint_with_gaps_is_filled(table, tmp_path):
    expected = rows_of(collect(table, Joint()))
    collect(table, Joint(), checkpoint=tmp_path)
    files = sorted(tmp_path.glob("*.npz"))
    assert len(files) == 5
    for position in (1, 2, 4):
        files[position].unlink()
    selector = Joint()
    assert rows_of(collect(table, selector, checkpoint=tmp_path)) == expected
    assert selector.calls == [50, 10]


def test_pieces_of_a_batch():
    outcomes = tuple(np.array([run]) for run in range(50, 110))
    pieces = list(Batch(50, outcomes).pieces())
    assert [(piece.start, piece.stop) for piece in pieces] == [(50, 75), (75, 100), (100, 110)]
    assert tuple(outcome for piece in pieces for outcome in piece.outcomes) == outcomes


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
                assert go_on.wait(60)
            return super().select_many(*arguments)

    def leave(done, total):
        for _ in range(2):
            assert seen.acquire(timeout=60)
        raise RuntimeError("the window was closed")

    selector = Waiting()
    with pytest.raises(RuntimeError, match="the window was closed"):
        collect(table, selector, n_models=500, n_jobs=2, on_progress=leave)
    go_on.set()
    for thread in working:
        thread.join(60)
    assert len(selector.calls) <= 6  # of 20


def test_parallel_config_is_heard(table):
    selector = Separate()
    with joblib.parallel_config(backend="sequential"):
        collect(table, selector, n_jobs=2)
    assert selector.threads == {threading.get_ident()}
    with joblib.parallel_config(backend="threading", n_jobs=2):
        collect(table, selector)
    assert len(selector.threads) > 1


def test_selectors_see_aligned_tables(table):
    seen = []

    class Looking(Separate):
        def select_many(self, X, *arguments):
            seen.append(X)
            return super().select_many(X, *arguments)

    data = FeatureData.from_table(*table)
    task = EnsembleTask(data.target, plan_subsamples(data, 0.75), (Looking(),), 4, 3)
    for order in "CF":
        raw = np.zeros(data.X.nbytes + 1, dtype=np.uint8)[1:]
        askew = np.ndarray(data.X.shape, dtype=np.float64, buffer=raw.data, order=order)
        askew[...] = data.X
        assert not askew.flags.aligned
        found, expected = (batches.run_batch(X, task, 0, 3).outcomes for X in (askew, data.X))
        np.testing.assert_array_equal(found, expected)
        assert seen[-2].flags.aligned
        assert seen[-2].strides == askew.strides
        assert seen[-1] is data.X


# Seeds


def test_generators_are_children_of_the_seed_of_the_run():
    task = EnsembleTask(None, None, (), 1, [5, 6], (7,))
    children = np.random.SeedSequence([5, 6], spawn_key=(7, 11)).spawn(2)
    for generator, child in zip(task.generators(11), children, strict=True):
        assert generator.bit_generator.state == np.random.default_rng(child).bit_generator.state


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


def test_libraries_are_looked_for_again_when_modules_were_loaded(monkeypatch):
    def known():
        return batches._libraries(len(sys.modules))

    first = known()
    assert known() is first
    monkeypatch.setitem(sys.modules, "a_module_with_a_library", types.ModuleType("a_module_with_a_library"))
    assert known() is not first


def test_overlapping_ensembles_leave_no_limit_behind(table):
    """One that begins later and ends later finds the limit of the other; the last takes it back for both."""
    before = blas_threads()
    with threadpool_limits(2, user_api="blas"):
        usual = blas_threads()
        with ExitStack() as first, ExitStack() as second:
            first.enter_context(workers._blas_limit(1))
            second.enter_context(workers._blas_limit(1))
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
            failed.wait(60)
            super().run()

    monkeypatch.setattr(workers, "Thread", Refused)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        collect(table, selector, n_jobs=2)
    failed.set()
    started[0].join(timeout=60)
    assert not started[0].is_alive()
    assert sum(selector.calls) == 0


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_process_backends_find_the_same(table, backend):
    with joblib.parallel_config(backend=backend):
        found = collect(table, "fisher", n_jobs=2)
    assert rows_of(found) == rows_of(collect(table, "fisher"))


def test_a_selector_that_cannot_travel_is_told_at_once(table):
    lock = threading.Lock()

    def locked(X, y, n_features, rng):
        with lock:
            return np.arange(n_features)

    message = "cannot be sent to other processes"
    with joblib.parallel_config(backend="loky"), pytest.raises(EnsembleError, match=message):
        collect(table, locked, n_jobs=2)
