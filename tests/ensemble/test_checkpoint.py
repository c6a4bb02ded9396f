"""Checkpoints: nothing is lost, nothing is repeated, nothing foreign is used."""

import io
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


def logs(directory):
    return sorted(directory.glob("runs-*.log"))


def stored_runs(directory):
    """Return the runs of all whole lines, without reading them as the package does."""
    lines = [line for log in logs(directory) for line in lines_of(log)[1:] if line.endswith(b"\n")]
    return sorted(json.loads(line.split(b" ", 1)[1])["run"] for line in lines)


def lines_of(log):
    return log.read_bytes().splitlines(keepends=True)


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
    assert stored_runs(directory) == list(range(110))
    assert sorted(p.name for p in directory.iterdir()) == ["manifest.json", logs(directory)[0].name]


def test_a_finished_ensemble_is_read_not_run(table, tmp_path):
    first = collect(table, tmp_path)
    selector, told = Counting(), []
    again = collect(table, str(tmp_path), selector, on_progress=lambda *now: told.append(now))
    assert selector.n_runs == 0
    assert told == [(110, 110)]
    assert rows_of(again) == rows_of(first)
    assert (again.runs, again.settings) == (first.runs, first.settings)
    assert len(logs(tmp_path)) == 1


def test_interrupted_ensembles_resume_without_losing_or_repeating_a_run(table, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        collect(table, tmp_path, Counting(interrupt_at(60)))
    assert stored_runs(tmp_path) == list(range(59))
    with pytest.raises(KeyboardInterrupt):
        collect(table, tmp_path, Counting(interrupt_at(17)))
    assert stored_runs(tmp_path) == list(range(75))
    selector, told = Counting(), []
    evidence = collect(table, tmp_path, selector, on_progress=lambda done, total: told.append(done))
    assert selector.n_runs == 110 - 75
    assert told == list(range(75, 111))
    assert rows_of(evidence) == rows_of(collect(table))


@pytest.mark.parametrize("selector", ["tree", "fisher", "lasso", ["fisher", "tree", "lasso"]])
def test_no_number_of_workers_matters_on_resuming(table, tmp_path, selector, monkeypatch):
    monkeypatch.setattr("ubayfs.ensemble.workers._MOST_TOGETHER", 25)
    expected = rows_of(collect(table, selector=selector, n_models=150))
    for before, after in ((1, 3), (3, 1), (2, 16)):
        directory, told = tmp_path / f"{before}-{after}", []
        with pytest.warns(EnsembleWarning, match="cancelled after"):
            collect(table, directory, selector, n_models=150, n_jobs=before, on_progress=lambda done, total: done < 20)
        n_stored = len(stored_runs(directory))
        resumed = {"n_models": 150, "n_jobs": after, "on_progress": lambda done, _, told=told: told.append(done)}
        found = collect(table, directory, selector, **resumed)
        assert 20 <= told[0] == n_stored < 150  # runs that were on their way are stored, too
        assert stored_runs(directory) == list(range(150))
        assert rows_of(found) == expected


def test_cancelled_ensembles_resume(table, tmp_path):
    with pytest.warns(EnsembleWarning, match="cancelled after 50 of 110"):
        collect(table, tmp_path, on_progress=lambda done, total: done < 50)
    selector = Counting()
    assert rows_of(collect(table, tmp_path, selector)) == rows_of(collect(table))
    assert selector.n_runs == 60


def test_gaps_are_filled(table, tmp_path):
    collect(table, tmp_path)
    (log,) = logs(tmp_path)
    log.write_bytes(b"".join(line for number, line in enumerate(lines_of(log)) if number % 3 != 1))
    selector = Counting()
    assert rows_of(collect(table, tmp_path, selector, n_jobs=2)) == rows_of(collect(table))
    assert selector.n_runs == 37
    assert stored_runs(tmp_path) == list(range(110))


# Damage


@pytest.mark.parametrize("position", [0, 1, 30, 1000, -2])
def test_a_flipped_bit_costs_its_run_and_is_named(table, tmp_path, position):
    collect(table, tmp_path)
    (log,) = logs(tmp_path)
    lines, content = lines_of(log), bytearray(log.read_bytes())
    start = len(lines[0])
    content[start + position if position >= 0 else position] ^= 1
    log.write_bytes(content)
    number = 2 + sum(len(b"".join(lines[1:k])) <= position for k in range(2, 111)) if position >= 0 else 111
    selector = Counting()
    with pytest.warns(EnsembleWarning, match=rf"is done again: line {number} of .*runs-.*log is damaged") as caught:
        evidence = collect(table, tmp_path, selector)
    assert [warning.filename for warning in caught] == [__file__]
    assert selector.n_runs == 1
    assert rows_of(evidence) == rows_of(collect(table))


def test_a_log_may_end_anywhere(table, tmp_path):
    """What is cut off is done again, nothing else; the end of a log is no damage."""
    collect(table, tmp_path, n_models=2)
    (log,) = logs(tmp_path)
    content, expected = log.read_bytes(), rows_of(collect(table, n_models=2))
    manifest = (tmp_path / "manifest.json").read_bytes()
    for size in range(len(content)):
        directory = tmp_path / f"cut-{size}"
        directory.mkdir()
        (directory / "manifest.json").write_bytes(manifest)
        (directory / log.name).write_bytes(content[:size])
        selector = Counting()
        assert rows_of(collect(table, directory, selector, n_models=2)) == expected
        assert selector.n_runs == 2 - max(content[:size].count(b"\n") - 1, 0)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("garbage", "holds other runs, copied from elsewhere, or its first line is damaged"),
        ("other ensemble", "holds other runs, copied from elsewhere, or its first line is damaged"),
        ("directory", r"cannot be read \(.*irectory\)"),
    ],
)
def test_a_log_that_is_none_is_named(table, tmp_path, damage, reason):
    collect(table, tmp_path)
    (log,) = logs(tmp_path)
    log.unlink()
    if damage == "garbage":
        log.write_bytes(b"\x93NUMPY not\nreally\n")
    elif damage == "other ensemble":
        collect(table, tmp_path / "other", random_state=4)
        os.replace(logs(tmp_path / "other")[0], log)
    else:
        log.mkdir()
    selector = Counting()
    with pytest.warns(EnsembleWarning, match=rf"what it lacks is done again: .*runs-.*log {reason}"):
        evidence = collect(table, tmp_path, selector)
    assert rows_of(evidence) == rows_of(collect(table))
    assert selector.n_runs == 110


