"""Shuffled votes: what acts only together with others may have more votes than any feature for a shuffled target.

A test of each feature by itself does not show joint effects. Votes of models that combine features may: an ensemble is
repeated on shuffles of the target, and the most votes that any feature has there are what chance brings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arguments import Array, Floats, Ints, RandomState, freeze
from ..data.feature_data import FeatureData
from ..ensemble.evidence import Evidence
from ..ensemble.progress import Progress
from ..exceptions import EnsembleError, InputError
from .halves import different_settings
from .procedure import check_varies, shuffled
from .repeats import EnsembleRepeats


@dataclass(frozen=True, eq=False)
class ShuffledVotes:
    """Votes of an ensemble, and the most that any feature has for shuffled targets."""

    shares: Floats  # of each shuffle, the largest share of the models that selected the same feature; (n_shuffles,)
    counts: Ints  # votes for the target itself, of `n_models` models; (n_features,)
    n_models: int
    settings: Mapping[str, Any]  # of the ensemble, with the seed of the shuffles

    def __post_init__(self) -> None:
        freeze(self.shares)

    @property
    def n_shuffles(self) -> int:
        """Number of shuffles whose ensembles could be run."""
        return len(self.shares)

    @property
    def exceeded(self) -> Array:
        """Features with more votes than any feature in any shuffle, of shape (n_features,)."""
        # 1e-9: a share times the number of models is a whole number but for rounding.
        return np.asarray(self.counts > self.shares.max(initial=0.0) * self.n_models + 1e-9)

    def beside(self, evidence: Evidence) -> ShuffledVotes | None:
        """Return the same for the votes of other evidence; None if that is of another ensemble."""
        if different_settings(self.settings, evidence):
            return None
        return replace(self, counts=evidence.counts, n_models=evidence.n_models)

    def to_arrays(self) -> dict[str, Array]:
        """Return the shuffles as plain arrays, for a checkpoint."""
        return {"shares": self.shares}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> ShuffledVotes:
        """Return what :meth:`to_arrays` was called for; EnsembleError if these are not shares."""
        shares = np.array(arrays.get("shares", ()), dtype=np.float64)
        if shares.shape != (1,) or not 0 <= shares[0] <= 1:
            raise EnsembleError("the stored votes of a shuffle do not fit together.")
        return cls(shares, np.zeros(0, dtype=np.int64), 0, {})


def collect_shuffled_votes(
    data: FeatureData,
    ensemble: Mapping[str, Any],
    evidence: Evidence,
    n_vote_shuffles: int = 20,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    on_progress: Progress | bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> ShuffledVotes:
    """Repeat an ensemble on shuffles of the target; arguments are those of :func:`~ubayfs.estimate_related`.

    Groups in which the target is constant exchange it as a whole; in others samples of the group exchange theirs.
    """
    if data.covariates is not None:
        rule = "cannot be combined with n_vote_shuffles: a shuffle would also part the target from the covariates."
        raise InputError.of("adjust_for", f"{rule} Leave out n_vote_shuffles.")
    options = (random_state, n_jobs, on_progress, checkpoint)
    repeats = EnsembleRepeats.from_arguments("vote_shuffles", data, ensemble, n_vote_shuffles, *options)

    def shuffle(number: int) -> ShuffledVotes:
        target = shuffled(data.target, data.groups, repeats.generator(number))
        check_varies(target, "a shuffle")
        votes = repeats.again(replace(data, target=target), number)
        most = np.array([votes.counts.max(initial=0) / max(votes.n_models, 1)])
        return ShuffledVotes(most, votes.counts, votes.n_models, {})

    done, _ = repeats.collect(shuffle, ShuffledVotes.from_arrays, [])
    shares = np.concatenate([np.empty(0), *(votes.shares for votes in done)])
    return ShuffledVotes(shares, evidence.counts, evidence.n_models, repeats.settings)
