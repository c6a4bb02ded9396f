"""Many machines: a real Dask cluster of worker processes, some of which are killed."""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_info, threadpool_limits

from ubayfs.data.feature_data import FeatureData
from ubayfs.data.mapped_array import TableFile
from ubayfs.ensemble import workers
from ubayfs.ensemble.collect import collect_evidence
from ubayfs.ensemble.workers import on_cluster
from ubayfs.exceptions import EnsembleError, EnsembleWarning, MissingDependencyError

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

START = "distributed.worker.multiprocessing-method"

# Selectors are functions inside functions, so that they travel by value: workers cannot import this module.


@pytest.fixture(scope="module", autouse=True)
def frugal_dask():
    """Workers that are copies of a process with all imports, where the system can, and that do not watch themselves."""
    start = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    settings = {START: start, "distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}
    with dask.config.set(settings):
        distributed.utils.get_mp_context()  # chooses other modules, once
        multiprocessing.set_forkserver_preload(["distributed", "pandas", "sklearn.tree", "ubayfs.ensemble.batches"])
        yield


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        local_directory=str(tmp_path_factory.mktemp("dask")),
        silence_logs=50,
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, set_as_default=True) as client:
        client.wait_for_workers(2, timeout=600)
        yield client


@pytest.fixture(scope="module")
def table():
    return make_classification(60, 300, n_informative=5, random_state=0)


@pytest.fixture(scope="module")
def trees(table):
    """What 500 trees choose."""
    return collect(table, "tree", n_models=500)


def collect(table, selector="fisher", **arguments):
    arguments = {"n_models": 110, "n_features_per_model": 4, "random_state": 3, **arguments}
    return collect_evidence(*table, selector=selector, **arguments)


def on_dask(table, selector="fisher", **arguments):
    with joblib.parallel_config(backend="dask"):
        return collect(table, selector, **arguments)


def rows_of(evidence):
    return [tuple(row) for row in np.split(evidence.sets.indices, evidence.sets.indptr[1:-1])]


def noisy_selector():
    def choose(X, y, n_features, rng):
        return np.argsort(-X.mean(axis=0) - rng.normal(size=X.shape[1]))[:n_features]

    return choose


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_all_threads_of_a_cluster_find_the_same_as_a_serial_run(table, client, n_jobs, monkeypatch):
    asked, on_cluster_threads = [], workers._on_dask

    def note(backend, data, ensemble, bounds, n_workers):
        asked.append(n_workers)
        return on_cluster_threads(backend, data, ensemble, bounds, n_workers)

    monkeypatch.setattr(workers, "_on_dask", note)
    selector = ["fisher", "mrmr", noisy_selector()]
    evidence, serial = on_dask(table, selector, n_jobs=n_jobs), collect(table, selector)
    assert rows_of(evidence) == rows_of(serial)
    assert evidence.runs == serial.runs
    assert not evidence.failures
    assert asked == [sum(client.nthreads().values())]


def test_the_work_is_done_by_the_workers(table, client):
    caller = os.getpid()

    def choose(X, y, n_features, rng):
        return [int(os.getpid() == caller)]

    assert set(rows_of(on_dask(table, choose))) == {(0,)}


def test_no_failed_run_is_a_lost_worker(table, client):
    def fail(X, y, n_features, rng):
        raise ValueError("no luck")

    with pytest.warns(EnsembleWarning, match="55 of 110 elementary runs failed.*ValueError: no luck"):
        evidence = on_dask(table, [noisy_selector(), fail])
    assert rows_of(evidence) == rows_of(collect(table, noisy_selector()))[::2]


def test_cancelling_keeps_what_is_finished(table, trees, client):
    with pytest.warns(EnsembleWarning, match=r"cancelled after \d+ of 500 runs"):
        evidence = on_dask(table, "tree", n_models=500, on_progress=lambda done, total: False)
    serial = dict(zip(trees.runs, rows_of(trees), strict=True))
    assert 25 <= evidence.n_models <= 100
    assert dict(zip(evidence.runs, rows_of(evidence), strict=True)).items() <= serial.items()


# What moves


def n_fetched_arrays(client):
    """How many arrays each worker has fetched from its peers so far."""

    def of_worker(dask_worker):
        return [str(key) for transfer in dask_worker.transfer_incoming_log for key in transfer["keys"]]

    return {worker: sum(key.startswith("ndarray") for key in keys) for worker, keys in client.run(of_worker).items()}


@pytest.fixture
def scattered(client, monkeypatch):
    """Everything that is scattered to the cluster."""
    things, scatter = [], distributed.Client.scatter

    def scatter_and_note(self, data, *arguments, **options):
        things.append(data)
        return scatter(self, data, *arguments, **options)

    monkeypatch.setattr(distributed.Client, "scatter", scatter_and_note)
    return things


