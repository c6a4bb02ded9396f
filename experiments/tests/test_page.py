"""The report of a run: tables, figures, one page that needs nothing else and hides nothing."""

import base64
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import fake_run as fake
from ubayfs.exceptions import InputError
from ubayfs_experiments import store
from ubayfs_experiments.analysis import explanations
from ubayfs_experiments.analysis import tables as report_tables
from ubayfs_experiments.analysis.aggregate import aggregate, with_f1
from ubayfs_experiments.report import content
from ubayfs_experiments.report.content import Content
from ubayfs_experiments.report.page import document_of, render, write_content, write_report

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")


FEW = ("mrmr", "hsic-5", "ubayfs_mrmr", "ubayfs_fisher", "group_lasso", "ubayfs_mrmr+genetic", "ubayfs_mrmr+treatment",
       "random_forest", "tree", "hsic", "mixed", "strength+ubayfs_mrmr", "generations+ubayfs_mrmr", "noise+ubayfs_mrmr",
       *(f"seconds+ubayfs_{name}" for name in ("mrmr", "fisher", "tree")))  # fmt: skip


def few(experiment, **options):
    frame = fake.EXPERIMENTS[experiment](**{"n_splits": 3, **options})
    return frame[frame["method"].isin(FEW) & ~frame["data"].str.endswith("-authors")]


