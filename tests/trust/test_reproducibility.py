"""Reproducibility from the sets of halves, against the formulas written out."""

import math

import numpy as np
import pytest

from ubayfs.trust.reproducibility import Reproducibility, _projected_alike, agreement, projected


def slow_agreement(first, second, n_varying):
    k, other = len(first), len(second)
    if k == 0 or other == 0:
        return math.nan
    if k == other == n_varying:
        return 1.0
    return (len(first & second) - k * other / n_varying) / ((k + other) / 2 - k * other / n_varying)


def of(agreements, chosen=(True, True, False, False), shares=(0.9, 0.3, 0.5, 0.0), n_splits=None, **more):
    chosen, agreements = np.array(chosen), np.array(agreements, dtype=float)
    names = np.array([f"x{i}" for i in range(len(chosen))], dtype=object)
    shares, votes = np.array(shares, dtype=float), np.zeros((len(chosen), 2))
    n_splits = len(agreements) if n_splits is None else n_splits
    return Reproducibility(names, chosen, len(chosen), agreements, shares, votes, n_splits, **more)


def test_agreement_is_that_of_the_formula(rng):
    first, second = rng.random((2, 200, 9)) < rng.random((2, 200, 1))
    expected = [
        slow_agreement(set(np.flatnonzero(a)), set(np.flatnonzero(b)), 9) for a, b in zip(first, second, strict=True)
    ]
    assert agreement(first, second, 9) == pytest.approx(expected, nan_ok=True)
    assert np.isnan(expected).any()
    assert not np.isnan(expected).all()


def test_random_sets_agree_by_chance_alone(rng):
    first, second = (np.argsort(rng.random((4000, 30)), axis=1) < 6 for _ in range(2))
    assert abs(agreement(first, second, 30).mean()) < 0.02


def test_summary_of_agreements():
    found = of([0.2, 0.4, np.nan, 0.6, 0.0])
    h = 1.96 * math.sqrt(2 * 0.3 * 0.7 + 1 / 3) / 2 * math.sqrt(1 / 4 + 1 / 2)  # of counting, the larger one here
    assert (found.n_used, found.n_undefined, found.complete) == (4, 1, True)
    assert (found.lower, found.upper) == (pytest.approx(0.3), pytest.approx(0.6 / 1.3))
    assert found.interval == pytest.approx((0.3 - h, 1.0))
    assert found.chosen_again == pytest.approx([2 * (phi + (1 - phi) * 0.5) for phi in (0.3, 0.6 / 1.3)])
    factor = found.chosen_again[1] / 1.2 if found.chosen_again[1] < 1.2 else 1.0
    assert found.frequency == pytest.approx(np.array([0.9, 0.3, 0.5, 0.0]) * factor)
    assert found.labels.tolist() == ["usually", "rarely", "sometimes", "rarely"]


def test_interval_by_the_spread_of_the_agreements():
    found = of([0.0, 0.5, 1.0, 0.5], chosen=[True] * 40 + [False] * 60, shares=[0.5] * 100)
    h = 1.96 * np.std([0.0, 0.5, 1.0, 0.5], ddof=1) * math.sqrt(1 / 4 + 1 / 2)
    assert found.interval == pytest.approx((0.5 - h, 1.0))
    assert 0.5 + h > 1


@pytest.mark.parametrize(("n_signals", "projection"), [(10, _projected_alike), (2, lambda a, _: projected(a))])
def test_projections_on_planted_truth(n_signals, projection, rng):
    # Means of signals among 500 features: the ten largest, in halves and in whole studies.
    effect = np.where(np.arange(500) < n_signals, 3.5, 0.0)
    half, whole = (
        agreement(*(top_ten(effect * scale + rng.standard_normal((400, 500))) for _ in range(2)), 500).mean()
        for scale in (math.sqrt(0.5), 1.0)
    )
    assert projection(half, 10 / 500) == pytest.approx(whole, abs=0.05)
    assert half < whole - 0.05


def top_ten(values):
    return np.argsort(np.argsort(-np.abs(values), axis=1), axis=1) < 10


def test_frequencies_are_scaled_to_what_is_chosen_again():
    found = of([-0.5, -0.5, -0.4], shares=(1.0, 1.0, 0.2, 0.0))
    assert found.frequency[:2].sum() == pytest.approx(found.chosen_again[1])
    assert found.frequency[2] == pytest.approx(0.2 * found.chosen_again[1] / 2)


@pytest.mark.parametrize("agreements", [[-0.4, -0.3, -0.5], [1.0, 1.0, 0.9], [0.0, 1.0, -1.0]])
def test_numbers_stay_in_their_range(agreements):
    found = of(agreements)
    assert -1 <= found.interval[0] <= found.lower <= found.upper <= found.interval[1] <= 1
    assert 0 <= found.chosen_again[0] <= found.chosen_again[1] <= found.size


def test_projection_is_that_of_twice_the_samples():
    assert [projected(x) for x in (-0.2, 0.0, 0.5, 1.0)] == pytest.approx([-0.2, 0.0, 2 / 3, 1.0])


def test_without_a_usable_split_nothing_is_claimed():
    found = of([np.nan], n_splits=3, failures=("no set",))
    assert math.isnan(found.lower)
    assert math.isnan(found.upper)
    assert all(map(math.isnan, found.interval))
    assert all(map(math.isnan, found.chosen_again))
    assert found.frequency.tolist() == [0.9, 0.3, 0.5, 0.0]
    assert not found.complete
    assert [advice.code for advice in found.advice] == ["repeats_failed", "repeats_cancelled"]
    assert all(map(math.isnan, of([0.3]).interval))
    assert of([0.3]).lower == 0.3
