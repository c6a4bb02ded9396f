"""Decide again on the evidence of an earlier result; answers at once.

  ubayfs decide results --max-size 5 --weight "mean radius=likely" -o five
  ubayfs decide results --study edited.yaml

Starts from the study of that result (or from --study); options replace what it says. Without -o nothing is written.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from . import options, steps
from .console import notes, tell

if TYPE_CHECKING:
    from ..data.feature_data import FeatureData
    from ..ensemble.evidence import Evidence
    from ..study import Study


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("result", type=Path, help="directory of a result, as `ubayfs select` writes it")
    parser.add_argument("--study", type=Path, help="decide as this study file says, instead of the study of the result")
    options.add_decision(parser)
    options.add_output(parser)


def run(arguments: argparse.Namespace) -> None:
    """Decide, tell, and write if asked to."""
    from ..results import read_result
    from ..study import load_study

    earlier = read_result(arguments.result)
    study = earlier.study
    if arguments.study is not None:
        study = load_study(arguments.study)
        if study.evidence != earlier.study.evidence or study.data != earlier.study.data:
            tell(f"Note: data and ensemble are those of {arguments.result}, whatever {arguments.study} says of them.")
            study = options.with_origin(study, earlier.study)
    study = options.changed(study, arguments)
    directory = arguments.output
    if directory is not None:
        study = steps.written_to(study, directory)
        steps.check_output(directory, study, arguments.force, source=arguments.study)
    data = _data(study, earlier.evidence)
    study = steps.with_seeds(study, earlier.evidence)
    with notes() as found:
        selection = study.decide(earlier.evidence, data)
    steps.finish(study, earlier.evidence, selection, data, found, directory, force=arguments.force)


def _data(study: Study, evidence: Evidence) -> FeatureData | None:
    """Return the data of the study; without them correlations are left out, unless a constraint needs them."""
    from ..exceptions import InputError, UBayFSError

    try:
        data = study.read_data()
        if data.fingerprint != evidence.settings.get("data_fingerprint", data.fingerprint):
            raise InputError(
                f"{study.data.path} is not the table that the ensemble saw: it was changed since. Run `ubayfs select` "
                "again to have evidence of the new one."
            )
        return data
    except UBayFSError as error:
        if any(one.kind == "decorrelate" for one in study.constraints):
            raise
        tell(f"Note: decided without the data, so no correlations are shown ({error})")
        return None
