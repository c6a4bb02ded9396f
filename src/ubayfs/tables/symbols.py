"""Gene symbols that a spreadsheet turned into dates: MARCH1 into 1-Mar."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = "|".join(_MONTHS)
_DAY_FIRST = re.compile(rf"([0-9]{{1,2}})[-./ ]({_MONTH})[a-z]*", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"({_MONTH})[a-z]*[-./ ]([0-9]{{1,2}})", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-([0-9]{2})-([0-9]{2})(?:[ T]00:00:00)?")
# Families of genes whose symbols read as a date, current symbol first.
_FAMILIES = {"mar": ("MARCHF{}", "MTARC{}"), "sep": ("SEPTIN{}",), "dec": ("DELEC{}",), "oct": ("POU5F1 (OCT{})",)}


def damaged_symbols(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return names that are dates, each with the gene symbols that a spreadsheet may have made it of.

    Examples
    --------
    >>> damaged_symbols(["TP53", "1-Mar", "Sep-02", "2024-12-01 00:00:00"])
    {'1-Mar': ('MARCHF1', 'MTARC1'), 'Sep-02': ('SEPTIN2',), '2024-12-01 00:00:00': ('DELEC1',)}
    """
    found = {}
    for name in names:
        if not name[:1].isdigit() and name[:3].lower() not in _MONTHS:
            continue
        by_day, by_month, date = (form.fullmatch(name.strip()) for form in (_DAY_FIRST, _MONTH_FIRST, _DATE))
        if by_day:
            day, month = by_day[1], by_day[2].lower()
        elif by_month:
            day, month = by_month[2], by_month[1].lower()
        elif date and 1 <= int(date[1]) <= 12:
            day, month = date[2], _MONTHS[int(date[1]) - 1]
        else:
            continue
        families = _FAMILIES.get(month, (f"{month.upper()}{{}}",))
        found[name] = tuple(family.format(int(day)) for family in families)
    return found
