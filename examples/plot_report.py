"""
From a selection to a report
============================

A report is a rendering of a summary of plain values. The command line writes one; in Python it takes three lines.
"""

# %%

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import ubayfs
from ubayfs.plotting import read_displays
from ubayfs.report import render_html, summarize
from ubayfs.trust.trust import Trust

rng = np.random.default_rng(1)
y = np.repeat([0, 1], 40)
X = rng.normal(size=(80, 200))
X[:, :4] += 1.5 * y[:, None]
evidence = ubayfs.collect_evidence(
    X, y, selector="mrmr", n_models=50, random_state=0
)
selection = ubayfs.decide(
    evidence, weights={"x1": "likely"}, constraints=ubayfs.max_size(5), X=X
)
related = ubayfs.estimate_related(selection, X, y)

# %%
# The summary has everything that a report says, as values, for JSON or for your own report.

summary = summarize(selection, X, trust=Trust(related=related), n_draws=0)
for fact in summary.facts:
    print(fact.question, fact.value or "not examined")

# %%
# One HTML file, with its figures inside:

with TemporaryDirectory() as folder:
    report = Path(folder, "report.html")
    report.write_text(render_html(summary), encoding="utf-8")
    print(f"{report.name} has {len(summary.displays)} figures")

# %%
# Each figure can also be drawn alone:

read_displays(summary.displays)["evidence"].plot()
