"""Decisions whose results are recorded: all rules, priors, weights and optimizers, drawn with fixed seeds.

Each problem has its own generator, so that adding one leaves the others as they are. None has a time limit: results
must not depend on the clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

import ubayfs
from ubayfs.decision.selection import Selection
from ubayfs.priors import Posterior

from . import problems

Problem = Callable[[], Any]
Rule = Callable[["Draw", float], ubayfs.Constraint]

SHORT_CHAINS: dict[str, Any] = {"n_chains": 2, "n_warmup": 8, "n_draws": 16, "max_draws": 64}
STRENGTHS = (1e-3, 0.1, 1.0, 20.0, 1e3, math.inf)


class Draw:
    """Draws features, blocks, votes and data of one decision problem."""

    def __init__(self, family: int, number: int, most: int = 40) -> None:
        self.rng = np.random.default_rng([family, number])
        self.n = int(self.rng.integers(8, most + 1))
        owner = self.rng.integers(4, size=self.n)
        self.blocks = {f"b{b}": np.flatnonzero(owner == b).tolist() or [b] for b in range(4)}
        if self.rng.random() < 0.5:  # blocks that overlap
            self.blocks |= {f"c{b}": self.members(2, 6) for b in range(2)}

    def size(self, low: int = 1, high: int | None = None) -> int:
        """Return a whole number."""
        return int(self.rng.integers(low, (high or self.n // 2) + 1))

    def members(self, low: int, high: int, on: str = "features") -> list[Any]:
        """Return features (by name or by position) or blocks."""
        if on == "blocks":
            return self.rng.choice(sorted(self.blocks), min(self.size(low, high), 3), replace=False).tolist()
        positions = self.rng.choice(self.n, self.size(low, high), replace=False).tolist()
        return positions if self.rng.random() < 0.5 else [f"x{j}" for j in positions]

    def rho(self) -> float:
        """Return a relaxation: infinite, or between 1e-3 and 1e3."""
        return math.inf if self.rng.random() < 0.2 else float(10 ** self.rng.uniform(-3, 3))

    def evidence(self) -> ubayfs.Evidence:
        """Return the sets of 25 models."""
        return ubayfs.Evidence.from_sets(self.rng.random((25, self.n)) < self.rng.beta(0.5, 2.0, self.n))

    def data(self) -> NDArray[np.float64]:
        """Return a table with correlated columns."""
        return self.rng.normal(size=(30, self.n)) + 2 * self.rng.normal(size=(30, 3)) @ self.rng.normal(
            size=(3, self.n)
        )

    def weights(self) -> Any:
        """Return prior weights in any of their forms."""
        some, high = self.members(1, 5), round(float(self.rng.uniform(0.5, 20)), 2)
        names = [f"x{j}" if isinstance(j, int) else j for j in some]
        forms = [
            0.01, high, self.rng.uniform(0.1, 5, self.n), dict.fromkeys(some, high), {"b0": high, "x1": 1.5},
            pd.Series(high, index=names), pd.DataFrame({"feature": names, "weight": high}),
            pd.DataFrame({"block": ["b1", "b2"], "weight": [high, high / 2]}),
        ]  # fmt: skip
        return forms[self.size(0, len(forms) - 1)]

    def prior(self) -> Any:
        """Return a prior, by name or with parameters."""
        known = {tuple(self.members(2, 4)): 3, "b0": 2}
        priors = [
            "dirichlet", "generalized", ubayfs.Dirichlet(), ubayfs.GeneralizedDirichlet(beta=2.5),
            ubayfs.GeneralizedDirichlet(beta=self.rng.uniform(0.5, 9, self.n - 1)),
            ubayfs.Hyperdirichlet(**SHORT_CHAINS), ubayfs.Hyperdirichlet(known, **SHORT_CHAINS),
        ]  # fmt: skip
        return priors[self.size(0, len(priors) - 1)]


def _linked(kind: str, on: str, draw: Draw, rho: float) -> ubayfs.Constraint:
    return getattr(ubayfs, kind)(draw.members(2 if "link" in kind else 1, 4, on), rho=rho, on=on)


def _implied(on: str, draw: Draw, rho: float) -> ubayfs.Constraint:
    first, *others = draw.members(2, 4, on)
    return ubayfs.implies(first, others, rho=rho, on=on)


def _linear(draw: Draw, rho: float) -> ubayfs.Constraint:
    A = draw.rng.normal(size=(2, draw.n)) * (draw.rng.random((2, draw.n)) < 0.5)
    return ubayfs.linear(A, draw.rng.uniform(0, 2, 2), rho=[rho, 0.7])


def _own_blocks(draw: Draw, rho: float) -> ubayfs.Constraint:
    own = {f"own {b}": draw.members(2, 5) for b in range(3)}
    return ubayfs.linear([1, 1, draw.size(-1, 2)], draw.size(0, 2), rho=rho, blocks=own)


RULES: dict[str, Rule] = {
    **{name: lambda d, rho, name=name: getattr(ubayfs, name)(d.size(), rho=rho) for name in ("max_size", "min_size")},
    "exact_size": lambda d, rho: ubayfs.exact_size(d.size(), rho=rho),
    **{
        f"{kind} of {on}": partial(_linked, kind, on)
        for kind in ("must_link", "cannot_link", "at_least_one", "require", "exclude")
        for on in ("features", "blocks")
    },
    "implies of features": partial(_implied, "features"),
    "implies of blocks": partial(_implied, "blocks"),
    "max_per_block": lambda d, rho: ubayfs.max_per_block(d.size(0, 3), rho=rho),
    "max_per_block of some": lambda d, rho: ubayfs.max_per_block(
        d.size(0, 2), rho=rho, blocks=d.members(1, 2, "blocks")
    ),
    "max_blocks": lambda d, rho: ubayfs.max_blocks(d.size(1, 3), rho=rho),
    "cost_budget": lambda d, rho: ubayfs.cost_budget(d.rng.uniform(0, 3, d.n), d.size(2, 12), rho=rho),
    "cost_budget of some": lambda d, rho: ubayfs.cost_budget(dict.fromkeys(d.members(3, 8), 1.7), 4.2, rho=rho),
    "linear": _linear,
    "linear of some": lambda d, rho: ubayfs.linear({"x0": 1, "x1": 2.5, 2: -1, "x3": 0.3}, 1.1, rho=rho),
    "linear of blocks": lambda d, rho: ubayfs.linear(
        d.rng.integers(-1, 3, len(d.blocks)), d.size(0, 3), rho=rho, blocks=True
    ),
    "linear of own blocks": _own_blocks,
}
DECORRELATE = {
    f"decorrelate by {method} above {threshold}": ubayfs.decorrelate(threshold, method)
    for method in ("spearman", "pearson", "kendall")
    for threshold in (0.4, 0.75)
}


def _alone(rule: Rule, number: int, rho: float) -> Selection:
    draw = Draw(1, number)
    constraints = [rule(draw, rho), ubayfs.max_size(draw.size(3), rho=2.0)]
    return ubayfs.decide(
        draw.evidence(), constraints=constraints, blocks=draw.blocks, n_alternatives=number % 3, min_votes=0
    )


def _decorrelated(constraint: ubayfs.Constraint, number: int) -> Selection:
    draw = Draw(2, number, most=60)
    constraints = [constraint, ubayfs.max_size(draw.size(4), rho=0.5)]
    return ubayfs.decide(draw.evidence(), constraints=constraints, X=draw.data(), n_alternatives=2, min_votes=0)


def _mixed(family: int, number: int, optimizer: Any = "exact", votes: bool = True) -> Selection:
    draw = Draw(family, number)
    kinds = draw.rng.choice(list(RULES), draw.size(1, 5)).tolist()
    constraints = [RULES[kind](draw, draw.rho()) for kind in kinds]
    if draw.rng.random() < 0.3:
        constraints.append(DECORRELATE[sorted(DECORRELATE)[number % len(DECORRELATE)]])
    settings: dict[str, Any] = {
        "constraints": constraints, "blocks": draw.blocks, "X": draw.data(), "optimizer": optimizer,
        "constraint_strength": float(10 ** draw.rng.uniform(-1, 1)), "n_alternatives": number % 5,
        "random_state": number,
    }  # fmt: skip
    if votes:
        arguments = {"weights": draw.weights(), "prior": draw.prior(), "min_votes": draw.size(0, 2)}
        return ubayfs.decide(draw.evidence(), **arguments, **settings)
    theta = draw.rng.dirichlet(np.full(draw.n, 0.5))
    return ubayfs.maximize(np.round(theta, 2) if number % 3 == 0 else theta, **settings)  # ties and zeros, or none


CONTRADICTIONS: dict[str, Callable[[], list[ubayfs.Constraint]]] = {
    "both": lambda: [ubayfs.require("x1"), ubayfs.exclude("x1")],
    "sizes": lambda: [ubayfs.max_size(2), ubayfs.min_size(3)],
    "too many": lambda: [ubayfs.require([0, 1, 2]), ubayfs.max_size(2), ubayfs.max_size(4, rho=1.0)],
    "link": lambda: [ubayfs.must_link([0, 1]), ubayfs.require("x0"), ubayfs.exclude("x1")],
    "chain": lambda: [ubayfs.implies(j, j + 1) for j in range(4)] + [ubayfs.require(0), ubayfs.exclude(4)],
    "pair": lambda: [ubayfs.cannot_link([2, 3]), ubayfs.require([2, 3]), ubayfs.min_size(1, rho=1.0)],
    "budget": lambda: [ubayfs.cost_budget(np.full(8, 2.0), 3.0), ubayfs.exact_size(2)],
    "blocks": lambda: [ubayfs.max_blocks(1), ubayfs.require("x0"), ubayfs.require("x7")],
    "per block": lambda: [ubayfs.max_per_block(1), ubayfs.require([0, 1])],
    "rows": lambda: [ubayfs.linear(-np.ones(8), -9)],
}


def _contradicting(name: str, optimizer: Any) -> Selection:
    draw = Draw(3, 0, most=8)
    halves = {"first": range(4), "second": range(4, 8)}
    return ubayfs.decide(
        draw.evidence(),
        weights=1,
        prior="dirichlet",
        constraints=CONTRADICTIONS[name](),
        blocks=halves,
        optimizer=optimizer,
        min_votes=0,
    )


def _large_pairs(n: int, decay: float, clustered: bool) -> Selection:
    rng = np.random.default_rng(n)
    theta = problems.importance(n, decay, rng)
    if clustered:
        pairs = problems.clustered_pairs(np.argsort(-theta, kind="stable"), cluster=5, n_pairs=6, rng=rng)
    else:
        pairs = problems.soft_pairs(theta, 150, 60, rng)
    return ubayfs.maximize(theta, [ubayfs.max_size(20, rho=1.0), pairs], n_alternatives=int(decay))


def _large_blocks(n: int, decay: float, rho: float) -> Selection:
    rng = np.random.default_rng(n + 1)
    evidence, blocks = problems.evidence(n, decay, rng), problems.random_blocks(n, n // 50, rng)
    constraints = [ubayfs.max_size(25, rho=1.0), ubayfs.max_per_block(1, rho=rho)]
    if decay == 1.0:  # with votes spread thin the proof would take minutes
        constraints.append(ubayfs.max_blocks(12, rho=0.5))
    return ubayfs.decide(evidence, weights={"block 0": 4.0}, constraints=constraints, blocks=blocks, min_votes=1)


def _updated(draw: Draw, number: int) -> Posterior:
    priors = (ubayfs.Dirichlet(), ubayfs.GeneralizedDirichlet(beta=3.0), ubayfs.Hyperdirichlet(**SHORT_CHAINS))
    return priors[number % 3].update(draw.evidence(), draw.weights(), draw.blocks, random_state=number)


def _probabilities(number: int) -> NDArray[np.float64]:
    draw = Draw(6, number)
    posterior = _updated(draw, number)
    constraints = [
        ubayfs.max_size(5, rho=3.0),
        RULES["cannot_link of features"](draw, 1.0),
        ubayfs.max_blocks(3, rho=1.0),
    ]
    return ubayfs.selection_probabilities(
        posterior, constraints=constraints, blocks=draw.blocks, n_draws=20, random_state=number, min_votes=0
    )


def _posterior(number: int) -> dict[str, NDArray[np.float64]]:
    draw = Draw(7, number)
    posterior = _updated(draw, number)
    lower, upper = posterior.credible_interval(0.9, n_draws=50)
    return {"mean": posterior.mean, "draws": posterior.draws(4, number), "lower": lower, "upper": upper}


def _admissibility(number: int) -> NDArray[np.float64]:
    draw = Draw(8, number)
    constraints = [rule(draw, draw.rho()) for rule in RULES.values()][number % 3 :: 3]
    sets = draw.rng.random((50, draw.n)) < 0.3
    return ubayfs.log_admissibility(sets, [*constraints, *DECORRELATE.values()], blocks=draw.blocks, X=draw.data())


def _again(number: int) -> Selection:
    """Decide from a posterior, beginning with the answer to another question."""
    draw = Draw(9, number)
    first = ubayfs.decide(
        draw.evidence(),
        weights=draw.weights(),
        constraints=ubayfs.max_size(6, rho=2.0),
        blocks=draw.blocks,
        min_votes=0,
    )
    constraints = [ubayfs.max_size(4, rho=5.0), RULES["must_link of features"](draw, 0.8), RULES["linear"](draw, 0.4)]
    return ubayfs.decide(
        first.posterior, constraints=constraints, optimizer=ubayfs.Exact(begin_with=first.indices), min_votes=0
    )


@cache
def _fitted(selector: str) -> ubayfs.UBayFSSelector:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    blocks = {kind: [name for name in X if kind in name] for kind in ("error", "worst")}
    constraints = [ubayfs.decorrelate(0.8), ubayfs.max_per_block(3, rho=1.0)]
    settings: dict[str, Any] = {"n_models": 20, "random_state": 3, "n_alternatives": 2, "max_features": 8}
    settings["n_features_per_model"] = 8
    return ubayfs.UBayFSSelector(selector, blocks=blocks, constraints=constraints, **settings, min_votes=0).fit(X, y)


def _redecided(selector: str, **changes: Any) -> Selection:
    X = load_breast_cancer(as_frame=True).data
    return _fitted(selector).redecide(X=X, **changes).selection_


def decisions() -> dict[str, Problem]:
    """Return the decision problems by name."""
    found: dict[str, Problem] = {}
    for position, (name, rule) in enumerate(RULES.items()):
        for rho in STRENGTHS:
            found[f"{name}, rho {rho:g}"] = partial(_alone, rule, position, rho)
    for number, (name, constraint) in enumerate(DECORRELATE.items()):
        found[name] = partial(_decorrelated, constraint, number)
    found |= {f"mixed {number}": partial(_mixed, 4, number) for number in range(150)}
    found |= {f"importances {number}": partial(_mixed, 5, number, votes=False) for number in range(50)}
    for number in range(24):
        start = ("guided", "paper")[number % 2]
        settings = {"n_sets": 20, "n_generations": 15, "start": start, "search": "guided"}
        optimizer = ubayfs.Genetic(**settings) if number < 20 else "genetic"
        found[f"genetic {number}"] = partial(_mixed, 4, number, optimizer)
    for name in CONTRADICTIONS:
        for optimizer in ("exact", "genetic"):
            found[f"contradiction by {name}, {optimizer}"] = partial(_contradicting, name, optimizer)
    for n in (2000, 3500, 5000):
        for decay, votes in problems.VOTES.items():
            for clustered in (False, True):
                name = f"{n} features, {votes} votes, {'clustered' if clustered else 'scattered'} pairs"
                found[name] = partial(_large_pairs, n, decay, clustered)
            for rho in (1.0, math.inf):
                found[f"{n} features, {votes} votes, blocks, rho {rho:g}"] = partial(_large_blocks, n, decay, rho)
    for number in range(6):
        found[f"probabilities {number}"] = partial(_probabilities, number)
        found[f"posterior {number}"] = partial(_posterior, number)
        found[f"admissibility {number}"] = partial(_admissibility, number)
        found[f"again {number}"] = partial(_again, number)
    for selector in ("mrmr", "fisher", "tree"):
        found[f"selector {selector}"] = lambda selector=selector: _fitted(selector).selection_
        linked = ubayfs.cannot_link(["worst area", "mean area", "worst radius"], rho=4.0)
        changes: dict[str, dict[str, Any]] = {
            "other constraints": {"constraints": [linked, ubayfs.decorrelate(0.9, "pearson")], "max_features": 5},
            "other weights": {"weights": {"worst": 5.0}, "prior": "generalized"},
            "hyperdirichlet": {"prior": ubayfs.Hyperdirichlet(**SHORT_CHAINS), "random_state": 1},
            "no limit": {"constraints": (), "max_features": None, "min_votes": 2, "optimizer": "genetic"},
        }
        for name, change in changes.items():
            found[f"selector {selector}, {name}"] = partial(_redecided, selector, **change)
    return found
