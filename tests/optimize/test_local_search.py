import numpy as np
import pytest
from scipy import sparse

from amounts import seeds
from problems import all_selectable, all_sets, one_row, random_utility, selectable_sets, utility_of
from ubayfs.constraints.utility import Utility
from ubayfs.optimize.local_search import LocalSearch, good_set

INF = np.inf


def literal_merit(utility, sets):
    """Utility of sets by their soft rows, less a penalty for each violated hard row, in its largest coefficient."""
    hard = np.isinf(utility.system.rho)
    soft = Utility(
        utility.theta, utility.system.take(np.flatnonzero(~hard)), utility.constraint_strength, utility.selectable
    )
    violated = utility.admissibility.violations(sets)[:, hard]
    units = violated / np.abs(utility.system.A[hard].toarray()).max(axis=1, initial=1e-300)
    measure = np.where(units > 1, units, np.where(units > 0, 0.2 + 0.8 * units, 0.0)).sum(axis=1)
    return soft(sets) - 10.0 * (utility.theta.sum() + utility.constraint_strength) * measure


@pytest.mark.parametrize("seed", seeds(30))
def test_one_change_has_the_merit_of_the_changed_set(seed):
    utility = all_selectable(seed)
    search = LocalSearch(utility)
    rng = np.random.default_rng(seed)
    for chosen in all_sets(8)[rng.integers(0, 256, 6)]:
        for features in (np.flatnonzero(~chosen), np.flatnonzero(chosen)):
            merits = search.one_flipped(chosen, features)
            changed = [chosen, *(chosen ^ (np.arange(8) == feature) for feature in features)]
            np.testing.assert_allclose(merits, literal_merit(utility, np.array(changed)), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", seeds(30))
def test_several_features_added_or_dropped_together_have_the_merit_of_the_changed_set(seed):
    utility = all_selectable(seed)
    search, rng = LocalSearch(utility), np.random.default_rng(seed)
    for chosen in all_sets(8)[rng.integers(0, 256, 6)]:
        for pool in (np.flatnonzero(~chosen), np.flatnonzero(chosen)):
            groups = [rng.permutation(pool)[: rng.integers(len(pool) + 1)] for _ in range(5)]
            owner = np.repeat(np.arange(5), [len(group) for group in groups])
            merits = search.flipped(chosen, np.concatenate(groups), owner, 5)
            changed = [chosen, *(chosen ^ np.isin(np.arange(8), group) for group in groups)]
            np.testing.assert_allclose(merits, literal_merit(utility, np.array(changed)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", seeds(40))
def test_a_good_set_keeps_hard_rows_and_selectable_features(seed):
    utility = random_utility(np.random.default_rng(seed), n=9)
    found = good_set(utility)
    if found is None:
        return
    assert not (found & ~utility.selectable).any()
    assert np.isfinite(utility(found)[0])


def test_good_sets_are_often_the_best():
    best = 0
    for seed in range(40):
        utility = random_utility(np.random.default_rng(seed), n=8)
        values = utility(selectable_sets(utility))
        found = good_set(utility)
        best += found is None or utility(found)[0] >= values.max() - 1e-9
    assert best >= 30


@pytest.mark.parametrize("excess", [1e-8, 1e-7, 1e-3])
def test_a_tiny_violation_of_a_hard_row_never_pays(excess):
    # Five features exceed the budget by so little that a penalty per unit would be less than their importance.
    utility = utility_of(np.full(15, 1 / 15), [one_row(np.full(15, 1 + excess), 5, INF)])
    search = LocalSearch(utility)
    assert search.merit(np.arange(15) < 5) < search.merit(np.zeros(15, dtype=bool))
    assert good_set(utility).sum() == 4


def test_no_good_set_where_there_is_none():
    assert good_set(utility_of([0.5, 0.5], [one_row([-1, -1], -2, INF), one_row([1, 1], 1, INF)])) is None


@pytest.mark.parametrize("seed", seeds(15))
def test_improving_never_makes_a_set_worse_and_ends_where_no_move_helps(seed):
    utility = all_selectable(seed)
    search = LocalSearch(utility)
    start = all_sets(8)[np.random.default_rng(seed).integers(256)]
    found = search.improve(start)
    best = search.merit(found)
    assert best >= search.merit(start)
    neighbours = [found ^ (np.arange(8) == i) for i in range(8)]
    assert max(search.merit(each) for each in neighbours) <= best + 1e-9 * max(1.0, abs(best))


def test_linked_features_are_moved_together():
    # Alone each of the four would cost more than it brings.
    links = [np.eye(5)[i] - np.eye(5)[j] for i in range(4) for j in range(4) if i != j]
    utility = utility_of([0.2, 0.2, 0.2, 0.2, 0.1], [one_row(a, 0, 2.0) for a in links])
    np.testing.assert_array_equal(LocalSearch(utility).groups.toarray(), [[True] * 4 + [False]])
    np.testing.assert_array_equal(good_set(utility), [True] * 5)


def test_features_that_rows_demand_are_considered_however_unimportant(monkeypatch):
    monkeypatch.setattr("ubayfs.optimize.local_search._POOL", 5)
    theta = np.linspace(1, 0.01, 40) / 20
    blocks = sparse.csr_array((np.arange(40) == 39)[np.newaxis])
    rows = [
        one_row(np.where(np.arange(40) == 38, -1, 0), -1, INF),
        one_row([-1], -1, INF, on_blocks=True),
        one_row(np.ones(40), 4, INF),
    ]
    utility = utility_of(theta, rows, blocks=blocks)
    found = good_set(utility)
    np.testing.assert_array_equal(np.flatnonzero(found), [0, 1, 38, 39])


def test_without_time_the_search_stays_where_it_began():
    utility = utility_of([0.5, 0.3, 0.2], [one_row([1, 1, 1], 2, INF)])
    start = np.array([False, True, False])
    np.testing.assert_array_equal(LocalSearch(utility).improve(start, deadline=0.0), start)
    np.testing.assert_array_equal(good_set(utility, deadline=0.0), [False, False, False])


@pytest.mark.parametrize(("n", "at_least", "rho", "seed"), [(40, 15, 0.5, 1), (60, 20, 0.3, 1), (60, 20, 0.3, 2)])
def test_a_way_leads_out_of_sets_that_violate_so_much_that_only_importance_counts(n, at_least, rho, seed):
    # With none or all of the features kappa is nearly 0, and only importance shows a way: it ends at the score 1.
    pairs = np.argwhere(np.triu(np.random.default_rng(seed).random((n, n)) < 0.15, 1))
    rows = [one_row(np.isin(np.arange(n), pair), 1, rho) for pair in pairs]
    utility = utility_of(np.full(n, 1 / n), [*rows, one_row(np.full(n, -1.0), -at_least, 0.5)])
    assert utility(np.ones(n, dtype=bool))[0] == pytest.approx(1.0)
    assert utility(good_set(utility))[0] > 1.05
