"""Anything that can choose features, as elementary selectors: names, scikit-learn objects, callables, lists."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .._arguments import Array, Floats, Generators, Ints, Mask, check_choice
from ..data.target import CLASSIFICATION, TASKS, Target
from ..exceptions import InputError, repr_of
from .base import ElementarySelector, best_first, checked_columns
from .registry import SELECTORS

# Parameters of scikit-learn's selectors for the number of features to keep. `max_features` has that meaning
# only beside a `threshold` (SelectFromModel).
_SIZE_PARAMETERS = ("n_features_to_select", "k")


def describe(value: Any) -> str:
    """Return a text that identifies a selector and its settings, the same in every session.

    It has none of the addresses and abbreviations that a plain repr may have.

    Examples
    --------
    >>> describe(SELECTORS["laplacian"])
    'Laplacian(n_neighbors=5)'
    """
    if isinstance(value, ForeignSelector):
        return describe(value.foreign)
    if isinstance(value, ElementarySelector) and is_dataclass(value):
        return repr(value)
    if hasattr(value, "get_params") and not isinstance(value, type):
        # Whatever the random state is, each run brings its own.
        parameters = {k: v for k, v in value.get_params(deep=False).items() if k != "random_state"}
        return (
            f"{_qualified_name(type(value))}({', '.join(f'{k}={describe(v)}' for k, v in sorted(parameters.items()))})"
        )
    if isinstance(value, partial):
        arguments = [describe(a) for a in value.args]
        arguments += [f"{k}={describe(v)}" for k, v in sorted(value.keywords.items())]
        return f"partial({', '.join([describe(value.func), *arguments])})"
    if isinstance(value, list | tuple):
        return f"[{', '.join(describe(v) for v in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k!r}: {describe(v)}' for k, v in value.items())}}}"
    if isinstance(value, np.ndarray):
        return f"array({value.tolist()!r})"
    if value is None or isinstance(value, str | bytes | int | float | complex | np.generic):
        return repr(value)
    if hasattr(value, "__qualname__"):
        return _qualified_name(value)
    return repr(value) if is_dataclass(value) else _qualified_name(type(value))


def _qualified_name(value: Any) -> str:
    return f"{getattr(value, '__module__', None) or 'builtins'}.{value.__qualname__}"


@dataclass(frozen=True)
class ForeignSelector(ElementarySelector):
    """A selector from outside: sees the rows of a subsample with all columns, and the target as it was given."""

    foreign: Any  # the estimator, selector or callable; never changed
    categories_as_numbers: ClassVar[bool] = False  # it may treat columns of 0 and 1 in a way of its own

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of the foreign object's class."""
        return str(type(self.foreign).__name__)

    @property
    def tasks(self) -> frozenset[str]:  # type: ignore[override]
        """Classification for classifiers, numbers for regressors, otherwise everything that is possible."""
        return _tasks_of(self.foreign)

    @abstractmethod
    def _choose(self, X: Array, y: Array | None, n_features: int, rng: np.random.Generator) -> Ints:
        """Choose at most `n_features` columns of `X` (the rows of one subsample), best first."""

    def select_many(self, X: Array, target: Target, subsamples: Mask, n_features: int, rngs: Generators) -> list[Ints]:
        """Run the foreign selector on each subsample; picks that are constant there are dropped."""
        chosen = []
        for rows, rng in zip(subsamples, rngs, strict=True):
            part = X[rows]
            picks = self._choose(part, None if target.labels is None else target.labels[rows], n_features, rng)
            # The foreign code may have written to its copy, so the data themselves are asked.
            values = X[np.ix_(rows, picks)]
            chosen.append(picks[(values != values[0]).any(axis=0)])
        return chosen


def _tasks_of(foreign: Any) -> frozenset[str]:
    # Not sklearn.utils.get_tags: without tags, its 1.6 guesses, its 1.7 warns and later ones raise.
    try:
        tags = foreign.__sklearn_tags__()
    except AttributeError:  # it has fit and get_params, but scikit-learn's base class is not among its parents
        return frozenset(TASKS)
    if tags.estimator_type == "regressor":
        return frozenset(name for name, task in TASKS.items() if task.numeric)
    if tags.estimator_type == "classifier":
        several = tags.classifier_tags is not None and tags.classifier_tags.multi_label
        return CLASSIFICATION | ({"multilabel"} if several else frozenset())
    return frozenset(TASKS) - ({"unsupervised"} if tags.target_tags.required else frozenset())


def _fitted_clone(foreign: Any, X: Array, y: Array | None, rng: np.random.Generator, **parameters: Any) -> Any:
    """Fit a clone; every random state in it comes from the run's generator."""
    from sklearn.base import clone

    copy = clone(foreign)
    names = sorted(name for name in copy.get_params() if name == "random_state" or name.endswith("__random_state"))
    states = {name: int(rng.integers(2**31 - 1)) for name in names}
    copy.set_params(**states, **parameters)
    return copy.fit(X) if y is None else copy.fit(X, y)


