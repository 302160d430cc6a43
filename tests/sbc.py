"""Simulation-based calibration: does a posterior mean what it says?

Draw a parameter from the prior, data given the parameter, and a posterior given the data. Under a right posterior the
rank of the parameter among L posterior draws is uniform on 0..L (Talts et al. 2018, "Validating Bayesian Inference
Algorithms with Simulation-Based Calibration"); under a wrong one it piles up at one end (biased), at both ends (too
narrow) or in the middle (too wide).
"""

from __future__ import annotations

import numpy as np
from scipy import stats


def ranks(truth: np.ndarray, draws: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rank of every true value among its draws, ties at random.

    Parameters
    ----------
    truth : (...)
    draws : (L, ...)
    rng : generator for ties, which rounding makes where a distribution piles up against 0 or 1

    Returns
    -------
    (...) integers in 0..L
    """
    truth, draws = np.asarray(truth), np.asarray(draws)
    tied = (draws == truth).sum(0)
    return (draws < truth).sum(0) + rng.integers(0, tied + 1)


def uniformity(rank: np.ndarray, n_draws: int, bins: int = 16) -> float:
    """p-value of the chi-square test that ranks are uniform on 0..n_draws.

    Under a right posterior it falls below alpha with probability alpha; `n_draws` + 1 is a multiple of `bins`, so that
    all bins are equally likely, and every bin expects 25 ranks or more, so that chi-square holds far into the tail.
    """
    rank = np.ravel(rank)
    if (n_draws + 1) % bins:
        raise ValueError(f"n_draws + 1 must be a multiple of the {bins} bins; found n_draws = {n_draws}.")
    if rank.size < 25 * bins:
        raise ValueError(f"{bins} bins need {25 * bins} ranks; found {rank.size}.")
    counts = np.bincount(rank * bins // (n_draws + 1), minlength=bins)
    return float(stats.chisquare(counts).pvalue)
