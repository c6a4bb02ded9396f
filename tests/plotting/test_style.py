"""Names on paper and labels that keep their distance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from ubayfs.plotting.base import top_features
from ubayfs.plotting.style import short, short_names, spread, wrapped


@given(st.text(max_size=60), st.integers(8, 40))
def test_short_names_fit_and_keep_both_ends(name, longest):
    line = short(name, longest)
    assert 0 < len(line) <= max(longest, len("(no name)"))
    assert line.isprintable()
    cleaned = " ".join(name.split())
    if cleaned.isprintable() and cleaned:
        head, _, tail = line.partition("…") if len(cleaned) > longest else (cleaned, "", "")
        assert cleaned.startswith(head)
        assert cleaned.endswith(tail)


def test_names_that_would_look_alike_are_numbered():
    names = ["a" * 20 + c + "z" * 20 for c in "bc"] + ["short"]
    assert short_names(names, 9) == ["aaaa…zzzz #1", "aaaa…zzzz #2", "short"]


@given(
    st.lists(st.floats(0, 10), min_size=1, max_size=5),
    st.floats(0.1, 1.5),
)
def test_spread_keeps_order_distance_and_limits(positions, gap):
    moved = spread(positions, gap, 0.0, 10.0)
    order = np.argsort(positions, kind="stable")
    assert (np.diff(moved[order]) >= gap - 1e-9).all()
    assert moved.min() >= 0
    assert moved.max() <= 10 + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_spread_moves_as_little_as_possible(seed):
    rng = np.random.default_rng(seed)
    positions = np.sort(rng.random(6))
    constraints = [{"type": "ineq", "fun": lambda x: np.diff(x) - 0.15}]
    best = minimize(
        lambda x: ((x - positions) ** 2).sum(),
        np.arange(6) * 0.3,
        constraints=constraints,
        bounds=[(0, 1)] * 6,
        tol=1e-14,
    )
    np.testing.assert_allclose(spread(positions, 0.15, 0.0, 1.0), best.x, atol=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_leading_features_are_the_chosen_and_the_best(seed):
    rng = np.random.default_rng(seed)
    score, chosen = rng.integers(0, 5, 12), rng.random(12) < 0.3
    limit = int(rng.integers(1, 13))
    ranked = sorted(range(12), key=lambda i: (-score[i], i))
    members = [i for i in ranked if chosen[i]]
    others = [i for i in ranked if not chosen[i]][: max(limit - len(members), 0)]
    assert top_features(score, chosen, limit).tolist() == sorted(members + others, key=ranked.index)


def test_not_more_than_a_hundred_chosen_features_are_listed():
    score = np.arange(300.0)
    assert top_features(score, np.ones(300, dtype=bool), 30).tolist() == list(range(299, 199, -1))


def test_words():
    assert wrapped("one two\nthree", 5) == "one\ntwo\nthree"
