from dataclasses import replace

import numpy as np
import pytest

from amounts import seeds
from problems import all_sets, one_row, random_utility, selectable_sets, utility_of
from ubayfs.exceptions import InfeasibleError
from ubayfs.optimize import Exact
from ubayfs.optimize.base import Limit
from ubayfs.optimize.infeasibility import explain_conflict
from ubayfs.optimize.program import Programs

INF = np.inf
N = 6
SETS = all_sets(N)


def hard_rows(seed):
    """Eight hard rows of zeros and ones, or zeros and minus ones, that often contradict each other."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(8):
        sign = rng.choice([-1, 1])
        a = sign * (rng.random(N) < 0.5)
        rows.append(one_row(a, sign * rng.integers(0, 3) - (sign < 0), INF, str(k)))
    return rows


def can_hold(rows):
    return bool(np.isfinite(utility_of(np.full(N, 1 / N), rows)(SETS).max()))


def assert_irreducible(rows):
    error = explain_conflict(utility_of(np.full(N, 1 / N), rows))
    group = [rows[int(label)] for label in error.labels]
    assert not can_hold(group)
    for left_out in range(len(group)):
        assert can_hold(group[:left_out] + group[left_out + 1 :])


@pytest.mark.parametrize("programs", [True, False])
def test_infeasible_rows_are_explained_by_an_irreducible_group(programs, request):
    if programs:
        request.getfixturevalue("always_programs")
    rows = [
        one_row(np.ones(5), 2, INF, "max-size 2"),
        one_row([0, 0, 0, 0, 1], 0, INF, "exclude e"),
        one_row([1, -1, 0, 0, 0], 0, INF, "a implies b"),
        one_row([-1, 0, 0, 0, 0], -1, INF, "require a"),
        one_row([0, 0, -1, 0, 0], -1, INF, "require c"),
        one_row([0, 0, 0, -1, 0], -1, 3.0, "soft wish for d"),
    ]
    with pytest.raises(InfeasibleError, match="max-size 2") as caught:
        Exact().maximize(utility_of(np.full(5, 0.2), rows))
    assert set(caught.value.labels) == {"max-size 2", "a implies b", "require a", "require c"}


@pytest.mark.parametrize("block", seeds(8))
def test_named_contradiction_is_irreducible(block):
    for seed in range(25 * block, 25 * (block + 1)):
        rows = hard_rows(seed)
        if not can_hold(rows):
            assert_irreducible(rows)


@pytest.mark.usefixtures("always_programs")
@pytest.mark.parametrize("block", seeds(4))
def test_named_contradiction_is_irreducible_also_where_the_solver_decides(block):
    for seed in range(200 + 6 * block, 200 + 6 * (block + 1)):
        rows = hard_rows(seed)
        if not can_hold(rows):
            assert_irreducible(rows)


@pytest.mark.parametrize("block", seeds(8))
def test_the_solver_decides_like_brute_force_whether_hard_rows_can_hold(block):
    for seed in range(25 * block, 25 * (block + 1)):
        rows = hard_rows(seed)
        assert Programs(utility_of(np.full(N, 1 / N), rows)).solve(-INF, -1.0).infeasible == (not can_hold(rows))


def test_features_that_cannot_be_selected_are_mentioned():
    rows = [one_row([-1, -1], -1, INF, "at least one")]
    error = explain_conflict(utility_of([0.5, 0.5], rows, selectable=[False, False]))
    assert error.labels == ("at least one",)
    assert "2 feature(s) may not be selected at all" in str(error)


@pytest.mark.usefixtures("always_programs")
def test_contradictions_of_rows_of_any_kind_are_irreducible():
    """Real, signed and block rows, soft rows among them, and features that cannot be selected."""
    explained = 0
    for seed in range(300):
        utility = random_utility(np.random.default_rng(seed), n=7)
        sets = selectable_sets(utility)
        if np.isfinite(utility(sets).max()):
            continue
        rows = list(explain_conflict(utility).positions)  # one row for each constraint
        assert np.isinf(utility.system.rho[rows]).all()
        assert np.isneginf(replace(utility, system=utility.system.take(rows))(sets)).all()
        for row in rows:
            rest = [other for other in rows if other != row]
            assert np.isfinite(replace(utility, system=utility.system.take(rest))(sets)).any()
        explained += 1
    assert explained >= 10


def contradicting_pairs(n=14, size=7):
    """Random hard pairs and a least size that they do not allow; every inequality has its number as a label."""
    rng = np.random.default_rng(0)
    ends = [(i, j) for i in range(n) for j in range(i) if rng.random() < 0.4]
    rows = [one_row(np.isin(np.arange(n), pair), 1, INF, str(k)) for k, pair in enumerate(ends)]
    return [*rows, one_row(-np.ones(n), -size, INF, str(len(ends)))]


def test_without_time_all_hard_rows_are_named_as_not_reduced():
    rows = contradicting_pairs()
    error = explain_conflict(utility_of(np.full(14, 1 / 14), rows), Limit(deadline=0.0))
    assert not error.reduced
    assert len(error.labels) == len(rows)
    assert error.positions == tuple(range(len(rows)))
    assert f"and {len(rows) - 10} more (not reduced" in str(error)


def test_a_limit_ends_the_reduction_at_a_group_that_still_contradicts_itself():
    rows = contradicting_pairs()
    utility = utility_of(np.full(14, 1 / 14), rows)
    sizes = []
    for nodes in (1, 16, 10**6):
        error = explain_conflict(utility, Limit(nodes=nodes))
        group = [rows[int(label)] for label in error.labels]
        assert Exact().search(utility_of(np.full(14, 1 / 14), group)) is None
        sizes.append(len(group))
        assert error.reduced == (nodes == 10**6)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0] <= len(rows)


def test_the_time_limit_of_an_optimizer_holds_for_the_explanation(monkeypatch):
    rows = next(rows for rows in map(hard_rows, range(100)) if not can_hold(rows))
    seen = []

    def recording(utility, limit=None):
        seen.append(limit.deadline)
        return explain_conflict(utility, limit)

    monkeypatch.setattr("ubayfs.optimize.exact.explain_conflict", recording)
    monkeypatch.setattr("time.monotonic", lambda: 1000.0)
    with pytest.raises(InfeasibleError):
        Exact(time_limit=7.0).maximize(utility_of(np.full(N, 1 / N), rows))
    with pytest.raises(InfeasibleError):
        Exact().maximize(utility_of(np.full(N, 1 / N), rows))
    assert seen == [1007.0, None]
