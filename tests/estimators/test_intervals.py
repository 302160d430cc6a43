from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bayes_assess.errors import BayesAssessError
from bayes_assess.estimators.intervals import (
    beta_binomial_interval,
    beta_interval,
    bootstrap_interval,
    ellipsoid_radius,
    pool_interval,
    pool_mean,
)
from bayes_assess.estimators.widest_intervals import widest_beta_intervals

LEVELS = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999]

level = st.sampled_from(LEVELS)
parameter = st.floats(np.log(1e-3), np.log(1e3)).map(np.exp)


def one_interval(n, a, b, level=0.95):
    return beta_binomial_interval(np.array([n]), np.array([float(a)]), np.array([float(b)]), level)[0]


def cdf(n, a, b):
    """P(K <= k) for k = 0..n, by summing SciPy's probabilities."""
    p = stats.betabinom(n, a, b).pmf(np.arange(n + 1))
    return np.cumsum(p) / p.sum()


def check_equal_tailed(n, a, b, level, *, lost=1e-9):
    """Each tail has at most (1 - level) / 2, and would have more if its end were one count further in."""
    lower, upper = one_interval(n, a, b, level)
    assert (lower, upper) == (int(lower), int(upper))
    assert 0 <= lower < upper <= n
    upto, tail = np.concatenate([[0.0], cdf(n, a, b)]), (1 - level) / 2  # upto[k] = P(K < k)
    lower, upper = int(lower), int(upper)
    assert upto[lower] <= tail + lost
    assert 1 - upto[upper + 1] <= tail + lost
    assert upto[upper + 1] - upto[lower] >= level - 2 * lost
    lower_is_tight = upto[lower + 1] > tail - lost
    upper_is_tight = 1 - upto[upper] > tail - lost
    # Where one count has all but the tails, the interval is that count and a neighbour.
    assert (lower_is_tight and upper_is_tight) or upper - lower == 1


# -- Beta ------------------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None, derandomize=True)
@given(parameter, parameter, level)
def test_a_beta_interval_leaves_half_of_the_rest_on_either_side(a, b, level):
    lower, upper = beta_interval(a, b, level)
    distribution, tail = stats.beta(a, b), (1 - level) / 2
    if 1e-300 < lower < 1 - 1e-6:
        assert distribution.cdf(lower) == pytest.approx(tail, rel=1e-6)
    if 1e-300 < upper < 1 - 1e-6:
        assert distribution.sf(upper) == pytest.approx(tail, rel=1e-6)
    assert 0 <= lower <= upper <= 1


def test_a_beta_interval_has_the_shape_of_its_parameters():
    assert beta_interval(np.ones((2, 3)), np.ones((2, 3))).shape == (2, 3, 2)
    assert beta_interval(2.0, 3.0).shape == (2,)


# -- beta-binomial, summed -------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(1, 60), parameter, parameter, level)
def test_small_counts_equal_brute_force(n, a, b, level):
    check_equal_tailed(n, a, b, level)


@pytest.mark.parametrize(
    ("n", "a", "b"), [(20, 2, 3), (1, 1, 1), (60, 280, 203), (7, 0.5, 0.5), (33, 1e6, 1e6), (9, 1e9, 3)]
)
@pytest.mark.parametrize("level", LEVELS)
def test_named_small_cases_equal_brute_force(n, a, b, level):
    check_equal_tailed(n, a, b, level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("a", "b"), [(0.005, 1.995), (0.003, 1), (0.01, 100), (1, 50), (0.02, 0.5)])
@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("n", [100, 300, 700])
def test_skewed_distributions_keep_both_tails(n, a, b, level, mirrored):
    # A prior from scores near 0 or 1: most of the mass on one count, the rest far away, many deviations off.
    a, b = (b, a) if mirrored else (a, b)
    if stats.betabinom(n, a, b).std() > 32:
        return  # wide distributions are not summed
    check_equal_tailed(n, a, b, level)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(200, 3000), st.floats(1.0, 500.0), st.floats(1.0, 500.0), level)
def test_distributions_just_narrow_enough_to_be_summed_equal_brute_force(n, a, b, level):
    if stats.betabinom(n, a, b).std() < 32:
        check_equal_tailed(n, a, b, level)


def test_groups_do_not_depend_on_their_neighbours():
    rng = np.random.default_rng(0)
    n = rng.integers(0, 5000, 300)
    a, b = np.exp(rng.uniform(-2, 6, (2, 300)))
    together = beta_binomial_interval(n, a, b, 0.9)
    alone = np.stack([one_interval(*distribution, 0.9) for distribution in zip(n, a, b, strict=True)])
    np.testing.assert_array_equal(together, alone)


