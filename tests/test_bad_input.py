"""Every kind of bad input, through the public functions: messages name argument, rule, value and way out."""

import itertools
import json
import re
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import ubayfs
from ubayfs import (
    Evidence,
    cannot_link,
    collect_evidence,
    cost_budget,
    decide,
    decorrelate,
    exact_size,
    exclude,
    implies,
    linear,
    max_blocks,
    max_per_block,
    max_size,
    maximize,
    min_per_block,
    min_size,
    must_link,
    require,
)
from ubayfs.exceptions import (
    ConstraintError,
    EnsembleError,
    EnsembleWarning,
    InfeasibleError,
    InputError,
    OptimizationWarning,
    UBayFSError,
)

INF, NAN = np.inf, np.nan
NAMES = ["radius", "area", "texture", "smooth", "shape"]
BLOCKS = {"size": ["radius", "area"], "surface": ["texture", "smooth"]}


@pytest.fixture(scope="module")
def X():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(40, 5)), columns=NAMES)


@pytest.fixture(scope="module")
def y():
    return np.repeat([0, 1], 20)


@pytest.fixture(scope="module")
def evidence(X, y):
    return collect(X, y)


def collect(X, y=None, **settings):
    return ubayfs.collect_evidence(X, y, **{"n_models": 4, "n_features_per_model": 2, "random_state": 0, **settings})


def refused(message, call, *arguments, error=InputError, **settings):
    """Assert that a call is refused with (at least) these words, by an error that callers can catch."""
    assert issubclass(error, UBayFSError)
    with pytest.raises(error, match=re.escape(message)) as caught:
        call(*arguments, **settings)
    if error is not EnsembleError:
        assert isinstance(caught.value, ValueError)


def with_entry(X, column, value):
    frame = X.copy()
    frame.loc[3, column] = value
    return frame


def test_missing_and_infinite_values_name_the_columns_and_an_imputer(X, y):
    way_out = "make_pipeline(SimpleImputer(), UBayFSSelector())"
    refused(
        "X contains missing values (NaN) in column(s) 'area'. Use missing='available', by which each feature counts "
        "with the samples that have it (other rules: 'drop_rows', 'drop_columns', 'median'). Or drop or fill them "
        f"first, for example with sklearn.impute.SimpleImputer in a pipeline: {way_out}",
        collect,
        with_entry(X, "area", NAN),
        y,
    )
    refused("X contains infinite values (inf) in column(s) 'shape'", collect, with_entry(X, "shape", -INF), y)
    refused("Correct infinite values, or mark them as missing (NaN)", collect, with_entry(X, "shape", INF), y)
    both = with_entry(with_entry(X, "shape", INF), "area", NAN)
    refused("X contains missing values (NaN) and infinite values (inf) in column(s) 'area', 'shape'", collect, both, y)
    refused("X contains missing values (NaN) in column(s) 'x1'", collect, with_entry(X, "area", NAN).to_numpy(), y)
    # The data of a decision are read with the same care.
    refused(
        "X contains missing values (NaN) in column(s) 'area'",
        maximize,
        np.ones(5),
        max_size(2),
        feature_names=NAMES,
        X=with_entry(X, "area", NAN),
    )


def test_tables_without_rows_or_columns(X, y):
    refused("X has 0 samples (shape (0, 5)); at least 2 are needed", collect, X.iloc[:0], y[:0])
    refused("X has no columns", collect, X.iloc[:, :0], y)
    refused("X has only 1 sample; subsamples need at least 2", collect, X.iloc[:1], y[:1])
    refused("X must be a table with rows and columns; got an array of shape (40,)", collect, X["area"].to_numpy(), y)
    refused("X is missing; pass a table", collect, None, y)


def test_classes_that_cannot_be_subsampled(X, y):
    refused(
        "y has only one class (7); a classification needs at least 2 classes", collect, X, np.full(40, 7), task="binary"
    )
    rare = np.where(np.arange(40) == 5, "rare", "common")
    refused("class 'rare' of y has 1 sample(s), but a class needs at least 2", collect, X, rare)
    refused("Merge it with another class, drop its samples, or collect more", collect, X, rare)
    rarest = np.where(np.arange(40) < 2, "rare", "common")
    with pytest.warns(ubayfs.exceptions.UBayFSWarning, match=r"Classes with fewer than 5 samples: rare \(2\)"):
        assert collect(X, rarest, train_size=0.2).n_models == 4


def test_targets_and_groups_of_another_length(X, y):
    refused("y must have one entry per sample of X, 40; got 10", collect, X, y[:10])
    refused("groups must have one entry per sample of X, 40; got 3", collect, X, y, groups=[1, 2, 3])
    refused("y contains missing values (NaN); drop those samples", collect, X, np.where(np.arange(40) == 1, NAN, y))


