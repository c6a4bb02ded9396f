"""The first calls: hard limits, votes that a feature needs, arguments by name, one answer whichever way is taken."""

import inspect
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

import ubayfs
from ubayfs import (
    Evidence,
    UBayFSSelector,
    collect_evidence,
    decide,
    exact_size,
    implies,
    max_size,
    min_size,
    must_link,
    require,
)
from ubayfs.exceptions import ConstraintError, InfeasibleError, InputError, OptimizationWarning

NAMES = ["a", "b", "c", "d", "e", "f"]


def with_votes(*counts, n_models=10):
    sets = np.arange(n_models)[:, None] < np.array(counts)
    return Evidence.from_sets(sets, NAMES[: len(counts)])


EVIDENCE = with_votes(9, 7, 5, 3, 0, 0)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True, as_frame=True)


# -- the size ----------------------------------------------------------------------------------------------------------


def test_max_size_is_short_for_a_hard_limit():
    short, long = decide(EVIDENCE, max_size=2), decide(EVIDENCE, constraints=max_size(2))
    assert short.features == long.features == ("a", "b")
    assert short.provenance == long.provenance
    assert decide(EVIDENCE, max_size=2, constraint_strength=1e-6).features == ("a", "b")


def test_no_place_at_all_has_no_alternatives():
    selection = decide(EVIDENCE, constraints=max_size(0), n_alternatives=2)
    assert selection.features == selection.alternatives == ()


@pytest.mark.parametrize(("one", "other"), [(2, 3), (3, 2)])
def test_a_second_limit_holds_too(one, other):
    assert decide(EVIDENCE, max_size=one, constraints=[max_size(other)]).features == ("a", "b")


def test_an_impossible_limit_names_both():
    with pytest.raises(InfeasibleError, match=r"exact-size 3.*max-size 2"):
        decide(EVIDENCE, max_size=2, constraints=exact_size(3))


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True])
def test_what_is_not_a_size_is_refused(wrong):
    with pytest.raises(InputError, match=f"max_size must be a whole number >= 1; got {wrong!r}"):
        decide(EVIDENCE, max_size=wrong)


def test_supported_needs_the_number():
    with pytest.raises(ConstraintError, match="a number that needs the data"):
        decide(EVIDENCE, max_size="supported")


def test_no_limit_selects_all_that_have_votes_and_says_so():
    with pytest.warns(OptimizationWarning, match=r"No constraint limits the size of the set: 4 of the 4 features"):
        assert decide(EVIDENCE).features == ("a", "b", "c", "d")


# -- the votes that a feature needs ------------------------------------------------------------------------------------


def test_places_are_not_filled_with_features_that_nobody_voted_for():
    assert decide(EVIDENCE, max_size=5).features == ("a", "b", "c", "d")
    with pytest.warns(OptimizationWarning, match="No model voted for 1 of 5 selected features") as caught:
        assert decide(EVIDENCE, max_size=5, min_votes=0).features == ("a", "b", "c", "d", "e")
    assert "constraints selected them" not in str(caught[0].message)  # there are none


@pytest.mark.parametrize(
    ("arguments", "selected"),
    [
        ({"weights": {"e": 0.9}}, "abcd"),
        ({"weights": {"e": 1.01}}, "abcde"),
        ({"weights": {"e": "likely"}}, "abcde"),
        ({"weights": {"e": 8}, "max_size": 2}, "ae"),
        ({"weights": {"d": 2.01}, "min_votes": 5}, "abcd"),
        ({"weights": {"d": 1.9}, "min_votes": 5}, "abc"),
        ({"weights": 2.0}, "abcd"),  # the same for all states nothing
        ({"weights": [2.0] * 5 + [3.5]}, "abcdf"),
    ],
)
@pytest.mark.filterwarnings("ignore:No model voted:ubayfs.exceptions.OptimizationWarning")
def test_what_a_weight_exceeds_the_default_by_counts_as_votes(arguments, selected):
    assert "".join(decide(EVIDENCE, **{"max_size": 5, **arguments}).features) == selected


