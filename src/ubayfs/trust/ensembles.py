"""Ensembles that are repeated with shuffled targets and on halves of the samples; what they found is kept."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._arguments import Array, Mask, RandomState, check_int, freeze
from .._files import load_record, save_record
from ..data.feature_data import FeatureData
from ..ensemble.checkpoint import Checkpoint, as_directory, differences, identifying, identity
from ..ensemble.collect import Progress, check_ensemble, check_progress, gather, run_ensemble, seed_of
from ..ensemble.evidence import Evidence, RunFailure, check_failures
from ..exceptions import EnsembleError, EnsembleWarning, InputError
from .procedure import Procedure, draw_half, plan_halves, shuffled, take_samples

Pair = tuple[Evidence, Evidence]
_ABOUT = "about"
_KIND, _VERSION = "ubayfs repeated ensembles", 1
# Children of the seed; those of the runs of the evidence itself are below MOST_MODELS.
_KEYS = {"shuffles": 2**31, "splits": 2**31 + 1}

_Stored = TypeVar("_Stored", "NullEnsembles", "HalfEnsembles")


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
        return {"counts": self.counts, "n_models": self.n_models, _ABOUT: _text(about)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> NullEnsembles:
        """Make them of what :meth:`to_arrays` returned; EnsembleError if that does not fit together."""
        try:
            about = _read(arrays[_ABOUT])
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
            _ABOUT: _text(about),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> HalfEnsembles:
        """Make them of what :meth:`to_arrays` returned; EnsembleError if that does not fit together."""
        try:
            about = _read(arrays[_ABOUT])
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


# -- collecting them ---------------------------------------------------------------------------------------------------


def collect_null(
    data: FeatureData,
    ensemble: Mapping[str, Any],
    n_shuffles: int = 20,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    on_progress: Progress | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
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
    on_progress : callable, optional
        Called as ``on_progress(done, n_shuffles)``, first with 0 and whenever runs are finished. When it returns False,
        the shuffles that are done are returned.
    checkpoint : path of a directory, optional
        Every finished shuffle is stored there, and the same call continues from there.

    Raises
    ------
    InputError
        If there is no target, or an argument breaks a rule.
    EnsembleError
        If fewer than half of the shuffles could be run.
    """
    check_target(data)
    repeats = _Repeats.of("shuffles", data, ensemble, n_shuffles, random_state, n_jobs, on_progress, checkpoint)

    def shuffle(number: int) -> NullEnsembles:
        other = replace(data, target=shuffled(data.target, data.groups, repeats.generator(number)))
        found = repeats.ensemble(other, number)
        counts, n_models = found.counts.astype(np.int32), np.array([found.n_models], dtype=np.int32)
        return NullEnsembles(counts[None, :], n_models, 1, {})

    done, failures = repeats.run(shuffle, NullEnsembles.from_arrays)
    counts = np.concatenate([np.empty((0, data.n_features), dtype=np.int32), *(one.counts for one in done)])
    n_models = np.concatenate([np.empty(0, dtype=np.int32), *(one.n_models for one in done)])
    return NullEnsembles(counts, n_models, repeats.n, repeats.settings, failures)


