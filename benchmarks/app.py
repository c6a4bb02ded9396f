"""The app in a real browser: how soon an edit shows, what tabs, uploads and twenty studies at once cost.

``python -m benchmarks.app [--quick] [--only edits tabs ...]`` prints the figures with their limits. Times of edits are
taken in the page, from the event that the browser sends to the change that a person sees.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from . import data
from .browser import Server, Window, end_as_by_ctrl_c, family, memory, prepare, served, synthetic_table, window
from .report import Row, Section

MB = 2.0**20
_READING = (
    "The app in Chromium, on this machine with whatever else it does ({load:.1f} processes wanted to run on {cpus} "
    "processors before, {after:.1f} after). Memory is that of the server, or of it and all its workers; pages that "
    "processes share count once."
)
# Waits for a change that is seen: of the set (the label of the edit, no note that it is older), reasons, alternatives.
_WATCH = """
([label, act, ...given]) => new Promise((done, fail) => {
  const start = performance.now(), times = {};
  const waiting = (title) => document.querySelector(`.members td[data-label="${title}"] .waiting`);
  const look = () => {
    const since = document.querySelector('.since')?.textContent || '';
    const lead = document.querySelector('p.lead')?.textContent || '';
    if (!since.includes(label) || lead.includes('being applied')) return;
    const now = performance.now() - start;
    times.set ??= now;
    if (!waiting('Because of')) times.reasons ??= now;
    if (!waiting('Best replacement') && times.reasons !== undefined) times.alternatives ??= now;
    if (times.alternatives !== undefined) { observer.disconnect(); done(times); }
  };
  const observer = new MutationObserver(look);
  observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  setTimeout(() => { observer.disconnect(); done(times); }, 30000);
  if (act === 'size') {
    const box = document.querySelector('input[type=range]');
    box.max = Math.max(box.max, given[0]); box.value = given[0];
    box.dispatchEvent(new Event('input', { bubbles: true })); box.dispatchEvent(new Event('change', { bubbles: true }));
  } else {
    const box = document.querySelector(`.members select[data-feature="${given[0]}"]`);
    box.value = given[1];
    box.dispatchEvent(new Event('change', { bubbles: true }));
  }
})
"""
_SEEN = """
(label) => new Promise((done) => {
  const look = () => {
    if (!(document.querySelector('.since')?.textContent || '').includes(label)) return;
    observer.disconnect(); done(Date.now());
  };
  const observer = new MutationObserver(look);
  observer.observe(document.body, { subtree: true, childList: true, characterData: true });
  setTimeout(() => done(Infinity), 20000);
})
"""
_CAN_STOP = (
    "(can) => [...document.querySelectorAll('button')].some((b) => b.textContent === 'Stop' && !b.disabled) === can"
)


class Place:
    """A folder with studies that are ready, made when they are first asked for."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder, self.quick = folder, quick
        self.root = folder / "studies"
        self.small, self.large = ("100 features", "200 features") if quick else ("7,129 features", "20,000 features")
        self.known: dict[str, str] = {}

    def study(self, name: str) -> str:
        """Return the id of the small or the large study."""
        if name not in self.known:
            n_features = int(name.split()[0].replace(",", ""))
            if name == "7,129 features" and data.present("alt/LEU_golub"):
                table = data.path("alt/LEU_golub")
            else:
                n_samples = 60 if self.quick else 200
                table = synthetic_table(self.folder / f"{n_features}.parquet", n_samples, n_features)
            self.known[name] = prepare(self.root, f"study{n_features}", table, "y")
        return self.known[name]


