"""The command as a whole: help, versions, exit codes, and one clear message for every mistake."""

import errno
import gzip
import html
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ubayfs
from ubayfs.cli.main import COMMANDS, main

LIGHT = "import sys; from ubayfs.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"


def test_help_loads_nothing_heavy():
    run = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in run.stderr.split()}
    assert loaded.isdisjoint({"numpy", "pandas", "scipy", "sklearn", "yaml", "matplotlib", "joblib", "tqdm", "jinja2"})
    for command in COMMANDS:
        assert f"\n    {command}" in run.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, run):
    done = run(command, "--help")
    assert done.code == 0
    assert f"usage: ubayfs {command}" in done.out


def test_version(run):
    assert run("--version").out == f"ubayfs {ubayfs.__version__}\n"


def test_the_module_is_the_command():
    run = subprocess.run([sys.executable, "-m", "ubayfs", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"ubayfs {ubayfs.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "ubayfs: the following arguments are required: command. See ubayfs --help.\n"),
        (["selekt"], "Did you mean 'select'? See ubayfs --help.\n"),
        (["select"], "ubayfs select: the following arguments are required: source. See ubayfs select --help.\n"),
        (["select", "a.csv", "--max-size", "many"], "argument --max-size: invalid int value: 'many'."),
        (["select", "a.csv", "--max-sise", "3"], "there is no option --max-sise. Did you mean '--max-size'? See"),
        (["select", "a.csv", "--max-features", "3"], "there is no option --max-features. Did you mean '--max-size'?"),
        (["check", "a.csv", "--max-sise=3"], "ubayfs check: there is no option --max-sise. Did you mean '--max-size'?"),
        (["select", "a.csv", "b.csv"], "ubayfs select: unrecognized arguments: b.csv. See"),
    ],
)
def test_wrong_usage_is_the_users(arguments, words, run):
    done = run(*arguments)
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1


def test_a_bug_is_reported_as_such(folder, run, monkeypatch):
    monkeypatch.setattr("ubayfs.study.resolve_study", lambda study: 1 / 0)
    done = run("check", "study.yaml")
    assert done.code == 1
    assert "ZeroDivisionError" in done.err
    assert "this is a bug in ubayfs" in done.err


def test_a_reader_that_has_seen_enough_is_not_an_error(folder):
    script = f"'{sys.executable}' -m ubayfs check study.yaml | head -n 1; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    # Whether the reader leaves before the notes are printed is a matter of time.
    assert all(line.startswith("Note: ") for line in run.stderr.splitlines())


def write(name, content):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


BAD_TABLES = {
    "missing": (lambda: None, "celts.csv", ["celts.csv", "cells.csv"]),
    "empty": (lambda: write("bad.csv", ""), "bad.csv", ["bad.csv", "empty"]),
    "header only": (lambda: write("bad.csv", "a,b,y\n"), "bad.csv", ["bad.csv", "no rows"]),
    "delimiter": (lambda: write("bad.csv", "a|b|y\n1|2|0\n3|4|1\n"), "bad.csv", ["bad.csv", "one column"]),
    "constant target": (lambda: write("bad.csv", "a,b,y\n1,2,0\n3,4,0\n"), "bad.csv", ["y"]),
    "mixed": (
        lambda: write("bad.csv", "a,b,y\n1,2,0\n3,x?,1\n5,6,0\n7,8,1\n"),
        "bad.csv",
        ["'b'", "x?", "line 3"],
    ),
    "duplicate": (lambda: write("bad.csv", "a,a,y\n1,2,0\n3,4,1\n"), "bad.csv", ["'a'", "more than once"]),
    "latin": (lambda: write("bad.csv", "gr\xf6\xdfe,y\n1,0\n2,1\n".encode("latin-1")), "bad.csv", ["UTF-8"]),
    "0-byte gz": (lambda: write("bad.csv.gz", b""), "bad.csv.gz", ["bad.csv.gz", "empty"]),
    "no gz": (lambda: write("bad.csv.gz", "a,y\n1,0\n"), "bad.csv.gz", ["bad.csv.gz", "gzip"]),
    "damaged excel": (lambda: write("bad.xlsx", "a,y\n1,0\n"), "bad.xlsx", ["bad.xlsx"]),
    "damaged parquet": (lambda: write("bad.parquet", "a,y\n1,0\n"), "bad.parquet", ["bad.parquet"]),
    "damaged anndata": (lambda: write("bad.h5ad", "a,y\n1,0\n"), "bad.h5ad", ["bad.h5ad"]),
    "suffix": (lambda: write("bad.doc", "a,y\n1,0\n"), "bad.doc", ["bad.doc", ".csv"]),
}


