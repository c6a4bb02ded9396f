"""Knowledge in decisions: the same words, costs and reasons in Python and in a study, down to the report."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from ubayfs import (
    Blocks,
    Evidence,
    UBayFSSelector,
    cost_budget,
    decide,
    exclude,
    max_per_block,
    max_size,
    read_knowledge,
)
from ubayfs.decision.selection import Selection
from ubayfs.exceptions import ConstraintError, InputError, StudyError, UBayFSWarning
from ubayfs.report import render_csv, render_html, render_markdown, summarize
from ubayfs.study import DataSection, PriorSection, Study, load_study, resolve_study

NAMES = ["TP53", "MYC", "KRAS", "ACTB", "GAPDH", "SEPTIN2"]
SIZE = max_size(2)


@pytest.fixture
def evidence():
    sets = np.zeros((20, 6), dtype=bool)
    sets[:, 3] = True
    sets[:12, 0] = True
    sets[6:, 1] = True
    return Evidence.from_sets(sets, NAMES)


def test_words_are_measured_by_the_models_of_the_evidence(evidence):
    words = {"TP53": "very likely", "MYC": "likely", "KRAS": 3, "ACTB": "unlikely", "GAPDH": "neutral"}
    selection = decide(evidence, weights=words, constraints=[SIZE])
    assert selection.weights.tolist() == [20, 5, 3, 0.01, 0.01, 0.01]
    assert selection.provenance["constraints"][1] == {**exclude(["ACTB"], price=0.5).to_dict(), "from_prior": True}
    assert selection.features == ("TP53", "MYC")
    assert {name: entry["weight"] for name, entry in selection.knowledge.items()} == words
    explicit = decide(
        evidence, weights={"TP53": 20, "MYC": 5, "KRAS": 3}, constraints=[SIZE, exclude(["ACTB"], price=0.5)]
    )
    assert (explicit.features, explicit.value) == (selection.features, selection.value)
    study = Study(DataSection("x.csv"), prior=PriorSection(weights=words), constraints=[SIZE])
    assert study.decide(evidence).value == selection.value
    again = decide(selection.posterior, constraints=[SIZE])  # the posterior has what is unlikely
    assert (again.features, again.value) == (selection.features, selection.value)
    assert Selection.from_dict(json.loads(json.dumps(selection.to_dict()))).knowledge == selection.knowledge


def forms(folder):
    frame = pd.DataFrame({"gene": NAMES[:3], "relevance": ["very likely", "likely", 3], "reason": ["a", None, "c"]})
    frame.to_csv(folder / "k.csv", index=False)
    frame.to_excel(folder / "k.xlsx", index=False)
    return [
        frame,
        str(folder / "k.csv"),
        folder / "k.xlsx",
        read_knowledge(frame),
        pd.Series({"TP53": "very likely", "MYC": "likely", "KRAS": 3}),
        {"very likely": ["TP53"], "likely": "MYC", "KRAS": 3},
        {"TP53": {"weight": "very likely", "why": "a"}, "MYC": "likely", "KRAS": 3},
    ]


def test_every_form_means_the_same(evidence, tmp_path):
    for form in forms(tmp_path):
        selection = decide(evidence, weights=form, constraints=[SIZE])
        assert selection.weights.tolist() == [20, 5, 3, 0.01, 0.01, 0.01]


@pytest.mark.filterwarnings("ignore:ACTB alone:ubayfs.exceptions.UBayFSWarning")
def test_the_estimator_knows_words_and_keeps_them_when_it_decides_again(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 6)), columns=NAMES)
    y = (X["ACTB"] + 0.5 * X["TP53"] > 0).astype(int)
    pd.DataFrame({"feature": ["ACTB", "MYC"], "weight": ["unlikely", "very likely"]}).to_csv(
        tmp_path / "k.csv", index=False
    )
    selector = UBayFSSelector(
        "mrmr", max_features=2, weights=str(tmp_path / "k.csv"), n_models=10, n_features_per_model=5, random_state=0
    ).fit(X, y)
    assert selector.selection_.weights[1] == 10
    again = selector.redecide(max_features=1)
    assert [c.get("from_prior") for c in again.selection_.provenance["constraints"]] == [None, True]


def test_names_that_are_not_in_the_data_are_listed_and_left_out(evidence, tmp_path):
    (tmp_path / "genes.txt").write_text("TP53\nNOSUCH\n2-Sep\nmyc\nSEPT2\nMLL2\n")
    (tmp_path / "aliases.csv").write_text("alias,name\nSEPT2,SEPTIN2\nMLL2,KRAS\nMLL2,GAPDH\n")
    known = read_knowledge(tmp_path / "genes.txt", weight="likely", aliases=tmp_path / "aliases.csv")
    with pytest.warns(UBayFSWarning) as caught:
        selection = decide(evidence, weights=known, constraints=[SIZE])
    facts = {advice.code: advice.facts["names"] for advice in selection.advice}
    assert facts == {
        "names_skipped": ["NOSUCH", "2-Sep", "myc", "MLL2"],
        "names_translated": ["SEPT2: SEPTIN2"],
        "names_ambiguous": ["MLL2: KRAS or GAPDH"],
        "names_damaged": ["2-Sep: SEPT2 or SEPTIN2"],
        "names_in_other_case": ["myc: MYC"],
    }
    assert len(caught) == 5
    assert selection.weights.tolist() == [5, 0.01, 0.01, 0.01, 0.01, 5]
    with pytest.raises(InputError, match=r"genes\.txt, line 2: 'NOSUCH' is not a feature"):
        decide(evidence, weights=read_knowledge(tmp_path / "genes.txt", weight="likely", unknown="error"))
    with pytest.raises(InputError, match=r"none of its 2 names is a feature of the data\. They are 'Myc', 'Tp53'; the"):
        decide(evidence, weights={"likely": ["Myc", "Tp53"]})


def test_of_gene_sets_the_highest_weight_counts(evidence, tmp_path):
    (tmp_path / "sets.gmt").write_text("A\t\tTP53\tMYC\nB\t\tMYC\tKRAS\n")
    blocks = Blocks.from_gene_sets(tmp_path / "sets.gmt", NAMES)
    with pytest.warns(UBayFSWarning, match=r"have the highest of them: 1 \(MYC\)"):
        selection = decide(
            evidence, weights={"A": "likely", "B": 7}, blocks=blocks, constraints=[SIZE, max_per_block(1)]
        )
    assert selection.weights.tolist() == [5, 7, 7, 0.01, 0.01, 0.01]
    with pytest.raises(InputError, match="gives feature 'MYC' the weight 7, but block 'A' gives it 'likely'"):
        decide(evidence, weights={"A": "likely", "B": 7}, blocks=dict(blocks.members))


def test_costs_of_the_table(evidence):
    table = pd.DataFrame({"feature": ["ACTB", "TP53", "MYC"], "cost": [100, 10, 20], "why": ["", "known", ""]})
    with pytest.warns(UBayFSWarning, match="3 of 6 features have no cost in the table and count as free"):
        selection = decide(evidence, weights=table, constraints=[SIZE, cost_budget(None, 40)])
    assert selection.features == ("TP53", "MYC")
    assert selection.provenance["constraints"][1]["arguments"]["costs"] == {"ACTB": 100, "TP53": 10, "MYC": 20}
    assert selection.knowledge == {"TP53": {"why": "known"}}
    with pytest.raises(ConstraintError, match="costs must be given, or be a column of the table"):
        decide(evidence, constraints=[cost_budget(None, 40)])
    with pytest.raises(InputError, match="row 2: feature 'MYC' costs 2 here, but 1 in row 1"):
        decide(evidence, weights=pd.DataFrame({"feature": ["MYC", "MYC"], "cost": [1, 2]}))


STUDY = """\
data: {path: data.csv, target: y}
evidence: {n_models: 20, n_features_per_model: 2}
prior:
  table: known.csv
  aliases: aliases.csv
  weights:
    likely: |
      MYC, NOSUCH
    unlikely: unlikely.txt
    features: {GAPDH: {weight: 2, why: housekeeping}}
