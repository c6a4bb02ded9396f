"""A report with all that there is, clicked and printed in a real browser; skipped without Chromium."""

import csv
import math
import re

import numpy as np
import pytest

from browsing import expect, new_context, nothing_wrong
from cancer_study import cancer
from ubayfs.cli.main import main
from ubayfs.plotting import Display
from ubayfs.plotting.figures import DPI, encode_png


class Empty:
    """A picture of the size that a display has, but without its content."""

    missing_letters = ""

    def __init__(self, display):
        self.shape = (round(DPI * display._height()), round(DPI * display._width()), 4)

    def render(self, format="png"):
        return encode_png(np.zeros(self.shape, dtype=np.uint8), DPI)


@pytest.fixture(scope="module")
def results(browser, tmp_path_factory):
    """The results of a study; pictures without content give as long a report."""
    folder = tmp_path_factory.mktemp("cancer")
    study = cancer(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ubayfs.trust.predictors.N_TREES", 5)
        patch.setattr(Display, "plot", lambda display, ax=None: Empty(display))
        assert main(["select", str(study), "-o", str(folder / "results")]) == 0
    return folder / "results"


@pytest.fixture(scope="module")
def address(results):
    return (results / "report.html").as_uri()


@pytest.fixture
def page(tab, context, address):
    tab.goto(address)
    return tab


@pytest.fixture
def clocked(browser, address):
    """The report in a browser of its own, whose clock stands from now on."""
    opened = new_context(browser)
    opened.grant_permissions(["clipboard-read", "clipboard-write"])
    with nothing_wrong(opened):
        page = opened.new_page()
        page.goto(address)
        page.clock.install()
        yield page
        opened.close()


def names_of(results):
    with (results / "selected_features.csv").open(newline="") as file:
        return [row["feature"] for row in csv.DictReader(file)]


def test_names_and_methods_are_copied_as_often_as_asked(clocked, results):
    page = clocked
    expected = {"Copy the names": names_of(results)}
    expected["Copy the text"] = page.locator("#methods-text > p").all_text_contents()
    for words, lines in expected.items():
        button = page.get_by_role("button", name=words)
        place = page.locator(f'button[data-copy="{button.get_attribute("data-copy")}"]')
        for _ in range(2):
            place.click()
            expect(place).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()").split("\n") == lines
        page.clock.run_for(2000)
        expect(place).to_have_text(words)


def test_a_refused_copy_is_not_called_copied(page):
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); }")
    button = page.locator('button[data-copy="names"]')
    button.click()
    expect(button).to_have_text(re.compile("^Not copied"))


