import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bayes_assess as ba
from bayes_assess.errors import PartitionError
from bayes_assess.pool.strata import KINDS, FeatureStrata, Strata

finite = st.floats(allow_nan=False, allow_infinity=False)
few_values = st.sampled_from([-1.5, -0.0, 0.0, 1e-300, 0.25, 0.5, 1.0])
score_lists = st.one_of(st.lists(finite, min_size=1, max_size=80), st.lists(few_values, min_size=1, max_size=80))


def pool_of(n_items):
    return ba.Pool(predictions=np.zeros(n_items, int))


def cut(scores, *args, **options):
    return ba.partition(pool_of(len(scores)), Strata(*args, of=scores, **options))


def sizes(strata):
    return np.bincount(strata.codes, minlength=strata.n_groups)


# What holds for every kind


@settings(deadline=None, max_examples=60)
@pytest.mark.parametrize("kind", KINDS)
@given(scores=score_lists, n_strata=st.integers(1, 40))
@example(scores=[1.7976931348621712e308], n_strata=13)  # rounding goes beyond
def test_strata_are_contiguous_ranges_in_order_and_none_is_empty(kind, scores, n_strata):
    strata = cut(scores, n_strata, kind)
    scores = np.array(scores)
    assert strata.codes.shape == scores.shape
    assert sizes(strata).min() > 0
    assert strata.n_groups == len(strata.names) == len(set(strata.names)) <= n_strata
    assert np.all(np.diff(strata.codes[np.argsort(scores)].astype(int)) >= 0)
    low, high = strata.edges[strata.codes], strata.edges[strata.codes + 1]
    assert np.all(low <= scores)
    assert np.all((scores < high) | ((strata.codes == strata.n_groups - 1) & (scores == high)))
    assert (strata.note is None) == (strata.n_groups == n_strata)


