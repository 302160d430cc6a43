"""Random pools of many classes, unlike one another on purpose: confidence that means what it says, or does not.

A pool is made in four steps, each from wide distributions: items, classes and accuracy; the evidence for being right,
whose log odds spread little or much; what the confidence cannot see (a pocket of confident errors, labels that are
wrong themselves); and what users have (`KINDS`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import bayes_assess as ba

KINDS = ("calibrated", "overconfident", "underconfident", "shifted", "rank", "margin", "saturated")


def pools(n: int, seed: int) -> Iterator[tuple[str, ba.Pool, np.ndarray, dict[str, Any]]]:
    """Yield n pools: name, pool, labels and what was done; those of another seed are others.

    Examples
    --------
    >>> name, pool, labels, facts = next(pools(1, 0))
    >>> name, bool((pool.predictions == labels).mean() == facts["accuracy"])
    ('confidence-0-0', True)
    """
    for k in range(n):
        yield f"confidence-{seed}-{k}", *_pool(np.random.default_rng([7, seed, k]))


def _pool(rng: np.random.Generator) -> tuple[ba.Pool, np.ndarray, dict[str, Any]]:
    m = int(np.exp(rng.uniform(np.log(1500), np.log(100_000))))
    n_classes = int(np.exp(rng.uniform(np.log(2), np.log(51))))
    accuracy = 1 - np.exp(rng.uniform(np.log(0.005), np.log(0.6)))
    share = rng.dirichlet(np.full(n_classes, np.exp(rng.uniform(-0.5, 3))))
    predictions = np.concatenate([np.arange(n_classes), rng.choice(n_classes, m - n_classes, p=share)])
    x = _log_odds(rng, m, accuracy, rng.uniform(0.3, 3.5))
    right = rng.random(m) < 1 / (1 + np.exp(-x))
    pocket = rng.uniform(0.005, 0.1) if rng.random() < 0.3 else 0.0  # of the surest items that are as often wrong
    fooled = np.argsort(-x)[: m // 2][rng.random(m // 2) < pocket]
    right[fooled] = rng.random(len(fooled)) < 0.3
    noise = rng.uniform(0.002, 0.05) if rng.random() < 0.3 else 0.0
    right ^= rng.random(m) < noise
    other = (predictions + rng.integers(1, n_classes, m)) % n_classes if n_classes > 1 else predictions
    labels = np.where(right, predictions, other)
    kind = KINDS[rng.integers(len(KINDS))]
    pool = ba.Pool(predictions=predictions, confidence=_shown(rng, kind, x, n_classes), classes=range(n_classes))
    facts = {"m": m, "classes": n_classes, "accuracy": float((labels == predictions).mean()), "kind": kind}
    return pool, labels, facts | {"pocket": pocket, "noise": noise}


def _log_odds(rng: np.random.Generator, m: int, accuracy: float, spread: float) -> np.ndarray:
    """Draw log odds of being right whose mean probability is the accuracy."""
    z = rng.normal(0, spread, m)
    low, high = -20.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 / (1 + np.exp(-z - middle))).mean() < accuracy else (low, middle)
    return z + low


def _shown(rng: np.random.Generator, kind: str, x: np.ndarray, n_classes: int) -> np.ndarray:
    """Turn log odds into what is given as confidence, in [0, 1]."""
    if kind == "overconfident":
        x = x * rng.uniform(1.5, 4) + rng.uniform(0, 2)
    elif kind == "underconfident":
        x = x * rng.uniform(0.2, 0.7)
    elif kind == "shifted":
        x = x + rng.normal(0, 2)
    p = 1 / (1 + np.exp(-np.clip(x, -80, 80)))
    if kind == "rank":
        return (np.argsort(np.argsort(x)) + 0.5) / len(x)
    if kind == "margin":  # of the two highest probabilities, where the others share what is left
        return np.clip(p - (1 - p) / max(n_classes - 1, 1), 0, 1)
    if kind == "saturated":
        sharp = 1 / (1 + np.exp(-np.clip(3 * x, -80, 80)))
        return np.where(sharp > 0.999, 1.0, sharp)
    return p
