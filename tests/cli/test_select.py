"""select and decide: what they find, write, keep and refuse."""

import base64
import io
import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ubayfs
from ubayfs.cli import console
from ubayfs.cli.main import main
from ubayfs.exceptions import UBayFSError
from ubayfs.plotting import DISPLAYS, Display
from ubayfs.results import read_result, write_result
from ubayfs.study import ResolvedStudy

FILES = {
    "manifest.json",
    "evidence.npz",
    "report.html",
    "report.md",
    "result.json",
    "selected_features.csv",
    "study.yaml",
    "summary.json",
}


def plain_decision(cells, **changes):
    """The same by the functions of the package."""
    X, y = cells.drop(columns="diagnosis"), cells["diagnosis"]
    evidence = ubayfs.collect_evidence(X, y, selector="fisher", n_models=30, n_features_per_model=4, random_state=0)
    asked = {
        "weights": {"worst smoothness": 7.5},
        "constraints": [ubayfs.max_size(4), ubayfs.cannot_link(["worst radius", "worst area"])],
        "n_alternatives": 2,
    }
    with warnings.catch_warnings():
        # A chosen feature without votes is what we ask for.
        warnings.simplefilter("ignore", ubayfs.exceptions.OptimizationWarning)
        return ubayfs.decide(evidence, X=X, **{**asked, **changes})


def test_select_finds_what_the_functions_find(folder, run, cells):
    done = run("select", "study.yaml")
    assert done.code == 0, done.err
    expected = plain_decision(cells)
    result = read_result(folder / "results")
    assert result.selection.features == expected.features
    assert result.selection.value == expected.value
    assert [other.features for other in result.selection.alternatives] == [o.features for o in expected.alternatives]
    assert {path.name for path in (folder / "results").iterdir()} == FILES
    listed = pd.read_csv(folder / "results" / "selected_features.csv")
    assert set(listed["feature"]) == set(expected.features)
    for name in expected.features:
        assert name in done.out
    assert f"Wrote {len(FILES)} files to" in done.out


def test_select_by_options_is_select_by_study(folder, run, finished):
    options = "--target diagnosis --selector fisher --models 30 --features-per-model 4 --max-size 4 --draws 3 --seed 0"
    links = ["--cannot-link", "worst radius", "worst area", "--weight", "worst smoothness=likely"]
    done = run("select", "cells.csv", *options.split(), *links, "--alternatives", 2, "-o", "second")
    assert done.code == 0, done.err
    first, second = read_result(finished), read_result(folder / "second")
    contents = [found.selection.to_dict() for found in (first, second)]
    for content in contents:  # options have no order
        content["provenance"]["constraints"].sort(key=str)
    assert contents[0] == contents[1]
    assert (folder / "second" / "figures" / "evidence.png").exists()


def test_the_study_as_used_gives_the_same_result(chosen, run):
    assert run("select", "results/study.yaml", "-o", "again").code == 0
    first, again = (read_result(chosen / name) for name in ("results", "again"))
    assert first.selection.to_dict() == again.selection.to_dict()
    assert first.study == again.study
    assert first.study.versions["ubayfs"] == ubayfs.__version__


def test_a_seed_that_was_drawn_is_written_down(folder, run):
    text = (folder / "study.yaml").read_text(encoding="utf-8")
    (folder / "study.yaml").write_text(text.replace("  seed: 0\n", "  seed: null\n"), encoding="utf-8")
    assert run("select", "study.yaml").code == 0
    assert run("select", "results/study.yaml", "-o", "again").code == 0
    first, again = (read_result(folder / name) for name in ("results", "again"))
    assert first.study.evidence.seed is not None
    assert first.evidence.runs == again.evidence.runs


def test_a_seed_of_the_decision_that_was_drawn_is_written_down(folder, run):
    text = (folder / "study.yaml").read_text(encoding="utf-8")
    drawn = text.replace("decision:\n", "decision:\n  seed: null\n").replace(
        "prior:\n", "prior:\n  kind: hyperdirichlet\n"
    )
    (folder / "drawn.yaml").write_text(drawn, encoding="utf-8")
    assert run("select", "drawn.yaml", "-o", "first").code == 0
    assert run("select", "first/study.yaml", "-o", "again").code == 0
    first, again = (read_result(folder / name) for name in ("first", "again"))
    assert first.study.decision.seed is not None
    assert first.selection.to_dict() == again.selection.to_dict()


