"""Pools whose labels are all known, and the measures that [SEME] samples for and estimates on them.

Shapes: M items, n items drawn, Q measures, C classes. A pool estimates measures from items drawn with weights, one over
the expected number of times that an item is drawn; everything is NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess.acquisition.poisson import blended
from bayes_assess.measures import MultiLabelMeasure, multilabel_measure

Items = Int[np.ndarray, " n"]
Weights = Float[np.ndarray, " n"]
Values = Float[np.ndarray, " Q"]

LAM = 0.9  # trust in scores, [SEME] (13)
# f and g of a ratio sum f / sum g: rows are the predicted class, columns the label.
RATIOS = {
    "accuracy": ([[1, 0], [0, 1]], [[1, 1], [1, 1]]),
    "f1": ([[0, 0], [0, 1]], [[0, 0.5], [0.5, 1]]),
    "precision": ([[0, 0], [0, 1]], [[0, 0], [1, 1]]),
    "recall": ([[0, 0], [0, 1]], [[0, 1], [0, 1]]),
    "specificity": ([[1, 0], [0, 0]], [[1, 0], [1, 0]]),
}
LABEL_SETS = ("f1_micro", "f1_macro", "f1_samples", "seme_f1_macro")
NEWSGROUP = "comp.graphics"  # the group that is found worst


@dataclass(frozen=True, eq=False)
class Binary:
    """A pool with a positive class, and measures that are ratios of sums.

    Attributes
    ----------
    predicted, labels : (M,)
    probability : (M,)
        That the label is positive, as the scores say.
    lam : float
        Trust in that; the rest is an even chance.
    """

    name: str
    predicted: Bool[np.ndarray, " M"]
    labels: Bool[np.ndarray, " M"]
    probability: Float[np.ndarray, " M"]
    measures: tuple[str, ...] = tuple(RATIOS)
    lam: float = LAM

    @property
    def n_items(self) -> int:
        """How many items."""
        return len(self.labels)

    @cached_property
    def tables(self) -> tuple[Float[np.ndarray, "2 2 Q"], Float[np.ndarray, "2 2 Q"]]:
        """Tables of f and g by predicted class and label."""
        f, g = (np.stack([RATIOS[name][part] for name in self.measures], axis=-1) for part in (0, 1))
        return f.astype(np.float64), g.astype(np.float64)

    @cached_property
    def losses(self) -> tuple[Float[np.ndarray, "M Q"], Float[np.ndarray, "M Q"]]:
        """Every item's f and g."""
        f, g = self.tables
        cell = self.predicted.astype(int), self.labels.astype(int)
        return f[cell], g[cell]

    @cached_property
    def believed(self) -> Float[np.ndarray, "M 2"]:
        """Probabilities of both labels before any is known ([SEME] (13))."""
        return blended(np.stack([1 - self.probability, self.probability], axis=1), self.lam)

    def deviation(self, measure: str) -> Float[np.ndarray, " M"]:
        """Compute the root of E (f - F g)^2, F the ratio of the expected sums ([SEME] (12), (14))."""
        f, g = (np.array(part, np.float64)[self.predicted.astype(int)] for part in RATIOS[measure])
        p = self.believed
        ratio = (p * f).sum() / (p * g).sum()
        return np.sqrt((p * (f - ratio * g) ** 2).sum(1))

    def values(self, items: Items, weights: Weights) -> Values:
        """Estimate the ratios; 0 where the denominator is 0 ([SEME] (4), (18))."""
        top, bottom = (weights @ part[items] for part in self.losses)
        return top / np.where(bottom > 0, bottom, 1)


