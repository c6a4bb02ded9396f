"""What a summary says of other samples: every number from its source, every state in words."""

import csv
import io
import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

import ubayfs
from summaries import answer_of, read, summary_of
from trusts import made_related, made_trust, made_validation
from ubayfs import (
    Evidence,
    Genetic,
    cannot_link,
    collect_evidence,
    decide,
    decorrelate,
    max_per_block,
    max_size,
    maximize,
    require,
)
from ubayfs._plain import plain
from ubayfs.explain import agreement, constraint_costs, left_out, substitutes
from ubayfs.explain.attribution import attribution
from ubayfs.report import render_csv
from ubayfs.report.answer_facts import replacements, what_is_out
from ubayfs.report.facts import ChosenFeature, LeftOutFact, TrustFacts
from ubayfs.report.feature_sentences import replacement, why_out
from ubayfs.report.trust_facts import related_facts, reproducibility_facts, validation_facts
from ubayfs.report.trust_sentences import three_facts, validation_sentences
from ubayfs.trust.reproducibility import HalvesAgreement, Reproducibility, WithWeights
from ubayfs.trust.validation import OURS

PARTS = ["validation", "related", "reproducibility"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 12))
    X[:, 1] = X[:, 0] + 0.05 * X[:, 1]
    return X, (X[:, 0] + X[:, 2] > 0).astype(int)


@pytest.fixture(scope="module")
def selection(data):
    X, y = data
    evidence = collect_evidence(X, y, selector="mrmr", n_models=30, n_features_per_model=3, random_state=0)
    constraints = [max_size(4), cannot_link(["x0", "x1"], rho=2.0)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ubayfs.exceptions.OptimizationWarning)  # members without votes
        return decide(evidence, weights={"x5": 30, "x0": 8}, constraints=constraints, X=X)


@pytest.fixture(scope="module")
def trust(selection):
    return made_trust(selection)


@pytest.fixture(scope="module")
def summary(selection, trust):
    return summary_of(selection, n_draws=0, trust=trust)


def fact(summary, part):
    return next(found for found in summary["facts"] if found["fact"] == part)


def words(summary, part):
    return " ".join(fact(summary, part)["sentences"])


def test_the_three_facts_come_in_the_order_of_a_report(summary, selection, trust):
    assert [found["fact"] for found in summary["facts"]] == PARTS
    assert {found["state"] for found in summary["facts"]} == {"known"}
    assert summary["facts"] == answer_of(selection, trust=trust)["facts"]
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_numbers_are_those_of_their_sources(summary, selection, trust):
    facts, again, related = summary["trust"], trust.reproducibility, trust.related
    for key in ("at_least", "best_guess", "without_list", "n_related_of_all"):
        assert facts["related"][key] == getattr(related.of(selection.features), key)
    assert (facts["reproducibility"]["lower"], facts["reproducibility"]["upper"]) == (again.lower, again.upper)
    assert facts["reproducibility"]["selected_again"] == list(again.selected_again)
    ours = trust.validation.scores.iloc[0]
    assert (facts["validation"]["mean"], facts["validation"]["upper"]) == (ours["mean"], ours["upper"])
    assert len(facts["validation"]["scores"]) == len(trust.validation.scores)
    assert [row["size"] for row in facts["validation"]["sizes"]] == [1, 2, 4]
    for record in summary["chosen"]:
        i = record["position"]
        assert (record["q"], record["related"]) == (related.q_values[i], related.q_values[i] <= 0.1)
        assert record["selected_again"] == again.labels[i]
        assert (record["half_low"], record["half_high"]) == tuple(again.vote_share[i])


def test_explanations_are_those_of_the_functions(summary, selection):
    found = {entry.feature: entry for entry in substitutes(selection)}
    assert {entry["feature"] for entry in summary["substitutes"]} == set(selection.features)
    for record in summary["chosen"]:
        other = found[record["feature"]]
        assert (record["substitute"], record["substitute_cost"]) == (list(other.added), other.loss_votes)
    fewest = max(min(record["count"] for record in summary["chosen"]), 1)
    assert [entry["feature"] for entry in summary["left_out"]] == [
        entry.feature for entry in left_out(selection) if entry.count >= fewest
    ]
    for entry, cost in zip(summary["constraints"], constraint_costs(selection), strict=True):
        assert (entry["cost_votes"], entry["added_without"]) == (cost.gain_votes, list(cost.added))
    expected = agreement(selection)
    assert summary["agreement"]["p_value"] == expected.p_value
    assert summary["agreement"]["at"]["half"] == list(expected.at["half"])


