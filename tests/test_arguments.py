"""Checks of plain arguments, look-up of features, seeds."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ubayfs._arguments import (
    FeatureIndex,
    as_generator,
    as_seed_sequence,
    check_choice,
    check_int,
    check_real,
    did_you_mean,
)
from ubayfs.exceptions import ConstraintError, InputError


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), np.int64(1), Fraction(1, 2)])
def test_real_numbers_become_floats(value):
    assert check_real("share", value, low=0, high=1) == float(value)
    assert type(check_real("share", value)) is float


@given(st.floats(allow_nan=False), st.floats(-5, 0), st.floats(0, 5), st.booleans(), st.booleans())
def test_real_numbers_are_accepted_exactly_inside_the_interval(value, low, high, low_open, high_open):
    inside = (low < value if low_open else low <= value) and (value < high if high_open else value <= high)
    if inside:
        assert check_real("x", value, low=low, high=high, low_open=low_open, high_open=high_open) == value
    else:
        with pytest.raises(InputError, match="x must be a number in "):
            check_real("x", value, low=low, high=high, low_open=low_open, high_open=high_open)


@pytest.mark.parametrize("value", [math.nan, "0.5", None, True, np.True_, 1j, [0.5]])
def test_what_is_not_a_number_is_refused_with_its_value(value):
    with pytest.raises(InputError, match=r"rho must be a number in \[0, inf\]; got "):
        check_real("rho", value, low=0)
    with pytest.raises(InputError, match="rho must be a number; got "):
        check_real("rho", value)


def test_the_rule_shows_open_and_closed_ends():
    with pytest.raises(InputError, match=r"train_size must be a number in \(0, 1\); got 1\.0"):
        check_real("train_size", 1.0, low=0, high=1, low_open=True, high_open=True)
    with pytest.raises(InputError, match=r"share must be a number in \[0, 1\); got 2"):
        check_real("share", 2, low=0, high=1, high_open=True)


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_whole_numbers(value):
    assert type(check_int("n", value, low=3)) is int
    assert check_int("n", value) == 3


@pytest.mark.parametrize("value", [2, 3.0, "3", None, True, np.True_])
def test_what_is_not_a_whole_number_of_that_size_is_refused(value):
    with pytest.raises(InputError, match="n_models must be a whole number >= 3; got "):
        check_int("n_models", value, low=3)


def test_whole_numbers_without_a_limit_say_so():
    with pytest.raises(InputError, match=r"n_jobs must be a whole number; got 1\.5"):
        check_int("n_jobs", 1.5)


def test_choices_name_all_and_the_nearest():
    assert check_choice("prior", "dirichlet", {"dirichlet", "generalized"}) == "dirichlet"
    message = r"prior must be one of 'dirichlet', 'generalized'; got 'dirichelt'. Did you mean 'dirichlet'\?"
    with pytest.raises(InputError, match=message):
        check_choice("prior", "dirichelt", {"generalized", "dirichlet"})
    with pytest.raises(InputError, match=r"prior must be one of .*; got 3"):
        check_choice("prior", 3, ["dirichlet"])


def test_hints_only_where_something_is_near():
    assert did_you_mean("areas", ["radius", "area"]) == " Did you mean 'area'?"
    assert did_you_mean(12, [1, 123]) == " Did you mean '123'?"
    assert did_you_mean("quite different", ["radius"]) == ""


@pytest.mark.parametrize(
    ("written", "meant"),
    [("gene_A", "gene_a"), ("GENE_A", "gene_a"), ("mean radius", "mean_radius"), ("Mean.Radius", "mean_radius")],
)
def test_nothing_is_nearer_than_the_same_letters(written, meant):
    # By edit distance alone the first one would be as near.
    known = ["gene_b", "gene_a", "mean radios", "mean_radius"]
    assert did_you_mean(written, known) == f" Did you mean {meant!r}?"


def test_a_name_of_separators_has_no_letters_in_common_with_another():
    assert did_you_mean("_", ["-", ". ."]) == ""


INDEX = FeatureIndex(np.array(["radius", "area", "texture"], dtype=object))


def test_features_by_name_and_position():
    assert INDEX.position("area", "weights") == 1
    assert INDEX.position(np.int64(2), "weights") == 2
    for features in (["texture", 0], ("texture", 0), [2, 0], np.array([2, 0]), iter(["texture", "radius"])):
        assert INDEX.positions(features, "weights").tolist() == [2, 0]
    assert INDEX.positions("area", "weights").tolist() == [1]
    assert INDEX.positions(2, "weights").tolist() == [2]
    assert INDEX.positions([], "weights").tolist() == []


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        ("raduis", r"weights names 'raduis', which is not a feature. Did you mean 'radius'\?"),
        ("zzz", "weights names 'zzz', which is not a feature. There are 3 features, 'radius' first"),
        (3, "weights refers to position 3, but positions count from 0 to 2"),
        (-1, "weights refers to position -1"),
        (True, r"weights must refer to features by name \(str\) or position \(int\); got True"),
        (1.0, "weights must refer to features by name"),
        (None, "weights must refer to features by name"),
    ],
)
def test_features_that_do_not_exist(feature, message):
    with pytest.raises(InputError, match=message):
        INDEX.position(feature, "weights")
    with pytest.raises(ConstraintError, match=message):
        INDEX.positions([feature], "weights", ConstraintError)


def test_a_feature_named_twice_is_refused():
    with pytest.raises(InputError, match="must_link names feature 'area' more than once"):
        INDEX.positions(["area", "radius", 1], "must_link")


def draws(random_state):
    return as_generator(random_state).integers(0, 2**60, size=3).tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: seed,
        np.int64,
        np.random.SeedSequence,
        np.random.default_rng,
        np.random.RandomState,
    ],
    ids=["int", "numpy int", "SeedSequence", "Generator", "RandomState"],
)
def test_equal_seeds_give_equal_draws(make):
    assert draws(make(7)) == draws(make(7))
    assert draws(make(7)) != draws(make(8))
    assert as_seed_sequence(make(7)).generate_state(4).tolist() == as_seed_sequence(make(7)).generate_state(4).tolist()


def test_a_generator_passes_through_and_no_seed_is_fresh():
    generator = np.random.default_rng(1)
    assert as_generator(generator) is generator
    assert as_seed_sequence(None).entropy != as_seed_sequence(None).entropy


@pytest.mark.parametrize("value", [-1, 1.5, "1", True, [1, 2]])
def test_what_is_not_a_seed_is_refused(value):
    with pytest.raises(InputError, match="random_state must be a whole number >= 0; got "):
        as_seed_sequence(value)


@pytest.mark.parametrize("value", [10**400, -(10**400), Decimal("sNaN"), Fraction(10**400)])
def test_numbers_without_a_float_are_refused(value):
    with pytest.raises(InputError, match="x must be a number"):
        check_real("x", value)


def test_whole_numbers_have_an_upper_end_where_one_is_given():
    assert check_int("x", 5, high=5) == 5
    with pytest.raises(InputError, match="x must be a whole number <= 5; got 6"):
        check_int("x", 6, low=1, high=5)


def test_messages_are_short_whatever_they_are_about():
    with pytest.raises(InputError) as caught:
        check_int("x", "y" * 100_000)
    assert len(str(caught.value)) < 2100
    assert caught.value.value == "y" * 100_000
