from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special, stats

import bayes_assess as ba
from bayes_assess.errors import BayesAssessError, PartitionError
from bayes_assess.pool.rank_strata import RankedScore, RankStrata

few_values = st.sampled_from([-1.5, -0.0, 0.0, 1e-300, 0.25, 0.5, 1.0, 1e300])
values = st.one_of(few_values, st.floats(allow_nan=False, allow_infinity=False))
items = st.lists(st.tuples(values, st.booleans()), min_size=1, max_size=80)


def ranked(pairs, announced=True):
    score, said = (np.array(x) for x in zip(*pairs, strict=True))
    return RankedScore(score.astype(float), said.astype(bool) if announced else None)


def order_of(one):
    """Place of every item among all, those that tie having the same: by the score, then by the prediction."""
    said = np.zeros(len(one.score)) if one.announced is None else one.announced
    return np.unique(np.stack([one.score + 0.0, said], axis=1), axis=0, return_inverse=True)[1].ravel()


# -- ranks ------------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50, derandomize=True)
@given(items, st.booleans())
@example([(0.0, True), (-0.0, True), (0.0, False)], True)
def test_fractions_are_middle_ranks_of_the_score_then_the_prediction(pairs, announced):
    one = ranked(pairs, announced)
    expected = (stats.rankdata(order_of(one), "average") - 0.5) / len(pairs)
    np.testing.assert_allclose(one.fractions, expected, rtol=1e-12)
    assert one.fractions.mean() == pytest.approx(0.5)
    assert ((one.fractions > 0) & (one.fractions < 1)).all()


def test_equal_scores_are_ranked_by_the_prediction_and_share_their_middle():
    one = RankedScore(np.array([0.5, 0.5, 0.2, 0.5, 0.9]), np.array([True, False, True, True, False]))
    assert (one.fractions * 10).round(9).tolist() == [6, 3, 1, 6, 9]
    assert (RankedScore(one.score).fractions * 10).round(9).tolist() == [5, 5, 1, 5, 9]


@pytest.mark.parametrize(("n_announced", "share"), [(0, 0.5), (1, 0.1), (4, 0.4), (9, 0.9), (10, 0.5)])
def test_the_share_announced_is_a_half_where_all_items_are_or_none(n_announced, share):
    assert RankedScore(np.arange(10.0), np.arange(10) >= 10 - n_announced).share == pytest.approx(share)
    assert RankedScore(np.arange(1.0), np.ones(1, bool)).share == 0.5


@pytest.mark.parametrize(("n_elsewhere", "separates"), [(0, True), (2, True), (3, False), (20, False)])
def test_scores_are_of_the_predictions_if_nine_of_ten_announced_items_have_the_highest(n_elsewhere, separates):
    announced = np.arange(200) >= 180 - n_elsewhere
    announced[180 : 180 + n_elsewhere] = False  # as many others are above the rank where predictions of a cut would end
    order, times = np.random.default_rng(1).permutation(200), np.random.default_rng(2).integers(1, 4, 200)
    score, announced = np.sqrt(np.arange(200.0))[order], announced[order]
    assert RankedScore(score, announced).separates == separates
    listed = RankedScore(np.repeat(score, times), np.repeat(announced, times))
    assert RankedScore(score, announced, times=times).separates == listed.separates


@pytest.mark.parametrize("announced", [None, np.zeros(3, bool), np.ones(3, bool)])
def test_scores_are_of_no_predictions_where_these_are_alike(announced):
    assert not RankedScore(np.arange(3.0), announced).separates


@pytest.mark.parametrize("n_below", [0, 4, 8, 12, 40])
def test_a_score_ranks_what_another_system_alone_announces_if_nine_of_ten_pairs_are_in_its_order(n_below):
    rng = np.random.default_rng(n_below)
    score, announced = np.round(rng.random(400), 2), np.zeros(400, bool)
    announced[score >= 0.8] = True
    other = (score >= 0.7) | (rng.random(400) < n_below / 400)
    times = rng.integers(1, 4, 400)
    listed = [np.repeat(part, times) for part in (score, announced, other)]
    alone, neither = (listed[0][~listed[1] & (listed[2] == side)] for side in (True, False))
    above = (alone[:, None] > neither).mean() + (alone[:, None] == neither).mean() / 2
    assert RankedScore(score, announced, times=times).ranks_positives_of(other) == (above >= 0.9)
    assert RankedScore(*listed[:2]).ranks_positives_of(listed[2]) == (above >= 0.9)


