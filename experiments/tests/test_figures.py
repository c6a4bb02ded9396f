"""Figures of the experiments: what is drawn, and that nothing hides anything."""

import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import fake_run as fake
from ubayfs_experiments.analysis.aggregate import aggregate, with_f1
from ubayfs_experiments.analysis.differences import with_noise
from ubayfs_experiments.analysis.paper import paper_value
from ubayfs_experiments.looks import look_of
from ubayfs_experiments.report import figure_parts, figures, figures_optimizers, figures_real
from ubayfs_experiments.report.figure_parts import png

pytest.importorskip("matplotlib")

ALL_NAMES = [name for names in fake.FIGURES.values() for name in names]


def two_methods(experiment, n_splits=3):
    """Return a table with the lines that are looked at, of tree, and others to be told from them."""
    return fake.EXPERIMENTS[experiment](n_splits=n_splits).query("method in ('tree', 'mrmr')")


@pytest.fixture(scope="module")
def number_of_models():
    """A table of experiment 1a with few methods, and its figure."""
    frame = two_methods("1a")
    return frame, figures.figure_1a(frame).figure


@pytest.fixture(scope="module")
def drawings(drawn):
    """Name -> figure."""
    return {name: drawing for figures_of in drawn.values() for name, drawing in figures_of.items()}


def test_every_experiment_has_its_figures(drawn):
    assert {experiment: list(found) for experiment, found in drawn.items()} == fake.FIGURES


@pytest.mark.parametrize(("experiment", "data"), [("1b", "blocks"), ("1c", "blocks"), ("1d", "redundant")])
def test_each_data_set_of_the_simulation_has_a_figure_of_its_own(monkeypatch, experiment, data):
    monkeypatch.setattr(figures, "_by_setting", lambda frame, *how, **more: set(frame["data"]))
    frame = fake.EXPERIMENTS[experiment](n_splits=1)
    drawn = figures.draw(experiment, frame)
    assert drawn == {f"{experiment}_{name}": {name} for name in (data, f"{data}-authors")}
    assert list(drawn) == [f"{experiment}_{data}", f"{experiment}_{data}-authors"]


@pytest.mark.parametrize("experiment", fake.FIGURES)
def test_an_empty_frame_draws_nothing(experiment):
    assert figures.draw(experiment, pd.DataFrame()) == {}


