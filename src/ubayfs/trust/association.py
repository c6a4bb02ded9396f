r"""Association: which features are related to the target, each by itself.

Votes do not say it: they are zero-sum, and on pure noise as concentrated as on signal. So each feature is tested by
itself, by a rank statistic, and shuffles of the target show how small p-values become by chance.

1. Target scores U: one column for two classes (an indicator), for ordered classes and numbers (ranks) and for survival
   (event less the Nelson-Aalen estimate); one indicator for each of more classes, and for each label.
2. Feature scores x: midranks. With covariates Z the residuals of the feature are ranked, and the ranks are residualized
   again; shuffles permute the residuals of U, from which Z is then removed again (Freedman and Lane). Z also has what
   covariates predict of the target beyond a straight line (logistic probabilities of classes and labels, ranks of the
   linear fit of others): this removes confounding of features that are not linear in covariates, as categories are.
3. Groups: where the target is constant in each group, ranks and U are averaged, and the group is the sample. Otherwise
   both are centered within groups, and shuffled within them.
4. :math:`T = |U^T x|^2`, with U orthonormal and x of length one, has without any relation nearly a Beta distribution
   of d/2 and (nu - d)/2. Here d is the rank of U, and nu the number of samples less the rank of constant, Z and groups.
   The same with the square of x, orthogonal to x, finds U-shapes: :math:`p = \min(p_{mono}, 9 p_U, 1)`. For more
   classes :math:`p_{mono}` is the smaller one of all classes together (Kruskal and Wallis) and C times the best class
   against the rest; for labels the best label times their number.
5. Gaps: over the samples that are present, with the scatter of U over these. A category of three or more levels: the
   share of U between its levels. Neither is tested for U-shapes, nor are averages of groups of different sizes: those
   of small groups scatter more, which would pass for a U-shape.
6. Features and target may scatter most in the same samples, those where covariates leave most of both open. Then
   :math:`U^T x` varies more than in shuffles, by a factor of about :math:`f = n \sum_i g_i h_i` with the shares
   :math:`g_i` and :math:`h_i` of sample i in the squared lengths of U and x (of several columns: in their leverages).
   So with covariates T is divided by max(1, f), in the data and in each shuffle (after DiCiccio and Romano). Removing
   covariates twice makes shuffled scores of classes less even, and their own f larger than that of the data: with 14
   samples .13 of noise data were wrong. So in shuffles g is that of the data, per share that covariates leave open.

What follows from these p-values for a set is in :mod:`ubayfs.trust.related`.

References
----------
Freedman and Lane, "A nonstochastic interpretation of reported significance levels", Journal of Business & Economic
Statistics 1 (1983); DiCiccio and Romano, "Robust permutation tests for correlation and regression coefficients",
Journal of the American Statistical Association 112 (2017).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._arguments import Array, Floats, Ints, Mask
from ..data.categories import indicators
from ..data.covariates import basis_of, outside
from ..data.feature_data import FeatureData
from ..data.matrix import feature_chunks
from ..data.ranks import centered_ranks, target_columns
from ..data.target import CLASSIFICATION, Target

# What a U-shape must be the more significant by, so that looking for it costs the others little.
_U_SHAPE = 9.0
_CLEAR = 0.05  # largest p-value of a U-shape that is named
# A feature with fewer values, of those present, is not tested.
_FEWEST_PRESENT = 4
# Entries of a block of statistics: shuffles x scores x columns.
_BLOCK = 1 << 24
# Of these, entries that are worked on at a time, so that they stay in the cache.
_CACHE_ENTRIES = 1 << 18
# Columns and scores whose length falls below this share are constant up to rounding.
_NOTHING = 1e-9


class TargetScores(NamedTuple):
    """What features are compared with: columns of the target, and how they are tested."""

    columns: Floats  # (n_samples, n_columns)
    joint: bool  # whether they are tested together
    single: bool  # whether they are tested one by one

    @classmethod
    def from_target(cls, target: Target) -> TargetScores:
        """Return the scores of a target: several classes are tested together and one by one, labels one by one."""
        columns, labels = target_columns(target), target.task == "multilabel"
        return cls(columns, not labels, labels or columns.shape[1] > 1)


class Sampling(NamedTuple):
    """What is shuffled: samples, groups of samples, or samples within their groups."""

    average: Floats | None  # (n_groups, n_samples): groups are the samples
    basis: Floats  # of constant, covariates and groups that are removed from everything, (n, rank)
    within: Ints | None  # groups that samples are shuffled within

    @classmethod
    def from_data(cls, data: FeatureData) -> Sampling:
        """Return how the samples of data are shuffled."""
        n = data.n_samples
        design = np.empty((n, 0))
        if data.covariates is not None:
            design = np.hstack([data.covariates.design, _predicted(data.target, data.covariates.basis)])
        if data.groups is None:
            return cls(None, basis_of(design), None)
        names, group = np.unique(data.groups, return_inverse=True)
        member = (group.ravel() == np.arange(len(names))[:, None]).astype(np.float64)
        values = np.asarray(data.target.values, dtype=np.float64).reshape(n, -1)
        average = member / member.sum(axis=1, keepdims=True)
        if np.abs(values - (average @ values)[group.ravel()]).max() <= _NOTHING * max(np.abs(values).max(), 1.0):
            return cls(average, basis_of(average @ design), None)
        return cls(None, basis_of(np.hstack([design, member[1:].T])), group.ravel().astype(np.intp))

    @property
    def n(self) -> int:
        """Number of samples that are shuffled."""
        return len(self.basis)

    @property
    def scatter_alike(self) -> bool:
        """Whether all that is shuffled is the mean of the same number of samples."""
        return self.average is None or len(np.unique((self.average > 0).sum(axis=1))) == 1

    def reduced(self, scores: Floats) -> Floats:
        """Return scores of samples as scores of what is shuffled."""
        return scores if self.average is None else self.average @ scores

    def shuffles(self, n_shuffles: int, rng: np.random.Generator) -> Iterator[Ints]:
        """Yield permutations."""
        places = None if self.within is None else np.argsort(self.within, kind="stable")
        for _ in range(n_shuffles):
            if places is None or self.within is None:
                yield rng.permutation(self.n)
                continue
            shuffled = np.empty(self.n, dtype=np.intp)
            shuffled[places] = np.lexsort((rng.random(self.n), self.within))
            yield shuffled


def _predicted(target: Target, basis: Floats) -> Floats:
    """Return what covariates, with an orthonormal basis, predict of a target, (n_samples, n_columns)."""
    from scipy.stats import rankdata
    from sklearn.linear_model import LogisticRegression

    if target.task in (*CLASSIFICATION, "multilabel") and not target.ordered:
        Z, values = basis[:, 1:] * np.sqrt(len(basis)), np.asarray(target.values).reshape(len(basis), -1)
        model = LogisticRegression(tol=1e-9, max_iter=10_000)
        shares = [model.fit(Z, column).predict_proba(Z) for column in values.T if np.ptp(column) > 0]
        return np.hstack([np.empty((len(Z), 0)), *shares])
    fitted = basis @ (basis.T @ target_columns(target))
    largest = np.abs(fitted).max(axis=0)
    return np.asarray(rankdata(np.round(fitted / np.where(largest > 0, largest, 1.0), 10), axis=0))  # ties stay ties


class Shuffled(NamedTuple):
    """Target scores of the data and of all shuffles; what they are tested against is removed from them.

    Joint scores, orthonormal, come first, then single ones of length one.
    """

    observed: Floats  # of the data, (1, n_scores, n)
    scores: Array  # of float32, (n_shuffles, n_scores, n)
    d: int  # number of joint scores
    orders: Array  # of int32, of each shuffle, (n_shuffles, n); without covariates and groups none
    room: Floats  # what covariates leave open of each sample, (n,)

    @classmethod
    def from_target(
        cls, target: TargetScores, sampling: Sampling, n_shuffles: int, rng: np.random.Generator
    ) -> Shuffled:
        """Shuffle the residuals of a target."""
        columns = sampling.reduced(target.columns)
        residuals = outside(sampling.basis, columns)
        residuals[:, np.linalg.norm(residuals, axis=0) <= _NOTHING * np.linalg.norm(columns, axis=0)] = 0.0
        d = int(np.linalg.matrix_rank(residuals)) if target.joint else 0
        parts, plain = _parts(residuals, d, target.single), sampling.basis.shape[1] == 1
        scores = np.empty((n_shuffles, parts.shape[1], sampling.n), dtype=np.float32)
        orders = np.empty((n_shuffles, sampling.n), dtype=np.int32)
        for row, order in zip(orders, sampling.shuffles(n_shuffles, rng), strict=True):
            row[:] = order
        room = 1.0 - (sampling.basis**2).sum(axis=1)
        if plain:  # shuffled scores are orthogonal to the constant, but not to covariates
            for shuffled, places in zip(scores, orders, strict=True):
                shuffled[:] = parts[places].T
            return cls(parts.T[None], scores, d, orders[:0], room)
        n_columns = residuals.shape[1]
        for some in feature_chunks(n_shuffles, max(1, _CACHE_ENTRIES // residuals.size)):
            left = outside(sampling.basis, np.hstack([residuals[places] for places in orders[some]]))
            if n_columns == d == 1:
                scores[some, 0] = _unit(left).T
                continue
            for shuffled, columns in zip(scores[some], np.split(left, left.shape[1] // n_columns, axis=1), strict=True):
                shuffled[:] = _parts(columns, d, target.single).T
        return cls(parts.T[None], scores, d, orders, room)

    def both(self, robust: bool) -> Iterator[tuple[Array, Array | None]]:
        """Yield the scores of the data and those of the shuffles, each with the shares of samples if `robust`.

        Shares of the data are shuffled, relative to what is left open of each sample; (n_shuffles, n_scores, n).
        """
        if not robust:
            yield from ((self.observed, None), (self.scores, None))
            return
        shares = _sample_shares(self.observed, self.d)
        yield self.observed, shares
        relative = np.where(self.room > _NOTHING, shares[0] / np.maximum(self.room, _NOTHING), 0.0).astype(np.float32)
        yield self.scores, (relative[:, self.orders] * self.room.astype(np.float32)).transpose(1, 0, 2)


def _parts(residuals: Floats, d: int, single: bool) -> Floats:
    """Return an orthonormal basis of d dimensions of some columns, and the columns scaled to length one."""
    joint = np.linalg.svd(residuals, full_matrices=False)[0][:, :d] if d > 1 or single else _unit(residuals[:, :d])
    return np.hstack([joint[:, :d], _unit(residuals)]) if single else joint


def _unit(columns: Floats) -> Floats:
    """Return columns scaled to length one; zeros stay."""
    length = np.linalg.norm(columns, axis=0)
    return columns / np.where(length > 0, length, 1.0)


# -- statistics and p-values -------------------------------------------------------------------------------------------


class Statistics(NamedTuple):
    """Statistics of some columns: T of each test, 0 where a column is not tested."""

    T: Floats  # (n_tests, n_shuffles, n_columns)
    d: Ints  # degrees of freedom of each test, (n_tests,)
    nu: Ints  # those of all, for each column, (n_columns,)
    factor: Floats  # what the p-values of each test are multiplied by, (n_tests,)

    def p_values(self) -> Floats:
        """Return the p-values of all columns, the smallest one of all tests, at most 1; (n_shuffles, n_columns)."""
        return self.by_test().min(axis=0)

    def by_test(self) -> Floats:
        """Return the p-values of each test, of shape (n_tests, n_shuffles, n_columns)."""
        full = slice(None)
        return np.array([self._p_values(number, (full, full), full) for number in range(len(self.T))])

    def _p_values(self, number: int, places: Any, columns: Any) -> Floats:
        """Return the p-values of one test at some places, which are in these columns; at most 1."""
        from scipy.special import betainc

        d, b = int(self.d[number]), (self.nu[columns] - self.d[number]) / 2
        # P(Beta(a, b) >= T) = P(Beta(b, a) <= 1 - T)
        p = betainc(np.maximum(b, 0.5), d / 2, 1.0 - self.T[number][places].astype(np.float64))
        return np.where(b > 0, np.minimum(self.factor[number] * p, 1.0), 1.0)

    def strengths(self) -> Floats:
        """Return nu T / d of the first test: about 1 without any relation; (n_shuffles, n_columns)."""
        return np.asarray(self.T[0] * (self.nu / self.d[0]).astype(self.T.dtype))

    def smallest(self, n: int) -> Floats:
        """Return the n smallest p-values of each shuffle, not sorted; of shape (n_shuffles, at most n)."""
        n_columns = self.T.shape[2]
        if n_columns <= 2 * n:
            return self.p_values()
        same = bool((self.nu == self.nu[0]).all())
        candidates, rows = [], np.arange(self.T.shape[1])[:, None]
        for number, (T, d) in enumerate(zip(self.T, self.d.tolist(), strict=True)):
            # With as many samples the order of T is that of p-values. Else that of the likelihood ratio (with
            # Bartlett's correction) is nearly so: twice as many are looked at.
            order = T if same else -np.log1p(-np.minimum(T, 1.0 - 1e-7)) * np.maximum(self.nu - (d + 2) / 2, 0.5)
            columns = _largest(order, n if same else 2 * n)
            candidates.append((columns, self._p_values(number, (rows, columns), columns)))
        columns, p = (np.concatenate(parts, axis=1) for parts in zip(*candidates, strict=True))
        # A column that several tests name counts once, with its smallest p-value. One that a test does not name has n
        # others before it in this test, so that its p-value there does not matter.
        order = np.argsort(columns + p / 2, axis=1)
        columns, p = (np.take_along_axis(values, order, axis=1) for values in (columns, p))
        p[:, 1:][columns[:, 1:] == columns[:, :-1]] = np.inf
        return np.partition(p, n - 1, axis=1)[:, :n]


class CategoryTest(NamedTuple):
    """P-values of a category of three or more levels, which has another statistic."""

    p: Floats  # (n_shuffles, 1)

    def p_values(self) -> Floats:
        """Return the p-values, (n_shuffles, 1)."""
        return self.p

    def smallest(self, n: int) -> Floats:
        """Return the p-values, (n_shuffles, 1)."""
        return self.p


Tested = Statistics | CategoryTest


def _largest(values: Array, n: int) -> Ints:
    """Return the columns of the n largest values of each row; those of the n groups of eight with the largest first."""
    n_rows, n_columns = values.shape
    whole = n_columns - n_columns % 8
    if whole < 16 * n:
        return np.argpartition(values, n_columns - n, axis=1)[:, n_columns - n :]
    groups = values[:, :whole].reshape(n_rows, 8, -1).max(axis=1)  # of columns far apart: a long axis is fast
    step = groups.shape[1]
    groups = np.argpartition(groups, groups.shape[1] - n, axis=1)[:, groups.shape[1] - n :]
    columns = (groups[:, :, None] + step * np.arange(8)).reshape(n_rows, -1)
    columns = np.hstack([columns, np.broadcast_to(np.arange(whole, n_columns), (n_rows, n_columns - whole))])
    among = np.take_along_axis(values, columns, axis=1)
    best = np.argpartition(among, among.shape[1] - n, axis=1)[:, among.shape[1] - n :]
    return np.take_along_axis(columns, best, axis=1)


def _squares(products: Floats, d: int) -> Floats:
    """Return T of all joint scores together, if there are any, and of each single one; (n_shuffles, n, n_columns).

    A copy is not made: the products of scores and columns, (n_shuffles, n_scores, n_columns), are squared in place.
    """
    np.square(products, out=products)
    return products if d <= 1 else np.concatenate([products[:, :d].sum(axis=1, keepdims=True), products[:, d:]], axis=1)


def _tests(T: Floats, d: int) -> Floats:
    """Return T of the joint test, if any, and of the best single one, (n_tests, n_shuffles, n_columns)."""
    joint = [T[:, 0]] if d else []
    single = [T[:, len(joint) :].max(axis=1)] if T.shape[1] > len(joint) else []
    return np.stack([*joint, *single])


def _sample_shares(scores: Array, d: int) -> Array:
    """Return the share of each sample in all joint scores together, if there are any, and in each single one."""
    joint = [(scores[:, :d] ** 2).sum(axis=1, keepdims=True)] if d else []
    return np.concatenate([*joint, scores[:, d:] ** 2], axis=1)


def _inflation(of_scores: Array, of_columns: Floats) -> Array:
    """Return max(1, f), f = n sum_i g_i h_i, of each score and column, given the shares g and h of samples in them.

    Shares in scores are scaled to the sum 1 over the samples that are given.
    """
    n_shuffles, n_scores, n = of_scores.shape
    total = of_scores.sum(axis=2, keepdims=True)
    of_scores = of_scores / np.where(total > 0, total, 1)
    f = np.asarray(of_scores.reshape(-1, n) @ (n * of_columns).astype(of_scores.dtype))
    return np.maximum(f, 1, out=f).reshape(n_shuffles, n_scores, -1)


class FeatureTests:
    """Tests the features of a table against a target and its shuffles, a block of columns at a time."""

    def __init__(self, data: FeatureData, n_shuffles: int, rng: np.random.Generator) -> None:
        self.data, self.sampling = data, Sampling.from_data(data)
        self.shuffled = Shuffled.from_target(TargetScores.from_target(data.target), self.sampling, n_shuffles, rng)
        self.covariates = None if data.covariates is None else data.covariates.basis
        self.robust = data.covariates is not None  # to samples in which features and target scatter more
        n_scores, d = self.shuffled.observed.shape[1], self.shuffled.d
        self.d = np.array([d] * (d > 0) + [1] * (n_scores > d))
        self.factor = np.array([1.0] * (d > 0) + [float(n_scores - d)] * (n_scores > d))
        self.width = max(1, _BLOCK // (n_shuffles * n_scores))

    def run(self, columns: Ints, n_kept: int) -> tuple[Floats, Floats]:
        """Return the p-values of some columns, and the smallest ones of each shuffle, (n_shuffles, at most n_kept)."""
        p_values = np.ones(len(columns))
        kept = np.empty((len(self.shuffled.scores), 0))
        for places, observed, shuffled in self._blocks(columns):
            p_values[places] = observed.p_values()[0]
            kept = np.hstack([kept, shuffled.smallest(n_kept)])
            kept = np.partition(kept, n_kept - 1, axis=1)[:, :n_kept] if kept.shape[1] > n_kept else kept
        return p_values, kept

    def mean_strengths(self, membership: sparse.csr_array) -> tuple[Ints, Floats]:
        """Return how many numbers each set of features has, and their mean strength, (n_sets, 1 + n_shuffles).

        `membership` has shape (n_sets, n_features). The data come first, then the shuffles. Categories of three or more
        levels do not count.
        """
        columns = np.flatnonzero((membership.sum(axis=0) > 0) & ~self.data.constant)
        n, sums = np.zeros(membership.shape[0]), np.zeros((membership.shape[0], 1 + len(self.shuffled.scores)))
        for places, *both in self._blocks(columns):
            inside = sparse.csr_array(membership[:, columns[places]], dtype=np.float64)
            if all(isinstance(tested, Statistics) for tested in both):
                n += inside.sum(axis=1)
                sums += inside @ np.vstack([tested.strengths() for tested in both if isinstance(tested, Statistics)]).T
        return n.astype(np.intp), sums / np.maximum(n, 1)[:, None]

    def _blocks(self, columns: Ints) -> Iterator[tuple[Ints, Tested, Tested]]:
        """Yield places of columns, and their tests in the data and in shuffles."""
        levels = self.data.levels
        several = np.array([j in levels and levels[j].n_columns > 1 for j in columns.tolist()], dtype=bool)
        numbers = np.flatnonzero(~several)
        for start in range(0, len(numbers), self.width):
            places = numbers[start : start + self.width]
            values = np.asarray(self.data.X[:, columns[places]], dtype=np.float64)
            gaps = np.isnan(values)
            with_gaps = gaps.any(axis=0)
            plain = np.flatnonzero(~with_gaps)
            if len(plain):
                bent = np.array([j not in levels for j in columns[places[plain]].tolist()], dtype=bool)
                yield places[plain], *self._complete(values[:, plain], bent)
            if with_gaps.any():
                yield places[with_gaps], *self._with_gaps(values[:, with_gaps], gaps[:, with_gaps])
        for place in np.flatnonzero(several).tolist():
            yield np.array([place]), *self._category(int(columns[place]))

    def _complete(self, values: Floats, bent: Mask) -> tuple[Statistics, Statistics]:
        """Test columns without gaps; for U-shapes where `bent`."""
        x = self._scores(values, slice(None), self.sampling.basis)
        square = outside(self.sampling.basis, np.where(bent & self.sampling.scatter_alike, x**2, 0.0))
        square -= x * (x * square).sum(axis=0)
        square[:, np.linalg.norm(square, axis=0) <= _NOTHING] = 0.0
        nu = np.full(x.shape[1], self.sampling.n - self.sampling.basis.shape[1])
        both = []
        for scores, shares in self.shuffled.both(self.robust):
            flat, parts = scores.reshape(-1, self.sampling.n), (x, _unit(square))
            T = np.empty((len(parts), len(self.d), len(scores), x.shape[1]), dtype=flat.dtype)
            for some in feature_chunks(x.shape[1], max(1, _CACHE_ENTRIES // len(flat))):
                for tests, columns in zip(T, parts, strict=True):
                    part = columns[:, some]
                    products = (flat @ part.astype(flat.dtype)).reshape(*scores.shape[:2], -1)
                    each = _squares(products, self.shuffled.d)
                    if shares is not None:
                        each /= _inflation(shares, part**2)
                    tests[:, :, some] = _tests(each, self.shuffled.d)
            factor = np.append(self.factor, _U_SHAPE * self.factor)
            both.append(Statistics(T.reshape(-1, *T.shape[2:]), np.tile(self.d, 2), nu, factor))
        return both[0], both[1]

    def u_shaped(self, columns: Ints) -> Mask:
        """Return which columns are related to the target by a U-shape more clearly than by a straight relation."""
        values = np.asarray(self.data.X[:, columns], dtype=np.float64)
        tested = ~np.isnan(values).any(axis=0) & ~np.isin(columns, list(self.data.levels))
        bent_more = np.zeros(len(columns), dtype=bool)
        if tested.any():
            observed, _ = self._complete(values[:, tested], np.ones(int(tested.sum()), dtype=bool))
            straight, bent = np.split(observed.by_test()[:, 0], 2)
            bent_more[tested] = bent.min(axis=0) < np.minimum(straight.min(axis=0), _CLEAR)
        return bent_more

    def _with_gaps(self, values: Floats, gaps: Mask) -> tuple[Statistics, Statistics]:
        """Test columns with gaps, over the samples that are present: columns with the same gaps together."""
        n_columns, n_tests = values.shape[1], len(self.d)
        T = [np.zeros((n_tests, len(scores), n_columns)) for scores in (self.shuffled.observed, self.shuffled.scores)]
        nu = np.zeros(n_columns, dtype=np.intp)
        _, first, pattern = np.unique(np.packbits(gaps, axis=0), axis=1, return_index=True, return_inverse=True)
        for number, column in enumerate(first.tolist()):
            same, present = np.flatnonzero(pattern.ravel() == number), ~gaps[:, column]
            kept = self._kept(present)
            basis = _span(self.sampling.basis[kept])
            nu[same] = kept.sum() - basis.shape[1] if present.sum() >= _FEWEST_PRESENT else 0
            x = self._scores(values[np.ix_(present, same)], present, basis)
            for statistics, (scores, shares) in zip(T, self.shuffled.both(self.robust), strict=True):
                there = scores[:, :, kept].astype(np.float64)
                of_samples = None if shares is None else shares[:, :, kept]
                statistics[:, :, same] = _over_present(there, x, basis, self.shuffled.d, of_samples)
        observed, shuffled = (Statistics(statistics, self.d, nu, self.factor) for statistics in T)
        return observed, shuffled

    def _category(self, column: int) -> tuple[CategoryTest, CategoryTest]:
        """Test a category of three or more levels."""
        from scipy.special import betainc, gammaincc

        codes = np.asarray(self.data.X[:, column], dtype=np.float64)
        present = ~np.isnan(codes)
        kept = self._kept(present)
        basis = _span(self.sampling.basis[kept])
        columns = self._reduced(indicators(codes[present], self.data.levels[column]), present)
        between = _span(outside(basis, columns))
        nu, r, d = int(kept.sum()) - basis.shape[1], between.shape[1], self.shuffled.d
        both = []
        for scores, shares in self.shuffled.both(self.robust):
            if r == 0 or nu <= r or present.sum() < _FEWEST_PRESENT:
                both.append(np.ones(len(scores)))
                continue
            there = scores[:, :, kept].astype(np.float64)
            of_samples = None if shares is None else shares[:, :, kept]
            T = np.clip(_share_between(there, between, basis, d, of_samples), 0.0, None)
            if d > 1:  # several classes: chi-squared, with (L - 1) (C - 1) degrees of freedom
                both.append(gammaincc(r * d / 2, nu * T / 2))
            else:
                p = betainc((nu - r) / 2, r / 2, 1.0 - np.minimum(T, 1.0))
                both.append(np.minimum(self.factor[0] * p, 1.0))
        return CategoryTest(both[0][:, None]), CategoryTest(both[1][:, None])

    def _kept(self, present: Mask) -> Mask:
        """Return which of what is shuffled has a value, given the samples that have one."""
        average = self.sampling.average
        return present if average is None else np.asarray((average[:, present] > 0).any(axis=1))

    def _reduced(self, scores: Floats, present: Any) -> Floats:
        """Return scores of present samples as those of what is shuffled and has a value."""
        if self.sampling.average is None:
            return scores
        weights = self.sampling.average[:, present]
        total = weights.sum(axis=1, keepdims=True)
        kept = total.ravel() > 0
        return np.asarray(weights[kept] / total[kept] @ scores)

    def _scores(self, values: Floats, present: Any, basis: Floats) -> Floats:
        """Return the scores of columns over present samples, orthogonal to a basis and of length one."""
        if self.covariates is not None:
            values = outside(_span(self.covariates[present]), values - values.mean(axis=0))
            largest = np.abs(values).max(axis=0, initial=0.0)
            values = np.round(values / np.where(largest > 0, largest, 1.0), 10)  # ties stay ties
        ranks = self._reduced(centered_ranks(values), present)
        ranks = ranks - ranks.mean(axis=0)
        residuals = outside(basis, ranks)
        residuals[:, np.linalg.norm(residuals, axis=0) <= _NOTHING * np.linalg.norm(ranks, axis=0)] = 0.0
        return _unit(residuals)


def u_shaped(data: FeatureData, columns: Ints) -> Mask:
    """Return which columns of data with a target have a U-shaped relation to it, of shape (n_columns,)."""
    return FeatureTests(data, 1, np.random.default_rng(0)).u_shaped(columns)


def _span(columns: Floats) -> Floats:
    """Return an orthonormal basis of some columns."""
    U, S, _ = np.linalg.svd(columns, full_matrices=False)
    return U[:, 1e-7 * max(float(S.max(initial=0.0)), 1e-300) < S]


def _over_present(scores: Floats, x: Floats, basis: Floats, d: int, shares: Array | None) -> Floats:
    """Return T of the tests of columns x over present samples, (n_tests, n_shuffles, n_columns).

    Scores, (n_shuffles, n_scores, n_present), have there the scatter that a basis leaves of them.
    """
    products, removed = scores @ x, scores @ basis
    inverse = _inverse_scatter(scores[:, :d], removed[:, :d]) if d else None
    parts = []
    if inverse is not None:
        parts.append(np.einsum("bim,bij,bjm->bm", products[:, :d], inverse, products[:, :d])[:, None])
    if scores.shape[1] > d:
        scatter = _single_scatter(scores[:, d:], removed[:, d:])
        parts.append(products[:, d:] ** 2 / scatter[:, :, None])
    T = np.concatenate(parts, axis=1)
    if shares is not None:
        T /= _inflation(shares, x**2)
    return np.clip(_tests(T, d), 0.0, 1.0)


def _share_between(scores: Floats, between: Floats, basis: Floats, d: int, shares: Array | None) -> Floats:
    """Return the share of joint scores, or of the best single one, that lies between levels of a category."""
    tested = slice(d or None)
    inside, removed = (scores @ between)[:, tested], (scores @ basis)[:, tested]
    inverse = _inverse_scatter(scores[:, tested], removed) if d else None
    if inverse is None:
        T = (inside**2).sum(axis=2) / _single_scatter(scores, removed)
    else:
        T = np.einsum("bir,bij,bjr->b", inside, inverse, inside)[:, None]
    if shares is not None:
        T /= _inflation(shares[:, : T.shape[1]], (between**2).mean(axis=1, keepdims=True))[:, :, 0]
    return np.asarray(T.max(axis=1))


def _inverse_scatter(scores: Floats, removed: Floats) -> Floats:
    """Return the inverse of the scatter of joint scores, (n_shuffles, d, d); a basis removes `removed` of them."""
    scatter = scores @ scores.transpose(0, 2, 1) - removed @ removed.transpose(0, 2, 1)
    return np.asarray(np.linalg.pinv(scatter, rcond=_NOTHING, hermitian=True), dtype=np.float64)


def _single_scatter(scores: Floats, removed: Floats) -> Floats:
    """Return the scatter of each score, (n_shuffles, n_scores); infinite where a score is constant."""
    scatter = (scores**2).sum(axis=2) - (removed**2).sum(axis=2)
    return np.where(scatter > _NOTHING, scatter, np.inf)
