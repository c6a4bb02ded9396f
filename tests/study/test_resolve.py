"""Names of a study against the features at hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from amounts import examples
from ubayfs import (
    Blocks,
    Evidence,
    GeneralizedDirichlet,
    Hyperdirichlet,
    cannot_link,
    cost_budget,
    decorrelate,
    exclude,
    linear,
    max_blocks,
    max_per_block,
    max_size,
    must_link,
    require,
)
from ubayfs.constraints import KINDS
from ubayfs.constraints.arguments import Items, as_items
from ubayfs.constraints.constraint import builder
from ubayfs.exceptions import StudyError
from ubayfs.priors import resolve_weights
from ubayfs.study import DataSection, EvidenceSection, PriorSection, Study, load_study
from ubayfs.study.resolve import resolve_study

NAMES = ["radius_mean", "radius_worst", "area_mean", "area_worst", "texture", "a*b", "no", "7"]


def study_of(**parts):
    return Study(DataSection("data.csv"), **parts)


def weights_of(weights, names=NAMES, blocks=None, n_models=100):
    study = study_of(prior=PriorSection(weights=weights), blocks=blocks, evidence=EvidenceSection(n_models=n_models))
    return dict(zip(names, study.arguments(names)["weights"].tolist(), strict=True))


def standalone(study):
    """Return the study with the content of its tables written out, as a result has it."""
    return resolve_study(study, data=None, feature_names=NAMES).standalone


def problems_of(study, names=NAMES):
    with pytest.raises(StudyError) as caught:
        study.arguments(names)
    return caught.value.problems


def places_of(problems):
    return [(problem.path, problem.line) for problem in problems]


# --- weights


def test_weights_from_the_most_specific_source():
    blocks = {"radius": ["radius_mean", "radius_worst"], "area": ["area_mean", "area_worst"]}
    weights = {
        "default": 0.5,
        "features": {"radius_mean": 10, "no": "very likely", 4: "likely", "a*b": 3},
        "patterns": {"*_mean": 2},
        "blocks": {"radius": 4, "area": "neutral"},
    }
    assert weights_of(weights, blocks=blocks, n_models=40) == {
        "radius_mean": 10.0,
        "radius_worst": 4.0,
        "area_mean": 2.0,
        "area_worst": 0.5,
        "texture": 10.0,
        "a*b": 3.0,
        "no": 40.0,
        "7": 0.5,
    }


def test_a_python_mapping_names_features_blocks_and_patterns():
    blocks = {"radius": ["radius_mean", "radius_worst"]}
    found = weights_of({"radius": 4, "texture": 2, "area*": 3}, blocks=blocks)
    assert found == dict(zip(NAMES, [4, 4, 3, 3, 2, 0.01, 0.01, 0.01], strict=True))


@pytest.mark.parametrize(
    "weights",
    [
        np.arange(1.0, 9.0),
        list(range(1, 9)),
        pd.Series(range(1, 9), index=NAMES),
        pd.DataFrame({"feature": NAMES, "weight": range(1, 9)}),
        dict(zip(NAMES, range(1, 9), strict=True)),
    ],
)
def test_weights_in_every_form_of_the_workflow(weights):
    assert list(weights_of(weights).values()) == list(range(1, 9))


def test_a_table_of_block_weights():
    frame = pd.DataFrame({"block": ["r", "s"], "weight": [3.0, np.nan]})
    assert weights_of(frame, blocks={"r": ["radius*"]})["radius_worst"] == 3


def test_words_are_measured_by_the_models_that_finished():
    study = study_of(prior=PriorSection(weights={"texture": "likely"}))
    assert study.arguments(NAMES)["weights"][4] == 25
    evidence = Evidence.from_sets(np.eye(8, dtype=bool), NAMES)
    study = study_of(prior=PriorSection(weights={"texture": "likely"}), constraints=[max_size(1, rho=9)])
    selection = study.decide(evidence)
    assert selection.weights[4] == 2  # a quarter of 8


def test_unlikely_is_a_soft_exclusion():
    study = study_of(prior=PriorSection(weights={"patterns": {"radius*": "unlikely"}}), constraints=[max_size(3)])
    arguments = study.arguments(NAMES)
    assert arguments["constraints"] == (max_size(3), exclude(["radius_mean", "radius_worst"], price=0.5))
    assert [constraint.from_prior for constraint in arguments["constraints"]] == [False, True]
    assert_array_equal(arguments["weights"], np.full(8, 0.01))


def test_contradictions_of_one_level_are_reported_unless_a_more_specific_one_settles_them(tmp_path):
    text = """\
