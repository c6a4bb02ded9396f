import numpy as np
import pandas as pd
import pytest

from survivals import planted
from ubayfs import Survival
from ubayfs.data.advice import class_advice
from ubayfs.data.feature_data import FeatureData
from ubayfs.data.target import read_target
from ubayfs.exceptions import InputError

TIME = np.arange(1.0, 13.0)
EVENT = np.array([1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1])


def structured(names=("status", "days")):
    found = np.empty(12, dtype=[(names[0], "?"), (names[1], "f8")])
    found[names[0]], found[names[1]] = EVENT, TIME
    return found


@pytest.mark.parametrize(
    "y",
    [
        Survival(TIME, EVENT),
        Survival(TIME.tolist(), EVENT.astype(bool).tolist()),
        Survival(TIME, EVENT + 1),
        Survival(TIME, np.where(EVENT, "Dead", "Alive")),
        Survival(TIME, np.where(EVENT, "1:DECEASED", "0:LIVING")),
        Survival(pd.Series(TIME), pd.Series(EVENT, dtype="Int64")),
        structured(),
        structured()[["days", "status"]],
        pd.DataFrame({"overall_survival": TIME, "status": EVENT}),
        pd.DataFrame({"OS_STATUS": np.where(EVENT, "1:DECEASED", "0:LIVING"), "OS_MONTHS": TIME}),
    ],
    ids=lambda y: type(y).__name__,
)
def test_all_forms_become_the_same_target(y):
    target = read_target(y, 12, None)
    assert target.task == "survival"
    np.testing.assert_array_equal(target.time, TIME)
    np.testing.assert_array_equal(target.event, EVENT)
    np.testing.assert_array_equal(target.strata, EVENT)
    assert target.class_counts == [("censored", 4), ("event", 8)]
    assert target.labels.dtype.names == ("event", "time")
    part = target.take(np.array([1, 0, 3]))
    assert part.labels["time"].tolist() == part.time.tolist() == [2.0, 1.0, 4.0]


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_columns_without_telling_names_need_the_task(order):
    columns = np.column_stack([TIME, EVENT])[:, order]
    target = read_target(columns, 12, "survival")
    np.testing.assert_array_equal(target.time, TIME)
    for y in (columns, pd.DataFrame(columns, columns=["age", "sex"])):
        with pytest.raises(InputError):
            read_target(y, 12, None)


def test_two_label_columns_stay_labels_whatever_their_names():
    y = pd.DataFrame({"os": EVENT, "event": 1 - EVENT})
    assert read_target(y, 12, None).task == "multilabel"


@pytest.mark.parametrize(
    ("time", "event", "argument", "words"),
    [
        (TIME - 3, EVENT, "time", "negative values in 2 sample"),
        (np.where(TIME == 4, np.nan, TIME), EVENT, "time", "missing values"),
        (np.where(TIME == 4, np.inf, TIME), EVENT, "time", "infinite"),
        (TIME, np.where(TIME == 4, np.nan, EVENT), "event", "missing values"),
        (TIME, np.arange(12) % 3, "event", "Competing risks"),
        (TIME, np.array(["alive", "cancer", "other"] * 4), "event", "Competing risks"),
        (TIME, TIME, "event", "exchanged"),
        (TIME, np.array(["treated", "control"] * 6), "event", "Say which"),
        (TIME, np.array([3, 7] * 6), "event", "Say which"),
        (TIME, EVENT[:5], "event", "one entry per time"),
        (np.column_stack([TIME, TIME + 1]), EVENT, "time", "delayed entry or interval"),
        (pd.Series(pd.to_datetime(["2020-01-01"] * 12)), EVENT, "time", "dates"),
        (np.array(["long"] * 12), EVENT, "time", "numbers"),
    ],
)
def test_wrong_times_and_events_are_refused(time, event, argument, words):
    with pytest.raises(InputError, match=words) as raised:
        Survival(time, event)
    assert raised.value.argument == argument


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["entry", "time", "status"], "delayed entry"),
        (["start", "stop", "event"], "delayed entry"),
        (["lower", "upper", "event"], "interval censoring"),
        (["time", "event", "dose"], "two columns"),
    ],
)
@pytest.mark.parametrize("form", ["frame", "structured"])
@pytest.mark.parametrize("task", ["survival", None])
def test_other_kinds_of_censoring_are_refused_by_name(columns, words, form, task):
    frame = pd.DataFrame(dict(zip(columns, [TIME, TIME + 1, EVENT], strict=True)))
    with pytest.raises(InputError, match=words) as raised:
        read_target(frame if form == "frame" else frame.to_records(index=False), 12, task)
    assert raised.value.argument == "y"


def test_two_limits_without_event_are_interval_censoring():
    with pytest.raises(InputError, match="interval censoring"):
        read_target(pd.DataFrame({"lower": TIME, "upper": TIME + 1}), 12, None)


def test_the_event_in_the_way_out_of_competing_risks_is_not_the_censored_one():
    with pytest.raises(InputError, match=r"1 for the event of interest \(2, for example\) and 0"):
        Survival(TIME, [2, 1, 0] * 4)


def test_times_that_order_no_samples_are_refused():
    with pytest.raises(InputError, match="nothing to explain"):
        read_target(Survival(np.ones(12), np.ones(12)), 12, None)


def test_fewer_than_five_events_are_refused():
    with pytest.raises(InputError, match="4 event"):
        read_target(Survival(TIME, np.arange(12) < 4), 12, None)


def test_advice_on_few_events_and_on_words():
    def codes(y):
        return [advice.code for advice in class_advice(read_target(y, len(y), None))]

    assert codes(Survival(TIME, EVENT)) == ["few_events"]
    assert codes(planted()[1]) == []
    y = planted()[1]
    assert codes(Survival(y.time, np.where(y.event, "dead", "alive"))) == ["event_coded"]
    assert codes(Survival(y.time, 1 + y.event)) == ["event_coded"]
    assert codes(Survival(y.time, np.ones(len(y)))) == []  # nobody is censored


def test_samples_in_another_order_are_refused():
    X = pd.DataFrame({"a": TIME}, index=list("abcdefghijkl"))
    y = Survival(pd.Series(TIME, index=X.index[::-1]), pd.Series(EVENT, index=X.index[::-1]))
    with pytest.raises(InputError, match="another order"):
        FeatureData.from_table(X, y)
    with pytest.raises(InputError, match="another index"):
        Survival(pd.Series(TIME, index=X.index), pd.Series(EVENT, index=X.index[::-1]))


def test_samples_that_leave_take_their_times_along():
    X, y = planted()
    X[3, 0] = np.nan
    data = FeatureData.from_table(X, y, missing="drop_rows")
    np.testing.assert_array_equal(data.target.time, np.delete(y.time, 3))


def test_fingerprint_knows_time_and_event():
    X, y = planted()
    changed = [Survival(y.time + (np.arange(60) == 3), y.event), Survival(y.time, y.event ^ (np.arange(60) == 3))]
    assert len({FeatureData.from_table(X, target).fingerprint for target in (y, *changed)}) == 3
