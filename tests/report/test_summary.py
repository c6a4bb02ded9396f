"""Every number of a summary against the objects that it speaks of."""

import json
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ubayfs
from amounts import examples
from summaries import answer_of, read, summary_of
from trusts import made_trust
from ubayfs import (
    Evidence,
    Hyperdirichlet,
    cost_budget,
    decide,
    decorrelate,
    exact_size,
    exclude,
    front,
    implies,
    max_per_block,
    max_size,
    maximize,
    must_link,
    require,
    selection_probabilities,
)
from ubayfs._plain import listing, plain, rounded
from ubayfs.data.feature_data import FeatureData
from ubayfs.decision.selection import Selection
from ubayfs.decision.workflow import Decision
from ubayfs.ensemble.evidence import RunFailure
from ubayfs.exceptions import Advice, InputError, OptimizationWarning
from ubayfs.explain.attribution import attribution
from ubayfs.metrics import stability
from ubayfs.optimize import Exact
from ubayfs.plotting import DISPLAYS
from ubayfs.report import answer_of as typed_answer_of
from ubayfs.report import summarize
from ubayfs.report.content import answer_document
from ubayfs.report.problem_facts import constraint_facts
from ubayfs.report.terminal import document_text

INF = np.inf
NAMES = ["radius", "area", "texture", "smoothness", "symmetry", "concavity"]
BLOCKS = {"size": ["radius", "area"], "shape": ["symmetry", "concavity", "area"]}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 6))
    X[:, 1] = X[:, 0] + 0.3 * X[:, 1]
    y = np.where(X[:, 0] + X[:, 2] > 0.4, "ill", "well")
    return FeatureData.from_table(pd.DataFrame(X, columns=NAMES), y, groups=np.repeat(np.arange(20), 3))


@pytest.fixture(scope="module")
def evidence(data):
    return ubayfs.collect_evidence(data, selector="mrmr", n_models=40, n_features_per_model=3, random_state=0)


@pytest.fixture(scope="module")
def selection(data, evidence):
    constraints = [
        max_size(3, rho=4),
        must_link(["radius", "area"], rho=0.2),
        decorrelate(0.3),
        max_per_block(1, rho=0.5),
        require("smoothness", rho=1.0),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizationWarning)
        return decide(
            evidence,
            weights={"texture": 4, "symmetry": 12},
            constraints=constraints,
            blocks=BLOCKS,
            X=data,
            n_alternatives=4,
        )


@pytest.fixture(scope="module")
def summary(selection, data):
    asked = {"data": {"path": "some/where/cells.csv", "target": "status"}, "decision": {"time_limit": INF}}
    return summary_of(
        selection,
        data,
        settings=asked,
        blocks=BLOCKS,
        n_draws=12,
        warnings=["given before"],
        created="2024-05-06",
        trust=made_trust(selection),
        front=front(selection, sizes=[1, 2]),
    )


def test_it_goes_through_strict_json_and_back(summary, selection, data):
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert plain(read(summary)) == summary
    typed = summarize(selection, data, n_draws=0)
    correlations = typed.correlation.correlations  # arrays, which have no single answer to equality
    again = read(json.loads(json.dumps(plain(typed))))
    np.testing.assert_allclose(again.correlation.correlations.spearman, correlations.spearman)
    same = replace(again, correlation=replace(again.correlation, correlations=correlations))
    assert same == typed


def test_the_answer_is_that_of_the_selection(summary, selection):
    assert summary["created"] == "2024-05-06"
    assert summary["title"] == "cells.csv"
    for key in ("value", "bound", "gap"):
        assert summary[key] == getattr(selection, key)
    assert summary["importance"] == selection.metrics.importance
    assert summary["admissibility"] == selection.metrics.admissibility
    assert summary["proved"] is True
    assert summary["complete"] is True
    n = len(selection.features)
    assert summary["headline"] == f"{n} of 6 features were selected."
    assert summary["proof"] == "Proved: under these votes, weights and constraints no other set has a higher score."
    assert summary["verdict"][0].startswith(summary["proof"])


def test_chosen_features(summary, selection):
    posterior, found = selection.posterior, attribution(selection)
    low, high = posterior.credible_interval(summary["level"])
    chance = selection_probabilities(selection, n_draws=12, random_state=0)
    importance = [record["importance"] for record in summary["chosen"]]
    assert importance == sorted(importance, reverse=True)
    assert {record["feature"] for record in summary["chosen"]} == set(selection.features)
    assert summary["n_draws"] == 12
    for record in summary["chosen"]:
        name = record["feature"]
        i = NAMES.index(name)
        assert record["position"] == i
        assert record["count"] == posterior.counts[i]
        assert record["share"] == posterior.counts[i] / 40
        assert record["weight"] == {"texture": 4, "symmetry": 12}.get(name, 0.01)
        assert record["importance"] == posterior.mean[i]
        assert (record["low"], record["high"]) == (low[i], high[i])
        assert record["probability"] == chance[i]
        assert record["blocks"] == [block for block, members in BLOCKS.items() if name in members]
        assert record["without_prior"] == (name in found.without_prior)
        assert record["without_constraints"] == (name in found.without_constraints)
        assert record["data_alone"] == (name in found.data_alone)
        assert record["reasons"] == [found.why[name]]
        assert record["without_vote"] == (posterior.counts[i] == 0)