@dataclass(frozen=True, eq=False)
class LabelSets:
    """A pool whose items have several labels each; labelling an item shows all of them.

    Attributes
    ----------
    predicted, labels : (M, C)
    probabilities : (M, C)
        Of the labels, independent of each other.
    """

    name: str
    predicted: Bool[np.ndarray, "M C"]
    labels: Bool[np.ndarray, "M C"]
    probabilities: Float[np.ndarray, "M C"]
    measures: tuple[str, ...] = LABEL_SETS

    @property
    def n_items(self) -> int:
        """How many items."""
        return len(self.labels)

    @cached_property
    def measure(self) -> MultiLabelMeasure:
        """All measures at once."""
        return multilabel_measure(self.measures)

    @cached_property
    def losses(self) -> Float[np.ndarray, "M D"]:
        """Every item's losses."""
        return self.measure.losses(self.predicted, self.labels)

    def deviation(self, measure: str) -> Float[np.ndarray, " M"]:
        """Compute the deviations h given independent labels ([SEME] (93) to (97), (109))."""
        p = self.probabilities
        believed = blended(np.stack([1 - p, p], axis=-1), LAM)[..., 1]
        return multilabel_measure(measure).deviations(self.predicted, believed)

    def values(self, items: Items, weights: Weights) -> Values:
        """Estimate the measures at the weighted mean of the losses."""
        return self.measure.value(self._mean(items, weights))

    def _mean(self, items: Items, weights: Weights) -> Float[np.ndarray, " D"]:
        return weights @ self.losses[items] / max(weights.sum(), 1e-300)


Pool = Binary | LabelSets


def mnist(folder: Path) -> Binary:
    """Read whether an image is an 8."""
    with np.load(folder / "mnist.npz") as file:
        p = file["scores"][:, 8].astype(np.float64)
        return Binary("mnist 8", p > 0.5, file["labels"] == 8, p)


def newsgroup(folder: Path) -> Binary:
    """Read whether a message is of one newsgroup."""
    with np.load(folder / "20news.npz") as file:
        group = file["classes"].tolist().index(NEWSGROUP)
        p = file["scores"][:, group].astype(np.float64)
        return Binary(f"20news {NEWSGROUP}", p > 0.5, file["labels"] == group, p)


def newsgroups(folder: Path) -> Binary:
    """Read whether a message's newsgroup is predicted right: all count as predicted positive, right ones are."""
    with np.load(folder / "20news.npz") as file:
        scores, labels = file["scores"].astype(np.float64), file["labels"]
    scores /= scores.sum(1, keepdims=True)
    right = scores.argmax(1) == labels
    p = blended(scores, LAM).max(1)
    return Binary("20news, all classes", np.ones(len(right), bool), right, p, ("accuracy",), lam=1.0)


def multi_label(n_items: int = 2000, n_classes: int = 20, seed: int = 0) -> LabelSets:
    """Make items with labels that are, by class, from one in 5 to one in 200 items, and a classifier of middling skill.

    Log odds are noisy sums of what is common to an item and what is its class's own, so that labels of an item go
    together, which the classifier's probabilities, right one by one, do not say.
    """
    rng = np.random.default_rng(seed)
    frequency = np.geomspace(0.2, 0.005, n_classes)
    common = rng.normal(0, 1, (n_items, 1))
    logit = np.log(frequency / (1 - frequency)) - 1.5 + common + rng.normal(0, 2, (n_items, n_classes))
    probabilities = 1 / (1 + np.exp(-logit))
    shared = (rng.random((n_items, 1)) < 0.5) * rng.random((n_items, 1))  # of half of the items all labels use one u
    u = np.where(shared > 0, shared, rng.random((n_items, n_classes)))
    return LabelSets("20 labels, simulated", probabilities > 0.35, u < probabilities, probabilities)


def shuffled(pool: Binary) -> Binary:
    """Deal the scores out at random, keeping predictions and labels."""
    p = np.random.default_rng(1).permutation(pool.probability)
    return Binary(f"{pool.name}, shuffled", pool.predicted, pool.labels, p)


def overconfident(pool: Binary, times: float = 5.0) -> Binary:
    """Multiply the log odds."""
    p = np.clip(pool.probability, 1e-15, 1 - 1e-15)
    return Binary(f"{pool.name}, over-confident", pool.predicted, pool.labels, p**times / (p**times + (1 - p) ** times))


def trusted(pool: Binary) -> Binary:
    """Trust the scores wholly."""
    return Binary(f"{pool.name}, lam 1", pool.predicted, pool.labels, pool.probability, lam=1.0)
