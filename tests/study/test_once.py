"""Each thing once: files are opened once, the decision is made once, and nothing heavy is imported for it."""

import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

from ubayfs import Evidence, max_size
from ubayfs.cli.main import main
from ubayfs.decision import workflow
from ubayfs.exceptions import InputError, StudyError
from ubayfs.results import result
from ubayfs.study import load_study, resolve, resolve_study

STUDY = """\
data: {path: cells.csv, target: class}
prior: {table: knowledge.csv}
blocks: {table: knowledge.csv}
constraints: [{max_size: {n: 2, rho: hard}}, {max_per_block: 1}, {require: [a0]}]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, blank_figures):
    rows = "".join(f"{i},{i % 3},{i * i},{'uv'[i % 2]}\n" for i in range(12))
    (tmp_path / "cells.csv").write_text("a0,a1,b,class\n" + rows)
    (tmp_path / "knowledge.csv").write_text("feature,weight,block\na0,likely,a\na1,unlikely,a\n")
    (tmp_path / "study.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def count_decisions(monkeypatch, made):
    """Add each decision that is made, and so checked, to a list."""
    check = workflow.Decision.__post_init__
    monkeypatch.setattr(workflow.Decision, "__post_init__", lambda self: (made.append(self), check(self))[1])


@pytest.fixture
def opened(folder):
    """Count how often each file below the folder is opened, by whatever way; a hook cannot be taken off again."""
    counts, watching = Counter(), [True]

    def hook(event, arguments):
        if event == "open" and watching and isinstance(arguments[0], str | Path):
            file = folder / arguments[0]
            if file.is_relative_to(folder) and file.is_file():
                counts[file.relative_to(folder).as_posix()] += 1

    sys.addaudithook(hook)
    yield counts
    watching.clear()


def test_a_check_opens_each_file_once_and_checks_the_decision_once(folder, monkeypatch, opened):
    made, resolved = [], []
    count_decisions(monkeypatch, made)
    original = resolve._Resolver.resolve
    monkeypatch.setattr(resolve._Resolver, "resolve", lambda self: (resolved.append(self), original(self))[1])
    assert main(["check", "study.yaml"]) == 0
    assert opened == {"study.yaml": 1, "cells.csv": 1, "knowledge.csv": 1}
    assert len(made) == len(resolved) == 1


def test_names_missing_in_a_table_of_weights_and_blocks_are_noted_once(folder):
    with (folder / "knowledge.csv").open("a") as file:
        file.write("zzz,likely,a\n")
    resolved = resolve_study(load_study("study.yaml"))
    evidence = Evidence.from_sets([[1, 0, 1], [1, 1, 0]], resolved.feature_names)
    for advice in (resolved.advice, resolved.decide(evidence).advice):
        assert [note.facts["names"] for note in advice if note.code == "names_skipped"] == [["zzz"]]


@pytest.mark.parametrize(
    ("seed", "level", "size"), [("0", "none", "2"), ("null", "quick", "supported"), ("0", "full", "supported")]
)
def test_every_command_checks_the_decision_once(folder, monkeypatch, seed, level, size):
    monkeypatch.setattr("ubayfs.trust.predictors.N_TREES", 2)
    few = f"evidence: {{n_models: 5}}\noutputs: {{figures: [], n_draws: 3}}\ndecision: {{seed: {seed}}}\n"
    few += f"trust: {{level: {level}, n_shuffles: 200, n_splits: 2, cv: 2, n_repeats: 1}}\n"
    (folder / "study.yaml").write_text(STUDY.replace("n: 2", f"n: {size}") + few)
    made = []
    count_decisions(monkeypatch, made)
    for command in (
        ["select", "study.yaml", "-o", "first"],
        ["decide", "first", "--max-size", "1"],
        ["decide", "first", "--max-size", "1", "-o", "second"],
        ["decide", "first", "--study", "study.yaml"],
        ["trust", "first", "--level", "quick"],
    ):
        made.clear()
        assert main(command) == 0
        assert len(made) == 1, command


def test_only_arguments_that_change_are_checked():
    decision = workflow.Decision(constraints=[max_size(2)], optimizer="genetic")
    stricter = workflow.Decision(constraints=[max_size(2)], optimizer="genetic", min_votes=3)
    assert decision.replace(min_votes=3) == stricter
    for wrong in ({"min_votes": -1}, {"time_limit": 3.0}):
        with pytest.raises(InputError) as caught:
            decision.replace(**wrong)
        assert caught.value.argument in wrong


def test_a_decision_needs_no_table_and_no_heavy_package(folder):
    study = STUDY.replace("prior: {table: knowledge.csv}\n", "").replace("blocks: {table", "blocks: {a: [a0, a1]} #")
    (folder / "study.yaml").write_text(study)
    (folder / "cells.csv").unlink()
    code = (
        "import sys\nfrom ubayfs.study import load_study, resolve_study\nfrom ubayfs import Evidence\n"
        "study = resolve_study(load_study('study.yaml'), data='if needed', feature_names=['a0', 'a1', 'b'])\n"
        "evidence = Evidence.from_sets([[1, 0, 1], [1, 1, 0]], ['a0', 'a1', 'b'])\n"
        "assert study.data is None\nstudy.decide(evidence)\n"
        "heavy = {'pandas', 'sklearn', 'matplotlib', 'ubayfs.tables'} & set(sys.modules)\nassert not heavy, heavy\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("more", ["", ", {decorrelate: 0.5}"])
def test_the_constraints_that_were_checked_are_those_of_the_decision(folder, monkeypatch, more):
    (folder / "study.yaml").write_text(STUDY.replace("{require: [a0]}", "{require: [a0]}" + more))
    resolved = resolve_study(load_study("study.yaml"))
    evidence = resolved.collect()
    expected = resolved.decision.make(evidence, resolved.data)
    monkeypatch.setattr(workflow, "resolve", None)  # called a second time, it fails
    found = resolved.decide(evidence)
    for new, old in ((found, expected), *zip(found.alternatives, expected.alternatives, strict=True)):
        assert (new.features, new.value) == (old.features, old.value)


EVERYWHERE = """\
data: {path: cells.csv, target: class, samples: sheet.csv}
prior:
  table: knowledge.xlsx
  aliases: aliases.csv
  weights: {likely: names.txt, unlikely: sets.gmt}
  experts:
    ann: {likely: names.txt, unlikely: table.txt}
    bob: {table: knowledge.xlsx, sheet: second}
