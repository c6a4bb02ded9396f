"""Commands and files of results that are mixed, damaged, in use; texts that terminals and shells would obey."""

import json
import shlex
import shutil
import signal
from pathlib import Path

import pandas as pd
import pytest

from ubayfs.cli import console
from ubayfs.results import read_result, reserve
from ubayfs.tables import read_table

READ = ("study.yaml", "evidence.npz", "result.json", "summary.json")


@pytest.fixture
def first(finished, tmp_path):
    """A copy of a result, to be damaged."""
    return shutil.copytree(finished, tmp_path / "first")


def test_mixed_files_are_refused_by_every_command(finished, first, run, tmp_path):
    second = tmp_path / "second"  # with other evidence
    assert run("select", finished.parent / "study.yaml", "--seed", 7, "-o", second).code == 0
    for name in READ:
        good = (first / name).read_bytes()
        shutil.copy(second / name, first / name)
        for command in (["compare", first, second], ["compare", second, first], ["decide", first],
                        ["report", first, "-o", tmp_path / "r.md"]):  # fmt: skip
            done = run(*command)
            assert done.code == 2, command
            assert f"first cannot be trusted: {name} is not as written" in done.err
        (first / name).write_bytes(good)
    assert run("compare", first, second).code == 0


def test_a_result_of_an_earlier_version_has_a_note(first, run):
    (first / "manifest.json").unlink()
    done = run("decide", first)
    assert done.code == 0
    assert done.err.startswith(f"Note: {first} has no manifest.json")
    assert ".py:" not in done.err


@pytest.mark.parametrize("change", [{}, {"displays": {"evidence": 3}}, {"chosen": 5}, {"advice": [1]}, {"versions": 3}])
def test_a_damaged_summary_without_a_manifest_is_not_a_bug(first, run, tmp_path, change):
    (first / "manifest.json").unlink()
    content = json.loads((first / "summary.json").read_text(encoding="utf-8"))
    content = {"format": content["format"]} if not change else {**content, **change}
    (first / "summary.json").write_text(json.dumps(content), encoding="utf-8")
    done = run("report", first, "-o", tmp_path / "r.html", "-o", tmp_path / "r.md")
    assert done.code == 2, done.err
    assert "Traceback" not in done.err
    assert run("decide", first, "-o", tmp_path / "new").code in (0, 2)


def test_reports_never_replace_what_a_result_is_read_from(first, run):
    before = (first / "result.json").read_bytes()
    refused = run("report", first, "-o", first / "result.json", "--force")
    assert refused.code == 2
    assert "result.json, which a report would replace" in refused.err
    assert (first / "result.json").read_bytes() == before
    assert run("report", first, "-o", first / "report.md", "--force").code == 0
    assert run("compare", first, first).code == 0


def test_one_of_two_commands_on_one_directory_is_refused(folder, run):
    with reserve(folder / "results"):
        for command in (["select", "study.yaml"], ["select", "study.yaml", "--force", "--seed", 3]):
            refused = run(*command)
            assert refused.code == 2
            assert "results is in use: another program (process" in refused.err
    assert run("select", "study.yaml").code == 0


def test_select_tells_what_it_tidied_up(folder, run):
    (folder / "results" / ".ubayfs-staging" / "new").mkdir(parents=True)
    done = run("select", "study.yaml")
    assert done.code == 0
    assert "Note: a program was stopped before its files in results were complete; what it left there is" in done.err
    assert not [path for path in (folder / "results").iterdir() if path.name.startswith(".")]


def test_sigterm_tells_where_finished_runs_are_and_nothing_is_lost(folder, run, monkeypatch):
    before = signal.getsignal(signal.SIGTERM)

    def terminated(done, total):
        if done:
            signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patched:
        patched.setattr(console, "progress", fixed_progress(terminated))
        stopped = run("select", "study.yaml")
    assert stopped.code == 143
    (runs,) = (folder / "results").glob("unfinished-runs-*")
    assert f"Finished runs are stored in {runs.relative_to(folder)}; rerun the same command to resume." in stopped.err
    assert "Traceback" not in stopped.err
    assert signal.getsignal(signal.SIGTERM) is before
    assert run("select", "study.yaml").code == 0
    assert not runs.exists()


