"""All problems of a study at once, each at its place: paths and lines, whatever the words."""

import numpy as np
import pandas as pd
import pytest

from ubayfs.constraints import KINDS, Constraint
from ubayfs.constraints.constraint import Kind
from ubayfs.exceptions import InputError, StudyError
from ubayfs.study import load_study, resolve_study
from ubayfs.study.resolve import check_draft
from ubayfs.study.study import read_draft

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
    """Return path and line of all problems of a study, as the commands list them."""
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    study, problems = read_draft(folder / "study.yaml")
    if problems.found:
        check_draft(study, problems)
    with pytest.raises(StudyError) as caught:
        problems.raise_any() if problems.found else resolve_study(study)
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
    assert places_of(folder, text) == [
        (("data", "target"), 3),
        (("data", "ignore"), 4),
        (("evidence", "n_models"), 6),
        (("evidence", "train_size"), 7),
        (("evidence", "selector", "max_penalty"), 8),
        (("evidence", "selector", "min_penalty"), 8),
        (("prior", "kind"), 10),
        (("prior", "weights", "features", "area"), 12),
        (("prior", "weights", "features", "raduis"), 12),
        (("prior", "weights", "patterns", "x*"), 13),
        (("blocks", "size", 1), 15),
        (("constraints", 0, "must_link", "features", 1), 17),
        (("constraints", 1, "must_link", "rho"), 18),
        (("constraints", 1, "must_link", "features", 1), 18),
        (("constraints", 2, "linear", "A", "zzz"), 19),
        (("constraints", 3, "linear", "b"), 20),
        (("constraints", 4, "require", "features", 0), 21),
        (("constraints", 5, "max_per_block", "blocks", 0), 22),
        (("decision", "min_votes"), 24),
        (("decision", "n_alternative"), 25),
        (("outputs", "figures", 0), 26),
        (("outputs", "figures", 2), 26),
    ]


@pytest.mark.parametrize("unknown", ["gruops: patient", "wholly_unknown: 1"])
def test_an_unknown_key_hides_nothing_else(folder, unknown):
    text = f"""\
data:
  path: cells.csv
  {unknown}
  target: klass
  ignore: [center, nothing*]
prior: {{weights: {{features: {{raduis: likely}}}}}}
blocks: {{size: [aera]}}
constraints:
  - must_link: [radius, smoth]
  - cost_budget: {{costs: {{zzz: 1}}, budget: 2}}
"""
    assert places_of(folder, text) == [
        (("data", unknown.partition(":")[0]), 3),
        (("data", "target"), 4),
        (("data", "ignore"), 5),
        (("prior", "weights", "features", "raduis"), 6),
        (("blocks", "size", 0), 7),
        (("constraints", 0, "must_link", "features", 1), 9),
        (("constraints", 1, "cost_budget", "costs", "zzz"), 10),
    ]


@pytest.mark.parametrize(
    ("sections", "places"),
    [
        ("decision: {sed: 1, min_votes: 500}", [("decision", "sed"), ("decision", "min_votes")]),
        ("decision: {min_votes: 500}\nevidence: {sed: 1}", [("decision", "min_votes"), ("evidence", "sed")]),
        (
            "evidence: {modells: 900, n_features_per_model: 50}\ndecision: {min_votes: 500}",
            [("evidence", "modells"), ("evidence", "n_features_per_model")],  # 500 votes may be right
        ),
    ],
)
def test_only_the_key_that_was_meant_is_not_checked(folder, sections, places):
    assert [path for path, _ in places_of(folder, DATA + sections + "\n")] == places


def test_a_table_is_not_read_without_its_sheet(folder):
    pd.DataFrame({"other": [1, 2]}).to_excel(folder / "cells.xlsx", index=False)
    text = "data: {path: cells.xlsx, sheeet: second, target: class}\nconstraints: [{require: [radius]}]\n"
    assert places_of(folder, text) == [(("data", "sheeet"), 1)]


