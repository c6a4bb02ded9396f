r"""Good sets to begin with: the paper's Algorithm 1, and a variant that copes with hard rows.

**Algorithm 1.** A chain starts from the empty set and is offered every feature once, in the order of a random
permutation in which important features tend to come early. A feature is accepted with probability
:math:`\kappa(\delta^\dagger) / \kappa(\delta)`, the admissibility with it over that without it.

:func:`initial_sets` is Algorithm 1 as printed (``Genetic(start="paper")``), :func:`feasible_start` the variant
(``Genetic(start="guided")``, the default).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..utility import Utility
from .chains import NO_CHANGE, Chains
from .linked import LinkedUtility


def initial_sets(utility: Utility, n_sets: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Sample sets by the paper's Algorithm 1, to the letter.

    Parameters
    ----------
    utility : Utility
        Its `theta` weighs the permutations (features of weight 0 come last); its rows decide on acceptance.
    n_sets : int
    rng : Generator

    Returns
    -------
    sets : ndarray of bool of shape (n_sets, n_features)
        Only selectable features. All sets are empty when the empty set violates a hard row: its admissibility is 0,
        and the algorithm then accepts nothing. :func:`feasible_start` copes with that.
    """
    order, log_uniform = draw_offers(utility, n_sets, rng)
    chains = Chains(utility, n_sets)
    if not (chains.harm > NO_CHANGE).any():
        chains.run(order, log_uniform)
    return chains.chosen


def feasible_start(utility: Utility, n_sets: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Sample sets to begin a search with: the best set that each chain of Algorithm 1 passes through.

    Where a soft row limits the size, Algorithm 1 goes on accepting features at a rate of exp(-rho) long after the
    limit is exceeded (with max-size 10 and rho = 1 it ends with 3,700 of 10,000 features), so that the last set of a
    chain is a poor start. Two more things differ, and only where there are hard rows: chains begin with the required
    features and are offered features that hard rows tie together as a whole; and while hard rows are violated
    (at least one of these, at least five in all, ...), features that mend them are accepted first.

    Returns
    -------
    sets : ndarray of bool of shape (n_sets, n_features)
        They may still violate hard rows; whether these can hold at all is not decided here.
    """
    linked = LinkedUtility.of(utility)
    return linked.expand(start_over_units(linked, n_sets, rng))


def start_over_units(linked: LinkedUtility, n_sets: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Do the work of :func:`feasible_start`; return sets of units, of shape (n_sets, n_units)."""
    order, log_uniform = draw_offers(linked.utility, n_sets, rng)
    chains = Chains(linked.utility, n_sets)
    everyone = np.arange(n_sets)
    for unit in linked.required[linked.utility.selectable[linked.required]]:
        chains.accept(everyone, np.full(n_sets, unit))
    if (chains.harm > NO_CHANGE).any():
        chains.run(order, np.full_like(log_uniform, np.inf))
    chains.run(order, log_uniform, while_it_can_improve=True)
    return chains.best


def draw_offers(
    utility: Utility, n_sets: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Draw what chance decides in Algorithm 1: the order of the features, and a uniform number for each.

    Returns
    -------
    order : ndarray of int of shape (n_sets, n_selectable)
        Each row a permutation, sampled without replacement with probabilities proportional to theta.
    log_uniform : ndarray of float of shape (n_sets, n_selectable)
        Logarithm of the number that decides on the feature offered at that step.
    """
    selectable = np.flatnonzero(utility.selectable)
    theta = utility.theta[selectable]
    # The order of independent exponential times with rates theta is sampling without replacement.
    times = rng.standard_exponential((n_sets, len(selectable)))
    times /= np.where(theta > 0, theta, 1.0)
    never = np.broadcast_to(theta <= 0, times.shape)
    order = selectable[np.lexsort((times, never), axis=-1)]
    # Minus an exponential variable is the logarithm of a uniform one.
    return order, -rng.standard_exponential(order.shape)
