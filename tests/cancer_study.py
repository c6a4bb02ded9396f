"""A study of the breast cancer data, with something of each: knowledge, blocks, links, and an answer within seconds."""

from sklearn.datasets import load_breast_cancer

import ubayfs

KNOWLEDGE = """\
feature,weight,comment
worst smoothness,very likely,rough outlines on the worst nuclei were a finding of an earlier study
mean texture,likely,measured by every laboratory
fractal dimension error,unlikely,hard to reproduce
"""
STUDY = f"""\
data: {{path: cells.csv, target: diagnosis}}
evidence: {{selector: [mrmr, tree], n_models: 30, n_features_per_model: 5, seed: 0}}
prior: {{table: knowledge.csv}}
blocks:
  mean: ["mean *"]
  error: ["* error"]
  worst: ["worst *"]
constraints:
  - max_size: 8
  - must_link: [mean texture, worst texture]
  - cannot_link: [worst radius, worst perimeter, worst area]
  - decorrelate: 0.95
decision: {{n_alternatives: 5, seed: 0}}
trust: {{level: full, n_shuffles: 200, n_splits: 2, cv: 2, n_repeats: 1}}
versions: {{ubayfs: {ubayfs.__version__}}}
"""


def cancer(folder):
    """Write the study with its table and its spreadsheet, and return its path."""
    data = load_breast_cancer(as_frame=True)
    table = data.data.copy()
    table.insert(0, "diagnosis", data.target.map(dict(enumerate(data.target_names))))
    table.to_csv(folder / "cells.csv", index=False)
    (folder / "knowledge.csv").write_text(KNOWLEDGE, encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    return folder / "study.yaml"
