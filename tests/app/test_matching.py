"""Pasted lists, spreadsheets and gene sets: what matches, what is in doubt, and what it states."""

import pandas as pd
import pytest

from ubayfs.app.matching import AMBIGUOUS, DAMAGED, UNKNOWN, match, stated_words
from ubayfs.exceptions import InputError
from ubayfs.knowledge.matching import NameMatcher

FEATURES = ["TP53", "KRAS", "SEPTIN2", "MARCH1", "MTARC1", "ENSG00000141510.18", " spaced ", "<b>x</b>"]


def test_every_name_is_in_one_group():
    found = match("TP53 KRAS\n- ENSG00000141510.2; tp53\n2-Sep, 1-Mar, FOO12\nspaced,<b>x</b>", FEATURES)
    assert found.features == ["TP53", "KRAS", "ENSG00000141510.18", " spaced ", "<b>x</b>"]
    assert found.translated == {"ENSG00000141510.2": "ENSG00000141510.18"}
    kinds = {each.name: (each.kind, each.candidates) for each in found.unmatched}
    assert kinds == {
        "tp53": (UNKNOWN, ("TP53",)),
        "2-Sep": (DAMAGED, ("SEPTIN2",)),
        "1-Mar": (DAMAGED, ("MARCH1", "MTARC1")),
        "FOO12": (UNKNOWN, ()),
    }
    # The same names as the study would match.
    assert all(NameMatcher(FEATURES).find(row.feature).feature == row.feature for row in found.rows)


def test_an_alias_of_two_features_is_ambiguous(tmp_path):
    pd.DataFrame({"alias": ["p5", "p5", "ras"], "name": ["TP53", "KRAS", "KRAS"]}).to_csv(
        tmp_path / "a.csv", index=False
    )
    found = match("p5, ras", FEATURES, aliases="a.csv", folder=tmp_path)
    assert [(each.name, each.candidates) for each in found.unmatched_of(AMBIGUOUS)] == [("p5", ("TP53", "KRAS"))]
    assert found.translated == {"ras": "KRAS"}
    assert stated_words(found, "likely", {"p5": "TP53"}) == {"KRAS": ("likely", None), "TP53": ("likely", None)}


def test_a_spreadsheet_has_weights_reasons_and_costs(tmp_path):
    path = tmp_path / "knowledge.xlsx"
    table = {"Gene": ["TP53", "KRAS", "2-Sep", "nobody"], "Weight": ["very likely", None, 3, 4],
             "Why": ["paper", None, "date", None], "Cost": [1, 2, None, None]}  # fmt: skip
    pd.DataFrame(table).to_excel(path, index=False)
    found = match(path, FEATURES)
    assert found.costs == {"TP53": 1.0, "KRAS": 2.0}
    words = stated_words(found, None, {"2-Sep": "SEPTIN2"})
    assert words == {"TP53": ("very likely", "paper"), "SEPTIN2": (3.0, "date")}
    assert stated_words(found, "unlikely", {})["KRAS"] == ("unlikely", None)


def test_gene_sets_are_ticked(tmp_path):
    path = tmp_path / "sets.gmt"
    path.write_text("P53\tfirst\tTP53\tMDM2\nRAS\tsecond\tKRAS\tTP53\nNONE\tthird\tXYZ\n", encoding="utf-8")
    found = match(path, FEATURES)
    assert found.sets == {"P53": ("TP53",), "RAS": ("KRAS", "TP53"), "NONE": ()}
    assert stated_words(found, "likely", {}, only=["RAS"]) == {"KRAS": ("likely", "RAS"), "TP53": ("likely", "RAS")}
    assert stated_words(found, "likely", {}, only=[]) == {}


def test_two_weights_of_a_feature_are_refused(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("feature,weight\nTP53,likely\nTP53,3\n", encoding="utf-8")
    with pytest.raises(InputError, match="TP53"):
        stated_words(match(path, FEATURES), None, {})


@pytest.mark.parametrize("pasted", ["", "  \n,;\n", "# only a comment"])
def test_nothing_is_refused(pasted):
    with pytest.raises(InputError):
        match(pasted, FEATURES)


def test_pasted_text_never_names_a_file(tmp_path):
    (tmp_path / "secret.csv").write_text("feature\nTP53\n", encoding="utf-8")
    found = match(str(tmp_path / "secret.csv"), FEATURES)
    assert found.features == []


def test_long_lists_look_for_the_nearest_name_a_few_times_only():
    found = match("\n".join(f"TP5{i}x" for i in range(100)), FEATURES)
    assert len(found.unmatched) == 100
    assert 0 < sum(bool(each.candidates) for each in found.unmatched) <= 5
