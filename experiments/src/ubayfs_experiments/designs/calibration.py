"""One simulation: a new data set of a population, what ubayfs says about it, and what is true.

A cell is a kind of truth in a data set with an elementary selector ("planted_mrmr"); its simulations come in versions of
20 with the same population. So the sets of one version are those of studies that repeat each other, and the
agreement of such studies is known. IPSS sees the same data sets. "facts" are the same statements on the paper's data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np

import ubayfs

from ..data.datasets import Dataset
from ..data.splits import GROUPS, RANDOM
from ..tasks import Experiment, Outcome, Scale, Split, Task
from ..data.planted import KINDS, N_REFERENCE, SHADOW, STAND_IN, Population, population

NAME = "calibration"
SIMULATIONS = {"mrmr": 100, "fisher": 100, "tree": 30, "lasso": 30}
IPSS = {"ipss_gb": 20, "ipss_l1": 20}
CELLS = (
    ("gauss", "planted"), ("gauss", "noise"), ("gauss_blocks", "planted"), ("PRO", "fresh"), ("PRO", "noise"),
    ("gauss", "few"), ("gauss", "many"), ("LEU_golub", "fresh"), ("LEU_golub", "noise"), ("gauss_blocks", "noise"),
    ("PRO", "planted"), ("LEU_golub", "planted"),
)  # fmt: skip
FACTS = {"BCW": RANDOM, "COL": RANDOM, "LSVT": GROUPS, "MPE": GROUPS, "HD": RANDOM, "PRO": RANDOM, "LEU_golub": RANDOM}
VERSION = 20  # simulations of one population
MAX_SIZE = 10
SUPPORTED = 0.2
VALIDATED = 8  # simulations of each version, the first ones: a validation takes longer than all the rest
METRIC = "auc"
SETTINGS: dict[str, Any] = {
    "simulations": SIMULATIONS | IPSS,
    "n_models": 50,
    "n_features_per_model": 10,
    "max_size": MAX_SIZE,
    "kinds (signals, standard deviation of the predictor)": {name: list(kind) for name, kind in KINDS.items()},
    "simulations per version": VERSION,
    "validated per version": VALIDATED,
    "reference samples": N_REFERENCE,
    "stand-in, shadow": [STAND_IN, SHADOW],
}


def tasks(scale: Scale) -> list[Task]:
    """Return a task for every selector and cell, for IPSS if it is installed, and the facts on the paper's data."""
    ensemble = {"n_models": scale.models(50), "n_features_per_model": 10}
    facts = {"n_models": scale.models(50)}
    wanted = [(name, n) for name, n in (SIMULATIONS | IPSS).items() if name not in IPSS or find_spec("ipss")]
    return [
        *(Task(NAME, data, f"facts_{name}", 1, scheme, facts) for data, scheme in FACTS.items() for name in SIMULATIONS
          if data in scale.data(FACTS)),
        *(Task(NAME, data, f"{kind}_{name}", scale.splits(n), settings={} if name in IPSS else ensemble)
          for name, n in wanted for data, kind in CELLS if data in scale.data([data])),
    ]  # fmt: skip


