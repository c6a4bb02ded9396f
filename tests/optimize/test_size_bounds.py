import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from amounts import examples, seeds
from problems import one_row, random_utility, selectable_sets, utility_of
from ubayfs.constraints import cannot_link, exact_size, linear, max_per_block, max_size, min_size, resolve
from ubayfs.constraints.utility import Utility
from ubayfs.optimize import Exact, size_bounds
from ubayfs.optimize.size_bounds import SizeBounds, shortlist

INF = np.inf
N_FEATURES = 60
ROWS = st.one_of(
    st.builds(max_size, st.integers(1, 12), rho=st.sampled_from([0.05, 1.0, np.inf])),
    st.builds(min_size, st.integers(0, 8), rho=st.sampled_from([0.05, 1.0, np.inf])),
    st.builds(exact_size, st.integers(1, 5), rho=st.sampled_from([0.3, np.inf])),
)


def sized_utility(seed, n=8):
    """A random problem to which rows on the size are added, so that the size bounds say something."""
    rng = np.random.default_rng(seed)
    base = random_utility(rng, n)
    rows = [one_row(np.ones(n), rng.integers(1, n), rng.choice([0.5, 5.0, INF]))]
    if rng.random() < 0.5:
        rows.append(one_row(-2 * np.ones(n), -rng.integers(1, n), rng.choice([0.5, 5.0])))
    system = base.system
    for row in rows:
        system = system.with_inequalities(row)
    return type(base)(base.theta, system, base.constraint_strength, base.selectable)


@pytest.mark.parametrize("seed", seeds(25))
def test_size_bounds_dominate_every_set(seed):
    utility = sized_utility(seed)
    sizes = SizeBounds.from_utility(utility)
    sets = selectable_sets(utility)
    values = utility(sets)
    assert (values <= sizes.value[sets.sum(axis=1)] + 1e-12).all()


@pytest.mark.parametrize("seed", seeds(20))
def test_size_bounds_are_attained_when_rows_see_only_the_size(seed):
    rng = np.random.default_rng(seed)
    n = 8
    selectable = rng.random(n) < 0.8
    rows = [one_row(np.ones(n), 3, 0.7), one_row(-0.1 * np.ones(n), -0.2, 2.0)]
    # Features that may not be selected do not make a row less uniform.
    rows.append(one_row(np.where(selectable, 1.0, 5.0), 6, INF))
    utility = utility_of(rng.dirichlet(np.ones(n)), rows, 0.8, selectable=selectable)
    sizes = SizeBounds.from_utility(utility)
    assert sizes.only_size
    sets = selectable_sets(utility)
    values = utility(sets)
    for size in range(selectable.sum() + 1):
        assert sizes.value[size] == pytest.approx(values[sets.sum(axis=1) == size].max(), abs=1e-12)
    assert sizes.value[sizes.best_size()] == pytest.approx(values.max())


def test_rows_on_some_features_or_on_blocks_are_not_about_size():
    blocks = sparse.csr_array(np.ones((4, 4), dtype=bool))
    assert not SizeBounds.from_utility(utility_of(np.ones(4), [one_row([1, 1, 1, 0], 1, 1.0)])).only_size
    assert not SizeBounds.from_utility(utility_of(np.ones(4), [one_row([1, 1, 1, 2], 1, 1.0)])).only_size
    assert not SizeBounds.from_utility(
        utility_of(np.ones(4), [one_row(np.ones(4), 1, 1.0, on_blocks=True)], 1.0, blocks)
    ).only_size


@pytest.mark.parametrize("seed", seeds(30))
def test_contenders_hold_every_better_set(seed):
    utility = sized_utility(seed)
    sizes = SizeBounds.from_utility(utility)
    sets = selectable_sets(utility)
    values = utility(sets)
    reached = values[np.isfinite(values)]
    cutoffs = np.quantile(reached, [0.5, 0.9, 0.99]).tolist() if len(reached) else []
    for cutoff in (-INF, *cutoffs):
        contenders = sizes.contenders(cutoff)
        better = sets[values > cutoff + 1e-12]
        assert set(np.flatnonzero(better.any(axis=0))) <= set(contenders.tolist())
        assert set(better.sum(axis=1)) <= set(sizes.plausible(cutoff).tolist())


