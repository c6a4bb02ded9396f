"""Reports: nothing but text from data files, the same content in all forms, one file that needs nothing else."""

import base64
import hashlib
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from summaries import read, summary_of
from trusts import made_trust
from ubayfs import (
    Evidence,
    cannot_link,
    collect_evidence,
    decide,
    decorrelate,
    exact_size,
    exclude,
    front,
    max_size,
    maximize,
    must_link,
)
from ubayfs.data.feature_data import FeatureData
from ubayfs.decision.selection import Selection
from ubayfs.exceptions import MissingDependencyError
from ubayfs.plotting import DISPLAYS, read_displays, render_figures
from ubayfs.report import render_html, render_json, render_markdown, render_xlsx, summarize, tables
from ubayfs.report.content import SECTIONS
from ubayfs.report.document import Cell
from ubayfs.report.facts import Reason
from ubayfs.report.markdown import escaped

HOSTILE = [
    "<script>alert(1)</script>",
    "a|b",
    "[x](y)",
    '"onload="alert(1)',
    "&lt;b&gt;",
    "{{ 7*7 }}{% raw %}",
    "`code` **bold** $x^2$",
    "http://evil.example/x?a=1&b=2",
    "</style><img src=x onerror=alert(1)>",
    "two\nlines\a\u202e",
    "--><svg/onload=1>",
    "Größe µ é",
]
VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """Elements, text and whatever is wrong with the nesting of an HTML page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.open, self.problems = [], [], [], []
        self.feed(text)
        self.close()
        self.problems += [f"{tag} is never closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"{tag} closes another element")

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def page_of(summary, figures=None):
    return render_html(read(summary), figures)


def markdown_of(summary, figures=None):
    return render_markdown(read(summary), figures)


def hostile_summary(n_chosen=10):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, len(HOSTILE)))
    X[:, 1] += 2 * X[:, 0]
    y = np.where(X[:, 0] > 0, "<script>high</script>", "a|b")
    evidence = Evidence.from_sets(rng.random((30, len(HOSTILE))) < np.linspace(0.9, 0.3, len(HOSTILE)), HOSTILE)
    selection = decide(
        evidence,
        weights={HOSTILE[0]: 9, HOSTILE[8]: 30},
        constraints=[max_size(n_chosen, rho=2), must_link(HOSTILE[:2], rho=0.1), decorrelate(0.3)],
        blocks={"<b>block</b>": HOSTILE[:3], "a|b": HOSTILE[3:]},
        X=X,
        n_alternatives=3,
    )
    asked = {
        "title": "<script>title</script>",
        "data": {"path": "</title><script>x.csv", "target": "<i>y</i>"},
        "note": "```\n```` <script>",
    }
    warned = ["<script>warning</script>", "[link](http://evil.example)", "1. list", "- item"]
    blocks = {"<b>block</b>": HOSTILE[:3], "a|b": HOSTILE[3:]}
    return summary_of(
        selection,
        FeatureData.from_table(pd.DataFrame(X, columns=HOSTILE), y),
        settings=asked,
        blocks=blocks,
        n_draws=5,
        warnings=warned,
        created="2024-05-06",
        trust=made_trust(selection),
        front=front(selection, sizes=[1, 2]),
    )


@pytest.fixture(scope="module")
def summary():
    return hostile_summary()


@pytest.fixture(scope="module")
def html(summary):
    """The page with its figures as SVG, which is text, too."""
    return page_of(summary, render_figures(read_displays(summary["displays"]), ["svg"]))


@pytest.fixture(scope="module")
def markdown(summary):
    return markdown_of(summary)


def in_one_line(text):
    """Return text as a report shows it: control characters as escapes, runs of spaces as one."""
    for character, escape in (("\n", "\\n"), ("\a", "\\x07"), ("\u202e", "\\u202e")):
        text = text.replace(character, escape)
    return " ".join(text.split())


def test_html_is_well_formed_and_has_headings_and_a_language(html):
    page = Page(html)
    assert page.problems == []
    assert html.lstrip().startswith("<!DOCTYPE html>")
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("h1")) == 1
    assert len(page.all("h2")) == len(SECTIONS)  # all but those of several sites, and the warnings
    identities = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identities) == len(set(identities))
    assert {a["href"][1:] for a in page.all("a") if a["href"].startswith("#")} <= set(identities)
    assert all(image["alt"] for image in page.all("img"))


def test_html_needs_no_network_and_runs_nothing_but_its_own_script(html, summary):
    page = Page(html)
    names = {tag for tag, _ in page.elements}
    assert page.all("script") == [{}]
    script = re.search("<script>(.*?)</script>", html, re.DOTALL)[1]
    assert script == files("ubayfs.report").joinpath("templates/report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = (meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy.split("; ") == [
        "default-src 'none'", "img-src data:", "style-src 'unsafe-inline'", f"script-src 'sha256-{digest}'"
    ]  # fmt: skip
    assert not names & {"link", "iframe", "object", "embed", "base", "form", "image", "use", "foreignobject", "animate"}
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("src", "data:image/").startswith("data:image/")
        assert attributes.get("href", "#").startswith(("#", "https://doi.org/", "data:application/vnd.openxml"))
    links = [a["href"] for a in page.all("a") if a["href"].startswith("https")]
    references = " ".join(summary["methods"]["references"])
    assert links
    assert all(link in references for link in links)
    style = re.search("<style>(.*?)</style>", html, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style


def test_text_from_data_stays_text_in_html(html, summary):
    text = Page(html).text
    for name in HOSTILE:
        assert in_one_line(name) in text
    for text_given in ("<script>title</script>", "<script>warning</script>", "<b>block</b>", "</title><script>x.csv"):
        assert text_given in text


def pictures_of(html):
    return [image["src"].split(",", 1) for image in Page(html).all("img")]


def test_text_from_data_stays_text_in_figures(html, summary):
    found = pictures_of(html)
    assert len(found) == len(summary["displays"]) == len(DISPLAYS)
    for head, content in found:
        assert head == "data:image/svg+xml;base64"
        tree = ElementTree.fromstring(base64.b64decode(content))
        tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
        assert not tags & {"script", "foreignObject", "a"}
        attributes = [
            (name.rpartition("}")[2], value) for element in tree.iter() for name, value in element.attrib.items()
        ]
        assert not [name for name, _ in attributes if name.startswith("on")]
        assert all(value.startswith(("#", "data:image/png;")) for name, value in attributes if name == "href")


def with_one_figure(summary):
    return {**summary, "displays": {"penalty": summary["displays"]["penalty"]}}


@pytest.mark.parametrize(
    ("formats", "embedded"), [((), "png"), (("svg",), "svg"), (("svg", "png"), "png"), (("pdf",), "png")]
)
def test_the_page_embeds_the_figure_that_was_rendered(summary, formats, embedded, blank_figures):
    one = with_one_figure(summary)
    figures = render_figures(read_displays(one["displays"]), formats)
    assert set(figures.files["penalty"]) == {*formats, embedded}
    ((head, content),) = pictures_of(page_of(one, figures))
    assert head == {"png": "data:image/png;base64", "svg": "data:image/svg+xml;base64"}[embedded]
    assert base64.b64decode(content) == figures.files["penalty"][embedded]


def test_every_display_has_its_section_and_caption(html):
    assert {display.section for display in DISPLAYS.values()} <= set(SECTIONS)
    text = Page(html).text
    assert all(display.caption in text for display in DISPLAYS.values())


def test_as_many_constraints_are_counted_as_the_table_has(rng):
    X = rng.normal(size=(60, 4))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    unlikely = replace(exclude([3], rho=1.0), from_prior=True)
    given = [exact_size(2), decorrelate(0.9), decorrelate(0.999999), unlikely]
    selection = decide(Evidence.from_sets(rng.random((20, 4)) < 0.6), constraints=given, X=X)
    markdown = markdown_of(summary_of(selection, n_draws=0))
    (table,) = (table for table in tables_of(markdown) if table[0][0] == "Constraint")
    assert len(table) - 2 == 4
    assert " All 4 constraints hold." in markdown
    for label in (
        "exact-size 2",
        "no pair with a Spearman correlation above 0.999999",
        "features, Spearman correlation above 0.9",
        "unlikely: ",
    ):
        assert sum(label in row[0] for row in table) == 1


def tables_of(markdown):
    """Return the tables of a Markdown text as lists of rows of cells."""
    tables, rows, fenced = [], [], False
    for line in [*markdown.splitlines(), ""]:
        fenced ^= line.startswith("```")
        if line.startswith("|") and not fenced:
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif rows:
            tables.append(rows)
            rows = []
    return tables


def test_markdown_tables_are_well_formed(markdown, summary):
    tables = tables_of(markdown)
    assert len(tables) >= 6
    for table in tables:
        assert {len(row) for row in table} == {len(table[0])}
        assert all(re.fullmatch("-+:?", cell) for cell in table[1])
    assert len(tables[0]) == 2 + len(summary["chosen"])


def shown(markdown):
    """Return the text that a Markdown reader shows: escapes undone."""
    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown)
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&#58;", ":"), ("&#46;", "."), ("&#64;", "@")):
        text = text.replace(entity, character)
    return text.replace("&amp;", "&")


def test_text_from_data_stays_text_in_markdown(markdown, summary):
    outside = re.sub(r"(?ms)^(`{3,})\n.*?^\1$", "", markdown)
    assert not re.search(r"<[a-zA-Z/!]", outside)
    assert not re.search(r"(?<!\\)\]\(", outside)
    assert "evil.example" in outside
    assert "http://evil" not in outside
    assert not re.search(r"(?m)^- (\d+[.)]|[-+]) ", outside)
    for record in summary["chosen"]:
        assert in_one_line(record["feature"]) in shown(markdown)


def test_listings_cannot_break_out_of_their_fence(markdown):
    fences = re.findall(r"(?m)^`{3,}$", markdown)
    assert fences == ["`````", "`````", "```", "```", "```", "```"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", r"a\|b"),
        (r"a\|b", r"a\\\|b"),
        ("<i>", "&lt;i&gt;"),
        ("&lt;", "&amp;lt;"),
        ("![x](y)", r"\!\[x\](y)"),
        ("x\n\n# y", r"x \# y"),
        ("1. x", r"1\. x"),
        ("- x", r"\- x"),
        ("-0.5", "-0.5"),
        ("www.x.org", "www&#46;x.org"),
        ("a@b.org", "a&#64;b.org"),
    ],
)
def test_markdown_escapes(text, expected):
    assert escaped(text) == expected


def test_folded_sections_say_in_a_few_words_what_they_hold(html, summary):
    page = Page(html)
    folded = [attributes for tag, attributes in page.elements if attributes.get("class") == "section"]
    assert len(folded) == len(SECTIONS) - 5  # four are open, and one is of several sites
    assert all("open" not in attributes for attributes in folded)
    for key in ("validation", "related", "reproducibility", "constraints", "quality"):
        assert in_one_line(summary["brief"][key]) in page.text


def test_names_can_be_copied_and_features_downloaded_as_excel(html, summary):
    openpyxl = pytest.importorskip("openpyxl")
    page = Page(html)
    assert [button["data-copy"] for button in page.all("button") if "data-copy" in button] == ["names", "methods-text"]
    (link,) = (a for a in page.all("a") if "download" in a)
    content = base64.b64decode(link["href"].partition("base64,")[2])
    assert content == render_xlsx(read(summary))
    sheets = openpyxl.load_workbook(io.BytesIO(content))
    head, *rows = sheets["values"].iter_rows(values_only=True)
    for row, record in zip(rows, summary["chosen"], strict=True):
        found = dict(zip(head, row, strict=True))
        assert found["feature"] == record["feature"].replace("\n", "\\n").replace("\a", "\\x07").replace(
            "\u202e", "\\u202e"
        )
        for key in ("count", "weight", "importance", "q", "effect"):
            assert found[key] == pytest.approx(record[key], rel=5e-4)
            assert isinstance(found[key], int | float)
        assert found["tied"] is record["tied"]


def test_the_methods_paragraph_has_versions_seed_and_references(summary, html, markdown):
    X, y = np.random.default_rng(0).normal(size=(30, 4)), [0, 1] * 15
    evidence = collect_evidence(X, y, selector=["mrmr", "lasso"], n_models=6, random_state=7)
    found = summary_of(decide(evidence, prior="hyperdirichlet", constraints=[max_size(2)], random_state=0), n_draws=0)
    text, references = found["methods"]["text"], found["methods"]["references"]
    for words in ("6 models", "30 samples", "4 features", "75 %", "random seed 7", "Ding and Peng, 2005", "max-size 2"):
        assert words in text
    for package, version in found["versions"].items():
        assert f"{package} {version}" in text
    assert [reference.partition(",")[0] for reference in references] == ["Jenul", "Ding", "Tibshirani", "Hankin"]
    assert summary["methods"]["references"][-1].startswith("Nadeau")
    for form in (Page(html).text, " ".join(shown(markdown).split())):
        assert in_one_line(summary["methods"]["text"]) in form


def test_all_forms_tell_the_same(html, markdown, summary):
    content = json.loads(render_json(read(summary)))
    assert content == summary
    text, lines = Page(html).text, " ".join(shown(markdown).split())
    for record in summary["chosen"]:
        assert in_one_line(record["feature"]) in text
        assert in_one_line(record["feature"]) in lines
    sentences = [
        sentence for key in ("sentences", "notes") for section in summary[key].values() for sentence in section
    ]
    known = {
        "chosen", "knowledge", "constraints", "ensemble", "correlation", "reproduce", "substitutes", "left_out",
        "validation", "related", "reproducibility", "gene_sets",
    }  # fmt: skip
    assert known == set(summary["sentences"])
    for sentence in (
        summary["headline"], summary["lead"], *summary["question"], *summary["verdict"],
        *summary["warnings"], *sentences, *(line for fact in summary["facts"] for line in fact["sentences"]),
        *(fact["question"] for fact in summary["facts"]), *(entry["meaning"] for entry in summary["legend"]),
    ):  # fmt: skip
        assert in_one_line(sentence) in text
        assert in_one_line(sentence) in lines
    for line in summary["constraints"]:
        assert in_one_line(line["label"]) in text
        assert in_one_line(line["label"]) in lines
    for form in (text, lines):
        assert "They narrow as models are added, not as samples are added" in form
        assert summary["citation"]["text"] in form
        assert "How to reproduce" in form


def table_with(markdown, heading):
    """Return the rows of the first table with a column, as mappings by heading."""
    table = next(table for table in tables_of(markdown) if heading in table[0])
    return [dict(zip(table[0], row, strict=True)) for row in table[2:]]


def test_numbers_of_the_chosen_features_are_those_of_the_summary(summary, markdown):
    rows = table_with(markdown, "Selected again")
    assert list(rows[0]) == [
        "Feature", "Votes", "Effect in these samples", "Related to the target", "Selected again",
        "Selected because of", "Best replacement",
    ]  # fmt: skip
    for record, row in zip(summary["chosen"], rows, strict=True):
        assert row["Votes"] == f"{record['count']} of 30"
        words, q = row["Related to the target"].replace("&lt;", "").replace("&gt;", "").rstrip(")").split(" (q ")
        assert float(q) == pytest.approx(record["q"], abs=0.01)
        assert words == ("yes" if record["related"] else "not shown by itself")
        assert row["Selected again"] == record["selected_again"]
        assert row["Selected because of"] == ", ".join(record["reasons"])
        assert " votes)" in row["Best replacement"]


def test_what_else_is_known_of_features_stands_in_a_folded_section(summary, markdown, html):
    rows = table_with(markdown, "On half of the samples")
    assert list(rows[0]) == ["Feature", "On half of the samples", "Blocks", "Prior weight"]
    for record, row in zip(summary["chosen"], rows, strict=True):
        assert row["On half of the samples"] == f"{100 * record['half_low']:.0f} to {100 * record['half_high']:.0f} %"
        stated = summary["prior"]["weights"].get(record["feature"])
        assert row["Prior weight"] == ("" if stated is None else f"{record['weight']:g}")
    folded = html.index('<details class="section">')
    assert html.index('id="chosen"') < folded < html.index('id="details"')


def test_one_replacement_of_all_features_is_a_sentence():
    """c replaces a and b; what it costs differs."""
    evidence = Evidence.from_sets([[1, 1, 0, 0]] * 20 + [[0, 1, 1, 0]] * 6 + [[0, 0, 0, 1]], list("abcd"))
    markdown = markdown_of(summary_of(decide(evidence, max_size=2), n_draws=0))
    assert "the best replacement is c for each (costs 14 to 20 votes)" in shown(markdown)
    assert "Best replacement" not in markdown


def test_how_sure_the_models_are_stands_in_a_technical_section(summary, markdown):
    assert markdown.index("## Technical: ") < markdown.index("| Selection probability |")
    for record, row in zip(summary["chosen"], table_with(markdown, "Selection probability"), strict=True):
        assert float(row["Importance"]) == pytest.approx(record["importance"], abs=5e-5)
        assert float(row["Selection probability"]) == pytest.approx(record["probability"], abs=5e-3)
        assert row["Also without prior"] == ("yes" if record["without_prior"] else "no")
        assert row["Also without constraints"] == ("yes" if record["without_constraints"] else "no")


def test_less_of_what_was_stated_is_one_table_with_the_sets_of_the_summary():
    """Without any weight e leaves the set, without the link b is in it; half of the weights are enough."""
    evidence = Evidence.from_sets([[1, 1, 0, 0, 0]] * 20 + [[1, 0, 1, 1, 0]] * 6 + [[0, 0, 0, 1, 1]], list("abcde"))
    constraints = [max_size(3), cannot_link(["a", "b"])]
    summary = summary_of(decide(evidence, weights={"e": 30}, constraints=constraints), n_draws=0)
    rows = table_with(markdown_of(summary), "Would stay")
    sets = [summary["sets"][key] for key in ("without_prior", "without_constraints", "data_alone")]
    sets.insert(1, {"removed": [], "added": []})
    assert set(summary["agreement"]["at"]["half"]) == {record["feature"] for record in summary["chosen"]}
    assert [row["Without"] for row in rows] == [
        "your weights", "half of your weights", "your constraints, at most the same size", "both: the votes alone"
    ]  # fmt: skip
    for row, change in zip(rows, sets, strict=True):
        assert row["Would stay"] == f"{3 - len(change['removed'])} of 3"
        assert row["Removed"] == " and ".join(change["removed"])
        assert row["Added"] == " and ".join(change["added"])


def test_what_was_not_stated_is_nothing_to_leave_out():
    evidence = Evidence.from_sets([[1, 1, 0, 0]] * 20 + [[1, 0, 1, 1]] * 6, list("abcd"))
    link = [max_size(2), cannot_link(["a", "b"])]
    found = summary_of(decide(evidence, constraints=link), n_draws=0)
    assert found["sentences"]["knowledge"][1] == "No weights were stated."
    (row,) = table_with(markdown_of(found), "Would stay")
    assert row["Without"] == "your constraints, at most the same size"
    assert "Prior weight" not in markdown_of(found)


def test_the_report_opens_with_three_facts_and_proves_later(summary, html, markdown):
    page = Page(html)
    for text in (page.text, " ".join(shown(markdown).split())):
        places = [text.index(in_one_line(fact["sentences"][0])) for fact in summary["facts"]]
        places += [
            text.rindex(words)
            for words in ("Selected features, most important first", "Did your knowledge", "Proved: ")
        ]
        assert places == sorted(places)
        assert text.count("Proved: ") == 1
    assert "prove" not in summary["headline"].lower()


def test_what_is_not_examined_shows_its_command(blank_figures):
    rng = np.random.default_rng(0)
    evidence = collect_evidence(
        rng.normal(size=(30, 5)), np.arange(30) % 2, selector="mrmr", n_models=5, random_state=0
    )
    summary = summary_of(decide(evidence, constraints=max_size(2, rho=9)), n_draws=0)
    page, markdown = Page(page_of(summary)), markdown_of(summary)
    assert len(page.all("code")) == 3
    for fact in summary["facts"]:
        assert fact["command"] in page.text
        assert f"`{fact['command']}`" in markdown
    assert "Does the set predict?" not in page.text  # no empty sections


def test_baselines_are_listed_with_differences(summary, markdown):
    rows = table_with(markdown, "Ours minus this")
    scores = summary["trust"]["validation"]["scores"]
    assert len(rows) == len(scores)
    for row, found in zip(rows, scores, strict=True):
        assert row["Mean"].startswith(f"{found['mean']:.2f} (")
        assert (row["Ours minus this"] == "") == (found["difference"] is None)


def test_bars_are_as_long_as_the_shares_of_votes(html, summary):
    lengths = [float(length) for length in re.findall(r'class="bar" style="width:([\d.]+)%"', html)]
    expected = [100 * record["share"] for record in summary["chosen"]]
    assert lengths[: len(expected)] == pytest.approx(expected, abs=0.051)


def test_reports_are_pure_functions_of_the_summary(summary, html, markdown):
    again = json.loads(render_json(read(summary)))
    assert page_of(with_one_figure(again)) == page_of(with_one_figure(summary))
    assert markdown_of(again) == markdown
    assert html.count("2024-05-06") == 1


def test_json_is_strict(summary):
    text = render_json(replace(read(summary), value=float("nan")))
    assert json.loads(text, parse_constant=pytest.fail)["value"] == "nan"


def test_what_is_not_known_is_left_out(blank_figures):
    summary = summary_of(maximize([0.5, 0.4, 0.3], max_size(2, rho=5)), n_draws=0)
    page, markdown = Page(page_of(summary)), markdown_of(summary)
    assert page.problems == []
    assert len(page.all("img")) == 2
    for absent in (
        "Models that",
        "Prior weight",
        "interval",
        "Selection probability",
        "Technical",
        "Correlation among",
    ):
        assert absent not in page.text
        assert absent not in markdown
    assert tables_of(markdown)[0][0] == ["Feature", "Importance", "Selected because of"]


def test_the_empty_set_and_a_selection_from_a_file_have_reports(blank_figures):
    evidence = Evidence.from_sets(np.eye(3, dtype=bool), list("abc"))
    empty = summary_of(decide(evidence, constraints=max_size(0)), n_draws=1)
    assert "No feature was selected." in Page(page_of(empty)).text
    assert "No feature was selected." in markdown_of(empty)
    read = Selection.from_dict(decide(evidence, constraints=[max_size(1), must_link(["a", "b"], rho=0.1)]).to_dict())
    page = Page(page_of(summary_of(read)))
    assert page.problems == []
    assert "must_link(features=['a', 'b'], rho=0.1, on=features)" in page.text


def test_figures_are_linked_where_their_files_are_known(summary):
    linked = markdown_of(summary, figures={"evidence": "figures/evidence <1>.png"})
    assert re.findall(r"(?m)^!\[.*\]\((.*)\)$", linked) == ["<figures/evidence %3C1%3E.png>"]


@pytest.mark.parametrize("package", ["jinja2", "yaml"])
def test_a_missing_package_is_named_with_the_line_that_installs_it(summary, package, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    from ubayfs.report.html import _template

    _template.cache_clear()
    with pytest.raises(MissingDependencyError, match=r'pip install "ubayfs\[cli\]"'):
        page_of(summary)


def test_a_cell_is_text_alone_by_default():
    assert Cell("x") == Cell("x", None, ())


def test_contrast_of_every_text_color_is_sufficient(html):
    """At least 4.5 to 1 on white (WCAG AA)."""
    colors = dict(re.findall(r"--(ink|soft|data|prior|limits|alarm): (#[0-9a-f]{6})", html))
    assert len(colors) == 6
    for color in colors.values():
        channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        luminance = np.dot(linear, [0.2126, 0.7152, 0.0722])
        assert 1.05 / (luminance + 0.05) >= 4.5


def test_control_characters_can_be_seen(html, markdown):
    for text in (html, markdown):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]", text)
        assert re.search(r"two\\+nlines\\+x07\\+u202e", text)


def test_one_feature_is_singular():
    evidence = Evidence.from_sets([[True, False]] * 3, ["a", "b"])
    summary = summary_of(decide(evidence, constraints=max_size(1)), n_draws=0)
    markdown = markdown_of(summary)
    assert "1 of 2 features was selected. 3 models voted." in markdown


def test_an_empty_choice_has_no_stray_lines(blank_figures):
    evidence = Evidence.from_sets(np.eye(3, dtype=bool), list("abc"))
    summary = summary_of(decide(evidence, constraints=max_size(0)), n_draws=3)
    page, markdown = Page(page_of(summary)), markdown_of(summary)
    for stray in ("Selection probability", "Chosen: none", "the same set would be chosen", "show how sure"):
        assert stray not in page.text
        assert stray not in markdown
        assert not [image for image in page.all("img") if stray in image["alt"]]
    assert summary["sentences"]["chosen"] == ["No feature was selected."]
    assert summary["sentences"]["knowledge"] == summary["legend"] == []


def test_letters_that_no_font_has_are_listed_once():
    names = ["\U00013000", "\U00013001", "c"]  # hieroglyphs
    evidence = Evidence.from_sets(np.eye(3, dtype=bool)[[0, 0, 1, 2]], names)
    summary = summary_of(decide(evidence, constraints=max_size(2)), n_draws=0)
    page = Page(page_of(summary))
    assert page.text.count("some letters are drawn as boxes") == 1
    assert "(\U00013000\U00013001)" in page.text


def test_the_legend_says_what_badges_on_features_mean(summary, html):
    borne = {mark for record in summary["chosen"] for mark in record["reasons"]}
    assert borne >= {"data", "weight"}
    page = Page(html)
    for entry in summary["legend"]:
        assert entry["meaning"] in page.text
    assert {mark for entry in summary["legend"] for mark in entry["marks"]} >= borne


def test_all_weights_can_be_read_from_the_report(blank_figures):
    names = [f"f{i}" for i in range(40)]
    evidence = Evidence.from_sets(np.ones((5, 40), dtype=bool), names)
    weights = {name: 2.0 + i for i, name in enumerate(names[:30])}
    summary = summary_of(decide(evidence, weights=weights, constraints=max_size(3)), n_draws=0)
    text = Page(page_of(summary)).text
    assert summary["prior"]["weights"] == weights
    for name, weight in weights.items():
        assert f"{name}: {weight}" in text


@pytest.mark.parametrize("source", ["", "a paper"])
def test_a_column_without_entries_is_left_out(source):
    reasons = tuple(Reason(name, False, "likely", "known", given) for name, given in (("a", source), ("b", "")))
    summary = summarize(decide(Evidence.from_sets([[1, 0]] * 3, ["a", "b"]), max_size=1), n_draws=0)
    (table,) = tables.stated(replace(summary.prior, reasons=reasons))
    assert ("Source" in [column.heading for column in table.columns]) == bool(source)
