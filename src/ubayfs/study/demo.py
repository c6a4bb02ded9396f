"""The study of the demo: breast cancer data, what an expert might know of them, and a study file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .._files import write_atomically
from ..exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

FILES = ("cells.csv", "knowledge.csv", "study.yaml")
_KNOWLEDGE = """\
feature,weight,comment
worst smoothness,very likely,rough outlines on the worst nuclei were a finding of an earlier study
mean texture,likely,measured by every laboratory
fractal dimension error,unlikely,hard to reproduce
"""
_STUDY = """\
# What an expert knows of the breast cancer data. Every key is explained in docs/study.md.
data:
  path: cells.csv
  target: diagnosis

evidence:
  selector: [mrmr, tree]  # in turns
  n_models: 100
  n_features_per_model: 5
  seed: 0

prior:
  table: knowledge.csv

blocks:
  mean: ["mean *"]
  error: ["* error"]
  worst: ["worst *"]

constraints:
  - max_size: {n: 8, rho: hard}  # eight values fit on the form
  - must_link: [mean texture, worst texture]  # one measurement gives both
  - cannot_link: [worst radius, worst perimeter, worst area]  # three names for size
  - decorrelate: 0.95  # no two that say the same

decision:
  n_alternatives: 5
  seed: 0

trust:
  n_repeats: 2  # of the 5 folds, for a first look; 5 is usual
"""


def write_demo(directory: Path) -> None:
    """Write a table, a spreadsheet of knowledge and the study file; those that are there are replaced."""
    from ..tables import write_table

    try:
        directory.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"{directory} is a file, not a directory; choose another one.") from None
    table, knowledge, study = (directory / name for name in FILES)
    write_table(_cells(), table)
    write_atomically(knowledge, _KNOWLEDGE.encode())
    write_atomically(study, _STUDY.encode())


def _cells() -> pd.DataFrame:
    """Return the breast cancer data as a table with the diagnosis in words."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    table = data.data.copy()
    table.insert(0, "diagnosis", data.target.map(dict(enumerate(data.target_names))))
    return table
