"""The pieces of the benchmark on tiny settings: what they compute and say, never how long they take."""

import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from benchmarks import __main__ as program
from benchmarks import (
    browser,
    child,
    covariates,
    data,
    decision,
    equivalence,
    evidence,
    faces,
    golden,
    hard,
    hard_problems,
    problems,
    recorded_decisions,
    results,
    scaling,
    timing,
    tools,
    trust,
    validation,
)
from benchmarks.report import QUANTITIES, WIDTH, Row, Section, table

import ubayfs
from ubayfs import cannot_link, max_size
from ubayfs.constraints import resolve


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("UBAYFS_DATA", str(tmp_path))


@pytest.fixture
def files(tmp_path):
    return data.synthetic(n_samples=40, n_features=30, path=tmp_path)


def test_exponent_of_a_power_law():
    sizes = np.array([10.0, 100.0, 1_000.0])
    assert timing.exponent(sizes, 3 * sizes**1.5) == pytest.approx(1.5)


def test_exponent_ignores_what_could_not_be_measured():
    assert timing.exponent([10, 100, 1_000], [20, math.nan, 2_000]) == pytest.approx(1.0)
    assert math.isnan(timing.exponent([10, 100], [20, math.nan]))


def test_comparison_takes_turns_and_the_median_of_ratios():
    clock = {"work": iter([1.0, 4.0, 9.0]), "reference": iter([1.0, 2.0, 3.0])}
    order = []

    def scripted(name):
        order.append(name)
        return next(clock[name])

    found = timing.compare("work", "reference", rounds=(3, 3), clock=scripted)
    assert order == ["reference", "work"] * 3
    assert found == timing.Comparison(seconds=4.0, reference=2.0, ratio=2.0, rounds=3)


@pytest.mark.parametrize(("patience", "rounds"), [(0.0, 2), (7.0, 4), (100.0, 5)])
def test_comparison_stops_when_patience_is_over(patience, rounds):
    # Each round takes 2 of the clock's seconds; a round begins only while less than the patience is spent.
    found = timing.compare("work", "reference", rounds=(2, 5), patience=patience, clock=lambda _: 1.0)
    assert found.rounds == rounds


_MEASURED = """
import json, sys
import numpy as np
from benchmarks import child, tools
size = 64 * 2**20
tools.evidence = lambda: lambda X, y: int(np.ones(size, dtype=np.uint8).sum())
before = np.ones(3 * size, dtype=np.uint8)
del before  # an earlier peak does not count
print(json.dumps(child.run({"maker": "evidence", "arguments": {}, "warm_up": False, **json.loads(sys.argv[1])})))
"""


def test_memory_of_a_call_on_top_of_what_was_there(files):
    """In a process of its own, as it is measured: worker processes of other tests that end meanwhile would count."""
    if math.isnan(child.memory_in_use("VmRSS")):
        pytest.skip("this system has no /proc")
    command = [sys.executable, "-c", _MEASURED, json.dumps(files)]
    done = subprocess.run(command, cwd=timing.REPOSITORY, capture_output=True, text=True, check=True)
    outcome, size = json.loads(done.stdout), 64 * 2**20
    assert outcome["answer"] == size
    assert 0.9 * size < outcome["memory"] < 2 * size  # the kernel counts pages in batches


def test_fresh_process_gives_the_same_answer(files):
    arguments = {"selector": "fisher", "n_features": 5, "n_models": 10}
    outcome = timing.in_fresh_process({"maker": "evidence", "arguments": arguments, **files})
    assert outcome.error == ""
    assert outcome.answer == tools.evidence(**arguments)(np.load(files["X"]), np.load(files["y"]))
    assert outcome.seconds > 0


def test_fresh_process_reports_an_error(files):
    request = {"maker": "evidence", "arguments": {"selector": "fischer", "n_features": 5}, **files}
    assert timing.in_fresh_process(request).error.startswith("InputError: selector")


def test_fresh_process_ends_at_its_cap(files):
    arguments = {"selector": "fisher", "n_features": 5, "n_models": 100_000}
    request = {"maker": "evidence", "arguments": arguments, "warm_up": False, **files}
    assert timing.in_fresh_process(request, cap=0.001) == timing.Outcome(
        seconds=pytest.approx(math.nan, nan_ok=True), memory=pytest.approx(math.nan, nan_ok=True), timed_out=True
    )


