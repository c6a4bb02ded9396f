"""Ranking of scores: the same as literal loops, whatever the ties."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ubayfs.selectors.base import TIE, best_first
from ubayfs.selectors.scoring import nth_highest

LEVELS = st.integers(0, 6).map(lambda level: level / 8)
NUDGES = st.sampled_from([0.0, 0.0, 0.4 * TIE, 0.9 * TIE, 1.1 * TIE, 1.7 * TIE, 3 * TIE])
SCORES = st.lists(
    st.one_of(st.builds(lambda level, nudge: level + nudge, LEVELS, NUDGES), st.just(-np.inf)), max_size=9
)


@given(SCORES, st.integers(0, 10))
def test_best_first_picks_the_first_within_a_tie_of_the_best(scores, n_features):
    remaining = dict(enumerate(scores))
    expected = []
    while len(expected) < n_features and max(remaining.values(), default=-np.inf) > -np.inf:
        best = max(remaining.values())
        expected.append(min(position for position, score in remaining.items() if score >= best - TIE))
        del remaining[expected[-1]]
    assert best_first(np.array(scores, dtype=float), n_features).tolist() == expected


@given(st.data())
def test_nth_highest_is_that_of_sorting(data):
    # Few values repeated in any order: ties, and groups of scores from 16 of them on.
    values = data.draw(
        st.lists(st.one_of(st.integers(-3, 3).map(float), st.floats(-1, 1), st.just(-np.inf)), min_size=1, max_size=12)
    )
    size, seed = data.draw(st.integers(1, 200)), data.draw(st.integers(0, 2**32 - 1))
    scores = np.random.default_rng(seed).choice(values, size)
    n = data.draw(st.integers(1, min(size, 12)))
    assert nth_highest(scores, n) == sorted(scores, reverse=True)[n - 1]