def test_what_was_read_is_never_replaced(folder, run):
    """A study in the directory of the result, or data from it: --force does not mean these."""
    text = (folder / "study.yaml").read_bytes()
    for force in ([], ["--force"]):
        refused = run("select", "study.yaml", "-o", ".", *force)
        assert refused.code == 2
        assert (folder / "study.yaml").read_bytes() == text
    assert "was read for this result" in refused.err
    assert run("select", "study.yaml", "--reduced-table").code == 0
    table = folder / "results" / "selected_data.csv"
    content = table.read_bytes()
    refused = run("select", table, "--target", "diagnosis", "--max-size", 2, "-o", "results", "--force")
    assert refused.code == 2
    assert "was read for this result" in refused.err
    assert table.read_bytes() == content
    # The study of a result may give way to its successor.
    assert run("select", "results/study.yaml", "--max-size", 2, "--force").code == 0
    assert len(read_result(folder / "results").selection.features) == 2


@pytest.mark.skipif(os.name == "nt", reason="needs a shell that can close an output")
def test_a_result_is_written_even_if_nobody_reads_the_answer(folder):
    """In real processes, as `python -m ubayfs`; their figures, which take longest, are left out of the reports."""
    figures = "from ubayfs.plotting import DISPLAYS; DISPLAYS.clear()"
    program = f"{figures}; import runpy; runpy.run_module('ubayfs', run_name='__main__', alter_sys=True)"
    outputs = {"piped": "| true", "closed": ">&-"} | ({"full": "> /dev/full"} if Path("/dev/full").exists() else {})
    command = "select study.yaml --trust none"
    for name, output in outputs.items():
        line = f'"{sys.executable}" -u -c "{program}" {command} -o {name} {output}'
        run = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False)
        command = "decide piped"  # which imports less, and ends in the same way
        assert "Traceback" not in run.stderr
        assert len(read_result(folder / name).selection.features) == 4


def test_weights_on_top_of_a_result_of_the_same_data_were_stated_after_votes_were_seen(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 60)), columns=[f"g{j}" for j in range(60)])
    table.assign(y=np.arange(40) % 2).to_csv("noise.csv", index=False)
    command = [
        "select",
        "noise.csv",
        "--target",
        "y",
        "--models",
        10,
        "--max-size",
        5,
        "--trust",
        "quick",
        "-o",
        "seen",
    ]
    assert run(*command).code == 0
    members = read_result("seen").selection.features
    weights = [option for name in members for option in ("--weight", f"{name}=10")]
    assert run(*command, *weights, "--force").code == 0
    again = read_result("seen")
    assert set(again.study.prior.changed_after_votes) == set(members)
    assert again.trust.related.favored == ()
    assert run(*command, *weights, "-o", "new").code == 0  # nobody knows of the other result
    assert set(read_result("new").trust.related.favored) == set(members)


def test_a_result_is_never_overwritten_by_chance(chosen, run):
    results = chosen / "results"
    before = {path: path.read_bytes() for path in results.iterdir() if path.is_file()}
    refused = run("select", "study.yaml", "--max-size", 2)
    assert refused.code == 2
    assert "holds a result already" in refused.err
    assert "--force" in refused.err
    assert {path: path.read_bytes() for path in before} == before
    (results / "my notes.txt").write_text("mine", encoding="utf-8")
    assert run("select", "study.yaml", "--max-size", 2, "--force").code == 0
    assert len(read_result(results).selection.features) == 2
    assert (results / "my notes.txt").read_text(encoding="utf-8") == "mine"