def test_explanations_draw_from_a_generator_in_their_order(rng):
    evidence = Evidence.from_sets(rng.random((20, 30)) < 0.3)
    search = Genetic(n_sets=4, n_generations=2)  # so few that chance decides
    selection = decide(evidence, weights={"x0": 5.0}, constraints=max_size(5), optimizer=search, random_state=0)
    explained, drawn = np.random.default_rng(3), np.random.default_rng(3)
    votes = dict(zip(selection.feature_names, selection.counts.tolist(), strict=True))
    assert plain(replacements(selection, explained)) == [
        {**plain(entry), "added_votes": [votes[name] for name in entry.added]}
        for entry in substitutes(selection, drawn)
    ]
    assert what_is_out(selection, explained)[1] == constraint_costs(selection, drawn)


def test_a_pair_of_stand_ins_is_alike_and_listed_once(rng):
    X = rng.normal(size=(50, 4))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    evidence = Evidence.from_sets([[1, 0, 1, 0]] * 18 + [[0, 1, 0, 1]] * 12, list("abcd"))
    selection = decide(evidence, constraints=max_size(3), X=X)
    summary = summary_of(selection, n_draws=0)
    every = {frozenset({entry.feature, s.feature}): s for entry in substitutes(selection) for s in entry.stand_ins}
    assert {pair for pair, other in every.items() if other.clear} > {frozenset("ab")}
    (pair,) = summary["stand_ins"]
    assert (pair["member"], pair["member_votes"], pair["feature"], pair["votes"]) == ("a", 18, "b", 12)
    assert pair["votes_either"] == 30
    pair = "a 18 votes, b 12, either 30: they measure the same thing; "
    assert summary["sentences"]["substitutes"][-1] == f"{pair}both are selected."
    fewer = summary_of(decide(evidence, max_size=2, X=X), n_draws=0)["sentences"]["substitutes"]
    assert f"{pair}a stands for both." in fewer


def test_how_it_predicts_is_reported_with_the_hardest_baseline(summary, trust):
    ours = trust.validation.scores.iloc[0]
    assert fact(summary, "validation")["value"] == f"AUC {ours['mean']:.2f}"
    assert f"On held-out samples: AUC {ours['mean']:.2f} ({ours['lower']:.2f} to" in words(summary, "validation")
    assert "No clear difference from all features: " in words(summary, "validation")
    section = summary["sentences"]["validation"]
    assert "Better than as many random features: +" in words(summary, "validation")
    assert "Better than as many random features." in section
    assert "No clear difference from all features." in section
    alone = validation_sentences(validation_facts(trust.validation))
    assert alone[0] in words(summary, "validation")
    assert [line.split(":")[0] for line in alone[1:3]] == [
        "Better than as many random features", "No clear difference from all features"
    ]  # fmt: skip
    assert alone[-1] == section[-1]  # on the sizes


def test_a_baseline_that_chooses_the_same_sets_is_not_the_hardest_one(selection, trust):
    """Without weights and constraints most votes are what is chosen: nothing is learned from it."""
    others = [row for row in trust.validation.records if row.method == OURS]
    rounded = [replace(row, method="most votes", score=row.score * (1 + 4e-16 * (-1) ** row.fold)) for row in others]
    same = (*trust.validation.records, *rounded)
    validation = replace(trust.validation, records=same)
    summary = summary_of(selection, n_draws=0, trust=replace(trust, validation=validation))
    assert "most votes" not in words(summary, "validation")
    assert (
        "The same score in every fold with as many features by votes (no weights or other constraints)."
        in summary["sentences"]["validation"]
    )


