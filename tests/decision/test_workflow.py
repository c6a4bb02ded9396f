import json
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from problems import all_sets
from ubayfs import (
    Dirichlet,
    Evidence,
    Exact,
    Genetic,
    cannot_link,
    decide,
    decorrelate,
    exclude,
    implies,
    linear,
    log_admissibility,
    max_blocks,
    max_per_block,
    max_size,
    maximize,
    min_size,
    must_link,
    require,
    selection_probabilities,
)
from ubayfs.decision.selection import Selection
from ubayfs.exceptions import InfeasibleError, InputError, OptimizationError, OptimizationWarning
from ubayfs.optimize import Solution
from ubayfs.optimize.alternatives import Alternatives
from ubayfs.priors.hyper import Hyperdirichlet

INF = np.inf
NAMES = list("abcdefgh")
BLOCKS = {"left": ["a", "b", "c"], "right": ["f", "g", "h"], "middle": ["c", "d", "e", "f"]}
CONSTRAINTS = [
    max_size(3, rho=1.5),
    must_link(["a", "h"], rho=0.4),
    cannot_link(["b", "c"]),
    max_blocks(2, rho=0.8),
    max_per_block(1, rho=0.3),
    linear({"a": 0.5, "d": 1.25, "e": -0.75}, b=0.6, rho=2.0),
]


@pytest.fixture(scope="module")
def evidence():
    rng = np.random.default_rng(3)
    sets = rng.random((40, 8)) < np.linspace(0.9, 0.1, 8)
    return Evidence.from_sets(sets, NAMES)


def brute_force(theta, constraints, strength=1.0, blocks=None, names=NAMES):
    """Values of all sets, from the public admissibility alone."""
    sets = all_sets(len(theta))
    log_kappa = log_admissibility(sets, constraints, feature_names=names, blocks=blocks)
    values = np.where(np.isneginf(log_kappa), -INF, sets @ theta + strength * np.exp(log_kappa))
    return sets, values


@pytest.mark.parametrize("strength", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("weights", [0.01, 30.0, {"h": 50, "g": 2.5}])
def test_decide_finds_the_best_set_of_all(evidence, strength, weights):
    alpha = np.full(8, weights) if np.isscalar(weights) else np.array([weights.get(name, 0.01) for name in NAMES])
    theta = (alpha + evidence.counts) / (alpha + evidence.counts).sum()
    selection = decide(evidence, weights=weights, constraints=CONSTRAINTS, blocks=BLOCKS, constraint_strength=strength)
    _, values = brute_force(theta, CONSTRAINTS, strength, BLOCKS)
    np.testing.assert_allclose(selection.posterior.mean, theta)
    assert selection.value == pytest.approx(values.max(), abs=1e-9)
    assert selection.bound == pytest.approx(values.max(), abs=1e-8)
    assert selection.evaluate(selection.features).utility == selection.value


@pytest.mark.parametrize("seed", range(5))
def test_maximize_finds_the_best_set_of_all(seed):
    theta = np.random.default_rng(seed).random(8) * 10.0 ** (seed - 2)
    selection = maximize(
        theta, CONSTRAINTS, constraint_strength=0.7, feature_names=NAMES, blocks=BLOCKS, n_alternatives=3
    )
    values = np.sort(brute_force(theta, CONSTRAINTS, 0.7, BLOCKS)[1])[::-1]
    found = [selection.value, *(other.value for other in selection.alternatives)]
    assert found == pytest.approx(values[:4], rel=1e-8)


def test_decide_on_a_posterior_equals_decide_on_its_evidence(evidence):
    first = decide(evidence, weights={"e": 7.0}, constraints=CONSTRAINTS, blocks=BLOCKS)
    again = decide(first.posterior, constraints=CONSTRAINTS, blocks=BLOCKS)
    assert again.features == first.features
    assert again.value == first.value
    np.testing.assert_array_equal(again.weights, first.weights)
    np.testing.assert_array_equal(again.counts, evidence.counts)


def test_a_posterior_is_not_sampled_again(evidence, monkeypatch):
    updates = []
    update = Hyperdirichlet._update
    monkeypatch.setattr(Hyperdirichlet, "_update", lambda self, *args: updates.append(1) or update(self, *args))
    prior = Hyperdirichlet(n_warmup=20, n_draws=160, max_draws=160)
    first = decide(evidence, prior=prior, constraints=max_size(2), random_state=0)
    assert updates == [1]
    for constraint in (max_size(3), max_size(1)):
        other = decide(first.posterior, constraints=constraint)
        assert other.posterior is first.posterior
    assert updates == [1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": 0.02}, "weights are part of a posterior; pass the evidence"),
        ({"weights": {"a": 1}}, "weights are part of a posterior; pass the evidence"),
        ({"weights": np.full(8, 0.01)}, "weights are part of a posterior; pass the evidence"),
        ({"prior": "generalized"}, "prior is part of a posterior; pass the evidence"),
        ({"prior": Dirichlet()}, "prior is part of a posterior; pass the evidence"),
    ],
)
def test_weights_and_prior_cannot_be_changed_in_a_posterior(evidence, arguments, message):
    posterior = decide(evidence, constraints=max_size(2)).posterior
    assert decide(posterior, weights=0.01, prior="dirichlet", constraints=max_size(2)).posterior is posterior
    with pytest.raises(InputError, match=message):
        decide(posterior, constraints=max_size(2), **arguments)