def test_more_groups_than_fit_into_one_table_are_served():
    n = np.full(6000, 50)
    a = np.linspace(1, 40, 6000)
    ends = beta_binomial_interval(n, a, a[::-1].copy(), 0.95)
    for j in (0, 2722, 2723, 2724, 5999):
        np.testing.assert_array_equal(ends[j], one_interval(50, a[j], a[::-1][j]))
    assert (np.diff(ends, axis=0) >= 0).all()


# -- beta-binomial, matched ------------------------------------------------------------------------------------------

SWITCH = [
    # a, b and the sizes around which the standard deviation passes 32 counts
    (1.0, 1.0, 110),
    (2.0, 5.0, 197),
    (30.0, 10.0, 440),
    (280.0, 203.0, 1080),
    (3000.0, 500.0, 4600),
    (1e6, 1e6, 4090),
    (0.5, 0.5, 90),
]


@pytest.mark.parametrize(("a", "b", "n"), SWITCH)
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_both_sides_of_the_switch_are_near_the_exact_quantiles(a, b, n, level):
    sizes = np.unique(np.geomspace(0.8 * n, 4 * n, 9).astype(int))
    sds = np.array([stats.betabinom(size, a, b).std() for size in sizes])
    assert sds.min() < 32 < sds.max()
    for size, sd in zip(sizes, sds, strict=True):
        upto, tail = cdf(size, a, b), (1 - level) / 2
        exact = np.array([np.searchsorted(upto, tail, side="right"), np.searchsorted(upto, 1 - tail)])
        ends = one_interval(size, a, b, level)
        if sd < 32:
            np.testing.assert_array_equal(ends, exact)
        else:
            # One count for rounding, and what the unequal skewness is worth: Cornish and Fisher's
            # (z^2 - 1) / 6 sd times a difference in skewness of at most 1 / 32.
            z = stats.norm.isf(tail)
            assert np.abs(ends - exact).max() < 1.5 + abs(z * z - 1) / 6 / 32 * sd


@pytest.mark.parametrize(("a", "b", "n"), SWITCH)
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_a_wide_law_has_its_level_inside(a, b, n, level):
    for size in np.geomspace(1.3 * n, 4 * n, 5).astype(int):
        lower, upper = one_interval(size, a, b, level)
        upto = np.concatenate([[0.0], cdf(size, a, b)])
        inside = upto[int(np.floor(upper)) + 1] - upto[int(np.ceil(lower))]
        # Two ends off by less than a fiftieth of a deviation, where the density is below 0.18 per deviation (90 %).
        assert inside >= level - 2 * 0.02 * stats.norm.pdf(stats.norm.isf((1 - level) / 2))


def test_an_endless_group_has_the_interval_of_its_accuracy():
    ends = one_interval(10**12, 8.0, 3.0) / 10**12
    np.testing.assert_allclose(ends, beta_interval(8.0, 3.0), rtol=1e-9)


def test_a_certain_accuracy_leaves_binomial_counts():
    ends = one_interval(10**6, 1e12, 1e12)
    np.testing.assert_allclose(ends, stats.binom(10**6, 0.5).ppf([0.025, 0.975]), atol=1.5)


# -- never without width ---------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.integers(1, 10**9),
    st.floats(np.log(1e-6), np.log(1e9)).map(np.exp),
    st.floats(np.log(1e-6), np.log(1e9)).map(np.exp),
    level,
)
def test_width_is_at_least_one_count_and_ends_lie_in_range(n, a, b, level):
    lower, upper = one_interval(n, a, b, level)
    assert 0 <= lower <= upper - 1
    assert upper <= n


@pytest.mark.parametrize("n", [1, 10, 1000, 10**5, 10**7])
@pytest.mark.parametrize("mirrored", [False, True])
def test_scores_of_exactly_one_leave_doubt_while_items_are_unlabelled(n, mirrored):
    a, b = 2 - 2e-6, 2e-6  # the informative prior of a group whose scores are all 1
    a, b = (b, a) if mirrored else (a, b)
    lower, upper = pool_interval(0, 0, n, a, b)
    assert lower < upper
    assert upper == 1 if not mirrored else lower == 0


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("small", [1e-14, 1e-15, 1e-20, 1e-300])
def test_priors_that_count_as_hardly_a_label_leave_one_item_open(small, mirrored):
    """Haldane's prior is their limit: after labels that agree everything else is expected to, too."""
    a, b = (small, 2 + small) if mirrored else (2 + small, small)
    with np.errstate(all="raise", under="ignore"):
        ends = one_interval(38, a, b, 0.95)
    assert ends.tolist() == ([0.0, 1.0] if mirrored else [37.0, 38.0])
    assert one_interval(38, small, small, 0.95).tolist() == [0.0, 38.0]


# -- pools -----------------------------------------------------------------------------------------------------------


