"""A price is what one unit of violation costs, in votes; held against brute force and the closed forms."""

import copy
import pickle
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.constraints.test_builders import BLOCKS, EXAMPLES, NAMES

from amounts import examples
from problems import all_sets
from ubayfs import (
    Evidence,
    GeneralizedDirichlet,
    Hyperdirichlet,
    cannot_link,
    decide,
    decorrelate,
    exclude,
    linear,
    log_admissibility,
    max_size,
    maximize,
    require,
)
from ubayfs.constraints import KINDS, Constraint, resolve
from ubayfs.constraints.utility import Admissibility, Utility, log_row_admissibility, priced, relaxation_of_cost
from ubayfs.exceptions import ConstraintError
from ubayfs.explain.attribution import attribution
from ubayfs.study.constraint_terms import arguments_of, plain_constraint, read_constraints

# Two columns that are correlated, so that decorrelate has an inequality.
X = np.random.default_rng(3).normal(size=(30, 4))
X[:, 1] = X[:, 0] + 0.1 * X[:, 1]


def with_votes(counts, n_models=100, names=None):
    return Evidence.from_sets(np.arange(n_models)[:, None] < np.asarray(counts), names or NAMES[: len(counts)])


def with_price(constraint, price):
    """The same constraint with a price in place of rho."""
    given = {name: value for name, value in arguments_of(constraint).items() if name != "rho"}
    return KINDS[constraint.kind].build(**given, price=price)


def decided(evidence, constraints, **arguments):
    return decide(evidence, constraints=constraints, blocks=BLOCKS, X=X, **arguments)


@pytest.mark.filterwarnings("ignore::ubayfs.exceptions.OptimizationWarning")
@pytest.mark.parametrize("strength", [1.0, 3.0])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_one_unit_of_one_inequality_costs_its_votes(kind, strength):
    constraint = with_price(EXAMPLES[kind], 0.2)
    selection = decided(with_votes([60, 50, 40, 30]), [constraint], constraint_strength=strength)
    utility, sets = selection.problem.utility, all_sets(4)
    violations = Admissibility(utility.system).violations(sets)
    by_units = np.isclose(violations, np.round(violations)).all(axis=1) & (violations.max(axis=1) < 1.5)
    n_broken = np.count_nonzero(violations, axis=1)[by_units]
    assert n_broken.any() or kind in ("cost_budget", "linear")  # whose violations are no whole numbers
    total = selection.posterior.total
    assert total == pytest.approx(180.04)
    lost = sets[by_units] @ utility.theta + strength - utility(sets[by_units])
    price = 0.2 * 100  # votes; all of lambda are strength * total of them
    assert_allclose(lost[n_broken == 1] * total, price)
    assert_allclose(lost * total, strength * total * (1 - (1 - price / strength / total) ** n_broken), atol=1e-9)
    assert selection.value == pytest.approx(utility(sets).max(), abs=1e-9)


@pytest.mark.parametrize("lead", [49, 51])
def test_a_feature_needs_more_votes_than_the_price(lead):
    evidence = with_votes([10 + lead, 10, 0])
    chosen = decide(evidence, constraints=[max_size(1), exclude("a", price=0.5)]).features
    assert chosen == (("a",) if lead > 50 else ("b",))
    assert decide(evidence, weights={"a": "unlikely"}, constraints=[max_size(1)]).features == chosen
    # Under the paper's rho 1, no lead suffices where importances are shared by many.
    assert decide(with_votes([100, 1, *[50] * 30], names=[f"x{i}" for i in range(32)]),
                  constraints=[max_size(1), exclude("x0", rho=1)]).features != ("x0",)  # fmt: skip


def test_closed_forms():
    rho = relaxation_of_cost(0.1, 1.0)
    assert rho == pytest.approx(np.log(1.1 / 0.9), rel=1e-14)
    assert 1 - np.exp(log_row_admissibility(2.0, rho)) == pytest.approx(1.98 * 0.1, abs=5e-5)
    assert 1 - np.exp(log_row_admissibility(1.0, 1.0)) == pytest.approx(0.462, abs=5e-4)
    # The m-th broken inequality costs c (1 - c / lambda)^(m - 1).
    strength, cost = 2.0, 0.3
    left = strength * np.exp(log_row_admissibility(1.0, relaxation_of_cost(cost, strength))) ** np.arange(6)
    assert_allclose(-np.diff(left), cost * (1 - cost / strength) ** np.arange(5))