def test_lines_of_another_ensemble_are_not_read(table, tmp_path):
    collect(table, tmp_path, n_models=3)
    collect(table, tmp_path / "other", n_models=5, random_state=4)
    with logs(tmp_path)[0].open("ab") as log:
        log.write(b"".join(lines_of(logs(tmp_path / "other")[0])[4:]))
    selector = Counting()
    with pytest.warns(EnsembleWarning, match=r"line \d of .*log is damaged"):
        found = collect(table, tmp_path, selector, n_models=5)
    assert rows_of(found) == rows_of(collect(table, n_models=5))
    assert selector.n_runs == 2


def test_n_models_may_grow_and_shrink(table, tmp_path):
    collect(table, tmp_path, n_models=60)
    selector = Counting()
    assert rows_of(collect(table, tmp_path, selector, n_models=140)) == rows_of(collect(table, n_models=140))
    assert selector.n_runs == 140 - 60
    selector = Counting()
    assert rows_of(collect(table, tmp_path, selector, n_models=60)) == rows_of(collect(table, n_models=60))
    assert collect(table, tmp_path, selector, n_models=140).n_models == 140
    assert selector.n_runs == 0


def test_without_a_seed_the_stored_one_is_used(table, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        collect(table, tmp_path, Counting(interrupt_at(60)), random_state=None)
    selector = Counting()
    evidence = collect(table, tmp_path, selector, random_state=None)
    assert selector.n_runs == 110 - 59
    seed = np.random.SeedSequence(**evidence.settings["seed"])
    assert rows_of(evidence) == rows_of(collect(table, random_state=seed))


def test_failed_runs_are_remembered(table, tmp_path):
    def fail(run):
        if run == 3:
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


def test_failures_of_an_ensemble_that_gave_up_are_tried_again(table, tmp_path):
    def fail(run):
        raise ValueError("no memory left")

    with pytest.warns(EnsembleWarning, match="cancelled after 20 of 110"):
        collect(table, tmp_path, on_progress=lambda done, total: done < 20)
    with pytest.raises(EnsembleError, match="56 of 76 elementary runs failed"):
        collect(table, tmp_path, Counting(fail))
    selector = Counting()
    assert rows_of(collect(table, tmp_path, selector)) == rows_of(collect(table))
    assert selector.n_runs == 90
    # What was found counts, whatever an earlier attempt has stored of the same run.
    assert rows_of(collect(table, tmp_path, selector)) == rows_of(collect(table))
    assert selector.n_runs == 90


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


def test_other_versions_are_reported(table, tmp_path):
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
        ("{", "cannot be read .*Name another checkpoint directory"),
        ("[]", "must hold an object; got list"),
        ('{"kind": "something"}', "does not belong to ubayfs checkpoint"),
        (
            '{"kind": "ubayfs checkpoint", "version": 3, "settings": {}}',
            "has format version 3; this ubayfs reads 2 only",
        ),
        (
            '{"kind": "ubayfs checkpoint", "version": 1, "settings": {}}',
            "has format version 1; this ubayfs reads 2 only",
        ),
        ('{"kind": "ubayfs checkpoint", "settings": {"versions": "1.0"}}', "does not belong to ubayfs checkpoint"),
        ("[" * 100_000, "cannot be read .*Name another checkpoint directory"),
    ],
)
def test_manifests_that_are_none(table, tmp_path, content, message):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(EnsembleError, match=message):
        collect(table, tmp_path)


