"""What I know, and Rules, in Chromium: grid, keyboard, lists, files, forms of every kind, contradictions."""

import re

import pandas as pd
import pytest

from app_studies import GENES, HTML, LONG, RIGHT_TO_LEFT
from browsing import expect
from ubayfs.constraints import KINDS

pytest.importorskip("nicegui")


@pytest.fixture
def at(page, server):
    """Function that opens a screen of the study and waits until its features are known."""
    opened = page

    def go(screen):
        opened.goto(f"{server.studies['laboratory']}/{screen}")
        known = ".ag-row" if screen == "know" else ".status:has-text('Up to date')"
        opened.wait_for_selector(known)
        return opened

    return go


def row(page, name):
    """Return the row of a feature, brought into sight by the search."""
    page.locator("[data-search]").fill(name)
    found = page.locator(f".ag-row[row-id='{GENES.index(name)}']")
    found.wait_for()
    return found


def stated(page, word, features):
    """Wait until the summary states a word of features."""
    page.locator("ul.stated li", has=page.locator(f".badge.{word}")).filter(has_text=features).wait_for()


def test_words_by_keys_and_search_without_a_mouse(at):
    page = at("know")
    page.keyboard.press("/")
    page.keyboard.type("gene_29")
    page.get_by_text("11 of 305 shown").wait_for()
    page.keyboard.press("ArrowDown")
    for key, word in enumerate(("very-likely", "likely", "neutral", "unlikely"), start=1):
        page.keyboard.press(str(key))
        stated(page, word, "gene_29")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("2")
    stated(page, "likely", "gene_290")
    page.keyboard.press("0")
    page.locator("ul.stated", has_text="gene_290").wait_for(state="detached")
    page.keyboard.press("Control+z")
    stated(page, "likely", "gene_290")


def test_votes_and_reasons_in_the_grid_and_for_a_selection(at):
    page = at("know")
    cell = row(page, "gene_40").locator("[col-id=w]")
    cell.dblclick()
    page.keyboard.type("lkely")
    page.keyboard.press("Enter")
    page.locator(".messages .error", has_text="Did you mean 'likely'?").wait_for()
    expect(cell).to_have_text("")
    cell.dblclick()
    page.keyboard.type("2,5")
    page.keyboard.press("Enter")
    stated(page, "votes", "gene_40 (2.5)")
    page.locator("[data-search]").fill("gene_5")
    page.get_by_text("11 of 305 shown").wait_for()
    page.locator(".ag-header input[type=checkbox]").first.check()
    page.locator("#state .why").fill("seen in 2019")
    page.get_by_role("button", name="Very likely").click()
    stated(page, "very-likely", "11 features")
    trust = page.get_by_label("Use them")
    trust.select_option(label="as far as the votes agree (recommended)")
    page.locator("select:has(option:checked:text-is('as far as the votes agree (recommended)'))").wait_for()
    expect(row(page, "gene_57").locator("[col-id=y]")).to_have_text("seen in 2019")
    page.get_by_label("Which features are shown").select_option("none")
    page.get_by_text("0 of 305 shown").wait_for()


def test_a_pasted_list_is_grouped_and_used_as_one_edit(at):
    page = at("know")
    page.locator("[data-draft=pasted]").fill(f"gene_70, GENE_71\n2-Sep; nothing12\n{RIGHT_TO_LEFT}")
    page.locator("[data-keep=check-names]").click()
    found = page.get_by_role("region", name="What was found")
    found.get_by_text("the list: 2 features found").wait_for()
    expect(found.get_by_label("2-Sep").locator("option:checked")).to_have_text("SEPTIN2")
    found.get_by_label("GENE_71").select_option(label="gene_71")
    found.get_by_text("nothing12").first.wait_for()
    found.get_by_label("State of them").select_option(label="unlikely")
    page.locator("[data-keep=use-found]").click()
    page.get_by_text("4 features of the list stated").wait_for()
    stated(page, "unlikely", "SEPTIN2")
    page.locator("#undo").click()
    expect(page.locator("ul.stated", has_text="gene_70")).to_have_count(0)
    expect(page.locator("ul.stated", has_text="SEPTIN2")).to_have_count(0)


def test_names_of_a_list_that_differ_in_capitals_are_meant_and_the_list_is_used_up(at):
    page = at("know")
    pasted = page.locator("[data-draft=pasted]")
    pasted.fill("GENE_75, Gene 76, gene_705")
    page.locator("[data-keep=check-names]").click()
    found = page.get_by_role("region", name="What was found")
    expect(found.get_by_label("GENE_75").locator("option:checked")).to_have_text("gene_75")
    expect(found.get_by_label("gene_705").locator("option:checked")).to_have_text("leave it out")
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.locator("[data-keep=use-found]").click()
    page.get_by_text("of the list stated").wait_for()
    page.wait_for_function(
        "document.querySelector('.messages').getBoundingClientRect().top >= document.querySelector('.top').offsetHeight"
    )
    expect(pasted).to_have_value("")
    page.locator("#undo").click()
    page.locator("ul.stated", has_text="gene_75").wait_for(state="detached")


