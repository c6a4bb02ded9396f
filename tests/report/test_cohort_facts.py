"""What a report says of several sites."""

import numpy as np
import pytest

from ubayfs import Evidence, collect_evidence, decide, decorrelate, max_size, pool_evidence
from ubayfs.ensemble.site import Site
from ubayfs.report import render_html, render_markdown, summarize

NAMES = np.array(["BAX", "GENE7", "MDM2", "none"], dtype=object)
CODING = {"task": "binary", "classes": ["no", "yes"], "ordered": False}


def site(votes, signs, names=NAMES, n=50):
    known = Site(
        CODING, n, (("no", n // 2), ("yes", n // 2)), float(n), np.array(signs, dtype=np.int8), min_votes_sent=5
    )
    settings = {"n_models": 100, "task": "binary", "n_samples": n, "selector": ["MRMR()"], "selector_kinds": ["mrmr"]}
    none = Evidence.from_sets(np.zeros((1, len(names)), dtype=bool)).sets[:0]
    marks = np.zeros(len(names), dtype=bool)
    return Evidence(none, names, marks, settings=settings, votes=np.array(votes), site=known)


@pytest.fixture(scope="module")
def summary():
    """Three sites: GENE7 conflicts, MDM2 is missing in Lund."""
    sites = {
        "Oslo": site([90, 90, 40, 0], [1, 1, -1, 0], n=60),
        "Graz": site([80, 75, 0, 0], [1, -1, 0, 0]),
        "Lund": site([70, 0, 0], [1, 0, 0], NAMES[[0, 1, 3]]),
    }
    return summarize(decide(pool_evidence(sites), max_size=3, min_votes=0), n_draws=0)


def test_facts_are_those_of_the_sites(summary):
    facts = summary.cohorts
    assert [(each.name, each.n_samples, each.n_measured) for each in facts.sites] == [
        ("Graz", 50, 4), ("Lund", 50, 3), ("Oslo", 60, 4),
    ]  # fmt: skip
    members = {each.feature: each for each in facts.members}
    assert members["BAX"].votes == (80, 70, 90)
    assert members["MDM2"].votes == (0, None, 40)
    assert members["GENE7"].directions == (-1, 0, 1)
    assert members["GENE7"].concordance < 0.1 < 0.9 < members["BAX"].concordance
    assert facts.higher_in == "yes"
    assert facts.size == 3
    expected, low, high = facts.selected_again
    assert 0 <= low <= expected <= high <= 3
    assert not facts.is_lower_bound


def test_the_report_has_the_table_and_the_conflict(summary):
    page = render_markdown(summary)
    assert "| BAX | 80 ↑ | 70 ↑ | 90 ↑ | 1.00 |" in page
    assert "| MDM2 | &lt; 5 | \\- | 40 ↓ |" in page
    assert "3 sites, 160 samples (Graz 50, Lund 50 and Oslo 60); no patient's row left its site." in page
    assert "GENE7 is up in Oslo (90 of 100) and down in Graz (75 of 100). As directions conflict" in page
    for word in ("anonymous", "harmless"):
        assert word not in page
    assert "What each site found" in render_html(summary)


def test_p_values_are_said_to_have_stayed_at_their_sites(summary):
    states = {fact.fact: fact for fact in summary.facts}
    assert states["related"].state == states["validation"].state == "undefined"
    assert "stayed at their sites" in states["related"].sentences[0]


def test_two_sites_give_a_lower_bound():
    sites = {"Oslo": site([90, 90, 40, 0], [1, 1, -1, 0]), "Graz": site([80, 75, 9, 0], [1, 1, -1, 0])}
    again = summarize(decide(pool_evidence(sites), max_size=2), n_draws=0)
    assert again.cohorts.is_lower_bound
    assert any("at least about 2" in line for line in again.sentences["cohorts"])


def test_constraints_that_need_data_leave_out_what_a_site_selects():
    sites = {"Oslo": site([90, 80, 0, 0], [1, 1, 0, 0]), "Graz": site([80, 75, 9, 0], [1, 1, -1, 0])}
    X = np.random.default_rng(0).normal(size=(20, 4))
    chosen = decide(pool_evidence(sites), constraints=[max_size(2), decorrelate(0.9)], X=X)
    facts = summarize(chosen, n_draws=0).cohorts
    assert facts.selected_again is None
    assert len(facts.members) == 2


def test_one_site_has_no_such_section():
    X = np.random.default_rng(0).normal(size=(40, 6))
    evidence = collect_evidence(X, X[:, 0] + X[:, 1] > 0, selector="fisher", n_models=5, n_features_per_model=1)
    summary = summarize(decide(evidence, max_size=2), n_draws=0)
    assert summary.cohorts is None
    assert "What each site found" not in render_markdown(summary)
