"""Only what the data brought counts: members by rule and by weight are left out of what is selected again."""

import numpy as np
import pandas as pd
import pytest

from repeating import decided, reproduced
from ubayfs import (
    Evidence,
    at_least_one,
    collect_evidence,
    exact_size,
    implies,
    max_per_block,
    max_size,
    must_link,
    require,
)
from ubayfs.attribution import attribution, brought_by
from ubayfs.workflow import Decision

NAMES = list("abcdef")
# Votes 10, 8, 6, 4, 2, 1.
SETS = [[i < n for n in (10, 8, 6, 4, 2, 1)] for i in range(10)]
HARD = np.inf


def why(constraints, weights=0.01, **arguments):
    decision = Decision(weights=weights, constraints=constraints, **arguments)
    selection = decision.make(Evidence.from_sets(SETS, NAMES))
    return brought_by(selection, attribution(selection))


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        ([max_size(2)], {"a": "data", "b": "data"}),
        ([max_size(2), require("a")], {"a": "rule", "b": "data"}),  # it is always there, whatever the votes
        ([max_size(2), require("f")], {"a": "data", "f": "rule"}),
        ([max_size(3), require("a"), must_link(["a", "e"])], {"a": "rule", "b": "data", "e": "rule"}),
        ([max_size(3), require("a"), implies("a", "f")], {"a": "rule", "b": "data", "f": "rule"}),
        ([max_size(3), must_link(["a", "f"])], {"a": "data", "b": "data", "f": "rule"}),
        ([max_size(2), at_least_one(["d", "e"])], {"a": "data", "d": "rule"}),
        ([max_size(2), require("f", rho=20.0)], {"a": "data", "f": "rule"}),
        ([max_size(2), at_least_one(["a", "e"])], {"a": "data", "b": "data"}),
        ([exact_size(3)], {"a": "data", "b": "data", "c": "data"}),
    ],
)
def test_rules(constraints, expected):
    assert why(constraints) == expected


def test_limits_leave_members_to_the_data():
    blocks = {"one": ["a", "b", "c"], "two": ["d", "e", "f"]}
    limits = [exact_size(2), max_per_block(1)]
    assert why(limits, blocks=blocks) == {"a": "data", "d": "data"}


def test_weights():
    assert why([max_size(2)], {"f": 50}) == {"a": "data", "f": "weight"}
    assert why([max_size(2)], {"a": 50}) == {"a": "data", "b": "data"}  # it would be there without the weight
    assert why([max_size(2)], {"b": "unlikely"}) == {"a": "data", "c": "weight"}
    assert why([max_size(3), require("e")], {"f": 50}) == {"a": "data", "e": "rule", "f": "weight"}


# On data


def planted(seed=0, n_signals=3, n_features=60):
    rng = np.random.default_rng(seed)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, n_features))
    X[:, :n_signals] += 1.2 * y[:, None]
    return pd.DataFrame(X, columns=[f"g{i}" for i in range(n_features)]), y


SETTINGS = {"selector": "fisher", "n_models": 20, "n_features_per_model": 5, "n_splits": 8}


def test_a_wrong_list_does_not_raise_what_is_selected_again():
    X, y = planted(n_signals=0)
    six = max_size(6)
    ensemble = {name: value for name, value in SETTINGS.items() if name != "n_splits"}
    votes = collect_evidence(X, y, **ensemble, random_state=0).counts
    wrong = {str(name): "very likely" for name in X.columns[votes == 0][:4]}
    plain, listed = (reproduced(X, y, weights=w, constraints=six, **SETTINGS) for w in (0.01, wrong))
    assert set(wrong) <= set(X.columns[listed.selected])
    assert set(listed.by_weight) == set(wrong)
    assert listed.selected_again[1] <= plain.selected_again[1] + 0.5
    assert "usually" not in listed.labels[listed.selected]
    assert {str(label) for label in listed.labels[np.isin(X.columns, listed.by_weight)]} == {"by your weight"}
    assert np.isnan(listed.frequency[np.isin(X.columns, listed.by_weight)]).all()
    # The number without the weights is that of the decision without them.
    assert plain.without_prior is None
    assert listed.without_prior.agreements == pytest.approx(plain.agreements)
    assert listed.without_prior.selected_again == pytest.approx(plain.selected_again)
    assert "Without your weights: " in str(listed)


def test_a_required_feature_is_not_counted():
    X, y = planted()
    found = reproduced(X, y, constraints=[max_size(4), require(["g0", "g50"])], **SETTINGS)
    assert found.by_rule == ("g0", "g50")
    assert found.size == 2
    assert found.n_varying == 58
    assert found.labels[[0, 50]].tolist() == ["by your rule"] * 2
    assert found.share_of_halves[[0, 50]].tolist() == [0, 0]
    assert found.selected_again[1] <= 2
    assert "Your rules brought in 2 more, not counted here." in str(found)


def test_nothing_by_the_data():
    X, y = planted()
    found = reproduced(X, y, constraints=[max_size(2), require(["g40", "g50"])], **SETTINGS)
    assert found.size == 0
    assert found.n_undefined == 8
    assert found.stand_ins is None
    assert "The data selected none of these 2: your rules brought in 2." in str(found)


def test_without_weights_halves_are_decided_once(monkeypatch):
    X, y = planted()
    times, make = [], Decision.make

    def counted(self, *given, **arguments):
        times.append(1)
        return make(self, *given, **arguments)

    monkeypatch.setattr(Decision, "make", counted)
    for weights, n in ((0.01, 1), ({"g50": 5}, 2), ({"g0": "unlikely"}, 2)):
        times.clear()
        reproduced(X, y, weights=weights, constraints=max_size(3), **SETTINGS)
        assert len(times) == 1 + n * 16


def test_a_selection_knows_its_decision():
    X, y = planted()
    selection, _ = decided(X, y, n_models=5, weights={"g3": 2}, constraints=max_size(3), min_votes=1)
    again = selection.decision.make(selection.posterior.evidence, knowledge=selection.posterior.knowledge)
    assert again.features == selection.features
    assert again.value == selection.value
    assert selection.decision.min_votes == 1
