"""Average precisions of lists of which the positives in parts are known, and not their order."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

import bayes_assess as ba
from bayes_assess.results._average_precision import average_precisions

N_ORDERS = 4000


def of_order(y):
    """Average precision of a list, the first item first."""
    return metrics.average_precision_score(y, -np.arange(len(y))) if y.any() else 0.0


def of_orders(y):
    """The same of every row, on NumPy: many calls of scikit-learn take seconds."""
    precision = np.cumsum(y, axis=1) / np.arange(1, y.shape[1] + 1)
    return (precision * y).sum(1) / np.maximum(y.sum(1), 1)


@pytest.mark.parametrize("n_first", [0, 20, 60])
def test_where_every_rank_is_known_it_is_that_of_the_list(n_first):
    y = np.random.default_rng(0).random((5, 60)) < [[0.0], [0.05], [0.3], [0.9], [1.0]]
    unknown = np.full(n_first, -1)
    found = average_precisions(np.random.default_rng(1), np.arange(1, 61), y.astype(float), unknown)
    np.testing.assert_allclose(found, [of_order(one) for one in y], rtol=1e-12, atol=1e-15)


def test_labels_stay_where_they_are():
    y = np.random.default_rng(3).random(40) < 0.3
    found = average_precisions(np.random.default_rng(1), np.array([40]), np.array([[float(y.sum())]]), y.astype(int))
    np.testing.assert_allclose(found, of_order(y), rtol=1e-12)


@pytest.mark.parametrize("n_first", [0, 30])
def test_between_thresholds_it_is_that_of_random_orders(n_first):
    rng, ends, positives = np.random.default_rng(2), np.array([7, 30, 100]), np.array([3.0, 1.0, 9.0])
    first = np.full(n_first, -1)
    if n_first:
        first[[1, 4, 12]] = (0, 1, 1)  # the one of the second part is known, and one of the first

    def order(part, size, number):
        labels = first[part] if n_first and part.stop <= n_first else np.full(size, -1)
        y, open_ = labels == 1, np.flatnonzero(labels < 0)
        y[rng.permutation(open_)[: int(number) - y.sum()]] = True
        return y

    parts = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    orders = [
        np.concatenate([order(part, part.stop - part.start, n) for part, n in zip(parts, positives, strict=True)])
        for _ in range(N_ORDERS)
    ]
    truth = of_orders(np.array(orders))
    np.testing.assert_allclose(truth[:20], [of_order(y) for y in orders[:20]], rtol=1e-12)
    found = average_precisions(rng, ends, np.tile(positives, (N_ORDERS, 1)), first)
    error = np.std(truth) / np.sqrt(N_ORDERS)
    assert abs(found.mean() - truth.mean()) < 4 * error * np.sqrt(2)
    if not n_first:
        np.testing.assert_allclose(found, found[0], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "fewest"), [(5, 3), (20, 15)])
def test_of_a_list_whose_positives_lead_the_interval_holds_the_truth(n, fewest):
    """Few positives, all of them among the first ranks, where one place more or less makes a difference."""
    held = 0
    for seed in range(n):
        rng = np.random.default_rng(seed)
        y = (rng.random(300) < 0.5 * np.exp(-15 * np.arange(300) / 300)).astype(int)  # best first
        y[rng.integers(10)] = 1
        pool = ba.Pool(scores=1 - (np.arange(300) + 0.5) / 300)
        a = ba.assess(pool, ba.PrecisionCurve(), design="variance_reduction", seed=seed)
        a.tell(pool.ids[:100], y[:100])
        result = a.result()
        _, lower, upper = result.average_precision
        held += lower - 1e-9 <= of_order(y) <= upper + 1e-9
        found = result.at(np.arange(1, 75))  # down to rank 75 everything is labelled
        truth = np.cumsum(y)[:74] / np.arange(1, 75)
        np.testing.assert_allclose(found, [truth, truth, truth], atol=1e-6)
    # With a coverage of .95 fewer than 3 of 5 have a probability of 1.2e-3, and fewer than 15 of 20 one of 4e-4.
    assert held >= fewest