def test_what_less_knowledge_would_change(summary, selection):
    found = attribution(selection)
    assert any(summary["sets"][key]["added"] for key in summary["sets"])  # the prior or the constraints matter here
    for key, change in summary["sets"].items():
        features = getattr(found, key)
        assert change["features"] == list(features)
        assert set(change["added"]) == set(features) - set(selection.features)
        assert set(change["removed"]) == set(selection.features) - set(features)


def test_constraints_account_for_the_whole_admissibility(summary, selection):
    lines = summary["constraints"]
    assert [line["kind"] for line in lines] == ["max_size", "must_link", "decorrelate", "max_per_block", "require"]
    assert [line["label"] for line in lines][:2] == ["max-size 3", "must-link radius, area"]
    assert lines[3]["label"] == "max-per-block 1: size, shape"
    assert sum(line["n_inequalities"] for line in lines) == selection.problem.utility.system.n_inequalities
    assert np.prod([line["admissibility"] for line in lines]) == pytest.approx(selection.metrics.admissibility)
    violated = {row.label: row for row in selection.metrics.violations}
    assert violated
    assert sum(line["n_violated"] for line in lines) == len(violated)
    assert {row["label"] for line in lines for row in line["worst"]} == set(violated)
    for line in lines:
        assert line["holds"] == (line["n_violated"] == 0) == (line["violation"] == 0) == (not line["worst"])
        for row in line["worst"]:
            expected = violated[row["label"]]
            assert (row["violation"], row["rho"]) == (expected.amount, expected.rho)
            assert row["admissibility"] == pytest.approx(expected.admissibility)
        if line["worst"]:
            assert line["violation"] == max(violated[row["label"]].amount for row in line["worst"])


def test_thousands_of_pairs_are_one_line_with_the_worst_few(rng):
    shared = rng.normal(size=(50, 1))
    X = shared + 0.4 * rng.normal(size=(50, 48))
    evidence = Evidence.from_sets(rng.random((20, 48)) < 0.5)
    wanted = [require(list(range(8))), max_size(8), decorrelate(0.2)]
    with pytest.warns(OptimizationWarning, match="No set satisfies all of: require x0; require x1; decorrelate x0, x1"):
        selection = decide(evidence, constraints=wanted, X=X)
    required, size, pairs = plain(constraint_facts(selection))
    assert pairs["n_inequalities"] > 1000
    assert (
        pairs["label"]
        == f"decorrelate: {pairs['n_inequalities']:,} pairs of correlated features, Spearman correlation above 0.2"
    )
    assert pairs["n_violated"] == 28
    assert len(pairs["worst"]) == 5
    costs = [row.admissibility for row in selection.metrics.violations]
    assert [row["admissibility"] for row in pairs["worst"]] == pytest.approx(costs[:5])
    assert required["rho"] == required["rho_highest"] == "hard"
    assert required["label"] == "require x0, x1, x2, x3, x4, x5 and 2 more"
    assert size["holds"]


@pytest.mark.parametrize(
    ("constraint", "label"),
    [
        (must_link(["a", "b", "c"]), "must-link a, b, c"),
        (implies(["a"], ["b", "c"]), "implies a -> b, c"),
        (exclude(["a", "b"]), "exclude a, b"),
        (exclude(["one", "two"], on="blocks"), "exclude one, two"),
        (implies(["a", "b"], ["c", "d"], rho=0.01), "implies a, b -> c, d"),
        (implies(["a", "b", "c", "d"], ["e", "f"], rho=0.01), "implies a, b, c, d -> e, f"),
    ],
)
def test_a_constraint_of_few_rows_is_spelled_out(constraint, label):
    evidence = Evidence.from_sets(np.eye(6, dtype=bool)[[0, 1, 2, 3, 3, 4, 5]], list("abcdef"))
    blocks = {"one": ["a"], "two": ["b", "c"]}
    selection = decide(evidence, constraints=[constraint, max_size(2, rho=9)], blocks=blocks)
    assert constraint_facts(selection)[0].label == label


def test_alternatives(summary, selection):
    assert len(summary["alternatives"]) == 4
    for stated, other in zip(summary["alternatives"], selection.alternatives, strict=True):
        assert stated["value"] == other.value
        assert stated["loss"] == selection.value - other.value
        assert stated["features"] == list(other.features)
        assert (set(selection.features) - set(stated["removed"])) | set(stated["added"]) == set(other.features)
        shared = len(set(selection.features) & set(other.features))
        union = len(set(selection.features) | set(other.features))
        assert stated["jaccard"] == pytest.approx(shared / union)
        assert stated["as_good"] is (stated["loss"] <= 1e-9)


def test_sets_that_are_as_good_are_stated():
    evidence = Evidence.from_sets(np.eye(3, dtype=bool), list("abc"))
    summary = summary_of(decide(evidence, constraints=max_size(1), n_alternatives=2), n_draws=0)
    assert [other["as_good"] for other in summary["alternatives"]] == [True, True]
    assert summary["verdict"][-1] == "At least 2 other sets are exactly as good: the choice among them is open."


