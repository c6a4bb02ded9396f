"""Selection: the chosen feature set, its alternatives, and an account of both.

>>> from ubayfs import Evidence, decide
>>> decide(Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"]), max_size=1).features
('radius',)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array, Floats, Ints, Mask, RandomState, freeze, mask_of
from .._plain import ShownAsCard, attached, decode, plain
from ..data.feature_data import FeatureData
from ..exceptions import Advice, InputError, UBayFSError
from ..metrics import jaccard
from ..priors.base import Posterior
from .problem import DecisionProblem, FeatureSet, SetMetrics

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pandas as pd

    from ..explain.redecide import Substitute
    from ..plotting import Drawing
    from ..trust.related import Related
    from ..trust.reproducibility import Reproducibility
    from ..trust.validation import Validation
    from .workflow import Decision

__all__ = ["Selection"]

FORMAT = 2


@dataclass(frozen=True, eq=False)
class Selection(ShownAsCard):
    """The answer: the best feature set, with its certificate and its reasons.

    Attributes
    ----------
    best : FeatureSet
    alternatives : tuple of FeatureSet
        The next best sets, best first.
    alternatives_complete : bool
        False when a time limit ended the search before as many alternatives were found as asked for.
    feature_names : ndarray of str of shape (n_features,)
    importance : ndarray of float of shape (n_features,)
        Posterior expected importance, or the importances given.
    counts, weights : ndarray of shape (n_features,) or None
        Votes of the ensemble and prior weights; None when importances were given directly.
    provenance : mapping
        How the selection was made, in plain types.
    posterior : Posterior or None
    problem : DecisionProblem or None
        None after :meth:`from_dict`; then other sets cannot be evaluated.
    decision : Decision or None
        What it was decided with, to decide in the same way on other samples; None where importances were given, and
        after :meth:`from_dict`.
    advice : tuple of Advice
        What a careful reader must know about the decision: early end, unlimited size, members without votes.

    Examples
    --------
    >>> from ubayfs import Evidence, decide
    >>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])
    >>> selection = decide(evidence, max_size=1)
    >>> selection.features, selection.gap
    (('radius',), 0.0)
    >>> selection.table()
       feature  count  weight  importance  chosen
    0   radius      2    0.01    0.663366    True
    1     area      1    0.01    0.333333   False
    2  texture      0    0.01    0.003300   False
    """

    best: FeatureSet
    alternatives: tuple[FeatureSet, ...]
    feature_names: Array
    importance: Floats
    counts: NDArray[Any] | None = None
    weights: Floats | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    posterior: Posterior | None = None
    problem: DecisionProblem | None = None
    advice: tuple[Advice, ...] = ()
    alternatives_complete: bool = True
    decision: Decision | None = None

    def data_of_fit(self, X: Any = None) -> FeatureData | None:
        """Return the data of the fit, which may have missing values as they had: `X`, or those of the decision."""
        if X is None:
            return None if self.problem is None else self.problem.data
        reading = () if self.posterior is None else self.posterior.evidence.reading
        return FeatureData.from_fit(X, self.feature_names, *reading)

    @property
    def knowledge(self) -> Mapping[str, Mapping[str, Any]]:
        """What was stated of features: weight (votes or a word), why and source, as far as they were given."""
        return self.provenance.get("knowledge", {})

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the chosen features."""
        return self.best.features

    @property
    def panel(self) -> tuple[str, ...]:
        """Names of the features that are measured anyway, and of those that are chosen beside them."""
        return (*self.measured, *self.features)

    @property
    def measured(self) -> tuple[str, ...]:
        """Names of the features that are measured anyway."""
        return () if self.posterior is None else self.posterior.evidence.measured

    @property
    def indices(self) -> Ints:
        """Positions of the chosen features, ascending."""
        return self.best.indices

    @property
    def value(self) -> float:
        """Score of the chosen set."""
        return self.best.value

    @property
    def bound(self) -> float:
        """No set has a higher score than this."""
        return self.best.bound

    @property
    def gap(self) -> float:
        """Bound minus value: 0 proves that the set is the best."""
        return self.best.gap

    @property
    def metrics(self) -> SetMetrics:
        """Metrics of the chosen set."""
        return self.best.metrics

    @cached_property
    def mask(self) -> Mask:
        """The chosen set as a mask of shape (n_features,)."""
        return freeze(mask_of(self.indices, len(self.feature_names)))

    def __repr__(self) -> str:
        shown = ", ".join(self.features[:10]) + (", ..." if len(self.features) > 10 else "")
        return (
            f"Selection({len(self.features)} of {len(self.feature_names)} features: {shown}; value={self.value:.6g}, "
            f"gap={self.gap:.2g}, admissibility={self.metrics.admissibility:.4g}, "
            f"alternatives={len(self.alternatives)})"
        )

    def evaluate(self, features: Any) -> SetMetrics:
        """Return the metrics of any other set, for example one that a person proposes.

        Parameters
        ----------
        features : iterable of str or int, or mask of shape (n_features,)
        """
        problem = problem_of(self, "the evaluation of other sets")
        return problem.measure(problem.mask(features))

    def substitutes(self, random_state: RandomState = 0) -> tuple[Substitute, ...]:
        """Return for each member what is chosen without it; see :func:`ubayfs.explain.substitutes`."""
        substitutes: tuple[Substitute, ...] = attached("substitutes")(self, random_state)
        return substitutes

    def plot(self, display: str = "evidence", ax: Any = None, **arguments: Any) -> Drawing:
        """Draw a display of this selection; a notebook shows it.

        Parameters
        ----------
        display : str, default "evidence"
            Its name in :data:`ubayfs.plotting.DISPLAYS`, such as "posterior", "sizes" or "correlation".
        ax : matplotlib axes, optional
            Default: a new figure.
        **arguments
            Of the `from_selection` of the display.
        """
        drawing: Drawing = attached("display_of")(self, display, arguments).plot(ax)
        return drawing

    def report(
        self,
        path: str | os.PathLike[str] = "report.html",
        X: Any = None,
        y: Any = None,
        *,
        related: Related | None = None,
        reproducibility: Reproducibility | None = None,
        validation: Validation | None = None,
        **arguments: Any,
    ) -> Path:
        """Write a report on this selection, whole or not at all, and return its path.

        Parameters
        ----------
        path : str or path, default "report.html"
            Ends in .html (one file that needs nothing else), .md or .json.
        X, y : array-like of shape (n_samples, n_features) and (n_samples,), optional
            The data of the fit, for the picture of the chosen features and for correlations.
        related, reproducibility, validation : optional
            From :func:`~ubayfs.estimate_related`, :func:`~ubayfs.estimate_reproducibility` and
            :func:`~ubayfs.validate`: the three facts that a report begins with.
        **arguments
            Further ones of :func:`ubayfs.report.summarize`, such as `blocks` and `random_state`.
        """
        facts = {"related": related, "reproducibility": reproducibility, "validation": validation}
        written: Path = attached("write_report")(self, path, X, y, facts, arguments)
        return written

    def similarity(self) -> Floats:
        """Return the Jaccard similarity between the best set and its alternatives.

        Returns
        -------
        similarity : ndarray of float of shape (1 + n_alternatives, 1 + n_alternatives)
        """
        n_features = len(self.feature_names)
        return jaccard([mask_of(each.indices, n_features) for each in (self.best, *self.alternatives)])

    def table(self) -> pd.DataFrame:
        """Return one row per feature: count, weight, importance, chosen; most important first."""
        import pandas as pd

        votes = {"count": self.counts, "weight": self.weights}
        columns = {name: values for name, values in votes.items() if values is not None}
        frame = pd.DataFrame(
            {"feature": self.feature_names, **columns, "importance": self.importance, "chosen": self.mask}
        )
        return frame.sort_values("importance", ascending=False, kind="stable", ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the selection in plain types, ready for JSON; infinite numbers become strings."""
        return {
            "format": FORMAT,
            "feature_names": self.feature_names.tolist(),
            "importance": self.importance.tolist(),
            "counts": None if self.counts is None else self.counts.tolist(),
            "weights": None if self.weights is None else self.weights.tolist(),
            "best": _set_to_dict(self.best),
            "alternatives": [_set_to_dict(each) for each in self.alternatives],
            "alternatives_complete": self.alternatives_complete,
            "provenance": plain(self.provenance),
            "advice": plain(self.advice),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Selection:
        """Make a selection of what :meth:`to_dict` gave."""
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            got = f"format {content.get('format')!r}" if isinstance(content, Mapping) else type(content).__name__
            raise InputError.of(
                "content",
                f"must be what Selection.to_dict of this version gave, format {FORMAT}; got {got}. Decide again with "
                "this version of ubayfs to have it.",
                content,
            )
        try:
            return cls._read(content)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError.of(
                "content", f"is a damaged selection ({type(error).__name__}: {error}); write it again with to_dict."
            ) from error

    @classmethod
    def _read(cls, content: Mapping[str, Any]) -> Selection:
        names = np.array(content["feature_names"], dtype=object)
        for key in ("importance", "counts", "weights"):
            if (key == "importance" or content[key] is not None) and np.shape(content[key]) != names.shape:
                raise ValueError(f"{key} must have one number per feature")
        return cls(
            best=_set_from_dict(content["best"], names),
            alternatives=tuple(_set_from_dict(each, names) for each in content["alternatives"]),
            feature_names=names,
            importance=np.array(content["importance"], dtype=np.float64),
            counts=None if content["counts"] is None else _read_counts(content["counts"]),
            weights=None if content["weights"] is None else np.array(content["weights"], dtype=np.float64),
            provenance=_read_provenance(content["provenance"]),
            advice=tuple(Advice.from_dict(advice) for advice in content["advice"]),
            alternatives_complete=bool(content.get("alternatives_complete", True)),
        )


def check_selection(selection: Any) -> None:
    """Raise unless this is a Selection."""
    if not isinstance(selection, Selection):
        rule = f"must be a Selection, as decide() returns it; got {type(selection).__name__}."
        if hasattr(selection, "selection_"):
            rule += " Pass its selection_."
        raise InputError.of("selection", rule, selection)


def problem_of(selection: Selection, purpose: str) -> DecisionProblem:
    """Return the problem behind a selection, or raise when it was read from a file."""
    check_selection(selection)
    if selection.problem is None:
        raise UBayFSError(
            f"{purpose} needs the constraints, which a selection read from a file does not have; call decide() again."
        )
    return selection.problem


def _read_provenance(content: Mapping[str, Any]) -> dict[str, Any]:
    kinds: dict[str, Any] = dict.fromkeys(("evidence", "knowledge", "solver", "confirmed_by"), Mapping)
    for key, kind in {**kinds, "constraints": list, "experts": list}.items():
        if key in content and not isinstance(content[key], kind):
            raise TypeError(f"{key} cannot be {type(content[key]).__name__}")
    entries = [*content.get("knowledge", {}).values(), *content.get("constraints", ())]
    entries += [constraint["arguments"] for constraint in content.get("constraints", ()) if constraint["kind"]]
    if not all(isinstance(entry, Mapping) for entry in entries):
        raise TypeError("entries of constraints and knowledge must be mappings")
    return dict(content)


def _read_counts(content: Any) -> NDArray[Any]:
    """Return votes; those of pooled evidence need not be whole."""
    counts = np.array(content, dtype=np.float64)
    return counts if (counts % 1).any() else counts.astype(np.int64)


def _set_to_dict(feature_set: FeatureSet) -> dict[str, Any]:
    return dict(plain({name: value for name, value in vars(feature_set).items() if name != "features"}))


def _set_from_dict(content: Mapping[str, Any], names: Array) -> FeatureSet:
    indices = freeze(np.array(content["indices"], dtype=np.intp))
    if indices.ndim != 1:
        raise ValueError("indices must be positions of features")
    return FeatureSet(
        indices=indices,
        features=tuple(names[indices].tolist()),
        value=float(content["value"]),
        bound=float(content["bound"]),
        complete=bool(content["complete"]),
        metrics=decode(SetMetrics, content["metrics"]),
    )