def test_the_table_moves_once_to_each_worker(client, scattered, monkeypatch):
    X, y = make_classification(100, 5000, random_state=0)
    before, calls, submit = n_fetched_arrays(client), [], client.submit

    def submit_and_note(*arguments, **options):
        calls.append(arguments)
        return submit(*arguments, **options)

    monkeypatch.setattr(client, "submit", submit_and_note)
    evidence = on_dask((X, y), n_models=250)
    assert rows_of(evidence) == rows_of(collect((X, y), n_models=250))
    # Sent to one worker, fetched at most once by each, for all tasks; these hold nothing but numbers and references.
    assert [thing.nbytes for thing in scattered if isinstance(thing, np.ndarray)] == [X.nbytes]
    assert max(count - before.get(worker, 0) for worker, count in n_fetched_arrays(client).items()) <= 1
    assert len(calls) == 3  # of 84 runs, joint and on two workers
    assert all(len(pickle.dumps(unit)) < 300 for _, _, _, unit, _ in calls)
    assert all(isinstance(part, distributed.Future) for _, table, shared, _, _ in calls for part in (table, shared))


def test_a_file_is_opened_by_the_workers(table, client, scattered, tmp_path):
    X, y = table
    np.save(tmp_path / "X.npy", X)
    evidence = on_dask((tmp_path / "X.npy", y), "mrmr")
    assert rows_of(evidence) == rows_of(collect(table, "mrmr"))
    assert not any(isinstance(thing, np.ndarray) for thing in scattered)


def test_a_file_that_workers_do_not_have(table, client, tmp_path, monkeypatch):
    X, y = table
    np.save(tmp_path / "X.npy", X)
    elsewhere = TableFile(str(tmp_path / "elsewhere.npy"), "")
    monkeypatch.setattr(FeatureData, "file", elsewhere)
    message = r"a worker on '.*' cannot use the data: .*elsewhere.npy', which does not exist.*X=numpy.load\(path\)"
    with pytest.raises(EnsembleError, match=message):
        on_dask((tmp_path / "X.npy", y))
    np.save(tmp_path / "elsewhere.npy", X + 1)
    with pytest.raises(EnsembleError, match=r"a worker on '.*' finds other values in '.*elsewhere.npy'.*every worker"):
        on_dask((tmp_path / "X.npy", y))


# Threads


def test_threads_do_not_multiply_on_workers(table, client):
    def most_threads(X, y, n_features, rng):
        return [max(pool["num_threads"] for pool in threadpool_info())]

    def most_jobs(X, y, n_features, rng):
        return [joblib.effective_n_jobs(-1)]

    assert set(rows_of(on_dask(table, [most_threads, most_jobs]))) == {(1,)}


def test_an_ensemble_inside_a_task_of_the_cluster(table, client):
    def inside(seed):
        evidence = collect_evidence(*table, selector="fisher", n_models=60, n_features_per_model=4, random_state=seed)
        return evidence.counts.tolist()

    with joblib.parallel_config(backend="dask"):
        found = joblib.Parallel()(joblib.delayed(inside)(seed) for seed in range(3))
    # The workers have one thread each: a task that held on to it while it waited would wait for ever.
    assert found == [inside(seed) for seed in range(3)]


# Losses


def waiting_selector(directory, n_victims):
    """Wait to be killed in the first `n_victims` processes that come by; otherwise choose at random."""
    choose_plainly = noisy_selector()

    def choose(X, y, n_features, rng):
        for victim in range(n_victims):
            try:
                (directory / f"victim-{victim}").open("x").close()
            except FileExistsError:
                continue
            (directory / f"pid-{victim}").write_text(f"{os.getpid()}\n")
            time.sleep(600)
        return choose_plainly(X, y, n_features, rng)

    return choose


def kill_victims(directory, n_victims):
    """Kill the processes that wait for it, all at once, as soon as they are there."""
    files = [directory / f"pid-{victim}" for victim in range(n_victims)]
    while not all(file.exists() and file.read_text().endswith("\n") for file in files):
        time.sleep(0.01)
    pids = [int(file.read_text()) for file in files]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return pids


needs_sigkill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")


# With all workers gone, so is every copy of the table.
@needs_sigkill
@pytest.mark.parametrize("n_victims", [1, 2])
def test_killed_workers_change_nothing(table, client, tmp_path, n_victims):
    before = set(client.run(os.getpid).values())
    killed = []
    killer = threading.Thread(target=lambda: killed.extend(kill_victims(tmp_path, n_victims)), daemon=True)
    killer.start()
    evidence = on_dask(table, waiting_selector(tmp_path, n_victims))
    killer.join(600)
    assert set(killed) <= before
    assert len(set(killed)) == n_victims
    assert rows_of(evidence) == rows_of(collect(table, noisy_selector()))
    assert not evidence.failures