@pytest.mark.parametrize("maker", ["forest", "recursive_elimination", "sequential_selection"])
def test_tools_choose_as_many_as_asked_for(rng, maker, monkeypatch):
    monkeypatch.setattr(tools, "N_JOBS", 1)  # processes take seconds to begin
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 2
    assert getattr(tools, maker)(n_features=2)(X, y) == 2


def test_ubayfs_is_what_other_tools_are_compared_to(rng):
    first = tools.tools()[0]
    work = getattr(tools, first.maker)(**first.arguments, n_features=2)
    assert first.label.startswith("ubayfs")
    assert work(rng.normal(size=(40, 6)), np.arange(40) % 2) == 2


def test_a_row_is_over_when_a_limit_is_passed_or_nothing_was_measured():
    limits = {"seconds": 1.0, "gap": 1e-9}
    assert Row("d", "w", {"seconds": 1.0, "gap": 0.0}, limits).holds is True
    assert Row("d", "w", {"seconds": 1.0, "gap": 1e-3}, limits).holds is False
    assert Row("d", "w", {"seconds": 1.0, "gap": math.nan}, limits).holds is False
    assert Row("d", "w", {"seconds": 1.0}, limits).holds is False
    assert Row("d", "w", {"seconds": 1.0}).holds is None


def test_table_as_it_is_written():
    rows = [
        Row("PRO", "fisher", {"seconds": 0.0123, "ratio": 0.4}, {"ratio": 0.5}, "forest"),
        Row("PRO", "rfe", {"seconds": 12.34, "ratio": 61.0}, {"ratio": 60.0}),
    ]
    assert table(rows).splitlines() == [
        "| data | what   |    time | times | limit |      | note   |",
        "| ---- | ------ | ------: | ----: | ----: | ---- | ------ |",
        "| PRO  | fisher | 12.3 ms |  0.40 |  0.50 | ok   | forest |",
        "| PRO  | rfe    |  12.3 s |    61 |    60 | OVER |        |",
    ]


def test_notes_that_do_not_fit_stand_below_the_table():
    error = "ImportError: cannot import name 'a|b'\nfrom 'c' " + "because of this " * 20
    lines = table(
        [Row("PRO", "Boruta", note=error), Row("PRO", "other", {"seconds": 1.0}, note="20 chosen")]
    ).splitlines()
    assert lines[2] == "| PRO  | Boruta |      | (1)       |"
    assert lines[5].startswith("(1) ImportError: cannot import name 'a/b' from 'c' because of this")
    assert max(map(len, lines)) <= WIDTH


def test_every_quantity_can_be_written():
    row = Row("d", "w", dict.fromkeys(QUANTITIES, 0.5), {"seconds": 60.0, "r_hat": 1.05})
    cells = row.cells()
    assert cells["limit"] == "60 s, R-hat 1.05"
    assert all(cells[heading] for heading, _ in QUANTITIES.values())


@pytest.fixture
def saved(tmp_path):
    rows = [
        Row("PRO", "fisher", {"seconds": 0.1, "memory": math.nan}, {"seconds": 1.0}),
        Row("BCW", "fisher", {"seconds": 0.1}, headline=False),
    ]
    about = results.environment("make bench")
    results.save(about, [Section("Evidence", "Read me.", rows), Section("Small", "", rows[1:])], tmp_path)
    return tmp_path / "latest.json", about, rows


def test_results_are_read_back(saved):
    path, about, rows = saved
    read_about, sections = results.read(path)
    assert read_about == about
    assert sections[0].rows == [Row("PRO", "fisher", {"seconds": 0.1}, {"seconds": 1.0}), rows[1]]
    assert "NaN" not in path.read_text()
    assert "1 of 1 limits are kept." in path.with_suffix(".md").read_text()


def test_results_tell_versions_and_nothing_private(saved):
    path, about, _ = saved
    assert about["versions"]["numpy"] == np.__version__
    assert set(json.loads(path.read_text())) == {"date", "command", "versions", "machine", "sections"}
    assert str(path.parent) not in path.read_text()


