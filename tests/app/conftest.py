"""The app in a process of its own, and a real browser.

Tests that need Chromium ask for `page`; they are skipped without it.
"""

from contextlib import asynccontextmanager
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from app_server import CHROMIUM, FLAGS, HOW_TO_GET_IT, start_server, stop_server


@pytest.fixture(scope="session")
def new_server():
    """Return a function that starts a server of a test's own; all are ended with the session."""
    started = []

    def start(directory, *arguments):
        started.append(start_server(directory, *arguments))
        return started[-1]

    yield start
    for each in started:
        stop_server(each)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server with the demo study, for all tests of a session."""
    started = start_server(tmp_path_factory.mktemp("app") / "studies", "--demo")
    yield started
    stop_server(started)


@pytest.fixture(scope="session")
def start():
    """Function that starts another server, with arguments of `start_server`; it ends with the session."""
    started = []

    def begin(*arguments):
        started.append(start_server(*arguments))
        return started[-1]

    yield begin
    for each in started:
        stop_server(each)


@pytest.fixture(scope="module")
def browser():
    """Chromium, driven by Playwright, whose event loop would keep other modules from having one of their own."""
    playwright = pytest.importorskip("playwright.sync_api", reason=HOW_TO_GET_IT)
    if CHROMIUM is None:
        pytest.skip(HOW_TO_GET_IT)
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def context(browser):
    """A browser without cookies; a request to anywhere else, or an error of a script, fails the test."""
    wrong = []
    opened = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    opened.set_default_timeout(15_000)
    opened.on("request", lambda request: is_foreign(request.url) and wrong.append(request.url))
    opened.on("weberror", lambda error: wrong.append(str(error.error)))
    yield opened
    opened.close()
    assert wrong == []


def is_foreign(url):
    """Tell whether a browser asks another machine."""
    parts = urlsplit(url)
    return parts.scheme not in ("data", "blob", "about") and parts.hostname != "127.0.0.1"


@pytest.fixture
def page(context, server):
    """A page that the server has let in."""
    opened = context.new_page()
    opened.goto(f"{server.base}/?token={server.token}")
    opened.wait_for_selector("h1")
    return opened


@pytest.fixture
def study(server):
    """The address of the demo study."""
    return server.base + server.path.rpartition("/")[0]


@pytest.fixture
def simulated():
    """Function that opens the app on a library for NiceGUI's simulated user, without browser and network::

    async def visit():
        async with simulated(library) as user:
            await user.open("/s/demo/data")

    asyncio.run(visit())
    """
    pytest.importorskip("nicegui")
    from nicegui import Client
    from nicegui.testing import user_simulation

    from ubayfs.app.server import build

    @asynccontextmanager
    async def opened(library):
        async with user_simulation() as user:
            build(library)
            try:
                yield user
            finally:
                Client.page_routes.clear()  # else NiceGUI removes ubayfs from the modules that are loaded

    return opened


@pytest.fixture
def library(tmp_path):
    """A library with the study ``demo`` of a small table, whose workbench has no worker."""
    from ubayfs import max_size
    from ubayfs.app.state import State
    from ubayfs.app.workbench import Workbench
    from ubayfs.exceptions import InputError
    from ubayfs.study import DataSection, Study

    (tmp_path / "cells.csv").write_text("diagnosis,radius,area\n" + "benign,1,2\nmalignant,3,4\n" * 10)
    study = Study(DataSection("cells.csv", target="diagnosis"), constraints=(max_size(2),), folder=tmp_path)
    bench = Workbench.create(tmp_path / "demo", State.of("Demo", study))

    def open_study(id):
        if id != "demo":
            raise InputError(f"{id!r} does not exist here.")
        return bench

    entry = {"id": "demo", "name": "Demo <b>", "changed": "2026-11-17T04:00:00", "n_samples": 20, "n_features": 2}
    yield SimpleNamespace(open=open_study, studies=lambda: [entry], close=lambda: None, bench=bench, root=tmp_path)
    bench.close()
