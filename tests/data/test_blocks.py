"""Blocks of features from mappings and tables."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from ubayfs.data.blocks import Blocks
from ubayfs.exceptions import ConstraintError

NAMES = ["radius", "area", "texture", "symmetry"]


@settings(max_examples=examples(50))
@given(st.dictionaries(st.text(min_size=1, max_size=4), st.sets(st.integers(0, 6), min_size=1), max_size=5))
def test_the_matrix_marks_exactly_the_members(members):
    names = [f"f{i}" for i in range(7)]
    by_name = Blocks.of({block: [names[i] for i in sorted(features)] for block, features in members.items()})
    by_position = Blocks.of({block: sorted(features) for block, features in members.items()})
    expected = np.zeros((len(members), 7), dtype=bool)
    for row, features in zip(expected, members.values(), strict=True):
        row[list(features)] = True
    for blocks in (by_name, by_position):
        matrix = blocks.matrix(names)
        assert matrix.dtype == bool
        np.testing.assert_array_equal(matrix.toarray(), expected)
        assert blocks.names == tuple(members)
        assert len(blocks) == len(members)


def test_blocks_of_blocks_and_of_nothing():
    blocks = Blocks({"size": ["radius"]})
    assert Blocks.of(blocks) is blocks
    assert len(Blocks.of(None)) == 0
    assert Blocks.of(None).matrix(NAMES).shape == (0, 4)


def test_a_single_feature_needs_no_list():
    assert Blocks({"one": "radius", "two": 1}).members == {"one": ("radius",), "two": (1,)}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_tables_give_blocks_in_order_of_appearance(make):
    table = make({"feature": ["area", "radius", "texture", "area"], "block": ["size", "size", None, "all"]})
    assert Blocks.of(table).members == {"size": ("area", "radius"), "all": ("area",)}


def test_numbers_in_the_block_column_become_names_even_with_gaps():
    table = pd.DataFrame({"feature": ["area", "radius", "texture"], "block": [2, np.nan, 10]})
    assert Blocks.of(table).members == {"2": ("area",), "10": ("texture",)}


def test_number_and_text_of_the_same_name_are_one_block():
    table = pd.DataFrame({"feature": ["area", "radius"], "block": pd.Series([1, "1"], dtype=object)})
    assert Blocks.of(table).members == {"1": ("area", "radius")}


def test_categorical_block_columns_give_no_empty_blocks():
    column = pd.Categorical(["a", "b"], categories=["a", "b", "unused"])
    assert Blocks.of(pd.DataFrame({"feature": ["area", "radius"], "block": column})).names == ("a", "b")


def test_positions_by_name_and_number():
    blocks = Blocks({"size": [0], "shape": [1]})
    assert (blocks.position("shape", "max_blocks"), blocks.position(np.int64(0), "max_blocks")) == (1, 0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "shap",
            r"max_blocks names block 'shap'.*not a block. Did you mean 'shape'\? Known blocks: 'size', 'shape'",
        ),
        (2, "max_blocks names block 2, which is not a block"),
        (True, "max_blocks names block True, which is not a block"),
        (["size"], r"max_blocks names block \['size'\], which is not a block"),
    ],
)
def test_unknown_blocks_suggest_the_nearest(name, message):
    with pytest.raises(ConstraintError, match=message):
        Blocks({"size": [0], "shape": [1]}).position(name, "max_blocks")


def test_asking_without_any_blocks_says_how_to_give_them():
    with pytest.raises(ConstraintError, match=r"Known blocks: none were given; pass blocks="):
        Blocks.of(None).position("size", "max_blocks")


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ({"size": ["raduis"]}, r"block 'size' names 'raduis', which is not a feature. Did you mean 'radius'\?"),
        ({"size": [4]}, "block 'size' refers to position 4, but positions count from 0 to 3"),
        ({"size": [-1]}, "block 'size' refers to position -1"),
        ({"size": ["area", 1]}, "block 'size' names feature 'area' more than once"),
        ({"size": [1.5]}, "block 'size' must refer to features by name"),
    ],
)
def test_members_that_are_not_features(blocks, message):
    with pytest.raises(ConstraintError, match=message):
        Blocks.of(blocks).matrix(NAMES)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ({"size": []}, "block 'size' has no features; leave it out"),
        ({"size": 1.5}, "block 'size' must list its features; got 1.5"),
        ({1: ["area"]}, "blocks must have names that are strings; got 1"),
        (["area"], "blocks must be a mapping of names to features, a DataFrame.*got list"),
        (
            pd.DataFrame({"feature": ["area"], "lane": ["x"]}),
            r"needs the columns 'feature' and 'block'; \['block'\] missing",
        ),
    ],
)
def test_blocks_that_cannot_be_read(blocks, message):
    with pytest.raises(ConstraintError, match=message):
        Blocks.of(blocks)


def test_the_constructor_takes_mappings_only():
    with pytest.raises(ConstraintError, match=r"got list. Blocks.of reads tables"):
        Blocks(["area"])


def test_frames_of_blocks_may_use_other_headings():
    frame = pd.DataFrame({"Gene": ["MYC", "KRAS", "MYC"], "Pathway": ["A", "A", "B"]})
    assert Blocks.of(frame).members == {"A": ("MYC", "KRAS"), "B": ("MYC",)}