@pytest.mark.parametrize("kind", BAD_TABLES)
def test_bad_tables(folder, run, kind):
    make, name, words = BAD_TABLES[kind]
    make()
    done = run("select", name, "--target", "y", "--max-size", 1, "-o", "out")
    assert done.code == 2, done.err
    assert done.err.startswith("ubayfs select: ")
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err
    assert not Path("out").exists()


BAD_STUDIES = {
    "unknown key": ("data:\n  path: cells.csv\n  targat: diagnosis\n", ["line 3", "targat", "target"]),
    "objects": ("data: !!python/object/apply:os.mkdir [made]\n", ["line 1"]),
    "no yaml": ("data: [1, 2\n", ["line"]),
    "target": ("data:\n  path: cells.csv\n  target: diagnosys\n", ["diagnosys", "diagnosis"]),
    "feature": (
        "data: {path: cells.csv, target: diagnosis}\nconstraints:\n  - require: [worst raduis]\n",
        ["line 3", "worst raduis", "worst radius"],
    ),
    "all at once": (
        "data: {path: cells.csv, target: diagnosis}\nevidence: {n_models: 0, selector: mrmrr}\nconstraints:\n  "
        "- max_size: -1\n",
        ["3 problems", "n_models", "mrmrr", "mrmr", "max_size"],
    ),
}


@pytest.mark.parametrize("kind", BAD_STUDIES)
@pytest.mark.parametrize("command", ["check", "select"])
def test_bad_studies(folder, run, command, kind):
    content, words = BAD_STUDIES[kind]
    write("bad.yaml", content)
    done = run(command, "bad.yaml")
    assert done.code == 2, done.err
    assert "bad.yaml" in done.err or kind == "target"
    for word in words:
        assert word in done.err
    assert not Path("results").exists()
    assert not Path("made").exists()


def test_an_excel_sheet_that_does_not_exist(folder, run, cells):
    cells.to_excel("cells.xlsx", sheet_name="Tumors", index=False)
    done = run("check", "cells.xlsx", "--sheet", "Tumor", "--target", "diagnosis")
    assert done.code == 2
    assert "Tumors" in done.err
    assert run("check", "cells.xlsx", "--sheet", "Tumors", "--target", "diagnosis").code == 0


@pytest.mark.parametrize("name", ["cells.csv.gz", "cells.tsv", "cells.parquet", "cells.xlsx"])
def test_every_format_is_read(folder, run, cells, name):
    from ubayfs.tables import write_table

    write_table(cells, Path(name))
    checks = [run("check", source, "--target", "diagnosis") for source in ("cells.csv", name)]
    assert [check.code for check in checks] == [0, 0], checks
    assert checks[0].out.replace("cells.csv", name) == checks[1].out


def test_an_output_that_is_a_file(folder, run):
    Path("out").write_text("mine", encoding="utf-8")
    done = run("select", "study.yaml", "-o", "out")
    assert done.code == 2
    assert "out is a file" in done.err
    assert Path("out").read_text(encoding="utf-8") == "mine"


