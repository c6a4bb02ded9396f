"""Prices and clusters in studies and options."""

from pathlib import Path

import pytest

from ubayfs import Constraint, cannot_link, decorrelate, max_per_cluster, max_size
from ubayfs.results import read_result
from ubayfs.study import load_study

PRICED = """\
  - max_size: {n: 4, price: 0.5}
  - max_per_cluster: {price: 0.25}
"""


def constraints_of(directory):
    return list(load_study(Path(directory) / "study.yaml").constraints)


def test_a_study_with_prices(folder, run):
    text = Path("study.yaml").read_text()
    Path("study.yaml").write_text(text.replace("  - max_size: {n: 4, rho: hard}\n", PRICED))
    shown = run("check", "study.yaml")
    assert shown.code == 0
    assert "constraint  max_size(4, price=0.5)\nconstraint  max_per_cluster(price=0.25)\n" in shown.out
    assert run("select", "study.yaml", "-o", "out").code == 0
    given = [max_size(4, price=0.5), max_per_cluster(price=0.25), cannot_link(["worst radius", "worst area"])]
    assert constraints_of("out") == given
    result = read_result("out")
    assert [(entry.price, entry.price_votes) for entry in result.summary.constraints] == [
        (0.5, 15.0), (0.25, 7.5), (None, None),
    ]  # fmt: skip
    (asked,) = [line for line in result.summary.question if line.startswith("Constraints")]
    assert "max-size 4 (price 0.5 (15 votes)); max-per-cluster 1: 2 clusters of features" in asked
    report = (Path("out") / "report.html").read_text(encoding="utf-8")
    assert "0.25 (7.5 votes)" in report
    # Another decision, and what changed.
    assert run("decide", "out", "--max-size", 3, "-o", "three").code == 0
    compared = run("compare", "out", "three").out
    assert "constraint removed: max_size(4, price=0.5)\n" in compared
    assert "constraint added: max_size(3)\n" in compared


def test_options_with_a_price(folder, run):
    options = ["--cannot-link", "mean radius", "mean area", "--decorrelate", 0.9, "--max-per-cluster", 1]
    options += ["--price", 0.1, "--require", "mean texture", "--without", "cannot_link"]
    assert run("select", "study.yaml", *options, "-o", "out").code == 0
    hard = float("inf")
    assert constraints_of("out") == [
        max_size(4, rho=hard),
        max_per_cluster(1, rho=hard),
        decorrelate(0.9, price=0.1),
        cannot_link(["mean radius", "mean area"], price=0.1),
        Constraint("require", (("features", ("mean texture",)), ("rho", hard), ("on", "features"))),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--price", "0.1"], "--price: softens links among the options"),
        (["--max-size", "3", "--price", "0.1"], "--price: softens links among the options"),
        (["--cannot-link", "mean radius", "mean area", "--price", "-1"], "select: --price: must be a number"),
        (["--price", "-1"], "select: --price: must be a number in [0, inf); got -1.0"),
    ],
)
def test_wrong_prices(folder, run, options, message):
    done = run("select", "study.yaml", *options, "-o", "out")
    assert done.code != 0
    assert message in done.err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{n: 4, price: 0.5, rho: 1}", "constraints[0].max_size.price: cannot be given together with rho"),
        ("{n: 4, price: hard}", "constraints[0].max_size.price: must be a number in [0, inf); got 'hard'"),
        ("{n: -4, price: -1}", "constraints[0].max_size.price: must be a number in [0, inf); got -1"),
    ],
)
def test_wrong_prices_in_a_study(folder, run, written, message):
    text = Path("study.yaml").read_text()
    Path("study.yaml").write_text(text.replace("{n: 4, rho: hard}", written))
    done = run("check", "study.yaml")
    assert done.code != 0
    assert message in done.err


def test_results_of_an_old_study_name_the_new_meaning_of_unlikely(folder, run):
    text = Path("study.yaml").read_text().replace("worst smoothness: likely", "worst area: unlikely")
    Path("study.yaml").write_text("versions: {ubayfs: 0.1.0}\n" + text)
    assert run("select", "study.yaml", "-o", "out").code == 0
    named = [fact.facts["key"] for fact in read_result("out").summary.advice if "key" in fact.facts]
    assert named == ["the weight 'unlikely'", "constraints.rho", "decision.min_votes"]
    Path("study.yaml").write_text(text)
    assert run("select", "study.yaml", "-o", "new").code == 0
    assert "changed_default" not in [advice.code for advice in read_result("new").summary.advice]
    (entry,) = [entry for entry in read_result("new").summary.constraints if entry.from_prior]
    assert (entry.price, entry.price_votes) == (0.5, 15.0)