def test_a_score_ranks_nothing_of_a_system_that_announces_no_other_items():
    announced = np.array([False, False, True])
    one = RankedScore(np.arange(3.0), announced)
    assert not any(one.ranks_positives_of(other) for other in (announced, np.zeros(3, bool), np.ones(3, bool)))
    assert not RankedScore(np.arange(3.0)).ranks_positives_of(announced)


def test_items_that_tie_over_a_wide_range_of_ranks_are_known():
    scores = np.concatenate([np.zeros(900), np.linspace(0.1, 0.4, 70), np.full(20, 0.45), np.full(10, 0.9)])
    ties = RankedScore(scores, scores > 0.5).ties
    # The 20 lie between log odds of 3.5 and 4.6 of the rank, the 10 from there on to the end.
    np.testing.assert_allclose(ties.low, [0, 0.97, 0.99])
    np.testing.assert_allclose(ties.high, [0.9, 0.99, 1])
    assert ties.which.tolist() == [1] * 900 + [0] * 70 + [2] * 20 + [3] * 10
    assert RankedScore(scores[900:-30], np.zeros(70, bool)).ties is None  # the highest one has a wide range alone
    rows = RankedScore(np.array([0.0, 0.9]), np.array([False, True]), times=np.array([900, 100]))
    assert rows.ties.which.tolist() == [1, 2]


# -- strata -----------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50, derandomize=True)
@given(items, st.booleans(), st.integers(1, 40))
def test_strata_are_ranges_of_ranks_in_order_and_none_is_empty(pairs, announced, n_strata):
    one = ranked(pairs, announced)
    strata = RankStrata(n_strata).of(one)
    codes, place = strata.codes.astype(int), order_of(one)
    assert np.unique(codes).tolist() == list(range(strata.n_groups))
    assert 1 <= strata.n_groups <= min(n_strata, place.max() + 1)
    by_place = np.argsort(place, kind="stable")
    assert (np.diff(codes[by_place]) >= 0).all()
    tied = np.diff(place[by_place]) == 0
    assert (np.diff(codes[by_place])[tied] == 0).all()


@settings(deadline=None, max_examples=50, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=60),
    st.lists(st.floats(1e-3, 1e3), min_size=13, max_size=13),
    st.booleans(),
)
def test_only_the_order_of_the_scores_matters(pairs, steps, announced):
    one = ranked(pairs, announced)
    other = RankedScore(np.cumsum(steps)[one.score.astype(int)] - 500, one.announced)
    for n_strata in (3, 64):
        ours, theirs = (RankStrata(n_strata).of(x) for x in (one, other))
        np.testing.assert_array_equal(ours.codes, theirs.codes)


@settings(deadline=None, max_examples=50, derandomize=True)
@given(items, st.randoms(use_true_random=False))
def test_the_order_of_the_items_does_not_matter(pairs, random):
    shuffled = list(range(len(pairs)))
    random.shuffle(shuffled)
    codes = RankStrata(10).of(ranked(pairs)).codes
    np.testing.assert_array_equal(RankStrata(10).of(ranked([pairs[i] for i in shuffled])).codes, codes[shuffled])


@pytest.mark.parametrize("n_items", [200, 20_000])
@pytest.mark.parametrize("n_announced", [0, 3, 60, 199])
def test_no_stratum_is_wider_than_twice_its_part_of_either_density(n_items, n_announced):
    n_strata = 40
    one = RankedScore(np.random.default_rng(0).permutation(n_items).astype(float), None)
    one = RankedScore(one.score, one.score >= n_items - n_announced)
    codes, u = RankStrata(n_strata).of(one).codes, one.fractions
    root, t = np.arcsin(np.sqrt(u)) / (np.pi / 2), special.logit(u)
    cut = -special.logit(one.share)
    low, high = max(t.min(), cut - 6), min(t.max(), cut + 5)
    near = np.clip(t, low, high)
    for c in range(codes.max() + 1):
        inside = codes == c
        assert np.ptp(root[inside]) <= 2 / n_strata + 1e-12
        assert np.ptp(near[inside]) <= 2 * (high - low) / n_strata + 1e-12


