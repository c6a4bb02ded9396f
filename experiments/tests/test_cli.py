"""``ubayfs-experiments``: its commands, its messages, and what it does not import."""

import os
import signal
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from tqdm import tqdm

from ubayfs_experiments.cli import main

QUICK = ("run", "2", "--quick", "--only", "2/BCW/ubayfs_fisher")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """An empty folder, and no data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UBAYFS_DATA", raising=False)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Return a function that runs a command and gives its code and what it printed."""

    def command(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return SimpleNamespace(code=code, out=printed.out, err=printed.err)

    return command


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The directory of a quick run."""
    directory = tmp_path_factory.mktemp("experiments") / "run"
    assert main([*QUICK, "-o", str(directory)]) == 0
    return directory


def test_list_shows_experiments_and_data(run, tmp_path):
    done = run("list")
    assert done.code == 0
    assert done.err == ""
    lines = {line.split()[0]: line for line in done.out.splitlines() if line}
    for name in ("1a", "1b", "1c", "1d", "2", "optimizers", "controls"):
        assert name in lines
    assert lines["BCW"].split()[1] == "yes"
    assert lines["additive"].split()[1] == "yes"
    assert "yes" not in lines["PRO"].split()
    assert "PRO.csv.gz" in lines["PRO"]
    assert list(tmp_path.iterdir()) == []


def test_list_tells_which_data_are_at_hand(run, data_dir):
    for options in (["--data-dir", data_dir], []):
        with pytest.MonkeyPatch.context() as patch:
            if not options:
                patch.setenv("UBAYFS_DATA", str(data_dir))
            lines = {line.split()[0]: line for line in run("list", *options).out.splitlines() if line}
        assert lines["PRO"].split()[1] == "yes"
        if not (data_dir / "p53.csv.gz").exists():
            assert "yes" not in lines["p53"].split()


def test_a_quick_run_and_its_repetition(run, ran, state_of):
    before = state_of(ran)
    done = run(*QUICK, "-o", ran)
    assert done.code == 0
    assert done.out == f"1 cell is complete in {ran}; see `ubayfs-experiments report -o {ran}`\n"
    assert done.err == "Resuming: 1 of 1 cells are complete already, 0 in part.\n"
    assert state_of(ran) == before


def test_data_that_are_absent_are_reported_and_the_run_continues(run):
    done = run("run", "2", "--quick", "--only", "/ubayfs_fisher", "-o", "out")
    assert done.code == 0
    told = done.err.splitlines()
    assert [line.split(" ")[0] for line in told] == ["HD", "MPE", "COL", "LSVT", "p53", "PRO", "LEU", "LEU_golub"]
    assert all("is left out: " in line and "--data-dir" in line for line in told)
    assert done.out.startswith("1 cell is complete in out;")


BAD = {
    "unknown experiment": (["run", "optimisers"], "there is no experiment 'optimisers'. Did you mean 'optimizers'?"),
    "no experiment": (["run"], "the following arguments are required: NAME"),
    "no command": ([], "the following arguments are required: command"),
    "unknown command": (["raport"], "invalid choice: 'raport'"),
    "unknown option": (["run", "2", "--quik"], "unrecognized arguments: --quik"),
    "data directory": (["run", "2", "--data-dir", "nowhere"], "--data-dir names 'nowhere', which is not a directory."),
    "data directory of list": (["list", "--data-dir", "nowhere"], "--data-dir names 'nowhere'"),
    "no jobs": (["run", "2", "--jobs", "0"], "argument --jobs: must be a whole number >= 1; got 0."),
    "jobs in words": (["run", "2", "--jobs", "two"], "argument --jobs: must be a whole number >= 1; got two."),
    "negative seed": (["run", "2", "--seed", "-1"], "argument --seed: must be a whole number >= 0; got -1."),
    "no cell": (["run", "2", "--only", "PRX"], "--only must be a part of the name of a cell"),
    "no run": (["report", "-o", "nowhere"], "'nowhere' holds no run of the experiments (no run.json)."),
    "no run in the default directory": (["report"], "'ubayfs-experiments' holds no run of the experiments"),
}


@pytest.mark.parametrize("kind", BAD)
def test_mistakes_are_reported_and_nothing_is_written(run, tmp_path, kind):
    arguments, words = BAD[kind]
    done = run(*arguments)
    assert done.code == 2, done.err
    assert words in done.err
    assert done.err.splitlines()[-1].startswith("ubayfs-experiments")
    assert "Traceback" not in done.err
    assert done.out == ""
    assert list(tmp_path.iterdir()) == []


def test_the_data_directory_of_the_environment(run, monkeypatch):
    monkeypatch.setenv("UBAYFS_DATA", "nowhere")
    done = run(*QUICK)
    assert done.code == 2
    assert "the environment variable UBAYFS_DATA names 'nowhere'" in done.err


def test_an_output_that_is_a_file_or_below_one(run):
    Path("out").write_text("mine", encoding="utf-8")
    for output in ("out", "out/below"):
        for step in (QUICK, ("report",)):
            done = run(*step, "-o", output)
            assert done.code == 2, done.err
            assert "Traceback" not in done.err
            assert "out" in done.err
    assert Path("out").read_text(encoding="utf-8") == "mine"


def test_a_directory_of_someone_else(run):
    Path("thesis").mkdir()
    Path("thesis/text.tex").write_text("mine", encoding="utf-8")
    for step, words in ((QUICK, "holds files, but no run"), (("report",), "holds no run")):
        done = run(*step, "-o", "thesis")
        assert done.code == 2
        assert words in done.err
    assert [path.name for path in Path("thesis").iterdir()] == ["text.tex"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--quick", "--seed", "7"], "another seed: 20221 there, 7 now"),
        ([], "another quick: True there, False now"),
    ],
)
def test_another_run_in_the_same_directory_is_refused(run, ran, options, words, state_of):
    before = state_of(ran)
    done = run("run", "2", "optimizers", "--only", "BCW/ubayfs_fisher", *options, "-o", ran)
    assert done.code == 2
    assert words in done.err
    assert "nothing was changed" in done.err
    assert "Traceback" not in done.err
    assert state_of(ran) == before


def test_a_damaged_table_is_reported(run):
    assert run(*QUICK, "-o", "out").code == 0
    table, index = Path("out/splits.csv.gz"), Path("out/cells.csv")
    index.write_text("mine", encoding="utf-8")
    done = run(*QUICK, "-o", "out")
    assert done.code == 2
    assert "cells.csv is damaged" in done.err
    table.unlink()
    index.unlink()
    assert run(*QUICK, "-o", "out").code == 0
    assert table.exists()


def test_a_stopped_run_says_how_to_resume(run, monkeypatch):
    from ubayfs_experiments import runner

    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner.store, "append_split", stop)
    done = run(*QUICK, "-o", "out")
    assert done.code == 130
    assert done.err == (
        "Finished splits are in out; the same command resumes the run.\nubayfs-experiments run: stopped.\n"
    )


def test_help_is_readable(run):
    done = run("--help")
    assert done.code == 0
    assert "Rerun the experiments of the UBayFS paper" in done.out
    for step in ("list", "run", "report"):
        assert f"\n    {step} " in done.out
    done = run("run", "--help")
    assert done.code == 0
    for word in ("NAME", "--data-dir DIRECTORY", "UBAYFS_DATA", "--output DIRECTORY", "--quick", "--jobs N", "--seed N",
                 "--only TEXT", "2/PRO"):  # fmt: skip
        assert word in done.out
    assert "--output" in run("report", "--help").out
    assert max(map(len, done.out.splitlines())) <= 100


def test_help_comes_at_once():
    """Nothing that takes time to import is needed for it."""
    code = "import sys; from ubayfs_experiments.cli import main; main(['run', '--help']); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.splitlines()[-1].split())
    assert "ubayfs_experiments.cli" in loaded
    assert not loaded & {"numpy", "pandas", "sklearn", "matplotlib", "ubayfs_experiments.registry"}


def test_the_terminal_shows_the_cell_its_place_and_the_splits(monkeypatch):
    """On a terminal that is really one; notes stand on lines of their own."""
    pty, fcntl, termios = map(pytest.importorskip, ("pty", "fcntl", "termios"))  # not on Windows
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    chunks = []

    def read():
        with suppress(OSError):  # the other side is closed: the end, on Linux
            while chunk := os.read(ours, 4096):
                chunks.append(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    monkeypatch.setattr(tqdm, "monitor_interval", 0)  # no thread that would outlive the test
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        patch.setattr(sys, "stderr", terminal)
        code = main(["run", "2", "--quick", "--only", "/ubayfs_fisher", "-o", "out"])
    reader.join()
    os.close(ours)
    assert code == 0
    shown = b"".join(chunks)
    parts = [part.strip() for part in shown.decode().replace("\n", "\r").split("\r")]
    assert any(part.startswith("2/BCW/ubayfs_fisher (1 of 11):") and "0/2" in part for part in parts)
    assert any(part.startswith("HD is left out: ") for part in parts)
    assert [part for part in parts if part][-1].startswith("1 cell is complete in out;")


def test_ctrl_c_keeps_what_is_done():
    """A real signal to a real process, once a split is there.

    Tests that were started in the background of a shell ignore the signal, and so would the process.
    """
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heard}; import sys; from ubayfs_experiments.cli import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["run", "2", "--only", "2/BCW/ubayfs_tree", "-o", "out"]
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, text=True)
    cell = Path("out/cells/2/BCW/ubayfs_tree.jsonl")
    while process.poll() is None and not (cell.exists() and cell.read_bytes().count(b"\n") > 1):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode == 130, told
    assert told.endswith("ubayfs-experiments run: stopped.\n")
    assert "Traceback" not in told
    done = cell.read_bytes().count(b"\n") - 1
    assert 1 <= done < 100

    from ubayfs_experiments import store

    assert [one["done"] for one in store.cells(Path("out"))] == [done]
