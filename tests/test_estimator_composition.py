"""UBayFSSelector together with the rest of scikit-learn: pipelines, searches, column transformers, metadata routing."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ubayfs import UBayFSSelector, max_size, must_link


@pytest.fixture
def pipeline():
    return Pipeline(
        [("select", UBayFSSelector("fisher", n_models=4, max_features=6, random_state=0)), ("classify", GaussianNB())]
    )


def test_pipeline_passes_names_on(cancer):
    X, y = cancer
    steps = make_pipeline(StandardScaler(), UBayFSSelector("fisher", n_models=4, max_features=3, random_state=0))
    output = steps.set_output(transform="pandas").fit_transform(X, y)
    assert list(output) == list(steps[-1].selection_.features) == steps.get_feature_names_out().tolist()


def test_column_transformer(cancer):
    X, y = cancer
    means = [name for name in X if name.startswith("mean")]
    parts = ColumnTransformer(
        [("chosen", UBayFSSelector("fisher", n_models=4, max_features=2, random_state=0), means)],
        remainder="drop",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    pd.testing.assert_frame_equal(parts.fit_transform(X, y), X[list(parts["chosen"].selection_.features)])
    assert set(parts["chosen"].selection_.features) <= set(means)


def test_grid_over_constraints_in_two_processes(cancer, pipeline):
    X, y = cancer
    grid = {
        "select__constraints": [
            (max_size(1, rho=20),),
            (max_size(5, rho=20), must_link(["mean radius", "mean area"], rho=20)),
        ],
        "select__max_features": [3, 6],
    }
    search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2, error_score="raise").fit(X, y)
    assert [len(p["select__constraints"]) for p in search.cv_results_["params"]] == [1, 1, 2, 2]
    # The best candidate was refitted on all rows with its own constraints.
    again = pipeline.set_params(**search.best_params_).fit(X, y)
    assert search.best_estimator_["select"].selection_.to_dict() == again["select"].selection_.to_dict()


def test_grid_results_are_those_of_each_candidate(cancer, pipeline):
    X, y = cancer
    grid = {"select__constraint_strength": [0.01, 1.0], "select__constraints": [max_size(1, rho=1)]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y)
    for parameters, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        alone = cross_validate(pipeline.set_params(**parameters), X, y, cv=2)
        assert alone["test_score"].mean() == score
    assert len(set(search.cv_results_["mean_test_score"])) == 2


def test_parameters_of_a_nested_estimator():
    X, y = load_iris(return_X_y=True)
    selector = UBayFSSelector(LogisticRegression(max_iter=500), n_models=2, max_features=1, random_state=0)
    steps = make_pipeline(StandardScaler(), selector, GaussianNB())
    search = GridSearchCV(steps, {"ubayfsselector__selector__C": [0.1, 10.0]}, cv=2, error_score="raise").fit(X, y)
    refitted = search.best_estimator_["ubayfsselector"].selector
    assert search.best_params_ == {"ubayfsselector__selector__C": refitted.C}


class TestGroups:
    @pytest.fixture
    def groups(self, cancer):
        return np.arange(len(cancer[1])) // 10

    def test_fit_keeps_groups_together(self, cancer, groups):
        seen = []
        X, y = cancer
        numbered = np.column_stack([groups, np.random.default_rng(0).normal(size=len(X))])

        def spy(X, y, n_features, rng):
            seen.append(X[:, 0].astype(int))
            return [1]

        UBayFSSelector(spy, max_features=1, n_models=5, random_state=0).fit(numbered, y, groups=groups)
        size = np.bincount(groups)
        for rows in seen:
            present, counts = np.unique(rows, return_counts=True)
            np.testing.assert_array_equal(counts, size[present])

    def test_by_name_without_routing(self, cancer, groups, pipeline):
        pipeline.fit(*cancer, select__groups=groups)
        assert pipeline["select"].evidence_.settings["grouped"] is True

    def test_routed_through_pipeline_search_and_validation(self, cancer, groups, pipeline):
        X, y = cancer
        with config_context(enable_metadata_routing=True):
            pipeline["select"].set_fit_request(groups=True)
            pipeline.fit(X, y, groups=groups)
            assert pipeline["select"].evidence_.settings["grouped"] is True

            search = GridSearchCV(pipeline, {"select__max_features": [1, 3]}, cv=GroupKFold(2), error_score="raise")
            search.fit(X, y, groups=groups)
            assert search.best_estimator_["select"].evidence_.settings["grouped"] is True

            scores = cross_validate(
                pipeline, X, y, params={"groups": groups}, cv=GroupKFold(3), return_estimator=True, error_score="raise"
            )
            settings = [fold["select"].evidence_.settings for fold in scores["estimator"]]
            assert [fold["grouped"] for fold in settings] == [True] * 3
            assert all(fold["n_samples"] < len(X) for fold in settings)

    def test_not_routed_unless_requested(self, cancer, groups, pipeline):
        X, y = cancer
        with config_context(enable_metadata_routing=True):
            pipeline["select"].set_fit_request(groups=False)
            cross_validated = cross_validate(
                pipeline, X, y, params={"groups": groups}, cv=GroupKFold(2), return_estimator=True, error_score="raise"
            )
            settings = [fold["select"].evidence_.settings for fold in cross_validated["estimator"]]
            assert [fold["grouped"] for fold in settings] == [False] * 2

    def test_of_another_length(self, cancer, groups):
        with pytest.raises(ValueError, match="groups must have one entry per sample of X, 569; got 100"):
            UBayFSSelector().fit(*cancer, groups=groups[:100])


def test_a_target_in_another_order_is_refused_and_shuffled_folds_are_not():
    X, y = load_iris(return_X_y=True, as_frame=True)
    order = np.random.default_rng(0).permutation(len(y))
    selector = UBayFSSelector("fisher", max_features=2, n_features_per_model=2, n_models=5, random_state=0)
    with pytest.raises(ValueError, match=r"y has an index with the labels of X in another order"):
        selector.fit(X, y.iloc[order])
    expected = selector.fit(X, y).get_support()
    np.testing.assert_array_equal(selector.fit(X, y.iloc[order].loc[X.index]).get_support(), expected)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), selector, GaussianNB())
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    scores = cross_validate(pipeline, X.iloc[order], y.iloc[order], cv=folds, error_score="raise")["test_score"]
    assert scores.min() > 0.8