def test_finished_runs_survive_an_interruption(folder, run, monkeypatch):
    """Ctrl-C after the first runs: the same command goes on with the next and finds what an undisturbed one does."""
    command = ("select", "study.yaml", "--selector", "rfe")
    assert run(*command, "-o", "undisturbed").code == 0
    seen = []

    def impatient(done, total):
        seen.append(done)
        if done:
            raise KeyboardInterrupt

    monkeypatch.setattr(console, "progress", fixed_progress(impatient))
    stopped = run(*command)
    assert stopped.code == 130
    assert "rerun the same command to resume" in stopped.err
    assert "Traceback" not in stopped.err
    assert seen == [0, 1]
    assert not (folder / "results" / "result.json").exists()
    monkeypatch.setattr(console, "progress", fixed_progress(lambda done, total: seen.append(done)))
    assert run(*command).code == 0
    assert seen[2:] == [0, *range(1, 31)]
    results = [read_result(folder / name) for name in ("undisturbed", "results")]
    assert results[0].evidence.runs == results[1].evidence.runs
    assert results[0].selection.to_dict() == results[1].selection.to_dict()
    assert list((folder / "results").glob("unfinished*")) == []


def fixed_progress(update):
    from contextlib import contextmanager

    @contextmanager
    def progress(label, unit):
        yield update if label == "ensemble" else (lambda done, total: None)

    return progress


def test_runs_of_another_ensemble_are_not_taken_and_not_lost(folder, run, monkeypatch):
    def impatient(done, total):
        if done:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(console, "progress", fixed_progress(impatient))
        assert run("select", "study.yaml").code == 130
    done = run("select", "study.yaml", "--features-per-model", 3)
    assert done.code == 0, done.err
    assert read_result(folder / "results").evidence.settings["n_features_per_model"] == 3
    assert len(list((folder / "results").glob("unfinished*"))) == 1


def test_the_reduced_table_has_the_chosen_columns(folder, run, cells):
    assert run("select", "study.yaml", "--reduced-table").code == 0
    reduced = pd.read_csv(folder / "results" / "selected_data.csv")
    chosen = read_result(folder / "results").selection.features
    pd.testing.assert_frame_equal(reduced, cells[[c for c in cells if c in chosen or c == "diagnosis"]])


def test_notes_are_shown_once_and_reported(folder, run):
    done = run("select", "cells.csv", "--target", "diagnosis", "--models", 10, "--selector", "fisher", "--draws", 0,
               "--min-votes", 0)  # fmt: skip
    assert done.code == 0
    assert done.err.count("No constraint limits the size") == 1
    summary = json.loads((folder / "results" / "summary.json").read_text(encoding="utf-8"))
    assert any("No constraint limits the size" in text for text in summary["warnings"])
    assert [advice["code"] for advice in summary["advice"]] == ["size_not_limited", "without_votes"]
    assert "--max-size N" in done.err
    assert "--max-size" not in summary["warnings"][0]


def test_advice_before_the_ensemble_is_shown_once_and_reported(finished, folder, run, monkeypatch):
    text = Path("study.yaml").read_text(encoding="utf-8").replace("  n_features_per_model: 4\n", "")
    Path("old.yaml").write_text(text + "versions: {ubayfs: 0.1.0}\n", encoding="utf-8")
    assert run("check", "old.yaml").err.count("evidence.n_features_per_model") == 1
    done = run("select", "old.yaml", "-o", "old")
    assert done.err.count("evidence.n_features_per_model") == 1
    assert [advice.code for advice in read_result("old").summary.advice] == [
        "former_default", "former_default", "former_default", "many_features_per_model"
    ]  # fmt: skip
    assert read_result("old").study.evidence.n_features_per_model == 8  # 10, or all of fewer features
    assert read_result("old").study.decision.min_votes == 0  # stated in the study of the result
    assert "10, or all features if there are fewer" in Path("old/report.md").read_text(encoding="utf-8")

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(ResolvedStudy, "collect", interrupted)
    done = run("select", "study.yaml", "-o", "new", "--features-per-model", "3")
    assert "A run may select 3 of 8 features" in done.err
    assert "--features-per-model 2" in done.err


def test_a_default_of_another_version_is_stated_in_the_next_result(finished, folder, run):
    """Evidence that an earlier version collected by its default: the study of the next decision repeats it."""
    stored = read_result(finished)
    unset = replace(stored.study, evidence=replace(stored.study.evidence, n_features_per_model=None))
    write_result("early", replace(stored, study=unset))
    assert run("decide", "early", "--max-size", 2, "-o", "next").code == 0
    assert read_result("next").study.evidence.n_features_per_model == 4


