"""The recipes of RECIPES.md, followed in a copy of the source: they work, and touch few files."""

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "RECIPES.md").read_text(encoding="utf-8")
# Blocks begin with a comment that names the file: a whole new file, or a change of one.
BLOCK = re.compile(r"^```(python|diff)\n# (src/\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

# The most source files that a recipe may touch, and code that fails unless the recipe has worked.
RECIPES = {
    "Add an elementary selector": (
        2,
        """
        evidence = ubayfs.collect_evidence(X, y, selector="pearson", n_models=4, n_features_per_model=1, random_state=0)
        assert evidence.counts.tolist() == [4, 0]
        from ubayfs.report import summarize
        methods = summarize(ubayfs.decide(evidence, constraints=ubayfs.max_size(1)), n_draws=0).methods
        assert "4 models by Pearson correlation (Pearson, 1895) voted" in methods.text
        assert methods.references[1].startswith("Pearson, K. (1895).")
        """,
    ),
    "Add a prior": (
        2,
        """
        selection = ubayfs.decide(EVIDENCE, prior="tempered", constraints=ubayfs.max_size(1, rho=9))
        assert (selection.posterior.prior, selection.features) == ("tempered", ("a",))
        section = ubayfs.study.PriorSection(kind={"name": "tempered", "trust": 0.25})
        assert section.kind.settings == (("trust", 0.25),)
        assert "`hyperdirichlet` or `tempered`" in section.keys()["kind"].help
        """,
    ),
    "Add a constraint": (
        2,
        """
        selection = ubayfs.decide(EVIDENCE, constraints=[ubayfs.max_size(1, rho=9), ubayfs.nested(["c", "a"], rho=9)])
        assert selection.features == ("b",)
        assert selection.problem.utility.system.parts[1].title == "nested c, a"
        study = ubayfs.study.Study(ubayfs.study.DataSection("d.csv"), constraints=[{"nested": ["c", "a"]}])
        assert study.constraints == (ubayfs.nested(["c", "a"]),)
        assert run(["select", "--help"]) == 0
        """,
    ),
    "Add a plot": (
        2,
        """
        selection = ubayfs.decide(EVIDENCE, constraints=ubayfs.max_size(1, rho=9))
        from ubayfs.plotting import Drawing, read_displays
        from ubayfs.report import render_html
        from ubayfs.report import summarize
        summary = summarize(selection, n_draws=0)
        assert summary.displays["votes"]["counts"] == [3, 2, 1]
        picture = read_displays(summary.displays)["votes"].plot().render()
        assert picture[1:4] == b"PNG"
        Drawing.render = lambda self, *how: picture  # nobody looks at the others: they are drawn, and that is enough
        assert "a steep curve means that the models agree" in render_html(summary)
        """,
    ),
    "Add an argument of a decision": (
        3,
        """
        warnings.simplefilter("ignore")  # that nothing else limits the size
        constraint = ubayfs.max_size(3, rho=9)
        assert len(ubayfs.decide(EVIDENCE, constraints=constraint, min_importance=0.3).features) == 2
        try:
            ubayfs.decide(EVIDENCE, min_importance=2)
        except ubayfs.exceptions.InputError as error:
            assert (error.argument, error.value) == ("min_importance", 2)
        settings = {"n_models": 5, "n_features_per_model": 1, "random_state": 0}
        selector = ubayfs.UBayFSSelector("fisher", min_importance=0.3, **settings)
        assert selector.fit(X, [0, 0, 1, 1, 0, 1]).get_support().sum() == 1
        assert selector.redecide(min_importance=0.0, min_votes=0).get_support().sum() == 2
        few = {"constraints": constraint, "min_importance": 0.3, "n_draws": 5}
        draws = ubayfs.selection_probabilities(selector.posterior_, **few)
        assert (draws > 0).sum() == 1
        assert ubayfs.study.DecisionSection(min_importance=0.3).min_importance == 0.3
        """,
    ),
    "Add a key of the study file": (
        2,
        """
        outputs = ubayfs.study.OutputSection(heading="Panel")
        study = ubayfs.study.Study(ubayfs.study.DataSection("d.csv"), outputs=outputs)
        assert "heading: Panel" in study.to_yaml()
        from ubayfs.report import summarize
        selection = ubayfs.decide(EVIDENCE, constraints=ubayfs.max_size(1, rho=9))
        assert summarize(selection, settings=study.to_dict(), n_draws=0).title == "Panel"
        """,
    ),
    "Add a task": (
        4,
        """
        rng = np.random.default_rng(0)
        table = rng.normal(size=(40, 3))
        events = rng.poisson(np.exp(1 + table[:, 0]))
        counted = {"task": "counts", "n_models": 5, "n_features_per_model": 1, "random_state": 0}
        one = ubayfs.max_size(1, rho=9)
        evidence = ubayfs.collect_evidence(table, events, selector="tree", **counted)
        assert evidence.counts.tolist() == [5, 0, 0]
        selection = ubayfs.decide(evidence, constraints=one)
        found = ubayfs.validate(selection, table, events, cv=2, n_repeats=1)
        assert (found.task, found.main_metric, set(found.sets)) == ("counts", "r2", {(0,)})
        assert ubayfs.estimate_related(selection, table, events).at_least == 1
        again = ubayfs.estimate_reproducibility(selection, table, events, n_splits=2)
        assert again.selected_again[0] > 0.5
        # Roots of counts are what the task computes with: as numbers of a regression they must give the same sets.
        from sklearn.linear_model import LinearRegression
        age = rng.normal(size=40)
        of_age = rng.poisson(np.exp(2 + table[:, 0] / 2 + age))
        def chosen(y, selector, **others):
            return ubayfs.collect_evidence(table, y, selector=selector, **{**counted, **others}).sets.toarray().tolist()
        as_numbers = chosen(np.sqrt(of_age), "tree", adjust_for=age, task="regression")
        assert chosen(of_age, "tree", adjust_for=age) == as_numbers
        assert chosen(events, LinearRegression()) == chosen(events, LinearRegression(), task="regression")
        from ubayfs.data import FeatureData
        from ubayfs.selectors import SELECTORS
        data = FeatureData.from_table(table, events, task="counts")
        wide = rng.normal(size=(40, 30))
        as_number = FeatureData.from_table(table, np.sqrt(events), task="regression")
        for name in ("hsic", "lasso", "mrmr", "rfe"):
            orders = [
                SELECTORS[name].select_many(wide, target, np.ones((1, 40), dtype=bool), 30, [rng])[0].tolist()
                for target in (data.target, as_number.target)
            ]
            assert orders[0] == orders[1], name
        summary = summarize(ubayfs.decide(evidence, constraints=one, X=data), data, n_draws=0)
        assert summary.displays["profile"]["effect"] == "correlation"
        page = render_html(summary)
        assert "predict how many events there are" in page
        assert "Number of events" in page
        for wrong, argument in (({"selector": "fisher"}, "selector"), ({"y": events / 2}, "y")):
            try:
                ubayfs.collect_evidence(table, **{"y": events, "selector": "tree", **counted, **wrong})
                raise AssertionError(wrong)
            except ubayfs.exceptions.InputError as error:
                assert error.argument == argument
        assert ubayfs.study.DataSection("d.csv", task="counts").task == "counts"
        """,
    ),
}
START = """
import warnings
warnings.simplefilter("error")
import numpy as np
import ubayfs
from ubayfs.cli.main import main as run
assert ubayfs.__file__.startswith(SOURCE), ubayfs.__file__
EVIDENCE = ubayfs.Evidence.from_sets([[1, 1, 0], [1, 1, 0], [1, 0, 1]], ["a", "b", "c"])
X, y = [[1, 5], [2, 3], [3, 6], [4, 1], [1.5, 2], [3.5, 4]], [0.1, 0.2, 0.3, 0.4, 0.15, 0.35]
"""


def changes(heading):
    """Return the blocks of one recipe: (kind, file, content)."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return BLOCK.findall(section)


def follow(copy, heading):
    """Apply the blocks of a recipe: lines with blank are there, those with minus are removed, those with plus added."""
    for kind, file, content in changes(heading):
        path = copy / file
        if kind == "python":
            assert not path.exists()
            path.write_text(content, encoding="utf-8")
            continue
        lines = content.splitlines(keepends=True)
        before = "".join(line[1:] or "\n" for line in lines if line[0] in " -\n")
        after = "".join(line[1:] or "\n" for line in lines if line[0] in " +\n")
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1, f"{file} does not have exactly once:\n{before}"
        path.write_text(text.replace(before, after), encoding="utf-8")


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A copy of the source in which all recipes have been followed."""
    copy = tmp_path_factory.mktemp("recipes")
    shutil.copytree(ROOT / "src", copy / "src")  # with what Python has compiled: its times stay those of the files
    for heading in RECIPES:
        follow(copy, heading)
    return copy


def test_recipes_work_all_together(followed):
    source = str(followed / "src")
    code = f"SOURCE = {source!r}\n" + START + "".join(textwrap.dedent(code) for _, code in RECIPES.values())
    environment = {"PYTHONPATH": source, "PYTHONDONTWRITEBYTECODE": "1", "PATH": ""}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=followed, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "--nested" in run.stdout


@pytest.mark.parametrize("heading", RECIPES)
def test_recipes_touch_few_source_files(heading):
    files = {file for _, file, _ in changes(heading)}
    assert 0 < len(files) <= RECIPES[heading][0]


def test_every_recipe_with_code_is_tried():
    headings = re.findall(r"^## (Add .*)$", PAGE, re.MULTILINE)
    assert [heading for heading in headings if changes(heading)] == list(RECIPES)
