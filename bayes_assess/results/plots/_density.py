"""Densities of draws, as figures need them."""

from __future__ import annotations

import numpy as np

_FEW = 40  # distinct values up to which draws are bars rather than a curve
_POINTS = 1024


def is_discrete(draws: np.ndarray) -> bool:
    """Whether draws take so few values, or repeat one so often, that a curve would invent a spread."""
    values, counts = np.unique(draws, return_counts=True)
    return len(values) <= _FEW or counts.max() > len(draws) / 2


def density(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimate the density of draws (S,) with a Gaussian kernel on a grid that ends at the extreme draws.

    The kernel is reflected there: a distribution that ends abruptly does so in the figure, and no mass is lost.

    Parameters
    ----------
    draws : array of shape (S,)
        Not all equal.

    Returns
    -------
    grid, height : arrays of shape (P,)

    Examples
    --------
    >>> import numpy as np
    >>> grid, height = density(np.linspace(0, 2, 1000))
    >>> bool(np.allclose(height, 0.5, atol=0.01))
    True
    """
    counts, edges = np.histogram(draws, _POINTS)
    step = edges[1] - edges[0]
    # Silverman's rule, with the spread that does not mind long tails.
    spread = [s for s in (draws.std(), np.subtract(*np.quantile(draws, [0.75, 0.25])) / 1.349) if s > 0]
    width = max(0.9 * min(spread) * len(draws) ** -0.2, step / 2)
    away = np.arange(_POINTS) * step
    kernel = np.exp(-0.5 * (away / width) ** 2)
    kernel = np.concatenate([kernel[:0:-1], kernel])
    thrice = np.concatenate([counts[::-1], counts, counts[::-1]])  # reflected on both sides
    height = np.convolve(thrice, kernel, "same")[_POINTS : 2 * _POINTS]
    return (edges[:-1] + edges[1:]) / 2, height / (height.sum() * step)