data: {path: data.csv}
prior:
  weights:
    patterns:
      "radius*": 2
      "*_mean": 3
    blocks: {r: 5, s: 6}
blocks: {r: [texture, 'no'], s: [texture]}
"""
    (tmp_path / "study.yaml").write_text(text)
    problems = problems_of(load_study(tmp_path / "study.yaml"))
    assert places_of(problems) == [
        (("prior", "weights", "patterns", "*_mean"), 6),
        (("prior", "weights", "blocks", "s"), 7),
    ]
    assert "gives feature 'radius_mean' the weight 3, but 'radius*' gives it 2" in str(problems[0])
    assert "gives feature 'texture' the weight 6, but block 'r' gives it 5" in str(problems[1])
    settled = text.replace("    patterns:", "    features: {radius_mean: 1, texture: 1}\n    patterns:")
    (tmp_path / "study.yaml").write_text(settled)
    found = load_study(tmp_path / "study.yaml").arguments(NAMES)["weights"].tolist()
    assert found == [1, 2, 3, 0.01, 1, 0.01, 5, 0.01]


def test_equal_weights_do_not_contradict():
    assert weights_of({"patterns": {"radius*": 25, "*_mean": "likely"}})["radius_mean"] == 25
    problems = problems_of(study_of(prior=PriorSection(weights={"patterns": {"r*": "unlikely", "*_mean": "neutral"}})))
    assert "the weight 'neutral', but 'r*' gives it 'unlikely'" in str(problems[0])


@given(
    st.dictionaries(st.sampled_from(NAMES), st.floats(0.001, 1e6)),
    st.dictionaries(st.sampled_from(["left", "right"]), st.floats(0.001, 1e6)),
)
def test_features_and_blocks_mean_what_they_mean_in_decide(features, blocks):
    known = {"left": NAMES[:3], "right": NAMES[4:]}
    direct = resolve_weights(features | blocks, NAMES, known)
    found = weights_of({"features": features, "blocks": blocks}, blocks=known)
    assert list(found.values()) == direct.tolist()


def test_one_weight_per_feature_needs_as_many():
    assert "must have one number per feature: 8; got 2" in str(
        problems_of(study_of(prior=PriorSection(weights=[1, 2])))[0]
    )


# --- tables


@pytest.fixture
def knowledge(tmp_path):
    def write(content, name="knowledge.csv", key="prior: {table: knowledge.csv}"):
        (tmp_path / name).write_text(content)
        (tmp_path / "study.yaml").write_text(f"data: {{path: data.csv}}\n{key}\n")
        return load_study(tmp_path / "study.yaml")

    return write


def test_a_table_of_weights(knowledge):
    content = (
        "Weight;remark; FEATURE ;block\n5;x;texture;\nlikely;;no;b\n;;area_mean;b\nunlikely;;area_worst;b\n2;;;b\n"
    )
    weights = "{features: {no: 3}, patterns: {'area*': 7}}"
    key = f"prior: {{table: knowledge.csv, weights: {weights}}}\nblocks: {{table: knowledge.csv}}"
    study = knowledge(content, key=key)
    arguments = study.arguments(NAMES)
    assert arguments["blocks"].members == {"b": ("no", "area_mean", "area_worst")}
    assert arguments["weights"].tolist() == [0.01, 0.01, 7, 0.01, 5, 0.01, 3, 0.01]
    assert arguments["constraints"] == (exclude(["area_worst"], price=0.5),)


def test_a_row_of_the_table_is_more_specific_than_a_pattern(knowledge):
    study = knowledge(
        "feature,weight\ntexture,5\n7,2\n", key="prior: {table: knowledge.csv, weights: {patterns: {'*': 9}}}"
    )
    assert study.arguments(NAMES)["weights"].tolist() == [9, 9, 9, 9, 5, 9, 9, 2]


def test_an_excel_table_with_a_sheet(knowledge, tmp_path):
    frame = pd.DataFrame({"feature": ["texture", "no"], "weight": ["very likely", 3]})
    with pd.ExcelWriter(tmp_path / "k.xlsx") as writer:
        pd.DataFrame({"x": [1]}).to_excel(writer, sheet_name="first", index=False)
        frame.to_excel(writer, sheet_name="known", index=False)
    study = knowledge("", key="prior: {table: k.xlsx, sheet: known}")
    assert study.arguments(NAMES)["weights"].tolist()[4:7] == [100, 0.01, 3]
    (problem,) = problems_of(knowledge("", key="prior: {table: k.xlsx, sheet: knwon}"))
    assert places_of([problem]) == [(("prior", "table"), 2)]
    assert "known" in problem.message


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        (
            "feature,weight\nfexture,1\nno,lik\n",
            [
                "study.yaml, line 2, prior.table: knowledge.csv, line 3: the weight must be one of 'likely', "
                "'neutral', 'unlikely', "
                "'very likely'; got 'lik'. Did you mean 'likely'? Or give a number of votes.",
            ],
        ),
        (
            "feature,weight\nno,-1\n",
            [
                "study.yaml, line 2, prior.table: knowledge.csv, line 2: the weight must be positive and finite; "
                "got -1.0."
            ],
        ),
        (
            "feature,weigth\nno,1\n",
            [
                "study.yaml, line 2, prior.table: knowledge.csv has no column 'weight', among 'feature', "
                "'weigth'. Its header must name 'weight'. If 'weigth' is meant, call it 'weight'."
            ],
        ),
        (
            "feature,weight,Weight\nno,1,2\n",
            ["study.yaml, line 2, prior.table: knowledge.csv has two columns for 'weight'"],
        ),
        (
            "feature,weight\nno,1\nno,2\n",
            ["study.yaml, line 2, prior.table: gives feature 'no' the weight 2, but knowledge.csv, line 2 gives it 1."],
        ),
        (
            "feature,weight,block\n,2,nowhere\n",
            ["study.yaml, line 2, prior.table: knowledge.csv, line 2: 'nowhere' is not a block."],
        ),
        (
            "feature,weight,x\n,2,1\n",
            ["study.yaml, line 2, prior.table: knowledge.csv, line 2: a weight without a feature"],
        ),
        ("", ["study.yaml, line 2, prior.table: "]),
    ],
)
def test_problems_of_a_table_name_its_lines(knowledge, content, problems):
    found = problems_of(knowledge(content))
    assert len(found) == len(problems), found
    for problem, expected in zip(sorted(map(str, found)), problems, strict=True):
        assert problem.startswith(expected)


def test_a_missing_table_is_a_problem_of_its_key(knowledge, tmp_path):
    study = knowledge("feature,weight\nno,1\n")
    (tmp_path / "knowledge.csv").unlink()
    (problem,) = problems_of(study)
    assert places_of([problem]) == [(("prior", "table"), 2)]
    assert "does not exist" in problem.message


def test_a_table_of_another_data_set_is_reported_briefly(knowledge):
    found = problems_of(knowledge("feature,weight\n" + "".join(f"gene{i},1\n" for i in range(500))))
    assert len(found) == 1
    assert "none of its 500 names is a feature of the data. They are 'gene0', 'gene1', 'gene2'" in str(found[0])


def test_names_of_a_table_that_are_not_in_the_data_are_errors_if_asked(knowledge):
    rows = "".join(f"gene{i},1\n" for i in range(500))
    key = "prior: {table: knowledge.csv, unknown: error}"
    found = problems_of(knowledge(f"feature,weight\nno,3\nfexture,1\n{rows}", key=key))
    assert len(found) == 21
    assert "knowledge.csv, line 3: 'fexture' is not a feature. Did you mean 'texture'?" in str(found[0])
    assert "and 481 more names of knowledge.csv that are not in the data." in str(found[-1])


# --- files


@pytest.mark.parametrize(
    ("data", "places"),
    [
        ("{path: x.csv, samples: y.csv}", {("path",), ("samples",)}),
        ("{path: {rna: x.csv, dna: y.csv}, samples: z.csv}", {("path", "rna"), ("path", "dna"), ("samples",)}),
        ("{path: {rna: data.csv, dna: y.csv}, target: z}", {("path", "dna")}),
    ],
)
def test_every_missing_file_is_listed(tmp_path, data, places):
    pd.DataFrame(np.eye(3), columns=list("abc")).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "study.yaml").write_text(f"data: {data}\n")
    with pytest.raises(StudyError) as caught:
        resolve_study(load_study(tmp_path / "study.yaml"))
    assert {(problem.path[1:], problem.line) for problem in caught.value.problems} == {(place, 1) for place in places}


# --- blocks


def test_blocks_by_pattern_and_prefix():
    blocks = {"r": ["radius_worst", "radius*"], "star": ["a*b"], "at": [4, "a*"]}
    assert study_of(blocks=blocks).arguments(NAMES)["blocks"] == Blocks(
        {"r": ["radius_worst", "radius_mean"], "star": ["a*b"], "at": [4, "area_mean", "area_worst", "a*b"]}
    )
    found = study_of(blocks={"prefix": "_"}).arguments(NAMES)["blocks"]
    assert found == Blocks({"radius": NAMES[:2], "area": NAMES[2:4]})
    (problem,) = problems_of(study_of(blocks={"prefix": "|"}))
    assert str(problem) == "blocks.prefix: no feature has '|' in its name, so that there are no blocks."


# --- constraints


def test_patterns_are_expanded_in_whatever_argument_lists_features():
    """The annotation of a builder says which arguments do, not their names."""

    @builder(lambda context, genes, rho: KINDS["must_link"].inequalities(context, genes, rho, "features"))
    def both(genes: Items, rho: float = 1.0):
        return {"genes": as_items("genes", genes), "rho": rho}

    try:
        (found,) = study_of(constraints=[{"both": "radius*"}]).arguments(NAMES)["constraints"]
        (problem,) = problems_of(study_of(constraints=[{"both": ["radius*", "nothing*"]}]))
    finally:
        del KINDS["both"]
    assert dict(found.arguments)["genes"] == ("radius_mean", "radius_worst")
    assert problem.path == ("constraints", 0, "both", "genes", 1)


def test_a_star_costs_what_each_other_feature_does():
    given = [cost_budget({"*": 1.0, "*_mean": 2.0, "area_mean": 5.0}, budget=3)]
    (found,) = study_of(constraints=given).arguments(NAMES)["constraints"]
    costs = dict(dict(found.arguments)["costs"])
    assert costs == {name: 2.0 if name.endswith("_mean") else 1.0 for name in NAMES} | {"area_mean": 5.0}


def test_patterns_in_constraints():
    given = [
        must_link(["radius*", "radius_mean"]),
        cannot_link(["a*b", "area*"]),
        require(["*_worst"], rho=2.0),
        cost_budget({"area_mean": 5.0, "*_mean": 2.0, 4: 1.0}, budget=3),
        linear({"*_worst": 1.0}, b=1),
        linear({"r": 1.0, "t": 2.0}, b=1, blocks={"r": ["radius*"], "t": ["texture"]}),
        max_per_block(1, blocks=["r*"]),
        cannot_link(["r*", "other"], on="blocks"),
        max_blocks(1),
    ]
    blocks = {"r1": ["radius_mean"], "r2": ["radius_worst"], "other": ["texture"]}
    found = study_of(constraints=given, blocks=blocks).arguments(NAMES)["constraints"]
    assert found == (
        must_link(["radius_worst", "radius_mean"]),
        cannot_link(["a*b", "area_mean", "area_worst"]),
        require(["radius_worst", "area_worst"], rho=2.0),
        cost_budget({"area_mean": 5.0, 4: 1.0, "radius_mean": 2.0}, budget=3),
        linear({"radius_worst": 1.0, "area_worst": 1.0}, b=1),
        linear({"r": 1.0, "t": 2.0}, b=1, blocks={"r": ["radius_mean", "radius_worst"], "t": ["texture"]}),
        max_per_block(1, blocks=["r1", "r2"]),
        cannot_link(["r1", "r2", "other"], on="blocks"),
        max_blocks(1),
    )
    # What the user wrote, where a pattern was expanded; costs, which may be of all features, are not listed.
    assert [constraint.note for constraint in found] == [
        "radius*, radius_mean", "a*b, area*", "*_worst", "", "*_worst", "r: radius*; t: texture",
        "r*", "r*, other", "",
    ]  # fmt: skip


def test_all_names_are_checked_at_once_with_their_lines(tmp_path):
    (tmp_path / "study.yaml").write_text(
        """\
