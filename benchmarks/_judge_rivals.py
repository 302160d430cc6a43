"""Prediction-powered inference beside labels of a judge's items, by the packages ppi-python and glide-py.

A rival draws items and estimates the rate of positive labels, or the mean of any, with a 95 % interval. All draw
without replacement, and have their weights of predictions tuned.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Rival = Callable[[np.ndarray, np.ndarray, int, int], tuple[float, float, float]]
VALID = 0.88  # share of intervals that hold the rate
_STRATA = (2, 5, 10)  # of the judge's scores
_LEAST = (0.02, 0.1)  # standard deviation that an item is taken to have at least


class Found(NamedTuple):
    """Squared errors of a rival's estimates, and whether its intervals hold the rate."""

    name: str
    squares: np.ndarray
    held: np.ndarray


def ppi(labels: np.ndarray, proxy: np.ndarray, n: int, seed: int) -> tuple[float, float, float]:
    """PPI++ on random labels, by ppi-python."""
    from ppi_py import ppi_mean_ci

    items = np.random.default_rng(seed).choice(len(labels), n, replace=False)
    lower, upper = ppi_mean_ci(labels[items], proxy[items], proxy, alpha=0.05)
    return (lower.item() + upper.item()) / 2, lower.item(), upper.item()


def stratified(n_strata: int, strategy: str) -> Rival:
    """PPI++ in strata of the score of equal size, labels allotted alike or by the scores' variance, by glide-py."""

    def estimate(labels: np.ndarray, proxy: np.ndarray, n: int, seed: int) -> tuple[float, float, float]:
        from glide.estimators import StratifiedPPIMeanEstimator
        from glide.samplers import StratifiedSampler

        groups = np.searchsorted(np.quantile(proxy, np.arange(1, n_strata) / n_strata), proxy, side="right")
        drawn = StratifiedSampler().sample(proxy, groups, n, strategy=strategy, random_seed=seed)  # type: ignore
        told = np.where(drawn == 1, labels, np.nan)
        return _ends(StratifiedPPIMeanEstimator().estimate(told, proxy, groups))

    return estimate


def active(least: float) -> Rival:
    """Active statistical inference: items by the standard deviation that the score says, by glide-py."""

    def estimate(labels: np.ndarray, proxy: np.ndarray, n: int, seed: int) -> tuple[float, float, float]:
        from glide.estimators import ASIMeanEstimator
        from glide.samplers import ActiveSampler

        spread = np.maximum(np.sqrt(proxy * (1 - proxy)), least)
        if n * spread.max() > spread.sum():
            raise ValueError("Some items would be certain, which takes the sampler's solver minutes per sample.")
        probability, drawn = ActiveSampler().sample(spread, n, random_seed=seed)
        return _ends(ASIMeanEstimator().estimate(np.where(drawn == 1, labels, np.nan), proxy, probability))

    return estimate


def rivals() -> dict[str, Rival]:
    """Return the rivals that are installed."""
    found: dict[str, Rival] = {"PPI++": ppi}
    try:
        import glide.estimators  # noqa: F401
    except ImportError:
        print("glide-py is not installed (it takes Python 3.12 or later): PPI++ of ppi-python is the only rival.")
        return found
    found |= {f"PPI++, {k} {way} strata": stratified(k, way) for k in _STRATA for way in ("proportional", "neyman")}
    return found | {f"active, {least:g}": active(least) for least in _LEAST}


def best_valid(labels: np.ndarray, proxy: np.ndarray, n: int, samples: int) -> Found:
    """Return the rival of the least error of those whose intervals hold the rate often enough, else the most often.

    One that cannot answer, since a stratum has no label or labels are alike, has no interval that holds.
    """
    truth, found = labels.mean(), []
    labels, proxy = labels.astype(np.float64), proxy.astype(np.float64)
    is_probability = proxy.min() >= 0 and proxy.max() <= 1
    for name, rival in rivals().items():
        if name.startswith("active") and not is_probability:
            continue
        ends = np.full((samples, 3), np.nan)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for seed in range(samples):
                try:
                    ends[seed] = rival(labels, proxy, n, seed)
                except (ValueError, ZeroDivisionError, IndexError):
                    if np.isnan(ends[:, 0]).sum() > 0.2 * samples:
                        break
        if np.isnan(ends[:, 0]).mean() > 0.2:
            continue
        held = (ends[:, 1] <= truth) & (truth <= ends[:, 2])
        squares = (ends[:, 0] - truth) ** 2
        found.append(Found(name, np.where(np.isnan(squares), np.nanmean(squares), squares), held))
    valid = [one for one in found if one.held.mean() >= VALID]
    return min(valid, key=lambda one: one.squares.mean()) if valid else max(found, key=lambda one: one.held.mean())


def _ends(result: object) -> tuple[float, float, float]:
    interval = result.confidence_interval  # type: ignore[attr-defined]
    return float(interval.mean), float(interval.lower_bound), float(interval.upper_bound)
