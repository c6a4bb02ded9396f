"""Evidence: what the ensemble found, M feature sets over named features."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._arguments import Array, FeatureIndex, Mask, as_array, check_feature_names, freeze
from .._files import ReadBytes, as_path, load_record, read_bytes, save_record
from .._plain import ShownAsCard, decode, plain
from ..exceptions import Advice, EnsembleError, InputError
from ..selectors.base import CURVE, STRAIGHT, UNSAID
from .features_per_model import features_advice
from .site import Site

_KIND, _VERSION = "ubayfs evidence", 1
# The arrays of a file; numbers are those of sites.
_NAMES = (
    r"([0-9]+_)?(indptr|indices|constant|carriers|votes|directions|"
    r"repeats_(indptr|indices|votes|directions|models))"
)
# The types of what is used of settings, of a part of an ensemble and of merged ones.
_SETTINGS: dict[str, type] = {
    **dict.fromkeys(("part", "pooling", "seed", "versions"), dict),
    **dict.fromkeys(("parts", "selector", "selector_kinds", "adjust_for", "on_residuals"), list),
    **dict.fromkeys(("n_models", "number", "of"), int),
    **dict.fromkeys(("data_fingerprint", "task"), str),
}


@dataclass(frozen=True)
class RunFailure:
    """An elementary run that raised.

    Attributes
    ----------
    run : int
        Index of the run in its ensemble.
    selector : str
        Name of the selector.
    error : str
        The error, as ``"ValueError: its message"``; the message alone when `by_caller`.
    by_caller : bool
        True for an :class:`~ubayfs.exceptions.InputError`: something that was handed in is wrong.
    """

    run: int
    selector: str
    error: str
    by_caller: bool = False


@dataclass(frozen=True, eq=False)
class Evidence(ShownAsCard):
    """M feature sets, one per elementary run.

    Attributes
    ----------
    sets : csr_array of bool of shape (n_models, n_features)
        Row m marks the features that run m chose.
    feature_names : ndarray of str (object) of shape (n_features,)
    constant : ndarray of bool of shape (n_features,)
        Columns that are constant in the whole data set; never chosen.
    runs : tuple of str
        Identity of each run (data, settings, seed and index), so that no run is counted twice; empty when unknown.
    failures : tuple of RunFailure
    settings : mapping
        How the evidence was made, in plain types (selector, train_size, seed, versions, data fingerprint...);
        ``np.random.SeedSequence(**settings["seed"])`` as `random_state` repeats it. Merged evidence lists the
        settings of its ``"parts"``.
    notes : tuple of Advice
        What must be known about the data that the runs saw.
    carriers : ndarray of int32 of shape (n_votes,) or None
        What carried each vote, in the order of ``sets.indices``: -1 the feature as it is, -2 a curve of it, otherwise
        the position of the feature that it acts together with; -3 where the selector of the run does not say. None if
        no selector does.
    votes : ndarray of shape (n_features,) or None
        Votes of the models where their sets are not known: of a site that sent only these, or pooled ones, which need
        not be whole. None: those of `sets`.
    site : Site or None
        The samples that it is of, in numbers; None if it is of several sites, or was not collected by ubayfs.
    cohorts : mapping of str to Evidence
        What each site sent, by its name, of pooled evidence; see :func:`~ubayfs.pool_evidence`.

    See Also
    --------
    collect_evidence : Runs the ensemble.
    decide : Makes a decision on evidence.

    Examples
    --------
    >>> from ubayfs import Evidence
    >>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])
    >>> evidence
    Evidence(n_models=2, n_features=3, failures=0)
    >>> evidence.counts
    array([2, 1, 0])
    """

    sets: sparse.csr_array
    feature_names: Array
    constant: Mask
    runs: tuple[str, ...] = ()
    failures: tuple[RunFailure, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[Advice, ...] = ()
    carriers: NDArray[np.int32] | None = None
    votes: NDArray[Any] | None = None
    site: Site | None = None
    cohorts: Mapping[str, Evidence] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n_models, n_features = self.sets.shape
        if len(self.feature_names) != n_features or self.constant.shape != (n_features,):
            raise InputError.of(
                "evidence",
                f"over {n_features} features needs as many names and marks of constant columns; got "
                f"{len(self.feature_names)} and {self.constant.shape}.",
            )
        if len(self.runs) not in (0, n_models):
            raise InputError.of(
                "evidence", f"of {n_models} runs needs as many identities, or none; got {len(self.runs)}."
            )
        if self.carriers is not None:
            if (
                self.carriers.shape != (self.sets.nnz,)
                or not ((self.carriers >= UNSAID) & (self.carriers < n_features)).all()
            ):
                raise InputError.of("evidence", f"of {self.sets.nnz} votes needs as many carriers, or none.")
            freeze(self.carriers)
        if any(array is not None and array.shape != (n_features,) for array in (self.votes, self._directions)):
            raise InputError.of("evidence", f"over {n_features} features needs as many votes and directions, or none.")
        if self.votes is not None:
            freeze(self.votes)
        for array in (self.sets.data, self.sets.indices, self.sets.indptr, self.feature_names, self.constant):
            freeze(array)

    @classmethod
    def from_sets(cls, sets: Any, feature_names: Any = None) -> Evidence:
        """Make evidence of the sets of any other ensemble.

        Parameters
        ----------
        sets : array-like or sparse array of bool of shape (n_models, n_features)
        feature_names : array-like of str of shape (n_features,), optional
            Default: the columns of a DataFrame, else x0, x1, ...

        Examples
        --------
        >>> Evidence.from_sets([[True, False, True], [True, False, False]]).counts
        array([2, 0, 1])
        """
        if feature_names is None and hasattr(sets, "columns"):
            feature_names = [str(c) for c in sets.columns]
        csr = _read_sets(sets)
        n_features = csr.shape[1]
        names = check_feature_names(feature_names, n_features)
        return cls(csr, names, np.zeros(n_features, dtype=bool))

    @property
    def n_models(self) -> int:
        """Number of runs that finished; of pooled evidence the mean over sites."""
        return int(self.sets.shape[0]) if self.votes is None else int(self.settings["n_models"])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.sets.shape[1])

    @property
    def _directions(self) -> Array | None:
        return None if self.site is None else self.site.directions

    @cached_property
    def counts(self) -> NDArray[Any]:
        """How many runs chose each feature, of shape (n_features,)."""
        if self.votes is not None:
            return self.votes
        return freeze(np.bincount(self.sets.indices, minlength=self.n_features).astype(np.int64))

    def reasons(self, feature: str | int) -> VoteReasons | None:
        """Return what carried the votes for a feature, by name or position; None if no selector says.

        Examples
        --------
        >>> from dataclasses import replace
        >>> sets = Evidence.from_sets([[1, 1], [1, 0]])
        >>> replace(sets, carriers=np.array([1, 0, -2], dtype=np.int32)).reasons(0)
        VoteReasons(straight=0, curve=1, pairs={1: 1})
        """
        if self.carriers is None:
            return None
        position = FeatureIndex(self.feature_names).position(feature, "feature")
        votes = Counter(self.carriers[self.sets.indices == position].tolist())
        pairs = {partner: n for partner, n in votes.most_common() if partner >= 0}
        return VoteReasons(votes[STRAIGHT], votes[CURVE], pairs)

    @property
    def n_empty(self) -> int:
        """Number of runs that finished and chose nothing; they count as runs without a vote."""
        return int(np.count_nonzero(np.diff(self.sets.indptr) == 0))

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What must be known: failed, cancelled and empty runs, no votes at all, large sets, suspicious values."""
        notes: list[Advice] = []
        n_runs, n_asked = self.n_models + len(self.failures), self.settings.get("n_models")
        if self.failures:
            error, times = Counter(failure.error for failure in self.failures).most_common(1)[0]
            facts = {"n_failed": len(self.failures), "n_runs": n_runs, "error": error, "times": times}
            notes.append(Advice("runs_failed", facts))
        if n_asked is not None and n_runs < n_asked:
            notes.append(Advice("runs_cancelled", {"n_runs": n_runs, "n_models": n_asked}))
        if not self.counts.any():
            notes.append(Advice("no_votes"))
        elif self.n_empty:
            notes.append(Advice("runs_without_choice", {"n_empty": self.n_empty, "n_runs": self.n_models}))
        parts = self.settings.get("parts", [self.settings])
        on_residuals = sorted({name for part in parts for name in part.get("on_residuals", ())})
        if on_residuals:
            facts = {"selectors": on_residuals, "names": list(self.adjust_for)}
            notes.append(Advice("adjusted_on_residuals", facts))
        per_model = [part.get("n_features_per_model") for part in parts]
        return (*notes, *features_advice(per_model, self.n_features), *self.notes)

    @property
    def adjust_for(self) -> tuple[str, ...]:
        """Names of the covariates beyond which features were chosen; empty if there were none."""
        parts = self.settings.get("parts", [self.settings])
        return tuple(dict.fromkeys(name for part in parts for name in part.get("adjust_for", ())))

    @property
    def measured(self) -> tuple[str, ...]:
        """Names of the features that are measured anyway, to which others are added."""
        parts = self.settings.get("parts", [self.settings])
        return tuple(dict.fromkeys(name for part in parts for name in part.get("measured", ())))

    @property
    def reading(self) -> tuple[str | None, tuple[str, ...]]:
        """How X was read that the evidence is of: the rule for missing values, if any, and covariates."""
        return self.settings.get("missing"), self.adjust_for

    def __repr__(self) -> str:
        return f"Evidence(n_models={self.n_models}, n_features={self.n_features}, failures={len(self.failures)})"

    def record(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return everything as plain types and as arrays, for a file without pickle."""
        metadata = {
            "feature_names": list(self.feature_names),
            "runs": list(self.runs),
            "failures": [asdict(failure) for failure in self.failures],
            "settings": dict(self.settings),
            "notes": [plain(vars(note)) for note in self.notes],
        }
        arrays = {"indptr": self.sets.indptr, "indices": self.sets.indices, "constant": self.constant}
        further = {"carriers": self.carriers, "votes": self.votes}
        arrays |= {name: array for name, array in further.items() if array is not None}
        if self.site is not None:
            metadata["site"], of_site = self.site.record()
            arrays |= of_site
        if self.cohorts:
            records = {name: cohort.record() for name, cohort in self.cohorts.items()}
            metadata["cohorts"] = {name: about for name, (about, _) in records.items()}
            for number, (_, parts) in enumerate(records.values()):
                arrays |= {f"{number}_{name}": array for name, array in parts.items()}
        return metadata, arrays

    @classmethod
    def from_record(cls, metadata: Mapping[str, Any], arrays: Mapping[str, Array]) -> Evidence:
        """Make evidence of what :meth:`record` returned; EnsembleError if that does not fit together."""
        try:
            names = check_feature_names(metadata["feature_names"], len(metadata["feature_names"]))
            settings = metadata["settings"]
            for part in (settings, settings.get("part", {}), *settings.get("parts", ())):
                for name, value in part.items():
                    if not isinstance(value, _SETTINGS.get(name, object)):
                        raise TypeError(f"{name} in settings cannot be {type(value).__name__}")
            indptr, indices = arrays["indptr"], arrays["indices"]
            shape = (len(indptr) - 1, len(names))
            sets = sparse.csr_array((np.ones(len(indices), dtype=bool), indices, indptr), shape=shape)
            sets.check_format(full_check=True)
            failures = tuple(decode(RunFailure, failure) for failure in metadata["failures"])
            notes = tuple(Advice.from_dict(note) for note in metadata.get("notes", ()))
            runs, constant = tuple(map(str, metadata["runs"])), arrays["constant"].astype(bool)
            carriers = arrays["carriers"].astype(np.int32) if "carriers" in arrays else None
            votes, site = arrays.get("votes"), metadata.get("site")
            if votes is not None and "n_models" not in settings:
                raise KeyError("n_models")
            cohorts = {
                str(name): cls.from_record(about, {
                    key.removeprefix(f"{number}_"): array
                    for key, array in arrays.items() if key.startswith(f"{number}_")
                })
                for number, (name, about) in enumerate(metadata.get("cohorts", {}).items())
            }  # fmt: skip
            site = None if site is None else Site.from_record(site, arrays)
            return cls(sets, names, constant, runs, failures, settings, notes, carriers, votes, site, cohorts)
        except (InputError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise EnsembleError(f"its parts do not fit together ({error!r}).") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the evidence to one file of plain data (.npz; no pickle), whole or not at all."""
        metadata, arrays = self.record()
        save_record(as_path(path), _KIND, _VERSION, metadata, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, read: ReadBytes = read_bytes) -> Evidence:
        """Read evidence that :meth:`save` wrote; `read` returns the content of the file.

        Raises
        ------
        EnsembleError
            If the file is missing, damaged, of a newer format, or something else.
        """
        metadata, arrays = load_record(as_path(path), _KIND, _VERSION, _NAMES, read)
        try:
            return cls.from_record(metadata, arrays)
        except EnsembleError as error:
            raise EnsembleError(f"{path} is {_KIND}, but {error}") from error

    @staticmethod
    def join(parts: Mapping[str, Evidence]) -> Evidence:
        """Put the parts of one ensemble together that ``collect_evidence(..., part=...)`` collected.

        Parameters
        ----------
        parts : mapping of str to Evidence
            In any order; the names, such as those of their files, are for messages.

        Returns
        -------
        evidence : Evidence
            The same, bit for bit, as from one call without `part`.

        Raises
        ------
        EnsembleError
            If a part is missing, there twice, cancelled or of another ensemble, or more than half of all runs failed.
        """
        from .parts import join_parts

        return join_parts(parts)

    def merge(self, *others: Evidence) -> Evidence:
        """Put evidence from several ensembles over the same data together; counts add up.

        The ensembles may differ in selector, seed or settings, or be parts of one. Evidence made by
        :meth:`from_sets` carries no identity, so that nobody can tell whether such runs overlap.

        Raises
        ------
        EnsembleError
            If features or data differ, or a run would be counted twice.

        Examples
        --------
        >>> first = Evidence.from_sets([[True, False]])
        >>> first.merge(Evidence.from_sets([[True, True]])).counts
        array([2, 1])
        """
        parts = (self, *others)
        if any(isinstance(part, Evidence) and part.votes is not None for part in parts):
            raise EnsembleError("cannot merge votes without the sets of models. Pool sites by pool_evidence instead.")
        for number, other in enumerate(others, start=2):
            if not isinstance(other, Evidence):
                raise InputError(f"merge takes Evidence; part {number} is {type(other).__name__}.")
            _check_same_features(self.feature_names, other.feature_names, number)
        fingerprint = _common_fingerprint(parts)
        settings: dict[str, Any] = {"parts": [s for part in parts for s in part.settings.get("parts", [part.settings])]}
        if fingerprint is not None:
            settings["data_fingerprint"] = fingerprint
        return Evidence(
            sparse.csr_array(sparse.vstack([part.sets for part in parts], format="csr")),
            self.feature_names,
            np.logical_or.reduce([part.constant for part in parts]),
            _joined_runs(parts),
            tuple(failure for part in parts for failure in part.failures),
            settings,
            max((part.notes for part in parts), key=len),  # of one data set
            joined_carriers([(part.carriers, part.sets.nnz) for part in parts]),
            site=joined_sites(parts),
        )


class VoteReasons(NamedTuple):
    """How many votes for a feature were for itself, for a curve of it, and for acting together with others."""

    straight: int
    curve: int
    pairs: dict[int, int]  # by the position of the other feature, most votes first


def joined_sites(parts: Iterable[Evidence]) -> Site | None:
    """Return what parts say of the samples that they share; None if one of them says nothing."""
    sites = [part.site for part in parts]
    return None if any(site is None for site in sites) else reduce(Site.beside, sites)  # type: ignore[arg-type]


def joined_carriers(parts: Iterable[tuple[Any, int]]) -> NDArray[np.int32] | None:
    """Return what carried the votes of all parts, each with its number of votes; None if no part says."""
    parts = list(parts)
    if all(carriers is None for carriers, _ in parts):
        return None
    said = [np.full(n, UNSAID) if carriers is None else carriers for carriers, n in parts]
    return np.concatenate(said).astype(np.int32)


def check_failures(failures: tuple[RunFailure, ...], n_runs: int) -> None:
    """Raise when more than half of the runs of an ensemble failed."""
    if 2 * len(failures) <= n_runs:
        return
    error, times = Counter(failure.error for failure in failures).most_common(1)[0]
    if len(failures) == n_runs and all(failure.by_caller for failure in failures):
        raise InputError(f"every elementary run failed: {error}", argument="selector")
    raise EnsembleError(
        f"{len(failures)} of {n_runs} elementary runs failed; the most frequent error ({times}x) was {error}. "
        "An ensemble needs at least half of its runs."
    )


def _read_sets(sets: Any) -> sparse.csr_array:
    """Return any matrix of 0/1 as sorted, canonical csr."""
    rule = "must be a matrix of shape (n_models, n_features)"
    matrix = sets if sparse.issparse(sets) else as_array("sets", sets, rule)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InputError.of("sets", f"{rule}; got shape {matrix.shape}.")
    if matrix.dtype == object:  # such as nullable columns of a frame
        try:
            matrix = np.where(np.isin(matrix, (0, 1)), matrix, 2).astype(np.int8)
        except (ArithmeticError, ValueError):  # the signalling NaN of a Decimal, lists in cells
            matrix = np.full(matrix.shape, 2, dtype=np.int8)
    csr = sparse.csr_array(matrix) if matrix.dtype.kind in "biuf" else None
    if csr is None or not np.isin(csr.data, (0, 1)).all():
        raise InputError.of("sets", "must hold only True/False or 0/1, one row per model.")
    csr = csr.astype(bool, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    csr.sort_indices()
    return csr


def _check_same_features(first: Array, other: Array, number: int) -> None:
    if len(first) != len(other):
        raise EnsembleError(f"cannot merge: part 1 has {len(first)} features, part {number} has {len(other)}.")
    different = np.flatnonzero(first != other)
    if len(different):
        position = int(different[0])
        raise EnsembleError(
            f"cannot merge: feature {position} is {first[position]!r} in part 1 and {other[position]!r} in part "
            f"{number}; the same features in the same order are needed."
        )


def _common_fingerprint(parts: Iterable[Evidence]) -> str | None:
    fingerprints = {part.settings["data_fingerprint"] for part in parts if "data_fingerprint" in part.settings}
    if len(fingerprints) > 1:
        raise EnsembleError(
            "cannot merge: the parts come from different data (values, target, groups or names differ). Evidence "
            "adds up only over one data set."
        )
    return fingerprints.pop() if fingerprints else None


def _joined_runs(parts: Iterable[Evidence]) -> tuple[str, ...]:
    """Return the identity of every run ("" where unknown), refusing runs that occur twice."""
    if not any(part.runs for part in parts):
        return ()
    runs = [run for part in parts for run in part.runs or ("",) * part.n_models]
    identities = [run for run in runs if run]
    n_repeated = len(identities) - len(set(identities))
    if n_repeated:
        raise EnsembleError(
            f"cannot merge: {n_repeated} run(s) occur in more than one part and would count twice. Use another "
            "random_state for each ensemble."
        )
    return tuple(runs)
