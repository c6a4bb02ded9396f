"""The parts of a table, and the check that they are of the same samples.

Of AnnData objects features are `var_names`, their values `X` or a layer; `obs` has target, groups and covariates.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._arguments import Mask, did_you_mean
from ..exceptions import Advice, InputError, repr_of
from .missing import samples_of
from .reading_rules import SurvivalColumns, target_columns
from .survival import Survival
from .target import plain

# What to do instead of naming a part of an AnnData object.
_OTHERWISE = {
    "target": "Pass the target itself as y.",
    "groups": "Pass one group per sample.",
    "layer": "Leave it out.",
}


class Parts(NamedTuple):
    """What a table is made of, as it was given."""

    values: Any  # matrix or frame of shape (n_samples, n_features)
    feature_names: Any  # None: those of a frame, or none
    index: Any  # of the samples, where pandas has one
    y: Any
    groups: Any
    notes: tuple[Advice, ...] = ()
    obs: Any = None  # of AnnData, for covariates

    def without(self, absent: Mask, code: str, facts: Mapping[str, Any]) -> tuple[Parts, Advice]:
        """Return the parts without some samples, and the note on that, which has these facts, too."""

        def remaining(part: Any) -> Any:
            as_long = part is not None and np.ndim(part) > 0 and len(part) == len(absent)
            return samples_of(part, ~absent) if as_long else part  # of another length: refused where it is read

        names = np.flatnonzero(absent) if self.index is None else self.index[absent]
        note = Advice(
            code, {**facts, "n_samples": len(names), "samples": [*map(str, names)], "n_left": int((~absent).sum())}
        )
        index = None if self.index is None else self.index[~absent]
        values, y, groups, obs = (
            samples_of(self.values, ~absent),
            remaining(self.y),
            remaining(self.groups),
            remaining(self.obs),
        )
        return self._replace(values=values, index=index, y=y, groups=groups, obs=obs), note


def is_anndata(X: Any) -> bool:
    """Return whether something is an AnnData object; who has one has imported the package."""
    package = sys.modules.get("anndata")
    return package is not None and isinstance(X, package.AnnData)


def parts_of(X: Any, y: Any = None, groups: Any = None, target: Any = None, layer: Any = None) -> Parts:
    """Take an AnnData object apart; any other table stays as it is, and names of columns or layers are refused."""
    if not is_anndata(X):
        named = {"target": target, "groups": groups if isinstance(groups, str) else None, "layer": layer}
        for argument, name in named.items():
            if name is not None:
                rule = f"names a part of an AnnData object, but X is of type {type(X).__name__}; got {repr_of(name)}."
                raise InputError.of(argument, f"{rule} {_OTHERWISE[argument]}", name)
        return Parts(X, None, X.index if hasattr(X, "iloc") else None, y, groups)
    if isinstance(y, str):
        raise InputError.of("y", f"must hold one entry per sample; for a column of obs pass target={y!r}.", y)
    if isinstance(groups, str):
        groups = _columns(X, "groups", groups)
    parts = Parts(_values(X, layer), X.var_names, X.obs.index, y, groups, obs=X.obs)
    if target is None:
        return parts
    if y is not None:
        raise InputError.of("target", "is given together with y; pass one of the two.", target)
    from pandas import isna

    parts = parts._replace(y=_columns(X, "target", target))
    absent: Mask = np.asarray(isna(parts.y)).reshape(len(X.obs), -1).max(axis=1)
    if absent.all() or not absent.any():  # that no sample has one is refused where the target is read
        return parts
    parts, note = parts.without(absent, "samples_without_target", {"column": ", ".join(target_columns(target))})
    return parts._replace(notes=(note,))


def check_aligned(name: str, values: Any, index: Any) -> None:
    """Raise if the index of some values shows that their samples are not in the order of those of X.

    An index 0, 1, 2, ... is the one that pandas makes up, so other labels do not contradict it; but they do when they
    are the same numbers in another order.
    """
    labeled = hasattr(values, "iloc") or (isinstance(values, Survival) and values.index is not None)
    if index is None or not labeled or len(values) != len(index):
        return
    from pandas import RangeIndex

    ours, theirs = index, values.index
    if theirs.equals(ours):
        return
    same = len(ours.difference(theirs, sort=False)) == len(theirs.difference(ours, sort=False)) == 0
    if not same and any(index.equals(RangeIndex(len(index))) for index in (ours, theirs)):
        return
    how = "the labels of X in another order" if same else "labels that X does not have"
    way = f"select the same samples of both, for example by X.join({name})"
    if same and theirs.is_unique:
        way = f"{name} = {name}.loc[X.index] puts it into the order of X"
    first, other = (", ".join(repr(plain(label)) for label in index[:3]) for index in (ours, theirs))
    raise InputError.of(
        name,
        f"has an index with {how}: X begins with {first}, {name} with {other}. If they are meant to be matched by "
        f"label, {way}; if both are in the same order anyway, pass {name}.to_numpy().",
    )


def _values(adata: Any, layer: str | None) -> Any:
    """Return X or a layer, dense or sparse; what a backed object has in its file is loaded."""
    if layer is not None:
        _check_name("layer", layer, adata.layers, "layer")
    try:
        values = adata.X if layer is None else adata.layers[layer]
    except AttributeError as error:  # anndata cannot cut sparse matrices in a file with every version of SciPy
        rule = f"is a part of a backed object that anndata cannot read ({error}). Load the object before you cut it: "
        raise InputError.of("X", f"{rule}adata.to_memory()[...].") from error
    if values is None:
        raise InputError.of("X", "has no matrix; name the layer that holds the values: layer=...")
    return values.to_memory() if hasattr(values, "to_memory") else values


def _columns(adata: Any, argument: str, names: Any) -> Any:
    """Return a column of obs by its name, or several as a matrix."""
    if isinstance(names, Mapping):
        names = SurvivalColumns.from_mapping(argument, names)
    listed = target_columns(names) if isinstance(names, Iterable) else [names]
    for name in listed:
        _check_name(argument, name, adata.obs.columns, "column of obs")
    if isinstance(names, Mapping):
        return adata.obs[listed].set_axis(list(names), axis=1)
    return adata.obs[listed[0]] if len(listed) == 1 else adata.obs[listed].to_numpy()


def _check_name(argument: str, name: Any, choices: Iterable[Any], what: str) -> None:
    names = [str(name) for name in choices]
    if not isinstance(name, str) or name not in names:
        near = did_you_mean(name, names) if isinstance(name, str) else ""
        hint = near or f" There are {len(names)}: {', '.join(map(repr, names[:8]))}..."
        raise InputError.of(argument, f"names {repr_of(name)}, but the AnnData object has no such {what}.{hint}", name)
