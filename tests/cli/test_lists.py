"""Learned trust in lists: in a study, as an option, and decided again."""

from pathlib import Path

import pytest

from ubayfs.results import read_result
from ubayfs.study import load_study

LISTS = """\
prior:
  trust_in_lists: learned
  weights:
    blocks: {FAINT: very likely, STRONG: likely}
    patterns: {"mean t*": 2}
    likely: [mean smoothness]
blocks: {gene_sets: sets.gmt}
"""
GENE_SETS = """\
FAINT\tfirst\tmean texture\tmean smoothness\tworst texture\tworst smoothness\tmean compactness
STRONG\tsecond\tmean radius\tmean area\tworst radius\tworst area
"""


@pytest.fixture
def lists(folder):
    text = Path("study.yaml").read_text()
    begin, end = text.index("prior:"), text.index("constraints:")
    Path("study.yaml").write_text(text[:begin] + LISTS + text[end:])
    Path("sets.gmt").write_text(GENE_SETS)


def weights_of(directory):
    selection = read_result(directory).selection
    return dict(zip(selection.feature_names, selection.weights.tolist(), strict=True))


def test_lists_of_a_study(lists, run):
    assert run("select", "study.yaml", "-o", "out").code == 0
    result = read_result("out")
    # FAINT has two members left that nothing more specific is stated of: too few to check.
    (found,) = result.summary.agreement.lists
    assert (found.name, found.n_features, found.agrees, found.stated) == ("STRONG", 4, True, 7.5)
    assert result.summary.agreement.trust_in_lists == "learned"
    assert weights_of("out")["worst texture"] == 30
    report = (Path("out") / "report.html").read_text(encoding="utf-8")
    assert "The 4 features of your list &#34;STRONG&#34; have more votes than random features" in report
    # The study of the result needs no file of gene sets and repeats it; its lists are the same.
    Path("sets.gmt").unlink()
    alone = load_study("out/study.yaml")
    assert alone.prior.trust_in_lists == "learned"
    assert dict(alone.prior.weights.blocks) == {"FAINT": "very likely", "STRONG": "likely"}
    assert run("select", "out/study.yaml", "-o", "again").code == 0
    again = read_result("again")
    assert again.selection.features == result.selection.features
    assert again.summary.agreement == result.summary.agreement
    assert weights_of("again") == weights_of("out")


def test_trust_as_an_option(lists, run):
    Path("study.yaml").write_text(Path("study.yaml").read_text().replace('    patterns: {"mean t*": 2}\n', ""))
    assert run("select", "study.yaml", "-o", "learned").code == 0
    assert weights_of("learned")["worst texture"] == 0.01  # FAINT, three of its features
    assert run("decide", "learned", "--trust-in-lists", "as_stated", "-o", "stated").code == 0
    assert weights_of("stated")["worst texture"] == 30
    assert "trust_in_lists" not in Path("stated/study.yaml").read_text()
    compared = run("compare", "learned", "stated").out
    assert "prior.trust_in_lists" in compared
    wrong = run("decide", "learned", "--trust-in-lists", "often", "-o", "none")
    assert wrong.code != 0
    assert "as_stated" in wrong.err


def test_reproducibility_repeats_it(lists, run):
    assert run("select", "study.yaml", "--trust", "quick", "--splits", 2, "-o", "out").code == 0
    assert read_result("out").summary.trust.reproducibility.n_done == 2


def test_gene_sets_that_share_features_are_written_without_contradiction(lists, run):
    Path("sets.gmt").write_text(GENE_SETS + "BOTH\tthird\tmean radius\tworst texture\tworst area\n")
    text = Path("study.yaml").read_text()
    Path("study.yaml").write_text(text.replace("STRONG: likely}", "STRONG: likely, BOTH: 3}"))
    assert run("select", "study.yaml", "-o", "out").code == 0
    assert run("select", "out/study.yaml", "-o", "again").code == 0
