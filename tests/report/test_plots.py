"""Plots of an answer: values against closed forms, words for what they show, and pictures that escape every name."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from ubayfs import Evidence, Survival, decide
from ubayfs._plain import decode, plain
from ubayfs.data.feature_data import FeatureData
from ubayfs.report import render_html, summarize
from ubayfs.report.content import document
from ubayfs.report.facts import Bend, ChosenFeature, VotesFor
from ubayfs.report.feature_sentences import effect
from ubayfs.report.plot_facts import feature_plots, validation_plot
from ubayfs.report.plots import Plot, Series
from ubayfs.report.relations import bends, middle_distance
from ubayfs.report.svg import heat_svg, plot_svg
from ubayfs.trust.validation import SamplePrediction, SampleRisk, Validation

N = 200


def data_of(y, **columns):
    return FeatureData.from_table(pd.DataFrame(columns), y, missing="available")


def plot_of(data, **facts):
    """Return the plot of the first feature."""
    return feature_plots(data, [ChosenFeature(str(data.feature_names[0]), 0, count=9, **facts)])[0]


def points(svg):
    """Return the number of places that paths of an SVG move to."""
    return sum(path.get("d").count("M") for path in ElementTree.fromstring(svg).iter("path"))


def test_classes_have_quartiles_of_all_samples():
    y = np.array(["a"] * 5 + ["b"] * 4)
    plot = plot_of(data_of(y, x=[1.0, 2, 3, 4, 5, 10, np.nan, 30, 20]))
    assert plot.kind == "classes"
    a, b = plot.series
    assert (a.name, a.n, a.y, a.box) == ("a", 5, (1, 2, 3, 4, 5), (1, 2, 3, 4, 5))
    assert (b.name, b.n, b.y, b.box) == ("b", 3, (10, 30, 20), (10, 15, 20, 25, 30))  # one has no value
    assert "medians: a 3, b 20" in plot_svg(plot)


def test_of_many_samples_few_points_are_shown_and_boxes_are_of_all():
    x = np.arange(4000.0)
    plot = plot_of(data_of(np.repeat(["a", "b"], 2000), x=x))
    assert plot.n_points == (120, 4000)
    assert plot.series[0].box == (0, 499.8, 999.5, 1499, 1999)  # four significant digits
    assert len(plot_svg(plot)) < 5000


def test_halves_are_divided_at_the_median_and_have_kaplan_meier_curves():
    # By hand. Low half: events at 1 (of 4 at risk), 4 (of 2) and 6, censored at 2. High half: at 3 (of 4) and 7 (of 2).
    time, event = [1, 2, 4, 6, 3, 5, 7, 8], [1, 0, 1, 1, 1, 0, 1, 0]
    plot = plot_of(data_of(Survival(time, event), x=[0.1, 0.2, 0.3, 0.4, 6.0, 7.0, 8.0, 9.0]))
    low, high = plot.series
    assert (plot.kind, plot.cut) == ("halves", 3.2)
    assert (low.name, low.n, low.x, low.y) == ("up to median", 4, (0, 1, 4, 6), (1, 0.75, 0.375, 0))
    assert (high.name, high.n, high.x, high.y) == ("above median", 4, (0, 3, 7, 8), (1, 0.75, 0.375, 0.375))
    svg = plot_svg(plot)
    assert "median times: up to median 4, above median 7" in svg
    assert svg.count("<polyline") == 2 * 3  # and their signs, in the legend and before the numbers at risk
    # Times 0, 2, 4, 6, 8: a sample that leaves at 2 was still at risk there.
    assert (plot.times, low.at_risk, high.at_risk) == ((0, 2, 4, 6, 8), (4, 3, 2, 1, 0), (4, 4, 3, 2, 1))


def test_what_most_votes_of_a_feature_were_for_is_drawn():
    rng = np.random.default_rng(2)
    survival, classes = Survival(rng.exponential(size=60), np.ones(60)), np.repeat(["a", "b"], 30)
    for y, straight, bent in ((survival, "halves", "ends"), (classes, "classes", "share")):
        data = data_of(y, x=rng.normal(size=60))
        assert plot_of(data, votes_for=(VotesFor(4, None),)).kind == straight  # of 9 votes
        assert plot_of(data, votes_for=(VotesFor(5, None),)).kind == bent


def test_long_curves_are_thinned_and_keep_their_ends():
    rng = np.random.default_rng(0)
    time = rng.exponential(size=3000)
    plot = plot_of(data_of(Survival(time, np.ones(3000)), x=rng.normal(size=3000)))
    assert all(len(each.x) <= 122 for each in plot.series)
    assert all(each.y[0] == 1 and each.y[-1] == 0 for each in plot.series)


def test_the_local_mean_is_exact_on_straight_lines_of_ranks_and_bends_with_a_u():
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    ranks = x.argsort().argsort()
    straight = plot_of(data_of(3 + 0.01 * ranks, x=np.exp(x))).curve
    # The place p of the ranks lies at p N - 1/2, counted from 0.
    assert straight.y == pytest.approx(3 + 0.01 * (np.linspace(0.03, 0.97, 25) * N - 0.5), rel=1e-3)
    assert straight.x == pytest.approx(np.quantile(np.exp(x), np.linspace(0.03, 0.97, 25)), rel=1e-3)
    bent = plot_of(data_of(x**2, x=x)).curve.y
    assert min(bent[0], bent[-1]) > 4 * bent[12]


@pytest.mark.parametrize("kind", ["binary", "classes", "numbers", "survival"])
def test_a_u_shape_is_found_and_named_in_every_task(kind):
    rng = np.random.default_rng(1)
    x, z, noise = rng.normal(size=(3, N))
    s = 2 * x**2 + 2 * z + 0.2 * noise
    third = np.digitize(s, np.quantile(s, [1 / 3, 2 / 3]))
    y = {
        "binary": np.where(s > np.median(s), "ill", "well"),
        "classes": np.array(["a", "b", "c"])[third],
        "numbers": s,
        "survival": Survival(rng.exponential(size=N) * np.exp(-s), np.ones(N)),
    }[kind]
    data = data_of(y, x=x, z=z, noise=noise)
    bend, *others = bends(data, [0, 1, 2])
    assert others == [None, None]
    shown = ChosenFeature("x", 0, effect=0.01, effect_kind="difference", highest_in="well", effect_clear=False)
    words = {
        "binary": "U-shaped: low or high in ill (d ",
        "classes": "U-shaped: low or high in c (eta",
        "numbers": "U-shaped: target highest at both ends (r +",
        "survival": "U-shaped: higher risk at both ends (hazard times ",
    }
    assert effect(replace(shown, bend=bend)).startswith(words[kind])
    plot = plot_of(data, bend=bend)
    assert plot.kind == {"binary": "share", "classes": "classes", "numbers": "target", "survival": "ends"}[kind]
    if kind == "binary":  # the share of the second class, well, is high in the middle
        assert plot.curve.y[12] > 0.7 > 0.3 > max(plot.curve.y[0], plot.curve.y[-1])
        d = middle_distance(x)
        means = [d[y == name].mean() for name in ("ill", "well")]
        spread = np.sqrt(sum(((d[y == name] - d[y == name].mean()) ** 2).sum() for name in ("ill", "well")) / (N - 2))
        assert bend.effect == pytest.approx((means[1] - means[0]) / spread)


def test_a_reversed_u_and_noise_are_told_apart():
    rng = np.random.default_rng(2)
    x, noise = rng.normal(size=(2, N))
    assert effect(ChosenFeature("x", bend=bends(data_of(-(x**2), x=x, e=noise), [0])[0])).startswith(
        "U-shaped: target highest in the middle (r -"
    )
    found = [bends(data_of(rng.normal(size=60), x=rng.normal(size=60)), [0])[0] for _ in range(100)]
    assert sum(bend is not None for bend in found) <= 5  # each of p < 0.05 / 9


def test_pairs_that_models_selected_together_have_one_plot():
    y = np.repeat(["a", "b"], 30)
    data = FeatureData.from_table(np.random.default_rng(0).normal(size=(60, 3)), y)
    both = [
        ChosenFeature("x0", 0, count=60, votes_for=(VotesFor(40, "x2"), VotesFor(10, "x1"))),
        ChosenFeature("x2", 2, count=50, votes_for=(VotesFor(50, "x0"),)),
    ]
    *single, pair = feature_plots(data, both)
    assert [plot.kind for plot in single] == ["classes", "classes"]
    assert (pair.kind, pair.features, [each.n for each in pair.series]) == ("pair", ("x0", "x2"), [30, 30])
    assert pair.series[1].y == pytest.approx(data.X[30:, 2], rel=1e-3)
    assert "selected with x2 by 40 of 60 votes" in effect(both[0])
    assert "x1" not in effect(both[0])  # too few


def test_categories_have_boxes_or_curves_by_level():
    levels = pd.Categorical(["I", "II", "III"] * 20)
    by_level = plot_of(data_of(np.arange(60) + 0.5, stage=levels))
    assert (by_level.kind, [each.name for each in by_level.series]) == ("levels", ["I", "II", "III"])
    assert by_level.series[0].box == (0.5, 14.75, 29, 43.25, 57.5)
    curves = plot_of(data_of(Survival(np.arange(1.0, 61), np.ones(60)), stage=levels))
    assert (curves.kind, [each.n for each in curves.series]) == ("halves", [20, 20, 20])


def test_without_groups_of_samples_there_are_no_plots():
    labels = FeatureData.from_table(np.eye(4), np.array([[0, 1], [1, 0], [1, 1], [0, 0]]))
    assert feature_plots(labels, [ChosenFeature("x0", 0)]) == ()
    assert feature_plots(FeatureData.from_table(np.eye(4)), [ChosenFeature("x0", 0)]) == ()


def test_predictions_of_held_out_samples_are_drawn_as_they_are():
    found = Validation("binary", "auc", 2, 1, 20, ("a",), ((0,),), ())
    assert validation_plot(found) is None
    curve = validation_plot(replace(found, roc=tuple(np.linspace(0, 1, 101) ** 0.5)))
    assert (curve.kind, len(curve.series[0].x), curve.series[0].y[25]) == ("roc", 101, 0.5)
    assert "sensitivity 0.32 at a specificity of 0.90" in plot_svg(curve)
    numbers = validation_plot(replace(found, predictions=(SamplePrediction(2.0, 1.5), SamplePrediction(1.0, 1.25))))
    assert (numbers.kind, numbers.series[0].x, numbers.series[0].y) == ("predicted", (1.0, 2.0), (1.25, 1.5))
    risks = tuple(SampleRisk(time, 1.0, risk) for time, risk in ((1, 0.4), (2, 0.3), (3, -0.1), (4, 0.0)))
    low, high = validation_plot(replace(found, risks=risks)).series
    assert (low.name, low.n, low.x, low.y) == ("low risk", 2, (0, 3, 4), (1, 0.5, 0))
    assert (high.name, high.n, high.x, high.y) == ("high risk", 2, (0, 1, 2), (1, 0.5, 0))


HOSTILE = '</title><script>alert("x")</script>&\x00\u202e'
HOSTILE_PLOTS = {
    "classes": Plot("classes", (HOSTILE,), tuple(Series(HOSTILE, 1, y=(v,), box=(v,) * 5) for v in (1.0, 1e300))),
    "share": Plot("share", (HOSTILE,), (Series(HOSTILE, 1, (1.0,)),) * 2, Series("", 2, (0.0, 1.0), (0.0, 1.0))),
    "target": Plot("target", (HOSTILE,), (Series("", 1, (-1e308, 1e308), (-1e308, 1e308)),)),
    "halves": Plot("halves", (HOSTILE,), (Series(HOSTILE, 1, (0.0, 0.0), (1.0, 0.0)),)),
    "pair": Plot("pair", (HOSTILE, HOSTILE), tuple(Series(HOSTILE, 1, (0.0,), (5e-324,)) for _ in range(9))),
    "empty": Plot("pair", ("a", "b"), (Series("c", 0),)),
}


@pytest.mark.parametrize("plot", HOSTILE_PLOTS.values(), ids=HOSTILE_PLOTS)
def test_pictures_are_well_formed_whatever_names_and_values_are(plot):
    svg = plot_svg(plot, HOSTILE)
    tree = ElementTree.fromstring(svg)  # raises unless well-formed
    assert (tree.get("role"), {element.tag for element in tree.iter()} & {"script", "style", "a"}) == ("img", set())
    assert tree.find("title").text
    assert not {"nan", "inf"} & set(svg.replace('"', " ").split())
    assert "\u202e" not in svg


def test_a_heat_map_has_a_cell_for_each_value():
    y = np.repeat(["a", "b"], 20)
    X = np.random.default_rng(0).normal(size=(40, 4))
    X[0, 0] = np.nan
    selection = decide(Evidence.from_sets([[1, 1, 1, 0], [1, 1, 0, 0]]), max_size=3)
    summary = summarize(selection, FeatureData.from_table(X, y, missing="available"), n_draws=0)
    cells = ElementTree.fromstring(heat_svg(summary.profile.among(summary.names))).find("svg")
    assert sum(path.get("d").count("M") for path in cells.iter("path")) == 119  # one value is missing
    assert cells.get("viewBox") == "0 0 40 3"


def test_a_summary_keeps_its_plots_and_the_report_draws_them():
    rng = np.random.default_rng(0)
    x, other = rng.normal(size=(2, 60))
    y = np.where(x + 0.3 * rng.normal(size=60) > 0, "ill", "well")
    data = data_of(y, TP53=x, **{"<b>": other, "c": other[::-1]})
    evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["TP53", "<b>", "c"])
    selection = decide(evidence, max_size=2)
    summary = summarize(selection, data, n_draws=0)
    again = decode(type(summary), plain(summary))
    assert [plot.features for plot in again.plots] == [("TP53",), ("<b>",)]
    assert again.plots == summary.plots
    plates = next(section for section in document(again).sections if section.key == "chosen").plates
    assert [(plate.title, plate.link) for plate in plates] == [("TP53", ""), ("<b>", "")]
    assert plates[0].text.startswith("higher in ill (d ")
    page = render_html(again)
    assert page.count('<svg class="plot"') == 2
    assert "<b>" not in page
    # Without data, the plots of the features that are left are those of before.
    later = summarize(decide(evidence, max_size=1), earlier=summary, n_draws=0)
    assert later.plots == summary.plots[:1]
    assert summarize(selection, n_draws=0).plots == ()


def test_genes_lead_to_a_page_about_them():
    names = [f"{a}{b}{c}1" for a in "ABC" for b in "ABCDE" for c in "ABCD"]
    evidence = Evidence.from_sets(np.eye(2, 60, dtype=bool), names)
    (first, _) = decide(evidence, max_size=2).features
    summary = summarize(decide(evidence, max_size=2), n_draws=0)
    assert summary.chosen[0].gene == first
    address = f"https://www.ncbi.nlm.nih.gov/gene/?term={first}"
    assert f'<a href="{address}" target="_blank" rel="noopener noreferrer">{first}</a>' in render_html(summary)


@pytest.mark.parametrize(
    ("member", "words"),
    [
        ({"bend": Bend("hazard", 1.5, "", 1.2, 1.9), "hazard_ratio": 1.0, "hazard_low": 0.8, "hazard_high": 1.2},
         "U-shaped: higher risk at both ends (hazard times 1.50 per SD of distance, 1.20 to 1.90)"),
        ({"bend": Bend("difference", 1.1, "ill"), "effect": -0.4, "effect_kind": "difference", "highest_in": "well"},
         "U-shaped: low or high in ill (d 1.10); on average higher in well (d 0.40)"),
        ({"effect": 0.1, "effect_kind": "correlation", "effect_clear": False, "votes_for": (VotesFor(71, None),)},
         "no clear direction (r +0.10); by 71 of 83 votes U-shaped"),
    ],
)  # fmt: skip
def test_words_of_effects(member, words):
    assert effect(ChosenFeature("x", count=83, **member)) == words