def test_intervals_are_of_values_that_a_score_can_have(trust):
    perfect = tuple(replace(row, score=1.0 - 0.3 * (row.fold == 0)) for row in trust.validation.records)
    scores = replace(trust.validation, records=perfect).scores
    assert (scores.query("metric == 'auc'")["upper"] < 1).all()
    assert (scores.query("metric == 'balanced_accuracy'")["upper"] == 1).all()
    assert (scores["lower"] >= 0).all()


def test_a_worse_set_is_called_worse(selection, trust):
    better = tuple(
        replace(record, score=record.score + 0.3 * (record.method == "random")) for record in trust.validation.records
    )
    validation = replace(trust.validation, records=better)
    summary = summary_of(selection, n_draws=0, trust=replace(trust, validation=validation))
    assert "Worse than as many random features: -" in words(summary, "validation")


def facts_of(trust):
    return plain(three_facts(read(plain(trust), TrustFacts)))


def with_related(**changes):
    known = {
        "state": "known", "n_done": 1000, "n_asked": 1000, "failures": [], "at_least": 7, "best_guess": 8, "size": 10,
        "without_list": None, "n_related_of_all": 12, "n_features": 400, "n_shuffles": 1000, "n_listed": 0,
        "confidence": 0.9, "limit": 0.1, "adjust_for": [],
    }  # fmt: skip
    missing = {"state": "missing", "reason": None}
    trust = {"level": None, "result": None, "n_chosen": 10, "validation": missing, "reproducibility": missing}
    return {**trust, "related": known | changes}


LIST = ", if your list was stated before any votes were seen; "


@pytest.mark.parametrize(
    ("changes", "value", "sentence"),
    [
        ({}, "at least 7 of 10", "At least 7 of these 10 are related to the target (90 % confidence). Best guess: 8."),
        ({"best_guess": 7}, "at least 7 of 10", "At least 7 of these 10 are related to the target (90 % confidence)."),
        ({"at_least": 10}, "all 10", "All 10 are related to the target (90 % confidence)."),
        (
            {"at_least": 0},
            "none shown",
            "None of these 10 could be shown to be related to the target. They may be chance findings.",
        ),
        (
            {"at_least": 5, "without_list": 1, "best_guess_without_list": 2},
            "at least 5 of 10",
            f"At least 5 of these 10 are related to the target (90 % confidence; best guess: 8){LIST}at least 1 (best "
            "guess: 2) without it.",
        ),
        (
            {"at_least": 5, "best_guess": 5, "without_list": 5},
            "at least 5 of 10",
            f"At least 5 of these 10 are related to the target (90 % confidence){LIST}as many without it.",
        ),
        (
            {"at_least": 5, "best_guess": 5, "without_list": 0},
            "at least 5 of 10",
            f"At least 5 of these 10 are related to the target (90 % confidence){LIST}none could be shown without it.",
        ),
        (
            {"at_least": 0, "without_list": 2},
            "none shown",
            f"None of these 10 could be shown to be related to the target{LIST}at least 2 without it.",
        ),
        (
            {"size": 1, "at_least": 1, "best_guess": 1},
            "yes",
            "This feature is related to the target (90 % confidence).",
        ),
        (
            {"size": 1, "at_least": 0},
            "none shown",
            "This feature could not be shown to be related to the target. It may be a chance finding.",
        ),
    ],
)
def test_related_in_words(changes, value, sentence):
    found = facts_of(with_related(**changes))[1]
    assert found["value"] == value
    meaning = "Related means: differs with the target, by itself. It need not be a cause."
    assert found["sentences"] == [sentence, meaning]


def test_the_best_guess_without_the_list_is_that_of_the_p_values_alone(selection):
    listed, plain = (made_related(selection, favored) for favored in (("x1", "x2", "x3"), ()))
    assert listed.best_guess_without_list == plain.best_guess
    assert plain.best_guess_without_list is None
    facts = related_facts(listed, selection.features)
    assert facts.best_guess_without_list == plain.best_guess


