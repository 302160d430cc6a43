"""Made pools of ratings and of judges as unlike one another as those of users, for choosing constants of beliefs.

Labels have 3 to 7 classes and are ``cut`` (a normal variable), ``heaped`` (most of them the highest, few anything) or
``any`` (shares of any kind). The judge is ``biased`` (close, but for a shift and a slope), ``copies`` (right but for a
share of the items, of which it says anything), ``blind`` (gives labels of the lowest class the highest), ``constant``,
``coarse`` (knows two classes) or ``useless``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import bayes_assess as ba

LABELS = ("cut", "heaped", "any")
JUDGES = ("biased", "copies", "blind", "constant", "coarse", "useless")


def pools(n: int, seed: int) -> Iterator[tuple[str, ba.Pool, np.ndarray, dict[str, str | None]]]:
    """Yield names, pools, labels (M,) from 1 on, and what is known of them."""
    for i in range(n):
        rng = np.random.default_rng([31, seed, i])
        labels_as, judge = LABELS[i % len(LABELS)], JUDGES[i // len(LABELS) % len(JUDGES)]
        n_items, n_classes = int(rng.integers(400, 3001)), int(rng.integers(3, 8))
        n_groups = int(rng.choice([1, 1, 2, 4]))
        group = rng.choice(n_groups, n_items, p=rng.dirichlet(np.full(n_groups, 3.0)))
        labels = _labels(rng, labels_as, group, n_classes)
        said = _said(rng, judge, labels, group, n_classes)
        groups = {"system": group} if n_groups > 1 else None
        pool = ba.Pool(predictions=said + 1, classes=list(range(1, n_classes + 1)), groups=groups)
        by = None if groups is None else "system"
        yield f"{i} {labels_as} {judge}", pool, labels + 1, {"labels": labels_as, "judge": judge, "by": by}


def _labels(rng: np.random.Generator, labels_as: str, group: np.ndarray, n_classes: int) -> np.ndarray:
    n, n_groups = len(group), int(group.max()) + 1
    if labels_as == "cut":
        cuts = np.sort(rng.normal(rng.normal(), 1.0, n_classes - 1))
        return (rng.normal(rng.normal(0, 0.4, n_groups)[group], 1.0)[:, None] > cuts).sum(1)
    if labels_as == "heaped":
        few = np.exp(rng.uniform(np.log(0.004), np.log(0.25)))
        every = [np.append(few * rng.dirichlet(np.full(n_classes - 1, 0.4)), 1 - few) for _ in range(n_groups)]
    else:
        every = [rng.dirichlet(np.full(n_classes, 0.6)) for _ in range(n_groups)]
    shares = np.array(every)[group]
    return np.minimum((rng.random(n)[:, None] > shares.cumsum(1)).sum(1), n_classes - 1)


def _said(rng: np.random.Generator, judge: str, labels: np.ndarray, group: np.ndarray, n_classes: int) -> np.ndarray:
    n, top, n_groups = len(labels), n_classes - 1, int(group.max()) + 1
    if judge == "constant":
        return np.full(n, top if rng.random() < 0.7 else rng.integers(n_classes))
    if judge == "useless":
        return rng.choice(n_classes, n, p=rng.dirichlet(np.ones(n_classes)))
    if judge == "coarse":
        low, high = sorted(rng.choice(n_classes, 2, replace=False))
        right = rng.random(n) < rng.uniform(0.6, 1.0)
        return np.where((labels > top / 2) == right, high, low)
    if judge == "copies":
        anything = rng.choice(n_classes, n, p=rng.dirichlet(np.ones(n_classes)))
        return np.where(rng.random(n) < np.exp(rng.uniform(np.log(0.01), np.log(0.4))), anything, labels)
    shift, slope = rng.normal(0, 0.5, n_groups)[group] + rng.normal(0, 0.5), rng.uniform(0.4, 1.2)
    close = np.clip(
        np.round(top / 2 + shift + slope * (labels - top / 2) + rng.normal(0, rng.uniform(0.1, 1.2), n)), 0, top
    )
    blind = (labels == labels.min()) & (rng.random(n) < rng.uniform(0.5, 1.0)) & (judge == "blind")
    return np.where(blind, top, close).astype(int)
