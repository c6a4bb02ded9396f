"""Questions to a simulated expert: the answers are true, and the page has the table of the stored results."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ubayfs
from ubayfs_experiments import store
from ubayfs_experiments.analysis.calibration import fill
from ubayfs_experiments.analysis.questions import questions_table
from ubayfs_experiments.designs import questions

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results" / "questions"


def evidence_of(votes):
    return ubayfs.Evidence.from_sets(np.arange(40)[:, None] < np.array(votes), [f"x{j}" for j in range(len(votes))])


def test_a_true_answer_about_a_close_call_gains_a_hit():
    """Ten members, the weakest of which is noise; the next feature is related: one question suffices."""
    evidence = evidence_of([30] * 9 + [12, 11, 1])
    related = {"x0", "x10"}
    selection, hits = questions._asked(evidence, related, questions._by_questions, np.random.default_rng(0))
    assert hits[0] == 1
    assert hits[1] == 2
    assert len(hits) == questions.N_QUESTIONS + 1
    assert {"x0", "x10"} <= set(selection.features)


@pytest.mark.parametrize("way", questions.WAYS)
def test_nothing_is_asked_twice_and_there_may_be_nothing_to_ask(way, monkeypatch):
    monkeypatch.setattr(questions, "MAX_SIZE", 2)
    evidence, asked = evidence_of([5, 4, 3]), []

    def choose(selection, words, rng):
        feature = questions.WAYS[way](selection, words, rng)
        asked.append(feature)
        assert feature not in words
        return feature

    _, hits = questions._asked(evidence, {"x1"}, choose, np.random.default_rng(1))
    assert asked[-1] is None
    assert len(hits) == questions.N_QUESTIONS + 1
    assert set(hits) == {1}


def test_the_table_has_what_is_gained():
    hits = {f"hits_{n}": 3.0 + (n >= 5) for n in range(11)}
    rows = [{"data": "gauss", "kind": "few", "asked": way, **hits} for way in ("any", "questions") for _ in range(2)]
    found = questions_table(pd.DataFrame(rows))
    assert found["asked"].tolist() == ["questions", "any"]
    assert found[["n", "before", "after_1", "after_5", "after_10", "per_question"]].iloc[0].tolist() == [
        2,
        3,
        0,
        1,
        1,
        0.1,
    ]


def test_the_page_holds_the_table_of_the_stored_results():
    page = (RESULTS / "table.md").read_text(encoding="utf-8")
    frame = store.read_frames(RESULTS, [questions.NAME])[questions.NAME]
    assert fill(page, frame) == page
    assert len(questions_table(frame)) >= 4
