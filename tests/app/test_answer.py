"""Answer and Versions in a real browser: a change of mind, questions by keys, sizes, versions, exports."""

import re
import zipfile

import pandas as pd

from browsing import expect


def members(page):
    return page.locator("table.members tbody tr")


def chosen(page):
    return sorted(members(page).evaluate_all("rows => rows.map(r => r.dataset.feature)"))


def say(page, feature, word):
    """Choose a word in the row of a feature, by the keyboard's way: the list has the focus."""
    box = page.get_by_label(f"What you say of {feature}", exact=True)
    box.focus()
    box.select_option(word)
    expect(page.locator(".since")).to_contain_text(f"{feature}: {word}")


def test_a_change_of_mind_changes_the_set_and_undo_takes_it_back(answer, ready):
    before = chosen(answer)
    assert len(before) == 3
    weakest = members(answer).last.get_attribute("data-feature")
    say(answer, weakest, "unlikely")
    own = answer.locator(f".members tr[data-feature='{weakest}']")
    expect(own).to_have_count(0)
    ready()
    after = chosen(answer)
    (new,) = set(after) - set(before)
    assert set(before) - set(after) == {weakest}
    since = answer.locator(".since")
    expect(since.locator(".added")).to_have_text(f"added {new}")
    expect(since.locator(".removed")).to_have_text(f"removed {weakest}")
    expect(since.locator(".reason")).to_contain_text(f"{weakest}: unlikely")
    expect(answer.locator(f"tr.new[data-feature='{new}']")).to_have_count(1)
    answer.locator("h1").click()
    answer.keyboard.press("Control+z")
    expect(since.locator(".added")).to_contain_text(weakest)
    expect(own).to_be_visible()
    assert chosen(answer) == before


def test_the_set_is_named_at_the_top(answer):
    named = answer.locator(".names").inner_text()
    assert sorted(re.split(", | and ", named)) == sorted(chosen(answer))


def test_the_row_keeps_the_focus_and_shows_why(answer):
    first = members(answer).first
    name = first.get_attribute("data-feature")
    say(answer, name, "very likely")
    expect(answer.get_by_label(f"What you say of {name}", exact=True)).to_be_focused()
    expect(first.locator(".track")).to_have_attribute("aria-label", re.compile("and a weight of 20$"))
    expect(first.locator(".badge").first).to_have_text(re.compile("^(data|rule|weight|fill)$"))
    expect(first.locator("td").last).to_contain_text("costs")
    expect(answer.get_by_text("holds", exact=True).first).to_be_visible()
    answer.keyboard.press("Control+z")  # the list has the focus
    expect(answer.locator(".since")).to_contain_text("undo")


def test_the_size_follows_the_slider_and_has_a_score_at_each_size(answer):
    answer.wait_for_selector("svg.curve")
    answer.get_by_label("At most").focus()
    answer.keyboard.press("ArrowRight")
    expect(answer.locator("h1")).to_contain_text("4 of 8 features")
    expect(members(answer)).to_have_count(4)
    expect(answer.locator(".since")).to_contain_text("At most 4 features")
    answer.wait_for_selector("svg.curve[aria-label*='it is 4 now']")
    thumb = answer.get_by_label("At most").evaluate(
        "b => b.getBoundingClientRect().left + 8 + (b.offsetWidth - 16) * (b.value - b.min) / (b.max - b.min)"
    )
    mark = answer.locator("svg.curve circle").evaluate(
        "c => { const r = c.getBoundingClientRect(); return r.x + r.width / 2; }"
    )
    assert abs(mark - thumb) < 2  # one axis for both
    answer.get_by_text("Numbers").click()
    scores = answer.locator(".report details td.number").all_inner_texts()
    assert [float(score) for score in scores] == sorted(float(score) for score in scores)


