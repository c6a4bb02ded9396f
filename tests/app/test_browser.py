"""The app in Chromium: what only a real browser shows."""

import gzip
import re
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest

from app_server import start_server, stop_server
from browsing import expect, new_context, wait_until

pytest.importorskip("nicegui")

SCREENS = ("data", "know", "rules", "evidence", "answer", "versions")


def table(n_rows=60, n_features=6, name="x"):
    """Return a table as CSV: the first feature tells the classes apart."""
    lines = ["outcome," + ",".join(f"{name}{i}" for i in range(n_features))]
    for row in range(n_rows):
        values = [str((row % 2) * 5 + (row * 7919 + i * 104729) % 97 / 97) for i in range(n_features)]
        lines.append(f"{'case' if row % 2 else 'control'}," + ",".join(values))
    return "\n".join(lines).encode()


def new_study(page, server, name):
    """Make a study without data and stand on its data screen."""
    page.goto(server.base + "/")
    page.get_by_role("button", name="New study").click()
    page.wait_for_url("**/data")
    page.get_by_role("heading", name="What are your data?").wait_for()
    box = page.get_by_label("Name of the study")
    box.fill(name)
    box.press("Enter")
    page.locator(".top .study", has_text=name).wait_for()


def expect_figure(page, what, value):
    """Wait until a key figure is this."""
    expect(page.locator("dl.key div", has_text=what).locator(".value").first).to_have_text(value)


def test_upload_guess_correct_undo(page, server):
    new_study(page, server, "Uploaded")
    files = [{"name": "cells <b>.csv.gz", "mimeType": "application/gzip", "buffer": gzip.compress(table())}]
    page.set_input_files("input[type=file]", files)
    expect_figure(page, "features", "6")
    expect_figure(page, "samples", "60")
    expect(page.get_by_label("Target")).to_have_value("outcome")
    expect(page.locator(".file")).to_contain_text(".csv.gz")
    expect(page.locator("b", has_text=".csv")).to_have_count(0)
    ignore = page.get_by_label("Columns that are not features")
    ignore.fill("x5")
    ignore.press("Enter")
    expect_figure(page, "features", "5")
    page.locator("h1").click()
    page.keyboard.press("Control+z")
    expect_figure(page, "features", "6")
    expect(ignore).to_have_value("")
    page.keyboard.press("Control+Shift+z")
    expect_figure(page, "features", "5")


def test_a_table_of_a_german_spreadsheet_is_read_by_the_ways_out_that_are_offered(page, server):
    new_study(page, server, "Labor")
    rows = (f"Pat{i};{i % 7},5;{'k.A.' if i == 3 else i};{'ja' if i % 2 else 'nein'}" for i in range(40))
    content = "\n".join(["Probe;Größe;01. Mär;Ansprechen", *rows]).encode("latin-1")
    page.set_input_files("input[type=file]", [{"name": "Labor.csv", "mimeType": "text/csv", "buffer": content}])
    page.get_by_role("button", name="Read them as text of Western Europe").wait_for()
    page.reload()
    page.get_by_role("button", name="Read them as text of Western Europe").click()
    page.get_by_text("The target seems to be 'Ansprechen'").wait_for()  # guessed once the file could be read
    page.get_by_text("Something is wrong: see the top of the page").wait_for()
    page.get_by_role("button", name="Use the names as they are").click()
    expect_figure(page, "features", "2")
    expect_figure(page, "missing values", "1")
    page.get_by_text("Up to date").wait_for()