def test_data_at_a_glance(summary):
    facts = summary["data"]
    assert (facts["n_samples"], facts["n_features"], facts["task"], facts["groups"]) == (60, 6, "binary", 20)
    assert (facts["file"], facts["target"], facts["n_constant"]) == ("cells.csv", "status", 0)
    assert sum(label["count"] for label in facts["classes"]) == 60
    assert [label["label"] for label in facts["classes"]] == ["ill", "well"]


@pytest.mark.parametrize("task", ["regression", "multilabel", "unsupervised"])
def test_every_kind_of_target(rng, task):
    X = pd.DataFrame(rng.normal(size=(30, 3)), columns=list("abc")).assign(dull=1.0)
    y = {"regression": rng.normal(size=30), "multilabel": rng.random((30, 2)) < 0.5, "unsupervised": None}[task]
    data = FeatureData.from_table(X, y, task=task)
    selection = decide(Evidence.from_sets(rng.random((9, 4)) < 0.6, list(X)), constraints=max_size(2), X=data)
    facts = summary_of(selection, data, n_draws=0)["data"]
    assert (facts["n_constant"], facts["constant"]) == (1, ["dull"])
    if task == "regression":
        assert facts["range"] == {"lowest": y.min(), "median": np.median(y), "highest": y.max()}
    elif task == "multilabel":
        assert [label["count"] for label in facts["classes"]] == y.sum(axis=0).tolist()
    else:
        assert (facts["classes"], facts["range"], facts["task"]) == ([], None, None)


def test_the_ensemble(summary, evidence):
    stated, expected = summary["ensemble"], stability(evidence.sets)
    assert (stated["n_models"], stated["n_voted"]) == (40, int((evidence.counts > 0).sum()))
    assert (stated["stability"]["value"], stated["stability"]["low"]) == (expected.value, expected.lower)
    assert stated["stability"]["high"] == expected.upper
    assert stated["set_sizes"] == {"smallest": 3, "median": 3.0, "largest": 3}
    assert (stated["selector"], stated["train_size"], stated["n_features_per_model"]) == (
        ["MRMR(classes='turns')"],
        0.75,
        3,
    )
    assert stated["grouped"] is True


def test_failures_and_single_models_are_stated(evidence):
    failures = tuple(RunFailure(run, "own", "ValueError: no") for run in (0, 4))
    broken = Evidence(evidence.sets[:1], evidence.feature_names, evidence.constant, failures=failures)
    stated = summary_of(decide(broken, constraints=max_size(2)), n_draws=0)["ensemble"]
    assert stated["stability"] is None
    assert (stated["n_failures"], stated["failures"]) == (2, [{"error": "ValueError: no", "times": 2}])


def test_settings_that_differ_between_merged_parts_are_not_stated_as_one(data, evidence):
    other = ubayfs.collect_evidence(data, selector="fisher", n_models=10, n_features_per_model=3, random_state=1)
    stated = summary_of(decide(evidence.merge(other), constraints=max_size(2)), n_draws=0)["ensemble"]
    assert stated["selector"] == ["MRMR(classes='turns')", "Fisher(classes='weighted')"]
    assert (stated["n_models"], stated["train_size"], stated["seed"]) == (50, 0.75, None)


def test_correlation_among_the_chosen(summary, selection, data):
    stated = summary["correlation"]
    assert stated["features"] == list(selection.features)
    ranks = pd.DataFrame(data.X[:, selection.indices]).rank().to_numpy()
    np.testing.assert_allclose(stated["matrix"], np.corrcoef(ranks.T), atol=1e-12)
    assert stated["redundancy"] == pytest.approx(selection.metrics.redundancy)
    strengths = [abs(pair["value"]) for pair in stated["strongest"]]
    assert strengths == sorted(strengths, reverse=True)
    first, second = (stated["features"].index(stated["strongest"][0][key]) for key in ("first", "second"))
    assert stated["strongest"][0]["value"] == pytest.approx(stated["matrix"][first][second])


def test_the_question_in_sentences(summary):
    text = " ".join(summary["question"])
    assert "Which of 6 features make the best set to tell two classes apart (status) on 60 samples?" in text
    assert "40 elementary models (mRMR) voted, each on 75 % of the groups, each selecting at most 3 features." in text
    assert (
        "Dirichlet prior. Weights stated by the expert, in votes: symmetry (12) and texture (4); all others have 0.01."
        in text
    )
    assert "2 blocks of features: size (2) and shape (3)." in text
    assert "max-size 3 (rho 4); must-link radius, area (rho 0.2)" in text


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (0.01, "Dirichlet prior, with the default weight of 0.01 votes for every feature: no opinion."),
        (2.0, "Dirichlet prior, with a weight of 2 votes for every feature: no preference."),
    ],
)
def test_a_prior_without_opinion_is_called_so(evidence, weights, sentence):
    selection = decide(evidence, weights=weights, constraints=max_size(3), min_votes=1)
    stated = summary_of(selection, n_draws=0)["question"]
    assert sentence in stated
    assert "Constraints: max-size 3 (hard)." in stated
    assert "A feature needed at least 1 vote unless its weight or hard constraints asked for it." in stated


