"""What a site sends, and what pooled sites say of each other."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from ubayfs import collect_evidence, decide, exact_size, pool_evidence, require
from ubayfs.data.feature_data import FeatureData
from ubayfs.ensemble.pooling import cohort_table, pooled_halves
from ubayfs.ensemble.site import directions
from ubayfs.exceptions import EnsembleError, EnsembleWarning, InputError
from ubayfs.trust.cohorts import collect_for_pooling, leave_one_site_out, reproducibility_of_sites
from ubayfs.trust.halves import collect_halves
from ubayfs.trust.procedure import take_samples

P, N_TRUE = 60, 4
SETTINGS = {"selector": "fisher", "n_models": 30}


def hospital(seed, n=50, swapped=False):
    """Return a table of a site, with a shift of its own: features 0 to 3 are related to the target, 3 falls with it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, P))
    y = X[:, :N_TRUE] @ np.array([1, 1, 1, -1]) + 0.7 * rng.normal(size=n) > 0
    return X + rng.normal(size=P), (y ^ swapped).astype(int)


@pytest.fixture(scope="module")
def sites():
    """What four sites send."""
    return {name: collect_for_pooling(*hospital(seed), **SETTINGS) for seed, name in enumerate(["A", "B", "C", "D"])}


@pytest.fixture(scope="module")
def selection(sites):
    return decide(pool_evidence(sites), max_size=N_TRUE)


def test_what_is_sent_are_votes_and_directions_of_features_with_enough_votes(sites):
    X, y = hospital(0)
    data = FeatureData.from_table(X, y)
    whole = collect_evidence(data, **SETTINGS, n_features_per_model=15, random_state=0)  # a quarter of 60
    sent = sites["A"]
    votes = np.where(whole.counts >= 5, whole.counts, 0)
    assert np.array_equal(sent.counts, votes)
    assert np.array_equal(sent.site.directions, np.where(votes > 0, directions(data, np.arange(P)), 0))
    repeats = sent.site.repeats
    assert (repeats.n_shuffles, repeats.n_splits) == (20, 20)
    assert repeats.votes.data.min() >= 5
    halves = collect_halves(data, {**SETTINGS, "n_features_per_model": 15}, 20, 0)
    for number in (0, 7):
        for half, samples in enumerate((halves.samples[number], ~halves.samples[number])):
            found = halves.pairs[number][half].counts
            votes, signs, n_models = repeats.row(20 + 2 * number + half)
            assert n_models == 30
            assert np.array_equal(votes, np.where(found >= 5, found, 0))
            expected = directions(take_samples(data, samples), np.arange(P))
            assert np.array_equal(signs, np.where(votes > 0, expected, 0))


@pytest.mark.parametrize("role", ["measured", "adjust_for"])
def test_a_site_reads_its_table_as_any_ensemble(role):
    X, y = hospital(0)
    arguments = {**SETTINGS, role: ["x0", "x1"]}
    whole = collect_evidence(X, y, **arguments, n_features_per_model=14, random_state=0)  # a quarter of 58
    sent = collect_for_pooling(X, y, **arguments, n_vote_shuffles=0, n_splits=0, min_votes_sent=1)
    assert (sent.measured, sent.adjust_for) == (whole.measured, whole.adjust_for)
    assert np.array_equal(sent.feature_names, whole.feature_names)
    assert np.array_equal(sent.counts, whole.counts)


