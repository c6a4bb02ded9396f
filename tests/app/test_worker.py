"""The worker: what it answers is what the library says; whatever kills it, nothing is lost."""

import asyncio
import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from app_studies import NAMES, answered, make, small_study, until
from ubayfs import decorrelate, max_size
from ubayfs.app.export import save_version
from ubayfs.app.intake import inspected
from ubayfs.app.requests import REQUESTS
from ubayfs.app.staged_answer import SetStage, StagedAnswer, StageError
from ubayfs.app.stages import Stages
from ubayfs.app.study_facts import DataFacts, EnsembleProgress, Estimate, ListedKnowledge, ReadFacts
from ubayfs.app.study_process import _Loop
from ubayfs.app.view.answer_parts import plots
from ubayfs.app.workbench import Workbench
from ubayfs.app.worker import Worker
from ubayfs.cli.main import main
from ubayfs.exceptions import NotAnsweredError, UBayFSError
from ubayfs.plotting import Display
from ubayfs.report.facts import ValidationFacts
from ubayfs.report.feature_sentences import effect
from ubayfs.results import StoredResult
from ubayfs.study import load_study, resolve_study

SECONDS = 120  # that a worker may take for an answer; only ends a test that would hang
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has the second, which works as the first


def decided(study):
    """Return what the library decides, from data and ensemble to set."""
    data = study.read_data()
    return study.decide(study.collect(data), data)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A study with a worker and evidence, which all tests share."""
    bench = make(tmp_path_factory.mktemp("worker"), Worker)
    bench.collect()
    yield bench
    bench.close()


@pytest.fixture
def bench(opened):
    """The study as each test finds it: with its first state, and a complete answer to that."""
    while opened.undo_label():
        opened.undo()
    until(opened, answered(opened, "trust"))  # the last stage
    return opened


def wrong(bench):
    return lambda: bench.problems and bench.problems[0].revision == bench.revision


def test_a_rule_on_a_feature_that_is_gone_is_named_and_kept(bench):
    bench.add_rule({"require": ["gene5"]})
    until(bench, answered(bench))
    bench.set("data", ignore=["gene5"])
    until(bench, wrong(bench))
    assert [(problem.path[0], problem.rules) for problem in bench.problems] == [("constraints", (1,))]
    assert "gene5" in bench.problems[0].message
    assert len(bench.state.rules) == 2
    bench.undo()
    until(bench, answered(bench))
    assert "gene5" in bench.answer.set.features


def test_facts_of_the_data(bench):
    assert bench.facts.feature_names == NAMES
    assert (bench.facts.n_samples, bench.facts.n_features, bench.facts.task) == (60, 12, "binary")
    assert sum(n for _, n in bench.facts.classes) == 60
    assert bench.table.preview.columns[:2] == ("class", "gene0")
    assert bench.evidence.is_complete
    assert bench.evidence.n_stored == 30


def test_the_answer_is_that_of_the_library(bench):
    expected = decided(bench.state.study)
    found = bench.answer.set
    assert found.features == expected.features
    assert found.value == expected.value
    assert found.proved
    assert np.array_equal(bench.votes, expected.counts)
    assert {member.feature for member in bench.answer.members} == set(expected.features)
    assert all(member.reasons and member.replaceable is not None for member in bench.answer.members)
    assert [other.features for other in bench.answer.alternatives.alternatives] == [
        other.features for other in expected.alternatives
    ]


def test_features_are_told_anew_only_if_files_or_blocks_say_something_else_of_them(bench):
    told = []
    end = bench.subscribe(told.append)
    bench.set_weight(["gene9"], "likely")
    until(bench, answered(bench))
    assert "facts" not in told
    bench.set_blocks({"first": ["gene0", "gene1"]})
    bench.set_weight(["gene9"], "unlikely")  # maybe before the blocks are known
    until(bench, answered(bench))
    assert bench.facts.blocks == {"first": ["gene0", "gene1"]}
    assert "facts" in told
    end()


def test_data_that_are_removed_leave_nothing_behind(bench):
    names = bench.facts.feature_names
    bench.set("data", path="")
    until(bench, lambda: bench.status == "no data" and bench.facts is None)
    assert not bench.table
    assert bench.evidence == EnsembleProgress()
    assert bench.votes is None
    bench.undo()
    until(bench, answered(bench, "trust"))
    assert bench.facts.feature_names == names


def test_each_edit_answers_with_what_it_changed(bench):
    before = bench.answer.set.features
    bench.set_weight(["gene9"], "very likely", "known")
    bench.set_size(2)
    until(bench, answered(bench, "reasons"))
    found = bench.answer.set
    assert found.features == decided(bench.state.study).features
    assert set(found.features) == set(before) - set(found.removed) | set(found.added)
    assert found.because == ("gene9: very likely", "At most 2 features")
    bench.undo()
    bench.undo()
    until(bench, answered(bench))
    assert bench.answer.set.features == before


def test_constraints_on_correlations_and_words_are_decided_as_in_the_library(bench):
    bench.add_rule(decorrelate(0.05))
    for features, word in ((["gene4"], "likely"), (["gene5"], "unlikely"), (["gene4"], None), (["gene0"], 3.5)):
        bench.set_weight(features, word)
        until(bench, answered(bench))
        assert bench.answer.set.features == decided(bench.state.study).features


def test_scores_of_sizes_are_looked_for_again_only_if_they_change(bench):
    def points():
        return bench.request("sizes", sizes=[1, 2, 3, 4]).result(SECONDS)

    before = points()
    assert [point.votes for point in before] == sorted(point.votes for point in before)
    bench.set_size(2)
    until(bench, answered(bench))
    assert points() == before
    bench.set_weight(["gene9"], "very likely")
    until(bench, answered(bench))
    assert points()[0].votes != before[0].votes


def test_a_version_knows_what_its_set_costs_and_how_far_it_can_be_trusted(bench):
    bench.add_rule({"cost_budget": {"costs": {"gene0": 2.5, "gene1*": 1.0, "*": 0.5}, "budget": 100}})
    until(bench, answered(bench, "reasons"))
    best = bench.answer.set
    prices = {"gene0": 2.5, "gene1": 1.0, "gene10": 1.0, "gene11": 1.0}
    assert best.cost == pytest.approx(sum(prices.get(name, 0.5) for name in best.features))
    saved = bench.save_version("Costly").result(SECONDS)
    assert saved.cost == best.cost
    assert {fact.fact for fact in saved.facts} == {"validation", "related", "reproducibility"}
    bench.remove_rule(1)
    until(bench, answered(bench))
    assert bench.answer.set.cost is None


def test_conditions_are_counted_with_the_data(bench):
    bench.add_rule({"must_link": ["gene1", "gene2"]})
    bench.add_rule({"exclude": ["gene7"]})
    bench.change_rule(0, on=False)
    until(bench, lambda: bench.n_conditions == (2, 1))


def test_contradictions_name_the_rules(bench):
    bench.add_rule(decorrelate(0.9))
    bench.change_rule(1, on=False)
    bench.add_rule({"require": ["gene1", "gene2", "gene3", "gene4"]})
    until(bench, wrong(bench))
    assert bench.problems[0].rules == (0, 2)
    assert bench.answer.set is None
    bench.remove_rule(2)
    until(bench, answered(bench))
    until(bench, lambda: not bench.problems)


def test_a_rule_on_a_feature_that_does_not_exist_is_a_problem_of_that_rule(bench):
    bench.change_rule(0, on=False)
    bench.add_rule({"must_link": ["gene1", "gene77"]})
    until(bench, wrong(bench))
    assert bench.problems[0].rules == (1,)
    assert "gene77" in bench.problems[0].message


def test_requests(bench):
    ask = lambda kind, **payload: bench.request(kind, **payload).result(SECONDS)  # noqa: E731
    sizes = ask("sizes", sizes=[1, 2, 3])
    assert [point.size for point in sizes] == [1, 2, 3]
    assert sizes[-1].votes == pytest.approx(sum(each.count + each.weight for each in bench.answer.set.chosen))
    assert ask("estimate") == Estimate(0.0, 0)
    assert b"<svg" in ask("figure", name="evidence")
    with pytest.raises(UBayFSError):
        ask("nonsense")


def test_sizes_have_the_cost_of_their_best_sets_where_there_is_a_budget(bench):
    assert [point.cost for point in bench.request("sizes", sizes=[1, 2]).result(SECONDS)] == [None, None]
    bench.add_rule({"cost_budget": {"costs": dict.fromkeys(NAMES, 2.5), "budget": 100.0}})
    until(bench, answered(bench))
    shown = bench.request("sizes", sizes=[1, 2]).result(SECONDS)
    assert [point.cost for point in shown] == [2.5, 5.0]


def test_plots_come_with_the_answer_and_are_those_of_its_report(bench):
    """What the page Answer draws: effects, plots, a heat map, and held-out predictions once these are asked for."""
    stage, (version, page) = bench.answer.plots, saved_page(bench)
    summary = version.summary
    assert [member.feature for member in stage.chosen] == list(bench.answer.reasons.names)
    assert stage.plots == summary.plots
    assert [effect(member) for member in stage.chosen] == [effect(member) for member in summary.chosen]
    assert all(effect(member).startswith("higher in ill (d ") for member in stage.chosen)
    assert stage.heat == summary.profile.among(summary.names)
    shown = plots(stage, None, "class")
    assert shown.count('<svg class="plot"') == len(stage.plots) == page.count('<svg class="plot"')
    assert "Heat map" in shown
    assert "ROC" not in shown
    bench.request("trust", level="full").result(SECONDS)  # while the level quick waits for a pause, or is known
    until(bench, lambda: isinstance(bench.answer.latest.trust.validation, ValidationFacts))
    validation = bench.answer.latest.trust.validation
    assert (validation.plot.kind, len(validation.plot.series[0].x)) == ("roc", 101)
    shown = plots(stage, validation, "class")
    assert "ROC curve of held-out samples" in shown
    assert f"AUC {validation.mean:.2f} (" in shown


def saved_page(bench):
    """Return a version of the present answer, and its report."""
    number = bench.save_version("").result(SECONDS).number
    place = bench.directory / "versions" / str(number)
    return StoredResult(place), (place / "report.html").read_text(encoding="utf-8")


def test_versions_are_results_of_the_command_line(bench, capsys):
    first = bench.save_version("First").result(SECONDS)
    assert first.features == bench.answer.set.features
    stored = StoredResult(bench.directory / "versions" / str(first.number))
    assert stored.selection.features == first.features
    assert main(["decide", str(stored.directory), "--max-size", "1"]) == 0
    assert "1 of 12 features" in capsys.readouterr().out
    state = bench.state
    bench.set_size(1)
    until(bench, answered(bench))
    second = bench.save_version("").result(SECONDS)
    numbers = first.number, second.number
    assert [version.name for version in bench.versions[-2:]] == ["First", f"Version {numbers[1]}"]
    for pair in (numbers, (numbers[0], None)):
        found = bench.compare(*pair).result(SECONDS)
        changes = {entry.feature: entry.change for entry in found.features}
        assert {name for name, change in changes.items() if change == "removed"} == set(first.features) - set(
            second.features
        )
        assert all(entry.causes == ("constraints",) for entry in found.features if entry.change != "unchanged")
    bench.back_to(numbers[0])
    assert bench.state == state


def test_only_figures_that_changed_are_drawn_for_another_version(tmp_path, monkeypatch):
    drawn = []

    def plot(display):
        drawn.append(display.name)
        return SimpleNamespace(render=lambda format: repr(display).encode(), missing_letters="")

    monkeypatch.setattr(Display, "plot", plot)
    monkeypatch.setattr("ubayfs.app.export._SECONDS_OF_DRAWS", math.inf)
    bench = make(tmp_path)
    bench.close()
    stages = Stages(bench.directory)
    stages.set_state(bench.state)
    stages.keep(stages.collect(lambda done, total: True))

    def figures_at(size):
        stages.set_state(bench.state.with_size(size))
        stages.set()
        number = save_version(stages, "").number
        places = (bench.directory / "versions" / str(number) / "figures").iterdir()
        return {place.stem: place.read_bytes() for place in places}

    first = figures_at(3)
    assert sorted(drawn) == sorted(first)
    drawn.clear()
    assert figures_at(3) == first
    assert drawn == []
    other = figures_at(1)
    assert sorted(drawn) == sorted(name for name, content in other.items() if content != first.get(name))
    assert drawn


def test_requests_that_come_too_early_say_so(tmp_path):
    with pytest.raises(UBayFSError, match="no answer yet"):
        REQUESTS["compare"](Stages(tmp_path), None, None)
    with pytest.raises(UBayFSError, match="not read yet"):
        REQUESTS["estimate"](Stages(tmp_path))


def test_exports(bench, tmp_path, blank_figures):
    bench.save_version("For export").result(SECONDS)
    number = bench.versions[-1].number
    features = bench.versions[-1].features
    for version in (None, number):
        paths = {
            kind: bench.export(kind, version).result(SECONDS) for kind in ("study", "report", "excel", "zip-with-data")
        }
        assert load_study(paths["study"]).constraints == bench.state.study.constraints
        assert paths["report"].read_text().startswith("<!DOCTYPE html>")
        pd = pytest.importorskip("pandas")
        chosen = pd.read_excel(paths["excel"], sheet_name="selected features")
        assert set(chosen["Feature"]) == set(features)
        everything = pd.read_excel(paths["excel"], sheet_name="all features").set_index("feature")
        assert everything.loc[NAMES, "votes"].tolist() == bench.votes.tolist()
        unpacked = tmp_path / f"unpacked {version}"
        zipfile.ZipFile(paths["zip-with-data"]).extractall(unpacked)
        (folder,) = unpacked.iterdir()
        main(["decide", str(folder), "--max-size", "1", "-o", str(unpacked / "one")])
        assert StoredResult(unpacked / "one").selection.mask.sum() == 1
        done = subprocess.run([sys.executable, folder / "repeat.py"], capture_output=True, text=True, check=True)
        assert done.stdout.split() == list(features)
        title = StoredResult(folder).summary.title
        assert title == (bench.state.name if version is None else f"{bench.state.name}, version {version} (For export)")
        assert load_study(paths["study"]).outputs.directory == "results"
        assert {path.name.partition("-")[0] for path in paths.values()} == {bench.state.name.lower()}
    with zipfile.ZipFile(bench.export("zip", number).result(SECONDS)) as archive:
        data = [name.rpartition("/")[2] for name in archive.namelist() if "/data/" in name]
    assert data == ["README.txt"]
    with pytest.raises(UBayFSError):
        bench.export("everything").result(SECONDS)
    with pytest.raises(UBayFSError):
        bench.export("report", 99).result(SECONDS)


# -- ensembles that are stopped or killed ------------------------------------------------------------------------------


def n_stored(bench):
    return bench.evidence.n_stored


@pytest.mark.parametrize("end", ["stop", "kill worker", "close"])
def test_finished_runs_survive_and_the_rest_is_done_later(tmp_path, end):
    bench = make(tmp_path, Worker, selector="rfe", n_models=100_000)  # far more than there is time for
    done, told = [], []

    def follow(event):
        done.extend([bench.progress.done] if event == "progress" and bench.progress else [])
        told.extend(problem.message for problem in bench.problems)

    bench.subscribe(follow)
    bench.collect()
    until(bench, lambda: any(done))
    if end == "stop":
        bench.stop()
        until(bench, answered(bench))  # what is done is used
    elif end == "kill worker":
        os.kill(bench._worker.pid, KILL)
        until(bench, lambda: any("nothing was lost" in message for message in told))
    else:
        bench.close()
        bench = Workbench(bench.directory)
        bench.subscribe(follow)
    until(bench, lambda: n_stored(bench) > 0)
    n_before, wanted = n_stored(bench), n_stored(bench) + 20
    done.clear()
    bench.set("evidence", n_models=wanted)
    bench.collect()
    until(bench, lambda: bench.evidence.n_models == wanted and answered(bench)())
    assert done[0] >= n_before
    assert np.array_equal(bench.votes, decided(bench.state.study).counts)
    bench.close()


def is_running(process):
    """Tell whether a process is there; one that has ended and of which nobody took notice has no command."""
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except OSError:
        return False


SERVER = """
import sys
from ubayfs.app.workbench import Workbench
if __name__ == "__main__":
    bench = Workbench(sys.argv[1])
    bench.subscribe(lambda event: print(event, bench._worker.pid if bench._worker else 0, flush=True))
    bench.collect()
    input()
