"""Results are written whole or not at all, read back as they were, and never lost."""

import errno
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ubayfs
from ubayfs import max_size
from ubayfs.ensemble.evidence import Evidence
from ubayfs.exceptions import EnsembleError, InputError, StudyError
from ubayfs.plotting import Display, read_displays, render_figures
from ubayfs.plotting.base import FORMATS
from ubayfs.results import Result, StoredResult, check_directory, read_result, write_result
from ubayfs.study import DataSection, EvidenceSection, OutputSection, Study
from ubayfs.summary import summarize
from ubayfs.tables import read_table

FILES = {
    "selected_features.csv", "result.json", "evidence.npz", "study.yaml", "summary.json", "report.html", "report.md",
}  # fmt: skip


OTHER_VERSION = r"another version of ubayfs\. Repeat .*ubayfs select study\.yaml"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A directory with a table of 40 patients: id, clinic, six genes, target."""
    folder = tmp_path_factory.mktemp("project")
    rng = np.random.default_rng(0)
    ill = np.arange(40) % 2
    frame = pd.DataFrame(rng.normal(size=(40, 6)) + np.outer(ill, [3, 2, 1, 0, 0, 0]), columns=list("ABCDEF"))
    frame.insert(0, "id", [f"p{i}" for i in range(40)])
    frame.insert(3, "clinic", ["north", "south"] * 20)
    frame["ill"] = np.where(ill, "yes", "no")
    frame.loc[0, "F"] = np.nan
    frame.to_csv(folder / "patients.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def made(project):
    """A result with its displays, and the data it is of."""
    study = Study(
        DataSection("patients.csv", target="ill", ignore=("id", "clinic"), missing="drop_columns"),
        EvidenceSection(selector="fisher", n_models=8, n_features_per_model=2),
        constraints=[max_size(2)],
        outputs=OutputSection(figures=("png", "svg"), reduced_table=True, n_draws=3),
        folder=project,
    )
    data = study.read_data()
    evidence = study.collect(data)
    selection = study.decide(evidence, data)
    summary = summarize(selection, data, asked=study.to_dict(), n_draws=3)
    # Two displays are as good as all, and sooner drawn.
    summary["displays"] = {name: summary["displays"][name] for name in ("evidence", "convergence")}
    return Result(study, evidence, selection, summary), data


@pytest.fixture(scope="module")
def plain(made):
    """The same without displays, which take long to draw."""
    result, _ = made
    study = replace(result.study, outputs=OutputSection(figures=()))
    return Result(study, result.evidence, result.selection, {**result.summary, "displays": {}})


@pytest.fixture(scope="module")
def other(plain):
    """Another result on the same evidence."""
    study = replace(plain.study, constraints=(max_size(1),))
    selection = study.decide(plain.evidence)
    return Result(study, plain.evidence, selection, {**summarize(selection, n_draws=0), "displays": {}})


def content(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }


def test_everything_is_written_and_nothing_else(made, tmp_path):
    result, data = made
    written = write_result(tmp_path / "a" / "out", result, data=data)
    names = {str(path.relative_to(tmp_path / "a" / "out")) for path in written}
    figures = {f"figures/{name}.{suffix}" for name in result.summary["displays"] for suffix in ("png", "svg")}
    assert figures
    assert names == FILES | {"selected_data.csv"} | figures
    assert set(content(tmp_path)) == {f"a/out/{name}" for name in names}
    assert (tmp_path / "a/out/figures/evidence.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "a/out/figures/evidence.svg").read_bytes()
    assert "<html" in (tmp_path / "a/out/report.html").read_text(encoding="utf-8")


def test_tables_of_a_result(made, project, tmp_path):
    result, data = made
    plain_summary = Result(result.study, result.evidence, result.selection, {**result.summary, "displays": {}})
    write_result(tmp_path, plain_summary, data=data)
    features = read_table(tmp_path / "selected_features.csv").frame.set_index("feature")
    assert set(features.index) == set(result.selection.features) == {"A", "B"}
    table = result.selection.table().set_index("feature")
    for column in ("count", "weight", "importance"):
        assert features[column].to_dict() == table.loc[features.index, column].to_dict()
    reduced = read_table(tmp_path / "selected_data.csv").frame
    # F has gaps and was no feature, C was not chosen; whatever is no feature stays.
    assert list(reduced.columns) == ["id", "A", "B", "clinic", "ill"]
    pd.testing.assert_frame_equal(reduced, read_table(project / "patients.csv").frame[list(reduced.columns)])


def test_a_table_at_hand_is_not_read_again(plain, project, tmp_path):
    table = read_table(project / "patients.csv")
    asked = replace(plain, study=replace(plain.study, outputs=OutputSection(figures=(), reduced_table=True)))
    moved = replace(asked, study=replace(asked.study, folder=tmp_path / "elsewhere"))
    with pytest.raises(InputError, match=r"patients\.csv does not exist"):
        write_result(tmp_path / "out", moved, data=None)
    assert list(tmp_path.iterdir()) == []
    write_result(tmp_path / "out", moved, data=table)
    assert list(read_table(tmp_path / "out" / "selected_data.csv").frame) == ["id", "A", "B", "clinic", "ill"]
    shutil.rmtree(tmp_path / "out")
    changed = replace(table, frame=table.frame.drop(columns="A"))
    with pytest.raises(InputError, match=r"has no column 'A', which was chosen: it is not the table"):
        write_result(tmp_path / "out", asked, data=changed)
    assert list(tmp_path.iterdir()) == []


def test_what_is_read_is_what_was_written(made, project):
    result, _ = made
    result = replace(result, summary={**result.summary, "displays": {}})
    written = write_result(project / "sub" / "out", replace(result, study=replace(result.study, outputs=OutputSection(
        figures=()))))  # fmt: skip
    assert project / "sub" / "out" / "report.md" in written
    found = read_result(project / "sub" / "out")
    assert found.selection.to_dict() == result.selection.to_dict()
    assert found.summary == json.loads(json.dumps(result.summary))
    assert (found.evidence.sets != result.evidence.sets).nnz == 0
    assert found.evidence.runs == result.evidence.runs
    assert found.study.versions["ubayfs"] == ubayfs.__version__
    # The study lies elsewhere now, and still finds its data: it gives the same result from the beginning.
    data = found.study.read_data()
    again = found.study.decide(found.study.collect(data), data)
    assert again.to_dict() == result.selection.to_dict()
    shutil.rmtree(project / "sub")


def test_existing_files_are_listed_and_left_alone(plain, other, tmp_path):
    write_result(tmp_path, plain)
    before = content(tmp_path)
    with pytest.raises(
        InputError, match=r"holds a result already \(selected_features\.csv, .* and 2 more\)\..*--force"
    ):
        write_result(tmp_path, other)
    with pytest.raises(InputError, match="holds a result already"):
        check_directory(tmp_path)
    check_directory(tmp_path, plain.study, force=True)
    assert content(tmp_path) == before


def test_one_file_of_that_name_is_enough_to_refuse(plain, tmp_path):
    (tmp_path / "report.md").write_text("mine")
    with pytest.raises(InputError, match=r"holds files that a result would replace \(report\.md\)"):
        write_result(tmp_path, plain)
    assert content(tmp_path) == {"report.md": b"mine"}


def test_force_replaces_files_of_results_and_no_others(made, plain, other, tmp_path):
    (tmp_path / "figures").mkdir(parents=True)
    for name in ("notes.txt", "figures/mine.png", "selected_data.csv", "figures/evidence.svg"):
        (tmp_path / name).write_text("earlier")
    write_result(tmp_path, plain, force=True)
    write_result(tmp_path, other, force=True)
    assert set(content(tmp_path)) == FILES | {"notes.txt", "figures/mine.png"}
    assert (tmp_path / "notes.txt").read_text() == (tmp_path / "figures/mine.png").read_text() == "earlier"
    assert read_result(tmp_path).selection.features == other.selection.features


def test_other_files_do_not_stand_in_the_way(plain, tmp_path):
    (tmp_path / "unfinished-runs-1").mkdir()
    (tmp_path / "unfinished-runs-1" / "batch.npz").write_bytes(b"x")
    write_result(tmp_path, plain)
    assert set(content(tmp_path)) == FILES | {"unfinished-runs-1/batch.npz"}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda path: path.write_text("mine"),
            r"out is a file, so that no result can be written to .*Name a directory",
        ),
        (lambda path: (path / "figures").parent.mkdir() or (path / "figures").write_text(""), "figures is a file"),
        (lambda path: (path / "report.md").mkdir(parents=True), r"report\.md is a directory, but a result has a file"),
    ],
)
def test_what_stands_in_the_place_of_a_result(plain, tmp_path, build, message):
    build(tmp_path / "out")
    before = content(tmp_path)
    with pytest.raises(InputError, match=message):
        check_directory(tmp_path / "out", plain.study, force=True)
    with pytest.raises(InputError, match=message):
        write_result(tmp_path / "out", plain, force=True)
    assert content(tmp_path) == before


def test_a_file_above_the_directory(plain, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match=r"file is a file, so that no result can be written to .*file/a/b"):
        write_result(tmp_path / "file" / "a" / "b", plain)


def test_a_directory_that_may_not_be_written(plain, tmp_path, monkeypatch):
    def refuse(self, *_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    message = r"the result could not be written to .*out \(Permission denied\).*Name a directory that you may write to"
    with pytest.raises(InputError, match=message):
        check_directory(tmp_path / "out")
    with pytest.raises(InputError, match=message):
        write_result(tmp_path / "out", plain)
    assert list(tmp_path.iterdir()) == []


class Full:
    """Lets a function of the system work a number of times, then finds the disk full, once or ever after."""

    def __init__(self, function, times, once=False):
        self.function, self.left, self.once = function, times, once

    def __call__(self, *arguments, **keywords):
        if self.left == 0:
            self.left -= self.once
            raise OSError(errno.ENOSPC, "No space left on device", ".hidden.tmp")
        self.left -= 1
        return self.function(*arguments, **keywords)


def failure(directory, result, monkeypatch, full):
    """Return what is said when a function of the system fails at some step; None if it is never reached."""
    with monkeypatch.context() as patch:
        patch.setattr(os, full.function.__name__, full)
        try:
            write_result(directory, result, force=True)
        except InputError as error:
            return str(error)
    return None


# write_atomically syncs a file and its directory, and moves each file once; then each is moved to its place. The disk
# is full at every step in turn.
@pytest.mark.parametrize("system_call", ["fsync", "replace"])
@pytest.mark.parametrize("with_earlier", [False, True])
def test_a_full_disk_changes_nothing(plain, other, tmp_path, monkeypatch, system_call, with_earlier):
    directory = tmp_path / "deep" / "out"
    if with_earlier:
        write_result(directory, plain)
        (directory / "notes.txt").write_text("mine")
    before = content(tmp_path)
    steps = 0
    # Moving back what was moved takes no space; so moving fails once only.
    while said := failure(
        directory, other, monkeypatch, Full(getattr(os, system_call), steps, once=system_call == "replace")
    ):
        assert f"could not be written to {directory} (No space left on device); what was there before is" in said
        assert ".hidden" not in said
        assert content(tmp_path) == before
        assert with_earlier or list(tmp_path.iterdir()) == []
        steps += 1
    assert steps >= len(FILES)
    assert read_result(directory).selection.features == other.selection.features
    assert not [path for path in directory.iterdir() if path.name.startswith(".")]


def count_moves(monkeypatch, result, folder):
    """Return how many files are moved until a result is staged."""
    with monkeypatch.context() as patch:
        counted = Full(os.replace, -1)
        patch.setattr(os, "replace", counted)
        write_result(folder.parent / "counted", result)
    shutil.rmtree(folder.parent / "counted")
    return -1 - counted.left - len(FILES)


def test_files_that_cannot_be_put_back_are_kept(plain, other, tmp_path, monkeypatch):
    write_result(tmp_path, plain)
    before = content(tmp_path)
    # Three old files are out of the way, and neither can the others be moved nor these be put back.
    n_moves = count_moves(monkeypatch, other, tmp_path) + 3
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", Full(os.replace, n_moves))
        with pytest.raises(InputError, match=r"those that were there before are in (.*)old") as caught:
            write_result(tmp_path, other, force=True)
    kept = Path(str(caught.value).split("before are in ")[1].rstrip("."))
    after = content(tmp_path)
    for name, text in before.items():
        assert after.get(name) == text or (kept / name).read_bytes() == text
    assert sum(path.is_file() for path in kept.rglob("*")) == 3


def test_an_interruption_changes_nothing(plain, other, tmp_path, monkeypatch):
    write_result(tmp_path, plain)
    before = content(tmp_path)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("ubayfs.results.render_markdown", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_result(tmp_path, other, force=True)
    assert content(tmp_path) == before


def test_a_study_that_cannot_be_written_changes_nothing(plain, tmp_path):
    def mine(X, y, n_features, rng):
        return [0]

    study = replace(plain.study, evidence=EvidenceSection(selector=mine))
    with pytest.raises(StudyError, match="selector"):
        write_result(tmp_path / "out", replace(plain, study=study))
    assert list(tmp_path.iterdir()) == []


# Reading


@pytest.fixture(scope="module")
def stored(plain, tmp_path_factory):
    directory = tmp_path_factory.mktemp("stored") / "out"
    write_result(directory, plain)
    return directory


@pytest.fixture
def copied(stored, tmp_path):
    return shutil.copytree(stored, tmp_path / "out")


def test_no_result_there(stored, tmp_path):
    with pytest.raises(InputError, match=r"ouut does not exist; name the directory of a result\. Did you mean 'out'\?"):
        read_result(stored.parent / "ouut")
    with pytest.raises(InputError, match=r"report\.md is a file; name the directory of a result"):
        read_result(stored / "report.md")
    with pytest.raises(
        InputError, match=r"no complete result: study\.yaml, evidence\.npz, result\.json, summary\.json m"
    ):
        read_result(tmp_path)


def test_missing_files_are_all_named(copied):
    (copied / "evidence.npz").unlink()
    (copied / "summary.json").unlink()
    with pytest.raises(
        InputError, match=r"no complete result: evidence\.npz, summary\.json missing\. Name a directory"
    ):
        read_result(copied)


@pytest.mark.parametrize(
    ("name", "text", "error", "message"),
    [
        ("result.json", b"", InputError, r"result\.json is damaged"),
        ("result.json", b'{"format": 1', InputError, r"result\.json is damaged.*cannot be read as JSON"),
        ("result.json", b'{"format": 2}', InputError, r"result\.json is damaged: content is a damaged selection"),
        ("result.json", b'{"format": 1}', InputError, OTHER_VERSION),
        ("summary.json", b'{"format": 2}', InputError, OTHER_VERSION),
        ("result.json", b"[1]", InputError, r"result\.json is damaged: it must hold an object; got list"),
        ("result.json", b"\xff\xfe\xfd", InputError, r"result\.json is damaged"),
        ("summary.json", b"nonsense", InputError, r"summary\.json is damaged and cannot be read as JSON"),
        ("summary.json", b"{}", InputError, r"summary\.json is not the summary of a result"),
        ("evidence.npz", b"PK", EnsembleError, r"evidence\.npz is not ubayfs evidence"),
        ("study.yaml", b"data: [", StudyError, r"study\.yaml"),
        ("study.yaml", b"data: !!python/object:os.system {path: x}", StudyError, r"study\.yaml"),
    ],
)
def test_damage_is_named(copied, name, text, error, message):
    (copied / name).write_bytes(text)
    with pytest.raises(error, match=f"(?s){message}"):
        read_result(copied)


def test_parts_are_read_when_they_are_used(copied):
    for name in ("result.json", "summary.json", "study.yaml"):
        (copied / name).write_bytes(b"nonsense")
    stored = StoredResult(copied)
    assert stored.evidence.n_models == 8
    with pytest.raises(StudyError):
        _ = stored.study
    with pytest.raises(InputError, match=r"summary\.json is damaged"):
        _ = stored.summary


def test_figures_are_taken_over_where_their_displays_are_the_same(made, tmp_path, monkeypatch):
    result, data = made
    write_result(tmp_path / "out", result, data=data)
    stored = StoredResult(tmp_path / "out")
    displays = dict(stored.summary["displays"])
    displays["convergence"] = {**displays["convergence"], "n_chosen": 99}
    known = stored.figures(displays)
    assert {name: set(files) for name, files in known.files.items()} == {"evidence": {"png", "svg"}}
    drawn = []
    plot = Display.plot
    monkeypatch.setattr(Display, "plot", lambda self, ax=None: drawn.append(self.name) or plot(self, ax))
    figures = render_figures(read_displays(displays), ("png", "svg"), known)
    assert drawn == ["convergence"]
    for suffix in ("png", "svg"):
        assert figures.files["evidence"][suffix] == (tmp_path / "out" / "figures" / f"evidence.{suffix}").read_bytes()


def test_files_of_different_results_are_told_apart(copied):
    Evidence.from_sets([[1, 0], [1, 1]], ["x", "y"]).save(copied / "evidence.npz")
    with pytest.raises(InputError, match=r"evidence\.npz and result\.json beside it are about different features"):
        read_result(copied)


def test_a_study_knows_the_formats_of_figures():
    assert OutputSection(figures=FORMATS).figures == FORMATS