def test_the_legend_says_whether_q_counts_the_list(selection):
    for favored, said in ((("x1", "x2", "x3"), True), ((), False)):
        trust = replace(made_trust(selection), related=made_related(selection, favored))
        notes = summary_of(selection, n_draws=0, trust=trust)["notes"]["chosen"]
        assert any("given that your list was stated" in line for line in notes) == said


def test_a_set_that_is_larger_than_the_data_support_says_so():
    for more, words in (({}, "The data"), ({"without_list": 1}, "The data and your list")):
        lines = facts_of(with_related(n_supported=6, **more))[1]["sentences"]
        assert lines[1].startswith(f"{words} support 6 features. The other 4 are in the set by score alone")
    assert not any("support" in line for line in facts_of(with_related())[1]["sentences"])


def test_related_says_what_was_adjusted_for():
    found = facts_of(with_related(adjust_for=["age", "sex"]))[1]
    assert found["sentences"][1] == (
        "Related means: differs with the target, by itself, after adjustment for age and sex. It need not be a cause."
    )


@pytest.mark.parametrize(
    ("changes", "again", "both"),
    [
        ({"at_least": 9, "n_related_of_all": 150}, [2, 5], True),
        ({"at_least": 7, "n_related_of_all": 150}, [2, 5], False),
        ({"at_least": 9, "n_related_of_all": 150}, [7, 9], False),
        ({"at_least": 9, "n_related_of_all": 12}, [2, 5], False),
    ],
)
def test_sets_that_are_related_and_not_selected_again_are_reconciled(changes, again, both):
    known = {"state": "known", "n_done": 20, "n_asked": 20, "failures": [], "size": 10, "selected_again": again}
    facts = {**with_related(**changes), "reproducibility": known | {"interval": [-0.1, 0.5]}}
    expected = (
        "Both are true: at least 150 of 400 features are related to the target, and another study would select others "
        "of them that do equally well."
    )
    sentences = facts_of(facts)[2]["sentences"]
    assert (expected in sentences) == both
    assert not (both and any("chance" in sentence for sentence in sentences))


@pytest.mark.parametrize(
    ("again", "value", "sentence"),
    [
        ([2.2, 3.4], "2 to 3 of 10", "2 to 3 of these 10 would be selected again"),
        ([0.4, 1.8], "up to 2 of 10", "up to 2 of these 10 would be selected again"),
        ([6.6, 7.1], "about 7 of 10", "about 7 of these 10 would be selected again"),
        ([-0.1, 0.3], "hardly any of 10", "hardly any of these 10 would be selected again"),
    ],
)
def test_what_would_be_selected_again_in_words(again, value, sentence):
    known = {"state": "known", "n_done": 20, "n_asked": 20, "failures": [], "size": 10, "selected_again": again}
    for lowest, more in ((0.1, ""), (-0.1, ", which is not clearly more than by chance")):
        facts = {**with_related(), "reproducibility": known | {"interval": [lowest, 0.5]}}
        found = facts_of(facts)[2]
        assert found["value"] == value
        assert found["sentences"] == [f"In a new study of this size, {sentence}{more}."]


@pytest.mark.parametrize(
    ("again", "may"),
    [([0.0, 0.2], "would rarely"), ([0.0, 0.75], "may or may not"), ([0.6, 0.9], "would probably")],
)
def test_one_feature_is_probably_selected_again_only_where_the_whole_range_says_so(again, may):
    known = {"state": "known", "n_done": 20, "n_asked": 20, "failures": [], "size": 1, "selected_again": again}
    one = with_related(size=1, at_least=1, n_related_of_all=1)
    by_chance = "" if may == "would probably" else ", and it may have been selected by chance"
    for lowest, more in ((0.1, ""), (-0.1, by_chance)):
        trust = {**one, "reproducibility": known | {"interval": [lowest, 1]}}
        expected = [f"In a new study of this size, this feature {may} be selected again{more}."]
        assert facts_of(trust)[2]["sentences"] == expected


@pytest.mark.parametrize(
    ("fewest", "best", "sentence"),
    [
        (2, 8, "Of the sizes compared, 8 features predict best; 2 would predict as well, within one standard error."),
        (1, 1, "Of the sizes compared, 1 feature predicts best."),
    ],
)
def test_sizes_that_predict_as_well_as_the_best(trust, fewest, best, sentence):
    found = replace(validation_facts(trust.validation), one_se_size=fewest, best_size=best)
    assert validation_sentences(found)[-1] == sentence