def test_nothing_is_sent_that_may_hold_a_value_of_a_sample(sites, tmp_path):
    """No array has an entry per sample, and no number or text of the file is that of a sample."""
    X, y = hospital(5, n=47)
    names = [f"patient {i}" for i in range(len(X))]
    data = replace(FeatureData.from_table(X, y), sample_names=np.array(names, dtype=object))
    sent = collect_for_pooling(data, **SETTINGS, n_vote_shuffles=2, n_splits=2)
    sent.save(tmp_path / "sent.npz")
    assert not sent.notes
    assert not sent.failures
    with np.load(tmp_path / "sent.npz") as file:
        text = file["metadata"].tobytes().decode()
        arrays = {name: file[name] for name in file.files if name != "metadata"}
    assert all(47 not in array.shape for array in arrays.values())
    assert all(array.dtype.kind in "iub" for array in arrays.values())
    assert not any(name in text for name in names)
    assert not any(f"{value:.6g}"[:7] in text for value in X.ravel())


def test_the_same_call_sends_the_same_and_a_checkpoint_is_used(tmp_path):
    X, y = hospital(6)
    options = {**SETTINGS, "n_vote_shuffles": 2, "n_splits": 2}
    first = collect_for_pooling(X, y, **options, checkpoint=tmp_path)
    again = collect_for_pooling(X, y, **options, checkpoint=tmp_path)
    plain = collect_for_pooling(X, y, **options)
    for other in (again, plain):
        records = [each.record() for each in (first, other)]
        assert records[0][0] == records[1][0]
        assert all(np.array_equal(records[0][1][name], array) for name, array in records[1][1].items())


def test_who_stops_it_gets_what_is_done():
    X, y = hospital(6)
    seen = []
    sent = collect_for_pooling(X, y, **SETTINGS, on_progress=lambda done, total: seen.append((done, total)) or done < 5)
    assert seen[-1] == (5, 41)
    assert (sent.site.repeats.n_shuffles, sent.site.repeats.n_splits) == (4, 0)


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"n_splits": -1}, "n_splits"),
        ({"min_votes_sent": 0}, "min_votes_sent"),
        ({"min_votes_sent": 31}, "min_votes_sent"),  # of 30 models
        ({"part": (1, 2)}, "part"),
        ({"max_size": 3}, "max_size"),
        ({"train_size": 2.0}, "train_size"),
    ],
)
def test_wrong_arguments_are_refused(arguments, argument):
    with pytest.raises(InputError) as refused:
        collect_for_pooling(*hospital(0), **{**SETTINGS, **arguments})
    assert refused.value.argument == argument


def test_a_site_with_one_class_is_refused_before_any_work():
    X, _ = hospital(0)
    with pytest.raises(InputError) as refused:
        collect_for_pooling(X, np.ones(len(X), dtype=int), task="binary", **SETTINGS)
    assert refused.value.argument == "y"


def test_pooled_halves_are_the_pool_of_the_halves(sites):
    """Also where sites sent different numbers of shuffles and halves."""
    few = collect_for_pooling(*hospital(0), **SETTINGS, n_vote_shuffles=3, n_splits=4)
    pairs = pooled_halves(pool_evidence({**sites, "A": few}))
    assert len(pairs) == 4
    parts = {}
    for name, sent in sites.items():
        votes, signs, n_models = sent.site.repeats.row(20 + 2 * 3 + 1)
        site = replace(sent.site, directions=signs)
        parts[name] = replace(sent, votes=votes, site=site, settings={**sent.settings, "n_models": n_models})
    assert np.array_equal(pairs[3][1].counts, pool_evidence(parts).counts)


def test_planted_features_are_found_and_pooled_sites_agree(selection):
    assert set(selection.features) == {f"x{i}" for i in range(N_TRUE)}
    again = reproducibility_of_sites(selection)
    assert again.n_used == 20
    assert again.selected_again[1] > 3
    agreement = leave_one_site_out(selection)
    assert agreement.sites == ("A", "B", "C", "D")
    assert not agreement.is_lower_bound
    expected, low, high = agreement.selected_again
    assert 0 <= low < expected <= high <= N_TRUE
    same, known = agreement.same_direction.T
    assert np.array_equal(same, known)
    assert (known > 0).all()


