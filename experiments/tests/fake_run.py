"""Tables as the store gives them, of invented figures from a seed: to draw and to render, not to conclude from."""

from itertools import product

import numpy as np
import pandas as pd

from ubayfs_experiments import store
from ubayfs_experiments.tasks import Outcome, Task

SELECTORS = ("mrmr", "fisher", "tree", "rfe", "hsic", "lasso", "laplacian")
METHODS = ("ubayfs_mrmr", "ubayfs_fisher", "ubayfs_tree", "random_forest", "rent")
BLOCK_METHODS = ("ubayfs_mrmr", "ubayfs_fisher", "ubayfs_tree", "group_lasso")
REAL = {"BCW": (30, 5), "HD": (46, 5), "MPE": (77, 5), "COL": (100, 5), "LSVT": (310, 10), "PRO": (6033, 20),
        "LEU": (7129, 20), "LEU_golub": (7129, 20)}  # fmt: skip
BLOCKS = ("BCW", "COL", "LSVT")


def _sets(rng, n_features, size, n_splits, noise):
    """Return sets that share most members: each member is replaced with the probability `noise`."""
    core = rng.choice(n_features, size, replace=False)
    for _ in range(n_splits):
        chosen = {int(f) if rng.random() > noise else int(rng.integers(n_features)) for f in core}
        yield tuple(sorted(chosen))


def _rows(rng, experiment, data, method, n_features, size, n_splits, seconds, scores, setting=None, scheme="random"):
    noise = rng.uniform(0.05, 0.6)
    return [
        {
            "experiment": experiment, "data": data, "scheme": scheme, "method": method, "split": split,
            "n_features": n_features, "features": features, "size": len(features),
            "seconds": float(seconds * rng.lognormal(0.0, 0.2)), **(setting or {}), **scores(rng),
        }
        for split, features in enumerate(_sets(rng, n_features, size, n_splits, noise))
    ]  # fmt: skip


def _between(level, spread=0.08):
    return lambda rng: {
        "feature_f1": float(np.clip(rng.normal(level, spread), 0, 1)),
        "redundancy": float(np.clip(rng.normal(0.3, 0.05), 0, 1)),
    }


def experiment_1a(seed=0, n_splits=5):
    rng, rows = np.random.default_rng([seed, 1]), []
    for data, size in (("additive", 4), ("non-additive", 3)):
        for rank, method in enumerate(SELECTORS):
            for n_models in (1, 5, 10, 50, 100, 200):
                if method in ("hsic", "rfe") and n_models > 100:
                    continue
                level = (0.35 + 0.09 * rank) * (1 - 0.5 / n_models**0.5)
                rows += _rows(rng, "1a", data, method, 1000, size, n_splits, 0.01 * n_models * 2**rank, _between(level),
                              {"selector": method, "n_models": n_models})  # fmt: skip
    return pd.DataFrame(rows)


def _ensembles(selector):
    """Return names and sizes of ensembles; the slow ones are also run with few models."""
    return [(selector, 100), *([(f"{selector}-5", 5)] if selector in ("hsic", "rfe") else [])]


def _blocks(experiment, rng, settings, n_splits, extra=lambda rng: {}):
    rows = []
    for data in ("blocks", "blocks-authors"):
        for rank, selector in enumerate(SELECTORS):
            for method, n_models in _ensembles(selector):
                for setting in settings:
                    level = 0.3 + 0.08 * rank + rng.normal(0, 0.05)
                    rows += _rows(rng, experiment, data, method, 256, 16, n_splits, 0.05,
                                  lambda r, level=level: _between(level)(r) | extra(r),
                                  {"selector": selector, "n_models": n_models, **setting})  # fmt: skip
    return pd.DataFrame(rows)


def many_draws(seed=0, n_splits=5):
    rng, rows = np.random.default_rng([seed, 9]), []
    for data, size in (("additive", 4), ("non-additive", 3)):
        for rank, selector in enumerate(("mrmr", "fisher", "tree", "lasso", "hsic")):
            setting = {"selector": selector, "n_models": 5 if selector == "hsic" else 100}
            rows += _rows(
                rng, "1a-draws", data, selector, 1000, size, n_splits, 0.1, _between(0.5 + 0.1 * rank), setting
            )
    return pd.DataFrame(rows)


def experiment_1b(seed=0, n_splits=5):
    settings = [{"weighted": w, "weight": a} for w in ("relevant", "other") for a in (0.01, 10.0, 100.0, 1000.0)]
    return _blocks("1b", np.random.default_rng([seed, 2]), settings, n_splits)