data: {path: data.csv}
prior:
  weights:
    features:
      textur: 5
    patterns: {"z*": 1}
    blocks: {sise: 2}
blocks:
  size: [radius_mean, area_maen]
constraints:
  - must_link:
      features:
        - radius_mean
        - radios_worst
      rho: hard
  - must_link: ["tex*"]
  - max_per_block: {n: 1, blocks: [siz]}
  - implies: {if_features: ["nothing*"], then_features: [texture]}
  - cost_budget: {costs: {texure: 1}, budget: 3}
  - require: [99]
"""
    )
    problems = problems_of(load_study(tmp_path / "study.yaml"))
    assert places_of(problems) == [
        (("prior", "weights", "features", "textur"), 5),
        (("prior", "weights", "patterns", "z*"), 6),
        (("prior", "weights", "blocks", "sise"), 7),
        (("blocks", "size", 1), 9),
        (("constraints", 0, "must_link", "features", 1), 14),
        (("constraints", 1, "must_link"), 16),
        (("constraints", 2, "max_per_block", "blocks", 0), 17),
        (("constraints", 3, "implies", "if_features", 0), 18),
        (("constraints", 4, "cost_budget", "costs", "texure"), 19),
        (("constraints", 5, "require", "features", 0), 20),
    ]
    assert [problem.message.rpartition("Did you mean ")[2] for problem in problems if "?" in problem.message] == [
        "'texture'?", "'size'?", "'area_mean'?", "'radius_worst'?", "'size'?", "'texture'?",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("constraint", "problem"),
    [
        (must_link(["no", "no"]), "constraints[1].must_link.features: names feature 'no' more than once."),
        (max_per_block(1), "constraints[1].max_per_block: is about blocks, but the study has none"),
        (linear([[1, 2]], b=1), "constraints[1].linear.A: must have one column per feature, 8; got 2."),
        (
            cost_budget([1.0, 2.0], budget=1),
            "constraints[1].cost_budget.costs: must have one number per feature, 8; got 2",
        ),
        (
            cannot_link(["x", "y"], on="blocks"),
            "constraints[1].cannot_link.features[0]: 'x' is not a block. There are no blocks.",
        ),
        (
            cost_budget({"r*": 1, "*_mean": 2}, budget=1),
            "constraints[1].cost_budget.costs.*_mean: gives 'radius_mean' 2, but",
        ),
    ],
)
def test_rules_that_need_the_features(constraint, problem):
    problems = problems_of(study_of(constraints=[decorrelate(0.5), constraint]))
    assert str(problems[0]).startswith(problem)


def test_a_changed_copy_keeps_the_lines_of_what_did_not_change(tmp_path):
    text = "data: {path: d.csv}\nblocks: {b: [y]}\nconstraints: [{require: [x]}]\n"
    (tmp_path / "study.yaml").write_text(text)
    study = load_study(tmp_path / "study.yaml")
    same = replace(study, evidence=EvidenceSection(n_models=3), constraints=[require("x")])
    assert problems_of(same) == problems_of(study)
    assert str(problems_of(study)[1]).startswith("study.yaml, line 3, constraints[0].require")
    changed = problems_of(replace(study, constraints=[max_size(3), require("x")]))
    assert str(changed[0]).startswith("constraints[1].require.features[0]: 'x' is not a feature.")
    assert str(changed[1]).startswith("study.yaml, line 2, blocks.b[0]: 'y' is not a feature.")


# --- priors


def test_settings_of_priors_are_built_and_checked_against_the_features():
    prior = study_of(prior=PriorSection(kind=GeneralizedDirichlet(beta=np.ones(7)))).arguments(NAMES)["prior"]
    assert isinstance(prior, GeneralizedDirichlet)
    assert prior.beta == [1.0] * 7
    problems = problems_of(study_of(prior=PriorSection(kind=GeneralizedDirichlet(beta=[1, 2]))))
    assert str(problems[0]).startswith("prior.kind: must be a positive number or n_features - 1 = 7 positive numbers")
    sets = Hyperdirichlet(set_weights={frozenset({"no", "7"}): 2, ("texture", 0): 1})
    prior = study_of(prior=PriorSection(kind=sets)).arguments(NAMES)["prior"]
    assert prior.set_weights == {("7", "no"): 2, ("texture", 0): 1}
    problems = problems_of(study_of(prior=PriorSection(kind=Hyperdirichlet(set_weights={("textur",): 2}))))
    assert problems[0].path == ("prior", "kind", "set_weights", 0, "set")
    assert problems[0].message == "names 'textur', which is not a feature. Did you mean 'texture'?"


# --- without tables


def same_arguments(one, two):
    assert_array_equal(one["weights"], two["weights"])
    assert one["constraints"] == two["constraints"]
    assert one["blocks"] == two["blocks"]


def test_an_inlined_study_needs_no_tables(tmp_path):
    (tmp_path / "known.csv").write_text(
        "feature,weight,block\nradius_mean,very likely,size\narea_mean,,size\narea_worst,unlikely,old\n"
        "texture,3.5,\n,7,old\na*b,neutral,old\nno,,old\n",
        encoding="utf-8",
    )
    (tmp_path / "study.yaml").write_text(
        "data: {path: data.csv}\nblocks: {table: known.csv}\nevidence: {n_models: 40}\n"
        "prior: {table: known.csv, weights: {features: {texture: 9}, patterns: {'*_worst': likely}}}\n"
        "constraints: [{max_per_block: 1}]\n",
        encoding="utf-8",
    )
    study = load_study(tmp_path / "study.yaml")
    inlined = standalone(study)
    assert "table" not in str(inlined.to_dict())
    assert inlined.to_dict()["prior"]["weights"]["features"] == {
        "radius_mean": "very likely", "radius_worst": "likely", "area_worst": "unlikely", "texture": 9,
        "a*b": "neutral", "no": 7,
    }  # fmt: skip
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    inlined.save(elsewhere / "study.yaml")
    same_arguments(load_study(elsewhere / "study.yaml").arguments(NAMES), study.arguments(NAMES))


@settings(max_examples=examples(50))
@given(
    rows=st.dictionaries(
        st.sampled_from(NAMES), st.sampled_from(["", "likely", "unlikely", "neutral", "12"]), min_size=1
    ),
    stated=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["very likely", "unlikely", 2.0]), max_size=3),
    by_block=st.sampled_from([{}, {"some": 4.0}, {"some": "unlikely"}]),
)
def test_inlining_changes_nothing(tmp_path_factory, rows, stated, by_block):
    folder = tmp_path_factory.mktemp("inlined")
    frame = pd.DataFrame({"feature": list(rows), "weight": list(rows.values())})
    frame.to_csv(folder / "known.csv", index=False)
    prior = PriorSection(weights={"features": stated, "blocks": by_block, "default": 0.5}, table="known.csv")
    study = study_of(prior=prior, blocks={"some": ["area*", "texture"]}, folder=folder)
    same_arguments(standalone(study).arguments(NAMES), study.arguments(NAMES))


def test_a_study_without_tables_stays_as_it_is():
    study = study_of(prior=PriorSection(weights={"patterns": {"area*": "likely"}}), blocks={"size": ["area*"]})
    assert standalone(study) == study


def test_inlining_reports_what_does_not_fit(tmp_path):
    (tmp_path / "known.csv").write_text("feature,weight\nradios_mean,3\n", encoding="utf-8")
    study = study_of(prior=PriorSection(table="known.csv"), folder=tmp_path)
    with pytest.raises(StudyError, match="Did you mean 'radius_mean'"):
        standalone(study)
