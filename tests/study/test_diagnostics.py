"""All problems of a phase at once, each at its place: paths and lines, whatever the words."""

import numpy as np
import pandas as pd
import pytest

from ubayfs.constraints import KINDS, Constraint
from ubayfs.constraints.constraint import Kind
from ubayfs.exceptions import InputError, StudyError
from ubayfs.study import PrefixBlocks, load_study, resolve_study

NAMES = ["radius", "area", "texture", "smooth"]


@pytest.fixture(scope="module")
def table():
    frame = pd.DataFrame({name: [1.0 * i, i % 3, i**2, -i][j] for j, name in enumerate(NAMES)} for i in range(12))
    frame["class"] = ["a", "b"] * 6
    frame["patient"] = [i // 2 for i in range(12)]
    frame["center"] = 1
    frame["steady"] = 5.0
    return frame.to_csv(index=False)


@pytest.fixture
def folder(tmp_path, table):
    (tmp_path / "cells.csv").write_text(table, encoding="utf-8")
    return tmp_path


def places_of(folder, text):
    """Return path and line of all problems of the first phase that has any, as the commands list them."""
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(StudyError) as caught:
        resolve_study(load_study(folder / "study.yaml"))
    return [(problem.path, problem.line) for problem in caught.value.problems]


DATA = "data:\n  path: cells.csv\n  target: class\n  ignore: [patient, center]\n"


def without_words(monkeypatch):
    """Replace the text of every error by one and the same: nothing may depend on it."""
    made = InputError.__init__

    def wordless(self, message="", *, argument=None, value=None, rule=None):
        made(self, message and "?", argument=argument, value=value, rule=rule and "?")

    monkeypatch.setattr(InputError, "__init__", wordless)


@pytest.mark.parametrize("wordless", [False, True])
def test_twenty_mistakes(folder, monkeypatch, wordless):
    if wordless:
        without_words(monkeypatch)
    text = """\
data:
  path: cells.csv
  target: klass
  ignore: [patient, center, nothing*]
evidence:
  n_models: many
  train_size: 2
  selector: {name: lasso, min_penalty: -1, max_penalty: 3}
prior:
  kind: dirichlett
  weights:
    features: {raduis: likely, area: often}
    patterns: {"x*": 2}
blocks:
  size: [radius, aera]
constraints:
  - must_link: [radius, aera]
  - must_link: {features: [texture, smoth], rho: -1}
  - linear: {A: {radius: 1, zzz: 2}, b: 1}
  - linear: {A: {area: 1}, b: x}
  - require: ["q*"]
  - max_per_block: {n: 1, blocks: [sise]}
decision:
  min_votes: -1
  n_alternative: 3
outputs: {figures: [gif, png, bmp]}
"""
    in_file = [
        (("evidence", "n_models"), 6),
        (("evidence", "train_size"), 7),
        (("evidence", "selector", "max_penalty"), 8),
        (("evidence", "selector", "min_penalty"), 8),
        (("prior", "kind"), 10),
        (("prior", "weights", "features", "area"), 12),
        (("constraints", 1, "must_link", "rho"), 18),
        (("constraints", 3, "linear", "b"), 20),
        (("decision", "min_votes"), 24),
        (("decision", "n_alternative"), 25),
        (("outputs", "figures", 0), 26),
        (("outputs", "figures", 2), 26),
    ]
    assert places_of(folder, text) == in_file
    for wrong, right in [
        ("many", "9"), ("train_size: 2", "train_size: 0.5"), (", min_penalty: -1, max_penalty: 3", ""),
        ("dirichlett", "dirichlet"),
        ("often", "likely"), ("rho: -1", "rho: 1"), ("b: x", "b: 1"), ("min_votes: -1", "min_votes: 1"),
        ("n_alternative:", "n_alternatives:"), ("gif, png, bmp", "png"),
    ]:  # fmt: skip
        text = text.replace(wrong, right)
    assert places_of(folder, text) == [(("data", "target"), 3), (("data", "ignore"), 4)]
    text = text.replace("klass", "class").replace(", nothing*", "")
    assert places_of(folder, text) == [
        (("prior", "weights", "features", "raduis"), 12),
        (("prior", "weights", "patterns", "x*"), 13),
        (("blocks", "size", 1), 15),
        (("constraints", 0, "must_link", "features", 1), 17),
        (("constraints", 1, "must_link", "features", 1), 18),
        (("constraints", 2, "linear", "A", "zzz"), 19),
        (("constraints", 4, "require", "features", 0), 21),
        (("constraints", 5, "max_per_block", "blocks", 0), 22),
    ]


@pytest.mark.parametrize(
    ("wrong", "then"),
    [
        ("evidence: {n_models: 0}", "Tables, and the names in them, are checked after this is fixed."),
        ("prior: {table: none.csv}", "Names are compared with the tables after this is fixed."),
        ("constraints: [{require: [aera]}]", None),
    ],
)
def test_what_is_checked_later_is_said(folder, wrong, then):
    (folder / "study.yaml").write_text(DATA + wrong + "\n", encoding="utf-8")
    with pytest.raises(StudyError) as caught:
        resolve_study(load_study(folder / "study.yaml"))
    assert str(caught.value).splitlines()[1:] == ([then] if then else [])


@pytest.mark.parametrize(
    ("constraint", "places"),
    [
        ("max_per_block: {n: two, blocks: [true]}", [("blocks", 0), ("n",)]),
        ("implies: {if_features: [7.5], then_features: []}", [("if_features", 0), ("then_features",)]),
        ("implies: {then_features: [[a]]}", [("then_features", 0), ()]),
        ("cost_budget: {costs: {radius: x}, budget: lots}", [("costs", "radius"), ("budget",)]),
        ("linear: {A: {radius: x}, b: x}", [("A", "radius"), ("b",)]),
        ("linear: {A: {p: 1}, b: x, blocks: {p: [true, radius]}}", [("blocks", "p", 0), ("b",)]),
        ("must_link: {features: [], rho: -1}", [("features",), ("rho",)]),
        ("must_link: {features: [radius, true, 1.5], n: 2}", [("n",), ("features", 1), ("features", 2)]),
        ("require: 7.5", [()]),
    ],
)
def test_each_wrong_argument_is_listed(folder, constraint, places):
    kind = constraint.partition(":")[0]
    text = f"blocks: {{size: [area]}}\nconstraints: [{{{constraint}}}, {{require: [7.5]}}]\n"
    expected = [("constraints", 0, kind, *place) for place in places]
    assert [path for path, _ in places_of(folder, DATA + text)] == [
        *expected, ("constraints", 1, "require", "features", 0)
    ]  # fmt: skip


def test_a_wrong_block_hides_no_mistake_of_a_constraint_on_features(folder):
    text = """\
blocks: {size: [nothing*], form: [texture]}
constraints:
  - linear: {A: [[1, 0]], b: 1}
  - cannot_link: [radius, radius]
  - implies: {if_features: radius, then_features: [radius, area]}
  - max_blocks: 1
  - max_per_block: {n: 1, blocks: [size]}
  - must_link: {features: [size, form], on: blocks}
  - linear: {A: [[1, 1]], b: 1, blocks: true}
"""
    assert places_of(folder, DATA + text) == [
        (("blocks", "size", 0), 5),
        (("constraints", 0, "linear", "A"), 7),
        (("constraints", 1, "cannot_link", "features"), 8),
        (("constraints", 2, "implies"), 9),
    ]


def test_only_the_constraint_that_contradicts_is_named(folder):
    constraints = """\
constraints:
  - linear: {A: {radius: 1, area: 1}, b: 1, rho: hard}
  - linear: {A: {texture: 1, smooth: 1}, b: 1, rho: hard}
  - require: [texture, smooth]
"""
    (folder / "study.yaml").write_text(DATA + constraints)
    with pytest.raises(StudyError) as caught:
        resolve_study(load_study(folder / "study.yaml"))
    (problem,) = caught.value.problems
    assert (problem.path, problem.line) == (("constraints", 2, "require"), 8)
    assert problem.related == (("constraints", 1, "linear"), ("constraints", 2, "require"))
    assert "study.yaml, line 7, constraints[1].linear" in problem.message
    assert "constraints[0]" not in problem.message
    assert "radius" not in problem.message


def test_a_feature_that_is_constant_cannot_be_required(folder):
    assert places_of(folder, DATA + "constraints: [{max_size: 3}, {require: [steady]}]\n") == [
        (("constraints", 1, "require"), 5)
    ]


def test_perfect_correlations_contradict(folder):
    text = DATA + "constraints: [{decorrelate: 0.5}, {require: [radius, smooth]}]\n"
    assert places_of(folder, text) == [(("constraints", 1, "require"), 5)]


@pytest.mark.parametrize(("least", "contradicts"), [(2, False), (5, True)])
def test_any_constraint_on_the_data_may_contradict(folder, monkeypatch, least, contradicts):
    def meaning(context, n):
        n_varied = int((np.ptp(context.values("min_varied"), axis=0) > 0).sum())  # it is 4, and raises without data
        return KINDS["min_size"].inequalities(context, n=n if n > n_varied else 0, rho=np.inf)

    def build(n):
        """Select features that vary."""
        return Constraint("min_varied", (("n", n),))

    monkeypatch.setitem(KINDS, "min_varied", Kind(build, meaning, needs_data=True))
    text = DATA + f"constraints: [{{min_varied: {least}}}]\n"
    if contradicts:
        assert places_of(folder, text) == [(("constraints", 0, "min_varied"), 5)]
    else:
        (folder / "study.yaml").write_text(text)
        assert resolve_study(load_study(folder / "study.yaml")).data is not None


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ("target: class\n  groups: center\n  ignore: [patient]", ("data", "groups")),
        ("target: center\n  ignore: [class, patient]", ("data", "target")),
        ("target: class\n  task: regression\n  ignore: [patient]", ("data", "target")),
        ("target: patient\n  task: binary\n  ignore: [class]", ("data", "task")),
        ("target: radius\n  task: multiclass\n  ignore: [class]", ("data", "target")),
        ("target: class\n  sheet: first", ("data", "sheet")),
        ("target: class\n  samples_sheet: first", ("data", "samples_sheet")),
    ],
)
def test_a_problem_of_a_column_is_that_of_its_key(folder, monkeypatch, data, place):
    without_words(monkeypatch)
    ((path, line),) = places_of(folder, f"data:\n  path: cells.csv\n  {data}\n")
    lines = ["data:", "  path: cells.csv", *f"  {data}".splitlines()]
    assert path == place
    assert lines[line - 1].split(":")[0].strip() == place[1]


