"""The ensemble: seeds, workers, failures, progress, refusals."""

import json
import threading
import warnings

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_info, threadpool_limits

from ubayfs.data import TASKS, FeatureData
from ubayfs.ensemble import collect as ensemble
from ubayfs.ensemble.collect import collect_evidence
from ubayfs.ensemble.subsampling import plan_subsamples
from ubayfs.exceptions import EnsembleError, EnsembleWarning, InputError
from ubayfs.selectors.base import ElementarySelector


class Noisy(ElementarySelector):
    """Highest mean in the subsample plus noise of the run; keeps what it was given."""

    name = "noisy"
    tasks = frozenset(TASKS)

    def __init__(self):
        self.calls = []
        self.subsamples = []
        self.threads = set()

    def select_many(self, X, target, subsamples, n_features, rngs):
        self.calls.append(len(rngs))
        self.subsamples.extend(subsamples)
        self.threads.add(threading.get_ident())
        return [self.choose(X, rows, n_features, rng) for rows, rng in zip(subsamples, rngs, strict=True)]

    def choose(self, X, rows, n_features, rng):
        return np.argsort(-X[rows].mean(axis=0) - rng.normal(size=X.shape[1]))[:n_features]


class Returning(Noisy):
    """Returns the same answer for every run."""

    name = "returning"

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def choose(self, X, rows, n_features, rng):
        return self.answer


class Failing(Noisy):
    """Raises on subsamples for which `when` (a function of the row mask) is true."""

    name = "failing"

    def __init__(self, when, error=ValueError):
        super().__init__()
        self.when = when
        self.error = error

    def choose(self, X, rows, n_features, rng):
        if self.when(rows):
            raise self.error("no luck")
        return super().choose(X, rows, n_features, rng)


@pytest.fixture(scope="module")
def table():
    return make_classification(60, 12, n_informative=4, weights=[0.6], flip_y=0, random_state=0)


def collect(table, selector=None, **arguments):
    X, y = table
    arguments = {"n_models": 60, "n_features_per_model": 4, "random_state": 3, **arguments}
    return collect_evidence(X, y, selector=Noisy() if selector is None else selector, **arguments)


def rows_of(evidence):
    return [tuple(row) for row in np.split(evidence.sets.indices, evidence.sets.indptr[1:-1])]


def indices_of(evidence):
    return [int(run.split(":")[1]) for run in evidence.runs]


# What a run is


def test_runs_are_what_a_literal_loop_finds(table):
    X, y = table
    plan = plan_subsamples(FeatureData.from_table(X, y), 0.75)
    expected = []
    for run in range(60):
        rows_seed, selector_seed = np.random.SeedSequence(3, spawn_key=(run,)).spawn(2)
        rows = plan.draw(np.random.default_rng(rows_seed))
        picks = Noisy().choose(X, rows, 4, np.random.default_rng(selector_seed))
        expected.append(tuple(sorted(picks)))
    evidence = collect(table)
    assert rows_of(evidence) == expected
    assert_array_equal(evidence.counts, np.bincount(np.concatenate(expected), minlength=12))
    assert len(set(expected)) > 10


def test_runs_do_not_depend_on_how_many_there_are(table):
    assert rows_of(collect(table, n_models=130))[:60] == rows_of(collect(table)) == rows_of(collect(table, n_models=60))


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_threads_do_not_change_the_result(table, n_jobs):
    assert rows_of(collect(table, n_jobs=n_jobs)) == rows_of(collect(table))