def test_the_page_holds_the_headline_rows(saved, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- bench:start -->\nold figures\n<!-- bench:end -->\n\nafter\n")
    for _ in range(2):  # again: nothing piles up
        results.write_page(page, saved[0])
    text = page.read_text()
    assert text.startswith("before\n\n<!-- bench:start -->\nMeasured on ")
    assert text.endswith("<!-- bench:end -->\n\nafter\n")
    assert text.count("| PRO  | fisher |") == 1
    assert "BCW" not in text
    assert "### Small" not in text
    assert "old figures" not in text


def test_a_page_without_markers_is_left_alone(saved, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("no place for figures\n")
    with pytest.raises(SystemExit, match=r"page.md must hold the lines <!-- bench:start --> and"):
        results.write_page(page, saved[0])
    assert page.read_text() == "no place for figures\n"


@pytest.mark.usefixtures("no_data")
def test_absent_data_are_reported_and_skipped():
    for section in (evidence.ensembles(quick=False), evidence.against_tools(quick=False)):
        assert section.rows
        assert all(row.values == {} and row.note.startswith("skipped: no ") for row in section.rows)
    (row,) = decision._decorrelated(0.7, 1.0, ["mrmr"])
    assert row.note == "skipped: no alt/LEU_golub.csv.gz in the data directory (UBAYFS_DATA)"
    assert max(map(len, table([row]).splitlines())) <= WIDTH


def test_tools_that_fail_take_long_or_are_not_tried_are_rows():
    def note(*outcomes, n_features=30):
        return evidence._tool_row("BCW", "tool", list(outcomes), 0.5, 30.0, n_features).note

    assert note(timing.Outcome(timed_out=True)) == "> 30 s: more than 60 times"
    assert note(timing.Outcome(error="ModuleNotFoundError: No module named 'boruta'")).startswith("ModuleNotFoundError")
    assert note(n_features=6033) == "not tried: it would fit a model some 603,300 times"
    done = [timing.Outcome(seconds, 2**20, 10) for seconds in (1.0, 5.0, 2.0)]
    row = evidence._tool_row("BCW", "tool", done, 0.5, 30.0, 30)
    assert row.values == {"seconds": 2.0, "ratio": 4.0, "memory": 2**20}


def test_growth_row_tells_both_exponents(monkeypatch):
    def grown(selector, n_rows, n_features, n_models):
        return timing.Outcome(seconds=1e-4 * n_features, memory=1e-3 * n_features * n_rows)

    monkeypatch.setattr(scaling, "_ensemble", grown)
    row = scaling._grown("fisher", "features", (1_000, 2_000, 4_000))
    assert row.values["seconds"] == pytest.approx(0.4)
    assert row.values["time_exponent"] == pytest.approx(1.0)
    assert row.values["memory_exponent"] == pytest.approx(1.0)
    assert scaling._grown("fisher", "rows", (10, 20)).values["time_exponent"] == pytest.approx(0.0)


def test_many_samples_are_measured_beside_a_forest(monkeypatch):
    monkeypatch.setattr(
        scaling, "in_fresh_process", lambda request: timing.Outcome(4.0 if "n_trees" in str(request) else 2.0, 8e6)
    )
    monkeypatch.setattr(scaling, "_ensemble", lambda selector, n, p, n_models: timing.Outcome(n / 1e4, 4 * n * p))
    monkeypatch.setattr(scaling.data, "synthetic", lambda *arguments: {"X": "X.npy", "y": "y.npy"})
    quick, full = (scaling.many_samples(quick).rows for quick in (True, False))
    assert [row.what for row in quick] == list(scaling.SAMPLES_LIMITS)
    assert [row.values["ratio"] for row in quick] == [0.5] * 3
    assert full[0].values["memory_ratio"] == pytest.approx(1.05)
    assert [row.values["time_exponent"] for row in full[3:]] == pytest.approx([1.0, 1.0])
    assert [row.values["memory_ratio"] for row in full[3:]] == [2.0, 2.0]
    assert all(row.holds for row in full)


def test_generated_problems(rng):
    theta = problems.importance(500, 0.3, rng)
    assert theta.sum() == pytest.approx(1.0)
    assert problems.evidence(500, 1.0, rng).sets.sum(axis=1).max() <= problems.PER_MODEL
    best = set(np.argsort(-theta)[:50])
    pairs = _pairs(problems.soft_pairs(theta, 200, 50, rng), 500)
    assert len({frozenset(pair) for pair in pairs}) == 200
    assert {feature for pair in pairs for feature in pair} <= best


def test_clustered_pairs_stay_within_their_clusters(rng):
    pairs = _pairs(problems.clustered_pairs(rng.permutation(60), cluster=6, n_pairs=14, rng=rng), 60)
    assert len({frozenset(pair) for pair in pairs}) == 140
    cluster = np.arange(60)
    for first, second in pairs:  # union of everything that is linked
        cluster[cluster == cluster[second]] = cluster[first]
    assert sorted(np.unique(cluster, return_counts=True)[1]) == [6] * 10


def _pairs(constraint, n_features):
    A = resolve(constraint, [f"x{j}" for j in range(n_features)]).A
    assert (A.data == 1).all()
    return A.indices.reshape(-1, 2)


def test_decision_rows_hold_the_exact_and_the_genetic_answer():
    run = decision._run(np.array([0.4, 0.3, 0.2, 0.1]), [max_size(2, rho=5), cannot_link([0, 1], rho=5)])
    exact, genetic = decision._solved("n = 4", "pairs", [run], most=60.0)
    assert run[1].indices.tolist() == [0, 2]
    assert exact.values["gap"] <= decision.PROVED
    assert exact.limits == {"seconds": 60.0, "gap": decision.PROVED}
    assert genetic.values["missed"] == pytest.approx(0.0, abs=1e-12)


def test_a_part_that_breaks_does_not_lose_the_others(tmp_path, monkeypatch, capsys):
    def broken(quick):
        raise RuntimeError("no luck")

    parts = {"import": lambda quick: Section("Import", "", [Row("d", "w", {"seconds": 1.0})]), "growth": broken}
    monkeypatch.setattr(program, "PARTS", parts)
    monkeypatch.setattr(program, "RESULTS", tmp_path)
    assert program.main(["--quick"]) == 1
    about, sections = results.read(tmp_path / "quick.json")
    assert about["command"] == "make bench QUICK=1"
    assert [section.rows[0].note for section in sections] == ["", "RuntimeError: no luck"]
    assert program.main(["--only", "import"]) == 0
    assert results.read(tmp_path / "partial.json")[0]["command"] == "make bench ONLY='import'"
    assert "1 s" in capsys.readouterr().out


def test_equivalence_records_the_same_twice(tmp_path):
    problem = recorded_decisions.decisions()["mixed 1"]
    first, second = equivalence.outcome(problem), equivalence.outcome(problem)
    assert first == second
    assert float.fromhex(first["value"]) == float.fromhex(first["utility"])
    equivalence.save({"found": first}, tmp_path / "one.json.gz")
    equivalence.save({"found": second}, tmp_path / "two.json.gz")
    assert (tmp_path / "one.json.gz").read_bytes() == (tmp_path / "two.json.gz").read_bytes()
    assert equivalence.read(tmp_path / "one.json.gz") == {"found": first}


def test_equivalence_records_errors():
    found = equivalence.outcome(recorded_decisions.decisions()["contradiction by both, exact"])
    assert found["error"] == "InfeasibleError"
    assert len(found["labels"]) == 2


def test_equivalence_tells_the_last_bit(capsys):
    value = {"value": (0.5).hex(), "indices": [1, 2]}
    before = {"versions": {"numpy": "1"}, "ensembles": {"e": {"sets": "ab"}}, "decisions": {"d": value, "gone": {}}}
    other = {"value": math.nextafter(0.5, 1.0).hex(), "indices": [1, 3]}
    now = {"versions": {"numpy": "2"}, "ensembles": {"e": {"sets": "ab"}}, "decisions": {"d": other}}
    assert equivalence.compare(before, before)
    capsys.readouterr()
    assert not equivalence.compare(before, now)
    assert capsys.readouterr().out.splitlines() == [
        "numpy is 2 here and was 1: the last bits may differ for that alone.",
        "ensembles: 1 equal, 0 different",
        "decisions: 0 equal, 2 different",
        "  decision 'd', value: was 0.5 (0x1.0000000000000p-1), is 0.5000000000000001 (0x1.0000000000001p-1)",
        "  decision 'd', indices: was [1, 2], is [1, 3]",
        "  decision 'gone', as a whole: was {}, is absent",
    ]


def test_equivalence_compares_the_number_of_labels_not_their_wording():
    def record(*labels):
        found = {"error": "InfeasibleError", "labels": list(labels)}
        return {"versions": {}, "ensembles": {}, "decisions": {"d": found}}

    assert equivalence.compare(record("max-size 4", "require a"), record("exact-size 4 (at most)", "require a"))
    assert not equivalence.compare(record("max-size 4", "require a"), record("max-size 4"))


def test_commands_are_measured_beside_imports(no_data, monkeypatch):
    """On the small data set, with fake times: every command runs, and each has its limit."""
    commands = []
    monkeypatch.setattr(faces, "_run", commands.append)
    monkeypatch.setattr(faces, "_cpu_seconds", lambda work: work() or 2.0)
    section = faces.faces(quick=True)
    assert [row.what for row in section.rows] == [f"ubayfs {what}" for what in faces.LIMITS]
    assert [row.limits["ratio"] for row in section.rows] == [0.1, 0.7, 1.8, 2.2]
    assert [row.values["ratio"] for row in section.rows] == [1.0] * 4
    assert all("skipped: no LEU.csv.gz" in row.note for row in section.rows)
    assert [command[3] for command in commands if command[1] == "-m"] == [
        "select",
        "--help",
        "decide",
        "decide",
        "select",
    ]


def test_cpu_time_is_that_of_the_process_started():
    """In a process of its own: worker processes of other tests that end meanwhile would count."""
    spin = "import time; start = time.process_time()\nwhile time.process_time() - start < 0.2: pass"
    measure = f"""
import sys
from functools import partial
from benchmarks import faces
print(faces._cpu_seconds(partial(faces._run, [sys.executable, "-c", {spin!r}])))
"""
    command = [sys.executable, "-c", measure]
    done = subprocess.run(command, cwd=timing.REPOSITORY, capture_output=True, text=True, check=True)
    assert 0.15 < float(done.stdout) < 5


def test_hard_problems_are_forty_five_and_always_the_same():
    first, second = hard_problems.hard_problems(), hard_problems.hard_problems()
    assert len(first) == 45
    for name, problem in first.items():
        assert (len(problem.theta) >= 1000) == name.startswith("dense budgets")
        np.testing.assert_array_equal(problem.theta, second[name].theta)


def test_hard_decisions_are_compared_with_the_former_state(monkeypatch):
    problem = hard_problems.HardProblem(np.array([0.5, 0.3, 0.2]), [ubayfs.max_size(2), ubayfs.cannot_link([0, 1])])
    monkeypatch.setattr(hard, "find_spec", lambda _: None)
    now, before, other = hard._compared("tiny", problem, 5.0, {"value": 2.0, "bound": 2.5})
    assert now.values["value"] == ubayfs.maximize(problem.theta, problem.constraints).value
    assert not now.holds
    assert before.values == {"value": 2.0, "bound": 2.5, "gap": 0.5}
    assert other.note == "OR-Tools is not installed"
    assert hard._compared("tiny", problem, 5.0, {"value": 1.0, "bound": 2.5})[0].holds


def test_budgets_are_compared_with_plain_highs(monkeypatch):
    """Two of three features can be paid, of 0.5 and 0.2; a peer claims more than there is, or has no set."""
    problem = hard_problems.HardProblem(np.array([0.5, 0.3, 0.2]), [ubayfs.cost_budget([3, 2, 1], 4.5)])
    monkeypatch.setattr(hard, "_cpsat", lambda *_: ({"value": 1.75}, {}, ""))
    now, highs, _ = hard._compared("tiny", problem, 5.0, None)
    assert highs.values["value"] == now.values["value"] == pytest.approx(1.7)
    assert highs.values["gap"] == pytest.approx(0.0, abs=1e-9)
    assert now.values["missed"] == pytest.approx(1.75 / 1.7 - 1)
    assert not now.holds
    monkeypatch.setattr(hard, "_cpsat", lambda *_: ({}, {}, "no set in time"))
    assert hard._compared("tiny", problem, 5.0, None)[0].holds


def test_a_problem_for_another_solver_is_plain():
    selection = ubayfs.maximize(
        [0.5, 0.3, 0.2], [ubayfs.max_size(2), ubayfs.max_blocks(1, rho=1)], blocks={"b": [0, 1], "c": [2]}
    )
    plain = json.loads(json.dumps(hard.plain_problem(selection.problem.utility, 1.0)))
    assert plain["rows"][0] == {"columns": [0, 1, 2], "a": [1.0, 1.0, 1.0], "b": 2.0, "rho": None}
    assert plain["rows"][1] == {"columns": [3, 4], "a": [1.0, 1.0], "b": 1.0, "rho": 1.0}
    assert plain["blocks"] == [[0, 1], [2]]


def test_covariates_are_measured_beside_the_same_without(monkeypatch):
    monkeypatch.setattr(
        covariates, "compare", lambda work, reference, clock: (clock(work), timing.Comparison(0.2, 0.1, 2.0, 1))[1]
    )
    rows = covariates.covariates(quick=True).rows
    assert [(row.data, row.what) for row in rows] == [
        ("two classes", "fisher"),
        ("two classes", "mrmr"),
        ("a number", "mrmr"),
    ]
    assert all(row.holds for row in rows)


def test_trust_is_measured_beside_one_ensemble(no_data, monkeypatch):
    monkeypatch.setattr(
        trust, "compare", lambda work, reference, rounds: (work(), timing.Comparison(2.0, 0.1, 20.0, 1))[1]
    )
    (row,) = trust.trust(quick=True).rows
    assert row.values == {"seconds": 2.0, "ratio": 20.0}
    assert row.holds
    assert "skipped" in row.note


def test_validation_is_measured_beside_an_ensemble(monkeypatch, rng):
    monkeypatch.setattr(validation.data, "present", lambda name: name == "PRO")
    monkeypatch.setattr(validation.data, "load", lambda name: (rng.random((20, 40)), np.arange(20) % 2))
    monkeypatch.setattr(validation, "median_seconds", lambda work, rounds: 0.5)
    monkeypatch.setattr(validation, "seconds", lambda work: 10.0)
    (quick,) = validation.validation(quick=True).rows
    assert (quick.data, quick.what, quick.values) == ("PRO", "fisher", {"seconds": 10.0, "ratio": 20.0})
    full = validation.validation(quick=False).rows
    assert [row.limits for row in full] == [{"seconds": 15.0}] * 2 + [{}] * 2
    assert all("no alt/LEU_golub" in row.note for row in full[2:])


# -- the app -----------------------------------------------------------------------------------------------------------


def test_memory_is_that_of_a_process_and_all_below_it():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert child.pid in browser.family(os.getpid())
        assert browser.memory([os.getpid(), child.pid]) > browser.memory([os.getpid()]) > 1e6
    finally:
        child.communicate(b"\n")


def test_each_traceback_of_a_server_is_a_complaint_once(tmp_path):
    log = tmp_path / "app.log"
    log.write_text("all is well\n")
    server = browser.Server(None, "", "", tmp_path, log, 0.0)
    assert server.complaints() == ""
    with open(log, "a") as file:
        file.write("a line\nTraceback (most recent call last):\nValueError: x\n")
    assert server.complaints().startswith("Traceback")
    assert server.complaints() == ""


def test_golden_record_is_the_same_twice_and_has_neither_paths_nor_times(tmp_path):
    study = next(study for study in golden.read_studies("mistakes") if study.name == "wrong-types")
    first = golden.record(study)
    assert golden.record(study) == first
    assert "line 2, evidence.n_models" in first
    assert "exit 2" in first
    assert os.path.realpath(tempfile.gettempdir()) not in first
    assert golden.steady("at 2026-11-18 16:23:57 UTC by 0.2.0") == "at TIME by 0.2.0"


def test_golden_compares_with_what_is_recorded(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(golden, "RECORDS", tmp_path)
    studies = [golden.Study("studies", "links"), golden.Study("mistakes", "syntax")]
    golden.save(studies, ["a\nb\n", "c\n"], everything=True)
    assert golden.compare(studies, ["a\nb\n", "c\n"])
    assert not golden.compare(studies, ["a\nB\n", "c\n"])
    printed = capsys.readouterr().out
    assert "-b\n+B\n" in printed
    assert "studies: 0 equal, 1 different\nmistakes: 1 equal, 0 different" in printed
    golden.save(studies[:1], ["a\n"], everything=True)
    assert not (tmp_path / "mistakes" / "syntax.txt").exists()


def test_golden_json_is_short_and_shows_every_change():
    values = {"b": list(range(100)), "a": [{"x": 0.1 + 0.2, "text": "long " * 50}]}
    text = json.dumps(values)
    shown = golden.pretty(golden.compact(golden.read_json(text)))
    assert max(map(len, shown.splitlines())) <= golden.WIDTH
    assert '"x": 0.3' in shown
    for change in (("99", "98"), ('long "', 'long."'), ("0.30", "0.31"), ("[0, 1", "[1, 1")):
        assert golden.pretty(golden.compact(golden.read_json(text.replace(*change)))) != shown
