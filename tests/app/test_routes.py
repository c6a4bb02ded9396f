"""What a page hides, every address refuses: each route of the server is asked by strangers and by other experts."""

import json
import subprocess
import sys
import time
from http.client import HTTPConnection
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from app_server import start_server, stop_server
from app_studies import answered, patients, until

pytest.importorskip("nicegui")


SCREENS = ("data", "know", "rules", "evidence", "answer", "versions")
KINDS = ("study", "report", "excel", "zip", "zip-with-data")
# All that the server answers, and examples of it; what begins with an underscore has nothing of a study.
ROUTES = {
    "GET /": ["/"],
    "GET /_app/{name}": ["/_app/app.js"],
    "GET /s/{study}/{screen}": [f"/s/STUDY/{screen}" for screen in SCREENS],
    "GET /s/{study}/features.json": ["/s/STUDY/features.json"],
    "GET /s/{study}/upload": ["/s/STUDY/upload?name=a.csv&size=1"],
    "POST /s/{study}/upload": ["/s/STUDY/upload?name=a.csv"],
    "GET /s/{study}/download/{kind}": [f"/s/STUDY/download/{kind}{of}" for kind in KINDS for of in ("", "?version=1")],
}
OF_NICEGUI = ("/_nicegui_ws/socket.io/?EIO=4&transport=polling", "/_nicegui/3.18.0/static/nicegui.js", "/openapi.json")
EVERY = [(route.split()[0], path) for route, paths in ROUTES.items() for path in paths]
SHOWN = [path for route, paths in ROUTES.items() if "{study}" in route and "upload" not in route for path in paths]
REASON = "a paper that only Ann knows"
TABLE = """
import sys, uvicorn
from ubayfs.app.guard import Access
from ubayfs.app.library import Library
from ubayfs.app.server import bound_socket, serve

def routes(app, above=""):
    for route in app.routes:
        if hasattr(getattr(route, "app", None), "routes"):
            yield from routes(route.app, above + route.path)
        else:
            yield from (f"{method} {above}{route.path}" for method in getattr(route, "methods", None) or ["any"])

uvicorn.Server.run = lambda self, sockets: print(*routes(self.config.app.app), self.config.http, sep="\\n")
serve(Library(sys.argv[1]), bound_socket("127.0.0.1", 0), Access())
"""


def test_the_list_has_every_route(tmp_path):
    done = subprocess.run([sys.executable, "-c", TABLE, str(tmp_path)], capture_output=True, text=True, check=True)
    *routes, protocol = done.stdout.splitlines()
    assert {route for route in routes if " /_nicegui" not in route} == ROUTES.keys()
    assert "impatient" in protocol  # half-sent requests are closed


class Browser:
    """Sends requests with a cookie of its own."""

    def __init__(self, server, token=""):
        self.server, self.cookie = server, ""
        if token:
            self.cookie = self.ask("POST", "/", token).headers["set-cookie"].partition(";")[0]

    def ask(self, method, path, body=None):
        """Return status, headers and content of an answer."""
        connection = HTTPConnection(urlsplit(self.server.base).netloc, timeout=120)
        headers = {"Cookie": self.cookie, "Origin": self.server.base}
        connection.request(method, path.replace("STUDY", self.server.study), body, headers)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        connection.close()
        return SimpleNamespace(status=answer.status, headers=answer.headers, text=text)

    def get(self, path, expert=""):
        return self.ask("GET", f"{path}{'&' if '?' in path else '?'}expert={expert}" if expert else path)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with a study that has votes and a version; Ann has stated something, and Cleo has confirmed."""
    from ubayfs.app.library import Library

    folder = tmp_path_factory.mktemp("routes")
    library = Library(folder / "studies")
    study = library.create("patients", patients(folder))
    bench = library.open(study)
    bench.set_weight(["crp"], "likely", REASON, expert="Ann")
    bench.set_weight(["age"], "likely", expert="Cleo")
    bench.confirm("Cleo")
    bench.collect()
    until(bench, answered(bench, "reasons"))
    bench.save_version("first").result(120)
    library.close()
    started = start_server(folder / "studies")
    started.study = study
    end = time.monotonic() + 120
    while shows_nothing(Browser(started, started.token), "Cleo"):
        assert time.monotonic() < end
    yield started
    stop_server(started)
    log = started.directory.with_suffix(".log").read_text()
    assert "Traceback" not in log, log


def shows_nothing(browser, expert):
    browser.get("/s/STUDY/know", expert)
    return json.loads(browser.get("/s/STUDY/features.json", expert).text)["votes"] is None


@pytest.mark.parametrize("cookie", ["", "ubayfs-{port}=wrong", "ubayfs-{port}={token}", "ubayfs-{port}=a.b"])
def test_without_the_token_there_is_nothing(server, cookie):
    browser = Browser(server)
    browser.cookie = cookie.format(port=urlsplit(server.base).port, token=server.token)
    for method, path in [*EVERY, *(("GET", path) for path in OF_NICEGUI), ("POST", "/")]:
        for body in (None, "wrong"):
            answer = browser.ask(method, path, body)
            assert answer.status == 403, path
            assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("expert", ["", "Bob", "Ann"])
def test_votes_that_are_withheld_come_from_no_address(server, expert):
    browser = Browser(server, server.token)
    for path in SHOWN:
        answer = browser.get(path, expert)
        refused = "/download/" in path
        assert answer.status == (403 if refused else 200), path
        assert answer.headers["cache-control"] == "no-store"
        assert not refused or "hidden" in json.loads(answer.text)["error"]
        assert "have votes; the" not in answer.text  # of Evidence
        if path.endswith(".json"):
            assert json.loads(answer.text)["votes"] is None


def test_what_another_expert_stated_comes_from_no_address(server):
    for experts in ([], ["Bob"], ["Bob", "Eve"]):
        browser = Browser(server, server.token)
        for name in experts:
            assert "There is nothing here" not in browser.get("/s/STUDY/know", name).text
        for path in SHOWN if experts else [path for path in SHOWN if path not in ROUTES["GET /s/{study}/{screen}"]]:
            answer = browser.get(path, "Ann")
            assert answer.status == 403 or "There is nothing here" in answer.text, path
            assert REASON not in answer.text
        for name in experts:  # each window goes on
            assert browser.get("/s/STUDY/features.json", name).status == 200


def test_without_a_name_a_browser_stays_who_it_is(server):
    browser = Browser(server, server.token)
    browser.get("/s/STUDY/data", "Ann")
    assert REASON in browser.get("/s/STUDY/features.json", "Ann").text
    browser.get("/s/STUDY/data", "Cleo")  # who may see votes
    assert browser.get("/s/STUDY/features.json", "Cleo").status == 403


def test_who_has_confirmed_sees_votes_files_and_what_others_stated(server):
    browser = Browser(server, server.token)
    for path in SHOWN:
        answer = browser.get(path, "Cleo")
        assert answer.status == 200, (path, answer.text)
        assert answer.headers["cache-control"] == "no-store"
        assert ("have votes; the" in answer.text) == path.endswith("evidence")
    browser.get("/s/STUDY/know", "Ann")
    assert REASON in browser.get("/s/STUDY/features.json", "Ann").text
