import copy
import itertools
import pickle
from math import inf

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats

from ubayfs.constraints import (
    KINDS,
    Constraint,
    at_least_one,
    cannot_link,
    cost_budget,
    decorrelate,
    exact_size,
    exclude,
    implies,
    linear,
    max_blocks,
    max_per_block,
    max_per_cluster,
    max_size,
    min_per_block,
    min_size,
    must_link,
    require,
    resolve,
)
from ubayfs.constraints.utility import Admissibility
from ubayfs.data.blocks import Blocks
from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import ConstraintError, InputError

NAMES = ["a", "b", "c", "d"]
BLOCKS = {"low": ["a", "b"], "mid": ["b", "c"], "high": ["d"]}

# One of every kind, with values that differ from the defaults where there are any.
EXAMPLES = {
    "max_size": max_size(2, rho=0.5),
    "min_size": min_size(1),
    "exact_size": exact_size(2),
    "must_link": must_link(["a", 1, "c"], rho=2.0),
    "cannot_link": cannot_link(["low", "high"], on="blocks"),
    "implies": implies("a", ["b", "c"], rho=3.0),
    "at_least_one": at_least_one(["a", "b"]),
    "require": require("a"),
    "exclude": exclude(["b", "c"], rho=1.0),
    "max_per_block": max_per_block(1, blocks=["low", "high"]),
    "min_per_block": min_per_block(1, blocks="mid"),
    "max_blocks": max_blocks(1),
    "max_per_cluster": max_per_cluster(1, threshold=0.01, rho=2.0),
    "cost_budget": cost_budget({"a": 0.1, "b": 0.2}, 0.3),
    "decorrelate": decorrelate(0.7, method="kendall"),
    "linear": linear([[1, 0, 0, 2.5], [0, -1, 0, 0]], [1, 0], rho=[inf, 0.1], blocks=None),
}
X = np.random.default_rng(3).normal(size=(12, 4))


def table(system):
    """Rows as (coefficients, bound, rho), densely."""
    return system.A.toarray().tolist(), system.b.tolist(), system.rho.tolist()


def labels(system):
    return [system.label(row) for row in range(system.n_inequalities)]


def test_every_kind_has_an_example():
    assert set(EXAMPLES) == set(KINDS)


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
def test_constraints_are_plain_values(kind):
    constraint = EXAMPLES[kind]
    for twin in (copy.deepcopy(constraint), pickle.loads(pickle.dumps(constraint)), eval(repr(constraint))):
        assert twin == constraint
        assert hash(twin) == hash(constraint)
        assert twin is not constraint
    assert repr(constraint).startswith(f"{kind}(")
    assert constraint != max_size(99)
    with pytest.raises(AttributeError):
        constraint.kind = "other"


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
def test_systems_can_be_pickled_with_their_labels(kind):
    system = resolve(EXAMPLES[kind], NAMES, BLOCKS, X)
    assert labels(pickle.loads(pickle.dumps(system))) == labels(system)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_constraint_is_hard_unless_it_has_a_price_or_rho(kind):
    arguments = {name: value for name, value in EXAMPLES[kind].arguments if name in KINDS[kind].required}
    arguments = {name: value.thaw() if hasattr(value, "thaw") else value for name, value in arguments.items()}
    if kind in ("cost_budget", "linear"):
        arguments |= {"cost_budget": {"costs": [1.0] * 4}, "linear": {"A": [1.0] * 4, "b": 1.0}}[kind]
    default, priced = KINDS[kind].build(**arguments), KINDS[kind].build(**arguments, price=0.5)
    if kind == "decorrelate":  # has the odds of its correlation
        assert (default.rho, default.price) == (None, None)
    else:
        assert (default.rho, default.price) == (inf, None)
        assert KINDS[kind].build(**arguments, rho=inf) == default
        assert KINDS[kind].build(**arguments, rho=0.5).rho == 0.5
    assert (priced.rho, priced.price) == (None, 0.5)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"decorrelate"}))
