"""Study files: every problem at once, each with line, key, rule, value and the nearest name."""

import inspect
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ubayfs
from ubayfs import Genetic, cannot_link, cost_budget, decorrelate, linear, max_size, must_link, require
from ubayfs.constraints import KINDS, Constraint
from ubayfs.decision.workflow import collect_evidence, decide
from ubayfs.exceptions import InputError, StudyError
from ubayfs.selectors import DEFAULT_SELECTOR, Lasso, Tree
from ubayfs.study import (
    DataSection,
    DecisionSection,
    EvidenceSection,
    Expert,
    Named,
    OutputSection,
    PrefixBlocks,
    PriorSection,
    Study,
    TableBlocks,
    Weights,
    load_study,
)
from ubayfs.study.former_versions import default_advice, version_advice
from ubayfs.study.schema import GeneSetBlocks

MINIMAL = "data: {path: data.csv}\n"


@pytest.fixture
def load(tmp_path):
    def read(text):
        file = tmp_path / "study.yaml"
        file.write_text(text, encoding="utf-8")
        return load_study(file)

    return read


def problems_of(load, text):
    with pytest.raises(StudyError) as caught:
        load(text)
    return [str(problem) for problem in caught.value.problems]


def test_a_path_is_enough(load, tmp_path):
    study = load(MINIMAL)
    assert study == Study(DataSection("data.csv"))
    assert study.folder == tmp_path


def test_defaults_are_those_of_the_workflow():
    deliberate = {"n_alternatives", "seed"}  # a person wants alternatives, and the same result twice
    for section, function in ((EvidenceSection(), collect_evidence), (DecisionSection(), decide)):
        parameters = inspect.signature(function).parameters
        for name in vars(section).keys() - deliberate:
            assert getattr(section, name) == parameters[name].default, name
    assert PriorSection().kind == inspect.signature(decide).parameters["prior"].default
    assert PriorSection().weights == Weights(inspect.signature(decide).parameters["weights"].default)


def test_every_sentence(load):
    study = load("""
data: {path: d.xlsx, sheet: first, target: 2, task: binary, groups: patient, ignore: [id, "x*"], missing: median}
evidence:
  selector: [mrmr, {name: lasso, order: entry, min_penalty: 1e-3}, {name: tree}]
  n_models: 50
  train_size: 0.5
  n_features_per_model: 7
  seed: 12345678901234567890
  n_jobs: -1
prior:
  kind: {name: hyperdirichlet, n_chains: 3, set_weights: [{set: [a, b], weight: 2}, {set: size, weight: 1}]}
  weights: {default: 0.1, features: {a: 5, no: likely}, patterns: {"r*": Very_Likely}, blocks: {size: unlikely}}
  table: knowledge.csv
blocks: {size: [a, "b*"], 7: c}
constraints:
  - max_size: 10
  - must_link: {features: [a, b], rho: hard}
  - must_link: ["a*"]
  - decorrelate
  - require: age
  - max_per_block: {n: 2, blocks: [size], rho: .inf}
  - linear: {A: [[1, 2], [0, -1]], b: [1, 2], rho: [inf, 0.5]}
decision: {constraint_strength: 2, optimizer: {name: genetic, n_sets: 20}, min_votes: 1, n_alternatives: 0, seed: null}
outputs: {directory: out, figures: [svg, pdf], reduced_table: true, n_draws: 0}
versions: {ubayfs: 0.1.0}
""")
    assert study.data == DataSection("d.xlsx", "first", "2", "binary", "patient", ("id", "x*"), "median")
    selector = ("mrmr", Named("lasso", (("order", "entry"), ("min_penalty", 0.001))), "tree")
    assert study.evidence == EvidenceSection(selector, 50, 0.5, 7, 12345678901234567890, -1)
    kind = Named("hyperdirichlet", (("set_weights", ((("a", "b"), 2), ("size", 1))), ("n_chains", 3)))
    weights = Weights(0.1, (("a", 5.0), ("no", "likely")), (("r*", "very likely"),), (("size", "unlikely"),))
    assert study.prior == PriorSection(kind, weights, "knowledge.csv")
    assert study.blocks.members == {"size": ("a", "b*"), "7": ("c",)}
    assert study.constraints[:2] == (max_size(10, rho=1.0), must_link(["a", "b"]))
    assert study.constraints[2] == Constraint("must_link", (("features", ("a*",)), ("rho", 1.0), ("on", "features")))
    assert study.constraints[3:5] == (decorrelate(), require("age"))
    assert study.constraints[6] == linear([[1, 2], [0, -1]], [1, 2], rho=[math.inf, 0.5])
    assert study.decision == DecisionSection(2, Named("genetic", (("n_sets", 20),)), None, 1, 0, None)
    assert study.outputs == OutputSection("out", ("svg", "pdf"), True, 0)
    assert study.versions == {"ubayfs": "0.1.0"}
    assert study.selector == ["mrmr", Lasso(order="entry", min_penalty=0.001), "tree"]


