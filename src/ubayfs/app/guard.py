"""Who may talk to the server: requests with its token, to its own address, from its own pages.

A web page elsewhere can make a browser send requests to this machine, and a name elsewhere can be made to point to it.
So every request, of HTTP or WebSocket, needs a cookie that the token was exchanged for, a Host that is this server, and
no foreign Origin. The token stands behind the ``#`` of an address, which browsers send to nobody; a script of the page
that refuses them sends it in a body.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SAFE_METHODS = ("GET", "HEAD")
_LONGEST_TOKEN = 200  # bytes that are read of a request that may bring it
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
BROWSER = "ubayfs.browser"  # key of a request with the id of the browser that sent it


@dataclass(frozen=True)
class Access:
    """Where a server is, and the token that opens it.

    Attributes
    ----------
    host, port : str, int
        What it binds to.
    address : str or None
        The address at which browsers see it, if a proxy stands before it, such as ``https://panels.lab.example``.
    token : str
    """

    host: str = "127.0.0.1"
    port: int = 8470
    address: str | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def url(self) -> str:
        """The address to open, with the token."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        if self.host in ("0.0.0.0", "::"):  # noqa: S104  # every interface: the name of the machine reaches one of them
            host = socket.gethostname()
        base = (self.address or f"http://{host}:{self.port}").rstrip("/")
        return f"{base}/#token={self.token}"

    @property
    def is_encrypted(self) -> bool:
        """Whether browsers see the server with TLS."""
        return (self.address or "").startswith("https:")

    @property
    def cookie(self) -> str:
        """Name of the cookie: browsers do not keep those of different ports apart."""
        return f"{'__Host-' if self.is_encrypted else ''}ubayfs-{self.port}"

    def new_cookie(self, host: str) -> str:
        """Return a cookie for one more browser: its id, sealed with the token for the Host at which it came in."""
        browser = secrets.token_urlsafe(12)
        return f"{self.cookie}={browser}.{self._seal(browser, host)}"

    def browser(self, cookies: str, host: str) -> str | None:
        """Return the id of the browser that a cookie of this server belongs to; None if there is none."""
        for browser, seal in re.findall(rf"(?:^|;) *{self.cookie}=([\w-]+)\.([\w-]+)(?=;|$)", cookies):
            if is_same(seal, self._seal(browser, host)):  # a server at another port may have set a second one
                return str(browser)
        return None

    def _seal(self, browser: str, host: str) -> str:
        return hmac.new(self.token.encode(), f"{browser} {host}".encode(), "sha256").hexdigest()

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    def knows_host(self, host: str) -> bool:
        """Return whether a Host is this server: no name that others could point here.

        >>> access = Access(port=8470)
        >>> [access.knows_host(host) for host in ("127.0.0.1:8470", "localhost:8470", "evil.example:8470", "")]
        [True, True, False, False]
        """
        if self.address is not None and host == urlsplit(self.address).netloc:
            return True
        name, _, port = host.rpartition(":")
        if port != str(self.port):
            return False
        if name in _LOOPBACK or name.endswith(".localhost"):  # names that no DNS may give away
            return True
        own_names = {self.host, socket.gethostname(), socket.getfqdn()}
        return not self.is_local and (name in own_names or _is_address(name.strip("[]")))

    def knows_origin(self, origin: str, host: str) -> bool:
        """Return whether a page of this server, seen at `host`, sent a request."""
        seen = urlsplit(self.address or f"http://{host}")
        return origin in (f"http://{host}", f"{seen.scheme}://{seen.netloc}")


def is_same(sent: str, secret: str) -> bool:
    """Compare with a secret, in a time that does not tell how much of it is right."""
    return secrets.compare_digest(sent.encode("utf-8", "replace"), secret.encode())


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """ASGI middleware that answers 403 to whatever is not of this server."""

    def __init__(self, app: ASGIApp, access: Access, on_entry: Callable[[], Any] = lambda: None) -> None:
        self.app = app
        self.access = access
        self.on_entry = on_entry  # called when the token was exchanged for a cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that is allowed."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        problem, host = self._problem(request), request.headers.get("host", "")
        send = send if scope["type"] == "websocket" else _protected(send, host)
        browser = self.access.browser("; ".join(request.headers.getlist("cookie")), host)
        if problem is None and browser is not None:
            scope[BROWSER] = browser
            try:
                await self.app(scope, receive, send)
            except RuntimeError as error:  # Starlette misses a response; uvicorn knows whether the browser has left
                if str(error) != "No response returned.":
                    raise
        elif scope["type"] == "websocket":  # a server answers 403 to a handshake that is closed
            await send({"type": "websocket.close", "code": 1008})
        elif problem is None and scope["method"] == "POST" and is_same(await _short_body(receive), self.access.token):
            self.on_entry()
            more = f"Path=/; HttpOnly; SameSite=Strict{'; Secure' if self.access.is_encrypted else ''}"
            await Response(None, 204, {"set-cookie": f"{self.access.new_cookie(host)}; {more}"})(scope, receive, send)
        else:
            refused = _REFUSED.format(escape(problem or "The token of this server is missing or wrong."))
            await HTMLResponse(refused if problem else refused + _ENTRANCE, 403)(scope, receive, send)

    def _problem(self, request: HTTPConnection) -> str | None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if any(len(request.headers.getlist(name)) > 1 for name in ("host", "origin")):
            return "The request names more than one host."
        if not self.access.knows_host(host):
            return "The request was sent to another host."
        if origin is None:
            changes = request.scope["type"] == "websocket" or request.scope["method"] not in _SAFE_METHODS
            return "The request does not name the page that sent it." if changes else None
        return None if self.access.knows_origin(origin, host) else "The request came from a page of another site."


async def _short_body(receive: Receive) -> str:
    """Return the beginning of the body of a request, which is all of one that brings a token."""
    body, more = b"", True
    while more and len(body) <= _LONGEST_TOKEN:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body.decode("utf-8", "replace")


def _protected(send: Send, host: str) -> Send:
    """Return `send` with headers that keep the browser from asking anybody else, and others from framing the page."""
    policy = (
        "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "
        f"connect-src 'self' ws://{host} wss://{host}; frame-ancestors 'none'; base-uri 'self'; form-action 'self'"
    )
    more = {
        "content-security-policy": policy, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin", "cache-control": "no-store",  # unless a file says otherwise
    }  # fmt: skip

    async def send_protected(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in more.items():
                headers.setdefault(name, value)
        await send(message)

    return send_protected


_REFUSED = (
    '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">'
    "<title>ubayfs: no access</title>"
    '<main style="font:1rem/1.6 system-ui,sans-serif;max-width:40em;margin:4rem auto;padding:0 1.5rem">'
    "<h1>No access</h1><p>{}</p><p>Open the address that <code>ubayfs app</code> printed when it "
    "was started; it ends in a token, which is new after each start. Your studies are kept.</p></main>"
)
# `replace` leaves no address with the token in the history; a page of this server asks, so strict cookies are sent.
_ENTRANCE = """<script>
const page = document.querySelector("main"), token = location.hash.match(/^#token=(.+)/);
addEventListener("hashchange", () => location.reload());
page.hidden = Boolean(token);
if (token) fetch("", {method: "POST", body: token[1]}).then((answer) => {
  if (answer.ok) location.replace(location.pathname + location.search); else page.hidden = false;
});
</script>"""
