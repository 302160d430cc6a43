"""Random labels that a width is worth."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bayes_assess.estimators.random_labels import random_labels

SHARES, WIDTHS = st.floats(0.2, 0.8), st.floats(0.02, 0.5)
SIZES, LEVELS = st.integers(1, 10**7), st.floats(0.5, 0.999)


def width_of(n, share, size, level):
    """Width of the normal interval of the mean of n items drawn from a finite pool without replacement."""
    error = np.sqrt(share * (1 - share) / n * (size - n) / max(size - 1, 1))
    return 2 * stats.norm.ppf((1 + level) / 2) * error


@given(SHARES, WIDTHS, SIZES, LEVELS)
def test_it_is_the_first_number_whose_interval_is_as_narrow(share, width, size, level):
    n = int(random_labels(share, width, size, level))
    assert 1 <= n <= size
    assert width_of(n, share, size, level) <= width * (1 + 1e-6)
    if n > 1:
        assert width_of(n - 1, share, size, level) > width * (1 - 1e-6)


@given(st.floats(0, 1), WIDTHS, SIZES, LEVELS)
def test_a_narrower_interval_takes_no_fewer_labels(share, width, size, level):
    assert random_labels(share, width / 2, size, level) >= random_labels(share, width, size, level)
    mirrored = random_labels(1 - share, width, size, level)  # up to the rounding of 1 - share
    assert abs(mirrored - random_labels(share, width, size, level)) <= 1


def test_no_positive_label_has_the_interval_of_wilson():
    n = 500
    ends = stats.binomtest(0, n).proportion_ci(0.95, method="wilson")
    assert random_labels(0.0, ends.high - ends.low, 10**12) == n == random_labels(1.0, ends.high, 10**12)


def test_certainty_takes_all_items_and_no_claim_takes_few():
    np.testing.assert_array_equal(random_labels(np.array([0.0, 0.3, 1.0]), np.zeros(3), np.array([7, 8, 1])), [7, 8, 1])
    assert random_labels(0.5, 1.0, 1000) == 4  # z^2
    assert random_labels(0.0, 1.0, 1) == 0
