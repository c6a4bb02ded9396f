"""Files that a study begins with: what `ubayfs init` would write about them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .._files import write_atomically
from ..exceptions import InputError, NotAnsweredError, UBayFSError
from ..study.diagnostics import Problems
from ..study.schema import DataSection
from .document import Document
from .study_facts import Inspection

# Bytes of a table that is read: in memory it takes several times as much; one that is packed grows before that.
MOST_BYTES, MOST_PACKED = 1024**3, 256 * 1024**2
_PACKED = (".gz", ".xlsx", ".xlsm", ".xls", ".bz2", ".xz", ".zip")
_SHARE_OF_TEXT = 0.2  # of the columns and of the rows of a sample sheet
_SUGGESTED = 300  # columns that are offered to choose from
_SHEETS = re.compile(r"(sample|clinic|pheno|annot|meta|patient|design)", re.IGNORECASE)

# Bytes of a name that are kept: disks allow 255, and copies of a file have longer names.
_STEM, _SUFFIX = slice(100), slice(-50, None)
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\u2028-\u202e\u2066-\u2069]')


def upload_name(name: str) -> str:
    r"""Return a name of a file that is safe on every system, and in no other folder.

    >>> upload_name("../../etc/passwd"), upload_name("C:\\data\\a b.csv"), upload_name("..")
    ('passwd', 'a b.csv', 'file')
    """
    last = re.split(r"[/\\]", name)[-1]
    safe = _NOT_IN_NAMES.sub("_", last).strip(". ")
    stem, dot, suffix = safe.partition(".")
    short = [part.encode()[cut].decode(errors="ignore") for part, cut in ((stem, _STEM), (suffix, _SUFFIX))]
    return dot.join(short) or "file"


def is_sample_sheet(name: str) -> bool:
    """Return whether a file seems to describe samples, by its name.

    >>> is_sample_sheet("clinical_data.csv"), is_sample_sheet("mirna.txt.gz")
    (True, False)
    """
    return _SHEETS.search(Path(name).name) is not None


def likely_sheet(files: Mapping[str, Path], encoding: str | None = None) -> str | None:
    """Return which of several files describes the samples of the others: by its name, or the smallest if it has text.

    In a table of features at most the names, and perhaps the target, are text.
    """
    from ..tables import read_table

    named = [block for block, path in files.items() if is_sample_sheet(path.name)]
    if len(named) == 1 or len(files) < 2:
        return named[0] if len(files) > 1 else None
    block = min(files, key=lambda each: files[each].stat().st_size)
    try:
        cells = read_table(files[block], encoding=encoding, distinct=False).frame.iloc[:, 1:]
    except UBayFSError:  # it is reported when the table is read
        return None
    text = cells.notna() & ~cells.map(_is_number)
    return block if min(text.any(axis=axis).mean() for axis in (0, 1)) >= _SHARE_OF_TEXT else None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def size_problem(name: str, n_bytes: int) -> str | None:
    """Return what is wrong with a table of this size, and what to do; None if it can be read.

    >>> size_problem("cells.csv", 10**8), size_problem("cells.csv.gz", 10**9)[:53]
    (None, 'cells.csv.gz has 1.0 GB; a packed table is read up to')
    """
    packed = name.lower().endswith(_PACKED)
    limit = MOST_PACKED if packed else MOST_BYTES
    if n_bytes <= limit:
        return None
    limited = f"{'a packed' if packed else 'a'} table is read up to {limit / 1024**3:.2g} GB here"
    way_out = "Leave out columns or samples that cannot matter, or store the numbers with fewer digits"
    n_bytes = min(n_bytes, 10**18)  # more is nobody's file, and may be more than a float holds
    return f"{name} has {n_bytes / 10**9:.1f} GB; {limited}, since it takes several times as much memory. {way_out}."


def too_large(paths: Iterable[Path]) -> str | None:
    """Return what is wrong with the first file that is too large to be read; None if there is none."""
    sizes = ((path.name, path.stat().st_size) for path in paths if path.is_file())
    return next((message for size in sizes if (message := size_problem(*size)) is not None), None)


def inspect(
    paths: Mapping[str, str] | Sequence[str],
    samples: str | None,
    folder: str,
    target: str | None = None,
    propose: bool = False,
    **options: Any,
) -> Inspection:
    """Return what is found out about files.

    Parameters
    ----------
    paths : names of blocks to paths, or paths
        Relative to `folder`; so is `samples`, the sample sheet.
    target : str or None
        Column to explain; None, or one that is not there any more: the likeliest one.
    propose : bool
        Whether one of several files may be taken for the sample sheet.
    **options
        What is known of the files: encoding, id, sheet.
    """
    from ..study.starter import starter_text
    from ..study.yaml_io import parse_document
    from ..tables.reading import inspect_files, named_files

    named = {block: path.as_posix() for block, path in named_files(paths).items()}
    at = {block: Path(folder, path) for block, path in named.items()}
    sheet = None if samples is None else Path(folder, samples)
    if (large := too_large([*at.values(), *([] if sheet is None else [sheet])])) is not None:
        raise InputError(large)
    proposed = likely_sheet(at, options.get("encoding")) if propose and samples is None else None
    if proposed is not None:
        samples, sheet = named.pop(proposed), at.pop(proposed)
    files = inspect_files(list(at.values()), samples=sheet, target=target, **options)
    target = target if target in files.table.frame.columns else None
    chosen = files.sheet if files.other_sheets else None
    layout = files.keys if samples is None else {"samples": samples, **files.keys}
    data_path: Any = named if len(named) > 1 else next(iter(named.values()))
    text, roles = starter_text(files.table, data_path, target, chosen, layout)
    likely = [roles.target, *roles.candidates, roles.groups, *sorted(files.table.annotations), *roles.ignored]
    columns = dict.fromkeys(
        str(name) for name in [*likely, *files.table.frame.columns[:_SUGGESTED]] if name is not None
    )
    return Inspection(
        study=parse_document(text, Problems()),
        columns=tuple(columns)[:_SUGGESTED],
        orientation=tuple(files.orientation),
        sheets=tuple(name for name in (files.sheet, *files.other_sheets) if name),
        is_undecided=roles.is_undecided,
        proposed_sheet=sheet.name if proposed is not None and sheet is not None else None,
    )


def copy_sheet(workbook: Path, sheet: str, folder: Path) -> Path:
    """Write a sheet of an Excel file as a table of its own, such as a sample sheet, and return its path."""
    import pandas as pd

    frame = pd.read_excel(workbook, sheet_name=sheet, dtype=object, keep_default_na=False)
    folder.mkdir(exist_ok=True)
    target = folder / upload_name(f"{workbook.stem}-{sheet}.csv")
    write_atomically(target, frame.to_csv(index=False).encode())
    return target


async def inspected(bench: Any, paths: Any, samples: str | None, **options: Any) -> Inspection:
    """Return what :func:`inspect` does, found out by the worker of a study; what it gives up is asked again, once."""

    async def ask() -> Inspection:
        answer: Inspection = await asyncio.wrap_future(
            bench.request("inspect", paths=paths, samples=samples, **options)
        )
        return answer

    try:
        return await ask()
    except NotAnsweredError:
        return await ask()


def begin(bench: Document, inspection: Inspection) -> None:
    """Make what was found out the data of a study, except for keys that a person has set.

    So are the selector, which depends on the target, and the size of the set, which depends on the number of features;
    blocks follow only where there are none.
    """
    study, state = inspection.study, bench.state
    guessed = {**dict.fromkeys(DataSection.keys()), **study["data"]}
    kept = set(state.corrected) - {"path", "samples"}
    bench.guess("data", **{key: value for key, value in guessed.items() if key not in kept})
    if "constraints" not in kept:
        bench.guess_rules(study.get("constraints") or ())
    if state.study.blocks is None and study.get("blocks"):
        bench.set_blocks(study["blocks"])
    if "selector" not in kept:
        bench.guess("evidence", selector=study["evidence"]["selector"])
