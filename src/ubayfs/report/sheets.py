"""A report for spreadsheets: selected features as CSV, all tables as an Excel workbook that makes no name a date."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any
from xml.sax.saxutils import escape

from .._files import protected
from .._plain import plain, whole
from .content import document
from .document import Cell, Column, Document, Table, visible
from .facts import Summary

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
# ECMA-376, the parts that a workbook must have beside its sheets; what each lists of every sheet is in `_LISTED`.
_PARTS = {
    "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType='
    '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"'
    f'/><Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>%s</Types>',
    "_rels/.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type='
    f'"{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>%s</sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">%s</Relationships>',
}
_LISTED = {
    "[Content_Types].xml": f'<Override PartName="/xl/worksheets/sheet{{i}}.xml" ContentType="{_TYPE}.worksheet+xml"/>',
    "xl/workbook.xml": '<sheet name="{name}" sheetId="{i}" r:id="rId{i}"/>',
    "xl/_rels/workbook.xml.rels": f'<Relationship Id="rId{{i}}" Type="{_OFFICE}/worksheet" '
    'Target="worksheets/sheet{i}.xml"/>',
}
_FROZEN_HEAD = (
    '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"'
    "/></sheetView></sheetViews>"
)
_WIDEST = 40  # characters
_LONGEST_NAME = 31  # characters that the name of a sheet may have
_DIGITS = 4
_NUMBER = re.compile(r"(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)(?: of [\d,]+)?")  # also "82 of 100" votes
_OF_MEMBERS = ("chosen", "details", "ensemble")  # sections with tables that have a row for each selected feature

Row = list[Any]


def chosen_rows(summary: Summary) -> list[list[Any]]:
    """Return the fields of selected features, then their values; lists are in one cell."""
    records = [plain(member) for member in summary.chosen]
    head: list[Any] = list(records[0]) if records else ["feature"]
    return [head, *([_flat(value) for value in record.values()] for record in records)]


def _flat(value: Any) -> Any:
    return "; ".join(map(str, value)) if isinstance(value, list) else value


def render_csv(summary: Summary) -> str:
    """Return the selected features, one row each; several blocks of one feature are in one cell."""
    buffer = io.StringIO()
    # Cells with a character of the line end are quoted: a lone carriage return would begin a line of its own.
    writer = csv.writer(buffer, lineterminator="\r\n")
    head, *rows = chosen_rows(summary)
    writer.writerow(head)
    writer.writerows([protected(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return buffer.getvalue().replace("\r\n", "\n")


def render_xlsx(
    summary: Summary, report: Document | None = None, more: Mapping[str, Iterable[Row]] | None = None
) -> bytes:
    """Return a report as an Excel workbook; the same summary gives the same bytes.

    The first sheet has all columns of selected features, the second the values of ``selected_features.csv``, rounded;
    each other table of the report has a sheet, and each table of `more`. `report` is the document of the summary, if it
    is known.
    """
    report, names = report or document(summary), summary.names
    by_member: dict[str, Row] = {"Feature": [*names]}
    others: list[Table] = []
    for section in report.sections:
        for table in section.tables:
            rows = {str(row[0].text): row for row in table.rows}
            if section.key in _OF_MEMBERS and list(rows) == list(names):
                for i, column in enumerate(table.columns[1:], start=1):
                    by_member[column.heading] = [_value(rows[name][i], column) for name in names]
                marks = [", ".join(rows[name][0].badges) for name in names]
                by_member |= {"Marks": marks} if any(marks) else {}
            else:
                others.append(table)
    sheets: dict[str, list[Row]] = {
        "selected features": [[*by_member], *map(list, zip(*by_member.values(), strict=True))]
    }
    sheets["values"] = [[_rounded(value) for value in row] for row in chosen_rows(summary)]
    for table in others:
        head = [column.heading for column in table.columns]
        rows_of = [[_value(*pair) for pair in zip(row, table.columns, strict=True)] for row in table.rows]
        sheets[_unused(table.caption, sheets)] = [*([head] if any(head) else []), *rows_of]
    return _workbook(
        {**sheets, **{name: [[*map(_rounded, row)] for row in rows] for name, rows in (more or {}).items()}}
    )


def _value(cell: Cell, column: Column) -> Any:
    """Return what is in a cell: a number where the column has numbers and the cell nothing else."""
    number = _NUMBER.fullmatch(cell.text) if column.numeric and not cell.badges else None
    return str(cell) or None if number is None else _rounded(float(number[1].replace(",", "")))


def _rounded(value: Any) -> Any:
    return whole(float(f"{value:.{_DIGITS}g}")) if isinstance(value, float) and abs(value) < 1e15 else value


def _unused(caption: str, names: Iterable[str]) -> str:
    """Return a caption as the name of one more sheet."""
    name = re.sub(r"[\[\]:*?/\\']", " ", caption)
    name = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME + 1].rpartition(" ")[0] or name[:_LONGEST_NAME]
    numbered = (f"{name[: _LONGEST_NAME - 3]} {i}" for i in range(2, 100))
    taken = {other.lower() for other in names}
    return next(each for each in (name, *numbered) if each.lower() not in taken)


def _workbook(sheets: Mapping[str, list[Row]]) -> bytes:
    """Return sheets by name, each a list of rows with the headings first, as a workbook."""
    parts = dict(_PARTS)
    for part, entry in _LISTED.items():
        listed = (entry.format(i=i, name=escape(visible(name))) for i, name in enumerate(sheets, start=1))
        parts[part] = parts[part] % "".join(listed)
    parts |= {f"xl/worksheets/sheet{i}.xml": _sheet(rows) for i, rows in enumerate(sheets.values(), start=1)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            book.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)  # without the time of day
    return buffer.getvalue()


def _sheet(table: list[Row]) -> str:
    rows = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in table)
    widths = (min(max(len(str(cell)) for cell in column), _WIDEST) + 2 for column in zip(*table, strict=True))
    columns = "".join(f'<col min="{i}" max="{i}" width="{w}" customWidth="1"/>' for i, w in enumerate(widths, 1))
    content = f"{_FROZEN_HEAD}<cols>{columns}</cols><sheetData>{rows}</sheetData>"
    return f'{_HEAD}<worksheet xmlns="{_MAIN}">{content}</worksheet>'


def _cell(value: Any) -> str:
    """Return a cell: numbers as numbers, all else as text that a spreadsheet takes as it is."""
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f"<c><v>{value!r}</v></c>"
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(visible(str(value)))}</t></is></c>'
