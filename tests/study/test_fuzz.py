"""Whatever stands in a study file, the answer is a study or a list of problems; nothing else is ever raised."""

import copy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amounts import examples
from ubayfs.exceptions import StudyError
from ubayfs.study import load_study
from ubayfs.study.yaml_io import dump_document

NAMES = ["a", "b", "c", "d", "7", "x*"]
VALID = {
    "data": {"path": "d.csv", "target": "y", "ignore": ["id"], "missing": "error", "task": "binary"},
    "evidence": {
        "selector": ["mrmr", {"name": "lasso", "order": "entry", "min_penalty": 0.1}],
        "n_models": 9,
        "train_size": 0.5,
        "seed": 1,
    },
    "prior": {
        "kind": {"name": "hyperdirichlet", "set_weights": [{"set": ["a", "b"], "weight": 1}]},
        "weights": {"default": 1, "features": {"a": 1, "b": "likely"}, "patterns": {"c*": 2}, "blocks": {"k": 3}},
    },
    "blocks": {"k": ["d"], "l": ["a", "b*"]},
    "constraints": [
        {"max_size": 3},
        {"must_link": {"features": ["a", "b"], "rho": "hard"}},
        {"implies": {"if_features": ["a"], "then_features": ["b"]}},
        {"max_per_block": {"n": 1, "blocks": ["k"]}},
        {"cost_budget": {"costs": {"a": 1, "x*": 2}, "budget": 3}},
        {"linear": {"A": [[1, 0, 0, 0, 0, 2]], "b": [1], "rho": [1]}},
        {"linear": {"A": {"p": 1}, "b": 1, "blocks": {"p": ["a", "c"]}}},
        {"decorrelate": 0.5},
    ],
    "decision": {"optimizer": {"name": "genetic", "n_sets": 5}, "min_votes": 0, "constraint_strength": 1},
    "outputs": {"directory": "out", "figures": ["png"], "n_draws": 3},
    "versions": {"ubayfs": "0.1.0"},
}


def places(value, path=()):
    """Return the places of all entries, however deep."""
    found = [path] if path else []
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        found += places(entry, (*path, key))
    return found


def changed(path, kind, junk):
    study = copy.deepcopy(VALID)
    *above, last = path
    inside = study
    for key in above:
        inside = inside[key]
    if kind == "replace":
        inside[last] = junk
    elif kind == "drop":
        del inside[last]
    elif isinstance(inside, dict):
        inside[str(junk)[:20]] = inside.pop(last)
    else:
        inside.append(junk)
    return study


def outcome(file):
    """Return the study and no problems, or None and the problems."""
    try:
        study = load_study(file)
        study.arguments(NAMES)
    except StudyError as error:
        return None, error.problems
    return study, ()


words = st.sampled_from(["a", "zzz", "hard", "likely", "k", "x*", "*", "[", "", "name", "features", "7", "mrmr"])
scalars = st.one_of(st.none(), st.booleans(), st.integers(-3, 9), st.floats(allow_nan=True), words, st.text(max_size=5))
junk = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=6,
)


def test_the_study_to_be_changed_is_valid(tmp_path):
    (tmp_path / "study.yaml").write_text(dump_document(VALID))
    arguments = load_study(tmp_path / "study.yaml").arguments(NAMES)
    assert arguments["weights"].tolist() == [1, 2.25, 2, 3, 1, 1]


@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(places(VALID)), st.sampled_from(["replace", "drop", "rename"]), junk)
def test_one_wrong_thing_is_reported_and_nothing_breaks(tmp_path, path, kind, junk):
    file = tmp_path / "study.yaml"
    file.write_text(dump_document(changed(path, kind, junk)), encoding="utf-8")
    study, problems = outcome(file)
    assert all(str(problem).startswith("study.yaml") and "\n" not in str(problem) for problem in problems)
    assert bool(problems) == (study is None)
    if study is not None:
        study.save(file)
        assert load_study(file) == study


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=60), st.text(alphabet="ab:-[]{}&*!#|>'\"%@`,? \n\t", max_size=60).map(str.encode)))
def test_any_bytes(tmp_path, content):
    file = tmp_path / "study.yaml"
    file.write_bytes(content)
    with pytest.raises(StudyError, match=r"^study\.yaml"):
        load_study(file)