@pytest.mark.parametrize("path", ["run\0s", "x" * 5000])
def test_a_path_that_nothing_can_have(table, path):
    with pytest.raises(InputError, match="cannot be the path of a file") as caught:
        collect(table, path)
    assert caught.value.argument == "checkpoint"


def test_a_file_is_not_a_directory(table, tmp_path):
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


def test_a_full_disk_keeps_the_runs_before_it(table, tmp_path, monkeypatch):
    n_written = []

    class Full(io.BufferedWriter):
        def flush(self):
            n_written.append(1)
            if len(n_written) > 40:
                raise OSError("no space left")
            super().flush()

    def open_full(path, mode):
        return Full(io.FileIO(path, mode))

    with monkeypatch.context() as patch:
        patch.setattr("ubayfs.ensemble.checkpoint.open", open_full, raising=False)
        with pytest.raises(
            EnsembleError, match=r"could not be written to the checkpoint.*no space left.*repeat the call"
        ):
            collect(table, tmp_path)
    selector = Counting()
    assert rows_of(collect(table, tmp_path, selector)) == rows_of(collect(table))
    assert selector.n_runs == 70


# Kills

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

    With a negative `stop_at` it is slow, and waits in the last run of all.
    """

    name = "slow"
    tasks = frozenset(TASKS)
    n_runs = 0

    def select_many(self, X, target, subsamples, n_features, rngs):
        chosen = []
        for rows, rng in zip(subsamples, rngs, strict=True):
            self.n_runs += 1
            run = rng.bit_generator.seed_seq.spawn_key[0]
            with log.open("a") as file:
                print(run, file=file)
            time.sleep(0.005 if stop_at < 0 else 0)
            if self.n_runs == stop_at or (stop_at < 0 and run == 109):
                log.with_suffix(".waiting").touch()
                while True:
                    time.sleep(1)
            chosen.append(np.argsort(X[rows].mean(axis=0) + rng.normal(size=X.shape[1]))[:n_features])
        return chosen


rng = np.random.default_rng(0)
X, y = rng.normal(size=(30, 8)), np.arange(30) % 2


def collect():
    settings = {"n_models": 110, "n_features_per_model": 3, "random_state": 3}
    evidence = collect_evidence(X, y, selector=Slow(), **settings, checkpoint=directory)
    evidence.save(directory.with_suffix(".result"))


# Each line of the input is a `stop_at`, for which a process of its own collects. Its number is printed when it begins,
# and its exit code when it has ended. What the first ensemble imports, the processes need not import again.
collect_evidence(X, y, selector="fisher", n_models=2, n_features_per_model=3)
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
        # In the middle of a run: what was finished is there, what was begun is begun again.
        assert run(stop_at=33) == (list(range(33)), -signal.SIGKILL)
        assert stored_runs(directory) == list(range(32))
        assert run(stop_at=53) == (list(range(32, 85)), -signal.SIGKILL)
        assert stored_runs(directory) == list(range(84))
        # At whatever moment a third log appears; how far it came by then is a matter of luck, the result is not.
        run(stop_at=-1, killed_when=lambda: len(logs(directory)) == 3)
        begun, code = run(stop_at=0)
        assert code == 0
        assert begun[0] >= 84
        assert begun == list(range(begun[0], 110))
    assert rows_of(Evidence.load(directory.with_suffix(".result"))) == rows_of(collect(table))


def watched(path, last):
    """Let this process end at call number `last`, from 0, that opens, writes, syncs or renames a file below `path`.

    Of what was to be written then, half is.
    """
    calls = []

    def die_or_count(write_half=lambda: None):
        if len(calls) == last:
            write_half()
            os._exit(9)
        calls.append(1)

    class Watched(io.FileIO):
        def write(self, content):
            die_or_count(lambda: super(Watched, self).write(bytes(content)[: len(content) // 2]))
            return super().write(content)

    def open_watched(name, mode):
        assert str(name).startswith(str(path))
        die_or_count()
        return io.BufferedWriter(Watched(name, mode))

    def watch(function):
        def call(*arguments):
            die_or_count()
            return function(*arguments)

        return call

    for module in ("ubayfs.ensemble.checkpoint", "ubayfs._files"):
        vars(sys.modules[module])["open"] = open_watched
    os.replace, os.fsync = watch(os.replace), watch(os.fsync)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize(
    ("selector", "n_calls"), [("fisher", 6), ("tree", 9), (Counting(), 12)], ids=["fisher", "tree", "own"]
)
def test_killed_at_any_write_only_what_is_under_way_is_lost(table, tmp_path, selector, n_calls, monkeypatch):
    """A process is killed at its first write, another one at its second, and so on, until one survives."""
    monkeypatch.setattr("ubayfs.ensemble.checkpoint._SYNC_AFTER", -1.0)  # after every write
    arguments = {"n_models": 6, "selector": selector}
    expected = rows_of(collect(table, **arguments))

    def killed_at(number, directory):
        """Return the exit code of such a process, and how many runs it had finished, as far as it reported them."""
        reports, writing = os.pipe()
        child = os.fork()
        if child == 0:
            watched(tmp_path, number)
            with suppress(BaseException):
                collect(table, directory, **arguments, on_progress=lambda done, total: os.write(writing, bytes([done])))
                os._exit(0)
            os._exit(1)
        os.close(writing)
        with os.fdopen(reports, "rb") as file:
            reported = file.read()
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), max(reported, default=0)

    for number in range(100):
        directory = tmp_path / str(number)
        code, n_reported = killed_at(number, directory)
        stored = stored_runs(directory)
        assert n_reported <= len(stored)
        if code == 0:
            break
        assert code == 9
        told = []
        found = collect(table, directory, **arguments, on_progress=lambda done, total, told=told: told.append(done))
        assert rows_of(found) == expected
        assert not stored or told[0] == len(stored)
        assert stored_runs(directory) == list(range(6))  # each once
    assert code == 0
    assert number >= n_calls
