"""User-guided Bayesian ensemble feature selection: the provably best feature set, and why.

>>> import ubayfs
>>> evidence = ubayfs.Evidence.from_sets([[1, 1, 0], [1, 0, 0], [0, 1, 0]], ["radius", "area", "texture"])
>>> selection = ubayfs.decide(evidence, constraints=[ubayfs.max_size(2, rho=10)])
>>> selection.features
('radius', 'area')
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .blocks import Blocks
    from .constraints import (
        Constraint,
        at_least_one,
        cannot_link,
        cost_budget,
        decorrelate,
        exact_size,
        exclude,
        implies,
        linear,
        max_blocks,
        max_per_block,
        max_size,
        min_size,
        must_link,
        require,
    )
    from .estimator import UBayFSSelector
    from .evidence import Evidence
    from .exceptions import (
        ConstraintError,
        ConvergenceWarning,
        EnsembleError,
        EnsembleWarning,
        InfeasibleError,
        InputError,
        MissingDependencyError,
        OptimizationError,
        OptimizationWarning,
        StudyError,
        UBayFSError,
        UBayFSWarning,
    )
    from .metrics import feature_f1, jaccard, redundancy_rate, stability
    from .optimize import Exact, Genetic
    from .priors import Dirichlet, GeneralizedDirichlet, Hyperdirichlet, Posterior
    from .selection import Selection
    from .workflow import collect_evidence, decide, log_admissibility, maximize, selection_probabilities

__version__ = "0.1.0"

__all__ = [
    "Blocks",
    "Constraint",
    "ConstraintError",
    "ConvergenceWarning",
    "Dirichlet",
    "EnsembleError",
    "EnsembleWarning",
    "Evidence",
    "Exact",
    "GeneralizedDirichlet",
    "Genetic",
    "Hyperdirichlet",
    "InfeasibleError",
    "InputError",
    "MissingDependencyError",
    "OptimizationError",
    "OptimizationWarning",
    "Posterior",
    "Selection",
    "StudyError",
    "UBayFSError",
    "UBayFSSelector",
    "UBayFSWarning",
    "__version__",
    "at_least_one",
    "cannot_link",
    "collect_evidence",
    "cost_budget",
    "decide",
    "decorrelate",
    "exact_size",
    "exclude",
    "feature_f1",
    "implies",
    "jaccard",
    "linear",
    "log_admissibility",
    "max_blocks",
    "max_per_block",
    "max_size",
    "maximize",
    "min_size",
    "must_link",
    "redundancy_rate",
    "require",
    "selection_probabilities",
    "stability",
]

# Where each name is defined. It is imported when it is first used: the command line answers at once, and whoever only
# reads a selection does not wait for what makes one.
_NAMES = {
    "blocks": "Blocks",
    "constraints": (
        "Constraint at_least_one cannot_link cost_budget decorrelate exact_size exclude implies linear max_blocks "
        "max_per_block max_size min_size must_link require"
    ),
    "estimator": "UBayFSSelector",
    "evidence": "Evidence",
    "exceptions": (
        "ConstraintError ConvergenceWarning EnsembleError EnsembleWarning InfeasibleError InputError "
        "MissingDependencyError OptimizationError OptimizationWarning StudyError UBayFSError UBayFSWarning"
    ),
    "metrics": "feature_f1 jaccard redundancy_rate stability",
    "optimize": "Exact Genetic",
    "priors": "Dirichlet GeneralizedDirichlet Hyperdirichlet Posterior",
    "selection": "Selection",
    "workflow": "collect_evidence decide log_admissibility maximize selection_probabilities",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
# Modules with public names of their own, such as ubayfs.workers.on_cluster.
_MODULES = {
    "attribution", "comparison", "metrics", "optimize", "plotting", "priors", "report", "results", "selectors", "study",
    "summary", "tables", "workers", "workflow",
}  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _HOME:
        value: object = getattr(import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
