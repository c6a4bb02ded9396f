"""Versions of a study, and files for download: study, report, Excel table, and all that travels as one zip."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from .._files import write_atomically
from .._plain import plain
from ..exceptions import InputError
from ..plotting import Figures
from ..report import answer_of
from ..results import Result, StoredResult, reserve
from ..results.comparison import AnyResult, Comparison, Undocumented, compare
from ..results.finishing import finished
from ..results.handover import workbook, write_handover
from ..study.study import load_study
from .history import now
from .stages import total_cost
from .state import EXPORTS, VERSION, VERSIONS, slug
from .study_facts import Version

if TYPE_CHECKING:
    from .stages import Stages

_SECONDS_OF_DRAWS = 5.0  # a version is saved while its author waits; the draws that are done by then count


def save_version(stages: Stages, name: str) -> Version:
    """Write the answer as a complete result directory; it is there as a whole or not at all."""
    folder = stages.directory / VERSIONS
    number = 1 + max((int(place.name) for place in folder.glob("*") if place.name.isdecimal()), default=0)
    place = folder / str(number)
    place.mkdir(parents=True)
    try:
        title = f"{stages.state.name}, version {number}{f' ({name})' if name else ''}"  # type: ignore[union-attr]
        made = _write(stages, place, title)
        selection, state = made.selection, stages.state.to_plain()  # type: ignore[union-attr]
        n, features, cost = len(selection.features), selection.features, total_cost(selection)
        title = name or f"Version {number}"
        version = Version(number, title, now(), n, features, state, cost, made.summary.facts)
        write_atomically(place / VERSION, json.dumps(plain(version), ensure_ascii=False).encode("utf-8", "replace"))
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return version


def _write(stages: Stages, place: Path, title: str) -> Result:
    """Write the present answer as a result to a directory; `title` heads its report."""
    selection = stages.complete()
    moved = stages.resolve().study.moved_to(place)
    work = stages.work(_hurried)
    outputs = replace(moved.outputs, directory=".")
    work.study = replace(work.study, study=replace(moved, folder=place, outputs=outputs, title=title))
    if work.trust.reproducibility is None:
        work.assess_reproducibility(selection)
    answer = answer_of(selection, study=work.study, trust=work.trust)
    result, figures = finished(work, selection, answer, drawn=partial(_drawn, stages), advice=work.trust.advice)
    if not figures.missing_letters:  # which a figure that is not drawn again could not tell
        stages.drawn.update({name: (result.summary.displays[name], made) for name, made in figures.files.items()})
    with reserve(place, force=True) as write:
        write(result, figures=figures)
    return result


def _drawn(stages: Stages, displays: Mapping[str, Any]) -> Figures:
    """Return the figures of those displays that are the same as when they were last written."""
    drawn = {name: stages.drawn.get(name, (None, {})) for name in displays}  # another errand may add some meanwhile
    return Figures({name: made for name, (content, made) in drawn.items() if content == displays[name]})


@contextmanager
def _hurried(label: str, unit: str) -> Iterator[Callable[[int, int], bool]]:
    end = time.monotonic() + _SECONDS_OF_DRAWS
    yield lambda done, total: time.monotonic() < end


def compare_versions(stages: Stages, first: int | None, second: int | None) -> Comparison:
    """Compare two versions as `ubayfs compare` does, with causes; None is the present answer."""
    return compare(_side(stages, first), _side(stages, second), stages.data)


def _side(stages: Stages, version: int | None) -> AnyResult:
    if version is not None:
        return StoredResult(version_directory(stages.directory, version))
    selection = stages.decided  # raises if there is none
    assert stages.evidence is not None
    return Undocumented(stages.resolve().standalone, stages.evidence, selection)


def version_directory(directory: Path, version: int) -> Path:
    """Return the directory of a version."""
    place = directory / VERSIONS / str(int(version))
    if not (place / VERSION).is_file():
        raise InputError.of("version", f"{version} does not exist.", version)
    return place


# -- files for download ------------------------------------------------------------------------------------------------


def export(stages: Stages, what: str, version: int | None = None) -> Path:
    """Write a file for download below ``exports`` and return its path."""
    if what not in _KINDS:
        raise InputError.of("kind", f"must be one of {', '.join(_KINDS)}; got {what!r}.", what)
    folder = stages.directory / EXPORTS
    folder.mkdir(exist_ok=True)
    name = slug(stages.state.name)  # type: ignore[union-attr]
    target = folder / f"{name}{'' if version is None else f'-version-{int(version)}'}-{what}{_KINDS[what][0]}"
    with TemporaryDirectory(dir=folder) as temporary:
        place, made = Path(temporary), Path(temporary) / target.name
        if version is not None:
            place = version_directory(stages.directory, version)
        elif what == "study":  # before there is any answer, too
            stages.resolve().standalone.save(place / "study.yaml")
        else:
            place = _present(stages, folder / "present")
        _KINDS[what][1](place, made)
        os.replace(made, target)
    return target


def _present(stages: Stages, place: Path) -> Path:
    """Return a directory with the present answer as a result, which is written once for all kinds of files."""

    def written() -> Path:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        _write(stages, place, stages.state.name)  # type: ignore[union-attr]
        return place

    directory: Path = stages.written.get((stages.selection, stages.work().trust), written)
    return directory


def _study_file(place: Path, target: Path) -> None:
    """Write a study that finds its files from anywhere on this machine, and writes beside itself."""
    moved = load_study(place / "study.yaml").moved_to(None)
    moved = replace(moved, outputs=replace(moved.outputs, directory="results"))
    write_atomically(target, moved.to_yaml().encode())


_KINDS: dict[str, tuple[str, Callable[[Path, Path], Any]]] = {
    "study": (".yaml", _study_file),
    "report": (".html", lambda place, target: shutil.copyfile(place / "report.html", target)),
    "excel": (".xlsx", lambda place, target: write_atomically(target, workbook(StoredResult(place)))),
    "zip": (".zip", lambda place, target: write_handover(StoredResult(place), target)),
    "zip-with-data": (".zip", lambda place, target: write_handover(StoredResult(place), target, with_data=True)),
}
