"""Validation alone."""

import errno
import json
import os
from pathlib import Path

import pandas as pd
import pytest

from ubayfs.trust.validation import Validation

FOLDS = ["--cv", 2, "--repeats", 1]


def test_scores_are_shown_and_written(folder, run):
    done = run("validate", "study.yaml", *FOLDS, "--sizes", 1, 3, "-o", "scores.csv")
    assert done.code == 0, done.err
    frame = pd.read_csv("scores.csv")
    assert frame["method"].iloc[0] == "ubayfs"
    assert {"random", "forest"} <= set(frame["method"])
    assert {"as many random features", "as many features by a random forest"} <= {
        line.split("  ")[0] for line in done.out.splitlines()
    }
    assert "On held-out samples: AUC" in done.out
    assert done.out.count(" to ") >= 5  # ours, and the difference from each of four baselines
    assert "nan" not in done.out
    assert not Path("results").exists()


def test_a_table_with_options_and_all_folds_as_json(folder, run):
    options = ["--target", "diagnosis", "--selector", "fisher", "--models", 10, "--max-size", 2]
    done = run("validate", "cells.csv", *options, *FOLDS, "-o", "folds.json")
    assert done.code == 0, done.err
    found = Validation.from_dict(json.loads(Path("folds.json").read_text(encoding="utf-8")))
    assert found.n_done == 2
    assert found.sizes is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "scores.txt"], ".csv or .json"),
        (["-o", "study.csv"], "exists already"),
        (["--cv", 1], "--cv"),
        (["--cv", 400], "cv=400"),
        (["--without", "max_siz"], "--without"),
    ],
)
def test_wrong_options_are_named_before_any_work(folder, run, arguments, message):
    Path("study.csv").write_text("")
    done = run("validate", "study.yaml", *arguments)
    assert done.code == 2
    assert message in done.err


def test_the_same_command_resumes_from_a_checkpoint(folder, run, monkeypatch):
    command = ["validate", "study.yaml", *FOLDS, "--checkpoint", "folds"]
    first = run(*command, "-o", "first.csv")
    assert first.code == 0, first.err
    assert len(list(Path("folds").glob("fold-*.json"))) == 2
    monkeypatch.setattr("ubayfs.trust.folds.FoldEvaluation.run", None)  # nothing is left to do
    again = run(*command, "-o", "again.csv")
    assert again.code == 0, again.err
    assert Path("first.csv").read_bytes() == Path("again.csv").read_bytes()
    other = run(*command, "--max-size", 2)
    assert other.code != 0
    assert "constraints" in other.err


@pytest.mark.parametrize("command", ["validate", "select"])
def test_a_full_disk_names_what_could_not_be_written_and_keeps_the_rest(folder, run, monkeypatch, command):
    from ubayfs import _files

    write = os.fsync

    def full(descriptor):
        name = os.readlink(f"/proc/self/fd/{descriptor}")
        if ".fold-0-1.json" in name:
            raise OSError(errno.ENOSPC, "No space left on device")  # as the system says it, without a name
        write(descriptor)

    if not Path("/proc/self/fd").exists():
        pytest.skip("no names of open files")
    monkeypatch.setattr(_files.os, "fsync", full)
    own = ["--checkpoint", "folds"] if command == "validate" else ["--trust", "full", "-o", "out"]
    done = run(command, "study.yaml", *FOLDS[: 4 if command == "validate" else 0], *own)
    assert "fold-0-1.json could not be written (No space left on device)" in done.err
    assert "printed" not in done.err
    assert done.code == (2 if command == "validate" else 0), done.err
    if command == "validate":
        assert (folder / "folds" / "fold-0-0.json").exists()
        monkeypatch.undo()
        monkeypatch.chdir(folder)
        assert run(command, "study.yaml", *FOLDS, *own).code == 0
    else:
        assert "validation is not known" in done.err
        assert (folder / "out" / "manifest.json").exists()