@pytest.mark.parametrize(
    ("constraint", "places"),
    [
        ("max_per_block: {n: two, blocks: [nosuch]}", [("n",), ("blocks", 0)]),
        ("implies: {if_features: [nosuch], then_features: []}", [("then_features",), ("if_features", 0)]),
        ("implies: {then_features: [nosuch]}", [(), ("then_features", 0)]),
        ("cost_budget: {costs: {nosuch: 1}, budget: lots}", [("budget",), ("costs", "nosuch")]),
        ("linear: {A: {nosuch: 1}, b: x}", [("b",), ("A", "nosuch")]),
        ("linear: {A: {p: 1, q: 1}, b: x, blocks: {p: [nosuch]}}", [("b",), ("blocks", "p", 0), ("A", "q")]),
        ("must_link: {features: [], rho: -1}", [("features",), ("rho",)]),
        ("cost_budget: {costs: {radius: 1}, budget: lots}", [("budget",)]),
        ("require: 7.5", [()]),
    ],
)
def test_a_wrong_argument_hides_no_wrong_name(folder, constraint, places):
    kind = constraint.partition(":")[0]
    text = f"blocks: {{size: [area]}}\nconstraints: [{{{constraint}}}, {{require: [aera]}}]\n"
    found = places_of(folder, DATA + text)
    expected = [("constraints", 0, kind, *place) for place in places]
    assert [path for path, _ in found] == [*expected, ("constraints", 1, "require", "features", 0)]


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


@pytest.mark.parametrize("wrong", ["target: klass", "target: class\n  groups: patent"])
def test_one_number_per_feature_is_not_counted_until_the_features_are_certain(folder, wrong):
    constraints = """\
constraints:
  - linear: {A: [[1, 0, 0, 0, 0]], b: 1}
  - cost_budget: {costs: [1, 2, 3, 4, 5], budget: 4}
  - cannot_link: [radius, radius]
"""
    found = places_of(folder, f"data:\n  path: cells.csv\n  {wrong}\n  ignore: [patient, center]\n{constraints}")
    assert [path[-1] for path, _ in found if path[0] == "constraints"] == ["features"]


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


def test_an_unreadable_value_hides_nothing_beside_it(folder):
    text = DATA + "prior: {weights: {features: {radius: !!set {a}, aera: likely, area: lik}}}\n"
    features = ("prior", "weights", "features")
    assert places_of(folder, text) == [((*features, name), 5) for name in ("radius", "area", "aera")]


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
  - linear: {{A: {row}, b: {bound}}}
  - cost_budget: {{costs: {costs}, budget: {budget}}}
  - max_size: {{n: {size}, rho: hard}}
  - require: [texture, area]
  - exclude: [radius]
  - require: [{also}]
  - implies: {{if_features: [{if}], then_features: {then}}}
  - max_per_block: {{n: {n}, blocks: [{in_block}]}}
  - {builder}: 1
  - linear: {{A: {{{own_name}: 1}}, b: 1, rho: {relaxations}, blocks: {{p: [{own_block}, area]}}}}
  - cost_budget: {{costs: {{radius: {price}, {item}: 1}}, budget: 9}}
  - cannot_link: [{number}, {beside}]
