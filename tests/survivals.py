"""Survival data with a planted truth, for tests in all rooms."""

import numpy as np

from ubayfs import Survival


def planted(n_samples=60, n_features=12, strength=1.0, seed=0, ties=False, share_censored=0.4):
    """Return X of shape (n_samples, n_features) and Survival: x0 raises the hazard, x1 lowers it, others do nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    times = rng.exponential(np.exp(-strength * (X[:, 0] - X[:, 1])))
    limit = np.quantile(times, 1 - share_censored)
    until = rng.uniform(0.5 * limit, 1.5 * limit, n_samples) if share_censored else np.full(n_samples, np.inf)
    observed = np.minimum(times, until)
    if ties:
        observed = np.ceil(8 * observed / observed.max()) + 1
    return X, Survival(observed, times <= until)


def usable_pairs(time, event):
    """List the pairs (i, j) of which i had the event before j, one by one."""
    n = len(time)
    return [
        (i, j)
        for i in range(n)
        for j in range(n)
        if event[i] and (time[i] < time[j] or (time[i] == time[j] and not event[j]))
    ]


def harrell(time, event, risk, weight=lambda i: 1.0):
    """Count Harrell's index pair by pair."""
    found = total = 0.0
    for i, j in usable_pairs(time, event):
        total += weight(i)
        found += weight(i) * (1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0)
    return found / total