def test_a_problem_of_subsamples_is_that_of_its_key(folder):
    text = DATA + "evidence: {train_size: 0.05}\n"
    assert places_of(folder, text) == [(("evidence", "train_size"), 5)]


def test_values_that_are_not_plain_are_listed_before_all_others(folder):
    text = DATA + "prior: {weights: {features: {radius: !!set {a}, texture: !!set {b}, area: lik}}}\n"
    features = ("prior", "weights", "features")
    assert places_of(folder, text) == [((*features, name), 5) for name in ("radius", "texture")]


@pytest.mark.parametrize("block", ["[radius, radius]", "[radius, 0]"])
def test_a_feature_that_is_twice_in_a_block(folder, block):
    text = DATA + f"blocks: {{size: {block}}}\nconstraints: [{{max_per_block: 1}}]\n"
    assert places_of(folder, text) == [(("blocks", "size"), 5)]


def test_a_member_of_a_block_that_is_not_a_name(folder):
    text = DATA + "constraints: [{linear: {A: {p: 1}, b: 1, blocks: {p: [{radius: 1}]}}}]\n"
    ((path, line),) = places_of(folder, text)
    assert (path[:3], line) == (("constraints", 0, "linear"), 5)


# A study with places for mistakes: key -> (right, wrong, path of the mistake, and the mistake that hides it: what
# kind of prior its settings are for, for example). Whatever else is wrong, all others are listed.
MISTAKES = {
    "target": ("class", "klass", ("data", "target")),
    "groups": ("patient", "patent", ("data", "groups")),
    "ignore": ("[center]", "[center, nothing]", ("data", "ignore")),
    "file_sheet": ("", ", sheet: first", ("data", "sheet")),
    "missing": ("error", "drop_all", ("data", "missing")),
    "max_missing": ("0.5", "2", ("data", "max_missing")),
    "duplicates": ("error", "frist", ("data", "duplicates")),
    "keep": ("all", "somtimes", ("data", "keep")),
    "encoding": ("utf-8", "utf-88", ("data", "encoding")),
    "detection": ("half", "hlf", ("data", "below_detection")),
    "task": ("binary", "binry", ("data", "task")),
    "path": ("cells.csv", "cels.csv", ("data", "path")),
    "orientation": ("columns", "colums", ("data", "features_in")),
    "key": ("", ", smaples: sheet.csv", ("data", "smaples")),
    "rule_key": ("", ", fetures: as_is", ("data", "fetures")),
    "n_models": ("50", "many", ("evidence", "n_models")),
    "train_size": ("0.5", "2", ("evidence", "train_size")),
    "per_model": ("2", "60", ("evidence", "n_features_per_model")),
    "seed": ("1", "-1", ("evidence", "seed")),
    "jobs": ("1", "0", ("evidence", "n_jobs")),
    "unknown_key": ("", "colour: 1", ("evidence", "colour")),
    "selector": ("fisher", "fishr", ("evidence", "selector", 0)),
    "penalty": ("0.01", "-1", ("evidence", "selector", 1, "min_penalty")),
    "setting": ("min_penalty", "penalty", ("evidence", "selector", 2, "penalty")),
    "chains": ("2", "1", ("prior", "kind", "n_chains"), "kind"),
    "kind": ("hyperdirichlet", "hyperdirichlett", ("prior", "kind", "name")),
    "set_member": ("radius", "raduis", ("prior", "kind", "set_weights", 0, "set"), "kind"),
    "set_weight": ("1", "-1", ("prior", "kind", "set_weights", 0, "weight"), "kind"),
    "set_block": ("size", "sise", ("prior", "kind", "set_weights", 1, "set"), "kind"),
    "set_keys": ("set", "sets", ("prior", "kind", "set_weights", 2), "kind"),
    "default": ("0.1", "-1", ("prior", "weights", "default")),
    "feature": ("radius", "raduis", ("prior", "weights", "features", "raduis")),
    "weight": ("likely", "often", ("prior", "weights", "features", "area")),
    "pattern": ("tex*", "zzz*", ("prior", "weights", "patterns", "zzz*"), "level"),
    "level": ("patterns", "paterns", ("prior", "weights", "paterns")),
    "of_block": ("size", "sise", ("prior", "weights", "blocks", "sise")),
    "sheet": ("", "sheet: one", ("prior", "sheet")),
    "aliases": ("aliases.csv", "nosuch.csv", ("prior", "aliases")),
    "block": ("area", "aera", ("blocks", "size", 1)),
    "empty": ("[texture]", "[]", ("blocks", "form")),
    "link": ("smooth", "smoth", ("constraints", 0, "must_link", "features", 1)),
    "rho": ("1", "-1", ("constraints", 0, "must_link", "rho")),
    "argument": ("", ", strength: 2", ("constraints", 0, "must_link", "strength")),
    "row": ("[[1, 0, 0, 0, 0]]", "[[1]]", ("constraints", 1, "linear", "A")),
    "bound": ("1", "x", ("constraints", 1, "linear", "b")),
    "costs": ("[1, 2, 3, 4, 5]", "[1, 2, 3, 4, 5, 6, 7, 8, 9]", ("constraints", 2, "cost_budget", "costs")),
    "budget": ("4", "lots", ("constraints", 2, "cost_budget", "budget")),
    "size": ("3", "1", ("constraints", 4, "require")),
    "also": ("smooth", "radius", ("constraints", 6, "require")),
    "if": ("radius", "raduis", ("constraints", 7, "implies", "if_features", 0)),
    "then": ("[area]", "[]", ("constraints", 7, "implies", "then_features")),
    "n": ("2", "two", ("constraints", 8, "max_per_block", "n")),
    "in_block": ("size", "sise", ("constraints", 8, "max_per_block", "blocks", 0)),
    "builder": ("min_size", "min_sise", ("constraints", 9, "min_sise")),
    "own_block": ("radius", "raduis", ("constraints", 10, "linear", "blocks", "p", 0)),
    "own_name": ("p", "q", ("constraints", 10, "linear", "A", "q")),
    "relaxations": ("1", "[1, 2]", ("constraints", 10, "linear", "rho")),
    "price": ("2", "cheap", ("constraints", 11, "cost_budget", "costs", "radius")),
    "item": ("area", "aera", ("constraints", 11, "cost_budget", "costs", "aera")),
    "number": ("area", "7.5", ("constraints", 12, "cannot_link", "features", 0)),
    "beside": ("radius", "raduis", ("constraints", 12, "cannot_link", "features", 1)),
    "strength": ("1", "-1", ("decision", "constraint_strength")),
    "sets": ("9", "0", ("decision", "optimizer", "n_sets")),
    "limit": ("n_alternatives: 1", "time_limit: 3", ("decision", "time_limit")),
    "votes": ("1", "-1", ("decision", "min_votes")),
    "seed_again": ("1", "one", ("decision", "seed")),
    "figure": ("png", "gif", ("outputs", "figures")),
    "draws": ("9", "-9", ("outputs", "n_draws")),
    "section": ("versions", "version", ("version",)),
}
STUDY = """\
data: {{path: {path}, features_in: {orientation}{key}{rule_key}{file_sheet}, target: {target}, \
groups: {groups}, ignore: {ignore}, missing: {missing}, task: {task}, \
max_missing: {max_missing}, duplicates: {duplicates}, keep: {keep}, encoding: {encoding}, below_detection: {detection}}}
evidence: {{n_models: {n_models}, train_size: {train_size}, n_features_per_model: {per_model}, seed: {seed}, \
n_jobs: {jobs}, selector: [{selector}, {{name: lasso, order: entry, min_penalty: {penalty}}}, \
{{name: lasso, order: entry, {setting}: 0.02}}], {unknown_key}}}
prior: {{kind: {{name: {kind}, n_chains: {chains}, set_weights: [{{set: [{set_member}, area], weight: {set_weight}}}, \
{{set: {set_block}, weight: 1}}, {{{set_keys}: [texture], weight: 2}}]}}, weights: {{default: {default}, \
features: {{{feature}: likely, area: {weight}}}, {level}: {{"{pattern}": 1}}, blocks: {{{of_block}: 2}}}}, \
aliases: {aliases}, {sheet}}}
blocks: {{size: [radius, {block}], form: {empty}}}
constraints:
  - must_link: {{features: [radius, {link}], rho: {rho}{argument}}}
  - linear: {{A: {row}, b: {bound}, rho: 1}}
  - cost_budget: {{costs: {costs}, budget: {budget}, rho: 1}}
  - max_size: {{n: {size}, rho: hard}}
  - require: [texture, area]
  - exclude: [radius]
  - require: [{also}]
  - implies: {{if_features: [{if}], then_features: {then}, rho: 1}}
  - max_per_block: {{n: {n}, blocks: [{in_block}], rho: 1}}
  - {builder}: {{n: 1, rho: 1}}
  - linear: {{A: {{{own_name}: 1}}, b: 1, rho: {relaxations}, blocks: {{p: [{own_block}, area]}}}}
  - cost_budget: {{costs: {{radius: {price}, {item}: 1}}, budget: 9, rho: 1}}
  - cannot_link: {{features: [{number}, {beside}], rho: 1}}
decision: {{optimizer: {{name: genetic, n_sets: {sets}}}, {limit}, min_votes: {votes}, \
constraint_strength: {strength}, seed: {seed_again}}}
outputs: {{figures: [{figure}], n_draws: {draws}}}
{section}: {{ubayfs: 0.2.0}}
"""

