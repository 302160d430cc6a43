from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.models.hierarchical_accuracy import ALIKE, LOG_STRENGTH
from bayes_assess.questions import mean_reciprocal_rank
from made import made_pool

POOL, LABELS = made_pool([0.9, 0.5, 0.7], [30, 20, 25])
BARE = ba.Pool(predictions=[0, 0, 1])


class TestPriors:
    def test_the_informative_prior_is_the_mean_score_times_its_strength(self):
        a = ba.assess(POOL, ba.GroupAccuracy(), prior="informative", prior_strength=10)
        means = [POOL.confidence[POOL.predictions == g].mean() for g in range(3)]
        np.testing.assert_allclose(a.prior.a, 10 * np.array(means))
        np.testing.assert_allclose(np.add(a.prior.a, a.prior.b), 10)

    def test_the_uninformative_prior_is_flat_at_strength_two(self):
        a = ba.assess(POOL, ba.GroupAccuracy(), prior="uninformative")
        assert np.asarray(a.prior.a).tolist() == np.asarray(a.prior.b).tolist() == [1, 1, 1]

    def test_without_a_word_groups_learn_from_each_other(self):
        for pool in (BARE, POOL):
            assert isinstance(ba.assess(pool, ba.GroupAccuracy()).prior, ba.HierarchicalAccuracy)

    @pytest.mark.parametrize("question", [ba.GroupAccuracy, ba.LeastAccurate, ba.Compare])
    def test_predicted_classes_may_differ_more_than_other_groups(self, question):
        pool, halves = POOL.with_groups(site=np.arange(POOL.n_items) % 2), np.arange(POOL.n_items) // 40
        for by, expected in (("prediction", LOG_STRENGTH), ("site", ALIKE), (ba.ScoreBins(3), ALIKE), (halves, ALIKE)):
            assert ba.assess(pool, question(by=by)).prior.strength_prior.tolist() == list(expected)

    def test_a_strength_asks_for_a_fixed_prior_which_scores_decide(self):
        assert np.asarray(ba.assess(BARE, ba.GroupAccuracy(), prior_strength=2).prior.a).tolist() == [1, 1]
        assert not np.allclose(ba.assess(POOL, ba.GroupAccuracy(), prior_strength=2).prior.a, 1)

    def test_an_informative_prior_without_scores_is_refused(self):
        with pytest.raises(ba.PriorError, match=r"has none.*prior='uninformative'"):
            ba.assess(BARE, ba.GroupAccuracy(), prior="informative")

    def test_a_prior_of_ones_own_is_taken_as_it_is(self):
        own = ba.BetaBernoulli(np.array([5.0, 1.0]), np.array([1.0, 2.0]))
        np.testing.assert_allclose(ba.assess(BARE, ba.GroupAccuracy(), prior=own).result().estimate, [5 / 6, 1 / 3])

    @pytest.mark.parametrize(
        ("prior", "strength", "message"),
        [
            ("flat", None, "'uninformative', a BetaBernoulli or another Belief, .*; found 'flat'"),
            ("uninformative", 0, "positive number of labels; found 0"),
            ("uninformative", np.nan, "positive number of labels; found nan"),
            (ba.BetaBernoulli(np.ones(3), np.ones(3)), None, r"shape \(2,\); found shape \(3,\)"),
            (ba.BetaBernoulli(np.array([1.0, -1.0]), np.ones(2)), None, "positive and finite"),
            (ba.BetaBernoulli(np.ones(2), np.ones(2)), 3.0, "leave out prior_strength"),
        ],
    )
    def test_a_prior_that_makes_no_sense_is_refused(self, prior, strength, message):
        with pytest.raises(ba.PriorError, match=message):
            ba.assess(BARE, ba.GroupAccuracy(), prior=prior, prior_strength=strength)


@pytest.mark.parametrize("m", [0, -1, 1.5, True])
def test_a_number_of_groups_that_is_not_positive_is_refused(m):
    with pytest.raises(ba.QuestionError, match="m >= 1"):
        ba.LeastAccurate(m=m)


def test_more_extreme_groups_than_there_are_is_refused():
    pool = ba.Pool(predictions=[0, 0, 2], classes=[0, 1, 2])
    with pytest.raises(ba.QuestionError, match="m = 3 groups, but only 2 groups"):
        ba.assess(pool, ba.LeastAccurate(m=3))
    with pytest.raises(ba.QuestionError, match=r"but only 1 group \(by prediction\) has items; ask for at most 1"):
        ba.assess(ba.Pool(predictions=[0, 0]), ba.LeastAccurate(m=2))


def test_an_unknown_target_is_refused():
    with pytest.raises(ba.QuestionError, match="'pool' or 'population'"):
        ba.GroupAccuracy(target="sample")


def test_the_population_is_never_known_exactly():
    a = ba.assess(POOL, ba.GroupAccuracy(target="population"))
    a.tell(POOL.ids, LABELS)
    result = a.result()
    assert result.guarantee == "credible"
    assert (np.diff(result.interval) > 0).all()
    np.testing.assert_allclose(result.estimate, result.posterior.mean)


def test_a_group_without_items_keeps_its_prior():
    pool = ba.Pool(predictions=[0, 0, 2], classes=[0, 1, 2])
    a = ba.assess(pool, ba.LeastAccurate(), prior_strength=4)
    a.tell([0, 1, 2], [0, 1, 2])
    result = a.result()
    assert result.size.tolist() == [2, 0, 1]
    assert result.estimate.tolist() == [0.5, 0.5, 1.0]
    np.testing.assert_allclose(result.interval[1], [0.0942993, 0.9057007], atol=1e-7)  # of Beta(2, 2)
    assert result.probability_worst.tolist() == [1.0, 0.0, 0.0]
    assert result.rank.tolist() == [1.0, 0.0, 2.0]
    assert result.identified.tolist() == [0]
    assert all(np.isfinite(column).all() for name in result.table().columns[1:] for column in [result.table()[name]])


