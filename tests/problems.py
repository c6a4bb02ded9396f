"""Random problems and the brute-force answer to them."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from ubayfs.constraints.constraint import Inequalities
from ubayfs.constraints.system import ConstraintSystem
from ubayfs.constraints.utility import Utility


def all_sets(n_features):
    """Every feature set, as a bool matrix of shape (2 ** n_features, n_features)."""
    return ((np.arange(2**n_features)[:, None] >> np.arange(n_features)) & 1).astype(bool)


def selectable_sets(utility):
    sets = all_sets(utility.n_features)
    return sets[~(sets & ~utility.selectable).any(axis=1)]


def one_row(coefficients, bound, rho, label="row", on_blocks=False):
    values = np.ravel(np.asarray(coefficients, dtype=float))
    columns = np.flatnonzero(values)
    A = sparse.csr_array((values[columns], columns, [0, len(columns)]), shape=(1, len(values)))
    return Inequalities(A, np.array([float(bound)]), np.array([float(rho)]), lambda _: label, on_blocks=on_blocks)


def utility_of(theta, rows, strength=1.0, blocks=None, selectable=None):
    theta = np.asarray(theta, dtype=float)
    if selectable is None:
        selectable = np.ones(len(theta), dtype=bool)
    return Utility(theta, ConstraintSystem.stack(rows, len(theta), blocks), strength, np.asarray(selectable))


def random_row(rng, n, n_blocks):
    kinds = ["max", "min", "pair", "link", "real", "signed", "integer", "exclude"]
    kind = rng.choice(kinds + ["blocks", "real blocks"] * (n_blocks > 0))
    rho = np.inf
    if rng.random() > 0.2:
        rho = 10 ** (rng.uniform(-4, 6) if rng.random() < 0.4 else rng.uniform(-1, 1))
    a, b = np.zeros(n), 0.0
    if kind in ("max", "min"):
        sign = 1 if kind == "max" else -1
        a, b = np.full(n, sign), sign * rng.integers(0, n)
    elif kind == "pair":
        a[rng.choice(n, 2, replace=False)], b = 1, 1
    elif kind == "link":
        a[rng.choice(n, 2, replace=False)] = 1, -1
    elif kind == "real":
        a = rng.random(n) * (rng.random(n) < 0.7)
        b = rng.random() * a.sum()
    elif kind == "signed":
        a, b = rng.normal(size=n) * (rng.random(n) < 0.7), rng.normal()
    elif kind == "integer":
        a, b = rng.integers(-3, 4, n), rng.integers(-3, 4) + rng.choice([0, 0.5])
    elif kind == "exclude":
        a[rng.integers(n)] = 1
    elif kind == "blocks":
        return one_row(np.ones(n_blocks), rng.integers(0, n_blocks + 1), rho, kind, on_blocks=True)
    else:
        return one_row(rng.normal(size=n_blocks), rng.normal(), rho, kind, on_blocks=True)
    return one_row(a, b, rho, kind)


def random_utility(rng, n=None):
    """A mix of soft, hard, feature, block (overlapping) and real-valued rows; lambda 0.05 to 50."""
    n = int(rng.integers(2, 13)) if n is None else n
    theta = rng.dirichlet(np.full(n, rng.choice([0.05, 0.3, 1.0, 10.0])))
    if rng.random() < 0.3:
        theta = np.round(theta, 1)  # ties and zeros
    n_blocks = int(rng.integers(0, 4))
    blocks = sparse.csr_array(rng.random((n_blocks, n)) < 0.4) if n_blocks else None
    rows = [random_row(rng, n, n_blocks) for _ in range(rng.integers(1, 7))]
    selectable = rng.random(n) < (0.8 if rng.random() < 0.2 else 2.0)
    return utility_of(theta, rows, 10 ** rng.uniform(np.log10(0.05), np.log10(50)), blocks, selectable)


def all_selectable(seed, n=8):
    """The same without features that may not be selected."""
    utility = random_utility(np.random.default_rng(seed), n)
    return replace(utility, selectable=np.ones(n, dtype=bool))
