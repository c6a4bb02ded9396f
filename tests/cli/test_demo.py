"""The demo on the command line: its files, what it prints, and that what it proposes works."""

import contextlib
import io
import shlex
from types import SimpleNamespace

import pandas as pd
import pytest

from ubayfs.cli.main import main
from ubayfs.demo import FILES, answer
from ubayfs.results import StoredResult


@pytest.fixture(scope="module")
def demo(tmp_path_factory, without_figures):
    """One run of the demo, in a folder that has a file of an earlier one, without what takes long."""
    above, printed = tmp_path_factory.mktemp("demo"), io.StringIO()
    folder = above / "my work" / "p53"
    folder.mkdir(parents=True)
    (folder / "knowledge.csv").write_text("feature,weight\nBAX,likely\n")
    command = ["demo", "--trust", "none", "-o", "my work/p53"]
    with pytest.MonkeyPatch.context() as patch, without_figures(), contextlib.redirect_stdout(printed):
        patch.chdir(above)
        refused, before = main(command), [path.name for path in folder.iterdir()]
        code = main([*command, "--force"])
    out = printed.getvalue()
    return SimpleNamespace(above=above, folder=folder, code=code, out=out, refused=refused, before=before)


def test_a_study_and_its_result_are_written(demo):
    assert demo.code == 0
    assert {*FILES, "results"} == {path.name for path in demo.folder.iterdir()}
    assert (demo.folder / "results" / "report.html").is_file()


def test_it_tells_what_the_votes_alone_select_and_what_the_list_adds(demo):
    """Numbers are those of the result, not of the text."""
    result = StoredResult(demo.folder / "results")
    counts = dict(zip(result.selection.feature_names.tolist(), result.selection.counts.tolist(), strict=True))
    line = next(line for line in demo.out.splitlines() if "alone select" in line)
    by_votes = sorted(counts, key=lambda name: -counts[name])[:10]
    assert all(f"{name} ({counts[name]})" in line for name in by_votes[:9])
    brought_in = set(result.selection.features) - set(by_votes)
    assert brought_in
    assert not any(f"{name} (" in line for name in brought_in)


def test_the_stored_answer_of_the_first_page_of_the_app_is_that_of_the_demo(demo):
    chosen = StoredResult(demo.folder / "results").summary.chosen
    assert answer() == [(one.feature, *one.reasons, one.count, round(one.weight)) for one in chosen]


def test_what_it_proposes_works(demo, run, blank_figures, monkeypatch):
    monkeypatch.chdir(demo.above)
    proposed = [shlex.split(line.strip()[2:]) for line in demo.out.splitlines() if line.startswith("  $ ubayfs ")]
    assert [words[1] for words in proposed] == ["decide", "trust", "app"]
    done = run(*proposed[0][1:])
    assert done.code == 0, done.err
    symbols = StoredResult(demo.folder / "symbols").selection.features
    assert len(symbols) == 10
    assert not any(name.endswith("_at") for name in symbols)
    assert all((demo.above / words[2]).exists() for words in proposed)


def test_an_earlier_demo_is_replaced_only_if_asked(demo):
    assert demo.refused == 2
    assert demo.before == ["knowledge.csv"]
    assert len(pd.read_csv(demo.folder / "knowledge.csv")) > 1


def test_a_file_is_no_directory(run, tmp_path):
    (tmp_path / "file").write_text("")
    assert run("demo", "-o", tmp_path / "file").code == 2
