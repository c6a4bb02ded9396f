"""Parts of one ensemble: together they are one call, bit for bit; anything else is refused by name."""

import numpy as np
import pytest

from ubayfs.data import TASKS
from ubayfs.ensemble.collect import collect_evidence
from ubayfs.ensemble.evidence import Evidence
from ubayfs.ensemble.parts import part_runs
from ubayfs.exceptions import EnsembleError, EnsembleWarning, InputError
from ubayfs.selectors.base import ElementarySelector


class Failing(ElementarySelector):
    """Chooses at random; raises in the first `n_failing` runs."""

    name = "failing"
    tasks = frozenset(TASKS)

    def __init__(self, n_failing):
        self.n_failing = n_failing

    def select_many(self, X, target, subsamples, n_features, rngs):
        if any(rng.bit_generator.seed_seq.spawn_key[0] < self.n_failing for rng in rngs):
            raise ValueError("no luck")
        return [rng.permutation(X.shape[1])[:n_features] for rng in rngs]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 8)), np.arange(30) % 2


def collect(table, selector="fisher", **arguments):
    arguments = {"n_models": 50, "n_features_per_model": 3, "random_state": 3, **arguments}
    return collect_evidence(*table, selector, **arguments)


def parts_of(table, n_parts, selector="fisher", **arguments):
    numbers = range(1, n_parts + 1)
    return {f"parts/{k}": collect(table, selector, part=(k, n_parts), **arguments) for k in numbers}


def content(evidence, path):
    evidence.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("n_models", [1, 2, 7, 50, 101])
def test_parts_share_all_runs(n_models):
    for n_parts in range(1, n_models + 1):
        runs = [part_runs((number, n_parts), n_models) for number in range(1, n_parts + 1)]
        assert [run for part in runs for run in part] == list(range(n_models))
        assert max(map(len, runs)) - min(map(len, runs)) <= 1


@pytest.mark.parametrize(
    "selector",
    ["fisher", "mrmr", "tree", ["lasso", "fisher", "tree"], Failing(0)],
    ids=["fisher", "mrmr", "tree", "mixed", "own"],
)
@pytest.mark.parametrize("n_parts", [1, 3, 20])
def test_parts_together_are_one_call(table, tmp_path, selector, n_parts):
    parts, whole = parts_of(table, n_parts, selector, n_models=20), collect(table, selector, n_models=20)
    shuffled = dict(sorted(parts.items(), reverse=True))
    assert content(Evidence.join(shuffled), tmp_path / "a") == content(whole, tmp_path / "b")


@pytest.mark.filterwarnings("ignore::ubayfs.exceptions.EnsembleWarning")
@pytest.mark.parametrize("n_failing", [1, 12, 25])
def test_a_part_may_fail_as_long_as_the_ensemble_does_not(table, tmp_path, n_failing):
    """As in one call, half of all runs count; in which parts they fail does not matter."""
    parts, whole = parts_of(table, 5, Failing(n_failing)), collect(table, Failing(n_failing))
    joined = Evidence.join(parts)
    assert len(joined.failures) == n_failing
    assert content(joined, tmp_path / "a") == content(whole, tmp_path / "b")


@pytest.mark.filterwarnings("ignore::ubayfs.exceptions.EnsembleWarning")
def test_more_than_half_failed_is_found_when_parts_are_joined(table):
    parts = parts_of(table, 5, Failing(26))
    with pytest.raises(EnsembleError, match="26 of 50 elementary runs failed"):
        Evidence.join(parts)
    with pytest.raises(EnsembleError, match="26 of 50 elementary runs failed"):
        collect(table, Failing(40), part=(1, 1))


