"""Measures of a finite pool from moments of sums over its cells, where a plan asks for many rough ones."""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.estimators.posterior_measure import added_by_attribute, values_by_attribute
from bayes_assess.measures.cell_measure import CellMeasure

_LEAST = 1e-9  # parameter
_AT_ONCE = 32_000  # numbers, which stay in the processor's cache


def rough_measure_draws(
    rng: np.random.Generator,
    measure: CellMeasure,
    curves: Float[np.ndarray, "n K"],
    strength: Float[np.ndarray, "n K"],
    counts: Int[np.ndarray, "K 2"],
) -> Float[np.ndarray, "n k"]:
    """Draw about the same as `measure_draws` of two outcomes, in less time where many cells are of one attribute.

    Given a curve, the share of the events among all unlabelled items of an attribute is taken for a Beta variable with
    the mean and the variance of the sum of its cells' beta-binomial numbers of events.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.estimators.posterior_measure import measure_draws
    >>> from bayes_assess.pool.rank_strata import RankStrata
    >>> pool = ba.Pool(scores=np.linspace(0.01, 0.99, 4000))
    >>> measure = ba.Metric("f1").setting(pool, strata=RankStrata(40)).reward
    >>> n_cells = len(measure.size)
    >>> curves, counts = np.tile(np.linspace(0.01, 0.99, n_cells), (4000, 1)), np.zeros((n_cells, 2), int)
    >>> for draw in (measure_draws, rough_measure_draws):
    ...     draws = draw(np.random.default_rng(0), measure, curves, np.full_like(curves, 50.0), counts)
    ...     print(draws.mean().round(2), draws.std().round(2))
    0.67 0.01
    0.67 0.01
    """
    attribute, size = np.asarray(measure.attribute), np.asarray(measure.size)
    mean, variance = _moments(measure, curves, strength, counts)
    items = np.bincount(attribute, size - counts.sum(-1), measure.n_attributes)
    share = mean / np.maximum(items, 1)
    strength = share * (1 - share) * items**2 / np.maximum(variance, _LEAST) - 1
    a, b = (np.maximum(strength * part, _LEAST) for part in (share, 1 - share))
    events = items * rng.beta(a, b) + added_by_attribute(measure, counts[None, :, 1])
    size = np.bincount(attribute, size, measure.n_attributes)
    return values_by_attribute(measure, np.stack([size - events, events], axis=-1))


def _moments(
    measure: CellMeasure,
    curves: Float[np.ndarray, "n K"],
    strength: Float[np.ndarray, "n K"],
    counts: Int[np.ndarray, "K 2"],
) -> tuple[Float[np.ndarray, "n A"], Float[np.ndarray, "n A"]]:
    """Compute the mean and the variance of the number of events among the unlabelled items of every attribute."""
    attribute = np.asarray(measure.attribute)
    order = np.argsort(attribute, kind="stable")
    present, first = np.unique(attribute[order], return_index=True)
    known, known_events = counts.sum(-1)[order].astype(np.float64), counts[order, 1]
    rest = np.asarray(measure.size)[order] - known
    mean, variance = np.zeros((2, len(curves), measure.n_attributes))
    step = max(1, _AT_ONCE // len(order))
    for start in range(0, len(curves), step):
        rows = slice(start, start + step)
        labels = strength[rows][:, order]  # that a curve counts as
        rate = labels * curves[rows][:, order] + known_events
        total = labels + known
        rate /= total
        total += 1
        alike = np.divide(rest - 1, total, out=total)
        alike += 1
        expected = rest * rate
        mean[rows, present] = np.add.reduceat(expected, first, axis=1)
        expected *= np.subtract(1, rate, out=rate)
        expected *= alike
        variance[rows, present] = np.add.reduceat(expected, first, axis=1)
    return mean, variance
