"""Reproducibility from the sets of halves, against the formulas written out."""

import math
import warnings

import numpy as np
import pytest

from repeating import reproduced
from ubayfs import collect_evidence, decide, estimate_reproducibility
from ubayfs.exceptions import EnsembleWarning, UBayFSWarning
from ubayfs.trust.reproducibility import Reproducibility, _projected_alike, agreement, projected


def slow_agreement(first, second, n_varying):
    k, other = len(first), len(second)
    if k == 0 or other == 0:
        return math.nan
    if k == other == n_varying:
        return 1.0
    return (len(first & second) - k * other / n_varying) / ((k + other) / 2 - k * other / n_varying)


def of(agreements, selected=(True, True, False, False), shares=(0.9, 0.3, 0.5, 0.0), n_splits=None, **more):
    selected, agreements = np.array(selected), np.array(agreements, dtype=float)
    names = np.array([f"x{i}" for i in range(len(selected))], dtype=object)
    shares, votes = np.array(shares, dtype=float), np.zeros((len(selected), 2))
    n_splits = len(agreements) if n_splits is None else n_splits
    return Reproducibility(names, selected, len(selected), agreements, shares, votes, n_splits, **more)


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
    s = math.sqrt(2 * 0.3 * 0.7 + 1 / 3) / 2 * math.sqrt(1 / 4 + 1 / 2)  # of counting, the larger one here
    upper = 4 * (0.3 + s) / (1 + 3 * (0.3 + s))
    assert (found.n_used, found.n_undefined, found.complete) == (4, 1, True)
    assert (found.lower, found.upper) == (pytest.approx(0.3), pytest.approx(upper))
    assert found.interval == pytest.approx((0.3 - 1.96 * s, 1.0))
    assert found.selected_again == pytest.approx([2 * (phi + (1 - phi) * 0.5) for phi in (0.3, upper)])
    assert found.frequency == pytest.approx([0.9, 0.3, 0.5, 0.0])  # 1.2 together, of 1.46 in the middle
    assert found.labels.tolist() == ["usually", "rarely", "sometimes", "rarely"]


def test_interval_by_the_spread_of_the_agreements():
    found = of([0.0, 0.5, 1.0, 0.5], selected=[True] * 40 + [False] * 60, shares=[0.5] * 100)
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


def test_the_range_holds_the_agreement_of_whole_studies(rng):
    """On planted truth, as printed in whole numbers, in nine of ten; that of Spearman and Brown in half of them."""
    cells = [(0, 0.0), (3, 4.5), (10, 2.5), (10, 3.5), (30, 2.0)]
    ours, theirs = np.transpose([held(*cell, rng) for cell in cells])
    assert min(ours) >= 0.6
    assert np.mean(ours) >= 0.8
    assert np.mean(theirs) <= 0.65


def held(n_signals, strength, rng, n_studies=40):
    """Return how often the range of a study holds the truth, and that with the other projection.

    Eight parts of each study have noisy effects of 500 features; four of them are a half.
    """
    effect = np.where(np.arange(500) < n_signals, strength / 8, 0.0)

    def studies(n):
        return effect + rng.standard_normal((n, 8, 500)) / math.sqrt(8)

    sets = top_ten(studies(300).sum(axis=1))
    truth = round((sets[:150] & sets[150:]).sum(axis=1).mean())
    found = []
    for parts in studies(n_studies):
        halves = (np.argsort(rng.random((20, 8)), axis=1) < 4).astype(float)
        both = [top_ten(half @ parts) for half in (halves, 1 - halves)]
        study = of(agreement(*both, 500), selected=top_ten(parts.sum(axis=0)[None])[0], shares=np.zeros(500))
        low, high = map(round, study.selected_again)
        found.append([low <= truth <= high, low <= truth <= round(study.exact.again(projected(study.lower)))])
    return np.mean(found, axis=0)


def top_ten(values):
    return np.argsort(np.argsort(-np.abs(values), axis=1), axis=1) < 10


def test_frequencies_are_scaled_to_what_is_selected_again():
    found = of([0.2, 0.1, 0.3], shares=(1.0, 1.0, 0.2, 0.0))
    phi = 2 * 0.2 / 1.2
    again = 2 * (phi + (1 - phi) / 2)
    assert found.frequency[:2].sum() == pytest.approx(again)
    assert found.frequency[2] == pytest.approx(0.2 * again / 2)
    assert found.selected_again[0] < again < found.selected_again[1]


@pytest.mark.parametrize("agreements", [[-0.4, -0.3, -0.5], [1.0, 1.0, 0.9], [0.0, 1.0, -1.0]])
def test_numbers_stay_in_their_range(agreements):
    found = of(agreements)
    assert -1 <= found.interval[0] <= found.lower <= found.upper <= found.interval[1] <= 1
    assert 0 <= found.selected_again[0] <= found.selected_again[1] <= found.size


def test_without_a_usable_split_nothing_is_claimed():
    found = of([np.nan], n_splits=3, failures=("no set",))
    assert math.isnan(found.lower)
    assert math.isnan(found.upper)
    assert all(map(math.isnan, found.interval))
    assert all(map(math.isnan, found.selected_again))
    assert found.frequency.tolist() == [0.9, 0.3, 0.5, 0.0]
    assert not found.complete
    assert [advice.code for advice in found.advice] == ["repeats_failed", "repeats_cancelled"]
    assert all(map(math.isnan, of([0.3]).interval))
    assert of([0.3]).lower == 0.3


def test_without_a_split_nothing_is_known_of_a_feature(rng):
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 2
    with pytest.warns(EnsembleWarning, match="cancel"):
        found = reproduced(X, y, selector="fisher", n_models=5, random_state=0, n_jobs=1, on_progress=lambda *_: False)
    assert found.n_used == 0
    assert set(found.labels[found.by_data]) == {"unknown"}
    assert "rarely" not in repr(found) + str(found)


def test_a_feature_that_every_half_selects_is_usually_selected_also_beside_others():
    """One feature leaves nothing for others on all samples; halves are small, and select more."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 40))
    X[:, 0] += 9.0 * y
    settings = {"selector": "wide", "n_models": 20, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UBayFSWarning)  # it almost determines the target
        selection = decide(collect_evidence(X, y, **settings), max_size=5)
        found = estimate_reproducibility(selection, X, y, n_splits=6)
    assert found.size < 5
    assert found.share_of_halves[0] == 1
    assert found.labels[0] == "usually"
    assert found.selected_again[0] >= 0.9
