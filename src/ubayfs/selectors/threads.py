"""Threads over blocks of columns, for selectors that do many runs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar

# Threads do not inherit it, so that nothing is threaded twice.
_pool: ContextVar[ThreadPoolExecutor | None] = ContextVar("column_threads", default=None)


@contextmanager
def column_threads(n_threads: int) -> Iterator[None]:
    """Let :func:`each_block` use so many threads inside the ``with`` block."""
    if n_threads == 1:
        yield
        return
    pool = ThreadPoolExecutor(n_threads, thread_name_prefix="ubayfs-columns")
    before = _pool.set(pool)
    try:
        yield
    finally:
        _pool.reset(before)
        pool.shutdown(cancel_futures=True)


def each_block(work: Callable[[slice], None], blocks: Iterable[slice]) -> None:
    """Call `work` on every block of columns, in any order and in as many threads as the ensemble has for it.

    `work` writes only what belongs to its block, so that the result cannot depend on threads.

    Examples
    --------
    >>> import numpy as np
    >>> X, sums = np.arange(8.0).reshape(2, 4), np.empty(4)
    >>> def add(block):
    ...     sums[block] = X[:, block].sum(axis=0)
    >>> with column_threads(2):
    ...     each_block(add, [slice(0, 2), slice(2, 4)])
    >>> sums
    array([ 4.,  6.,  8., 10.])
    """
    pool = _pool.get()
    for _ in map(work, blocks) if pool is None else pool.map(work, blocks):
        pass