# The phases of mistakes that are not in the file itself; a file that cannot be read hides what is in it.
IN_TABLES = {"path", "file_sheet", "target", "groups", "ignore", "aliases"}
HIDDEN_BY_FILE = {"target", "groups", "ignore"}
OF_NAMES = {
    "per_model", "feature", "pattern", "of_block", "set_member", "set_block", "block", "link", "row", "costs", "if",
    "in_block", "own_block", "own_name", "item", "beside", "size", "also",
}  # fmt: skip


def test_the_study_without_mistakes_is_valid(folder):
    (folder / "aliases.csv").write_text("name,alias\nradius,r\n")
    (folder / "study.yaml").write_text(STUDY.format(**{name: right for name, (right, *_) in MISTAKES.items()}))
    assert resolve_study(load_study(folder / "study.yaml")).feature_names.tolist() == [*NAMES, "steady"]


@pytest.mark.parametrize("seed", range(30))
def test_no_mistake_hides_another_of_its_phase(folder, seed):
    (folder / "aliases.csv").write_text("name,alias\nradius,r\n")
    rng = np.random.default_rng(seed)
    phases = [set(MISTAKES) - IN_TABLES - OF_NAMES, IN_TABLES, OF_NAMES]
    wrong = {
        name for phase in phases[seed % 3 :] for name in sorted(phase) if rng.random() < rng.choice([0.1, 0.5, 0.9])
    }
    wrong = wrong or {"votes"}
    first = next(phase & wrong for phase in phases if phase & wrong)
    first -= HIDDEN_BY_FILE if first & {"path", "file_sheet"} else set()
    text = STUDY.format(**{name: MISTAKES[name][name in wrong] for name in MISTAKES})
    line_of = {line.split(":")[0]: number for number, line in enumerate(text.splitlines(), start=1)}
    paths = [path for _, _, path, *beside in map(MISTAKES.get, first) if not wrong & set(beside)]
    expected = {(path, line_of[path[0]] + (path[1] + 1 if path[0] == "constraints" else 0)) for path in paths}
    assert set(places_of(folder, text)) == expected