def test_folds_without_a_score_are_nothing_to_rest_on(trust):
    found = replace(validation_facts(trust.validation), mean=None, state="partial", failures=("y is constant",))
    (first, *more) = facts_of({**with_related(), "validation": found})[0]["sentences"]
    assert first.startswith("No score can be computed in any fold")
    assert not more


def selected_again_facts(**facts):
    known = {"state": "known", "n_done": 20, "n_asked": 20, "failures": [], "interval": [0.1, 1]}
    return facts_of({**with_related(), "reproducibility": known | facts})[2]


def test_what_rules_and_weights_bring_in_is_not_counted():
    found = selected_again_facts(size=6, selected_again=[1.2, 3.1], stand_ins=[3, 5.2], by_rule=["a", "b"])
    assert found["value"] == "1 to 3 of 6"
    assert found["sentences"] == [
        "In a new study of this size, 1 to 3 of the 6 that the data selected would be selected again (3 to 5 if a "
        "close stand-in, with a correlation above 0.8, counts).",
        "The other 2 are not counted: your rules ask for 2.",
    ]
    without = {"size": 10, "selected_again": [1.1, 2.2]}
    with_weights = {"size": 7, "selected_again": [3.3, 6.2]}
    found = selected_again_facts(
        size=6, selected_again=[0.2, 0.3], stand_ins=[0.1, 0.3], by_rule=["a"], by_weight=["b"], without_prior=without,
        with_weights=with_weights,
    )  # fmt: skip
    assert found["value"] == "hardly any of 6 by the data alone"
    assert found["sentences"] == [
        "In a new study of this size, hardly any of the 6 that the data selected would be selected again by the data "
        "alone.",
        "With your weights, which favor the same features in every study, right or wrong, 3 to 6 of 7 would be.",
    ]


def test_where_the_data_brought_nothing_it_is_said():
    found = selected_again_facts(size=0, selected_again=[None, None], by_rule=["a"], by_weight=["b", "c"])
    assert found["value"] == ""
    assert found["sentences"] == [
        "None of these 3 counts as selected by the data: your rules ask for 1 and your weights brought in 2."
    ]
    found = selected_again_facts(size=0, selected_again=[0, 0], by_weight=["b"])
    assert found["sentences"] == ["This feature does not count as selected by the data: your weights brought it in."]


def test_what_is_missing_names_the_function_that_finds_it_out(selection):
    facts = summary_of(selection, n_draws=0)["facts"]
    assert {found["state"] for found in facts} == {"missing"}
    calls = (
        "validate(selection, X, y)",
        "estimate_related(selection, X, y)",
        "estimate_reproducibility(selection, X, y)",
    )
    for found, call in zip(facts, calls, strict=True):
        assert found["command"] == f"ubayfs.{call}"
        assert callable(getattr(ubayfs, call.partition("(")[0]))


def test_what_rests_on_a_part_says_so(selection, trust):
    validation = replace(made_validation(selection.feature_names), n_repeats=4, failures=("repeat 3: no set",))
    summary = summary_of(selection, n_draws=0, trust=replace(trust, validation=validation))
    assert "This rests on 6 of 12 folds. The others could not be used: repeat 3: no set" in words(summary, "validation")
    assert fact(summary, "reproducibility")["state"] == "known"


def test_what_has_no_meaning_is_not_asked_for(data):
    X, _ = data
    unsupervised = collect_evidence(X, selector="laplacian", n_models=10, n_features_per_model=3, random_state=0)
    states = [found["state"] for found in answer_of(decide(unsupervised, constraints=max_size(2)))["facts"]]
    assert states == ["undefined", "undefined", "missing"]  # halves need no target
    for given, reason in (
        (maximize([0.5, 0.2], max_size(1)), "importances were given"),
        (decide(Evidence.from_sets([[1, 0]] * 3), constraints=max_size(1)), "the votes were made elsewhere"),
    ):
        facts = answer_of(given)["facts"]
        assert all(found["state"] == "undefined" and reason in found["sentences"][0] for found in facts)
        assert not any(found["command"] for found in facts)


