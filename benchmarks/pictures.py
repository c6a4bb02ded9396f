"""Pictures of the report and of the six screens of the app, as README and docs show them: ``make pictures``.

All show the study of the demo. Each PNG carries the version of ubayfs that it was made with, so that a test can tell
when the pictures are older than the package.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from PIL.PngImagePlugin import PngInfo

import ubayfs
from ubayfs.demo import ANSWER

from .browser import Server, Window, served, window
from .timing import REPOSITORY

IMAGES = REPOSITORY / "docs" / "images"
SCREENS = ("data", "know", "rules", "evidence", "answer", "versions")
_SETTLED = 1500  # milliseconds after the last request, for transitions


def save(picture: Image.Image, path: Path) -> None:
    """Write a picture of at most 256 colors with the version of ubayfs."""
    facts = PngInfo()
    facts.add_text("Software", f"ubayfs {ubayfs.__version__}")
    picture.convert("RGB").quantize(256).save(path, optimize=True, pnginfo=facts)


def save_page(page: Any, path: Path) -> None:
    """Write a picture of what a page shows at first."""
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(_SETTLED)
    save(Image.open(io.BytesIO(page.screenshot())), path)


def answer_rows(result: Path) -> list[list[str]]:
    """Return the answer as the first page of the app shows it: each feature with reason, votes and weight."""
    members = json.loads((result / "summary.json").read_text())["chosen"]
    numbers = [
        [member["feature"], *member["reasons"], f"{member['count']:g}", f"{member['weight']:.0f}"] for member in members
    ]
    return [["feature", "reason", "votes", "weight"], *numbers]


def write_answer(result: Path) -> None:
    """Store the answer in the package."""
    with open(REPOSITORY / "src" / "ubayfs" / "demo" / ANSWER, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(answer_rows(result))


def report_pictures(seen: Window, folder: Path) -> None:
    """Run the demo, and take the opening of its report and the figure of votes."""
    from ubayfs.cli.main import main

    main(["demo", "-o", str(folder), "--force"])
    write_answer(folder / "results")
    page = seen.browser.new_page(viewport={"width": 1000, "height": 900})
    page.goto((folder / "results" / "report.html").as_uri())
    save_page(page, IMAGES / "report.png")
    with Image.open(folder / "results" / "figures" / "evidence.png") as picture:
        save(picture.resize((picture.width // 2, picture.height // 2)), IMAGES / "report_votes.png")


def app_pictures(server: Server, seen: Window, study: str) -> None:
    """Confirm knowledge, let the models vote, name the answer and change it once; take each screen."""
    page = seen.page(server, study, "evidence", seen.browser.new_context(viewport={"width": 1280, "height": 860}))
    page.set_default_timeout(120_000)
    page.get_by_role("button", name="I have stated what I know").click()
    page.get_by_role("button", name="Run 100 models").click()
    page.get_by_text("All 100 models have voted.").wait_for()
    for screen in SCREENS:
        page.goto(server.url(study, screen))
        page.get_by_role("heading", level=1).wait_for()
        if screen == "versions":
            compare_two(page, server, study)
        if screen == "answer":  # all facts of trust are there but for the prediction
            page.wait_for_function("document.querySelectorAll('.answers.facts > div:not(:has(.value))').length <= 1")
        save_page(page, IMAGES / f"app_{screen}.png")


def compare_two(page: Any, server: Server, study: str) -> None:
    """Save a version, change a word, and compare the answer with the version."""
    page.get_by_label("Name", exact=True).fill("Before the meeting")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".notice.success", has_text="Before the meeting").wait_for()
    page.goto(server.url(study, "answer"))
    page.locator(".members select").last.select_option("unlikely")
    page.locator(".since", has_text="unlikely").wait_for()
    page.goto(server.url(study, "versions"))
    page.get_by_role("button", name="Compare", exact=True).click()
    page.locator("strong", has_text="added").wait_for()


def main() -> None:
    """Make all pictures, or those of the report or of the app alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["report", "app"])
    only = parser.parse_args().only
    with tempfile.TemporaryDirectory() as name, window() as seen:
        if only != "app":
            report_pictures(seen, Path(name) / "demo")
        if only != "report":
            root = Path(name) / "studies"
            with served(root, "--demo") as server:
                app_pictures(server, seen, next(root.glob("demo-*")).name)


if __name__ == "__main__":
    main()
