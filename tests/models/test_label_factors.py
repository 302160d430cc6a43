"""Factors of labels that the errors of all predicted classes share."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

import bayes_assess as ba
from bayes_assess.models.error_labels import ErrorLabels
from bayes_assess.models.label_factors import SHAPES, LabelFactors, program

C = 4
SHARE = np.array([[0, 0.5, 0.3, 0.2], [0.6, 0, 0.2, 0.2], [0.3, 0.3, 0, 0.4], [0.2, 0.2, 0.6, 0]])
COUNTS = np.array([[0, 6, 0, 3], [5, 0, 1, 2], [4, 2, 0, 6], [1, 3, 0, 0]])


def log_probability(theta_parameters: np.ndarray, counts: np.ndarray = COUNTS) -> np.ndarray:
    """Of the labels of all rows, Dirichlet-multinomial, up to the number of orders; parameters are (S, R, C)."""
    total, n = theta_parameters.sum(-1), counts.sum(-1)
    of_row = special.gammaln(total) - special.gammaln(total + n)
    known = counts > 0
    a = theta_parameters[:, known]
    return of_row.sum(-1) + (special.gammaln(a + counts[known]) - special.gammaln(a)).sum(-1)


@pytest.mark.parametrize("strength", [1.0, 16.0])
def test_factors_have_the_posterior_that_draws_of_the_prior_have_by_their_weights(strength):
    """By the definition: draws from the prior, each weighed by the probability of all labels."""
    rng, n = np.random.default_rng(1), 200_000
    shape = np.array(SHAPES)[rng.integers(len(SHAPES), size=n)]
    factor = np.ones((n, C))
    for a in SHAPES[1:]:
        factor[shape == a] = C * rng.dirichlet(np.full(C, a), (shape == a).sum())
    some = np.isfinite(shape)
    expected = SHARE * factor[:, None]
    weight = np.exp(log_probability(strength * expected / expected.sum(-1, keepdims=True)))
    weight /= weight.sum()
    drawn = LabelFactors(strength * SHARE[None], COUNTS).drawn(np.random.default_rng(0), np.zeros(20_000, int))
    np.testing.assert_allclose(drawn.factor.mean(1), 1.0)
    # Of draws that are drawn anew by their weights, as many count as there are different ones.
    for value, other in ((factor, drawn.factor), (np.minimum(factor, 0.5), np.minimum(drawn.factor, 0.5))):
        mean = weight @ value
        variance = weight @ (value - mean) ** 2
        error = np.sqrt(variance * ((weight**2).sum() + 1 / len(np.unique(drawn.factor[:, 0]))))
        assert (np.abs(other.mean(0) - mean) < 5 * error).all()
    same, alike = (drawn.factor == 1).all(1).mean(), weight[~some].sum()
    assert abs(same - alike) < 5 * np.sqrt(alike * (1 - alike) / len(np.unique(drawn.factor[:, 0])))


def test_without_labels_factors_are_those_of_the_prior():
    drawn = LabelFactors(4.0 * SHARE[None], 0 * COUNTS).drawn(np.random.default_rng(0), np.zeros(8000, int))
    none = (drawn.factor == 1).all(1)
    assert stats.binomtest(int(none.sum()), len(none), 1 / len(SHAPES)).pvalue > 1e-6
    of_first = [stats.beta(a, (C - 1) * a) for a in SHAPES[1:]]
    by_shape = stats.kstest(drawn.factor[~none, 0] / C, lambda share: np.mean([one.cdf(share) for one in of_first], 0))
    assert by_shape.pvalue > 1e-6


@pytest.mark.slow
def test_factors_are_calibrated_by_simulation():
    """Ranks of the factors that labels were drawn with, among draws given these labels, are uniform."""
    rng, ranks, n_draws = np.random.default_rng(2), [], 1000
    for _ in range(400):
        factor = C * rng.dirichlet(np.full(C, SHAPES[-1]))
        expected = SHARE * factor
        expected /= expected.sum(1, keepdims=True)
        theta = [np.append(0, rng.dirichlet(8.0 * row[row > 0])) for row in expected]
        counts = np.zeros((C, C), int)
        for row, share in enumerate(theta):
            others = np.delete(np.arange(C), row)
            counts[row, others] = rng.multinomial(rng.integers(12), share[1:])
        belief = LabelFactors(8.0 * SHARE[None], counts)
        drawn = belief.drawn(rng, np.zeros(n_draws, int), shapes=SHAPES[-1:])
        ranks.append((drawn.factor < factor).mean(0))
    for label in range(C):
        assert stats.kstest(np.array(ranks)[:, label], "uniform").pvalue > 1e-4


@pytest.mark.slow  # compiles and samples
def test_nuts_on_the_program_agrees():
    belief, shape = LabelFactors(8.0 * SHARE[None], COUNTS), 2.0
    data = ba.fit(program, **belief.program_arguments(shape=shape), chains=2, warmup=500, draws=2000, seed=1)
    by_nuts = ba.posterior_draws(data, "factor")
    drawn = belief.drawn(np.random.default_rng(0), np.zeros(40_000, int), shapes=(shape,)).factor
    error = by_nuts.std(0) / np.sqrt(500)  # at least so many of 4,000 draws count
    assert (np.abs(by_nuts.mean(0) - drawn.mean(0)) < 5 * error).all()
    assert (np.abs(by_nuts.std(0) / drawn.std(0) - 1) < 0.2).all()


def test_a_label_that_no_error_has_is_expected_to_be_rare_by_all_predicted_classes():
    """Scores say that one error in five is of the last class, and none of 60 is: there, or where none was looked at."""
    scores = np.full((6, 6), 0.1) + 0.3 * np.eye(6)
    scores[:, 5] += 0.2
    belief = ErrorLabels.from_scores(scores / scores.sum(1, keepdims=True))
    told = np.zeros((6, 6), np.float32)
    told[:4, :5] = 3 * (1 - np.eye(6))[:4, :5]
    for row, label in np.repeat(np.argwhere(told), 3, axis=0):
        belief = belief.observe(row, label, np.asarray(True))
    np.testing.assert_array_equal(belief.counts, told)
    wrong = np.tile([0, 0, 0, 0, 500, 0], (4000, 1))
    rng = np.random.default_rng(0)
    ((_, with_factors),) = belief.in_parts(rng, 4000, 4000)
    of_last, without = (one.completed(rng, wrong)[:, 4, 5] for one in (with_factors, belief))
    assert np.quantile(without, 0.05) > 5
    assert np.quantile(of_last, 0.05) <= 2
    assert of_last.mean() < 0.6 * without.mean()
