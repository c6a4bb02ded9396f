r"""The paper's formulas, callable: loss, risk and likelihood. For teaching and tests.

With importances :math:`\theta` that sum to 1, a set :math:`\delta` and its joint admissibility :math:`\kappa`:

.. math::

    L(\delta, \theta) = (1 - \delta)^T\theta + \lambda\,(1 - \kappa(\delta)), \qquad
    r(\delta) = E_\theta[L(\delta, \theta)], \qquad
    p(\Delta \mid \theta) = \prod_m f_{\mathrm{mult}}(\delta^{(m)}; \theta, l_m).

:func:`~ubayfs.decide` minimizes the risk. It maximizes :math:`\delta^T E[\theta] + \lambda\,\kappa(\delta)`, which is
:math:`1 + \lambda - r(\delta)`, and never returns a set that violates a hard constraint.

>>> from ubayfs import Evidence, decide
>>> from ubayfs.utility import risk
>>> selection = decide(Evidence.from_sets([[1, 1, 0], [1, 0, 0]]), max_size=1)
>>> bool(abs(risk(selection.mask, selection.posterior)[0] - (1 + 1 - selection.value)) < 1e-12)
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arguments import Floats, by_name, check_real
from .constraints.utility import as_marks, check_importance, log_admissibility
from .ensemble.evidence import Evidence
from .exceptions import InputError
from .priors.base import Posterior

__all__ = ["log_likelihood", "loss", "risk"]


@by_name()
def loss(
    sets: Any,
    theta: Any,
    *,
    constraints: Any = (),
    constraint_strength: float = 1.0,
    feature_names: Any = None,
    blocks: Any = None,
    X: Any = None,
) -> Floats:
    """Return the loss of sets: the importance of what they leave out, and what they lack in admissibility.

    Parameters
    ----------
    sets : array-like or sparse array of bool of shape (n_sets, n_features), or (n_features,) for one set
    theta : array-like of float of shape (n_features,)
        Importances, not negative.
    constraints : Constraint or iterable of Constraint
        With `rho`: a price needs votes. A set that violates a hard one has admissibility 0, and a finite loss.
    constraint_strength : float, default 1
        The paper's lambda.
    feature_names, blocks, X : optional
        As in :func:`~ubayfs.log_admissibility`.

    Returns
    -------
    loss : ndarray of float of shape (n_sets,)

    See Also
    --------
    risk : The expected loss.

    Examples
    --------
    >>> from ubayfs import max_size
    >>> loss([[1, 0, 0], [1, 1, 0]], [0.5, 0.3, 0.2], constraints=max_size(1, rho=1)).round(4)
    array([0.5   , 0.6621])
    """
    marks = as_marks("sets", sets)
    importance = _importances(theta, marks.shape[1])
    strength = check_real("constraint_strength", constraint_strength, low=0.0, low_open=True)
    log_kappa = log_admissibility(marks, constraints, feature_names=feature_names, blocks=blocks, X=X)
    return importance.sum() - marks @ importance - strength * np.expm1(log_kappa)


def risk(sets: Any, posterior: Posterior, **settings: Any) -> Floats:
    """Return the posterior expectation of the loss of sets. The loss is linear in theta, so that the mean is enough.

    Parameters
    ----------
    sets : array-like or sparse array of bool of shape (n_sets, n_features), or (n_features,) for one set
    posterior : Posterior
    **settings
        `constraints`, `constraint_strength`, `blocks` and `X`, as in :func:`loss`.

    Returns
    -------
    risk : ndarray of float of shape (n_sets,)

    See Also
    --------
    loss : For given importances.
    """
    if not isinstance(posterior, Posterior):
        raise InputError.of("posterior", f"must be a Posterior; got {type(posterior).__name__}. See loss.", posterior)
    return loss(sets, posterior.mean, feature_names=posterior.feature_names, **settings)


def log_likelihood(evidence: Evidence, theta: Any) -> float:
    r"""Return the logarithm of the multinomial likelihood of the sets of an ensemble.

    A set of l features has the probability :math:`l!\prod_n\theta_n^{\delta_n}`: it counts as l draws of a feature.

    Parameters
    ----------
    evidence : Evidence
    theta : array-like of float of shape (n_features,)
        Importances, not negative; they are divided by their sum.

    Returns
    -------
    log_likelihood : float
        -inf if a feature with a vote has importance 0.

    See Also
    --------
    ubayfs.Dirichlet : The prior that is conjugate to this likelihood.

    Examples
    --------
    >>> from ubayfs import Evidence
    >>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]])
    >>> float(np.exp(log_likelihood(evidence, [0.5, 0.3, 0.2])).round(6))  # (2 * 0.5 * 0.3) * 0.5
    0.15
    """
    from scipy.special import gammaln, xlogy

    if not isinstance(evidence, Evidence):
        raise InputError.of("evidence", f"must be Evidence; got {type(evidence).__name__}.", evidence)
    if evidence.votes is not None:
        raise InputError.of("evidence", "has votes only, as of several sites; the likelihood is that of the sets.")
    importance = _importances(theta, len(evidence.feature_names))
    if not importance.any():
        raise InputError.of("theta", "must have an entry above 0.", theta)
    sizes = np.asarray(evidence.sets.sum(axis=1)).ravel()
    shares = importance / importance.sum()
    return float(gammaln(sizes + 1.0).sum() + xlogy(evidence.counts, shares).sum())


def _importances(theta: Any, n_features: int) -> Floats:
    importance = check_importance(theta)
    if len(importance) != n_features:
        raise InputError.of("theta", f"must have {n_features} entries, one per feature; got {len(importance)}.", theta)
    return importance
