"""The scikit-learn estimator: a thin face over :mod:`ubayfs.decision.workflow`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ._arguments import FeatureIndex, Mask, RandomState, by_name, check_int, mask_of, refuse_lazy, unknown_argument
from .constraints.sizes import SUPPORTED, as_size
from .data.blocks import Blocks
from .data.categories import has_text
from .data.feature_data import FeatureData
from .data.mapped_array import map_table
from .data.missing import MAX_MISSING
from .data.parts import is_anndata, parts_of
from .decision.workflow import Decision, collect_evidence, decide, with_max_size
from .ensemble.progress import Progress
from .exceptions import InputError
from .priors import DEFAULT_WEIGHT, Posterior, resolve_knowledge
from .priors.knowledge import AS_STATED, LEARNED
from .selectors.adapters import as_selector
from .selectors.registry import DEFAULT_SELECTOR
from .trust.related import MAX_SUPPORTED, N_SHUFFLES, favored_beforehand, related_of, supported_size


class UBayFSSelector(SelectorMixin, BaseEstimator):
    """Select the best feature set from ensemble evidence, prior knowledge and side constraints.

    Parameters
    ----------
    selector : str, estimator, callable or list of these, default "wide"
        The elementary selector: "wide", "lasso", "mrmr", "fisher", "tree", "rfe", "hsic", "cox" (of survival) or
        "laplacian" (needs no target); a scikit-learn estimator or selector; a callable
        ``(X, y, n_features, rng) -> indices``; a list mixes several.
    max_features : int, "supported" or None, default 10
        The most features to select: a hard limit. None leaves the size to `constraints`. "supported" is the number of
        features that the data support (see ``Related.supported`` of :func:`~ubayfs.estimate_related`), at least 1.
    constraints : Constraint, or list or tuple of Constraint, default ()
        Made by :func:`~ubayfs.max_size`, :func:`~ubayfs.must_link` and the other builders; features by name
        (columns of a frame) or position. :func:`~ubayfs.decorrelate` and :func:`~ubayfs.max_per_cluster` see the data
        of the fit.
    weights : number, array-like, mapping, DataFrame, path or Knowledge, default 0.01
        Prior weight of each feature, in votes or in words: ``{"TP53": "very likely"}``; see :func:`~ubayfs.decide`.
    trust_in_lists : {"as_stated", "learned"}, default "as_stated"
        "learned": lists of three or more features, such as gene sets, keep their weight only if they have more votes
        than random features; see :func:`~ubayfs.decide`.
    prior : {"dirichlet", "generalized", "hyperdirichlet"} or Prior, default "dirichlet"
    blocks : mapping of name to features, DataFrame (feature, block) or Blocks, optional
        Groups of features that `weights` and `constraints` may refer to.
    constraint_strength : float, default 1.0
        What keeping all constraints adds to the score (the paper's lambda); all importances together add up to 1.
    n_models : int, default 100
        Elementary runs, each on a subsample of the samples.
    train_size : float in (0, 1), default 0.75
        Share of the samples (of the groups, when `groups` are given to :meth:`fit`) in a subsample.
    max_supported : int, default 20
        The most features with ``max_features="supported"``.
    n_features_per_model : int or "random", optional
        The most that one run may choose. Default: a quarter of the features, at least 1 and at most 10. "random" draws
        a number for each run, from 1 to half of the features, at most 20.
    task : str, optional
        The kind of target, a key of ``ubayfs.data.TASKS`` such as "regression". Default: inferred from `y`.
    missing : {"error", "available", "drop_rows", "drop_columns", "median"}, default "error"
        What to do about missing values (NaN) of X, see :func:`~ubayfs.collect_evidence`. :meth:`transform` passes them
        on: it takes the chosen columns as they are.
    max_missing : float in [0, 1], default 0.5
        With "available" and "median": features of which a larger share is missing cannot be chosen.
    adjust_for : str or list of str, optional
        Columns of X (x0, x1, ... of an array; of AnnData: of `obs`) that are covariates, such as age or batch: features
        are scored after adjustment for them, and :meth:`transform` never selects them. See docs/features.md.
    optimizer : {"exact", "genetic"} or Optimizer, default "exact"
    min_votes : int, default 1
        Features with fewer votes, and no weight or hard constraint that asks for them, cannot be selected: fewer than
        `max_features` may be selected then. 0: such features may fill the set. See :func:`~ubayfs.decide`.
    time_limit : float, optional
        Seconds for the search of the best set; past it the best one found so far is taken, with its gap.
    n_alternatives : int, default 0
        How many further sets ``selection_.alternatives`` lists.
    differ_by : int, default 1
        How many features of every set before each of them lacks, at least.
    random_state : int, Generator, SeedSequence, RandomState or None, default None
    n_jobs : int, optional
        Workers of the ensemble (threads unless ``joblib.parallel_config`` says otherwise); does not change the result.
    on_progress : callable or bool, optional
        True shows a progress bar (needs tqdm). A function is called as ``on_progress(done, total)`` whenever runs are
        finished; returning False ends the ensemble early.
    checkpoint : path of a directory, optional
        Finished runs are stored there, and the same fit continues from them. For one data set, not for
        cross-validation.

    Attributes
    ----------
    evidence_ : Evidence
        The feature sets of all runs; there for :meth:`redecide` even when the decision after it fails.
    related_ : Related or None
        With ``max_features="supported"``: which features are related to the target; else None.
    posterior_ : Posterior
        Importance of each feature.
    selection_ : Selection
        The chosen set with its value, bound, metrics and alternatives. It does not keep the data.
    n_features_in_ : int
    feature_names_in_ : ndarray of str of shape (n_features,)
        When X is a frame.

    See Also
    --------
    collect_evidence : The first half of `fit`, for many decisions on one ensemble.
    decide : The second half.

    References
    ----------
    Jenul, A., Schrunner, S., Pilz, J., Tomic, O. (2022). A user-guided Bayesian framework for ensemble feature
    selection in life science applications (UBayFS). Machine Learning, 111, 3897-3923.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ubayfs import UBayFSSelector, cannot_link
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = UBayFSSelector(max_features=3, n_models=20, random_state=0).fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['mean concave points', 'worst radius', 'worst texture']
    >>> other = selector.redecide(constraints=[cannot_link(["worst radius", "worst texture"])])
    >>> other.get_feature_names_out().tolist()
    ['mean concave points', 'worst radius', 'worst concave points']
    """

    @by_name()
    def __init__(
        self,
        selector: Any = DEFAULT_SELECTOR,
        *,
        max_features: int | str | None = 10,
        constraints: Any = (),
        weights: Any = DEFAULT_WEIGHT,
        prior: Any = "dirichlet",
        blocks: Any = None,
        constraint_strength: float = 1.0,
        n_models: int = 100,
        train_size: float = 0.75,
        n_features_per_model: int | str | None = None,
        task: str | None = None,
        missing: str = "error",
        max_missing: float = MAX_MISSING,
        adjust_for: str | Sequence[str] | None = None,
        optimizer: Any = "exact",
        min_votes: int = 1,
        time_limit: float | None = None,
        n_alternatives: int = 0,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        on_progress: Progress | bool | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        max_supported: int = MAX_SUPPORTED,
        trust_in_lists: str = AS_STATED,
        differ_by: int = 1,
    ) -> None:
        self.selector = selector
        self.max_features = max_features
        self.constraints = constraints
        self.weights = weights
        self.prior = prior
        self.blocks = blocks
        self.constraint_strength = constraint_strength
        self.n_models = n_models
        self.train_size = train_size
        self.n_features_per_model = n_features_per_model
        self.task = task
        self.missing = missing
        self.max_missing = max_missing
        self.adjust_for = adjust_for
        self.optimizer = optimizer
        self.min_votes = min_votes
        self.time_limit = time_limit
        self.n_alternatives = n_alternatives
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.on_progress = on_progress
        self.checkpoint = checkpoint
        self.max_supported = max_supported
        self.differ_by = differ_by
        self.trust_in_lists = trust_in_lists

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> UBayFSSelector:
        """Run the ensemble and decide.

        Parameters
        ----------
        X : array-like, DataFrame, sparse matrix, AnnData or path of a .npy file, of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_labels), optional
            Classes, numbers, a 0/1 matrix of labels; not needed by selectors that do without.
        groups : array-like of shape (n_samples,), optional
            Patient, mouse, subject... of each sample; all samples of one stay on one side of every subsample. Inside a
            pipeline or a grid search it is requested by ``set_fit_request(groups=True)``.

        Returns
        -------
        self : UBayFSSelector
        """
        if y is None and self._needs_target():
            raise InputError(
                f"selector={self.selector!r} requires y to be passed, but the target y is None. Without a target use "
                "selector='laplacian'.",
                argument="y",
            )
        if self.adjust_for is not None and isinstance(X, str | os.PathLike):
            X = map_table(os.path.abspath(os.fsdecode(X)))
        reading = {name: getattr(self, name) for name in ("task", "missing", "max_missing")}
        data = FeatureData.from_table(X, y, groups=groups, adjust_for=self._covariates(), **reading)
        Decision(**self._decision(self.max_supported)).check(data.feature_names)
        # From here on an earlier fit is forgotten, so that a later error cannot leave parts of both.
        for result in ("evidence_", "related_", "posterior_", "selection_"):
            self.__dict__.pop(result, None)
        # The values are checked above, with messages that name columns; this records the names and their number.
        validate_data(self, _with_names(X, data), skip_check_array=True)
        self._columns = data.positions_in(X)
        self._fit_params = self.get_params(deep=False)
        ensemble = {
            name: getattr(self, name) for name in ("selector", "n_models", "train_size", "n_features_per_model")
        }
        watch: dict[str, Any] = {"n_jobs": self.n_jobs, "on_progress": self.on_progress}
        store, seed = self.checkpoint, self.random_state
        self.evidence_ = collect_evidence(data, **ensemble, **watch, random_state=seed, checkpoint=store)
        self.related_ = None
        if self.max_features == SUPPORTED:
            if data.target.task == "unsupervised":
                raise InputError.of("max_features", "'supported' needs a target: pass y, or a number.", SUPPORTED)
            knowledge = resolve_knowledge(self.weights, data.feature_names, Blocks.of(self.blocks), self.n_models)
            favored = favored_beforehand(knowledge.weights, knowledge.changed_after_votes, data.feature_names)
            seed = np.random.SeedSequence(**self.evidence_.settings["seed"]).spawn(1)[0]
            self.related_ = related_of(data, favored, N_SHUFFLES, seed)
        return self._decide(data)

    def transform(self, X: Any) -> Any:
        """Reduce X to the selected features.

        Parameters
        ----------
        X : array-like, DataFrame, sparse matrix or AnnData of shape (n_samples, n_features)

        Returns
        -------
        reduced : array, DataFrame or sparse matrix of shape (n_samples, n_selected)
            Sparse if X is. Of AnnData, the columns of its `X` that are named like the selected features.
        """
        check_is_fitted(self)
        refuse_lazy("X", X)
        if hasattr(X, "columns") and (len(self._columns) < self.n_features_in_ or has_text(X)):  # as they are
            validate_data(self, X, reset=False, skip_check_array=True)
            chosen = X[[X.columns[position] for position in np.flatnonzero(self._get_support_mask())]]
            finite = self.missing == "error" or "allow-nan"
            values = chosen.to_numpy(dtype=object) if has_text(chosen) else chosen
            values = check_array(values, dtype=None, ensure_all_finite=finite, ensure_min_features=0)
            return values if _get_output_config("transform", self)["dense"] == "default" else chosen
        if not is_anndata(X):
            return super().transform(X)
        values, names, *_ = parts_of(X)
        return values[:, FeatureIndex(list(names)).positions(self.selection_.features, "selection")]

    def redecide(self, *, X: Any = None, **changes: Any) -> UBayFSSelector:
        """Decide again from the same evidence; the ensemble does not run.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features), optional
            The data of the fit, which a fitted selector does not keep: needed by :func:`~ubayfs.decorrelate`,
            :func:`~ubayfs.max_per_cluster`, and for the redundancy in ``selection_.metrics``.
        **changes
            New values of `max_features` and of parameters that :func:`~ubayfs.decide` has, too. All others are those
            of the fit. The posterior is reused unless something changes that it depends on.

        Returns
        -------
        selector : UBayFSSelector
            A new fitted selector; this one stays as it is.
        """
        check_is_fitted(self, "evidence_")
        self._check_changes(changes)
        # Later set_params must not mix with results of the fit.
        copy: UBayFSSelector = clone(self).set_params(**{**self._fit_params, **changes})
        copy._fit_params = copy.get_params(deep=False)
        for learned in ("n_features_in_", "feature_names_in_", "evidence_", "related_", "_columns"):
            if hasattr(self, learned):
                setattr(copy, learned, getattr(self, learned))
        needed = set(Decision.names(in_posterior=True))
        if copy.trust_in_lists == LEARNED:  # depends on the size limit
            needed |= {"constraints", "max_features", "max_supported"}
        reused = getattr(self, "posterior_", None) if changes.keys().isdisjoint(needed) else None
        return copy._decide(self._data_of_fit(X), reused)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return what a notebook shows: the chosen features once there are any, above the diagram of scikit-learn."""
        shown: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in shown and hasattr(self, "selection_"):
            shown["text/html"] = f"{self.selection_._repr_html_()}<br>{shown['text/html']}"
        return shown

    @property
    def _repr_html_(self) -> Any:
        super()._repr_html_  # noqa: B018 - an AttributeError where scikit-learn is set to show text only
        return lambda: self._repr_mimebundle_()["text/html"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_target()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "selection_")

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return mask_of(self._columns[self.selection_.mask], self.n_features_in_)

    def _needs_target(self) -> bool:
        try:
            return any("unsupervised" not in selector.tasks for selector in as_selector(self.selector))
        except InputError:
            return False  # fit reports the selector; tags must not fail

    def _covariates(self) -> list[str] | None:
        names = [self.adjust_for] if isinstance(self.adjust_for, str) else self.adjust_for
        if names is None:
            return None
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            rule = f"must be names of columns of X; got {type(names).__name__}. collect_evidence takes values, too."
            raise InputError.of("adjust_for", rule, names)
        return list(names)

    def _decision(self, supported: int) -> dict[str, Any]:
        """Return the arguments of `decide`, the hard limit of `max_features` among the constraints."""
        if isinstance(self.constraints, Iterator):
            raise InputError.of("constraints", "is an iterator, which can be read only once; pass a list or a tuple.")
        most: Any = None if self.max_features is None else as_size("max_features", self.max_features, low=1)
        if most == SUPPORTED:
            most = min(supported, check_int("max_supported", self.max_supported, low=1))
        constraints = with_max_size(self.constraints, most)
        return {name: getattr(self, name) for name in Decision.names()} | {"constraints": constraints}

    def _decide(self, data: FeatureData | None, posterior: Posterior | None = None) -> UBayFSSelector:
        arguments = self._decision(self._supported(posterior))
        if posterior is not None:  # weights and prior are part of it
            arguments = {key: value for key, value in arguments.items() if key not in Decision.names(part="prior")}
        selection = decide(self.evidence_ if posterior is None else posterior, X=data, **arguments)
        self.posterior_ = selection.posterior
        if self.related_ is not None:
            self.related_ = self.related_.of(selection.features)
        # Whoever stores a fitted selector does not expect to store the training data with it.
        self.selection_ = replace(selection, problem=replace(selection.problem, X=None))  # type: ignore[type-var]
        return self

    def _supported(self, posterior: Posterior | None) -> int:
        """Return the number of features that the data support; 1 with a warning where that is none."""
        if self.max_features != SUPPORTED:
            return 1
        most = check_int("max_supported", self.max_supported, low=1)
        if self.related_ is None:
            rule = "needs p-values of all features, which this fit did not compute; use set_params and fit again."
            raise InputError.of("max_features", f"'supported' {rule}", self.max_features)
        if posterior is None:
            posterior = Decision(**self._decision(1)).posterior(self.evidence_)
        size, advice = supported_size(self.related_, posterior, most)
        for each in advice:
            each.warn()
        return size

    def _data_of_fit(self, X: Any) -> FeatureData | None:
        if X is None:
            return None
        data = FeatureData.from_fit(X, self.evidence_.feature_names, *self.evidence_.reading)
        n_samples = self.evidence_.settings["n_samples"]
        if data.n_samples != n_samples:
            raise InputError.of(
                "X", f"must be the data of the fit, which had {n_samples} samples; got {data.n_samples}."
            )
        return data

    def _check_changes(self, changes: dict[str, Any]) -> None:
        changeable = ("max_features", "max_supported", *Decision.names())
        for name in changes:
            parameter = name.partition("__")[0]
            if parameter in changeable:
                continue
            if parameter in self._fit_params:
                raise InputError(
                    f"redecide cannot change {name}: it belongs to the ensemble, whose evidence is used again. Use "
                    f"set_params({name}=...) and fit again.",
                    argument=name,
                )
            raise unknown_argument("redecide", name, ["X", *sorted(changeable)])


def _with_names(X: Any, data: FeatureData) -> Any:
    """Return what scikit-learn finds the names of the features in, if there are any."""
    if not is_anndata(X):
        return X if data.path is None else data.X
    from pandas import DataFrame

    return DataFrame(columns=data.feature_names)
