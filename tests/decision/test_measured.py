"""Add-on panels: features that are measured anyway, and what is worth adding to them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ubayfs import assess, collect_evidence, cost_budget, decide, validate
from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import InputError


def planted(seed=0, n=200):
    """Two measured genes, a copy of each, and a gene that adds to both."""
    rng = np.random.default_rng(seed)
    a, b, new = rng.normal(size=(3, n))
    y = (a + b + 0.7 * new + 0.6 * rng.normal(size=n) > 0).astype(int)
    copies = {"copy of a": a + 0.3 * rng.normal(size=n), "copy of b": b + 0.3 * rng.normal(size=n)}
    noise = {f"noise {i}": rng.normal(size=n) for i in range(7)}
    return pd.DataFrame({"a": a, "b": b, **copies, "new": new, **noise}), y


@pytest.mark.parametrize("selector", ["fisher", "mrmr", "lasso", "wide", "tree", "rfe"])
def test_every_selector_adds_what_the_measured_features_do_not_say(selector):
    X, y = planted()
    settings = {"selector": selector, "n_models": 10, "n_features_per_model": 1, "random_state": 0}
    evidence = collect_evidence(X, y, measured=["a", "b"], **settings)
    selection = decide(evidence, max_size=1)
    assert selection.features == ("new",)
    assert selection.panel == ("a", "b", "new")
    assert "a" not in selection.feature_names


def test_without_them_copies_are_taken():
    X, y = planted()
    evidence = collect_evidence(X.drop(columns=["a", "b"]), y, selector="fisher", n_models=10, random_state=0)
    assert set(decide(evidence, max_size=2).features) == {"copy of a", "copy of b"}


def test_votes_are_those_of_covariates():
    X, y = planted()
    settings = {"selector": "mrmr", "n_models": 5, "random_state": 0}
    measured, adjusted = (collect_evidence(X, y, **{key: ["a", "b"]}, **settings) for key in ("measured", "adjust_for"))
    assert (measured.sets != adjusted.sets).nnz == 0
    assert (measured.measured, adjusted.measured) == (("a", "b"), ())
    both = collect_evidence(X, y, measured="a", adjust_for="b", **settings)
    assert (both.measured, set(both.adjust_for)) == (("a",), {"a", "b"})
    assert (both.sets != adjusted.sets).nnz == 0


def test_they_cost_nothing_and_the_data_are_read_alike_afterwards():
    X, y = planted()
    evidence = collect_evidence(X, y, measured=["a"], selector="fisher", n_models=10, random_state=0)
    budget = cost_budget({"a": 100.0, "b": 3.0, "new": 1.0, "copy of b": 3.0}, 3.5)
    selection = decide(evidence, max_size=3, constraints=budget, X=X)
    assert "b" in selection.features
    assessment = assess(selection, X, y, n_shuffles=200, n_splits=2)
    assert assessment.adjust_for == ("a",)
    validation = validate(selection, X, y, cv=2, n_repeats=1, baselines=[])
    assert validation.adjust_for == ("a",)


@pytest.mark.parametrize(
    ("measured", "others"),
    [
        ("age", {}),
        (["a", "c"], {}),
        ([1], {}),
        (["a"], {"adjust_for": ["a"]}),
        (["a"], {"adjust_for": np.arange(200.0)}),
    ],
)
def test_what_is_wrong_is_named_before_any_work(measured, others, monkeypatch):
    X, y = planted()
    monkeypatch.setattr("ubayfs.ensemble.collect.run_ensemble", None)
    with pytest.raises(InputError) as raised:
        collect_evidence(X, y, measured=measured, **others)
    assert raised.value.argument == "measured"


def test_a_table_read_once_knows_them():
    X, y = planted()
    data = FeatureData.from_table(X, y, measured=("b", "a"))
    assert data.covariates.measured == ("b", "a")
    assert not {"a", "b"} & set(data.feature_names)


def test_a_study_adds_to_a_panel(tmp_path, monkeypatch):
    from ubayfs.cli.main import main

    monkeypatch.chdir(tmp_path)
    X, y = planted()
    X.assign(y=np.where(y, "ill", "well")).to_csv("t.csv", index=False)
    options = ["--target", "y", "--selector", "fisher", "--models", "10", "--max-size", "1", "--draws", "0"]
    assert main(["select", "t.csv", *options, "--measured", "a", "b", "--trust", "none", "-o", "out"]) == 0
    report = Path("out/report.md").read_text(encoding="utf-8")
    assert "1 of 10 features was selected, in addition to a and b, measured anyway." in report
    assert "Features count for what they add to a and b." in report
    assert main(["select", "t.csv", *options, "--measured", "c", "-o", "none"]) == 2
    assert not Path("none").exists()
