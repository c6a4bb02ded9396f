"""UBayFSSelector.redecide: other knowledge, the same evidence."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import NotFittedError

from ubayfs import UBayFSSelector, cannot_link, decide, decorrelate, max_per_block, max_size, must_link
from ubayfs.exceptions import ConstraintError, InputError
from ubayfs.metrics import redundancy_rate

# Heavy weights bring in features that nobody chose: so it is meant here.
pytestmark = pytest.mark.filterwarnings("ignore:No model voted:ubayfs.exceptions.OptimizationWarning")

BLOCKS = {"radius": [0, 10, 20], "texture": [1, 11, 21]}


@pytest.fixture(scope="module")
def fitted(cancer):
    X, y = cancer
    return UBayFSSelector(
        "tree", max_features=5, blocks=BLOCKS, weights={"radius": 20.0}, n_models=10, random_state=0
    ).fit(X, y)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"max_features": 2},
        {"constraints": [cannot_link(["worst radius", "worst perimeter"], rho=5), max_per_block(1, rho=3)]},
        {"weights": {"texture": 30.0}},
        {"prior": "hyperdirichlet", "random_state": 5},
        {"blocks": {"radius": [3, 4]}},
        {"constraint_strength": 0.2, "constraints": must_link(["worst area", "mean area"], rho=1.0)},
        {"optimizer": "genetic", "random_state": 1},
        {"min_votes": 5},
        {"time_limit": 60.0},
        {"n_alternatives": 3},
    ],
    ids=lambda changes: "+".join(changes) or "nothing",
)
def test_equals_a_decision_from_the_same_evidence(fitted, changes):
    other = fitted.redecide(**changes)
    arguments = {"max_features": 5, "blocks": BLOCKS, "weights": {"radius": 20.0}, "random_state": 0, **changes}
    said = arguments.pop("constraints", [])
    size = max_size(arguments.pop("max_features"))
    expected = decide(
        fitted.evidence_, constraints=[*said, size] if isinstance(said, list) else [said, size], **arguments
    )
    assert other.selection_.features == expected.features
    assert other.selection_.value == expected.value
    assert other.evidence_ is fitted.evidence_
    assert {name: other.get_params()[name] for name in changes} == changes


def test_the_changes_matter(fitted):
    chosen = {
        fitted.redecide(**changes).selection_.features
        for changes in ({}, {"max_features": 2}, {"weights": {"texture": 30.0}}, {"blocks": {"radius": [3, 4]}})
    }
    assert len(chosen) == 4


def test_nothing_runs_again(cancer):
    runs = []

    def best_two(X, y, n_features, rng):
        runs.append(1)
        return [7, 20]

    selector = UBayFSSelector(best_two, max_features=2, n_models=5, random_state=0).fit(*cancer)
    assert len(runs) == 5
    other = selector.redecide(weights={"mean texture": 50.0}, max_features=1)
    assert len(runs) == 5
    assert other.get_feature_names_out().tolist() == ["mean texture"]
    assert other.transform(cancer[0]).shape == (569, 1)


def test_posterior_is_reused_unless_it_would_change(fitted):
    for changes in ({"constraints": max_size(2, rho=1.0)}, {"max_features": 3}, {"n_alternatives": 1}):
        assert fitted.redecide(**changes).posterior_ is fitted.posterior_
    for changes in ({"weights": 1.0}, {"prior": "generalized"}, {"blocks": {"radius": [1]}}, {"random_state": 1}):
        assert fitted.redecide(**changes).posterior_ is not fitted.posterior_


def test_the_original_stays_as_it_is(fitted):
    before = fitted.get_params(), fitted.selection_
    fitted.redecide(max_features=1, weights=3.0)
    assert (fitted.get_params(), fitted.selection_) == before


def test_changes_add_up(fitted):
    step_by_step = fitted.redecide(weights={"texture": 30.0}).redecide(max_features=3)
    at_once = fitted.redecide(weights={"texture": 30.0}, max_features=3)
    assert step_by_step.selection_.to_dict() == at_once.selection_.to_dict()
    assert step_by_step.selection_.features != fitted.redecide(max_features=3).selection_.features


def test_parameters_are_those_of_the_fit(cancer):
    selector = UBayFSSelector("fisher", max_features=3, n_models=4, random_state=0).fit(*cancer)
    expected = selector.redecide(constraint_strength=2.0)
    selector.set_params(weights={"mean texture": 90.0}, n_models=50)
    other = selector.redecide(constraint_strength=2.0)
    assert other.selection_.to_dict() == expected.selection_.to_dict()
    assert other.get_params() == expected.get_params()


def test_output_and_routing_settings_are_kept(cancer):
    X, y = cancer
    with config_context(enable_metadata_routing=True):
        selector = UBayFSSelector("mrmr", max_features=3, n_models=3, random_state=0).set_output(transform="pandas")
        other = selector.set_fit_request(groups=True).fit(X, y).redecide(max_features=1)
        assert list(other.transform(X)) == list(other.selection_.features)
        assert other.get_metadata_routing().fit.requests == {"groups": True}


class TestData:
    def test_decorrelate_needs_the_data_again(self, fitted, cancer):
        X, y = cancer
        with pytest.raises(ConstraintError, match=r"decorrelate needs the data: call decide"):
            fitted.redecide(constraints=[decorrelate(0.8)])
        other = fitted.redecide(constraints=[decorrelate(0.8)], X=X)
        params = {**fitted.get_params(deep=False), "constraints": [decorrelate(0.8)]}
        again = UBayFSSelector(**params).fit(X, y)
        assert other.selection_.to_dict() == again.selection_.to_dict()
        assert other.selection_.features != fitted.selection_.features
        assert other.selection_.problem.X is None

    def test_redundancy_is_known_only_with_data(self, fitted, cancer):
        X = cancer[0]
        assert np.isnan(fitted.redecide().selection_.metrics.redundancy)
        other = fitted.redecide(X=X)
        assert other.selection_.metrics.redundancy == redundancy_rate(X, other.selection_.indices)
        assert other.selection_.metrics.redundancy == fitted.selection_.metrics.redundancy

    def test_data_of_another_fold_are_refused(self, fitted, cancer):
        X = cancer[0]
        with pytest.raises(InputError, match="X must be the data of the fit, which had 569 samples; got 100"):
            fitted.redecide(X=X.iloc[:100])
        with pytest.raises(InputError, match="X must have one column per feature, 30; got 5"):
            fitted.redecide(X=X.iloc[:, :5])


class TestErrors:
    @pytest.mark.parametrize(
        "name",
        ["selector", "n_models", "train_size", "n_features_per_model", "task", "n_jobs", "on_progress", "checkpoint"],
    )
    def test_the_ensemble_cannot_be_changed(self, fitted, name):
        with pytest.raises(InputError, match=rf"redecide cannot change {name}: .*set_params\({name}=\.\.\.\) and fit"):
            fitted.redecide(**{name: None})

    def test_nor_what_is_inside_its_selector(self, fitted):
        with pytest.raises(InputError, match="redecide cannot change selector__C"):
            fitted.redecide(selector__C=1.0)

    def test_unknown_names_suggest_the_nearest(self, fitted):
        with pytest.raises(InputError, match=r"has no argument 'max_feature'\. Did you mean 'max_features'\?"):
            fitted.redecide(max_feature=3)
        with pytest.raises(InputError, match=r"has no argument 'zzz'\. It takes X, blocks, constraint_strength"):
            fitted.redecide(zzz=3)

    def test_values_are_checked(self, fitted):
        with pytest.raises(InputError, match="max_features must be a whole number >= 1; got 0"):
            fitted.redecide(max_features=0)

    def test_needs_evidence(self):
        with pytest.raises(NotFittedError):
            UBayFSSelector().redecide(max_features=3)
