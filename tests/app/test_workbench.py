"""Edits, undo and files of an open study, without a worker."""

import errno
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from app_studies import NAMES, make, small_study
from ubayfs import Evidence, cannot_link, decide, decorrelate, max_size
from ubayfs.app import document
from ubayfs.app.intake import begin
from ubayfs.app.sessions import ExpertSession
from ubayfs.app.staged_answer import SetStage, StagedAnswer
from ubayfs.app.state import Rule, State
from ubayfs.app.study_facts import DataFacts, Inspection, ListedKnowledge, ReadFacts
from ubayfs.app.view.answer_parts import rules
from ubayfs.app.workbench import Workbench
from ubayfs.exceptions import InputError, UBayFSError
from ubayfs.report.problem_facts import constraint_facts
from ubayfs.study import DataSection, Study, load_study


@pytest.fixture
def bench(tmp_path):
    opened = make(tmp_path)
    yield opened
    opened.close()


def read(bench, stated=None):
    """Tell a workbench what its worker has read."""
    bench._receive("facts", (ReadFacts(data=DataFacts(NAMES, 60, "binary")), ListedKnowledge(stated or {})))


def reopened(bench):
    bench.close()
    return Workbench(bench.directory, None)


EDITS = {
    "set_weight": lambda bench: bench.set_weight(["gene1", "gene2"], "likely", "a paper"),
    "set_weights": lambda bench: bench.set_weights({"gene3": (5, "votes"), "gene4": ("unlikely", None)}, "a list"),
    "blocks": lambda bench: bench.set_blocks({"first": ["gene0", "gene1"]}),
    "default": lambda bench: bench.set_default(0.5),
    "rename": lambda bench: bench.rename("Another <b>name</b>"),
    "add": lambda bench: bench.add_rule({"decorrelate": 0.8}, "no twins"),
    "add made": lambda bench: bench.add_rule(decorrelate(0.7)),
    "off": lambda bench: bench.change_rule(0, on=False),
    "change": lambda bench: bench.change_rule(0, constraint={"max_size": {"n": 4, "price": 0.1}}, why="costs"),
    "remove": lambda bench: bench.remove_rule(0),
    "size": lambda bench: bench.set_size(2),
    "data": lambda bench: bench.set("data", groups="gene5"),
    "evidence": lambda bench: bench.set("evidence", selector="fisher", n_models=7),
    "prior": lambda bench: bench.set("prior", pool="lowest"),
    "decision": lambda bench: bench.set("decision", min_votes=2),
    "trust": lambda bench: bench.set("trust", level="none"),
}


@pytest.mark.parametrize("name", EDITS)
def test_each_edit_is_on_disk_can_be_undone_and_is_published(bench, name):
    before, events = bench.state, []
    bench.subscribe(events.append)
    EDITS[name](bench)
    after = bench.state
    assert after != before
    assert events == ["state"]
    assert bench.undo_label()
    bench.flush()
    assert load_study(bench.directory / "study.yaml") == after.study
    again = reopened(bench)
    assert again.state == after
    again.undo()
    assert again.state == before
    assert again.redo_label()
    again.redo()
    assert again.state == after
    again.close()


