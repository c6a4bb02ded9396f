"""The app in a process of its own; tests that ask for `page` see it in a real browser."""

import asyncio
import gc
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from app_server import enter, start_server, stop_server
from app_studies import hostile, laboratory, patients
from browsing import expect, undo
from cancer_study import cancer


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server for all tests of a session; `studies` has the addresses of its studies, `ids` their directories."""
    from ubayfs.app.library import Library

    folder = tmp_path_factory.mktemp("app")
    library = Library(folder / "studies")
    ids = {
        make.__name__: library.create(make.__name__, make(folder)) for make in (laboratory, patients, hostile, cancer)
    }
    ids["stopped"] = library.create("stopped", folder / "patients.yaml")  # trust in many models would take long
    library.close()
    started = start_server(folder / "studies")
    started.ids = ids
    started.studies = {name: f"{started.base}/s/{id}" for name, id in ids.items()}
    yield started
    stop_server(started)
    log = started.directory.with_suffix(".log").read_text()
    assert "Traceback" not in log, log


@pytest.fixture
def page(tab, context, server):
    """A page that the server has let in."""
    enter(context, server)
    return tab


@pytest.fixture
def study(server):
    """The address of a study with rules and knowledge."""
    return server.studies["cancer"]


@pytest.fixture(scope="session")
def collected(server, request):
    """Function that runs the models of a study, once, and confirms what is known; it returns the study's address."""
    done = set()

    def collect(page, name):
        address = server.studies[name]
        if name not in done:
            page.goto(f"{address}/evidence")
            run, confirm = (page.get_by_role("button", name=name) for name in ("Run ", "I have stated what I know"))
            expect(run).to_be_enabled()
            run.press("Enter")  # a click misses a button that moves while what stands above it changes
            confirm.press("Enter")
            expect(confirm).to_be_hidden()
            page.get_by_text("models have voted", exact=False).first.wait_for()
            done.add(name)
        return address

    return collect


@pytest.fixture
def answered(page, collected):
    """The address of a small study whose models have voted, and whose knowledge is confirmed."""
    return collected(page, "patients")


@pytest.fixture
def ready(page):
    """Function that waits until the page Answer has all of the answer to the present state."""

    def wait():
        page.wait_for_selector("table.members")
        expect(page.locator(".lead")).not_to_contain_text("Your change")
        expect(page.locator(".members .waiting")).to_have_count(0)

    return wait


@pytest.fixture
def answer(page, answered, ready):
    """The page Answer, with all edits of earlier tests undone."""
    page.goto(f"{answered}/answer")
    page.wait_for_selector("table.members")
    if page.locator("#undo").is_enabled():
        while page.locator("#undo").is_enabled():
            undo(page)
        page.reload()  # its parts are drawn one after another, and all of them must know of the undoing
    ready()
    return page


@pytest.fixture
def check_access(page):
    """Function that looks at the page as a screen reader does, and for whatever is wider than the window."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason='pip install "ubayfs[browser]"').Axe()

    def check(widths=(1920, 1280, 390)):
        for width in widths:
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_function("width => window.innerWidth === width", arg=width)
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            cut = page.evaluate(CUT_OFF)
            assert cut == [], (width, cut)
        found = axe.run(page).response["violations"]
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in serious] == []

    return check


# Parts of the content that end outside the window or outside a box that does not scroll; grids scroll by themselves.
CUT_OFF = """() => [...document.querySelectorAll('.report *')].filter((e) => {
  if (e.closest('.nicegui-aggrid, .scroll, .sets, .chips, svg') || !e.offsetParent) return false;
  const box = e.getBoundingClientRect();
  const outside = box.width > 0 && (box.right > window.innerWidth + 1 || box.left < -1);
  return outside && getComputedStyle(e).position !== 'absolute' && !e.closest('thead');
}).map((e) => e.outerHTML.slice(0, 120))"""


@pytest.fixture
def simulated():
    """Function that opens the app on a library for NiceGUI's simulated user, without browser and network::

    async def visit():
        async with simulated(library) as user:
            await user.open("/s/demo/data")

    asyncio.run(visit())
    """
    pytest.importorskip("nicegui")
    from nicegui import Client, background_tasks
    from nicegui.testing import user_simulation

    from ubayfs.app.server import build

    gc.freeze()  # NiceGUI looks for garbage around each simulation: at what is made from now on

    @asynccontextmanager
    async def opened(library):
        async with user_simulation() as user:
            build(library)
            try:
                yield user
            finally:
                loop, tasks = asyncio.get_running_loop(), background_tasks.running_tasks
                tasks.difference_update([task for task in tasks if task.get_loop() is not loop])  # these never end here
                Client.page_routes.clear()  # else NiceGUI removes ubayfs from the modules that are loaded

    return opened


@pytest.fixture
def library(tmp_path):
    """A library with the study ``demo`` of a small table, whose workbench has no worker."""
    from ubayfs import max_size
    from ubayfs.app.state import State
    from ubayfs.app.study_facts import StudyEntry
    from ubayfs.app.workbench import Workbench
    from ubayfs.exceptions import InputError
    from ubayfs.study import DataSection, Study

    (tmp_path / "cells.csv").write_text("diagnosis,radius,area\n" + "benign,1,2\nmalignant,3,4\n" * 10)
    study = Study(DataSection("cells.csv", target="diagnosis"), constraints=(max_size(2),), folder=tmp_path)
    bench = Workbench.create(tmp_path / "demo", State.of("Demo", study), None)

    def open_study(id):
        if id != "demo":
            raise InputError(f"{id!r} does not exist here.")
        return bench

    entry = StudyEntry("demo", "Demo <b>", "2026-11-17T04:00:00", 20, 2)
    yield SimpleNamespace(open=open_study, studies=lambda: [entry], close=lambda: None, bench=bench, root=tmp_path)
    bench.close()