@needs_sigkill
def test_killed_processes_of_joblib_change_nothing(table, tmp_path):
    threading.Thread(target=kill_victims, args=(tmp_path, 1), daemon=True).start()
    with joblib.parallel_config(backend="loky", n_jobs=2):
        evidence = collect(table, waiting_selector(tmp_path, 1))
    assert rows_of(evidence) == rows_of(collect(table, noisy_selector()))


def test_a_closed_client_loses_no_finished_batch(table, trees, cluster, tmp_path):
    def close_at_fifty(done, total):
        if done >= 50:
            client.close()

    message = r"workers were lost 3 times .*Check that the cluster.*repeat the call"
    with distributed.Client(cluster) as client, pytest.raises(EnsembleError, match=message):
        on_dask(table, "tree", n_models=500, on_progress=close_at_fifty, checkpoint=tmp_path)
    told = []
    evidence = collect(
        table, "tree", n_models=500, checkpoint=tmp_path, on_progress=lambda done, total: told.append(done)
    )
    assert told[0] >= 50
    assert rows_of(evidence) == rows_of(trees)


def test_a_cluster_that_is_gone(table):
    """One worker with one thread, which joblib by itself would not use."""
    caller, selector = threading.get_ident(), noisy_selector()
    threads, limits = [], []

    def choose(X, y, n_features, rng):
        threads.append(threading.get_ident())
        limits.extend(pool["num_threads"] for pool in threadpool_info())
        return selector(X, y, n_features, rng)

    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        assert sum(client.nthreads().values()) == 1
        with threadpool_limits(2):
            assert rows_of(on_dask(table, choose)) == rows_of(collect(table, selector))
        assert caller not in threads
        assert set(limits) == {1}
        with joblib.parallel_config(backend="dask"):
            cluster.close()
            with pytest.raises(EnsembleError, match="workers were lost 3 times without finishing a task"):
                collect(table)


def test_workers_that_take_long_to_come_back_are_waited_for(table, client, monkeypatch):
    """No worker at all is an error at once; after a loss it may be one that is being restarted."""
    threads, answers = workers._cluster_threads, [OSError("lost"), TimeoutError("none yet"), TimeoutError("none yet")]

    class Slow:
        def effective_n_jobs(self, n_jobs):
            raise answers.pop(0)

    def cluster_threads(backend):
        return threads(Slow() if answers else backend)

    monkeypatch.setattr(workers, "_cluster_threads", cluster_threads)
    monkeypatch.setattr(workers, "_MAX_LOSSES", 4)
    assert rows_of(on_dask(table)) == rows_of(collect(table))
    answers[:] = [TimeoutError("none")]
    with pytest.raises(EnsembleError, match=r"the Dask cluster has no workers \(none\)"):
        on_dask(table)


def test_errors_in_this_process_are_not_taken_for_losses(table, monkeypatch):
    calls = []

    def broken(*arguments):
        calls.append(arguments)
        raise RuntimeError("a defect")

    monkeypatch.setattr(workers, "run_batch", broken)
    with pytest.raises(RuntimeError, match=r"^a defect$"):
        collect(table)
    assert len(calls) == 1


# on_cluster


def test_workers_of_our_own_keep_their_memory(table, tmp_path):
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    options |= {"local_directory": str(tmp_path), "silence_logs": 50}
    with dask.config.set({START: "spawn"}), on_cluster(**options) as client:  # as it is without settings
        (settings,) = client.run(lambda: {name: os.environ[name] for name in workers._MALLOC_THRESHOLDS}).values()
        found = collect(table)
    assert settings == {name: str(2**28) for name in workers._MALLOC_THRESHOLDS}
    assert rows_of(found) == rows_of(collect(table))


def test_on_cluster(table, cluster):
    with on_cluster(cluster.scheduler_address) as client:
        assert rows_of(collect(table)) == rows_of(on_dask(table))
        assert client.status == "running"
    assert client.status == "closed"
    assert joblib.effective_n_jobs(None) == 1


def test_no_dask_but_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(MissingDependencyError, match=r'dask and distributed.*pip install "ubayfs\[dask\]"'),
        on_cluster("tcp://127.0.0.1:1"),
    ):
        pass


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://127.0.0.1:1", r"no Dask scheduler answers at 'tcp://127.0.0.1:1' \(.*Check the address"),
        ("carrier-pigeon://here", r"no Dask scheduler answers at 'carrier-pigeon://here' \(.*Check the address"),
    ],
)
def test_no_scheduler_there(address, message):
    with pytest.raises(EnsembleError, match=message), on_cluster(address, timeout=0.5):
        pass