def brute_force_mrr(estimate, truth, m):
    top = np.argsort(truth, kind="stable")[::-1][:m]
    return np.mean([1 / (1 + sum(estimate[o] > estimate[g] for o in range(len(truth)) if o not in top)) for g in top])


@pytest.mark.parametrize("m", [1, 3])
def test_mean_reciprocal_rank_counts_only_outsiders_ranked_above(m):
    rng = np.random.default_rng(0)
    for _ in range(50):
        estimate, truth = rng.random(8), rng.random(8)
        ours = mean_reciprocal_rank(estimate, truth, np.ones(8, bool), m)
        assert ours == pytest.approx(brute_force_mrr(estimate, truth, m), abs=1e-15)


def test_the_rmse_is_weighted_by_the_groups_shares():
    question, pool = ba.GroupAccuracy(target="population"), ba.Pool(predictions=[0] * 30 + [1] * 10)
    prior = ba.BetaBernoulli.from_prior(n_groups=2)  # both estimates are 1/2
    full = np.array([[12, 18], [1, 9]])  # accuracies 0.6 and 0.9
    score = question.evaluate(question.cells(pool, 0), prior, np.zeros((2, 2), int), full)
    assert score["rmse"] == pytest.approx(np.sqrt(0.75 * 0.01 + 0.25 * 0.16))


def test_groups_may_be_columns_bins_or_arrays():
    site = np.where(np.arange(75) % 2, "north", "south")
    pool = ba.Pool(predictions=POOL.predictions, confidence=POOL.confidence, groups={"site": site})
    assert ba.assess(pool, ba.GroupAccuracy(by="site")).result().groups.tolist() == ["north", "south"]
    assert len(ba.assess(pool, ba.GroupAccuracy(by=ba.ScoreBins(5))).result().groups) == 5
    assert ba.assess(pool, ba.GroupAccuracy(by=site == "north")).result().size.tolist() == [38, 37]
    with pytest.raises(ba.PartitionError, match="site"):
        ba.assess(pool, ba.GroupAccuracy(by="hospital"))


def test_intervals_in_closed_form_take_no_draws():
    fixed = ba.BetaBernoulli.from_prior(n_groups=2)
    result = ba.assess(ba.Pool(predictions=[0, 1, 1]), ba.GroupAccuracy(), prior=fixed).result()
    assert result.interval.shape == (2, 2)
    assert "draws" not in vars(result)


def test_intervals_of_groups_that_learn_from_each_other_are_of_the_draws_that_rank_them():
    a = ba.assess(ba.Pool(predictions=[0, 1] * 50), ba.GroupAccuracy(), design="random", seed=3)
    a.tell(a.ask(30).ids, [0] * 30)
    result = a.result(level=0.8)
    ends = np.quantile(result.draws, [0.1, 0.9], axis=0).T
    np.testing.assert_array_equal(result.interval[:, 0], np.minimum(ends[:, 0], result.estimate))
    np.testing.assert_array_equal(result.interval[:, 1], np.maximum(ends[:, 1], result.estimate))


class TestCovariates:
    """Thirty sites, the less accurate the older their items; sixty labels."""

    rng = np.random.default_rng(5)
    site = rng.integers(0, 30, 3000)
    age = (20 + 2 * site + rng.normal(0, 3, 3000)).round(1)
    predictions = rng.integers(0, 2, 3000)
    right = rng.random(3000) < 1 / (1 + np.exp(-3 + 0.08 * (age - 20)))
    pool = ba.Pool(predictions=predictions, groups={"site": site, "age": age})
    labels = np.where(right, predictions, 1 - predictions)

    def answer(self, **options):
        a = ba.assess(self.pool, ba.GroupAccuracy(by="site", **options), design="random")
        ids = a.ask(60).ids
        a.tell(ids, self.labels[ids])
        return a.result()

    def test_a_column_that_accuracy_goes_with_makes_estimates_better(self):
        truth = ba.GroupAccuracy(by="site", covariates="age").truth(self.pool, self.labels)
        errors = [np.sqrt(((self.answer(covariates=names).estimate - truth) ** 2).mean()) for names in ((), "age")]
        assert errors[1] < 0.5 * errors[0]  # 0.18 to 0.07: sixty labels of thirty sites tell little alone

    def test_a_journal_knows_them(self, tmp_path):
        question = ba.LeastAccurate(by="site", covariates=["age"])
        before = ba.assess(self.pool, question, journal=tmp_path / "run.db").ask(3).ids
        resumed = ba.resume(tmp_path / "run.db", self.pool)
        assert resumed.question.covariates == ("age",)
        assert sorted(resumed.pending_queries.ids) == sorted(before)

    @pytest.mark.parametrize(
        ("covariates", "error", "message"),
        [
            (["weight"], ba.PriorError, "no column 'weight' of numbers; there are 'site', 'age'"),
            (["name"], ba.PriorError, "Column 'name' does not hold a finite number for every item"),
            (3, ba.QuestionError, "names of columns of the pool; found 3"),
            (["age", "age"], ba.QuestionError, "named once"),
        ],
    )
    def test_what_is_no_column_of_numbers_is_refused(self, covariates, error, message):
        pool = ba.Pool(predictions=[0, 1], groups={"site": [0, 1], "age": [1.0, 2.0], "name": ["a", "b"]})
        pool = pool if covariates != ["weight"] else ba.Pool(predictions=[0, 1], groups={"site": [0, 1], "age": [1, 2]})
        with pytest.raises(error, match=message):
            ba.assess(pool, ba.GroupAccuracy(by="site", covariates=covariates))
