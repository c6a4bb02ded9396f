"""What a result may claim: collected by select and trust, used again by decide, never stale."""

import json
import shlex
import shutil
import signal
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ubayfs.cli import console
from ubayfs.cli.main import build_parser, main
from ubayfs.results import StoredResult
from ubayfs.study import load_study
from ubayfs.trust.repeats import Repeats

from .conftest import STUDY, small_forests, summary_of

SMALL = ["--shuffles", 200, "--splits", 2, "--cv", 2, "--repeats", 1]
FEW = SMALL
PARTS = ("validation", "related", "reproducibility")


def states(directory):
    found = summary_of(directory)["trust"]
    return tuple(found[part]["state"] for part in PARTS)


@pytest.fixture(scope="session")
def trusted(tmp_path_factory, table, without_figures):
    """The directory of a result of which everything is known; its data are gone."""
    folder = tmp_path_factory.mktemp("trusted")
    (folder / "cells.csv").write_text(table, encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    options = [str(option) for option in ("--trust", "full", *SMALL)]
    with pytest.MonkeyPatch.context() as patch, without_figures():
        small_forests(patch)
        assert main(["select", str(folder / "study.yaml"), *options]) == 0
    (folder / "cells.csv").unlink()
    return folder / "results"


@pytest.fixture
def own(tmp_path, monkeypatch, trusted, table):
    """A copy of that result, with its data, in the current directory."""
    monkeypatch.chdir(tmp_path)
    Path("cells.csv").write_text(table, encoding="utf-8")
    shutil.copytree(trusted, "results")
    return Path("results")


@pytest.fixture
def nothing_repeated(monkeypatch):
    """Let every attempt to collect anything fail."""

    def refuse(*arguments, **options):
        raise AssertionError("this is known already")

    for name in ("related_of", "collect_halves", "_validated"):
        monkeypatch.setattr(f"ubayfs.study.trust_work.{name}", refuse)


def test_select_stores_what_it_found_out(trusted):
    assert states(trusted) == ("known", "known", "known")
    assert "trust.npz" in json.loads((trusted / "manifest.json").read_text())["files"]
    assert load_study(trusted / "study.yaml").trust.level == "full"
    assert not list(trusted.glob("unfinished*"))
    trust = StoredResult(trusted).trust
    assert (trust.level, trust.related.n_shuffles, trust.halves.n_done, trust.validation.n_done) == ("full", 200, 2, 2)


def test_the_chosen_level_is_recorded(folder, run, monkeypatch):
    monkeypatch.setattr("ubayfs.study.trust_work.level_for", lambda *work: "quick")
    Path("study.yaml").write_text(STUDY.replace("level: none", "n_splits: 2"), encoding="utf-8")
    done = run("select", "study.yaml", "--shuffles", 200)
    assert done.code == 0, done.err
    assert load_study("results/study.yaml").trust.level == "quick"
    assert summary_of(folder / "results")["trust"]["level"] == "quick"
    assert states(folder / "results") == ("missing", "known", "known")
    assert "ubayfs trust results --level full" in done.out


def test_a_changed_decision_uses_the_ensembles_and_drops_the_validation(trusted, run, tmp_path, nothing_repeated):
    """Without the data: nothing is read but the result."""
    other = tmp_path / "other"
    done = run("decide", trusted, "--max-size", 2, "-o", other)
    assert done.code == 0, done.err
    assert states(other) == ("missing", "known", "known")
    before, after = StoredResult(trusted), StoredResult(other)
    np.testing.assert_array_equal(before.trust.related.q_values, after.trust.related.q_values)
    assert after.trust.validation is None
    found = summary_of(other)["trust"]
    assert found["related"]["at_least"] == before.trust.related.of(after.selection.features).at_least
    assert found["related"]["size"] == 2
    assert found["reproducibility"]["n_selected"] == 2  # of this decision, not of the earlier one
    assert summary_of(trusted)["trust"]["reproducibility"]["n_selected"] == 4


@pytest.mark.parametrize("change", [["--weight", "mean area=9"], ["--without", "cannot_link"], ["--strength", 2]])
def test_whatever_changes_the_decision_drops_the_validation(trusted, run, tmp_path, nothing_repeated, change):
    assert run("decide", trusted, *change, "-o", tmp_path / "other").code == 0
    assert states(tmp_path / "other")[0] == "missing"


@pytest.mark.parametrize("change", [[], ["--alternatives", 1], ["--draws", 0]])
def test_the_same_decision_keeps_it(trusted, run, tmp_path, nothing_repeated, change):
    assert run("decide", trusted, *change, "-o", tmp_path / "same").code == 0
    assert states(tmp_path / "same") == ("known", "known", "known")
    assert summary_of(tmp_path / "same")["trust"]["validation"] == summary_of(trusted)["trust"]["validation"]


def test_decide_without_a_directory_shows_what_is_known_at_once(trusted, run, monkeypatch):
    monkeypatch.setattr("ubayfs.study.trust_work.reproducibility_of", None)  # 40 decisions would not be at once
    done = run("decide", trusted, "--max-size", 2)
    assert done.code == 0, done.err
    assert "Are they related to the target?" in done.out
    assert "Not tested" not in done.out


def test_trust_adds_what_is_missing_and_repeats_nothing(chosen, run, monkeypatch):
    assert StoredResult("results").trust is None  # as of an earlier version
    before = summary_of(Path("results"))["chosen"]
    assert run("trust", "results", "--level", "quick", *FEW).code == 0
    assert states(Path("results")) == ("missing", "known", "known")
    with monkeypatch.context() as patch:
        for name in ("related_of", "collect_halves"):
            patch.setattr(f"ubayfs.study.trust_work.{name}", None)
        done = run("trust", "results", "--sizes", 2)
    assert done.code == 0, done.err
    assert states(Path("results")) == ("known", "known", "known")
    assert [record["feature"] for record in summary_of(Path("results"))["chosen"]] == [r["feature"] for r in before]
    stored = StoredResult("results")
    assert stored.study.trust.level == "full"
    assert stored.trust.validation.sizes["size"].tolist()[:1] == [2]


def test_all_is_known_already(own, run, nothing_repeated):
    assert run("trust", own).code == 0
    assert states(own) == ("known", "known", "known")
    assert run("trust", own, "--level", "quick").code == 0
    assert states(own) == ("known", "known", "known")
    assert StoredResult(own).trust.level == "full"


def test_another_number_of_folds_is_another_validation(own, run):
    assert run("trust", own, "--cv", 3).code == 0
    assert StoredResult(own).trust.validation.n_folds == 3


def test_trust_refuses_another_table_and_leaves_the_result(own, run):
    pd.read_csv("cells.csv").iloc[::-1].to_csv("cells.csv", index=False)
    content = (own / "manifest.json").read_bytes()
    done = run("trust", own, "--cv", 3)
    assert done.code == 2
    assert "not the table" in done.err
    assert (own / "manifest.json").read_bytes() == content


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b"PK"), Path.unlink])
def test_lost_trust_is_named_and_made_anew(own, run, damage):
    """All else of the result can be used; no other decision claims what is not known."""
    damage(own / "trust.npz")
    for command in (["report", own, "-o", "report.md"], ["compare", own, own]):
        assert run(*command).code == 0
    done = run("decide", own, "-o", "other")
    assert done.code == 0, done.err
    assert "results/trust.npz is" in done.err
    assert states(Path("other")) == ("missing", "missing", "missing")
    done = run("trust", own, "--level", "quick", *FEW)
    assert done.code == 0, done.err
    assert "'ubayfs trust' with this directory repeats them" in done.err
    assert StoredResult(own).trust.related.n_shuffles == 200
    assert states(own) == ("missing", "known", "known")


