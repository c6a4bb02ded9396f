"""The simulation study: the grids are those of the paper, and an outcome is what the public functions give."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import ubayfs
from ubayfs_experiments.data.synthetic import generate, relevant_blocks
from ubayfs_experiments.designs import simulation
from ubayfs_experiments.designs.simulation import EXPERIMENTS
from ubayfs_experiments.tasks import Scale, Split, seed_of

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
FULL, QUICK = Scale(), Scale(quick=True)
SIX = ["mrmr", "fisher", "tree", "rfe", "hsic", "lasso"]


@pytest.fixture(scope="module")
def datasets():
    return {name: generate(name, 0) for name in ("additive", "blocks", "redundant")}


def half(dataset):
    rows = np.random.default_rng(0).permutation(len(dataset.y))
    middle = len(rows) * 3 // 4
    return Split(0, np.sort(rows[:middle]), np.sort(rows[middle:]))


def run(experiment, data, dataset, method="fisher", seed=None, **settings):
    """Run one split of a quick task with other settings."""
    chosen = BY_NAME[experiment]
    task = next(t for t in chosen.tasks(QUICK) if (t.data, t.method) == (data, method))
    task = replace(task, settings={**task.settings, **settings})
    return chosen.run_split(task, dataset, half(dataset), seed or seed_of(0, task.name, 0))


@pytest.fixture(scope="module")
def priors(datasets):
    """The outcomes of a quick split of 1d, and the seed that was used up for them."""
    seed = seed_of(0, "1d/redundant/fisher", 0)
    return run("1d", "redundant", datasets["redundant"], seed=seed), seed


def test_the_four_experiments():
    assert [e.name for e in EXPERIMENTS] == ["1a", "1b", "1c", "1d"]
    for experiment in EXPERIMENTS:
        for scale, n_splits in ((FULL, 10), (QUICK, 2)):
            tasks = experiment.tasks(scale)
            assert len({task.name for task in tasks}) == len(tasks)
            assert {task.n_splits for task in tasks} == {n_splits}
            assert {task.experiment for task in tasks} == {experiment.name}
        fixed = experiment.settings
        assert (fixed["default_weight"], fixed["max_size_rho"], fixed["constraint_strength"]) == (0.01, 1.0, 1.0)
        assert (fixed["n_splits"], fixed["train_size"]) == (10, 0.75)


def test_grid_of_1a():
    tasks = BY_NAME["1a"].tasks(FULL)
    assert {(t.data, t.method) for t in tasks} == set(product(["additive", "non-additive"], [*SIX, "laplacian"]))
    assert all(t.settings == {"selector": t.method, "n_models": [1, 5, 10, 50, 100, 200]} for t in tasks)


@pytest.mark.parametrize(
    ("experiment", "data", "grid"),
    [
        ("1b", "blocks", {"weighted": ["relevant", "other"], "weight": [0.01, 10.0, 100.0, 1000.0]}),
        (
            "1c",
            "blocks",
            {
                "constraint": ["max_per_block 2", "max_blocks 4", "max_blocks 2"],
                "rho": ["0", "1", "10", "100", "inf"],
            },
        ),
        (
            "1d",
            "redundant",
            {
                "prior": [
                    "dirichlet",
                    "generalized",
                    "generalized, beta = 1",
                    "generalized, beta = 100",
                    "hyperdirichlet",
                ],
                "decorrelate": [False, True],
            },
        ),
    ],
)
def test_grids_of_the_decisions(experiment, data, grid):
    tasks = BY_NAME[experiment].tasks(FULL)
    cells = {(name, name, 100) for name in [*SIX, "laplacian"]} | {("hsic-5", "hsic", 5), ("rfe-5", "rfe", 5)}
    found = [(t.data, t.method, t.settings["selector"], t.settings["n_models"]) for t in tasks]
    assert len(found) == 18
    assert set(found) == {(d, *cell) for d in (data, f"{data}-authors") for cell in cells}
    assert all({k: t.settings[k] for k in grid} == grid and len(t.settings) == 4 for t in tasks)


def test_quick_is_small_and_keeps_every_kind():
    assert all(t.settings["n_models"] == [1, 5] for t in BY_NAME["1a"].tasks(QUICK))
    assert {t.method for e in EXPERIMENTS for t in e.tasks(QUICK)} == {"mrmr", "fisher", "hsic"}
    settings = [e.tasks(QUICK)[0].settings for e in EXPERIMENTS[1:]]
    assert settings[0] == {
        "selector": "mrmr", "n_models": 5, "weighted": ["relevant", "other"], "weight": [0.01, 1000.0],
    }  # fmt: skip
    assert settings[1]["rho"] == ["0", "inf"]
    assert len(settings[1]["constraint"]) == 3
    assert len(settings[2]["prior"]) == 5


def test_models_have_their_own_ensembles(datasets):
    data = datasets["additive"]
    outcomes = run("1a", "additive", data, n_models=[1, 5])
    assert [o.setting for o in outcomes] == [{"selector": "fisher", "n_models": n} for n in (1, 5)]
    split = half(data)
    for outcome, seed in zip(outcomes, seed_of(0, "1a/additive/fisher", 0).spawn(2), strict=True):
        evidence = ubayfs.collect_evidence(
            data.X[split.train], data.y[split.train], selector="fisher", n_models=outcome.setting["n_models"],
            train_size=0.75, n_features_per_model=4, random_state=seed,
        )  # fmt: skip
        selection = ubayfs.decide(evidence, constraints=ubayfs.max_size(4, rho=1.0), min_votes=0)
        assert outcome.features == tuple(sorted(int(i) for i in selection.indices))
        hits = len(set(outcome.features) & {0, 1, 2, 3})
        assert outcome.scores["feature_f1"] == pytest.approx(2 * hits / (len(outcome.features) + 4))
        correlation = np.abs(np.corrcoef(data.X[split.train][:, outcome.features].T))
        upper = correlation[np.triu_indices(len(outcome.features), 1)]
        assert outcome.scores["redundancy"] == pytest.approx(upper.mean())
        assert outcome.seconds > 0


def but_for_the_clock(outcomes):
    return [(o.setting, o.features, o.scores) for o in outcomes]


@pytest.mark.parametrize(("experiment", "data"), [("1a", "additive"), ("1b", "blocks")])
def test_same_seed_same_outcomes(datasets, experiment, data):
    seed = seed_of(0, data)
    first, again = (run(experiment, data, datasets[data], seed=seed) for _ in range(2))
    assert but_for_the_clock(first) == but_for_the_clock(again)


def test_same_seed_same_outcomes_whatever_other_priors_there_are(datasets, priors):
    outcomes, seed = priors
    again = run("1d", "redundant", datasets["redundant"], seed=seed, prior=["hyperdirichlet"], decorrelate=[False])
    assert but_for_the_clock(again) == but_for_the_clock(outcomes[-2:-1])


def test_weights_act_on_the_blocks_they_name(datasets):
    data = datasets["blocks"]
    outcomes = {(o.setting["weighted"], o.setting["weight"]): o for o in run("1b", "blocks", data)}
    assert set(outcomes) == set(product(["relevant", "other"], [0.01, 1000.0]))
    assert outcomes["relevant", 0.01].features == outcomes["other", 0.01].features
    inside = {f for name in relevant_blocks(data) for f in data.blocks.members[name]}
    assert set(outcomes["relevant", 1000.0].features) <= inside
    assert not set(outcomes["other", 1000.0].features) & inside
    assert outcomes["other", 1000.0].scores["feature_f1"] == 0


def test_constraints_are_kept_when_hard_and_left_out_at_rho_0(datasets):
    data = datasets["blocks"]
    rhos = ["0", "1", "inf"]
    outcomes = {(o.setting["constraint"], o.setting["rho"]): o for o in run("1c", "blocks", data, rho=rhos)}
    kinds = ["max_per_block 2", "max_blocks 4", "max_blocks 2"]
    assert set(outcomes) == set(product(kinds, rhos))
    assert len({outcomes[kind, "0"].features for kind in kinds}) == 1
    for outcome in outcomes.values():
        taken = np.bincount(np.array(outcome.features) // 32)
        assert outcome.scores["n_blocks"] == (taken > 0).sum()
        assert outcome.scores["most_per_block"] == taken.max()
    free = outcomes["max_blocks 2", "0"].scores
    assert free["n_blocks"] > 4  # so that the constraints do something
    assert free["most_per_block"] > 2
    assert outcomes["max_per_block 2", "inf"].scores["most_per_block"] == 2
    assert outcomes["max_blocks 4", "inf"].scores["n_blocks"] <= 4
    assert outcomes["max_blocks 2", "inf"].scores["n_blocks"] <= 2


@pytest.mark.filterwarnings("ignore:No model voted:ubayfs.exceptions.OptimizationWarning")
def test_priors_and_decorrelation(datasets, priors):
    data, (outcomes, _) = datasets["redundant"], priors
    assert [(o.setting["prior"], o.setting["decorrelate"]) for o in outcomes] == list(
        product(simulation.PRIORS_GRID, [False, True])
    )
    found = {(o.setting["prior"], o.setting["decorrelate"]): o for o in outcomes}
    split = half(data)
    X, y = data.X[split.train], data.y[split.train]
    evidence_seed, prior_seed = seed_of(0, "1d/redundant/fisher", 0).spawn(2)
    evidence = ubayfs.collect_evidence(
        X, y, selector="fisher", n_models=5, n_features_per_model=16, random_state=evidence_seed
    )
    size, apart = ubayfs.max_size(16, rho=1.0), ubayfs.decorrelate(0.4)
    by_hand = {
        ("dirichlet", True): ubayfs.decide(evidence, constraints=[size, apart], X=X, min_votes=0),
        ("generalized, beta = 1", False): ubayfs.decide(
            evidence, prior=ubayfs.GeneralizedDirichlet(beta=np.ones(31)), constraints=size, min_votes=0
        ),
        ("generalized, beta = 100", False): ubayfs.decide(
            evidence, prior=ubayfs.GeneralizedDirichlet(beta=np.full(31, 100.0)), constraints=size, min_votes=0
        ),
        ("hyperdirichlet", False): ubayfs.decide(
            evidence,
            prior="hyperdirichlet",
            constraints=size,
            random_state=int(prior_seed.generate_state(1)[0]),
            min_votes=0,
        ),
    }
    for key, selection in by_hand.items():
        assert found[key].features == tuple(sorted(int(i) for i in selection.indices)), key
    assert found["dirichlet", True].features != found["dirichlet", False].features


def test_warnings_of_the_package_are_advice_and_others_are_not(datasets, monkeypatch):
    import warnings

    def collect(*args, category, **kwargs):
        warnings.warn("something", category, stacklevel=2)
        raise RuntimeError("stop")

    for category in (ubayfs.exceptions.EnsembleWarning, ubayfs.exceptions.OptimizationWarning):
        monkeypatch.setattr(ubayfs, "collect_evidence", lambda *a, c=category, **k: collect(category=c))
        with pytest.raises(RuntimeError, match="stop"):
            run("1b", "blocks", datasets["blocks"])
    monkeypatch.setattr(ubayfs, "collect_evidence", lambda *a, **k: collect(category=RuntimeWarning))
    with pytest.raises(RuntimeWarning, match="something"):
        run("1b", "blocks", datasets["blocks"])
