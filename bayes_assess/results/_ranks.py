"""Ranks of several groups, or systems, by draws of one value of each."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from bayes_assess._tools.arrays import is_whole, show
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import QuestionError
from bayes_assess.results._base import CountedT_co, Result, SectionT_co


class Ranks(Result[CountedT_co, SectionT_co]):
    """Ranks from joint draws, and the probabilities of being among the best and the worst."""

    @cached_property
    def _drawn_ranks(self) -> Int[np.ndarray, "S J"]:
        return self._draw_ranks()

    @abstractmethod
    def _draw_ranks(self) -> Int[np.ndarray, "S J"]:
        """Rank every group that has a rank in every draw, 1 is the worst."""

    def _fill(self, values: np.ndarray) -> np.ndarray:
        """Give values of the groups that have ranks, (J,), to all groups, (G,): here these are the same."""
        return values

    @cached_property
    def rank(self) -> Float[np.ndarray, " G"]:
        """Mean rank of every group, 1 is the worst, (G,); 0 for a group without a value."""
        return self._fill(self._drawn_ranks.mean(0))

    @cached_property
    def rank_interval(self) -> Int[np.ndarray, "G 2"]:
        """Equal-tailed interval of every group's rank, (G, 2)."""
        ends = np.quantile(self._drawn_ranks, self._tails(), axis=0, method="inverted_cdf")
        return np.stack([self._fill(end) for end in ends], axis=-1).astype(np.int64)

    @property
    def probability_worst(self) -> Float[np.ndarray, " G"]:
        """Probability that the group is the worst, (G,): the least accurate, or the most costly."""
        return self.probability_among_worst(1)

    @property
    def probability_best(self) -> Float[np.ndarray, " G"]:
        """Probability that the group is the best, (G,)."""
        return self.probability_among_best(1)

    def probability_among_worst(self, m: int) -> Float[np.ndarray, " G"]:
        """Probability that the group is among the m worst, (G,)."""
        _check_number(m)
        return self._fill((self._drawn_ranks <= m).mean(0))

    def probability_among_best(self, m: int) -> Float[np.ndarray, " G"]:
        """Probability that the group is among the m best, (G,)."""
        _check_number(m)
        return self._fill((self._drawn_ranks > self._drawn_ranks.shape[1] - m).mean(0))


def _check_number(m: int) -> None:
    if not is_whole(m):
        raise QuestionError(f"The m best or worst are a whole number, 1 or more; found {show(m)}.")
