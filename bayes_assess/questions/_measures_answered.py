"""Answers to questions on measures: from weighted draws or posteriors of the measures, not from counts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.contradiction import contradicted, contradicting_level, widened
from bayes_assess.estimators.intervals import measure_interval
from bayes_assess.measures import LossTable, PRCurveTable
from bayes_assess.measures._pool_losses import Measures
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.models.belief import Belief
from bayes_assess.pool.cells import Cells
from bayes_assess.questions._answered import Answered
from bayes_assess.questions._event_cells import metric_cells
from bayes_assess.questions._setting import Simulated


class MeasuresAnswered(Answered):
    """What follows from what designs record of campaigns: an `Estimate` of k measures or a `PosteriorMeasure`."""

    measure: Measures
    measures_compared: ClassVar[Literal["none", "two", "pairs"]] = "none"  # with each other

    @property
    @abstractmethod
    def name(self) -> str:
        """What the question is called."""

    @abstractmethod
    def truth_of_counts(self, cells: Cells, full: Int[np.ndarray, "K C"]) -> Float[np.ndarray, " k"]:
        """Compute the measures from all labels."""

    def estimate(self, cells: Cells, prior: Belief, counts: Int[np.ndarray, "*batch K O"]) -> np.ndarray:
        """Refuse: weighted draws are needed."""
        raise self._needs_draws()

    def evaluate(
        self, cells: Cells, prior: Belief, counts: Int[np.ndarray, "*batch K O"], full: Int[np.ndarray, "*batch K O"]
    ) -> dict[str, np.ndarray]:
        """Refuse: weighted draws are needed."""
        raise self._needs_draws()

    def _draw_blocks(
        self, cells: Cells, prior: Belief, counts: Int[np.ndarray, "*batch K O"], seed: int, n: int
    ) -> Iterator[np.ndarray]:
        raise self._needs_draws()

    def _needs_draws(self) -> QuestionError:
        return QuestionError(f"{self.name} is estimated from weighted draws: counts alone have no posterior of it.")

    def widest_on(self, cells: Cells) -> float:
        """Return how wide its intervals are before anything is known: as the range of the measure is."""
        return max(high - low for low, high in cells_table(cells).ranges)

    def unit_on(self, cells: Cells, truth: Float[np.ndarray, " k"]) -> float:
        """Return 1, or of means how far the values of labels lie apart."""
        if getattr(self.measure, "name", None) != "mean":
            return 1.0
        return self.widest_on(cells) / (2 if self.measures_compared == "two" else 1)  # of differences

    def study_estimates(self, campaigns: Simulated) -> np.ndarray:
        """Return the estimates of simulated campaigns, (R, B, *answer)."""
        return self.shaped(cells_table(campaigns.cells).outputs, campaigns.record.value)

    def study_intervals(self, campaigns: Simulated, level: float) -> np.ndarray:
        """Return the intervals of simulated campaigns, (R, B, *answer, 2)."""
        table = cells_table(campaigns.cells)
        if campaigns.record.of_posterior:
            ends, design = campaigns.record.interval(level), campaigns.record.design_interval
            if design is not None:
                least = contradicting_level(level)
                sure = ends if least == level else campaigns.record.interval(least)
                ends = widened(ends, design, contradicted(sure, campaigns.record.sure_design_interval))
        else:
            ends = measure_interval(campaigns.record, table.ranges, level)
        return ends[..., 0, :] if self._is_scalar(table.outputs) else ends

    def study_design_intervals(self, campaigns: Simulated, level: float) -> np.ndarray | None:
        """Return the intervals from random items alone, (R, B, *answer, 2); None where the design keeps none."""
        ends = campaigns.record.design_interval
        of_one = self._is_scalar(cells_table(campaigns.cells).outputs)
        return ends[..., 0, :] if ends is not None and of_one else ends

    def study_scores(self, campaigns: Simulated) -> dict[str, Float[np.ndarray, "R B"]]:
        """Score simulated campaigns against the truth, (R, B) each."""
        truth = np.atleast_1d(self.truth_of_counts(campaigns.cells, campaigns.full))
        error = campaigns.record.value - truth
        far = campaigns.divergence
        return {
            "mse": (error**2).mean(-1),
            "bias": error.mean(-1),
            # Designs that decide without a proposal have none to diverge.
            "divergence": np.full(error.shape[:-1], np.nan) if far is None else far,
        }

    def shaped(self, outputs: Sequence[str], values: np.ndarray) -> np.ndarray:
        """Give values (..., k) the shape of the answer: numbers if one measure was asked for."""
        return values[..., 0] if self._is_scalar(outputs) else values

    def _is_scalar(self, outputs: Sequence[str]) -> bool:
        return len(outputs) == 1 and not isinstance(self.measure, list | tuple)


def cells_table(cells: Cells) -> LossTable | PRCurveTable:
    """Return the table of losses of the cells of a measure."""
    return cell_measure(cells).table


def cell_measure(cells: Cells) -> CellMeasure:
    """Return the measure on the cells of a question on measures; raise QuestionError for others."""
    return metric_cells(cells).measure
