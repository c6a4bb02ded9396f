"""Options of the commands, made of the keys of a study and of the kinds of constraints, and the study they ask for."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..constraints import Constraint
    from ..study import Study, Weights
    from ..study.diagnostics import Problems

_STUDY_SUFFIXES = (".yaml", ".yml")
_WITHOUT: tuple[str, ...] = ("constraints", "without")
_PRICE: tuple[str, ...] = ("constraints", "price")
_STAY_HARD = ("require", "exclude")  # whatever --price says, as are limits of size


def _as_size(text: str) -> int | str:
    """Return a number; the word is for max_size, and the builders of other kinds refuse it."""
    try:
        return text if text == "supported" else int(text)
    except ValueError:
        from .._arguments import nearest

        hint = "; use a number, or supported" if nearest(text, ["supported"]) else ""
        raise argparse.ArgumentTypeError(f"invalid int value: {text!r}{hint}") from None


# Kinds of constraints that need no other argument have an option by their first one. Of those with a number there is
# one, and an option replaces it; lists of features add to those of the study.
_FIRST_ARGUMENTS: dict[str, dict[str, Any]] = {
    "n": {"type": _as_size, "metavar": "N"},
    "threshold": {"type": float, "metavar": "R"},
    "features": {"action": "append", "nargs": "+", "metavar": "NAME"},
}


def add_decision(parser: argparse.ArgumentParser) -> None:
    """Add the options for prior knowledge, constraints and the optimizer."""
    from ..constraints import KINDS

    group = add_section(parser, "prior")
    group.add_argument(
        "--weight",
        action="append",
        metavar="NAME=VALUE",
        help="prior weight of a feature, a block or a pattern: votes, or neutral, likely, very likely, unlikely",
    )
    group = parser.add_argument_group("constraints", "hard, but for decorrelate; --price softens links")
    for kind, first in _kinds_by_argument():
        group.add_argument(_flag(kind), **_FIRST_ARGUMENTS[first], help=KINDS[kind].meaning.replace(" n ", " N "))
    group.add_argument(
        "--price",
        type=float,
        metavar="SHARE",
        help="softens links and decorrelate among these options: what one violation costs, as a share of the models; "
        "0.1 is a tenth of their votes",
    )
    group.add_argument(
        "--without", action="append", metavar="KIND", help="Remove constraints of the study, such as max_size"
    )
    add_section(parser, "decision")


def add_study(parser: argparse.ArgumentParser) -> None:
    """Add the study file or the table, and the options of its data, ensemble and decision."""
    parser.add_argument("source", type=Path, help="study file (.yaml), or a table: CSV, TSV, Parquet, Excel, AnnData")
    add_section(parser, "data")
    add_section(parser, "evidence")
    add_decision(parser)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the options about what is written."""
    add_directory(add_section(parser, "outputs"), "result", "a result")


def add_directory(group: Any, what: str, existing: str, required: bool = False) -> None:
    """Add the options about the directory that is written."""
    where = f"where the {what} is written"
    group.add_argument("-o", "--output", type=Path, metavar="DIRECTORY", required=required, help=where)
    group.add_argument("--force", action="store_true", help=f"replace {existing} that exists")


def add_section(parser: argparse.ArgumentParser, name: str, without: tuple[str, ...] = ()) -> Any:
    """Add the options of the keys of a section, but for some of them."""
    from ..study.schema import SECTIONS

    section = SECTIONS[name]
    group = parser.add_argument_group(section.title)
    for key_name, key in section.keys().items():
        option = key.option
        if option is None or option.shared or key_name in without:
            continue
        form: dict[str, Any] = {"type": option.parse, "metavar": option.metavar}
        if option.parse is bool:
            form = {"action": "store_const", "const": option.constant}
        elif option.action:
            form |= {"action": option.action, "nargs": "+" if option.action == "extend" else None}
        shown = f"{key.text} (default: {section.default_text(key_name)})".replace("%", "%%")
        group.add_argument(option.flag, default=argparse.SUPPRESS, help=shown, **form)
    return group


def _kinds_by_argument() -> list[tuple[str, str]]:
    """Return the kinds of constraints that have an option, each with its first argument: limits first, lists last."""
    from ..constraints import KINDS

    first = {kind: next(iter(builder.parameters)) for kind, builder in KINDS.items()}
    simple = [kind for kind in KINDS if set(KINDS[kind].required) <= {first[kind]}]
    return [(kind, argument) for argument in _FIRST_ARGUMENTS for kind in simple if first[kind] == argument]


def _flag(kind: str) -> str:
    return f"--{kind.replace('_', '-')}"


def requested_study(arguments: argparse.Namespace) -> Study:
    """Return the study that a study file or a table, and the options, ask for; raise all that is wrong with them."""
    from ..study import DataSection, Study
    from ..study.diagnostics import Origin
    from ..study.schema import SECTIONS
    from ..study.study import read_draft

    source: Path = arguments.source
    if source.suffix.lower() in _STUDY_SUFFIXES:
        study, problems = read_draft(source)
        return changed(study, arguments, problems)
    # There is no file: whatever has to change is an option.
    aliases: dict[Any, Any] = {("data", "path"): ""}
    for section in SECTIONS.values():
        aliases |= {(section.key, name): key.option.flag for name, key in section.keys().items() if key.option}
    study = Study(DataSection(str(source)), origin=Origin(aliases=aliases))
    return changed(study, arguments, study.new_problems())


def changed(study: Study, arguments: argparse.Namespace, problems: Problems) -> Study:
    """Return the study with the values of the options; raise all that is wrong with its file and with them."""
    from ..study.diagnostics import AFTER_FILE

    study = _with_options(study, arguments, problems)
    problems.raise_any(AFTER_FILE)
    return study


