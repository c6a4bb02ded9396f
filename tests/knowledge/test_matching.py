"""Names find their features as a slow and literal matcher finds them."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ubayfs._arguments import feature_hint
from ubayfs.data.damaged_names import symbols_before_damage
from ubayfs.knowledge.aliases import Aliases
from ubayfs.knowledge.matching import NameMatcher


def literal(name, features, pairs):
    """The rules of the page, one after the other, by loops over everything."""

    def base(text):
        return re.sub(r"^(ENS[A-Z]*\d+)\.\d+$", r"\1", text.strip())

    def called(text):
        for same in (lambda f: f == text, lambda f: f.strip() == text.strip(), lambda f: base(f) == base(text)):
            found = [feature for feature in features if same(feature)]
            if found:
                return found
        return []

    found = called(name)
    if not found and pairs is not None:
        symbols = {symbol for _, symbol in pairs}
        for text in (base(name), name.strip()):
            meant = [text] if text in symbols else list(dict.fromkeys(s for a, s in pairs if a == text and s != text))
            if meant:
                break
        found = [feature for symbol in meant for feature in called(symbol)]
        if not found:
            others = [a for symbol in meant for a, s in pairs if s == symbol and a not in symbols]
            found = [feature for other in others for feature in called(other)]
    found = list(dict.fromkeys(found))
    return found[0] if len(found) == 1 else None


NAMES = st.sampled_from(
    ["TP53", "p53", " TP53", "tp53", "KMT2D", "MLL2", "KMT2B", "ENSG01.5", "ENSG01", "ENSG01.7", "X"]
)


@given(st.lists(NAMES, unique=True, min_size=1), st.none() | st.lists(st.tuples(NAMES, NAMES)), NAMES)
def test_the_matcher_agrees_with_a_literal_one(features, pairs, name):
    stripped = None if pairs is None else [(a.strip(), s.strip()) for a, s in pairs]
    aliases = None if stripped is None else Aliases.from_pairs("aliases", stripped)
    assert NameMatcher(features, aliases).find(name).feature == literal(name, features, stripped)


def test_nothing_is_guessed():
    aliases = Aliases.from_pairs("hgnc", [("MLL2", "KMT2D"), ("MLL2", "KMT2B"), ("OLD", "NEW"), ("OTHER", "NEW")])
    both = NameMatcher(["KMT2D", "KMT2B"], aliases).find("MLL2")
    assert both == ("MLL2", None, ("KMT2D", "KMT2B"))
    assert NameMatcher(["KMT2D"], aliases).find("MLL2").feature == "KMT2D"
    assert NameMatcher(["OTHER"], aliases).find("OLD").feature == "OTHER"  # two old names of one gene
    versions = NameMatcher(["ENSG000001.5", "ENSG000001.7"])
    assert versions.find("ENSG000001").candidates == ("ENSG000001.5", "ENSG000001.7")
    assert versions.find("ENSG000001.7").feature == "ENSG000001.7"
    # A symbol of its own is not taken for the alias that it was once.
    own = Aliases.from_pairs("hgnc", [("A", "B"), ("A1", "A")])
    assert NameMatcher(["B"], own).find("A").feature is None


def test_case_is_only_a_hint_and_short_names_are_not_corrected():
    assert NameMatcher(["TP53"]).find("Tp53").feature is None
    assert feature_hint("Tp53", ["BRCA1", "TP53"]) == " Did you mean 'TP53'?"
    assert feature_hint("SESN1", ["SSNA1"]) == ""
    assert feature_hint("SERPINE1", ["SERPINE2"]) == ""
    assert feature_hint("raduis", ["radius"]) == " Did you mean 'radius'?"


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("1-Mar", "MARCH1"), ("01-Mar", "MARCH1"), ("Mar-07", "MARCH7"), ("2-Sep", "SEPT2"), ("14. Sep", "SEPT14"),
        ("2020-03-01 00:00:00", "MARCH1"), ("2019-09-02", "SEPT2"), ("1-Dec", "DEC1"), ("01. Mrz", "MARCH1"),
        ("4-Oct", "OCT4"), ("1-Mar-20", "MARCH1"),
    ],
)  # fmt: skip
def test_dates_that_were_symbols(name, first):
    assert symbols_before_damage(name)[0] == first


def test_what_is_not_a_damaged_symbol():
    random.seed(0)
    genes = [
        "TP53",
        "SEPT2",
        "SEP15",
        "MARCH1",
        "HLA-A",
        "MIR-21",
        "43891",
        "1-Methyl",
        "3-Hydroxybutyrate",
        "2021-07-01",
    ]
    assert [name for name in genes if symbols_before_damage(name)] == []
    assert symbols_before_damage("43891", serials=True)[0] == "MARCH1"  # 2020-03-01
    assert symbols_before_damage("44000", serials=True) == ()