def test_targets_of_unequal_rows(X, y):
    ragged = [[1], [0, 1]] * 20
    way = "a 0/1 matrix when samples may have several labels, for example by sklearn.preprocessing.MultiLabelBinarizer"
    refused(
        "y must have one entry per sample of X, all of the same shape; setting an array element", collect, X, ragged
    )
    refused(way, collect, X, ragged)
    objects = np.empty(40, dtype=object)
    objects[:] = ragged
    for task in (None, "multiclass", "multilabel", "regression"):
        refused(
            f"y must have one label per sample of X; got list as labels. Pass one label per sample, or {way}",
            collect,
            X,
            objects,
            task=task,
        )
    refused("groups must be one column, one group per sample of X; setting an array", collect, X, y, groups=ragged)


def test_targets_that_are_refused_come_with_a_way_out(X, y):
    without = "or leave y out and use selector='laplacian', which needs no target."
    refused(f"at least 2 classes. Add samples of another class, {without}", collect, X, np.full(40, 7))
    refused(f"there is nothing to explain. Pass a y that varies, {without}", collect, X, np.full(40, 7.5))
    assert collect(X, None, selector="laplacian").n_models == 4
    refused("40; got 10. X and y must describe the same samples.", collect, X, y[:10])
    refused("minimum of 1 is required). Pass a table with one column per feature.", collect, X.iloc[:, :0], y)


def test_the_task_that_suits_the_target_is_named(X):
    rows = np.arange(40)
    refused("y has 40. It holds fractions: use task='regression'.", collect, X, rows / 7, task="binary")
    ordinal = "y has 3. Use task='multiclass', or task='regression' if y is a quantity."
    refused(ordinal, collect, X, rows % 3, task="binary")
    refused(ordinal, collect, X, (rows % 3).astype(float), task="binary")
    refused("y has 3. Use task='multiclass'.", collect, X, np.array(list("abc"))[rows % 3], task="binary")


def test_columns_that_are_not_numbers_are_named(X, y):
    labels = [f"patient {number}" for number in range(len(X))]
    refused(f"column 'who' of X has {len(X)} different labels ('patient 0'", collect, X.assign(who=labels), y)
    refused("Leave the column out (ignore, in a study), give its labels an order", collect, X.assign(who=labels), y)
    dates = pd.date_range("2020-01-01", periods=len(X))
    refused("X has non-numeric columns: 'visit'", collect, X.assign(visit=dates), y)


def test_feature_names_must_be_unique(X, y):
    twice = X.set_axis(["radius", "area", "area", "smooth", "shape"], axis=1)
    refused("X has duplicate feature names: 'area'. Rename them", collect, twice, y)
    refused(
        "feature_names has duplicate names, 'area' among them; rename them",
        Evidence.from_sets,
        np.eye(5),
        list(twice.columns),
    )
    refused(
        "feature_names has duplicate names, 'a' among them", maximize, [0.5, 0.5], max_size(1), feature_names=["a", "a"]
    )
    refused(
        "feature_names must have one name per feature: 2; got 1", maximize, [0.5, 0.5], max_size(1), feature_names=["a"]
    )


@pytest.mark.parametrize(
    ("constraint", "kind"),
    [
        (must_link(["raduis", "area"]), "must_link"),
        (cannot_link(["area", "raduis"]), "cannot_link"),
        (implies("area", "raduis"), "implies"),
        (require("raduis"), "require"),
        (exclude(["raduis"]), "exclude"),
        (cost_budget({"raduis": 2.0}, budget=1), "cost_budget"),
        (linear({"raduis": 1.0}, b=0), "linear"),
    ],
)
def test_unknown_features_in_constraints(evidence, constraint, kind):
    refused(
        f"{kind} names 'raduis', which is not a feature. Did you mean 'radius'?",
        decide,
        evidence,
        constraints=[max_size(2), constraint],
        error=ConstraintError,
    )


def test_unknown_features_and_blocks_elsewhere(evidence):
    hint = "which is neither a feature nor a block. Did you mean"
    refused(f"weights: names 'raduis', {hint} 'radius'?", decide, evidence, weights={"raduis": 2.0})
    refused(f"weights: names 'sise', {hint} 'size'?", decide, evidence, weights={"sise": 2.0}, blocks=BLOCKS)
    refused("weights: refers to position 9, but positions count from 0 to 4", decide, evidence, weights={9: 2.0})
    refused(
        "block 'size' names 'raduis', which is not a feature. Did you mean 'radius'?",
        decide,
        evidence,
        constraints=max_blocks(1),
        blocks={"size": ["raduis"]},
        error=ConstraintError,
    )
    refused(
        "names block 'sise', which is not a block. Did you mean 'size'?",
        decide,
        evidence,
        constraints=max_per_block(1, blocks="sise"),
        blocks=BLOCKS,
        error=ConstraintError,
    )
    refused(
        "require names block 'sise', which is not a block",
        decide,
        evidence,
        constraints=require("sise", on="blocks"),
        blocks=BLOCKS,
        error=ConstraintError,
    )
    refused(
        "max_blocks is about blocks, but none were given; pass blocks=",
        decide,
        evidence,
        constraints=max_blocks(1),
        error=ConstraintError,
    )
    refused(
        "cannot_link refers to position 5, but positions count from 0 to 4",
        decide,
        evidence,
        constraints=cannot_link([0, 5]),
        error=ConstraintError,
    )


