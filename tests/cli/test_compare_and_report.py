"""compare and report: what changed and why; the same content again in other formats."""

import json
from dataclasses import replace

import pytest

from ubayfs import max_size
from ubayfs.cli.main import main
from ubayfs.results import read_result, write_result
from ubayfs.results.comparison import compare


@pytest.fixture(scope="module")
def changed(finished, tmp_path_factory, without_figures):
    folder = tmp_path_factory.mktemp("changed")
    options = {
        "smaller": ["--max-size", "2"],
        "believed": ["--weight", "mean smoothness=very likely"],
        "both": ["--max-size", "2", "--weight", "mean smoothness=very likely"],
    }
    with without_figures():
        for name, given in options.items():
            assert main(["decide", str(finished), *given, "-o", str(folder / name)]) == 0
    return folder


def changes(comparison):
    return {
        kind: {found.feature for found in comparison.features if found.change == kind}
        for kind in ("added", "removed", "unchanged")
    }


@pytest.mark.parametrize(("name", "cause"), [("smaller", "constraints"), ("believed", "prior")])
def test_a_single_change_is_the_cause(finished, changed, name, cause):
    first, second = read_result(finished), read_result(changed / name)
    comparison = compare(first, second)
    old, new = set(first.selection.features), set(second.selection.features)
    assert old != new
    assert changes(comparison) == {"added": new - old, "removed": old - new, "unchanged": old & new}
    for feature in comparison.features:
        assert feature.causes == (() if feature.change == "unchanged" else (cause,))
    assert comparison.jaccard == len(old & new) / len(old | new)


def test_sides_have_the_numbers_of_each_result(finished, changed):
    first, second = read_result(finished), read_result(changed / "believed")
    for feature in compare(first, second).features:
        position = first.selection.feature_names.tolist().index(feature.feature)
        for side, result in ((feature.first, first), (feature.second, second)):
            assert side.count == result.evidence.counts[position]
            assert side.weight == result.selection.weights[position]
            assert side.importance == result.selection.importance[position]


def test_settings_of_a_prior_are_compared(finished):
    first = read_result(finished)
    kinds = [{"name": "hyperdirichlet", "max_draws": n} for n in (1500, 2500)] + ["dirichlet"]
    results = [
        replace(first, study=replace(first.study, prior=replace(first.study.prior, kind=kind)))  # the same answer
        for kind in kinds
    ]
    (difference,) = compare(results[0], results[1]).differences
    assert (difference.setting, difference.first, difference.second) == ("prior.kind.max_draws", 1500, 2500)
    assert "prior.kind.name" in {difference.setting for difference in compare(results[0], results[2]).differences}


def test_what_was_asked_differently(finished, changed):
    comparison = compare(read_result(finished), read_result(changed / "both"))
    assert {(d.setting, d.first, d.second) for d in comparison.differences} == {
        ("constraint", max_size(4), None),
        ("constraint", None, max_size(2)),
    }
    assert [(w.setting, w.first, w.second) for w in comparison.weights] == [("mean smoothness", 0.01, 30.0)]


def test_the_same_result_twice(finished, run):
    comparison = compare(read_result(finished), read_result(finished))
    assert comparison.jaccard == 1
    assert comparison.differences == comparison.weights == ()
    done = run("compare", finished, finished)
    assert "Both results have the same 4 features." in done.out
    assert "Settings that differ\n  None." in done.out


def test_other_features_are_compared_by_name_alone(finished, tmp_path, run, cells):
    cells.drop(columns="mean radius").to_csv(tmp_path / "fewer.csv", index=False)
    asked = ["--target", "diagnosis", "--models", 10, "--selector", "fisher", "--max-size", 4, "--draws", 0]
    assert run("select", tmp_path / "fewer.csv", *asked, "-o", tmp_path / "fewer").code == 0
    done = run("compare", finished, tmp_path / "fewer")
    assert done.code == 0, done.err
    comparison = compare(read_result(finished), read_result(tmp_path / "fewer"))
    if changes(comparison)["added"] | changes(comparison)["removed"]:
        assert "different features" in comparison.note


def test_compare_in_words_and_as_json(finished, changed, run):
    done = run("compare", finished, changed / "smaller")
    assert done.code == 0
    assert "Because of the" in done.out
    assert "constraint added: max_size(2)" in done.out
    content = json.loads(run("compare", finished, changed / "smaller", "--json").out)
    assert content["value"][0] == read_result(finished).selection.value
    added = {"kind": "max_size", "arguments": {"n": 2, "rho": "hard"}}
    assert {"setting": "constraint", "first": None, "second": added} in content["differences"]


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_what_is_not_a_result(finished, tmp_path, run, name):
    done = run("compare", finished, tmp_path / name)
    assert done.code == 2
    assert "result" in done.err


@pytest.fixture
def drawn(finished, tmp_path, real_figures):
    """The same result with figures of two displays, which are as good as all, and sooner drawn."""
    found = read_result(finished)
    displays = {name: found.summary.displays[name] for name in ("evidence", "convergence")}
    write_result(tmp_path / "drawn", replace(found, summary=replace(found.summary, displays=displays)))
    return tmp_path / "drawn"


def test_report_in_every_format(drawn, tmp_path, run):
    names = [tmp_path / f"new/report.{suffix}" for suffix in ("html", "md", "json")]
    options = [part for name in names for part in ("-o", name)]
    done = run("report", drawn, *options, "--figures", tmp_path / "figures", "--format", "svg")
    assert done.code == 0, done.err

    def here(text):  # a report elsewhere names the directory of the result
        return text.replace(f"run: `ubayfs trust {drawn}", "run, in the directory of this report: `ubayfs trust .")

    assert here(names[1].read_text(encoding="utf-8")) == (drawn / "report.md").read_text(encoding="utf-8")
    html, before = (path.read_text(encoding="utf-8") for path in (names[0], drawn / "report.html"))
    assert f"ubayfs trust {drawn} --level full" in html
    assert html.replace(str(drawn), ".").replace(", in the directory of this report", "") == before.replace(
        ", in the directory of this report", ""
    )
    summaries = [json.loads(path.read_bytes()) for path in (names[2], drawn / "summary.json")]
    assert [summary.pop("facts") != [] and summary["trust"].pop("result") for summary in summaries]
    assert summaries[0] == summaries[1]
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"evidence.svg", "convergence.svg"}
    refused = run("report", drawn, "-o", names[1])
    assert refused.code == 2
    assert "exists already" in refused.err
    assert run("report", drawn, "-o", names[1], "--force").code == 0


def test_reports_are_written_together_or_not_at_all(finished, tmp_path, run):
    (tmp_path / "old.md").write_text("old", encoding="utf-8")
    (tmp_path / "directory.html").mkdir()
    names = ["-o", tmp_path / "old.md", "-o", tmp_path / "new.json", "-o", tmp_path / "directory.html"]
    refused = run("report", finished, *names, "--force")
    assert refused.code == 2
    assert "directory.html could not be written" in refused.err
    assert (tmp_path / "old.md").read_text(encoding="utf-8") == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"old.md", "directory.html"}


@pytest.mark.parametrize(
    ("options", "message"),
    [([], "nothing to write"), (["-o", "report.doc"], ".md, .json, .xlsx, .zip; got report.doc")],
)
def test_report_refuses(finished, run, options, message):
    done = run("report", finished, *options)
    assert done.code == 2
    assert message in done.err
