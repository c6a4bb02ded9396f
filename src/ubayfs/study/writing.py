"""A study as plain types: what differs from the defaults, and what a reader needs to see."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ..data.blocks import Blocks
from .knowledge import PrefixBlocks, TableBlocks, Weights
from .named import OPTIMIZER, PRIOR, SELECTOR, plain_named
from .sections import DataSection, OutputSection, PriorSection, Section
from .terms import plain_number

# Written even when they are defaults: the first things that a reader asks.
_ALWAYS = {
    "data": {"path", "target"},
    "evidence": {"selector", "n_models", "seed"},
    "decision": {"constraint_strength", "optimizer", "seed"},
}


def plain_section(section: Section) -> dict[str, Any]:
    """Return a section as it is written to a file."""
    shown = {}
    for one in fields(section):  # type: ignore[arg-type]
        value = getattr(section, one.name)
        if value != one.default or one.name in _ALWAYS.get(section.key, ()):
            shown[one.name] = _plain(section, one.name, value)
    return shown


def _plain(section: Section, name: str, value: Any) -> Any:
    if name == "selector":
        return plain_named(SELECTOR, value)
    if name == "optimizer":
        return plain_named(OPTIMIZER, value)
    if isinstance(section, PriorSection) and name == "kind":
        return plain_named(PRIOR, value)
    if isinstance(value, Weights):
        return plain_weights(value)
    return [plain_number(one) for one in value] if isinstance(value, tuple) else plain_number(value)


def plain_weights(weights: Weights) -> float | dict[str, Any]:
    """Return weights as they are written to a file: one number if nothing else is said."""
    levels = {
        level: {name: plain_number(belief) for name, belief in beliefs}
        for level in ("features", "patterns", "blocks")
        if (beliefs := getattr(weights, level))
    }
    if not levels:
        return plain_number(weights.default)
    return levels if weights.default == Weights().default else {"default": plain_number(weights.default), **levels}


def plain_blocks(blocks: Blocks | PrefixBlocks | TableBlocks) -> dict[str, Any]:
    """Return blocks as they are written to a file."""
    if isinstance(blocks, PrefixBlocks):
        return {"prefix": blocks.prefix}
    if isinstance(blocks, TableBlocks):
        return {"table": blocks.table} | ({} if blocks.sheet is None else {"sheet": blocks.sheet})
    return {name: list(members) for name, members in blocks.members.items()}


def moved_path(path: str, old: Path, new: Path) -> str:
    """Return a path that is relative to one folder as one relative to another.

    Examples
    --------
    >>> moved_path("data.csv", Path("/home/lab"), Path("/home/lab/results"))
    '../data.csv'
    """
    if os.path.isabs(path) or old == new:
        return path
    target = os.path.abspath(old / path)
    try:
        return Path(os.path.relpath(target, new)).as_posix()
    except ValueError:  # another drive
        return Path(target).as_posix()


def moved_sections(
    data: DataSection, prior: PriorSection, blocks: Any, outputs: OutputSection, old: Path, new: Path
) -> dict[str, Any]:
    """Return the parts of a study that hold paths, for a file in another folder."""
    table = None if prior.table is None else moved_path(prior.table, old, new)
    if isinstance(blocks, TableBlocks):
        blocks = replace(blocks, table=moved_path(blocks.table, old, new))
    return {
        "data": replace(data, path=moved_path(data.path, old, new)),
        "prior": replace(prior, table=table),
        "blocks": blocks,
        "outputs": replace(outputs, directory=moved_path(outputs.directory, old, new)),
    }
