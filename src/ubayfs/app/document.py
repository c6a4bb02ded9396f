"""A study on disk that is being edited: its state, edits with undo and redo, and its files.

Every edit is in the log, on disk, before it is answered.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from .. import __version__
from .._arguments import feature_hint
from .._files import read_json, write_atomically
from .._plain import decode, listing
from ..exceptions import InputError
from ..study.study import Study, load_study
from .history import History, now
from .state import APP, HISTORY, STUDY, VERSION, VERSIONS, Rule, State, Word
from .study_facts import DataFacts, ListedKnowledge, Problem, Version

LONGEST_NAME = 100  # letters of an expert
_MANY, _REST = 1000, 2.0  # words from which on the study file is written after so many seconds without an edit


class Document:
    """A study in its directory; its methods may be called from any thread.

    Attributes
    ----------
    directory : Path
    state : State
    facts : DataFacts or None
        Of the data, once they are read; None before.
    problems : list of Problem
        What is wrong with the study now.
    revision : int
        Grows with each state.
    """

    def __init__(self, directory: str | Path) -> None:
        from ..results.file_set import FileSet  # with plotting: a list of studies needs neither

        self.directory = Path(directory).absolute()
        self._lock = threading.RLock()
        self._stack = ExitStack()
        self._stack.enter_context(FileSet(self.directory, ()).reserved())  # another server may have it open
        self.state: State
        self.revision = 0
        self.facts: DataFacts | None = None
        self.problems: list[Problem] = []
        try:
            self._open_log()
        except BaseException:
            self._stack.close()
            raise
        self._listed = ListedKnowledge()
        self._listeners: dict[object, Callable[[str], None]] = {}
        self._hurry = threading.Event()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="ubayfs-files")
        self._save()

    def _open_log(self) -> None:
        """Read the log; a study file that was edited elsewhere is one more edit, a damaged log begins anew from it."""
        path, read = self.directory / HISTORY, partial(State.from_plain, folder=self.directory)
        self._history = History(path, read=read)
        app = read_json(self.directory / APP) if (self.directory / APP).is_file() else {}
        self._digests: list[str] = app.get("study_digests", [])
        state = self._history.state
        if self._history.damaged:
            lost = f"The log of edits is damaged. The study is as {STUDY} has it; earlier edits cannot be undone."
            message = f"{lost} The log is kept as {self._history.copy.name}."
            self._set_problems("log", [Problem(message, passing=True)])
        file = self.directory / STUDY
        by_hand = bool(self._digests) and file.is_file() and _digest(file.read_bytes()) not in self._digests
        if by_hand or self._history.damaged:
            state = self._as_in_file(load_study(file), app, state)
        if self._history.damaged:
            self._history = History(path, state.to_plain(), read)
        if by_hand:
            self._history.add(f"{STUDY} was changed outside the app", state.to_plain())
        self.state = state

    def _as_in_file(self, study: Study, app: Mapping[str, Any], state: State) -> State:
        """Return the state with what the study file has; rules that are off, and why, are as they were."""
        before = list(state.rules)
        with suppress(InputError, TypeError):  # of an earlier version
            before = [Rule(**rule) for rule in app.get("rules", [])] or before
        named = {rule.constraint: rule for rule in before}
        rules = [replace(named.get(each, Rule(each)), on=True) for each in study.constraints]
        off = [rule for rule in before if not rule.on and rule.constraint not in study.constraints]
        confirmed = State.of("", study).confirmed or state.confirmed
        name, moved = app.get("name", state.name), replace(study, folder=self.directory)
        corrected = dict.fromkeys([*state.corrected, "constraints"])  # who changed which rule is not known
        return State(name, moved, (*rules, *off), confirmed, tuple(corrected))

    # -- what pages read -----------------------------------------------------------------------------------------------

    def undo_label(self, expert: str = "") -> str:
        """Return what an expert would undo; empty if there is nothing."""
        return self._history.label(-1, expert)

    def redo_label(self, expert: str = "") -> str:
        """Return what an expert would do again; empty if there is nothing."""
        return self._history.label(1, expert)

    def words(self, expert: str = "") -> dict[str, Word]:
        """Return votes or word, and why, of each feature of which an expert, or a table of theirs, states something."""
        with self._lock:
            weights = self.state.weights(self._feature_names, expert)
            reasons = {name: dict(texts).get("why", "") for name, texts in weights.reasons}
            by_name: dict[str, Word] = {str(name): (word, reasons.get(name, "")) for name, word in weights.features}
            return {**self._listed.stated.get(expert, {}), **by_name}

    def subscribe(self, callback: Callable[[str], None]) -> Callable[[], Any]:
        """Call a function after each change, from the thread that made it; returns a function that ends this.

        Its argument names what changed: state, facts, status, problems, conditions, progress, votes, answer, versions.
        """
        key = object()
        self._listeners[key] = callback
        return lambda: self._listeners.pop(key, None)

    def _publish(self, *kinds: str) -> None:
        for kind in kinds:
            for callback in list(self._listeners.values()):
                callback(kind)

    # -- edits ---------------------------------------------------------------------------------------------------------

    def set_weight(
        self, features: Iterable[str], stated: float | str | None, why: str | None = None, expert: str = ""
    ) -> None:
        """State votes or a word of the scale for features; None: nothing is stated any more, why None: as it is."""
        names = list(features)
        what = "nothing" if stated is None else stated
        self._state_words(dict.fromkeys(names, (stated, why)), f"{listing(names, 3)}: {what}", expert)

    def set_weights(self, words: Mapping[str, Word], source: str, expert: str = "") -> None:
        """State all that a list, a spreadsheet or a gene set says, as one edit."""
        self._state_words(words, f"{len(words)} features from {source}", expert)

    def _state_words(self, words: Mapping[str, Word], label: str, expert: str) -> None:
        names = self._feature_names
        if names is not None:
            in_data = set(names)
            for name in words:
                if name not in in_data:
                    raise InputError.of("features", f"{name!r} is not in the data.{feature_hint(name, names)}")
        # What a table or a list of the study states of a feature is outweighed by the default, by name.
        default, listed = self.state.weights(names).default, self._listed.stated.get(expert, {})
        by_name = {
            name: (default if stated is None and name in listed else stated, why)
            for name, (stated, why) in words.items()
        }
        label = f"{expert}: {label}" if expert else label
        self._edit(label, lambda state: state.with_words(by_name, names, expert), expert)

    @property
    def _feature_names(self) -> list[str] | None:
        return None if self.facts is None else self.facts.feature_names

    def set_blocks(self, blocks: Any) -> None:
        """Replace the blocks, given as in a study file; None: there are none."""
        self._edit("Blocks", lambda state: state.with_study(blocks=blocks))

    def set_default(self, weight: float) -> None:
        """Replace the weight of all features of which nothing is stated."""
        self._edit(f"Default weight {weight}", lambda state: state.with_default(weight))

    def confirm(self, expert: str = "") -> None:
        """Record that an expert has stated everything: votes are shown to them now, and no undo changes that."""
        with self._lock:
            self._fix(confirmed={expert: now(), **self.state.confirmed})

    def join(self, name: str) -> str:
        """Let an expert state words under a name and return it; the first one takes over what was stated before."""
        name = name.strip()[:LONGEST_NAME]
        with self._lock:
            if name and not self.state.study.prior.experts:
                self._edit(f"What was stated is by {name}", lambda state: state.stated_by(name))
                if "" in self.state.confirmed:  # who has seen the votes stays the same person
                    self._fix(confirmed={name: self.state.confirmed[""], **self.state.confirmed})
        return name

    def rename(self, name: str) -> None:
        """Give the study another name."""
        if not name.strip():
            raise InputError.of("name", "must not be empty.")
        self._edit(f"Name {name.strip()}", lambda state: replace(state, name=name.strip()))

    def add_rule(self, constraint: Any, why: str = "") -> None:
        """Add a constraint, also as a study file has it, such as ``{"max_size": 10}``."""
        rule = Rule(constraint, why=why)
        self._edit(f"Add rule: {rule.constraint.sentence}"[:200], lambda state: state.with_new_rule(rule))

    def change_rule(
        self, position: int, constraint: Any = None, on: bool | None = None, why: str | None = None
    ) -> None:
        """Replace a rule, switch it on or off, or change its reason; None: as it is."""
        changes = {"constraint": constraint, "on": on, "why": why}
        state = self.state.with_rule(position, **changes)
        turned = "" if on is None else "Switch on " if on else "Switch off "
        label = f"{turned or 'Change '}rule: {state.rules[position].constraint.sentence}"[:200]
        self._edit(label, lambda state: state.with_rule(position, **changes))

    def remove_rule(self, position: int) -> None:
        """Remove a rule."""
        self._edit(f"Remove rule {position + 1}", lambda state: state.without_rule(position))

    def set_size(self, n: int) -> None:
        """Set the most features that the set may have."""
        self._edit(f"At most {n} features", lambda state: state.with_size(n))

    def set(self, section: str, **keys: Any) -> None:
        """Change keys of a section of the study file; what a person says of the data is not guessed anew."""
        self._edit(_set_label(section, keys), lambda state: state.corrected_by(section, keys))

    def guess(self, section: str, **keys: Any) -> None:
        """Change keys of a section to what was found out about the files."""
        self._edit(_set_label(section, keys), lambda state: state.with_section(section, keys))

    def guess_rules(self, constraints: Iterable[Any]) -> None:
        """Replace the rules, which no person has changed, by those that fit the files."""
        rules = tuple(map(Rule, constraints))
        if any(rule.constraint.kind != "max_size" or rule.why for rule in self.state.rules):  # of an earlier version
            return
        self._edit(
            f"Rules: {'; '.join(rule.constraint.sentence for rule in rules)}"[:200],
            lambda state: replace(state, rules=rules),
        )

    def undo(self, expert: str = "") -> None:
        """Take the last edit back that is not another expert's, if there is one."""
        self._step(-1, expert)

    def redo(self, expert: str = "") -> None:
        """Do the last edit that was undone again, if there is one."""
        self._step(1, expert)

    def _edit(self, label: str, change: Callable[[State], State], by: str = "") -> None:
        """Change the state: checked, on disk, published, in this order; on any failure nothing is changed."""
        with self._lock:
            state = change(self.state)
            if self._history.add(label, state.to_plain(), by):
                self._enter(state, label)

    def _fix(self, **values: Any) -> None:
        with self._lock:
            state = replace(self.state, **values)
            if state != self.state:
                self._history.fix(**values)
                self._enter(state, "")

    def _step(self, by: int, expert: str) -> None:
        with self._lock:
            label = self._history.step(by, expert)
            if label is not None:
                self._enter(self._history.state, f"{'redo' if by > 0 else 'undo'}: {label}")

    def _enter(self, state: State, label: str) -> None:
        self.state, self.revision = state, self.revision + 1
        self._entered(label)
        self._save()
        self._publish("state")

    def _entered(self, label: str) -> None:
        """Do what follows from another state, before listeners are called."""

    def back_to(self, version: int) -> None:
        """Make the state that of a version; an edit like others, which can be undone."""
        kept = read_version(self.directory / VERSIONS / str(int(version)))
        former = State.from_plain(kept.state, self.directory)
        label = f"Back to version {version}: {kept.name}"
        self._edit(label, lambda now: replace(former, name=now.name, confirmed=now.confirmed))

    # -- files ---------------------------------------------------------------------------------------------------------

    def _save(self) -> None:
        """Have the study file, and what it has no key for, written soon; the log has the edit already."""
        self._saved = self._writer.submit(self._write_files, self.revision)

    def flush(self) -> None:
        """Wait until the study file is as the state."""
        self._hurry.set()
        self._saved.result()
        self._hurry.clear()

    def _write_files(self, revision: int) -> None:
        many = sum(len(weights.features) for weights in self.state.named_weights.values()) > _MANY
        if many:  # writing takes seconds: only once edits have come to a rest
            self._hurry.wait(_REST)
        if revision != self.revision:  # a later edit writes them
            return
        state = self.state
        text = state.study.to_yaml(versions={"ubayfs": __version__}).encode()
        self._digests.append(_digest(text))  # the file may have any of these if the program ends now
        app: dict[str, Any] = {"name": state.name, "rules": [rule.to_plain() for rule in state.rules]}
        changed = max((step["time"] for step in self._history.steps), default=now())  # not when it was looked at
        app |= {"changed": changed, "study_digests": self._digests}
        is_known = state.study.data.files[0] and (self.directory / APP).is_file()  # as it was, until it is read again
        before = read_json(self.directory / APP) if is_known else {}
        app |= {key: getattr(self.facts, key, before.get(key)) for key in ("n_samples", "n_features")}
        try:
            write_atomically(self.directory / APP, json.dumps(app, ensure_ascii=False).encode("utf-8", "replace"))
            write_atomically(self.directory / STUDY, text)
            self._digests = self._digests[-1:]
            self._set_problems("disk", [])
        except OSError as error:
            why = error.strerror or error
            message = f"{self.directory / STUDY} could not be written ({why}); the edit is in the log."
            self._set_problems("disk", [Problem(message, passing=True)])
            self._publish("problems")

    def _set_problems(self, source: str, problems: Iterable[Problem]) -> None:
        """Replace the problems of one source."""
        with self._lock:  # the worker and the writer may find some at the same moment
            others = [problem for problem in self.problems if problem.source != source]
            new = [replace(problem, source=source, revision=self.revision) for problem in problems]
            self.problems = others + new

    def close(self) -> None:
        """Release the directory; everything is on disk already."""
        self._hurry.set()
        self._writer.shutdown()
        self._stack.close()


def read_version(place: Path) -> Version:
    """Return the version in a directory, as :func:`.export.save_version` wrote it."""
    return decode(Version, read_json(place / VERSION), lenient=True)


def _set_label(section: str, keys: Mapping[str, Any]) -> str:
    """Return what was set, in a few words; of many keys, those that are not as by default.

    >>> _set_label("data", {"target": None}), _set_label("data", {"path": "a.csv", "task": None})
    ('Data: target as by default', 'Data: path a.csv')
    """
    changed = {key: value for key, value in keys.items() if value is not None}
    shown = [f"{key} {value}" for key, value in changed.items()] or [f"{key} as by default" for key in keys]
    return f"{section.capitalize()}: {', '.join(shown)}"[:200]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
