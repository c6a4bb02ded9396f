"""Claims: made-up tables in which it is known whether the paper's sentence holds."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from ubayfs_experiments.claims.blocks import attainable_f1, best_f1
from ubayfs_experiments.claims.cells import Claim, paper_cells
from ubayfs_experiments.claims.rules import SLIGHT, Change, Verdict, changes, count, shortened, together
from ubayfs_experiments.claims.sentences import CLAIMS

SELECTORS = ("mrmr", "fisher", "tree", "lasso", "hsic", "rfe")
N_SPLITS = 10
# Deviations of the splits from their mean: sum 0, the same in all settings, so that differences have no error.
NOISE = np.tile([-0.02, 0.02], N_SPLITS // 2)


def sets_of(stable, rng):
    """Ten sets of four of twenty features: all the same, or drawn at random."""
    return [
        (0, 1, 2, 3) if stable else tuple(sorted(rng.choice(20, 4, replace=False).tolist())) for _ in range(N_SPLITS)
    ]


def columns(data, selector, n_models, f1, *, seconds=1.0, redundancy=0.5, stable=True, noise=NOISE, seed=0, **setting):
    """Rows of one cell under one setting, one per split, as a list for each column."""
    same = {"data": data, "method": f"{selector}-{n_models}", "selector": selector, "n_models": n_models,
            "n_features": 20, "size": 4, "seconds": seconds, **setting}  # fmt: skip
    return {name: [value] * N_SPLITS for name, value in same.items()} | {
        "split": list(range(N_SPLITS)),
        "features": sets_of(stable, np.random.default_rng(seed)),
        "feature_f1": (f1 + noise).tolist(),
        "redundancy": (redundancy + noise).tolist(),
    }


def cell(*arguments, **options):
    """The same as a table."""
    return pd.DataFrame(columns(*arguments, **options))


def models_of(selector):
    """The paper's number of models."""
    return 5 if selector in ("hsic", "rfe") else 100


def stack(parts):
    """Tables below each other; what is not a table yet becomes one only once: each takes a millisecond."""
    if isinstance(parts[0], pd.DataFrame):
        return pd.concat(parts, ignore_index=True)
    return pd.DataFrame({name: [value for part in parts for value in part[name]] for name in parts[0]})


def check(text, frame, experiment=None):
    found = [c for c in CLAIMS if text in c.text and experiment in (None, c.experiment)]
    assert len(found) == 1, [c.text for c in found]
    return found[0].check(frame)


