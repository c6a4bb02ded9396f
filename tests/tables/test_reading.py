"""Files as they come: every layout of one table gives the same data, joins are those of pandas, the rest is refused."""

import gzip
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ubayfs import collect_evidence, decide, max_per_block, read_data
from ubayfs.data.damaged_names import symbols_before_damage
from ubayfs.exceptions import InputError, StudyError
from ubayfs.tables import read_features, read_files, read_table
from ubayfs.tables.column_roles import infer_columns
from ubayfs.tables.layout import likely_features_in
from ubayfs.tables.reading import inspect_files

N, P = 12, 6
SAMPLES = [f"S-{i:02d}" for i in range(N)]
GENES = ["TP53", "BRCA1", "MYC", "EGFR", "KRAS", "PTEN"]


@pytest.fixture
def frame():
    """Samples in rows, named; the last column is the target."""
    values = np.random.default_rng(3).normal(5, 2, size=(N, P)).round(4)
    found = pd.DataFrame(values, index=SAMPLES, columns=GENES)
    return found.assign(status=["ill", "well"] * (N // 2))


def codes(data):
    return [note.code for note in data.notes]


def facts(data, code):
    (note,) = (note for note in data.notes if note.code == code)
    return note.facts


# -- one table in many layouts -----------------------------------------------------------------------------------------


def _rows(frame, path):
    """Genes in rows and no target: that comes from a sheet beside it."""
    frame[GENES].T.to_csv(path, sep="\t", index_label="gene")
    frame[["status"]].to_csv(path.parent / "sheet.csv", index_label="sample")
    return {"path": path, "features_in": "rows", "samples": path.parent / "sheet.csv"}


def _csv(frame, path):
    frame.to_csv(path, index_label="sample")
    return {"path": path, "id": "sample"}


def _written(suffix, **options):
    def write(frame, path):
        path = path.with_suffix(suffix)
        frame.to_csv(path, index_label="sample", **options)
        return {"path": path, "id": "sample"}

    return write


def _latin(frame, path):
    frame.rename(columns={"status": "État"}).to_csv(path, index_label="sample", encoding="latin-1")
    return {"path": path, "id": "sample", "encoding": "latin-1", "target": "État"}


def _quoted_commas(frame, path):
    text = frame.astype(str)
    text[GENES] = text[GENES].map(lambda cell: cell.replace(".", ","))
    text.to_csv(path, index_label="sample")
    return {"path": path, "id": "sample"}


def _titled(frame, path):
    path.write_text("Supplementary Table 3\n\n" + frame.to_csv(index_label="sample"))
    return {"path": path, "id": "sample"}


def _excel(frame, path):
    path = path.with_suffix(".xlsx")
    frame.to_excel(path, startrow=2, index_label="sample")
    from openpyxl import load_workbook

    book = load_workbook(path)
    book.active["A1"] = "Supplementary Table 3"
    book.save(path)
    return {"path": path, "id": "sample"}


def _parquet(frame, path):
    frame.to_parquet(path.with_suffix(".parquet"))
    return {"path": path.with_suffix(".parquet")}


def _target_row(frame, path):
    frame.T.to_csv(path, index_label="attribute")
    return {"path": path, "features_in": "rows"}


def _gct(frame, path):
    """Two lines above the header, and a column that describes the genes."""
    path = path.with_suffix(".txt")
    turned = frame[GENES].T
    turned.insert(0, "Description", [f"about {gene}" for gene in GENES])
    path.write_text(f"#1.2\n{P}\t{N}\n" + turned.to_csv(sep="\t", index_label="Name"))
    frame[["status"]].T.to_csv(path.parent / "sheet.csv", index_label="attribute")
    return {"path": path, "features_in": "rows", "samples": path.parent / "sheet.csv"}


def _geo(frame, path):
    path = path.with_suffix(".txt.gz")
    lines = ['!Series_title\t"A study"', "!Sample_title\t" + "\t".join(f'"{name} title"' for name in SAMPLES)]
    lines += ["!Sample_geo_accession\t" + "\t".join(f'"{name}"' for name in SAMPLES)]
    lines += ["!Sample_characteristics_ch1\t" + "\t".join(f'"status: {label}"' for label in frame["status"])]
    lines += ["!Sample_characteristics_ch1\t" + "\t".join(f'"age: {30 + i}"' for i in range(N))]
    lines += ["!series_matrix_table_begin", "\t".join(['"ID_REF"', *(f'"{name}"' for name in SAMPLES)])]
    lines += ["\t".join([f'"{gene}"', *map(repr, frame[gene].tolist())]) for gene in GENES]
    content = "\n".join([*lines, "!series_matrix_table_end", ""])
    path.write_bytes(gzip.compress(content.encode()))
    return {"path": path}


def _two_files(frame, path):
    """Two blocks, one of them with its samples in another order, and a sheet in a third."""
    other = np.random.default_rng(0).permutation(N)
    frame[GENES[:2]].to_csv(path.parent / "a.csv", index_label="id")
    frame[GENES[2:]].iloc[other].to_csv(path.parent / "b.tsv", sep="\t", index_label="id")
    frame[["status"]].assign(age=3).iloc[::-1].to_csv(path.parent / "sheet.csv", index_label="id")
    return {"path": {"a": path.parent / "a.csv", "b": path.parent / "b.tsv"}, "samples": path.parent / "sheet.csv"}


LAYOUTS = {
    "csv": _csv,
    "tab": _written(".tsv", sep="\t"),
    "gz": _written(".csv.gz"),
    "bom": _written(".csv", encoding="utf-8-sig"),
    "utf-16": _written(".txt", sep="\t", encoding="utf-16"),
    "comma decimals": _written(".csv", sep=";", decimal=","),
    "latin-1": _latin,
    "quoted comma decimals": _quoted_commas,
    "title rows": _titled,
    "excel with a title": _excel,
    "parquet": _parquet,
    "features in rows": _rows,
    "target in a row": _target_row,
    "gct": _gct,
    "geo": _geo,
    "two files and a sheet": _two_files,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_data(layout, frame, tmp_path):
    given = LAYOUTS[layout](frame, tmp_path / "t.csv")
    data = read_data(**{"target": "status", **given})
    np.testing.assert_array_equal(data.X, frame[GENES].to_numpy())
    assert data.feature_names.tolist() == GENES
    assert data.target.labels.tolist() == frame["status"].tolist()
    assert data.sample_names.tolist() == SAMPLES
    assert (
        data.fingerprint
        == read_features(read_table(_parquet(frame, tmp_path / "o")["path"]), target="status").fingerprint
    )


def test_notes_say_what_was_done(frame, tmp_path):
    assert codes(read_data(**_titled(frame, tmp_path / "t.csv"), target="status")) == ["title_rows_skipped"]
    data = read_data(**_gct(frame, tmp_path / "t.csv"), target="status")
    assert codes(data)[:4] == ["title_rows_skipped", "descriptions_ignored", "file_transposed", "file_transposed"]
    assert facts(data, "descriptions_ignored")["columns"] == ["Description"]
    assert facts(data, "samples_joined")["n_samples"] == N
    assert read_data(**_csv(frame, tmp_path / "t.csv"), target="status").notes == ()


def test_what_geo_says_of_samples_is_not_a_feature_and_may_be_the_target(frame, tmp_path):
    data = read_data(**_geo(frame, tmp_path / "t.csv"), target="age", task="regression")
    assert data.feature_names.tolist() == GENES
    np.testing.assert_array_equal(data.target.values, np.arange(N) + 30.0)


def test_files_are_blocks_and_the_data_can_be_selected_from(frame, tmp_path):
    data = read_data(**_two_files(frame, tmp_path / "t.csv"), target="status")
    assert data.blocks.members == {"a": tuple(GENES[:2]), "b": tuple(GENES[2:])}
    evidence = collect_evidence(data, selector="mrmr", n_models=5, n_features_per_model=2, random_state=0)
    chosen = decide(evidence, blocks=data.blocks, constraints=[max_per_block(1)]).features
    assert len(set(chosen) & set(GENES[:2])) <= 1


# -- joining -----------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=8, unique=True), min_size=2, max_size=3),
    st.sampled_from(["all", "any"]),
    st.booleans(),
)
def test_joins_are_those_of_pandas(tmp_path_factory, members, keep, with_sheet):
    folder = tmp_path_factory.mktemp("join")
    frames, paths = {}, {}
    for block, found in enumerate(members):
        values = {f"f{block}": [10.0 * block + i for i in found], f"g{block}": [float(i * i) for i in found]}
        frames[f"b{block}"] = pd.DataFrame(values, index=[f"s{i}" for i in found])
        paths[f"b{block}"] = folder / f"b{block}.csv"
        frames[f"b{block}"].to_csv(paths[f"b{block}"], index_label="id")
    sheet = pd.DataFrame({"y": [i % 2 for i in range(10)]}, index=[f"s{i}" for i in range(10)])
    sheet.to_csv(folder / "sheet.csv", index_label="id")
    expected = pd.concat(frames.values(), axis=1, join="inner" if keep == "all" else "outer")
    given = {"samples": folder / "sheet.csv"} if with_sheet else {}
    first, *others = members
    few = not with_sheet and any(2 * len(set(o) & set(first)) < min(len(o), len(first)) for o in others)
    if few or expected.empty:
        with pytest.raises(StudyError) as caught:
            read_files(paths, keep=keep, **given)
        assert caught.value.problems[0].path == (("path",) if few else ("keep",))
        return
    table = read_files(paths, keep=keep, **given)
    found = table.frame[[name for name in table.frame if name != "y"]]
    assert list(found.columns) == list(expected.columns)
    pd.testing.assert_frame_equal(
        found, expected.loc[found.index], check_dtype=False, check_names=False, check_index_type=False
    )
    assert set(found.index) == set(expected.index)
    if with_sheet:
        assert table.frame["y"].tolist() == [int(name[1:]) % 2 for name in found.index]
        assert table.annotations == {"y"}
    left = {name: sorted(set(frames[name].index) - set(found.index)) for name in frames}
    noted = {note.facts["file"]: sorted(note.facts["samples"]) for note in table.notes if "samples" in note.facts}
    assert {f"{name}.csv": missing for name, missing in left.items() if missing} == {
        file: samples for file, samples in noted.items() if file != "sheet.csv"
    }


def test_a_name_in_two_files_gets_its_block_in_front(frame, tmp_path):
    frame[["TP53", "MYC"]].to_csv(tmp_path / "rna.csv")
    frame[["TP53", "EGFR"]].add(1).to_csv(tmp_path / "protein.csv")
    paths = {"RNA": tmp_path / "rna.csv", "RPPA": tmp_path / "protein.csv"}
    data = read_data(paths)
    assert data.feature_names.tolist() == ["RNA: TP53", "MYC", "RPPA: TP53", "EGFR"]
    assert data.blocks.members["RPPA"] == ("RPPA: TP53", "EGFR")
    assert facts(data, "names_prefixed")["names"] == ["TP53"]


def test_the_target_of_the_sheet_counts_and_none_of_its_columns_is_a_feature(frame, tmp_path):
    frame.assign(status=0.0).to_csv(tmp_path / "t.csv")
    frame[["status"]].assign(age=range(N), MYC=0.0).to_csv(tmp_path / "sheet.csv")
    data = read_data(tmp_path / "t.csv", samples=tmp_path / "sheet.csv", target="status")
    assert data.feature_names.tolist() == GENES
    assert data.target.labels.tolist() == frame["status"].tolist()
    np.testing.assert_array_equal(data.X[:, 2], frame["MYC"])
    assert facts(data, "sheet_column_used")["columns"] == ["status"]


def test_ids_of_the_sheet_may_stand_in_any_column(frame, tmp_path):
    frame[GENES].to_csv(tmp_path / "t.csv")
    sheet = pd.DataFrame({"number": range(N), "barcode": [f" {name} " for name in SAMPLES], "status": frame["status"]})
    sheet.to_csv(tmp_path / "sheet.csv", index=False)
    data = read_data(tmp_path / "t.csv", samples=tmp_path / "sheet.csv", target="status")
    assert data.target.labels.tolist() == frame["status"].tolist()


def test_ages_are_not_the_ids_of_samples(tmp_path):
    """Samples are numbered, and the sheet has ages among these numbers; its own ids are spelled otherwise."""
    values = pd.DataFrame({"nr": range(1, 61), "a": np.arange(60) % 7, "b": np.arange(60) % 11})
    values.to_csv(tmp_path / "t.csv", index=False)
    sheet = pd.DataFrame({"age": np.arange(60) % 25 + 30, "nr": [f"{i:03}" for i in range(1, 61)], "y": [0, 1] * 30})
    sheet.to_csv(tmp_path / "sheet.csv", index=False)
    with pytest.raises(
        StudyError, match=r"has '1', '2', '3'; .* '001', '002', '003'\. Without zeros in front, 60 would"
    ):
        read_data(tmp_path / "t.csv", samples=tmp_path / "sheet.csv", target="y")


def test_ids_that_are_not_in_the_first_column(tmp_path):
    frame = pd.DataFrame({"day": ["1.2.2024", "2.2.2024"] * 20, "nr": [f"P{i}" for i in range(40)]})
    frame = frame.assign(**{f"g{j}": np.arange(40) * (j + 3) % 17 for j in range(30)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    pd.DataFrame({"nr": frame["nr"], "y": [0, 1] * 20}).to_csv(tmp_path / "sheet.csv", index=False)
    with pytest.raises(StudyError, match=r"more than once: '1.2.2024', .* in the column 'day'; id names another"):
        inspect_files([tmp_path / "t.csv"], samples=tmp_path / "sheet.csv", target="y")
    found = inspect_files([tmp_path / "t.csv"], samples=tmp_path / "sheet.csv", target="y", id="nr")
    assert found.orientation == (
        "t.csv: features in columns (day, g0, g1 and 28 more), samples P0, P1, P2 and 37 more",
    )
    assert found.keys == {"id": "nr"}


# -- names, and values below detection ---------------------------------------------------------------------------------

TWICE = "gene,s1,s2,s3\nA,1,2,3\nB,5,5,9\nA,4,,5\nA,0,9,1\n"


@pytest.mark.parametrize(
    ("rule", "names", "first"),
    [
        ("first", ["A", "B"], [1, 2, 3]),
        ("mean", ["A", "B"], [5 / 3, 5.5, 3]),
        ("max_variance", ["A", "B"], [0, 9, 1]),
        ("suffix", ["A", "B", "A_2", "A_3"], [1, 2, 3]),
    ],
)
@pytest.mark.parametrize("features_in", ["rows", "columns"])
def test_duplicates(tmp_path, rule, names, first, features_in):
    path = tmp_path / "t.csv"
    path.write_text(TWICE)
    if features_in == "columns":
        rows = [line.split(",") for line in TWICE.splitlines()]
        path.write_text("\n".join(",".join(row) for row in zip(*rows, strict=True)))
    with pytest.raises(InputError, match="max_variance") as caught:
        read_data(path, features_in=features_in, id="gene")
    assert caught.value.argument == "path"
    table_of = {"path": path, "features_in": features_in, "id": "gene", "duplicates": rule}
    data = read_data(**table_of, missing="drop_columns" if rule == "suffix" else "error")
    left = [name for name in names if name != "A_2"] if rule == "suffix" else names
    assert data.feature_names.tolist() == left
    np.testing.assert_allclose(data.X[:, 0], first)
    assert facts(data, "duplicates_merged")["names"] == ["A"]


def test_suffixes_do_not_meet_names_that_are_there(tmp_path):
    (tmp_path / "t.csv").write_text("A,A,A_2,A\n1,2,3,4\n2,3,4,5\n")
    names = read_data(tmp_path / "t.csv", duplicates="suffix").feature_names.tolist()
    assert names == ["A", "A_3", "A_2", "A_4"]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("half", [[0.25, 1], [2, 1], [0.25, 4], [0.25, 2]]),
        ("limit", [[0.5, 2], [2, 2], [0.5, 4], [0.5, 2]]),
        ("missing", [[np.nan, np.nan], [2, np.nan], [np.nan, 4], [np.nan, 2]]),
    ],
)
def test_values_below_detection(tmp_path, rule, expected):
    (tmp_path / "t.csv").write_text("a,b,y\n<0.5,n.d.,u\n2,BDL,v\n< 0.5,4,u\nND,2,v\n")
    with pytest.raises(StudyError, match="below_detection: half, missing or limit") as caught:
        read_data(tmp_path / "t.csv", target="y")
    assert {problem.path for problem in caught.value.problems} == {("below_detection",)}
    if rule == "missing":
        with pytest.raises(StudyError) as caught:
            read_data(tmp_path / "t.csv", target="y", below_detection=rule)
        assert [problem.path for problem in caught.value.problems] == [("missing",)]
        return
    data = read_data(tmp_path / "t.csv", target="y", below_detection=rule)
    np.testing.assert_array_equal(data.X, expected)
    assert facts(data, "below_detection")["n_values"] == 5


def test_a_limit_that_is_given_counts_for_values_without_one(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n<0.5,u\nn.d.,v\n0.3,u\n2,v\n")
    data = read_data(tmp_path / "t.csv", target="y", below_detection="limit")
    assert data.X[:, 0].tolist() == [0.5, 0.5, 0.3, 2]


@pytest.mark.parametrize("entry", ["n.d.", "<-3"])
def test_half_of_a_negative_limit_would_be_above_it(tmp_path, entry):
    (tmp_path / "t.csv").write_text(f"a,y\n{entry},u\n-3,v\n1,u\n2,v\n")
    with pytest.raises(StudyError, match="below_detection: limit or missing") as caught:
        read_data(tmp_path / "t.csv", target="y", below_detection="half")
    assert caught.value.problems[0].path == ("below_detection",)
    data = read_data(tmp_path / "t.csv", target="y", below_detection="limit")
    assert data.X[:, 0].tolist() == [-3, -3, 1, 2]


@pytest.mark.parametrize("name", ["Entrez", "Entrez_Gene_Id", "gene_id", "Entrez Gene ID", "Start"])
def test_numbers_of_genes_are_not_a_sample(tmp_path, name):
    (tmp_path / "t.csv").write_text(f"Hugo_Symbol,{name},S1,S2,S3\nTP53,7157,1,2,3\nMYC,,4,5,6\nKIT,3815,7,8,9\n")
    data = read_data(tmp_path / "t.csv", features_in="rows")
    assert data.sample_names.tolist() == ["S1", "S2", "S3"]
    assert facts(data, "descriptions_ignored")["columns"] == [name]


def test_zeros_in_front_of_ids_stay(tmp_path):
    ids = [f"{i:03d}" for i in range(8, 14)]
    lines = ["sample,code,dose,status", *(f"{name},0{i % 2},00{i},{'uv'[i % 2]}" for i, name in enumerate(ids))]
    (tmp_path / "sheet.csv").write_text("\n".join(lines))
    (tmp_path / "t.csv").write_text(f"gene,{','.join(ids)}\nA,1,2,3,4,5,6\nB,3,2,1,6,5,4\n")
    data = read_data(tmp_path / "t.csv", features_in="rows", samples=tmp_path / "sheet.csv", target="status")
    assert data.sample_names.tolist() == ids
    assert read_data(tmp_path / "sheet.csv", target="code", id="sample").target.classes.tolist() == ["00", "01"]
    data = read_data(tmp_path / "sheet.csv", target="status")  # as before: numbers, but for the ids
    assert data.feature_names.tolist() == ["code", "dose"]
    assert data.X.tolist() == [[i % 2, i] for i in range(6)]
    assert facts(data, "ids_ignored")["columns"] == ["sample"]
    doses = read_data(tmp_path / "sheet.csv", target="dose", task="regression")
    assert doses.target.values.tolist() == list(range(6))


def test_a_target_that_the_sheet_does_not_have_is_sought_in_the_sheet(frame, tmp_path):
    layout = _rows(frame, tmp_path / "t.txt") | {"target": "MYD"}  # MYC is a feature
    with pytest.raises(StudyError, match="The columns are 'status'") as caught:
        read_data(**layout)
    assert caught.value.problems[0].path == ("target",)


def test_files_of_the_same_name_are_all_read(tmp_path):
    for i, folder in enumerate(("a", "b")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "t.csv").write_text(f"gene,s1,s2,s3\ng{i},1,2,3\nh{i},3,2,4\n")
    files = [tmp_path / "a/t.csv", tmp_path / "b/t.csv"]
    data = read_data(files, features_in="rows")
    assert data.feature_names.tolist() == ["g0", "h0", "g1", "h1"]
    assert data.blocks.names == tuple(map(str, files))
    with pytest.raises(InputError, match="twice") as caught:
        read_data([files[0], files[0]], features_in="rows")
    assert caught.value.argument == "path"


def test_the_mark_of_a_file_counts_more_than_the_encoding_of_the_study(tmp_path):
    text = "gene,s1,s2,s3\nGrö,1,2,3\nB,3,2,4\n"
    for name, encoding in (("a.csv", "utf-8-sig"), ("b.csv", "utf-16"), ("c.csv", "latin-1")):
        (tmp_path / name).write_text(text, encoding=encoding)
    files = {name: tmp_path / f"{name}.csv" for name in "abc"}
    data = read_data(files, features_in="rows", encoding="latin-1")
    assert data.feature_names.tolist() == ["a: Grö", "a: B", "b: Grö", "b: B", "c: Grö", "c: B"]


def test_empty_rows_of_a_sheet_separate_its_parts(frame, tmp_path):
    from openpyxl import Workbook

    book = Workbook()
    for row in [["sample", *GENES], [], *([name, *frame.loc[name, GENES]] for name in SAMPLES)]:
        book.active.append(row)
    book.active.insert_rows(6)
    book.active.cell(9, 2).value = "bad"
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(StudyError, match="'bad' in row 9 is not a number"):
        read_data(tmp_path / "t.xlsx", id="sample")
    data = read_data(tmp_path / "t.xlsx", id="sample", ignore="TP53")
    assert data.sample_names.tolist() == SAMPLES
    np.testing.assert_array_equal(data.X, frame[GENES[1:]])


def test_values_below_detection_beside_quoted_decimal_commas(tmp_path):
    (tmp_path / "t.csv").write_text('a,y\n"<0,5",u\n"2,5",v\nn.d.,u\n"1,5",v\n')
    with pytest.raises(StudyError, match="below_detection: half, missing or limit"):
        read_data(tmp_path / "t.csv", target="y")
    data = read_data(tmp_path / "t.csv", target="y", below_detection="half")
    assert data.X[:, 0].tolist() == [0.25, 2.5, 0.25, 1.5]


def test_thousands_in_quotes_are_not_taken_for_decimals(tmp_path):
    (tmp_path / "t.csv").write_text('a,b,y\n"1,234",1,u\n"2,500",2,v\n"3,100",3,u\n')
    with pytest.raises(StudyError, match="'1,234' in line 2"):
        read_data(tmp_path / "t.csv", target="y")


def test_gene_symbols_that_became_dates(tmp_path):
    names = ["TP53", "Mar", "SEP15", "10-Sep", "1-mar", "Dec-1", "2021-09-02 00:00:00", "x1-Mar", "2021-07-02"]
    found = {name: symbols_before_damage(name) for name in names}
    assert {name for name, genes in found.items() if genes} == {"10-Sep", "1-mar", "Dec-1", "2021-09-02 00:00:00"}
    assert found["2021-09-02 00:00:00"] == ("SEPT2", "SEPTIN2")
    (tmp_path / "t.csv").write_text("gene,s1,s2,s3\nTP53,1,2,4\n1-Mar,2,1,5\n")
    with pytest.raises(StudyError, match=r"'1-Mar' \(MARCH1 or MARCHF1 or MARC1") as caught:
        read_data(tmp_path / "t.csv", features_in="rows")
    assert caught.value.problems[0].path == ("features",)
    data = read_data(tmp_path / "t.csv", features_in="rows", features="as_is")
    assert data.feature_names.tolist() == ["TP53", "1-Mar"]


# -- what is refused ---------------------------------------------------------------------------------------------------


def _renamed(frame, change):
    return frame.set_axis([change(name) for name in frame.index])


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (lambda name: name.replace("-", "."), "With '.', '-', '_' and blanks written alike, 12 would match"),
        (str.lower, "In capital letters, 12 would match"),
        (lambda name: f"{name}-01A-11R", "Cut to their first 4 characters, 12 would match"),
        (lambda name: f"patient {name[::-1]}", "Check that both files are of the same samples"),
    ],
)
def test_ids_of_which_fewer_than_half_match(frame, tmp_path, change, hint):
    frame[GENES].to_csv(tmp_path / "t.csv")
    _renamed(frame[["status"]], change).to_csv(tmp_path / "sheet.csv")
    with pytest.raises(StudyError) as caught:
        read_data(tmp_path / "t.csv", samples=tmp_path / "sheet.csv", target="status")
    (problem,) = caught.value.problems
    assert problem.path == ("samples",)
    assert "'S-00'" in problem.message
    assert repr(change("S-00")) in problem.message
    assert hint in problem.message


@pytest.mark.parametrize(
    ("content", "given", "path"),
    [
        ("id,a\np,1\np,2\nq,3\n", {"id": "id"}, ("id",)),
        ("gene,s1,s1\nA,1,2\nB,2,3\n", {"features_in": "rows"}, ("id",)),
        ("id,a\np,1\n,2\nq,3\n", {"id": "id"}, ("id",)),
        ("id,a\np,1\nq,3\n", {"id": "nr"}, ("id",)),
        ("gene,s1,s2\nA,u,v\nB,w,x\n", {"features_in": "rows"}, ("features_in",)),
        ("gene,s1,s2\nA,1,2\nstatus,u,v\n", {"target": "status"}, ("target",)),
        ("id,a,status\np,1,u\nq,2,v\n", {"target": "status", "features_in": "rows"}, ("target",)),
        ("a,a,y\nu,1,p\nv,2,q\n", {"duplicates": "mean", "target": "y"}, ("duplicates",)),
        ("a,y\n1,\n2,\n", {"target": "y"}, ("target",)),
    ],
)
def test_what_does_not_fit_is_refused_with_its_argument(tmp_path, content, given, path):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(StudyError) as caught:
        read_data(tmp_path / "t.csv", **given)
    assert path in [problem.path for problem in caught.value.problems], caught.value


@pytest.mark.parametrize("features_in", ["rows", "columns"])
def test_a_table_that_is_the_other_way_round_than_its_sheet_says(frame, tmp_path, features_in):
    (frame[GENES] if features_in == "rows" else frame[GENES].T).to_csv(tmp_path / "t.csv")
    frame[["status"]].to_csv(tmp_path / "sheet.csv")
    other = "columns" if features_in == "rows" else "rows"
    with pytest.raises(StudyError, match=f"choose features_in: {other}"):
        read_data(tmp_path / "t.csv", samples=tmp_path / "sheet.csv", target="status", features_in=features_in)


def test_a_sheet_without_the_target_or_that_is_not_there(frame, tmp_path):
    frame[GENES].to_csv(tmp_path / "t.csv")
    frame[["status"]].to_csv(tmp_path / "sheet.csv")
    with pytest.raises(StudyError, match=r"no column 'outcome' to be the target\. The columns are 'status'") as caught:
        read_data(tmp_path / "t.csv", samples=tmp_path / "sheet.csv", target="outcome")
    assert caught.value.problems[0].path == ("target",)
    with pytest.raises(InputError) as caught:
        read_data(tmp_path / "t.csv", samples=tmp_path / "shet.csv", target="status")
    assert caught.value.argument == "samples"


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("features_in", "row"), ("keep", "some"), ("duplicates", "last"), ("below_detection", "zero"),
        ("features", "asis"), ("encoding", "latin-99"), ("path", []), ("encoding", "base64"), ("encoding", "zlib"),
        ("encoding", "rot13"), ("encoding", "hex"), ("encoding", "a\0b"),
    ],
)  # fmt: skip
def test_choices(frame, tmp_path, argument, value):
    frame.to_csv(tmp_path / "t.csv")
    with pytest.raises(InputError) as caught:
        read_data(**{"path": tmp_path / "t.csv", "target": "status", argument: value})
    assert caught.value.argument == argument