blocks: {gene_sets: sets.gmt, only: ["*_SIGNALING"]}
constraints:
  - max_size: {n: 3, rho: hard}
  - cost_budget: {budget: 40, rho: hard}
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(40, 6)), columns=NAMES)
    frame["y"] = (frame["ACTB"] + frame["TP53"] > 0).astype(int)
    frame.to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "known.csv").write_text(
        "Gene,Relevance,Price,Rationale,Reference\nTP53,very likely,10,tumor suppressor,doi:1\nSEPT2,3,20,cell,\n"
    )
    (tmp_path / "aliases.csv").write_text("symbol,prev_symbol\nSEPTIN2,SEPT2\n")
    (tmp_path / "unlikely.txt").write_text("ACTB\n")
    (tmp_path / "sets.gmt").write_text("P53_SIGNALING\t\tTP53\tMYC\tXYZ\nMYC_SIGNALING\t\tMYC\nOTHER\t\tKRAS\n")
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


@pytest.mark.usefixtures("blank_figures")
def test_a_study_with_all_of_it(folder):
    study = load_study(folder / "study.yaml")
    resolved = resolve_study(study)
    assert resolved.knowledge == {
        "TP53": "very likely",
        "MYC": "likely",
        "ACTB": "unlikely",
        "GAPDH": 2.0,
        "SEPTIN2": 3.0,
    }
    assert resolved.decision.blocks.members == {"P53_SIGNALING": ("TP53", "MYC"), "MYC_SIGNALING": ("MYC",)}
    assert [advice.code for advice in resolved.notes] == [
        "names_skipped",
        "names_translated",
        "names_skipped",
        "without_cost",
    ]
    evidence = resolved.collect()
    selection = resolved.decide(evidence)
    assert selection.knowledge["TP53"] == {"weight": "very likely", "why": "tumor suppressor", "source": "doi:1"}
    assert selection.knowledge["GAPDH"] == {"weight": 2.0, "why": "housekeeping"}
    summary = summarize(selection, study=resolved, n_draws=0)
    chosen = {member.feature: member for member in summary.chosen}
    assert (chosen["TP53"].why, chosen["TP53"].source) == ("tumor suppressor", "doi:1")
    assert {entry.feature: entry.why for entry in summary.prior.reasons}["SEPTIN2"] == "cell"
    for text in (render_html(summary), render_markdown(summary)):
        assert text.count("tumor suppressor") >= 2
        assert "cell" in text
        assert "housekeeping" in text
    assert "tumor suppressor" in render_csv(summary)