def test_the_downloaded_workbook_has_what_the_csv_has(page, results, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as Excel").click()
    assert download.value.suggested_filename == "report.xlsx"
    download.value.save_as(tmp_path / "chosen.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "chosen.xlsx")["values"]
    assert sheet.freeze_panes == "A2"
    with (results / "selected_features.csv").open(newline="") as file:
        expected = list(csv.reader(file))
    found = list(sheet.iter_rows(values_only=True))
    assert len(found) == len(expected)
    for cells, texts in zip(found, expected, strict=True):
        # Cells of numbers and truth values are such, and no text; an empty cell is nothing or an empty text.
        assert ["" if cell is None else str(cell) for cell in cells] == [_as_python(text) for text in texts]
    kinds = {head: {type(row[i]) for row in found[1:]} for i, head in enumerate(found[0])}
    assert kinds["feature"] == {str}
    assert kinds["tied"] == {bool}
    assert kinds["count"] == {int}
    assert kinds["importance"] == {float}


def _as_python(text):
    """Return a number of a CSV as openpyxl reads it from a workbook: four digits, 100.0 as 100."""
    try:
        number = float(text if text.isdigit() else f"{float(text):.4g}")
        return str(int(number) if number.is_integer() else number)
    except ValueError:
        return text


def key_of(text, numeric):
    """Return what a cell is sorted by, None where nothing is known."""
    if not numeric:
        return text or None
    if text == "hard":
        return math.inf
    found = re.search(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", text.replace(",", ""), re.IGNORECASE)
    return float(found[0]) if found else None


# Clicks each heading of a table three times, and returns what the table then is.
CLICKED = """table => Array.from(table.tHead.rows[0].cells).flatMap(heading => [1, 2, 3].map(() => {
  heading.querySelector("button").click();
  const rows = Array.from(table.tBodies[0].rows);
  return {
    numeric: heading.classList.contains("number"), order: heading.getAttribute("aria-sort"),
    rows: rows.map(row => row.textContent), cells: rows.map(row => row.cells[heading.cellIndex].textContent.trim()),
  };
}))"""


def test_tables_are_sorted_and_get_their_order_back(page):
    n_sorted = 0
    for table in page.locator("table.table").all():
        before = table.locator("tbody tr").all_text_contents()
        if len(before) < 2:
            continue
        clicks = table.evaluate(CLICKED)
        for i in range(0, len(clicks), 3):
            orders = ["descending", "ascending"] if clicks[i]["numeric"] else ["ascending", "descending"]
            assert [click["order"] for click in clicks[i : i + 3]] == [*orders, None]
            assert clicks[i + 2]["rows"] == before
            for click in clicks[i : i + 2]:
                assert sorted(click["rows"]) == sorted(before)
                keys = [key_of(cell, click["numeric"]) for cell in click["cells"]]
                known = [key for key in keys if key is not None]
                assert keys == known + [None] * (len(keys) - len(known))
                if click["numeric"]:
                    assert known == sorted(known, reverse=click["order"] == "descending")
                    n_sorted += len(set(known)) > 1
    assert n_sorted > 20


def test_a_hard_constraint_is_the_strictest(page):
    page.get_by_role("button", name="Open all sections").click()
    heading = page.get_by_role("columnheader", name="Strictness (rho)")
    heading.get_by_role("button").click()
    place = heading.evaluate("e => e.cellIndex") + 1
    ordered = heading.locator(f"xpath=ancestor::table/tbody/tr/*[{place}]").all_text_contents()
    hard = [text.strip() == "hard" for text in ordered]
    assert hard == sorted(hard, reverse=True)
    assert 0 < sum(hard) < len(hard)


def test_words_are_sorted_without_regard_to_case_and_by_their_numbers(page):
    table = page.locator("table.table").first
    names = ["gene 10", "Gene 2", "gene 1", "alpha", "", "Beta"]
    table.evaluate(
        """(table, names) => names.forEach((name, i) => { table.tBodies[0].rows[i].cells[0].textContent = name; })""",
        names,
    )
    table.locator("thead button").first.click()
    found = table.locator("tbody tr > :first-child").all_text_contents()[:-1]
    assert [name for name in found if name in names] == ["alpha", "Beta", "gene 1", "Gene 2", "gene 10"]


def test_sections_open_one_by_one_by_their_links_and_all_at_once(page):
    sections = page.locator("details.section")
    n_open = page.locator("details.section[open]")
    expect(sections.nth(5)).to_be_attached()
    expect(n_open).to_have_count(0)
    page.get_by_role("navigation").get_by_role("link", name="Constraints and what they cost").click()
    expect(n_open.locator("h2")).to_have_text(["Constraints and what they cost"])
    n_open.locator("summary").first.click()
    expect(n_open).to_have_count(0)
    page.get_by_role("button", name="Open all sections").click()
    expect(n_open).to_have_count(sections.count())
    page.get_by_role("button", name="Close all sections").click()
    expect(n_open).to_have_count(0)


def n_pages(pdf):
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def test_a_report_prints_on_four_pages_without_what_only_a_screen_has(page):
    short = n_pages(page.pdf(prefer_css_page_size=True))
    assert 2 <= short <= 4
    page.emulate_media(media="print")
    for screen_only in ("nav", ".actions", "details.section"):
        expect(page.locator(screen_only).filter(visible=True)).to_have_count(0)
    expect(page.get_by_text("Folded sections are not printed")).to_be_visible()
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Open all sections").click()
    assert n_pages(page.pdf(prefer_css_page_size=True)) > short


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.get_by_role("button", name="Open all sections").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.wait_for_function("[...document.images].every((e) => e.complete && e.naturalWidth > 0)")
