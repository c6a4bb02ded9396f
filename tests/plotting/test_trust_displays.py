"""Displays of trust against the values that they show."""

import re
from dataclasses import replace

import numpy as np
import pytest

from trusts import made_trust
from ubayfs import Evidence, decide, max_size
from ubayfs.plotting import (
    ComparisonDisplay,
    HalvesDisplay,
    NoiseDisplay,
    PerformanceDisplay,
    ReportData,
    SurvivalDisplay,
)
from ubayfs.trust.cross_validation import BASELINES
from ubayfs.trust.noise import noise_of
from ubayfs.trust.prediction_metrics import METRICS, method_name, metric_name
from ubayfs.trust.predictors import PREDICTION

DISPLAYS = (ComparisonDisplay, PerformanceDisplay, SurvivalDisplay, NoiseDisplay, HalvesDisplay)


@pytest.fixture(scope="module")
def selection():
    rng = np.random.default_rng(0)
    names = [f"gene {i}" for i in range(40)]
    evidence = Evidence.from_sets(rng.random((30, 40)) < np.linspace(0.9, 0.05, 40), names)
    return decide(evidence, {"gene 37": 50}, constraints=max_size(6, rho=np.inf))


@pytest.fixture(scope="module")
def trust(selection):
    return made_trust(selection)


def by_gid(ax, gid):
    return next(artist for artist in ax.get_children() if artist.get_gid() == gid)


def test_a_report_has_those_figures_that_something_is_known_for(selection, trust):
    parts = {
        "noise": {NoiseDisplay},
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


def test_votes_stand_beside_what_the_same_rank_gets_in_each_shuffle(selection, trust):
    noise = trust.noise
    display = NoiseDisplay.from_selection(selection, noise, max_features=8)
    order = sorted(range(40), key=lambda i: (-noise.counts[i], i))
    assert display.votes == tuple(sorted(display.votes, reverse=True))
    assert set(selection.features) <= set(display.features)
    for k, name in enumerate(display.features):
        i = list(selection.feature_names).index(name)
        ranked = [sorted(shuffle, reverse=True)[order.index(i)] for shuffle in noise.null_counts.tolist()]
        assert (display.low[k], display.high[k]) == pytest.approx(tuple(np.quantile(ranked, [0.05, 0.95])))
        assert (display.votes[k], display.q[k]) == (noise.counts[i], noise.q_values[i])
        assert display.chosen[k] == (name in selection.features)
    assert all(votes or chosen for votes, chosen in zip(display.votes, display.chosen, strict=True))
    ax = display.plot().ax
    bars = [bar for bar in ax.patches if bar.get_gid() == "shuffled"]
    assert [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars] == [
        pytest.approx(ends) for ends in zip(display.low, display.high, strict=True)
    ]
    shown = [text.get_text() for text in ax.texts if text.get_gid() == "q"]
    assert [float(text.strip("< ")) for text in shown] == pytest.approx(display.q, abs=0.0101)


def test_the_title_says_when_shuffled_targets_look_the_same(selection, trust):
    assert "The data support" in NoiseDisplay.from_selection(selection, trust.noise).plot().figure.get_suptitle()
    all_votes = np.full_like(trust.null.counts, selection.posterior.evidence.n_models)
    noise = noise_of(selection.posterior.evidence, replace(trust.null, counts=all_votes))
    assert not noise.passes
    assert "Shuffled targets look the same (p = 1)" in (
        NoiseDisplay.from_selection(selection, noise).plot().figure.get_suptitle()
    )


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
    chosen = by_gid(figure.axes[0], "chosen on all samples")
    assert len(chosen.get_xdata()) == sum(display.chosen)
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


def test_sizes_stand_with_their_scores_and_the_noise_among_most_votes(selection, trust):
    display = PerformanceDisplay.from_selection(selection, trust.validation, trust.noise)
    curve = trust.validation.sizes
    assert (display.sizes, display.mean) == ((1, 2, 4), tuple(curve["mean"]))
    votes = sorted(trust.noise.counts.tolist(), reverse=True)
    for size, expected, cautious in zip(display.sizes, display.expected, display.cautious, strict=True):
        assert (expected, cautious) == trust.noise.expected(np.array(votes[:size]))
        assert 0 <= expected <= cautious <= size
    figure = display.plot().figure
    assert by_gid(figure.axes[0], "one se").get_xdata().tolist() == [trust.validation.one_se_size]
    assert by_gid(figure.axes[1], "expected").get_ydata().tolist() == list(display.expected)
    assert len(PerformanceDisplay.from_selection(selection, trust.validation).plot().figure.axes) == 1


def test_every_metric_and_baseline_has_a_name_for_people():
    assert {metric for prediction in PREDICTION.values() for metric in prediction.metrics} <= set(METRICS)
    assert metric_name("auc") == "AUC"
    for method in BASELINES:
        assert " " in method_name(method)
