"""The public names, and what importing them costs."""

import inspect
import subprocess
import sys

import pytest

import ubayfs

HEAVY = ("joblib", "matplotlib", "scipy.optimize", "scipy.stats", "sklearn")


def test_all_is_sorted_strings_without_repetition():
    assert all(type(name) is str for name in ubayfs.__all__)
    assert ubayfs.__all__ == sorted(set(ubayfs.__all__))


def test_all_holds_exactly_the_public_names():
    ours = {
        name
        for name, value in vars(ubayfs).items()
        if not name.startswith("_")
        and not inspect.ismodule(value)
        and getattr(value, "__module__", "").startswith("ubayfs")
    }
    assert set(ubayfs.__all__) == ours | {"UBayFSSelector", "__version__"}


@pytest.mark.parametrize("name", ubayfs.__all__)
def test_every_name_resolves(name):
    value = getattr(ubayfs, name)
    assert name in dir(ubayfs)
    assert name == "__version__" or value.__name__ == name
    assert name == "__version__" or inspect.getdoc(value)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'ubayfs' has no attribute 'UBayFSSelektor'"):
        _ = ubayfs.UBayFSSelektor


def loaded_after(statements):
    """Return which heavy packages a fresh interpreter has loaded after some statements."""
    code = f"import sys; {statements}; print(*sorted(set(sys.modules) & set({HEAVY!r})))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_import_is_light():
    assert loaded_after("import ubayfs, ubayfs.workflow") == []


def test_the_estimator_is_loaded_when_it_is_asked_for():
    assert "sklearn" in loaded_after("from ubayfs import UBayFSSelector")
