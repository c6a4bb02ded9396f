"""Anything that can choose features, as elementary selectors: names, scikit-learn objects, callables, lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._arguments import check_choice
from ..data.target import TASKS
from ..exceptions import InputError
from .base import ElementarySelector
from .foreign import CallableSelector, EstimatorSelector, ForeignSelector, SupportSelector, identity
from .registry import SELECTORS


def as_selector(spec: Any) -> tuple[ElementarySelector, ...]:
    """Turn what a user calls a selector into elementary selectors.

    Parameters
    ----------
    spec : str, ElementarySelector, estimator, callable, or list or tuple of these
        A name in the registry; a scikit-learn estimator with ``coef_`` or ``feature_importances_``; a scikit-learn
        selector with ``get_support``; a callable ``(X, y, n_features, rng)`` that returns indices or a mask; several of
        these for a mixed ensemble.

    Returns
    -------
    selectors : tuple of ElementarySelector
        In a mixed ensemble run m uses number m modulo their count.

    Examples
    --------
    >>> as_selector(["mrmr", "fisher"])
    (MRMR(classes='turns'), Fisher(classes='weighted'))
    """
    if isinstance(spec, list | tuple):
        if not spec:
            raise InputError.of("selector", "is an empty list; name at least one selector.")
        return tuple(selector for entry in spec for selector in as_selector(entry))
    return (_as_one_selector(spec),)


def _as_one_selector(spec: Any) -> ElementarySelector:
    if isinstance(spec, ElementarySelector):
        return spec
    if isinstance(spec, str):
        return SELECTORS[check_choice("selector", spec, SELECTORS)]
    if isinstance(spec, type):
        raise InputError.of("selector", f"is the class {spec.__name__}; pass an object of it: {spec.__name__}().")
    if hasattr(spec, "fit") and hasattr(spec, "get_params"):
        return SupportSelector(spec) if hasattr(spec, "get_support") else EstimatorSelector(spec)
    if callable(spec):
        return CallableSelector(spec)
    raise InputError.of(
        "selector",
        f"must be one of {', '.join(map(repr, sorted(SELECTORS)))}, a scikit-learn estimator or selector, a "
        f"callable (X, y, n_features, rng) -> indices, or a list of these; got {spec!r}.",
    )


def check_task(selectors: Sequence[ElementarySelector], task: str) -> None:
    """Raise when one of the selectors cannot do the task, naming those that can.

    Examples
    --------
    >>> check_task(as_selector("fisher"), "regression")
    Traceback (most recent call last):
    ...
    ubayfs.exceptions.InputError: selector 'fisher' cannot do task 'regression', only binary, multiclass. Selectors ...
    """
    for selector in selectors:
        if task not in selector.tasks:
            able = ", ".join(repr(name) for name, known in sorted(SELECTORS.items()) if task in known.tasks)
            # The order of TASKS, so that messages are stable.
            only = ", ".join(name for name in TASKS if name in selector.tasks)
            rule = f"{selector.name!r} cannot do task {task!r}, only {only}. Selectors that can: {able}."
            if task == "unsupervised":
                rule += " The others need a target."
            raise InputError.of("selector", rule)


def describe(selector: ElementarySelector) -> str:
    """Return a text that identifies a selector and its settings, the same in every session.

    Examples
    --------
    >>> describe(SELECTORS["laplacian"])
    'Laplacian(n_neighbors=5)'
    """
    return identity(selector.foreign) if isinstance(selector, ForeignSelector) else identity(selector)
