"""Explain: decide again with a change, and compare.

`attribution` leaves out weights or constraints, `redecide` a member (substitutes; agreement of weights and votes),
`left_out` asks what keeps strong features out and what constraints cost, `questions` what an expert should be asked.

>>> from ubayfs import Evidence, decide
>>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])
>>> selection = decide(evidence, max_size=1)
>>> from ubayfs.explain import left_out, substitutes
>>> [(member.feature, member.added) for member in substitutes(selection)]
[('radius', ('area',))]
>>> [(feature.feature, feature.because) for feature in left_out(selection, n=1)]
[('area', 'rival')]
"""

from .left_out import Change, ConstraintCost, LeftOut, constraint_costs, left_out
from .redecide import Agreement, StandIn, Substitute, agreement, substitutes, worst_dropout

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
    "worst_dropout",
]
