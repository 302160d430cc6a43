"""Ranked lists with labels, and the slack with which their precision is weakly monotone."""

from __future__ import annotations

import numpy as np


def precision_of(labels):
    """Precision at every rank."""
    return np.cumsum(labels) / np.arange(1, len(labels) + 1)


def slack_of(p, monotone_from):
    """Return the least slack: one more than the greatest distance from a rank to a later one of higher precision."""
    ranks = np.arange(monotone_from, len(p) + 1)
    tail = p[monotone_from - 1 :]
    highest_after = np.maximum.accumulate(tail[::-1])  # increasing: over the last 1, 2, ... ranks
    last = len(p) - np.searchsorted(highest_after, tail, "right")
    return max(1, int((last - ranks).max()) + 1)


def ranked_list(rng, n_items):
    """Draw labels of falling density: independent ones, or as many as expected, rounded."""
    knots = np.sort(rng.random(4))[::-1]
    rates = np.interp(np.arange(n_items) / n_items, [0, *np.sort(rng.random(2)), 1], knots)
    if rng.random() < 0.5:
        return rng.random(n_items) < rates
    return np.diff(np.floor(np.cumsum(rates) + rng.random()), prepend=0.0).clip(0, 1) > 0
