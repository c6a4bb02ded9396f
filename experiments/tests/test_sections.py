"""Sections of the report on experiment 1: what is said of the claims, and how long lists are cut."""

import numpy as np
import pytest

import fake_run as fake
from ubayfs_experiments.claims.sentences import CHANGED, CLAIMS
from ubayfs_experiments.report.content import Content
from ubayfs_experiments.report.sections import simulation_section

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def content():
    def few(name):
        frame = fake.EXPERIMENTS[name](n_splits=3)
        return frame[frame["method"].isin(["mrmr", "fisher", "tree", "lasso", "hsic-5", "rfe-5"])]

    frames = {name: few(name) for name in ("1b", "1c")}
    # Stability falls by much in all cells, so that none agrees with "a little".
    rng = np.random.default_rng(0)
    shaken = (frames["1b"]["weighted"] == "other") & (frames["1b"]["weight"] == 1000.0)
    drawn = [tuple(sorted(rng.choice(256, 16, replace=False).tolist())) for _ in range(len(shaken))]
    same = tuple(range(16))
    sets = [one if loose else same for one, loose in zip(drawn, shaken, strict=True)]
    frames["1b"] = frames["1b"].assign(features=sets)
    empty = fake.EXPERIMENTS["1a"](n_splits=1)[:0]
    found = Content({}, [], {name: frames.get(name, empty) for name in fake.EXPERIMENTS}, ())
    found.__dict__["drawings"] = {}  # none is looked at here
    return found


def figures_in_table(section, text):
    (table,) = section.tables
    (row,) = [row for row in table.rows if row[0].text == text]
    return row[2].text


def test_long_lists_are_cut_on_the_page_and_whole_in_the_table(content):
    (claim,) = [one for one in CLAIMS if one.experiment == "1b" and "stability a little" in one.text]
    shown = figures_in_table(simulation_section(content, "1b"), claim.text)
    (kept,) = content.claims.query("claim == @claim.text and experiment == '1b'")["figures"]
    n = kept.split("Not so: ")[1].count("error ")
    assert n >= 5
    assert shown.split("Not so: ")[1].count("error ") == 3
    assert f"; and {n - 3} more (tables/claims.csv)." in shown
    assert "more (tables" not in kept


def test_what_changed_in_the_rules_is_stated_once(content):
    assert CHANGED in simulation_section(content, "1b").sentences
    assert CHANGED not in simulation_section(content, "1c").sentences
    assert CHANGED not in simulation_section(content, "1a").sentences  # which was not run
    for words in ("fixed before the full run", "two changes", "in the paper's favor", "holds in part", "attained"):
        assert words in CHANGED
    (table,) = simulation_section(content, "1c").tables
    assert "paper's configuration, which the verdict counts" in table.caption
