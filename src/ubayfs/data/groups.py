"""Groups of samples, and labels of samples that must agree with those of X."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arguments import Ints, as_column, check_not_complex, missing_mask
from ..exceptions import InputError
from .survival import Survival
from .target import check_length, plain


def read_groups(groups: Any, n_samples: int) -> Ints | None:
    """Return the group of each sample as a number, of shape (n_samples,)."""
    if groups is None:
        return None
    from pandas import factorize

    values = as_column("groups", groups, "must be one column, one group per sample of X")
    check_length("groups", len(values), n_samples)
    check_not_complex("groups", values)
    if missing_mask(values).any():
        raise InputError.of("groups", "contains missing values; give each sample its group.")
    codes = np.asarray(factorize(values)[0], dtype=np.intp)
    if codes.max() == 0:
        raise InputError.of(
            "groups", f"has a single group ({plain(values[0])!r}); at least 2 are needed to subsample by group."
        )
    return codes


def check_aligned(name: str, values: Any, X: Any) -> None:
    """Raise if both are from pandas and their indexes tell that the samples do not stand in the same order.

    An index 0, 1, 2, ... is the one that pandas makes up, so other labels do not contradict it; but they do when they
    are the same numbers in another order.
    """
    labeled = hasattr(values, "iloc") or (isinstance(values, Survival) and values.index is not None)
    if not (hasattr(X, "iloc") and labeled) or len(values) != len(X):
        return
    from pandas import RangeIndex

    ours, theirs = X.index, values.index
    if theirs.equals(ours):
        return
    same = len(ours.difference(theirs, sort=False)) == len(theirs.difference(ours, sort=False)) == 0
    if not same and any(index.equals(RangeIndex(len(index))) for index in (ours, theirs)):
        return
    how = "the labels of X in another order" if same else "labels that X does not have"
    way = (
        f"{name} = {name}.loc[X.index] puts it into the order of X"
        if same and theirs.is_unique
        else (f"select the same samples of both, for example by X.join({name})")
    )
    raise InputError.of(
        name,
        f"has an index with {how}: X begins with {_some(ours)}, {name} with {_some(theirs)}. If they are meant to "
        f"be matched by label, {way}; if both are in the same order anyway, pass {name}.to_numpy().",
    )


def _some(index: Any) -> str:
    return ", ".join(repr(plain(label)) for label in index[:3])
