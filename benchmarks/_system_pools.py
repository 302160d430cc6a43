"""Pools of two systems, of which the first has the scores, or both have a share in them: for `study_two_systems.py`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from _fitted_worlds import fitted_pool
from _pools import folder, probabilities, zoo
from scipy import special

import bayes_assess as ba

_SIZE = 1500, 100_000  # of pools that are made here
_RATE = 0.001, 0.4  # of positives


class TwoSystems(NamedTuple):
    """A pool with a further system, "new", the labels, and what is known besides."""

    pool: ba.Pool
    labels: np.ndarray
    facts: dict[str, Any] = {}  # noqa: RUF012 - never changed


def pools(n: int, seed: int) -> Iterator[tuple[str, TwoSystems]]:
    """Yield names and n pools of every kind: made ones, of fitted classifiers, and of a generator; then real ones.

    The second system of a made pool sees evidence of its own, which has more or less in common with that of the first;
    or it is a new version of the first one, which is about as good and sees nearly the same.
    Beside one of the generator it sees evidence of its own, the first one's score and some more, or has another cut.

    Examples
    --------
    >>> name, one = next(pools(1, 0))
    >>> name, sorted(one.pool.systems), one.facts["whose"]
    ('made-0-0', ['new'], 'first')
    """
    for number in range(n):
        yield f"made-{seed}-{number}", _made(np.random.default_rng([seed, number]))
    for number in range(n):
        yield f"version-{seed}-{number}", _version(np.random.default_rng([seed, number, 3]))
    for number in range(n):
        found = _fitted(np.random.default_rng([seed, number, 1]))
        if found is not None:
            yield f"fitted-{seed}-{number}", found
    if os.environ.get("BAYES_ASSESS_ZOO"):
        for number, (name, binary) in enumerate(zoo(n, seed)):
            rng = np.random.default_rng([seed, number, 2])
            other, facts = _beside(binary.score, binary.predictions, binary.labels, rng)
            pool = ba.Pool(predictions=binary.predictions, scores=binary.score, systems={"new": other})
            yield name, TwoSystems(pool, binary.labels, binary.facts | facts)
    where = folder()
    if where is not None and (where / "cifar10.npz").exists() and (where / "cifar10_vgg.npz").exists():
        first, second = np.load(where / "cifar10.npz"), np.load(where / "cifar10_vgg.npz")
        for name, one, other in (("cifar10", first, second), ("cifar10_vgg", second, first)):
            score, predictions = probabilities(one["scores"]), probabilities(other["scores"]).argmax(1)
            for c in range(1, 10, 2):
                systems = {"new": (predictions == c).astype(int)}
                pool = ba.Pool(predictions=(score.argmax(1) == c).astype(int), scores=score[:, c], systems=systems)
                yield f"{name}:{c}", TwoSystems(pool, (one["labels"] == c).astype(int))


def _made(rng: np.random.Generator) -> TwoSystems:
    """Make evidence that is common to both systems, and some of their own; a share of positives is hidden to both."""
    n, rate = int(np.exp(rng.uniform(*np.log(_SIZE)))), float(np.exp(rng.uniform(*np.log(_RATE))))
    labels = rng.random(n) < max(rate, 20 / n)
    apart, common = rng.uniform(1.5, 4.0, 2), float(rng.choice([0.0, 0.0, 0.3, 0.6, 0.9]))
    evidence = _evidence(labels, apart, common, rng)
    predicted = [(z > _cut(z, labels, rng)).astype(int) for z in evidence]
    whose = rng.random()
    score = _score(evidence[0] if whose < 0.75 else sum(evidence) / 2, labels, rng)
    facts = {"common": common, "whose": "first" if whose < 0.75 else "both", "rate": float(labels.mean())}
    pool = ba.Pool(predictions=predicted[0], scores=score, systems={"new": predicted[1]})
    return TwoSystems(pool, labels.astype(int), facts)


def _version(rng: np.random.Generator) -> TwoSystems:
    """Make a system and its next version: most evidence is common to both, and they are about as good."""
    n, rate = int(np.exp(rng.uniform(*np.log(_SIZE)))), float(np.exp(rng.uniform(*np.log(_RATE))))
    labels = rng.random(n) < max(rate, 20 / n)
    apart, common = rng.uniform(1.5, 4.0) + np.array([0.0, rng.normal(0, 0.3)]), rng.uniform(0.5, 0.95)
    evidence = _evidence(labels, apart, common, rng)
    first = evidence[0] > _cut(evidence[0], labels, rng)
    new = evidence[1] > np.quantile(evidence[1], 1 - np.clip(first.mean() * np.exp(rng.normal(0, 0.2)), 5 / n, 0.9))
    score, facts = _score(evidence[0], labels, rng), {"common": common, "rate": float(labels.mean())}
    pool = ba.Pool(predictions=first.astype(int), scores=score, systems={"new": new.astype(int)})
    return TwoSystems(pool, labels.astype(int), facts)


def _evidence(labels: np.ndarray, apart: np.ndarray, common: float, rng: np.random.Generator) -> list[np.ndarray]:
    """Return what two systems see, of which a share is common; some positives may be hidden to both."""
    seen = labels & (rng.random(len(labels)) >= (rng.beta(1, 3) if rng.random() < 0.4 else 0.0))
    shared = rng.normal(size=len(labels))
    return [a * seen + np.sqrt(common) * shared + np.sqrt(1 - common) * rng.normal(size=len(labels)) for a in apart]


def _score(z: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Make a score of evidence, that is too sure or not sure enough, and may be rounded."""
    score = 1 / (1 + np.exp(-rng.uniform(0.5, 4) * (z - np.quantile(z, 1 - labels.mean()))))
    return score if rng.random() < 0.6 else np.round(score, 2)


def _beside(
    score: np.ndarray, predictions: np.ndarray, labels: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return what a second system predicts: by evidence of its own, the first one's score and some, or another cut."""
    how = str(rng.choice(["own", "own", "some", "some", "cut"]))
    rank = score.argsort(kind="stable").argsort(kind="stable")
    z = np.sqrt(2) * special.ndtri((rank + 0.5) / len(rank))
    if how == "own":
        z = rng.uniform(1.5, 4.0) * labels + rng.normal(size=len(labels))
    elif how == "some":
        z = z + rng.uniform(0.3, 2.0) * labels + rng.uniform(0.3, 1.5) * rng.normal(size=len(labels))
    found = (z > _cut(z, predictions, rng)).astype(int)
    if not found.any():
        found[z.argmax()] = 1
    return found, {"other": how}


def _cut(z: np.ndarray, like: np.ndarray, rng: np.random.Generator) -> float:
    share = np.clip(like.mean() * np.exp(rng.normal(0, 0.5)), 5 / len(z), 0.9)
    return float(np.quantile(z, 1 - share))


def _fitted(rng: np.random.Generator) -> TwoSystems | None:
    """Return a pool of classifiers that were fitted."""
    pool, labels = fitted_pool(rng, most_classes=2)
    other = pool.system_codes("new")
    if labels.sum() < 5 or pool.predictions.sum() < 5 or other.sum() < 5:
        return None
    assert pool.scores is not None
    made = ba.Pool(predictions=pool.predictions, scores=pool.scores, systems={"new": other})
    return TwoSystems(made, labels)
