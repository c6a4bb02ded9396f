"""Forms of rules: every kind has one, what is typed becomes the constraint, problems stand at their fields."""

import numpy as np
import pytest

import ubayfs
from ubayfs.app.forms import (
    Known,
    completions,
    form_of,
    has_form,
    read_form,
    read_numbers,
    values_of,
    with_strictness,
)  # fmt: skip
from ubayfs.constraints import KINDS
from ubayfs.constraints.arguments import Items
from ubayfs.constraints.constraint import Constraint, builder, inequalities, one_row
from ubayfs.data.blocks import Blocks
from ubayfs.exceptions import InputError

NAMES = ["age", "crp", "glucose", "a<b>", "10", "x" * 500]
BLOCKS = Blocks({"blood": ["crp", "glucose"], "other": ["age"]})
KNOWN = Known(NAMES, BLOCKS)

# One of each kind, with all its arguments; both ways of being strict, on features and on blocks.
EXAMPLES = [
    ubayfs.max_size(3, price=0.2),
    ubayfs.max_size("supported"),
    ubayfs.min_size(1, rho=2.0),
    ubayfs.exact_size(2),
    ubayfs.max_per_block(1, blocks=["blood"], price=0.1),
    ubayfs.max_per_block(1),
    ubayfs.min_per_block(2, blocks=["blood"]),
    ubayfs.max_per_cluster(2, threshold=0.8, price=0.3),
    ubayfs.max_blocks(1),
    ubayfs.must_link(["age", "crp"], price=0.5),
    ubayfs.must_link(["blood", "other"], on="blocks"),
    ubayfs.cannot_link(["age", "crp", "10"]),
    ubayfs.implies(["age"], ["crp", "glucose"], rho=0.5),
    ubayfs.at_least_one(["a<b>", "x" * 500]),
    ubayfs.require(["age"]),
    ubayfs.exclude(["age"], price=0.25),
    ubayfs.decorrelate(0.8, "kendall"),
    ubayfs.decorrelate(0.8, price=0.25),
    ubayfs.cost_budget({"age": 1.5, "crp": 1e-3}, 10.0, price=0.01),
    ubayfs.cost_budget({"age": 1.5, "*": 1.0}, 10.0),
    ubayfs.cost_budget(None, 10.0),
    ubayfs.linear({"age": 1.0, "crp": -2.0}, 1.0),
    ubayfs.linear({"blood": 1.0, "other": 1.0}, 1.0, blocks=True, price=0.5),
]


def test_examples_are_of_every_kind():
    assert {example.kind for example in EXAMPLES} == set(KINDS)


@pytest.mark.parametrize("example", EXAMPLES, ids=repr)
def test_a_form_shows_and_makes_every_constraint(example):
    values = values_of(example)
    assert {entry.name for entry in form_of(example.kind).fields} <= values.keys()
    assert read_form(example.kind, values, KNOWN) == (example, {})
    # Browsers send texts.
    typed = {key: str(value) if isinstance(value, int | float) else value for key, value in values.items()}
    assert read_form(example.kind, typed, KNOWN) == (example, {})
    assert has_form(example)


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_form_names_what_is_missing(kind):
    constraint, problems = read_form(kind, form_of(kind).values)
    needed = {name for name in KINDS[kind].required if name != "costs"}
    assert set(problems) == needed
    assert (constraint is None) == bool(needed)


@pytest.mark.parametrize(
    ("kind", "values", "fields"),
    [
        ("max_size", {"n": "ten"}, {"n"}),
        ("max_size", {"n": "2.5", "strictness": "price", "price": ""}, {"n", "price"}),
        ("max_size", {"n": 3, "strictness": "rho", "rho": "-1"}, {"rho"}),
        ("must_link", {"features": ["age"]}, {"features"}),
        ("must_link", {"features": ["age", "agee"]}, {"features"}),
        ("must_link", {"features": ["age", "crp"], "on": "blocks"}, {"features"}),
        ("implies", {"if_features": ["nothing*"], "then_features": ["age"]}, {"if_features"}),
        ("max_per_block", {"n": 1, "blocks": ["mood"]}, {"blocks"}),
        ("decorrelate", {"threshold": 1.5, "method": "spearman"}, {"threshold"}),
        ("cost_budget", {"costs": "age 1\nage 2", "budget": 3}, {"costs"}),
        ("cost_budget", {"costs": "ages 1", "budget": 3}, {"costs"}),
        ("linear", {"A": "crp", "b": 1}, {"A"}),
    ],
)
def test_problems_stand_at_their_fields(kind, values, fields):
    constraint, problems = read_form(kind, values, KNOWN)
    assert constraint is None
    assert set(problems) == fields


