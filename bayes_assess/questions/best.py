"""Which of several systems on the same items is the best, by accuracy or another measure?"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.contradiction import contradicted, contradicting_level, widened
from bayes_assess.estimators.joint_draws import bounded_leads, leads, widened_leads
from bayes_assess.estimators.posterior_measure import PosteriorMeasure, posterior_measure
from bayes_assess.measures import LOSSES, centred_table, combine
from bayes_assess.measures.cell_measure import Sought
from bayes_assess.pool._columns import RESERVED
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.groups import Cut
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._base import BelievedT_co, WeighedT_co
from bayes_assess.questions._column_names import checked_names
from bayes_assess.questions._measures_compared import MeasuresCompared
from bayes_assess.questions._setting import Simulated
from bayes_assess.questions.metric import MetricCells

if TYPE_CHECKING:
    from bayes_assess.measures import LossTable, PRCurveTable
    from bayes_assess.measures._pool_losses import Measures


_ROUNDING = 1e-9  # of differences that are exactly the rope


class Best(MeasuresCompared[BelievedT_co, WeighedT_co]):
    """Which of several systems, that have predicted the same items, has the highest accuracy, or another measure?

    What is estimated is the lead of every system: its measure less the highest of the others, so that it is positive
    for the best one alone: multiple comparisons with the best. Of accuracies the only labels that can tell are of items
    on which some systems differ; what all have in common is not estimated.

    Parameters
    ----------
    systems : sequence of str, optional
        Names of systems of the pool, ``"prediction"`` is its own; all of them by default.
    measure : str or Measure
        Accuracy, or any other measure of predictions with one value that `Metric` takes, such as ``"f1"``. Of losses,
        such as ``"zero_one_loss"``, the lowest is the best.
    rope : float in [0, 1)
        Difference that you would not care about: a system that is behind the best by no more is as good.
    positive : class name, optional
        Positive class of two-class measures, as for `Metric`.

    Raises
    ------
    QuestionError
        If there are not two systems, or the measure has several values.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[0, 1, 1, 0], systems={"b": [0, 1, 0, 1], "c": [1, 0, 0, 1]})
    >>> a = ba.assess(pool, ba.Best())
    >>> a.tell(pool.ids, [0, 1, 1, 1])
    >>> r = a.result()
    >>> print(r.verdict)
    prediction, b have the highest accuracy, or are as good as that, as the labels show.
    >>> (r.estimate.round(12) + 0).tolist()  # leads
    [0.0, 0.0, -0.5]
    """

    systems: Any

    asks: ClassVar[str] = "Which{of_systems} has the {extreme} {measure}?"
    titled: ClassVar[str] = "{measure}{of_systems}"
    quantity: ClassVar[str] = "lead"
    verdicts = "one"
    lower_is_better: ClassVar[Mapping[str, bool]] = {"best": False, "regret": True}
    goals: ClassVar[Mapping[str, float]] = {"best": 0.95, "regret": 0.005}

    def __init__(
        self,
        systems: str | Sequence[str] | None = None,
        measure: Measures = "accuracy",
        rope: float = 0.0,
        *,
        positive: Hashable | None = None,
    ):
        self._take(None, rope, measure, positive, None)
        self._check_compares_systems()
        names = None if systems is None else checked_names("systems", systems)
        object.__setattr__(self, "systems", names)

    @property
    def name(self) -> str:
        """What the question is called."""
        return "Best"

    @property
    def scores(self) -> tuple[str, ...]:
        """Whether the system that seems the best is, and by how much it is behind if it is not."""
        return ("best", "regret")

    def for_pool(self, pool: Pool) -> Best:
        """Return the question with the names of all systems, or raise QuestionError if it cannot be asked there."""
        self.check_pool(pool)  # first: systems are nothing to give to a pool that takes none
        names = (RESERVED, *pool.systems) if self.systems is None else self.systems
        if len(names) < 2 or len(set(names)) < len(names):
            raise QuestionError(
                f"The best of several systems is asked for, each named once; found {show(list(names))}. Give the pool "
                "the predictions of others, systems={...}."
            )
        if self.systems is None:
            return Best(names, self.measure, self.rope, positive=self.positive).for_pool(pool)
        super().for_pool(pool)
        return self

    def on_cells(self, pool: Pool, cells: Cells) -> Best:
        """Return the question with the names of all systems."""
        return self.for_pool(pool)

    def default_design_on(self, pool: Pool) -> str:
        """Return ``"variance_reduction"`` where its belief tells which systems are right, else ``"importance"``."""
        return self.default_design if self._is_believable(pool) else "importance"

    @property
    def direction(self) -> int:
        """1 if the highest measure is the best, -1 if it is the lowest."""
        return -1 if combine(self.measure)[0].name in LOSSES else 1

    @property
    def extreme(self) -> str:
        """What the best has of the measure."""
        return "highest" if self.direction > 0 else "lowest"

    def losses(self, pool: Pool) -> tuple[Int[np.ndarray, " M"], LossTable | PRCurveTable]:
        """Return what the losses of every item depend on, and the table of the measures of all systems."""
        codes, loss_table = super().losses(pool)
        table: Any = loss_table
        if table.is_curve or len(table.outputs) != len(self.systems):
            asked = getattr(self.measure, "name", self.measure)
            raise QuestionError(
                f"The best is by a measure of predictions with one value, such as 'f1_macro'; found {show(asked)}."
            )
        return codes, centred_table(table)

    def cells(self, pool: Pool, seed: int, strata: Cut | None = None) -> MetricCells:
        """Collapse the pool as for the measures themselves, and say which of them is looked for."""
        cells = super().cells(pool, seed, strata)
        return replace(
            cells, measure=replace(cells.measure, compared=True, sought=Sought(self.direction, float(self.rope)))
        )

    def leads(self, values: Float[np.ndarray, "*batch G"]) -> Float[np.ndarray, "*batch G"]:
        """Compute the lead of every system from values of the measure, positive for the best."""
        return leads(self.direction * values)

    def bounded_leads(self, ends: Float[np.ndarray, "*batch G 2"]) -> Float[np.ndarray, "*batch G 2"]:
        """Bound the leads by bounds of the measures that hold all at once."""
        return bounded_leads(ends if self.direction > 0 else -ends[..., ::-1])

    def probability_good(self, leads: Float[np.ndarray, "*batch S G"]) -> Float[np.ndarray, "*batch G"]:
        """Compute from draws of the leads the probability that a system is behind the best by no more than the rope."""
        return (leads >= -self.rope - _ROUNDING).mean(-2)

    def study_verdicts(self, campaigns: Simulated) -> Float[np.ndarray, "R B"]:
        """Compute the greatest probability that a system is the best, or within the rope of it, in campaigns."""
        return self.probability_good(self.leads(self._study_draws(campaigns))).max(-1)

    def truth_of_counts(self, cells: Cells, full: Int[np.ndarray, "K C"]) -> Float[np.ndarray, " G"]:
        """Compute the leads from all labels."""
        return self.leads(super().truth_of_counts(cells, full))

    def study_estimates(self, campaigns: Simulated) -> Float[np.ndarray, "R B G"]:
        """Return the leads that simulated campaigns found."""
        return np.stack([lead.value for lead in self._study_leads(campaigns)]).reshape(campaigns.record.value.shape)

    def study_intervals(self, campaigns: Simulated, level: float) -> Float[np.ndarray, "R B G 2"]:
        """Return the intervals of the leads in simulated campaigns.

        Of weighted draws, campaigns do not keep how estimates hang together: they are taken for independent here.
        """
        leads_found = list(self._study_leads(campaigns))
        ends = np.stack([lead.interval(level) for lead in leads_found])
        if not campaigns.record.of_posterior:
            values = self.direction * self._study_draws(campaigns)
            exact = np.broadcast_to(campaigns.record.exact, values.shape[:-2]).ravel()
            each = zip(values.reshape(-1, *values.shape[-2:]), ends, exact, strict=True)
            ends = np.stack([own if known else widened_leads(drawn, own, level) for drawn, own, known in each])
        ends, design = ends.reshape(*campaigns.record.value.shape, 2), self.study_design_intervals(campaigns, level)
        if design is None:
            return ends
        least = contradicting_level(level)
        sure = ends if least == level else np.stack([lead.interval(least) for lead in leads_found]).reshape(ends.shape)
        bounds = self.bounded_leads(campaigns.record.sure_design_interval)
        return widened(ends, design, contradicted(sure, bounds))

    def study_design_intervals(self, campaigns: Simulated, level: float) -> Float[np.ndarray, "R B G 2"] | None:
        """Return what random items alone tell of the leads; None where the design keeps no account of them."""
        ends = campaigns.record.design_interval
        return None if ends is None else self.bounded_leads(ends)

    def study_scores(self, campaigns: Simulated) -> dict[str, Float[np.ndarray, "R B"]]:
        """Score simulated campaigns against the truth, (R, B) each; a system within the rope of the best will do."""
        truth = self.truth_of_counts(campaigns.cells, campaigns.full)
        best = self.study_estimates(campaigns).argmax(-1)
        regret = np.maximum(-truth[best], 0)
        return {"best": (regret <= self.rope + _ROUNDING).astype(float), "regret": regret}

    def _study_leads(self, campaigns: Simulated) -> Iterator[PosteriorMeasure]:
        """Summarise the leads of every campaign at every look, as sessions do."""
        draws = self.leads(self._study_draws(campaigns))
        exact = np.broadcast_to(campaigns.record.exact, draws.shape[:-2])
        for campaign_draws, known in zip(draws.reshape(-1, *draws.shape[-2:]), exact.ravel(), strict=True):
            yield posterior_measure(campaign_draws, known)

    def __repr__(self) -> str:
        return self._shown("systems").replace("Compare(", "Best(", 1)
