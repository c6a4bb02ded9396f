"""Votes beside those for shuffled targets: joint effects are remarked, noise is not, groups stay together."""

import warnings

import numpy as np
import pandas as pd
import pytest

from ubayfs import Evidence, collect_evidence, decide, estimate_related, max_size
from ubayfs.exceptions import InputError, UBayFSWarning
from ubayfs.trust import shuffled_votes
from ubayfs.trust.repeats import EnsembleRepeats
from ubayfs.trust.trust import Trust

TREES = {"selector": "tree", "n_models": 20, "n_features_per_model": 3, "random_state": 0}
TWO = max_size(2, rho=np.inf)


def selected(X, y, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UBayFSWarning)
        return decide(collect_evidence(X, y, **{**TREES, **settings}), constraints=TWO)


def product(seed, n=300, n_features=12):
    """Return data whose target is the product of the first two features: neither is related to it by itself."""
    X = np.random.default_rng(seed).normal(size=(n, n_features))
    return X, X[:, 0] * X[:, 1]


@pytest.fixture(scope="module")
def joint():
    X, y = product(0)
    selection = selected(X, y)
    return X, y, selection, estimate_related(selection, X, y, n_vote_shuffles=20)


def test_a_joint_effect_is_remarked(joint):
    *_, selection, related = joint
    assert selection.features == ("x0", "x1") == related.by_votes
    assert (related.q_values[:2] > 0.1).all()
    assert related.at_least == 0
    votes = related.shuffled_votes
    assert votes.n_shuffles == 20
    assert (selection.counts[:2] / 20 > votes.shares.max()).all()
    text = str(related)
    for name in ("x0", "x1"):
        assert (
            f"{name} is not shown by itself, but it was selected by 20 of 20 models, more than any feature in 20 "
            "shuffles of the target" in text
        )
    assert related.of(["x5", "x0"]).by_votes == ("x0",)
    assert related.of(["x5"]).by_votes == ()


def test_joint_effects_are_mostly_found_and_noise_rarely_remarked():
    found, remarked = 0, 0
    for seed in range(1, 9):
        X, y = product(seed)
        found += estimate_related(selected(X, y), X, y, n_vote_shuffles=10, n_shuffles=200).by_votes == ("x0", "x1")
        y = np.random.default_rng(100 + seed).normal(size=len(y))
        remarked += bool(estimate_related(selected(X, y), X, y, n_vote_shuffles=10, n_shuffles=200).by_votes)
    assert found >= 6
    assert remarked <= 2  # each with a probability of at most 1 in 11


def test_only_on_request(joint, monkeypatch):
    X, y, selection, related = joint
    monkeypatch.setattr("ubayfs.trust.related.collect_shuffled_votes", None)
    plain = estimate_related(selection, X, y)
    assert plain.shuffled_votes is None
    assert plain.by_votes == ()
    np.testing.assert_array_equal(plain.p_values, related.p_values)


def test_what_is_related_by_itself_is_not_remarked():
    X, _ = product(3)
    y = X[:, 0] * X[:, 1] + 3 * X[:, 0]
    related = estimate_related(selected(X, y), X, y, n_vote_shuffles=5)
    assert "x0" not in related.by_votes
    assert related.shuffled_votes.exceeded[0]


def test_shares_are_those_of_ensembles_on_shuffled_targets(joint, monkeypatch):
    """Literally: the same models on the data with another order of the target."""
    X, y, selection, _ = joint
    targets, make = [], EnsembleRepeats.again

    def recorded(self, data, number, half=0):
        found = make(self, data, number, half)
        targets.append((np.asarray(data.target.values), found))
        return found

    monkeypatch.setattr(EnsembleRepeats, "again", recorded)
    votes = estimate_related(selection, X, y, n_vote_shuffles=3, n_jobs=1).shuffled_votes
    assert len({tuple(values) for values, _ in targets}) == 3
    for (values, found), share in zip(targets, votes.shares, strict=True):
        assert sorted(values) == sorted(y)
        seed = np.random.SeedSequence(**found.settings["seed"])
        again = collect_evidence(X, values, **{**TREES, "random_state": seed})
        assert again.counts.max() / 20 == share
    more = estimate_related(selection, X, y, n_vote_shuffles=5, n_jobs=1).shuffled_votes
    assert more.shares[:3].tolist() == votes.shares.tolist()


