"""What a person does while the server answers late stays: nothing that arrives afterwards undoes it."""

import pytest

pytest.importorskip("nicegui")


@pytest.fixture
def line(page):
    """The connection of the page; `hold` keeps what the server sends until `release`."""

    class Line:
        held, waiting = False, []

        def take(self, socket):
            server = socket.connect_to_server()
            server.on_message(
                lambda message: self.waiting.append((socket, message)) if self.held else socket.send(message)
            )

        def hold(self):
            self.held = True

        def release(self):
            self.held = False
            for socket, message in self.waiting:
                socket.send(message)
            self.waiting = []

    connection = Line()
    page.route_web_socket("**/socket.io/**", connection.take)
    return connection


def until_heard(line, page):
    """Wait until the server has sent something that the page does not know yet."""
    while not line.waiting:
        page.wait_for_timeout(20)


def holds(page, label, value):
    """Wait until a box has a value."""
    page.wait_for_function(
        "([label, value]) => document.querySelector(`[aria-label='${label}']`).value === value", arg=[label, value]
    )


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
    holds(page, "Seed", before)


def test_text_being_typed_stays_and_one_taken_back_shows_what_is_true(page, line, seeds):
    mine, theirs = seeds
    before = mine.input_value()
    mine.focus()
    line.hold()
    theirs.fill("77")
    theirs.press("Enter")
    until_heard(line, page)
    page.keyboard.press("End")
    page.keyboard.type("5")
    line.release()
    page.get_by_role("button", name="Undo").and_(page.locator("[title*=seed]")).wait_for()
    assert mine.input_value() == f"{before}5"
    page.keyboard.press("Backspace")
    page.keyboard.press("Tab")
    holds(page, "Seed", "77")


def test_a_box_that_has_the_focus_follows_if_nothing_is_typed(page, seeds):
    mine, theirs = seeds
    mine.focus()
    theirs.fill("78")
    theirs.press("Enter")
    holds(page, "Seed", "78")


def test_what_was_sent_meanwhile_counts(page, line, seeds):
    mine, theirs = seeds
    line.hold()
    theirs.fill("79")
    theirs.press("Enter")
    until_heard(line, page)
    mine.fill("80")
    mine.press("Enter")
    holds(theirs.page, "Seed", "80")
    line.release()
    page.wait_for_function("document.getElementById('undo').title.includes('80')")
    assert mine.input_value() == "80"


def test_a_draft_of_an_earlier_visit_is_sent_by_enter(page, seeds):
    mine, theirs = seeds
    mine.focus()
    page.keyboard.type("6")
    typed = mine.input_value()
    page.reload()
    holds(page, "Seed", typed)
    mine.press("Enter")
    holds(theirs.page, "Seed", typed)


def test_a_draft_is_what_its_button_takes(page, collected):
    study = collected(page, "patients")
    page.goto(f"{study}/versions")
    page.get_by_label("Name", exact=True).fill("Typed before")
    page.reload()
    holds(page, "Name", "Typed before")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".notice.success", has_text="Typed before").wait_for()
    holds(page, "Name", "")


def test_the_slider_stays_where_it_was_moved(page, line, collected):
    study = collected(page, "patients")
    page.goto(f"{study}/answer")
    page.wait_for_selector("svg.curve")
    slider, shown = page.get_by_label("At most"), page.locator(".size output")
    before = int(slider.input_value())
    slider.focus()
    line.hold()
    page.keyboard.press("ArrowRight")
    until_heard(line, page)
    page.keyboard.press("ArrowRight")
    line.release()
    page.wait_for_selector(f"h1:has-text('{before + 2} of 8 features')")
    page.wait_for_selector(f"svg.curve[aria-label*='it is {before + 2} now']")
    assert (slider.input_value(), shown.inner_text()) == (str(before + 2),) * 2
    for left in (1, 0):
        page.keyboard.press("Control+z")
        page.wait_for_selector(f"h1:has-text('{before + left} of 8 features')")
        assert (slider.input_value(), shown.inner_text()) == (str(before + left),) * 2