def test_a_pool_interval_counts_labelled_items_as_they_are():
    n, labelled, r, a, b = 40, 15, 11, 12.0, 5.0
    ends = pool_interval(r, labelled, n, a, b, 0.9)
    np.testing.assert_allclose(ends, (r + one_interval(n - labelled, a, b, 0.9)) / n, rtol=1e-15)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(1, 10**6), st.data())
def test_everything_labelled_is_exact_and_without_width(n, data):
    r = data.draw(st.integers(0, n))
    np.testing.assert_array_equal(pool_interval(r, n, n, r + 1.0, n - r + 1.0), [r / n, r / n])
    assert pool_mean(r, n, n, 0.123) == r / n


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.data(), level)
def test_pool_intervals_lie_between_what_is_possible_and_hold_the_mean_of_a_wide_distribution(data, level):
    n = data.draw(st.integers(1, 5000))
    labelled = data.draw(st.integers(0, n - 1))
    r = data.draw(st.integers(0, labelled))
    lower, upper = pool_interval(r, labelled, n, 1.0 + r, 1.0 + labelled - r, level)
    assert r / n - 1e-15 <= lower < upper <= (r + n - labelled) / n + 1e-15
    mean = pool_mean(r, labelled, n, (1 + r) / (2 + labelled))
    if level >= 0.9 and min(r, labelled - r) >= 5:
        assert lower - 1e-12 <= mean <= upper + 1e-12


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 3000), parameter, parameter)
def test_a_higher_level_never_gives_a_narrower_interval(n, a, b):
    ends = np.array([pool_interval(3, 5, 5 + n, a, b, level) for level in LEVELS])
    assert (np.diff(ends[:, 0]) <= 0).all()
    assert (np.diff(ends[:, 1]) >= 0).all()


def test_a_group_without_items_gets_the_interval_and_mean_of_its_belief():
    ends = pool_interval(
        np.array([0, 2]), np.array([0, 3]), np.array([0, 6]), np.array([3.0, 4.0]), np.array([2.0, 2.0])
    )
    np.testing.assert_array_equal(ends[0], beta_interval(3.0, 2.0))
    np.testing.assert_array_equal(ends[1], pool_interval(2, 3, 6, 4.0, 2.0))
    assert pool_mean(0, 0, 0, 0.6) == 0.6


def test_arguments_broadcast_and_none_at_all_give_none():
    ends = pool_interval(np.array([[1], [2]]), 4, np.array([5, 50, 500]), 2.0, 3.0)
    assert ends.shape == (2, 3, 2)
    np.testing.assert_array_equal(ends[1, 2], pool_interval(2, 4, 500, 2.0, 3.0))
    nothing = np.zeros(0)
    assert pool_interval(nothing.astype(int), nothing.astype(int), nothing.astype(int), nothing, nothing).shape == (
        0,
        2,
    )


def test_a_pool_mean_is_the_mean_of_its_distribution():
    n, labelled, r, a, b = 30, 12, 9, 10.0, 4.0
    expected = (r + stats.betabinom(n - labelled, a, b).mean()) / n
    assert pool_mean(r, labelled, n, a / (a + b)) == pytest.approx(expected, rel=1e-14)


def test_a_billion_items_are_served():
    ends = pool_interval(800_000_000, 999_999_990, 10**9, 8e8 + 1, 199_999_990 + 1.0)
    assert 0.8 <= ends[0] < ends[1] <= 0.80000001


@pytest.mark.slow
@pytest.mark.parametrize(
    ("a", "b", "size", "labelled"), [(1, 1, 25, 10), (9, 1, 60, 5), (1, 1, 25, 0), (0.5, 0.5, 10, 9), (2, 2, 2000, 30)]
)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_pools_drawn_from_the_prior_are_covered_as_often_as_stated(a, b, size, labelled, level):
    m = 20_000
    rng = np.random.default_rng(3)
    right = rng.binomial(size, rng.beta(a, b, m))  # items whose label agrees with its prediction
    r = rng.hypergeometric(right, size - right, labelled) if labelled else np.zeros(m, int)
    ends = pool_interval(r, labelled, size, a + r, b + labelled - r, level)
    covered = np.mean((ends[:, 0] <= right / size + 1e-12) & (right / size <= ends[:, 1] + 1e-12))
    # What coverage should be: the exact probability inside, averaged over the labels that were drawn.
    rest = size - labelled
    distribution = stats.betabinom(rest, a + r, b + labelled - r)
    inside = (
        distribution.cdf(np.floor(ends[:, 1] * size - r + 1e-6))
        - distribution.cdf(np.ceil(ends[:, 0] * size - r - 1e-6) - 1)
    ).mean()
    # 5 binomial standard errors: 6e-7.
    assert abs(covered - inside) < 5 * np.sqrt(inside * (1 - inside) / m) + 1e-12
    slack = 0 if np.isin(rest, [25, 15, 55, 1]) else 0.005  # matched distributions are off by a fiftieth of a deviation
    assert inside >= level - slack


