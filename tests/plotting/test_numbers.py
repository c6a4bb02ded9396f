"""The numbers of the other displays against independent computations."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from amounts import seeds
from problems import random_utility, selectable_sets
from ubayfs import (
    Evidence,
    at_least_one,
    cannot_link,
    decide,
    decorrelate,
    exact_size,
    exclude,
    implies,
    linear,
    max_per_block,
    max_size,
    maximize,
    min_size,
    must_link,
    require,
)
from ubayfs.decision.problem import DecisionProblem
from ubayfs.decision.selection import FeatureSet, Selection
from ubayfs.exceptions import InfeasibleError, InputError
from ubayfs.optimize import Exact
from ubayfs.plotting import (
    ConvergenceDisplay,
    CorrelationDisplay,
    Correlations,
    PenaltyDisplay,
    PosteriorDisplay,
    ReportData,
    SizeUtilityDisplay,
)
from ubayfs.plotting.sizes import default_sizes


def select(utility):
    """The best set for a utility, as a selection."""
    names = np.array([f"x{i}" for i in range(utility.n_features)], dtype=object)
    problem = DecisionProblem(utility, names)
    best = FeatureSet.from_solution(problem, Exact().maximize(utility))
    return Selection(best, (), names, utility.theta, problem=problem)


# Posterior


def test_intervals_are_quantiles_of_the_beta_distribution(cancer_selection):
    display = PosteriorDisplay.from_selection(cancer_selection, level=0.8, max_features=12)
    alpha = dict(zip(cancer_selection.feature_names, cancer_selection.counts + cancer_selection.weights, strict=True))
    total = sum(alpha.values())
    for i, name in enumerate(display.features):
        beta = stats.beta(alpha[name], total - alpha[name])
        assert display.mean[i] == pytest.approx(beta.mean())
        assert display.lower[i] == pytest.approx(beta.ppf(0.1), abs=1e-12)
        assert display.upper[i] == pytest.approx(beta.ppf(0.9), abs=1e-12)
    assert len(display.features) == 12
    assert sorted(display.mean, reverse=True) == list(display.mean)
    assert {name for name, marked in zip(display.features, display.chosen, strict=True) if marked} == set(
        cancer_selection.features
    )


def test_intervals_are_drawn_from_end_to_end(cancer_selection):
    display = PosteriorDisplay.from_selection(cancer_selection)
    drawing = display.plot()
    drawn = {}
    for lines in drawing.ax.collections:
        if lines.get_gid() in ("selected", "not selected"):
            for (x0, y), (x1, _) in lines.get_segments():
                drawn[int(y)] = (x0, x1, lines.get_gid() == "selected")
    expected = zip(display.lower, display.upper, display.chosen, strict=True)
    assert [drawn[row] for row in range(len(display.features))] == list(expected)
    assert len(display.features) < 30  # without those that nothing speaks for
    assert "not of samples" in drawing.figure.get_supxlabel()


def test_level_must_be_a_probability(cancer_selection):
    with pytest.raises(InputError, match=r"level must be a number in \(0, 1\); got 90"):
        PosteriorDisplay.from_selection(cancer_selection, level=90)


# Penalty


def test_curves_follow_the_formula_of_the_paper():
    evidence = Evidence.from_sets(np.eye(5, dtype=int), list("abcde"))
    constraints = [
        max_size(3), must_link(["a", "b"], rho=0.5), cannot_link(["c", "d", "e"], rho=0.1)
    ]  # fmt: skip
    display = PenaltyDisplay.from_selection(decide(evidence, weights={"c": 5, "d": 5, "e": 5}, constraints=constraints))
    assert [(curve.kinds, curve.rho, curve.n_inequalities, curve.largest, curve.whole) for curve in display.curves] == [
        (("cannot-link",), 0.1, 1, 2.0, True),
        (("must-link",), 0.5, 2, 1.0, True),
        (("max-size",), math.inf, 1, 2.0, True),
    ]
    (violated,) = display.violations
    assert (violated.label, violated.amount, violated.rho) == ("cannot-link c, d, e", 2.0, 0.1)
    assert (display.n_inequalities, display.n_violations) == (4, 1)

    drawing = display.plot()
    lines = {line.get_gid(): line for line in drawing.ax.lines}
    for curve in display.curves[:2]:
        for gid in (f"rho {curve.rho}", f"points rho {curve.rho}"):
            amounts, values = lines[gid].get_data()
            xi = np.exp(-curve.rho * amounts)
            np.testing.assert_allclose(values, 2 * xi / (1 + xi))
        assert amounts[-1] == curve.largest  # no row can be violated by more
    assert list(zip(*lines["hard"].get_data(), strict=True)) == [(0, 1), (0, 0), (2, 0)]
    assert lines["violated"].get_data() == ([2.0], [violated.admissibility])
    assert len({lines[name].get_linestyle() for name in ("rho 0.1", "rho 0.5", "hard")}) == 3
    assert "1  cannot-link c, d, e, by 2, rho 0.1, costs 9.97 %" in drawing.figure.get_supxlabel()
    assert legend_of(drawing) == [
        "cannot-link: rho 0.1", "must-link: rho 0.5", "max-size: hard"
    ]  # fmt: skip


def legend_of(drawing):
    return [text.get_text() for text in drawing.ax.get_legend().get_texts()]


def test_pairs_of_correlated_features_are_one_band_up_to_the_one_that_they_can_be_violated_by(large_selection):
    display = PenaltyDisplay.from_selection(large_selection)
    system = large_selection.problem.utility.system
    size, pairs, equal = display.curves
    rho = np.sort(system.rho[1:][np.isfinite(system.rho[1:])])
    assert (equal.rho, equal.n_inequalities) == (
        math.inf,
        system.n_inequalities - 1 - len(rho),
    )  # ranks that agree wholly
    assert (pairs.kinds, pairs.n_inequalities, pairs.largest) == (("decorrelate",), len(rho), 1.0)
    assert (pairs.lowest, pairs.highest) == (rho[0], rho[-1])
    assert pairs.rho == pytest.approx(np.median(rho), rel=0.01)
    assert size.kinds == ("max-size",)
    assert display.farthest == pytest.approx(3.3)
    drawing = display.plot()
    (band,) = (found for found in drawing.ax.collections if str(found.get_gid()).startswith("band"))
    corners = band.get_paths()[0].vertices
    assert corners[:, 0].max() == 1.0
    ends = corners[corners[:, 0] == 1.0, 1]
    assert (ends.min(), ends.max()) == pytest.approx([2 * expit(-end) for end in (rho[-1], rho[0])])
    assert len(legend_of(drawing)) == 3
    assert "from the lowest rho to the highest" in drawing.figure.get_supxlabel().replace("\n", " ")


def test_an_axis_of_pairs_alone_ends_behind_one():
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 2, axis=1)
    X += 0.1 * np.random.default_rng(1).normal(size=X.shape)
    evidence = Evidence.from_sets(np.eye(6, dtype=int))
    constraints = [max_size(2), decorrelate(0.8)]
    display = PenaltyDisplay.from_selection(decide(evidence, constraints=constraints, X=X))
    assert display.farthest == pytest.approx(1.1)
    assert [curve.kinds for curve in display.curves] == [("decorrelate",), ("max-size",)]


def test_many_relaxations_of_a_kind_are_one_band_and_all_violations_are_stated():
    n = 60
    evidence = Evidence.from_sets(np.eye(n, dtype=int))
    rows = [linear({0: -1.0, i: -1.0}, -1.5, rho=i / 1000) for i in range(1, n)]  # asks for x0 and another
    display = PenaltyDisplay.from_selection(decide(evidence, constraints=[max_size(1), *rows]))
    assert (display.n_inequalities, display.n_violations) == (n, n - 1)
    band, hard = display.curves
    assert (band.lowest, band.rho, band.highest, band.n_inequalities) == (0.001, 0.03, 0.059, n - 1)
    assert not band.whole  # by one and a half, or by a half
    assert math.isinf(hard.rho)
    costs = [row.admissibility for row in display.violations]
    assert costs == sorted(costs)
    drawing = display.plot()
    assert legend_of(drawing)[0] == "linear: rho 0.001 to 0.059, median 0.03"
    assert f"and {n - 7} more" in drawing.figure.get_supxlabel()


def test_labels_are_distinct_and_in_the_order_of_the_curves():
    evidence = Evidence.from_sets(np.eye(8, dtype=int), list("abcdefgh"))
    pairs = [("ab", 1.0), ("cd", 1.0004), ("ef", 1.0000001), ("ac", 1.0), ("gh", 0.2)]
    constraints = [*(cannot_link(list(pair), rho=rho) for pair, rho in pairs), max_size(3, rho=1.0)]
    drawing = PenaltyDisplay.from_selection(decide(evidence, constraints=constraints)).plot()
    assert legend_of(drawing) == [
        "cannot-link: rho 0.2",
        "cannot-link, max-size: rho 1",
        "cannot-link: rho 1.0000001",
        "cannot-link: rho 1.0004",
    ]
    ends = [line.get_ydata()[20] for line in drawing.ax.lines if str(line.get_gid()).startswith("rho")]
    assert len(ends) == 4


@pytest.mark.filterwarnings("ignore:All 3 features")
def test_rows_that_no_set_can_violate_have_no_curve():
    evidence = Evidence.from_sets(np.eye(3, dtype=int))
    display = PenaltyDisplay.from_selection(decide(evidence, constraints=[max_size(3), max_size(2, rho=0.5)]))
    assert [curve.rho for curve in display.curves] == [0.5]
    never = PenaltyDisplay.from_selection(decide(evidence, constraints=max_size(3)))
    assert never.curves == ()
    assert "violates nothing" in never.plot().figure.get_suptitle()


def test_hard_limits_alone_have_no_figure_of_prices_in_a_report():
    evidence = Evidence.from_sets(np.eye(3, dtype=int))
    for rho, expected in ((math.inf, False), (1.0, True)):
        selection = decide(evidence, constraints=[max_size(1), cannot_link([0, 1], rho=rho)])
        assert PenaltyDisplay.applies(selection, ReportData()) is expected


def test_more_curves_than_can_be_told_apart_are_merged():
    names = [f"x{i}" for i in range(12)]
    evidence = Evidence.from_sets(np.eye(12, dtype=int), names)
    blocks = {"left": names[:6], "right": names[6:]}
    kinds = [
        max_size(3, rho=0.1), min_size(2, rho=0.2), must_link(names[:2], rho=0.3), cannot_link(names[2:4], rho=0.4),
        implies(names[4], names[5], rho=0.5), at_least_one(names[6:8], rho=0.6), require(names[8], rho=0.7),
        exclude(names[9], rho=0.8), max_per_block(2, rho=0.9),
    ]  # fmt: skip
    (soft,) = PenaltyDisplay.from_selection(decide(evidence, constraints=kinds, blocks=blocks)).curves
    assert (len(soft.kinds), soft.lowest, soft.highest) == (9, 0.1, 0.9)


# Correlation


@pytest.mark.parametrize(
    ("method", "oracle"),
    [
        ("spearman", lambda a, b: stats.spearmanr(a, b).statistic),
        ("pearson", lambda a, b: stats.pearsonr(a, b).statistic),
        ("kendall", lambda a, b: stats.kendalltau(a, b).statistic),
    ],
)
def test_correlations_are_those_of_scipy(cancer, cancer_selection, cancer_blocks, method, oracle):
    X = cancer[0].iloc[:60]
    display = CorrelationDisplay.from_selection(cancer_selection, X, cancer_blocks, method)
    assert set(display.features) == set(cancer_selection.features)
    for row, first in zip(display.correlation, display.features, strict=True):
        assert row == pytest.approx([oracle(X[first], X[second]) for second in display.features])


def test_chosen_features_stand_by_block_and_importance(cancer_selection, cancer_blocks):
    display = CorrelationDisplay.from_selection(cancer_selection, blocks=cancer_blocks)
    order = list(cancer_blocks)
    importance = dict(zip(cancer_selection.feature_names, cancer_selection.importance, strict=True))
    keys = [
        (order.index(own[0]), -importance[name]) for own, name in zip(display.blocks, display.features, strict=True)
    ]
    assert keys == sorted(keys)
    top = CorrelationDisplay.from_selection(cancer_selection, max_features=3)
    assert list(top.features) == sorted(cancer_selection.features, key=importance.get, reverse=True)[:3]
    assert "3 most important of 8" in top.plot().figure.get_supxlabel()
    one = CorrelationDisplay.from_selection(cancer_selection, max_features=1)
    assert one.correlation == ((1.0,),)
    one.plot()


def test_cells_hold_signed_numbers_and_unsigned_shades():
    X = np.array([[1.0, -1.0, 0.0], [2.0, -2.0, 1.0], [3.0, -3.0, 0.0]])
    evidence = Evidence.from_sets([[1, 1, 1], [1, 1, 0]], list("abc"))
    selection = decide(evidence, constraints=max_size(2), X=X)
    ax = CorrelationDisplay.from_selection(selection).plot().ax
    image = ax.collections[0]
    assert image.get_array()[0, 1] == pytest.approx(1.0)
    assert image.get_array().mask.tolist() == [[True, False], [False, True]]
    assert [text.get_text() for text in ax.texts if not text.get_gid()] == ["\N{MINUS SIGN}1.00", "\N{MINUS SIGN}1.00"]


def test_method_must_be_known(cancer_selection):
    with pytest.raises(InputError, match=r"method must be one of .* Did you mean 'pearson'"):
        CorrelationDisplay.from_selection(cancer_selection, method="person")


# Sizes


@pytest.mark.parametrize("seed", seeds(25))
def test_the_best_of_each_size_is_that_of_all_sets(seed):
    utility = random_utility(np.random.default_rng(seed), n=7)
    sets = selectable_sets(utility)
    values, sizes = utility(sets), sets.sum(axis=1)
    if np.isneginf(values).all():  # the hard rows contradict each other: there is nothing to draw
        with pytest.raises(InfeasibleError, match="hard"):
            select(utility)
        return
    selection = select(utility)
    display = SizeUtilityDisplay.from_selection(selection, sizes=range(8))
    best = {size: values[sizes == size].max(initial=-np.inf) for size in range(8)}
    assert display.infeasible == tuple(size for size in best if np.isneginf(best[size]))
    assert [point.size for point in display.points] == [size for size in best if np.isfinite(best[size])]
    for point in display.points:
        assert point.value == pytest.approx(best[point.size], rel=1e-8, abs=1e-8)
        parts = point.importance + display.constraint_strength * point.admissibility
        assert parts == pytest.approx(point.value)
        assert point.complete
    assert display.chosen_size == len(selection.features)
    assert max(point.value for point in display.points) == pytest.approx(display.chosen_value)
    assert display.omitted == ()


def test_with_a_size_limit_only_the_most_important_of_each_size_are_best():
    rng = np.random.default_rng(0)
    evidence = Evidence.from_sets(rng.random((30, 10_000)) < np.linspace(0.02, 0, 10_000))
    selection = decide(evidence, constraints=max_size(12, rho=0.7))
    display = SizeUtilityDisplay.from_selection(selection)
    assert [point.size for point in display.points] == list(range(1, 16))
    theta = np.sort(selection.importance)[::-1]
    for point in display.points:
        excess = max(point.size - 12, 0)
        assert point.importance == pytest.approx(theta[: point.size].sum())
        assert point.admissibility == pytest.approx(2 / (1 + math.exp(0.7 * excess)))


def test_the_chosen_size_is_marked_and_forbidden_sizes_are_stated():
    evidence = Evidence.from_sets(np.eye(6, dtype=int))
    selection = decide(evidence, constraints=[exact_size(2, rho=1), max_size(4)])
    display = SizeUtilityDisplay.from_selection(selection)
    assert [point.size for point in display.points] == [1, 2, 3, 4]
    assert display.infeasible == (5,)
    drawing = display.plot()
    (mark,) = (line for line in drawing.ax.lines if line.get_gid() == "selected")
    assert mark.get_data() == ([2], [selection.value])
    above, below = drawing.figure.axes
    (value,) = (line.get_ydata() for line in above.lines if line.get_gid() == "value")
    importance, admissibility = (line.get_ydata() for line in below.lines[:2])
    np.testing.assert_allclose(np.add(importance, admissibility), value)
    assert "No set of 5 features satisfies the hard constraints." in drawing.figure.get_supxlabel()


def test_sizes_that_hard_rows_forbid_are_not_explained(monkeypatch):
    def explained(utility):
        raise AssertionError("takes many programs, and nobody reads it")

    monkeypatch.setattr("ubayfs.optimize.exact.explain_conflict", explained)
    evidence = Evidence.from_sets(np.eye(8, dtype=int), list("abcdefgh"))
    constraints = [require(["a", "b"]), max_size(4), cannot_link(["c", "d"])]
    display = SizeUtilityDisplay.from_selection(decide(evidence, constraints=constraints), sizes=range(10))
    assert [point.size for point in display.points] == [2, 3, 4]
    assert display.infeasible == (0, 1, 5, 6, 7, 8, 9)


@pytest.mark.parametrize("chosen", [0, 1, 2, 8, 20, 23, 40, 999])
def testdefault_sizes_are_few_and_surround_the_chosen_one(chosen):
    sizes = default_sizes(chosen, 1000)
    assert len(sizes) == len(set(sizes)) <= 25
    assert sizes == sorted(sizes)
    assert {max(chosen - 1, min(chosen, 1)), chosen, chosen + 1} <= set(sizes)
    assert sizes[0] == min(chosen, 1)
    assert chosen < sizes[-1] <= max(chosen + 3, 1.25 * chosen)
    if chosen <= 20:
        assert sizes == list(range(sizes[0], sizes[-1] + 1))


@pytest.fixture(scope="module")
def tangled():
    """Soft pairs everywhere: a single node proves little."""
    rng = np.random.default_rng(3)
    pairs = [
        cannot_link(rng.choice(30, 2, replace=False).tolist(), rho=float(rng.uniform(0.5, 20))) for _ in range(200)
    ]
    return maximize(rng.dirichlet(np.ones(30)), [max_size(9), *pairs])


def test_work_is_limited_by_nodes_and_what_is_not_proved_is_stated(tangled):
    sizes = (3, 9)
    hurried = SizeUtilityDisplay.from_selection(tangled, sizes, node_limit=1)
    assert hurried == SizeUtilityDisplay.from_selection(tangled, sizes, node_limit=1)
    full = SizeUtilityDisplay.from_selection(tangled, sizes, node_limit=10**6)
    assert all(point.complete for point in full.points)
    assert not all(point.complete for point in hurried.points)
    for point, exact in zip(hurried.points, full.points, strict=True):
        assert point.value <= exact.value + 1e-9
        assert point.bound >= exact.value - 1e-9
        assert point.complete or point.bound > point.value
    drawing = hurried.plot()
    (hollow,) = (line for line in drawing.ax.lines if line.get_gid() == "not proved")
    assert list(hollow.get_xdata()) == [point.size for point in hurried.points if not point.complete]
    assert "Hollow: not proved" in drawing.figure.get_supxlabel()
    assert "Hollow" not in full.plot().figure.get_supxlabel()


def test_no_clock_is_looked_at(tangled, monkeypatch):
    def looked():
        raise AssertionError("a figure that depends on the clock is another one on a busy machine")

    for module in ("base", "exact", "local_search"):
        monkeypatch.setattr(f"ubayfs.optimize.{module}.time", SimpleNamespace(monotonic=looked))
    SizeUtilityDisplay.from_selection(tangled, sizes=[2, 3])


def test_the_axis_of_the_value_shows_its_differences(cancer_selection):
    drawing = SizeUtilityDisplay.from_selection(cancer_selection).plot()
    low, high = drawing.ax.get_ylim()
    (line,) = (found for found in drawing.ax.lines if found.get_gid() == "value")
    values = line.get_ydata()
    assert np.ptp(values) > 0.7 * (high - low)
    assert drawing.figure.axes[1].get_ylim()[0] == 0


def test_sizes_and_nodes_must_be_numbers(cancer_selection):
    with pytest.raises(InputError, match=r"sizes must be a whole number >= 0; got 1.5"):
        SizeUtilityDisplay.from_selection(cancer_selection, sizes=[1.5])
    with pytest.raises(InputError, match=r"node_limit must be a whole number >= 1; got 0"):
        SizeUtilityDisplay.from_selection(cancer_selection, node_limit=0)


# Convergence


@pytest.mark.parametrize(("seed", "n_models"), [(0, 1), (1, 7), (2, 100), (3, 333)])
def test_shares_and_agreement_are_counted_literally(seed, n_models):
    rng = np.random.default_rng(seed)
    sets = rng.random((n_models, 9)) < np.linspace(0.9, 0.1, 9)
    sets[0, 0] = True
    evidence = Evidence.from_sets(sets)
    selection = decide(evidence, constraints=max_size(3))
    display = ConvergenceDisplay.from_selection(selection, n_runners_up=2)
    names = selection.feature_names.tolist()

    def ranking(m):
        return sorted(range(9), key=lambda i: (-sets[:m, i].sum(), i))

    runners_up = [names[i] for i in ranking(n_models) if names[i] not in selection.features][:2]
    assert display.features == (*(names[i] for i in ranking(n_models) if names[i] in selection.features), *runners_up)
    assert display.n_models[0] == 1
    assert display.n_models[-1] == n_models
    assert len(display.n_models) == min(n_models, 100)
    for m, agreement, *shares in zip(display.n_models, display.agreement, *display.shares, strict=True):
        assert shares == [sets[:m, names.index(name)].mean() for name in display.features]
        assert agreement == pytest.approx(len(set(ranking(m)[:3]) & set(ranking(n_models)[:3])) / 3)
    display.plot()


def test_of_many_chosen_features_some_from_strong_to_weak_are_shown():
    rng = np.random.default_rng(0)
    evidence = Evidence.from_sets(rng.random((50, 60)) < np.linspace(0.9, 0.1, 60))
    selection = decide(evidence, constraints=max_size(40))
    display = ConvergenceDisplay.from_selection(selection)
    assert sum(display.chosen) == 12
    ranked = sorted(selection.indices.tolist(), key=lambda i: (-evidence.counts[i], i))
    assert (display.features[0], display.features[11]) == (f"x{ranked[0]}", f"x{ranked[-1]}")
    assert "12 of 40 selected features shown" in display.plot().figure.get_supxlabel().replace("\n", " ")


def test_lines_tell_chosen_from_others_and_bear_their_names():
    sets = [[1, 0, 1], [1, 1, 0], [1, 0, 0], [1, 1, 0]]
    selection = decide(Evidence.from_sets(sets, list("abc")), constraints=max_size(1))
    display = ConvergenceDisplay.from_selection(selection)
    drawing = display.plot()
    lines = [line for line in drawing.ax.lines if line.get_gid()]
    assert [(line.get_gid(), line.get_linestyle()) for line in lines] == [
        ("selected", "-"), ("runner-up", "--"), ("runner-up", "--")
    ]  # fmt: skip
    assert [tuple(line.get_ydata()) for line in lines] == [
        (1, 1, 1, 1), (0, 1 / 2, 1 / 3, 1 / 2), (1, 1 / 2, 1 / 3, 1 / 4)
    ]  # fmt: skip
    assert [text.get_text() for text in drawing.ax.texts] == ["a", "b", "c"]
    assert len(drawing.figure.axes) == 2


def test_evidence_of_other_features_is_refused(cancer_selection):
    with pytest.raises(InputError, match="over the same features"):
        ConvergenceDisplay.from_selection(cancer_selection, Evidence.from_sets([[1, 0]]))


@pytest.mark.parametrize("method", ["spearman", "pearson"])
def test_stored_correlations_give_the_method_that_is_asked_for(method):
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(30, 5)).cumsum(axis=1))
    selection = maximize([0.4, 0.3, 0.2, 0.05, 0.05], max_size(3, rho=9), X=X)
    stored = Correlations.from_data(X, selection.feature_names, np.arange(3))
    by_data = CorrelationDisplay.from_selection(selection, X, method=method)
    by_store = CorrelationDisplay.from_selection(selection, stored, method=method)
    assert by_store.correlation == by_data.correlation


def test_stored_correlations_know_no_kendall():
    X = np.random.default_rng(0).normal(size=(30, 5))
    selection = maximize([0.4, 0.3, 0.2, 0.05, 0.05], max_size(3, rho=9), X=X)
    stored = Correlations.from_data(X, selection.feature_names, np.arange(3))
    with pytest.raises(InputError) as caught:
        CorrelationDisplay.from_selection(selection, stored, method="kendall")
    assert (caught.value.argument, caught.value.value) == ("method", "kendall")
