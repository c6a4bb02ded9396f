"""What is wrong is found before the ensemble, all of it at once, in the words of whoever wrote it."""

from pathlib import Path

import pytest

WRONG = """\
data:
  path: cells.csv
  target: diagnosys
evidence:
  selector: mrmrr
  n_model: 100
prior:
  weights: {features: {mean Radius: likely}}
  table: nowhere.csv
constraints:
  - max_size: {n: -8, rho: hard}
  - require: [mean area, mean arae]
"""
KINDS = "".join(f"{i},{i * i % 7},{i * i * i % 5},{'uv'[i % 2]}\n" for i in range(12))
GOOD = "data: {path: t.csv, target: y}\n"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with a table of three features and twelve rows."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b,c,y\n" + KINDS, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("command", ["check", "select"])
def test_file_tables_and_names_are_three_lists(command, folder, run):
    phases = [
        ["line 5, evidence.selector", "line 6, evidence.n_model", "line 11, constraints[0].max_size.n"],
        ["line 3, data.target", "line 9, prior.table"],
        ["line 8, prior.weights.features['mean Radius']", "line 12, constraints[1].require.features[1]"],
    ]
    then = ["Tables, and the names in them, are checked after", "Names are compared with the tables after", ""]
    mended = [("mrmrr", "mrmr"), ("n_model:", "n_models:"), ("-8", "8")], [("diagnosys", "diagnosis"), ("nowhere", "w")]
    Path("w.csv").write_text("feature,weight\nmean area,likely\n", encoding="utf-8")
    text = WRONG
    for phase, (places, checked_later) in enumerate(zip(phases, then, strict=True)):
        Path("wrong.yaml").write_text(text, encoding="utf-8")
        done = run(command, "wrong.yaml")
        assert done.code == 2
        lines = done.err.splitlines()
        assert lines[0] == f"ubayfs {command}: wrong.yaml has {len(places)} problems:"
        assert [line.partition(": ")[0].removeprefix("- wrong.yaml, ") for line in lines[1 : len(places) + 1]] == places
        assert lines[len(places) + 1 :] == ([f"{checked_later} these are fixed."] if checked_later else [])
        for wrong, right in mended[phase] if phase < 2 else ():
            text = text.replace(wrong, right)
    assert "Did you mean 'mean radius'?" in lines[1]
    assert "Did you mean 'mean area'?" in lines[2]


@pytest.mark.parametrize("command", ["check", "select"])
def test_wrong_options_are_one_list(command, folder, run):
    wrong = ["--target", "diagnosys", "--selector", "mrmrr", "--models", "-5", "--missing", "foo", "--require", "zz"]
    done = run(command, "cells.csv", *wrong, "--max-size", "-1", "--weight", "mean radius=lik", "--without", "maxsize")
    assert done.code == 2
    assert done.err.startswith(f"ubayfs {command}: there are 6 problems:\n")
    for place in (
        "--selector: must be one of",
        "--models: must be a whole number >= 1; got -5.",
        "--missing: must be one of",
        "--max-size: must be a whole number >= 0; got -1.",
        "--weight mean radius=lik: must be one of",
        "--without: must be one of",
    ):
        assert f"\n- {place}" in done.err
    done = run(command, "cells.csv", "--target", "diagnosys", "--require", "zz")
    target = "--target: cells.csv: there is no column 'diagnosys' to be the target. Did you mean 'diagnosis'?\n"
    assert done.err.startswith(f"ubayfs {command}: {target}Names are compared with the tables after this is fixed.")
    assert run(command, "cells.csv", "--target", "diagnosis", "--require", "zz").err.startswith(
        f"ubayfs {command}: --require: 'zz' is not a feature."
    )


def test_wrong_options_of_decide_are_listed(finished, run):
    names = ["--must-link", "nosuch", "mean area", "--require", "nope", "--weight", "foo=likely", "--min-votes", "31"]
    for values, places in (
        (["--max-size", "-1", "--prior", "dirichlt"], ["--max-size", "--prior"]),
        ([], ["--min-votes", "--must-link", "--require", "--weight foo=likely"]),
    ):
        done = run("decide", finished, *names, *values)
        assert done.code == 2
        lines = done.err.splitlines()
        assert lines[0] == f"ubayfs decide: there are {len(places)} problems:"
        assert sorted(line.partition(": ")[0][2:] for line in lines if line.startswith("- ")) == places


def test_options_and_file_each_own_their_problems(folder, run):
    text = Path("study.yaml").read_text(encoding="utf-8").replace("worst area", "worst aera")
    Path("study.yaml").write_text(text, encoding="utf-8")
    done = run("check", "study.yaml", "--max-size", "3", "--exclude", "worst radios")
    # The limit of the size comes from the option, so that the second constraint of the file is the first one now.
    assert done.err.startswith("ubayfs check: there are 2 problems:\n")
    assert "\n- --exclude: 'worst radios' is not a feature. Did you mean 'worst radius'?" in done.err
    assert "\n- study.yaml, line 14, constraints[1].cannot_link.features[1]: 'worst aera' is not" in done.err


