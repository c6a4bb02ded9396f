"""A robot that clicks and types at random in the app, and notices whatever is lost.

``python -m benchmarks.robot --minutes 10 --seed 0`` opens two tabs on the demo study and does what people do, and what
they never would: words, votes, rules, sizes, odd texts, undo, reloads, screens in any order, versions, and now and then
a worker or the whole server is killed. After each action no traceback may be in the log and no script may have failed;
edits must be answered, and after a kill the study must be what it was. The same seed makes the same choices.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from .browser import Server, Window, end_as_by_ctrl_c, served, window

SCREENS = ("data", "know", "rules", "evidence", "answer", "versions")
TEXTS = [
    "", " ", "3", "-1", "0", "1e999", "nan", "12", "a" * 500, "<script>alert(1)</script>", "<b>bold</b>", "'; drop",
    "BAX", "CDKN1A", "../../etc/passwd", "\u202eevil", "\x1b[31mred", "likely", "unlikely", "very likely",
    "5,5", "*_at", "[a, b", "{x: 1}", "supported", "null", "null bytes \u0000 here", "\U0001f9ec", "0.5", "100000",
]  # fmt: skip
# Left alone: what starts hours of work, leaves the study, or chooses files of the machine.
_AVOIDED = ("predict", "Take the tour", "New study", "Remove it", "All studies", "Find out", "Guess the columns")
_VISIBLE = """
() => [...document.querySelectorAll('button, select, input, textarea, a.button, summary, nav a')].filter((e) => {
  const box = e.getBoundingClientRect(); return box.width > 0 && box.height > 0 && !e.disabled && e.type !== 'file';
}).map((e, i) => { e.dataset.robot = i; return {
  i, tag: e.tagName, type: e.type || '', n: e.options?.length || 0,
  text: (e.getAttribute('aria-label') || e.textContent || '').trim().slice(0, 60) }; })
