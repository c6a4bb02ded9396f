"""What a person does while the server answers late stays: nothing that arrives afterwards undoes it."""

import re

import pytest

from browsing import expect, undo, wait_until

pytest.importorskip("nicegui")


class Line:
    """The connections of a page; `hold` keeps what the server sends until `release`."""

    def __init__(self, page):
        self.page, self.held, self.waiting, self.stands = page, False, [], False
        page.route_web_socket("**/socket.io/**", self.take)

    def take(self, socket):
        server, self.stands = socket.connect_to_server(), False

        def ask(message):
            server.send(message)
            self.stands |= message == "5"  # of Engine.IO: from now on, messages take no other way

        def answer(message):
            if self.held:
                self.waiting.append((socket, message))
            else:
                socket.send(message)
                self.stands |= str(message).startswith("40")  # of Socket.IO: connected, by this way from the start

        socket.on_message(ask)
        server.on_message(answer)

    def hold(self):
        wait_until(self.page, lambda: self.stands)
        self.held = True

    def release(self):
        self.held = False
        for socket, message in self.waiting:
            socket.send(message)
        self.waiting = []

    def until_heard(self, word):
        """Wait until the server has sent a word that the page does not know yet."""
        wait_until(self.page, lambda: any(word in str(message) for _, message in self.waiting))


@pytest.fixture(scope="module")
def lines(tab):
    """The line of the tab, whose connections are taken for good."""
    return Line(tab)


@pytest.fixture
def line(lines, page):
    """The line of the page, on which nothing is held."""
    lines.stands = False
    yield lines
    lines.held, lines.waiting = False, []


@pytest.fixture
def seeds(page, line, context, study):
    """The box of the seed in a window with a slow line, and in another window."""
    other = context.new_page()
    for window in (page, other):
        window.goto(f"{study}/evidence")
        window.get_by_label("Seed").wait_for()
    mine, theirs = page.get_by_label("Seed"), other.get_by_label("Seed")
    before = mine.input_value()
    yield mine, theirs
    line.release()
    theirs.fill(before)
    theirs.press("Enter")
    expect(mine).to_have_value(before)


def test_text_being_typed_stays_and_one_taken_back_shows_what_is_true(page, line, seeds):
    mine, theirs = seeds
    before = mine.input_value()
    mine.focus()
    line.hold()
    theirs.fill("77")
    theirs.press("Enter")
    line.until_heard("seed 77")
    page.keyboard.press("End")
    page.keyboard.type("5")
    line.release()
    page.wait_for_function("document.querySelector('[aria-label=Seed]').known === '77'")  # the page has heard of it
    expect(mine).to_have_value(f"{before}5")
    page.keyboard.press("Backspace")
    page.keyboard.press("Tab")
    expect(mine).to_have_value("77")


def test_a_box_that_has_the_focus_follows_if_nothing_is_typed(page, seeds):
    mine, theirs = seeds
    mine.focus()
    theirs.fill("78")
    theirs.press("Enter")
    expect(mine).to_have_value("78")


def test_what_was_sent_meanwhile_counts(page, line, seeds):
    mine, theirs = seeds
    line.hold()
    theirs.fill("79")
    theirs.press("Enter")
    line.until_heard("seed 79")
    mine.fill("80")
    mine.press("Enter")
    expect(theirs).to_have_value("80")
    line.release()
    expect(page.locator("#undo")).to_have_attribute("title", re.compile("80"))
    expect(mine).to_have_value("80")


def test_a_draft_of_an_earlier_visit_is_sent_by_enter(page, seeds):
    mine, theirs = seeds
    mine.focus()
    page.keyboard.type("6")
    typed = mine.input_value()
    page.reload()
    expect(mine).to_have_value(typed)
    mine.press("Enter")
    expect(theirs).to_have_value(typed)


def test_a_draft_is_what_its_button_takes(page, answered):
    page.goto(f"{answered}/versions")
    name = page.get_by_label("Name", exact=True)
    name.fill("Typed before")
    page.reload()
    expect(name).to_have_value("Typed before")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".notice.success", has_text="Typed before").wait_for()
    expect(name).to_have_value("")


def test_the_slider_stays_where_it_was_moved(page, line, answered):
    page.goto(f"{answered}/answer")
    page.wait_for_selector("svg.curve")
    slider, shown = page.get_by_label("At most"), page.locator(".size output")
    before = int(slider.input_value())
    slider.focus()
    line.hold()
    page.keyboard.press("ArrowRight")
    line.until_heard(f"At most {before + 1} features")
    page.keyboard.press("ArrowRight")
    line.release()
    page.wait_for_selector(f"svg.curve[aria-label*='it is {before + 2} now']")
    for more in (2, 1, 0):
        expect(page.locator("h1")).to_contain_text(f"{before + more} of 8 features")
        expect(slider).to_have_value(str(before + more))
        expect(shown).to_have_text(str(before + more))
        if more:
            page.keyboard.press("Control+z")


