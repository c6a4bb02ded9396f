"""What the distribution of ubayfs is made of."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def project():
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_wheel_holds_the_package_and_nothing_else(project):
    targets = project["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"] == {"packages": ["src/ubayfs"]}
    assert "/experiments" in targets["sdist"]["exclude"]
    assert [path.name for path in (ROOT / "src").iterdir() if not path.name.endswith(".egg-info")] == ["ubayfs"]


def test_the_experiments_are_no_part_of_it(project):
    assert list(project["project"]["scripts"]) == ["ubayfs"]
    assert "experiments" not in project["project"]["optional-dependencies"]
    sources = [path for path in (ROOT / "src").rglob("*.py") if "experiments" in path.read_text(encoding="utf-8")]
    assert sources == []
