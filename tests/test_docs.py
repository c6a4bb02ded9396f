"""The documentation is true: its Python runs, its commands print what it shows, and its links lead somewhere."""

import contextlib
import doctest
import glob
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace

import pytest
from sklearn.datasets import load_breast_cancer

import ubayfs
from ubayfs.cli.main import main
from ubayfs.constraints import KINDS
from ubayfs.data.target import TASKS
from ubayfs.selectors import SELECTORS

ROOT = Path(__file__).parents[1]
PAGES = sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(r"^```(\w+(?: no-run)?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What a page tells its reader to do in a terminal: files to make, commands and what they print.
STEP = re.compile(r"^```(console|(?:csv|yaml|bash|snakemake) \S+|python \S+\.py)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What a page adds to a command that is to fail.
CODE = '; echo "exit code $?"'
# Blocks of these begin with a comment that names the file they belong to.
FILE = re.compile(r"# ((?:src|tests|docs)/\S+|README\.md)\n(.*)", re.DOTALL)


def blocks(page, language):
    return [code for kind, code in FENCE.findall((ROOT / page).read_text(encoding="utf-8")) if kind == language]


@pytest.mark.usefixtures("blank_figures")
@pytest.mark.parametrize("page", PAGES)
def test_python_runs(page, tmp_path, monkeypatch):
    """The blocks of a page share their names, as in one session; files that they write go to an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for number, code in enumerate(blocks(page, "python"), start=1):
        if not FILE.match(code):
            exec(compile(code, f"{page}, block {number}", "exec"), namespace)


@pytest.mark.parametrize("page", PAGES)
def test_every_fence_is_known(page):
    """A misspelled fence would keep its block from being run; one that is not to be run is still Python."""
    text = (ROOT / page).read_text(encoding="utf-8")
    known = {"python", "python no-run", "diff", "console", "console no-run"}
    fences = {one for one in re.findall(r"^```(.+)$", text, re.MULTILINE) if not STEP.search(f"```{one}\n```\n")}
    assert fences <= known
    for number, code in enumerate(blocks(page, "python no-run"), start=1):
        compile(code, f"{page}, block {number} that is not run", "exec")


def in_terminal(command, folder):
    """Run what a reader would type; targets of make, which would build everything anew, are only looked up."""
    if command.startswith("make "):
        command = f"make -n -C '{ROOT}' {command.removeprefix('make ')}"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "120", "PYTHONWARNINGS": "error"}
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def in_process(words):
    """Run a command of ubayfs, or a line of Python, here, where everything is imported already."""
    printed, shown = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(shown):
        code = main(words[1:]) if words[0] == "ubayfs" else exec(words[2], {})
    return SimpleNamespace(returncode=code or 0, stdout=printed.getvalue(), stderr=shown.getvalue())


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Function words, folder -> a run of ``ubayfs demo``, which several pages begin with: the others have a copy."""
    made = {}

    def run(words, folder):
        key = tuple(words)
        if key not in made:
            before = set(folder.iterdir())
            done, kept = in_process(words), tmp_path_factory.mktemp("demo")
            for new in set(folder.iterdir()) - before:
                shutil.copytree(new, kept / new.name)
            made[key] = done, kept
        else:
            shutil.copytree(made[key][1], folder, dirs_exist_ok=True)
        return made[key][0]

    return run


def typed(command, folder, demo):
    """Run what a reader would type, without a shell if it needs none: names of files and the code are found here."""
    asked = command.endswith(CODE)
    words = shlex.split(command.removesuffix(CODE), comments=True)
    unread = words[-2:] == [">", "/dev/null"]
    plain = words[:-2] if unread else words
    known = plain[0] == "ubayfs" or (plain[:2] == ["python", "-c"] and len(plain) == 3)
    if not known or set(plain) & {">", "|"} or (plain[0] == "ubayfs" and ";" in command.removesuffix(CODE)):
        return in_terminal(command, folder)
    if plain[0] == "ubayfs":
        plain = [name for word in plain for name in sorted(glob.glob(word)) or [word]]
    run = demo(plain, folder) if plain[:2] == ["ubayfs", "demo"] else in_process(plain)
    if asked:
        return SimpleNamespace(returncode=0, stdout=f"{run.stdout}exit code {run.returncode}\n", stderr=run.stderr)
    return SimpleNamespace(returncode=run.returncode, stdout="", stderr=run.stderr) if unread else run


@pytest.mark.usefixtures("blank_figures")
@pytest.mark.parametrize("page", PAGES)
def test_commands_run_and_print_what_the_page_shows(page, tmp_path, monkeypatch, request, demo):
    """Files and commands of a page in their order, in an empty folder; "..." stands for any text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    steps = STEP.findall((ROOT / page).read_text(encoding="utf-8"))
    if any('"$UBAYFS_DATA"' in content for _, content in steps):
        monkeypatch.setenv("UBAYFS_DATA", str(request.getfixturevalue("data_dir")))  # skips where it is absent
    for kind, content in steps:
        if kind != "console":
            (tmp_path / kind.split()[1]).write_text(content, encoding="utf-8")
            continue
        for entry in re.split(r"^\$ ", content, flags=re.MULTILINE)[1:]:
            command, _, expected = entry.replace("\\\n", "").partition("\n")
            run = typed(command, tmp_path, demo)
            assert run.returncode == 0, f"$ {command}\n{run.stdout}{run.stderr}"
            if expected.strip():
                printed = run.stderr + run.stdout
                shown = doctest.OutputChecker().check_output(
                    expected.strip() + "\n", printed.strip() + "\n", doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
                )
                assert shown, f"$ {command}\n{printed}"


@pytest.mark.skipif(shutil.which("snakemake") is None, reason="needs snakemake")
def test_the_rules_of_snakemake_work(tmp_path):
    """They work on a fresh folder, change nothing when nothing has changed, and repeat what depends on the study."""
    text = (ROOT / "docs" / "large_data.md").read_text(encoding="utf-8")
    files = {kind.split()[1]: content for kind, content in STEP.findall(text) if " " in kind}
    (tmp_path / "study.yaml").write_text(files["study.yaml"], encoding="utf-8")
    (tmp_path / "Snakefile").write_text(files["Snakefile"].replace("N = 20", "N = 3"), encoding="utf-8")
    data = load_breast_cancer(as_frame=True)
    data.data.assign(diagnosis=data.target).to_csv(tmp_path / "cells.csv", index=False)

    def snakemake():
        run = in_terminal("PYTHONWARNINGS= snakemake --cores 2", tmp_path)
        assert run.returncode == 0, run.stderr
        return run.stderr, (tmp_path / "evidence" / "evidence.npz").read_bytes()

    _, first = snakemake()
    assert "Nothing to be done" in snakemake()[0]
    (tmp_path / "study.yaml").write_text(files["study.yaml"].replace("seed: 1", "seed: 2"), encoding="utf-8")
    assert snakemake()[1] != first


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_pip_name_extras_that_exist(page):
    extras = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    for named in re.findall(r'pip install "?(?:ubayfs|\.)\[([\w,]+)\]', (ROOT / page).read_text(encoding="utf-8")):
        assert set(named.split(",")) <= set(extras)


def headings(path):
    """Return the anchors of a page: its headings in small letters, without punctuation, with dashes."""
    lines = [line.strip("# ").lower() for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    return [re.sub(r"[^\w\- ]", "", line).replace(" ", "-") for line in lines]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if path.startswith("http"):
            continue
        if "gallery/" in path:  # made of the examples when the site is built
            name = Path(path).stem
            assert name == "index" or (ROOT / "examples" / f"{name}.py").exists(), target
            continue
        found = (ROOT / page).parent / path if path else ROOT / page
        assert found.exists(), target
        assert not anchor or anchor in headings(found), target


def test_the_readme_is_short():
    """A reader has a minute: six kilobytes, and an example of eight lines."""
    assert (ROOT / "README.md").stat().st_size <= 6000
    assert len([line for line in blocks("README.md", "python")[0].splitlines() if line]) <= 8


@pytest.mark.parametrize(("page", "most"), [("CHANGELOG.md", 8000), ("CONTRIBUTING.md", 7000)])
def test_what_developers_read_is_short(page, most):
    assert (ROOT / page).stat().st_size <= most


def test_the_readme_reads_the_same_on_a_package_index():
    """It names files, which are there, and links other sites only; the picture is the one exception: see RELEASE.md."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    relative = [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if not target.startswith("https://")]
    assert relative == ["docs/images/report.png"]
    named = re.findall(r"`((?:docs/\S+|\w+)\.(?:md|cff))`", text)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).is_file()] == []