"""


class Robot:
    """Acts at random on two tabs of one study."""

    def __init__(self, server: Server, seen: Window, study: str, seed: int) -> None:
        self.server, self.seen, self.study = server, seen, study
        self.random = random.Random(seed)
        self.done: Counter[str] = Counter()
        self.last: list[str] = []
        self.defects: list[str] = []
        context = seen.context(accept_downloads=True)
        self.pages = [seen.page(server, study, screen, context) for screen in ("know", "answer")]
        for page in self.pages:
            page.set_default_timeout(10_000)
            page.on("dialog", lambda dialog: self.fail(f"a dialog opened: {dialog.message}"))

    def begin(self) -> None:
        """Let the models vote, so that there is an answer to change."""
        page = self.pages[0]
        page.goto(self.server.url(self.study, "evidence"))
        page.get_by_role("button", name="Run ", exact=False).first.click(timeout=60_000)
        page.get_by_text("models have voted", exact=False).first.wait_for(timeout=300_000)
        page.get_by_role("button", name="I have stated what I know", exact=False).first.click()
        page.goto(self.server.url(self.study, "answer"))
        page.wait_for_selector(".members tbody tr", timeout=60_000)

    def act(self) -> None:
        """Do one thing."""
        page = self.random.choice(self.pages)
        actions: list[tuple[int, Callable[[Any], None]]] = [
            (60, self.touch), (10, self.go), (6, self.undo), (6, self.redo), (4, self.reload), (4, self.keys),
            (3, self.state_words),
        ]  # fmt: skip
        weights, functions = zip(*actions, strict=True)
        action = self.random.choices(functions, weights)[0]
        self.done[action.__name__] += 1
        with suppress_timeouts():
            action(page)

    def note(self, what: str) -> None:
        """Remember an action, for the one who looks for the cause."""
        self.last = [*self.last[-30:], what]

    def touch(self, page: Any) -> None:
        """Use an element that can be seen."""
        elements = [each for each in page.evaluate(_VISIBLE) if not any(word in each["text"] for word in _AVOIDED)]
        if not elements:
            return
        chosen = self.random.choice(elements)
        place = page.locator(f"[data-robot='{chosen['i']}']").first
        self.note(f"{page.url.rsplit('/', 1)[-1]}: {chosen['tag']} {chosen['type']} {chosen['text']!r}")
        if chosen["tag"] == "SELECT" and chosen["n"]:
            place.select_option(index=self.random.randrange(chosen["n"]), timeout=3000)
        elif chosen["type"] == "range":
            value = str(self.random.randint(1, 20))
            place.evaluate("(e, v) => { e.value = v; e.dispatchEvent(new Event('change', {bubbles: true})); }", value)
        elif chosen["tag"] in ("INPUT", "TEXTAREA") and chosen["type"] not in ("checkbox", "radio"):
            text = self.random.choice(TEXTS)
            if chosen["text"].startswith("Models"):
                text = self.random.choice(["20", "30", "x"])
            self.note(f"  types {text!r}")
            place.fill("" if chosen["type"] == "number" and not _is_number(text) else text, timeout=3000)
            place.press(self.random.choice(["Enter", "Tab"]), timeout=3000)
        else:
            place.click(timeout=3000)

    def go(self, page: Any) -> None:
        """Open another screen."""
        screen = self.random.choice(SCREENS)
        self.note(f"goes to {screen}")
        page.goto(self.server.url(self.study, screen))

    def undo(self, page: Any) -> None:
        """Press Ctrl+Z."""
        self.note("undo")
        page.evaluate("document.activeElement?.blur()")
        page.keyboard.press("Control+z")

    def redo(self, page: Any) -> None:
        """Press Ctrl+Shift+Z."""
        self.note("redo")
        page.evaluate("document.activeElement?.blur()")
        page.keyboard.press("Control+Shift+z")

    def reload(self, page: Any) -> None:
        """Load the page again."""
        self.note("reload")
        page.reload()

    def keys(self, page: Any) -> None:
        """Press a key, wherever the focus is."""
        key = self.random.choice(
            ["Tab", "Enter", "Escape", "1", "2", "3", "4", "0", "/", "ArrowDown", "Space", "Delete"]
        )
        self.note(f"presses {key}")
        page.keyboard.press(key)

    def state_words(self, page: Any) -> None:
        """State a word of the first features of the grid."""
        self.note("states a word in the grid")
        if not page.url.endswith("/know"):
            page.goto(self.server.url(self.study, "know"))
        boxes = page.locator(".ag-row .ag-selection-checkbox input, .ag-row .ag-checkbox-input")
        for _ in range(self.random.randint(1, 3)):
            boxes.nth(self.random.randrange(8)).click(timeout=3000)
        page.locator("#state button").nth(self.random.randrange(4)).click(timeout=3000)

    # -- what must hold ------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise if something was lost, failed or is not answered."""
        if found := self.server.complaints():
            self.fail(f"a traceback in the log:\n{found}")
        if self.seen.errors or self.seen.foreign:
            self.fail(f"errors of scripts: {self.seen.errors}; requests to elsewhere: {self.seen.foreign}")
            self.seen.errors.clear()
            self.seen.foreign.clear()
        if self.server.process.poll() is not None:
            self.fail(f"the server ended with code {self.server.process.returncode}")
            raise SystemExit(self.report())

    def settled(self, seconds: float = 90) -> None:
        """Wait until the status line of each tab says that nothing is going on any more."""
        for page in self.pages:
            with suppress_timeouts():
                page.wait_for_selector(".status", timeout=15_000)
            end = time.monotonic() + seconds
            while _status(page).startswith(("Finding", "Reading")):
                if time.monotonic() > end:
                    self.fail(f"an edit was not answered within {seconds:g} s: {_status(page)}")
                    break
                time.sleep(0.2)

    def same_after_restart(self, restart: Callable[[], Server]) -> None:
        """Kill the server and look whether another one has the same study."""
        self.note("the server is killed")
        before = self.described()
        self.server = restart()
        for page in self.pages:
            page.goto(f"{self.server.base}/#token={self.server.token}")
            page.wait_for_url(f"{self.server.base}/", timeout=60_000)
            page.wait_for_selector("h1", timeout=60_000)
            page.goto(self.server.url(self.study, "answer"), timeout=60_000)
        self.settled()
        after = self.described()
        if before != after:
            self.fail(f"the study is another one after the server was killed:\n{before}\n{after}")
        self.done["the server is killed"] += 1

    def described(self) -> dict[str, Any]:
        """Return what a person sees of the study: what can be undone and redone, and what is stated."""
        page = self.pages[0]
        page.goto(self.server.url(self.study, "rules"), timeout=60_000)
        page.wait_for_selector("#undo", timeout=60_000)
        end, known = time.monotonic() + 60, {"names": []}
        while time.monotonic() < end and not known["names"]:  # until the data are read
            time.sleep(0.2)
            known = page.request.get(self.server.url(self.study, "features.json")).json()
        seen = {name: page.get_attribute(f"#{name}", "title") for name in ("undo", "redo")}
        rules = page.locator(".rules .says").all_text_contents()
        return {**seen, "rules": rules, "blocks": known["blocks"], "stated": known["stated"]}

    def fail(self, what: str) -> None:
        """Record what is wrong, and what was done before; the robot acts on."""
        self.defects.append(f"{what}\n\nThe last actions:\n" + "\n".join(self.last))
        print(f"DEFECT {len(self.defects)}: {self.defects[-1]}", flush=True)

    def report(self) -> str:
        """Return everything that was wrong."""
        return f"{len(self.defects)} defects\n\n" + "\n\n".join(self.defects)