def edits(place: Place, name: str) -> list[Row]:
    """Measure from an edit to the set, its reasons and the alternatives on screen."""
    study = place.study(name)
    with served(place.root) as server, window() as seen:
        page = seen.page(server, study, "answer")
        page.wait_for_selector(".members tbody tr", timeout=300_000)
        found = [_size(page, n) for n in ((11, 8) if place.quick else (11, 8, 13, 9, 12, 10, 14, 7, 15, 10))]
        for word in (
            ("very likely", "unlikely") if place.quick else ("very likely", "unlikely", "likely", "", "neutral")
        ):
            feature = page.get_attribute(".members select[data-feature]", "data-feature")
            found.append(page.evaluate(_WATCH, [f"{feature}: {word or 'nothing'}", "word", feature, word]))
        paused = []
        for n in (11, 8) if place.quick else (11, 8, 13, 9, 12, 10):
            time.sleep(0.5 if place.quick else 6)  # as people do; meanwhile it is found out how far to trust the set
            paused.append(_size(page, n).get("set", float("inf")) / 1e3)
        _check(server, seen)
    times = {
        key: [each.get(key, float("inf")) / 1e3 for each in found[1:]] for key in ("set", "reasons", "alternatives")
    }
    row = partial(_seconds, name)
    return [
        row("edit to the set, median", statistics.median(times["set"]), 0.3),
        row("edit to the set, worst", max(times["set"]), 1.0),
        row("edit after a pause to the set, worst", max(paused), 1.0),
        row("edit to reasons, median", statistics.median(times["reasons"]), 1.0),
        row("edit to alternatives, median", statistics.median(times["alternatives"]), 2.0),
    ]


def _size(page: Any, n: int) -> dict[str, float]:
    return dict(page.evaluate(_WATCH, [f"At most {n} features", "size", n]))


def start(place: Place) -> list[Row]:
    """Measure from the command to the list of studies in a browser that is open."""
    place.study(place.small)
    with window() as seen:
        begin = time.perf_counter()
        with served(place.root) as server:
            seen.page(server)
            taken = time.perf_counter() - begin
            _check(server, seen)
    note = f"{server.seconds:.1f} s until the address is printed"
    return [Row("", "start, to the first page", {"seconds": taken}, {"seconds": 3.0}, note)]


def features(place: Place) -> list[Row]:
    """Measure how soon all features are shown, in a new browser and again, and how soon a filter is."""
    study = place.study(place.large)
    n = place.large.split()[0]
    wanted = f"{n} of {n} shown"
    shown = "(text) => document.querySelector('.features-count')?.textContent.startsWith(text)"
    with served(place.root) as server, window() as seen:
        first = seen.page(server, study, "know")  # the study is open and read; the browser below is new
        first.wait_for_function(shown, arg=wanted, timeout=300_000)
        first.close()
        page = seen.page(server)
        cold, warm = (_until(page, server.url(study, "know"), shown, wanted) for _ in range(2))
        search = """(needle) => new Promise((done) => {
          const start = performance.now(), place = document.querySelector('.features-count');
          const before = place.textContent;
          const observer = new MutationObserver(() => {
            if (place.textContent !== before) { observer.disconnect(); done(performance.now() - start); }
          });
          observer.observe(place, { childList: true, characterData: true, subtree: true });
          const box = document.querySelector('[data-search]');
          box.value = needle; box.dispatchEvent(new Event('input', { bubbles: true }));
        })"""
        filters = [page.evaluate(search, needle) / 1e3 for needle in ("gene 1", "gene 19", "gene 1")]
        _check(server, seen)
    row = partial(_seconds, place.large)
    return [
        row("all features shown, cold", cold, 2.5),
        row("all features shown, warm", warm, 1.0),
        row("filter, worst of 3", max(filters), 0.3),
    ]


def _until(page: Any, url: str, condition: str, given: Any) -> float:
    begin = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_function(condition, arg=given, polling=10)
    return time.perf_counter() - begin