def test_the_provenance_tells_how_the_selection_was_made(evidence):
    constraints = (one for one in [max_size(3, rho=1.0), require("d")])  # used up by reading it once
    selection = decide(evidence, constraints=constraints, min_votes=2, constraint_strength=3.0)
    made = selection.provenance
    assert made["constraints"] == [
        {"kind": "max_size", "arguments": {"n": 3, "rho": 1.0}},
        {"kind": "require", "arguments": {"features": ["d"], "rho": "hard", "on": "features"}},
    ]
    assert (made["min_votes"], made["constraint_strength"], made["prior"]) == (2, 3.0, "dirichlet")
    assert made["optimizer"] == "Exact(time_limit=None)"
    assert "d" in selection.features


def hand_decided(theta, n):
    return np.isin(np.arange(len(theta)), np.argsort(-theta)[:n])


def test_selection_probabilities_are_shares_of_decisions_on_draws(evidence):
    posterior = decide(evidence, constraints=max_size(3)).posterior
    probability = selection_probabilities(posterior, constraints=max_size(3), n_draws=50, random_state=4)
    draws = posterior.draws(50, np.random.default_rng(np.random.SeedSequence(4)))
    expected = np.mean([hand_decided(theta, 3) for theta in draws], axis=0)
    np.testing.assert_allclose(probability, expected)
    assert probability.sum() == pytest.approx(3.0)


def test_selection_probabilities_respect_constraints_votes_and_seed(evidence):
    posterior = decide(evidence, constraints=max_size(3)).posterior
    arguments = {"constraints": [max_size(2), exclude("a"), require("f")], "n_draws": 20, "min_votes": 3}
    probability = selection_probabilities(posterior, random_state=1, **arguments)
    assert probability[0] == 0
    assert probability[5] == 1
    assert (evidence.counts < 3).any()
    assert (probability[evidence.counts < 3] == 0).all()
    np.testing.assert_array_equal(probability, selection_probabilities(posterior, random_state=1, **arguments))


def test_selection_probabilities_need_a_posterior(evidence):
    with pytest.raises(InputError, match=r"must be a Posterior, as in selection.posterior, or a Selection; got Evid"):
        selection_probabilities(evidence, constraints=max_size(3))


def test_selection_probabilities_of_a_selection_repeat_its_decision(evidence):
    arguments = {"constraints": [max_size(2), exclude("a"), require("f")], "min_votes": 3, "constraint_strength": 2.0}
    selection = decide(evidence, **arguments)
    expected = selection_probabilities(selection.posterior, n_draws=20, random_state=1, **arguments)
    np.testing.assert_array_equal(selection_probabilities(selection, n_draws=20, random_state=1), expected)


