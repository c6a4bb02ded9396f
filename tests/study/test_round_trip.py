"""Python -> file -> the same study and the same result."""

import re
import warnings
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

import ubayfs
from amounts import examples
from ubayfs import (
    Evidence,
    Exact,
    GeneralizedDirichlet,
    Genetic,
    Hyperdirichlet,
    collect_evidence,
    cost_budget,
    decide,
    linear,
    max_size,
    must_link,
    require,
)
from ubayfs.constraints import KINDS
from ubayfs.exceptions import InputError, OptimizationWarning, StudyError
from ubayfs.selectors import RFE, Laplacian, Lasso, Tree
from ubayfs.study import (
    DataSection,
    DecisionSection,
    EvidenceSection,
    OutputSection,
    PriorSection,
    Study,
    TrustSection,
    load_study,
)
from ubayfs.study.diagnostics import Problems
from ubayfs.study.yaml_io import parse_document

NAMES = ["no", "null", "007", "a: b", "it's", 'x "y"', "基因 β", "1e5", "mean *", "[b]", " pad ", "# c"]
BLOCKS = {"yes": ["no", "null", "007"], "~": ["a: b", "[b]"], "7": ["# c", "1e5", "基因 β"]}

rhos = st.one_of(st.integers(0, 10**7).map(lambda i: i / 10**5), st.just(inf))
names = st.sampled_from(NAMES)
several = st.lists(names, min_size=2, max_size=4, unique=True)
positions = st.lists(st.integers(0, len(NAMES) - 1), min_size=2, max_size=4, unique=True)
numbers = st.integers(-(10**6), 10**6).map(lambda i: i / 10**5)
sizes = st.integers(0, 12)
ON = {
    "features": st.one_of(several, positions),
    "blocks": st.lists(st.sampled_from(list(BLOCKS)), min_size=2, unique=True),
}


def linked(build):
    return st.sampled_from(sorted(ON)).flatmap(lambda on: st.builds(partial(build, on=on), ON[on], rho=rhos))


def matrices(draw_rows):
    rows = st.lists(numbers, min_size=len(NAMES), max_size=len(NAMES))
    return st.integers(1, draw_rows).flatmap(
        lambda n: st.tuples(
            st.lists(rows, min_size=n, max_size=n),
            st.one_of(numbers, st.lists(numbers, min_size=n, max_size=n)),
            st.one_of(rhos, st.lists(rhos, min_size=n, max_size=n)),
        )
    )