def test_warnings_are_stated_once_each(evidence):
    with pytest.warns(OptimizationWarning) as caught:
        selection = decide(evidence)
    stated = summary_of(selection, n_draws=0, warnings=[warning.message for warning in caught])["warnings"]
    assert stated == summary_of(selection, n_draws=0)["warnings"]
    codes = [advice["code"] for advice in answer_of(selection)["advice"]]
    assert codes == ["many_features_per_model", "size_not_limited"]
    assert (len(stated), len(caught)) == (2, 1)


def test_warnings_carry_their_advice_and_no_text_is_compared(evidence):
    with pytest.warns(OptimizationWarning) as caught:
        selection = decide(evidence)
    (advice,) = selection.advice
    assert caught[0].message.advice == advice
    further = Advice("missing_letters", {"letters": "x"})
    given = [caught[0].message, "before", further, str(advice), further, "before", UserWarning("of another package")]
    summary = summary_of(selection, n_draws=0, warnings=given)
    codes = [entry["code"] for entry in summary["advice"]]
    assert codes == ["many_features_per_model", "size_not_limited", "missing_letters"]
    messages = [entry["message"] for entry in summary["advice"]]
    assert summary["warnings"] == ["before", str(advice), "of another package", *messages]


def test_the_lead_names_the_target_and_its_classes(selection, rng):
    X = rng.normal(size=(30, len(selection.feature_names)))
    data = FeatureData.from_table(X, ["ill", "well", "well"] * 10)
    lead = summary_of(selection, data, settings={"data": {"target": "diagnosis"}}, n_draws=0)["lead"]
    assert lead.startswith("Target: diagnosis (ill: 10 and well: 20). ")


def test_two_constraints_are_both():
    evidence = Evidence.from_sets(np.eye(4, dtype=bool), list("abcd"))
    summary = summary_of(decide(evidence, constraints=[max_size(2, rho=9), max_size(3)]), n_draws=0)
    assert summary["lead"].endswith(" Both constraints hold.")


def test_that_hard_constraints_hold_is_not_said_first():
    evidence = Evidence.from_sets(np.eye(4, dtype=bool), list("abcd"))
    summary = summary_of(decide(evidence, constraints=[max_size(2), max_size(3)]), n_draws=0)
    assert summary["lead"].endswith("voted.")


def test_favored_features_that_are_out_are_named_by_their_votes():
    """Of 20 favored features 18 are out; c and b have votes."""
    names = [*"abc", *(f"f{i}" for i in range(17)), "x", "y"]
    sets = [[name in {"x", "y"} or name in more for name in names] for more in ("a", "c", "c", "b", "")]
    evidence = Evidence.from_sets(sets * 5, names)
    selection = decide(evidence, weights=dict.fromkeys(names[:20], 0.5), constraints=max_size(2))
    text = " ".join(summary_of(selection, n_draws=0)["sentences"]["knowledge"])
    assert "0 are in the set; of the other 20, c (10), a (5) and b (5) have the most votes." in text


def test_a_tie_at_the_last_place_is_printed():
    """b and c have as many votes; with two more for b there is no tie."""
    for more, tied in ((0, ["c"]), (2, [])):
        sets = [[1, 1, 0, 0]] * (5 + more) + [[1, 0, 1, 0]] * 5 + [[1, 0, 0, 1]]
        selection = decide(Evidence.from_sets(sets, list("abcd")), constraints=max_size(2))
        answer = typed_answer_of(selection)
        assert list(answer.last_place) == tied
        printed = document_text(answer_document(answer, 20))
        assert ("The last place is a tie: c would do as well as b." in printed) == bool(tied)


def test_many_costs_are_summed_up():
    names = list("abcdefgh")
    costs = {name: 1.5 + i for i, name in enumerate(names)}
    selection = decide(Evidence.from_sets(np.eye(8, dtype=bool), names), constraints=ubayfs.cost_budget(costs, 9))
    summary = summary_of(selection, n_draws=0)
    (entry,) = summary["constraints"]
    assert entry["label"] == "cost budget 9 (costs of 8 features, 1.5 to 8.5 each)"
    assert entry["label"] in summary["methods"]["text"]


def test_a_long_list_is_one_line():
    names = [f"f{i}" for i in range(30)]
    stated = {name: {"weight": "likely", "source": "Atlas"} for name in names[:20]}
    selection = decide(Evidence.from_sets(np.eye(30, dtype=bool), names), weights=stated, constraints=max_size(2))
    question = summary_of(selection, n_draws=0)["question"]
    expected = "20 features likely (7.5 votes each; source: Atlas): f0, f1, f2 and 17 more"
    assert any(expected in line for line in question)


def test_given_warnings_come_first(summary):
    assert summary["warnings"][0] == "given before"


def test_members_without_a_vote_are_flagged():
    evidence = Evidence.from_sets([[True, False, False]] * 4, list("abc"))
    with pytest.warns(OptimizationWarning, match="No model voted"):
        selection = decide(evidence, constraints=[require("c"), max_size(2)])
    summary = summary_of(selection, n_draws=0)
    assert {record["feature"]: record["without_vote"] for record in summary["chosen"]} == {"a": False, "c": True}
    assert "No model voted for 1 of 2 selected features (c)" in summary["warnings"][0]
    (advice,) = summary["advice"]
    assert advice["code"] == "asked_for_without_votes"
    assert advice["facts"] == {"n_unvoted": 1, "n_chosen": 2, "features": ["c"]}  # values, no text
    assert advice["message"] == summary["warnings"][0]