def test_selection_probabilities_of_a_selection_are_found_by_its_optimizer(evidence):
    class Fixed:
        def maximize(self, utility, random_state=None):
            chosen = np.isin(np.arange(utility.n_features), [1, 6])
            return Solution(chosen, float(utility(chosen)[0]), np.inf)

    selection = decide(evidence, constraints=max_size(2), optimizer=Fixed())
    probability = selection_probabilities(selection, n_draws=5, random_state=0)
    assert np.flatnonzero(probability).tolist() == [1, 6]
    assert (probability[[1, 6]] == 1.0).all()
    assert (selection_probabilities(selection, n_draws=5, random_state=0, optimizer="exact") != probability).any()


@pytest.mark.parametrize(
    "again",
    [
        {"constraints": max_size(2, rho=1.0)},
        {"blocks": {"x": ["a"]}},
        {"constraint_strength": 2.0},
        {"min_votes": 2},
        {"X": [[1.0]]},
    ],
)
def test_what_is_part_of_a_selection_cannot_be_given_again(evidence, again):
    with pytest.raises(InputError, match=r"is part of a selection; pass selection\.posterior") as caught:
        selection_probabilities(decide(evidence, constraints=max_size(3, rho=1.0)), **again)
    assert [caught.value.argument] == list(again)


def test_selection_probabilities_take_the_arguments_of_a_decision(evidence):
    posterior = decide(evidence, constraints=max_size(3)).posterior
    found = selection_probabilities(posterior, constraints=max_size(2), time_limit=60.0, n_draws=5, random_state=0)
    np.testing.assert_array_equal(
        found, selection_probabilities(posterior, constraints=max_size(2), n_draws=5, random_state=0)
    )
    for name in ("min_vote", "weights", "n_alternatives"):  # misspelled; part of the posterior; of no use for draws
        with pytest.raises(InputError, match="selection_probabilities has no argument") as caught:
            selection_probabilities(posterior, **{name: 1})
        assert caught.value.argument == name
    with pytest.raises(InputError, match="time_limit is not supported by Genetic"):
        selection_probabilities(posterior, optimizer="genetic", time_limit=1.0)


def test_a_selection_without_a_posterior_has_no_probabilities(evidence):
    selection = maximize([0.5, 0.3, 0.2], max_size(2))
    with pytest.raises(InputError, match="has no posterior to draw from; use one that decide"):
        selection_probabilities(selection)


def test_selection_probabilities_tell_how_far_they_are_and_can_be_stopped(evidence):
    selection = decide(evidence, constraints=max_size(3))
    calls = []
    selection_probabilities(selection, n_draws=4, random_state=0, on_progress=lambda *call: calls.append(call))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]
    stopped = selection_probabilities(selection, n_draws=4, random_state=0, on_progress=lambda done, _: done < 2)
    draws = selection.posterior.draws(4, np.random.default_rng(np.random.SeedSequence(0)))
    np.testing.assert_allclose(stopped, np.mean([hand_decided(theta, 3) for theta in draws[:2]], axis=0))


def test_selection_probabilities_do_not_count_sets_that_break_hard_rows(evidence):
    posterior = decide(evidence, constraints=max_size(3)).posterior
    contradiction = [require(["a", "b"]), max_size(1)]
    with pytest.raises(OptimizationError, match="Genetic found no set that keeps all hard constraints"):
        selection_probabilities(
            posterior, constraints=contradiction, optimizer=Genetic(n_sets=4, n_generations=2), n_draws=1
        )


def slow_problem(n=40, n_pairs=300):
    """Soft pairs everywhere: the local search alone does not prove its set."""
    rng = np.random.default_rng(3)
    pairs = [
        cannot_link(rng.choice(n, 2, replace=False).tolist(), rho=float(rng.uniform(0.5, 20))) for _ in range(n_pairs)
    ]
    return rng.dirichlet(np.ones(n)), [max_size(12), *pairs]