def run_split(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Run one simulation; its data are the same for every selector, and for IPSS."""
    kind, method = task.method.split("_", 1)
    state = int(seed.generate_state(1)[0])
    arguments = {"selector": method, **task.settings, "constraints": [ubayfs.max_size(MAX_SIZE, rho=np.inf)]}
    if kind == "facts":
        groups = dataset.groups if task.scheme == GROUPS else None
        say = Statements(dataset.X, dataset.y, arguments | {"groups": groups}, state)
        return [say.outcome({**say.noise(), **say.reproducibility(), **say.validation(control=True)})]
    truth = population(dataset, kind, split.number // VERSION)
    X, y = truth.draw(truth.n_samples, np.random.default_rng(seed))
    if method in IPSS:
        return [_ipss(X, y, method.removeprefix("ipss_"), state, truth)]
    say = Statements(X, y, arguments, state)
    scores = {**say.noise(), **say.truth(truth)}
    if not truth.real_samples:
        scores |= say.reproducibility()
        if split.number % VERSION < VALIDATED:
            scores |= say.validation(control=False) | _performance(X, y, arguments, state, truth)
    return [say.outcome(scores)]


class Statements:
    """What ubayfs says about one data set: an ensemble, the set that was chosen, and what they are worth.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    arguments : mapping
        Of the ensemble and of the decision.
    state : int
        Seed.
    """

    def __init__(self, X: Any, y: Any, arguments: Mapping[str, Any], state: int) -> None:
        self.data, self.seeds = (X, y), {"random_state": state}
        self.decision = {"constraints": arguments["constraints"]}
        self.ensemble = {name: value for name, value in arguments.items() if name != "constraints"}
        self.scores: dict[str, float] = {}
        start = process_time()
        self.evidence = ubayfs.collect_evidence(*self.data, **self.ensemble, **self.seeds)
        self.selection = ubayfs.decide(self.evidence, **self.decision)
        self.seconds = process_time() - start
        self.q_values = np.ones(X.shape[1])

    def outcome(self, scores: Mapping[str, float]) -> Outcome:
        """Return the set with everything that was said about it."""
        return Outcome({}, tuple(self.selection.indices.tolist()), self.seconds, scores)

    def noise(self) -> dict[str, float]:
        """Estimate the noise."""
        start = process_time()
        noise = ubayfs.estimate_noise(*self.data, **self.ensemble, **self.seeds, evidence=self.evidence)
        estimate = noise.estimate(self.selection)
        self.q_values, self.by_data = noise.q_values, estimate.by_data
        return {
            "expected": estimate.expected, "cautious": estimate.cautious, "n_data": estimate.n_data,
            "p_value": noise.p_value, "passes": float(noise.passes), "supported": noise.supported,
            "noise_seconds": process_time() - start,
        }  # fmt: skip

    def truth(self, truth: Population) -> dict[str, float]:
        """Return how many members and supported features are noise in truth."""
        position = {name: j for j, name in enumerate(self.evidence.feature_names)}
        members = [position[name] for name in self.by_data]
        return {"n_features": len(position), **_false(members, truth),
                **_false(np.flatnonzero(self.q_values <= SUPPORTED), truth, "supported_")}  # fmt: skip

    def reproducibility(self) -> dict[str, float]:
        """Repeat the procedure on halves."""
        start = process_time()
        found = ubayfs.reproduce(*self.data, **self.ensemble, **self.decision, **self.seeds)
        names = ("lower", "upper", "interval_low", "interval_high", "again_low", "again_high")
        values = (found.lower, found.upper, *found.interval, *found.chosen_again)
        return dict(zip(names, values, strict=True)) | {"reproduce_seconds": process_time() - start}

    def validation(self, control: bool) -> dict[str, float]:
        """Validate in nested folds; `control`: with a shuffled target as well."""
        raise NotImplementedError


def _false(chosen: Any, truth: Population, prefix: str = "") -> dict[str, float]:
    return {f"{prefix}t1": float(truth.unrelated[chosen].sum()), f"{prefix}t2": float(truth.no_shadow[chosen].sum())}


def _performance(X: Any, y: Any, arguments: Mapping[str, Any], state: int, truth: Population) -> dict[str, float]:
    raise NotImplementedError


def _ipss(X: Any, y: Any, selector: str, state: int, truth: Population) -> Outcome:
    """Run integrated path stability selection: the features with q <= 0.2, and the first ten by expected errors."""
    from ipss import ipss

    np.random.seed(state % 2**32)  # noqa: NPY002 - IPSS has no seed of its own
    start = process_time()
    found = ipss(X, y, selector=selector)
    seconds = process_time() - start
    q, errors = (np.array([found[name][j] for j in range(X.shape[1])]) for name in ("q_values", "efp_scores"))
    chosen = np.flatnonzero(q <= SUPPORTED)
    best = np.argsort(errors, kind="stable")[:MAX_SIZE]
    best = best[errors[best] < X.shape[1]]  # all others were never selected on the path
    scores = {
        "supported": len(chosen), "expected_supported": float(errors[chosen].max(initial=0.0)),
        **_false(chosen, truth, "supported_"),
        "n_data": len(best), "expected": float(min(errors[best].max(initial=0.0), len(best))), **_false(best, truth),
    }  # fmt: skip
    return Outcome({}, tuple(chosen.tolist()), seconds, scores)


EXPERIMENT = Experiment(NAME, "Do noise, reproducibility and validation hold?", tasks, run_split, SETTINGS)
