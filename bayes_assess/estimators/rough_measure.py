"""Measures of a finite pool from moments of sums over its cells, where a plan asks for many rough ones."""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.estimators.posterior_measure import added_by_attribute, values_by_attribute
from bayes_assess.measures.cell_measure import CellMeasure

_LEAST = 1e-9  # parameter


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
    known = counts.sum(-1)
    rest, total = np.asarray(measure.size) - known, np.asarray(strength, np.float64) + known
    rate = (strength * curves + counts[:, 1]) / total
    variance = rest * rate * (1 - rate) * (1 + (rest - 1) / (total + 1))
    mean, variance = (added_by_attribute(measure, part) for part in (rest * rate, variance))
    items = np.bincount(np.asarray(measure.attribute), rest, measure.n_attributes)
    share = mean / np.maximum(items, 1)
    strength = share * (1 - share) * items**2 / np.maximum(variance, _LEAST) - 1
    a, b = (np.maximum(strength * part, _LEAST) for part in (share, 1 - share))
    events = items * rng.beta(a, b) + added_by_attribute(measure, counts[None, :, 1])
    size = np.bincount(np.asarray(measure.attribute), np.asarray(measure.size), measure.n_attributes)
    return values_by_attribute(measure, np.stack([size - events, events], axis=-1))
