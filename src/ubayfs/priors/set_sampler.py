r"""Sampler for a product of set factors over a Dirichlet prior.

The density is :math:`\prod_g \theta_g^{\alpha_g - 1} \prod_d (\sum_{g \in S_d} \theta_g)^{k_d}`. Each of the
:math:`k_d` factors of set d names one latent member; with :math:`n_{dg}` of them naming g and
:math:`n_g = \sum_d n_{dg}`, theta integrates out:

.. math:: p(n) \propto \prod_g \Gamma(\alpha_g + n_g) \prod_d \binom{k_d}{n_{d\cdot}}.

Three kinds of moves leave this distribution invariant:

- **Set move.** All factors of one set at once: given the rest, they are Dirichlet-multinomial with the parameters
  :math:`\alpha_g + n_g` (this set left out).
- **Pair move.** Given two groups i and j, all factors that name one of them in a set that holds both are drawn anew
  together: :math:`p \sim \mathrm{Beta}` of what the two have elsewhere, then Binomial(p). The pair is found by taking a
  random factor of a given set, the group i that it names, and another member j of that set, uniformly. Which pair is
  taken depends on the state, but a move never changes how many factors of the set name i or j, hence neither the
  chance of taking that same pair: detailed balance holds.
- **Level swap.** Small weights make distant modes (few groups explain all sets; which ones?). Each chain therefore
  runs at several levels, :math:`\max(\alpha_g, \epsilon_t)` in place of :math:`\alpha_g`, where groups share freely at
  high levels, and neighbouring levels exchange their states by Metropolis' rule. Only the lowest level is used.

All chains and levels are columns of the same arrays and move together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._arguments import Floats, Ints
from .base import log_gamma_draws

# Weights double from level to level until groups of weight 1 share freely; more levels than this cost more than
# they help.
_LEVEL_RATIO = 2.0
_MAX_LEVELS = 12

# A pair move costs several set moves; with levels, one for every fourth set mixes as well as one for each.
_SETS_PER_PAIR_MOVE = 4
_MAX_PAIR_MOVES = 32

# Groups whose count has a smaller standard deviation than this over all draws do not enter R-hat: they are hit in
# less than one draw of a hundred, and one visit more or less does not move their mean.
NEGLIGIBLE_SPREAD = 0.1

# States that a block of sweeps keeps for draws of theta.
_STATES_PER_BLOCK = 32


@dataclass(frozen=True, eq=False)
class Block:
    """Summary of consecutive sweeps of all chains."""

    length: int  # number of sweeps
    total: Floats  # sum of the counts n_g over the sweeps, (n_groups, n_chains)
    squares: Floats  # sum of their squares
    states: NDArray[np.int32]  # counts at evenly spaced sweeps, (n_states, n_groups, n_chains)

    def joined(self, other: Block) -> Block:
        """Return both as one block, with every second state."""
        return Block(
            self.length + other.length,
            self.total + other.total,
            self.squares + other.squares,
            np.concatenate([self.states, other.states])[::2],
        )


class SetSampler:
    """Markov chains over the latent members of sets.

    Parameters
    ----------
    weights : ndarray of float of shape (n_groups,)
        Dirichlet parameters.
    membership : csr_array of bool of shape (n_sets, n_groups)
        Distinct sets of at least two groups each.
    multiplicity : ndarray of int of shape (n_sets,)
        Number of factors of each set.
    """

    def __init__(
        self,
        weights: Floats,
        membership: sparse.csr_array,
        multiplicity: NDArray[np.int64],
        n_chains: int,
        rng: np.random.Generator,
    ) -> None:
        self._rng = rng
        self._multiplicity = multiplicity
        self.n_chains = n_chains
        floors = _level_floors(weights[np.unique(membership.indices)])
        self._n_levels = len(floors)
        n_columns = self._n_levels * n_chains
        # Column t * n_chains + c is chain c at level t.
        self._alpha = np.repeat(np.maximum(weights[:, None], floors), n_chains, axis=1)
        self._columns = np.arange(n_columns)
        self._members = np.split(membership.indices, membership.indptr[1:-1])
        self._edges = [slice(a, b) for a, b in zip(membership.indptr[:-1], membership.indptr[1:], strict=True)]
        # Where the row of n_dg begins in `_assigned` when that is read as one long vector; -1 if g is not in set d.
        self._row_of = np.full(membership.shape[::-1], -1, dtype=np.int32)
        for d, (members, edges) in enumerate(zip(self._members, self._edges, strict=True)):
            self._row_of[members, d] = np.arange(edges.start, edges.stop) * n_columns
        self._assigned = np.zeros((membership.nnz, n_columns), dtype=np.int64)
        self._counts = np.zeros((len(weights), n_columns), dtype=np.int64)
        # Every set names its members at random: starts far apart, so that R-hat is honest.
        for d, members in enumerate(self._members):
            p = self._rng.dirichlet(np.ones(len(members)), size=len(self._columns))
            named = self._rng.multinomial(self._multiplicity[d], p).T
            self._assigned[self._edges[d]] = named
            self._counts[members] += named

    @property
    def counts(self) -> NDArray[np.int64]:
        """Current counts n_g of all chains at the level that counts, of shape (n_groups, n_chains)."""
        return self._counts[:, : self.n_chains]

    def sweep(self) -> None:
        """Move every set, then the pairs that some of the sets propose, then exchange levels."""
        n_sets = len(self._members)
        for d in range(n_sets):
            self.move_set(d)
        n_pairs = min(-(-n_sets // _SETS_PER_PAIR_MOVE), _MAX_PAIR_MOVES)
        for d in self._rng.choice(n_sets, size=n_pairs, replace=False).tolist():
            self.move_pair(d)
        for parity in (0, 1):
            self.swap_levels(parity)

    def run(self, length: int) -> Block:
        """Make `length` sweeps and summarize them."""
        total, squares = np.zeros(self.counts.shape), np.zeros(self.counts.shape)
        states = []
        every = max(1, length // _STATES_PER_BLOCK)
        for i in range(length):
            self.sweep()
            total += self.counts
            squares += self.counts.astype(np.float64) ** 2
            if (i + 1) % every == 0:
                states.append(self.counts.astype(np.int32))
        return Block(length, total, squares, np.array(states))

    def move_set(self, d: int) -> None:
        """Draw the members that all factors of set d name, given those of the other sets."""
        members, edges = self._members[d], self._edges[d]
        others = self._counts[members] - self._assigned[edges]
        parameters = self._alpha[members] + others
        if self._multiplicity[d] == 1:
            cumulative = np.cumsum(parameters, axis=0)
            threshold = self._rng.random(len(self._columns)) * cumulative[-1]
            named = np.zeros_like(others)
            named[(cumulative[:-1] <= threshold).sum(axis=0), self._columns] = 1
        else:
            named = _dirichlet_multinomial(self._multiplicity[d], parameters, self._rng)
        self._assigned[edges] = named
        self._counts[members] = others + named

    def _pick_pair(self, d: int) -> tuple[Ints, Ints]:
        """Return, for each column, the group that a random factor of set d names, and another member of d."""
        members = self._members[d]
        factor = self._rng.integers(self._multiplicity[d], size=len(self._columns))
        first = (np.cumsum(self._assigned[self._edges[d]], axis=0) <= factor).sum(axis=0)
        second = (first + self._rng.integers(1, len(members), size=len(self._columns))) % len(members)
        return members[first], members[second]

    def move_pair(self, d: int) -> None:
        """Draw anew, for a pair of groups that set d proposes, which of the two each set that holds both names."""
        i, j = self._pick_pair(d)
        columns, n_columns = self._columns, len(self._columns)
        rows_i, rows_j = self._row_of[i], self._row_of[j]
        held = np.flatnonzero(np.minimum(rows_i, rows_j) >= 0)
        column = held // rows_i.shape[1]
        place_i, place_j = rows_i.ravel()[held] + column, rows_j.ravel()[held] + column
        assigned = self._assigned.reshape(-1)
        named_i = assigned[place_i]
        both = named_i + assigned[place_j]
        # What the two groups have in sets that do not hold both stays.
        total = np.bincount(column, both, n_columns)
        movable_i = np.bincount(column, named_i, n_columns)
        fixed_i = self._counts[i, columns] - movable_i
        fixed_j = self._counts[j, columns] - (total - movable_i)
        p = self._rng.beta(self._alpha[i, columns] + fixed_i, self._alpha[j, columns] + fixed_j)
        movable = np.flatnonzero(both)
        column, both = column[movable], both[movable]
        moved = self._rng.binomial(both, p[column])
        assigned[place_i[movable]] = moved
        assigned[place_j[movable]] = both - moved
        moved_i = np.bincount(column, moved, n_columns)
        self._counts[i, columns] = fixed_i + moved_i
        self._counts[j, columns] = fixed_j + total - moved_i

    def swap_levels(self, parity: int) -> None:
        """Offer neighbouring levels (0-1, 2-3, ... or 1-2, 3-4, ...) an exchange of their states."""
        from scipy.special import gammaln

        n_groups = len(self._alpha)
        if parity + 1 >= self._n_levels:
            return
        low, high = slice(parity, self._n_levels - 1, 2), slice(parity + 1, self._n_levels, 2)
        alpha = self._alpha.reshape(n_groups, self._n_levels, self.n_chains)
        counts = self._counts.reshape(alpha.shape)
        below, above = counts[:, low], counts[:, high]
        alpha_below, alpha_above = alpha[:, low], alpha[:, high]
        exchanged = gammaln(alpha_below + above) + gammaln(alpha_above + below)
        current = gammaln(alpha_below + below) + gammaln(alpha_above + above)
        log_ratio = (exchanged - current).sum(axis=0)
        accepted = -self._rng.standard_exponential(log_ratio.shape) < log_ratio
        source = self._columns.reshape(self._n_levels, self.n_chains).copy()
        source[low] += accepted * self.n_chains
        source[high] -= accepted * self.n_chains
        # take, unlike indexing, keeps rows contiguous, which pair moves rely on.
        self._counts = self._counts.take(source.ravel(), axis=1)
        self._assigned = self._assigned.take(source.ravel(), axis=1)


def _level_floors(weights: Floats) -> Floats:
    """Return the smallest weight at each level, lowest level first; one level only when no weight is small."""
    smallest = float(weights.min())
    n_levels = int(np.clip(np.ceil(np.log(1.0 / smallest) / np.log(_LEVEL_RATIO)), 0, _MAX_LEVELS - 1)) + 1
    return np.geomspace(smallest, max(1.0, smallest), n_levels)


def _dirichlet_multinomial(n: int, parameters: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return counts that sum to n in each column, of the shape of `parameters`."""
    log_gamma = log_gamma_draws(parameters, parameters.shape, rng)
    p = np.exp(log_gamma - log_gamma.max(axis=0))
    return rng.multinomial(n, (p / p.sum(axis=0)).T).T


