"""Looking for the m most extreme groups: what is checked, and how ranks are scored."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bayes_assess._tools.arrays import is_whole, show
from bayes_assess._tools.shapes import Bool, Float
from bayes_assess._tools.text import plural
from bayes_assess.errors import QuestionError
from bayes_assess.pool.cells import Cells
from bayes_assess.questions._base import AnswerT_co, Question


def no_interval(beside: str) -> str:
    """Say why nothing can be planned for such a question, and of which other one campaigns can be."""
    return f"asks which groups are the most extreme, and that has no interval; plan {beside}, in a campaign of its own"


class ExtremeQuestion(Question[AnswerT_co, AnswerT_co]):
    """Which m groups have the most extreme value? `sign` times the value is greatest there."""

    asks: ClassVar[str] = "Which {groups}{by} {are} the {adjective}?"
    m: int
    sign: ClassVar[int]

    @property
    def n_sought(self) -> int:
        """Groups that are looked for at a time."""
        return int(self.m)

    def check(self, cells: Cells) -> None:
        """Raise QuestionError if there are fewer than m groups with items."""
        sizes = cells.sizes.reshape(len(self.groups(cells)), -1).sum(-1)
        n_groups = int((sizes > 0).sum())
        if self.m > n_groups:
            raise QuestionError(
                f"{type(self).__name__} looks for m = {self.m:,} groups, but only {plural(n_groups, 'group')} "
                f"(by {cells.parts[0].description}) {'has' if n_groups == 1 else 'have'} items; ask for at most "
                f"{n_groups:,}."
            )

    def _check_m(self) -> None:
        if not is_whole(self.m):
            raise QuestionError(f"{type(self).__name__} looks for m >= 1 groups, a whole number; found {show(self.m)}.")


class ExtremeValue(ExtremeQuestion[AnswerT_co]):
    """Which m groups have the most extreme of the values that the question beside it asks for?"""

    @property
    def scores(self) -> tuple[str, ...]:
        """Mean reciprocal rank of the true extremes, and RMSE over groups."""
        return ("mrr", "rmse")

    def evaluate(self, cells, prior, counts, full) -> dict[str, Float[np.ndarray, "*batch"]]:
        """Score estimates: mean reciprocal rank of the true extremes, 1 where no group has a value, and RMSE."""
        estimate, truth = self.estimate(cells, prior, counts), self.truth_of_counts(cells, full)
        member, mrr = self._members(cells, full), np.ones(estimate.shape[:-1])
        if member.any():
            m = min(int(self.m), int(member.sum()))
            mrr = mean_reciprocal_rank(self.sign * estimate, self.sign * truth, member, m)
        return {"mrr": mrr, **super().evaluate(cells, prior, counts, full)}

    def _members(self, cells: Cells, full: np.ndarray) -> Bool[np.ndarray, " K"]:
        """Tell which groups have a value."""
        return cells.sizes > 0


def mean_reciprocal_rank(
    estimate: Float[np.ndarray, "*batch K"], truth: Float[np.ndarray, " K"], member: Bool[np.ndarray, " K"], m: int
) -> Float[np.ndarray, "*batch"]:
    """Mean over the true top m of 1 / rank, rank counting only groups outside the true top m ([ABA] "Evaluation").

    Groups that tie with the m-th most extreme count as extreme; a tied estimate counts half a rank.

    Parameters
    ----------
    estimate : (..., K)
        The greater the more extreme.
    truth : (K,)
    member : (K,) booleans
        Groups with items; the others do not count.
    m : int

    Examples
    --------
    >>> import numpy as np
    >>> estimate, truth = np.array([2.5, 3.0, 1.0]), np.array([1.0, 5.0, 2.0])
    >>> float(mean_reciprocal_rank(estimate, truth, np.ones(3, bool), m=2))  # (1 + 1/2) / 2
    0.75
    """
    bar = np.sort(truth[member])[-m]
    top, rest = member & (truth >= bar), member & (truth < bar)
    outside, inside = estimate[..., rest], estimate[..., top]
    above = np.zeros(inside.shape)
    for j in range(inside.shape[-1]):
        value = inside[..., j, None]
        above[..., j] = (outside > value).sum(-1) + 0.5 * (outside == value).sum(-1)
    return np.mean(np.sort(1 / (1 + above), axis=-1)[..., -m:], axis=-1)