CONSTRAINTS = {
    **{
        kind: st.builds(getattr(ubayfs, kind), sizes, rho=rhos)
        for kind in ("max_size", "min_size", "exact_size", "max_blocks")
    },
    **{
        kind: linked(getattr(ubayfs, kind))
        for kind in ("must_link", "cannot_link", "at_least_one", "require", "exclude")
    },
    "implies": st.permutations(NAMES).flatmap(
        lambda p: st.builds(ubayfs.implies, st.just(p[:2]), st.just(p[2:4]), rho=rhos)
    ),
    **{
        kind: st.builds(getattr(ubayfs, kind), sizes, rho=rhos, blocks=st.one_of(st.none(), st.just(["~", "7"])))
        for kind in ("max_per_block", "min_per_block")
    },
    "max_per_cluster": st.builds(ubayfs.max_per_cluster, sizes, st.floats(0.1, 0.9), rho=rhos),
    "cost_budget": st.builds(
        cost_budget,
        st.one_of(
            st.dictionaries(names, numbers, min_size=1), st.lists(numbers, min_size=len(NAMES), max_size=len(NAMES))
        ),
        numbers,
        rho=rhos,
    ),
    "decorrelate": st.builds(
        ubayfs.decorrelate, st.floats(0, 0.99), st.sampled_from(["spearman", "pearson", "kendall"])
    ),
    "linear": st.one_of(
        matrices(3).map(lambda m: linear(m[0], m[1], rho=m[2])),
        st.builds(linear, st.dictionaries(names, numbers, min_size=1), numbers, rho=rhos),
        st.builds(
            linear,
            st.dictionaries(st.sampled_from(list(BLOCKS)), numbers, min_size=1),
            numbers,
            rho=rhos,
            blocks=st.sampled_from([True, BLOCKS]),
        ),
    ),
}
constraints = st.sampled_from(sorted(CONSTRAINTS)).flatmap(CONSTRAINTS.get)
beliefs = st.one_of(st.floats(1e-6, 1e6), st.sampled_from(["likely", "very likely", "neutral", "unlikely"]))
weights = st.one_of(
    st.floats(1e-6, 1e6),
    st.lists(st.floats(1e-6, 1e6), min_size=len(NAMES), max_size=len(NAMES)).map(np.array),
    st.dictionaries(names, beliefs),
    st.builds(
        lambda default, features, blocks: {"default": default, "features": features, "blocks": blocks},
        st.floats(1e-6, 10),
        st.dictionaries(st.one_of(names, st.integers(0, 11)), beliefs),
        st.dictionaries(st.sampled_from(["yes", "~"]), beliefs),
    ),
)
selectors = st.one_of(
    st.sampled_from(["mrmr", "fisher", "laplacian"]),
    st.lists(
        st.sampled_from(
            [
                "mrmr",
                Lasso(curves=True, penalty_factor=2.5),
                Lasso(order="entry", min_penalty=0.01),
                Tree(max_depth=2),
                RFE(C=0.1),
                Laplacian(3),
            ]
        ),
        min_size=1,
        max_size=3,
    ),
)
priors = st.sampled_from(
    [
        "dirichlet",
        "generalized",
        "hyperdirichlet",
        GeneralizedDirichlet(beta=2),
        GeneralizedDirichlet(np.arange(1.0, 12)),
        Hyperdirichlet({("no", "null"): 3, "~": 2, frozenset({"007", 5}): 1}, n_chains=3),
    ]
)
studies = st.builds(
    Study,
    st.builds(
        DataSection,
        st.sampled_from(["d.csv", "sub/ä b.csv"]),
        target=st.one_of(st.none(), names, several),
        ignore=st.lists(names, max_size=3),
        missing=st.sampled_from(["error", "median"]),
    ),
    st.builds(
        EvidenceSection,
        selectors,
        st.integers(1, 500),
        st.floats(0.1, 0.9),
        st.one_of(st.none(), st.integers(1, 9)),
        st.one_of(st.none(), st.integers(0, 2**130)),
        st.sampled_from([None, -1, 2]),
    ),
    st.builds(PriorSection, priors, weights),
    st.one_of(st.none(), st.just(BLOCKS), st.just({"prefix": ": "}), st.just({"table": "k.xlsx", "sheet": "no"})),
    st.lists(constraints, max_size=5),
    st.builds(
        DecisionSection,
        st.floats(0.01, 100),
        st.sampled_from(["exact", "genetic", Exact(5.0), Genetic(n_sets=9)]),
        min_votes=st.integers(0, 3),
        n_alternatives=st.integers(0, 3),
        seed=st.integers(0, 9),
    ),
    st.builds(
        OutputSection, st.sampled_from(["results", "no"]), st.sampled_from([(), ("png", "pdf")]), st.booleans(), sizes
    ),
    st.builds(
        TrustSection, st.sampled_from([None, "none", "full"]), st.integers(200, 230), sizes=st.sets(st.integers(1, 9))
    ),
)


def loaded_again(study, folder):
    study = replace(study, folder=folder)
    study.save(folder / "study.yaml")
    return load_study(folder / "study.yaml")


def outcome(study):
    """Return the result, or the number of problems: weights of overlapping blocks, the same feature twice."""
    try:
        return study.decide(EVIDENCE, ROWS_OF_DATA).to_dict()
    except StudyError as error:
        return len(error.problems)


def test_every_builder_is_tried():
    assert set(CONSTRAINTS) == set(KINDS)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(studies)
def test_a_study_is_the_same_after_a_round_trip(tmp_path, study):
    again = loaded_again(study, tmp_path)
    assert again == study
    assert again.to_yaml() == study.to_yaml()
    assert again.to_dict() == study.to_dict()
    # What is written is what to_dict says, in plain types.
    assert parse_document(study.to_yaml(), Problems()) == study.to_dict()


