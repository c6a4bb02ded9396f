"""The architecture: every import inside the package points to a lower layer, or to a sibling without cycles."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import ubayfs

# From the bottom up: a module imports only from lower lines. A package (selectors, priors, optimize) is one entry.
LAYERS = [
    ["_listing"],
    ["advice"],
    ["exceptions"],
    ["_arguments", "_files", "_plain"],
    ["_problems"],
    ["data"],
    ["tables"],
    ["knowledge"],
    ["selectors"],
    ["ensemble"],
    ["workers"],
    ["priors"],
    ["constraints"],
    ["metrics", "utility"],
    ["optimize"],
    ["decision"],
    ["explain"],
    ["trust"],
    ["estimator"],
    ["study"],
    ["plotting"],
    ["report"],
    ["results"],
    ["attached"],
    ["__init__"],
    ["demo"],
    ["app"],
    ["cli"],
    ["__main__"],
]
# Methods that import when they are called: the value knows what can be done with it.
CALLED_LATER = {
    ("_plain", "attached"),  # from values of the method to what shows them
    ("data.blocks", "knowledge.matching"),
    ("ensemble.evidence", "ensemble.parts"),
    ("study.study", "study.resolve"),
}
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
ROOT = Path(ubayfs.__file__).parent


def module_sources():
    """Return the source of each module by its name inside the package, such as ``optimize.exact``."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text(encoding="utf-8")
        for path in sorted(ROOT.rglob("*.py"))
    }


def defines(source, name):
    """Tell whether the source of a package has a name, by whatever way; lazy packages list theirs beside it."""
    return "__getattr__" in source or re.search(rf"\b{re.escape(name)}\b", source) is not None


def imports_of(module, source, known):
    """Return the modules of the package that a source imports, anywhere in it; packages as ``optimize.__init__``."""
    package = module.split(".")[:-1]
    found = set()
    tree = ast.parse(source)
    types_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in types_only:  # names of types, of which nothing is imported
            continue
        if isinstance(node, ast.Import):
            targets = [(alias.name.split("."), None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = ["ubayfs", *package][: len(package) + 2 - node.level] if node.level else []
            targets = [([*above, *(node.module or "").split(".")], alias.name) for alias in node.names]
            targets = [target for target in targets if target[1] != "__version__"]  # known before any module is
        else:
            continue
        for parts, name in targets:
            if parts[0] != "ubayfs":
                continue
            path = [part for part in parts[1:] if part]
            candidates = [[*path, name], [*path, name, "__init__"]] if name else []
            candidates += [path, [*path, "__init__"]]
            module_of = next((".".join(c) for c in candidates if ".".join(c) in known), ".".join(path))
            if name and module_of == ".".join([*path, "__init__"]) and not defines(known[module_of], name):
                module_of = ".".join([*path, name])
            found.add(module_of)
    return found


def violations(imports, known=None):
    """Return what is wrong with a graph of imports, in words; `known` are all modules, if it matters."""
    wrong = []
    siblings = {}  # of all packages in one graph: a sibling is never of another package
    for module, targets in imports.items():
        layer = module.split(".")[0]
        if layer not in RANK:
            wrong.append(f"{module} has no layer; add it to LAYERS")
            continue
        for target in sorted(targets):
            below = target.split(".")[0]
            if known is not None and target not in known:
                wrong.append(f"{module} imports {target}, which does not exist")
            elif below not in RANK:
                wrong.append(f"{module} imports {target}, which has no layer")
            elif (module, target) in CALLED_LATER:
                continue
            elif below == layer and "." in module:
                siblings.setdefault(module, set()).add(target)
                if target == f"{layer}.__init__":
                    wrong.append(f"{module} imports its own package; import the module that defines the name")
            elif RANK[below] >= RANK[layer]:
                wrong.append(f"{module} imports {target}, which is not below it")
    try:
        TopologicalSorter(siblings).prepare()
    except CycleError as error:
        wrong.append(f"modules import each other: {' <- '.join(error.args[1])}")
    return wrong


def test_every_import_points_down():
    sources = module_sources()
    imports = {module: imports_of(module, source, sources) for module, source in sources.items()}
    assert violations(imports, sources) == []


@pytest.mark.parametrize(
    "source",
    [
        "from .novelty import x",
        "from ..data import novelty",
        "from ..data.novelty import x",
        "import ubayfs.novelty",
        "def f():\n    from ..trust.novelty import x",
    ],
)
def test_an_import_of_a_module_that_does_not_exist_is_found(source):
    known = module_sources()
    (found,) = violations({"cli.check": imports_of("cli.check", source, known)}, known)
    assert found.endswith("which does not exist")


def test_every_layer_exists():
    assert {module.split(".")[0] for module in module_sources()} == set(RANK)


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("metrics", "from .constraints.utility import as_sparse_sets", {"constraints.utility"}),
        ("metrics", "def f():\n    from .decision.workflow import decide", {"decision.workflow"}),
        ("constraints.links", "from ..data import correlation, target", {"data.correlation", "data.target"}),
        ("estimator", "from .optimize import as_optimizer", {"optimize.__init__"}),
        ("estimator", "from . import optimize", {"optimize.__init__"}),
        ("optimize.exact", "from ..metrics import jaccard\nfrom .base import Solution", {"metrics", "optimize.base"}),
        ("optimize.exact", "from . import Solution", {"optimize.__init__"}),
        ("optimize.exact", "from .. import decide", {"__init__"}),
        ("optimize.__init__", "from .base import Optimizer", {"optimize.base"}),
        ("__init__", "if TYPE_CHECKING:\n    from .estimator import UBayFSSelector", set()),
        ("__init__", "if LATER:\n    from .estimator import UBayFSSelector", {"estimator"}),
        (
            "metrics",
            "import ubayfs.decision.workflow\nfrom ubayfs.constraints.system import resolve\nimport ubayfs",
            {"decision.workflow", "constraints.system", "__init__"},
        ),
        ("metrics", "import numpy.random\nfrom numpy import random", set()),
    ],
)
def test_imports_are_found_wherever_they_stand(module, source, expected):
    assert imports_of(module, source, module_sources()) == expected


@pytest.mark.parametrize(
    ("imports", "message"),
    [
        ({"metrics": {"decision.workflow"}}, "metrics imports decision.workflow, which is not below it"),
        ({"explain.attribution": {"estimator"}}, "explain.attribution imports estimator, which is not below it"),
        ({"optimize.base": {"decision.problem"}}, "optimize.base imports decision.problem, which is not below it"),
        ({"metrics": {"__init__"}}, "metrics imports __init__, which is not below it"),
        ({"novelty": {"metrics"}}, "novelty has no layer; add it to LAYERS"),
        ({"estimator": {"novelty"}}, "estimator imports novelty, which has no layer"),
        ({"priors.hyper": {"priors.__init__"}}, "priors.hyper imports its own package"),
        (
            {"priors.base": {"priors.hyper"}, "priors.hyper": {"priors.base"}},
            "modules import each other: priors",
        ),
    ],
)  # fmt: skip
def test_violations_are_found(imports, message):
    (found,) = violations(imports)
    assert found.startswith(message)