@settings(deadline=None, max_examples=60)
@pytest.mark.parametrize("kind", ["csf", "weight"])
@given(scores=score_lists, n_strata=st.integers(1, 40))
def test_as_many_strata_come_out_as_there_are_scores_to_tell_apart(kind, scores, n_strata):
    assert cut(scores, n_strata, kind).n_groups == min(n_strata, len(set(scores)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_strata", [1, 10])
def test_one_item_is_one_stratum(kind, n_strata):
    strata = cut([0.25], n_strata, kind)
    assert strata.names.tolist() == ["[0.25, 0.25]"]
    assert strata.note == (None if n_strata == 1 else "1 of 10 strata: only 1 item")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [-3.0, 0.0, -0.0, 0.7])
def test_one_score_for_all_is_one_stratum(kind, value):
    strata = cut([value] * 50, 10, kind)
    assert strata.codes.tolist() == [0] * 50
    assert strata.note == "1 of 10 strata: scores tie"
    assert "-0" not in strata.names[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [(-2.0, 3.0), (0.0, 0.5), (0.2, 0.9)])
def test_two_scores_are_two_strata(kind, values):
    strata = cut(np.repeat(values, [7, 40]), 10, kind)
    assert sizes(strata).tolist() == [7, 40]
    assert strata.note == "2 of 10 strata: scores tie"


@pytest.mark.parametrize("kind", KINDS)
def test_extreme_scales_neither_overflow_nor_vanish(kind):
    largest = np.finfo(float).max
    assert cut([-largest, -1.0, 0.0, largest], 2, kind).n_groups == 2
    assert cut([5e-324, 1e-320], 2, kind).n_groups == 2


@pytest.mark.parametrize("kind", ["csf", "weight"])
def test_the_closest_scores_are_told_apart(kind):
    names = cut([1.0, np.nextafter(1.0, 2.0), 2.0], 3, kind).names
    assert names.tolist() == ["[1, 1.0000000000000002)", "[1.0000000000000002, 2)", "[2, 2]"]
    assert cut([5e-324, 1e-323], 2, kind).n_groups == 2


def test_names_description_and_edges():
    strata = cut([0.12, 0.125, 0.3, 0.31, 0.5], 2, "weight")
    assert strata.names.tolist() == ["[0.12, 0.3)", "[0.3, 0.5]"]
    assert strata.description == "2 weight score strata"
    assert strata.edges.tolist() == [0.12, 0.3, 0.5]
    assert repr(strata) == "Partition(2 groups by 2 weight score strata)"


# Cumulative square-root frequency


def reference_csf(scores, n_strata, n_fine):
    """Strata of distinct scores in increasing order, in slow steps: weights, fair share, middles."""
    low, width = scores[0], (scores[-1] - scores[0]) / n_fine
    bins = [min(int((score - low) / width), n_fine - 1) for score in scores]
    weights = [bins.count(b) ** 0.5 / bins.count(b) for b in bins]
    share = sum(weights) / n_strata
    for _ in range(n_strata):  # scores that outweigh a share are cut down to it, and the share shrinks
        heavy = [w for w in weights if w > share * (1 + 1e-9)]
        share = (sum(weights) - sum(heavy)) / (n_strata - len(heavy))
    codes, before = [], 0.0
    for weight in weights:
        weight = min(weight, share)
        codes.append(int((before + weight / 2) / share + 1e-9))
        before += weight
    held = {code: i for i, (code, weight) in enumerate(zip(codes, weights, strict=True)) if weight in heavy}
    return [_beside(i, code, held, n_strata) for i, code in enumerate(codes)]


def _beside(i, code, held, n_strata):
    """Move a score out of the stratum of a heavy one, unless a heavy one or the end is next to it."""
    new = code + np.sign(i - held.get(code, i))
    return code if new in held or not 0 <= new < n_strata else new


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 10_000), min_size=2, max_size=60, unique=True), st.integers(1, 20), st.integers(1, 50))
@example([0, 1, 2, 3, 4, 5, 6, 7, 8, 10_000], 4, 8)
def test_csf_is_that_of_slow_steps(values, n_strata, n_fine):
    scores = np.sort(values).astype(float)
    strata = cut(scores, n_strata, "csf", n_fine=n_fine)
    slow = reference_csf(scores.tolist(), n_strata, n_fine) if len(scores) > n_strata else list(range(len(scores)))
    assert strata.codes.tolist() == slow


def test_csf_shares_out_the_square_roots_of_the_counts():
    scores = np.concatenate([np.linspace(0, 0.24, 400), np.linspace(0.26, 0.49, 100), np.linspace(0.51, 1, 50)])
    found = sizes(cut(scores, 7, n_fine=2))  # sqrt(500) and sqrt(50): 5.3 and 1.7 of 7 strata
    np.testing.assert_allclose(found[:5], 500 / np.sqrt(500) * (np.sqrt(500) + np.sqrt(50)) / 7, atol=1)


@pytest.mark.parametrize("margins", [False, True])
def test_csf_strata_are_small_at_the_top_of_an_imbalanced_pool(margins):
    rng = np.random.default_rng(0)
    scores = rng.normal(-9.5, 1.6, 700_000)
    scores = scores if margins else 1 / (1 + np.exp(-scores))  # mean 1/3500
    found = sizes(cut(scores))
    assert len(found) == 256
    # of equal weight they would hold 2,734; where scores are bell-shaped, the top is less sparse
    assert found[-1] < 2734 / (20 if margins else 150)
    assert found[-5:].sum() < 2734 / (1 if margins else 30)


def test_many_fine_bins_make_csf_strata_of_equal_weight():
    scores = np.random.default_rng(0).normal(size=1000) ** 3
    fine, equal = cut(scores, 10, n_fine=10**12), cut(scores, 10, "weight")
    np.testing.assert_array_equal(fine.codes, equal.codes)


