"""The elementary selectors by name; a new one joins with one line."""

from __future__ import annotations

from .base import ElementarySelector
from .cox import Cox
from .fisher import Fisher
from .hsic import HSIC
from .laplacian import Laplacian
from .lasso import Lasso, Wide
from .mrmr import MRMR
from .rfe import RFE
from .tree import Tree

# Of Python, command line and app; it found most in docs/appendix.md. Without a target: `laplacian`.
DEFAULT_SELECTOR = Wide.name

SELECTORS: dict[str, ElementarySelector] = {
    selector.name: selector
    for selector in (
        Cox(),
        Fisher(),
        HSIC(),
        Laplacian(),
        Lasso(),
        MRMR(),
        RFE(),
        Tree(),
        Wide(),
    )
}
