"""A size by the data: as many features as have more votes than shuffled targets explain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from numpy.random import SeedSequence

from ..constraints.supported import asks_for_supported, with_supported
from ..data.feature_data import FeatureData
from ..ensemble.evidence import Evidence
from ..exceptions import Advice
from ..workflow import Decision
from .ensembles import collect_null
from .noise import Noise
from .procedure import Procedure

# The most features of such a set, unless another number is given.
MAX_SUPPORTED = 20
N_SHUFFLES = 20


def supported_size(noise: Noise, most: int = MAX_SUPPORTED) -> tuple[int, tuple[Advice, ...]]:
    """Return the number of features that the data support, at least 1 and at most `most`, and advice where it is 0."""
    n = noise.supported
    advice = Advice("nothing_supported", {"p_value": noise.p_value, "n_shuffles": noise.null.n_done})
    return min(max(n, 1), most), () if n else (advice,)


@dataclass(frozen=True, eq=False)
class SizedInParts:
    """Gives the decision of a part of the samples, whose size is found by shuffling the target of that part."""

    decision: Decision
    ensemble: Mapping[str, Any]
    most: int
    n_shuffles: int

    def __call__(self, data: FeatureData, evidence: Evidence) -> Decision:
        """Return the decision with the size that the part supports."""
        seed = SeedSequence(**evidence.settings["seed"])  # shuffles have children of their own
        null = collect_null(data, self.ensemble, self.n_shuffles, seed, n_jobs=1)
        noise = Noise(evidence.feature_names, evidence.counts, evidence.n_models, null)
        return _sized(self.decision, supported_size(noise, self.most)[0])


def sized_in_parts(
    procedure: Procedure, decision: Decision, most: int = MAX_SUPPORTED, n_shuffles: int = N_SHUFFLES
) -> tuple[Decision, SizedInParts | None]:
    """Return a decision that can be made, and what gives that of a part of the samples.

    The latter is None where no constraint asks for the number of features that the data support.
    """
    if not any(map(asks_for_supported, decision.constraints)):
        return decision, None
    names = ("n_models", "train_size", "n_features_per_model")
    ensemble = {"selector": procedure.selectors, **{name: procedure.settings[name] for name in names}}
    return _sized(decision, most), SizedInParts(decision, ensemble, most, n_shuffles)


def _sized(decision: Decision, n: int) -> Decision:
    return replace(decision, constraints=with_supported(decision.constraints, n))