def test_what_costs_all_of_lambda_is_hard():
    evidence = with_votes([60, 20])  # one vote is 1 / 80.02
    for price, strength, hard in ((0.7, 1.0, False), (0.9, 1.0, True), (0.9, 2.0, False), (1e308, 2.0, True)):
        system = decide(
            evidence, constraints=max_size(1, price=price), constraint_strength=strength
        ).problem.utility.system
        assert np.isinf(system.rho).tolist() == [hard]
    assert relaxation_of_cost(1.0, 1.0) == inf
    assert relaxation_of_cost(5e-324, 1e300) > 0


@pytest.mark.parametrize(
    ("prior", "total"),
    [("dirichlet", 152.0), ("generalized", 152.0), (GeneralizedDirichlet(beta=1), 152.0), ("hyperdirichlet", 102.0),
     (Hyperdirichlet(set_weights={("a", "b"): 8}), 110.0)],
)  # fmt: skip
def test_votes_are_measured_by_the_total_of_the_posterior(prior, total):
    evidence = with_votes([60, 50, 40, 0])
    selection = decide(evidence, weights=0.5, prior=prior, constraints=max_size(1, price=0.3), random_state=0)
    assert selection.posterior.total == total
    rho = selection.problem.utility.system.rho
    assert_allclose(rho, np.log((1 + 30 / total) / (1 - 30 / total)))


def test_a_price_is_carried_by_the_value():
    made = max_size(5, price=0.5)
    assert repr(made) == "max_size(5, price=0.5)"
    assert (made.price, made.rho) == (0.5, None)
    assert made.to_dict() == {"kind": "max_size", "arguments": {"n": 5, "price": 0.5}}
    assert made == max_size(5, price=0.5) != max_size(5, price=0.4)
    assert made != max_size(5, rho=1.0)
    assert made == copy.deepcopy(made) == pickle.loads(pickle.dumps(made))
    assert max_size(5, rho=1.0) == Constraint("max_size", (("n", 5), ("rho", 1.0)))  # as ever
    assert decorrelate(0.8) == Constraint("decorrelate", (("threshold", 0.8), ("method", "spearman")))
    selection = decide(with_votes([9, 8, 7, 6, 5, 4], names=list("abcdef")), constraints=made)
    assert selection.provenance["constraints"] == [made.to_dict()]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_prices_in_files(kind):
    made = with_price(EXAMPLES[kind], 0.25)
    written = plain_constraint(made)
    assert written[kind]["price"] == 0.25
    assert "rho" not in written[kind]
    problems = []
    assert read_constraints([written], lambda path, message: problems.append(message)) == [made]
    assert problems == []


@pytest.mark.parametrize("price", [-0.1, nan, inf, -inf, True, "hard", [0.1], 10**400])
def test_what_is_not_a_price_is_refused(price):
    with pytest.raises(ConstraintError, match="as a share of the models") as caught:
        max_size(5, price=price)
    assert caught.value.argument == "price"
    with pytest.raises(ConstraintError):
        linear({"a": 1}, 1, price=[price])


@pytest.mark.parametrize(
    "build", [lambda rho: max_size(5, rho=rho, price=0.5), lambda rho: require("a", rho=rho, price=0.5),
              lambda rho: linear([1, 1], 1, rho=rho, price=0.5)]
)  # fmt: skip
@pytest.mark.parametrize("rho", [1.0, inf])
def test_rho_and_price_together_are_refused_also_where_rho_is_the_default(build, rho):
    with pytest.raises(ConstraintError, match="price cannot be given together with rho") as caught:
        build(rho)
    assert caught.value.argument == "price"


def test_rho_may_stand_beside_no_price():
    assert max_size(5, rho=2.0, price=None) == max_size(5, rho=2.0)


