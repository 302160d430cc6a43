"""Pools whose items are all predicted alike, such as those that a classifier has flagged: predictions tell no rank."""

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.models.curve_members import POSITIVES, VERDICTS
from bayes_assess.pool.rank_strata import RankedScore

N, N_CAMPAIGNS, LABELS = 2000, 8, (1, 7, 22)
FEWEST = 6  # of 8 campaigns: intervals that hold in .95 of them hold in fewer in 1 of 170 series


def flagged(seed, rate, n_values):
    """Items all predicted positive, with a score of few values, of which so many are positive."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(N) < rate).astype(int)
    logit = 2 * (rng.normal(size=N) + 2 * labels) - 2 + np.log(rate / (1 - rate))
    score = np.round((n_values - 1) / (1 + np.exp(-logit))) / (n_values - 1)
    return score, labels


def held(pools, question, prediction, truth_of):
    """How many intervals of campaigns hold the truth."""
    n = 0
    for seed, (score, labels) in enumerate(pools):
        pool = ba.Pool(scores=score, predictions=np.full(N, prediction))
        a = ba.assess(pool, question, seed=seed)
        for size in LABELS:
            ids = a.ask(size).ids
            a.tell(ids, labels[ids])
        low, high = np.ravel(a.result().interval)
        n += low <= truth_of(labels) <= high
    return n


@pytest.mark.parametrize(
    ("rate", "n_values"),
    [(0.1, 3), pytest.param(0.4, 3, marks=pytest.mark.slow), pytest.param(0.1, 5, marks=pytest.mark.slow)],
)
def test_precision_of_flagged_items_is_held_whatever_it_is(rate, n_values):
    pools = (flagged(seed, rate, n_values) for seed in range(N_CAMPAIGNS))
    assert held(pools, ba.Metric("precision"), 1, np.mean) >= FEWEST


def test_accuracy_where_nothing_is_predicted_is_held():
    def pools():
        for seed in range(N_CAMPAIGNS):
            yield np.full(N, 0.1), (np.random.default_rng(seed).random(N) < 0.02).astype(int)

    assert held(pools(), ba.Metric("accuracy"), 0, lambda labels: 1 - labels.mean()) >= FEWEST


def test_predictions_that_are_all_alike_say_nothing_of_where_positives_begin():
    score = np.arange(10.0)
    every, none, some = (RankedScore(score, score >= cut) for cut in (0, 10, 6))
    assert not every.tells_apart
    assert not none.tells_apart
    assert (every.share, none.share, some.share) == (0.5, 0.5, 0.4)
    both = RankedScore(score, score >= 0, others=np.array([score >= 6]))
    assert both.tells_apart
    assert both.share == pytest.approx(0.7)


def test_the_belief_is_of_what_announces_positives():
    scores, site = np.linspace(0.05, 0.95, 20), np.arange(20) % 3
    pool, question = ba.Pool(scores=scores, groups={"site": site}), ba.Metric("f1")
    assert question.subject(pool).members is POSITIVES
    alone = {"predictions": pool.predictions, "classes": [0, 1]}
    for asked in (question, ba.Metric("accuracy")):  # predictions rank the items, too
        verdicts = asked.subject(ba.Pool(**alone))
        assert verdicts.members is POSITIVES
        assert not verdicts.is_scored
    of_one_kind = question.subject(ba.Pool(predictions=np.ones(20, int), classes=[0, 1]))
    by_site = ba.Metric("f1", by="site").subject(ba.Pool(**alone, groups={"site": site}))
    assert of_one_kind.members is by_site.members is ba.Rate(1).subject(ba.Pool(**alone)).members is VERDICTS
    flagged = question.subject(ba.Pool(scores=scores, predictions=np.ones(20, int))).members
    assert (flagged.shift_sd > POSITIVES.shift_sd)[POSITIVES.shift_sd > 0].all()  # positives may begin anywhere
    apart = ba.Metric("f1", by="site").subject(pool)
    assert (apart.members.group_odds == 1).all()
    kinds = {*zip(apart.group.tolist(), site.tolist(), pool.predictions.tolist(), strict=True)}
    assert len(kinds) == len({*apart.group.tolist()}) == 6  # of every site predictions of either kind are apart
