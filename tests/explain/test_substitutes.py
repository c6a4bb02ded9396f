"""Substitutes against brute force over all sets, and stand-ins against counting runs."""

import numpy as np
import pytest

from decisions import NAMES, best_sets, random_decision
from ubayfs import Evidence, Exact, Genetic, decide, max_size, maximize, require
from ubayfs.exceptions import OptimizationWarning
from ubayfs.explain import substitutes, worst_dropout

SEEDS = range(20, 40)


@pytest.fixture(scope="module")
def replaced():
    """Random selections and their substitutes, by seed."""
    selections = {seed: random_decision(seed)[0] for seed in SEEDS}
    return {seed: (selection, substitutes(selection)) for seed, selection in selections.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_against_all_sets(replaced, seed):
    selection, found = replaced[seed]
    assert [one.feature for one in found] == list(selection.features)
    for one, position in zip(found, selection.indices, strict=True):
        value, sets = best_sets(selection.problem.utility, selection.mask, lambda s, i=position: ~s[:, i])
        assert one.replaceable == bool(sets)
        assert one.proved
        if not sets:
            assert (one.replaced_by, one.loss, one.loss_votes) == ((), None, None)
            continue
        assert one.replaced_by in sets
        assert one.loss == pytest.approx(selection.value - value, abs=1e-8)
        assert one.loss_votes == pytest.approx(one.loss * selection.posterior.total)
        assert set(one.added) == set(one.replaced_by) - set(selection.features)
        assert set(one.removed) == set(selection.features) - set(one.replaced_by)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_worst_dropout_leaves_the_lowest_best_set(replaced, seed):
    selection, found = replaced[seed]
    left = {
        name: best_sets(selection.problem.utility, selection.mask, lambda s, i=position: ~s[:, i])[0]
        for name, position in zip(selection.features, selection.indices, strict=True)
    }
    worst = worst_dropout(found)
    assert (worst is None) == (not left)
    if left:
        assert left[worst.feature] == pytest.approx(min(left.values()), abs=1e-8)
        assert worst in found


def test_some_members_are_not_replaceable_and_some_losses_are_zero(replaced):
    found = [one for _, members in replaced.values() for one in members]
    assert {one.replaceable for one in found} == {True, False}
    assert any(one.loss == 0 for one in found)


def test_a_loss_is_the_difference_of_the_votes():
    evidence = Evidence.from_sets(np.arange(30)[:, None] % 10 < np.array([9, 7, 6, 2]), list("abcd"))
    first, second = decide(evidence, constraints=max_size(2)).substitutes()
    assert (first.feature, first.removed, first.added) == ("a", ("a",), ("c",))
    assert [one.loss_votes for one in (first, second)] == pytest.approx([9.0, 3.0])


def test_stand_ins_are_counted_over_runs():
    rng = np.random.default_rng(3)
    sets = rng.random((60, 8)) < 0.4
    sets[:, 1] = ~sets[:, 0] | (rng.random(60) < 0.1)
    X = rng.normal(size=(50, 8))
    X[:, 1] = -X[:, 0] + 0.1 * rng.normal(size=50)
    selection = decide(Evidence.from_sets(sets, NAMES), constraints=[max_size(1), require("a")], X=X)
    (member,) = selection.substitutes()
    assert not member.replaceable
    shift = sets[~sets[:, 0]].mean(axis=0) - sets[sets[:, 0]].mean(axis=0)
    order = [j for j in np.argsort(-shift, kind="stable")[:3] if shift[j] > 0]
    assert [one.feature for one in member.stand_ins] == [NAMES[j] for j in order]
    for one, j in zip(member.stand_ins, order, strict=True):
        assert one.shift == pytest.approx(shift[j])
        assert (one.votes, one.votes_either) == (sets[:, j].sum(), (sets[:, j] | sets[:, 0]).sum())
        assert one.correlation == pytest.approx(abs(np.corrcoef(X[:, 0], X[:, j])[0, 1]))
        assert not one.chosen
    assert member.stand_ins[0].clear
    assert not all(one.clear for one in member.stand_ins)


@pytest.mark.parametrize(("n_without", "expected"), [(9, 0), (10, 1)])
def test_stand_ins_need_ten_runs_that_lack_the_member(n_without, expected):
    sets = [[1, 0]] * 20 + [[0, 1]] * n_without
    (member,) = decide(Evidence.from_sets(sets, ["a", "b"]), constraints=max_size(1)).substitutes()
    assert len(member.stand_ins) == expected
    assert [one.correlation for one in member.stand_ins] == [None] * expected


def test_a_member_without_votes_has_no_stand_ins():
    evidence = Evidence.from_sets([[0, 1]] * 20, ["a", "b"])
    with pytest.warns(OptimizationWarning, match="No model voted"):
        selection = decide(evidence, constraints=[max_size(1), require("a")])
    assert selection.substitutes()[0].stand_ins == ()


def test_importances_that_were_given_have_no_votes():
    first, _ = maximize([0.5, 0.4, 0.3], max_size(2)).substitutes()
    assert (first.added, first.loss_votes, first.stand_ins) == (("x2",), None, ())
    assert first.loss == pytest.approx(0.2)


def test_an_empty_set_has_no_members():
    assert maximize([0.5, 0.4], max_size(0)).substitutes() == ()


@pytest.mark.parametrize("optimizer", [Exact(time_limit=60.0), Genetic(n_sets=20, n_generations=20)])
def test_the_optimizer_of_the_decision_decides(optimizer, monkeypatch):
    seen = []
    kind = type(optimizer)
    method = "search" if kind is Exact else "maximize"
    plain = getattr(kind, method)

    def watched(self, *arguments, **named):
        seen.append(self)
        return plain(self, *arguments, **named)

    selection = maximize([0.5, 0.4, 0.3], max_size(2), optimizer=optimizer, random_state=0)
    monkeypatch.setattr(kind, method, watched)
    assert [one.added for one in selection.substitutes()] == [("x2",), ("x2",)]
    assert len(seen) >= 2
    assert all(getattr(one, "time_limit", 60.0) == 60.0 for one in seen)
