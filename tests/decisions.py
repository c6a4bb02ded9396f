"""Random decisions on few features, and the brute-force answer to changes of them."""

import warnings

import numpy as np

from problems import selectable_sets
from ubayfs import (
    Evidence,
    at_least_one,
    cannot_link,
    cost_budget,
    decide,
    exact_size,
    exclude,
    implies,
    max_blocks,
    max_per_block,
    max_size,
    min_per_block,
    min_size,
    must_link,
    require,
)
from ubayfs.constraints.utility import score_tolerance
from ubayfs.exceptions import InfeasibleError

NAMES = list("abcdefgh")
BLOCKS = {"first": list("abc"), "second": list("cdef"), "third": list("gh")}


def random_constraint(rng):
    rho = np.inf if rng.random() < 0.3 else float(10 ** rng.uniform(-1, 1))
    pair, size = rng.choice(NAMES, 2, replace=False).tolist(), int(rng.integers(1, 6))
    kinds = [
        lambda: max_size(size, rho=rho),
        lambda: max_size(size, rho=rho),
        lambda: min_size(size, rho=rho),
        lambda: exact_size(size, rho=rho),
        lambda: must_link(pair, rho=rho),
        lambda: cannot_link(rng.choice(NAMES, 3, replace=False).tolist(), rho=rho),
        lambda: implies(pair[0], pair[1], rho=rho),
        lambda: at_least_one(pair, rho=rho),
        lambda: require(pair[0], rho=rho),
        lambda: exclude(pair[0], rho=rho),
        lambda: max_per_block(1, rho=rho),
        lambda: min_per_block(1, rho=rho),
        lambda: max_blocks(2, rho=rho),
        lambda: cost_budget(dict(zip(NAMES, rng.integers(1, 5, 8).tolist(), strict=True)), budget=7.0, rho=rho),
    ]
    return kinds[rng.integers(len(kinds))]()


def random_decision(seed):
    """A selection among 8 features and its arguments; ties are frequent, and so are features without a vote."""
    rng = np.random.default_rng(seed)
    while True:
        share = rng.choice([0.0, 0.3, 0.3, 0.6, 0.9], len(NAMES))
        evidence = Evidence.from_sets(rng.random((20, len(NAMES))) < share, NAMES)
        weights = (
            dict.fromkeys(rng.choice(NAMES, 2).tolist(), float(rng.integers(1, 15))) if rng.random() < 0.5 else 0.01
        )
        arguments = {
            "weights": weights if rng.random() < 0.5 else 0.01,
            "constraints": [random_constraint(rng) for _ in range(rng.integers(1, 5))],
            "blocks": BLOCKS,
            "constraint_strength": float(rng.choice([0.3, 1.0, 3.0])),
            "min_votes": int(rng.choice([0, 1, 1, 4])),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return decide(evidence, **arguments), evidence, arguments
            except InfeasibleError:
                continue


def decided_without(evidence, arguments, position):
    """The decision without one constraint, by name."""
    constraints = [c for k, c in enumerate(arguments["constraints"]) if k != position]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return decide(evidence, **{**arguments, "constraints": constraints})


def best_sets(utility, chosen, allowed=lambda sets: np.ones(len(sets), dtype=bool)):
    """The highest score of the allowed sets, and those best sets that share most with the chosen one."""
    sets = selectable_sets(utility)
    sets = sets[allowed(sets)]
    values = utility(sets)
    if len(sets) == 0 or np.isneginf(values.max()):
        return -np.inf, set()
    best = sets[values >= values.max() - score_tolerance(values.max())]
    shared = (best & chosen).sum(axis=1)
    return values.max(), {names_of(one) for one in best[shared == shared.max()]}


def names_of(mask):
    return tuple(np.array(NAMES)[mask].tolist())
