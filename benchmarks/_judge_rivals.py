"""Prediction-powered inference beside labels of a judge's items, by the packages ppi-python and glide-py.

A rival draws items and estimates the rate of positive labels, or the mean of any, with a 95 % interval. All draw
without replacement, and have their weights of predictions tuned.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

Rival = Callable[[np.ndarray, np.ndarray, int, int], tuple[float, float, float]]
VALID = 0.88  # share of intervals that hold the rate
_STRATA = (2, 5, 10)  # of the judge's scores
_LEAST = (0.001, 0.005, 0.02, 0.1, 0.3)  # standard deviation that an item is taken to have at least


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


def bootstrap(labels: np.ndarray, proxy: np.ndarray, n: int, seed: int) -> tuple[float, float, float]:
    """Predict-then-debias on random labels with an interval of 500 bootstrap samples, by glide-py."""
    from glide.estimators import PTDMeanEstimator

    told = np.full(len(labels), np.nan)
    items = np.random.default_rng(seed).choice(len(labels), n, replace=False)
    told[items] = labels[items]
    return _ends(PTDMeanEstimator().estimate(told, proxy, n_bootstrap=500, random_seed=seed))


def stratified(n_strata: int, strategy: str) -> Rival:
    """PPI++ in strata of the score, by glide-py.

    ``proportional`` and ``neyman`` are the strategies of its sampler, in strata of equal size. ``even`` is the same
    number of labels in each of some strata with equal sums of standard deviations sqrt(p (1 - p)), but at least 0.005:
    the best that strata can do where scores are probabilities.
    """

    def estimate(labels: np.ndarray, proxy: np.ndarray, n: int, seed: int) -> tuple[float, float, float]:
        from glide.estimators import StratifiedPPIMeanEstimator
        from glide.samplers import StratifiedSampler

        told = np.full(len(labels), np.nan)
        if strategy == "even":
            groups = _even_strata(proxy, n_strata)
            rng, parts = np.random.default_rng(seed), [np.flatnonzero(groups == g) for g in range(n_strata)]
            share = _shared(np.array([len(part) - 2 for part in parts]), n)  # the estimator wants two without labels
            drawn = np.concatenate([rng.choice(part, k, replace=False) for part, k in zip(parts, share, strict=True)])
        else:
            groups = np.searchsorted(np.quantile(proxy, np.arange(1, n_strata) / n_strata), proxy, side="right")
            chosen = StratifiedSampler().sample(proxy, groups, n, strategy=strategy, random_seed=seed)  # type: ignore
            drawn = np.flatnonzero(chosen)
        told[drawn] = labels[drawn]
        return _ends(StratifiedPPIMeanEstimator().estimate(told, proxy, groups))

    return estimate


def active(least: float) -> Rival:
    """Active statistical inference: items by the standard deviation that the score says, by glide-py."""

    def estimate(labels: np.ndarray, proxy: np.ndarray, n: int, seed: int) -> tuple[float, float, float]:
        from glide.estimators import ASIMeanEstimator
        from glide.samplers import ActiveSampler

        wanted = inclusion(np.maximum(np.sqrt(proxy * (1 - proxy)), least), n)
        probability, drawn = ActiveSampler().sample(wanted, n, random_seed=seed)
        return _ends(ASIMeanEstimator().estimate(np.where(drawn == 1, labels, np.nan), proxy, probability))

    return estimate


def inclusion(spread: np.ndarray, n: int) -> np.ndarray:
    """Return probabilities, `n` in sum and below 1, that minimise the sum of ``spread**2 / probability``.

    Given these for uncertainties, glide-py's sampler takes them as they are. Its own solver for items that would be
    certain finds the same and takes minutes per sample.
    """
    certain = np.zeros(len(spread), bool)
    while True:
        probability = np.where(certain, 1.0, spread * ((n - certain.sum()) / spread[~certain].sum()))
        beyond = ~certain & (probability > 1)
        if not beyond.any():
            return np.minimum(probability, 1 - 1e-9)
        certain |= beyond


@cache
def rivals() -> dict[str, Rival]:
    """Return the rivals that are installed."""
    found: dict[str, Rival] = {"PPI++": ppi}
    try:
        import glide.estimators  # noqa: F401
    except ImportError:
        print("glide-py is not installed (it takes Python 3.12 or later): PPI++ of ppi-python is the only rival.")
        return found
    found["PTD"] = bootstrap
    ways = ("proportional", "neyman", "even")
    found |= {f"PPI++, {k} {way} strata": stratified(k, way) for k in _STRATA for way in ways}
    return found | {f"active, {least:g}": active(least) for least in _LEAST}


def best_valid(labels: np.ndarray, proxy: np.ndarray, n: int, samples: int) -> Found:
    """Return the rival of the least error of those whose intervals hold the rate often enough, else the most often.

    One that cannot answer, since a stratum has no label or labels are alike, has no interval that holds. Rivals whose
    error is more than twice the least in the first 60 samples play no more.
    """
    truth, found, least = labels.mean(), [], np.inf
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
                    if np.isnan(ends[: seed + 1, 0]).sum() > 0.2 * min(samples, 60):
                        break
                if seed == 59 and np.nanmean((ends[:60, 0] - truth) ** 2) > 2 * least:
                    break
        if np.isnan(ends[:, 0]).mean() > 0.2:
            continue
        held = (ends[:, 1] <= truth) & (truth <= ends[:, 2])
        squares = (ends[:, 0] - truth) ** 2
        squares = np.where(np.isnan(squares), np.nanmean(squares), squares)
        found.append(Found(name, squares, held))
        if held.mean() >= VALID:
            least = min(least, squares.mean())
    valid = [one for one in found if one.held.mean() >= VALID]
    if valid:
        return min(valid, key=lambda one: one.squares.mean())
    return max(found, key=lambda one: one.held.mean())


def _even_strata(proxy: np.ndarray, n_strata: int) -> np.ndarray:
    """Return the stratum of every item by its score, such that no score is in two."""
    if proxy.min() < 0 or proxy.max() > 1:
        raise ValueError("Scores are no probabilities.")
    values, code, items = np.unique(proxy, return_inverse=True, return_counts=True)
    upto = np.cumsum(items * np.maximum(np.sqrt(values * (1 - values)), 0.005))
    return np.minimum((n_strata * upto / upto[-1]).astype(int), n_strata - 1)[code]


def _shared(most: np.ndarray, n: int) -> np.ndarray:
    """Share `n` labels evenly among strata that take no more than `most`."""
    share = np.zeros(len(most), int)
    while n > 0 and (share < most).any():
        free = np.flatnonzero(share < most)
        more = np.minimum((n + np.arange(len(free))) // len(free), most[free] - share[free])
        share[free] += more
        n -= more.sum()
    return share


def _ends(result: object) -> tuple[float, float, float]:
    interval = result.confidence_interval  # type: ignore[attr-defined]
    return float(interval.mean), float(interval.lower_bound), float(interval.upper_bound)
