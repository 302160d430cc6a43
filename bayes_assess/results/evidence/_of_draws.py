"""Evidence that is posterior draws of measures."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from bayes_assess._tools.shapes import Float
from bayes_assess.estimators.posterior_measure import PosteriorMeasure
from bayes_assess.results.evidence.told import Told


class OfDraws(Told):
    """What follows from posterior draws of measures, whatever they are drawn from."""

    @property
    @abstractmethod
    def joint(self) -> Float[np.ndarray, "S k"]:
        """Posterior draws of the measures."""

    @abstractmethod
    def summarised(self, draws: Float[np.ndarray, "S n"]) -> PosteriorMeasure:
        """Summarise draws of something that were made of `joint`."""

    def function(
        self, of: Callable[[Float[np.ndarray, "*batch k"]], Float[np.ndarray, "*batch n"]]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n 2"]]:
        """Estimate a function of the measures, with intervals."""
        found = self.summarised(of(self.joint))
        return found.value, found.interval(self.level)
