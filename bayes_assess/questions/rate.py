"""How many labels are positive, whatever the predictions say: they are a proxy of unknown quality."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

import numpy as np

from bayes_assess._tools.arrays import listing, show
from bayes_assess._tools.shapes import Int
from bayes_assess.errors import QuestionError
from bayes_assess.measures import positive_code
from bayes_assess.pool.counting import count
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._base import BelievedT_co, WeighedT_co
from bayes_assess.questions._proxy import LabelMean


class Rate(LabelMean[BelievedT_co, WeighedT_co]):
    """What share of the items, or of those of every group, has a positive label?

    The answer depends on labels alone. Predictions and scores, those of a judge, a rule or a cheap test, make it
    cheaper the more they tell of the labels, and may be biased in any way, in every group in a way of its own, such as
    a judge is that favours a system. Of more than 24 groups ``"variance_reduction"`` chooses items as if scores meant
    the same in all of them; answers learn how much groups differ, see `bayes_assess.models.group_effects`.

    A pool may hold the verdicts of further judges, as its ``systems``: ``"variance_reduction"`` learns what each of
    them is worth beside the others. Up to four are told apart, of more only how many say yes.

    With `by` the result ranks the groups: `ranking` has the probability of every one having the highest rate, which it
    calls the best, and `pairs` the differences of all pairs of them.

    Parameters
    ----------
    positive : class name, optional
        The label that is counted; the second class of two by default. Of more than two classes it is one against
        the rest.
    by : str, optional
        Column of groups to ask about one by one, such as the system that gave the answer.
    judges : sequence of str, optional
        Systems of the pool that are further judges; all of them by default.

    Raises
    ------
    QuestionError
        If `by` is no name of a column.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["good", "good", "bad", "good"])
    >>> a = ba.assess(pool, ba.Rate("good"))
    >>> a.tell(a.ask(4).ids, ["bad"] * 4)
    >>> r = a.result()
    >>> float(r.estimate), float(r.judge_rate), float(r.bias)  # everything is labelled
    (0.0, 0.75, 0.75)
    """

    asks: ClassVar[str] = "What share of the items is {labelled}{of_every}?"
    titled: ClassVar[str] = "Rate of {counted}{by}"

    def __init__(
        self, positive: Hashable | None = None, by: str | None = None, judges: str | Sequence[str] | None = None
    ):
        super().__init__("rate", positive, by, judges)

    @property
    def of_shares(self) -> bool:
        """Whether it asks for shares of items that labels show one by one: always."""
        return True

    def for_pool(self, pool: Pool) -> Rate:
        """Return the question itself, or raise QuestionError if it cannot be asked of this pool."""
        self.check_pool(pool)
        self.judges_of(pool)
        self._positive_of_event(pool)
        return self

    def _positive_of_event(self, pool: Pool) -> int:
        code = positive_code(pool, self.positive)
        if pool.n_classes == 1:
            raise QuestionError(
                f"The pool has one class, {show(pool.classes[0])}, so that there is nothing to label: declare all "
                "classes that labels can be."
            )
        if code is None and pool.exact is not None:
            raise QuestionError(
                "A rate counts labels of one class, and those of this pool are numbers: ask for Mean()."
            )
        if code is None:
            raise QuestionError(
                f"Which label is counted is not said, and the pool has {pool.n_classes} classes "
                f"({listing(pool.classes)}): name the positive one."
            )
        return code

    def result_fields(self, pool: Pool) -> dict[str, Int[np.ndarray, " G"]]:
        """Count the items of the pool or of every group, and those that the predictions alone take for positive.

        Returns
        -------
        dict
            ``"items"`` and ``"judged"``, integers (G,) each.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> pool = ba.Pool(predictions=[0, 1, 1], groups={"system": ["b", "a", "b"]})
        >>> {name: counts.tolist() for name, counts in ba.Rate(by="system").result_fields(pool).items()}
        {'items': [1, 2], 'judged': [1, 1]}
        """
        announced = pool.predictions == self._positive_of_event(pool)
        group = self.group_of_items(pool)
        times, n = pool.multiplicity, int(group.max()) + 1
        judged = count(group[announced], n, None if times is None else times[announced])
        return {"items": count(group, n, times), "judged": judged}

    def __repr__(self) -> str:
        return f"Rate(positive={self.positive!r}, by={self.by!r}, judges={self.judges!r})"
