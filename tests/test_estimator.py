"""UBayFSSelector by itself: scikit-learn's own checks, what fit learns, what it refuses, what it stores."""

import pickle
import re

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from ubayfs import (
    Genetic,
    Hyperdirichlet,
    UBayFSSelector,
    collect_evidence,
    decide,
    decorrelate,
    max_per_block,
    max_size,
    min_per_block,
    min_size,
    must_link,
    require,
)
from ubayfs.exceptions import ConstraintError, InfeasibleError, InputError, OptimizationWarning, UBayFSWarning
from ubayfs.metrics import redundancy_rate

# Few models and many constraints fill sets up with features nobody chose; that is tested with `decide`.
pytestmark = pytest.mark.filterwarnings("ignore:No model voted:ubayfs.exceptions.OptimizationWarning")


def diabetes():
    """Return data with a continuous target (as shipped it is made of whole numbers, which are classes)."""
    X, y = load_diabetes(return_X_y=True)
    return X, y + 0.5


FEW_SETS = Genetic(n_sets=4, n_generations=2)
FEW_DRAWS = Hyperdirichlet(n_warmup=10, n_draws=32, max_draws=32)
CHECKS = parametrize_with_checks(
    [
        UBayFSSelector(n_models=3),
        UBayFSSelector("fisher", n_models=3, max_features=2, prior="generalized", n_alternatives=1),
        UBayFSSelector("tree", n_models=3, max_features=None, constraints=(max_size(2),), optimizer=FEW_SETS),
        UBayFSSelector("laplacian", n_models=3, max_features=1, prior=FEW_DRAWS, constraints=decorrelate(0.9)),
        UBayFSSelector(n_models=3, missing="available"),
    ]
)


