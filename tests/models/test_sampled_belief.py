from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.acquisition import SampledBelief
from questions.asked import COST, LABELS, POOL

A, B = np.array([3.0, 8.0, 1.0]), np.array([2.0, 4.0, 1.0])
N = 100_000


@pytest.fixture(scope="module")
def belief():
    rng = np.random.default_rng(0)
    return SampledBelief(rng.beta(A, B, (N, 3)), np.zeros(N))


def effective(weights: np.ndarray) -> float:
    return float(1 / (weights**2).sum())


def test_weighted_draws_have_the_moments_of_the_updated_distribution(belief):
    counts = np.array([[1, 2], [0, 3], [4, 0]])
    updated = belief.update_counts(counts)
    exact = stats.beta(A + counts[:, 1], B + counts[:, 0])
    error = exact.std() / np.sqrt(effective(updated.importance))
    assert (np.abs(updated.mean - exact.mean()) < 5 * error).all()
    assert (np.abs(updated.variance / exact.var() - 1) < 5 * np.sqrt(6 / effective(updated.importance))).all()


def test_labels_at_the_mean_leave_the_mean_and_narrow_the_distribution(belief):
    imagined = belief.update_at_mean(np.array([20, 0, 0]))
    mean, variance = A / (A + B), A * B / (A + B) ** 2 / (A + B + 1)
    n = effective(imagined.importance)
    assert abs(imagined.mean[0] - mean[0]) < 5 * np.sqrt(variance[0] / n)
    assert imagined.variance[0] < 0.4 * variance[0]
    np.testing.assert_allclose(imagined.variance[1:], variance[1:], rtol=5 * np.sqrt(6 / n))


def test_draws_are_drawn_by_their_weights(belief):
    updated = belief.update_counts(np.array([[0, 6], [0, 0], [0, 0]]))
    drawn = updated.sample(jax.random.key(1), 20_000)
    distribution = stats.beta(A[0] + 6, B[0])
    error = distribution.std() * np.sqrt(1 / 20_000 + 1 / effective(updated.importance))
    assert abs(drawn[:, 0].mean() - distribution.mean()) < 5 * error


def test_draws_without_weights_count_alike(belief):
    plain = SampledBelief(belief.draws)
    np.testing.assert_array_equal(plain.log_weight, np.zeros(N))
    counts = np.array([[1, 2], [0, 3], [4, 0]])
    np.testing.assert_array_equal(plain.update_counts(counts).mean, belief.update_counts(counts).mean)


def test_a_label_that_no_draw_allows_leaves_usable_weights():
    belief = SampledBelief(np.array([[0.0, 0.5], [0.0, 0.7]]), np.zeros(2)).update_counts(np.array([[0, 1], [0, 0]]))
    np.testing.assert_allclose(belief.importance, 0.5)
    assert np.isfinite(belief.mean).all()


def test_class_outcomes_weight_by_their_probabilities():
    draws = np.array([[[0.5, 0.25, 0.25]], [[0.1, 0.1, 0.8]]])
    belief = SampledBelief(draws, np.zeros(2)).update_counts(np.array([[0, 0, 2]]))
    weights = np.array([0.25**2, 0.8**2])
    np.testing.assert_allclose(belief.importance, weights / weights.sum(), rtol=1e-12)


class TestAskOnDraws:
    """A session decides on the draws of another model."""

    def test_the_draws_decide(self):
        draws = np.full((50, 4), 0.9)
        draws[:, 3] = 0.2
        a = ba.assess(POOL, ba.LeastAccurate())
        assert (a.ask(10, posterior=draws).cells == 3).all()

    def test_the_sessions_own_belief_comes_back(self):
        a, b = (ba.assess(POOL, ba.GroupAccuracy(), seed=1) for _ in range(2))
        ids = a.ask(10, posterior=np.random.default_rng(0).random((40, 4))).ids
        a.tell(ids, LABELS[ids])
        b.tell(ids, LABELS[ids])
        np.testing.assert_allclose(a.result().estimate, b.result().estimate, rtol=1e-12)
        assert a.n_pending == 0
        assert len(set(ids.tolist()) & set(a.ask(60).ids.tolist())) == 0

    def test_a_round_that_the_draws_began_is_served_to_its_end(self):
        draws = np.tile([0.9, 0.8, 0.3, 0.2], (50, 1))
        for seed in range(6):
            a = ba.assess(POOL, ba.LeastAccurate(m=2), seed=seed)
            assert [a.ask(1, posterior=draws).cells.tolist(), a.ask(1).cells.tolist()] == [[3], [2]]

    def test_an_arviz_object_serves_as_it_is(self):
        data = ba.assess(POOL, ba.GroupAccuracy(by="site")).result().to_arviz()
        assert len(ba.assess(POOL, ba.GroupAccuracy(by="site")).ask(3, posterior=data)) == 3

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "question",
        [ba.ConfusionMatrix(), ba.MostCostly(COST), ba.LeastCalibrated(bins=3), ba.Compare("west", "east", by="site")],
        ids=lambda question: question.name,
    )
    def test_every_question_takes_draws(self, question):
        a = ba.assess(POOL, question)
        shape = {"ConfusionMatrix": (4, 4), "MostCostly": (4, 4), "LeastCalibrated": (4, 3), "Compare": (3,)}
        draws = np.random.default_rng(0).dirichlet(np.ones(4), (30, *shape[question.name][:-1]))
        draws = draws if question.name in ("ConfusionMatrix", "MostCostly") else draws[..., : shape[question.name][-1]]
        assert len(a.ask(4, posterior=draws)) == 4

    def test_costs_of_drawn_confusion_matrices_decide(self):
        draws = np.tile(np.eye(4), (20, 1, 1))
        draws[:, 3] = [1, 0, 0, 0]  # predicted 3 is always 0, which costs 9
        assert (ba.assess(POOL, ba.MostCostly(COST)).ask(5, posterior=draws).cells == 3).all()

    @pytest.mark.parametrize(
        ("draws", "message"),
        [
            (
                np.zeros((10, 5)),
                r"shape \(10, 5\); the session needs \(draws, 4\), in the order of its groups' names\.$",
            ),
            (np.zeros((2, 10, 4)), r"shape \(2, 10, 4\).*Put chains in a row: draws\.reshape\(-1, 4\)\."),
            (np.zeros((0, 4)), r"shape \(0, 4\)"),
            (np.full((10, 4), np.nan), "probabilities, from 0 to 1"),
            (np.full((10, 4), 1.2), "probabilities, from 0 to 1"),
            ("theta", "ArviZ object with a posterior, .*; found str"),
        ],
    )
    def test_draws_that_do_not_fit_are_refused_and_nothing_is_asked(self, draws, message):
        a = ba.assess(POOL, ba.GroupAccuracy())
        with pytest.raises(ba.InferenceError, match=message):
            a.ask(3, posterior=draws)
        assert a.n_pending == 0

    def test_bayesian_upper_bounds_are_quantiles_of_the_draws(self):
        draws = np.full((40, 4), 0.6)
        draws[:2, 1] = 0.9  # one draw in twenty: the 0.975 quantile
        assert (ba.assess(POOL, ba.MostAccurate(), design="bayes_ucb").ask(5, posterior=draws).cells == 1).all()