class EstimatorSelector(ForeignSelector):
    """The most important features of a scikit-learn estimator; those without importance are never chosen."""

    def _choose(self, X: Array, y: Array | None, n_features: int, rng: np.random.Generator) -> Ints:
        importances = self._importances(_fitted_clone(self.foreign, X, y, rng), X.shape[1])
        largest = importances.max()
        if largest == 0:
            return np.empty(0, dtype=np.intp)
        return best_first(np.where(importances > 0, importances / largest, -np.inf), n_features)

    def _importances(self, fitted: Any, n_columns: int) -> Floats:
        for attribute in ("coef_", "feature_importances_"):
            values = getattr(fitted, attribute, None)
            if values is not None:
                break
        else:
            raise InputError.of(
                "selector",
                f"{self.name!r} has neither coef_ nor feature_importances_ after fit, so its features cannot "
                "be ranked. Use an estimator that has one, wrap it in a scikit-learn selector, or pass a callable.",
            )
        values = np.abs(np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64))
        if values.shape[-1:] != (n_columns,) or not np.isfinite(values).all():
            raise InputError.of(
                "selector",
                f"{self.name!r} must give one finite importance per column, {n_columns}; "
                f"its {attribute} has shape {values.shape}.",
            )
        return values.reshape(-1, n_columns).sum(axis=0)


class SupportSelector(ForeignSelector):
    """The features that a scikit-learn selector (anything with ``get_support``) keeps."""

    def _choose(self, X: Array, y: Array | None, n_features: int, rng: np.random.Generator) -> Ints:
        parameters = self.foreign.get_params(deep=False)
        sizes = [p for p in _SIZE_PARAMETERS if p in parameters] + ["max_features"] * (
            {"max_features", "threshold"} <= set(parameters)
        )
        fitted = _fitted_clone(self.foreign, X, y, rng, **dict.fromkeys(sizes, n_features))
        selected = np.flatnonzero(np.asarray(fitted.get_support()))
        merits = self._merits(fitted, X.shape[1])
        if merits is not None:
            selected = selected[np.argsort(-merits[selected], kind="stable")]
        if len(selected) <= n_features:
            return selected
        if merits is None or merits[selected[n_features - 1]] == merits[selected[n_features]]:
            raise InputError.of(
                "selector",
                f"{self.name!r} selected {len(selected)} features, more than the {n_features} that a model may select, "
                "and has no scores_ or ranking_ that says which are best. Limit its number of features or raise "
                "n_features_per_model.",
            )
        return selected[:n_features]

    @staticmethod
    def _merits(fitted: Any, n_columns: int) -> Floats | None:
        """Return one number per column, higher for better, when the fitted selector tells."""
        for attribute, sign in (("scores_", 1.0), ("ranking_", -1.0)):
            values = getattr(fitted, attribute, None)
            if values is not None and np.shape(values) == (n_columns,):
                return np.nan_to_num(sign * np.asarray(values, dtype=np.float64), nan=-np.inf)
        return None


class CallableSelector(ForeignSelector):
    """What a callable ``(X, y, n_features, rng)`` returns, checked: column indices or a mask."""

    @property
    def name(self) -> str:  # type: ignore[override]
        """Qualified name of the callable."""
        return describe(self.foreign)

    @property
    def tasks(self) -> frozenset[str]:  # type: ignore[override]
        """Every task: only the callable knows."""
        return frozenset(TASKS)

    def _choose(self, X: Array, y: Array | None, n_features: int, rng: np.random.Generator) -> Ints:
        returned = self.foreign(X, y, n_features, rng)
        return checked_columns(returned, X.shape[1], n_features, self.name, mask_too=True)


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
    if isinstance(spec, ElementarySelector):
        return (spec,)
    if isinstance(spec, str):
        return (SELECTORS[check_choice("selector", spec, SELECTORS)],)
    if isinstance(spec, type):
        raise InputError.of("selector", f"is the class {spec.__name__}; pass an object of it: {spec.__name__}().")
    if hasattr(spec, "fit") and hasattr(spec, "get_params"):
        return (SupportSelector(spec) if hasattr(spec, "get_support") else EstimatorSelector(spec),)
    if callable(spec):
        return (CallableSelector(spec),)
    raise InputError.of(
        "selector",
        f"must be one of {', '.join(map(repr, sorted(SELECTORS)))}, a scikit-learn estimator or selector, a "
        f"callable (X, y, n_features, rng) -> indices, or a list of these; got {repr_of(spec)}.",
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
            able = ", ".join(map(repr, selectors_for(task)))
            # The order of TASKS, so that messages are stable.
            only = ", ".join(name for name in TASKS if name in selector.tasks)
            rule = f"{selector.name!r} cannot do task {task!r}, only {only}. Selectors that can: {able}."
            if task == "unsupervised":
                rule = f"{selector.name!r} needs a target, and there is none. Give one, or use {able}."
            raise InputError.of("selector", rule)


def selectors_for(task: str) -> list[str]:
    """Return the names of the built-in selectors that can do a task.

    Examples
    --------
    >>> selectors_for("unsupervised")
    ['laplacian']
    """
    return [name for name, selector in sorted(SELECTORS.items()) if task in selector.tasks]


def kind_of(selector: ElementarySelector) -> str:
    """Return the name of a built-in selector, whatever its settings; empty for any other."""
    built_in = SELECTORS.get(selector.name)
    return selector.name if built_in is not None and type(selector) is type(built_in) else ""
