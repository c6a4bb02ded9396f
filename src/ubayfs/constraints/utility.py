r"""Admissibility and utility of feature sets: the only place where the formula and the tolerances stand.

A set is a bool vector :math:`\delta`; :math:`z` is :math:`\delta` followed by one indicator per block, which is
true when any member of the block is selected. Row k of a :class:`~ubayfs.constraints.system.ConstraintSystem` asks for
:math:`a_k^T z \le b_k`. With the violation :math:`v = a_k^T z - b_k > 0` and :math:`\xi = e^{-\rho_k v}` its
admissibility is :math:`2\xi / (1 + \xi)`, which is 0 for :math:`\rho_k = \infty`; it is 1 when the inequality holds.
:math:`\kappa` is the product over the inequalities, and the utility of a set is

.. math:: \theta^T\delta + \lambda\,\kappa(\delta).

Hard means hard: a set that violates one with infinite rho has utility minus infinity here. (By the formula alone it
would keep :math:`\theta^T\delta`, and for :math:`\lambda < 1` selecting everything could win.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._arguments import Floats, Ints, Mask, as_array, by_name, check_feature_names, check_not_complex
from ..exceptions import ConstraintError, InputError
from .system import ConstraintSystem, once_per_system, resolve

# Results closer than this, relative to their size, are equal: the rounding error of a sum is orders of magnitude
# smaller, and no difference that matters is as small. An inequality is violated when a^T z exceeds b by more than this
# part of |b|, so 0.1 + 0.2 <= 0.3 holds whatever other features cost; for scores see `score_tolerance`.
RELATIVE_TOLERANCE = 1e-9

# What rounding alone may change, relative to the size of a result: the error of adding thousands of 64-bit numbers. It
# decides whether a computation came out unchanged, RELATIVE_TOLERANCE whether two results count as equal.
ROUNDING = 1e-12

# Simulated importances differ when they are apart by more than this many standard errors of their difference: by chance
# alone that happens in one of 370 comparisons.
STANDARD_ERRORS = 3.0

# rho * violation beyond this is as good as infinite; the cap keeps sums finite, so -inf means a hard row.
_LARGEST_EXPONENT = 1e300


def score_tolerance(score: float) -> float:
    """Return the difference up to which two sets are equally good, and a gap is closed: 1e-9, relative above one.

    Scores are of the order of one (lambda is added to importances that sum to one in a posterior): smaller ones need
    no smaller tolerance. -inf, the score of a set that violates a hard inequality, has the tolerance of zero.

    Examples
    --------
    >>> score_tolerance(0.2), score_tolerance(64.0)
    (1e-09, 6.4e-08)
    """
    return RELATIVE_TOLERANCE * max(1.0, abs(score)) if np.isfinite(score) else RELATIVE_TOLERANCE


def log_row_admissibility(violation: Any, rho: Any) -> Floats:
    """Return log(2 xi / (1 + xi)), xi = exp(-rho * violation), elementwise; 0 where the violation is not positive.

    `rho` is positive and broadcast against `violation`; inf gives -inf where it is violated.

    Examples
    --------
    >>> float(np.exp(log_row_admissibility(2.0, 0.1)).round(6))
    0.900332
    """
    excess = np.maximum(np.asarray(violation, dtype=np.float64), 0.0)
    rho = np.asarray(rho, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = np.where(np.isinf(rho), np.inf, np.minimum(rho * excess, _LARGEST_EXPONENT))
        # log 2 - log(1 + e^z): continuous at z = 0, where a row that just holds costs nothing.
        return np.where(excess > 0.0, np.log(2.0) - np.logaddexp(0.0, exponent), 0.0)


def relaxation_of_cost(cost: Any, strength: float) -> Floats:
    """Return rho at which one unit of violation of one inequality costs this much of the score; inf (hard) from lambda.

    One violated inequality costs lambda (1 - 2 xi / (1 + xi)) = lambda tanh(rho violation / 2).

    Examples
    --------
    >>> rho = relaxation_of_cost([0.1, 1.0], strength=1.0)
    >>> rho, (1.0 - np.exp(log_row_admissibility(1.0, rho))).round(12)
    (array([0.2006707,       inf]), array([0.1, 1. ]))
    """
    share = np.minimum(np.asarray(cost, dtype=np.float64) / strength, 1.0)
    with np.errstate(divide="ignore"):
        # log((lambda + c) / (lambda - c)); a cost that is lost to rounding still has an inequality.
        return np.maximum(2.0 * np.arctanh(share), np.finfo(np.float64).tiny)


def priced(system: ConstraintSystem, n_models: int, total: float, strength: float) -> ConstraintSystem:
    """Return a system in which prices are relaxations: a unit of violation costs `price * n_models` votes.

    One vote is an importance of 1 / `total`, of the sum of all weights and votes. A system that was priced for another
    ensemble is priced anew.
    """
    rho = system.rho.copy()
    for part in system.parts:
        price = None if part.constraint is None else part.constraint.price
        if price is None:
            continue
        rows, shares = system.rows_of(part), np.asarray(price)
        if isinstance(price, tuple):
            shares = shares[system.number[rows]]
        with np.errstate(over="ignore"):
            rho[rows] = relaxation_of_cost(shares * n_models / total, strength)
    return system if np.array_equal(rho, system.rho) else replace(system, rho=rho)


@once_per_system
def _refuse_prices(system: ConstraintSystem) -> None:
    """Raise if there are prices that no votes have made a relaxation of."""
    unknown = np.flatnonzero(np.isnan(system.rho))
    if len(unknown):
        rule = "is a share of the votes of an ensemble, and there are no votes here; give rho= instead."
        error = ConstraintError(f"{system.label(int(unknown[0]))}: price {rule}", argument="price", rule=rule)
        error.position = system.position(int(unknown[0]))
        raise error


def as_sparse_sets(sets: Any) -> sparse.csr_array:
    """Return a batch of sets as a csr_array of float (0/1) of shape (n_sets, n_features)."""
    if sparse.issparse(sets):
        ready = isinstance(sets, sparse.csr_array) and sets.dtype == np.float64
        return sets if ready else sparse.csr_array(sets, dtype=np.float64)
    matrix = np.atleast_2d(as_array("sets", sets, "must be rows of True/False or 0/1"))
    if matrix.ndim > 2:
        raise InputError.of("sets", f"must have shape (n_sets, n_features); got {matrix.shape}.", sets)
    if matrix.dtype != bool:
        return sparse.csr_array(as_array("sets", matrix, "must hold True/False or 0/1", np.float64))
    # Ten times as fast as scipy's conversion: a vector of bools is looked through eight at a time.
    row, column = np.divmod(np.flatnonzero(matrix), max(matrix.shape[1], 1))
    starts = np.searchsorted(row, np.arange(len(matrix) + 1))
    return sparse.csr_array((np.ones(len(column)), column, starts), shape=matrix.shape)


def as_marks(name: str, sets: Any) -> sparse.csr_array:
    """Return sets as :func:`as_sparse_sets` does, or raise if anything but 0/1 is in them."""
    check_not_complex(name, sets.data if sparse.issparse(sets) else sets)
    marks = as_sparse_sets(sets)
    other = marks.data[~np.isin(marks.data, (0.0, 1.0))]
    if len(other):
        rule = "must hold only True/False or 0/1, one row per set (n_sets, n_features)"
        raise InputError.of(name, f"{rule}; got {other[0]:g}.", sets)
    return marks


@once_per_system
def _tolerance(system: ConstraintSystem) -> Floats:
    return RELATIVE_TOLERANCE * np.abs(system.b)


@once_per_system
def _columns(system: ConstraintSystem) -> sparse.csr_array:
    return sparse.csr_array(system.A.T)


@once_per_system
def _block_columns(system: ConstraintSystem) -> sparse.csr_array:
    return sparse.csr_array(system.blocks.T, dtype=np.float64)


class _SpecialRows(NamedTuple):
    """Rows that every set is checked for: those that the empty set violates, and those whose terms may cancel.

    Terms of both signs cancel where not all of them are whole: 0.1 + 0.2 - 0.3 <= 0, and 1e15 - 1e15 + 1.5 > 1. Whole
    parts have no rounding error, and fractions are small, so that they are added apart. What remains is half a unit in
    the last place of each term and, for k fractions, k times the precision. Without cancellation |b| has the size of
    the terms at the bound.
    """

    rows: Ints
    whole: sparse.csr_array  # whole parts by columns, (n_features + n_blocks, n_rows)
    fraction: sparse.csr_array
    error: sparse.csr_array  # what each term may add to the rounding error of a sum


@once_per_system
def _special_rows(system: ConstraintSystem) -> _SpecialRows:
    A, n_rows = system.A, system.n_inequalities
    row = np.repeat(np.arange(n_rows), np.diff(A.indptr))
    kinds = (A.data > 0, A.data < 0, A.data != np.round(A.data))
    cancels = np.logical_and.reduce([np.bincount(row[kind], minlength=n_rows) > 0 for kind in kinds])
    rows = np.flatnonzero(cancels | (system.b < -_tolerance(system)))
    columns = sparse.csr_array(A[rows].T)
    whole, error = columns.copy(), columns.copy()
    whole.data = np.round(columns.data)
    fraction = columns.data - whole.data
    adding = np.finfo(np.float64).eps * np.diff(A.indptr)[rows][columns.indices] * np.abs(fraction)
    last = np.where(fraction == 0, 0.0, np.spacing(np.abs(columns.data)) / 2)
    error.data = cancels[rows][columns.indices] * (last + adding)
    return _SpecialRows(rows, whole, sparse.csr_array(columns - whole), error)


@dataclass(frozen=True, eq=False)
class Admissibility:
    """Evaluates the inequalities of a constraint system on batches of sets.

    Every method takes `sets`, an array-like or sparse array of bool of shape (n_sets, n_features).
    """

    system: ConstraintSystem

    @property
    def tolerance(self) -> Floats:
        """Excess up to which each inequality still holds, of shape (n_inequalities,)."""
        return _tolerance(self.system)

    def indicators(self, sets: Any) -> sparse.csr_array:
        """Return z of each set: features, then blocks, of shape (n_sets, n_features + n_blocks)."""
        chosen = as_sparse_sets(sets)
        if self.system.n_blocks == 0:
            return chosen
        touched = chosen @ _block_columns(self.system)
        touched.data = (touched.data > 0.0).astype(np.float64)
        return sparse.hstack([chosen, touched], format="csr")

    def excess(self, products: Floats, rows: Any) -> Floats:
        """Return by how much products a^T z exceed the bounds of `rows`; 0 where these hold."""
        excess = products - self.system.b[rows]
        return np.where(excess > self.tolerance[rows], excess, 0.0)

    def violations(self, sets: Any) -> Floats:
        """Return by how much each set exceeds each bound, of shape (n_sets, n_inequalities); 0 where it holds."""
        z = self.indicators(sets)
        violations = self.excess((z @ _columns(self.system)).toarray(), slice(None))
        violations[:, _special_rows(self.system).rows] = self._special_violations(z)
        return violations

    def _special_violations(self, z: sparse.csr_array) -> Floats:
        rows, whole, fraction, error = _special_rows(self.system)
        b, bound = self.system.b[rows], np.round(self.system.b[rows])
        # Whole parts and fractions of a^T z - b apart: the former are exact, and may cancel.
        excess = (z @ whole).toarray() - bound + ((z @ fraction).toarray() - (b - bound))
        return np.where(excess > self.tolerance[rows] + (z @ error).toarray(), excess, 0.0)

    def log_admissibility(self, sets: Any) -> Floats:
        """Return log kappa of each set, of shape (n_sets,); -inf exactly when a hard inequality is violated.

        Looks only at inequalities that a set touches and at the few that every set is checked for: with a million
        pairs a small set costs no more than the pairs of its members.
        """
        z = self.indicators(sets)
        products = z @ _columns(self.system)
        n_sets, rows, rho = products.shape[0], products.indices, self.system.rho
        cost = log_row_admissibility(self.excess(products.data, rows), rho[rows])
        total, always = np.zeros(n_sets), _special_rows(self.system).rows
        if len(always):
            cost[np.isin(rows, always)] = 0.0
            total = log_row_admissibility(self._special_violations(z), rho[always]).sum(axis=1)
        owner = np.repeat(np.arange(n_sets), np.diff(products.indptr))
        return total + np.bincount(owner, weights=cost, minlength=n_sets)


@dataclass(frozen=True, eq=False)
class Utility:
    """What is maximized: importance of the selected features plus weighted admissibility."""

    theta: Floats  # importance of each feature, not negative, (n_features,)
    system: ConstraintSystem
    constraint_strength: float  # the paper's lambda, positive
    selectable: Mask  # features that a set may contain at all, (n_features,)
    excluded_by: tuple[str, ...] = ()  # why not the others, for messages: "constant", and arguments such as "min_votes"

    def __post_init__(self) -> None:
        _refuse_prices(self.system)

    @cached_property
    def admissibility(self) -> Admissibility:
        """Evaluator of the inequalities."""
        return Admissibility(self.system)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.theta)

    def __call__(self, sets: Any) -> Floats:
        """Return the utility of each set, of shape (n_sets,); -inf when a hard inequality is violated."""
        sets = as_sparse_sets(sets)
        return self.combine(sets @ self.theta, self.admissibility.log_admissibility(sets))

    def combine(self, importance: Any, log_kappa: Any) -> Floats:
        """Return importance + lambda * exp(log_kappa), or -inf where log_kappa is."""
        return np.where(np.isneginf(log_kappa), -np.inf, importance + self.constraint_strength * np.exp(log_kappa))


@by_name()
def log_admissibility(
    sets: Any, constraints: Any, *, feature_names: Any = None, blocks: Any = None, X: Any = None
) -> Floats:
    """Return the log admissibility (log kappa) of any sets.

    Parameters
    ----------
    sets : array-like or sparse array of bool of shape (n_sets, n_features), or (n_features,) for one set
    constraints : Constraint or iterable of Constraint
        With `rho`: a price needs votes.
    feature_names : array-like of str of shape (n_features,), optional
    blocks : mapping, DataFrame or Blocks, optional
    X : array-like of shape (n_samples, n_features), optional

    Returns
    -------
    log_kappa : ndarray of float of shape (n_sets,)
        0 when all constraints hold, -inf when a hard one is violated.

    See Also
    --------
    maximize : The set of highest score.

    References
    ----------
    Jenul, A., Schrunner, S., Pilz, J., Tomic, O. (2022). A user-guided Bayesian framework for ensemble feature
    selection in life science applications (UBayFS). Machine Learning, 111, 3897-3923.

    Examples
    --------
    >>> from ubayfs import log_admissibility, max_size
    >>> log_admissibility([[True, False], [True, True]], max_size(1, rho=0.5)).round(4)
    array([ 0.    , -0.2809])
    """
    matrix = as_marks("sets", sets)
    names = check_feature_names(feature_names, matrix.shape[1])
    system = resolve(constraints, names, blocks, X)
    _refuse_prices(system)
    return Admissibility(system).log_admissibility(matrix)


def check_importance(theta: Any) -> Floats:
    """Return importances as a vector of finite numbers >= 0 with a finite sum, or raise."""
    try:
        check_not_complex("theta", theta)
        importance = np.array(theta, dtype=np.float64)
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError.of("theta", f"must be a vector of numbers, one per feature; {error}.", theta) from error
    if importance.ndim != 1 or len(importance) == 0:
        raise InputError.of(
            "theta", f"must be a vector with one entry per feature; got shape {importance.shape}.", theta
        )
    wrong = np.flatnonzero(~np.isfinite(importance) | (importance < 0))
    if len(wrong):
        raise InputError.of(
            "theta",
            f"must hold finite numbers >= 0; entry {wrong[0]} is {importance[wrong[0]]:g}. Shift or clip importances "
            "that may be negative.",
            theta,
        )
    if importance.max() > np.finfo(np.float64).max / len(importance):
        raise InputError.of("theta", "must have a finite sum; divide it by its largest entry first.", theta)
    return importance
