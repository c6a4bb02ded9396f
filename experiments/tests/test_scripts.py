"""Methods of the authors' scripts, against literal versions and brute force."""

import numpy as np
import pytest

import ubayfs
from ubayfs_experiments.methods.competitors import group_lasso_at, sparse_group_lasso
from ubayfs_experiments.methods.scripts import common_penalty, pearson_mrmr, rfe_by_forests
from ubayfs_experiments.methods.scripts_genetic import ScriptsGenetic
from ubayfs_experiments.methods.variants import permuted_forest

BLOCK_OF = np.array([0, 0, 0, 1, 1, 1, 2, -1])
BLOCKS = {"a": [0, 1, 2], "b": [3, 4, 5], "c": [6]}
THETA = np.array([0.2, 0.1, 0.05, 0.2, 0.15, 0.1, 0.15, 0.05])


def first_sets(rho, max_blocks=1, n_sets=400, theta=THETA):
    optimizer = ScriptsGenetic(3, max_blocks, BLOCK_OF, rho, n_sets=n_sets)
    return optimizer.first_sets(theta, np.ones(8, dtype=bool), np.random.default_rng(0))


def keeps(sets):
    """Return which sets keep the max-size of 3, and which the limit of one block."""
    touched = np.array([[one[block == BLOCK_OF].any() for block in range(3)] for one in sets]).sum(axis=1)
    return sets.sum(axis=1) <= 3, touched <= 1


def test_hard_constraints_are_kept_by_every_chain_of_the_start():
    size, blocks = keeps(first_sets(np.inf)[:-1])
    assert size.all()
    assert blocks.all()


@pytest.mark.parametrize("rho", [1.0, 3.0])
def test_a_chain_keeps_each_constraint_with_chance_rho_by_rho_plus_one(rho):
    sets = first_sets(rho, n_sets=4001)[:-1]
    every = sets.all(axis=1)  # a chain that keeps neither takes all features
    assert every.mean() == pytest.approx((1 / (1 + rho)) ** 2, abs=0.03)
    assert keeps(sets)[0].mean() == pytest.approx(rho / (1 + rho), abs=0.05)


def test_the_highest_importances_are_always_among_the_first_sets_and_ties_are_drawn():
    lasts = set()
    for seed in range(20):
        sets = ScriptsGenetic(3, None, BLOCK_OF, n_sets=2).first_sets(
            THETA, np.ones(8, dtype=bool), np.random.default_rng(seed)
        )
        lasts.add(tuple(np.flatnonzero(sets[-1])))
    assert lasts == {(0, 3, 4), (0, 3, 6)}


def evidence(counts):
    """Return evidence of ten models with these counts."""
    return ubayfs.Evidence.from_sets([[int(n > i) for n in counts] for i in range(10)], list("abcdefgh"))


@pytest.mark.parametrize("max_blocks", [None, 1, 2])
def test_the_optimum_is_found_on_a_small_problem(max_blocks):
    constraints = [ubayfs.max_size(3, rho=1.0)]
    if max_blocks:
        constraints.append(ubayfs.max_blocks(max_blocks, rho=1.0))
    options = {"constraints": constraints, "blocks": BLOCKS, "min_votes": 0, "random_state": 0}
    counts = evidence([9, 4, 1, 8, 6, 3, 7, 2])
    exact = ubayfs.decide(counts, **options)
    found = ubayfs.decide(counts, optimizer=ScriptsGenetic(3, max_blocks, BLOCK_OF, n_generations=30), **options)
    assert found.value == pytest.approx(exact.value, abs=1e-12)
    history = found.provenance["solver"]["best_by_generation"]
    assert len(history) == 31
    assert list(history) == sorted(history)
    assert history[-1] == found.value


def test_equally_good_sets_are_drawn_from():
    counts = evidence([9, 5, 5, 0, 0, 0, 0, 0])
    found = {
        ubayfs.decide(
            counts, max_size=2, min_votes=0, random_state=seed, optimizer=ScriptsGenetic(2, None, BLOCK_OF, n_sets=30)
        ).features
        for seed in range(12)
    }
    assert found == {("a", "b"), ("a", "c")}


@pytest.fixture
def table(rng):
    X = rng.normal(size=(60, 8))
    return X, (X[:, 0] + X[:, 3] + 0.5 * rng.normal(size=60) > 0).astype(np.int64)


def test_the_group_lasso_at_a_penalty_is_the_one_that_the_search_finds(table):
    found = sparse_group_lasso(*table, 3, BLOCKS, l1_share=0.9)
    at = group_lasso_at(*table, BLOCKS, found.info["penalty"], l1_share=0.9)
    assert at.tolist() == found.indices.tolist()
    assert group_lasso_at(*table, BLOCKS, 100.0, l1_share=0.9).tolist() == []


def test_one_penalty_gives_the_wanted_mean_over_tables(table, rng):
    X, y = table
    tables = [(X[rows], y[rows]) for rows in (rng.permutation(60)[:45] for _ in range(3))]
    penalty = common_penalty(tables, 4, BLOCKS, 0.95, (0.001, 10.0))
    sizes = {
        one: np.mean([len(group_lasso_at(*each, BLOCKS, one, l1_share=0.95)) for each in tables])
        for one in (penalty, *np.geomspace(0.001, 1, 60))
    }
    assert abs(sizes[penalty] - 4) == min(abs(size - 4) for size in sizes.values())


def test_mrmr_with_pearson_is_the_greedy_sum(table):
    X, y = table
    information = lambda a, b: -0.5 * np.log(1 - np.corrcoef(a, b)[0, 1] ** 2)  # noqa: E731
    chosen = []
    for _ in range(5):
        scores = {
            j: information(X[:, j], y) - np.mean([information(X[:, j], X[:, k]) for k in chosen] or [0])
            for j in range(8)
            if j not in chosen
        }
        chosen.append(max(scores, key=scores.get))
    assert pearson_mrmr(X, y, 5, np.random.default_rng(0)).tolist() == chosen


def test_elimination_by_forests_returns_the_wanted_number_or_all(rng):
    X = rng.normal(size=(80, 12))
    y = (X[:, 2] > 0).astype(int)
    found = rfe_by_forests(X, y, 1, np.random.default_rng(0))
    assert found.tolist() == [2]
    sums = (X[:, :10].sum(axis=1) > 0).astype(int)
    sizes = {len(rfe_by_forests(X, sums, 2, np.random.default_rng(seed))) for seed in range(4)}
    assert sizes <= {2, 12}
    assert 12 in sizes


def test_scaled_importance_is_the_mean_loss_over_its_standard_error(table):
    from sklearn.ensemble import RandomForestClassifier

    X, y = table
    forest, rng = RandomForestClassifier(25, random_state=7).fit(X, y), np.random.default_rng(7)
    loss = np.zeros((25, 8))
    for row, tree, inside in zip(loss, forest.estimators_, forest.estimators_samples_, strict=True):
        outside = np.array(sorted(set(range(60)) - set(inside.tolist())))
        for feature in sorted(set(tree.tree_.feature[tree.tree_.feature >= 0].tolist())):
            changed = X[outside].copy()
            changed[:, feature] = rng.permutation(changed[:, feature])
            row[feature] = np.mean(tree.predict(X[outside]) == y[outside]) - np.mean(
                tree.predict(changed) == y[outside]
            )
    ratio = loss.mean(axis=0) / (loss.std(axis=0, ddof=1) / 5)
    assert permuted_forest(X, y, 8, 25, 7, scaled=True).tolist() == [int(j) for j in np.argsort(-ratio) if ratio[j] > 0]
