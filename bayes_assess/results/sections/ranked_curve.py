"""The precision curve of a ranked list: what every rank says of it, whatever it was learned from."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.to_arviz import ArvizData
from bayes_assess.questions import PrecisionCurve
from bayes_assess.results.sections.section import SectionBase

_RANKS = 64  # of estimate and interval
_POINTS = 400  # of a figure


class Bounded(NamedTuple):
    """A number with the ends of its interval, or arrays of them.

    Examples
    --------
    >>> Bounded(0.5, 0.4, 0.6).interval.tolist()
    [0.4, 0.6]
    """

    estimate: Any
    lower: Any
    upper: Any

    @property
    def interval(self) -> Float[np.ndarray, "*n 2"]:
        """Both ends: (2,), or a row each of several."""
        return np.stack([self.lower, self.upper], axis=-1)


@dataclass(frozen=True, eq=False, repr=False)
class RankedCurve(SectionBase):
    """Estimates and bands at every rank, 1..N, and the words for them.

    Precision at a rank is the share of positives among the items down to it, recall the share of all positives that
    are among them.
    """

    question: PrecisionCurve

    @property
    def marked(self) -> tuple[Int[np.ndarray, " k"], Int[np.ndarray, " m"]] | None:
        """Ranks whose precision was estimated, and ranks with a label, which a figure marks; None if it marks none."""
        return None

    @property
    @abstractmethod
    def n_items(self) -> int:
        """Length of the list, N."""

    @property
    @abstractmethod
    def guarantee(self) -> str:
        """What the band promises, in a word."""

    @property
    @abstractmethod
    def promise(self) -> str:
        """What the band promises, in a sentence."""

    @property
    @abstractmethod
    def assumption(self) -> str:
        """What the band leans on."""

    @property
    @abstractmethod
    def contradicted(self) -> Any:
        """Where labels contradict what the band leans on."""

    @abstractmethod
    def precision(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        """Return estimates and bands of the precision."""

    @abstractmethod
    def recall(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        """Return estimates and bands of the recall."""

    @abstractmethod
    def f1(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        """Return estimates and bands of F1."""

    @abstractmethod
    def turns(self) -> Int[np.ndarray, " k"]:
        """Return the ranks between which the lower band is a convex function of 1 / rank, from 1 to N."""

    @abstractmethod
    def average_precision(self) -> Bounded:
        """Return the mean over all positives of the precision at their ranks."""

    @abstractmethod
    def answer(self) -> list[str]:
        """Say the answer, a sentence per line."""

    @abstractmethod
    def to_arviz(self, parameters: bool, attributes: dict[str, object]) -> ArvizData:
        """Return posterior draws at ranks as an ArviZ object."""

    @property
    def ranks(self) -> Int[np.ndarray, " T"]:
        """Ranks of `estimate` and `interval`, which grow geometrically from 1 to N."""
        return growing_ranks(self.n_items, _RANKS)

    @property
    def shown_ranks(self) -> Int[np.ndarray, " n"]:
        """Ranks of a figure."""
        return growing_ranks(self.n_items, _POINTS)

    @property
    def estimate(self) -> Float[np.ndarray, " T"]:
        """Precisions at `ranks`."""
        return self.precision(self.ranks)[:, 0]

    @cached_property
    def interval(self) -> Float[np.ndarray, "T 2"]:
        """The band at `ranks`."""
        return self.precision(self.ranks)[:, 1:]


def growing_ranks(n_items: int, number: int) -> Int[np.ndarray, " n"]:
    """Return ranks that grow geometrically from 1 to the last one, up to so many.

    Examples
    --------
    >>> growing_ranks(1000, 4).tolist()
    [1, 10, 100, 1000]
    """
    return np.unique(np.geomspace(1, n_items, number).round().astype(np.int64))
