"""Options of the commands, and the study that they ask for."""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from ..constraints import Constraint
    from ..study import Study, Weights
    from ..study.problems import Problems

Aliases = dict[tuple[str | int, ...], tuple[str | int, ...] | str]

_STUDY_SUFFIXES = (".yaml", ".yml")
# Of these there is one, and an option replaces it. Of the others there may be several, and options add to them.
_ONE_OF_A_KIND = ("max_size", "min_size", "exact_size", "max_per_block", "max_blocks", "decorrelate")
_WITHOUT: tuple[str, ...] = ("constraints", "without")
_LISTS = ("must_link", "cannot_link", "require", "exclude", "at_least_one")
# Keys of each section that options say.
_FIELDS = {
    "data": ("target", "task", "groups", "ignore", "missing", "sheet"),
    "evidence": ("selector", "n_models", "train_size", "n_features_per_model", "seed", "n_jobs"),
    "decision": ("constraint_strength", "min_votes", "n_alternatives", "optimizer", "time_limit", "seed"),
    "outputs": ("figures", "reduced_table", "n_draws"),
}
# Options that are not called like their keys.
_FLAGS = {
    "n_models": "--models",
    "n_features_per_model": "--features-per-model",
    "n_jobs": "--jobs",
    "constraint_strength": "--strength",
    "n_alternatives": "--alternatives",
    "n_draws": "--draws",
}
_NONE = "none"  # says that there is no time limit, whatever the study says


class Parser(argparse.ArgumentParser):
    """Parses arguments; an option that does not exist is answered with the nearest one that does."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse what is not known here: this parser knows its own options best."""
        known, unknown = super().parse_known_args(args, namespace)
        for text in unknown:
            option = text.partition("=")[0]
            if option.startswith("-") and not option.lstrip("-")[:1].isdigit():
                options = [name for action in self._actions for name in action.option_strings if name[:2] == "--"]
                self.error(f"there is no option {option}.{_hint(option, options)}")
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known, []

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where the options are explained."""
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if choice:
            message += _hint(choice[1], re.findall(r"[\w-]+", choice[2]))
        end = "" if message.endswith((".", "?")) else "."
        self.exit(2, f"{self.prog}: {message}{end} See {self.prog} --help.\n")


def _hint(text: str, known: list[str]) -> str:
    from .._arguments import did_you_mean  # brings numpy, which --help does without

    return did_you_mean(text, known)


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what the data are."""
    group = parser.add_argument_group("data")
    group.add_argument("--target", help="column to be explained; none for a selection without target")
    group.add_argument("--task", help="binary, multiclass, multilabel, regression or unsupervised; default: inferred")
    group.add_argument("--groups", help="column of patients, mice, subjects...; rows of one stay together")
    group.add_argument(
        "--ignore", action="extend", nargs="+", metavar="NAME", help="columns that are no features; may be patterns"
    )
    group.add_argument("--missing", help="missing values: error (default), median, drop_rows or drop_columns")
    group.add_argument("--sheet", help="sheet of an Excel file")


