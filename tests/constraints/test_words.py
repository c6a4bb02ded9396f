"""The words of kinds of constraints: sentences, strictness, and what their docstrings share."""

import inspect

import numpy as np
import pytest
from tests.constraints.test_builders import EXAMPLES

import ubayfs
from ubayfs.constraints import KINDS
from ubayfs.constraints.words import HARD, ODDS, PRICE, RHO, with_shared_parameters


def test_every_kind_has_a_sentence_of_its_own():
    sentences = {kind: example.sentence for kind, example in EXAMPLES.items()}
    assert len(set(sentences.values())) == len(KINDS)
    assert all(KINDS[kind].sentence for kind in KINDS)
    assert not any("{" in sentence for sentence in sentences.values())


@pytest.mark.parametrize(
    ("constraint", "sentence"),
    [
        (ubayfs.max_size(1), "At most 1 feature"),
        (ubayfs.max_size("supported"), "At most as many features as the data support"),
        (ubayfs.require("age"), "With age"),
        (ubayfs.must_link(["mean", "worst"], on="blocks"), "All or none of the blocks mean and worst"),
        (ubayfs.max_blocks(2), "Features of at most 2 blocks"),
        (ubayfs.max_blocks(1, blocks=["mean", "worst"]), "Features of at most 1 of the blocks mean and worst"),
        (ubayfs.max_per_block(2), "At most 2 features of each block"),
        (ubayfs.max_per_block(2, blocks="mean"), "At most 2 features of mean, each"),
        (ubayfs.min_per_block(1), "At least 1 feature of each block"),
        (ubayfs.decorrelate(0.8), "No two features with a Spearman correlation above 0.8"),
        (
            ubayfs.cost_budget({"mri": 400, "blood": 25}, 410),
            "Total cost at most 410 (costs: mri 400, blood 25 and each other feature 0)",
        ),
        (ubayfs.linear({"a": 1, "b": -2}, 0.5), "a - 2 b at most 0.5"),
        (ubayfs.linear(np.ones((2, 6)), 1.0), "2 conditions on sums of 6 columns"),
    ],
)
def test_a_sentence_says_what_a_constraint_asks_for(constraint, sentence):
    assert constraint.sentence == sentence


@pytest.mark.parametrize(
    ("constraint", "strictness", "words"),
    [
        (ubayfs.max_size(3), HARD, "hard"),
        (ubayfs.max_size(3, rho=2), RHO, "strength (rho) 2"),
        (ubayfs.max_size(3, price=0.2), PRICE, "one violation costs 20 of 100 votes"),
        (ubayfs.decorrelate(0.8), ODDS, "the stronger the correlation, the more it costs"),
        (ubayfs.decorrelate(0.8, price=0.5), PRICE, "one violation costs 50 of 100 votes"),
        (ubayfs.max_size(3, rho=0), RHO, "no effect, since it costs nothing to violate it"),
        (ubayfs.linear(np.ones((2, 6)), 1.0, rho=[1, np.inf]), RHO, "each condition has its own price"),
    ],
)
def test_strictness(constraint, strictness, words):
    assert constraint.strictness is strictness
    assert constraint.strictness_in_words(100) == words


def parameters_described(docstring):
    section = docstring.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    entries = [line.partition(" : ")[0] for line in section.split("\n") if not line.startswith(" ")]
    return [name for entry in entries for name in entry.split(", ")]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_parameter_of_a_builder_is_described_once(kind):
    described = parameters_described(inspect.getdoc(getattr(ubayfs, kind)))
    assert sorted(described) == sorted(KINDS[kind].parameters)


def test_what_a_docstring_describes_itself_stays():
    docstring = """Select these.

        Parameters
        ----------
        features : list
            My words.

        See Also
        --------
        max_size : Less.
        """
    made = with_shared_parameters(docstring, ["features", "rho", "price", "depth"])
    assert "features : list\n    My words.\nrho, price : float" in made
    assert parameters_described(made) == ["features", "rho", "price"]
    assert made.endswith("\n\nSee Also\n--------\nmax_size : Less.")