# As a list: older releases of scikit-learn make a generator, which newer ones of pytest warn about.
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
# Small random data without signal: sets without limit or votes are what the checks ask for.
@pytest.mark.filterwarnings("ignore::ubayfs.exceptions.UBayFSWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class TestFit:
    def test_is_collect_evidence_and_decide(self, cancer):
        X, y = cancer
        ensemble = {"selector": "tree", "n_models": 8, "train_size": 0.5, "n_features_per_model": 4, "random_state": 3}
        decision = {
            "weights": {"mean": 2.0},
            "prior": "hyperdirichlet",
            "blocks": {"mean": [name for name in X if name.startswith("mean")]},
            "constraint_strength": 0.7,
            "min_votes": 1,
            "n_alternatives": 2,
            "differ_by": 2,
            "random_state": 3,
        }
        said = [must_link(["mean radius", "mean area"], rho=0.5), max_per_block(1), decorrelate(0.8)]
        fitted = UBayFSSelector(max_features=4, constraints=said, **{**ensemble, **decision}).fit(X, y)
        evidence = collect_evidence(X, y, **ensemble)
        expected = decide(evidence, X=X, constraints=[*said, max_size(4)], **decision)
        np.testing.assert_array_equal(fitted.evidence_.sets.toarray(), evidence.sets.toarray())
        np.testing.assert_array_equal(fitted.posterior_.mean, expected.posterior.mean)
        assert fitted.selection_.to_dict() == expected.to_dict()
        assert len(fitted.selection_.alternatives) == 2
        np.testing.assert_array_equal(fitted.get_support(indices=True), expected.indices)

    @pytest.mark.parametrize(
        ("load", "said", "task"),
        [
            (lambda: load_iris(return_X_y=True), None, "multiclass"),
            (diabetes, None, "regression"),
            (lambda: (load_iris().data[:100], np.repeat(["a", "b"], 50)), None, "binary"),
            (lambda: load_iris(return_X_y=True), "regression", "regression"),
        ],
    )
    def test_task_is_inferred_or_given(self, load, said, task):
        X, y = load()
        options = {"selector": "mrmr", "n_models": 2, "n_features_per_model": 2, "task": said, "random_state": 0}
        fitted = UBayFSSelector(max_features=2, **options).fit(X, y)
        assert fitted.evidence_.settings["task"] == task
        assert fitted.transform(X).shape == (len(X), 2)

    def test_without_a_target(self, cancer):
        fitted = UBayFSSelector("laplacian", max_features=3, n_models=2, random_state=0).fit(cancer[0])
        assert fitted.evidence_.settings["task"] == "unsupervised"
        assert fitted.get_support().sum() == 3

    def test_table_by_path(self, cancer, tmp_path):
        X, y = cancer
        np.save(tmp_path / "table.npy", X.to_numpy())
        selector = UBayFSSelector("mrmr", max_features=3, n_models=3, random_state=0)
        by_path = clone(selector).fit(tmp_path / "table.npy", y)
        np.testing.assert_array_equal(by_path.get_support(), selector.fit(X, y).get_support())
        assert by_path.transform(X.to_numpy()).shape == (569, 3)

    def test_same_seed_same_result_for_any_n_jobs(self, cancer):
        selector = UBayFSSelector("fisher", max_features=3, n_models=60, random_state=7)
        first = selector.fit(*cancer).evidence_.sets.toarray()
        second = clone(selector).set_params(n_jobs=2).fit(*cancer).evidence_.sets.toarray()
        np.testing.assert_array_equal(first, second)

    def test_progress_and_checkpoint_reach_the_ensemble(self, cancer, tmp_path):
        calls, runs = [], []

        def first_features(X, y, n_features, rng):
            runs.append(len(X))
            return np.arange(n_features)

        selector = UBayFSSelector(
            first_features,
            max_features=2,
            n_features_per_model=2,
            n_models=30,
            random_state=0,
            on_progress=lambda *args: calls.append(args),
            checkpoint=tmp_path / "runs",
        ).fit(*cancer)
        assert calls == [(done, 30) for done in range(1, 31)]
        assert len(runs) == 30
        assert selector.fit(*cancer).evidence_.counts[:3].tolist() == [30, 30, 0]
        assert len(runs) == 30  # all from the checkpoint


class TestSize:
    def test_max_features_is_hard(self, cancer):
        # At this strength a soft row would lose against the importance of all features together.
        options = {"selector": "mrmr", "n_models": 4, "constraint_strength": 0.01, "min_votes": 0, "random_state": 0}
        fitted = UBayFSSelector(max_features=3, **options).fit(*cancer)
        assert fitted.get_support().sum() == 3
        soft = UBayFSSelector(max_features=None, constraints=max_size(3, rho=1.0), **options).fit(*cancer)
        assert soft.get_support().sum() == 30

    def test_more_than_there_are_selects_all_and_says_so(self):
        X, y = load_iris(return_X_y=True)
        with pytest.warns(OptimizationWarning, match=r"^All 4 features .* are selected: up to 10 .*lower max_features"):
            fitted = UBayFSSelector("fisher", n_features_per_model=4, n_models=3, random_state=0).fit(X, y)
        assert fitted.get_support().all()

    def test_warnings_point_to_the_call(self):
        X, y = load_iris(return_X_y=True)
        with pytest.warns(UBayFSWarning) as caught:
            UBayFSSelector("fisher", n_features_per_model=4, n_models=3, random_state=0).fit(X[:53], y[:53])
        assert len(caught) >= 2  # of the data, and of the decision
        assert {warning.filename for warning in caught} == {__file__}

    def test_features_without_votes_keep_a_set_small_without_a_warning(self):
        X, y = load_iris(return_X_y=True)
        fitted = UBayFSSelector("fisher", n_models=3, random_state=0).fit(X, y)
        assert fitted.get_support().tolist() == (fitted.evidence_.counts > 0).tolist()
        assert fitted.get_support().sum() == 1

    def test_more_than_there_are_is_silent_when_something_else_limits(self):
        X, y = load_iris(return_X_y=True)
        options = {"n_features_per_model": 4, "n_models": 3, "random_state": 0}
        fitted = UBayFSSelector("fisher", constraints=[max_size(2, rho=9)], **options).fit(X, y)
        assert fitted.get_support().sum() == 2

    def test_no_limit_warns(self, cancer):
        with pytest.warns(OptimizationWarning, match="No constraint limits the size of the set: 8 of the 8 features"):
            fitted = UBayFSSelector("mrmr", max_features=None, n_models=3, random_state=0).fit(*cancer)
        assert fitted.get_support().tolist() == (fitted.evidence_.counts > 0).tolist()
        with pytest.warns(OptimizationWarning) as caught:
            fitted.redecide(min_votes=0)
        assert any("the size of the set: 30 of the 30 features" in str(warning.message) for warning in caught)

    @pytest.mark.parametrize("wrong", [0, -1, 2.5, True])
    def test_max_features_must_be_a_positive_whole_number(self, cancer, wrong):
        with pytest.raises(InputError, match=f"max_features must be a whole number >= 1; got {wrong!r}"):
            UBayFSSelector(max_features=wrong).fit(*cancer)

    @pytest.mark.parametrize(("word", "hint"), [("ten", ""), ("Supported", " Did you mean 'supported'?")])
    def test_a_wrong_word_for_the_size_suggests_the_right_one(self, cancer, word, hint):
        expected = f"max_features must be a whole number >= 1 or 'supported'; got {word!r}.{hint}"
        with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
            UBayFSSelector(max_features=word, n_models=3).fit(*cancer)
        with pytest.raises(InputError, match=re.escape(f"got {word!r}.{hint}")):
            max_size(word)

    @pytest.mark.parametrize(
        ("max_features", "per_model", "n_columns", "expected"),
        [
            (3, None, 30, 7),
            (None, None, 30, 7),
            (9, None, 30, 7),
            (12, None, 5, 1),
            (3, 8, 30, 8),
            (3, "random", 30, "random"),
        ],
    )
    @pytest.mark.filterwarnings("ignore::ubayfs.exceptions.OptimizationWarning")
    def test_features_per_model(self, cancer, max_features, per_model, n_columns, expected):
        X, y = cancer
        selector = UBayFSSelector("fisher", max_features=max_features, n_features_per_model=per_model, n_models=1)
        fitted = selector.fit(X.iloc[:, :n_columns], y)
        assert fitted.evidence_.settings["n_features_per_model"] == expected

    def test_an_explicit_number_per_model_is_not_cut(self, cancer):
        X, y = cancer
        with pytest.raises(InputError, match="n_features_per_model must be at most the number of features, 5; got 6"):
            UBayFSSelector(n_features_per_model=6).fit(X.iloc[:, :5], y)


class TestConstraints:
    def test_by_name_or_position(self, cancer):
        X, y = cancer
        options = {"selector": "mrmr", "n_models": 4, "max_features": 3, "random_state": 0}
        by_name = UBayFSSelector(constraints=[require("mean texture")], **options).fit(X, y)
        by_position = UBayFSSelector(constraints=require(1), **options).fit(X.to_numpy(), y)
        assert "mean texture" in by_name.get_feature_names_out()
        np.testing.assert_array_equal(by_name.get_support(), by_position.get_support())

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"constraints": [require("mean raduis")]}, "require names 'mean raduis'.*Did you mean 'mean radius'"),
            ({"constraints": ["max_size"]}, r"constraints must be made by builders.*got 'max_size'"),
            ({"constraints": iter([max_size(3)])}, "constraints is an iterator.*pass a list or a tuple"),
            ({"constraints": [max_per_block(1)]}, "max_per_block is about blocks, but none were given"),
            ({"weights": {"mean raduis": 3}}, "weights: names 'mean raduis'.*Did you mean 'mean radius'"),
            ({"weights": -1}, "weights must be positive"),
            ({"blocks": {"size": ["mean raduis"]}}, "'mean raduis'.*Did you mean 'mean radius'"),
            ({"prior": "dirichelt"}, "prior must be one of .* Did you mean 'dirichlet'"),
            ({"optimizer": "exacct"}, "optimizer must be one of .* Did you mean 'exact'"),
            ({"constraint_strength": 0}, "constraint_strength must be a number"),
            ({"min_votes": -1}, "min_votes must be a whole number >= 0; got -1"),
            ({"differ_by": 0}, "differ_by must be a whole number >= 1; got 0"),
            (
                {"n_alternatives": 1, "differ_by": 3, "max_features": 2},
                "differ_by must be at most 2, the most features of a set; got 3",
            ),
            ({"n_alternatives": 0.5}, "n_alternatives must be a whole number >= 0; got 0.5"),
            ({"time_limit": -3}, "time_limit must be a number"),
        ],
    )
    def test_errors_do_not_wait_for_the_ensemble(self, cancer, parameters, message):
        runs = []
        selector = UBayFSSelector(lambda X, y, n_features, rng: runs.append(1), n_models=1, **parameters)
        with pytest.raises(InputError, match=message):
            selector.fit(*cancer)
        assert not runs

    def test_decorrelate_sees_the_data_of_the_fit(self, cancer):
        X, y = cancer
        rows = np.arange(0, len(X), 3)
        selector = UBayFSSelector("mrmr", constraints=decorrelate(0.7), max_features=5, n_models=5, random_state=0)
        fitted = selector.fit(X.iloc[rows], y.iloc[rows])
        limits = [decorrelate(0.7), max_size(5)]
        relaxations, of_the_fit, of_all = (
            selection.problem.utility.system.rho
            for selection in (
                fitted.selection_,
                decide(fitted.evidence_, constraints=limits, X=X.iloc[rows]),
                decide(fitted.evidence_, constraints=limits, X=X),
            )
        )
        np.testing.assert_array_equal(relaxations, of_the_fit)
        assert not np.array_equal(relaxations, of_all)


