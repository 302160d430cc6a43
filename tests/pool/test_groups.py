import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayes_assess as ba
from bayes_assess.errors import PartitionError
from bayes_assess.measures import pr_curve, table_for
from bayes_assess.pool.groups import block_means

units = st.lists(st.floats(0, 1), min_size=1, max_size=200)


def pool_of(confidence):
    return ba.Pool(predictions=np.zeros(len(confidence), int), confidence=confidence)


def check_covers(groups, n_items):
    """Every item has exactly one group that exists."""
    assert groups.codes.shape == (n_items,)
    assert groups.codes.max() < groups.n_groups
    assert np.bincount(groups.codes, minlength=groups.n_groups).sum() == n_items


def check_inside(groups, confidence):
    """Every item lies between the edges of its bin; only the last bin holds its right edge."""
    low, high = groups.edges[groups.codes], groups.edges[groups.codes + 1]
    last = groups.codes == groups.n_groups - 1
    assert np.all(low <= confidence)
    assert np.all((confidence < high) | (last & (confidence == high)))


def test_all_classes_are_groups_also_those_never_predicted():
    groups = ba.partition(ba.Pool(predictions=["b", "b"], classes=["a", "b", "c"]))
    assert groups.names.tolist() == ["a", "b", "c"]
    assert groups.codes.tolist() == [1, 1]
    assert groups.description == "prediction"
    assert repr(groups) == "Partition(3 groups by prediction)"


@pytest.mark.parametrize(
    ("values", "names", "codes"),
    [
        (["y", "x", "y"], ["x", "y"], [1, 0, 1]),
        ([10, 9, 10], [9, 10], [1, 0, 1]),
        ([True, False, False], [False, True], [1, 0, 0]),
        ([0.5, -0.5, 0.5], [-0.5, 0.5], [1, 0, 1]),
        (pd.Series(["b", "a", "a"], dtype="category"), ["a", "b"], [1, 0, 0]),
        (pl.Series(["b", "a", "a"]), ["a", "b"], [1, 0, 0]),
    ],
)
def test_a_column_and_its_values_give_the_same_sorted_groups(values, names, codes):
    pool = ba.Pool(predictions=[0, 0, 1], groups={"site": values})
    for groups, description in ((ba.partition(pool, "site"), "site"), (ba.partition(pool, values), "given groups")):
        assert groups.names.tolist() == names
        assert groups.codes.tolist() == codes
        assert groups.description == description


def test_dates_are_groups():
    days = np.array(["2024-03-01", "2024-01-01"], dtype="M8[D]")
    assert ba.partition(ba.Pool(predictions=[0, 0]), days).codes.tolist() == [1, 0]


@pytest.mark.parametrize(("n_groups", "dtype"), [(1, "u1"), (256, "u1"), (257, "u2"), (65_536, "u2"), (65_537, "u4")])
def test_codes_take_the_smallest_integers_that_hold_them(n_groups, dtype):
    groups = ba.partition(ba.Pool(predictions=np.zeros(n_groups, int)), np.arange(n_groups)[::-1])
    assert groups.codes.dtype == dtype
    np.testing.assert_array_equal(groups.codes, np.arange(n_groups)[::-1])


@pytest.mark.parametrize("n_values", [3, 50_000])
def test_groups_of_long_columns_are_those_of_numpy(n_values):
    values = np.random.default_rng(0).integers(0, n_values, 200_000)
    names, codes = np.unique(values, return_inverse=True)
    groups = ba.partition(ba.Pool(predictions=np.zeros(200_000, int)), values)
    np.testing.assert_array_equal(groups.names, names)
    np.testing.assert_array_equal(groups.codes, codes)


def test_a_partition_is_returned_as_it_is():
    pool = ba.Pool(predictions=[0, 1])
    groups = ba.partition(pool)
    assert ba.partition(pool, groups) is groups
    with pytest.raises(PartitionError, match="those of 2 items, but the pool has 3"):
        ba.partition(ba.Pool(predictions=[0, 1, 1]), groups)


def test_several_columns_are_refused_with_how_to_cut_by_all_of_them():
    pool = ba.Pool(predictions=[0, 1, 1, 0], groups={"site": ["x", "y", "x", "y"]})
    with pytest.raises(PartitionError, match=r"by one column, and these are 'prediction', 'site': give"):
        ba.partition(pool, ["prediction", "site"])
    with pytest.raises(PartitionError, match=r"by one column, which is named by itself: by='site', in no list\."):
        ba.partition(pool, ["site"])


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("sit", "no group column 'sit'; there are 'prediction', 'site', ba.ScoreBins"),
        (["x"], "those of 1 items, but the pool has 2"),
        (3, "Cannot cut a pool by 3; pass"),
        (None, "Cannot cut a pool by None; pass"),
        (["x", None], "row 1 has no value .None.*fill it"),
        (["x", float("nan")], "row 1 has no value .nan"),
        (["x", ""], "row 1 has no value"),
        (pd.Series(["2020-01-01", None], dtype="datetime64[s]"), "row 1 has no value"),
        (pl.Series([1, None]), "row 1 has no value"),
        (["x", 1], "mixed types"),
        (ba.ScoreBins(), "need the confidence of each prediction; pass scores"),
    ],
)
def test_what_cannot_cut_a_pool_is_refused(by, message):
    pool = ba.Pool(predictions=[0, 1], groups={"site": ["x", "y"]})
    with pytest.raises(PartitionError, match=message):
        ba.partition(pool, by)


