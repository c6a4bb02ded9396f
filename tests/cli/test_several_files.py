"""Commands on files as laboratories have them: genes in rows, several files, a sample sheet."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ubayfs.study import load_study


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two blocks with features in rows, and a clinical sheet either of whose attributes may be the target."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    samples = [f"TCGA.04.{1300 + i}" for i in range(40)]
    status = np.where(np.arange(40) % 3 == 0, "resistant", "sensitive")
    rna = pd.DataFrame(rng.normal(size=(12, 40)), index=[f"hsa-mir-{i}" for i in range(12)], columns=samples)
    rna.loc["hsa-mir-3"] += 3 * (status == "resistant")
    protein = pd.DataFrame(rng.normal(size=(6, 36)), index=["AKT", "TP53", "MYC", "EGFR", "KIT", "MET"],
                           columns=samples[2:38])  # fmt: skip
    rna.to_csv("mirna.txt.gz", sep="\t", index_label="attrib_name")
    protein.to_csv("rppa.txt", sep="\t", index_label="attrib_name")
    clinical = pd.DataFrame({"age": rng.integers(30, 80, 40), "Platinum_status": status}, index=samples).T
    clinical.iloc[1, 5] = np.nan
    clinical.to_csv("clinical.txt", sep="\t", index_label="attrib_name")
    return tmp_path


def codes(text):
    return {advice["code"] for advice in json.loads(text)["advice"]}


@pytest.mark.usefixtures("blank_figures")
def test_from_files_to_a_result_without_an_edited_line(files, run):
    done = run("init", "mirna.txt.gz", "rppa.txt", "--samples", "clinical.txt", "--target", "Platinum_status")
    assert done.code == 0, done.err
    assert (
        "mirna.txt.gz: features in rows (hsa-mir-0, hsa-mir-1, hsa-mir-2 and 9 more), samples TCGA.04.1300" in done.out
    )
    study = load_study("study.yaml")
    assert study.data.path == {"mirna": "mirna.txt.gz", "rppa": "rppa.txt"}
    assert (study.data.samples, study.data.features_in) == ("clinical.txt", "rows")
    done = run("check", "study.yaml")
    assert done.code == 0, done.err
    assert "35 samples, 18 features" in done.out
    assert "Note: 36 samples are in all of the files (mirna.txt.gz 40, rppa.txt 36, clinical.txt 40)." in done.err
    assert "mirna.txt.gz: 4 of 40 samples are not used" in done.err
    assert "'Platinum_status' are left out: 1 (TCGA.04.1305); 35 are used" in done.err

    done = run("select", "study.yaml", "-o", "out", "--max-per-block", "2", "--reduced-table", "--draws", "3")
    assert done.code == 0, done.err
    assert "hsa-mir-3" in done.out
    noted = {"samples_joined", "samples_not_matched", "samples_without_target", "file_transposed"}
    summary = Path("out/summary.json").read_text(encoding="utf-8")
    assert noted <= codes(summary)
    of_data, warned = json.loads(summary)["notes"]["data"], json.loads(summary)["warnings"]
    assert sum("samples are not used" in note for note in of_data) == 2
    assert not any("samples are not used" in warning for warning in warned)
    assert "4 of 40 samples are not used" in Path("out/report.md").read_text(encoding="utf-8")
    assert "mirna.txt.gz, rppa.txt, clinical.txt" in Path("out/report.md").read_text(encoding="utf-8")
    reduced = pd.read_csv("out/selected_data.csv", index_col=0)
    assert reduced.index[0] == "TCGA.04.1302"
    assert {"Platinum_status", "hsa-mir-3"} <= set(reduced.columns)
    stored = load_study("out/study.yaml")
    assert stored.data.path["mirna"] == "../mirna.txt.gz"
    assert set(stored.blocks.members) == {"mirna", "rppa"}
    assert run("decide", "out", "--max-per-block", "1", "-o", "again").code == 0
    assert run("compare", "out", "again").code == 0


def test_a_matrix_with_genes_in_rows_is_never_read_silently(files, run):
    """Without a sample sheet there is no target; init guesses, check warns of the wrong way round."""
    done = run("init", "rppa.txt", "-o", "s.yaml")
    assert "rppa.txt: features in rows (AKT, TP53, MYC and 3 more)" in done.out
    assert load_study("s.yaml").data.features_in == "rows"
    assert "36 samples, 6 features" in run("check", "s.yaml").out
    done = run("check", "rppa.txt", "--selector", "laplacian")
    assert "rppa.txt seems to have features in rows (AKT, TP53, MYC), and was read as 6 samples" in done.err
    done = run("check", "rppa.txt", "--target", "MYC")
    assert (
        "--target: rppa.txt: there is no column 'MYC' to be the target, but a row: choose features_in: rows" in done.err
    )


def test_problems_of_files_name_the_key(files, run):
    sheet = pd.read_csv("clinical.txt", sep="\t", index_col=0).rename(columns=lambda name: name.replace(".", "-"))
    sheet.to_csv("other.txt", sep="\t")
    text = (
        "data: {path: {a: mirna.txt.gz, b: rppa.txt}, samples: other.txt, features_in: rows, target: Platinum_status}\n"
    )
    Path("s.yaml").write_text(text, encoding="utf-8")
    done = run("check", "s.yaml")
    assert done.code == 2
    assert "s.yaml, line 1, data.samples: mirna.txt.gz: only 0 of 40 sample ids are in other.txt" in done.err
    assert "'TCGA.04.1300'" in done.err
    assert "'TCGA-04-1300'" in done.err
    done = run("check", "s.yaml", "--samples", "nowhere.txt")
    assert "--samples: " in done.err
    assert "nowhere.txt does not exist" in done.err
    done = run("check", "s.yaml", "--samples", "clinical.txt", "--keep", "most", "--features-in", "lines")
    assert "--keep: must be one of" in done.err
    assert "--features-in: must be one of" in done.err


def test_init_finds_what_must_be_decided(files, run):
    Path("t.csv").write_text("gene,s1,s2,s3,s4\nA,1,<2,3,4\nA,2,3,4,5\n1-Mar,4,5,6,7\nB,1,2,1,2\nC,3,2,1,1\n")
    done = run("init", "t.csv", "-o", "s.yaml")
    assert done.code == 0, done.err
    section = load_study("s.yaml").data
    assert (section.features_in, section.duplicates, section.below_detection) == ("rows", "error", "half")
    done = run("check", "s.yaml")
    assert done.code == 2
    assert "duplicates: first | mean | max_variance | suffix" in done.err
    done = run("check", "s.yaml", "--duplicates", "mean")
    assert "data.features: t.csv: feature names that a spreadsheet may have turned into dates: '1-Mar'" in done.err
    done = run("check", "s.yaml", "--duplicates", "mean", "--allow-date-names")
    assert "4 samples, 4 features" in done.out, done.err


def test_files_that_are_not_the_same_way_round(files, run):
    pd.read_csv("rppa.txt", sep="\t", index_col=0).T.to_csv("turned.csv", index_label="sample")
    done = run("init", "mirna.txt.gz", "turned.csv", "--samples", "clinical.txt", "-o", "s.yaml")
    assert done.code == 2
    assert "mirna.txt.gz in rows, turned.csv in columns" in done.err


def test_init_counts_the_samples_that_its_study_uses(files, run):
    rppa = pd.read_csv("rppa.txt", sep="\t", index_col=0)
    rppa.iloc[0, 0] = np.nan
    rppa.to_csv("rppa.txt", sep="\t")
    done = run("init", "mirna.txt.gz", "rppa.txt", "--samples", "clinical.txt", "--target", "Platinum_status")
    assert done.code == 0, done.err
    assert load_study("study.yaml").data.missing == "available"
    assert "sensitive (25), resistant (14)" in Path("study.yaml").read_text(encoding="utf-8")
    done = run("check", "study.yaml")
    assert "task binary: resistant 14, sensitive 25" in done.out, done.err


def test_init_shows_samples_only_and_reads_as_it_writes(files, run):
    Path("t.csv").write_text(
        "gene,Description,Entrez,s1,s2,s3,s4\nA,x,1,1,n.d.,-3,4\nB,x,2,1,2,1,2\nC,x,3,3,2,1,1\nD,x,4,3,2,5,1\n"
    )
    done = run("init", "t.csv", "-o", "s.yaml")
    assert done.code == 0, done.err
    assert "t.csv: features in rows (A, B, C and 1 more), samples s1, s2, s3 and 1 more\n" in done.out
    assert "No target was found; if there is one, name it in the file." in done.out
    section = load_study("s.yaml").data
    assert (section.below_detection, section.missing) == ("limit", "error")  # -3 has no half
    assert "columns that describe the features are not read as samples: 2 (Description, Entrez)" in done.err
    assert "1 value(s) below detection in 1 column(s) (A): limit." in done.err


@pytest.fixture
def workbook(tmp_path, monkeypatch):
    """An Excel file with proteins, dates as text and gaps; another of its sheets describes the samples."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    ids, ill = [f"P{i:03}" for i in range(40)], np.arange(40) % 2
    proteins = pd.DataFrame(rng.normal(size=(40, 12)), columns=[f"prot{j}" for j in range(12)])
    proteins["prot3"] += 3 * ill
    proteins.iloc[4, 5] = np.nan
    proteins.insert(0, "Patient", ids)
    proteins.insert(1, "Datum", [f"{1 + i % 28:02}.0{1 + i // 28}.2024" for i in range(40)])
    proteins.loc[39, "Datum"] = proteins.loc[38, "Datum"]
    clinic = pd.DataFrame(
        {"Patient": ids, "Diagnose": np.where(ill, "krank", "gesund"), "Batch": ["A", "A", "B"] * 13 + ["B"]}
    )
    with pd.ExcelWriter("notes.xlsx") as writer:
        pd.DataFrame({"read me": ["hello"]}).to_excel(writer, sheet_name="Info", index=False)
        clinic.to_excel(writer, sheet_name="Klinik", index=False)
    with pd.ExcelWriter("lab.xlsx") as writer:
        proteins.to_excel(writer, sheet_name="Proteine", index=False)
        clinic.iloc[:38].to_excel(writer, sheet_name="Klinik", index=False)
    return tmp_path