def test_contenders_are_few_when_a_good_set_is_known():
    theta = np.arange(100, 0, -1) / 5050
    utility = utility_of(theta, [one_row(np.ones(100), 3, 50.0), one_row(np.arange(100) < 2, 1, 0.01)])
    known = utility(np.arange(100) < 3)[0]
    contenders = SizeBounds.from_utility(utility).contenders(known)
    # The known set loses 0.005 of admissibility; that is what 25 places of importance, 1/5050 each, may cost.
    np.testing.assert_array_equal(contenders, np.arange(28))
    assert len(SizeBounds.from_utility(utility).contenders(np.inf)) == 0


def constrained(theta, constraints, strength=1.0, selectable=None):
    theta = np.asarray(theta, dtype=float)
    names = [f"x{i}" for i in range(len(theta))]
    selectable = np.ones(len(theta), dtype=bool) if selectable is None else np.asarray(selectable)
    blocks = {"all": list(range(len(theta)))}
    return Utility(theta, resolve(constraints, names, blocks), strength, selectable)


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(size_bounds, "_FIRST_LENGTH", 3)


@settings(max_examples=examples(150))
@given(st.data())
def test_is_the_beginning_of_all_sizes_and_holds_the_best(data):
    levels = data.draw(
        st.lists(st.sampled_from([0.0, 0.01, 0.01, 0.02, 0.5]), min_size=N_FEATURES, max_size=N_FEATURES)
    )
    selectable = np.array(data.draw(st.lists(st.booleans(), min_size=N_FEATURES, max_size=N_FEATURES)))
    constraints = data.draw(st.lists(ROWS, min_size=1, max_size=3))
    utility = constrained(levels, constraints, data.draw(st.sampled_from([0.1, 1.0, 20.0])), selectable)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(size_bounds, "_FIRST_LENGTH", 3)
        found = shortlist(utility)
    if found is None:
        return
    everything = SizeBounds.from_utility(utility)
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
        (max_size(2, rho=1.0), 3),
        (max_size(2, rho=0.1), 24),
        (max_size(2), 3),
        ([max_size(10), min_size(5)], 24),
    ],
)
def test_grows_until_no_larger_set_can_be_better(constraints, length):
    theta = np.full(400, 1e-4)
    theta[[5, 50, 300]] = 0.3
    utility = constrained(theta, constraints)
    found = shortlist(utility)
    assert len(found.order) == length
    best = Exact().maximize(utility)
    assert best.value == pytest.approx(SizeBounds.from_utility(utility).value.max(), abs=1e-12)
    assert best.gap == 0


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    "constraints",
    [
        [],
        [max_size(3, rho=1.0), cannot_link(["x0", "x1"], rho=1.0)],
        [max_size(3, rho=1.0), max_per_block(2, rho=1.0)],
        linear(np.arange(1.0, N_FEATURES + 1)[None], 3.0, rho=1.0),
        min_size(3, rho=1.0),
        [max_size(2), min_size(3)],
        max_size(3, rho=1e-6),
    ],
    ids=["none", "pair", "block", "weighted", "unlimited", "contradiction", "hardly limited"],
)
def test_none_where_it_could_not_tell(constraints):
    assert shortlist(constrained(np.linspace(0.1, 1, N_FEATURES), constraints)) is None


@pytest.mark.usefixtures("short")
def test_the_first_of_equals_are_chosen():
    theta = np.full(200, 0.01)
    theta[77] = 0.02
    found = Exact().maximize(constrained(theta, max_size(4)))
    assert np.flatnonzero(found.chosen).tolist() == [0, 1, 2, 77]
