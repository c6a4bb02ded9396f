r"""Growth: how much better the selected features would predict if more samples were collected.

The whole procedure is repeated on a quarter, a half and four fifths of the samples, on the same test parts. Scores are
fitted by a straight line in :math:`n^{-1/2}`, with weights 1, 1 and 2, that does not fall with the number of samples n:

.. math:: s(n) = a + b\, n^{-1/2}, \qquad b \le 0.

With f times all N samples the score is s(f N), in a range of :math:`\pm(1 + 0.15 \log_2 f)
\sqrt{h^2 + ((s(f N) - \bar s_{0.8}) / 2)^2}`, where h is half the width of the interval of the validation and
:math:`\bar s_{0.8}` the mean at four fifths: what is extrapolated may be wrong by half. The first factor was chosen on
planted truth (docs/calibration.md): signals that no part of the samples shows may be found with more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .._plain import decode, plain
from ..data.feature_data import FeatureData
from ..decision.workflow import Decision
from ..ensemble.collect import seed_of
from ..ensemble.progress import Progress, as_progress
from ..ensemble.subsampling import plan_subsamples, subsample_errors
from ..ensemble.workers import threads_for
from ..exceptions import InputError
from ..priors import PriorKnowledge
from .cross_validation import run_folds
from .folds import Fold, FoldEvaluation, Outcome, assign_folds, check_folds, child
from .prediction_metrics import METRICS
from .predictors import RIDGE, as_predictors
from .procedure import Procedure, take_samples
from .related import SizedInParts
from .repeats import Repeats, processes_for
from .validation import OURS, Validation

SHARES = (0.25, 0.5, 0.8)  # of all samples, to learn from
_WEIGHTS = (1.0, 1.0, 2.0)
N_REPEATS = 20
FACTORS = (1.0, 1.5, 2.0, 4.0)  # times as many samples
_WIDER = 0.15  # for each doubling of the samples
_CV = 5  # one of so many parts is the test part
_ASSIGN, _DRAW, _FOLD = range(3)


@dataclass(frozen=True)
class Forecast:
    """The score with so many times the samples.

    Attributes
    ----------
    factor : float
    n_samples : int
    value, lower, upper : float
    """

    factor: float
    n_samples: int
    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Growth:
    """How the score of a prediction grows with the number of samples; made by ``assess(..., growth=True)``.

    Attributes
    ----------
    metric : str
    n_samples : int
        All samples of the data.
    n_train : tuple of float
        Samples that were learned from, mean over the repeats, by share.
    means : tuple of float
        Mean scores on the same test parts, by share.
    n_done, n_asked : int
        Repeats of all shares together.
    half_width : float
        Of the interval of the validation.
    failures : tuple of str
        Where and why something could not be done.
    """

    metric: str
    n_samples: int
    n_train: tuple[float, ...]
    means: tuple[float, ...]
    n_done: int
    n_asked: int
    half_width: float
    failures: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether all repeats were done or tried."""
        return self.n_done + len(self.failures) == self.n_asked

    @property
    def line(self) -> tuple[float, float]:
        """Intercept a and slope b of the score in n^(-1/2); b is not above 0."""
        x, y, w = np.array(self.n_train) ** -0.5, np.array(self.means), np.array(_WEIGHTS)
        x_mean, y_mean = np.average(x, weights=w), np.average(y, weights=w)
        # Weighted least squares; a score that falls with more samples is noise, and the line is level then.
        b = min(float((w * (x - x_mean) * (y - y_mean)).sum() / (w * (x - x_mean) ** 2).sum()), 0.0)
        return float(y_mean - b * x_mean), b

    def forecast(self, factor: float) -> Forecast:
        """Return the score with so many times the samples, and its range."""
        metric, (a, b) = METRICS[self.metric], self.line
        n = factor * self.n_samples
        value = min(a + b / math.sqrt(n), metric.high)
        half = math.hypot(self.half_width, (value - self.means[-1]) / 2) * (1 + _WIDER * max(math.log2(factor), 0.0))
        return Forecast(factor, round(n), value, max(value - half, metric.low), min(value + half, metric.high))

    @property
    def forecasts(self) -> tuple[Forecast, ...]:
        """The scores with 1, 1.5, 2 and 4 times the samples."""
        return tuple(map(self.forecast, FACTORS))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in plain types."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Growth:
        """Make it of what :meth:`to_dict` returned."""
        return decode(cls, content)


