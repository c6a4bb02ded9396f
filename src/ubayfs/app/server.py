"""The server of the app: pages, files and guard, on a port of this machine."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..exceptions import InputError, UBayFSError
from .guard import BROWSER, Access, Guard
from .library import Library
from .sessions import Sessions
from .worker_slots import PrivateFolder

_RECONNECT = 60.0  # seconds that a page survives without its connection, with all that is typed
_SECONDS_PER_LOOK = 30.0  # at connections: a request that is not sent completely by then is given up
_PORTS = 20  # that are tried, from the default on


def build(library: Library) -> None:
    """Register the pages and addresses of the app with NiceGUI."""
    from nicegui import app, context, ui

    from . import api
    from .view.frame import SCREENS, frame, missing, stylesheet

    static = files("ubayfs.app.view").joinpath("static")
    kinds = {"app.js": "text/javascript", "know.js": "text/javascript", "know.css": "text/css"}
    texts = {name: (static.joinpath(name).read_text(encoding="utf-8"), kind) for name, kind in kinds.items()}
    api.add_static(app, texts | {"app.css": (stylesheet(), "text/css")})
    sessions = Sessions(library)
    api.add_routes(app, sessions)

    app.on_page_exception(lambda error: missing(f"This page could not be drawn; please report it ({error!r})."))

    @ui.page("/")  # type: ignore[untyped-decorator]
    def studies() -> None:
        from .view.studies import draw_studies

        draw_studies(library)

    @ui.page("/s/{study}/{screen}", response_timeout=30.0)  # type: ignore[untyped-decorator]
    async def of_study(study: str, screen: str, expert: str = "") -> None:
        from .pages import PAGES  # the list of studies needs none of them

        try:
            if screen not in SCREENS:
                raise InputError(f"there is no screen {screen!r}.")
            browser = context.client.request.scope.get(BROWSER, "")
            session = await asyncio.to_thread(sessions.open, browser, study, expert, take=True)
        except UBayFSError as error:
            missing(str(error))
            return
        with frame(session, screen):
            PAGES[screen](session)


def bound_socket(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens; without a port, at the first free one from the default on."""
    first = Access().port
    wanted = range(first, first + _PORTS) if port is None else (port,)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in wanted:
        opened = socket.socket(family, socket.SOCK_STREAM)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind((host, number))
            opened.listen(128)  # a browser that comes before the server is ready waits, and is not refused
        except OSError as error:
            opened.close()
            reason = error.strerror or str(error)
        else:
            return opened
    raise InputError(f"the app cannot use {host}, port {wanted[-1]} ({reason}). Choose others with --host and --port.")


def serve(
    library: Library, listening: socket.socket, access: Access, on_start: Callable[[], Any] = lambda: None,
    on_entry: Callable[[], Any] = lambda: None,
) -> None:  # fmt: skip
    """Run the server until it is stopped; `on_start` is called once it answers, `on_entry` when a browser comes in."""
    import uvicorn
    from fastapi import FastAPI
    from nicegui import app, ui
    from starlette.middleware.gzip import GZipMiddleware

    build(library)
    outer = FastAPI(openapi_url=None)
    app.state.anywhere = access.is_local and access.address is None  # else pages read files of the studies only
    app.on_startup(on_start)
    app.on_shutdown(library.close)
    ui.run_with(
        outer, title="ubayfs", language="en-US", reconnect_timeout=_RECONNECT, tailwind=False,
        binding_refresh_interval=None, show_welcome_message=False, favicon=_ICON,
        gzip_middleware_factory=lambda app: GZipMiddleware(app, compresslevel=1),  # 9 takes five times as long
    )  # fmt: skip
    app.config.quasar_config["loadingBar"]["skipHijack"] = True  # has no name for screen readers; pages say what waits
    config = uvicorn.Config(
        Guard(outer, access, on_entry), http=impatient(), log_level="warning", ws="wsproto",
        timeout_graceful_shutdown=2, proxy_headers=False,
    )  # fmt: skip
    with suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
        uvicorn.Server(config).run(sockets=[listening])


def impatient(seconds: float = _SECONDS_PER_LOOK) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol, which closes connections on which a request is sent in part, and does not go on."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class Impatient(AutoHTTPProtocol):  # type: ignore[misc]
        n_heard = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._look(None)

        def data_received(self, data: bytes) -> None:
            self.n_heard += 1
            super().data_received(data)

        def _look(self, before: Any) -> None:
            is_begun = self.cycle is not None and not self.cycle.response_complete
            now = (self.cycle, self.n_heard if is_begun else 0)
            if now == before and not (is_begun and not self.cycle.more_body):
                self.transport.close()
            elif self.transport.get_protocol() is self and not self.transport.is_closing():  # no WebSocket by now
                self.loop.call_later(seconds, self._look, now)

    return Impatient


def open_browser(url: str, folder: Path) -> Callable[[], None]:
    """Open the browser of this machine, if there is one, by a page that leads to the address; returns what removes it.

    All users can read the arguments of a process, and only this one the page. Some browsers read no temporary files.
    """
    private = PrivateFolder("ubayfs-open-", folder)
    page = private.path / "open.html"
    with open(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        leads = f'<meta http-equiv="refresh" content="0;url={escape(url)}">'
        file.write(f'<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">{leads}')
    threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
    return private.remove


_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#00558b"/>'
    '<path d="M4 3v6a4 4 0 0 0 8 0V3" stroke="#fff" stroke-width="2" fill="none"/></svg>'
)
