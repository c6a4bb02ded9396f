import pytest


@pytest.fixture
def always_programs(monkeypatch):
    """Small problems too are given to the solver, as only large ones are otherwise."""
    monkeypatch.setattr("ubayfs.optimize.cells._MOST_FEATURES", -1)


@pytest.fixture
def enumeration(monkeypatch, always_programs):
    """Small problems are enumerated after all, in a module that uses `always_programs`."""
    monkeypatch.setattr("ubayfs.optimize.cells._MOST_FEATURES", 12)


@pytest.fixture
def tiny_presolve(monkeypatch):
    """A few features are many: what presolve leaves out of large problems it leaves out of small ones."""
    monkeypatch.setattr("ubayfs.optimize.presolve._SMALLEST_CORE", 2)
    monkeypatch.setattr("ubayfs.optimize.presolve._CORE_RATIO", 0)
    monkeypatch.setattr("ubayfs.optimize.size_bounds._MOST_GROUPED", 5)