def test_an_open_gap_is_not_called_a_proof(evidence):
    with pytest.warns(OptimizationWarning, match="time limit was reached"):
        selection = decide(evidence, constraints=[max_size(2), must_link(["radius", "area"])], optimizer=_Hasty())
    summary = summary_of(selection, n_draws=0)
    assert summary["proved"] is False
    assert "the best set found in the time given, at most 0.5 below the highest possible score" in summary["proof"]
    assert "the gap of 0.5 is not closed, so a better set may exist. The search was ended" in summary["verdict"][2]


def test_an_optimizer_without_a_bound_proves_nothing(evidence):
    selection = decide(evidence, constraints=max_size(2), optimizer=_Hasty(INF, True))
    summary = summary_of(selection, n_draws=0)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert (summary["bound"], summary["gap"], summary["proved"]) == (None, None, False)
    assert summary["proof"] == "Not proved: the best set found; a better one may exist."
    assert summary["verdict"][2] == "The optimizer gives no upper bound, so a better set may exist."


@dataclass
class _Hasty:
    gap: float = 0.5
    complete: bool = False

    def maximize(self, utility, random_state=None):
        best = Exact().maximize(utility, random_state)
        return replace(best, bound=best.value + self.gap, complete=self.complete)


def test_importances_without_an_ensemble():
    theta = pd.Series([0.5, 0.4, 0.3], index=["a", "b", "c"])
    summary = summary_of(maximize(theta, [max_size(2, rho=5)], n_alternatives=1))
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert [(record["feature"], record["count"]) for record in summary["chosen"]] == [("a", None), ("b", None)]
    assert all(record[key] is None for record in summary["chosen"] for key in ("weight", "low", "probability", "share"))
    assert summary["ensemble"] is None
    assert summary["sets"]["without_prior"] is None
    assert summary["question"][1] == "Importances were given; no ensemble was run."
    assert set(summary["displays"]) == {"penalty", "sizes"}


def test_a_selection_from_a_file_tells_what_it_knows(selection):
    read = Selection.from_dict(json.loads(json.dumps(selection.to_dict())))
    summary = summary_of(read)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["value"] == selection.value
    assert {record["feature"] for record in summary["chosen"]} == set(selection.features)
    assert all(record["reasons"] == [] for record in summary["chosen"])
    assert summary["displays"] == {}
    entries = summary_of(selection, n_draws=0)["constraints"]
    for found, expected in zip(summary["constraints"], entries, strict=True):
        assert found["n_inequalities"] is None
        for key in ("kind", "arguments", "holds", "n_violated", "violation", "admissibility", "worst"):
            assert found[key] == expected[key]


def test_kept_constraints_of_a_file_are_known_to_hold(evidence):
    selection = decide(evidence, constraints=max_size(2))
    summary = summary_of(Selection.from_dict(selection.to_dict()))
    assert [(line["label"], line["holds"]) for line in summary["constraints"]] == [("max_size(n=2, rho=hard)", True)]


def test_the_empty_set_has_a_summary(evidence):
    summary = summary_of(decide(evidence, constraints=max_size(0)), n_draws=2)
    assert summary["headline"] == "0 of 6 features were selected."
    assert summary["chosen"] == []
    assert summary["correlation"] is None


def test_without_draws_there_are_no_probabilities(selection):
    calls = []
    summary = summary_of(selection, n_draws=0, on_progress=lambda *call: calls.append(call))
    assert calls == []
    assert summary["n_draws"] == 0
    assert all(record["probability"] is None for record in summary["chosen"])


def test_draws_can_be_watched_and_cut_short(selection):
    summary = summary_of(selection, n_draws=9, on_progress=lambda done, total: done < 4)
    assert summary["n_draws"] == 4
    assert {4 * record["probability"] for record in summary["chosen"]} <= set(range(5))


def test_the_same_call_gives_the_same_summary(selection, data, summary):
    asked = {"data": {"path": "some/where/cells.csv", "target": "status"}, "decision": {"time_limit": INF}}
    arguments = {"n_draws": 12, "warnings": ["given before"], "created": "2024-05-06", "trust": made_trust(selection)}
    of_sizes = front(selection, sizes=[1, 2])
    again = summary_of(selection, data, settings=asked, blocks=BLOCKS, front=of_sizes, **arguments)
    assert again == summary


def test_the_study_and_what_it_ran_with(summary, selection):
    assert summary["study"]["decision"] == {"time_limit": "inf"}
    assert summary["versions"]["numpy"] == np.__version__
    assert summary["decision"]["constraints"] == selection.provenance["constraints"]


def test_the_citation_is_that_of_the_project():
    from pathlib import Path

    import yaml

    path = Path(__file__).parents[2] / "CITATION.cff"
    paper = yaml.safe_load(path.read_text(encoding="utf-8"))["preferred-citation"]
    citation = summary_of(maximize([1.0, 0.5], max_size(1)))["citation"]
    assert citation["doi"] == paper["doi"]
    for fact in (paper["title"], paper["journal"], paper["volume"], paper["year"], paper["start"], paper["end"]):
        assert str(fact) in citation["text"]
        assert str(fact).split(" (")[0].replace("Bayesian", "{B}ayesian") in citation["bibtex"]
    for author in paper["authors"]:
        assert author["family-names"] in citation["text"]
        assert author["family-names"] in citation["bibtex"]


