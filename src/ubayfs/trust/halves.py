"""Halves of the samples: how they are drawn, and the ensembles on them, whose sets are stored."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arguments import Array, Mask, RandomState, freeze
from ..data.feature_data import FeatureData
from ..data.target import TASKS
from ..ensemble.checkpoint import differences, identifying
from ..ensemble.evidence import Evidence
from ..ensemble.progress import Progress
from ..ensemble.subsampling import SubsamplePlan, plan_subsamples
from ..exceptions import EnsembleError, InputError
from .procedure import check_varies, smallest_class, take_samples
from .repeats import EnsembleRepeats

Pair = tuple[Evidence, Evidence]
_ABOUT = "about"
# Samples of a class in each half: subsamples need as many to differ in it.
_FEWEST_IN_A_HALF = 2


def draw_half(plan: SubsamplePlan, rng: np.random.Generator) -> Mask:
    """Split the samples into halves, with the strata and whole groups of subsamples; True for the first half.

    Both halves of a stratum differ by at most one sample (or group), and so do both halves altogether.

    >>> plan = SubsamplePlan(np.array([0, 0, 0, 0, 1, 1, 1]), np.array([2, 1]))
    >>> draw_half(plan, np.random.default_rng(0))
    array([False,  True, False,  True, False, False,  True])
    """
    strata = rng.permutation(len(plan.takes))[plan.strata]
    order = np.lexsort((rng.random(len(strata)), strata))
    first = np.zeros(len(strata), dtype=bool)
    # Every second one along the strata; which half has one more is drawn.
    first[order[rng.integers(2) :: 2]] = True
    return first if plan.unit_of_row is None else first[plan.unit_of_row]


def plan_halves(data: FeatureData, train_size: float) -> SubsamplePlan:
    """Return the strata and groups that halves respect; InputError if a class or subsamples have too few for halves."""
    if data.target.strata is not None and not TASKS[data.target.task].fewest_events:
        name, size, shown = smallest_class(data)
        fewest = 2 * _FEWEST_IN_A_HALF if data.groups is None else 2
        if size < fewest:
            rule = f"has {shown} of class {name!r}, but halves of the samples need at least {fewest} of each class."
            way_out = "Merge it with another class, or collect more."
            raise InputError.of("y" if data.groups is None else "groups", f"{rule} {way_out}")
    if data.groups is not None and (n_groups := len(np.unique(data.groups))) < 4:
        rule = f"has {n_groups} groups, but halves of the samples need at least 4, two in each. Collect more."
        raise InputError.of("groups", rule)
    try:
        plan = plan_subsamples(data, train_size)
        # Halves have nearly the same strata in any split: one split shows whether subsamples of them can be drawn.
        half = draw_half(plan, np.random.default_rng(0))
        for samples in (half, ~half):
            size = int(plan_subsamples(take_samples(data, samples), train_size).takes.sum())
            if data.groups is None and size < (fewest := TASKS[data.target.task].fewest_in_subsample):
                rule = f"has {data.n_samples} samples, and subsamples of their halves {size}: with fewer than {fewest}"
                raise InputError.of("y", f"{rule} every feature correlates perfectly with the target. Collect more.")
    except InputError as error:
        rule = f"cannot be used on halves of the samples: {error}"
        raise InputError.of(error.argument or "train_size", rule, error.value) from error
    return plan


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
        ensembles = {f"{i}_{name}": array for i, (_, arrays) in enumerate(halves) for name, array in arrays.items()}
        return {"samples": self.samples, **ensembles, _ABOUT: _text(about)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> HalfEnsembles:
        """Make them of what :meth:`to_arrays` returned; EnsembleError if that does not fit together."""
        try:
            about, samples = _read(arrays[_ABOUT]), np.array(arrays["samples"], dtype=bool)
            halves = [
                Evidence.from_record(
                    {**more, "feature_names": about["feature_names"]},
                    {
                        name: arrays[key]
                        for name in ("indptr", "indices", "constant", "carriers", "votes")
                        if (key := f"{i}_{name}") in arrays
                    },
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
    different: list[str] = []
    for part in evidence.settings.get("parts", [evidence.settings]):
        common = (identifying(settings).keys() & identifying(part).keys()) - {"seed"}
        before, now = ({name: content[name] for name in common} for content in (settings, part))
        different += differences(before, now, ("there", "in the evidence"))
    return list(dict.fromkeys(different))


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


def collect_halves(
    data: FeatureData,
    ensemble: Mapping[str, Any],
    n_splits: int = 20,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    on_progress: Progress | bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    earlier: HalfEnsembles | None = None,
) -> HalfEnsembles:
    """Run an ensemble on complementary halves of the samples, stratified like subsamples and of whole groups.

    `ensemble` has arguments of :func:`~ubayfs.collect_evidence`, of which those about the data are ignored; the others
    are as in :func:`~ubayfs.estimate_reproducibility`. Split b is the same for every `n_splits`, so that those of an
    `earlier` call with fewer are not repeated if data, ensemble and seed are the same.
    """
    options = (random_state, n_jobs, on_progress, checkpoint)
    repeats = EnsembleRepeats.from_arguments("splits", data, ensemble, n_splits, *options)
    plan = plan_halves(data, repeats.settings["train_size"])

    def split(number: int) -> HalfEnsembles:
        first = draw_half(plan, repeats.generator(number))
        parts = [take_samples(data, samples) for samples in (first, ~first)]
        for part in parts:
            check_varies(part.target, "a half of the samples")
        first_half, second_half = (repeats.again(part, number, half) for half, part in enumerate(parts))
        return HalfEnsembles(((first_half, second_half),), first[None, :], 1, {})

    splits_done: list[HalfEnsembles] = []
    if earlier is not None and repeats.continues(earlier):
        rows = zip(earlier.pairs, earlier.samples, strict=True)
        splits_done = [HalfEnsembles((pair,), samples[None, :], 1, {}) for pair, samples in rows]
    done, failures = repeats.collect(split, HalfEnsembles.from_arrays, splits_done)
    samples = np.concatenate([np.empty((0, data.n_samples), dtype=bool), *(halves.samples for halves in done)])
    return HalfEnsembles(tuple(halves.pairs[0] for halves in done), samples, repeats.n, repeats.settings, failures)
