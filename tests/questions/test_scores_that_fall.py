"""Scores that are low where the positive class is predicted: distances, or probabilities of the other class."""

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.pool.rank_strata import RankStrata, falls

RNG = np.random.default_rng(0)
M = 2_000
LABELS = (RNG.random(M) < 0.1).astype(int)
# In steps of 2^-10, so that one less a score is exact.
SCORE = np.round(1024 / (1 + np.exp(-(RNG.normal(size=M) * 1.2 + 3 * LABELS - 3)))) / 1024
PREDICTIONS = (SCORE >= 0.5).astype(int)
RISING = ba.Pool(predictions=PREDICTIONS, scores=SCORE)
FALLING = {
    "one column": ba.Pool(predictions=PREDICTIONS, scores=1 - SCORE),
    "both classes": ba.Pool(predictions=PREDICTIONS, scores=np.stack([SCORE, 1 - SCORE], axis=1)),
}


def answered(pool, question, **options):
    a = ba.assess(pool, question, seed=3, **options)
    for _ in range(3):
        ids = a.ask(10).ids
        a.tell(ids, LABELS[ids])
    return a.labelled[0], a.result()


@pytest.mark.parametrize("falling", FALLING)
@pytest.mark.parametrize("question", [ba.Metric("f1"), ba.Metric("accuracy"), ba.Rate(positive=1)])
def test_the_same_is_asked_and_answered_whichever_way_a_score_runs(question, falling):
    ids, expected = answered(RISING, question)
    others, result = answered(FALLING[falling], question)
    np.testing.assert_array_equal(others, ids)
    np.testing.assert_array_equal(result.estimate, expected.estimate)
    np.testing.assert_array_equal(result.interval, expected.interval)
    said = "Scores are low where the positive class is predicted"
    assert said in result.summary()
    assert said not in expected.summary()


def test_strata_of_ranks_are_those_of_the_score_turned_round():
    strata = [ba.partition(pool, RankStrata(64)).codes for pool in (RISING, *FALLING.values())]
    np.testing.assert_array_equal(strata[1], strata[0])
    np.testing.assert_array_equal(strata[2], strata[0])


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["roc_auc", "average_precision"])
def test_measures_of_the_score_are_of_the_score_as_it_is(measure):
    pool, question = FALLING["one column"], ba.Metric(measure)
    a = ba.assess(pool, question)
    a.tell(pool.ids, LABELS)
    assert a.result().estimate == pytest.approx(question.truth(pool, LABELS), rel=1e-12)
    assert question.truth(pool, LABELS) < 0.5 < question.truth(RISING, LABELS)


def test_predictions_that_have_nothing_to_do_with_a_score_turn_none_round():
    """One set of predictions in 4,000 would by chance (3.5 standard deviations), and then by less than asked for."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        for n in (1, 5, 50):
            announced = np.isin(np.arange(M), rng.choice(M, n, replace=False))
            assert not falls(SCORE, announced)
    lowest = np.isin(np.arange(M), np.argsort(SCORE, kind="stable")[:20])
    assert falls(SCORE, lowest)
    assert falls(
        SCORE[lowest | (SCORE > 0.1)], lowest[lowest | (SCORE > 0.1)], np.full((lowest | (SCORE > 0.1)).sum(), 3)
    )
    assert not falls(SCORE, np.ones(M, bool))
    assert not falls(np.zeros(M), PREDICTIONS == 1)


def test_the_share_of_pairs_is_that_of_mann_and_whitney():
    """Where an announced item has the lower score in less than three of four pairs, nothing is turned round."""
    announced = np.arange(400) % 2 == 0
    score = np.where(announced, 0.0, 1.0)
    for above in (60, 40):  # pairs are in order in above / 200 of all, half of those that tie
        mixed = score.copy()
        mixed[np.flatnonzero(announced)[:above]] = 2.0
        assert falls(mixed, announced) == (above / 200 < 0.25)
