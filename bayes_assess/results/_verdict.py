"""What verdicts on a difference have in common, whatever is compared."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess.questions import GroupPair, MeasureComparison, TwoSystems
from bayes_assess.results import plots
from bayes_assess.results._base import EvidenceT_co, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Verdict(Result[EvidenceT_co]):
    """Names of the two sides, and the most probable of three events."""

    question: GroupPair | TwoSystems | MeasureComparison

    if TYPE_CHECKING:

        @cached_property
        def masses(self) -> Float[np.ndarray, " 3"]: ...

    @property
    def names(self) -> tuple[str, str]:
        """What is compared."""
        return self.question.names()

    @property
    def eta(self) -> int:
        """The most probable of the three events: 0, 1 or 2."""
        return int(self.masses.argmax())

    @property
    def probability(self) -> float:
        """Probability of the verdict."""
        return float(self.masses.max())

    @property
    def verdict(self) -> str:
        """The verdict as a sentence."""
        exact = self.guarantee == "exact"
        how = ", as their labels show" if exact else f" with probability {self.probability:.2f}"
        return f"{self._event()}{how}."

    @abstractmethod
    def _event(self) -> str:
        """Say the most probable of the three events in words."""

    def _density(self, draws: Float[np.ndarray, " S"], title: str, truth: float | None, ax: Axes | None) -> Axes:
        """Draw the posterior density of the difference, with the region of practical equivalence marked."""
        first, second = self.names
        return plots.rope_density(
            draws,
            float(self.question.rope),
            self.masses,
            first=first,
            second=second,
            estimate=float(self.estimate),
            interval=self.interval,
            interval_label=self._interval_label,
            truth=truth,
            title=f"{title}: {self._progress()}",
            ax=ax,
        )
