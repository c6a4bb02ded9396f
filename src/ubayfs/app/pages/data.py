"""Data: files, what their columns are, and what was read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup
from nicegui import app, ui

from ..._plain import counted, listing
from ...exceptions import InputError, NotAnsweredError, UBayFSError
from ...knowledge.patterns import Names
from ...report.document import Column
from ...study.schema import DataSection
from ..intake import begin, copy_sheet, inspected
from ..sessions import ExpertSession
from ..study_facts import DataFacts, Inspection, TableFacts
from ..view.fields import drop_zone, entry, fill, heading, panel, suggestions
from ..view.frame import address, as_sent, button
from ..view.live import clear_message, html, later, line, live, on, refreshed, show_message
from ..view.names import suggest
from ..view.parts import badge, notice, table, text
from ..view.sections import check_names, choices, key_field, label, meaning

Files = tuple[Mapping[str, str] | list[str], str | None]  # data tables, and the sample sheet
_ROLES = ("target", "groups", "adjust_for", "measured", "task", "missing", "ignore")  # what is asked first
_OF_COLUMNS = ("target", "groups", "adjust_for", "measured", "ignore")  # their values are names of columns
_READING = ("encoding", "id", "sheet", "samples_sheet")  # without these a file may not be read at all
_OFTEN = {"encoding": ("latin-1",)}  # values that often help where any is allowed
_FILES = ("path", "samples")  # drawn as a list of files
_ACCEPT = ".csv,.tsv,.txt,.gz,.xlsx,.xls,.parquet,.h5ad"


def draw_data(bench: ExpertSession) -> None:
    """Draw the screen."""
    _draw_ways_out(bench)
    heading(
        "What are your data?",
        "One table, or several of the same samples, and a sample sheet if the target is there. "
        "Everything that is guessed about them can be corrected here.",
    )
    inspections: list[Inspection] = []  # the last one, while this page is open
    with ui.element("div").classes("columns narrow-first"):
        with ui.element("div"):
            _draw_files(bench, inspections)
        with ui.element("div"):
            _draw_roles(bench, inspections)
            _draw_table(bench)


def _draw_ways_out(bench: ExpertSession) -> None:
    """Draw the settings that are ways out of what is wrong with the data, each as a button."""

    def use(key: str, value: str) -> None:
        bench.set("data", **{key: value})

    def about() -> list[Any]:
        return [problem.path for problem in bench.problems]

    @live(bench, "problems", of=about)
    def ways_out() -> None:
        for key in dict.fromkeys(str(path[1]) for path in about() if path[:1] == ("data",) and len(path) > 1):
            offered = [value for value in choices("data", key) or _OFTEN.get(key, ()) if value != "error"]
            if offered:
                with ui.element("div").classes("row ways-out"):
                    html(text(f"{label(key)}:"), tag="strong")
                    for value in offered:
                        words = meaning(value)
                        button(f"{words[:1].upper()}{words[1:]}", lambda _, key=key, value=value: use(key, value))


def _draw_files(bench: ExpertSession, inspections: list[Inspection]) -> None:
    adding = asyncio.Lock()
    declined: list[str] = []  # files of which a person said that they are data tables
    # How files were read of which nothing could be guessed, also before this page was opened again.
    unread: list[Any] = [] if _is_read(bench) or not _files(bench)[0] else [_how_read(bench)]

    async def take(paths: Mapping[str, str] | list[str], samples: str | None, propose: bool) -> None:
        if not paths:
            bench.set("data", path="", samples=None)
            return
        show_message("info", "Reading the files ...", "")
        data, corrected = bench.state.study.data, bench.state.corrected
        reading = {key: getattr(data, key) for key in _READING if key in corrected and getattr(data, key) is not None}
        target = data.target if isinstance(data.target, str) and "target" in corrected else None
        try:
            inspection = await inspected(bench, paths, samples, target=target, propose=propose, **reading)
        except UBayFSError as error:
            if _is_read(bench) or isinstance(error, NotAnsweredError):
                raise InputError(as_sent(bench, str(error))) from None
            # The problem stands above; how the files are read, such as the encoding, can be corrected.
            unread[:] = [_how_read(bench)]
            several = list(paths.values()) if isinstance(paths, Mapping) else paths
            bench.set("data", path=paths if len(several) > 1 else several[0], samples=samples)
            clear_message()
            return
        unread.clear()
        inspections[:] = [inspection]
        begin(bench.bench, inspection)
        _tell(inspection)

    async def change(files: Callable[[dict[str, str], str | None], Files], propose: bool = False) -> None:
        """Read the files after a change of their list, one change after another: several may arrive at once."""
        async with adding:
            await take(*files(*_files(bench)), propose)

    async def decline(path: str) -> None:
        declined.append(path)
        await change(lambda now, _: ([*now.values(), path], None))

    async def take_sheet(path: str, sheet: str) -> None:
        copied = await asyncio.to_thread(copy_sheet, bench.directory / path, sheet, bench.directory / "uploads")
        await change(lambda now, _: (now, f"uploads/{copied.name}"))

    async def add(path: str) -> None:
        path = _allowed(bench, path)

        def with_it(tables: dict[str, str], samples: str | None) -> Files:
            if not inspections and not _is_read(bench):
                return [path], None  # instead of a file that is no table
            if path == samples:
                return tables, path
            return [*_but(path, tables).values(), path], samples

        await change(with_it, propose=not declined)

    async def name_path(path: str) -> None:
        if path.strip():
            await add(path)
            field.clear(path)

    with panel("Study"):
        name = entry("Name of the study", bench.state.name, bench.rename)
        on(bench, "state", lambda: name.show(bench.state.name))
    with panel("Files", "CSV, TSV (also .gz), GEO series matrix, Parquet, Excel or AnnData."):

        @live(bench, "state", of=lambda: (_files(bench), _sheets(inspections)))
        def files() -> None:
            tables, samples = _files(bench)
            described = samples or bench.state.study.data.samples_sheet
            for block, path in tables.items():
                with ui.element("div").classes("row file"):
                    html(text(Path(path).name), tag="strong")
                    if len(tables) > 1:
                        entry("Block", block, partial(_rename, bench, block), draft=f"block {block}")
                    button("Remove", lambda _, path=path: change(lambda now, samples: (_but(path, now), samples)))
                    for sheet in _sheets(inspections)[1:] if len(tables) == 1 and not described else ():
                        button(
                            f"Its sheet {sheet} describes the samples",
                            lambda _, path=path, sheet=sheet: take_sheet(path, sheet),
                        )
                    if len(tables) > 1 and samples is None:
                        sheet = "Is the sample sheet"
                        button(sheet, lambda _, path=path: change(lambda now, _: (_but(path, now), path)))
            if samples is not None:
                with ui.element("div").classes("row file"):
                    html(text(Path(samples).name), tag="strong")
                    html(badge("sample sheet"), tag="span")
                    button("Remove", lambda _: change(lambda now, _: (now, None)))
                    button("Is a data table", lambda _: decline(samples))

        drop_zone("Drop files here", address(bench, "upload"), add, _ACCEPT)
        named = "Or the path of a file on this machine"
        field = entry(named, "", name_path, draft="path", placeholder="/home/me/cells.csv")
        again = button("Guess the columns again", lambda _: change(lambda *now: now))

    @refreshed(bench, "state")
    def refresh() -> None:
        again.set_visibility(bool(_files(bench)[0]))
        if unread and unread[0] != _how_read(bench):
            unread.clear()
            later(lambda: change(lambda *now: now))


def _files(bench: ExpertSession) -> tuple[dict[str, str], str | None]:
    """Return the data tables by block, and the sample sheet."""
    data = bench.state.study.data
    named = data.path if isinstance(data.path, dict) else {Path(data.path).name.split(".")[0]: data.path}
    return {block: path for block, path in named.items() if path}, data.samples


def _how_read(bench: ExpertSession) -> list[Any]:
    return [getattr(bench.state.study.data, key) for key in _READING]


def _but(path: str, tables: Mapping[str, str]) -> dict[str, str]:
    return {block: file for block, file in tables.items() if file != path}


def _is_read(bench: ExpertSession) -> bool:
    return bench.status in ("reading", "waiting") or bench.facts is not None


def _sheets(inspections: Sequence[Inspection]) -> tuple[str, ...]:
    return inspections[0].sheets if inspections else ()


def _rename(bench: ExpertSession, block: str, name: str) -> None:
    tables, _ = _files(bench)
    if not name.strip() or (name != block and name in tables):
        raise InputError.of("block", "must have a name of its own.", name)
    bench.set("data", path={name.strip() if each == block else each: path for each, path in tables.items()})


def _allowed(bench: ExpertSession, path: str) -> str:
    """Return a path that may be read; a server for others reads only files in the directory of its studies."""
    typed = path.strip().strip("\"'")
    if not typed or "\0" in typed:
        raise InputError.of("path", "must name a file.")
    at = (bench.directory / Path(typed).expanduser()).resolve()
    if not getattr(app.state, "anywhere", True) and not at.is_relative_to(bench.directory.parent.resolve()):
        raise InputError.of("path", "must lie in the directory of the studies of this server; send the file instead.")
    if not at.is_file():
        raise InputError.of("path", f"names no file: {typed}", typed)
    return at.relative_to(bench.directory).as_posix() if at.is_relative_to(bench.directory) else at.as_posix()


def _tell(inspection: Inspection) -> None:
    """Show what was guessed, for a person to correct."""
    target, sheets = inspection.study["data"].get("target"), inspection.sheets[1:]
    if inspection.is_undecided:
        guess = f"Which column is the target? It may be {', '.join(inspection.columns[:5])}. Select it below."
    elif target is None and sheets:
        guess = f"No target was found. There are other sheets ({listing(sheets)}): does one describe the samples? "
        guess += "Press its button under Files."
    elif target is None:
        guess = "No target was found; if there is one, choose it below."
    else:
        is_survival = isinstance(target, Mapping)
        seems = f"survival: time {target['time']!r}, event {target['event']!r}" if is_survival else repr(target)
        guess = f"The target seems to be {seems}; correct it below if it is not."
    sheet = inspection.proposed_sheet
    about = [f"{sheet} seems to describe the samples: it is the sample sheet, unless you press Is a data table."]
    lines = [*inspection.orientation, *(about if sheet else ()), guess]
    show_message("warning" if inspection.is_undecided else "info", "\n".join(lines), "Read.")


def _draw_roles(bench: ExpertSession, inspections: Sequence[Inspection]) -> None:
    def columns() -> Names:
        """Return the columns, the likeliest targets first."""
        table = bench.table
        likely = inspections[0].columns if inspections else ()
        return Names(None if table is None else dict.fromkeys([*likely, *table.columns]), "column")

    with panel("Columns", "What is to be explained, and what else the columns are.", "tour-target"):
        sheets = suggestions()
        empty = line("Add a file first.", "empty")
        with ui.element("div") as fields:
            with ui.element("div").classes("fields"):
                for key in _ROLES:
                    key_field(bench, "data", key, names=columns if key in _OF_COLUMNS else None)
            _draw_survival(bench, columns)
            with ui.element("details"):
                html(text("How the files are read"), tag="summary")
                with ui.element("div").classes("fields inner"):
                    for key in [key for key in DataSection.keys() if key not in (*_ROLES, *_FILES)]:  # noqa: SIM118
                        key_field(bench, "data", key, sheets.html_id if key == "sheet" else "")

    @refreshed(bench, "state")
    def refresh() -> None:
        has_files = bool(_files(bench)[0])
        empty.set_visibility(not has_files)
        fields.set_visibility(has_files)
        fill(sheets, _sheets(inspections))


def _draw_survival(bench: ExpertSession, columns: Callable[[], Names]) -> None:
    """Draw the two columns that are a target of survival times."""

    def now(part: str) -> str:
        target = bench.state.study.data.target
        return str(target.get(part, "")) if isinstance(target, Mapping) else ""

    def changed(name: str) -> None:
        check_names("target", columns(), name.strip() or None)
        columns_typed = {part: str(field.value).strip() for part, field in boxes.items()}
        if all(columns_typed.values()) or not any(columns_typed.values()):
            bench.set("data", target=columns_typed if all(columns_typed.values()) else None)

    with ui.element("details").props("open" if now("time") else "") as place:
        html(text("Survival times: two columns are the target"), tag="summary")
        with ui.element("div").classes("fields inner"):
            hints = {
                "time": "Until the event or the last visit.",
                "event": "Whether it was seen: 1 or 0, dead or alive.",
            }
            boxes = {part: entry(part.capitalize(), now(part), changed, hint) for part, hint in hints.items()}
            for field in boxes.values():
                suggest(field.box, lambda: columns().names)

    def refresh() -> None:
        if now("time") and not boxes["time"].value:  # it was found out, or typed above
            place.props("open")
        for part, field in boxes.items():
            field.show(now(part))

    on(bench, "state", refresh)


def _draw_table(bench: ExpertSession) -> None:
    with panel("What was read"):

        @live(bench, "facts", "status")
        def content() -> None:
            read, facts = None if bench.status == "no data" else bench.table, bench.facts
            if read is None:
                waiting = "Reading the data ..." if bench.status == "reading" else "Nothing yet."
                line(waiting, "empty")
                return
            if bench.status == "reading":
                html(notice("info", "The data are being read again; this is what was read before.", ""))
            if facts is not None:
                _draw_figures(facts)
            notes = [advice.message for advice in (facts or read).notices]
            notes += [facts.missing] if facts is not None and facts.missing else []
            if notes:
                listed = Markup().join(map(Markup("<li>{}</li>").format, map(text, notes)))
                html(notice("info", Markup("<ul>{}</ul>").format(listed), counted(len(notes), "note")))
            _draw_preview(read)


def _draw_figures(facts: DataFacts) -> None:
    shares = ", ".join(f"{name}: {count:,}" for name, count in facts.classes)
    groups = "" if facts.n_groups is None else f"of {facts.n_groups:,} groups"
    figures = [
        (f"{facts.n_samples:,}", "samples", groups), (f"{facts.n_features:,}", "features", ""),
        (facts.task, "task", shares), (f"{facts.n_missing:,}", "missing values", ""),
    ]  # fmt: skip
    cells = (
        f'<div><dt>{text(what)}</dt><dd class="value">{text(value)}</dd><dd class="remark">{text(remark)}</dd></div>'
        for value, what, remark in figures
    )
    html("".join(cells), tag="dl").classes("key")


def _draw_preview(read: TableFacts) -> None:
    preview = read.preview
    columns = zip(preview.columns, preview.types, strict=True)
    titles = [Column("Sample"), *(Column(str(name), note=kind) for name, kind in columns)]
    rows = [[name, *cells] for name, cells in zip(preview.index, preview.rows, strict=True)]
    caption = f"The first {len(rows)} rows and {len(preview.columns)} of {len(read.columns):,} columns"
    html(table(titles, rows, caption, wide=True)).classes("preview")
