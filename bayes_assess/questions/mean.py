"""The mean of ratings, or of any numbers that labels stand for, of which predictions are a proxy."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.measures import mean_of, table_for
from bayes_assess.pool.counting import add_up, count
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._base import BelievedT_co, WeighedT_co
from bayes_assess.questions._class_values import Values, checked_values, class_values
from bayes_assess.questions._events import Subject
from bayes_assess.questions._proxy import LabelMean

if TYPE_CHECKING:
    from bayes_assess.measures import LossTable, PRCurveTable
    from bayes_assess.pool.rank_strata import RankedScore


class Mean(LabelMean[BelievedT_co, WeighedT_co]):
    """What is the mean rating of the items, or of those of every group?

    Labels are ordinal, such as ratings from 1 to 5, and every class stands for a number; or they are numbers within
    bounds, of a pool that was made with ``bounds=(0, 100)``. The answer depends on labels
    alone. Predictions, the ratings of a judge, and scores, its probabilities of every rating, make it cheaper the more
    they tell of the labels, and may be biased in any way, of up to 24 groups in every one in a way of its own.

    A pool may hold the ratings of further judges, as its ``systems``. What each of up to five of them is worth is
    learned; of more, the mean of all is what is expected of an item.

    Parameters
    ----------
    values : mapping or sequence, optional
        Number of every class: a mapping from classes, or a sequence in the order of the pool's classes. By default
        the classes are the numbers.
    by : str, optional
        Column of groups to ask about one by one, such as the system that gave the answer.
    judges : sequence of str, optional
        Systems of the pool that are further judges; all of them by default.

    Raises
    ------
    QuestionError
        If `by` is no name of a column, or the values are no finite numbers.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[5, 5, 4, 1], classes=[1, 2, 3, 4, 5])
    >>> a = ba.assess(pool, ba.Mean())
    >>> a.tell(a.ask(4).ids, [3, 3, 3, 3])
    >>> r = a.result()
    >>> float(r.estimate), float(r.judge_mean), float(r.bias)  # everything is labelled
    (3.0, 3.75, 0.75)
    """

    asks: ClassVar[str] = "How high is the mean of the labels{of_every}?"
    titled: ClassVar[str] = "Mean of the labels{by}"
    values: Values

    def __init__(
        self,
        values: Mapping[Hashable, float] | Sequence[float] | None = None,
        by: str | None = None,
        judges: str | Sequence[str] | None = None,
    ):
        super().__init__(mean_of(), None, by, judges)
        object.__setattr__(self, "values", checked_values(values))

    def for_pool(self, pool: Pool) -> Mean:
        """Return the question itself, or raise QuestionError if it cannot be asked of this pool."""
        self.check_pool(pool)
        self.judges_of(pool)
        self.values_of(pool)
        return self

    def values_of(self, pool: Pool) -> Float[np.ndarray, " C"]:
        """Return the number of every class, in the order of the pool's classes.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=["good", "bad", "fair"])
        >>> ba.Mean({"bad": 0, "fair": 1, "good": 4}).values_of(pool).tolist()  # classes are in order: bad, fair, good
        [0.0, 1.0, 4.0]
        """
        return class_values(self.values, pool)

    def losses(self, pool: Pool) -> tuple[Int[np.ndarray, " M"], LossTable | PRCurveTable]:
        """Return what the loss of every item depends on, and the table of losses."""
        return table_for(mean_of(tuple(self.values_of(pool).tolist())), pool, by=self.by)

    def _subject(self, pool: Pool) -> tuple[Subject, RankedScore | None]:
        subject, ranked = super()._subject(pool)
        return (subject if subject.decides else replace(subject, values=self.values_of(pool))), ranked

    def said_of_steps(self, step: float) -> str:
        """Say nothing: results do, for means of all groups at once."""
        return ""

    def result_fields(self, pool: Pool) -> dict[str, object]:
        """Count the items of the pool or of every group, and add up their predicted values.

        Returns
        -------
        dict
            ``"items"`` integers (G,), ``"judged"`` (G,), ``"values"`` (C,) and ``"group"`` integers (M,); and
            ``"step"``, to which predictions that are numbers were rounded, None where they were not.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=[1, 4, 5], groups={"system": ["b", "a", "b"]})
        >>> fields = ba.Mean(by="system").result_fields(pool)
        >>> fields["items"].tolist(), fields["judged"].tolist()
        ([1, 2], [4.0, 6.0])
        """
        group, values = self.group_of_items(pool), self.values_of(pool)
        times, n = pool.multiplicity, int(group.max()) + 1
        judged = add_up(group, values[pool.predictions], n, times)
        fields = {"items": count(group, n, times), "judged": judged, "values": values, "group": group}
        return {**fields, "step": pool.rounded_to}

    def __repr__(self) -> str:
        shown = f"values={self.values!r}, by={self.by!r}, judges={self.judges!r}"
        return f"Mean({shown})"
