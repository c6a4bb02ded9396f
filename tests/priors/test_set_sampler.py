"""Each move alone, on thousands of chains at once, against the exact distribution."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

from ubayfs.priors.set_sampler import Block, SetSampler, mean_and_error, monte_carlo_error, split_r_hat

MEMBERSHIP = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 0, 1]], dtype=bool)
MULTIPLICITY = np.array([1, 3, 1, 2])


def exact_count_moments(weights):
    """Mean and covariance of the counts of each group by summing over the named member of every factor."""
    factors = [np.flatnonzero(MEMBERSHIP[d]) for d in np.repeat(np.arange(4), MULTIPLICITY)]
    counts = np.array([np.bincount(c, minlength=4) for c in itertools.product(*factors)])
    log_weight = gammaln(weights + counts).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    mean = weight @ counts
    return mean, (counts - mean).T @ ((counts - mean) * weight[:, None])


def assert_moments(counts, mean, covariance):
    """Chains are independent, so plain standard errors hold; those of a covariance are estimated from the chains."""
    n_chains = counts.shape[1]
    assert (np.abs(counts.mean(axis=1) - mean) < 4.5 * np.sqrt(np.diag(covariance) / n_chains)).all()
    deviation = counts - mean[:, None]
    products = deviation[:, None] * deviation[None]
    error = products.std(axis=2) / np.sqrt(n_chains)
    assert (np.abs(products.mean(axis=2) - covariance) < 4.5 * error).all()


def sets_only(sampler):
    for d in range(4):
        sampler.move_set(d)


def pairs_only(sampler):
    for d in range(4):
        sampler.move_pair(d)


@pytest.mark.parametrize(
    ("weights", "move", "n_moves", "n_chains"),
    [
        # Chains are many rather than long: weights that are wrong by a tenth are 5 to 12 standard errors off then.
        ([1.0, 1.2, 2.0, 1.5], sets_only, 12, 60_000),
        ([1.0, 1.2, 2.0, 1.5], pairs_only, 25, 30_000),
        # Several levels: without valid swaps the lowest one could not be right so soon.
        ([0.1, 0.2, 0.05, 0.3], SetSampler.sweep, 15, 8_000),
    ],
)
def test_moves_reach_the_exact_distribution(weights, move, n_moves, n_chains, rng):
    weights = np.array(weights)
    sampler = SetSampler(weights, sparse.csr_array(MEMBERSHIP), MULTIPLICITY, n_chains, rng)
    assert sampler.counts.shape == (4, n_chains)
    for _ in range(n_moves):
        move(sampler)
    mean, covariance = exact_count_moments(weights)
    assert (sampler.counts.sum(axis=0) == MULTIPLICITY.sum()).all()
    assert_moments(sampler.counts, mean, covariance)


def test_swaps_alone_change_no_distribution(rng):
    """Levels in equilibrium stay so, though their states are exchanged all the time."""
    weights = np.array([0.1, 0.3, 0.2, 0.4])
    sampler = SetSampler(weights, sparse.csr_array(MEMBERSHIP), MULTIPLICITY, 8_000, rng)
    for _ in range(12):
        sets_only(sampler)
        pairs_only(sampler)
    before = sampler.counts.copy()
    for _ in range(10):
        sampler.swap_levels(0)
        sampler.swap_levels(1)
    mean, covariance = exact_count_moments(weights)
    assert (before != sampler.counts).any(axis=0).mean() > 0.5
    for counts in (before, sampler.counts):
        assert_moments(counts, mean, covariance)


def blocks_of(trace, n_blocks=8):
    """Summaries of a trace of shape (n_draws, n_groups, n_chains)."""
    return [Block(len(part), part.sum(axis=0), (part**2).sum(axis=0), part) for part in np.split(trace, n_blocks)]


def test_split_r_hat_against_the_definition(rng):
    trace = rng.normal(size=(80, 3, 4)) + np.array([0.0, 0.5, 0.0])[:, None] * np.arange(4)
    trace[:40, 2] += 1.0  # a drift within each chain counts too
    halves = np.concatenate([trace[:40], trace[40:]], axis=2)
    within = halves.var(axis=0, ddof=1).mean(axis=1)
    between = 40 * halves.mean(axis=0).var(axis=1, ddof=1)
    expected = np.sqrt((39 / 40 * within + between / 40) / within)
    assert split_r_hat(blocks_of(trace)) == pytest.approx(expected.max())
    assert split_r_hat(blocks_of(trace[:, 2:])) == pytest.approx(expected[2])
    assert expected[2] > 1.05
    assert split_r_hat(blocks_of(trace[:, :1])) == pytest.approx(expected[0])
    assert expected[0] < 1.05


def test_split_r_hat_of_stuck_and_idle_groups():
    stuck = np.zeros((16, 1, 2)) + np.array([0.0, 5.0])
    assert split_r_hat(blocks_of(stuck)) == np.inf
    assert split_r_hat(blocks_of(np.full((16, 1, 2), 3.0))) == 1.0


def test_monte_carlo_error_against_batches(rng):
    trace = rng.normal(size=(800, 2, 4)).cumsum(axis=0) / 30 + rng.normal(size=(800, 2, 4))
    mean, error = mean_and_error(blocks_of(trace))
    batches = np.stack([part.mean(axis=0) for part in np.split(trace, 8)]).transpose(1, 0, 2).reshape(2, -1)
    np.testing.assert_allclose(mean, trace.mean(axis=(0, 2)))
    np.testing.assert_allclose(error, batches.std(axis=1, ddof=1) / np.sqrt(32))


def test_monte_carlo_error_against_batches_chains_and_one_visit(rng):
    trace = rng.poisson([[3.0], [0.2], [0.002]], size=(800, 3, 4)).astype(float)
    trace[:, 1] += np.arange(4)  # chains that stay apart
    error = monte_carlo_error(blocks_of(trace))
    batches = np.stack([part.mean(axis=0) for part in np.split(trace, 8)]).transpose(1, 0, 2).reshape(3, -1)
    by_batches = batches.std(axis=1, ddof=1) / np.sqrt(32)
    by_chains = trace.mean(axis=0).std(axis=1, ddof=1) / 2
    # A visit adds the size of a count that is not 0, in as many sweeps as tell as much as one independent draw.
    variances = trace[:, :2].transpose(1, 0, 2).reshape(2, -1).var(axis=1)
    n_sweeps_per_draw = (100 * batches[:2].var(axis=1, ddof=1) / variances).max()
    sizes = np.maximum((trace**2).sum(axis=(0, 2)) / trace.sum(axis=(0, 2)), 1.0)
    one_visit = sizes * n_sweeps_per_draw / 3200
    np.testing.assert_allclose(error, np.hypot(np.maximum(by_batches, by_chains), one_visit))
    assert by_chains[1] > 2 * by_batches[1]
    assert one_visit[2] > by_batches[2]


def test_a_group_that_was_never_named_has_the_error_of_one_visit():
    trace = np.zeros((160, 2, 4))
    np.testing.assert_allclose(monte_carlo_error(blocks_of(trace)), 1 / 640)