"""


def test_a_server_that_is_killed_ends_its_worker_and_keeps_the_runs(tmp_path):
    bench = make(tmp_path, selector="rfe", n_models=2000)
    bench.close()
    (tmp_path / "server.py").write_text(SERVER)
    command = [sys.executable, str(tmp_path / "server.py"), str(bench.directory)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for line in server.stdout:
        kind, worker = line.split()
        if kind == "votes" and list((bench.directory / "runs").glob("*/runs-*.log")):
            break
    server.kill()
    server.communicate()
    again = Workbench(bench.directory, None)
    until(again, lambda: not is_running(worker))
    again.close()
    bench = Workbench(bench.directory)
    until(bench, lambda: bench.evidence.n_stored > 0)
    bench.close()


def test_undoing_other_settings_of_the_ensemble_finds_its_runs_again(tmp_path):
    bench = make(tmp_path, Worker)
    bench.collect()
    until(bench, answered(bench))
    before = bench.answer.set.features
    bench.set("evidence", selector="fisher")
    until(bench, lambda: not bench.evidence.is_current)
    assert bench.answer.set is None  # no set that does not belong to the study
    bench.undo()
    until(bench, answered(bench))
    assert bench.answer.set.features == before
    bench.close()


def test_data_that_cannot_be_read_are_a_problem_and_can_be_corrected(tmp_path):
    bench = make(tmp_path, Worker)
    until(bench, lambda: bench.facts is not None)
    bench.set("data", target="clas")
    until(bench, wrong(bench))
    assert bench.problems[0].path[:2] == ("data", "target")
    assert "class" in bench.table.columns
    bench.set("data", target="class")
    until(bench, lambda: bench.facts is not None and not bench.problems)
    bench.set("data", path="nowhere.csv")
    until(bench, wrong(bench))
    assert bench.facts is None
    bench.close()


def test_words_of_files_and_blocks_are_known_with_the_data_whatever_else_is_wrong(tmp_path):
    bench = make(tmp_path)
    (bench.directory / "known.csv").write_text("feature,weight,why\ngene4,likely,a paper\n")
    (bench.directory / "ann.csv").write_text("feature,weight\ngene5,7\n")
    bench.set("prior", table="known.csv", experts={"Ann": "ann.csv"})
    bench.set_blocks({"first": ["gene0", "gene1"]})
    bench.add_rule({"require": ["gene1", "gene2", "gene3", "gene4"]})  # contradicts the size
    bench.close()
    found = []

    def look(opened):
        if opened.facts:
            found.append((opened.words(), opened.words("Ann"), opened.facts.blocks))

    for _ in range(2):  # also after an end of the program
        again = Workbench(bench.directory)
        again.subscribe(lambda event, again=again: look(again))
        until(again, wrong(again))
        assert again.problems[0].rules == (0, 1)
        again.close()
    stated = {"gene4": ("likely", "a paper")}, {"gene5": (7.0, "")}, {"first": ["gene0", "gene1"]}
    assert found
    assert all(each == stated for each in found)  # at no moment less


def test_a_version_has_the_set_of_its_state_whatever_is_edited_meanwhile(bench):
    saved = bench.save_version("before")
    for size in (2, 4):
        bench.set_size(size)
        until(bench, answered(bench))
    version = saved.result(SECONDS)
    place = bench.directory / "versions" / str(version.number)
    (rule,) = json.loads((place / "version.json").read_text())["state"]["rules"]
    assert len(version.features) == rule["constraint"]["max_size"]["n"]
    assert StoredResult(place).selection.features == version.features


def test_a_worker_that_is_killed_is_started_again_and_nothing_is_lost(bench):
    before, process = bench.answer.set.features, bench._worker.pid
    waiting = bench.request("sizes")
    os.kill(process, KILL)
    until(bench, lambda: getattr(bench._worker, "pid", process) != process)
    if not waiting.done() or waiting.exception() is not None:
        with pytest.raises(UBayFSError):
            waiting.result(SECONDS)
    bench.set_weight(["gene3"], "likely")
    bench.undo()
    until(bench, answered(bench))
    assert bench.answer.set.features == before
    assert bench.evidence.is_complete


def test_a_resting_study_answers_the_next_edit(bench):
    bench.stop_worker()
    assert bench.is_stopped
    bench.set_size(1)
    until(bench, answered(bench))
    assert len(bench.answer.set.features) == 1


def test_decisions_do_not_wait_for_files(tmp_path, monkeypatch):
    bench, going = make(tmp_path), threading.Event()
    monkeypatch.setitem(REQUESTS, "version", lambda stages, name: going.wait())
    here, there = multiprocessing.Pipe()
    loop = _Loop(there, bench.directory)
    for part in (loop.read, loop.decide_forever):
        threading.Thread(target=part, daemon=True).start()
    here.send(("request", 7, "version", {"name": ""}))
    here.send(("state", 5, bench.state))
    received = []
    while received[-1:] != [("status", "ready")]:
        received.append(here.recv())
    assert ("problems", 5, []) in received
    assert all(message[0] != "reply" for message in received)
    going.set()
    assert here.recv() == ("reply", 7, True, True)
    bench.close()
    PIPES.extend([here, there])  # a process of its own would end with them


def test_an_ensemble_is_that_of_the_last_edit_however_long_it_takes_to_be_read(tmp_path, monkeypatch):
    bench, (here, there) = make(tmp_path), multiprocessing.Pipe()
    loop = _Loop(there, bench.directory)
    for part in (loop.read, loop.run_ensembles, loop.decide_forever):
        threading.Thread(target=part, daemon=True).start()
    here.send(("state", 1, bench.state))
    while here.recv() != ("status", "ready"):
        pass
    set_state = loop._stages.set_state
    monkeypatch.setattr(loop._stages, "set_state", lambda state: time.sleep(0.3) or set_state(state))
    bench.set("evidence", n_models=7)
    here.send(("state", 2, bench.state))
    here.send(("collect",))
    while here.recv() != ("progress", None):
        pass
    assert loop._stages.evidence.n_models == 7
    bench.close()
    PIPES.extend([here, there])


PIPES = []


# -- without a process -------------------------------------------------------------------------------------------------


class Silent:
    """A worker that only records what it is sent."""

    def __init__(self, directory, receive):
        self.receive, self.sent = receive, []

    def send(self, kind, *content):
        self.sent.append((kind, *content))

    def close(self):
        self.sent.append(("closed",))


def a_set(*features, **changes):
    return SetStage(1.0, 0.0, True, features, (), (), 0.1, **changes)


def test_an_answer_to_an_older_state_is_not_shown(tmp_path):
    bench = make(tmp_path, Silent)
    worker = bench._worker
    worker.receive("answer", (0, "set", a_set("gene1")))
    bench.set_size(2)
    worker.receive("answer", (0, "reasons", "old"))
    worker.receive("problems", (0, [{"path": [], "message": "old", "rules": []}]))
    assert bench.answer.reasons is None
    assert bench.problems == []
    worker.receive("answer", (1, "set", a_set("gene2")))
    because = ("At most 2 features",)
    assert bench.answer == StagedAnswer(1, a_set("gene2", added=("gene2",), removed=("gene1",), because=because))
    bench.close()


def test_an_answer_that_a_page_holds_stays_whole(tmp_path):
    bench = make(tmp_path, Silent)
    bench._worker.receive("answer", (0, "set", a_set("gene1")))
    held = bench.answer
    bench._worker.receive("answer", (0, "reasons", "why"))
    bench._worker.receive("answer", (0, "left_out", StageError("not today")))
    assert (bench.answer.set, bench.answer.reasons, bench.answer.errors) == (held.set, "why", {"left_out": "not today"})
    bench._worker.receive("answer", (0, "set", a_set("gene2")))
    assert (held.set.features, held.reasons) == (("gene1",), None)
    assert (bench.answer.set.features, bench.answer.reasons, bench.answer.errors) == (("gene2",), None, {})
    bench.close()


def test_a_worker_that_dies_again_and_again_is_left_alone_until_the_next_edit(tmp_path):
    started = []

    def launch(directory, receive):
        started.append(Silent(directory, receive))
        return started[-1]

    bench = make(tmp_path, launch)
    waiting = bench.request("sizes")
    while len(started) < 10 and bench._worker is not None:
        started[-1].receive("ended", (-9,))
    assert len(started) == 4
    assert bench.status == "failed"
    assert "code -9" in bench.problems[0].message
    with pytest.raises(UBayFSError):
        waiting.result(0)
    bench.set_size(2)
    assert started[-1].sent == [("state", bench.revision, bench.state)]
    bench.close()


def test_what_is_asked_while_a_worker_ends_is_for_the_next_one(tmp_path):
    class Slow(Silent):
        def close(self):
            if not asked:
                asked.append(bench.request("inspect", paths=["a.csv"], samples=None))

    asked = []
    bench = make(tmp_path, Slow)
    before = bench.request("sizes")
    bench.stop_worker()
    assert isinstance(before.exception(0), NotAnsweredError)
    assert not asked[0].done()
    (number,) = [message[1] for message in bench._worker.sent if message[0] == "request"]
    bench._worker.receive("reply", (number, True, {"columns": []}))
    assert asked[0].result(0) == {"columns": []}
    bench.close()


def test_an_inspection_that_is_given_up_is_asked_again_once(tmp_path):
    started = []

    def launch(directory, receive):
        started.append(Silent(directory, receive))
        return started[-1]

    async def ask(*answers):
        asking = asyncio.create_task(inspected(bench, ["a.csv"], None))
        for answer in answers:
            await asyncio.sleep(0)
            number = next(message[1] for message in reversed(started[-1].sent) if message[0] == "request")
            started[-1].receive(*answer(number))
            await asyncio.sleep(0)
        return await asking

    def ended(number):
        return "ended", (-9,)

    bench = make(tmp_path, launch)
    assert asyncio.run(ask(ended, lambda number: ("reply", (number, True, {"columns": ["age"]})))) == {
        "columns": ["age"]
    }
    with pytest.raises(NotAnsweredError):
        asyncio.run(ask(ended, ended))
    with pytest.raises(UBayFSError, match="no table") as wrong:
        asyncio.run(ask(lambda number: ("reply", (number, False, "no table"))))
    assert not isinstance(wrong.value, NotAnsweredError)
    bench.close()


class Recorder:
    """A pipe that records what is sent, and does something before that is sent."""

    def __init__(self):
        self.sent, self.before = [], lambda message: None

    def send(self, message):
        self.before(message)
        self.sent.append(message)


def test_an_ensemble_that_fails_in_the_moment_of_an_edit_is_not_running_any_more(tmp_path):
    bench, pipe = make(tmp_path), Recorder()
    loop = _Loop(pipe, bench.directory)

    def fail(message):
        if message == ("status", "collecting") and loop._working:
            loop._working = ""  # as the other thread does
            pipe.send(("status", "ready"))

    loop._working, pipe.before = "collect", fail
    loop._enter(1, bench.state)
    assert pipe.sent[-1] == ("status", "ready")
    loop._working = "collect"
    bench.set("data", path="", samples=None)
    loop._enter(2, bench.state)
    loop._working = ""
    loop._tell_status()
    assert pipe.sent[-1] == ("status", "no data")
    bench.close()


def test_the_end_of_an_ensemble_ends_a_stage_that_takes_long(tmp_path, monkeypatch):
    bench, pipe, interrupted = make(tmp_path), Recorder(), threading.Event()
    loop = _Loop(pipe, bench.directory)
    loop._enter(1, bench.state)
    monkeypatch.setattr("ubayfs.app.study_process._thread.interrupt_main", interrupted.set)
    loop._interruptible, loop._job = True, ("collect",)  # the main thread is in a stage
    threading.Thread(target=loop.run_ensembles, daemon=True).start()
    assert interrupted.wait(SECONDS)
    assert loop._state == (1, bench.state)
    assert loop._stages.evidence.n_models == bench.state.study.evidence.n_models
    bench.close()


def test_listeners_may_end_while_they_are_notified(tmp_path):
    bench = make(tmp_path, Silent)
    told = []
    end = bench.subscribe(lambda event: (told.append(event), end()))
    bench.set_size(2)
    bench.set_size(1)
    assert len(told) == 1
    bench.close()


def test_messages_while_a_study_closes_are_dropped(tmp_path):
    bench = make(tmp_path, Silent)
    worker = bench._worker
    bench.close()
    worker.receive("facts", (ReadFacts(data=DataFacts(NAMES, 60, "binary")), ListedKnowledge()))
    assert bench.facts is None
    assert threading.active_count() >= 1


def test_the_small_study_is_one_that_the_library_resolves(tmp_path):
    resolved = resolve_study(small_study(tmp_path))
    assert resolved.study.constraints == (max_size(3),)
