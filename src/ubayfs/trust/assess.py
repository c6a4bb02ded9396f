"""Assessment: the facts that a reader should know of a selection, in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._arguments import MOST_REPEATS, RandomState, as_seed_sequence, by_name, check_bool, check_choice, check_int
from .._plain import ShownAsCard, counted
from ..data.missing import MAX_MISSING
from ..decision.selection import Selection
from ..ensemble.collect import check_ensemble
from ..ensemble.progress import Progress, as_progress
from ..exceptions import EnsembleError, InputError
from .procedure import check_repeatable, data_of_evidence, ensemble_of
from .related import FEWEST_SHUFFLES, Related, related_members
from .reproducibility import Reproducibility, reproducibility_on
from .validation import Validation

if TYPE_CHECKING:
    from .growth import Growth

LEVELS = ("quick", "full")
_NO_TARGET = "There is no target that features could be related to."
_NOTHING_TO_PREDICT = "There is no target to predict."
_OTHER_LEVEL = 'Not tested. Call assess with level="full".'
_STOPPED = "Not tested: an earlier part was stopped."


@dataclass(frozen=True, eq=False)
class Assessment(ShownAsCard):
    """What is known of a selection beyond its own samples; made by :func:`~ubayfs.assess`.

    Attributes
    ----------
    features : tuple of str
        The selected features.
    related : Related or None
        How many are related to the target; None without a target.
    reproducibility : Reproducibility or None
        How many another study would select; None where the ensemble cannot be repeated.
    validation : Validation or None
        How well they predict; None at the level "quick", and without a target.
    growth : Growth or None
        How well they would predict with more samples; None unless it was asked for.
    not_done : dict of str to str
        Why a part is None, by its name.
    adjust_for : tuple of str
        Covariates that all of it is adjusted for.
    n_supported : int or None
        How many features the data support, where the set is larger; see
        :meth:`~ubayfs.trust.related.Related.n_supported_of`.

    Examples
    --------
    >>> import numpy as np
    >>> from ubayfs import Evidence, assess, decide
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 2 * y[:, None]
    >>> evidence = Evidence.from_sets([[1, 1, 0, 0, 0], [1, 0, 0, 1, 0]])  # of another ensemble
    >>> assessment = assess(decide(evidence, max_size=1), X, y)
    >>> assessment
    Assessment(1 feature: related)
    >>> assessment.not_done["reproducibility"]
    'The selection is decided on sets of another ensemble, which cannot be repeated on other samples. ...'
    """

    features: tuple[str, ...]
    related: Related | None = None
    reproducibility: Reproducibility | None = None
    validation: Validation | None = None
    growth: Growth | None = None
    not_done: Mapping[str, str] = field(default_factory=dict)
    adjust_for: tuple[str, ...] = ()
    n_supported: int | None = None

    def __repr__(self) -> str:
        parts = ("related", "reproducibility", "validation")
        done = [part for part in parts if getattr(self, part) is not None]
        return f"Assessment({counted(len(self.features), 'feature')}: {', '.join(done) or 'nothing known'})"


@by_name()
def assess(
    selection: Selection,
    X: Any,
    y: Any = None,
    *,
    level: str = "quick",
    growth: bool = False,
    groups: Any = None,
    adjust_for: Any = None,
    target: Any = None,
    layer: str | None = None,
    max_missing: float = MAX_MISSING,
    selector: Any = None,
    n_shuffles: int = 1000,
    n_splits: int = 20,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    on_progress: Progress | bool | None = None,
) -> Assessment:
    """Assess a selection: how many features are related to the target, how many are selected again, do they predict.

    Parameters
    ----------
    selection : Selection
        From :func:`~ubayfs.decide`.
    X, y, groups, adjust_for, target, layer, max_missing
        The data that the evidence was collected on, as in :func:`~ubayfs.collect_evidence`.
    level : {"quick", "full"}, default "quick"
        "quick": :func:`~ubayfs.estimate_related` and :func:`~ubayfs.estimate_reproducibility`. "full": also
        :func:`~ubayfs.validate`, five times five folds.
    growth : bool, default False
        With the level "full", also estimate how well they would predict with more samples: the procedure is repeated 20
        times on a quarter, a half and four fifths of them.
    selector : optional
        The selector of the evidence; needed for a custom one.
    n_shuffles : int, default 1000
        Shuffles of the target, at least 200.
    n_splits : int, default 20
        Pairs of halves of the samples.
    random_state : int, Generator, SeedSequence, RandomState or None, default 0
    n_jobs : int, optional
        As in :func:`~ubayfs.collect_evidence`.
    on_progress : callable or bool, optional
        True shows a progress bar for each part (needs tqdm). A function is called as ``on_progress(done, total)``, with
        splits and then with folds. When it returns False, the part rests on what is done, and no other one is begun.

    Returns
    -------
    assessment : Assessment
        What cannot be done is None: without a target there is no relation and no prediction, and sets of other
        ensembles cannot be repeated on other samples.

    Raises
    ------
    InputError
        If the data are not those of the evidence, or an argument breaks a rule.

    See Also
    --------
    estimate_related : The first of its parts.
    estimate_reproducibility : The second.
    validate : The third.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ubayfs import assess, collect_evidence, decide
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> evidence = collect_evidence(X, y, selector="mrmr", n_models=20, n_features_per_model=5, random_state=0)
    >>> assessment = assess(decide(evidence, max_size=6), X, y, n_splits=5)
    >>> assessment
    Assessment(6 features: related, reproducibility)
    >>> assessment.related.at_least
    6
    """
    check_choice("level", level, LEVELS)
    if check_bool("growth", growth) and level != "full":
        raise InputError.of("growth", 'needs the validation; pass level="full" with it.', growth)
    n_shuffles = check_int("n_shuffles", n_shuffles, low=FEWEST_SHUFFLES)
    n_splits = check_int("n_splits", n_splits, low=1, high=MOST_REPEATS)
    check_ensemble(n_jobs=n_jobs)
    as_progress(on_progress, "splits")
    seed = None if random_state is None else as_seed_sequence(random_state)
    reading = {"groups": groups, "adjust_for": adjust_for, "target": target, "layer": layer, "max_missing": max_missing}
    data = data_of_evidence(selection, X, y, **reading)
    supervised, not_done = data.target.task != "unsupervised", dict[str, str]()
    parts: dict[str, Any] = {"adjust_for": () if data.covariates is None else tuple(data.covariates.names)}
    if supervised:
        related = related_members(selection, data, n_shuffles, seed)
        parts |= {"related": related, "n_supported": related.n_supported_of(selection)}
    else:
        not_done |= {"related": _NO_TARGET, "validation": _NOTHING_TO_PREDICT}
    try:
        check_repeatable(selection)
    except InputError as error:
        if not supervised:
            raise
        reason = f"The {error}"
        return Assessment(selection.features, **parts, not_done={"reproducibility": reason, "validation": reason})
    assert selection.posterior is not None
    ensemble_of(selection.posterior.evidence, selector)  # refuses what cannot be repeated, before any work
    watch = _Watch(on_progress)

    def attempt(part: str, work: Callable[[], Any]) -> None:
        if watch.stopped:
            not_done[part] = _STOPPED
            return
        try:
            parts[part] = work()
        except (InputError, EnsembleError) as error:
            not_done[part] = f"Could not be tested: {error}"

    attempt(
        "reproducibility",
        lambda: reproducibility_on(selection, data, selector, n_splits, seed, n_jobs, watch.on_progress),
    )
    if level == "quick":
        not_done.setdefault("validation", _OTHER_LEVEL)
    elif supervised:
        from .cross_validation import Options, procedure_of, validate_selection

        options = Options(random_state=seed, n_jobs=n_jobs, on_progress=watch.on_progress)
        attempt("validation", lambda: validate_selection(selection, data, options, selector))
        if growth and (validation := parts.get("validation")) is not None:
            from .growth import growth_of

            settings: dict[str, Any] = {"random_state": seed, "n_jobs": n_jobs, "on_progress": watch.on_progress}
            attempt("growth", lambda: growth_of(*procedure_of(selection, data, selector), validation, **settings))
    return Assessment(selection.features, **parts, not_done=not_done)


class _Watch:
    """Remembers whether the caller stopped a part."""

    def __init__(self, on_progress: Progress | bool | None) -> None:
        self.stopped = False
        self._on_progress = on_progress
        self.on_progress: Progress | bool | None = self._call if callable(on_progress) else on_progress

    def _call(self, done: int, total: int) -> bool:
        assert callable(self._on_progress)
        self.stopped |= self._on_progress(done, total) is False
        return not self.stopped
