from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bayes_assess.acquisition.pool_rope import paired_pool_rope_masses, pool_rope_masses

ONE, OTHER = np.array([0]), np.array([1])


def two_groups(counts, size, a, b, rope):
    return pool_rope_masses(np.array(counts), np.array(size), np.array(a), np.array(b), ONE, OTHER, rope)[0]


def summed(counts, size, a, b, rope):
    """Go through all that the unlabelled items of both groups may show."""
    (x1, p1), (x2, p2) = (
        ((row[1] + k) / n, stats.betabinom.pmf(k, rest, a_, b_))
        for row, n, a_, b_ in zip(counts, size, a, b, strict=True)
        for rest in [n - sum(row)]
        for k in [np.arange(rest + 1)]
    )
    d, p = x1[:, None] - x2[None, :], p1[:, None] * p2[None, :]
    near = 1e-9
    return [p[d < -rope - near].sum(), p[np.abs(d) <= rope + near].sum(), p[d > rope + near].sum()]


@pytest.mark.parametrize("rope", [0.0, 0.05])
@pytest.mark.parametrize(
    ("counts", "size", "error"),
    [
        (((3, 5), (4, 2)), (20, 15), 1e-12),
        (((0, 0), (30, 1)), (7, 400), 1e-9),  # the posterior of the other is skewed
        (((3, 5), (4, 2)), (1000, 15), 1e-3),  # one count spreads over too many integers
        (((3, 5), (40, 20)), (900, 1500), 1e-3),
        (((0, 0), (4, 2)), (125, 15), 1e-3),  # an eighth of the probability that a uniform count has one value
    ],
)
@pytest.mark.parametrize("weak", [1.0, 0.05])
def test_masses_of_two_groups_are_the_sums_over_what_may_come(counts, size, error, rope, weak):
    a, b = (np.array([row[side] for row in counts]) + weak for side in (1, 0))
    np.testing.assert_allclose(two_groups(counts, size, a, b, rope), summed(counts, size, a, b, rope), atol=error)
    swapped = two_groups(counts[::-1], size[::-1], a[::-1], b[::-1], rope)
    np.testing.assert_allclose(swapped[::-1], two_groups(counts, size, a, b, rope), atol=1e-12)


@pytest.mark.parametrize("small", [1e-12, 1e-15, 1e-300])
def test_priors_that_count_as_hardly_a_label_take_all_others_to_be_like_the_labels(small):
    counts, size = ((0, 5), (3, 0)), (20, 15)
    a, b = (np.array([row[side] for row in counts]) + small for side in (1, 0))
    np.testing.assert_allclose(two_groups(counts, size, a, b, 0.05), [0, 0, 1], atol=1e-9)


def test_groups_without_items_have_the_accuracy_of_the_population():
    found = two_groups([[0, 0], [4, 2]], [0, 6], [2.0, 3.0], [3.0, 5.0], 0.05)
    below, above = (stats.beta.cdf(2 / 6 - 0.05, 2, 3), stats.beta.sf(2 / 6 + 0.05, 2, 3))
    np.testing.assert_allclose(found, [below, 1 - below - above, above], atol=1e-12)


def test_many_states_and_pairs_have_the_masses_of_each(monkeypatch):
    monkeypatch.setattr("bayes_assess.acquisition.pool_rope._STATES", 2048)
    rng = np.random.default_rng(0)
    counts, size = rng.integers(0, 8, (3, 2, 3, 2)), np.array([20, 3000, 14])
    a, b = counts[..., 1] + 0.5, counts[..., 0] + 0.5
    first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    found = pool_rope_masses(counts, size, a, b, first, second, 0.05)
    assert found.shape == (3, 2, 3, 3)
    for state in np.ndindex(3, 2):
        for pair, (i, j) in enumerate(zip(first, second, strict=True)):
            one = [i, j]
            alone = two_groups(counts[state][one], size[one], a[state][one], b[state][one], 0.05)
            np.testing.assert_allclose(found[state][pair], alone, atol=1e-12)


@pytest.mark.parametrize(
    ("alpha", "difference", "rest", "n_items", "rope", "error"),
    [
        ((0, 0.3, 0.3, 0.3), 0, 30, 100, 0.05, 1e-10),
        ((0, 10.3, 5.3, 2.3), 5, 28, 100, 0.05, 1e-10),
        ((0, 10.3, 5.3, 2.3), -3, 120, 400, 0.01, 3e-3),
        ((0, 1.3, 1.3, 90.3), 0, 150, 300, 0.0, 3e-3),
        ((2.0, 1.0, 3.0, 1.0), 1, 20, 50, 0.02, 1e-10),
    ],
)
def test_masses_of_two_systems_are_the_sums_over_what_may_come(alpha, difference, rest, n_items, rope, error):
    both, one, other, neither = alpha
    expected = np.zeros(3)
    for e in range(rest + 1):
        w = np.arange(e + 1)
        p = stats.betabinom.pmf(e, rest, one + other, both + neither) * stats.betabinom.pmf(w, e, one, other)
        d, bar = difference + 2 * w - e, rope * n_items + 1e-9
        expected += [p[d < -bar].sum(), p[np.abs(d) <= bar].sum(), p[d > bar].sum()]
    found = paired_pool_rope_masses(np.array(alpha), np.array(difference), np.array(rest), n_items, rope)
    np.testing.assert_allclose(found, expected, atol=error)
