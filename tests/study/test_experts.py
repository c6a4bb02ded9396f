"""Several experts of one study: what they state is pooled, kept, and shown with their names."""

import json
from dataclasses import replace

import numpy as np
import pytest

import ubayfs
from ubayfs.report import render_html, render_json, render_markdown, summarize
from ubayfs.results import Result
from ubayfs.results.comparison import compare
from ubayfs.study import DataSection, Expert, PriorSection, Study, Weights, load_study, resolve_study

NAMES = ["a", "b", "c", "d", "e"]
STUDY = """\
data: {path: x.csv, target: y}
prior:
  weights: {default: 0.02}
  experts:
    Ada:
      features: {a: {weight: very likely, why: tumor suppressor, source: her thesis}, d: 4}
      unlikely: [c]
    Ben: ben.csv
    Cyd: {likely: "a, b", features: {c: 8}}
constraints:
  - max_size: {n: 2, rho: hard}
"""
# Of 40 models: what each expert's words are worth in votes; 0.02 where nothing is said, 0 for unlikely.
BY_HAND = {
    "mean": [(40 + 0.02 + 10) / 3, (0.02 + 10 + 10) / 3, (0 + 0 + 8) / 3, (4 + 0.02 + 0.02) / 3, 0.02],
    "lowest": [0.02, 0.02, 0.02, 0.02, 0.02],  # c: two hold it unlikely, 0 votes, and no weight is below the default
}