@pytest.mark.parametrize("n_items", [100, 10**6])
def test_fine_bins_are_four_per_stratum_or_follow_rice(n_items):
    scores = np.random.default_rng(0).random(n_items) ** 4
    by_default = cut(scores, 20)
    chosen = cut(scores, 20, n_fine=80 if n_items == 100 else 200)
    np.testing.assert_array_equal(by_default.codes, chosen.codes)


def test_an_outlier_leaves_strata_to_the_rest():
    scores = np.append(np.random.default_rng(0).random(10_000), 1e9)
    found = sizes(cut(scores, 64))
    assert len(found) == 64
    assert found[-1] < found.mean()
    assert found.max() < 200


# Ties


@pytest.mark.parametrize("kind", ["csf", "weight"])
@pytest.mark.parametrize("value", [-0.5, 0.37, 1.5])
def test_a_score_of_half_of_the_items_takes_one_stratum_and_the_others_share_the_rest(kind, value):
    rest = np.random.default_rng(0).random(20_000)
    strata = cut(np.append(rest, np.full(20_000, value)), 256, kind)
    assert strata.n_groups == 256
    assert strata.note is None
    assert sizes(strata)[strata.codes[-1]] == 20_000
    found = np.delete(sizes(strata), int(strata.codes[-1]))
    share = 20_000 / 255
    if kind == "weight":  # the strata on either side may be half a share larger or smaller
        assert np.sum(np.abs(found - share) > 1) <= 2
        assert share / 2 - 1 <= found.min() <= found.max() <= 1.5 * share + 1
    else:
        assert share / 4 < found.min() <= found.max() < 2 * share


def test_a_tied_score_takes_nothing_from_its_fine_bin():
    scores = np.append(np.linspace(0, 1, 1000), np.full(10_000, 0.25))
    strata = cut(scores, 11, n_fine=2)
    assert sizes(strata)[strata.codes[-1]] == 10_000
    np.testing.assert_allclose(np.sort(sizes(strata))[:10], 100, atol=51)  # half a stratum on either side of the tie
    assert strata.codes[500] == 6  # five and the tied one lie below the middle, five above


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=200), st.integers(1, 20))
def test_equal_weights_differ_by_no_more_than_ties_make_them(values, n_strata):
    strata = cut(values, n_strata, "weight")
    counts = np.unique(values, return_counts=True)[1]
    share = len(values) / n_strata
    if len(counts) > n_strata:
        assert sizes(strata).max() <= share + 2 * counts.max()


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 300), st.integers(1, 40))
def test_equal_weights_are_equal_to_one_item_where_nothing_ties(n_items, n_strata):
    found = sizes(cut(np.random.default_rng(0).permutation(n_items), n_strata, "weight"))
    assert found.max() - found.min() <= 1


def test_strata_short_of_scores_say_so():
    assert cut([0.1, 0.2, 0.2, 0.3], 4, "csf").note == "3 of 4 strata: scores tie"
    assert cut([0.1, 0.2, 0.3], 10).note == "3 of 10 strata: only 3 items"
    assert cut([0.0, 0.1, 0.2, 1.0], 4, "width").note == "2 of 4 strata: no score lies in the others"


# Grids


def test_equal_width_leaves_out_what_holds_no_score():
    strata = cut([-1.0, -0.9, 0.1, 1.0, 0.5], 4, "width")
    assert strata.edges.tolist() == [-1, 0, 0.5, 1]
    assert strata.codes.tolist() == [0, 0, 1, 2, 2]


def test_geometric_edges_have_one_ratio():
    strata = cut(np.geomspace(1e-4, 1, 400), 8, "geometric")
    np.testing.assert_allclose(strata.edges, np.geomspace(1e-4, 1, 9))


def test_zeros_are_the_first_geometric_stratum():
    positive = np.geomspace(1e-4, 1, 400)
    strata = cut(np.append(positive, [0.0, 0.0]), 9, "geometric")
    np.testing.assert_allclose(strata.edges, np.append(0, np.geomspace(1e-4, 1, 9)))
    assert sizes(strata)[0] == 2
    assert cut([0.0, 0.5, 1.0], 1, "geometric").edges.tolist() == [0, 1]