def test_keys_without_a_value_take_their_defaults(load):
    study = load("data:\n  path: d.csv\n  target:\nevidence:\n  n_models:\nprior:\nblocks:\nconstraints:\n")
    assert study == Study(DataSection("d.csv"))


def test_files_may_be_given_as_path_objects(tmp_path):
    experts = {"A": Expert(table=Path("a.csv"))}
    parts = {"prior": PriorSection(experts=experts), "blocks": TableBlocks(Path("b.csv"))}
    study = Study(DataSection(Path("d.csv")), **parts, folder=tmp_path / "x")
    assert study.inputs == ("d.csv", "a.csv", "b.csv")
    assert study.moved_to(tmp_path / "y").inputs == ("../x/d.csv", "../x/a.csv", "../x/b.csv")


def test_blocks_by_rule(load):
    assert load(MINIMAL + "blocks: {prefix: _}").blocks == PrefixBlocks("_")
    assert load(MINIMAL + "blocks: {table: k.csv, sheet: s}").blocks == TableBlocks("k.csv", "s")
    assert load(MINIMAL + "blocks: k.csv").blocks == TableBlocks("k.csv")
    assert load(MINIMAL + "blocks: hallmark.gmt").blocks == GeneSetBlocks("hallmark.gmt")
    assert load(MINIMAL + "blocks: {prefix: [a], table: [b]}").blocks.members == {"prefix": ("a",), "table": ("b",)}
    problems = problems_of(load, MINIMAL + "blocks: {prefix: _, size: [a]}")
    assert problems == [
        "study.yaml, line 2, blocks.size: cannot be given together with 'prefix', which makes all blocks; list all "
        "blocks, or none.",
    ]
    assert "must not be empty" in problems_of(load, MINIMAL + "blocks: {prefix: ''}")[0]
    assert "name of a sheet" in problems_of(load, MINIMAL + "blocks: {table: k.csv, sheet: [1]}")[0]


# What follows the name of the file in the message.
WHOLE_FILES = [
    ("", ": is empty; a study needs at least 'data: {path: data.csv}'."),
    ("# only a comment", ": is empty;"),
    ("- data", ": must hold keys such as data, evidence, constraints; got a list."),
    ("just text", ": must hold keys such as data, evidence, constraints; got a str."),
    ("evidence: {n_models: 5}", ", data.path: must be given; it is the data table"),
    ("data: {target: y}", ", line 1, data.path: must be given; it is the data table"),
    ("data: {path: [[a]]}", ", line 1, data.path: must be a text; got ['a']."),
    ("data: {path: {}}", ", line 1, data.path: must name at least one file."),
    ("data: {path: [x/a.csv, y/a.csv]}", ", line 1, data.path: must map block names to files of the same name"),
    (
        "data: {path: d.csv, taget: y}",
        ", line 1, data.taget: is not a key of data; got 'taget'. Did you mean 'target'?",
    ),
    ("data: {path: d.csv, target: true}", ", line 1, data.target: must be a text; got True."),
    ("data: {path: d.csv, target: []}", ", line 1, data.target: must name a column; got []. Leave it out"),
    ("data: {path: d.csv, task: clasification}", ", line 1, data.task: must be one of 'binary', "),
    ("data: {path: d.csv, ignore: {a: b}}", ", line 1, data.ignore: must be a list of texts; got {'a': 'b'}."),
]

