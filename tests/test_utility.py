"""The paper's formulas beside their definitions, and beside the optimizer, which maximizes what they minimize."""

import itertools

import numpy as np
import pytest
from scipy.stats import multinomial

from ubayfs import Dirichlet, Evidence, cannot_link, decide, log_admissibility, max_size
from ubayfs.exceptions import InputError
from ubayfs.utility import log_likelihood, loss, risk

N = 6
ALL_SETS = np.array(list(itertools.product([False, True], repeat=N)))
CONSTRAINTS = [max_size(2, rho=0.7), cannot_link([0, 1], rho=2.0)]


def posterior():
    sets = np.random.default_rng(4).random((30, N)) < np.linspace(0.1, 0.8, N)
    return Dirichlet().update(Evidence.from_sets(sets), weights=0.5)


def test_loss_is_what_is_left_out_and_what_is_not_admissible():
    theta = np.random.default_rng(0).dirichlet(np.ones(N))
    kappa = np.exp(log_admissibility(ALL_SETS, CONSTRAINTS))
    expected = [(1 - s) @ theta + 3.0 * (1 - k) for s, k in zip(ALL_SETS, kappa, strict=True)]
    assert loss(ALL_SETS, theta, constraints=CONSTRAINTS, constraint_strength=3.0) == pytest.approx(expected, abs=1e-14)
    # The formula of a hard constraint: no admissibility, and a finite loss.
    assert loss(np.ones(N), theta, constraints=max_size(2)) == pytest.approx([1.0], abs=1e-14)


def test_risk_is_the_mean_loss_over_the_posterior():
    after = posterior()
    draws = after.draws(4000, random_state=0)
    sets = ALL_SETS[[0, 5, 33, 63]]
    losses = np.array([loss(sets, theta, constraints=CONSTRAINTS) for theta in draws])
    error = losses.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(risk(sets, after, constraints=CONSTRAINTS) - losses.mean(axis=0)) <= 4 * error + 1e-12).all()


@pytest.mark.parametrize("strength", [0.3, 1.0, 5.0])
def test_the_selected_set_has_the_least_risk(strength):
    after = posterior()
    risks = risk(ALL_SETS, after, constraints=CONSTRAINTS, constraint_strength=strength)
    selected = decide(after, constraints=CONSTRAINTS, constraint_strength=strength, min_votes=0)
    assert risk(selected.mask, after, constraints=CONSTRAINTS, constraint_strength=strength) == pytest.approx(
        risks.min(), abs=1e-12
    )
    assert 1 + strength - risks.min() == pytest.approx(selected.value, abs=1e-12)


def test_likelihood_is_a_product_of_multinomial_densities():
    evidence = posterior().evidence
    theta = np.random.default_rng(1).dirichlet(np.ones(N))
    rows = evidence.sets.toarray() if hasattr(evidence.sets, "toarray") else np.asarray(evidence.sets)
    expected = sum(multinomial.logpmf(row.astype(int), row.sum(), theta) for row in rows)
    assert log_likelihood(evidence, theta) == pytest.approx(expected, rel=1e-12)
    assert log_likelihood(evidence, 7 * theta) == pytest.approx(expected, rel=1e-12)
    assert log_likelihood(evidence, np.eye(N)[0]) == -np.inf


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: loss([[1, 0]], [0.5]), "theta"),
        (lambda: loss([[1, 2]], [0.5, 0.5]), "sets"),
        (lambda: loss([[1, 0]], [0.5, 0.5], constraint_strength=0), "constraint_strength"),
        (lambda: risk([[1, 0]], [0.5, 0.5]), "posterior"),
        (lambda: log_likelihood([[1, 0]], [0.5, 0.5]), "evidence"),
        (lambda: log_likelihood(posterior().evidence, np.zeros(N)), "theta"),
    ],
)
def test_bad_arguments_are_named(call, argument):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument
