"""The value that is stored with a result: what belongs to evidence, and what to one decision."""

from dataclasses import fields, replace

import numpy as np
import pytest

from repeating import validated
from ubayfs._files import encode_record
from ubayfs._plain import plain
from ubayfs.data.feature_data import FeatureData
from ubayfs.decision.workflow import collect_evidence
from ubayfs.exceptions import EnsembleError, InputError, UBayFSWarning
from ubayfs.selectors.registry import SELECTORS
from ubayfs.trust.halves import collect_halves
from ubayfs.trust.related import Related, related_of
from ubayfs.trust.trust import Trust, level_for
from ubayfs.trust.validation import Validation

ENSEMBLE = {"selector": "fisher", "n_models": 5, "n_features_per_model": 2}


@pytest.fixture(scope="module")
def known():
    """Return evidence, and all that can be known of a decision on it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 6)), np.repeat([0, 1], 20)
    X[:, 0] += 2 * y
    data = FeatureData.from_table(X, y)
    evidence = collect_evidence(data, **ENSEMBLE, random_state=0)
    related = related_of(data, np.arange(6) < 3, 200, 0)
    halves = collect_halves(data, ENSEMBLE, 2, random_state=0)
    validation = validated(X, y, cv=2, n_repeats=1, baselines=False, random_state=0, **ENSEMBLE)
    return evidence, Trust("full", related, halves, validation, "this decision")


def test_what_is_stored_is_read_again(known, tmp_path):
    _, trust = known
    path = tmp_path / "trust.npz"
    path.write_bytes(trust.encode())
    again = Trust.load(path)
    assert (again.level, again.validated) == ("full", "this decision")
    for features in (["x0"], ["x1", "x2"], range(6)):
        assert repr(again.related.of(features)) == repr(trust.related.of(features))
    np.testing.assert_array_equal(again.related.q_values, trust.related.q_values)
    assert (again.related.favored, again.related.n_shuffles) == (("x0", "x1", "x2"), 200)
    np.testing.assert_array_equal(again.halves.samples, trust.halves.samples)
    for pair, stored in zip(trust.halves.pairs, again.halves.pairs, strict=True):
        assert [half.sets.toarray().tolist() for half in pair] == [half.sets.toarray().tolist() for half in stored]
    assert again.validation.to_dict() == trust.validation.to_dict()
    assert again.encode() == trust.encode()


def test_nothing_is_pickled_and_parts_may_be_absent(known, tmp_path):
    _, trust = known
    path = tmp_path / "trust.npz"
    path.write_bytes(replace(trust, halves=None, validation=None).encode())
    with np.load(path, allow_pickle=False) as archive:
        assert {archive[name].dtype.kind for name in archive.files} <= set("biuf")
    again = Trust.load(path)
    assert again.related is not None
    assert again.halves is None
    assert again.validation is None


def test_a_validation_of_an_earlier_version_is_left_out_and_all_else_is_read(known, tmp_path, monkeypatch):
    trust = known[1]
    monkeypatch.setattr(Validation, "to_dict", of_version_0_2)
    path = tmp_path / "trust.npz"
    path.write_bytes(trust.encode())
    with pytest.warns(UBayFSWarning) as caught:
        again = Trust.load(path)
    (advice,) = (warning.message.advice for warning in caught)
    assert (advice.code, advice.facts) == ("validation_outdated", {"path": str(path)})
    assert "ubayfs trust" in str(advice)
    assert (again.validation, again.level, again.halves.n_done) == (None, "quick", trust.halves.n_done)
    with pytest.raises(InputError, match=r"earlier version.*ubayfs validate"):
        Validation.from_dict(trust.validation.to_dict())


def of_version_0_2(validation):
    """Return what `to_dict` returned before 0.3."""
    content = {field.name: plain(getattr(validation, field.name)) for field in fields(validation)}
    for record in content["records"]:
        del record["weight"]
    del content["n_units"], content["spreads"]
    return content


def test_shuffled_votes_of_an_earlier_version_are_not_used(known, tmp_path):
    """A result of 0.2 is read without its noise; the report names the command for the new statement."""
    metadata = {"level": "quick", "validation": None, "validated": ""}
    shuffled = {"null.counts": np.ones((20, 6)), "null.about": np.zeros(3, dtype=np.uint8)}
    path = tmp_path / "trust.npz"
    path.write_bytes(encode_record("ubayfs trust", 1, metadata, **shuffled))
    assert Trust.load(path).empty


@pytest.mark.parametrize("wrong", ["thresholds", "p_values", "q_values", "names"])
def test_p_values_that_do_not_fit_are_refused(known, wrong):
    about, arrays = known[1].related.to_record()
    changed = {
        "thresholds": (about | {"thresholds": {"plain": [0.1]}}, arrays),
        "p_values": (about, arrays | {"plain_p_values": -arrays["plain_p_values"]}),
        "q_values": (about, arrays | {"plain_q_values": 2 + arrays["plain_q_values"]}),
        "names": (about | {"feature_names": ["a"]}, arrays),
    }
    with pytest.raises(EnsembleError, match="do not fit together"):
        Related.from_record(*changed[wrong])


def test_a_damaged_file_is_refused(known, tmp_path):
    path = tmp_path / "trust.npz"
    path.write_bytes(known[1].encode()[:-200])
    with pytest.raises(EnsembleError):
        Trust.load(path)


def test_ensembles_belong_to_the_evidence_and_a_validation_to_one_decision(known):
    evidence, trust = known
    same = trust.of(evidence, "this decision")
    assert same.level == "full"
    assert same.validation is trust.validation
    other = trust.of(evidence, "another decision")
    assert (other.level, other.validation) == ("quick", None)
    assert other.related is trust.related
    assert other.halves is trust.halves


@pytest.mark.parametrize("change", [{"data_fingerprint": "other"}, {"train_size": 0.5}, {"selector": ["mrmr"]}])
def test_ensembles_of_other_evidence_are_dropped(known, change):
    evidence, trust = known
    other = trust.of(replace(evidence, settings={**evidence.settings, **change}), "")
    assert (other.level, other.halves) == ("none", None)
    assert (other.related is None) == ("data_fingerprint" in change)  # p-values are of the data


def test_the_level_follows_from_the_counted_work():
    """The sizes of the demo, BCW, LEU (Golub) and PRO; trees only where they are few."""
    mrmr, tree = [SELECTORS["mrmr"]], [SELECTORS["tree"]]
    assert level_for(100, 569, 30, mrmr + tree) == "full"
    assert level_for(100, 569, 30, mrmr) == "full"
    assert level_for(100, 72, 7129, mrmr) == "quick"
    assert level_for(100, 102, 12600, [SELECTORS["fisher"]]) == "quick"
    assert level_for(100, 102, 12600, tree) == "none"
    assert level_for(10, 20, 10, tree) == "full"
