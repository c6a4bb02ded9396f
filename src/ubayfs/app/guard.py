"""Who may talk to the server: requests with its token, to its own address, from its own pages.

A web page elsewhere can make a browser send requests to this machine, and a name elsewhere can be made to point to it.
So every request, of HTTP or WebSocket, needs the token (in the address once, in a cookie later), a Host that is this
server, and no foreign Origin.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from urllib.parse import quote, urlencode, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SAFE_METHODS = ("GET", "HEAD")
_SECONDS_TO_LEAVE = 0.5  # for the news that a browser has left, after its request was given up
_PRIVATE = {"cache-control": "no-store", "referrer-policy": "no-referrer"}
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


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
        return f"{base}/?{urlencode({'token': self.token})}"

    @property
    def cookie(self) -> str:
        """Name of the cookie: browsers do not keep those of different ports apart."""
        return f"ubayfs-{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    def knows_host(self, host: str) -> bool:
        """Tell whether a Host is this server: no name that others could point here.

        >>> access = Access(port=8470)
        >>> [access.knows_host(host) for host in ("127.0.0.1:8470", "localhost:8470", "evil.example:8470", "")]
        [True, True, False, False]
        """
        if self.address is not None and host == urlsplit(self.address).netloc:
            return True
        name, _, port = host.rpartition(":")
        if port != str(self.port):
            return False
        if name in _LOOPBACK:
            return True
        own = {self.host, socket.gethostname(), socket.getfqdn()}
        return not self.is_local and (name in own or _is_address(name.strip("[]")))

    def knows_origin(self, origin: str, host: str) -> bool:
        """Tell whether a page of this server, seen at `host`, sent a request."""
        if self.address is not None:
            seen = urlsplit(self.address)
            if origin == f"{seen.scheme}://{seen.netloc}":
                return True
        return origin == f"http://{host}"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """ASGI middleware that answers 403 to whatever is not of this server."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that is allowed."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        problem, given = self._problem(request), request.query_params.get("token")
        if problem is None and given is not None and scope["type"] == "http" and self._is_token(given):
            await self._entrance(request)(scope, receive, send)
        elif problem is None and self._is_token(request.cookies.get(self.access.cookie, "")):
            await self._pass_on(scope, receive, _protected(send, request.headers["host"]))
        elif scope["type"] == "websocket":  # a server answers 403 to a handshake that is closed
            await send({"type": "websocket.close", "code": 1008})
        else:
            refused = _REFUSED.format(escape(problem or "The token of this server is missing or wrong."))
            await HTMLResponse(refused, 403, _PRIVATE)(scope, receive, send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen = set[str]()

        async def received() -> Message:
            message = await receive()
            seen.add(message["type"])
            return message

        async def sent(message: Message) -> None:
            seen.add(message["type"])
            await send(message)

        try:
            await self.app(scope, received, sent)
        except RuntimeError:  # Starlette misses a response, but the browser has left meanwhile
            if "http.response.start" in seen or not await _has_left(received, seen):
                raise

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.access.token.encode())

    def _problem(self, request: HTTPConnection) -> str | None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if not self.access.knows_host(host):
            return "The request was sent to another host."
        if origin is None:
            changes = request.scope["type"] == "websocket" or request.scope["method"] not in _SAFE_METHODS
            return "The request does not tell which page sent it." if changes else None
        return None if self.access.knows_origin(origin, host) else "The request came from a page of another site."

    def _entrance(self, request: HTTPConnection) -> HTMLResponse:
        """Exchange the token in the address for a cookie.

        By a page, not a redirection: after a link on another site a browser would not send a strict cookie with it.
        """
        rest = urlencode({name: value for name, value in request.query_params.items() if name != "token"})
        target = quote("/" + request.scope["path"].lstrip("/")) + (f"?{rest}" if rest else "")
        secure = "; Secure" if (self.access.address or "").startswith("https:") else ""
        cookie = f"{self.access.cookie}={self.access.token}; Path=/; HttpOnly; SameSite=Strict{secure}"
        page = f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(target)}"><title>ubayfs</title>'
        return HTMLResponse(page, headers={**_PRIVATE, "set-cookie": cookie})


async def _has_left(receive: Receive, seen: set[str]) -> bool:
    """Tell whether a browser has left; the message that it has may not be read yet."""
    for _ in range(3):  # the end of a request that nobody read comes before it
        if "http.disconnect" not in seen:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(receive(), _SECONDS_TO_LEAVE)
    return "http.disconnect" in seen


def _protected(send: Send, host: str) -> Send:
    """Return `send` with headers that keep the browser from asking anybody else, and others from framing the page."""
    policy = (
        "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "
        f"connect-src 'self' ws://{host} wss://{host}; frame-ancestors 'none'; base-uri 'self'; form-action 'self'"
    )
    more = {
        "content-security-policy": policy, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
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
    "was started; it ends in a token, which is new after each start. Your studies are kept.</p></main></html>"
)
