"""Blocks of a document: the same content whatever form they are written in, and nothing but text from data."""

import re
from dataclasses import replace
from html import unescape

import pytest

from ubayfs.report.blocks import NOTEBOOK, PAGE, bar_html, cards_html, section_html, table_html
from ubayfs.report.document import Bar, Card, Cell, Column, Document, Section, Table
from ubayfs.report.markdown import escaped
from ubayfs.report.terminal import document_text, table_text

NASTY = '<i onload="x">\x1b|'
TABLE = Table(
    "Members",
    (Column("Feature"), Column("Votes", numeric=True)),
    (
        (Cell(NASTY, badges=("no vote", "tie")), Cell("0", Bar(0.0))),
        (Cell("b", notes=("why",)), Cell("12", Bar(0.5, 0.75, "6 and 9"))),
    ),
)


def texts(html):
    """Return the texts of HTML, one per element that has any."""
    return [unescape(text).strip() for text in re.findall(r">([^<]+)<", html) if text.strip()]


@pytest.mark.parametrize("look", [PAGE, NOTEBOOK, replace(PAGE, labeled=True, hints={"tie": '"open"'})])
def test_a_table_has_the_same_texts_in_every_look(look):
    html = table_html(TABLE, look)
    shown = ["Members", "Feature", "Votes", '<i onload="x">\\x1b|', "no vote", "tie", "0", "b", "why", "12"]
    assert texts(html) == shown
    assert "<i" not in html
    assert ('title="&quot;open&quot;"' in html) == bool(look.hints)
    assert html.count("data-label=") == (2 if look.labeled else 0)


def test_a_table_without_headings_has_no_head():
    assert "<thead" not in table_html(replace(TABLE, columns=(Column(""), Column(""))))


@pytest.mark.parametrize(
    ("bar", "widths"),
    [
        (Bar(0.25), ["25.0"]),
        (Bar(-1.0), ["0.0"]),
        (Bar(0.75, 0.5), ["75.0", "25.0"]),
        (Bar(2.0), ["100.0"]),
    ],
)
def test_a_bar_stays_within_its_track(bar, widths):
    assert re.findall(r"width:([\d.]+)%", bar_html(bar)) == widths


def test_a_bar_is_read_out_only_if_it_has_a_label():
    assert 'aria-hidden="true"' in bar_html(Bar(0.5))
    assert 'role="img" aria-label="6 &amp; 9"' in bar_html(Bar(0.5, label="6 & 9"))


def test_text_has_aligned_columns_and_marks_in_brackets():
    caption, *rows = table_text(TABLE).splitlines()
    assert caption == "Members"
    assert len({len(row) for row in rows}) == 1  # numbers end each row
    assert rows[1].startswith('<i onload="x">\\x1b| (no vote, tie)')
    assert escaped(str(TABLE.rows[0][0])).startswith("&lt;i onload")


def test_a_control_is_on_pages_only():
    table = Table("", (Column("You say"),), ((Cell(slot="<select></select>"),),))
    assert "<select></select>" in table_html(table)
    assert "select" not in table_text(table)


def test_a_document_says_the_same_as_text_and_as_html():
    card = Card("Does it predict?", "AUC 0.9", lines=("Yes.",), command="ubayfs trust .")
    section = Section("unchanged", "Unchanged", ("a, b",), (TABLE,), notes=("of 2",))
    text = document_text(Document(headline="1 of 2", warnings=("Look.",), cards=(card,), sections=(section,)))
    assert text.startswith(
        "1 of 2\n\nLook.\n\nDoes it predict? AUC 0.9\n  Yes.\n  ubayfs trust .\n\nUnchanged\n  a, b\n\n"
    )
    assert text.endswith("\n\nof 2")
    assert texts(cards_html([card])) == ["Does it predict?", "AUC 0.9", "Yes.", "ubayfs trust ."]
    assert [*texts(section_html(section))[:2], texts(section_html(section))[-1]] == ["Unchanged", "a, b", "of 2"]
