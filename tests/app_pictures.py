"""Makes the pictures of docs/app.md: python tests/app_pictures.py."""

import tempfile
from pathlib import Path

from app_server import CHROMIUM, FLAGS, start_server, stop_server

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SCREENS = ("data", "know", "rules", "evidence", "answer", "versions")


def take_pictures():
    """Run the demo study and take a picture of each screen."""
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        server = start_server(Path(folder) / "studies", "--demo")
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.set_default_timeout(120_000)
        study = server.base + server.path.rpartition("/")[0]
        page.goto(f"{server.base}/#token={server.token}")
        page.wait_for_url(f"{server.base}/")
        page.get_by_role("heading", level=1).wait_for()
        page.goto(f"{study}/evidence")
        page.get_by_role("button", name="I have stated what I know").click()
        page.get_by_role("button", name="Run 100 models").click()
        page.get_by_text("All 100 models have voted.").wait_for()
        for screen in SCREENS:
            page.goto(f"{study}/{screen}")
            page.get_by_role("heading", level=1).wait_for()
            if screen == "versions":
                compare_two(page, study)
            if screen == "answer":
                page.wait_for_function(
                    "document.querySelectorAll('.answers.facts > div:not(:has(.value))').length <= 1"
                )  # but prediction
            page.wait_for_timeout(2500)
            page.screenshot(path=IMAGES / f"app_{screen}.png")
        browser.close()
        stop_server(server)


def compare_two(page, study):
    """Save a version, change a word, and compare the answer with the version."""
    page.get_by_label("Name", exact=True).fill("Before the meeting")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".notice.success", has_text="Before the meeting").wait_for()
    page.goto(f"{study}/answer")
    page.locator(".members select").last.select_option("unlikely")
    page.locator(".since", has_text="unlikely").wait_for()
    page.goto(f"{study}/versions")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.locator("strong", has_text="added").wait_for()


if __name__ == "__main__":
    take_pictures()