def test_each_claim_is_of_an_experiment_and_stated_once():
    assert {c.experiment for c in CLAIMS} == {"1a", "1a-draws", "1b", "1c", "1d"}
    assert len({(c.experiment, c.text) for c in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: f"{c.experiment} {c.text[:30]}")
def test_a_table_without_the_cells_is_not_a_verdict(claim):
    settings = {
        "1a": {},
        "1a-draws": {},
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
    up, down = (f"in {n}, beyond two standard errors in {n}" for n in (n_for, 4 - n_for))
    assert f"; higher {up}; lower {down}." in judged.words
    assert ("Not so: " in judged.words) == (n_for < 4)
    assert "cell 3 0.50 to 0.40 (-0.100, error 0.010)" in judged.words or n_for == 4


def test_cells_against_begin_with_the_largest_difference_and_are_cut():
    found = [Change(f"cell {i}", 0.5, 0.5 - size, 0.01) for i, size in enumerate((0.1, 0.4, np.nan, 0.2, 0.3))]
    words = count(found, lambda one: one.rises, "feature_f1", "rises").words
    order = [words.index(f"cell {i} ") for i in (1, 4, 3, 0, 2)]
    assert order == sorted(order)
    short = shortened(f"{words} Then more.")
    assert short.endswith(
        "Not so: cell 1 0.50 to 0.10 (-0.400, error 0.010); cell 4 0.50 to 0.20 (-0.300, error 0.010); "
        "cell 3 0.50 to 0.30 (-0.200, error 0.010); and 2 more (tables/claims.csv). Then more."
    )
    assert shortened(words, most=5) == words
    two = shortened("Not so: a; b 0.5; c. Not so: d; e; f; g.", most=2)
    assert two == "Not so: a; b 0.5; and 1 more (tables/claims.csv). Not so: d; e; and 2 more (tables/claims.csv)."


def test_parts_together():
    yes, no = Verdict(True, "Yes.", brief="yes"), Verdict(False, "No.", brief="no")
    assert together([yes, yes]).holds is True
    assert together([no, no]).holds is False
    both = together([yes, no])
    assert (both.verdict, both.words, both.brief) == ("holds in part", "Yes. No.", "yes, no")
    assert together([yes, Verdict(None, "", tested=False)]).verdict == together([]).verdict == "not tested"


def test_verdicts_in_words():
    assert [Verdict(h, "").verdict for h in (True, None, False)] == ["holds", "holds in part", "does not hold"]
    assert Verdict(None, "", tested=False).verdict == "not tested"


# The paper's cells ----------------------------------------------------------------------------------------------------


def rising(frame):
    return count(changes(frame, "feature_f1", {"w": 0}, {"w": 1}), lambda one: one.rises, "feature_f1", "rises")


RISES = Claim("1b", "It rises.", rising)


def pair(data, selector, n_models, rise):
    return stack([columns(data, selector, n_models, 0.5 + rise * w, w=w) for w in (0, 1)])


def test_the_authors_data_count_where_they_are():
    ours, theirs = pair("blocks", "mrmr", 100, -0.1), pair("blocks-authors", "mrmr", 100, 0.1)
    assert RISES.check(ours).verdict == "does not hold"
    judged = RISES.check(stack([ours, theirs]))
    assert judged.verdict == "holds"
    assert judged.words.startswith("F1 rises in 1 of 1 cells")
    assert judged.words.endswith(" Over all our cells, with blocks: holds in part; F1 rises in 1 of 2 cells.")


@pytest.mark.parametrize(
    ("selector", "n_models", "told"),
    [("laplacian", 100, "laplacian"), ("hsic", 100, "hsic (M = 100)"), ("rfe", 100, "rfe (M = 100)")],
)
def test_cells_that_the_paper_lacks_do_not_count_but_are_reported(selector, n_models, told):
    judged = RISES.check(stack([pair("blocks", "mrmr", 100, 0.1), pair("blocks", selector, n_models, -0.1)]))
    assert judged.verdict == "holds"
    assert f"Over all our cells, with {told}: holds in part; F1 rises in 1 of 2 cells." in judged.words
    alone = RISES.check(pair("blocks", selector, n_models, 0.1))
    assert alone.verdict == "not tested"
    assert "holds; F1 rises in 1 of 1 cells." in alone.words


def test_the_papers_cells_alone_say_nothing_twice():
    table = stack([pair("blocks", s, models_of(s), 0.1) for s in SELECTORS])
    judged = RISES.check(table)
    assert "in 6 of 6 cells" in judged.words
    assert "all our cells" not in judged.words


def test_numbers_of_models_in_the_paper():
    frame = stack([columns("additive", s, m, 0.5) for s in ("mrmr", "hsic") for m in (1, 5, 10, 50, 100, 200)])

    def kept(experiment, **options):
        rows = paper_cells(frame, experiment, **options)
        return {s: sorted(set(part["n_models"])) for s, part in rows.groupby("selector")}

    every = [1, 5, 10, 50, 100, 200]
    assert kept("1a") == {"hsic": [1, 5, 10], "mrmr": every}
    assert kept("1b") == {"hsic": [5], "mrmr": every}
    assert kept("1b", any_models=True) == {"hsic": every, "mrmr": every}


# 1a -------------------------------------------------------------------------------------------------------------------


def models_table(f1, seconds=lambda m: 0.01 * m, stable=lambda m: True, selectors=SELECTORS, data="additive"):
    sizes = (1, 5, 10, 50, 100, 200)
    return stack(
        [columns(data, s, m, f1(s, m), seconds=seconds(m), stable=stable(m), seed=m) for s in selectors for m in sizes]
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
    assert "in 4 of 4 cells, and rose from M = 1 to 50 in 0 of these" in flat.words
    assert "holds in part; F1 no longer rises from M = 100 to 200 in 6 of 6 cells" in flat.words  # hsic, rfe


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
    judged = check(f"On the {data} data HSIC", table)
    assert judged.verdict == verdict
    assert f"hsic with 5 models is {hsic:.2f}" in judged.words
    assert f"tree (M = 200) on {data} {tree:.2f}" in judged.words
    other = {"additive": "non-additive", "non-additive": "additive"}[data]
    assert check(f"On the {other} data HSIC", table).verdict == "not tested"


@pytest.mark.parametrize("data", ["additive", "non-additive"])
def test_simpler_selectors_are_less_stable(data):
    def table(steady):
        """HSIC gives one set in all splits, and so do the pairs of selector and number of models in `steady`."""
        return stack(
            [
                columns(data, s, m, 0.5, stable=(s, m) in steady or s == "hsic", seed=m)
                for s in SELECTORS
                for m in (1, 5, 10, 50, 100, 200)
            ]
        )

    text = f"On the {data} data simpler selectors are"
    judged = check(text, table(set()))
    assert judged.verdict == "holds"
    assert "Stability of hsic with 5 models is 1.00" in judged.words
    assert "4 of 4 simpler selectors are below hsic" in judged.words
    # One number of models with which a selector is as stable is enough against it; RFE is no simpler selector.
    judged = check(text, table({("tree", 200), ("rfe", 5)}))
    assert judged.verdict == "holds in part"
    assert f"tree (M = 200) on {data} 1.00" in judged.words
    assert check(text, table({("tree", 200), ("mrmr", 1), ("lasso", 10)})).verdict == "does not hold"
    other = {"additive": "non-additive", "non-additive": "additive"}[data]
    assert check(f"On the {other} data simpler selectors are", table(set())).verdict == "not tested"


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
            columns("blocks", s, m, 0.5 + change[k] * (w == 1000.0), weighted=k, weight=w, stable=stable(k, w), seed=i)
            for i, (s, m) in enumerate([("mrmr", 100), ("lasso", 100), ("hsic", 5), ("rfe", 5)])
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
            columns("blocks", s, models_of(s), 0.5 - fall * (r == "inf"), constraint=c, rho=r, stable=stable(r))
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
    # Half of the relevant features can be had at most: 0.5 - fall of 0.5, against 0.5 of 1 without the constraint.
    judged = check("close to the best", constraints_table(0.25))
    assert judged.verdict == "holds"
    assert "can reach is 1 without and 0.50 under max_per_block 2, 0.50 under max_blocks 2." in judged.words
    assert "in 12 of 12 cells; the mean over cells goes from 0.50 to 0.50" in judged.words
    assert check("close to the best", constraints_table(0.27)).verdict == "holds"
    assert check("close to the best", constraints_table(0.28)).verdict == "does not hold"


def test_a_constraint_that_the_truth_keeps_has_no_say_in_what_is_near_the_best():
    low = constraints_table(0.0)
    low.loc[(low["rho"] == "inf") & (low["constraint"] == "max_blocks 4"), "feature_f1"] = 0.0
    assert check("close to the best", low).verdict == "holds"
    only = low[low["constraint"] == "max_blocks 4"]
    assert check("close to the best", only).verdict == "not tested"
    low.loc[(low["rho"] == "inf") & (low["constraint"] == "max_blocks 2"), "feature_f1"] = 0.1
    judged = check("close to the best", low)
    assert judged.verdict == "holds in part"
    assert "in 6 of 12 cells" in judged.words
    assert "tree (M = 100) on blocks, max_blocks 2 0.50 to 0.20" in judged.words


@pytest.mark.parametrize("constraint", ["max_per_block 1", "max_per_block 2", "max_blocks 1", "max_blocks 2"])
@pytest.mark.parametrize("relevant", [(1, 1, 1), (3, 1, 0), (2, 2, 0), (0, 0, 3)])
@pytest.mark.parametrize("n_select", [1, 2, 3])
def test_attainable_f1_is_that_of_all_sets(constraint, relevant, n_select):
    # Three blocks of four features; the first `relevant` of each are relevant.
    truth = {4 * b + i for b, n in enumerate(relevant) for i in range(n)}
    kind, bound = constraint.split()

    def allowed(features):
        taken = [sum(f // 4 == b for f in features) for b in range(3)]
        return (max(taken) if kind == "max_per_block" else sum(n > 0 for n in taken)) <= int(bound)

    scores = [
        2 * len(truth & set(features)) / (n_select + len(truth))
        for features in combinations(range(12), n_select)
        if allowed(features)
    ]
    assert attainable_f1(constraint, relevant, n_select) == pytest.approx(max(scores))


def test_attainable_f1_of_the_block_data():
    found = {one: best_f1(one) for one in ("max_per_block 2", "max_blocks 4", "max_blocks 2")}
    assert found == {"max_per_block 2": 0.5, "max_blocks 4": 1.0, "max_blocks 2": 0.5}


# 1d -------------------------------------------------------------------------------------------------------------------

PRIORS = ("dirichlet", "generalized", "generalized, beta = 1", "generalized, beta = 100", "hyperdirichlet")


def priors_table(f1=None, decorrelated=0.0, redundancy=0.0, seconds=1.0, stable=lambda p, d: True):
    f1 = f1 or {}
    return stack(
        [
            columns(
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
            for s, m in (("mrmr", 100), ("lasso", 100), ("hsic", 5), ("rfe", 5))
            for p in PRIORS
            for d in (False, True)
        ]
    )


def test_priors_that_do_not_differ():
    judged = check("F1 does not differ", priors_table())
    assert judged.verdict == "holds"
    assert "is the Dirichlet itself, so that its agreement proves nothing" in judged.words
    assert "it chooses another set in 0 of 80 decisions (0.0%)" in judged.words
    for prior in PRIORS[2:]:
        assert f"F1 with the prior '{prior}' is that with 'dirichlet' in 8 of 8 cells" in judged.words
    assert judged.words.count("It chooses the same set in 80 of 80 decisions (100.0%).") == 3
    assert check("F1 does not differ", priors_table({"hyperdirichlet": -0.1})).verdict == "holds in part"
    assert check("F1 does not differ", priors_table({"generalized, beta = 100": -0.1})).verdict == "holds in part"
    differ = {"hyperdirichlet": -0.1, "generalized, beta = 1": 0.1, "generalized, beta = 100": 0.1}
    assert check("F1 does not differ", priors_table(differ)).verdict == "does not hold"
    # The default generalized prior is not counted, whatever its figures.
    assert check("F1 does not differ", priors_table({"generalized": 0.3})).verdict == "holds"
    assert check("Stability does not differ", priors_table()).verdict == "holds"
    shaken = priors_table(stable=lambda p, d: p != "hyperdirichlet")
    assert check("Stability does not differ", shaken).verdict == "holds in part"


@pytest.mark.parametrize("n_other", [0, 3])
def test_shares_of_equal_sets_are_counted(n_other):
    table = priors_table()
    for prior in ("generalized", "hyperdirichlet"):
        rows = table.index[table["prior"] == prior][:n_other]
        table.loc[rows, "features"] = pd.Series([(4, 5, 6, 7)] * n_other, index=rows, dtype=object)
    judged = check("F1 does not differ", table)
    assert f"another set in {n_other} of 80 decisions ({n_other / 80:.1%})" in judged.words
    assert f"the same set in {80 - n_other} of 80 decisions ({1 - n_other / 80:.1%})" in judged.words


def test_priors_that_are_there_are_compared():
    table = priors_table()
    some = table[table["prior"].isin(["dirichlet", "hyperdirichlet"])]
    judged = check("F1 does not differ", some)
    assert judged.verdict == "holds"
    assert "generalized" not in judged.words
    default = table[table["prior"].isin(["dirichlet", "generalized"])]
    assert check("F1 does not differ", default).verdict == "not tested"


def test_decorrelation():
    table = priors_table(decorrelated=0.05, redundancy=-0.1)
    assert check("raises F1 slightly", table).verdict == "holds"
    assert check("lowers the redundancy rate", table).verdict == "holds"
    assert check("Decorrelation lowers stability", table).verdict == "does not hold"
    other = priors_table(decorrelated=0.2, redundancy=0.1, stable=lambda p, d: not d)
    assert check("raises F1 slightly", other).verdict == "holds in part"  # more than slightly
    assert check("lowers the redundancy rate", other).verdict == "does not hold"
    assert check("Decorrelation lowers stability", other).verdict == "holds in part"  # more than slightly
    assert "in 16 of 16 cells" in check("lowers the redundancy rate", table).words  # 4 cells, 4 priors


def test_hyperdirichlet_is_slow():
    judged = check("much slower", priors_table(seconds=30.0))
    assert judged.verdict == "holds"
    assert "(30.0 to 30 times); it adds 29.00 to 29.00 s" in judged.words
    assert check("much slower", priors_table(seconds=2.0)).verdict == "does not hold"
