"""Blocks: named groups of features. They may overlap and need not cover all features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from .._arguments import FeatureIndex, Ints, did_you_mean, entries_of
from ..exceptions import Advice, ConstraintError, repr_of


@dataclass(frozen=True)
class Blocks:
    """Named groups of features, by feature name or position, not yet tied to a data set.

    Parameters
    ----------
    members : mapping of str to iterable of str or int
        Block name -> its features.
    are_gene_sets : bool, default False
        Gene sets share many features: of different weights of a feature the highest counts.
    notes : tuple of Advice
        Names of gene sets that are not in the data, and those that were found by an alias.

    See Also
    --------
    max_per_block : At most so many features of each block.
    max_blocks : At most so many blocks.
    cluster_features : Blocks that the data have.

    Examples
    --------
    >>> blocks = Blocks({"size": ["radius", "area"], "shape": ["concavity"]})
    >>> blocks.names
    ('size', 'shape')
    >>> blocks.matrix(["radius", "area", "concavity"]).toarray().astype(int)
    array([[1, 1, 0],
           [0, 0, 1]])
    """

    members: Mapping[str, tuple[str | int, ...]]
    are_gene_sets: bool = field(default=False, compare=False, repr=False)
    notes: tuple[Advice, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.members, Mapping):
            raise ConstraintError.of(
                "blocks",
                f"must be a mapping of names to features; got {type(self.members).__name__}. Blocks.of reads tables.",
            )
        members = {}
        for name, features in dict(self.members).items():
            if not isinstance(name, str):
                raise ConstraintError.of("blocks", f"must have names that are strings; got {repr_of(name)}.")
            single = isinstance(features, str | int | np.integer)
            entries = entries_of(f"block {name!r}", [features] if single else features, ConstraintError)
            if entries is None:
                rule = f"block {name!r} must list its features; got {repr_of(features)}."
                raise ConstraintError(rule, argument="blocks")
            members[name] = tuple(entries)
            if not members[name]:
                raise ConstraintError(
                    f"block {name!r} has no features; leave it out or name its members.", argument="blocks"
                )
        object.__setattr__(self, "members", members)

    @classmethod
    def of(cls, blocks: Any) -> Blocks:
        """Make Blocks of a mapping name -> features, a frame with columns feature and block, or Blocks.

        None gives no blocks at all.
        """
        if blocks is None:
            return cls({})
        if isinstance(blocks, Blocks):
            return blocks
        if isinstance(blocks, Mapping):
            return cls(blocks)
        if hasattr(blocks, "columns") and hasattr(blocks, "to_numpy"):
            from pandas import isna

            from .headings import heading_of

            features, names = (heading_of(column, list(blocks.columns)) for column in ("feature", "block"))
            missing = [column for column, heading in (("block", names), ("feature", features)) if heading is None]
            if missing:
                raise ConstraintError.of(
                    "blocks",
                    f"as a frame needs the columns 'feature' and 'block'; {missing} missing "
                    f"among {list(map(str, blocks.columns))}.",
                )
            members: dict[str, list[Any]] = {}
            for feature, block in zip(blocks[features], blocks[names], strict=True):
                # Rows without a block are features outside all blocks.
                if not isna(block):
                    members.setdefault(_block_name(block), []).append(feature)
            return cls({name: tuple(features) for name, features in members.items()})
        raise ConstraintError.of(
            "blocks",
            "must be a mapping of names to features, a DataFrame with columns 'feature' and 'block', "
            f"or Blocks; got {type(blocks).__name__}. Blocks.from_gene_sets reads files.",
        )

    @classmethod
    def from_gene_sets(cls, source: Any, feature_names: Any, only: Iterable[str] = (), aliases: Any = None) -> Blocks:
        """Make blocks of gene sets: those of their genes that are features of the data.

        Parameters
        ----------
        source : path, DataFrame or Knowledge
            A GMT file, a CSV of gene sets as cellxgene has it, or a table with the columns feature and block.
        feature_names : array-like of str of shape (n_features,)
        only : iterable of str, optional
            Names or patterns of the gene sets that are wanted, such as ``"*_SIGNALING"``.
        aliases : path, mapping of alias to name, or DataFrame, optional
            Old symbols and synonyms; see :func:`~ubayfs.read_knowledge`.

        Returns
        -------
        blocks : Blocks
            Gene sets without any feature of the data are left out. `notes` lists the names that are not in the data.
        """
        from ..knowledge.matching import gene_set_blocks

        return gene_set_blocks(source, feature_names, only, aliases)

    @property
    def names(self) -> tuple[str, ...]:
        """Block names in the order given."""
        return tuple(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def position(self, name: Any, argument: str) -> int:
        """Return the position of a block given by name, or by position counted from 0."""
        if isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= name < len(self):
            return int(name)
        if not isinstance(name, str) or name not in self.members:
            shown = ", ".join(map(repr, self.names[:8])) or "none were given; pass blocks="
            raise ConstraintError.of(
                argument,
                f"names block {name!r}, which is not a block.{did_you_mean(name, self.names)} Known blocks: {shown}.",
            )
        return self.names.index(name)

    def matrix(self, feature_names: Any) -> sparse.csr_array:
        """Return the membership matrix, a csr_array of bool of shape (n_blocks, n_features)."""
        index = feature_names if isinstance(feature_names, FeatureIndex) else FeatureIndex(feature_names)
        columns = [
            index.positions(features, f"block {name!r}", ConstraintError) for name, features in self.members.items()
        ]
        return sets_matrix(columns, len(index.names))


def members_by_prefix(names: Iterable[str], separator: str) -> dict[str, list[str]]:
    """Return the features of each block: those whose names are the same up to the first separator.

    Examples
    --------
    >>> members_by_prefix(["mean radius", "mean area", "id"], " ")
    {'mean': ['mean radius', 'mean area']}
    """
    members: dict[str, list[str]] = {}
    for name in names:
        prefix, separated, _ = name.partition(separator)
        if separated and prefix:
            members.setdefault(prefix, []).append(name)
    return members


def sets_matrix(sets: Sequence[Ints], n_features: int) -> sparse.csr_array:
    """Return sets, each given by the positions of its members, as a csr_array of bool, one row per set."""
    indptr = np.concatenate([[0], np.cumsum([len(members) for members in sets], dtype=np.int64)])
    indices = np.concatenate([np.empty(0, dtype=np.intp), *sets])
    return sparse.csr_array((np.ones(len(indices), dtype=bool), indices, indptr), shape=(len(sets), n_features))


def _block_name(value: Any) -> str:
    # A column of whole numbers with gaps is read as floats; 2.0 is still block "2".
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