class TestBadInput:
    @pytest.mark.parametrize(
        ("spoil", "message"),
        [
            (
                lambda X: X.assign(**{"mean area": np.nan}),
                r"X contains missing values \(NaN\).*'mean area'.*SimpleImputer",
            ),
            (lambda X: X.assign(sex=["f", *range(len(X) - 1)]), "X has non-numeric columns: 'sex'.*categories"),
            (lambda X: X.assign(name=X.index.map(str)).astype({"name": "category"}), "has 569 different labels"),
            (
                lambda X: sparse.csr_array(X.assign(**{"mean area": np.nan}).to_numpy()),
                r"X contains missing values \(NaN\) in column\(s\) 'x3'",
            ),
            (lambda X: X.set_axis(["same"] * X.shape[1], axis=1), "X has duplicate feature names: 'same'"),
            (lambda X: X.iloc[:, :0], r"X has no columns \(0 feature\(s\) \(shape=\(569, 0\)\)"),
        ],
    )
    def test_tables_are_refused_in_our_words(self, cancer, spoil, message):
        X, y = cancer
        with pytest.raises(InputError, match=message):
            UBayFSSelector().fit(spoil(X), y)

    def test_things_that_are_not_numbers_are_type_errors_too(self, cancer):
        X, y = cancer
        values = X.to_numpy().astype(object)
        values[0, 3] = {"area": 1}
        with pytest.raises(TypeError, match=r"non-numeric columns: 'x3' .*argument must be a string or a real number"):
            UBayFSSelector().fit(values, y)

    @pytest.mark.parametrize("selector", ["mrmr", ["laplacian", "fisher"], LogisticRegression()])
    def test_supervised_selectors_need_a_target(self, cancer, selector):
        with pytest.raises(InputError, match=r"requires y to be passed, but the target y is None.*'laplacian'"):
            UBayFSSelector(selector).fit(cancer[0])

    def test_selector_that_cannot_do_the_task(self):
        with pytest.raises(
            InputError, match=r"selector 'fisher' cannot do task 'regression'.*Selectors that can: 'hsic'"
        ):
            UBayFSSelector("fisher").fit(*diabetes())


