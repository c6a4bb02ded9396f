"""The screen *What I know*: words and votes for features, before any votes of models are seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup
from nicegui import ui

from ..._plain import counted, listing
from ...knowledge.scale import DEFAULT_WEIGHT, UNLIKELY, number_or_word
from ...priors.knowledge import AS_STATED, LEARNED, POOLS
from ...priors.list_trust import FEWEST
from ...study import Expert
from ..sessions import ExpertSession
from ..view.features import WORDS, add_scripts, feature_grid, search_box
from ..view.fields import choice, entry, heading, panel, suggestions
from ..view.frame import address, button
from ..view.live import html, line, live, on, refreshed
from ..view.parts import badge, help_text, notice, paragraph, table, text
from .sources import draw_blocks, draw_sources

_MOST_ROWS = 100
_TRUST = {AS_STATED: "as stated", LEARNED: "as far as the votes agree (recommended)"}
_MARKED = "what you change from now on is marked in the report as changed after votes were seen"


def draw_know(bench: ExpertSession) -> None:
    """Draw the screen."""
    add_scripts()
    heading(
        "What do you know?",
        "State it before you see any votes. What you leave out is neutral: the models decide.",
    )
    _reading(bench)
    with ui.element("div").classes("columns") as content:
        with ui.element("div"):
            with panel("Features"):
                search_box()
                _toolbar()
                feature_grid(bench)
            with ui.element("div").classes("cards"):
                draw_blocks(bench)
                with ui.element("div"):
                    _default(bench)
                    _experts(bench)
        with ui.element("div"):
            _summary(bench)
            draw_sources(bench)

    @refreshed(bench, "facts", "status")
    def refresh() -> None:
        content.set_visibility(bench.facts is not None or bench.status != "no data")


def _reading(bench: ExpertSession) -> None:
    @live(bench, "facts", "status")
    def reading() -> None:
        if bench.facts is None:
            waiting = "The data are being read; the features appear here." if bench.status == "reading" else ""
            html(notice("info", waiting or "There are no features yet: add the data first."))
            if not waiting:
                ui.link("Data", address(bench, "data")).classes("button main")


def _toolbar() -> None:
    """Draw the words as buttons, with votes and why; all act on the selected features, in the browser."""
    with (
        ui.element("div")
        .classes("toolbar tour-target")
        .props('role=group aria-label="State of the selected features"') as bar
    ):
        for number, word in enumerate(WORDS, start=1):
            label = Markup("{} <kbd>{}</kbd>").format(word.capitalize(), number)
            _act(label, f"'{word}'").props(f'aria-keyshortcuts="{number}"')
        _act(Markup("Nothing <kbd>0</kbd>"), "null")
        with ui.element("div").classes("row"):
            votes = ui.element("input").props("type=number min=0 step=any placeholder=votes").classes("votes")
            votes.props["aria-label"] = "Votes that the selected features are worth"
            _act("Set votes", "bar.querySelector('.votes').value || undefined")
        why = ui.element("input").props('type=text placeholder="Why? (paper, experience ...)"').classes("why grow")
        why.props["aria-label"] = "Why, for what is stated next"
    bar.props["id"] = "state"


def _act(label: Any, word: str) -> ui.element:
    send = (
        "() => { const bar = document.getElementById('state'); const word = "
        + word
        + "; if (word === undefined) return;"
        " window.ubayfs.features.state(word, bar.querySelector('.why').value.trim() || null); }"
    )
    return html(text(label), tag="button").props("type=button").on("click", js_handler=send)


def _summary(bench: ExpertSession) -> None:
    with panel("What you stated"):

        @live(bench, "state", "facts", of=lambda: (bench.stated, bench.confirmed))
        def stated() -> None:
            html(stated_list(bench.stated))
            if bench.confirmed is None:
                line("Votes are shown to you once you confirm that this is complete.")
                button("Confirm: this is what I know", lambda _: bench.confirm(), classes="main").props(
                    "data-keep=confirm"
                )
            else:
                at = bench.confirmed[:16].replace("T", " ")
                html(notice("success", f"{at}: votes are shown to you, and {_MARKED}.", "Confirmed"))

    _trust_in_lists(bench)


def _trust_in_lists(bench: ExpertSession) -> None:
    def shown() -> tuple[bool, str]:
        return has_list(bench.stated), bench.state.study.prior.trust_in_lists

    @live(bench, "state", "facts", of=shown)
    def lists() -> None:
        listed, trusted = shown()
        if listed or trusted != AS_STATED:
            with panel("Lists of three or more features"):
                hint = f"With {_TRUST[LEARNED]!r}, a list that has no more votes than random features gets no weight."
                choice("Use them", _TRUST, trusted, lambda value: bench.set("prior", trust_in_lists=value), hint)


def has_list(stated: Mapping[str, Any]) -> bool:
    """Return whether three or more features are favored by the same word or number.

    >>> has_list({name: ("likely", "") for name in "abc"}), has_list({name: ("unlikely", "") for name in "abc"})
    (True, False)
    """
    times = Counter(word for word, _ in stated.values() if word not in ("neutral", UNLIKELY))
    return max(times.values(), default=0) >= FEWEST


def stated_list(stated: dict[str, Any]) -> Markup:
    """Return what was stated, by word.

    >>> stated_list({"age": ("likely", "a paper"), "crp": (3.0, "")}).striptags()
    'likely 1 feature: age votes 1 feature: crp (3)'
    """
    groups: dict[str, list[str]] = {word: [] for word in (*WORDS, "votes")}
    for name, (word, _) in stated.items():
        if isinstance(word, str):
            groups[word].append(name)
        else:
            groups["votes"].append(f"{name} ({word:g})")
    lines = [
        Markup("<li>{} {}: {}</li>").format(badge(word), counted(len(names), "feature"), text(listing(names, 5)))
        for word, names in groups.items()
        if names
    ]
    if not lines:
        return paragraph("Nothing yet: every feature is neutral.")
    return Markup('<ul class="stated">{}</ul>').format(Markup(" ").join(lines))


def _default(bench: ExpertSession) -> None:
    def weight() -> Any:
        return getattr(bench.state.study.prior.weights, "default", "")

    with panel("All other features"):
        hint = (
            f"Weight, in votes, of a feature about which nothing is stated; {DEFAULT_WEIGHT:g} lets the models decide."
        )
        field = entry("Default weight", weight(), lambda value: bench.set_default(number_or_word(value)), hint)
        on(bench, "state", lambda: field.show(weight()))


# -- several experts ---------------------------------------------------------------------------------------------------


def _experts(bench: ExpertSession) -> None:
    lead = "Each expert states words under a name, in a separate window, and sees the votes and the others' words "
    with panel("Several experts", f"{lead}after confirming their own."):
        expert_names = suggestions(list(bench.state.study.prior.experts or {}))

        def sit_down(name: str) -> None:
            ui.navigate.to(address(ExpertSession(bench.bench, bench.bench.join(name)), "know"))

        hint = "Empty: there is one expert, or what you state applies to all of them."
        entry("You are", bench.expert, sit_down, hint, listed=expert_names.html_id)

        @live(bench, "state", of=lambda: (bench.state.study.prior, bench.confirmed))
        def so_far() -> None:
            prior = bench.state.study.prior
            experts = prior.experts or {}
            if experts:
                done = [f"{name} (confirmed)" if expert.confirmed else name for name, expert in experts.items()]
                line(f"So far: {listing(done)}.")
            if len(experts) > 1 and bench.confirmed is not None:
                html(disagreement(experts))
                pool = help_text("prior", "pool")
                choice("Pooled by", tuple(POOLS), prior.pool, lambda value: bench.set("prior", pool=value), pool)


def disagreement(experts: Mapping[str, Expert]) -> Markup:
    """Return a table of the features of which experts state different things.

    >>> from ubayfs.study import Weights
    >>> first, second = Expert(Weights(features=(("age", "likely"),))), Expert(Weights(features=(("age", 3.0),)))
    >>> disagreement({"Ada": first, "Ben": second}).striptags()
    'They differ on 1 featureFeatureAdaBenagelikely3'
    """
    stated = {name: dict(expert.weights.features) for name, expert in experts.items()}
    words = {
        feature: [_shown(expert_words.get(feature)) for expert_words in stated.values()]
        for feature in dict.fromkeys(feature for expert_words in stated.values() for feature in expert_words)
    }
    rows = [[feature, *row] for feature, row in words.items() if len(set(row)) > 1]
    if not rows:
        return paragraph(f"{listing(list(stated))} agree.")
    return table(["Feature", *stated], rows[:_MOST_ROWS], f"They differ on {counted(len(rows), 'feature')}")


def _shown(word: Any) -> str:
    return "-" if word is None else word if isinstance(word, str) else f"{word:g}"
