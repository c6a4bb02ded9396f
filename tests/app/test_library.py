"""The list of studies of a server, and their processes."""

import json
from typing import ClassVar

import pytest

from app_studies import NAMES, make, small_study, until, write_table
from ubayfs.app import library as library_module
from ubayfs.app.library import Library
from ubayfs.exceptions import InputError


class Silent:
    """A worker that only records."""

    started: ClassVar[list] = []

    def __init__(self, directory, receive, slots=None):
        self.directory, self.receive, self.closed = directory, receive, False
        Silent.started.append(self)

    def send(self, kind, *content):
        pass

    def close(self):
        self.closed = True


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    monkeypatch.setattr(library_module, "Worker", Silent)
    Silent.started = []
    opened = Library(tmp_path / "studies", idle_seconds=0.2, most_workers=2)
    yield opened
    opened.close()


def at_work():
    return [worker.directory.name for worker in Silent.started if not worker.closed]


def test_studies_are_listed_and_opened_once(shelf):
    ids = [shelf.create(name) for name in ("One", "<b>Two</b>")]
    assert {study.name for study in shelf.studies()} == {"One", "<b>Two</b>"}
    assert sorted(study.id for study in shelf.studies()) == sorted(ids)
    bench = shelf.open(ids[0])
    assert shelf.open(ids[0]) is bench
    assert bench.status == "no data"
    bench.rename("Other")
    bench.flush()
    assert "Other" in {study.name for study in shelf.studies()}


def test_a_removed_study_is_in_the_trash(shelf):
    first = shelf.create("One")
    shelf.open(first)
    shelf.remove(first)
    assert shelf.studies() == []
    assert len(list((shelf.root / ".trash").iterdir())) == 1
    with pytest.raises(InputError):
        shelf.open(first)


@pytest.mark.parametrize("id", ["..", "../studies", "/etc", "a/b", "", ".trash", "nothing"])
def test_no_id_leads_out_of_the_directory(shelf, id):
    for use in (shelf.open, shelf.remove):
        with pytest.raises(InputError):
            use(id)


def test_a_study_that_is_damaged_does_not_hide_the_others(shelf):
    one, two = shelf.create("One"), shelf.create("Two")
    (shelf.root / one / "app.json").write_text("{")
    assert {study.id for study in shelf.studies()} == {one, two}
    (shelf.root / one / "history.jsonl").write_text("nonsense")
    with pytest.raises(InputError):
        shelf.open(one)
    assert shelf.open(two).state.name == "Two"


def test_a_study_file_and_a_table_open_beside_themselves(shelf, tmp_path):
    small_study(tmp_path).save(tmp_path / "mine.yaml")
    content = (tmp_path / "mine.yaml").read_bytes()
    first = shelf.add(tmp_path / "mine.yaml")
    assert (tmp_path / "mine.app" / "study.yaml").is_file()
    assert shelf.open(first).state.study.read_data().n_features == len(NAMES)
    shelf.open(first).set_size(1)
    assert shelf.add(tmp_path / "mine.yaml") == first
    assert shelf.open(first).state.study.constraints[0].arguments[0] == ("n", 1)
    assert (tmp_path / "mine.yaml").read_bytes() == content
    write_table(tmp_path / "table.csv")
    second = shelf.add(tmp_path / "table.csv")
    assert shelf.open(second).state.study.data.target == "class"
    with pytest.raises(InputError):
        shelf.add(tmp_path / "nowhere.csv")


def test_idle_workers_end_and_the_next_edit_starts_them(shelf):
    bench = shelf.open(shelf.create("One"))
    bench._receive("status", ("ready",))
    until(bench, lambda: bench.is_stopped and at_work() == [])
    bench.set_size(3)
    assert len(Silent.started) == 2


def test_more_workers_than_allowed_wait_for_one_that_is_idle(shelf):
    shelf.idle_seconds = 1000.0
    ids = [shelf.create(name) for name in "abc"]
    first, second = (shelf.open(id) for id in ids[:2])
    for bench in (first, second):
        bench._receive("status", ("collecting",))
    third = shelf.open(ids[2])
    assert third.status == "waiting"
    assert at_work() == ids[:2]
    first._receive("status", ("ready",))
    until(third, lambda: not third.is_stopped)
    assert sorted(at_work()) == sorted(ids[1:])
    assert first.is_stopped


def test_the_demo_is_a_study_with_data(shelf):
    demo = shelf.open(shelf.demo())
    assert demo.state.study.read_data().n_features == 10_100
    assert json.loads((demo.directory / "app.json").read_bytes())["name"].startswith("Demo")


def test_a_directory_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError):
        Library(tmp_path / "file" / "studies")


def test_two_servers_share_a_directory_but_no_open_study(shelf, tmp_path):
    id = shelf.create("One")
    shelf.open(id)
    other = Library(shelf.root)
    with pytest.raises(InputError):
        other.open(id)
    other.close()
    make(tmp_path).close()
