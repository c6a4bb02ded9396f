"""What may be chosen about how files are read; apart from the readers, which need pandas."""

from __future__ import annotations

import codecs
from typing import Any

from ..exceptions import InputError

FEATURES_IN = ("columns", "rows")
KEEP_RULES = ("all", "any")
# What may be done about a feature name that occurs several times, and about values below detection.
DUPLICATE_RULES = ("error", "first", "mean", "max_variance", "suffix")
DETECTION_RULES = ("half", "missing", "limit")
# How feature names that look like dates may be taken.
FEATURES_AS = ("as_is",)


def default_keep(missing: str) -> str:
    """Return which samples of several files are used, unless that is given."""
    return "any" if missing == "available" else "all"


def check_encoding(name: str, value: Any) -> str:
    """Return the name of an encoding that Python knows."""
    try:
        codecs.lookup(value)
    except (LookupError, TypeError) as error:
        rule = f"must be the name of an encoding, such as latin-1, cp1252 or utf-16; got {value!r}."
        raise InputError.of(name, rule, value) from error
    return str(value)
