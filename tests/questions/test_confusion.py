from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import bayes_assess as ba
from made import cost_moments
from questions.asked import COST, LABELS, POOL

SOME = np.arange(0, 160, 3)


def told(question, **options):
    a = ba.assess(POOL, question, design="random", **options)
    a.tell(POOL.ids[SOME], LABELS[SOME])
    return a.result()


def asked(question, n=54):
    a = ba.assess(POOL, question, design="random", seed=0)
    ids = a.ask(n).ids
    a.tell(ids, LABELS[POOL.positions(ids)])
    return a.result()


class TestPrior:
    def test_the_informative_prior_is_the_mean_score_vector_of_every_predicted_class(self):
        prior = ba.assess(POOL, ba.ConfusionMatrix(), prior="informative").prior
        means = [POOL.scores[POOL.predictions == k].mean(0) for k in range(4)]
        np.testing.assert_allclose(prior.alpha, means, rtol=1e-12)
        stronger = ba.assess(POOL, ba.ConfusionMatrix(), prior_strength=6).prior
        np.testing.assert_allclose(stronger.alpha, 6 * np.array(means), rtol=1e-12)

    def test_the_uninformative_prior_is_one_label_spread_evenly(self):
        np.testing.assert_allclose(ba.assess(POOL, ba.ConfusionMatrix(), prior="uninformative").prior.alpha, 0.25)

    def test_scores_of_a_binary_classifier_are_both_columns(self):
        pool = ba.Pool(scores=[0.9, 0.7, 0.2])
        prior = ba.assess(pool, ba.ConfusionMatrix(), prior="informative").prior
        np.testing.assert_allclose(prior.alpha, [[0.8, 0.2], [0.2, 0.8]])

    def test_a_confidence_alone_leaves_the_rest_to_the_other_classes_evenly(self):
        pool = ba.Pool(predictions=[0, 0, 2], confidence=[0.6, 0.8, 0.5], classes=[0, 1, 2])
        expected = [[0.7, 0.15, 0.15], [1 / 3, 1 / 3, 1 / 3], [0.25, 0.25, 0.5]]
        prior = ba.assess(pool, ba.ConfusionMatrix(), prior="informative").prior
        np.testing.assert_allclose(prior.alpha, expected)

    def test_costs_take_labels_of_equal_cost_together(self):
        whole = ba.assess(POOL, ba.ConfusionMatrix(), prior="informative").prior.alpha
        merged = ba.assess(POOL, ba.MostCostly(COST), prior="informative").prior.alpha
        # Row 0 costs 0, 1, 1, 3: three levels in order; row 1 costs 2, 0, 2, 2: two, and a place that stays empty.
        np.testing.assert_allclose(merged[0], [whole[0, 0], whole[0, 1] + whole[0, 2], whole[0, 3]])
        np.testing.assert_allclose(merged[1], [whole[1, 1], whole[1, [0, 2, 3]].sum(), 0.0])

    def test_the_agreement_is_an_outcome_of_its_own_whatever_it_costs(self):
        whole = ba.assess(POOL, ba.ConfusionMatrix(), prior="informative").prior.alpha
        cost = [[1, 1, 1, 3], [0, 0, 0, 0], [0, 1, 2, 3], [1, 0, 0, 1]]
        question = ba.MostCostly(cost)
        merged = ba.assess(POOL, question, prior="informative").prior.alpha
        np.testing.assert_array_equal(question.levels, [[1, 1, 3, 0], [0, 0, 0, 0], [0, 1, 2, 3], [0, 1, 1, 0]])
        np.testing.assert_allclose(merged[0], [whole[0, 0], whole[0, 1] + whole[0, 2], whole[0, 3], 0.0])
        np.testing.assert_allclose(merged[1], [whole[1, 1], whole[1, [0, 2, 3]].sum(), 0.0, 0.0])
        np.testing.assert_allclose(merged[2], whole[2])
        np.testing.assert_allclose(merged[3], [whole[3, 1] + whole[3, 2], whole[3, 3], whole[3, 0], 0.0])

    @pytest.mark.parametrize(
        ("prior", "strength", "message"),
        [
            (ba.DirichletConfusion(np.ones((3, 4))), None, r"shape \(4, 4\); found shape \(3, 4\)"),
            (ba.DirichletConfusion(np.zeros((4, 4))), None, "positive and finite"),
            (ba.DirichletConfusion(np.ones((4, 4))), 2.0, "leave out prior_strength"),
            (ba.BetaBernoulli(np.ones(4), np.ones(4)), None, r"shape \(4, 4\); found shape \(4,\)"),
            ("flat", None, "found 'flat'"),
        ],
    )
    @pytest.mark.parametrize("question", [ba.ConfusionMatrix(), ba.MostCostly(COST)], ids=["matrix", "cost"])
    def test_a_prior_that_makes_no_sense_is_refused(self, question, prior, strength, message):
        with pytest.raises(ba.PriorError, match=message):
            ba.assess(POOL, question, prior=prior, prior_strength=strength)


