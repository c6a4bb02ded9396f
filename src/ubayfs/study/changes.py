"""What a study left to its defaults, and what these were in the version that wrote it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from .. import __version__
from ..exceptions import Advice


@dataclass(frozen=True)
class Change:
    """A default, or the meaning of a value, that is another one since a version."""

    since: tuple[int, int]
    key: str  # as a person looks for it in the file
    concerns: Callable[[Any, Collection[str]], bool]  # whether a study, and what it holds unlikely, rest on it
    former: str
    default: str


CHANGES = (
    Change(
        (0, 2),
        "evidence.n_features_per_model",
        lambda study, unlikely: study.evidence.n_features_per_model is None,
        "10, or all features if there are fewer",
        "a quarter of the features, at most 10",
    ),
    Change(
        (0, 2),
        "data.missing: median",
        lambda study, unlikely: study.data.missing == "median",
        "the median of all samples, for every selector",
        "the median of the samples of each run; fisher and mrmr use the values that are present",
    ),
    Change(
        (0, 2),
        "the weight 'unlikely'",
        lambda study, unlikely: bool(unlikely),
        "a constraint exclude of rho 1",
        "taken only if it has over half of all models' votes more than the feature it displaces (exclude, price 0.5)",
    ),
)


def version_advice(study: Any, unlikely: Collection[str] = ()) -> tuple[Advice, ...]:
    """Return what is different from the version of ubayfs that wrote a study; nothing if it is this or unknown.

    `unlikely` are the features that it holds unlikely, once its tables are read.
    """
    written = str(study.versions.get("ubayfs", __version__))
    before, now = _release(written), _release(__version__)
    if before == now:
        return ()
    changed = [
        Advice("changed_default", {"key": c.key, "former": c.former, "default": c.default, "written": written})
        for c in CHANGES
        if before is not None and before < c.since and c.concerns(study, unlikely)
    ]
    return tuple(changed) or (Advice("other_version", {"written": written, "present": __version__}),)


def _release(version: str) -> tuple[int, int] | None:
    """Return the first two numbers of a version, within which results stay the same."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return None if found is None else (int(found[1]), int(found[2]))