def test_text_that_does_not_fit_its_encoding(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,2\n3,\xff\n")
    with pytest.raises(InputError, match="latin-1"):
        read_data(tmp_path / "t.csv")
    with pytest.raises(InputError) as caught:
        read_data(tmp_path / "t.csv", encoding="ascii")
    assert caught.value.argument == "encoding"


# -- which way round ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "columns", "first", "expected"),
    [
        (GENES, SAMPLES, "gene", "rows"),
        (SAMPLES, GENES, "sample", "columns"),
        (GENES, [f"S{i}" for i in range(60)], "", "rows"),  # eight genes of sixty samples
        ([f"S{i}" for i in range(60)], GENES, "", "columns"),
        ([f"g{i}a{i * 7 % 5}x"[: 3 + i % 3] + str(i) for i in range(400)], ["brain", "liver", "lung"], "name", "rows"),
        ([f"PT{i:05d}" for i in range(400)], ["age", "dose", "bmi", "pressure"], "", "columns"),
        (GENES * 5, [f"control_{c}" for c in "abc"], "symbol", "columns"),  # names twice: not a list of features
        (["TP53", "MYC", "EGFR", "KRAS"], ["control_a", "control_b", "treated_a", "treated_b"], "symbol", "rows"),
    ],
)
def test_orientation_is_guessed_from_names(tmp_path, rows, columns, first, expected):
    values = np.random.default_rng(0).normal(size=(len(rows), len(columns)))
    pd.DataFrame(values, index=rows, columns=columns).to_csv(tmp_path / "t.csv", index_label=first)
    table = read_table(tmp_path / "t.csv")
    assert likely_features_in(table) == expected
    assert likely_features_in(table, samples=columns) == "rows"
    assert likely_features_in(table, samples=rows) == "columns"
    assert likely_features_in(table, target=columns[0]) == "columns"
    if expected == "rows":
        data = read_data(tmp_path / "t.csv")
        assert facts(data, "looks_transposed")["rows"] == rows[:3]
        assert "looks_transposed" not in codes(read_data(tmp_path / "t.csv", features_in="rows"))


