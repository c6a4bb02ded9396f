import gc
import pickle
import weakref
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from ubayfs import maximize
from ubayfs.constraints import decorrelate, exact_size, exclude, linear, max_size, require, resolve
from ubayfs.constraints.constraint import Inequalities
from ubayfs.constraints.system import ConstraintSystem, once_per_system
from ubayfs.data.correlation import correlated_pairs
from ubayfs.exceptions import ConstraintError, InfeasibleError


def named(prefix, row):
    return f"{prefix}{row}"


def rows(A, b, rho, prefix, on_blocks=False):
    return Inequalities(
        sparse.csr_array(np.array(A, float)),
        np.array(b, float),
        np.array(rho, float),
        partial(named, prefix),
        on_blocks=on_blocks,
    )


@pytest.fixture
def system():
    blocks = sparse.csr_array(np.array([[1, 1, 0], [0, 1, 1]], dtype=bool))
    parts = [
        rows([[1, 1, 1], [1, 0, 0], [0, -1, 0]], [2, 0, -1], [1, 0, np.inf], "a"),
        rows([[9, 9, 9]], [0], [0], "left out"),
        rows([[1, 1]], [1], [0.5], "b", on_blocks=True),
    ]
    return ConstraintSystem.stack(parts, 3, blocks)


def test_stack_puts_block_rows_behind_the_features_and_leaves_out_rho_zero(system):
    np.testing.assert_array_equal(system.A.toarray(), [[1, 1, 1, 0, 0], [0, -1, 0, 0, 0], [0, 0, 0, 1, 1]])
    np.testing.assert_array_equal(system.b, [2, -1, 1])
    np.testing.assert_array_equal(system.rho, [1, np.inf, 0.5])
    assert (system.n_inequalities, system.n_features, system.n_blocks) == (3, 3, 2)


def test_labels_follow_their_rows(system):
    assert [system.label(row) for row in range(3)] == ["a0", "a2", "b0"]
    assert [system.take([2, 1]).label(row) for row in range(2)] == ["b0", "a2"]
    assert [system.take([2, 1]).take([1]).label(0), system.take([0, 2]).position(1)] == ["a2", 2]


def test_every_constraint_has_a_part_also_without_inequalities():
    given = [
        decorrelate(0.999999),
        exact_size(2),
        max_size(3, rho=0),
        decorrelate(0.1),
        require(["a", "b"]),
    ]
    X = np.random.default_rng(0).normal(size=(9, 3))
    system = resolve(given, ["a", "b", "c"], X=X)
    assert [part.constraint for part in system.parts] == given
    n_pairs = len(correlated_pairs(X, 0.1)[0])
    assert n_pairs > 0
    assert [len(system.rows_of(part)) for part in system.parts] == [0, 2, 0, n_pairs, 2]
    owners = [1] * 2 + [3] * n_pairs + [4] * 2
    assert [system.position(row) for row in range(system.n_inequalities)] == owners
    some = np.array([0, 2, len(owners) - 1])
    taken = system.take(some)
    assert [taken.position(row) for row in range(3)] == [1, 3, 4]
    assert [taken.rows_of(part).tolist() for part in taken.parts] == [[], [0], [], [1], [2]]


def test_what_an_algorithm_adds_has_a_part_without_a_constraint():
    system = resolve([max_size(2), require("a")], ["a", "b"])
    more = system.take([1]).with_inequalities(rows([[1, 1]], [1], [np.inf], "cut"))
    assert [more.label(0), more.label(1)] == ["require a", "cut0"]
    assert [more.position(0), more.position(1)] == [1, 2]
    assert more.parts[2].constraint is None
    assert more.rows_of(more.parts[2]).tolist() == [1]


def test_a_constraint_that_does_not_fit_tells_its_position():
    with pytest.raises(ConstraintError, match="names 'z'") as caught:
        resolve([max_size(2), require("a"), exclude("z")], ["a", "b"])
    assert (caught.value.position, caught.value.argument, caught.value.value) == (2, "features", "z")


