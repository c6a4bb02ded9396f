"""Time of the decision, on problems of the size of the paper's data.

    python benchmarks/decision.py [--seeds 5] [--time-limit 60]

Importances are those of 100 models with 20 features each: feature of rank r is chosen by each model with probability
proportional to r^-decay (decay 1: few features take all votes; 0.3: votes are spread thin).
"""

import argparse
import statistics
import time
import warnings

import numpy as np
from scipy import sparse

import ubayfs
from ubayfs import linear, max_blocks, max_per_block, max_size

N_MODELS, PER_MODEL = 100, 20
DECAYS = (1.0, 0.3)
BLOCK_LIMITS = {"max_per_block(2)": max_per_block(2), "max_blocks(2)": max_blocks(2)}


def importance(n_features, decay, rng):
    probability = np.arange(1, n_features + 1) ** -decay
    counts = rng.binomial(N_MODELS, np.minimum(1.0, PER_MODEL * probability / probability.sum()))
    theta = 0.01 + rng.permutation(counts)
    return theta / theta.sum()


def soft_pairs(theta, n_pairs, n_best, rng):
    """At most one of each pair, among the best features; rho is the odds of a correlation between 0.4 and 0.95."""
    best = np.argsort(-theta)[:n_best]
    first, second = np.triu_indices(n_best, k=1)
    picked = rng.choice(len(first), n_pairs, replace=False)
    columns = best[np.column_stack([first[picked], second[picked]])].ravel()
    A = sparse.csr_array((np.ones(2 * n_pairs), columns, np.arange(0, 2 * n_pairs + 1, 2)), shape=(n_pairs, len(theta)))
    tau = rng.uniform(0.4, 0.95, n_pairs)
    return linear(A, 1.0, rho=tau / (1 - tau))


def random_blocks(n_features, n_blocks, rng):
    block = rng.integers(n_blocks, size=n_features)
    return {f"block {number}": np.flatnonzero(block == number).tolist() for number in range(n_blocks)}


def timed(theta, constraints, **arguments):
    start = time.perf_counter()
    selection = ubayfs.maximize(theta, constraints, **arguments)
    return selection, time.perf_counter() - start


def size_only(n_features=10_000, repeats=21):
    print(f"max_size(20) only, {n_features} features")
    for decay in DECAYS:
        theta = importance(n_features, decay, np.random.default_rng(0))
        seconds = [timed(theta, max_size(20))[1] for _ in range(repeats)]
        print(
            f"  decay {decay}: median {1000 * statistics.median(seconds):.1f} ms, slowest {1000 * max(seconds):.1f} ms"
        )


def pairs_and_blocks(n_seeds, time_limit, n_features=7_000):
    print(f"\n{n_features} features: max_size(20), 3000 soft pairs among the best 400, 20 blocks")
    print(
        f"{'decay':>5}  {'block limit':<18}{'seed':>4}{'exact s':>9}{'value':>11}{'gap':>10}"
        f"{'genetic s':>11}{'value':>11}"
    )
    for decay in DECAYS:
        for title, limit in BLOCK_LIMITS.items():
            seconds = []
            for seed in range(n_seeds):
                rng = np.random.default_rng(seed)
                theta = importance(n_features, decay, rng)
                constraints = [max_size(20), soft_pairs(theta, 3_000, 400, rng), limit]
                blocks = random_blocks(n_features, 20, rng)
                exact, exact_time = timed(theta, constraints, blocks=blocks, time_limit=time_limit)
                genetic, genetic_time = timed(theta, constraints, blocks=blocks, optimizer="genetic", random_state=seed)
                seconds.append(exact_time)
                print(
                    f"{decay:>5}  {title:<18}{seed:>4}{exact_time:>9.2f}{exact.value:>11.6f}{exact.gap:>10.1e}"
                    f"{genetic_time:>11.2f}{genetic.value:>11.6f}",
                    flush=True,
                )
            print(f"{'':>7}median {statistics.median(seconds):.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=60.0)
    arguments = parser.parse_args()
    timed(importance(100, 1.0, np.random.default_rng(0)), [max_size(5), linear(np.eye(100)[:2], 0)])  # load the solver
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ubayfs.OptimizationWarning)  # a time limit shows in the gap
        size_only()
        pairs_and_blocks(arguments.seeds, arguments.time_limit)
