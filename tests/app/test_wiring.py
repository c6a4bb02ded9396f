"""What is pressed and typed on a page reaches the workbench, and what the workbench tells reaches the page."""

import asyncio
import gc
import warnings
from concurrent.futures import Future

import pytest

from ubayfs.app.staged_answer import SetStage, StagedAnswer
from ubayfs.app.study_facts import DataFacts, Inspection, Version
from ubayfs.report.facts import AdviceFact
from ubayfs.study.components import Named

pytest.importorskip("nicegui")
from nicegui import background_tasks, ui


def visit(simulated, library, path, action):
    """Open a page and do something there."""

    async def run():
        async with simulated(library) as user:
            await user.open(path)
            result = action(user)
            if asyncio.iscoroutine(result):
                await result

    asyncio.run(run())


def control(user, label):
    """Return the control of a field by its label."""
    found = [element for element in user.client.elements.values() if element.props.get("aria-label") == label]
    assert len(found) == 1
    return found[0]


async def put(user, element, value):
    """Change a control, as the browser tells it."""
    with user.client:
        for listener in element._event_listeners.values():
            if listener.type == "change" and listener.handler is not None:
                done = listener.handler(type("Event", (), {"args": value}))
                await (done or asyncio.sleep(0))


async def press(user, label):
    """Press a button by its label."""
    buttons = [each for each in user.client.elements.values() if each._event_listeners]
    pressed = next(each for each in buttons if getattr(each, "content", "") == label)
    with user.client:
        await next(iter(pressed._event_listeners.values())).handler(None)


def content(user):
    """Return all texts of the page."""
    return "\n".join(
        str(getattr(element, "content", "") or getattr(element, "text", ""))
        for element in user.client.elements.values()
    )


def test_list_shows_names_as_text(simulated, library):
    def look(user):
        assert any(getattr(element, "text", "") == "Demo <b>" for element in user.client.elements.values())
        assert "<b>" not in content(user).replace("Demo <b>", "")

    visit(simulated, library, "/", look)


@pytest.mark.parametrize("path", ["/s/other/data", "/s/demo/nothing"])
def test_what_is_not_there_is_reported(simulated, library, path):
    visit(simulated, library, path, lambda user: content(user).index("There is nothing here"))


def test_an_unknown_name_is_said_at_its_box_with_the_nearest_ones(simulated, library):
    library.bench.facts = DataFacts(["radius", "area"], 20, "binary")

    async def act(user):
        await put(user, control(user, "... and its features"), "area, raduis\n*rea")
        labels = [str(element.props.get("aria-label", "")) for element in user.client.elements.values()]
        chips = [label for label in labels if label.startswith("Remove ")]
        assert chips == ["Remove area", "Remove *rea"]
        (wrong,) = [each.content for each in user.client.elements.values() if "error" in each.classes and each.content]
        assert "raduis" in wrong
        assert "radius" in wrong

    visit(simulated, library, "/s/demo/know", act)


def test_an_unknown_column_is_said_at_its_box_and_is_not_set(simulated, library):
    from ubayfs.app.study_facts import Preview, TableFacts

    bench = library.bench
    bench.table = TableFacts(("diagnosis", "patient", "age"), Preview((), (), (), ()))
    before = bench.state

    async def act(user):
        for label, typed in (
            ("Target", "diagnose"),
            ("Covariates to adjust for", "age, patients"),
            ("Time", "pacient"),
        ):
            await put(user, control(user, label), typed)
            assert bench.state == before
        wrong = [each.content for each in user.client.elements.values() if "error" in each.classes and each.content]
        nearest = ("diagnosis", "patient", "patient")
        assert all(name in each for each, name in zip(wrong, nearest, strict=True))
        await put(user, control(user, "Columns that are not features"), "p*")
        assert bench.state.study.data.ignore == ("p*",)

    visit(simulated, library, "/s/demo/data", act)


def test_a_field_changes_the_study_and_undo_takes_it_back(simulated, library):
    bench = library.bench

    async def act(user):
        await put(user, control(user, "Groups of samples"), "patient")
        assert bench.state.study.data.groups == "patient"
        undo = next(element for element in user.client.elements.values() if element.props.get("id") == "undo")
        await asyncio.sleep(0)
        assert undo.props["disabled"] is False
        with user.client:
            await next(iter(undo._event_listeners.values())).handler(None)
        assert bench.state.study.data.groups is None

    visit(simulated, library, "/s/demo/data", act)


def test_a_wrong_value_is_reported_at_its_field_and_changes_nothing(simulated, library):
    before = library.bench.state

    async def act(user):
        await put(user, control(user, "Models"), "many")
        assert "&#39;many&#39;" in content(user)
        assert library.bench.state == before
        await put(user, control(user, "Models"), "50")
        assert "&#39;many&#39;" not in content(user)
        assert library.bench.state.study.evidence.n_models == 50

    visit(simulated, library, "/s/demo/evidence", act)