def test_an_entry_has_the_dirichlet_multinomial_distribution():
    result = told(ba.ConfusionMatrix(), prior="uninformative")
    k, j = 1, 2
    n, size = result.labelled[k], result.size[k]
    a, b = 0.25 + result.counts[k, j], 0.75 + n - result.counts[k, j]
    assert result.estimate[k, j] == pytest.approx((result.counts[k, j] + (size - n) * a / (a + b)) / size)
    distribution, (low, high) = (
        stats.betabinom(size - n, a, b),
        np.round(result.interval[k, j] * size - result.counts[k, j]),
    )
    assert distribution.cdf(high) - distribution.cdf(low - 1) >= 0.95
    assert distribution.cdf(low - 1) <= 0.025
    assert distribution.sf(high) <= 0.025


def test_costs_and_accuracy_of_a_learned_confusion_matrix_come_from_its_own_posterior():
    matrix = asked(ba.ConfusionMatrix(COST))
    np.testing.assert_allclose(matrix.cost.estimate, (COST * matrix.estimate).sum(1), rtol=1e-9)
    summary = matrix.summary()
    accuracy = np.diagonal(matrix.estimate) @ matrix.cells.weights
    assert f"overall accuracy {accuracy:.3f}, 95% credible interval" in summary
    assert "Learned from all labels: groups differ by about" in summary


def test_the_cost_of_a_confusion_matrix_is_that_of_the_question_about_costs():
    matrix, costly = (
        told(question, prior="informative") for question in (ba.ConfusionMatrix(COST), ba.MostCostly(COST))
    )
    np.testing.assert_allclose(matrix.cost.estimate, (COST * matrix.estimate).sum(1), rtol=1e-12)
    np.testing.assert_allclose(costly.estimate, matrix.cost.estimate, rtol=1e-12)
    np.testing.assert_array_equal(costly.draws, matrix.cost.draws)


def test_draws_of_costs_have_the_exact_moments():
    """Mean and variance of the Dirichlet distribution, and of the Dirichlet-multinomial one for the pool."""
    population = told(ba.MostCostly(COST, target="population"), prior="informative")
    pool = told(ba.MostCostly(COST), prior="informative")
    posterior = told(ba.ConfusionMatrix(), prior="informative").posterior
    n = 10_000
    mean, variance = cost_moments(np.asarray(posterior.alpha), np.asarray(COST))
    error = np.sqrt(variance / n)
    assert (np.abs(population.draws.mean(0) - mean) < 5 * error).all()
    total, rest = np.asarray(posterior.alpha).sum(1), pool.size - pool.labelled
    pool_variance = variance * rest * (total + rest) / total * total / pool.size**2
    # X ~ DirichletMultinomial(R, alpha): Var(c X) = R (R + A) times the variance of c theta.
    np.testing.assert_allclose(pool_variance, variance * rest * (total + rest) / pool.size**2)
    for result, expected in ((population, variance), (pool, pool_variance)):
        assert (np.abs(result.draws.mean(0) - result.estimate) < 5 * np.sqrt(expected / n)).all()
        fourth = ((result.draws - result.draws.mean(0)) ** 4).mean(0)
        error = np.sqrt((fourth - expected**2) / n)
        assert (np.abs(result.draws.var(0) - expected) < 5 * error).all()


