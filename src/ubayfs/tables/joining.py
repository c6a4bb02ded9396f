"""Several files and a sample sheet as one table, joined by the ids of the samples."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from ..exceptions import Advice
from .layout import as_names, transposed, with_ids
from .table import Table

# Ways in which programs spell the same id.
_SPELLINGS: dict[str, Callable[[str], str]] = {
    "with '.', '-', '_' and blanks written alike": lambda name: re.sub(r"[-._ ]", "-", name),
    "in capital letters": str.upper,
    "in capital letters, with '.', '-', '_' and blanks written alike": lambda name: re.sub(
        r"[-._ ]", "-", name
    ).upper(),
    "without the X that R puts before numbers": lambda name: re.sub(r"^X(?=[0-9])", "", name),
    "without zeros in front": lambda name: name.lstrip("0"),
}


def join(tables: Mapping[str, Table], sheet: Table | None, keep: str, roles: Iterable[str | None] = ()) -> Table:
    """Put tables and what a sheet says of their samples side by side.

    Parameters
    ----------
    tables : mapping of str to Table
        By block; rows are named by sample.
    sheet : Table or None
        Its columns become annotations, which are never features. Samples that it does not have are left out.
    keep : {"all", "any"}
        Samples that all files have, or that any file has: then others have missing values.
    roles : iterable of str
        Columns with a role, such as the target: that of the sheet counts, one of the same name in a file is left out.

    Returns
    -------
    table : Table
        Samples in the order of the first file that has them.
    """
    ids = {block: table.frame.index for block, table in tables.items()}
    first, *further = tables
    for block in further if sheet is None else tables:
        _check_match(tables[block], tables[first] if sheet is None else sheet, "path" if sheet is None else "samples")
    samples = pd.Index(dict.fromkeys(n for names in ids.values() for n in names), dtype=object, name=ids[first].name)
    for names in [*(ids.values() if keep == "all" else ()), *([] if sheet is None else [sheet.frame.index])]:
        samples = samples[samples.isin(names)]
    if not len(samples):
        raise tables[first].error("keep", "no sample is in all of the files. Choose keep: any, or check the ids.")
    described = pd.DataFrame(index=samples) if sheet is None else sheet.frame.reindex(samples)
    frames, blocks, notes = _without_clashes(tables, described, [role for role in roles if role])
    all_names = {name for frame in frames.values() for name in frame}
    described = described[[name for name in described if name not in all_names]]
    annotations = {str(name) for name in described} | {name for table in tables.values() for name in table.annotations}
    files = [*tables.values(), *([] if sheet is None else [sheet])]
    return Table(
        pd.concat([described, *(frame.reindex(samples) for frame in frames.values())], axis=1),
        frozenset(annotations),
        Path(", ".join(dict.fromkeys(str(table.path) for table in files))),
        unit="sample",
        decimal=files[0].decimal,
        decimals={
            str(name): table.decimal
            for table, frame in zip(files, [*frames.values(), described], strict=False)
            for name in frame
            if table.decimal != files[0].decimal
        },
        notes=(*(note for table in files for note in table.notes), *_matched(files, samples, keep), *notes),
        blocks=blocks if len(tables) > 1 else None,
    )


def as_sheet(sheet: Table, ids: Iterable[str], id: str | None) -> Table:
    """Return a sample sheet by sample: its ids are where most ids of the data are, in a column or in the header."""
    columns = list(sheet.frame.columns)
    places: dict[str | None, set[str]] = {None: set(as_names(sheet.frame.index))} if sheet.has_names else {}
    names_of = {name: set(as_names(sheet.frame[name])) for name in ([id] if id in columns else columns)}
    distinct = {name: names for name, names in names_of.items() if len(names) >= 0.9 * len(sheet.frame)}
    places.update(distinct or names_of)  # an age may be the number of a sample
    best = _most_shared([*places.values(), set(as_names(columns))], set(ids))
    if best < len(places):
        return with_ids(sheet, list(places)[best])
    turned = transposed(sheet, id if id in columns else None, is_sheet=True)
    return replace(turned, frame=turned.frame.set_axis([str(name) for name in turned.frame], axis=1))


def _most_shared(places: Sequence[set[str]], names: set[str]) -> int:
    """Return the first place with most of these names: equal ones or, if there are none, alike but for spelling."""
    alike = _SPELLINGS["in capital letters, with '.', '-', '_' and blanks written alike"]
    shared = [len(place & names) for place in places]
    if not any(shared):
        spelled = {alike(name)[:12] for name in names}
        shared = [len({alike(name)[:12] for name in place} & spelled) for place in places]
    return shared.index(max(shared))


def _check_match(table: Table, other: Table, argument: str) -> None:
    """Refuse two files of which fewer than half of the ids match: they may be spelled in another way."""
    ids, other_ids = table.frame.index, other.frame.index
    n_matched, fewer = len(ids.intersection(other_ids)), min(len(ids), len(other_ids))
    if 2 * n_matched >= fewer:
        return
    shown = [f"{file.title} has {', '.join(map(repr, file.frame.index[:3]))}" for file in (table, other)]
    rule = f"only {n_matched} of {len(ids)} sample ids are in {other.title}: {'; '.join(shown)}."
    turned = set(as_names(table.frame.columns))
    if turned and 2 * len(turned.intersection(other_ids)) >= min(len(turned), len(other_ids)):
        where = "columns" if table.unit == "sample" else "rows"
        raise table.error(argument, f"{rule} They are on its other side: choose features_in: {where}.")
    for words, spelled in [*_SPELLINGS.items(), *_cut(ids, other_ids)]:
        n_alike = len({spelled(name) for name in ids} & {spelled(name) for name in other_ids})
        if 2 * n_alike >= fewer:
            rule += f" {words[0].upper()}{words[1:]}, {n_alike} would match: write the ids of one of the files so."
            break
    else:
        rule += " Check that both files are of the same samples, and that id names the column of ids."
        rule += table.about_sheets
    raise table.error(argument, rule)


def _cut(ids: pd.Index, other_ids: pd.Index) -> list[tuple[str, Callable[[str], str]]]:
    """Return the spelling of longer ids that are cut to the length of the shorter ones, such as barcodes of TCGA."""
    alike = _SPELLINGS["with '.', '-', '_' and blanks written alike"]
    lengths = [Counter(map(len, names)).most_common(1)[0][0] for names in (ids, other_ids)]
    n = min(lengths)
    if n < 4 or max(lengths) == n:
        return []
    return [(f"cut to their first {n} characters", lambda name: alike(name)[:n])]


def _without_clashes(
    tables: Mapping[str, Table], described: pd.DataFrame, roles: Sequence[str]
) -> tuple[dict[str, pd.DataFrame], dict[str, tuple[str, ...]], list[Advice]]:
    """Return the columns of each file under names that no other file has, as blocks too, and what was changed.

    A name that several files have gets the file in front: a gene may be measured as RNA and as protein.
    """
    counts = Counter(str(name) for table in tables.values() for name in table.frame if name not in described)
    shared = {name for name, n in counts.items() if n > 1}
    taken = [name for name in roles if name in described]
    frames, blocks, twice = {}, {}, []
    for block, table in tables.items():
        frame = table.frame[[name for name in table.frame if name not in taken]]
        twice += [str(name) for name in table.frame if name in taken]
        frame = frame.rename(columns={name: f"{block}: {name}" for name in frame if name in shared})
        frames[block] = frame
        blocks[block] = tuple(str(name) for name in frame if name not in table.annotations)
    notes = [Advice("names_prefixed", {"n_names": len(shared), "names": sorted(shared)})] if shared else []
    if twice:
        notes.append(Advice("sheet_column_used", {"columns": twice}))
    return frames, blocks, notes


def _matched(files: Sequence[Table], samples: pd.Index, keep: str) -> list[Advice]:
    """Return how many samples are used, and those of each file that are not."""
    counted = list(dict.fromkeys(f"{table.title} {len(table.frame):,}" for table in files))
    facts = {"n_samples": len(samples), "keep": keep, "files": counted}
    notes = [Advice("samples_joined", facts)] if len(counted) > 1 else []  # not of a file that describes its samples
    for table in files:
        unused = table.frame.index[~table.frame.index.isin(samples)].tolist()
        if unused:
            facts = {"file": table.title, "n_left": len(unused), "n_samples": len(table.frame), "samples": unused}
            notes.append(Advice("samples_not_matched", facts))
    return notes