def test_members_by_weights_or_constraints_are_counted_apart(summary, selection):
    why = attribution(selection).why
    n_data = list(why.values()).count("data")
    assert why["x5"] == "weight"
    line = summary["sentences"]["knowledge"][0]
    assert line.startswith(f"{n_data} of 4 selected features")
    assert all(name in line for name, word in why.items() if word != "data")


def test_an_opinion_that_changes_nothing_is_reported_as_such():
    evidence = Evidence.from_sets([[1, 1, 0, 0]] * 20 + [[1, 0, 0, 1]] * 4, list("abcd"))
    summary = summary_of(decide(evidence, weights={"a": 1}, constraints=max_size(2, rho=9)), n_draws=0)
    assert summary["sentences"]["knowledge"][0] == (
        "Your weights made no difference, and your constraints only limit how many features are selected: for 2 "
        "features, the votes alone would select the same ones."
    )
    favored, *less = summary["sentences"]["knowledge"][1:]
    assert favored.startswith("Your favored features did not clearly get more votes than random ones would (p = 0.2")
    assert less == [
        "Without your weights, without your constraints or without both, this set or an equally good one is the best "
        "of at most its size.",
    ]


@pytest.mark.parametrize(("size", "limits"), [(1, True), (2, True), (3, False)])
def test_a_limit_that_costs_votes_is_not_said_to_make_no_difference(size, limits):
    """Three features have votes; only a set of fewer would gain by one more place."""
    evidence = Evidence.from_sets([[1, 1, 0, 0]] * 20 + [[1, 0, 0, 1]] * 4, list("abcd"))
    summary = summary_of(decide(evidence, constraints=max_size(size)), n_draws=0)
    (limit,) = summary["constraints"]
    assert (limit["one_more"]["gain_votes"] > 1) == limits
    first, *others = summary["sentences"]["knowledge"]
    assert ("made no difference" in first) == (not limits)
    assert ("only limit how many" in first) == limits
    assert not any("Without weights" in line for line in others)  # none were stated


def test_what_is_kept_out_does_not_make_others_forced():
    """Without the link c is out by its votes; without its weight it stays."""
    evidence = Evidence.from_sets([[1, 1, 0, 0]] * 20 + [[1, 0, 1, 1]] * 4, list("abcd"))
    constraints = [max_size(2), cannot_link(["a", "b"], rho=9), cannot_link(["a", "d"], rho=9)]
    summary = summary_of(decide(evidence, weights={"c": 30}, constraints=constraints), n_draws=0)
    assert [record["feature"] for record in summary["chosen"]] == ["c", "a"]
    assert summary["sentences"]["knowledge"][0] == (
        "All 2 selected features are there by their votes. Your weights and constraints kept out b, which the votes "
        "alone would select."
    )


def test_a_member_that_a_limit_admits_is_one_of_the_votes():
    """By votes a, b, c; the link keeps out b, and d is favored; c is there by its votes."""
    evidence = Evidence.from_sets([[1, 1, 0, 0, 0]] * 10 + [[1, 1, 1, 0, 0]] * 8 + [[0, 0, 0, 0, 1]], list("abcde"))
    constraints = [max_size(3), cannot_link(["a", "b"])]
    with pytest.warns(ubayfs.exceptions.OptimizationWarning, match="No model voted"):
        selection = decide(evidence, weights={"d": 30, "e": 2}, constraints=constraints)
    summary = summary_of(selection, n_draws=0)
    reasons = {record["feature"]: record["reasons"] for record in summary["chosen"]}
    assert reasons == {"d": ["weight"], "a": ["data"], "c": ["data"]}
    assert summary["sets"]["data_alone"]["removed"] == ["d"]
    assert summary["sentences"]["knowledge"][:2] == [
        "2 of 3 selected features are there by their votes. Your weights brought in d. Your constraints kept out b, "
        "which the votes alone would select.",
        "Of 2 features that you favored, 1 is in the set; e is not.",
    ]


