"""Trust: what is related to the target, and what other samples would say.

`association` and `related` test features against a shuffled target. `procedure` has what is repeated, `repeats` does
it; `reproducibility` and `cross_validation` are made of that, on halves and on left-out samples.
`redecide` changes one decision: substitutes of members, agreement of weights and votes; so do `left_out` (also for the
costs of constraints) and `questions`, what an expert should be asked.

>>> from ubayfs import Evidence, decide
>>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])
>>> selection = decide(evidence, max_size=1)
>>> from ubayfs.trust import left_out, substitutes
>>> [(found.feature, found.added) for found in substitutes(selection)]
[('radius', ('area',))]
>>> [(found.feature, found.because) for found in left_out(selection, n=1)]
[('area', 'rival')]
"""

from .left_out import Change, ConstraintCost, LeftOut, constraint_costs, left_out
from .redecide import Agreement, StandIn, Substitute, agreement, substitutes

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