@pytest.mark.parametrize("wrong", [0, -1.0, NAN, INF])
def test_weights_must_be_positive(evidence, wrong):
    shown = repr(float(wrong))
    rule = "weights must be positive and finite; feature"
    refused(f"{rule} 'radius' has {shown}", decide, evidence, weights=wrong)
    by_name = f"must be positive and finite; got {shown}. A feature without prior knowledge takes 0.01"
    refused(f"weights.area: {by_name}", decide, evidence, weights={"area": wrong})
    refused(f"{rule} 'shape' has {shown}", decide, evidence, weights=[1, 1, 1, 1, wrong])
    refused(f"weights.surface: {by_name}", decide, evidence, weights={"surface": wrong}, blocks=BLOCKS)


def test_weights_of_another_length_or_kind(evidence):
    refused("weights must have one number per feature: 5; got 2", decide, evidence, weights=[1, 2])
    refused("weights must have one number per feature: 5; got shape (5, 2)", decide, evidence, weights=np.ones((5, 2)))
    refused(
        "weights must be a number, one number per feature, a mapping by feature or block name, or a table; got 'mu",
        decide,
        evidence,
        weights="much",
    )
    refused(
        "weights.area: must be one of 'likely', ",
        decide,
        evidence,
        weights={"area": "much"},
    )


def test_overlapping_blocks_with_different_weights(evidence):
    blocks = {"size": ["radius", "area"], "form": ["area", "shape"]}
    refused(
        "weights.form: gives feature 'area' the weight 2, but block 'size' gives it 1. Give this feature a "
        "weight by name, or remove one of the two.",
        decide,
        evidence,
        weights={"size": 1.0, "form": 2.0},
        blocks=blocks,
    )
    weights = decide(
        evidence, weights={"size": 1.0, "form": 2.0, "area": 3.0}, blocks=blocks, constraints=max_size(2)
    ).weights
    np.testing.assert_array_equal(weights, [1.0, 3.0, 0.01, 0.01, 2.0])


@pytest.mark.parametrize("rho", [-0.5, NAN, "soft", None])
@pytest.mark.parametrize(
    ("kind", "build"),
    [
        ("max_size", lambda rho: max_size(2, rho=rho)),
        ("must_link", lambda rho: must_link(["radius", "area"], rho=rho)),
        ("implies", lambda rho: implies(0, 1, rho=rho)),
        ("max_per_block", lambda rho: max_per_block(2, rho=rho)),
        ("cost_budget", lambda rho: cost_budget({"area": 1.0}, 2.0, rho=rho)),
    ],
)
def test_rho_must_not_be_negative(kind, build, rho):
    way = "0 leaves the constraint out, inf makes it hard."
    refused(f"{kind}: rho must be a number in [0, inf]; got {rho!r}. {way}", build, rho, error=ConstraintError)


def test_rho_of_raw_rows_must_not_be_negative():
    refused(
        "linear: rho must be >= 0 and not NaN; got [1.0, -2.0]. 0 leaves an inequality out, inf makes it hard.",
        linear,
        np.ones((2, 5)),
        1,
        rho=[1.0, -2.0],
        error=ConstraintError,
    )


@pytest.mark.parametrize("n", ["ten", 2.5, None, True, -1, NAN])
@pytest.mark.parametrize("builder", [max_size, min_size, max_blocks, max_per_block, min_per_block])
def test_sizes_must_be_whole_numbers(builder, n):
    word = " or 'supported'" if builder is max_size and isinstance(n, str) else ""
    refused(f"{builder.__name__}: n must be a whole number >= 0{word}; got {n!r}", builder, n, error=ConstraintError)


@pytest.mark.parametrize("bound", ["ten", NAN, None, INF])
def test_bounds_must_be_numbers(bound):
    refused(
        f"cost_budget: budget must be a number; got {bound!r}", cost_budget, {"area": 1.0}, bound, error=ConstraintError
    )
    refused(f"linear: b must hold finite numbers; got {bound!r}", linear, np.ones(5), bound, error=ConstraintError)