def test_numbers_drawn_at_random_from_the_command_line(folder, run):
    shown = run("check", "study.yaml", "--features-per-model", "random")
    assert "each of at random 1 to 4 features" in shown.out
    assert run("select", "study.yaml", "--features-per-model", "random", "-o", "out").code == 0
    result = read_result("out")
    assert result.study.evidence.n_features_per_model == result.evidence.settings["n_features_per_model"] == "random"
    assert "each selecting at most a number drawn from 1 to 4 of features" in Path("out/report.md").read_text("utf-8")
    refused = run("select", "study.yaml", "--features-per-model", "auto", "-o", "x")
    assert (refused.code, "'random'; got 'auto'" in refused.err) == (2, True)


# -- decide ------------------------------------------------------------------------------------------------------------


def test_decide_uses_the_evidence_and_the_study_of_a_result(finished, run, cells):
    done = run("decide", finished, "--max-size", 2, "-o", finished.parent / "two")
    assert done.code == 0, done.err
    expected = plain_decision(
        cells, constraints=[ubayfs.cannot_link(["worst radius", "worst area"]), ubayfs.max_size(2)]
    )
    found = read_result(finished.parent / "two")
    assert found.selection.features == expected.features
    assert found.selection.value == pytest.approx(expected.value)
    assert found.evidence.runs == read_result(finished).evidence.runs
    # Correlations are those that the earlier result knows: the table was not read.
    assert found.selection.metrics.redundancy == pytest.approx(expected.metrics.redundancy)
    assert found.summary.correlation.redundancy == pytest.approx(expected.metrics.redundancy)


def test_decide_without_output_writes_nothing(finished, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("decide", finished, "--weight", "mean smoothness=very likely")
    assert done.code == 0
    assert "mean smoothness" in done.out
    assert "Nothing was written" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        (["--without", "cannot_link"], {"max_size"}),
        (["--without", "max-size", "--without", "cannot-link", "--exact-size", 3], {"exact_size"}),
        (["--must-link", "mean area", "worst area"], {"max_size", "cannot_link", "must_link"}),
        (["--require", "mean texture", "--exclude", "mean*"], None),
    ],
)
def test_options_change_constraints(finished, run, options, kinds, tmp_path):
    done = run("decide", finished, *options, "-o", tmp_path / "out")
    if kinds is None:  # hard ones that contradict each other are named
        assert done.code == 2
        assert "require mean texture" in done.err
        assert "exclude mean texture" in done.err
        assert not (tmp_path / "out").exists()
    else:
        assert done.code == 0, done.err
        assert {constraint.kind for constraint in read_result(tmp_path / "out").study.constraints} == kinds


def test_decide_with_an_edited_study(finished, run, tmp_path):
    text = (finished / "study.yaml").read_text(encoding="utf-8").replace("max_size: 4", "max_size: 3")
    edited = finished / "edited.yaml"
    edited.write_text(text, encoding="utf-8")
    try:
        done = run("decide", finished, "--study", edited, "-o", tmp_path / "out")
    finally:
        edited.unlink()
    assert done.code == 0, done.err
    assert len(read_result(tmp_path / "out").selection.features) == 3


def test_a_wrong_study_and_wrong_options_are_listed_together(finished, run):
    study = finished.parent / "wrong.yaml"
    text = (finished.parent / "study.yaml").read_text(encoding="utf-8")
    study.write_text(text + "outputs: {n_draws: -1}\n" * ("outputs:" not in text) + "nonsense: 1\n", encoding="utf-8")
    try:
        done = run("decide", finished, "--study", study, "--max-size", "-3", "--min-votes", "-1")
    finally:
        study.unlink()
    assert done.code == 2
    for place in ("wrong.yaml, line", "nonsense: is not", "--max-size: must be", "--min-votes: must be"):
        assert place in done.err