@pytest.fixture
def study(tmp_path):
    """Three experts: one with words and reasons, one with a table, one with a list."""
    (tmp_path / "ben.csv").write_text("feature,weight,why\nb,likely,seen it\nc,unlikely,\n", encoding="utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    return load_study(tmp_path / "study.yaml")


@pytest.fixture
def evidence():
    """40 models of five features; c and e have most votes."""
    sets = np.zeros((40, 5), dtype=bool)
    sets[:20, 2], sets[10:40, 4], sets[:5, 0] = True, True, True
    return ubayfs.Evidence.from_sets(sets, NAMES)


def resolved(study):
    return resolve_study(study, data=None, feature_names=NAMES, n_models=40)


def with_prior(study, **changes):
    return replace(study, prior=replace(study.prior, **changes))


@pytest.mark.parametrize("pool", ["mean", "lowest"])
def test_votes_are_pooled_as_by_hand(study, pool):
    known = resolved(with_prior(study, pool=pool)).prior
    np.testing.assert_allclose(known.weights, BY_HAND[pool], rtol=1e-15)
    assert known.unlikely == {"c": 0.5 * 2 / 3}
    # c is worth 8 votes to one, and minus half of the models to two.
    expected = {"a": 40 - 0.02, "b": 10 - 0.02, "c": 8 + 20, "d": 4 - 0.02}
    assert known.disagreement == pytest.approx(expected, rel=1e-14)
    assert known.experts.keys() == {"Ada", "Ben", "Cyd"}


def test_the_lowest_is_what_all_can_agree_on(evidence):
    experts = {"Ada": {"a": "very likely", "b": 3}, "Ben": {"a": "likely", "b": 1}}
    selection = ubayfs.decide(
        evidence, weights=ubayfs.pool_experts(experts, pool="lowest"), constraints=[ubayfs.max_size(2)]
    )
    assert selection.weights.tolist() == [10, 1, 0.01, 0.01, 0.01]


def test_the_price_of_unlikely_is_its_share_of_the_experts(study, evidence):
    both = {"Ada": {"a": "unlikely", "b": "unlikely"}, "Ben": {"a": "unlikely", "b": "neutral"}}
    selection = ubayfs.decide(evidence, weights=ubayfs.pool_experts(both), constraints=[ubayfs.max_size(2)])
    held = [given for given in selection.provenance["constraints"] if given.get("from_prior")]
    assert [(given["arguments"]["features"], given["arguments"]["price"]) for given in held] == [
        (["a"], 0.5),
        (["b"], 0.25),
    ]
    by_study = study.decide(evidence).provenance["constraints"]
    assert [given["arguments"]["price"] for given in by_study if given.get("from_prior")] == [pytest.approx(1 / 3)]


@pytest.mark.parametrize("pool", ["mean", "lowest"])
def test_one_expert_under_a_name_decides_as_without_one(evidence, pool):
    stated = {"a": "likely", "b": 0.001, "c": "unlikely"}
    size = [ubayfs.max_size(2)]
    alone = ubayfs.decide(evidence, weights=stated, constraints=size)
    named = ubayfs.decide(evidence, weights=ubayfs.pool_experts({"Ada": stated}, pool=pool), constraints=size)
    assert named.weights.tolist() == alone.weights.tolist()
    assert (named.features, named.value) == (alone.features, alone.value)


def test_an_expert_without_any_statement_does_not_count(evidence):
    one = ubayfs.pool_experts({"Ada": {"a": "likely"}})
    two = ubayfs.pool_experts({"Ada": {"a": "likely"}, "Ben": {}})
    weights = [
        ubayfs.decide(evidence, weights=given, constraints=[ubayfs.max_size(2)]).weights.tolist()
        for given in (one, two)
    ]
    assert weights[0] == weights[1]


def test_what_is_stated_for_all_takes_the_place_of_the_pool(study):
    agreed = Weights(default=0.02, features=(("a", 3.0), ("c", "neutral")))
    known = resolved(with_prior(study, weights=agreed)).prior
    assert known.weights[:3].tolist() == [3, BY_HAND["mean"][1], 0.02]
    assert known.unlikely == {}
    assert known.disagreement["a"] == pytest.approx(40 - 0.02)


def test_files_of_python_and_of_yaml_are_the_same_study(study, tmp_path):
    prior = PriorSection(
        weights=0.02,
        experts={
            "Ada": {
                "a": {"weight": "very likely", "why": "tumor suppressor", "source": "her thesis"},
                "d": 4,
                "unlikely": ["c"],
            },
            "Ben": Expert(table="ben.csv"),
            "Cyd": {"likely": ["a", "b"], "features": {"c": 8}},
        },
    )
    made = Study(DataSection("x.csv", target="y"), prior=prior, constraints=study.constraints, folder=tmp_path)
    assert made == study
    (tmp_path / "sub").mkdir()
    study.save(tmp_path / "sub" / "study.yaml")
    moved = load_study(tmp_path / "sub" / "study.yaml")
    assert moved.prior.experts["Ben"].table == "../ben.csv"
    assert "../ben.csv" in moved.inputs
    assert resolved(moved).prior.weights.tolist() == resolved(study).prior.weights.tolist()


def test_a_study_without_its_files_has_the_same_experts(study):
    alone = resolved(study).standalone
    assert alone.inputs == ("x.csv",)
    again = resolved(alone).prior
    assert again.to_dict() == resolved(study).prior.to_dict()
    assert again.weights.tolist() == resolved(study).prior.weights.tolist()
    assert alone.prior.experts["Ben"].weights.features == (("b", "likely"), ("c", "unlikely"))


def test_all_mistakes_are_found_with_their_lines(tmp_path):
    (tmp_path / "study.yaml").write_text(
        """\
data: {path: x.csv}
prior:
  pool: highest
  confirmed: yesterday
  changed_after_votes:
    z: 2026-11-17T05:00:00
    a: soon
  experts:
    Ada:
      features:
        A: likely
        d: perhaps
      default: 3
      sheet: first
    Ben: nosuch.csv
    Cyd:
      likely: [q]
    Dan: 7
""",
        encoding="utf-8",
    )

    def problems():
        with pytest.raises(ubayfs.exceptions.StudyError) as caught:
            load_study(tmp_path / "study.yaml").arguments(NAMES)
        return {(problem.line, problem.path) for problem in caught.value.problems}

    def mend(*changes):
        text = (tmp_path / "study.yaml").read_text(encoding="utf-8")
        for wrong, right in changes:
            text = text.replace(wrong, right)
        (tmp_path / "study.yaml").write_text(text, encoding="utf-8")

    experts = ("prior", "experts")
    assert problems() == {
        (3, ("prior", "pool")),
        (4, ("prior", "confirmed")),
        (7, ("prior", "changed_after_votes", "a")),
        (12, (*experts, "Ada", "features", "d")),
        (13, (*experts, "Ada", "default")),
        (14, (*experts, "Ada", "sheet")),
        (18, (*experts, "Dan")),
    }
    mend(("highest", "mean"), ("yesterday", "2026-11-17"), ("soon", "2026-11-17"), ("perhaps", "likely"))
    mend(("      default: 3\n      sheet: first\n", ""), ("    Dan: 7\n", ""))
    assert problems() == {(13, (*experts, "Ben", "table"))}
    mend(("Ben: nosuch.csv", "Ben: {}"))
    assert problems() == {
        (6, ("prior", "changed_after_votes", "z")),
        (11, (*experts, "Ada", "features", "A")),
        (15, (*experts, "Cyd", "likely")),
    }


def test_costs_that_contradict_each_other_are_a_mistake(study, tmp_path):
    (tmp_path / "ben.csv").write_text("feature,weight,cost\nb,likely,3\n", encoding="utf-8")
    (tmp_path / "ada.csv").write_text("feature,weight,cost\nb,likely,4\n", encoding="utf-8")
    with pytest.raises(ubayfs.exceptions.StudyError) as found:
        resolved(with_prior(study, experts={"Ada": "ada.csv", "Ben": "ben.csv"}))
    assert [problem.path for problem in found.value.problems] == [("prior", "experts")]


def test_weights_of_all_features_leave_nothing_to_state():
    with pytest.raises(ubayfs.exceptions.InputError) as found:
        PriorSection(weights=(1, 2, 3), experts={"Ada": {"a": 2}})
    assert found.value.argument == "prior.experts"


@pytest.mark.usefixtures("blank_figures")
def test_summary_and_report_list_who_stated_what_and_why(study, evidence):
    of = resolved(with_prior(study, confirmed="2026-11-17T09:30:00+00:00"))
    summary = summarize(of.decide(evidence), study=of, n_draws=0)
    prior = json.loads(render_json(summary))["prior"]
    assert (prior["experts"], prior["pool"]) == (["Ada", "Ben", "Cyd"], "mean")
    by_feature = {entry["feature"]: entry for entry in prior["opinions"]}
    assert list(by_feature) == ["a", "c", "b", "d"]  # most disagreement first
    assert by_feature["a"]["experts"] == {
        "Ada": {"weight": "very likely", "why": "tumor suppressor", "source": "her thesis"},
        "Cyd": {"weight": "likely"},
    }
    assert by_feature["c"]["price"] == pytest.approx(1 / 3)
    for text in (render_markdown(summary), render_html(summary)):
        assert "Ada: very likely - tumor suppressor - her thesis; Cyd: likely" in text
        assert "2026-11-17 09:30:00 UTC, before votes were seen" in text
    assert summary.study["prior"]["experts"].keys() == {"Ada", "Ben", "Cyd"}


def test_knowledge_changed_after_votes_is_marked_everywhere(study, evidence):
    before = resolved(study)
    first = before.decide(evidence)
    louder = with_prior(study, weights=Weights(default=0.02, features=(("d", "very likely"), ("e", "unlikely"))))
    after = resolved(louder).with_change_marks(first.knowledge, "2026-11-17T10:00:00+00:00")
    marks = {"d": "2026-11-17T10:00:00+00:00", "e": "2026-11-17T10:00:00+00:00"}
    assert after.study.prior.changed_after_votes == marks
    second = after.decide(evidence)
    assert "d" in second.features
    summary = summarize(second, study=after, n_draws=0)
    assert summary.prior.changed_after_votes == marks
    assert {member.feature: member.changed_after_votes for member in summary.chosen}["d"] == marks["d"]
    assert ("after votes",) in [entry.marks for entry in summary.legend]
    assert "Changed after votes were seen" in render_markdown(summary)
    # A later decision with the same knowledge has the old marks, and no new ones.
    third = resolved(after.study).with_change_marks(second.knowledge, "2027-01-01T00:00:00+00:00")
    assert third.study.prior.changed_after_votes == marks
    # Back to what it was is a change, too.
    back = resolved(study).with_change_marks(second.knowledge, "2027-01-01T00:00:00+00:00")
    assert set(back.study.prior.changed_after_votes.values()) == {"2027-01-01T00:00:00+00:00"}
    results = [Result(of.study, evidence, made, {}) for of, made in ((before, first), (after, second))]
    compared = compare(*results)
    assert compared.changed_after_votes == ((), ("d", "e"))
    assert "weight of d: 1.34667 -> 40 (after votes were seen)" in compared.to_text()
    assert "in the second result: d and e" in compared.to_text()