def test_the_study_of_a_result_needs_no_file_of_knowledge(folder):
    resolved = resolve_study(load_study(folder / "study.yaml"))
    evidence = resolved.collect()
    alone = resolved.standalone
    alone.save(folder / "alone.yaml")
    for name in ("known.csv", "aliases.csv", "unlikely.txt", "sets.gmt"):
        (folder / name).unlink()
    read = load_study(folder / "alone.yaml")
    assert read == alone
    first, second = resolved.decide(evidence), resolve_study(read).decide(evidence)
    assert (first.features, first.value) == (second.features, second.value)
    assert first.knowledge == second.knowledge
    assert_array_equal(first.weights, second.weights)


def test_weights_of_gene_sets_in_a_study(folder):
    text = "data: {path: data.csv, target: y}\nblocks: {gene_sets: sets.gmt}\n"
    weights = "prior: {weights: {blocks: {P53_SIGNALING: likely, MYC_SIGNALING: 7}}}\n"
    (folder / "study.yaml").write_text(text + weights)
    resolved = resolve_study(load_study(folder / "study.yaml"), n_models=20)
    assert resolved.decision.weights.tolist() == [5, 7, 0.01, 0.01, 0.01, 0.01]
    assert [advice.code for advice in resolved.notes] == ["names_skipped", "highest_weight"]
    alone = resolved.standalone
    assert resolve_study(alone, n_models=20).decision.weights.tolist() == [5, 7, 0.01, 0.01, 0.01, 0.01]


