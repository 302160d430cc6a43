"""Where random items contradict a belief: the intervals of both have no value in common."""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.shapes import Bool, Float

_ROUNDING = 1e-9  # of intervals that are exact
_CONTRADICTING = 0.95  # level of intervals that contradict each other, at least: by chance those of low levels part


def contradicting_level(level: float) -> float:
    """Return the level of the intervals by which random items may contradict a belief.

    Examples
    --------
    >>> contradicting_level(0.5), contradicting_level(0.99)
    (0.95, 0.99)
    """
    return max(level, _CONTRADICTING)


def contradicted(credible: Float[np.ndarray, "*batch 2"], design: Float[np.ndarray, "*batch 2"]) -> np.ndarray:
    """Tell where two intervals have no value in common.

    Examples
    --------
    >>> exact = np.array([[0.975, 0.975]])  # as sums over items and over cells have it, which differ in the last digit
    >>> contradicted(exact, exact - 1e-16).tolist(), contradicted(exact, exact - 0.1).tolist()
    ([False], [True])
    """
    return (design[..., 0] > credible[..., 1] + _ROUNDING) | (design[..., 1] < credible[..., 0] - _ROUNDING)


def widened(
    credible: Float[np.ndarray, "*batch 2"], design: Float[np.ndarray, "*batch 2"], apart: Bool[np.ndarray, "*batch"]
) -> Float[np.ndarray, "*batch 2"]:
    """Return credible intervals, and the hull of both where random items contradict them, so that both are `apart`.

    Examples
    --------
    >>> credible, design = np.array([[0.2, 0.4], [0.2, 0.4]]), np.array([[0.1, 0.9], [0.5, 0.9]])
    >>> widened(credible, design, contradicted(credible, design)).tolist()
    [[0.2, 0.4], [0.2, 0.9]]
    """
    low, high = np.minimum(design[..., 0], credible[..., 0]), np.maximum(design[..., 1], credible[..., 1])
    return np.where(apart[..., None], np.stack([low, high], axis=-1), credible)
