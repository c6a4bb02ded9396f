"""Does the statement "related" hold? Data sets whose truth is known, and what ubayfs says about them.

- ``noise``: nothing is related to the target. The set is all features, the worst case: at least one is said to be
  related in a tenth of the data sets at most.
- ``planted``: sets of at most 10 features, by votes alone, and by weights and constraints that bring in wrong ones.
- ``lists``: which share of the signals is selected without a list, with one as it is stated, and with one that keeps
  its weight only if votes agree (`trust_in_lists="learned"`).
- ``peers``: what is named at a false discovery rate of 0.1, by q-values of ubayfs, by integrated path stability
  selection, and by knockoffs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from time import process_time
from typing import Any

import numpy as np

import ubayfs
from ubayfs.decision import Selection

from ..data.datasets import Dataset
from ..data.simulated import BLOCK, CORRELATION, KINDS, PLANTED_TARGETS, TARGETS, Study, blocks_of, noise, planted
from ..methods.peers import integrated_path, knockoffs
from ..tasks import Experiment, Outcome, Scale, Split, Task, seed_of

NAME, DATA = "calibration", "drawn"
# What votes, unless the run names another.
SELECTORS = {"lists": "wide", "again": "wide", "planted": "mrmr", "peers": "mrmr", "prediction": "mrmr"}
SIZES = {  # samples, features, signals, shuffles
    "small": (30, 50, 0, 1000), "wide": (60, 2000, 0, 200), "small, planted": (60, 100, 5, 1000),
    "wide, planted": (100, 2000, 5, 400), "tall, planted": (300, 300, 20, 1000), "lists, planted": (100, 500, 10, 0),
}  # fmt: skip
FEATURES = {"independent": False, "correlated": True}
PEERS = (("small", "two classes"), ("small", "numbers"), ("tall", "two classes"))
LISTS = {  # signals, wrong ones
    "ten signals": (10, 0), "five signals, five wrong ones": (5, 5), "ten signals, forty wrong ones": (10, 40),
    "ten wrong ones": (0, 10), "fifty wrong ones": (0, 50),
}  # fmt: skip
N_SETS, MAX_SIZE, N_FORCED, LARGEST_Q = 100, 10, 4, 0.1
SETTINGS: dict[str, Any] = {
    "data sets": N_SETS, "max_size": MAX_SIZE, "forced": N_FORCED,
    "samples, features, signals, shuffles": {name: list(size) for name, size in SIZES.items()},
    "strength": PLANTED_TARGETS, "correlation": [CORRELATION, BLOCK],
}  # fmt: skip


def tasks(scale: Scale) -> list[Task]:
    """Return all designs; the selector of the scale makes the votes of planted ones."""
    noises = [("small", target, kind) for kind in KINDS for target in TARGETS]
    noises += [("wide", target, "independent") for target in TARGETS]
    noises += [("wide", "two classes", kind) for kind in KINDS[1:] if "gaps" not in kind]  # which take long
    plants = [(size, target, kind) for size in ("small", "wide") for target in PLANTED_TARGETS for kind in FEATURES]
    lists = [("lists", target, kind) for target in PLANTED_TARGETS for kind in FEATURES]
    peers = [(size, target, kind) for size, target in PEERS for kind in FEATURES]
    return [
        Task(NAME, DATA, f"{measure}-{size}-{target}-{kind}", scale.splits(N_SETS), settings={
            "measure": measure, "size": size if measure == "noise" else f"{size}, planted", "target": target,
            "kind": kind, **({} if measure == "noise" else votes_of(measure, scale)),
        })
        for measure, designs in (("noise", noises), ("planted", plants), ("lists", lists), ("peers", peers))
        for size, target, kind in designs
    ]  # fmt: skip


def votes_of(measure: str, scale: Scale) -> dict[str, Any]:
    """Return the ensemble of a measure: 30 models of the selector of the run, or of the one that it has."""
    return {"selector": scale.selector or SELECTORS[measure], "n_models": scale.models(30)}


def run_split(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Run one simulation."""
    setting = {name: value for name, value in task.settings.items() if name != "n_models"}
    n, n_features, n_signals, n_shuffles = SIZES[setting["size"]]
    rng = np.random.default_rng(seed_of(int(seed.generate_state(1)[0]), task.method))
    if setting["measure"] == "noise":
        study = noise(setting["kind"], setting["target"], n, n_features, rng)
        outcomes = _noise(study, n_shuffles, rng)
    else:
        study = planted(setting["target"], FEATURES[setting["kind"]], n, n_features, n_signals, rng)
        votes = {"selector": setting["selector"], "n_models": task.settings["n_models"], "n_features_per_model": 10}
        outcomes = {"planted": _planted, "lists": _lists, "peers": _peers}[setting["measure"]](
            study, votes, n_shuffles, rng
        )
    found, start = [], process_time()
    with warnings.catch_warnings():
        # Of features with many gaps, and of sets without votes.
        warnings.simplefilter("ignore", ubayfs.exceptions.UBayFSWarning)
        for how, scores in outcomes:
            found.append(Outcome({**setting, "how": how}, (), process_time() - start, scores))
            start = process_time()
    return found


Said = Iterator[tuple[str, dict[str, float]]]


