"""Is one better than the other? Two groups, all pairs of groups, or two systems on the same items."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.acquisition.equivalence import checked_rope
from bayes_assess.errors import QuestionError
from bayes_assess.pool._columns import RESERVED
from bayes_assess.pool.pool import Pool
from bayes_assess.questions._base import check_target
from bayes_assess.questions._comparison import Comparison
from bayes_assess.questions.calibration_comparison import MEASURE, TwoCalibrations
from bayes_assess.questions.group_comparison import AllPairs, TwoGroups
from bayes_assess.questions.measure_comparison import MeasureComparison
from bayes_assess.questions.measure_pairs import MeasurePairs
from bayes_assess.questions.paired_comparison import PairedComparison
from bayes_assess.questions.system_comparison import TwoSystems

if TYPE_CHECKING:
    from bayes_assess.measures._pool_losses import Measures
    from bayes_assess.pool.groups import By, ScoreBins


def Compare(
    first: Any = None,
    second: Any = None,
    by: By | None = None,
    rope: float = 0.05,
    *,
    measure: Measures = "accuracy",
    positive: Hashable | None = None,
    values: ArrayLike | None = None,
    pair: str | None = None,
    bins: int | ScoreBins | None = None,
    target: str = "pool",
) -> Comparison | MeasureComparison | MeasurePairs:
    """Is one better than the other, by more than what counts as equal? See [ABA] "Comparison".

    D = accuracy (or another measure) of the first less that of the second lies below, inside or above the region of
    practical equivalence [-rope, rope]. The verdict is the most probable of the three, with its posterior probability.

    Parameters
    ----------
    first, second : optional
        With `by`, names of two of its groups; both left out, all pairs of groups are compared at once. Without `by`,
        two systems on the same items: each an array of predicted classes (M,), ``"prediction"`` for the pool's own
        predictions, or the name of one of the pool's systems. Only items on which the two systems differ are asked for.
    by : str, ScoreBins, array or Partition, optional
        The groups, as for `GroupAccuracy`.
    rope : float in [0, 1)
        Half-width of the region of practical equivalence. Of means it is in units of the values, and may be any number
        that is smaller than the largest difference of two values.
    measure : str or Measure
        Accuracy, or any other measure of one value that `Metric` takes, such as ``"f1"``: then `first` and `second` are
        names, of systems of the pool (``"prediction"`` is its own) or of groups of the column `by`. ``"rate"`` is the
        share of positive labels, see `Rate`, and ``"mean"`` the mean rating, see `Mean`: groups, such as the system
        that gave an answer, are compared by them. With `by` alone, all of its groups are ranked by the measure, and all
        pairs compared. ``"ece"`` is the expected calibration error, of two groups.
    positive : class name, optional
        Positive class of two-class measures, as for `Metric`.
    values : mapping or sequence, optional
        Numbers of the classes for ``measure="mean"``, as for `Mean`; the classes themselves by default.
    pair : str, optional
        Column that says which items of the two groups belong together, such as the prompt that both systems answered:
        of every value each group has one item. Rates and means are then compared by pairs of which both halves are
        asked for and told together, so that what the halves have in common cancels.
    bins : int or ScoreBins, optional
        Bins of the confidence inside both groups for ``measure="ece"``, as for `Calibration`; ten by default.
    target : {"pool", "population"}
        Whether D is that of the items of this pool, which is known once those that are compared are labelled, or of
        the population that the pool was drawn from, as in [ABA].

    Returns
    -------
    TwoGroups, AllPairs, TwoSystems, TwoCalibrations, MeasureComparison, PairedComparison or MeasurePairs

    Raises
    ------
    QuestionError
        If a group is compared with itself, only one side is given, or `rope` or `target` is none of these.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["cat"] * 40 + ["dog"] * 40)
    >>> a = ba.assess(pool, ba.Compare("cat", "dog", by="prediction"))
    >>> a.tell(pool.ids[:70], ["cat"] * 38 + ["dog"] * 22 + ["cat"] * 10)
    >>> print(a.result().verdict)
    cat is more than 5 points more accurate than dog with probability 1.00.
    >>> a.tell(pool.ids[70:], ["cat"] * 10)
    >>> print(a.result().verdict)
    cat is more than 5 points more accurate than dog, as their labels show.
    """
    check_target(target)
    if isinstance(measure, str) and measure == MEASURE:
        if {positive, pair} != {None} or values is not None:
            raise QuestionError("Calibration errors have no positive class, values or pairs; leave them out.")
        if by is None or first is None or second is None or np.ndim(first) or np.ndim(second):
            raise QuestionError(
                "Calibration errors are compared of two groups by name, not of all pairs: give first=, second= and by=."
            )
        return TwoCalibrations(by, checked_rope(rope), first, second, 10 if bins is None else bins, target=target)
    if bins is not None:
        raise QuestionError("Bins of the confidence are for measure='ece'; leave out bins=.")
    if not (isinstance(measure, str) and measure == "accuracy"):
        options = {"measure": measure, "positive": positive, "values": values} | ({"pair": pair} if pair else {})
        return _measures_compared(first, second, by, rope, target=target, **options)
    checked_rope(rope)
    if pair is not None:
        raise QuestionError("Pairs are compared by measure='rate' or 'mean'; leave out pair= to compare accuracies.")
    if values is not None:
        raise QuestionError("Values of classes are for measure='mean'; accuracies are compared without any.")
    if by is None:
        if second is None:
            raise QuestionError(
                "Compare needs two groups and by=..., or by=... alone for all pairs of groups, or the predictions of "
                "two systems."
            )
        first = RESERVED if first is None else first
        if isinstance(first, str) and isinstance(second, str) and first == second:
            raise QuestionError(f"System {show(first)} is compared with itself; pass the predictions of another one.")
        return TwoSystems(first, second, rope, target=target)
    if (first is None) != (second is None):
        raise QuestionError("Compare takes two groups, or none for all pairs; found only one.")
    if first is None:
        return AllPairs(by, rope, target=target)
    if np.ndim(first) or np.ndim(second):
        raise QuestionError("With `by`, first and second are names of groups; leave `by` out to compare two systems.")
    if first == second:
        raise QuestionError(f"Group {show(first)} is compared with itself; name two different groups.")
    return TwoGroups(by, rope, first, second, target=target)


def _measures_compared(
    first: Any, second: Any, by: By | None, rope: float, *, target: str, **options: Any
) -> MeasureComparison | MeasurePairs:
    """Check the sides of a comparison of measures."""
    if by is None:
        first = RESERVED if first is None else first
    elif not isinstance(by, str):
        raise QuestionError("Measures are compared between groups of a column: give its name, by=...")
    elif first is None and second is None:
        if target != "pool":
            raise QuestionError("Measures are compared on the items of the pool: leave out target='population'.")
        if "pair" in options:
            raise QuestionError("Pairs have two halves: name both groups, first and second, or leave out pair=.")
        return MeasurePairs(by, rope, **options)
    if first is None or second is None:
        raise QuestionError("Compare needs two sides for a measure: names of systems, or of groups with by=...")
    if any(np.ndim(side) or isinstance(side, Pool) for side in (first, second)):
        raise QuestionError("Give the predictions of systems to the pool, systems={...}, and compare them by name.")
    if first == second:
        raise QuestionError(f"{show(first)} is compared with itself; name two different sides.")
    kind = PairedComparison if "pair" in options else MeasureComparison
    return kind(first, second, by, rope, target=target, **options)