def test_tcga_ovarian(data_dir):
    folder = data_dir / "tcga_ov"
    paths = {"miRNA": folder / "mirna.txt.gz", "RPPA": folder / "rppa.txt.gz"}
    data = read_data(
        paths, samples=folder / "clinical.txt.gz", features_in="rows", target="Platinum_status", missing="median"
    )
    frames = [pd.read_csv(path, sep="\t", index_col=0).T for path in (*paths.values(), folder / "clinical.txt.gz")]
    expected = pd.concat(frames, axis=1, join="inner").dropna(subset="Platinum_status")
    assert data.sample_names.tolist() == expected.index.tolist()
    assert data.target.labels.tolist() == expected["Platinum_status"].tolist()
    values = expected[data.feature_names].astype(float)
    np.testing.assert_array_equal(data.X, values.to_numpy())
    assert facts(data, "samples_joined")["n_samples"] == 327
    assert {name: len(members) for name, members in data.blocks.members.items()} == {"miRNA": 588, "RPPA": 159}


def test_the_missing_of_clinical_files_is_not_a_class(frame, tmp_path):
    frame["status"] = [*frame["status"][:-4], "n/a", "[Not Available]", "k.A.", "#NV"]
    data = read_data(**_csv(frame, tmp_path / "t.csv"), target="status")
    assert data.target.classes.tolist() == ["ill", "well"]
    assert facts(data, "samples_without_target")["samples"] == SAMPLES[-4:]


