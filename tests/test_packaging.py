"""What the distribution of ubayfs is made of."""

import os
import re
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_wheel_holds_the_package_and_nothing_else(project):
    targets = project["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"] == {"packages": ["src/ubayfs"]}
    assert "/experiments" in targets["sdist"]["exclude"]
    assert [path.name for path in (ROOT / "src").iterdir() if not path.name.endswith(".egg-info")] == ["ubayfs"]


def test_the_experiments_are_not_part_of_it(project):
    assert list(project["project"]["scripts"]) == ["ubayfs"]
    assert "experiments" not in project["project"]["optional-dependencies"]
    sources = [path for path in (ROOT / "src").rglob("*.py") if "experiments" in path.read_text(encoding="utf-8")]
    assert sources == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_test_all_takes_every_python_that_starts(tmp_path):
    """On the path or of pyenv; one that is there but does not start, as a shim of pyenv, is none."""
    for name, code in {"python3.11": 127, "python3.12": 0, "python3.14": 0}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n")
    pyenv = tmp_path / "pyenv" / "versions" / "3.11.9" / "bin" / "python3.11"
    pyenv.parent.mkdir(parents=True)
    pyenv.write_text("#!/bin/sh\nexit 0\n")
    for path in (pyenv, *tmp_path.glob("python*")):
        path.chmod(0o755)
    (tmp_path / "dirname").symlink_to(shutil.which("dirname"))
    environment = {"PATH": str(tmp_path), "PYENV_ROOT": str(tmp_path / "pyenv"), "DRY_RUN": "1", "HOME": os.devnull}
    command = [shutil.which("bash"), str(ROOT / ".ci" / "test-all")]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == [
        f"Python 3.11: make test VENV=.venv-3.11 PYTHON={pyenv}",
        "Python 3.12: make test VENV=.venv-3.12 PYTHON=python3.12",
        "Python 3.13: not found",
        "Python 3.14: make test VENV=.venv-3.14 PYTHON=python3.14",
        f"oldest packages: make test-minimum PYTHON={pyenv}",
    ]


def targets():
    """Return the targets of make that people call."""
    return set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.fixture(scope="module")
def jobs():
    """All jobs of the workflows."""
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert [path.name for path in workflows] == ["docs.yml", "release.yml", "tests.yml"]
    return [job for path in workflows for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()]


def test_jobs_end_and_take_actions_that_nobody_can_exchange(jobs):
    assert all(job["timeout-minutes"] <= 45 for job in jobs)
    actions = [step["uses"] for job in jobs for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action) for action in actions)


def test_workflows_call_targets_of_make_only(jobs):
    """What CI does can be repeated on any machine."""
    called = [step["run"].split()[:2] for job in jobs for step in job["steps"] if "run" in step]
    assert all(make == "make" and target in targets() for make, target in called)
    here = re.findall(r"^make (\S+)$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(here) <= {target for _, target in called}


def test_the_matrix_has_every_supported_python(project):
    matrix = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))["jobs"]["test"]
    versions = [row.rpartition(" ")[2] for row in project["project"]["classifiers"] if "Python :: 3." in row]
    assert matrix["strategy"]["matrix"]["python"] == versions


def test_tools_of_developers_are_groups_and_not_in_the_metadata(project):
    groups = set(project["dependency-groups"])
    assert not groups & set(project["project"]["optional-dependencies"])
    named = re.search(r"^GROUPS := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1].split()
    assert set(named) == groups - {"browser", "dev"}  # which others include


def test_every_extra_of_users_is_tried_before_a_release(project):
    check = (ROOT / ".ci" / "release-check").read_text(encoding="utf-8")
    extras = set(project["project"]["optional-dependencies"])
    tried = set(re.search(r"EXTRAS:-(.*?)\}", check)[1].split()) - {"none"}
    assert tried == extras
    assert set(runpy.run_path(str(ROOT / ".ci" / "smoke.py"))["CHECKS"]) == tried | {""}
