"""Sizes that the data tell: in the estimator, in constraints and in folds."""

import numpy as np
import pytest

import ubayfs
from ubayfs import UBayFSSelector, max_size
from ubayfs.constraints.sizes import asks_for_supported, with_supported
from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import ConstraintError, InputError, OptimizationWarning
from ubayfs.trust.cross_validation import Options, validate_procedure
from ubayfs.trust.ensembles import NullEnsembles
from ubayfs.trust.noise import Noise, sized_in_parts, supported_size
from ubayfs.trust.procedure import Procedure
from ubayfs.workflow import Decision

SETTINGS = {"selector": "fisher", "n_models": 20, "n_features_per_model": 3}


@pytest.fixture(scope="module")
def planted():
    """Two strong signals among 30 features."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(100, 30)), np.repeat([0, 1], 50)
    X[:, :2] += 3 * y[:, None]
    return X, y


def noise(counts, null):
    counts, null = np.array(counts), np.array(null, dtype=np.int32)
    names = np.array([f"x{i}" for i in range(len(counts))], dtype=object)
    return Noise(names, counts, 20, NullEnsembles(null, np.full(len(null), 20, dtype=np.int32), len(null), {}))


def test_the_size_is_the_number_of_supported_features_within_bounds():
    strong = noise([20, 20, 20, 0, 0, 0], np.ones((20, 6)))
    assert strong.supported == 3
    assert supported_size(strong) == (3, ())
    assert supported_size(strong, most=2) == (2, ())
    size, (advice,) = supported_size(noise([3, 3, 3, 3, 3, 3], np.full((20, 6), 3)))
    assert (size, advice.code) == (1, "nothing_supported")
    assert "no feature" in str(advice)


def test_votes_may_differ_although_no_feature_stands_out():
    """Concentrated more than in any shuffle, but each shuffle has some feature with the most votes, too."""
    found = noise([6, 6, 6, 0, 0, 0], np.tile([7, 1, 1, 1, 1, 1], (20, 1)))
    assert (found.passes, found.supported) == (True, 0)
    size, (advice,) = supported_size(found)
    assert (size, advice.code) == (1, "no_feature_stands_out")
    assert advice.facts["smallest"] == found.q_values.min() > 0.2
    assert "p = 0.048" in str(advice)
    assert "support no feature" not in str(advice)


def test_a_number_takes_the_place_of_the_word_and_another_one_its_place():
    constraints = (max_size("supported", rho=5.0), max_size(9), ubayfs.min_size(1))
    first = with_supported(constraints, 4)
    assert first == (max_size(4, rho=5.0), max_size(9), ubayfs.min_size(1))
    assert with_supported(first, 7)[0] == max_size(7, rho=5.0)
    assert list(map(asks_for_supported, first)) == [True, False, False]


@pytest.mark.parametrize("wrong", ["supportd", "", "10"])
def test_no_other_word_is_a_size(wrong):
    with pytest.raises(ConstraintError, match="max_size"):
        max_size(wrong)
    with pytest.raises(ConstraintError, match="min_size"):
        ubayfs.min_size("supported")


def test_a_decision_without_noise_names_the_way_out(planted):
    evidence = ubayfs.collect_evidence(*planted, **SETTINGS, random_state=0)
    with pytest.raises(ConstraintError, match=r"max_size\(noise\.supported\)") as caught:
        ubayfs.decide(evidence, constraints=[max_size("supported")])
    assert caught.value.argument == "n"


def test_the_estimator_takes_as_many_as_the_data_support(planted):
    selector = UBayFSSelector(max_features="supported", random_state=0, **SETTINGS).fit(*planted)
    assert selector.noise_.supported == selector.get_support().sum()
    assert set(selector.get_support(indices=True)) >= {0, 1}
    # The same seed, by hand.
    expected = ubayfs.estimate_noise(*planted, evidence=selector.evidence_, random_state=0)
    np.testing.assert_array_equal(selector.noise_.q_values, expected.q_values)
    assert selector.redecide(max_supported=1).get_support().sum() == 1
    assert selector.redecide(max_features=3).get_support().sum() == 3
    assert selector.redecide(max_features=3).redecide(max_features="supported").get_support().tolist() == (
        selector.get_support().tolist()
    )


def test_on_noise_the_estimator_warns_and_takes_one(planted):
    y = np.random.default_rng(0).permutation(planted[1])
    with pytest.warns(OptimizationWarning, match="support no feature"):
        selector = UBayFSSelector(max_features="supported", random_state=0, **SETTINGS).fit(planted[0], y)
    assert selector.get_support().sum() == 1


def test_a_fit_that_is_stopped_among_the_shuffles_says_so(planted):
    selector = UBayFSSelector(max_features="supported", random_state=0, **SETTINGS)
    stop = iter([True, True, True, True])
    selector.set_params(n_models=21, on_progress=lambda done, total: total == 21 or next(stop, False))
    with pytest.warns() as caught:
        selector.fit(*planted)
    assert {warning.message.advice.code for warning in caught} == {"repeats_cancelled", "nothing_supported"}
    assert selector.get_support().sum() == 1


def test_a_fit_without_shuffles_cannot_be_decided_by_them(planted):
    selector = UBayFSSelector(max_features=2, random_state=0, **SETTINGS).fit(*planted)
    assert selector.noise_ is None
    with pytest.raises(InputError, match="fit again") as caught:
        selector.redecide(max_features="supported")
    assert caught.value.argument == "max_features"


@pytest.mark.parametrize("wrong", [0, "supporte", 2.5])
def test_other_limits_are_refused(planted, wrong):
    with pytest.raises(InputError, match="max_features"):
        UBayFSSelector(max_features=wrong, **SETTINGS).fit(*planted)
    with pytest.raises(InputError, match="max_supported"):  # before any work
        UBayFSSelector(max_features="supported", max_supported=0, **{**SETTINGS, "selector": never}).fit(*planted)


def never(*_):
    pytest.fail("a model was run")


def test_a_part_of_the_samples_has_the_size_that_it_supports_itself(planted):
    X, y = planted
    data = FeatureData.from_table(X, y)
    decision = Decision(constraints=(max_size("supported", rho=np.inf), ubayfs.min_size(1)))
    sized, decide_for = sized_in_parts(Procedure.of(data, SETTINGS), decision, most=7)
    assert sized.constraints[0] == max_size(7, rho=np.inf)
    for part in (slice(10, 90), slice(20, 80)):
        evidence = ubayfs.collect_evidence(X[part], y[part], **SETTINGS, random_state=1)
        noise = ubayfs.estimate_noise(X[part], y[part], evidence=evidence, random_state=1)
        found = decide_for(FeatureData.from_table(X[part], y[part]), evidence)
        assert noise.supported >= 2
        assert found.constraints == (max_size(min(noise.supported, 7), rho=np.inf), ubayfs.min_size(1))
    fixed = Decision(constraints=(max_size(3),))
    assert sized_in_parts(Procedure.of(data, SETTINGS), fixed) == (fixed, None)


def test_folds_estimate_the_size_anew(planted):
    procedure = Procedure.of(FeatureData.from_table(*planted), SETTINGS)

    def validated(n):
        decision, decide_for = sized_in_parts(procedure, Decision(constraints=[max_size(n, rho=np.inf)]))
        return validate_procedure(procedure, decision, Options(cv=2, n_repeats=1, baselines=False), None, decide_for)

    found = validated("supported")
    assert found.failures == ()
    assert all(0 < len(chosen) < 10 for chosen in found.sets)
    limited = validated(20)
    assert [len(chosen) for chosen in limited.sets] == [20, 20]
