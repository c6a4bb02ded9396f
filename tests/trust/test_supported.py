"""Sizes that the data tell: in the estimator, in constraints and in folds."""

import numpy as np
import pytest

import ubayfs
from ubayfs import Evidence, UBayFSSelector, decide, exclude, max_size
from ubayfs.constraints.sizes import has_data_driven_size, with_supported
from ubayfs.data.feature_data import FeatureData
from ubayfs.decision.selection import Selection
from ubayfs.decision.workflow import Decision
from ubayfs.exceptions import ConstraintError, InputError, OptimizationWarning
from ubayfs.trust.cross_validation import Options, validate_procedure
from ubayfs.trust.procedure import Procedure
from ubayfs.trust.related import Bounds, Related, related_of, sized_in_parts, supported_size

SETTINGS = {"selector": "fisher", "n_models": 20, "n_features_per_model": 3}


@pytest.fixture(scope="module")
def planted():
    """Two strong signals among 30 features."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(100, 30)), np.repeat([0, 1], 50)
    X[:, :2] += 3 * y[:, None]
    return X, y


def related(p_values, headline=0.1, best_guess=0.5):
    names = np.array([f"x{i}" for i in range(len(p_values))], dtype=object)
    return Related((), names, Bounds(np.array(p_values), np.ones(len(names)), headline, best_guess), None, (), 1000)


def test_the_size_is_the_number_of_supported_features_within_bounds():
    importance = np.array([0.3, 0.25, 0.2, 0.15, 0.07, 0.03])
    strong = related([1e-9, 1e-8, 1e-7, 0.9, 0.9, 0.9])
    assert supported_size(strong, importance, 20) == (3, ())
    assert supported_size(strong, importance, 2) == (2, ())
    assert supported_size(strong, importance[::-1], 20) == (1, supported_size(related([0.9] * 6), importance, 20)[1])
    size, (advice,) = supported_size(related([0.9] * 6), importance, 20)
    assert (size, advice.code) == (1, "nothing_supported")
    assert "No feature" in str(advice)


def test_the_size_is_the_largest_that_the_definition_allows(rng):
    """V by the best guess is at most a fifth of the k most important, of which one is related by the headline."""
    for _ in range(200):
        n = int(rng.integers(1, 30))
        found = related(rng.uniform(size=n) ** rng.integers(1, 12), *np.sort(rng.uniform(0.01, 0.9, size=2)))
        importance, most = rng.permutation(n).astype(float), int(rng.integers(1, 25))
        sizes = [0]
        for k in range(1, min(n, most) + 1):
            top = np.argsort(-importance)[:k].tolist()
            unrelated = [
                min(k, min(sum(found.p_values[j] >= level * r / n for j in top) + r - 1 for r in range(1, n + 1)))
                for level in (found.plain.best_guess, found.plain.headline)
            ]
            sizes += [k] if unrelated[0] <= 0.2 * k + 1e-9 and unrelated[1] < k else []
        assert found.supported(importance, most) == max(sizes)


def test_what_nothing_speaks_for_is_not_counted(planted):
    """Where everything is related to the target, a size never exceeds the features with a vote or a raised weight."""
    every = related([1e-9] * 30)
    evidence = ubayfs.Evidence.from_sets([[j < 4 for j in range(30)]] * 10, [f"x{i}" for i in range(30)])
    for weights, expected in ((0.01, 4), ({"x9": 2.0}, 5), ({"x0": 2.0}, 4), (3.0, 4)):
        decision = Decision(weights=weights, constraints=max_size(6, rho=np.inf))
        selection = decision.make(evidence)
        posterior = selection.posterior
        assert supported_size(every, posterior, 20) == (expected, ())
        assert every.supported(selection) == every.supported(posterior) == expected
        assert every.supported(selection, 3) == every.supported(Selection.from_dict(selection.to_dict()), 3) == 3
        assert every.supported(posterior.mean) == 20  # importances alone know no votes
    assert every.supported(ubayfs.maximize(np.arange(1.0, 31.0), max_size(3))) == 20
    # In a part of the samples, too: one model selects one feature.
    X, y = planted
    few = {**SETTINGS, "n_models": 1, "n_features_per_model": 1}
    sized, decide_for = sized_in_parts(
        Procedure.from_arguments(FeatureData.from_table(X, y), few),
        Decision(constraints=[max_size("supported", rho=np.inf)]),
    )
    evidence = ubayfs.collect_evidence(X, y, **few, random_state=0)
    assert sized.constraints[0] == max_size(20, rho=np.inf)
    assert decide_for(FeatureData.from_table(X, y), evidence).constraints == (max_size(1, rho=np.inf),)


def test_a_number_takes_the_place_of_the_word_and_another_one_its_place():
    constraints = (max_size("supported", rho=5.0), max_size(9), ubayfs.min_size(1))
    first = with_supported(constraints, 4)
    assert first == (max_size(4, rho=5.0), max_size(9), ubayfs.min_size(1))
    assert with_supported(first, 7)[0] == max_size(7, rho=5.0)
    assert list(map(has_data_driven_size, first)) == [True, False, False]


@pytest.mark.parametrize("wrong", ["supportd", "", "10"])
def test_no_other_word_is_a_size(wrong):
    with pytest.raises(ConstraintError, match="max_size"):
        max_size(wrong)
    with pytest.raises(ConstraintError, match="min_size"):
        ubayfs.min_size("supported")


def test_a_decision_without_p_values_names_the_way_out(planted):
    evidence = ubayfs.collect_evidence(*planted, **SETTINGS, random_state=0)
    with pytest.raises(ConstraintError, match=r"max_size\(related\.supported\(selection\)\)") as caught:
        ubayfs.decide(evidence, constraints=[max_size("supported")])
    assert caught.value.argument == "n"


def test_the_estimator_takes_as_many_as_the_data_support(planted):
    selector = UBayFSSelector(max_features="supported", random_state=0, **SETTINGS).fit(*planted)
    size = selector.related_.supported(selector.posterior_)
    assert size == selector.get_support().sum()
    assert selector.related_.features == selector.selection_.features
    assert set(selector.get_support(indices=True)) >= {0, 1}
    again = ubayfs.estimate_related(selector.selection_, *planted)
    assert again.supported(selector.selection_) == size  # by other shuffles
    assert selector.redecide(max_supported=1).get_support().sum() == 1
    assert selector.redecide(max_features=3).get_support().sum() == 3
    assert selector.redecide(max_features=3).redecide(max_features="supported").get_support().tolist() == (
        selector.get_support().tolist()
    )


def test_on_noise_the_estimator_warns_and_takes_one(planted):
    y = np.random.default_rng(0).permutation(planted[1])
    with pytest.warns(OptimizationWarning, match="No feature could be shown"):
        selector = UBayFSSelector(max_features="supported", random_state=0, **SETTINGS).fit(planted[0], y)
    assert selector.get_support().sum() == 1


def test_a_fit_without_p_values_cannot_be_decided_by_them(planted):
    selector = UBayFSSelector(max_features=2, random_state=0, **SETTINGS).fit(*planted)
    assert selector.related_ is None
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
    decision = Decision(constraints=(max_size("supported"), ubayfs.min_size(1)))
    sized, decide_for = sized_in_parts(Procedure.from_arguments(data, SETTINGS), decision, most=7)
    assert sized.constraints[0] == max_size(7)
    for part in (slice(10, 90), slice(20, 80)):
        evidence = ubayfs.collect_evidence(X[part], y[part], **SETTINGS, random_state=1)
        data = FeatureData.from_table(X[part], y[part])
        own = related_of(data, np.zeros(30, dtype=bool), 1000, 0).supported(Decision().posterior(evidence), 7)
        assert own >= 2
        assert decide_for(data, evidence).constraints == (max_size(own), ubayfs.min_size(1))
    fixed = Decision(constraints=(max_size(3),))
    assert sized_in_parts(Procedure.from_arguments(data, SETTINGS), fixed) == (fixed, None)


def test_folds_estimate_the_size_anew(planted):
    procedure = Procedure.from_arguments(FeatureData.from_table(*planted), SETTINGS)

    def validated(n):
        decision, decide_for = sized_in_parts(procedure, Decision(constraints=[max_size(n)], min_votes=0))
        return validate_procedure(procedure, decision, Options(cv=2, n_repeats=1, baselines=False), None, decide_for)

    found = validated("supported")
    assert found.failures == ()
    assert all(0 < len(chosen) < 10 for chosen in found.sets)
    limited = validated(20)
    assert [len(chosen) for chosen in limited.sets] == [20, 20]


def test_a_set_that_is_larger_than_the_data_support():
    """The first three of six are related: a set of the five most important ones goes beyond them, not one of two."""
    p = [1e-9, 1e-8, 1e-7, 0.9, 0.9, 0.9]
    sets = np.arange(60)[:, None] < [60, 50, 40, 30, 20, 10]
    evidence, found = Evidence.from_sets(sets), related(p)
    assert found.supported(decide(evidence, max_size=5)) == 3
    numbers = {n: found.n_supported_of(decide(evidence, max_size=n)) for n in (2, 3, 4, 5)}
    assert numbers == {2: None, 3: None, 4: 3, 5: 3}
    # A set without the first one is not made of what the data support, and of what goes beyond it.
    assert found.n_supported_of(decide(evidence, max_size=4, constraints=exclude(["x0"]))) is None
    # The last member is related, too: it is not there to fill a place.
    assert related([1e-9, 0.9, 0.9, 0.9, 1e-8, 0.9]).n_supported_of(decide(evidence, max_size=5)) is None
    assert related([1e-9, 0.9, 0.9, 0.9, 0.9, 1e-8]).n_supported_of(decide(evidence, max_size=5)) == 1
    # Nothing is supported: this is said in other words.
    assert related([0.9] * 6).n_supported_of(decide(evidence, max_size=5)) is None
