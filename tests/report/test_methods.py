"""The paragraph for the methods section of a paper."""

import re

import numpy as np
import pytest

from summaries import summary_of
from ubayfs import Genetic, collect_evidence, decide, max_size
from ubayfs.selectors import SELECTORS
from ubayfs.selectors.mrmr import MRMR


def mrmr(X, y, n_features, rng):
    """Choose the first features: a function that has the name of a selector."""
    return np.arange(n_features)


@pytest.mark.parametrize(
    ("selector", "named", "cited"),
    [
        ("mrmr", "mRMR", True),
        (MRMR(classes="weighted"), "MRMR(classes='weighted')", True),
        (mrmr, None, False),
        ("lasso", "Lasso", False),
    ],
)
def test_selectors_are_named_and_those_of_a_paper_cited(selector, named, cited, rng):
    X = rng.normal(size=(40, 4))
    evidence = collect_evidence(
        X, (X[:, 0] > 0).astype(int), selector=selector, n_models=3, n_features_per_model=1, random_state=0
    )
    summary = summary_of(decide(evidence, constraints=max_size(1)), n_draws=0)
    assert named is None or summary["ensemble"]["selector_names"] == [named]
    assert any("Ding" in reference for reference in summary["methods"]["references"]) == cited


@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_every_selector_has_a_usual_name_and_a_reference_that_fits_its_citation(selector):
    cited, reference = selector.reference
    first_author, year = re.fullmatch(r"(\w+)\b.*, (\d{4})", cited).groups()
    assert reference.startswith(f"{first_author}, ")
    assert f" ({year}). " in reference
    assert [other.name for other in SELECTORS.values() if other.usual_name == selector.usual_name] == [selector.name]
    assert selector.usual_name
    assert selector.finds


@pytest.mark.parametrize(
    ("optimizer", "words"),
    [("exact", "exact optimization"), (Genetic(n_sets=5, n_generations=2), "a genetic algorithm")],
)
def test_the_optimizer_is_named(optimizer, words, rng):
    X = rng.normal(size=(40, 5))
    evidence = collect_evidence(
        X, np.arange(40) % 2, selector="fisher", n_models=3, n_features_per_model=1, random_state=0
    )
    selection = decide(evidence, constraints=max_size(1), optimizer=optimizer, random_state=0)
    assert f"by {words}" in summary_of(selection, n_draws=0)["methods"]["text"]