def test_without_votes_there_is_no_price():
    constraints = [max_size(1), cannot_link(["x0", "x1"], price=0.1)]
    for call in (lambda: maximize([1.0, 2.0], constraints), lambda: log_admissibility([[1, 1]], constraints)):
        with pytest.raises(ConstraintError, match=r"cannot-link x0, x1: price .* give rho= instead") as caught:
            call()
        assert (caught.value.argument, caught.value.position) == ("price", 1)
    with pytest.raises(ConstraintError, match="price"):
        Utility(np.ones(2), resolve(constraints, ["x0", "x1"]), 1.0, np.ones(2, dtype=bool))


def test_prices_of_rows_and_parts_of_systems():
    rows = linear(np.eye(4), 0, price=[0.1, 0, 0.2, 0.3])
    system = resolve([max_size(2, rho=1.0), rows, exclude("d", price=0)], NAMES)
    assert system.n_inequalities == 4
    assert [system.label(row) for row in (1, 2)] == ["linear a <= 0 (1 of 4)", "linear c <= 0 (3 of 4)"]
    whole = priced(system, 10, 20.0, 1.0)
    assert_allclose(whole.rho, [1.0, *relaxation_of_cost([0.05, 0.1, 0.15], 1.0)])
    part = priced(system.take([3, 1]), 10, 20.0, 1.0)
    assert_allclose(part.rho, whole.rho[[3, 1]])
    assert priced(whole, 10, 20.0, 1.0) is whole
    assert_allclose(priced(whole, 10, 40.0, 1.0).rho[1:], relaxation_of_cost([0.025, 0.05, 0.075], 1.0))
    unpriced = resolve(max_size(2, rho=1.0), NAMES)
    assert priced(unpriced, 10, 20.0, 1.0) is unpriced


def test_price_of_correlated_pairs_replaces_the_odds():
    system = priced(resolve(decorrelate(price=0.1), NAMES, X=X), 10, 20.0, 1.0)
    assert system.n_inequalities
    assert_allclose(system.rho, relaxation_of_cost(0.05, 1.0))


def test_without_the_prior_prices_are_still_votes():
    """Large weights make one vote worth less; without them the price must be that of the votes again."""
    evidence = with_votes([60, 30, 1, 25])
    constraints = [max_size(2), exclude("a", price=0.5)]
    selection = decide(evidence, weights={"c": 10_000}, constraints=constraints)
    assert selection.features == ("b", "c")
    assert attribution(selection).without_prior == ("b", "d") == decide(evidence, constraints=constraints).features


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32 - 1))
@pytest.mark.filterwarnings("ignore::ubayfs.exceptions.OptimizationWarning")
def test_decisions_with_prices_are_the_best_of_all_sets(seed):
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(7)]
    evidence = with_votes(rng.integers(0, 41, 7), 40, names)
    constraints = [max_size(int(rng.integers(1, 4)), price=float(rng.uniform(0.05, 1.5)))]
    for _ in range(3):
        pair = rng.choice(names, 2, replace=False).tolist()
        constraints.append(cannot_link(pair, price=float(rng.uniform(0.01, 1.0))))
        constraints.append(exclude(str(rng.choice(names)), price=float(rng.uniform(0.01, 1.0))))
    selection = decide(evidence, constraints=constraints, constraint_strength=float(rng.uniform(0.5, 3)))
    utility = selection.problem.utility
    assert selection.value == pytest.approx(utility(all_sets(7)).max(), abs=1e-9)
    # By hand: votes, and lambda times the product over all broken inequalities.
    total, strength = selection.posterior.total, utility.constraint_strength
    votes, kappa = 0.0, 1.0
    for name, count in zip(names, evidence.counts, strict=True):
        votes += (count + 0.01) * (name in selection.features)
    for constraint in constraints:
        given = dict(constraint.arguments)
        members = set(given.get("features", names)) & set(selection.features)
        excess = max(len(members) - {"max_size": given.get("n"), "cannot_link": 1, "exclude": 0}[constraint.kind], 0)
        share = constraint.price * 40 / total / strength
        kappa *= 1 - np.tanh(excess * np.arctanh(share)) if share < 1 else float(excess == 0)
    assert selection.value == pytest.approx(votes / total + strength * kappa, rel=1e-9)
