"""What labels say of a ranked list, from a belief that learns what the scores mean."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bayes_assess._tools.shapes import Int
from bayes_assess.results.evidence.believed import Believed


@dataclass(frozen=True, eq=False, repr=False)
class BelievedRanks(Believed):
    """Evidence on precisions at ranks from a belief, with the labels of the first items.

    Attributes
    ----------
    first_labels : (F,) integers
        Labels of the first items, best first: 1, 0, or -1 where there is none.
    """

    first_labels: Int[np.ndarray, " F"] = field(kw_only=True)