# Below the line of MINIMAL; the message continues 'study.yaml, line'.
OTHER_SECTIONS = [
    ("selector: mrmr", "2, selector: is not a key of a study; got 'selector'."),
    ("evidense: {}", "2, evidense: is not a key of a study; got 'evidense'. Did you mean 'evidence'?"),
    ("evidence: 5", "2, evidence: must hold keys such as selector, n_models, train_size; got 5."),
    ("evidence: {selector: mrmrr}", "2, evidence.selector: must be one of 'cox', 'fisher', "),
    ("evidence: {selector: []}", "2, evidence.selector: is an empty list"),
    ("evidence: {selector: {min_penalty: 1}}", "2, evidence.selector: needs the key 'name'"),
    ("evidence: {selector: {name: mrmr, x: 1}}", "2, evidence.selector.x: is not a setting of mrmr; got 'x'. Known:"),
    ("evidence: {n_models: 0}", "2, evidence.n_models: must be a whole number >= 1; got 0."),
    ("evidence: {n_models: 1e2}", "2, evidence.n_models: must be a whole number >= 1; got 100.0."),
    ("evidence: {train_size: 75%}", "2, evidence.train_size: must be a number in (0, 1); got '75%'."),
    ("evidence: {seed: -1}", "2, evidence.seed: must be a whole number >= 0; got -1."),
    ("prior: {kind: dirichlett}", "2, prior.kind: must be one of 'dirichlet',"),
    ("prior: {kind: 5}", "2, prior.kind: must be one of 'dirichlet',"),
    ("prior: {weights: {radius: 5}}", "2, prior.weights.radius: is not a key of weights (names belong below"),
    (
        "prior: {weights: {feature: {}}}",
        "2, prior.weights.feature: is not a key of weights (names belong below 'features'); got 'feature'. "
        "Did you mean 'features'?",
    ),
    ("prior: {weights: -1}", "2, prior.weights: must be positive and finite; got -1.0."),
    (f"prior: {{weights: 1{'0' * 400}}}", "2, prior.weights: must be positive and finite; got inf."),
    ("prior: {weights: .nan}", "2, prior.weights: must be positive and finite; got nan."),
    ("prior: {weights: 1.0e+13}", "2, prior.weights: must be at most 1e+12; got 10000000000000.0. Weights count"),
    ("prior: {weights: much}", "2, prior.weights: must be a number, one number per feature, or hold keys"),
    ("prior: {weights: [1, -1]}", "2, prior.weights[1]: must be positive and finite; got -1.0."),
    ("prior: {weights: [1, x]}", "2, prior.weights[1]: must be a number; got 'x'."),
    ("prior: {weights: {default: -1}}", "2, prior.weights.default: must be positive and finite; got -1.0."),
    ("prior: {weights: {blocks: {a: 0}}}", "2, prior.weights.blocks.a: must be positive and finite; got 0.0."),
    ("prior: {weights: {features: [a]}}", "2, prior.weights.features: must map names to weights,"),
    ("prior: {weights: {features: {a: lik}}}", "2, prior.weights.features.a: must be one of 'likely',"),
    ("prior: {weights: {default: likely}}", "2, prior.weights.default: must be a number"),
    ("prior: {sheet: s}", "2, prior.sheet: names a sheet of prior.table, which is not given."),
    ("prior: {table: t.csv, weights: [1, 2]}", "2, prior.table: cannot be combined with prior.weights"),
    (
        "prior: {kind: {name: hyperdirichlet, set_weights: [{set: a}]}}",
        "2, prior.kind.set_weights[0]: must hold the keys 'set' and 'weight'",
    ),
    ("prior: {kind: {name: hyperdirichlet, set_weights: 5}}", "2, prior.kind.set_weights: must map"),
    ("blocks: [a, b]", "2, blocks: must be a mapping of names to features"),
    ("blocks: {b: []}", "2, blocks.b: must not be empty."),
    ("blocks:\n  b: [a, null]", "3, blocks.b[1]: must be names or positions; got None."),
    ("constraints: {max_size: 5}", "2, constraints: must be a list with one constraint per entry,"),
    ("constraints: max_size", "2, constraints: must be a list"),
    ("constraints: [5]", "2, constraints[0]: must hold one constraint by the name of its builder;"),
    ("constraints:\n  - max_size: 10\n    rho: 1", "3, constraints[0]: must hold one constraint by"),
    (
        "constraints: [{mustlink: [a, b]}]",
        "2, constraints[0].mustlink: must be the name of a constraint; got 'mustlink'. Did you mean 'must_link'?",
    ),
    ("constraints: [max_size]", "2, constraints[0].max_size: needs 'n'."),
    ("constraints: [{linear: {A: [1]}}]", "2, constraints[0].linear: needs 'b'."),
    ("constraints: [{linear: {b: 1}}]", "2, constraints[0].linear: needs 'A'."),
    (
        "constraints: [{max_size: {n: 3, rh: 1}}]",
        "2, constraints[0].max_size.rh: is not an argument of max_size; got 'rh'. Did you mean 'rho'?",
    ),
    ("constraints: [{must_link: [a]}]", "2, constraints[0].must_link: must name at least 2 features; got ['a']."),
    (
        "constraints: [{must_link: [a, true]}]",
        "2, constraints[0].must_link.features[1]: must be names or positions; got True.",
    ),
    ("decision: {time_limit: 5, optimizer: genetic}", "2, decision.time_limit: is not supported by Genetic"),
    ("outputs: {figures: jpg}", "2, outputs.figures: must be one of 'pdf', 'png', 'svg'; got 'jpg'."),
    ("versions: 3", "2, versions: must map packages to versions; got 3."),
]