def fixed_progress(update):
    from contextlib import contextmanager

    @contextmanager
    def progress(label, unit):
        yield update if label == "ensemble" else (lambda done, total: None)

    return progress


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "x" * 300, "x/" * 3000, "loop"])
def test_paths_that_cannot_be(folder, run, finished, path):
    Path("loop").symlink_to("loop")
    Path("loop.csv").symlink_to("loop.csv")
    for command in (
        ["check", path], ["check", f"{path}.csv"], ["check", f"{path}.yaml"], ["select", path], ["init", path],
        ["init", "cells.csv", "-o", path], ["demo", "-o", path], ["report", path, "-o", "x.md"], ["decide", path],
        ["report", finished, "-o", f"{path}.md"], ["report", finished, "--figures", path], ["compare", finished, path],
        ["decide", finished, "-o", path], ["decide", finished, "--study", path], ["select", "study.yaml", "-o", path],
    ):  # fmt: skip
        if path == "loop" and f"{path}.md" in command:
            continue
        done = run(*command)
        assert done.code == 2, command
        assert "Traceback" not in done.err
        assert len(done.err) < 400
        assert "\0" not in done.err


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *((place, "9" * 400) for place in ("n_models: 30", "seed: 0", "n: 4", "rho: hard", "n_alternatives: 2")),
        ("path: cells.csv", '"a\\0b"'), ("path: cells.csv", '"\\ud800"'), ("path: cells.csv", "x" * 300),
        ("outputs:", '"a\\0b"'), ("n_draws: 3", "9" * 400),
    ],
)  # fmt: skip
def test_values_that_break_arithmetic_or_paths(folder, run, place, value):
    text = Path("study.yaml").read_text(encoding="utf-8")
    key = place.partition(":")[0]
    changed = f"outputs:\n  directory: {value}" if key == "outputs" else f"{key}: {value}"
    assert place in text
    Path("study.yaml").write_text(text.replace(place, changed), encoding="utf-8")
    done = run("select" if key in ("n_models", "outputs") else "check", "study.yaml")
    assert done.code == (0 if key in ("seed", "n_alternatives", "n_draws") else 2), done.err
    assert "Traceback" not in done.err
    assert len(done.err) < 1000


def test_too_many_models_are_refused_with_a_way_out(folder, run):
    done = run("select", "study.yaml", "--models", 10**9)
    assert done.code == 2
    assert "--models: must be at most 1,000,000; got 1000000000. Merge evidence" in done.err


# Terminals, shells and spreadsheets

EVIL = [
    "\x1b]0;owned\x07gene", "\x1b[2Jgene", "=cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "+1+1", "'=x", "a\nb", "\u202egene",
]  # fmt: skip


@pytest.fixture
def evil(folder, cells):
    """A table with names and texts that terminals or spreadsheets would obey."""
    frame = cells.iloc[:, : len(EVIL) - 1].set_axis(EVIL[:8], axis=1).assign(**{EVIL[8]: cells.iloc[:, 2] ** 2})
    frame.insert(0, "id", [f"=p{i}" for i in range(len(frame))])
    frame["diagnosis"] = cells["diagnosis"]
    from ubayfs.tables import write_table

    write_table(frame, "evil.csv")
    return frame


def test_nothing_that_a_terminal_obeys_is_printed(evil, run, folder):
    options = ["--target", "diagnosis", "--ignore", "id", "--selector", "fisher", "--models", 10]
    done = run(
        "select",
        "evil.csv",
        *options,
        "--max-size",
        9,
        "--min-size",
        9,
        "--min-votes",
        0,
        "-o",
        "out",
        "--reduced-table",
    )
    assert done.code == 0, done.err
    more = (
        ["check", "evil.csv", *options],
        ["check", "evil.csv", *options, "--require", "\x1b[31m"],
        ["check", "evil.csv", "--\x1b[31m"],
        ["decide", "out", "--max-size", 3, "-o", "three"],
        ["compare", "out", "three"],
    )
    for printed in (done, *(run(*command) for command in more)):
        assert not any(c in printed.out + printed.err for c in "\x1b\x07\r\u202e")
    assert "\\x1b[2Jgene" in done.out
    assert "a\\nb" in done.out  # in the row of a table
    # Names come back as they were.
    assert set(read_result(folder / "out").selection.features) <= set(evil.columns)
    assert "=cmd|' /C calc'!A0" in read_result(folder / "out").selection.features


def test_exported_texts_are_not_formulas_and_come_back(evil, run, folder):
    options = ["--target", "diagnosis", "--ignore", "id", "--selector", "fisher", "--models", 10, "--max-size", 9]
    assert (
        run("select", "evil.csv", *options, "--min-size", 9, "--min-votes", 0, "-o", "out", "--reduced-table").code == 0
    )
    chosen = read_result(folder / "out").selection.features
    for name in ("selected_features.csv", "selected_data.csv"):
        raw = pd.read_csv(folder / "out" / name, dtype=str)
        texts = [*raw.columns, *(text for column in raw for text in raw[column].dropna())]
        assert not [text for text in texts if text[0] in "=@\t\r" or (text[0] in "+-" and not is_number(text))]
    assert list(read_table(folder / "out" / "selected_features.csv").frame["feature"].sort_values()) == sorted(chosen)
    back = read_table(folder / "out" / "selected_data.csv").frame
    assert list(back.columns) == list(evil.columns)
    assert list(back["id"]) == list(evil["id"])


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_commands_to_be_copied_are_quoted(folder, run):
    done = run("init", "cells.csv", "-o", "s; touch x.yaml")
    command = done.out.strip().splitlines()[-1].partition("then run: ")[2]
    assert shlex.split(command) == ["ubayfs", "check", "s; touch x.yaml"]
    done = run("init", "cells.csv", "--output=-x.yaml")
    command = done.out.strip().splitlines()[-1].partition("then run: ")[2]
    assert shlex.split(command) == ["ubayfs", "check", "./-x.yaml"]
    assert run(*shlex.split(command)[1:]).code == 0
