"""Intervals of ratios from Poisson samples: do they hold the truth as often as they say, with few events?"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from bayes_assess.acquisition.poisson import blended, inclusion_of_deviations
from bayes_assess.errors import DesignError
from bayes_assess.estimators.horvitz_thompson import moment_interval
from bayes_assess.estimators.ratio_interval import DrawnItems, UnseenItems, _missed, ratio_interval
from published import ratio_variance

N_SAMPLES = 120
# Fewer of 120 intervals of level 0.95 hold the truth with a probability of one in a hundred thousand.
FEWEST = stats.binom.ppf(1e-5, N_SAMPLES, 0.95)


def losses(metric, predicted, y):
    """Return f and g of items."""
    right = (predicted == y).astype(float)
    positive, y = predicted.astype(float), y.astype(float)
    return {
        "accuracy": (right, np.ones(len(y))),
        "f1": (positive * y, (positive + y) / 2),
        "recall": (positive * y, y),
    }[metric]


def labels(kind, rng, n_items=2000):
    """Scores, predictions and labels of a pool, and what single items weigh."""
    x, weight = rng.normal(size=n_items), np.ones(n_items)
    p = 1 / (1 + np.exp({"rare": 6.2, "right": 3.0}.get(kind, 1.0) - 2 * x))
    scores = rng.permutation(p) if kind == "shuffled" else p
    predicted = scores >= min(0.5, np.quantile(scores, 0.99))
    y = predicted if kind == "right" else rng.random(n_items) < p
    if kind == "heavy":
        weight[0] = 300
    return scores, predicted, y, weight


def campaign(metric, kind, rng, n_labels=100):
    """Draw a Poisson sample of a new pool: the truth, and the arguments of the interval."""
    scores, predicted, y, weight = labels(kind, rng)
    pi = blended(np.stack([1 - scores, scores], axis=1))
    both = weight * np.array([losses(metric, predicted, np.full(len(y), label)) for label in (False, True)])
    mean = sum(pi[:, i] @ both[i][0] for i in (0, 1)) / sum(pi[:, i] @ both[i][1] for i in (0, 1))
    h = np.sqrt(sum(pi[:, i] * (both[i][0] - mean * both[i][1]) ** 2 for i in (0, 1)) / weight**2)  # weights unforeseen
    b = np.minimum(0.9 * inclusion_of_deviations(h, n_labels) + 0.1 * n_labels / len(y), 1)
    f, g = (weight * part for part in losses(metric, predicted, y))
    drawn = rng.random(len(y)) < b
    rows = []
    for group in (predicted & (weight == 1), ~predicted & (weight == 1), weight > 1):
        left = group & ~drawn
        one = np.flatnonzero(left)[:1]
        rows += [(*both[i][:, one].ravel(), b[left].min(), left.sum()) for i in (0, 1) if len(one)]
    unseen = UnseenItems(*np.array(rows).T)
    return f.sum() / g.sum(), (f[drawn], g[drawn], b[drawn], unseen)


CASES = [
    ("recall", "rare"),
    ("f1", "right"),
    pytest.param("f1", "shuffled", marks=pytest.mark.slow),
    ("accuracy", "heavy"),
    pytest.param("accuracy", "rare", marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "kind"), CASES)
def test_intervals_hold_the_truth_as_often_as_they_say(metric, kind):
    rng, held, asymptotic = np.random.default_rng(0), 0, 0
    for _ in range(N_SAMPLES):
        truth, (f, g, b, unseen) = campaign(metric, kind, rng)
        low, high = ratio_interval(DrawnItems.of_items(f, g, b), unseen)
        assert 0 <= low < high <= 1
        held += low <= truth <= high
        bottom = (g / b).sum()
        if bottom > 0:
            ends = moment_interval(float((f / b).sum() / bottom), ratio_variance(f, g, b))
            asymptotic += ends[0] <= truth <= ends[1]
    assert held >= FEWEST
    if (metric, kind) in (("recall", "rare"), ("accuracy", "rare")):  # the harness sees intervals that bluff
        assert asymptotic < FEWEST


@pytest.mark.parametrize("x", [0, 1, 7, 50, 99, 100])
def test_uniform_draws_of_a_share_have_clopper_pearson_intervals(x):
    n, share = 100, 1e-6
    right = np.arange(n) < x
    unseen = UnseenItems(np.array([0.0, 1.0]), np.ones(2), np.full(2, share), np.full(2, n / share))
    ends = ratio_interval(DrawnItems.of_items(right, np.ones(n), np.full(n, share)), unseen)
    exact = stats.binomtest(x, n).proportion_ci(method="exact")
    # The quadrature of 64 nodes, and the cut of sums at the size of the pool, where all of it is of one kind.
    np.testing.assert_allclose(ends, [exact.low, exact.high], atol=5e-4)


def test_many_events_have_the_asymptotic_width():
    rng = np.random.default_rng(1)
    _, (f, g, b, unseen) = campaign("f1", "even", rng, n_labels=1500)
    low, high = ratio_interval(DrawnItems.of_items(f, g, b), unseen)
    value, variance = (f / b).sum() / (g / b).sum(), ratio_variance(f, g, b)
    assert 1 < (high - low) / (2 * stats.norm.ppf(0.975) * np.sqrt(variance)) < 1.1
    assert low < value < high


def test_an_item_that_was_seen_or_cannot_matter_leaves_nothing_open():
    f, g = np.array([1.0, 0.0, 1.0]), np.ones(3)
    nothing = UnseenItems(*np.zeros((4, 0)))
    assert ratio_interval(DrawnItems.of_items(f, g, np.array([0.2, 0.5, 1.0])), nothing).tolist() == [2 / 3, 2 / 3]
    irrelevant = UnseenItems(np.zeros(1), np.zeros(1), np.zeros(1), np.full(1, 9))  # an inclusion of 0 is no fault here
    assert ratio_interval(DrawnItems.of_items(f, g, np.array([0.2, 0.5, 1.0])), irrelevant).tolist() == [2 / 3, 2 / 3]


@pytest.mark.parametrize("chance", [1.0, 0.3, 0.02])
def test_ends_stay_within_what_the_pool_can_come_to(chance):
    """Three of four items are known, two of them right: the ratio is 1/2 or 3/4, however they were drawn."""
    unseen = UnseenItems(np.array([0.0, 1.0]), np.ones(2), np.full(2, 0.01), np.ones(2))
    low, high = ratio_interval(DrawnItems.of_items(np.array([1.0, 1.0, 0.0]), np.ones(3), np.full(3, chance)), unseen)
    np.testing.assert_allclose([low, high], [0.5, 0.75], atol=1e-3)  # probabilities of 0.025 are met up to rounding
    assert low >= 0.5 - 1e-9
    assert high <= 0.75 + 1e-9


def test_nothing_drawn_that_matters_leaves_all_bounds():
    unseen = UnseenItems(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.full(2, 0.1), np.full(2, 5))
    assert ratio_interval(DrawnItems.of_items(np.zeros(3), np.zeros(3), np.full(3, 0.5)), unseen).tolist() == [0, 1]


def test_hidden_items_of_great_weight_widen_the_interval_by_their_number():
    right, b = np.ones(100), np.full(100, 0.1)
    width = []
    for n_heavy in (0, 1, 5, 1000):
        f, g = np.array([0.0, 1, 0]), np.array([1.0, 1, 50])
        unseen = UnseenItems(f, g, np.full(3, 0.1), np.array([900, 900, n_heavy]))
        low, high = ratio_interval(DrawnItems.of_items(right, right, b), unseen)
        width.append(high - low)
    assert (np.diff(width) > 0).all()


def test_bad_arguments_are_refused():
    one, unseen = np.ones(1), UnseenItems(np.ones(1), np.ones(1), np.full(1, 0.5), np.ones(1))
    with pytest.raises(DesignError, match="drawn items"):
        DrawnItems.of_items(one, one, np.zeros(1))
    with pytest.raises(DesignError, match="unseen items"):
        ratio_interval(DrawnItems.of_items(one, one, one), unseen._replace(inclusion=np.zeros(1)))
    with pytest.raises(DesignError, match="at least 0"):
        ratio_interval(DrawnItems.of_items(one, -one, one), unseen)


@pytest.mark.parametrize("b", [0.05, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("n_wrong", [1, 3, 8])
def test_the_interval_of_few_events_covers_whatever_the_inclusion_probability(b, n_wrong):
    n_items, level = 2000, 0.95
    covered = 0.0
    for k in range(n_wrong + 1):  # wrong items drawn: Binomial(n_wrong, b); of the others about their mean
        n_right = round((n_items - n_wrong) * b)
        f = np.append(np.ones(n_right), np.zeros(k))
        rest = n_items - n_right - k
        unseen = UnseenItems(np.array([0.0, 1.0]), np.ones(2), np.full(2, b), np.full(2, rest))
        low, high = ratio_interval(DrawnItems.of_items(f, np.ones(len(f)), np.full(len(f), b)), unseen, level)
        holds = low - 1e-9 <= 1 - n_wrong / n_items <= high + 1e-9
        covered += holds * special.comb(n_wrong, k) * b**k * (1 - b) ** (n_wrong - k)
    assert covered >= 0.88  # at worst; more than 0.95 for most


def test_one_item_missed_stands_for_as_many_as_are_missed_for_each_that_is_drawn():
    """As many failures before a success of probability b are geometric: mean (1 - b) / b, variance (1 - b) / b^2."""
    b, z = 0.25, 2.0
    unseen = UnseenItems(f=np.array([z, 0.0]), g=np.ones(2), inclusion=np.full(2, b), size=np.full(2, 1000.0))
    hidden, one = _missed(unseen.f, unseen, 0.025)
    assert hidden == 0  # 1,000 items are not all missed by chance
    distribution = stats.nbinom(1, b)
    assert one.mean == pytest.approx(z * distribution.mean())
    assert one.variance == pytest.approx(z**2 * distribution.var())
    few = unseen._replace(size=np.full(2, 10.0))  # ten are, with a probability of .056
    assert _missed(few.f, few, 0.025) == (20.0, (0.0, 0.0))