def test_coefficients_must_be_numbers_and_fit(evidence):
    refused(
        "cost_budget: costs must hold finite numbers; got ['dear']",
        cost_budget,
        {"area": "dear"},
        1,
        error=ConstraintError,
    )
    refused(
        "linear: A must have one column per feature, 5; got 3",
        decide,
        evidence,
        constraints=linear(np.ones(3), 1),
        error=ConstraintError,
    )
    refused(
        "linear: b must be one number or one per row of A, which has 2; got shape (3,)",
        linear,
        np.ones((2, 5)),
        [1, 2, 3],
        error=ConstraintError,
    )


@pytest.mark.parametrize("train_size", [0, 1, 1.5, -0.2, NAN, "most", None, True])
def test_train_size_must_be_inside_0_and_1(X, y, train_size):
    refused(f"train_size must be a number in (0, 1); got {train_size!r}", collect, X, y, train_size=train_size)


@pytest.mark.parametrize("n_models", [0, -3, 2.5, "many", None])
def test_n_models_must_be_at_least_1(X, y, n_models):
    refused(f"n_models must be a whole number >= 1; got {n_models!r}", collect, X, y, n_models=n_models)


def test_more_features_per_model_than_there_are(X, y):
    refused(
        "n_features_per_model must be at most the number of features, 5; got 6. Leave it out to take 1",
        collect,
        X,
        y,
        n_features_per_model=6,
    )
    refused("n_features_per_model must be a whole number >= 1; got 0", collect, X, y, n_features_per_model=0)
    assert collect(X, y, n_features_per_model=None).sets.sum(axis=1).max() == 1
    for wrong in ("auto", "Random", ""):
        rule = f"n_features_per_model must be a whole number >= 1 or 'random'; got {wrong!r}"
        refused(rule, collect, X, y, n_features_per_model=wrong)


def test_selectors_that_cannot_do_the_task_name_those_that_can(X, y):
    measured = X["area"] * 2.0
    refused(
        "selector 'fisher' cannot do task 'regression', only binary, multiclass. Selectors that can: 'hsic', "
        "'laplacian', 'lasso', 'mrmr', 'rfe', 'tree', 'wide'",
        collect,
        X,
        measured,
        selector="fisher",
    )
    refused(
        "y is missing, and selector 'wide' needs it. Pass y, or use selector='laplacian'.",
        collect,
        X,
    )
    refused("selector 'hsic' cannot do task 'multilabel'", collect, X, np.eye(2)[y], selector=["tree", "hsic"])
    refused(
        "selector must be one of 'cox', 'fisher', 'hsic', 'laplacian', 'lasso', 'mrmr', 'rfe', 'tree', 'wide'; got "
        "'mrnr'. Did you mean 'mrmr'?",
        collect,
        X,
        y,
        selector="mrnr",
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([0, 77], "from 0 to 4; got 77"),
        ([-1], "from 0 to 4; got -1"),
        ([1, 1], "index 1 came more than once"),
        (["area"], "got list of <U4 and shape (1,)"),
        (None, "got NoneType"),
        ([0.5], "got list of float64"),
        ([[0, 1]], "shape (1, 2)"),
        ([0, 1, 2], "at most n_features=2 of them; got 3"),
        (np.ones(3, dtype=bool), "(or a mask of shape (5,))"),
    ],
)
def test_callables_that_return_nonsense(X, y, answer, message):
    def nonsense(X, y, n_features, rng):
        return answer

    with pytest.raises(InputError, match=re.escape(message)) as caught:
        collect(X, y, selector=nonsense)
    assert "must return distinct column indices" in str(caught.value)
    assert "nonsense" in str(caught.value)


def test_hard_constraints_that_contradict_each_other_are_named(evidence):
    constraints = [
        max_size(4),
        require(["radius", "area"]),
        exclude("shape"),
        cannot_link(["radius", "area", "smooth"]),
        min_size(2),
    ]
    with pytest.raises(InfeasibleError, match="Drop one of them, or soften it with a price") as caught:
        decide(evidence, constraints=constraints)
    assert isinstance(caught.value, ValueError)
    assert set(caught.value.labels) == {"require radius", "require area", "cannot-link radius, area, smooth"}
    assert all(label in str(caught.value) for label in caught.value.labels)


def test_constant_columns_are_never_chosen(X, y):
    evidence = collect(X.assign(area=3.0, shape=0.0), y)
    assert evidence.counts[[1, 4]].sum() == 0
    selection = decide(evidence, weights={"area": 100.0}, constraints=max_size(4, rho=0.01))
    assert not {"area", "shape"} & set(selection.features)
    with pytest.raises(
        InfeasibleError, match=r"require area.*2 feature\(s\) may not be selected at all: constant columns"
    ):
        decide(evidence, constraints=[max_size(2), require("area")])


def test_data_of_constant_columns_alone(X, y):
    with pytest.warns(EnsembleWarning, match="No run selected a single feature"):
        evidence = collect(X * 0.0, y)
    refused("no feature to select: all 5 columns are constant", decide, evidence)


