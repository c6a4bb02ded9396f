"""Makes the pictures of the report on the first page of the site: python tests/report_pictures.py."""

import tempfile
from pathlib import Path

from PIL import Image

from app_server import CHROMIUM, FLAGS
from ubayfs.cli.main import main

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def take_pictures():
    """Run the demo and take pictures of the opening of its report and of the figure of votes."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        main(["demo", "-o", folder, "--force"])
        results = Path(folder) / "results"
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1000, "height": 900})
        page.goto((results / "report.html").as_uri())
        page.screenshot(path=IMAGES / "report.png")
        browser.close()
        with Image.open(results / "figures" / "evidence.png") as picture:
            half = picture.convert("RGB").resize((picture.width // 2, picture.height // 2))
            half.quantize(64).save(IMAGES / "report_votes.png", optimize=True)


if __name__ == "__main__":
    take_pictures()