@pytest.mark.parametrize(("text", "problem"), WHOLE_FILES)
def test_a_problem_of_the_whole_or_of_the_data(load, text, problem):
    problems = problems_of(load, text)
    assert len(problems) == 1, problems
    assert problems[0].startswith("study.yaml" + problem)


@pytest.mark.parametrize(("text", "problem"), OTHER_SECTIONS)
def test_a_problem_of_another_section(load, text, problem):
    problems = problems_of(load, MINIMAL + text)
    assert len(problems) == 1, problems
    assert problems[0].startswith("study.yaml, line " + problem)


def test_all_problems_come_at_once_in_the_order_of_the_file(load):
    text = """\
data: {path: d.csv, missing: mean}
evidence:
  n_models: 0
  selector: {name: genetic}
  n_models: 5
prior:
  weights: x
constraints:
  - must_link: {features: [a], rho: -1, on: bloks}
  - cost_budget: {costs: {a: x}, budget: y, rho: z}
  - implies: {if_features: [], then_features: [], rho: -1}
nonsense: 1
"""
    with pytest.raises(StudyError, match=r"^study.yaml has 15 problems:\n- study.yaml, line 1, data.missing") as caught:
        load(text)
    problems = caught.value.problems
    assert [problem.line for problem in problems] == [1, 3, 4, 5, 7, 9, 9, 9, 10, 10, 10, 11, 11, 11, 12]
    listed = str(caught.value)
    for place in (
        "data.missing: must be one of",
        "evidence.n_models: must be a whole number",
        "evidence.selector.name: must be one of",
        "evidence.n_models: occurs twice, first on line 3",
        "prior.weights: must be a number",
        "constraints[0].must_link.on: must be one of",
        "constraints[0].must_link.features: must name at least 2 features",
        "constraints[0].must_link.rho: must be a number in [0, inf]; got -1.",
        "constraints[1].cost_budget.costs.a: must be a number",
        "constraints[1].cost_budget.budget: must be a number",
        "constraints[1].cost_budget.rho: must be a number",
        "constraints[2].implies.if_features: must not be empty",
        "constraints[2].implies.then_features: must not be empty",
        "constraints[2].implies.rho: must be a number",
        "nonsense: is not a key of a study",
    ):
        assert place in listed, place


