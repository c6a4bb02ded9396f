"""What travels: a zip that repeats its answer wherever it is unpacked, and a workbook with all that a report says."""

import io
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cancer_study import cancer
from ubayfs.cli.main import main
from ubayfs.exceptions import InputError
from ubayfs.report.content import document
from ubayfs.results import StoredResult
from ubayfs.results.handover import workbook, write_handover


@pytest.fixture(scope="module")
def result(tmp_path_factory, without_figures):
    """The result of a study in a directory with a name that appears nowhere else."""
    folder = tmp_path_factory.mktemp("its-own-place")
    study = cancer(folder)
    study.write_text(f"title: Nuclei of tumors\n{study.read_text()}", encoding="utf-8")
    with without_figures():
        assert main(["select", str(study), "--trust", "quick", "-o", str(folder / "results")]) == 0
    return StoredResult(folder / "results")


def unpacked(file, folder):
    """Unpack a zip and return the one folder in it."""
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder)
    (inside,) = folder.iterdir()
    return inside


def repeated(folder):
    """Run the script of a folder there, and return what it selects."""
    done = subprocess.run([sys.executable, "repeat.py"], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.splitlines(), done.stderr


def test_a_zip_with_data_repeats_its_answer_elsewhere(result, tmp_path, monkeypatch, blank_figures):
    write_handover(result, tmp_path / "panel.zip", with_data=True)
    place = unpacked(tmp_path / "panel.zip", tmp_path / "far" / "away")
    assert place.name == "panel"
    place = place.rename(tmp_path / "renamed")
    shutil.move(result.directory.parent / "cells.csv", tmp_path / "hidden.csv")  # nothing may reach back
    try:
        features, error = repeated(place)
        assert features == list(result.selection.features), error
        monkeypatch.chdir(place)
        assert main(["select", "study.yaml", "--trust", "none"]) == 0
        assert StoredResult(Path("again")).selection.features == result.selection.features
        assert main(["decide", ".", "--max-size", "2", "-o", "two"]) == 0
    finally:
        shutil.move(tmp_path / "hidden.csv", result.directory.parent / "cells.csv")
    home = str(result.directory.parent)
    named = [path for path in place.rglob("*") if path.is_file() and home in path.read_text("utf-8", "replace")]
    assert named == []
    moved = StoredResult(place)
    assert moved.study.data.files == ("data/cells.csv",)
    assert moved.summary.study["data"]["path"] == "data/cells.csv"
    assert moved.summary.title == "Nuclei of tumors"


def test_a_zip_without_data_says_what_is_missing(result, tmp_path, blank_figures):
    write_handover(result, tmp_path / "panel.zip")
    place = unpacked(tmp_path / "panel.zip", tmp_path / "away")
    (note,) = (place / "data").iterdir()
    assert "cells.csv" in note.read_text(encoding="utf-8")
    assert not list(place.rglob("selected_data.csv"))
    assert "cells.csv" in repeated(place)[1]
    shutil.copy(result.directory.parent / "cells.csv", place / "data")
    assert repeated(place)[0] == list(result.selection.features)


def test_other_data_than_the_ensemble_saw_do_not_travel(result, tmp_path):
    table = result.directory.parent / "cells.csv"
    before = table.read_text(encoding="utf-8")
    lines = before.splitlines(keepends=True)
    table.write_text("".join(lines[:-1]), encoding="utf-8")
    try:
        with pytest.raises(InputError) as caught:
            write_handover(result, tmp_path / "panel.zip", with_data=True)
    finally:
        table.write_text(before, encoding="utf-8")
    assert caught.value.argument == "data"
    assert list(tmp_path.iterdir()) == []


def test_the_workbook_has_every_table_of_the_report(result):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(workbook(result)))
    cells = {sheet.title: [[*row] for row in sheet.iter_rows(values_only=True)] for sheet in book}
    assert list(cells)[:2] == ["selected features", "values"]
    head, *rows = cells["selected features"]
    assert [row[0] for row in rows] == list(result.summary.names)
    votes = {member.feature: member.count for member in result.summary.chosen}
    assert {row[0]: row[head.index("Votes")] for row in rows} == votes
    tables = {table.caption: table for section in document(result.summary).sections for table in section.tables}
    assert {column.heading for column in tables["Selected features, most important first"].columns} <= set(head)
    assert {column.heading for column in tables["More on each selected feature"].columns} <= set(head)
    constraints = cells["Constraints and what they cost"]
    assert len(constraints) == 1 + len(result.summary.constraints)
    values = dict(zip(cells["values"][0], cells["values"][1], strict=True))
    (first,) = (member for member in result.summary.chosen if member.feature == values["feature"])
    assert values["importance"] == float(f"{first.importance:.4g}") != first.importance
    head, *rows = cells["all features"]
    assert {row[0]: row[2] for row in rows} == dict(
        zip(result.evidence.feature_names, result.evidence.counts, strict=True)
    )
    assert {row[0] for row in rows if row[1]} == set(result.selection.features)


@pytest.mark.parametrize("with_data", [False, True])
def test_the_command_line_writes_zip_and_workbook(result, tmp_path, capsys, with_data, blank_figures):
    outputs = [tmp_path / "panel.zip", tmp_path / "panel.xlsx"]
    options = [text for path in outputs for text in ("-o", str(path))]
    assert main(["report", str(result.directory), *options, *["--with-data"] * with_data]) == 0
    assert outputs[1].read_bytes() == workbook(result)
    with zipfile.ZipFile(outputs[0]) as archive:
        assert ("panel/data/cells.csv" in archive.namelist()) == with_data
    assert main(["report", str(result.directory), *options]) == 2  # both exist
    assert main(["report", str(result.directory), "--with-data", "-o", str(tmp_path / "report.md")]) == 2
    assert "--with-data" in capsys.readouterr().err