def test_each_member_has_a_plot_and_figures_are_drawn_on_request(answer):
    plots = answer.locator(".plates svg")
    expect(plots.first).to_be_visible()
    features = answer.locator(".plates figcaption strong").all_inner_texts()
    assert sorted(features) == chosen(answer)
    words = members(answer).first.locator(".why").first
    expect(words).to_have_text(re.compile("^(higher in|no clear difference|U-shaped)"))
    expect(answer.get_by_role("img", name="Heat map of")).to_be_visible()
    answer.get_by_role("button", name="Evidence", exact=True).click()
    expect(answer.locator("figure img")).to_have_attribute("alt", re.compile("."))


def test_questions_are_answered_by_keys(answer):
    answer.get_by_role("button", name="Ask me 10 questions").click()
    answer.wait_for_selector(".card")
    title = answer.locator(".card h3").inner_text()
    feature = title.removeprefix("Does ").removesuffix(" matter?")
    word = answer.locator(".card .badge").inner_text()
    answer.keyboard.press({"unlikely": "4", "likely": "2"}[word])
    answer.wait_for_selector(f".since:has-text('{feature}: {word}')")
    expect(answer.locator(".since .added, .since .removed")).to_have_count(2)
    second = answer.locator(".card", has_text="Question 2 of 10")
    skipped = second.locator("h3").inner_text()
    assert skipped != title
    answer.keyboard.press("0")
    expect(answer.locator(".questions")).not_to_contain_text(skipped)


def test_names_are_escaped_and_a_wrong_one_is_refused_in_place(answer):
    box = answer.get_by_label("Features", exact=True)
    box.fill("crpp")
    box.press("Enter")
    answer.locator(".field", has=box).locator(".error", has_text="The nearest names are crp").wait_for()
    box.fill("<b>ld*")
    box.press("Enter")
    answer.get_by_label("What you say of them").select_option("very likely")
    answer.get_by_role("button", name="State it").click()
    answer.wait_for_selector("table.members tr[data-feature='<b>ldh</b>']")
    expect(answer.locator("table.members")).to_contain_text("<b>ldh</b>")


def test_versions_are_saved_compared_and_gone_back_to(answer, answered, ready):
    before = chosen(answer)
    weakest = members(answer).last.get_attribute("data-feature")
    answer.goto(f"{answered}/versions")
    answer.get_by_label("Name", exact=True).fill("Before the meeting")
    answer.get_by_role("button", name="Save", exact=True).click()
    answer.wait_for_selector(".notice.success:has-text('Before the meeting')")
    side_by_side = answer.locator("table", has_text="Answers side by side").locator("tbody tr")
    expect(side_by_side.first).to_contain_text("the present answer")
    expect(side_by_side.last).to_contain_text("Before the meeting")
    expect(side_by_side.last.locator("td").first).to_have_text("3")
    answer.goto(f"{answered}/answer")
    ready()
    say(answer, weakest, "unlikely")
    expect(answer.locator(f".members tr[data-feature='{weakest}']")).to_have_count(0)
    answer.goto(f"{answered}/versions")
    answer.get_by_role("button", name="Compare", exact=True).click()
    answer.wait_for_selector("strong:has-text('2 features are in both sets, 1 added, 1 removed')")
    row = answer.locator(f"tr:has(th :text-is('{weakest}'))")
    expect(row.locator("td").last).to_have_text("prior")
    answer.get_by_role("button", name="Go back to version").first.click()
    answer.wait_for_selector(".notice.success")
    answer.goto(f"{answered}/answer")
    expect(answer.locator(f".members tr[data-feature='{weakest}']")).to_be_visible()
    assert chosen(answer) == before


def test_every_export_is_downloaded(answer, answered, tmp_path):
    answer.goto(f"{answered}/versions")
    files = {}
    for kind in ("study", "report", "excel", "zip"):
        with answer.expect_download() as waiting:
            answer.locator(f"[data-export={kind}]").last.click()
        files[kind] = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(files[kind])
    assert "max_size" in files["study"].read_text()
    assert "<html" in files["report"].read_text()[:200]
    assert len(pd.read_excel(files["excel"])) == 3
    names = [name.partition("/")[2] for name in zipfile.ZipFile(files["zip"]).namelist()]
    assert {"manifest.json", "repeat.py", "study.yaml", "report.html", "report.xlsx"} <= set(names)
