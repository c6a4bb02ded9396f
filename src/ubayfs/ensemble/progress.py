"""Progress: a function of (done, total), or a bar in a terminal or notebook."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable
from typing import Any

from ..exceptions import InputError, MissingDependencyError, repr_of

Progress = Callable[[int, int], Any]


def as_progress(on_progress: Progress | bool | None, unit: str) -> Progress | None:
    """Return a function of (done, total), or None; True makes a bar that counts in a unit such as "models"."""
    if on_progress is None or on_progress is False:
        return None
    if on_progress is True:
        return _bar(unit)
    if not callable(on_progress) or not _takes_two(on_progress):
        rule = f"must be True for a progress bar, a function of (done, total), or None; got {repr_of(on_progress)}."
        raise InputError.of("on_progress", rule)
    return on_progress


def _takes_two(function: Any) -> bool:
    """Return whether a function can be called with (done, total); one of C, which has no signature, is tried."""
    if isinstance(function, type):
        return False
    try:
        inspect.signature(function).bind(0, 1)
    except TypeError:
        return False
    except ValueError:
        pass
    return True


def _bar(unit: str) -> Progress:
    """Return a function that draws a bar of tqdm, which knows notebooks and terminals."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a notebook without ipywidgets has a plain bar
            from tqdm.auto import tqdm
    except ImportError as error:
        raise MissingDependencyError(
            "on_progress=True needs tqdm; install it with pip install tqdm, or pass a function of (done, total)."
        ) from error
    bar: Any = None
    start = time.time()

    def update(done: int, total: int) -> None:
        nonlocal bar
        if bar is None:
            bar = tqdm(total=total, unit=f" {unit}", dynamic_ncols=True)
            bar.start_t = start  # when the work began, not when its first part was done
        bar.update(done - bar.n)
        if done >= total:
            bar.close()

    return update