def test_a_spreadsheet_and_gene_sets(at, tmp_path):
    page = at("know")
    table = {"gene": ["gene_80", "gene_81", "gene_82"], "weight": ["likely", 7, "often"], "why": ["paper", None, None]}
    pd.DataFrame(table).to_excel(tmp_path / "known.xlsx", index=False)
    page.set_input_files("input[type=file]", tmp_path / "known.xlsx")
    page.get_by_text("got 'often'").wait_for()
    page.locator("[data-keep=use-found]").click()
    stated(page, "votes", "gene_81 (7)")
    (tmp_path / "sets.gmt").write_text("P53\tx\tTP53\tMDM2\nRAS\tx\tgene_90\tgene_91\n", encoding="utf-8")
    page.set_input_files("input[type=file]", tmp_path / "sets.gmt")
    page.get_by_label("RAS (2 features)").check()
    page.locator("[data-keep=use-blocks]").click()
    page.get_by_text("RAS: 2 features").wait_for()
    expect(page.get_by_text("tens: 10 features")).to_be_visible()  # a pattern
    page.set_input_files("input[type=file]", tmp_path / "sets.gmt")
    page.locator("[data-keep=use-found]").click()
    page.locator(".messages .error", has_text="tick gene sets first").wait_for()
    page.get_by_label("P53 (1 feature)").check()
    page.locator("[data-keep=use-found]").click()
    stated(page, "likely", "TP53")


def test_two_experts_state_words_at_once_and_see_votes_after_their_own_confirmation(page, context, server):
    study, windows = server.studies["cancer"], {"Ann": page, "Bob": context.new_page()}
    for (name, window), key in zip(windows.items(), "14", strict=True):
        window.goto(f"{study}/know")
        window.get_by_label("You are").fill(name)
        window.get_by_label("You are").press("Enter")
        window.wait_for_url(f"**/know?expert={name}")
        window.locator(".ag-row [col-id=n]").first.click()
        window.keyboard.press(key)
    stated(page, "very-likely", "1 feature: mean radius")
    stated(windows["Bob"], "unlikely", "1 feature: mean radius")
    page.locator("[data-keep=confirm]").click()
    page.get_by_text("and what you change from now on is marked").wait_for()
    page.get_by_text("They differ on 1 feature").wait_for()
    windows["Bob"].get_by_text("Ann (confirmed)").wait_for()  # he knows that, and no more
    expect(windows["Bob"].locator("[data-keep=confirm]")).to_be_visible()
    expect(windows["Bob"].get_by_text("They differ")).to_have_count(0)
    windows["Bob"].get_by_role("link", name="Evidence").click()
    windows["Bob"].get_by_text("Votes stay hidden").wait_for()
    page.keyboard.press("Control+z")  # her word, not his
    page.get_by_text("every feature is neutral").wait_for()
    rows = page.request.get(f"{study}/features.json?expert=Bob").json()
    assert rows["stated"] == {"0": ["unlikely", ""]}


# -- rules -------------------------------------------------------------------------------------------------------------


def fill_rule(page, kind, values):
    """Fill in the form of a kind and send it; lists are names."""
    page.get_by_label("Kind of rule").select_option(label=KINDS[kind].meaning)
    form = page.locator("section", has=page.get_by_label("Kind of rule"))
    page.locator(f".form-start[data-kind={kind}]").wait_for()
    for label, value in values.items():
        box = form.get_by_label(label, exact=True)
        for name in value if isinstance(value, list) else []:
            box.fill(name)
            box.press("Enter")
            form.get_by_role("button", name=f"Remove {name}", exact=True).wait_for()
        if isinstance(value, str) and box.evaluate("box => box.tagName") == "SELECT":
            box.select_option(label=value)
        elif isinstance(value, str):
            box.fill(value)
    page.locator("[data-keep=rule-save]").click()


def remove_last(page):
    """Remove the last rule."""
    n = page.locator(".rules > li").count()
    page.locator(f"[data-keep=rule-{n - 1}-remove]").click()
    page.locator(".rules > li").nth(n - 1).wait_for(state="detached")


# A kind for each sort of input; tests/app/test_forms.py has every kind.
FORMS = {
    "max_size": ({"Number": "7", "Meant as": "must hold"}, "At most 7 features", "must"),
    "must_link": (
        {"About": "blocks", "Features": ["first", "second"]}, "All or none of the blocks first", "2 conditions",
    ),
    "at_least_one": (
        {"Features": ["gene_1*"], "Meant as": "wish with a price"}, "At least one of gene_1*", "costs 4 of 20 votes",
    ),
    "require": ({"Features": [HTML, LONG, RIGHT_TO_LEFT]}, "\\u202eevil", "must; 3 conditions"),
    "decorrelate": ({"Correlation above": "0.7"}, "Spearman correlation above 0.7", "the stronger the correlation"),
    "cost_budget": (
        {"Costs: a name or pattern and a number per line": "gene_1 2\ngene_2? 3", "Budget": "4",
         "Cost of each other feature": "0"}, "gene_1 2, gene_2? 3 and each other feature 0", "must",
    ),
}  # fmt: skip


