"""Bars of votes and weights, and the constraints beside them."""

import math
from collections import Counter

import numpy as np
import pytest

from ubayfs import (
    Evidence,
    at_least_one,
    cannot_link,
    cost_budget,
    decide,
    exclude,
    implies,
    linear,
    max_blocks,
    max_per_block,
    max_size,
    must_link,
    require,
)
from ubayfs.constraints import resolve
from ubayfs.exceptions import ConstraintError, InputError
from ubayfs.plotting import CorrelationDisplay, EvidenceDisplay
from ubayfs.plotting.links import Links, find_links

NAMES = list("abcdefgh")


def links(constraints, chosen, shown=NAMES, blocks=None):
    """The links when the features `chosen` are, listed in the order `shown`."""
    mask = np.isin(NAMES, list(chosen))
    return find_links(resolve(constraints, NAMES, blocks), mask, np.array([NAMES.index(name) for name in shown]))


def test_bars_are_counts_and_weights(cancer_selection, cancer_blocks):
    display = EvidenceDisplay.from_selection(cancer_selection, cancer_blocks)
    sets = cancer_selection.posterior.evidence.sets.toarray()
    names = cancer_selection.feature_names.tolist()
    for name, votes, weight, chosen, blocks in zip(
        display.features, display.votes, display.weights, display.chosen, display.blocks, strict=True
    ):
        assert votes == sum(row[names.index(name)] for row in sets)
        assert weight == (25 if name == "worst smoothness" else 0.01)
        assert chosen == (name in cancer_selection.features)
        assert blocks == tuple(block for block, members in cancer_blocks.items() if name in members)
    importance = dict(zip(names, cancer_selection.importance, strict=True))
    assert sorted(map(importance.get, display.features), reverse=True) == list(map(importance.get, display.features))
    assert (display.n_features, display.n_chosen, display.n_models) == (30, 8, 30)


def test_the_drawing_shows_all_of_it(cancer_selection, cancer_blocks):
    display = EvidenceDisplay.from_selection(cancer_selection, cancer_blocks)
    drawing = display.plot()
    ax = drawing.ax
    votes, weights = ax.containers
    assert [bar.get_width() for bar in votes] == list(display.votes)
    assert [bar.get_x() for bar in weights] == list(display.votes)
    assert [bar.get_width() for bar in weights] == pytest.approx(list(display.weights))
    assert all(bar.get_hatch() for bar in weights)  # told apart in greyscale
    labels = [text for text in ax.texts if text.get_gid() == "feature"]
    assert [label.get_text() for label in labels] == list(display.features)
    bold = [label.get_text() for label in labels if label.get_fontweight() == "bold"]
    assert set(bold) == set(cancer_selection.features)
    (marks,) = (line for line in ax.lines if line.get_gid() == "selected")
    assert [display.features[int(y)] for y in marks.get_ydata()] == bold
    assert sum(patch.get_gid() == "block" for patch in ax.get_children()) == len(display.features)
    drawn = Counter(line.get_gid() for line in ax.lines if (line.get_gid() or "").startswith("link"))
    assert drawn == {"link must-link": 1, "link cannot-link": 1, "link implies": 1, "link max-per-block": 1}
    assert "max-size 8 (holds)" in drawing.figure.get_supxlabel()
    assert [text.get_text() for text in ax.texts].count("mean") == display.blocks.count(("mean",)) > 3


def test_of_many_features_the_leading_and_the_chosen_are_shown(large_selection):
    display = EvidenceDisplay.from_selection(large_selection)
    assert len(display.features) == 30
    assert set(large_selection.features) < set(display.features)
    table = large_selection.table()
    others = [name for name in display.features if name not in large_selection.features]
    assert others == table.loc[~table["chosen"], "feature"].head(24).tolist()
    n_rows = large_selection.problem.utility.system.n_inequalities
    drawn = sum(link.kind == "decorrelate" for link in display.links.drawn)
    assert 0 < drawn < n_rows - 1
    assert display.links.omitted == (f"{n_rows - 1 - drawn:,} of {n_rows - 1:,} decorrelate",)
    assert "30 of 10,000 features shown" in display.plot().figure.get_supxlabel().replace("\n", " ")


def test_features_that_nothing_speaks_for_do_not_fill_the_list():
    evidence = Evidence.from_sets([[1, 1, 0, 0, 0, 0]] * 3, list("abcdef"))
    selection = decide(evidence, weights={"c": 2}, constraints=[max_size(1), must_link(["a", "e"], rho=0.01)])
    assert EvidenceDisplay.from_selection(selection).features == ("a", "b", "c", "e")  # votes, a weight, a constraint
    assert EvidenceDisplay.from_selection(selection, constraints=()).features == ("a", "b", "c")


