"""Estimates from known inclusion probabilities: unbiased by enumeration, exact at full labels."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bayes_assess.errors import DesignError, LabelError
from bayes_assess.estimators.horvitz_thompson import (
    Rounds,
    beta_interval,
    fixed_size_variance,
    hajek,
    horvitz_thompson,
    poisson_variance,
    ratio_bias,
    ratio_variance,
    round_weights,
)

LOSSES = np.array([[1.0, 2.0], [0.0, 1.0], [-1.0, 0.5], [3.0, 0.0]])
INCLUSION = np.array([0.9, 0.5, 0.2, 1.0])


def poisson_samples(inclusion):
    """All samples, as masks, with their probabilities."""
    for drawn in product([False, True], repeat=len(inclusion)):
        mask = np.array(drawn)
        probability = np.prod(np.where(mask, inclusion, 1 - inclusion))
        if probability:
            yield mask, probability


def test_totals_and_their_variances_are_unbiased_under_poisson_sampling():
    total, second, variance = np.zeros(2), np.zeros(2), np.zeros(2)
    for mask, probability in poisson_samples(INCLUSION):
        estimate = horvitz_thompson(LOSSES[mask], INCLUSION[mask])
        total += probability * estimate
        second += probability * estimate**2
        variance += probability * poisson_variance(LOSSES[mask], INCLUSION[mask])
    np.testing.assert_allclose(total, LOSSES.sum(0), rtol=1e-12)
    np.testing.assert_allclose(variance, second - total**2, rtol=1e-12)


def test_the_variance_of_a_fixed_size_is_that_of_simple_random_sampling():
    values, n_items = np.array([1.0, 4.0, 2.0, 2.5]), 10
    n = len(values)
    expected = n_items**2 * (1 - n / n_items) * values.var(ddof=1) / n
    found = fixed_size_variance(values, np.full(n, n / n_items))
    assert found == pytest.approx(expected, rel=1e-12)
    certain = fixed_size_variance(np.append(values, 99.0), np.append(np.full(n, n / n_items), 1.0))
    assert certain == pytest.approx(expected, rel=1e-12)
    assert fixed_size_variance(np.array([1.0, 2.0]), np.array([1.0, 0.5])) == np.inf


def test_influences_of_several_measures_are_taken_side_by_side():
    b = np.array([0.2, 0.5, 0.7, 1.0])
    for variance in (poisson_variance, fixed_size_variance):
        both = variance(LOSSES, b)
        np.testing.assert_allclose(both, [variance(LOSSES[:, i], b) for i in range(2)], rtol=1e-12)


def test_the_variance_of_a_ratio_is_that_of_its_influence():
    rng = np.random.default_rng(0)
    f, g, b = rng.integers(0, 2, 50).astype(float), rng.random(50) + 0.5, rng.uniform(0.1, 1, 50)
    top, bottom = (f / b).sum(), (g / b).sum()
    influence = (f - top / bottom * g) / bottom
    # 1e-10 / b is added to the squares: at most 50 * 1e-10 / 0.1 / bottom^2.
    slack = 50 * 1e-9 / bottom**2
    assert 0 < ratio_variance(f, g, b) - poisson_variance(influence, b) < slack
    assert ratio_variance(f, g, np.ones(50)) == 0
    assert ratio_variance(f, 0 * g, b) == np.inf


def test_linearised_variances_agree_with_simulated_ones():
    rng = np.random.default_rng(1)
    n_items, repeats = 3000, 1500
    f = (rng.random(n_items) < 0.3).astype(float)
    g = f + (rng.random(n_items) < 0.3)
    b = rng.uniform(0.1, 0.6, n_items)
    drawn = rng.random((repeats, n_items)) < b
    weights = drawn / b
    ratios = (weights @ f) / (weights @ g)
    stated = np.mean([ratio_variance(f[d], g[d], b[d]) for d in drawn[:200]])
    # The variance of a variance of normal numbers is 2 / (n - 1); linearisation is off by about 1 / 900 labels.
    assert abs(ratios.var(ddof=1) / stated - 1) < 4.5 * np.sqrt(2 / (repeats - 1)) + 0.01


def test_weighted_means_stay_in_range_and_are_exact_at_full_labels():
    losses = np.array([[1.0], [1.0], [1.0]])
    assert hajek(losses, np.array([1.0, 0.5, 0.1]), 30) == pytest.approx(1)  # the total over M would be 13 / 30
    np.testing.assert_allclose(hajek(LOSSES, np.ones(4), 4), LOSSES.mean(0))
    np.testing.assert_allclose(hajek(LOSSES, np.full(4, 0.3), 40), LOSSES.mean(0))
    with pytest.raises(LabelError, match="without labels"):
        hajek(np.zeros((0, 1)), np.zeros(0), 3)


@pytest.mark.parametrize("bad", [0.0, -0.1, 1.1, np.nan])
def test_impossible_inclusion_probabilities_are_refused(bad):
    b = np.array([0.5, bad])
    for call in (horvitz_thompson, poisson_variance, fixed_size_variance, Rounds.zeros(1).add):
        with pytest.raises(DesignError, match="inclusion probabilities"):
            call(np.ones((2, 1)), b)


@given(st.floats(0.1, 0.9), st.floats(1e-6, 0.5))
def test_beta_intervals_have_the_mean_and_the_variance(value, share):
    variance = share * value * (1 - value)
    low, high = beta_interval(value, variance, 0.9)
    total = 1 / share - 1
    law = stats.beta(value * total, (1 - value) * total)
    assert law.var() == pytest.approx(variance, rel=1e-6)
    assert 0 <= low <= value <= high <= 1
    # Ends are rounded, and beside 0 and 1 the density can be infinite.
    assert law.cdf(np.nextafter(low, -1)) <= 0.05 + 1e-6
    assert law.sf(np.nextafter(high, 2)) <= 0.05 + 1e-6


def test_beta_intervals_at_the_ends_have_a_width_unless_exact():
    assert beta_interval(1.0, 0.0).tolist() == [1, 1]
    assert beta_interval(0.3, 0.0).tolist() == [0.3, 0.3]
    low, high = beta_interval(1.0, 1e-4, 0.9)
    assert high == 1
    a = np.log(0.1) / np.log(low)  # P(x < low) of Beta(a, 1)
    assert 2 / ((a + 1) * (a + 2)) == pytest.approx(1e-4, rel=1e-9)
    np.testing.assert_allclose(beta_interval(0.0, 1e-4, 0.9), [0, 1 - low])
    for value, variance in [(0.2, 0.17), (0.2, 9.0), (0.2, np.inf), (1.0, 2.0), (0.0, np.inf)]:
        assert beta_interval(value, variance).tolist() == [0, 1]


# Rounds: every sequence of samples of a tiny pool, with its probability.

Y = np.array([1.0, 0.0, 2.0, 5.0])


def second_inclusion(known):
    """Follow the labels: much where the known ones are high."""
    base = 0.2 + 0.5 * (Y[known].sum() > 2)
    return np.where(known, 0.0, base + 0.05 * np.arange(4))


def expectation(weights):
    """Exact mean and variance of the total from two rounds, and the mean of the stated variance."""
    first = np.array([0.3, 0.6, 0.5, 0.4])
    moments = np.zeros(3)
    for one, p_one in poisson_samples(first):
        b = second_inclusion(one)
        w = weights(Y[one].sum())
        for two, p_two in poisson_samples(b):
            rounds = Rounds.zeros(1).add(Y[one][:, None], first[one], w[0]).add(Y[two][:, None], b[two], w[1])
            total = rounds.total[0]
            moments += p_one * p_two * np.array([total, total**2, rounds.covariance[0, 0]])
    return moments[0], moments[1] - moments[0] ** 2, moments[2]


@pytest.mark.parametrize("weights", [(1, 1), (1, 3), (0.0, 1.0)])
def test_rounds_are_unbiased_though_later_ones_follow_the_labels(weights):
    mean, variance, stated = expectation(lambda _: weights)
    assert mean == pytest.approx(Y.sum(), rel=1e-12)
    assert stated == pytest.approx(variance, rel=1e-12)


def test_two_rounds_are_the_published_estimate():
    first, second = np.array([[1.0], [4.0]]), np.array([[2.0]])
    rounds = Rounds.zeros(1).add(first, np.array([0.5, 0.2])).add(second, np.array([0.25]))
    assert rounds.total[0] == pytest.approx((22 + (5 + 8)) / 2)  # [SEME] (122)
    assert rounds.known[0] == 7
    assert rounds.n_known == 3


def test_weights_that_follow_the_labels_need_a_fixed_sum():
    def fixed_sum(seen):  # the first is what it is, the second what is left of 1, so both are known before round two
        return 0.3, 0.7

    def free(seen):
        return 1.0, 4.0 if seen > 2 else 0.5

    assert expectation(fixed_sum)[0] == pytest.approx(Y.sum(), rel=1e-12)
    assert abs(expectation(free)[0] - Y.sum()) > 0.1  # the fault that the docstring warns of


def test_predictable_shares_of_three_rounds_are_unbiased():
    """The share of round two follows the labels of round one; round three gets what is left of 1."""
    first, mean = np.array([0.3, 0.6, 0.5, 0.4]), 0.0
    for one, p_one in poisson_samples(first):
        b = second_inclusion(one)
        share = 0.6 if Y[one].sum() > 2 else 0.1
        for two, p_two in poisson_samples(b):
            known = one | two
            c = second_inclusion(known)
            for three, p_three in poisson_samples(c):
                rounds = Rounds.zeros(1).add(Y[one][:, None], first[one], 0.25)
                rounds = rounds.add(Y[two][:, None], b[two], share).add(Y[three][:, None], c[three], 0.75 - share)
                mean += p_one * p_two * p_three * rounds.total[0]
    assert mean == pytest.approx(Y.sum(), rel=1e-12)


def test_items_told_between_rounds_count_as_known():
    rounds = Rounds.zeros(1).tell(np.array([[2.0]])).add(np.array([[1.0]]), np.array([0.5]))
    assert rounds.total[0] == 4
    assert rounds.covariance[0, 0] == pytest.approx(2)
    with pytest.raises(LabelError, match="No round"):
        _ = Rounds.zeros(1).total
    with pytest.raises(DesignError, match="weight"):
        rounds.add(np.ones((1, 1)), np.ones(1), -1.0)


def test_rounds_that_label_everything_are_exact():
    b = 0.5
    weights = round_weights(4, np.array([2, 2]))
    for one in combinations(range(4), 2):
        two = [i for i in range(4) if i not in one]
        rounds = Rounds.zeros(1).add(Y[list(one), None], np.full(2, b), weights[0])
        rounds = rounds.add(Y[two, None], np.ones(2), weights[1])
        assert rounds.total[0] == Y.sum() == rounds.known[0]
        assert rounds.covariance[0, 0] == 0


def test_weights_by_precision_have_less_variance_than_equal_ones():
    """Simple random samples of 1, 1 and 3 of 8: all orders of the pool are the rounds."""
    values, labels = np.array([1.0, 1, 0, 1, 0, 0, 1, 0]), np.array([1, 1, 3])
    weights = round_weights(8, labels)
    np.testing.assert_allclose(weights, (lambda w: w / w.sum())(labels / (np.array([8, 7, 6]) * np.array([7, 6, 3]))))
    rng, totals = np.random.default_rng(2), []
    for _ in range(4000):
        order, rounds, start = rng.permutation(values), [Rounds.zeros(1), Rounds.zeros(1)], 0
        for i, n in enumerate(labels):
            part, b = order[start : start + n, None], np.full(n, n / (8 - start))
            rounds = [r.add(part, b, w) for r, w in zip(rounds, (weights[i], 1.0), strict=True)]
            start += n
        totals.append([r.total[0] for r in rounds])
    totals = np.array(totals)
    error = totals.std(0) / np.sqrt(len(totals))
    assert (np.abs(totals.mean(0) - values.sum()) < 4.5 * error).all()
    # Exact variances: sum w_r^2 U (U - n) / n S^2 with S^2 of what is left, whose mean is that of the pool.
    left = 8 - np.concatenate([[0], np.cumsum(labels)[:-1]])
    each = left * (left - labels) / labels * values.var(ddof=1)
    expected = np.array([(weights**2 * each).sum(), (each / 9).sum()])
    assert expected[0] < expected[1]
    # Kurtosis of these totals is below 6, so the relative error of a variance is below sqrt(6 / 4000).
    np.testing.assert_allclose(totals.var(0), expected, rtol=4.5 * np.sqrt(6 / 4000))


def test_bad_plans_of_rounds_are_refused():
    for labels in ([0, 0], [5, 6], [-1, 3]):
        with pytest.raises(DesignError, match="Rounds"):
            round_weights(10, np.array(labels))


def test_the_ratio_of_independent_draws_is_off_by_its_first_order_bias():
    """F1 of Poisson samples of 60 labels is too great: missed positives are seldom drawn, and then weigh much."""
    rng = np.random.default_rng(0)
    predicted = rng.random(1_000) < 0.05
    label = np.where(predicted, rng.random(1_000) < 0.7, rng.random(1_000) < 0.02)
    losses = np.stack([predicted * label, (predicted + label.astype(float)) / 2], axis=1)
    b = np.where(predicted, 0.8, 0.12)
    truth = losses.sum(0)
    covariance = (losses * ((1 - b) / b)[:, None]).T @ losses
    first_order = ratio_bias(truth, covariance)
    ratios, estimated = [], []
    for _ in range(4_000):
        drawn = rng.random(1_000) < b
        rounds = Rounds.zeros(2).add(losses[drawn], b[drawn])
        ratios.append(rounds.total[0] / rounds.total[1])
        estimated.append(ratio_bias(rounds.total, rounds.covariance))
    bias, error = np.mean(ratios) - truth[0] / truth[1], np.std(ratios) / np.sqrt(4_000)
    assert bias > 5 * error
    # The next order is that of the bias times the squared coefficient of variation of the denominator.
    assert abs(bias - first_order) < 4 * error + 3 * first_order * covariance[1, 1] / truth[1] ** 2
    assert abs(np.mean(estimated) - first_order) < 0.3 * first_order
    left = np.mean(np.subtract(ratios, estimated)) - truth[0] / truth[1]
    assert abs(left) < 0.3 * bias