class TestFailedFit:
    def test_evidence_survives_a_decision_that_fails(self, cancer):
        X, y = cancer
        both = [require([0, 1]), min_size(29)]  # of which so few models choose less
        selector = UBayFSSelector("mrmr", max_features=29, constraints=both, n_models=3, random_state=0)
        with pytest.raises(InfeasibleError, match="min-size 29"):
            selector.fit(X, y)
        assert selector.evidence_.n_models == 3
        with pytest.raises(NotFittedError):
            selector.transform(X)
        assert selector.redecide(max_features=2, constraints=both[0]).get_support(indices=True).tolist() == [0, 1]

    def test_contradictions_among_constraints_are_found_before_the_ensemble_runs(self, cancer):
        X, y = cancer
        blocks = {"mean": list(X.columns[:10]), "worst": list(X.columns[20:])}
        selector = UBayFSSelector("mrmr", max_features=3, constraints=min_per_block(2), blocks=blocks)
        with pytest.raises(InfeasibleError) as raised:
            selector.fit(X, y)
        assert set(raised.value.labels) == {"max-size 3", "min-per-block 2: mean", "min-per-block 2: worst"}
        assert not hasattr(selector, "evidence_")

    def test_refused_input_leaves_an_earlier_fit_alone(self, cancer):
        X, y = cancer
        selector = UBayFSSelector("mrmr", max_features=2, n_models=3, random_state=0).fit(X, y)
        before = selector.get_support()
        for bad in (X.iloc[:, :4].assign(sex=pd.Timestamp(0)), X.iloc[:1]):
            with pytest.raises(InputError):
                selector.fit(bad, y)
        np.testing.assert_array_equal(selector.get_support(), before)
        assert selector.transform(X).shape == (569, 2)

    def test_an_earlier_fit_does_not_mix_with_a_failed_one(self, cancer):
        X, y = cancer
        selector = UBayFSSelector("mrmr", max_features=1, n_models=3, random_state=0).fit(X, y)
        with pytest.raises(InfeasibleError):
            selector.set_params(max_features=30, constraints=min_size(29)).fit(X.iloc[:, ::-1], y)
        with pytest.raises(NotFittedError):
            check_is_fitted(selector)


