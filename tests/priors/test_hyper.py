import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from ubayfs.ensemble.collect import collect_evidence
from ubayfs.ensemble.evidence import Evidence
from ubayfs.exceptions import ConvergenceWarning, InputError
from ubayfs.priors import Dirichlet, Hyperdirichlet

# A fixed number of sweeps keeps small tests short.
SHORT = {"n_warmup": 50, "n_draws": 400, "max_draws": 400}
# Enough to see whether two chains are the same.
SHORTEST = {"n_warmup": 5, "n_draws": 16, "max_draws": 16}
short_on_purpose = pytest.mark.filterwarnings("ignore::ubayfs.exceptions.ConvergenceWarning")


def exact_moments(sets, weights):
    """Mean and variance of theta by summing over every choice of one member per set: a finite Dirichlet mixture."""
    members = [np.flatnonzero(row) for row in sets if row.any()]
    choices = np.array(list(itertools.product(*members)), dtype=int)
    assert len(choices) <= 6000
    a = weights + (choices[:, :, None] == np.arange(len(weights))).sum(axis=1)
    total = a.sum(axis=1, keepdims=True)
    log_weight = gammaln(a).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    mean, square = weight @ (a / total), weight @ (a * (a + 1) / (total * (total + 1)))
    return mean, square - mean**2


def assert_agrees(posterior, expected, n_errors=5.0):
    error = np.maximum(posterior.diagnostics.monte_carlo_error, 1e-9)
    assert (np.abs(posterior.mean - expected) < n_errors * error).all()


SMALL = {
    "chain": [[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]],
    "repeated": [[1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 0, 1, 0, 0], [0, 1, 1, 0, 0]],
    "merged": [[1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [0, 0, 1, 1, 1], [0, 0, 1, 1, 1], [1, 1, 0, 0, 0]],
    "grid": [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]] * 2,
    "alone": [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]],
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_against_enumeration(name, scale):
    sets = np.array(SMALL[name], dtype=bool)
    weights = scale * np.array([1.0, 0.3, 2.0, 0.7, 0.5])[: sets.shape[1]]
    posterior = Hyperdirichlet(**SHORT).update(Evidence.from_sets(sets), weights, random_state=1)
    expected, variance = exact_moments(sets, weights)
    assert_agrees(posterior, expected)
    # The chains mix so well that a few hundred sweeps give two digits at least.
    assert posterior.diagnostics.monte_carlo_error.max() < 0.02
    theta = posterior.draws(4000, random_state=0)
    assert np.abs(theta.var(axis=0) - variance).max() < 0.02


def test_against_importance_sampling(rng):
    sets = rng.random((12, 6)) < 0.4
    weights = np.array([0.3, 0.5, 1.0, 2.0, 0.7, 1.2])
    theta = rng.dirichlet(weights, size=200_000)
    importance = np.prod([theta[:, row].sum(axis=1) for row in sets if row.any()], axis=0)
    importance /= importance.sum()
    expected = importance @ theta
    error = np.sqrt(importance**2 @ (theta - expected) ** 2)
    posterior = Hyperdirichlet(**SHORT).update(Evidence.from_sets(sets), weights, random_state=2)
    both = np.hypot(error, posterior.diagnostics.monte_carlo_error)
    assert (np.abs(posterior.mean - expected) < 5 * both).all()
    assert both.max() < 0.01
    assert np.abs(Dirichlet().update(Evidence.from_sets(sets), weights).mean - expected).max() > 10 * both.max()


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_against_enumeration_on_random_problems(seed):
    rng = np.random.default_rng(seed)
    sets = rng.random((6, 5)) < 0.45
    weights = 10.0 ** rng.uniform(-2, 0.5, 5)
    prior = Hyperdirichlet(n_warmup=50, n_draws=160, max_draws=160)
    posterior = prior.update(Evidence.from_sets(sets), weights, random_state=seed)
    expected, _ = exact_moments(sets, weights)
    if posterior.diagnostics is None:
        np.testing.assert_allclose(posterior.mean, expected, rtol=1e-9)
    else:
        # Batch means of 32 batches: allow for their own uncertainty and for features that are hardly ever named.
        error = posterior.diagnostics.monte_carlo_error
        assert (np.abs(posterior.mean - expected) < 6 * error + 2e-3).all()