def test_a_time_limit_that_is_reached_warns_with_the_gap():
    rng = np.random.default_rng(0)
    pairs = [cannot_link(rng.choice(40, 2, replace=False), rho=float(rng.uniform(0.5, 9))) for _ in range(300)]
    with pytest.warns(OptimizationWarning, match=r"time limit was reached") as caught:
        selection = maximize(rng.dirichlet(np.ones(40)), [max_size(9), *pairs], time_limit=1e-9)
    (advice,) = selection.advice
    assert str(caught[0].message) == str(advice)
    assert advice.code == "time_limit"
    assert advice.facts == {"value": selection.value, "bound": selection.bound, "gap": selection.gap}
    assert selection.gap > 1e-9


def test_no_row_that_limits_the_size_warns():
    evidence = Evidence.from_sets(np.eye(5), NAMES)
    with pytest.warns(OptimizationWarning, match=r"No constraint limits the size .*: 5 of the 5 .* Add max_size"):
        assert len(decide(evidence, constraints=must_link(["radius", "area"])).features) == 5


def test_selected_features_without_a_vote_warn_and_name_the_way_out():
    evidence = Evidence.from_sets([[1, 0, 0], [1, 0, 0]], ["radius", "area", "texture"])
    with pytest.warns(OptimizationWarning, match=r"No model voted for 1 of 2 selected features \(area\).*min_votes=1"):
        decide(evidence, constraints=exact_size(2), min_votes=0)
    refused("exact-size 2 (at least)", decide, evidence, constraints=exact_size(2), error=InfeasibleError)
    with pytest.warns(
        OptimizationWarning, match=r"No model voted .*\(area\): weights or hard constraints selected them"
    ):
        decide(evidence, constraints=[require(["radius", "area"]), max_size(2)])


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        ([0.1, -0.2], "theta must hold finite numbers >= 0; entry 1 is -0.2. Shift or clip importances"),
        ([NAN, 0.2], "theta must hold finite numbers >= 0; entry 0 is nan"),
        ([0.1, INF], "theta must hold finite numbers >= 0; entry 1 is inf"),
        (np.ones((2, 2)), "theta must be a vector with one entry per feature; got shape (2, 2)"),
        ([], "theta must be a vector with one entry per feature; got shape (0,)"),
        (0.5, "theta must be a vector with one entry per feature; got shape ()"),
        (["high", "low"], "theta must be a vector of numbers, one per feature; could not convert string"),
        ({"a": 0.1}, "theta must be a vector of numbers, one per feature"),
    ],
)
def test_importances_must_be_finite_and_not_negative(theta, message):
    refused(message, maximize, theta, max_size(1))


def test_a_checkpoint_of_other_data_or_settings(X, y, tmp_path):
    collect(X, y, selector="mrmr", checkpoint=tmp_path)
    way_out = "Name another directory, or repeat the call that it was made with"
    refused(
        "belongs to another ensemble; these differ: the data",
        collect,
        X + 1.0,
        y,
        checkpoint=tmp_path,
        error=EnsembleError,
    )
    refused(
        "selector (stored [\"MRMR(classes='turns')\"], now [\"Fisher(classes='weighted')\"])",
        collect,
        X,
        y,
        checkpoint=tmp_path,
        selector="fisher",
        error=EnsembleError,
    )
    refused(way_out, collect, X, y, checkpoint=tmp_path, train_size=0.5, error=EnsembleError)
    file = tmp_path / "file"
    file.write_text("")
    refused("checkpoint must be a directory", collect, X, y, checkpoint=file)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"constraint_strength": 0}, "constraint_strength must be a number in (0, inf); got 0"),
        ({"constraint_strength": INF}, "constraint_strength must be a number in (0, inf); got inf"),
        ({"constraints": "max_size"}, "constraints must be made by builders such as max_size(10)"),
        ({"constraints": [3]}, "constraints must be made by builders such as max_size(10)"),
        ({"prior": "dirichle"}, "prior must be one of 'dirichlet', 'generalized', 'hyperdirichlet'; got 'dirichle'"),
        (
            {"optimizer": "genetics"},
            "optimizer must be one of 'exact', 'genetic'; got 'genetics'. Did you mean 'genetic'?",
        ),
        ({"min_votes": 1.5}, "min_votes must be a whole number >= 0; got 1.5"),
        ({"n_alternatives": -1}, "n_alternatives must be a whole number >= 0; got -1"),
        ({"time_limit": -1}, "time_limit must be a number in (0, inf]; got -1"),
        ({"constraints": decorrelate()}, "decorrelate needs the data: call decide"),
        ({"blocks": "size"}, "blocks must be a mapping of names to features"),
        ({"X": np.ones((9, 3))}, "X must have one column per feature, 5; got 3. Pass the data of the fit"),
    ],
)
def test_other_arguments_of_a_decision(evidence, settings, message):
    refused(message, decide, evidence, **{"constraints": max_size(2), **settings})


