"""collect and merge: an ensemble in parts is one ensemble; what does not belong together is refused."""

import shutil
from contextlib import contextmanager

import pytest

from ubayfs.cli import console
from ubayfs.cli.collect import slurm_part
from ubayfs.ensemble.evidence import Evidence
from ubayfs.exceptions import InputError
from ubayfs.results import read_result

FILES = ["evidence.npz", "study.yaml", "manifest.json"]


def collect_parts(run, n_parts, *options):
    for number in range(1, n_parts + 1):
        done = run("collect", "study.yaml", "--part", f"{number}/{n_parts}", "-o", f"parts/{number}", *options)
        assert done.code == 0, done.err
        assert f"Part {number} of {n_parts}: " in done.out


def parts(n_parts):
    return [f"parts/{number}" for number in range(1, n_parts + 1)]


@pytest.mark.parametrize("selector", ["fisher", "tree"])
def test_parts_are_one_ensemble_and_lead_to_its_decision(folder, run, selector):
    assert run("select", "study.yaml", "--selector", selector, "-o", "whole").code == 0
    collect_parts(run, 4, "--selector", selector)
    merged = run("merge", *parts(4)[::-1], "-o", "evidence")
    assert merged.code == 0, merged.err
    assert merged.err.startswith("Note: A run may select 4 of 8 features, more than a quarter")
    assert merged.err.count("\n") == 1
    assert "4 parts, 30 runs in evidence; decide on it with: ubayfs decide evidence" in merged.out
    assert (folder / "evidence" / "evidence.npz").read_bytes() == (folder / "whole" / "evidence.npz").read_bytes()
    decided = run("decide", "evidence", "-o", "results")
    assert decided.code == 0, decided.err
    assert read_result("results").selection.to_dict() == read_result("whole").selection.to_dict()
    assert (folder / "results" / "report.md").exists()
    assert run("decide", "evidence", "--max-size", "2").code == 0
    assert Evidence.load("evidence/evidence.npz").n_models == 30


def test_without_a_part_all_runs_are_collected(folder, run):
    done = run("collect", "study.yaml", "-o", "evidence")
    assert done.code == 0, done.err
    assert "All runs: 30 runs in evidence; decide on it with: ubayfs decide evidence" in done.out
    assert set(FILES) <= {path.name for path in (folder / "evidence").iterdir()}
    assert run("decide", "evidence").code == 0


def test_a_part_is_not_evidence_to_decide_on(folder, run):
    collect_parts(run, 2)
    refused = run("decide", "parts/2")
    assert refused.code == 2
    assert "parts/2 is part 2 of 2 of an ensemble. Put all parts together with `ubayfs merge`" in refused.err


def test_a_retried_part_resumes_and_a_finished_one_is_left_alone(folder, run, monkeypatch):
    seen = []

    def watching(impatient):
        @contextmanager
        def progress(label, unit):
            def update(done, total):
                seen.append((done, total))
                if impatient and done == 2:
                    raise KeyboardInterrupt

            yield update

        return progress

    command = ("collect", "study.yaml", "--selector", "rfe", "--part", "2/3", "-o", "parts/2")
    monkeypatch.setattr(console, "progress", watching(impatient=True))
    stopped = run(*command)
    assert stopped.code == 130
    assert "Finished runs are stored in parts/2/unfinished-runs-" in stopped.err
    unfinished = run("merge", "parts/2", "-o", "evidence")
    assert unfinished.code == 2
    assert "parts/2 holds no finished evidence: study.yaml, evidence.npz missing" in unfinished.err
    monkeypatch.setattr(console, "progress", watching(impatient=False))
    seen.clear()
    assert run(*command).code == 0
    assert seen[0] == (2, 10)
    files = list((folder / "parts" / "2").iterdir())
    assert not [path for path in files if path.name.startswith("unfinished")]
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
    seen.clear()
    repeated = run(*command)
    assert (repeated.code, seen) == (0, [])
    assert "Part 2 of 3: finished already in parts/2" in repeated.out
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before} == before


@pytest.mark.parametrize(
    "other", [["--part", "1/3"], ["--part", "2/3", "--seed", "4"], ["--part", "2/3", "--max-size", "3"]]
)
def test_another_part_does_not_replace_a_finished_one(folder, run, other):
    assert run("collect", "study.yaml", "--part", "2/3", "-o", "parts").code == 0
    refused = run("collect", "study.yaml", *other, "-o", "parts")
    assert refused.code == 2
    assert "parts holds study.yaml and evidence.npz already" in refused.err
    assert run("collect", "study.yaml", *other, "-o", "parts", "--force").code == 0


