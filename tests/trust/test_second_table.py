"""The finished set on an independent second table."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from ubayfs import collect_evidence, decide, validate
from ubayfs.exceptions import InputError, UBayFSWarning


def table(seed, n=80, shift=0.0):
    rng = np.random.default_rng(seed)
    y = np.repeat(["ill", "well"], n // 2)
    X = pd.DataFrame(rng.normal(size=(n, 12)), columns=[f"g{i}" for i in range(12)])
    X.loc[y == "ill", ["g0", "g1", "g2"]] += 1.0
    return X + shift, y


@pytest.fixture(scope="module")
def finished():
    X, y = table(0)
    return decide(collect_evidence(X, y, selector="mrmr", n_models=10, random_state=0), max_size=3), X, y


def test_it_is_the_predictor_of_the_first_table_on_the_second(finished):
    selection, X, y = finished
    X_new, y_new = table(1, n=60)
    shuffled = X_new.iloc[:, ::-1].assign(more="text")  # columns are matched by name; others do not matter
    found = validate(selection, X, y, X_new=shuffled, y_new=y_new)
    names = list(selection.features)
    center, scale = X[names].mean(), X[names].std(ddof=0)
    model = LogisticRegression(C=0.1, class_weight="balanced").fit((X[names] - center) / scale, y)
    expected = roc_auc_score(y_new == "well", model.decision_function((X_new[names] - center) / scale))
    score = next(each for each in found.scores if each.metric == "auc")
    assert score.value == pytest.approx(expected, abs=0.01)
    assert score.lower < score.value < score.upper <= 1
    assert (found.n_samples, found.n_new, found.features, found.scale_differs) == (80, 60, selection.features, ())
    assert found == validate(selection, X, y, X_new=shuffled, y_new=y_new)
    assert "second table" in str(found)


def test_another_scale_is_noticed(finished):
    selection, X, y = finished
    X_new, y_new = table(1)
    X_new[selection.features[0]] *= 1000
    with pytest.warns(UBayFSWarning) as caught:
        found = validate(selection, X, y, X_new=X_new, y_new=y_new)
    assert [warning.message.advice.code for warning in caught] == ["scale_differs"]
    assert found.scale_differs == selection.features[:1]


def test_classes_are_matched_by_name(finished):
    selection, X, y = finished
    X_new, y_new = table(1)
    back = np.argsort(y_new, kind="stable")[::-1]
    same = validate(selection, X, y, X_new=X_new, y_new=y_new)
    assert validate(selection, X, y, X_new=X_new.iloc[back], y_new=y_new[back]).scores[0].value == same.scores[0].value


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        (lambda X, y: (X.drop(columns="g0"), y), "X_new"),
        (lambda X, y: (X.to_numpy(), y), "X_new"),
        (lambda X, y: (X, None), "y_new"),
        (lambda X, y: (X, np.where(y == "ill", "sick", "well")), "y_new"),
        (lambda *_: table(0), "X_new"),  # the first table itself
        (lambda X, y: (pd.concat([table(0)[0][:10], X[10:]]), y), "X_new"),  # and some samples of it
    ],
)
def test_what_does_not_fit_is_named(finished, change, argument):
    selection, X, y = finished
    X_new, y_new = change(*table(1))
    with pytest.raises(InputError) as raised:
        validate(selection, X, y, X_new=X_new, y_new=y_new)
    assert raised.value.argument == argument


def test_shared_samples_are_counted_once():
    X, y = table(0)
    twice, labels = pd.concat([X, X], ignore_index=True), np.concatenate([y, y])
    selection = decide(collect_evidence(X, y, n_models=5, random_state=0), max_size=3)
    with pytest.raises(InputError, match="has 160 samples"):
        validate(selection, X, y, X_new=twice, y_new=labels)
    selection = decide(collect_evidence(twice, labels, n_models=5, groups=np.tile(np.arange(80), 2)), max_size=3)
    with pytest.raises(InputError, match="has 80 samples"):
        validate(selection, twice, labels, groups=np.tile(np.arange(80), 2), X_new=X, y_new=y)


def test_samples_that_are_equal_by_chance_are_not_those_of_the_first_table():
    """Two genotypes, of which two of three samples have the same."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.choice([0, 0, 0, 0, 1], size=(2000, 2)), columns=["a", "b"])
    y = np.where(X["a"] + rng.normal(size=2000) > 0.5, "ill", "well")
    selection = decide(collect_evidence(X[:60], y[:60], n_models=5, random_state=0), max_size=2)
    for start in range(60, 1900, 80):
        new = slice(start, start + 80)
        assert validate(selection, X[:60], y[:60], X_new=X[new], y_new=y[new]).n_new == 80


@pytest.mark.parametrize("task", ["regression", "covariate"])
def test_numbers_and_covariates(task):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 6)), columns=list("abcdef"))
    y = X["a"] + X["f"] + 0.3 * rng.normal(size=120)
    adjust = {"adjust_for": ["f"]} if task == "covariate" else {}
    first, new = slice(0, 60), slice(60, 120)
    evidence = collect_evidence(
        X[first], y[first], selector="mrmr", n_models=5, random_state=0, n_features_per_model=2, **adjust
    )
    selection = decide(evidence, max_size=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UBayFSWarning)
        found = validate(selection, X[first], y[first], X_new=X[new], y_new=y[new], **adjust)
    assert found.main_metric == "r2"
    assert found.scores[0].value > 0.8


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    from ubayfs.cli.main import main

    monkeypatch.chdir(tmp_path)
    for name, seed in (("first.csv", 0), ("second.csv", 1)):
        X, y = table(seed)
        X.assign(status=y).to_csv(name, index=False)
    options = ["--target", "status", "--selector", "mrmr", "--models", "10", "--max-size", "3", "--draws", "0"]
    assert main(["select", "first.csv", *options, "--trust", "none", "-o", "out"]) == 0
    capsys.readouterr()
    assert main(["validate", "out", "--on", "second.csv", "-o", "scores.csv"]) == 0
    assert "3 features on 80 samples of a second table" in capsys.readouterr().out
    scores = pd.read_csv("scores.csv").set_index("metric")["value"]
    X, y = table(0)
    selection = decide(collect_evidence(X, y, selector="mrmr", n_models=10, random_state=0), max_size=3)
    X_new, y_new = table(1)
    assert scores["auc"] == pytest.approx(validate(selection, X, y, X_new=X_new, y_new=y_new).scores[0].value)
    Path("third.csv").write_text("g1,status\n1,ill\n2,well\n3,ill\n4,well\n")
    assert main(["validate", "out", "--on", "third.csv"]) == 2
    assert "lacks 2 of the 3 columns" in capsys.readouterr().err
    X_new.assign(status=y_new, g0="high").to_csv("fourth.csv", index=False)
    assert main(["validate", "out", "--on", "fourth.csv"]) == 2
    assert "1 (g0" in capsys.readouterr().err  # what is used of this table is said