def test_contradicting_constraints_are_known_by_position_not_by_label():
    """Two linear constraints may read alike; only the one that contradicts is named."""
    innocent, guilty = linear({"a": 1}, 1), linear({"a": 1}, 0)
    with pytest.raises(InfeasibleError) as caught:
        maximize([0.5, 0.5], [innocent, guilty, require("a")], feature_names=["a", "b"])
    assert caught.value.positions == (1, 2)
    assert caught.value.labels == ("linear a <= 0", "require a")


def test_zero_coefficients_are_not_stored():
    stacked = ConstraintSystem.stack([rows([[0, 1]], [1], [1], "a")], 2)
    assert stacked.A.nnz == 1


@pytest.mark.parametrize("on_blocks", [False, True])
def test_with_rows_appends(system, on_blocks):
    extra = rows([[3, 4], [5, 6]], [7, 8], [0, 2], "c", on_blocks)
    more = system.with_inequalities(extra)
    np.testing.assert_array_equal(more.A.toarray()[:3], system.A.toarray())
    np.testing.assert_array_equal(more.A.toarray()[3], [0, 0, 0, 5, 6] if on_blocks else [5, 6, 0, 0, 0])
    assert (more.b[3], more.rho[3]) == (8, 2)
    assert [more.label(row) for row in range(4)] == ["a0", "a2", "b0", "c1"]
    assert system.n_inequalities == 3


def test_take_keeps_blocks(system):
    part = system.take(np.array([2]))
    np.testing.assert_array_equal(part.A.toarray(), [[0, 0, 0, 1, 1]])
    assert part.n_blocks == 2


def test_inequalities_of_no_constraint_can_be_taken(system):
    bare = ConstraintSystem(system.A, system.b, system.rho, system.blocks)
    np.testing.assert_array_equal(bare.take([2, 0]).A.toarray(), system.A.toarray()[[2, 0]])


def test_no_rows_at_all():
    empty = ConstraintSystem.stack([], 4)
    assert (empty.n_inequalities, empty.n_features, empty.n_blocks, empty.A.shape) == (0, 4, 0, (0, 4))
    assert empty.with_inequalities(rows([[1, 0, 0, 0]], [0], [1], "a")).label(0) == "a0"


def test_pickle_keeps_rows_and_labels(system):
    twin = pickle.loads(pickle.dumps(system.take([0, 2])))
    np.testing.assert_array_equal(twin.A.toarray(), system.A.toarray()[[0, 2]])
    assert [twin.label(0), twin.label(1)] == ["a0", "b0"]


@pytest.mark.parametrize("n_parts", [1, 2])
def test_rows_as_they_may_come_are_tidied_and_left_alone(n_parts):
    # Duplicate, zero and unsorted entries of two rows over three columns.
    entries, columns, starts = np.array([1.0, 2.0, 0.0, 5.0, 4.0]), np.array([2, 2, 0, 1, 0]), np.array([0, 3, 5])
    A = sparse.csr_array((entries, columns, starts), shape=(2, 3))
    part = Inequalities(A, np.zeros(2), np.ones(2), partial(named, "a"))
    stacked = ConstraintSystem.stack([part] * n_parts, 3).A
    np.testing.assert_array_equal(stacked.toarray(), [[0, 0, 3], [4, 5, 0]] * n_parts)
    assert stacked.has_canonical_format
    assert stacked.nnz == 3 * n_parts
    assert A.data.tolist() == [1.0, 2.0, 0.0, 5.0, 4.0]
    assert A.indices.tolist() == [2, 2, 0, 1, 0]


def test_what_is_known_of_a_system_is_found_out_once_and_forgotten_with_it(system):
    asked = []

    @once_per_system
    def n_entries(one):
        asked.append(one.n_inequalities)
        return one.A.nnz

    other = system.take([0])
    assert n_entries(system) == n_entries(system) == system.A.nnz
    assert n_entries(other) == other.A.nnz
    assert asked == [system.n_inequalities, 1]
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None