def test_a_time_limit_is_warned_about_with_the_honest_gap():
    theta, constraints = slow_problem()
    with pytest.warns(OptimizationWarning, match=r"time limit was reached: .*\(gap .*\)\. Give more time") as caught:
        hurried = maximize(theta, constraints, time_limit=1e-9)
    assert caught[0].filename == __file__
    assert f"gap {hurried.gap:.3g}" in str(caught[0].message)
    full = maximize(theta, constraints)
    assert not hurried.best.complete
    assert hurried.value <= full.value <= hurried.bound
    assert full.gap <= 1e-9


@pytest.mark.parametrize("constraints", [(), [min_size(2, rho=1.0), must_link(NAMES, rho=1.0)], exclude("a")])
def test_nothing_that_limits_the_size_is_warned_about(evidence, constraints):
    with pytest.warns(
        OptimizationWarning, match=r"No constraint limits the size of the set: \d of the 8 .* Add max_size"
    ) as caught:
        decide(evidence, constraints=constraints)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "constraints",
    [max_size(7, rho=1e-3), max_blocks(1), max_per_block(1), linear(np.ones(8), b=2.0), cannot_link(NAMES)],
)
def test_whatever_limits_most_features_is_not_a_reason_to_warn(evidence, constraints):
    blocks = {"first": NAMES[:4], "second": NAMES[4:]}
    decide(evidence, constraints=constraints, blocks=blocks)  # warnings are errors in tests


def test_members_without_a_vote_are_warned_about_and_min_votes_keeps_them_out():
    sets = np.zeros((5, 9), dtype=bool)
    sets[:, :2] = True
    evidence = Evidence.from_sets(sets)
    constraints = [min_size(8), max_size(8, rho=1.0)]
    with pytest.warns(
        OptimizationWarning, match=r"No model voted for 6 of 8 selected features .*x2.* and 1 more.*min_votes=1"
    ) as caught:
        selection = decide(evidence, constraints=constraints, min_votes=0)
    assert caught[0].filename == __file__
    assert selection.metrics.without_votes == ("x2", "x3", "x4", "x5", "x6", "x7")
    with pytest.raises(InfeasibleError, match=r"min-size 8.*7 feature\(s\) may not be selected at all.*min_votes=0"):
        decide(evidence, constraints=constraints)
    with pytest.warns(OptimizationWarning, match="No set satisfies all of.*: min-size 8"):
        assert decide(evidence, constraints=[min_size(8, rho=1.0), max_size(8, rho=1.0)]).features == ("x0", "x1")


def test_min_votes_is_a_threshold(evidence):
    for least in (0, 10, 20):
        selection = decide(evidence, constraints=max_size(7, rho=0.01), min_votes=least)
        assert (evidence.counts[selection.indices] >= least).all()
        assert len(selection.indices) == min(8, (evidence.counts >= least).sum())
    with pytest.raises(
        InputError, match=r"min_votes=41 leaves no feature to select: the highest count is \d+, .*Lower it"
    ) as caught:
        decide(evidence, constraints=max_size(3), min_votes=41)
    assert (caught.value.argument, caught.value.value) == ("min_votes", 41)


@pytest.mark.parametrize("least", [0, 41])
def test_min_votes_is_not_blamed_where_all_columns_are_constant(evidence, least):
    constant = Evidence(evidence.sets, evidence.feature_names, np.ones(8, dtype=bool))
    with pytest.raises(InputError, match=r"no feature to select: all 8 columns are constant\.") as caught:
        decide(constant, constraints=max_size(3), min_votes=least)
    assert caught.value.argument == "evidence"


