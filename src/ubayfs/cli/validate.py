"""Measure how well the selected sets predict held-out samples.

  ubayfs validate study.yaml
  ubayfs validate cells.csv --target diagnosis --max-size 10 -o scores.csv
  ubayfs validate results --on other.csv       the finished set of a result on an independent second table

Ensemble and decision are repeated in every fold; simpler ways to select are compared on the same folds. Ctrl-C ends the
work, and the folds that are done are used. With --checkpoint the same command resumes from them.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from . import options
from .console import advice_as_values, echo, watched

if TYPE_CHECKING:
    from ..trust.second_table import SecondTable
    from ..trust.validation import Validation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    options.add_study(parser)
    options.add_section(parser, "trust", without=("level", "n_splits"))
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the scores: .csv, or .json with all folds"
    )
    parser.add_argument(
        "--checkpoint", type=Path, metavar="DIRECTORY", help="store finished folds there; the same command resumes"
    )
    parser.add_argument(
        "--on", type=Path, metavar="TABLE", help="test the set of the result in the first argument on this second table"
    )
    parser.add_argument("--force", action="store_true", help="replace a file that exists")


def run(arguments: argparse.Namespace) -> None:
    """Validate, show and write."""
    from ..report import advice_facts
    from ..report.document import Document, Section
    from ..report.tables import validation as validation_tables
    from ..report.terminal import document_text
    from ..report.trust_facts import validation_facts
    from ..report.trust_sentences import validation_sentences
    from ..study import resolve_study
    from ..study.trust_work import validate_study
    from .steps import check_has_samples, echo_advice

    _check_output(arguments.output, arguments.force)
    if arguments.on is not None:
        _on_second_table(arguments.source, arguments.on, arguments.output)
        return
    study = options.requested_study(arguments)
    check_has_samples(study, "ubayfs validate")
    resolved = resolve_study(study)
    echo_advice(advice_facts(resolved.advice))
    with watched("folds", "folds") as on_progress, advice_as_values():
        validation = validate_study(resolved, on_progress, arguments.checkpoint)
    facts = validation_facts(validation)
    section = Section("validation", "", tuple(validation_sentences(facts)), validation_tables(facts))
    echo(document_text(Document(sections=(section,))))
    if arguments.output is not None:
        _write(validation, arguments.output)
        echo(f"\nWrote {arguments.output}")


def _on_second_table(result: Path, table: Path, output: Path | None) -> None:
    """Measure the finished set of a result on a second table, which is read like the first."""
    from ..report import advice_facts
    from ..results import StoredResult
    from ..results.finishing import check_fingerprint
    from ..trust.second_table import predict_second_table
    from .steps import echo_advice

    stored = StoredResult(result)
    selection, study = stored.selection, stored.study
    data = study.read_data()
    check_fingerprint(study, data, stored.evidence)
    other = replace(study, data=replace(study.data, path=str(table.absolute())), origin=None)
    new = other.read_data()
    echo_advice(advice_facts(new.advice))
    table_scores = predict_second_table(selection.features, data, new)
    echo(str(table_scores))
    if output is not None:
        _write(table_scores, output)
        echo(f"\nWrote {output}")


def _check_output(path: Path | None, force: bool) -> None:
    from ..exceptions import InputError

    if path is None:
        return
    if path.suffix.lower() not in (".csv", ".json"):
        raise InputError(f"scores are written to a file that ends in .csv or .json; got {path}.")
    if path.exists() and not force:
        raise InputError(f"{path} exists already. Choose another name, or replace it with --force.")


def _write(validation: Validation | SecondTable, path: Path) -> None:
    from .._files import save_content
    from ..exceptions import InputError
    from ..trust.validation import Validation

    if path.suffix.lower() == ".csv":
        scores = validation.scores if isinstance(validation, Validation) else validation.table()
        text = scores.to_csv(index=False)
    else:
        text = json.dumps(validation.to_dict(), ensure_ascii=False)
    save_content(path, text.encode("utf-8"), InputError)
