"""The log of edits: nothing that was answered is ever lost, and nothing else is there."""

import errno
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ubayfs.app import history
from ubayfs.app.history import History, applied, difference
from ubayfs.exceptions import InputError, UBayFSError

KEYS = st.sampled_from(["a", "b", "c", "d"]) | st.integers(0, 2)
PLAIN = st.recursive(
    st.none() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=3),
    lambda inner: st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
STATES = st.dictionaries(st.sampled_from(["name", "study", "rules"]), PLAIN)


@given(STATES, STATES)
def test_a_difference_leads_from_one_state_to_the_other_and_back(before, after):
    change = difference(before, after)
    assert applied(before, change) == after
    assert applied(after, change, back=True) == before
    assert bool(change) == (before != after)


@given(st.lists(STATES | st.sampled_from(["undo", "redo", "fix", "open"]), max_size=12))
def test_a_log_is_a_list_of_states_with_a_position(tmp_path_factory, operations):
    path = tmp_path_factory.mktemp("log") / "history.jsonl"
    log, model, at, fixed = History(path, {"name": "first"}), [{"name": "first"}], 0, 0
    for operation in operations:
        if operation == "undo":
            assert (log.step(-1) is None) == (at == 0)
            at = max(at - 1, 0)
        elif operation == "redo":
            assert (log.step(1) is None) == (at == len(model) - 1)
            at = min(at + 1, len(model) - 1)
        elif operation == "fix":  # in all states
            fixed += 1
            log.fix(confirmed=fixed)
            model = [{**state, "confirmed": fixed} for state in model]
        elif operation == "open":
            log = History(path)
        else:
            state = operation | ({"confirmed": fixed} if fixed else {})
            if log.add("edit", state):
                model[at + 1 :] = [state]
                at += 1
        assert log.plain == model[at]
        assert (log.position, len(log.steps)) == (at, len(model) - 1)
    again = History(path)
    assert (again.plain, again.position, again.steps) == (log.plain, log.position, json_like(log.steps))


def json_like(steps):
    return [{**step, "change": [list(entry) for entry in step["change"]]} for step in steps]


def filled(path, more=None):
    log = History(path, {"name": "0", **(more or {})})
    for number in range(1, 5):
        log.add(f"edit {number}", {"name": str(number), "study": {"prior": {3: number, "3": "text"}}})
    return log


def test_a_last_line_that_was_cut_anywhere_is_an_edit_that_was_not_answered(tmp_path):
    path = tmp_path / "history.jsonl"
    filled(path)
    content = path.read_bytes()
    start = content.rindex(b"\n", 0, -1) + 1
    for end in range(start, len(content) - 1):
        path.write_bytes(content[:end])
        log = History(path)
        assert (log.plain["name"], log.position, log.damaged) == ("3", 3, False)
        assert log.add("again", {"name": "5"})
        assert History(path).plain == {"name": "5"}
    path.write_bytes(content[:-1])  # all of it but the end of the line
    assert History(path).plain["name"] == "4"


def test_keys_that_are_numbers_stay_numbers(tmp_path):
    filled(tmp_path / "log")
    assert History(tmp_path / "log").plain["study"]["prior"] == {3: 4, "3": "text"}


@pytest.mark.parametrize("wrong", [b'{"label": "ed\x00', b"[1, 2]", b"3", b"null", b"[" * 100_000])
def test_damage_in_the_middle_is_noticed(tmp_path, wrong):
    path = tmp_path / "history.jsonl"
    filled(path)
    lines = path.read_bytes().split(b"\n")
    lines[2] = wrong
    path.write_bytes(b"\n".join(lines))
    log = History(path)
    assert log.damaged
    assert log.plain["name"] == "1"
    assert path.read_bytes() == b"\n".join(lines)  # kept for whoever can repair it


@pytest.mark.parametrize("content", [b"", b"[]\n", b'{"label": "x"}\n', b"\xff\xfe"])
def test_what_is_not_a_log_is_refused(tmp_path, content):
    path = tmp_path / "history.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        History(path)


@pytest.mark.parametrize("call", ["fsync", "write"])
def test_a_full_disk_changes_nothing(tmp_path, monkeypatch, call):
    path = tmp_path / "history.jsonl"
    log = filled(path)

    def full(*arguments):
        if call == "write":  # a part of the line is there
            with open(path, "ab") as file:
                file.write(b'{"label": "ha')
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(history.os, "fsync", full)
        with pytest.raises(UBayFSError, match="No space left on device"):
            log.add("edit 5", {"name": "5"})
        with pytest.raises(UBayFSError):
            log.step(-1)
    assert (log.plain["name"], log.position) == ("4", 4)
    assert log.add("edit 6", {"name": "6"})  # once there is space again
    assert History(path).plain == {"name": "6"}


def test_old_edits_leave_when_the_log_is_opened(tmp_path, monkeypatch):
    path = tmp_path / "history.jsonl"
    monkeypatch.setattr(history, "_MOST_STEPS", 2)
    filled(path).step(-1)
    log = History(path)
    assert (log.position, len(log.steps)) == (2, 3)
    assert [log.step(by) for by in (-1, -1, -1)] == ["edit 3", "edit 2", None]
    assert log.plain["name"] == "1"
    assert json.loads(path.read_bytes().split(b"\n")[0])["start"]["name"] == "1"


def number_only(plain):
    """Return the state of `filled`, if it is one."""
    if not isinstance(plain["name"], str) or "bad" in plain["study"]:
        raise InputError.of("name", "must be a text.")
    return plain["name"]


@pytest.mark.parametrize(
    "bad",
    [
        {"label": "bad", "time": "", "change": [[["absent", "key"], [], [1]]]},
        {"label": "bad", "time": "", "change": 5},
        {"fixed": {"study": None}},
        {"undo": 1, "at": 99},
    ],
)
def test_a_log_that_leads_to_no_state_is_damaged_and_kept(tmp_path, bad):
    path = tmp_path / "history.jsonl"
    filled(path, {"study": {}})
    lines = path.read_bytes().split(b"\n")
    lines.insert(3, json.dumps(bad).encode())
    path.write_bytes(content := b"\n".join(lines))
    log = History(path, read=number_only)
    assert (log.state, log.damaged, log.copy.read_bytes()) == ("0", True, content)


def test_nothing_is_done_again_that_is_no_state(tmp_path):
    log = filled(tmp_path / "log")
    log.add("bad", {"name": 5, "study": {}})
    log.step(-1)
    again = History(tmp_path / "log", read=number_only)
    size = (tmp_path / "log").stat().st_size
    with pytest.raises(InputError):
        again.step(1)
    assert (again.state, again.position, (tmp_path / "log").stat().st_size) == ("4", 4, size)
