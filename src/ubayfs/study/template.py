"""template: a study file to begin with, filled with what the table suggests and explained line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tables import TO_BE_CHOSEN, Table
from .dumping import dump_scalar
from .guesses import Guess, guess
from .scale import UNLIKELY_RHO, VOTES

_SIZE = 10
_SHOWN = 3  # classes and names that a comment lists


def template(table: Table, data_path: Any, target: str | None = None, sheet: str | None = None) -> str:
    """Return a commented study file for a table.

    Parameters
    ----------
    table : Table
    data_path : str or path
        How the file shall name the table: relative to where it will lie.
    target : str, optional
        Column to explain; default: the likeliest one.
    sheet : str, optional
        Sheet of an Excel file that the table was read from.

    Returns
    -------
    text : str
        YAML. It can be run as it is if the guesses are good, and once a target is chosen where several columns may be
        it.
    """
    found = guess(table, target)
    parts = [
        _header(),
        _data(table, str(data_path), sheet, found, target is not None),
        _evidence(found),
        _prior(found),
        _blocks(found),
    ]
    parts += [_constraints(found), _decision(), _outputs()]
    return "\n".join("\n".join(lines) + "\n" for lines in parts if lines)


def is_undecided(found: Guess) -> bool:
    """Tell whether a person has to choose the target: taking none would make features of the classes."""
    return found.target is None and bool(found.candidates)


def _line(key: str, value: str, comment: str = "", active: bool = True) -> str:
    text = f"  {key}: {value}" if active else f"  # {key}: {value}"
    return f"{text:<34}  # {comment}" if comment else text


def _listed(names: Sequence[Any], limit: int = _SHOWN) -> str:
    shown = ", ".join(dump_scalar(str(name)) for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _size(found: Guess) -> int:
    """Return a size that is a choice: a model that takes every feature tells nothing."""
    return max(1, min(_SIZE, len(found.features) // 2))


def _header() -> list[str]:
    return [
        "# Study file of ubayfs: what to select from, and what you know. Lines that begin with # are comments.",
        "# ubayfs check <this file> tells what would run; ubayfs select <this file> runs it.",
    ]


def _data(table: Table, path: str, sheet: str | None, found: Guess, said: bool) -> list[str]:
    lines = ["data:", _line("path", dump_scalar(path), "the table, relative to this file")]
    if sheet is not None:
        others = f"; its other sheets: {_listed(table.other_sheets, 8)}" if table.other_sheets else ""
        lines.append(_line("sheet", dump_scalar(sheet), f"of the Excel file{others}"))
    if is_undecided(found):
        lines += [
            "  # Which column is to be explained? Name it here, or remove the line for a selection without target.",
            _line("target", dump_scalar(TO_BE_CHOSEN), f"for example {_listed(found.candidates, 5)}"),
        ]
    elif found.target is None:
        lines.append(
            _line("target", "NAME", "the column to explain; none was found, so the study is unsupervised", False)
        )
    else:
        guessed = "" if said else ", a guess"
        told = f"the column to explain{guessed}: {_values(table, found.target)}"
        lines.append(_line("target", dump_scalar(found.target), told))
    if found.candidates and not is_undecided(found):
        lines.append(f"  # Other columns that may be a target (else features): {_listed(found.candidates, 5)}")
    if found.task is not None:
        lines.append(_line("task", found.task, "whole numbers with many values; multiclass if they are classes"))
    if found.groups is not None:
        groups = "rows that belong together, such as those of one patient, are never torn apart"
        lines.append(_line("groups", dump_scalar(found.groups), groups))
    else:
        lines.append(_line("groups", "NAME", "column of patients, animals... whose rows belong together", False))
    if found.ignored:
        listed = ", ".join(dump_scalar(name) for name in found.ignored)
        lines.append(_line("ignore", f"[{listed}]", "no features: identifiers and text"))
    else:
        lines.append(_line("ignore", '[NAME, "id*"]', "columns that are no features, by name or pattern", False))
    if found.n_missing:
        gaps = f"{found.n_missing} empty cells; or error, drop_rows, drop_columns"
        lines.append(_line("missing", "median", gaps))
    else:
        lines.append(_line("missing", "error", "empty cells: error, drop_rows, drop_columns or median"))
    return lines


def _values(table: Table, target: str) -> str:
    counts = table.frame[target].value_counts()
    if len(counts) > _SHOWN * 2:
        return f"{len(counts)} different values"
    return ", ".join(f"{dump_scalar(str(value))} ({count})" for value, count in counts.items())


def _evidence(found: Guess) -> list[str]:
    selector = "mrmr" if found.target is not None or is_undecided(found) else "laplacian"
    return [
        "evidence:",
        _line("selector", selector, "or fisher, hsic, lasso, rfe, tree, laplacian; a list mixes several"),
        _line("n_models", "100", "models, each on a random part of the rows"),
        _line("train_size", "0.75", "share of the rows that each model sees"),
        _line("n_features_per_model", str(_size(found)), "features that each model chooses, at most"),
        _line("seed", "0", "the same seed gives the same result"),
    ]


def _prior(found: Guess) -> list[str]:
    quarter = f"{VOTES['likely']:.0%}".replace("%", " %")
    lines = [
        "# What you know of single features, in votes of models, or in words:",
        f"#   very likely = as if all models had chosen it; likely = {quarter} of them; neutral = the models decide;",
        f"#   unlikely = avoided: selecting it costs as much as breaking a constraint of rho {UNLIKELY_RHO:g}.",
        "prior:",
        _line("kind", "dirichlet", "or generalized, hyperdirichlet"),
    ]
    names = [dump_scalar(name) for name in found.features[:3]]
    lines += ["  # weights:", "  #   features:"]
    lines += [f"  #     {name}: {word}" for name, word in zip(names, ("very likely", "5", "unlikely"), strict=False)]
    if found.features:
        lines += ["  #   patterns:", f"  #     {dump_scalar(_pattern(found))}: likely"]
    lines.append(_line("table", "knowledge.csv", "the same from a spreadsheet: columns feature, weight, block", False))
    return lines


def _pattern(found: Guess) -> str:
    first = found.features[0]
    prefix = "" if found.separator is None else _prefix(first, found.separator)
    return f"{prefix}{found.separator}*" if prefix else f"{first[:4]}*"


def _blocks(found: Guess) -> list[str]:
    if found.separator is None:
        some = ", ".join(dump_scalar(name) for name in found.features[:2])
        return [
            "# Groups of features that constraints may speak of, by name or pattern:",
            "# blocks:",
            f"#   my block: [{some}]",
        ]
    prefixes = list(dict.fromkeys(_prefix(name, found.separator) for name in found.features))
    shown = _listed([prefix for prefix in prefixes if prefix])
    return [
        "# Groups of features that constraints may speak of: here the part of the name before a separator.",
        "# They can also be listed, as in  size: [radius, area].",
        "blocks:",
        _line("prefix", '"' + found.separator + '"', f"gives {shown}"),
    ]


def _prefix(name: str, separator: str) -> str:
    prefix, sign, _ = name.partition(separator)
    return prefix if sign else ""


def _constraints(found: Guess) -> list[str]:
    lines = [
        "# What the set must look like. rho tells how much a violation costs: 0.1 is a mild wish, 1 rarely gives",
        "# way, hard never does.",
        "constraints:",
        f"  - max_size: {{n: {_size(found)}, rho: hard}}",
        "  # - decorrelate: 0.8            # avoid pairs of features with a rank correlation above 0.8",
    ]
    names = [dump_scalar(name) for name in found.features[:4]]
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
    if found.separator is not None:
        lines.append("  # - max_per_block: 2            # at most two features of each block")
    return lines


def _decision() -> list[str]:
    return [
        "decision:",
        _line("constraint_strength", "1", "weight of the constraints against the importance of the features"),
        _line("optimizer", "exact", "the provably best set; or genetic"),
        _line("min_votes", "0", "1 keeps out features that no model chose"),
        _line("n_alternatives", "5", "further sets to list, the next best first"),
    ]


def _outputs() -> list[str]:
    return [
        "outputs:",
        _line("directory", "results", "relative to this file"),
        _line("figures", "[png]", "png, svg, pdf"),
        _line("reduced_table", "false", "true writes the table with the chosen features only"),
    ]
