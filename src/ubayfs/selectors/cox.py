"""Correlation with martingale residuals: a filter for survival."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .._arguments import Array, Floats, Generators, Ints, Mask
from ..data.target import Target
from ._directions import correlation_with, residual_directions
from .adjusted import Residuals, share_beyond
from .base import ElementarySelector
from .scoring import best_of_each_run


@dataclass(frozen=True)
class Cox(ElementarySelector):
    """Choose the features of highest absolute correlation with the martingale residuals of the survival times.

    Notes
    -----
    The residual of a sample is 1 for an event, 0 if censored, minus the cumulative hazard at its time (Nelson and
    Aalen's estimate from the samples of the run): how many events it had more than expected by then (Therneau et al.
    1990). Their product with a feature is the score of Cox's model at a coefficient of 0; here it is divided by the
    spread of the feature among all samples of the run, not by its information: the test statistic itself favors
    features that are 0 in all but a few samples.

    A feature with missing values is compared on the samples that have it, and the squared correlation counts by their
    share. With covariates the residuals are those of Cox's model of these, and both sides are what covariates leave. It
    is not the fit of a Cox model per feature; the order is close to that, and all runs take one product.
    """

    name: ClassVar[str] = "cox"
    tasks: ClassVar[frozenset[str]] = frozenset({"survival"})
    joint: ClassVar[bool] = True
    nested: ClassVar[bool] = True
    takes_gaps: ClassVar[bool] = True
    adjusts: ClassVar[bool] = True

    def select_many(self, X: Array, target: Target, subsamples: Mask, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose features on all subsamples at once, from three matrix products."""
        statistic = correlation_with(residual_directions(target, subsamples), subsamples)
        return best_of_each_run(statistic, X, subsamples, n_features)

    def select_adjusted(
        self, X: Array, target: Target, design: Floats, subsamples: Mask, n_features: int, rngs: Generators
    ) -> list[Ints]:
        """Choose features by their correlation, beyond covariates, with the residuals of Cox's model of these."""
        return best_of_each_run(share_beyond(Residuals(design, subsamples), target), X, subsamples, n_features)