# The tutorial shows lines of the command line as they are printed.
@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/") and page != "docs/tutorial.md"])
def test_code_fits_the_column(page):
    """The column of the site has 84 characters; a longer line would have to be scrolled."""
    fences = re.findall(r"^```\w+.*?\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert [line for fence in fences for line in fence.splitlines() if len(line) > 84] == []


def test_what_the_expert_says_matters_in_the_main_example():
    """The votes, and the exchange that the sentence below the example names, are those that it finds."""
    page, names = (ROOT / "README.md").read_text(encoding="utf-8"), {}
    exec(blocks("README.md", "python")[0], names)
    selection = names["selection"]
    without = ubayfs.decide(names["evidence"], max_size=6, constraints=names["wanted"])
    gained = {"worst concavity": 32, "worst smoothness": 36}
    lost = {"radius error": 92, "worst symmetry": 50}
    assert set(selection.features) - set(without.features) == set(gained)
    assert set(without.features) - set(selection.features) == set(lost)
    votes = dict(zip(selection.feature_names, selection.counts, strict=True))
    assert {name: votes[name] for name in gained | lost} == gained | lost
    assert set(re.findall(r"`((?:mean|worst) \w+|\w+ error)`", page)) == set(gained | lost)


def test_table_of_selectors():
    """Row by row, "yes" stands exactly where the selector uses the target of the task."""
    columns = ("binary", "multiclass", "multilabel", "regression", "survival", "unsupervised")
    assert set(columns) == set(TASKS)
    page = (ROOT / "docs" / "targets.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` [^|]*\|((?:[^|]*\|){6})$", page, re.MULTILINE)
    table = {
        name: {c for c, cell in zip(columns, cells.split("|")[:6], strict=True) if cell.strip()} for name, cells in rows
    }
    assert table == {
        name: {"unsupervised"} if "unsupervised" in selector.tasks else set(selector.tasks)
        for name, selector in SELECTORS.items()
    }


def test_every_builder_is_listed():
    text = (ROOT / "docs" / "constraints.md").read_text(encoding="utf-8")
    assert {kind for kind in KINDS if f"`{kind}(" not in text} == set()


@pytest.mark.parametrize("page", PAGES)
def test_names_in_code_spans_exist(page):
    """What looks like a name of the package in the pages is one, to its last part."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for name in re.findall(r"\b(ubayfs(?:\.[a-zA-Z_]\w*)+)(?!\S*[@/])", text):
        assert resolve_name(name) is not None


ROOMS = [
    ROOT,
    ROOT / "src" / "ubayfs",
    ROOT / "experiments" / "src",
    ROOT / "experiments" / "src" / "ubayfs_experiments",
]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/method.md", "docs/experiments.md"])
def test_modules_that_pages_name_exist(page):
    """And hold the names that a page says they hold. A line that names a room may name its modules without it."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for line in text.splitlines():
        named = [room / name for name in re.findall(r"`((?:\w+/)+)`", line) for room in ROOMS]
        for module, name in re.findall(r"`((?:\w+/)*\w+\.py)`(?:: `([\w.]+)`)?", line):
            assert any((room / module).is_file() for room in [*ROOMS, *named]), module
            if name:
                assert resolve_name(f"ubayfs.{module.removesuffix('.py').replace('/', '.')}.{name}") is not None


def test_rooms_of_the_architecture_exist():
    """Those of the table in CONTRIBUTING.md are the packages that there are."""
    table = re.findall(r"^\| (`[^|]+`) \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    rooms = {name for cell in table for name in re.findall(r"`(\w+)/`", cell)}
    assert rooms == {path.parent.name for path in (ROOT / "src" / "ubayfs").glob("*/__init__.py")}


def test_version_is_the_same_everywhere():
    assert f"version: {ubayfs.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    first = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[0]
    version, _, date = first.partition(" - ")
    assert version == ubayfs.__version__
    assert re.fullmatch(r"unreleased|\d{4}-\d{2}-\d{2}", date)


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "images").glob("*.png")), ids=lambda path: path.stem)
def test_pictures_are_of_this_version(path):
    """`make pictures` writes the version of ubayfs into each picture; all of them are shown somewhere."""
    from PIL import Image

    with Image.open(path) as picture:
        assert picture.info["Software"] == f"ubayfs {ubayfs.__version__}"
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    assert any(f"images/{path.name})" in page.read_text(encoding="utf-8") for page in pages)