class suppress_timeouts(suppress):  # noqa: N801
    """Ignore that an element has gone, or is below another one: somebody else would click elsewhere."""

    def __init__(self) -> None:
        from playwright.sync_api import Error

        super().__init__(Error)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _status(page: Any) -> str:
    with suppress_timeouts():
        return str(page.locator(".status").first.text_content(timeout=2000) or "")
    return ""


def _kill_worker(server: Server) -> None:
    """End a process that the server started, as if the machine were out of memory."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    for child in children[:1]:
        with suppress(ProcessLookupError):
            os.kill(int(child), signal.SIGKILL)


def run(minutes: float, seed: int, kills: bool = True) -> Robot:
    """Let the robot act for some minutes; its `defects` are what was wrong."""
    rng = random.Random(seed + 1)
    with tempfile.TemporaryDirectory() as folder, window() as seen, ExitStack() as stack:
        root = Path(folder) / "studies"
        server = stack.enter_context(served(root, "--demo"))
        study = next(place.name for place in root.iterdir() if place.is_dir() and not place.name.startswith("."))
        robot = Robot(server, seen, study, seed)

        def restart() -> Server:
            with suppress(ProcessLookupError):
                os.killpg(robot.server.process.pid, signal.SIGKILL)
            robot.server.process.wait()
            return stack.enter_context(served(root, log=robot.server.log))

        robot.begin()
        end, n = time.monotonic() + 60 * minutes, 0
        while time.monotonic() < end:
            robot.act()
            robot.check()
            n += 1
            if n % 25 == 0:
                robot.settled()
                robot.check()
                print(f"{n} actions, {(end - time.monotonic()) / 60:.1f} min left", flush=True)
            if kills and n % 60 == 0:
                if rng.random() < 0.5:
                    robot.note("a worker is killed")
                    _kill_worker(robot.server)
                    robot.done["a worker is killed"] += 1
                else:
                    robot.settled()
                    robot.same_after_restart(restart)
        robot.settled()
        robot.check()
        return robot


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.robot", description="Click at random in the app.")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-kills", action="store_true", help="leave server and workers alive")
    asked = parser.parse_args()
    end_as_by_ctrl_c()
    robot = run(asked.minutes, asked.seed, not asked.no_kills)
    print(dict(robot.done))
    sys.exit(f"seed {asked.seed}: {robot.report()}" if robot.defects else 0)