decision: {{optimizer: {{name: genetic, n_sets: {sets}}}, {limit}, min_votes: {votes}, \
constraint_strength: {strength}, seed: {seed_again}}}
outputs: {{figures: [{figure}], n_draws: {draws}}}
{section}: {{ubayfs: 0.2.0}}
"""

# What cannot be known without the names in the table, without their roles, and without their number.
OF_NAMES = {"feature", "pattern", "set_member", "set_block", "block", "link", "if", "own_block", "item", "beside"}
OF_ROLES = {"target", "groups", "ignore"}
OF_NUMBERS = {"row", "costs"}
HIDING = {
    "path": OF_NAMES | OF_ROLES | OF_NUMBERS | {"per_model"},
    "orientation": OF_NUMBERS,
    "key": OF_NUMBERS | OF_ROLES,
}


def test_the_study_without_mistakes_is_valid(folder):
    (folder / "aliases.csv").write_text("name,alias\nradius,r\n")
    (folder / "study.yaml").write_text(STUDY.format(**{name: right for name, (right, *_) in MISTAKES.items()}))
    assert resolve_study(load_study(folder / "study.yaml")).feature_names.tolist() == [*NAMES, "steady"]


@pytest.mark.parametrize("seed", range(30))
def test_no_mistake_hides_another(folder, seed):
    (folder / "aliases.csv").write_text("name,alias\nradius,r\n")
    rng = np.random.default_rng(seed)
    wrong = {name for name in MISTAKES if rng.random() < rng.choice([0.05, 0.5, 0.9])} or {"votes"}
    wrong -= {"path"} if seed % 3 else {"key", "orientation"} if seed % 2 else set()
    hidden = set().union(*(HIDING.get(name, set()) for name in wrong))
    text = STUDY.format(**{name: MISTAKES[name][name in wrong] for name in MISTAKES})
    line_of = {line.split(":")[0]: number for number, line in enumerate(text.splitlines(), start=1)}
    paths = [path for _, _, path, *beside in (MISTAKES[name] for name in wrong - hidden) if not wrong & set(beside)]
    expected = {(path, line_of[path[0]] + (path[1] + 1 if path[0] == "constraints" else 0)) for path in paths}
    assert set(places_of(folder, text)) == expected


@pytest.mark.parametrize(("share", "wrong"), [(0.01, True), (0.05, False), (0.95, False), (0.97, True)])
@pytest.mark.parametrize("role", ["groups: patent", "groups: center"])
def test_wrong_groups_hide_no_share_that_is_wrong_for_all_groups(folder, role, share, wrong):
    """Of 12 samples, and of fewer groups."""
    text = DATA.replace("center]", "steady]") + f"  {role}\nevidence: {{train_size: {share}}}\n"
    found = places_of(folder, text)
    assert (("evidence", "train_size"), 6) in found if wrong else ("evidence", "train_size") not in dict(found)
    assert ("data", "groups") in dict(found)


def test_ignoring_all_features_hides_no_other_mistake(folder):
    text = (
        DATA.replace("center]", "center, '*']")
        + """\
evidence: {n_features_per_model: 60, n_models: 10}
prior: {weights: {features: {raduis: likely}, patterns: {"zzz*": 2}}}
blocks: {size: [radius, aera]}
constraints:
  - max_size: {n: 2, rho: hard}
  - min_size: {n: 3, rho: hard}
  - must_link: [radius, smoth]
  - linear: {A: [[1, 2]], b: 1}