def experiment_1c(seed=0, n_splits=5, name="1c", grid=("0", "1", "10", "100", "inf")):
    settings = [{"constraint": c, "rho": r} for c in ("max_per_block 2", "max_blocks 4", "max_blocks 2") for r in grid]
    extra = lambda rng: {"n_blocks": float(rng.integers(2, 9)), "most_per_block": float(rng.integers(2, 9))}  # noqa: E731
    return _blocks(name, np.random.default_rng([seed, 3]), settings, n_splits, extra)


def low_rho(seed=0, n_splits=5):
    return experiment_1c(seed, n_splits, "1c-low", ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5"))


def experiment_1d(seed=0, n_splits=5):
    rng, rows = np.random.default_rng([seed, 4]), []
    priors = {"dirichlet": 0.01, "generalized": 0.02, "generalized, beta = 1": 0.02, "hyperdirichlet": 4.0}
    for data in ("redundant", "redundant-authors"):
        for rank, selector in enumerate(SELECTORS):
            for method, n_models in _ensembles(selector):
                for prior, seconds in priors.items():
                    for decorrelate in (False, True):
                        setting = {"selector": selector, "n_models": n_models}
                        setting |= {"prior": prior, "decorrelate": decorrelate}
                        level = _between(0.4 + 0.04 * rank)
                        rows += _rows(rng, "1d", data, method, 32, 16, n_splits, seconds, level, setting)
    return pd.DataFrame(rows)


def counts(level):
    """Return counts of predictions, right with the probability `level`."""

    def scores(rng):
        found = {}
        for predictor in ("logistic", "svm", "logistic_irls", "svm_radial"):
            tp, tn = rng.binomial(15, level), rng.binomial(10, level)
            found |= {
                f"{predictor}_tp": tp,
                f"{predictor}_fn": 15 - tp,
                f"{predictor}_tn": tn,
                f"{predictor}_fp": 10 - tn,
            }
        return found | {"n_blocks": float(rng.integers(1, 4))}

    return scores


def experiment_2(seed=0, n_splits=20):
    rng, rows = np.random.default_rng([seed, 5]), []
    cells = [(data, "random", "standard", METHODS) for data in REAL]
    cells += [(data, "random", "block", BLOCK_METHODS) for data in BLOCKS]
    cells += [(data, "groups", "standard", METHODS) for data in ("MPE", "LSVT")]
    cells += [("LSVT", "groups", "block", BLOCK_METHODS)]
    for data, scheme, scenario, methods in cells:
        for rank, method in enumerate(methods):
            level = rng.uniform(0.7, 0.97) - (0.1 if scheme == "groups" else 0.0)
            rows += _rows(rng, "2", data, method, *REAL[data], n_splits, 0.02 * 3**rank * REAL[data][0] ** 0.3,
                          counts(level), {"scenario": scenario, "variant": "main"}, scheme)  # fmt: skip
    return pd.DataFrame(rows)


def by_their_protocol(seed=0, n_splits=20):
    rng, rows = np.random.default_rng([seed, 10]), []
    for data in ("BCW", "PRO"):
        for method in ("ubayfs_mrmr", "ubayfs_fisher", "ubayfs_tree", "random_forest"):
            setting = {"scenario": "standard", "variant": "the authors' protocol", "cause": "protocol", "of": method,
                       "stands_for": data}  # fmt: skip
            rows += _rows(rng, "2-paper", data, method, *REAL[data], n_splits, 0.1, counts(0.9), setting)
    return pd.DataFrame(rows)


def discussion(seed=0, n_splits=20):
    rng, rows = np.random.default_rng([seed, 11]), []
    standard = {"scenario": "standard"}

    def add(data, method, setting, scores, size):
        rows.extend(_rows(rng, "discussion", data, method, *size, n_splits, 0.1, scores, setting))

    for n_models in (100, 300):
        add("BCW", "mixed", {"kind": "mixed", "n_models": n_models, **standard}, counts(0.9), REAL["BCW"])
    for of in METHODS[:3]:
        for strength in (0.5, 1.0, 10.0):
            setting = {"kind": "strength", "of": of, "strength": strength, **standard}
            add("BCW", f"strength+{of}", setting, counts(0.9), REAL["BCW"])
        scores = lambda r: {"generation": float(r.integers(20)), "loss": 0.0}  # noqa: E731
        setting = {"kind": "generations", "of": of, "optimizer": "as in the scripts", **standard}
        add("BCW", f"generations+{of}", setting, scores, REAL["BCW"])
        for n_rows, n_columns in product((100, 200), (100, 200)):
            setting = {"kind": "seconds", "of": of, "rows": n_rows, "columns": n_columns}
            add("additive", f"seconds+{of}", setting, lambda r: {}, (1000, 4))
        setting = {"kind": "noise", "of": of, "variant": "main", **standard}
        add("p53-size", f"noise+{of}", setting, counts(0.5), (5408, 20))
    return pd.DataFrame(rows)


def causes(seed=0, n_splits=20):
    rng, rows = np.random.default_rng([seed, 6]), []
    runs = [("PRO", "PRO", "genetic", "optimizer"), ("HD_longbeach", "HD", "long beach", "data source"),
            ("MPE_treatment", "MPE", "treatment", "target")]  # fmt: skip
    for data, stands_for, variant, cause in runs:
        for method in METHODS[:3]:
            rows += _rows(rng, "causes", data, f"{method}+{variant}", *REAL[stands_for], n_splits, 0.1, counts(0.85),
                          {"scenario": "standard", "variant": variant, "cause": cause, "stands_for": stands_for,
                           "of": method})  # fmt: skip
    return pd.DataFrame(rows)


def optimizers(seed=0, n_splits=20):
    rng, rows = np.random.default_rng([seed, 7]), []
    for data in ("BCW", "COL", "PRO"):
        for problem in ("plain", "blocks", "decorrelated", "linked"):
            for optimizer, method in product(("exact", "genetic", "genetic, guided"), METHODS[:2]):

                def scores(r, genetic=optimizer != "exact"):
                    loss = float(r.exponential(0.02)) if genetic and r.random() < 0.6 else 0.0
                    value = 1.5 - loss
                    return {"value": value, "bound": 1.5 if not genetic else None, "gap": 0.0 if not genetic else None,
                            "loss": loss, "missed": float(loss > 0)}  # fmt: skip

                seconds = 0.01 if optimizer == "exact" else 2.0
                setting = {"problem": problem, "optimizer": optimizer}
                size = REAL[data]
                rows += _rows(rng, "optimizers", data, method, *size, n_splits, seconds, scores, setting)
    return pd.DataFrame(rows).astype({"bound": float, "gap": float})


def controls(seed=0, n_splits=20):
    rng, rows = np.random.default_rng([seed, 8]), []
    for data in ("BCW", "PRO"):
        for method in METHODS[:3]:
            for target, level in (("true", 0.9), ("shuffled", 0.5)):
                rows += _rows(rng, "controls", data, method, *REAL[data], n_splits, 0.1, counts(level),
                              {"scenario": "standard", "target": target})  # fmt: skip
    return pd.DataFrame(rows)


EXPERIMENTS = {
    "1a": experiment_1a, "1b": experiment_1b, "1c": experiment_1c, "1d": experiment_1d, "2": experiment_2,
    "1a-draws": many_draws, "1c-low": low_rho, "2-paper": by_their_protocol, "discussion": discussion,
    "causes": causes, "optimizers": optimizers, "controls": controls,
}  # fmt: skip


COMMON = {"experiment", "data", "scheme", "method", "split", "n_features", "features", "size", "seconds"}

# Experiment -> names of its figures, of one data set of each simulation.
FIGURES = {
    "1a": ["1a"],
    "1b": ["1b_blocks"],
    "1c": ["1c_blocks"],
    "1d": ["1d_redundant"],
    "2": ["2", "2_blocks", "2_schemes", "2_trade_off", "2_seconds"],
    "1a-draws": ["1a-draws"],
    "1c-low": [],
    "2-paper": [],
    "discussion": [],
    "optimizers": ["optimizers"],
    "causes": [],
    "controls": [],
}
SETTINGS = {"selector", "n_models", "weighted", "weight", "constraint", "rho", "prior", "decorrelate", "scenario",
            "variant", "kind", "strength", "rows", "columns",
            "cause", "stands_for", "of", "problem", "optimizer", "target"}  # fmt: skip


def write_run(directory, frames, quick=False, machine="a machine"):
    """Write tables as a run that the store reads."""
    origin = {"started": "2026-01-02", "versions": {"ubayfs": "0.1", "numpy": "2.0"}, "machine": machine}
    store.open_run(directory, 7, quick, {name: {"n_splits": 20} for name in frames}, origin)
    for frame in frames.values():
        for (experiment, data, scheme, method), rows in frame.groupby(["experiment", "data", "scheme", "method"]):
            task = Task(experiment, data, method, frame["split"].nunique(), scheme)
            store.begin_cell(directory, task, int(rows["n_features"].iloc[0]), origin)
            scores = [name for name in rows.columns if name not in COMMON | SETTINGS]
            settings = [name for name in rows.columns if name in SETTINGS]
            for split, outcomes in rows.groupby("split"):
                store.append_split(
                    directory, task, split, [_outcome(row, settings, scores) for row in outcomes.to_dict("records")]
                )


def _outcome(row, settings, scores):
    return Outcome(
        {name: row[name] for name in settings if pd.notna(row[name])},
        row["features"],
        row["seconds"],
        {name: None if pd.isna(row[name]) else row[name] for name in scores},
    )
