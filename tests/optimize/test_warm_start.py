from dataclasses import replace

import numpy as np
import pytest

from problems import one_row, random_utility, selectable_sets, utility_of
from ubayfs.optimize import Exact, Genetic
from ubayfs.optimize.warm_start import Again, deciding_again


@pytest.mark.parametrize("seed", range(15))
def test_every_decision_is_as_exact_as_the_first(seed):
    rng = np.random.default_rng(seed)
    utility = random_utility(rng, n=9)
    sets = selectable_sets(utility)
    if np.isneginf(utility(sets)).all():
        return
    again = Again(Exact())
    for _ in range(12):
        drawn = replace(utility, theta=rng.dirichlet(np.ones(9)))
        solution = again.maximize(drawn)
        assert solution.value == pytest.approx(drawn(sets).max(), abs=1e-9)
        assert solution.gap <= 1e-9 * max(1.0, abs(solution.value))


def test_a_decision_begins_with_the_best_set_so_far(monkeypatch):
    begun = []
    maximize = Exact.maximize

    def recorded(self, utility, random_state=None):
        begun.append(self.begin_with)
        return maximize(self, utility, random_state)

    monkeypatch.setattr(Exact, "maximize", recorded)
    rows = [one_row([1, 1, 0, 0], 1, 9.0), one_row([0, 0, 1, 1], 1, 9.0)]
    again = Again(Exact(time_limit=60.0))
    for theta in ([0.4, 0.1, 0.4, 0.1], [0.1, 0.4, 0.1, 0.4], [0.4, 0.2, 0.4, 0.2], [0.2, 0.3, 0.1, 0.4]):
        again.maximize(utility_of(theta, rows))
    assert begun == [None, (0, 2), (0, 2), (1, 3)]


def test_other_optimizers_stay_as_they_are():
    genetic = Genetic()
    assert deciding_again(genetic) is genetic
    assert isinstance(deciding_again(Exact()), Again)
