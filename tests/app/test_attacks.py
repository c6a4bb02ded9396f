"""What attackers, and files that nobody foresaw, do to a server that runs: it refuses, keeps its state, and goes on."""

import base64
import json
import os
import socket
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from app_studies import HOSTILE, until
from browsing import expect

pytest.importorskip("nicegui")

# Screens, and what shows names there, or comes last.
SCREENS = {
    "data": ".preview td", "know": ".ag-row", "rules": ".rules .about", "evidence": "td .track",
    "answer": ".members tbody tr", "versions": "[data-export=zip]",
}  # fmt: skip
SECONDS = 120  # that an answer may take; only ends a test that would hang


def request(server, method="GET", path="/", headers=None, body=None):
    """Send one request as it is given; return status and body."""
    netloc = urlsplit(server.base).netloc
    given = {"Host": netloc, **(headers or {})}
    connection = HTTPConnection(netloc, timeout=SECONDS)
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
    with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
        connection.sendall(text.encode("latin-1"))
        return int(connection.recv(100).split()[1])


@pytest.fixture(scope="module")
def cookie(server):
    """The name and value of the cookie, as the server sets it."""
    connection = HTTPConnection(urlsplit(server.base).netloc, timeout=SECONDS)
    connection.request("POST", "/", server.token, {"Origin": server.base})
    given = connection.getresponse().getheader("set-cookie")
    connection.close()
    return given.partition(";")[0]


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": ""},
        {"Cookie": "{name}=wrong"},
        {"Cookie": "{name}=wrong.wrong"},
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


def elsewhere(server):
    """Return files of attackers outside the folders of uploads, while the server makes and removes others."""
    places = (folder for folder in os.walk(server.directory.parent) if "uploads" not in Path(folder[0]).parts)
    return {os.path.join(place, name) for place, _, names in places for name in names if "evil" in name}


@pytest.mark.parametrize(
    "name", ["../../evil.csv", "/etc/evil.csv", "..\\..\\evil.csv", "%2e%2e/evil.csv", "\u202eevil.csv"]
)
def test_uploads_stay_in_the_folder_of_their_study(server, cookie, name):
    study = server.ids["cancer"]
    headers = {"Cookie": cookie, "Origin": server.base}
    before = elsewhere(server)
    status, body = request(server, "POST", f"/s/{study}/upload?name={quote(name)}", headers, b"a,b\n1,2\n")
    assert status == 200, body
    stored = server.directory / study / json.loads(body)["path"]
    assert stored.parent == server.directory / study / "uploads"
    assert stored.read_bytes() == b"a,b\n1,2\n"
    assert elsewhere(server) == before


@pytest.mark.parametrize(
    "path", ["/s/..%2f..%2fetc/data", "/s/%2e%2e/features.json", "/s/nosuch/features.json", "/s/demo/..%2f..%2fpasswd",
             "/s/{study}/download/..%2f..%2fstudy.yaml", "/s/{study}/download/report?version=99", "/_app/..%2fapp.py"]
)  # fmt: skip
def test_no_path_leads_out_of_the_studies(server, cookie, path):
    status, body = request(server, path=path.format(study=server.ids["cancer"]), headers={"Cookie": cookie})
    assert status in (200, 400, 403, 404, 422)
    assert b"root:" not in body
    assert b"Traceback" not in body
    if status == 200:
        assert b"There is nothing here" in body or b"does not exist" in body


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("/s/{long}/features.json", 404), ("/s/{long}/data", 200), ("/s/{long}/download/report", 404),
        ("/s/{long}/upload?name=a&size=1", 404), ("/s/a%00b/features.json", 404), ("/s/a%ed%a0%80/features.json", 404),
        ("/s/{study}/upload?name=a.csv&size={digits}", 413), ("/s/{study}/download/report?version={digits}", 403),
        ("/s/{study}/upload?name=a.csv&size=-1", 200), ("/s/{study}/upload?name={emoji}.csv&size=1", 200),
        ("/s/{study}/features.json?expert={digits}", 403), ("/s/{study}/know?expert={digits}", 200),
    ],
)  # fmt: skip
def test_what_is_too_long_is_refused_in_words(server, cookie, path, refused):
    odd = {"long": "x" * 256, "digits": "9" * 400, "emoji": quote("\U0001f600" * 120), "study": server.ids["cancer"]}
    status, body = request(server, path=path.format(**odd), headers={"Cookie": cookie})
    assert status == refused, body
    assert str(server.directory.parent).encode() not in body
    assert refused == 200 or json.loads(body)["error"]


def test_a_name_of_many_bytes_is_cut(server, cookie):
    study, headers = server.ids["cancer"], {"Cookie": cookie, "Origin": server.base}
    path = f"/s/{study}/upload?name={quote(chr(0x1F600) * 120)}.csv"
    status, body = request(server, "POST", path, headers, b"a,b\n1,2\n")
    assert (status, json.loads(body)["path"]) == (200, f"uploads/{chr(0x1F600) * 25}.csv")


def test_an_upload_that_breaks_off_leaves_nothing(server, cookie):
    """Nor anything in the log: the fixture `server` looks for it."""
    study, netloc = server.ids["cancer"], urlsplit(server.base).netloc
    lines = [f"POST /s/{study}/upload?name=broken.csv HTTP/1.1", f"Host: {netloc}", f"Origin: {server.base}",
             f"Cookie: {cookie}", "Content-Length: 1000", "", "a,b"]  # fmt: skip
    uploads = server.directory / study / "uploads"
    with socket.create_connection(netloc.split(":"), timeout=SECONDS) as connection:
        connection.sendall("\r\n".join(lines).encode())
        until(None, lambda: any(name.endswith(".part") for name in os.listdir(uploads)))
    until(None, lambda: not any(name.endswith(".part") for name in os.listdir(uploads)))
    assert not (uploads / "broken.csv").exists()


def test_two_hosts_are_refused(server, cookie):
    host, _, port = urlsplit(server.base).netloc.partition(":")
    for second in (f"{host}:{port}", "evil.example"):
        text = f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\nHost: {second}\r\nCookie: {cookie}\r\n\r\n"
        with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
            connection.sendall(text.encode())
            assert int(connection.recv(100).split()[1]) in (400, 403)


# -- names -------------------------------------------------------------------------------------------------------------


def test_names_are_text_on_every_screen(server, page, collected):
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    study = collected(page, "hostile")
    page.goto(f"{study}/answer")
    boxes, done = page.locator(".members select[data-feature]"), page.locator("#undo")
    for i in range(2):  # a word of each of the first two, by the list in its row
        before = done.get_attribute("title")
        boxes.nth(i).select_option("very likely")
        expect(done).not_to_have_attribute("title", before)
    for screen, names in SCREENS.items():
        page.goto(f"{study}/{screen}")
        page.locator(names).first.wait_for()
        assert page.evaluate("window.hacked") is None, screen
        expect(page.locator("img[src=x]").or_(page.locator("h1", has_text="gone"))).to_have_count(0)
        expect(page.locator("u, s")).to_have_count(0)
        expect(page.locator("body")).not_to_contain_text("\u202e")
        page.wait_for_function("document.documentElement.scrollWidth <= window.innerWidth")
    assert len(page.request.get(f"{study}/features.json").json()["names"]) == len(HOSTILE)
