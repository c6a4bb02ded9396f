"""What pages show of a table and its data, and of what is wrong with a study."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.feature_data import FeatureData
from ..exceptions import InfeasibleError, StudyError
from ..report import advice_facts
from .state import State
from .study_facts import DataFacts, Preview, Problem, TableFacts

if TYPE_CHECKING:
    from ..tables import Table

_SHOWN = 20, 30  # rows and columns of a preview


def problems_of(error: BaseException, state: State) -> list[Problem]:
    """Return what an error says is wrong, with the positions of the rules that it is about."""
    on = [position for position, rule in enumerate(state.rules) if rule.on]

    def described(message: str, path: Iterable[Any], about: Iterable[Any]) -> Problem:
        return Problem(message, tuple(path), tuple(on[i] for i in about if isinstance(i, int) and i < len(on)))

    if isinstance(error, StudyError):
        paths = [(problem, [path for path in problem.related or (problem.path,) if path[:1] == ("constraints",)])
                 for problem in error.problems]  # fmt: skip
        return [described(problem.message, problem.path, [path[1] for path in about]) for problem, about in paths]
    positions = error.positions if isinstance(error, InfeasibleError) else ()
    return [described(str(error), ["constraints" if positions else getattr(error, "argument", None) or ""], positions)]


# -- facts -------------------------------------------------------------------------------------------------------------


def table_facts(table: Table) -> TableFacts:
    """Return what a page shows of a table whatever its columns are: names, types, first rows."""
    frame = table.frame
    rows, columns = _SHOWN
    shown = frame.iloc[:rows, :columns]
    preview = Preview(
        columns=tuple(map(str, shown.columns)),
        types=tuple(map(_type, shown.dtypes)),
        index=tuple(map(str, shown.index)),
        rows=tuple(tuple(map(_cell, row)) for row in shown.itertuples(index=False, name=None)),
    )
    return TableFacts(tuple(map(str, frame.columns)), preview, advice_facts(table.notes))


def _type(dtype: Any) -> str:
    return {"b": "yes/no", "i": "whole numbers", "u": "whole numbers", "f": "numbers"}.get(dtype.kind, "text")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.5g}"
    return "" if value is None else str(value)


def data_facts(data: FeatureData) -> DataFacts:
    """Return the data at a glance."""
    target, about_missing = data.target, data.about_missing
    return DataFacts(
        feature_names=[str(name) for name in data.feature_names],
        n_samples=data.n_samples,
        task=target.task,
        classes=tuple(target.class_counts),
        n_groups=None if data.groups is None else len(np.unique(data.groups)),
        n_missing=0 if about_missing is None else int(about_missing.facts["n_values"]),
        missing=None if about_missing is None else str(about_missing),
        notices=advice_facts(data.advice),
    )
