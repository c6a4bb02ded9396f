"""User-guided Bayesian ensemble feature selection: the provably best feature set, and why.

>>> import ubayfs
>>> evidence = ubayfs.Evidence.from_sets([[1, 1, 0], [1, 0, 0], [0, 1, 0]], ["radius", "area", "texture"])
>>> selection = ubayfs.decide(evidence, constraints=[ubayfs.max_size(2, rho=10)])
>>> selection.features
('radius', 'area')
"""

from typing import TYPE_CHECKING

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
    UBayFSError,
    UBayFSWarning,
)
from .metrics import feature_f1, jaccard, redundancy_rate, stability
from .optimize import Exact, Genetic
from .priors import Dirichlet, GeneralizedDirichlet, Hyperdirichlet, Posterior
from .selection import Selection
from .workflow import collect_evidence, decide, log_admissibility, maximize, selection_probabilities

if TYPE_CHECKING:
    from .estimator import UBayFSSelector

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


def __getattr__(name: str) -> object:
    # scikit-learn takes longer to import than everything else here together, and only the estimator is built on it.
    if name == "UBayFSSelector":
        from .estimator import UBayFSSelector

        return UBayFSSelector
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
