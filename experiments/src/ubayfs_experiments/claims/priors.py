"""Rules for what the paper says of kinds of prior and of decorrelation (experiment 1d)."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from ..analysis.aggregate import aggregate
from .rules import UNTESTED, Change, Verdict, by_share, changes, count, sentence, together

MUCH_SLOWER = 10.0
DIRICHLET, GENERALIZED = "dirichlet", "generalized"


def same_for_priors(score: str, frame: pd.DataFrame) -> Verdict:
    """Compare every prior with the Dirichlet, but for the default generalized one, which is the Dirichlet."""
    by = ("data", "selector", "n_models", "decorrelate")
    parts = []
    for prior in (one for one in dict.fromkeys(frame["prior"]) if one not in (DIRICHLET, GENERALIZED)):
        found = changes(frame, score, {"prior": DIRICHLET}, {"prior": prior}, by)
        part = count(found, lambda one: one.stays, score, f"with the prior '{prior}' is that with '{DIRICHLET}'")
        if part.tested:
            same, n = _same_sets(frame, prior)
            part = replace(part, words=f"{part.words} It chooses the same set in {_share(same, n)}.")
        parts.append(part)
    verdict = together(parts)
    if not verdict.tested:
        return verdict
    return replace(verdict, words=f"{verdict.words} {_default_generalized(frame)}".rstrip())


def _same_sets(frame: pd.DataFrame, prior: str) -> tuple[int, int]:
    """Return in how many decisions a prior chooses the very set of the Dirichlet, and the number of decisions."""
    keys = ["data", "method", "n_models", "decorrelate", "split"]
    one, other = (frame.loc[frame["prior"] == kind, [*keys, "features"]] for kind in (DIRICHLET, prior))
    pairs = one.merge(other, on=keys, validate="1:1")
    return sum(a == b for a, b in zip(pairs["features_x"], pairs["features_y"], strict=True)), len(pairs)


def _share(n_for: int, n: int) -> str:
    return f"{n_for} of {n} decisions ({n_for / n:.1%})"


def _default_generalized(frame: pd.DataFrame) -> str:
    same, n = _same_sets(frame, GENERALIZED)
    if not n:
        return ""
    return (
        f"The default generalized prior is the Dirichlet itself, so that its agreement proves nothing and is not "
        f"counted: it chooses another set in {_share(n - same, n)}, where sets tie and rounding decides."
    )


def decorrelation(score: str, frame: pd.DataFrame) -> list[Change]:
    """Compare decisions without and with decorrelation."""
    # The default generalized prior would count the Dirichlet twice.
    rows = frame[frame["prior"] != GENERALIZED]
    by = ("data", "selector", "n_models", "prior")
    return changes(rows, score, {"decorrelate": False}, {"decorrelate": True}, by)


def slow_hyperdirichlet(frame: pd.DataFrame) -> Verdict:
    """Compare median seconds, ensemble included, as the paper's run times."""
    rows = frame[~frame["decorrelate"].astype(bool)]
    table = aggregate(rows, ["data", "selector", "n_models", "prior"], [])
    wide = table.pivot(index=["data", "selector", "n_models"], columns="prior", values="seconds_median")
    if not {DIRICHLET, "hyperdirichlet"} <= set(wide.columns):
        return UNTESTED
    wide = wide.dropna(subset=[DIRICHLET, "hyperdirichlet"])
    ratio = wide["hyperdirichlet"] / wide[DIRICHLET]
    n = int((ratio >= MUCH_SLOWER).sum())
    extra = wide["hyperdirichlet"] - wide[DIRICHLET]
    brief = (
        f"median seconds with the hyperdirichlet prior are at least {MUCH_SLOWER:g} times those with the Dirichlet in "
        f"{n} of {len(ratio)} cells ({ratio.min():.1f} to {ratio.max():.0f} times)"
    )
    words = f"{sentence(brief)}; it adds {extra.min():.2f} to {extra.max():.2f} s to a run."
    return by_share(n, len(ratio), words, brief=brief)