def test_lists_of_the_set_stay_open_while_reasons_and_alternatives_arrive(page, collected):
    study = collected(page, "patients")
    page.goto(f"{study}/answer")
    page.wait_for_function("document.querySelector('.members') && !document.querySelector('.members .waiting')")
    page.wait_for_selector("svg.curve")
    page.get_by_text("Numbers").click()
    boxes = page.locator(".members select")
    boxes.evaluate_all("boxes => boxes.forEach(box => { box.mine = true; })")
    boxes.last.select_option("very likely")
    page.wait_for_selector(".since:has-text('very likely')")
    page.wait_for_function("!document.querySelector('.members .waiting')")
    assert all(boxes.evaluate_all("boxes => boxes.map(box => box.mine)"))
    assert page.locator("details[open]", has_text="Numbers").count() == 1
    page.locator("#undo").click()
    page.wait_for_function("document.querySelector('.members tr:last-child select').value === ''")


def test_a_reason_typed_while_rules_are_drawn_again_stays(page, line, server):
    page.goto(f"{server.studies['laboratory']}/rules")
    page.locator(".rules .about", has_text="inequalit").first.wait_for()
    line.hold()
    page.locator("[data-keep=rule-0-on]").click()
    page.locator("[data-keep=rule-0-why]").focus()
    page.keyboard.type("the panel has ten")
    until_heard(line, page)
    line.release()
    page.locator(".rules li.off").wait_for()
    page.keyboard.type(" places")
    page.keyboard.press("Enter")
    page.wait_for_function("document.getElementById('undo').title.startsWith('Undo: Change rule')")
    page.reload()
    holds(page, "Why rule 1", "the panel has ten places")
    for _ in range(2):
        title = page.locator("#undo").get_attribute("title")
        page.locator("#undo").click()
        page.wait_for_function("title => document.getElementById('undo').title !== title", arg=title)


def test_what_is_typed_for_the_next_rule_stays_when_the_form_is_drawn_again(page, line, server):
    page.goto(f"{server.studies['laboratory']}/rules")
    page.locator(".rules .about", has_text="inequalit").first.wait_for()
    n, number = page.locator(".rules > li").count(), page.locator("[data-keep=form-n]")
    number.fill("17")
    line.hold()
    page.locator("[data-keep=rule-save]").click()
    number.fill("18")
    page.get_by_label("Why", exact=True).fill("a later idea")
    until_heard(line, page)
    line.release()
    page.locator(".rules > li").nth(n).locator(".says", has_text="At most 17 features").wait_for()
    page.locator("[data-keep=rule-save]").click()
    added = page.locator(".rules > li").nth(n + 1)
    added.locator(".says", has_text="At most 18 features").wait_for()
    assert added.get_by_label(f"Why rule {n + 2}").input_value() == "a later idea"
    holds(page, "Number", "")
    for _ in range(2):
        title = page.locator("#undo").get_attribute("title")
        page.locator("#undo").click()
        page.wait_for_function("title => document.getElementById('undo').title !== title", arg=title)


def test_names_chosen_for_the_next_rule_stay_when_the_form_is_drawn_again_and_after_a_reload(page, line, server):
    page.goto(f"{server.studies['laboratory']}/rules")
    page.locator(".rules .about", has_text="inequalit").first.wait_for()
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
    until_heard(line, page)
    line.release()
    page.locator(".rules > li").nth(n).locator(".says", has_text="Without gene_70 and gene_71").wait_for()
    chips.filter(has_text="gene_73").wait_for()
    chips.filter(has_text="gene_72").click()
    chips.filter(has_text="gene_72").wait_for(state="detached")
    page.reload()
    page.get_by_label("Kind of rule").select_option(label="Do not select these features")
    chips.filter(has_text="gene_73").wait_for()
    assert chips.all_inner_texts() == ["gene_73"]
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
    assert word.inner_text() == "likely"
    page.locator("#undo").click()
    word.wait_for(state="detached")