def test_lists_of_the_set_stay_open_while_reasons_and_alternatives_arrive(answer, ready):
    answer.wait_for_selector("svg.curve")
    answer.get_by_text("Numbers").click()
    boxes = answer.locator(".members select")
    boxes.evaluate_all("boxes => boxes.forEach(box => { box.mine = true; })")
    feature = boxes.last.get_attribute("data-feature")
    boxes.last.select_option("very likely")
    expect(answer.locator(".since")).to_contain_text(f"{feature}: very likely")
    expect(answer.locator(f"tr[data-feature='{feature}'] .track")).to_have_attribute(
        "aria-label", re.compile("and a weight of 20$")
    )
    ready()
    assert all(boxes.evaluate_all("boxes => boxes.map(box => box.mine)"))
    expect(answer.locator("details[open]", has_text="Numbers")).to_have_count(1)
    undo(answer)
    expect(answer.locator(f"select[data-feature='{feature}']")).to_have_value("")


def test_a_reason_typed_while_rules_are_drawn_again_stays(page, line, server):
    page.goto(f"{server.studies['laboratory']}/rules")
    page.locator(".status", has_text="Up to date").wait_for()
    line.hold()
    page.locator("[data-keep=rule-0-on]").click()
    page.locator("[data-keep=rule-0-why]").focus()
    page.keyboard.type("the panel has ten")
    line.until_heard("Switch off rule")
    line.release()
    page.locator(".rules li.off").wait_for()
    page.keyboard.type(" places")
    page.keyboard.press("Enter")
    expect(page.locator("#undo")).to_have_attribute("title", re.compile("^Undo: Change rule"))
    page.reload()
    expect(page.get_by_label("Why rule 1", exact=True)).to_have_value("the panel has ten places")
    for _ in range(2):
        undo(page)


def test_what_is_typed_for_the_next_rule_stays_when_the_form_is_drawn_again(page, line, server):
    page.goto(f"{server.studies['laboratory']}/rules")
    page.locator(".status", has_text="Up to date").wait_for()
    n, number = page.locator(".rules > li").count(), page.locator("[data-keep=form-n]")
    number.fill("17")
    line.hold()
    page.locator("[data-keep=rule-save]").click()
    number.fill("18")
    page.get_by_label("Why", exact=True).fill("a later idea")
    line.until_heard("At most 17 features")
    line.release()
    page.locator(".rules > li").nth(n).locator(".says", has_text="At most 17 features").wait_for()
    page.locator("[data-keep=rule-save]").click()
    added = page.locator(".rules > li").nth(n + 1)
    added.locator(".says", has_text="At most 18 features").wait_for()
    expect(added.get_by_label(f"Why rule {n + 2}")).to_have_value("a later idea")
    expect(number).to_have_value("")
    for _ in range(2):
        undo(page)


def test_names_chosen_for_the_next_rule_stay_when_the_form_is_drawn_again_and_after_a_reload(page, line, server):
    page.goto(f"{server.studies['laboratory']}/rules")
    page.locator(".status", has_text="Up to date").wait_for()
    n = page.locator(".rules > li").count()
    page.get_by_label("Kind of rule").select_option(label="Do not select these features")
    names, chips = page.locator("[data-kind=exclude] input[type=text]"), page.locator(".chips button")
    for name in ("gene_70", "gene_71"):
        names.fill(name)
        names.press("Enter")
        chips.filter(has_text=name).wait_for()
    line.hold()
    page.locator("[data-keep=rule-save]").click()
    names.fill("gene_72, gene_73")
    names.press("Enter")
    line.until_heard("Without gene_70 and gene_71")
    line.release()
    page.locator(".rules > li").nth(n).locator(".says", has_text="Without gene_70 and gene_71").wait_for()
    chips.filter(has_text="gene_73").wait_for()
    chips.filter(has_text="gene_72").click()
    chips.filter(has_text="gene_72").wait_for(state="detached")
    page.reload()
    page.get_by_label("Kind of rule").select_option(label="Do not select these features")
    expect(chips).to_have_text(["gene_73"])
    page.get_by_role("button", name="Start over").click()
    chips.wait_for(state="detached")
    page.locator("#undo").click()
    page.locator(".rules > li").nth(n).wait_for(state="detached")


def test_words_are_newer_than_a_table_that_was_asked_for_before(page, server):
    page.goto(f"{server.studies['laboratory']}/know")
    page.wait_for_selector(".ag-row")
    page.evaluate(
        """() => {
          const table = window.ubayfs.features, ask = table.fetch;
          table.late = [];
          table.fetch = async (address) => {
            const answer = await ask(address);
            if (table.late) await new Promise((go) => table.late.push(go));
            return answer;
          };
          table.load();
        }"""
    )
    page.wait_for_function("window.ubayfs.features.late.length > 0")
    page.locator(".ag-row[row-id='3'] [col-id=n]").click()
    page.keyboard.press("2")
    word = page.locator(".ag-row[row-id='3'] .stated")
    word.filter(has_text="likely").wait_for()
    page.evaluate(  # the oldest last
        """() => {
          const waiting = window.ubayfs.features.late.reverse();
          window.ubayfs.features.late = null;
          waiting.forEach((go) => go());
        }"""
    )
    page.wait_for_function("window.ubayfs.features.missed === null")
    expect(word).to_have_text("likely")
    undo(page)
    expect(word).to_have_count(0)