@pytest.mark.usefixtures("blank_figures")
def test_another_sheet_of_the_workbook_describes_the_samples(workbook, run):
    done = run("init", "lab.xlsx")
    assert "other sheets: 'Klinik'. If one of them describes the samples, name it with --samples-sheet." in done.out
    done = run("init", "lab.xlsx", "--samples-sheet", "Klinik", "--target", "Diagnose", "--force")
    assert done.code == 0, done.err
    section = load_study("study.yaml").data
    assert (section.samples, section.samples_sheet, section.ignore) == (None, "Klinik", ("Datum",))
    done = run("check", "study.yaml")
    assert "lab.xlsx: 38 samples, 12 features" in done.out, done.err
    assert "lab.xlsx (Proteine): 2 of 40 samples are not used, since other files do not have them" in done.err

    options = ("--target", "Diagnose", "--adjust-for", "Batch", "--missing", "available", "--max-size", "1")
    done = run("select", "lab.xlsx", "--samples-sheet", "Klinik", *options, "--trust", "none", "-o", "out")
    assert done.code == 0, done.err
    assert "columns that hold dates, not numbers, are not used as features: 1 (Datum)" in done.err
    assert "prot3" in done.out
    assert load_study("out/study.yaml").data.samples_sheet == "Klinik"
    report = Path("out/report.md").read_text(encoding="utf-8")
    assert "Association with Batch, and with the target before and after adjusting for it" in report
    assert "when Batch has explained what it can" in report
    assert run("decide", "out", "--max-size", "2").code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--samples-sheet", "Klink"), "--samples-sheet: lab.xlsx has no sheet 'Klink'. Did you mean 'Klinik'?"),
        (
            ("--samples", "lab.xlsx"),
            "'Proteine' cannot be data and sample sheet at once. Choose samples_sheet: 'Klinik'",
        ),
        ((), "the file also has 'Klinik'. A sheet that describes the samples is named as samples_sheet."),
        (("--samples", "t.csv", "--samples-sheet", "Klinik"), "--samples-sheet: t.csv is not an Excel file"),
    ],
)
def test_a_sheet_that_cannot_describe_the_samples(workbook, run, options, message):
    Path("t.csv").write_text("Patient,Diagnose\nP000,krank\n", encoding="utf-8")
    done = run("check", "lab.xlsx", "--target", "Diagnose", "--missing", "available", *options)
    assert done.code == 2
    assert message in done.err
    assert "problems" not in done.err  # it is the only one