def test_a_required_member_that_votes_select_is_not_called_brought_in():
    """The rule asks for a and e; a has the most votes, so that only e is there because of the rule."""
    evidence = Evidence.from_sets([[1, 1, 0, 0, 0]] * 10 + [[0, 0, 1, 0, 1]] + [[0, 0, 1, 0, 0]], list("abcde"))
    summary = summary_of(decide(evidence, constraints=[max_size(3), ubayfs.require(["a", "e"])]), n_draws=0)
    assert summary["sentences"]["knowledge"][0] == (
        "1 of 3 selected features is there by its votes. Your constraints ask for a and e. The votes alone would "
        "select a, too. Your constraints kept out c, which the votes alone would select."
    )


def test_weights_that_do_not_agree_are_never_called_a_conflict(summary, selection):
    text = json.dumps(summary["sentences"]) + json.dumps(summary["facts"])
    assert "conflict" not in text
    p = summary["agreement"]["p_value"]
    favored = "got" if p <= 0.05 else "did not clearly get"
    assert f"Your favored features {favored} more votes than random ones would (p = " in text


def test_no_grade_is_given(summary):
    text = json.dumps(summary).lower()
    for grade in ("excellent", "intermediate", '"grade"'):
        assert grade not in text


def out(because, titles, kinds, rivals):
    return LeftOutFact("x", 3, because, (), tuple(titles), tuple(rivals), (), 0.1, 1.0, True, tuple(kinds))


def test_every_reason_to_be_out_has_words():
    given = {"titles": ["cannot-link a, b"], "kinds": ["cannot-link"], "rivals": ["c"]}
    for because in ("constant", "min_votes", "contradiction", "tie", "constraint", "prior", "rival", "search"):
        assert "{" not in why_out(out(because, **given))
    assert why_out(out("constraint", **given | {"rivals": ["b"]})) == "left out by cannot-link with b"
    assert why_out(out("rival", **given)) == "left out for c: the places are limited by cannot-link a, b"


def test_a_member_that_nothing_can_replace_is_reported(data):
    evidence = Evidence.from_sets([[1, 1, 0]] * 5, list("abc"))
    summary = summary_of(decide(evidence, constraints=[max_size(1), require("b")]), n_draws=0)
    (record,) = summary["chosen"]
    assert (record["feature"], record["replaceable"], record["substitute"]) == ("b", False, [])


def test_a_replacement_without_votes_is_not_named_as_the_best_one():
    """Of four favored features two have votes; a is replaced by one of the others, which are all alike."""
    evidence = Evidence.from_sets([[1, 1, 0, 0, 0, 0]] * 9 + [[1, 0, 0, 0, 1, 0]], list("abcdef"))
    listed = summary_of(decide(evidence, weights=dict.fromkeys("abcd", 10), max_size=2), n_draws=0)
    record = next(record for record in listed["chosen"] if record["feature"] == "a")
    assert (record["substitute"], record["substitute_votes"]) == (["c"], [0])
    assert replacement(read(record, ChosenFeature)) == "none with votes (costs 10 votes)"
    assert "c (no vote)" in listed["brief"]["substitutes"]
    plain_one = summary_of(decide(evidence, max_size=2), n_draws=0)
    record = next(record for record in plain_one["chosen"] if record["feature"] == "a")
    assert replacement(read(record, ChosenFeature)) == "e (costs 9 votes)"
    for found, said in ((listed, True), (plain_one, False)):
        assert (
            any("No replacement of these features has votes" in line for line in found["sentences"]["chosen"]) == said
        )


def test_the_csv_has_q_selected_again_and_the_substitute(summary):
    rows = list(csv.DictReader(io.StringIO(render_csv(read(summary)))))
    for row, record in zip(rows, summary["chosen"], strict=True):
        assert float(row["q"]) == record["q"]
        assert row["selected_again"] == record["selected_again"]
        assert row["substitute"] == "; ".join(record["substitute"])


