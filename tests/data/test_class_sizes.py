"""Advice on targets with almost as many classes as samples, and on classes of few samples."""

import warnings

import numpy as np
import pytest

from ubayfs import collect_evidence
from ubayfs.data.advice import class_advice
from ubayfs.data.target import read_target
from ubayfs.exceptions import InputError, UBayFSWarning


def advice_on(y, task=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of scikit-learn, about many classes
        return [(advice.code, dict(advice.facts)) for advice in class_advice(read_target(y, len(y), task))]


@pytest.mark.parametrize(
    "y",
    [
        np.arange(60),  # a number of each sample
        [f"patient {i // 2}" for i in range(60)],
        np.repeat(np.arange(40, 61), 2),  # ages
    ],
)
def test_almost_as_many_classes_as_samples(y):
    (found,) = advice_on(y)
    assert found == ("many_classes", {"n_classes": len(set(y)), "n_samples": len(y)})


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.arange(60), "regression"),
        (np.linspace(0, 1, 60), None),
        (np.arange(60) % 12, None),  # 12 classes of 5
        (np.arange(10) % 2, None),
        (np.eye(5, dtype=int).repeat(5, axis=0), None),  # 5 labels
        (np.arange(60), "unsupervised"),
    ],
)
def test_ordinary_targets(y, task):
    assert advice_on(y, task) == []


def test_classes_of_few_samples_are_named_with_their_numbers():
    y = ["tumor"] * 30 + ["normal"] * 5 + ["metastasis"] * 4 + ["unclear"] * 2
    (found,) = advice_on(y)
    shown = ["metastasis (4)", "unclear (2)"]
    facts = {"least": 5, "classes": ["metastasis", "unclear"], "n_samples": [4, 2], "shown": shown}
    assert found == ("few_samples_per_class", facts)
    labels = np.zeros((20, 2), dtype=int)
    labels[:10, 0], labels[:3, 1] = 1, 1
    ((code, facts),) = advice_on(labels)
    assert (code, facts["classes"], facts["n_samples"]) == ("few_samples_per_class", ["label 1"], [3])


@pytest.mark.parametrize(("n_small", "codes"), [(4, ["few_samples_per_class"]), (5, [])])
def test_python_users_are_warned(n_small, codes):
    X, y = np.random.default_rng(0).normal(size=(30, 12)), np.arange(30) < n_small
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evidence = collect_evidence(X, y, selector="fisher", n_models=4, random_state=0)
    assert [warning.message.advice.code for warning in caught if isinstance(warning.message, UBayFSWarning)] == codes
    assert [advice.code for advice in evidence.advice] == codes


def test_an_error_about_a_class_of_one_sample_tells_the_way_out_of_names_as_classes():
    X, y = np.random.default_rng(0).normal(size=(30, 12)), [f"patient {i}" for i in range(30)]
    with pytest.raises(
        InputError,
        match=r"^The target has 30 different values in 30 samples.*another target\. Class .patient 0. has 1 sample",
    ):
        collect_evidence(X, y, selector="fisher", n_models=4, random_state=0)
    with pytest.raises(InputError) as error:
        collect_evidence(X, ["a"] * 29 + ["b"], selector="fisher", n_models=4, random_state=0)
    assert "another column" not in str(error.value)


def test_labels_that_differ_only_in_case_or_blanks_are_named():
    labels = ["Tumor  tissue", "tumor tissue ", "normal"] * 6
    (advice,) = class_advice(read_target(labels, 18, None))
    assert (advice.code, advice.facts["labels"]) == ("labels_alike", ["'Tumor  tissue' = 'tumor tissue '"])
    assert class_advice(read_target(["I", "II", "III"] * 6, 18, None)) == ()
