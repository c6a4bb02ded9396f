"""A sentence of the paper, judged on the cells that the paper has, and then on all of ours.

The paper's cells: the authors' own data where they were run, six selectors, and few models for HSIC and RFE. Ours are
more: data of our own, the Laplacian score, and HSIC and RFE with as many models as the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pandas as pd

from ..designs.simulation import N_MODELS_SLOW, SELECTORS, SLOW
from .rules import UNTESTED, Verdict

PAPER_SELECTORS = tuple(name for name in SELECTORS if name != "laplacian")
MOST_MODELS_SLOW = 10
"""Of HSIC and RFE in experiment 1a of the paper."""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, in our words.

    Attributes
    ----------
    experiment : str
    text : str
    rule : callable
        Table -> Verdict; :meth:`check` applies it.
    on_models : bool
        Whether it compares few with many models of HSIC and RFE: then these are all its cells, whatever their number
        of models.
    """

    experiment: str
    text: str
    rule: Callable[[pd.DataFrame], Verdict]
    on_models: bool = False

    def check(self, frame: pd.DataFrame) -> Verdict:
        """Judge the sentence by the table of the experiment, one row per task, split and setting.

        The verdict is that of the paper's cells; its words end with what all our cells say.
        """
        if frame.empty:
            return UNTESTED
        if self.on_models:
            frame = frame[frame["selector"].isin(SLOW)]
        own = paper_cells(frame, self.experiment, any_models=self.on_models)
        verdict = self._judge(own)
        if len(own) == len(frame):
            return verdict
        whole = self._judge(frame)
        if not whole.tested or whole.words == verdict.words:
            return verdict
        overall = f"Over all our cells, with {_beyond(frame, own)}: {whole.verdict}; {whole.brief}."
        return replace(verdict, words=f"{verdict.words} {overall}")

    def _judge(self, frame: pd.DataFrame) -> Verdict:
        return UNTESTED if frame.empty else self.rule(frame)


def paper_cells(frame: pd.DataFrame, experiment: str, any_models: bool = False) -> pd.DataFrame:
    """Return the rows of a table of experiment 1 that the paper has too.

    Parameters
    ----------
    frame : DataFrame
    experiment : str
    any_models : bool
        Keep HSIC and RFE with every number of models.
    """
    present = set(frame["data"])
    data = [name for name in present if f"{name}-authors" not in present]
    kept = frame["data"].isin(data) & frame["selector"].isin(PAPER_SELECTORS)
    if not any_models:
        few = frame["n_models"] <= MOST_MODELS_SLOW if experiment == "1a" else frame["n_models"] == N_MODELS_SLOW
        kept &= few | ~frame["selector"].isin(SLOW)  # others have one number of models, but in 1a, where all count
    return frame[kept]


def _beyond(frame: pd.DataFrame, own: pd.DataFrame) -> str:
    """Say what a table has beyond the paper's cells."""
    parts = [*sorted(set(frame["data"]) - set(own["data"])), *sorted(set(frame["selector"]) - set(PAPER_SELECTORS))]
    for name in SLOW:
        models = [set(table.loc[table["selector"] == name, "n_models"]) for table in (frame, own)]
        if more := sorted(models[0] - models[1]):
            parts.append(f"{name} (M = {', '.join(map(str, more))})")
    return ", ".join(parts)
