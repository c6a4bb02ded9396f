"""Cox's partial likelihood by lassos of weighted squares, for all runs at once.

With the cumulative hazard Lambda at a linear predictor eta, samples have the weights Lambda e^eta and the response
eta + (event - Lambda e^eta) / weight: the weighted residual of the response at eta is the martingale residual.
"""

from __future__ import annotations

import numpy as np

from .._arguments import Floats
from ..data.covariates import outside
from ..data.hazards import RiskSets
from ..data.target import Target
from ._lasso_columns import LassoColumns
from ._lasso_fits import LassoFits

N_STEPS = 4
LARGEST, SMALLEST_WEIGHT = 5.0, 1e-3  # of linear predictors, and of weights


class CoxSteps:
    """The lassos of runs, one each, with the weights of samples that belong to their present fits."""

    n_more = N_STEPS - 1

    def __init__(self, columns: LassoColumns, target: Target) -> None:
        self._columns, self._risk_sets = columns, RiskSets.from_times(target.time, target.event)
        self._response = np.zeros(columns.subsamples.shape)
        self._root = np.ones(columns.subsamples.shape)
        n_models = len(columns.subsamples)
        self.fits = LassoFits(columns, np.zeros(columns.subsamples.shape), np.arange(n_models))
        self.reweight()

    def reweight(self) -> None:
        """Take weights and responses at the present fits."""
        members = self._columns.subsamples
        eta = np.where(members, self._response - self.fits.residuals() / self._root, 0.0)
        # A constant changes nothing in the partial likelihood.
        eta = np.where(members, eta - eta.sum(axis=1, keepdims=True) / self._columns.sizes[:, None], 0.0)
        eta = np.clip(eta, -LARGEST, LARGEST)
        e = members * np.exp(eta)
        expected = e * self._risk_sets.cumulative_hazard(e)
        weights = np.maximum(expected, SMALLEST_WEIGHT)
        self._response = members * (eta + (self._risk_sets.event - expected) / weights)
        self._root = np.sqrt(weights)
        targets, bases = np.zeros(members.shape), list[Floats]()
        for target, rows, basis, response, root in zip(
            targets, members, self._columns.bases, self._response, self._root, strict=True
        ):
            bases.append(np.linalg.qr(basis * root[rows, None])[0])
            target[rows] = outside(bases[-1], (root * response)[rows, None])[:, 0]
        self.fits.reweight(targets, members * self._root, bases)