def test_a_report_that_was_moved_names_no_other_place(chosen, run):
    Path("results").rename("moved")
    for name in ("report.html", "report.md"):
        text = Path("moved", name).read_text(encoding="utf-8")
        assert "ubayfs trust results" not in text
        assert text.count("in the directory of this report:") == 3
    assert run("report", "moved", "-o", "elsewhere.md", "-o", "elsewhere.json").code == 0
    for name in ("elsewhere.md", "elsewhere.json"):
        text = Path(name).read_text(encoding="utf-8")
        assert text.count("ubayfs trust moved --level") == 3
        assert "of this report" not in text


def test_work_that_would_be_lost_is_refused(trusted, run, nothing_repeated):
    for level in ("quick", "full"):
        done = run("decide", trusted, "--trust", level)
        assert done.code == 2
        assert f"--trust {level} repeats the ensemble" in done.err
        assert "Add -o DIRECTORY" in done.err
    assert run("decide", trusted, "--trust", "none").code == 0


@pytest.mark.parametrize(("option", "value"), [("--level", "ful"), ("--shuffles", 199), ("--cv", 1), ("--sizes", 0)])
def test_wrong_options_are_named(own, run, option, value):
    done = run("trust", own, option, value)
    assert done.code == 2
    assert option in done.err