def test_constant_columns_are_never_chosen(evidence):
    constant = np.isin(NAMES, ["a", "d"])
    marked = Evidence(evidence.sets, evidence.feature_names, constant)
    for optimizer in ("exact", "genetic"):
        selection = decide(marked, weights={"a": 1000}, constraints=max_size(4), optimizer=optimizer, random_state=0)
        assert not set(selection.features) & {"a", "d"}
    with pytest.raises(InfeasibleError, match=r"require a.*2 feature\(s\) .* at all: constant columns\.\)"):
        decide(marked, constraints=[max_size(4), require("a")])
    with pytest.raises(InfeasibleError, match=r"at all: those that min_votes excludes and constant columns\.\)"):
        decide(marked, constraints=[max_size(4), require("a")], min_votes=int(evidence.counts.min()) + 1)


def test_the_optimizer_is_given_by_name_or_as_an_object(evidence):
    exact = decide(evidence, constraints=CONSTRAINTS, blocks=BLOCKS, optimizer=Exact(time_limit=60.0))
    genetic = decide(evidence, constraints=CONSTRAINTS, blocks=BLOCKS, optimizer="genetic", random_state=1)
    small = decide(
        evidence, constraints=CONSTRAINTS, blocks=BLOCKS, optimizer=Genetic(n_sets=5, n_generations=2), random_state=1
    )
    assert exact.value >= genetic.value >= small.value - 1e-12
    assert small.provenance["solver"]["n_generations"] == 2
    assert small.gap > 0
    with pytest.raises(
        InputError, match=r"optimizer must be one of 'exact', 'genetic'; got 'exakt'. Did you mean 'exact'\?"
    ):
        decide(evidence, constraints=CONSTRAINTS, optimizer="exakt", blocks=BLOCKS)
    with pytest.raises(InputError, match="time_limit is not supported by Genetic"):
        decide(evidence, constraints=CONSTRAINTS, optimizer="genetic", time_limit=5, blocks=BLOCKS)


def test_a_genetic_search_that_finds_no_admissible_set_says_who_would():
    with pytest.raises(OptimizationError, match=r"Genetic found no set .* use optimizer='exact'"):
        maximize([0.5, 0.5], [require([0, 1]), max_size(1)], optimizer=Genetic(n_sets=4, n_generations=2))
    with pytest.raises(InfeasibleError, match=r"These cannot hold together: .*max-size 1"):
        maximize([0.5, 0.5], [require([0, 1]), max_size(1)])


def test_the_same_seed_gives_the_same_selection(evidence):
    search = Genetic(n_sets=5, n_generations=2)
    prior = Hyperdirichlet(n_warmup=20, n_draws=160, max_draws=160)
    arguments = {"prior": prior, "constraints": max_size(3), "optimizer": search}
    one, same, other = (decide(evidence, random_state=seed, **arguments) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.posterior.mean, same.posterior.mean)
    assert one.to_dict() == same.to_dict()
    assert not np.array_equal(one.posterior.mean, other.posterior.mean)


def test_a_series_names_the_features():
    theta = pd.Series({"radius": 0.5, "area": 0.3, "texture": 0.2})
    selection = maximize(theta, [max_size(2, rho=5.0), cannot_link(["radius", "area"], rho=5.0)])
    assert selection.features == ("radius", "texture")
    assert maximize(theta, max_size(1), feature_names=["p", "q", "r"]).features == ("p",)


def test_data_in_another_column_order_are_put_in_order():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", "b", "c"])
    X["c"] = X["a"] + 0.01 * X["c"]
    theta = pd.Series({"a": 0.5, "b": 0.1, "c": 0.4})
    for frame in (X, X[["c", "b", "a"]]):
        selection = maximize(theta, [max_size(2), decorrelate(0.8)], X=frame)
        assert selection.features == ("a", "b")
        assert selection.evaluate(["a", "c"]).redundancy == pytest.approx(np.corrcoef(X["a"], X["c"])[0, 1])


def test_importances_of_zero_leave_what_the_constraints_ask_for():
    selection = maximize(np.zeros(4), [min_size(2), max_size(3), cannot_link([0, 1])])
    assert len(selection.features) == 2
    assert selection.value == 1.0


def test_more_alternatives_than_there_are_sets():
    selection = maximize([0.5, 0.3, 0.2], max_size(1), n_alternatives=50)
    assert [found.features for found in selection.alternatives] == [("x1",), ("x2",), ()]