def test_a_refused_value_is_reported_once(load):
    text = """\
data: {path: !!python/name:os.system x, ignore: [!!binary aGk=]}
blocks: {a: [!!set {x}]}
constraints: [!!omap [a: 1], {must_link: !!python/tuple [a, b]}]
"""
    problems = problems_of(load, text)
    assert len(problems) == 5
    assert all("has the tag '!!" in problem for problem in problems)


def test_a_long_list_is_cut_in_the_message_but_complete_in_the_error(load):
    text = MINIMAL + "constraints:\n" + "  - max_size: x\n" * 80
    with pytest.raises(StudyError, match=r"and 30 more\n") as caught:
        load(text)
    assert len(caught.value.problems) == 80


def test_a_message_of_many_long_problems_is_short(load):
    with pytest.raises(StudyError, match=r"- and \d+ more\n") as caught:
        load(MINIMAL + "constraints:\n" + "  - can: [a, b]\n" * 40)
    assert len(caught.value.problems) == 40
    assert len(str(caught.value)) < 6000


def test_python_values_are_checked_by_the_same_rules():
    with pytest.raises(InputError, match=r"^evidence.n_models: must be a whole number >= 1; got 0\.$"):
        EvidenceSection(n_models=0)
    with pytest.raises(InputError, match=r"^data.path: must be a text; got None\."):
        DataSection(None)
    with pytest.raises(InputError, match=r"^prior.weights.features.a: must be one of .*; got 'lik'"):
        PriorSection(weights={"a": "lik"})
    with pytest.raises(InputError, match=r"^constraints\[1\]: must hold one constraint"):
        Study(DataSection("d.csv"), constraints=[max_size(3), 5])
    with pytest.raises(InputError, match=r"^data must be a DataSection; got 'd.csv'\.$"):
        Study("d.csv")


def test_python_values_take_their_plainest_form(tmp_path):
    evidence = EvidenceSection(selector=[Lasso(), Tree(max_depth=3)], n_models=np.int64(5))
    assert evidence.selector == ("lasso", Named("tree", (("max_depth", 3),)))
    assert type(evidence.n_models) is int
    assert EvidenceSection(selector=["mrmr"]).selector == "mrmr"
    assert DecisionSection(optimizer=Genetic(n_sets=7)).optimizer == Named("genetic", (("n_sets", 7),))
    assert DataSection(tmp_path / "d.csv").path == str(tmp_path / "d.csv")
    assert Study(DataSection("d.csv"), constraints=max_size(3)).constraints == (max_size(3),)
    assert Study(DataSection("d.csv"), constraints=[{"cost_budget": {"costs": {"a": 1}, "budget": 2}}]).constraints == (
        cost_budget({"a": 1}, 2),
    )


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_builder_has_a_name_in_the_file(load, kind):
    (problem,) = problems_of(load, MINIMAL + f"constraints: [{{{kind}: {{nonsense: 1}}}}]")[:1]
    assert problem.startswith("study.yaml, line 2, constraints[0]." + kind)
    assert "must be the name of a constraint" not in problem