@pytest.mark.parametrize("n_bins", [0, -1, 2.5, "ten"])
def test_score_bins_need_a_whole_number_of_bins(n_bins):
    with pytest.raises(PartitionError, match="integer of at least 1"):
        ba.ScoreBins(n_bins)


def test_score_bins_need_a_known_kind():
    with pytest.raises(PartitionError, match='"width" or "weight", not \'depth\''):
        ba.ScoreBins(10, kind="depth")


@pytest.mark.parametrize("n_bins", [10**9, 10**30])
def test_bins_that_no_memory_holds_are_refused(n_bins):
    with pytest.raises(ba.PartitionError, match=f"1,000,000 bins of the confidence at most; found {n_bins:,}"):
        ba.assess(pool_of([0.5, 0.7]), ba.Calibration(bins=n_bins))


# Equal width


def test_bins_of_equal_width_hold_their_left_edges_and_the_last_its_right():
    groups = ba.partition(pool_of([0.0, 0.1, 0.3, 0.6, 0.7, 0.9, 1.0, 0.09999]), ba.ScoreBins())
    assert groups.codes.tolist() == [0, 1, 3, 6, 7, 9, 9, 0]
    assert groups.names[[0, 9]].tolist() == ["[0.0, 0.1)", "[0.9, 1.0]"]
    assert groups.description == "10 equal-width score bins"
    assert groups.note is None
    np.testing.assert_array_equal(groups.edges, np.arange(11) / 10)


def test_empty_bins_of_equal_width_are_kept():
    assert ba.partition(pool_of([1.0]), ba.ScoreBins(4)).n_groups == 4


@settings(deadline=None, max_examples=50)
@given(units, st.integers(1, 40))
def test_bins_of_equal_width_cover_every_item_once(confidence, n_bins):
    groups = ba.partition(pool_of(confidence), ba.ScoreBins(n_bins))
    assert groups.n_groups == n_bins
    check_covers(groups, len(confidence))
    check_inside(groups, np.array(confidence))


# Equal weight


def test_bins_of_equal_weight_hold_equal_numbers_where_nothing_ties():
    confidence = np.random.default_rng(0).permutation(1000) / 1000
    groups = ba.partition(pool_of(confidence), ba.ScoreBins(8, "weight"))
    assert np.bincount(groups.codes).tolist() == [125] * 8
    assert groups.description == "8 equal-weight score bins"
    assert groups.note is None


@settings(deadline=None, max_examples=50)
@given(st.one_of(units, st.lists(st.sampled_from([0.0, 0.5, 0.75, 1.0]), min_size=1, max_size=200)), st.integers(1, 40))
def test_bins_of_equal_weight_cover_every_item_once_and_are_never_empty(confidence, n_bins):
    groups = ba.partition(pool_of(confidence), ba.ScoreBins(n_bins, "weight"))
    check_covers(groups, len(confidence))
    check_inside(groups, np.array(confidence))
    assert np.bincount(groups.codes, minlength=groups.n_groups).min() > 0
    assert groups.codes[np.argmax(confidence)] == groups.n_groups - 1
    assert len(set(groups.names)) == groups.n_groups
    assert (groups.note is None) == (groups.n_groups == n_bins)


def test_heavy_ties_merge_bins_and_say_so():
    confidence = np.concatenate([np.ones(600), np.linspace(0.5, 0.9, 400)])
    groups = ba.partition(pool_of(confidence), ba.ScoreBins(10, "weight"))
    assert groups.note == "5 of 10 bins: scores tie"
    assert np.bincount(groups.codes).tolist() == [100, 100, 100, 100, 600]
    assert groups.names[-1] == "[1.000, 1.000]"
    assert repr(groups) == "Partition(5 groups by 5 equal-weight score bins (5 of 10 bins: scores tie))"


def test_one_score_for_all_is_one_bin():
    groups = ba.partition(pool_of([0.7] * 50), ba.ScoreBins(10, "weight"))
    assert groups.names.tolist() == ["[0.7, 0.7]"]
    assert groups.note == "1 of 10 bins: scores tie"