def split_r_hat(blocks: list[Block]) -> float:
    """Return the largest split R-hat of any group's count; 1 when no group's count varies enough to matter.

    The first and second half of the blocks of each chain count as chains of their own.
    """
    half = len(blocks) // 2
    means, variances = [], []
    for part in (blocks[:half], blocks[half:]):
        n = sum(b.length for b in part)
        mean = sum(b.total for b in part) / n
        means.append(mean)
        variances.append((sum(b.squares for b in part) - n * mean**2) / (n - 1))
    mean, within = np.concatenate(means, axis=1), np.maximum(np.concatenate(variances, axis=1), 0.0).mean(axis=1)
    half_length = sum(b.length for b in blocks) / 2.0
    pooled = within * (half_length - 1.0) / half_length + mean.var(axis=1, ddof=1)
    relevant = pooled > NEGLIGIBLE_SPREAD**2
    if not relevant.any():
        return 1.0
    with np.errstate(divide="ignore"):
        return float(np.sqrt(pooled[relevant] / within[relevant]).max())


def mean_and_error(blocks: list[Block]) -> tuple[Floats, Floats]:
    """Return each group's mean count and its standard error by batch means, each of shape (n_groups,).

    All blocks must have the same length.
    """
    batches = np.concatenate([b.total / b.length for b in blocks], axis=1)
    return batches.mean(axis=1), batches.std(axis=1, ddof=1) / np.sqrt(batches.shape[1])


