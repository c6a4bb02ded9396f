"""Results are written whole or not at all, read back as they were, and never lost."""

import errno
import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ubayfs
from kills import killed_at
from ubayfs import max_size
from ubayfs._files import FIGURE_FORMATS, encode_record
from ubayfs.ensemble.evidence import Evidence
from ubayfs.exceptions import EnsembleError, InputError, StudyError, UBayFSWarning
from ubayfs.plotting import Display, read_displays, render_figures
from ubayfs.report import render_json, render_markdown, summarize
from ubayfs.results import Result, StoredResult, check_directory, read_result, reserve, write_result
from ubayfs.results import result as result_module
from ubayfs.results.file_set import FileSet
from ubayfs.study import DataSection, EvidenceSection, OutputSection, Study
from ubayfs.tables import read_table

FILES = {
    "selected_features.csv", "result.json", "evidence.npz", "study.yaml", "summary.json", "report.html", "report.md",
    "manifest.json",
}  # fmt: skip


READ = ("study.yaml", "evidence.npz", "result.json", "summary.json")
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
    summary = summarize(selection, data, settings=study.to_dict(), n_draws=3)
    # Two displays are as good as all, and sooner drawn.
    displays = {name: summary.displays[name] for name in ("evidence", "convergence")}
    return Result(study, evidence, selection, replace(summary, displays=displays)), data


@pytest.fixture(scope="module")
def figures(made):
    """Its displays, drawn once."""
    return render_figures(read_displays(made[0].summary.displays), ("png", "svg"))


@pytest.fixture(scope="module")
def plain(made):
    """The same without displays, which take long to draw."""
    result, _ = made
    study = replace(result.study, outputs=OutputSection(figures=()))
    return Result(study, result.evidence, result.selection, replace(result.summary, displays={}))


@pytest.fixture(scope="module")
def other(plain):
    """Another result on the same evidence."""
    study = replace(plain.study, constraints=(max_size(1),))
    selection = study.decide(plain.evidence)
    return Result(study, plain.evidence, selection, replace(summarize(selection, n_draws=0), displays={}))


def content(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }


def test_everything_is_written_and_nothing_else(made, tmp_path):
    result, data = made
    written = write_result(tmp_path / "a" / "out", result, data=data)
    names = {str(path.relative_to(tmp_path / "a" / "out")) for path in written}
    figures = {f"figures/{name}.{suffix}" for name in result.summary.displays for suffix in ("png", "svg")}
    assert figures
    assert names == FILES | {"selected_data.csv"} | figures
    assert set(content(tmp_path)) == {f"a/out/{name}" for name in names}
    assert (tmp_path / "a/out/figures/evidence.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "a/out/figures/evidence.svg").read_bytes()
    assert "<html" in (tmp_path / "a/out/report.html").read_text(encoding="utf-8")


def test_tables_of_a_result(made, project, tmp_path):
    result, data = made
    plain_summary = Result(result.study, result.evidence, result.selection, replace(result.summary, displays={}))
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


@pytest.mark.parametrize("samples", [None, "sheet.csv"])
def test_the_reduced_table_is_read_again_by_the_same_study(project, tmp_path, samples):
    whole = pd.read_csv(project / "patients.csv")
    whole.to_csv(tmp_path / "patients.csv", index=False)
    whole[["id", "ill"]].to_csv(tmp_path / "sheet.csv", index=False)
    section = DataSection(
        "patients.csv", samples=samples, id="id", target="ill", ignore=("clinic",), missing="drop_columns"
    )
    ensemble = EvidenceSection(selector="fisher", n_models=8, n_features_per_model=2)
    study = Study(section, ensemble, constraints=[max_size(2)], folder=tmp_path)
    study = replace(study, outputs=OutputSection(figures=(), reduced_table=True))
    data = study.read_data()
    evidence = study.collect(data)
    selection = study.decide(evidence, data)
    summary = replace(summarize(selection, n_draws=0), displays={})
    write_result(tmp_path / "out", Result(study, evidence, selection, summary))
    again = replace(study, data=replace(section, path="out/selected_data.csv")).read_data()
    assert set(again.feature_names) == set(selection.features)
    assert again.sample_names.tolist() == data.sample_names.tolist()
    columns = [data.feature_names.tolist().index(name) for name in again.feature_names]
    assert np.array_equal(again.X, data.X[:, columns])


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
    with pytest.raises(InputError, match=r"has no column 'A', which was selected: it is not the table"):
        write_result(tmp_path / "out", asked, data=changed)
    assert list(tmp_path.iterdir()) == []


def test_what_is_read_is_what_was_written(made, project):
    result, _ = made
    result = replace(result, summary=replace(result.summary, displays={}))
    written = write_result(project / "sub" / "out", replace(result, study=replace(result.study, outputs=OutputSection(
        figures=()))))  # fmt: skip
    assert project / "sub" / "out" / "report.md" in written
    found = read_result(project / "sub" / "out")
    assert found.selection.to_dict() == result.selection.to_dict()
    assert render_json(found.summary) == render_json(result.summary)
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
        InputError, match=r"holds a result already \(selected_features\.csv, .* and 3 more\)\..*--force"
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


@pytest.fixture
def reports_once(monkeypatch):
    """Render the reports of a summary once, however often its result is written: they are the same."""

    def once(function):
        made = {}

        def known(summary, *arguments):
            if id(summary) not in made:
                made[id(summary)] = function(summary, *arguments)
            return made[id(summary)]

        return known

    for name in ("document", "render_html", "render_markdown"):
        monkeypatch.setattr(result_module, name, once(getattr(result_module, name)))


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
@pytest.mark.usefixtures("reports_once")
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


def test_files_that_can_neither_be_moved_nor_put_back_are_moved_by_the_next_reader(plain, other, tmp_path, monkeypatch):
    write_result(tmp_path, plain)
    in_place = tmp_path / "report.md"
    real = os.replace

    def replace_others(source, target):
        if Path(source) == in_place:  # open in another program
            raise PermissionError(errno.EACCES, "Permission denied", str(source))
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_others)
        with pytest.raises(InputError, match=r"could not be written to .*Permission denied.* before is unchanged"):
            write_result(tmp_path, other, force=True)
        assert read_result(tmp_path).selection.features == plain.selection.features

    def replace_no_more(source, target):
        if replace_no_more.failed or Path(source) == in_place:
            replace_no_more.failed = True
            raise OSError(errno.EIO, "Input/output error", str(source))
        real(source, target)

    replace_no_more.failed = False
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_no_more)
        with pytest.raises(InputError, match=r"complete, but not all of them could be moved.*Input/output error.*next"):
            write_result(tmp_path, other, force=True)
        with pytest.raises(InputError, match=r"were being replaced when the program was stopped.*Input/output error"):
            read_result(tmp_path)
    with pytest.warns(UBayFSWarning, match="the new ones are in their places now"):
        assert read_result(tmp_path).selection.features == other.selection.features


def test_an_interruption_changes_nothing(plain, other, tmp_path, monkeypatch):
    write_result(tmp_path, plain)
    before = content(tmp_path)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("ubayfs.results.result.render_markdown", interrupt)
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


@pytest.fixture
def without_manifest(copied):
    """A result as earlier versions wrote it."""
    (copied / "manifest.json").unlink()
    return copied


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
@pytest.mark.filterwarnings("ignore:.*has no manifest")
def test_damage_is_named(without_manifest, name, text, error, message):
    (without_manifest / name).write_bytes(text)
    with pytest.raises(error, match=f"(?s){message}"):
        read_result(without_manifest)


@pytest.mark.filterwarnings("ignore:.*has no manifest")
def test_parts_are_read_when_they_are_used(without_manifest):
    for name in ("result.json", "summary.json", "study.yaml"):
        (without_manifest / name).write_bytes(b"nonsense")
    stored = StoredResult(without_manifest)
    assert stored.evidence.n_models == 8
    with pytest.raises(StudyError):
        _ = stored.study
    with pytest.raises(InputError, match=r"summary\.json is damaged"):
        _ = stored.summary


def test_figures_are_taken_over_where_their_displays_are_the_same(made, figures, tmp_path, monkeypatch):
    result, data = made
    write_result(tmp_path / "out", result, data=data, figures=figures)
    stored = StoredResult(tmp_path / "out")
    displays = dict(stored.summary.displays)
    displays["convergence"] = {**displays["convergence"], "n_chosen": 99}
    known = stored.figures(displays)
    assert {name: set(files) for name, files in known.files.items()} == {"evidence": {"png", "svg"}}
    drawn = []
    plot = Display.plot
    monkeypatch.setattr(Display, "plot", lambda self, ax=None: drawn.append(self.name) or plot(self, ax))
    found = render_figures(read_displays(displays), ("png", "svg"), known)
    assert drawn == ["convergence"]
    for suffix in ("png", "svg"):
        assert found.files["evidence"][suffix] == (tmp_path / "out" / "figures" / f"evidence.{suffix}").read_bytes()