def test_a_sheet_of_notes_is_read_instead_of_the_data(workbook, run):
    done = run("check", "notes.xlsx", "--samples-sheet", "Klinik", "--target", "Diagnose")
    assert "only 0 of 1 sample ids are in notes.xlsx (Klinik): notes.xlsx (Info) has 'hello'" in done.err
    assert "This is the sheet 'Info'; the file also has 'Klinik'." in done.err
    assert "features_in" not in done.err


def test_a_sheet_of_several_files_needs_the_file(files, run):
    Path("s.yaml").write_text(
        "data:\n  path: {a: mirna.txt.gz, b: rppa.txt}\n  features_in: rows\n  samples_sheet: one\n", encoding="utf-8"
    )
    done = run("check", "s.yaml")
    assert "line 4, data.samples_sheet: samples_sheet names a sheet of the sample sheet, which is not given" in done.err


@pytest.mark.usefixtures("blank_figures")
def test_files_of_options_are_stored_relative_to_the_study(workbook, run):
    """A result can be moved together with its files."""
    pd.read_excel("lab.xlsx", sheet_name="Klinik").to_csv("clinic.csv", index=False)
    Path("known.csv").write_text("feature,weight\nprot1,likely\n", encoding="utf-8")
    (workbook / "studies").mkdir()
    Path("studies/s.yaml").write_text("data: {path: ../lab.xlsx, missing: available, target: Diagnose}\n", "utf-8")
    options = ("--samples", "clinic.csv", "--weights-table", "known.csv", "--max-size", "2", "--trust", "none")
    done = run("select", "studies/s.yaml", *options, "-o", "out")
    assert done.code == 0, done.err
    assert load_study("out/study.yaml").data.samples == "../clinic.csv"
    done = run("check", "lab.xlsx", "--target", "Diagnose", "--missing", "available", *options)
    assert "data        lab.xlsx, clinic.csv: 38 samples" in done.out, done.err
