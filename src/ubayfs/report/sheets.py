"""The selected features as a table for spreadsheets: CSV, and an Excel workbook that changes no name into a date."""

from __future__ import annotations

import csv
import io
import zipfile
from typing import Any
from xml.sax.saxutils import escape

from .._files import protected
from .._plain import plain
from .document import visible
from .facts import Summary

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
# ECMA-376, the parts that a workbook of one sheet must have.
_PARTS = {
    "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType='
    '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"'
    f'/><Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/><Override PartName='
    f'"/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/></Types>',
    "_rels/.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type='
    f'"{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets><sheet name="selected features" '
    'sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}
_FROZEN_HEAD = (
    '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"'
    "/></sheetView></sheetViews>"
)
_WIDEST = 40  # characters


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


def render_xlsx(summary: Summary) -> bytes:
    """Return the selected features as an Excel workbook; the same summary gives the same bytes."""
    table = chosen_rows(summary)
    rows = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in table)
    widths = (min(max(len(str(cell)) for cell in column), _WIDEST) + 2 for column in zip(*table, strict=True))
    columns = "".join(f'<col min="{i}" max="{i}" width="{w}" customWidth="1"/>' for i, w in enumerate(widths, 1))
    content = f"{_FROZEN_HEAD}<cols>{columns}</cols><sheetData>{rows}</sheetData>"
    sheet = f'{_HEAD}<worksheet xmlns="{_MAIN}">{content}</worksheet>'
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in {**_PARTS, "xl/worksheets/sheet1.xml": sheet}.items():
            book.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)  # without the time of day
    return buffer.getvalue()


def _cell(value: Any) -> str:
    """Return a cell: numbers as numbers, all else as text that a spreadsheet takes as it is."""
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f"<c><v>{value!r}</v></c>"
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(visible(str(value)))}</t></is></c>'