@pytest.mark.slow
def test_a_cost_is_that_of_the_label_given_the_prediction_and_not_the_other_way_round():
    pool = ba.Pool(predictions=["cat"] * 10 + ["dog"] * 10)
    a = ba.assess(pool, ba.MostCostly([[0, 1], [10, 0]]))
    a.tell(pool.ids, ["dog"] * 5 + ["cat"] * 5 + ["dog"] * 8 + ["cat"] * 2)
    assert a.result().estimate.tolist() == [0.5, 2.0]  # a cat predicted where it is a dog costs 1, five times in ten
    assert a.result().identified.tolist() == ["dog"]


COSTS = pd.DataFrame([[0.0, 9.0], [1.0, 0.0]], index=["cat", "dog"], columns=["cat", "dog"])


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (
            COSTS[["dog", "cat"]],
            "The columns of the cost matrix are 'dog', 'cat' but the classes 'cat', 'dog': the same",
        ),
        (COSTS.loc[["dog", "cat"]], "The rows of the cost matrix are 'dog', 'cat'"),
        (pl.DataFrame({"dog": [9.0, 0.0], "cat": [0.0, 1.0]}), "The columns of the cost matrix are 'dog', 'cat'"),
        (
            np.ma.array(COSTS.to_numpy(), mask=[[0, 1], [0, 0]]),
            r"predicted class 0 \(row\) and label 1 \(column\) is nan",
        ),
    ],
    ids=["columns", "rows", "Polars", "masked"],
)
@pytest.mark.parametrize("question", [ba.ConfusionMatrix, ba.MostCostly])
def test_costs_by_class_are_in_the_order_of_the_classes(question, cost, said):
    pool = ba.Pool(predictions=["cat", "dog"])
    with pytest.raises(ba.QuestionError, match=said):
        ba.assess(pool, question(cost))
    for right in (COSTS, COSTS.to_numpy(), COSTS.set_axis(["a", "b"]).set_axis(["a", "b"], axis=1)):
        ba.assess(pool, question(right))


def test_the_most_costly_class_is_sought_among_the_worst():
    result = told(ba.MostCostly(COST))
    assert result.sought_column == "p_worst"
    assert result.identified.tolist() == [result.groups[result.probability_worst.argmax()]]


def test_the_most_frequent_confusions_come_first():
    result = told(ba.ConfusionMatrix())
    table = result.confusions(12)
    items = table["estimate"] * table["items"]
    assert len(table) == 12  # 4 times 3: all but the diagonal
    assert (np.diff(items) <= 1e-12).all()
    assert (table["predicted"] != table["label"]).all()
    for wrong in (0, -1, 0.5, "2", None):
        with pytest.raises(ba.QuestionError, match="a whole number, 1 or more; found"):
            result.confusions(wrong)


def test_ranks_start_with_the_most_costly_class():
    result = asked(ba.MostCostly(COST, m=2))
    assert result.table()["group"][0] == result.estimate.argmax()
    assert result.rank.argmin() == result.probability_worst.argmax()
    worst = result.draws.argmax(1)
    expected = np.bincount(worst, minlength=4) / len(worst)
    np.testing.assert_allclose(result.probability_worst, expected, atol=1e-12)  # real costs do not tie


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (np.ones((4, 3)), r"square, .*found shape \(4, 3\)"),
        (np.ones(4), r"found shape \(4,\)"),
        (np.where(np.eye(4) > 0, np.nan, 1.0), r"predicted class 0 \(row\) and label 0 \(column\) is nan"),
        ([[0, np.inf], [1, 0]], r"class 0 \(row\) and label 1 \(column\) is inf"),
        ([["a", "b"], ["c", "d"]], "holds numbers"),
    ],
)
@pytest.mark.parametrize("question", [ba.ConfusionMatrix, ba.MostCostly])
def test_a_cost_matrix_that_makes_no_sense_is_refused_when_the_question_is_made(question, cost, message):
    with pytest.raises(ba.QuestionError, match=message):
        question(cost)


@pytest.mark.parametrize("question", [ba.ConfusionMatrix, ba.MostCostly])
def test_a_cost_matrix_of_other_classes_is_refused(question):
    with pytest.raises(ba.QuestionError, match="that of 3 classes, but the pool has 4"):
        ba.assess(POOL, question(1 - np.eye(3)))