def test_blas_threads_and_workers_do_not_multiply(table):
    seen = []

    class Looking(Noisy):
        def select_many(self, *arguments):
            seen.extend(pool["num_threads"] for pool in threadpool_info())
            return super().select_many(*arguments)

    def limits():
        return [pool["num_threads"] for pool in threadpool_info()]

    with threadpool_limits(8):
        before = limits()
        collect(table, Looking(), n_jobs=2)
        assert limits() == before
        assert set(seen) == {max(joblib.cpu_count() // 2, 1)}
        seen.clear()
        collect(table, Looking(), n_jobs=1)
        assert seen == before * 4


@pytest.mark.parametrize(
    "make",
    [
        np.random.SeedSequence,
        np.random.default_rng,
        np.random.RandomState,
        lambda s: np.random.SeedSequence([s, 2]).spawn(3)[2],
    ],
    ids=["SeedSequence", "Generator", "RandomState", "child"],
)
def test_any_random_state_is_recorded_so_that_it_can_be_repeated(table, make):
    evidence = collect(table, random_state=make(5))
    assert rows_of(collect(table, random_state=make(5))) == rows_of(evidence)
    assert rows_of(collect(table, random_state=make(6))) != rows_of(evidence)
    repeated = collect(table, random_state=np.random.SeedSequence(**evidence.settings["seed"]))
    assert rows_of(repeated) == rows_of(evidence)
    assert repeated.runs == evidence.runs


def test_no_random_state_is_fresh_and_recorded(table):
    first, second = collect(table, random_state=None), collect(table, random_state=None)
    assert rows_of(first) != rows_of(second)
    assert rows_of(collect(table, random_state=first.settings["seed"]["entropy"])) == rows_of(first)


# Mixed ensembles


def test_selectors_take_turns_by_run_index(table):
    selectors = [Returning(np.array([k])) for k in range(3)]
    evidence = collect(table, selectors)
    assert rows_of(evidence) == [(run % 3,) for run in range(60)]
    assert [selector.calls for selector in selectors] == [[5, 5, 5, 5]] * 3


def test_a_member_finds_what_it_finds_alone(table):
    mixed, alone = rows_of(collect(table, [Noisy(), Returning([0])])), rows_of(collect(table))
    assert mixed[::2] == alone[::2]


def test_more_selectors_than_runs(table):
    assert rows_of(collect(table, [Returning([k]) for k in range(5)], n_models=3)) == [(0,), (1,), (2,)]


# Subsamples reach the selector


def test_selectors_see_stratified_subsamples(table):
    selector = Noisy()
    collect(table, selector, train_size=0.5)
    _, y = table
    # 36 and 24 rows: exactly half of each.
    assert np.bincount(y).tolist() == [36, 24]
    assert [np.bincount(y[mask]).tolist() for mask in selector.subsamples] == [[18, 12]] * 60


def test_groups_are_never_split(table):
    selector = Noisy()
    groups = np.arange(60) % 7
    evidence = collect(table, selector, groups=groups)
    for mask in selector.subsamples:
        assert not set(groups[mask]) & set(groups[~mask])
        assert len(set(groups[mask])) == 5
    assert evidence.settings["grouped"]


@pytest.mark.parametrize("task", ["regression", "unsupervised", "multilabel"])
def test_other_tasks_are_subsampled_plainly(task, rng):
    y = {"regression": rng.normal(size=40), "unsupervised": None, "multilabel": rng.integers(0, 2, (40, 2))}[task]
    selector = Noisy()
    evidence = collect((rng.normal(size=(40, 5)), y), selector, train_size=0.6)
    assert evidence.settings["task"] == task
    assert {int(mask.sum()) for mask in selector.subsamples} == {24}


# What the evidence says


def test_settings_are_plain_and_complete(cancer):
    X, y = cancer
    evidence = collect_evidence(X, y, selector=["fisher", Noisy()], n_models=4, random_state=1)
    settings = evidence.settings
    assert json.loads(json.dumps(settings)) == settings
    assert list(evidence.feature_names) == list(X.columns)
    assert settings["n_features_per_model"] == 7
    assert settings["data_fingerprint"] == FeatureData.from_table(X, y).fingerprint
    assert settings["seed"] == {"entropy": 1, "spawn_key": []}
    assert (settings["task"], settings["n_samples"], settings["train_size"]) == ("binary", 569, 0.75)
    assert settings["versions"]["numpy"] == np.__version__
    assert len(settings["selector"]) == 2


def test_run_identities_tell_ensembles_apart(table):
    X, y = table
    variants = [
        collect(table),
        collect(table, random_state=4),
        collect(table, train_size=0.5),
        collect(table, n_features_per_model=3),
        collect(table, Returning([0])),
        collect((X + 1, y)),
    ]
    assert len({run for evidence in variants for run in evidence.runs}) == 6 * 60
    assert set(collect(table, n_models=30).runs) < set(variants[0].runs)


def test_evidence_of_two_seeds_can_be_merged_and_of_one_cannot(table):
    first = collect(table)
    assert_array_equal(
        first.merge(collect(table, random_state=4)).counts, first.counts + collect(table, random_state=4).counts
    )
    with pytest.raises(EnsembleError, match=r"30 run\(s\) occur in more than one part"):
        first.merge(collect(table, n_models=30))


@pytest.mark.parametrize(("n_columns", "expected"), [(1, 1), (3, 1), (8, 2), (12, 3), (43, 10), (50, 10)])
def test_a_quarter_of_the_features_and_at_most_ten(table, n_columns, expected):
    X, y = np.resize(table[0], (60, 50))[:, :n_columns], np.arange(60) % 2
    evidence = collect((X, y), n_features_per_model=None)
    assert evidence.settings["n_features_per_model"] == expected
    assert evidence.advice == ()


# Constant columns and empty answers


def test_constant_columns_are_never_chosen(table):
    X, y = table
    X = X.copy()
    X[:, 2] = 99.0  # the highest mean by far
    evidence = collect((X, y))
    assert evidence.counts[2] == 0
    assert evidence.constant.tolist() == [column == 2 for column in range(12)]
    assert not evidence.failures


def test_columns_constant_in_a_subsample_are_dropped_there(table):
    X, y = table
    X = X.copy()
    X[:, 2] = 50.0
    X[7, 2] = 51.0
    selector = Noisy()
    evidence = collect((X, y), selector)
    chosen = evidence.sets.toarray()[:, 2]
    assert_array_equal(chosen, [bool(mask[7]) for mask in selector.subsamples])
    assert 0 < chosen.sum() < 60


def test_an_empty_answer_is_a_run_without_votes(table):
    with pytest.warns(EnsembleWarning, match="No run selected a single feature"):
        evidence = collect(table, Returning([]))
    assert evidence.n_models == 60
    assert evidence.counts.sum() == 0
    assert not evidence.failures


def test_nothing_but_constant_columns_is_empty_evidence():
    with pytest.warns(EnsembleWarning, match="No run selected a single feature.*every column is constant"):
        evidence = collect((np.ones((20, 3)), [0, 1] * 10), "fisher", n_features_per_model=2)
    assert evidence.constant.all()


# Failures


def with_row_zero(mask):
    return bool(mask[0])


def test_failed_runs_are_recorded_and_the_others_stay(table):
    complete = collect(table, train_size=0.3)
    with pytest.warns(
        EnsembleWarning, match=r"\d+ of 60 elementary runs failed.*ValueError: no luck .see Evidence.f"
    ) as caught:
        evidence = collect(table, Failing(with_row_zero), train_size=0.3)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    failed = {failure.run for failure in evidence.failures}
    assert 0 < len(failed) < 30
    assert all(
        (f.selector, f.error, f.by_caller) == ("failing", "ValueError: no luck", False) for f in evidence.failures
    )
    assert rows_of(evidence) == [row for run, row in enumerate(rows_of(complete)) if run not in failed]
    assert indices_of(evidence) == [run for run in range(60) if run not in failed]


def test_the_same_runs_fail_in_threads(table):
    found = []
    for n_jobs in (1, 2):
        with pytest.warns(EnsembleWarning, match="elementary runs failed"):
            found.append(collect(table, Failing(with_row_zero), train_size=0.3, n_jobs=n_jobs))
    assert found[0].failures == found[1].failures
    assert rows_of(found[0]) == rows_of(found[1])


def test_the_ensemble_fails_when_more_than_half_of_its_runs_do(table):
    message = r"\d+ of \d+ elementary runs failed; the most frequent error \(\d+x\) was ValueError: no luck"
    with pytest.raises(EnsembleError, match=message):
        collect(table, Failing(with_row_zero), train_size=0.75)


def test_exactly_half_is_not_more_than_half(table):
    with pytest.warns(EnsembleWarning, match="30 of 60 elementary runs failed"):
        evidence = collect(table, [Noisy(), Failing(lambda mask: True)])
    assert evidence.n_models == 30


def test_a_hopeless_ensemble_stops_early(table):
    selector = Failing(lambda mask: True)
    with pytest.raises(EnsembleError, match="60 of 60 elementary runs failed"):
        collect(table, selector, n_models=80)
    assert len(selector.calls) == 3 * 21  # of 4; each unit of 20 runs at once, then one by one


def test_memory_errors_of_a_batch_are_mended_by_single_runs(table):
    class Greedy(Noisy):
        def select_many(self, X, target, subsamples, n_features, rngs):
            if len(rngs) > 1:
                raise MemoryError("too many at once")
            return super().select_many(X, target, subsamples, n_features, rngs)

    evidence = collect(table, Greedy())
    assert rows_of(evidence) == rows_of(collect(table))
    assert not evidence.failures


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([0, 12], "distinct column indices from 0 to 11; got 12"),
        (None, r"got NoneType of object and shape \(\)"),
    ],
)
def test_nonsense_from_a_selector_is_an_input_error(table, answer, message):
    with pytest.raises(InputError, match=rf"every elementary run failed: selector 'returning'.*{message}"):
        collect(table, Returning(answer))