def test_rho_by_position_is_refused_with_the_call_by_name(kind):
    positional = [
        name for name, parameter in KINDS[kind].parameters.items() if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    with pytest.raises(InputError, match=rf"{kind} takes only .* {kind}\({', '.join(positional)}, rho=...\)"):
        KINDS[kind].build(*[1] * len(positional), 0.5)


def test_one_constraint_is_a_list_of_one():
    assert table(resolve(max_size(2), NAMES)) == table(resolve((c for c in [max_size(2)]), NAMES))
    assert resolve([], NAMES).n_inequalities == 0


ENCODINGS = {
    "max_size": (max_size(2, rho=0.5), [[1, 1, 1, 1]], [2], [0.5], ["max-size 2"]),
    "min_size": (min_size(2), [[-1, -1, -1, -1]], [-2], [inf], ["min-size 2"]),
    "exact_size": (
        exact_size(3),
        [[1] * 4, [-1] * 4],
        [3, -3],
        [inf, inf],
        ["exact-size 3 (at most)", "exact-size 3 (at least)"],
    ),
    "must_link": (
        must_link(["c", "a"]),
        [[-1, 0, 1, 0], [1, 0, -1, 0]],
        [0, 0],
        [inf, inf],
        ["must-link c, a", "must-link a, c"],
    ),
    "cannot_link": (cannot_link(["a", 2, "d"], rho=3.0), [[1, 0, 1, 1]], [1], [3], ["cannot-link a, c, d"]),
    "implies": (
        implies("d", ["a", "b"]),
        [[-1, 0, 0, 1], [0, -1, 0, 1]],
        [0, 0],
        [inf, inf],
        ["implies d -> a", "implies d -> b"],
    ),
    "at_least_one": (at_least_one(["b", "c"]), [[0, -1, -1, 0]], [-1], [inf], ["at-least-one b, c"]),
    "require": (require(["b", "a"]), [[0, -1, 0, 0], [-1, 0, 0, 0]], [-1, -1], [inf, inf], ["require b", "require a"]),
    "exclude": (exclude(3), [[0, 0, 0, 1]], [0], [inf], ["exclude d"]),
    "max_per_block": (
        max_per_block(1),
        [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]],
        [1, 1, 1],
        [inf, inf, inf],
        ["max-per-block 1: low", "max-per-block 1: mid", "max-per-block 1: high"],
    ),
    "min_per_block": (
        min_per_block(2, blocks=["mid", "low"], rho=0.5),
        [[0, -1, -1, 0], [-1, -1, 0, 0]],
        [-2, -2],
        [0.5, 0.5],
        ["min-per-block 2: mid", "min-per-block 2: low"],
    ),
    "cost_budget": (
        cost_budget({"a": 2.5, 3: 10}, 12.5, rho=0.1),
        [[2.5, 0, 0, 10]],
        [12.5],
        [0.1],
        ["cost budget 12.5"],
    ),
    "linear": (
        linear([[1, 0, -1, 0.5], [0, 1, 0, 0]], [0.5, -1], rho=[1, inf]),
        [[1, 0, -1, 0.5], [0, 1, 0, 0]],
        [0.5, -1],
        [1, inf],
        ["linear a - c + 0.5 d <= 0.5 (1 of 2)", "linear b <= -1 (2 of 2)"],
    ),
}


@pytest.mark.parametrize("kind", sorted(ENCODINGS))
def test_encoding_and_labels(kind):
    constraint, A, b, rho, texts = ENCODINGS[kind]
    system = resolve(constraint, NAMES, BLOCKS)
    assert table(system) == (A, b, rho)
    assert labels(system) == texts
    assert system.n_blocks == 0


