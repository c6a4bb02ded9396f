"""Parts of *What I know* that take what experts have: pasted lists, spreadsheets, gene sets; and blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from nicegui import run, ui

from ..._plain import counted, listing
from ...data.blocks import Blocks
from ...exceptions import InputError
from ...knowledge.patterns import Names
from ...study.schema import plain_blocks
from ..matching import AMBIGUOUS, DAMAGED, UNKNOWN, Matching, UnmatchedName, match, stated_words
from ..sessions import ExpertSession
from ..view.features import WORDS, feature_names
from ..view.fields import choice, drop_zone, entry, panel, tick
from ..view.frame import address, as_sent, button
from ..view.live import clear_message, html, line, live, show_message
from ..view.names import names_field
from ..view.parts import notice, text

_ACCEPT = ".csv,.tsv,.txt,.xlsx,.xlsm,.gmt,.gz,.parquet"
_SHOWN = 30  # names with a choice of their own, and names that are listed
_MOST_SETS = 60
_GROUPS = {
    AMBIGUOUS: "Ambiguous: more than one feature may be meant",
    DAMAGED: "Damaged: a spreadsheet made a date of the name",
    UNKNOWN: "Unknown: not in the data",
}


class Intake:
    """What was read from one source and is not used yet; nothing of it is part of the study."""

    def __init__(self, bench: ExpertSession, place: ui.element, used: Callable[[], None]) -> None:
        self.bench, self.place, self.used = bench, place, used
        self.word: Any = "likely"
        self.choices: dict[str, str] = {}
        self.ticked: set[str] = set()

    async def read(self, source: Any) -> None:
        """Read a source and show what matches; what cannot be read is an error on the page."""
        facts, study = self.bench.facts, self.bench.state.study
        if facts is None:
            raise InputError("the data are not read yet; names are matched with their features.")
        try:
            matching: Any = await run.io_bound(match, source, facts.feature_names, study.prior.aliases, study.folder)
        except InputError as error:
            raise InputError(as_sent(self.bench, str(error))) from None
        clear = [each for each in matching.unmatched if len(each.candidates) == 1 and _is_clear(each)]
        self.choices = {each.name: each.candidates[0] for each in clear}
        self.ticked = set()
        self.show(matching)

    def show(self, matching: Matching) -> None:
        """Draw all groups of names as one message, with a choice for each."""
        self.place.clear()
        ui.run_javascript(f"document.getElementById('{self.place.html_id}').scrollIntoView({{block: 'nearest'}})")
        with self.place, ui.element("div").classes("found stack").props('role=region aria-label="What was found"'):
            html(text(f"{matching.source}: {counted(len(matching.features), 'feature')} found"), tag="h3")
            for problem in matching.problems[:_SHOWN]:
                html(notice("warning", problem))
            if matching.translated:
                pairs = [f"{name} is {feature}" for name, feature in matching.translated.items()]
                line(f"{len(pairs)} by another name: {listing(pairs)}.")
            for kind, words in _GROUPS.items():
                self._unmatched(matching, kind, words)
            if matching.sets:
                self._sets(matching)
            self._use(matching)

    def _unmatched(self, matching: Matching, kind: str, words: str) -> None:
        names = matching.unmatched_of(kind)
        if not names:
            return
        html(text(f"{words} ({counted(len(names), 'name')})"), tag="h3")
        offered = [unmatched for unmatched in names if unmatched.candidates][:_SHOWN]
        for unmatched in offered:
            options = {"": "leave it out", **{name: name for name in unmatched.candidates}}
            choose = partial(self.choices.__setitem__, unmatched.name)
            choice(unmatched.name, options, self.choices.get(unmatched.name, ""), choose)
        rest = [unmatched.name for unmatched in names if unmatched not in offered]
        if rest:
            line(f"Left out: {listing(rest, _SHOWN)}.")

    def _sets(self, matching: Matching) -> None:
        """Draw gene sets to tick, with a search."""
        html(text(f"{counted(len(matching.sets), 'gene set')}: tick those that are meant"), tag="h3")
        entry("Search gene sets", "", lambda wanted: listed(wanted))
        place = ui.element("div").classes("sets").props("tabindex=0 role=group aria-label='Gene sets'")

        def turn(name: str, value: bool) -> None:
            (self.ticked.add if value else self.ticked.discard)(name)

        def listed(wanted: str = "") -> None:
            names = [name for name in matching.sets if wanted.strip().lower() in name.lower()]
            place.clear()
            with place:
                for name in names[:_MOST_SETS]:
                    label = f"{name} ({counted(len(matching.sets[name]), 'feature')})"
                    tick(label, name in self.ticked, partial(turn, name))
                if len(names) > _MOST_SETS:
                    line(f"and {len(names) - _MOST_SETS:,} more; search for others")

        listed()

    def _use(self, matching: Matching) -> None:
        options: dict[Any, str] = {word: word for word in WORDS}
        hint, self.word = "", "likely"
        if _has_weights(matching):
            options[None], self.word = "nothing, only the weights of the table", None
            hint = "Rows with a weight of their own have that."
        choice("State of them", options, self.word, lambda word: setattr(self, "word", word), hint)
        with ui.element("div").classes("row"):
            button("Use", lambda _: self.use(matching), classes="main").props("data-keep=use-found")
            if matching.sets:
                button("Make blocks of them", lambda _: self.use_as_blocks(matching)).props("data-keep=use-blocks")
            button("Discard", lambda _: self.place.clear())

    def use(self, matching: Matching) -> None:
        """State what was found, as one edit."""
        chosen = {name: feature for name, feature in self.choices.items() if feature}
        ticked = self.ticked if matching.sets and not _has_weights(matching) else None  # rows of a table need no tick
        words = stated_words(matching, self.word, chosen, ticked)
        if not words:
            ticks = "tick gene sets first." if matching.sets else "select what is meant, or paste other names."
            raise InputError(f"there is nothing to state: {ticks}")
        self.bench.set_weights(words, matching.source)
        self._done(f"{counted(len(words), 'feature')} of {matching.source} stated.")

    def use_as_blocks(self, matching: Matching) -> None:
        """Make blocks of the ticked gene sets, beside those that there are."""
        chosen = {
            name: list(matching.sets[name]) for name in matching.sets if name in self.ticked and matching.sets[name]
        }
        if not chosen:
            raise InputError("there is nothing to make blocks of: tick gene sets that have features first.")
        _add_blocks(self.bench, chosen)
        self._done(f"{counted(len(chosen), 'block')} added.")

    def _done(self, message: str) -> None:
        show_message("success", message)
        self.place.clear()
        self.used()


def _is_clear(unmatched: UnmatchedName) -> bool:
    """Return whether a name means its candidate: it is damaged, or differs in capitals, blanks and signs only."""
    name, meant = (re.sub(r"[\W_]+", "", each).casefold() for each in (unmatched.name, unmatched.candidates[0]))
    return unmatched.kind == DAMAGED or name == meant


def _has_weights(matching: Matching) -> bool:
    return any(row.weight is not None for row in matching.rows)


def draw_sources(bench: ExpertSession) -> None:
    """Draw the places for pasted lists and for files."""
    with panel("Paste a list or add a file", classes="stack"):
        hint = "One name per line, or separated by commas or blanks. Names are matched with your features."
        pasted = entry("Names", "", None, hint, lines=4, draft="pasted", placeholder="TP53, KRAS ...")

        async def stored(path: str) -> None:
            clear_message()
            await intake.read(bench.directory / path)

        button("Check names", lambda _: intake.read(str(pasted.value))).props("data-keep=check-names")
        place = ui.element("div").props("aria-live=polite")
        intake = Intake(bench, place, lambda: pasted.clear(pasted.value))
        files = "Spreadsheet (feature, weight, why ...), list or gene sets (GMT)"
        drop_zone(files, address(bench, "upload"), stored, _ACCEPT)


# -- blocks ------------------------------------------------------------------------------------------------------------


def draw_blocks(bench: ExpertSession) -> None:
    """Draw the blocks of features, and ways to make them."""
    with panel("Blocks", "Groups of features that rules can be about: pathways, devices, kinds of measurements."):

        @live(bench, "state", "facts", of=lambda: (bench.state.study.blocks, _blocks_of(bench)))
        def blocks() -> None:
            declared, resolved = bench.state.study.blocks, _blocks_of(bench)
            listed = plain_blocks(declared) if isinstance(declared, Blocks) else {}  # listed by the study itself
            for name, features in list((resolved or listed).items())[:_MOST_SETS]:
                with ui.element("div").classes("row"):
                    shown = html(text(f"{name}: {counted(len(features), 'feature')}"), tag="span")
                    shown.props["title"] = listing(features)
                    if name in listed:
                        rest = {block: items for block, items in listed.items() if block != name}
                        remove = button("Remove", lambda _, rest=rest: bench.set_blocks(rest or None), classes="link")
                        remove.props["aria-label"] = f"Remove the block {name}"
            if len(resolved) > _MOST_SETS:
                line(f"and {len(resolved) - _MOST_SETS:,} more")
            if declared is not None:
                button("Remove all blocks", lambda _: bench.set_blocks(None), classes="link")
            else:
                line("They are your files." if resolved else "There are none.")

        hint = "Features whose names are the same up to this sign become a block, such as _ in mean_area."
        by_sign = "Make blocks by a sign in the names"
        entry(by_sign, "", lambda sign: bench.set_blocks({"prefix": sign} if sign else None), hint)
        _new_block(bench)


def _blocks_of(bench: ExpertSession) -> Mapping[str, list[str]]:
    facts = bench.facts
    return {} if facts is None else facts.blocks


def _new_block(bench: ExpertSession) -> None:
    members: list[str] = []
    name = entry("Or name a block ...", "", draft="block name")
    place = ui.element("div")

    def draw() -> None:
        place.clear()
        with place:
            label, draft = "... and its features", "block features"
            names_field(label, members, lambda: Names(feature_names(bench) or None), draft)

    def add(_: Any) -> None:
        if not name.value or not members:
            raise InputError("a block needs a name and features.")
        _add_blocks(bench, {str(name.value): list(members)})
        members.clear()
        name.show("")
        draw()

    draw()
    button("Add this block", add).on("click", js_handler="() => window.ubayfs.forget('block ')")


def _add_blocks(bench: ExpertSession, new: dict[str, list[str]]) -> None:
    """Add blocks to those that the study lists; blocks that a rule or a file makes give way."""
    declared = bench.state.study.blocks
    bench.set_blocks((plain_blocks(declared) if isinstance(declared, Blocks) else {}) | new)