def test_what_is_not_evidence():
    refused(
        "evidence must be Evidence (from collect_evidence or Evidence.from_sets) or a Posterior; got ndarray",
        decide,
        np.eye(3),
    )


# The oldest pandas cannot compare a signalling NaN either; it tells so on stderr, and raises nothing.
@pytest.mark.filterwarnings("ignore:Exception ignored in. 'pandas:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("value", [10**400, Decimal("sNaN")], ids=["huge", "signalling"])
def test_numbers_that_have_no_float_are_refused_everywhere(X, y, evidence, value):
    names = list(evidence.feature_names)
    entries = np.array(X, dtype=object)
    entries[0, 0] = value
    calls = [
        lambda: collect_evidence(entries, y, selector="fisher", n_models=2),
        lambda: collect_evidence(pd.DataFrame(entries, dtype=object), y, selector="fisher", n_models=2),
        lambda: collect_evidence(X, [value, *y[1:]], task="regression", selector="lasso", n_models=2),
        lambda: collect_evidence(X, y, selector="fisher", n_models=value),
        lambda: collect_evidence(X, y, selector="fisher", n_models=2, train_size=value),
        lambda: Evidence.from_sets([[value, 0], [1, 1]]),
        lambda: maximize([1, 2, value], [max_size(1)]),
        lambda: decide(evidence, weights=value),
        lambda: decide(evidence, weights={names[0]: value}),
        lambda: decide(evidence, constraints=[max_size(value)]),
        lambda: decide(evidence, constraints=[max_size(2, rho=value)]),
        lambda: decide(evidence, constraints=[cost_budget(dict.fromkeys(names, value), 2)]),
        lambda: decide(evidence, constraints=[linear({names[0]: 1}, value)]),
        lambda: decide(evidence, constraints=[max_size(2)], constraint_strength=value),
    ]
    for call in calls:
        with pytest.raises(InputError) as caught:
            call()
        assert len(str(caught.value)) < InputError.longest


def test_more_models_than_memory_holds_are_refused_at_once(X, y):
    with pytest.raises(InputError, match="n_models must be at most 1,000,000; got 1000000000") as caught:
        collect_evidence(X, y, selector="fisher", n_models=10**9)
    assert caught.value.argument == "n_models"


@pytest.mark.parametrize("seed", [None, "x", [], {}, {"entropy": -1, "spawn_key": []}, {"entropy": 1, "spawn_key": 5}])
def test_a_wrong_seed_in_a_checkpoint_is_refused(X, y, tmp_path, seed):
    settings = {"selector": "fisher", "n_models": 2, "checkpoint": tmp_path / "runs"}
    collect_evidence(X, y, **settings, random_state=0)
    manifest = json.loads((tmp_path / "runs" / "manifest.json").read_text(encoding="utf-8"))
    manifest["settings"]["seed"] = seed
    (tmp_path / "runs" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(InputError, match=r"has a damaged manifest: .* is not a seed") as caught:
        collect_evidence(X, y, **settings, random_state=None)
    assert caught.value.argument == "checkpoint"


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("theta", lambda z: ubayfs.maximize(z, [ubayfs.max_size(2)])),
        ("beta", lambda z: ubayfs.GeneralizedDirichlet(beta=z[1:]).update(EVIDENCE_OF_4, 0.01)),
        ("weights", lambda z: ubayfs.decide(EVIDENCE_OF_4, weights=z, constraints=ubayfs.max_size(2))),
        ("sets", lambda z: ubayfs.Evidence.from_sets(np.stack([z, z]))),
        ("sets", lambda z: ubayfs.metrics.stability(np.stack([z, z]))),
        ("others", lambda z: ubayfs.metrics.jaccard([[1, 0, 1, 1]], [z])),
    ],
)
@pytest.mark.parametrize("dtype", [np.complex128, object])
def test_complex_numbers_are_refused_not_cut(argument, call, dtype):
    values = np.array([1, 1 + 1j, 0, 1], dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError) as caught:
            call(values)
    assert caught.value.argument == argument


EVIDENCE_OF_4 = ubayfs.Evidence.from_sets([[True, False, True, False], [True, True, False, False]])


