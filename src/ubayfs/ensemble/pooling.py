r"""Evidence of several sites becomes one, and no row of data leaves its site.

Of site c and feature j: :math:`v_{cj}` votes per 100 models, direction :math:`s_{cj}`, weight
:math:`w_c = n_{eff,c}^{1/4}`, 0 where the feature was not measured or is constant. Then

.. math::

    G_{cj} = \log(1 + v_{cj}/3), \quad A_j = \frac{\sum_c w_c G_{cj}}{\sum_c w_c}, \quad
    C_j = \frac{|\sum_c w_c s_{cj} G_{cj}|}{\sum_c w_c G_{cj}}, \quad
    x_j = A_j \frac{1 + C_j}{2} \sqrt{\frac{K_j}{K}},

and the pooled votes are :math:`3 (e^{x_j} - 1)` of 100, with :math:`K_j` of the K sites that measure j. C is the
concordance: 1 where all sites agree in direction (or there is none), 0 in conflict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import stdtr

from .._arguments import Array, Floats, Ints, Mask, by_name, check_choice
from .._plain import listed
from ..exceptions import Advice, InputError, repr_of
from .evidence import Evidence
from .site import Directions

RULES, WEIGHTS = ("concordant", "sum"), ("size", "equal")
# Votes per 100 models at which one more counts half as much as the first.
_HALF = 3.0
# Below this concordance, directions are in conflict.
_CONFLICT = 0.5
# A site warns if directions that oppose those of the others so much are as rare as this by chance, and the others agree
# with each other by so many standard deviations. With one other site, either may be the one that is swapped.
_RARE, _AGREE = 0.025, 0.75


@by_name()
def pool_evidence(evidence: Mapping[str, Evidence], *, rule: str = "concordant", weights: str = "size") -> Evidence:
    """Pool the evidence of several sites, such as hospitals that do not share their data.

    Parameters
    ----------
    evidence : mapping of str to Evidence
        Of at least two sites by their names: from :func:`~ubayfs.collect_evidence`, or, with fewer numbers that leave
        the site and more that can be told of all, from :func:`ubayfs.trust.cohorts.collect_for_pooling`. Features are
        matched by name, and may be missing at some sites.
    rule : {"concordant", "sum"}, default "concordant"
        "concordant": a weighted mean of votes on a logarithmic scale, reduced where sites contradict each other in the
        direction of a feature and where few sites measure it. "sum": votes and numbers of models add up; with the sets
        of all models, also for :class:`~ubayfs.Hyperdirichlet`.
    weights : {"size", "equal"}, default "size"
        Whether sites count by the fourth root of their effective number of samples, or all the same.

    Returns
    -------
    evidence : Evidence
        For :func:`~ubayfs.decide`. Its votes need not be whole; ``evidence.cohorts`` has what each site sent.

    Raises
    ------
    InputError
        If there is one site only, the targets are coded differently, two sites have the same data, a site shares no
        feature with the others, or evidence does not say what it is of.

    See Also
    --------
    collect_evidence : At each site.
    decide : Selects features by the pooled evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from ubayfs import collect_evidence, decide, pool_evidence
    >>> rng, sites = np.random.default_rng(0), {}
    >>> for name in ("Graz", "Oslo"):
    ...     X = rng.normal(size=(60, 40))
    ...     sick = X[:, 0] + X[:, 1] + rng.normal(size=60) > 0
    ...     sites[name] = collect_evidence(X, sick, n_models=20, random_state=0)
    >>> pooled = pool_evidence(sites)
    >>> list(pooled.cohorts), decide(pooled, max_size=2).features
    (['Graz', 'Oslo'], ('x0', 'x1'))
    """
    check_choice("rule", rule, RULES)
    check_choice("weights", weights, WEIGHTS)
    _check_sites(evidence)
    sites = dict(sorted(evidence.items()))  # whatever the order that they are given in
    pooled = _Pool(sites, rule, weights).evidence()
    pooled = replace(pooled, cohorts=sites, notes=_notes(pooled, sites, weights))
    for advice in pooled.advice:
        advice.warn()
    return pooled


def averaged_with_sites(whole: Evidence, sites: Mapping[str, Evidence]) -> Evidence:
    """Return evidence of the samples of all sites together with their own ensembles, on the scale of logarithms."""
    sites = dict(sorted(sites.items()))
    pooled = _Pool(sites, "concordant", "size", features=whole.feature_names).evidence()
    shares = [np.log1p(100 * each.counts / max(each.n_models, 1) / _HALF) for each in (whole, pooled)]
    votes = np.minimum(whole.n_models / 100 * _HALF * np.expm1(np.mean(shares, axis=0)), whole.n_models)
    settings = {**whole.settings, "n_models": whole.n_models}
    together = replace(whole, votes=votes, settings=settings, failures=())
    return replace(together, cohorts=sites, notes=(*whole.notes, *_notes(together, sites, "size")))


@dataclass(frozen=True)
class CohortTable:
    """What sites found of the same features: row c is site c."""

    sites: tuple[str, ...]
    feature_names: Array
    votes: Floats  # per 100 models, (n_sites, n_features)
    directions: Directions  # (n_sites, n_features)
    measured: Mask  # (n_sites, n_features)
    concordance: Floats  # C, (n_features,)


def cohort_table(evidence: Evidence) -> CohortTable:
    """Return what the sites of pooled evidence found."""
    pool = _pool_of(evidence)
    return CohortTable(tuple(pool.sites), pool.names, pool.votes, pool.directions, pool.measured, pool.concordance)


def pooled_halves(evidence: Evidence) -> list[tuple[Evidence, Evidence]]:
    """Return pooled votes of the halves of all sites, pair by pair, as far as all sites sent them."""
    pool = _pool_of(evidence)
    repeats = [site.site.repeats if site.site is not None else None for site in pool.sites.values()]
    n = min(0 if each is None else each.n_splits for each in repeats)
    # Halves come after the shuffles, of which sites may have different numbers.
    starts = [0 if each is None else each.n_shuffles for each in repeats]
    halves = [replace(pool, rows=tuple(start + i for start in starts)).evidence() for i in range(2 * n)]
    return list(zip(halves[::2], halves[1::2], strict=True))


def each_site_and_others(evidence: Evidence) -> list[tuple[Evidence, Evidence]]:
    """Return for each site its own votes, and those that the others have when they are pooled."""
    pool = _pool_of(evidence)
    pairs = []
    for name, site in pool.sites.items():
        others = {other: each for other, each in pool.sites.items() if other != name}
        pairs.append((replace(pool, sites={name: site}).evidence(), replace(pool, sites=others).evidence()))
    return pairs


# -- the rule ----------------------------------------------------------------------------------------------------------


def concordance(votes: Floats, directions: Directions, weights: Floats) -> Floats:
    """Return C of each feature, given votes per 100 models and weights, all of shape (n_sites, n_features).

    >>> concordance(np.full((2, 3), 50.0), np.array([[1, 1, 0], [1, -1, 0]]), np.ones((2, 3))).tolist()
    [1.0, 0.0, 1.0]
    """
    strength = weights * np.log1p(votes / _HALF) * np.abs(directions)
    total = strength.sum(axis=0)
    return np.where(total > 0, np.abs((strength * directions).sum(axis=0)) / np.where(total > 0, total, 1.0), 1.0)


def concordant_votes(votes: Floats, directions: Directions, measured: Mask, weights: Floats) -> Floats:
    """Return pooled votes per 100 models, of shape (n_features,), given those of sites and the weight of each site.

    >>> votes, up = np.array([[100.0, 80.0, 9.0], [100.0, 80.0, 0.0]]), np.ones((2, 3), dtype=np.int8)
    >>> measured = np.array([[True, True, True], [True, False, True]])
    >>> concordant_votes(votes, up, measured, np.ones(2)).round(1).tolist()
    [100.0, 28.4, 3.0]
    """
    w = weights[:, None] * measured
    total = w.sum(axis=0)
    mean = (w * np.log1p(votes / _HALF)).sum(axis=0) / np.where(total > 0, total, 1.0)
    x = mean * (1 + concordance(votes, directions, w)) / 2 * np.sqrt(measured.mean(axis=0))
    return np.minimum(_HALF * np.expm1(x), 100.0)


@dataclass(frozen=True)
class _Pool:
    """Sites over the union of their features."""

    sites: Mapping[str, Evidence]
    rule: str
    weights: str
    rows: tuple[int, ...] | None = None  # the repeat of each site that is meant; None: the whole data
    features: Array | None = None  # of more sites than these

    @cached_property
    def names(self) -> Array:
        """All features, those of the first site first."""
        if self.features is not None:
            return self.features
        names = chain.from_iterable(site.feature_names.tolist() for site in self.sites.values())
        return np.array(list(dict.fromkeys(names)), dtype=object)

    @cached_property
    def places(self) -> list[Ints]:
        """Positions of the features of each site."""
        position = {name: i for i, name in enumerate(self.names.tolist())}
        return [
            np.array([position[name] for name in site.feature_names], dtype=np.intp) for site in self.sites.values()
        ]

    @cached_property
    def measured(self) -> Mask:
        """Which site has which feature, and not the same value in all samples; (n_sites, n_features)."""
        return self._laid_out([~site.constant for site in self.sites.values()], bool)

    @cached_property
    def _sent(self) -> list[tuple[Ints, Directions, int]]:
        """Votes, directions and number of models of each site."""
        votes = []
        for number, evidence in enumerate(self.sites.values()):
            site = evidence.site
            assert site is not None
            if self.rows is None:
                votes.append((evidence.counts, site.directions, evidence.n_models))
            else:
                assert site.repeats is not None
                votes.append(site.repeats.row(self.rows[number]))
        return votes

    @cached_property
    def votes(self) -> Floats:
        """Votes per 100 models, (n_sites, n_features)."""
        return self._laid_out([100.0 * votes / max(n, 1) for votes, _, n in self._sent], np.float64)

    @cached_property
    def directions(self) -> Directions:
        """Directions, (n_sites, n_features)."""
        return self._laid_out([directions for _, directions, _ in self._sent], np.int8)

    @cached_property
    def site_weights(self) -> Floats:
        """The weight of each site."""
        sizes = [site.site.n_effective for site in self.sites.values() if site.site is not None]
        return np.array(sizes) ** 0.25 if self.weights == "size" else np.ones(len(self.sites))

    @property
    def concordance(self) -> Floats:
        """C of each feature."""
        return concordance(self.votes, self.directions, self.site_weights[:, None] * self.measured)

    def _laid_out(self, parts: Sequence[Array], kind: Any) -> Array:
        rows = np.zeros((len(parts), len(self.names)), dtype=kind)
        for row, places, part in zip(rows, self.places, parts, strict=True):
            row[places] = part
        return rows

    def evidence(self) -> Evidence:
        """Return the pooled evidence."""
        constant = np.asarray(~self.measured.any(axis=0))
        n_models, sets, votes = [n for *_, n in self._sent], sparse.csr_array((0, len(self.names)), dtype=bool), None
        if self.rule == "concordant":
            total = round(sum(n_models) / len(n_models))
            votes = total / 100 * concordant_votes(self.votes, self.directions, self.measured, self.site_weights)
        else:
            total = sum(n_models)
            votes = self._laid_out([counts for counts, *_ in self._sent], np.int64).sum(axis=0)
            if self.rows is None and all(site.votes is None for site in self.sites.values()):
                sets, votes = self._sets(), None
        return Evidence(sets, self.names, constant, settings=self._settings(total), votes=votes)

    def _sets(self) -> sparse.csr_array:
        """Return the sets of all models."""
        parts = []
        for site, places in zip(self.sites.values(), self.places, strict=True):
            columns = np.array(places)[site.sets.indices]
            shape = (site.n_models, len(self.names))
            parts.append(sparse.csr_array((site.sets.data, columns, site.sets.indptr), shape=shape))
        sets = sparse.csr_array(sparse.vstack(parts, format="csr"))
        sets.sort_indices()
        return sets

    def _settings(self, n_models: int) -> dict[str, Any]:
        parts = [dict(site.settings) for site in self.sites.values()]
        n_samples = sum(site.site.n_samples for site in self.sites.values() if site.site is not None)
        about = {"rule": self.rule, "weights": self.weights}
        return {
            "pooling": about,
            "parts": parts,
            "n_models": n_models,
            "n_samples": n_samples,
            "task": parts[0]["task"],
        }


def _pool_of(evidence: Evidence) -> _Pool:
    """Return the sites of pooled evidence, and how they were pooled."""
    about = evidence.settings.get("pooling", {"rule": "concordant", "weights": "size"})
    return _Pool(evidence.cohorts, about["rule"], about["weights"], features=evidence.feature_names)


# -- checks and notes --------------------------------------------------------------------------------------------------


def _check_sites(evidence: Any) -> None:
    """Raise unless these are sites that can be pooled."""
    if not isinstance(evidence, Mapping) or not all(isinstance(part, Evidence) for part in evidence.values()):
        raise InputError.of("evidence", f"must map names of sites to Evidence; got {repr_of(evidence)}.", evidence)
    if len(evidence) < 2:
        rule = f"must be of at least two sites; got {len(evidence)}. Decide on the evidence of one site by itself."
        raise InputError.of("evidence", rule)
    for name, part in evidence.items():
        why = "is pooled already" if part.cohorts else "is a part of an ensemble" if "part" in part.settings else ""
        why = "does not say what it is of" if part.site is None and not why else why
        if why:
            rule = f"of {name} {why}. Pass the whole evidence of one site, from collect_evidence of this version."
            raise InputError.of("evidence", rule)
    _check_codings(evidence)
    _check_measured(evidence)
    seen: dict[Any, str] = {}
    for name, part in evidence.items():
        other = seen.setdefault(part.settings.get("data_fingerprint", name), name)
        if other != name:
            rule = f"of {name} is of the same data as that of {other}: a site counts once. Leave one of them out."
            raise InputError.of("evidence", rule)
    _check_common(evidence)


def _check_codings(evidence: Mapping[str, Evidence]) -> None:
    """Raise unless all sites have the same kind of target, with the same classes."""
    codings = {name: part.site.coding for name, part in evidence.items() if part.site is not None}
    first, coding = next(iter(codings.items()))
    for name, other in codings.items():
        if other != coding:
            key = next(key for key in ("task", "classes", "ordered") if other.get(key) != coding.get(key))
            shown = [listed(each[key]) if key == "classes" else str(each[key]) for each in (coding, other)]
            what = {"task": "task", "classes": "classes", "ordered": "order of the classes"}[key]
            rule = (
                f"must have the same target at all sites; the {what} of {first}: {shown[0]}, of {name}: {shown[1]}. "
                "Code the target alike, and collect again."
            )
            raise InputError.of("evidence", rule)


def _check_measured(evidence: Mapping[str, Evidence]) -> None:
    """Raise unless votes of all sites are for what features add to the same ones."""
    first, panel = next((name, part.measured) for name, part in evidence.items())
    for name, part in evidence.items():
        if {*part.measured} != {*panel}:
            shown = [listed(each) or "none" for each in (panel, part.measured)]
            rule = (
                f"must have the same features that are measured anyway at all sites; those of {first}: {shown[0]}, of "
                f"{name}: {shown[1]}. Collect again with the same `measured`."
            )
            raise InputError.of("evidence", rule)


def _check_common(evidence: Mapping[str, Evidence]) -> None:
    """Raise unless each site shares a feature with another one."""
    measured = {name: {*part.feature_names[~part.constant].tolist()} for name, part in evidence.items()}
    for name, features in measured.items():
        if not any(features & others for other, others in measured.items() if other != name):
            examples = [next(iter(part.feature_names.tolist()), "nothing") for part in evidence.values()]
            rule = (
                f"of {name} has no feature in common with any other site (features that vary; the first names are "
                f"{listed(examples)}). Use the same names at all sites."
            )
            raise InputError.of("evidence", rule)


def _notes(pooled: Evidence, sites: Mapping[str, Evidence], weights: str) -> tuple[Advice, ...]:
    """Return what must be known: sites whose directions oppose the others, features whose directions conflict."""
    pool = _Pool(sites, "concordant", weights, features=pooled.feature_names)
    notes = [Advice("site_opposed", {"site": name}) for name in _opposed(pool)]
    strong = np.flatnonzero((pool.concordance < _CONFLICT) & (pooled.counts >= 0.05 * pooled.n_models))
    if len(strong):
        order = strong[np.argsort(-pooled.counts[strong], kind="stable")]
        names = pool.names[order].tolist()
        notes.append(Advice("directions_conflict", {"n": len(names), "features": names[:100]}))
    return tuple(notes)


def _opposed(pool: _Pool) -> list[str]:
    """Return the sites whose directions oppose those of the others, which agree with each other.

    On noise, 1 to 5 of 100 poolings of 2 to 6 sites name one; without the condition on the others it would be one more
    of 40 per site.
    """
    signed = pool.site_weights[:, None] * pool.measured * pool.directions * np.log1p(pool.votes / _HALF)
    agreements = [_agreements(site, signed[:, at]) for site, at in zip(pool.sites.values(), pool.places, strict=True)]
    opposed = []
    for number, name in enumerate(pool.sites):
        others = [other for other in range(len(agreements)) if other != number]
        n_shuffles = len(agreements[number]) - 1
        if not n_shuffles or stdtr(n_shuffles, _standardized(agreements[number], others)) > _RARE:
            continue
        pairs = [
            (agreements[one], [other for other in others if other != one]) for one in others if len(agreements[one]) > 1
        ]
        if len(others) == 1 or (pairs and np.mean([_standardized(*pair) for pair in pairs]) > _AGREE):
            opposed.append(name)
    return opposed


def _agreements(evidence: Evidence, signed: Floats) -> Floats:
    """Return the agreement of a site and of its shuffles with each site, of shape (1 + n_shuffles, n_sites)."""
    site = evidence.site
    assert site is not None
    rows = [(evidence.counts, site.directions, evidence.n_models)]
    if site.repeats is not None:
        rows += map(site.repeats.row, range(site.repeats.n_shuffles))
    agreements = np.zeros((len(rows), len(signed)))
    for number, (votes, directions, n_models) in enumerate(rows):
        votes_signed = directions * np.log1p(100.0 * votes / max(n_models, 1) / _HALF)
        agreements[number] = signed @ votes_signed / max(float(np.linalg.norm(votes_signed)), 1.0)
    return agreements


def _standardized(agreements: Floats, others: Sequence[int]) -> float:
    """Return the agreement with the sum of other sites in units of that of shuffles, which is t-distributed by chance.

    >>> _standardized(np.array([[-6.0, 0.0], [3.0, 9.0], [-3.0, 9.0]]), [0])
    -2.0
    """
    observed, *shuffled = agreements[:, others].sum(axis=1)
    spread = float(np.sqrt(np.mean(np.square(shuffled))))
    return float(observed) / spread if spread > 0 else 0.0
