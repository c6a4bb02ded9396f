"""Ensembles that are repeated with shuffled targets and on halves of the samples; what they found is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._arguments import Array, Mask, freeze
from ..ensemble.checkpoint import differences, identifying
from ..ensemble.evidence import Evidence, RunFailure
from ..exceptions import EnsembleError

Pair = tuple[Evidence, Evidence]
_METADATA = "metadata"


@dataclass(frozen=True, eq=False)
class NullEnsembles:
    """Votes of ensembles that saw a shuffled target.

    Attributes
    ----------
    counts : ndarray of int of shape (n_done, n_features)
        Votes of each feature in each shuffle whose ensemble could be run.
    n_models : ndarray of int of shape (n_done,)
        Models behind these votes.
    n_shuffles : int
        Shuffles that were asked for.
    settings : mapping
        Of the ensemble: those of the evidence, with the seed of the shuffles.
    failures : tuple of str
        Why the ensembles of further shuffles could not be run.
    """

    counts: NDArray[np.int32]
    n_models: NDArray[np.int32]
    n_shuffles: int
    settings: Mapping[str, Any]
    failures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze(self.counts)
        freeze(self.n_models)

    @property
    def n_done(self) -> int:
        """Number of shuffles whose ensemble could be run."""
        return len(self.counts)

    @property
    def complete(self) -> bool:
        """Whether no shuffle was left out because of a cancel."""
        return self.n_done + len(self.failures) == self.n_shuffles

    def to_arrays(self) -> dict[str, Array]:
        """Return everything as plain arrays, for one .npz file."""
        about = {"n_shuffles": self.n_shuffles, "settings": self.settings, "failures": self.failures}
        return {"counts": self.counts, "n_models": self.n_models, _METADATA: _text(about)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> NullEnsembles:
        """Make them of what :meth:`to_arrays` returned; EnsembleError if that does not fit together."""
        try:
            about = _read(arrays[_METADATA])
            counts, n_models = (np.array(arrays[name], dtype=np.int32) for name in ("counts", "n_models"))
            if counts.ndim != 2 or n_models.shape != counts.shape[:1]:
                raise ValueError(f"votes of shape {counts.shape} and {n_models.shape} ensembles")
            return cls(counts, n_models, int(about["n_shuffles"]), about["settings"], tuple(about["failures"]))
        except (KeyError, TypeError, ValueError) as error:
            raise EnsembleError(f"the stored shuffles do not fit together ({error!r}).") from error


@dataclass(frozen=True, eq=False)
class HalfEnsembles:
    """Ensembles on complementary halves of the samples.

    Attributes
    ----------
    pairs : tuple of (Evidence, Evidence)
        Of the first and the second half of each split whose ensembles could be run.
    samples : ndarray of bool of shape (n_done, n_samples)
        True for the samples of the first half.
    n_splits : int
        Splits that were asked for.
    settings : mapping
        Of the ensemble: those of the evidence, with the seed of the splits.
    failures : tuple of str
        Why the ensembles of further splits could not be run.
    """

    pairs: tuple[Pair, ...]
    samples: Mask
    n_splits: int
    settings: Mapping[str, Any]
    failures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze(self.samples)

    @property
    def n_done(self) -> int:
        """Number of splits whose ensembles could be run."""
        return len(self.pairs)

    @property
    def complete(self) -> bool:
        """Whether no split was left out because of a cancel."""
        return self.n_done + len(self.failures) == self.n_splits

    def to_arrays(self) -> dict[str, Array]:
        """Return everything as plain arrays, for one .npz file."""
        halves = [half for pair in self.pairs for half in pair]
        about = {
            "n_splits": self.n_splits,
            "settings": self.settings,
            "failures": self.failures,
            "feature_names": list(halves[0].feature_names) if halves else [],
            "halves": [
                {"settings": half.settings, "runs": half.runs, "failures": [asdict(run) for run in half.failures]}
                for half in halves
            ],
        }
        nothing = np.empty(0, dtype=np.int32)
        return {
            "samples": self.samples,
            "constant": np.array([half.constant for half in halves], dtype=bool),
            "n_models": np.array([half.n_models for half in halves], dtype=np.int32),
            "sizes": np.concatenate([nothing, *(np.diff(half.sets.indptr) for half in halves)]),
            "indices": np.concatenate([nothing, *(half.sets.indices for half in halves)]),
            _METADATA: _text(about),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> HalfEnsembles:
        """Make them of what :meth:`to_arrays` returned; EnsembleError if that does not fit together."""
        try:
            about = _read(arrays[_METADATA])
            halves = _halves(arrays, about)
            samples = np.array(arrays["samples"], dtype=bool)
            if samples.ndim != 2 or 2 * len(samples) != len(halves):
                raise ValueError(f"splits of shape {samples.shape} and {len(halves)} ensembles")
            pairs = tuple(zip(halves[::2], halves[1::2], strict=True))
            return cls(pairs, samples, int(about["n_splits"]), about["settings"], tuple(about["failures"]))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise EnsembleError(f"the stored halves do not fit together ({error!r}).") from error


def different_settings(settings: Mapping[str, Any], evidence: Evidence) -> list[str]:
    """Return what differs between the settings of repeated ensembles and of evidence, of what both know; no seed."""
    found: list[str] = []
    for part in evidence.settings.get("parts", [evidence.settings]):
        known = (identifying(settings).keys() & identifying(part).keys()) - {"seed"}
        before, now = ({name: own[name] for name in known} for own in (settings, part))
        found += differences(before, now, ("there", "in the evidence"))
    return list(dict.fromkeys(found))


def _halves(arrays: Mapping[str, Array], about: Mapping[str, Any]) -> list[Evidence]:
    """Return the evidence of all halves."""
    names = np.array(about["feature_names"], dtype=object)
    sizes, n_models, constant = arrays["sizes"], arrays["n_models"].tolist(), np.array(arrays["constant"], dtype=bool)
    if sum(n_models) != len(sizes) or sizes.sum() != len(arrays["indices"]):
        raise ValueError(f"{sum(n_models)} models with {len(sizes)} sets of {sizes.sum()} features")
    ends = np.concatenate([[0], np.cumsum(sizes)])
    found, start = [], 0
    for mask, n, more in zip(constant, n_models, about["halves"], strict=True):
        indptr = ends[start : start + n + 1]
        indices = np.array(arrays["indices"][indptr[0] : indptr[-1]], dtype=np.int32)
        ones = np.ones(len(indices), dtype=bool)
        sets = sparse.csr_array((ones, indices, (indptr - indptr[0]).astype(np.int32)), shape=(n, len(names)))
        sets.check_format(full_check=True)
        failures = tuple(RunFailure(**failure) for failure in more["failures"])
        found.append(Evidence(sets, names, mask, tuple(more["runs"]), failures, more["settings"]))
        start += n
    return found


def _text(content: Mapping[str, Any]) -> Array:
    return np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)


def _read(text: Array) -> dict[str, Any]:
    content = json.loads(np.asarray(text, dtype=np.uint8).tobytes())
    if not isinstance(content, dict):
        raise ValueError(f"{type(content).__name__} instead of an object")
    return content
