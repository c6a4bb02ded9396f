"""The shortlist: the same answer as sorting everything, from a few features."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ubayfs.constraints import cannot_link, exact_size, linear, max_per_block, max_size, min_size, resolve
from ubayfs.optimize import shortlist as module
from ubayfs.optimize.exact import Exact
from ubayfs.optimize.presolve import SizeBounds
from ubayfs.optimize.shortlist import shortlist
from ubayfs.utility import Utility

N_FEATURES = 60
ROWS = st.one_of(
    st.builds(max_size, st.integers(1, 12), st.sampled_from([0.05, 1.0, np.inf])),
    st.builds(min_size, st.integers(0, 8), st.sampled_from([0.05, 1.0, np.inf])),
    st.builds(exact_size, st.integers(1, 5), st.sampled_from([0.3, np.inf])),
)


def utility_of(theta, constraints, strength=1.0, selectable=None):
    theta = np.asarray(theta, dtype=float)
    names = [f"x{i}" for i in range(len(theta))]
    selectable = np.ones(len(theta), dtype=bool) if selectable is None else np.asarray(selectable)
    blocks = {"all": list(range(len(theta)))}
    return Utility(theta, resolve(constraints, names, blocks), strength, selectable)


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(module, "_FIRST_LENGTH", 3)


@settings(max_examples=150)
@given(st.data())
def test_is_the_beginning_of_all_sizes_and_holds_the_best(data):
    levels = data.draw(
        st.lists(st.sampled_from([0.0, 0.01, 0.01, 0.02, 0.5]), min_size=N_FEATURES, max_size=N_FEATURES)
    )
    selectable = np.array(data.draw(st.lists(st.booleans(), min_size=N_FEATURES, max_size=N_FEATURES)))
    constraints = data.draw(st.lists(ROWS, min_size=1, max_size=3))
    utility = utility_of(levels, constraints, data.draw(st.sampled_from([0.1, 1.0, 20.0])), selectable)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FIRST_LENGTH", 3)
        found = shortlist(utility)
    if found is None:
        return
    everything = SizeBounds.of(utility)
    n = len(found.order)
    np.testing.assert_array_equal(found.order, everything.order[:n])
    for name in ("importance", "log_kappa", "value"):
        np.testing.assert_array_equal(getattr(found, name), getattr(everything, name)[: n + 1])
    assert found.only_size
    assert found.best_size() == everything.best_size()


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("constraints", "length"),
    [
        (max_size(2), 3),
        (max_size(2, rho=0.1), 24),
        (max_size(2, rho=np.inf), 3),
        ([max_size(10, rho=np.inf), min_size(5, rho=np.inf)], 24),
    ],
)
def test_grows_until_no_larger_set_can_be_better(constraints, length):
    theta = np.full(400, 1e-4)
    theta[[5, 50, 300]] = 0.3
    utility = utility_of(theta, constraints)
    found = shortlist(utility)
    assert len(found.order) == length
    best = Exact().maximize(utility)
    assert best.value == pytest.approx(SizeBounds.of(utility).value.max(), abs=1e-12)
    assert best.gap == 0


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    "constraints",
    [
        [],
        [max_size(3), cannot_link(["x0", "x1"])],
        [max_size(3), max_per_block(2)],
        linear(np.arange(1.0, N_FEATURES + 1)[None], 3.0, 1.0),
        min_size(3),
        [max_size(2, rho=np.inf), min_size(3, rho=np.inf)],
        max_size(3, rho=1e-6),
    ],
    ids=["none", "pair", "block", "weighted", "unlimited", "contradiction", "hardly limited"],
)
def test_none_where_it_could_not_tell(constraints):
    assert shortlist(utility_of(np.linspace(0.1, 1, N_FEATURES), constraints)) is None


@pytest.mark.usefixtures("short")
def test_the_first_of_equals_are_chosen():
    theta = np.full(200, 0.01)
    theta[77] = 0.02
    found = Exact().maximize(utility_of(theta, max_size(4, rho=np.inf)))
    assert np.flatnonzero(found.chosen).tolist() == [0, 1, 2, 77]
