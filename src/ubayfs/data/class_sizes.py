"""Targets that are hardly classes, and classes that are hardly there."""

from __future__ import annotations

from ..exceptions import Advice
from .target import Target

# Samples per class below which votes rest on chance; a run sees three quarters of them.
_FEW = 5
# Where there are so many classes with fewer samples each, on average, than this, labels are names or measurements.
_MANY, _PER_CLASS = 5, 3


def class_advice(target: Target) -> tuple[Advice, ...]:
    """Return advice on almost as many classes as samples, or else on classes of few samples.

    Examples
    --------
    >>> from ubayfs.data.target import read_target
    >>> [dict(advice.facts) for advice in class_advice(read_target(list("aaaaaabbb"), 9, None))]
    [{'least': 5, 'classes': ['b'], 'n_samples': [3], 'shown': ['b (3)']}]
    """
    counts = target.class_counts
    n_samples = 0 if target.values is None else len(target.values)
    if target.n_classes >= _MANY and _PER_CLASS * target.n_classes > n_samples:
        return (Advice("many_classes", {"n_classes": target.n_classes, "n_samples": n_samples}),)
    few = [(label, n) for label, n in counts if n < _FEW]
    if not few:
        return ()
    facts = {"classes": [label for label, _ in few], "n_samples": [n for _, n in few]}
    return (Advice("few_samples_per_class", {"least": _FEW, **facts, "shown": [f"{a} ({n})" for a, n in few]}),)