@pytest.fixture
def interrupted(monkeypatch):
    """Return a function after which Ctrl-C is pressed when a part has got to a number; it counts what is done."""
    seen = []

    def at(label, number):
        @contextmanager
        def progress(shown, unit):
            def update(done, total):
                seen.append((shown, done, total))
                if (shown, done) == (label, number):
                    signal.raise_signal(signal.SIGINT)

            yield update

        monkeypatch.setattr(console, "progress", progress)
        return seen

    return at


def test_a_cancel_keeps_what_is_done_and_trust_completes_it(folder, trusted, run, interrupted):
    interrupted("half-splits", 1)
    done = run("select", "study.yaml", "--trust", "full", *FEW)
    assert done.code == 0, done.err
    assert "Continuing with what is done" in done.err
    assert "complete it with: ubayfs trust results" in done.err
    assert states(folder / "results") == ("missing", "known", "partial")
    assert "1 of 2 splits" in done.out
    assert "repeats_cancelled" in [advice["code"] for advice in summary_of(folder / "results")["advice"]]
    (runs,) = Path("results").glob("unfinished*")
    seen = interrupted("nothing", 0)
    done = run("trust", "results")
    assert done.code == 0, done.err
    assert states(folder / "results") == ("known", "known", "known")
    assert not runs.exists()
    assert {label for label, _, _ in seen} >= {"half-splits", "folds"}
    # The same as without a cancel.
    whole, again = StoredResult(trusted).trust, StoredResult("results").trust
    np.testing.assert_array_equal(whole.related.q_values, again.related.q_values)
    np.testing.assert_array_equal(whole.halves.samples, again.halves.samples)
    assert whole.validation.sets == again.validation.sets


def test_folds_that_are_done_outlast_other_work_on_the_result(folder, run, interrupted):
    seen = interrupted("folds", 2)
    done = run("select", "study.yaml", "--trust", "full", *FEW, "--repeats", 2)
    assert done.code == 0, done.err
    assert states(folder / "results") == ("partial", "known", "known")
    interrupted("nothing", 0)
    done = run("trust", "results", "--level", "quick")
    assert done.code == 0, done.err
    assert "complete it with: ubayfs trust results\n" in done.err
    seen.clear()
    done = run("trust", "results")
    assert done.code == 0, done.err
    folds = [n_done for label, n_done, _ in seen if label == "folds"]
    assert min(folds) >= 2
    assert max(folds) == 4
    assert states(folder / "results") == ("known", "known", "known")
    assert not list(Path("results").glob("unfinished*"))


