"""The precision of a ranked list at every rank, with a band that random labels give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from bayes_assess._tools.arrays import quotient
from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.shapes import ArrayLike, Float, Int
from bayes_assess._tools.text import plural, rounded
from bayes_assess.designs.ranked import Band, RankedDesign, SamplingPlan
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.precision_band import RateBand
from bayes_assess.estimators.precision_bounds import positives_in_all
from bayes_assess.estimators.ranked_growth import growth
from bayes_assess.estimators.ranked_labels import RankedLabels, debiased
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import PrecisionCurve
from bayes_assess.results._in_words import guarantee_in_words
from bayes_assess.results._ranked import Bounded, RankedAnswer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 8000  # of sums over ranks
_ROUNDING = 1e-6  # of numbers of positives
_LABELS_BETWEEN = 32  # from one rank whose precision is estimated to the next, of a design that is not done


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionCurveResult(RankedAnswer):
    """The precision curve of a ranked list from random items of strata of ranks, made by a session's `result`.

    Attributes
    ----------
    estimated, bounding : Band
        Of the estimates, taken for exact, and of their confidence intervals. Estimates are the geometric means of the
        bounds of the former, as [ADA] has them, once the design is done; before, they are interpolated between queried
        ranks, and ranks in between with many labels.
    contradicted : (int, int) or None
        Ranks whose precisions contradict the monotonicity that the question assumes. The band is then that of curves
        of any shape.
    done : bool
        Whether the design needs no more labels, so that the promised factor is kept.
    n_skipped : int
        Items set aside, which nobody could label.
    guarantee : str
        ``"exact"`` once all is labelled, else ``"asymptotic"``. `promise` says more: the band holds the whole curve
        with probability `level`, whatever the number of labels, at one look; of windows it leaves chance out.
    """

    question: PrecisionCurve
    design: str
    ranked: RankedList
    labels: RankedLabels
    plan: SamplingPlan
    estimated: Band
    bounding: Band
    contradicted: tuple[int, int] | None
    done: bool
    level: float
    n_skipped: int = 0

    @classmethod
    def of(
        cls,
        question: PrecisionCurve,
        design: RankedDesign,
        ranked: RankedList,
        labels: RankedLabels,
        plan: SamplingPlan,
        level: float,
        n_skipped: int = 0,
    ) -> PrecisionCurveResult:
        """Answer from the labels that a plan has led to."""
        level = checked_level(level, "a band")
        estimated = design.band(question.promise, labels, plan, None)
        bounding = design.band(question.promise, labels, plan, 1 - level)
        against = None
        if isinstance(bounding, RateBand) and bounding.slack < labels.n_items:
            leeway = bounding.slack, bounding.envelope.monotone_from
            against = bounding.contradiction() or growth(labels, plan.edges, *leeway, 1 - level)
            if against is not None:
                bounding = replace(bounding.envelope, slack=labels.n_items)
        return cls(
            question, design.name, ranked, labels, plan, estimated, bounding, against, plan.done, level, n_skipped
        )

    @property
    def n_items(self) -> int:
        """Length of the list, N."""
        return self.ranked.n_items

    @property
    def labels_used(self) -> int:
        """Labels told so far."""
        return self.labels.n_labelled

    @property
    def guarantee(self) -> str:
        """What the band promises."""
        if self.labels_used == self.n_items and not self.question.noise:
            return "exact"
        return "asymptotic"

    @property
    def promise(self) -> str:
        """What the band promises, in a sentence."""
        if self.guarantee == "exact":
            return guarantee_in_words(self.guarantee, self.level)
        if self.bounding.by_windows:
            return "The band holds the whole curve as far as what is assumed holds, and leaves chance out."
        again = "" if self.done else " Whoever looks again and again, and stops at will, has a lower one."
        return f"The band holds the whole curve with a probability of {self.level:.0%} or more.{again}"

    @property
    def assumption(self) -> str:
        """What the band leans on."""
        asked = self.question
        if self.guarantee == "exact":
            return "Nothing is assumed: every item is labelled."
        if self.contradicted is not None or getattr(self.bounding, "slack", 0) >= self.n_items:
            return "Nothing is assumed of the shape of the curve."
        if self.bounding.by_windows:
            return "The share of positives is taken to fall from each window of labelled items to the next."
        return (
            f"Precision is taken not to grow, but for chance, from any rank beyond {asked.monotone_from:,} to one that "
            f"is {asked.slack:,} or more ranks further down."
        )

    @property
    def queried(self) -> Int[np.ndarray, " k"]:
        """Ranks whose precision was estimated from labels."""
        ranks = self.bounding.ranks
        return ranks[ranks >= self.plan.edges[0]]  # the others are of the head, which is labelled whole

    @property
    def factor(self) -> float:
        """Largest ratio of the band's ends to the estimate over the ranks beyond the head, infinite where it is 0."""
        ranks = np.unique(np.concatenate([self.queried, self.shown_ranks]))
        value, lower, upper = self._precision(ranks[ranks >= self.queried[0]]).T
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.max(np.where(lower > 0, np.maximum(upper / value, value / lower), np.inf)))

    def _average_precision(self) -> Bounded:
        """Return the average precision, with bounds from the band.

        The i-th positive lies no higher than the first rank by which the upper band allows i of them, and no lower
        than the first by which the lower band has i, whatever their number in all is that the band allows.
        """
        ranks = np.unique(np.concatenate([np.geomspace(1, self.n_items, _POINTS).astype(np.int64), self._turns()]))
        counts = self._precision(ranks) * ranks[:, None]
        total = counts[-1, 0]
        middle, fewest, most = np.maximum.accumulate(counts, axis=0).T
        fewest, most = np.ceil(fewest - _ROUNDING), np.floor(most + _ROUNDING)
        before = np.append(1, ranks[:-1] + 1)
        value = _mean_precision(np.minimum(middle, total), (before + ranks) / 2, total)
        lower, upper = _least_mean(fewest, ranks, most[-1]), _greatest_mean(most, before, fewest[-1])
        return Bounded(value, min(lower, value), max(upper, value))

    def summary(self) -> str:
        """Say the answer in a few sentences."""
        state = "the design needs no more labels" if self.done else "the design wants more labels"
        lines = [f"{self.labels_used:,} of {self.n_items:,} items labelled (design {self.design!r}); {state}."]
        value, lower, upper = self.at(self.n_items)
        head = min(int(self.queried[0]), self.n_items)
        first = f"{self._said_of(head)} in the first {head:,} items and " if head < self.n_items else ""
        band = f", {self.level:.0%} band [{rounded(lower)}, {rounded(upper)}]"
        ends = " (exact)" if self.guarantee == "exact" else band
        lines.append(f"Precision is {first}{rounded(value)} in all {self.n_items:,}{ends}.")
        if self.contradicted is not None:
            first, second = self.contradicted
            lines.append(
                f"The labels contradict the assumption that precision does not grow: it is higher at rank {second:,} "
                f"than at rank {first:,}. The band is that of curves of any shape; with a larger monotone_from or "
                "slack it may be narrower."
            )
        if self.guarantee != "exact":
            lines.append(f"{self.promise} {self.assumption}")
        if self.n_skipped:
            is_one = self.n_skipped == 1
            were, them, their = ("was", "it", "its") if is_one else ("were", "them", "their")
            lines.append(
                f"{plural(self.n_skipped, 'item')} {were} set aside: nobody could label {them}; the answer takes "
                f"{them} to be like the others of {their} ranks."
            )
        if self.question.noise:
            lines.append(
                f"Estimates are corrected for labels of which {self.question.noise:.3g} are wrong, of positive and of "
                "negative items alike; the band allows for any share up to that, of either."
            )
        if self.ranked.n_tied:
            lines.append(f"{self.ranked.n_tied:,} items share their score with others; those are in random order.")
        return "\n".join(lines)

    def _said_of(self, rank: int) -> str:
        """Return the precision down to a rank in words, with its band unless it is known."""
        value, lower, upper = self.at(rank)
        band = f" [{rounded(lower)}, {rounded(upper)}]" if lower < upper else ""
        return f"{rounded(value)}{band}"

    def plot(
        self,
        *,
        truth: Callable[[Int[np.ndarray, " n"]], ArrayLike] | None = None,
        beside: RankedAnswer | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw precision by rank with its band, the queried ranks and the labels spent.

        Parameters
        ----------
        truth : function from ranks (n,) to precisions (n,), optional
        beside : RankedAnswer, optional
            Another answer about the same list, whose band is drawn too.
        ax : Axes, optional
        """
        return self._drawn(truth, beside, ax, self.queried, self.labels.ranks)

    def to_arviz(self) -> NoReturn:
        """Refuse, and say why."""
        raise QuestionError(
            f"The band of design {self.design!r} is of random labels, without a posterior that ArviZ could show; `at` "
            "and `table` say how well the curve is known. Design 'variance_reduction' has one."
        )

    def _precision(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        fewest, most, mean = self.labels.known_at(ranks)
        head = ranks < self.queried[0]
        lower = np.where(head, 0.0, self.bounding.lower_at(ranks))
        upper = np.where(head, 1.0, self.bounding.upper_at(ranks))
        if not self.question.noise:
            lower, upper = np.maximum(lower, fewest), np.minimum(upper, most)
        lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)  # bounds that err may cross
        low, high = self.estimated.lower_at(ranks), self.estimated.upper_at(ranks)
        value = np.sqrt(low * high)
        if not self.done or self.contradicted is not None:  # the envelope may be wide, and its middle far off
            value = self._interpolated(ranks)
        value = np.where(head, debiased(mean, self.question.noise), value)
        return np.stack([np.clip(value, lower, upper), lower, upper], axis=-1)

    def _interpolated(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Estimate precisions beyond the head between those at ranks that labels tell of."""
        noise = self.question.noise
        if self.bounding.by_windows:
            known, precision = self.queried, self.estimated.upper_at(self.queried)
        else:
            known, shares = self.labels.curve_between(self.queried, _LABELS_BETWEEN)
            precision = debiased(shares, noise)
        value = np.interp(np.log(ranks), np.log(known), precision)
        return value if noise else _never_fewer(ranks, value, known, precision)

    def _recall(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        (value, total), (lower, most), (upper, fewest) = self._positives(ranks)
        return _ordered(quotient(value, total), quotient(lower, most), quotient(upper, fewest))

    def _f1(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        (value, total), (lower, most), (upper, fewest) = self._positives(ranks)
        return _ordered(2 * value / (ranks + total), 2 * lower / (ranks + most), 2 * upper / (ranks + fewest))

    def _positives(self, ranks: Int[np.ndarray, " n"]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return positives down to ranks and in all: estimates, those of the least recall, those of the greatest."""
        value, lower, upper = (self._precision(ranks) * ranks[:, None]).T
        total, fewest, most = self._precision(np.array([self.n_items]))[0] * self.n_items
        most, fewest = positives_in_all(ranks, (lower, upper), (fewest, most), self.n_items)
        return [(value, np.maximum(total, value)), (lower, most), (upper, fewest)]

    def _turns(self) -> Int[np.ndarray, " k"]:
        labelled = self.labels.ranks
        turns = np.concatenate(
            [self.bounding.break_points, labelled, labelled - 1, self.queried - 1, [1, self.n_items]]
        )
        return np.unique(turns[(turns >= 1) & (turns <= self.n_items)])


def _never_fewer(
    ranks: Int[np.ndarray, " n"], value: Float[np.ndarray, " n"], known: Int[np.ndarray, " k"], precision: np.ndarray
) -> Float[np.ndarray, " n"]:
    """Let interpolated precisions have no more positives than at the next known rank, nor fewer than at the last."""
    after = np.minimum(np.searchsorted(known, ranks), len(known) - 1)
    before = np.maximum(after - 1, 0)
    first, last = known[before], known[after]
    fewest, most = precision[before] * first, precision[after] * last
    least, greatest = np.maximum(fewest, most - (last - ranks)), np.minimum(most, fewest + ranks - first)
    return np.clip(value * ranks, least, greatest) / ranks


def _mean_precision(count: Float[np.ndarray, " n"], ranks: Float[np.ndarray, " n"], total: float) -> float:
    """Return the mean precision at the ranks of `total` positives: `count` of them, in all, by each of the ranks."""
    if total <= 0:
        return 0.0
    last = np.minimum(np.append(count, total), total)
    summed = np.diff(last * (last + 1) / 2, prepend=0) / np.append(ranks, ranks[-1])
    return float(np.minimum(summed, np.diff(last, prepend=0)).sum() / total)


def _least_mean(fewest: Float[np.ndarray, " n"], ranks: Int[np.ndarray, " n"], most: float) -> float:
    """Return the least mean precision with `fewest` positives by each rank or more, and up to `most` in all.

    With f = fewest by rank N, whose precisions add up to a, and all others at rank N, T positives have the mean
    (a + (T (T + 1) - f (f + 1)) / 2N) / T, which is least where T^2 = 2N a - f (f + 1).

    Examples
    --------
    >>> round(_least_mean(np.array([1.0, 1.0]), np.array([10, 1000]), 500.0), 4)  # of 14, the first of them at rank 10
    0.0146
    """
    known, n = fewest[-1], ranks[-1]
    if known <= 0:  # there may be none
        return 0.0
    added = 2 * n * known * _mean_precision(fewest, ranks, known) - known * (known + 1)
    total = np.clip(np.sqrt(max(added, 0.0)), known, max(most, known))
    return float((added / total + total + 1) / (2 * n))


def _greatest_mean(most: Float[np.ndarray, " n"], ranks: Int[np.ndarray, " n"], fewest: float) -> float:
    """Return the greatest mean precision with `most` positives by each rank or fewer, and `fewest` in all or more.

    Examples
    --------
    >>> _greatest_mean(np.array([1.0, 1.0]), np.array([1, 10]), 0.0)  # one positive, at rank 1
    1.0
    """
    gained = np.minimum(np.diff(most * (most + 1) / 2, prepend=0) / ranks, np.diff(most, prepend=0))
    least = max(fewest, 1.0)
    possible = most >= least
    means = (np.cumsum(gained)[possible] / most[possible]).tolist()
    return max([*means, _mean_precision(most, ranks, least)]) if means else 0.0


def _ordered(value: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Float[np.ndarray, "n 3"]:
    """Stack estimates and bounds, estimates between them."""
    return np.clip(np.stack([np.clip(value, lower, upper), lower, upper], axis=-1), 0, 1)
