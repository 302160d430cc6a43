"""Worlds of classifiers that scikit-learn fitted, for `audit_coverage.py`: errors have causes that nobody wrote down.

The first system of a world is one of the kinds of `fitted_pools.py`, drawn anew; "new" and "old" are two others, fitted
to more and to fewer items. Groups are ranges of one of the inputs.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from fitted_pools import N_KINDS, classifier

import bayes_assess as ba

TRAINED = 150, 1500  # items that the first classifier is fitted to
SIZE = 500, 2500  # of a pool
ENDS = (0.5, 0.75, 0.9)  # of the ranges that are groups, as shares of the items
SITES = np.array(["north", "east", "south", "west"])


def fitted_pool(rng: np.random.Generator, most_classes: int) -> tuple[ba.Pool, np.ndarray]:
    """Fit three classifiers to data that are made, and return what they say of others, with the labels.

    Examples
    --------
    >>> pool, labels = fitted_pool(np.random.default_rng(0), most_classes=4)
    >>> pool.n_classes <= 4, sorted(pool.systems), len(np.unique(pool.groups["site"]))
    (True, ['new', 'old'], 4)
    """
    n_trained = int(np.exp(rng.uniform(*np.log(TRAINED))))
    n = int(np.exp(rng.uniform(*np.log(SIZE))))
    x, y, n_classes = _data(rng, 2 * n_trained + n, most_classes)
    trained, met = np.arange(2 * n_trained), np.arange(2 * n_trained, len(y))
    x_met, labels = x[met], y[met]
    if rng.random() < 0.3:
        x_met = x_met + rng.normal(0, 0.3, x.shape[1]) * x.std(0)
    first, *others = rng.choice(N_KINDS, 3, replace=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that have not converged
        scores = _scores(first, rng, x[trained[:n_trained]], y[trained[:n_trained]], x_met, n_classes)
        sizes = {"new": 2 * n_trained, "old": max(60, n_trained // 3)}
        said = {
            name: _scores(kind, rng, x[trained[:size]], y[trained[:size]], x_met, n_classes).argmax(1)
            for (name, size), kind in zip(sizes.items(), others, strict=True)
        }
    told = x_met[:, rng.integers(x.shape[1])]
    rank = told.argsort(kind="stable").argsort(kind="stable") / len(told)
    groups = with_halves(SITES[np.searchsorted(ENDS, rank, side="right")])
    pool = ba.Pool(
        predictions=scores.argmax(1), scores=scores, classes=list(range(n_classes)), groups=groups, systems=said
    )
    return pool, labels


def with_halves(site: np.ndarray) -> dict[str, np.ndarray]:
    """Return groups by site, two halves of the items, and pairs of them."""
    place = np.arange(len(site))
    return {"site": site, "half": np.array(["a", "b"])[place % 2], "pair": place // 2}


def _data(rng: np.random.Generator, n: int, most_classes: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Make inputs, labels and the number of classes; of two classes one may be rare."""
    from sklearn import datasets

    n_classes = int(rng.integers(2 if most_classes == 2 else 3, most_classes + 1))
    if rng.random() < 0.25:
        x, y = datasets.load_digits(return_X_y=True)
        rows = rng.integers(0, len(y), n)
        x = x[rows] + rng.normal(0, rng.uniform(1, 8), (n, x.shape[1]))
        names = rng.permutation(10) % n_classes if n_classes > 2 else (np.arange(10) == rng.integers(10)).astype(int)
        return x, names[y[rows]], n_classes
    n_told = int(rng.integers(4, 9))
    shares = rng.dirichlet(np.full(n_classes, np.exp(rng.uniform(-0.5, 2))))
    if n_classes == 2:
        rate = np.exp(rng.uniform(np.log(0.02), np.log(0.5)))
        shares = np.array([1 - rate, rate])
    x, y = datasets.make_classification(
        n, n_told + int(rng.integers(0, 10)), n_informative=n_told, n_redundant=0, n_classes=n_classes,
        n_clusters_per_class=int(rng.integers(1, 3)), weights=shares.tolist(),
        flip_y=float(rng.choice([0, 0.02, 0.1])) * min(1, 2 * shares.min() + 0.1),
        class_sep=float(rng.uniform(0.5, 2.5)), random_state=int(rng.integers(2**31)),
    )  # fmt: skip
    return x, y.astype(int), n_classes


def _scores(kind: int, rng: np.random.Generator, x: np.ndarray, y: np.ndarray, met: np.ndarray, n: int) -> np.ndarray:
    """Probabilities (M, n) by a classifier, which is 0 for classes that it has never seen."""
    seen = np.unique(y)
    scores = np.zeros((len(met), n))
    if len(seen) == 1:
        scores[:, seen] = 1.0
        return scores
    _, fit = classifier(int(kind), rng)
    fit.fit(x, y)
    scores[:, seen] = fit.predict_proba(met) if hasattr(fit, "predict_proba") else _softmax(fit.decision_function(met))
    return scores


def _softmax(margins: Any) -> np.ndarray:
    z = np.stack([np.zeros(len(margins)), margins], 1) if margins.ndim == 1 else margins
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)