def test_a_result_of_an_earlier_version_is_read_and_reported_as_unchecked(without_manifest, plain):
    with pytest.warns(UBayFSWarning, match=r"out has no manifest\.json.*cannot be checked"):
        assert read_result(without_manifest).selection.features == plain.selection.features


@pytest.mark.filterwarnings("ignore:.*has no manifest")
@pytest.mark.parametrize(
    ("evidence", "what"),
    [
        (Evidence.from_sets([[1, 0], [1, 1]], ["x", "y"]), "features"),
        (Evidence.from_sets(np.eye(5, dtype=int), list("ABCDE")), "votes"),
    ],
)
def test_files_of_different_results_are_told_apart_without_a_manifest(without_manifest, evidence, what):
    evidence.save(without_manifest / "evidence.npz")
    with pytest.raises(InputError, match=rf"evidence\.npz and result\.json beside it are about different {what}"):
        read_result(without_manifest)


@pytest.mark.parametrize("name", READ)
def test_a_file_of_another_result_is_refused(copied, other, tmp_path, name):
    study = replace(other.study, evidence=replace(other.study.evidence, seed=1))
    evidence = study.collect(study.read_data())
    selection = study.decide(evidence)
    summary = replace(summarize(selection, n_draws=0), displays={})
    write_result(tmp_path / "another", Result(study, evidence, selection, summary))
    shutil.copy(tmp_path / "another" / name, copied / name)
    with pytest.raises(InputError, match=rf"out cannot be trusted: {name} is not as written"):
        StoredResult(copied)


@pytest.mark.parametrize("name", [*READ, "manifest.json"])
def test_a_flipped_bit_is_refused(copied, name):
    path = copied / name
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    before = read_result(copied)
    refused = 0
    for position in rng.integers(len(good), size=20):
        damaged = bytearray(good)
        damaged[position] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            found = read_result(copied)
        except InputError:
            refused += 1
        else:  # the digest of a file that is not read
            assert name == "manifest.json"
            assert found.selection.to_dict() == before.selection.to_dict()
    assert refused == 20 or name == "manifest.json"
    assert refused > 0


def test_files_for_people_may_be_edited_and_removed_and_others_added(made, figures, tmp_path):
    result, data = made
    write_result(tmp_path, result, data=data, figures=figures)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "report.md").write_text("edited")
    (tmp_path / "report.html").unlink()
    (tmp_path / "selected_features.csv").unlink()
    (tmp_path / "figures" / "convergence.png").unlink()
    (tmp_path / "figures" / "evidence.svg").write_text("edited")
    stored = StoredResult(tmp_path)
    assert stored.selection.features == result.selection.features
    # Only figures as they were written are used again.
    known = stored.figures(stored.summary.displays)
    assert {name: set(files) for name, files in known.files.items()} == {"evidence": {"png"}, "convergence": {"svg"}}


def test_a_result_that_is_replaced_while_it_is_read_is_not_mixed(copied, other):
    before, stored = read_result(copied), StoredResult(copied)
    write_result(copied, other, force=True)
    assert before.selection.features != read_result(copied).selection.features
    assert stored.selection.to_dict() == before.selection.to_dict()
    assert stored.study == before.study


def test_a_result_that_is_replaced_while_it_is_opened_is_refused(copied, other, monkeypatch):
    original = FileSet.manifest

    def replaced_now(files):
        found = original(files)
        monkeypatch.setattr(FileSet, "manifest", original)
        write_result(copied, other, force=True)
        return found

    monkeypatch.setattr(FileSet, "manifest", replaced_now)
    with pytest.raises(InputError, match="was replaced while it was being read"):
        StoredResult(copied)


# Stopped programs


