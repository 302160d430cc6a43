"""Small made pools as unlike as those of users, each drawn anew from a seed, for `audit_coverage.py`.

A world is a kind of pool: of two classes ("binary"), of more ("classes"), of ratings from 1 to 5 ("ratings") or of
bounded numbers ("bounded"), of errors of numbers ("numbers"), of several labels per item ("sets"), or a ranked list
("lists"). Scores of classes are made, or those of classifiers that were fitted. The first five have the columns "site"
(groups), "half" and "pair" (halves of pairs); the first three two further systems, "new" and "old". Where
BAYES_ASSESS_POOLS names a folder of real predictions, samples of these are worlds, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from _fitted_worlds import SITES, fitted_pool, with_halves
from _real_worlds import FOLDER, real_pool

import bayes_assess as ba

SHARES = (0.5, 0.25, 0.15, 0.1)  # of the items by site
UNEVEN = (1, 1, 2, 3, 8, 25, 120, 640)  # items of sites


class World(NamedTuple):
    """A pool with all of its labels."""

    pool: Any
    labels: np.ndarray  # (M,), or (M, C) of several labels per item
    chances: np.ndarray  # (M, C) p(y | x) of labels that are draws; empty where no question takes them


def logit(p: np.ndarray) -> np.ndarray:
    """Log odds."""
    return np.log(p) - np.log1p(-p)


def expit(x: np.ndarray) -> np.ndarray:
    """Inverse of `logit`."""
    return 1 / (1 + np.exp(-x))


def _systems(rng: np.random.Generator, predictions: np.ndarray, labels: np.ndarray, n_classes: int) -> dict:
    """Make a better system, which puts half of the errors right, and a worse one."""
    n = len(labels)
    new = np.where(rng.random(n) < 0.5, labels, predictions)
    old = np.where(rng.random(n) < 0.12, rng.integers(0, n_classes, n), predictions)
    return {"new": np.where(rng.random(n) < 0.02, rng.integers(0, n_classes, n), new), "old": old}


def _groups(rng: np.random.Generator, n: int, site: np.ndarray | None = None) -> dict[str, np.ndarray]:
    site = SITES[rng.choice(4, n, p=SHARES)] if site is None else site
    return with_halves(site)


def _binary(
    rng: np.random.Generator,
    score: np.ndarray,
    labels: np.ndarray,
    chance: np.ndarray | None = None,
    site: np.ndarray | None = None,
) -> World:
    predictions, labels = (score >= 0.5).astype(int), labels.astype(int)
    pool = ba.Pool(
        predictions=predictions,
        scores=np.stack([1 - score, score], 1),
        classes=[0, 1],
        groups=_groups(rng, len(score), site),
        systems=_systems(rng, predictions, labels, 2),
    )
    p = labels.astype(float) if chance is None else chance
    return World(pool, labels, np.stack([1 - p, p], 1))


def _drawn(rng: np.random.Generator, p: np.ndarray, score: np.ndarray | None = None) -> World:
    """Labels by probabilities, which scores are unless there are others."""
    return _binary(rng, p if score is None else score, rng.random(len(p)) < p, p)


def _chances(rng: np.random.Generator, n: int = 800) -> np.ndarray:
    return np.clip(rng.beta(0.4, 1.0, n), 1e-6, 1 - 1e-6)


def _overconfident(rng: np.random.Generator) -> World:
    p = _chances(rng)
    return _drawn(rng, p, expit(3 * logit(p)))


def _shuffled(rng: np.random.Generator) -> World:
    p = _chances(rng)
    return _drawn(rng, p, rng.permutation(p))


def _saturated(rng: np.random.Generator) -> World:
    score = (rng.random(800) < 0.3).astype(float)
    return _drawn(rng, np.where(score > 0, 0.85, 0.1), score)


def _tied(rng: np.random.Generator) -> World:
    p = _chances(rng)
    return _drawn(rng, p, np.round(4 * p) / 4)


def _rare(rng: np.random.Generator) -> World:
    positive = rng.permutation(np.arange(3000) < 15)
    return _binary(rng, expit(2.5 * rng.normal(2.5 * positive, 1.0) - 7), positive)


def _hidden(rng: np.random.Generator) -> World:
    positive = rng.permutation(np.arange(1500) < 75)
    announced = positive & (rng.random(1500) < 0.65)
    return _binary(rng, expit(2.5 * rng.normal(2.5 * announced, 1.0) - 5), positive)


def _all_right(rng: np.random.Generator) -> World:
    p = _chances(rng, 600)
    return _binary(rng, p, p >= 0.5)


def _no_positives(rng: np.random.Generator) -> World:
    return _binary(rng, rng.beta(0.4, 3.0, 600), np.zeros(600))


def _apart(rng: np.random.Generator) -> World:
    """Accuracies of .98, .9, .7 and .5, which scores do not tell."""
    score, code = _chances(rng), rng.choice(4, 800, p=SHARES)
    right = rng.random(800) < np.array([0.98, 0.9, 0.7, 0.5])[code]
    return _binary(rng, score, (score >= 0.5) == right, site=SITES[code])


def _drifting(rng: np.random.Generator) -> World:
    score = _chances(rng)
    right = rng.random(800) < np.linspace(0.99, 0.5, 800)
    return _binary(rng, score, (score >= 0.5) == right)


def _uneven(rng: np.random.Generator) -> World:
    p = _chances(rng)
    return _binary(rng, p, rng.random(800) < p, p, np.repeat(np.arange(len(UNEVEN)), UNEVEN)[rng.permutation(800)])


def _alone(rng: np.random.Generator) -> World:
    p = _chances(rng, 300)
    return _binary(rng, p, rng.random(300) < p, p, np.arange(300))


def _classes(
    rng: np.random.Generator, n: int, n_classes: int, shuffled: bool = False, never: bool = False, sure: bool = False
) -> World:
    """Classes of a softmax of chances that are labels' own, before the scores are made worse."""
    shares = rng.dirichlet(np.full(n_classes, 3.0))
    labels = rng.choice(n_classes, n, p=shares)
    logits = rng.normal(size=(n, n_classes)) + 2.2 * np.eye(n_classes)[labels] + np.log(shares)
    scores = np.exp(logits)
    if never:
        scores[:, -1] *= 1e-6
    scores /= scores.sum(1, keepdims=True)
    if shuffled:
        scores = scores[rng.permutation(n)]
    predictions = scores.argmax(1)
    if sure:
        scores = np.eye(n_classes)[predictions]
    systems = _systems(rng, predictions, labels, n_classes)
    pool = ba.Pool(
        predictions=predictions, scores=scores, classes=list(range(n_classes)), groups=_groups(rng, n), systems=systems
    )
    return World(pool, labels, np.eye(n_classes)[labels])