HUGE = 10**400


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("feature_names", lambda X, y, evidence: ubayfs.maximize([0.5, 0.5], feature_names=7)),
        ("feature_names", lambda X, y, evidence: ubayfs.Evidence.from_sets(np.eye(2, dtype=bool), np.array("a"))),
        ("sets", lambda X, y, evidence: ubayfs.metrics.jaccard("genes")),
        ("sets", lambda X, y, evidence: ubayfs.metrics.jaccard(HUGE)),
        ("sets", lambda X, y, evidence: ubayfs.metrics.stability([[], [1]])),
        ("sets", lambda X, y, evidence: ubayfs.metrics.stability(np.zeros((2, 3, 4)))),
        ("selected", lambda X, y, evidence: ubayfs.metrics.feature_f1([["A"], ["B", "C"]], ["A"])),
        ("risk", lambda X, y, evidence: ubayfs.metrics.concordance_index([1, 2], [1, 1], ["high", "low"])),
        ("risk", lambda X, y, evidence: ubayfs.metrics.concordance_index([1, 2], [1, 1], {"a": 1})),
        ("path", lambda X, y, evidence: ubayfs.read_data(7)),
        ("path", lambda X, y, evidence: ubayfs.read_data([7])),
        ("path", lambda X, y, evidence: ubayfs.read_data(np.zeros((3, 2)))),
        ("control", lambda X, y, evidence: ubayfs.validate(ubayfs.decide(evidence), X, y, control=np.ones(3))),
        ("n_shuffles", lambda X, y, evidence: ubayfs.estimate_related(ubayfs.decide(evidence), X, y, n_shuffles=HUGE)),
        (
            "n_splits",
            lambda X, y, evidence: ubayfs.estimate_reproducibility(ubayfs.decide(evidence), X, y, n_splits=HUGE),
        ),
        ("n_repeats", lambda X, y, evidence: ubayfs.validate(ubayfs.decide(evidence), X, y, n_repeats=HUGE)),
        ("n_draws", lambda X, y, evidence: ubayfs.selection_probabilities(ubayfs.decide(evidence), n_draws=HUGE)),
        ("beta", lambda X, y, evidence: ubayfs.decide(evidence, prior=ubayfs.GeneralizedDirichlet(HUGE))),
        (None, lambda X, y, evidence: ubayfs.read_knowledge(["A"], only=7)),
        ("unknown", lambda X, y, evidence: ubayfs.read_knowledge(["A"], unknown=np.ones(2))),
        (None, lambda X, y, evidence: ubayfs.read_knowledge(np.array(3.0))),
        (None, lambda X, y, evidence: ubayfs.read_knowledge(np.ones((2, 2), dtype=bool))),
    ],
)
@pytest.mark.filterwarnings("ignore::ubayfs.exceptions.UBayFSWarning")
def test_values_of_another_kind_are_refused_by_name(X, y, evidence, argument, call):
    with pytest.raises(InputError) as caught:
        call(X, y, evidence)
    assert caught.value.argument == argument


@pytest.mark.parametrize("wrong", [7, np.ones((2, 2)), [["a"], []], [None], {"a": 1}, b"y"])
@pytest.mark.parametrize(
    "argument", ["id", "target", "groups", "adjust_for", "ignore", "ordered", "missing", "sheet", "samples_sheet"]
)
def test_what_is_not_a_column_of_a_file(argument, wrong, tmp_path):
    (tmp_path / "t.csv").write_text("x,z,y\n" + "".join(f"{i % 7},{i * i % 5},{i % 2}\n" for i in range(20)))
    given = {"target": "y", argument: wrong}
    with pytest.raises(UBayFSError):
        ubayfs.read_data(tmp_path / "t.csv", **given)


class Unshown:
    """What has neither a repr nor a text."""

    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    "value",
    [Unshown(), [Unshown()], {"radius": Unshown()}, 10**5000, np.array(Unshown())],
    ids=["object", "list", "mapping", "digits", "array"],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda value: max_size(value),
        lambda value: min_size(2, rho=value),
        lambda value: must_link(value),
        lambda value: must_link(["a", "b"], on=value),
        lambda value: cost_budget(value, 1.0),
        lambda value: maximize(value),
        lambda value: maximize([0.5, 0.5], require(0), feature_names=value),
        lambda value: maximize([0.5, 0.5], value),
        lambda value: maximize([0.5, 0.5], time_limit=value),
        lambda value: maximize([0.5, 0.5], optimizer=value),
        lambda value: decide(EVIDENCE_OF_4, weights=value),
        lambda value: decide(EVIDENCE_OF_4, prior=ubayfs.GeneralizedDirichlet(value)),
        lambda value: ubayfs.metrics.redundancy_rate(np.eye(4), value),
        lambda value: ubayfs.read_knowledge(value),
        lambda value: ubayfs.read_data(value),
        lambda value: Evidence.load(value),
        lambda value: Evidence.join(value),
        lambda value: ubayfs.Survival([1, 2], value),
    ],
)
def test_values_that_cannot_be_shown_are_refused(call, value):
    with pytest.raises(InputError):
        call(value)


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("features", lambda one: must_link(one)),
        ("if_features", lambda one: implies(one, 1)),
        ("blocks", lambda one: max_per_block(1, blocks=one)),
        ("constraints", lambda one: maximize([0.5, 0.5], one)),
        ("price", lambda one: linear(np.eye(2), 1, price=one)),
        ("blocks", lambda one: decide(EVIDENCE_OF_4, blocks={"a": one})),
    ],
)
def test_an_array_without_dimensions_is_no_list(argument, call):
    with pytest.raises(InputError) as caught:
        call(np.array("a"))
    assert caught.value.argument == argument


