"""Targets that are hardly classes, and classes that are hardly there."""

from __future__ import annotations

from ..exceptions import Advice
from .survival import FEW_EVENTS
from .target import Target

# Samples per class below which votes rest on chance; a run sees three quarters of them.
_FEW = 5
# Where there are so many classes with fewer samples each, on average, than this, labels are names or measurements.
_MANY, _PER_CLASS = 5, 3


def folded_label(label: str) -> str:
    """Return a label as it is compared: without upper case, outer blanks and repeated ones.

    >>> folded_label(" Tumor  tissue")
    'tumor tissue'
    """
    return " ".join(label.casefold().split())


def class_advice(target: Target) -> tuple[Advice, ...]:
    """Return advice on labels that are alike, many classes for so few samples, and few samples of a class or events.

    Examples
    --------
    >>> from ubayfs.data.target import read_target
    >>> [dict(advice.facts) for advice in class_advice(read_target(list("aaaaaabbb"), 9, None))]
    [{'least': 5, 'classes': ['b'], 'n_samples': [3], 'shown': ['b (3)']}]
    """
    counts = target.class_counts
    if target.task == "survival":
        return _event_advice(target)
    alike = _alike([label for label, _ in counts])
    n_samples = 0 if target.values is None else len(target.values)
    if target.n_classes >= _MANY and _PER_CLASS * target.n_classes > n_samples:
        return (*alike, Advice("many_classes", {"n_classes": target.n_classes, "n_samples": n_samples}))
    few = [(label, n) for label, n in counts if n < _FEW]
    if not few:
        return alike
    facts = {"classes": [label for label, _ in few], "n_samples": [n for _, n in few]}
    return (*alike, Advice("few_samples_per_class", {"least": _FEW, **facts, "shown": [f"{a} ({n})" for a, n in few]}))


def _alike(labels: list[str]) -> tuple[Advice, ...]:
    spellings: dict[str, list[str]] = {}
    for label in labels:
        spellings.setdefault(folded_label(label), []).append(label)
    several = [" = ".join(map(repr, found)) for found in spellings.values() if len(found) > 1]
    return (Advice("labels_alike", {"labels": several}),) if several else ()


def _event_advice(target: Target) -> tuple[Advice, ...]:
    """Return advice on few events, and on how events were recognized where that is not plain."""
    n_events = int(target.event.sum())
    labels = [] if target.classes is None else [str(label) for label in target.classes]
    found = [Advice("few_events", {"n_events": n_events, "least": FEW_EVENTS})] if n_events < FEW_EVENTS else []
    if labels[1:] and labels[1] not in ("True", "1", "1.0", "event"):
        found.append(Advice("event_coded", {"event": labels[1], "censored": labels[0], "n_events": n_events}))
    return tuple(found)