def test_blocks_have_the_same_colors_in_all_figures(cancer_selection, cancer_blocks):
    both = [
        display.from_selection(cancer_selection, blocks=cancer_blocks)
        for display in (EvidenceDisplay, CorrelationDisplay)
    ]
    colors = []
    for display in both:
        cells = [patch for patch in display.plot().ax.get_children() if patch.get_gid() == "block"]
        colors.append(dict(zip((own[0] for own in display.blocks), (c.get_facecolor() for c in cells), strict=True)))
    shared = colors[0].keys() & colors[1].keys()
    assert len(shared) > 1
    assert all(colors[0][block] == colors[1][block] for block in shared)


def test_equal_weights_are_stated_in_the_legend(large_selection):
    drawing = EvidenceDisplay.from_selection(large_selection).plot()
    words = [text.get_text() for text in drawing.ax.get_legend().get_texts()]
    assert words == ["votes of the ensemble", "prior weight (0.01 each)"]


def test_max_features_must_be_a_number(cancer_selection):
    with pytest.raises(InputError, match="max_features must be a whole number >= 1; got 0"):
        EvidenceDisplay.from_selection(cancer_selection, max_features=0)


def test_given_constraints_replace_those_of_the_selection(cancer_selection):
    display = EvidenceDisplay.from_selection(cancer_selection, constraints=require(["mean texture", "mean area"]))
    (link,) = display.links.drawn
    assert {display.features[row] for row in link.members} == {"mean texture", "mean area"}
    assert EvidenceDisplay.from_selection(cancer_selection, constraints=()).links == Links()
    with pytest.raises(ConstraintError, match="Did you mean 'mean area'"):
        EvidenceDisplay.from_selection(cancer_selection, constraints=require("mean aera"))


@pytest.mark.parametrize(
    ("constraint", "chosen", "label", "relation", "members", "targets", "violated"),
    [
        (must_link(["a", "c", "e"]), "ac", "must-link", "together", (0, 2, 4), (), True),
        (must_link(["a", "c", "e"]), "ace", "must-link", "together", (0, 2, 4), (), False),
        (cannot_link(["h", "b"]), "bh", "cannot-link", "at most", (1, 7), (), True),
        (implies(["d", "b"], ["a"]), "d", "implies", "if-then", (0, 1, 3), (0,), True),
        (implies("a", ["c", "d"]), "acd", "implies", "if-then", (0, 2, 3), (2, 3), False),
        (at_least_one(["a", "b"]), "c", "at-least-one", "at least", (0, 1), (), True),
        (require(["a", "g"], rho=1), "a", "require", "required", (0, 6), (), True),
        (exclude("c"), "a", "exclude", "excluded", (2,), (), False),
        (cost_budget({"a": 2, "f": 3}, 4), "af", "cost budget 4", "at most", (0, 5), (), True),
        # Inequalities of the user's own are drawn like the kind that means the same.
        (linear({"a": 1, "b": -2}, 0), "ab", "linear a - 2 b <= 0", "if-then", (0, 1), (1,), False),
        (linear({"a": -1}, -1), "a", "linear -a <= -1", "required", (0,), (), False),
        (linear({"a": 1}, 0), "a", "linear a <= 0", "excluded", (0,), (), True),
        (linear({"a": 1}, 1), "a", "linear a <= 1", "at most", (0,), (), False),
    ],
)
def test_a_constraint_joins_its_members(constraint, chosen, label, relation, members, targets, violated):
    found = links(constraint, chosen)
    (link,) = found.drawn
    assert (link.label, link.relation, link.targets) == (label, relation, targets)
    assert (link.kind, link.members, link.violated) == (constraint.kind.replace("_", "-"), members, violated)
    assert link.n_members == len(members)
    assert found.notes == found.omitted == ()


def test_members_are_rows_of_the_list_and_hidden_ones_are_counted():
    (link,) = links(cannot_link(["a", "b", "h"]), "a", shown="hca").drawn
    assert (link.members, link.n_members, link.rho) == ((0, 2), 3, math.inf)
    # One listed member is worth drawing only when the constraint is violated.
    assert links(must_link(["a", "h"]), "b", shown="ab").omitted == ("1 of 1 must-link",)
    (link,) = links(must_link(["a", "h"]), "a", shown="ab").drawn
    assert (link.members, link.n_members) == ((0,), 2)


