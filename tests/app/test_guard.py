"""Only requests with the token, to this server, from its own pages get through: with HTTP and with WebSocket."""

import asyncio
from contextlib import nullcontext

import pytest

from ubayfs.app.guard import Access, Guard

ACCESS = Access(port=8470, token="secret-token")
HOST = "127.0.0.1:8470"
COOKIE = ACCESS.new_cookie(HOST)
ORIGIN = f"http://{HOST}"


def answer(access=ACCESS, kind="http", path="/", query="", method="GET", body=b"", twice=(), **headers):
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

    async def receive():
        return {"type": "http.request", "body": body}

    headers = [*headers.items(), *twice]
    given = [(name.encode(), value.encode("utf-8")) for name, value in headers if value is not None]
    scope = {"type": kind, "path": path, "query_string": query.encode(), "method": method, "headers": given}
    asyncio.run(Guard(app, access)(scope, receive, send))
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
@pytest.mark.parametrize(
    "cookie",
    [
        None,
        "",
        "ubayfs-8470=wrong",
        "ubayfs-8470=secret-token",
        COOKIE.replace("8470", "8471"),
        f"x{COOKIE}",
        f"{COOKIE}0",
        "ubayfs-8470=é;;\x01=",
    ],
    ids=["none", "empty", "wrong", "token", "other port", "other name", "longer", "odd"],
)
def test_nothing_without_the_token(path, cookie):
    status, headers = answer(path=path, host=HOST, cookie=cookie)
    assert status == 403
    assert "inside" not in headers["body"]
    assert "set-cookie" not in headers


@pytest.mark.parametrize("token", ["", "wrong", "secret-toke", "secret-token2", "é", "secret-token" * 10**5])
def test_a_wrong_token_gives_no_cookie(token):
    for given in ({"method": "POST", "body": token.encode()}, {"query": "token=secret-token"}):
        status, headers = answer(host=HOST, origin=ORIGIN, **given)
        assert status == 403
        assert "set-cookie" not in headers


def test_the_token_becomes_a_cookie_that_scripts_cannot_read():
    status, headers = answer(path="/s/a/data", method="POST", body=b"secret-token", host=HOST, origin=ORIGIN)
    assert status == 204
    cookie, _, rest = headers["set-cookie"].partition("; ")
    assert rest == "Path=/; HttpOnly; SameSite=Strict"
    assert "secret-token" not in str(headers)
    assert answer(host=HOST, cookie=cookie)[0] == 200
    assert answer(host=HOST, cookie=f"ubayfs-8470=other.other; {cookie}")[0] == 200  # of a server at another port
    assert answer(host="localhost:8470", cookie=cookie)[0] == 403  # where it was not given


def test_a_host_name_of_ones_own_keeps_the_cookie_from_other_ports():
    own = "my-word.localhost:8470"
    assert answer(host=own, cookie=ACCESS.new_cookie(own))[0] == 200
    assert answer(host=own, cookie=COOKIE)[0] == 403


def test_the_page_that_refuses_sends_a_token_nowhere_else():
    _, headers = answer(host=HOST)
    assert headers["referrer-policy"] == "no-referrer"
    assert "connect-src 'self'" in headers["content-security-policy"]
    assert "fetch(" in headers["body"]
    assert "fetch(" not in answer(host="evil.example")[1]["body"]
    assert answer(method="POST", body=b"secret-token", host=HOST, origin="null")[0] == 403


@pytest.mark.parametrize("twice", [("host", HOST), ("host", "evil.example"), ("origin", ORIGIN)])
@pytest.mark.parametrize(("kind", "refused"), [("http", 403), ("websocket", 0)])
def test_headers_that_say_who_is_asked_come_once(kind, refused, twice):
    assert answer(kind=kind, host=HOST, origin=ORIGIN, cookie=COOKIE, twice=[twice])[0] == refused


def test_data_are_kept_by_no_cache():
    assert answer(host=HOST, cookie=COOKIE)[1]["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8470", "127.0.0.1:80", "", "localhost", "10.0.0.5:8470"]
)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_another_host_is_refused(host, kind):
    status, _ = answer(kind=kind, host=host, origin=f"http://{host}", cookie=ACCESS.new_cookie(host))
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
    assert answer(kind="websocket", host=HOST, origin=ORIGIN)[0] == 0
    assert answer(method="POST", host=HOST, cookie=COOKIE)[0] == 403
    assert answer(method="POST", host=HOST, cookie=COOKIE, origin=ORIGIN)[0] == 200


def test_behind_a_proxy_its_address_counts():
    access = Access(port=8470, token="secret-token", address="https://panels.lab.example")
    seen = {"host": "panels.lab.example", "cookie": access.new_cookie("panels.lab.example")}
    assert access.url == "https://panels.lab.example/#token=secret-token"
    assert answer(access, kind="websocket", origin="https://panels.lab.example", **seen)[0] == -1
    assert answer(access, kind="websocket", origin="https://other.lab.example", **seen)[0] == 0
    own = {"host": "panels.lab.example", "origin": "https://panels.lab.example"}
    entered = answer(access, method="POST", body=b"secret-token", **own)[1]["set-cookie"]
    assert entered.startswith("__Host-ubayfs-8470=")
    assert entered.endswith("; Path=/; HttpOnly; SameSite=Strict; Secure")


def test_a_server_for_the_network_is_known_by_its_addresses_only():
    access = Access("0.0.0.0", 8470, token="t")
    assert access.knows_host("10.0.0.5:8470")
    assert not access.knows_host("evil.example:8470")
    assert not access.is_local


def test_tokens_differ_and_are_not_shown():
    assert Access().token != Access().token
    assert Access().token not in repr(Access())


@pytest.mark.parametrize(("message", "passes"), [("No response returned.", True), ("Something else.", False)])
def test_a_missing_response_is_left_to_the_server_which_knows_whether_the_browser_has_left(message, passes):
    async def app(scope, receive, send):
        raise RuntimeError(message)

    headers = [(b"host", HOST.encode()), (b"cookie", COOKIE.encode())]
    scope = {"type": "http", "path": "/", "query_string": b"", "method": "GET", "headers": headers}
    with nullcontext() if passes else pytest.raises(RuntimeError):
        asyncio.run(Guard(app, ACCESS)(scope, None, None))