def test_characteristics_of_a_series_matrix(tmp_path):
    described = {
        "characteristics_ch1": ["state: ill", "state: NA", "state: well", "state: ill", "", "state: well"],
        "characteristics_ch1 ": ["dose: 1.5", "dose: 2", "dose: N/A", "dose: 3", "dose: 4", "dose: 5"],
        "characteristics_ch1  ": ["left", "right", "left", "right", "left", "right"],
    }
    lines = ["!Sample_geo_accession\t" + "\t".join(SAMPLES[:6])]
    lines += [
        f"!Sample_{name.strip()}\t" + "\t".join(f'"{entry}"' for entry in found) for name, found in described.items()
    ]
    lines += ["!series_matrix_table_begin", "\t".join(["ID_REF", *SAMPLES[:6]])]
    lines += [f"g{i}\t" + "\t".join(str((j * (i + 3)) % 7) for j in range(6)) for i in range(3)]
    (tmp_path / "g.txt").write_text("\n".join([*lines, "!series_matrix_table_end", ""]))
    data = read_data(tmp_path / "g.txt", target="state")
    assert data.target.classes.tolist() == ["ill", "well"]
    assert facts(data, "samples_without_target")["samples"] == [SAMPLES[1], SAMPLES[4]]
    doses = read_data(tmp_path / "g.txt", target="dose", task="regression")
    assert doses.target.values.tolist() == [1.5, 2, 3, 4, 5]
    sides = read_data(tmp_path / "g.txt", target="characteristics_ch1.2")
    assert sides.target.classes.tolist() == ["left", "right"]