def test_negative_scores_are_shifted_before_a_geometric_cut():
    scores = np.linspace(-3, 1, 1001)
    strata = cut(scores, 8, "geometric")
    np.testing.assert_allclose(strata.edges + 3 + 4 / 8, np.geomspace(0.5, 4.5, 9))
    other = cut(scores * 10 - 5, 8, "geometric")
    np.testing.assert_array_equal(other.codes, strata.codes)


# What is cut


def test_two_classes_are_cut_by_the_probability_of_the_positive_one():
    positive = np.array([0.9, 0.1, 0.6, 0.3])
    narrow = ba.Pool(scores=positive, classes=["no", "yes"])
    wide = ba.Pool(scores=np.stack([1 - positive, positive], axis=1), classes=["no", "yes"])
    for pool in (narrow, wide):
        assert ba.partition(pool, Strata(4)).codes.tolist() == [3, 0, 2, 1]
        assert ba.partition(pool, Strata(4, of="yes")).codes.tolist() == [3, 0, 2, 1]
        assert ba.partition(pool, Strata(4, of="no")).codes.tolist() == [0, 3, 1, 2]


def test_more_classes_are_cut_by_the_confidence():
    pool = ba.Pool(scores=[[0.2, 0.2, 0.6], [0.9, 0.1, 0.0], [0.3, 0.4, 0.3]])
    assert ba.partition(pool, Strata(3)).codes.tolist() == [1, 2, 0]
    assert ba.partition(pool, Strata(3, of=1)).codes.tolist() == [1, 0, 2]
    assert ba.partition(pool, Strata(3, of=np.int32(1))).codes.tolist() == [1, 0, 2]
    given = ba.Pool(predictions=[0, 1], confidence=[0.9, 0.8])
    assert ba.partition(given, Strata(2)).codes.tolist() == [1, 0]


@pytest.mark.parametrize("kind", [list, np.float32, pd.Series, pl.Series])
def test_any_array_of_scores_is_cut(kind):
    scores = [-1.5, 2.0, 0.25]
    scores = np.array(scores, kind) if kind is np.float32 else kind(scores)
    assert cut(scores, 3).codes.tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_strata": 0}, "n_strata must be an integer of at least 1, not 0"),
        ({"n_strata": 2.5}, "n_strata must be an integer of at least 1"),
        ({"kind": "quantile"}, "The kind must be one of 'csf', 'geometric', 'width', 'weight', not 'quantile'"),
        ({"n_fine": 0}, "n_fine must be an integer of at least 1"),
        ({"kind": "width", "n_fine": 9}, "n_fine is that of fine bins.*leave it out for width"),
        ({"of": [0.1, np.nan]}, "score in row 1 is nan; pass finite numbers"),
        ({"of": [0.1, 0.2, -np.inf]}, "score in row 2 is -inf"),
        ({"of": [None, 0.2]}, "score in row 0 is nan"),
        ({"of": ["a", "b"]}, r"scores of shape \(2,\)"),
        ({"of": [[0.1], [0.2]]}, r"scores of shape \(2, 1\)"),
        ({"of": [[0.1], [0.2, 0.3]]}, "Scores to cut must be numbers in rows"),
        ({"of": 0.5}, r"scores of shape \(\)"),
    ],
)
def test_strata_that_cannot_be_are_refused(options, message):
    with pytest.raises(PartitionError, match=message):
        Strata(**options)


@pytest.mark.parametrize(
    ("pool", "of", "message"),
    [
        (pool_of(2), None, "need scores; pass scores or confidence"),
        (pool_of(2), [0.1], "There are 1 scores to cut, but the pool has 2 items"),
        (pool_of(2), 0, "The pool has no scores of 0"),
        (ba.Pool(scores=[0.1], classes=["no", "yes"]), "maybe", "of='maybe': it is none of the classes .'no', 'yes'"),
        (ba.Pool(scores=[0.1], classes=["no", "yes"]), 1, "of=1: it is none of the classes"),
    ],
)
def test_pools_that_cannot_be_cut_are_refused(pool, of, message):
    with pytest.raises(PartitionError, match=message):
        ba.partition(pool, Strata(of=of))