@pytest.mark.parametrize("many", [lambda: range(10**12), itertools.count], ids=["range", "endless"])
@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("feature_names", lambda many: maximize([0.5, 0.5], feature_names=many)),
        ("features", lambda many: must_link(many)),
        ("features", lambda many: ubayfs.metrics.redundancy_rate(np.eye(4), many)),
        ("path", lambda many: ubayfs.read_data(many)),
        (None, lambda many: ubayfs.read_knowledge(["a"], only=many)),
        (None, lambda many: ubayfs.read_knowledge(many)),
        ("X", lambda many: collect(many, [0, 1])),
        ("y", lambda many: collect(np.eye(4), many)),
        ("sets", lambda many: Evidence.from_sets(many)),
        ("weights", lambda many: decide(EVIDENCE_OF_4, weights=many)),
        ("beta", lambda many: decide(EVIDENCE_OF_4, prior=ubayfs.GeneralizedDirichlet(many))),
    ],
)
def test_more_entries_than_memory_holds_are_refused(argument, call, many, monkeypatch):
    monkeypatch.setattr(ubayfs._arguments, "MOST_ENTRIES", 10_000)
    with pytest.raises(UBayFSError) as caught:
        call(many())
    assert argument in (caught.value.argument, str(caught.value).partition(" ")[0].partition(":")[0], "only")


@pytest.mark.parametrize(
    "event", [[[1], [0, 1]], np.array([[1], [0, 1]], dtype=object), [{}, {}], [Decimal("sNaN"), 1]]
)
def test_events_of_another_kind_are_refused(event):
    with pytest.raises(InputError) as caught:
        ubayfs.Survival([1.0, 2.0], event)
    assert caught.value.argument == "event"


@pytest.mark.parametrize("aliases", [{"p53": 7}, {"p53": [7]}, {"p53": np.ones((2, 2))}, {7: "TP53"}, 7, np.array("a")])
def test_aliases_of_another_kind_are_refused(aliases):
    with pytest.raises(InputError, match="aliases must be"):
        ubayfs.read_knowledge(["TP53"], aliases=aliases)


@pytest.mark.parametrize(
    "wrong", [7, "bar", int, object, lambda: None, lambda done: None, lambda done, total, more: None]
)
def test_what_cannot_be_called_with_progress_is_refused(X, y, wrong):
    with pytest.raises(InputError) as caught:
        collect(X, y, on_progress=wrong)
    assert caught.value.argument == "on_progress"


class Obeyed:
    """What a terminal would obey if its text was printed."""

    def __repr__(self):
        return "\x1b[2J"


@pytest.mark.parametrize(
    "call",
    [
        lambda value: min_size(2, rho=value),
        lambda value: must_link(["a", "b"], on=value),
        lambda value: maximize([0.5, 0.5], random_state=value),
        lambda value: ubayfs.read_knowledge(value),
    ],
)
def test_no_message_holds_characters_that_terminals_obey(call):
    with pytest.raises(InputError) as caught:
        call(Obeyed())
    for text in (str(caught.value), caught.value.rule):
        assert "\x1b" not in text
        assert r"\x1b[2J" in text


@pytest.mark.parametrize("sets", [np.zeros(3, dtype=[("a", bool), ("b", float)]), [[Decimal("sNaN"), 1]], [[1, 2]]])
def test_sets_that_mark_nothing_are_refused(sets):
    with pytest.raises(InputError) as caught:
        ubayfs.log_admissibility(sets, max_size(1))
    assert caught.value.argument == "sets"


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("constraints", lambda many: maximize([0.5, 0.5], many)),
        ("costs", lambda many: cost_budget(many, 1.0)),
        ("theta", lambda many: maximize(many)),
    ],
)
def test_more_values_than_memory_holds_are_refused(argument, call):
    with pytest.raises(InputError) as caught:
        call(range(10**14))
    assert caught.value.argument == argument


def test_a_duration_is_not_a_number():
    with pytest.raises(InputError) as caught:
        min_size(2, rho=np.timedelta64(3, "D"))
    assert caught.value.argument == "rho"
    with pytest.raises(InputError) as caught:
        maximize([0.5, 0.5], n_alternatives=np.timedelta64(3, "D"))
    assert caught.value.argument == "n_alternatives"
