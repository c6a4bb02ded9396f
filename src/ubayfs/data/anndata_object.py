"""AnnData objects: features are `var_names`, their values `X` or a layer; `obs` has target, groups and covariates."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._arguments import Mask, did_you_mean
from ..exceptions import Advice, InputError, repr_of
from .missing import samples_of
from .reading_rules import SurvivalColumns, target_columns

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
    samples: Any  # what has the index of the samples, if anything has
    y: Any
    groups: Any
    notes: tuple[Advice, ...] = ()
    obs: Any = None  # of AnnData, for covariates


def is_anndata(X: Any) -> bool:
    """Tell whether something is an AnnData object; who has one has imported the package."""
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
        return Parts(X, None, X, y, groups)
    if isinstance(groups, str):
        groups = _columns(X, "groups", groups)
    values = _values(X, layer)
    if target is None:
        return Parts(values, X.var_names, X.obs, y, groups, obs=X.obs)
    if y is not None:
        raise InputError.of("target", "is given beside y; pass one of the two.", target)
    return _with_target(Parts(values, X.var_names, X.obs, _columns(X, "target", target), groups, obs=X.obs), target)


def _with_target(parts: Parts, target: Any) -> Parts:
    """Leave out samples without a target, with a note; if none has one, that is refused where the target is read."""
    from pandas import isna

    n_samples, groups = len(parts.samples), parts.groups
    absent: Mask = np.asarray(isna(parts.y)).reshape(n_samples, -1).max(axis=1)
    present: Mask = np.logical_not(absent)
    if present.all() or absent.all():
        return parts
    column = ", ".join(target_columns(target))
    samples = [str(name) for name in parts.samples.index[absent]]
    facts = {"column": column, "n_samples": len(samples), "samples": samples, "n_left": int(present.sum())}
    if groups is not None and np.ndim(groups) > 0 and len(groups) == n_samples:  # else refused later
        groups = samples_of(groups, present)
    y, obs = samples_of(parts.y, present), parts.samples[present]
    notes = (Advice("samples_without_target", facts),)
    return Parts(parts.values[present], parts.feature_names, obs, y, groups, notes, obs)


def _values(adata: Any, layer: str | None) -> Any:
    """Return X or a layer, dense or sparse; what a backed object has in its file is loaded."""
    if layer is not None:
        _check_known("layer", layer, adata.layers, "layer")
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
        names = SurvivalColumns.of(argument, names)
    listed = target_columns(names) if isinstance(names, Iterable) else [names]
    for name in listed:
        _check_known(argument, name, adata.obs.columns, "column of obs")
    if isinstance(names, Mapping):
        return adata.obs[listed].set_axis(list(names), axis=1)
    return adata.obs[listed[0]] if len(listed) == 1 else adata.obs[listed].to_numpy()


def _check_known(argument: str, name: Any, known: Iterable[Any], what: str) -> None:
    names = [str(name) for name in known]
    if not isinstance(name, str) or name not in names:
        near = did_you_mean(name, names) if isinstance(name, str) else ""
        hint = near or f" There are {len(names)}: {', '.join(map(repr, names[:8]))}..."
        raise InputError.of(argument, f"names {repr_of(name)}, but the AnnData object has no such {what}.{hint}", name)
