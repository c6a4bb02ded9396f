"""The chosen features in the data: means and effects against closed forms, and the drawing."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ubayfs import Evidence, decide, max_size
from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import InputError
from ubayfs.plotting import ProfileDisplay
from ubayfs.plotting.profile import profile_of
from ubayfs.report import render_markdown, summarize


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 4)) * [1, 5, 0.1, 1] + [0, 100, -3, 0]


@pytest.fixture
def selection():
    return decide(Evidence.from_sets([[1, 1, 1, 0]] * 3 + [[0, 1, 0, 0]]), constraints=max_size(3))


def test_classes_have_the_means_of_standardized_features(X, selection):
    y = np.repeat(["b", "a", "c"], 20)
    display = ProfileDisplay.from_selection(selection, X, y)
    assert display.features == ("x1", "x0", "x2")  # most important first
    assert (display.groups, display.sizes, display.effect) == (("a", "b", "c"), (20, 20, 20), "share")
    z = stats.zscore(X, axis=0)[:, [1, 0, 2]]
    expected = [[z[y == label, j].mean() for label in "abc"] for j in range(3)]
    np.testing.assert_allclose(display.means, expected, atol=1e-12)
    for j, effect in enumerate(display.effects):
        F = stats.f_oneway(*(z[y == label, j] for label in "abc")).statistic
        assert effect == pytest.approx(F * 2 / (F * 2 + 57))  # eta squared from F with 2 and 57 degrees of freedom


@pytest.mark.parametrize("scale", [2.0**-996, 2.0**990])  # about 1e-300 and 1e298: beyond them values are rounded
def test_tiny_and_huge_values_have_the_same_profile(X, selection, scale):
    y = np.repeat(["b", "a", "c"], 20)
    assert ProfileDisplay.from_selection(selection, X * scale, y) == ProfileDisplay.from_selection(selection, X, y)


def test_the_difference_of_two_classes_is_the_t_statistic_without_the_sizes(X, selection):
    y = np.array([0] * 25 + [1] * 35)
    display = ProfileDisplay.from_selection(selection, X, y)
    t = stats.ttest_ind(X[y == 1], X[y == 0]).statistic[[1, 0, 2]]
    np.testing.assert_allclose(display.effects, t * np.sqrt(1 / 25 + 1 / 35))


def test_numbers_are_shown_in_thirds_with_rank_correlations(X, selection):
    y = X[:, 1] + 0.123456
    display = ProfileDisplay.from_selection(selection, X, y)
    assert display.sizes == (20, 20, 20)
    assert display.effects == pytest.approx([stats.spearmanr(X[:, j], y).statistic for j in (1, 0, 2)])
    assert display.effects[0] == pytest.approx(1)
    assert np.all(np.diff(display.means[0]) > 0)
    np.testing.assert_allclose(display.values[0], np.sort(stats.zscore(X[:, 1])), atol=0.006)


def test_of_many_samples_every_class_shows_its_share(selection):
    rng = np.random.default_rng(0)
    y = np.array(["rare"] * 30 + ["common"] * 2970)
    display = ProfileDisplay.from_selection(selection, rng.normal(size=(3000, 4)), y)
    assert sum(display.shown) <= 121
    assert display.shown == (119, 1)


def test_missing_values_are_left_out_of_means_and_constant_features_have_no_effect(selection):
    X = np.array([[1.0, np.nan, 5, 0], [3, 2, 5, 1], [5, 4, 5, 2], [7, 6, 5, 9]])
    data = FeatureData.from_table(X, [0, 0, 1, 1], missing="available", max_missing=1.0)
    display = ProfileDisplay.from_selection(selection, data)
    z = (X[:, 1] - 4) / np.std([2, 4, 6])
    assert display.means[0] == pytest.approx((z[1], (z[2] + z[3]) / 2))
    assert display.effects[2] == 0
    assert display.plot().render("png").startswith(b"\x89PNG")


def test_without_groups_there_is_no_display(X, selection):
    with pytest.raises(InputError) as caught:
        ProfileDisplay.from_selection(selection, X)
    assert caught.value.argument == "y"
    assert "profile" not in summarize(selection, X, n_draws=0).displays


def test_another_decision_takes_the_features_from_the_summary_of_the_first(X):
    evidence = Evidence.from_sets([[1, 1, 1, 0]] * 3 + [[0, 1, 0, 0]])
    data = FeatureData.from_table(pd.DataFrame(X, columns=evidence.feature_names), [0, 1] * 30)
    first = summarize(decide(evidence, constraints=max_size(3)), data, n_draws=0)
    smaller = decide(evidence, constraints=max_size(1))
    found = summarize(smaller, n_draws=0, earlier=first)
    assert found.displays["profile"]["features"] == ["x1"]
    assert found.chosen[0].effect == first.chosen[0].effect
    direct = summarize(smaller, data, n_draws=0)
    assert found.displays["profile"] == direct.displays["profile"]


def test_means_effects_and_samples_are_drawn(X, selection):
    display = ProfileDisplay.from_selection(selection, X, ["ill", "well"] * 30)
    drawing = display.plot()
    points = [line.get_xdata() for line in drawing.ax.lines if line.get_gid() == "means"]
    np.testing.assert_allclose(np.column_stack(points), display.means)
    texts = [text.get_text() for text in drawing.ax.texts if text.get_gid() == "beside"]
    assert texts == [f"{effect:+.2f}" for effect in display.effects]
    (image,) = drawing.figure.axes[1].images
    assert image.get_array().shape == (3, sum(display.shown))


@pytest.mark.parametrize(("target", "kind"), [("two", "difference"), ("three", "share"), ("number", "correlation")])
def test_a_direction_is_clear_by_its_own_interval(target, kind, rng):
    """Of noise, one feature in twenty seems to have a direction; a curve has none, a slope has one."""
    n, p = 90, 1500
    X = rng.normal(size=(n, p))
    codes = {"two": np.arange(n) % 2, "three": np.arange(n) % 3, "number": np.linspace(-1, 1, n)}[target]
    y = codes if target == "number" else np.array(["a", "b", "c"])[codes]
    X[:, 0] += 2 * codes
    X[:, 1] = np.abs(codes - codes.mean()) + 0.1 * X[:, 1] if target == "number" else X[:, 1]
    X[5, 0] = np.nan
    data = FeatureData.from_table(X, y, missing="available")
    found = profile_of(data, data.feature_names, np.arange(p))
    assert found.effect == kind
    assert found.clear[0]
    assert 0.03 < np.mean(found.clear[2:]) < 0.07
    assert target != "number" or not found.clear[1]
    assert found.among(["x3", "x0"]).clear == (found.clear[3], found.clear[0])
    assert ProfileDisplay.from_dict(found.to_dict()).clear == found.clear
    earlier = {key: value for key, value in found.to_dict().items() if key != "clear"}
    assert ProfileDisplay.from_dict(earlier).clear == ()


def test_no_direction_in_words_where_it_is_not_clear(rng):
    X = rng.normal(size=(120, 4))
    y = X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.normal(size=120)
    X[:, 0] -= X[:, 0].mean()
    selection = decide(Evidence.from_sets([[1, 1, 1, 0]] * 4), max_size=3)
    summary = summarize(selection, FeatureData.from_table(X, y), n_draws=0)
    clear = {record.feature: record.effect_clear for record in summary.chosen}
    assert clear == {"x0": False, "x1": True, "x2": False}
    markdown = render_markdown(summary)
    assert markdown.count("no clear direction (r ") == 1
    assert "U-shaped: target highest at both ends (r +0." in markdown
    assert "rises with the target (r +0." in markdown


def test_repeats_of_a_patient_do_not_make_a_direction_clear(rng):
    """Nine copies of twelve patients are twelve samples."""
    once, y = rng.normal(size=(12, 800)), np.arange(12) % 2
    groups, copies = np.repeat(np.arange(12), 9), np.repeat(once, 9, axis=0) + 0.01 * rng.normal(size=(108, 800))
    data = FeatureData.from_table(copies, np.array(["a", "b"])[y][groups], groups=groups)
    clear = profile_of(data, data.feature_names, np.arange(800)).clear
    alone = profile_of(replace(data, groups=None), data.feature_names, np.arange(800)).clear
    assert np.mean(clear) < 0.1 < 0.4 < np.mean(alone)