@pytest.mark.parametrize(
    ("constraints", "selected"),
    [
        ([require("e")], "ae"),
        ([require("e"), must_link(["e", "f"])], "ef"),
        ([require("e"), implies("e", "f")], "ef"),
        ([must_link(["e", "f"])], "ab"),
        ([require("e", rho=0.01)], "ab"),  # soft: asks for nothing that must be
        ([require("e", price=0.9)], "ab"),
        ([must_link(["a", "e"], price=0.1)], "ab"),
    ],
)
@pytest.mark.filterwarnings("ignore:No model voted:ubayfs.exceptions.OptimizationWarning")
def test_what_hard_constraints_ask_for_needs_no_votes(constraints, selected):
    assert "".join(decide(EVIDENCE, max_size=2, constraints=constraints).features) == selected


@pytest.mark.parametrize("constraint", [must_link(["a", "e"]), implies("a", "e")])
@pytest.mark.filterwarnings("ignore:No model voted:ubayfs.exceptions.OptimizationWarning")
def test_what_a_feature_with_votes_needs_does_not_keep_it_out(constraint):
    assert decide(EVIDENCE, max_size=3, constraints=constraint).features == ("a", "b", "e")


def test_features_that_were_asked_for_are_told_as_such():
    with pytest.warns(OptimizationWarning, match=r"No model voted for 1 of 2 .*\(e\): weights or hard constraints"):
        decide(EVIDENCE, max_size=2, constraints=require("e"))


def test_a_smallest_size_that_votes_cannot_fill_names_the_way_out():
    with pytest.raises(InfeasibleError, match=r"min-size 5.*Use min_votes=0 to let features without votes") as caught:
        decide(EVIDENCE, max_size=5, constraints=min_size(5))
    assert caught.value.labels == ("min-size 5",)
    with pytest.warns(OptimizationWarning, match="No model voted"):
        assert len(decide(EVIDENCE, max_size=5, constraints=min_size(5), min_votes=0).features) == 5
    with pytest.raises(InfeasibleError) as caught:  # a contradiction whatever the votes are
        decide(EVIDENCE, max_size=5, constraints=min_size(7))
    assert "min_votes=0" not in str(caught.value)


def test_no_votes_at_all_are_an_error_with_a_way_out():
    with pytest.raises(InputError, match=r"min_votes=1 leaves no feature to select: the highest count is 0.*Lower it"):
        decide(with_votes(0, 0, 0), max_size=2)


def literal_answer(counts, weights, required, linked, size):
    """Return the best sets by trying all of them: votes and weights, at most `size`, each member allowed."""
    support = counts + np.maximum(weights - 0.01, 0.0)
    allowed = set(np.flatnonzero(support >= 1)) | set(required)
    while any(pair & allowed and not pair <= allowed for pair in linked):
        allowed |= set().union(*(pair for pair in linked if pair & allowed))
    sets = [
        set(chosen)
        for n in range(size + 1)
        for chosen in itertools.combinations(range(len(counts)), n)
        if set(required) <= set(chosen) <= allowed and all(len(pair & set(chosen)) != 1 for pair in linked)
    ]
    value = {frozenset(chosen): sum(counts[i] + weights[i] for i in chosen) for chosen in sets}
    best = max(value.values(), default=None)
    return [chosen for chosen in value if best is not None and value[chosen] >= best - 1e-9]


