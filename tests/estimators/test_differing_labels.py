"""Labels that nobody asked for beside those that were asked for."""

import numpy as np
from scipy.stats import hypergeom, norm

from bayes_assess.estimators.differing_labels import chance_of_difference

REPEATS = 2_000


def counted(rng, n, rate):
    events = rng.binomial(n, rate)
    return np.stack([n - events, events], axis=1)


def share_below(level, chances):
    return np.mean(np.array(chances) < level), np.sqrt(level * (1 - level) / len(chances))


def test_cells_that_are_alike_differ_as_often_as_the_chance_says():
    rng = np.random.default_rng(0)
    rate = np.array([0.05, 0.3, 0.5, 0.9, 0.2, 0.7])
    n = np.array([40, 12, 9, 30, 25, 8])
    chances = [chance_of_difference(counted(rng, n, rate), counted(rng, n[::-1], rate)) for _ in range(REPEATS)]
    for level in (0.2, 0.05):
        share, error = share_below(level, chances)
        assert abs(share - level) < 4 * error + 0.01  # a discrete statistic, and its normal approximation


def test_neighbouring_cells_of_unlike_probability_are_no_difference():
    """Labels that were told of the more probable cells within every block have more events, as is expected of them."""
    rng = np.random.default_rng(1)
    rate = np.linspace(0.02, 0.98, 100)
    upper = np.arange(100) % 2
    chances = [
        chance_of_difference(counted(rng, 4 * (1 - upper), rate), counted(rng, 4 * upper, rate), rate)
        for _ in range(REPEATS)
    ]
    share, error = share_below(0.05, chances)
    assert share < 0.05 + 4 * error
    assert share > 0.01  # it can differ


def test_one_cell_has_the_variance_of_the_hypergeometric_distribution():
    asked, others = np.array([[30, 10]]), np.array([[12, 18]])
    table = hypergeom(70, 28, 30)
    z = (18 - table.mean()) / table.std()
    expected = chance_of_difference(asked, others)
    np.testing.assert_allclose(expected, 2 * norm.sf(z), rtol=1e-10)


def test_cells_with_labels_of_one_kind_tell_nothing():
    asked, others = np.array([[5, 5], [0, 0]]), np.array([[0, 0], [0, 90]])
    assert chance_of_difference(asked, others) == 1.0