def _fitted(rng: np.random.Generator, most_classes: int) -> World:
    pool, labels = fitted_pool(rng, most_classes)
    return World(pool, labels, np.eye(pool.n_classes)[labels])


def _real(rng: np.random.Generator, two_classes: bool) -> World:
    pool, labels = real_pool(rng, two_classes, str(FOLDER))
    return World(pool, labels, np.eye(pool.n_classes)[labels])


def _ratings(rng: np.random.Generator, scatter: float, extreme: bool = False) -> World:
    """Ratings of 800 items by a judge that is off by 0.6, and scatters."""
    n, cuts = 800, np.array([-1.2, -0.4, 0.3, 1.1]) - (1.5 if extreme else 0)
    z = rng.normal(size=n)
    labels = (z[:, None] > cuts).sum(1) + 1
    said = {name: 0.6 + z + rng.normal(0, scatter, n) for name in ("first", "new", "old")}
    said = {name: (x[:, None] > cuts).sum(1) + 1 for name, x in said.items()}
    pool = ba.Pool(predictions=said.pop("first"), classes=[1, 2, 3, 4, 5], groups=_groups(rng, n), systems=said)
    return World(pool, labels, np.empty((0, 0)))


def _numbers(rng: np.random.Generator, error: Callable, told: bool, bounded: bool = True) -> World:
    n = 600
    spread = rng.gamma(2.0, 2.0, n)
    predicted = rng.uniform(20, 80, n)
    labels = predicted + spread * error(rng, n)
    score = spread if told else rng.permutation(spread)
    bounds = (0.0, 100.0) if bounded else (-np.inf, np.inf)
    labels = np.clip(labels, *bounds) if bounded else labels
    pool = ba.Pool(predictions=predicted, scores=score, bounds=bounds, groups=_groups(rng, n))
    return World(pool, labels, np.empty((0, 0)))


def _judged_numbers(rng: np.random.Generator, scatter: float) -> World:
    """Labels of 0 to 100 in steps, and a judge."""
    n = 800
    z = rng.normal(size=n)
    said = np.clip(np.round(55 + 18 * (z + rng.normal(0, scatter, n))), 0, 100)
    pool = ba.Pool(predictions=said, bounds=(0, 100), groups=_groups(rng, n))
    return World(pool, np.clip(np.round(50 + 18 * z), 0, 100), np.empty((0, 0)))


def _sets(rng: np.random.Generator, rate: float, kind: str = "calibrated") -> World:
    p = np.clip(rng.beta(0.4, 0.4 * (1 - rate) / rate, (600, 4)), 1e-6, 1 - 1e-6)
    labels = rng.random(p.shape) < p
    if kind == "shuffled":
        p = p[rng.permutation(len(p))]
    elif kind == "right":
        labels = p >= 0.5
    elif kind == "none":
        labels = np.zeros_like(labels)
    return World(ba.Pool(scores=p, classes=list("abcd"), multilabel=True), labels, np.empty((0, 0)))


