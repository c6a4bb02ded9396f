"""What I know, and Rules, in Chromium: grid, keyboard, lists, files, forms of every kind, contradictions."""

import re

import numpy as np
import pandas as pd
import pytest

from ubayfs.constraints import KINDS

pytest.importorskip("nicegui")
AXE = pytest.importorskip("axe_playwright_python.sync_playwright", reason='pip install "ubayfs[browser]"')

HTML, RIGHT_TO_LEFT, LONG = "<b>bold</b><script>window.bad = 1</script>", "\u202eevil\u05d0\u05d1", "L" * 500
NAMES = [*(f"gene_{i}" for i in range(300)), "SEPTIN2", "TP53", HTML, RIGHT_TO_LEFT, LONG]


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory, start):
    """A server with a study of features that have ordinary and odd names."""
    folder = tmp_path_factory.mktemp("laboratory")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, len(NAMES)))
    pd.DataFrame(X, columns=NAMES).assign(outcome=X[:, 0] > 0).to_parquet(folder / "cells.parquet")
    (folder / "study.yaml").write_text(
        "data: {path: cells.parquet, target: outcome}\nevidence: {n_models: 20}\n"
        "blocks: {first: [gene_0, gene_1], second: [gene_2]}\nconstraints: [max_size: 10]\n",
        encoding="utf-8",
    )
    return start(folder / "studies", folder / "study.yaml")


@pytest.fixture
def at(context, laboratory):
    """Function that opens a screen of the study and waits until its features are known."""
    opened = context.new_page()
    opened.goto(f"{laboratory.base}/?token={laboratory.token}")
    opened.wait_for_selector("h1")

    def go(screen):
        opened.goto(f"{laboratory.base}{laboratory.path.rpartition('/')[0]}/{screen}")
        known = ".ag-row" if screen == "know" else ".rules .about:has-text('inequalit')"
        opened.wait_for_selector(known, timeout=60_000)
        return opened

    return go


def row(page, name):
    """Return the row of a feature, brought into sight by the search."""
    page.locator("[data-search]").fill(name)
    found = page.locator(f".ag-row[row-id='{NAMES.index(name)}']")
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
    assert cell.inner_text() == ""
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
    assert row(page, "gene_57").locator("[col-id=y]").inner_text() == "seen in 2019"
    page.get_by_label("Which features are shown").select_option("none")
    page.get_by_text("0 of 305 shown").wait_for()


def test_a_pasted_list_is_grouped_and_used_as_one_edit(at):
    page = at("know")
    page.locator("[data-draft=pasted]").fill(f"gene_70, GENE_71\n2-Sep; nothing12\n{RIGHT_TO_LEFT}")
    page.locator("[data-key=check-names]").click()
    found = page.get_by_role("region", name="What was found")
    found.get_by_text("the list: 2 features found").wait_for()
    assert found.get_by_label("2-Sep").locator("option:checked").inner_text() == "SEPTIN2"
    found.get_by_label("GENE_71").select_option(label="gene_71")
    found.get_by_text("nothing12").first.wait_for()
    found.get_by_label("State of them").select_option(label="unlikely")
    page.locator("[data-key=use-found]").click()
    page.get_by_text("4 features of the list stated").wait_for()
    stated(page, "unlikely", "SEPTIN2")
    page.locator("#undo").click()
    page.locator("ul.stated", has_text="gene_70").wait_for(state="detached")
    assert page.locator("ul.stated", has_text="SEPTIN2").count() == 0


def test_a_spreadsheet_and_gene_sets(at, tmp_path):
    page = at("know")
    table = {"gene": ["gene_80", "gene_81", "gene_82"], "weight": ["likely", 7, "often"], "why": ["paper", None, None]}
    pd.DataFrame(table).to_excel(tmp_path / "known.xlsx", index=False)
    page.set_input_files("input[type=file]", tmp_path / "known.xlsx")
    page.get_by_text("got 'often'").wait_for()
    page.locator("[data-key=use-found]").click()
    stated(page, "votes", "gene_81 (7)")
    (tmp_path / "sets.gmt").write_text("P53\tx\tTP53\tMDM2\nRAS\tx\tgene_90\tgene_91\n", encoding="utf-8")
    page.set_input_files("input[type=file]", tmp_path / "sets.gmt")
    page.get_by_label("RAS (2 features)").check()
    page.locator("[data-key=use-blocks]").click()
    page.get_by_text("RAS: 2 features").wait_for()
    page.set_input_files("input[type=file]", tmp_path / "sets.gmt")
    page.locator("[data-key=use-found]").click()
    page.locator(".messages .error", has_text="tick gene sets first").wait_for()
    page.get_by_label("P53 (1 feature)").check()
    page.locator("[data-key=use-found]").click()
    stated(page, "likely", "TP53")


def test_odd_names_are_shown_as_they_are_and_harm_nothing(at):
    page = at("know")
    for name in (HTML, LONG):
        row(page, name).locator("[col-id=n]").click()
        page.keyboard.press("3")
        stated(page, "neutral", name[:30])
    page.locator("[data-search]").fill("evil")
    assert page.locator(".ag-row [col-id=n]").first.evaluate("cell => getComputedStyle(cell).unicodeBidi") == "isolate"
    page = at("rules")
    n_before = page.locator(".rules > li").count()
    fill_rule(page, "require", {"Features": [HTML, LONG, RIGHT_TO_LEFT]})
    page.locator(".rules > li").nth(n_before).wait_for()
    assert "\\u202eevil" in page.locator(".rules .says").last.inner_text()
    assert page.evaluate("window.bad") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    remove_last(page)


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
    page.locator("[data-key=rule-save]").click()