ROWS_OF_DATA = np.random.default_rng(5).normal(size=(30, len(NAMES)))
EVIDENCE = Evidence.from_sets(
    np.random.default_rng(1).random((40, len(NAMES))) < np.linspace(0.8, 0, len(NAMES)), NAMES
)
soft = constraints.filter(lambda entry: inf not in np.atleast_1d(dict(entry.arguments).get("rho", 1.0)))


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(weights, st.lists(soft, max_size=4), st.sampled_from(["dirichlet", GeneralizedDirichlet(beta=2)]))
def test_a_result_is_the_same_after_a_round_trip(tmp_path, weights, constraints, prior):
    study = Study(
        DataSection("d.csv"),
        prior=PriorSection(prior, weights),
        constraints=[max_size(4), *constraints],
        blocks=BLOCKS,
        decision=DecisionSection(n_alternatives=1),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizationWarning)
        first = outcome(study)
        second = outcome(loaded_again(study, tmp_path))
    assert first == second
    if isinstance(first, dict):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimizationWarning)
            direct = decide(EVIDENCE, X=ROWS_OF_DATA, **study.arguments(NAMES, EVIDENCE.n_models))
        assert _unstated(first) == _unstated(direct.to_dict())


def _unstated(result):
    """Return a result without what was stated of single features, which one number for each does not tell."""
    provenance = {name: value for name, value in result["provenance"].items() if name != "knowledge"}
    return {**result, "provenance": provenance}


def test_a_decision_is_that_of_the_workflow():
    given = [max_size(3), must_link(["no", "007"], rho=2.0), require([4], rho=0.5)]
    study = Study(
        DataSection("d.csv"),
        prior=PriorSection(weights={"no": 5, "~": 2}),
        blocks=BLOCKS,
        constraints=given,
        decision=DecisionSection(constraint_strength=0.7, optimizer=Genetic(n_sets=20), n_alternatives=2, seed=4),
    )
    direct = decide(
        EVIDENCE,
        weights={"no": 5, "~": 2},
        constraints=given,
        blocks=BLOCKS,
        constraint_strength=0.7,
        n_alternatives=2,
        optimizer=Genetic(n_sets=20),
        random_state=4,
    )
    assert study.decide(EVIDENCE).to_dict() == direct.to_dict()


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.normal(size=(40, 6)), columns=[f"size_{i}" for i in range(3)] + ["shape_0", "shape_1", "x*"]
    )
    frame["class"] = np.where(frame["size_0"] + frame["shape_1"] > 0, "ill", "well")
    frame.insert(0, "id", range(40))
    frame.to_csv(tmp_path / "data.csv", index=False)
    return frame


def test_the_way_from_file_to_result(tmp_path, table):
    text = """
data: {path: data.csv, target: class, ignore: [id]}
evidence: {selector: [fisher, {name: tree, max_depth: 3}], n_models: 20, n_features_per_model: 2, seed: 3}
prior: {weights: {patterns: {"x*": unlikely}}}
blocks: {prefix: _}
constraints: [{max_size: {n: 2, rho: hard}}, {max_per_block: 1}]
"""
    (tmp_path / "study.yaml").write_text(text)
    study = load_study(tmp_path / "study.yaml")
    data = study.read_data()
    assert data.feature_names.tolist() == [name for name in table.columns if name not in ("id", "class")]
    calls = []
    evidence = study.collect(
        data, on_progress=lambda done, total: calls.append((done, total)), checkpoint=tmp_path / "runs"
    )
    assert calls[-1] == (20, 20)
    direct = collect_evidence(
        table.drop(columns=["id", "class"]),
        table["class"],
        selector=["fisher", Tree(max_depth=3)],
        n_models=20,
        n_features_per_model=2,
        random_state=3,
    )
    assert_array_equal(evidence.sets.toarray(), direct.sets.toarray())
    selection = study.decide(evidence, data)
    (tmp_path / "results").mkdir()
    study.save(tmp_path / "results" / "study.yaml")
    moved = load_study(tmp_path / "results" / "study.yaml")
    assert moved.data.path == "../data.csv"
    assert moved.outputs.directory == "."
    again = moved.decide(moved.collect(moved.read_data()), moved.read_data())
    assert again.to_dict() == selection.to_dict()