def test_selectors_and_their_settings(simulated, library):
    bench = library.bench

    async def act(user):
        await put(user, control(user, "Tree"), True)
        assert bench.state.study.evidence.selector == ("wide", "tree")
        await put(user, control(user, "max depth"), "3")
        assert bench.state.study.evidence.selector == ("wide", Named("tree", (("max_depth", 3),)))
        await put(user, control(user, "Lasso with curves and pairs (recommended)"), False)
        await put(user, control(user, "Tree"), False)  # the last one stays
        assert bench.state.study.evidence.selector == Named("tree", (("max_depth", 3),))

    visit(simulated, library, "/s/demo/evidence", act)


def test_settings_that_advice_speaks_of_stand_by_it(simulated, library):
    bench = library.bench
    bench.facts = DataFacts(["radius", "area"], 20, "binary")
    bench.confirm()

    async def act(user):
        advice = (AdviceFact("without_votes", {}, "No model voted for radius."),)
        bench.answer = StagedAnswer(bench.revision, SetStage(0.1, 0.0, True, ("radius",), (), advice, 0.1))
        bench._publish("answer")
        await asyncio.sleep(0)
        await put(user, control(user, "Votes that a selected feature needs"), "2")
        assert bench.state.study.decision.min_votes == 2

    visit(simulated, library, "/s/demo/answer", act)


def test_votes_are_hidden_until_knowledge_is_confirmed(simulated, library):
    bench = library.bench
    bench.facts = DataFacts(["radius", "area"], 20, "binary")
    bench.votes = __import__("numpy").array([17, 4])

    async def act(user):
        assert "radius" not in content(user)
        bench.confirm()
        await asyncio.sleep(0)
        assert "radius" in content(user)
        assert "17 votes" in content(user)

    visit(simulated, library, "/s/demo/evidence", act)


def test_the_page_follows_another_window(simulated, library):
    async def act(user):
        library.bench.rename("Another name")
        await asyncio.sleep(0)
        assert "Another name" in content(user)

    visit(simulated, library, "/s/demo/data", act)


@pytest.mark.parametrize("screen", ["data", "know", "rules"])
def test_buttons_stay_while_they_are_pressed(simulated, library, screen):
    bench = library.bench
    bench.facts = DataFacts(["radius", "area"], 20, "binary")
    bench.set_blocks({"size": ["radius", "area"]})

    async def act(user):
        buttons = [element for element in user.client.elements.values() if element.props.get("tag") == "button"]
        bench.set("evidence", n_models=50)  # changes nothing of what they stand by
        for kind in ("state", "facts", "votes", "answer", "status", "progress", "problems", "versions"):
            bench._publish(kind)
        await asyncio.sleep(0)
        assert buttons
        assert not any(element.is_deleted for element in buttons)

    visit(simulated, library, f"/s/demo/{screen}", act)


def test_pages_leave_no_listeners_behind(simulated, library):
    async def act(user):
        assert library.bench._listeners
        user.client.delete()
        assert not library.bench._listeners

    visit(simulated, library, "/s/demo/data", act)


def test_files_are_read_one_after_another_and_each_finds_what_the_one_before_left(simulated, library, monkeypatch):
    from ubayfs.app.pages import data

    bench, read = library.bench, []
    reading = asyncio.Event()

    async def slow(bench, paths, samples, **given):
        read.append(list(paths.values() if isinstance(paths, dict) else paths))
        await reading.wait()
        path = dict(zip("ab", read[-1], strict=True)) if len(read[-1]) > 1 else read[-1][0]
        return Inspection({"data": {"path": path}, "evidence": {"selector": "mrmr"}})

    monkeypatch.setattr(data, "inspected", slow)
    bench.facts = DataFacts(["radius"], 20, "binary")
    (bench.directory / "more.csv").write_text("diagnosis,age\nbenign,3\n")

    async def act(user):
        adding = asyncio.create_task(put(user, control(user, "Or the path of a file on this machine"), "more.csv"))
        await asyncio.sleep(0)
        remove = next(each for each in user.client.elements.values() if getattr(each, "content", "") == "Remove")

        async def press():
            with user.client:
                await next(iter(remove._event_listeners.values())).handler(None)

        removing = asyncio.create_task(press())
        await asyncio.sleep(0)
        reading.set()
        await asyncio.gather(adding, removing)
        assert [len(files) for files in read] == [2, 1]
        assert bench.state.study.data.path == "more.csv"

    visit(simulated, library, "/s/demo/data", act)


