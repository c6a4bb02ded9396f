"""Gene sets beside the textbook statistic, a literal shuffle test, planted sets and noise."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, kruskal, spearmanr

from ubayfs import Blocks, collect_evidence, decide, estimate_gene_sets
from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import EnsembleError, InputError
from ubayfs.trust.gene_sets import GeneSets, gene_sets_of

NAMES = [f"g{j}" for j in range(60)]
SETS = {"planted": NAMES[:10], "noise": NAMES[10:40], "both": [NAMES[0], *NAMES[40:50]], "one": [NAMES[50]]}


def table(seed=0, n=40, effect=1.2):
    """60 genes that share factors in tens; those of the first ten that have an even number carry the class."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n // 2)
    X = np.repeat(rng.normal(size=(n, 6)), 10, axis=1) + 0.5 * rng.normal(size=(n, 60))
    X[:, :10:2] += effect * y[:, None]
    return pd.DataFrame(X, columns=NAMES), y


def selection(X, y, **settings):
    return decide(collect_evidence(X, y, selector="mrmr", n_models=10, random_state=0, **settings), max_size=5)


def test_strength_is_the_textbook_statistic():
    X, y = table()
    found = estimate_gene_sets(selection(X, y), X, y, gene_sets=SETS, n_shuffles=200)
    for name, strength in zip(found.names, found.strength, strict=True):
        expected = np.mean([kruskal(X.loc[y == 0, g], X.loc[y == 1, g]).statistic for g in SETS[name]])
        assert strength == pytest.approx(expected, rel=1e-9)
    numbers = y + np.random.default_rng(1).normal(size=len(y))
    found = estimate_gene_sets(selection(X, numbers), X, numbers, gene_sets=SETS, n_shuffles=200)
    expected = np.mean([39 * spearmanr(X[g], numbers).statistic ** 2 for g in SETS["noise"]])
    assert found.strength[1] == pytest.approx(expected, rel=1e-9)
    assert found.by_chance == pytest.approx(1.0, abs=0.3)


def test_p_values_count_shuffles_that_reach_the_data():
    X, y = table(effect=0.3)
    data = FeatureData.from_table(X, y)
    found = gene_sets_of(data, Blocks(SETS), 4000, 0)
    rng = np.random.default_rng(9)
    ranks = X.rank().to_numpy()
    ranks = (ranks - ranks.mean(axis=0)) / np.linalg.norm(ranks - ranks.mean(axis=0), axis=0)

    def strengths(labels):
        unit = (labels - labels.mean()) / np.linalg.norm(labels - labels.mean())
        each = 39 * (unit @ ranks) ** 2
        return np.array([each[[NAMES.index(g) for g in members]].mean() for members in SETS.values()])

    reached = np.sum([strengths(rng.permutation(y)) >= strengths(y) - 1e-9 for _ in range(4000)], axis=0)
    assert found.p_values == pytest.approx((1 + reached) / 4001, abs=0.035)  # 3 standard errors of the difference


def test_a_planted_set_is_associated_and_covered():
    X, y = table(effect=2.5)
    found = estimate_gene_sets(selection(X, y), X, y, gene_sets=SETS)
    assert found.table()["gene_set"][0] in {"planted", "both"}
    assert found.associated[found.names.index("planted")]
    assert not found.associated[found.names.index("noise")]
    assert found.selected[0] == tuple(f for f in found.features if f in SETS["planted"])
    other = found.of(["g45", 12])
    assert other.selected == ((), ("g12",), ("g45",), ())
    assert other.n_covered == 2


def test_pure_noise_keeps_its_level_although_genes_are_correlated():
    p = []
    for seed in range(120):
        X, _ = table(seed, n=24, effect=0.0)
        labels = np.random.default_rng(1000 + seed).permutation(np.repeat([0, 1], 12))
        p.append(gene_sets_of(FeatureData.from_table(X, labels), Blocks(SETS), 200, seed).p_values)
    below = (np.array(p) <= 0.1).sum(axis=0)
    assert all(binomtest(int(n), 120, 0.1, alternative="greater").pvalue > 0.001 for n in below)
    assert below.sum() > 20  # ... and it is a test: 48 are expected


def test_gaps_categories_and_constant_genes():
    X, y = table()
    X["g1"] = pd.Categorical(np.array(["a", "b", "c", "d"])[np.arange(40) % 4])
    X.loc[:5, "g0"] = np.nan
    X["g50"] = 1.0
    found = estimate_gene_sets(selection(X, y, missing="available"), X, y, gene_sets=SETS, n_shuffles=200)
    assert found.names == ("planted", "noise", "both")  # nothing is left of the set of one constant gene
    assert np.isfinite(found.strength).all()


def test_gmt_files_and_tables(tmp_path):
    X, y = table()
    (tmp_path / "sets.gmt").write_text("A\tnone\tg0\tg1\tBRCA1\nB\tnone\tg2\nC\tnone\tTP53\n")
    decided = selection(X, y)
    found = estimate_gene_sets(decided, X, y, gene_sets=tmp_path / "sets.gmt", n_shuffles=200)
    assert found.names == ("A", "B")
    assert found.table()["n_measured"].sum() == 3


def test_a_record_is_the_same_and_damage_is_refused():
    X, y = table()
    found = estimate_gene_sets(selection(X, y), X, y, gene_sets=SETS, n_shuffles=200)
    about, arrays = found.to_record()
    again = GeneSets.from_record(about, arrays).of(found.features)
    pd.testing.assert_frame_equal(again.table(), found.table())
    for key, damaged in (
        ("p_values", arrays["p_values"] - 1),
        ("members", arrays["members"] + 99),
        ("strength", [1.0]),
    ):
        with pytest.raises(EnsembleError, match="do not fit together"):
            GeneSets.from_record(about, {**arrays, key: damaged})


def test_bad_arguments_are_named():
    X, y = table()
    decided = selection(X, y)
    with pytest.raises(InputError, match="n_shuffles must be a whole number >= 200"):
        estimate_gene_sets(decided, X, y, gene_sets=SETS, n_shuffles=10)
    with pytest.raises(InputError, match="is not what the evidence was collected on"):
        estimate_gene_sets(decided, X + 1, y, gene_sets=SETS)
