"""A study that is open: its state, edits with undo and redo, what the worker found out about it, and its versions.

Every edit is in the log, on disk, before it is answered. Nothing here computes; `worker` does, in a process of its own.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .._arguments import feature_hint
from .._files import read_json, write_atomically
from .._plain import listing
from ..exceptions import InputError, UBayFSError
from ..results.file_set import FileSet
from ..study.study import Study, load_study
from .history import History, now
from .state import APP, HISTORY, STUDY, VERSION, VERSIONS, Rule, State, Word
from .worker import Worker

_MOST_STARTS = 3  # times that a worker that died is started again by itself


@dataclass(frozen=True)
class Event:
    """Something that changed: state, facts, status, problems, progress, votes, answer (with its stage), versions."""

    kind: str
    stage: str | None = None


class Workbench:
    """One open study; its methods may be called from any thread.

    Attributes
    ----------
    directory : Path
    state : State
    facts : dict or None
        Of the data, once they are read; None before.
    table : dict or None
        Of the table, also while something is wrong with its columns: columns, types, preview, notices.
    evidence : dict or None
        Of the ensemble: n_models, whether it is ``current`` (of these data and settings), ``n_stored`` finished runs.
    status : {"reading", "ready", "collecting", "deciding", "failed", "no data", "waiting"}
        Waiting: too many other studies are at work.
    problems : list of dict
        What is wrong with the study now: ``path``, ``message``, and ``rules``, the positions of the rules it is about.
    answer : dict
        By stage: set, reasons, alternatives, figures, trust; ``revision`` tells of which state.
    progress : dict or None
        ``part``, ``done``, ``total`` and ``seconds_left`` of what is being collected.
    votes : ndarray of int of shape (n_features,) or None
        To be shown only if ``state.confirmed``.
    stated : dict of str to (votes or word, why)
        What is known of features, with what tables, lists, patterns and blocks of the study state.
    revision : int
        Grows with each state.
    """

    def __init__(self, directory: str | Path, launch: Callable[..., Any] | None = Worker) -> None:
        self.directory = Path(directory).absolute()
        self._lock = threading.RLock()
        self._stack = ExitStack()
        self._stack.enter_context(FileSet(self.directory, ()).reserved())  # another server may have it open
        try:
            self._open_log()
        except BaseException:
            self._stack.close()
            raise
        self.revision = 0
        self.facts: dict[str, Any] | None = None
        self.evidence: dict[str, Any] | None = None
        self.answer: dict[str, Any] = {"revision": -1}
        self.progress: dict[str, Any] | None = None
        self.votes: Any = None
        self.status = "reading" if self.state.study.data.files[0] else "no data"
        self.problems: list[dict[str, Any]] = []
        self.table: dict[str, Any] | None = None
        self._known: frozenset[str] = frozenset()  # names of the features
        self._features: list[str] | None = None  # of the last set
        self._resolved: dict[str, Word] = {}
        self._n_ended, self._closed = 0, False
        self.used = time.monotonic()  # when something was last asked for
        self._listeners: dict[int, Callable[[Event], None]] = {}
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="ubayfs-files")
        self._launch = launch
        self._worker: Worker | None = None
        self._waiting: dict[int, Future[Any]] = {}
        self._numbers = itertools.count()
        self._labels: list[str] = []  # of edits since the last set
        self._save()
        self.wake()

    @classmethod
    def create(cls, directory: str | Path, state: State, launch: Callable[..., Any] | None = Worker) -> Workbench:
        """Make the directory of a study and open it."""
        place = Path(directory).absolute()
        place.mkdir(parents=True, exist_ok=True)
        if (place / HISTORY).exists():
            raise InputError(f"{place} has a study already; open it, or name another directory.")
        moved = state.study.moved_to(place)
        study = replace(moved, folder=place, outputs=replace(moved.outputs, directory="results"))
        History(place / HISTORY, replace(state, study=study).to_plain())
        return cls(place, launch)

    def _open_log(self) -> None:
        """Read the log; a study file that was edited elsewhere is one more edit, a damaged log begins anew from it."""
        path = self.directory / HISTORY
        self._history = History(path)
        app = read_json(self.directory / APP) if (self.directory / APP).is_file() else {}
        self._digests: list[str] = app.get("study_digests", [])
        state = State.from_plain(self._history.plain, self.directory)
        file = self.directory / STUDY
        by_hand = bool(self._digests) and file.is_file() and _digest(file.read_bytes()) not in self._digests
        if by_hand or self._history.damaged:
            state = self._as_in_file(load_study(file), app, state)
        if self._history.damaged:
            path.rename(path.with_name(f"history-damaged-{_digest(path.read_bytes())[:8]}.jsonl"))
            self._history = History(path, state.to_plain())
        self._history.add(f"{STUDY} was changed outside the app", state.to_plain())
        self.state = state

    def _as_in_file(self, study: Study, app: Mapping[str, Any], state: State) -> State:
        """Return the state with what the study file has; rules that are off, and why, are as they were."""
        before = [Rule(**rule) for rule in app.get("rules", [])] or list(state.rules)
        named = {rule.constraint: rule for rule in before}
        rules = [replace(named.get(each, Rule(each)), on=True) for each in study.constraints]
        off = [rule for rule in before if not rule.on and rule.constraint not in study.constraints]
        fixed = {key: app.get(key, getattr(state, key)) for key in ("name", "confirmed", "expert")}
        return State(study=replace(study, folder=self.directory), rules=(*rules, *off), **fixed)

    # -- what pages read -----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the study."""
        return self.state.name

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to undo."""
        return self._history.position > 0

    @property
    def can_redo(self) -> bool:
        """Whether there is an edit to do again."""
        return self._history.position < len(self._history.steps)

    @property
    def undo_label(self) -> str:
        """What would be undone."""
        return self._history.label(-1)

    @property
    def redo_label(self) -> str:
        """What would be done again."""
        return self._history.label(1)

    @property
    def stated(self) -> dict[str, Word]:
        """Votes or word, and why, of each feature of which the expert, or a table of the study, states something."""
        with self._lock:
            weights = self.state.weights(self._names())
            reasons = {name: dict(texts).get("why", "") for name, texts in weights.reasons}
            own: dict[str, Word] = {str(name): (stated, reasons.get(name, "")) for name, stated in weights.features}
            alone = not self.state.expert and not self.state.study.prior.experts
            return {**(self._resolved if alone else {}), **own}  # nobody sees what another expert states

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Call a function after each change, from the thread that made it; returns what ends this."""
        key = id(callback), object()
        with self._lock:
            self._listeners[hash(key)] = callback
        return lambda: self._listeners.pop(hash(key), None) and None

    def _publish(self, kind: str, stage: str | None = None) -> None:
        for callback in list(self._listeners.values()):
            callback(Event(kind, stage))

    # -- edits ---------------------------------------------------------------------------------------------------------

    def say(self, features: Iterable[str], stated: float | str | None, why: str | None = None) -> None:
        """State votes or a word of the scale for features; None: nothing is stated any more, why None: as it is."""
        names = list(features)
        what = "nothing" if stated is None else stated
        self._say(dict.fromkeys(names, (stated, why)), f"{listing(names, 3)}: {what}")

    def say_all(self, words: Mapping[str, Word], source: str) -> None:
        """State all that a list, a spreadsheet or a gene set says, as one edit."""
        self._say(words, f"{len(words)} features from {source}")

    def _say(self, words: Mapping[str, Word], label: str) -> None:
        names = self._names()
        absent = [] if names is None else [name for name in words if name not in self._known]
        if absent and names is not None:
            raise InputError.of("features", f"{absent[0]!r} is not in the data.{feature_hint(absent[0], names)}")
        # What a table or a list of the study states of a feature is outweighed by the default, by name.
        default = self.state.weights(names).default
        given = {
            name: (default if stated is None and name in self._resolved else stated, why)
            for name, (stated, why) in words.items()
        }
        self._edit(label, lambda state: state.with_words(given, names))

    def _names(self) -> list[str] | None:
        return None if self.facts is None else self.facts["feature_names"]

    def set_blocks(self, blocks: Any) -> None:
        """Replace the blocks, given as in a study file; None: there are none."""
        self._edit("Blocks", lambda state: state.with_study(blocks=blocks))

    def set_default(self, weight: float) -> None:
        """Replace the weight of all features of which nothing is stated."""
        self._edit(f"Default weight {weight}", lambda state: state.with_default(weight))

    def confirm(self) -> None:
        """Record that the knowledge is complete; from now on votes are shown, and no undo takes this back."""
        if self.state.confirmed is None:
            self._fix(confirmed=now())

    def set_expert(self, name: str) -> None:
        """Give words under another name from now on; under the first one, those that were given without a name, too."""
        name = name.strip()
        if name and not self.state.expert:
            self._edit(f"What was stated is by {name}", lambda state: state.stated_by(name))
        self._fix(expert=name)

    def rename(self, name: str) -> None:
        """Give the study another name."""
        if not name.strip():
            raise InputError.of("name", "must not be empty.")
        self._edit(f"Name {name.strip()}", lambda state: replace(state, name=name.strip()))

    def add_rule(self, constraint: Any, why: str = "") -> None:
        """Add a constraint, also as a study file has it, such as ``{"max_size": 10}``."""
        rule = Rule(constraint, why=why)
        self._edit(f"Add {rule.constraint}", lambda state: state.with_new_rule(rule))

    def change_rule(
        self, position: int, constraint: Any = None, on: bool | None = None, why: str | None = None
    ) -> None:
        """Replace a rule, switch it on or off, or change its reason; None: as it is."""
        changes = {"constraint": constraint, "on": on, "why": why}
        state = self.state.with_rule(position, **changes)
        turned = "" if on is None else "Switch on " if on else "Switch off "
        label = f"{turned or 'Change '}{state.rules[position].constraint}"
        self._edit(label, lambda state: state.with_rule(position, **changes))

    def remove_rule(self, position: int) -> None:
        """Remove a rule."""
        self._edit(f"Remove rule {position + 1}", lambda state: state.without_rule(position))

    def set_size(self, n: int) -> None:
        """Set the most features that the set may have."""
        self._edit(f"At most {n} features", lambda state: state.with_size(n))

    def set_data(self, **keys: Any) -> None:
        """Change keys of the section ``data`` of the study file."""
        self._set("data", keys)

    def set_evidence(self, **keys: Any) -> None:
        """Change keys of the section ``evidence``."""
        self._set("evidence", keys)

    def set_prior(self, **keys: Any) -> None:
        """Change keys of the section ``prior``, such as how experts are pooled."""
        self._set("prior", keys)

    def set_decision(self, **keys: Any) -> None:
        """Change keys of the section ``decision``."""
        self._set("decision", keys)

    def set_trust(self, **keys: Any) -> None:
        """Change keys of the section ``trust``."""
        self._set("trust", keys)

    def _set(self, section: str, keys: Mapping[str, Any]) -> None:
        shown = ", ".join(f"{key} {value}" for key, value in keys.items())
        self._edit(f"{section.capitalize()}: {shown}"[:200], lambda state: state.with_section(section, keys))

    def undo(self) -> None:
        """Take the last edit back, if there is one."""
        self._step(-1)

    def redo(self) -> None:
        """Do the last edit that was undone again, if there is one."""
        self._step(1)

    def _edit(self, label: str, change: Callable[[State], State]) -> None:
        """Change the state: checked, on disk, published, in this order; on any failure nothing is changed."""
        with self._lock:
            state = change(self.state)
            if self._history.add(label, state.to_plain()):
                self._enter(state, label)

    def _fix(self, **values: Any) -> None:
        with self._lock:
            state = replace(self.state, **values)
            if state != self.state:
                self._history.fix(**values)
                self._enter(state, "")

    def _step(self, by: int) -> None:
        with self._lock:
            label = self._history.step(by)
            if label is not None:
                back = State.from_plain(self._history.plain, self.directory)
                self._enter(back, f"{'redo' if by > 0 else 'undo'}: {label}")

    def _enter(self, state: State, label: str) -> None:
        self.state, self.revision = state, self.revision + 1
        self.problems = [problem for problem in self.problems if problem["source"] in ("study", "disk")]
        self._labels += [label] if label else []
        self._tell("state", self.revision, self.state)
        self._save()
        self._publish("state")

    # -- work and versions ---------------------------------------------------------------------------------------------

    def collect(self) -> None:
        """Run the ensemble, or the rest of it; finished runs are stored."""
        self._tell("collect")

    def stop(self) -> None:
        """Stop what is being collected; finished runs are used when it goes on."""
        self._tell("stop")

    def find_trust(self, level: str = "full") -> None:
        """Find out what a level of trust asks for, in the background."""
        self.request("trust", level=level)

    def figure(self, name: str) -> Future[bytes]:
        """Draw a figure of the answer, as SVG."""
        return self.request("figure", name=name)

    def request(self, kind: str, **payload: Any) -> Future[Any]:
        """Ask the worker: match, sizes, questions, substitutes, correlated, preview, estimate, ...

        ``await asyncio.wrap_future(...)`` gives the answer; what is wrong is raised there as UBayFSError.
        """
        future: Future[Any] = Future()
        number = next(self._numbers)
        self._waiting[number] = future
        self._tell("request", number, kind, payload)
        return future

    @property
    def idle(self) -> bool:
        """Whether nothing is being done for the study."""
        return self.progress is None and not self._waiting and self.status in ("ready", "no data", "failed")

    @property
    def resting(self) -> bool:
        """Whether no process works for the study."""
        return self._worker is None

    def wake(self) -> None:
        """Start the worker, unless it runs."""
        with self._lock:
            if self._worker is None and self._launch is not None and not self._closed:
                self._worker = self._launch(self.directory, self._receive)
                if self._worker is None:  # too many are at work
                    self.status = "waiting"
                    return
                self._worker.send("state", self.revision, self.state)

    def rest(self) -> None:
        """End the worker; what is known stays, and the next edit or request starts it again."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()
            self._give_up("The study was closed meanwhile.")

    def _tell(self, kind: str, *content: Any) -> None:
        """Send the worker a message; it is started if it rests."""
        self.used = time.monotonic()
        with self._lock:
            if self._worker is None and kind != "stop":
                self.wake()
                if kind == "state":  # a worker begins with the state
                    return
            if self._worker is not None:
                self._worker.send(kind, *content)
            elif kind == "request":
                self._give_up("Too many studies are at work; please try again in a moment.")

    # -- what the worker says ------------------------------------------------------------------------------------------

    def _receive(self, kind: str, content: tuple[Any, ...]) -> None:
        """Take a message of the worker over; called in the thread that listens."""
        with self._lock:
            if self._closed:
                return
            published = getattr(self, f"_on_{kind}")(*content)
        for event in published or ():
            self._publish(*event)

    def _on_status(self, status: str) -> Any:
        self.status = status
        return [("status",)]

    def _on_facts(self, facts: dict[str, Any]) -> Any:
        self.facts = facts if "feature_names" in facts else None
        self.table = facts
        self._known = frozenset(facts.get("feature_names", ()))
        self._save()
        return [("facts",)]

    def _on_evidence(self, revision: int, evidence: dict[str, Any] | None, votes: Any) -> Any:
        self.evidence, self.votes = evidence, votes
        if (evidence is None or not evidence["current"]) and revision == self.revision:
            self.answer = {"revision": revision}  # no set of an ensemble that the study does not ask for
        return [("votes",), ("answer", None)]

    def _on_votes(self, votes: Any) -> Any:
        self.votes = votes
        return [("votes",)]

    def _on_stated(self, revision: int, stated: dict[str, Word], block_of: dict[str, str]) -> Any:
        if revision != self.revision or self.facts is None:
            return None
        own = {name for name, _ in getattr(self.state.study.prior.weights, "features", ())}
        further = {name: word for name, word in stated.items() if name not in own}
        changed = further != self._resolved or block_of != self.facts.get("block_of")
        self._resolved, self.facts["block_of"] = further, block_of
        return [("facts",)] if changed else None

    def _on_progress(self, progress: dict[str, Any] | None) -> Any:
        self.progress = progress
        return [("progress",)]

    def _on_problems(self, revision: int, problems: list[dict[str, Any]]) -> Any:
        if revision not in (self.revision, -1):
            return None
        if problems and revision >= 0:
            self.answer = {"revision": revision}
        return [*self._set_problems("study" if revision >= 0 else "ensemble", problems), ("answer", None)]

    def _on_answer(self, revision: int, stage: str, content: dict[str, Any]) -> Any:
        if revision != self.revision:
            return None
        if stage == "set":
            before = self._features
            features = content["features"]
            content["added"] = [] if before is None else [name for name in features if name not in before]
            content["removed"] = [] if before is None else [name for name in before if name not in features]
            content["because"], self._labels = self._labels, []
            self.answer, self._features = {"revision": revision}, features
        self.answer[stage] = content
        return [("answer", stage)]

    def _on_reply(self, number: int, found: bool, content: Any) -> Any:
        future = self._waiting.pop(number, None)
        if future is not None and not future.cancelled():
            if found:
                future.set_result(content)
            else:
                future.set_exception(UBayFSError(content))

    def _on_failed(self, revision: int, message: str, details: str) -> Any:
        self.status = "failed"
        problem = _problem(f"This is a mistake of ubayfs: {message}") | {"details": details}
        return [("status",), *self._set_problems("study", [problem])]

    def _on_ended(self, code: int | None) -> Any:
        """Start a worker that died again: state, evidence and finished runs are on disk."""
        self._worker, self.progress = None, None
        self._give_up("The process of the study ended; it was started again. Please repeat this.")
        self._n_ended += 1
        message = f"The process of this study ended unexpectedly (code {code}) and was started again; nothing was lost."
        if self._n_ended > _MOST_STARTS:
            message = (
                f"The process of this study ended {self._n_ended} times (code {code}); the next edit starts it again."
            )
            self.status, self._n_ended = "failed", 0
        else:
            self.wake()
        return [
            ("status",),
            ("progress",),
            *self._set_problems("study", [{"path": [""], "message": message, "rules": []}]),
        ]

    def _give_up(self, message: str) -> None:
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.cancelled():
                future.set_exception(UBayFSError(message))

    @property
    def versions(self) -> list[dict[str, Any]]:
        """All versions, the oldest first: number, name, created, n_features, features."""
        found = []
        for place in (self.directory / VERSIONS).glob("*/manifest.json"):
            with suppress(UBayFSError, ValueError):
                known = read_json(place.parent / VERSION)
                found.append({key: entry for key, entry in known.items() if key != "state"})
        return sorted(found, key=lambda version: version["number"])

    def save_version(self, name: str) -> Future[dict[str, Any]]:
        """Write the answer as a complete result directory ``versions/<number>``; gives its entry of `versions`."""
        saved = self.request("version", name=name.strip())
        saved.add_done_callback(lambda done: self._publish("versions"))
        return saved

    def compare(self, first: int | None, second: int | None) -> Future[dict[str, Any]]:
        """Compare two versions as `ubayfs compare` does; None is the present answer."""
        return self.request("compare", first=first, second=second)

    def back_to(self, version: int) -> None:
        """Make the state that of a version; an edit like others, which can be undone."""
        known = read_json(self.directory / VERSIONS / str(int(version)) / VERSION)
        former = State.from_plain(known["state"], self.directory)
        label = f"Back to version {version}: {known['name']}"
        self._edit(label, lambda now: replace(former, name=now.name, confirmed=now.confirmed, expert=now.expert))

    def export(self, kind: str, version: int | None = None) -> Future[Path]:
        """Write a file for download: study, results (zip), report (HTML), excel or script."""
        return self.request("export", what=kind, version=version)

    # -- files ---------------------------------------------------------------------------------------------------------

    def _save(self) -> None:
        """Have the study file, and what it has no key for, written soon; the log has the edit already."""
        self._saved = self._writer.submit(self._write_files, self.revision)

    def flush(self) -> None:
        """Wait until the study file is as the state."""
        self._saved.result()

    def _write_files(self, revision: int) -> None:
        if revision != self.revision:  # a later edit writes them
            return
        state, position = self.state, self._history.position
        text = state.study.to_yaml().encode()
        self._digests.append(_digest(text))  # the file may have any of these if the program ends now
        plain = state.to_plain()
        app = {key: plain[key] for key in ("name", "rules", "confirmed", "expert")}
        app |= {"position": position, "changed": now(), "study_digests": self._digests}
        app |= {key: self.facts[key] for key in ("n_samples", "n_features") if self.facts is not None}
        try:
            write_atomically(self.directory / APP, json.dumps(app, ensure_ascii=False).encode("utf-8", "replace"))
            write_atomically(self.directory / STUDY, text)
            self._digests = self._digests[-1:]
            self._set_problems("disk", [])
        except OSError as error:
            message = (
                f"{self.directory / STUDY} could not be written ({error.strerror or error}); the edit is in the log."
            )
            self._set_problems("disk", [_problem(message)])
            self._publish("problems")

    def _set_problems(self, source: str, found: list[dict[str, Any]]) -> list[tuple[str]]:
        """Replace the problems of one source: study, ensemble, worker or disk."""
        others = [problem for problem in self.problems if problem["source"] != source]
        self.problems = others + [{**problem, "source": source, "revision": self.revision} for problem in found]
        return [("problems",)]

    def close(self) -> None:
        """End the worker and release the directory; everything is on disk already."""
        with self._lock:
            self._closed = True
        self.rest()
        self._writer.shutdown()
        self._stack.close()


def _problem(message: str) -> dict[str, Any]:
    return {"path": [""], "message": message, "rules": []}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