def with_origin(study: Study, earlier: Study) -> Study:
    """Return a study with the data, by their absolute path, and the ensemble of one whose evidence it uses."""
    data = earlier.data.with_paths(lambda path: os.path.abspath(earlier.folder / path))
    cohorts = earlier.cohorts
    if cohorts is not None:
        cohorts = cohorts.with_paths(lambda path: os.path.abspath(earlier.folder / path))
    return replace(study, data=data, cohorts=cohorts, evidence=earlier.evidence)


def _with_options(study: Study, arguments: argparse.Namespace, problems: Problems) -> Study:
    """Return the study with the options that are right; the others are reported under their flags."""
    from ..study.schema import SECTIONS

    parts: dict[str, Any] = {key: changed_section(study, key, arguments, problems) for key in SECTIONS}
    parts["prior"] = _with_weights(parts["prior"], arguments.weight, problems)
    parts["constraints"] = _with_constraints(study, arguments, problems)
    # What the options change has their flags for a place, the rest its lines in the file as before.
    unchanged = {
        key: parts.get(key, part) if part == getattr(study, key) else part
        for key, part in problems.origin.parts.items()
    }
    problems.origin = replace(problems.origin, parts=unchanged)
    return replace(study, **parts, origin=problems.origin)


def section_alone(study: Study, key: str, arguments: argparse.Namespace) -> Any:
    """Return a section of a study with the values of the options; raise all that is wrong with them."""
    problems = study.new_problems()
    section = changed_section(study, key, arguments, problems)
    problems.raise_any()
    return section


def changed_section(study: Study, key: str, arguments: argparse.Namespace, problems: Problems) -> Any:
    """Return a section with the options that are right; the others are reported under their flags.

    Files are typed relative to where the command is, and stored relative to the folder of the study.
    """
    from ..study.study import moved_path

    section = getattr(study, key)
    values: dict[str, Any] = {}
    for name, entry in section.keys().items():
        argument = "" if entry.option is None else entry.option.flag.lstrip("-").replace("-", "_")
        if argument in arguments:
            value = getattr(arguments, argument)
            is_file = entry.option.metavar == "FILE"
            values[name] = moved_path(value, Path.cwd(), Path(os.path.abspath(study.folder))) if is_file else value
            problems.written_in((key, name), entry.option.flag)
    if key == "prior" and "table" in values:
        values["sheet"] = None  # that of the table of the study
    if key == "data" and "samples" in values:
        values.setdefault("samples_sheet", None)
    return section.changed(values, problems)


def _with_weights(prior: Any, stated: list[str] | None, problems: Problems) -> Any:
    """Return the section of the prior with weights given as NAME=VALUE."""
    from .._problems import collect_errors
    from ..knowledge.scale import as_stated, number_or_word

    if not stated:
        return prior
    weights: Weights | tuple[float, ...] = prior.weights
    if isinstance(weights, tuple):
        problems.written_in(("prior", "weights"), "--weight")
        rule = "cannot change weights that the study gives as one list; name them by feature there."
        problems(("prior", "weights"), rule)
        return prior
    new: dict[str | int, Any] = {}
    for text in stated:
        # The name may hold '=', a weight never does.
        name, separator, value = text.rpartition("=")
        place = ("prior", "weights", "features", name)
        problems.written_in(place, f"--weight {text}")
        if not separator or not name:
            problems(place, "must be NAME=VALUE, such as radius=likely or radius=5.")
            continue
        with collect_errors(problems, place):
            new[name] = as_stated(number_or_word(value))
    levels: dict[str, Any] = {
        level: tuple((name, weight) for name, weight in getattr(weights, level) if name not in new)
        for level in ("features", "patterns", "blocks")
    }
    levels["features"] += tuple(new.items())
    return replace(prior, weights=replace(weights, **levels))


def _price_of(kind: str, price: float | None) -> dict[str, float]:
    """Return the price of a constraint given by an option, if there is one and the kind can be softened by it."""
    return {} if price is None or kind in _STAY_HARD else {"price": price}


def _with_constraints(study: Study, arguments: argparse.Namespace, problems: Problems) -> tuple[Constraint, ...]:
    """Return the constraints of the study and of the options."""
    from .._arguments import check_choice
    from .._problems import collect_errors
    from ..constraints import KINDS
    from ..constraints.arguments import as_price

    removed = set()
    problems.written_in(_PRICE, "--price")
    price: float | None = None
    with collect_errors(problems, _PRICE):  # once, whichever constraints it is for
        price = None if arguments.price is None else as_price(arguments.price)
    problems.written_in(_WITHOUT, "--without")
    for kind in arguments.without or ():
        with collect_errors(problems, _WITHOUT):
            removed.add(check_choice("kind", kind.replace("-", "_"), KINDS))
    added: list[tuple[str, dict[str, Any]]] = []
    for kind, first in _kinds_by_argument():
        value = getattr(arguments, kind)
        if first == "features":
            added += [(kind, {first: names, **_price_of(kind, price)}) for names in value or ()]
        elif value is not None:
            removed.add(kind)
            added.append((kind, {first: value, **({} if first == "n" else _price_of(kind, price))}))
    if price is not None and not any("price" in terms for _, terms in added):
        problems(_PRICE, "softens links among the options, such as --cannot-link; there are none.")
    before = problems.origin.aliases
    made: list[Constraint] = []
    for position, constraint in enumerate(study.constraints):
        if constraint.kind not in removed:
            old = ("constraints", position)
            problems.written_in(("constraints", len(made)), before.get(old, old))
            made.append(constraint)
    for kind, terms in added:
        place = ("constraints", len(made))
        problems.written_in(place, _flag(kind))
        with collect_errors(problems, place):
            made.append(KINDS[kind].build(**terms))
    return tuple(made)