def _noise(study: Study, n_shuffles: int, rng: np.random.Generator) -> Said:
    """Say how many of all features are related, with a list of 3 to a fifth of them and without it."""
    names, seed = [str(name) for name in study.X.columns], int(rng.integers(2**31))
    selector = "tree" if np.ndim(study.y) == 2 else "mrmr"  # any: votes do not matter here
    evidence = ubayfs.collect_evidence(
        study.X, study.y, selector=selector, n_models=2, random_state=seed, **study.options
    )
    favored = rng.choice(names, int(rng.integers(3, len(names) // 5)), replace=False)
    weights = dict.fromkeys(favored.tolist(), "likely")
    said = _related(study, _decide(evidence, [], weights=weights), n_shuffles, seed).of(names)
    yield "all features", {"plain": float(said.without_list or 0), "listed": float(said.at_least)}


def _planted(study: Study, votes: Mapping[str, Any], n_shuffles: int, rng: np.random.Generator) -> Said:
    """Say how many are related of sets by votes, by weights and by constraints."""
    seed = int(rng.integers(2**31))
    evidence = ubayfs.collect_evidence(study.X, study.y, random_state=seed, **votes)
    wrong = rng.permutation(np.flatnonzero(~study.related))[:MAX_SIZE].tolist()
    right = rng.permutation(np.flatnonzero(study.signals))[:3].tolist() + wrong[:2]
    blocks = blocks_of(len(study.related))
    selections = {
        "votes alone": _decide(evidence, []),
        "at most one per block": _decide(evidence, [ubayfs.max_per_block(1)], blocks=blocks),
        "four wrong ones required": _decide(evidence, [ubayfs.require(wrong[:N_FORCED])]),
        "three signals and two wrong ones very likely": _weighted(evidence, right, "very likely"),
        "ten wrong ones very likely": _weighted(evidence, wrong, "very likely"),
        "four wrong ones forced by weights": _weighted(evidence, wrong[:N_FORCED], 1000.0),
    }
    plain = _related(study, selections["votes alone"], n_shuffles, seed)
    for how, selection in selections.items():
        listed = selection.weights is not None and np.ptp(selection.weights) > 0
        said = _related(study, selection, n_shuffles, seed) if listed else plain.of(selection.indices.tolist())
        yield how, {
            "true": float(study.related[selection.indices].sum()), "n": float(len(selection.indices)),
            "at_least": float(said.at_least), "best_guess": float(said.best_guess if said.at_least else 0),
        }  # fmt: skip


def _lists(study: Study, votes: Mapping[str, Any], n_shuffles: int, rng: np.random.Generator) -> Said:
    """Select by votes, and with right and wrong lists that are trusted as stated, or as far as votes agree."""
    evidence = ubayfs.collect_evidence(study.X, study.y, random_state=int(rng.integers(2**31)), **votes)
    signals, wrong = (rng.permutation(np.flatnonzero(which)) for which in (study.signals, ~study.related))

    def share(selection: Selection) -> float:
        return float(study.signals[selection.indices].sum() / len(signals))

    alone = share(_decide(evidence, []))
    for how, (n_right, n_wrong) in LISTS.items():
        listed = [*signals[:n_right].tolist(), *wrong[:n_wrong].tolist()]
        stated, learned = (
            share(_weighted(evidence, listed, "very likely", trust_in_lists=trust))
            for trust in ("as_stated", "learned")
        )
        yield how, {"alone": alone, "stated": stated, "learned": learned}


def _peers(study: Study, votes: Mapping[str, Any], n_shuffles: int, rng: np.random.Generator) -> Said:
    """Name features at a false discovery rate of 0.1."""
    seed = int(rng.integers(2**31))
    selection = _decide(ubayfs.collect_evidence(study.X, study.y, random_state=seed, **votes), [])
    said = _related(study, selection, n_shuffles, seed)
    named = np.flatnonzero(said.q_values <= LARGEST_Q)
    bound = {"at_least": float(said.of(named.tolist()).at_least if len(named) else 0)}
    yield "ubayfs", {**_counted(study, named), **bound}
    y = np.asarray(study.y, dtype=np.float64)
    stable = np.flatnonzero(integrated_path(study.X, y, rng) <= LARGEST_Q)
    yield "integrated path stability selection", _counted(study, stable)
    yield "knockoffs", _counted(study, np.flatnonzero(knockoffs(study.X, y, study.correlation, LARGEST_Q, rng)))


def _counted(study: Study, named: Any) -> dict[str, float]:
    n = max(1, len(named))
    return {
        "named": float(len(named)), "true": float(study.related[named].sum()),
        "signals": float(study.signals[named].sum()), "unrelated": float((~study.related[named]).sum() / n),
        "no_signal": float((~study.signals[named]).sum() / n),
    }  # fmt: skip


def _related(study: Study, selection: Selection, n_shuffles: int, seed: int) -> Any:
    options = {name: value for name, value in study.options.items() if name != "missing"}
    return ubayfs.estimate_related(selection, study.X, study.y, n_shuffles=n_shuffles, random_state=seed, **options)


def _weighted(evidence: ubayfs.Evidence, listed: list[int], weight: Any, **options: Any) -> Selection:
    weights = dict.fromkeys(evidence.feature_names[listed].tolist(), weight)
    return _decide(evidence, [], weights=weights, **options)


def _decide(evidence: ubayfs.Evidence, constraints: list[ubayfs.Constraint], **options: Any) -> Selection:
    every = [ubayfs.max_size(MAX_SIZE), *constraints]
    return ubayfs.decide(evidence, constraints=every, min_votes=0, **options)


EXPERIMENT = Experiment(NAME, 'Does the statement "related" hold?', tasks, run_split, SETTINGS)
