"""A study file for a table, to begin with: each line is explained, the roles of the columns are a guess to correct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from .._plain import listed
from ..data.blocks import members_by_prefix
from ..ensemble.features_per_model import features_per_model
from ..knowledge.scale import UNLIKELY_PRICE, VOTES
from ..selectors import DEFAULT_SELECTOR
from .schema import SECTIONS
from .yaml_io import dump_inline

if TYPE_CHECKING:
    from ..tables import Table
    from ..tables.column_roles import ColumnRoles, Target

# What init found out, beside the meaning of a key.
_AS_FOUND = {
    "features_in": "; a guess",
    "duplicates": "; choose one of the others: names occur several times",
    "below_detection": "; there are such values",
}

_SIZE = 10
_SHOWN = 3  # classes and names that a comment lists

_HEADER = """\
# Study file of ubayfs: what to select from, and what you know. Lines that begin with # are comments.
# ubayfs check <this file> shows what would run; ubayfs select <this file> runs it.
"""
_PRIOR = f"""\
# What you know of single features, in votes of models, or in words:
#   very likely = as if all models had selected it; likely = {100 * (VOTES["likely"] or 0):.0f} % of them;
#   neutral = the models decide; unlikely = taken only if it has over {100 * UNLIKELY_PRICE:.0f} % of all models' votes
#   more than the feature it displaces.
prior:
"""
_CONSTRAINTS = """\
# What the set must look like. A constraint is hard unless it has a price: what a violation costs, as a share of
# the models (0.1 is a tenth of their votes).
constraints:
"""

_OTHER_BLOCKS = """\
# Or one of these lines:
# blocks: blocks.csv                # table with the columns feature and block; it may be the knowledge table
# blocks: {prefix: ":"}             # the part of the names before the sign, such as mrna and mirna in mrna:TP53
"""


def template(
    table: Table, data_path: Any, target: Target = None, sheet: str | None = None, layout: Mapping[str, Any] = {}
) -> str:
    """Return a commented study file for a table.

    Parameters
    ----------
    table : Table
    data_path : str or path
        How the file shall name the table: relative to its own folder. Several by the names of their blocks.
    target : str or SurvivalColumns, optional
        Column to explain, or those of time and event; default: the likeliest one.
    sheet : str, optional
        Sheet of an Excel file that the table was read from.
    layout : mapping
        Further keys of the data that say how files became the table, such as samples and features_in.

    Returns
    -------
    text : str
        YAML. It can be run as it is if the columns were inferred rightly, and once a target is chosen where several
        columns may be it.
    """
    return starter_text(table, data_path, target, sheet, layout)[0]


def starter_text(
    table: Table, data_path: Any, target: Target = None, sheet: str | None = None, layout: Mapping[str, Any] = {}
) -> tuple[str, ColumnRoles]:
    """Return what :func:`template` returns, and the roles of the columns that were inferred for it."""
    from ..tables.column_roles import infer_columns

    roles = infer_columns(table, target)
    n = max(1, min(_SIZE, len(roles.features) // 2))
    per_model = str(features_per_model(None, len(roles.features)))
    selector = "laplacian" if roles.is_unsupervised else DEFAULT_SELECTOR
    ensemble = ("selector", "n_models", "train_size", "n_features_per_model", "seed")
    parts = [
        _HEADER + _title(data_path),
        "data:\n" + _data(table, data_path, sheet, roles, target is None, layout),
        _section("evidence", *ensemble, selector=selector, n_features_per_model=per_model),
        _PRIOR + _prior(roles),
        _blocks(roles, table),
        _CONSTRAINTS + _constraints(roles, n),
        _section("decision", "constraint_strength", "optimizer", "min_votes", "n_alternatives"),
        "trust:\n" + _line("trust", "level", "full", active=False),
        _section("outputs", "directory", "figures", "reduced_table"),
        f"# The defaults of this version hold for keys that are not here.\nversions:\n  ubayfs: {__version__}\n",
    ]
    return "\n".join(parts), roles


def _title(path: Any) -> str:
    several = isinstance(path, Mapping) or not str(path)
    entry = "# title: NAME" if several else f"title: {dump_inline(Path(path).name.split('.')[0] or str(path))}"
    return f"{entry:<34}  # heads the report\n"


def _line(section: str, key: str, value: str, note: str = "", active: bool = True) -> str:
    """Return a line with the help of its key, and what is known of it here, as a comment."""
    entry = f"  {key}: {value}" if active else f"  # {key}: {value}"
    return f"{entry:<34}  # {SECTIONS[section].keys()[key].text}{note}\n"


def _section(name: str, *keys: str, **values: str) -> str:
    """Return a section with some of its keys, which have their defaults where nothing else is given."""
    lines = [_line(name, key, values.get(key, SECTIONS[name].default_text(key))) for key in keys]
    return f"{name}:\n{''.join(lines)}"


def _listed(names: Sequence[Any], limit: int = _SHOWN) -> str:
    return listed([dump_inline(str(name)) for name in names[:limit]], limit, len(names))


def _data(
    table: Table, path: Any, sheet: str | None, roles: ColumnRoles, inferred: bool, layout: Mapping[str, Any]
) -> str:
    named = {block: str(file) for block, file in path.items()} if isinstance(path, Mapping) else str(path)
    text = _line("data", "path", dump_inline(named))
    for key, value in layout.items():
        text += _line("data", key, dump_inline(value), _AS_FOUND.get(key, ""))
    if sheet is not None:
        others = f"; its other sheets: {_listed(table.other_sheets, 8)}" if table.other_sheets else ""
        text += _line("data", "sheet", dump_inline(sheet), others)
    text += _target(table, roles, inferred)
    if roles.task is not None:
        text += _line("data", "task", roles.task, "; these are whole numbers with many values")
    text += _line("data", "groups", dump_inline(roles.groups or "NAME"), active=roles.groups is not None)
    text += _line("data", "adjust_for", dump_inline(roles.covariates or ["age", "batch"]), active=False)
    ignored = dump_inline(roles.ignored) if roles.ignored else '[NAME, "id*"]'
    text += _line("data", "ignore", ignored, active=bool(roles.ignored))
    scale = next((name for name in roles.features if name in roles.words), None)
    if scale is not None:
        labels = sorted(map(str, table.frame[scale].dropna().unique()))
        text += _line("data", "ordered", dump_inline({scale: labels}), active=False)
    note = f"; {roles.n_missing} cells are empty" if roles.n_missing else ""
    return text + _line("data", "missing", "available" if roles.n_missing else "error", note)


def _target(table: Table, roles: ColumnRoles, inferred: bool) -> str:
    from ..tables import TO_BE_CHOSEN
    from ..tables.coding import with_targets
    from ..tables.column_roles import is_censoring, n_events

    if roles.is_undecided:
        question = (
            "  # Which column is to be explained? Name it here, or remove the line for a selection without target.\n"
        )
        return question + _line(
            "data", "target", dump_inline(TO_BE_CHOSEN), f"; for example {_listed(roles.candidates, 5)}"
        )
    if roles.survival is not None:
        note = f"{'; a guess' if inferred else ''}: {n_events(table, **roles.survival)} events"
        note += "; is the event 1, and not 0?" if is_censoring(roles.survival["event"]) else ""
        return _line("data", "target", dump_inline(dict(roles.survival)), note)
    if roles.target is None:
        return _line("data", "target", "NAME", "; none was found, so the study is unsupervised", active=False)
    counts = with_targets(table, [roles.target], roles.task).frame[roles.target].value_counts()
    values = ", ".join(f"{dump_inline(str(value))} ({count})" for value, count in counts.items())
    if len(counts) > _SHOWN * 2:
        values = f"{len(counts)} different values"
    text = _line("data", "target", dump_inline(roles.target), f"{'; a guess' if inferred else ''}: {values}")
    if roles.candidates:
        also = "" if table.annotations else " (else features)"
        text += f"  # Other columns that may be a target{also}: {_listed(roles.candidates, 5)}\n"
    return text


def _prior(roles: ColumnRoles) -> str:
    names = [dump_inline(name) for name in roles.features[:3]]
    text = _line("prior", "kind", "dirichlet") + "  # weights:\n  #   features:\n"
    for name, word in zip(names, ("very likely", "5", "unlikely"), strict=False):
        text += f"  #     {name}: {word}\n"
    if roles.features:
        first, separator = roles.features[0], roles.separator or ""
        prefix = first.partition(separator)[0] if separator and separator in first else ""
        pattern = f"{prefix}{separator}*" if prefix else f"{first[:4]}*"
        text += f"  #   patterns:\n  #     {dump_inline(pattern)}: likely\n"
    text += _line("prior", "table", "knowledge.csv", active=False)
    return text + "  # A row of that table without a feature states the weight of its block.\n"


def _blocks(roles: ColumnRoles, table: Table) -> str:
    if table.blocks is not None:
        return "# Groups of features for constraints and weights: here the files, unless you list others.\n# blocks:\n"
    if roles.separator is None:
        some = dump_inline(list(roles.features[:2]))
        meaning = "# Groups of features for constraints and weights, by name or pattern:"
        return f"{meaning}\n# blocks:\n#   my block: {some}\n{_OTHER_BLOCKS}"
    blocks = list(members_by_prefix(roles.features, roles.separator))
    entry = f'  prefix: "{roles.separator}"'
    return (
        "# Groups of features for constraints and weights: here the part of the name before a separator.\n"
        "# They can also be listed, as in  size: [radius, area], or stand in a table, as in  blocks: blocks.csv.\n"
        f"blocks:\n{entry:<34}  # gives {_listed(blocks)}\n"
    )


def _constraints(roles: ColumnRoles, n: int) -> str:
    lines = [
        f"  - max_size: {n}",
        "  # - decorrelate: 0.8            # avoid pairs of features with a rank correlation above 0.8",
    ]
    names = list(roles.features[:4])
    if len(names) > 1:
        softly = {"features": names[-2:], "price": 0.2}
        lines.append(f"  # - must_link: {dump_inline(names[:2])}    # both or none")
        lines.append(f"  # - cannot_link: {dump_inline(softly)}    # not both, if it costs few votes")
    if names:
        lines.append(f"  # - require: {dump_inline(names[:1])}    # always selected")
        lines.append(f"  # - exclude: {dump_inline(names[-1:])}    # never selected; patterns are allowed")
    if roles.separator is not None:
        lines.append("  # - max_per_block: 2            # at most two features of each block")
    return "\n".join(lines) + "\n"