def test_nonsense_in_some_runs_is_a_failure_of_those(table):
    with pytest.warns(EnsembleWarning, match="20 of 60 elementary runs failed"):
        evidence = collect(table, [Noisy(), Returning([99]), Noisy()])
    assert all(failure.by_caller for failure in evidence.failures)


def test_the_wrong_number_of_sets_is_found(table):
    class Short(Noisy):
        name = "short"

        def select_many(self, *arguments):
            return []

    with pytest.raises(InputError, match="selector 'short' returned 0 sets for 1 subsamples"):
        collect(table, Short())


# Progress, cancelling, interrupts


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_is_reported_to_the_calling_thread(table, n_jobs):
    told = []
    collect(table, n_jobs=n_jobs, on_progress=lambda *now: told.append((*now, threading.get_ident())))
    done = [now for now, _, _ in told]
    assert sorted(done) == done
    assert len(done) == {1: 4, 2: 8}[n_jobs]
    assert done[-1] == 60
    assert {total for _, total, _ in told} == {60}
    assert {thread for _, _, thread in told} == {threading.get_ident()}


def test_cancelling_keeps_what_is_finished(table):
    selector = Noisy()
    with pytest.warns(EnsembleWarning, match="cancelled after 50 of 100 runs"):
        evidence = collect(table, selector, n_models=100, on_progress=lambda done, total: done < 50)
    assert selector.calls == [25, 25]
    assert rows_of(evidence) == rows_of(collect(table, n_models=100))[:50]


