"""How methods are named and drawn: one label, color, marker and dash for each, everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

# The palette of Okabe and Ito, which color-blind readers can tell apart.
BLUE, SKY, VERMILION, ORANGE, GREEN, PURPLE, BLACK = (
    "#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#009E73", "#CC79A7", "#000000",
)  # fmt: skip
GREY = "0.45"

FEW_MODELS = "-5"  # "hsic-5" is HSIC with 5 models


@dataclass(frozen=True)
class Look:
    """How a method is drawn: color, marker and dashes differ, so that none of them is needed alone."""

    label: str
    color: str
    marker: str
    dashes: Any
    hollow: bool = False

    @property
    def line(self) -> dict[str, Any]:
        """Options of a line with markers."""
        return {
            "color": self.color,
            "marker": self.marker,
            "markersize": 4.0,
            "markerfacecolor": "white" if self.hollow else self.color,
            "linestyle": self.dashes,
            "linewidth": 1.0,
        }


_LOOKS = {
    "mrmr": Look("mRMR", BLUE, "o", "-"),
    "fisher": Look("Fisher", VERMILION, "s", (0, (5, 1.5))),
    "tree": Look("tree", GREEN, "^", (0, (5, 1.5, 1, 1.5))),
    "rfe": Look("RFE", ORANGE, "D", (0, (2, 1))),
    "hsic": Look("HSIC", PURPLE, "v", (0, (4, 1, 1, 1, 1, 1))),
    "lasso": Look("Lasso", SKY, "P", (0, (8, 2))),
    "laplacian": Look("Laplacian", BLACK, "X", (0, (1, 1.2))),
    "ubayfs_mrmr": Look("UBayFS mRMR", BLUE, "o", "none"),
    "ubayfs_fisher": Look("UBayFS Fisher", VERMILION, "s", "none"),
    "ubayfs_tree": Look("UBayFS tree", GREEN, "^", "none"),
    "random_forest": Look("random forest", ORANGE, "D", "none"),
    "rent": Look("RENT", PURPLE, "v", "none"),
    "group_lasso": Look("sparse group lasso", BLACK, "P", "none"),
}


def look_of(method: str) -> Look:
    """Return how a method is drawn; one with few models is hollow, and unknown ones are black.

    Examples
    --------
    >>> look_of("hsic-5").label, look_of("hsic-5").hollow
    ('HSIC, M = 5', True)
    """
    if method.endswith(FEW_MODELS) and method.removesuffix(FEW_MODELS) in _LOOKS:
        full = _LOOKS[method.removesuffix(FEW_MODELS)]
        return Look(f"{full.label}, M = 5", full.color, full.marker, (0, (1, 2)), hollow=True)
    return _LOOKS.get(method, Look(method, BLACK, "*", (0, (3, 1)), hollow=True))


def in_order(methods: Iterable[str]) -> list[str]:
    """Return methods in the order of legends: the known ones, few models after many, then others."""
    place = {name: i for i, name in enumerate(_LOOKS)}
    return sorted(set(methods), key=lambda m: (place.get(m.removesuffix(FEW_MODELS), len(place)), m))