def test_all_that_files_state_is_checked_before_names(folder):
    (folder / "known.csv").write_text("feature,weight\nradius,likely\narea,often\n")
    (folder / "sets.gmt").write_text("size\tx\tradius\tarea\nsize\tx\tarea\n")
    (folder / "list.txt").write_text("texture, radius\n")
    (folder / "other.csv").write_text("a,b\n1,2\n")
    text = """\
data: {path: nosuch.csv, target: class}
prior:
  table: known.csv
  aliases: other.csv
  weights: {likely: list.txt, unlikely: none.txt, patterns: {"tex*": 2}, features: {3: 1}}
  experts:
    ann: {table: nothing.csv}
blocks: {gene_sets: sets.gmt, only: ["size", "form*"], aliases: other.csv}
constraints:
  - require: [aera]
"""
    assert dict(places_of(folder, text)) == {
        ("data", "path"): 1,
        ("prior", "table"): 3,
        ("prior", "aliases"): 4,
        ("prior", "weights", "unlikely"): 5,
        ("prior", "experts", "ann", "table"): 7,
        ("blocks", "gene_sets"): 8,
        ("blocks", "only", 1): 8,
        ("blocks", "aliases"): 8,
    }


def test_patterns_that_match_no_gene_set_are_at_their_lines(folder):
    (folder / "sets.gmt").write_text("size\tx\tradius\tarea\nrest\tx\ttexture\n")
    blocks = "blocks:\n  gene_sets: sets.gmt\n  only: [size, zz*, shape]\n"
    assert places_of(folder, DATA + blocks) == [(("blocks", "only", 1), 7), (("blocks", "only", 2), 7)]


