r"""The hyperdirichlet prior of Hankin (2010): each run tells that *one of* the features it chose matters.

The posterior density is :math:`\prod_n \theta_n^{\alpha_n - 1} \prod_m \bigl(\sum_{n \in S_m} \theta_n\bigr)` over the
sets :math:`S_m` that the ensemble chose. Its mean has no closed form; it is simulated by
:class:`~ubayfs.priors.set_sampler.SetSampler` on a problem made smaller without loss:

- Sets of one feature are counts: they add to the weight of that feature. The empty set and the set of all features are
  constant factors.
- Features in exactly the same sets are one group: the density depends on their sum only, their shares of it are
  Dirichlet and independent of it. So their means stand in the ratio of their weights, exactly.
- Equal sets are one set with a multiplicity.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._arguments import MOST_REPEATS, Array, FeatureIndex, Floats, Ints, RandomState, as_generator, check_int
from ..data.blocks import Blocks, sets_matrix
from ..ensemble.evidence import Evidence
from ..exceptions import Advice, InputError, repr_of
from .base import Diagnostics, Posterior, Prior, log_gamma_draws, normalized_exp
from .set_sampler import Block, SetSampler, mean_and_error, monte_carlo_error, split_r_hat
from .weight_resolver import DEFAULT_WEIGHT, is_feature

# Sampling continues until R-hat falls below this and the largest error by batch means below this part of the largest
# mean.
_R_HAT_AIM = 1.02
_ERROR_AIM = 0.02
_N_BLOCKS = 8


@dataclass(frozen=True, eq=False)
class Hyperdirichlet(Prior):
    """Prior under which sets of features, not single features, are observed.

    A run is one vote, shared by the features that it chose: a weight of 5 counts like five runs that chose the feature
    alone, and all runs together are as many votes as there are models.

    Parameters
    ----------
    set_weights : mapping, optional
        Prior knowledge on sets ("one of these genes matters"): a tuple or frozenset of features (by name or
        position), or a block name -> a whole number w >= 0. It counts as much as w runs that chose this very set.
    n_chains : int, default 4
        Independent Markov chains, at least 2.
    n_warmup : int, default 100
        First sweeps of each chain, which are forgotten.
    n_draws : int, default 200
        Sweeps of each chain after that (the next multiple of 8). Their number is doubled until the chains agree (R-hat
        below 1.02) and the Monte Carlo error is below 2 % of the largest mean...
    max_draws : int, default 6400
        ...but it does not exceed this. Chains that still disagree (R-hat above 1.05) are warned about.

    See Also
    --------
    Dirichlet : The default.

    References
    ----------
    Hankin, R. K. S. (2010). A generalization of the Dirichlet distribution. Journal of Statistical Software, 33(11),
    1-18.

    Examples
    --------
    >>> evidence = Evidence.from_sets([[True, True, False]] * 5 + [[True, False, True]])
    >>> posterior = Hyperdirichlet().update(evidence, weights=0.01, random_state=0)
    >>> bool(posterior.mean.argmax() == 0), bool(posterior.diagnostics.r_hat < 1.05)
    (True, True)
    """

    set_weights: Mapping[Any, int] | None = None
    n_chains: int = 4
    n_warmup: int = 100
    n_draws: int = 200
    max_draws: int = 6400
    name: ClassVar[str] = "hyperdirichlet"

    def __post_init__(self) -> None:
        if self.set_weights is not None:
            if not isinstance(self.set_weights, Mapping):
                raise InputError.of(
                    "set_weights",
                    "must map sets of features (tuple, frozenset or block name) to whole numbers; "
                    f"got {repr_of(self.set_weights)}.",
                )
            # A copy: later changes by the caller have no effect.
            for members, weight in self.set_weights.items():
                check_int(f"set_weights of {repr_of(members)}", weight, low=0)
            object.__setattr__(self, "set_weights", dict(self.set_weights))
        check_int("n_chains", self.n_chains, low=2, high=MOST_REPEATS)
        check_int("n_warmup", self.n_warmup, low=0, high=MOST_REPEATS)
        check_int("n_draws", self.n_draws, low=2 * _N_BLOCKS, high=MOST_REPEATS)
        check_int("max_draws", self.max_draws, low=self.n_draws)

    def _update(
        self, evidence: Evidence, weights: Floats, blocks: Blocks, random_state: RandomState
    ) -> HyperdirichletPosterior:
        if evidence.votes is not None:
            rule = "needs the sets of models, and sites send votes only. Use the dirichlet prior."
            raise InputError.of("prior", rule, self.name)
        rows, multiplicity = self._resolve_set_weights(FeatureIndex(evidence.feature_names), blocks)
        sets = sparse.csr_array(sparse.vstack([evidence.sets.astype(bool), rows], format="csr"))
        sets.eliminate_zeros()
        set_weight = int(multiplicity.sum())
        multiplicity = np.concatenate([np.ones(evidence.n_models, dtype=np.int64), multiplicity])
        grouped = GroupedSets.of(sets, multiplicity, weights)
        diagnostics = None
        if grouped.membership.shape[0] == 0:
            mean_counts = np.zeros(grouped.n_groups)
            states = np.zeros((1, grouped.n_groups))
        else:
            sampled = self._sample_counts(grouped, as_generator(random_state))
            mean_counts, _ = mean_and_error(sampled)
            n_draws = sum(b.length for b in sampled)
            states = np.concatenate([np.moveaxis(b.states, 2, 1).reshape(-1, grouped.n_groups) for b in sampled])
            diagnostics = Diagnostics(
                r_hat=split_r_hat(sampled),
                monte_carlo_error=grouped.spread(monte_carlo_error(sampled) / grouped.total),
                n_chains=self.n_chains,
                n_draws=n_draws,
                n_sweeps=n_draws + self.n_warmup,
            )
            for advice in diagnostics.advice:
                advice.warn()
        return HyperdirichletPosterior(
            prior=self.name,
            weights=weights,
            mean=grouped.spread((grouped.group_weights + mean_counts) / grouped.total),
            evidence=evidence,
            diagnostics=diagnostics,
            grouped=grouped,
            states=states,
            set_weight=set_weight,
        )

    def _resolve_set_weights(self, index: FeatureIndex, blocks: Blocks) -> tuple[sparse.csr_array, NDArray[np.int64]]:
        """Return the weighted sets, a csr_array of bool of shape (n_sets, n_features), and their weights."""
        set_weights = self.set_weights or {}
        members = [set_members(key, index, blocks) for key in set_weights]
        return sets_matrix(members, len(index.names)), np.array(list(set_weights.values()), dtype=np.int64)

    def _sample_counts(self, grouped: GroupedSets, rng: np.random.Generator) -> list[Block]:
        """Sample until chains agree and means are accurate, or the budget is used up."""
        sampler = SetSampler(grouped.group_weights, grouped.membership, grouped.multiplicity, self.n_chains, rng)
        for _ in range(self.n_warmup):
            sampler.sweep()
        length = -(-self.n_draws // _N_BLOCKS)
        sampled = [sampler.run(length) for _ in range(_N_BLOCKS)]
        while 2 * length * _N_BLOCKS <= self.max_draws and not _good_enough(grouped, sampled):
            sampled += [sampler.run(length) for _ in range(_N_BLOCKS)]
            sampled = [a.joined(b) for a, b in zip(sampled[::2], sampled[1::2], strict=True)]
            length *= 2
        return sampled


@dataclass(frozen=True, eq=False)
class GroupedSets:
    """Set factors over groups of features that are in exactly the same sets."""

    group: Ints  # of each feature, (n_features,)
    feature_weights: Floats  # prior weight plus sets that hold it alone, (n_features,): shares within a group
    group_weights: Floats  # sum over the members plus sets that hold this group alone, (n_groups,)
    membership: sparse.csr_array  # distinct sets of two or more groups, bool, (n_sets, n_groups)
    multiplicity: NDArray[np.int64]  # (n_sets,)

    @classmethod
    def of(cls, sets: sparse.csr_array, multiplicity: NDArray[np.int64], weights: Floats) -> GroupedSets:
        """Reduce factors of sets, of shape (n_sets, n_features), given how often each stands in the product."""
        size = np.diff(sets.indptr)
        alone = np.flatnonzero(size == 1)
        feature_weights = weights + np.bincount(sets[alone].indices, multiplicity[alone], len(weights))
        shared = (size > 1) & (size < len(weights)) & (multiplicity > 0)
        sets, multiplicity = sets[shared], multiplicity[shared]
        label, first = _identical_rows(sets)
        multiplicity = np.bincount(label, multiplicity, len(first)).astype(np.int64)
        distinct = sets[first]
        group, first = _identical_rows(sparse.csr_array(distinct.T))
        membership = sparse.csr_array(distinct[:, first])
        membership.sort_indices()
        group_weights = np.bincount(group, feature_weights).astype(np.float64)
        alone = np.flatnonzero(np.diff(membership.indptr) == 1)
        group_weights += np.bincount(membership[alone].indices, multiplicity[alone], len(group_weights))
        free = np.diff(membership.indptr) > 1
        return cls(group, feature_weights, group_weights, membership[free], multiplicity[free])

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.group_weights)

    @property
    def total(self) -> float:
        """Sum of the Dirichlet parameters of theta given the latent members."""
        return float(self.group_weights.sum() + self.multiplicity.sum())

    def spread(self, values: Floats) -> Floats:
        """Share a value per group, of shape (n_groups,), among the features as expected: (n_features,)."""
        return values[self.group] * (self.feature_weights / np.bincount(self.group, self.feature_weights)[self.group])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class HyperdirichletPosterior(Posterior):
    """A mixture of Dirichlet distributions, one for each kept state of the chains.

    `states`, of shape (n_states, n_groups), are sampled counts of each group; `set_weight` is the sum of the weights
    on sets.
    """

    grouped: GroupedSets = field(repr=False)
    states: Array = field(repr=False)
    set_weight: int = 0

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What weights count for, if there are any, and whether the chains disagree."""
        votes = {"n_models": self.evidence.n_models, "n_votes": int(self.counts.sum())}
        stated = bool((self.weights != DEFAULT_WEIGHT).any())
        return (*super().advice, *(Advice("weights_of_hyperdirichlet", votes),) * stated)

    @property
    def total(self) -> float:
        """Sum of all weights and of the number of runs, T: a run is one vote, shared among the features it chose."""
        return float(self.weights.sum() + self.set_weight + self.evidence.n_models)

    def _sample(self, n: int, rng: np.random.Generator) -> Floats:
        group, n_groups = self.grouped.group, self.grouped.n_groups
        state = self.states[rng.integers(len(self.states), size=n)]
        log_group = log_gamma_draws(self.grouped.group_weights + state, (n, n_groups), rng)
        log_share = log_gamma_draws(self.grouped.feature_weights, (n, self.n_features), rng)
        order = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        log_within = np.logaddexp.reduceat(log_share[:, order], starts, axis=1)
        return normalized_exp(log_group[:, group] + log_share - log_within[:, group])