def test_several_files_with_a_sample_sheet_by_their_paths(page, server, tmp_path):
    lines = table().decode().splitlines()
    split = [line.split(",") for line in lines]
    ids = ["sample", *(f"s{i}" for i in range(60))]
    (tmp_path / "clinical.csv").write_text("\n".join(f"{i},{row[0]}" for i, row in zip(ids, split, strict=True)))
    for name, columns in (("mirna", slice(1, 4)), ("rppa", slice(4, 7))):
        rows = (",".join([i, *row[columns]]) for i, row in zip(ids, split, strict=True))
        (tmp_path / f"{name}.csv").write_text("\n".join(rows))
    new_study(page, server, "Three files")
    box = page.get_by_label("Or the path of a file on this machine")
    read = page.locator(".notice", has_text="Read.")
    for name, following in (("mirna", "rppa"), ("rppa", "clinical"), ("clinical", "")):
        if name == "mirna":
            box.fill(str(tmp_path / "mirna.csv"))
        box.press("Enter")
        box.fill(following and str(tmp_path / f"{following}.csv"))  # while the one before is read
        page.locator(".file", has_text=f"{name}.csv").wait_for()
        read.wait_for()
    page.get_by_text("sample sheet", exact=True).wait_for()
    page.locator("dl.key .value", has_text="binary").wait_for()
    page.locator("dl.key .value", has_text=re.compile("^6$")).wait_for()


def test_a_path_is_sent_by_its_own_enter_and_a_box_emptied_by_the_server_by_none(page, server, tmp_path):
    for name in ("first", "second"):
        rows = (f"s{i},{i * 7 % 11},{i * 5 % 13}" for i in range(60))
        (tmp_path / f"{name}.csv").write_text("\n".join([f"sample,{name}_a,{name}_b", *rows]))
    new_study(page, server, "One after another")
    box = page.get_by_label("Or the path of a file on this machine")
    box.fill(str(tmp_path / "first.csv"))
    sent = box.evaluate(  # a slow page comes to what follows a key after more was typed
        """(box, next) => {
          box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
          box.dispatchEvent(new Event("change", { bubbles: true }));
          box.value = next;
          box.dispatchEvent(new Event("input", { bubbles: true }));
          return new Promise((done) => setTimeout(() => done(box.known)));
        }""",
        str(tmp_path / "second.csv"),
    )
    assert sent == str(tmp_path / "first.csv")
    read = page.locator(".notice", has_text="Read.")
    read.wait_for()
    expect(box).to_have_value(str(tmp_path / "second.csv"))
    box.press("Enter")
    page.locator(".file", has_text="second.csv").wait_for()
    read.wait_for()
    expect(box).to_have_value("")
    box.evaluate("box => box.addEventListener('change', () => { box.heard = true; })")
    box.press("Tab")
    assert box.evaluate("box => !box.heard")
    read.wait_for()


def test_another_sheet_of_a_workbook_describes_the_samples(page, server, tmp_path):
    rows = [line.split(",") for line in table().decode().splitlines()]
    ids = [f"s{i}" for i in range(60)]
    genes = pd.DataFrame([row[1:] for row in rows[1:]], index=ids, columns=rows[0][1:], dtype=float).T
    with pd.ExcelWriter(tmp_path / "both.xlsx") as workbook:
        genes.to_excel(workbook, sheet_name="RNA")
        pd.DataFrame({"patient": ids, "outcome": [row[0] for row in rows[1:]]}).to_excel(
            workbook, sheet_name="Patients"
        )
    new_study(page, server, "Two sheets")
    page.set_input_files("input[type=file]", tmp_path / "both.xlsx")
    page.locator(".notice", has_text="There are other sheets (Patients)").wait_for()
    page.get_by_role("button", name="Its sheet Patients describes the samples").click()
    page.locator(".file", has_text="both-Patients.csv").wait_for()
    page.locator("dl.key .value", has_text="binary").wait_for()
    expect(page.get_by_label("Target")).to_have_value("outcome")