def test_the_study_itself_is_never_replaced(folder, run):
    before = (folder / "study.yaml").read_bytes()
    for force in ([], ["--force"]):
        refused = run("collect", "study.yaml", "-o", ".", *force)
        assert refused.code == 2
        assert "holds files that are read for this evidence" in refused.err
    assert (folder / "study.yaml").read_bytes() == before


def test_parts_need_a_seed(folder, run):
    study = (folder / "study.yaml").read_text(encoding="utf-8").replace("seed: 0", "seed: null")
    (folder / "study.yaml").write_text(study, encoding="utf-8")
    refused = run("collect", "study.yaml", "--part", "1/2", "-o", "parts/1")
    assert refused.code == 2
    assert "study.yaml has no seed, so that the parts would not belong together. Write a number behind" in refused.err
    collect_parts(run, 2, "--seed", "5")
    assert run("merge", *parts(2), "-o", "evidence").code == 0


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("3", "must be K/N, such as 3/20 for the third of 20 parts; got '3'"),
        ("a/b", "must be K/N"),
        ("-1/3", "must be K/N"),
        ("0/3", "part must be a number from 1 to the number of parts, 3; got 0"),
        ("4/3", "part must be a number from 1 to the number of parts, 3; got 4"),
        ("1/31", "part of 31 is too small a share: there are 30 runs"),
    ],
)
def test_parts_that_are_none(folder, run, part, message):
    refused = run("collect", "study.yaml", f"--part={part}", "-o", "parts/1")
    assert refused.code == 2
    assert message in refused.err
    assert not (folder / "parts").exists()


# merge


def test_missing_and_repeated_parts_are_named(folder, run):
    collect_parts(run, 4)
    missing = run("merge", "parts/1", "parts/4", "-o", "evidence")
    assert missing.code == 2
    assert "2 of 4 parts are missing, number 2, 3. Collect what is missing, with --part 2/4" in missing.err
    shutil.copytree("parts/2", "copy")
    repeated = run("merge", *parts(4), "copy", "-o", "evidence")
    assert repeated.code == 2
    assert "part 2 is in parts/2 and in copy. Name each part once." in repeated.err
    assert not (folder / "evidence").exists()
    twice = run("merge", *parts(4), "parts/2", "-o", "evidence")
    assert twice.code == 2
    assert "parts/2 is named more than once. Name each part once." in twice.err
    assert not (folder / "evidence").exists()


def test_foreign_parts_are_named(folder, run, cells):
    collect_parts(run, 3)
    assert run("collect", "study.yaml", "--part", "2/3", "--seed", "9", "-o", "parts/2", "--force").code == 0
    refused = run("merge", *parts(3), "-o", "evidence")
    assert refused.code == 2
    assert "parts of different ensembles: parts/2 differs from parts/1 in random_state." in refused.err
    cells.assign(**{"mean area": 1.0 + cells["mean area"]}).to_csv("cells.csv", index=False)
    assert run("collect", "study.yaml", "--part", "2/3", "-o", "parts/2", "--force").code == 0
    refused = run("merge", *parts(3), "-o", "evidence")
    assert "parts/2 differs from parts/1 in the data (values, feature names, target or groups)." in refused.err


def test_everything_that_is_not_a_part_is_named_at_once(folder, run):
    collect_parts(run, 2)
    (folder / "parts" / "log.txt").write_text("")
    (folder / "parts" / "2" / "evidence.npz").unlink()
    refused = run("merge", *parts(2), "parts/3", "parts/log.txt", "-o", "evidence")
    assert refused.code == 2
    for message in ("parts/2 holds no finished evidence", "parts/3 does not exist", "parts/log.txt is a file"):
        assert message in refused.err


def test_a_damaged_part_is_named(folder, run):
    collect_parts(run, 2)
    path = folder / "parts" / "2" / "evidence.npz"
    path.write_bytes(path.read_bytes()[:-30])
    refused = run("merge", *parts(2), "-o", "evidence")
    assert refused.code == 2
    assert "parts/2 cannot be trusted: evidence.npz is not as written" in refused.err


