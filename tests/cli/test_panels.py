"""Panels for the bench on the command line: the best set for each size and budget."""

import json
from pathlib import Path

import pytest

import ubayfs

COSTS = "mean radius: 5, mean texture: 3, mean area: 8, worst radius: 9, worst area: 2, worst smoothness: 4"


def test_each_point_of_a_front_is_a_decision_of_its_own(folder, run):
    budget = f"  - cost_budget: {{costs: {{{COSTS}}}, budget: 12}}\ndecision:"
    Path("study.yaml").write_text(Path("study.yaml").read_text(encoding="utf-8").replace("decision:", budget, 1))
    done = run("select", "study.yaml", "-o", "out", "--trust", "quick", "--splits", 2, "--shuffles", 200)
    assert done.code == 0, done.err
    assert "larger panel" not in done.out
    done = run("decide", "out", "--front-sizes", 2, 3, "--front-budgets", 6, 30, "-o", "front")
    assert done.code == 0, done.err
    assert "larger panel" in done.out
    found = json.loads(Path("front/summary.json").read_text(encoding="utf-8"))["front"]["points"]
    assert [(point["budget"], point["size"]) for point in found] == [(6, 2), (6, 3), (30, 2), (30, 3)]
    for point in found:
        assert point["proved"]
        is_set = point["value"] is not None
        assert is_set == (len(point["features"]) == point["size"])
        assert is_set == (point["related"] is not None)
    assert [len(point["selected_again"]) for point in found] == [0, 0, 2, 2]  # too few votes on halves for some
    largest = found[-1]
    study = ubayfs.study.load_study("front/study.yaml")
    evidence = ubayfs.results.StoredResult("front").evidence
    kept = [each for each in study.constraints if each.kind == "cannot_link"]
    costs = dict(dict(study.constraints[-1].arguments)["costs"])
    asked = [*kept, ubayfs.exact_size(3), ubayfs.cost_budget(costs, 30)]
    apart = ubayfs.decide(evidence, weights={"worst smoothness": "likely"}, constraints=asked)
    assert (tuple(largest["features"]), largest["value"]) == (apart.features, apart.value)
    again = run("decide", "front")  # the study has kept what was asked for
    assert (again.code, again.out.count("The best set for each size and budget")) == (0, 1)


def test_alternatives_that_lack_several_features_of_the_best_set(folder, run):
    assert run("select", "study.yaml", "-o", "out").code == 0
    assert run("decide", "out", "--alternatives", 3, "--differ-by", 2, "-o", "apart").code == 0
    summary = json.loads(Path("apart/summary.json").read_text(encoding="utf-8"))
    before = [{member["feature"] for member in summary["chosen"]}]
    assert len(summary["alternatives"]) >= 2
    for other in summary["alternatives"]:
        assert all(len(set(other["features"]) & one) <= max(len(one) - 2, 0) for one in before)
        before.append(set(other["features"]))
    assert "that lack at least 2 features of every set before" in Path("apart/report.md").read_text(encoding="utf-8")


def test_alternatives_cannot_lack_more_than_a_set_has(folder, run):
    done = run("select", "study.yaml", "--differ-by", 5, "-o", "out")
    assert (done.code, done.out, Path("out").exists()) == (2, "", False)
    assert "--differ-by: must be at most 4, the most features of a set; got 5." in done.err


def test_alternatives_cannot_lack_more_features_than_there_are():
    evidence = ubayfs.Evidence.from_sets([[1, 1, 0], [1, 0, 1]], ["a", "b", "c"])
    with pytest.raises(ubayfs.exceptions.InputError) as refused:
        ubayfs.decide(evidence, n_alternatives=2, differ_by=4)
    assert refused.value.argument == "differ_by"


def test_budgets_need_costs_before_any_work(folder, run):
    done = run("select", "study.yaml", "--front-budgets", 5, "-o", "out")
    assert (done.code, done.out, Path("out").exists()) == (2, "", False)
    assert "--front-budgets: are other budgets than that of a cost_budget" in done.err