# The specification as a value


def test_strata_are_equal_by_value():
    assert Strata(8) == Strata(8)
    assert hash(Strata(8, of=[0.1, 0.2])) == hash(Strata(8, of=np.array([0.1, 0.2])))
    assert Strata(8, of=[0.1, 0.2]) == Strata(8, of=np.array([0.1, 0.2]))
    different = [Strata(8), Strata(9), Strata(8, "width"), Strata(8, of="a"), Strata(8, n_fine=9), Strata(8, of=1)]
    different += [Strata(8, of=[0.1, 0.2]), Strata(8, of=[0.1, 0.3]), Strata(8, of=[0.1])]
    assert len(set(different)) == len(different)
    assert Strata(8) != ba.ScoreBins(8)
    assert repr(Strata(8, of=np.zeros(1000))) == "Strata(n_strata=8, kind='csf', of=array of 1,000, n_fine=None)"


def test_cells_and_crosses_are_made_of_strata():
    pool = ba.Pool(scores=[0.9, 0.1, 0.6, 0.3])
    assert ba.cells(pool, Strata(2)).sizes.tolist() == [2, 2]
    both = ba.partition(pool)
    assert ba.partition(pool, ba.partition(pool, Strata(2))).codes.tolist() == both.codes.tolist()


# Features


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60),
    st.integers(1, 40),
)
def test_tree_leaves_keep_equal_rows_together_and_are_as_many_as_can_be(rows, n_strata):
    strata = ba.partition(pool_of(len(rows)), FeatureStrata(rows, n_strata))
    assert strata.n_groups == min(n_strata, len(set(rows)))
    assert sizes(strata).min() > 0
    assert len({(row, code) for row, code in zip(rows, strata.codes.tolist(), strict=True)}) == len(set(rows))
    assert (strata.note is None) == (strata.n_groups == n_strata)


@pytest.mark.parametrize("counts", [(1, 6, 5), (5, 6, 1), (4, 1, 0), (3, 3, 3)])
def test_a_leaf_is_split_as_nearly_in_half_as_ties_allow(counts):
    features = np.repeat([0.0, 1.0, 2.0], counts)[:, None]
    strata = ba.partition(pool_of(len(features)), FeatureStrata(features, 2))
    below = np.cumsum(counts)[:-1]
    expected = min(np.abs(2 * cut - sum(counts)) for cut in below if 0 < cut < sum(counts))
    assert abs(int(np.diff(sizes(strata))[0])) == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_binary_tree_over_the_leaves_is_the_k_d_tree(dtype):
    features = (np.random.default_rng(0).random((1003, 3)) * [1, 5, 2]).astype(dtype)
    strata = ba.partition(pool_of(1003), FeatureStrata(features, 16))
    assert sizes(strata).max() - sizes(strata).min() <= 1
    assert strata.description == "16 k-d tree strata of 3 features"
    assert strata.names[[0, 15]].tolist() == ["leaf 0", "leaf 15"]
    for depth in range(4):
        nodes = strata.codes // (16 >> depth)
        for node in range(2**depth):
            rows = features[nodes == node]
            right = strata.codes[nodes == node] // (8 >> depth) % 2 == 1
            widest = np.argmax(np.ptp(rows, axis=0))
            assert rows[~right, widest].max() < rows[right, widest].min()


