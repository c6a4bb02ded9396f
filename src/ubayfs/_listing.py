"""Lists in messages: the first entries, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def listing(items: Sequence[Any], limit: int = 8) -> str:
    """Return a list in words; long ones are cut.

    >>> listing(["a", "b", "c"])
    'a, b and c'
    >>> listing("abcde", limit=2)
    'a, b and 3 more'
    """
    shown = [str(item) for item in items[:limit]]
    if len(items) > limit:
        return f"{', '.join(shown)} and {len(items) - limit:,} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def listed(items: Sequence[Any], limit: int = 10, total: int | None = None, separator: str = ", ") -> str:
    """List at most `limit` entries, of `total` if these are not all, and say how many more there are.

    >>> listed(["a", "b", "c"], limit=2), listed(["a", "b"], limit=2, total=1_000)
    ('a, b and 1 more', 'a, b and 998 more')
    """
    n_more = (len(items) if total is None else total) - limit
    return separator.join(map(str, items[:limit])) + (f" and {n_more:,} more" if n_more > 0 else "")


def bulleted(heading: str, texts: Sequence[str], limit: int) -> str:
    """Return at most `limit` texts below a heading, one per line.

    >>> print(bulleted("there are 3 problems", ["a", "b", "c"], limit=2))
    there are 3 problems:
    - a
    - b
    - and 1 more
    """
    more = [f"and {len(texts) - limit} more"] if len(texts) > limit else []
    return "\n- ".join([f"{heading}:", *texts[:limit], *more])
