import numpy as np
import pytest

from survivals import harrell, planted
from ubayfs.data.survival_curves import kaplan_meier
from ubayfs.exceptions import InputError
from ubayfs.metrics import concordance_index


@pytest.mark.parametrize("ties", [False, True])
def test_counts_pairs(ties):
    X, y = planted(40, ties=ties)
    risk = np.round(X[:, 0], 1)
    assert concordance_index(y.time, y.event, risk) == pytest.approx(harrell(y.time, y.event, risk), abs=1e-15)
    assert concordance_index(y.time, y.event, -risk) == pytest.approx(1 - harrell(y.time, y.event, risk), abs=1e-15)
    censoring = kaplan_meier(y.time, y.event, censoring=True)
    tau = np.quantile(y.time, 0.7)
    expected = harrell(y.time, y.event, risk, lambda i: (y.time[i] < tau) / censoring.at(y.time[[i]])[0] ** 2)
    assert concordance_index(y.time, y.event, risk, weights="uno", tau=tau) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("ties", [False, True])
def test_agrees_with_scikit_survival(ties):
    metrics = pytest.importorskip("sksurv.metrics")
    X, y = planted(80, ties=ties)
    risk, tau = X[:, 0], float(np.quantile(y.time, 0.7))
    assert concordance_index(y.time, y.event, risk) == pytest.approx(
        metrics.concordance_index_censored(y.event, y.time, risk)[0], abs=1e-15
    )
    other = metrics.concordance_index_ipcw(np.asarray(y), np.asarray(y), risk, tau=tau)[0]
    assert concordance_index(y.time, y.event, risk, weights="uno", tau=tau) == pytest.approx(other, abs=1e-14)


def test_agrees_with_lifelines():
    utils = pytest.importorskip("lifelines.utils")
    X, y = planted(80, ties=True)
    expected = utils.concordance_index(y.time, -X[:, 0], y.event)
    assert concordance_index(y.time, y.event, X[:, 0]) == pytest.approx(expected, abs=1e-15)


def test_no_comparable_pair_is_nan():
    assert np.isnan(concordance_index([1.0, 2.0], [0, 1], [1.0, 2.0]))


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"risk": [1.0, np.nan, 2.0]}, "risk"),
        ({"risk": [1.0, 2.0]}, "risk"),
        ({"weights": "harrell"}, "weights"),
        ({"tau": -1.0}, "tau"),
        ({"time": [-1.0, 2.0, 3.0]}, "time"),
        ({"weights": "uno", "time": [1.0, 3.0, 3.0], "event": [1, 1, 0]}, "tau"),
    ],
)
def test_wrong_arguments_are_refused(changes, argument):
    given = {"time": [1.0, 2.0, 3.0], "event": [1, 0, 1], "risk": [3.0, 2.0, 1.0]}
    with pytest.raises(InputError) as raised:
        concordance_index(**{**given, **changes})
    assert raised.value.argument == argument
