import numpy as np
import pandas as pd
import pytest

from ubayfs.data.blocks import Blocks
from ubayfs.ensemble.evidence import Evidence
from ubayfs.exceptions import InputError
from ubayfs.priors import DEFAULT_WEIGHT, PRIORS, as_prior, resolve_weights

NAMES = ["radius", "area", "texture", "concavity"]
BLOCKS = {"size": ["radius", "area"], "shape": ["concavity", "area"]}


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (2, [2, 2, 2, 2]),
        (np.float32(0.5), [0.5] * 4),
        (np.array(3.0), [3, 3, 3, 3]),
        ([1, 2, 3, 4], [1, 2, 3, 4]),
        ((0.1, 2, 3.5, 4), [0.1, 2, 3.5, 4]),
        (np.arange(1, 5), [1, 2, 3, 4]),
        ({}, [DEFAULT_WEIGHT] * 4),
        ({"area": 5}, [DEFAULT_WEIGHT, 5, DEFAULT_WEIGHT, DEFAULT_WEIGHT]),
        ({1: 5, "texture": 2}, [DEFAULT_WEIGHT, 5, 2, DEFAULT_WEIGHT]),
        (pd.Series({"texture": 7.0, "radius": np.nan}), [DEFAULT_WEIGHT, DEFAULT_WEIGHT, 7, DEFAULT_WEIGHT]),
        (pd.Series([4.0, 3.0, 2.0, 1.0]), [4, 3, 2, 1]),
        (
            pd.DataFrame({"feature": ["area", "radius"], "weight": [3, np.nan], "why": ["paper", ""]}),
            [DEFAULT_WEIGHT, 3, DEFAULT_WEIGHT, DEFAULT_WEIGHT],
        ),
    ],
)
def test_forms(weights, expected):
    resolved = resolve_weights(weights, NAMES)
    assert resolved.dtype == np.float64
    np.testing.assert_allclose(resolved, expected, rtol=1e-7)


@pytest.mark.parametrize("blocks", [BLOCKS, Blocks(BLOCKS)])
@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({"size": 2}, [2, 2, DEFAULT_WEIGHT, DEFAULT_WEIGHT]),
        ({"size": 2, "shape": 2}, [2, 2, DEFAULT_WEIGHT, 2]),
        # A weight of its own beats the weights of its blocks, in any order.
        ({"size": 2, "radius": 9}, [9, 2, DEFAULT_WEIGHT, DEFAULT_WEIGHT]),
        ({"radius": 9, "size": 2}, [9, 2, DEFAULT_WEIGHT, DEFAULT_WEIGHT]),
        # ... and settles a quarrel between them.
        ({"size": 2, "shape": 3, "area": 1}, [2, 1, DEFAULT_WEIGHT, 3]),
        (pd.Series({"shape": 3}), [DEFAULT_WEIGHT, 3, DEFAULT_WEIGHT, 3]),
        (pd.DataFrame({"block": ["size", "shape"], "weight": [2.0, None]}), [2, 2, DEFAULT_WEIGHT, DEFAULT_WEIGHT]),
    ],
)
def test_blocks(weights, expected, blocks):
    np.testing.assert_allclose(resolve_weights(weights, NAMES, blocks), expected)


