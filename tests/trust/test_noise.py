"""Noise from votes and null votes, against the formulas written out one feature at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from ubayfs import Evidence, InputError, max_size, require
from ubayfs.attribution import attribution
from ubayfs.trust.ensembles import NullEnsembles
from ubayfs.trust.noise import Noise, noise_of
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
    assert estimate.n_data + estimate.n_filled == len(selection.features)
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


def test_what_it_rests_on_is_said():
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