def test_reasons_are_found_under_many_inequalities(rng):
    y, x = np.arange(40) % 2, rng.normal(size=40)
    X = np.column_stack([x + 1e-3 * rng.normal(size=(40, 150)).T[j] + (j < 3) * y for j in range(150)])
    evidence = collect_evidence(X, y, selector="fisher", n_models=20, n_features_per_model=3, random_state=0)
    constraints = [max_size(5), decorrelate(0.8)]
    selection = decide(evidence, constraints=constraints, X=X)
    assert selection.problem.utility.system.n_inequalities > 10_000
    found, _ = what_is_out(selection, None)
    assert [entry.feature for entry in found] == [out.feature for out in left_out(selection) if out.count >= 1][
        : len(found)
    ]
    assert {entry.because for entry in found} <= {"constraint", "tie"}
    assert found


def test_a_voted_feature_that_gives_way_to_one_without_votes_is_listed():
    sets = np.zeros((20, 6), dtype=bool)
    sets[:, 0] = sets[:19, 1] = sets[:12, 2] = True
    blocks = {"first": ["a", "b", "c"], "second": ["d", "e", "f"]}
    limits = [max_size(3), max_per_block(2)]
    with pytest.warns(UserWarning, match="No model voted"):
        selection = decide(
            Evidence.from_sets(sets, list("abcdef")), weights={"d": 5}, constraints=limits, blocks=blocks
        )
    assert selection.features == ("a", "b", "d")
    (entry,) = summary_of(selection, n_draws=0)["left_out"]
    assert (entry["feature"], entry["count"], entry["because"]) == ("c", 12, "constraint")


def test_a_weight_that_a_member_does_not_need_is_marked():
    """By votes a and b; the weight of a changes nothing, that of c brings it in instead of b."""
    evidence = Evidence.from_sets([[1, 1, 0]] * 9 + [[1, 0, 1]], list("abc"))
    for weights, expected in (({"a": 5, "c": 20}, {"a": True, "c": False}), (0.01, {"a": False, "b": False})):
        summary = summary_of(decide(evidence, weights=weights, max_size=2), n_draws=0)
        assert {record["feature"]: record["weight_not_needed"] for record in summary["chosen"]} == expected
        marked = any(entry["marks"] == ["weight not needed"] for entry in summary["legend"])
        assert marked == any(expected.values())


def test_what_keeps_a_feature_out_is_named():
    """By votes a and b; b is out by the link, by the weight of c, or only by both."""
    evidence = Evidence.from_sets([[1, 1, 0]] * 9 + [[1, 0, 1]], list("abc"))
    linked, two = cannot_link(["a", "b"]), max_size(2)
    for weights, constraints, kinds in (
        (0.01, [two, linked], "constraints"),
        ({"a": 2}, [two, linked], "constraints"),
        ({"c": 20}, [two], "weights"),
        ({"c": 20}, [two, linked], "weights and constraints"),
    ):
        line = summary_of(decide(evidence, weights=weights, constraints=constraints), n_draws=0)
        assert f"Your {kinds} kept out b," in line["sentences"]["knowledge"][0]


def test_a_budget_that_keeps_a_feature_out_is_named_without_all_its_costs():
    entry = out("rival", ["cost budget 30 (costs: a 2, b 3 and 298 more)"], [], ["a"])
    assert why_out(entry) == "left out for a: the places are limited by cost budget 30"


def test_what_the_data_select_alone_is_selected_with_the_weights_too():
    """The range with weights is never below that by the data alone, as projections of small sets may be."""
    names, selected = np.array(list("abcdef"), dtype=object), np.array([1, 1, 1, 0, 0, 0], dtype=bool)
    low, high = np.full(8, 0.1), np.full(8, 0.5)
    for alone, weighted in ((low, high), (high, low)):
        with_weights = WithWeights(selected, np.zeros(6), HalvesAgreement(3, 0.5, weighted))
        found = Reproducibility(names, selected, 6, alone, np.zeros(6), np.zeros((6, 2)), 8, with_weights=with_weights)
        facts = reproducibility_facts(found)
        expected = np.maximum(found.selected_again, with_weights.agreement.selected_again)
        assert facts.with_weights.selected_again == pytest.approx(expected)
