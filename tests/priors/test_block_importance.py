"""Importance of blocks: exactly Beta for the Dirichlet, by draws for others."""

import numpy as np
import pytest
from scipy.stats import beta

from ubayfs import Dirichlet, Evidence, GeneralizedDirichlet, Hyperdirichlet
from ubayfs.exceptions import ConstraintError, InputError

N = 7
EVIDENCE = Evidence.from_sets(np.random.default_rng(2).random((40, N)) < np.linspace(0.1, 0.7, N))
BLOCKS = {"all": range(N), "first": [0, 1, 2], "later": [2, 3, 6], "one": [4]}
WEIGHTS = np.linspace(0.2, 3.0, N)


def test_the_dirichlet_sums_are_beta_distributed():
    posterior = Dirichlet().update(EVIDENCE, weights=WEIGHTS)
    importance = posterior.blocks(BLOCKS, level=0.8)
    alpha = WEIGHTS + EVIDENCE.counts
    for i, members in enumerate(list(BLOCKS.values())[1:], start=1):
        inside = alpha[list(members)].sum()
        assert importance.mean[i] == pytest.approx(inside / alpha.sum(), rel=1e-12)
        ends = beta(inside, alpha.sum() - inside).ppf([0.1, 0.9])
        assert [importance.lower[i], importance.upper[i]] == pytest.approx(ends, rel=1e-9)
    assert (importance.lower[0], importance.upper[0]) == (1.0, 1.0)
    assert importance.mean[0] == pytest.approx(1.0, abs=1e-12)
    assert (importance.names, importance.n_features, importance.is_exact) == (tuple(BLOCKS), (N, 3, 3, 1), True)


def test_a_block_of_one_feature_is_that_feature():
    posterior = Dirichlet().update(EVIDENCE, weights=WEIGHTS)
    importance = posterior.blocks({str(i): [i] for i in range(N)}, level=0.9)
    lower, upper = posterior.credible_interval(0.9)
    assert (importance.lower.tolist(), importance.upper.tolist()) == (lower.tolist(), upper.tolist())
    assert importance.mean == pytest.approx(posterior.mean, abs=1e-15)


def test_draws_agree_with_the_closed_form():
    exact = Dirichlet().update(EVIDENCE, weights=WEIGHTS).blocks(BLOCKS)
    drawn = GeneralizedDirichlet().update(EVIDENCE, weights=WEIGHTS).blocks(BLOCKS, n_draws=20_000)
    assert not drawn.is_exact
    assert drawn.mean == pytest.approx(exact.mean, abs=1e-12)
    assert drawn.lower == pytest.approx(exact.lower, abs=0.005)
    assert drawn.upper == pytest.approx(exact.upper, abs=0.005)


def test_the_hyperdirichlet_uses_its_draws():
    posterior = Hyperdirichlet().update(EVIDENCE, weights=WEIGHTS, random_state=0)
    importance = posterior.blocks(BLOCKS, random_state=3, n_draws=50)
    sums = posterior.draws(50, random_state=3)[:, [0, 1, 2]].sum(axis=1)
    assert [importance.lower[1], importance.upper[1]] == pytest.approx(np.quantile(sums, [0.025, 0.975]), abs=1e-12)
    assert importance.mean[1] == pytest.approx(posterior.mean[:3].sum(), abs=1e-12)


def test_bad_arguments_are_named():
    posterior = Dirichlet().update(EVIDENCE)
    with pytest.raises(InputError) as caught:
        posterior.blocks(BLOCKS, level=1.0)
    assert caught.value.argument == "level"
    with pytest.raises(ConstraintError, match="block 'far'"):
        posterior.blocks({"far": [N]})