# Constraint, blocks in use, coefficients on them, bounds, labels.
ON_BLOCKS = {
    "max_blocks": (max_blocks(1), [0, 1, 2], [[1, 1, 1]], [1], ["max-blocks 1"]),
    "max_blocks of some": (max_blocks(1, blocks=["low", 2]), [0, 2], [[1, 1]], [1], ["max-blocks 1: low, high"]),
    "cannot_link": (cannot_link(["low", 2], on="blocks"), [0, 2], [[1, 1]], [1], ["cannot-link low, high"]),
    "must_link": (
        must_link(["low", 1], on="blocks"),
        [0, 1],
        [[1, -1], [-1, 1]],
        [0, 0],
        ["must-link low, mid", "must-link mid, low"],
    ),
    "implies": (implies("high", "low", on="blocks"), [0, 2], [[-1, 1]], [0], ["implies high -> low"]),
    "at_least_one": (at_least_one([1, 2], on="blocks"), [1, 2], [[-1, -1]], [-1], ["at-least-one mid, high"]),
    "require": (require("mid", on="blocks"), [1], [[-1]], [-1], ["require mid"]),
    "exclude": (exclude("high", on="blocks"), [2], [[1]], [0], ["exclude high"]),
    "linear": (
        linear({"low": 2, "high": -0.5}, 1.5, blocks=True),
        [0, 2],
        [[2, -0.5]],
        [1.5],
        ["linear 2 low - 0.5 high <= 1.5"],
    ),
}


@pytest.mark.parametrize("kind", sorted(ON_BLOCKS))
def test_rows_on_blocks_carry_only_the_blocks_they_use(kind):
    constraint, used, A, b, texts = ON_BLOCKS[kind]
    system = resolve(constraint, NAMES, BLOCKS)
    assert system.A.toarray().tolist() == [[0] * 4 + row for row in A]
    assert system.b.tolist() == b
    assert labels(system) == texts
    assert_array_equal(system.blocks.toarray(), Blocks.of(BLOCKS).matrix(NAMES).toarray()[used])


def test_linear_on_blocks_of_its_own():
    own = linear([[1, 1]], 1, blocks={"x": ["a", "d"], "y": [1]})
    system = resolve([max_blocks(1), own, linear({"y": 1}, 0, blocks={"z": ["a"], "y": ["c"]})], NAMES, {"low": ["a"]})
    assert_array_equal(system.blocks.toarray().astype(int), [[1, 0, 0, 0], [1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]])
    assert_array_equal(system.A.toarray()[:, 4:], [[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]])
    found = Admissibility(system).log_admissibility([[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 0, 0]])
    assert found.tolist() == [0.0, -inf, 0.0]
    assert resolve(own, NAMES).n_blocks == 2


def test_linear_takes_dense_sparse_and_single_rows():
    A = np.array([[1.0, 0, 0, 2], [0, 0, -3, 0]])
    expected = table(resolve(linear(A, [1, 2], rho=[1, 1]), NAMES))
    for same in (A.tolist(), sparse.csr_array(A), sparse.coo_matrix(A)):
        assert table(resolve(linear(same, [1, 2], rho=1.0), NAMES)) == expected
    assert table(resolve(linear(A[1], 2, rho=1.0), NAMES))[0] == [A[1].tolist()]
    assert linear(A, 1, rho=1.0) == linear(sparse.csr_array(A), 1, rho=1.0) != linear(A, 2, rho=1.0)


def test_cost_budget_takes_a_vector_or_a_series():
    expected = table(resolve(cost_budget({"a": 1, "c": 0.5}, 1), NAMES))
    assert table(resolve(cost_budget([1, 0, 0.5, 0], 1), NAMES)) == expected
    assert table(resolve(cost_budget(pd.Series({"a": 1.0, "c": 0.5}), 1), NAMES)) == expected


def test_rho_zero_omits_rows_and_their_blocks():
    omitted = [max_size(1, rho=0), max_blocks(1, rho=0), linear(np.eye(4), 1, rho=[0, 1, 0, 0])]
    system = resolve(omitted, NAMES, BLOCKS)
    assert (system.n_inequalities, system.n_blocks, labels(system)) == (1, 0, ["linear b <= 1 (2 of 4)"])


@given(st.lists(st.integers(0, 5), min_size=2, max_size=5, unique=True))
def test_links_mean_what_they_say(members):
    """On every set: a link holds exactly when the selected members are all or none, at most one, at least one."""
    sets = np.array(list(itertools.product([False, True], repeat=6)))
    n_chosen = sets[:, members].sum(axis=1)
    names = [f"x{i}" for i in range(6)]

    def holds(constraint):
        return np.exp(Admissibility(resolve(constraint, names)).log_admissibility(sets)) == 1

    assert_array_equal(holds(must_link(members)), np.isin(n_chosen, [0, len(members)]))
    assert_array_equal(holds(cannot_link(members)), n_chosen <= 1)
    assert_array_equal(holds(at_least_one(members)), n_chosen >= 1)
    assert_array_equal(holds(require(members)), n_chosen == len(members))
    assert_array_equal(holds(exclude(members)), n_chosen == 0)
    left, right = members[:1], members[1:]
    assert_array_equal(holds(implies(left, right)), ~sets[:, left[0]] | sets[:, right].all(axis=1))


@pytest.mark.parametrize("method", ["spearman", "pearson", "kendall"])
def test_decorrelate_has_the_odds_of_the_correlation(method, rng):
    data = rng.normal(size=(10, 4)) + rng.normal(size=(10, 1))
    function = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[method]
    taus = {(i, j): abs(function(data[:, i], data[:, j]).statistic) for i in range(4) for j in range(i + 1, 4)}
    expected = [(pair, tau) for pair, tau in taus.items() if tau > 0.65]
    assert 0 < len(expected) < 6
    system = resolve(decorrelate(0.65, method), NAMES, X=data)
    assert system.b.tolist() == [1] * len(expected)
    assert_allclose(system.rho, [tau / (1 - tau) for _, tau in expected])
    for row, ((i, j), tau) in enumerate(expected):
        assert_array_equal(system.A.toarray()[row], np.isin(range(4), [i, j]))
        assert system.label(row) == f"decorrelate {NAMES[i]}, {NAMES[j]} (|{method}| {tau:.2f})"


def test_decorrelate_makes_perfect_correlation_hard(rng):
    x = rng.normal(size=20)
    system = resolve(decorrelate(0.9, "pearson"), ["x", "y"], X=np.column_stack([x, 2 - x / 3]))
    assert table(system) == ([[1, 1]], [1], [inf])


def test_decorrelate_finds_columns_by_name(rng):
    frame = pd.DataFrame(rng.normal(size=(15, 4)), columns=NAMES)
    expected = table(resolve(decorrelate(0.1), NAMES, X=frame))
    assert len(expected[0]) > 1
    assert table(resolve(decorrelate(0.1), NAMES, X=frame[["d", "b", "a", "c"]])) == expected
    assert table(resolve(decorrelate(0.1), NAMES, X=FeatureData.from_table(frame))) == expected
    # An array, or a frame when the features have made-up names, counts by position.
    assert table(resolve(decorrelate(0.1), NAMES, X=frame.to_numpy())) == expected
    assert table(resolve(decorrelate(0.1), ["x0", "x1", "x2", "x3"], X=frame)) == expected


@pytest.mark.data
def test_decorrelate_on_thousands_of_features_stays_sparse(data_dir):
    frame = pd.read_csv(data_dir / "alt" / "LEU_golub.csv.gz").drop(columns="y", errors="ignore")
    assert resolve(decorrelate(0.7), list(frame.columns), X=frame).n_inequalities == 20547
    system = resolve(decorrelate(0.4), list(frame.columns), X=frame)
    assert 1_500_000 < system.n_inequalities < 1_600_000
    assert system.A.nnz == 2 * system.n_inequalities