def monte_carlo_error(blocks: list[Block]) -> Floats:
    """Return the Monte Carlo standard error of each group's mean count, of shape (n_groups,).

    It is that of batch means, or that of the means of the chains where it is larger: chains may have been in different
    modes all the time. On top of it comes one visit: batches that a group was hardly ever named in do not show how much
    one visit more would change its mean. All blocks must have the same length.
    """
    batches = np.concatenate([b.total / b.length for b in blocks], axis=1)
    n_sweeps = blocks[0].length * batches.shape[1]
    chains = np.mean([b.total / b.length for b in blocks], axis=0)
    by_chains = chains.std(axis=1, ddof=1) / np.sqrt(chains.shape[1])
    total, squares = (np.sum([getattr(b, name) for b in blocks], axis=(0, 2)) for name in ("total", "squares"))
    variance = squares / n_sweeps - (total / n_sweeps) ** 2
    varying = variance > NEGLIGIBLE_SPREAD**2
    # So many sweeps tell as much as one that is independent of all others; a visit lasts as long.
    ratio = blocks[0].length * batches.var(axis=1, ddof=1)[varying] / variance[varying]
    size = np.maximum(squares / np.maximum(total, 1.0), 1.0)  # of a count when it is not 0
    one_visit = size * ratio.max(initial=1.0) / n_sweeps
    return np.asarray(np.hypot(np.maximum(mean_and_error(blocks)[1], by_chains), one_visit))