def full_disk(monkeypatch, module):
    def refuse(path, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(module, "write_atomically", refuse)


@pytest.mark.parametrize("module", ["ubayfs.results.result", "ubayfs._files", "ubayfs.ensemble.checkpoint"])
def test_a_full_disk_loses_nothing(chosen, run, monkeypatch, module):
    before = {path: path.read_bytes() for path in Path("results").iterdir() if path.is_file()}
    with monkeypatch.context() as patched:
        full_disk(patched, sys.modules[module])
        done = run("select", "study.yaml", "--force", "--max-size", 2, "--seed", 1)
    assert done.code == 2, done.err
    assert "No space left on device" in done.err
    assert "Traceback" not in done.err
    assert {path: path.read_bytes() for path in Path("results").iterdir() if path.is_file()} == before


def test_init_check_and_their_refusals(folder, run):
    done = run("init", "cells.csv", "-o", "new.yaml")
    assert done.code == 0, done.err
    assert run("check", "new.yaml").code == 0
    refused = run("init", "cells.csv", "-o", "new.yaml")
    assert refused.code == 2
    assert "new.yaml exists already" in refused.err
    assert run("init", "cells.csv", "-o", "new.yaml", "--force").code == 0
    assert run("init", "cells.csv", "--target", "diagnosys", "-o", "other.yaml").code == 2
    assert run("init", "cells.csv", "-o", "nowhere/new.yaml").code == 2


def test_init_in_another_folder_finds_the_data(folder, run):
    Path("studies").mkdir()
    assert run("init", "cells.csv", "-o", "studies/new.yaml").code == 0
    assert "path: ../cells.csv" in Path("studies/new.yaml").read_text(encoding="utf-8")
    assert run("check", "studies/new.yaml").code == 0


def test_check_tells_what_would_run(folder, run):
    done = run("check", "study.yaml", "--time")
    assert done.code == 0
    for text in ("569 samples, 8 features", "benign 357, malignant 212", "30 models by fisher", "max_size(4)"):
        assert text in done.out
    assert "time " in done.out


def test_check_tells_what_becomes_of_missing_values(folder, run):
    Path("gaps.csv").write_text("a,b,y\n1,,u\n2,3,v\n4,5,u\n6,7,v\n5,8,u\n", encoding="utf-8")
    done = run("check", "gaps.csv", "--target", "y", "--missing", "drop_rows")
    assert done.code == 0, done.err
    assert "missing     missing values: 1 in 1 feature(s) (b); the 1 sample(s) that lack any are left out." in done.out


def test_a_compressed_table_is_read(folder, run):
    with gzip.open("cells.csv.gz", "wb") as file:
        file.write(Path("cells.csv").read_bytes())
    assert run("check", "cells.csv.gz", "--target", "diagnosis").code == 0


def test_main_takes_the_arguments_of_the_process(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["ubayfs", "--version"])
    assert main() == 0
    assert capsys.readouterr().out == f"ubayfs {ubayfs.__version__}\n"


def test_init_tells_what_it_guessed(folder, run):
    assert "The target seems to be 'diagnosis'; correct the file if" in run("init", "cells.csv", "-o", "new.yaml").out
    rows = "".join(f"{i / 7},{i % 2},{i // 7 % 2}\n" for i in range(60))
    Path("coded.csv").write_text("u,treated,sex\n" + rows, encoding="utf-8")
    done = run("init", "coded.csv", "-o", "coded.yaml")
    assert done.out.startswith("Which column is the target? It may be 'sex', 'treated'; name it in the file.\n")
    done = run("check", "coded.yaml")
    assert done.code == 2
    assert "data.target: coded.csv: the target is still to be chosen" in done.err


def test_init_takes_the_sheet_with_numbers(folder, run, cells):
    with pd.ExcelWriter("two.xlsx") as writer:
        pd.DataFrame({"read me": ["hello"]}).to_excel(writer, sheet_name="Notes", index=False)
        cells.head(60).to_excel(writer, sheet_name="Data", index=False)
    done = run("init", "two.xlsx", "-o", "two.yaml")
    assert "The data are those of the sheet 'Data'; other sheets: 'Notes'." in done.out
    assert run("check", "two.yaml").code == 0


def test_paths_are_reported_without_detours(folder, run):
    for name in ("tables", "studies"):
        (folder / name).mkdir()
    Path("tables/t.csv").write_text("a,b\n1,x\n2,3\n", encoding="utf-8")
    Path("studies/s.yaml").write_text("data: {path: ../tables/t.csv}\n", encoding="utf-8")
    done = run("check", "studies/s.yaml")
    assert "data.path: tables/t.csv: column 'b': 'x' in line 2 is not a number" in done.err


def test_a_code_for_missing_values_is_named_by_every_command(folder, run, cells):
    cells = cells.copy()
    cells.loc[7, "mean texture"] = 9999999999
    cells.to_csv("cells.csv", index=False)
    named = "'mean texture': 9999999999 in 1 sample, the others from 9.71 to 39.28"
    assert named in run("check", "study.yaml").err
    assert named in run("select", "study.yaml", "-o", "out").err
    assert named in html.unescape((folder / "out" / "report.html").read_text(encoding="utf-8"))
    assert named in (folder / "out" / "report.md").read_text(encoding="utf-8")
    codes = [advice["code"] for advice in json.loads((folder / "out" / "summary.json").read_text())["advice"]]
    assert "outlying_values" in codes


def test_suspicions_are_shown_by_every_command(folder, run, cells):
    cells = cells.copy()
    cells["stage"] = (cells["diagnosis"] == sorted(cells["diagnosis"].unique())[0]) * 3 + np.arange(len(cells)) % 2
    cells["patient"] = np.arange(len(cells)) // 2
    cells.to_csv("cells.csv", index=False)
    leak, groups = "stage alone almost determines the target (AUC 1.00; next best", "Column 'patient' is named like"
    for found in (
        run("check", "study.yaml").err,
        run("select", "study.yaml", "-o", "out").err,
        html.unescape((folder / "out" / "report.html").read_text(encoding="utf-8")),
    ):
        assert leak in found
        assert groups in found