def test_set_weights_are_more_factors():
    sets = np.array(SMALL["chain"], dtype=bool)
    weights = np.array([1.0, 0.3, 0.02, 0.7, 0.5])
    evidence = Evidence.from_sets(sets, ["a", "b", "c", "d", "e"])
    blocks = {"end": ["d", "e"]}
    prior = Hyperdirichlet({("a", "c"): 2, frozenset({3}): 1, "end": 1, "b": 1, ("a", "e"): 0}, **SHORT)
    posterior = prior.update(evidence, weights, blocks, random_state=3)
    more = [[1, 0, 1, 0, 0]] * 2 + [[0, 0, 0, 1, 0], [0, 0, 0, 1, 1], [0, 1, 0, 0, 0]]
    expected, _ = exact_moments(np.vstack([sets, np.array(more, dtype=bool)]), weights)
    assert_agrees(posterior, expected)


@short_on_purpose
def test_set_weights_equal_runs_exactly():
    """A weight of w on a set and w runs that chose it give the same chains, hence the same numbers."""
    sets = np.array(SMALL["chain"], dtype=bool)
    by_weight = Hyperdirichlet({(0, 1): 3}, **SHORTEST).update(Evidence.from_sets(sets), random_state=0)
    by_runs = Hyperdirichlet(**SHORTEST).update(
        Evidence.from_sets(np.vstack([sets, [[1, 1, 0, 0, 0]] * 3])), random_state=0
    )
    np.testing.assert_array_equal(by_weight.mean, by_runs.mean)


def test_large_multiplicities_cost_nothing():
    sets = np.repeat(np.array([[1, 1, 0], [0, 1, 1]], dtype=bool), 500, axis=0)
    weights = np.array([1.0, 0.5, 2.0])
    posterior = Hyperdirichlet(n_draws=800, max_draws=800).update(Evidence.from_sets(sets), weights, random_state=0)
    # n of the first 500 name feature 0, m of the second 500 name feature 2; the rest name feature 1.
    n, m = np.meshgrid(np.arange(501), np.arange(501), indexing="ij")
    choose = gammaln(501) * 2 - gammaln(n + 1) - gammaln(501 - n) - gammaln(m + 1) - gammaln(501 - m)
    log_weight = choose + gammaln(1 + n) + gammaln(0.5 + 1000 - n - m) + gammaln(2 + m)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    expected = (
        np.array([1 + (weight * n).sum(), 0.5 + (weight * (1000 - n - m)).sum(), 2 + (weight * m).sum()]) / 1003.5
    )
    assert_agrees(posterior, expected)


def test_singletons_are_the_dirichlet(rng):
    sets = np.eye(6, dtype=bool)[rng.integers(0, 6, 30)]
    weights = rng.random(6) + 0.01
    evidence = Evidence.from_sets(np.vstack([sets, np.zeros(6), np.ones(6)]).astype(bool))
    posterior = Hyperdirichlet().update(evidence, weights)
    expected = Dirichlet().update(Evidence.from_sets(sets), weights).mean
    np.testing.assert_allclose(posterior.mean, expected, rtol=1e-12)
    assert posterior.diagnostics is None
    theta = posterior.draws(20_000, random_state=0)
    assert (np.abs(theta.mean(axis=0) - expected) < 4.5 * theta.std(axis=0) / np.sqrt(20_000)).all()


@short_on_purpose
def test_empty_sets_change_nothing():
    sets = np.array(SMALL["merged"], dtype=bool)
    padded = np.vstack([np.zeros(5), sets, np.ones(5)]).astype(bool)
    prior = Hyperdirichlet(**SHORTEST)
    np.testing.assert_array_equal(
        prior.update(Evidence.from_sets(padded), random_state=0).mean,
        prior.update(Evidence.from_sets(sets), random_state=0).mean,
    )


def test_no_votes_at_all_is_the_prior():
    posterior = Hyperdirichlet().update(Evidence.from_sets(np.zeros((3, 4), dtype=bool)), [1, 2, 3, 4])
    np.testing.assert_allclose(posterior.mean, [0.1, 0.2, 0.3, 0.4])


def test_same_sets_share_by_weight():
    sets = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [0, 0, 1, 1, 0]], dtype=bool)
    posterior = Hyperdirichlet(**SHORT).update(Evidence.from_sets(sets), [0.02, 0.06, 0.1, 0.1, 0.4], random_state=0)
    assert posterior.mean[1] == pytest.approx(3 * posterior.mean[0], rel=1e-12)
    theta = posterior.draws(20_000, random_state=1)
    share = theta[:, 0] / (theta[:, 0] + theta[:, 1])
    assert abs(share.mean() - 0.25) < 4.5 * share.std() / np.sqrt(len(share))
    assert share.var() == pytest.approx(0.25 * 0.75 / 1.08, rel=0.03)  # Beta(0.02, 0.06)


