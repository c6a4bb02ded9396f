"""How many members of a set are related to the target: the bound, lists that were stated beforehand, and the call."""

import numpy as np
import pandas as pd
import pytest

from amounts import seeds
from ubayfs import Evidence, collect_evidence, decide, estimate_related, max_size
from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import InputError
from ubayfs.trust.related import N_KEPT, Bounds, associate


def literal_bounds(p, shuffled, error):
    """The threshold of an error, by the definition; `shuffled` are all p-values of each shuffle."""
    n = len(p)
    psi = sorted(min(value * n / (k + 1) for k, value in enumerate(sorted(row)[:N_KEPT])) for row in [p, *shuffled])
    return psi[int(np.floor(error * len(psi) + 1e-9)) - 1]


@pytest.mark.parametrize("seed", seeds(20))
def test_thresholds_bounds_and_q_values_are_those_of_the_definitions(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([8, 30, 80]))
    p, shuffled = rng.random(n) ** 3, rng.random((199, n))
    bounds = Bounds.from_p_values(p, shuffled, with_gaps=False)
    assert bounds.headline == pytest.approx(literal_bounds(p, shuffled, 0.1))
    assert bounds.best_guess == pytest.approx(literal_bounds(p, shuffled, 0.5))
    for threshold in (bounds.headline, bounds.best_guess):
        members = rng.random(n) < 0.4
        unrelated = min((p[members] >= threshold * k / n).sum() + k - 1 for k in range(1, min(N_KEPT, n) + 1))
        assert bounds.n_related(members, threshold) == members.sum() - min(unrelated, members.sum())
    kept = np.sort(shuffled, axis=1)[:, :N_KEPT]
    for j in range(n):
        ratios = [max((1 + (kept <= t).sum()) / 199, n * t) / (p <= t).sum() for t in p[p >= p[j]]]
        assert bounds.q_values[j] == pytest.approx(min(1.0, *ratios))


def test_with_gaps_thresholds_are_at_most_the_error():
    p, shuffled = np.full(4, 0.5), np.full((199, 4), 0.9)
    assert Bounds.from_p_values(p, shuffled, with_gaps=False).headline > 0.1
    assert Bounds.from_p_values(p, shuffled, with_gaps=True).headline == 0.1
    assert Bounds.from_p_values(p, shuffled, with_gaps=True).best_guess == 0.5


def planted(rng, n_related=5, n=60, n_features=200, effect=1.0):
    y = np.arange(n) % 2
    X = rng.normal(size=(n, n_features))
    X[:, :n_related] += effect * y[:, None]
    return FeatureData.from_table(X, y)


def test_a_right_list_proves_more_and_a_wrong_one_costs_little():
    members, none = np.arange(10), np.zeros(200, dtype=bool)
    gains = {"right": 0, "wrong": 0}
    for seed in range(8):
        data = planted(np.random.default_rng(seed))
        for kind, listed in {"right": [0, 1, 2, 3, 4, 50], "wrong": [60, 61, 62, 63, 64, 65]}.items():
            favored = none.copy()
            favored[listed] = True
            plain, weighted = associate(data, favored, 200, 0)
            gains[kind] += weighted.n_related(members, weighted.headline) - plain.n_related(members, plain.headline)
    assert gains["right"] >= 4
    assert gains["wrong"] >= -8


def test_on_pure_noise_no_set_is_called_related_more_often_than_promised():
    """The worst set is all of them. With and without a list about 0.14 of 60 sets; 16 are very unlikely."""
    wrong = 0
    for seed in range(60):
        data = planted(np.random.default_rng([1, seed]), effect=0.0, n=24, n_features=40)
        favored = np.arange(40) < 5
        plain, weighted = associate(data, favored, 200, seed)
        every = np.ones(40, dtype=bool)
        wrong += plain.n_related(every, plain.headline) > 0 or weighted.n_related(every, weighted.headline) > 0
    assert wrong < 16


@pytest.fixture(scope="module")
def study():
    data = planted(np.random.default_rng(3), effect=2.0, n_features=60)
    X = pd.DataFrame(data.X, columns=[f"g{j}" for j in range(60)])
    y = np.asarray(data.target.values)
    return X, y, collect_evidence(X, y, selector="mrmr", n_models=10, n_features_per_model=5, random_state=0)


def test_the_number_belongs_to_the_set_and_any_other_set_needs_no_data(study):
    X, y, evidence = study
    related = estimate_related(decide(evidence, constraints=max_size(5)), X, y, n_shuffles=200)
    assert set(related.features) == {f"g{j}" for j in range(5)}
    assert (related.at_least, related.best_guess, related.without_list, related.favored) == (5, 5, None, ())
    assert related.table()["related"].all()
    noise = related.of([f"g{j}" for j in range(20, 30)])
    assert noise.at_least == 0
    assert related.of([0, 1, 30]).features == ("g0", "g1", "g30")
    np.testing.assert_array_equal(noise.p_values, related.p_values)
    assert repr(related) == "Related(at_least=5 of 5, best_guess=5)"
    with pytest.raises(InputError, match="'gene'"):
        related.of(["gene"])


def test_weights_that_were_raised_beforehand_are_a_list_of_at_least_three(study):
    X, y, evidence = study
    for n_listed, listed in ((2, False), (3, True)):
        weights = {f"g{j}": 5.0 for j in range(n_listed)}
        selection = decide(evidence, weights=weights, constraints=max_size(5))
        related = estimate_related(selection, X, y, n_shuffles=200)
        assert (related.without_list is not None) is listed
        assert related.favored == (tuple(weights) if listed else ())
    everywhere = decide(evidence, weights=2.0, constraints=max_size(5))  # the same for all is no list
    assert estimate_related(everywhere, X, y, n_shuffles=200).without_list is None


def test_what_cannot_be_tested_is_refused(study):
    X, y, evidence = study
    selection = decide(evidence, constraints=max_size(5))
    with pytest.raises(InputError) as caught:
        estimate_related(selection, X)
    assert caught.value.argument == "y"
    for wrong in ((X + 1.0, y), (X, 1 - y), (X.rename(columns={"g0": "other"}), y)):
        with pytest.raises(InputError) as caught:
            estimate_related(selection, *wrong)
        assert caught.value.argument == "X"
    with pytest.raises(InputError) as caught:
        estimate_related(selection, X, y, n_shuffles=199)
    assert caught.value.argument == "n_shuffles"


def test_evidence_of_sets_from_elsewhere_has_the_statement_too(study):
    X, y, evidence = study
    sets = Evidence.from_sets(evidence.sets.toarray(), X.columns)
    related = estimate_related(decide(sets, constraints=max_size(5)), X, y, n_shuffles=200)
    assert related.at_least == 5
