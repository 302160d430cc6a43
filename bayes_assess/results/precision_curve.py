"""The precision of a ranked list at every rank, with a band."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from bayes_assess._tools.arrays import show
from bayes_assess._tools.tables import Table
from bayes_assess.acquisition.precision_envelope import Envelope
from bayes_assess.designs.ranked import Band, RankedDesign, SamplingPlan
from bayes_assess.errors import QuestionError
from bayes_assess.estimators.posterior_measure import posterior_measure
from bayes_assess.estimators.ranked_labels import RankedLabels
from bayes_assess.pool.ranked import RankedList
from bayes_assess.questions import PrecisionCurve
from bayes_assess.questions.metric import cells_table
from bayes_assess.results._base import Answer
from bayes_assess.results.belief_metric import BeliefMetricResult
from bayes_assess.results.plots.ranked import precision_by_rank

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROWS = 13  # of a table
_RANKS = 64  # of estimate and interval
_POINTS = 400  # of a figure, and of sums over ranks
_TOTALS = 21  # numbers of positives in all that are tried


class Bounded(NamedTuple):
    """A number with the ends of its interval."""

    estimate: Any
    lower: Any
    upper: Any


class RankedAnswer(Answer):
    """What is known of a ranked list at every rank, 1..N.

    Precision at a rank is the share of positives among the items down to it, recall the share of all positives that
    are among them.
    """

    question: Any
    level: float

    @property
    @abstractmethod
    def n_items(self) -> int:
        """Length of the list, N."""

    @abstractmethod
    def _precision(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        """Return estimates and bands."""

    @abstractmethod
    def _recall(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]: ...

    @abstractmethod
    def _f1(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]: ...

    @abstractmethod
    def _turns(self) -> Int[np.ndarray, " k"]:
        """Return the ranks between which the lower band is a convex function of 1 / rank, from 1 to N."""

    @abstractmethod
    def _average_precision(self) -> Bounded: ...

    @cached_property
    def average_precision(self) -> Bounded:
        """Mean over all positives of the precision at their ranks."""
        return self._average_precision()

    @property
    def ranks(self) -> Int[np.ndarray, " T"]:
        """Ranks of `estimate` and `interval`, which grow geometrically from 1 to N."""
        return np.unique(np.geomspace(1, self.n_items, _RANKS).round().astype(np.int64))

    @cached_property
    def estimate(self) -> Float[np.ndarray, " T"]:
        """Precisions at `ranks`."""
        return self._precision(self.ranks)[:, 0]

    @cached_property
    def interval(self) -> Float[np.ndarray, "T 2"]:
        """The band at `ranks`."""
        return self._precision(self.ranks)[:, 1:]

    def at(self, rank: Any) -> Bounded:
        """Return the precision of the first `rank` items.

        Parameters
        ----------
        rank : int, or (n,) integers
            1..N.

        Returns
        -------
        Bounded
            (estimate, lower, upper): numbers, or arrays (n,).

        Raises
        ------
        QuestionError
            If a rank lies outside 1..N.
        """
        return self._at(self._precision, rank)

    def recall(self, rank: Any) -> Bounded:
        """Return the share of all positives that are among the first `rank` items; see `at`."""
        return self._at(self._recall, rank)

    def f1(self, rank: Any) -> Bounded:
        """Return the F1 score of calling the first `rank` items positive and no others; see `at`."""
        return self._at(self._f1, rank)

    def cut(self, precision: float) -> int:
        """Return the largest rank whose precision is at least that by the lower band, 0 if there is none.

        Parameters
        ----------
        precision : float in (0, 1]
            That the items down to the cut should have.

        Raises
        ------
        QuestionError
            If the precision is not in (0, 1].
        """
        if not 0 < precision <= 1:
            raise QuestionError(f"A precision to cut at lies in (0, 1], such as 0.8; found {show(precision)}.")
        turns = self._turns()
        good = np.flatnonzero(self._precision(turns)[:, 1] >= precision)
        if not len(good):
            return 0
        below = int(turns[good[-1]])
        if good[-1] == len(turns) - 1:
            return below
        beyond = int(turns[good[-1] + 1])  # between the two the band falls below once
        while beyond - below > 1:
            middle = (below + beyond) // 2
            if self._precision(np.array([middle]))[0, 1] >= precision:
                below = middle
            else:
                beyond = middle
        return below

    def table(self) -> Table:
        """Tabulate precision and recall at ranks that grow geometrically; `curve` takes any ranks."""
        return self.curve(np.unique(np.geomspace(1, self.n_items, _ROWS).round().astype(np.int64)))

    def curve(self, ranks: Any) -> Table:
        """Tabulate precision, recall and F1 at these ranks."""
        ranks = self._checked(ranks)
        columns: dict[str, Any] = {"rank": ranks}
        for name, of in (("precision", self._precision), ("recall", self._recall), ("f1", self._f1)):
            columns |= dict(zip((name, f"{name}_lower", f"{name}_upper"), of(ranks).T, strict=True))
        title = f"{self.question.name}, {self.level:.0%} band"
        return Table(columns, title=title, formats=dict.fromkeys(list(columns)[1:], ".3f") | {"rank": ","})

    def to_xarray(self, ranks: Any = None) -> Any:
        """Return precision, recall and F1 with their bands as an xarray Dataset over ranks.

        Parameters
        ----------
        ranks : (n,) integers, optional
            400 that grow geometrically by default.
        """
        import xarray

        ranks = self._shown_ranks if ranks is None else self._checked(ranks)
        variables = {
            name: (("rank", "of"), of(ranks))
            for name, of in (("precision", self._precision), ("recall", self._recall), ("f1", self._f1))
        }
        return xarray.Dataset(
            variables, coords={"rank": ranks, "of": ["estimate", "lower", "upper"]}, attrs={"level": self.level}
        )

    @property
    def _shown_ranks(self) -> Int[np.ndarray, " n"]:
        return np.unique(np.geomspace(1, self.n_items, _POINTS).round().astype(np.int64))

    def _at(self, of: Any, rank: Any) -> Bounded:
        found = of(self._checked(rank))
        return Bounded(*(found[0].tolist() if np.ndim(rank) == 0 else found.T))

    def _checked(self, ranks: Any) -> Int[np.ndarray, " n"]:
        values = np.atleast_1d(np.asarray(ranks))
        if values.dtype.kind not in "iu" or ((values < 1) | (values > self.n_items)).any():
            raise QuestionError(f"Ranks are whole numbers from 1 to {self.n_items:,}; found {show(ranks)}.")
        return values.astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionCurveResult(RankedAnswer):
    """The precision curve of a ranked list from random items of strata of ranks, made by a session's `result`.

    Attributes
    ----------
    estimated, bounding : Band
        Of the estimates, taken for exact, and of their confidence intervals.
    contradicted : (int, int) or None
        Ranks whose precisions contradict the monotonicity that the question assumes. The band is then that of curves
        of any shape.
    done : bool
        Whether the design needs no more labels, so that the promised factor is kept.
    guarantee : str
        ``"exact"`` once all is labelled, else ``"finite-sample"``: the band holds the whole curve with probability
        `level` whatever the number of labels.
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

    @classmethod
    def of(
        cls,
        question: PrecisionCurve,
        design: RankedDesign,
        ranked: RankedList,
        labels: RankedLabels,
        plan: SamplingPlan,
        level: float,
    ) -> PrecisionCurveResult:
        """Answer from the labels that a plan has led to."""
        if not 0 < level < 1:
            raise QuestionError(f"The level of a band lies between 0 and 1, such as 0.95; found {show(level)}.")
        estimated = design.band(question.promise, labels, plan, None)
        bounding = design.band(question.promise, labels, plan, 1 - level)
        against = bounding.contradiction() if isinstance(bounding, Envelope) else None
        if against is not None:
            assert isinstance(estimated, Envelope)  # as the other one is
            assert isinstance(bounding, Envelope)
            estimated, bounding = replace(estimated, slack=labels.n_items), replace(bounding, slack=labels.n_items)
        return cls(question, design.name, ranked, labels, plan, estimated, bounding, against, plan.done, level)

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
        return "exact" if self.labels_used == self.n_items and not self.question.noise else "finite-sample"

    @property
    def assumption(self) -> str:
        """What the band leans on."""
        asked = self.question
        if self.guarantee == "exact":
            return "Nothing is assumed: every item is labelled."
        if not isinstance(self.bounding, Envelope):
            return "The share of positives is taken to fall from each window of labelled items to the next."
        if self.contradicted is not None or self.bounding.slack >= self.n_items:
            return "Nothing is assumed of the shape of the curve."
        return (
            f"Precision is taken not to grow from any rank beyond {asked.monotone_from:,} to one that is "
            f"{asked.slack:,} or more ranks below."
        )

    @property
    def queried(self) -> Int[np.ndarray, " k"]:
        """Ranks whose precision was estimated from labels."""
        return self.bounding.ranks

    @property
    def factor(self) -> float:
        """Largest ratio of the band's ends to the estimate over the ranks beyond the head, infinite where it is 0."""
        ranks = np.unique(np.concatenate([self.queried, self._shown_ranks]))
        value, lower, upper = self._precision(ranks[ranks >= self.queried[0]]).T
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.max(np.where(lower > 0, np.maximum(upper / value, value / lower), np.inf)))

    def _average_precision(self) -> Bounded:
        """Return the average precision, with bounds from the band.

        The i-th positive lies no higher than the first rank by which the upper band allows i of them, and no lower
        than the first by which the lower band has i.
        """
        ranks = np.unique(np.concatenate([np.geomspace(1, self.n_items, 20 * _POINTS).astype(np.int64), self._turns()]))
        middle, fewest, most = np.maximum.accumulate(self._precision(ranks) * ranks[:, None], axis=0).T
        before = np.append(1, ranks[:-1] + 1)
        value = _mean_precision(middle, (before + ranks) / 2, middle[-1])
        totals = np.linspace(fewest[-1], most[-1], _TOTALS)
        lower = min(_mean_precision(fewest, ranks, total) for total in totals)
        upper = max(_mean_precision(most, before, total) for total in totals)
        return Bounded(value, min(lower, value), max(upper, value))

    def summary(self) -> str:
        """Say the answer in a few sentences."""
        state = "the design needs no more labels" if self.done else "the design wants more labels"
        lines = [f"{self.labels_used:,} of {self.n_items:,} items labelled (design {self.design!r}); {state}."]
        value, lower, upper = self.at(self.n_items)
        head = min(int(self.queried[0]), self.n_items)
        lines.append(
            f"Precision is {self.at(head).estimate:.3f} in the first {head:,} items and {value:.3f} in all "
            f"{self.n_items:,}, {self.level:.0%} band [{lower:.3f}, {upper:.3f}]."
        )
        if self.contradicted is not None:
            first, second = self.contradicted
            lines.append(
                f"The labels contradict the assumption that precision does not grow: it is higher at rank {second:,} "
                f"than at rank {first:,}. The band is that of curves of any shape; with a larger monotone_from or "
                "slack it may be narrower."
            )
        if self.guarantee != "exact":
            when = "" if self.done else " It is one of this look, not of all looks until the design is done."
            promised = f"The band holds the whole curve with a probability of {self.level:.0%} or more."
            lines.append(f"{promised} {self.assumption}{when}")
        if self.ranked.n_tied:
            lines.append(f"{self.ranked.n_tied:,} items share their score with others; those are in random order.")
        return "\n".join(lines)

    def plot(self, *, truth: Any = None, beside: RankedAnswer | None = None, ax: Axes | None = None) -> Axes:
        """Draw precision by rank with its band, the queried ranks and the labels spent.

        Parameters
        ----------
        truth : function from ranks (n,) to precisions (n,), optional
        beside : RankedAnswer, optional
            Another answer about the same list, whose band is drawn too.
        ax : Axes, optional
        """
        return _plot(self, self.design, truth, beside, ax, self.queried, self.labels.ranks)

    def _precision(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        fewest, most, share = self.labels.known_at(ranks)
        head = ranks < self.bounding.ranks[0]
        lower = np.where(head, 0.0, self.bounding.lower_at(ranks))
        upper = np.where(head, 1.0, self.bounding.upper_at(ranks))
        if not self.question.noise:
            lower, upper = np.maximum(lower, fewest), np.minimum(upper, most)
        lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)  # bounds that err may cross
        low, high = self.estimated.lower_at(ranks), self.estimated.upper_at(ranks)
        value = np.where(low > 0, np.sqrt(low * high), (low + high) / 2)
        value = np.where(head, share, value)
        return np.stack([np.clip(value, lower, upper), lower, upper], axis=-1)

    def _recall(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        value, lower, upper = (self._precision(ranks) * ranks[:, None]).T
        total, fewest, most = self._precision(np.array([self.n_items]))[0] * self.n_items
        ends = [_share(value, total), _share(lower, most), _share(upper, fewest)]
        return np.clip(np.stack(ends, axis=-1), 0, 1)

    def _f1(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        value, lower, upper = (self._precision(ranks) * ranks[:, None]).T
        total, fewest, most = self._precision(np.array([self.n_items]))[0] * self.n_items
        # With TP positives among r items and P in all, F1 = 2 TP / (r + P): P is at least TP.
        ends = [
            2 * value / (ranks + np.maximum(total, value)),
            2 * lower / (ranks + most),
            2 * upper / (ranks + np.maximum(fewest, upper)),
        ]
        return np.clip(np.stack(ends, axis=-1), 0, 1)

    def _turns(self) -> Int[np.ndarray, " k"]:
        labelled = self.labels.ranks
        turns = np.concatenate(
            [self.bounding.break_points, labelled, labelled - 1, self.queried - 1, [1, self.n_items]]
        )
        return np.unique(turns[(turns >= 1) & (turns <= self.n_items)])


@dataclass(frozen=True, eq=False, repr=False)
class BeliefPrecisionCurveResult(BeliefMetricResult, RankedAnswer):
    """The precision curve from a belief that learns what the scores mean.

    Between the thresholds that the belief is asked about positives are taken to be spread evenly. The band is credible
    at every rank by itself; where random items contradict the belief somewhere, it holds their intervals too.
    """

    estimate = RankedAnswer.estimate  # at ranks, not at thresholds
    interval = RankedAnswer.interval

    @property
    def n_items(self) -> int:
        """Length of the list, N."""
        return self.cells.n_items

    def _average_precision(self) -> Bounded:
        ranks = self._ranks.astype(float)
        found = np.diff(self._positives, axis=1, prepend=0)
        precision = self._positives / ranks
        middle = (precision + np.concatenate([precision[:, :1], precision[:, :-1]], axis=1)) / 2
        draws = _share((found * middle).sum(1), self._positives[:, -1])
        return Bounded(float(np.median(draws)), *np.quantile(draws, self._tails()).tolist())

    def plot(self, *, truth: Any = None, beside: RankedAnswer | None = None, ax: Axes | None = None) -> Axes:  # type: ignore[override]
        """Draw precision by rank with its credible band; see `PrecisionCurveResult.plot`."""
        return _plot(self, self.design, truth, beside, ax, None, None)

    def table(self) -> Table:
        """Tabulate precision, recall and F1 at ranks that grow geometrically."""
        return RankedAnswer.table(self)

    @property
    def _ranks(self) -> Int[np.ndarray, " T"]:
        """Ranks of the thresholds, increasing."""
        return self.question.ranks(self.cells)[::-1]

    @cached_property
    def _positives(self) -> Float[np.ndarray, "S T"]:
        """Draws of the positives down to the ranks of the thresholds."""
        n = len(cells_table(self.cells).thresholds)
        return self.found.draws[:, :n][:, ::-1] * self._ranks

    def _draws_of_positives(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "S n"]:
        known = np.concatenate([[0], self._ranks])
        counts = np.concatenate([np.zeros((len(self._positives), 1)), self._positives], axis=1)
        after = np.clip(np.searchsorted(known, ranks), 1, len(known) - 1)
        share = (ranks - known[after - 1]) / (known[after] - known[after - 1])
        return counts[:, after - 1] + share * (counts[:, after] - counts[:, after - 1])

    def _precision(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        found = self._bounded(self._draws_of_positives(ranks) / ranks)
        return self._held(found, *(count / ranks for count in self._counts_without_trust(ranks)))

    def _recall(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        found = self._bounded(_share(self._draws_of_positives(ranks), self._positives[:, -1:]))
        (fewest, most), (least, all_) = self._counts_without_trust(ranks), self._counts_without_trust(self._last)
        return self._held(found, _share(fewest, all_), _share(most, least))

    def _f1(self, ranks: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
        found = self._bounded(2 * self._draws_of_positives(ranks) / (ranks + self._positives[:, -1:]))
        (fewest, most), (least, all_) = self._counts_without_trust(ranks), self._counts_without_trust(self._last)
        return self._held(found, 2 * fewest / (ranks + all_), 2 * most / (ranks + np.maximum(least, most)))

    @property
    def _last(self) -> Int[np.ndarray, " 1"]:
        return np.array([self.n_items])

    def _bounded(self, draws: Float[np.ndarray, "S n"]) -> Float[np.ndarray, "n 3"]:
        found = posterior_measure(draws, self.found.exact)
        return np.concatenate([found.value[:, None], found.interval(self.level)], axis=1)

    def _held(self, found: Float[np.ndarray, "n 3"], lower: Any, upper: Any) -> Float[np.ndarray, "n 3"]:
        """Widen bands to hold what random items alone say, if these contradict the belief somewhere."""
        if not np.any(self._contradicted):
            return found
        ends = np.minimum(found[:, 1], lower), np.maximum(found[:, 2], np.minimum(upper, 1.0))
        return np.stack([found[:, 0], *ends], axis=-1)

    def _counts_without_trust(self, ranks: Int[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
        """Bound the positives down to ranks by random items alone: those of the thresholds before and after."""
        known, n = self._ranks, len(self._ranks)
        ends = self._design[:n][::-1] * known[:, None]
        before = np.searchsorted(known, ranks, "right")
        fewest = np.append(0.0, np.maximum.accumulate(ends[:, 0]))[before]
        after = np.minimum(np.searchsorted(known, ranks), n - 1)
        most = np.minimum.accumulate(ends[::-1, 1])[::-1][after]
        return fewest, np.minimum(most, ranks)

    def _turns(self) -> Int[np.ndarray, " k"]:
        return np.unique(np.concatenate([self._ranks, [1, self.n_items], self._shown_ranks]))


def _share(part: Any, whole: Any) -> Any:
    """Divide; nothing of nothing is 0, as scikit-learn has it."""
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=np.asarray(whole) > 0)


def _mean_precision(count: Float[np.ndarray, " n"], ranks: Float[np.ndarray, " n"], total: float) -> float:
    """Return the mean precision at the ranks of `total` positives: `count` of them, in all, by each of the ranks."""
    if total <= 0:
        return 0.0
    last = np.minimum(np.append(count, total), total)
    summed = np.diff(last * (last + 1) / 2, prepend=0) / np.append(ranks, ranks[-1])
    return float(np.minimum(summed, np.diff(last, prepend=0)).sum() / total)


def _plot(answer: RankedAnswer, name: str, truth: Any, beside: Any, ax: Any, queried: Any, labelled: Any) -> Axes:
    ranks = answer._shown_ranks
    bands = {name: answer._precision(ranks)}
    if beside is not None:
        bands[beside.design] = beside._precision(ranks)
    exact = None if truth is None else np.asarray(truth(ranks), float)
    at = None if queried is None else (queried, answer._precision(queried)[:, 0])
    title = f"Precision of {answer.n_items:,} ranked items"
    return precision_by_rank(ranks, bands, queried=at, labelled=labelled, truth=exact, title=title, ax=ax)