def test_a_part_that_cannot_be_done_does_not_lose_the_result(folder, run, cells):
    few = pd.concat([cells[cells.diagnosis == "benign"].head(40), cells[cells.diagnosis == "malignant"].head(3)])
    few.to_csv("cells.csv", index=False)
    done = run("select", "study.yaml", "--trust", "full", *SMALL, "--cv", 5)
    assert done.code == 0, done.err
    assert "reproducibility is not known" in done.err
    assert "validation is not known" in done.err
    assert states(folder / "results") == ("undefined", "known", "undefined")
    assert "ubayfs trust" not in done.out  # it would fail in the same way
    assert "Could not be tested: y has 3 samples of class 'malignant'" in done.out


@pytest.mark.filterwarnings("ignore:.*has no manifest")
def test_the_ensemble_of_another_version_is_used(own, run, monkeypatch):
    """Its summary cannot be read, and it has no trust; nothing else is lost."""
    for name in ("manifest.json", "trust.npz"):
        (own / name).unlink()
    (own / "summary.json").write_text('{"format": 1}', encoding="utf-8")
    votes = StoredResult(own).evidence.counts
    done = run("decide", own, "--max-size", 3, "-o", "three")
    assert done.code == 0, done.err
    assert "results is of another version of ubayfs; only its ensemble and study are used." in done.err
    assert states(Path("three")) == ("missing", "missing", "missing")
    done = run("trust", own, "--level", "quick")
    assert done.code == 2
    assert (own / "summary.json").read_text() == '{"format": 1}'  # another answer does not take its place
    _, *words = shlex.split(done.err.strip().partition("from its ensemble, run: ")[2])
    assert run(*words).code == 0
    again = Path("results-again")
    assert states(again) == ("missing", "known", "known")
    np.testing.assert_array_equal(StoredResult(again).evidence.counts, votes)


@pytest.mark.parametrize("nested", [False, True])
def test_a_command_names_the_directory_as_it_was_given(folder, run, tmp_path_factory, nested, monkeypatch):
    directory = tmp_path_factory.mktemp("far away") / "out"
    if nested:
        Path("below").mkdir()
        shutil.copy("cells.csv", "below/cells.csv")
        shutil.copy("study.yaml", "below/study.yaml")
        monkeypatch.chdir("below")
        directory = Path("../out")
    done = run("select", "study.yaml", "--trust", "none", "-o", directory)
    assert done.code == 0, done.err
    (command,) = {line.strip() for line in done.out.splitlines() if line.endswith("--level quick")}
    _, *words = shlex.split(command)
    assert run(*words, *FEW).code == 0
    assert states(directory) == ("missing", "known", "known")


def test_without_a_target_only_the_reproducibility_has_a_meaning(folder, run):
    options = ["--selector", "laplacian", "--models", 5, "--features-per-model", 2, "--max-size", 2, "--draws", 0]
    done = run("select", "cells.csv", "--ignore", "diagnosis", *options, "--trust", "full", "--splits", 2, "-o", "out")
    assert done.code == 0, done.err
    assert states(folder / "out") == ("undefined", "undefined", "known")
    assert StoredResult("out").trust.related is None


def test_votes_for_shuffled_targets_are_made_on_request_and_once(own, run, monkeypatch):
    assert StoredResult("results").trust.related.shuffled_votes is None
    done = run("trust", "results", "--level", "quick", *SMALL[:4], "--vote-shuffles", 2)
    assert done.code == 0, done.err
    votes = StoredResult("results").trust.related.shuffled_votes
    assert votes.n_shuffles == 2
    assert votes.counts.tolist() == StoredResult("results").evidence.counts.tolist()
    monkeypatch.setattr("ubayfs.study.trust_work.collect_shuffled_votes", None)
    assert run("trust", "results", "--level", "quick", *SMALL[:4], "--vote-shuffles", 2).code == 0
    assert run("decide", "results", "--max-size", 2, "-o", "two").code == 0
    assert StoredResult("two").trust.related.shuffled_votes.shares.tolist() == votes.shares.tolist()