def check_growth(procedure: Procedure) -> None:
    """Raise unless subsamples of the smallest share can be drawn."""
    data, train_size = procedure.data, procedure.settings["train_size"]
    check_folds(data, _CV, train_size)
    plan = plan_subsamples(data, SHARES[0])
    smallest = take_samples(data, plan.draw(np.random.default_rng(0)))
    for error in subsample_errors(smallest, train_size):
        rule = f"needs a table of which a quarter of the samples is enough for an ensemble: {error}"
        raise InputError.of("growth", rule, True)


def growth_of(
    procedure: Procedure,
    decision: Decision,
    knowledge: PriorKnowledge | None,
    decide_for: SizedInParts | None,
    validation: Validation,
    *,
    n_repeats: int = N_REPEATS,
    random_state: Any = 0,
    n_jobs: int | None = None,
    on_progress: Progress | bool | None = None,
) -> Growth:
    """Repeat the procedure on parts of the samples and fit how the score of the validation grows."""
    data = procedure.data
    check_growth(procedure)
    predictors = as_predictors(RIDGE, data.target.task)
    evaluation = FoldEvaluation(procedure, decision, knowledge, decide_for, predictors, (), ())
    folds = _parts(data, n_repeats, np.random.SeedSequence(**seed_of(random_state, None)))
    n_threads, n_processes = min(threads_for(n_jobs), len(folds)), processes_for(n_jobs, procedure, len(folds))
    repeats = Repeats("parts", len(folds), n_jobs, as_progress(on_progress, "parts"), n_threads, n_processes)
    outcomes, failures = run_folds(evaluation, folds, repeats, None)
    return Growth(
        validation.main_metric,
        data.n_samples,
        *_means(outcomes, folds, validation.main_metric),
        len(outcomes),
        len(folds),
        _half_width(validation),
        tuple(failures.values()),
    )


def _parts(data: FeatureData, n_repeats: int, seed: np.random.SeedSequence) -> list[Fold]:
    """Return the training parts of all shares, with the same test part in each repeat."""
    folds = list[Fold]()
    for repeat in range(n_repeats):
        repeat_seed = child(seed, repeat)
        is_test = assign_folds(data, _CV, np.random.default_rng(child(repeat_seed, _ASSIGN))) == 0
        kept, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
        rest = take_samples(data, ~is_test)
        for number, share in enumerate(SHARES):
            rng, train = np.random.default_rng(child(repeat_seed, _DRAW, number)), kept
            if share < SHARES[-1]:
                train = kept[plan_subsamples(rest, share / SHARES[-1]).draw(rng)]
            folds.append(Fold(data, repeat, number, train, test, child(repeat_seed, _FOLD, number)))
    return folds


def _means(
    outcomes: Mapping[int, Outcome], folds: Sequence[Fold], metric: str
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the mean number of training samples and the mean score of each share, over repeats in which all are."""
    scores: dict[int, dict[int, tuple[float, float, int]]] = {}
    for position, outcome in outcomes.items():
        fold = folds[position]
        for record in outcome.scores.records:
            if record.metric == metric and record.method == OURS and not math.isnan(record.score):
                part = (record.score, record.weight, len(fold.train))
                scores.setdefault(fold.repeat, {})[fold.fold] = part
    whole = [by_share for by_share in scores.values() if len(by_share) == len(SHARES)]
    if not whole:
        raise InputError.of("growth", "could not be estimated: no repeat could be done for all shares.", True)
    values = np.array([[by_share[number] for number in range(len(SHARES))] for by_share in whole])
    means = (values[:, :, 0] * values[:, :, 1]).sum(axis=0) / values[:, :, 1].sum(axis=0)
    return tuple(values[:, :, 2].mean(axis=0).tolist()), tuple(means.tolist())


def _half_width(validation: Validation) -> float:
    """Return half the width of the interval of our main score."""
    shown = validation.scores
    (row,) = shown[(shown["method"] == OURS) & (shown["metric"] == validation.main_metric)].to_dict("records")[:1]
    return float(row["upper"] - row["lower"]) / 2
