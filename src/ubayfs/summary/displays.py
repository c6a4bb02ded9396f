"""The data behind the figures of a report."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..data.blocks import Blocks
from ..plotting import DISPLAYS
from ..selection import Selection
from .plain import plain


def display_data(
    selection: Selection, X: NDArray[Any] | None, blocks: Blocks, level: float
) -> dict[str, dict[str, Any]]:
    """Return the displays that apply to a selection, each in plain types, in the order of a report."""
    by_ensemble, decided = selection.posterior is not None, selection.problem is not None
    constrained = selection.problem is not None and selection.problem.utility.system.n_inequalities > 0
    arguments: dict[str, tuple[bool, dict[str, Any]]] = {
        "evidence": (by_ensemble, {"blocks": blocks}),
        "posterior": (by_ensemble, {"level": level}),
        "penalty": (constrained, {}),
        "sizes": (decided and len(selection.features) > 0, {}),
        "convergence": (by_ensemble, {}),
        "correlation": (X is not None and len(selection.features) > 1, {"X": X, "blocks": blocks}),
    }
    return {
        name: plain(DISPLAYS[name].from_selection(selection, **given).to_dict())
        for name, (applies, given) in arguments.items()
        if applies
    }
