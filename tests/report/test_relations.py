"""What reports say of chosen features and the target, beyond covariates."""

import numpy as np
import pandas as pd
import pytest

from ubayfs.data.feature_data import FeatureData
from ubayfs.data.hazards import fit_cox
from ubayfs.data.survival import Survival
from ubayfs.report.relations import beyond, hazard

N = 200


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    age = rng.normal(size=N)
    x = age + 0.5 * rng.normal(size=N)
    site = np.where(age + 0.5 * rng.normal(size=N) > 0, rng.choice(["lung", "skin"], N), "colon")
    frame = pd.DataFrame({"x": x, "site": site, "age": age})
    return frame, Survival(rng.exponential(size=N) * np.exp(-age), rng.random(N) < 0.8)


def test_hazard_ratios_are_those_beyond_covariates(table):
    """What age drives has a hazard of its own only without age in the model."""
    frame, y = table
    of_x = hazard(FeatureData.from_table(frame[["x", "site"]], y), 0)
    with_age = hazard(FeatureData.from_table(frame, y, adjust_for=["age"]), 0)
    alone, adjusted = of_x.hazard_ratio, with_age.hazard_ratio
    Z = frame[["x", "age"]].to_numpy()
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    assert adjusted == pytest.approx(np.exp(fit_cox(Z, y.time, y.event).coefficients[0]), rel=1e-3)
    assert alone > 1.8
    assert abs(np.log(adjusted)) < 0.5 * np.log(alone)
    assert of_x.hazard_low > 1
    assert with_age.hazard_low < 1 < with_age.hazard_high


def test_categories_have_associations_with_covariates_too(table):
    frame, y = table
    found = beyond(FeatureData.from_table(frame, y, adjust_for=["age"]), 1)
    of_level = frame.groupby("site")["age"].transform("mean")
    eta = np.sqrt(((of_level - frame["age"].mean()) ** 2).sum() / ((frame["age"] - frame["age"].mean()) ** 2).sum())
    assert found.covariates["age"] == pytest.approx(eta, rel=1e-3)
    assert 0 <= found.after < found.before
