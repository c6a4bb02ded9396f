"""A result as one zip that travels: report, workbook, study, and a Python script that repeats it, with or without data.

============================ ========================================================================================
``report.html``              and all other files of the result
``report.xlsx``              the tables of the report
``repeat.py``                repeats the answer with the public functions of ubayfs
``study.yaml``               the same for ``ubayfs select study.yaml``
``data/``                    the files that both read, or their names
============================ ========================================================================================
"""

from __future__ import annotations

import os
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .._files import write_atomically
from ..constraints.sizes import SUPPORTED, with_supported
from ..plotting import read_displays, render_figures
from ..report import render_xlsx
from ..study.resolve import resolve_study
from ..study.script import script_of
from ..study.study import Study
from .finishing import check_fingerprint
from .result import Result, StoredResult, write_result

_DATA, _SCRIPT, _WORKBOOK, _NEXT = "data", "repeat.py", "report.xlsx", "again"


def workbook(result: StoredResult) -> bytes:
    """Return all tables of a report, and the votes of all features, as an Excel workbook."""
    selection = result.selection
    head = ["feature", "selected", "votes", "weight", "importance"]
    columns: list[Any] = [selection.feature_names, selection.mask, selection.counts, selection.weights]
    present = [column is not None for column in (*columns, selection.importance)]
    values = [column.tolist() for column in (*columns, selection.importance) if column is not None]
    rows = sorted(zip(*values, strict=True), key=lambda row: -row[-1])
    table = [[name for name, there in zip(head, present, strict=True) if there], *map(list, rows)]
    return render_xlsx(result.summary, more={"all features": table})


def write_handover(result: StoredResult, path: Path, with_data: bool = False) -> None:
    """Write a result with everything that repeats it elsewhere as a zip; paths in it are relative.

    Parameters
    ----------
    result : StoredResult
    path : Path
        Of the zip; a file of this name is replaced. What is unpacked is a folder of the same name.
    with_data : bool, default False
        Whether the data travel, too. Else the study and the script expect the files in the folder ``data``.

    Raises
    ------
    InputError
        If the data should travel and are not those that the ensemble saw, or if no script does what the study does.
    """
    with TemporaryDirectory(dir=path.parent, prefix=".") as temporary:
        folder, packed = Path(temporary) / "result", Path(temporary) / path.name
        _script(result.study, result)  # refused before any work
        (folder / _DATA).mkdir(parents=True)
        names = _put_data(result, folder / _DATA, with_data)
        outputs = replace(result.study.outputs, directory=_NEXT)
        if not with_data:  # a table of selected features is data, too
            outputs = replace(outputs, reduced_table=False)
        moved_path = {source: f"{_DATA}/{name}" for source, name in names.items()}.__getitem__
        data, trust = result.study.data.with_paths(moved_path), result.study.trust.with_paths(moved_path)
        study = replace(result.study, data=data, trust=trust, outputs=outputs, folder=folder)
        write_atomically(folder / _SCRIPT, _script(study, result).encode())
        written = result.summary
        summary = replace(written, study={**(written.study or {}), **study.to_dict()})
        figures = render_figures(read_displays(summary.displays), outputs.figures, result.figures(summary.displays))
        moved = Result(study, result.evidence, result.selection, summary, result.trust)
        write_result(folder, moved, figures=figures)
        write_atomically(folder / _WORKBOOK, workbook(StoredResult(folder)))
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*")):
                if file.is_file() and not file.name.startswith("."):
                    archive.write(file, f"{path.stem}/{file.relative_to(folder).as_posix()}")
        os.replace(packed, path)


def _put_data(result: StoredResult, folder: Path, with_data: bool) -> dict[str, str]:
    """Copy the data to a folder, or name them there; return the name of each file by its path in the study."""
    study = result.study
    names: dict[str, str] = {}
    for source in (*study.data.files, *study.trust.files):
        name = Path(source).name
        names.setdefault(source, name if name not in names.values() else f"{len(names)}-{name}")
    if with_data:
        check_fingerprint(study, study.read_data(), result.evidence)
        for source, name in names.items():
            shutil.copyfile(study.folder / source, folder / name)
        return names
    lines = ["repeat.py and study.yaml read these files from this folder; they are not in the zip:", *names.values()]
    write_atomically(folder / "README.txt", ("\n".join(lines) + "\n").encode())
    return names


def _script(study: Study, result: StoredResult) -> str:
    """Return the script that repeats a result; a size that followed from the data is a number there."""
    selection, evidence = result.selection, result.evidence
    sizes = [
        record["arguments"]["n"]
        for record in selection.provenance.get("constraints", ())
        if record.get("note") == SUPPORTED
    ]
    if sizes:
        study = replace(study, constraints=with_supported(study.constraints, sizes[0]))
    resolved = resolve_study(study, data=None, feature_names=evidence.feature_names, n_models=evidence.n_models)
    return script_of(resolved, selection.features, evidence.settings.get("n_features_per_model"))