def test_paths_move_with_a_study(folder):
    (folder / "sub").mkdir()
    load_study(folder / "study.yaml").save(folder / "sub" / "study.yaml")
    moved = load_study(folder / "sub" / "study.yaml")
    assert moved.inputs == tuple(
        f"../{name}" for name in ("data.csv", "known.csv", "aliases.csv", "unlikely.txt", "sets.gmt")
    )
    assert resolve_study(moved).knowledge == resolve_study(load_study(folder / "study.yaml")).knowledge


def test_all_that_is_wrong_is_reported_at_once(folder):
    (folder / "known.csv").write_text("Gene,Relevance,Price\nTP53,lik,10\nMYC,2,\nMYC,3,-1\nKRAS,1,2\n")
    (folder / "sets.gmt").write_text("lonely\nP53_SIGNALING\t\tTP53\n")
    (folder / "unlikely.txt").write_text("Actb\n")
    in_tables = (
        "known.csv, line 2: the weight must be one of",
        "known.csv, line 3: feature 'MYC' has no cost; 0 if it is free",
        "known.csv, line 4: the cost must be a number that is not negative; got -1",
        "sets.gmt, line 1: has one field",
    )
    of_names = (
        "gives feature 'MYC' the weight 3, but known.csv, line 3 gives it 2",
        "unlikely.txt: none of its 1 names is a feature of the data. They are 'Actb'",
    )
    for parts in (in_tables, of_names):
        with pytest.raises(StudyError) as caught:
            resolve_study(load_study(folder / "study.yaml"))
        assert len(caught.value.problems) >= len(parts)
        for part in parts:
            assert part in str(caught.value)
        (folder / "known.csv").write_text("Gene,Relevance,Price\nTP53,likely,10\nMYC,2,1\nMYC,3,1\nKRAS,1,2\n")
        (folder / "sets.gmt").write_text("P53_SIGNALING\t\tTP53\n")


def test_gene_sets_of_another_organism_are_refused(folder):
    (folder / "sets.gmt").write_text("P_SIGNALING\t\tTrp53\tMyc\n")
    with pytest.raises(
        StudyError, match=r"blocks\.gene_sets: sets\.gmt: none of its 2 names.*'Trp53', 'Myc'; the features"
    ):
        resolve_study(load_study(folder / "study.yaml"))


@pytest.mark.parametrize("form", [np.array, pd.Series, pd.Index, iter])
def test_a_list_of_names_may_have_any_form(evidence, form):
    assert decide(evidence, weights={"likely": form(["TP53", "MYC"])}, constraints=[SIZE]).weights[:3].tolist() == [
        5,
        5,
        0.01,
    ]


@pytest.mark.parametrize("names", ["TP53\nMYC", ["TP53", "MYC"]])
def test_names_without_a_weight_say_how_to_give_one(evidence, names):
    with pytest.raises(InputError, match=r"Names need a weight: \{'likely': names\}"):
        decide(evidence, weights=names, constraints=[SIZE])


def test_a_file_below_a_word_keeps_its_own_weights_and_reasons(evidence, tmp_path):
    table = pd.DataFrame({"Gene": ["TP53", "MYC"], "Relevance": [None, 3], "Why?": ["guardian", None]})
    table.to_excel(tmp_path / "mine.xlsx", index=False)
    selection = decide(evidence, weights={"likely": tmp_path / "mine.xlsx"}, constraints=[SIZE])
    assert selection.knowledge == {"TP53": {"weight": "likely", "why": "guardian"}, "MYC": {"weight": 3.0}}
    study = Study(DataSection("x.csv"), prior=PriorSection(weights={"likely": "mine.xlsx"}), constraints=[SIZE])
    study = replace(study, folder=tmp_path)
    assert study.decide(evidence).knowledge == selection.knowledge


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["2-Sep", "1-Mar"], "'2-Sep' is not a feature, but a date that a spreadsheet made from a name, perhaps SEPT2"),
        (["X"], "'X' means several features: 'TP53', 'MYC'"),
    ],
)
def test_names_that_are_all_damaged_or_ambiguous_are_explained(evidence, names, message):
    known = read_knowledge(names, weight="likely", aliases={"X": ["TP53", "MYC"]})
    with pytest.raises(InputError, match=message):
        decide(evidence, weights=known, constraints=[SIZE])