@pytest.mark.parametrize("name", ALL_NAMES)
def test_no_text_is_cut_off_or_shows_markup_and_the_legend_hides_nothing(drawings, name):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = drawings[name].figure
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()  # the layout is made
    page = figure.bbox
    (legend,) = figure.legends
    around = legend.get_window_extent(renderer)
    assert page.x0 - 1 <= around.x0
    assert around.x1 <= page.x1 + 1
    assert page.y0 - 1 <= around.y0
    shown = [ax for ax in figure.axes if ax.get_visible()]
    for ax in shown:
        inside = ax.get_tightbbox(renderer)
        assert page.x0 - 1 <= inside.x0
        assert inside.x1 <= page.x1 + 1
        assert inside.y1 <= page.y1 + 1
        assert inside.y0 >= around.y1 - 1
        for line in ax.lines:
            # What is drawn in units of the axes lies within them.
            if line.get_transform() == ax.transData:
                low, high = ax.get_ylim()
                values = np.asarray(line.get_ydata(), dtype=float)
                assert np.all((values >= min(low, high)) & (values <= max(low, high)) | np.isnan(values))
    texts = [label.get_text() for ax in shown for label in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    assert any(texts)
    assert not any("$" in text for text in texts)


def test_equal_frames_give_equal_files(drawings, monkeypatch):
    monkeypatch.setattr(figure_parts, "_DPI", 60)
    again = figures_real.figure_schemes(fake.experiment_2(n_splits=3))
    assert png(again) == png(drawings["2_schemes"])


def test_pictures_are_small_and_keep_the_colors(drawings):
    file = png(drawings["2_seconds"])
    assert len(file) < 100_000
    picture = Image.open(io.BytesIO(file))
    assert picture.mode == "P"
    assert picture.width >= 1000
    shown = {color for _, color in picture.convert("RGB").getcolors(1 << 24)}
    for wanted in ((0, 0x72, 0xB2), (0, 0, 0), (255, 255, 255)):
        assert min(sum(abs(a - b) for a, b in zip(wanted, color, strict=True)) for color in shown) <= 12


def lines_of(ax, label):
    """Return the markers of a line by the color, marker and dashes of a method."""
    look = look_of(label)
    return [line for line in ax.lines if line.get_marker() == look.marker and line.get_color() == look.color]


def ends_of(ax, line):
    """Return the lower and upper ends of the error bars of a line."""
    (bars,) = [container for container in ax.containers if container[0] is line]
    return np.array([segment[:, 1] for segment in bars[2][0].get_segments()])


@pytest.mark.parametrize("name", ["1a", "1b_blocks", "1c_blocks", "1d_redundant"])
def test_experiment_1_shows_four_measures_with_bars(drawings, name):
    axes = drawings[name].figure.axes
    labels = [ax.get_ylabel() for ax in axes if ax.get_ylabel()]
    assert labels[:4] == ["feature-wise F1", "stability", "redundancy rate", "CPU seconds"]
    n_columns = len(axes) // len(labels)
    for ax in axes[: 4 * n_columns]:
        ends = np.concatenate([ends_of(ax, container[0]) for container in ax.containers])
        assert (ends[:, 1] > ends[:, 0]).any()
    for ax in axes[3 * n_columns : 4 * n_columns]:
        assert ax.get_yscale() == "log"


def test_seconds_are_medians_with_quartiles_in_every_setting():
    frame = two_methods("1b", n_splits=4).query("data == 'blocks'")
    frame = frame.assign(seconds=0.01 * 9.0 ** frame["split"])  # mean 2.05, standard deviation 3.5: below 0
    axes = figures.figure_1b(frame).figure.axes
    for ax in axes[6:8]:
        (line,) = lines_of(ax, "tree")
        ends = ends_of(ax, line)
        np.testing.assert_allclose(line.get_ydata(), 0.45)
        np.testing.assert_allclose(ends, np.tile(np.quantile([0.01, 0.09, 0.81, 7.29], [0.25, 0.75]), (4, 1)))


def test_sets_of_one_feature_have_no_redundancy_and_are_left_out():
    frame = two_methods("1a").query("data == 'additive'")
    frame.loc[frame["n_models"] == 1, "redundancy"] = np.nan
    frame.loc[(frame["n_models"] == 5) & (frame["split"] == 0), "redundancy"] = np.nan
    ax = figures.figure_1a(frame).figure.axes[2]
    (line,) = lines_of(ax, "tree")
    rows = frame[frame["method"] == "tree"].groupby("n_models")["redundancy"]
    np.testing.assert_allclose(line.get_ydata(), rows.mean())
    assert np.isnan(line.get_ydata()).tolist() == [size == 1 for size in sorted(set(frame["n_models"]))]


def test_priors_stand_in_their_order_whichever_there_are():
    frame = two_methods("1d", n_splits=2).query("data == 'redundant'")
    other = frame[frame["prior"] == "generalized, beta = 1"].assign(prior="generalized, beta = 100")
    axes = figures.figure_1d(pd.concat([other, frame.iloc[::-1]])).figure.axes
    assert [label.get_text().replace("\n", " ") for label in axes[-1].get_xticklabels()] == [
        "dirichlet", "gener- alized", "gener- alized, beta = 1", "gener- alized, beta = 100", "hyper- dirichlet",
    ]  # fmt: skip


def test_lines_show_the_means_and_bars_the_intervals(number_of_models):
    frame, figure = number_of_models
    ax = figure.axes[2]  # stability of the additive data
    table = aggregate(frame, ["data", "method", "n_models"], [])
    wanted = table[(table["data"] == "additive") & (table["method"] == "tree")]
    (line,) = lines_of(ax, "tree")
    np.testing.assert_allclose(line.get_ydata(), wanted["stability"])
    ends = ends_of(ax, line)
    np.testing.assert_allclose(ends, wanted[["stability_low", "stability_high"]])


def test_bars_of_scores_are_standard_deviations(number_of_models):
    frame, figure = number_of_models
    ax = figure.axes[0]
    rows = frame[(frame["data"] == "additive") & (frame["method"] == "tree")].groupby("n_models")["feature_f1"]
    (line,) = lines_of(ax, "tree")
    ends = ends_of(ax, line)
    np.testing.assert_allclose(ends[:, 1] - ends[:, 0], 2 * rows.std())


def test_the_marks_of_the_paper_are_its_values():
    drawing = figures_real.figure_2(fake.experiment_2(n_splits=3))
    top = drawing.figure.axes[0]
    marks = [line for line in top.lines if line.get_gid() == "paper"]
    # The methods in the order of the legend; the data sets as in the paper, without p53, which was not run.
    first = marks[0].get_ydata()
    data = ["BCW", "HD", "MPE", "COL", "LSVT", "PRO", "LEU"]
    printed = {paper_value(name, "standard", "ubayfs_mrmr", "f1_logistic") for name in data}
    assert set(first[~np.isnan(first)]) == printed
    assert np.isnan(first).sum() == 1  # LEU_golub


def test_methods_differ_by_more_than_color():
    for methods in (fake.SELECTORS, [*fake.METHODS, "group_lasso"]):
        looks = [look_of(name) for name in methods]
        assert len({look.color for look in looks}) == len({look.marker for look in looks}) == len(looks)
    assert len({str(look_of(name).dashes) for name in fake.SELECTORS}) == len(fake.SELECTORS)


def test_a_method_that_nobody_knows_is_drawn():
    frame = fake.experiment_1a(n_splits=2)
    words = [text.get_text() for text in figures.figure_1a(frame.assign(method="novel")[:3]).figure.legends[0].texts]
    assert words == ["novel"]


def test_without_misses_the_figure_says_so():
    frame = fake.optimizers(n_splits=2).assign(missed=0.0, loss=0.0)
    drawn = figures_optimizers.figure_optimizers(frame).figure
    assert "none missed" in [text.get_text() for text in drawn.axes[1].texts]


def test_parts_that_are_absent_are_left_out():
    frame = fake.experiment_2(n_splits=2).query("method in ('ubayfs_mrmr', 'rent')")
    random = frame[(frame["scheme"] == "random") & (frame["scenario"] == "standard")]
    assert list(figures.draw("2", random)) == ["2", "2_trade_off", "2_seconds"]
    exact = fake.optimizers(n_splits=2).query("optimizer == 'exact'")
    assert figures.draw("optimizers", exact) == {}


def test_one_split_has_no_bars_but_is_drawn():
    others = ("non-additive", "blocks-authors", "redundant-authors")
    for experiment in ("1a", "1b", "1c", "1d", "2", "optimizers"):
        frame = fake.EXPERIMENTS[experiment](n_splits=1)
        few = frame[frame["method"].isin(["mrmr", "ubayfs_mrmr"]) & ~frame["data"].isin(others)]
        if "constraint" in few:
            few = few[few["constraint"] == "max_blocks 2"]
        assert list(figures.draw(experiment, few)) == fake.FIGURES[experiment]


def test_stability_stands_against_f1_of_every_method():
    frame = fake.experiment_2(n_splits=3)
    (ax, *others) = [ax for ax in figures_real.figure_trade_off(frame).figure.axes if ax.get_visible()]
    cells = {(data, "standard") for data in fake.REAL if data != "LEU_golub"} | {
        (data, "block") for data in fake.BLOCKS
    }
    assert 1 + len(others) == len(cells)
    rows = with_f1(frame).query("data == 'BCW' and scheme == 'random' and scenario == 'standard'")
    drawn = {(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in ax.lines}
    table = aggregate(rows, ["method"], ["f1_logistic", "f1_svm"])
    wanted = set(zip((table["f1_logistic_mean"] + table["f1_svm_mean"]) / 2, table["stability"], strict=True))
    np.testing.assert_allclose(sorted(drawn), sorted(wanted))


def test_seconds_of_noise_are_marked():
    plain = fake.experiment_2(n_splits=2)
    marked = figures_real.figure_seconds(with_noise(plain, fake.discussion(n_splits=2))).figure
    labels = [[text.get_text() for text in figure.legends[0].texts] for figure in
              (marked, figures_real.figure_seconds(plain).figure)]  # fmt: skip
    assert set(labels[0]) - set(labels[1]) == {"ours, on noise of the size of p53"}
    assert "p53" in [label.get_text() for label in marked.axes[0].get_yticklabels()]


def test_every_draw_and_their_mean_are_shown():
    frame = fake.many_draws(n_splits=4).query("data == 'additive' and method in ('tree', 'hsic')")
    (ax,) = figures.figure_draws(frame).figure.axes
    pale, mean = lines_of(ax, "tree")
    values = frame.loc[frame["method"] == "tree", "feature_f1"]
    assert pale.get_ydata().tolist() == values.tolist()
    np.testing.assert_allclose(ends_of(ax, mean)[0], values.mean() + np.array([-2, 2]) * values.sem())
