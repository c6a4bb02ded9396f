"""Random forest, RENT and sparse group lasso: their solvers against the conditions of optimality and other solvers."""

import json

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from ubayfs_experiments.methods import competitors
from ubayfs_experiments.methods.competitors import (
    random_forest,
    rent,
    rent_criteria,
    search_penalty,
    sparse_group_lasso,
    stratified_subsamples,
)
from ubayfs_experiments.methods.elastic_net import ElasticNets, _Problem
from ubayfs_experiments.methods.group_lasso import SparseGroupLasso


def standardize(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def make(seed, n_samples, n_features, n_factors=5, noise=1.0):
    """Correlated columns, of which the first three determine the class, but for noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_factors)) @ rng.normal(size=(n_factors, n_features))
    X = standardize(X + rng.normal(size=X.shape))
    score = X[:, :3].sum(axis=1) + noise * rng.normal(size=n_samples)
    return X, (score > np.median(score)).astype(int)


def subsamples_of(y, n_models, seed=0):
    return stratified_subsamples(y, 0.75, n_models, seed)


def residual_of(X, y, intercept, weights):
    linear = intercept + X @ weights
    # 1 - 1/(1+e) loses all digits of small residuals
    return np.where(y > 0, 1 / (1 + np.exp(linear)), -1 / (1 + np.exp(-linear)))


def elastic_net_violation(X, y, intercept, weights, penalty, l1_ratio):
    """Largest violation of the conditions of optimality, as a share of the l1 penalty."""
    l1, l2 = penalty * l1_ratio, penalty * (1 - l1_ratio)
    residual = residual_of(X, y, intercept, weights)
    descent = X.T @ residual / len(y) - l2 * weights
    inactive = np.maximum(np.abs(descent) - l1, 0)
    violations = np.where(weights != 0, np.abs(descent - l1 * np.sign(weights)), inactive)
    return max(violations.max(), abs(residual.mean())) / l1


def dense(model, n_features):
    weights = np.zeros(n_features)
    weights[model.columns] = model.weights
    return weights


def saga(X, y, penalty, l1_ratio):
    older = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)
    model = LogisticRegression(
        **({"penalty": "elasticnet"} if older else {}),
        solver="saga",
        l1_ratio=l1_ratio,
        C=1 / (len(y) * penalty),
        tol=1e-10,
        max_iter=100_000,
        random_state=0,
    )
    return model.fit(X, y)


# -- elastic nets ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("l1_ratio", [0.2, 0.6, 1.0])
@pytest.mark.parametrize("shape", [(120, 12), (40, 300), (24, 900)])
def test_elastic_nets_are_optimal_at_every_penalty(shape, l1_ratio):
    X, y = make(1, *shape)
    subsamples = subsamples_of(y, 4)
    nets = ElasticNets(X, y, subsamples, l1_ratio)
    # Down and up again: both directions of a warm start.
    for share in (0.9, 0.5, 0.05, 1e-3, 1e-6, 0.01, 0.3):
        for inside, model in zip(subsamples, nets.solve(share * nets.top), strict=True):
            violation = elastic_net_violation(
                X[inside], y[inside], model.intercept, dense(model, shape[1]), share * nets.top, l1_ratio
            )
            assert violation < 3e-7
    assert nets.n_unconverged == 0


def test_the_first_column_enters_below_the_top_penalty():
    X, y = make(2, 60, 40)
    nets = ElasticNets(X, y, subsamples_of(y, 5), 0.6)
    assert sum(len(model.columns) for model in nets.solve(nets.top * (1 + 1e-6))) == 0
    assert sum(len(model.columns) for model in nets.solve(nets.top * (1 - 1e-6))) == 1


@pytest.mark.parametrize("l1_ratio", [0.6, 1.0])
def test_elastic_nets_agree_with_saga(l1_ratio):
    X, y = make(3, 80, 15)
    everything = np.ones((1, len(y)), dtype=bool)
    nets = ElasticNets(X, y, everything, l1_ratio)
    penalty = 0.2 * nets.top
    (model,) = nets.solve(penalty)
    expected = saga(X, y, penalty, l1_ratio)
    np.testing.assert_allclose(dense(model, 15), expected.coef_[0], atol=1e-6)
    assert model.intercept == pytest.approx(expected.intercept_[0], abs=1e-6)
    assert 0 < len(model.columns) < 15


def test_copies_of_columns_do_not_stop_the_lasso():
    X, y = make(4, 50, 20)
    X, subsamples = np.column_stack([X, X, X[:, :3]]), subsamples_of(y, 3)
    nets = ElasticNets(X, y, subsamples, 1.0)
    for share in (0.5, 0.1, 1e-3):
        for inside, model in zip(subsamples, nets.solve(share * nets.top), strict=True):
            weights = dense(model, X.shape[1])
            violation = elastic_net_violation(
                X[inside], y[inside], model.intercept, weights, share * nets.top, l1_ratio=1.0
            )
            assert violation < 3e-7
    assert nets.n_unconverged == 0


@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
def test_any_start_leads_to_the_optimum_downhill(l1_ratio, monkeypatch):
    X, y = make(18, 60, 8)
    penalty = 0.05
    short_steps = []
    feasible_step = _Problem._feasible_step
    monkeypatch.setattr(
        _Problem, "_feasible_step", lambda *arguments: short_steps.append(1) or feasible_step(*arguments)
    )
    for seed in range(20):
        problem = _Problem(X.T, y, penalty * l1_ratio, penalty * (1 - l1_ratio))
        point = problem.point(np.random.default_rng(seed).normal(scale=10, size=9))
        values = [point.value]
        while (new := problem.step(point)) is not None:
            assert new is not point
            point = new
            values.append(point.value)
        assert (np.diff(values) < 1e-14).all()
        weights = point.coefficients[1:]
        assert elastic_net_violation(X, y, point.coefficients[0], weights, penalty, l1_ratio) < 3e-7
    assert short_steps  # far from the optimum Newton's steps are too long


# -- sparse group lasso ------------------------------------------------------------------------------------------------


def group_violation(X, y, groups, coefficients, penalty, l1_share):
    """Largest length of the smallest subgradient of a group, as a share of the penalty."""
    weights = coefficients[1:]
    residual = residual_of(X, y, coefficients[0], weights)
    gradient = -X.T @ residual / len(y)
    worst = abs(residual.mean())
    for g in np.unique(groups):
        inside = groups == g
        size = penalty * (1 - l1_share) * np.sqrt(inside.sum())
        w, d = weights[inside], gradient[inside]
        if w.any():
            smooth = d + size * w / np.linalg.norm(w) + penalty * l1_share * np.sign(w)
            zero = np.maximum(np.abs(d) - penalty * l1_share, 0)
            distance = np.linalg.norm(np.where(w != 0, smooth, zero))
        else:
            distance = max(np.linalg.norm(np.maximum(np.abs(d) - penalty * l1_share, 0)) - size, 0)
        worst = max(worst, distance)
    return worst / penalty


@pytest.mark.parametrize("l1_share", [0.0, 0.5, 0.95])
@pytest.mark.parametrize(("shape", "n_groups"), [((100, 24), 4), ((40, 150), 10)])
def test_sparse_group_lasso_is_optimal_at_every_penalty(shape, n_groups, l1_share):
    X, y = make(5, *shape)
    groups = np.random.default_rng(0).permutation(np.arange(shape[1]) % n_groups)
    model = SparseGroupLasso(X, y, groups, l1_share)
    for share in (0.9, 0.4, 0.1, 0.02, 0.2):
        penalty = share * model.top
        assert group_violation(X, y, groups, model.solve(penalty), penalty, l1_share) < 3e-7
    assert model.n_unconverged == 0
    assert not model.solve(model.top * (1 + 1e-9))[1:].any()


def test_sparse_group_lasso_takes_whole_groups_without_the_l1_norm():
    X, y = make(6, 100, 24)
    groups = np.arange(24) // 6
    model = SparseGroupLasso(X, y, groups, 0.0)
    nonzero = model.solve(0.6 * model.top)[1:].reshape(4, 6) != 0
    assert set(nonzero.sum(axis=1)) == {0, 6}


@pytest.mark.parametrize(
    ("groups", "l1_share"), [(np.arange(20) // 5, 1.0), (np.arange(20), 0.0), (np.arange(20), 0.3)]
)
def test_sparse_group_lasso_contains_the_lasso(groups, l1_share):
    X, y = make(7, 80, 20)
    lasso = ElasticNets(X, y, np.ones((1, len(y)), dtype=bool), 1.0)
    penalty = 0.15 * lasso.top
    (expected,) = lasso.solve(penalty)
    found = SparseGroupLasso(X, y, groups, l1_share).solve(penalty)
    np.testing.assert_allclose(found[1:], dense(expected, 20), atol=1e-6)
    assert found[0] == pytest.approx(expected.intercept, abs=1e-6)
    assert 1 < len(expected.columns) < 20


# -- the search for a penalty ------------------------------------------------------------------------------------------


def chooser(thresholds):
    """Feature i is chosen at penalties up to its threshold."""
    return lambda penalty: np.flatnonzero(penalty <= np.asarray(thresholds))


@given(
    st.lists(st.floats(-15, -0.1), min_size=1, max_size=12).filter(
        lambda logs: np.diff(np.sort(logs)).min(initial=1) > 1e-4
    ),
    st.data(),
)
def test_search_finds_the_wanted_size(logs, data):
    thresholds = 3.0 * np.exp(logs)
    wanted = data.draw(st.integers(1, len(logs)))
    indices, info = search_penalty(chooser(thresholds), wanted, 3.0)
    assert sorted(indices) == sorted(np.argsort(-thresholds)[:wanted])
    assert info["reached"]
    assert np.sum(thresholds >= info["penalty"]) == wanted == info["n_selected"]
    assert info["relative_penalty"] == pytest.approx(info["penalty"] / 3)
    assert info["n_steps"] == len(info["sizes"]) - 1


@pytest.mark.parametrize(
    ("thresholds", "wanted", "size"),
    [
        ([0.5, 0.1, 0.1, 0.1, 0.1], 2, 1),  # 1 is nearer than 5
        ([0.5, 0.1, 0.1, 0.1, 0.1], 4, 5),
        ([0.5, 0.1, 0.1, 0.1, 0.1], 3, 1),  # equally far: the smaller one
        ([0.1, 0.1, 0.1, 0.1], 1, 4),  # never the empty one
        ([0.5, 1e-12], 2, 1),  # beyond the smallest penalty
        ([], 2, 0),
    ],
)
def test_search_takes_the_nearest_size_where_the_wanted_one_does_not_exist(thresholds, wanted, size):
    indices, info = search_penalty(chooser(thresholds), wanted, 1.0)
    assert len(indices) == info["n_selected"] == size
    assert not info["reached"]


def test_search_starts_from_the_top():
    # Three features at the top, three others far below.
    def choose(penalty):
        if penalty > 0.9:
            return np.array([], dtype=np.intp)
        return np.arange(3) if penalty > 0.01 else np.arange(10, 13)

    indices, info = search_penalty(choose, 3, 1.0)
    assert indices.tolist() == [0, 1, 2]
    assert info["n_steps"] == 1


# -- subsamples --------------------------------------------------------------------------------------------------------


@given(st.integers(2, 60), st.integers(2, 60), st.sampled_from([0.5, 0.75, 0.8]), st.integers(0, 5))
def test_subsamples_have_the_share_of_each_class_to_the_nearest_row(n_zeros, n_ones, train_size, seed):
    y = np.random.default_rng(seed).permutation(np.repeat([0, 1], [n_zeros, n_ones]))
    inside = stratified_subsamples(y, train_size, 20, seed)
    assert set(inside.sum(axis=1)) == {round(train_size * len(y))}
    for code in (0, 1):
        (n_inside,) = set(inside[:, y == code].sum(axis=1))
        assert abs(n_inside - round(train_size * len(y)) * np.mean(y == code)) < 1


def test_every_row_is_drawn_equally_often():
    y = np.repeat([0, 1], [30, 10])
    share = stratified_subsamples(y, 0.75, 4000, 0).mean(axis=0)
    np.testing.assert_allclose(share, np.where(y == 0, 23 / 30, 7 / 10), atol=4 * np.sqrt(0.25 / 4000))


# -- RENT --------------------------------------------------------------------------------------------------------------


def test_criteria_of_rent_follow_their_definitions(rng):
    weights = rng.normal(0.3, 1, size=(9, 6)) * (rng.random((9, 6)) < 0.8)
    found = rent_criteria(weights)
    for j, column in enumerate(weights.T):
        n_nonzero = n_signs = 0
        for weight in column:
            n_nonzero += weight != 0
            n_signs += int(weight > 0) - int(weight < 0)
        p_value = stats.ttest_1samp(column, 0).pvalue
        np.testing.assert_allclose(found[:, j], [n_nonzero / 9, abs(n_signs) / 9, 1 - p_value / 2], rtol=1e-12)


def test_equal_weights_pass_the_test_unless_they_are_zero():
    weights = np.tile([0.1, -0.3, 0.0], (100, 1))
    np.testing.assert_array_equal(rent_criteria(weights), [[1, 1, 0], [1, 1, 0], [1, 1, 0.5]])


def test_rent_agrees_with_a_literal_implementation():
    X, y = make(8, 60, 12)
    found = rent(5 + 3 * X, y, 4, n_models=12, random_state=3)
    assert found.info["reached"]
    subsamples = subsamples_of(y, 12, seed=3)
    weights = np.array([saga(X[inside], y[inside], found.info["penalty"], 0.6).coef_[0] for inside in subsamples])
    chosen = [
        j
        for j, column in enumerate(weights.T)
        if np.mean(column != 0) >= 0.9
        and abs(np.sign(column).sum()) / 12 >= 0.9
        and stats.t.cdf(abs(column.mean()) / np.sqrt(column.var(ddof=1) / 12), 11) >= 0.975
    ]
    assert found.indices.tolist() == chosen


@pytest.mark.parametrize("n_features", [1, 3, 8])
def test_rent_finds_the_wanted_number(n_features):
    X, y = make(9, 50, 200)
    found = rent(X, y, n_features, n_models=20, random_state=0)
    assert len(found.indices) == n_features == found.info["n_selected"]
    assert (np.diff(found.indices) > 0).all()
    assert found.info["n_unconverged"] == 0


def test_rent_depends_on_the_seed_alone():
    X, y = make(10, 50, 60)
    first, again, other = (rent(X, y, 5, n_models=10, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.indices, again.indices)
    assert first.info == again.info
    assert first.info["sizes"] != other.info["sizes"]


def test_rent_does_not_depend_on_scales_or_constant_columns():
    X, y = make(11, 50, 30)
    plain = rent(X, y, 4, n_models=10, random_state=0)
    other = np.column_stack([np.full(50, 3.0), X * np.geomspace(1e-6, 1e6, 30) + 7.0])
    np.testing.assert_array_equal(rent(other, y, 4, n_models=10, random_state=0).indices, plain.indices + 1)


def test_stricter_criteria_choose_fewer_at_the_same_penalty(monkeypatch):
    X, y = make(12, 50, 60)

    def at_one_penalty(choose, n_features, top):
        return choose(0.05 * top), {}

    monkeypatch.setattr(competitors, "search_penalty", at_one_penalty)
    sets = [
        set(rent(X, y, 5, n_models=20, random_state=0, criteria=criteria).indices)
        for criteria in [(0, 0, 0), (0.5, 0, 0), (0.5, 0.5, 0.9), (1, 1, 1)]
    ]
    assert sets[0] == set(range(60))
    assert sets[0] > sets[1] >= sets[2] > sets[3]


@pytest.mark.data
def test_rent_reaches_twenty_genes_of_the_prostate_data(load_set):
    X, y = load_set("PRO")
    found = rent(X.to_numpy(), y, 20, n_models=20, random_state=0)
    assert len(found.indices) == 20
    assert found.info["n_unconverged"] == 0


# -- the other two -----------------------------------------------------------------------------------------------------


def test_random_forest_takes_the_largest_importances():
    X, y = load_breast_cancer(return_X_y=True)
    found = random_forest(X, y, 5, n_models=30, random_state=4)
    seed = int(np.random.default_rng(4).integers(2**31))
    importances = RandomForestClassifier(30, random_state=seed).fit(X, y).feature_importances_
    assert set(found.indices) == set(np.argsort(importances)[-5:])
    assert (np.diff(found.indices) > 0).all()
    np.testing.assert_array_equal(found.indices, random_forest(X, y, 5, n_models=30, random_state=4).indices)


def test_random_forest_breaks_ties_by_position_and_leaves_out_what_it_never_used(monkeypatch):
    class Forest:
        def __init__(self, **settings):
            pass

        def fit(self, X, y):
            self.feature_importances_ = np.array([0.1, 0.0, 0.25, 0.1, 0.3, 0.25])
            return self

    monkeypatch.setattr("sklearn.ensemble.RandomForestClassifier", Forest)
    X, y = make(13, 20, 6)
    assert [random_forest(X, y, k, random_state=0).indices.tolist() for k in (1, 2, 4, 6)] == [
        [4],
        [2, 4],
        [0, 2, 4, 5],
        [0, 2, 3, 4, 5],
    ]
    assert not random_forest(X, y, 6, random_state=0).info["reached"]


def test_a_feature_in_no_block_is_a_block_of_its_own():
    X, y = make(14, 80, 12)
    blocks = {"a": range(4), "b": range(4, 8)}
    found, full = (sparse_group_lasso(X, y, 5, one) for one in (blocks, {**blocks, **{j: [j] for j in range(8, 12)}}))
    np.testing.assert_array_equal(found.indices, full.indices)
    assert found.info == full.info


def test_sparse_group_lasso_choice_is_the_support_at_its_penalty():
    X, y = make(15, 80, 20)
    blocks = {"even": range(0, 20, 2), "odd": range(1, 20, 2)}
    found = sparse_group_lasso(X, y, 6, blocks, l1_share=0.9)
    model = SparseGroupLasso(X, y, np.arange(20) % 2, 0.9)
    coefficients = model.solve(found.info["penalty"])
    np.testing.assert_array_equal(found.indices, np.flatnonzero(coefficients[1:]))
    assert found.info["n_blocks"] == len(set(found.indices % 2))
    assert len(found.indices) == 6


def test_info_is_plain():
    X, y = make(16, 40, 10)
    for found in (
        random_forest(X, y, 3, n_models=5, random_state=0),
        rent(X, y, 3, n_models=5, random_state=0),
        sparse_group_lasso(X, y, 3, {"a": range(5)}),
    ):
        assert json.loads(json.dumps(found.info)) == found.info


def test_no_column_has_anything_to_do_with_the_target():
    y = np.repeat([0, 1], 20)
    X = np.tile(np.arange(20.0), 2)[:, None]
    found = sparse_group_lasso(X, y, 1, {})
    assert found.indices.tolist() == []
    assert not found.info["reached"]
