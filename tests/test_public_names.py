"""The public names, and what importing them costs."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import ubayfs
from ubayfs.exceptions import InputError

MODULES = sorted(name for name in ubayfs.__all__ if inspect.ismodule(getattr(ubayfs, name)))
NAMES = sorted({*ubayfs.__all__} - {*MODULES})
HEAVY = ("joblib", "matplotlib", "scipy.optimize", "scipy.stats", "sklearn")


def test_all_is_sorted_strings_without_repetition():
    assert all(type(name) is str for name in ubayfs.__all__)
    assert ubayfs.__all__ == sorted(set(ubayfs.__all__))


def test_the_stub_exports_every_name_once_under_its_own_name():
    """A stub re-exports `name as name` only: anything else would be hidden from type checkers."""
    stub = ast.parse(Path(ubayfs.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    aliases = [alias for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert [alias.name for alias in aliases] == [alias.asname for alias in aliases]
    assert len({alias.name for alias in aliases}) == len(aliases)
    assert dir(ubayfs) == ubayfs.__all__ == sorted(alias.name for alias in aliases)


@pytest.mark.parametrize("name", MODULES)
def test_modules_with_names_of_their_own_are_found(name):
    # What a fresh interpreter is asked; here the module may be an attribute of the package already.
    assert ubayfs.__getattr__(name) is sys.modules[f"ubayfs.{name}"]
    assert name in dir(ubayfs)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_resolves(name):
    value = getattr(ubayfs, name)
    assert value.__name__ == name
    assert inspect.getdoc(value)


def test_there_are_about_forty_names():
    assert len(NAMES) <= 45


@pytest.mark.parametrize("name", sorted(ubayfs._MOVED))
def test_names_that_have_moved_say_where(name):
    place = f"ubayfs.{ubayfs._MOVED[name]}"
    with pytest.raises(AttributeError, match=f"module 'ubayfs' has no attribute '{name}'; it is in {place}$"):
        getattr(ubayfs, name)
    assert hasattr(import_module(place), name)
    assert not hasattr(ubayfs, name)
    assert name not in dir(ubayfs)


@pytest.mark.parametrize("name", sorted(ubayfs._REPLACED))
def test_names_that_were_replaced_say_by_what(name):
    place, _, new = f"ubayfs.{ubayfs._REPLACED[name]}".rpartition(".")
    with pytest.raises(AttributeError, match=f"module 'ubayfs' has no attribute '{name}'; {place}.{new} replaces it$"):
        getattr(ubayfs, name)
    assert hasattr(import_module(place), new)


@pytest.mark.parametrize("name", sorted({*ubayfs._MOVED, *ubayfs._REPLACED}))
def test_from_import_says_the_same(name):
    with pytest.raises(AttributeError) as attribute:
        getattr(ubayfs, name)
    with pytest.raises(ImportError) as imported:
        exec(f"from ubayfs import {name}", {})
    assert str(imported.value) == str(attribute.value)


def test_from_import_of_an_unknown_name_is_as_python_says_it():
    with pytest.raises(ImportError, match="cannot import name 'UBayFSSelektor' from 'ubayfs'"):
        exec("from ubayfs import UBayFSSelektor", {})


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'ubayfs' has no attribute 'UBayFSSelektor'"):
        _ = ubayfs.UBayFSSelektor


@pytest.fixture(scope="module")
def loaded_after():
    """Steps of a fresh interpreter, one after the other -> the heavy packages that it has loaded by then."""
    steps = ["import ubayfs, ubayfs.decision.workflow", "from ubayfs import UBayFSSelector"]
    report = f"print(*sorted(set(sys.modules) & set({HEAVY!r})))"
    code = "\n".join(["import sys", *(line for step in steps for line in (step, report))])
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return dict(zip(steps, map(str.split, run.stdout.splitlines()), strict=True))


def test_import_is_light(loaded_after):
    assert loaded_after["import ubayfs, ubayfs.decision.workflow"] == []


def test_the_estimator_is_loaded_when_it_is_asked_for(loaded_after):
    assert "sklearn" in loaded_after["from ubayfs import UBayFSSelector"]


KEYWORD_ONLY = [
    name
    for name in ubayfs.__all__
    if callable(value := getattr(ubayfs, name))
    and any(one.kind is one.KEYWORD_ONLY for one in inspect.signature(value).parameters.values())
    and name != "selection_probabilities"  # takes further arguments of decide
]


def test_arguments_by_name_are_the_rule():
    assert {"UBayFSSelector", "assess", "collect_evidence", "decide", "max_size", "read_data"} <= set(KEYWORD_ONLY)


@pytest.mark.parametrize("name", KEYWORD_ONLY)
def test_every_argument_that_is_not_there_is_refused_with_those_that_are(name):
    function = getattr(ubayfs, name)
    with pytest.raises(InputError, match=f"^{name} has no argument 'zzz'. It takes ") as refused:
        function(zzz=1)
    assert all(argument in str(refused.value) for argument in inspect.signature(function).parameters)


def test_arguments_that_another_function_has_are_refused_by_its_names():
    with pytest.raises(InputError, match=r"has no argument 'min_vote'\. Did you mean 'min_votes'"):
        ubayfs.selection_probabilities(None, min_vote=1)


@pytest.mark.parametrize("name", KEYWORD_ONLY)
def test_more_arguments_by_position_than_allowed_are_refused_with_the_call_by_name(name):
    function = getattr(ubayfs, name)
    parameters = inspect.signature(function).parameters.values()
    first = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    with pytest.raises(InputError, match=rf"^{name} takes only {', '.join(first)} by position.*{name}\(.*=\.\.\.\)"):
        function(*range(len(first) + 1))


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("decide", "max_features", "max_size"),
        ("decide", "constraint", "constraints"),
        ("UBayFSSelector", "max_size", "max_features"),
        ("UBayFSSelector", "n_features_to_select", "max_features"),
        ("collect_evidence", "n_estimators", "n_models"),
        ("collect_evidence", "seed", "random_state"),
    ],
)
def test_an_argument_by_another_name_is_refused_with_the_right_one(name, given, meant):
    with pytest.raises(InputError, match=f"^{name} has no argument '{given}'. Did you mean '{meant}'\\?$"):
        getattr(ubayfs, name)(**{given: 5})


def test_an_argument_of_another_function_is_not_taken_for_one_that_looks_alike():
    with pytest.raises(InputError, match=r"^collect_evidence has no argument 'max_size'\. It takes X, y, "):
        ubayfs.collect_evidence([[1.0]], [1], max_size=5)
