"""Side constraints: what an expert wants of a set.

A kind of constraint stands in `sizes`, `links` or `weighted_sums`: its builder and the inequalities that it means.
`system` holds all of them as one sparse system that knows which constraint each inequality came from.
"""

from . import links, sizes, weighted_sums
from .constraint import KINDS, Constraint, as_constraints
from .system import ConstraintSystem, resolve

__all__ = ["KINDS", "Constraint", "ConstraintSystem", "as_constraints", "links", "resolve", "sizes", "weighted_sums"]


def __getattr__(name: str) -> object:
    """Return a builder by the name of its kind, such as `max_size`."""
    if name in KINDS:
        return KINDS[name].build
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