@given(
    st.lists(st.integers(0, 4), min_size=6, max_size=6).filter(any),
    st.dictionaries(st.integers(0, 5), st.sampled_from([0.5, 1.02, 3.0]), max_size=2),
    st.sets(st.integers(0, 5), max_size=2),
    st.lists(st.sets(st.integers(0, 5), min_size=2, max_size=2), max_size=2),
    st.integers(2, 5),
)
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore::ubayfs.exceptions.OptimizationWarning")
def test_the_best_set_is_that_of_trying_all(counts, weights, required, linked, size):
    constraints = [must_link(sorted(pair)) for pair in linked]
    constraints += [require(sorted(required))] if required else []
    prior = np.full(6, 0.01)
    prior[list(weights)] = list(weights.values())
    expected = literal_answer(np.array(counts), prior, required, linked, size)
    arguments = {"max_size": size, "weights": {NAMES[i]: w for i, w in weights.items()}, "constraints": constraints}
    if not expected:
        with pytest.raises(InfeasibleError):
            decide(with_votes(*counts), **arguments)
        return
    assert frozenset(decide(with_votes(*counts), **arguments).indices.tolist()) in expected


def test_the_first_call_selects_what_models_voted_for(cancer):
    fitted = UBayFSSelector("fisher", random_state=0).fit(*cancer)  # warnings are errors in tests
    assert (fitted.evidence_.counts[fitted.get_support()] > 0).all()
    assert fitted.get_support().sum() == min(10, (fitted.evidence_.counts > 0).sum())


# -- arguments by name -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "spelled"),
    [
        (lambda X, y: collect_evidence(X, y, "fisher"), "collect_evidence(X, y, selector=...)"),
        (lambda X, y: collect_evidence(X, y, "fisher", 50), "collect_evidence(X, y, selector=..., n_models=...)"),
        (lambda X, y: decide(EVIDENCE, {"a": 5}), "decide(evidence, weights=...)"),
        (lambda X, y: decide(EVIDENCE, 0.1, "dirichlet"), "decide(evidence, weights=..., prior=...)"),
        (lambda X, y: max_size(5, 0.5), "max_size(n, rho=...)"),
        (lambda X, y: must_link(["a", "b"], 0.5, "blocks"), "must_link(features, rho=..., on=...)"),
        (lambda X, y: ubayfs.maximize([0.5], [], 2.0), "maximize(theta, constraints, constraint_strength=...)"),
        (lambda X, y: ubayfs.questions(decide(EVIDENCE, max_size=2), 5), "questions(selection, n=...)"),
    ],
)  # fmt: skip
def test_old_spellings_are_refused_with_the_new_one(cancer, call, spelled):
    with pytest.raises(InputError) as caught:
        call(*cancer)
    assert spelled in str(caught.value)
    assert "by position" in str(caught.value)


# -- the same answer by every way --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [3, 10])
def test_estimator_and_functions_select_the_same(cancer, size):
    X, y = cancer
    evidence = collect_evidence(X, y, n_models=20, random_state=0)
    fitted = UBayFSSelector(max_features=size, n_models=20, random_state=0).fit(X, y)
    assert evidence.settings["n_features_per_model"] == 7  # a quarter of 30
    assert fitted.evidence_.settings == evidence.settings
    selection = decide(evidence, max_size=size, X=X)
    assert fitted.selection_.features == selection.features
    assert fitted.selection_.value == selection.value


def test_one_default_selector():
    from ubayfs.selectors import DEFAULT_SELECTOR, SELECTORS
    from ubayfs.study import EvidenceSection

    called = inspect.signature(collect_evidence).parameters["selector"].default
    assert called == UBayFSSelector().selector == EvidenceSection().selector == DEFAULT_SELECTOR == "wide"
    assert SELECTORS["wide"].penalty_factor == 1.5  # that of the trial


def test_a_fitted_selector_in_place_of_a_selection_is_refused_with_the_way_out():
    X, y = load_breast_cancer(return_X_y=True)
    selector = UBayFSSelector("fisher", max_features=2, n_models=5, random_state=0).fit(X, y)
    with pytest.raises(InputError, match=r"must be a Selection, .*; got UBayFSSelector\. Pass its selection_\.$"):
        ubayfs.assess(selector, X, y)


def test_data_that_were_read_are_shown_in_a_line(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b,y\n" + "\n".join(f"{i},{i * i % 7},{'pq'[i % 2]}" for i in range(30)))
    assert repr(ubayfs.read_data(path, target="y")) == "FeatureData(30 samples, 2 features, binary)"