def test_a_name_of_a_block_that_is_wrong_is_known(folder):
    text = "blocks: {size: [aera], form: [texture]}\nconstraints:\n  - max_per_block: {n: 1, blocks: [size, sise]}\n"
    weights = "prior: {weights: {blocks: {size: 2, from: 3}}}\n"
    assert {path for path, _ in places_of(folder, DATA + text + weights)} == {
        ("blocks", "size", 0), ("constraints", 0, "max_per_block", "blocks", 1), ("prior", "weights", "blocks", "from")
    }  # fmt: skip


def test_an_empty_prefix(folder):
    assert places_of(folder, DATA + 'blocks: {prefix: ""}\nconstraints: [{max_blocks: 2}]\n') == [
        (("blocks", "prefix"), 5)
    ]
    with pytest.raises(InputError, match="prefix must not be empty"):
        PrefixBlocks("")


def test_all_selectors_that_cannot_do_the_task_are_listed(folder):
    data = "data:\n  path: cells.csv\n  target: radius\n  task: regression\n  ignore: [class, patient, center]\n"
    text = data + "evidence:\n  selector:\n    - fisher\n    - mrmrr\n    - {name: fisher, penalty: 3}\n    - fisher\n"
    place = ("evidence", "selector")
    assert places_of(folder, text) == [((*place, 1), 9), ((*place, 2, "penalty"), 10)]
    mended = text.replace("mrmrr", "mrmr").replace("{name: fisher, penalty: 3}", "fisher")
    assert places_of(folder, mended) == [((*place, 0), 8), ((*place, 2), 10), ((*place, 3), 11)]