def test_a_study_of_another_version_is_noted(load):
    assert version_advice(load(MINIMAL)) == ()
    assert version_advice(load(MINIMAL + f"versions: {{ubayfs: {ubayfs.__version__}}}")) == ()
    (advice,) = version_advice(load(MINIMAL + "versions: {ubayfs: 9.1.0}"))
    assert (advice.code, advice.facts["written"]) == ("other_version", "9.1.0")


@pytest.mark.parametrize("version", ["abc", "3", "unknown", "[0, 2]"])
def test_what_is_not_a_version_is_refused_at_its_line(load, version):
    (problem,) = problems_of(load, MINIMAL + f"versions:\n  ubayfs: {version}\n")
    assert problem.startswith("study.yaml, line 3, versions.ubayfs: must be a version of ubayfs such as ")
    assert problem.endswith(f"; got {version!r}. It may be left out.")


def test_a_changed_meaning_is_named_where_a_study_rests_on_it(load):
    written = "decision: {min_votes: 1}\nversions: {ubayfs: 0.1.0}\n"
    settled = load(MINIMAL + "evidence: {selector: wide, n_features_per_model: random}\n" + written)
    (advice,) = version_advice(settled)
    assert advice.code == "other_version"
    (advice,) = version_advice(settled, unlikely=["a"])
    assert advice.code == "changed_default"
    assert (advice.facts["key"], advice.facts["former"]) == ("the weight 'unlikely'", "a constraint exclude of rho 1")


def test_features_per_model_are_those_of_the_version(load):
    """Before 0.2 a run chose 10 features, or all of fewer."""
    study = load(MINIMAL + "versions: {ubayfs: 0.1.3}\n")
    assert [study.features_per_model(n_features) for n_features in (3, 10, 30, 1000)] == [3, 10, 10, 10]
    (advice,) = (given for given in version_advice(study) if "per_model" in given.facts["key"])
    assert advice.code == "former_default"
    assert (advice.facts["former"], advice.facts["present"]) == (
        "10, or all features if there are fewer",
        EvidenceSection.default_text("n_features_per_model"),
    )
    stated = load(MINIMAL + "evidence: {n_features_per_model: 10}\nversions: {ubayfs: 0.1.3}\n")
    with pytest.raises(InputError, match="must be at most the number of features, 3; got 10"):
        stated.features_per_model(3)
    later = load(MINIMAL + "versions: {ubayfs: 0.2.0}\n")
    assert [later.features_per_model(n_features) for n_features in (3, 30, 1000)] == [1, 7, 10]


SOFT = """\
constraints:
  - max_size: 5
  - must_link: {features: [a, b]}
  - cannot_link: {features: [a, c], price: 0.1}
  - require: a
"""
PER_MODEL = "evidence.n_features_per_model"
LASSO = "evidence: {selector: [fisher, {name: lasso, min_penalty: 0.01}, lasso]}\n"
HARD = "constraints: [{max_size: {n: 5, rho: hard}}]\ndecision: {min_votes: 2}\nevidence: {selector: fisher}\n"


def test_a_study_of_an_earlier_version_is_read_with_its_defaults(load):
    study = load(MINIMAL + SOFT + "versions: {ubayfs: 0.2.1}\n")
    softened = (max_size(5, rho=1), must_link(["a", "b"], rho=1), cannot_link(["a", "c"], price=0.1), require("a"))
    assert study.constraints == softened
    assert study.decision == DecisionSection(min_votes=0)
    assert study.evidence == EvidenceSection("mrmr")
    assert [(advice.code, advice.facts) for advice in version_advice(study)] == [
        ("former_default", {"key": key, "former": former, "present": present, "since": "0.3", "written": "0.2.1"})
        for key, former, present in [
            ("constraints.rho", 1, "hard"),
            ("decision.min_votes", 0, 1),
            ("evidence.selector", "mrmr", "wide"),
        ]
    ]
    assert default_advice(study) == ()


