r"""Tables as people have them: read with their own line numbers in every message, checked, and written.

CSV and TSV (also compressed by gzip), GEO series matrices, Parquet, Excel and AnnData. In all of them an empty cell and
the words of :data:`MISSING_CODES` are missing values, and an unnamed first column holds the names of the rows.
:func:`read_data` composes the steps: files, either way round, are joined with a sample sheet and checked.

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> from ubayfs.tables import read_table
>>> with TemporaryDirectory() as folder:
...     path = Path(folder, "cells.csv")
...     _ = path.write_bytes(b"radius,diagnosis\n17.9,malignant\n13.5,benign\n")
...     table = read_table(path)
>>> list(table.frame.columns), len(table.frame)
(['radius', 'diagnosis'], 2)
"""

from ..data.missing import MISSING_RULES
from .features import matches, read_features
from .formats import SUFFIXES, read_lines, read_table, write_table
from .reading import lay_out, read_data, read_files, read_sheet
from .table import MISSING_CODES, TO_BE_CHOSEN, Table

__all__ = [
    "MISSING_CODES",
    "MISSING_RULES",
    "SUFFIXES",
    "TO_BE_CHOSEN",
    "Table",
    "lay_out",
    "matches",
    "read_data",
    "read_features",
    "read_files",
    "read_lines",
    "read_sheet",
    "read_table",
    "write_table",
]
