"""Cohorts: what a site sends to be pooled, and what sites that are pooled say of each other.

A site sends votes of the whole data, of shuffles of its target and of halves of its samples, one direction for each of
these votes, numbers of samples and the coding of its target; features with few votes are left out everywhere. No
patient's row leaves the site. The numbers are not anonymous: whoever has the measurements of a person can test, on many
features and few samples, whether that person took part.

**Leave one site out**: agreement a_c of the set that site c selects by itself with the set that the others select
together, as in :mod:`ubayfs.trust.reproducibility`; m is its mean over K sites, and 2 sqrt((max(m, 0) (1 - m) / k +
0.01) (1 / K + 1)) the half-width of the range for a further site, k the number of members.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._arguments import (
    MOST_REPEATS,
    Array,
    Floats,
    Ints,
    RandomState,
    as_seed_sequence,
    by_name,
    check_int,
    unknown_argument,
)
from ..data.feature_data import FeatureData
from ..decision.selection import Selection
from ..ensemble.collect import as_data, collect_evidence
from ..ensemble.evidence import Evidence
from ..ensemble.pooling import averaged_with_sites, cohort_table, each_site_and_others, pooled_halves
from ..ensemble.progress import Progress, as_progress
from ..ensemble.site import Directions, RepeatedVotes, Site, directions
from ..exceptions import EnsembleError, InputError
from .halves import HalfEnsembles, collect_halves, plan_halves
from .procedure import (
    Procedure,
    check_sites,
    check_varies,
    n_features_at_a_site,
    parts_of_sites,
    shuffled,
    take_samples,
)
from .repeats import EnsembleRepeats
from .reproducibility import Reproducibility, reproducibility_of

MIN_VOTES_SENT, N_REPEATS = 5, 20
# Variance of an agreement that does not shrink with the size of the set.
_BETWEEN = 0.01

Row = tuple[Ints, Directions, int]


@by_name()
def collect_for_pooling(
    X: Any,
    y: Any = None,
    *,
    n_vote_shuffles: int = N_REPEATS,
    n_splits: int = N_REPEATS,
    min_votes_sent: int = MIN_VOTES_SENT,
    n_features_per_model: int | str | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    on_progress: Progress | bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **arguments: Any,
) -> Evidence:
    """Collect what a site sends to be pooled with others: votes, directions and numbers of samples.

    Parameters
    ----------
    X, y
        As in :func:`~ubayfs.collect_evidence`.
    n_vote_shuffles : int, default 20
        Shuffles of the target; they tell whether a site has its classes swapped. 0: none.
    n_splits : int, default 20
        Pairs of halves of the samples, for the reproducibility of the pooled answer. 0: none.
    min_votes_sent : int, default 5
        Features with fewer votes are not sent, of the whole data as of shuffles and halves: this tells less of single
        persons.
    n_features_per_model : int or "random", optional
        Default: a quarter of the features, at least 1 and at most 20.
    random_state, n_jobs, checkpoint
        As in :func:`~ubayfs.collect_evidence`.
    on_progress : callable or bool, optional
        Is called as ``on_progress(done, total)`` with the ensembles that are done. When it returns False, the evidence
        rests on those.
    **arguments
        Further ones of :func:`~ubayfs.collect_evidence`, such as `selector` and `groups`.

    Returns
    -------
    evidence : Evidence
        Without the sets of models; for :func:`~ubayfs.pool_evidence`.

    Raises
    ------
    InputError
        If an argument breaks a rule, or a class has too few samples for halves.

    Examples
    --------
    >>> import numpy as np
    >>> from ubayfs.trust.cohorts import collect_for_pooling
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 40))
    >>> y = X[:, 0] + rng.normal(size=60) > 0
    >>> sent = collect_for_pooling(X, y, n_models=20, n_vote_shuffles=2, n_splits=2, selector="fisher")
    >>> int(sent.counts[0]), sent.site.n_samples, sent.sets.shape[0]
    (20, 60, 0)
    """
    n_shuffles = check_int("n_vote_shuffles", n_vote_shuffles, low=0, high=MOST_REPEATS)
    n_splits = check_int("n_splits", n_splits, low=0, high=MOST_REPEATS)
    least = check_int("min_votes_sent", min_votes_sent, low=1)
    further = [name for name in signature(collect_evidence).parameters if name != "part"]
    for name in arguments:
        if name not in further:
            raise unknown_argument("collect_for_pooling", name, further)
    reading = signature(FeatureData.from_table).parameters.keys() & arguments.keys()
    data = as_data(X, y, **{name: arguments.pop(name) for name in reading})
    if n_features_per_model is None:
        n_features_per_model = n_features_at_a_site(data)
    ensemble = {**arguments, "n_features_per_model": n_features_per_model}
    settings = Procedure.from_arguments(data, ensemble).settings
    check_int("min_votes_sent", least, high=settings["n_models"])
    if n_splits:
        plan_halves(data, settings["train_size"])  # refused before any work
    seed = as_seed_sequence(random_state)
    watch = _Phases(as_progress(on_progress, "ensembles"), 1 + n_shuffles + n_splits)
    at = None if checkpoint is None else Path(checkpoint)
    common: dict[str, Any] = {"random_state": seed, "n_jobs": n_jobs}
    whole = collect_evidence(data, **ensemble, **common, on_progress=watch.at(0, 0), checkpoint=at and at / "ensemble")
    rows: list[Row] = []
    if n_shuffles and not watch.stopped:
        common["checkpoint"] = at and at / "shuffles"
        rows = _shuffles(data, ensemble, n_shuffles, least, watch.at(1), **common)
    n_done = len(rows)
    if n_splits and not watch.stopped:
        common["checkpoint"] = at and at / "halves"
        halves = collect_halves(data, ensemble, n_splits, on_progress=watch.at(1 + n_shuffles), **common)
        rows += _rows_of(halves, data, least)
    return _sent(whole, RepeatedVotes.of(rows, data.n_features, n_done), least)


class _Phases:
    """Progress over several ensembles, which the caller may stop."""

    def __init__(self, on_progress: Progress | None, total: int) -> None:
        self.on_progress, self.total, self.stopped = on_progress, total, False

    def at(self, start: int, step: int = 1) -> Callable[[int, int], bool]:
        """Return the callback of a phase that begins when `start` ensembles are done; step 0: it is one of them."""

        def update(done: int, total: int) -> bool:
            if self.on_progress is not None and not self.stopped:
                done = start + done if step else int(done >= total)
                self.stopped = self.on_progress(done, self.total) is False
            return not self.stopped

        return update


def _row(evidence: Evidence, data: FeatureData, least: int) -> Row:
    """Return the votes of an ensemble that are sent, and the directions of these features in its data."""
    votes = np.where(evidence.counts >= least, evidence.counts, 0)
    signs, chosen = np.zeros(len(votes), dtype=np.int8), np.flatnonzero(votes)
    signs[chosen] = directions(data, chosen)
    return votes, signs, evidence.n_models


def _rows_of(halves: HalfEnsembles, data: FeatureData, least: int) -> list[Row]:
    """Return what is sent of halves."""
    parts = (take_samples(data, samples) for first in halves.samples for samples in (first, ~first))
    return [
        _row(half, part, least)
        for half, part in zip((half for pair in halves.pairs for half in pair), parts, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _Shuffle:
    """Votes on one shuffle of the target, as a checkpoint has them."""

    row: Row

    def to_arrays(self) -> dict[str, Array]:
        """Return plain arrays."""
        votes, signs, n_models = self.row
        return {"counts": votes, "directions": signs, "n_models": np.array([n_models])}

    @classmethod
    def from_arrays(cls, arrays: Any) -> _Shuffle:
        """Make it of plain arrays."""
        try:
            return cls((arrays["counts"], arrays["directions"], int(arrays["n_models"][0])))
        except (KeyError, IndexError) as error:
            raise EnsembleError("the stored votes of a shuffle do not fit together.") from error


def _shuffles(data: FeatureData, ensemble: Any, n: int, least: int, on_progress: Progress, **options: Any) -> list[Row]:
    """Return what is sent of shuffles of the target."""
    order = (options["random_state"], options["n_jobs"], on_progress, options["checkpoint"])
    repeats = EnsembleRepeats.from_arguments("vote_shuffles", data, ensemble, n, *order)

    def shuffle(number: int) -> _Shuffle:
        target = shuffled(data.target, data.groups, repeats.generator(number))
        check_varies(target, "a shuffle")
        other = replace(data, target=target)
        return _Shuffle(_row(repeats.again(other, number), other, least))

    done, _ = repeats.collect(shuffle, _Shuffle.from_arrays, [])
    return [each.row for each in done]


def _sent(whole: Evidence, repeats: RepeatedVotes, least: int) -> Evidence:
    """Return evidence as it is sent: without sets, errors and notes, which may hold values of samples."""
    assert whole.site is not None
    votes = np.where(whole.counts >= least, whole.counts, 0)
    signs = np.where(votes > 0, whole.site.directions, 0).astype(np.int8)
    site: Site = replace(whole.site, directions=signs, repeats=repeats, min_votes_sent=least)
    settings = {**whole.settings, "n_models": whole.n_models}
    none = sparse.csr_array((0, whole.n_features), dtype=bool)
    return Evidence(none, whole.feature_names, whole.constant, settings=settings, votes=votes, site=site)


# -- sites in one table ------------------------------------------------------------------------------------------------


def collect_sites(data: FeatureData, *, on_progress: Progress | bool | None = None, **arguments: Any) -> Evidence:
    """Run an ensemble on one table, adjusted for the site of its samples, and one at each site, and average votes.

    `arguments` are those of :func:`~ubayfs.collect_evidence`. InputError, before any run, if an ensemble cannot be run
    at a site, as where its target is constant.
    """
    check_sites(data, Procedure.from_arguments(data, arguments).settings["train_size"])
    checkpoint = arguments.pop("checkpoint", None)
    whole = collect_evidence(data, **arguments, on_progress=on_progress, checkpoint=checkpoint)
    at_a_site = {**arguments, "n_features_per_model": n_features_at_a_site(data)}
    sites = {}
    for number, (label, part) in enumerate(parts_of_sites(data).items()):
        at = None if checkpoint is None else Path(checkpoint) / f"site-{number}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the whole table they were said
            sites[label] = collect_evidence(part, **at_a_site, checkpoint=at)
    return averaged_with_sites(whole, sites)


# -- what sites say of each other --------------------------------------------------------------------------------------


def halves_of_sites(evidence: Evidence) -> HalfEnsembles | None:
    """Return the pooled halves of pooled evidence; None if a site sent none."""
    pairs = pooled_halves(evidence)
    return _as_halves(pairs) if pairs else None


def _as_halves(pairs: list[tuple[Evidence, Evidence]]) -> HalfEnsembles:
    """Return pairs of evidence as halves whose samples stayed at their sites."""
    return HalfEnsembles(tuple(pairs), np.empty((len(pairs), 0), dtype=bool), len(pairs), {})


def reproducibility_of_sites(selection: Selection) -> Reproducibility:
    """Return how many members studies of all these sites would select again, by the halves that each site sent.

    InputError if the selection is not of pooled evidence, or a site sent no halves.
    """
    halves = halves_of_sites(_pooled(selection))
    if halves is None:
        raise InputError.of(
            "selection", "cannot be repeated on halves: a site sent none. Collect there with n_splits=20."
        )
    return reproducibility_of(selection, halves)


def _pooled(selection: Selection) -> Evidence:
    """Return the pooled evidence of a selection."""
    evidence = None if selection.posterior is None else selection.posterior.evidence
    if evidence is None or not evidence.cohorts:
        rule = "is not of pooled evidence; pass one that decide() returned for the evidence of pool_evidence()."
        raise InputError.of("selection", rule)
    return evidence


@dataclass(frozen=True, eq=False)
class SiteAgreement:
    """Whether a site that is left out selects what the others select together; made by :func:`leave_one_site_out`.

    Attributes
    ----------
    sites : tuple of str
    reproducibility : Reproducibility
        Its pairs are each site and all others.
    same_direction : ndarray of int of shape (n_sites, 2)
        Members that the site, and any other, sent with a direction: those of the same direction, and all of them.
    """

    sites: tuple[str, ...]
    reproducibility: Reproducibility
    same_direction: Ints

    @property
    def size(self) -> int:
        """Number of members that the data brought."""
        return self.reproducibility.size

    @property
    def is_lower_bound(self) -> bool:
        """Whether there are only two sites: each is compared with one site instead of a pool."""
        return len(self.sites) == 2

    @cached_property
    def mean(self) -> float:
        """Mean agreement of a site with the others, m; NaN if it is undefined."""
        return self.reproducibility.lower

    @property
    def selected_again(self) -> tuple[float, float, float]:
        """How many members a further site would select by itself: expected, lowest and highest."""
        m, again = self.mean, self.reproducibility.exact.again
        n_sites = self.reproducibility.n_used
        if not n_sites or not self.size:
            return float("nan"), float("nan"), float("nan")
        h = 2 * np.sqrt((max(m, 0.0) * (1 - m) / self.size + _BETWEEN) * (1 / n_sites + 1))
        return again(m), again(m - h), again(m + h)


def leave_one_site_out(selection: Selection) -> SiteAgreement:
    """Decide on each site by itself and on all others together, and compare the sets.

    InputError if the selection is not of pooled evidence, or a constraint needs data; EnsembleError if most sites
    cannot be decided on.

    Examples
    --------
    >>> import numpy as np
    >>> from ubayfs import collect_evidence, decide, pool_evidence
    >>> from ubayfs.trust.cohorts import leave_one_site_out
    >>> rng, sites = np.random.default_rng(0), {}
    >>> for name in ("Graz", "Lund", "Oslo"):
    ...     X = rng.normal(size=(60, 40))
    ...     sick = X[:, 0] + X[:, 1] + rng.normal(size=60) > 0
    ...     sites[name] = collect_evidence(X, sick, n_models=20, random_state=0)
    >>> leave_one_site_out(decide(pool_evidence(sites), max_size=2)).selected_again[0]
    2.0
    """
    evidence = _pooled(selection)
    reproducibility = reproducibility_of(selection, _as_halves(each_site_and_others(evidence)))
    return SiteAgreement(tuple(evidence.cohorts), reproducibility, _same_directions(evidence, reproducibility.by_data))


def _same_directions(evidence: Evidence, members: Array) -> Ints:
    table = cohort_table(evidence)
    strength = table.directions * np.log1p(table.votes)
    others: Floats = np.sign(strength.sum(axis=0) - strength)
    both = (table.directions != 0) & (others != 0) & members
    return np.stack([(both & (table.directions == others)).sum(axis=1), both.sum(axis=1)], axis=1)
