"""Correlation with martingale residuals: a filter for survival."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from .._arguments import Array, Floats, Generators, Ints
from ..data.categories import CategoryTable
from ..data.target import Target
from ._directions import correlation_with, residual_directions
from .adjusted import JointSelector, Residuals, categories_beyond, share_beyond
from .categories import associations
from .scoring import Runs, best_of_each_run


@dataclass(frozen=True)
class Cox(JointSelector):
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
    is not the fit of a Cox model per feature; the order is close to that, and all runs take one product. A category of
    three or more levels without order has the score of a number with the same p-value.
    """

    name: ClassVar[str] = "cox"
    tasks: ClassVar[frozenset[str]] = frozenset({"survival"})
    usual_name: ClassVar[str] = "martingale correlation"
    finds: ClassVar[str] = "Features whose higher or lower values go with earlier events; fast."
    reference: ClassVar[tuple[str, str]] = (
        "Cox, 1972",
        "Cox, D. R. (1972). Regression models and life-tables. Journal of the Royal Statistical Society, Series B, "
        "34(2), 187-220. https://doi.org/10.1111/j.2517-6161.1972.tb00899.x",
    )

    def _choose(self, X: Array, target: Target, runs: Runs, n_features: int, rngs: Generators) -> list[Ints]:
        """Choose features by correlation, from three matrix products for all runs."""
        if isinstance(runs, Residuals):
            statistic, category_scores = share_beyond(runs, target), partial(categories_beyond, runs, target)
            return best_of_each_run(statistic, X, runs.subsamples, n_features, category_scores)
        directions = residual_directions(target, runs.subsamples)

        def associated(X: CategoryTable) -> Floats:
            return associations(X, X.several, runs.subsamples, directions[None])[0]

        return best_of_each_run(
            correlation_with(directions, runs.subsamples), X, runs.subsamples, n_features, associated
        )