def test_displays_can_be_drawn_from_the_summary(summary):
    content = json.loads(json.dumps(summary["displays"]))
    assert set(content) == set(DISPLAYS)
    for name, stated in content.items():
        assert DISPLAYS[name].from_dict(stated).to_dict() == stated


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"selection": "radius"}, "selection must be a Selection, as decide"),
        ({"n_draws": -1}, "n_draws must be a whole number >= 0; got -1"),
        ({"data": np.zeros((4, 2))}, "X must have one column per feature, 6; got 2"),
    ],
)
def test_wrong_arguments_are_named(selection, arguments, message):
    with pytest.raises(InputError, match=message):
        summary_of(**{"selection": selection, **arguments})


def test_plain_values():
    assert plain({"a": [np.float64(np.nan), np.bool_(True), {1}], "b": np.arange(2)}) == {
        "a": ["nan", True, [1]],
        "b": [0, 1],
    }
    assert listing([]) == ""
    assert listing(["a"]) == "a"
    assert [rounded(x) for x in (0.0, -1.25, 99.95, 1e-12, 123456.7)] == ["0", "-1.25", "100", "1e-12", "123,457"]


# Ties


def exchanged_without_loss(selection):
    """Return the members that brute force can exchange for another feature."""
    names = set(selection.feature_names)
    return {
        name
        for name in selection.features
        for other in names - set(selection.features)
        if selection.evaluate({*selection.features, other} - {name}).utility >= selection.value - 1e-9
    }


@settings(max_examples=examples(30))
@given(
    counts=st.lists(st.sampled_from([1, 2, 4]), min_size=6, max_size=6),
    constraint=st.sampled_from([must_link(["a", "b"]), require("c"), implies(["d"], ["e"], rho=0.4)]),
    n_alternatives=st.sampled_from([0, 3]),
)
def test_members_that_could_be_exchanged_are_tied(counts, constraint, n_alternatives):
    sets = np.arange(4)[:, None] < np.array(counts)
    evidence = Evidence.from_sets(sets, list("abcdef"))
    constraints = [max_size(3), constraint]
    selection = decide(evidence, constraints=constraints, n_alternatives=n_alternatives)
    summary = summary_of(selection, n_draws=0)
    tied = {record["feature"] for record in summary["chosen"] if record["tied"]}
    by_alternatives = {name for other in summary["alternatives"] if other["as_good"] for name in other["removed"]}
    assert tied == exchanged_without_loss(selection) | by_alternatives
    assert (["tie"] in [entry["marks"] for entry in summary["legend"]]) == bool(tied)
    assert bool(tied) == any(stated.startswith("Ties: ") for stated in summary["sentences"]["knowledge"])
    assert "equally good" in " ".join(summary["sentences"]["knowledge"] + summary["notes"]["knowledge"])


def test_simulated_importances_tie_within_their_error():
    sets = np.zeros((40, 6), dtype=bool)
    sets[:, 0] = True
    sets[np.arange(40), 1 + np.arange(40) % 4] = True
    evidence = Evidence.from_sets(sets, list("abcdef"))
    selection = decide(evidence, prior=Hyperdirichlet(), constraints=max_size(2), random_state=0)
    tied = {record["feature"]: record["tied"] for record in summary_of(selection, n_draws=0)["chosen"]}
    assert tied.pop("a") is False
    assert list(tied.values()) == [True]


# What the expert said


def test_what_is_held_unlikely_is_stated_as_prior(evidence):
    unlikely = replace(exclude(["radius", "area"], rho=1.0), from_prior=True)
    selection = decide(evidence, constraints=[max_size(3), unlikely])
    summary = summary_of(selection, n_draws=0)
    assert summary["prior"]["unlikely"] == ["radius", "area"]
    assert (
        "Dirichlet prior, with the default weight of 0.01 votes for every feature. Unlikely: radius and area."
        in (summary["question"])
    )
    assert "Constraints: max-size 3 (hard)." in summary["question"]
    lines = [(line["label"], line["kind"], line["from_prior"]) for line in summary["constraints"]]
    assert lines == [("max-size 3", "max_size", False), ("unlikely: radius and area", "exclude", True)]
    assert np.prod([line["admissibility"] for line in summary["constraints"]]) == pytest.approx(
        selection.metrics.admissibility
    )


