"""The penalty curve against the formula, and prices against the decision itself."""

import re

import numpy as np
import pytest

import ubayfs
from ubayfs.app.penalty import Scale, in_words, penalty_svg

SCALE = Scale(100, 1000.0)


def heights(svg):
    """Return the votes at 0, 1, 2 ... that the drawing shows, read off its own axis."""
    levels = [(float(y) - 4, float(level)) for y, level in re.findall(r'y="([\d.]+)" class="y">([\d.]+)<', str(svg))]
    (low_y, low), (high_y, high) = levels[0], levels[-1]
    return [low + (low_y - float(y)) / (low_y - high_y) * (high - low) for y in re.findall(r'cy="([\d.]+)"', str(svg))]


@pytest.mark.parametrize("rho", [0.001, 0.1, 1.0, 3.0])
def test_points_are_the_votes_that_a_violation_costs(rho):
    sets = np.tri(8, dtype=bool)[2:]  # 3 to 8 of 8 features: max_size(3) violated by 0 to 5
    lost = 1 - np.exp(ubayfs.log_admissibility(sets, ubayfs.max_size(3, rho=rho)))
    assert heights(penalty_svg(rho, SCALE)) == pytest.approx(SCALE.total * lost, rel=0.05, abs=0.05)


def test_a_rule_without_a_price_is_a_line():
    assert heights(penalty_svg(0.0, SCALE)) == pytest.approx([0] * 6)


def test_a_price_costs_the_votes_that_it_says():
    votes = [95, 80, 45, 15, 3]
    evidence = ubayfs.Evidence.from_sets(np.arange(100)[:, None] < votes, list("abcde"))
    selection = ubayfs.decide(evidence, constraints=ubayfs.max_size(2, price=0.2))
    scale = Scale(100, selection.posterior.total)
    rho = scale.rho(0.2)
    assert rho == pytest.approx(selection.problem.utility.system.rho[0])
    assert scale.votes(1.0, rho) == pytest.approx(20)
    # The third feature has 45 votes, the fourth 15: less than the second violation costs.
    assert list(selection.features) == ["a", "b", "c"]
    assert in_words(rho, scale).startswith("A violation by 1 costs 20 votes")
