"""Labels that nobody asked for beside those that were asked for."""

import numpy as np
from scipy.stats import hypergeom, norm, rankdata

from bayes_assess.estimators.differing_labels import (
    _middle_ranks,
    chance_of_difference,
    chance_of_unlike_kinds,
    chance_of_unlike_scores,
)

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


def scored(rng, nearer=0.0, higher=0.0):
    """Draw scores of two kinds of labels in three cells, higher or nearer to the middle where nobody asked for them."""
    cell = np.repeat([0, 1, 2], [60, 25, 12])
    other = rng.random(len(cell)) < np.array([0.7, 0.3, 0.5])[cell]
    near = np.where(other, nearer, 0)
    score = rng.beta(1 + near, 1 + near) if nearer else rng.beta(1 + 3 * cell, 2)
    return cell, (score + higher * other).round(2), other


def test_scores_of_random_items_are_unlike_as_often_as_the_chance_says():
    rng = np.random.default_rng(3)
    chances = [chance_of_unlike_scores(*scored(rng)) for _ in range(REPEATS)]
    for level in (0.2, 0.05, 0.01):
        share, error = share_below(level, chances)
        assert share < level + 4 * error  # of two sums, by Bonferroni
        assert share > level / 2 - 4 * error


def test_scores_that_are_higher_or_nearer_to_the_middle_are_unlike():
    rng = np.random.default_rng(4)
    for one in ({"higher": 0.5}, {"nearer": 10.0}):
        chances = [chance_of_unlike_scores(*scored(rng, **one)) for _ in range(200)]
        assert share_below(0.01, chances)[0] > 0.9


def test_scores_of_cells_with_labels_of_one_kind_say_nothing():
    cell, score = np.repeat([0, 1], 20), np.linspace(0, 1, 40)
    assert chance_of_unlike_scores(cell, score, cell == 1) == 1
    assert chance_of_unlike_scores(cell, np.ones(40), np.arange(40) % 2 == 0) == 1


def test_scores_that_tie_have_the_middle_of_their_ranks():
    values = np.random.default_rng(5).integers(0, 9, 40) / 8
    np.testing.assert_array_equal(_middle_ranks(values), rankdata(values))


def test_kinds_of_random_items_are_unlike_no_more_often_than_the_chance_says():
    rng = np.random.default_rng(0)
    cell = np.repeat([0, 1, 2], [150, 60, 12])
    chances = []
    for _ in range(REPEATS):
        kind = rng.choice(5, len(cell), p=[0.5, 0.3, 0.1, 0.08, 0.02])
        kind = np.where(cell == 1, 4 - kind, kind)  # cells differ, and that is no matter
        chances.append(chance_of_unlike_kinds(cell, kind, rng.random(len(cell)) < np.array([0.2, 0.4, 0.6])[cell]))
    for level in (0.2, 0.05, 0.01):
        share, error = share_below(level, chances)
        assert share < level + 4 * error
    assert share_below(0.2, chances)[0] > 0.02  # the chance is no empty bound


def test_kinds_that_others_chose_are_unlike():
    rng = np.random.default_rng(0)
    cell, kind = rng.integers(0, 4, 400), rng.integers(0, 3, 400)
    assert chance_of_unlike_kinds(cell, kind, rng.random(400) < np.array([0.6, 0.2, 0.2])[kind]) < 1e-6
    assert chance_of_unlike_kinds(cell * 3 + kind, kind, rng.random(400) < np.array([0.6, 0.2, 0.2])[kind]) == 1.0


def test_kinds_of_which_few_are_expected_say_nothing():
    kind = np.repeat([0, 1], [3, 97])
    assert chance_of_unlike_kinds(np.zeros(100, int), kind, np.arange(100) < 10) == 1.0