def _list(rng: np.random.Generator, precision: Callable) -> World:
    """Make a ranked list of 3,000 items whose chances are a function of the rank, from 0 to 1."""
    at = np.arange(3000) / 3000
    positive = rng.random(3000) < precision(at)
    order = rng.permutation(3000)
    score = (1 - 0.98 * at - 0.01)[order]
    pool = ba.Pool(predictions=(score >= 0.5).astype(int), scores=np.stack([1 - score, score], 1), classes=[0, 1])
    return World(pool, positive[order].astype(int), np.empty((0, 0)))


def _heavy(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.standard_t(3, n)


def _normal(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.standard_normal(n)


def _seldom(rng: np.random.Generator, n: int) -> np.ndarray:
    """Nearly all right, and one in 50 far off."""
    return np.where(rng.random(n) < 0.02, 6.0, 0.0) * rng.choice([-1, 1], n)


WORLDS: dict[str, dict[str, Callable[[np.random.Generator], World]]] = {
    "binary": {
        "calibrated": lambda rng: _drawn(rng, _chances(rng)),
        "overconfident": _overconfident,
        "shuffled scores": _shuffled,
        "saturated scores": _saturated,
        "tied scores": _tied,
        "rare positives": _rare,
        "hidden positives": _hidden,
        "all right": _all_right,
        "no positives": _no_positives,
        "groups apart": _apart,
        "drift": _drifting,
        "uneven groups": _uneven,
        "groups of one": _alone,
    },
    "classes": {
        "six classes": lambda rng: _classes(rng, 900, 6),
        "six, shuffled scores": lambda rng: _classes(rng, 900, 6, shuffled=True),
        "four, one never predicted": lambda rng: _classes(rng, 700, 4, never=True),
        "three, saturated scores": lambda rng: _classes(rng, 700, 3, sure=True),
    },
    "ratings": {
        "fair judge": lambda rng: _ratings(rng, 0.5),
        "useless judge": lambda rng: _ratings(rng, 5.0),
        "ratings at the end": lambda rng: _ratings(rng, 0.7, extreme=True),
    },
    "bounded": {
        "fair judge of numbers": lambda rng: _judged_numbers(rng, 0.5),
        "useless judge of numbers": lambda rng: _judged_numbers(rng, 5.0),
    },
    "numbers": {
        "told errors": lambda rng: _numbers(rng, _normal, told=True, bounded=False),
        "untold errors": lambda rng: _numbers(rng, _normal, told=False),
        "long tails": lambda rng: _numbers(rng, _heavy, told=True, bounded=False),
        "seldom wrong": lambda rng: _numbers(rng, _seldom, told=False),
    },
    "lists": {
        "falling": lambda rng: _list(rng, lambda at: 0.95 - 0.6 * at),
        "flat": lambda rng: _list(rng, lambda at: np.full(at.shape, 0.6)),
        "rising": lambda rng: _list(rng, lambda at: 0.4 + 0.4 * at),
        "step": lambda rng: _list(rng, lambda at: np.where(at < 0.1, 0.97, 0.15)),
        "all positive": lambda rng: _list(rng, np.ones_like),
        "few positive": lambda rng: _list(rng, lambda at: 0.3 * np.exp(-40 * at)),
    },
    "sets": {
        "sets, calibrated": lambda rng: _sets(rng, 0.25),
        "sets, rare": lambda rng: _sets(rng, 0.03),
        "sets, shuffled scores": lambda rng: _sets(rng, 0.25, "shuffled"),
        "sets, all right": lambda rng: _sets(rng, 0.25, "right"),
        "sets, none applies": lambda rng: _sets(rng, 0.25, "none"),
    },
}
FITTED = {
    "binary": {"fitted, two classes": lambda rng: _fitted(rng, 2)},
    "classes": {"fitted, more classes": lambda rng: _fitted(rng, 8)},
}
REAL = {
    "binary": {"real, two classes": lambda rng: _real(rng, two_classes=True)},
    "classes": {"real, more classes": lambda rng: _real(rng, two_classes=False)},
}
ALL = (WORLDS, FITTED, *([REAL] if FOLDER else []))
# In this order they are seeds: what is new comes last.
KIND_OF = {world: kind for of_kinds in ALL for kind, worlds in of_kinds.items() for world in worlds}
OF_FITS = tuple(world for of_kinds in ALL[1:] for worlds in of_kinds.values() for world in worlds)
BY_GROUPS_ALONE = ("groups of one", "uneven groups", "groups apart")  # which say nothing new without groups


def made(world: str, seed: int, scored: bool = True) -> World:
    """Make the pool of a world and a seed; of two classes it can be one of predictions alone.

    Examples
    --------
    >>> made("no positives", 0).labels.any()
    np.False_
    """
    make = next(worlds[world] for of_kinds in ALL for worlds in of_kinds.values() if world in worlds)
    found = make(np.random.default_rng([seed, list(KIND_OF).index(world)]))
    if scored:
        return found
    pool = found.pool
    systems = {name: pool.system_codes(name) for name in pool.systems}
    alone = ba.Pool(predictions=pool.predictions, classes=[0, 1], groups=pool.groups, systems=systems)
    return found._replace(pool=alone)
