"""The paper's optimizer: a genetic algorithm that begins with sets sampled by Algorithm 1. Fast, without proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._arguments import (
    MOST_REPEATS,
    Array,
    Floats,
    Ints,
    Mask,
    RandomState,
    as_generator,
    check_choice,
    check_int,
    check_real,
)
from ..constraints.system import ConstraintSystem, once_per_system
from ..constraints.utility import Admissibility, Utility
from .algorithm1 import feasible_start, initial_sets
from .base import Solution
from .presolve import LinkedUtility
from .size_bounds import SizeBounds

WAYS = ("guided", "paper")


@dataclass(frozen=True)
class Genetic:
    """Improves a population of sets by selection, uniform crossover and mutation.

    The best sets among parents and children form the next generation, so that the best one is never lost.

    Parameters
    ----------
    n_sets : int
        Sets in the population, the paper's Q.
    n_generations : int
        The paper's T.
    crossover_rate : float in [0, 1]
        Share of children with two parents; the others are copies of one.
    mutation_rate : float in [0, 1]
        Share of children in which one feature is added, dropped, or exchanged for another.
    start : {"guided", "paper"}
        The first generation. "paper": the sets with which chains of the paper's Algorithm 1, as printed, end
        (:func:`~ubayfs.optimize.algorithm1.initial_sets`); crossover and mutation then move single features. "guided":
        the best set that each chain passes through, where chains begin with the required features; features that hard
        inequalities allow only together are one unit here and in all generations
        (:func:`~ubayfs.optimize.algorithm1.feasible_start`).
    search : {"guided", "paper"}, optional
        The later generations; default as `start`. "paper": mutation adds every feature with the same chance, and equal
        sets may survive side by side. "guided": half of the features that mutation adds are drawn by importance, and
        survivors are distinct.

    See Also
    --------
    Exact : The default, with a proof.

    References
    ----------
    Jenul, A., Schrunner, S., Pilz, J., Tomic, O. (2022). A user-guided Bayesian framework for ensemble feature
    selection in life science applications (UBayFS). Machine Learning, 111, 3897-3923.

    Examples
    --------
    >>> from ubayfs import Evidence, Genetic, decide
    >>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])
    >>> optimizer = Genetic(n_sets=20, n_generations=20)
    >>> decide(evidence, max_size=1, optimizer=optimizer, random_state=0).features
    ('radius',)
    """

    n_sets: int = 100
    n_generations: int = 100
    crossover_rate: float = 0.8
    mutation_rate: float = 0.5
    start: str = "guided"
    search: str | None = None

    def __post_init__(self) -> None:
        check_int("n_sets", self.n_sets, low=2, high=MOST_REPEATS)
        check_int("n_generations", self.n_generations, low=0, high=MOST_REPEATS)
        check_real("crossover_rate", self.crossover_rate, low=0.0, high=1.0)
        check_real("mutation_rate", self.mutation_rate, low=0.0, high=1.0)
        check_choice("start", self.start, WAYS)
        if self.search is not None:
            check_choice("search", self.search, WAYS)

    def maximize(
        self, utility: Utility, random_state: RandomState = None, on_progress: Callable[[int, int], None] | None = None
    ) -> Solution:
        """Return the best set found.

        Parameters
        ----------
        utility : Utility
        random_state : int, Generator, SeedSequence, RandomState or None
        on_progress : callable, optional
            Called with (generations done, generations in all).

        Returns
        -------
        solution : Solution
            Satisfies all hard inequalities if any set of any generation does; otherwise the set that violates them
            least, with value -inf. Only the exact optimizer can decide whether hard inequalities contradict each
            other. The bound is that of :class:`~ubayfs.optimize.size_bounds.SizeBounds`: the highest score of sets of
            any size. `info` has `n_generations`, `n_evaluations` and `best_by_generation`: the best score so far, the
            start first; it never falls, and is -inf as long as every set violates a hard inequality.
        """
        rng = as_generator(random_state)
        linked, first = self._begin(utility, rng)
        guided = (self.search or self.start) == "guided"
        breeder = _Breeder(self, linked.utility, rng, guided)
        population = _Population.evaluated(linked.utility, first).best(self.n_sets, guided)
        best = [float(population.values[0])]
        for generation in range(self.n_generations):
            children = _Population.evaluated(linked.utility, breeder.children(population.sets))
            population = population.joined(children).best(self.n_sets, guided)
            best.append(float(population.values[0]))
            if on_progress is not None:
                on_progress(generation + 1, self.n_generations)
        chosen = linked.expand(population.sets[0])
        value = float(utility(chosen)[0])
        # Sums in another order differ by rounding; the bound must not fall below a value that attains it.
        sizes = SizeBounds.from_utility(utility)
        bound = float(sizes.value.max()) * (1.0 + len(sizes.order) * np.finfo(float).eps)
        facts = {"n_generations": self.n_generations, "n_evaluations": len(first) + self.n_generations * self.n_sets}
        return Solution(chosen, value, bound, info={**facts, "best_by_generation": tuple(best)})

    def _begin(self, utility: Utility, rng: np.random.Generator) -> tuple[LinkedUtility, Mask]:
        """Return the units that the search moves (features, or linked ones together), and the first generation."""
        if self.start == "paper":
            features = LinkedUtility(utility, np.arange(utility.n_features), np.empty(0, dtype=np.intp))
            return features, initial_sets(utility, self.n_sets, rng)
        linked = LinkedUtility.from_utility(utility)
        return linked, feasible_start(linked, self.n_sets, rng)


class _Population(NamedTuple):
    """Sets with their scores, and how far they violate hard inequalities (0 if they do not)."""

    sets: Array
    values: Array
    violation: Array

    @classmethod
    def evaluated(cls, utility: Utility, sets: Mask) -> _Population:
        """Evaluate sets: those that satisfy the hard inequalities by score, others by how far they violate these."""
        batch = sparse.csr_array(sets, dtype=np.float64)
        values, violation = utility(batch), np.zeros(len(sets))
        violating = np.flatnonzero(np.isneginf(values))
        if len(violating):
            violation[violating] = -_softened(utility.system).log_admissibility(batch[violating])
        return cls(sets, values, violation)

    def joined(self, other: _Population) -> _Population:
        return _Population(*(np.concatenate(parts) for parts in zip(self, other, strict=True)))

    def best(self, n: int, distinct: bool) -> _Population:
        """Return the best `n` sets, best first; of equal ones, one if they must be `distinct`."""
        kept = np.arange(len(self.sets))
        if distinct:
            # Sets are compared as packed bits of the features in use: an eighth of the bytes, and no columns of zeros.
            used = np.flatnonzero(self.sets.any(axis=0))
            packed = np.packbits(self.sets[:, used], axis=1) if len(used) else np.zeros((len(self.sets), 1))
            _, kept = np.unique(packed, axis=0, return_index=True)
        order = kept[np.lexsort((-self.values[kept], self.violation[kept]))][:n]
        return _Population(*(part[order] for part in self))


@once_per_system
def _softened(system: ConstraintSystem) -> Admissibility:
    """Return the hard inequalities as soft ones."""
    hard = system.take(np.flatnonzero(np.isinf(system.rho)))
    return Admissibility(replace(hard, rho=np.ones(hard.n_inequalities)))


class _Breeder:
    """Makes the children of a generation."""

    def __init__(self, settings: Genetic, utility: Utility, rng: np.random.Generator, guided: bool) -> None:
        self._settings = settings
        self._rng = rng
        self._features = np.flatnonzero(utility.selectable)
        theta = utility.theta[self._features]
        chance = np.full(len(theta), 1.0 / max(1, len(theta)))
        if guided:  # half of the features that mutation adds are drawn by importance: most others rarely improve a set
            chance += theta / (theta.sum() or 1.0)
        self._feature_chance = np.cumsum(chance)

    def children(self, sets: Mask) -> Mask:
        """Return new sets from a population, best set first."""
        # Features in no set stay out of all children before mutation: crossover works on the others.
        live = np.flatnonzero(sets.any(axis=0))
        n_children = self._settings.n_sets
        # Ranks decide, not scores: these differ by orders of magnitude or hardly at all. The best set is twice
        # as likely to be a parent as the one in the middle, the worst hardly ever is.
        chance = np.cumsum(np.arange(len(sets), 0, -1, dtype=np.float64))
        mother, father = (sets[np.ix_(self._draw(chance, n_children), live)] for _ in range(2))
        crossed = self._rng.random(n_children) < self._settings.crossover_rate
        from_father = (self._rng.random(mother.shape) < 0.5) & crossed[:, None]
        bred = np.where(from_father, father, mother)
        mutated = self._rng.random(n_children) < self._settings.mutation_rate
        kind = self._rng.integers(3, size=n_children)
        self._drop_one(bred, np.flatnonzero(mutated & (kind != 0)))
        children = np.zeros((n_children, sets.shape[1]), dtype=bool)
        children[:, live] = bred
        if len(self._features):
            adding = np.flatnonzero(mutated & (kind != 1))
            children[adding, self._features[self._draw(self._feature_chance, len(adding))]] = True
        return children

    def _draw(self, cumulative: Floats, n: int) -> Ints:
        """Draw `n` positions, given cumulative weights."""
        drawn = np.searchsorted(cumulative, self._rng.random(n) * cumulative[-1], side="right")
        return np.minimum(drawn, len(cumulative) - 1)

    def _drop_one(self, sets: Mask, which: Ints) -> None:
        """Remove one member, drawn uniformly, from some sets."""
        if sets.shape[1] and len(which):
            lottery = self._rng.random((len(which), sets.shape[1])) * sets[which]
            sets[which, lottery.argmax(axis=1)] = False
