"""Fixtures shared by the tests."""

import gc
import os
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from amounts import examples
from app_server import CHROMIUM, FLAGS, HOW_TO_GET_IT, LONGEST

# Other packages are imported where they are needed: the process that hands out the tests reads this file too, and the
# others wait for it.

# No deadline: a slow machine is not a defect.
settings.register_profile(
    "ubayfs",
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
settings.load_profile("ubayfs")


def fsync(descriptor):
    """Do not wait for the disk: what tests write need not outlast a loss of power. A closed file stays an error."""
    os.fstat(descriptor)


os.fsync = fsync

# The modules that all tests share are no garbage; looking through them again and again takes a fifth of the time.
gc.disable()


def pytest_collection_finish():
    """Collect garbage from now on, but for what was there before."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def cancer():
    """Breast cancer data as a DataFrame X (569 x 30) and class labels y."""
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(as_frame=True, return_X_y=True)


@pytest.fixture(scope="session")
def data_dir():
    """The directory with the paper's data sets; tests that need it are skipped without it."""
    path = Path(os.environ.get("UBAYFS_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not (path / "BCW.csv.gz").exists():
        pytest.skip("the paper's data sets are not here; set UBAYFS_DATA to their directory")
    return path


@pytest.fixture(scope="session")
def load_set(data_dir):
    """Function name -> (X, y) of one of the paper's data sets."""
    import pandas as pd

    def load(name):
        frame = pd.read_csv(data_dir / f"{name}.csv.gz")
        return frame.drop(columns="y"), frame["y"].to_numpy()

    return load


class _Blank:
    """A drawing without content, made at once."""

    missing_letters = ""

    def render(self, format="png", dpi=300):
        from ubayfs.plotting.figures import encode_png

        return encode_png(np.zeros((1, 1, 4), dtype=np.uint8), dpi) if format == "png" else b"<svg/>"


@pytest.fixture(scope="session")
def without_figures():
    """Function that gives a context in which figures are empty: they take longer than everything else."""
    from ubayfs.plotting import Display

    @contextmanager
    def context():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Display, "plot", lambda self, ax=None: _Blank())
            yield

    return context


@pytest.fixture
def blank_figures(without_figures):
    """Leave figures empty."""
    with without_figures():
        yield


@pytest.fixture(scope="module")
def browser():
    """Chromium, driven by Playwright, whose event loop would keep other modules from having one of their own."""
    playwright = pytest.importorskip("playwright.sync_api", reason=HOW_TO_GET_IT)
    if CHROMIUM is None:
        pytest.skip(HOW_TO_GET_IT)
    playwright.expect.set_options(timeout=LONGEST)
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=LONGEST)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def tab(browser):
    """A tab for the tests of a module, one after another: in a new one, a page takes twice as long."""
    from browsing import new_context

    opened = new_context(browser)
    yield opened.new_page()
    opened.close()


@pytest.fixture
def context(tab):
    """A browser without cookies, with an empty tab; what a test leaves in it is removed."""
    from browsing import WINDOW, nothing_wrong

    opened = tab.context
    with nothing_wrong(opened):
        yield opened
        for page in opened.pages:
            if page is not tab:
                page.close()
        opened.set_offline(False)
        if tab.url.startswith("http"):
            tab.evaluate("localStorage.clear(), sessionStorage.clear()")
        tab.goto("about:blank")
        tab.set_viewport_size(WINDOW)
        tab.emulate_media(media="null")
        opened.clear_cookies()
        opened.clear_permissions()