def test_admissibility_of_sets_by_the_formula():
    sets = all_sets(4)
    log_kappa = log_admissibility(sets, [max_size(2, rho=0.3), implies(0, 3)])
    size = np.maximum(sets.sum(axis=1) - 2, 0)
    expected = np.log(2 * np.exp(-0.3 * size) / (1 + np.exp(-0.3 * size)))
    expected[sets[:, 0] & ~sets[:, 3]] = -INF
    np.testing.assert_allclose(log_kappa, expected, atol=1e-15)
    np.testing.assert_array_equal(
        log_admissibility(sparse.csr_array(sets), [max_size(2, rho=0.3), implies(0, 3)]), log_kappa
    )
    assert log_admissibility(sets[5], max_size(1)).shape == (1,)
    named = log_admissibility([[1, 1, 0]], cannot_link(["a", "c"]), feature_names=["a", "b", "c"])
    np.testing.assert_array_equal(named, [0.0])


def test_admissibility_with_blocks_and_data():
    sets = [[True, True, False], [True, False, True]]
    by_block = log_admissibility(sets, max_blocks(1), blocks={"p": [0, 1], "q": [2]})
    np.testing.assert_array_equal(by_block, [0.0, -INF])
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[:, 1] = X[:, 0]
    np.testing.assert_array_equal(log_admissibility(sets, decorrelate(0.9), X=X), [-INF, 0.0])


@pytest.mark.parametrize("sets", [[[0.5, 1.0]], [["a", "b"]], np.zeros((2, 2, 2)), [[2, 0]], [[np.nan, 0]]])
def test_admissibility_needs_sets(sets):
    with pytest.raises(InputError, match=r"; got ") as found:
        log_admissibility(sets, max_size(1))
    assert found.value.argument == "sets"


def test_threads_decide_alike():
    theta, constraints = slow_problem(n=30, n_pairs=100)
    strengths = [0.3, 0.6, 1.0, 2.0] * 2
    alone = [maximize(theta, constraints, constraint_strength=strength).to_dict() for strength in strengths[:4]]
    with ThreadPoolExecutor(4) as threads:
        together = list(
            threads.map(
                lambda strength: maximize(theta, constraints, constraint_strength=strength).to_dict(), strengths
            )
        )
    assert together == alone * 2


def test_stronger_constraints_never_lower_admissibility():
    theta, constraints = slow_problem(n=30, n_pairs=100)
    found = [maximize(theta, constraints, constraint_strength=strength).metrics for strength in (0.1, 0.5, 1.0, 5.0)]
    for weak, strong in pairwise(found):
        assert strong.admissibility >= weak.admissibility - 1e-9
        assert strong.importance <= weak.importance + 1e-9


def test_constant_columns_of_the_data_are_never_chosen_from_foreign_evidence(rng):
    X = rng.normal(size=(20, 10))
    X[:, 2] = 5.0
    evidence = Evidence.from_sets(np.eye(10, dtype=bool)[[2, 2, 2, 1]])
    assert decide(evidence, X=X, constraints=max_size(1, rho=9)).features == ("x1",)
    theta = evidence.counts / evidence.counts.sum()
    assert maximize(theta, max_size(1, rho=9), X=X).features == ("x1",)


def test_a_proposed_set_with_barred_members_cannot_beat_the_bound(rng):
    evidence = Evidence.from_sets(rng.random((20, 10)) < 0.3)
    selection = decide(evidence, min_votes=7, constraints=max_size(9))
    barred = np.flatnonzero(evidence.counts < 7)
    metrics = selection.evaluate([*selection.indices, barred[0]])
    assert metrics.utility == -np.inf
    assert metrics.admissibility == 0
    assert metrics.violations[0].label == f"x{barred[0]} cannot be selected (min_votes)"
    assert metrics.violations[0].rho == np.inf