def test_bootstrap_intervals_are_as_wide_as_the_standard_error_says_and_stay_in_range():
    values = np.random.default_rng(3).random((400, 5)) < 0.9
    ends = bootstrap_interval(values, n_resamples=4000)
    error = values.std(0) / np.sqrt(400)
    # The quantile of 4,000 resamples has a standard error of sqrt(p (1 - p) / 4000) / (normal density there).
    quantile_error = np.sqrt(0.025 * 0.975 / 4000) / stats.norm.pdf(1.96)
    half = (ends[:, 1] - ends[:, 0]) / 2
    np.testing.assert_allclose(half / error, 1.96, atol=5 * quantile_error + 0.5 / (400 * error.min()))
    assert (ends >= 0).all()
    assert (ends <= 1).all()
    np.testing.assert_array_equal(bootstrap_interval(np.full((7, 2), 0.3)), np.full((2, 2), 0.3))


@pytest.mark.parametrize("n", [2, 5, 60])
def test_the_ellipsoid_of_one_measure_is_the_interval_of_student(n):
    assert ellipsoid_radius(n, 1, 0.9) == pytest.approx(stats.t(n - 1).ppf(0.95) ** 2)


def test_an_ellipsoid_holds_the_mean_of_few_gaussian_draws():
    """Hotelling's T^2; one such count in a hundred thousand is further off."""
    draws = np.random.default_rng(0).normal(size=(2000, 6, 3))
    mean = draws.mean(1)
    covariance = np.einsum("sni,snj->sij", draws - mean[:, None], draws - mean[:, None]) / (6 * 5)
    squares = np.einsum("si,si->s", mean, np.linalg.solve(covariance, mean[..., None])[..., 0])
    n_inside = (squares <= ellipsoid_radius(6, 3, 0.8)).sum()
    assert abs(n_inside - 1600) <= stats.norm.isf(5e-6) * np.sqrt(2000 * 0.8 * 0.2) + 1
    assert ellipsoid_radius(3, 3) == np.inf


NAN, ONE = float("nan"), np.ones(1)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (lambda: beta_interval(1, 1, 1.5), "between 0 and 1, such as 0.95; found 1.5"),
        (lambda: pool_interval(1, 2, 4, 1, 1, 0), "found 0"),
        (lambda: beta_binomial_interval(ONE, ONE, ONE, NAN), "found nan"),
        (lambda: bootstrap_interval(ONE, 95), "found 95"),
        (lambda: ellipsoid_radius(10, 2, 95), "found 95"),
        (lambda: beta_interval([1, 0], 1), "finite numbers above 0"),
        (lambda: beta_interval(1, "two"), "found 'two'"),
        (lambda: pool_interval(1, 2, 4, NAN, 1), "found nan"),
        (lambda: pool_interval([1, -1], 2, 4, 1, 1), "found -1 successes, 2 labels and 4 items"),
        (lambda: pool_mean(3, 2, 4, 0.5), "found 3 successes"),
        (lambda: pool_mean(NAN, 2, 4, 0.5), "found nan successes"),
        (lambda: pool_mean(1, 2, 4, NAN), "found nan"),
        (lambda: beta_binomial_interval(-ONE, ONE, ONE), "0 or more; found -1"),
        (lambda: bootstrap_interval([]), "a row per replicate"),
        (lambda: bootstrap_interval([1, NAN]), "finite"),
        (lambda: bootstrap_interval(ONE, n_resamples=0), "at least 1; found 0"),
        (lambda: ellipsoid_radius(10, 0), "1 measure or more"),
    ],
)
def test_levels_and_counts_that_are_none_are_refused(asked, found):
    with pytest.raises(BayesAssessError, match=found):
        asked()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("least", [0.05, 1.0])
def test_the_widest_of_many_beta_intervals_is_found_among_few(level, least):
    """Of parameters of any size, and of ones that are nearly alike."""
    rng = np.random.default_rng(0)
    a, b = np.exp(rng.uniform(np.log(least), np.log(1e4), (2, 40, 300)))
    a[20:], b[20:] = rng.uniform(20, 22, (20, 300)), rng.uniform(1, 30, (20, 1))
    few = np.diff(widest_beta_intervals(a, b, level), axis=-1)[..., 0]
    every = np.diff(beta_interval(a, b, level), axis=-1)[..., 0]
    np.testing.assert_array_equal(few.max(-1), every.max(-1))
    assert np.isin(few, [0, *every.ravel()]).all()
    if least == 1:
        assert np.count_nonzero(few) < 0.6 * few.size