def test_cancelling_in_threads_keeps_whole_runs(table, monkeypatch):
    everything = collect(table, n_models=500)
    cancelled = threading.Event()
    report = ensemble._Watch.report

    def report_and_tell(self, outcomes):
        report(self, outcomes)
        cancelled.set()

    class Patient(Noisy):
        def select_many(self, *arguments):
            # The two workers' first batches run; whatever begins later waits until the cancelling is known.
            if len(self.calls) >= 2:
                assert cancelled.wait(600)
            return super().select_many(*arguments)

    monkeypatch.setattr(ensemble._Watch, "report", report_and_tell)
    selector = Patient()
    with pytest.warns(EnsembleWarning, match=r"cancelled after \d+ of 500 runs"):
        evidence = collect(table, selector, n_models=500, n_jobs=2, on_progress=lambda done, total: False)
    assert 25 <= evidence.n_models == sum(selector.calls) <= 100
    expected = rows_of(everything)
    assert rows_of(evidence) == [expected[run] for run in indices_of(evidence)]


def test_only_false_cancels(table):
    for answer in (None, 0, "", np.False_):
        assert collect(table, on_progress=lambda done, total, answer=answer: answer).n_models == 60


def test_cancelling_at_the_end_cancels_nothing(table):
    assert collect(table, on_progress=lambda done, total: done < total).n_models == 60