def tabs(place: Place) -> list[Row]:
    """Measure what a tab costs the server, and how soon 21 tabs see an edit."""
    study, n = place.study(place.large), 5 if place.quick else 20
    with served(place.root) as server, window() as seen:
        pages = [seen.page(server, study, "answer")]
        pages[0].wait_for_selector(".members tbody tr", timeout=300_000)
        time.sleep(2)
        before = memory([server.process.pid])
        for _ in range(n):
            pages.append(seen.page(server, study, "answer", pages[0].context))
            pages[-1].wait_for_selector(".members tbody tr", timeout=300_000)
        time.sleep(2)
        per_tab = (memory([server.process.pid]) - before) / n
        for page in pages[1:]:
            page.evaluate(f"() => {{ window.seen = ({_SEEN})('At most 16 features'); }}")
        begin = pages[0].evaluate("Date.now()")
        _size(pages[0], 16)
        last = max(page.evaluate("window.seen") for page in pages[1:])
        _check(server, seen)
    return [
        Row(place.large, "server memory per tab", {"memory": per_tab}, {"memory": 2 * MB}),
        Row(place.large, f"edit seen by {n + 1} tabs", {"seconds": (last - begin) / 1e3}, {"seconds": 1.0}),
    ]


def upload(place: Place) -> list[Row]:
    """Measure a file of 200 MB from the browser to the disk of the server."""
    study, size = place.study(place.small), (5 if place.quick else 200) * 10**6
    file = place.folder / "large.bin"
    with open(file, "wb") as target:
        target.truncate(size)
    with served(place.root) as server, window() as seen:
        page = seen.page(server, study, "know")
        address = server.url(study, "upload") + "?name=large.csv"
        page.evaluate("() => { const box = document.createElement('input'); box.type = 'file'; box.id = 'large'; "
                      "document.body.append(box); }")  # fmt: skip
        page.set_input_files("#large", str(file))
        time.sleep(1)
        before, peak = memory([server.process.pid]), 0.0
        page.evaluate("(url) => { window.sent = null; const body = document.getElementById('large').files[0]; "
                      "fetch(url, { method: 'POST', body }).then(async (r) => { window.sent = await r.text(); }); }",
                      address)  # fmt: skip
        begin = time.perf_counter()
        while page.evaluate("window.sent") is None:
            peak = max(peak, memory([server.process.pid]))
            time.sleep(0.05)
        taken, stored = time.perf_counter() - begin, server.root / study / "uploads" / "large.csv"
        assert stored.stat().st_size == size, page.evaluate("window.sent")
        stored.unlink()
        _check(server, seen)
    growth = max(peak - before, 0.0)
    return [Row("", f"upload of {size // 10**6} MB", {"seconds": taken, "memory": growth},
                {"seconds": 10.0, "memory": 20 * MB})]  # fmt: skip


def stop(place: Place) -> list[Row]:
    """Measure how soon an ensemble that runs can be stopped."""
    study = place.study(place.small)
    with served(place.root) as server, window() as seen:
        page = seen.page(server, study, "evidence")
        models = page.get_by_label("Models", exact=True)
        models.fill("100000")
        models.press("Enter")
        page.get_by_role("button", name="Resume").or_(page.get_by_role("button", name="Run ")).first.click()
        halt = page.get_by_role("button", name="Stop", exact=True)
        halt.wait_for()
        page.wait_for_function(_CAN_STOP, arg=True)
        time.sleep(3)
        begin = time.perf_counter()
        halt.click()
        page.wait_for_function(_CAN_STOP, arg=False)
        taken = time.perf_counter() - begin
        page.locator("#undo").click()
        _check(server, seen)
    return [_seconds(place.small, "stop of an ensemble", taken, 3.0)]