def test_a_study_of_another_part_is_found(folder, run):
    collect_parts(run, 2)
    shutil.copy("parts/1/evidence.npz", "parts/2/evidence.npz")
    refused = run("merge", *parts(2), "-o", "evidence")
    assert refused.code == 2
    assert "parts/2 cannot be trusted" in refused.err


def test_evidence_does_not_replace_a_result(chosen, run):
    refused = run("collect", "study.yaml", "-o", "results", "--force")
    assert refused.code == 2
    assert "results holds a result, which evidence alone does not replace" in refused.err
    assert read_result("results").evidence.n_models == 30


def test_a_part_of_a_newer_format_is_refused(folder, run, monkeypatch):
    collect_parts(run, 1)
    monkeypatch.setattr("ubayfs.ensemble.evidence._VERSION", 0)
    refused = run("merge", "parts/1", "-o", "evidence")
    assert refused.code == 2
    assert "has format version 1, but this ubayfs reads up to 0; update ubayfs" in refused.err


def test_parts_whose_studies_decide_differently_are_reported(folder, run):
    collect_parts(run, 2)
    assert run("collect", "study.yaml", "--part", "2/2", "--max-size", "2", "-o", "parts/2", "--force").code == 0
    merged = run("merge", "parts/2", "parts/1", "-o", "evidence")
    assert merged.code == 0
    assert "Note: the study of parts/2 has other prior knowledge, constraints or settings" in merged.err


def test_parts_of_other_versions_are_reported(folder, run, monkeypatch):
    collect_parts(run, 2)
    monkeypatch.setattr("ubayfs.ensemble.collect.versions", lambda: {"ubayfs": "0.0"})
    assert run("collect", "study.yaml", "--part", "2/2", "-o", "parts/2", "--force").code == 0
    merged = run("merge", *parts(2), "-o", "evidence")
    assert merged.code == 0
    assert "Note: parts come from different versions of packages: parts/2 from {'ubayfs': '0.0'}" in merged.err


def test_evidence_is_replaced_only_when_asked_for(folder, run):
    collect_parts(run, 2)
    assert run("merge", *parts(2), "-o", "evidence").code == 0
    refused = run("merge", *parts(2), "-o", "evidence")
    assert refused.code == 2
    assert "evidence holds study.yaml and evidence.npz already" in refused.err
    assert run("merge", *parts(2), "-o", "evidence", "--force").code == 0
    assert run("merge", *parts(2), "-o", "parts/1", "--force").code == 2


# Slurm


def task(**values):
    given = {"ID": 7, "MIN": 5, "MAX": 24, "COUNT": 20, "STEP": 1, **values}
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in given.items() if value is not None}


def test_the_task_of_an_array_is_the_part(folder, run, monkeypatch):
    assert slurm_part({"SLURM_JOB_ID": "17"}) is None
    assert slurm_part(task()) == (3, 20)
    assert slurm_part(task(ID=0, MIN=0, MAX=3, COUNT=4, STEP=None)) == (1, 4)
    assert slurm_part(task(MAX=None, STEP=None)) == (3, 20)
    for name, value in task(ID=5, MIN=4, MAX=6, COUNT=3).items():
        monkeypatch.setenv(name, value)
    assert "Part 2 of 3: 10 runs" in run("collect", "study.yaml", "-o", "parts/5").out
    assert "Part 3 of 3: 10 runs" in run("collect", "study.yaml", "--part", "3/3", "-o", "parts/6").out
    part = Evidence.load("parts/5/evidence.npz").settings["part"]
    assert part == {"number": 2, "of": 3, "n_models": 30}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"STEP": 2}, r"20 tasks from 5 to 24 with a step of 2; parts need tasks without gaps, such as --array=1-20"),
        ({"STEP": 2, "MAX": None}, r"20 tasks from 5 to 43 with a step of 2"),
        ({"COUNT": 3}, r"3 tasks from 5 to 24 with a step of 1; parts need tasks without gaps"),
        ({"COUNT": None}, r"are not numbers \(.*SLURM_ARRAY_TASK_COUNT=''.*\)\. Name the part by --part K/N"),
        ({"ID": "x"}, r"are not numbers \(SLURM_ARRAY_TASK_ID='x'"),
    ],
    ids=["step", "step without end", "gaps", "missing", "no number"],
)
def test_arrays_that_are_not_parts(values, message):
    with pytest.raises(InputError, match=message):
        slurm_part(task(**values))