def test_a_lasso_of_an_earlier_version_is_the_path_wherever_it_stands(load):
    study = load(MINIMAL + LASSO + "versions: {ubayfs: 0.2.1}\n")
    assert study.selector == ["fisher", Lasso(order="entry", min_penalty=0.01), Lasso(order="entry")]
    assert [advice.facts["key"] for advice in version_advice(study)][-1] == "evidence.selector.order"
    chosen = load(MINIMAL + "evidence: {selector: {name: lasso, order: weight}}\nversions: {ubayfs: 0.2.1}\n")
    assert chosen.selector == "lasso"
    assert "evidence.selector.order" not in [advice.facts["key"] for advice in version_advice(chosen)]


def test_what_a_study_of_an_earlier_version_states_is_taken(load):
    study = load(MINIMAL + HARD + "versions: {ubayfs: 0.2.1}\n")
    assert (study.constraints, study.decision.min_votes, study.evidence.selector) == ((max_size(5),), 2, "fisher")
    assert [advice.code for advice in version_advice(study)] == ["other_version"]
    changed = load(MINIMAL + SOFT + "versions: {ubayfs: 0.2.1}\n")  # as an option of the command line does
    changed = replace(
        changed, constraints=(), decision=replace(changed.decision, min_votes=3), evidence=EvidenceSection()
    )
    assert [advice.code for advice in version_advice(changed)] == ["other_version"]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (MINIMAL, ["decision.min_votes", "evidence.selector", PER_MODEL]),
        (MINIMAL + SOFT, ["constraints.rho", "decision.min_votes", "evidence.selector", PER_MODEL]),
        (MINIMAL + HARD, [PER_MODEL]),
        (MINIMAL + "evidence: {selector: lasso}\n", ["decision.min_votes", "evidence.selector.order", PER_MODEL]),
    ],
)
def test_a_study_without_a_version_has_the_present_defaults_and_names_them(load, text, keys):
    study = load(text)
    assert version_advice(study) == ()
    assert [(advice.code, advice.facts["key"]) for advice in default_advice(study)] == [
        ("present_default", key) for key in keys
    ]
    if "must_link" in text:
        assert study.constraints[:2] == (max_size(5), must_link(["a", "b"]))
    assert study.decision.min_votes in (1, 2)
    assert study.evidence.selector == next((name for name in ("fisher", "lasso") if name in text), DEFAULT_SELECTOR)
    assert default_advice(load(text + f"versions: {{ubayfs: {ubayfs.__version__}}}\n")) == ()


def test_a_study_of_an_earlier_version_is_written_so_that_it_reads_the_same(load):
    for text in (MINIMAL + SOFT, MINIMAL + HARD, MINIMAL, MINIMAL + "evidence: {selector: [tree, lasso]}\n"):
        for version in ("", "versions: {ubayfs: 0.2.1}\n"):
            study = load(text + version)
            for versions in ({}, {"ubayfs": "0.2.1"}, {"ubayfs": ubayfs.__version__}):
                assert load(replace(study, versions=versions).to_yaml()) == study


def test_a_title_heads_the_report_and_stays_with_the_study(tmp_path):
    file = tmp_path / "study.yaml"
    file.write_text("title: Nuclei\ndata: {path: cells.csv}\n", encoding="utf-8")
    study = load_study(file)
    assert study.title == "Nuclei"
    study.save(tmp_path / "again.yaml")
    assert load_study(tmp_path / "again.yaml") == study
    assert "title" not in Study(DataSection("cells.csv")).to_dict()
    file.write_text("title: [Nuclei]\ndata: {path: cells.csv}\n", encoding="utf-8")
    with pytest.raises(StudyError) as caught:
        load_study(file)
    assert [(problem.path, problem.line) for problem in caught.value.problems] == [(("title",), 1)]
