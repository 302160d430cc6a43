"""Evidence on measures, whatever it is: estimates, intervals, and joint draws by which measures are compared."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from bayes_assess._tools.shapes import Array, Float
from bayes_assess.estimators.posterior_measure import PosteriorMeasure
from bayes_assess.questions import Metric
from bayes_assess.questions._event_cells import MetricCells
from bayes_assess.results.evidence.told import EvidenceBase

if TYPE_CHECKING:
    from functools import cached_property

ROUNDING = 1e-9  # of differences that are exactly the rope, and of values that are known


class Variables(NamedTuple):
    """Draws of measures by the names of variables, with their dimensions and coordinates."""

    posterior: dict[str, Float[np.ndarray, "S ..."]]
    dims: dict[str, list[str]]
    coords: dict[str, np.ndarray]


@dataclass(frozen=True, eq=False, repr=False)
class OnMeasures(EvidenceBase):
    """What all evidence on measures has."""

    question: Metric
    cells: MetricCells

    has_posterior: ClassVar[bool] = True  # of the measures

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether every item is labelled that can matter."""

    @property
    @abstractmethod
    def assumption(self) -> str:
        """What estimates and intervals lean on."""

    @property
    def assumption_of_functions(self) -> str:
        """What functions of the measures lean on."""
        return self.assumption

    @property
    @abstractmethod
    def value(self) -> Float[np.ndarray, " k"]:
        """Estimates."""

    @property
    @abstractmethod
    def ends(self) -> Float[np.ndarray, "k 2"]:
        """Intervals."""

    @property
    @abstractmethod
    def standard_error(self) -> Float[np.ndarray, " k"]:
        """Posterior standard deviations, or standard errors."""

    if TYPE_CHECKING:

        @cached_property
        def joint(self) -> Float[np.ndarray, "S k"]:
            """Posterior draws of the measures, or those that estimates stand for."""
            ...

    @abstractmethod
    def summarised(self, draws: Float[np.ndarray, "S n"]) -> PosteriorMeasure:
        """Summarise draws of something that were made of `joint`."""

    def function(
        self, of: Callable[[Float[np.ndarray, "*batch k"]], Float[np.ndarray, "*batch n"]]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n 2"]]:
        """Estimate a function of the measures, with intervals."""
        found = self.summarised(of(self.joint))
        return found.value, found.interval(self.level)

    @property
    def is_single(self) -> bool:
        """Whether one measure was asked for, so that the answer is a number."""
        return len(self.groups) == 1 and not isinstance(self.question.measure, list | tuple)

    def shaped(self, values: Array) -> Any:
        """Give values of all outputs, (k, ...), the shape of the answer."""
        return values[0] if self.is_single else values

    @property
    def estimate(self) -> Any:
        """Estimates in the shape of the answer."""
        return self.shaped(self.value)

    def interval(self, draws: Callable[[], Float[np.ndarray, "S k"]]) -> Float[np.ndarray, "... 2"]:
        """Return the intervals in the shape of the answer, which need no draws but the evidence's own."""
        return self.shaped(self.ends)

    def draws(self, n: int) -> Float[np.ndarray, "S k"]:
        """Return the posterior draws of the measures, as many as there are."""
        if self.has_posterior:
            return self.joint
        return self.question.draws(self.cells, self.prior, self.counts, self.seed, n)  # which says why not

    def variables(self) -> Variables:
        """Return posterior draws of the measures as variables."""
        return Variables(dict(zip(self.groups.tolist(), self.draws(self.n_draws).T, strict=True)), {}, {})