def test_long_labels_are_cut():
    names = [f"g{i}" for i in range(100)]
    assert resolve(cannot_link(names), names).label(0) == "cannot-link g0, g1, g2, g3, g4, g5 and 94 more"


BAD = [
    (lambda: max_size(-1), r"max_size: n must be a whole number >= 0; got -1"),
    (lambda: min_size(2.5), r"min_size: n must be a whole number >= 0; got 2.5"),
    (lambda: exact_size("ten"), r"exact_size: n must be a whole number >= 0; got 'ten'"),
    (lambda: max_per_block(None), r"max_per_block: n must be a whole number"),
    (lambda: max_blocks(True), r"max_blocks: n must be a whole number >= 0; got True"),
    (lambda: max_size(3, rho=-0.1), r"max_size: rho must be a number in \[0, inf\]; got -0.1"),
    (lambda: must_link(["a", "b"], rho=np.nan), r"must_link: rho must be a number in \[0, inf\]; got nan"),
    (lambda: implies("a", "b", rho="hard"), r"implies: rho must be a number in \[0, inf\]; got 'hard'"),
    (lambda: linear([1, 2], 1, rho=[-1]), r"linear: rho must be >= 0 and not NaN"),
    (lambda: linear([1, 2], 1, rho=np.nan), r"linear: rho must be >= 0 and not NaN"),
    (lambda: linear([1, 2], "one"), r"linear: b must hold finite numbers; got 'one'"),
    (lambda: linear([1, 2], None), r"linear: b must hold finite numbers; got None"),
    (lambda: linear([1, inf], 1), r"linear: A must hold finite numbers"),
    (lambda: linear(sparse.csr_array([[np.nan]]), 1), r"linear: A must hold finite numbers"),
    (lambda: linear(np.ones((2, 3)), [1, 2, 3]), r"linear: b must be one number or one per row of A, which has 2; got"),
    (lambda: linear(np.ones((2, 3)), 1, rho=[1]), r"linear: rho must be one number or one per row of A, which has 2"),
    (lambda: linear(np.ones((2, 3, 1)), 1), r"linear: A must be one row or a matrix of rows; got shape \(2, 3, 1\)"),
    (lambda: linear(pd.DataFrame([[1, 2]]), 1), r"linear: A must not be a DataFrame.*\.to_numpy\(\)"),
    (lambda: linear([], 1), r"linear: A must be one row or a matrix of rows"),
    (lambda: linear([1], 1, blocks={}), r"linear: blocks must not be empty"),
    (lambda: cost_budget({"a": 1}, np.nan), r"cost_budget: budget must be a number; got nan"),
    (lambda: cost_budget({"a": 1}, inf), r"cost_budget: budget must be a number.*got inf"),
    (lambda: cost_budget({"a": "much"}, 1), r"cost_budget: costs must hold finite numbers"),
    (lambda: cost_budget(3, 1), r"cost_budget: costs must be a mapping or one row of numbers; got 3"),
    (lambda: cost_budget({}, 1), r"cost_budget: costs must not be empty"),
    (lambda: must_link("a"), r"must_link: features must name at least 2 features; got \['a'\]"),
    (lambda: cannot_link(["a"], on="blocks"), r"cannot_link: features must name at least 2 blocks"),
    (lambda: require([]), r"require: features must not be empty"),
    (lambda: exclude(None), r"exclude: features must be given by names or positions; got None"),
    (lambda: at_least_one([True, "a"]), r"at_least_one: features must be names or positions; got True"),
    (lambda: decorrelate(1.0), r"decorrelate: threshold must be a number in \[0, 1\); got 1.0"),
]


@pytest.mark.parametrize(("build", "message"), BAD)
def test_bad_arguments_are_named(build, message):
    with pytest.raises(ConstraintError, match=message):
        build()


def test_bad_choices_are_named():
    with pytest.raises(InputError, match=r"decorrelate: method must be one of .*Did you mean 'spearman'\?"):
        decorrelate(0.5, "spaerman")
    with pytest.raises(InputError, match=r"must_link: on must be one of 'blocks', 'features'; got 'block'"):
        must_link(["a", "b"], on="block")


