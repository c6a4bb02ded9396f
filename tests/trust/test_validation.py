"""Validation: nothing of the test part is seen, scores and intervals by hand, failures and cancels are reported."""

import json
import math
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, sparse, stats
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from repeating import decided, validated
from ubayfs import Hyperdirichlet, collect_evidence, decide, exact_size, max_size, require, validate
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.target import Target
from ubayfs.decision.workflow import Decision
from ubayfs.exceptions import EnsembleError, EnsembleWarning, InputError
from ubayfs.trust import repeats
from ubayfs.trust.cross_validation import Options, validate_procedure
from ubayfs.trust.intervals import FoldMean
from ubayfs.trust.prediction_metrics import ROC_GRID, Predicted, roc_curve
from ubayfs.trust.procedure import Procedure
from ubayfs.trust.validation import FoldScore, Validation

DIFFERENCES = ["difference", "difference_lower", "difference_upper"]
SCORES = ["method", "predictor", "metric", "mean", "lower", "upper", *DIFFERENCES]
FOLDS = ["repeat", "fold", "method", "predictor", "metric", "score", "n_features"]


def planted(n=60, p=40, n_signals=3, seed=0):
    """Two classes, which differ in the first features."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, p)), np.arange(n) % 2
    X[:, :n_signals] += 1.2 * y[:, None]
    return X, y


def quick(X, y, **arguments):
    usual = {"selector": "fisher", "n_models": 10, "cv": 3, "n_repeats": 2, "random_state": 0, "baselines": False}
    return validated(X, y, **{"constraints": [max_size(3)], **usual, **arguments})


@pytest.fixture(scope="module")
def found():
    X, y = planted()
    return quick(X, y, predictor=["ridge", LinearSVC()], sizes=[1, 3, 8], control=True, baselines=True)


# The interval


def test_the_interval_is_that_of_nadeau_and_bengio():
    values = np.array([0.7, 0.9, 0.8, 0.95, 0.85, 0.6])
    error = math.sqrt((1 / 6 + 1 / 2) * values.var(ddof=1))  # three folds, twice
    half = stats.t.ppf(0.975, 5) * error
    expected = (values.mean(), values.mean() - half, values.mean() + half, error)
    got = FoldMean.from_values([*values, math.nan], cv=3)
    assert (got.mean, got.lower, got.upper, got.standard_error) == pytest.approx(expected)


def test_one_value_has_a_mean_and_no_interval():
    assert FoldMean.from_values([0.5], 5).mean == 0.5
    assert math.isnan(FoldMean.from_values([0.5], 5).lower)
    assert math.isnan(FoldMean.from_values([], 5).mean)


# The value


def test_tables_have_the_columns_and_the_order_that_were_promised(found):
    assert list(found.scores.columns) == SCORES
    assert list(found.folds.columns) == FOLDS
    assert list(found.sizes.columns) == ["size", "metric", "mean", "lower", "upper", "standard_error"]
    assert found.scores["method"].drop_duplicates().tolist() == [
        "ubayfs",
        "most votes",
        "random",
        "forest",
        "all features",
    ]
    assert found.scores["metric"].tolist()[:2] == ["auc", "balanced_accuracy"]
    assert set(found.scores.query("method == 'all features'")["predictor"]) == {"ridge"}
    assert (found.main_metric, found.task, found.n_folds, found.n_done) == ("auc", "binary", 6, 6)
    assert found.complete
    assert found.failures == ()


def test_differences_are_paired_by_fold(found):
    table = found.folds.query("metric == 'auc' and predictor == 'ridge'").pivot(
        index=["repeat", "fold"], columns="method", values="score"
    )
    scores = found.scores.query("metric == 'auc' and predictor == 'ridge'").set_index("method")
    for method in ("random", "forest", "all features"):
        expected = FoldMean.from_values(table["ubayfs"] - table[method], 3)
        row = scores.loc[method, DIFFERENCES].tolist()
        assert row == pytest.approx([expected.mean, expected.lower, expected.upper])
        assert scores.loc[method, "mean"] == pytest.approx(table[method].mean())
    assert math.isnan(scores.loc["ubayfs", "difference"])
    # Without weights and constraints but a size, the most votes are what is chosen.
    assert scores.loc["most votes", DIFFERENCES].tolist() == [0, 0, 0]


def test_a_baseline_without_the_predictor_is_compared_with_our_first_one():
    X, y = planted()
    got = quick(X, y, predictor=LinearSVC(), baselines="all features")
    table = got.folds.query("metric == 'auc'").pivot(index=["repeat", "fold"], columns="method", values="score")
    row = got.scores.query("method == 'all features' and metric == 'auc'")
    assert row["difference"].item() == pytest.approx((table["ubayfs"] - table["all features"]).mean())


def test_frequency_counts_the_folds(found):
    assert found.frequency.sum() == pytest.approx(3.0)
    assert found.frequency["x0"] == np.mean([0 in chosen for chosen in found.sets])
    assert found.frequency[["x0", "x1", "x2"]].min() > 0.5


def test_plain_types_and_back(found):
    again = Validation.from_dict(json.loads(json.dumps(found.to_dict())))
    for name in ("scores", "folds", "sizes", "control"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(found, name))
    pd.testing.assert_series_equal(again.frequency, found.frequency)
    assert (again.best_size, again.one_se_size) == (found.best_size, found.one_se_size)
    with pytest.raises(InputError, match="records"):
        Validation.from_dict({key: value for key, value in found.to_dict().items() if key != "records"})


def curve(scores_by_size, cv=2):
    records = tuple(
        FoldScore(0, fold, "ubayfs", "ridge", "auc", score, size, size)
        for size, scores in scores_by_size.items()
        for fold, score in enumerate(scores)
    )
    return Validation("binary", "auc", cv, 1, 20, ("a",), ((0,), (0,)), (), size_records=records)


def test_the_smallest_size_within_one_standard_error_of_the_best():
    scores = {1: [0.6, 0.6], 2: [0.79, 0.81], 5: [0.85, 0.95], 9: [0.79, 0.99]}
    error = math.sqrt((1 / 2 + 1) * np.var(scores[5], ddof=1))
    assert 0.9 - error < 0.82
    assert 0.9 - error > 0.81  # so that size 2 is just not enough
    got = curve(scores)
    assert (got.best_size, got.one_se_size) == (5, 5)
    assert curve({**scores, 2: [0.81, 0.83]}).one_se_size == 2
    assert got.sizes["size"].tolist() == [1, 2, 5, 9]
    assert curve({}).best_size is None


# Nothing of the test part is seen


def test_selectors_and_decisions_see_the_training_part_alone():
    X, y = planted(n=30, p=6)
    X[:, 5] = np.arange(30)  # tells which sample it is
    seen, decided = [], []

    def watching(values, target, n_features, rng):
        seen.append(set(values[:, 5].astype(int)))
        return [0, 1]

    def decide_for(data, evidence):
        decided.append(set(data.X[:, 5].astype(int)))
        return Decision(constraints=[max_size(2)])

    data = FeatureData.from_table(X, y)
    options = Options(cv=3, n_repeats=2, random_state=0, baselines=False)
    got = validate_procedure(
        Procedure.from_arguments(data, {"selector": watching, "n_models": 8, "n_features_per_model": 2}),
        Decision(),
        options,
        decide_for=decide_for,
    )
    in_folds = [set.union(*seen[start : start + 8]) for start in range(0, len(seen), 8)]
    assert got.n_done == len(in_folds) == 6
    for repeat in (slice(0, 3), slice(3, 6)):
        assert all(inside <= training for inside, training in zip(in_folds[repeat], decided[repeat], strict=True))
        tests = [set(range(30)) - training for training in decided[repeat]]
        assert sorted(sample for test in tests for sample in test) == list(range(30))


def test_noise_is_at_chance_unless_features_are_chosen_outside_of_the_folds():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 1000)), np.arange(60) % 2
    nested = quick(X, y, cv=5, n_repeats=3, constraints=[max_size(10)])
    chosen = decide(
        collect_evidence(X, y, selector="fisher", n_models=10, random_state=0), constraints=[max_size(10)]
    ).indices
    outside = []
    for train, test in (np.arange(60) % 4 > 1, np.arange(60) % 4 < 2), (np.arange(60) % 4 < 2, np.arange(60) % 4 > 1):
        model = LogisticRegression(C=0.1).fit(X[train][:, chosen], y[train])
        outside.append(roc_auc_score(y[test], model.decision_function(X[test][:, chosen])))
    row = nested.scores.iloc[0]
    assert row["lower"] < 0.5 < row["upper"]
    assert abs(row["mean"] - 0.5) < 0.12
    assert np.mean(outside) > 0.8


def test_the_control_is_at_chance_where_the_target_is_predicted(found):
    ours, control = found.scores.iloc[0], found.control.iloc[0]
    assert found.control.columns.tolist() == ["predictor", "metric", "mean", "lower", "upper"]
    assert ours["mean"] > 0.85
    assert abs(control["mean"] - 0.5) < 0.2


# Same seed, same result


def test_neither_threads_nor_processes_change_the_result(monkeypatch):
    X, y = planted(p=12)
    arguments = {
        "prior": Hyperdirichlet(n_warmup=8, n_draws=16, max_draws=16),
        "cv": 2,
        "n_models": 5,
        "sizes": [2],
        "control": True,
        "predictor": ["ridge", "forest"],
        "baselines": ["forest", "all features"],
    }
    one, two = (quick(X, y, n_jobs=n_jobs, n_repeats=1, **arguments).to_dict() for n_jobs in (1, 2))
    assert one == two
    # Other processes have the large forests that tests do without.
    arguments |= {"predictor": "ridge", "baselines": ["most votes", "random", "all features"]}
    expected = quick(X, y, n_jobs=1, n_repeats=1, **arguments).to_dict()
    monkeypatch.setattr(repeats, "WORTH_PROCESSES", 0)
    monkeypatch.setattr(repeats.Repeats, "ensemble", None)  # of this process: the others have their own
    assert quick(X, y, n_jobs=2, n_repeats=1, **arguments).to_dict() == expected


def test_a_seed_sequence_is_not_used_up():
    X, y = planted()
    seed = np.random.SeedSequence(5)
    first, second = (quick(X, y, random_state=seed).to_dict() for _ in range(2))
    assert first == second
    assert first != quick(X, y, random_state=6).to_dict()


# Tasks and forms of data


def test_regression():
    X, _ = planted()
    got = quick(
        X, X[:, 0] + X[:, 1] + 0.1 * np.random.default_rng(0).normal(size=len(X)), selector="mrmr", baselines="random"
    )
    assert got.main_metric == "r2"
    scores = got.scores.set_index(["method", "metric"])["mean"]
    assert scores["ubayfs", "r2"] > 0.9 > 0.3 > scores["random", "r2"]
    assert scores["ubayfs", "mean_absolute_error"] < scores["random", "mean_absolute_error"]


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(20), 3)])
def test_several_classes_with_and_without_groups(groups):
    X, _ = planted()
    y = np.repeat(["a", "b", "c", "d"], 15)
    X[:, :3] += 3 * np.eye(4, 3)[np.repeat(np.arange(4), 15)]
    got = quick(X, y, groups=groups, n_repeats=1, predictor=["ridge", "forest"], baselines=["forest", "all features"])
    assert got.scores.query("method == 'ubayfs' and metric == 'auc'")["mean"].min() > 0.85
    assert got.n_done == 3


def test_labels():
    X, y = make_multilabel_classification(80, 20, n_classes=3, n_labels=1, random_state=0)
    got = quick(X, y, selector="tree", n_repeats=1, constraints=[max_size(8)], baselines=True)
    assert got.task == "multilabel"
    assert got.scores.iloc[0]["mean"] > 0.65
    assert got.scores["mean"].notna().all()
    assert got.n_done == 3


def test_sparse_and_frames_give_the_same_as_arrays():
    X, y = planted()
    X = np.round(X) * (np.abs(X) > 0.5)
    arguments = {"n_repeats": 1, "baselines": ["random", "all features"]}
    expected = quick(X, y, **arguments)
    names = [f"gene {j}" for j in range(40)]
    frame = quick(pd.DataFrame(X, columns=names), pd.Series(y), **arguments)
    assert frame.feature_names == tuple(names)
    for got in (frame, quick(sparse.csr_array(X), y, **arguments)):
        assert got.sets == expected.sets
        assert got.folds["score"].tolist() == pytest.approx(expected.folds["score"].tolist())


def test_missing_values():
    X, y = planted()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    got = quick(
        X, y, missing="available", n_repeats=1, predictor=["ridge", "forest"], baselines=["forest", "all features"]
    )
    assert got.scores.query("method == 'ubayfs' and metric == 'auc'")["mean"].min() > 0.8
    with pytest.raises(InputError, match="missing"):
        quick(X, y)


def test_weights_and_constraints_are_those_of_the_user():
    X, y = planted()
    X[:, 0] += 3 * y
    got = quick(X, y, constraints=[exact_size(2), require(["x20"])], weights={"x30": 1000}, baselines="most votes")
    assert all(chosen == (20, 30) for chosen in got.sets)
    assert got.scores.query("method == 'most votes' and metric == 'auc'")["difference"].item() < -0.2


# Sizes


def test_sizes_take_the_place_of_constraints_on_the_size(found):
    X, y = planted()
    sizes = {record.size: record.n_features for record in found.size_records}
    assert sizes == {1: 1, 3: 3, 8: 8}
    same = found.folds.query("method == 'ubayfs' and predictor == 'ridge'")["score"].tolist()
    assert [record.score for record in found.size_records if record.size == 3] == same
    assert found.one_se_size <= found.best_size
    with pytest.warns(EnsembleWarning, match="size 1"):
        got = quick(X, y, constraints=[require(["x5", "x6"])], sizes=[1, 3], n_repeats=1)
    assert set(got.sizes["size"]) == {3}
    assert (got.n_done, len(got.failures), got.complete) == (3, 3, True)


# What goes wrong


def failing(on):
    """A selector that raises in ensembles where the samples of `on` are absent."""

    def select(values, target, n_features, rng):
        if not set(on) & set(values[:, 5].astype(int)):
            raise ValueError("no such samples")
        return [0, 1]

    return select


def failing_below(n):
    """A selector that raises where it sees fewer than n samples: in folds, not on all of them."""

    def select(values, target, n_features, rng):
        if len(values) < n:
            raise ValueError("no such samples")
        return [0]

    return select


def test_folds_that_fail_are_left_out_and_reported():
    X, y = planted(n=30, p=6)
    X[:, 5] = np.arange(30)
    with pytest.warns(EnsembleWarning, match="folds could not be used"):
        got = quick(X, y, selector=failing([4]), n_models=3, train_size=0.95, n_features_per_model=2)
    assert got.n_done + len(got.failures) == 6
    assert 2 <= len(got.failures) <= 3  # the folds that test sample 4
    assert all("no such samples" in text and text.startswith("repeat ") for text in got.failures)
    assert len(got.folds) == 2 * got.n_done
    assert got.complete


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"selector": failing_below(20)}, "4 of 6 folds could not be used.*no such samples"),
        ({"predictor": LogisticRegression(C=-1)}, "InvalidParameterError"),
    ],
)
def test_more_than_half_failed_is_an_error(arguments, words):
    X, y = planted(n=30, p=6)
    with pytest.raises(EnsembleError, match=words):
        quick(X, y, **arguments)


def test_constraints_that_contradict_each_other_in_folds_are_an_error():
    X, y = planted(n=30, p=6)
    selection, _ = decided(X, y, n_models=5, constraints=[max_size(2)])
    contradiction = Decision(constraints=[exact_size(2), exact_size(3)])
    with pytest.raises(EnsembleError, match="cannot hold together"):
        validate(replace(selection, decision=contradiction), X, y, cv=3)


def test_a_target_that_is_constant_in_the_training_part_is_a_failure():
    y = np.zeros(12)
    y[0] = 1.0
    X = np.random.default_rng(0).random((12, 4))
    with pytest.warns(EnsembleWarning, match="constant in the training part"):
        got = quick(X, y, task="regression", selector="mrmr", n_repeats=1, constraints=[max_size(1)])
    assert len(got.failures) == 1


def test_cancelled_in_the_middle_shows_what_is_done():
    X, y = planted()
    calls = []

    def watch(done, total):
        calls.append((done, total))
        return done < 2

    with pytest.warns(EnsembleWarning, match="cancelled after 2 of 6 folds"):
        got = quick(X, y, on_progress=watch, control=True)
    assert calls == [(0, 12), (1, 12), (2, 12)]
    assert (got.n_done, got.n_folds, got.complete) == (2, 6, False)
    assert got.control.empty
    assert got.scores["mean"].notna().all()
    assert [got.sets[0], got.sets[1]] == list(quick(X, y).sets[:2])


def test_all_progress_is_reported():
    X, y = planted()
    calls = []
    quick(X, y, n_repeats=1, n_jobs=2, on_progress=lambda done, total: calls.append((done, total)))
    assert calls == [(0, 3), (1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"cv": 1}, "cv"),
        ({"cv": 31}, "y"),
        ({"n_repeats": 0}, "n_repeats"),
        ({"baselines": ["forests"]}, "baselines"),
        ({"sizes": [0]}, "sizes"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"on_progress": 3}, "on_progress"),
        ({"predictor": "svm"}, "predictor"),
        ({"checkpoint": 3}, "checkpoint"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_wrong_arguments_are_refused_before_any_work(arguments, argument):
    X, y = planted()
    with pytest.raises(InputError) as caught:
        quick(X, y, selector=failing_below(40), **arguments)
    assert caught.value.argument == argument


def test_without_a_target_there_is_nothing_to_predict():
    with pytest.raises(InputError, match="target") as caught:
        validated(planted()[0], selector="laplacian", n_models=3)
    assert caught.value.argument == "y"


def test_a_validation_resumes_where_it_was_cancelled(tmp_path, monkeypatch):
    """Each fold is done once; more repeats add to them, and the result is that of one go, seed included."""
    X, y = planted()
    with pytest.warns(EnsembleWarning):  # cancelled
        partly = quick(X, y, random_state=None, checkpoint=tmp_path, n_jobs=1, on_progress=lambda done, total: done < 2)
    assert partly.n_done == 2
    times = []
    run = validation_runs(monkeypatch, times)
    found = quick(X, y, random_state=None, checkpoint=tmp_path)
    assert len(times) == 4
    more = quick(X, y, random_state=None, checkpoint=tmp_path, n_repeats=3)
    assert len(times) == 7
    pd.testing.assert_frame_equal(more.folds.query("repeat < 2"), found.folds)
    seed = np.random.SeedSequence(json.loads((tmp_path / "manifest.json").read_text())["settings"]["seed"]["entropy"])
    monkeypatch.setattr("ubayfs.trust.folds.FoldEvaluation.run", run)
    pd.testing.assert_frame_equal(quick(X, y, random_state=seed).folds, found.folds)


def validation_runs(monkeypatch, times):
    """Count the folds that are done."""
    from ubayfs.trust.folds import FoldEvaluation

    run = FoldEvaluation.run
    monkeypatch.setattr(FoldEvaluation, "run", lambda *given: times.append(1) or run(*given))
    return run


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"weights": {"x1": 5}}, "weights"),
        ({"weights": {"x1": "unlikely"}}, "weights"),
        ({"constraints": [max_size(2)]}, "constraints"),
        ({"constraints": [max_size(3, price=0.2)]}, "constraints"),
        ({"cv": 2}, "folds of"),
        ({"predictor": LogisticRegression(C=2.0)}, "predictor"),
        ({"min_votes": 2}, "decision"),
        ({"blocks": {"first": ["x0", "x1"]}}, "decision"),
        ({"sizes": [1, 2]}, "sizes"),
        ({"baselines": ["random"]}, "baselines"),
        ({"n_models": 11}, "models of each"),
        ({"random_state": 1}, "random_state"),
    ],
)
def test_a_checkpoint_of_another_validation_is_refused(tmp_path, change, named):
    X, y = planted(n=24, p=6)
    quick(X, y, n_repeats=1, checkpoint=tmp_path)
    with pytest.raises(EnsembleError, match=rf"these differ: {named}"):
        quick(X, y, **{"n_repeats": 1, "checkpoint": tmp_path, **change})


def test_a_checkpoint_depends_on_arguments_of_a_decision_that_are_added_later(tmp_path):
    @dataclass(frozen=True, kw_only=True)
    class Extended(Decision):
        min_importance: float = field(
            default=0.0, metadata={"check": None, "part": "constraints", "in_posterior": False}
        )

    X, y = planted(n=24, p=6)
    procedure = Procedure.from_arguments(FeatureData.from_table(X, y), {"selector": "fisher", "n_models": 5})
    decision, options = Extended(constraints=[max_size(2)]), Options(cv=2, n_repeats=1, baselines=False, random_state=0)
    validate_procedure(procedure, decision, options, checkpoint=tmp_path)
    validate_procedure(procedure, decision.replace(min_importance=0.0), options, checkpoint=tmp_path)
    with pytest.raises(EnsembleError, match=r"these differ: decision"):
        validate_procedure(procedure, decision.replace(min_importance=0.1), options, checkpoint=tmp_path)


def test_a_damaged_fold_is_done_again(tmp_path):
    X, y = planted(n=24, p=6)
    before = quick(X, y, checkpoint=tmp_path)
    (tmp_path / "fold-1-1.json").write_text('{"chosen": 3}', encoding="utf-8")
    pd.testing.assert_frame_equal(quick(X, y, checkpoint=tmp_path).folds, before.folds)


def test_a_roc_curve_is_that_of_its_definition_and_its_area_is_the_auc():
    # By falling score: a member, another one, one of each (a tie), another one, a member, another one.
    truth = Target("binary", np.array([0, 0, 0, 0, 1, 1, 1]), classes=("a", "b"))
    scores = np.array([0.1, 0.4, 0.5, 0.8, 0.3, 0.5, 0.9])
    curve = roc_curve(truth, Predicted(scores > 0.5, np.stack([-scores, scores], axis=1)))
    assert curve[[0, 24, 25, 50, 74, 75, 100]] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 2 / 3, 2 / 3, 1, 1])
    assert curve[30] == pytest.approx(1 / 3 + (0.30 - 0.25) / 0.25 / 3)  # straight along a tie
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    scores = rng.normal(size=(400, 3)) + np.eye(3)[y]
    several = Target("multiclass", y, classes=("a", "b", "c"))
    curve = roc_curve(several, Predicted(scores.argmax(axis=1), scores))
    assert integrate.trapezoid(curve, ROC_GRID) == pytest.approx(roc_auc_score(np.eye(3)[y], scores), abs=0.005)
    assert np.isnan(
        roc_curve(Target("binary", np.zeros(4), classes=("a", "b")), Predicted(np.zeros(4), scores[:4, :2]))
    ).all()


def test_predictions_are_of_held_out_samples():
    X, y = planted()
    found = quick(X, y)
    auc = found.scores.query("method == 'ubayfs' and metric == 'auc'")["mean"].iloc[0]
    assert integrate.trapezoid(found.roc, ROC_GRID) == pytest.approx(auc, abs=0.01)
    assert found.predictions == ()
    target = X[:, 0] + np.random.default_rng(2).normal(size=len(X)) / 2
    numbers = quick(X, target, selector="mrmr")
    assert (numbers.roc, len(numbers.predictions)) == ((), len(X))
    assert [each.true for each in numbers.predictions] == pytest.approx(target)
    errors = np.array([each.true - each.predicted for each in numbers.predictions])
    assert 0.1 < (errors**2).mean() < 0.5 * target.var()
    # A target that has nothing to do with the features is not predicted, as it would be if samples were not held out.
    noise = np.random.default_rng(1).normal(size=len(X))
    pairs = [(each.true, each.predicted) for each in quick(X, noise, selector="mrmr").predictions]
    assert np.corrcoef(np.array(pairs).T)[0, 1] < 0.3