def test_a_size_that_the_data_tell(folder, run):
    """P-values are computed first, whatever the level; decisions use them again."""
    text = STUDY.replace("max_size: {n: 4, rho: hard}", "max_size: {n: supported, rho: hard}")
    Path("study.yaml").write_text(text, encoding="utf-8")
    done = run("select", "study.yaml", *SMALL, "--without", "cannot_link", "--min-votes", 0)
    assert done.code == 0, done.err
    stored = StoredResult("results")
    expected = max(1, stored.trust.related.supported(stored.selection))
    assert len(stored.selection.features) == expected
    assert states(folder / "results") == ("missing", "known", "missing")
    assert "max_size: supported" in Path("results/study.yaml").read_text()
    assert run("decide", "results", "--max-supported", 1, "-o", "one").code == 0
    assert len(StoredResult("one").selection.features) == 1
    compared = run("compare", "results", "one")
    assert compared.code == 0
    assert "constraints" in compared.out or expected == 1


def test_a_size_that_the_data_tell_needs_p_values(finished, run, tmp_path):
    done = run("decide", finished, "--max-size", "supported")
    assert done.code == 2
    assert f"ubayfs trust {finished} --level quick" in done.err
    done = run("decide", finished, "--max-size", "supported", "--trust", "quick", *FEW, "-o", tmp_path / "new")
    assert done.code == 0, done.err
    assert states(tmp_path / "new") == ("missing", "known", "known")


def test_no_other_kind_takes_the_word(folder, run):
    done = run("check", "study.yaml", "--min-size", "supported")
    assert done.code == 2
    assert "--min-size" in done.err
    assert "invalid int value: 'few'." in run("check", "study.yaml", "--max-size", "few").err
    wrong = run("check", "study.yaml", "--max-size", "Supported").err
    assert "invalid int value: 'Supported'; use a number, or supported." in wrong


def test_check_shows_what_would_be_repeated(folder, run):
    Path("study.yaml").write_text(STUDY.replace("max_size: {n: 4", "max_size: {n: supported"), encoding="utf-8")
    done = run("check", "study.yaml", "--trust", "full", "--cv", 4)
    assert "trust       full: 1,000 shuffles of the target, 20 pairs of halves, 4 x 5 folds" in done.out
    assert "max_size('supported')" in done.out


def test_finished_folds_are_not_repeated(own, run, interrupted, monkeypatch):
    interrupted("folds", 2)
    done = run("trust", own, "--cv", 3)
    assert done.code == 0, done.err
    assert states(own)[0] == "partial"
    partial = StoredResult(own).trust.validation
    assert partial.n_done == 2
    interrupted("nothing", 0)
    with monkeypatch.context() as patch:
        ensemble, made = Repeats.ensemble, []
        patch.setattr(Repeats, "ensemble", lambda self, *arguments: made.append(1) or ensemble(self, *arguments))
        done = run("trust", own, "--cv", 3)
    assert done.code == 0, done.err
    assert len(made) == 1
    whole = StoredResult(own).trust.validation
    assert whole.complete
    assert whole.sets[:2] == partial.sets
    assert not list(own.glob("unfinished*"))


def test_whoever_leaves_before_the_facts_loses_no_result(folder, run, monkeypatch):
    def closed(facts):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("ubayfs.cli.steps.print_facts", closed)
    parsed = build_parser().parse_args(["select", "study.yaml", "--trust", "quick", "--splits", "2"])
    with pytest.raises(BrokenPipeError):
        parsed.run(parsed)
    assert states(folder / "results") == ("missing", "known", "known")


def test_a_table_is_not_suggested_in_place_of_itself(folder, run):
    done = run("trust", "cells.csv")
    assert done.code == 2
    assert "is a file; name the directory of a result." in done.err
    assert "Did you mean" not in done.err