def test_all_contradictions_are_listed(folder):
    text = """\
constraints:
  - exclude: [radius]
  - require: [radius]
  - must_link: {features: [area, texture], rho: hard}
  - require: [area]
  - exclude: [texture]
"""
    assert places_of(folder, DATA + text) == [(("constraints", 1, "require"), 7), (("constraints", 4, "exclude"), 10)]
    linear = "  - linear: {A: [[1, 1, 1]], b: [1, 2], rho: [x]}\n  - linear: {b: [1, 2], rho: [x]}\n"
    wrong = [(5, "rho"), (5, "b"), (6, None), (6, "rho")]
    expected = {(("constraints", i, "linear", *([key] if key else [])), 6 + i) for i, key in wrong}
    assert set(places_of(folder, DATA + text + linear)) == expected


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("require: [radius, raduis]", "exclude: [radius]"),
        ("at_least_one: {features: [radius, raduis], rho: hard}", "exclude: [radius]"),
        ("cost_budget: {costs: {'*': 4, raduis: 1}, budget: 3, rho: hard}", "require: [radius]"),
    ],
)
def test_a_constraint_contradicts_others_once_its_names_are_right(folder, first, second):
    text = DATA + f"constraints:\n  - {first}\n  - {second}\n"
    assert [path[:2] for path, _ in places_of(folder, text)] == [("constraints", 0)]
    named = text.replace(", raduis: 1", "").replace(", raduis", "")
    assert [path[:2] for path, _ in places_of(folder, named)] == [("constraints", 1)]


@pytest.mark.parametrize("blocks", ["[a, b]", "3", "true"])
def test_blocks_in_a_study_are_not_asked_for_in_terms_of_python(tmp_path, blocks):
    (tmp_path / "study.yaml").write_text(f"data: {{path: data.csv}}\nblocks: {blocks}\n", encoding="utf-8")
    with pytest.raises(StudyError) as caught:
        load_study(tmp_path / "study.yaml")
    (problem,) = caught.value.problems
    assert problem.path == ("blocks",)
    assert "columns feature and block" in problem.message
    assert "DataFrame" not in problem.message
