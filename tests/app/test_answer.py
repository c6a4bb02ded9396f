"""Answer and Versions in a real browser: a change of mind, questions by keys, sizes, versions, exports."""

import zipfile

import pandas as pd
import pytest


@pytest.fixture
def answered(page, collected):
    """The address of a small study whose models have voted, and whose knowledge is confirmed."""
    return collected(page, "patients")


@pytest.fixture
def answer(page, answered):
    """The page Answer, with all edits of earlier tests undone."""
    opened = page
    opened.goto(f"{answered}/answer")
    opened.wait_for_selector("table.members")
    while opened.locator("#undo").is_enabled():
        before = opened.locator("#undo").get_attribute("title")
        opened.locator("#undo").click()
        opened.wait_for_function("before => document.getElementById('undo').title !== before", arg=before)
    ready(opened)
    return opened


def ready(page):
    """Wait until the answer is that of the present state, with reasons and substitutes."""
    page.wait_for_function(
        "() => !document.querySelector('.lead').textContent.startsWith('Your change')"
        " && document.querySelector('table.members') && !document.querySelector('.members .waiting')"
    )


def chosen(page):
    return sorted(page.locator("table.members tbody tr").evaluate_all("rows => rows.map(r => r.dataset.feature)"))


def say(page, feature, word):
    """Choose a word in the row of a feature, by the keyboard's way: the list has the focus."""
    box = page.get_by_label(f"What you say of {feature}", exact=True)
    box.focus()
    box.select_option(word)
    page.wait_for_selector(f".since:has-text('{feature}: {word}')")


def test_a_change_of_mind_changes_the_set_and_undo_takes_it_back(answer):
    before = chosen(answer)
    assert len(before) == 3
    weakest = answer.locator("table.members tbody tr").last.get_attribute("data-feature")
    say(answer, weakest, "unlikely")
    ready(answer)
    after = chosen(answer)
    (new,) = set(after) - set(before)
    assert set(before) - set(after) == {weakest}
    since = answer.locator(".since")
    assert since.locator(".added").inner_text().endswith(new)
    assert since.locator(".removed").inner_text().endswith(weakest)
    assert f"{weakest}: unlikely" in since.locator(".reason").inner_text()
    assert answer.locator(f"tr.new[data-feature='{new}']").count() == 1
    answer.locator("h1").click()
    answer.keyboard.press("Control+z")
    answer.wait_for_selector(f".since .added:has-text('{weakest}')")
    assert chosen(answer) == before


def test_the_row_keeps_the_focus_and_shows_why(answer):
    first = answer.locator("table.members tbody tr").first
    name = first.get_attribute("data-feature")
    say(answer, name, "very likely")
    ready(answer)
    answer.wait_for_function("name => document.activeElement.dataset.feature === name", arg=name)
    assert first.locator("svg.votes").get_attribute("aria-label").endswith("and a weight of 20")
    assert first.locator(".badge").first.inner_text() in ("data", "prior", "constraints")
    assert "costs" in first.locator("td").last.inner_text()
    assert answer.get_by_text("holds", exact=True).count() >= 1
    answer.keyboard.press("Control+z")  # the list has the focus
    answer.wait_for_selector(".since:has-text('undo')")


def test_the_size_follows_the_slider_and_has_a_score_at_each_size(answer):
    answer.wait_for_selector("svg.curve")
    answer.get_by_label("At most").focus()
    answer.keyboard.press("ArrowRight")
    answer.wait_for_selector("h1:has-text('4 of 8 features')")
    assert len(chosen(answer)) == 4
    assert "At most 4 features" in answer.locator(".since").inner_text()
    answer.wait_for_selector("svg.curve[aria-label*='it is 4 now']")
    answer.get_by_text("Numbers").click()
    scores = answer.locator(".report details td.number").all_inner_texts()
    assert [float(score) for score in scores] == sorted(float(score) for score in scores)


def test_questions_are_answered_by_keys(answer):
    answer.get_by_role("button", name="Ask me 10 questions").click()
    answer.wait_for_selector(".card")
    title = answer.locator(".card h3").inner_text()
    feature = title.removeprefix("Does ").removesuffix(" matter?")
    word = answer.locator(".card .badge").inner_text()
    answer.keyboard.press({"unlikely": "4", "likely": "2"}[word])
    answer.wait_for_selector(f".since:has-text('{feature}: {word}')")
    assert answer.locator(".since .added, .since .removed").count() == 2
    answer.wait_for_selector(".card:has-text('Question 2 of 10')")
    skipped = answer.locator(".card h3").inner_text()
    assert skipped != title
    answer.keyboard.press("0")
    answer.wait_for_function(
        "title => document.querySelector('.questions').textContent.indexOf(title) < 0", arg=skipped
    )


def test_names_are_escaped_and_a_wrong_one_is_refused_in_place(answer):
    answer.get_by_label("Feature", exact=True).fill("crpp")
    answer.get_by_role("button", name="State it").click()
    answer.wait_for_selector(".notice.error:has-text('crp')")
    answer.get_by_label("Feature", exact=True).fill("<b>ldh</b>")
    answer.get_by_label("What you say of it").select_option("very likely")
    answer.get_by_role("button", name="State it").click()
    answer.wait_for_selector("table.members tr[data-feature='<b>ldh</b>']")
    assert "<b>ldh</b>" in answer.locator("table.members").inner_text()


def test_versions_are_saved_compared_and_gone_back_to(answer, answered):
    before = chosen(answer)
    weakest = answer.locator("table.members tbody tr").last.get_attribute("data-feature")
    answer.goto(f"{answered}/versions")
    answer.get_by_label("Name", exact=True).fill("Before the meeting")
    answer.get_by_role("button", name="Save", exact=True).click()
    answer.wait_for_selector(".notice.success:has-text('Before the meeting')")
    answer.goto(f"{answered}/answer")
    ready(answer)
    say(answer, weakest, "unlikely")
    ready(answer)
    after = chosen(answer)
    answer.goto(f"{answered}/versions")
    answer.get_by_role("button", name="Compare", exact=True).click()
    answer.wait_for_selector("strong:has-text('2 features stay, 1 added, 1 removed.')")
    row = answer.locator(f"tr:has(th:text-is('{weakest}'))")
    assert row.locator("td").last.inner_text() == "prior"
    answer.get_by_role("button", name="Go back to version").first.click()
    answer.wait_for_selector(".notice.success")
    answer.goto(f"{answered}/answer")
    answer.wait_for_selector(f".members tr[data-feature='{weakest}']")
    assert chosen(answer) == before != after


def test_every_export_is_downloaded(answer, answered, tmp_path):
    answer.goto(f"{answered}/versions")
    files = {}
    for kind in ("study", "report", "excel", "results", "script"):
        with answer.expect_download() as waiting:
            answer.locator(f"[data-export={kind}]").last.click()
        files[kind] = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(files[kind])
    assert "max_size" in files["study"].read_text()
    assert "<html" in files["report"].read_text()[:200]
    assert len(pd.read_excel(files["excel"])) == 3
    assert "results/manifest.json" in zipfile.ZipFile(files["results"]).namelist()
    compile(files["script"].read_text(), "script", "exec")