class TestTags:
    @pytest.mark.parametrize(
        ("selector", "required"),
        [
            ("mrmr", True),
            ("laplacian", False),
            (["laplacian", "tree"], True),
            (LogisticRegression(), True),
            (lambda X, y, n_features, rng: [0], False),
            ("no such selector", False),
        ],
    )
    def test_target_is_required_where_the_selector_needs_it(self, selector, required):
        assert get_tags(UBayFSSelector(selector)).target_tags.required is required

    def test_input(self):
        tags = get_tags(UBayFSSelector())
        assert tags.input_tags.sparse
        assert not tags.input_tags.allow_nan
        for rule in ("available", "median", "drop_rows", "drop_columns"):
            assert get_tags(UBayFSSelector(missing=rule)).input_tags.allow_nan
        assert not tags.target_tags.multi_output


class TestMissingValues:
    @pytest.fixture
    def gappy(self):
        rng = np.random.default_rng(0)
        y = np.arange(60) % 2
        X = rng.normal(size=(60, 8))
        X[:, 5] += 3 * y
        X[:, 6] += 2 * y
        X[rng.random(60) < 0.2, 5] = np.nan
        return X, y

    @pytest.mark.parametrize("selector", ["mrmr", "fisher", "tree", LogisticRegression()])
    @pytest.mark.parametrize("rule", ["available", "median", "drop_rows"])
    def test_columns_pass_as_they_are(self, gappy, selector, rule):
        X, y = gappy
        fitted = UBayFSSelector(selector, max_features=2, n_models=8, random_state=0, missing=rule).fit(X, y)
        assert fitted.get_support(indices=True).tolist() == [5, 6]
        np.testing.assert_array_equal(fitted.transform(X), X[:, [5, 6]])
        again = fitted.redecide(max_features=1, constraints=decorrelate(0.9), X=X)
        assert again.get_support().sum() == 1

    def test_dropped_columns_keep_their_positions(self, gappy):
        X, y = gappy
        fitted = UBayFSSelector("mrmr", max_features=1, n_models=8, random_state=0, missing="drop_columns").fit(X, y)
        assert fitted.get_support(indices=True).tolist() == [6]
        assert fitted.n_features_in_ == 8

    def test_columns_with_too_many_gaps_cannot_be_chosen(self, gappy):
        X, y = gappy
        selector = UBayFSSelector(
            "mrmr", max_features=1, n_models=8, random_state=0, missing="available", max_missing=0.05
        )
        with pytest.warns(UBayFSWarning, match=r"cannot be selected.*\(x5\)"):
            selector.fit(X, y)
        assert selector.get_support(indices=True).tolist() == [6]

    def test_missing_values_are_refused_unless_a_rule_is_given(self, gappy):
        with pytest.raises(InputError, match="missing='available'"):
            UBayFSSelector(n_models=2).fit(*gappy)


