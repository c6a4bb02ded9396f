"""Everything that can be wrong with a study before its ensemble runs, found in one go."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ..constraints import Constraint, resolve
from ..constraints.links import decorrelate
from ..data.feature_data import FeatureData
from ..ensemble.collect import check_features_per_model
from ..ensemble.subsampling import plan_subsamples
from ..exceptions import InfeasibleError, InputError, OptimizationError
from ..optimize import as_optimizer
from ..selectors.adapters import as_selector, check_task
from ..tables import feature_columns
from ..utility import Utility
from .features import find_features, find_table, known_roles
from .knowledge import TableBlocks
from .knowledge_table import read_knowledge
from .model import Study
from .problems import Path, Problems, below, reported

# Whether hard rows contradict each other shows at once, as a rule; what takes longer shows when it is decided.
_SECONDS = 10.0
# More features than this have too many correlations to look at beforehand.
_MOST_CORRELATED = 3000
# How messages for Python call the target.
_TARGET = re.compile(r"(?<!['\w])y(?!['\w])")
_NEARLY_PERFECT = 1 - 1e-9
# Constraints that the empty set keeps: alone they cannot contradict each other.
_KEPT_BY_NOTHING = (
    "max_size", "max_per_block", "max_blocks", "cannot_link", "must_link", "implies", "exclude", "decorrelate",
)  # fmt: skip


def check_study(study: Study) -> FeatureData:
    """Read the data of a study and check everything that can be wrong before its ensemble runs.

    Parameters
    ----------
    study : Study

    Returns
    -------
    data : FeatureData

    Raises
    ------
    StudyError
        Lists all problems at once: of the table and its columns, of names, of subsamples that cannot be drawn, and of
        hard constraints that contradict each other.
    """
    problems = study.new_problems()
    return problems.unless_any(examine(study, problems))


def examine(study: Study, problems: Problems) -> FeatureData | None:
    """Check a study, also one in whose file something is wrong already.

    Parameters
    ----------
    study : Study
    problems : Problems
        Those of the file, to which the others are added. Where something is wrong, the study has a default, and what
        depends on it is not checked.

    Returns
    -------
    data : FeatureData or None
        None if they cannot be read.
    """
    table = find_table(study.data, study.folder, problems) if problems.is_sound("data", "path") else None
    roles = known_roles(study.data, problems)
    data = find_features(study.data, table, problems)
    if table is None:
        _read_knowledge(study, problems)
        return None
    # Without data, names may be those of all columns that may be features.
    names = feature_columns(table, **roles) if data is None else list(data.feature_names)
    n_before = problems.n_told
    asked = study.resolve(names, problems)
    _check_ensemble(study, len(names), data, problems)
    sound = problems.n_told == n_before and problems.is_sound("constraints") and problems.is_sound("blocks")
    if data is not None and sound:
        _check_hard_rows(study, data, asked, problems)
    return data


def _read_knowledge(study: Study, problems: Problems) -> None:
    """Look at the tables of knowledge alone, when there are no features to compare them with."""
    if study.prior.table is not None:
        report = below(problems, "prior", "table")
        read_knowledge(study.folder / study.prior.table, study.prior.sheet, ("weight",), report)
    if isinstance(study.blocks, TableBlocks):
        report = below(problems, "blocks", "table")
        read_knowledge(study.folder / study.blocks.table, study.blocks.sheet, ("feature", "block"), report)


def _check_ensemble(study: Study, n_features: int, data: FeatureData | None, problems: Problems) -> None:
    """Check what :func:`ubayfs.collect_evidence` and :func:`ubayfs.decide` would say of numbers."""
    told = study.evidence
    if problems.is_sound("evidence", "n_features_per_model") and n_features:
        with reported(problems, ("evidence", "n_features_per_model"), "n_features_per_model"):
            check_features_per_model(told.n_features_per_model, n_features)
    least = study.decision.min_votes
    if least > told.n_models and problems.is_sound("decision", "min_votes") and problems.is_sound("evidence"):
        problems(
            ("decision", "min_votes"),
            f"must be at most the number of models, {told.n_models}, which is the most votes that a feature can have; "
            f"got {least}.",
        )
    if data is None:
        return
    if problems.is_sound("evidence", "selector"):
        with reported(problems, ("evidence", "selector"), "selector"):
            check_task(as_selector(study.selector), data.target.task)
    if problems.is_sound("evidence", "train_size"):
        try:
            plan_subsamples(data, told.train_size)
        except InputError as error:
            of_target = str(error).startswith("class ") and "train_size" not in str(error)
            place: Path = ("data", "target") if of_target else ("evidence", "train_size")
            told_of = _TARGET.sub(lambda _: repr(study.data.target), str(error))
            problems(place, told_of.removeprefix("train_size="))
    if data.constant.all():
        problems(("data", "path"), "every feature has the same value in all rows, so that there is nothing to select.")


def _check_hard_rows(study: Study, data: FeatureData, asked: dict[str, Any], problems: Problems) -> None:
    """Report hard constraints that contradict each other."""
    hard = [(position, one) for position, one in enumerate(map(_as_checked, asked["constraints"])) if _may_be_hard(one)]
    if all(one.kind in _KEPT_BY_NOTHING for _, one in hard):
        return
    if data.n_features > _MOST_CORRELATED:
        hard = [(position, one) for position, one in hard if one.kind != "decorrelate"]
    systems = [resolve(one, data.feature_names, asked["blocks"], data) for _, one in hard]
    system = resolve([one for _, one in hard], data.feature_names, asked["blocks"], data)
    # No feature is worth anything: the first set that keeps the hard rows is as good as any other.
    utility = Utility(np.zeros(data.n_features), system.take(np.flatnonzero(np.isinf(system.rho))), 1.0, ~data.constant)
    try:
        as_optimizer("exact", _SECONDS).maximize(utility)
    except InfeasibleError as error:
        labels = set(error.labels)
        involved: list[Path] = [
            ("constraints", position, one.kind)
            for (position, one), own in zip(hard, systems, strict=True)
            if any(own.label(row) in labels for row in np.flatnonzero(np.isinf(own.rho)).tolist())
        ]
        *others, last = involved
        also = f" See also {'; '.join(map(problems.place, others))}." if others else ""
        problems(last, f"{error}{also}")
    except OptimizationError:
        return  # not in this time; the decision may have more


def _may_be_hard(one: Constraint) -> bool:
    return one.kind == "decorrelate" or math.inf in np.atleast_1d(dict(one.arguments)["rho"])


def _as_checked(one: Constraint) -> Constraint:
    """Return a constraint that has the same hard rows: of correlations only those that are perfect are hard."""
    if one.kind != "decorrelate":
        return one
    told = dict(one.arguments)
    return decorrelate(max(told["threshold"], _NEARLY_PERFECT), told["method"])
