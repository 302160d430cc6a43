"""Means and quantiles over the pools of a study, with standard errors, and how tables write them.

Standard errors are the jackknife's over pools, which hold what chance does in the choice of pools and in the campaigns
of each, and of quantiles the bootstrap's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from _campaign_rows import FLOOR

Row = dict[str, Any]
_RESAMPLED = 400


def jackknife(statistic: Callable[[np.ndarray], float], values: np.ndarray) -> tuple[float, float]:
    """Compute a statistic of pools, and its standard error.

    Examples
    --------
    >>> jackknife(np.mean, np.array([1.0, 2.0, 3.0]))  # that of a mean is the usual one
    (2.0, 0.5773502691896257)
    """
    n = len(values)
    if n < 2:
        return float(statistic(values)) if n else np.nan, np.nan
    without = np.array([statistic(np.delete(values, i)) for i in range(n)])
    return float(statistic(values)), float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))


def bootstrap(statistic: Callable[[np.ndarray], float], values: np.ndarray) -> tuple[float, float]:
    """Compute a statistic that is not smooth, and its standard error."""
    if len(values) < 2:
        return float(statistic(values)) if len(values) else np.nan, np.nan
    chosen = np.random.default_rng(0).integers(0, len(values), (_RESAMPLED, len(values)))
    return float(statistic(values)), float(np.std([statistic(values[one]) for one in chosen]))


def geometric(values: np.ndarray) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def best_rivals(rivals: list[Row]) -> dict[tuple[str, int], float]:
    """Return the least root mean squared error of the rivals by pool and number of labels."""
    best: dict[tuple[str, int], float] = {}
    for row in rivals:
        for budget, rmse in zip(row["budgets"], row["rmse"], strict=True):
            best[row["pool"], budget] = min(best.get((row["pool"], budget), np.inf), max(rmse, FLOOR))
    return best


def with_error(value: float, error: float) -> str:
    """Write a number, and its standard error if it has one."""
    return f"{value:.3g}" + ("" if np.isnan(error) else f" ± {error:.1g}")


def heading(names: list[str]) -> str:
    """Write the head of a table."""
    return line(names) + "\n" + line(["---"] * len(names))


def line(cells: list[str]) -> str:
    """Write a line of a table."""
    return "| " + " | ".join(cells) + " |"
