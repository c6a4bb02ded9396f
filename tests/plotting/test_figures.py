"""Figures as files: PNG that any reader decodes, each display drawn once, correlations after a way through JSON."""

import io
import json

import numpy as np
import pytest
from PIL import Image

from ubayfs.plotting import Correlations, Display, Figures, render_figures
from ubayfs.plotting.figures import encode_png, page_format


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (40, 17)])
def test_png_holds_the_pixels_and_the_resolution(rng, shape):
    pixels = rng.integers(0, 256, (*shape, 4)).astype(np.uint8)
    image = Image.open(io.BytesIO(encode_png(pixels, 300)))
    np.testing.assert_array_equal(np.asarray(image), pixels)
    assert image.info["dpi"] == pytest.approx((300, 300), rel=1e-3)


class Counting(Display):
    """Counts how often it is drawn."""

    name = "counting"
    drawn = 0
    missing_letters = "\u6e29"

    def plot(self, ax=None):
        self.__class__.drawn += 1
        return self

    def render(self, format="png"):
        return f"{format} {self.drawn}".encode()


def test_a_display_is_drawn_once_for_all_formats_and_not_if_it_is_known():
    figures = render_figures({"counting": Counting()}, ("svg", "pdf", "png"))
    assert figures.files == {"counting": {"svg": b"svg 1", "pdf": b"pdf 1", "png": b"png 1"}}
    (advice,) = figures.advice
    assert (advice.code, advice.facts) == ("missing_letters", {"letters": "\u6e29"})
    again = render_figures({"counting": Counting()}, ("svg",), figures)
    assert again == Figures({"counting": {"svg": b"svg 1"}}, "\u6e29")
    more = render_figures({"counting": Counting()}, ("svg",), Figures({"counting": {"png": b"png"}}))
    assert more.files == {"counting": {"svg": b"svg 2"}}


@pytest.mark.parametrize(
    ("formats", "expected"), [((), "png"), (("pdf",), "png"), (("svg", "pdf"), "svg"), (("svg", "png"), "png")]
)
def test_what_a_page_embeds(formats, expected):
    assert page_format(formats) == expected


def test_correlations_are_those_of_scipy_also_after_json(rng):
    from scipy.stats import pearsonr, spearmanr

    X = rng.integers(0, 5, (30, 6)).astype(float)
    names = np.array(list("abcdef"), dtype=object)
    known = Correlations.from_data(X, names, np.array([5, 0, 2]))
    read = Correlations.from_dict(json.loads(json.dumps(known.to_dict())))
    for found in (known, read):
        assert found.cover(["a", "f"])
        assert not found.cover(["a", "b"])
        pair = found.among(["a", "f"])
        assert pair.spearman[0, 1] == pytest.approx(spearmanr(X[:, 0], X[:, 5]).statistic)
        assert pair.pearson[1, 0] == pytest.approx(pearsonr(X[:, 0], X[:, 5]).statistic)
        assert np.diag(pair.pearson).tolist() == [1, 1]