class Page(HTMLParser):
    """Elements and text of a page, and what is wrong with its nesting."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.words, self.open, self.problems = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("experiments") / "run"
    fake.write_run(directory, {name: few(name) for name in fake.EXPERIMENTS})
    store.pack(directory)
    read = Content.read(directory)
    with pytest.MonkeyPatch.context() as patch:
        # A page needs the names of figures, which test_figures.py draws, and bytes that stand for their pictures.
        patch.setattr(content, "draw", lambda experiment, frame: {name: name for name in fake.FIGURES[experiment]})
        patch.setattr(content, "png", lambda drawing: b"\x89PNG " + drawing.encode())
        return directory, write_content(read, directory), read


@pytest.fixture
def no_figures(monkeypatch):
    """Reports whose figures are not looked at need none."""
    monkeypatch.setattr(content, "draw", lambda experiment, frame: {})


@pytest.fixture(scope="module")
def page(run):
    return Page((run[0] / "report.html").read_text(encoding="utf-8"))


def test_all_files_are_written_and_the_page_is_the_last(run):
    directory, paths, read = run
    names = {path.relative_to(directory).as_posix() for path in paths}
    assert paths[-1] == directory / "report.html"
    assert all(path.stat().st_size for path in paths)
    assert {
        f"tables/{name}.csv" for name in (*report_tables.NAMES, "2_against_paper", "2_differences", "claims")
    } <= names
    assert {path.parent for path in paths} == {directory, directory / "tables"}
    assert not (directory / "cells").exists()
    assert {
        "1a",
        "1a-draws",
        "1b_blocks",
        "1c_blocks",
        "1d_redundant",
        "2",
        "2_blocks",
        "2_schemes",
        "2_trade_off",
        "2_seconds",
        "optimizers",
    } == set(read.drawings)


def test_tables_hold_the_aggregated_figures(run):
    directory, _, read = run
    table = pd.read_csv(directory / "tables" / "2.csv")
    expected = aggregate(
        with_f1(read.frames["2"]),
        ["data", "scheme", "scenario", "variant", "method"],
        ["f1_svm", "balanced_logistic"],
    )
    for column in ("f1_svm_mean", "f1_svm_se", "balanced_logistic_sd", "stability_low", "seconds_median", "n"):
        np.testing.assert_allclose(table[column], expected[column], rtol=1e-8)


def test_the_page_is_well_formed_and_shows_every_figure(run, page):
    assert page.problems == []
    assert page.open == []
    images = page.all("img")
    assert len(images) == len(run[2].drawings)
    assert all(image["alt"] for image in images)
    shown = {base64.b64decode(image["src"].partition(",")[2]) for image in images}
    assert shown == set(run[2].pictures.values())
    assert all(picture.startswith(b"\x89PNG") for picture in shown)


def test_the_page_needs_nothing_from_elsewhere(page):
    assert page.all("script") == [{}]  # the one of every report: it sorts tables
    assert page.all("link") == page.all("iframe") == []
    assert all(image["src"].startswith("data:image/") for image in page.all("img"))
    assert all(link["href"].startswith("#") for link in page.all("a"))
    targets = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert {link["href"][1:] for link in page.all("a")} <= targets
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_our_figures_stand_beside_the_papers(run, page):
    text = page.text.replace("\N{NO-BREAK SPACE}", " ")
    (row,) = (
        run[2]
        .comparison.query("data == 'PRO' and method == 'ubayfs_mrmr' and measure == 'f1_logistic'")
        .to_dict("records")
    )
    assert f"{row['ours']:.3f} ± {row['our_se']:.3f} | 0.78" in text
    (row,) = (
        run[2]
        .comparison.query("data == 'LEU' and method == 'ubayfs_fisher' and measure == 'stability'")
        .to_dict("records")
    )
    low, high = row["ours"] - 1.96 * row["our_se"], row["ours"] + 1.96 * row["our_se"]
    assert f"{row['ours']:.2f} [{low:.2f}, {high:.2f}] | 0.76" in text
    assert text.count("differs") >= run[2].comparison["differs"].sum() > 0


def test_p53_is_reported_as_absent_and_its_printed_figures_are_shown(page):
    assert "p53 has not been run; it is when its file is in the data directory." in page.text
    assert "\N{EN DASH} | 0.80" in page.text


def test_seed_versions_date_and_settings_are_reported(page):
    for words in ("ubayfs 0.1, numpy 2.0", "2026-01-02", "a machine", '"n_splits": 20'):
        assert words in page.text


def test_every_sentence_of_the_paper_has_a_verdict(run, page):
    from ubayfs_experiments.claims.real import REAL_CLAIMS
    from ubayfs_experiments.claims.sentences import CLAIMS

    texts = [claim.text for claim in CLAIMS] + [text for text, _ in REAL_CLAIMS]
    assert len(run[2].claims) == len(texts)
    for text in texts:
        assert text in page.text


def test_every_figure_of_the_paper_stands_beside_both_protocols(run, page):
    table = run[2].protocols
    assert len(table) == 168
    assert f"Of the paper's {len(table)} figures, {(table['agrees'] == 'both agree').sum()} agree" in page.text


def test_every_differing_cell_is_listed_with_its_cause(run, page):
    verdicts = run[2].verdicts
    assert len(verdicts) == run[2].comparison["differs"].sum()
    assert verdicts["verdict"].str.match("tested: |agrees: |unknown; ").all()
    for words in verdicts["verdict"]:
        assert " ".join(words.split()) in page.text


def test_experiments_that_are_absent_or_unfinished_are_reported(tmp_path, no_figures):
    frames = {"1a": few("1a").query("data == 'additive'")}
    fake.write_run(tmp_path / "run", frames)
    cell = store.cell_path(tmp_path / "run", "1a/additive/mrmr")
    lines = cell.read_bytes().splitlines(keepends=True)
    cell.write_bytes(b"".join(lines[:-1]))
    write_report(tmp_path / "run")
    text = Page((tmp_path / "run" / "report.html").read_text(encoding="utf-8")).text
    for name in ("1b", "1c", "1d", "2", "optimizers", "controls"):
        assert f"Experiment {name} has not been run." in text
    assert "1a/additive/mrmr (2 of 3 splits)" in text
    assert "1a/non-additive/mrmr" in text  # never begun
    assert "1 cells are unfinished" in text
    assert "cells of experiment 1a are not finished" in text
    assert not (tmp_path / "run" / "tables" / "2.csv").exists()


def test_a_quick_run_says_so(tmp_path, no_figures):
    frame = few("controls", n_splits=1)
    fake.write_run(tmp_path / "run", {"controls": frame}, quick=True)
    write_report(tmp_path / "run")
    text = Page((tmp_path / "run" / "report.html").read_text(encoding="utf-8")).text
    assert "A quick run: few splits and models." in text


def test_names_are_text_and_nothing_else(tmp_path, no_figures):
    hostile = "<script>alert(1)</script>"
    frame = few("2").query("data == 'PRO'")
    frames = {"2": frame, "causes": few("causes").assign(variant=hostile, cause="<b>x</b>\u202e")}
    fake.write_run(tmp_path / "run", frames, machine='"><img src=x onerror=alert(1)>')
    text = render(Content.read(tmp_path / "run"))
    page = Page(text)
    assert page.all("script") == [{}]
    assert all(image["src"].startswith("data:image/") for image in page.all("img"))
    assert hostile in page.text
    assert "\u202e" not in text
    assert page.problems == []


def test_a_directory_without_a_run_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds no run of the experiments"):
        write_report(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_columns_of_tables_are_numbers_or_names(run):
    for path in run[1][:-1]:
        columns = path.read_text(encoding="utf-8").partition("\n")[0].split(",")
        assert len(columns) == len(set(columns)), path.name
        assert all(re.fullmatch(r"[a-z0-9_]+", column, re.IGNORECASE) for column in columns), path.name


def test_what_was_chosen_is_shown(run, page):
    table = report_tables.chosen_table(run[2].frames["2"])
    lasso = table[table["method"] == "group_lasso"]
    assert len(lasso) > 0
    assert "What was chosen" in page.text
    text = page.text.replace("\N{NO-BREAK SPACE}", " ")
    for row in lasso.to_dict("records"):
        assert f"{row['data']}, sparse group lasso" in text
    assert "F1 for ALL" in text


def test_stability_of_pairs_has_its_interval(run, page):
    row = report_tables.leukemia_table(run[2].frames["2"]).iloc[0]
    text = page.text.replace("\N{NO-BREAK SPACE}", " ")
    for kind in ("LEU", "LEU_golub"):
        low, high = row[f"stability_low_{kind}"], row[f"stability_high_{kind}"]
        assert f"{row[f'stability_{kind}']:.2f} [{low:.2f}, {high:.2f}]" in text
        assert f"{row[f'f1_svm_{kind}']:.2f} ({row[f'f1_other_svm_{kind}']:.2f}) ±" in text


def test_what_was_chosen_is_in_the_order_of_the_paper(run):
    (section,) = [one for one in document_of(run[2]).sections if one.key == "chosen"]
    data = [row[0].text.split(",")[0] for row in section.tables[0].rows]
    assert list(dict.fromkeys(data)) == ["BCW", "HD", "MPE", "COL", "LSVT", "PRO", "LEU", "LEU_golub"]
    mice = [(row[1].text, row[2].text) for row in section.tables[0].rows if row[0].text == "MPE, UBayFS mRMR"]
    assert mice == [("standard", "random"), ("standard", "by group")]


def test_changes_beyond_chance_are_named(run, page):
    changes = explanations.summary(run[2].tested)
    strong = changes[changes["chance"] < 0.05]
    assert f"Of the {len(changes)} changes, those that gain more cells" in page.text
    for row in strong.to_dict("records"):
        assert f"{row['variant']} ({row['pool'] or 'all'}: {row['gained']} gained, {row['lost']} lost)" in page.text


def test_a_z_without_spread_is_explained(tmp_path, no_figures):
    frame = few("2").query("data == 'BCW' and method == 'group_lasso'")
    same = frame["features"].iloc[0]
    fake.write_run(tmp_path / "run", {"2": frame.assign(features=[same] * len(frame), size=len(same))})
    read = Content.read(tmp_path / "run")
    z = read.comparison.query("measure == 'stability'")["z"].item()
    text = Page(render(read)).text
    assert (
        f"All 3 sets of BCW, sparse group lasso (block) are the same. Our stability has no spread then, and its z "
        f"of {z:.0f} has only the paper's rounding to divide by" in text
    )


def test_the_two_genetic_optimizers_are_told_apart(run, page, tmp_path, no_figures):
    assert "“genetic” starts from guided sets, which is our improvement" in page.text
    assert "“genetic, start to the letter” is the paper's Algorithm 1 taken literally" in page.text
    frame = run[2].frames["optimizers"].replace({"optimizer": {"genetic, guided": "genetic, start to the letter"}})
    fake.write_run(tmp_path / "run", {"optimizers": frame})
    figures = document_of(Content.read(tmp_path / "run")).key_figures
    for name, words in (
        ("genetic", "guided start: our improvement"),
        ("genetic, start to the letter", "Algorithm 1 to the letter"),
    ):
        share = frame.loc[frame["optimizer"] == name, "missed"].mean()
        assert (f"{share:.0%}", "of runs missed by the genetic optimizer", words) in figures


def test_far_figures_of_the_control_stand_beside_those_of_chance(run, page):
    counts = report_tables.control_counts(report_tables.control_table(run[2].frames["controls"]))
    for row in counts.to_dict("records"):
        words = [
            f"{row['beyond']} standard errors",
            row["figures"],
            row["above"],
            row["below"],
            f"{row['expected']:.1f}",
        ]
        assert " ".join(map(str, words)) in page.text