@pytest.mark.parametrize("role", ["adjust_for", "target"])
def test_a_column_that_is_named_twice_in_a_role(frame, tmp_path, role):
    frame.to_csv(tmp_path / "t.csv")
    columns = {"target": "status", role: ["status", "status"] if role == "target" else ["MYC", "MYC"]}
    with pytest.raises(StudyError, match="is named more than once; name it once") as caught:
        read_data(tmp_path / "t.csv", **columns)
    assert {problem.path for problem in caught.value.problems} == {(role,)}


def test_a_series_matrix_without_its_table_is_empty(tmp_path):
    (tmp_path / "geo.txt").write_text('!Sample_geo_accession\t"s1"\n!series_matrix_table_begin\n')
    with pytest.raises(InputError, match="is empty"):
        read_data(tmp_path / "geo.txt")
    (tmp_path / "geo.txt").write_text(f"!Sample_title\t{'x' * 200_000}\n!series_matrix_table_begin\nID\ts1\ng\t1\n")
    with pytest.raises(InputError, match=r"geo\.txt cannot be read"):
        read_data(tmp_path / "geo.txt")


# -- decimal signs of several files ------------------------------------------------------------------------------------

PAIRS = [f"{31 * i},{i % 2}" for i in range(1, N)] + ["NA,NA"]


