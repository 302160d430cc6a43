"""What results of measures know from a belief on an event, beside what random items alone tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess.designs._belief_state import Posterior
from bayes_assess.estimators.posterior_measure import PosteriorMeasure, contradicted, posterior_measure, widened
from bayes_assess.questions._event_cells import EventCells
from bayes_assess.questions._events import CellEvents
from bayes_assess.results._ordered import Ordered

ROUNDING = 1e-9  # of differences that are exactly the rope


@dataclass(frozen=True, eq=False, repr=False)
class Believed(Ordered):
    """Draws of measures from a belief, their intervals, and whether random items contradict these.

    Attributes
    ----------
    found : Posterior
    supposed : two arrays (S, k), optional
        Draws if all items set aside had the event, and if none had.
    """

    cells: EventCells
    found: Posterior = field(kw_only=True)
    supposed: Sequence[Float[np.ndarray, "S k"]] | None = field(kw_only=True, default=None)

    @property
    def _events(self) -> CellEvents:
        return self.cells.events

    @cached_property
    def _scored(self) -> bool:
        """Whether the answer hinges on scores: items that may change it differ in more than what is predicted."""
        if not self._events.subject.is_scored:
            return False
        places, cells = self._events.coordinates, self.cells
        left = (np.asarray(cells.sizes) > self.counts.sum(-1)) & np.asarray(cells.measure.nonzero).any(-1)
        told_apart = np.stack([places.feature, places.place[0]])[:, left]
        return np.unique(told_apart, axis=1).shape[1] > len(np.unique(told_apart[0]))

    @property
    def _trusted(self) -> str:
        """What the belief leans on."""
        return "scores" if self._scored else "predictions"

    @property
    def _rates(self) -> Float[np.ndarray, "S K"]:
        """Draws of the rate of the event in every cell."""
        nu, counts = self.found.strength, self.found.events
        return (nu * self.found.curves + counts[:, 1]) / (nu + counts.sum(1))

    @cached_property
    def _measured(self) -> PosteriorMeasure:
        return posterior_measure(self.found.draws, self.found.exact, self.found.cautious)

    @cached_property
    def _credible(self) -> Float[np.ndarray, "k 2"]:
        if self.found.exact:
            value = self._measured.value
            return np.stack([value, value], axis=-1)
        return self._measured.interval(self.level)

    @property
    def _joint(self) -> Float[np.ndarray, "S k"]:
        return self.found.draws

    @cached_property
    def _design(self) -> Float[np.ndarray, "k 2"]:
        return self._credible if self.found.exact else self.found.design_interval

    @cached_property
    def _contradicted(self) -> np.ndarray:
        return contradicted(self._credible, self._design)

    @cached_property
    def _certain(self) -> np.ndarray:
        """Measures that no label which is missing can change."""
        return self.found.exact | (np.ptp(self._design, axis=-1) <= ROUNDING)

    @property
    def _all_certain(self) -> bool:
        return bool(np.all(self._certain))

    def _ends_of_all(self) -> Float[np.ndarray, "k 2"]:
        return widened(self._credible, self._design)
