"""Names of genes: a page about a gene is one link away. Nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

_SYMBOL = re.compile(r"(?:[A-Z]{2}[A-Z0-9]*|[A-Z][0-9][A-Z0-9]*)(?:[-.][A-Z0-9]{1,5})?|C(?:\d+|X|Y)orf\d+")
_ENSEMBL = re.compile(r"(ENS[A-Z]{0,4}G\d{11})(?:\.\d+)?")
_STEM = re.compile(r"[A-Z]+")
# Columns such as V1 to V500 look like symbols, too, but all of them begin alike.
_FEWEST_STEMS = 50
_LOOKED_AT = 5000  # names, evenly spaced


def genes_among(names: Sequence[str], feature_names: Iterable[str]) -> dict[str, str]:
    """Return symbol or Ensembl id of those of some names that are genes; symbols only where features are named so.

    A block before a colon is left out.

    >>> symbols = [f"{a}{b}K1" for a in "ABCDEFGH" for b in "ABCDEFGH"]
    >>> genes_among(["mrna:AAK1", "age"], symbols), genes_among(["V1"], [f"V{i}" for i in range(99)])
    ({'mrna:AAK1': 'AAK1'}, {})
    >>> genes_among(["ENSG00000141510.11"], [])
    {'ENSG00000141510.11': 'ENSG00000141510'}
    """
    every = list(feature_names)
    stems = {
        stem[0]
        for name in every[:: max(len(every) // _LOOKED_AT, 1)]
        if _SYMBOL.fullmatch(symbol := _without_block(name)) and (stem := _STEM.match(symbol))
    }
    genes = {}
    for name in names:
        symbol = _without_block(name)
        if ensembl := _ENSEMBL.fullmatch(symbol):
            genes[name] = ensembl[1]
        elif len(stems) >= _FEWEST_STEMS and _SYMBOL.fullmatch(symbol):
            genes[name] = symbol
    return genes


def _without_block(name: str) -> str:
    return str(name).rpartition(":")[2]


def gene_address(gene: str | None) -> str:
    """Return the address of a page about a gene, at NCBI Gene; empty without a gene.

    >>> gene_address("TP53")
    'https://www.ncbi.nlm.nih.gov/gene/?term=TP53'
    """
    return f"https://www.ncbi.nlm.nih.gov/gene/?term={quote(gene)}" if gene else ""
