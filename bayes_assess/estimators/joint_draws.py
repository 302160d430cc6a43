"""Ranks and differences of several values, from joint draws: of a posterior, or draws that estimates stand for.

Shapes: draws S, values G.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from bayes_assess._tools.seeds import generator
from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess.estimators.posterior_measure import posterior_measure
from bayes_assess.estimators.verdicts import region_masses

_EQUAL = 1e-13  # of the largest value: equal shares of different groups are equal floats, different ones farther apart
_ROUNDING = 1e-9  # of differences that are exactly the rope
_PAIR_NUMBERS = 20_000_000  # of the draws of all differences
_FEWEST = 250  # draws of a difference
_RANKED_NUMBERS = 100_000  # at once, which stay in the processor's cache


def random_ranks(draws: Float[np.ndarray, "S G"], seed: int) -> Int[np.ndarray, "S G"]:
    """Rank the values of every draw, 1 = lowest; ties are broken at random.

    Parameters
    ----------
    draws : (S, G)
    seed : int

    Examples
    --------
    >>> random_ranks(np.array([[0.2, 0.9, 0.4], [0.3, 0.1, 0.2]]), seed=0).tolist()
    [[1, 3, 2], [3, 1, 2]]
    """
    ranks = np.empty(draws.shape, np.int32)
    places, rng = np.arange(1, draws.shape[1] + 1, dtype=np.int32), generator(seed, "ranks")
    width = _EQUAL * max(float(np.abs(draws).max(initial=0.0)), 1.0)
    rows = max(1, _RANKED_NUMBERS // max(1, len(places)))
    for start in range(0, len(draws), rows):
        block = draws[start : start + rows]
        order = np.argsort(block + width * rng.random(block.shape), axis=1)
        np.put_along_axis(ranks[start : start + rows], order, places[None], axis=1)
    return ranks


def leads(values: Float[np.ndarray, "*batch G"]) -> Float[np.ndarray, "*batch G"]:
    """Compute by how much every value is ahead of the highest of the others, (..., G); negative where it is behind.

    Examples
    --------
    >>> leads(np.array([[0.25, 1.0, 0.5], [0.0, 0.0, -1.0]])).tolist()
    [[-0.75, 0.5, -0.5], [0.0, 0.0, -1.0]]
    """
    second, first = np.moveaxis(np.partition(values, -2, axis=-1)[..., -2:], -1, 0)[..., None]
    alone = (values == first) & ((values == first).sum(-1, keepdims=True) == 1)
    return values - np.where(alone, second, first)


def bounded_leads(ends: Float[np.ndarray, "*batch G 2"]) -> Float[np.ndarray, "*batch G 2"]:
    """Bound `leads` by bounds of the values, (..., G, 2), which hold all values at once; the highest is the best.

    Examples
    --------
    >>> bounded_leads(np.array([[0.75, 1.0], [0.25, 0.5], [0.0, 0.25]])).tolist()
    [[0.25, 0.75], [-0.75, -0.25], [-1.0, -0.5]]
    """
    low, high = ends[..., 0], ends[..., 1]
    return np.stack([leads(high) - (high - low), leads(low) + (high - low)], axis=-1)


def widened_leads(
    values: Float[np.ndarray, "S G"], ends: Float[np.ndarray, "G 2"], level: float
) -> Float[np.ndarray, "G 2"]:
    """Widen intervals of `leads` that end below those of the differences from the foremost value.

    A lead is the least of the differences from all others, so that it is no more than that from the foremost one. The
    highest of several values that are nearly equal is overestimated, and more so by draws about the estimates: leads of
    all others seem to be less than they are.

    Parameters
    ----------
    values : (S, G)
        Joint draws of the values, the highest being the best.
    ends : (G, 2)
        Intervals of the leads.
    level : float in (0, 1)

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(0.0, 1.0, (4000, 20)) + np.linspace(-0.9, 1.0, 20)
    >>> ends = np.quantile(leads(values), [0.025, 0.975], axis=0).T
    >>> ends[-2].round(1).tolist(), widened_leads(values, ends, 0.95)[-2].round(1).tolist()
    ([-3.6, 1.1], [-3.6, 2.8])
    """
    foremost = int(np.median(values, axis=0).argmax())
    upper = posterior_measure(values - values[:, [foremost]], False).interval(level)[:, 1]
    upper[foremost] = ends[foremost, 1]
    return np.stack([ends[:, 0], np.maximum(ends[:, 1], upper)], axis=-1)


class PairDifferences(NamedTuple):
    """Differences of all pairs of values, row less column.

    Attributes
    ----------
    estimate : (G, G)
        Medians.
    interval : (G, G, 2)
        See `PosteriorMeasure.interval`.
    masses : (G, G, 3)
        Probabilities that the row is lower, within the rope, and higher.
    """

    estimate: Float[np.ndarray, "G G"]
    interval: Float[np.ndarray, "G G 2"]
    masses: Float[np.ndarray, "G G 3"]


def pair_differences(
    draws: Float[np.ndarray, "S G"],
    rope: float,
    level: float,
    exact: bool = False,
    cautious: Bool[np.ndarray, "S P"] | None = None,
) -> PairDifferences:
    """Compare all pairs of values; of very many values by fewer of their draws.

    Parameters
    ----------
    draws : (S, G)
    rope : float
        Half-width of the region in which two values count as equal.
    level : float in (0, 1)
        Of the intervals.
    exact : bool
        Whether all draws are the values themselves.
    cautious : (S, P) booleans, optional
        Draws of precautions, which count for medians as in `posterior_measure`, and in full for intervals and masses:
        a mass above the rope of (1 + level) / 2 or more and an interval above it are to be one verdict.

    Examples
    --------
    >>> draws = np.array([[0.7, 0.6], [0.8, 0.6], [0.9, 0.5], [0.5, 0.5]])
    >>> pair_differences(draws, 0.05, 0.9).masses[0, 1].tolist()
    [0.0, 0.25, 0.75]
    """
    n = draws.shape[1]
    some = slice(None, None, max(1, len(draws) // int(np.clip(_PAIR_NUMBERS // n**2, _FEWEST, len(draws)))))
    draws, cautious = draws[some], None if cautious is None else cautious[some]
    estimate, interval, masses = np.zeros((n, n)), np.zeros((n, n, 2)), np.zeros((n, n, 3))
    masses[np.arange(n), np.arange(n), 1] = 1.0  # each is as good as itself
    for i in range(n - 1):
        away = draws[:, [i]] - draws[:, i + 1 :]
        difference = posterior_measure(away, exact, cautious)
        estimate[i, i + 1 :], interval[i, i + 1 :] = difference.value, difference.interval(level)
        masses[i, i + 1 :] = region_masses(away.T, rope + _ROUNDING)
    upper = np.triu_indices(n, 1)
    estimate.T[upper], interval.swapaxes(0, 1)[upper] = -estimate[upper], -interval[upper][:, ::-1]
    masses.swapaxes(0, 1)[upper] = masses[upper][:, ::-1]
    return PairDifferences(estimate, interval, masses)


def joined_draws(
    quantiles: Float[np.ndarray, "G Q"], correlation: Float[np.ndarray, "G G"] | None, n: int, seed: int
) -> Float[np.ndarray, "n G"]:
    """Draw values of several estimates that are correlated, each from its own quantiles: a Gaussian copula.

    Parameters
    ----------
    quantiles : (G, Q)
        Of every estimate at the probabilities (i + 1/2) / Q, see `interval_quantiles`.
    correlation : (G, G), optional
        Of the estimates; left out, they are independent.
    n : int
        Draws.
    seed : int

    Examples
    --------
    >>> quantiles = np.array([[0.1, 0.2, 0.3], [0.4, 0.4, 0.4]])
    >>> draws = joined_draws(quantiles, None, 3000, seed=0)
    >>> draws[:, 1].tolist() == [0.4] * 3000, bool(abs((draws[:, 0] < 0.15).mean() - 1 / 3) < 0.03)
    (True, True)
    """
    normal = generator(seed, "joined draws").standard_normal((n, len(quantiles)))
    if correlation is not None:
        variance, axes = np.linalg.eigh(correlation)
        normal = normal @ (axes * np.sqrt(np.maximum(variance, 0))).T
        normal = normal / np.sqrt(np.maximum(((axes**2) * np.maximum(variance, 0)).sum(1), 1e-12))
    at = np.minimum((special.ndtr(normal) * quantiles.shape[1]).astype(np.int64), quantiles.shape[1] - 1)
    return np.take_along_axis(quantiles, at.T, axis=1).T
