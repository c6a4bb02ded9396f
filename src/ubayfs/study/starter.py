"""A study file to begin with, filled with what the table suggests and explained line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .infer_columns import ColumnRoles, infer_columns
from .schema import SECTIONS
from .weights import UNLIKELY_RHO, VOTES
from .yaml_io import dump_scalar

if TYPE_CHECKING:
    from ..tables import Table

_SIZE = 10
_SHOWN = 3  # classes and names that a comment lists

_HEADER = """\
# Study file of ubayfs: what to select from, and what you know. Lines that begin with # are comments.
# ubayfs check <this file> shows what would run; ubayfs select <this file> runs it.
"""
_PRIOR = f"""\
# What you know of single features, in votes of models, or in words:
#   very likely = as if all models had chosen it; likely = {100 * (VOTES["likely"] or 0):.0f} % of them;
#   neutral = the models decide; unlikely = avoided, which costs as much as a constraint of rho {UNLIKELY_RHO:g}.
prior:
"""
_CONSTRAINTS = """\
# What the set must look like. rho is how much a violation costs: 0.1 is a mild wish, 1 rarely gives way,
# hard never does.
constraints:
"""


def template(table: Table, data_path: Any, target: str | None = None, sheet: str | None = None) -> str:
    """Return a commented study file for a table.

    Parameters
    ----------
    table : Table
    data_path : str or path
        How the file shall name the table: relative to its own folder.
    target : str, optional
        Column to explain; default: the likeliest one.
    sheet : str, optional
        Sheet of an Excel file that the table was read from.

    Returns
    -------
    text : str
        YAML. It can be run as it is if the columns were inferred rightly, and once a target is chosen where several
        columns may be it.
    """
    return starter_text(table, data_path, target, sheet)[0]


def starter_text(
    table: Table, data_path: Any, target: str | None = None, sheet: str | None = None
) -> tuple[str, ColumnRoles]:
    """Return what :func:`template` returns, and the roles of the columns that were inferred for it."""
    roles = infer_columns(table, target)
    n = max(1, min(_SIZE, len(roles.features) // 2))  # a model that takes every feature tells nothing
    selector = "laplacian" if roles.target is None and not roles.is_undecided else "mrmr"
    evidence = {
        "selector": selector,
        "n_models": "100",
        "train_size": "0.75",
        "n_features_per_model": str(n),
        "seed": "0",
    }
    decision = {"constraint_strength": "1", "optimizer": "exact", "min_votes": "0", "n_alternatives": "5"}
    outputs = {"directory": "results", "figures": "[png]", "reduced_table": "false"}
    parts = [
        _HEADER,
        "data:\n" + _data(table, str(data_path), sheet, roles, target is None),
        "evidence:\n" + _lines("evidence", evidence),
        _PRIOR + _prior(roles),
        _blocks(roles),
        _CONSTRAINTS + _constraints(roles, n),
        "decision:\n" + _lines("decision", decision),
        "outputs:\n" + _lines("outputs", outputs),
    ]
    return "\n".join(parts), roles


def _line(section: str, key: str, value: str, note: str = "", active: bool = True) -> str:
    """Return a line with the help of its key, and what is known of it here, as a comment."""
    entry = f"  {key}: {value}" if active else f"  # {key}: {value}"
    return f"{entry:<34}  # {SECTIONS[section].keys()[key].text}{note}\n"


def _lines(section: str, values: dict[str, str]) -> str:
    return "".join(_line(section, key, value) for key, value in values.items())


def _listed(names: Sequence[Any], limit: int = _SHOWN) -> str:
    shown = ", ".join(dump_scalar(str(name)) for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _data(table: Table, path: str, sheet: str | None, roles: ColumnRoles, inferred: bool) -> str:
    text = _line("data", "path", dump_scalar(path))
    if sheet is not None:
        others = f"; its other sheets: {_listed(table.other_sheets, 8)}" if table.other_sheets else ""
        text += _line("data", "sheet", dump_scalar(sheet), others)
    text += _target(table, roles, inferred)
    if roles.task is not None:
        text += _line("data", "task", roles.task, "; these are whole numbers with many values")
    text += _line("data", "groups", dump_scalar(roles.groups or "NAME"), active=roles.groups is not None)
    ignored = ", ".join(dump_scalar(name) for name in roles.ignored) or 'NAME, "id*"'
    text += _line("data", "ignore", f"[{ignored}]", active=bool(roles.ignored))
    note = f"; {roles.n_missing} cells are empty" if roles.n_missing else ""
    return text + _line("data", "missing", "median" if roles.n_missing else "error", note)


def _target(table: Table, roles: ColumnRoles, inferred: bool) -> str:
    from ..tables import TO_BE_CHOSEN

    if roles.is_undecided:
        question = (
            "  # Which column is to be explained? Name it here, or remove the line for a selection without target.\n"
        )
        return question + _line(
            "data", "target", dump_scalar(TO_BE_CHOSEN), f"; for example {_listed(roles.candidates, 5)}"
        )
    if roles.target is None:
        return _line("data", "target", "NAME", "; none was found, so the study is unsupervised", active=False)
    counts = table.frame[roles.target].value_counts()
    values = ", ".join(f"{dump_scalar(str(value))} ({count})" for value, count in counts.items())
    if len(counts) > _SHOWN * 2:
        values = f"{len(counts)} different values"
    text = _line("data", "target", dump_scalar(roles.target), f"{'; a guess' if inferred else ''}: {values}")
    if roles.candidates:
        text += f"  # Other columns that may be a target (else features): {_listed(roles.candidates, 5)}\n"
    return text


def _prior(roles: ColumnRoles) -> str:
    names = [dump_scalar(name) for name in roles.features[:3]]
    text = _line("prior", "kind", "dirichlet") + "  # weights:\n  #   features:\n"
    for name, word in zip(names, ("very likely", "5", "unlikely"), strict=False):
        text += f"  #     {name}: {word}\n"
    if roles.features:
        first, separator = roles.features[0], roles.separator
        prefix = "" if separator is None else _prefix(first, separator)
        pattern = f"{prefix}{separator}*" if prefix else f"{first[:4]}*"
        text += f"  #   patterns:\n  #     {dump_scalar(pattern)}: likely\n"
    return text + _line("prior", "table", "knowledge.csv", active=False)


def _prefix(name: str, separator: str) -> str:
    prefix, found, _ = name.partition(separator)
    return prefix if found else ""


def _blocks(roles: ColumnRoles) -> str:
    if roles.separator is None:
        some = ", ".join(dump_scalar(name) for name in roles.features[:2])
        meaning = "# Groups of features for constraints and weights, by name or pattern:"
        return f"{meaning}\n# blocks:\n#   my block: [{some}]\n"
    prefixes = list(dict.fromkeys(_prefix(name, roles.separator) for name in roles.features))
    entry = f'  prefix: "{roles.separator}"'
    return (
        "# Groups of features for constraints and weights: here the part of the name before a separator.\n"
        "# They can also be listed, as in  size: [radius, area].\n"
        f"blocks:\n{entry:<34}  # gives {_listed([prefix for prefix in prefixes if prefix])}\n"
    )


def _constraints(roles: ColumnRoles, n: int) -> str:
    lines = [
        f"  - max_size: {{n: {n}, rho: hard}}",
        "  # - decorrelate: 0.8            # avoid pairs of features with a rank correlation above 0.8",
    ]
    names = [dump_scalar(name) for name in roles.features[:4]]
    if len(names) > 1:
        lines += [
            f"  # - must_link: {{features: [{names[0]}, {names[1]}], rho: 1}}    # both or none",
            f"  # - cannot_link: {{features: [{names[-2]}, {names[-1]}], rho: 1}}    # not both",
        ]
    if names:
        lines += [
            f"  # - require: [{names[0]}]    # always selected",
            f"  # - exclude: [{names[-1]}]    # never selected; patterns are allowed",
        ]
    if roles.separator is not None:
        lines.append("  # - max_per_block: 2            # at most two features of each block")
    return "\n".join(lines) + "\n"
