"""Measures from weighted draws: do intervals hold the truth as often as they say, with few labels?"""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.estimators.intervals import effective_draws, measure_interval
from bayes_assess.estimators.weighted import Estimate, WeightedDraws, weighted_estimate
from bayes_assess.measures import table_for
from bayes_assess.measures.cell_measure import CellMeasure

N_SAMPLES = 2000
# Below this many of 2,000 intervals of level 0.95 hold the truth with a probability of one in a hundred thousand.
FEWEST = stats.binom.ppf(1e-5, N_SAMPLES, 0.95)

# Items by predicted class and label, of pools on which small samples see no error, no positive, or no item of a class.
OF_TWO = ["accuracy", "balanced_accuracy", "f1", "precision", "recall", "matthews_corrcoef", "cohen_kappa"]
OF_FOUR = ["balanced_accuracy", "precision_macro", "f1_macro"]
POOLS = {
    "rare": ([[2850, 20], [90, 40]], OF_TWO),
    "right": ([[1494, 8], [6, 1492]], OF_TWO),
    "four": ([[1180, 10, 5, 5], [10, 580, 5, 5], [0, 5, 130, 5], [0, 0, 5, 55]], OF_FOUR),
}


def target_of(full: np.ndarray, measures: list[str]) -> CellMeasure:
    """Predicted classes as cells."""
    size = full.sum(1)
    n_classes = full.shape[1]
    pool = ba.Pool(predictions=np.repeat(np.arange(len(size)), size), classes=list(range(n_classes)))
    _, table = table_for(measures, pool)
    return CellMeasure(
        table=table,
        attribute=np.arange(len(size)),
        block=np.zeros(len(size), int),
        size=size,
        predicted=np.zeros(len(size)),
        n_attributes=len(size),
        n_blocks=1,
        n_outcomes=n_classes,
    )


@cache
def estimator(name: str, tilt: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray, Any, Any]:
    """Items by cell and label, their probabilities, the table, and a compiled estimator of many samples' counts."""
    full, measures = POOLS[name]
    full, shape = np.array(full), np.shape(full)
    q = np.array(tilt) / (np.array(tilt) * full.sum(1)).sum()  # of one item
    with jax.enable_x64(True):
        measure = jax.device_put(target_of(full, measures))
        weight = jnp.asarray(1 / (full.sum() * q))[:, None]
        proposal = jnp.broadcast_to(jnp.asarray(q)[:, None], (shape[0], shape[1] + 1))

    def estimate(count):
        draws = WeightedDraws(count.sum(), count * weight, count * weight**2, proposal, jnp.ones(proposal.shape, bool))
        return weighted_estimate(measure, draws, jnp.zeros(shape), jnp.asarray(full / full.sum()), False)

    return full, q, measure, jax.jit(jax.vmap(estimate))


def sampled(name: str, n: int, tilt: tuple[float, ...]) -> tuple[np.ndarray, tuple, Estimate]:
    """Truth, ranges, and the estimates of many samples of `n` draws, items drawn in proportion to `tilt` (A,)."""
    full, q, measure, estimates = estimator(name, tilt)
    rng = np.random.default_rng(n)
    drawn = rng.multinomial(n, (full * q[:, None]).ravel(), N_SAMPLES).reshape(N_SAMPLES, *full.shape).astype(float)
    with jax.enable_x64(True):
        truth = np.asarray(measure.table.value(measure.risk(jnp.asarray(full / full.sum()))))
        return truth, measure.table.ranges, jax.tree.map(np.asarray, estimates(jnp.asarray(drawn)))


def held(truth: np.ndarray, ends: np.ndarray) -> np.ndarray:
    return ((ends[..., 0] <= truth + 1e-12) & (truth <= ends[..., 1] + 1e-12)).sum(0)


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 20, 100])
@pytest.mark.parametrize("name", POOLS)
def test_intervals_of_few_uniform_draws_hold_the_truth(name, n):
    truth, ranges, found = sampled(name, n, (1.0,) * len(POOLS[name][0]))
    assert (held(truth, measure_interval(found, ranges)) >= FEWEST).all()


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 100])
def test_intervals_of_few_weighted_draws_hold_the_truth(n):
    """Predicted positives are drawn five times as often as their number would have it."""
    truth, ranges, found = sampled("rare", n, (1.0, 5.0))
    assert (held(truth, measure_interval(found, ranges)) >= FEWEST).all()


@pytest.mark.slow
def test_without_what_one_more_draw_could_change_they_would_not():
    """A recall of 1 shows no spread: half the intervals of an average that has it in would be too narrow."""
    truth, ranges, found = sampled("rare", 100, (1.0, 1.0))
    blind = found._replace(rise=np.zeros_like(found.rise), fall=np.zeros_like(found.fall))
    balanced = OF_TWO.index("balanced_accuracy")
    assert held(truth, measure_interval(blind, ranges))[balanced] < 0.7 * N_SAMPLES


