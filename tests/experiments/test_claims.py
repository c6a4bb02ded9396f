"""Claims: made-up tables in which it is known whether the paper's sentence holds."""

import numpy as np
import pandas as pd
import pytest

from ubayfs.experiments.claim_rules import SLIGHT, Change, Verdict, changes, count
from ubayfs.experiments.claims import CLAIMS

SELECTORS = ("mrmr", "fisher", "tree", "lasso", "hsic", "rfe")
N_SPLITS = 10
# Deviations of the splits from their mean: sum 0, the same in all settings, so that differences have no error.
NOISE = np.tile([-0.02, 0.02], N_SPLITS // 2)


def sets_of(stable, rng):
    """Ten sets of four of twenty features: all the same, or drawn at random."""
    return [
        (0, 1, 2, 3) if stable else tuple(sorted(rng.choice(20, 4, replace=False).tolist())) for _ in range(N_SPLITS)
    ]


def cell(data, selector, n_models, f1, *, seconds=1.0, redundancy=0.5, stable=True, noise=NOISE, seed=0, **setting):
    """Rows of one cell under one setting, one per split."""
    features = sets_of(stable, np.random.default_rng(seed))
    return pd.DataFrame(
        {
            "data": data,
            "method": f"{selector}-{n_models}",
            "selector": selector,
            "n_models": n_models,
            "split": range(N_SPLITS),
            "n_features": 20,
            "features": features,
            "size": 4,
            "seconds": seconds,
            "feature_f1": f1 + noise,
            "redundancy": redundancy + noise,
            **setting,
        }
    )


def stack(parts):
    return pd.concat(parts, ignore_index=True)


def check(text, frame, experiment=None):
    found = [c for c in CLAIMS if text in c.text and experiment in (None, c.experiment)]
    assert len(found) == 1, [c.text for c in found]
    return found[0].check(frame)


def test_each_claim_is_of_an_experiment_and_said_once():
    assert {c.experiment for c in CLAIMS} == {"1a", "1b", "1c", "1d"}
    assert len({(c.experiment, c.text) for c in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: f"{c.experiment} {c.text[:30]}")
def test_a_table_without_the_cells_is_no_verdict(claim):
    settings = {
        "1a": {},
        "1b": {"weighted": "relevant", "weight": 10.0},
        "1c": {"constraint": "max_blocks 3", "rho": "1"},
        "1d": {"prior": "generalized", "decorrelate": False},
    }
    verdict = claim.check(cell("additive", "mrmr", 10, 0.5, **settings[claim.experiment]))
    assert (verdict.verdict, verdict.holds) == ("not tested", None)
    assert claim.check(pd.DataFrame()).verdict == "not tested"


# The rules ------------------------------------------------------------------------------------------------------------


def test_paired_differences_have_the_error_of_the_differences():
    other = np.linspace(-0.1, 0.2, N_SPLITS)
    frame = stack(
        [cell("d", "mrmr", 1, 0.5, side="a"), cell("d", "mrmr", 1, 0.6, side="b", noise=NOISE + other).iloc[::-1]]
    )
    (found,) = changes(frame, "feature_f1", {"side": "a"}, {"side": "b"})
    difference = 0.1 + other
    assert found.cell == "mrmr (M = 1) on d"
    assert (found.before, found.after) == (pytest.approx(0.5), pytest.approx(0.6 + other.mean()))
    assert found.error == pytest.approx(difference.std(ddof=1) / np.sqrt(N_SPLITS))


def test_stability_is_compared_as_one_figure():
    frame = stack([cell("d", "mrmr", 1, 0.5, side="a"), cell("d", "mrmr", 1, 0.5, side="b", stable=False)])
    (found,) = changes(frame, "stability", {"side": "a"}, {"side": "b"})
    assert found.before == pytest.approx(1.0)
    assert found.after < 0.3
    assert found.falls
    assert not found.stays


def test_missing_scores_are_left_out_pairwise():
    first, second = cell("d", "mrmr", 1, 0.5, side="a"), cell("d", "mrmr", 1, 0.7, side="b")
    first.loc[0, "redundancy"] = np.nan
    (found,) = changes(stack([first, second]), "redundancy", {"side": "a"}, {"side": "b"})
    assert found.before == found.after == pytest.approx(0.5 + NOISE[1:].mean())


@pytest.mark.parametrize(
    ("after", "error", "rises", "falls", "stays"),
    [
        (0.75, 0.1, True, False, False),
        (0.65, 0.1, False, False, True),
        (0.25, 0.1, False, True, False),
        (0.5, 0.0, False, False, True),
        (0.51, 0.0, True, False, False),
        (0.9, np.nan, False, False, False),
        (np.nan, 0.1, False, False, False),
    ],
)
def test_two_standard_errors_decide(after, error, rises, falls, stays):
    change = Change("cell", 0.5, after, error)
    assert (change.rises, change.falls, change.stays) == (rises, falls, stays)


@pytest.mark.parametrize(
    ("n_for", "enough", "verdict"),
    [
        (4, 1.0, "holds"),
        (3, 1.0, "holds in part"),
        (3, 0.75, "holds"),
        (2, 0.75, "holds in part"),
        (1, 0.75, "does not hold"),
        (0, 1.0, "does not hold"),
    ],
)
def test_share_of_cells_decides(n_for, enough, verdict):
    found = [Change(f"cell {i}", 0.5, 0.6 if i < n_for else 0.4, 0.01) for i in range(4)]
    judged = count(found, lambda one: one.rises, "feature_f1", "rises", enough=enough)
    assert judged.verdict == verdict
    assert f"F1 rises in {n_for} of 4 cells" in judged.words
    assert f"standard errors in {n_for} and such a fall in {4 - n_for}." in judged.words
    assert ("Not so: " in judged.words) == (n_for < 4)
    assert "cell 3 0.50 to 0.40 (-0.100, error 0.010)" in judged.words or n_for == 4


def test_verdicts_in_words():
    assert [Verdict(h, "").verdict for h in (True, None, False)] == ["holds", "holds in part", "does not hold"]
    assert Verdict(None, "", tested=False).verdict == "not tested"


# 1a -------------------------------------------------------------------------------------------------------------------


def models_table(f1, seconds=lambda m: 0.01 * m, stable=lambda m: True, selectors=SELECTORS, data="additive"):
    sizes = (1, 5, 10, 50, 100, 200)
    return stack(
        [cell(data, s, m, f1(s, m), seconds=seconds(m), stable=stable(m), seed=m) for s in selectors for m in sizes]
    )


@pytest.mark.parametrize(("power", "verdict"), [(1.0, "holds"), (0.5, "does not hold"), (2.0, "does not hold")])
def test_run_time(power, verdict):
    judged = check("run time", models_table(lambda s, m: 0.5, seconds=lambda m: 0.02 * m**power))
    assert judged.verdict == verdict
    assert f"mrmr on additive M^{power:.2f}" in judged.words


def levels(top):
    return lambda s, m: {1: 0.3, 5: 0.4, 10: 0.45, 50: 0.55, 100: 0.56, 200: top}[m]


def test_f1_levels_off():
    judged = check("F1 levels off", models_table(levels(0.56)))
    assert judged.verdict == "holds"
    assert "fisher on additive 0.30 (M = 1), 0.55 (50), 0.56 (100), 0.56 (200)" in judged.words
    assert check("F1 levels off", models_table(levels(0.7))).verdict == "does not hold"
    flat = check("F1 levels off", models_table(lambda s, m: 0.5))
    assert flat.verdict == "holds in part"
    assert "in 0 of these it rose" in flat.words


def test_stability_levels_off():
    def table(stable):
        return models_table(lambda s, m: 0.5, stable=stable)

    assert check("Stability levels off", table(lambda m: m >= 50)).verdict == "holds"
    assert check("Stability levels off", table(lambda m: m >= 200)).verdict == "does not hold"


@pytest.mark.parametrize("data", ["additive", "non-additive"])
@pytest.mark.parametrize(
    ("hsic", "tree", "verdict"),
    [(0.98, 0.5, "holds"), (0.98, 0.98, "holds in part"), (0.7, 0.5, "does not hold")],
)
def test_hsic_with_five_models(data, hsic, tree, verdict):
    table = models_table(lambda s, m: {"hsic": hsic, "tree": tree if m == 200 else 0.2}.get(s, 0.4), data=data)
    judged = check(f"On the {data} data", table)
    assert judged.verdict == verdict
    assert f"hsic with 5 models is {hsic:.2f}" in judged.words
    assert f"tree {tree:.2f} (M = 200)" in judged.words
    other = {"additive": "non-additive", "non-additive": "additive"}[data]
    assert check(f"On the {other} data", table).verdict == "not tested"


def test_five_models_are_enough():
    def table(gain, stable=lambda m: True):
        return models_table(lambda s, m: 0.5 + gain * (m == 100), stable=stable)

    assert check("5 models are enough", table(0.0), "1a").verdict == "holds"
    assert check("5 models are enough", table(-0.1), "1a").verdict == "holds"
    assert check("5 models are enough", table(0.1), "1a").verdict == "holds in part"  # stability alone agrees
    assert check("5 models are enough", table(0.1, lambda m: m > 5), "1a").verdict == "does not hold"
    ours = table(0.0)
    ours.loc[~ours["selector"].isin(["hsic", "rfe"]), "feature_f1"] += ours["n_models"]
    assert check("5 models are enough", ours, "1a").verdict == "holds"  # other selectors have no say


# 1b -------------------------------------------------------------------------------------------------------------------


def weights_table(right, wrong, stable=lambda weighted, weight: True):
    change = {"relevant": right, "other": wrong}
    return stack(
        [
            cell("blocks", s, m, 0.5 + change[k] * (w == 1000.0), weighted=k, weight=w, stable=stable(k, w), seed=i)
            for i, (s, m) in enumerate([("mrmr", 100), ("hsic", 100), ("hsic", 5), ("rfe", 100)])
            for k in ("relevant", "other")
            for w in (0.01, 10.0, 100.0, 1000.0)
        ]
    )


@pytest.mark.parametrize(
    ("right", "wrong", "raises", "lowers"),
    [(0.1, -0.3, True, True), (0.0, 0.0, False, False), (-0.1, 0.3, False, False), (0.05, 0.0, True, False)],
)
def test_weights_and_f1(right, wrong, raises, lowers):
    table = weights_table(right, wrong)
    assert check("on the relevant blocks raises F1", table).holds is raises
    assert check("on the other blocks lowers F1", table).holds is lowers


def test_one_selector_that_does_not_follow_is_named():
    table = weights_table(0.1, -0.1)
    table.loc[table["selector"] == "mrmr", "feature_f1"] = 0.5
    judged = check("on the relevant blocks raises F1", table)
    assert judged.verdict == "holds in part"
    assert "Not so: mrmr (M = 100) on blocks 0.50 to 0.50 (+0.000, error 0.000)." in judged.words


def test_weights_and_stability():
    steady = weights_table(0.1, -0.1)
    assert check("leaves stability", steady).verdict == "holds"
    assert check("lower stability a little", steady).verdict == "does not hold"
    shaken = weights_table(0.1, -0.1, stable=lambda k, w: w < 1000)
    assert check("leaves stability", shaken).verdict == "does not hold"
    assert check("lower stability a little", shaken).verdict == "holds in part"  # by far more than a little
    little = weights_table(0.1, -0.1)
    rows = (little["weighted"] == "other") & (little["weight"] == 1000.0) & (little["split"] == 0)
    little["features"] = [(0, 1, 2, 9) if one else kept for one, kept in zip(rows, little["features"], strict=True)]
    judged = check("lower stability a little", little)
    assert judged.verdict == "holds"
    assert "Stability falls by at most 0.1" in judged.words


# 1c -------------------------------------------------------------------------------------------------------------------


def constraints_table(fall, stable=lambda rho: True):
    return stack(
        [
            cell("blocks", s, 100, 0.5 - fall * (r == "inf"), constraint=c, rho=r, stable=stable(r))
            for s in SELECTORS
            for c in ("max_per_block 2", "max_blocks 4", "max_blocks 2")
            for r in ("0", "1", "inf")
        ]
    )


@pytest.mark.parametrize("constraint", ["max_per_block 2", "max_blocks 4", "max_blocks 2"])
def test_constraints_and_scores(constraint):
    text = f"{constraint} lowers F1"
    judged = check(text, constraints_table(SLIGHT / 2))
    assert judged.verdict == "holds"
    assert ("The truth itself" in judged.words) == (constraint == "max_blocks 4")
    assert check(text, constraints_table(0.3)).verdict == "holds in part"
    assert check(text, constraints_table(0.0)).verdict == "does not hold"
    assert check(text, constraints_table(-0.05)).verdict == "does not hold"
    text = f"{constraint} lowers stability"
    assert check(text, constraints_table(0.0)).verdict == "does not hold"
    assert check(text, constraints_table(0.0, lambda rho: rho != "inf")).verdict == "holds in part"


def test_near_the_best():
    assert check("close to the best", constraints_table(0.04)).verdict == "holds"
    assert check("close to the best", constraints_table(0.06)).verdict == "does not hold"
    half = constraints_table(0.0)
    half.loc[(half["rho"] == "inf") & (half["constraint"] == "max_blocks 2"), "feature_f1"] = 0.1
    judged = check("close to the best", half)
    assert judged.verdict == "holds in part"
    assert "in 12 of 18 cells" in judged.words
    assert "tree (M = 100) on blocks, max_blocks 2 0.50 to 0.10" in judged.words


# 1d -------------------------------------------------------------------------------------------------------------------

PRIORS = ("dirichlet", "generalized", "generalized, beta = 1", "hyperdirichlet")


def priors_table(f1=None, decorrelated=0.0, redundancy=0.0, seconds=1.0, stable=lambda p, d: True):
    f1 = f1 or {}
    return stack(
        [
            cell(
                "redundant",
                s,
                m,
                0.5 + f1.get(p, 0.0) + decorrelated * d,
                prior=p,
                decorrelate=d,
                redundancy=0.4 + redundancy * d,
                seconds=seconds if p == "hyperdirichlet" else 1.0,
                stable=stable(p, d),
            )
            for s, m in (("mrmr", 100), ("hsic", 100), ("hsic", 5), ("rfe", 100))
            for p in PRIORS
            for d in (False, True)
        ]
    )


def test_priors_that_do_not_differ():
    judged = check("F1 does not differ", priors_table())
    assert judged.verdict == "holds"
    assert "is the Dirichlet itself, so that its agreement proves nothing" in judged.words
    assert "the same set in 80 of 80 decisions" in judged.words
    assert check("F1 does not differ", priors_table({"hyperdirichlet": -0.1})).verdict == "holds in part"
    differ = {"hyperdirichlet": -0.1, "generalized, beta = 1": 0.1}
    assert check("F1 does not differ", priors_table(differ)).verdict == "does not hold"
    # The default generalized prior is not counted, whatever its figures.
    assert check("F1 does not differ", priors_table({"generalized": 0.3})).verdict == "holds"
    assert check("Stability does not differ", priors_table()).verdict == "holds"
    shaken = priors_table(stable=lambda p, d: p != "hyperdirichlet")
    assert check("Stability does not differ", shaken).verdict == "holds in part"


def test_decorrelation():
    table = priors_table(decorrelated=0.05, redundancy=-0.1)
    assert check("raises F1 slightly", table).verdict == "holds"
    assert check("lowers the redundancy rate", table).verdict == "holds"
    assert check("Decorrelation lowers stability", table).verdict == "does not hold"
    other = priors_table(decorrelated=0.2, redundancy=0.1, stable=lambda p, d: not d)
    assert check("raises F1 slightly", other).verdict == "holds in part"  # more than slightly
    assert check("lowers the redundancy rate", other).verdict == "does not hold"
    assert check("Decorrelation lowers stability", other).verdict == "holds in part"  # more than slightly
    assert "in 12 of 12 cells" in check("lowers the redundancy rate", table).words  # 4 cells, 3 priors


def test_hyperdirichlet_is_slow():
    judged = check("much slower", priors_table(seconds=30.0))
    assert judged.verdict == "holds"
    assert "(30.0 to 30 times); it adds 29.00 to 29.00 s" in judged.words
    assert check("much slower", priors_table(seconds=2.0)).verdict == "does not hold"