def test_constraints_on_everything_or_on_blocks_are_stated_in_words():
    blocks = {"left": list("abcd"), "right": list("efgh")}
    found = links([max_size(2), max_blocks(1), cannot_link(["left", "right"], on="blocks")], "abh", blocks=blocks)
    assert found.drawn == ()
    assert found.notes == ("max-size 2 (violated)", "max-blocks 1 (violated)", "cannot-link left, right (violated)")
    assert links(must_link(["left", "right"], on="blocks"), "a", blocks=blocks).notes == (
        "must-link left, right (violated)",
    )
    more = links([max_size(n) for n in range(1, 7)], "abc")
    assert more.notes == ("max-size 1 (violated)", "max-size 2 (violated)", "max-size 3 (holds)", "3 more")


def test_limits_of_blocks_join_the_members_of_each_block():
    found = links(max_per_block(1), "ab", blocks={"left": list("abc"), "right": list("gh")})
    assert [(link.label, link.members, link.violated) for link in found.drawn] == [
        ("max-per-block 1: left", (0, 1, 2), True),
        ("max-per-block 1: right", (6, 7), False),
    ]


@pytest.mark.parametrize("seed", range(10))
def test_nothing_overlaps_and_nothing_is_lost(seed):
    rng = np.random.default_rng(seed)
    groups = [rng.choice(NAMES, int(rng.integers(2, 4)), replace=False) for _ in range(int(rng.integers(1, 60)))]
    constraints = [must_link(["a", "b", "c"]), implies("a", "h"), *(cannot_link(group.tolist()) for group in groups)]
    found = links(constraints, rng.choice(NAMES, 4, replace=False))
    covered = {}
    for link in found.drawn:
        assert 0 <= link.lane < 5
        rows = set(range(min(link.members), max(link.members) + 1))
        kind, taken = covered.setdefault(link.lane, (link.kind, set()))
        assert kind == link.kind
        assert not rows & taken
        taken |= rows
    assert {"must-link", "implies"} <= {link.kind for link in found.drawn}  # written one by one, so never crowded out
    n_cannot = sum(link.kind == "cannot-link" for link in found.drawn)
    omitted = {text.split()[-1]: int(text.split()[0]) for text in found.omitted}
    assert n_cannot + omitted.get("cannot-link", 0) == len(constraints) - 2
    violated = [link.violated for link in found.drawn if link.kind == "cannot-link"]
    if omitted and n_cannot > 2:
        assert violated == sorted(violated, reverse=True)


def test_violated_links_are_thick_and_colored():
    evidence = Evidence.from_sets(np.eye(4, dtype=int), list("abcd"))
    constraints = [max_size(2), cannot_link(["a", "b"], rho=0.01), cannot_link(["c", "d"], rho=0.01)]
    selection = decide(evidence, weights={"a": 9, "b": 9}, constraints=constraints)
    lines = [line for line in EvidenceDisplay.from_selection(selection).plot().ax.lines if line.get_gid()]
    width = {tuple(line.get_ydata()): line.get_linewidth() for line in lines if line.get_gid() == "link cannot-link"}
    assert width[0, 1] > width[2, 3]


def test_marks_other_than_circles_are_explained_where_they_are_drawn():
    evidence = Evidence.from_sets(np.eye(4, dtype=int), list("abcd"))

    def footer(*constraints):
        selection = decide(evidence, constraints=[max_size(2), *constraints])
        return EvidenceDisplay.from_selection(selection).plot().figure.get_supxlabel().replace("\n", " ")

    explained = {"Cross:": exclude("a"), "Triangle:": require("b"), "Triangle upside down:": implies("c", "d")}
    for words, constraint in explained.items():
        found = footer(constraint)
        assert words in found
        assert not any(other in found for other in explained if other != words)
    assert all(words in footer(*explained.values()) for words in explained)


def test_what_has_a_price_shows_it():
    evidence = Evidence.from_sets(np.eye(4, dtype=int), list("abcd"))
    wanted = [max_size(2), cannot_link(["a", "b"], price=0.25), must_link(["c", "d"], rho=1)]
    selection = decide(evidence, weights={"d": "unlikely"}, constraints=wanted)
    texts = {text.get_text() for text in EvidenceDisplay.from_selection(selection).plot().ax.texts}
    assert texts >= {"cannot-link, price 0.25, violated", "must-link, rho 1", "unlikely, price 0.5"}
