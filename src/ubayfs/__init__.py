"""User-guided Bayesian ensemble feature selection: the provably best feature set, and why.

>>> import ubayfs
>>> evidence = ubayfs.Evidence.from_sets([[1, 1, 0], [1, 0, 0], [0, 1, 0]], ["radius", "area", "texture"])
>>> selection = ubayfs.decide(evidence, max_size=2)
>>> selection.features
('radius', 'area')
"""

import sys

import lazy_loader

__version__ = "0.3.0"

# The public names stand once, in the stub beside this file, which type checkers read too. Each is imported when it is
# first used: the command line answers at once, and whoever only reads a selection does not wait for what makes one.
_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
# Names that were here in 0.2, and where they are: errors, measures, and classes of what functions return.
_ERRORS = ("ConstraintError", "EnsembleError", "InfeasibleError", "InputError", "MissingDependencyError")
_ERRORS += ("OptimizationError", "StudyError", "UBayFSError")
_WARNINGS = ("ConvergenceWarning", "EnsembleWarning", "OptimizationWarning", "UBayFSWarning")
_MEASURES = ("concordance_index", "feature_f1", "jaccard", "redundancy_rate", "stability")
_MOVED = {
    **dict.fromkeys(_ERRORS + _WARNINGS, "exceptions"),
    **dict.fromkeys(_MEASURES, "metrics"),
    "Assessment": "trust.assess",
    "Front": "trust.front",
    "Knowledge": "knowledge",
    "Posterior": "priors",
    "Question": "explain.questions",
    "Related": "trust.related",
    "Reproducibility": "trust.reproducibility",
    "SecondTable": "trust.second_table",
    "Selection": "decision",
    "Validation": "trust.validation",
}
_REPLACED = {
    "Noise": "trust.related.Related",
    "attribution": "explain.attribution",
    "comparison": "results.comparison.compare",
    "estimate_noise": "estimate_related",
    "reproduce": "estimate_reproducibility",
    "summary": "report.summary",
    "workflow": "decision.workflow",
}


def __getattr__(name: str) -> object:
    if name in __all__:
        return _public(name)
    if name in _MOVED:
        way_out = f"; it is in {__name__}.{_MOVED[name]}"
    elif name in _REPLACED:
        way_out = f"; {__name__}.{_REPLACED[name]} replaces it"
    else:
        way_out = ""
    # `from ubayfs import name` asks `hasattr`, and would drop the text of an AttributeError.
    by_import = way_out and sys._getframe(1).f_code.co_name == "_handle_fromlist"
    raise (ImportError if by_import else AttributeError)(f"module {__name__!r} has no attribute {name!r}{way_out}")
