"""Forecasts beside larger studies: the designs, one simulation, and the table."""

import numpy as np
import pandas as pd
import pytest

from ubayfs_experiments.analysis.growth import growth_table
from ubayfs_experiments.designs import growth
from ubayfs_experiments.tasks import Scale


def test_every_design_of_fresh_without_repeated_samples_is_there():
    names = [task.method for task in growth.tasks(Scale())]
    assert len(names) == len(set(names)) == 25
    assert not any("repeated" in name for name in names)


def test_a_simulation_has_forecasts_and_the_truth(monkeypatch):
    monkeypatch.setattr(growth, "N_LARGER", 2)
    design = next(each for each in growth.designs() if each.size == "200 x 100" and each.planted == "3 signals")
    procedure = growth.Procedure(design, 0, "fisher", 3)
    found = growth._forecast(procedure, np.random.default_rng(0))
    assert found["lower 2"] < found["value 2"] < found["upper 2"]
    assert found["true 1"] == growth._true(procedure, 1.0)
    assert found["true 4"] > 0.5


def test_the_table_counts_what_ranges_miss():
    columns = {f"{name} {factor:g}": [value] * 3 + [np.nan] for factor in growth.FACTORS for name, value in (
        ("value", 0.7), ("lower", 0.6), ("upper", 0.8), ("true", 0.75),
    )}  # fmt: skip
    frame = pd.DataFrame(columns)
    frame["true 2"] = [0.59, 0.75, 0.81, np.nan]
    table = growth_table(frame)
    assert table["n_sets"].tolist() == [3] * 4
    assert table["missed"].tolist() == pytest.approx([0, 0, 2 / 3, 0])
    assert table["true_gain"].tolist() == pytest.approx([0, 0, (0.59 + 0.75 + 0.81) / 3 - 0.75, 0])
