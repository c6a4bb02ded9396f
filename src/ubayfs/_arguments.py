"""Types and checks of plain arguments, and look-up of names, with messages that help."""

from __future__ import annotations

import difflib
import inspect
import math
import os
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property, lru_cache, wraps
from itertools import islice
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from .exceptions import InputError, repr_of

# Of whatever can be repeated: more would only be found out when memory, or patience, is at its end.
MOST_REPEATS = 1_000_000

# Of whatever is listed: a range, or something that never ends, may have more.
MOST_ENTRIES = 10_000_000

P = ParamSpec("P")
T = TypeVar("T")

# Arrays by what they hold; names of features are an Array.
Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Mask = NDArray[np.bool_]

Generators = Sequence[np.random.Generator]
RandomState = int | np.random.Generator | np.random.SeedSequence | np.random.RandomState | None


# What other packages, or other parts of this one, call the same argument.
_SAME_ARGUMENT = (
    ("max_size", "max_features", "n_features", "n_features_to_select", "k"),
    ("n_models", "models", "n_estimators", "n_runs"),
    ("selector", "estimator", "method", "score_func"),
    ("random_state", "seed", "rng"),
    ("time_limit", "timeout"),
    ("n_jobs", "jobs", "n_workers", "workers"),
)


def by_name(*order: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Refuse arguments by position that have to be named, and unknown names, with a message that spells the right call.

    `order` are the arguments that have to be named, as they could once be given by position; default: that of the
    signature.

    Examples
    --------
    >>> @by_name()
    ... def collect(X, y=None, *, selector="mrmr"): ...
    >>> collect([[1.0]], [1], "fisher")
    Traceback (most recent call last):
    ubayfs.exceptions.InputError: collect takes only X, y by position. Name the others: collect(X, y, selector=...).
    >>> collect([[1.0]], [1], estimator="fisher")
    Traceback (most recent call last):
    ubayfs.exceptions.InputError: collect has no argument 'estimator'. Did you mean 'selector'?
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        name = str(getattr(function, "__qualname__", "")).removesuffix(".__init__").rpartition(".")[2]
        parameters = inspect.signature(function).parameters
        positional = [one.name for one in parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
        named = order or tuple(one.name for one in parameters.values() if one.kind is one.KEYWORD_ONLY)
        checks_others = any(one.kind is one.VAR_KEYWORD for one in parameters.values())

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            more = len(args) - len(positional)
            if more > 0:
                first = ", ".join(argument for argument in positional if argument != "self")
                spelled = ", ".join([first, *(f"{argument}=..." for argument in named[:more])])
                rule = f"takes only {first} by position. Name the others: {name}({spelled})."
                raise InputError(f"{name} {rule}", argument=named[0], rule=rule)
            for argument in kwargs:
                if argument not in parameters and not checks_others:
                    raise unknown_argument(name, argument, [other for other in parameters if other != "self"])
            return function(*args, **kwargs)

        return call

    return decorate


def unknown_argument(function: str, argument: str, parameters: Sequence[str]) -> InputError:
    """Return the error of an argument that a function does not have, with the one that is meant, or with all.

    >>> print(unknown_argument("decide", "max_features", ["evidence", "max_size"]))
    decide has no argument 'max_features'. Did you mean 'max_size'?
    >>> print(unknown_argument("decide", "colour", ["evidence", "max_size"]))
    decide has no argument 'colour'. It takes evidence, max_size.
    """
    meant = meant_argument(argument, parameters)
    hint = f"It takes {', '.join(parameters)}." if meant is None else f"Did you mean {meant!r}?"
    rule = f"has no argument {argument!r}. {hint}"
    return InputError(f"{function} {rule}", argument=argument, rule=rule)


def meant_argument(argument: str, parameters: Iterable[str]) -> str | None:
    """Return the argument that is meant by one that does not exist, or None.

    >>> meant_argument("n_features", ["max_size", "n_models"]), meant_argument("k", ["n_models"])
    ('max_size', None)
    """
    same = next((names for names in _SAME_ARGUMENT if argument in names), ())
    # A name that only looks alike, such as train_size for max_size, is not meant.
    return next((name for name in same if name in parameters), None) if same else nearest(argument, parameters)


def did_you_mean(name: object, candidates: Iterable[object]) -> str:
    """Return a hint such as ``" Did you mean 'radius'?"``, or an empty string.

    Examples
    --------
    >>> did_you_mean("raduis", ["radius", "area"])
    " Did you mean 'radius'?"
    >>> did_you_mean("gene_A", ["gene_b", "gene_a"])
    " Did you mean 'gene_a'?"
    >>> did_you_mean("zzz", ["radius", "area"])
    ''
    """
    close = nearest(name, candidates)
    return "" if close is None else f" Did you mean {close!r}?"


def nearest(name: object, candidates: Iterable[object]) -> str | None:
    """Return the candidate that `name` was most likely meant to be, or None."""
    names = [str(candidate) for candidate in candidates]
    # Nothing is nearer than the same letters, whatever their case and what separates words.
    for same in (str.casefold, _letters):
        wanted = same(str(name))
        exact = next((candidate for candidate in names if wanted and same(candidate) == wanted), None)
        if exact is not None:
            return exact
    return next(iter(difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)), None)


def feature_hint(name: str, candidates: Iterable[object]) -> str:
    """Return a hint to a feature that may be meant; a short name that is nearly right is the name of something else.

    Nearly right is a name of at least five letters with the same digits: SESN1 is not SSNA1, nor SERPINE1 SERPINE2.

    Examples
    --------
    >>> feature_hint("raduis_1", ["radius_1", "area"]), feature_hint("sesn1", ["SESN1"])
    (" Did you mean 'radius_1'?", " Did you mean 'SESN1'?")
    >>> feature_hint("SESN1", ["SSNA1"])
    ''
    >>> feature_hint("TP53", ["x0", "x1"])
    " The features of an array are 'x0', 'x1', ...: pass a DataFrame (in a pipeline: set_output(transform='pandas'))."
    """
    names = [str(candidate) for candidate in candidates]
    if names and names == made_names(len(names)).tolist():
        return (
            " The features of an array are 'x0', 'x1', ...: pass a DataFrame (in a pipeline: "
            "set_output(transform='pandas'))."
        )
    same = [candidate for candidate in names if _letters(candidate) == _letters(name)]
    near = [c for c in names if re.findall(r"[0-9]", c) == re.findall(r"[0-9]", name)]
    return did_you_mean(name, same or (near if sum(map(str.isalpha, name)) >= 5 else ()))


@lru_cache(maxsize=1)  # of a million features they take longer to make than the best set of a size to find
def made_names(n_features: int) -> Array:
    """Return the names of features that have none of their own: x0, x1, ..., as scikit-learn calls them."""
    return freeze(np.array([f"x{position}" for position in range(n_features)], dtype=object))


def _letters(name: str) -> str:
    return re.sub(r"[\s_.-]+", "", name).casefold()


def check_real(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
) -> float:
    """Return `value` as a float inside the given interval, or raise naming `name`, rule and value."""
    left, right = "(["[not low_open], ")]"[not high_open]
    rule = f"must be a number in {left}{low:g}, {high:g}{right}"
    if low == -math.inf and high == math.inf:
        rule = "must be a number"
    number = as_float(value) if isinstance(value, Real) and not isinstance(value, bool | np.bool_) else math.nan
    # Comparisons with NaN are false.
    if not ((number > low if low_open else number >= low) and (number < high if high_open else number <= high)):
        raise InputError.of(name, f"{rule}; got {repr_of(value)}.", value)
    return number


def as_float(value: Any) -> float:
    """Return a number as a float; NaN if it has no float: 10**400, the signalling NaN of a Decimal.

    >>> as_float(2), as_float(10**400)
    (2.0, nan)
    """
    try:
        return float(value)
    except (OverflowError, ValueError, TypeError):  # a duration of NumPy counts as a whole number
        return math.nan


def check_int(name: str, value: Any, *, low: int | None = None, high: int | None = None) -> int:
    """Return `value` as an int from `low` to `high`, or raise naming `name`, rule and value."""
    rule = "must be a whole number" + ("" if low is None else f" >= {low}")
    no_number = not isinstance(value, Integral) or isinstance(value, bool | np.bool_ | np.timedelta64)
    if no_number or (low is not None and value < low):
        raise InputError.of(name, f"{rule}; got {repr_of(value)}.", value)
    if high is not None and int(value) > high:
        raise InputError.of(name, f"must be a whole number <= {high}; got {repr_of(value)}.", value)
    return int(value)


def check_bool(name: str, value: Any) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise InputError.of(name, f"must be true or false; got {repr_of(value)}.", value)
    return value


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`, or raise naming them and the nearest one."""
    allowed = sorted(choices)
    if not isinstance(value, str) or value not in allowed:
        hint = did_you_mean(value, allowed) if isinstance(value, str) else ""
        raise InputError.of(name, f"must be one of {', '.join(map(repr, allowed))}; got {repr_of(value)}.{hint}", value)
    return value


def check_text(name: str, value: Any) -> str | None:
    """Return a text, or None."""
    if value is not None and not isinstance(value, str):
        raise InputError.of(name, f"must be a text; got {repr_of(value)}.", value)
    return value


def as_text(name: str, value: Any) -> str:
    """Return a text; a column called 2 is read from the file as a number."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value:
        raise InputError.of(name, f"must be a text; got {repr_of(value)}.", value)
    return value


def as_time(name: str, value: Any) -> str:
    """Return a time as ISO 8601 writes it."""
    if isinstance(value, date):  # and datetime
        value = value.isoformat()
    try:
        datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        rule = f"must be a time such as 2026-11-17T09:30:00+00:00; got {repr_of(value)}."
        raise InputError.of(name, rule, value) from None
    return str(value)


def entries_of(name: str, values: Any, error: type[InputError] = InputError) -> list[Any] | None:
    """Return the entries of a list, an array or whatever else can be iterated; None of a text or a single value.

    >>> entries_of("n", range(3)), entries_of("n", np.array(3)), entries_of("n", "abc")
    ([0, 1, 2], None, None)
    """
    if not isinstance(values, Iterable) or isinstance(values, str | bytes) or getattr(values, "ndim", 1) == 0:
        return None
    entries = list(islice(values, MOST_ENTRIES + 1))
    if len(entries) > MOST_ENTRIES:
        raise error.of(name, f"must have at most {MOST_ENTRIES:,} entries; got {repr_of(values)}.", values)
    return entries


def check_names(name: str, value: Any) -> tuple[str, ...]:
    """Return one name, or several, as a tuple; None is no name."""
    names = entries_of(name, value)
    if names is None:
        names = [] if value is None else [value]
    for entry in names:
        if not isinstance(entry, str):
            raise InputError.of(name, f"must be a name or a list of names; got {repr_of(entry)}.", value)
    return tuple(names)


def refuse_lazy(name: str, values: Any) -> None:
    """Refuse a LazyFrame of polars: what it holds is not computed yet."""
    if hasattr(values, "collect_schema") and hasattr(values, "collect"):
        raise InputError.of(name, "is a LazyFrame of polars, which is not computed yet; pass its .collect().", values)


def as_array(
    name: str, values: Any, rule: str = "must be an array of numbers", dtype: Any = None, way_out: str = ""
) -> Array:
    """Return anything array-like as an array, or raise naming `name` and the rule."""
    refuse_lazy(name, values)
    try:
        if not hasattr(values, "__array__") and isinstance(values, Sequence) and len(values) > MOST_ENTRIES:
            raise MemoryError(f"more than {MOST_ENTRIES:,} entries")
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        message = f"{rule}; {error}; got {repr_of(values)}. {way_out}".rstrip()
        raise InputError.of(name, message, values) from error


def as_column(name: str, values: Any, rule: str = "must be an array of numbers", way_out: str = "") -> Array:
    """Return one column of any form, of shape (n,), or raise naming `name`; `way_out` follows on several columns."""
    array = as_array(name, values, rule)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.ndim != 1:
        raise InputError.of(name, f"must be one column; got shape {array.shape}.{way_out}")
    return array


def missing_mask(values: Array) -> Mask:
    """Return which values are missing, the signalling NaN of a Decimal among them, which cannot even be compared."""
    from pandas import isna

    absent = np.zeros(values.shape, dtype=bool)
    if values.dtype == object:
        signalling = [isinstance(value, Decimal) and value.is_snan() for value in values.ravel()]
        absent, values = np.reshape(signalling, values.shape).astype(bool), values.copy()
        values[absent] = None
    return absent | np.asarray(isna(values))


def check_not_complex(name: str, values: Any) -> None:
    """Raise if an array, or anything that becomes one, has complex entries: no imaginary part is dropped silently."""
    array = as_array(name, values)
    entries = array.ravel() if array.dtype == object else ()
    if array.dtype.kind == "c" or any(isinstance(entry, complex | np.complexfloating) for entry in entries):
        raise InputError(
            f"Complex data not supported: {name} must hold real numbers. Pass the part that is meant, such as "
            "numpy.real or numpy.abs of it.",
            argument=name,
        )


def as_names(argument: str, labels: Iterable[Any]) -> Array:
    """Return labels as an array of str (object)."""
    try:
        return np.array([str(label) for label in labels], dtype=object)
    except Exception as error:
        raise InputError.of(argument, f"must be names; one of them has no text ({repr_of(error)}).") from error


def check_feature_names(feature_names: Any, n_features: int) -> Array:
    """Return distinct names as an array of str (object) of shape (n_features,); None makes x0, x1, ..."""
    if feature_names is None:
        return made_names(n_features)
    listed = entries_of("feature_names", feature_names)
    if listed is None or getattr(feature_names, "ndim", 1) != 1:
        raise InputError.of("feature_names", f"must be a list of names; got {repr_of(feature_names)}.", feature_names)
    names = as_names("feature_names", listed)
    if len(names) != n_features:
        raise InputError.of("feature_names", f"must have one name per feature: {n_features}; got {len(names)}.", names)
    unique, counts = np.unique(names.astype(str), return_counts=True)
    if len(unique) < n_features:
        raise InputError.of(
            "feature_names",
            f"has duplicate names, {str(unique[counts > 1][0])!r} among them; rename them so that each is unique.",
            names,
        )
    return names


class FeatureIndex:
    """Positions of features by name, all different, or by position, with helpful errors."""

    def __init__(self, names: Sequence[str] | Array) -> None:
        self.names = names

    @cached_property
    def _position_of(self) -> Mapping[Hashable, int]:
        return {name: position for position, name in enumerate(self.names)}

    def __contains__(self, name: object) -> bool:
        """Return whether `name` is the name of a feature."""
        return name in self._position_of

    def position(self, feature: Any, argument: str, error: type[InputError] = InputError) -> int:
        """Return the position of one feature, given by name (str) or position (int, from 0)."""
        n = len(self.names)
        if isinstance(feature, str):
            if feature not in self._position_of:
                hint = feature_hint(feature, self.names) or f" There are {n} features, {self.names[0]!r} first."
                raise error.of(argument, f"names {feature!r}, which is not a feature.{hint}", feature)
            return self._position_of[feature]
        if isinstance(feature, Integral) and not isinstance(feature, bool | np.bool_):
            if not 0 <= int(feature) < n:
                rule = f"refers to position {repr_of(feature)}, but positions count from 0 to {n - 1}."
                raise error.of(argument, rule, feature)
            return int(feature)
        rule = f"must refer to features by name (str) or position (int); got {repr_of(feature)}."
        raise error.of(argument, rule, feature)

    def positions(self, features: Any, argument: str, error: type[InputError] = InputError) -> Ints:
        """Return the positions of several features; a feature named twice is an error."""
        entries = entries_of(argument, features, error)
        features = [features] if entries is None else entries
        if set(map(type, features)) == {int} and min(features) >= 0 and max(features) < len(self.names):
            positions = np.array(features, dtype=np.intp)  # blocks may list thousands of positions
        else:
            positions = np.array([self.position(f, argument, error) for f in features], dtype=np.intp)
        unique, counts = np.unique(positions, return_counts=True)
        if len(unique) < len(positions):
            twice = self.names[int(unique[counts > 1][0])]
            raise error.of(argument, f"names feature {twice!r} more than once.", twice)
        return positions

    def members(self, features: Any, argument: str) -> Ints:
        """Return the positions of a set, given by names, by positions or as a mask."""
        entries = entries_of(argument, features)  # a set or a generator will do
        if entries is None:
            return self.positions(features, argument)
        coded = len(entries) == len(self.names) > 2 and all(isinstance(e, Integral) and e in (0, 1) for e in entries)
        if coded:  # positions they cannot be: one would be there twice
            return np.flatnonzero(entries)
        if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
            if len(entries) != len(self.names):
                rule = f"as a mask must have one entry per feature, {len(self.names)}; got {len(entries)}."
                raise InputError.of(argument, rule, features)
            return np.flatnonzero(entries)
        return self.positions(entries, argument)


def mask_of(members: Any, n: int) -> Mask:
    """Return positions as a mask of shape (n,)."""
    mask = np.zeros(n, dtype=bool)
    mask[members] = True
    return mask


def freeze(array: Array) -> Array:
    """Make an array read-only and return it: values that results share must not change under them."""
    array.flags.writeable = False
    return array


def check_random_state(random_state: Any) -> Any:
    """Return any accepted `random_state` as it is; a generator is not used up by the check."""
    sources = (np.random.Generator, np.random.SeedSequence, np.random.RandomState)
    if random_state is None or isinstance(random_state, sources):
        return random_state
    return check_int("random_state", random_state, low=0)


def as_seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """Turn any accepted `random_state` into a SeedSequence, from which one child per run is spawned."""
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**32, size=4).tolist())
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(0, 2**31 - 1, size=4).tolist())
    if random_state is None:
        return np.random.SeedSequence()
    return np.random.SeedSequence(check_random_state(random_state))


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Turn any accepted `random_state` into a Generator; a Generator passes through unchanged."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(as_seed_sequence(random_state))
