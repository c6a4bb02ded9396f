"""What pages show of a table and its data, and of what is wrong with a study, in plain types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._plain import plain
from ..data.feature_data import FeatureData
from ..exceptions import InfeasibleError, StudyError
from ..report import advice_facts
from .state import State, problem

_SHOWN = 20, 30  # rows and columns of a preview


def problems_of(error: BaseException, state: State) -> list[dict[str, Any]]:
    """Return what an error says is wrong, in plain types, with the positions of the rules that it is about."""
    on = [position for position, rule in enumerate(state.rules) if rule.on]

    def described(message: str, path: Any, about: Iterable[Any]) -> dict[str, Any]:
        return problem(message, path, [on[i] for i in about if isinstance(i, int) and i < len(on)])

    if isinstance(error, StudyError):
        paths = [(found, [path for path in found.related or (found.path,) if path[:1] == ("constraints",)])
                 for found in error.problems]  # fmt: skip
        return [described(found.message, found.path, [path[1] for path in about]) for found, about in paths]
    positions = error.positions if isinstance(error, InfeasibleError) else ()
    return [described(str(error), ["constraints" if positions else getattr(error, "argument", None) or ""], positions)]


# -- facts -------------------------------------------------------------------------------------------------------------


def table_facts(table: Any) -> dict[str, Any]:
    """Return what a page shows of a table whatever its columns are: names, types, missing values, first rows."""
    frame = table.frame
    rows, columns = _SHOWN
    shown = frame.iloc[:rows, :columns]
    return {
        "columns": [str(name) for name in frame.columns],
        "types": {str(name): _type(dtype) for name, dtype in shown.dtypes.items()},
        "missing_cells": int(frame.isna().to_numpy().sum()),
        "preview": {
            "columns": [str(name) for name in shown.columns],
            "index": [str(name) for name in shown.index],
            "rows": [[_cell(value) for value in row] for row in shown.itertuples(index=False, name=None)],
        },
        "notices": advice_facts(table.notes),
    }


def _type(dtype: Any) -> str:
    return {"b": "yes/no", "i": "whole numbers", "u": "whole numbers", "f": "numbers"}.get(dtype.kind, "text")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.5g}"
    return "" if value is None else str(value)


def data_facts(data: FeatureData) -> dict[str, Any]:
    """Return the data at a glance, in plain types."""
    target = data.target
    return {
        "n_samples": data.n_samples,
        "n_features": data.n_features,
        "feature_names": [str(name) for name in data.feature_names],
        "task": target.task,
        "classes": target.class_counts,
        "n_groups": None if data.groups is None else len(np.unique(data.groups)),
        "missing": None
        if data.about_missing is None
        else plain(data.about_missing.facts) | {"words": str(data.about_missing)},
        "notices": advice_facts(data.advice),
    }