def test_a_file_that_is_not_a_table_is_reported_and_nothing_is_lost(page, server, check_access):
    new_study(page, server, "No table")
    for screen in ("know", "answer", "data"):  # without data
        page.goto(f"{page.url.rpartition('/')[0]}/{screen}")
        page.get_by_role("heading", level=1).wait_for()
        check_access((390, 1280))
    wrong = {"picture.csv": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20, "empty.csv": b""}
    for name, content in wrong.items():
        page.set_input_files("input[type=file]", [{"name": name, "mimeType": "text/csv", "buffer": content}])
        page.locator(".notice.error", has_text=name).first.wait_for()
    check_access((390, 1280))
    page.set_input_files("input[type=file]", [{"name": "good.csv", "mimeType": "text/csv", "buffer": table()}])
    expect_figure(page, "features", "6")
    asked = page.request.get(page.url.replace("/data", "/upload?name=huge.csv&size=2000000000"))
    assert (asked.status, "read up to 1 GB" in asked.text()) == (413, True)


def test_stop_keeps_finished_runs_and_resume_completes_them(page, server):
    wanted = 200_000  # far more than there is time for, in short batches: a stop comes in between on any machine
    page.goto(f"{server.studies['stopped']}/evidence")
    models = page.get_by_label("Models", exact=True)
    models.fill(str(wanted))
    models.press("Enter")
    page.get_by_role("button", name=f"Run {wanted} models").click()
    page.wait_for_function("document.querySelector('.wide-meter').value > 20")
    page.get_by_role("button", name="Stop", exact=True).click()
    resume = page.get_by_role("button", name="Resume")
    left = resume.inner_text()
    missing = int(re.search(r"\d+", left)[0])
    assert 0 < missing < wanted
    page.reload()
    expect(resume).to_have_text(left)
    models.fill(str(wanted - missing + 5))
    models.press("Enter")
    page.get_by_role("button", name="Resume: 5 runs").click()
    page.get_by_text(f"All {wanted - missing + 5} models have voted.").wait_for()


def test_tabs_of_a_study_follow_each_other(page, context, study):
    page.goto(f"{study}/evidence")
    other = context.new_page()
    other.goto(f"{study}/evidence")
    seed, seen = page.get_by_label("Seed"), other.get_by_label("Seed")
    before = seed.input_value()
    seen.wait_for()
    seed.fill("77")
    seed.press("Enter")
    expect(seen).to_have_value("77")
    seed.fill(before)
    seed.press("Enter")
    expect(seen).to_have_value(before)


def test_typed_text_survives_a_cut_of_the_network_and_a_reload(page, context, study):
    page.goto(f"{study}/data")
    box = page.get_by_label("Or the path of a file on this machine")
    box.click()
    page.keyboard.type("/home/me/my ce")
    page.wait_for_function("window.did_handshake")
    lost = page.get_by_text("Connection lost")
    context.set_offline(True)
    page.evaluate("window.socket.io.engine.close()")  # as the operating system does when a network goes
    expect(lost).to_be_visible()
    page.keyboard.type("lls.csv")
    context.set_offline(False)
    expect(lost).to_be_hidden()
    expect(box).to_have_value("/home/me/my cells.csv")
    page.reload()
    expect(box).to_have_value("/home/me/my cells.csv")


def test_every_screen_is_reached_without_a_mouse(page, study):
    page.goto(f"{study}/data")
    page.get_by_role("heading", level=1).wait_for()
    for screen in SCREENS[1:]:
        link = page.locator(f"nav.screens a[href$='/{screen}']")
        link.focus()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/{screen}")
        expect(page.locator("nav.screens a[aria-current=page]")).to_have_attribute("href", re.compile(f"/{screen}$"))
        page.get_by_role("heading", level=1).wait_for()


@pytest.mark.parametrize("screen", ["", *SCREENS])
def test_accessible_and_no_wider_than_the_window(page, server, collected, check_access, screen):
    study = collected(page, "patients")
    page.goto(f"{study}/{screen}" if screen else server.base + "/")
    seen = {"data": ".preview td", "know": ".ag-row", "answer": ".curve", "evidence": "td .track"}
    page.locator(seen.get(screen, "h1")).first.wait_for()
    if screen == "answer":
        expect(page.locator(".members .waiting")).to_have_count(0)
        page.get_by_role("button", name="Ask me 10 questions").click()
        page.wait_for_selector(".card")
    check_access()


