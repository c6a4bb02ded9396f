"""What pages ask the worker for beside the stages of an answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.blocks import Blocks
from . import export
from .intake import inspect
from .staged_answer import SizePoint
from .stages import Stages
from .study_facts import Estimate

if TYPE_CHECKING:
    from ..explain.questions import Question

_TRIED, _TRIED_TOGETHER = 4, 24  # runs that an estimate of the time does
_TOGETHER = 100  # runs that selectors do at once, at most


def sizes(stages: Stages, sizes: Iterable[int]) -> list[SizePoint]:
    """Return the most votes that sets of each size reach under all rules but max-size, and how many are related.

    The best sets do not depend on that rule: they are looked for once until something else changes.
    """
    from ..plotting.sizes import best_of_sizes

    selection: Any = stages.decided
    wanted, related = set(sizes), stages.work().trust.related
    utility, decision = selection.problem.utility, stages.resolve().decision
    constraints = tuple(constraint for constraint in decision.constraints if constraint.kind != "max_size")
    depends_on = (utility.theta, utility.selectable, utility.constraint_strength, constraints)
    best: dict[int, Any] = stages.best_sets.get((*depends_on, Blocks.of(decision.blocks), stages.data), dict)
    system = utility.system
    budgets = [rows for part in system.parts if part.kind == "cost_budget" and len(rows := system.rows_of(part))]
    limits = [utility.system.rows_of(part) for part in utility.system.parts if part.kind == "max_size"]
    rows = np.setdiff1d(np.arange(utility.system.n_inequalities), np.concatenate([*limits, np.empty(0, dtype=int)]))
    free = replace(utility, system=utility.system.take(rows))
    solutions, _, _ = best_of_sizes(selection, free, wanted - best.keys())
    best |= dict.fromkeys(wanted - best.keys())
    best |= {int(solution.chosen.sum()): (solution.chosen, float(free(solution.chosen)[0])) for solution in solutions}
    prices = [system.A[rows][:, : free.n_features].toarray().sum(axis=0) for rows in budgets]
    points = []
    for size in sorted(size for size in wanted if best[size] is not None):
        chosen, value = best[size]
        at_least = None if related is None else related.of(np.flatnonzero(chosen).tolist()).at_least
        votes = (value - free.constraint_strength) * selection.posterior.total  # less what violated wishes cost
        points.append(SizePoint(size, votes, at_least, float(prices[0][chosen].sum()) if prices else None))
    return points


def questions(stages: Stages, n: int = 10) -> tuple[Question, ...]:
    """Return the features whose relevance would change the answer most if the expert knew it."""
    from ..explain.questions import questions as ask

    return ask(stages.decided, n=n)


def estimate(stages: Stages) -> Estimate:
    """Return about how many seconds the ensemble takes, from a few of its runs."""
    data, study = stages.required_data, stages.study
    section = study.evidence

    def timed(n_models: int) -> tuple[float, int]:
        begun, done = time.perf_counter(), 0

        def first_only(now: int, total: int) -> bool:
            nonlocal done
            done = now
            return False

        few = replace(study, evidence=replace(section, n_models=min(n_models, section.n_models)))
        few.collect(data, first_only)
        return time.perf_counter() - begun, max(done, 1)

    seconds, done = timed(_TRIED)
    fixed = 0.0
    if done > 1 and section.n_models > _TRIED:  # many runs at once: most of the time of a few is that of any number
        more, n_more = timed(_TRIED_TOGETHER)
        per_run = max(more - seconds, 0.0) / max(n_more - done, 1)
        fixed = max(seconds - done * per_run, 0.0)
    else:
        per_run = seconds / done
    stored = stages.stored()
    left = max(section.n_models - (0 if stored is None else stored.n_models), 0)
    batches = -(-left // _TOGETHER)
    return Estimate(batches * fixed + left * per_run, left)


REQUESTS: Mapping[str, Callable[..., Any]] = {
    "sizes": sizes,
    "questions": questions,
    "estimate": estimate,
    "figure": lambda stages, name, format="svg": stages.figure(name, format),
    "inspect": lambda stages, **files: inspect(folder=str(stages.directory), **files),
    "version": export.save_version,
    "compare": export.compare_versions,
    "export": export.export,
}
# Requests that no newer state ends; they are done beside decisions.
BACKGROUND_REQUESTS = ("inspect", "version", "compare", "export", "figure")
