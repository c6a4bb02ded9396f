"""Versions of a study, and files for download: study, result, report, Excel table and a Python script."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from .. import __version__
from .._files import protected, write_atomically
from .._plain import plain
from ..constraints.sizes import with_supported
from ..exceptions import InputError
from ..plotting import Figures
from ..report import answer_of
from ..results import Result, StoredResult, reserve
from ..results.comparison import AnyResult, Comparison, Undocumented, compare
from ..results.file_set import MANIFEST
from ..results.finishing import finished
from ..study.study import Study, load_study
from .history import now
from .state import EXPORTS, VERSION, VERSIONS, slug
from .study_facts import Version

if TYPE_CHECKING:
    from .stages import Stages

_SECONDS_OF_DRAWS = 5.0  # a version is saved while its author waits; the draws that are done by then count
_SCRIPT = '''\
"""Repeats a selection of features; needs ubayfs {version}, and the data where the study says."""

from pathlib import Path

from ubayfs.study import load_study

STUDY = {study!r}

file = Path(__file__).with_suffix(".yaml")
file.write_text(STUDY, encoding="utf-8")
study = load_study(file)
data = study.read_data()
evidence = study.collect(data)
selection = study.decide(evidence, data)
print(*selection.features, sep="\\n")

expected = {features!r}
assert list(selection.features) == expected, "this is another set than before"
'''


def save_version(stages: Stages, name: str) -> Version:
    """Write the answer as a complete result directory; it is there as a whole or not at all."""
    folder = stages.directory / VERSIONS
    number = 1 + max((int(place.name) for place in folder.glob("*") if place.name.isdecimal()), default=0)
    place = folder / str(number)
    place.mkdir(parents=True)
    try:
        features = _write(stages, place).selection.features
        state = stages.state.to_plain()  # type: ignore[union-attr]
        version = Version(number, name or f"Version {number}", now(), len(features), features, state)
        write_atomically(place / VERSION, json.dumps(plain(version), ensure_ascii=False).encode("utf-8", "replace"))
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return version


def _write(stages: Stages, place: Path) -> Result:
    """Write the present answer as a result to a directory."""
    selection = stages.complete()
    moved = stages.resolve().study.moved_to(place)
    work = stages.work(_hurried)
    outputs = replace(moved.outputs, directory=".")
    work.study = replace(work.study, study=replace(moved, folder=place, outputs=outputs))
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
    known = {name: stages.drawn.get(name, (None, {})) for name in displays}  # another errand may add some meanwhile
    return Figures({name: made for name, (content, made) in known.items() if content == displays[name]})


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
        _write(stages, place)
        return place

    directory: Path = stages.written.get((stages.selection, stages.work().trust), written)
    return directory


def _study_file(place: Path, target: Path) -> None:
    write_atomically(target, _for_anywhere(load_study(place / "study.yaml"), "results").to_yaml().encode())


def _for_anywhere(study: Study, directory: str) -> Study:
    """Return a study that finds its files from anywhere on this machine, and writes beside itself."""
    moved = study.moved_to(None)
    return replace(moved, outputs=replace(moved.outputs, directory=directory))


def _zipped(place: Path, target: Path) -> None:
    """Pack a result; where it is unpacked, its study finds the data on this machine."""
    study = _for_anywhere(load_study(place / "study.yaml"), ".").to_yaml().encode()
    manifest = json.loads((place / MANIFEST).read_bytes())
    manifest["files"]["study.yaml"] = hashlib.sha256(study).hexdigest()
    changed = {"study.yaml": study, MANIFEST: json.dumps(manifest, indent=2).encode()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(place.rglob("*")):
            if path.is_file() and not path.name.startswith("."):
                name = path.relative_to(place).as_posix()
                archive.writestr(f"results/{name}", changed.get(name) or path.read_bytes())


def _script(place: Path, target: Path) -> None:
    stored = StoredResult(place)
    constraints = stored.selection.provenance.get("constraints", ())
    sizes = [given["arguments"]["n"] for given in constraints if given.get("note") == "supported"]
    study = _for_anywhere(stored.study, "results")
    study = replace(study, constraints=with_supported(study.constraints, sizes[0])) if sizes else study
    text = _SCRIPT.format(version=__version__, study=study.to_yaml(), features=list(stored.selection.features))
    write_atomically(target, text.encode())


def _excel(place: Path, target: Path) -> None:
    """Write the chosen features, all features, the constraints and the study as sheets."""
    import pandas as pd

    stored = StoredResult(place)
    selection, summary, prior = stored.selection, stored.summary, stored.study.prior
    reasons = {name: dict(texts).get("why") for name, texts in getattr(prior.weights, "reasons", ())}
    stated = dict(getattr(prior.weights, "features", ()))
    names = [str(name) for name in selection.feature_names]
    everything = pd.DataFrame(
        {
            "feature": names,
            "chosen": ["yes" if chosen else "" for chosen in selection.mask],
            "votes": stored.evidence.counts,
            "stated": [stated.get(name) for name in names],
            "why": [reasons.get(name) for name in names],
            "weight": selection.weights,
            "importance": selection.importance,
        }
    ).sort_values("importance", ascending=False, kind="stable")
    constraints = [
        {"label": each.label, "holds": each.holds, "violation": each.violation, "admissibility": each.admissibility,
         "cost_votes": each.cost_votes}
        for each in summary.constraints
    ]  # fmt: skip
    sheets = {
        "chosen": everything[everything["chosen"] == "yes"].drop(columns="chosen"),
        "all features": everything,
        "constraints": pd.DataFrame(constraints),
        "study": pd.DataFrame({"study.yaml": stored.study.to_yaml().splitlines()}),
    }
    with pd.ExcelWriter(target) as writer:
        for title, frame in sheets.items():
            frame.map(lambda cell: protected(cell) if isinstance(cell, str) else cell).to_excel(
                writer, sheet_name=title, index=False
            )


_KINDS: dict[str, tuple[str, Callable[[Path, Path], Any]]] = {
    "study": (".yaml", _study_file),
    "results": (".zip", _zipped),
    "report": (".html", lambda place, target: shutil.copyfile(place / "report.html", target)),
    "excel": (".xlsx", _excel),
    "script": (".py", _script),
}