def many(place: Place) -> list[Row]:
    """Measure twenty studies that are decided at once."""
    first, n = place.study(place.small), 3 if place.quick else 20
    root = place.folder / "many"
    studies = [shutil.copytree(place.root / first, root / f"study-{i}").name for i in range(n)]
    with served(root) as server, window() as seen:
        pages = [seen.page(server, study, "answer") for study in studies]
        for page in pages:
            page.wait_for_selector(".members tbody tr", timeout=300_000)
        for page in pages:  # each call returns at once, so that all begin together
            page.evaluate(f"() => {{ window.times = ({_WATCH})(['At most 17 features', 'size', 17]); }}")
        answers = [page.evaluate("window.times") for page in pages]
        total = memory(family(server.process.pid))
        _check(server, seen)
    worst = max(each.get("set", float("inf")) / 1e3 for each in answers)
    return [
        Row(place.small, f"{n} studies decided at once, worst", {"seconds": worst}, {"seconds": 3.0}),
        Row(place.small, f"memory of {n} open studies", {"memory": total}, {"memory": 8 * 1024 * MB}),
    ]


def growth(place: Place) -> list[Row]:
    """Measure whether the server or its worker grows over many edits."""
    study, n = place.study(place.small), 20 if place.quick else 1000
    with served(place.root) as server, window() as seen:
        page = seen.page(server, study, "answer")
        page.wait_for_selector(".members tbody tr", timeout=300_000)
        for i in range(n // 10):
            _edit_quickly(page, i)
        before, begin = memory(family(server.process.pid)), time.perf_counter()
        for i in range(n // 10, n):
            _edit_quickly(page, i)
        after, taken = memory(family(server.process.pid)), time.perf_counter() - begin
        _check(server, seen)
    note = f"after the first tenth of them; {taken / (n - n // 10):.2f} s per edit"
    return [Row(place.small, f"growth over {n:,} edits", {"memory": max(after - before, 0.0)},
                {"memory": 20 * MB}, note)]  # fmt: skip


def _edit_quickly(page: Any, i: int) -> None:
    """Change the size and wait for the set."""
    page.evaluate(_WATCH.replace("times.alternatives !== undefined", "times.set !== undefined"),
                  [f"At most {8 + i % 5} features", "size", 8 + i % 5])  # fmt: skip


def _seconds(name: str, what: str, seconds: float, limit: float) -> Row:
    return Row(name, what, {"seconds": seconds}, {"seconds": limit})


def _check(server: Server, seen: Window) -> None:
    """Raise what must never happen while something is measured."""
    if seen.foreign or seen.errors:
        raise RuntimeError(f"requests to elsewhere: {seen.foreign}; errors of scripts: {seen.errors}")
    if found := server.complaints():
        raise RuntimeError(found)


PARTS: dict[str, Callable[[Place], list[Row]]] = {
    "start": start,
    "features": features,
    "edits": lambda place: [*edits(place, place.small), *edits(place, place.large)],
    "tabs": tabs,
    "upload": upload,
    "stop": stop,
    "many": many,
    "growth": growth,
}


def app(quick: bool = False, only: list[str] | None = None) -> Section:
    """Measure all parts, or some; one that breaks off does not keep the others from being measured."""
    load = os.getloadavg()[0]
    rows: list[Row] = []
    shown: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), quick)
        for part in only or PARTS:
            try:
                rows += PARTS[part](place)
            except Exception as error:
                traceback.print_exc()
                rows.append(Row("", part, {}, {"seconds": 0.0}, f"broke off: {type(error).__name__}: {error}"))
            print("\n".join(str(row.cells()) for row in rows if row not in shown), flush=True)
            shown += [row for row in rows if row not in shown]
    rows.append(
        Row("", "requests to elsewhere", {}, {}, "none" if all("elsewhere" not in r.note for r in rows) else "SOME")
    )
    return Section("The app", _READING.format(load=load, after=os.getloadavg()[0], cpus=os.cpu_count()), rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.app", description="Measure the app in Chromium.")
    parser.add_argument("--quick", action="store_true", help="200 features, few repeats: does it work at all?")
    parser.add_argument("--only", nargs="+", choices=list(PARTS))
    asked = parser.parse_args()
    end_as_by_ctrl_c()
    print(app(asked.quick, asked.only).markdown())