def test_clusters_hold_neighbours_and_neighbouring_clusters_lie_side_by_side():
    rng = np.random.default_rng(0)
    centres = rng.permutation(np.arange(12) * 10)
    features = centres[rng.integers(0, 12, 2000), None] + rng.normal(size=(2000, 2))
    strata = ba.partition(pool_of(2000), FeatureStrata(features, 12, "k_means"))
    middles = np.array([features[strata.codes == k].mean(axis=0) for k in range(12)])
    steps = np.array([np.linalg.norm(one - other) for one, other in pairwise(middles)])
    assert strata.description == "12 k-means strata of 2 features"
    assert steps.sum() == pytest.approx(np.ptp(middles[:, 0]) * np.sqrt(2), rel=0.05)  # no way back
    again = ba.partition(pool_of(2000), FeatureStrata(features, 12, "k_means"))
    np.testing.assert_array_equal(strata.codes, again.codes)


def test_k_means_starts_where_the_seed_says():
    features = np.random.default_rng(0).random((500, 2))
    one, other = (ba.partition(pool_of(500), FeatureStrata(features, 9, "k_means", seed)) for seed in (0, 1))
    assert not np.array_equal(one.codes, other.codes)


@pytest.mark.parametrize(
    ("features", "n_strata", "note"),
    [
        (np.zeros((40, 2)), 8, "1 of 8 strata: the other clusters are empty"),
        (np.repeat([[0.0], [1.0]], 20, axis=0), 8, "2 of 8 strata: the other clusters are empty"),
        (np.arange(6.0)[:, None], 8, "6 of 8 strata: only 6 items"),
        (np.array([[3]]), 1, None),
    ],
)
def test_clusters_may_be_fewer_than_asked(features, n_strata, note):
    strata = ba.partition(pool_of(len(features)), FeatureStrata(features, n_strata, "k_means"))
    assert strata.note == note
    assert sizes(strata).min() > 0
    assert strata.names[0] == "cluster 0"


def test_k_means_without_scikit_learn_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(PartitionError, match="pip install scikit-learn"):
        ba.partition(pool_of(2), FeatureStrata([[0.0], [1.0]], 2, "k_means"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_strata": 0}, "n_strata must be an integer of at least 1"),
        ({"kind": "tree"}, '"k_d_tree" or "k_means", not \'tree\''),
        ({"seed": -1}, "Seed must be an integer from 0"),
        ({"features": [0.0, 1.0]}, r"Features have shape \(2,\)"),
        ({"features": np.zeros((2, 0))}, r"Features have shape \(2, 0\)"),
        ({"features": [["a"], ["b"]]}, "pass numbers"),
        ({"features": [[0.0], [1.0, 2.0]]}, "Features must be numbers in rows of equal length"),
        ({"features": [[0.0, 1.0], [2.0, np.nan]]}, "feature in row 1, column 1 is nan"),
        ({"features": [[0.0, np.inf], [2.0, 3.0]]}, "feature in row 0, column 1 is inf"),
    ],
)
def test_feature_strata_that_cannot_be_are_refused(options, message):
    with pytest.raises(PartitionError, match=message):
        FeatureStrata(**({"features": [[0.0], [1.0]]} | options))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_features_may_be_a_frame(frame):
    features = frame({"x": [0, 9, 0, 9], "y": [0.0, 1.0, 1.0, 0.0]})
    assert ba.partition(pool_of(4), FeatureStrata(features, 2)).codes.tolist() == [0, 1, 0, 1]


def test_features_of_other_items_are_refused():
    strata = FeatureStrata(np.zeros((3, 2)), 2)
    assert repr(strata) == "FeatureStrata(features=3 x 2, n_strata=2, kind='k_d_tree', seed=0)"
    with pytest.raises(PartitionError, match="features of 3 items, but the pool has 2"):
        ba.partition(pool_of(2), strata)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_on_the_grid_begin_their_strata_in_either_precision(dtype):
    scores = (np.arange(11) / 10).astype(dtype)
    assert ba.partition(ba.Pool(scores=scores), Strata(10, "width")).codes.tolist() == [*range(10), 9]
    powers = (2.0 ** -np.arange(4)[::-1] * 0.7).astype(dtype)
    assert ba.partition(ba.Pool(scores=powers), Strata(3, "geometric")).codes.tolist() == [0, 1, 2, 2]
