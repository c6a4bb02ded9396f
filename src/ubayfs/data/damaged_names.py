"""Gene symbols that a spreadsheet took for dates: MARCH1 became 1-Mar, SEPT2 became 2-Sep."""

from __future__ import annotations

import re
from datetime import date, timedelta

# Months by their abbreviations, with those of a German spreadsheet.
_MONTHS = {
    "feb": 2, "mar": 3, "mrz": 3, "mär": 3, "apr": 4, "sep": 9, "sept": 9, "oct": 10, "okt": 10, "dec": 12, "dez": 12
}  # fmt: skip
_WORD = "|".join(_MONTHS)
_DAY_FIRST = re.compile(rf"(\d{{1,2}})[-./ ]+({_WORD})(?:[-./ ]+\d{{2,4}})?", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"({_WORD})[-./ ]+(\d{{1,2}})", re.IGNORECASE)
_ISO = re.compile(r"(?:19|20)\d{2}-(\d{2})-(\d{2})(?:[ T]00:00:00)?")
_SERIAL = re.compile(r"[34]\d{4}")
_EPOCH = date(1899, 12, 30)  # day 0 of Excel
# Old and new symbols of the families, and their highest numbers.
_FAMILIES = {3: (("MARCH", "MARCHF"), 11), 9: (("SEPT", "SEPTIN"), 14), 12: (("DEC", "DELEC"), 1)}
_OTHERS = {(3, 1): ("MARC1", "MTARC1"), (3, 2): ("MARC2", "MTARC2"), (9, 15): ("SEP15", "SELENOF"), (10, 4): ("OCT4",)}
_PLAIN = {2: "FEB", 4: "APR", 10: "OCT", 12: "DEC"}


def symbols_before_damage(name: str, serials: bool = False) -> tuple[str, ...]:
    """Return the symbols that a name may have been before a spreadsheet took it for a date; empty if it is no date.

    With `serials`, a number of days since 1900 counts as well, where its date may come from a known gene.

    >>> symbols_before_damage("2-Sep"), symbols_before_damage("1-Mar")
    (('SEPT2', 'SEPTIN2'), ('MARCH1', 'MARCHF1', 'MARC1', 'MTARC1'))
    >>> symbols_before_damage("01. Mär") == symbols_before_damage("1-Mar")
    True
    >>> symbols_before_damage("43892", serials=True), symbols_before_damage("TP53")
    (('MARCH2', 'MARCHF2', 'MARC2', 'MTARC2'), ())
    """
    text = name.strip()
    if match := _DAY_FIRST.fullmatch(text):
        return _symbols(_MONTHS[match[2].lower()], int(match[1]), certain=True)
    if match := _MONTH_FIRST.fullmatch(text):
        return _symbols(_MONTHS[match[1].lower()], int(match[2]), certain=True)
    if match := _ISO.fullmatch(text):
        return _symbols(int(match[1]), int(match[2]), certain=False)
    if serials and _SERIAL.fullmatch(text):
        day = _EPOCH + timedelta(days=int(text))
        return _symbols(day.month, day.day, certain=False)
    return ()


def _symbols(month: int, day: int, certain: bool) -> tuple[str, ...]:
    """Return the symbols of a date; where it may be something else, only those of known genes."""
    stems, highest = _FAMILIES.get(month, ((), 0))
    symbols = tuple(f"{stem}{day}" for stem in stems) if 1 <= day <= highest else ()
    symbols += _OTHERS.get((month, day), ())
    return symbols or ((f"{_PLAIN[month]}{day}",) if certain and month in _PLAIN and day else ())
