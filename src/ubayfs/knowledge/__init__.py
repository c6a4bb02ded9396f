"""Knowledge: what experts have written about features, read from lists, gene sets and spreadsheets.

`scale` has the words of relevance, `rows` reads every source, `matching` is the one way from names to features, and
`tied` puts rows and features together.

>>> from ubayfs import read_knowledge
>>> [row.feature for row in read_knowledge("TP53, MYC", weight="likely").rows]
['TP53', 'MYC']
"""

from .matching import Aliases, NameMatcher
from .rows import Knowledge
from .tied import read_knowledge

__all__ = ["Aliases", "Knowledge", "NameMatcher", "read_knowledge"]