def test_words_of_the_scale_are_shown_as_written(evidence):
    weights = {"texture": "very likely", "area": 10, "symmetry": "likely", "concavity": 3, "radius": "neutral"}
    selection = decide(evidence, weights=weights, constraints=max_size(3))
    study = SimpleNamespace(
        data=None,
        decision=Decision(blocks=BLOCKS, random_state=0),
        version_advice=(),
        study=SimpleNamespace(folder=Path("studies"), outputs=SimpleNamespace(directory="my results")),
        standalone=SimpleNamespace(to_dict=lambda: {"title": "What experts know"}),
    )
    summary = summary_of(selection, study=study, n_draws=0)
    assert summary["facts"][0]["command"] == "ubayfs trust . --level full"  # wherever the result is moved to
    assert summary["title"] == "What experts know"
    importance = selection.posterior.blocks(BLOCKS, 0.9)
    n_selected = [len(set(members) & set(selection.features)) for members in BLOCKS.values()]
    ends = zip(importance.mean, importance.lower, importance.upper, strict=True)
    expected = [("size", 2, n_selected[0], *next(ends)), ("shape", 3, n_selected[1], *next(ends))]
    assert [tuple(block.values()) for block in summary["blocks"]] == expected
    assert set(summary["displays"]["blocks"]["blocks"]) == set(BLOCKS)
    assert summary["prior"]["words"] == {"texture": "very likely", "symmetry": "likely"}
    stated = next(sentence for sentence in summary["question"] if "prior" in sentence)
    assert stated == (
        "Dirichlet prior. Weights stated by the expert, in votes: texture: very likely (40 votes), area (10), "
        "symmetry: likely (10 votes) and concavity (3); all others have 0.01."
    )


def test_settings_of_decorrelate_and_costs_are_stated(rng):
    X = rng.normal(size=(40, 3))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    evidence = Evidence.from_sets(rng.random((20, 3)) < 0.6, ["mri", "ct", "blood"])
    constraints = [decorrelate(0.9, method="pearson"), cost_budget({"mri": 400, "blood": 25}, budget=410), max_size(2)]
    selection = decide(evidence, constraints=constraints, X=X)
    labels = [line["label"] for line in summary_of(selection, n_draws=0)["constraints"]]
    assert "decorrelate: 1 pair of correlated features, Pearson correlation above 0.9" in labels
    assert "cost budget 410 (costs: mri 400, blood 25)" in labels


def test_no_threshold_is_stated_for_the_wrong_rows(rng):
    X = rng.normal(size=(40, 3))
    X[:, 1] = X[:, 0] + 0.4 * X[:, 1]
    constraints = [decorrelate(0.999), decorrelate(0.8), max_size(2)]
    selection = decide(Evidence.from_sets(rng.random((20, 3)) < 0.6), constraints=constraints, X=X)
    labels = [line["label"] for line in summary_of(selection, n_draws=0)["constraints"]]
    assert labels == [
        "decorrelate: no pair with a Spearman correlation above 0.999",
        "decorrelate: 1 pair of correlated features, Spearman correlation above 0.8",
        "max-size 2",
    ]


def test_decorrelate_without_a_correlated_pair_is_still_stated(rng):
    X = rng.normal(size=(200, 3))
    evidence = Evidence.from_sets(rng.random((20, 3)) < 0.6)
    summary = summary_of(decide(evidence, constraints=[decorrelate(0.9), max_size(2)], X=X), n_draws=0)
    assert any("decorrelate: no pair with a Spearman correlation above 0.9" in stated for stated in summary["question"])
    assert [line["holds"] for line in summary["constraints"]] == [True, True]


def test_missing_values_are_stated(rng):
    X = rng.normal(size=(20, 3))
    X[3:5, 0] = X[:5, 2] = np.nan
    data = FeatureData.from_table(X, rng.integers(0, 2, 20), missing="median", max_missing=0.2)
    summary = summary_of(decide(Evidence.from_sets(rng.random((9, 3)) < 0.6), constraints=max_size(2)), data, n_draws=0)
    assert summary["data"]["missing"] == {
        "rule": "median", "n_values": 7, "n_samples": 5, "n_features": 2, "features": ["x0", "x2"],
        "words": str(data.notes[0]).replace("missing values", "Missing values", 1),
    }  # fmt: skip
    assert summary["notes"]["data"][0] == summary["data"]["missing"]["words"]  # once: no row of the table repeats it
    assert json.loads(json.dumps(summary)) == summary


def test_a_member_without_vote_is_not_of_the_data():
    evidence = Evidence.from_sets([[1, 1, 0, 0, 0]] * 5, list("abcde"))
    with pytest.warns(OptimizationWarning, match="No model voted"):
        selection = decide(evidence, constraints=[exact_size(4)], min_votes=0)
    summary = summary_of(selection, n_draws=0)
    stated = {record["feature"]: (record["reasons"], record["data_alone"]) for record in summary["chosen"]}
    assert stated["a"] == stated["b"] == (["data"], True)
    assert stated["c"] == stated["d"] == (["fill"], False)
    assert summary["sets"]["data_alone"]["removed"] == ["c", "d"]
    assert summary["sentences"]["knowledge"][:2] == [
        "2 of 4 selected features are there by their votes. c and d fill places: no model selected them.",
        "No weights were stated.",
    ]


def test_what_only_the_prior_speaks_for_is_not_chosen_without_it():
    evidence = Evidence.from_sets([[1, 1, 0, 0, 0]] * 5, list("abcde"))
    with pytest.warns(OptimizationWarning, match="No model voted"):
        selection = decide(evidence, weights={"d": 3}, constraints=exact_size(3))
    summary = summary_of(selection, n_draws=0)
    stated = {record["feature"]: (record["reasons"], record["without_prior"]) for record in summary["chosen"]}
    assert stated == {"a": (["data"], True), "b": (["data"], True), "d": (["weight"], False)}
    by_votes = "2 of 3 selected features are there by their votes. Your weights brought in d."
    assert summary["sentences"]["knowledge"][0] == by_votes
    assert summary["sets"]["without_prior"]["filling"] == ["d"]
    without = "No model selected d: without its weight anything would do in its place."
    assert without in summary["sentences"]["knowledge"]


