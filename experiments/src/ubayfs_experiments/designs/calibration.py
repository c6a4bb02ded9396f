"""Do noise, reproducibility and validation hold? Data sets whose truth is planted, beside what ubayfs says about them.

A task measures one thing ("noise", "halves", "folds", or "errors" of IPSS) on ten data sets of one population: a
version of a kind of truth in a matrix. Data sets are the same for all measures and selectors, so that the sets of one
version are those of studies that repeat each other, and the agreement of such studies is known. Versions come in turns:
when a run is stopped, all kinds have about as many simulations. "facts" are the same statements on the paper's data.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np

import ubayfs

from ..data.datasets import Dataset
from ..data.planted import KINDS, N_GENES, N_REFERENCE, SHADOW, STAND_IN, Floats, Population, population
from ..data.splits import GROUPS, RANDOM
from ..tasks import Experiment, Outcome, Scale, Split, Task, seed_of

NAME = "calibration"
PER_VERSION = 10  # simulations
VERSIONS = {"mrmr": 10, "fisher": 10, "tree": 3, "lasso": 3}
IPSS = {"ipss_gb": 2, "ipss_l1": 2}
CELLS = (
    ("gauss", "noise"), ("gauss", "planted"), ("gauss", "few"), ("gauss", "many"), ("gauss_blocks", "noise"),
    ("gauss_blocks", "planted"), ("PRO", "noise"), ("PRO", "planted"), ("PRO", "fresh"), ("LEU_golub", "noise"),
    ("LEU_golub", "planted"), ("LEU_golub", "fresh"),
)  # fmt: skip
FACTS = {"BCW": RANDOM, "COL": RANDOM, "LSVT": GROUPS, "MPE": GROUPS, "HD": RANDOM, "PRO": RANDOM, "LEU_golub": RANDOM}
MAX_SIZE, SUPPORTED, CV = 10, 0.2, 5
SETTINGS: dict[str, Any] = {
    "versions": VERSIONS | IPSS, "simulations per version": PER_VERSION, "n_models": 50, "n_features_per_model": 10,
    "max_size": MAX_SIZE, "kinds: signals, strength": {name: list(kind) for name, kind in KINDS.items()},
    "genes": N_GENES, "samples for the truth": N_REFERENCE, "related": [STAND_IN, SHADOW], "cv": CV,
}  # fmt: skip

MEASURES = ("noise", "halves", "folds", "errors")
Scores = dict[str, float]


def tasks(scale: Scale) -> list[Task]:
    """Return the facts on the paper's data, and all simulations, version by version; IPSS only if it is installed."""
    n, more = scale.splits(PER_VERSION), {"n_models": scale.models(50)}
    found = [
        Task(NAME, data, f"facts-{selector}", 1, FACTS[data], {"measure": "facts", "selector": selector, **more})
        for data in scale.data(FACTS)
        for selector in ("mrmr", "fisher")
    ]
    for version, measure, selector in _order(scale.quick):
        for data, kind in CELLS:
            # Of real samples there are no others: nothing is known of studies that repeat this one.
            if measure in ("noise", "errors") or data.startswith("gauss") or kind == "fresh":
                settings = {"kind": kind, "measure": measure, "selector": selector, "version": version, **more}
                found.append(Task(NAME, data, f"{kind}-{measure}-{selector}-{version}", n, settings=settings))
    return [task for task in found if task.data in scale.data([task.data])]


def _order(quick: bool) -> list[tuple[int, str, str]]:
    """Return version, measure and selector of the simulations: the fast filters first, and noise before the others."""
    wanted = VERSIONS | (IPSS if find_spec("ipss") else {})
    measures = {name: MEASURES[3:] if name in IPSS else MEASURES[:3] for name in wanted}
    all_of_them = [(v, m, name) for name in wanted for v in range(1 if quick else wanted[name]) for m in measures[name]]
    return sorted(all_of_them, key=lambda one: (one[2] not in ("mrmr", "fisher"), one[0], MEASURES.index(one[1])))


