"""Names, scikit-learn objects, callables and lists as elementary selectors."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    f_classif,
    f_regression,
)
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from ubayfs.data.feature_data import FeatureData
from ubayfs.data.target import TASKS
from ubayfs.exceptions import InputError
from ubayfs.selectors import SELECTORS, ElementarySelector, as_selector, check_task, describe
from ubayfs.selectors.base import best_first


@pytest.fixture
def table(rng):
    """Columns 2, 4, 6 separate the classes; column 3 is constant, column 5 only outside the first 30 rows."""
    y = np.array(["no", "yes"])[np.arange(60) % 2]
    X = rng.normal(size=(60, 8))
    X[:, [2, 4, 6]] += np.array([6.0, 5.0, 4.0]) * (y == "yes")[:, None]
    X[:, 3] = 1.0
    X[:30, 5] = 0.0
    return FeatureData.from_table(X, y)


def run(spec, data, n_features=3, rows=None, seed=0):
    (selector,) = as_selector(spec)
    mask = np.ones(data.n_samples, dtype=bool) if rows is None else rows
    (picks,) = selector.select_many(data.X, data.target, mask[None], n_features, [np.random.default_rng(seed)])
    return picks


def first_columns(X, y, n_features, rng):
    return np.arange(n_features)


class RequiresTarget(VarianceThreshold):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class TestSpecifications:
    @pytest.mark.parametrize("name", sorted(SELECTORS))
    def test_registry_name(self, name):
        assert as_selector(name) == (SELECTORS[name],)
        assert SELECTORS[name].name == name

    def test_unknown_name_is_answered_with_the_nearest(self):
        with pytest.raises(InputError, match=r"selector must be one of 'cox', .*got 'mrrm'.* Did you mean 'mrmr'\?"):
            as_selector("mrrm")

    def test_elementary_selector_passes_through(self):
        selector = SELECTORS["mrmr"]
        assert as_selector(selector) == (selector,)

    def test_list_makes_a_mixed_ensemble(self):
        forest = RandomForestClassifier()
        selectors = as_selector(["mrmr", forest, ("fisher", first_columns)])
        assert [s.name for s in selectors][:3] == ["mrmr", "RandomForestClassifier", "fisher"]
        assert selectors[1].foreign is forest
        assert len(selectors) == 4

    def test_empty_list(self):
        with pytest.raises(InputError, match="selector is an empty list"):
            as_selector([])

    def test_class_instead_of_object(self):
        with pytest.raises(InputError, match=r"class RandomForestClassifier; pass an object of it: RandomForestCl"):
            as_selector(RandomForestClassifier)

    @pytest.mark.parametrize("nonsense", [3, None, {"mrmr": 1}])
    def test_nonsense(self, nonsense):
        with pytest.raises(InputError, match=r"selector must be one of 'cox', 'fisher'.*or a list of these; got"):
            as_selector(nonsense)


class TestEstimators:
    def test_importances_of_a_forest(self, table):
        forest = RandomForestClassifier(20, random_state=np.random.default_rng(0).integers(5))
        seed = int(np.random.default_rng(7).integers(2**31 - 1))
        expected = RandomForestClassifier(20, random_state=seed).fit(table.X, table.target.labels).feature_importances_
        picks = run(forest, table, seed=7)
        assert picks.tolist() == best_first(expected, 3).tolist()
        assert not hasattr(forest, "classes_")  # the user's object stays as it was

    def test_randomness_comes_from_the_run(self, table):
        stump = DecisionTreeClassifier(max_depth=1, max_features=1, random_state=0)
        found = {tuple(run(stump, table, seed=s)) for s in range(20)}
        assert len(found) > 1
        assert all(tuple(run(stump, table, seed=s)) == tuple(run(stump, table, seed=s)) for s in range(3))

    def test_coefficients_are_summed_over_outputs(self, rng):
        X = rng.normal(size=(90, 6))
        y = np.arange(90) % 3
        X[:, 1] += y == 1
        X[:, 4] += 2.0 * (y == 2)
        data = FeatureData.from_table(X, y)
        fitted = RidgeClassifier().fit(X, y)
        expected = np.argsort(-np.abs(fitted.coef_).sum(axis=0), kind="stable")[:4]
        assert run(RidgeClassifier(), data, 4).tolist() == expected.tolist()

    def test_zero_importance_is_never_chosen(self, rng):
        X = rng.normal(size=(50, 6))
        data = FeatureData.from_table(X, 5 * X[:, 2] + 0.01 * rng.normal(size=50))
        assert run(Lasso(alpha=0.5), data, 4).tolist() == [2]
        assert run(Lasso(alpha=1e6), data, 4).tolist() == []

    def test_sparse_coefficients(self, table):
        class Sparsifying(LogisticRegression):
            def fit(self, X, y):
                return super().fit(X, y).sparsify()

        assert run(Sparsifying(), table).tolist() == run(LogisticRegression(), table).tolist()

    def test_without_importances(self, table):
        with pytest.raises(InputError, match="'KNeighborsClassifier' has neither coef_ nor feature_importances_"):
            run(KNeighborsClassifier(), table)

    def test_importances_of_other_columns(self, table):
        class Wrong(LogisticRegression):
            def fit(self, X, y):
                return super().fit(X[:, :4], y)

        with pytest.raises(
            InputError, match=r"'Wrong' must give one finite importance per column, 8; .*shape \(1, 4\)"
        ):
            run(Wrong(), table)

    def test_all_columns_are_passed_and_constant_picks_dropped(self, table):
        seen = []

        class Spy(LogisticRegression):
            def fit(self, X, y):
                seen.append((X.shape, sorted(set(y))))
                super().fit(X, y)
                self.coef_ = np.abs(self.coef_) + 100 * (np.arange(X.shape[1]) == 5)
                return self

        rows = np.arange(60) < 30
        picks = run(Spy(), table, 3, rows)
        assert seen == [((30, 8), ["no", "yes"])]
        assert len(picks) == 2
        assert 5 not in picks
        assert run(Spy(), table, 3)[0] == 5

    def test_survives_pickling(self, table):
        (selector,) = as_selector(RandomForestClassifier(5))
        copy = pickle.loads(pickle.dumps(selector))
        assert describe(copy) == describe(selector)
        assert run(copy, table).tolist() == run(selector, table).tolist()


class TestSupport:
    @pytest.mark.parametrize(
        "selector",
        [
            SelectKBest(f_classif, k=1),
            RFE(LogisticRegression(), n_features_to_select=1),
            SelectFromModel(LogisticRegression(), threshold=-np.inf, max_features=1),
            SelectPercentile(f_classif, percentile=100),
        ],
    )
    def test_number_of_features_is_that_of_the_run(self, selector, table):
        varying = FeatureData.from_table(np.delete(table.X, [3], axis=1), table.target.labels)
        assert set(run(selector, varying, 3)) == {2, 3, 5}

    def test_fewer_are_fine(self, table):
        assert set(run(SelectFromModel(LogisticRegression(C=0.1), threshold=0.5), table, 5)) <= {2, 4, 6}

    def test_best_first_by_scores(self, table):
        varying = FeatureData.from_table(np.delete(table.X, [3], axis=1), table.target.labels)
        scores = f_classif(varying.X, varying.target.labels)[0]
        assert run(SelectKBest(f_classif), varying, 4).tolist() == np.argsort(-scores)[:4].tolist()

    @pytest.mark.parametrize("selector", [VarianceThreshold(), RFECV(LogisticRegression(), min_features_to_select=7)])
    def test_too_many_without_a_ranking(self, selector, table):
        varying = FeatureData.from_table(np.delete(table.X, [3], axis=1), table.target.labels)
        with pytest.raises(InputError, match=r"selected 7 features, more than the 3 .* no scores_ or ranking_"):
            run(selector, varying, 3)

    def test_nested_random_states_come_from_the_run(self, table):
        rfe = RFE(DecisionTreeClassifier(max_depth=1, max_features=1))
        assert len({tuple(run(rfe, table, 1, seed=s)) for s in range(20)}) > 1

    def test_without_target(self, rng):
        data = FeatureData.from_table(rng.normal(size=(20, 3)))
        assert run(VarianceThreshold(), data, 3).tolist() == [0, 1, 2]


class TestCallables:
    def test_arguments(self, table):
        seen = {}

        def spy(X, y, n_features, rng):
            seen.update(X=X.copy(), y=y, n_features=n_features, rng=rng)
            X[:] = 0.0  # its own copy
            return [6, 3, 2]

        rows = np.arange(60) >= 30
        assert run(spy, table, 3, rows).tolist() == [6, 2]  # column 3 is constant
        np.testing.assert_array_equal(seen["X"], table.X[rows])
        np.testing.assert_array_equal(seen["y"], table.target.labels[rows])
        assert seen["n_features"] == 3
        assert isinstance(seen["rng"], np.random.Generator)

    def test_no_target(self, rng):
        data = FeatureData.from_table(rng.normal(size=(20, 3)))
        assert run(lambda X, y, n_features, rng: [0] if y is None else [1], data, 1).tolist() == [0]

    @pytest.mark.parametrize("empty", [[], (), np.array([], dtype=int), np.zeros(8, dtype=bool)])
    def test_nothing_chosen(self, empty, table):
        picks = run(lambda X, y, n_features, rng: empty, table)
        assert picks.dtype == np.intp
        assert len(picks) == 0

    def test_mask(self, table):
        mask = np.isin(np.arange(8), [1, 6])
        assert run(lambda X, y, n_features, rng: mask, table).tolist() == [1, 6]

    @pytest.mark.parametrize(
        ("returned", "message"),
        [
            ([0, 8], "from 0 to 7; got 8"),
            ([0, -1], "from 0 to 7; got -1"),
            ([1, 2, 1], "index 1 came more than once"),
            ([0.0, 1.0], "got list of float64 and shape"),
            (["a"], "got list of <U1"),
            ([[0, 1]], r"shape \(1, 2\)"),
            ([[0, 1], [2]], r"got \[\[0, 1\], \[2\]\]"),
            (None, "got NoneType of object"),
            (3, r"got int of int64 and shape \(\)"),
            ([True, False], "got list of bool"),
            ([0, 1, 2, 4], "at most n_features=3 of them; got 4"),
            (np.ones(8, dtype=bool), "at most n_features=3 of them; got 8"),
        ],
    )
    def test_nonsense_is_refused_by_rule_and_name(self, returned, message, table):
        def stubborn(X, y, n_features, rng):
            return returned

        with pytest.raises(InputError, match=r"selector '.*stubborn' must return distinct column indices.*" + message):
            run(stubborn, table)


class TestTasks:
    @pytest.mark.parametrize(
        ("spec", "tasks"),
        [
            (LogisticRegression(), {"binary", "multiclass"}),
            (RandomForestClassifier(), {"binary", "multiclass", "multilabel"}),
            (RandomForestRegressor(), {"regression"}),
            (RFE(Lasso()), {"regression"}),
            (SelectKBest(f_regression), set(TASKS)),
            (RequiresTarget(), {"binary", "multiclass", "multilabel", "regression", "survival"}),
            (make_pipeline(LinearRegression()), {"regression"}),
            (VarianceThreshold(), {"binary", "multiclass", "multilabel", "regression", "survival", "unsupervised"}),
            (KMeans(), {"binary", "multiclass", "multilabel", "regression", "survival", "unsupervised"}),
            (first_columns, {"binary", "multiclass", "multilabel", "regression", "survival", "unsupervised"}),
        ],
    )
    def test_tasks_of_foreign_selectors(self, spec, tasks):
        assert as_selector(spec)[0].tasks == tasks

    def test_foreign_object_without_tags(self):
        class Plain:
            def fit(self, X, y=None):
                self.feature_importances_ = np.ones(X.shape[1])
                return self

            def get_params(self, deep=True):
                return {}

        assert "unsupervised" in as_selector(Plain())[0].tasks

    def test_refusal_names_those_that_can(self):
        able = ", ".join(repr(n) for n in sorted(SELECTORS) if "regression" in SELECTORS[n].tasks)
        message = f"selector 'fisher' cannot do task 'regression', only binary, multiclass. Selectors that can: {able}."
        with pytest.raises(InputError) as caught:
            check_task(as_selector(["mrmr", "fisher"]), "regression")
        assert str(caught.value) == message
        assert "'mrmr'" in able

    def test_every_task_has_a_selector(self):
        for task in ("binary", "multiclass", "multilabel", "regression", "unsupervised"):
            check_task([s for s in SELECTORS.values() if task in s.tasks], task)
            assert any(task in s.tasks for s in SELECTORS.values())

    def test_regressor_on_classes(self):
        with pytest.raises(
            InputError, match="selector 'RandomForestRegressor' cannot do task 'binary', only regression"
        ):
            check_task(as_selector(RandomForestRegressor()), "binary")


class TestDescriptions:
    def test_settings_are_told_apart(self):
        a, b = (describe(as_selector(RandomForestClassifier(n))[0]) for n in (10, 11))
        assert a != b
        assert "n_estimators=10" in a

    def test_no_addresses(self):
        text = describe(as_selector(SelectKBest(partial(f_regression, center=False), k=2))[0])
        assert " at 0x" not in text
        assert text == (
            "sklearn.feature_selection._univariate_selection.SelectKBest(k=2, "
            "score_func=partial(sklearn.feature_selection._univariate_selection.f_regression, center=False))"
        )

    def test_long_estimators_are_not_abbreviated(self):
        def pipeline(penalty):
            return make_pipeline(*[SelectKBest(k=k) for k in range(1, 40)], LogisticRegression(C=penalty))

        texts = {describe(as_selector(pipeline(c))[0]) for c in (1.0, 2.0)}
        assert len(texts) == 2

    def test_random_state_is_not_part_of_it(self):
        a = describe(as_selector(RandomForestClassifier(random_state=0))[0])
        assert a == describe(as_selector(RandomForestClassifier(random_state=np.random.RandomState(1)))[0])

    def test_arrays_and_mappings_in_full(self):
        weights = {"no": 1.0, "yes": 2.0}
        assert "class_weight={'no': 1.0, 'yes': 2.0}" in describe(
            as_selector(LogisticRegression(class_weight=weights))[0]
        )
        long = KMeans(init=np.arange(4000.0).reshape(-1, 2))
        assert "1717.0" in describe(as_selector(long)[0])

    def test_callables_by_qualified_name(self):
        assert describe(as_selector(first_columns)[0]).endswith("test_adapters.first_columns")

    def test_own_selectors(self):
        class Mine(ElementarySelector):
            name = "mine"
            tasks = frozenset({"binary"})

            def select_many(self, X, target, subsamples, n_features, rngs):
                return [np.arange(1)] * len(subsamples)

        assert describe(Mine()).endswith("Mine")
        assert describe(SELECTORS["laplacian"]) == "Laplacian(n_neighbors=5)"
