"""What attackers, and files that nobody foresaw, do to a server that runs: it refuses, keeps its state, and goes on."""

import base64
import json
import os
import socket
from http.client import HTTPConnection
from urllib.parse import quote, urlsplit

import pytest

from app_studies import HOSTILE

pytest.importorskip("nicegui")

SCREENS = ("data", "know", "rules", "evidence", "answer", "versions")


def request(server, method="GET", path="/", headers=None, body=None):
    """Send one request as it is given; return status and body."""
    netloc = urlsplit(server.base).netloc
    given = {"Host": netloc, **(headers or {})}
    connection = HTTPConnection(netloc, timeout=60)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in given.items():
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


def handshake(server, headers):
    """Ask for a WebSocket; return the status."""
    host, _, port = urlsplit(server.base).netloc.partition(":")
    key = base64.b64encode(os.urandom(16)).decode()
    lines = {"Host": f"{host}:{port}", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key,
             "Sec-WebSocket-Version": "13", **headers}  # fmt: skip
    text = "GET /_nicegui_ws/socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n"
    text += "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None) + "\r\n"
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(text.encode("latin-1"))
        return int(connection.recv(100).split()[1])


@pytest.fixture(scope="module")
def cookie(server):
    """The name and value of the cookie, as the server sets it."""
    connection = HTTPConnection(urlsplit(server.base).netloc, timeout=30)
    connection.request("GET", f"/?token={server.token}")
    given = connection.getresponse().getheader("set-cookie")
    connection.close()
    return given.partition(";")[0]


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": ""},
        {"Cookie": "{name}=wrong"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/s/demo/features.json", "/_app/app.css"])
def test_foreign_requests_are_refused(server, cookie, headers, path):
    name = cookie.partition("=")[0]
    given = {"Cookie": cookie, **{key: value.replace("{name}", name) for key, value in headers.items()}}
    status, body = request(server, path=path, headers=given)
    assert status == 403
    assert server.token.encode() not in body
    assert handshake(server, {"Origin": server.base, **given}) == 403


def test_own_requests_are_not_refused(server, cookie):
    assert request(server, headers={"Cookie": cookie})[0] == 200
    assert handshake(server, {"Origin": server.base, "Cookie": cookie}) == 101
    assert handshake(server, {"Cookie": cookie}) == 403  # no page of this server


@pytest.mark.parametrize(
    "name", ["../../evil.csv", "/etc/evil.csv", "..\\..\\evil.csv", "%2e%2e/evil.csv", "\u202eevil.csv"]
)
def test_uploads_stay_in_the_folder_of_their_study(server, cookie, name):
    study = server.ids["demo"]
    headers = {"Cookie": cookie, "Origin": server.base}
    before = {path for path in server.directory.parent.rglob("*evil*") if "uploads" not in path.parts}
    status, body = request(server, "POST", f"/s/{study}/upload?name={quote(name)}", headers, b"a,b\n1,2\n")
    assert status == 200, body
    stored = server.directory / study / json.loads(body)["path"]
    assert stored.parent == server.directory / study / "uploads"
    assert stored.read_bytes() == b"a,b\n1,2\n"
    assert {path for path in server.directory.parent.rglob("*evil*") if "uploads" not in path.parts} == before


@pytest.mark.parametrize(
    "path", ["/s/..%2f..%2fetc/data", "/s/%2e%2e/features.json", "/s/nosuch/features.json", "/s/demo/..%2f..%2fpasswd",
             "/s/{study}/download/..%2f..%2fstudy.yaml", "/s/{study}/download/report?version=99", "/_app/..%2fapp.py"]
)  # fmt: skip
def test_no_path_leads_out_of_the_studies(server, cookie, path):
    status, body = request(server, path=path.format(study=server.ids["demo"]), headers={"Cookie": cookie})
    assert status in (200, 400, 404, 422)
    assert b"root:" not in body
    assert b"Traceback" not in body
    if status == 200:
        assert b"There is nothing here" in body or b"does not exist" in body


# -- names -------------------------------------------------------------------------------------------------------------


def test_names_are_text_on_every_screen(server, page, collected):
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    study = collected(page, "hostile")
    page.goto(f"{study}/answer")
    page.wait_for_selector(".members tbody tr")
    for _ in range(2):  # a word of each of the first two, by the list in its row
        box = page.locator(".members select[data-feature]").first
        box.select_option("very likely")
        page.wait_for_function("!document.querySelector('p.lead').textContent.includes('being applied')")
    for screen in SCREENS:
        page.goto(f"{study}/{screen}")
        page.wait_for_selector("h1")
        assert page.evaluate("window.hacked") is None, screen
        assert page.locator("img[src=x]").count() == page.locator("h1", has_text="gone").count() == 0, screen
        assert page.locator("u, s").count() == 0, screen
        assert "\u202e" not in page.locator("body").inner_text(), screen
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), screen
    assert len(page.request.get(f"{study}/features.json").json()["names"]) == len(HOSTILE)