def remove_last(page):
    """Remove the last rule."""
    n = page.locator(".rules > li").count()
    page.locator(f"[data-key=rule-{n - 1}-remove]").click()
    page.locator(".rules > li").nth(n - 1).wait_for(state="detached")


FORMS = {
    "min_size": ({"Number": "2", "Price of one violation": "0.5"}, "At least 2 features", "costs 10 of 20 votes"),
    "exact_size": ({"Number": "5"}, "Exactly 5 features", "2 inequalities"),
    "max_size": ({"Number": "7", "Meant as": "must hold"}, "At most 7 features", "must; 1 inequality"),
    "max_per_block": ({"Number": "1", "Blocks (empty: all)": ["first"]}, "At most 1 feature of first, each", "1 ineq"),
    "max_per_cluster": ({"Number": "2"}, "At most 2 features of each cluster", "wish"),
    "max_blocks": ({"Number": "2"}, "Features of at most 2 blocks", "1 inequality"),
    "must_link": ({"About": "blocks", "Features": ["first", "second"]}, "All or none of the blocks first", "2 ineq"),
    "cannot_link": ({"Features": ["gene_1", "gene_2", "gene_3"]}, "At most one of gene_1, gene_2", "1 inequality"),
    "implies": (
        {"If one of these is selected": ["gene_1"], "then all of these must be": ["gene_2", "gene_3"]},
        "gene_1 only with gene_2 and gene_3", "2 inequalities",
    ),
    "at_least_one": ({"Features": ["gene_1*"]}, "At least one of gene_1*", "1 inequality"),
    "require": ({"Features": ["gene_1"]}, "With gene_1", "must; 1 inequality"),
    "exclude": ({"Features": ["gene_4"], "Meant as": "wish with a price"}, "Without gene_4", "costs 4 of 20 votes"),
    "decorrelate": ({"Correlation above": "0.7"}, "Spearman correlation above 0.7", "the stronger the correlation"),
    "cost_budget": (
        {"Costs: a name and a number per line": "gene_1 2\ngene_2 3", "Budget": "4"}, "Total cost at most 4", "1 ineq",
    ),
    "linear": (
        {"Coefficients: a name and a number per line": "gene_1 2\ngene_2 -1", "Sum at most": "1"},
        "2 gene_1 - gene_2 at most 1", "1 inequality",
    ),
}  # fmt: skip


def test_every_kind_of_rule_has_a_form(at):
    assert set(FORMS) == set(KINDS)
    page = at("rules")
    n_rules = page.locator(".rules > li").count()
    for kind, (values, says, meant) in FORMS.items():
        fill_rule(page, kind, values)
        added = page.locator(".rules > li").nth(n_rules)
        added.locator(".says", has_text=says).wait_for()
        added.locator(".about", has_text=meant).wait_for()
        remove_last(page)


def test_a_rule_is_changed_switched_off_and_what_is_wrong_stands_at_its_field(at):
    page = at("rules")
    first = page.locator(".rules > li").first
    page.locator("[data-key=rule-0-change]").click()
    page.locator("[data-key=rule-save]", has_text="Change rule 1").wait_for()
    number = page.locator("[data-key=form-n]")
    number.fill("ten")
    page.locator("[data-key=rule-save]").click()
    page.locator(".field", has=number).locator(".error", has_text="must be").wait_for()
    number.fill("9")
    page.locator("[data-key=rule-save]").click()
    first.locator(".says", has_text="At most 9 features").wait_for()
    page.locator("[data-key=rule-0-strictness]").select_option(label="wish with a price")
    first.locator(".about", has_text="costs 4 of 20 votes").wait_for()
    page.locator("[data-key=rule-0-amount]").fill("-1")
    page.locator("[data-key=rule-0-amount]").press("Enter")
    first.locator(".error", has_text="must be").wait_for()
    page.locator("[data-key=rule-0-on]").focus()
    page.keyboard.press("Space")
    page.locator(".rules > li.off").first.wait_for()
    page.wait_for_function("document.activeElement.dataset.key === 'rule-0-on'")
    page.keyboard.press("Space")
    page.locator(".rules > li.off").wait_for(state="detached")


def test_contradictions_name_their_rules_at_once(at):
    page = at("rules")
    n = page.locator(".rules > li").count()
    fill_rule(page, "require", {"Features": ["gene_7"]})
    page.locator(".rules > li").nth(n).wait_for()
    fill_rule(page, "exclude", {"Features": ["gene_7"]})
    page.locator(".rules > li").nth(n + 1).locator(".contradicts", has_text=f"rule {n + 1}.").wait_for()
    page.locator(".rules > li").nth(n).locator(".contradicts", has_text=f"rule {n + 2}.").wait_for()
    remove_last(page)
    page.locator(".contradicts").first.wait_for(state="detached")
    remove_last(page)


def test_the_penalty_curve_follows_the_price(at):
    page = at("rules")
    curve, price = page.locator("svg.penalty"), page.locator("[data-key=form-amount]")

    def left_at(amount):
        return float(re.search(rf"violated by {amount}: ([\d.e-]+)", curve.get_attribute("aria-label"))[1])

    curve.wait_for()
    first = left_at(1)
    price.fill("0.9")
    page.get_by_text("A violation by 1 costs 18 votes").wait_for()
    assert left_at(2) < left_at(1) < first < 1
    page.locator("[data-key=form-strictness]").select_option(label="must hold")
    page.get_by_text("It is never violated").wait_for()
    assert left_at(1) == 0


@pytest.mark.parametrize("screen", ["know", "rules"])
def test_accessible_and_no_wider_than_the_window(at, screen):
    page = at(screen)
    for width in (1920, 1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(500)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = AXE.Axe().run(page).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in serious] == []