# One entry per constraint


def test_two_constraints_of_one_kind_are_two_entries_with_their_own_numbers(rng):
    X = rng.normal(size=(60, 4))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    given = [decorrelate(0.9), decorrelate(0.999999), max_size(2)]
    selection = decide(Evidence.from_sets(rng.random((20, 4)) < 0.6), constraints=given, X=X)
    entries = summary_of(selection, n_draws=0)["constraints"]
    assert [(entry["kind"], entry["arguments"].get("threshold")) for entry in entries] == [
        ("decorrelate", 0.9), ("decorrelate", 0.999999), ("max_size", None)
    ]  # fmt: skip
    assert [entry["n_inequalities"] for entry in entries] == [1, 0, 1]
    none = entries[1]
    assert (none["holds"], none["rho"], none["rho_highest"], none["admissibility"]) == (True, None, None, 1.0)


def test_an_exact_size_is_one_entry_of_two_inequalities(evidence):
    (entry,) = summary_of(decide(evidence, constraints=exact_size(4)), n_draws=0)["constraints"]
    assert (entry["label"], entry["n_inequalities"], entry["arguments"]["n"]) == ("exact-size 4", 2, 4)


def test_what_the_user_wrote_stands_beside_the_constraint(evidence):
    written = replace(exclude(["radius", "area"]), note="r* and a*")
    selection = decide(evidence, constraints=[max_size(3), written])
    for found in (selection, Selection.from_dict(selection.to_dict())):
        entry = summary_of(found, n_draws=0)["constraints"][1]
        assert entry["note"] == "r* and a*"
        assert entry["label"] == f"{entry['title']} (r* and a*)"


# What one decision passes on to the next


def test_an_earlier_summary_lends_what_the_data_would_tell(data, evidence, monkeypatch):
    constraints = [max_size(3), must_link(["radius", "area"], rho=0.2)]
    with_data = summary_of(decide(evidence, constraints=constraints, X=data), data, blocks=BLOCKS, n_draws=0)
    smaller = decide(evidence, constraints=[max_size(2)])
    assert summary_of(smaller, n_draws=0)["correlation"] is None
    lent = summary_of(smaller, blocks=BLOCKS, n_draws=0, earlier=read(json.loads(json.dumps(with_data))))
    expected = summary_of(decide(evidence, constraints=[max_size(2)], X=data), data, blocks=BLOCKS, n_draws=0)
    assert lent["data"] == expected["data"]
    assert lent["displays"] == expected["displays"]
    assert lent["correlation"]["strongest"] == expected["correlation"]["strongest"]
    assert lent["correlation"]["redundancy"] == pytest.approx(expected["correlation"]["redundancy"])


def test_an_answer_is_part_of_the_summary_and_not_computed_twice(selection, data, monkeypatch):
    given = typed_answer_of(selection, blocks=BLOCKS)
    monkeypatch.setattr("ubayfs.report.summary.attribution", None)
    summary, known = summary_of(selection, data, blocks=BLOCKS, n_draws=0, answer=given), plain(given)
    for key in set(known) - {"chosen", "constraints"}:
        assert summary[key] == known[key]
    later = {
        "chosen": (
            *("low", "high", "tied", "substitute", "substitute_votes", "substitute_cost", "replaceable"),
            *("hazard_ratio", "beyond", "marks", "category", "effect", "effect_kind", "highest_in"),
            "effect_clear",
        ),
        "constraints": (
            "cost",
            "cost_votes",
            "cost_bound",
            "cost_bound_votes",
            "added_without",
            "removed_without",
            "one_more",
        ),
    }
    for part, keys in later.items():
        for record, short in zip(summary[part], known[part], strict=True):
            assert {**short, **{key: record[key] for key in keys}} == record


def test_a_constraint_with_rho_zero_is_left_out_and_not_counted_as_holding():
    evidence = Evidence.from_sets(np.eye(4, dtype=bool), list("abcd"))
    selection = decide(evidence, constraints=[max_size(1, rho=0), max_size(3)])
    first, second = summary_of(selection, n_draws=0)["constraints"]
    assert (first["left_out"], first["n_inequalities"]) == (True, 0)
    assert (second["left_out"], second["holds"]) == (False, True)
    assert summary_of(selection, n_draws=0)["lead"].endswith(" The constraint holds.")


def test_a_constraint_that_is_left_out_is_not_counted_among_those_that_are_violated():
    evidence = Evidence.from_sets(np.eye(4, dtype=bool), list("abcd"))
    constraints = [max_size(1, rho=0), max_size(2), exact_size(4, rho=0.5), max_size(3)]
    summary = summary_of(decide(evidence, constraints=constraints), n_draws=0)
    assert summary["lead"].endswith(" 1 of 3 constraints is violated.")
    assert "1 of 3 constraints is violated" in summary["sentences"]["constraints"][0]
