"""Only requests with the token, to this server, from its own pages get through: with HTTP and with WebSocket."""

import asyncio
from contextlib import nullcontext

import pytest

from ubayfs.app import guard
from ubayfs.app.guard import Access, Guard

ACCESS = Access(port=8470, token="secret-token")
COOKIE = "ubayfs-8470=secret-token"
HOST = "127.0.0.1:8470"
ORIGIN = f"http://{HOST}"


def answer(access=ACCESS, kind="http", path="/", query="", method="GET", **headers):
    """Return status and headers of the answer to a request; 0 is a WebSocket that is closed, -1 one that is open."""
    sent = []

    async def app(scope, receive, send):
        if kind == "websocket":
            await send({"type": "websocket.accept"})
        else:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"x-from", b"app")]})
            await send({"type": "http.response.body", "body": b"inside"})

    async def send(message):
        sent.append(message)

    given = [(name.encode(), value.encode("utf-8")) for name, value in headers.items() if value is not None]
    scope = {"type": kind, "path": path, "query_string": query.encode(), "method": method, "headers": given}
    asyncio.run(Guard(app, access)(scope, None, send))
    first = sent[0]
    if kind == "websocket":
        return (-1 if first["type"] == "websocket.accept" else 0), {}
    found = {name.decode(): value.decode() for name, value in first["headers"]}
    return first["status"], found | {"body": sent[1]["body"].decode()}


def test_cookie_lets_in():
    status, headers = answer(host=HOST, cookie=COOKIE)
    assert (status, headers["body"], headers["x-from"]) == (200, "inside", "app")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/", "/s/a/data", "/_nicegui/x.js", "/s/a/features.json", "/favicon.ico"])
@pytest.mark.parametrize("cookie", [None, "", "ubayfs-8470=wrong", "ubayfs-8471=secret-token", "ubayfs-8470=é;;\x01="])
def test_nothing_without_the_token(path, cookie):
    status, headers = answer(path=path, host=HOST, cookie=cookie)
    assert status == 403
    assert "inside" not in headers["body"]
    assert "set-cookie" not in headers


@pytest.mark.parametrize("token", ["", "wrong", "secret-toke", "secret-token2", "é"])
def test_a_wrong_token_gives_no_cookie(token):
    status, headers = answer(query=f"token={token}", host=HOST)
    assert status == 403
    assert "set-cookie" not in headers


def test_the_token_becomes_a_cookie_that_scripts_cannot_read():
    status, headers = answer(path="/s/a/data", query="token=secret-token&x=1", host=HOST)
    assert status == 200
    assert headers["set-cookie"] == f"{COOKIE}; Path=/; HttpOnly; SameSite=Strict"
    assert headers["referrer-policy"] == "no-referrer"
    assert 'url=/s/a/data?x=1"' in headers["body"]
    assert "secret-token" not in headers["body"]


def test_the_token_leads_to_no_other_site():
    for path in ("//evil.example", "///evil.example", '/"><script>'):
        body = answer(path=path, query="token=secret-token", host=HOST)[1]["body"]
        assert "url=/e" in body or "url=/%22%3E%3Cscript%3E" in body
        assert "<script" not in body


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8470", "127.0.0.1:80", "", "localhost", "10.0.0.5:8470"]
)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_another_host_is_refused(host, kind):
    status, _ = answer(kind=kind, host=host, origin=f"http://{host}", cookie=COOKIE, query="token=secret-token")
    assert status in (403, 0)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:8470", "http://127.0.0.1:8471", ""]
)
@pytest.mark.parametrize(("kind", "refused"), [("http", 403), ("websocket", 0)])
def test_another_origin_is_refused(origin, kind, refused):
    assert answer(kind=kind, host=HOST, origin=origin, cookie=COOKIE)[0] == refused


def test_websocket_and_changes_need_an_origin():
    assert answer(kind="websocket", host=HOST, cookie=COOKIE)[0] == 0
    assert answer(kind="websocket", host=HOST, cookie=COOKIE, origin=ORIGIN)[0] == -1
    assert answer(kind="websocket", host=HOST, origin=ORIGIN, query="token=secret-token")[0] == 0
    assert answer(method="POST", host=HOST, cookie=COOKIE)[0] == 403
    assert answer(method="POST", host=HOST, cookie=COOKIE, origin=ORIGIN)[0] == 200


def test_behind_a_proxy_its_address_counts():
    access = Access(port=8470, token="secret-token", address="https://panels.lab.example")
    seen = {"host": "panels.lab.example", "cookie": COOKIE}
    assert access.url == "https://panels.lab.example/?token=secret-token"
    assert answer(access, kind="websocket", origin="https://panels.lab.example", **seen)[0] == -1
    assert answer(access, kind="websocket", origin="https://other.lab.example", **seen)[0] == 0
    entered = answer(access, query="token=secret-token", host="panels.lab.example")[1]
    assert entered["set-cookie"].endswith("; Secure")


def test_a_server_for_the_network_is_known_by_its_addresses_only():
    access = Access("0.0.0.0", 8470, token="t")
    assert access.knows_host("10.0.0.5:8470")
    assert not access.knows_host("evil.example:8470")
    assert not access.is_local


def test_tokens_differ_and_are_not_shown():
    assert Access().token != Access().token
    assert Access().token not in repr(Access())


@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize(
    ("leaves", "answers", "passes"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_a_missing_response_is_not_an_error_once_the_browser_has_left(leaves, answers, passes, reads, monkeypatch):
    monkeypatch.setattr(guard, "_SECONDS_TO_LEAVE", 0.01)
    messages = ["http.request", *["http.disconnect"] * leaves]

    async def app(scope, receive, send):
        for _ in range(2 if reads and leaves else 1):
            await receive()
        if answers:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("No response")

    async def receive():
        return {"type": messages.pop(0)} if messages else await asyncio.sleep(1000)

    async def send(message):
        pass

    headers = [(b"host", HOST.encode()), (b"cookie", COOKIE.encode())]
    scope = {"type": "http", "path": "/", "query_string": b"", "method": "GET", "headers": headers}
    with nullcontext() if passes else pytest.raises(RuntimeError):
        asyncio.run(Guard(app, ACCESS)(scope, receive, send))
