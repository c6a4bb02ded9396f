"""Subsamples: stratified by class, plain, or by whole groups.

One scheme serves all three. *Units* are drawn (samples, or whole groups of them), a fixed number from each *stratum*:

- classification: samples are the units and classes the strata;
- survival: samples are the units; events are one stratum, censored samples the other;
- regression, multi-label, unsupervised: samples are the units, in one stratum;
- where whole blocks of features are missing for some samples, each of these strata is divided by which ones; where
  samples have levels of covariates, such as batches, by these, too;
- with groups: groups are the units. In a classification the stratum of a group is the one of its classes that occurs
  in the fewest groups.

Why that stratum keeps at least two classes in every subsample: each stratum sends at least one group, and that group
holds the stratum's class, so two strata bring two classes. If there is a single stratum, its class occurs in all
groups and no class occurs in fewer, so every group holds every class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._arguments import Array, Ints, Mask
from ..data.advice import class_advice
from ..data.feature_data import FeatureData, feature_chunks
from ..data.target import TASKS, Target, plain
from ..exceptions import InputError


@dataclass(frozen=True, eq=False)
class SubsamplePlan:
    """How many units of each stratum a subsample holds."""

    strata: Ints  # stratum of each unit, 0..n_strata-1, (n_units,)
    takes: Ints  # units of each stratum in a subsample, at least one, (n_strata,)
    unit_of_row: Ints | None = None  # group of each sample, (n_samples,); None: samples are the units

    def draw(self, rng: np.random.Generator) -> Mask:
        """Draw one subsample: a mask of the samples inside, of shape (n_samples,)."""
        lots = rng.random(len(self.strata))
        inside = np.zeros(len(self.strata), dtype=bool)
        for members, take in zip(self._members, self.takes.tolist(), strict=True):
            inside[members[np.argpartition(lots[members], take - 1)[:take]]] = True
        return inside if self.unit_of_row is None else inside[self.unit_of_row]

    @cached_property
    def _members(self) -> list[Ints]:
        return [np.flatnonzero(self.strata == stratum) for stratum in range(len(self.takes))]


def plan_subsamples(data: FeatureData, train_size: float) -> SubsamplePlan:
    """Plan subsamples of a share `train_size` of the samples, or of the groups if there are any.

    InputError if a subsample would be empty or everything, or a class cannot be represented in it.
    """
    for error in subsample_errors(data, train_size):
        raise error
    strata, _ = _strata(data)
    plan = SubsamplePlan(strata, allocate(np.bincount(strata), round(train_size * len(strata))), data.groups)
    return _by_pattern(plan, data) if data.groups is None else plan


def subsample_errors(data: FeatureData, train_size: float | None) -> Iterator[InputError]:
    """Yield all that is wrong with subsamples of a share of the samples or groups; None: whatever the share is."""
    strata, present = _strata(data)
    sizes, n_units = np.bincount(strata, minlength=len(present)), len(strata)
    units, unit, way_out = "samples", "sample(s)", "merge small classes"
    if data.groups is not None:
        units, unit, way_out = "groups", "group(s) of its own", "give more groups"
    n_inside = n_units if train_size is None else round(train_size * n_units)
    about_share = None if train_size is None else _share_error(n_units, train_size, units)
    if about_share is not None:
        yield about_share
    if data.covariates is not None and data.groups is None:
        yield from _covariate_errors(data, n_inside)
    fewest_events = TASKS[data.target.task].fewest_events
    if fewest_events:
        yield from event_errors(data.target, train_size)
    if data.target.strata is None or fewest_events:
        return
    smallest, classes = int(np.argmin(sizes)), data.target.stratum_names
    name, size = plain(classes[present[smallest]]), f"has {sizes[smallest]} {unit}"
    if data.groups is None and sizes[smallest] < 2:
        hint = " If the target is a measured number, use the task 'regression'." if classes.dtype.kind in "iuf" else ""
        rule = f"{size}, but a class needs at least 2, so that subsamples can differ in it."
        if many := [str(advice) for advice in class_advice(data.target) if advice.code == "many_classes"]:
            yield InputError(f"{many[0]} Class {name!r} {rule}", argument="y")
        else:
            yield _class_error(
                "y", name, f"{rule} Merge it with another class, drop its samples, or collect more.{hint}"
            )
    n_classes = np.count_nonzero(sizes >= 2) if data.groups is None else len(sizes)  # the others must go anyway
    if n_inside < n_classes and about_share is None:
        yield _class_error(
            "train_size",
            name,
            f"{size} and no place in a subsample: train_size={train_size:g} of {n_units} {units} is {n_inside}, "
            f"and {n_classes} are needed to represent the classes. Raise train_size, or {way_out}.",
        )


def event_errors(target: Target, train_size: float | None) -> Iterator[InputError]:
    """Yield what is wrong with the events of a subsample; groups may give some more or fewer than this."""
    n_events, fewest = int(target.event.sum()), TASKS[target.task].fewest_events
    n_inside = n_events if train_size is None else round(train_size * n_events)
    if n_inside < fewest:
        share = "" if train_size is None else f", and train_size={train_size:g} leaves {n_inside} in a subsample"
        rule = f"y has {n_events} event(s){share}; at least {fewest} are needed."
        argument = "y" if train_size is None else "train_size"
        yield InputError(f"{rule} Raise train_size, or wait for more events.", argument=argument, value=train_size)


def _covariate_errors(data: FeatureData, n_inside: int) -> Iterator[InputError]:
    """Yield the error of more coded covariates than a subsample of so many samples allows."""
    assert data.covariates is not None
    n_columns = data.covariates.basis.shape[1] - 1
    needed = n_columns + max(data.target.n_classes, 2) + 2
    if n_inside < needed:
        coded = f"is {n_columns} columns once levels are coded, for which a subsample needs at least {needed} samples"
        rule = f"{coded}; it has {n_inside}. Leave out covariates, join rare levels, or raise train_size."
        yield InputError.of("adjust_for", rule, data.covariates.names)


def _strata(data: FeatureData) -> tuple[Ints, Ints]:
    """Return the stratum of each unit, of shape (n_units,), and the class of each stratum, of shape (n_strata,)."""
    codes, groups = data.target.strata, data.groups
    if codes is None:
        n_units = data.n_samples if groups is None else int(groups.max()) + 1
        return np.zeros(n_units, dtype=np.intp), np.zeros(1, dtype=np.intp)
    n_classes = len(data.target.stratum_names)
    if groups is None:
        return codes, np.arange(n_classes)
    occurs = np.zeros((int(groups.max()) + 1, n_classes), dtype=np.bool_)
    occurs[groups, codes] = True
    # A group that has several classes counts as one of the class that occurs in the fewest groups.
    rarest = np.argmin(np.where(occurs, occurs.sum(axis=0), len(occurs) + 1), axis=1)
    present, strata = np.unique(rarest, return_inverse=True)
    return strata.astype(np.intp), present


def _by_pattern(plan: SubsamplePlan, data: FeatureData) -> SubsamplePlan:
    """Divide strata by levels of covariates, and by which blocks of features samples lack altogether.

    So no run is short of a batch or a block. Patterns with fewer than 2 samples in a stratum, or with less than one
    place in a subsample, are one part together; a rest of fewer joins the largest part.
    """
    strata = None if data.covariates is None else data.covariates.strata
    patterns = [codes for codes in (missing_blocks(data), strata) if codes is not None]
    if not patterns:
        return plan
    pattern = np.unique(np.stack(patterns, axis=1), axis=0, return_inverse=True)[1].ravel()
    parts, takes = np.zeros_like(plan.strata), list[int]()
    for stratum, take in enumerate(plan.takes.tolist()):
        members = np.flatnonzero(plan.strata == stratum)
        sizes = np.bincount(pattern[members])
        fewest = max(2, -(-len(members) // take))
        part = np.where(sizes[pattern[members]] >= fewest, pattern[members] + 1, 0)
        if 0 < np.count_nonzero(part == 0) < fewest:
            part[part == 0] = sizes.argmax() + 1
        _, part = np.unique(part, return_inverse=True)
        parts[members] = len(takes) + part
        takes += allocate(np.bincount(part), take).tolist()
    return SubsamplePlan(parts, np.array(takes, dtype=np.intp))


def missing_blocks(data: FeatureData) -> Ints | None:
    """Return codes of shape (n_samples,): samples of the same code lack the same blocks; None if none is lacking."""
    if data.fill is None or data.blocks is None:
        return None
    place = {name: position for position, name in enumerate(data.feature_names)}
    lacking = []
    for features in data.blocks.members.values():
        columns = [place.get(feature, feature) for feature in features]
        positions = np.array([column for column in columns if not isinstance(column, str)], dtype=np.intp)
        absent = np.ones(data.n_samples, dtype=bool)
        for part in feature_chunks(len(positions)):
            absent &= np.isnan(data.X[:, positions[part]]).all(axis=1)
        lacking.append(absent & (len(positions) > 0))
    pattern = np.unique(np.stack(lacking, axis=1), axis=0, return_inverse=True)[1].ravel()
    return pattern if pattern.any() else None


def _class_error(argument: str, name: Any, rule: str) -> InputError:
    """Return the error of a class that subsamples cannot represent, about the argument that has to change."""
    return InputError(f"class {name!r} of y {rule}", argument=argument, rule=f"class {name!r} {rule}")


def _share_error(n_units: int, train_size: float, units: str) -> InputError | None:
    """Return the error of subsamples of "samples" or "groups" that are nothing or everything."""
    n_inside, at_least = round(train_size * n_units), 1 if units == "groups" else 2
    if at_least <= n_inside < n_units:
        return None
    if n_inside < at_least:
        wrong = f"leaves {n_inside} of them in a subsample; at least {at_least} are needed. Raise train_size."
    else:
        wrong = "takes all of them, so that all subsamples would be the same."
        wrong += f" Lower train_size to at most {(n_units - 1) / n_units:.3g}, or give more {units}."
    message = f"train_size={train_size:g} of {n_units} {units} {wrong}"
    return InputError(message, argument="train_size", value=train_size)


def allocate(sizes: Array, total: int) -> Ints:
    """Share `total` places, fewer than units, among strata by size: largest remainders, and at least one place each.

    >>> allocate(np.array([6, 3, 1]), 7)
    array([4, 2, 1])
    """
    # Whole numbers throughout: equal remainders are then equal, and the tie goes to the first stratum.
    whole, remainder = np.divmod(np.asarray(sizes, dtype=np.int64) * total, int(np.sum(sizes)))
    order = np.argsort(-remainder, kind="stable")
    whole[order[: total - whole.sum()]] += 1
    for empty in np.flatnonzero(whole == 0):
        whole[empty] = 1
        whole[np.argmax(whole)] -= 1
    return whole.astype(np.intp)