UNRESOLVABLE = [
    (
        must_link(["radius", "raeda"]),
        None,
        None,
        r"must_link names 'raeda', which is not a feature\. Did you mean 'area'\?",
    ),
    (require(7), None, None, r"require refers to position 7, but positions count from 0 to 2"),
    (cannot_link(["radius", 0]), None, None, r"cannot_link names feature 'radius' more than once"),
    (implies("radius", [0, "area"]), None, None, r"implies has 'radius' on both sides"),
    (cost_budget({"weight": 1}, 1), None, None, r"cost_budget names 'weight', which is not a feature"),
    (cost_budget([1, 2], 1), None, None, r"cost_budget: costs must have one number per feature, 3; got 2"),
    (linear([1, 2], 1), None, None, r"linear: A must have one column per feature, 3; got 2"),
    (linear([1, 2], 1, blocks=True), {"size": [0]}, None, r"linear: A must have one column per block, 1; got 2"),
    (linear([1], 1, blocks=True), None, None, r"linear is about blocks, but none were given; pass blocks="),
    (max_blocks(1), None, None, r"max_blocks is about blocks, but none were given; pass blocks="),
    (max_per_block(1), None, None, r"max_per_block is about blocks, but none were given; pass blocks="),
    (min_per_block(1), None, None, r"min_per_block is about blocks, but none were given; pass blocks="),
    (
        min_per_block(2),
        {"b": [0, 1], "c": [2]},
        None,
        "n must be at most 1, the number of features of block 'c'; got 2",
    ),
    (require("size", on="blocks"), None, None, r"require is about blocks, but none were given; pass blocks="),
    (max_blocks(1, blocks="sice"), {"size": [0]}, None, r"max_blocks names block 'sice'.* Did you mean 'size'\?"),
    (max_per_block(1, blocks="sice"), {"size": [0]}, None, r"max_per_block names block 'sice'.* Did you mean 'size'\?"),
    (
        cannot_link(["size", 0], on="blocks"),
        {"size": [0], "b": [1]},
        None,
        r"cannot_link names a block more than once: size, size",
    ),
    (
        max_blocks(1),
        {"size": ["areaa"]},
        None,
        r"block 'size' names 'areaa', which is not a feature\. Did you mean 'area'\?",
    ),
    (decorrelate(), None, None, r"decorrelate needs the data: call decide"),
    (decorrelate(), None, X, r"X must have one column per feature, 3; got 4"),
    (
        decorrelate(),
        None,
        pd.DataFrame(X[:, :3], columns=["area", "radius", "z"]),
        r"X has a column 'z', which is not a feature",
    ),
    ("max_size", None, None, r"constraints must be made by builders such as max_size\(10\).*got 'max_size'"),
    ([max_size], None, None, r"constraints must be made by builders"),
    (None, None, None, r"constraints must be made by builders.*got None\. An empty list means none\."),
]


@pytest.mark.parametrize(("constraints", "blocks", "data", "message"), UNRESOLVABLE)
def test_what_cannot_be_resolved_is_explained(constraints, blocks, data, message):
    with pytest.raises(InputError, match=message):
        resolve(constraints, ["radius", "area", "texture"], blocks, data)


def test_positions_and_names_may_be_numpy_values():
    assert must_link(np.array([0, 2])) == must_link([0, 2])
    assert must_link(np.array(["a", "c"])) == must_link(["a", "c"])
    assert isinstance(must_link(pd.Index(["a", "c"])), Constraint)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_examples_of_arguments_are_valid(kind):
    required, examples = KINDS[kind].required, KINDS[kind].examples
    assert set(required) <= set(examples)
    made = KINDS[kind].build(**{name: examples.get(name, [1.0]) for name in required})
    assert {name for name, _ in made.arguments} >= set(required)
