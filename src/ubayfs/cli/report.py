"""Write the report or the figures of a result again, in other formats.

ubayfs report results -o report.md
ubayfs report results --figures figures --format svg
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .console import notes, say

_FORMATS = ("png", "svg", "pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("result", type=Path, help="directory of a result, as `ubayfs select` writes it")
    parser.add_argument(
        "-o", "--output", type=Path, action="append", default=[], help="report: .html, .md or .json; may be repeated"
    )
    parser.add_argument("--figures", type=Path, metavar="DIRECTORY", help="write every figure there")
    parser.add_argument("--format", choices=_FORMATS, action="append", help="of figures; default png; may be repeated")
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def run(arguments: argparse.Namespace) -> None:
    """Render and write; all files are refused or made together."""
    from ..exceptions import InputError
    from ..report import RENDERERS
    from ..results import read_result

    summary = read_result(arguments.result).summary
    if not arguments.output and arguments.figures is None:
        raise InputError("nothing to write: name a report with -o report.html (or .md, .json), or --figures DIRECTORY.")
    unknown = [path for path in arguments.output if path.suffix not in RENDERERS]
    if unknown:
        raise InputError(f"a report ends in {', '.join(RENDERERS)}; got {unknown[0]}.")
    figures = _figures(summary, arguments)
    existing = [path for path in [*arguments.output, *figures] if path.exists()]
    if existing and not arguments.force:
        raise InputError(f"{existing[0]} exists already. Choose another name, or replace it with --force.")
    with notes():
        _write(summary, arguments.output, figures)
    for path in [*arguments.output, *figures]:
        say(f"Wrote {path}")


def _figures(summary: Mapping[str, Any], arguments: argparse.Namespace) -> dict[Path, str]:
    """Return the name of the display that each figure file shows."""
    if arguments.figures is None:
        return {}
    displays = summary["displays"]
    return {arguments.figures / f"{name}.{suffix}": name for name in displays for suffix in arguments.format or ["png"]}


def _write(summary: Mapping[str, Any], reports: list[Path], figures: dict[Path, str]) -> None:
    """Render everything, then write it; when a file cannot be written, those before it are as they were."""
    from .._files import save_content
    from ..exceptions import InputError
    from ..plotting import DISPLAYS
    from ..report import RENDERERS

    contents = {path: RENDERERS[path.suffix](summary).encode() for path in reports}
    for path, name in figures.items():
        drawing = DISPLAYS[name].from_dict(summary["displays"][name]).plot()
        contents[path] = drawing.render(path.suffix.removeprefix("."))
    before = {path: path.read_bytes() if path.is_file() else None for path in contents}
    done: list[Path] = []
    try:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            save_content(path, content, InputError)
            done.append(path)
    except BaseException:
        for path in done:
            earlier = before[path]
            if earlier is None:
                path.unlink()
            else:
                path.write_bytes(earlier)
        raise