decision: {min_votes: 11}
"""
    )
    assert places_of(folder, text) == [
        (("data", "ignore"), 4),
        (("evidence", "n_features_per_model"), 5),
        (("prior", "weights", "patterns", "zzz*"), 6),
        (("prior", "weights", "features", "raduis"), 6),
        (("blocks", "size", 1), 7),
        (("constraints", 1, "min_size"), 10),
        (("constraints", 2, "must_link", "features", 1), 11),
        (("decision", "min_votes"), 13),
    ]


def test_what_files_state_is_checked_without_the_data(folder):
    """Also where names may be features or not, nothing is reported that need not be wrong."""
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
  - min_size: {n: 900, rho: hard}
  - min_size: {n: 5000, rho: hard}
  - cannot_link: [radius, radius]
  - must_link: ["tex*", 2]
  - linear: {A: [[1, 0]], b: 1}
  - max_per_block: {n: 1, blocks: [sise]}
  - max_size: {n: 899, rho: hard}
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
        ("constraints", 2, "cannot_link", "features"): 12,
        ("constraints", 6, "max_size"): 16,
    }


@pytest.mark.parametrize("key", ["taget", "grups", "ignor", "tsk"])
def test_a_misspelled_role_makes_no_other_mistake(folder, key):
    value = {"taget": "class", "grups": "patient", "ignor": "center", "tsk": "binary"}[key]
    roles = {"target": "class", "groups": "patient", "ignore": "center", "task": "binary"}
    given = {name: entry for name, entry in roles.items() if entry != value}
    lines = "".join(f"  {name}: {entry}\n" for name, entry in {"path": "cells.csv", **given, key: value}.items())
    text = f"data:\n{lines}evidence: {{selector: fisher}}\nconstraints:\n  - require: [raduis]\n"
    assert [path for path, _ in places_of(folder, text)] == [
        ("data", key), ("constraints", 0, "require", "features", 0)
    ]  # fmt: skip


@pytest.mark.parametrize("target", ["klass", "[1]"])
def test_blocks_of_several_files_are_known_by_their_names(folder, target):
    frame = pd.read_csv(folder / "cells.csv")
    frame.insert(0, "id", [f"s{i}" for i in range(len(frame))])
    frame[["id", "radius", "area", "class"]].to_csv(folder / "one.csv", index=False)
    frame[["id", "texture", "smooth"]].to_csv(folder / "two.csv", index=False)
    text = f"""\
data: {{path: {{one: one.csv, two: two.csv}}, id: id, target: {target}}}
constraints:
  - max_per_block: {{n: 1, blocks: [one, tow]}}
  - must_link: {{features: [one, two], on: blocks}}
  - require: [radius]
"""
    assert [path for path, _ in places_of(folder, text)] == [
        ("data", "target"), ("constraints", 0, "max_per_block", "blocks", 1)
    ]  # fmt: skip


def test_a_pattern_that_matches_no_gene_set_is_at_its_line_and_hides_no_other_name(folder):
    (folder / "sets.gmt").write_text("size\tx\tradius\tarea\nrest\tx\ttexture\n")
    blocks = "blocks:\n  gene_sets: sets.gmt\n  only: [size, zz*, shape]\n"
    prior = "prior:\n  weights:\n    blocks: {rest: likely, sise: likely}\n"
    constraints = "constraints:\n  - max_per_block: {n: 1, blocks: [sizes]}\n"
    assert places_of(folder, DATA + blocks + prior + constraints) == [
        (("blocks", "only", 1), 7),
        (("blocks", "only", 2), 7),
        (("prior", "weights", "blocks", "sise"), 10),
        (("constraints", 0, "max_per_block", "blocks", 0), 12),
    ]


@pytest.mark.parametrize("rule", ["features_in: rws", "id: [1]", "samples: [1]", "idd: gene"])
def test_names_are_compared_when_the_layout_is_not_known(folder, rule):
    turned = pd.read_csv(folder / "cells.csv")[NAMES].T.rename_axis("gene").reset_index()
    turned.insert(0, "chip", range(100, 104))
    turned.to_csv(folder / "turned.csv", index=False)
    for file in ("turned.csv", "cells.csv"):
        text = f"data: {{path: {file}, {rule}}}\nconstraints: [{{require: [radius, aera, 0]}}]\n"
        (_, wrong) = places_of(folder, text)
        assert wrong == (("constraints", 0, "require", "features", 1), 2)


@pytest.mark.parametrize("target", ["class", "klass", "center", "lone"])
@pytest.mark.parametrize("groups", ["patient", "patent", "site", "holes"])
@pytest.mark.parametrize("others", [["share"], ["note", "task"], ["ignore", "share", "width"]])
def test_no_mistake_of_the_samples_hides_another(folder, target, groups, others):
    """A target or groups that are not there, have one value, gaps or a class of one sample, and what is beside them."""
    frame = pd.read_csv(folder / "cells.csv").assign(lone=["a", *"bc" * 5, "b"], holes=[None, *range(5), *range(6)])
    frame.assign(note=["text", *range(11)], site=1).to_csv(folder / "cells.csv", index=False)
    groups = None if target == "lone" else groups  # with groups, a class may have one sample
    wrong = {
        ("data", "target"): target != "class" and not (target == "lone" and "task" in others),
        ("data", "groups"): groups not in (None, "patient"),
        ("data", "ignore"): "ignore" in others,
        ("data", "task"): "task" in others,
        ("data", "path"): "note" in others,
        ("evidence", "train_size"): "share" in others and groups in (None, "patient"),
        ("constraints", 0, "linear", "A"): "width" in others,
    }
    ignored = {"class", "lone", "patient", "center", "holes", "site", "note"} - {target, groups}
    ignored -= {"note"} if "note" in others else set()
    ignored |= {"zzz*"} if "ignore" in others else set()
    text = f"""\
