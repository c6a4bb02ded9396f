"""A script repeats the decision of its study with public functions alone, whatever the study consists of."""

import os

import numpy as np
import pandas as pd
import pytest
import yaml

from ubayfs.exceptions import InputError
from ubayfs.study import load_study, resolve_study
from ubayfs.study.script import script_of

N = 40
GENES = [f"a:{i}" for i in range(6)] + [f"b:{i}" for i in range(6)]
FAST = {"selector": "fisher", "n_models": 12, "n_features_per_model": 3, "seed": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables of 40 patients with 12 features, also as two files; spreadsheet, list of names and table of blocks."""
    folder = tmp_path_factory.mktemp("laboratory")
    rng = np.random.default_rng(3)
    ill = np.arange(N) % 2
    values = rng.normal(size=(N, 12)) + np.outer(ill, np.linspace(1.2, 0, 12))
    samples = pd.Index([f"P{i}" for i in range(N)], name="id")
    genes = pd.DataFrame(values, samples, GENES)
    clinic = pd.DataFrame({"ill": np.where(ill, "yes", "no")}, samples)
    clinic["days"] = rng.exponential(900 - 500 * ill).round() + 1
    clinic["event"] = 1 - (rng.random(N) < 0.3)
    clinic["dose"] = values[:, 3] + rng.normal(size=N)
    clinic["age"], clinic["patient"] = rng.integers(30, 80, N), np.arange(N) // 2
    clinic.to_csv(folder / "clinic.csv")
    genes.to_csv(folder / "all.csv")
    genes.iloc[:, :6].to_csv(folder / "first.csv")
    genes.iloc[:, 6:].to_csv(folder / "second.csv")
    genes.mask(rng.random(genes.shape) < 0.03).to_csv(folder / "gaps.csv")
    weights = {"a:5": "likely", "b:5": "3", "b:4": "unlikely"}
    rows = [f"{name},{weights.get(name, '')},{1 + (name == 'a:5')},read" for name in GENES]
    (folder / "known.csv").write_text("\n".join(["feature,weight,cost,why", *rows]), encoding="utf-8")
    (folder / "names.txt").write_text("b:1\nb:2\nb:3\nb:4\n", encoding="utf-8")
    rows = [f"{name},g{i % 4}" for i, name in enumerate(GENES)]
    (folder / "blocks.csv").write_text("\n".join(["feature,block", *rows]), encoding="utf-8")
    return folder


STANDARD = """
data: {path: all.csv, samples: clinic.csv, target: ill}
evidence: {selector: fisher, n_models: 12, n_features_per_model: 3, seed: 1}
constraints: [{max_size: 4}]
"""
STUDIES = yaml.safe_load("""
nothing: {}
weights in words and numbers: {prior: {weights: {features: {"b:0": 7, "b:1": very likely}}}}
a default weight: {prior: {weights: {default: 2, features: {"b:0": likely}}}}
one number for all: {prior: {weights: 3}}
patterns: {prior: {weights: {patterns: {"b:*": 4}}}, constraints: [{max_size: 4}, {exclude: ["a:[01]"]}]}
a table with costs: {prior: {table: known.csv}, constraints: [{max_size: 4}, {cost_budget: {budget: 5}}]}
costs of all: {constraints: [{max_size: 4}, {cost_budget: {costs: {"*": 2, "a:0": 3}, budget: 7}}]}
a list: {prior: {weights: {likely: names.txt}}}
a learned list: {prior: {weights: {likely: names.txt}, trust_in_lists: learned}}
learned patterns and blocks:
  prior: {weights: {patterns: {"b:*": 9}, blocks: {a: 8}}, trust_in_lists: learned}
  blocks: {prefix: ":"}
experts: &experts
  prior: &of_experts {experts: {Ann: {likely: ["a:4", "a:5"]}, Ben: {features: {"a:5": unlikely, "b:0": 2}}}}
lowest of experts: {prior: {<<: *of_experts, pool: lowest}}
experts who agree: {prior: {<<: *of_experts, weights: {features: {"b:3": very likely}}}}
experts with a default: {prior: {<<: *of_experts, weights: 2}}
experts with learned lists: {prior: {experts: {Ann: {likely: names.txt}, Ben: {}}, trust_in_lists: learned}}
listed blocks: {blocks: {low: ["a:*"], high: ["b:*"]}, constraints: [{max_size: 4}, {max_per_block: 2}]}
blocks by prefix: {blocks: {prefix: ":"}, constraints: [{max_size: 4}, {max_per_block: 2}]}
a table of blocks: {blocks: blocks.csv, constraints: [{max_size: 4}, {max_blocks: 2}]}
several files:
  data: {path: {one: first.csv, two: second.csv}, samples: clinic.csv, target: ill}
  constraints: [{max_size: 4}, {max_per_block: {n: 1, price: 0.1}}]
survival:
  data: {path: all.csv, samples: clinic.csv, target: {time: days, event: event}}
  evidence: {selector: cox, n_models: 8, n_features_per_model: 3}
numbers:
  data: {path: all.csv, samples: clinic.csv, target: dose}
  evidence: {selector: lasso, n_models: 8, n_features_per_model: 3}
no target:
  data: {path: all.csv, id: id}
  evidence: {selector: laplacian, n_models: 8, n_features_per_model: 3}
covariates and groups: {data: {path: all.csv, samples: clinic.csv, target: ill, adjust_for: [age], groups: patient}}
gaps: {data: {path: gaps.csv, samples: clinic.csv, target: ill, missing: available, ignore: ["a:0"]}}
settings of selectors:
  evidence:
    selector: [mrmr, {name: lasso, order: entry}]
    n_models: 8
    train_size: 0.6
    n_features_per_model: random
    seed: 4
a prior with sets: {prior: {kind: {name: hyperdirichlet, set_weights: [{set: ["a:0", "b:0"], weight: 9}]}}}
a prior with sets of blocks:
  prior: {kind: {name: hyperdirichlet, set_weights: [{set: low, weight: 9}]}}
  blocks: {low: ["a:0", "b:0"]}
the genetic optimizer: {decision: {optimizer: {name: genetic, n_generations: 20}, seed: 5}}
links:
  constraints:
    - {max_size: 4}
    - {must_link: {features: ["a:0", "b:0"], rho: 1}}
    - decorrelate
    - {require: ["b:2"]}
    - {linear: {A: {"a:1": 1, "a:2": -1}, b: 0.5, price: 0.3}}
    - linear:
        A: [[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]]
        b: [0, 3]
        rho: [2, hard]
  decision: {min_votes: 0, constraint_strength: 2}
""")


def resolved(folder, content):
    """Return a study, the standard one but for some sections, tied to its data."""
    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(STANDARD) | content), encoding="utf-8")
    return resolve_study(load_study(file))


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.filterwarnings("ignore::ubayfs.exceptions.UBayFSWarning")
def test_a_script_decides_as_its_study(folder, name, capsys, monkeypatch):
    study = resolved(folder, STUDIES[name])
    evidence = study.collect()
    selection = study.decide(evidence)
    text = script_of(study, selection.features)
    assert "yaml" not in text
    assert all(len(line) <= 100 for line in text.splitlines())
    names = {"__file__": os.fspath(folder / "repeat.py")}
    monkeypatch.chdir(folder.parent)  # its paths are relative to itself
    exec(compile(text, "repeat.py", "exec"), names)
    assert capsys.readouterr().out.split("\n")[:-1] == list(selection.features)
    assert names["evidence"].counts.tolist() == evidence.counts.tolist()
    assert names["selection"].value == pytest.approx(selection.value, rel=1e-12)
    assert names["selection"].weights.tolist() == pytest.approx(selection.weights.tolist())
    with pytest.raises(SystemExit, match="Another set"):
        exec(compile(script_of(study, ["b:5", "other"]), "repeat.py", "exec"), names)


def test_the_title_and_odd_names_cannot_break_a_script(folder):
    study = resolved(folder, {"title": 'A "study" \\ of\nlines """', "constraints": [{"max_size": 2}]})
    compile(script_of(study, ['a "name" \\n', "two\nlines", "\u00e9"]), "repeat.py", "exec")


def test_what_no_function_does_is_refused(folder):
    weights = {"likely": "names.txt"}
    prior = {"weights": weights, "trust_in_lists": "learned", "experts": {"Ann": weights}}
    with pytest.raises(InputError) as caught:
        script_of(resolved(folder, {"prior": prior}), [])
    assert caught.value.argument == "experts"
