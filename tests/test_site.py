"""The documentation site leaves nothing out: a page and an example for every public name, a place for every page."""

import inspect
import re
import runpy
from importlib import import_module
from pathlib import Path

import pytest

import ubayfs
from ubayfs.constraints import KINDS

DOCS = Path(__file__).parents[1] / "docs"
MODULES = {name for name in ubayfs.__all__ if inspect.ismodule(getattr(ubayfs, name))}
NAMES = {*ubayfs.__all__} - MODULES
GENERATED = ("gallery", "_build", "names", "modules", "examples")


def listed(page):
    """Return the entries of the lists of names in a page of the reference."""
    return re.findall(r"^   ([\w.]+)$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_public_name_has_one_page():
    names = listed("api/index.rst")
    # What is in a module that has a page of its own stands there.
    elsewhere = {f"{place}.{name}" for name, place in ubayfs._MOVED.items() if place not in MODULES}
    assert sorted(names) == sorted({*ubayfs.__all__, *elsewhere})


@pytest.mark.parametrize("name", sorted({*NAMES, *ubayfs._MOVED}))
def test_every_public_name_has_an_example(name):
    place = import_module(f"ubayfs.{ubayfs._MOVED[name]}") if name in ubayfs._MOVED else ubayfs
    documentation = inspect.getdoc(getattr(place, name))
    heading, _, example = documentation.partition("\nExamples\n--------\n")
    assert heading
    assert ">>> " in example


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_public_name_leads_to_others(name):
    documentation = inspect.getdoc(getattr(ubayfs, name))
    _, _, following = documentation.partition("\nSee Also\n--------\n")
    named = re.findall(r"^(\w+) : ", following.partition("\n\n")[0], re.MULTILINE)
    assert named
    assert {*named} <= NAMES - {name}


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_builder_explains_how_soft_it_is_and_what_its_names_are(name):
    documentation = inspect.getdoc(getattr(ubayfs, name))
    for parameter in {"rho", "price", "on"} & {*inspect.signature(getattr(ubayfs, name)).parameters}:
        assert re.search(rf"^[\w, ]*\b{parameter}\b.* : ", documentation, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_every_public_module_has_an_example(name):
    assert "\n>>> " in getattr(ubayfs, name).__doc__


def test_every_page_is_in_one_list_of_contents():
    """Sphinx says so too, but only when the site is built."""
    pages = [path for path in DOCS.rglob("*.md") if not set(path.relative_to(DOCS).parts) & set(GENERATED)]
    entries = []
    for path in pages:
        for content in re.findall(r"^:::\{toctree\}\n(.*?)^:::$", path.read_text(encoding="utf-8"), re.M | re.S):
            entries += [path.parent / line for line in content.split("\n") if line and not line.startswith(":")]
    found = [str(entry.relative_to(DOCS)) for entry in entries]
    assert len(found) == len(set(found))
    assert set(found) >= {str(path.relative_to(DOCS).with_suffix("")) for path in pages} - {"index"}


def test_the_site_can_be_read():
    pages = [path for path in DOCS.rglob("*.md") if not set(path.relative_to(DOCS).parts) & set(GENERATED)]
    assert len(pages) <= 26
    # What has a letter or a digit is a word; lines of tables and rules are not.
    words = re.compile(r"\S*\w\S*")
    assert sum(len(words.findall(path.read_text(encoding="utf-8"))) for path in pages) <= 18_000


@pytest.mark.parametrize("path", [*DOCS.glob("_static/*.css"), DOCS / "conf.py"], ids=lambda path: path.name)
def test_the_site_loads_nothing_from_elsewhere(path):
    assert not re.search(r"https?://|@import", path.read_text(encoding="utf-8"))


def test_every_example_has_its_place_in_the_gallery():
    order = runpy.run_path(str(DOCS / "_extensions" / "gallery_order.py"))["STORY"]
    assert sorted(order) == sorted(path.stem.removeprefix("plot_") for path in (DOCS.parent / "examples").glob("*.py"))