def test_cancelled_runs_that_all_failed_are_not_evidence(table):
    with pytest.raises(EnsembleError, match="25 of 25 elementary runs failed"):
        collect(table, Failing(lambda mask: True), n_models=500, on_progress=lambda done, total: False)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_of_the_callback_reach_the_caller_and_nothing_stays_behind(table, n_jobs):
    def complain(done, total):
        raise RuntimeError("the window was closed")

    with threadpool_limits(2), warnings.catch_warnings():
        warnings.simplefilter("error")
        before = threadpool_info()
        with pytest.raises(RuntimeError, match="the window was closed"):
            collect(table, n_models=200, n_jobs=n_jobs, on_progress=complain)
        assert threadpool_info() == before


def test_an_interrupt_is_not_a_failed_run(table):
    with pytest.raises(KeyboardInterrupt):
        collect(table, Failing(with_row_zero, KeyboardInterrupt))


# Refusals, before any work


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_models": 0}, "n_models must be a whole number >= 1; got 0"),
        ({"n_models": 2.5}, r"n_models must be a whole number >= 1; got 2\.5"),
        ({"train_size": 0}, r"train_size must be a number in \(0, 1\); got 0"),
        ({"train_size": 1.0}, r"train_size must be a number in \(0, 1\); got 1\.0"),
        ({"train_size": -0.5}, r"train_size must be a number in \(0, 1\); got -0\.5"),
        ({"train_size": "half"}, r"train_size must be a number in \(0, 1\); got 'half'"),
        ({"train_size": np.nan}, r"train_size must be a number in \(0, 1\); got nan"),
        ({"train_size": 0.01}, r"train_size=0.01 of 60 samples leaves 1 of them"),
        ({"n_features_per_model": 13}, "n_features_per_model must be at most the number of features, 12; got 13"),
        ({"n_features_per_model": 0}, "n_features_per_model must be a whole number >= 1; got 0"),
        ({"n_jobs": 0}, "n_jobs must be a whole number other than 0, or None; got 0. Use -1"),
        ({"n_jobs": "all"}, "n_jobs must be a whole number; got 'all'"),
        ({"on_progress": 5}, r"on_progress must be True for a progress bar, a function of \(done, total\), or None"),
        ({"random_state": "seed"}, "random_state must be a whole number >= 0; got 'seed'"),
        ({"task": "clustering"}, "task must be one of"),
        ({"groups": [1, 2]}, "groups must have one entry per sample of X, 60; got 2"),
        ({"checkpoint": 5}, "checkpoint must be the path of a directory; got 5"),
        ({"checkpoint": ""}, "checkpoint must be the path of a directory; got ''"),
    ],
)
def test_arguments_that_break_a_rule(table, arguments, message):
    selector = Noisy()
    with pytest.raises(InputError, match=message):
        collect(table, selector, **arguments)
    assert selector.calls == []


def test_a_selector_that_cannot_do_the_task_is_refused_before_any_work(table):
    class Picky(Noisy):
        name = "picky"
        tasks = frozenset({"regression"})

    selector = Picky()
    with pytest.raises(InputError, match=r"selector 'picky' cannot do task 'binary'.*Selectors that can: .*'mrmr'"):
        collect(table, [Noisy(), selector])
    assert selector.calls == []