def collect_halves(
    data: FeatureData,
    ensemble: Mapping[str, Any],
    n_splits: int = 20,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    on_progress: Progress | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> HalfEnsembles:
    """Run an ensemble on complementary halves of the samples, stratified like subsamples and of whole groups.

    Parameters
    ----------
    data, ensemble, random_state, n_jobs, on_progress, checkpoint
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
    repeats = _Repeats.of("splits", data, ensemble, n_splits, random_state, n_jobs, on_progress, checkpoint)
    plan = plan_halves(data, repeats.settings["train_size"])

    def split(number: int) -> HalfEnsembles:
        first = draw_half(plan, repeats.generator(number))
        parts = [take_samples(data, samples) for samples in (first, ~first)]
        for part in parts:
            _check_varies(part)
        one, other = (repeats.ensemble(part, number, half) for half, part in enumerate(parts))
        return HalfEnsembles(((one, other),), first[None, :], 1, {})

    done, failures = repeats.run(split, HalfEnsembles.from_arrays)
    samples = np.concatenate([np.empty((0, data.n_samples), dtype=bool), *(one.samples for one in done)])
    return HalfEnsembles(tuple(one.pairs[0] for one in done), samples, repeats.n, repeats.settings, failures)


def check_target(data: FeatureData) -> None:
    """Raise if there is no target to shuffle."""
    if data.target.values is None:
        rule = "is missing; noise is found by shuffling the target, and an unsupervised task has none."
        raise InputError.of("y", rule)


def _check_varies(half: FeatureData) -> None:
    values = half.target.values
    if values is not None and (values == values[0]).all():
        raise InputError.of("y", "is constant in a half of the samples.")


class _Cancelled(Exception):  # noqa: N818 - not an error
    """The caller stopped the repeats."""


@dataclass(eq=False)
class _Repeats:
    """Runs an ensemble again and again; whatever number b needs is determined by b, so that no order matters."""

    procedure: Procedure
    what: str
    n: int
    settings: dict[str, Any]  # with the seed
    n_jobs: int | None
    on_progress: Progress | None
    directory: Path | None

    @classmethod
    def of(
        cls,
        what: str,
        data: FeatureData,
        ensemble: Mapping[str, Any],
        n: Any,
        random_state: RandomState,
        n_jobs: int | None,
        on_progress: Progress | None,
        checkpoint: str | os.PathLike[str] | None,
    ) -> _Repeats:
        """Check all arguments, and open the checkpoint."""
        n = check_int(f"n_{what}", n, low=1)
        check_ensemble(n_jobs=n_jobs)
        check_progress(on_progress)
        procedure = Procedure.of(data, ensemble)
        directory = None if checkpoint is None else as_directory(checkpoint)
        settings = {**procedure.settings, "seed": seed_of(random_state, directory)}
        if directory is not None:
            # With another number of models a repeat is another one, other than a run of an ensemble.
            Checkpoint.open(directory, {**settings, "repeat": {"what": what, "n_models": settings["n_models"]}})
        return cls(procedure, what, n, settings, n_jobs, on_progress, directory)

    def _seed(self, *key: int) -> dict[str, Any]:
        seed = self.settings["seed"]
        return {**seed, "spawn_key": [*seed["spawn_key"], _KEYS[self.what], *key]}

    def generator(self, number: int) -> np.random.Generator:
        """Return the generator of the shuffle or the split with this number."""
        return np.random.default_rng(np.random.SeedSequence(**self._seed(number, 0)))

    def ensemble(self, data: FeatureData, number: int, half: int = 0) -> Evidence:
        """Run the ensemble on other data of the same features."""
        stopped = False

        def watch(done: int, total: int) -> bool:
            nonlocal stopped
            stopped = stopped or (done < total and not self._go_on(number))
            return not stopped

        own = {"seed": self._seed(number, 1 + half), "n_samples": data.n_samples, self.what: number}
        settings = {**self.settings, **own}
        outcomes = run_ensemble(data, self.procedure.selectors, settings, self.n_jobs, watch)
        if stopped:
            raise _Cancelled
        same = data.X is self.procedure.data.X
        constant = (self.procedure.data if same else data).constant
        evidence = gather(outcomes, data.feature_names, constant, settings)
        check_failures(evidence.failures, len(outcomes))
        return evidence

    def run(
        self, repeat: Callable[[int], _Stored], read: Callable[[Mapping[str, Array]], _Stored]
    ) -> tuple[list[_Stored], tuple[str, ...]]:
        """Return what repeats have found, and why others failed; those that are stored are read."""
        done: list[_Stored] = []
        failures: list[str] = []
        for number in range(self.n):
            if not self._go_on(number):
                break
            try:
                found = self._load(number, read)
                if found is None:
                    found = repeat(number)
                    self._save(number, found)
                done.append(found)
            except _Cancelled:
                break
            except (EnsembleError, InputError) as error:
                failures.append(str(error))
                if 2 * len(failures) > self.n:
                    reason, times = Counter(failures).most_common(1)[0]
                    raise EnsembleError(
                        f"{len(failures)} of {number + 1} {self.what} could not be used, and at least half of {self.n} "
                        f"must; the most frequent reason ({times}x) is: {reason}"
                    ) from error
        else:
            self._go_on(self.n)
        return done, tuple(failures)

    def _go_on(self, n_done: int) -> bool:
        return self.on_progress is None or self.on_progress(n_done, self.n) is not False

    def _path(self, number: int) -> Path | None:
        return None if self.directory is None else self.directory / f"{self.what}-{number:05d}.npz"

    def _save(self, number: int, found: _Stored) -> None:
        path = self._path(number)
        if path is not None:
            save_record(path, _KIND, _VERSION, {"ensemble": identity(self.settings)}, **found.to_arrays())

    def _load(self, number: int, read: Callable[[Mapping[str, Array]], _Stored]) -> _Stored | None:
        path = self._path(number)
        if path is None or not path.exists():
            return None
        try:
            metadata, arrays = load_record(path, _KIND, _VERSION)
            if metadata.get("ensemble") != identity(self.settings):
                raise EnsembleError(f"{path} holds something else, copied from elsewhere.")
            return read(arrays)
        except EnsembleError as error:
            message = f"the checkpoint is damaged, and what it lacks is done again: {error}"
            warnings.warn(message, EnsembleWarning, stacklevel=5)
            return None