def _in_rows(path, rows, decimal="."):
    """Write features in rows, as portals of cohorts do."""
    lines = ["\t".join(["attrib_name", *SAMPLES])]
    lines += ["\t".join([name, *(str(value).replace(".", decimal) for value in values)]) for name, values in rows]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


@pytest.fixture
def cohort(tmp_path):
    """Clinical attributes with a row of pairs, RNA with decimal points and proteins with decimal commas."""
    rng = np.random.default_rng(5)
    clinical = [("purity", rng.random(N).round(3)), ("status", ["ill", "well"] * (N // 2)), ("overallsurvival", PAIRS)]
    rna, protein = ([(f"{kind}{i}", rng.normal(size=N).round(4)) for i in range(4)] for kind in "gp")
    protein[0][1][0] = 0.25
    files = {
        "clinical": _in_rows(tmp_path / "clinical.txt", clinical),
        "rna": _in_rows(tmp_path / "rna.txt", [*rna, ("batch", ["a", "b", "c"] * 4)]),
        "protein": _in_rows(tmp_path / "protein.txt", [*protein, ("plate", ["v", "w"] * 6)], decimal=","),
    }
    return files, dict([clinical[0], *rna, *protein])


@pytest.mark.parametrize("order", list(permutations(["clinical", "rna", "protein"])))
def test_the_order_of_files_does_not_change_their_numbers(cohort, order):
    files, numbers = cohort
    data = read_data({block: files[block] for block in order}, features_in="rows", target="status")
    names = data.feature_names.tolist()
    assert sorted(names) == sorted([*numbers, "batch", "plate"])
    for name, values in numbers.items():
        np.testing.assert_array_equal(data.X[:, names.index(name)], values)
    assert facts(data, "columns_ignored") == {"kind": "pairs", "n_columns": 1, "columns": ["overallsurvival"]}


def test_pairs_in_a_file_of_whole_numbers_are_text(tmp_path):
    """Nothing else says which sign stands for decimals; two events are enough to tell pairs from numbers."""
    rows = [("age", range(N)), ("status", ["ill", "well"] * (N // 2)), ("os", [*PAIRS[:-1], "400,1"])]
    data = read_data(_in_rows(tmp_path / "t.txt", rows), features_in="rows", target="status")
    assert data.feature_names.tolist() == ["age"]
    assert facts(data, "columns_ignored")["columns"] == ["os"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_column_of_pairs_is_left_out(frame, tmp_path, delimiter):
    frame.assign(os=PAIRS).to_csv(tmp_path / "t.csv", sep=delimiter, index_label="sample")
    data = read_data(tmp_path / "t.csv", target="status", id="sample")
    np.testing.assert_array_equal(data.X, frame[GENES].to_numpy())
    assert facts(data, "columns_ignored") == {"kind": "pairs", "n_columns": 1, "columns": ["os"]}
    assert "os" in infer_columns(inspect_files([tmp_path / "t.csv"]).table).ignored


def test_rows_with_decimal_commas_prevail_over_a_version_with_a_point(tmp_path):
    rows = [("kit", ["1.2", "a"] * (N // 2)), ("x", [i + 0.5 for i in range(N)]), ("y", [i / 4 for i in range(N)])]
    path = _in_rows(tmp_path / "t.txt", rows[1:], decimal=",")
    with path.open("a", encoding="utf-8") as file:
        file.write("\t".join(["kit", *rows[0][1]]) + "\n")
    assert read_files(path, features_in="rows").decimal == ","


@pytest.mark.parametrize("order", list(permutations(["clinical", "mirna", "rppa"])))
def test_tcga_ovarian_in_any_order_of_its_files(data_dir, order):
    paths = {block: data_dir / "tcga_ov" / f"{block}.txt.gz" for block in order}
    clinical = pd.read_csv(paths["clinical"], sep="\t", index_col=0)
    assert "NA,NA" in clinical.loc["overallsurvival"].to_list()  # the row that made commas of all decimal points
    target = {"time": "overall_survival", "event": "status"}
    table = read_files(paths, features_in="rows", keep="any", roles=[target])
    for block in ("mirna", "rppa"):
        values = pd.read_csv(paths[block], sep="\t", index_col=0).T
        np.testing.assert_array_equal(table.frame.loc[values.index, values.columns].astype(float), values)
    data = read_features(table, target=target, missing="available")
    assert facts(data, "columns_ignored") == {"kind": "pairs", "n_columns": 1, "columns": ["overallsurvival"]}
    purity = clinical.loc["Tumor_purity", data.sample_names].astype(float)
    np.testing.assert_array_equal(data.X[:, data.feature_names.tolist().index("Tumor_purity")], purity)
