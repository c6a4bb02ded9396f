"""Subsamples: stratified by class, plain, or by whole groups.

One scheme serves all three. *Units* are drawn (samples, or whole groups of them), a fixed number from each *stratum*:

- classification: samples are the units and classes the strata;
- regression, multi-label, unsupervised: samples are the units, in one stratum;
- where whole blocks of features are missing for some samples, each of these strata is divided by which ones;
- with groups: groups are the units. In a classification the stratum of a group is the one of its classes that occurs
  in the fewest groups.

Why that stratum keeps at least two classes in every subsample: each stratum sends at least one group, and that group
holds the stratum's class, so two strata bring two classes. If there is a single stratum, its class occurs in all
groups and no class occurs in fewer, so every group holds every class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._arguments import Array, Ints, Mask
from ..data.class_sizes import class_advice
from ..data.feature_data import FeatureData, feature_chunks
from ..data.target import plain
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
    if data.groups is not None:
        return _plan_groups(data, train_size)
    n_inside = _units_inside(data.n_samples, train_size, "samples", at_least=2)
    codes, classes = data.target.strata, np.asarray(data.target.classes)
    if codes is None:
        return _by_pattern(SubsamplePlan(np.zeros(data.n_samples, dtype=np.intp), np.array([n_inside])), data)
    sizes = np.bincount(codes, minlength=len(classes))
    smallest = int(np.argmin(sizes))
    name, size = plain(classes[smallest]), f"has {sizes[smallest]} sample(s)"
    if sizes[smallest] < 2:
        hint = " If the target is a measured number, use the task 'regression'." if classes.dtype.kind in "iuf" else ""
        hint = next((f" {advice}" for advice in class_advice(data.target) if advice.code == "many_classes"), hint)
        raise _class_error(
            "y",
            name,
            f"{size}, but a class needs at least 2, so that subsamples can differ in it. Merge it with another class, "
            f"drop its samples, or collect more.{hint}",
        )
    if n_inside < len(sizes):
        raise _class_error(
            "train_size",
            name,
            f"{size} and no place in a subsample: train_size={train_size:g} of {data.n_samples} samples is {n_inside} "
            f"sample(s) for {len(sizes)} classes, and each class needs one. Raise train_size or merge small classes.",
        )
    return _by_pattern(SubsamplePlan(codes, allocate(sizes, n_inside)), data)


def _by_pattern(plan: SubsamplePlan, data: FeatureData) -> SubsamplePlan:
    """Divide strata by which blocks of features their samples lack altogether, so that no run is short of a block.

    Patterns with fewer than 2 samples in a stratum, or with less than one place in a subsample, are one part together;
    a rest of fewer joins the largest part.
    """
    pattern = missing_blocks(data)
    if pattern is None:
        return plan
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
        own = np.array([column for column in columns if not isinstance(column, str)], dtype=np.intp)
        absent = np.ones(data.n_samples, dtype=bool)
        for part in feature_chunks(len(own)):
            absent &= np.isnan(data.X[:, own[part]]).all(axis=1)
        lacking.append(absent & (len(own) > 0))
    pattern = np.unique(np.stack(lacking, axis=1), axis=0, return_inverse=True)[1].ravel()
    return pattern if pattern.any() else None


def _plan_groups(data: FeatureData, train_size: float) -> SubsamplePlan:
    groups = np.asarray(data.groups, dtype=np.intp)
    n_groups = int(groups.max()) + 1
    n_inside = _units_inside(n_groups, train_size, "groups", at_least=1)
    codes, classes = data.target.strata, np.asarray(data.target.classes)
    if codes is None:
        return SubsamplePlan(np.zeros(n_groups, dtype=np.intp), np.array([n_inside]), groups)
    occurs = np.zeros((n_groups, len(classes)), dtype=bool)
    occurs[groups, codes] = True
    rarest = np.argmin(np.where(occurs, occurs.sum(axis=0), n_groups + 1), axis=1)
    present, strata = np.unique(rarest, return_inverse=True)
    sizes = np.bincount(strata)
    if n_inside < len(sizes):
        smallest = int(np.argmin(sizes))
        name = plain(classes[int(present[smallest])])
        raise _class_error(
            "train_size",
            name,
            f"has {sizes[smallest]} group(s) of its own and no place in a subsample: "
            f"train_size={train_size:g} of {n_groups} groups is {n_inside} group(s), and {len(sizes)} are needed to "
            "represent the classes. Raise train_size, or give more groups.",
        )
    return SubsamplePlan(strata.astype(np.intp), allocate(sizes, n_inside), groups)


def _class_error(argument: str, name: Any, rule: str) -> InputError:
    """Return the error of a class that subsamples cannot represent, about the argument that has to change."""
    return InputError(f"class {name!r} of y {rule}", argument=argument, rule=f"class {name!r} {rule}")


def _units_inside(n_units: int, train_size: float, units: str, at_least: int) -> int:
    n_inside = round(train_size * n_units)
    if at_least <= n_inside < n_units:
        return n_inside
    if n_inside < at_least:
        wrong = f"leaves {n_inside} {units} in a subsample; at least {at_least} are needed. Raise train_size."
    else:
        wrong = (
            "takes all of them, so that all subsamples would be the same. Lower train_size to at most "
            f"{(n_units - 1) / n_units:.3g}, or give more {units}."
        )
    message = f"train_size={train_size:g} of {n_units} {units} {wrong}"
    raise InputError(message, argument="train_size", value=train_size)


def allocate(sizes: Array, total: int) -> Ints:
    """Share `total` places, fewer than units, among strata by size: largest remainders, and at least one place each.

    Examples
    --------
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