WRONG = {
    "word": lambda bench: bench.set_weight(["gene1"], "perhaps"),
    "votes": lambda bench: bench.set_weight(["gene1"], -1),
    "kind": lambda bench: bench.add_rule({"max_sise": 3}),
    "argument": lambda bench: bench.add_rule({"max_size": -3}),
    "position": lambda bench: bench.change_rule(7, on=False),
    "absent": lambda bench: bench.remove_rule(-1),
    "key": lambda bench: bench.set("evidence", n_model=3),
    "value": lambda bench: bench.set("evidence", n_models=0),
    "name": lambda bench: bench.rename("  "),
    "version": lambda bench: bench.back_to(3),
    "default": lambda bench: bench.set_default("much"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_edit_is_refused_and_changes_nothing(bench, name):
    before, content = bench.state, (bench.directory / "history.jsonl").read_bytes()
    with pytest.raises(UBayFSError):
        WRONG[name](bench)
    assert bench.state is before
    assert (bench.directory / "history.jsonl").read_bytes() == content
    assert not bench.undo_label()


def test_names_that_are_not_in_the_data_are_refused_once_these_are_known(bench):
    read(bench)
    with pytest.raises(InputError, match="gene01"):
        bench.set_weight(["gene01"], "likely")
    bench.set_weight(["gene1"], "likely")
    assert bench.words() == {"gene1": ("likely", "")}


def test_what_a_table_states_is_outweighed_by_name(bench):
    read(bench, {"": {"gene2": ("likely", "table")}})
    assert bench.words() == {"gene2": ("likely", "table")}
    bench.set_weight(["gene2"], None)
    assert dict(bench.state.study.prior.weights.features) == {"gene2": 0.01}


def test_an_edit_without_effect_is_none(bench):
    bench.set_size(3)
    assert not bench.undo_label()
    assert bench.revision == 0


def test_rules_that_are_off_are_kept_and_no_constraint(bench):
    bench.add_rule(decorrelate(0.8), "why")
    bench.change_rule(0, on=False)
    assert bench.state.study.constraints == (decorrelate(0.8),)
    assert bench.state.rules == (Rule(max_size(3), on=False), Rule(decorrelate(0.8), True, "why"))
    bench.set_size(5)  # switches it on again
    assert bench.state.study.constraints == (max_size(5), decorrelate(0.8))


def test_confirming_is_recorded_and_no_undo_takes_it_back(bench):
    bench.set_weight(["gene1"], "likely")
    assert bench.state.study.prior.changed_after_votes is None
    bench.confirm()
    at = bench.state.confirmed[""]
    assert bench.state.study.prior.confirmed == at
    bench.undo()
    assert (bench.state.confirmed, bench.state.weights().features) == ({"": at}, ())
    bench.set_weight(["gene2"], "likely")
    assert list(bench.state.study.prior.changed_after_votes) == ["gene2"]
    again = reopened(bench)
    assert again.state.confirmed == {"": at}
    again.undo()
    assert again.state.study.prior.changed_after_votes is None
    again.close()


def test_experts_state_words_at_once_without_seeing_those_of_others(bench):
    ann, bob = ExpertSession(bench, bench.join("Ann")), ExpertSession(bench, bench.join(" Bob "))
    read(bench)
    ann.set_weight(["gene1"], "likely", "seen")
    bob.set_weight(["gene1"], "unlikely")
    ann.set_weight(["gene2"], 3)
    assert (ann.stated, bob.stated) == ({"gene1": ("likely", "seen"), "gene2": (3, "")}, {"gene1": ("unlikely", "")})
    experts = bench.state.study.prior.experts
    assert {name: expert.weights.features for name, expert in experts.items()} == {
        "Ann": (("gene1", "likely"), ("gene2", 3)),
        "Bob": (("gene1", "unlikely"),),
    }
    assert ExpertSession(bench).stated == {}


def test_each_expert_sees_votes_after_confirming_their_own_knowledge(bench):
    ann, bob = ExpertSession(bench, "Ann"), ExpertSession(bench, "Bob")
    bench.votes = np.arange(len(NAMES))
    bench.answer = StagedAnswer(0, SetStage(1.0, 0.0, True, (), (), (), 0.1))
    ann.set_weight(["gene1"], "likely")
    ann.confirm()
    assert (ann.votes is bench.votes, bob.votes, bob.answer.set) == (True, None, None)
    assert bench.state.study.prior.experts["Ann"].confirmed == bench.state.confirmed["Ann"]
    bob.set_weight(["gene2"], "likely")  # has not seen any
    ann.set_weight(["gene3"], "likely")
    assert list(bench.state.study.prior.changed_after_votes) == ["gene3"]
    bench.flush()
    assert load_study(bench.directory / "study.yaml") == bench.state.study
    again = reopened(bench)
    assert again.state == bench.state
    again.confirm("Bob")
    assert set(again.state.confirmed) == {"Ann", "Bob"}
    again.close()


def test_experts_undo_their_own_words_and_what_belongs_to_all(bench):
    ann, bob = ExpertSession(bench, "Ann"), ExpertSession(bench, "Bob")
    ann.set_weight(["gene1"], "likely")
    bob.set_weight(["gene2"], "likely")
    bench.set_size(2)
    bob.set_weight(["gene3"], "unlikely")
    assert (ann.undo_label, bob.undo_label) == ("At most 2 features", "Bob: gene3: unlikely")
    ann.undo()
    ann.undo()
    stated = {name: dict(own.weights.features) for name, own in bench.state.study.prior.experts.items()}
    assert stated == {"Bob": {"gene2": "likely", "gene3": "unlikely"}}
    assert bench.state.rules == (Rule(max_size(3)),)
    assert (ann.undo_label, ann.redo_label, bob.redo_label) == ("", "Ann: gene1: likely", "At most 2 features")
    again = reopened(bench)
    assert (again.state, again.undo_label("Ann"), again.redo_label("Ann")) == (bench.state, "", "Ann: gene1: likely")
    again.redo("Ann")
    again.redo("Ann")
    assert dict(again.state.weights(expert="Ann").features) == {"gene1": "likely"}
    assert again.state.rules == (Rule(max_size(2)),)
    final = reopened(again)
    assert final.state == again.state
    final.close()


def test_what_another_expert_has_built_upon_cannot_be_undone(bench):
    bench.set_weight(["gene1"], "likely")
    bench.join("Ann")  # takes over what was stated
    bench.set_weight(["gene1"], 5, expert="Ann")
    before = bench.state
    with pytest.raises(InputError, match="cannot be undone"):
        bench.undo("Bob")
    assert bench.state == before
    bench.undo("Ann")
    bench.undo("Ann")
    assert dict(bench.state.weights().features) == {"gene1": "likely"}


def test_the_first_name_is_that_of_whoever_stated_something_before(bench):
    bench.set_default(0.05)
    bench.set_weight(["gene1"], "likely", "seen")
    bench.confirm()
    bench.join("Ann")
    prior = bench.state.study.prior
    assert prior.experts["Ann"].weights.features == (("gene1", "likely"),)
    assert (prior.weights.default, prior.weights.features) == (0.05, ())
    assert bench.words("Ann")["gene1"] == ("likely", "seen")
    assert set(bench.state.confirmed) == {"", "Ann"}  # who has seen the votes
    bench.join("Bob")
    assert (list(bench.state.study.prior.experts), "Bob" in bench.state.confirmed) == (["Ann"], False)


def test_a_log_with_one_time_of_confirmation_is_read(bench):
    plain = {**bench.state.to_plain(), "confirmed": "2026-11-17T04:00:00+00:00", "expert": ""}
    del plain["corrected"]
    assert State.from_plain(plain, bench.directory).confirmed == {"": "2026-11-17T04:00:00+00:00"}


def test_the_size_that_is_guessed_does_not_depend_on_the_order_of_files(tmp_path):
    study = Study(DataSection(""), folder=tmp_path)
    bench = Workbench.create(tmp_path / "new.app", State.of("New", study), None)

    def found(n):
        evidence, data = {"selector": "mrmr"}, {"path": "cells.csv"}
        begin(bench, Inspection({"data": data, "evidence": evidence, "constraints": [{"max_size": n}]}))
        return bench.state.study.constraints

    assert [found(2), found(10)] == [(max_size(2),), (max_size(10),)]  # a sample sheet first, then many features
    bench.set_size(4)
    assert found(7) == (max_size(4),)  # that of a person stays
    bench.set("data", path="", samples=None)
    assert found(7) == (max_size(4),)
    bench.close()


def test_what_a_person_corrected_is_not_guessed_anew(bench):
    bench.set("data", missing="median")
    bench.set("data", groups="gene5")
    bench.undo()
    assert bench.state.corrected == ("missing",)
    data = {"path": {"a": "a.csv", "b": "b.csv"}, "target": "died", "missing": "error"}
    for selector in ("laplacian", "mrmr"):  # before and after a file with the target
        begin(bench, Inspection({"data": data, "evidence": {"selector": selector}}))
        assert bench.state.study.evidence.selector == selector
    section = bench.state.study.data
    assert (section.path, section.target, section.missing) == ({"a": "a.csv", "b": "b.csv"}, "died", "median")
    bench.set("evidence", selector="fisher")
    begin(bench, Inspection({"data": data, "evidence": {"selector": "mrmr"}}))
    assert bench.state.study.evidence.selector == "fisher"
    again = reopened(bench)
    assert again.state.corrected == ("missing", "selector")
    again.set("data", path="", samples=None)
    assert again.state.corrected == ()
    again.close()


def test_a_study_file_that_was_edited_elsewhere_is_one_more_edit(bench):
    bench.add_rule(decorrelate(0.8), "why")
    bench.change_rule(1, on=False)
    bench.flush()
    bench.close()
    file = bench.directory / "study.yaml"
    file.write_text(file.read_text().replace("n_models: 30", "n_models: 31"))
    again = Workbench(bench.directory, None)
    assert again.state.study.evidence.n_models == 31
    assert again.state.rules == bench.state.rules
    assert "study.yaml" in again.undo_label()
    again.undo()
    assert again.state == bench.state
    again.close()


@pytest.mark.parametrize("what", ["study.yaml", "app.json"])
def test_files_that_lag_behind_the_log_are_written_again(bench, what):
    bench.flush()
    old = {name: (bench.directory / name).read_bytes() for name in ("study.yaml", "app.json")}
    bench.set_size(2)
    bench.flush()
    bench.close()
    (bench.directory / what).write_bytes(old[what])  # as if the program had ended between the two
    if what == "app.json":
        (bench.directory / "study.yaml").write_bytes(old["study.yaml"])
    again = Workbench(bench.directory, None)
    assert again.state == bench.state
    again.flush()
    assert load_study(bench.directory / "study.yaml") == bench.state.study
    again.close()


def test_a_damaged_log_begins_anew_from_the_study_file(bench):
    for size in (2, 4, 5):
        bench.set_size(size)
    bench.change_rule(0, on=False)
    bench.confirm()
    bench.flush()
    bench.close()
    log = bench.directory / "history.jsonl"
    lines = log.read_bytes().split(b"\n")
    log.write_bytes(b"\n".join([lines[0], b"\x00" * 50, *lines[2:]]))
    again = Workbench(bench.directory, None)
    assert again.state == bench.state
    assert not again.undo_label()
    assert len(list(bench.directory.glob("history-damaged-*.jsonl"))) == 1
    again.close()


def test_two_servers_cannot_have_one_study_open(bench):
    with pytest.raises(InputError):
        Workbench(bench.directory, None)
    bench.close()
    Workbench(bench.directory, None).close()


def test_edits_of_many_at_once_are_all_there(bench):
    def give(number):
        for name in NAMES:
            bench.set_weight([name], number + 1, f"expert {number}")
            bench.add_rule(max_size(number + 1))

    threads = [threading.Thread(target=give, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bench.revision == 4 * 2 * len(NAMES)
    assert len(bench.state.rules) == 1 + 4 * len(NAMES)
    again = reopened(bench)
    assert again.state == bench.state
    assert len(again._history.steps) == bench.revision
    again.close()


def test_a_full_disk_refuses_the_edit_and_the_next_one_works(bench, monkeypatch):
    before = bench.state

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(UBayFSError, match="nothing was changed"):
            bench.set_size(2)
    assert bench.state is before
    bench.set_size(2)
    assert reopened(bench).state == bench.state


def test_a_study_file_that_cannot_be_written_is_a_problem_and_no_edit_is_lost(bench, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(document, "write_atomically", full)
        bench.set_size(2)
        bench.flush()
        assert "No space" in bench.problems[0].message
    state = bench.state
    bench.close()
    again = Workbench(bench.directory, None)
    assert again.state == state
    assert again.problems == []
    again.close()


ROBOT = """
import sys
from ubayfs.app.workbench import Workbench
bench = Workbench(sys.argv[1], None)
for number in range(1, 10_000):
    bench.set_weight(["gene1"], float(number))
    print(number, flush=True)
"""


def test_a_server_that_is_killed_loses_nothing_that_was_answered(tmp_path):
    bench = make(tmp_path)
    bench.close()
    said = 0
    for n_answers in (1, 3, 10):
        robot = subprocess.Popen([sys.executable, "-c", ROBOT, str(bench.directory)], stdout=subprocess.PIPE, text=True)
        for _ in range(n_answers):
            said = int(robot.stdout.readline())
        robot.kill()
        answered = [int(line) for line in robot.communicate()[0].split()]
        said = answered[-1] if answered else said
        again = Workbench(bench.directory, None)
        (_, votes), *others = again.state.weights().features
        assert not others
        assert votes in (said, said + 1)  # the last one may have been on disk before it was answered
        again.flush()
        assert load_study(bench.directory / "study.yaml") == again.state.study
        again.close()


def test_a_study_made_by_hand_keeps_its_meaning(tmp_path):
    study = small_study(tmp_path)
    study.save(tmp_path / "by_hand.yaml")
    made = Workbench.create(tmp_path / "deep" / "er.app", State.of("Hand", load_study(tmp_path / "by_hand.yaml")), None)
    assert made.state.study.read_data().n_features == len(NAMES)
    assert made.state.rules == (Rule(max_size(3)),)
    made.close()


def test_a_study_that_is_only_looked_at_is_not_changed(bench, monkeypatch):
    def changed():
        bench._save()
        bench.flush()
        return json.loads((bench.directory / "app.json").read_text())["changed"]

    bench.set_size(2)
    before = changed()
    monkeypatch.setattr(document, "now", lambda: "2099-01-01T00:00:00+00:00")
    assert changed() == before


def test_what_shows_votes_is_asked_for_after_confirmation_only(bench, monkeypatch):
    asked = []
    monkeypatch.setattr(bench, "request", lambda kind, **payload: asked.append((kind, payload)))
    ann, bob = ExpertSession(bench, "Ann"), ExpertSession(bench, "Bob")
    ann.set_weight(["gene1"], "likely")
    hidden = [
        lambda expert: expert.compare(1, None), lambda expert: expert.request("questions"),
        lambda expert: expert.export("report"),
        lambda expert: expert.request("figure", name="votes"), lambda expert: expert.export("study", 1),
    ]  # fmt: skip
    for ask in [*hidden, lambda expert: expert.export("study")]:  # has what Ann stated
        with pytest.raises(InputError, match="hidden") as caught:
            ask(bob)
        assert caught.value.argument == "votes"
    bob.request("estimate")
    ann.export("study")
    assert asked == [("estimate", {}), ("export", {"what": "study", "version": None})]
    bob.confirm()
    for ask in hidden:
        ask(bob)
    assert len(asked) == 2 + len(hidden)


@pytest.mark.parametrize(
    "edit",
    [
        lambda bench, odd: bench.change_rule(0, on=odd),
        lambda bench, odd: bench.change_rule(0, why=odd),
        lambda bench, odd: bench.add_rule({"max_size": 5}, odd),
        lambda bench, odd: bench.set_weight(["gene1"], "likely", odd),
        lambda bench, odd: bench.set_weight(["gene1"], [odd]),
        lambda bench, odd: bench.set("data", target={"a": [odd]}),
        lambda bench, odd: bench.set("evidence", n_models=odd),
    ],
)
@pytest.mark.parametrize("odd", [{"a": 1}, 1.5, [[]]])
def test_only_what_a_study_file_may_have_enters_the_log(bench, edit, odd):
    before = bench.state, (bench.directory / "history.jsonl").read_bytes()
    with pytest.raises(InputError):
        edit(bench, odd)
    assert (bench.state, (bench.directory / "history.jsonl").read_bytes()) == before


def test_a_study_with_a_bad_entry_in_its_log_opens_as_its_file_has_it_and_says_so(bench):
    bench.set_size(5)
    bench.close()
    log, place = bench.directory / "history.jsonl", ["rules"]
    start, step = map(json.loads, log.read_bytes().splitlines())
    bad = [{**step["change"][0][2][0][0], "on": {"a": 1}}]
    entry = {
        "label": "Switch off rule: at most 5",
        "time": step["time"],
        "change": [[place, step["change"][0][2], [bad]]],
    }
    log.write_text("".join(json.dumps(each) + "\n" for each in (start, step, entry)))
    known = json.loads((bench.directory / "app.json").read_text())
    (bench.directory / "app.json").write_text(json.dumps({**known, "rules": bad}))
    (bench.directory / "study.yaml").write_text((bench.directory / "study.yaml").read_text() + "# by hand\n")
    again = Workbench(bench.directory, None)
    assert again.state == bench.state
    (told,) = again.problems
    assert "study.yaml" in told.message
    assert told.passing
    again.set_size(4)
    assert again.problems == [told]  # for whoever looks next
    again.close()


def test_rules_say_how_strictly_they_are_meant():
    evidence = Evidence.from_sets([[1, 1, 0]] * 5 + [[0, 1, 1]], ["a", "b", "c"])
    given = [max_size(2), cannot_link(["a", "b"], rho=0.1), cannot_link(["b", "c"], price=0.5)]
    hard, soft, priced = constraint_facts(decide(evidence, constraints=given))
    assert "Hard: it always holds" in rules([hard])
    assert "Hard" not in rules([soft, priced])
    assert "Price: 0.5 (3 votes)" in rules([priced])
