"""Decision: posterior and constraints in, the best set out.

`workflow` has the arguments of a decision, once, and makes it; `problem` is what an optimizer is given; `selection` is
the answer: the best set, its alternatives, and what it was decided with.

>>> from ubayfs import Evidence, decide
>>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])
>>> selection = decide(evidence, max_size=1)
>>> selection.features, selection.gap
(('radius',), 0.0)
"""

from .selection import Selection

__all__ = ["Selection"]