data: {{path: cells.csv, target: {target}, groups: {groups or "null"}, ignore: {sorted(ignored)}, \
task: {"binry" if "task" in others else "null"}}}
evidence: {{train_size: {0.05 if "share" in others else 0.75}}}
constraints: [{{linear: {{A: {[1] if "width" in others else [1, 0, 0, 0, 0, 0][: 5 + ("note" in others)]}, b: 1}}}}]
"""
    if any(wrong.values()):
        assert {path for path, _ in places_of(folder, text)} == {path for path, is_wrong in wrong.items() if is_wrong}


def test_all_selectors_that_cannot_do_the_task_are_listed(folder):
    data = "data:\n  path: cells.csv\n  target: radius\n  task: regression\n  ignore: [class, patient, center]\n"
    text = data + "evidence:\n  selector:\n    - fisher\n    - mrmrr\n    - {name: fisher, penalty: 3}\n    - fisher\n"
    place = ("evidence", "selector")
    wrong = [((*place, 0), 8), ((*place, 1), 9), ((*place, 2), 10), ((*place, 2, "penalty"), 10), ((*place, 3), 11)]
    assert sorted(places_of(folder, text), key=str) == wrong
    assert places_of(folder, data + "evidence:\n  selector: [fisher, mrmrr]\n") == [((*place, 1), 7), ((*place, 0), 7)]


def test_all_contradictions_are_listed(folder):
    text = """\
constraints:
  - exclude: [radius]
  - require: [radius]
  - must_link: {features: [area, texture], rho: hard}
  - require: [area]
  - exclude: [texture]
  - linear: {A: [[1, 1, 1]], b: [1, 2], rho: [x]}
  - linear: {b: [1, 2], rho: [x]}
"""
    places = [(1, "require"), (4, "exclude")]
    expected = [(("constraints", position, kind), 6 + position) for position, kind in places]
    linear = [(5, "rho"), (5, "b"), (5, "A"), (6, None), (6, "rho")]
    expected += [(("constraints", i, "linear", *([key] if key else [])), 6 + i) for i, key in linear]
    assert sorted(places_of(folder, DATA + text), key=str) == sorted(expected, key=str)


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


@pytest.mark.parametrize(
    ("roles", "place"),
    [
        ("target: radius, task: multiclass", ("data", "target")),
        ("target: steady, groups: center, task: regression", ("data", "groups")),
        ("target: class, ignore: [patient, center]", ("evidence", "train_size")),
    ],
)
def test_a_wrong_feature_hides_no_problem_of_the_samples(folder, roles, place):
    frame = pd.read_csv(folder / "cells.csv").assign(steady=lambda frame: frame["radius"], note=["text", *range(11)])
    frame.to_csv(folder / "cells.csv", index=False)
    share = 0.05 if place == ("evidence", "train_size") else 0.75
    text = f"data: {{path: cells.csv, {roles}}}\nevidence: {{train_size: {share}}}\n"
    assert {path for path, _ in places_of(folder, text)} == {("data", "path"), place}
