"""Systematic sampling: a fixed size, and exactly the probabilities that were asked for."""

from __future__ import annotations

import numpy as np
import pytest
from _systematic import systematic_counts, systematic_sample
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_assess.acquisition.poisson import inclusion_probabilities
from bayes_assess.errors import DesignError


class Start:
    """A generator whose uniform number is given."""

    def __init__(self, u):
        self.u = u

    def uniform(self, low, high):
        return low + self.u * (high - low)


@st.composite
def expectations(draw):
    """Expected numbers that sum to an integer."""
    size = np.array(draw(st.lists(st.integers(1, 30), min_size=2, max_size=30)))
    h = np.array(draw(st.lists(st.floats(0.01, 10), min_size=len(size), max_size=len(size))))
    return size * inclusion_probabilities(h, draw(st.integers(1, int(size.sum()))), size)


@settings(max_examples=100, deadline=None)
@given(expectations(), st.floats(0, 1, exclude_max=True))
def test_counts_have_the_fixed_sum_and_are_off_by_less_than_one(expected, u):
    counts = systematic_counts(Start(u), expected)
    assert counts.sum() == round(expected.sum())
    assert (np.abs(counts - expected) < 1).all()


@settings(max_examples=60, deadline=None)
@given(expectations())
def test_counts_integrate_to_what_was_expected(expected):
    """Between fractions of cumulated expectations counts are constant in the start: integrate piece by piece."""
    ends = np.cumsum(expected)
    breaks = np.unique(np.concatenate([[0, 1], np.ceil(ends) - ends]).clip(0, 1))
    middle, length = (breaks[1:] + breaks[:-1]) / 2, np.diff(breaks)
    mean = sum(w * systematic_counts(Start(u), expected) for u, w in zip(middle, length, strict=True))
    # Up to the grain, 2^-40 or so, times the number of breaks.
    np.testing.assert_allclose(mean, expected, atol=1e-9)


def test_samples_of_items_have_the_fixed_size_and_their_probabilities():
    b = inclusion_probabilities(np.random.default_rng(0).lognormal(0, 2, 300), 40)
    starts = (np.arange(4000) + 0.5) / 4000
    included = np.zeros(300)
    for u in starts:
        drawn = systematic_sample(Start(u), b)
        assert len(drawn) == 40 == len(np.unique(drawn))
        included[drawn] += 1 / len(starts)
    assert (included[b == 1] > 1 - 1e-9).all()
    np.testing.assert_allclose(included, b, atol=1.5 / len(starts))  # an interval of starts, or two, on a grid


def test_neighbours_are_spread():
    drawn = systematic_sample(np.random.default_rng(1), np.full(200_000, 1 / 100))
    assert len(drawn) == 2000
    gaps = np.diff(drawn)
    assert ((gaps == 100) | (gaps == 99) | (gaps == 101)).all()


def test_nothing_and_everything_are_samples():
    rng = np.random.default_rng(2)
    assert systematic_sample(rng, np.zeros(5)).tolist() == []
    assert systematic_sample(rng, np.ones(5)).tolist() == [0, 1, 2, 3, 4]
    assert systematic_counts(rng, np.zeros(0)).tolist() == []


def test_sums_that_are_no_integer_are_refused():
    rng = np.random.default_rng(3)
    for bad in ([0.5, 0.6], [1.5, -0.5], [np.nan, 1.0]):
        with pytest.raises(DesignError, match="whole number"):
            systematic_counts(rng, np.array(bad))
    with pytest.raises(DesignError, match="at most 1"):
        systematic_sample(rng, np.array([1.5, 0.5]))
