"""Random pools of many classes with scores of all of them, unlike one another on purpose: which errors occur, and why.

Items are points around the centres of their classes, some of which are hardly apart. The classifier knows the centres,
or has them wrong, may or may not know how frequent the classes are, and writes its probabilities as they are, too sure,
too doubtful, saturated, or with a preference for some classes (`KINDS`). Some labels are wrong, and in some pools a
part of one class is labelled as another.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import bayes_assess as ba

KINDS = ("as they are", "over-confident", "under-confident", "saturated", "partial")


def pools(n: int, seed: int) -> Iterator[tuple[str, str, ba.Pool, np.ndarray]]:
    """Yield n pools: name, kind, pool and labels; those of another seed are others.

    Examples
    --------
    >>> name, kind, pool, labels = next(pools(1, 0))
    >>> name, kind in KINDS, len(labels) == pool.n_items
    ('classes-0-0', True, True)
    """
    for k in range(n):
        kind, scores, labels = _scored(np.random.default_rng([11, seed, k]))
        yield f"classes-{seed}-{k}", kind, of_scores(scores), labels


def balanced(n: int, seed: int) -> Iterator[tuple[str, str, ba.Pool, np.ndarray]]:
    """Yield n pools of classifiers that were fitted to as many items of every class, of which some are rare.

    Examples
    --------
    >>> name, kind, pool, labels = next(balanced(1, 0))
    >>> bool(np.bincount(labels, minlength=pool.n_classes).min() < 0.3 * len(labels) / pool.n_classes)
    True
    """
    for k in range(n):
        rng = np.random.default_rng([12, seed, k])
        m, n_classes = (int(np.exp(rng.uniform(*np.log(ends)))) for ends in ((1500, 8000), (5, 36)))
        share = rng.dirichlet(np.full(n_classes, rng.uniform(0.3, 1.0)))
        n_features = min(n_classes, 8)
        centre = rng.normal(0, 1, (n_classes, n_features)) * rng.uniform(0.8, 1.6)
        labels = rng.choice(n_classes, m, p=share)
        x = centre[labels] + rng.normal(0, 1, (m, n_features))
        sharpness = np.exp(rng.uniform(-1, 1)) if rng.random() < 0.5 else 1.0
        log_odds = -0.5 * sharpness * ((x[:, None] - centre) ** 2).sum(2)
        scores = np.exp(log_odds - log_odds.max(1, keepdims=True))
        scores /= scores.sum(1, keepdims=True)
        kind = "as they are" if sharpness == 1 else "over-confident" if sharpness > 1 else "under-confident"
        yield f"balanced-{seed}-{k}", kind, of_scores(scores), labels


def of_scores(scores: np.ndarray) -> ba.Pool:
    """Make a pool of the most probable classes."""
    return ba.Pool(predictions=scores.argmax(1), scores=scores, classes=range(scores.shape[1]))


def _scored(rng: np.random.Generator) -> tuple[str, np.ndarray, np.ndarray]:
    m = int(np.exp(rng.uniform(np.log(1500), np.log(20_000))))
    n_classes = int(np.exp(rng.uniform(np.log(3), np.log(16))))
    share = rng.dirichlet(np.full(n_classes, np.exp(rng.uniform(-0.7, 3))))
    n_features = min(n_classes, 6)
    centre = rng.normal(0, 1, (n_classes, n_features)) * np.exp(rng.uniform(-0.2, 1.2))
    if rng.random() < 0.4:
        one, other = rng.choice(n_classes, 2, replace=False)
        centre[other] = centre[one] + rng.normal(0, 0.3, n_features)
    labels = rng.choice(n_classes, m, p=share)
    x = centre[labels] + rng.normal(0, 1, (m, n_features))
    taken = centre + rng.normal(0, rng.choice([0.0, 0.3, 0.8]), centre.shape)
    log_odds = -0.5 * ((x[:, None] - taken) ** 2).sum(2) + rng.integers(2) * np.log(share + 1e-6)
    kind = KINDS[rng.integers(len(KINDS))]
    sharper = {"over-confident": rng.uniform(1.5, 4), "under-confident": rng.uniform(0.2, 0.7), "saturated": 6.0}
    shift = rng.normal(0, 2, n_classes) if kind == "partial" else 0.0
    log_odds = sharper.get(kind, 1.0) * log_odds + shift
    scores = np.exp(log_odds - log_odds.max(1, keepdims=True))
    scores /= scores.sum(1, keepdims=True)
    if kind == "saturated":
        scores = np.where(scores > 1 - 1e-6, 1.0, scores)
        scores /= scores.sum(1, keepdims=True)
    wrong = rng.uniform(0.002, 0.05) if rng.random() < 0.3 else 0.0
    labels = np.where(rng.random(m) < wrong, rng.integers(0, n_classes, m), labels)
    if rng.random() < 0.25:
        one, other = rng.choice(n_classes, 2, replace=False)
        labels = np.where((labels == one) & (rng.random(m) < rng.uniform(0.2, 0.7)), other, labels)
    return kind, scores, labels
