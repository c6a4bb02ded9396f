"""Evidence of several sites: the rule against loops, invariance, planted conflicts, what is refused."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from ubayfs import Evidence, Survival, collect_evidence, decide, max_size, pool_evidence
from ubayfs.data.feature_data import FeatureData
from ubayfs.ensemble.pooling import cohort_table, concordant_votes, each_site_and_others
from ubayfs.ensemble.site import Site, directions
from ubayfs.exceptions import EnsembleError, InputError

NAMES = np.array(list("abcdef"), dtype=object)
CODING = {"task": "binary", "classes": ["no", "yes"], "ordered": False}


def site(votes, signs, names=NAMES, n_models=100, n_effective=50.0, coding=CODING, data="", constant=(), **about):
    """Return what a site sends: votes alone."""
    names = np.array(list(names), dtype=object)
    known = Site(coding, 60, (("no", 30), ("yes", 30)), n_effective, np.array(signs, dtype=np.int8))
    settings = {"n_models": n_models, "task": coding["task"], "n_samples": 60}
    settings |= {"data_fingerprint": data} if data else {}
    sets = Evidence.from_sets(np.zeros((1, len(names)), dtype=bool)).sets[:0]
    marks = np.isin(names, list(constant))
    return Evidence(sets, names, marks, settings=settings | about, votes=np.array(votes), site=known)


def by_hand(sites, sized=True):
    """Return pooled votes by name, one feature after the other."""
    n_models = round(sum(each.n_models for each in sites) / len(sites))
    found = {}
    for name in {name for each in sites for name in each.feature_names}:
        mean = signed = total = strength = n_measured = 0.0
        for each in sites:
            place = list(each.feature_names).index(name) if name in each.feature_names else None
            if place is None or each.constant[place]:
                continue
            w = each.site.n_effective**0.25 if sized else 1.0
            gain = math.log(1 + 100 * each.counts[place] / each.n_models / 3)
            mean, total, n_measured = mean + w * gain, total + w, n_measured + 1
            signed += w * gain * each.site.directions[place]
            strength += w * gain * abs(each.site.directions[place])
        if not total:
            found[name] = 0.0
            continue
        agreed = abs(signed) / strength if strength else 1.0
        x = mean / total * (1 + agreed) / 2 * math.sqrt(n_measured / len(sites))
        found[name] = n_models / 100 * 3 * (math.exp(x) - 1)
    return found


@st.composite
def sites(draw):
    """Return two to four sites, each with some of six features."""
    made = []
    for _ in range(draw(st.integers(2, 4))):
        names = ["a", *draw(st.lists(st.sampled_from("bcdef"), unique=True))]
        k, n_models = len(names), draw(st.integers(1, 150))
        votes = draw(st.lists(st.integers(0, n_models), min_size=k, max_size=k))
        signs = draw(st.lists(st.sampled_from((-1, 0, 1)), min_size=k, max_size=k))
        size, constant = draw(st.floats(1, 1000)), draw(st.lists(st.sampled_from("bcdef"), max_size=2))
        made.append(site(votes, signs, names, n_models, size, constant=constant))
    return made


@pytest.mark.filterwarnings("ignore::ubayfs.exceptions.EnsembleWarning")
@given(sites(), st.sampled_from(["size", "equal"]), st.randoms())
def test_pooled_votes_are_those_of_the_formula_whatever_the_order_of_sites(made, weights, rng):
    named = {f"site {i}": each for i, each in enumerate(made)}
    pooled = pool_evidence(named, weights=weights)
    expected = by_hand(made, weights == "size")
    assert pooled.counts.tolist() == pytest.approx([expected[name] for name in pooled.feature_names], abs=1e-9)
    assert pooled.counts.min() >= 0
    assert pooled.counts.max() <= pooled.n_models + 1e-9
    order = list(named)
    rng.shuffle(order)
    again = pool_evidence({name: named[name] for name in order}, weights=weights)
    assert np.array_equal(again.counts, pooled.counts)
    assert np.array_equal(again.feature_names, pooled.feature_names)


@pytest.mark.filterwarnings("ignore::ubayfs.exceptions.EnsembleWarning")
@given(sites())
def test_the_sum_is_the_sum(made):
    pooled = pool_evidence({str(i): each for i, each in enumerate(made)}, rule="sum")
    for name, votes in zip(pooled.feature_names, pooled.counts, strict=True):
        here = (each.counts[list(each.feature_names).index(name)] for each in made if name in each.feature_names)
        assert votes == sum(here)
    assert pooled.n_models == sum(each.n_models for each in made)


def test_unanimous_sites_give_all_votes_and_opposed_ones_about_nothing():
    up, down = site([100] * 6, [1] * 6), site([100] * 6, [1, 1, 1, -1, -1, 0])
    pooled = pool_evidence({"Graz": up, "Oslo": down})
    half = 3 * (math.sqrt(1 + 100 / 3) - 1)  # half on the scale of logarithms
    assert pooled.counts.tolist() == pytest.approx([100, 100, 100, half, half, 100])
    assert cohort_table(pooled).concordance.tolist() == [1, 1, 1, 0, 0, 1]
    (note,) = (each for each in pooled.advice if each.code == "directions_conflict")
    assert note.facts == {"n": 2, "features": ["d", "e"]}


def test_a_feature_counts_less_the_fewer_sites_measure_it():
    votes, up = np.array([[90.0, 90.0], [90.0, 0.0]]), np.ones((2, 2), dtype=np.int8)
    everywhere, here = concordant_votes(votes, up, np.array([[True, True], [True, False]]), np.array([3.0, 1.0]))
    assert everywhere == pytest.approx(90)
    assert here == pytest.approx(3 * (math.exp(math.log(31) * math.sqrt(0.5)) - 1))


def test_a_constant_feature_counts_as_not_measured_and_one_that_is_so_everywhere_as_constant():
    sites = {"Graz": site([9] * 6, [1] * 6, constant="ab"), "Oslo": site([9] * 6, [1] * 6, constant="a")}
    pooled = pool_evidence(sites)
    assert cohort_table(pooled).measured.tolist() == [[False, False, *[True] * 4], [False, *[True] * 5]]
    assert pooled.constant.tolist() == [True, *[False] * 5]


def test_sites_that_are_left_out_are_compared_with_the_pool_of_the_others():
    sites = {name: site([n] * 6, [1] * 6) for name, n in {"Graz": 10, "Lund": 40, "Oslo": 90}.items()}
    pairs = each_site_and_others(pool_evidence(sites))
    assert [own.counts[0] for own, _ in pairs] == pytest.approx([10, 40, 90])
    others = pool_evidence({name: sites[name] for name in ("Lund", "Oslo")})
    assert np.array_equal(pairs[0][1].counts, others.counts)


def test_pooled_evidence_decides_and_comes_back_from_a_file(tmp_path):
    sites = {"Oslo": site([90, 80, 0, 0], [1, -1, 0, 0], "abcd"), "Graz": site([70, 75, 20], [1, 1, 1], "abx")}
    pooled = pool_evidence(sites)
    pooled.save(tmp_path / "pooled.npz")
    again = Evidence.load(tmp_path / "pooled.npz")
    assert np.array_equal(again.counts, pooled.counts)
    assert again.advice == pooled.advice
    assert list(again.cohorts) == ["Graz", "Oslo"]
    assert np.array_equal(cohort_table(again).directions, cohort_table(pooled).directions)
    selection = decide(again, constraints=max_size(2))
    assert selection.features == ("a", "b")
    assert type(selection).from_dict(selection.to_dict()).counts.tolist() == selection.counts.tolist()


def test_only_sums_of_sets_do_for_the_hyperdirichlet_prior():
    rng = np.random.default_rng(0)
    parts = {}
    for name in ("Graz", "Oslo"):
        X = pd.DataFrame(rng.normal(size=(30, 4)), columns=[*"abc", name])
        parts[name] = collect_evidence(X, X["a"] + 0.5 * X["b"] > 0, selector="fisher", n_models=9, random_state=0)
    summed = pool_evidence(parts, rule="sum")
    assert summed.sets.shape == (18, 5)
    assert dict(zip(summed.feature_names, summed.counts, strict=True))["Oslo"] == parts["Oslo"].counts[3]
    assert decide(summed, prior="hyperdirichlet", max_size=1, random_state=0).features == ("a",)
    with pytest.raises(InputError) as refused:
        decide(pool_evidence(parts), prior="hyperdirichlet", max_size=1)
    assert refused.value.argument == "prior"


OTHER = {**CODING, "classes": ["yes", "no"]}
REFUSED = {
    "one site": {"Oslo": site([9] * 6, [1] * 6)},
    "no evidence": {"Oslo": 1, "Graz": 2},
    "other classes": {"Oslo": site([9] * 6, [1] * 6), "Graz": site([9] * 6, [1] * 6, coding=OTHER)},
    "another task": {
        "Oslo": site([9] * 6, [1] * 6),
        "Graz": site([9] * 6, [1] * 6, coding={"task": "survival", "classes": [], "ordered": False}),
    },
    "the same data": {"Oslo": site([9] * 6, [1] * 6, data="x"), "Graz": site([8] * 6, [1] * 6, data="x")},
    "votes beside other features": {
        "Oslo": site([9] * 6, [1] * 6, measured=["TP53"]),
        "Graz": site([8] * 6, [1] * 6),
    },
    "nothing in common": {"Oslo": site([9] * 6, [1] * 6), "Graz": site([9] * 6, [1] * 6, "uvwxyz")},
    "only what is constant": {"Oslo": site([9] * 6, [1] * 6), "Graz": site([9, 9], [1, 1], "az", constant="a")},
    "sets of another ensemble": {
        "Oslo": site([9] * 6, [1] * 6),
        "Graz": Evidence.from_sets(np.eye(6, dtype=bool), NAMES),
    },
    "pooled": {
        "Oslo": site([9] * 6, [1] * 6),
        "both": pool_evidence({"Graz": site([9] * 6, [1] * 6), "Lund": site([9] * 6, [1] * 6)}),
    },
}


@pytest.mark.parametrize("sites", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_pooled_is_refused(sites):
    with pytest.raises(InputError) as refused:
        pool_evidence(sites)
    assert refused.value.argument == "evidence"


def test_votes_without_sets_cannot_be_merged():
    with pytest.raises(EnsembleError, match="pool_evidence"):
        site([9] * 6, [1] * 6).merge(site([9] * 6, [1] * 6))


# -- what a site knows of its samples ----------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.booleans())
def test_directions_are_those_of_the_area_under_the_curve(seed, gaps):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [7, 5])
    X = rng.integers(0, 4, size=(12, 8)).astype(float)
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    data = FeatureData.from_table(X, y, missing="available", max_missing=1.0)
    found = directions(data, np.arange(8))
    for j, sign in enumerate(found):
        there = ~np.isnan(X[:, j])
        if len(set(y[there])) == 2:
            assert sign == np.sign(round(roc_auc_score(y[there], X[there, j]) - 0.5, 12))


def test_directions_are_beyond_covariates():
    rng = np.random.default_rng(0)
    batch = np.repeat([0.0, 1.0], 100)
    y = (rng.random(200) < np.where(batch > 0, 0.8, 0.2)).astype(int)
    X = (3 * batch - y + 0.3 * rng.normal(size=200))[:, None]
    plain, adjusted = (FeatureData.from_table(X, y, adjust_for=each) for each in (None, batch))
    assert [directions(data, np.arange(1))[0] for data in (plain, adjusted)] == [1, -1]


def test_directions_of_survival_and_numbers_and_none_of_three_classes():
    x = np.arange(1.0, 31)
    X = np.column_stack([x, -x])
    y = {"numbers": x**3 / 7, "survival": Survival(x, np.ones(30)), "classes": np.tile([0, 1, 2], 10)}
    found = {name: directions(FeatureData.from_table(X, each), np.arange(2)).tolist() for name, each in y.items()}
    # High values live longest: the hazard falls with them.
    assert found == {"numbers": [1, -1], "survival": [-1, 1], "classes": [0, 0]}


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([0] * 30 + [1] * 10, 4 * 30 * 10 / 40),
        ([0] * 20 + [1] * 10 + [2] * 10, 40 * (1 - 0.25 - 2 * 0.0625) * 3 / 2),
        (np.linspace(0.1, 1.2, 40), 40.0),
        (Survival(np.arange(1.0, 41), np.tile([0, 1], 20)), 20.0),
    ],
)
def test_effective_numbers_of_samples(y, expected):
    X = np.random.default_rng(0).normal(size=(40, 3))
    assert Site.of(FeatureData.from_table(X, y), np.arange(0)).n_effective == pytest.approx(expected)


def test_merged_evidence_keeps_what_is_known_of_its_samples():
    X = np.random.default_rng(0).normal(size=(40, 6))
    y = X[:, 0] + X[:, 1] > 0
    parts = [
        collect_evidence(X, y, selector="fisher", n_models=5, n_features_per_model=2, random_state=seed)
        for seed in (0, 1)
    ]
    merged = parts[0].merge(parts[1])
    voted = merged.counts > 0
    assert np.array_equal(merged.site.directions != 0, voted)
    assert merged.merge(Evidence.from_sets(np.eye(6, dtype=bool))).site is None


def test_classes_that_are_the_same_numbers_are_the_same():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    codings = [Site.of(FeatureData.from_table(X, each), np.arange(0)).coding for each in (y, y.astype(float))]
    assert codings[0] == codings[1] == {"task": "binary", "classes": ["0", "1"], "ordered": False}
    other = replace(Site.of(FeatureData.from_table(X, y), np.arange(0)), coding=OTHER)
    assert other.coding != codings[0]