@pytest.mark.parametrize(
    ("old", "new"), [("", ""), ("n_models: 30", "n_models: 31"), ("path: cells.csv", "path: other.csv")]
)
def test_decide_notes_another_ensemble_or_other_data_only(old, new, finished, run):
    study = finished.parent / "changed.yaml"
    text = (finished.parent / "study.yaml").read_text(encoding="utf-8")
    study.write_text(text.replace(old, new, 1), encoding="utf-8")
    try:
        done = run("decide", finished, "--study", study)
    finally:
        study.unlink()
    assert done.code == 0, done.err
    assert ("data and ensemble are those of" in done.err) == bool(new)


def test_decide_works_without_data(chosen, run):
    (chosen / "cells.csv").unlink()
    done = run("decide", "results", "--weight", "mean smoothness=very likely")
    assert done.code == 0, done.err
    assert "mean smoothness" in done.out
    assert "cells.csv" not in done.err  # nothing needed it
    done = run("decide", "results", "--exclude", "worst*", "-o", "others")
    assert done.code == 0, done.err
    known = read_result(chosen / "others").summary
    assert known.data.classes == read_result(chosen / "results").summary.data.classes
    refused = run("decide", "results", "--decorrelate", 0.5)
    assert refused.code == 2
    assert "cells.csv" in refused.err


def test_decide_notices_that_the_data_have_changed(chosen, run, cells):
    cells.assign(**{"mean radius": cells["mean radius"] + 1}).to_csv("cells.csv", index=False)
    assert run("decide", "results", "--max-size", 2).code == 0
    before = (chosen / "results" / "summary.json").read_text(encoding="utf-8")
    without = {**json.loads(before), "correlation": None}
    (chosen / "results" / "summary.json").write_text(json.dumps(without), encoding="utf-8")
    (chosen / "results" / "manifest.json").unlink()  # else this is refused
    done = run("decide", "results", "--max-size", 2, "-o", "two")
    assert done.code == 0, done.err
    assert "Note: decided without the data, so no correlations are shown" in done.err
    assert "is not the table that the ensemble saw" in done.err
    refused = run("decide", "results", "--decorrelate", 0.5)
    assert refused.code == 2
    assert "is not the table that the ensemble saw" in refused.err


def test_a_result_needs_no_table_of_knowledge(folder, run, finished):
    """It may be moved or sent: what the table states is written into its study."""
    (folder / "knowledge.csv").write_text("feature,weight\nworst smoothness,likely\n", encoding="utf-8")
    text = (folder / "study.yaml").read_text(encoding="utf-8")
    weights = "  weights:\n    features: {worst smoothness: likely}\n"
    (folder / "by table.yaml").write_text(text.replace(weights, "  table: knowledge.csv\n"), encoding="utf-8")
    assert run("select", "by table.yaml", "-o", "by table").code == 0
    (folder / "knowledge.csv").unlink()
    done = run("decide", "by table", "--max-size", 4, "-o", "again")
    assert done.code == 0, done.err
    results = [read_result(name).selection for name in (folder / "by table", finished, folder / "again")]
    assert results[0].to_dict() == results[1].to_dict()
    assert results[0].features == results[2].features


# -- each thing once ---------------------------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch, real_figures):
    """Count what is drawn, rendered and opened; each file that is rendered is short and differs from all others."""
    counts = {"drawn": Counter(), "rendered": Counter(), "opened": Counter()}
    open_file = io.open

    class Counted:
        missing_letters = ""

        def render(self, format="png", **options):
            counts["rendered"][format] += 1
            return f"{format} {counts['rendered'][format]}".encode()

    def count_plot(self, ax=None):
        counts["drawn"][self.name] += 1
        return Counted()

    def count_open(file, mode="r", *arguments, **options):
        if "r" in mode:
            counts["opened"][Path(file).name if isinstance(file, str | Path) else "descriptor"] += 1
        return open_file(file, mode, *arguments, **options)

    monkeypatch.setattr(Display, "plot", count_plot)
    monkeypatch.setattr("builtins.open", count_open)
    monkeypatch.setattr("io.open", count_open)
    return counts


