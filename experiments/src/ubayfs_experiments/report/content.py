"""What the report of a run is made of: its tables and figures, read once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from ubayfs.plotting import Drawing

from .. import store
from ..analysis import differences, explanations
from ..analysis import tables as report_tables
from ..analysis.protocols import protocol_table
from ..registry import EXPERIMENTS
from ..tasks import Scale
from .figure_parts import png
from .figures import draw

NOTHING = "\N{EN DASH}"  # where there is no value


@dataclass(frozen=True, eq=False)
class Content:
    """A run, as the store gives it.

    Attributes
    ----------
    run : dict
        Seed, size, settings, versions.
    cells : list of dict
        Name of every cell that was begun, with ``done`` and ``n_splits``.
    frames : dict of DataFrame
        Outcomes by experiment; empty where there are none.
    expected : tuple of str
        Names of all cells that a whole run has.
    """

    run: dict[str, Any]
    cells: list[dict[str, Any]]
    frames: dict[str, pd.DataFrame]
    expected: tuple[str, ...]

    @classmethod
    def read(cls, directory: Path) -> Content:
        """Read a run from its directory."""
        run = store.read_run(directory)
        scale = Scale(bool(run.get("quick", False)))
        return cls(
            run,
            store.cells(directory),
            store.read_frames(directory, report_tables.NAMES),
            tuple(task.name for one in EXPERIMENTS.values() for task in one.tasks(scale)),
        )

    @property
    def unfinished(self) -> list[str]:
        """Cells that were begun and not ended, in words."""
        return [
            f"{one['name']} ({one['done']} of {one['n_splits']} splits)"
            for one in self.cells
            if one["done"] < one["n_splits"]
        ]

    @property
    def absent(self) -> list[str]:
        """Cells that were never begun."""
        begun = {one["name"] for one in self.cells}
        return [name for name in self.expected if name not in begun]

    def missing_of(self, experiment: str) -> int:
        """Return the number of cells of an experiment that are unfinished or absent."""
        return sum(name.startswith(f"{experiment}/") for name in (*self.unfinished, *self.absent))

    @cached_property
    def comparison(self) -> pd.DataFrame:
        """Our figures of experiment 2 against the paper's."""
        return differences.compare(self.frames["2"])

    @cached_property
    def tested(self) -> pd.DataFrame:
        """Changes that were run, of all compared cells."""
        changed = [self.frames[name] for name in ("causes", "2-paper") if len(self.frames[name])]
        return explanations.tested(
            self.comparison, self.frames["2"], pd.concat(changed, ignore_index=True) if changed else pd.DataFrame()
        )

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """The cells that differ, each with its tested cause or the word "unknown"."""
        return explanations.verdicts(self.comparison, self.tested)

    @cached_property
    def protocols(self) -> pd.DataFrame:
        """Every figure of the paper beside the authors' protocol and ours."""
        return protocol_table(self.frames["2-paper"], self.comparison, self.verdicts)

    @cached_property
    def claims(self) -> pd.DataFrame:
        """The paper's sentences, and whether they hold."""
        return report_tables.claims_table(self.frames)

    @cached_property
    def drawings(self) -> dict[str, Drawing]:
        """All figures by name."""
        frames = dict(self.frames, **{"2": self.with_noise})
        if len(frames["1c"]) and len(frames["1c-low"]):
            frames["1c"] = pd.concat([frames["1c"], frames["1c-low"]], ignore_index=True)
        return {name: drawing for key, frame in frames.items() for name, drawing in draw(key, frame).items()}

    @cached_property
    def with_noise(self) -> pd.DataFrame:
        """Rows of experiment 2, and those of noise of p53's size, of which only the seconds count."""
        return differences.with_noise(self.frames["2"], self.frames["discussion"])

    @cached_property
    def pictures(self) -> dict[str, bytes]:
        """All figures by name, as PNG files."""
        return {name: png(drawing) for name, drawing in self.drawings.items()}

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return all tables by the name of their file; those of experiments that were not run are left out."""
        found = {name: report_tables.tidy(name, frame) for name, frame in self.frames.items() if len(frame)}
        real, optimizers, controls = (self.frames[name] for name in ("2", "optimizers", "controls"))
        if len(real):
            found |= {
                "2_against_paper": self.comparison,
                "2_seconds": differences.compare_seconds(self.with_noise),
                "2_differences": self.verdicts,
                "2_protocols": self.protocols,
                "2_tested_causes": self.tested,
                "2_changes": explanations.summary(self.tested),
                "2_chosen": report_tables.chosen_table(real),
                "2_schemes": report_tables.scheme_table(real),
                "2_leukemia": report_tables.leukemia_table(real),
            }
        if len(optimizers):
            found["optimizers_compared"] = report_tables.optimizer_table(optimizers)
        if len(controls):
            compared = report_tables.control_table(controls)
            found |= {"controls_compared": compared, "controls_counts": report_tables.control_counts(compared)}
        if len(self.claims):
            found["claims"] = self.claims
        return found


def listed(names: Iterable[str]) -> str:
    """Return names in one line; none: a dash."""
    return ", ".join(names) or NOTHING
