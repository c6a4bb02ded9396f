"""A small study for tests of the app's core."""

import json
import time

import numpy as np
import pandas as pd

from ubayfs import max_size
from ubayfs.app.state import State
from ubayfs.app.workbench import Workbench
from ubayfs.study import Study
from ubayfs.study.schema import DataSection, EvidenceSection

NAMES = [f"gene{i}" for i in range(12)]


def write_table(path, n_samples=60):
    """Write a table in which the first three features tell the classes apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, len(NAMES)))
    y = X[:, :3].sum(axis=1) > 0
    frame = pd.DataFrame(X, columns=NAMES)
    frame.insert(0, "class", np.where(y, "ill", "well"))
    frame.to_csv(path, index=False)


def small_study(folder, **evidence):
    write_table(folder / "cells.csv")
    ensemble = {"selector": "mrmr", "n_models": 30, "n_features_per_model": 3, **evidence}
    return Study(
        DataSection("cells.csv", target="class"),
        evidence=EvidenceSection(**ensemble),
        constraints=[max_size(3)],
        folder=folder,
    )


def make(folder, launch=None, **evidence):
    """Make the workspace of the small study; without a worker unless one is given."""
    return Workbench.create(folder / "small.app", State.of("Small", small_study(folder, **evidence)), launch)


def until(bench, condition, seconds=120):
    """Wait for what a worker does; the limit only ends a test that would hang."""
    end = time.monotonic() + seconds
    while not condition():
        known = bench and (bench.status, bench.problems, bench.answer, bench.progress)
        assert time.monotonic() < end, known
        time.sleep(0.01)


def answered(bench, stage="set"):
    return lambda: bench.answer.revision == bench.revision and getattr(bench.answer, stage) is not None


# -- studies for browsers: each function writes its files to a folder and returns the one to begin with ----------------

HTML, RIGHT_TO_LEFT, LONG = "<b>bold</b><script>window.bad = 1</script>", "\u202eevil\u05d0\u05d1", "L" * 500
GENES = [*(f"gene_{i}" for i in range(300)), "SEPTIN2", "TP53", HTML, RIGHT_TO_LEFT, LONG]
MEASURED = ["crp", "age", "il6", "<b>ldh</b>", "tnf", "bmi", "sex", "hb"]
HOSTILE = [
    "<img src=x onerror=window.hacked=1>",
    "<script>window.hacked=1</script>",
    "</td></tr></table><h1>gone</h1>",
    "javascript:window.hacked=1",
    "{{window.hacked=1}} ${window.hacked=1}",
    "\"onmouseover=window.hacked=1 x='",
    "\x1b[31mred\x1b[0m",
    "left \u202egnp.exe",
    "n" * 500,
    "=HYPERLINK(\"http://evil.example\",\"x\")",
    "../../../etc/passwd",
    "a' OR 1=1; --",
]  # fmt: skip


def laboratory(folder):
    """Features that have ordinary and odd names."""
    X = np.random.default_rng(0).normal(size=(60, len(GENES)))
    pd.DataFrame(X, columns=GENES).assign(outcome=X[:, 0] > 0).to_parquet(folder / "cells.parquet")
    (folder / "laboratory.yaml").write_text(
        "data: {path: cells.parquet, target: outcome}\nevidence: {selector: mrmr, n_models: 20}\n"
        "blocks: {first: [gene_0, gene_1], second: [gene_2], tens: ['gene_1?']}\nconstraints: [max_size: 10]\n",
        encoding="utf-8",
    )
    return folder / "laboratory.yaml"


def patients(folder):
    """A small study that is decided at once."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, len(MEASURED)))
    y = (X[:, 0] + 0.8 * X[:, 1] + 0.5 * X[:, 2] + 0.3 * X[:, 3] + rng.normal(size=60) > 0).astype(int)
    pd.DataFrame(X, columns=MEASURED).assign(died=y).to_csv(folder / "patients.csv", index=False)
    study = {
        "data": {"path": "patients.csv", "target": "died"},
        "evidence": {"selector": "mrmr", "n_models": 20, "seed": 1, "n_features_per_model": 2},
        "constraints": [{"max_size": {"n": 3, "rho": "hard"}}],
        "decision": {"min_votes": 0},  # places are filled
        "trust": {"level": "none"},
    }
    (folder / "patients.yaml").write_text(json.dumps(study))
    return folder / "patients.yaml"


def hostile(folder):
    """Names that attack a page."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, len(HOSTILE))) + np.linspace(2, 0.1, len(HOSTILE)) * y[:, None]
    frame = pd.DataFrame(X, columns=HOSTILE)
    frame.insert(0, "<u>outcome</u>", np.where(y == 1, "<s>ill</s>", "well"))
    frame.to_csv(folder / "names.csv", index=False)
    return folder / "names.csv"