def test_select_draws_each_figure_once(folder, run, counted):
    options = ["--target", "diagnosis", "--selector", "fisher", "--models", 10, "--max-size", 4, "--draws", 0]
    options += ["--trust", "full", "--shuffles", 200, "--splits", 2, "--cv", 2, "--repeats", 1, "--sizes", 2, 4]
    options += ["--front-sizes", 2, 4]
    options += [
        "--must-link",
        "mean texture",
        "worst texture",
        "--price",
        0.2,
    ]  # only what is not hard has a figure of prices
    done = run("select", "cells.csv", *options, "--figures", "png", "--figures", "svg", "-o", "out")
    assert done.code == 0, done.err
    drawn = set(DISPLAYS) - {"survival", "blocks", "gene_sets"}  # there are no times, blocks or gene sets
    assert counted["drawn"] == dict.fromkeys(drawn, 1)
    assert counted["rendered"] == {"png": len(drawn), "svg": len(drawn)}
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    for name in drawn:
        content = (folder / "out" / "figures" / f"{name}.png").read_bytes()
        assert base64.b64encode(content).decode() in page
    # The same decision again: there is nothing to draw, and no need of the data.
    counted["drawn"].clear()
    counted["opened"].clear()
    assert run("decide", "out", "-o", "again").code == 0
    assert counted["drawn"] == {}
    assert counted["opened"]["cells.csv"] == 0
    assert (folder / "again" / "figures" / "sizes.svg").read_bytes() == (
        folder / "out" / "figures" / "sizes.svg"
    ).read_bytes()
    # Another size: what does not depend on it stays, nothing is drawn twice.
    assert run("decide", "out", "--max-size", 3, "-o", "three").code == 0
    assert counted["drawn"]
    assert set(counted["drawn"].values()) == {1}
    assert counted["opened"]["cells.csv"] == 0


def test_the_answer_is_shown_before_the_report_is_made(finished, monkeypatch, capsys, tmp_path):
    shown = []

    def summarized(*arguments, **options):
        shown.append(capsys.readouterr().out)
        raise UBayFSError("enough")

    monkeypatch.setattr("ubayfs.results.finishing.summarize", summarized)
    assert main(["decide", str(finished), "--max-size", "2", "-o", str(tmp_path / "two")]) == 2
    assert "2 of 8 features were selected" in shown[0]
    assert "Score" in shown[0]


