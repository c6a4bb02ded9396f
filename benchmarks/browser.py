"""The app in processes of its own, with studies that are ready to be decided, and Chromium that looks at it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from .timing import REPOSITORY

_NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
CHROMIUM = os.environ.get("UBAYFS_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
]  # fmt: skip
STUDY = """\
data: {{path: {path}, target: {target}}}
evidence: {{selector: {selector}, n_models: {n_models}, seed: 0}}
prior:
  weights:
    features: {{{first}: likely}}
constraints:
  - max_size: {{n: 10, rho: hard}}
  - decorrelate: {{threshold: 0.8}}
"""


def end_as_by_ctrl_c() -> None:
    """Let a signal to end be an exception, so that servers and folders are not left behind."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@dataclass
class Server:
    """The app while it runs."""

    process: subprocess.Popen[str]
    base: str
    token: str
    root: Path
    log: Path
    seconds: float  # until it answered
    read: int = 0  # bytes of the log that were looked at

    def url(self, study: str, screen: str) -> str:
        """Return the address of a screen."""
        return f"{self.base}/s/{study}/{screen}"

    def complaints(self) -> str:
        """Return what the server wrote to its log since the last call, if there is a traceback in it."""
        with open(self.log, "rb") as file:
            file.seek(self.read)
            new = file.read()
        self.read += len(new)
        text = new.decode("utf-8", "replace")
        return text[text.find("Traceback") :] if "Traceback" in text else ""


@contextmanager
def served(root: Path, *arguments: str, log: Path | None = None) -> Iterator[Server]:
    """Start the app; end it, and all that it started, afterwards."""
    log = log or root.with_suffix(".log")
    source = os.pathsep.join([str(REPOSITORY / "src"), os.environ.get("PYTHONPATH", "")])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "NICEGUI"))}
    environment = {**kept, "PYTHONPATH": source, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "ubayfs", "app", "--no-browser", "--port", "0", "--directory", str(root)]
    start = time.perf_counter()
    begun = log.stat().st_size if log.exists() else 0
    with open(log, "ab") as errors:
        process = subprocess.Popen(
            [*command, *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
    try:
        assert process.stdout is not None
        found = next((match for line in process.stdout if (match := re.match(r"Open (\S+)", line))), None)
        if found is None:
            raise RuntimeError(f"the app did not start: {log.read_text()}")
        url = urlsplit(found[1])
        base, token = f"{url.scheme}://{url.netloc}", parse_qs(url.fragment)["token"][0]
        yield Server(process, base, token, root, log, time.perf_counter() - start, begun)
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with suppress(ProcessLookupError):  # the server and its workers are one session of their own
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@dataclass
class Window:
    """A browser, and what went wrong in it: requests to elsewhere, errors of scripts."""

    browser: Any
    foreign: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    contexts: list[Any] = field(default_factory=list)

    def context(self, **options: Any) -> Any:
        """Return a browser without cookies and cache."""
        made = self.browser.new_context(viewport={"width": 1280, "height": 800}, **options)
        made.set_default_timeout(60_000)
        made.on("request", lambda request: self.foreign.append(request.url) if _elsewhere(request.url) else None)
        made.on("weberror", lambda error: self.errors.append(str(error.error)))
        self.contexts.append(made)
        return made

    def page(self, server: Server, study: str = "", screen: str = "know", context: Any = None) -> Any:
        """Return a page that the server has let in."""
        page = (context or self.context()).new_page()
        page.goto(f"{server.base}/#token={server.token}")
        page.wait_for_url(f"{server.base}/")
        page.wait_for_selector("h1")
        if study:
            page.goto(server.url(study, screen))
            page.wait_for_selector("h1")
        return page


def _elsewhere(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme not in ("data", "blob", "about") and parts.hostname != "127.0.0.1"


@contextmanager
def window() -> Iterator[Window]:
    """Start Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield Window(browser)
        finally:
            browser.close()


# -- memory ------------------------------------------------------------------------------------------------------------


def family(pid: int) -> list[int]:
    """Return a process and all below it."""
    found = [pid]
    for line in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            children = (line / "children").read_text().split()
            found += [below for child in children for below in family(int(child))]
    return found


def memory(pids: list[int]) -> float:
    """Return the bytes that processes have, those that several share counted once (PSS)."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1]) * 1024  # type: ignore[index]
    return float(total)


# -- studies -----------------------------------------------------------------------------------------------------------


def synthetic_table(path: Path, n_samples: int, n_features: int) -> Path:
    """Write a table with ten telling features and a group of correlated ones."""
    import pandas as pd

    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_samples)
    X = rng.normal(size=(n_samples, n_features)).astype(np.float32)
    X[:, :10] += y[:, None]
    X[:, 10:40] = X[:, :1] + 0.4 * X[:, 10:40]
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(n_features)])
    frame.insert(0, "y", np.where(y == 1, "ill", "well"))
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


def prepare(root: Path, name: str, table: Path, target: str, n_models: int = 100, selector: str = "mrmr") -> str:
    """Make a study with votes and confirmed knowledge, and return its id."""
    from ubayfs.app.library import Library
    from ubayfs.tables import read_table

    feature = next(str(column) for column in read_table(table).frame.columns if column not in (target, "id"))
    file = root.with_name(f"{name}.yaml")
    given = {"path": table, "target": target, "selector": selector, "n_models": n_models, "first": f"'{feature}'"}
    file.write_text(STUDY.format(**given), encoding="utf-8")
    library = Library(root)
    try:
        study = library.create(name, file)
        bench = library.open(study)
        wait_until(lambda: bench.facts is not None, 300)
        bench.collect()
        wait_until(lambda: bool(bench.evidence and bench.evidence.is_current), 900)
        bench.confirm()
        wait_until(lambda: bench.answer.set is not None and bench.answer.revision == bench.revision, 120)
    finally:
        library.close()
    return study


def wait_until(true: Callable[[], bool], seconds: float) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds:g} s")
        time.sleep(0.05)