def test_a_part_resumes_from_its_checkpoint(table, tmp_path):
    with pytest.warns(EnsembleWarning, match="cancelled after 3 of 10 runs"):
        collect(table, "rfe", part=(2, 5), checkpoint=tmp_path, on_progress=lambda done, total: done < 3)
    told = []
    part = collect(table, "rfe", part=(2, 5), checkpoint=tmp_path, on_progress=lambda *now: told.append(now))
    assert told[0] == (3, 10)
    assert part.runs == collect(table, "rfe").runs[10:20]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ((0, 5), "part must be a number from 1 to the number of parts, 5; got 0"),
        ((6, 5), "part must be a number from 1 to the number of parts, 5; got 6"),
        ((1, 0), "part must be a whole number >= 1; got 0"),
        ((1, 51), "part of 51 is too small a share: there are 50 runs"),
        ("3/5", r"part must be two numbers, such as \(3, 20\)"),
        (3, r"part must be two numbers, such as \(3, 20\)"),
        ((1.5, 3), "part must be a whole number; got 1.5"),
    ],
)
def test_parts_that_are_none(table, part, message):
    with pytest.raises(InputError, match=message):
        collect(table, part=part)


def test_parts_need_a_seed(table):
    with pytest.raises(InputError, match="random_state must be given with part"):
        collect(table, part=(1, 2), random_state=None)


# What cannot be joined


def test_missing_parts_are_named(table):
    parts = parts_of(table, 5)
    del parts["parts/2"], parts["parts/5"]
    with pytest.raises(EnsembleError, match=r"2 of 5 parts are missing, number 2, 5\. .*--part 2/5"):
        Evidence.join(parts)
    with pytest.raises(InputError, match="parts is empty"):
        Evidence.join({})


def test_repeated_parts_are_named(table):
    parts = parts_of(table, 3)
    parts["again/2"] = parts["parts/2"]
    with pytest.raises(EnsembleError, match=r"part 2 is in parts/2 and in again/2\. Name each part once"):
        Evidence.join(parts)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"random_state": 4}, "random_state"),
        ({"selector": "mrmr"}, r"selector \(there \[\"Fisher\(.*\)\"\], here \[\"MRMR\(.*\)\"\]\)"),
        ({"train_size": 0.5}, r"train_size \(there 0.75, here 0.5\)"),
        ({"n_models": 60}, r"n_models \(there 50, here 60\)"),
        ({"part": (2, 4)}, r"number of parts \(there 5, here 4\)"),
    ],
    ids=["seed", "selector", "train_size", "n_models", "parts"],
)
@pytest.mark.parametrize("number", [1, 2])
def test_foreign_parts_are_named(table, change, reason, number):
    """Whichever comes first, it is the odd one that is named."""
    parts = parts_of(table, 5)
    parts[f"parts/{number}"] = collect(table, **{"part": (number, 5), **change})
    with pytest.raises(EnsembleError, match=rf"different ensembles: parts/{number} differs from .* in {reason}\."):
        Evidence.join(parts)


def test_parts_of_other_data_are_named(table):
    X, y = table
    parts = parts_of(table, 3)
    parts["parts/3"] = collect((X + 1, y), part=(3, 3))
    with pytest.raises(EnsembleError, match=r"parts/3 differs from parts/1 in the data \(values, feature names"):
        Evidence.join(parts)


def test_cancelled_parts_are_named(table):
    parts = parts_of(table, 2, "rfe")
    with pytest.warns(EnsembleWarning, match="cancelled"):
        parts["parts/2"] = collect(table, "rfe", part=(2, 2), on_progress=lambda *now: False)
    with pytest.raises(EnsembleError, match=r"parts/2 was cancelled after \d+ of 25 runs. Collect this part again"):
        Evidence.join(parts)


def test_whole_ensembles_are_not_parts(table):
    with pytest.raises(EnsembleError, match="whole is not a part of an ensemble"):
        Evidence.join({"whole": collect(table), **parts_of(table, 2)})


def test_other_versions_are_warned_about(table):
    parts = parts_of(table, 2)
    parts["parts/2"].settings["versions"]["numpy"] = "1.0"
    with pytest.warns(EnsembleWarning, match=r"different versions of packages: parts/2 from .*1\.0.*, parts/1 from"):
        assert Evidence.join(parts).n_models == 50
