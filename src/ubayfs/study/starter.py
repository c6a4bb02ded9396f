"""A study file to begin with: the roles of the columns are inferred for a person to correct, each line is explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import did_you_mean
from ..data.reading_rules import SurvivalColumns, target_columns
from ..ensemble.features_per_model import features_per_model
from ..exceptions import InputError
from ..knowledge.scale import UNLIKELY_PRICE, VOTES
from .names import PrefixBlocks
from .schema import SECTIONS
from .survival_roles import infer_survival, n_events
from .yaml_io import dump_scalar

if TYPE_CHECKING:
    import pandas as pd

    from ..tables import Table

Target = str | SurvivalColumns | None

# Words in names of columns, the most telling first.
_TARGET_WORDS = (
    "target", "diagnosis", "class", "label", "outcome", "y", "response", "phenotype", "status", "condition", "disease",
    "subtype", "species", "group", "cls", "event", "survival", "case",
)  # fmt: skip
_SEPARATORS = ("_", ".", "-", " ")

_FEW_VALUES = 20  # distinct values of a column of classes, at most
_MANY_CLASSES = 20  # whole numbers with more distinct values than this are a quantity
_FEWEST_GROUPS = 4
_MOST_BLOCKS = 50
_MOST_CANDIDATES = 5
_MOST_CODES = 10  # distinct whole numbers of a column that may code classes, such as 0 and 1
_FEWEST_IN_BLOCK = 2

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
#   very likely = as if all models had chosen it; likely = {100 * (VOTES["likely"] or 0):.0f} % of them;
#   neutral = the models decide; unlikely = taken only if it has over {100 * UNLIKELY_PRICE:.0f} % of all models' votes
#   more than the feature it displaces.
prior:
"""
_CONSTRAINTS = """\
# What the set must look like. price is what a violation costs, as a share of the models: 0.1 is a tenth of
# their votes; 'rho: hard' never gives way, and rho is 1 where neither is given, which rarely does.
constraints:
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
    roles = infer_columns(table, target)
    n = max(1, min(_SIZE, len(roles.features) // 2))
    per_model = str(features_per_model(None, len(roles.features)))
    selector = "laplacian" if roles.is_unsupervised else "mrmr"
    ensemble = ("selector", "n_models", "train_size", "n_features_per_model", "seed")
    parts = [
        _HEADER,
        "data:\n" + _data(table, data_path, sheet, roles, target is None, layout),
        _section("evidence", *ensemble, selector=selector, n_features_per_model=per_model),
        _PRIOR + _prior(roles),
        _blocks(roles, table),
        _CONSTRAINTS + _constraints(roles, n),
        _section("decision", "constraint_strength", "optimizer", "min_votes", "n_alternatives"),
        "trust:\n" + _line("trust", "level", "full", active=False),
        _section("outputs", "directory", "figures", "reduced_table"),
    ]
    return "\n".join(parts), roles


def _line(section: str, key: str, value: str, note: str = "", active: bool = True) -> str:
    """Return a line with the help of its key, and what is known of it here, as a comment."""
    entry = f"  {key}: {value}" if active else f"  # {key}: {value}"
    return f"{entry:<34}  # {SECTIONS[section].keys()[key].text}{note}\n"


def _section(name: str, *keys: str, **given: str) -> str:
    """Return a section with some of its keys, which have their defaults where nothing else is given."""
    lines = [_line(name, key, given.get(key, SECTIONS[name].default_text(key))) for key in keys]
    return f"{name}:\n{''.join(lines)}"


def _listed(names: Sequence[Any], limit: int = _SHOWN) -> str:
    shown = ", ".join(dump_scalar(str(name)) for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _data(
    table: Table, path: Any, sheet: str | None, roles: ColumnRoles, inferred: bool, layout: Mapping[str, Any]
) -> str:
    if isinstance(path, Mapping):
        named = ", ".join(f"{dump_scalar(block)}: {dump_scalar(str(file))}" for block, file in path.items())
        text = _line("data", "path", f"{{{named}}}")
    else:
        text = _line("data", "path", dump_scalar(str(path)))
    for key, value in layout.items():
        text += _line("data", key, dump_scalar(value), _AS_FOUND.get(key, ""))
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
    return text + _line("data", "missing", "available" if roles.n_missing else "error", note)


def _target(table: Table, roles: ColumnRoles, inferred: bool) -> str:
    from ..tables import TO_BE_CHOSEN
    from ..tables.features import with_targets

    if roles.is_undecided:
        question = (
            "  # Which column is to be explained? Name it here, or remove the line for a selection without target.\n"
        )
        return question + _line(
            "data", "target", dump_scalar(TO_BE_CHOSEN), f"; for example {_listed(roles.candidates, 5)}"
        )
    if roles.survival is not None:
        columns = ", ".join(f"{part}: {dump_scalar(column)}" for part, column in roles.survival.items())
        n = n_events(table, **roles.survival)
        return _line("data", "target", f"{{{columns}}}", f"{'; a guess' if inferred else ''}: {n} events")
    if roles.target is None:
        return _line("data", "target", "NAME", "; none was found, so the study is unsupervised", active=False)
    counts = with_targets(table, [roles.target], roles.task)[0].frame[roles.target].value_counts()
    values = ", ".join(f"{dump_scalar(str(value))} ({count})" for value, count in counts.items())
    if len(counts) > _SHOWN * 2:
        values = f"{len(counts)} different values"
    text = _line("data", "target", dump_scalar(roles.target), f"{'; a guess' if inferred else ''}: {values}")
    if roles.candidates:
        also = "" if table.annotations else " (else features)"
        text += f"  # Other columns that may be a target{also}: {_listed(roles.candidates, 5)}\n"
    return text


def _prior(roles: ColumnRoles) -> str:
    names = [dump_scalar(name) for name in roles.features[:3]]
    text = _line("prior", "kind", "dirichlet") + "  # weights:\n  #   features:\n"
    for name, word in zip(names, ("very likely", "5", "unlikely"), strict=False):
        text += f"  #     {name}: {word}\n"
    if roles.features:
        first, separator = roles.features[0], roles.separator or ""
        prefix = first.partition(separator)[0] if separator and separator in first else ""
        pattern = f"{prefix}{separator}*" if prefix else f"{first[:4]}*"
        text += f"  #   patterns:\n  #     {dump_scalar(pattern)}: likely\n"
    return text + _line("prior", "table", "knowledge.csv", active=False)


def _blocks(roles: ColumnRoles, table: Table) -> str:
    if table.blocks is not None:
        return "# Groups of features for constraints and weights: here the files, unless you list others.\n# blocks:\n"
    if roles.separator is None:
        some = ", ".join(dump_scalar(name) for name in roles.features[:2])
        meaning = "# Groups of features for constraints and weights, by name or pattern:"
        return f"{meaning}\n# blocks:\n#   my block: [{some}]\n"
    blocks = list(PrefixBlocks(roles.separator).members(roles.features))
    entry = f'  prefix: "{roles.separator}"'
    return (
        "# Groups of features for constraints and weights: here the part of the name before a separator.\n"
        "# They can also be listed, as in  size: [radius, area].\n"
        f"blocks:\n{entry:<34}  # gives {_listed(blocks)}\n"
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


# -- the roles of the columns ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnRoles:
    """What the columns of a table seem to be."""

    target: str | None  # None when no column seems to be one, or when several do that nothing tells apart
    candidates: tuple[str, ...]  # other columns that may be a target, the likeliest first
    task: str | None  # given where it would be inferred wrongly
    groups: str | None
    ignored: tuple[str, ...]  # identifiers, and columns of text that cannot be features
    features: tuple[str, ...]
    separator: str | None  # that splits names into a block and the rest
    n_missing: int  # empty cells among the features
    survival: SurvivalColumns | None = None  # time and event, if these are the target

    @property
    def is_unsupervised(self) -> bool:
        """Whether no column seems to be a target."""
        return self.target is None and self.survival is None and not self.is_undecided

    @property
    def is_undecided(self) -> bool:
        """Whether a person has to choose the target: without one the classes would be features."""
        return self.target is None and self.survival is None and bool(self.candidates)


def infer_columns(table: Table, target: Target = None) -> ColumnRoles:
    """Infer the roles of the columns; a target that is given stays."""
    from ..tables.columns import is_number_type
    from ..tables.table import quoted

    frame = table.frame
    columns = [str(name) for name in frame.columns]
    for name in target_columns(target):
        if name not in columns:
            hint = did_you_mean(name, columns) or f" The columns are {quoted(sorted(table.annotations) or columns)}."
            rule = f"must be a column of {table.path}; got {name!r}.{hint}"
            raise InputError.of("target", rule, name)
    possible = [name for name in columns if not table.annotations or name in table.annotations]
    survival, similar = infer_survival(table, possible) if target is None else (None, [])
    if isinstance(target, SurvivalColumns):
        survival, target = target, None
    taken = {*target_columns(survival), *target_columns(target)}
    words = [name for name, dtype in zip(columns, frame.dtypes, strict=True) if not is_number_type(dtype)]
    text = {name for name in words if _is_text(frame[name], table.decimal)}
    ids = {name for name in columns if name not in taken and _is_id(name, frame, name in text, table.decimal)}
    candidates = [name for name in _targets(frame, columns, text, table.annotations) if name not in ids]
    codes = [name for name in _coded(frame, columns, table.annotations) if name not in ids and name not in candidates]
    if survival is not None:
        candidates, codes = [], []
    elif target is None and candidates:
        target = candidates[0]
    elif target is None and len(codes) == 1:  # the only column of classes
        target = codes[0]
    candidates += codes
    groups = next((name for name in columns if name not in ids | taken | {target} and _is_groups(name, frame)), None)
    roles = {target, groups, *taken, *table.annotations}
    ignored = tuple(name for name in columns if name not in roles and name in ids | text | set(similar))
    features = tuple(name for name in columns if name not in roles and name not in ignored)
    others = tuple(name for name in candidates if name not in (target, groups))[:_MOST_CANDIDATES]
    return ColumnRoles(
        target,
        others,
        None if target is None or target in text else _task(frame[target]),
        groups,
        ignored,
        features,
        _separator(features),
        int(frame[list(features)].isna().to_numpy().sum()),
        survival,
    )


def _is_text(column: pd.Series, decimal: str | None) -> bool:
    """Tell whether a column holds words; a few wrong cells among numbers are a mistake."""
    from ..tables.columns import offending, reads_as_number

    bad = offending(column, decimal)
    return 2 * int(bad.sum()) > int(column.notna().sum()) and not all(map(reads_as_number, column[bad]))


def _is_id(name: str, frame: pd.DataFrame, text: bool, decimal: str | None) -> bool:
    from ..tables.layout import ID_WORDS, numbers_rows, words

    if text:
        return bool(frame[name].is_unique)
    return not ID_WORDS.isdisjoint(words(name)) and numbers_rows(frame[name], decimal)


def _is_groups(name: str, frame: pd.DataFrame) -> bool:
    from ..tables.layout import GROUP_WORDS, words

    if GROUP_WORDS.isdisjoint(words(name)) or (column := frame[name]).isna().any():
        return False
    return _FEWEST_GROUPS <= column.nunique() < len(column)


def _targets(frame: pd.DataFrame, columns: Sequence[str], text: set[str], annotations: frozenset[str]) -> list[str]:
    """Return columns that may be the target, the likeliest first."""
    from ..tables.layout import GROUP_WORDS, words

    ranked = []
    for position, name in enumerate(columns):
        found = words(name)
        # "y" is a word of its own only; "group" and its like may be part of a name.
        ranks = [rank for rank, word in enumerate(_TARGET_WORDS) if word in found and (word != "y" or len(found) == 1)]
        of_classes = (name in text or name in annotations) and GROUP_WORDS.isdisjoint(found)
        if not ranks and not of_classes:
            continue
        n_values, complete = frame[name].nunique(), not frame[name].isna().any()
        few = 2 <= n_values <= min(_FEW_VALUES, len(frame) / 3)
        if n_values < 2 or not (few or (ranks and name not in text)):
            continue
        whole_name = bool(ranks) and len(found) == 1
        ranked.append((not complete, not ranks, not whole_name, not few, min(ranks, default=0), position, name))
    return [entry[-1] for entry in sorted(ranked)]


def _coded(frame: pd.DataFrame, columns: Sequence[str], annotations: frozenset[str]) -> list[str]:
    """Return columns of a few whole numbers, which may be classes: first with the fewest values, then from the end."""
    from ..tables.layout import GROUP_WORDS, words

    found = []
    for position, (name, (_, column)) in enumerate(zip(columns, frame.items(), strict=True)):
        # AnnData keeps the descriptions of samples apart; all other columns are measurements there.
        if (annotations and name not in annotations) or column.dtype.kind not in "biuf":
            continue
        if not GROUP_WORDS.isdisjoint(words(name)):
            continue
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if not (values % 1 == 0).all():
            continue
        values, counts = np.unique(values, return_counts=True)
        if 2 <= len(values) <= min(_MOST_CODES, len(column) / 3) and counts.min() > 1:
            found.append((len(values), -position, name))
    return [name for _, _, name in sorted(found)]


def _task(column: pd.Series) -> str | None:
    values = column.dropna().to_numpy()
    if values.dtype.kind not in "iuf" or len(np.unique(values)) <= _MANY_CLASSES:
        return None
    return "regression" if (values == np.floor(values)).all() else None


def _separator(features: Sequence[str]) -> str | None:
    """Return the separator whose prefixes make a few blocks of two or more that hold most features.

    Blocks of one feature do not count: names such as "radius error" merely have a space in them.
    """
    best: tuple[float, str] | None = None
    for separator in _SEPARATORS:
        sizes = [len(members) for members in PrefixBlocks(separator).members(features).values()]
        shared = [size for size in sizes if size >= _FEWEST_IN_BLOCK]
        if 5 * (len(sizes) - len(shared)) > len(sizes):
            continue
        covered = sum(shared) / max(len(features), 1)
        if 2 <= len(sizes) <= _MOST_BLOCKS and covered > 0.5 and (best is None or covered > best[0]):
            best = (covered, separator)
    return None if best is None else best[1]
