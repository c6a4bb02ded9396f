import numpy as np
import pytest
from scipy import stats

from ubayfs.data import correlation
from ubayfs.data.correlation import METHODS, PAIRS, absolute_correlations, correlated_pairs


def full_matrix(X, method):
    p = X.shape[1]
    matrix = np.full((p, p), np.nan)
    for part, values in absolute_correlations(X, method):
        matrix[part, part.start :] = values
    return matrix


def scipy_matrix(X, method):
    function = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[method]
    return np.array([[abs(function(a, b).statistic) for b in X.T] for a in X.T])


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("ties", [False, True])
def test_agrees_with_scipy(method, ties, rng):
    X = rng.normal(size=(23, 9)) @ rng.normal(size=(9, 9))
    if ties:
        X = np.round(X / 2)
    found, expected = full_matrix(X, method), scipy_matrix(X, method)
    upper = np.triu_indices(9)
    np.testing.assert_allclose(found[upper], expected[upper], atol=1e-12)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_chunks_change_nothing(method, rng, monkeypatch):
    X = np.round(rng.normal(size=(15, 11)), 1)
    whole = correlated_pairs(X, 0.2, method)
    monkeypatch.setattr(correlation, "_BLOCK", 3)
    monkeypatch.setattr(correlation, "_SAMPLE_PAIRS", 7)
    for one, other in zip(whole, correlated_pairs(X, 0.2, method), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_pairs_are_those_strictly_above_the_threshold(method, rng):
    X = rng.normal(size=(20, 8))
    matrix = scipy_matrix(X, method)
    first, second, strength = correlated_pairs(X, 0.3, method)
    expected = [(i, j) for i in range(8) for j in range(i + 1, 8) if matrix[i, j] > 0.3]
    assert list(zip(first, second, strict=True)) == expected
    assert len(expected) > 0
    np.testing.assert_allclose(strength, matrix[first, second])


def test_a_correlation_that_equals_the_threshold_is_not_above_it():
    # Kendall's tau of these two is (5 - 1) / 6 = 2/3, whatever the rounding of 2/3.
    X = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 4.0], [4.0, 3.0]])
    assert len(correlated_pairs(X, 2 / 3, "kendall")[0]) == 0
    assert len(correlated_pairs(X, 0.66, "kendall")[0]) == 1


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("constant", [0.0, 0.1, 1e9])
def test_constant_columns_correlate_with_nothing(method, constant, rng):
    X = rng.normal(size=(30, 3))
    X[:, 1] = constant
    matrix = full_matrix(X, method)
    assert (matrix[0, 1], matrix[1, 1], matrix[1, 2]) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_perfect_correlation_is_exactly_one_at_any_scale(method, scale, rng):
    x = rng.normal(size=40)
    X = np.column_stack([x * scale, -3.0 * x + 0.7, rng.normal(size=40)])
    first, second, strength = correlated_pairs(X, 0.99, method)
    assert (first.tolist(), second.tolist(), strength.tolist()) == ([0], [1], [1.0])


def test_single_precision_data_are_correlated_in_double_precision(rng):
    X = rng.normal(size=(50, 4)).astype(np.float32)
    np.testing.assert_array_equal(full_matrix(X, "pearson"), full_matrix(X.astype(float), "pearson"))


def test_one_feature_has_no_pairs():
    assert [len(part) for part in correlated_pairs(np.arange(5.0)[:, None], 0.0, "pearson")] == [0, 0, 0]


@pytest.fixture
def computed(monkeypatch):
    """Thresholds for which pairs were computed; nothing is kept before or after."""
    PAIRS.clear()
    calls = []

    def counting(X, threshold, method):
        calls.append(threshold)
        return correlated_pairs(X, threshold, method)

    monkeypatch.setattr(correlation, "correlated_pairs", counting)
    yield calls
    PAIRS.clear()


def test_kept_pairs_are_those_of_the_values_at_the_time(rng, computed):
    X = rng.normal(size=(20, 6))
    for _ in range(2):
        for one, other in zip(PAIRS.find(X.copy(), 0.1), correlated_pairs(X, 0.1), strict=True):
            np.testing.assert_array_equal(one, other)
    assert computed == [0.1]
    X[:, 0] = X[:, 1]  # in place: the same object is now another table
    first, second, strength = PAIRS.find(X, 0.1)
    assert (first[0], second[0], strength[0]) == (0, 1, 1.0)
    assert computed == [0.1, 0.1]


def test_threshold_and_method_belong_to_what_is_kept(rng, computed):
    X = rng.normal(size=(20, 6))
    for arguments in ((0.1, "spearman"), (0.1, "pearson"), (0.3, "pearson")):
        for one, other in zip(PAIRS.find(X, *arguments), correlated_pairs(X, *arguments), strict=True):
            np.testing.assert_array_equal(one, other)
    assert computed == [0.1, 0.1, 0.3]


def test_tables_are_kept_up_to_a_number_of_them_and_of_pairs(rng, computed, monkeypatch):
    X = rng.normal(size=(20, 6))  # 15 pairs
    uses = (0.0, 0.01, 0.0, 0.02, 0.0, 0.01)  # 0.01 was used longest ago when 0.02 came
    bounds = {"n_tables": 2, "n_pairs": 44}
    for bound, value in bounds.items():
        with monkeypatch.context() as patch:
            patch.setattr(PAIRS, bound, value)
            for threshold in uses:
                assert len(PAIRS.find(X, threshold / 1000)[0]) == 15
        assert computed == [0.0, 0.01 / 1000, 0.02 / 1000, 0.01 / 1000]
        assert len(PAIRS) == 2
        PAIRS.clear()
        computed.clear()
    monkeypatch.setattr(PAIRS, "n_pairs", 29)  # a table with more than half of the pairs would push out all others
    for _ in range(2):
        PAIRS.find(X, 0.0, "pearson")
    assert computed == [0.0, 0.0]


def test_halves_do_not_push_out_the_table_of_all_samples(rng, computed):
    X = rng.normal(size=(40, 6))
    halves = [X[np.sort(rng.permutation(40)[:20])] for _ in range(40)]
    for _ in range(2):
        for table in (X, *halves):
            PAIRS.find(table, 0.1)
    assert len(computed) == 41


def test_kept_pairs_cannot_be_changed(rng, computed):
    for part in PAIRS.find(rng.normal(size=(20, 6)), 0.0):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 0