def test_what_an_unlisted_feature_costs_is_asked_for_and_0_is_a_choice():
    values = {"costs": "age 2\ncr* 3", "budget": "4", "strictness": "hard"}
    assert set(read_form("cost_budget", values, KNOWN)[1]) == {"rest"}
    free, dear = (read_form("cost_budget", values | {"rest": rest}, KNOWN)[0] for rest in ("0", "1,5"))
    assert dict(dict(free.arguments)["costs"]) == {"age": 2.0, "cr*": 3.0}
    assert dict(dict(dear.arguments)["costs"]) == {"age": 2.0, "cr*": 3.0, "*": 1.5}
    assert [values_of(made)["rest"] for made in (free, dear)] == [0.0, 1.5]
    every = {**values, "costs": "* 1\nage 2"}
    assert read_form("cost_budget", every, KNOWN)[1] == {}
    assert has_form(dear)


def test_a_pattern_is_accepted_and_stays_one():
    constraint, problems = read_form("must_link", {"features": ["*g*"], "strictness": "hard"}, KNOWN)
    assert not problems
    assert dict(constraint.arguments)["features"] == ("*g*",)


def test_a_matrix_has_no_form_but_can_be_made_stricter():
    matrix = ubayfs.linear(np.ones((2, 6)), [1.0, 2.0])
    own_blocks = ubayfs.linear({"u": 1.0}, 1.0, blocks={"u": ["age"]})
    assert not has_form(matrix)
    assert not has_form(own_blocks)
    assert with_strictness(matrix, "hard") == ubayfs.linear(np.ones((2, 6)), [1.0, 2.0])
    assert with_strictness(own_blocks, "price", "0,5").price == 0.5


@pytest.mark.parametrize("example", EXAMPLES, ids=repr)
def test_strictness_is_all_that_changes(example):
    made = with_strictness(example, "price", 0.125)
    without = [{k: v for k, v in c.arguments if k not in ("rho", "price")} for c in (example, made)]
    assert made.price == 0.125
    assert without[0] == without[1]
    with pytest.raises(InputError):
        with_strictness(example, "price", "")


def test_nothing_is_refused_before_the_features_are_known():
    assert read_form("require", {"features": ["anything"], "strictness": "hard"}, Known([]))[1] == {}


def test_a_new_rule_is_a_must_or_as_strict_as_the_correlation():
    assert {kind for kind in KINDS if form_of(kind).values["strictness"] != "hard"} == {"decorrelate"}


def test_a_new_kind_has_a_form_and_a_sentence(monkeypatch):
    monkeypatch.setattr("ubayfs.constraints.constraint.KINDS", KINDS)

    @builder(lambda context, features, depth, rho: inequalities(one_row([0], 1.0, 6), 1.0, rho, "nested"))
    def nested(features: Items, depth: int = 2, rho: float = 1.0, *, price: float | None = None):
        """Select each only with the one before: so many."""
        return {"features": tuple(features), "depth": depth, "rho": rho}

    try:
        assert [(entry.name, entry.input) for entry in form_of("nested").fields] == [
            ("features", "names"), ("depth", "count")
        ]  # fmt: skip
        constraint, problems = read_form("nested", {"features": ["age"], "depth": 3, "strictness": "hard"}, KNOWN)
        assert problems == {}
        assert isinstance(constraint, Constraint)
        assert constraint.sentence == "Select each only with the one before: features ['age'], depth 3"
    finally:
        del KINDS["nested"]


def test_numbers_of_a_text():
    assert read_numbers("a b\t1\nc: -2,5\n\n d=3e2 ") == {"a b": 1.0, "c": -2.5, "d": 300.0}
    for wrong in ("a", "a 1.2.3", "1", "a 1\na 2"):
        with pytest.raises(InputError):
            read_numbers(wrong)


def test_completions_are_few_and_beginnings_come_first():
    names = [f"gene{i}" for i in range(20_000)] + ["19_gene"]
    found = completions("GENE19", names)
    assert found[:2] == ["gene19", "gene190"]
    assert len(found) == 20
    assert completions("19_", names) == ["19_gene"]
    assert completions("", names) == []
