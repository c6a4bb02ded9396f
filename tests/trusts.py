"""What could be known of a selection beyond its samples, made up: shuffles, halves and folds without ensembles."""

import numpy as np

from ubayfs import Evidence
from ubayfs.data.blocks import sets_matrix
from ubayfs.trust.gene_sets import GeneSets
from ubayfs.trust.halves import HalfEnsembles
from ubayfs.trust.related import Bounds, Related
from ubayfs.trust.reproducibility import Reproducibility, agreement
from ubayfs.trust.trust import Trust
from ubayfs.trust.validation import FoldScore, SampleRisk, Validation


def made_trust(selection, n_splits=6, cv=3, n_repeats=2, sizes=(1, 2, 4)):
    """Return a Trust on a selection in which everything is known; only its parts are random."""
    rng, evidence = np.random.default_rng(3), selection.posterior.evidence
    n, names, n_models = len(selection.feature_names), selection.feature_names, evidence.n_models
    related = made_related(selection)
    share = 0.5 * evidence.counts / n_models + 0.2
    pairs = tuple(
        tuple(Evidence.from_sets(rng.random((n_models, n)) < share, names) for _ in range(2)) for _ in range(n_splits)
    )
    halves = HalfEnsembles(pairs, rng.random((n_splits, 10)) < 0.5, n_splits, {})
    chosen = rng.random((2, n_splits, n)) < 0.2 + 0.6 * selection.mask
    votes = np.array([half.counts / half.n_models for pair in pairs for half in pair])
    ranges = np.quantile(votes, [0.05, 0.95], axis=0).T
    reproducibility = Reproducibility(
        names, selection.mask, n, agreement(*chosen, n), chosen.mean(axis=(0, 1)), ranges, n_splits
    )
    validation = made_validation(names, cv, n_repeats, sizes)
    return Trust("full", related, halves, validation, "", reproducibility, gene_sets=made_gene_sets(selection))


def made_gene_sets(selection):
    """Return three gene sets, the first of them associated with the target, the last one without a selected feature."""
    members = [selection.indices[:2].tolist(), [0, 1, 2], np.flatnonzero(~selection.mask)[:1].tolist()]
    matrix = sets_matrix([np.unique(m) for m in members], len(selection.feature_names))
    strength, p = np.array([4.2, 1.3, 0.8]), np.array([0.001, 0.3, 0.7])
    fingerprint = selection.posterior.evidence.settings.get("data_fingerprint", "")
    return GeneSets(
        ("A_PATHWAY", "B", "C"), matrix, selection.feature_names, strength, np.ones(3), p, 1000, fingerprint,
        selection.features,
    )  # fmt: skip


def made_related(selection, favored=()):
    """Return p-values by which the second half of the features are related to the target; of 1,000 shuffles."""
    n = len(selection.feature_names)
    p = np.linspace(0.9, 1e-6, n) ** 8
    plain = Bounds(p, np.minimum(3 * p, 1.0), 0.08, 0.4)
    listed = Bounds(p / 2, np.minimum(2 * p, 1.0), 0.08, 0.4) if favored else None
    fingerprint = selection.posterior.evidence.settings.get("data_fingerprint", "")
    return Related((), selection.feature_names, plain, listed, tuple(favored), 1000, fingerprint).of(selection.features)


def made_validation(names, cv=3, n_repeats=2, sizes=(1, 2, 4)):
    """Return a Validation with scores of ours, random sets (clearly worse) and all features (no clear difference)."""
    rng = np.random.default_rng(4)
    folds = [(repeat, fold) for repeat in range(n_repeats) for fold in range(cv)]
    common = {key: 0.05 * rng.random() for key in folds}
    means = {"ubayfs": 0.85, "random": 0.6, "all features": 0.85}

    def score(fold, method, metric, mean, size=None):
        noise = 0.02 * rng.normal()
        return FoldScore(*fold, method, "ridge", metric, mean + common[fold] + noise, size or 3, size)

    return Validation(
        task="binary",
        main_metric="auc",
        cv=cv,
        n_repeats=n_repeats,
        n_units=30,
        feature_names=tuple(names),
        sets=tuple((0,) for _ in folds),
        records=tuple(score(f, m, k, v) for f in folds for m, v in means.items() for k in ("auc", "balanced_accuracy")),
        size_records=tuple(score(f, "ubayfs", "auc", 0.9 - 0.3 / s, s) for f in folds for s in sizes),
        control_records=tuple(score(f, "ubayfs", "auc", 0.5) for f in folds),
        risks=tuple(
            SampleRisk(float(t), float(e), float(r))
            for t, e, r in zip(np.arange(1, 31), rng.random(30) < 0.6, rng.normal(size=30), strict=True)
        ),
    )
