"""Side constraints: what an expert wants of a set.

A kind of constraint stands in `sizes`, `links` or `linear`: its builder and the inequalities that it means. `system`
holds all of them as one sparse system that knows which constraint each inequality came from.
"""

from .constraint import KINDS, Constraint, as_constraints
from .linear import cost_budget, linear
from .links import at_least_one, cannot_link, decorrelate, exclude, implies, must_link, require
from .sizes import exact_size, max_blocks, max_per_block, max_size, min_size
from .system import ConstraintSystem, resolve

__all__ = [
    "KINDS",
    "Constraint",
    "ConstraintSystem",
    "as_constraints",
    "at_least_one",
    "cannot_link",
    "cost_budget",
    "decorrelate",
    "exact_size",
    "exclude",
    "implies",
    "linear",
    "max_blocks",
    "max_per_block",
    "max_size",
    "min_size",
    "must_link",
    "require",
    "resolve",
]
