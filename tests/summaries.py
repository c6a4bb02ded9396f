"""Summaries in plain types, as ``summary.json`` has them, and back."""

from ubayfs._plain import decode, plain
from ubayfs.report import Summary, summarize
from ubayfs.report import answer_of as answer


def summary_of(*arguments, **settings):
    """Return the plain form of a summary."""
    return plain(summarize(*arguments, **settings))


def answer_of(*arguments, **settings):
    """Return the plain form of an answer."""
    return plain(answer(*arguments, **settings))


def read(content, kind=Summary):
    """Return the facts of their plain form."""
    return decode(kind, content, lenient=True)