def set_members(key: Hashable, index: FeatureIndex, blocks: Blocks) -> Ints:
    """Return the positions of the features of one weighted set."""
    if isinstance(key, str):
        if is_feature(key, index, blocks, "set_weights"):
            return index.positions([key], "set_weights")
        return index.positions(blocks.members[key], f"block {key!r}")
    if not isinstance(key, tuple | frozenset):
        raise InputError.of(
            "set_weights", f"must name sets by a tuple or frozenset of features, or a block; got {repr_of(key)}."
        )
    if not key:
        raise InputError.of("set_weights", "has an empty set; name at least one feature.")
    return np.sort(index.positions(key, "set_weights"))


def _identical_rows(matrix: sparse.csr_array) -> tuple[Ints, Ints]:
    """Return a label for each row, equal for identical rows, and the first row of each label."""
    matrix.sort_indices()
    labels: dict[bytes, int] = {}
    first: list[int] = []
    label = np.empty(matrix.shape[0], dtype=np.intp)
    for row, (start, stop) in enumerate(zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)):
        label[row] = labels.setdefault(matrix.indices[start:stop].tobytes(), len(first))
        if label[row] == len(first):
            first.append(row)
    return label, np.array(first, dtype=np.intp)


def _good_enough(grouped: GroupedSets, sampled: list[Block]) -> bool:
    mean_counts, error = mean_and_error(sampled)
    mean = grouped.spread(grouped.group_weights + mean_counts)
    return split_r_hat(sampled) < _R_HAT_AIM and grouped.spread(error).max() < _ERROR_AIM * mean.max()
