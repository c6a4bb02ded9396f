"""data: sites in a study: one table, an ensemble at each site, and all of them pooled."""

import numpy as np
import pandas as pd
import pytest

from ubayfs import Evidence
from ubayfs.ensemble.pooling import concordant_votes
from ubayfs.results import read_result

STUDY = """
data: {path: all.csv, target: status, sites: hospital}
evidence: {selector: fisher, n_models: 20}
constraints: [{max_size: 3}]
trust: {n_splits: 3, level: quick, n_shuffles: 200}
"""


@pytest.fixture
def hospitals(folder):
    """Two hospitals with a shift of their own; g0 to g2 are related to the status, and g3 with another sign in each."""
    rng = np.random.default_rng(0)
    X, hospital = rng.normal(size=(120, 20)), np.repeat(["Oslo", "Graz"], 60)
    sign = np.where(hospital == "Oslo", 1, -1)
    sick = X[:, :3].sum(axis=1) + 1.5 * sign * X[:, 3] + 0.5 * rng.normal(size=120) > 0
    X += np.where(hospital == "Oslo", 2, 0)[:, None]
    frame = pd.DataFrame(X.round(4), columns=[f"g{i}" for i in range(20)])
    frame = frame.assign(hospital=hospital, status=np.where(sick, "sick", "healthy"))
    frame.to_csv(folder / "all.csv", index=False)
    (folder / "study.yaml").write_text(STUDY)
    return frame


def per_hundred(evidence):
    return 100 * evidence.counts / evidence.n_models


def test_votes_are_the_mean_of_all_together_and_of_the_sites_on_the_scale_of_logarithms(folder, run, hospitals):
    done = run("select", "study.yaml", "-o", "results")
    assert done.code == 0, done.err
    evidence = Evidence.load("results/evidence.npz")
    assert list(evidence.cohorts) == ["Graz", "Oslo"]
    graz, oslo = evidence.cohorts.values()
    assert (graz.site.n_samples, oslo.site.n_samples) == (60, 60)
    together = np.bincount(evidence.sets.indices, minlength=20) * 5.0
    signs = np.array([graz.site.directions, oslo.site.directions])
    weights = np.array([graz.site.n_effective, oslo.site.n_effective]) ** 0.25
    pooled = concordant_votes(
        np.array([per_hundred(graz), per_hundred(oslo)]), signs, np.ones((2, 20), dtype=bool), weights
    )
    expected = 3 * np.expm1((np.log1p(together / 3) + np.log1p(pooled / 3)) / 2)
    assert per_hundred(evidence) == pytest.approx(np.minimum(expected, 100))
    assert signs[0, 3] == -signs[1, 3] != 0
    result = read_result("results")
    assert set(result.selection.features) == {"g0", "g1", "g2"}
    assert [site.name for site in result.summary.cohorts.sites] == ["Graz", "Oslo"]
    assert result.summary.cohorts.together
    states = {fact.fact: fact.state for fact in result.summary.facts}
    assert (states["related"], states["reproducibility"]) == ("known", "known")
    assert "no patient's row" not in (folder / "results" / "report.md").read_text()
    assert all(half.votes is not None for pair in result.trust.halves.pairs for half in pair)
    assert run("decide", "results", "--max-size", "2").code == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.assign(hospital="Oslo"), "sites"),
        (lambda frame: frame[(frame["hospital"] == "Oslo") | (frame["status"] == "sick")], "Graz"),
        (lambda frame: frame.drop(columns="hospital"), "hospital"),
    ],
)
def test_sites_that_cannot_be_pooled_are_refused_before_any_work(folder, run, hospitals, change, message):
    change(hospitals).to_csv(folder / "all.csv", index=False)
    refused = run("select", "study.yaml", "-o", "results")
    assert refused.code == 2
    assert message in refused.err
    assert not (folder / "results" / "evidence.npz").exists()


def test_parts_of_an_ensemble_are_refused(folder, run, hospitals):
    refused = run("collect", "study.yaml", "--part", "1/2", "-o", "part")
    assert refused.code == 2
    assert "part" in refused.err