@pytest.mark.parametrize(
    ("data", "problems"),
    [
        ("path: dat.csv", ["study.yaml, line 2, data.path: .*dat.csv does not exist. Did you mean 'data.csv'"]),
        (
            "path: data.csv\n  target: clas\n  groups: idd\n  ignore: ['y*']",
            [
                "study.yaml, line 3, data.target: .*there is no column 'clas' to be the target.* Did you mean 'class'",
                "study.yaml, line 4, data.groups: .*there is no column 'idd' to be the groups",
                r"study.yaml, line 5, data.ignore: .*ignore 'y\*' matches no column",
            ],
        ),
    ],
)
def test_problems_of_the_data_name_the_line_of_the_study(tmp_path, table, data, problems):
    (tmp_path / "study.yaml").write_text(f"data:\n  {data}\n")
    with pytest.raises(StudyError) as caught:
        load_study(tmp_path / "study.yaml").read_data()
    assert len(caught.value.problems) == len(problems)
    for found, expected in zip(caught.value.problems, problems, strict=True):
        assert re.match(expected, str(found)), found


def test_paths_follow_the_file(tmp_path):
    study = Study(
        DataSection("d.csv"), prior=PriorSection(table="sub/k.csv"), blocks={"table": "k.xlsx"}, folder=tmp_path / "a"
    )
    (tmp_path / "b").mkdir()
    study.save(tmp_path / "b" / "study.yaml")
    moved = load_study(tmp_path / "b" / "study.yaml")
    assert (moved.data.path, moved.prior.table, moved.blocks.table) == ("../a/d.csv", "../a/sub/k.csv", "../a/k.xlsx")
    absolute = Study(DataSection(str(tmp_path / "d.csv")))
    absolute.save(tmp_path / "b" / "study.yaml")
    assert load_study(tmp_path / "b" / "study.yaml").data.path == str(tmp_path / "d.csv")


def test_the_file_is_readable():
    study = Study(
        DataSection("cells.csv", target="diagnosis"),
        prior=PriorSection(weights={"radius": 5.0, "no": "likely"}),
        blocks={"size": ["radius", "area"]},
        constraints=[
            max_size(5),
            must_link(["radius", "area"]),
            cost_budget({"mri": 400.0}, 1000.5),
            linear([[1, 0.5]], 1),
        ],
        versions={"ubayfs": "0.3.0"},
    )
    assert (
        study.to_yaml()
        == """\
# A study of ubayfs. Paths are relative to this file.

data:
  path: cells.csv
  target: diagnosis

evidence:
  selector: wide
  n_models: 100
  seed: 0

prior:
  weights:
    features: {radius: 5, 'no': likely}

blocks:
  size: [radius, area]

constraints:
  - max_size: 5
  - must_link: [radius, area]
  - cost_budget:
      costs: {mri: 400}
      budget: 1000.5
  - linear: {A: [[1, 0.5]], b: 1}

decision:
  constraint_strength: 1
  optimizer: exact
  seed: 0

versions:
  ubayfs: 0.3.0
"""
    )


@pytest.mark.parametrize(
    ("study", "message"),
    [
        (
            Study(DataSection("d.csv"), EvidenceSection(lambda X, y, n, rng: [0])),
            "^evidence.selector is <function .* cannot be written",
        ),
        (
            Study(DataSection("d.csv"), constraints=[linear(sparse.csr_array((2, 600_000)), 1)]),
            "too many for a study file",
        ),
    ],
)
def test_what_a_file_cannot_hold_is_refused(tmp_path, study, message):
    with pytest.raises(StudyError, match=message):
        study.to_yaml()
    (tmp_path / "study.yaml").write_text("before")
    with pytest.raises(StudyError, match=message):
        study.save(tmp_path / "study.yaml")
    assert (tmp_path / "study.yaml").read_text() == "before"


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match=r"must lie in a directory that exists; '.*nowhere' does not"):
        Study(DataSection("d.csv")).save(tmp_path / "nowhere" / "study.yaml")
    (tmp_path / "study.yaml").mkdir()
    with pytest.raises(StudyError, match=r"study\.yaml could not be written"):
        Study(DataSection("d.csv")).save(tmp_path / "study.yaml")
    for path in (5, b"study.yaml", "a\0b.yaml"):
        with pytest.raises(InputError, match="path"):
            Study(DataSection("d.csv")).save(path)
        with pytest.raises(InputError, match="path"):
            load_study(path)


def test_a_callable_selector_runs_from_python(table):
    study = Study(DataSection("d.csv"), EvidenceSection(selector=[lambda X, y, n, rng: [0], "fisher"], n_models=4))
    evidence = study.collect(
        ubayfs.data.feature_data.FeatureData.from_table(table.drop(columns=["id", "class"]), table["class"])
    )
    assert evidence.counts[0] >= 2
