"""Results: directories with evidence or a decision and everything that it rests on, written whole or not at all.

`result` is a decision with its reports, `stored_evidence` an ensemble or a part of one with its study.
`file_set` writes several files as one: manifest of digests, lock, and what finishes an interrupted replacement.

A directory that ``ubayfs select`` or ``ubayfs decide`` wrote is read by

>>> from ubayfs.results import read_result
>>> stored = read_result("results")  # doctest: +SKIP
>>> stored.selection.features  # doctest: +SKIP
"""

from .result import Result, StoredResult, check_directory, read_result, reserve, stored_at, write_result
from .stored_evidence import StoredEvidence, pooled_evidence, read_sites, reserve_evidence

__all__ = [
    "Result",
    "StoredEvidence",
    "StoredResult",
    "check_directory",
    "pooled_evidence",
    "read_result",
    "read_sites",
    "reserve",
    "reserve_evidence",
    "stored_at",
    "write_result",
]
