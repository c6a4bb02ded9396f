"""Write the report or the figures of a result again, in other formats, or everything as one zip to hand over.

ubayfs report results -o report.md
ubayfs report results -o panel.zip --with-data
ubayfs report results --figures figures --format svg
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .console import echo
from .steps import echo_advice

if TYPE_CHECKING:
    from ..results import StoredResult

_WORKBOOK, _ZIP = ".xlsx", ".zip"
Content = bytes | Callable[[], None]  # of a file, or what writes it


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("result", type=Path, help="directory of a result, as `ubayfs select` writes it")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        action="append",
        default=[],
        help="report: .html, .md, .json or .xlsx; or .zip: report, Excel table, study and a Python script that repeats "
        "the answer on another machine; may be repeated",
    )
    parser.add_argument("--with-data", action="store_true", help="the zip has the data, too")
    parser.add_argument("--figures", type=Path, metavar="DIRECTORY", help="write every figure there")
    parser.add_argument("--format", action="append", help="of figures: png (the default), svg or pdf; may be repeated")
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def run(arguments: argparse.Namespace) -> None:
    """Render and write; all files are refused or made together."""
    from .._arguments import check_choice
    from .._files import FIGURE_FORMATS
    from ..exceptions import InputError
    from ..report import RENDERERS
    from ..results import StoredResult
    from ..results.handover import write_handover

    if not arguments.output and arguments.figures is None:
        raise InputError(
            "nothing to write: name a report with -o report.html (or .md, .json, .xlsx, .zip), or --figures DIRECTORY."
        )
    suffixes = [*RENDERERS, _WORKBOOK, _ZIP]
    unknown = [path for path in arguments.output if path.suffix not in suffixes]
    if unknown:
        raise InputError(f"a report ends in {', '.join(suffixes)}; got {unknown[0]}.")
    zips = [path for path in arguments.output if path.suffix == _ZIP]
    if arguments.with_data and not zips:
        raise InputError("--with-data is about a zip; name one with -o result.zip.")
    formats = [check_choice("--format", format, FIGURE_FORMATS) for format in arguments.format or ["png"]]
    result = StoredResult(arguments.result)
    figures = {
        arguments.figures / f"{name}.{format}": (name, format)
        for name in (result.summary.displays if arguments.figures is not None else ())
        for format in formats
    }
    sources = {path.resolve() for path in result.sources}
    taken = [path for path in arguments.output if path.resolve() in sources]
    if taken:
        raise InputError(f"the result is read from {taken[0]}, which a report would replace. Choose another name.")
    existing = [path for path in [*arguments.output, *figures] if path.exists()]
    if existing and not arguments.force:
        raise InputError(f"{existing[0]} exists already. Choose another name, or replace it with --force.")
    reports = [path for path in arguments.output if path not in zips]
    zipped = {path: partial(write_handover, result, path, arguments.with_data) for path in zips}
    _write_all(_rendered(result, reports, figures) | zipped)
    for path in [*arguments.output, *figures]:
        echo(f"Wrote {path}")


def _rendered(
    result: StoredResult, reports: list[Path], figures: Mapping[Path, tuple[str, str]]
) -> dict[Path, Content]:
    """Return the content of each file; every display is drawn once at most."""
    from ..plotting import Figures, read_displays, render_figures
    from ..plotting.figures import page_format
    from ..report import RENDERERS, advice_facts, render_html
    from ..report.trust_sentences import three_facts
    from ..results.handover import workbook

    stored, drawn = result.summary, Figures({})
    trust = replace(stored.trust, result=str(result.directory))  # wherever it was moved to
    summary = replace(stored, trust=trust, facts=three_facts(trust))
    if figures or any(path.suffix == ".html" for path in reports):
        of_page = page_format(result.study.outputs.figures)
        formats = {of_page, *(format for _, format in figures.values())}
        displays = read_displays(summary.displays)
        drawn = render_figures(displays, sorted(formats), result.figures(summary.displays))
        echo_advice(advice_facts(drawn.advice))

    def rendered(suffix: str) -> bytes:
        if suffix == _WORKBOOK:
            return workbook(result)
        return (render_html(summary, drawn) if suffix == ".html" else RENDERERS[suffix](summary)).encode()

    contents: dict[Path, Content] = {path: rendered(path.suffix) for path in reports}
    return contents | {path: drawn.files[name][format] for path, (name, format) in figures.items()}


def _write_all(contents: Mapping[Path, Content]) -> None:
    """Write files; when one cannot be written, those before it are as they were."""
    from .._files import save_content
    from ..exceptions import InputError

    with ExitStack() as undo:
        for path, content in contents.items():
            back = partial(path.write_bytes, path.read_bytes()) if path.is_file() else path.unlink
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                save_content(path, content, InputError)
            else:
                content()
            undo.callback(back)
        undo.pop_all()