@settings(max_examples=6)
@given(st.integers(0, 2**32 - 1))
def test_relabelling_permutes(seed):
    rng = np.random.default_rng(seed)
    sets, weights, order = rng.random((5, 5)) < 0.5, 10.0 ** rng.uniform(-2, 0, 5), rng.permutation(5)
    prior = Hyperdirichlet(n_warmup=50, n_draws=160, max_draws=160)
    one = prior.update(Evidence.from_sets(sets), weights, random_state=0)
    other = prior.update(Evidence.from_sets(sets[:, order]), weights[order], random_state=1)
    error = 0.0
    if one.diagnostics is not None:
        error = np.hypot(one.diagnostics.monte_carlo_error[order], other.diagnostics.monte_carlo_error) * 6 + 2e-3
    assert (np.abs(one.mean[order] - other.mean) <= error + 1e-12).all()


def test_breast_cancer_mrmr(cancer):
    evidence = collect_evidence(*cancer, selector="mrmr", n_models=100, n_features_per_model=10, random_state=0)
    posterior = Hyperdirichlet().update(evidence, weights=0.01, random_state=0)
    assert posterior.diagnostics.r_hat < 1.05
    assert posterior.diagnostics.monte_carlo_error.max() < 0.01
    columns = evidence.sets.toarray().T
    pairs = 0
    for i, j in itertools.combinations(range(30), 2):
        if (columns[i] == columns[j]).all():
            assert posterior.mean[i] == pytest.approx(posterior.mean[j], rel=1e-12)
            pairs += 1
    assert pairs > 20
    # Eight features are in every set: one of them is enough to explain each run.
    always = evidence.counts == 100
    assert posterior.mean[always].sum() > 0.9


def rows_and_columns(size):
    """Sets {row a, column b}: all rows explain them, or all columns, and no small step leads from one to the other."""
    a, b = np.divmod(np.arange(size * size), size)
    return (np.arange(2 * size) == a[:, None]) | (np.arange(2 * size) == size + b[:, None])


def test_two_distant_modes_get_equal_shares():
    posterior = Hyperdirichlet(max_draws=800).update(Evidence.from_sets(rows_and_columns(4)), 0.01, random_state=0)
    assert posterior.diagnostics.r_hat < 1.05
    assert_agrees(posterior, np.full(8, 1 / 8))


def test_many_features_converge(rng):
    """Shape of a real problem: 40 runs, 20 of 2,000 features each, some of them popular."""
    popularity = 1.0 / np.arange(1, 2001)
    sets = np.zeros((40, 2000), dtype=bool)
    for row in sets:
        row[rng.choice(2000, 20, replace=False, p=popularity / popularity.sum())] = True
    posterior = Hyperdirichlet().update(Evidence.from_sets(sets), random_state=0)
    assert posterior.diagnostics.r_hat < 1.05
    assert posterior.mean.sum() == pytest.approx(1.0, abs=1e-9)
    unseen = ~sets.any(axis=0)
    np.testing.assert_allclose(posterior.mean[unseen], 0.01 / (20 + 40), rtol=1e-9)


def test_warns_when_chains_disagree():
    prior = Hyperdirichlet(n_warmup=0, n_draws=16, max_draws=16)
    with pytest.warns(
        ConvergenceWarning, match=r"disagree \(R-hat .*above 1\.05\) after 16 draws.*Raise max_draws"
    ) as w:
        posterior = prior.update(Evidence.from_sets(rows_and_columns(6)), random_state=0)
    assert w[0].filename == __file__
    assert posterior.diagnostics.r_hat > 1.05


