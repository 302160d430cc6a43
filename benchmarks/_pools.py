"""Pools of studies: those of a folder, adversarial versions of them, and those of a generator in a file."""

from __future__ import annotations

import importlib.util
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import bayes_assess as ba

CLASSES = (0, 3, 5)  # of pools with many, that are the positive one in turn


class Binary(NamedTuple):
    """Labels, predictions and scores of a class."""

    labels: np.ndarray
    predictions: np.ndarray
    score: np.ndarray
    facts: dict[str, Any] = {}  # noqa: RUF012 - never changed

    @property
    def pool(self) -> ba.Pool:
        """The pool of these items."""
        return ba.Pool(predictions=self.predictions, scores=np.stack([1 - self.score, self.score], axis=1))

    @property
    def unscored(self) -> ba.Pool:
        """The pool of the predictions alone."""
        return ba.Pool(predictions=self.predictions, classes=[0, 1])


def folder() -> Path | None:
    """Return the folder of pools, from the environment."""
    given = os.environ.get("BAYES_ASSESS_POOLS")
    return Path(given) if given else None


def need_folder(given: Path | None, option: str) -> Path:
    """Return the folder that an option gave, or the environment; end with a sentence where there is none."""
    path = folder() if given is None else given
    if path is None:
        sys.exit(f"Name the folder of the pools by {option} or by BAYES_ASSESS_POOLS; nothing was run.")
    if not path.is_dir():
        sys.exit(f"There is no folder {path}; nothing was run.")
    return path


def probabilities(scores: np.ndarray) -> np.ndarray:
    """Return rows that sum to 1, whether scores are probabilities or logits."""
    scores = scores.astype(np.float64)
    if scores.min() < 0 or np.abs(scores.sum(1) - 1).max() > 0.01:
        scores = np.exp(scores - scores.max(1, keepdims=True))
    return scores / scores.sum(1, keepdims=True)


def binaries(folder: Path) -> Iterator[tuple[str, Binary]]:
    """Yield pools with one class of interest."""
    for path in sorted(folder.glob("*.npz")):
        data = np.load(path)
        if "probability" in data:
            score = data["probability"].astype(np.float64)
            yield path.stem, Binary(data["labels"].astype(int), data["predictions"].astype(int), score)
        elif "scores" in data:
            scores = probabilities(data["scores"])
            for c in CLASSES:
                labels, predictions = (data["labels"] == c).astype(int), (scores.argmax(1) == c).astype(int)
                yield f"{path.stem}:{c}", Binary(labels, predictions, scores[:, c])


def wholes(folder: Path) -> Iterator[tuple[str, ba.Pool, np.ndarray]]:
    """Yield pools of many classes."""
    for path in sorted(folder.glob("*.npz")):
        data = np.load(path)
        if "scores" in data:
            yield path.stem, ba.Pool(scores=probabilities(data["scores"])), data["labels"].astype(int)


def zoo(n: int, seed: int) -> Iterator[tuple[str, Binary]]:
    """Yield n pools of the generator that BAYES_ASSESS_ZOO names; none without it.

    It is a Python file with ``pools(n, seed)`` that yields name, P(positive), predictions, labels, and facts.
    """
    path = os.environ.get("BAYES_ASSESS_ZOO")
    if path:
        for name, score, predictions, labels, facts in load(path).pools(n=n, seed=seed):
            yield name, Binary(labels, predictions, score, facts)


def load(path: str | Path) -> ModuleType:
    """Import a Python file."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shuffled(honest: Binary, rng: np.random.Generator) -> Binary:
    """Return the pool with the scores and predictions of other items."""
    order = rng.permutation(len(honest.labels))
    return honest._replace(predictions=honest.predictions[order], score=honest.score[order])


def flipped(honest: Binary, rng: np.random.Generator) -> Binary:
    """Return the pool with labels of random items the other way: one in twenty in the median, a quarter at most."""
    share = min(0.05 * math.exp(rng.normal()), 0.25)
    wrong = rng.random(len(honest.labels)) < share
    return honest._replace(labels=np.where(wrong, 1 - honest.labels, honest.labels))


def adversarial(name: str, honest: Binary) -> Iterator[tuple[str, Binary]]:
    """Yield the pool with its scores made worse."""
    rng = np.random.default_rng(1)
    labels, predictions, score = honest[:3]
    of_others = shuffled(honest, rng)
    logit = np.log(np.clip(score, 1e-9, 1)) - np.log(np.clip(1 - score, 1e-9, 1))
    yield f"{name} shuffled", of_others
    yield f"{name} inverted", Binary(labels, predictions, 1 - score)
    yield f"{name} constant", Binary(labels, predictions, np.full(len(labels), 0.5))
    yield f"{name} five values", Binary(labels, predictions, np.round(score * 4) / 4)
    yield f"{name} squashed", Binary(labels, predictions, 1 / (1 + np.exp(-logit / 10)))
    yield f"{name} stretched", Binary(labels, predictions, 1 / (1 + np.exp(-np.clip(5 * logit, -700, 700))))
    for share in (0.2, 0.45):
        moved = rng.choice(np.flatnonzero(labels), int(share * labels.sum()), replace=False)
        low, missed = score.copy(), predictions.copy()
        low[moved] = rng.choice(np.sort(score)[: len(score) // 2], len(moved))
        missed[moved] = 0
        yield f"{name} {share:.0%} hidden", Binary(labels, missed, low)
    blind = rng.random(len(labels))
    yield f"{name} blind", Binary(labels, (blind < labels.mean()).astype(int), 1 - blind)