def test_the_token_opens_and_nothing_else_does(context, server):
    stranger = context.new_page()
    for path in ("/", "/s/a/data", "/s/a/features.json", "/s/a/know#token=wrong"):
        assert stranger.goto(server.base + path).status == 403
    stranger.get_by_role("heading", name="No access").wait_for()
    stranger.goto(f"{server.base}/#token={server.token}")
    stranger.get_by_role("heading", name="Your studies").wait_for()
    assert "token" not in stranger.url
    assert stranger.evaluate("document.cookie") == ""
    stranger.goto(f"{server.base}/#token={server.token}")  # once more, with the cookie
    stranger.wait_for_url(server.base + "/")


def test_the_browser_is_opened_by_a_page_that_only_this_user_can_read(context, tmp_path, monkeypatch):
    """Whoever lists the processes of the machine sees no token, and the page has it once."""
    opener = tmp_path / "opener"
    opener.write_text(f'#!/bin/sh\necho "$@" > {tmp_path / "part"}\nmv {tmp_path / "part"} {tmp_path / "arguments"}\n')
    opener.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{opener} %s")
    server = start_server(tmp_path / "studies", "--demo", with_browser=True)
    window = context.new_page()
    try:
        wait_until(window, (tmp_path / "arguments").is_file)
        address = (tmp_path / "arguments").read_text().strip()
        page = Path(unquote(urlsplit(address).path))
        assert server.token not in address
        assert server.token in page.read_text()
        assert [stat.S_IMODE(place.stat().st_mode) for place in (page, page.parent)] == [0o600, 0o700]
        asked = []
        context.on("request", lambda request: asked.append((request.url.partition("#")[0], request.headers)))
        window.goto(address)
        window.get_by_role("heading", name="What are your data?").wait_for()
        assert server.token not in str(asked)
        assert "referer" not in asked[1][1]
        assert not page.parent.exists()
        window.go_back()
        assert server.token not in window.url
    finally:
        stop_server(server)
    assert server.token not in (tmp_path / "studies.log").read_text()


def test_a_page_of_another_site_gets_no_connection(page, browser, server):
    cookie = next(each for each in page.context.cookies() if each["name"].startswith("ubayfs-"))
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    address = server.base.replace("http", "ws") + "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    script = """address => new Promise(done => { const socket = new WebSocket(address);
                socket.onopen = () => done("open"); socket.onerror = () => done("refused"); })"""
    page.goto(server.base + "/")
    assert page.evaluate(script, address) == "open"
    foreign = new_context(browser)
    foreign.add_cookies([cookie])
    elsewhere = foreign.new_page()
    elsewhere.route("http://localhost:1/*", lambda route: route.fulfill(body="<h1>evil</h1>", content_type="text/html"))
    elsewhere.goto("http://localhost:1/")
    assert elsewhere.evaluate(script, address) == "refused"
    foreign.close()


def test_the_tour_leads_through_the_screens(page, server):
    page.goto(server.base + "/")
    page.get_by_role("button", name="Take the tour with the demo study").click()
    page.get_by_role("heading", name="Step 1 of 6: Data").wait_for()
    page.locator(".tour").get_by_role("link", name="Next: What I know").click()
    page.get_by_role("heading", name="Step 2 of 6: What I know").wait_for()
    framed = page.locator(".tour-target")
    expect(framed).to_have_css("outline-style", "solid")
    there = page.url
    page.goto(f"{server.studies['cancer']}/know")  # a study of one's own
    expect(page.locator(".tour")).to_be_attached()
    expect(page.locator(".tour")).to_be_hidden()
    expect(framed).to_have_css("outline-style", "none")
    page.goto(there.replace("/know", "/versions"))
    page.get_by_role("link", name="End the tour").click()
    page.get_by_role("button", name="New study").wait_for()
    page.goto(there)
    expect(page.locator(".tour")).to_be_attached()
    expect(page.locator(".tour")).to_be_hidden()