def test_result_is_a_copy():
    given = np.ones(4)
    resolve_weights(given, NAMES)[0] = 7
    assert given[0] == 1


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (0, r"positive and finite; feature 'radius' has 0\.0 \(4 such"),
        ([1, -2, 3, 4], r"feature 'area' has -2\.0\. A feature without prior knowledge"),
        ([1, 2, np.nan, 4], r"feature 'texture' has nan"),
        ({"concavity": np.inf}, r"weights\.concavity: must be positive and finite; got inf"),
        ({"concavity": 10**400}, r"weights\.concavity: must be positive and finite; got inf"),
        ({"concavity": -(10**400)}, r"weights\.concavity: must be positive and finite; got -inf"),
        ([1, 2, 3, 10**400], r"weights must be a number"),
        ([1, 2, 3], r"one number per feature: 4; got 3\."),
        ([[1, 2, 3, 4]], r"one number per feature: 4; got shape \(1, 4\)"),
        ("high", r"weights must be a number, one number per feature.*got 'high'"),
        (True, r"weights must be a number.*got True"),
        (np.ones(4, dtype=bool), r"weights must be a number, one number per feature"),
        (None, r"weights must be a number.*got None"),
        ({1.0, 2.0, 3.0, 4.0}, r"weights must be a number"),
        (["a", "b", "c", "d"], r"weights must be a number"),
        ({"raduis": 1}, r"names 'raduis', which is neither a feature nor a block\. Did you mean 'radius'\?"),
        ({"zzzz": 1}, r"neither a feature nor a block\. No blocks were given; pass blocks="),
        ({9: 1}, r"position 9, but positions count from 0 to 3"),
        ({1.5: 1}, r"by name \(str\) or position \(int\); got 1\.5"),
        ({"area": 1, 1: 2}, r"names feature 'area' more than once"),
        ({"area": "much"}, r"weights\.area: must be one of 'likely', .*got 'much'"),
        ({"area": "likely"}, r"in words are measured by the number of models: pass n_models"),
        ({"area": None}, r"weights\.area: must be a number of votes or one of .*got None"),
        (pd.DataFrame({"thing": ["area"], "weight": [1]}), r"no column 'feature' .*, among 'thing', 'weight'"),
        (pd.DataFrame({"feature": ["area"], "wheight": [1]}), r"the table, which has no column 'weight'"),
        (
            pd.DataFrame({"feature": ["area", "area"], "weight": [1, 2]}),
            r"gives feature 'area' the weight 2, but row 1 gives it 1",
        ),
        (pd.DataFrame({"feature": ["areas"], "weight": [1]}), r"none of its 1 names.*'areas'.*Did you mean 'area'"),
    ],
)
def test_errors(weights, message):
    with pytest.raises(InputError, match=message):
        resolve_weights(weights, NAMES)


@pytest.mark.parametrize(
    ("weights", "blocks", "message"),
    [
        (
            {"size": 2, "shape": 3},
            BLOCKS,
            r"weights\.shape: gives feature 'area' the weight 3, but block 'size' gives it 2\. Give this feature",
        ),
        ({"sizes": 2}, BLOCKS, r"'sizes', which is neither a feature nor a block\. Did you mean 'size'\?"),
        ({"area": 2}, {"area": ["radius"]}, r"'area', which is both a feature and a block; give the feature by its"),
        (
            pd.DataFrame({"block": ["siez"], "weight": [1]}),
            BLOCKS,
            r"row 1: 'siez' is not a block\. Did you mean 'size'",
        ),
        (pd.DataFrame({"block": ["size", "size"], "weight": [1, 2]}), BLOCKS, r"the weight 2, but row 1 gives it 1"),
        ({"size": -1}, BLOCKS, r"weights\.size: must be positive and finite; got -1\.0"),
        ({"size": 1}, {"size": ["radios"]}, r"weights\.size: names 'radios', which is not a feature"),
    ],
)
def test_block_errors(weights, blocks, message):
    with pytest.raises(InputError, match=message):
        resolve_weights(weights, NAMES, blocks)


@pytest.mark.parametrize("weights", [1e308, [0.1, 1e13, 1.0], {"b": 2e12}, pd.Series({"b": 1e300})])
def test_weights_that_would_overflow_are_refused(weights):
    message = r"weights(\.b:)? must be at most 1e\+12; (feature '[ab]' has|got) \d.*Weights count votes.*require\(\)"
    with pytest.raises(InputError, match=message):
        resolve_weights(weights, ["a", "b", "c"])


@pytest.mark.parametrize("prior", sorted(PRIORS))
def test_the_largest_weight_still_gives_a_posterior(prior):
    evidence = Evidence.from_sets(np.eye(4, dtype=bool))
    mean = as_prior(prior).update(evidence, weights={"x1": 1e12, "x2": 1e12}).mean
    np.testing.assert_allclose(mean, [0, 0.5, 0.5, 0], atol=1e-9)


def test_all_that_is_wrong_is_listed():
    with pytest.raises(InputError) as caught:
        resolve_weights({"raduis": 1, "area": -1, "z*": 2, "likely": ["zzz"]}, NAMES, n_models=10)
    assert caught.value.argument == "weights"
    for part in (
        "there are 4 problems",
        "'raduis'",
        "weights.area: must be",
        "'z*' matches no feature",
        "weights.likely",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    "weights",
    [
        {"size": 2, "texture": 7, "con*": 3},
        {"features": {"texture": 7}, "patterns": {"con*": 3}, "blocks": {"size": 2}},
    ],
)
def test_patterns_and_the_keys_of_a_study(weights):
    assert resolve_weights(weights, NAMES, {"size": ["radius", "area"]}).tolist() == [2, 2, 7, 3]
