"""Warnings of the package while something is drawn or written: each is told once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from ..exceptions import UBayFSWarning


@contextmanager
def told_once() -> Iterator[list[str]]:
    """Collect the package's warnings and give each once when all is done; eight figures may lack the same letters.

    Yields
    ------
    messages : list of str
        Filled at the end.
    """
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield messages
    ours = {str(one.message): one for one in caught if issubclass(one.category, UBayFSWarning)}
    messages += ours
    others = [one for one in caught if not issubclass(one.category, UBayFSWarning)]
    for one in [*others, *ours.values()]:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
