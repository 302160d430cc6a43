"""Measures of labels alone, of which predictions and scores are a proxy: what `Rate` and `Mean` share."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int

from bayes_assess._tools.arrays import show
from bayes_assess.errors import QuestionError
from bayes_assess.pool._columns import RESERVED
from bayes_assess.pool.pool import Pool
from bayes_assess.questions.metric import Metric


class LabelMean(Metric):
    """The mean over the items, or over those of every group, of a number that the label alone decides."""

    def __init__(self, measure: Any, positive: Any, by: str | None):
        if by is not None and not isinstance(by, str):
            raise QuestionError(
                f"The groups of a {type(self).__name__.lower()} are those of a column of the pool: give its name; "
                f"found {show(by)}."
            )
        given = {"measure": measure, "positive": positive, "by": by, "systems": (), "average": None, "target": "pool"}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """What the question is called."""
        return type(self).__name__

    def group_of_items(self, pool: Pool) -> Int[np.ndarray, " M"]:
        """Group of every item, in the order of the groups' names; 0 without groups."""
        if self.by is None:
            return np.zeros(pool.n_items, np.int64)
        names = pool.classes[pool.predictions] if self.by == RESERVED else pool.groups[self.by]
        return np.unique(names, return_inverse=True)[1]
