"""What values show of themselves: text where they are printed, HTML in notebooks."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import ubayfs
from ubayfs import Evidence, UBayFSSelector, decide, max_size, maximize, must_link
from ubayfs.exceptions import InputError, MissingDependencyError
from ubayfs.priors import Hyperdirichlet
from ubayfs.report.blocks import NOTEBOOK, cards_html
from ubayfs.report.cards import cards_of
from ubayfs.report.document import Card
from ubayfs.report.terminal import card_text

NASTY = '<script>alert("x")</script>\n\x1b[31m'


class _Cells(HTMLParser):
    """Collects tags that are not closed, and the texts of table cells."""

    def __init__(self):
        super().__init__()
        self.open, self.cells, self.tags = [], [], set()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def read(html):
    reader = _Cells()
    reader.feed(html)
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 8))
    y = (X[:, 0] + 0.3 * rng.normal(size=40) > 0).astype(int)
    how = {"selector": "mrmr", "n_models": 6, "n_features_per_model": 2, "random_state": 0}
    evidence = ubayfs.collect_evidence(X, y, **how)
    selection = decide(evidence, weights={"x3": 2}, constraints=[max_size(2)], n_alternatives=1)
    two = decide(evidence, constraints=[max_size(2)])
    return {
        "evidence": evidence,
        "posterior": selection.posterior,
        "selection": selection,
        "hyper": decide(evidence, prior=Hyperdirichlet(), constraints=[max_size(2)], random_state=0).posterior,
        "constraint": must_link(["x0", "x1"], price=0.25),
        "related": ubayfs.estimate_related(ubayfs.decide(evidence, constraints=ubayfs.max_size(3)), X, y),
        "again": ubayfs.estimate_reproducibility(two, X, y, n_splits=3),
        "validation": ubayfs.validate(two, X, y, cv=2, n_repeats=1),
        "selector": UBayFSSelector("mrmr", max_features=2, n_models=5, random_state=0).fit(X, y),
        "maximized": maximize([0.5, 0.3, 0.2], [max_size(1)]),
        "read": ubayfs.decision.selection.Selection.from_dict(selection.to_dict()),
        "X": X,
        "y": y,
    }


SHOWN = ["evidence", "posterior", "hyper", "selection", "constraint", "related", "again", "validation", "selector",
         "maximized", "read"]  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_every_value_shows_itself_as_closed_html_without_scripts_and_as_one_line(values, name):
    value = values[name]
    found = value._repr_html_() if name != "selector" else value.selection_._repr_html_()
    assert found in value._repr_html_()  # that of a selector has the diagram of scikit-learn below it
    assert read(found).tags <= {"div", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "span"}
    assert "http" not in found
    assert len(found) < 20_000
    if name != "selector":
        assert "\n" not in repr(value)
        assert len(repr(value)) < 400


def test_a_selection_shows_its_members_by_importance_with_votes_as_bars_and_the_proof(values):
    selection = values["selection"]
    (card,) = cards_of(selection)
    (table,) = card.tables
    order = sorted(selection.indices, key=lambda i: -selection.importance[i])
    names = [f"x{i}" for i in order]
    assert [row[0].text for row in table.rows] == names
    assert [row[1].bar.length for row in table.rows] == [selection.counts[i] / 6 for i in order]
    assert [column.heading for column in table.columns] == ["feature", "votes", "prior weight", "importance"]
    assert card.lines[0].startswith("Proved")
    assert card.lines[1] == "The constraint holds."
    cells = read(selection._repr_html_()).cells
    assert [cell for cell in cells if re.fullmatch(r"x\d", cell)] == names
    assert all(name in str(selection) for name in names)


def test_a_selection_says_how_far_votes_and_lists_agree():
    """A list that lost its weight would else leave no trace."""
    evidence = Evidence.from_sets([[1, 1, 1] + [0] * 17] * 10)
    for names, trust, said in (
        (["x0", "x1", "x2"], "as_stated", "have more votes than random features"),
        (["x7", "x8", "x9"], "learned", "they were given no weight"),
    ):
        selection = decide(evidence, weights=dict.fromkeys(names, "likely"), max_size=3, trust_in_lists=trust)
        assert said in str(selection)
    assert "features rated" not in str(decide(evidence, weights={"x0": "likely"}, max_size=3))


def test_a_card_of_votes_lists_features_with_votes_and_counts_the_rest():
    votes = np.tril(np.ones((30, 30), dtype=bool))
    (card,) = cards_of(Evidence.from_sets(np.column_stack([votes, np.zeros((30, 2), dtype=bool)])))
    (table,) = card.tables
    assert len(table.rows) == 20
    assert card.lines[0] == "and 10 more features"


def test_the_diagram_of_scikit_learn_stays_below_the_chosen_features(values):
    selector = values["selector"]
    bundle = selector._repr_mimebundle_()
    assert bundle["text/html"].startswith(selector.selection_._repr_html_())
    assert "sk-container" in bundle["text/html"]
    assert bundle["text/html"].count("<table") > UBayFSSelector()._repr_html_().count("<table")


def test_text_of_data_is_escaped_and_control_characters_are_seen():
    evidence = Evidence.from_sets([[1, 0], [1, 1]], [NASTY, "ok"])
    for value in (evidence, decide(evidence, constraints=[max_size(1)]), max_size(3, price=0.1)):
        assert "<script" not in value._repr_html_()
        assert "\x1b" not in str(value)
    assert "&lt;script&gt;" in evidence._repr_html_()


def test_a_card_without_rows_is_its_title_and_lines():
    assert card_text(Card("title", lines=("one", "two"))) == "title\n  one\n  two"
    assert "<table" not in cards_html([Card("title")], NOTEBOOK)


def test_a_constraint_prints_as_it_is_written(values):
    assert str(values["constraint"]) == repr(values["constraint"]) == "must_link(['x0', 'x1'], price=0.25)"
    assert "0.25" in cards_of(values["constraint"])[0].lines[1]


# -- pictures and reports ----------------------------------------------------------------------------------------------


def test_a_notebook_gets_the_picture_of_a_display_and_of_its_drawing(values):
    drawing = values["selection"].plot()
    content, size = drawing._repr_png_()
    assert content.startswith(b"\x89PNG")
    width = int.from_bytes(content[16:20], "big")
    assert abs(width - 2 * size["width"]) <= 1  # sharp on screens of twice the resolution
    display = ubayfs.plotting.EvidenceDisplay.from_selection(values["selection"])
    assert display._repr_png_() == (content, size)


def test_a_figure_of_pyplot_is_not_shown_a_second_time(values):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, ax = pyplot.subplots()
    try:
        assert values["selection"].plot(ax=ax)._repr_png_() is None
    finally:
        pyplot.close(figure)


def test_a_display_is_drawn_by_name_with_its_arguments(values):
    drawing = values["selection"].plot("related", related=values["related"])
    assert "p-value" in drawing.ax.get_xlabel()
    with pytest.raises(InputError, match="evidence") as caught:
        values["selection"].plot("evidense")
    assert caught.value.argument == "display"


@pytest.mark.usefixtures("blank_figures")
@pytest.mark.parametrize("suffix", [".html", ".md", ".json"])
def test_a_selection_writes_its_report_with_the_facts_that_are_known(values, tmp_path, suffix):
    path = tmp_path / f"report{suffix}"
    trust = {"related": values["related"], "validation": values["validation"]}
    assert values["selection"].report(path, values["X"], values["y"], n_draws=0, **trust) == path
    text = path.read_text(encoding="utf-8")
    assert "AUC" in text
    assert "ubayfs.estimate_reproducibility(selection, X, y)" in text  # what is not known shows how to find it out
    with pytest.raises(InputError) as caught:
        values["selection"].report(tmp_path / "report.pdf")
    assert caught.value.argument == "path"


# -- progress bars -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("work", ["collect", "reproduce", "validate", "probabilities", "selector"])
def test_on_progress_true_draws_a_bar(values, work, capsys):
    X, y = values["X"], values["y"]
    how = {"selector": "mrmr", "n_models": 4, "n_features_per_model": 2, "random_state": 0, "on_progress": True}
    decision = {"constraints": [max_size(2)]}
    two = decide(values["evidence"], **decision)
    unit = {
        "collect": lambda: ubayfs.collect_evidence(X, y, **how) and "4/4",
        "reproduce": lambda: ubayfs.estimate_reproducibility(two, X, y, on_progress=True, n_splits=3) and "3/3",
        "validate": lambda: ubayfs.validate(two, X, y, on_progress=True, cv=2, n_repeats=1) and "2/2",
        "probabilities": lambda: (
            ubayfs.selection_probabilities(
                values["posterior"], **decision, n_draws=5, random_state=0, on_progress=True
            ).sum()
            and "5/5"
        ),
        "selector": lambda: (
            UBayFSSelector("mrmr", n_models=4, max_features=2, on_progress=True, random_state=0).fit(X, y) and "4/4"
        ),
    }[work]()
    shown = capsys.readouterr().err
    assert unit in shown
    assert "100%" in shown


def test_a_bar_needs_tqdm(values, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)
    with pytest.raises(MissingDependencyError, match="pip install tqdm"):
        ubayfs.collect_evidence(values["X"], values["y"], on_progress=True)


@pytest.mark.parametrize("value", [3, "yes"])
def test_anything_else_is_not_progress(values, value):
    with pytest.raises(InputError) as caught:
        ubayfs.collect_evidence(values["X"], values["y"], on_progress=value)
    assert caught.value.argument == "on_progress"
