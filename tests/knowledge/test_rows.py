"""Every form in which experts have knowledge gives the same rows; what is wrong is named with its line."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ubayfs import Blocks, read_knowledge
from ubayfs.data.headings import HEADINGS
from ubayfs.exceptions import InputError
from ubayfs.knowledge.matching import match_rows


@pytest.mark.parametrize(
    "text",
    ["TP53\nBRCA1\nMYC\n", "TP53, BRCA1, MYC", "TP53;BRCA1;MYC", "TP53\tBRCA1\tMYC", '"TP53", "BRCA1",\n\n"MYC"',
     "# known\nTP53,BRCA1\nMYC", "gene\nTP53\nBRCA1\nMYC"],
)  # fmt: skip
def test_lists_of_names(text, tmp_path):
    expected = ["TP53", "BRCA1", "MYC"]
    (tmp_path / "names.txt").write_text(text)
    for source in (text, tmp_path / "names.txt", str(tmp_path / "names.txt"), expected):
        assert [row.feature for row in read_knowledge(source, weight="likely").rows] == expected


def test_blanks_separate_names_unless_they_are_in_them():
    from ubayfs.priors import resolve_knowledge

    known = resolve_knowledge({"likely": "worst area TP53 MYC\nTP53 MYC"}, ["worst area", "TP53", "MYC"], n_models=8)
    assert known.stated == {"TP53": "likely", "MYC": "likely"}
    assert [advice.facts["names"] for advice in known.advice] == [["worst", "area"]]
    assert resolve_knowledge({"likely": "worst area, MYC"}, ["worst area", "MYC"], n_models=8).weights.tolist() == [
        2,
        2,
    ]


@given(st.data())
def test_headings_mean_the_same_by_any_name(data):
    headings = {column: data.draw(st.sampled_from(names)) for column, names in HEADINGS.items()}
    values = {"feature": "TP53", "weight": "likely", "block": "p", "cost": 3.5, "why": "known", "source": "doi"}
    written = {
        data.draw(st.sampled_from([str, str.upper, str.title]))(
            heading.replace(" ", data.draw(st.sampled_from(" _")))
        ): [values[column]]
        for column, heading in headings.items()
    }
    order = data.draw(st.permutations(list(written)))
    (row,) = read_knowledge(pd.DataFrame(written)[order]).rows
    assert row[1:] == ("TP53", "likely", "p", 3.5, "known", "doi")


def test_one_table_in_every_format(tmp_path):
    frame = pd.DataFrame(
        {"Gene": ["TP53", "MYC"], "Importance": ["very likely", 2.5], "Price": [10, 0], "Reason": ["a", None]}
    )
    frame.to_csv(tmp_path / "k.csv", index=False)
    frame.to_excel(tmp_path / "k.xlsx", index=False)
    frame.to_csv(tmp_path / "k.txt", index=False, sep="\t")
    (tmp_path / "comma.csv").write_text("Gene;Importance;Price;Reason\nTP53;very likely;10;a\nMYC;2,5;0;\n")
    for source in (frame, *(tmp_path / name for name in ("k.csv", "k.xlsx", "k.txt", "comma.csv"))):
        rows = [tuple(row[1:]) for row in read_knowledge(source).rows]
        assert rows == [("TP53", "very likely", None, 10.0, "a", None), ("MYC", 2.5, None, 0.0, None, None)]


def test_gene_sets_as_gmt_and_as_cellxgene_has_them(tmp_path):
    (tmp_path / "sets.gmt").write_text("A\tfirst\tTP53\tMYC\nB\t\tMYC\tKRAS\tXYZ\n\n")
    (tmp_path / "sets.csv").write_text(
        "gene_set_name,gene_set_description,gene_symbol,gene_description\nA,first,TP53,x\nA,,MYC,\nB,,MYC,\nB,,KRAS,\nB,,XYZ,\n"
    )
    for name in ("sets.gmt", "sets.csv"):
        blocks = Blocks.from_gene_sets(tmp_path / name, ["MYC", "TP53", "KRAS", "ACTB"])
        assert blocks.members == {"A": ("TP53", "MYC"), "B": ("MYC", "KRAS")}
        (note,) = blocks.notes
        assert (note.code, note.facts["names"]) == ("names_skipped", ["XYZ"])
        assert Blocks.from_gene_sets(tmp_path / name, ["MYC"], only=["B*"]).names == ("B",)
        with pytest.raises(InputError, match=r"no gene set that matches 'C\*'"):
            Blocks.from_gene_sets(tmp_path / name, ["MYC"], only=["C*"])


@pytest.mark.parametrize(
    ("name", "text", "messages"),
    [
        ("x.gmt", "A\tfirst\tTP53\nlonely\nA\t\tMYC\n", ["x.gmt, line 2: has one field", "line 3: the gene set 'A'"]),
        ("x.csv", "gene,weight\nTP53,lik\nMYC,-1\n", ["x.csv, line 2: the weight must be", "line 3: the weight must"]),
        ("x.csv", "gene,cost\nTP53,-2\nMYC,dear\n", ["x.csv, line 2: the cost must be", "line 3: the cost must"]),
        ("x.csv", "gene,symbol\nTP53,2\n", ["two columns for 'feature': 'gene' and 'symbol'"]),
        ("x.csv", "weight,cost\n1,2\n", ["has no column 'feature'"]),
        ("x.txt", "# nothing\n", ["holds no names"]),
    ],
)  # fmt: skip
def test_bad_files_are_named_with_all_their_lines(tmp_path, name, text, messages):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        read_knowledge(tmp_path / name)
    for message in messages:
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "alias", "symbol"),
    [
        ("alias,name\np53,TP53\n", "p53", "TP53"),
        ("symbol,name,prev_symbol,alias_symbol\nTP53,protein,,p53|LFS1\nKMT2D,x,MLL2,ALR|MLL4\n", "MLL4", "KMT2D"),
        ("Approved symbol;Previous symbols;Alias symbols\nSEPTIN2;SEPT2;DIFF6, hNedd5\n", "hNedd5", "SEPTIN2"),
    ],
)  # fmt: skip
def test_tables_of_aliases(tmp_path, text, alias, symbol):
    (tmp_path / "aliases.csv").write_text(text)
    aliases = read_knowledge([alias], aliases=tmp_path / "aliases.csv").aliases
    assert aliases.symbols[alias] == (symbol,)
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"wrong\.csv is not a table of aliases"):
        read_knowledge([alias], aliases=tmp_path / "wrong.csv")


def test_hallmark_gene_sets_on_ovarian_proteins(data_dir):
    path = data_dir / "genesets" / "hallmark.gmt"
    proteins = pd.read_csv(data_dir / "tcga_ov" / "rppa.txt.gz", sep="\t", index_col=0).index.drop_duplicates()
    literal, known = {}, set(proteins)
    for line in path.read_text().splitlines():
        name, _, *genes = line.split("\t")
        members = {gene for gene in genes if gene in known}
        if members:
            literal[name] = members
    blocks = Blocks.from_gene_sets(path, proteins)
    assert {name: set(members) for name, members in blocks.members.items()} == literal
    assert len(literal) > 30
    signaling = Blocks.from_gene_sets(path, proteins, only=["*_SIGNALING"])
    assert set(signaling.names) == {name for name in literal if name.endswith("_SIGNALING")}
    with pytest.raises(InputError, match=r"none of its .* names is a feature.*They differ in upper and lower case"):
        Blocks.from_gene_sets(path, [name.lower() for name in proteins if name.upper() == name])


def test_units_and_question_marks_in_headings_do_not_matter():
    table = pd.DataFrame({"HGNC symbol": ["TP53"], "Weight (votes)": [2], "Price [EUR]": ["1,5"], "Why?": ["guardian"]})
    (row,) = read_knowledge(table).rows
    assert row[1:] == ("TP53", 2.0, None, 1.5, "guardian", None)


def test_columns_that_are_not_read_are_listed():
    known = read_knowledge(pd.DataFrame({"gene": ["TP53"], "weight": [1], "Budget": [5], "shelf": ["A3"]}))
    (advice,) = match_rows(known, ["TP53"], pytest.fail).advice
    assert (advice.code, advice.facts["columns"]) == ("knowledge_unused", ["Budget", "shelf"])


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_a_single_column_without_a_heading_is_a_list(tmp_path, suffix):
    frame, path = pd.DataFrame({"TP53": ["MYC", "KRAS"]}), tmp_path / f"names.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_excel(path, index=False)
    assert [row.feature for row in read_knowledge(path).rows] == ["TP53", "MYC", "KRAS"]


def test_gene_sets_without_a_feature_of_the_data_are_listed(tmp_path):
    (tmp_path / "sets.gmt").write_text("A\t-\tTP53\nB\t-\tMDM2\tATM\n")
    notes = Blocks.from_gene_sets(tmp_path / "sets.gmt", ["TP53"]).notes
    assert {note.code: note.facts["names"] for note in notes} == {
        "names_skipped": ["MDM2", "ATM"],
        "gene_sets_empty": ["B"],
    }


def test_aliases_of_a_wrong_type_are_refused():
    with pytest.raises(InputError, match=r"aliases must be a path, a mapping of alias to name, or a DataFrame; got 5"):
        read_knowledge(["TP53"], aliases=5)


def test_several_columns_of_sources_are_put_together():
    table = pd.DataFrame({"gene": ["TP53", "MYC"], "DOI": ["10.1/x", None], "PMID": [12, 13], "notes": ["a", None]})
    assert [(row.why, row.source) for row in read_knowledge(table).rows] == [("a", "10.1/x; 12"), (None, "13")]


def test_signs_of_a_pasted_list_are_not_names():
    pasted = "- TP53\n\u2022 MYC\n1. KRAS\n2) HLA-A\n\u200bEGFR\ufeff\xa0\n-omics\n"
    names = [row.feature for row in read_knowledge(pasted).rows]
    assert names == ["TP53", "MYC", "KRAS", "HLA-A", "EGFR", "-omics"]