class TestFrames:
    def test_pandas_and_polars_output(self, cancer):
        X, y = cancer
        selector = UBayFSSelector("mrmr", max_features=3, n_models=3, random_state=0)
        pandas = clone(selector).set_output(transform="pandas").fit(X, y)
        chosen = list(pandas.selection_.features)
        assert pandas.get_feature_names_out().tolist() == chosen
        pd.testing.assert_frame_equal(pandas.transform(X), X[chosen])
        polars = clone(selector).set_output(transform="polars").fit(pl.from_pandas(X), y.to_numpy())
        assert polars.transform(pl.from_pandas(X)).equals(pl.from_pandas(X[chosen]))
        assert polars.feature_names_in_.tolist() == list(X)

    def test_arrays_stay_arrays_of_their_type(self, cancer):
        X, y = cancer
        values = X.to_numpy(dtype=np.float32)
        fitted = UBayFSSelector("mrmr", max_features=2, n_models=3, random_state=0).fit(values, y)
        np.testing.assert_array_equal(fitted.transform(values), values[:, fitted.get_support()])
        assert fitted.transform(values).dtype == np.float32
        assert not hasattr(fitted, "feature_names_in_")
        assert fitted.get_feature_names_out().tolist() == list(fitted.selection_.features)

    def test_new_data_must_have_the_names_of_the_fit(self, cancer):
        X, y = cancer
        fitted = UBayFSSelector("mrmr", max_features=2, n_models=3, random_state=0).fit(X, y)
        with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
            fitted.transform(X[X.columns[::-1]])
        with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
            fitted.transform(X.rename(columns={"mean area": "surface"}))


class TestStorage:
    def test_round_trip_through_a_file(self, cancer, tmp_path):
        X, y = cancer
        fitted = UBayFSSelector("mrmr", constraints=[decorrelate(0.9)], n_models=5, random_state=0).fit(X, y)
        joblib.dump(fitted, tmp_path / "selector.joblib")
        loaded = joblib.load(tmp_path / "selector.joblib")
        pd.testing.assert_frame_equal(
            loaded.set_output(transform="pandas").transform(X), fitted.set_output(transform="pandas").transform(X)
        )
        assert loaded.selection_.to_dict() == fitted.selection_.to_dict()
        other = {"constraints": [decorrelate(0.6)], "X": X}
        assert loaded.redecide(**other).selection_.to_dict() == fitted.redecide(**other).selection_.to_dict()

    def test_the_data_are_not_kept(self, rng):
        X = rng.normal(size=(2000, 50))
        y = X[:, 0] + X[:, 1] > 0
        fitted = UBayFSSelector("mrmr", max_features=2, n_models=3, random_state=0).fit(X, y)
        assert len(pickle.dumps(fitted)) < X.nbytes / 20
        assert fitted.selection_.metrics.redundancy == redundancy_rate(X, fitted.get_support(indices=True))

    def test_support_is_a_copy(self, cancer):
        fitted = UBayFSSelector("mrmr", max_features=2, n_models=3, random_state=0).fit(*cancer)
        fitted.get_support()[:] = False
        assert fitted.get_support().sum() == 2

    def test_clone_forgets_the_fit_and_keeps_parameters(self, cancer):
        selector = UBayFSSelector(
            "fisher", max_features=2, constraints=(must_link([0, 1]),), weights={"mean area": 2.0}, n_models=3
        )
        copy = clone(selector.fit(*cancer))
        assert not hasattr(copy, "evidence_")
        assert copy.get_params() == selector.get_params()
        assert repr(copy) == repr(selector)
        assert "constraints=(must_link([0, 1]),)" in repr(copy)


def test_decisions_remember_constraints_that_were_read_once(cancer):
    evidence = collect_evidence(*cancer, selector="fisher", n_models=2, random_state=0)
    selection = decide(evidence, constraints=iter([max_size(3, rho=9)]))
    assert selection.provenance["constraints"] == [max_size(3, rho=9).to_dict()]
    assert len(selection.features) == 3


def test_constraints_of_another_kind_name_the_builders(cancer):
    with pytest.raises(ConstraintError, match="made by builders such as max_size"):
        UBayFSSelector(constraints=5).fit(*cancer)