def test_fewer_items_than_bins_say_so():
    assert ba.partition(pool_of([0.2, 0.7, 0.9]), ba.ScoreBins(10, "weight")).note == "3 of 10 bins: only 3 items"


def test_names_take_the_decimals_that_tell_bins_apart():
    confidence = [0.99991, 0.99992, 0.99993]
    names = ba.partition(pool_of(confidence), ba.ScoreBins(3, "weight")).names
    assert names.tolist() == ["[0.99991, 0.99992)", "[0.99992, 0.99993)", "[0.99993, 0.99993]"]
    assert ba.partition(pool_of([0.5]), ba.ScoreBins(3)).names.tolist() == [
        "[0.000, 0.333)",
        "[0.333, 0.667)",
        "[0.667, 1.000]",
    ]


# Means of groups


@pytest.mark.parametrize("n_items", [7, 200_000])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_block_means_are_the_means_of_the_groups(n_items, dtype):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, n_items)
    values = rng.integers(0, 2, (n_items, 2)).astype(dtype)
    groups = ba.partition(ba.Pool(predictions=codes, classes=[0, 1, 2]))
    means = block_means(groups, values)
    assert means.shape == (3, 2)
    expected = [values[codes == code].mean(axis=0, dtype=float) for code in range(3)]
    np.testing.assert_allclose(means, expected, rtol=1e-12)
    np.testing.assert_array_equal(block_means(groups, values[:, 1]), means[:, 1])


def test_block_means_keep_what_float32_would_lose():
    groups = ba.partition(pool_of(np.ones(2**21)))
    values = np.full(2**21, 16.1, np.float32)
    assert block_means(groups, values)[0] == pytest.approx(float(np.float32(16.1)), rel=1e-12)


def test_an_empty_group_has_the_mean_of_all():
    groups = ba.partition(ba.Pool(predictions=["a", "a", "c"], classes=["a", "b", "c"]))
    assert block_means(groups, [1.0, 2.0, 6.0]).tolist() == [1.5, 3.0, 6.0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0], r"shape \(1,\).*over 2 items"),
        (["x", "y"], "pass numbers"),
        ([[[1.0]], [[2.0]]], r"shape \(2, 1, 1\)"),
        ([1.0, np.nan], "value in row 1 is nan"),
        ([[1.0, 2.0], [np.inf, 3.0]], "value in row 1, column 0 is inf"),
    ],
)
def test_values_without_a_mean_are_refused(values, message):
    with pytest.raises(PartitionError, match=message):
        block_means(ba.partition(ba.Pool(predictions=[0, 1])), values)


# Precision


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_bins", [3, 5, 10, 20, 100])
def test_a_score_at_an_edge_lies_in_the_bin_that_begins_there_in_either_precision(dtype, n_bins):
    edges = np.arange(n_bins) / n_bins
    scores = edges.astype(dtype)
    expected = np.arange(n_bins)
    pool = ba.Pool(predictions=np.zeros(n_bins, int), confidence=scores)
    assert ba.partition(pool, ba.ScoreBins(n_bins)).codes.tolist() == expected.tolist()
    rows = np.stack([scores, 1 - scores], axis=1)
    pool = ba.Pool(scores=rows, predictions=np.zeros(n_bins, int))
    assert ba.partition(pool, ba.ScoreBins(n_bins)).codes.tolist() == expected.tolist()
    # P(positive), of which the confidence of a negative prediction is the rest
    pool = ba.Pool(scores=(1 - edges).astype(dtype), predictions=np.zeros(n_bins, int))
    assert ba.partition(pool, ba.ScoreBins(n_bins)).codes.tolist() == expected.tolist()


def test_a_score_below_an_edge_lies_below_it():
    below = np.nextafter(np.float32([0.7, 0.9]), np.float32(0))
    pool = ba.Pool(predictions=[0, 0], confidence=below)
    assert ba.partition(pool, ba.ScoreBins(10)).codes.tolist() == [6, 8]
    below = np.nextafter([0.7, 0.9], 0)
    pool = ba.Pool(predictions=[0, 0], confidence=below)
    assert ba.partition(pool, ba.ScoreBins(10)).codes.tolist() == [6, 8]


def test_bins_of_equal_weight_tell_small_scores_apart():
    tiny = np.array([1e-30, 2e-30, 3e-30, 4e-30])
    assert ba.partition(ba.Pool(predictions=[0] * 4, confidence=tiny), ba.ScoreBins(4, "weight")).n_groups == 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_threshold_is_reached_by_a_score_of_the_same_decimals(dtype):
    scores = np.array([0.1, 0.3, 0.7, 0.9], dtype)
    codes, _ = table_for(pr_curve([0.3, 0.7]), ba.Pool(scores=scores))
    assert codes.tolist() == [0, 1, 2, 2]