BEFORE_THE_ENSEMBLE = {
    "features per model": (
        GOOD + "evidence: {n_features_per_model: 50}\n",
        "line 2, evidence.n_features_per_model: must be at most the number of features, 3; got 50. Leave it out to",
    ),
    "train size": (
        GOOD + "evidence: {train_size: 0.001}\n",
        "line 2, evidence.train_size: train_size=0.001 of 12 samples leaves 0 of them in a subsample; at least 2 "
        "are needed.",
    ),
    "a class with one row": (
        "data: {path: t.csv, target: a, ignore: ['y']}\n",
        "data.target: The target has 12 different values in 12 samples, which are read as classes.",
    ),
    "a selector that cannot do the task": (
        "data: {path: t.csv, target: a, task: regression, ignore: ['y']}\nevidence: {selector: fisher}\n",
        "line 2, evidence.selector: 'fisher' cannot do task 'regression', only",
    ),
    "more votes than models": (
        GOOD + "evidence: {n_models: 5}\ndecision: {min_votes: 6}\n",
        "line 3, decision.min_votes: must be at most the number of models, 5",
    ),
    "contradicting constraints": (
        GOOD + "constraints:\n  - exclude: [a]\n  - max_size: 2\n  - require: [a, b]\n",
        "line 5, constraints[2].require: no feature set satisfies all hard constraints. These contradict each "
        "other: exclude a; require a. Remove one of them, or make it soft: a wish with a price. See also bad.yaml, "
        "line 3, constraints[0].exclude.",
    ),
    "too many are required": (
        GOOD + "constraints:\n  - max_size: {n: 1, rho: hard}\n  - require: [a, b]\n",
        "line 4, constraints[1].require: no feature set satisfies all hard constraints",
    ),
}


@pytest.mark.parametrize("command", ["check", "select"])
@pytest.mark.parametrize("kind", BEFORE_THE_ENSEMBLE)
def test_what_select_refuses_check_refuses_too(kind, command, own, run, monkeypatch):
    monkeypatch.setattr("ubayfs.study.Study.collect", lambda *_, **__: 1 / 0)  # the ensemble is never reached
    text, words = BEFORE_THE_ENSEMBLE[kind]
    Path("bad.yaml").write_text(text, encoding="utf-8")
    done = run(command, "bad.yaml")
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert f"bad.yaml, {words}" in done.err or f"bad.yaml, line 1, {words}" in done.err
    for python in ("None", "='", "(str)", " y "):
        assert python not in done.err


def test_columns_that_say_the_same_cannot_both_be_required(own, run):
    rows = "".join(f"{i},{-i},{i % 5},{'uv'[i % 2]}\n" for i in range(12))
    Path("t.csv").write_text("a,b,c,y\n" + rows, encoding="utf-8")
    Path("bad.yaml").write_text(GOOD + "constraints:\n  - decorrelate: 0.5\n  - require: [a, b]\n", encoding="utf-8")
    done = run("check", "bad.yaml")
    assert done.code == 2
    assert "bad.yaml, line 4, constraints[1].require: no feature set satisfies all hard constraints" in done.err
    assert "See also bad.yaml, line 3, constraints[0].decorrelate." in done.err
    Path("fine.yaml").write_text(GOOD + "constraints:\n  - decorrelate: 0.5\n  - require: [a, c]\n", encoding="utf-8")
    assert run("check", "fine.yaml").code == 0


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("a,b,y\n1,2,u\nx,3,v\n2,3,u\n3,4,v\n", "data.path"),
        ("a,b,y\n1,2,u\n2,3\n2,3,u\n3,4,v\n", "data.path"),
        ("y\nu\nv\nu\nv\n", "data.path"),
        ("a,b,y\n1,2,u\n2,inf,v\n2,3,u\n3,4,v\n", "data.path"),
        ("a,b,y\n1,2,u\n2,,v\n2,3,u\n3,4,v\n", "data.missing"),
        ("a,b,y\n1,2,\n2,3,\n2,3,\n3,4,\n", "data.target"),
        ("1-Mar,b,y\n1,2,u\n2,3,v\n2,3,u\n3,4,v\n", "data.features"),
    ],
)
def test_problems_of_a_table_name_the_key_that_has_to_change(table, key, own, run):
    Path("t.csv").write_text(table, encoding="utf-8")
    Path("study.yaml").write_text(GOOD, encoding="utf-8")
    done = run("check", "study.yaml")
    assert done.code == 2
    assert done.err.startswith(f"ubayfs check: study.yaml, line 1, {key}: t.csv"), done.err


def test_several_columns_are_ignored_by_one_option(own, run):
    done = run("check", "t.csv", "--target", "y", "--ignore", "a", "b")
    assert done.code == 0, done.err
    assert "12 samples, 1 features" in done.out


def test_an_option_takes_a_time_limit_back(own, run):
    Path("s.yaml").write_text(GOOD + "decision: {time_limit: 3}\n", encoding="utf-8")
    done = run("check", "s.yaml", "--optimizer", "genetic")
    assert done.code == 2
    assert "decision.time_limit: is not supported by" in done.err
    assert run("check", "s.yaml", "--optimizer", "genetic", "--time-limit", "none").code == 0
