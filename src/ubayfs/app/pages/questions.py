"""Questions about features, on the screen Answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from nicegui import ui

from ..._plain import counted
from ...exceptions import NotAnsweredError, UBayFSError
from ...knowledge.scale import VOTES
from ..view import answer_parts as parts
from ..view.fields import panel
from ..view.frame import button
from ..view.live import html, later, line, on
from ..view.parts import text

if TYPE_CHECKING:
    from ..seat import Seat

_N_QUESTIONS = 10


class Questions:
    """A panel with a stack of cards: the features about which an answer would change the set most."""

    def __init__(self, bench: Seat) -> None:
        self.bench = bench
        self.cards: list[dict[str, Any]] = []
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
        if waits and self.revision != revision and "reasons" in answer and answer["revision"] == revision:
            self.revision, self.is_looking = revision, True
            later(partial(self._fetch, revision))
        state = (self.is_open, waits, self.n_asked, self.cards[0]["feature"] if self.cards else None)
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

    def _draw_card(self, question: dict[str, Any]) -> None:
        name = question["feature"]
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
        self.bench.say([feature], word)
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
            found = await asyncio.wrap_future(self.bench.request("questions", n=wanted))
        except NotAnsweredError:
            if revision == self.revision:
                self.revision = -1  # they are asked for again once the worker has found the answer anew
            return
        except UBayFSError:
            found = []
        if revision == self.revision:
            self.is_looking = False
            self.cards = [card for card in found if card["feature"] not in self.skipped]
            self._refresh()
