"""How probable it is that a difference lies below, inside or above a region around 0, from its quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.estimators.intervals import measure_interval
from bayes_assess.estimators.weighted import Estimate

if TYPE_CHECKING:
    from bayes_assess.estimators.ratio_interval import Ranges


_ROUNDING = 1e-12  # of masses that are equal
_LEVELS = np.linspace(0.005, 0.995, 100)  # of the intervals whose ends are quantiles


def interval_quantiles(answer: Estimate, ranges: Ranges) -> Float[np.ndarray, "*batch k Q"]:
    """Take the ends of intervals of all levels for quantiles at (i + 1/2) / Q: what estimates say, as intervals do.

    Parameters
    ----------
    answer : Estimate of arrays (..., k)
    ranges : k pairs (lowest, highest)
    """
    ends = np.stack([measure_interval(answer, ranges, level) for level in _LEVELS], axis=-1)  # (..., k, 2, levels)
    return np.concatenate([ends[..., 0, ::-1], ends[..., 1, :]], axis=-1)


def region_masses(quantiles: Float[np.ndarray, "*batch Q"], rope: float) -> Float[np.ndarray, "*batch 3"]:
    """Compute the probabilities of D < -rope, |D| <= rope and D > rope.

    Parameters
    ----------
    quantiles : (..., Q)
        Of D, at (i + 1/2) / Q.
    rope : float

    Examples
    --------
    >>> region_masses(np.array([-0.2, 0.0, 0.01, 0.3]), 0.05).tolist()
    [0.25, 0.5, 0.25]
    """
    below, above = (quantiles < -rope).mean(-1), (quantiles > rope).mean(-1)
    return np.stack([below, 1 - below - above, above], axis=-1)


def verdict_of(
    masses: Float[np.ndarray, "*batch 3"], difference: Float[np.ndarray, "*batch"] | float, rope: float
) -> Int[np.ndarray, "*batch"]:
    """Return the most probable region; of some that are equally probable that of the estimate, or on its side of 0.

    Intervals from few draws leave a gap around the estimate at any level, and the masses below and above it are equal.

    Examples
    --------
    >>> [int(verdict_of(np.array([0.5, 0.0, 0.5]), difference, 0.05)) for difference in (0.3, 0.03, -0.03)]
    [2, 2, 0]
    >>> int(verdict_of(np.array([0.6, 0.0, 0.4]), 0.3, 0.05))
    0
    """
    masses = np.asarray(masses)
    tied = masses >= masses.max(-1, keepdims=True) - _ROUNDING
    region = masses.argmax(-1)
    for near in (region_of(difference, 0.0), region_of(difference, rope)):  # the last of those that are tied
        region = np.where(np.take_along_axis(tied, near[..., None], -1)[..., 0], near, region)
    return region


def region_of(difference: Float[np.ndarray, "*batch"] | float, rope: float) -> Int[np.ndarray, "*batch"]:
    """Return 0 below, 1 inside and 2 above the region.

    Examples
    --------
    >>> region_of(np.array([-0.2, 0.01, 0.3]), 0.05).tolist()
    [0, 1, 2]
    """
    return (np.asarray(difference) >= -rope).astype(np.int64) + (np.asarray(difference) > rope)
