"""The app in a process of its own, for tests and pictures."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

# The first is Chromium without windows: a page costs half as much.
_NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
CHROMIUM = os.environ.get("UBAYFS_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
]  # fmt: skip
LONGEST = 120_000  # milliseconds that a browser waits for anything; only ends a test that would hang
HOW_TO_GET_IT = (
    "there is no Chromium: install it (apt-get install chromium) or name it in UBAYFS_CHROMIUM, "
    'and pip install "ubayfs[browser]"'
)


def clean_environment():
    """Return this environment without what would make a server think that it is part of a test."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "NICEGUI"))}


def start_server(directory, *arguments, with_browser=False):
    """Start the app; return its process, address and token once it answers."""
    command = [sys.executable, "-m", "ubayfs", "app", "--port", "0", "--directory", str(directory)]
    command += [] if with_browser else ["--no-browser"]
    with open(Path(directory).with_suffix(".log"), "ab") as log:
        process = subprocess.Popen(
            [*command, *map(str, arguments)], env=clean_environment(), stdout=subprocess.PIPE, stderr=log, text=True
        )
    for line in process.stdout:
        if found := re.match(r"Open (\S+)", line):
            url = urlsplit(found[1])
            token = parse_qs(url.fragment)["token"][0]
            base = f"{url.scheme}://{url.netloc}"
            return SimpleNamespace(process=process, base=base, token=token, path=url.path, directory=Path(directory))
    raise RuntimeError(f"the server did not start: {Path(directory).with_suffix('.log').read_text()}")


def enter(context, server):
    """Exchange the token for a cookie of a browser, as the page that refuses it does."""
    assert context.request.post(server.base + "/", data=server.token, headers={"Origin": server.base}).ok


def stop_server(server):
    """End a server as Ctrl-C does."""
    server.process.terminate()
    try:
        server.process.wait(15)
    except subprocess.TimeoutExpired:
        server.process.kill()
        server.process.wait()
    server.process.stdout.close()
