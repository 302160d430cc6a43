"""Worlds of real predictions with labels, for `audit_coverage.py`, where BAYES_ASSESS_POOLS names a folder of them.

A pool is a sample of one of the folder's files: npz with "labels" and either "scores" (M, C) or "probability" (M,) with
"predictions". Groups are what is known of items and goes with errors: a blurred rank of the score, of more classes the
class that comes second. "new" is another system's prediction of the same items where the folder has one, else the same
scores cut or weighed otherwise, as "old" is.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from _fitted_worlds import ENDS, SITES, with_halves

import bayes_assess as ba

FOLDER = os.environ.get("BAYES_ASSESS_POOLS")
OF_TWO = ("nh_tweets", "nh_restaurant", "nh_abt_buy", "abt_buy", "amzn_goog", "nh_dblp_acm", "dblp_acm")
OF_MORE = ("20news", "cifar10", "cifar10_vgg", "mnist")
OTHER_SYSTEM = {"cifar10": "cifar10_vgg", "cifar10_vgg": "cifar10"}  # of the same items
SIZE = 500, 5000  # of a sample


def real_pool(rng: np.random.Generator, two_classes: bool, folder: str | Path) -> tuple[ba.Pool, np.ndarray]:
    """Draw items of a file: a random sample of them, and of two classes as many positives as turn up or 20 at least."""
    name = str(rng.choice(OF_TWO if two_classes else OF_MORE))
    data, n = _read(folder, name), int(np.exp(rng.uniform(*np.log(SIZE))))
    items = rng.permutation(len(data["labels"]))[:n]
    if two_classes:
        positive = rng.permutation(np.flatnonzero(data["labels"] == 1))
        few = positive[: min(len(positive), int(rng.integers(20, 60)))]
        items = np.union1d(items, few)
    else:
        items = np.sort(items)
    labels = data["labels"][items].astype(int)
    if two_classes:
        p = data["probability"][items].astype(float)
        predictions, scores, told = data["predictions"][items].astype(int), p, p.argsort(kind="stable").argsort()
        blurred = told / len(told) + rng.normal(0, 0.3, len(told))
        rank = blurred.argsort(kind="stable").argsort(kind="stable") / len(told)
        site = np.searchsorted(ENDS, rank, side="right")
        cut = np.sort(p)[::-1][int(predictions.sum() * rng.choice([0.5, 1.5, 2])) % len(p)]
        new, old = (p >= cut).astype(int), np.where(rng.random(len(p)) < 0.1, 0, predictions)
    else:
        scores = data["scores"][items].astype(float)
        predictions, site = scores.argmax(1), np.argsort(scores, axis=1)[:, -2] % len(SITES)
        weighed = [scores * np.exp(rng.normal(0, spread, scores.shape[1])) for spread in (1.0, 3.0)]
        new, old = (some.argmax(1) for some in weighed)
        if name in OTHER_SYSTEM:
            new = _read(folder, OTHER_SYSTEM[name])["scores"][items].argmax(1)
    n_classes = 2 if two_classes else scores.shape[1]
    groups = with_halves(SITES[site])
    classes, systems = list(range(n_classes)), {"new": new, "old": old}
    return ba.Pool(predictions=predictions, scores=scores, classes=classes, groups=groups, systems=systems), labels


def _read(folder: str | Path, name: str) -> dict[str, np.ndarray]:
    with np.load(Path(folder) / f"{name}.npz") as data:
        return {key: data[key] for key in data}
