"""Measures of labels alone, of which predictions and scores are a proxy: what `Rate` and `Mean` share."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bayes_assess._tools.arrays import listing, show
from bayes_assess._tools.shapes import Int
from bayes_assess.errors import QuestionError
from bayes_assess.measures import combine
from bayes_assess.pool._columns import RESERVED
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._base import BelievedT_co, WeighedT_co
from bayes_assess.questions._column_names import check_by, checked_names
from bayes_assess.questions._events import Subject, subject_of
from bayes_assess.questions.metric import Metric

if TYPE_CHECKING:
    from bayes_assess.measures._pool_losses import Measures
    from bayes_assess.pool.rank_strata import RankedScore


class LabelMean(Metric[BelievedT_co, WeighedT_co]):
    """The mean over the items, or over those of every group, of a number that the label alone decides."""

    oracles: ClassVar[tuple[str, ...]] = ("deterministic",)
    judges: tuple[str, ...] | None

    def __init__(
        self, measure: Measures, positive: Hashable | None, by: str | None, judges: str | Sequence[str] | None
    ):
        check_by(f"a {type(self).__name__.lower()}", by)
        if judges is not None:
            judges = checked_names("judges", judges)
        given = {
            "judges": judges,
            "measure": measure,
            "positive": positive,
            "by": by,
            "systems": (),
            "average": None,
            "target": "pool",
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """What the question is called."""
        return type(self).__name__

    def judges_of(self, pool: Pool) -> tuple[str, ...]:
        """Names of the systems whose predictions count beside the pool's own, or raise QuestionError."""
        if self.judges is None:
            return tuple(pool.systems)
        for name in self.judges:
            if name not in pool.systems:
                known = listing(list(pool.systems)) or "none"
                raise QuestionError(
                    f"The pool has no system {show(name)} to be a further judge; it has {known}. Pass the judge's "
                    "verdicts to the pool as systems={...}."
                )
        return self.judges

    def _subject(self, pool: Pool) -> tuple[Subject, RankedScore | None]:
        return subject_of(pool, combine(self.measure), self._positive_of_event(pool), self.judges_of(pool), self.by)

    def group_of_items(self, pool: Pool) -> Int[np.ndarray, " M"]:
        """Group of every item, in the order of the groups' names; 0 without groups."""
        if self.by is None:
            return np.zeros(pool.n_rows, np.int64)
        names = pool.classes[pool.predictions] if self.by == RESERVED else pool.groups[self.by]
        return np.unique(names, return_inverse=True)[1]
