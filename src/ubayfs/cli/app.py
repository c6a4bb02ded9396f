"""Open a study in the browser: data, what you know, rules, answer, versions.

A study file or a table opens in a directory of its own beside it, which keeps every change; the file is not touched.
Without one there is a list of studies. The address has a token: whoever knows it can see and change the studies.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from .console import echo, echo_error

if TYPE_CHECKING:
    from ..app.library import Library


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("source", type=Path, nargs="?", metavar="STUDY or TABLE", help="study file, or data table")
    parser.add_argument("--demo", action="store_true", help="open the study of `ubayfs demo`: p53 in 50 cell lines")
    parser.add_argument(
        "--directory", type=Path, default=Path("ubayfs-studies"), help="of all studies (default: ubayfs-studies)"
    )
    parser.add_argument("--port", type=int, metavar="N", help="default: the first free one from 8470 on")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: this machine alone)")
    parser.add_argument(
        "--address", metavar="URL", help="behind a proxy: where browsers see it, such as https://panels.lab.example"
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address only")


def _first(library: Library, arguments: argparse.Namespace) -> str | None:
    """Return the study to begin with; the demo study that is there already, if there is one."""
    if arguments.source is not None:
        return library.add(arguments.source)
    demos = [study.id for study in library.studies() if study.id.startswith("demo-")]
    return None if not arguments.demo else demos[0] if demos else library.demo()


def run(arguments: argparse.Namespace) -> None:
    """Start the server."""
    from ..exceptions import MissingDependencyError

    try:
        import nicegui  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError('the app needs NiceGUI; install it with pip install "ubayfs[app]".') from error
    from ..app.guard import Access
    from ..app.library import Library
    from ..app.server import bound_socket, open_browser, serve

    library = Library(arguments.directory)
    study = _first(library, arguments)
    listening = bound_socket(arguments.host, arguments.port)
    access = Access(arguments.host, listening.getsockname()[1], arguments.address)
    url = access.url if study is None else access.url.replace("/#", f"/s/{quote(study)}/data#")

    def started() -> None:
        if not access.is_local and not access.is_encrypted:
            echo_error("Note: others on the network can read along, since there is no TLS; see docs/app.md for nginx.")
        echo(f"Open {url}\nStop with Ctrl-C; everything is stored.")
        if not arguments.no_browser:
            with suppress(OSError):  # the address is printed
                opened.callback(open_browser(url, library.root))

    with ExitStack() as opened:
        serve(library, listening, access, started, opened.close)
