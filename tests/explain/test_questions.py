"""Questions to an expert, against all answers about all features and brute force over all sets."""

import warnings

import numpy as np
import pytest

from amounts import seeds
from decisions import NAMES, best_sets, random_decision
from ubayfs import Evidence, at_least_one, cannot_link, decide, max_size, maximize, must_link, questions
from ubayfs.decision.selection import Selection
from ubayfs.exceptions import InputError, UBayFSError
from ubayfs.explain import questions as module

INF = np.inf


def known_to_all_sets(selection, evidence, arguments, feature):
    """What the answers about a feature change, by deciding with the word and looking at all sets."""
    given, changes = arguments["weights"], {}
    given = given if isinstance(given, dict) else {}
    for word in ("likely", "unlikely"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                known = decide(evidence, **{**arguments, "weights": {**given, feature: word}})
            except UBayFSError:
                continue
        utility, total = known.problem.utility, known.posterior.total
        value, sets = best_sets(utility, np.zeros(8, dtype=bool))
        if selection.features not in sets:
            changes[word] = (value - float(utility(selection.mask)[0])) * total, sets
    return changes


@pytest.mark.parametrize("seed", seeds(20))
def test_against_all_answers_and_all_sets(seed):
    selection, evidence, arguments = random_decision(seed)
    asked = questions(selection, n=8)
    found = {question.feature: question for question in asked}
    stated = arguments["weights"] if isinstance(arguments["weights"], dict) else {}
    for feature in NAMES:
        changes = known_to_all_sets(selection, evidence, arguments, feature) if feature not in stated else {}
        changes = {
            word: found for word, found in changes.items() if (word == "unlikely") == (feature in selection.features)
        }
        assert (feature in found) == bool(changes), (feature, changes)
        if changes:
            ((word, (gain, sets)),) = changes.items()
            question = found[feature]
            after = tuple(
                name for name in NAMES
                if (name in selection.features or name in question.added) and name not in question.removed
            )  # fmt: skip
            assert (question.word, question.chosen) == (word, feature in selection.features)
            assert question.proved
            assert after in sets
            assert np.isinf(gain) or question.gain_votes == pytest.approx(gain, abs=1e-6)
    shares = [question.share for question in asked]
    assert shares == sorted(shares, reverse=True)
    assert all(0 <= share <= 1 for share in shares)


def evidence_of(*votes, n_models=20):
    sets = np.arange(n_models)[:, None] < np.array(votes)
    return Evidence.from_sets(sets, list("abcdefgh")[: len(votes)])


def asked(found):
    return [(question.feature, question.word) for question in found]


def test_the_closest_calls_come_first_and_what_nothing_changes_is_not_asked():
    selection = decide(evidence_of(20, 13, 11, 2), constraints=max_size(2))
    found = questions(selection)
    assert asked(found) == [("b", "unlikely"), ("c", "likely"), ("a", "unlikely")]
    assert [question.gain_votes for question in found] == pytest.approx([8, 2.99, 1])
    assert [question.share for question in found] == pytest.approx([8 / 10, 2.99 / 4.99, 1 / 10])
    assert [(question.added, question.removed) for question in found] == [(("c",), ("b",))] * 2 + [(("c",), ("a",))]
    assert asked(questions(selection, n=1)) == [("b", "unlikely")]
    assert questions(selection, n=0) == ()


def test_what_was_stated_is_not_asked_again():
    selection = decide(evidence_of(20, 13, 11, 12), weights={"b": "neutral"}, constraints=max_size(2))
    assert asked(questions(selection)) == [("d", "likely"), ("c", "likely"), ("a", "unlikely")]


def test_a_linked_feature_brings_its_partner():
    """The bound by the size does not hold for a feature that another one needs."""
    rules = [max_size(2), must_link(["c", "d"]), cannot_link(["a", "d"])]
    selection = decide(evidence_of(10, 9, 8, 7), constraints=rules)
    found = {question.feature: question for question in questions(selection)}
    assert selection.features == ("a", "b")
    assert (found["d"].added, found["d"].removed) == (("c", "d"), ("a", "b"))
    assert found["d"].gain_votes == pytest.approx(0.99)


@pytest.mark.parametrize("n", [1, 3, 5])
def test_few_decisions_find_the_same_questions_as_all(n, monkeypatch):
    rng = np.random.default_rng(n)
    evidence = Evidence.from_sets(rng.random((40, 30)) < rng.random(30) * 0.6)
    rules = [max_size(6), cannot_link([0, 1, 2, 3, 4, 5], rho=5), at_least_one([28, 29], rho=3)]
    selection = decide(evidence, constraints=rules)
    monkeypatch.setattr(module, "MOST_DECISIONS", 1000)
    every = questions(selection, n=30)
    few = questions(selection, n=n)
    assert [question.share for question in few] == pytest.approx([question.share for question in every[:n]])
    assert all(question.proved for question in few)
    decisions = []
    monkeypatch.setattr(module.Redecider, "decide", _counting(module.Redecider.decide, decisions))
    questions(selection, n=n)
    assert len(decisions) < 15 + len(selection.features)
    monkeypatch.setattr(module, "MOST_DECISIONS", 0)
    hasty = questions(selection, n=30)
    proved = [question.share for question in hasty if question.proved]
    assert len(hasty) <= len(every)
    assert proved == pytest.approx([question.share for question in every[: len(proved)]])


def _counting(function, calls):
    def counted(*arguments, **keywords):
        calls.append(1)
        return function(*arguments, **keywords)

    return counted


def test_other_priors_have_no_proof():
    selection = decide(evidence_of(20, 13, 11, 2), prior="hyperdirichlet", constraints=max_size(2), random_state=0)
    assert not any(question.proved for question in questions(selection))


def test_what_has_no_votes_or_no_constraints_is_refused():
    with pytest.raises(InputError, match="without votes"):
        questions(maximize([0.3, 0.2], max_size(1)))
    selection = decide(evidence_of(20, 13), constraints=max_size(1))
    with pytest.raises(UBayFSError, match="read from a file"):
        questions(Selection.from_dict(selection.to_dict()))
    with pytest.raises(InputError, match="n must"):
        questions(selection, n=-1)
