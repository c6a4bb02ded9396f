"""Options of the commands, and the study that they ask for."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..constraints import Constraint
    from ..study import Study, Weights

_STUDY_SUFFIXES = (".yaml", ".yml")
# Of these there is one, and an option replaces it. Of the others there may be several, and options add to them.
_ONE_OF_A_KIND = ("max_size", "min_size", "exact_size", "max_per_block", "max_blocks", "decorrelate")
_LISTS = ("must_link", "cannot_link", "require", "exclude", "at_least_one")


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what the data are."""
    group = parser.add_argument_group("data")
    group.add_argument("--target", help="column to be explained; none for a selection without target")
    group.add_argument("--task", help="binary, multiclass, multilabel, regression or unsupervised; default: inferred")
    group.add_argument("--groups", help="column of patients, mice, subjects...; rows of one stay together")
    group.add_argument("--ignore", action="append", metavar="NAME", help="column that is no feature; may be a pattern")
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
    group.add_argument("--time-limit", type=float, metavar="SECONDS", help="then the best set so far, with its gap")


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
    """Return the study that a study file or a table, and the options, ask for."""
    from ..study import DataSection, Study, load_study

    source: Path = arguments.source
    if source.suffix.lower() in _STUDY_SUFFIXES:
        study = load_study(source)
    else:
        study = Study(DataSection(str(source)))
    return changed(study, arguments)


def output_directory(arguments: argparse.Namespace, study: Study) -> Path:
    """Return where the result goes: as said on the command line, relative to here, or in the study, relative to it."""
    output: Path | None = arguments.output
    return study.folder / study.outputs.directory if output is None else output


def changed(study: Study, arguments: argparse.Namespace) -> Study:
    """Return the study with everything that the options say."""
    return replace(
        study,
        data=replace(study.data, **arguments_of(arguments, "target", "task", "groups", "ignore", "missing", "sheet")),
        evidence=replace(
            study.evidence,
            **arguments_of(arguments, "selector", "n_models", "train_size", "n_features_per_model", "seed", "n_jobs"),
        ),
        prior=_prior(study, arguments),
        constraints=_constraints(study, arguments),
        decision=replace(
            study.decision,
            **arguments_of(
                arguments, "constraint_strength", "min_votes", "n_alternatives", "optimizer", "time_limit", "seed"
            ),
        ),
        outputs=replace(study.outputs, **arguments_of(arguments, "figures", "reduced_table", "n_draws")),
    )


def with_origin(study: Study, earlier: Study) -> Study:
    """Return a study with the data and the ensemble of an earlier one, whose evidence it uses."""
    data = replace(earlier.data, path=str(_absolute(earlier.folder / earlier.data.path)))
    return replace(study, data=data, evidence=earlier.evidence)


def arguments_of(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the options of these names that were given."""
    return {name: value for name in names if (value := getattr(arguments, name, None)) is not None}


def _absolute(path: Path) -> Path:
    return Path(path).absolute()


def _prior(study: Study, arguments: argparse.Namespace) -> Any:
    prior = study.prior
    if arguments.prior is not None:
        prior = replace(prior, kind=arguments.prior)
    if arguments.weights_table is not None:
        # Named on the command line, it is relative to here.
        prior = replace(prior, table=str(_absolute(Path(arguments.weights_table))), sheet=None)
    if arguments.weight:
        prior = replace(prior, weights=_with_weights(prior.weights, arguments.weight))
    return prior


def _with_weights(weights: Weights | tuple[float, ...], said: list[str]) -> Weights:
    from ..exceptions import InputError
    from ..study.scale import as_belief

    if isinstance(weights, tuple):
        raise InputError("--weight cannot change weights that the study gives as one list; name them by feature there.")
    new: dict[str | int, Any] = {}
    for text in said:
        # The name may hold '=', a weight never does.
        name, separator, value = text.rpartition("=")
        if not separator or not name:
            raise InputError(f"--weight must be NAME=VALUE, such as radius=likely or radius=5; got {text!r}.")
        try:
            new[name] = as_belief(name, _number_or_word(value))
        except InputError as error:
            raise InputError(f"--weight {text}: {error}") from None
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


def _constraints(study: Study, arguments: argparse.Namespace) -> tuple[Constraint, ...]:
    from .. import constraints as builders
    from .._arguments import check_choice
    from ..rows import ROWS

    hard = math.inf
    makers: dict[str, Callable[[Any], Constraint]] = {
        "max_size": lambda n: builders.max_size(n, rho=hard),
        "min_size": lambda n: builders.min_size(n, rho=hard),
        "exact_size": lambda n: builders.exact_size(n, rho=hard),
        "max_per_block": lambda n: builders.max_per_block(n, rho=hard),
        "max_blocks": lambda n: builders.max_blocks(n, rho=hard),
        "decorrelate": builders.decorrelate,
    }
    dropped = {check_choice("--without", kind.replace("-", "_"), tuple(ROWS)) for kind in arguments.without or ()}
    given = {kind: value for kind in _ONE_OF_A_KIND if (value := getattr(arguments, kind)) is not None}
    kept = [one for one in study.constraints if one.kind not in dropped and one.kind not in given]
    new = [makers[kind](value) for kind, value in given.items()]
    for kind in _LISTS:
        new += [getattr(builders, kind)(names) for names in getattr(arguments, kind) or ()]
    return (*kept, *new)
