"""What comparisons of measures share: one measure, such as the mean of ratings, and a region that counts as equal."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.acquisition.equivalence import checked_rope
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.joint_draws import joined_draws
from bayes_assess.estimators.verdicts import interval_quantiles
from bayes_assess.measures import combine, mean_of, table_for
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._base import BelievedT_co, WeighedT_co
from bayes_assess.questions._class_values import Values, checked_values, class_values
from bayes_assess.questions._events import Subject
from bayes_assess.questions._measures_answered import cells_table
from bayes_assess.questions._setting import Simulated
from bayes_assess.questions.metric import Metric

if TYPE_CHECKING:
    from bayes_assess.measures import LossTable, PRCurveTable
    from bayes_assess.measures._pool_losses import Measures
    from bayes_assess.pool.rank_strata import RankedScore


_N_DRAWS = 512  # that the estimates of a simulated campaign stand for


class MeasuresCompared(Metric[BelievedT_co, WeighedT_co]):
    """One measure of several groups or systems, which matters by its differences."""

    rope: float
    values: Values

    def _take(self, by: str | None, rope: float, measure: Measures, positive: Hashable | None, values: object) -> None:
        """Check and keep the options that all comparisons of measures have."""
        measure = mean_of() if is_mean(measure) else measure
        given = {"by": by, "measure": measure, "positive": positive, "values": checked_values(values), "rope": rope}
        for name, value in (given | {"systems": (), "average": None, "target": "pool"}).items():
            object.__setattr__(self, name, value)
        if len(combine(measure)) != 1:
            raise QuestionError(f"A comparison is of one measure, such as 'rate'; found {show(measure)}.")
        checked_rope(rope, below=math.inf if is_mean(measure) else 1.0)
        if values is not None and not is_mean(measure):
            raise QuestionError(
                f"Values of classes are for measure='mean', the mean of what labels stand for; leave them out, or "
                f"compare that instead of {self.measure_name}."
            )
        if positive is not None and is_mean(measure):
            raise QuestionError("A mean counts every label by its value: leave out the positive class.")

    def _check_compares_systems(self) -> None:
        """Raise QuestionError for a measure of the labels alone, which tells no system from another."""
        if self.measure_name in ("rate", "mean"):
            measure = "rate of positive labels" if self.measure_name == "rate" else "mean of the labels"
            raise QuestionError(
                f"The {measure} is the same for all systems that predict these items: compare groups of items by it."
            )

    @property
    def name(self) -> str:
        """What the question is called."""
        return "Compare"

    @property
    def measure_name(self) -> str:
        """What is compared."""
        return combine(self.measure)[0].name

    def said_of_steps(self, step: float) -> str:
        """Say by how much the steps to which numbers have been rounded move differences of means."""
        if not is_mean(self.measure):
            return super().said_of_steps(step)
        by = f"which moves differences of means by {step:g} at most, and usually by far less"
        return f"Predictions and labels are rounded to steps of {step:g}, {by}."

    def for_pool(self, pool: Pool) -> MeasuresCompared:
        """Return the question itself, or raise QuestionError if it cannot be asked of this pool."""
        self.check_pool(pool)
        if is_mean(self.measure):
            span = float(np.ptp(class_values(self.values, pool)))
            if self.rope >= span:
                raise QuestionError(
                    f"The rope is in units of the values, which lie {span:g} apart at most; found {self.rope:g}, "
                    "within which all means would count as equal."
                )
        return self

    def losses(self, pool: Pool) -> tuple[Int[np.ndarray, " M"], LossTable | PRCurveTable]:
        """Return what the losses of every item depend on, and the table of the measures of all sides."""
        measure = mean_of(tuple(class_values(self.values, pool).tolist())) if is_mean(self.measure) else self.measure
        return table_for(measure, pool, positive=self.positive, systems=self.systems, by=self.by)

    def _subject(self, pool: Pool) -> tuple[Subject, RankedScore | None]:
        subject, ranked = super()._subject(pool)
        if is_mean(self.measure) and not subject.decides:
            subject = replace(subject, values=class_values(self.values, pool))
        return subject, ranked

    def _study_draws(self, campaigns: Simulated) -> Float[np.ndarray, "R B n k"]:
        """Joint draws of the posterior, or those that estimates stand for: independent of each other."""
        record = campaigns.record
        if record.of_posterior:
            return record.draws
        quantiles = interval_quantiles(record, cells_table(campaigns.cells).ranges)
        flat = quantiles.reshape(-1, *quantiles.shape[-2:])
        draws = np.stack([joined_draws(own_quantiles, None, _N_DRAWS, seed) for seed, own_quantiles in enumerate(flat)])
        return draws.reshape(*quantiles.shape[:-2], *draws.shape[1:])

    def _shown(self, *names: str) -> str:
        """Write the question as it was asked."""
        options = {name: getattr(self, name) for name in (*names, "measure", "rope", "positive", "values")}
        options["measure"] = "mean" if is_mean(self.measure) else self.measure
        return f"Compare({', '.join(f'{name}={value!r}' for name, value in options.items() if value is not None)})"


def is_mean(measure: object) -> bool:
    """Tell whether a measure is the mean of what labels stand for.

    Examples
    --------
    >>> is_mean("mean"), is_mean(mean_of()), is_mean("rate")
    (True, True, False)
    """
    return getattr(measure, "name", measure) == "mean"