def test_rules_are_added_by_forms(at):
    page = at("rules")
    n_rules = page.locator(".rules > li").count()
    for kind, (values, says, meant) in FORMS.items():
        fill_rule(page, kind, values)
        added = page.locator(".rules > li").nth(n_rules)
        added.locator(".says", has_text=says).wait_for()
        added.locator(".about", has_text=meant).wait_for()
        remove_last(page)
    assert page.evaluate("window.bad") is None


def test_a_pasted_list_of_lines_is_taken_by_a_box_for_names(at):
    page = at("rules")
    page.get_by_label("Kind of rule").select_option(label=KINDS["require"].meaning)
    box = page.get_by_label("Features", exact=True)
    box.press_sequentially("gene_29")
    page.wait_for_function("document.querySelectorAll('.form-start datalist option').length === 11")
    box.fill("")
    box.evaluate(
        """(box, text) => { const clipboardData = new DataTransfer(); clipboardData.setData("text", text);
        box.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true })); }""",
        "gene_3\ngene_4 gene_5\ngene_99?\ngene_1?\n",
    )
    box.press("Enter")
    expect(page.locator(".chips button")).to_have_text(["gene_3", "gene_4", "gene_5", "gene_1?"])
    expect(page.locator(".field", has=box).locator(".error")).to_contain_text("gene_99?")
    expect(box).to_have_value("gene_99?")


def test_a_rule_is_changed_switched_off_and_what_is_wrong_stands_at_its_field(at):
    page = at("rules")
    first = page.locator(".rules > li").first
    page.locator("[data-keep=rule-0-change]").click()
    page.locator("[data-keep=rule-save]", has_text="Change rule 1").wait_for()
    number = page.locator("[data-keep=form-n]")
    number.fill("ten")
    page.locator("[data-keep=rule-save]").click()
    page.locator(".field", has=number).locator(".error", has_text="must be").wait_for()
    number.fill("9")
    page.locator("[data-keep=rule-save]").click()
    first.locator(".says", has_text="At most 9 features").wait_for()
    page.locator("[data-keep=rule-0-strictness]").select_option(label="wish with a price")
    first.locator(".about", has_text="costs 4 of 20 votes").wait_for()
    page.locator("[data-keep=rule-0-amount]").fill("-1")
    page.locator("[data-keep=rule-0-amount]").press("Enter")
    first.locator(".error", has_text="must be").wait_for()
    page.locator("[data-keep=rule-0-on]").focus()
    page.keyboard.press("Space")
    page.locator(".rules > li.off").first.wait_for()
    page.wait_for_function("document.activeElement.dataset.keep === 'rule-0-on'")
    page.keyboard.press("Space")
    page.locator(".rules > li.off").wait_for(state="detached")


def test_contradictions_name_their_rules_at_once(at, check_access):
    page = at("rules")
    n = page.locator(".rules > li").count()
    fill_rule(page, "require", {"Features": ["gene_7"]})
    page.locator(".rules > li").nth(n).wait_for()
    fill_rule(page, "exclude", {"Features": ["gene_7"]})
    page.locator(".rules > li").nth(n + 1).locator(".contradicts", has_text=f"rule {n + 1}.").wait_for()
    page.locator(".rules > li").nth(n).locator(".contradicts", has_text=f"rule {n + 2}.").wait_for()
    check_access()
    remove_last(page)
    page.locator(".contradicts").first.wait_for(state="detached")
    remove_last(page)


def test_the_penalty_curve_follows_the_price(at):
    page = at("rules")
    curve, price = page.locator("svg.penalty"), page.locator("[data-keep=form-amount]")

    def votes(label):
        """Return what violations by 1, 2 ... cost."""
        return [float(found) for found in re.findall(r"violated by [1-9]: ([\d.e-]+)", label)]

    page.locator("[data-keep=form-strictness]").select_option(label="wish with a price")
    price.wait_for()
    page.get_by_text("A violation by 1 costs 4 votes").wait_for()
    first = curve.get_attribute("aria-label")
    price.fill("18")
    page.get_by_text("A violation by 1 costs 18 votes").wait_for()
    expect(curve).not_to_have_attribute("aria-label", first)
    higher = votes(curve.get_attribute("aria-label"))
    assert higher[1] > higher[0] == 18 > votes(first)[0] == 4
    page.locator("[data-keep=form-strictness]").select_option(label="must hold")
    page.get_by_text("It is never violated").wait_for()
    expect(curve).to_have_count(0)