@pytest.mark.slow
def test_intervals_narrow_as_draws_come_and_lie_in_the_range_with_the_estimate():
    widths = []
    for n in (20, 100):
        _, ranges, found = sampled("rare", n, (1.0, 5.0))
        ends, (low, high) = measure_interval(found, ranges), np.array(ranges).T
        assert ((low <= ends[..., 0]) & (ends[..., 0] <= found.value)).all()
        assert ((found.value <= ends[..., 1]) & (ends[..., 1] <= high)).all()
        assert (ends[..., 0] < ends[..., 1]).all()
        widths.append(np.median(ends[..., 1] - ends[..., 0], axis=0))
    assert (widths[1] < widths[0]).all()


def one(value, variance=0.0, rise=0.0, fall=0.0, *, n=100, defined=True, exact=False) -> Estimate:
    value, variance, rise, fall = np.broadcast_arrays(*map(np.atleast_1d, (value, variance, rise, fall)))
    return Estimate(
        value, variance, variance, rise, fall, np.full(value.shape, defined), np.float64(n), np.bool_(exact)
    )


@pytest.mark.parametrize("n", [1, 7, 40])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_share_of_uniform_draws_has_the_interval_of_clopper_and_pearson(n, level):
    x = np.arange(n + 1)
    share = x / n
    found = one(share, share * (1 - share) / n, (1 - share) / n, share / n, n=n)
    ends = measure_interval(found, [(0, 1)] * (n + 1), level)
    for k in x:
        expected = stats.binomtest(int(k), n).proportion_ci(level, "exact")
        np.testing.assert_allclose(ends[k], [expected.low, expected.high], atol=1e-12)
    np.testing.assert_allclose(effective_draws(found, [(0, 1)] * (n + 1)), n, rtol=1e-9)
    # Where there is a spread, it says as much of one more draw.
    unsaid = found._replace(rise=np.zeros(n + 1), fall=np.zeros(n + 1))
    np.testing.assert_allclose(measure_interval(unsaid, [(0, 1)] * (n + 1), level)[1:-1], ends[1:-1], atol=1e-12)


def test_a_sum_of_rare_weighted_counts_has_the_interval_of_fay_and_feuer():
    """Directly standardised rates: Gamma ends, of mean y and y + w, and variance v and v + w^2."""
    y, v, w = 3e-6, 4e-12, 2e-6
    low, high = measure_interval(one(y, v, w, 0.0), [(0, 1)])[0]
    np.testing.assert_allclose(
        high, stats.gamma((y + w) ** 2 / (v + w**2), scale=(v + w**2) / (y + w)).ppf(0.975), rtol=1e-4
    )
    np.testing.assert_allclose(low, stats.gamma(y**2 / v, scale=v / y).ppf(0.025), rtol=1e-4)


def test_a_range_is_a_matter_of_units():
    unit = measure_interval(one(0.8, 0.01, 0.02, 0.05), [(0, 1)])
    wide = measure_interval(one(0.6, 0.04, 0.04, 0.1), [(-1, 1)])
    np.testing.assert_allclose(wide, 2 * unit - 1, rtol=1e-12)


def test_what_the_draws_do_not_define_may_be_anything_and_what_is_exact_nothing_else():
    assert measure_interval(one([0.3, 5.0], defined=False), [(0, 1), (0, np.inf)]).tolist() == [[0, 1], [0, np.inf]]
    assert measure_interval(one(0.3, 0.1, exact=True), [(0, 1)]).tolist() == [[0.3, 0.3]]
    assert effective_draws(one(0.3, defined=False), [(0, 1)]).tolist() == [0]
    assert measure_interval(one(0.3), [(0, 1)]).tolist() == [[0, 1]]  # nothing says how far it may be off


def test_a_measure_of_any_size_has_the_interval_of_student():
    low, high = measure_interval(one(5.0, 0.25, n=9), [(-np.inf, np.inf)])[0]
    half = stats.t(8).ppf(0.975) * 0.5
    np.testing.assert_allclose([low, high], [5 - half, 5 + half])
    low, high = measure_interval(one(5.0, 0.25, 2.0, 0.3, n=9), [(-np.inf, np.inf)])[0]
    down, up = 0.3 + half * np.sqrt(1 + 0.6**2), 2 + half * np.sqrt(1 + 4.0**2)  # one more draw has a spread, too
    np.testing.assert_allclose([low, high], [5 - down, 5 + up])
    assert measure_interval(one(0.1, 0.25, n=9), [(0, np.inf)])[0, 0] == 0
    assert not np.isfinite(measure_interval(one(5.0), [(-np.inf, np.inf)])).any()


@pytest.mark.parametrize("rounded", [1 - 2**-52, 1 - 2**-53, 2**-60])
@pytest.mark.parametrize("variance", [0.0, 2e-33, 3e-17])
def test_a_measure_that_rounding_keeps_from_the_end_of_its_range_is_there(rounded, variance):
    """Recall where all items are predicted positive: sums of weights in two orders differ in the last digit."""

    def estimate(value, variance):
        spread = np.array([0.01]), np.array([0.01])
        return Estimate(np.array([value]), np.array([variance]), None, *spread, np.array([True]), 100, False)

    there, near = estimate(float(round(rounded)), 0.0), estimate(rounded, variance)
    expected = measure_interval(there, [(0, 1)])
    np.testing.assert_allclose(measure_interval(near, [(0, 1)]), expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose(effective_draws(near, [(0, 1)]), effective_draws(there, [(0, 1)]), rtol=1e-9)