def test_the_range_of_a_further_site_is_that_of_the_formula(selection):
    agreement = leave_one_site_out(selection)
    a, k = agreement.reproducibility.agreements, N_TRUE
    m = a.mean()
    h = 2 * np.sqrt((max(m, 0) * (1 - m) / k + 0.01) * (1 / 4 + 1))
    again = [np.clip(k * (phi + (1 - phi) * k / P), 0, k) for phi in (m, m - h, m + h)]
    assert agreement.selected_again == pytest.approx(again)


def test_required_members_do_not_count(sites):
    chosen = decide(pool_evidence(sites), constraints=[exact_size(N_TRUE), require(["x50"])])
    assert leave_one_site_out(chosen).size == N_TRUE - 1


def opposed(evidence):
    return [advice.facts["site"] for advice in evidence.advice if advice.code == "site_opposed"]


def test_swapped_classes_are_noticed_and_nothing_is_flipped(sites):
    assert opposed(pool_evidence(sites)) == []
    wrong = collect_for_pooling(*hospital(1, swapped=True), **SETTINGS)
    with pytest.warns(EnsembleWarning, match="swapped"):
        pooled = pool_evidence({**sites, "B": wrong})
    assert opposed(pooled) == ["B"]
    table = cohort_table(pooled)
    assert np.array_equal(table.directions[1], wrong.site.directions)
    assert (table.concordance[:N_TRUE] < 1).all()


def test_seldom_is_a_site_of_noise_taken_for_swapped():
    """About 5 of 100 poolings name one, whatever the number of sites; sites judged alone at 5 % would be 15 or more."""
    factors, sites = np.random.default_rng(0).normal(size=(5, P)), []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 5)) @ factors + rng.normal(size=(40, P))  # features are correlated
        sites.append(collect_for_pooling(X, np.tile([0, 1], 20), **SETTINGS, n_splits=0))
    rng = np.random.default_rng(1)
    for n_sites in (2, 5):
        alarms = 0
        for _ in range(60):
            chosen = rng.choice(len(sites), n_sites, replace=False)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                alarms += bool(opposed(pool_evidence({f"{i}": sites[i] for i in chosen})))
        assert alarms <= 6


def test_sites_without_signal_are_seldom_taken_for_swapped():
    """Although the others agree with each other: one of 40 by chance."""
    alarms = 0
    good = {name: collect_for_pooling(*hospital(seed), **SETTINGS, n_splits=0) for seed, name in enumerate("AB")}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        noise = collect_for_pooling(rng.normal(size=(40, P)), np.tile([0, 1], 20), **SETTINGS, n_splits=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alarms += "N" in opposed(pool_evidence({**good, "N": noise}))
    assert alarms <= 2


def test_what_needs_pooled_evidence_says_so(sites):
    X, y = hospital(0)
    plain = decide(collect_evidence(X, y, **SETTINGS, random_state=0), max_size=2)
    for function in (leave_one_site_out, reproducibility_of_sites):
        with pytest.raises(InputError) as refused:
            function(plain)
        assert refused.value.argument == "selection"
    without = {name: replace(sent, site=replace(sent.site, repeats=None)) for name, sent in sites.items()}
    with pytest.raises(InputError, match="n_splits"):
        reproducibility_of_sites(decide(pool_evidence(without), max_size=2))


def test_sites_that_cannot_keep_the_constraints_are_said(sites):
    names = np.array([f"y{i}" if i > 1 else f"x{i}" for i in range(P)], dtype=object)
    renamed = {name: replace(sent, feature_names=names) if name != "A" else sent for name, sent in sites.items()}
    chosen = decide(pool_evidence(renamed), constraints=[exact_size(2), require(["y5"])])
    assert leave_one_site_out(chosen).reproducibility.n_used == 3
    few = decide(
        pool_evidence({name: renamed[name] for name in "AB"}), constraints=[exact_size(2), require(["y5", "x9"])]
    )
    with pytest.raises(EnsembleError):
        leave_one_site_out(few)
