"""Answer: the best set, what changed it, how far it can be trusted, why each feature is in it, what else would do."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup
from nicegui import ui

from ..._plain import counted, listing
from ...exceptions import InputError, NotAnsweredError, UBayFSError
from ...explain.questions import Question
from ...knowledge.patterns import Names
from ...knowledge.scale import VOTES, number_or_word
from ...report.facts import SizeScore, Unknown, ValidationFacts
from ...report.feature_sentences import effect
from ...report.sentences import NONE_CHOSEN, headline, proof, target_words
from ..sessions import ExpertSession
from ..view import answer_parts as parts
from ..view.fields import Field, choice, panel
from ..view.frame import address, button, status_text
from ..view.live import follow, guarded, html, later, line, live, on, refreshed
from ..view.names import names_field
from ..view.parts import notice, paragraph, text
from ..view.sections import key_field

_SMALLEST_RANGE, _MOST_SIZES = 20, 25
_N_QUESTIONS = 10
_MOST_NAMED = 12  # members that are named in the heading
# Settings that advice names.
_CONTROLS = {
    "without_votes": ("decision", "min_votes"),
    **dict.fromkeys(("time_limit", "alternatives_incomplete"), ("decision", "time_limit")),
}
_COMPUTING = paragraph("Computing ...", "empty")


def draw_answer(bench: ExpertSession) -> None:
    """Draw the screen."""
    follow(bench, lambda: _heading(bench), "answer", "state", "status")
    _draw_blocked(bench)
    with ui.element("div").classes("columns") as content:
        with ui.element("div"):
            follow(bench, lambda: parts.since(best) if (best := bench.answer.set) else Markup(), "answer")
            _draw_trust(bench)
            with ui.element("section").classes("panel tour-target").props('aria-label="The set"'):
                _draw_members(bench)
            with panel(
                "In the data", "On the samples that selected the features, so effects look larger than they are."
            ):
                follow(bench, lambda: _plots(bench), "answer")
            for title, (stage, make) in _EXPLANATIONS.items():
                with panel(title):
                    follow(bench, partial(_of_stage, bench, stage, make), "answer")
            _draw_figures(bench)
        with ui.element("div"):
            _draw_size(bench)
            Questions(bench)
            _draw_word(bench)
            with panel("Your rules"):
                follow(bench, lambda: _rules(bench), "answer")
                ui.link("Change the rules", address(bench, "rules"))

    @refreshed(bench, "answer", "state")
    def refresh() -> None:
        content.set_visibility(bench.answer.set is not None)


_EXPLANATIONS: dict[str, tuple[str, Callable[[Any], Markup]]] = {
    "Strong features left out": ("left_out", parts.left_out),
    "Almost as good": ("alternatives", parts.other_sets),
}


def _of_stage(bench: ExpertSession, stage: str, make: Callable[[Any], Markup]) -> Markup:
    answer = bench.answer
    if (error := answer.errors.get(stage)) is not None:
        return paragraph(error)
    content = getattr(answer, stage)
    return _COMPUTING if content is None else make(content)


# -- what is there, or why there is nothing ----------------------------------------------------------------------------


def _heading(bench: ExpertSession) -> Markup:
    answer, facts = bench.answer, bench.facts
    best = answer.set
    if best is None or facts is None:
        return Markup("<h1>Which features?</h1>")
    older = answer.revision != bench.revision
    proved = f"{proof(best.proved, True, best.gap)} Found in {max(best.seconds, 0.01):.2f} s."
    lead = "Your change is being applied ..." if older else proved
    page = Markup('<h1>{}</h1><p class="names">{}</p><p class="lead" role="status">{}</p>')
    title = headline(len(best.features), facts.n_features, best.measured)
    return page.format(text(title), text(listing([member.feature for member in best.chosen], _MOST_NAMED)), text(lead))


def _blocked(bench: ExpertSession) -> tuple[Markup, tuple[str, ...]]:
    """Return what to know of the set, or why there is none, and which buttons help."""
    if (best := bench.answer.set) is not None:
        return Markup().join(notice("warning", advice.message) for advice in best.advice), ()
    problems = bench.problems
    if bench.facts is None:
        if bench.status == "reading":
            return notice("info", "The data are being read."), ("data",)
        wait = "The data could not be read: see the problem above." if problems else "Add the data first."
        return notice("info", wait), ("data",)
    if bench.status == "collecting":
        return notice("info", status_text(bench), "The models are voting."), ()
    if not bench.evidence.is_current:
        wait = "No model has voted yet on these data and settings; the answer needs their votes."
        return notice("info", wait), ("run",)
    if bench.confirmed is None:
        message = (
            "The answer shows votes, and what you state after seeing them is not independent of the data. State what "
            "you know first, or confirm that nothing is missing."
        )
        return notice("info", message, "Hidden."), ("know", "confirm")
    if problems:
        return notice(
            "info", "There is no set until the problem above is solved. You can also undo your last change."
        ), ()
    return notice("info", "Searching for the best set ..."), ()


def _draw_controls(bench: ExpertSession) -> None:
    """Draw the settings that advice on the set names."""

    def wanted() -> list[tuple[str, str]]:
        best = bench.answer.set
        codes = [] if best is None else [advice.code for advice in best.advice]
        return list(dict.fromkeys(_CONTROLS[code] for code in codes if code in _CONTROLS))

    @live(bench, "answer", of=wanted, classes="fields")
    def controls() -> None:
        for section, key in wanted():
            key_field(bench, section, key)


def _draw_blocked(bench: ExpertSession) -> None:
    """Draw what to do first; buttons stay as they are while models vote."""
    place = html("")
    _draw_controls(bench)
    with ui.element("div").classes("row"):
        ways = {
            "data": ui.link("Data", address(bench, "data")).classes("button main"),
            "run": ui.link("Evidence: run the models", address(bench, "evidence")).classes("button main"),
            "know": ui.link("State what I know", address(bench, "know")).classes("button"),
            "confirm": button("I have stated what I know; show the answer", lambda _: bench.confirm(), classes="main"),
        }

    @refreshed(bench, "answer", "state", "status", "facts", "votes", "progress")
    def refresh() -> None:
        message, helpful = _blocked(bench)
        place.set_content(message)
        for name, way in ways.items():
            way.set_visibility(name in helpful)


# -- the set -----------------------------------------------------------------------------------------------------------


def _draw_members(bench: ExpertSession) -> None:
    def make() -> Markup:
        answer = bench.answer
        if answer.set is None:
            return Markup()
        if not answer.members:
            return paragraph(NONE_CHOSEN, "empty")
        n_models, ready = bench.evidence.n_models, answer.is_explained
        shown = () if answer.plots is None else answer.plots.chosen
        effects = {member.feature: effect(member) for member in shown}
        return parts.member_table(answer.members, bench.stated, n_models, answer.set.added, ready, effects)

    def state(event: Any) -> None:
        feature, word = event.args
        bench.set_weight([feature], number_or_word(word) if word else None)

    place = follow(bench, make, "answer", "state")
    place.on("change", guarded(state), js_handler="(e) => emit([e.target.dataset.feature, e.target.value])")


def _draw_word(bench: ExpertSession) -> None:
    """Draw a field to change what is stated of any feature."""
    with panel("Change your mind", "On any feature; those in the set have a list in their row."):
        named: list[str] = []
        place = ui.element("div")

        def names_by_votes() -> Names:
            facts, votes = bench.facts, bench.votes
            names = [] if facts is None else facts.feature_names
            if votes is not None and len(votes) == len(names):
                names = [names[i] for i in np.argsort(-np.asarray(votes), kind="stable")]
            return Names(names or None)

        def draw() -> None:
            place.clear()
            with place:
                names_field("Features", named, names_by_votes, "mind")

        def state(_: Any) -> None:
            if not named:
                raise InputError("there is nothing to state: type the name of a feature and press Enter.")
            names = names_by_votes()
            bench.set_weight(list(dict.fromkeys(name for each in named for name in names.find(each))), word.value)
            named.clear()
            draw()

        draw()
        word = choice("What you say of them", {None: "nothing", **{word: word for word in VOTES}}, "likely")
        button("State it", state).on("click", js_handler="() => window.ubayfs.forget('mind')")


def _draw_trust(bench: ExpertSession) -> None:
    def make() -> Markup:
        facts = bench.answer.facts
        if not facts:
            return _COMPUTING
        by_itself = () if bench.state.study.trust.level == "none" else ("related", "reproducibility")
        return parts.facts(facts, by_itself)

    def find_out(_: Any) -> Awaitable[Any]:
        return asyncio.wrap_future(bench.request("trust", level="full"))

    with panel("How far can it be trusted?"):
        follow(bench, make, "answer")
        note = html("", tag="p").classes("note").props("role=status")
        more = button("Test how well it predicts", find_out)

    @refreshed(bench, "answer", "progress", "status")
    def refresh() -> None:
        missing = [fact.fact for fact in bench.answer.facts if fact.state == "missing"]
        running = bench.progress is not None and bench.status != "collecting"
        note.set_content(text(status_text(bench) if running else ""))
        more.set_visibility("validation" in missing and not running)


def _rules(bench: ExpertSession) -> Markup:
    constraints = bench.answer.constraints
    if constraints is None:
        return _COMPUTING
    words = iter([rule.constraint.sentence for rule in bench.state.rules if rule.on])  # in the order of the answer
    return parts.rules(
        [fact if fact.from_prior else replace(fact, label=next(words, fact.label)) for fact in constraints]
    )


def _plots(bench: ExpertSession) -> Markup:
    answer = bench.answer
    validation = None if answer.latest is None else answer.latest.trust.validation
    validation_facts = validation if isinstance(validation, ValidationFacts) else None
    target = target_words(bench.state.study.data.target)
    page = _of_stage(bench, "plots", lambda stage: parts.plots(stage, validation_facts, target))
    if isinstance(validation, Unknown) and validation.state == "missing":
        page += paragraph("A test of how well the set predicts adds a plot of the predictions for held-out samples.")
    return page


def _draw_figures(bench: ExpertSession) -> None:
    with panel("More figures", "The report has all of them."):
        chosen: dict[str, Any] = {"name": None, "of": []}
        lists = ui.element("div").classes("row")
        place = html("")

        async def show(name: str) -> None:
            chosen["name"] = name
            place.set_content('<p class="empty">Drawing the figure ...</p>')
            figure = (bench.answer.figures or {}).get(name)  # a newer edit may remove it
            caption = name if figure is None else figure.caption
            try:
                encoded = base64.b64encode(await asyncio.wrap_future(bench.request("figure", name=name))).decode()
            except UBayFSError:
                if name == chosen["name"]:
                    place.set_content('<p class="empty">It could not be drawn; choose it once more.</p>')
                raise
            if name != chosen["name"]:
                return
            image = Markup('<img src="data:image/svg+xml;base64,{}" alt="{}">').format(encoded, text(caption))
            place.set_content(Markup("<figure>{}<figcaption>{}</figcaption></figure>").format(image, text(caption)))

        @refreshed(bench, "answer")
        def refresh() -> None:
            figures = bench.answer.figures
            if figures is None:
                return
            if chosen["of"] != list(figures):
                chosen["of"] = list(figures)
                lists.clear()
                with lists:
                    for name in figures:
                        button(name.replace("_", " ").capitalize(), lambda _, name=name: show(name))
            if chosen["name"] is not None and chosen["name"] not in figures:
                chosen["name"] = None
                place.set_content("")
            elif chosen["name"] is not None:
                later(lambda: _quietly(show(chosen["name"])))


async def _quietly(work: Awaitable[Any]) -> Any:
    """Await what a newer edit may end; None then."""
    try:
        return await work
    except (UBayFSError, KeyError):
        return None


# -- size --------------------------------------------------------------------------------------------------------------


def _limit(bench: ExpertSession) -> int:
    """Return the most features that the set may have by a rule, or those that it has."""
    for rule in bench.state.rules:
        n = dict(rule.constraint.arguments).get("n")
        if rule.on and rule.constraint.kind == "max_size" and isinstance(n, int):
            return n
    best = bench.answer.set
    return 1 if best is None else len(best.features) or 1


def _draw_size(bench: ExpertSession) -> None:
    with panel("How many features?"):
        field = Field("At most", _limit(bench), "", lambda n: bench.set_size(int(n) if n.isdecimal() else n), "size")
        with field.control:
            box = ui.element("input").props("type=range min=1 data-keep=size")
            html(text(_limit(bench)), tag="output")  # follows the box (static/app.js)
        field.holds(box)
        place = html("")
    seen: dict[str, Any] = {"set": None}

    @refreshed(bench, "state", "facts", "answer")
    def refresh() -> None:
        most, facts = max(2 * _limit(bench), _SMALLEST_RANGE), bench.facts
        box.props["max"] = most if facts is None else min(most, facts.n_features)
        box.update()
        field.show(_limit(bench))

    async def curve() -> None:
        answer = bench.answer
        if answer.set is None or not answer.is_explained or seen["set"] is answer.set:
            return
        seen["set"] = now = answer.set
        most, chosen = int(box.props["max"]), len(now.features)
        every = np.unique(np.linspace(1, most, min(most, _MOST_SIZES)).round().astype(int)).tolist()
        points = await _quietly(asyncio.wrap_future(bench.request("sizes", sizes=[*every, chosen])))
        if points and seen["set"] is now:
            place.set_content(parts.size_table(points, _size_scores(bench), chosen, most))

    box.props["defaultValue"] = _limit(bench)  # after the largest value
    on(bench, "answer", lambda: later(curve))
    later(curve)


def _size_scores(bench: ExpertSession) -> tuple[SizeScore, ...]:
    """Return how sets of each size predict held-out samples, as far as it is known."""
    latest = bench.answer.latest
    return () if latest is None or isinstance(latest.trust.validation, Unknown) else latest.trust.validation.sizes


# -- questions ---------------------------------------------------------------------------------------------------------


class Questions:
    """A panel with a stack of cards: the features about which an answer would change the set most."""

    def __init__(self, bench: ExpertSession) -> None:
        self.bench = bench
        self.cards: list[Question] = []
        self.n_asked, self.skipped = 0, set[str]()
        self.is_open = self.is_looking = False
        self.revision = -1  # of the answer that the cards are of, or that they are looked for
        self.shown: Any = None
        lead = "Your answer on these would change the set most. The report marks what is stated after votes were seen."
        with panel("Ask me about these", lead, "questions"):
            self.place = ui.element("div")
        self._refresh()
        on(bench, ("answer", "state"), self._refresh)

    def _refresh(self) -> None:
        """Draw the current part unless it is drawn already: a button must not vanish while it is pressed."""
        answer, revision = self.bench.answer, self.bench.revision
        waits = self.is_open and (self.is_looking or self.revision != revision)
        if waits and self.revision != revision and answer.reasons is not None and answer.revision == revision:
            self.revision, self.is_looking = revision, True
            later(partial(self._fetch, revision))
        state = (self.is_open, waits, self.n_asked, self.cards[0].feature if self.cards else None)
        if state == self.shown:
            return
        self.shown = state
        self.place.clear()
        with self.place:
            if not self.is_open:
                button(f"Ask me {_N_QUESTIONS} questions", self._begin, classes="main")
            elif self.cards and self.n_asked < _N_QUESTIONS:
                self._draw_card(self.cards[0])
            elif waits:
                line("Searching for the next question ...", "empty").props("role=status")
            else:
                done = (
                    f"{counted(self.n_asked, 'question')} answered." if self.n_asked else "No answer changes the set."
                )
                html(text(done), tag="p").props("role=status")
                button("Ask me more", self._begin)

    def _draw_card(self, question: Question) -> None:
        name = question.feature
        with ui.element("div").classes("card").props("role=group tabindex=-1 data-keep=card") as element:
            element.props["aria-label"] = f"Question about {name}"
            html(parts.card(question, self.n_asked + 1, _N_QUESTIONS))
            with ui.element("div").classes("row"):
                for key, word in enumerate(VOTES, start=1):
                    self._button(word.capitalize(), str(key), partial(self._answer, name, word))
                self._button("I do not know", "0", lambda _: self._skip(name))

    def _button(self, label: str, key: str, action: Callable[..., Any]) -> None:
        shown = button(label, action).props(f'data-key={key} aria-keyshortcuts={key} data-keep="card {key}"')
        shown.set_content(Markup("{} <kbd>{}</kbd>").format(label, key))

    def _begin(self, _: Any) -> None:
        self.is_open, self.n_asked, self.revision, self.cards = True, 0, -1, []
        self._refresh()

    def _answer(self, feature: str, word: str, _: Any = None) -> None:
        self.bench.set_weight([feature], word)
        self.n_asked, self.cards = self.n_asked + 1, []
        self._refresh()

    def _skip(self, feature: str) -> None:
        self.skipped.add(feature)
        self.n_asked, self.cards = self.n_asked + 1, self.cards[1:]
        self._refresh()

    async def _fetch(self, revision: int) -> None:
        """Ask for the questions of the present answer; after a newer edit they are asked for again."""
        wanted = _N_QUESTIONS + len(self.skipped)
        try:
            questions = await asyncio.wrap_future(self.bench.request("questions", n=wanted))
        except NotAnsweredError:
            if revision == self.revision:
                self.revision = -1  # they are asked for again once the worker has found the answer anew
            return
        except UBayFSError:
            questions = ()
        if revision == self.revision:
            self.is_looking = False
            self.cards = [card for card in questions if card.feature not in self.skipped]
            self._refresh()