@pytest.mark.parametrize("constant", [True, False])
def test_groups_are_respected(monkeypatch, constant):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), rng.integers(2, 6, size=20))
    X = rng.normal(size=(len(groups), 6))
    y = (groups % 2) if constant else rng.permuted(np.arange(len(groups)) % 2)
    targets, make = [], EnsembleRepeats.again
    monkeypatch.setattr(
        EnsembleRepeats,
        "again",
        lambda s, data, *a: (targets.append(np.asarray(data.target.values)), make(s, data, *a))[1],
    )
    estimate_related(selected(X, y, groups=groups), X, y, groups=groups, n_vote_shuffles=4, n_shuffles=200)
    assert any((values != y).any() for values in targets)
    for values in targets:
        of_group = pd.Series(values).groupby(groups)
        if constant:
            assert (of_group.nunique() == 1).all()
            assert sorted(of_group.first()) == sorted(pd.Series(y).groupby(groups).first())
        else:
            mixed = pd.Series(y).groupby(groups).nunique() > 1
            assert (of_group.sum() == pd.Series(y).groupby(groups).sum())[mixed].all()


def test_what_cannot_be_done_is_refused(joint):
    X, y, selection, _ = joint
    age = np.arange(len(y), dtype=float)
    adjusted = selected(X, y, selector="mrmr", adjust_for=age)
    with pytest.raises(InputError, match="also part the target from the covariates") as caught:
        estimate_related(adjusted, X, y, adjust_for=age, n_vote_shuffles=5)
    assert caught.value.argument == "adjust_for"
    with pytest.raises(InputError, match="n_vote_shuffles"):
        estimate_related(selection, X, y, n_vote_shuffles=-1)
    foreign = decide(Evidence.from_sets(np.eye(12, dtype=bool)), constraints=TWO)
    with pytest.raises(InputError, match="sets of another ensemble"):
        estimate_related(foreign, X, y, n_vote_shuffles=5)


def test_stored_and_used_for_evidence_of_the_same_ensemble_only(joint, tmp_path):
    X, y, selection, related = joint
    path = tmp_path / "trust.npz"
    path.write_bytes(Trust("quick", related).encode())
    again = Trust.load(path)
    assert again.related.of(selection.features).by_votes == related.by_votes
    evidence = selection.posterior.evidence
    assert again.of(evidence, "").related.of(selection.features).by_votes == related.by_votes
    other = collect_evidence(X, y, **{**TREES, "random_state": 5, "n_models": 30})
    beside = again.of(other, "").related.shuffled_votes
    assert (beside.counts.tolist(), beside.n_models) == (other.counts.tolist(), 30)
    filters = collect_evidence(X, y, **{**TREES, "selector": "mrmr"})
    found = again.of(filters, "").related
    assert found is not None
    assert found.shuffled_votes is None


def test_a_damaged_checkpoint_is_done_again(joint, tmp_path):
    X, y, selection, _ = joint
    evidence = selection.posterior.evidence
    from ubayfs.data.feature_data import FeatureData

    data = FeatureData.from_table(X, y)
    settings = {name: value for name, value in TREES.items() if name != "random_state"}
    run = lambda n: shuffled_votes.collect_shuffled_votes(data, settings, evidence, n, 0, 1, checkpoint=tmp_path)  # noqa: E731
    first = run(2)
    assert run(3).shares[:2].tolist() == first.shares.tolist()
    (tmp_path / "vote_shuffles-00001.npz").write_bytes(b"no")
    with pytest.warns(UBayFSWarning, match="checkpoint"):
        assert run(2).shares.tolist() == first.shares.tolist()
