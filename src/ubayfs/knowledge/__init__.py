"""Knowledge: what experts have written about features, read from lists, gene sets and spreadsheets.

`scale` has the words of relevance, `rows` reads every source, and `matching` is the one way from what is written there
to features; `patterns` finds names in a study, where they may be patterns or positions.

>>> from ubayfs import read_knowledge
>>> [row.feature for row in read_knowledge("TP53, MYC", weight="likely").rows]
['TP53', 'MYC']
"""

from .aliases import Aliases
from .matching import NameMatcher
from .rows import Knowledge, read_knowledge

__all__ = ["Aliases", "Knowledge", "NameMatcher", "read_knowledge"]
