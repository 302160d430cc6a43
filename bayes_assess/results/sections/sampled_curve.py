"""The precision of a ranked list at every rank, with a band that random labels give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from bayes_assess._tools.arrays import quotient
from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.text import rounded
from bayes_assess.estimators.precision_bounds import positives_in_all
from bayes_assess.estimators.ranked_labels import debiased
from bayes_assess.results._in_words import guarantee_in_words
from bayes_assess.results.evidence.ranked import RankSample
from bayes_assess.results.sections.ranked_curve import Bounded, RankedCurve

_POINTS = 8000  # of sums over ranks
_ROUNDING = 1e-6  # of numbers of positives
_LABELS_BETWEEN = 32  # from one rank whose precision is estimated to the next, of a design that is not done


@dataclass(frozen=True, eq=False, repr=False)
class SampledCurve(RankedCurve):
    """The precision curve from random items of strata of ranks.

    Estimates are the geometric means of the bounds of the estimated band, as [ADA] has them, once the design is done;
    before, they are interpolated between queried ranks, and ranks in between with many labels.
    """

    evidence: RankSample

    @property
    def n_items(self) -> int:
        """Length of the list, N."""
        return self.evidence.ranked.n_items

    @property
    def guarantee(self) -> str:
        """What the band promises, in a word."""
        return self.evidence.guarantee

    @property
    def contradicted(self) -> tuple[int, int] | None:
        """Ranks whose precisions contradict the monotonicity that the question assumes."""
        return self.evidence.contradicted

    @property
    def marked(self) -> tuple[Int[np.ndarray, " k"], Int[np.ndarray, " m"]]:
        """Ranks whose precision was estimated from labels, and ranks that have one."""
        return self.queried, self.evidence.labels.ranks

    @property
    def promise(self) -> str:
        """What the band promises, in a sentence."""
        if self.guarantee == "exact":
            return guarantee_in_words(self.guarantee, self.evidence.level)
        if self.evidence.bounding.by_windows:
            return "The band holds the whole curve as far as what is assumed holds, and leaves chance out."
        again = "" if self.evidence.done else " Whoever looks again and again, and stops at will, has a lower one."
        return f"The band holds the whole curve with a probability of {self.evidence.level:.0%} or more.{again}"

    @property
    def assumption(self) -> str:
        """What the band leans on."""
        asked = self.question
        if self.guarantee == "exact":
            return "Nothing is assumed: every item is labelled."
        if self.contradicted is not None or getattr(self.evidence.bounding, "slack", 0) >= self.n_items:
            return "Nothing is assumed of the shape of the curve."
        if self.evidence.bounding.by_windows:
            return "The share of positives is taken to fall from each window of labelled items to the next."
        return (
            f"Precision is taken not to grow, but for chance, from any rank beyond {asked.monotone_from:,} to one that "
            f"is {asked.slack:,} or more ranks further down."
        )

    @property
    def queried(self) -> Int[np.ndarray, " k"]:
        """Ranks whose precision was estimated from labels."""
        ranks = self.evidence.bounding.ranks
        return ranks[ranks >= self.evidence.plan.edges[0]]  # the others are of the head, which is labelled whole

    @property
    def factor(self) -> float:
        """Largest ratio of the band's ends to the estimate over the ranks beyond the head, infinite where it is 0."""
        ranks = np.unique(np.concatenate([self.queried, self.shown_ranks]))
        value, lower, upper = self.precision(ranks[ranks >= self.queried[0]]).T
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.max(np.where(lower > 0, np.maximum(upper / value, value / lower), np.inf)))

    def average_precision(self) -> Bounded:
        """Return the average precision, with bounds from the band.

        The i-th positive lies no higher than the first rank by which the upper band allows i of them, and no lower
        than the first by which the lower band has i, whatever their number in all is that the band allows.
        """
        ranks = np.unique(np.concatenate([np.geomspace(1, self.n_items, _POINTS).astype(np.int64), self.turns()]))
        counts = self.precision(ranks) * ranks[:, None]
        total = counts[-1, 0]
        middle, fewest, most = np.maximum.accumulate(counts, axis=0).T
        fewest, most = np.ceil(fewest - _ROUNDING), np.floor(most + _ROUNDING)
        before = np.append(1, ranks[:-1] + 1)
        value = _mean_precision(np.minimum(middle, total), (before + ranks) / 2, total)
        lower, upper = _least_mean(fewest, ranks, most[-1]), _greatest_mean(most, before, fewest[-1])
        return Bounded(value, min(lower, value), max(upper, value))

    def answer(self) -> list[str]:
        """Say the precision in the head and in all, and what the band leans on."""
        value, lower, upper = self.precision(np.array([self.n_items]))[0].tolist()
        head = min(int(self.queried[0]), self.n_items)
        first = f"{self._said_of(head)} in the first {head:,} items and " if head < self.n_items else ""
        band = f", {self.evidence.level:.0%} band [{rounded(lower)}, {rounded(upper)}]"
        ends = " (exact)" if self.guarantee == "exact" else band
        lines = [f"Precision is {first}{rounded(value)} in all {self.n_items:,}{ends}."]
        if self.contradicted is not None:
            above, below = self.contradicted
            lines.append(
                f"The labels contradict the assumption that precision does not grow: it is higher at rank {below:,} "
                f"than at rank {above:,}. The band is that of curves of any shape; with a larger monotone_from or "
                "slack it may be narrower."
            )
        return lines if self.guarantee == "exact" else [*lines, f"{self.promise} {self.assumption}"]

    def to_arviz(self, parameters: bool, attributes: dict[str, object]) -> NoReturn:
        """Refuse, and say why."""
        raise self.evidence.no_posterior()

    def _said_of(self, rank: int) -> str:
        """Return the precision down to a rank in words, with its band unless it is known."""
        value, lower, upper = self.precision(np.array([rank]))[0].tolist()
        band = f" [{rounded(lower)}, {rounded(upper)}]" if lower < upper else ""
        return f"{rounded(value)}{band}"

    def precision(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        """Return estimates and bands of the precision."""
        fewest, most, mean = self.evidence.labels.known_at(ranks)
        head = ranks < self.queried[0]
        lower = np.where(head, 0.0, self.evidence.bounding.lower_at(ranks))
        upper = np.where(head, 1.0, self.evidence.bounding.upper_at(ranks))
        if not self.question.noise:
            lower, upper = np.maximum(lower, fewest), np.minimum(upper, most)
        lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)  # bounds that err may cross
        low, high = self.evidence.estimated.lower_at(ranks), self.evidence.estimated.upper_at(ranks)
        value = np.sqrt(low * high)
        if not self.evidence.done or self.contradicted is not None:  # the envelope may be wide, and its middle far off
            value = self._interpolated(ranks)
        value = np.where(head, debiased(mean, self.question.noise), value)
        return np.stack([np.clip(value, lower, upper), lower, upper], axis=-1)

    def _interpolated(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Estimate precisions beyond the head between those at ranks that labels tell of."""
        noise = self.question.noise
        if self.evidence.bounding.by_windows:
            known, precision = self.queried, self.evidence.estimated.upper_at(self.queried)
        else:
            known, shares = self.evidence.labels.curve_between(self.queried, _LABELS_BETWEEN)
            precision = debiased(shares, noise)
        value = np.interp(np.log(ranks), np.log(known), precision)
        return value if noise else _never_fewer(ranks, value, known, precision)

    def recall(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        """Return estimates and bands of the recall."""
        (value, total), (lower, most), (upper, fewest) = self._positives(ranks)
        return _ordered(quotient(value, total), quotient(lower, most), quotient(upper, fewest))

    def f1(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        """Return estimates and bands of F1."""
        (value, total), (lower, most), (upper, fewest) = self._positives(ranks)
        return _ordered(2 * value / (ranks + total), 2 * lower / (ranks + most), 2 * upper / (ranks + fewest))

    def _positives(self, ranks: Int[np.ndarray, " n"]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return positives down to ranks and in all: estimates, those of the least recall, those of the greatest."""
        value, lower, upper = (self.precision(ranks) * ranks[:, None]).T
        total, fewest, most = self.precision(np.array([self.n_items]))[0] * self.n_items
        most, fewest = positives_in_all(ranks, (lower, upper), (fewest, most), self.n_items)
        return [(value, np.maximum(total, value)), (lower, most), (upper, fewest)]

    def turns(self) -> Int[np.ndarray, " k"]:
        """Return the ranks between which the lower band is a convex function of 1 / rank, from 1 to N."""
        labelled = self.evidence.labels.ranks
        turns = np.concatenate(
            [self.evidence.bounding.break_points, labelled, labelled - 1, self.queried - 1, [1, self.n_items]]
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
