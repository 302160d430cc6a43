"""Is the rate, or the mean, of one group above another's, where items of both belong together in pairs?"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess.errors import QuestionError
from bayes_assess.measures import combine, mean_of, table_for
from bayes_assess.pool.pair_units import PairUnits
from bayes_assess.pool.pairs import PairPool, find_pairs
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._base import BelievedT_co, WeighedT_co
from bayes_assess.questions._class_values import class_values
from bayes_assess.questions._events import Subject, subject_of
from bayes_assess.questions._measures_compared import is_mean
from bayes_assess.questions.measure_comparison import MeasureComparison
from bayes_assess.questions.rate import Rate

if TYPE_CHECKING:
    from bayes_assess.measures import LossTable, PRCurveTable
    from bayes_assess.measures._pool_losses import Measures
    from bayes_assess.pool.rank_strata import RankedScore


class PairedComparison(MeasureComparison[BelievedT_co, WeighedT_co]):
    """Which of two groups has the higher rate, or mean, from pairs of which both halves are labelled? By `Compare`.

    With P pairs, D is the mean of the P differences of the halves' values, so that

    Var(D) = (Var first + Var second - 2 Cov) / n

    for n random pairs: what the halves have in common cancels. The question is put to a `PairPool`, in which a pair is
    an item and its difference the label, so that designs and beliefs are those of the mean of any label.
    """

    by: str
    pair: str

    labels_each: ClassVar[int] = 2

    def __init__(
        self,
        first: Hashable,
        second: Hashable,
        by: str | None,
        rope: float = 0.05,
        *,
        pair: str,
        measure: Measures = "rate",
        positive: Hashable | None = None,
        values: Mapping[Hashable, float] | Sequence[float] | None = None,
        target: str = "pool",
    ):
        super().__init__(first, second, by, rope, measure=measure, positive=positive, values=values, target=target)
        object.__setattr__(self, "pair", pair)
        if not isinstance(pair, str):
            raise QuestionError(f"Pairs are given by a column of the pool: pair= is its name; found {show(pair)}.")
        if by is None:
            raise QuestionError("Pairs are of items of two groups: name the column of the groups, by=...")
        if self.measure_name not in ("rate", "mean"):
            raise QuestionError(
                f"Pairs are compared by measure='rate' or 'mean', which are means over items; found "
                f"{self.measure_name}. Leave out pair= to compare that."
            )

    @property
    def of_tables(self) -> bool:
        """No: pairs are of items."""
        return False

    def for_pool(self, pool: Pool) -> PairedComparison:
        """Return the question itself, or raise QuestionError if it cannot be asked of this pool."""
        if not pool.paired:
            super().for_pool(pool)
        return self

    def posed(self, pool: Pool, codes: Int[np.ndarray, " M"] | None = None) -> tuple[Pool, Any]:
        """Return the pool of pairs, and the codes of their differences, from those of the labels of all items."""
        if pool.paired:
            return pool, codes
        pairs = find_pairs(pool, str(self.by), self.first, self.second, self.pair)
        pair_pool = PairPool.of(pool, pairs, self._values_on(pool))
        return pair_pool, None if codes is None else pair_pool.codes_of_halves(codes)

    def units(self, pool: Any) -> PairUnits:
        """Return the pairs of that pool, both halves of which are asked for and labelled together."""
        return PairUnits(pool, str(self.by), (self.first, self.second), self.pair)

    def truth(self, pool: Pool, labels: ArrayLike) -> Float[np.ndarray, ""]:
        """Compute the exact difference from all labels of a pool, (M,) class names."""
        self.for_pool(pool)
        pairs, codes = self.posed(pool, pool.complete_codes(labels))
        return super().truth(pairs, pairs.label_space.names(codes))

    def losses(self, pool: Any) -> tuple[Int[np.ndarray, " P"], LossTable | PRCurveTable]:
        """Return what the difference of every pair depends on, and the table of their mean."""
        codes, table = table_for(mean_of(tuple(pool.differences.tolist())), pool)
        sides = (f"{self.measure_name} ({self.by} {side})" for side in (self.first, self.second))
        return codes, replace(table, outputs=(" less ".join(sides),))

    def _values_on(self, pool: Pool) -> Float[np.ndarray, " C"]:
        """Return the number of every class: that of a rating, or whether it is the positive one."""
        if is_mean(self.measure):
            return class_values(self.values, pool)
        positive = Rate(self.positive)._positive_of_event(pool)
        return (np.arange(pool.n_classes) == positive).astype(np.float64)

    def _subject(self, pool: Any) -> tuple[Subject, RankedScore | None]:
        subject, ranked = subject_of(pool, combine(mean_of()), None, ())
        return replace(subject, values=pool.differences), ranked

    def _is_believable(self, pool: Pool) -> bool:
        return True

    def _positive_code(self, pool: Pool) -> int:
        return -1  # no difference is positive more than another

    def __repr__(self) -> str:
        return self._shown("first", "second", "by", "pair")
