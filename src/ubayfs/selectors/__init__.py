"""Elementary selectors: each chooses a few features on a subsample of the data.

>>> from ubayfs.selectors import SELECTORS
>>> sorted(name for name, selector in SELECTORS.items() if "regression" in selector.tasks)
['hsic', 'laplacian', 'lasso', 'mrmr', 'rfe', 'tree', 'wide']
"""

from .adapters import as_selector, check_task, describe
from .base import ElementarySelector, PerRunSelector
from .fisher import Fisher
from .hsic import HSIC
from .laplacian import Laplacian
from .lasso import Lasso, Wide
from .mrmr import MRMR
from .registry import DEFAULT_SELECTOR, SELECTORS
from .rfe import RFE
from .tree import Tree

__all__ = [
    "DEFAULT_SELECTOR",
    "HSIC",
    "MRMR",
    "RFE",
    "SELECTORS",
    "ElementarySelector",
    "Fisher",
    "Laplacian",
    "Lasso",
    "PerRunSelector",
    "Tree",
    "Wide",
    "as_selector",
    "check_task",
    "describe",
]
