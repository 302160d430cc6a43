"""Is a measure of one system, or of one group, above another's?"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayes_assess._tools.arrays import listing, show
from bayes_assess._tools.dates import places_named
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.verdicts import interval_quantiles, region_masses, region_of, verdict_of
from bayes_assess.measures import difference_table
from bayes_assess.pool._columns import RESERVED
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._base import BelievedT_co, WeighedT_co
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.questions._measures_compared import MeasuresCompared
from bayes_assess.questions._setting import Simulated

if TYPE_CHECKING:
    from bayes_assess.measures import LossTable, PRCurveTable
    from bayes_assess.measures._pool_losses import Measures

_ROUNDING = 1e-9  # of differences that are exactly the rope


class MeasureComparison(MeasuresCompared[BelievedT_co, WeighedT_co]):
    """Which of two systems, or of two groups, has the higher F1, or any other measure? Made by `Compare`.

    The only output is the difference D, first less second, so that designs choose what tells about D.
    """

    asks: ClassVar[str] = "Has {first} or {second} the higher {measure}?"
    titled: ClassVar[str] = "{measure} of {first} less {second}"
    first: Hashable
    second: Hashable

    made_by: ClassVar[str] = "Compare"
    quantity: ClassVar[str] = "difference of measures"
    lower_is_better: ClassVar[Mapping[str, bool]] = {"right": False, "error": True}
    goals: ClassVar[Mapping[str, float]] = {"right": 0.95, "error": 0.05}

    verdicts = "one"
    measures_compared = "two"

    def __init__(
        self,
        first: Hashable,
        second: Hashable,
        by: str | None = None,
        rope: float = 0.05,
        *,
        measure: Measures = "f1",
        positive: Hashable | None = None,
        values: Mapping[Hashable, float] | Sequence[float] | None = None,
        target: str = "pool",
    ):
        self._take(by, rope, measure, positive, values)
        systems = (first, second) if by is None else ()
        for name, value in {"first": first, "second": second, "systems": systems}.items():
            object.__setattr__(self, name, value)
        if by is None:
            self._check_compares_systems()
        if target != "pool":
            raise QuestionError("Measures are compared on the items of the pool: leave out target='population'.")

    @property
    def scores(self) -> tuple[str, ...]:
        """Whether the verdict is that at full labels, and the error of the difference."""
        return ("right", "error")

    def losses(self, pool: Pool) -> tuple[Int[np.ndarray, " M"], LossTable | PRCurveTable]:
        """Return what the losses of every item depend on, and the table of the difference."""
        codes, loss_table = super().losses(pool)
        table: Any = loss_table
        assert not table.is_curve  # curves have neither systems nor groups
        if self.by is None:
            return codes, difference_table(table, 0, 1)
        sides, known = [], [output.partition(f" ({self.by} ")[2].removesuffix(")") for output in table.outputs]
        for side in (self.first, self.second):
            places = places_named(known, side)
            if not places:
                raise QuestionError(f"There is no group {show(side)} in {self.by!r}; it has {listing(known)}.")
            sides.append(places[0])
        return codes, difference_table(table, *sides)

    def names(self) -> tuple[str, str]:
        """Name the two sides."""
        first, second = ("the pool's system" if side == RESERVED else str(side) for side in (self.first, self.second))
        return first, second

    def is_single(self, cells: Cells) -> bool:
        """Say yes: there is one difference."""
        return True

    def study_verdicts(self, campaigns: Simulated) -> Float[np.ndarray, "R B"]:
        """Compute the probability of the verdict in simulated campaigns."""
        return self._study_masses(campaigns).max(-1)

    def _study_masses(self, campaigns: Simulated) -> Float[np.ndarray, "R B 3"]:
        record, ranges = campaigns.record, cells_table(campaigns.cells).ranges
        quantiles = record.quantiles if record.of_posterior else interval_quantiles(record, ranges)
        return self.masses(quantiles[..., 0, :])

    def masses(self, quantiles: Float[np.ndarray, "*batch Q"]) -> Float[np.ndarray, "*batch 3"]:
        """Compute the probabilities of D < -rope, |D| <= rope and D > rope."""
        return region_masses(quantiles, self.rope + _ROUNDING)

    def study_scores(self, campaigns: Simulated) -> dict[str, Float[np.ndarray, "R B"]]:
        """Score simulated campaigns against the truth, (R, B) each."""
        truth = float(self.truth_of_counts(campaigns.cells, campaigns.full))
        masses = self._study_masses(campaigns)
        value, rope = campaigns.record.value[..., 0], self.rope + _ROUNDING
        right = verdict_of(masses, value, rope) == region_of(truth, rope)
        return {"right": right.astype(float), "error": np.abs(value - truth)}

    def __repr__(self) -> str:
        return self._shown("first", "second", "by")