def test_a_file_whose_inspection_was_given_up_is_not_taken_for_one_that_cannot_be_read(simulated, library, monkeypatch):
    from ubayfs.app.pages import data
    from ubayfs.exceptions import NotAnsweredError

    async def given_up(*arguments, **given):
        raise NotAnsweredError("Please repeat this.")

    monkeypatch.setattr(data, "inspected", given_up)
    bench, label = library.bench, "Or the path of a file on this machine"
    bench.status = "ready"
    (bench.directory / "more.csv").write_text("diagnosis,age\nbenign,3\n")

    async def act(user):
        before = bench.state
        await put(user, control(user, label), "more.csv")
        assert "Please repeat this." in content(user)
        assert "Reading the files" not in content(user)
        assert bench.state == before
        await put(user, control(user, label), " ")
        assert "must name a file" not in content(user)

    visit(simulated, library, "/s/demo/data", act)


def test_a_double_click_saves_one_version(simulated, library, monkeypatch):
    bench, asked = library.bench, []

    def save(name):
        asked.append(Future())
        return asked[-1]

    monkeypatch.setattr(bench, "save_version", save)

    async def act(user):
        for number in (1, 2):
            first = asyncio.create_task(press(user, "Save"))
            await asyncio.sleep(0)
            await asyncio.wait_for(press(user, "Save"), 60)  # at once
            asked[-1].set_result(Version(number, "Saved", "", 0, ()))
            await first
            assert len(asked) == number

    visit(simulated, library, "/s/demo/versions", act)


def test_an_answer_is_not_compared_with_itself(simulated, library, monkeypatch):
    monkeypatch.setattr(library.bench, "compare", None)

    async def act(user):
        await press(user, "Compare")
        assert "Select two different answers" in content(user)

    visit(simulated, library, "/s/demo/versions", act)


@pytest.mark.parametrize("screen", ["data", "know", "rules", "evidence", "answer", "versions"])
def test_a_server_that_ends_leaves_no_work_behind_that_never_began(simulated, library, screen):
    bench = library.bench
    bench.facts = DataFacts(["radius", "area"], 20, "binary")

    async def act(user):
        for kind in ("state", "facts", "votes", "answer", "status", "progress", "problems", "versions"):
            bench._publish(kind)
        await asyncio.sleep(0)  # until what they cause is about to begin
        for task in background_tasks.running_tasks:
            task.cancel()

    bench.confirm()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        gc.collect()
        seen.clear()  # what other tests left
        visit(simulated, library, f"/s/demo/{screen}", act)
        gc.collect()
    assert [str(each.message) for each in seen] == []


def test_every_key_of_data_and_evidence_can_be_corrected(simulated, library):
    from markupsafe import escape

    from ubayfs.app.view.parts import help_text
    from ubayfs.app.view.sections import choices, hint, label
    from ubayfs.study.schema import DataSection, EvidenceSection

    def look(section, keys):
        def check(user):
            for key in keys:
                control(user, label(key))
                assert choices(section, key) or hint(section, key) == help_text(section, key) != ""
                assert str(escape(hint(section, key))) in content(user)
                assert "{" not in hint(section, key)

        return check

    visit(simulated, library, "/s/demo/data", look("data", DataSection.keys().keys() - {"path", "samples"}))
    visit(simulated, library, "/s/demo/evidence", look("evidence", EvidenceSection.keys().keys() - {"selector"}))


def test_modules_survive_a_simulation(simulated, library):
    import sys

    visit(simulated, library, "/", lambda user: None)
    assert sys.modules["ubayfs.app.workbench"].Workbench is type(library.bench)
    assert ui.element is sys.modules["nicegui"].ui.element


ODD = [{"a": 1}, [1], 1.5, None, "7" * 5000]


@pytest.mark.parametrize("screen", ["data", "know", "rules", "evidence", "versions"])
def test_events_that_no_page_sends_change_nothing(simulated, library, screen):
    """Each control gets values of other kinds than its own."""
    bench = library.bench
    before, log = bench.state, (bench.directory / "history.jsonl").read_bytes()

    async def act(user):
        for element in list(user.client.elements.values()):
            is_box = element.props.get("type") == "checkbox"
            for odd in ["on", *ODD] if is_box else [True, *ODD[:4]]:
                if element.props.get("data-draft") is None or not isinstance(odd, str):
                    await put(user, element, odd)
        assert bench.state == before
        assert (bench.directory / "history.jsonl").read_bytes() == log
        await user.open(f"/s/demo/{screen}")
        assert "could not be drawn" not in content(user)

    visit(simulated, library, f"/s/demo/{screen}", act)


def test_a_file_that_was_not_sent_is_not_read(simulated, library):
    secret = library.root / "secret.txt"
    secret.write_text("radius")

    async def act(user):
        for path in (str(secret), "../../secret.txt", "uploads/../history.jsonl", "/etc/passwd"):
            zone = next(each for each in user.client.elements.values() if each.props.get("type") == "file")
            await put(user, zone, {"name": "a", "path": path})
            assert "must be that of a file that was sent" in content(user)
            assert "feature found" not in content(user)

    visit(simulated, library, "/s/demo/know", act)