def test_why_a_feature_cannot_be_selected_is_known(rng):
    X = rng.normal(size=(30, 4))
    X[:, 2] = 1
    selection = decide(Evidence.from_sets([[1, 1, 1, 0], [1, 0, 1, 0]]), min_votes=2, X=X, constraints=max_size(1))
    assert selection.features == ("x0",)
    reasons = [selection.problem.why_unselectable(position) for position in (1, 2, 3)]
    assert reasons == ["min_votes", "constant", "min_votes"]
    assert maximize(np.ones(4), max_size(1), X=X).problem.why_unselectable(2) == "constant"


def test_a_limit_on_half_of_the_features_is_not_enough():
    with pytest.warns(OptimizationWarning, match="No constraint limits the size of the set: 5 of the 10"):
        maximize(np.full(10, 0.1), cannot_link(range(5)))


def test_a_full_set_within_its_limit_needs_no_warning():
    evidence = Evidence.from_sets([[1, 1, 0], [1, 1, 0]])
    assert len(decide(evidence, min_votes=1, constraints=max_size(2)).features) == 2


def test_importances_must_have_a_finite_sum():
    with pytest.raises(InputError, match="theta must have a finite sum"):
        maximize([1e308, 1e308], max_size(1))


def test_numpy_integers_do_not_stop_json():
    evidence = Evidence.from_sets([[1, 0], [1, 1]])
    json.dumps(decide(evidence, constraints=max_size(1), min_votes=np.int64(1)).to_dict(), allow_nan=False)


def test_alternatives_cut_short_by_the_time_limit_are_marked(monkeypatch):
    monkeypatch.setattr("ubayfs.decision.workflow.find_alternatives", lambda *_: Alternatives((), False))
    with pytest.warns(OptimizationWarning, match="after 0 of 3 alternatives"):
        selection = maximize([0.5, 0.3, 0.2], max_size(2), time_limit=60.0, n_alternatives=3)
    assert not selection.alternatives_complete
    (advice,) = selection.advice
    assert (advice.code, dict(advice.facts)) == ("alternatives_incomplete", {"n_found": 0, "n_alternatives": 3})
    assert not Selection.from_dict(selection.to_dict()).alternatives_complete
    older = {key: value for key, value in selection.to_dict().items() if key != "alternatives_complete"}
    assert Selection.from_dict(older).alternatives_complete


def test_the_time_limit_begins_with_the_best_set_and_covers_the_alternatives(monkeypatch):
    seen = []

    def recording(*arguments):
        seen.append(arguments[5])
        return Alternatives((), True)

    monkeypatch.setattr("ubayfs.decision.workflow.find_alternatives", recording)
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    maximize([0.5, 0.3, 0.2], max_size(2), time_limit=5.0)
    maximize([0.5, 0.3, 0.2], max_size(2))
    assert seen == [105.0, None]


@pytest.mark.parametrize("more", [[], [cannot_link([0, 1], rho=1.0)]])
def test_constraints_that_no_set_satisfies_together_are_named(more):
    with pytest.warns(OptimizationWarning, match="No set satisfies all of: max-size 5, min-size 8"):
        selection = maximize(np.full(30, 1 / 30), [max_size(5, rho=1.0), min_size(8, rho=3), *more])
    assert len(selection.features) == 30
    (advice,) = [advice for advice in selection.advice if advice.code == "soft_constraints_ineffective"]
    assert advice.facts["labels"] == ["max-size 5", "min-size 8"]
    assert advice.facts["admissibility"] == selection.metrics.admissibility < 1e-9


@pytest.mark.parametrize(
    ("constraints", "strength"),
    [
        ([max_size(5)], 0.1),  # a set of five is possible; lambda is too low for it
        ([max_size(5), min_size(8, rho=0.01)], 1.0),  # both cannot hold, but one gives way without harm
    ],
)
def test_no_contradiction_is_reported_where_none_makes_constraints_ineffective(constraints, strength):
    selection = maximize(np.full(30, 1 / 30), constraints, constraint_strength=strength)
    assert "soft_constraints_ineffective" not in [advice.code for advice in selection.advice]
