"""Upper bounds on the relevance and on the norm of all features in many runs, without any kernel.

The relevance of a feature in a run is <K, B> / |HKH|: K is the Gaussian kernel matrix of its standardized values, B the
centered and normalized one of the target, H = I - 11^T/n. K depends on the run by the deviation s alone that the
feature has there: K_ik = g(x_i - x_k) with g(d) = exp(-d^2 / 2s^2). With period P and step h = 2 pi / P,

    g(d) ~ sum_{|q| <= Q} c_q e^{iqhd},   c_q = h s / sqrt(2 pi) exp(-(qhs)^2 / 2),

so all runs share the waves e^{iqhx} of a feature, and only the amplitudes c_q are their own. With the sums
S_q(v) = sum_i v_i e^{iqhx_i} over the rows of a run, which are matrix products for all runs,

- <K, B> = sum_q c_q sum_r |S_q(f_r)|^2 for B = sum_r f_r f_r^T;
- 1^T K 1 = sum_q c_q |S_q(1)|^2;
- |K|^2 = sum_ik g(x_i - x_k)^2 is the same with the amplitudes of s / sqrt(2), for g^2 is a Gaussian again;
- (K1)_i = sum_q c_q conj(S_q(1)) e^{iqhx_i}, and |HKH|^2 = |K|^2 - 2 |K1|^2 / n + (1^T K 1)^2 / n^2.

A feature costs n_samples * Q for all runs together instead of n_samples^2 for each, and Q is about 15.

How far off the result can be:

1. The series. The sum over all q is, by Poisson's formula, sum_m g(d + mP). If all values lie within a range L and
   P >= L + 5s, the terms m != 0 are at most 2 exp(-25/2) < 7.5e-6 together (the others are smaller by far), and if
   Q h s >= 5 the amplitudes beyond Q are at most 2 (1 - Phi(5)) < 6e-7 together. Both hold for s / sqrt(2) as well if
   Q h s >= 5 sqrt(2). So each entry of K and of its square is off by less than _SERIES.
2. Rounding, with unit u (2^-24 in single precision). A phase q h x, rounded thrice, is off by 3u |q h x|, its cosine
   and sine by 4 units in the last place more: each wave by w = u (3 max |q h x| + 8) sqrt(2). A sum S_q(v) over n rows
   is off by (w + (n + 2) u) |v|_1, to first order, and so each c_q |S_q(v)|^2 by twice that times c_q |v|_1 (+ 8u for
   the amplitude and the square); the amplitudes add up to 1, and adding the 2Q + 1 terms is off by (2Q + 1) u.
3. Together, with e = _SERIES + 2w + 2 (n + 2Q + 16) u: <K, B> is off by e sum_r |f_r|_1^2, 1^T K 1 and |K|^2 by e n^2,
   each entry of K1 by e n, and adding their squares by n^3 n u more, so |HKH|^2 by at most (1 + 4 + 2 + 1) e n^2 plus
   3 (e n)^2. That is less than 10 e n^2 unless e >= 2/3, and then the bound is 1, since |HKH|^2 <= n^2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._arguments import Array, Floats, Mask
from .scoring import blocks_of

_SERIES = 1e-5
_REACH = 5.0
# Deviations smaller than this share of the range of all rows would need too many waves (more than 250): no bound.
_NARROWEST = 1 / 64
# Ranges below this are no place for exact differences.
_SMALLEST_RANGE = 1e-280
# What is left of the target's kernel when its factor is long enough.
_REMAINDER = 1e-6
# Entries of the largest arrays of one block of features.
_BLOCK_ENTRIES = 1 << 19
# With more rows than this, rounding in single precision would exceed the error of the series.
_SINGLE_ROWS = 512


def kernel_factor(B: Floats) -> tuple[Floats, float]:
    """Return vectors whose outer products nearly add up to a positive semidefinite matrix, by pivoted Cholesky.

    They have shape (n_vectors, n); with them comes the trace of the positive semidefinite rest, B - factor^T factor.
    """
    diagonal = np.diag(B).copy()
    factor = np.empty((0, len(B)))
    while diagonal.sum() > _REMAINDER and len(factor) < len(B):
        pivot = int(np.argmax(diagonal))
        vector = (B[pivot] - factor[:, pivot] @ factor) / np.sqrt(diagonal[pivot])
        factor = np.vstack([factor, vector])
        diagonal = np.maximum(diagonal - vector**2, 0.0)
    return factor, float(diagonal.sum())


class KernelBounds:
    """Bounds for the kernels of all features in all runs of a batch.

    `factors` are those of the target's kernel on the rows of each run, as :func:`kernel_factor` gives them.
    """

    def __init__(self, subsamples: Mask, factors: Sequence[tuple[Floats, float]]) -> None:
        n_models, n_samples = subsamples.shape
        self._rows = subsamples.astype(np.float64)
        self._sizes = self._rows.sum(axis=1)
        self._rank = max(len(factor) for factor, _ in factors)
        vectors = np.zeros((n_models, self._rank, n_samples))
        for run, (rows, (factor, _)) in enumerate(zip(subsamples, factors, strict=True)):
            vectors[run, : len(factor), rows] = factor.T
        self._lengths = (np.abs(vectors).sum(axis=2) ** 2).sum(axis=1)
        self._remainders = np.array([remainder for _, remainder in factors])
        self._dtype: np.dtype[np.floating] = np.dtype(np.float32 if n_samples <= _SINGLE_ROWS else np.float64)
        self._members = subsamples.astype(self._dtype)
        # One matrix for all sums: of the rows of each run, then of its vectors.
        self._sums = np.concatenate([self._members, vectors.reshape(-1, n_samples).astype(self._dtype)]).T

    def bound(self, X: Array) -> NDArray[np.float32]:
        """Return numbers, of shape (2, n_models, n_features), that no relevance and no |HKH| exceeds."""
        bounds = np.empty((2, len(self._sizes), X.shape[1]), dtype=np.float32)
        for part in blocks_of(*X.shape):
            self._bound(X[:, part], bounds[:, :, part])
        return bounds

    def _bound(self, X: Array, bounds: NDArray[np.float32]) -> None:
        """Bound the features of a part of the table, those with similar numbers of waves together."""
        bounds[0], bounds[1] = 1.0, self._sizes[:, None]  # no kernel exceeds these
        low, high = (extreme(X, axis=0).astype(np.float64) for extreme in (np.min, np.max))
        with np.errstate(over="ignore"):
            wide = np.flatnonzero((high - low > _SMALLEST_RANGE) & np.isfinite(high - low))
        low, high = low[wide], high[wide]
        x = ((X[:, wide] - (low + (high - low) / 2)) / (high - low)).T  # values from -1/2 to 1/2
        deviations = self._deviations(x)
        usable = deviations >= _NARROWEST
        periods = 1 + _REACH * deviations.max(axis=1, initial=0.0)
        narrowest = np.where(usable, deviations, np.inf).min(axis=1, initial=np.inf)
        n_waves = np.ceil(np.sqrt(2) * _REACH * periods / (2 * np.pi * narrowest)).astype(np.intp)
        order = np.argsort(n_waves, kind="stable")
        order = order[n_waves[order] > 0]  # without one usable run the narrowest is infinite
        while len(order):
            size = max(1, _BLOCK_ENTRIES // (2 * int(n_waves[order[0]]) * sum(self._sums.shape)))
            size = min(size, int(np.count_nonzero(n_waves[order] <= 1.25 * n_waves[order[0]])))
            block, order = order[:size], order[size:]
            better_bounds = self._block_bounds(
                x[block], deviations[block], 2 * np.pi / periods[block], int(n_waves[block[-1]])
            )
            for bound, better in zip(bounds, better_bounds, strict=True):
                bound[:, wide[block]] = np.where(usable[block].T, better.T, bound[:, wide[block]])

    def _deviations(self, x: Floats) -> Floats:
        """Return the standard deviation of each feature in each run, of shape (n_features, n_models)."""
        means = x @ self._rows.T / self._sizes
        return np.sqrt(np.maximum(x**2 @ self._rows.T / self._sizes - means**2, 0.0))

    def _block_bounds(self, x: Floats, deviations: Floats, steps: Floats, n_waves: int) -> tuple[Floats, Floats]:
        """Return both bounds, of shape (k, n_models), for features of shape (k, n_samples)."""
        relevance, squares = self._by_waves(x, deviations, steps, n_waves)
        phases = steps[:, None] * n_waves / 2  # the largest ones
        unit = np.finfo(self._dtype).eps / 2
        error = _SERIES + unit * (2 * np.sqrt(2) * (3 * phases + 8) + 2 * (self._sizes + 2 * n_waves + 16))
        margin = 10 * error * self._sizes**2
        # No relevance is negative.
        relevance = np.maximum(relevance, 0.0) + error * self._lengths
        relevance /= np.sqrt(np.maximum(squares - margin, np.finfo(float).tiny))
        relevance += self._remainders + _REMAINDER  # more than what single precision takes off
        norms = np.sqrt(np.maximum(squares + margin, 0.0)) * (1 + _REMAINDER)
        return np.minimum(relevance, 1.0), np.minimum(norms, self._sizes)

    def _by_waves(self, x: Floats, deviations: Floats, steps: Floats, n_waves: int) -> tuple[Floats, Floats]:
        """Return <K, B> and |HKH|^2 by waves 1, ..., `n_waves`, both of shape (k, n_models)."""
        k, n_models = deviations.shape
        waves = _waves((x * steps[:, None]).astype(self._dtype), n_waves)
        sums = (waves.reshape(-1, waves.shape[-1]) @ self._sums).reshape(k, 2, n_waves, -1)
        powers = np.square(sums).sum(axis=1)
        from_rows = powers[:, :, :n_models]
        from_vectors = powers[:, :, n_models:].reshape(k, n_waves, n_models, self._rank).sum(axis=3)
        widths = deviations * steps[:, None]
        amplitudes = _amplitudes(widths, n_waves).astype(self._dtype)
        constant = widths / np.sqrt(2 * np.pi) * self._sizes  # what wave 0 adds to each row sum
        # The formulas of the module, wave 0 apart: f_r has sum 0, so that it adds nothing to <K, B>.
        relevance = np.einsum("kqm,kqm->km", amplitudes, from_vectors)
        total = constant * self._sizes + np.einsum("kqm,kqm->km", amplitudes, from_rows)
        squares = constant * self._sizes / np.sqrt(2)
        squares += np.einsum("kqm,kqm->km", _amplitudes(widths / np.sqrt(2), n_waves).astype(self._dtype), from_rows)
        row_sums = (amplitudes[:, None] * sums[..., :n_models]).reshape(k, 2 * n_waves, n_models).transpose(0, 2, 1)
        row_sums = row_sums @ waves.reshape(k, 2 * n_waves, -1) + constant.astype(self._dtype)[:, :, None]
        row_sums *= row_sums
        squares += (total / self._sizes) ** 2 - 2 / self._sizes * np.einsum("kmi,mi->km", row_sums, self._members)
        return relevance.astype(np.float64), squares


def _waves(phases: Array, n_waves: int) -> Array:
    """Return cosines and sines of the multiples of phases, of shape (k, 2, n_waves, n_samples)."""
    k, n_samples = phases.shape
    waves = np.empty((k, 2, n_waves, n_samples), dtype=phases.dtype)
    multiples = phases[:, None, :] * np.arange(1, n_waves + 1, dtype=phases.dtype)[:, None]
    np.cos(multiples, out=waves[:, 0])
    np.sin(multiples, out=waves[:, 1])
    return waves


def _amplitudes(widths: Floats, n_waves: int) -> Floats:
    """Return what waves 1, ..., `n_waves` and their conjugates have together, of shape (k, n_waves, n_models)."""
    multiples = np.arange(1, n_waves + 1)[:, None] * widths[:, None, :]
    amplitudes: Floats = 2 / np.sqrt(2 * np.pi) * widths[:, None, :] * np.exp(-0.5 * multiples**2)
    return amplitudes
