"""collect --for-pooling and pool: several sites are decided on together, and no row of data leaves its site."""

import json
import shutil
import zipfile

import numpy as np
import pandas as pd
import pytest

from ubayfs import Evidence, pool_evidence
from ubayfs.results import read_result
from ubayfs.study import load_study

SITES = {"graz": 40, "lund": 44, "oslo": 50}
STUDY = """
data: {{path: {0}.csv, target: status, groups: patient}}
evidence: {{selector: fisher, n_models: 20}}
constraints: [{{max_size: 3}}]
"""


def table(seed, n, classes=("healthy", "sick")):
    """Return a table in which g0 to g2 are related to the status; each patient has one sample."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 30))
    sick = X[:, :3].sum(axis=1) + rng.normal(size=n) > 0
    frame = pd.DataFrame(X.round(6), columns=[f"g{i}" for i in range(30)])
    return frame.assign(patient=[f"NAME-{seed}-{i}" for i in range(n)], status=np.array(classes)[sick.astype(int)])


@pytest.fixture
def sites(folder):
    """Write a study and a table for each site; g1 is missing in Lund."""
    for seed, (name, n) in enumerate(SITES.items()):
        frame = table(seed, n).drop(columns=["g1"] if name == "lund" else [])
        frame.to_csv(folder / f"{name}.csv", index=False)
        (folder / f"{name}.yaml").write_text(STUDY.format(name))
    return folder


@pytest.fixture
def sent(sites, run):
    for name in SITES:
        done = run("collect", f"{name}.yaml", "--for-pooling", "-o", f"sent/{name}")
        assert done.code == 0, done.err
        assert "No row of data is in it, but it is not anonymous" in done.out
    return sites / "sent"


def test_no_file_that_a_site_sends_holds_a_row_of_data(sent):
    """Neither a measured value nor the name of a patient, and no array has an entry for each sample."""
    for seed, (name, n) in enumerate(SITES.items()):
        frame = table(seed, n)
        texts = [path.read_bytes() for path in (sent / name).iterdir()]
        with zipfile.ZipFile(sent / name / "evidence.npz") as archive:
            texts += [archive.read(member) for member in archive.namelist()]
        content = b"\n".join(texts)
        assert b"NAME-" not in content
        values = frame[[f"g{i}" for i in range(30)]].to_numpy().ravel()
        assert not any(str(value).encode() in content for value in values)
        assert not any(value.tobytes() in content for value in values)
        with np.load(sent / name / "evidence.npz") as arrays:
            assert all(n not in arrays[key].shape for key in arrays.files if key != "metadata")
            assert all(arrays[key].dtype.kind in "iub" for key in arrays.files)


def test_pooled_sites_lead_to_a_result(sent, run):
    pooled = run("pool", "sent/graz", "sent/lund", "sent/oslo", "-o", "pooled")
    assert pooled.code == 0, pooled.err
    assert "3 sites, 134 samples in pooled; decide on it with: ubayfs decide pooled" in pooled.out
    evidence = Evidence.load("pooled/evidence.npz")
    again = pool_evidence({name: Evidence.load(f"sent/{name}/evidence.npz") for name in SITES})
    assert np.array_equal(evidence.counts, again.counts)
    decided = run("decide", "pooled", "-o", "results")
    assert decided.code == 0, decided.err
    result = read_result("results")
    assert set(result.selection.features) == {"g0", "g1", "g2"}
    facts = {fact.fact: fact.state for fact in result.summary.facts}
    assert facts == {"validation": "undefined", "related": "undefined", "reproducibility": "known"}
    assert list(result.study.cohorts.directories) == ["graz", "lund", "oslo"]
    assert run("decide", "results", "--max-size", "2").code == 0
    assert run("report", "results", "-o", "again.html").code == 0


def test_a_study_names_what_sites_sent(sent, run):
    for cohorts in ("[sent/graz, sent/lund, sent/oslo]", "{graz: sent/graz, lund: sent/lund, oslo: sent/oslo}"):
        (sent.parent / "all.yaml").write_text(f"cohorts: {cohorts}\nconstraints: [{{max_size: 3}}]\n")
        checked = run("check", "all.yaml")
        assert checked.code == 0, checked.err
        assert "graz: 40 samples, 30 features, 20 models" in checked.out
        assert run("select", "all.yaml", "-o", "results", "--force").code == 0
        result = read_result("results")
        assert set(result.selection.features) == {"g0", "g1", "g2"}
        stored = load_study("results/study.yaml")
        assert stored == result.study
        assert (sent.parent / "results" / stored.cohorts.directories["oslo"]).resolve() == sent / "oslo"
        refused = run("report", "results", "-o", "all.zip")
        assert refused.code == 2
        assert "each site keeps its data" in refused.err


@pytest.mark.parametrize("command", [("trust", "results"), ("decide", "results", "--trust", "full", "-o", "other")])
def test_what_needs_samples_is_refused(sent, run, command):
    run("pool", *(f"sent/{name}" for name in SITES), "-o", "pooled")
    run("decide", "pooled", "-o", "results")
    refused = run(*command)
    assert refused.code == 2
    assert "stayed at their sites" in refused.err


@pytest.mark.parametrize("command", ["validate", "collect"])
def test_what_needs_samples_is_refused_for_a_study(sent, run, command):
    (sent.parent / "all.yaml").write_text("cohorts: [sent/graz, sent/oslo]\n")
    refused = run(command, "all.yaml", "-o", "scores.csv")
    assert refused.code == 2
    assert "stayed at their sites" in refused.err


def test_a_site_that_was_changed_on_its_way_is_refused(sent, run):
    manifest = sent / "oslo" / "manifest.json"
    content = json.loads(manifest.read_text())
    content["files"]["evidence.npz"] = "0" * 64
    manifest.write_text(json.dumps(content))
    refused = run("pool", "sent/graz", "sent/oslo", "-o", "pooled")
    assert refused.code == 2
    assert "sent/oslo cannot be trusted: evidence.npz is not as written" in refused.err
    assert not (sent.parent / "pooled").exists()


def test_sites_that_do_not_go_together_are_refused_and_nothing_is_written(sent, run):
    folder = sent.parent
    table(9, 40, ("Healthy", "ill")).to_csv(folder / "bonn.csv", index=False)
    (folder / "bonn.yaml").write_text(STUDY.format("bonn"))
    assert run("collect", "bonn.yaml", "--for-pooling", "-o", "sent/bonn").code == 0
    shutil.copytree(sent / "oslo", sent / "twin")
    shutil.copytree(sent / "oslo", folder / "other" / "oslo")
    for sites, message in {
        ("sent/oslo",): "two or more sites",
        ("sent/oslo", "sent/bonn"): "must have the same target at all sites",
        ("sent/oslo", "sent/twin"): "a site counts once",
        ("sent/oslo", "other/oslo"): "several directories called 'oslo'",
        ("sent/oslo", "sent/nowhere", "nothing"): "sent/nowhere does not exist",
    }.items():
        refused = run("pool", *sites, "-o", "pooled")
        assert refused.code == 2
        assert message in refused.err
        assert not (folder / "pooled").exists()


def test_a_site_with_one_class_is_refused_before_any_work(sites, run):
    frame = table(0, 40)
    frame[frame["status"] == "sick"].to_csv(sites / "graz.csv", index=False)
    refused = run("collect", "graz.yaml", "--for-pooling", "-o", "sent/graz")
    assert refused.code == 2
    assert "graz.yaml" in refused.err
    assert not (sites / "sent").exists()


@pytest.mark.parametrize("options", [("--for-pooling", "--part", "1/2"), ("--min-votes-sent", "5")])
def test_options_that_do_not_go_together_are_refused(sites, run, options):
    refused = run("collect", "graz.yaml", *options, "-o", "sent/graz")
    assert refused.code == 2
    assert "--for-pooling" in refused.err


def test_fewer_features_are_sent_on_request(sites, run):
    counts = {}
    for least in ("1", "15"):
        assert run("collect", "graz.yaml", "--for-pooling", "--min-votes-sent", least, "-o", f"at{least}").code == 0
        counts[least] = Evidence.load(f"at{least}/evidence.npz").counts
    assert 0 < (counts["15"] > 0).sum() < (counts["1"] > 0).sum()
    assert counts["15"][counts["15"] > 0].min() >= 15


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ("cohorts: [a]\n", "cohorts"),
        ("cohorts: 3\n", "cohorts"),
        ("cohorts: [x/sent, y/sent]\n", "cohorts"),
        ("cohorts: {a: 1, b: 2}\n", "cohorts"),
        ("cohorts: [a, b]\ndata: {path: t.csv}\n", "data"),
        ("cohorts: [a, b]\nevidence: {n_models: 5}\n", "evidence"),
    ],
)
def test_wrong_cohorts_are_reported_with_their_key(folder, run, content, key):
    (folder / "all.yaml").write_text(content)
    refused = run("check", "all.yaml")
    assert refused.code == 2
    assert f"{key}: " in refused.err