def test_decide_without_output_loads_nothing_heavy(finished):
    code = (
        "import sys; from ubayfs.cli.main import main; "
        f"main(['decide', {str(finished)!r}, '--max-size', '2']); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stderr.split()}
    assert "2 of 8 features were selected" in done.stdout
    assert loaded.isdisjoint({"pandas", "sklearn", "matplotlib", "jinja2", "tqdm", "joblib"})


GUARDED = """\
data: {path: cells.csv, target: diagnosis}
evidence: {selector: fisher, n_models: 10, n_features_per_model: 2}
prior: {weights: {features: {mean area: very likely, worst area: very likely}}}
outputs: {figures: [], n_draws: 0}
"""


def guarded(folder, cells, run, constraints):
    """Run check and select on classes of 30 and 4 samples and with a twin; return their notes and the summary."""
    few = cells.groupby("diagnosis").head(30)
    few = few[(few["diagnosis"] == "benign") | (few.groupby("diagnosis").cumcount() < 4)]
    few.assign(twin=few["worst area"]).to_csv("cells.csv", index=False)
    Path("guarded.yaml").write_text(f"{GUARDED}constraints: {constraints}\n", encoding="utf-8")
    checked, done = run("check", "guarded.yaml"), run("select", "guarded.yaml", "-o", "guarded")
    assert (checked.code, done.code) == (0, 0)
    return checked.err, done.err, read_result("guarded").summary


def test_check_and_select_name_what_is_wrong_before_any_work_and_the_report_once(folder, cells, run):
    checked, done, summary = guarded(folder, cells, run, "[max_size: {n: 1, rho: hard}]")
    codes = [advice.code for advice in summary.advice]
    assert codes == ["few_samples_per_class", "identical_features", "many_very_likely"]
    for note in ("malignant (4)", "worst area and twin", "(mean area, worst area)", "max-size 1"):
        assert checked.count(note) == done.count(note) == 1
        assert sum(note in text for text in summary.warnings) == 1
    (record,) = summary.chosen
    assert (record.feature, record.identical_to) == ("worst area", ("twin",))
    assert "Identical to" in Path("guarded/report.md").read_text(encoding="utf-8")
    again = run("decide", "guarded", "--max-size", 2)  # both have room now
    assert again.code == 0
    assert "very likely" not in again.err


def test_an_unlimited_size_is_named_before_the_ensemble_and_once(folder, cells, run, monkeypatch):
    checked, done, summary = guarded(folder, cells, run, "[]")
    assert checked.count("No constraint limits the size") == done.count("No constraint limits the size") == 1
    assert [advice.code for advice in summary.advice].count("size_not_limited") == 1
    assert "many_very_likely" not in [advice.code for advice in summary.advice]

    def interrupted(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("ubayfs.study.resolve.ResolvedStudy.collect", interrupted)
    stopped = run("select", "guarded.yaml", "-o", "stopped")
    assert "No constraint limits the size" in stopped.err


def test_sound_studies_get_no_notes(folder, run):
    Path("study.yaml").write_text(Path("study.yaml").read_text() + f"versions: {{ubayfs: {ubayfs.__version__}}}\n")
    sound = run("check", "study.yaml", "--features-per-model", 2)
    assert (sound.code, sound.err) == (0, "")


def test_who_decides_again_with_other_weights_has_seen_the_votes(finished, run, tmp_path):
    assert read_result(finished).study.prior.changed_after_votes is None
    first, second = tmp_path / "first", tmp_path / "second"
    assert run("decide", finished, "--weight", "mean smoothness=very likely", "-o", first).code == 0
    marks = read_result(first).study.prior.changed_after_votes
    assert list(marks) == ["mean smoothness"]
    assert run("decide", first, "--max-size", 3, "-o", second).code == 0
    assert read_result(second).study.prior.changed_after_votes == marks
    assert "mean smoothness (" in read_result(second).summary.question[3]
    assert "in the second result: mean smoothness" in run("compare", finished, second).out


def test_decide_pools_experts_in_another_way(folder, run):
    text = Path("study.yaml").read_text(encoding="utf-8")
    experts = "  experts: {Ada: {features: {mean area: 20, mean radius: 4}}, Ben: {features: {mean area: 10}}}\n"
    Path("study.yaml").write_text(text.replace("constraints:", f"{experts}constraints:"), encoding="utf-8")
    assert run("select", "study.yaml", "-o", "mean").code == 0
    assert run("decide", "mean", "--pool", "lowest", "-o", "lowest").code == 0
    for name, expected in (("mean", [15, 2.005]), ("lowest", [10, 0.01])):
        weights = read_result(name).selection.weights
        at = [list(read_result(name).selection.feature_names).index(n) for n in ("mean area", "mean radius")]
        assert weights[at].tolist() == pytest.approx(expected)
    assert "prior.pool: None -> lowest" in run("compare", "mean", "lowest").out


@pytest.mark.parametrize("size", [2, 5])
def test_command_line_study_estimator_and_functions_select_the_same(folder, run, size):
    """One default of features per model, one of votes, and limits that hold: the way does not matter."""
    frame = pd.read_csv("cells.csv")
    X, y = frame.drop(columns="diagnosis"), frame["diagnosis"]
    constraint = ubayfs.cannot_link(["worst radius", "worst area"])
    evidence = ubayfs.collect_evidence(X, y, random_state=0)
    expected = ubayfs.decide(evidence, max_size=size, constraints=constraint).features
    fitted = ubayfs.UBayFSSelector(max_features=size, constraints=[constraint], random_state=0).fit(X, y)
    assert tuple(fitted.get_feature_names_out()) == expected
    options = ["--target", "diagnosis", "--max-size", size, "--cannot-link", "worst radius", "worst area"]
    done = run("select", "cells.csv", *options, "--draws", 0, "-o", "by_options")
    assert done.code == 0, done.err
    Path("own.yaml").write_text(
        "data: {path: cells.csv, target: diagnosis}\n"
        f"constraints: [max_size: {size}, cannot_link: [worst radius, worst area]]\noutputs: {{n_draws: 0}}\n"
    )
    assert run("select", "own.yaml", "-o", "by_file").code == 0
    assert read_result("by_options").selection.features == read_result("by_file").selection.features == expected
