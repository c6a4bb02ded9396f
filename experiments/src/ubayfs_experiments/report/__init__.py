"""The report of a run: tables as CSV and one HTML page with all figures inside.

``content`` reads a run once; ``sections`` and ``sections_real`` put it in words and tables, ``figures`` draw it.
"""