def add_evidence(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how the ensemble is run."""
    group = parser.add_argument_group("ensemble")
    group.add_argument("--selector", action="append", metavar="NAME", help="elementary selector; several take turns")
    group.add_argument("--models", type=int, dest="n_models", metavar="N", help="number of runs (100)")
    group.add_argument("--train-size", type=float, metavar="SHARE", help="share of rows in each run (0.75)")
    group.add_argument("--features-per-model", type=int, dest="n_features_per_model", metavar="N", help="default 10")
    group.add_argument("--seed", type=int, metavar="N", help="of ensemble and decision (0)")
    group.add_argument("--jobs", type=int, dest="n_jobs", metavar="N", help="workers; -1 for all processors")


def add_decision(parser: argparse.ArgumentParser) -> None:
    """Add the options for prior knowledge, constraints and the optimizer."""
    group = parser.add_argument_group("what you know")
    group.add_argument(
        "--weight",
        action="append",
        metavar="NAME=VALUE",
        help="prior weight of a feature, a block or a pattern: votes, or neutral, likely, very likely, unlikely",
    )
    group.add_argument("--weights-table", metavar="FILE", help="CSV or Excel with the columns feature, weight, block")
    group.add_argument("--prior", help="dirichlet (default), generalized or hyperdirichlet")
    group = parser.add_argument_group(
        "constraints", "limits of size are always kept; links give way if it pays (rho 1)"
    )
    for name, what in (
        ("max-size", "at most N features"),
        ("min-size", "at least N features"),
        ("exact-size", "exactly N features"),
        ("max-per-block", "at most N features of each block"),
        ("max-blocks", "features of at most N blocks"),
    ):
        group.add_argument(f"--{name}", type=int, metavar="N", help=what)
    group.add_argument("--decorrelate", type=float, metavar="R", help="avoid pairs with rank correlation above R")
    for name, what in (
        ("must-link", "these all together or none"),
        ("cannot-link", "at most one of these"),
        ("at-least-one", "at least one of these"),
        ("require", "these in any case"),
        ("exclude", "none of these"),
    ):
        group.add_argument(f"--{name}", action="append", nargs="+", metavar="NAME", help=what)
    group.add_argument(
        "--without", action="append", metavar="KIND", help="drop constraints of the study, such as max_size"
    )
    group = parser.add_argument_group("decision")
    group.add_argument("--strength", type=float, dest="constraint_strength", metavar="X", help="of all constraints (1)")
    group.add_argument("--min-votes", type=int, metavar="N", help="features that fewer models chose are kept out (0)")
    group.add_argument(
        "--alternatives", type=int, dest="n_alternatives", metavar="N", help="next best sets to list (5)"
    )
    group.add_argument("--optimizer", help="exact (default) or genetic")
    group.add_argument(
        "--time-limit",
        type=_seconds_or_none,
        metavar="SECONDS",
        help="then the best set so far, with its gap; none: whatever it takes",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where results go."""
    group = parser.add_argument_group("output")
    group.add_argument("-o", "--output", type=Path, metavar="DIRECTORY", help="where the result is written")
    group.add_argument(
        "--figures", action="append", metavar="FORMAT", help="png (default), svg or pdf; may be repeated"
    )
    group.add_argument("--reduced-table", action="store_true", default=None, help="also write the data of the chosen")
    group.add_argument(
        "--draws", type=int, dest="n_draws", metavar="N", help="for selection probabilities (100; 0: none)"
    )
    group.add_argument("--force", action="store_true", help="replace a result that is there already")


def requested_study(arguments: argparse.Namespace) -> Study:
    """Return the study that a study file or a table, and the options, ask for; raise all that is wrong with them."""
    from ..study import DataSection, Study
    from ..study.checking import examine
    from ..study.model import Origin
    from ..study.reading import read_draft

    source: Path = arguments.source
    if source.suffix.lower() in _STUDY_SUFFIXES:
        study, problems = read_draft(source)
    else:
        # There is no file: whatever has to change is an option.
        aliases: Aliases = {(section, name): _flag(name) for section, names in _FIELDS.items() for name in names}
        aliases[("data", "path")] = ""
        study = Study(DataSection(str(source)), origin=Origin("", {}, {}, aliases))
        problems = study.new_problems()
    study = _with_options(study, arguments, problems)
    if problems.found:
        examine(study, problems)
        problems.raise_any()
    return study


def output_directory(arguments: argparse.Namespace, study: Study) -> Path:
    """Return where the result goes: as said on the command line, relative to here, or in the study, relative to it."""
    output: Path | None = arguments.output
    return study.folder / study.outputs.directory if output is None else output


def changed(study: Study, arguments: argparse.Namespace) -> Study:
    """Return the study with everything that the options say; raise all that is wrong with them."""
    problems = study.new_problems()
    return problems.unless_any(_with_options(study, arguments, problems))


def _with_options(study: Study, arguments: argparse.Namespace, problems: Problems) -> Study:
    """Return the study with the options that are right; the others go to `problems`."""
    from ..study.model import Origin

    origin = study.origin or Origin("", {}, {})
    aliases = dict(origin.aliases)
    problems.aliases = aliases
    parts: dict[str, Any] = {}
    for key, names in _FIELDS.items():
        given = {name: None if value == _NONE else value for name, value in arguments_of(arguments, *names).items()}
        aliases |= {(key, name): _flag(name) for name in given}
        parts[key] = getattr(study, key).changed(given, problems)
    parts["prior"] = _prior(study, arguments, problems, aliases)
    parts["constraints"] = _constraints(study, arguments, problems, aliases)
    # What the options change is said by them, the rest by the file as before.
    kept = {key: parts.get(key, part) if part == getattr(study, key) else part for key, part in origin.parts.items()}
    return replace(study, **parts, origin=replace(origin, parts=kept, aliases=aliases))


def _flag(name: str) -> str:
    return _FLAGS.get(name, f"--{name.replace('_', '-')}")


def _seconds_or_none(text: str) -> float | str:
    return _NONE if text.strip().lower() == _NONE else float(text)


def with_origin(study: Study, earlier: Study) -> Study:
    """Return a study with the data and the ensemble of an earlier one, whose evidence it uses."""
    data = replace(earlier.data, path=str(_absolute(earlier.folder / earlier.data.path)))
    return replace(study, data=data, evidence=earlier.evidence)


def arguments_of(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the options of these names that were given."""
    return {name: value for name in names if (value := getattr(arguments, name, None)) is not None}


def _absolute(path: Path) -> Path:
    return Path(path).absolute()


def _prior(study: Study, arguments: argparse.Namespace, problems: Problems, aliases: Aliases) -> Any:
    given: dict[str, Any] = {}
    if arguments.prior is not None:
        given["kind"] = arguments.prior
        aliases[("prior", "kind")] = "--prior"
    if arguments.weights_table is not None:
        # Named on the command line, it is relative to here.
        given |= {"table": str(_absolute(Path(arguments.weights_table))), "sheet": None}
        aliases[("prior", "table")] = "--weights-table"
    prior = study.prior.changed(given, problems)
    if not arguments.weight:
        return prior
    if isinstance(prior.weights, tuple):
        aliases[("prior", "weights")] = "--weight"
        problems(
            ("prior", "weights"),
            "cannot change weights that the study gives as one list; name them by feature there.",
        )
        return prior
    return replace(prior, weights=_with_weights(prior.weights, arguments.weight, problems, aliases))


def _with_weights(weights: Weights, said: list[str], problems: Problems, aliases: Aliases) -> Weights:
    from ..study.problems import reported
    from ..study.scale import as_belief

    new: dict[str | int, Any] = {}
    for text in said:
        # The name may hold '=', a weight never does.
        name, separator, value = text.rpartition("=")
        place = ("prior", "weights", "features", name)
        aliases[place] = f"--weight {text}"
        if not separator or not name:
            problems(place, "must be NAME=VALUE, such as radius=likely or radius=5.")
            continue
        with reported(problems, place, "weights", "weight"):
            new[name] = as_belief(name, _number_or_word(value))
    kept: dict[str, Any] = {
        key: tuple((name, belief) for name, belief in getattr(weights, key) if name not in new)
        for key in ("features", "patterns", "blocks")
    }
    kept["features"] += tuple(new.items())
    return replace(weights, **kept)


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _constraints(
    study: Study, arguments: argparse.Namespace, problems: Problems, aliases: Aliases
) -> tuple[Constraint, ...]:
    from .._arguments import check_choice
    from ..constraints import KINDS
    from ..study.problems import reported

    dropped = set()
    aliases[_WITHOUT] = "--without"
    for kind in arguments.without or ():
        with reported(problems, _WITHOUT, "kind"):
            dropped.add(check_choice("kind", kind.replace("-", "_"), tuple(KINDS)))
    asked: list[tuple[str, dict[str, Any]]] = []
    for kind in _ONE_OF_A_KIND:
        value = getattr(arguments, kind)
        if value is not None:
            dropped.add(kind)
            asked.append((kind, {"threshold": value} if kind == "decorrelate" else {"n": value, "rho": math.inf}))
    for kind in _LISTS:
        asked += [(kind, {"features": names}) for names in getattr(arguments, kind) or ()]
    kept = [(position, one) for position, one in enumerate(study.constraints) if one.kind not in dropped]
    made = [one for _, one in kept]
    before = dict(aliases)
    for new, (old, _) in enumerate(kept):
        aliases[("constraints", new)] = before.get(("constraints", old), ("constraints", old))
    for kind, given in asked:
        place = ("constraints", len(made))
        aliases[place] = _flag(kind)
        with reported(problems, place, *(f"{kind}: {name}" for name in given), f"{kind}:", kind):
            made.append(KINDS[kind].build(**given))
    return tuple(made)