def test_a_few_positives_of_many_items_have_many_strata():
    n_items, n_announced = 100_000, 100
    score = np.arange(n_items, dtype=float)
    codes = RankStrata(128).of(RankedScore(score, score >= n_items - n_announced)).codes.astype(int)
    # Half of the strata lie evenly over log odds from 6 below to 5 above the cut; nearer to the top items are too few.
    tenth, hundredth = codes[-10], codes[-100]
    assert tenth - hundredth >= int(128 * np.log(10) / 22) - 1
    even = RankStrata(128).of(RankedScore(score, score >= n_items // 2)).codes.astype(int)
    assert even[-10] - even[-100] < (tenth - hundredth) / 2


def test_strata_of_a_confidence_are_those_of_the_methods():
    u = (np.arange(50_000) + 0.5) / 50_000
    strata = RankStrata(128).of(RankedScore(u))
    expected = np.floor(32 * np.expm1(-4 * u) / np.expm1(-4)).astype(int)
    assert strata.n_groups == 32
    assert (strata.codes != expected).mean() < 1e-3  # the ends are at the first and the last item


# -- odd pools --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("announced", [None, np.zeros(1, bool), np.ones(1, bool)])
def test_one_item_is_one_stratum(announced):
    one = RankedScore(np.array([0.3]), announced)
    assert one.fractions.tolist() == [0.5]
    assert RankStrata(5).of(one).codes.tolist() == [0]


@pytest.mark.parametrize("n_items", [2, 100_000])
def test_constant_scores_are_one_stratum_or_one_for_every_prediction(n_items):
    score, said = np.full(n_items, 0.4), np.arange(n_items) % 2 == 0
    assert RankStrata(7).of(RankedScore(score)).n_groups == 1
    assert RankStrata(7).of(RankedScore(score, np.ones(n_items, bool))).n_groups == 1
    strata = RankStrata(7).of(RankedScore(score, said))
    np.testing.assert_array_equal(strata.codes, said)


def test_a_huge_tie_is_one_stratum_and_takes_no_other_items_strata():
    tied, n_items = 90_000, 100_000
    score = np.maximum(np.arange(n_items) - tied, 0).astype(float)
    strata = RankStrata(64).of(RankedScore(score, score > 9_900))
    assert len(np.unique(strata.codes[: tied + 1])) == 1
    assert strata.n_groups > 32
    assert "of 64 strata: ranks tie" in strata.note


def test_strata_of_a_pool_take_its_scores_and_predictions():
    score = np.random.default_rng(1).random(300).round(2)
    score[score == 0.5] = 0.51
    expected = RankStrata(20).of(RankedScore(score, score >= 0.5)).codes
    np.testing.assert_array_equal(ba.partition(ba.Pool(scores=score), RankStrata(20)).codes, expected)
    both = ba.Pool(scores=np.stack([1 - score, score], axis=1))
    np.testing.assert_array_equal(ba.partition(both, RankStrata(20)).codes, expected)
    sure = ba.Pool(predictions=np.zeros(300, int), confidence=score)
    np.testing.assert_array_equal(ba.partition(sure, RankStrata(20)).codes, RankStrata(20).of(RankedScore(score)).codes)


def test_a_pool_without_scores_has_no_rank_strata():
    with pytest.raises(PartitionError, match="Strata of ranks need scores"):
        ba.partition(ba.Pool(predictions=[0, 1, 1]), RankStrata(4))


@pytest.mark.parametrize("n_strata", [0, -1, 2.5])
def test_the_number_of_strata_is_a_positive_integer(n_strata):
    with pytest.raises(BayesAssessError, match="n_strata"):
        RankStrata(n_strata)


def test_more_strata_refine_the_ranges():
    score = np.random.default_rng(2).random(500)
    sizes = [RankStrata(n).of(RankedScore(score, score > 0.8)).n_groups for n in (1, 2, 8, 32, 128)]
    assert sizes[0] == 1
    assert all(few < more for few, more in pairwise(sizes))


def test_items_of_several_systems_rank_by_votes_and_favour_none():
    rng = np.random.default_rng(5)
    score = rng.random(500)
    own, other = score > 0.6, rng.random(500) < 0.4
    ranked = RankedScore(score, own, other[None])
    u, votes = ranked.fractions, own.astype(int) + other
    assert ranked.share == pytest.approx((own.mean() + other.mean()) / 2)
    for few in (0, 1):
        assert u[votes == few].max() < u[votes == few + 1].min()
    for kind in (own & ~other, other & ~own):  # within one vote, the score decides among items of the same system
        assert (np.diff(u[kind][np.argsort(score[kind])]) > 0).all()
    first, second = u[own & ~other], u[other & ~own]
    # Both kinds are spread evenly over the same ranks: their means differ by less than one step of the rarer kind.
    assert abs(first.mean() - second.mean()) < np.ptp(u[votes == 1]) / min(len(first), len(second))