@pytest.mark.parametrize("question", [ba.ConfusionMatrix(), ba.MostCostly(np.eye(2))])
def test_a_matrix_that_does_not_fit_in_memory_is_refused(question):
    pool = ba.Pool(predictions=np.arange(10_000) + 7)
    with pytest.raises(ba.QuestionError, match=r"10,000 classes has 100,000,000 entries.* Merge rare .*GroupAccuracy"):
        ba.assess(pool, question)
    with pytest.raises(ba.QuestionError, match="Merge rare classes"):
        ba.simulate(pool, pool.classes, question, budgets=[10], repeats=1)


def test_costs_that_were_not_given_are_not_made_up():
    with pytest.raises(ba.QuestionError, match="has no costs"):
        ba.assess(POOL, ba.ConfusionMatrix()).result().cost  # noqa: B018
    with pytest.raises(ba.QuestionError, match="m >= 1"):
        ba.MostCostly(COST, m=0)
    for large in (np.inf, 1e300):
        with pytest.raises(ba.QuestionError, match=r"of 1e\+60 at most in size; that of predicted class 1 .* label 0 "):
            ba.MostCostly([[0, 1], [large, 0]])
    with pytest.raises(ba.QuestionError, match="holds numbers"):
        ba.ConfusionMatrix([[0, 10**400], [1, 0]])


@pytest.mark.slow
def test_a_thousand_classes_are_answered():
    n_classes = 1000
    pool = ba.Pool(predictions=np.arange(3000) % n_classes)
    a = ba.assess(pool, ba.ConfusionMatrix(1 - np.eye(n_classes)))
    queries = a.ask(4)
    a.tell(queries.ids, (queries.ids + 1) % n_classes)
    result = a.result()
    assert result.cost.draws.shape == (1_000, n_classes)  # 1,000,000 numbers
    assert result.estimate.shape == (n_classes, n_classes)
    assert result.to_arviz()["posterior"]["theta"].shape == (4, 5, n_classes, n_classes)
    assert "Most frequent errors" in result.summary()


def test_the_overall_accuracy_is_of_the_pool_whatever_the_posterior_is_made_of():
    """Draws of a population say of a pool that is labelled what is known."""
    rng = np.random.default_rng(0)
    pool = ba.Pool(predictions=np.repeat(["cat", "dog"], 30))
    labels = np.where(np.arange(60) % 4, pool.classes[pool.predictions], "cat")
    theta = np.stack([rng.dirichlet(alpha, 400) for alpha in ([8, 2], [2, 8])], axis=1)
    a = ba.assess(pool, ba.ConfusionMatrix())
    a.tell(pool.ids[10:50], labels[10:50])
    agreements = a.result(posterior=theta).section.agreements
    assert np.isin((agreements * 30).round(9), np.arange(31)).all()  # of 30 items
    a.tell(pool.ids[[*range(10), *range(50, 60)]], labels[[*range(10), *range(50, 60)]])
    right = (pool.classes[pool.predictions] == labels).mean()
    said = f"overall accuracy {right:.3f} (exact)."
    assert said in a.result(posterior=theta).summary()
    of_all = ba.assess(pool, ba.ConfusionMatrix(target="population")).result(posterior=theta)
    np.testing.assert_array_equal(of_all.section.agreements, of_all.draws[:, [0, 1], [0, 1]])


@pytest.mark.parametrize("prior", ["learned", "uninformative"])
def test_draws_of_many_classes_are_those_of_numpys_generator(prior, monkeypatch):
    """Those of JAX's take five times as long: 19 seconds of 50 classes, for ArviZ."""
    predicted = np.arange(90) % 9
    a = ba.assess(ba.Pool(predictions=predicted), ba.ConfusionMatrix(), prior=prior, seed=0)
    a.tell(np.arange(40), (predicted[:40] + (np.arange(40) % 3 == 0)) % 9)

    def refuse(*arguments, **options):
        raise AssertionError("JAX's generator draws")

    monkeypatch.setattr(type(a.prior), "sample", refuse)
    result = a.result()
    data = result.to_arviz()
    for name, belief in (("posterior", result.posterior), ("prior", a.prior)):
        draws = np.asarray(data[name]["theta"]).reshape(-1, 9, 9)
        error = np.sqrt(np.asarray(belief.variance) / len(draws))
        assert (np.abs(draws.mean(0) - np.asarray(belief.mean)) <= 5 * error + 1e-12).all()
    np.testing.assert_array_equal(result.draws, a.result().draws)  # of the same seed