blocks: {gene_sets: ./sets.gmt, aliases: aliases.csv}
constraints: [{max_size: {n: 2, rho: hard}}, {cost_budget: {budget: 9}}]
evidence: {n_models: 5}
outputs: {figures: [], n_draws: 3}
trust: {level: none}
"""


def test_select_opens_each_file_once_however_often_it_is_named(folder, opened):
    pd.read_csv("cells.csv").drop(columns="class").rename_axis("id").to_csv("cells.csv")
    pd.DataFrame({"id": range(12), "class": list("uv") * 6}).to_csv("sheet.csv", index=False)
    with pd.ExcelWriter("knowledge.xlsx") as book:
        pd.DataFrame({"feature": ["a0"], "weight": [3], "cost": [1]}).to_excel(book, sheet_name="first", index=False)
        pd.DataFrame({"feature": ["a1"], "weight": [2]}).to_excel(book, sheet_name="second", index=False)
    (folder / "aliases.csv").write_text("name,alias\nb,B\n")
    (folder / "names.txt").write_text("a0\nB\n")
    (folder / "table.txt").write_text("feature,why\na1,known\n")
    (folder / "sets.gmt").write_text("first\tx\ta0\ta1\n")
    (folder / "study.yaml").write_text(EVERYWHERE)
    opened.clear()
    assert main(["select", "study.yaml", "-o", "first"]) == 0
    inputs = {"study.yaml", "cells.csv", "sheet.csv", "knowledge.xlsx", "aliases.csv", "names.txt", "sets.gmt"}
    assert {name: opened[name] for name in (*inputs, "table.txt")} == dict.fromkeys([*inputs, "table.txt"], 1)


def test_every_command_opens_each_file_of_a_result_once(folder, opened, monkeypatch):
    monkeypatch.setattr("ubayfs.trust.predictors.N_TREES", 2)
    few = "evidence: {n_models: 5}\noutputs: {n_draws: 3}\n"
    few += "trust: {level: full, n_shuffles: 200, n_splits: 2, cv: 2, n_repeats: 1}\n"
    (folder / "study.yaml").write_text(STUDY + few)
    assert main(["select", "study.yaml", "-o", "first"]) == 0
    names = ("manifest.json", "study.yaml", "evidence.npz", "result.json", "summary.json")
    needed = {f"first/{name}" for name in names}
    for command, more in (
        (["decide", "first", "-o", "second"], {"first/trust.npz", "first/figures/evidence.png"}),
        (["decide", "first", "--max-size", "1"], {"first/trust.npz"}),
        (["compare", "first", "second"], set()),
        (["report", "first", "-o", "report.html"], {"first/figures/evidence.png"}),
    ):
        opened.clear()
        assert main(command) == 0
        times = {name: n for name, n in opened.items() if name.startswith("first/") or "/" not in name}
        assert needed | more <= set(times), command
        assert {name: n for name, n in times.items() if n > 1} == {}, command


def count_calls(monkeypatch, place, times):
    """Count how often a function of the package is called."""
    path, _, name = place.rpartition(".")
    module = import_module(path)
    original = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given, **more: (times.update([name]), original(*given, **more))[1])


@pytest.mark.parametrize("level", ["none", "quick"])
def test_select_finds_reasons_and_makes_study_and_report_once(folder, monkeypatch, level):
    few = "evidence: {n_models: 5}\noutputs: {n_draws: 3}\n"
    few += f"trust: {{level: {level}, n_shuffles: 200, n_splits: 2}}\n"
    (folder / "study.yaml").write_text(STUDY + few)
    times = Counter()
    places = ("explain.attribution.attribution", "report.summary.attribution", "report.answer_of")
    for place in (*places, "study.resolve._written_out", "results.result.document"):
        count_calls(monkeypatch, f"ubayfs.{place}", times)
    assert main(["select", "study.yaml", "-o", "first"]) == 0
    assert times == {"attribution": 1, "answer_of": 1, "_written_out": 1, "document": 1}


def test_only_figures_that_were_written_are_looked_for(folder, monkeypatch):
    (folder / "study.yaml").write_text(STUDY + "evidence: {n_models: 5}\noutputs: {n_draws: 3}\ntrust: {level: none}\n")
    assert main(["select", "study.yaml", "-o", "first"]) == 0
    read, names = result.read_bytes, []
    monkeypatch.setattr(result, "read_bytes", lambda path: (names.append(path.name), read(path))[1])
    assert main(["decide", "first", "-o", "second"]) == 0
    assert "evidence.png" in names
    assert [name for name in names if not (folder / "first" / "figures" / name).is_file()] == []


@pytest.mark.parametrize("place", ["prior: {table: none.csv}\nblocks: {table: none.csv}", "prior: {aliases: none.csv}\n"
                                   "blocks: {gene_sets: sets.gmt, aliases: none.csv}"])  # fmt: skip
def test_a_file_that_cannot_be_read_is_reported_wherever_it_is_named(folder, place):
    (folder / "sets.gmt").write_text("first\tx\ta0\ta1\n")
    (folder / "study.yaml").write_text(f"data: {{path: cells.csv, target: class}}\n{place}\n")
    with pytest.raises(StudyError) as caught:
        resolve_study(load_study("study.yaml"))
    assert [problem.line for problem in caught.value.problems] == [2, 3]
