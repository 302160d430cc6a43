"""Poisson sampling: do inclusion probabilities have the least variance, and are items drawn as they say?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayes_assess as ba
from bayes_assess.acquisition.poisson import (
    blended,
    deviations,
    draws_for_distinct,
    expected_distinct,
    inclusion_of_deviations,
)
from bayes_assess.errors import BudgetError, DesignError
from bayes_assess.measures import table_for
from bayes_assess.measures.cell_measure import CellMeasure

POSITIVE = st.floats(1e-300, 1e300)


def lists_of(positive):
    """Deviations: ties, zeros, and others."""
    return st.lists(st.one_of(st.just(0.0), st.just(1.0), positive, st.floats(0.1, 10)), min_size=1, max_size=40)


@st.composite
def problems(draw, positive):
    """Deviations, sizes, and a budget of up to all items."""
    h = np.array(draw(lists_of(positive)))
    size = np.array(draw(st.lists(st.integers(0, 50), min_size=len(h), max_size=len(h))))
    size[0] = max(size[0], 1)
    return h, size, draw(st.floats(1e-3, 1)) * size.sum()


def variance(h, size, b):
    """Sum of n h^2 / b, where h > 0, in the unit of the greatest h."""
    some = (h > 0) & (size > 0)
    with np.errstate(divide="ignore"):
        return (size[some] * (h[some] / h.max()) ** 2 / b[some]).sum()


@settings(max_examples=50, deadline=None)
@given(problems(POSITIVE))
def test_inclusion_probabilities_sum_to_the_budget(problem):
    h, size, budget = problem
    b = inclusion_of_deviations(h, budget, size)
    assert ((b >= 0) & (b <= 1)).all()
    assert abs(size @ b - budget) <= 1e-9 * min(budget, 1)
    items = inclusion_of_deviations(np.repeat(h, size), budget)  # one by one
    np.testing.assert_allclose(items, np.repeat(b, size), rtol=1e-9, atol=0)


@settings(max_examples=50, deadline=None)
@given(problems(st.floats(1e-50, 1e50)), st.integers(0, 2**32 - 1))
def test_no_feasible_inclusion_probabilities_have_less_variance(problem, seed):
    h, size, budget = problem
    b = inclusion_of_deviations(h, budget, size)
    rng = np.random.default_rng(seed)
    for other in (rng.random(len(h)), b * np.exp(rng.normal(0, 0.01, len(h))), np.ones(len(h))):
        other = np.minimum(other, 1)
        if other @ size > budget:
            other = other * budget / (other @ size)
        assert variance(h, size, b) <= variance(h, size, other) * (1 + 1e-9)


def test_the_least_variance_is_that_of_a_search_over_all_saturated_sets():
    h, budget = np.array([9.0, 7.0, 7.0, 2.0, 1.0, 0.5, 0.0]), 4.0
    order = np.sort(h)[::-1]
    best = np.inf
    for j in range(4):  # the j greatest at 1, the rest in proportion: [SEME] (78)
        rest = order[j:]
        scaled = rest * (budget - j) / rest.sum()
        if scaled.max() <= 1:
            best = min(best, (order[:j] ** 2).sum() + rest.sum() ** 2 / (budget - j))
    b = inclusion_of_deviations(h, budget)
    assert variance(h, np.ones(7), b) * 81 == pytest.approx(best, rel=1e-12)
    assert b[-1] == 0


def test_items_without_deviation_are_drawn_only_with_what_is_left_of_the_budget():
    h = np.array([2.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(inclusion_of_deviations(h, 2), [1, 0, 1, 0])
    np.testing.assert_array_equal(inclusion_of_deviations(h, 3), [1, 0.5, 1, 0.5])
    np.testing.assert_array_equal(inclusion_of_deviations(np.zeros(4), 1), np.full(4, 0.25))
    np.testing.assert_array_equal(inclusion_of_deviations(h, 4), np.ones(4))


@pytest.mark.parametrize(
    ("h", "budget", "expected"),
    [
        ([1e300, 1e-300], 1.5, [1, 0.5]),
        ([5e-324, 5e-324], 1, [0.5, 0.5]),
        ([1e308] * 4, 1, [0.25] * 4),
        ([1.0, 1e-20, 1e-20], 1, [1, 1e-20, 1e-20]),
        ([3.0] * 7, 6.999999999999, [1] * 7),
    ],
)
def test_deviations_of_any_size_are_served(h, budget, expected):
    np.testing.assert_allclose(inclusion_of_deviations(np.array(h), budget), expected, rtol=1e-9)


def test_many_orders_of_magnitude_saturate_one_after_the_other():
    h = 2.0 ** -np.arange(1000)
    b = inclusion_of_deviations(h, 500.0)
    assert b.sum() == pytest.approx(500, rel=1e-12)
    assert (b[:498] == 1).all()  # the rest is a geometric series, which sums to at most twice its first
    assert (np.diff(b) <= 0).all()


def test_chunks_change_nothing():
    rng = np.random.default_rng(0)
    h = rng.lognormal(0, 2, 200_000)
    b = inclusion_of_deviations(h, 20_000.0)
    assert abs(b.sum() - 20_000) < 1e-9
    tau = (h / b)[b < 1]
    np.testing.assert_allclose(tau, tau[0], rtol=1e-12)
    assert h[b == 1].min() >= tau[0]
    np.testing.assert_array_equal(b, inclusion_of_deviations(h * 2.0**300, 20_000.0))


def test_bad_budgets_and_deviations_are_refused():
    for budget in (0, -1, 3.5, np.nan, np.inf):
        with pytest.raises(BudgetError, match="budget"):
            inclusion_of_deviations(np.ones(3), budget)
    for h in (-1.0, np.nan, np.inf):
        with pytest.raises(DesignError, match="Deviations"):
            inclusion_of_deviations(np.array([1.0, h]), 1)
    with pytest.raises(DesignError, match="Sizes"):
        inclusion_of_deviations(np.ones(2), 1, np.array([1, -1]))
    with pytest.raises(DesignError, match="Sizes"):
        inclusion_of_deviations(np.ones(2), 1, np.ones(3))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(1e-6, 1e3), min_size=2, max_size=40), st.floats(0.5, 200))
def test_poisson_sampling_has_less_variance_than_importance_sampling_at_equal_expected_labels(h, n_draws):
    """[SEME] (85): E_poisson <= (1 / M_poisson - 1 / N) M_is E_is while nothing saturates; E_poisson <= E_is always."""
    h = np.array(h)
    q = h / h.sum()  # the least variance of draws
    budget = expected_distinct(q, n_draws)
    b = inclusion_of_deviations(h, budget)
    of_draws = (h**2 / q).sum() / n_draws
    of_poisson = (h**2 * (1 / b - 1)).sum()
    if b.max() < 1:
        bound = (1 / budget - 1 / len(h)) * n_draws * of_draws
        assert of_poisson <= bound + 1e-9 * n_draws * of_draws  # equality is rounded where all h are the same
    # The draws' own chances of being in, 1 - (1 - q)^N, are feasible, and 1 / (1 - (1 - q)^N) - 1 <= 1 / (N q).
    assert of_poisson <= of_draws * (1 + 1e-9)


def test_distinct_draws_are_those_of_simulation():
    q, size = np.array([0.3, 0.05, 0.01]), np.array([1, 4, 50])
    items = np.repeat(q, size)
    rng = np.random.default_rng(1)
    drawn = rng.choice(len(items), (4000, 30), p=items)
    distinct = (np.diff(np.sort(drawn, axis=1), axis=1) > 0).sum(1) + 1
    error = distinct.std() / np.sqrt(len(distinct))
    assert abs(distinct.mean() - expected_distinct(q, 30, size)) < 4.5 * error  # 7e-6


@settings(max_examples=50, deadline=None)
@given(lists_of(POSITIVE).filter(lambda h: max(h) > 0), st.floats(0, 0.999))
def test_draws_for_distinct_invert_expected_distinct(h, share):
    q = np.array(h) / np.sum(h)
    expected = share * np.count_nonzero(q)
    # Items of tiny probabilities take more draws than there are numbers.
    if np.count_nonzero(q > 1e-12) == np.count_nonzero(q):
        assert expected_distinct(q, draws_for_distinct(q, expected)) == pytest.approx(expected, rel=1e-9)


def test_more_distinct_items_than_can_be_drawn_are_refused():
    q = np.array([0.5, 0.5, 0.0])
    assert draws_for_distinct(q, 0) == 0
    assert draws_for_distinct(q, 1) == pytest.approx(1)
    with pytest.raises(BudgetError, match="2 distinct items"):
        draws_for_distinct(q, 2)
    with pytest.raises(BudgetError, match="draws"):
        expected_distinct(q, -1)
    with pytest.raises(DesignError, match="Probabilities"):
        expected_distinct(np.array([1.5]), 1)


def measure_on(metric, size):
    pool = ba.Pool(predictions=np.repeat([0, 0, 1, 1], size), classes=[0, 1])
    _, table = table_for(metric, pool)
    attribute = np.array([0, 0, 1, 1])
    return CellMeasure(table, attribute, np.zeros(4, int), size, attribute, 2, 1, 2, 1)


def test_deviations_of_a_ratio_are_the_published_ones():
    size, scores = np.array([50, 30, 15, 5]), np.array([0.01, 0.2, 0.6, 0.95])
    pi = blended(np.stack([1 - scores, scores], axis=1))
    np.testing.assert_allclose(pi[:, 1], 0.9 * scores + 0.05)
    predicted = np.array([0, 0, 1, 1])
    y = np.array([0, 1])
    f, g = predicted[:, None] * y, (predicted[:, None] + y) / 2
    mean_f, mean_g = ((size[:, None] * pi * x).sum() / size.sum() for x in (f, g))
    expected = np.sqrt((pi * (f - mean_f / mean_g * g) ** 2).sum(1)) / mean_g
    np.testing.assert_allclose(deviations(measure_on("f1", size), pi), expected, rtol=1e-12)


def test_scores_are_blended_with_the_uniform_distribution():
    scores = np.random.default_rng(5).dirichlet(np.ones(4), 6)
    np.testing.assert_array_equal(blended(scores, 1.0), scores)
    np.testing.assert_allclose(blended(scores, 0.0), 0.25)
    np.testing.assert_allclose(blended(scores, 0.7).sum(-1), 1)
    with pytest.raises(DesignError, match="lam"):
        blended(scores, 1.1)