@pytest.mark.usefixtures("reports_once")
@pytest.mark.filterwarnings("ignore:a program was stopped")
@pytest.mark.parametrize("with_earlier", [False, True])
def test_a_result_is_whole_wherever_its_writer_is_killed(plain, other, tmp_path, monkeypatch, with_earlier):
    found, earlier_one = [], tmp_path / "earlier"
    if with_earlier:
        write_result(earlier_one, plain)
        (earlier_one / "figures").mkdir()
        for name in ("notes.txt", "figures/mine.png"):
            (earlier_one / name).write_text("mine")
    for step in range(0, 1000, 6):  # every single one in test_file_set
        directory = tmp_path / str(step)
        if with_earlier:
            shutil.copytree(earlier_one, directory)
        if not killed_at(step, monkeypatch, lambda to=directory: write_result(to, other, force=True)):
            break
        try:
            now = read_result(directory)
        except InputError:
            assert not with_earlier
            found.append(None)
        else:
            found.append(now.selection.features)
            expected = other if now.selection.features == other.selection.features else plain
            assert now.selection.to_dict() == expected.selection.to_dict()
            assert now.study.constraints == expected.study.constraints
        write_result(directory, plain, force=True)
        assert read_result(directory).selection.to_dict() == plain.selection.to_dict()
        mine = {"notes.txt", "figures/mine.png"} if with_earlier else set()
        assert set(content(directory)) == FILES | mine
        assert all((directory / name).read_text() == "mine" for name in mine)
        assert not [path for path in directory.iterdir() if path.name.startswith(".")]
    earlier = plain.selection.features if with_earlier else None
    # Up to some step the earlier one, from then on the new one.
    n_earlier = found.count(earlier)
    assert found == [earlier] * n_earlier + [other.selection.features] * (len(found) - n_earlier)
    assert 2 < n_earlier < len(found) - 2


def test_what_a_stopped_program_left_is_removed_and_reported(plain, tmp_path):
    (tmp_path / ".ubayfs-staging" / "new").mkdir(parents=True)
    (tmp_path / ".ubayfs-staging" / "new" / "report.md").write_text("half")
    (tmp_path / ".ubayfs-lock").write_text("process 1 on elsewhere")
    with pytest.warns(UBayFSWarning, match="a program was stopped before its files in .* is removed"):
        write_result(tmp_path, plain)
    assert set(content(tmp_path)) == FILES


def test_a_directory_is_written_by_one_program_at_a_time(plain, other, tmp_path):
    directory = tmp_path / "out"
    with reserve(directory) as write:
        with pytest.raises(InputError, match=rf"out is in use: another program \(process {os.getpid()} on") as caught:
            write_result(directory, other, force=True)
        assert caught.value.argument == "directory"
        with pytest.raises(InputError, match="is in use"), reserve(directory):
            pass
        assert set(content(directory)) == {".ubayfs-lock"}
        write(plain)
    assert set(content(directory)) == FILES
    assert read_result(directory).selection.to_dict() == plain.selection.to_dict()


def test_a_reservation_that_is_not_used_leaves_nothing(tmp_path):
    with reserve(tmp_path / "a" / "out"):
        assert (tmp_path / "a" / "out").is_dir()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BrokenPipeError), reserve(tmp_path / "a" / "out"):  # as it is, not as a failure to write
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_links_are_not_followed(made, plain, tmp_path):
    result, data = made
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "evidence.png").write_text("mine")
    (elsewhere / "report.md").write_text("mine")
    directory = tmp_path / "out"
    directory.mkdir()
    (directory / "figures").symlink_to(elsewhere)
    with pytest.raises(InputError, match="figures is a link, but a result has a directory of that name"):
        write_result(directory, result, data=data, force=True)
    (directory / "figures").unlink()
    (directory / "report.md").symlink_to(elsewhere / "report.md")
    (directory / "report.html").symlink_to(tmp_path / "nowhere")
    (directory / ".ubayfs-staging").symlink_to(elsewhere)
    with pytest.raises(InputError, match=r"would replace \(report\.html and report\.md\)"):
        write_result(directory, plain)
    with pytest.warns(UBayFSWarning, match="is removed"):
        write_result(directory, plain, force=True)
    assert content(elsewhere) == {"evidence.png": b"mine", "report.md": b"mine"}
    assert not (directory / "report.md").is_symlink()
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 300, "loop"])
def test_paths_that_cannot_be(plain, tmp_path, name):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for action in (read_result, check_directory, Evidence.load, plain.evidence.save, lambda p: write_result(p, plain)):
        with pytest.raises(InputError, match="cannot be the path of a file") as caught:
            action(tmp_path / name)
        assert len(str(caught.value)) < 300


