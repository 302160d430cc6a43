"""Which groups have a higher measure than which? All pairs of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.verdicts import region_masses, region_of
from bayes_assess.measures import LOSSES, combine
from bayes_assess.pool.groups import Cut
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._base import BelievedT_co, WeighedT_co
from bayes_assess.questions._measures_compared import MeasuresCompared
from bayes_assess.questions._setting import Simulated
from bayes_assess.questions.metric import MetricCells

if TYPE_CHECKING:
    from bayes_assess.measures import LossTable, PRCurveTable
    from bayes_assess.measures._pool_losses import Measures


_ROUNDING = 1e-9  # of differences that are exactly the rope


class MeasurePairs(MeasuresCompared[BelievedT_co, WeighedT_co]):
    """Which groups have a higher measure than which, such as systems by the rate of good answers? Made by `Compare`.

    The outputs are the measures of all groups; designs that can choose what tells about their differences.
    """

    asks: ClassVar[str] = "Which groups{by} have a higher {measure} than which?"
    titled: ClassVar[str] = "{measure}, all pairs{by}"
    made_by: ClassVar[str] = "Compare"
    quantity: ClassVar[str] = "measure"
    measures_compared = "pairs"
    lower_is_better: ClassVar[Mapping[str, bool]] = {"right": False, "best": False, "error": True}
    goals: ClassVar[Mapping[str, float]] = {"right": 0.95, "best": 0.95, "error": 0.05}

    def __init__(
        self,
        by: str,
        rope: float = 0.05,
        *,
        measure: Measures = "rate",
        positive: Hashable | None = None,
        values: Mapping[Hashable, float] | Sequence[float] | None = None,
    ):
        self._take(by, rope, measure, positive, values)

    @property
    def scores(self) -> tuple[str, ...]:
        """Share of pairs with the verdict of full labels, whether the best is found, and the error of differences."""
        return ("right", "best", "error")

    def losses(self, pool: Pool) -> tuple[Int[np.ndarray, " M"], LossTable | PRCurveTable]:
        """Return what the losses of every item depend on, and the table of the measures of all groups."""
        codes, loss_table = super().losses(pool)
        table: Any = loss_table
        (part,) = table.parts
        if len(table.outputs) != len(part.starts):
            raise QuestionError(
                f"A comparison is of a measure with one value, such as 'rate'; found {self.measure_name}."
            )
        if len(table.outputs) < 2:
            raise QuestionError(f"There are not two groups by {show(self.by)} that could be compared.")
        return codes, table

    def cells(self, pool: Pool, seed: int, strata: Cut | None = None) -> MetricCells:
        """Collapse the pool as for the measures themselves, and say that they are compared."""
        cells = super().cells(pool, seed, strata)
        return replace(cells, measure=replace(cells.measure, compared=True))

    def study_scores(self, campaigns: Simulated) -> dict[str, Float[np.ndarray, "R B"]]:
        """Score simulated campaigns against the truth, (R, B) each: means over all pairs."""
        truth = np.atleast_1d(self.truth_of_counts(campaigns.cells, campaigns.full))
        draws, value = self._study_draws(campaigns), campaigns.record.value
        first, second = np.triu_indices(len(truth), 1)
        away = np.moveaxis(draws[..., first] - draws[..., second], -2, -1)  # (R, B, P, n)
        verdict = region_masses(away, self.rope + _ROUNDING).argmax(-1)
        right = (verdict == region_of(truth[first] - truth[second], self.rope + _ROUNDING)).mean(-1)
        sign = -1 if combine(self.measure)[0].name in LOSSES else 1
        chosen = (sign * value).argmax(-1)
        best = np.isclose(truth[chosen], (sign * truth).max() * sign, rtol=0, atol=_ROUNDING)
        error = np.abs(value[..., first] - value[..., second] - (truth[first] - truth[second])).mean(-1)
        return {"right": right, "best": best.astype(float), "error": error}

    def __repr__(self) -> str:
        return self._shown("by")
