"""Labels of random items of strata of ranks, and what they say of a ranked list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from bayes_assess.designs.ranked import Band, SamplingPlan
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.ranked_labels import RankedLabels
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import PrecisionCurve
from bayes_assess.results.evidence.told import Told


@dataclass(frozen=True, eq=False, repr=False)
class RankSample(Told):
    """Labels of random items of strata of ranks, with the bands that a design makes of them.

    Attributes
    ----------
    ranked : RankedList
    labels : RankedLabels
    plan : SamplingPlan
    estimated, bounding : Band
        Of the estimates, taken for exact, and of their confidence intervals.
    contradicted : (int, int) or None
        Ranks whose precisions contradict the monotonicity that the question assumes. The band is then that of curves
        of any shape.
    aside : int
        Items that nobody could label.
    """

    question: PrecisionCurve
    ranked: RankedList
    labels: RankedLabels
    plan: SamplingPlan
    estimated: Band
    bounding: Band
    contradicted: tuple[int, int] | None
    aside: int = 0

    @property
    def labels_used(self) -> int:
        """Labels told so far."""
        return self.labels.n_labelled

    @property
    def done(self) -> bool:
        """Whether the design needs no more labels, so that the promised factor is kept."""
        return self.plan.done

    @property
    def guarantee(self) -> str:
        """What the band promises."""
        if self.labels_used == self._n_items and not self.question.noise:
            return "exact"
        return "asymptotic"

    @property
    def n_draws(self) -> int:
        """No posterior draws are taken."""
        return 0

    def draws(self, n: int) -> NoReturn:
        """Refuse, and say why."""
        raise self.no_posterior()

    def no_posterior(self) -> QuestionError:
        """Return the error that says what there is in the place of a posterior."""
        return QuestionError(
            f"The band of design {self.design!r} is of random labels, without a posterior that ArviZ could show; `at` "
            "and `table` say how well the curve is known. Design 'variance_reduction' has one."
        )

    @property
    def n_skipped(self) -> int:
        """Items that were set aside."""
        return self.aside

    @property
    def progress_of_design(self) -> str:
        """How far the design has come, the end of a sentence."""
        return "; the design needs no more labels" if self.done else "; the design wants more labels"

    @property
    def _n_items(self) -> int:
        """Length of the list, N."""
        return self.ranked.n_items

    @property
    def _others_of_skipped(self) -> str:
        return f"others of {'its' if self.n_skipped == 1 else 'their'} ranks"
