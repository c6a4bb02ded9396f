"""Checkpoints: nothing is lost, nothing is repeated, nothing foreign is used."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from ubayfs._files import save_record
from ubayfs.data import TASKS
from ubayfs.ensemble.collect import collect_evidence
from ubayfs.ensemble.evidence import Evidence
from ubayfs.exceptions import EnsembleError, EnsembleWarning, InputError
from ubayfs.selectors.base import ElementarySelector


class Counting(ElementarySelector):
    """Chooses at random and counts runs; `when(n)` may raise at the n-th run of this object."""

    name = "counting"
    tasks = frozenset(TASKS)

    def __init__(self, when=None):
        self.n_runs = 0
        self.when = when

    def select_many(self, X, target, subsamples, n_features, rngs):
        chosen = []
        for rows, rng in zip(subsamples, rngs, strict=True):
            self.n_runs += 1
            if self.when is not None:
                self.when(self.n_runs)
            chosen.append(np.argsort(X[rows].mean(axis=0) + rng.normal(size=X.shape[1]))[:n_features])
        return chosen


class Other(Counting):
    name = "other"


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 8)), np.arange(30) % 2


def collect(table, checkpoint=None, selector=None, **arguments):
    arguments = {"n_models": 110, "n_features_per_model": 3, "random_state": 3, **arguments}
    return collect_evidence(*table, selector=selector or Counting(), checkpoint=checkpoint, **arguments)


def rows_of(evidence):
    return evidence.sets.toarray().tolist()


def batch_files(directory):
    return sorted(path.name for path in directory.glob("batch-*.npz"))


def interrupt_at(n):
    def when(run):
        if run == n:
            raise KeyboardInterrupt

    return when


def test_a_checkpoint_does_not_change_the_result(table, tmp_path):
    directory = tmp_path / "deep" / "er"
    evidence = collect(table, directory)
    assert rows_of(evidence) == rows_of(collect(table))
    assert evidence.runs == collect(table).runs
    assert batch_files(directory) == [f"batch-0000{i}.npz" for i in range(5)]
    assert sorted(p.name for p in directory.iterdir()) == [*batch_files(directory), "manifest.json"]


def test_a_finished_ensemble_is_read_not_run(table, tmp_path):
    first = collect(table, tmp_path)
    selector, told = Counting(), []
    again = collect(table, str(tmp_path), selector, on_progress=lambda *now: told.append(now))
    assert selector.n_runs == 0
    assert told == [(110, 110)]
    assert rows_of(again) == rows_of(first)
    assert (again.runs, again.settings) == (first.runs, first.settings)


def test_interrupted_ensembles_go_on_without_losing_or_repeating_a_batch(table, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        collect(table, tmp_path, Counting(interrupt_at(60)))
    assert len(batch_files(tmp_path)) == 2
    with pytest.raises(KeyboardInterrupt):
        collect(table, tmp_path, Counting(interrupt_at(40)))
    assert len(batch_files(tmp_path)) == 3
    selector, told = Counting(), []
    evidence = collect(table, tmp_path, selector, on_progress=lambda done, total: told.append(done))
    assert selector.n_runs == 110 - 75
    assert told == [75, 100, 110]
    assert rows_of(evidence) == rows_of(collect(table))


def test_cancelled_ensembles_go_on(table, tmp_path):
    with pytest.warns(EnsembleWarning, match="cancelled after 50 of 110"):
        collect(table, tmp_path, on_progress=lambda done, total: done < 50)
    selector = Counting()
    assert rows_of(collect(table, tmp_path, selector)) == rows_of(collect(table))
    assert selector.n_runs == 60


def test_batches_in_any_order_are_found_again(table, tmp_path):
    collect(table, tmp_path)
    for name in ("batch-00000.npz", "batch-00003.npz"):
        (tmp_path / name).unlink()
    selector = Counting()
    assert rows_of(collect(table, tmp_path, selector, n_jobs=2)) == rows_of(collect(table))
    assert selector.n_runs == 50


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("cut", "was cut short"),
        ("empty", "was cut short"),
        ("garbage", "was cut short"),
        ("other ensemble", "holds other runs; it was copied from elsewhere"),
        ("other batch", "holds other runs; it was copied from elsewhere"),
        ("parts missing", r"is damaged and cannot be read \(KeyError: 'ensemble'\)"),
    ],
)
def test_a_damaged_batch_is_run_again_and_named(table, tmp_path, damage, reason):
    collect(table, tmp_path)
    path = tmp_path / "batch-00001.npz"
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-40])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "garbage":
        path.write_bytes(b"\x93NUMPY not really")
    elif damage == "other ensemble":
        collect(table, tmp_path / "other", random_state=4)
        os.replace(tmp_path / "other" / "batch-00001.npz", path)
    elif damage == "other batch":
        path.write_bytes((tmp_path / "batch-00002.npz").read_bytes())
    else:
        save_record(path, "an ubayfs checkpoint batch", 1, {})
    selector = Counting()
    message = rf"runs 25 to 49 are done again: .*batch-00001\.npz.*{reason}"
    with pytest.warns(EnsembleWarning, match=message) as caught:
        evidence = collect(table, tmp_path, selector)
    assert [warning.filename for warning in caught] == [__file__]
    assert rows_of(evidence) == rows_of(collect(table))
    assert selector.n_runs == 25
    assert collect(table, tmp_path, Counting(interrupt_at(1))).n_models == 110


def test_n_models_may_grow_and_shrink(table, tmp_path):
    collect(table, tmp_path, n_models=60)
    selector = Counting()
    assert rows_of(collect(table, tmp_path, selector, n_models=140)) == rows_of(collect(table, n_models=140))
    assert selector.n_runs == 140 - 50  # the third batch had 10 runs only and is run whole
    selector = Counting()
    assert rows_of(collect(table, tmp_path, selector, n_models=60)) == rows_of(collect(table, n_models=60))
    assert selector.n_runs == 0
    selector = Counting()
    assert collect(table, tmp_path, selector, n_models=140).n_models == 140
    assert selector.n_runs == 0


def test_without_a_seed_the_stored_one_is_used(table, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        collect(table, tmp_path, Counting(interrupt_at(60)), random_state=None)
    selector = Counting()
    evidence = collect(table, tmp_path, selector, random_state=None)
    assert selector.n_runs == 60
    seed = np.random.SeedSequence(**evidence.settings["seed"])
    assert rows_of(evidence) == rows_of(collect(table, random_state=seed))


def test_an_equal_generator_goes_on(table, tmp_path):
    collect(table, tmp_path, random_state=np.random.default_rng(1))
    selector = Counting()
    collect(table, tmp_path, selector, random_state=np.random.default_rng(1))
    assert selector.n_runs == 0


def test_failed_runs_are_remembered(table, tmp_path):
    def fail(run):
        # The first attempt at the whole batch stops at run 3; of the single runs, the third is number 6.
        if run in (3, 6):
            raise ValueError("no luck")

    with pytest.warns(EnsembleWarning, match="1 of 110 elementary runs failed"):
        first = collect(table, tmp_path, Counting(fail))
    selector = Counting()
    with pytest.warns(EnsembleWarning, match="1 of 110 elementary runs failed"):
        again = collect(table, tmp_path, selector)
    assert selector.n_runs == 0
    assert [failure.run for failure in first.failures] == [2]
    assert again.failures == first.failures
    assert rows_of(again) == rows_of(first)
    assert again.runs == first.runs


def test_batches_in_which_everything_failed_are_tried_again(table, tmp_path):
    def fail(run):
        raise ValueError("no memory left")

    with pytest.raises(EnsembleError, match="75 of 75 elementary runs failed"):
        collect(table, tmp_path, Counting(fail))
    assert batch_files(tmp_path) == []
    assert rows_of(collect(table, tmp_path)) == rows_of(collect(table))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train_size": 0.5}, r"these differ: train_size \(stored 0.75, now 0.5\)\. Name another directory"),
        ({"n_features_per_model": 2}, r"these differ: n_features_per_model \(stored 3, now 2\)"),
        ({"random_state": 4}, "these differ: random_state"),
        ({"selector": Other()}, r"these differ: selector \(stored \['.*Counting'\], now \['.*Other'\]\)"),
        ({"groups": np.arange(30) // 3}, r"these differ: the data .*, grouped \(stored False, now True\)"),
        (
            {"task": "regression", "train_size": 0.6},
            r"differ: the data.*, task \(stored 'binary', now 'regression'\), train_size",
        ),
    ],
    ids=["train_size", "n_features", "seed", "selector", "groups", "two"],
)
def test_other_settings_are_refused_by_name(table, tmp_path, change, message):
    collect(table, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(EnsembleError, match=message):
        collect(table, tmp_path, **change)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_other_data_are_refused(table, tmp_path):
    X, y = table
    collect(table, tmp_path)
    selector = Counting()
    others = [(X + 1e-9, y), (X, 1 - y), (pd.DataFrame(X).add_prefix("gene"), y)]
    for other in others:
        with pytest.raises(
            EnsembleError, match=r"these differ: the data \(values, feature names, target or groups\)\."
        ):
            collect(other, tmp_path, selector)
    with pytest.raises(EnsembleError, match=r"the data .*, n_features \(stored 8, now 7\)"):
        collect((X[:, :7], y), tmp_path, selector)
    assert selector.n_runs == 0


def test_other_versions_are_told(table, tmp_path):
    collect(table, tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["settings"]["versions"]["numpy"] = "1.0"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    message = rf"begun with other versions \(numpy 1.0 -> {np.__version__}\)"
    with pytest.warns(EnsembleWarning, match=message) as caught:
        collect(table, tmp_path)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read .*name another checkpoint directory"),
        ("[]", "does not belong to ubayfs checkpoint"),
        ('{"kind": "something"}', "does not belong to ubayfs checkpoint"),
        ('{"kind": "ubayfs checkpoint", "version": 2, "settings": {}}', "has format version 2, newer than 1; update"),
    ],
)
def test_manifests_that_are_none(table, tmp_path, content, message):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(EnsembleError, match=message):
        collect(table, tmp_path)


def test_a_file_is_no_directory(table, tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    selector = Counting()
    with pytest.raises(InputError, match=r"checkpoint must be a directory; '.*file' is a file. Name another path"):
        collect(table, path, selector)
    with pytest.raises(InputError, match=r"checkpoint must be a directory that can be written; '.*below' is not"):
        collect(table, path / "below", selector)
    assert selector.n_runs == 0


def test_a_directory_that_cannot_be_written_is_refused_before_any_work(table, tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr("os.replace", refuse)
    selector = Counting()
    with pytest.raises(InputError, match=r"checkpoint must be a directory that can be written.*read-only"):
        collect(table, tmp_path, selector)
    assert selector.n_runs == 0
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_that_became_read_only_is_noticed_before_any_work(table, tmp_path, monkeypatch):
    collect(table, tmp_path, n_models=25)
    stored = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def refuse(*_):
        raise PermissionError("read-only")

    selector = Counting()
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", refuse)
        with pytest.raises(InputError, match=r"checkpoint must be a directory that can be written.*read-only"):
            collect(table, tmp_path, selector)
    assert selector.n_runs == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == stored


def test_a_full_disk_keeps_the_batches_before_it(table, tmp_path, monkeypatch):
    replace, n_written = os.replace, []

    def fill_up(source, target):
        n_written.append(target)
        if len(n_written) > 3:
            raise OSError("no space left")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", fill_up)
        with pytest.raises(
            EnsembleError, match=r"could not be written to the checkpoint.*no space left.*repeat the call"
        ):
            collect(table, tmp_path)
    selector = Counting()
    assert rows_of(collect(table, tmp_path, selector)) == rows_of(collect(table))
    assert selector.n_runs == 60


CHILDREN = '''
import os, sys, time, traceback
from pathlib import Path

import numpy as np

from ubayfs.data import TASKS
from ubayfs.ensemble.collect import collect_evidence
from ubayfs.selectors.base import ElementarySelector

directory, log = Path(sys.argv[1]), Path(sys.argv[2])


class Slow(ElementarySelector):
    """Chooses at random, writes down every run, and at run `stop_at` of this process waits to be killed.

    With a negative `stop_at` it is merely slow.
    """

    name = "slow"
    tasks = frozenset(TASKS)
    n_runs = 0

    def select_many(self, X, target, subsamples, n_features, rngs):
        chosen = []
        for rows, rng in zip(subsamples, rngs, strict=True):
            self.n_runs += 1
            with log.open("a") as file:
                print(rng.bit_generator.seed_seq.spawn_key[0], file=file)
            time.sleep(0.005 if stop_at < 0 else 0)
            if self.n_runs == stop_at:
                log.with_suffix(".waiting").touch()
                while True:
                    time.sleep(1)
            chosen.append(np.argsort(X[rows].mean(axis=0) + rng.normal(size=X.shape[1]))[:n_features])
        return chosen


rng = np.random.default_rng(0)
X, y = rng.normal(size=(30, 8)), np.arange(30) % 2


def collect():
    collect_evidence(X, y, Slow(), n_models=110, n_features_per_model=3, random_state=3, checkpoint=directory).save(
        directory.with_suffix(".result")
    )


# Each line of the input is a `stop_at`, for which a process of its own collects. Its number is printed when it begins,
# and its exit code when it has ended. What the first ensemble imports, the processes need not import again.
collect_evidence(X, y, "fisher", n_models=2, n_features_per_model=3)
for line in sys.stdin:
    stop_at, child = int(line), os.fork()
    if child == 0:
        try:
            collect()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(child, flush=True)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    log.with_suffix(".ended").touch()
    print(code, flush=True)
'''


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_process_killed_several_times_ends_with_the_undisturbed_result(table, tmp_path):
    script, directory, log = tmp_path / "child.py", tmp_path / "checkpoint", tmp_path / "log"
    waiting, ended = log.with_suffix(".waiting"), log.with_suffix(".ended")
    script.write_text(CHILDREN)

    def run(stop_at, killed_when=waiting.exists):
        """Start a process and kill it when `killed_when` holds; return the runs that it began and its exit code."""
        log.write_text("")
        waiting.unlink(missing_ok=True)
        ended.unlink(missing_ok=True)
        print(stop_at, file=starter.stdin, flush=True)
        child = int(starter.stdout.readline())
        while not ended.exists() and not killed_when():
            time.sleep(0.002)
        with suppress(ProcessLookupError):  # ended just now
            if not ended.exists():
                os.kill(child, signal.SIGKILL)
        code = int(starter.stdout.readline())
        return [int(line) for line in log.read_text().split()], code

    command = [sys.executable, str(script), str(directory), str(log)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:
        # In the middle of the second batch, then of the fourth: what was finished is there, what was begun is begun
        # again.
        assert run(stop_at=33) == (list(range(33)), -signal.SIGKILL)
        assert batch_files(directory) == ["batch-00000.npz"]
        assert run(stop_at=60) == (list(range(25, 85)), -signal.SIGKILL)
        assert len(batch_files(directory)) == 3
        # At whatever moment the next file appears; how far it came by then is a matter of luck, the result is not.
        run(stop_at=-1, killed_when=(directory / "batch-00003.npz").exists)
        n_stored = len(batch_files(directory))
        assert run(stop_at=0) == (list(range(25 * n_stored, 110)), 0)
    assert rows_of(Evidence.load(directory.with_suffix(".result"))) == rows_of(collect(table))
