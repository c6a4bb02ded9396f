"""Scores of predictions as people read them: names of metrics and of ways to choose, numbers with their sign."""

from __future__ import annotations

from ..trust.prediction_metrics import METRICS

METHODS = {
    "ubayfs": "ours",
    "most votes": "most votes (without weights and constraints)",
    "random": "as many random features",
    "forest": "as many by a random forest",
    "features alone": "our features without covariates",
}


def metric_name(metric: str) -> str:
    """Return what a metric is called."""
    return METRICS[metric].title if metric in METRICS else metric.replace("_", " ")


def method_name(method: str) -> str:
    """Return what a way to choose features is called."""
    return METHODS.get(method, method)


def score_text(value: float, sign: str = "") -> str:
    """Return a score with two decimals, a small difference with three.

    >>> score_text(0.9487), score_text(0.0061, "+"), score_text(-0.0004, "+"), score_text(1e-9, "+")
    ('0.95', '+0.006', '-0.0004', '0')
    """
    if not sign or abs(value) >= 0.0095:
        return f"{value:{sign}.2f}"
    return "0" if abs(value) < 5e-5 else f"{value:+.{3 if abs(value) >= 5e-4 else 4}f}"


def interval_text(value: float | None, low: float | None, high: float | None, sign: str = "") -> str:
    """Return a score with its interval; nothing of what is not known.

    >>> interval_text(0.95, 0.89, 1.0), interval_text(0.95, None, None)
    ('0.95 (0.89 to 1.00)', '0.95')
    """
    if value is None or value != value:
        return ""
    ends = (
        "" if low is None or high is None or low != low else f" ({score_text(low, sign)} to {score_text(high, sign)})"
    )
    return score_text(value, sign) + ends