def test_a_study_knows_the_formats_of_figures():
    assert OutputSection(figures=FIGURE_FORMATS).figures == FIGURE_FORMATS


def forged(directory, name, content):
    """Put other content into a file of a result, and its digest into the manifest."""
    (directory / name).write_bytes(content)
    manifest = json.loads((directory / "manifest.json").read_bytes())
    manifest["files"][name] = hashlib.sha256(content).hexdigest()
    (directory / "manifest.json").write_text(json.dumps(manifest))
    return directory


@pytest.mark.parametrize("key", ["created", "chosen", "trust", "versions", "displays", "advice", "sentences"])
@pytest.mark.parametrize("value", [None, 0, [0]])
def test_a_summary_of_another_form_is_damaged_though_its_digest_fits(copied, key, value):
    summary = json.loads((copied / "summary.json").read_bytes())
    del summary[key]
    if value is not None:
        summary[key] = value
    stored = StoredResult(forged(copied, "summary.json", json.dumps(summary).encode()))
    with pytest.raises(InputError, match=r"summary\.json is damaged: .*Write (it|the result) again"):
        _ = stored.summary


@pytest.mark.parametrize("number", ["NaN", "1e999"])
def test_a_summary_that_cannot_be_written_again_is_damaged(copied, number):
    content = (copied / "summary.json").read_text(encoding="utf-8")
    summary = json.loads(content) | {"decision": {"time_limit": 987654321}}
    text = json.dumps(summary).replace("987654321", number)
    with pytest.raises(InputError, match=r"summary\.json is damaged"):
        _ = StoredResult(forged(copied, "summary.json", text.encode())).summary


@pytest.mark.parametrize(
    "settings", [0, [], {"parts": 0}, {"parts": [0]}, {"part": 0}, {"part": {"number": "1"}}, {"adjust_for": 3}]
)
def test_settings_of_another_form_are_damage_though_the_digest_fits(copied, settings):
    evidence = StoredResult(copied).evidence
    metadata, arrays = evidence.record()
    content = encode_record("ubayfs evidence", 1, {**metadata, "settings": settings}, **arrays)
    with pytest.raises(EnsembleError, match="its parts do not fit together"):
        _ = StoredResult(forged(copied, "evidence.npz", content)).evidence


def as_version_2_wrote_it(summary):
    """Return a summary with the keys of version 0.2: noise instead of related features, other names, fewer facts."""
    later = {
        "chosen": (
            *("again_with_weights", "effect_clear", "related", "substitute_votes", "votes_for", "weight_not_needed"),
            "selected_again",
        ),
        "substitutes": ("added_votes",),
    }
    for part, keys in later.items():
        summary[part] = [{key: value for key, value in entry.items() if key not in keys} for entry in summary[part]]
    summary["chosen"] = [{**record, "chosen_again": "usually"} for record in summary["chosen"]]
    summary["trust"] = {
        **{key: value for key, value in summary["trust"].items() if key != "related"},
        "noise": {"state": "known", "n_done": 20, "n_asked": 20, "failures": [], "expected": 2.7},
        "reproducibility": {
            "state": "known", "n_done": 20, "n_asked": 20, "failures": [], "n_undefined": 0, "size": 2, "lower": 0.5,
            "upper": 0.9, "interval": [0.1, 1.0], "chosen_again": [0.6, 1.8],
        },
    }  # fmt: skip
    del summary["prior"]["trust_in_lists"]
    summary["displays"]["noise"] = {"display": "noise", "counts": [1, 2]}
    return summary


def test_a_result_of_version_2_is_read_and_reported(copied):
    written = as_version_2_wrote_it(json.loads((copied / "summary.json").read_bytes()))
    summary = StoredResult(forged(copied, "summary.json", json.dumps(written).encode())).summary
    assert summary.trust.related.state == "missing"
    assert summary.trust.reproducibility.selected_again == (0.6, 1.8)
    assert {(member.selected_again, member.votes_for) for member in summary.chosen} == {("usually", ())}
    assert "noise" not in summary.displays
    assert "Selected again" in render_markdown(summary)
    again = json.loads(render_json(summary))
    assert set(written) == set(again)
    assert "selected_again" in again["chosen"][0]
