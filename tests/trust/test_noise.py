"""Noise from votes and null votes, against the formulas written out one feature at a time."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import SeedSequence

from amounts import examples
from ubayfs import Evidence, InputError, estimate_noise, max_size, require
from ubayfs.attribution import attribution
from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import EnsembleError
from ubayfs.trust.ensembles import NullEnsembles, collect_null
from ubayfs.trust.noise import Noise, noise_of
from ubayfs.trust.procedure import shuffled
from ubayfs.workflow import Decision


def slow(counts, null, members):
    """Return p, q of all features, share, expected and cautious, as TRUST.md writes them."""
    n_shuffles, n_features = len(null), len(counts)

    def n_above(votes, t):
        return sum(1 for j in range(n_features) if votes[j] >= t)

    def v(t):
        return sum(n_above(null[b], t) for b in range(n_shuffles)) / n_shuffles

    def q_of(j, ratio):
        return min(min(1.0, ratio(t)) for t in range(int(counts[j]) + 1))

    q = [
        q_of(j, lambda t: (1 + sum(n_above(row, t) for row in null)) / (n_shuffles * n_above(counts, t)))
        for j in range(n_features)
    ]
    q0 = [q_of(j, lambda t: v(t) / n_above(counts, t)) for j in range(n_features)]
    total = sum(counts)
    share = 1 - sum((1 - q0[j]) * counts[j] for j in range(n_features)) / total if total else 1.0
    p = (1 + sum(sum(c**2 for c in row) >= sum(c**2 for c in counts) for row in null)) / (n_shuffles + 1)
    size = len(members)
    expected = cautious = 0.0
    if size:
        t = min(counts[j] for j in members)
        cautious = min(size, v(t) * size / n_above(counts, t))
        expected = min(cautious, max(share * cautious, sum(q0[j] for j in members)))
    if p > 0.05:
        q, expected, cautious = [1.0] * n_features, cautious, size
    return p, q, share, expected, cautious


def null_of(counts, n_models=50, **more):
    counts = np.array(counts, dtype=np.int32)
    return NullEnsembles(counts, np.full(len(counts), n_models, dtype=np.int32), len(counts), {}, **more)


def decide(evidence, **arguments):
    return Decision(**arguments).make(evidence)  # without warnings


def evidence_of(counts, n_models=50):
    return Evidence.from_sets(np.arange(n_models)[:, None] < np.asarray(counts)[None, :])


votes = st.integers(0, 50)


@st.composite
def problems(draw):
    n_features = draw(st.integers(1, 8))
    n_shuffles = draw(st.sampled_from([3, 19, 25]))
    low = draw(st.sampled_from([3, 20, 50]))
    counts = draw(st.lists(votes, min_size=n_features, max_size=n_features))
    row = st.lists(st.integers(0, low), min_size=n_features, max_size=n_features)
    return counts, draw(st.lists(row, min_size=n_shuffles, max_size=n_shuffles))


@settings(max_examples=examples(50))
@given(problems())
def test_every_number_is_that_of_the_formulas(problem):
    counts, null = problem
    noise = noise_of(evidence_of(counts), null_of(null))
    selection = decide(evidence_of(counts), constraints=max_size(4, rho=10))
    estimate = noise.estimate(selection)
    members = [i for i in selection.indices if counts[i] > 0]
    p, q, share, expected, cautious = slow(counts, null, members)
    assert noise.p_value == pytest.approx(p)
    assert noise.q_values == pytest.approx(q)
    assert noise.share == pytest.approx(share)
    assert (estimate.expected, estimate.cautious) == (pytest.approx(expected), pytest.approx(cautious))
    assert estimate.n_data == len(members)
    assert len(estimate.by_data) + len(estimate.filled) == len(selection.features)
    assert noise.supported == sum(value <= 0.2 for value in q)
    assert noise.passes == (p <= 0.05)


def test_members_by_constraints_and_prior_are_counted_apart():
    counts = [40, 30, 20, 10, 0, 5]
    null = np.tile([8, 3, 3, 3, 3, 2], (20, 1))
    evidence = evidence_of(counts)
    noise = noise_of(evidence, null_of(null))
    selection = decide(evidence, weights={"x3": 200}, constraints=[max_size(4, rho=np.inf), require("x5")])
    estimate = noise.estimate(selection)
    assert set(selection.features) == {"x0", "x1", "x3", "x5"}
    assert (estimate.by_data, estimate.filled) == (("x0", "x1"), ("x3", "x5"))
    assert (estimate.expected, estimate.cautious) == pytest.approx(slow(counts, null, [0, 1])[3:])
    assert noise.estimate(selection, attribution(selection)) == estimate


def test_an_empty_set_has_no_noise():
    evidence = Evidence.from_sets(np.zeros((4, 3), dtype=bool))
    noise = noise_of(evidence, null_of(np.zeros((20, 3))))
    estimate = noise.estimate(decide(evidence, constraints=max_size(1, rho=5)))
    assert (estimate.expected, estimate.cautious, estimate.n_data) == (0.0, 0.0, 0)
    assert (noise.p_value, noise.share, noise.supported) == (1.0, 1.0, 0)


def test_votes_of_fewer_models_count_in_proportion():
    evidence = evidence_of([40, 30, 2], n_models=50)
    counts = np.array([[10, 3, 0]] * 20, dtype=np.int32)
    null = NullEnsembles(counts, np.full(20, 20, dtype=np.int32), 20, {})
    assert noise_of(evidence, null).null_counts.tolist() == [[25, 8, 0]] * 20
    assert noise_of(evidence, null).q_values == pytest.approx(noise_of(evidence, null_of([[25, 8, 0]] * 20)).q_values)


def test_few_shuffles_cannot_pass():
    evidence = evidence_of([50, 50, 0, 0])
    few, enough = (noise_of(evidence, null_of(np.zeros((n, 4)))) for n in (18, 19))
    assert (few.passes, few.supported, [a.code for a in few.advice]) == (False, 0, ["few_shuffles"])
    assert (enough.passes, enough.supported, enough.advice) == (True, 2, ())
    assert "n_shuffles=19" in str(few.advice[0])


def test_what_it_rests_on_is_stated():
    evidence, rows = evidence_of([50, 50, 0, 0]), np.zeros((20, 4), dtype=np.int32)
    null = NullEnsembles(rows, np.full(20, 50, dtype=np.int32), 30, {}, ("it broke",))
    noise = noise_of(evidence, null)
    assert not noise.complete
    assert [(a.code, a.facts.get("n_done")) for a in noise.advice] == [
        ("repeats_failed", None),
        ("repeats_cancelled", 21),
    ]


def test_other_votes_and_other_ensembles_are_refused():
    noise = noise_of(evidence_of([40, 30, 2]), null_of(np.zeros((20, 3))))
    with pytest.raises(InputError) as error:
        noise.estimate(decide(evidence_of([40, 30, 3]), constraints=max_size(1)))
    assert error.value.argument == "selection"
    with pytest.raises(InputError) as error:
        noise_of(evidence_of([40, 30]), noise.null)
    assert error.value.argument == "null"


def test_noise_is_a_public_name():
    import ubayfs

    assert ubayfs.Noise is Noise


# -- more than two classes: squares of votes count by what lies between the classes ------------------------------------


def test_squares_of_votes_count_by_the_shares_between_classes(rng):
    counts, null = rng.integers(0, 51, size=6), rng.integers(0, 51, size=(20, 6))
    shares, of_shuffles = rng.uniform(size=6), rng.uniform(size=(20, 6))
    squares = np.array(
        [sum(c**2 * r for c, r in zip(*row, strict=True)) for row in zip(null, of_shuffles, strict=True)]
    )
    own = sum(c**2 * r for c, r in zip(counts, shares, strict=True))
    noise = noise_of(evidence_of(counts), null_of(null, shares=shares, squares=squares))
    assert noise.p_value == (1 + sum(square >= own for square in squares)) / 21
    halved = noise_of(evidence_of(counts), null_of(null // 2, 25, shares=shares, squares=squares / 4))
    assert halved.p_value == noise.p_value


def one_class_each(rng, n_classes=4, n_samples=88, n_features=12):
    """Every feature marks one class: votes spread over all of them."""
    y = np.arange(n_samples) % n_classes
    return rng.normal(size=(n_samples, n_features)) + 1.2 * (np.arange(n_features) % n_classes == y[:, None]), y


@pytest.mark.parametrize("selector", ["mrmr", "fisher"])
def test_many_related_features_of_many_classes_pass(selector):
    passed, by_votes_alone = 0, 0
    for seed in range(4):
        X, y = one_class_each(np.random.default_rng(seed))
        noise = estimate_noise(X, y, selector=selector, n_models=20, random_state=seed, n_jobs=1)
        passed += noise.passes
        by_votes_alone += replace(noise, null=replace(noise.null, shares=None, squares=None)).passes
    assert passed == 4
    assert by_votes_alone < 4  # what the shares are for


def test_noise_of_many_classes_does_not_pass():
    passed = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 12)), np.arange(60) % 4
        passed += estimate_noise(X, y, selector="fisher", n_models=10, random_state=seed, n_jobs=1).passes
    assert passed <= 5  # 30 with probability 1 in 21: more in 1 % of cases


def test_shares_are_of_the_shuffled_target_and_of_the_target_itself():
    X, y = one_class_each(np.random.default_rng(0))
    data = FeatureData.from_table(X, y)
    null = collect_null(data, {"selector": "fisher", "n_models": 5}, 3, random_state=1)
    np.testing.assert_allclose(null.shares, between(X, y))
    for b in range(3):
        rng = np.random.default_rng(SeedSequence(1, spawn_key=(2**31, b, 0)))
        other = np.asarray(shuffled(data.target, None, rng).values)
        np.testing.assert_allclose(null.squares[b], null.counts[b].astype(float) ** 2 @ between(X, other))


def between(X, y):
    """Return 1 - scatter within the classes / scatter, of each column."""
    within = sum(((X[y == c] - X[y == c].mean(axis=0)) ** 2).sum(axis=0) for c in np.unique(y))
    return 1 - within / ((X - X.mean(axis=0)) ** 2).sum(axis=0)


def test_votes_alone_count_for_two_classes_and_beside_covariates(rng):
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 3
    ensemble = {"selector": "fisher", "n_models": 4}
    assert collect_null(FeatureData.from_table(X, y % 2), ensemble, 2, random_state=0).shares is None
    adjusted = FeatureData.from_table(X, y, adjust_for=rng.normal(size=40))
    assert collect_null(adjusted, ensemble, 2, random_state=0).shares is None


def test_shuffles_without_squares_are_judged_by_their_votes(rng):
    data = FeatureData.from_table(*one_class_each(rng))
    ensemble = {"selector": "fisher", "n_models": 4}
    before = replace(collect_null(data, ensemble, 2, random_state=0), shares=None, squares=None)
    assert collect_null(data, ensemble, 3, random_state=0, known=before).squares is None
    full = collect_null(data, ensemble, 3, random_state=0, known=collect_null(data, ensemble, 2, random_state=0))
    np.testing.assert_array_equal(full.squares, collect_null(data, ensemble, 3, random_state=0).squares)


def test_shares_survive_a_file(rng):
    null = collect_null(FeatureData.from_table(*one_class_each(rng)), {"n_models": 4}, 2, random_state=0)
    again = NullEnsembles.from_arrays(null.to_arrays())
    np.testing.assert_array_equal(again.shares, null.shares)
    np.testing.assert_array_equal(again.squares, null.squares)
    with pytest.raises(EnsembleError, match="another shape"):
        NullEnsembles.from_arrays({**null.to_arrays(), "squares": null.squares[:1]})
