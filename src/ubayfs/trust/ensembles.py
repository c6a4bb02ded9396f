"""Ensembles that are repeated with shuffled targets and on halves of the samples; their sets are stored."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array, Floats, Mask, RandomState, freeze
from ..data.feature_data import FeatureData
from ..ensemble.checkpoint import differences, identifying
from ..ensemble.evidence import Evidence
from ..ensemble.progress import Progress
from ..exceptions import EnsembleError, InputError
from ..selectors.fisher import class_shares
from .procedure import check_varies, draw_half, plan_halves, shuffled, take_samples, with_target
from .repeats import EnsembleRepeats

Pair = tuple[Evidence, Evidence]
_ABOUT = "about"


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
    shares : ndarray of shape (n_features,) or None
        Of more than two classes without covariates, the share of the scatter of each feature that lies between the
        classes of the target itself; None for all other targets, to which votes alone count.
    squares : ndarray of shape (n_done,) or None
        With `shares`, the sum of squared votes in each shuffle, each times the share under the shuffled target.
    """

    counts: NDArray[np.int32]
    n_models: NDArray[np.int32]
    n_shuffles: int
    settings: Mapping[str, Any]
    failures: tuple[str, ...] = ()
    shares: Floats | None = None
    squares: Floats | None = None

    def __post_init__(self) -> None:
        for array in (self.counts, self.n_models, self.shares, self.squares):
            if array is not None:
                freeze(array)

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
        weighted = {"shares": self.shares, "squares": self.squares}
        known = {name: array for name, array in weighted.items() if array is not None}
        return {"counts": self.counts, "n_models": self.n_models, **known, _ABOUT: _text(about)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> NullEnsembles:
        """Make them of what :meth:`to_arrays` returned; EnsembleError if that does not fit together."""
        try:
            about = _read(arrays[_ABOUT])
            counts, n_models = (np.array(arrays[name], dtype=np.int32) for name in ("counts", "n_models"))
            if counts.ndim != 2 or n_models.shape != counts.shape[:1]:
                raise ValueError(f"votes of shape {counts.shape} and {n_models.shape} ensembles")
            known = {name: np.array(arrays[name], dtype=np.float64) for name in ("shares", "squares") if name in arrays}
            expected = {"shares": counts.shape[1:], "squares": counts.shape[:1]}
            if any(array.shape != expected[name] for name, array in known.items()):
                raise ValueError("shares or squares of another shape than the votes")
            failures = tuple(about["failures"])
            return cls(counts, n_models, int(about["n_shuffles"]), about["settings"], failures, **known)
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
        halves = [half.record() for pair in self.pairs for half in pair]
        names = halves[0][0]["feature_names"] if halves else []
        about = {
            "n_splits": self.n_splits,
            "settings": self.settings,
            "failures": self.failures,
            "feature_names": names,
            "halves": [{key: value for key, value in more.items() if key != "feature_names"} for more, _ in halves],
        }
        own = {f"{i}_{name}": array for i, (_, arrays) in enumerate(halves) for name, array in arrays.items()}
        return {"samples": self.samples, **own, _ABOUT: _text(about)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> HalfEnsembles:
        """Make them of what :meth:`to_arrays` returned; EnsembleError if that does not fit together."""
        try:
            about, samples = _read(arrays[_ABOUT]), np.array(arrays["samples"], dtype=bool)
            halves = [
                Evidence.from_record(
                    {**more, "feature_names": about["feature_names"]},
                    {name: arrays[f"{i}_{name}"] for name in ("indptr", "indices", "constant")},
                )
                for i, more in enumerate(about["halves"])
            ]
            if samples.ndim != 2 or 2 * len(samples) != len(halves):
                raise ValueError(f"splits of shape {samples.shape} and {len(halves)} ensembles")
            pairs = tuple(zip(halves[::2], halves[1::2], strict=True))
            return cls(pairs, samples, int(about["n_splits"]), about["settings"], tuple(about["failures"]))
        except (KeyError, TypeError, ValueError) as error:
            raise EnsembleError(f"the stored halves do not fit together ({error!r}).") from error


def different_settings(settings: Mapping[str, Any], evidence: Evidence) -> list[str]:
    """Return what differs between the settings of repeated ensembles and of evidence, of what both know; no seed."""
    found: list[str] = []
    for part in evidence.settings.get("parts", [evidence.settings]):
        known = (identifying(settings).keys() & identifying(part).keys()) - {"seed"}
        before, now = ({name: own[name] for name in known} for own in (settings, part))
        found += differences(before, now, ("there", "in the evidence"))
    return list(dict.fromkeys(found))


def check_same_ensemble(argument: str, settings: Mapping[str, Any], evidence: Evidence) -> None:
    """Raise if repeated ensembles are not repeats of that of the evidence."""
    different = different_settings(settings, evidence)
    if different:
        rule = f"must be of the ensemble of the evidence; these differ: {', '.join(different)}. Collect again."
        raise InputError.of(argument, rule)


def _text(content: Mapping[str, Any]) -> Array:
    return np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)


def _read(text: Array) -> dict[str, Any]:
    content = json.loads(np.asarray(text, dtype=np.uint8).tobytes())
    if not isinstance(content, dict):
        raise ValueError(f"{type(content).__name__} instead of an object")
    return content


# -- collecting them ---------------------------------------------------------------------------------------------------


def collect_null(
    data: FeatureData,
    ensemble: Mapping[str, Any],
    n_shuffles: int = 20,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    on_progress: Progress | bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    known: NullEnsembles | None = None,
) -> NullEnsembles:
    """Run an ensemble on shuffled targets; missing values, covariates and groups stay with their samples.

    Parameters
    ----------
    data : FeatureData
    ensemble : mapping
        Arguments of :func:`~ubayfs.collect_evidence` that are not about data or how it is run: selector, n_models,
        train_size and n_features_per_model; others are ignored.
    n_shuffles : int, default 20
    random_state, n_jobs
        As in :func:`~ubayfs.collect_evidence`; shuffle b is the same for every `n_shuffles`.
    on_progress : callable or bool, optional
        True shows a progress bar (needs tqdm). A function is called as ``on_progress(done, n_shuffles)``, first with 0
        and whenever runs are finished. When it returns False, the shuffles that are done are returned.
    checkpoint : path of a directory, optional
        Every finished shuffle is stored there, and the same call continues from there.
    known : NullEnsembles, optional
        What a call with fewer shuffles found; these are not repeated if data, ensemble and seed are the same.

    Raises
    ------
    InputError
        If there is no target, or an argument breaks a rule.
    EnsembleError
        If fewer than half of the shuffles could be run.
    """
    check_target(data)
    options = (random_state, n_jobs, on_progress, checkpoint)
    return null_ensembles(EnsembleRepeats.of("shuffles", data, ensemble, n_shuffles, *options), known)


def null_ensembles(repeats: EnsembleRepeats, known: NullEnsembles | None = None) -> NullEnsembles:
    """Do what :func:`collect_null` does, with arguments that are checked."""
    data = repeats.procedure.data

    def shuffle(number: int) -> NullEnsembles:
        other = with_target(data, shuffled(data.target, data.groups, repeats.generator(number)))
        found, shares = repeats.again(other, number), _class_shares(other)
        squares = None if shares is None else np.array([found.counts**2 @ shares])
        counts, n_models = found.counts.astype(np.int32), np.array([found.n_models], dtype=np.int32)
        return NullEnsembles(counts[None, :], n_models, 1, {}, squares=squares)

    earlier: list[NullEnsembles] = []
    if known is not None and repeats.continues(known):
        squares = [None] * known.n_done if known.squares is None else known.squares[:, None]
        rows = zip(known.counts, known.n_models, squares, strict=True)
        earlier = [NullEnsembles(counts[None, :], np.array([n]), 1, {}, squares=own) for counts, n, own in rows]
    done, failures = repeats.collect(shuffle, NullEnsembles.from_arrays, earlier)
    counts = np.concatenate([np.empty((0, data.n_features), dtype=np.int32), *(found.counts for found in done)])
    n_models = np.concatenate([np.empty(0, dtype=np.int32), *(found.n_models for found in done)])
    of_shuffles = [found.squares for found in done if found.squares is not None]
    weighted: dict[str, Floats | None] = {}
    if done and len(of_shuffles) == len(done):  # what was stored by an earlier version has none
        weighted = {"shares": _class_shares(data), "squares": np.concatenate(of_shuffles)}
    return NullEnsembles(counts, n_models, repeats.n, repeats.settings, failures, **weighted)


def _class_shares(data: FeatureData) -> Floats | None:
    """Return how much of each feature lies between more than two classes; None for other targets, or with covariates.

    Covariates stay with their samples when the target is shuffled: what they explain would look like a relation.
    """
    return class_shares(data.X, data.target) if data.target.n_classes > 2 and data.covariates is None else None


def collect_halves(
    data: FeatureData,
    ensemble: Mapping[str, Any],
    n_splits: int = 20,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    on_progress: Progress | bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    known: HalfEnsembles | None = None,
) -> HalfEnsembles:
    """Run an ensemble on complementary halves of the samples, stratified like subsamples and of whole groups.

    Parameters
    ----------
    data, ensemble, random_state, n_jobs, on_progress, checkpoint, known
        As in :func:`collect_null`, with splits for shuffles.
    n_splits : int, default 20
        Each takes two ensembles on half of the samples, as many models each as on all of them.

    Raises
    ------
    InputError
        If a class has too few samples for halves, groups cannot be split, or an argument breaks a rule.
    EnsembleError
        If the ensembles of fewer than half of the splits could be run.
    """
    options = (random_state, n_jobs, on_progress, checkpoint)
    return half_ensembles(EnsembleRepeats.of("splits", data, ensemble, n_splits, *options), known)


def half_ensembles(repeats: EnsembleRepeats, known: HalfEnsembles | None = None) -> HalfEnsembles:
    """Do what :func:`collect_halves` does, with arguments that are checked."""
    data = repeats.procedure.data
    plan = plan_halves(data, repeats.settings["train_size"])

    def split(number: int) -> HalfEnsembles:
        first = draw_half(plan, repeats.generator(number))
        parts = [take_samples(data, samples) for samples in (first, ~first)]
        for part in parts:
            check_varies(part.target, "a half of the samples")
        left, right = (repeats.again(part, number, half) for half, part in enumerate(parts))
        return HalfEnsembles(((left, right),), first[None, :], 1, {})

    earlier: list[HalfEnsembles] = []
    if known is not None and repeats.continues(known):
        rows = zip(known.pairs, known.samples, strict=True)
        earlier = [HalfEnsembles((pair,), samples[None, :], 1, {}) for pair, samples in rows]
    done, failures = repeats.collect(split, HalfEnsembles.from_arrays, earlier)
    samples = np.concatenate([np.empty((0, data.n_samples), dtype=bool), *(found.samples for found in done)])
    return HalfEnsembles(tuple(found.pairs[0] for found in done), samples, repeats.n, repeats.settings, failures)


def check_target(data: FeatureData) -> None:
    """Raise if there is no target to shuffle."""
    if data.target.values is None:
        rule = "is missing; noise is found by shuffling the target, and an unsupervised task has none."
        raise InputError.of("y", rule)