def test_sampling_continues_until_good_or_spent():
    evidence = Evidence.from_sets(rows_and_columns(3))
    enough = Hyperdirichlet(n_draws=16, max_draws=4096).update(evidence, 1.0, random_state=0).diagnostics
    assert 16 < enough.n_draws < 4096
    assert enough.r_hat < 1.02
    assert enough.n_sweeps == enough.n_draws + 100
    assert enough.n_chains == 4
    spent = Hyperdirichlet(n_draws=16, max_draws=enough.n_draws // 2 + 1).update(evidence, 1.0, random_state=0)
    assert spent.diagnostics.n_draws == enough.n_draws // 2


@short_on_purpose
def test_reproducible():
    evidence = Evidence.from_sets(np.array(SMALL["chain"], dtype=bool))
    prior = Hyperdirichlet(**SHORTEST, n_chains=3)
    one, same, other = (prior.update(evidence, 1.0, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.mean, same.mean)
    np.testing.assert_array_equal(one.draws(5, 0), same.draws(5, 0))
    assert (one.mean != other.mean).any()
    assert (prior.update(evidence, 1.0).mean != prior.update(evidence, 1.0).mean).any()


def test_monte_carlo_error_is_calibrated():
    """Over repeated runs the means scatter about the exact one by what the error says."""
    sets = np.array(SMALL["chain"], dtype=bool)
    weights = np.array([1.0, 0.3, 2.0, 0.7, 0.5])
    expected, _ = exact_moments(sets, weights)
    runs = [
        Hyperdirichlet(n_warmup=30, n_draws=160, max_draws=160).update(
            Evidence.from_sets(sets), weights, random_state=s
        )
        for s in range(12)
    ]
    z = np.array([(r.mean - expected) / r.diagnostics.monte_carlo_error for r in runs])
    assert 0.6 < np.sqrt((z**2).mean()) < 1.5


@short_on_purpose
def test_monte_carlo_error_is_honest_for_features_that_chains_rarely_visit():
    """Few of 40 problems, each with features that chains name in few sweeps or none, are off by three errors."""
    z, rare = [], []
    for seed in range(40):
        rng = np.random.default_rng([5, seed])
        sets = rng.random((6, 6)) < 0.45
        weights = 10.0 ** rng.uniform(-3, 0.5, 6) if seed % 2 else np.full(6, 0.01)
        posterior = Hyperdirichlet(n_warmup=30, n_draws=64, max_draws=64).update(
            Evidence.from_sets(sets), weights, random_state=seed
        )
        if posterior.diagnostics is None:
            continue
        expected, _ = exact_moments(sets, weights)
        error, off = posterior.diagnostics.monte_carlo_error, np.abs(posterior.mean - expected)
        assert (error[off > 1e-12] > 0).all()
        z += (off[error > 0] / error[error > 0]).tolist()
        rare += (expected < 0.02)[error > 0].tolist()
    z, rare = np.array(z), np.array(rare)
    assert len(z) > 150
    assert rare.sum() > 50
    assert (z > 3).mean() < 0.012
    assert (z[rare] > 3).mean() < 0.012
    assert 0.5 < np.sqrt((z**2).mean()) < 1.2


@pytest.mark.parametrize(
    ("set_weights", "message"),
    [
        ({("a", "b"): 1.5}, r"set_weights of \('a', 'b'\) must be a whole number >= 0; got 1\.5"),
        ({("a", "b"): -1}, r"must be a whole number >= 0; got -1"),
        ({("a", "b"): True}, r"must be a whole number >= 0; got True"),
        ({("a", "gamme"): 1}, r"set_weights names 'gamme', which is not a feature\. Did you mean 'gamma'\?"),
        ({("a", "a"): 1}, r"names feature 'a' more than once"),
        ({(): 1}, r"set_weights has an empty set; name at least one feature"),
        ({"blocc": 1}, r"'blocc', which is neither a feature nor a block\. Did you mean 'block'\?"),
        ({3: 1}, r"by a tuple or frozenset of features, or a block; got 3"),
    ],
)
def test_set_weight_errors(set_weights, message):
    evidence = Evidence.from_sets([[True, True, False]], ["a", "b", "gamma"])
    with pytest.raises(InputError, match=message):
        Hyperdirichlet(set_weights).update(evidence, blocks={"block": ["a", "b"]})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"set_weights": [("a", "b")]}, r"set_weights must map sets of features"),
        ({"n_chains": 1}, r"n_chains must be a whole number >= 2; got 1"),
        ({"n_warmup": -1}, r"n_warmup must be a whole number >= 0; got -1"),
        ({"n_draws": 10}, r"n_draws must be a whole number >= 16; got 10"),
        ({"max_draws": 100}, r"max_draws must be a whole number >= 200; got 100"),
    ],
)
def test_parameter_errors(parameters, message):
    with pytest.raises(InputError, match=message):
        Hyperdirichlet(**parameters)
