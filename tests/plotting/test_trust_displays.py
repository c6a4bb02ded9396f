"""Displays of trust against the values that they show."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from trusts import made_trust
from ubayfs import Evidence, decide, max_size
from ubayfs.plotting import (
    ComparisonDisplay,
    HalvesDisplay,
    PerformanceDisplay,
    RelatedDisplay,
    ReportData,
    SurvivalDisplay,
)
from ubayfs.trust.cross_validation import BASELINES
from ubayfs.trust.prediction_metrics import METRICS, method_name, metric_name
from ubayfs.trust.predictors import PREDICTION

DISPLAYS = (ComparisonDisplay, PerformanceDisplay, SurvivalDisplay, RelatedDisplay, HalvesDisplay)


@pytest.fixture(scope="module")
def selection():
    rng = np.random.default_rng(0)
    names = [f"gene {i}" for i in range(40)]
    evidence = Evidence.from_sets(rng.random((30, 40)) < np.linspace(0.9, 0.05, 40), names)
    return decide(evidence, weights={"gene 37": 50}, constraints=max_size(6))


@pytest.fixture(scope="module")
def trust(selection):
    return made_trust(selection)


def by_gid(ax, gid):
    return next(artist for artist in ax.get_children() if artist.get_gid() == gid)


def test_a_report_has_those_figures_that_something_is_known_for(selection, trust):
    parts = {
        "related": {RelatedDisplay},
        "halves": {HalvesDisplay},
        "validation": {ComparisonDisplay, PerformanceDisplay, SurvivalDisplay},
    }
    for display in DISPLAYS:
        assert not display.applies(selection, ReportData())
        assert display.applies(selection, ReportData(trust=trust))
    for part, gone in parts.items():
        data = ReportData(trust=replace(trust, **{part: None}))
        assert {display for display in DISPLAYS if not display.applies(selection, data)} == gone
    no_split = replace(trust.reproducibility, agreements=np.full(6, np.nan))
    assert not HalvesDisplay.applies(selection, ReportData(trust=replace(trust, reproducibility=no_split)))
    no_sizes = replace(trust.validation, size_records=None)
    assert not PerformanceDisplay.applies(selection, ReportData(trust=replace(trust, validation=no_sizes)))


def test_no_agreement_is_zero_without_a_sign():
    display = HalvesDisplay((0.5,), (0.5,), (True,), (-0.001,), 1, -0.001, 0.4, (), 1)
    texts = {text.get_text() for axes in display.plot().figure.axes for text in axes.texts}
    assert {"0.00", "0.40"} <= texts


def test_halves_are_points_of_their_shares_of_votes(selection, trust):
    display = HalvesDisplay.from_selection(selection, trust.halves, trust.reproducibility)
    expected = [
        (first.counts[i] / 30, second.counts[i] / 30, bool(selection.mask[i]))
        for first, second in trust.halves.pairs
        for i in range(40)
        if first.counts[i] or second.counts[i]
    ]
    assert sorted(zip(display.first, display.second, display.chosen, strict=True)) == sorted(expected)
    assert sorted(display.agreements) == sorted(trust.reproducibility.agreements.tolist())
    figure = display.plot().figure
    for gid, selected in (("selected on all samples", True), ("not selected on all samples", False)):
        marks = by_gid(figure.axes[0], gid)
        pairs = [
            sorted((a, b))
            for a, b, c in zip(display.first, display.second, display.chosen, strict=True)
            if c == selected
        ]
        counts = Counter((round(10 * high), round(10 * low)) for low, high in pairs)
        cells = {(round(x / 10), round(y / 10)) for x, y in marks.get_offsets()}
        assert cells == set(counts)
        areas = np.sort(marks.get_sizes())
        np.testing.assert_allclose(areas / areas.max(), np.sort(list(counts.values())) / max(counts.values()))
    assert by_gid(figure.axes[1], "agreements").get_ydata().tolist() == list(display.agreements)
    low, high = np.sort(by_gid(figure.axes[1], "interval").get_extents().transformed(
        figure.axes[1].transData.inverted()).get_points()[:, 1])  # fmt: skip
    assert (low, high) == pytest.approx(trust.reproducibility.interval)


def test_differences_are_those_of_the_scores(selection, trust):
    display = ComparisonDisplay.from_selection(selection, trust.validation)
    scores = trust.validation.scores
    main = scores[(scores["metric"] == "auc") & (scores["method"] != "ubayfs")]
    assert [row.method for row in display.baselines] == ["random", "all features"]
    assert [row.difference for row in display.baselines] == main["difference"].tolist()
    ax = display.plot().ax
    segments = by_gid(ax, "interval").get_segments()
    ends = main[["difference_lower", "difference_upper"]].to_numpy()
    np.testing.assert_allclose([segment[:, 0] for segment in segments], ends)
    assert by_gid(ax, "clear").get_ydata().tolist() == [0]
    assert by_gid(ax, "not clear").get_ydata().tolist() == [1]


@pytest.mark.parametrize("difference", [0.0014, 0.0143, 0.12, 0.4, 0.9])
def test_ticks_of_differences_are_few_enough_to_be_read_beside_long_names(selection, trust, difference):
    display = ComparisonDisplay.from_selection(selection, trust.validation)
    ends = {"difference": 0.0, "difference_lower": -difference, "difference_upper": difference}
    rows = tuple(replace(display.baselines[0], method=method, **ends) for method in BASELINES)
    svg = replace(display, baselines=rows).plot().render("svg").decode()
    ticks = re.findall(r"<!-- (\N{MINUS SIGN}?[\d.]+) -->", svg)
    assert 3 <= len(ticks) <= 5
    assert any(float(tick) == 0 for tick in ticks if tick[0].isdigit())


def test_p_values_stand_with_their_q_values(selection, trust):
    related = trust.related
    display = RelatedDisplay.from_selection(selection, related, max_features=8)
    assert list(display.p_values) == sorted(display.p_values)
    assert set(selection.features) <= set(display.features)
    for name, p, q, selected in zip(
        display.features, display.p_values, display.q_values, display.selected, strict=True
    ):
        i = list(selection.feature_names).index(name)
        assert (p, q, selected) == (related.p_values[i], related.q_values[i], name in selection.features)
    drawing = display.plot()
    points = sorted(
        (y, x) for gid in ("selected", "not selected") for x, y in zip(*by_gid(drawing.ax, gid).get_data(), strict=True)
    )
    assert [x for _, x in points] == pytest.approx(-np.log10(display.p_values))
    shown = [text.get_text() for text in drawing.ax.texts if text.get_gid() == "beside"]
    assert [float(text.strip("< ")) for text in shown] == pytest.approx(display.q_values, abs=0.0101)
    assert f"At least {related.of(selection.features).at_least} of 6" in drawing.figure.get_suptitle()


def test_sizes_stand_with_their_scores(selection, trust):
    display = PerformanceDisplay.from_selection(selection, trust.validation)
    curve = trust.validation.sizes
    assert (display.sizes, display.mean) == ((1, 2, 4), tuple(curve["mean"]))
    figure = display.plot().figure
    assert by_gid(figure.axes[0], "one se").get_xdata().tolist() == [trust.validation.one_se_size]


def test_every_metric_and_baseline_has_a_name_for_people():
    assert {metric for prediction in PREDICTION.values() for metric in prediction.metrics} <= set(METRICS)
    assert metric_name("auc") == "AUC"
    for method in BASELINES:
        assert " " in method_name(method)
