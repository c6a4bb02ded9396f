"""Only what the data brought counts: members by rule and by weight are left out of what is selected again."""

import numpy as np
import pandas as pd
import pytest

from repeating import decided, reproduced
from ubayfs import collect_evidence, decide, estimate_reproducibility, max_size, require
from ubayfs._arguments import as_seed_sequence
from ubayfs.data.feature_data import FeatureData
from ubayfs.decision.workflow import Decision
from ubayfs.trust.halves import collect_halves
from ubayfs.trust.procedure import ensemble_of

HARD = np.inf


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
    assert "With your weights, " in str(listed)


@pytest.mark.filterwarnings("ignore::ubayfs.exceptions.OptimizationWarning")  # members without votes
def test_with_weights_is_what_the_same_weights_select_on_halves():
    """Shares and agreement by deciding on each half again, one by one; by the data alone counts what both select."""
    X, y = planted(n_signals=2)
    weights, three = {"g0": 20, "g1": 20, "g30": 20, "g40": 20}, [max_size(4), require("g50")]
    selection, others = decided(X, y, weights=weights, constraints=three, **SETTINGS)
    found = estimate_reproducibility(selection, X, y, random_state=0, **others)
    names = list(X.columns)
    halves = collect_halves(
        FeatureData.from_table(X, y), ensemble_of(selection.posterior.evidence, None), 8, as_seed_sequence(0)
    )
    sets, both = [], []
    for half in (half for pair in halves.pairs for half in pair):
        voted = {name for name, n in zip(names, half.counts, strict=True) if n} - {"g50"}
        with_weights, without = (
            set(decide(half, weights=w, constraints=three).features) & voted for w in (weights, 0.01)
        )
        sets.append(with_weights)
        both.append(with_weights & without - set(found.by_weight))
    share = {name: sum(name in s for s in sets) / 16 for name in names}
    assert dict(zip(names, found.with_weights.share_of_halves, strict=True)) == pytest.approx(share)
    alone = {name: sum(name in s for s in both) / 16 for name in names}
    assert dict(zip(names, found.share_of_halves, strict=True)) == pytest.approx(alone)
    counted = set(selection.features) - {"g50"} & {n for n, c in zip(names, selection.counts, strict=True) if c}
    assert set(X.columns[found.with_weights.members]) == counted
    expected = []
    for first, second in zip(sets[::2], sets[1::2], strict=True):
        chance = len(first) * len(second) / 59
        expected.append((len(first & second) - chance) / ((len(first) + len(second)) / 2 - chance))
    assert found.with_weights.agreement.agreements == pytest.approx(expected)
    again = found.with_weights.agreement
    total = sum(share[name] for name in counted)
    scale = min(1, again.again(2 * again.lower / (1 + again.lower)) / total)
    frequency = dict(zip(names, found.frequency_with_weights, strict=True))
    assert {n: frequency[n] for n in counted} == pytest.approx({n: share[n] * scale for n in counted})
    assert np.isnan(frequency["g50"])
    assert found.labels_with_weights[50] == "by your rule"
    assert found.labels_with_weights[0] == "usually"


def test_a_feature_that_its_weight_brings_back_is_not_selected_again_by_the_data():
    """A weak signal on a list: rarely selected by the data alone, usually with the weight; both are said."""
    X, y = planted(n_signals=0)
    X["g0"] += 0.5 * y
    found = reproduced(X, y, weights={"g0": 20}, constraints=max_size(2), **SETTINGS)
    assert found.labels_with_weights[0] == "usually"
    assert found.labels[0] in ("rarely", "by your weight")
    assert "With your weights, " in str(found)
    assert "by the data alone" in str(found)
    plain = reproduced(X, y, constraints=max_size(2), **SETTINGS)
    assert plain.with_weights is plain.labels_with_weights is None
    assert "by the data alone" not in str(plain)


def test_a_required_feature_is_not_counted():
    X, y = planted()
    found = reproduced(X, y, constraints=[max_size(4), require(["g0", "g50"])], **SETTINGS)
    assert found.by_rule == ("g0", "g50")
    assert found.size == 2
    assert found.n_varying == 58
    assert found.labels[[0, 50]].tolist() == ["by your rule"] * 2
    assert found.share_of_halves[[0, 50]].tolist() == [0, 0]
    assert found.selected_again[1] <= 2
    assert "The other 2 are not counted: your rules ask for 2." in str(found)


def test_what_fills_a_place_is_not_counted():
    """Two features have votes, the set has room for five: what fills it counts neither here nor in halves."""
    X, y = planted(n_signals=2)
    X[["g0", "g1"]] += 3 * y[:, None]
    few = {**SETTINGS, "n_features_per_model": 2}
    five, two = (reproduced(X, y, constraints=max_size(n), min_votes=0, **few) for n in (5, 2))
    assert five.selected.sum() == 5
    assert five.size == two.size == 2
    assert len(five.filling) == 3
    assert set(five.labels[np.isin(X.columns, five.filling)]) == {"fills a place"}
    assert five.agreements == pytest.approx(two.agreements)
    assert five.selected_again == pytest.approx(two.selected_again)
    assert "The other 3 are not counted: 3 fill places without a vote." in str(five)


def test_nothing_by_the_data():
    X, y = planted()
    found = reproduced(X, y, constraints=[max_size(2), require(["g40", "g50"])], **SETTINGS)
    assert found.size == 0
    assert found.n_undefined == 8
    assert found.stand_ins is None
    assert "None of these 2 counts as selected by the data: your rules ask for 2." in str(found)


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
