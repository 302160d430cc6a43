"""Pools of the study of [ABA], its methods, and the costs of mistakes that it tries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bayes_assess as ba

TWINS = {"cifar100": "CIFAR-100", "imagenet": "ImageNet", "20news": "20 News"}  # our pools on [ABA]'s data
POOLS = [*TWINS, "cifar10", "cifar10_vgg", "mnist"]
BINS = 10
CAMPAIGNS_IMAGENET = 100  # at most, to this many labels:
LABELS_IMAGENET = 10_000


class Method(NamedTuple):
    """A design with a prior and what that is worth, in labels per group; None: what the question has by default."""

    design: str
    prior: str
    strength: float | None = None


METHODS = {
    "UPrior": Method("random", "uninformative"),
    "IPrior": Method("random", "informative"),
    "IPrior+TS": Method("thompson", "informative"),
    "UPrior+TS": Method("thompson", "uninformative"),
    "UPrior+TTTS": Method("top_two", "uninformative"),
    "UPrior+greedy": Method("epsilon_greedy", "uninformative"),
    "UPrior+UCB": Method("bayes_ucb", "uninformative"),
    "Frequentist": Method("random", "uninformative", 1e-3),
    "IPrior+TS, 5": Method("thompson", "informative", 5.0),
    "IPrior+TS, 10": Method("thompson", "informative", 10.0),
    "IPrior+TS, 100": Method("thompson", "informative", 100.0),
}
COARSE = (  # superclass of every class of CIFAR-100, in the order of their names; 14 is people
    4, 1, 14, 8, 0, 6, 7, 7, 18, 3, 3, 14, 9, 18, 7, 11, 3, 9, 7, 11, 6, 11, 5, 10, 7, 6, 13, 15, 3, 15, 0, 11, 1, 10,
    12, 14, 16, 9, 11, 5, 5, 19, 8, 8, 15, 13, 14, 17, 18, 10, 16, 4, 17, 4, 2, 0, 17, 4, 18, 17, 10, 3, 2, 12, 12, 16,
    12, 1, 9, 19, 2, 10, 0, 1, 16, 12, 9, 13, 15, 13, 16, 19, 2, 4, 6, 19, 5, 5, 8, 19, 18, 1, 2, 15, 6, 0, 17, 8, 14,
    13,
)  # fmt: skip
PEOPLE = 14
COSTS = (1, 2, 5, 10)  # times that some mistakes cost more


@dataclass(frozen=True, eq=False)
class Data:
    """A pool with all its labels."""

    name: str
    pool: ba.Pool
    labels: np.ndarray

    @classmethod
    def load(cls, path: Path) -> Data:
        """Read a pool."""
        with np.load(path) as file:
            labels = file["labels"]
            if "scores" in file.files:
                names = file["classes"].tolist() if "classes" in file.files else None
                return cls(path.stem, ba.Pool(scores=file["scores"], classes=names), _named(labels, names))
            n_classes = 1 + int(max(labels.max(), file["predictions"].max()))
            return cls(path.stem, ba.Pool(predictions=file["predictions"], classes=range(n_classes)), labels)

    @property
    def scored(self) -> bool:
        """Whether there are scores, and so an informative prior."""
        return self.pool.confidence is not None

    @property
    def large(self) -> bool:
        """Whether there are so many classes that fewer campaigns have to do."""
        return self.pool.n_classes > 500

    @property
    def most_labels(self) -> int:
        """At how many labels campaigns end."""
        return LABELS_IMAGENET if self.large else self.pool.n_items

    @property
    def m(self) -> int:
        """How many groups are sought beside one."""
        return 10 if self.pool.n_classes >= 100 else 3

    def campaigns(self, wanted: int) -> int:
        """Return how many campaigns are run."""
        return min(wanted, CAMPAIGNS_IMAGENET) if self.large else wanted

    def can(self, method: str) -> bool:
        """Whether there is the prior that a method takes."""
        return self.scored or METHODS[method].prior == "uninformative"

    @property
    def costs(self) -> tuple[str, ...]:
        """Kinds of cost matrices: [ABA]'s of CIFAR-100; superclasses of newsgroups are first parts of their names."""
        return {"cifar100": ("human", "superclass"), "20news": ("superclass",)}.get(self.name, ())

    def cost(self, kind: str, times: int) -> np.ndarray:
        """Return the cost of an item predicted k (row) whose label is j (column): 1, or so many times that.

        Kind "human": where the label is a person and the prediction is not the label; "superclass": where both are of
        different superclasses.
        """
        names = self.pool.classes
        first = np.array([str(name).split(".")[0] for name in names])
        part = np.array(COARSE) if self.name == "cifar100" else np.unique(first, return_inverse=True)[1]
        dear = np.tile(part == PEOPLE, (len(part), 1)) if kind == "human" else part[:, None] != part[None]
        cost = np.where(dear, float(times), 1.0)
        np.fill_diagonal(cost, 0.0)
        return cost

    def simulate(self, question: Any, budgets: Any, methods: Sequence[str], campaigns: int) -> dict[str, ba.Study]:
        """Simulate campaigns of some methods, one study for each; those of one design label the same items."""
        return {
            name: ba.simulate(
                self.pool, self.labels, question, designs={name: METHODS[name][:2]}, budgets=budgets,
                repeats=campaigns, prior_strength=METHODS[name].strength, progress=False,
            )
            for name in methods
        }  # fmt: skip

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What explains the figures: accuracy, confidence, and whether confidence ranks the classes."""
        truth = ba.GroupAccuracy().truth(self.pool, self.labels)
        right = self.pool.predictions == self.pool.label_codes(self.labels)
        used = np.unique(self.pool.predictions)
        found: dict[str, Any] = {"items": self.pool.n_items, "classes": self.pool.n_classes, "m": self.m}
        found |= {"accuracy": float(right.mean()), "spread": float(truth[used].std()), "most": self.most_labels}
        if not self.scored:
            return found
        confidence = np.asarray(self.pool.confidence)
        mean = np.array([confidence[self.pool.predictions == k].mean() for k in used])
        ece = float(ba.Calibration(ba.ScoreBins(BINS, "weight")).truth(self.pool, self.labels))
        correlation = float(np.corrcoef(mean, truth[used])[0, 1])
        return found | {"confidence": float(confidence.mean()), "ece": ece, "correlation": correlation}


def _named(labels: np.ndarray, names: list[str] | None) -> np.ndarray:
    return labels if names is None else np.array(names)[labels]