def confounded():
    """Return a frame with text and gaps in its covariates, classes, and the names of these covariates."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    age = 60 + 8 * y + rng.normal(0, 5, 80)
    frame = pd.DataFrame(rng.normal(size=(80, 8)), columns=[f"f{j}" for j in range(8)])
    frame["f1"] += 1.5 * y
    frame["f2"] += (age - 60) / 2
    frame.insert(0, "age", age)
    frame.insert(4, "site", np.where(rng.random(80) < 0.5, "north", "south"))
    return frame, y, ["age", "site"]


@pytest.mark.filterwarnings("ignore:flag alone:ubayfs.exceptions.UBayFSWarning")
@pytest.mark.parametrize("adjusted", [False, True], ids=["alone", "beside covariates"])
def test_categories_are_returned_as_they_are(adjusted):
    X, y, names = confounded()
    X = X.drop(columns=[] if adjusted else names)
    X = X.assign(kind=pd.Categorical(np.resize(["left", "right", "right"], len(X))), flag=np.arange(len(X)) % 2 == 0)
    settings = {
        "selector": "mrmr",
        "adjust_for": names if adjusted else None,
        "n_models": 20,
        "max_features": 3,
        "random_state": 0,
    }
    selector = UBayFSSelector(**settings, constraints=[require(["kind", "flag"])]).fit(X, y)
    chosen = selector.get_feature_names_out().tolist()
    assert {"kind", "flag"} < set(chosen)
    assert selector.transform(X).tolist() == X[chosen].to_numpy(dtype=object).tolist()
    pd.testing.assert_frame_equal(clone(selector).set_output(transform="pandas").fit(X, y).transform(X), X[chosen])
    numbers = clone(selector).set_params(constraints=[]).fit(X[[*X.columns.drop("flag")]], y)
    assert "kind" not in numbers.get_feature_names_out()
    assert numbers.transform(X.drop(columns="flag")).dtype == np.float64


@pytest.mark.filterwarnings("ignore:samples without a value of age")
def test_covariates_are_never_selected():
    X, y, names = confounded()
    X.loc[5, "age"] = np.nan
    settings = {"selector": "mrmr", "n_models": 20, "max_features": 2, "random_state": 0}
    selector = UBayFSSelector(adjust_for=names, **settings).fit(X, y)
    assert selector.n_features_in_ == 10
    assert "f1" in selector.get_feature_names_out()
    assert "f2" not in selector.get_feature_names_out()
    assert set(names).isdisjoint(selector.get_feature_names_out())
    np.testing.assert_array_equal(selector.transform(X), X[list(selector.get_feature_names_out())])
    frame = clone(selector).set_output(transform="pandas").fit(X, y).transform(X)
    assert frame.columns.tolist() == selector.get_feature_names_out().tolist()
    fewer = selector.redecide(max_features=1, X=X)
    assert fewer.get_support().sum() == 1
    evidence = collect_evidence(
        X, y, selector="mrmr", adjust_for=names, n_models=20, n_features_per_model=2, random_state=0
    )
    np.testing.assert_array_equal(selector.evidence_.counts, evidence.counts)


def test_covariates_of_arrays_are_named_by_position(tmp_path):
    X, y, _ = confounded()
    values = X.drop(columns="site").to_numpy()
    selector = UBayFSSelector("mrmr", adjust_for="x0", n_models=10, max_features=2, random_state=0).fit(values, y)
    assert not selector.get_support()[0]
    assert selector.transform(values).shape == (80, 2)
    assert selector.redecide(X=values, max_features=1).get_support().sum() == 1
    np.save(tmp_path / "table.npy", values)
    mapped = clone(selector).fit(tmp_path / "table.npy", y)
    np.testing.assert_array_equal(mapped.get_support(), selector.get_support())


@pytest.mark.parametrize("adjust_for", [np.zeros((80, 1)), [1, 2], ["nobody"]], ids=["values", "numbers", "unknown"])
def test_the_estimator_takes_names_of_covariates_only(adjust_for):
    X, y, _ = confounded()
    with pytest.raises(InputError) as caught:
        UBayFSSelector(adjust_for=adjust_for, n_models=2).fit(X, y)
    assert caught.value.argument == "adjust_for"
