"""Trust: what other samples would say, found by repeating the whole procedure on shuffled, halved or left-out data.

`procedure` has what is repeated, `repeats` does it; `noise`, `reproducibility` and `cross_validation` are made of that.
`redecide` changes one decision: substitutes, features that are left out, costs of constraints, agreement with weights;
`questions` are what an expert should be asked.
"""

from .agreement import Agreement, agreement
from .left_out import Change, ConstraintCost, LeftOut, constraint_costs, left_out
from .substitutes import StandIn, Substitute, substitutes

__all__ = [
    "Agreement",
    "Change",
    "ConstraintCost",
    "LeftOut",
    "StandIn",
    "Substitute",
    "agreement",
    "constraint_costs",
    "left_out",
    "substitutes",
]
