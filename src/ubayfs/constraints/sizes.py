"""Limits on how many: features, features of a block or cluster, blocks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from .._arguments import check_int, check_real, did_you_mean
from .._plain import counted
from ..data.blocks import sets_matrix
from ..data.clusters import cluster_name, find_clusters
from ..exceptions import ConstraintError, InputError, repr_of
from .arguments import as_items, rho_or_price
from .constraint import (
    Constraint,
    Context,
    Inequalities,
    builder,
    inequalities,
    label_of,
    names_at,
    one_row,
    with_names,
)
from .words import names_in_words

SUPPORTED = "supported"
# Kinds that a size asked for takes the place of.
SIZES = frozenset({"max_size", "min_size", "exact_size"})
_MOST = 2**53  # that a float holds exactly


def _size(n: Any, rho: Any, price: Any) -> dict[str, Any]:
    return {"n": check_int("n", n, low=0, high=_MOST), **rho_or_price(rho, price)}


def _limited(context: Context, n: int, rho: float, sign: float, text: str) -> Inequalities:
    n_features = len(context.index.names)
    if isinstance(n, str):
        rule = "is 'supported', a number that needs the data; compute it first: max_size(related.supported(selection))."
        raise ConstraintError(f"max_size: n {rule}", argument="n", value=SUPPORTED, rule=rule)
    return inequalities(one_row(np.arange(n_features), sign, n_features), sign * n, rho, f"{text} {n}")


@builder(partial(_limited, sign=1.0, text="max-size"), "At most {n}")
def max_size(n: Annotated[int | str, 0], *, rho: float = math.inf, price: float | None = None) -> dict[str, Any]:
    """Select at most `n` features: one inequality of ones.

    Parameters
    ----------
    n : int or "supported"
        "supported" is as many as the data support, for studies, which have the data; elsewhere pass the number that
        ``estimate_related(selection, X, y).supported(selection)`` returns.
    rho : float, default inf
        Relaxation of the paper: a set that violates the inequality by v counts with the admissibility
        2 xi / (1 + xi), where xi = exp(-rho v). Infinite is hard: the inequality always holds.
    price : float, optional
        The same in votes, in place of `rho`: what one unit of violation of one inequality costs, as a share of the
        models. With 0.2, each feature beyond the limit must have a fifth of all models' votes.

    See Also
    --------
    exact_size : Exactly so many.
    max_per_block : A limit for each block.
    cost_budget : A limit on the total cost.

    Examples
    --------
    >>> max_size(10)  # hard
    max_size(10)
    >>> max_size(10, price=0.2)  # each feature beyond ten must have a fifth of all models' votes
    max_size(10, price=0.2)
    """
    return {"n": as_size("n", n, low=0), **rho_or_price(rho, price)}


@builder(partial(_limited, sign=-1.0, text="min-size"), "At least {n}")
def min_size(n: int, *, rho: float = math.inf, price: float | None = None) -> dict[str, Any]:
    """Select at least `n` features: one inequality of minus ones.

    See Also
    --------
    max_size : At most so many.
    exact_size : Exactly so many.

    Examples
    --------
    >>> from ubayfs import log_admissibility, min_size
    >>> log_admissibility([[1, 1, 0], [1, 0, 0]], min_size(2, rho=1))  # satisfied by two, violated by one
    array([ 0.        , -0.62011451])
    """
    return _size(n, rho, price)


def exactly(n_features: int, n: int, rho: float = math.inf) -> Inequalities:
    """Return the inequalities of exactly `n` features: at most, and at least."""
    A = sparse.csr_array(np.repeat([[1.0], [-1.0]], n_features, axis=1))
    label = partial(with_names, f"exact-size {n} (at {{}})", ("most", "least"), (np.arange(2),))
    return inequalities(A, [n, -n], rho, label, f"exact-size {n}")


def _exactly(context: Context, n: int, rho: float) -> Inequalities:
    return exactly(len(context.index.names), n, rho)


@builder(_exactly, "Exactly {n}")
def exact_size(n: int, *, rho: float = math.inf, price: float | None = None) -> dict[str, Any]:
    """Select exactly `n` features: one inequality for at most, one for at least.

    See Also
    --------
    max_size : At most so many.
    min_size : At least so many.

    Examples
    --------
    >>> from ubayfs import exact_size, maximize
    >>> maximize([0.5, 0.3, 0.2], exact_size(2)).indices.tolist()
    [0, 1]
    """
    return _size(n, rho, price)


def _chosen_blocks(context: Context, kind: str, blocks: Any) -> Any:
    """Return the positions of the blocks that a limit names; all if it names none."""
    context.require_blocks(kind)
    return np.arange(len(context.blocks)) if blocks is None else context.positions(blocks, "blocks", kind, "blocks")


def _each_block(context: Context, n: int, rho: float, blocks: Any, sign: float, kind: str) -> Inequalities:
    names, chosen = context.blocks.names, _chosen_blocks(context, kind, blocks)
    A, text = sparse.csr_array(sign * context.membership[chosen].astype(np.float64)), f"{label_of(kind)} {n}: "
    sizes = np.diff(A.indptr)
    if sign < 0 and sizes.min() < n:
        of = f"the number of features of block {names[chosen[sizes.argmin()]]!r}"
        rule = f"must be at most {sizes.min()}, {of}; got {n}. Name other blocks with blocks=."
        raise ConstraintError(f"{kind}: n {rule}", argument="n", value=n, rule=rule)
    label = partial(with_names, f"{text}{{}}", names, (chosen,))
    return inequalities(A, sign * n, rho, label, f"{text}{names_at(names, chosen)}")


def _of_blocks(n: Any, rho: Any, blocks: Any, price: Any) -> dict[str, Any]:
    return {**_size(n, rho, price), "blocks": None if blocks is None else as_items("blocks", blocks)}


@builder(partial(_each_block, sign=1.0, kind="max_per_block"), "At most {n} of {blocks}")
def max_per_block(n: int, *, rho: float = math.inf, blocks: Any = None, price: float | None = None) -> dict[str, Any]:
    """Select at most `n` features of each block: one inequality per block.

    Parameters
    ----------
    blocks : str or iterable of str, optional
        The blocks that are limited; default all.

    See Also
    --------
    min_per_block : At least so many.
    max_blocks : A limit on the number of blocks.
    max_per_cluster : The same for clusters that the data have.

    Examples
    --------
    >>> max_per_block(2, blocks=["mean", "worst"])
    max_per_block(2, blocks=['mean', 'worst'])
    """
    return _of_blocks(n, rho, blocks, price)


@builder(partial(_each_block, sign=-1.0, kind="min_per_block"), "At least {n} of {blocks}")
def min_per_block(n: int, *, rho: float = math.inf, blocks: Any = None, price: float | None = None) -> dict[str, Any]:
    """Select at least `n` features of each block: one inequality per block.

    Parameters
    ----------
    blocks : str or iterable of str, optional
        The blocks that are represented; default all.

    See Also
    --------
    max_per_block : At most so many.

    Examples
    --------
    >>> from ubayfs import maximize, max_size, min_per_block
    >>> blocks = {"blood": ["a", "b"], "imaging": ["c", "d"]}
    >>> limits = [max_size(2), min_per_block(1)]
    >>> maximize([0.5, 0.3, 0.1, 0.2], limits, feature_names=list("abcd"), blocks=blocks).features
    ('a', 'd')
    """
    return _of_blocks(n, rho, blocks, price)


def _each_cluster(context: Context, n: int, threshold: float, rho: float) -> Inequalities:
    names, clusters = context.index.names, find_clusters(context.values("max_per_cluster"), threshold)
    limited = [members for members in clusters if len(members) > n]
    A = sparse.csr_array(sets_matrix(limited, len(names)), dtype=np.float64)
    limited_names = [cluster_name(names, members) for members in limited]
    label = partial(with_names, f"max-per-cluster {n}: {{}}", limited_names, (np.arange(len(limited_names)),))
    kinds = f"{counted(len(limited_names), 'cluster')} of features" if limited_names else "no cluster"
    return inequalities(A, n, rho, label, f"max-per-cluster {n}: {kinds} with correlations above {threshold:g}")


@builder(_each_cluster, "At most {n} of each cluster with correlations above {threshold}", needs_data=True)
def max_per_cluster(
    n: int = 1, threshold: float = 0.9, *, rho: float = math.inf, price: float | None = None
) -> dict[str, Any]:
    """Select at most `n` features of each cluster that measures the same thing: one inequality per cluster.

    Clusters are those of :func:`~ubayfs.cluster_features` in the data passed as ``X=``. Of each, the features with the
    most votes are chosen.

    Parameters
    ----------
    n : int, default 1
    threshold : float in [0, 1), default 0.9
        Every two features of a cluster have an absolute correlation above it.

    See Also
    --------
    decorrelate : A price for each pair of correlated features.
    cluster_features : The clusters.

    Examples
    --------
    >>> max_per_cluster(price=0.2)
    max_per_cluster(price=0.2)
    """
    threshold = check_real("threshold", threshold, low=0.0, high=1.0, high_open=True)
    return {**_size(n, rho, price), "threshold": threshold}


def _number_of_blocks(context: Context, n: int, rho: float, blocks: Any) -> Inequalities:
    chosen = _chosen_blocks(context, "max_blocks", blocks)
    of = "" if blocks is None else f": {names_at(context.blocks.names, chosen)}"
    return inequalities(one_row(chosen, 1.0, len(context.blocks)), n, rho, f"max-blocks {n}{of}", on="blocks")


def _blocks_in_words(arguments: Mapping[str, Any]) -> str:
    if arguments["blocks"] is None:
        return f"Features of at most {counted(arguments['n'], 'block')}"
    return f"Features of at most {arguments['n']} of the blocks {names_in_words(arguments['blocks'])}"


@builder(_number_of_blocks, _blocks_in_words)
def max_blocks(n: int, *, rho: float = math.inf, blocks: Any = None, price: float | None = None) -> dict[str, Any]:
    """Select features of at most `n` blocks: one inequality on blocks.

    Parameters
    ----------
    blocks : str or iterable of str, optional
        The blocks that are counted; default all.

    See Also
    --------
    max_per_block : At most so many features of each block.

    Examples
    --------
    >>> from ubayfs import max_blocks, maximize
    >>> blocks = {"blood": [0, 1], "imaging": [2]}
    >>> maximize([0.5, 0.2, 0.3], max_blocks(1), blocks=blocks).indices.tolist()
    [0, 1]
    """
    return _of_blocks(n, rho, blocks, price)


def size_limit(constraints: Iterable[Constraint | None]) -> int | None:
    """Return the most features of a set by constraints on its size, hard or soft; None if there are none.

    >>> size_limit([max_size(10), exact_size(7), max_per_block(2)])
    7
    """
    sizes = [dict(c.arguments) for c in constraints if c is not None and c.kind in ("max_size", "exact_size")]
    return min(
        (size["n"] for size in sizes if isinstance(size["n"], int) and (size.get("rho") or size.get("price"))),
        default=None,
    )


# -- as many features as the data support: a word in place of a size ---------------------------------------------------


def as_size(name: str, value: Any, low: int) -> int | str:
    """Return the most features: a whole number, or the word; any other word is refused with the one that was meant."""
    if not isinstance(value, str):
        return check_int(name, value, low=low, high=_MOST)
    if value != SUPPORTED:
        hint = did_you_mean(value, [SUPPORTED])
        rule = f"must be a whole number >= {low} or {SUPPORTED!r}; got {repr_of(value)}.{hint}"
        raise InputError.of(name, rule, value)
    return value


def has_data_driven_size(constraint: Constraint) -> bool:
    """Return whether a size is the number of features that the data support, whichever number stands there now."""
    return constraint.kind == "max_size" and SUPPORTED in (constraint.note, dict(constraint.arguments).get("n"))


def with_supported(constraints: Iterable[Constraint], n: int | str) -> tuple[Constraint, ...]:
    """Return constraints with the number that "supported" stands for; another one can take its place later.

    >>> from ubayfs import max_size
    >>> with_supported([max_size("supported"), max_size(9)], 3)
    (max_size(3), max_size(9))
    """
    return tuple(
        replace(constraint, arguments=tuple((dict(constraint.arguments) | {"n": n}).items()), note=SUPPORTED)
        if has_data_driven_size(constraint)
        else constraint
        for constraint in constraints
    )
