"""How much work an exact search may do."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class Limit:
    """Work that is left; whoever works uses it up.

    Attributes
    ----------
    deadline : float or None
        Time by `time.monotonic` at which to stop.
    nodes : int or None
        Branch-and-bound nodes left, one at least for each program. Other than time they end the work at the same
        place on every machine.
    """

    deadline: float | None = None
    nodes: int | None = None

    def reached(self) -> bool:
        """Return whether nothing is left."""
        out_of_time = self.deadline is not None and time.monotonic() >= self.deadline
        return out_of_time or (self.nodes is not None and self.nodes <= 0)

    def spend(self, nodes: int) -> None:
        """Use up nodes."""
        if self.nodes is not None:
            self.nodes -= max(nodes, 1)

    def options(self) -> dict[str, Any]:
        """Return what is left as options for the solver."""
        options: dict[str, Any] = {}
        if self.deadline is not None:
            options["time_limit"] = max(self.deadline - time.monotonic(), 1e-3)
        if self.nodes is not None:
            options["node_limit"] = max(self.nodes, 1)
        return options