def run_split(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Run one simulation, or find out the facts of one of the paper's data sets."""
    setting = {name: value for name, value in task.settings.items() if name != "n_models"}
    state = int(seed.generate_state(1)[0])
    ensemble = {"selector": setting["selector"], "n_models": task.settings["n_models"], "random_state": state}
    if setting["measure"] == "facts":
        ensemble["groups"] = dataset.groups if task.scheme == GROUPS else None
        chosen, scores, seconds = _facts(dataset.X, dataset.y, ensemble)
        return [Outcome(setting, chosen, seconds, scores)]
    truth = population(dataset, setting["kind"], setting["version"])
    X, y = truth.draw(truth.n_samples, np.random.default_rng(seed_of(state, setting["kind"], setting["version"])))
    measure = {"noise": _noise, "halves": _halves, "folds": _folds, "errors": _ipss}[setting["measure"]]
    start = process_time()
    chosen, scores = measure(X, y, {**ensemble, "n_features_per_model": 10}, truth)
    return [Outcome(setting, chosen, process_time() - start, {"n_features": X.shape[1], **scores})]


def _choose(X: Floats, y: Any, ensemble: Mapping[str, Any]) -> tuple[ubayfs.Evidence, ubayfs.Selection]:
    evidence = ubayfs.collect_evidence(X, y, **ensemble)
    return evidence, ubayfs.decide(evidence, constraints=_constraints())


def _constraints() -> list[ubayfs.Constraint]:
    return [ubayfs.max_size(MAX_SIZE, rho=np.inf)]


def _noise(X: Floats, y: Any, ensemble: Mapping[str, Any], truth: Population) -> tuple[tuple[int, ...], Scores]:
    evidence, selection = _choose(X, y, ensemble)
    noise, scores, members = _noise_of(X, y, ensemble, evidence, selection)
    supported = np.flatnonzero(noise.q_values <= SUPPORTED)
    return _positions(selection), {**scores, **_false(members, truth), **_false(supported, truth, "supported_")}


def _noise_of(
    X: Floats, y: Any, ensemble: Mapping[str, Any], evidence: ubayfs.Evidence, selection: ubayfs.Selection
) -> tuple[ubayfs.Noise, Scores, list[int]]:
    """Return noise, what it says, and the positions of the members that it speaks of."""
    noise = ubayfs.estimate_noise(X, y, evidence=evidence, **ensemble)
    estimate = noise.estimate(selection)
    scores = {
        "expected": estimate.expected, "cautious": estimate.cautious, "n_data": estimate.n_data,
        "p_value": noise.p_value, "passes": float(noise.passes), "supported": noise.supported,
    }  # fmt: skip
    position = {name: j for j, name in enumerate(evidence.feature_names)}
    return noise, scores, [position[name] for name in estimate.by_data]


def _halves(X: Floats, y: Any, ensemble: Mapping[str, Any], truth: Population | None) -> tuple[tuple[int, ...], Scores]:
    found = ubayfs.reproduce(X, y, constraints=_constraints(), **ensemble)
    names = ("lower", "upper", "interval_low", "interval_high", "again_low", "again_high")
    values = (found.lower, found.upper, *found.interval, *found.chosen_again)
    return tuple(np.flatnonzero(found.chosen).tolist()), dict(zip(names, values, strict=True))


def _folds(X: Floats, y: Any, ensemble: Mapping[str, Any], truth: Population) -> tuple[tuple[int, ...], Scores]:
    """Validate, and tell how the same procedure does on new samples, learned from as many as in a fold."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    train, _ = next(StratifiedKFold(CV, shuffle=True, random_state=ensemble["random_state"]).split(X, y))
    _, selection = _choose(X[train], y[train], ensemble)
    chosen = _positions(selection)
    model = make_pipeline(StandardScaler(), _predictor()).fit(X[np.ix_(train, chosen)], y[train])
    others, their_y = truth.draw(N_REFERENCE, np.random.default_rng(ensemble["random_state"] + 1))
    auc = roc_auc_score(their_y, model.decision_function(others[:, chosen]))
    return chosen, {**_validated(X, y, ensemble), "true_auc": float(auc)}


def _predictor() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=0.1, class_weight="balanced", max_iter=1000)


def _validated(X: Floats, y: Any, ensemble: Mapping[str, Any], **options: Any) -> Scores:
    found = ubayfs.validate(
        X, y, cv=CV, predictor=_predictor(), constraints=_constraints(), **{"baselines": (), **options}, **ensemble
    )
    scores = found.scores[found.scores["metric"] == "auc"].set_index("method")
    ends = {"auc": "mean", "auc_low": "lower", "auc_high": "upper"}
    ours = {name: float(scores.loc["ubayfs", column]) for name, column in ends.items()}
    others = {f"auc {name}": float(mean) for name, mean in scores["mean"].items() if name != "ubayfs"}
    if found.control is not None:
        others["auc shuffled"] = float(found.control.set_index("metric").loc["auc", "mean"])
    return ours | others


def _facts(X: Floats, y: Any, ensemble: Mapping[str, Any]) -> tuple[tuple[int, ...], Scores, float]:
    """Say everything about a real data set; the seconds are those of one ensemble and its decision."""
    start = process_time()
    evidence, selection = _choose(X, y, ensemble)
    seconds = process_time() - start
    _, noise, _ = _noise_of(X, y, ensemble, evidence, selection)
    _, halves = _halves(X, y, ensemble, None)
    validated = _validated(X, y, ensemble, baselines=("random", "forest"), control=True)
    return _positions(selection), {"n_features": X.shape[1], **noise, **halves, **validated}, seconds


def _positions(selection: ubayfs.Selection) -> tuple[int, ...]:
    return tuple(selection.indices.tolist())


def _false(chosen: Any, truth: Population, prefix: str = "") -> Scores:
    return {f"{prefix}t1": float(truth.unrelated[chosen].sum()), f"{prefix}t2": float(truth.no_shadow[chosen].sum())}


def _ipss(X: Floats, y: Any, ensemble: Mapping[str, Any], truth: Population) -> tuple[tuple[int, ...], Scores]:
    """Run integrated path stability selection: the features with q <= 0.2, and the best ten by expected errors."""
    from ipss import ipss

    np.random.seed(ensemble["random_state"])  # noqa: NPY002 - IPSS has no seed of its own
    found = ipss(X, y, selector=ensemble["selector"].removeprefix("ipss_"))
    q, errors = (np.array([found[name][j] for j in range(X.shape[1])]) for name in ("q_values", "efp_scores"))
    chosen = np.flatnonzero(q <= SUPPORTED)
    best = np.argsort(errors, kind="stable")[:MAX_SIZE]
    best = best[errors[best] < X.shape[1]]  # all others were selected nowhere on the path
    return tuple(chosen.tolist()), {
        "supported": len(chosen), "expected_supported": float(errors[chosen].max(initial=0.0)),
        **_false(chosen, truth, "supported_"), "n_data": len(best), **_false(best, truth),
        "expected": float(min(errors[best].max(initial=0.0), len(best))),
    }  # fmt: skip


EXPERIMENT = Experiment(NAME, "Do noise, reproducibility and validation hold?", tasks, run_split, SETTINGS)
