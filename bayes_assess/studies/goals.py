"""Goals of a campaign: an interval of some width, or a verdict of some probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bayes_assess._tools.arrays import is_number, is_one_of, show
from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess.errors import QuestionError
from bayes_assess.pool.cells import Cells
from bayes_assess.questions import Question
from bayes_assess.studies.study import Campaigns

_DRAWS = 500  # for the interval of the overall accuracy
_PROBABILITY = 0.95  # of a verdict
_ANSWERS = ("widest", "overall")
_ROUNDED = 1e-12  # by which a width may be greater than wished: 1 - 0.95 is greater than 0.05


def check_plannable(question: Question) -> None:
    """Raise QuestionError if no goal can be set for a question.

    Examples
    --------
    >>> from bayes_assess.questions import GroupAccuracy
    >>> check_plannable(GroupAccuracy())
    """
    if question.unplannable:
        raise QuestionError(f"{question.name} cannot be planned: it {question.unplannable}.")


class Answering(Protocol):
    """What answers a question from the labels told so far, as sessions do."""

    def result(self, level: float = ..., *, question: Question | None = None) -> object:
        """Answer the question."""
        ...


@dataclass(frozen=True)
class Goal:
    """When a campaign has found out enough.

    Attributes
    ----------
    question, cells
    kind : {"width", "probability"}
        Of the widest interval, or of the least sure verdict.
    value : float
    of : {"widest", "overall"}
    level : float
        Of the intervals.
    """

    question: Question
    cells: Cells
    kind: str
    value: float
    of: str
    level: float

    @classmethod
    def checked(
        cls, question: Question, cells: Cells, width: float | None, probability: float | None, of: str, level: float
    ) -> Goal:
        """Make the goal, or raise QuestionError if the question has none such."""
        name = question.name
        verdicts = question.verdicts != "none"
        if width is not None and probability is not None:
            raise QuestionError("A plan has one goal: give a width or a probability, not both.")
        if width is None and probability is None and not verdicts:
            raise QuestionError(f"A plan for {name} needs the width that its interval is to have, such as width=0.05.")
        if probability is not None and not verdicts:
            raise question.no_verdict()
        if not is_one_of(of, _ANSWERS) or (of == "overall" and not question.has_overall):
            raise QuestionError(
                f"A plan is of the 'widest' interval, or for GroupAccuracy of the 'overall' accuracy; found {show(of)}."
            )
        kind = "probability" if width is None else "width"
        value = _PROBABILITY if width is None and probability is None else (probability if width is None else width)
        most = question.widest_on(cells) if kind == "width" else 1.0
        if value is None or not (is_number(value) and 0 < value < most):
            raise QuestionError(f"The {kind} that is planned for lies between 0 and {most:g}; found {show(value)}.")
        return cls(question, cells, kind, float(value), of, checked_level(level))

    @property
    def widest(self) -> bool:
        """Whether the goal is about the widest of several intervals, or the least sure of several verdicts."""
        if self.kind == "probability":
            return self.question.verdicts == "several"
        return self.of != "overall" and not self.question.is_single(self.cells)

    def reached(self, values: Float[np.ndarray, "*shape"]) -> Bool[np.ndarray, "*shape"]:
        """Tell where widths, or probabilities, are as wished."""
        return values <= self.value + _ROUNDED if self.kind == "width" else values >= self.value

    def now(self, session: Answering, n: int) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Return the session's own width, and the value that the goal is about, `n` times."""
        result: Any = session.result(self.level)  # that of such a question
        ends = result.overall[1] if self.of == "overall" else result.interval
        width = float(self._widest(np.diff(ends, axis=-1)[..., 0][None, None]).item())
        return np.full(n, width), np.full(n, result.probability if self.kind == "probability" else width)

    def measured(self, campaigns: Campaigns) -> tuple[Float[np.ndarray, "F L"], Float[np.ndarray, "F L"]]:
        """Return the widths of simulated campaigns at all looks, and the values that the goal is about."""
        if self.of == "overall":
            draws = self.question.draws(campaigns.cells, campaigns.prior, campaigns.counts, 0, _DRAWS)
            tails = [(1 - self.level) / 2, (1 + self.level) / 2]
            widths = np.diff(np.quantile(draws @ campaigns.cells.weights, tails, axis=0), axis=0)[0]
        else:
            ends = self.question.plan_intervals(campaigns, self.level)
            widths = self._widest(np.diff(ends, axis=-1)[..., 0])
        return widths, widths if self.kind == "width" else self.question.plan_verdicts(campaigns)

    def _widest(self, widths: Float[np.ndarray, "F L *answer"]) -> Float[np.ndarray, "F L"]:
        """Return the greatest width of those of groups with items."""
        sizes = self.question.group_sizes(self.cells)
        if widths.ndim > 2 and sizes is not None and widths.shape[2] == len(sizes):
            widths = widths[:, :, np.asarray(sizes) > 0]
        return widths.max(axis=tuple(range(2, widths.ndim))) if widths.ndim > 2 else widths


def random_labels_to(
    goal: Goal, cells: Cells, full: Int[np.ndarray, "F K O"], width: Float[np.ndarray, " F"]
) -> Float[np.ndarray, " F"] | None:
    """Count the random labels that give an interval as narrow in every future; None where no formula has them.

    Parameters
    ----------
    goal : Goal
    cells : Cells
    full : (F, K, O) integers
        Items of every cell by outcome.
    width : (F,) floats
        What the interval is to be; not a number where that is unknown, and so are the labels.
    """
    known = np.isfinite(width)
    n_labels = goal.question.random_labels(cells, full, np.where(known, width, 1.0), goal.level, goal.of == "overall")
    return None if n_labels is None else np.where(known, np.ceil(n_labels), np.nan)
