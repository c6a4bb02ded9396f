"""The table of all features, with what is stated of them."""

from __future__ import annotations

import json
from typing import Any

from nicegui import ui

from ...knowledge.scale import number_or_word
from ..sessions import ExpertSession
from .frame import address
from .live import guarded, html, on, show_message
from .parts import choices

WORDS = ("very likely", "likely", "neutral", "unlikely")
_SCRIPTS = '<link rel="stylesheet" href="/_app/know.css"><script src="/_app/know.js" defer></script>'
# More changes than this are fetched, not sent.
_MOST_CHANGES = 2000


def add_scripts() -> None:
    """Have the page load styles and scripts of these screens."""
    ui.add_head_html(_SCRIPTS)


def _column(field: str, title: str, **more: Any) -> dict[str, Any]:
    shown = "p => window.ubayfs.features.visible(p.value)"
    hint = {":tooltipValueGetter": shown} if field in ("n", "y") else {}  # what may be longer than its cell
    return {"field": field, "headerName": title, ":valueFormatter": shown, **hint, **more}


def _options(url: str) -> dict[str, Any]:
    stated = {"editable": True, ":cellClass": "p => p.value === null ? '' : 'stated'"}
    return {
        "columnDefs": [
            _column("n", "Feature", flex=3, minWidth=120),
            _column("b", "Block", flex=1, minWidth=70),
            _column("w", "Word or votes", flex=1, minWidth=155, **stated),
            _column("y", "Why", flex=2, minWidth=80, editable=True),
            _column("v", "Votes", width=85, type="rightAligned", initialHide=True),
            {"colId": "card", "headerName": "Features", "flex": 1, "initialHide": True,
             ":cellRenderer": "p => window.ubayfs.features.card(p)"},
        ],
        "defaultColDef": {
            "sortable": True, "resizable": True,
            ":suppressKeyboardEvent": "p => !p.editing && ['0', '1', '2', '3', '4', '/'].includes(p.event.key)",
        },
        "rowSelection": {"mode": "multiRow", "selectAll": "filtered", "enableClickSelection": False},
        "suppressMovableColumns": True,
        "stopEditingWhenCellsLoseFocus": True,
        "readOnlyEdit": True,
        "animateRows": False,
        "overlayNoRowsTemplate": "<span>No features to show</span>",
        ":getRowId": "p => String(p.data.i)",
        ":isExternalFilterPresent": "() => window.ubayfs.features.filtering()",
        ":doesExternalFilterPass": "node => window.ubayfs.features.passes(node.data)",
        ":onGridReady": f"p => window.ubayfs.features.ready(p.api, {url!r})",
        ":onCellEditRequest": "p => window.ubayfs.features.edited(p)",
    }  # fmt: skip


def feature_grid(bench: ExpertSession) -> None:
    """Draw the table; what is stated there, a word or votes and why, is an edit.

    Rows are fetched by the browser; what changes later is sent as differences.
    """
    with ui.element("div").classes("features") as box:
        ui.aggrid(_options(address(bench, "features.json")))

    @guarded
    def arrived(event: Any) -> None:
        event_args, names = event.args, feature_names(bench)
        rows = [names[i] for i in event_args["rows"] if i in range(len(names))]
        if rows[:1] != [event_args["first"]][: len(event_args["rows"])]:
            load()  # the data are others now
        elif rows:
            bench.set_weight(rows, number_or_word(event_args["word"]), event_args["why"])
        else:
            how = "the box before each, or a cell and the space bar"
            show_message("info", f"Select features in the table first: {how}.")

    box.on("stated", arrived, js_handler="(e) => emit(e.detail)")
    shown, confirmed = bench.stated, bench.confirmed

    def load() -> None:
        ui.run_javascript("window.ubayfs.features.load()")

    def changed() -> None:
        nonlocal shown, confirmed
        before, shown = shown, bench.stated
        names = [name for name in before.keys() | shown.keys() if before.get(name) != shown.get(name)]
        if len(names) > _MOST_CHANGES or confirmed != bench.confirmed:
            confirmed = bench.confirmed
            load()
        elif names:
            places = {name: i for i, name in enumerate(feature_names(bench))}
            rows = [[places[name], *shown.get(name, (None, ""))] for name in names if name in places]
            ui.run_javascript(f"window.ubayfs.features.change({json.dumps(rows)})")

    on(bench, "state", changed)
    on(bench, "facts", load)
    on(bench, "votes", lambda: load() if bench.confirmed and bench.progress is None else None)


def feature_names(bench: ExpertSession) -> list[str]:
    """Return the names of the features; none while the data are not read."""
    facts = bench.facts
    return [] if facts is None else facts.feature_names


def search_box() -> None:
    """Draw the search, which filters in the browser at once, and how many features are shown."""
    with ui.element("div").classes("toolbar"):
        box = ui.element("input").props('type=text data-search placeholder="Search features ( / )"').classes("grow")
        box.props["aria-label"] = (
            "Search features by name, block or reason; the key / comes here, the arrow down leads to the features"
        )
        box.on("input", js_handler="(e) => window.ubayfs.features.filter(e.target.value, null)")
        box.on("keydown", js_handler="(e) => window.ubayfs.features.enter(e)")
        which = {"all": "All features", "stated": "With something stated", "none": "Without"}
        shown = html(choices(which, "all"), tag="select").props('aria-label="Which features are shown"')
        shown.on("change", js_handler="(e) => window.ubayfs.features.filter(null, e.target.value)")
        html("", tag="span").classes("features-count").props("role=status")
